// SPDX-License-Identifier: Apache-2.0
// A kernel for GPUs: launches with their arguments. Schemes describe them; one class runs them all.
#pragma once
#include <optional>
#include <vector>

#include "backends/gpu/driver.h"
#include "base/format.h"

namespace minnow::gpu {

/// An argument of a launch as a scheme states it.
struct Given {
  enum class Kind : uint8_t { input, output, scratch, i32, f32 };
  Kind kind;
  size_t index = 0;  // of the input or output; the offset in the scratch
  int32_t i32 = 0;
  float f32 = 0;
  size_t boxes = 0;  // of a buffer: 1 + the index of Boxes over it; 0: the buffer itself

  template <class T>
  requires std::is_integral_v<T> Given(T value) : kind(Kind::i32), i32(static_cast<int32_t>(value)) {}
  Given(float value) : kind(Kind::f32), f32(value) {}
  static Given input(size_t i) { return {Kind::input, i}; }
  static Given output(size_t i) { return {Kind::output, i}; }
  static Given scratch(size_t offset) { return {Kind::scratch, offset}; }

 private:
  Given(Kind kind, size_t index) : kind(kind), index(index) {}
};

class Launches final : public Kernel {
 public:
  explicit Launches(PrepareContext& context);

  /// Appends a launch of groups * group work items of the function `name` of `source`. Constant inputs lie in the device's memory as they
  /// are in the model.
  void add(const std::string& source, const std::string& name, Extent groups, Extent group, std::vector<Given> arguments,
           size_t shared_bytes = 0);
  /// The last launch is left out where the plan gave both sides one memory: where the input, that many bytes on, is the output, that many
  /// bytes on.
  void skip_if_same(size_t input, size_t input_offset, size_t output, size_t output_offset) {
    if (!launches_.empty()) launches_.back().same = Same{input, input_offset, output, output_offset};
  }
  /// The same for `items` in one dimension.
  void add_1d(const std::string& source, const std::string& name, int64_t items, std::vector<Given> arguments);
  /// Appends a buffer of constants that the kernel owns; the index for constant().
  size_t add_constant(std::shared_ptr<const void> memory);
  /// As an argument.
  Given constant(size_t index) const { return Given::input(kConstants + index); }
  /// A constant input in a form of the scheme's own (PrepareContext::packed).
  size_t add_packed(size_t input, std::string_view form, PackingParameters parameters, size_t bytes, WeightStore::Pack pack);
  /// A table that the scheme made.
  size_t add_table(const void* data, size_t bytes);

  /// Boxes over a buffer, as an argument.
  Given add_boxes(Given buffer, const Boxes& boxes);

  /// A sentence about the node with two numbers in it, for a kernel to report; its number. `fault_memory` is where the kernel writes.
  int32_t add_fault(std::string_view pattern);
  Given fault_memory() { return constant(add_constant(queue_.faults.memory)); }

  void run(RunContext& context) const noexcept override;

 private:
  static constexpr size_t kConstants = size_t{1} << 32;
  struct Same {
    size_t input, input_offset, output, output_offset;
  };
  // An argument whose address a run tells; other arguments never change.
  struct Placed {
    size_t argument;
    Given::Kind kind;
    size_t index, boxes;
  };
  struct PlacedBoxes {
    Boxes boxes;
    const void* address = nullptr;  // of the last run
    EncodedBoxes encoded;
  };
  struct Launch {
    std::unique_ptr<Function> function;
    std::string name;
    Extent groups, group;
    std::vector<Argument> arguments;
    std::vector<Placed> placed;
    std::optional<Same> same = std::nullopt;
  };
  PrepareContext* context_;  // while it is being prepared
  Queue& queue_;
  std::string where_;
  mutable std::vector<Launch> launches_;  // with the addresses of the run under way
  std::vector<std::shared_ptr<const void>> constants_;
  std::vector<std::unique_ptr<PlacedBoxes>> boxes_;
  std::vector<size_t> constant_of_input_;  // +1; 0: not a constant
  // Throws Unsupported if the device does not reach all of a buffer of the kernel's own; the planner checks inputs and outputs.
  void check_reach(size_t bytes, bool is_constant) const;
};

/// The queue that a kernel is prepared for.
Queue& queue_of(PrepareContext& context);

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// The source of a kernel, put together from a scheme's body and the tensors and numbers that it names.
#pragma once
#include "backends/gpu/schemes/broadcast.h"
#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {

/// In a body GET(x, i) reads element i of the tensor named x as kernels compute with it, PUT(y, i, v) writes one; T_x is its dtype, C_x the
/// type that it is computed in, and HAS_x tells the preprocessor whether the node has it. A raw tensor is one of unsigned integers of its
/// elements' size.
class KernelText {
 public:
  static constexpr int kAnyInput = -2;
  /// `overwrites`: the input whose memory output 0 may take over, as the estimate says, -1, or kAnyInput, where outputs may lie in inputs.
  KernelText(Launches& kernel, const NodeView& node, int overwrites = -1) : kernel_(kernel), node_(node), overwrites_(overwrites) {}
  void input(size_t i, std::string_view name, bool raw = false);
  void output(size_t i, std::string_view name, bool raw = false);
  /// The same for 16-bit elements, as words of two neighbours, the first one in the low half.
  void input_words(size_t i, std::string_view name);
  void output_words(size_t i, std::string_view name);
  /// Memory of the kernel's own; `type` is the dialect's.
  void scratch(size_t offset, std::string_view name, std::string_view type, bool writes);
  /// Numbers that the scheme made.
  void table(std::span<const int32_t> numbers, std::string_view name);
  void table(std::span<const float> numbers, std::string_view name);
  void number(std::string_view name, int64_t value);
  void real(std::string_view name, float value);
  void define(std::string_view name, std::string_view text) { definitions_ += format("#define {} {}\n", name, text); }
  void define(std::string_view name, int64_t value) { definitions_ += format("#define {} {}\n", name, value); }
  /// The parameters of a Broadcast; its coordinates become the macro PLACE_<name>, and index s the macro AT_<name><s>.
  void places(const Broadcast& broadcast, std::string_view name, size_t inputs = 1);
  /// The body may say FAULT(a, b): the run fails with this sentence. CHECKED(at, index, dim) makes an int from an element of the input
  /// "indices", negative ones counting from the end.
  void faults(std::string_view pattern = "index {} is out of range for an axis of {}");

  /// A launch of one item for each i < n. Several launches have one n.
  void add_items(std::string_view name, int64_t n, std::string_view body, std::string_view functions = {});
  /// A launch of groups of `items`, at most 256; the body may use kGroupReductions.
  void add_groups(std::string_view name, int64_t groups, uint32_t items, std::string_view body, std::string_view functions = {},
                  int64_t groups_y = 1);

 private:
  void tensor(std::string_view name, DType dtype, bool raw, std::string_view access);
  std::string source(std::string_view name, std::string_view body, std::string_view functions) const;
  Launches& kernel_;
  const NodeView& node_;
  int overwrites_;
  int64_t items_ = -1;
  std::string definitions_, parameters_, pointers_;
  std::vector<Given> given_;
};

/// Items of a group that treats a line of that many elements.
inline uint32_t items_for(int64_t length) { return length <= 64 ? 32 : length <= 256 ? 64 : 256; }

/// The unsigned integer of a dtype's size; empty: there is none.
std::string_view unit_of(DType dtype);

/// Why elements cannot be moved: sizes, empty outputs. Empty: they can.
std::string refusal_to_move(const NodeView& node);

}  // namespace minnow::gpu

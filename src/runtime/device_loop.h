// SPDX-License-Identifier: Apache-2.0
// Loop and Scan whose body a device computes: states go from one iteration to the next in the device's memory, and are not copied.
#pragma once
#include <memory>
#include <vector>

#include "backends/node_copy.h"
#include "runtime/executor.h"

namespace minnow {

class DeviceLoop {
 public:
  /// Null if the node is another one, if the session names more than one device, or if its body's states are not tensors that devices
  /// compute.
  static std::unique_ptr<DeviceLoop> make(const Node& node, std::span<Slot* const> captured, SessionContext& session);
  DeviceLoop(const Node& node, std::span<Slot* const> captured, SessionContext& session);
  ~DeviceLoop();

  /// Runs the step. The session waits for the device at the end, every kChunk iterations, and where the body's condition comes from the
  /// device. False: nothing was done, and the step's kernel should run: there is no iteration, or the body has no work for the device.
  bool run(const Plan& plan, const Step& step, RunContext& context);
  Executor& executor() noexcept { return executor_; }
  /// Frees the memory kept for the next run.
  void release() noexcept;

 private:
  static constexpr int64_t kChunk = 64;
  // A tensor in the device's memory; `owner` keeps the memory.
  struct Place {
    std::shared_ptr<void> owner;
    TensorView view;
  };
  struct Memory {
    std::shared_ptr<void> memory;
    size_t bytes;
  };
  // The slices of a stacked output, one after another in blocks of memory.
  struct Slices {
    std::vector<Place> all;
    std::vector<Memory> blocks;
    size_t used = 0;  // of the last block
  };
  class Iterations;

  void keep();
  Place take(DType dtype, const Shape& shape);
  Place take_slice(Slices& slices, DType dtype, const Shape& shape);
  Place upload(const TensorView& from);
  Place upload_slices(const TensorView& from, size_t axis, bool backward);
  void download(void* to, const Place& from) const;
  Tensor to_host(const Place& from) const;
  void settle();

  const Node& node_;
  const Graph& body_;
  const std::span<Slot* const> captured_;
  Backend& device_;
  const bool is_loop_;
  size_t states_, scanned_, stacked_;
  // Numbers of body inputs and outputs: the first state, and behind the states the slices.
  size_t first_input_, first_output_;
  std::vector<size_t> source_;   // of a body output: the body input that it is; kNowhere: none
  std::vector<size_t> same_;     // of a body output: the first output that is the same value
  std::vector<bool> on_device_;  // live-ins of the body
  Executor executor_;
  std::unique_ptr<NodeCopy> view_;
  const Plan* seen_ = nullptr;  // the plan that view_ is of
  std::vector<Memory> spare_;
  bool is_settled_ = false, is_useless_ = false;
};

}  // namespace minnow

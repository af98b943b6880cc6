// SPDX-License-Identifier: Apache-2.0
// Training on a device with memory of its own: parameters, gradients, buffers and the optimizer's states lie there from step to step, and
// come to the host's memory when somebody reads them.
#pragma once
#include <optional>
#include <unordered_map>

#include "express/node.h"
#include "runtime/executor.h"
#include "train/rule_optimizer.h"

namespace minnow::train {

/// A tensor in a device's memory.
class DeviceCopy final : public express::Elsewhere {
 public:
  DeviceCopy(std::shared_ptr<Backend> device, DType dtype, const Shape& shape);
  TensorView view() const { return {dtype_, shape_, memory_.get()}; }
  void upload(const TensorView& from) const;
  /// `to`: as many bytes.
  void download(void* to) const;
  Tensor to_host() const;
  void fetch(express::Cell& cell) const override;

 private:
  std::shared_ptr<Backend> device_;
  std::shared_ptr<void> memory_;
  DType dtype_;
  Shape shape_;
};
using DeviceCopies = std::vector<std::shared_ptr<DeviceCopy>>;

/// The memory of a device that steps of all batches share.
class DevicePlace {
 public:
  /// The optimizer has its state, and does not keep off devices.
  DevicePlace(std::shared_ptr<Backend> device, RuleOptimizer& optimizer);
  const std::shared_ptr<Backend>& device() const noexcept { return device_; }
  RuleOptimizer& optimizer() const noexcept { return optimizer_; }
  /// The memory for a variable that holds such a tensor.
  const std::shared_ptr<DeviceCopy>& place_of(const Var& variable, DType dtype, const Shape& shape);
  const DeviceCopies& gradients() const noexcept { return gradients_; }
  const DeviceCopies& states(size_t slot) const noexcept;
  const DeviceCopy& coefficients() const noexcept { return *coefficients_; }

  /// Brings the states here, unless they are.
  void take_states();
  /// Brings the coefficients of a step here.
  void take_coefficients() const;
  /// From now on the states here count.
  void keep_states() const;

 private:
  struct States;
  struct Variable {
    Var variable;
    std::shared_ptr<DeviceCopy> copy;
  };
  std::shared_ptr<Backend> device_;
  RuleOptimizer& optimizer_;
  std::vector<Variable> variables_;
  std::unordered_map<const express::Cell*, size_t> numbers_;  // in variables_
  DeviceCopies gradients_;
  std::shared_ptr<States> states_;
  std::shared_ptr<DeviceCopy> coefficients_;
};

/// The plan that updates parameters and states where they lie, by minnow.UpdateElements, and copies the next values of buffers.
class DeviceUpdate {
 public:
  struct Copied {
    const DeviceCopy *from, *to;
  };
  DeviceUpdate(const DevicePlace& place, const DeviceCopies& parameters, const std::vector<Copied>& buffers, SessionContext& context);
  /// Throws InvalidArgument if a gradient is not finite.
  void run();

 private:
  Value& add(const DeviceCopy& copy);
  Graph graph_;
  std::vector<minnow::Slot> slots_;  // not an optimizer's
  std::vector<const minnow::Slot*> live_ins_;
  std::vector<void*> outputs_;
  std::optional<Executor> executor_;
};

}  // namespace minnow::train

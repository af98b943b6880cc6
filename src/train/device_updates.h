// SPDX-License-Identifier: Apache-2.0
// Updates that a session's backend computes, from the same rules as the loops.
#pragma once
#include <minnow/minnow.h>
#include <minnow/optimizer.h>

#include <map>
#include <memory>
#include <string>

#include "train/rule.h"

namespace minnow::train {

class DeviceUpdates {
 public:
  /// Null where the processor's loops serve. Throws Unsupported for a rule, a device or settings that this cannot compute, InvalidArgument
  /// for a backend that does not exist.
  static std::unique_ptr<DeviceUpdates> make(const Rule& rule, const Optimizer::Config& config);

  /// One pass of a loop over a tensor. `coefficients` are f64; `sums` get the sums over all elements.
  void run(const Loop& loop, const MutableTensorView& weights, const TensorView& gradient, std::span<const MutableTensorView> states,
           const double* coefficients, double* sums);

 private:
  struct Plan {
    Tape tape;
    std::unique_ptr<Session> session;
  };
  Plan& plan_for(const Loop& loop, DType dtype, int64_t count);

  SessionOptions options_;
  std::map<std::pair<const Loop*, std::pair<DType, int64_t>>, Plan> plans_;
};

}  // namespace minnow::train

// SPDX-License-Identifier: Apache-2.0
// How kernels share their work out: in units that may run at the same time, each on one of a few runners that have scratch of their own.
#pragma once
#include <algorithm>
#include <atomic>

#include "backends/backend.h"

namespace minnow::cpu {

class Units {
 public:
  /// `scratch_floats`: what one unit needs while it runs.
  void reserve(PrepareContext& context, size_t units, size_t scratch_floats) {
    units_ = units;
    stride_ = align_up(scratch_floats * sizeof(float));
    runners_ = std::max<size_t>(1, std::min(units, static_cast<size_t>(context.device().threads)));
    if (stride_) offset_ = context.reserve_scratch(stride_ * runners_);
  }

  /// Calls run(unit, scratch) for every unit.
  template <class F>
  void run(RunContext& context, F run) const noexcept {
    const auto scratch_of = [&](size_t runner) { return stride_ ? context.scratch_at<float>(offset_ + runner * stride_) : nullptr; };
    if (runners_ == 1) {
      for (size_t unit = 0; unit < units_; ++unit) run(unit, scratch_of(0));
      return;
    }
    std::atomic<size_t> next{0};
    context.parallel_for(runners_, [&](size_t runner) {
      float* scratch = scratch_of(runner);
      for (size_t unit; (unit = next.fetch_add(1, std::memory_order_relaxed)) < units_;) run(unit, scratch);
    });
  }

 private:
  size_t units_ = 0, runners_ = 1, stride_ = 0, offset_ = 0;
};

}  // namespace minnow::cpu

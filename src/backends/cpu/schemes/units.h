// SPDX-License-Identifier: Apache-2.0
// How kernels share their work out: in units that may run at the same time, each on one of a few runners that have scratch of their own.
#pragma once
#include <algorithm>
#include <type_traits>

#include "backends/backend.h"
#include "base/saturating.h"

namespace minnow::cpu {

class Units {
 public:
  /// `scratch_floats`: the memory that each unit needs while it runs. Throws like reserve_scratch().
  void reserve(PrepareContext& context, size_t units, size_t scratch_floats) {
    units_ = units;
    runners_ = std::clamp<size_t>(std::min(units, static_cast<size_t>(context.device().threads)), 1, ThreadPool::kMostRunners);
    if (scratch_floats == 0) return;
    const size_t bytes = product_of({scratch_floats, sizeof(float)});
    offset_ = context.reserve_scratch(product_of({sum_of({bytes, kAlignment}), runners_}));
    stride_ = align_up(bytes);
  }

  static constexpr size_t kNone = SIZE_MAX;
  /// Calls run(unit, scratch) for every unit, or run(unit, scratch, before): `before` is the unit that had this scratch before, mostly the
  /// one before it in order, or kNone.
  template <class F>
  void run(RunContext& context, F run) const noexcept {
    this->run(context, 0, units_, run);
  }
  /// The same for the units [first, end).
  template <class F>
  void run(RunContext& context, size_t first, size_t end, F run) const noexcept {
    const auto scratch_of = [&](size_t runner) { return stride_ ? context.scratch_at<float>(offset_ + runner * stride_) : nullptr; };
    if constexpr (std::is_invocable_v<F&, size_t, float*, size_t>) {
      size_t before[ThreadPool::kMostRunners];
      std::fill_n(before, runners_, kNone);
      context.parallel_for(end - first, [&](size_t unit, size_t runner) {
        run(first + unit, scratch_of(runner), before[runner]);
        before[runner] = first + unit;
      });
    } else {
      context.parallel_for(end - first, [&](size_t unit, size_t runner) { run(first + unit, scratch_of(runner)); });
    }
  }

 private:
  size_t units_ = 0, runners_ = 1, stride_ = 0, offset_ = 0;
};

}  // namespace minnow::cpu

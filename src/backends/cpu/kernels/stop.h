// SPDX-License-Identifier: Apache-2.0
// How loops of kernels end early where the run is stopped: Ctrl-C, a time limit, another thread.
#pragma once
#include "base/watch.h"

namespace minnow::cpu {

/// For loops over blocks of any size: asks Watch::stopping() once for some hundred thousand operations, so that it costs small blocks an
/// addition. A loop that returns early leaves its outputs as they are; nothing may take places or lengths from them.
class Stop {
 public:
  /// `work`: operations on vectors or numbers since the last call, at a guess.
  bool after(size_t work) noexcept {
    if ((done_ += work) < kWork) return false;
    done_ = 0;
    return Watch::stopping();
  }

 private:
  static constexpr size_t kWork = size_t{1} << 18;
  size_t done_ = 0;
};

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Lets loops of kernels end early if the run is stopped: by Ctrl-C, a time limit, or another thread.
#pragma once
#include "base/watch.h"

namespace minnow::cpu {

/// Asks Watch::stopping() once per some hundred thousand operations, so that loops over small blocks pay only an addition. A loop that
/// returns early leaves its outputs unfinished; nobody may use them as indices or lengths.
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

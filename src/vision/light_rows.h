// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "vision/image.h"

namespace minnow::vision {

/// for_rows() for loops that do no more than read and write a row once: `row_bytes` in all. A thread starts in the time that they take for
/// some 100 KB.
inline void for_light_rows(int64_t rows, int64_t row_bytes, FunctionRef<void(int64_t first, int64_t last)> task) {
  in_parts(rows, row_bytes / 8, task);
}

}  // namespace minnow::vision

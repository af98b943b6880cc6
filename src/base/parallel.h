// SPDX-License-Identifier: Apache-2.0
// Splits a long computation over the process's cores.
#pragma once
#include <cstdint>

#include "base/function_ref.h"

namespace minnow {

/// Calls task(first, last) for ranges that together cover [0, count): one range on the calling thread if `count * cost` is small, else
/// several on all cores that the process may use. `cost`: about how many elements one index reads and writes.
///
/// Throws the exception of the first task that failed, or of the calling thread's Watch; the results are then incomplete.
///
/// Uses at most most_threads().
void in_parts(int64_t count, int64_t cost, FunctionRef<void(int64_t first, int64_t last)> task);

/// How many threads in_parts() uses at most: at first one for each core. Any thread may set it; less than 1: again one for each core.
int most_threads() noexcept;
void set_most_threads(int count) noexcept;

}  // namespace minnow

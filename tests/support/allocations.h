// SPDX-License-Identifier: Apache-2.0
// Counts calls of operator new (tests/runtime/allocation_test.cpp replaces it). Builds with sanitizers do not count.
#pragma once
#include <atomic>

#include "support/sanitizers.h"

#define MINNOW_COUNTS_ALLOCATIONS (!MINNOW_SANITIZED)

namespace minnow::test {

inline std::atomic<bool> counts_allocations{false};
inline std::atomic<int> allocations{0};

/// How often f allocates, on all threads; 0 where nothing is counted.
template <class F>
int allocations_of(F&& f) {
  allocations = 0;
  counts_allocations = true;
  f();
  counts_allocations = false;
  return allocations;
}

}  // namespace minnow::test

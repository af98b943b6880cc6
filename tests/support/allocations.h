// SPDX-License-Identifier: Apache-2.0
// Counts calls of operator new (tests/runtime/allocation_test.cpp replaces it). Builds with sanitizers do not count.
#pragma once
#include <atomic>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINNOW_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MINNOW_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef MINNOW_COUNTS_ALLOCATIONS
#define MINNOW_COUNTS_ALLOCATIONS 1
#endif

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

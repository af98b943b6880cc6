// SPDX-License-Identifier: Apache-2.0
// Kernels in which a group of items, at most 256, treats one line of elements: they lie `inner` elements apart.
#pragma once
#include <string_view>

namespace minnow::gpu {

/// REDUCE(name, JOIN) makes a function that joins one float of each item of a group into one for all.
inline constexpr std::string_view kGroupReductions = R"(
#define REDUCE(name, JOIN)                                          \
  INLINE float name(float mine, LOCAL_PARAMETER float* shared) {    \
    const int item = ITEM(0);                                       \
    BARRIER();                                                      \
    shared[item] = mine;                                            \
    BARRIER();                                                      \
    for (int step = ITEMS(0) / 2; step > 0; step /= 2) {            \
      if (item < step) shared[item] = JOIN(shared[item], shared[item + step]); \
      BARRIER();                                                    \
    }                                                               \
    return shared[0];                                               \
  }
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define MOST(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define LEAST(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
)";

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// Kernels in which a group of items, at most 256, treats one line of elements: they lie `inner` elements apart.
#pragma once
#include <string_view>

namespace minnow::gpu {

/// REDUCE(name, JOIN) makes a function that joins one float of each item of a group into one for all; JOIN is one of the four below. A
/// device with subgroups joins each one without memory, and then their results. Drivers may leave places of a subgroup empty, hence the
/// rank.
inline constexpr std::string_view kGroupReductions = R"(
#if SUBGROUPS
#define REDUCE(name, JOIN)                                          \
  INLINE float name(float mine, LOCAL_PARAMETER float* shared) {    \
    const int rank = __subgroup_rank(), items = __subgroup_items(); \
    const float part = __subgroup_##JOIN(mine);                     \
    BARRIER();                                                      \
    if (rank == 0) shared[__subgroup_index()] = part;               \
    BARRIER();                                                      \
    float all = NEUTRAL_##JOIN;                                     \
    for (int k = rank; k < __subgroup_count(); k += items) { const float next = shared[k]; all = JOIN(next, all); } \
    return __subgroup_##JOIN(all);                                  \
  }
#else
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
#endif
#define NEUTRAL_SUM 0.0f
#define NEUTRAL_PRODUCT 1.0f
#define NEUTRAL_MOST -AS_F32(0x7f800000u)
#define NEUTRAL_LEAST AS_F32(0x7f800000u)
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define MOST(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define LEAST(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
)";

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// The numbers of random streams that belong to no sample, and orders.
#pragma once
#include <minnow/data.h>

#include <numeric>

namespace minnow::data {

inline constexpr uint64_t kOrder = UINT64_MAX;  // of the order of a pass
inline constexpr uint64_t kBatch =
    uint64_t{1} << 63;  // added to the number of a batch's first sample: of what is done with the whole batch

/// 0 ... count - 1 in random order: Fisher, Yates.
inline std::vector<int64_t> permutation(int64_t count, Random random) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  return order;
}

}  // namespace minnow::data

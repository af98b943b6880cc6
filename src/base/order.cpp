// SPDX-License-Identifier: Apache-2.0
#include "base/order.h"

#include <algorithm>

namespace minnow {

void sort_indices(std::span<size_t> indices, FunctionRef<bool(size_t, size_t)> before) {
  std::stable_sort(indices.begin(), indices.end(), before);
}

void sort_indices(std::span<int64_t> indices, FunctionRef<bool(size_t, size_t)> before) {
  if constexpr (sizeof(size_t) == sizeof(int64_t))
    sort_indices({reinterpret_cast<size_t*>(indices.data()), indices.size()}, before);
  else
    std::stable_sort(indices.begin(), indices.end(),
                     [&](int64_t a, int64_t b) { return before(static_cast<size_t>(a), static_cast<size_t>(b)); });
}

void sort_first(std::span<size_t> indices, size_t count, FunctionRef<bool(size_t, size_t)> before) {
  std::partial_sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(count), indices.end(), before);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#include "base/order.h"

#include <algorithm>

namespace minnow {

void sort_indices(std::span<size_t> indices, FunctionRef<bool(size_t, size_t)> before) {
  std::stable_sort(indices.begin(), indices.end(), before);
}

void sort_first(std::span<size_t> indices, size_t count, FunctionRef<bool(size_t, size_t)> before) {
  std::partial_sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(count), indices.end(), before);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Orders of indices. One sort serves all callers that sort a few indices now and then: every comparison is a call, and in exchange the
// library holds one instance of the algorithm instead of one for each comparison.
#pragma once
#include <cstdint>
#include <span>

#include "base/function_ref.h"

namespace minnow {

/// Sorts indices stably: `before(a, b)` where index a should stand before index b. Allocates as much again; n log n comparisons.
void sort_indices(std::span<size_t> indices, FunctionRef<bool(size_t a, size_t b)> before);
void sort_indices(std::span<int64_t> indices, FunctionRef<bool(size_t a, size_t b)> before);
/// Brings the `count` indices that stand before all others, sorted, to the beginning; the others follow in any order. Not stable.
void sort_first(std::span<size_t> indices, size_t count, FunctionRef<bool(size_t a, size_t b)> before);

}  // namespace minnow

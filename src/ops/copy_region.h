// SPDX-License-Identifier: Apache-2.0
// The copy that data movement is made of: a box of elements from one strided region to another. It looks at the element size alone.
#pragma once
#include <minnow/tensor.h>

#include <span>

#include "ops/operator.h"

namespace minnow {

/// Copies the elements of a box of shape `extent`. Strides are in elements, one per axis of `extent`; those of the source may be 0
/// (repeated elements), both may be negative. The regions must not overlap. Axes that lie in one piece are merged and copied as rows.
void copy_region(size_t element_size, const Shape& extent, const void* from, std::span<const int64_t> from_strides, void* to,
                 std::span<const int64_t> to_strides);

/// Writes `count` copies of one element.
void fill_elements(size_t element_size, const void* element, size_t count, void* to);

}  // namespace minnow

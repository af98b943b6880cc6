// SPDX-License-Identifier: Apache-2.0
// Views: basic slicing, read and written.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// The region that `indices` select from a variable of this shape. Throws InvalidArgument if NumPy raises IndexError.
std::unique_ptr<Region> sliced(const std::shared_ptr<Cell>& x, const Shape& shape, const std::vector<Index>& indices);
/// The elements of a region. Shares memory if the region is contiguous, copies if the base is computed, and else calls an operator.
LazyValue read(const LazyValue& base, const Region& region);
/// The base with the region replaced by `value`, broadcast and cast. Reuses the base's memory if only its variable holds it.
LazyValue written(const LazyValue& base, const Region& region, const LazyValue& value);
/// Basic slicing of a value whose shape is not known.
LazyValue slice(const LazyValue& x, const std::vector<Index>& indices);

/// Views with another shape, another order of axes, or repeated elements (read-only). They are values instead of views if the shape is not
/// known, or if reshaping has to move elements. Throw InvalidArgument for shapes and axes that do not fit.
Var reshaped(const Var& x, const Shape& shape);
Var transposed(const Var& x, const std::vector<int64_t>& order);
Var broadcast_to(const Var& x, const Shape& shape);
/// The diagonal at `offset` over two axes, as a new last axis; read-only, as in NumPy. The value's shape must be known.
Var diagonal(const Var& x, int64_t offset, size_t axis1, size_t axis2);
/// The real or the imaginary parts of complex elements: f32 or f64; assigning writes them.
Var complex_part(const Var& x, bool imaginary);

/// Whether both are views of one variable and their address ranges overlap; with `exactly`, whether they share an element.
bool may_share_memory(const Var& a, const Var& b, bool exactly);
/// The variable of which x is a view; absent if x is no view.
Var base_of(const Var& x);

}  // namespace minnow::express

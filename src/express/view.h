// SPDX-License-Identifier: Apache-2.0
// Views: basic slicing, read and written.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// The part that `indices` choose of a variable of that shape. Throws InvalidArgument as NumPy does.
std::unique_ptr<Region> sliced(const std::shared_ptr<Cell>& x, const Shape& shape, const std::vector<Index>& indices);
/// What a region of a value shows: shares memory where it lies in one piece, copies where the value is computed, and else is a call.
LazyValue read(const LazyValue& base, const Region& region);
/// The base with the region replaced; the value is broadcast and cast. Takes the base's memory over where only its variable holds it.
LazyValue written(const LazyValue& base, const Region& region, const LazyValue& value);
/// Basic slicing of a value whose shape is not known.
LazyValue slice(const LazyValue& x, const std::vector<Index>& indices);

/// Views of other dimensions, in another order of axes, and repeated (which cannot be assigned to). Values where the shape is not known or,
/// of other dimensions, the elements would have to move. InvalidArgument for what does not fit.
Var reshaped(const Var& x, const Shape& shape);
Var transposed(const Var& x, const std::vector<int64_t>& order);
Var broadcast_to(const Var& x, const Shape& shape);
/// The diagonals number `offset` of two axes as a new last axis, for reading as NumPy's; of a value whose shape is known.
Var diagonal(const Var& x, int64_t offset, size_t axis1, size_t axis2);
/// The real or the imaginary parts of complex elements: f32 or f64; assigning writes them.
Var complex_part(const Var& x, bool imaginary);

/// Whether the variable behind both is the same and bounds of their places overlap; exactly: some element is one.
bool may_share_memory(const Var& a, const Var& b, bool exactly);
/// The variable that a view is of; absent for others.
Var base_of(const Var& x);

}  // namespace minnow::express

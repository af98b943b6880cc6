// SPDX-License-Identifier: Apache-2.0
// Views: basic slicing, read and written.
#pragma once
#include "express/node.h"

namespace minnow::express {

/// The region of a tensor of that shape.
Region whole(const Shape& shape);
/// The region that `indices` choose of the view that a region shows. Throws InvalidArgument as NumPy does.
Region choose(const Region& region, const std::vector<Index>& indices);
/// What a region of a value shows: shares memory where it lies in one piece, copies where the value is computed, and else is a call.
LazyValue read(const LazyValue& base, const Region& region);
/// The base with the region replaced; the value is broadcast and cast. Takes the base's memory over where only its variable holds it.
LazyValue written(const LazyValue& base, const Region& region, const LazyValue& value);
/// Basic slicing of a value whose shape is not known.
LazyValue slice(const LazyValue& x, const std::vector<Index>& indices);

}  // namespace minnow::express

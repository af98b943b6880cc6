// SPDX-License-Identifier: Apache-2.0
// Sampling of images written with operators, for gradients: GridSample and DeformConv.
#pragma once
#include "graph/expr.h"
#include "graph/sampling.h"

namespace minnow {

/// The pixels that places along one dimension read (i64, within the image) and their weights, of the places' shape.
struct TapExprs {
  Exprs at, weight;
};
/// `place` counts pixels of a dimension of `size` from the center of the first.
TapExprs taps_at(const GridSampling& sampling, const Expr& place, int64_t size);

/// Sums of the pixels of [images, channels, spatial...] around positions: [images, channels, positions]. The taps [images, positions] are
/// given for each spatial dimension.
Expr sampled_sum(const Expr& pixels, const Shape& shape, DType dtype, std::span<const TapExprs> taps, int64_t positions);

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and resizing of images whose channels come last, [N, spatial..., C]; Minnow's operators take them first.
#pragma once
#include "importers/builder/typed_builder.h"

namespace minnow {

/// A window that slides over the spatial dimensions: of a convolution or a pool.
struct SlidingWindow {
  Ints kernel, strides, dilations;  // one each per spatial dimension; dilations may be empty: 1
  bool same = false;                // pad so that ceil(input / stride) windows fit, the odd element at the end
  Ints pads;                        // given in numbers instead: before each, then after each; empty: none
};

/// Which places of the input the places of a resized image lie at.
enum class ResizeGrid : uint8_t { asymmetric, align_corners, half_pixel };

Expr channels_first(TypedBuilder& p, const Expr& x);  // [N, spatial..., C] -> [N, C, spatial...]
Expr channels_last(TypedBuilder& p, const Expr& x);
/// `weights` [out, in / groups, kernel...]; the bias may be absent.
Expr conv(TypedBuilder& p, const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window, int64_t groups);
/// `weights` [in, out / groups, kernel...]; the spatial size of the result if it is known, else empty (same padding: input * stride).
Expr conv_transpose(TypedBuilder& p, const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window,
                    const Ints& output_size, int64_t groups = 1);
/// Kernel, strides, dilations and padding as attributes, for an image with channels first.
Attributes window_attributes(TypedBuilder& p, const Expr& x_first, const SlidingWindow& window);
/// "MaxPool", "AveragePool" (padding does not count) or "LpPool".
Expr pool(TypedBuilder& p, std::string_view name, const Expr& x, const SlidingWindow& window);
Expr resize(TypedBuilder& p, const Expr& x, const Expr& size, bool bilinear, ResizeGrid grid);
/// Resamples a region of an image for each box. Row i of `boxes` is [y1, x1, y2, x2]: 0 and 1 are the centres of the first and last pixels.
/// which[i] is the image's index, `size` the result's height and width. Samples beyond the image are `outside`. The result is f32.
Expr crop_and_resize(TypedBuilder& p, const Expr& images, const Expr& boxes, const Expr& which, const Ints& size, bool bilinear,
                     double outside);
Expr space_to_depth(TypedBuilder& p, const Expr& x, int64_t block);
Expr depth_to_space(TypedBuilder& p, const Expr& x, int64_t block);
Expr space_to_batch(TypedBuilder& p, const Expr& x, const Ints& block, const Expr& paddings);  // paddings: [dims, 2]
Expr batch_to_space(TypedBuilder& p, const Expr& x, const Ints& block, const Expr& crops);
Expr local_response_normalization(TypedBuilder& p, const Expr& x, int64_t radius, float bias, float alpha, float beta);

}  // namespace minnow

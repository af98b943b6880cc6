// SPDX-License-Identifier: Apache-2.0
// Where pixels lie: resizing, warping, flipping.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {

/// OpenCV's numbers. `antialias` is ours, joined with linear, cubic, lanczos4 or area: as in PIL the filter (triangle, cubic of a = -0.5,
/// Lanczos of 3 lobes, box) covers all pixels that one pixel of a smaller picture stands for.
enum class Interpolation {
  nearest = 0,
  linear = 1,
  cubic = 2,
  area = 3,
  lanczos4 = 4,
  linear_exact = 5,
  nearest_exact = 6,
  antialias = 64,
};

/// The picture with `size` pixels, or `fx` and `fy` times as many where the size is {0, 0}. u8, u16, i16, f32 or f64; i8 and i32 with
/// nearest, nearest_exact and linear_exact. Pixel centres lie at half coordinates, and the border's pixels are repeated. `area` averages
/// where the picture becomes smaller. Throws InvalidArgument for an empty size or picture, Unsupported for other dtypes.
MINNOW_API Tensor resize(const ImageView& image, Size size, Interpolation interpolation = Interpolation::linear, double fx = 0,
                         double fy = 0, Output output = {});

}  // namespace minnow::vision

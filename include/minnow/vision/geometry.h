// SPDX-License-Identifier: Apache-2.0
// Where pixels lie: resizing, warping, flipping.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {

enum class Interpolation { nearest = 0, linear = 1 };

/// u8, u16, i16, f32 or f64. Pixel centres lie at half coordinates; there is no smoothing where the picture becomes smaller (but where it
/// is halved in both directions, when `linear` averages four pixels). For u8 the weights of `linear` are integers of 11 bits. Throws
/// InvalidArgument for an empty size, Unsupported for other dtypes.
MINNOW_API Tensor resize(const TensorView& image, int64_t width, int64_t height, Interpolation interpolation = Interpolation::linear);

}  // namespace minnow::vision

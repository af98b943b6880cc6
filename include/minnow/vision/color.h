// SPDX-License-Identifier: Apache-2.0
// Pictures in other colours.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {

/// OpenCV's numbers.
enum class ColorCode {
  bgr_to_bgra = 0,  // rgb_to_rgba
  bgra_to_bgr = 1,  // rgba_to_rgb
  bgr_to_rgba = 2,  // rgb_to_bgra
  rgba_to_bgr = 3,  // bgra_to_rgb
  bgr_to_rgb = 4,   // rgb_to_bgr
  bgra_to_rgba = 5,
  bgr_to_gray = 6,
  rgb_to_gray = 7,
  gray_to_bgr = 8,
  gray_to_bgra = 9,
  bgra_to_gray = 10,
  rgba_to_gray = 11
};

/// u8, u16 or f32. Gray is 0.299 red + 0.587 green + 0.114 blue, of u8 and u16 in integers; a new alpha is opaque. Throws InvalidArgument
/// for a picture of other channels than the code takes.
MINNOW_API Tensor convert_color(const TensorView& image, ColorCode code);

}  // namespace minnow::vision

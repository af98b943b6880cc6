// SPDX-License-Identifier: Apache-2.0
// A picture or a camera's frame as the tensor that a network takes, in one pass.
#pragma once
#include <minnow/vision/image.h>

#include <optional>

namespace minnow::vision {

/// How pixels lie in memory. Pictures: u8 [h, w, channels]; 565 and 555: u8 [h, w, 2]. Frames: nv12, nv21, i420 and yv12 u8 [3 h / 2, w];
/// yuyv, yvyu and uyvy u8 [h, w, 2], as in convert_color.
enum class PixelFormat { rgb, bgr, rgba, bgra, gray, nv12, nv21, i420, yv12, yuyv, yvyu, uyvy, bgr565, rgb565, bgr555 };

enum class TensorLayout { nchw, nhwc };

struct PreprocessOptions {
  PixelFormat source = PixelFormat::bgr;
  PixelFormat target = PixelFormat::rgb;  // rgb, bgr, rgba, bgra or gray
  Size size{};                            // of the result; 0 x 0: the picture's
  /// Where in the picture a place (x, y) of the result lies: (m0 x + m1 y + m2, m3 x + m4 y + m5), whole numbers at the centres of pixels.
  /// Without it the picture is resized, as resize() does.
  std::optional<std::array<double, 6>> matrix;
  bool linear = true;  // bilinear, else the nearest pixel
  /// The value of colours beyond the picture, before mean and scale; none: the nearest pixel's.
  std::optional<double> padding;
  Scalar4 mean{0, 0, 0, 0};
  Scalar4 scale{1, 1, 1, 1};  // of each channel of the result: (value - mean) * scale
  TensorLayout layout = TensorLayout::nchw;
  DType dtype = DType::f32;  // or u8 or i8: rounded and saturated
};

/// [1, channels, height, width] or [1, height, width, channels]. Sampled values are rounded to whole numbers within 0 and 255 before mean
/// and scale, as if colours were converted and the picture resized to bytes first; the results are those within 1.
///
///   throws  InvalidArgument for a picture whose dtype, channels or size do not fit the format; Unsupported for another target or dtype
///   cost    proportional to the result: only pixels that the result needs are converted
MINNOW_API Tensor preprocess(const ImageView& image, const PreprocessOptions& options);

}  // namespace minnow::vision

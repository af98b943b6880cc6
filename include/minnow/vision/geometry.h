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

/// Flags of warps: an interpolation (nearest, linear, cubic or lanczos4; area is linear), joined with these.
inline constexpr int kWarpInverse = 16;   // the matrix leads from the destination to the source
inline constexpr int kWarpRelative = 32;  // maps of remap() are relative to a pixel's own place

/// A picture of `size` (the source's where that is {0, 0}) whose pixel (x, y) is the source's at the inverse of `matrix`, f32 or f64 [2,
/// 3], times (x, y, 1). Places are rounded to 1/32 of a pixel, as in OpenCV. u8, u16, i16, f32 or f64, any dtype with nearest.
/// Border::transparent leaves a destination's pixels alone. Throws InvalidArgument for another matrix, Unsupported for a source of 32767
/// pixels or more on a side.
MINNOW_API Tensor warp_affine(const ImageView& image, const TensorView& matrix, Size size, int flags = 1, Border border = Border::constant,
                              const Scalar4& color = {}, Output output = {});
/// The same with a matrix [3, 3] of a homography.
MINNOW_API Tensor warp_perspective(const ImageView& image, const TensorView& matrix, Size size, int flags = 1,
                                   Border border = Border::constant, const Scalar4& color = {}, Output output = {});
/// Pixel (x, y) is the source's at first[y, x], second[y, x]: f32 planes of x and y; or `first` has both as two channels, f32, or i16 with
/// u16 fractions (y * 32 + x) in `second`.
MINNOW_API Tensor remap(const ImageView& image, const ImageView& first, const ImageView& second, int interpolation,
                        Border border = Border::constant, const Scalar4& color = {}, Output output = {});
/// Maps of remap() in another form: `dtype` and `channels` of the first, DType::undefined for the form that it does not have. `nearest`:
/// without fractions. The second is an empty tensor where the form has none.
MINNOW_API std::pair<Tensor, Tensor> convert_maps(const ImageView& first, const ImageView& second, DType dtype, int channels,
                                                  bool nearest = false);

// Pixels of any dtype in another order.

/// code 0: rows from last to first; above 0: each row from right to left; below 0: both.
MINNOW_API Tensor flip(const ImageView& image, int code, Output output = {});
/// 0: 90 degrees clockwise, 1: 180, 2: 90 counterclockwise.
MINNOW_API Tensor rotate(const ImageView& image, int code, Output output = {});
MINNOW_API Tensor transpose(const ImageView& image, Output output = {});
MINNOW_API Tensor repeat(const ImageView& image, int down, int across, Output output = {});
/// The picture with a border of some pixels on each side; all border types but transparent.
MINNOW_API Tensor copy_make_border(const ImageView& image, int top, int bottom, int left, int right, Border border,
                                   const Scalar4& color = {}, Output output = {});
/// The position within [0, size) that stands for `position`; -1 with Border::constant beyond.
MINNOW_API int border_interpolate(int position, int size, Border border);

/// A smooth picture of half the size, rounded up, or of `size`, a pixel more or less; u8, u16, i16, f32 or f64. Not with a constant border.
MINNOW_API Tensor pyr_down(const ImageView& image, Size size = {}, Border border = Border::reflect101, Output output = {});
/// A smooth picture of twice the size, or of `size`, one pixel more or less. The border is reflect101.
MINNOW_API Tensor pyr_up(const ImageView& image, Size size = {}, Border border = Border::reflect101, Output output = {});
/// A patch around a center between pixels, linear, with the border's pixels repeated: u8 to u8 or f32, f32 to f32; 1 or 3 channels.
MINNOW_API Tensor rect_sub_pix(const ImageView& image, Size size, Point2d center, DType dtype = DType::undefined, Output output = {});
/// Rows are angles, columns distances from a center up to `radius`; flags as warp_affine's, with 256 for the logarithm of the distance, 8
/// for zeros where there is no source, and kWarpInverse for the way back.
MINNOW_API Tensor warp_polar(const ImageView& image, Size size, Point2d center, double radius, int flags, Output output = {});

// Matrices of transforms, f64 [2, 3] or [3, 3]. Points are f32 [n, 2].

/// Turns by `angle` degrees counterclockwise around a center, and scales.
MINNOW_API Tensor rotation_matrix_2d(Point2d center, double angle, double scale);
/// Leads three points to three others; zeros where the points lie on a line.
MINNOW_API Tensor affine_transform(const TensorView& from, const TensorView& to);
/// Leads four points to four others. `method` is ignored.
MINNOW_API Tensor perspective_transform_of(const TensorView& from, const TensorView& to, int method = 0);
/// The inverse of a [2, 3] matrix, of its dtype; zeros where there is none.
MINNOW_API Tensor invert_affine_transform(const TensorView& transform);
/// Points of two or three coordinates, the channels of f32 or f64, times a matrix of one row and column more, divided by the last
/// coordinate.
MINNOW_API Tensor perspective_transform(const ImageView& points, const TensorView& transform, Output output = {});

}  // namespace minnow::vision

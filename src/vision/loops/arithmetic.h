// SPDX-License-Identifier: Apache-2.0
// Rows of elements: the loops of arithmetic.cpp and measures.cpp, compiled for each instruction set.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {

/// The place of a dtype in the tables below: u8, i8, u16, i16, i32, f32, f64. Throws Unsupported for another.
int element_index(std::string_view function, DType dtype);

/// Steps on two rows. weighted: a * p[0] + b * p[1] + p[2]; multiply and divide: times p[0].
enum class ElementOp : uint8_t { add, subtract, absdiff, multiply, divide, minimum, maximum, weighted, count };
/// Steps on one row. scale: a * p[0] + p[1]; scale_abs: its absolute value; power: a to the p[0].
enum class UnaryOp : uint8_t { scale, scale_abs, square_root, power, count };
enum class BitOp : uint8_t { conjunction, disjunction, exclusive, inverse, count };
/// OpenCV's numbers.
enum class Comparison : uint8_t { equal, greater, greater_equal, less, less_equal, not_equal };

/// How many accumulators sums have: a multiple of 1, 2, 3 and 4 channels.
inline constexpr int kSums = 48;

struct ArithmeticLoops {
  // Rows of elements as floats or doubles, and back: rounded to nearest even and saturated.
  void (*to_f32[7])(const void* in, float* out, size_t n);
  void (*to_f64[7])(const void* in, double* out, size_t n);
  void (*from_f32[7])(const float* in, void* out, size_t n);
  void (*from_f64[7])(const double* in, void* out, size_t n);
  void (*binary_f32)(ElementOp op, const float* a, const float* b, float* out, size_t n, const double* p);
  void (*binary_f64)(ElementOp op, const double* a, const double* b, double* out, size_t n, const double* p);
  void (*unary_f32)(UnaryOp op, const float* a, float* out, size_t n, const double* p);
  void (*unary_f64)(UnaryOp op, const double* a, double* out, size_t n, const double* p);
  void (*magnitude_f32)(const float* x, const float* y, float* out, size_t n);
  void (*magnitude_f64)(const double* x, const double* y, double* out, size_t n);
  /// Degrees within [0, 360), times `scale`.
  void (*phase_f32)(const float* x, const float* y, float* out, size_t n, double scale);
  void (*phase_f64)(const double* x, const double* y, double* out, size_t n, double scale);
  // add, subtract, absdiff, minimum and maximum of elements of one dtype; null: through floats.
  void (*native[7][static_cast<size_t>(ElementOp::count)])(const void* a, const void* b, void* out, size_t n);
  /// For bytes: a * p[0] + b * p[1] + p[2]; and a * p[0] / b, 0 where b is 0.
  void (*weighted_u8)(const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n, const double* p);
  void (*divide_u8)(const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n, const double* p);
  /// in * p[0] + p[1], or its absolute value, rounded and within bytes.
  void (*scale_u8)(const uint8_t* in, uint8_t* out, size_t n, const double* p, bool absolute);
  void (*scale_f32_u8)(const float* in, uint8_t* out, size_t n, const double* p, bool absolute);
  void (*bits)(BitOp op, const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n);
  // 255 where the comparison holds. u8, f32 and f64 only.
  void (*compare_u8)(Comparison op, const uint8_t* a, const uint8_t* b, uint8_t* out, size_t n);
  void (*compare_f32)(Comparison op, const float* a, const float* b, uint8_t* out, size_t n);
  void (*compare_f64)(Comparison op, const double* a, const double* b, uint8_t* out, size_t n);
  /// 255 where all channels (1, 3 or 4) of a pixel are within the bounds.
  void (*in_range_u8)(const uint8_t* in, int channels, const uint8_t* low, const uint8_t* high, uint8_t* out, size_t pixels);
  /// Pixels where the mask is not 0; `clear`: the others become 0.
  void (*masked)(const void* in, const uint8_t* mask, void* out, size_t pixels, size_t pixel_bytes, bool clear);
  /// sums[i % kSums] += elements, squares likewise of their squares (null: not wanted), or with `absolute` sums of absolute values.
  void (*sums[7])(const void* in, size_t n, bool absolute, double* sums, double* squares);
  /// The sum of |a - b|, or of its squares; b == nullptr: of a.
  double (*distance_u8)(const uint8_t* a, const uint8_t* b, size_t n);
  double (*squared_distance_u8)(const uint8_t* a, const uint8_t* b, size_t n);
  void (*channel_sums_u8)(const uint8_t* in, size_t pixels, int channels, double* sums);  // of 1, 3 or 4 channels; added
  /// The sums of p, p x, p x^2 and p x^3 of a row of at most 32 pixels.
  void (*row_moments_u8)(const uint8_t* row, size_t n, int32_t sums[4]);
  void (*least_and_most[7])(const void* in, size_t n, double* least, double* most);
  size_t (*nonzero[7])(const void* in, size_t n);
  void (*split_u8)(const uint8_t* in, uint8_t* const* planes, int channels, size_t pixels);  // 2, 3 or 4 channels
  void (*split_f32)(const float* in, float* const* planes, int channels, size_t pixels);
  void (*merge_u8)(const uint8_t* const* planes, uint8_t* out, int channels, size_t pixels);
  void (*merge_f32)(const float* const* planes, float* out, int channels, size_t pixels);
  /// Planes (3 or 4) times weights, plus `shift`.
  void (*weighted_planes)(const float* const* planes, const float* weights, float shift, int count, float* out, size_t n);
  /// Pixels of three bytes: each made channel is the sum of the pixel's channels times three weights, plus the fourth; rounded.
  void (*transform_u8)(const uint8_t* in, const float* weights, uint8_t* out, size_t pixels);  // 3 rows of 4 weights
  /// Gauss: rows i + 1 .. n - 1 of a [n, n], from column i + 1 on, and of b [n, k] (or null) less the multiple of row i that clears column
  /// i.
  void (*eliminate_f32)(float* a, size_t n, float* b, size_t k, size_t i);
  void (*eliminate_f64)(double* a, size_t n, double* b, size_t k, size_t i);
  void (*lookup_u8)(const uint8_t* in, const uint8_t* table, uint8_t* out, size_t n);  // 256 entries
  void (*add_bytes)(const uint8_t* in, uint32_t* sums, size_t n);                      // to one sum for each
  /// length * cos(angle * scale), or the sine; length == nullptr: 1. For turns below 30000.
  void (*from_polar_f32)(const float* length, const float* angle, float* out, size_t n, double scale, bool sine);
};
const ArithmeticLoops& arithmetic_loops();

}  // namespace minnow::vision

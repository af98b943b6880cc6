// SPDX-License-Identifier: Apache-2.0
// How filters go over a picture: rows with their borders, rows of intermediate values, strips of rows for threads.
#pragma once
#include <memory>
#include <utility>

#include "vision/image.h"

namespace minnow::vision {

/// Most pixels of a window along one side.
inline constexpr int kMostTaps = 32767;

/// The size of a window, checked; and its anchor, where -1 stands for the middle.
void check_window(std::string_view function, Size size);
Point anchor_of(std::string_view function, Point anchor, Size size);
/// Throws InvalidArgument for Border::transparent and, unless `wrap`, Border::wrap, which OpenCV's filters do not have either.
void check_border(std::string_view function, Border border, bool wrap = false);

/// Calls task(first, last) for strips of rows on several threads. A strip has `least` rows at least: what it costs to begin one.
void for_strips(int64_t rows, int64_t row_cost, int64_t least, FunctionRef<void(int64_t first, int64_t last)> task);

/// The pixels that a filter looks at for each pixel, and those that lie beyond the border: `constant` (one pixel; nullptr: zeros) with
/// Border::constant.
struct Window {
  Size size;
  Point anchor;
  Border border = Border::reflect101;
  const void* constant = nullptr;
};

/// Columns first: down(rows, begin, state, mid, n) makes n intermediate elements of the window's rows, rows[0 .. size.height), and
/// across(mid, spare, step, out, n) makes a row of the result; window elements of one output are `step` apart, the first one at the same
/// index as the output. `begin`: the strip's first row. Unless it is, rows[-1] is the row that has left the window, and `state`, n
/// elements, is as the row before left it. `mid` and `spare` have 64 elements more than they need. mid_size: bytes of an element of these
/// three. `running`: down() uses the state.
void columns_first(const ImageView& from, const MutableImageView& to, const Window& window, size_t mid_size, bool running,
                   FunctionRef<void(const void* const* rows, bool begin, void* state, void* mid, int64_t n)> down,
                   FunctionRef<void(void* mid, void* spare, int64_t step, void* out, int64_t n)> across);

/// Rows with their borders: over(rows, y, out, n) makes row y of the result of the window's rows, rows[0 .. size.height), in which the
/// window of an output begins at the output's index. Elements are what convert(row, out, n) makes of the picture's, of `element` bytes.
/// out: the row of `to`.
void padded_rows(const ImageView& from, const MutableImageView& to, const Window& window, size_t element,
                 FunctionRef<void(const void* row, void* out, int64_t n)> convert,
                 FunctionRef<void(const void* const* rows, int64_t y, void* out, int64_t n)> over);
/// The same with the picture's own elements.
void padded_rows(const ImageView& from, const MutableImageView& to, const Window& window,
                 FunctionRef<void(const void* const* rows, int64_t y, void* out, int64_t n)> over);

/// Rows of sums to the elements of a dtype, saturated (from f32: to u8, u16, i16, f32 or f64), and elements to f32.
void convert_row(const float* sums, DType dtype, void* out, int64_t n);
void convert_row(const double* sums, DType dtype, void* out, int64_t n);
void convert_row(const void* row, DType dtype, float* out, int64_t n);

/// to = from * weights, down the columns and across the rows, + delta, in an arithmetic that is exact or OpenCV's.
void linear_filter(const ImageView& from, const MutableImageView& to, const std::vector<double>& across, const std::vector<double>& down,
                   Point anchor, double delta, Border border);

/// Weights of OpenCV's getGaussianKernel() and getDerivKernels().
std::vector<double> gaussian_weights(int size, double sigma);
std::pair<std::vector<double>, std::vector<double>> derivative_weights(std::string_view function, int dx, int dy, int size, bool normalize);

/// The dtype of a result: the picture's where it is undefined.
inline DType or_same(DType dtype, const ImageView& image) { return dtype == DType::undefined ? image.dtype() : dtype; }

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Filters, derivatives, thresholds and morphology.
//
// Names, constants and results are OpenCV's. Where an argument is the dtype of the result, DType::undefined is the picture's. An anchor is
// the place of a pixel in its window, where -1 is the middle.
#pragma once
#include <minnow/vision/image.h>

#include <optional>
#include <tuple>
#include <utility>

namespace minnow::vision {

// ---- Smoothing. Pictures of any number of channels.

/// Means of windows. u8, u16, i16, i32, f32 or f64.
MINNOW_API Tensor blur(const ImageView& image, Size size, Point anchor = {-1, -1}, Border border = Border::reflect101, Output output = {});
/// Means, or sums, of windows, and of squares (whose default dtype is f32, f64 for floats).
MINNOW_API Tensor box_filter(const ImageView& image, DType dtype, Size size, Point anchor = {-1, -1}, bool normalize = true,
                             Border border = Border::reflect101, Output output = {});
MINNOW_API Tensor sqr_box_filter(const ImageView& image, DType dtype, Size size, Point anchor = {-1, -1}, bool normalize = true,
                                 Border border = Border::reflect101, Output output = {});
/// By Gaussian weights of an odd number of pixels. A size of 0 comes from sigma, a sigma of 0 from the size, sigma_y 0 is sigma_x.
/// u8 and u16 have weights of 8 and 16 bits. u8, u16, i16, f32 or f64.
MINNOW_API Tensor gaussian_blur(const ImageView& image, Size size, double sigma_x, double sigma_y = 0, Border border = Border::reflect101,
                                Output output = {});
/// Medians of size x size pixels, an odd number. u8; u16, i16 and f32 with sizes up to 5. Border::replicate.
MINNOW_API Tensor median_blur(const ImageView& image, int size, Output output = {});
/// Means weighted by distance and by difference of colours. u8 or f32 of one or three channels. diameter <= 0: from sigma_space.
/// Source: Tomasi and Manduchi, Bilateral filtering for gray and color images, 1998.
MINNOW_API Tensor bilateral_filter(const ImageView& image, int diameter, double sigma_color, double sigma_space,
                                   Border border = Border::reflect101, Output output = {});
/// Means weighted by a triangle of odd sizes. u8, u16, i16 or f32. Border::replicate. Source: Klingemann, Stack Blur, 2004.
MINNOW_API Tensor stack_blur(const ImageView& image, Size size, Output output = {});

// ---- Linear filters. Sources are u8, u16, i16, f32 or f64.

/// Correlation with a kernel (u8, i32, f32 or f64, one channel), plus delta.
MINNOW_API Tensor filter_2d(const ImageView& image, DType dtype, const ImageView& kernel, Point anchor = {-1, -1}, double delta = 0,
                            Border border = Border::reflect101, Output output = {});
/// The same with a kernel for rows and one for columns, [n, 1] or [1, n].
MINNOW_API Tensor sep_filter_2d(const ImageView& image, DType dtype, const ImageView& kernel_x, const ImageView& kernel_y,
                                Point anchor = {-1, -1}, double delta = 0, Border border = Border::reflect101, Output output = {});
/// Derivatives of orders dx and dy. size: 1, 3, 5, ..., 31; -1: Scharr's.
MINNOW_API Tensor sobel(const ImageView& image, DType dtype, int dx, int dy, int size = 3, double scale = 1, double delta = 0,
                        Border border = Border::reflect101, Output output = {});
MINNOW_API Tensor scharr(const ImageView& image, DType dtype, int dx, int dy, double scale = 1, double delta = 0,
                         Border border = Border::reflect101, Output output = {});
MINNOW_API Tensor laplacian(const ImageView& image, DType dtype, int size = 1, double scale = 1, double delta = 0,
                            Border border = Border::reflect101, Output output = {});
/// Both first derivatives, i16, of u8 pixels of one channel. Border::reflect101 or replicate.
MINNOW_API std::pair<Tensor, Tensor> spatial_gradient(const ImageView& image, int size = 3, Border border = Border::reflect101);
/// Edges (255) of a u8 picture. Source: Canny, A computational approach to edge detection, 1986.
MINNOW_API Tensor canny(const ImageView& image, double low, double high, int size = 3, bool l2_gradient = false, Output output = {});
/// The same of given derivatives, i16.
MINNOW_API Tensor canny_of_gradient(const ImageView& dx, const ImageView& dy, double low, double high, bool l2_gradient = false,
                                    Output output = {});

// ---- Kernels, f32 or f64: columns [size, 1].

MINNOW_API Tensor gaussian_kernel(int size, double sigma, DType dtype = DType::f64);
/// For rows and for columns.
MINNOW_API std::pair<Tensor, Tensor> deriv_kernels(int dx, int dy, int size, bool normalize = false, DType dtype = DType::f32);
MINNOW_API Tensor gabor_kernel(Size size, double sigma, double theta, double lambda, double gamma, double psi, DType dtype = DType::f64);

// ---- Morphology. u8, u16, i16, f32 or f64.

/// OpenCV's numbers.
enum class MorphShape { rect = 0, cross = 1, ellipse = 2, diamond = 3 };
enum class MorphOp { erode = 0, dilate = 1, open = 2, close = 3, gradient = 4, tophat = 5, blackhat = 6, hitmiss = 7 };

/// u8 [height, width] of ones and zeros.
MINNOW_API Tensor structuring_element(MorphShape shape, Size size, Point anchor = {-1, -1});
/// Minima (erode) and maxima (dilate) over the elements of a kernel that are not 0, `iterations` times; what is made of them. An empty
/// kernel: 3 x 3. No border value: pixels beyond the border do not count. hitmiss: u8 of one channel, a kernel of 1, 0 and -1.
MINNOW_API Tensor morphology(const ImageView& image, MorphOp operation, const ImageView& kernel, Point anchor = {-1, -1},
                             int iterations = 1, Border border = Border::constant, std::optional<Scalar4> border_value = std::nullopt,
                             Output output = {});

// ---- Thresholds and histograms.

enum class Threshold { binary = 0, binary_inv = 1, trunc = 2, tozero = 3, tozero_inv = 4 };
enum class ThresholdFrom { given = 0, otsu = 8, triangle = 16 };
enum class AdaptiveMethod { mean = 0, gaussian = 1 };

/// The threshold that was used, and the picture. u8, u16, i16, f32 or f64; otsu: u8 or u16 of one channel, triangle: u8 of one channel.
/// Sources: Otsu, A threshold selection method from gray-level histograms, 1979; Zack, Rogers and Latt, 1977.
MINNOW_API std::pair<double, Tensor> threshold(const ImageView& image, double threshold, double maximum, Threshold type,
                                               ThresholdFrom from = ThresholdFrom::given, Output output = {});
/// The threshold alone.
MINNOW_API double threshold_value(const ImageView& image, double threshold, ThresholdFrom from);
/// Against the mean around each pixel less c. u8 of one channel; block: odd.
MINNOW_API Tensor adaptive_threshold(const ImageView& image, double maximum, AdaptiveMethod method, Threshold type, int block, double c,
                                     Output output = {});
/// u8 of one channel.
MINNOW_API Tensor equalize_hist(const ImageView& image, Output output = {});
/// Equalization within tiles, its slope limited; the last bit_shift bits do not count. u8 or u16 of one channel. Source: Zuiderveld,
/// Contrast limited adaptive histogram equalization, 1994.
MINNOW_API Tensor clahe(const ImageView& image, double clip_limit = 40, Size tiles = {8, 8}, int bit_shift = 0, Output output = {});

// ---- Sums, distances, regions.

/// Sums over all pixels above and to the left, of squares, and of pixels rotated by 45 degrees: [height + 1, width + 1, channels].
/// dtypes: undefined: i32 of u8, f64 of others; squares f64. Sources: Crow, Summed-area tables, 1984; Lienhart and Maydt, 2002.
MINNOW_API Tensor integral(const ImageView& image, DType dtype = DType::undefined);
MINNOW_API std::pair<Tensor, Tensor> integral_2(const ImageView& image, DType dtype = DType::undefined, DType square = DType::undefined);
MINNOW_API std::tuple<Tensor, Tensor, Tensor> integral_3(const ImageView& image, DType dtype = DType::undefined,
                                                         DType square = DType::undefined);

enum class Metric { l1 = 1, l2 = 2, chessboard = 3 };
enum class LabelType { components = 0, pixels = 1 };

/// The distance of each pixel from the nearest 0, f32, or u8 with l1. u8 of one channel; mask: 3, 5, or 0 (exact).
/// Sources: Borgefors, Distance transformations in digital images, 1986; Felzenszwalb and Huttenlocher, 2004.
MINNOW_API Tensor distance_transform(const ImageView& image, Metric metric, int mask, DType dtype = DType::f32, Output output = {});
/// And which 0 that is, i32.
MINNOW_API std::pair<Tensor, Tensor> distance_transform_with_labels(const ImageView& image, Metric metric, int mask, LabelType type);

/// Fills the region around a pixel; gives its area and its rectangle. u8, i32 or f32 of one or three channels. `mask`: nullptr, or u8 with
/// one pixel more at each side; pixels where it is not 0 are not filled, those that are become mask_value. fixed: differences are from the
/// first pixel's colour, not from a neighbour's.
struct FloodFill {
  int connectivity = 4;  // or 8
  bool fixed_range = false;
  bool mask_only = false;
  uint8_t mask_value = 1;
};
MINNOW_API std::pair<int64_t, Rect> flood_fill(const MutableImageView& image, const MutableImageView* mask, Point seed,
                                               const Scalar4& color, const Scalar4& lower = {}, const Scalar4& upper = {},
                                               const FloodFill& options = {});
/// Grows the regions of `markers` (i32, 0: unknown) over the picture (u8 of three channels); borders become -1.
/// Source: Meyer, Color image segmentation, 1992.
MINNOW_API void watershed(const ImageView& image, const MutableImageView& markers);

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Arithmetic on pictures, and measures of their elements. Results are OpenCV's: rounded to nearest, ties to even, and saturated. All
// functions throw InvalidArgument for pictures that do not fit together and Unsupported for dtypes that a function does not take.
#pragma once
#include <minnow/vision/image.h>

#include <tuple>
#include <vector>

namespace minnow::vision {

/// A picture, or numbers for the channels of each pixel of the other operand: one number for all of them, or up to four, and zero for the
/// rest. A picture of up to four elements serves as numbers where it does not fit the other operand.
class Operand {
 public:
  Operand(const ImageView& image) : image_(image) {}
  Operand(const Tensor& tensor) : image_(tensor) {}
  Operand(double number) : numbers_{number}, single_(true) {}
  Operand(const Scalar4& numbers) : numbers_(numbers.begin(), numbers.end()) {}
  explicit Operand(std::vector<double> numbers) : numbers_(std::move(numbers)) {}
  const ImageView& image() const noexcept { return image_; }  // an empty view for numbers
  const std::vector<double>& numbers() const noexcept { return numbers_; }
  bool single() const noexcept { return single_; }

 private:
  ImageView image_;
  std::vector<double> numbers_;
  bool single_ = false;
};

// ---- Of two pictures, element by element. `mask`: u8 [h, w]; where it is 0 the destination stays as it is, or is 0. `dtype`: of the
// result; undefined: that of the pictures, which is then the same. Results are rounded and saturated, but sums, differences and absdiff of
// i32 wrap, as OpenCV's do; numbers beside integers are rounded before they are added.

MINNOW_API Tensor add(const Operand& a, const Operand& b, const ImageView& mask = {}, DType dtype = DType::undefined, Output output = {});
MINNOW_API Tensor subtract(const Operand& a, const Operand& b, const ImageView& mask = {}, DType dtype = DType::undefined,
                           Output output = {});
MINNOW_API Tensor multiply(const Operand& a, const Operand& b, double scale = 1, DType dtype = DType::undefined, Output output = {});
/// Integers divided by 0 are 0.
MINNOW_API Tensor divide(const Operand& a, const Operand& b, double scale = 1, DType dtype = DType::undefined, Output output = {});
MINNOW_API Tensor absdiff(const Operand& a, const Operand& b, Output output = {});
MINNOW_API Tensor minimum(const Operand& a, const Operand& b, Output output = {});
MINNOW_API Tensor maximum(const Operand& a, const Operand& b, Output output = {});
/// a * alpha + b * beta + gamma.
MINNOW_API Tensor add_weighted(const Operand& a, double alpha, const Operand& b, double beta, double gamma, DType dtype = DType::undefined,
                               Output output = {});
/// a * alpha + b.
MINNOW_API Tensor scale_add(const ImageView& a, double alpha, const ImageView& b, Output output = {});
MINNOW_API Tensor bitwise_and(const Operand& a, const Operand& b, const ImageView& mask = {}, Output output = {});
MINNOW_API Tensor bitwise_or(const Operand& a, const Operand& b, const ImageView& mask = {}, Output output = {});
MINNOW_API Tensor bitwise_xor(const Operand& a, const Operand& b, const ImageView& mask = {}, Output output = {});
MINNOW_API Tensor bitwise_not(const ImageView& image, const ImageView& mask = {}, Output output = {});

/// OpenCV's numbers.
enum class Compare { equal, greater, greater_equal, less, less_equal, not_equal };
/// u8: 255 where the comparison holds, else 0.
MINNOW_API Tensor compare(const Operand& a, const Operand& b, Compare comparison, Output output = {});
/// u8 [h, w]: 255 where all channels are within the bounds, which belong to the range.
MINNOW_API Tensor in_range(const ImageView& image, const Operand& lower, const Operand& upper, Output output = {});

/// image1 * w1 + image2 * w2 over w1 + w2 + 1e-5; the weights are f32 [h, w], the pictures u8 or f32.
MINNOW_API Tensor blend_linear(const ImageView& image1, const ImageView& image2, const ImageView& w1, const ImageView& w2,
                               Output output = {});

// ---- Of one picture

/// |image * alpha + beta| as u8.
MINNOW_API Tensor convert_scale_abs(const ImageView& image, double alpha = 1, double beta = 0, Output output = {});
/// image * alpha + beta as another dtype.
MINNOW_API Tensor convert_scale(const ImageView& image, DType dtype, double alpha = 1, double beta = 0, Output output = {});

/// OpenCV's numbers. relative: of a difference, over the norm of the second picture.
enum class Norm { inf = 1, l1 = 2, l2 = 4, l2sqr = 5, hamming = 6, hamming2 = 7, relative = 8, minmax = 32 };
/// Elements scaled so that their norm is `alpha`, or with Norm::minmax that they are from alpha to beta.
MINNOW_API Tensor normalize(const ImageView& image, double alpha = 1, double beta = 0, Norm norm = Norm::l2, DType dtype = DType::undefined,
                            const ImageView& mask = {}, Output output = {});
/// table[element], for i8 of the element's bits: a table [1, 256] or [256, 1], of any dtype, with one channel or as many as the u8 or i8
/// picture has.
MINNOW_API Tensor lookup(const ImageView& image, const ImageView& table, Output output = {});
/// The channels of each pixel times a matrix [n, channels], or [n, channels + 1] whose last column is added.
MINNOW_API Tensor transform(const ImageView& image, const ImageView& matrix, Output output = {});

// These take f32 and f64; power with a whole exponent takes all dtypes.
MINNOW_API Tensor square_root(const ImageView& image, Output output = {});
MINNOW_API Tensor power(const ImageView& image, double exponent, Output output = {});
MINNOW_API Tensor exponential(const ImageView& image, Output output = {});
MINNOW_API Tensor logarithm(const ImageView& image, Output output = {});
MINNOW_API Tensor magnitude(const ImageView& x, const ImageView& y, Output output = {});
/// The angle within [0, 2 pi) or [0, 360), to about 0.01 degrees.
MINNOW_API Tensor phase(const ImageView& x, const ImageView& y, bool degrees = false, Output output = {});
MINNOW_API std::pair<Tensor, Tensor> cart_to_polar(const ImageView& x, const ImageView& y, bool degrees = false);
/// An empty magnitude: 1.
MINNOW_API std::pair<Tensor, Tensor> polar_to_cart(const ImageView& magnitude, const ImageView& angle, bool degrees = false);

// ---- Channels

MINNOW_API std::vector<Tensor> split(const ImageView& image);
MINNOW_API Tensor merge(const std::vector<ImageView>& images, Output output = {});
MINNOW_API Tensor extract_channel(const ImageView& image, int channel, Output output = {});
/// Writes a picture of one channel into a channel of `to`.
MINNOW_API void insert_channel(const ImageView& image, const MutableImageView& to, int channel);
/// Pairs (from, to) of channels, counted through all sources and all destinations; from < 0: zero.
MINNOW_API void mix_channels(const std::vector<ImageView>& from, const std::vector<MutableImageView>& to, const std::vector<int>& pairs);
MINNOW_API Tensor hconcat(const std::vector<ImageView>& images, Output output = {});
MINNOW_API Tensor vconcat(const std::vector<ImageView>& images, Output output = {});
MINNOW_API Tensor copy_to(const ImageView& image, const ImageView& mask = {}, Output output = {});

// ---- Measures, of up to 4 channels

MINNOW_API Scalar4 sum(const ImageView& image);
MINNOW_API Scalar4 mean(const ImageView& image, const ImageView& mask = {});
/// f64 [channels, 1] each, of any number of channels.
MINNOW_API std::pair<Tensor, Tensor> mean_std_dev(const ImageView& image, const ImageView& mask = {});
struct Extremes {
  double least = 0, most = 0;
  Point least_at{-1, -1}, most_at{-1, -1};  // the first in the order of rows
};
/// Takes a picture of one channel. A mask without a pixel gives the initial values.
MINNOW_API Extremes min_max(const ImageView& image, const ImageView& mask = {});
MINNOW_API double norm(const ImageView& image, Norm kind = Norm::l2, const ImageView& mask = {});
/// The norm of the difference.
MINNOW_API double norm(const ImageView& a, const ImageView& b, Norm kind = Norm::l2, bool relative = false, const ImageView& mask = {});
MINNOW_API double psnr(const ImageView& a, const ImageView& b, double peak = 255);
MINNOW_API int64_t count_nonzero(const ImageView& image);
/// The places (x, y), row after row, of the elements of one channel that are not 0, i32 [n, 1, 2]; an empty tensor where there are none.
MINNOW_API Tensor find_nonzero(const ImageView& image);
/// OpenCV's numbers.
enum class Reduction { sum, mean, most, least, sum_of_squares };
/// Rows to one row (axis 0) or columns to one column (axis 1).
MINNOW_API Tensor reduce(const ImageView& image, int axis, Reduction kind, DType dtype = DType::undefined, Output output = {});

/// A histogram f32 [sizes...] of chosen channels, counted through all pictures (u8, u16 or f32, of one size and dtype). `ranges`: the lower
/// and upper bound of each dimension; the upper does not belong to it. `accumulate_to`: an earlier histogram that is added.
MINNOW_API Tensor histogram(const std::vector<ImageView>& images, const std::vector<int>& channels, const ImageView& mask,
                            const std::vector<int>& sizes, const std::vector<double>& ranges, const Tensor& accumulate_to = {});
/// OpenCV's numbers.
enum class HistogramComparison { correlation, chi_square, intersection, bhattacharyya, chi_square_alt, kullback_leibler };
MINNOW_API double compare_histograms(const Tensor& a, const Tensor& b, HistogramComparison method);
/// Each pixel's bin, times `scale`, as the pictures' dtype.
MINNOW_API Tensor back_project(const std::vector<ImageView>& images, const std::vector<int>& channels, const Tensor& histogram,
                               const std::vector<double>& ranges, double scale = 1, Output output = {});

}  // namespace minnow::vision

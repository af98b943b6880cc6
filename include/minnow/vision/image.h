// SPDX-License-Identifier: Apache-2.0
// Pictures as functions of <minnow/vision.h> take and give them: views of memory, sizes, points and rectangles.
#pragma once
#include <minnow/tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace minnow::vision {

/// Most pixels that a picture may have; files that claim more are refused before memory is taken.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

/// Pixels. Width comes first, as in OpenCV.
struct Size {
  int width = 0, height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

struct Point {
  int x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct Point2d {
  double x = 0, y = 0;
};

struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

/// A number for each channel: a colour, or the sums of channels. Pictures of more channels take 0 for the others.
using Scalar4 = std::array<double, 4>;

/// Which pixel stands beyond the border of a picture. OpenCV's numbers.
enum class Border {
  constant = 0,     // iiiiii|abcdefgh|iiiiiii for a value i
  replicate = 1,    // aaaaaa|abcdefgh|hhhhhhh
  reflect = 2,      // fedcba|abcdefgh|hgfedcb
  wrap = 3,         // cdefgh|abcdefgh|abcdefg
  reflect101 = 4,   // gfedcb|abcdefgh|gfedcba
  transparent = 5,  // the pixel of the destination stays
};

/// A picture in memory that somebody else owns: `height` rows of `width` pixels. The `channels` elements of a pixel lie side by side, and
/// so do the pixels of a row; rows are `stride` bytes apart, so that a view may be a part of a larger picture.
class ImageView {
 public:
  ImageView() = default;
  ImageView(DType dtype, int64_t height, int64_t width, int64_t channels, const void* data, int64_t stride) noexcept
      : dtype_(dtype), height_(height), width_(width), channels_(channels), stride_(stride), data_(data) {}
  /// Views a tensor [height, width] or [height, width, channels]. Throws InvalidArgument for another rank.
  MINNOW_API ImageView(const TensorView& tensor);
  ImageView(const Tensor& tensor) : ImageView(tensor.view()) {}

  DType dtype() const noexcept { return dtype_; }
  int64_t height() const noexcept { return height_; }
  int64_t width() const noexcept { return width_; }
  int64_t channels() const noexcept { return channels_; }
  /// Bytes from one row to the next.
  int64_t stride() const noexcept { return stride_; }
  /// Bytes of a row's elements.
  int64_t row_bytes() const noexcept { return width_ * channels_ * static_cast<int64_t>(size_of(dtype_)); }
  bool empty() const noexcept { return height_ == 0 || width_ == 0 || channels_ == 0; }
  Size size() const noexcept { return {static_cast<int>(width_), static_cast<int>(height_)}; }
  const void* data() const noexcept { return data_; }
  template <class T>
  const T* row(int64_t y) const noexcept {
    return reinterpret_cast<const T*>(static_cast<const std::byte*>(data_) + y * stride_);
  }
  /// The part of the picture within a rectangle, without a copy. Throws InvalidArgument where it reaches beyond the picture.
  MINNOW_API ImageView part(const Rect& rectangle) const;
  /// Whether there is a picture: not after the default constructor.
  explicit operator bool() const noexcept { return dtype_ != DType::undefined; }

 protected:
  DType dtype_ = DType::undefined;
  int64_t height_ = 0, width_ = 0, channels_ = 0, stride_ = 0;
  const void* data_ = nullptr;
};

/// The same, where the elements may be written.
class MutableImageView : public ImageView {
 public:
  MutableImageView() = default;
  MutableImageView(DType dtype, int64_t height, int64_t width, int64_t channels, void* data, int64_t stride) noexcept
      : ImageView(dtype, height, width, channels, data, stride) {}
  /// Views a tensor, like ImageView.
  MINNOW_API MutableImageView(const MutableTensorView& tensor);
  void* data() const noexcept { return const_cast<void*>(data_); }
  template <class T>
  T* row(int64_t y) const noexcept {
    return const_cast<T*>(ImageView::row<T>(y));
  }
  MINNOW_API MutableImageView part(const Rect& rectangle) const;
};

/// Where a function writes its picture: into a new tensor, which it returns, or into memory of the caller's; then it returns an empty
/// tensor. That memory may overlap the inputs. Memory of another dtype, size or number of channels than the result is an InvalidArgument,
/// or with Fit::or_new left alone, and the result is a new tensor, as in OpenCV.
class Output {
 public:
  enum class Fit : uint8_t { required, or_new };
  Output() = default;
  Output(const MutableImageView& view, Fit fit = Fit::required) : view_(view), fit_(fit) {}
  const MutableImageView& view() const noexcept { return view_; }
  Fit fit() const noexcept { return fit_; }

 private:
  MutableImageView view_;
  Fit fit_ = Fit::required;
};

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
#include "vision/light_rows.h"

#include <cstdlib>
#include <memory>

#include "base/memory.h"
#include "base/os.h"

namespace minnow::vision {

ImageView::ImageView(const TensorView& tensor) : dtype_(tensor.dtype()), data_(tensor.data()) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 2 && shape.rank() != 3)
    throw InvalidArgument("a picture is [height, width] or [height, width, channels], this is {}{}", tensor.dtype(), shape);
  height_ = shape[0];
  width_ = shape[1];
  channels_ = shape.rank() == 3 ? shape[2] : 1;
  stride_ = row_bytes();
}

MutableImageView::MutableImageView(const MutableTensorView& tensor) : ImageView(tensor) {}

ImageView ImageView::part(const Rect& rectangle) const {
  const auto [x, y, width, height] = rectangle;
  if (x < 0 || y < 0 || width < 0 || height < 0 || x + int64_t{width} > width_ || y + int64_t{height} > height_)
    throw InvalidArgument("the rectangle of {} x {} pixels at ({}, {}) is not within the picture of {} x {}", width, height, x, y, width_,
                          height_);
  ImageView view = *this;
  view.height_ = height;
  view.width_ = width;
  view.data_ = row<std::byte>(y) + x * channels_ * static_cast<int64_t>(size_of(dtype_));
  return view;
}

MutableImageView MutableImageView::part(const Rect& rectangle) const {
  const ImageView view = ImageView::part(rectangle);
  return {view.dtype(), view.height(), view.width(), view.channels(), const_cast<void*>(view.data()), view.stride()};
}

std::string to_string(const ImageView& image) {
  return format("{}{}", image.dtype(), shape_of(image.height(), image.width(), image.channels()));
}

void check_size(std::string_view function, int64_t width, int64_t height) {
  if (width <= 0 || height <= 0 || width > kMostPixels / height)
    throw InvalidArgument("{}: a picture has between 1 and {} pixels, not {} x {}", function, kMostPixels, width, height);
}

void check_not_empty(std::string_view function, const ImageView& image) {
  if (image.empty()) throw InvalidArgument("{}: the picture is empty ({})", function, to_string(image));
}

void check_dtype(std::string_view function, const ImageView& image, std::initializer_list<DType> dtypes) {
  if (std::find(dtypes.begin(), dtypes.end(), image.dtype()) != dtypes.end()) return;
  std::string known;
  for (const DType dtype : dtypes) known += format("{}{}", known.empty() ? "" : dtype == *(dtypes.end() - 1) ? " or " : ", ", dtype);
  throw Unsupported("{}: the picture is {}, not {}", function, known, to_string(image));
}

void check_channels(std::string_view function, const ImageView& image, std::initializer_list<int64_t> channels) {
  if (std::find(channels.begin(), channels.end(), image.channels()) != channels.end()) return;
  std::string known;
  for (const int64_t count : channels) known += format("{}{}", known.empty() ? "" : count == *(channels.end() - 1) ? " or " : ", ", count);
  throw InvalidArgument("{}: the picture has {} channel{}, not {} ({})", function, known, known == "1" ? "" : "s", image.channels(),
                        to_string(image));
}

void check_same(std::string_view function, const ImageView& a, const ImageView& b) {
  if (a.dtype() != b.dtype() || a.height() != b.height() || a.width() != b.width() || a.channels() != b.channels())
    throw InvalidArgument("{}: the pictures have the same dtype, size and channels, not {} and {}", function, to_string(a), to_string(b));
}

void check_mask(std::string_view function, const ImageView& image, const ImageView& mask) {
  if ((mask.dtype() != DType::u8 && mask.dtype() != DType::i8 && mask.dtype() != DType::boolean) || mask.channels() != 1 ||
      mask.height() != image.height() || mask.width() != image.width())
    throw InvalidArgument("{}: the mask of {} is u8[{}, {}], not {}", function, to_string(image), image.height(), image.width(),
                          to_string(mask));
}

namespace {

/// Whether two pictures share memory.
bool overlap(const ImageView& a, const ImageView& b) {
  if (a.empty() || b.empty()) return false;
  const auto* const first = a.row<std::byte>(0);
  const auto* const second = b.row<std::byte>(0);
  return first < b.row<std::byte>(b.height() - 1) + b.row_bytes() && second < a.row<std::byte>(a.height() - 1) + a.row_bytes();
}

}  // namespace

// A picture's memory is not set, and comes from the heap, which gives the same pages again. Tensors of more than 2 MiB take new pages each
// time, and set them to 0: that took 0.3 ms for u8[1080, 1920, 3] (EPYC, 2026-11-23), as long as flipping it.
Tensor new_image(DType dtype, int64_t height, int64_t width, int64_t channels) {
  constexpr size_t kAlignment = 64;
  const Shape shape = shape_of(height, width, channels);
  const size_t bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
  check_memory(bytes, "a picture");
  AlignedFree free{current_account(), bytes};
  if (free.account) free.account->charge(bytes);
  // glibc's aligned_alloc() takes 75 ns more than malloc().
  void* const whole = std::malloc(bytes + kAlignment);
  if (!whole) {
    if (free.account) free.account->refund(bytes);
    throw out_of_memory("the system refused {} bytes of memory", bytes);
  }
  std::shared_ptr<const void> owner(whole, std::move(free));
  void* const memory = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(whole) + kAlignment - 1) / kAlignment * kAlignment);
  // The heap does not keep tens of megabytes: large pages make new ones cheaper.
  const uintptr_t start = (reinterpret_cast<uintptr_t>(memory) + os::kHugePage - 1) / os::kHugePage * os::kHugePage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / os::kHugePage * os::kHugePage;
  if (bytes >= 2 * os::kHugePage && end > start) os::prefer_huge_pages(reinterpret_cast<void*>(start), end - start);
  return Tensor(dtype, shape, memory, std::move(owner));
}
MutableImageView writable(Tensor& image) { return image.writable(); }

Result::Result(std::string_view function, const Output& output, DType dtype, int64_t height, int64_t width, int64_t channels,
               std::initializer_list<const ImageView*> read) {
  const MutableImageView& given = output.view();
  const bool fits = given.dtype() == dtype && given.height() == height && given.width() == width && given.channels() == channels;
  if (given && (fits || output.fit() == Output::Fit::required)) {
    if (!fits)
      throw InvalidArgument("{}: the result is {}{}, the destination is {}", function, dtype, shape_of(height, width, channels),
                            to_string(given));
    const bool in_place = std::any_of(read.begin(), read.end(), [&](const ImageView* image) { return overlap(*image, given); });
    if (!in_place) {
      view_ = given;
      return;
    }
    copy_to_ = given;
  }
  tensor_ = new_image(dtype, height, width, channels);
  view_ = writable(tensor_);
}

Tensor Result::finish() {
  if (!copy_to_) return std::move(tensor_);
  copy(view_, copy_to_);
  return Tensor();
}

int64_t rows_at_once(std::initializer_list<const ImageView*> images) {
  constexpr int64_t kMostElements = 16384;  // of a row, so that threads have parts to share
  int64_t height = 0, most = kMostElements;
  for (const ImageView* image : images) {
    if (!*image) continue;
    if (image->stride() != image->row_bytes()) return 1;
    height = image->height();
    most = std::min(most, kMostElements / std::max<int64_t>(1, image->width() * image->channels()));
  }
  for (int64_t rows = std::min(most, height); rows > 1; --rows)
    if (height % rows == 0) return rows;
  return 1;
}

void copy(const ImageView& from, const MutableImageView& to) {
  const size_t bytes = static_cast<size_t>(from.row_bytes());
  for_light_rows(from.height(), 2 * from.row_bytes(), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) std::memcpy(to.row<std::byte>(y), from.row<std::byte>(y), bytes);
  });
}

int64_t border_position(int64_t i, int64_t size, Border border) {
  if (i >= 0 && i < size) return i;
  switch (border) {
    case Border::replicate:
      return i < 0 ? 0 : size - 1;
    // Divisions are for positions far beyond the picture alone.
    case Border::wrap:
      if (i < 0) i = i >= -size ? i + size : size - 1 - (-1 - i) % size;
      return i < size ? i : i % size;
    case Border::reflect:
      if (i < 0) i = -1 - i;
      if (i >= 2 * size) i %= 2 * size;
      return i < size ? i : 2 * size - 1 - i;
    case Border::reflect101:
      if (size == 1) return 0;
      if (i < 0) i = -i;
      if (i >= 2 * size - 2) i %= 2 * size - 2;
      return i < size ? i : 2 * size - 2 - i;
    default:
      return -1;
  }
}

std::vector<int64_t> border_positions(int64_t size, int64_t before, int64_t after, Border border) {
  std::vector<int64_t> positions(static_cast<size_t>(before + size + after));
  for (int64_t i = -before; i < size + after; ++i) positions[static_cast<size_t>(i + before)] = border_position(i, size, border);
  return positions;
}

void pad_row(const void* row, int64_t width, int64_t pixel_bytes, std::span<const int64_t> positions, int64_t before, const void* constant,
             void* padded) {
  const auto* const from = static_cast<const std::byte*>(row);
  auto* const to = static_cast<std::byte*>(padded);
  const size_t bytes = static_cast<size_t>(pixel_bytes);
  const int64_t count = static_cast<int64_t>(positions.size());
  const auto fill = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t position = row ? positions[static_cast<size_t>(i)] : -1;
      std::memcpy(to + i * pixel_bytes, position < 0 ? constant : from + position * pixel_bytes, bytes);
    }
  };
  if (!row) return fill(0, count);
  fill(0, before);
  std::memcpy(to + before * pixel_bytes, from, static_cast<size_t>(width) * bytes);
  fill(before + width, count);
}

std::vector<std::byte> pixel_of(const Scalar4& color, DType dtype, int64_t channels) {
  std::vector<std::byte> pixel(static_cast<size_t>(channels) * size_of(dtype));
  with_element("pixel", dtype, [&](auto element) {
    using T = decltype(element);
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      const T value = saturate<T>(c < color.size() ? color[c] : 0.0);
      std::memcpy(pixel.data() + c * sizeof(T), &value, sizeof(T));
    }
  });
  return pixel;
}

}  // namespace minnow::vision

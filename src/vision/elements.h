// SPDX-License-Identifier: Apache-2.0
// Shared by the functions of elements: operands, results with masks, and rows of a tile as floats or doubles.
#pragma once
#include <minnow/vision/arithmetic.h>

#include <memory>
#include <numeric>

#include "vision/light_rows.h"
#include "vision/loops/arithmetic.h"

namespace minnow::vision {

inline constexpr int kI32 = 4, kF32 = 5, kF64 = 6;  // of element_index()

/// Whether all values of a dtype are floats.
inline bool fits_float(int index) { return index < kI32 || index == kF32; }

/// An operand as rows: a picture's, or numbers for the channels of the other operand.
struct Side {
  ImageView image;
  std::vector<double> numbers;  // one for each channel; empty for a picture
  bool is_numbers() const { return !numbers.empty(); }
  int index = kF64;
};

struct Sides {
  Side a, b;
  /// The picture that gives the size.
  const ImageView& main() const { return a.is_numbers() ? b.image : a.image; }
};

inline Side side_of(std::string_view function, const ImageView& image) {
  Side side;
  side.image = image;
  side.index = element_index(function, image.dtype());
  return side;
}

inline bool same_size(const ImageView& a, const ImageView& b) {
  return a.height() == b.height() && a.width() == b.width() && a.channels() == b.channels();
}

inline bool same_memory(const ImageView& a, const ImageView& b) {
  return a.data() == b.data() && a.stride() == b.stride() && a.dtype() == b.dtype();
}

/// A result that elements of `inputs` are read for one by one, so that it may lie where an input lies; with a mask its other pixels are
/// those of the destination, or zero.
class Elements {
 public:
  Elements(std::string_view function, const Output& output, DType dtype, int64_t height, int64_t width, int64_t channels,
           const ImageView& mask, const ImageView& a, const ImageView& b = {})
      : result_(
            function, output, dtype, height, width, channels,
            {a && !same_memory(a, output.view()) ? &a : &none_, b && !same_memory(b, output.view()) ? &b : &none_, mask ? &mask : &none_}) {
    if (!mask) return;
    check_mask(function, result_.view(), mask);
    const MutableImageView &given = output.view(), &view = result_.view();
    if (view.data() == given.data() && given) return;
    if (given && same_size(given, view) && given.dtype() == dtype)
      copy(given, view);
    else
      for (int64_t y = 0; y < height; ++y) std::memset(view.row<void>(y), 0, static_cast<size_t>(view.row_bytes()));
  }
  const MutableImageView& view() const { return result_.view(); }
  Tensor finish() { return result_.finish(); }

 private:
  ImageView none_;
  Result result_;
};

/// Elements of a tile: whole pixels, about 1024, and whole vectors.
inline size_t tile_of(int64_t channels) {
  const int64_t step = std::lcm(channels, int64_t{64});
  return static_cast<size_t>(step * std::max<int64_t>(1, 1024 / step));
}

/// Operands, result and mask for steps, with as many rows taken for one as may be (rows_at_once).
struct Walk {
  Walk(Sides from, const MutableImageView& to, const ImageView& where) : sides(std::move(from)), view(to), mask(where) {
    const int64_t rows = rows_at_once({&sides.a.image, &sides.b.image, &view, &mask});
    if (rows == 1) return;
    for (ImageView* image : {&sides.a.image, &sides.b.image, &mask})
      if (*image) *image = with_rows_joined(*image, rows);
    view = with_rows_joined(view, rows);
  }
  Sides sides;
  MutableImageView view;
  ImageView mask;
};

/// A step on `count` elements of row y, from element `first` on.
using TileStep = FunctionRef<void(int64_t y, size_t first, size_t count, void* out)>;
/// Calls a step for tiles of elements of all rows; with a mask `out` is a buffer, copied where the mask is. Each thread calls `thread` with
/// a function that takes its step.
void in_tiles_of_threads(const MutableImageView& view, const ImageView& mask, size_t tile,
                         FunctionRef<void(FunctionRef<void(TileStep)> run)> thread);
/// The same with the step that make_step() gives.
template <class Step>
void in_tiles(const MutableImageView& view, const ImageView& mask, size_t tile, Step make_step) {
  in_tiles_of_threads(view, mask, tile, [&](FunctionRef<void(TileStep)> run) {
    auto step = make_step();
    run(step);
  });
}

/// Numbers for the channels of pixels, repeated over a tile.
template <class T>
std::shared_ptr<std::vector<T>> repeated(const std::vector<double>& numbers, size_t tile) {
  auto pattern = std::make_shared<std::vector<T>>(tile);
  for (size_t c = 0; c < numbers.size(); ++c) {
    const T value = saturate<T>(numbers[c]);
    for (size_t i = c; i < tile; i += numbers.size()) (*pattern)[i] = value;
  }
  return pattern;
}

/// A side's elements as W, or its numbers. Copies share the numbers: each thread has one.
template <class W>
class Rows {
 public:
  Rows(const Side& side, size_t tile) : side_(&side), tile_(tile) {
    if (side.is_numbers()) pattern_ = repeated<W>(side.numbers, tile);
  }
  const W* at(int64_t y, size_t first, size_t count) {
    if (pattern_) return pattern_->data();
    const std::byte* from = side_->image.row<std::byte>(y) + first * size_of(side_->image.dtype());
    if (side_->index == (sizeof(W) == 4 ? kF32 : kF64)) return reinterpret_cast<const W*>(from);
    buffer_.resize(tile_ + 16);
    if constexpr (sizeof(W) == 4)
      arithmetic_loops().to_f32[side_->index](from, buffer_.data(), count);
    else
      arithmetic_loops().to_f64[side_->index](from, buffer_.data(), count);
    return buffer_.data();
  }

 private:
  const Side* side_;
  size_t tile_;
  std::shared_ptr<std::vector<W>> pattern_;
  std::vector<W> buffer_;
};

template <class W>
void store(int index, const W* from, void* to, size_t count) {
  if constexpr (sizeof(W) == 4)
    arithmetic_loops().from_f32[index](from, to, count);
  else
    arithmetic_loops().from_f64[index](from, to, count);
}

template <class W>
using BinaryStep = FunctionRef<void(const W* a, const W* b, W* out, size_t count)>;
template <class W>
using MapStep = FunctionRef<void(const W* in, W* out, size_t count)>;

/// step(a, b, out, count) on floats or doubles.
template <class W>
void through(const Sides& sides, const MutableImageView& view, const ImageView& mask, BinaryStep<W> step);
extern template void through(const Sides&, const MutableImageView&, const ImageView&, BinaryStep<float>);
extern template void through(const Sides&, const MutableImageView&, const ImageView&, BinaryStep<double>);

/// One picture through floats or doubles: step(in, out, count).
template <class W>
Tensor mapped(std::string_view function, const ImageView& image, DType dtype, const ImageView& mask, const Output& output, MapStep<W> step);
extern template Tensor mapped(std::string_view, const ImageView&, DType, const ImageView&, const Output&, MapStep<float>);
extern template Tensor mapped(std::string_view, const ImageView&, DType, const ImageView&, const Output&, MapStep<double>);

/// One picture by a step of the tables.
Tensor unary(std::string_view function, UnaryOp op, const ImageView& image, DType dtype, std::array<double, 2> p, const ImageView& mask,
             const Output& output);

/// min_max() without the places.
Extremes values_of_extremes(std::string_view function, const ImageView& image, const ImageView& mask);

inline void check_floats(std::string_view function, const ImageView& image) { check_dtype(function, image, {DType::f32, DType::f64}); }

/// A step on two pictures of f32 or f64.
Tensor of_floats(std::string_view function, const ImageView& x, const ImageView& y, const Output& output, BinaryStep<float> floats,
                 BinaryStep<double> doubles);

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Elements go through rows of a tile: native steps of one dtype where there are, else floats, or doubles where floats would not do.
#include <minnow/vision/arithmetic.h>

#include <memory>
#include <numeric>

#include "vision/arithmetic_loops.h"
#include "vision/image.h"

namespace minnow::vision {

int element_index(std::string_view function, DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 0;
    case DType::i8:
      return 1;
    case DType::u16:
      return 2;
    case DType::i16:
      return 3;
    case DType::i32:
      return 4;
    case DType::f32:
      return 5;
    case DType::f64:
      return 6;
    default:
      throw Unsupported("{}: a picture is u8, i8, u16, i16, i32, f32 or f64, not {}", function, dtype);
  }
}

namespace {

constexpr int kI32 = 4, kF32 = 5, kF64 = 6;

/// Whether all values of a dtype are floats.
bool fits_float(int index) { return index < kI32 || index == kF32; }

/// An operand as rows: a picture's, or numbers for the channels of the other operand.
struct Side {
  ImageView image;
  std::vector<double> numbers;  // one for each channel; empty for a picture
  bool is_numbers() const { return !numbers.empty(); }
  int index = kF64;
};

bool same_size(const ImageView& a, const ImageView& b) {
  return a.height() == b.height() && a.width() == b.width() && a.channels() == b.channels();
}

bool could_be_numbers(const ImageView& image) {
  return image.channels() == 1 && std::min(image.height(), image.width()) == 1 && std::max(image.height(), image.width()) <= 4;
}

std::vector<double> numbers_in(std::string_view function, const ImageView& image) {
  std::vector<double> numbers;
  const int index = element_index(function, image.dtype());
  for (int64_t y = 0; y < image.height(); ++y) {
    std::vector<double> row(static_cast<size_t>(image.width()));
    arithmetic_loops().to_f64[index](image.row<void>(y), row.data(), row.size());
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return numbers;
}

/// `broadcast`: a single number is for all channels, else for the first.
Side numbers_for(std::string_view function, const Operand& operand, int64_t channels, bool broadcast) {
  if (channels > 4 && !(operand.single() && broadcast))
    throw InvalidArgument("{}: numbers beside a picture are for up to 4 channels, not {}", function, channels);
  Side side;
  const std::vector<double> given = operand.image() ? numbers_in(function, operand.image()) : operand.numbers();
  if (given.empty() || given.size() > 4)
    throw InvalidArgument("{}: there are 1 to 4 numbers beside a picture, not {}", function, given.size());
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
    side.numbers.push_back(operand.single() && broadcast ? given[0] : c < given.size() ? given[c] : 0);
  return side;
}

struct Sides {
  Side a, b;
  /// The picture that gives the size.
  const ImageView& main() const { return a.is_numbers() ? b.image : a.image; }
};

Side side_of(std::string_view function, const ImageView& image) {
  Side side;
  side.image = image;
  side.index = element_index(function, image.dtype());
  return side;
}

/// `memory`: of numbers on both sides.
Sides sides_of(std::string_view function, const Operand& a, const Operand& b, bool broadcast, Tensor& memory) {
  if (!a.image() && !b.image()) {  // a picture f64 [4, 1] and numbers
    memory = Tensor(DType::f64, {4, 1});
    double* elements = memory.writable().data<double>();
    for (size_t i = 0; i < 4; ++i) elements[i] = a.single() ? a.numbers()[0] : i < a.numbers().size() ? a.numbers()[i] : 0;
    return {side_of(function, memory), numbers_for(function, b, 1, broadcast)};
  }
  if (a.image()) check_not_empty(function, a.image());
  if (b.image()) check_not_empty(function, b.image());
  if (a.image() && b.image()) {
    if (same_size(a.image(), b.image())) return {side_of(function, a.image()), side_of(function, b.image())};
    if (could_be_numbers(b.image())) return {side_of(function, a.image()), numbers_for(function, b, a.image().channels(), broadcast)};
    if (could_be_numbers(a.image())) return {numbers_for(function, a, b.image().channels(), broadcast), side_of(function, b.image())};
    throw InvalidArgument("{}: the pictures have the same size and channels, not {} and {}", function, to_string(a.image()),
                          to_string(b.image()));
  }
  if (a.image()) return {side_of(function, a.image()), numbers_for(function, b, a.image().channels(), broadcast)};
  return {numbers_for(function, a, b.image().channels(), broadcast), side_of(function, b.image())};
}

bool same_memory(const ImageView& a, const ImageView& b) {
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
size_t tile_of(int64_t channels) {
  const int64_t step = std::lcm(channels, int64_t{64});
  return static_cast<size_t>(step * std::max<int64_t>(1, 1024 / step));
}

/// Calls step(y, first, count, out) for tiles of elements of all rows; with a mask `out` is a buffer, copied where the mask is.
template <class Step>
void in_tiles(const MutableImageView& view, const ImageView& mask, size_t tile, Step make_step) {
  const size_t size = size_of(view.dtype()), row = static_cast<size_t>(view.width() * view.channels()),
               channels = static_cast<size_t>(view.channels());
  for_rows(view.height(), view.width() * view.channels() * 3, [&](int64_t first_row, int64_t last_row) {
    auto step = make_step();
    std::vector<double> buffer(mask ? (tile * size + 7) / 8 : 0);
    for (int64_t y = first_row; y < last_row; ++y)
      for (size_t x = 0; x < row; x += tile) {
        const size_t count = std::min(tile, row - x);
        std::byte* out = view.row<std::byte>(y) + x * size;
        if (!mask) {
          step(y, x, count, static_cast<void*>(out));
        } else {
          step(y, x, count, static_cast<void*>(buffer.data()));
          arithmetic_loops().masked(buffer.data(), mask.row<uint8_t>(y) + x / channels, out, count / channels, channels * size);
        }
      }
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

/// step(a, b, out, count) on floats or doubles.
template <class W, class Step>
void through(const Sides& sides, const MutableImageView& view, const ImageView& mask, Step step) {
  const size_t tile = tile_of(view.channels());
  const int index = element_index("", view.dtype());
  const Rows<W> rows_a(sides.a, tile), rows_b(sides.b, tile);
  in_tiles(view, mask, tile, [&] {
    return [&, a = rows_a, b = rows_b, made = std::vector<W>(tile + 16)](int64_t y, size_t first, size_t count, void* out) mutable {
      const bool direct = index == (sizeof(W) == 4 ? kF32 : kF64);
      W* to = direct ? static_cast<W*>(out) : made.data();
      step(a.at(y, first, count), b.at(y, first, count), to, count);
      if (!direct) store(index, to, out, count);
    };
  });
}

/// Whether numbers are elements of a dtype.
bool are_elements(const std::vector<double>& numbers, DType dtype) {
  return with_element("", dtype, [&](auto element) {
    using T = decltype(element);
    return std::all_of(numbers.begin(), numbers.end(),
                       [](double x) { return std::is_floating_point_v<T> || static_cast<double>(saturate<T>(x)) == x; });
  });
}

/// A side's rows as they are; numbers as elements of a dtype, saturated.
class RawRows {
 public:
  RawRows(const Side& side, DType dtype, size_t tile) : side_(&side), size_(size_of(dtype)) {
    if (!side.is_numbers()) return;
    with_element("", dtype, [&](auto element) {
      const auto pattern = repeated<decltype(element)>(side.numbers, tile);
      numbers_ = std::shared_ptr<const void>(pattern, pattern->data());
    });
  }
  const void* at(int64_t y, size_t first) const { return numbers_ ? numbers_.get() : side_->image.row<std::byte>(y) + first * size_; }

 private:
  const Side* side_;
  size_t size_;
  std::shared_ptr<const void> numbers_;
};

DType dtype_of_result(std::string_view function, const Sides& sides, DType wanted) {
  if (wanted != DType::undefined) {
    static_cast<void>(element_index(function, wanted));
    return wanted;
  }
  if (!sides.a.is_numbers() && !sides.b.is_numbers() && sides.a.index != sides.b.index)
    throw InvalidArgument("{}: pictures of {} and {} need the dtype of the result", function, sides.a.image.dtype(), sides.b.image.dtype());
  return sides.main().dtype();
}

Tensor binary(std::string_view function, ElementOp op, const Operand& first, const Operand& second, const ImageView& mask, DType wanted,
              std::array<double, 3> p, const Output& output) {
  Tensor memory;
  const bool broadcast = op != ElementOp::minimum && op != ElementOp::maximum && op != ElementOp::weighted;
  const Sides sides = sides_of(function, first, second, broadcast, memory);
  const ImageView& main = sides.main();
  const DType dtype = dtype_of_result(function, sides, wanted);
  const int index = element_index(function, dtype);
  Elements elements(function, output, dtype, main.height(), main.width(), main.channels(), mask, sides.a.image, sides.b.image);
  const bool clamps = op == ElementOp::minimum || op == ElementOp::maximum;
  const auto is_native = [&](const Side& side) {
    return side.is_numbers() ? clamps || are_elements(side.numbers, dtype) : side.image.dtype() == dtype;
  };
  const auto native = arithmetic_loops().native[index][static_cast<size_t>(op)];
  if (native && is_native(sides.a) && is_native(sides.b) && (op != ElementOp::multiply || p[0] == 1)) {
    const size_t tile = sides.a.is_numbers() || sides.b.is_numbers() || mask ? tile_of(main.channels())
                                                                             : static_cast<size_t>(main.width() * main.channels());
    const RawRows a(sides.a, dtype, tile), b(sides.b, dtype, tile);
    in_tiles(elements.view(), mask, tile,
             [&] { return [&](int64_t y, size_t x, size_t count, void* out) { native(a.at(y, x), b.at(y, x), out, count); }; });
    return elements.finish();
  }
  if (op == ElementOp::weighted && index == 0 && sides.a.index == 0 && sides.b.index == 0) {  // bytes all
    in_tiles(elements.view(), mask, static_cast<size_t>(main.width() * main.channels()), [&] {
      return [&](int64_t y, size_t, size_t count, void* out) {
        arithmetic_loops().weighted_u8(sides.a.image.row<uint8_t>(y), sides.b.image.row<uint8_t>(y), static_cast<uint8_t*>(out), count,
                                       p.data(), false);
      };
    });
    return elements.finish();
  }
  if (op == ElementOp::divide) p[1] = index <= kI32 ? 1 : 0;
  const auto side_fits = [](const Side& side) { return side.is_numbers() || fits_float(side.index); };
  if (fits_float(index) && side_fits(sides.a) && side_fits(sides.b))
    through<float>(sides, elements.view(), mask, [&](const float* a, const float* b, float* out, size_t n) {
      arithmetic_loops().binary_f32(op, a, b, out, n, p.data());
    });
  else
    through<double>(sides, elements.view(), mask, [&](const double* a, const double* b, double* out, size_t n) {
      arithmetic_loops().binary_f64(op, a, b, out, n, p.data());
    });
  return elements.finish();
}

Tensor bitwise(std::string_view function, BitOp op, const Operand& first, const Operand& second, const ImageView& mask,
               const Output& output) {
  Tensor memory;
  const Sides sides = sides_of(function, first, second, false, memory);
  const ImageView& main = sides.main();
  const DType dtype = dtype_of_result(function, sides, DType::undefined);
  Elements elements(function, output, dtype, main.height(), main.width(), main.channels(), mask, sides.a.image, sides.b.image);
  const size_t tile = tile_of(main.channels()), size = size_of(dtype);
  const RawRows a(sides.a, dtype, tile), b(sides.b, dtype, tile);
  in_tiles(elements.view(), mask, tile, [&] {
    return [&](int64_t y, size_t x, size_t count, void* out) {
      arithmetic_loops().bits(op, static_cast<const uint8_t*>(a.at(y, x)), static_cast<const uint8_t*>(b.at(y, x)),
                              static_cast<uint8_t*>(out), count * size);
    };
  });
  return elements.finish();
}

/// One picture through floats or doubles: step(in, out, count).
template <class W, class Step>
Tensor mapped(std::string_view function, const ImageView& image, DType dtype, const ImageView& mask, const Output& output, Step step) {
  check_not_empty(function, image);
  Sides sides;
  sides.a = sides.b = side_of(function, image);
  Elements elements(function, output, dtype, image.height(), image.width(), image.channels(), mask, image);
  sides.b.numbers = {0};
  through<W>(sides, elements.view(), mask, [&](const W* a, const W*, W* out, size_t n) { step(a, out, n); });
  return elements.finish();
}

Tensor unary(std::string_view function, UnaryOp op, const ImageView& image, DType dtype, std::array<double, 2> p, const ImageView& mask,
             const Output& output) {
  check_not_empty(function, image);
  if (op == UnaryOp::scale && p[0] == 1 && p[1] == 0 && dtype == image.dtype()) return copy_to(image, mask, output);
  if ((op == UnaryOp::scale || op == UnaryOp::scale_abs) && image.dtype() == DType::u8 && dtype == DType::u8) {
    Elements elements(function, output, dtype, image.height(), image.width(), image.channels(), mask, image);
    const std::array<double, 3> weights{p[0], 0, p[1]};
    const size_t row = static_cast<size_t>(image.width() * image.channels());
    in_tiles(elements.view(), mask, row, [&] {
      return [&](int64_t y, size_t, size_t count, void* out) {
        arithmetic_loops().weighted_u8(image.row<uint8_t>(y), nullptr, static_cast<uint8_t*>(out), count, weights.data(),
                                       op == UnaryOp::scale_abs);
      };
    });
    return elements.finish();
  }
  if (fits_float(element_index(function, image.dtype())) && fits_float(element_index(function, dtype)))
    return mapped<float>(function, image, dtype, mask, output,
                         [&](const float* in, float* out, size_t n) { arithmetic_loops().unary_f32(op, in, out, n, p.data()); });
  return mapped<double>(function, image, dtype, mask, output,
                        [&](const double* in, double* out, size_t n) { arithmetic_loops().unary_f64(op, in, out, n, p.data()); });
}

Comparison turned(Comparison op) {
  switch (op) {
    case Comparison::greater:
      return Comparison::less;
    case Comparison::greater_equal:
      return Comparison::less_equal;
    case Comparison::less:
      return Comparison::greater;
    case Comparison::less_equal:
      return Comparison::greater_equal;
    default:
      return op;
  }
}

/// 255 where a row's elements compare with another row's, or with numbers; of all dtypes.
class Comparer {
 public:
  Comparer(const Side& a, const Side& b, size_t tile)
      : kind_(a.index == b.index || are_elements(b.numbers, a.image.dtype()) ? a.index : kF64),
        raw_a_(a, a.image.dtype(), tile),
        raw_b_(b, a.image.dtype(), tile),
        a_(a, tile),
        b_(b, tile) {
    if (!b.is_numbers()) kind_ = a.index;
  }
  void operator()(Comparison op, int64_t y, size_t x, size_t count, uint8_t* out) {
    const ArithmeticLoops& loops = arithmetic_loops();
    if (kind_ == 0)
      loops.compare_u8(op, static_cast<const uint8_t*>(raw_a_.at(y, x)), static_cast<const uint8_t*>(raw_b_.at(y, x)), out, count);
    else if (kind_ == kF32)
      loops.compare_f32(op, static_cast<const float*>(raw_a_.at(y, x)), static_cast<const float*>(raw_b_.at(y, x)), out, count);
    else
      loops.compare_f64(op, a_.at(y, x, count), b_.at(y, x, count), out, count);
  }

 private:
  int kind_;
  RawRows raw_a_, raw_b_;
  Rows<double> a_, b_;
};

void check_floats(std::string_view function, const ImageView& image) { check_dtype(function, image, {DType::f32, DType::f64}); }

/// f(x, y, out, count, p) for f32 or f64.
template <class F, class D>
Tensor of_floats(std::string_view function, const ImageView& x, const ImageView& y, const Output& output, F floats, D doubles) {
  check_not_empty(function, x);
  check_floats(function, x);
  check_same(function, x, y);
  const Sides sides{side_of(function, x), side_of(function, y)};
  Elements elements(function, output, x.dtype(), x.height(), x.width(), x.channels(), {}, x, y);
  if (x.dtype() == DType::f32)
    through<float>(sides, elements.view(), {}, floats);
  else
    through<double>(sides, elements.view(), {}, doubles);
  return elements.finish();
}

constexpr double kDegree = 0.017453292519943295;

}  // namespace

Tensor add(const Operand& a, const Operand& b, const ImageView& mask, DType dtype, Output output) try {
  return binary("add", ElementOp::add, a, b, mask, dtype, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor subtract(const Operand& a, const Operand& b, const ImageView& mask, DType dtype, Output output) try {
  return binary("subtract", ElementOp::subtract, a, b, mask, dtype, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor multiply(const Operand& a, const Operand& b, double scale, DType dtype, Output output) try {
  return binary("multiply", ElementOp::multiply, a, b, {}, dtype, {scale}, output);
} catch (...) {
  throw_as_error();
}

Tensor divide(const Operand& a, const Operand& b, double scale, DType dtype, Output output) try {
  return binary("divide", ElementOp::divide, a, b, {}, dtype, {scale}, output);
} catch (...) {
  throw_as_error();
}

Tensor absdiff(const Operand& a, const Operand& b, Output output) try {
  return binary("absdiff", ElementOp::absdiff, a, b, {}, DType::undefined, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor minimum(const Operand& a, const Operand& b, Output output) try {
  return binary("min", ElementOp::minimum, a, b, {}, DType::undefined, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor maximum(const Operand& a, const Operand& b, Output output) try {
  return binary("max", ElementOp::maximum, a, b, {}, DType::undefined, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor add_weighted(const Operand& a, double alpha, const Operand& b, double beta, double gamma, DType dtype, Output output) try {
  return binary("addWeighted", ElementOp::weighted, a, b, {}, dtype, {alpha, beta, gamma}, output);
} catch (...) {
  throw_as_error();
}

Tensor scale_add(const ImageView& a, double alpha, const ImageView& b, Output output) try {
  check_same("scaleAdd", a, b);
  return binary("scaleAdd", ElementOp::weighted, a, b, {}, DType::undefined, {alpha, 1, 0}, output);
} catch (...) {
  throw_as_error();
}

Tensor bitwise_and(const Operand& a, const Operand& b, const ImageView& mask, Output output) try {
  return bitwise("bitwise_and", BitOp::conjunction, a, b, mask, output);
} catch (...) {
  throw_as_error();
}

Tensor bitwise_or(const Operand& a, const Operand& b, const ImageView& mask, Output output) try {
  return bitwise("bitwise_or", BitOp::disjunction, a, b, mask, output);
} catch (...) {
  throw_as_error();
}

Tensor bitwise_xor(const Operand& a, const Operand& b, const ImageView& mask, Output output) try {
  return bitwise("bitwise_xor", BitOp::exclusive, a, b, mask, output);
} catch (...) {
  throw_as_error();
}

Tensor bitwise_not(const ImageView& image, const ImageView& mask, Output output) try {
  return bitwise("bitwise_not", BitOp::inverse, image, image, mask, output);
} catch (...) {
  throw_as_error();
}

Tensor compare(const Operand& first, const Operand& second, Compare comparison, Output output) try {
  constexpr std::string_view kName = "compare";
  Comparison op = static_cast<Comparison>(comparison);
  if (static_cast<int>(comparison) < 0 || op > Comparison::not_equal)
    throw InvalidArgument("compare: there is no comparison {}", static_cast<int>(comparison));
  Tensor memory;
  Sides sides = sides_of(kName, first, second, true, memory);
  if (sides.a.is_numbers()) {
    std::swap(sides.a, sides.b);
    op = turned(op);
  }
  const ImageView& main = sides.a.image;
  if (sides.b.is_numbers())  // the first number is for all channels
    std::fill(sides.b.numbers.begin(), sides.b.numbers.end(), sides.b.numbers[0]);
  else if (sides.a.index != sides.b.index)
    throw InvalidArgument("compare: the pictures have the same dtype, not {} and {}", main.dtype(), sides.b.image.dtype());
  Elements elements(kName, output, DType::u8, main.height(), main.width(), main.channels(), {}, main, sides.b.image);
  const size_t tile = tile_of(main.channels());
  const Comparer comparer(sides.a, sides.b, tile);
  in_tiles(elements.view(), {}, tile, [&] {
    return [&, compare = comparer](int64_t y, size_t x, size_t count, void* out) mutable {
      compare(op, y, x, count, static_cast<uint8_t*>(out));
    };
  });
  return elements.finish();
} catch (...) {
  throw_as_error();
}

Tensor in_range(const ImageView& image, const Operand& lower, const Operand& upper, Output output) try {
  constexpr std::string_view kName = "inRange";
  check_not_empty(kName, image);
  const Side main = side_of(kName, image);
  const auto bound = [&](const Operand& operand) {
    if (operand.image() && same_size(operand.image(), image)) {
      if (operand.image().dtype() != image.dtype())
        throw InvalidArgument("inRange: the bounds have the dtype of the picture, {}, not {}", image.dtype(), operand.image().dtype());
      return side_of(kName, operand.image());
    }
    if (operand.image() && !could_be_numbers(operand.image()))
      throw InvalidArgument("inRange: the bounds are numbers or have the size of the picture, {}, not {}", to_string(image),
                            to_string(operand.image()));
    Side side = numbers_for(kName, operand, image.channels(), false);
    if (main.index <= kI32)
      for (double& number : side.numbers) number = std::nearbyint(number);
    return side;
  };
  const Side low = bound(lower), high = bound(upper);
  Elements elements(kName, output, DType::u8, image.height(), image.width(), 1, {}, image);
  const size_t channels = static_cast<size_t>(image.channels()), tile = tile_of(image.channels());
  if (main.index == 0 && low.is_numbers() && high.is_numbers() && (channels == 1 || channels == 3 || channels == 4)) {
    uint8_t from[4] = {}, to[4] = {};
    bool none = false;
    for (size_t c = 0; c < channels; ++c) {
      none = none || !(low.numbers[c] <= high.numbers[c] && low.numbers[c] <= 255 && high.numbers[c] >= 0);
      from[c] = saturate<uint8_t>(low.numbers[c]), to[c] = saturate<uint8_t>(high.numbers[c]);
    }
    for_rows(image.height(), image.width() * (image.channels() + 1), [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) {
        uint8_t* const out = elements.view().row<uint8_t>(y);
        if (none)
          std::memset(out, 0, static_cast<size_t>(image.width()));
        else
          arithmetic_loops().in_range_u8(image.row<uint8_t>(y), static_cast<int>(channels), from, to, out,
                                         static_cast<size_t>(image.width()));
      }
    });
    return elements.finish();
  }
  const Comparer above_low(main, low, tile), below_high(main, high, tile);
  in_tiles(elements.view(), {}, tile / channels, [&] {
    return [&, above = above_low, below = below_high, held = std::vector<uint8_t>(2 * tile)](int64_t y, size_t x, size_t pixels,
                                                                                             void* out) mutable {
      const ArithmeticLoops& loops = arithmetic_loops();
      const size_t count = pixels * channels;
      uint8_t *first = held.data(), *second = held.data() + tile, *to = static_cast<uint8_t*>(out);
      above(Comparison::greater_equal, y, x * channels, count, first);
      below(Comparison::less_equal, y, x * channels, count, second);
      if (channels == 1) return loops.bits(BitOp::conjunction, first, second, to, count);
      loops.bits(BitOp::conjunction, first, second, first, count);
      if (channels <= 4) {
        uint8_t* planes[4] = {second, second + pixels, second + 2 * pixels, second + 3 * pixels};
        loops.split_u8(first, planes, static_cast<int>(channels), pixels);
        loops.bits(BitOp::conjunction, planes[0], planes[1], to, pixels);
        for (size_t c = 2; c < channels; ++c) loops.bits(BitOp::conjunction, to, planes[c], to, pixels);
      } else {
        for (size_t i = 0; i < pixels; ++i) {
          to[i] = 255;
          for (size_t c = 0; c < channels; ++c) to[i] &= first[i * channels + c];
        }
      }
    };
  });
  return elements.finish();
} catch (...) {
  throw_as_error();
}

Tensor blend_linear(const ImageView& image1, const ImageView& image2, const ImageView& w1, const ImageView& w2, Output output) try {
  constexpr std::string_view kName = "blendLinear";
  check_not_empty(kName, image1);
  check_dtype(kName, image1, {DType::u8, DType::f32});
  check_same(kName, image1, image2);
  for (const ImageView* weights : {&w1, &w2})
    if (weights->dtype() != DType::f32 || weights->channels() != 1 || weights->height() != image1.height() ||
        weights->width() != image1.width())
      throw InvalidArgument("blendLinear: the weights of {} are f32[{}, {}], not {}", to_string(image1), image1.height(), image1.width(),
                            to_string(*weights));
  const Sides sides{side_of(kName, image1), side_of(kName, image2)};
  Result result(kName, output, image1.dtype(), image1.height(), image1.width(), image1.channels(), {&image1, &image2, &w1, &w2});
  const size_t tile = tile_of(image1.channels()), channels = static_cast<size_t>(image1.channels());
  in_tiles(result.view(), {}, tile, [&] {
    return [&, a = Rows<float>(sides.a, tile), b = Rows<float>(sides.b, tile), made = std::vector<float>(tile + 16)](
               int64_t y, size_t x, size_t count, void* out) mutable {
      const float *first = a.at(y, x, count), *second = b.at(y, x, count);
      const float *p = w1.row<float>(y) + x / channels, *q = w2.row<float>(y) + x / channels;
      for (size_t i = 0, pixel = 0; i < count; ++pixel)
        for (size_t c = 0; c < channels; ++c, ++i) made[i] = (first[i] * p[pixel] + second[i] * q[pixel]) / (p[pixel] + q[pixel] + 1e-5f);
      store(sides.a.index, made.data(), out, count);
    };
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor convert_scale_abs(const ImageView& image, double alpha, double beta, Output output) try {
  return unary("convertScaleAbs", UnaryOp::scale_abs, image, DType::u8, {alpha, beta}, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor convert_scale(const ImageView& image, DType dtype, double alpha, double beta, Output output) try {
  return unary("convertTo", UnaryOp::scale, image, dtype == DType::undefined ? image.dtype() : dtype, {alpha, beta}, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor normalize(const ImageView& image, double alpha, double beta, Norm kind, DType dtype, const ImageView& mask, Output output) try {
  constexpr std::string_view kName = "normalize";
  check_not_empty(kName, image);
  double scale = 1, shift = 0;
  if (kind == Norm::minmax) {
    const double low = std::min(alpha, beta), high = std::max(alpha, beta);
    const ImageView plane(image.dtype(), image.height(), image.width() * image.channels(), 1, image.data(), image.stride());
    if (image.channels() > 1 && mask) throw InvalidArgument("normalize: a mask with Norm::minmax goes with a picture of one channel");
    const Extremes found = min_max(plane, mask);
    scale = (high - low) * (found.most - found.least > std::numeric_limits<double>::epsilon() ? 1 / (found.most - found.least) : 0);
    shift = low - found.least * scale;
  } else if (kind == Norm::inf || kind == Norm::l1 || kind == Norm::l2) {
    const double size = norm(image, kind, mask);
    scale = size > std::numeric_limits<double>::epsilon() ? alpha / size : 0;
  } else {
    throw InvalidArgument("normalize: the norm is inf, l1, l2 or minmax, not {}", static_cast<int>(kind));
  }
  const DType result = dtype == DType::undefined ? image.dtype() : dtype;
  return unary(kName, UnaryOp::scale, image, result, {scale, shift}, mask, output);
} catch (...) {
  throw_as_error();
}

Tensor lookup(const ImageView& image, const ImageView& table, Output output) try {
  constexpr std::string_view kName = "LUT";
  check_not_empty(kName, image);
  check_dtype(kName, image, {DType::u8, DType::i8});
  static_cast<void>(element_index(kName, table.dtype()));
  if (table.height() * table.width() != 256 || (table.channels() != 1 && table.channels() != image.channels()))
    throw InvalidArgument("LUT: the table has 256 elements, of one channel or {}, not {}", image.channels(), to_string(table));
  Elements elements(kName, output, table.dtype(), image.height(), image.width(), image.channels(), {}, image);
  const size_t size = size_of(table.dtype()), channels = static_cast<size_t>(table.channels());
  std::vector<std::byte> entries(256 * channels * size);
  for (int64_t y = 0; y < table.height(); ++y)
    std::memcpy(entries.data() + y * table.row_bytes(), table.row<void>(y), static_cast<size_t>(table.row_bytes()));
  in_tiles(elements.view(), {}, static_cast<size_t>(image.width() * image.channels()), [&] {
    return [&](int64_t y, size_t, size_t count, void* to) {
      const uint8_t* in = image.row<uint8_t>(y);
      const auto look = [&](auto word) {
        using Word = decltype(word);
        const Word* from = reinterpret_cast<const Word*>(entries.data());
        Word* out = static_cast<Word*>(to);
        if (channels == 1)
          for (size_t i = 0; i < count; ++i) out[i] = from[in[i]];
        else
          for (size_t i = 0; i < count; ++i) out[i] = from[in[i] * channels + i % channels];
      };
      size == 1 ? look(uint8_t()) : size == 2 ? look(uint16_t()) : size == 4 ? look(uint32_t()) : look(uint64_t());
    };
  });
  return elements.finish();
} catch (...) {
  throw_as_error();
}

Tensor transform(const ImageView& image, const ImageView& matrix, Output output) try {
  constexpr std::string_view kName = "transform";
  check_not_empty(kName, image);
  check_not_empty(kName, matrix);
  check_channels(kName, matrix, {1});
  check_floats(kName, matrix);
  const size_t from = static_cast<size_t>(image.channels()), to = static_cast<size_t>(matrix.height()),
               columns = static_cast<size_t>(matrix.width());
  if ((columns != from && columns != from + 1) || to > 512)
    throw InvalidArgument("transform: the matrix has {} or {} columns and up to 512 rows, not {}", from, from + 1, to_string(matrix));
  const Side side = side_of(kName, image);
  std::vector<double> weights;
  for (int64_t y = 0; y < matrix.height(); ++y) {
    std::vector<double> row(columns);
    arithmetic_loops().to_f64[element_index(kName, matrix.dtype())](matrix.row<void>(y), row.data(), columns);
    row.resize(from + 1);
    weights.insert(weights.end(), row.begin(), row.end());
  }
  Result result(kName, output, image.dtype(), image.height(), image.width(), matrix.height(), {&image});
  const size_t pixels_of_tile = std::max<size_t>(64, 1024 / std::max(from, to) / 64 * 64), width = static_cast<size_t>(image.width()),
               size = size_of(image.dtype());
  if ((from == 3 || from == 4) && (to == 3 || to == 4) && fits_float(side.index)) {  // as planes of floats
    for_rows(image.height(), image.width() * static_cast<int64_t>(from * to), [&](int64_t first, int64_t last) {
      const ArithmeticLoops& loops = arithmetic_loops();
      Rows<float> rows(side, pixels_of_tile * from);
      std::vector<float> memory((8 + to) * pixels_of_tile);
      float *planes[4], *made[4];
      for (size_t k = 0; k < 4; ++k) planes[k] = memory.data() + k * pixels_of_tile, made[k] = planes[k] + 4 * pixels_of_tile;
      float* joined = memory.data() + 8 * pixels_of_tile;
      for (int64_t y = first; y < last; ++y)
        for (size_t x = 0; x < width; x += pixels_of_tile) {
          const size_t pixels = std::min(pixels_of_tile, width - x);
          if (side.index == 0) {
            uint8_t* bytes[4];
            for (size_t k = 0; k < 4; ++k) bytes[k] = reinterpret_cast<uint8_t*>(joined) + k * pixels_of_tile;
            loops.split_u8(image.row<uint8_t>(y) + x * from, bytes, static_cast<int>(from), pixels);
            for (size_t k = 0; k < from; ++k) loops.to_f32[0](bytes[k], planes[k], pixels);
          } else {
            loops.split_f32(rows.at(y, x * from, pixels * from), planes, static_cast<int>(from), pixels);
          }
          for (size_t k = 0; k < to; ++k) {
            float w[5] = {};
            for (size_t c = 0; c <= from; ++c) w[c == from ? 4 : c] = static_cast<float>(weights[k * (from + 1) + c]);
            loops.weighted_planes(planes, w, w[4], static_cast<int>(from), made[k], pixels);
          }
          if (side.index == 0) {
            uint8_t* bytes[4];
            for (size_t k = 0; k < to; ++k)
              loops.from_f32[0](made[k], bytes[k] = reinterpret_cast<uint8_t*>(joined) + k * pixels_of_tile, pixels);
            loops.merge_u8(bytes, result.view().row<uint8_t>(y) + x * to, static_cast<int>(to), pixels);
            continue;
          }
          loops.merge_f32(made, joined, static_cast<int>(to), pixels);
          store(side.index, joined, result.view().row<std::byte>(y) + x * to * size, pixels * to);
        }
    });
    return result.finish();
  }
  for_rows(image.height(), image.width() * static_cast<int64_t>(from * to), [&](int64_t first, int64_t last) {
    Rows<double> rows(side, pixels_of_tile * from);
    std::vector<double> made(pixels_of_tile * to + 16);
    for (int64_t y = first; y < last; ++y)
      for (size_t x = 0; x < width; x += pixels_of_tile) {
        const size_t pixels = std::min(pixels_of_tile, width - x);
        const double* in = rows.at(y, x * from, pixels * from);
        for (size_t k = 0; k < to; ++k) {
          const double* w = weights.data() + k * (from + 1);
          if (from == 3) {
            for (size_t i = 0; i < pixels; ++i) made[i * to + k] = in[3 * i] * w[0] + in[3 * i + 1] * w[1] + in[3 * i + 2] * w[2] + w[3];
            continue;
          }
          for (size_t i = 0; i < pixels; ++i) {
            double value = w[from];
            for (size_t c = 0; c < from; ++c) value += in[i * from + c] * w[c];
            made[i * to + k] = value;
          }
        }
        store(side.index, made.data(), result.view().row<std::byte>(y) + x * to * size, pixels * to);
      }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

Tensor square_root(const ImageView& image, Output output) try {
  check_not_empty("sqrt", image);
  check_floats("sqrt", image);
  return unary("sqrt", UnaryOp::square_root, image, image.dtype(), {}, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor power(const ImageView& image, double exponent, Output output) try {
  constexpr std::string_view kName = "pow";
  check_not_empty(kName, image);
  const bool whole = exponent == std::floor(exponent) && std::abs(exponent) < 2147483647;
  const bool floats = image.dtype() == DType::f32 || image.dtype() == DType::f64;
  if (!whole && !floats) throw Unsupported("pow: exponent {} goes with f32 and f64, not {}", exponent, image.dtype());
  if (!whole && image.dtype() == DType::f32)
    return mapped<float>(kName, image, image.dtype(), {}, output, [&](const float* in, float* out, size_t n) {
      for (size_t i = 0; i < n; ++i) out[i] = std::pow(std::abs(in[i]), static_cast<float>(exponent));
    });
  if (!whole)
    return mapped<double>(kName, image, image.dtype(), {}, output, [&](const double* in, double* out, size_t n) {
      for (size_t i = 0; i < n; ++i) out[i] = std::pow(std::abs(in[i]), exponent);
    });
  if (!floats && exponent < 0)  // 1 and its inverse stay, 0 becomes the greatest element, others 0
    return mapped<double>(kName, image, image.dtype(), {}, output, [&](const double* in, double* out, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const double value = in[i] == 0 ? std::numeric_limits<double>::infinity() : std::pow(in[i], exponent);
        out[i] = std::abs(value) < 1 ? 0 : value;
      }
    });
  return unary(kName, UnaryOp::power, image, image.dtype(), {exponent, 0}, {}, output);
} catch (...) {
  throw_as_error();
}

Tensor exponential(const ImageView& image, Output output) try {
  check_not_empty("exp", image);
  check_floats("exp", image);
  const ArithmeticLoops& loops = arithmetic_loops();
  return image.dtype() == DType::f32 ? mapped<float>("exp", image, DType::f32, {}, output, loops.exp_f32)
                                     : mapped<double>("exp", image, DType::f64, {}, output, loops.exp_f64);
} catch (...) {
  throw_as_error();
}

Tensor logarithm(const ImageView& image, Output output) try {
  check_not_empty("log", image);
  check_floats("log", image);
  const ArithmeticLoops& loops = arithmetic_loops();
  return image.dtype() == DType::f32 ? mapped<float>("log", image, DType::f32, {}, output, loops.log_f32)
                                     : mapped<double>("log", image, DType::f64, {}, output, loops.log_f64);
} catch (...) {
  throw_as_error();
}

Tensor magnitude(const ImageView& x, const ImageView& y, Output output) try {
  return of_floats("magnitude", x, y, output, arithmetic_loops().magnitude_f32, arithmetic_loops().magnitude_f64);
} catch (...) {
  throw_as_error();
}

Tensor phase(const ImageView& x, const ImageView& y, bool degrees, Output output) try {
  const double scale = degrees ? 1 : kDegree;
  return of_floats(
      "phase", x, y, output,
      [&](const float* a, const float* b, float* out, size_t n) { arithmetic_loops().phase_f32(a, b, out, n, scale); },
      [&](const double* a, const double* b, double* out, size_t n) { arithmetic_loops().phase_f64(a, b, out, n, scale); });
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> cart_to_polar(const ImageView& x, const ImageView& y, bool degrees) {
  return {magnitude(x, y), phase(x, y, degrees)};
}

std::pair<Tensor, Tensor> polar_to_cart(const ImageView& length, const ImageView& angle, bool degrees) try {
  constexpr std::string_view kName = "polarToCart";
  check_not_empty(kName, angle);
  check_floats(kName, angle);
  if (length) check_same(kName, length, angle);
  const double scale = degrees ? kDegree : 1;
  const auto made = [&](bool sine) {
    const auto step = [&](const auto* m, const auto* a, auto* out, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const auto turn = a[i] * static_cast<std::remove_cvref_t<decltype(a[0])>>(scale);
        out[i] = (sine ? std::sin(turn) : std::cos(turn)) * m[i];
      }
    };
    if (length) return of_floats(kName, length, angle, {}, step, step);
    const auto alone = [&](const auto* a, auto* out, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const auto turn = a[i] * static_cast<std::remove_cvref_t<decltype(a[0])>>(scale);
        out[i] = sine ? std::sin(turn) : std::cos(turn);
      }
    };
    return angle.dtype() == DType::f32 ? mapped<float>(kName, angle, DType::f32, {}, {}, alone)
                                       : mapped<double>(kName, angle, DType::f64, {}, {}, alone);
  };
  Tensor x = made(false);
  return {std::move(x), made(true)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision

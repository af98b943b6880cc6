// SPDX-License-Identifier: Apache-2.0
// Elements go through rows of a tile: native steps of one dtype where there are, else floats, or doubles where floats would not do.
#include <minnow/vision/arithmetic.h>

#include "vision/elements.h"

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

void in_tiles_of_threads(const MutableImageView& view, const ImageView& mask, size_t tile,
                         FunctionRef<void(FunctionRef<void(TileStep)> run)> thread) {
  const size_t size = size_of(view.dtype()), row = static_cast<size_t>(view.width() * view.channels()),
               channels = static_cast<size_t>(view.channels());
  for_light_rows(view.height(), 3 * view.row_bytes(), [&](int64_t first_row, int64_t last_row) {
    std::vector<double> buffer(mask ? (tile * size + 7) / 8 : 0);
    thread([&](TileStep step) {
      for (int64_t y = first_row; y < last_row; ++y)
        for (size_t x = 0; x < row; x += tile) {
          const size_t count = std::min(tile, row - x);
          std::byte* out = view.row<std::byte>(y) + x * size;
          if (!mask) {
            step(y, x, count, out);
          } else {
            step(y, x, count, buffer.data());
            arithmetic_loops().masked(buffer.data(), mask.row<uint8_t>(y) + x / channels, out, count / channels, channels * size, false);
          }
        }
    });
  });
}

template <class W>
void through(const Sides& sides, const MutableImageView& view, const ImageView& mask, BinaryStep<W> step) {
  const Walk walk(sides, view, mask);
  const size_t tile = tile_of(view.channels());
  const int index = element_index("", view.dtype());
  const Rows<W> rows_a(walk.sides.a, tile), rows_b(walk.sides.b, tile);
  in_tiles(walk.view, walk.mask, tile, [&] {
    return [&, a = rows_a, b = rows_b, made = std::vector<W>(tile + 16)](int64_t y, size_t first, size_t count, void* out) mutable {
      const bool direct = index == (sizeof(W) == 4 ? kF32 : kF64);
      W* to = direct ? static_cast<W*>(out) : made.data();
      step(a.at(y, first, count), b.at(y, first, count), to, count);
      if (!direct) store(index, to, out, count);
    };
  });
}
template void through(const Sides&, const MutableImageView&, const ImageView&, BinaryStep<float>);
template void through(const Sides&, const MutableImageView&, const ImageView&, BinaryStep<double>);

template <class W>
Tensor mapped(std::string_view function, const ImageView& image, DType dtype, const ImageView& mask, const Output& output,
              MapStep<W> step) {
  check_not_empty(function, image);
  Sides sides;
  sides.a = sides.b = side_of(function, image);
  Elements elements(function, output, dtype, image.height(), image.width(), image.channels(), mask, image);
  sides.b.numbers = {0};
  through<W>(sides, elements.view(), mask, [&](const W* a, const W*, W* out, size_t n) { step(a, out, n); });
  return elements.finish();
}
template Tensor mapped(std::string_view, const ImageView&, DType, const ImageView&, const Output&, MapStep<float>);
template Tensor mapped(std::string_view, const ImageView&, DType, const ImageView&, const Output&, MapStep<double>);

Tensor of_floats(std::string_view function, const ImageView& x, const ImageView& y, const Output& output, BinaryStep<float> floats,
                 BinaryStep<double> doubles) {
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

namespace {

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

Tensor binary(std::string_view function, ElementOp op, const Operand& first, const Operand& second, const ImageView& given_mask,
              DType wanted, std::array<double, 3> p, const Output& output) {
  Tensor memory;
  const bool broadcast = op != ElementOp::minimum && op != ElementOp::maximum && op != ElementOp::weighted;
  Sides given = sides_of(function, first, second, broadcast, memory);
  const DType dtype = dtype_of_result(function, given, wanted);
  const int index = element_index(function, dtype);
  const bool sums = op == ElementOp::add || op == ElementOp::subtract || op == ElementOp::absdiff;
  if (sums && index <= kI32 && element_index(function, given.main().dtype()) <= kI32) {  // as OpenCV, which adds integers
    for (Side* side : {&given.a, &given.b})
      for (double& number : side->numbers) number = std::nearbyint(number);
  }
  const ImageView& size = given.main();
  Elements elements(function, output, dtype, size.height(), size.width(), size.channels(), given_mask, given.a.image, given.b.image);
  const Walk walk(given, elements.view(), given_mask);
  const Sides& sides = walk.sides;
  const ImageView &main = sides.main(), &mask = walk.mask;
  const bool clamps = op == ElementOp::minimum || op == ElementOp::maximum;
  const auto is_native = [&](const Side& side) {
    return side.is_numbers() ? clamps || are_elements(side.numbers, dtype) : side.image.dtype() == dtype;
  };
  const auto native = arithmetic_loops().native[index][static_cast<size_t>(op)];
  if (native && is_native(sides.a) && is_native(sides.b) && (op != ElementOp::multiply || p[0] == 1)) {
    const size_t tile = sides.a.is_numbers() || sides.b.is_numbers() || mask ? tile_of(main.channels())
                                                                             : static_cast<size_t>(main.width() * main.channels());
    const RawRows a(sides.a, dtype, tile), b(sides.b, dtype, tile);
    in_tiles(walk.view, mask, tile,
             [&] { return [&](int64_t y, size_t x, size_t count, void* out) { native(a.at(y, x), b.at(y, x), out, count); }; });
    return elements.finish();
  }
  if ((op == ElementOp::weighted || op == ElementOp::divide) && index == 0 && sides.a.index == 0 && sides.b.index == 0) {  // bytes all
    const auto step = op == ElementOp::divide ? arithmetic_loops().divide_u8 : arithmetic_loops().weighted_u8;
    in_tiles(walk.view, mask, static_cast<size_t>(main.width() * main.channels()), [&] {
      return [&](int64_t y, size_t, size_t count, void* out) {
        step(sides.a.image.row<uint8_t>(y), sides.b.image.row<uint8_t>(y), static_cast<uint8_t*>(out), count, p.data());
      };
    });
    return elements.finish();
  }
  if (op == ElementOp::divide) p[1] = index <= kI32 ? 1 : 0;
  const auto side_fits = [](const Side& side) { return side.is_numbers() || fits_float(side.index); };
  if (fits_float(index) && side_fits(sides.a) && side_fits(sides.b))
    through<float>(sides, walk.view, mask, [&](const float* a, const float* b, float* out, size_t n) {
      arithmetic_loops().binary_f32(op, a, b, out, n, p.data());
    });
  else
    through<double>(sides, walk.view, mask, [&](const double* a, const double* b, double* out, size_t n) {
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
  const Walk walk(sides, elements.view(), mask);
  const size_t tile = tile_of(main.channels()), size = size_of(dtype);
  const RawRows a(walk.sides.a, dtype, tile), b(walk.sides.b, dtype, tile);
  in_tiles(walk.view, walk.mask, tile, [&] {
    return [&](int64_t y, size_t x, size_t count, void* out) {
      arithmetic_loops().bits(op, static_cast<const uint8_t*>(a.at(y, x)), static_cast<const uint8_t*>(b.at(y, x)),
                              static_cast<uint8_t*>(out), count * size);
    };
  });
  return elements.finish();
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
        b_(b, tile),
        floats_a_(a, tile),
        floats_b_(b, tile) {
    if (!b.is_numbers()) kind_ = a.index;
  }
  void operator()(Comparison op, int64_t y, size_t x, size_t count, uint8_t* out) {
    const ArithmeticLoops& loops = arithmetic_loops();
    if (kind_ == 0)
      loops.compare_u8(op, static_cast<const uint8_t*>(raw_a_.at(y, x)), static_cast<const uint8_t*>(raw_b_.at(y, x)), out, count);
    else if (kind_ == kF32)
      loops.compare_f32(op, static_cast<const float*>(raw_a_.at(y, x)), static_cast<const float*>(raw_b_.at(y, x)), out, count);
    else if (kind_ < kI32)  // integers of 16 bits are exact in f32
      loops.compare_f32(op, floats_a_.at(y, x, count), floats_b_.at(y, x, count), out, count);
    else
      loops.compare_f64(op, a_.at(y, x, count), b_.at(y, x, count), out, count);
  }

 private:
  int kind_;
  RawRows raw_a_, raw_b_;
  Rows<double> a_, b_;
  Rows<float> floats_a_, floats_b_;
};

}  // namespace

Tensor unary(std::string_view function, UnaryOp op, const ImageView& image, DType dtype, std::array<double, 2> p, const ImageView& mask,
             const Output& output) {
  check_not_empty(function, image);
  if (op == UnaryOp::scale && p[0] == 1 && p[1] == 0 && dtype == image.dtype()) return copy_to(image, mask, output);
  const bool floats = image.dtype() == DType::f32;
  if ((op == UnaryOp::scale || op == UnaryOp::scale_abs) && (image.dtype() == DType::u8 || floats) && dtype == DType::u8) {
    Elements elements(function, output, dtype, image.height(), image.width(), image.channels(), mask, image);
    const Walk walk({side_of(function, image), {}}, elements.view(), mask);
    const ImageView& rows = walk.sides.a.image;
    in_tiles(walk.view, walk.mask, static_cast<size_t>(rows.width() * rows.channels()), [&] {
      return [&](int64_t y, size_t, size_t count, void* out) {
        auto* const to = static_cast<uint8_t*>(out);
        if (floats)
          arithmetic_loops().scale_f32_u8(rows.row<float>(y), to, count, p.data(), op == UnaryOp::scale_abs);
        else
          arithmetic_loops().scale_u8(rows.row<uint8_t>(y), to, count, p.data(), op == UnaryOp::scale_abs);
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
  const Walk walk(sides, elements.view(), {});
  const Comparer comparer(walk.sides.a, walk.sides.b, tile);
  in_tiles(walk.view, {}, tile, [&] {
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
    const Walk walk({main, {}}, elements.view(), {});
    const ImageView& rows = walk.sides.a.image;
    for_light_rows(rows.height(), rows.row_bytes() + rows.width(), [&](int64_t first, int64_t last) {
      for (int64_t y = first; y < last; ++y) {
        uint8_t* const out = walk.view.row<uint8_t>(y);
        if (none)
          std::memset(out, 0, static_cast<size_t>(rows.width()));
        else
          arithmetic_loops().in_range_u8(rows.row<uint8_t>(y), static_cast<int>(channels), from, to, out,
                                         static_cast<size_t>(rows.width()));
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
    const Extremes found = values_of_extremes(kName, plane, mask);
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

}  // namespace minnow::vision

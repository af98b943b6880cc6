// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons and bits of two tensors of integers or of f64; casts between f32, integers, booleans and floats
// of 16 bits, and what asks whether floats are numbers: in plain loops that compilers make vectors of.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/elementwise_geometry.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/numeric.h"

namespace minnow::cpu {
namespace {

constexpr int64_t kElementsPerTask = 16 << 10;

using RowFunction = void (*)(const void* a, const void* b, int64_t count, void* y);

template <class T, class Y, class F>
void row(const void* a, const void* b, int64_t count, void* y) {
  for (int64_t i = 0; i < count; ++i) static_cast<Y*>(y)[i] = F{}(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i]);
}

// A row of two operands of which one may stay where it is: it is repeated a few hundred times then, which takes less code than loops for
// every form of every function.
class Repeated {
 public:
  /// Bytes of an element of the operands, and of the result.
  Repeated(size_t size, size_t result) : size_(size), result_(result) {}
  void run(RowFunction function, const char* a, bool a_moves, const char* b, bool b_moves, int64_t count, char* y) const noexcept {
    if (a_moves && b_moves) return function(a, b, count, y);
    alignas(8) char repeated[2][8 * kCount];
    const size_t all = static_cast<size_t>(count), most = std::min(all, kCount);
    if (!a_moves) repeat(a, most, repeated[0]);
    if (!b_moves) repeat(b, most, repeated[1]);
    for (size_t i = 0; i < all; i += kCount)
      function(a_moves ? a + i * size_ : repeated[0], b_moves ? b + i * size_ : repeated[1],
               static_cast<int64_t>(std::min(kCount, all - i)), y + i * result_);
  }

 private:
  static constexpr size_t kCount = 256;
  void repeat(const char* x, size_t count, char* y) const noexcept {
    if (size_ == 8)
      for (size_t i = 0; i < count; ++i) std::memcpy(y + 8 * i, x, 8);
    else
      for (size_t i = 0; i < count; ++i) std::memcpy(y + 4 * i, x, 4);
  }
  size_t size_, result_;
};

// Wraps around, as the operators do.
template <class T, class F>
struct Wrapped {
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(F{}(static_cast<std::make_unsigned_t<T>>(a), static_cast<std::make_unsigned_t<T>>(b)));
  }
};

// NaN where one of the two is.
struct Larger {
  constexpr double operator()(double a, double b) const { return a > b || a != a ? a : b; }
};
struct Smaller {
  constexpr double operator()(double a, double b) const { return a < b || a != a ? a : b; }
};

// Of words of 32 bits; a shift by the whole width or more leaves none.
struct ShiftLeft {
  constexpr uint32_t operator()(uint32_t a, uint32_t b) const { return b < 32 ? a << b : 0; }
};
struct ShiftRight {
  constexpr uint32_t operator()(uint32_t a, uint32_t b) const { return b < 32 ? a >> b : 0; }
};
RowFunction function_of_bits(std::string_view op) {
  if (op == "BitwiseAnd") return row<uint32_t, uint32_t, std::bit_and<>>;
  return op == "BitwiseOr" ? row<uint32_t, uint32_t, std::bit_or<>> : row<uint32_t, uint32_t, std::bit_xor<>>;
}

// Of the sign of the divisor, which is neither 0 nor -1. Numbers of 32 bits are divided as such, which takes half the time.
template <class T>
struct Remainder {
  constexpr T operator()(T a, T b) const {
    const bool narrow = sizeof(T) == 8 && ((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32) == 0;
    if (narrow) return static_cast<T>(static_cast<uint32_t>(a) % static_cast<uint32_t>(b));
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};

// Cut toward zero; the divisor as of a remainder.
template <class T>
struct Quotient {
  constexpr T operator()(T a, T b) const {
    const bool narrow = sizeof(T) == 8 && ((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32) == 0;
    return narrow ? static_cast<T>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b)) : static_cast<T>(a / b);
  }
};

// Greater and GreaterOrEqual are Less and LessOrEqual of the operands in the other order.
template <class T>
RowFunction function_for(std::string_view op) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == "Add") return row<T, T, std::plus<>>;
    if (op == "Sub") return row<T, T, std::minus<>>;
    if (op == "Mul") return row<T, T, std::multiplies<>>;
    if (op == "Div") return row<T, T, std::divides<>>;
    if (op == "Max") return row<T, T, Larger>;
    if (op == "Min") return row<T, T, Smaller>;
  } else {
    if (op == "Add") return row<T, T, Wrapped<T, std::plus<>>>;
    if (op == "Sub") return row<T, T, Wrapped<T, std::minus<>>>;
    if (op == "Mul") return row<T, T, Wrapped<T, std::multiplies<>>>;
  }
  if (op == "Equal") return row<T, uint8_t, std::equal_to<>>;
  if constexpr (std::is_integral_v<T>) {
    if (op == "Mod") return row<T, T, Remainder<T>>;
    if (op == "Div") return row<T, T, Quotient<T>>;
  }
  return op == "Less" || op == "Greater" ? row<T, uint8_t, std::less<>> : row<T, uint8_t, std::less_equal<>>;
}

std::string geometry_of(const NodeView& node, const Device& device, Layout layout, ElementwiseGeometry& geometry) {
  const DType dtype = node.input_dtype(0);
  if (node.input_count() != 2 || !node.has_input(1)) return "there are not two inputs";
  if (node.input_dtype(1) != dtype) return format("the dtypes are {} and {}", dtype, node.input_dtype(1));
  const Shape& y = node.output_shape(0);
  if (y.elements() == 0) return "the output is empty";
  if (layout == Layout::plain) return geometry.plain(node);
  if (device.pack == 1 || y.rank() < 3 || node.output(0).dtype != DType::i32) return "the output has no packed layout";
  return geometry.packed(node, device.pack);
}

Estimate estimate_any(const NodeView& node, const Device& device, Layout layout) {
  ElementwiseGeometry geometry;
  if (const std::string refusal = geometry_of(node, device, layout, geometry); !refusal.empty()) return declined("{}", refusal);
  const double elements = static_cast<double>(node.output_shape(0).elements());
  Estimate result(device.byte_time(3 * elements * static_cast<double>(size_of(node.input_dtype(0)))) + elements * 0.3e-9 + 2e-7);
  for (const ElementwiseGeometry::Source& source : geometry.sources) {
    const bool whole = node.input_shape(source.input) == node.output_shape(0);
    if (whole && result.overwrites < 0 && node.output(0).dtype == node.input_dtype(0)) result.overwrites = static_cast<int>(source.input);
    const bool lanes = source.form == ElementwiseForm::lanes && source.channels.empty();
    if (layout == Layout::packed && (whole || lanes)) result.packed_inputs |= uint64_t{1} << source.input;
  }
  if (layout == Layout::packed) result.packed_outputs = 1;
  return result;
}
// Bits of 32-bit words.
Estimate estimate_bits(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (dtype != DType::u32 && (dtype != DType::i32 || node.op() == "BitShift")) return declined("the dtype is {}", dtype);
  return estimate_any(node, device, Layout::plain);
}
// By a constant that any number can be divided by.
Estimate estimate_divided(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (dtype != DType::i32 && dtype != DType::i64) return declined("the dtype is {}, not i32 or i64", dtype);
  if (node.attribute(Attribute<bool>{"fmod", false})) return declined("the remainder takes the sign of the dividend");
  if (!node.is_constant(1)) return declined("the divisor is not constant");
  for (const int64_t divisor : node.ints(1))
    if (divisor == 0 || divisor == -1) return declined("a divisor is {}", divisor);
  return estimate_any(node, device, Layout::plain);
}
Estimate estimate(const NodeView& node, const Device& device, Layout layout) {
  const DType dtype = node.input_dtype(0);
  return dtype == DType::i32 || dtype == DType::i64 ? estimate_any(node, device, layout)
                                                    : declined("the dtype is {}, not i32 or i64", dtype);
}
Estimate estimate_f64(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  return dtype == DType::f64 ? estimate_any(node, device, Layout::plain) : declined("the dtype is {}, not f64", dtype);
}
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate(node, device, Layout::plain); }
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate(node, device, Layout::packed); }

RowFunction function_for(const NodeView& node) {
  const DType dtype = node.input_dtype(0);
  const bool wide = size_of(dtype) == 8;
  if (node.op() == "BitShift")
    return node.require<std::string>("direction") == "LEFT" ? row<uint32_t, uint32_t, ShiftLeft> : row<uint32_t, uint32_t, ShiftRight>;
  if (node.op().starts_with("Bitwise")) return function_of_bits(node.op());
  return dtype == DType::f64 ? function_for<double>(node.op()) : wide ? function_for<int64_t>(node.op()) : function_for<int32_t>(node.op());
}

class PairKernel final : public Kernel {
 public:
  explicit PairKernel(PrepareContext& context)
      : size_(size_of(context.node().input_dtype(0))),
        place_(size_of(context.node().output(0).dtype)),
        lanes_(context.device().pack),
        function_(function_for(context.node())) {
    geometry_of(context.node(), context.device(), context.output_layout(0), geometry_);
    if (context.node().op().starts_with("Greater")) std::swap(geometry_.sources[0], geometry_.sources[1]);
    cuts_ = std::max<int64_t>(1, geometry_.row / kElementsPerTask);
    rows_per_task_ = std::max<int64_t>(1, kElementsPerTask / geometry_.row);
    for (const ElementwiseGeometry::Source& source : geometry_.sources) repeats_ |= source.form == ElementwiseForm::lanes;
  }

  void run(RunContext& context) noexcept override {
    const int64_t groups = (geometry_.rows + rows_per_task_ - 1) / rows_per_task_;
    const Repeated repeated(size_, place_);
    context.parallel_for(static_cast<size_t>(groups * cuts_), [&](size_t task) {
      const int64_t group = static_cast<int64_t>(task) / cuts_, cut = static_cast<int64_t>(task) % cuts_;
      const int64_t last = std::min(geometry_.rows, (group + 1) * rows_per_task_);
      // Cuts of the packed layout are whole pixels.
      const int64_t unit = repeats_ ? lanes_ : 1, pieces = geometry_.row / unit;
      const int64_t begin = pieces * cut / cuts_ * unit, end = pieces * (cut + 1) / cuts_ * unit;
      for (int64_t r = group * rows_per_task_; r < last; ++r) {
        char* y = context.out<char>(0) + static_cast<size_t>(r * geometry_.row + begin) * place_;
        if (!repeats_) {
          repeated.run(function_, at(context, 0, r, begin), moves(0), at(context, 1, r, begin), moves(1), end - begin, y);
          continue;
        }
        for (int64_t i = begin; i < end; i += lanes_, y += static_cast<size_t>(lanes_) * place_)
          repeated.run(function_, at(context, 0, r, i), moves_in_pixel(0), at(context, 1, r, i), moves_in_pixel(1), lanes_, y);
      }
    });
  }

 private:
  bool moves(size_t s) const noexcept { return geometry_.sources[s].strides.back() != 0; }
  bool moves_in_pixel(size_t s) const noexcept { return geometry_.sources[s].form != ElementwiseForm::scalar; }
  const char* at(RunContext& context, size_t s, int64_t row, int64_t place) const noexcept {
    const ElementwiseGeometry::Source& source = geometry_.sources[s];
    const char* base = source.channels.empty() ? context.in<char>(source.input) : reinterpret_cast<const char*>(source.channels.data());
    return base + static_cast<size_t>(geometry_.offset_of(source, row) + place * source.strides.back()) * size_;
  }

  ElementwiseGeometry geometry_;
  size_t size_, place_;
  int64_t lanes_, cuts_ = 1, rows_per_task_ = 1;
  RowFunction function_;
  bool repeats_ = false;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<PairKernel>(context); }

// Casts; to f32 from numbers of at most 32 bits in either layout.

using CastFunction = void (*)(const void* x, size_t count, void* y);

template <class T, class Y>
void numbers(const void* x, size_t count, void* y) {
  for (size_t i = 0; i < count; ++i) static_cast<Y*>(y)[i] = static_cast<Y>(static_cast<const T*>(x)[i]);
}
// Cut toward zero. Vectors know conversions to 32 bits; a number that these do not hold makes a block go through one by one.
template <class Y>
void integers(const void* x, size_t count, void* y) {
  constexpr size_t kBlock = 256;
  const float* from = static_cast<const float*>(x);
  Y* to = static_cast<Y*>(y);
  for (size_t i = 0; i < count; i += kBlock, from += kBlock, to += kBlock) {
    const size_t n = std::min(kBlock, count - i);
    uint32_t beyond = 0;
    for (size_t k = 0; k < n; ++k) beyond |= (std::bit_cast<uint32_t>(from[k]) & 0x7fffffffu) >= 0x4f000000u ? 1u : 0u;
    if (beyond)
      for (size_t k = 0; k < n; ++k) to[k] = static_cast<Y>(truncate(from[k]));
    else
      for (size_t k = 0; k < n; ++k) to[k] = static_cast<int32_t>(from[k]);
  }
}
template <class T, class Y, Y (*kConvert)(T) noexcept>
void converted(const void* x, size_t count, void* y) {
  for (size_t i = 0; i < count; ++i) static_cast<Y*>(y)[i] = kConvert(static_cast<const T*>(x)[i]);
}

bool is_nan(float x) noexcept { return x != x; }
bool is_infinite(float x) noexcept { return std::fabs(x) == std::numeric_limits<float>::infinity(); }

struct CastRow {
  DType from, to;
  CastFunction function;
};
constexpr CastRow kCasts[] = {{DType::f32, DType::f16, converted<float, uint16_t, f16_from_f32>},
                              {DType::f32, DType::bf16, converted<float, uint16_t, bf16_from_f32>},
                              {DType::f16, DType::f32, converted<uint16_t, float, f32_from_f16>},
                              {DType::bf16, DType::f32, converted<uint16_t, float, f32_from_bf16>},
                              {DType::i32, DType::f32, numbers<int32_t, float>},
                              {DType::i64, DType::f32, numbers<int64_t, float>},
                              {DType::u8, DType::f32, numbers<uint8_t, float>},
                              {DType::boolean, DType::f32, numbers<uint8_t, float>},
                              {DType::i8, DType::f32, numbers<int8_t, float>},
                              {DType::f32, DType::i64, integers<int64_t>},
                              {DType::f32, DType::i32, integers<int32_t>},
                              {DType::i64, DType::i32, numbers<int64_t, int32_t>},
                              {DType::i32, DType::i64, numbers<int32_t, int64_t>}};

/// Null where there is none.
CastFunction cast_function(const NodeView& node) {
  const DType from = node.input_dtype(0), to = node.output(0).dtype;
  if (node.op() == "IsNaN") return from == DType::f32 ? converted<float, bool, is_nan> : nullptr;
  if (node.op() == "IsInf") {
    for (std::string_view sign : {"detect_negative", "detect_positive"})
      if (!node.attribute(Attribute<bool>{sign, true})) return nullptr;
    return from == DType::f32 ? converted<float, bool, is_infinite> : nullptr;
  }
  for (const CastRow& cast : kCasts)
    if (cast.from == from && cast.to == to) return cast.function;
  return nullptr;
}

Estimate estimate_cast(const NodeView& node, const Device& device, Layout layout) {
  const DType from = node.input_dtype(0), to = node.output(0).dtype;
  if (!cast_function(node)) return declined("the dtypes are {} and {}", from, to);
  // Tensors of 2 or 8 bytes an element and truth values are never reordered.
  const bool has_layout = device.pack > 1 && node.output_shape(0).rank() >= 3 && to == DType::f32 &&
                          (from == DType::i32 || from == DType::u8 || from == DType::i8);
  if (layout == Layout::packed && !has_layout) return declined("the tensor has no packed layout");
  Estimate estimate(device.byte_time((to == DType::boolean ? 5 : 8) * static_cast<double>(node.output_shape(0).elements())) + 2e-7);
  if (layout == Layout::packed) estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}
Estimate estimate_cast_plain(const NodeView& node, const Device& device) { return estimate_cast(node, device, Layout::plain); }
Estimate estimate_cast_packed(const NodeView& node, const Device& device) { return estimate_cast(node, device, Layout::packed); }

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(PrepareContext& context)
      : count_(context.device().bytes(DType::u8, context.node().output_shape(0), context.output_layout(0))),
        from_size_(size_of(context.node().input_dtype(0))),
        to_size_(size_of(context.node().output(0).dtype)),
        function_(cast_function(context.node())) {}
  void run(RunContext& context) noexcept override {
    const size_t each = kElementsPerTask;
    context.parallel_for((count_ + each - 1) / each, [&](size_t task) {
      const size_t first = task * each;
      function_(context.in<char>(0) + first * from_size_, std::min(count_ - first, each), context.out<char>(0) + first * to_size_);
    });
  }

 private:
  size_t count_, from_size_, to_size_;
  CastFunction function_;
};

std::unique_ptr<Kernel> prepare_cast(PrepareContext& context) { return std::make_unique<CastKernel>(context); }

#define MINNOW_INTEGER_ROWS(op) \
  {op, "integers.packed", estimate_packed, prepare, kLargeOnly}, { op, "integers", estimate_plain, prepare, kLargeOnly }

constexpr Scheme kSchemes[] = {
    MINNOW_INTEGER_ROWS("Add"),
    MINNOW_INTEGER_ROWS("Mul"),
    MINNOW_INTEGER_ROWS("Sub"),
    {"BitShift", "integers", estimate_bits, prepare, kLargeOnly},
    {"BitwiseAnd", "integers", estimate_bits, prepare, kLargeOnly},
    {"BitwiseOr", "integers", estimate_bits, prepare, kLargeOnly},
    {"BitwiseXor", "integers", estimate_bits, prepare, kLargeOnly},
    {"Cast", "integers.packed", estimate_cast_packed, prepare_cast, kLargeOnly},
    {"Cast", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"Div", "integers", estimate_divided, prepare, kLargeOnly},
    {"Equal", "integers", estimate_plain, prepare, kLargeOnly},
    {"Greater", "integers", estimate_plain, prepare, kLargeOnly},
    {"GreaterOrEqual", "integers", estimate_plain, prepare, kLargeOnly},
    {"IsInf", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"IsNaN", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"Less", "integers", estimate_plain, prepare, kLargeOnly},
    {"LessOrEqual", "integers", estimate_plain, prepare, kLargeOnly},
    {"Mod", "integers", estimate_divided, prepare, kLargeOnly},
    {"Add", "f64", estimate_f64, prepare, kLargeOnly},
    {"Div", "f64", estimate_f64, prepare, kLargeOnly},
    {"Equal", "f64", estimate_f64, prepare, kLargeOnly},
    {"Greater", "f64", estimate_f64, prepare, kLargeOnly},
    {"GreaterOrEqual", "f64", estimate_f64, prepare, kLargeOnly},
    {"Less", "f64", estimate_f64, prepare, kLargeOnly},
    {"LessOrEqual", "f64", estimate_f64, prepare, kLargeOnly},
    {"Max", "f64", estimate_f64, prepare, kLargeOnly},
    {"Min", "f64", estimate_f64, prepare, kLargeOnly},
    {"Mul", "f64", estimate_f64, prepare, kLargeOnly},
    {"Sub", "f64", estimate_f64, prepare, kLargeOnly},
};
#undef MINNOW_INTEGER_ROWS

}  // namespace

std::span<const Scheme> integer_elementwise_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

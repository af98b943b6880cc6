// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons and bits of two tensors of integers or of f64, comparisons of f32, choices by a condition; functions of one
// integer; casts between f32, f64, integers, booleans and floats of 16 bits, and whether floats are numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/elementwise_geometry.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/numeric.h"

namespace minnow::cpu {
namespace {

constexpr int64_t kElementsPerTask = 16 << 10;

using RowFunction = void (*)(const void* a, const void* b, size_t count, void* y);
using SelectFunction = void (*)(const uint8_t* condition, const void* a, const void* b, size_t count, void* y);

template <class T, class F>
void row(const void* a, const void* b, size_t count, void* y) {
  for (size_t i = 0; i < count; ++i) static_cast<T*>(y)[i] = F{}(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i]);
}

void repeat(const char* x, size_t size, size_t count, char* y) noexcept {
  const auto fill = [&](auto element) {
    std::memcpy(&element, x, sizeof(element));
    for (size_t i = 0; i < count; ++i) std::memcpy(y + i * sizeof(element), &element, sizeof(element));
  };
  if (size == 1) std::memset(y, *x, count);
  if (size == 2) fill(uint16_t());
  if (size == 4) fill(uint32_t());
  if (size == 8) fill(uint64_t());
}

// A shift by the whole width or more leaves zero.
template <class T>
struct ShiftLeft {
  constexpr T operator()(T a, T b) const { return b < 8 * sizeof(T) ? static_cast<T>(a << b) : T{}; }
};
template <class T>
struct ShiftRight {
  constexpr T operator()(T a, T b) const { return b < 8 * sizeof(T) ? static_cast<T>(a >> b) : T{}; }
};
template <class T>
RowFunction shift(const NodeView& node) {
  return node.require<std::string>("direction") == "LEFT" ? row<T, ShiftLeft<T>> : row<T, ShiftRight<T>>;
}
// The result has the sign of the divisor, which is neither 0 nor -1. Values that fit 32 bits are divided as 32-bit numbers: half the time.
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

struct Combined {
  std::string_view op;
  Combination combination;
};
// Greater and GreaterOrEqual are Less and LessOrEqual of the operands in the other order.
constexpr Combined kCombined[] = {{"Add", Combination::add},
                                  {"Sub", Combination::subtract},
                                  {"Mul", Combination::multiply},
                                  {"Div", Combination::divide},
                                  {"Min", Combination::minimum},
                                  {"Max", Combination::maximum},
                                  {"And", Combination::bit_and},
                                  {"Or", Combination::bit_or},
                                  {"Xor", Combination::bit_xor},
                                  {"BitwiseAnd", Combination::bit_and},
                                  {"BitwiseOr", Combination::bit_or},
                                  {"BitwiseXor", Combination::bit_xor},
                                  {"Equal", Combination::equal},
                                  {"Less", Combination::less},
                                  {"Greater", Combination::less},
                                  {"LessOrEqual", Combination::less_equal},
                                  {"GreaterOrEqual", Combination::less_equal}};

/// Null if there is none for the operator and the dtype.
RowFunction function_of(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  const std::string& op = node.op();
  if (op == "BitShift") return dtype == DType::u8 ? shift<uint8_t>(node) : shift<uint32_t>(node);
  if (op == "Mod" && dtype == DType::i64) return row<int64_t, Remainder<int64_t>>;
  if (op == "Mod" && dtype == DType::i32) return row<int32_t, Remainder<int32_t>>;
  if (op == "Div" && dtype == DType::i64) return row<int64_t, Quotient<int64_t>>;
  if (op == "Div" && dtype == DType::i32) return row<int32_t, Quotient<int32_t>>;
  for (const Combined& each : kCombined)
    if (each.op == op) return cpu_device(device).kernels->combine->loop(dtype, each.combination);
  return nullptr;
}

std::string geometry_of(const NodeView& node, const Device& device, Layout layout, ElementwiseGeometry& geometry) {
  const bool selects = node.op() == "Where";
  const size_t count = selects ? 3 : 2;
  if (node.input_count() != count || !node.has_input(count - 1)) return format("there are not {} inputs", count);
  const DType first = node.input_dtype(count - 2), second = node.input_dtype(count - 1);
  if (first != second) return format("the dtypes are {} and {}", first, second);
  const Shape& y = node.output_shape(0);
  if (y.elements() == 0) return "the output is empty";
  if (layout == Layout::plain) return geometry.plain(node);
  if (device.pack == 1 || y.rank() < 3 || node.output(0).dtype != DType::i32) return "the output has no packed layout";
  return geometry.packed(node, device.pack);
}

Estimate estimate_any(const NodeView& node, const Device& device, Layout layout) {
  ElementwiseGeometry geometry;
  if (const std::string refusal = geometry_of(node, device, layout, geometry); !refusal.empty()) return declined("{}", refusal);
  const ValueInfo& y = node.output(0);
  double bytes = static_cast<double>(device.bytes(y.dtype, y.shape, layout));
  for (const ElementwiseGeometry::Source& source : geometry.sources)
    bytes += static_cast<double>(node.input_shape(source.input).elements()) * static_cast<double>(size_of(node.input_dtype(source.input)));
  Estimate result(device.byte_time(bytes) + 2e-7);
  for (const ElementwiseGeometry::Source& source : geometry.sources) {
    const bool whole = node.input_shape(source.input) == y.shape;
    if (whole && result.overwrites < 0 && y.dtype == node.input_dtype(source.input)) result.overwrites = static_cast<int>(source.input);
    const bool lanes = source.form == ElementwiseForm::lanes && source.channels.empty();
    if (layout == Layout::packed && (whole || lanes)) result.packed_inputs |= uint64_t{1} << source.input;
  }
  if (layout == Layout::packed) result.packed_outputs = 1;
  return result;
}
// Shifts bytes, which hold weights of few bits, and words of random numbers.
Estimate estimate_shift(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  return dtype == DType::u8 || dtype == DType::u32 ? estimate_any(node, device, Layout::plain)
                                                   : declined("the dtype is {}, not u8 or u32", dtype);
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
  const bool has_loop = node.op() == "Where" ? std::has_single_bit(size_of(node.input_dtype(1))) && size_of(node.input_dtype(1)) <= 8
                                             : function_of(node, device) != nullptr;
  return has_loop ? estimate_any(node, device, layout) : declined("there is no loop of {}", node.input_dtype(0));
}
Estimate estimate_f64(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  return dtype == DType::f64 ? estimate(node, device, Layout::plain) : declined("the dtype is {}, not f64", dtype);
}
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate(node, device, Layout::plain); }
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate(node, device, Layout::packed); }

class RowsKernel final : public Kernel {
 public:
  explicit RowsKernel(PrepareContext& context) : place_(size_of(context.node().output(0).dtype)), lanes_(context.device().pack) {
    const NodeView& node = context.node();
    geometry_of(node, context.device(), context.output_layout(0), geometry_);
    if (node.op() == "Where")
      select_ = cpu_device(context.device()).kernels->combine->choose[std::countr_zero(place_)];
    else
      function_ = function_of(node, context.device());
    if (node.op().starts_with("Greater")) std::swap(geometry_.sources[0], geometry_.sources[1]);
    cuts_ = std::max<int64_t>(1, geometry_.row / kElementsPerTask);
    rows_per_task_ = std::max<int64_t>(1, kElementsPerTask / geometry_.row);
    for (const ElementwiseGeometry::Source& source : geometry_.sources) {
      sizes_.push_back(size_of(node.input_dtype(source.input)));
      repeats_ |= source.form == ElementwiseForm::lanes;
    }
  }

  void run(RunContext& context) const noexcept override {
    const int64_t groups = (geometry_.rows + rows_per_task_ - 1) / rows_per_task_;
    context.parallel_for(static_cast<size_t>(groups * cuts_), [&](size_t task) {
      const int64_t group = static_cast<int64_t>(task) / cuts_, cut = static_cast<int64_t>(task) % cuts_;
      const int64_t last = std::min(geometry_.rows, (group + 1) * rows_per_task_);
      // Cuts of the packed layout are whole pixels.
      const int64_t unit = repeats_ ? lanes_ : 1, pieces = geometry_.row / unit;
      const int64_t begin = pieces * cut / cuts_ * unit, end = pieces * (cut + 1) / cuts_ * unit;
      for (int64_t r = group * rows_per_task_; r < last; ++r) {
        const int64_t step = repeats_ ? lanes_ : end - begin;
        for (int64_t i = begin; i < end; i += step) piece(context, r, i, static_cast<size_t>(step));
      }
    });
  }

 private:
  static constexpr size_t kRepeated = 1024;  // elements; that takes less code than loops for every form of every function

  void piece(RunContext& context, int64_t r, int64_t begin, size_t count) const noexcept {
    alignas(8) char repeated[3][8 * kRepeated];
    const char* at[3] = {};
    bool moves[3] = {}, all_move = true;
    for (size_t s = 0; s < geometry_.sources.size(); ++s) {
      const ElementwiseGeometry::Source& source = geometry_.sources[s];
      const char* base = source.channels.empty() ? context.in<char>(source.input) : reinterpret_cast<const char*>(source.channels.data());
      at[s] = base + static_cast<size_t>(geometry_.offset_of(source, r) + begin * source.strides.back()) * sizes_[s];
      moves[s] = repeats_ ? source.form != ElementwiseForm::scalar : source.strides.back() != 0;
      all_move &= moves[s];
      if (!moves[s]) repeat(at[s], sizes_[s], std::min(count, kRepeated), repeated[s]);
    }
    char* y = context.out<char>(0) + static_cast<size_t>(r * geometry_.row + begin) * place_;
    const size_t most = all_move ? count : kRepeated;
    for (size_t i = 0; i < count; i += most) {
      const size_t n = std::min(most, count - i);
      const char* p[3];
      for (size_t s = 0; s < sizes_.size(); ++s) p[s] = moves[s] ? at[s] + i * sizes_[s] : repeated[s];
      if (select_)
        select_(reinterpret_cast<const uint8_t*>(p[0]), p[1], p[2], n, y + i * place_);
      else
        function_(p[0], p[1], n, y + i * place_);
    }
  }

  ElementwiseGeometry geometry_;
  std::vector<size_t> sizes_;  // of an element of each source
  size_t place_;               // of an element of the result
  int64_t lanes_, cuts_ = 1, rows_per_task_ = 1;
  RowFunction function_ = nullptr;
  SelectFunction select_ = nullptr;
  bool repeats_ = false;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<RowsKernel>(context); }

// Casts, to f32 from numbers of at most 32 bits in either layout, and functions of one integer.

using CastFunction = void (*)(const void* x, size_t count, void* y);

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
                              {DType::f32, DType::i64, integers<int64_t>},
                              {DType::f32, DType::i32, integers<int32_t>}};

/// Null if there is none.
CastFunction cast_function(const NodeView& node, const Device& device) {
  const DType from = node.input_dtype(0), to = node.output(0).dtype;
  const CombineKernels& kernels = *cpu_device(device).kernels->combine;
  constexpr std::pair<std::string_view, Mapping> kMappings[] = {
      {"Neg", Mapping::negate}, {"Abs", Mapping::absolute}, {"BitwiseNot", Mapping::bit_not}, {"Not", Mapping::logical_not}};
  for (const auto& [op, mapping] : kMappings)
    if (op == node.op()) return kernels.mapping(from, mapping);
  if (node.op() == "IsNaN") return from == DType::f32 ? converted<float, bool, is_nan> : nullptr;
  if (node.op() == "IsInf") {
    for (Name sign : {"detect_negative", "detect_positive"})
      if (!node.attribute(Attribute<bool>{sign, true})) return nullptr;
    return from == DType::f32 ? converted<float, bool, is_infinite> : nullptr;
  }
  for (const CastRow& cast : kCasts)
    if (cast.from == from && cast.to == to) return cast.function;
  return kernels.conversion(from, to);
}

Estimate estimate_cast(const NodeView& node, const Device& device, Layout layout) {
  const DType from = node.input_dtype(0), to = node.output(0).dtype;
  if (!cast_function(node, device)) return declined("the dtypes are {} and {}", from, to);
  // Tensors of 2 or 8 bytes an element and truth values are never reordered.
  const bool has_layout = device.pack > 1 && node.output_shape(0).rank() >= 3 && to == DType::f32 &&
                          (from == DType::i32 || from == DType::u8 || from == DType::i8);
  if (layout == Layout::packed && !has_layout) return declined("the tensor has no packed layout");
  const double bytes = static_cast<double>(size_of(from) + size_of(to)) * static_cast<double>(node.output_shape(0).elements());
  Estimate estimate(device.byte_time(bytes) + 2e-7);
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
        function_(cast_function(context.node(), context.device())) {}
  void run(RunContext& context) const noexcept override {
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
    {"Abs", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"And", "integers", estimate_plain, prepare, kLargeOnly},
    {"BitShift", "integers", estimate_shift, prepare, kLargeOnly},
    {"BitwiseAnd", "integers", estimate_plain, prepare, kLargeOnly},
    {"BitwiseNot", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"BitwiseOr", "integers", estimate_plain, prepare, kLargeOnly},
    {"BitwiseXor", "integers", estimate_plain, prepare, kLargeOnly},
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
    {"Max", "integers", estimate_plain, prepare, kLargeOnly},
    {"Min", "integers", estimate_plain, prepare, kLargeOnly},
    {"Mod", "integers", estimate_divided, prepare, kLargeOnly},
    {"Neg", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"Not", "integers", estimate_cast_plain, prepare_cast, kLargeOnly},
    {"Or", "integers", estimate_plain, prepare, kLargeOnly},
    {"Where", "integers", estimate_plain, prepare, kLargeOnly},
    {"Xor", "integers", estimate_plain, prepare, kLargeOnly},
    {"Div", "f64", estimate_f64, prepare, kLargeOnly},
};
#undef MINNOW_INTEGER_ROWS

}  // namespace

std::span<const Scheme> integer_elementwise_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

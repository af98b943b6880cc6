// SPDX-License-Identifier: Apache-2.0
// Between real numbers and quantized ones: q = x / scale + zero point and back, with one scale for the whole tensor, one for each place
// along an axis, or one for each block of places along an axis.
#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "ops/batch.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kAxis{"axis", 1, MINNOW_DOC("the axis that scales are given along, where there are several")};
constexpr Attribute<int64_t> kBlockSize{"block_size", 0, MINNOW_DOC("places along the axis that share a scale; 0: no blocks")};
constexpr Attribute<int64_t> kOutputDType{"output_dtype", 0, MINNOW_DOC("number of the result's dtype; 0: as the inputs say")};
constexpr Attribute<int64_t> kPrecision{"precision", 0, MINNOW_DOC("number of the dtype that divides; 0: the scale's")};
constexpr Attribute<bool> kSaturate{"saturate", true, MINNOW_DOC("what is too large for an 8-bit float becomes its largest number")};

/// Which scale belongs to which element.
struct Granularity {
  int64_t outer = 1, length = 1, inner = 1;  // the tensor cut along the axis
  int64_t block = 0;                         // places that share a scale
  int64_t scales = 1;                        // scales along the axis
  bool per_inner = false;                    // scales are given for each place outside the axis too

  static Granularity of(const NodeView& node) {
    const Shape &x = node.input_shape(0), &scale = node.input_shape(1);
    const int64_t block_size = node.attribute(kBlockSize);
    Granularity g;
    if (block_size < 0) node.fail("block_size {} is negative", block_size);
    if (block_size == 0 && scale.elements() == 1 && scale.rank() <= 1) {
      g.inner = x.elements();
      g.block = 1;
      return g;
    }
    const size_t axis = node.normalize_axis(node.attribute(kAxis), x.rank());
    const AxisLines lines(x, axis);
    g.outer = lines.outer, g.length = lines.length, g.inner = lines.inner;
    Shape expected;
    if (block_size == 0) {
      expected = Shape{x[axis]};
      g.scales = x[axis], g.block = 1;
    } else {
      expected = x;
      expected[axis] = g.scales = x[axis] / block_size + (x[axis] % block_size != 0);
      g.block = block_size, g.per_inner = true;
    }
    if (scale != expected)
      node.fail("the scale of an input of shape {} should have shape [] or {} (axis {}, block_size {}), it has shape {}", x, expected, axis,
                block_size, scale);
    return g;
  }

  /// body(place of the element, place of its scale), in the order of the elements.
  template <class F>
  void for_each(F body) const {
    size_t place = 0;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < length; ++k)
        for (int64_t i = 0; i < inner; ++i, ++place)
          body(place, static_cast<size_t>(per_inner ? (o * scales + k / block) * inner + i : k / block));
  }
};

void check_zero_point(const NodeView& node) {
  if (!node.has_input(2)) return;
  const auto zero = node.known_sizes(2), scale = node.known_sizes(1);
  if (zero && scale && differ(*zero, *scale) && !(node.may_hold_one(2) && node.may_hold_one(1)))
    node.fail("the zero point has shape {}, the scale has shape {}", *zero, *scale);
}

DType dtype_attribute(const NodeView& node, const Attribute<int64_t>& attribute, DTypes allowed) {
  const int64_t number = node.attribute(attribute);
  if (number < 0 || number > static_cast<int64_t>(DType::i2) || (number > 0 && !contains(allowed, static_cast<DType>(number))))
    node.fail("attribute \"{}\" is {}, which is no dtype that fits", attribute.name, number);
  return static_cast<DType>(number);
}

constexpr DTypes kReals = one_of({DType::f32, DType::f16, DType::bf16});
constexpr DTypes kQuantized = kSubByte | one_of({DType::i8, DType::u8, DType::i16, DType::u16, DType::f8e4m3fn, DType::f8e4m3fnuz,
                                                 DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1});

void infer_shape(const NodeView& node, ValueInfo& output) {
  if (node.knows_shape(0) && node.knows_shape(1)) Granularity::of(node);
  check_zero_point(node);
  output.set_sizes(node.input_sizes(0));
}

/// The dtype of x / scale.
DType quotient_dtype(const NodeView& node) {
  const DType precision = dtype_attribute(node, kPrecision, kFloats);
  if (precision != DType::undefined) return precision;
  const DType scale = node.input_dtype(1);
  if (contains(kReals, scale)) return scale;
  return scale == DType::i32 ? DType::f64 : contains(kReals, node.input_dtype(0)) ? node.input_dtype(0) : DType::f32;
}

// The dtype comes first: it is known without shapes.

void infer_quantize(const NodeView& node, std::span<ValueInfo> outputs) {
  DType dtype = dtype_attribute(node, kOutputDType, kQuantized);
  if (node.has_input(2)) {
    if (dtype != DType::undefined && dtype != node.input_dtype(2))
      node.fail("output_dtype is {}, the zero point is {}", dtype, node.input_dtype(2));
    dtype = node.input_dtype(2);
  }
  outputs[0].dtype = dtype == DType::undefined ? DType::u8 : dtype;
  quotient_dtype(node);
  infer_shape(node, outputs[0]);
}

int64_t to_integer(double quotient, int64_t zero, int64_t lowest, int64_t highest) {
  if (std::isnan(quotient)) return zero;
  return static_cast<int64_t>(
      std::clamp(std::nearbyint(quotient) + static_cast<double>(zero), static_cast<double>(lowest), static_cast<double>(highest)));
}

void quantize(const NodeView& node, KernelArgs& args) {
  const Granularity granularity = Granularity::of(node);
  const DType dtype = args.output(0).dtype(), quotient = quotient_dtype(node);
  Numbers<double> x = args.reals(0), scale = args.reals(1);
  const Numbers<double> zero = args.has_input(2) ? args.reals(2) : Numbers<double>(scale.size());
  for (double& value : scale) value = rounded(quotient, value);
  // The quotient has the precision that the specification fixes: one that is rounded again may come to lie on a tie.
  granularity.for_each([&](size_t i, size_t s) { x[i] = rounded(quotient, rounded(quotient, x[i]) / scale[s]); });
  if (const SmallFloat* format = small_float(dtype)) {
    const bool saturate = node.attribute(kSaturate);
    uint8_t* y = args.output(0).data<uint8_t>();
    granularity.for_each([&](size_t i, size_t s) {
      y[i] = static_cast<uint8_t>(encode(*format, zero[s] == 0 ? x[i] : rounded(quotient, x[i] + zero[s]), saturate));
    });
    return;
  }
  Numbers<int64_t> y(x.size());
  granularity.for_each(
      [&](size_t i, size_t s) { y[i] = to_integer(x[i], static_cast<int64_t>(zero[s]), lowest_of(dtype), highest_of(dtype)); });
  args.write(0, y);
}

void infer_dequantize(const NodeView& node, std::span<ValueInfo> outputs) {
  DType dtype = dtype_attribute(node, kOutputDType, kReals);
  if (dtype == DType::undefined) dtype = node.input_dtype(1);
  if (!contains(kReals, dtype)) node.fail("needs the attribute output_dtype where the scale is {}", dtype);
  outputs[0].dtype = dtype;
  infer_shape(node, outputs[0]);
}

// Weights in bytes. A difference of two and a scale have a product that f64 holds: rounding it once is what f32 does, too.
template <class T>
void dequantize_bytes(const NodeView& node, KernelArgs& args) {
  const T *x = args.input(0).data<T>(), *zero = args.has_input(2) ? args.input(2).data<T>() : nullptr;
  const float* scale = args.input(1).data<float>();
  float* y = args.output(0).data<float>();
  Granularity::of(node).for_each([&](size_t i, size_t s) { y[i] = static_cast<float>(x[i] - (zero ? zero[s] : 0)) * scale[s]; });
}

void dequantize(const NodeView& node, KernelArgs& args) {
  const DType dtype = args.input(0).dtype();
  if (args.input(1).dtype() == DType::f32 && args.output(0).dtype() == DType::f32 &&
      (!args.has_input(2) || args.input(2).dtype() == dtype)) {
    if (contains(one_of({DType::i8, DType::i4, DType::i2}), dtype)) return dequantize_bytes<int8_t>(node, args);
    if (contains(one_of({DType::u8, DType::u4, DType::u2}), dtype)) return dequantize_bytes<uint8_t>(node, args);
  }
  Numbers<double> x = args.reals(0);
  const Numbers<double> scale = args.reals(1);
  const Numbers<double> zero = args.has_input(2) ? args.reals(2) : Numbers<double>(scale.size());
  Granularity::of(node).for_each([&](size_t i, size_t s) { x[i] = (x[i] - zero[s]) * scale[s]; });
  args.write(0, x);
}

// All steps are in single precision, as the operator's definition fixes them.

Shapes dynamic_shapes(const NodeView& node) { return {node.input_sizes(0), Sizes{}, Sizes{}}; }

void quantize_dynamically(const NodeView&, KernelArgs& args) {
  const float* x = args.input(0).data<float>();
  const size_t count = static_cast<size_t>(args.input(0).elements());
  float low = 0, high = 0;
  for (size_t i = 0; i < count; ++i) low = std::min(low, x[i]), high = std::max(high, x[i]);
  const float range = high - low, scale = range == 0 ? 1 : range / 255;
  const float zero = std::nearbyint(std::clamp(0 - low / scale, 0.0f, 255.0f));
  const uint8_t zero_point = std::isnan(zero) ? uint8_t{0} : static_cast<uint8_t>(zero);
  if (args.has_output(0)) {
    uint8_t* y = args.output(0).data<uint8_t>();
    for (size_t i = 0; i < count; ++i) y[i] = static_cast<uint8_t>(to_integer(x[i] / scale, zero_point, 0, 255));
  }
  if (args.has_output(1)) *args.output(1).data<float>() = scale;
  if (args.has_output(2)) *args.output(2).data<uint8_t>() = zero_point;
}

Exprs dynamic_parts(const NodeView&, GraphBuilder& b, const Exprs& in) {
  const Attributes no_dims{{"keepdims", int64_t{0}}};
  const Expr none = b.scalar(0), x = select(b.op("IsNaN", {in[0]}), none, in[0]);  // NaN has no part in the range
  const Expr low = b.op("Min", {b.op("ReduceMin", {x}, no_dims), none}), high = b.op("Max", {b.op("ReduceMax", {x}, no_dims), none}),
             range = high - low;
  const Expr scale = select(b.op("Equal", {range, none}), b.scalar(1), range / 255.0);
  const Expr zero = cast(b.op("Round", {b.op("Clip", {0.0 - low / scale, none, b.scalar(255)})}), DType::u8);
  return {b.op("QuantizeLinear", {in[0], scale, zero}), scale, zero};
}

constexpr List<Operator> definitions() {
  return {
      {.name = "QuantizeLinear",
       .since = 25,
       .doc =
           MINNOW_DOC("y = x / scale, rounded to nearest (ties to even), plus the zero point, cut to the range of the dtype, which is the "
                      "zero point's, or output_dtype, or u8. The scale is one element, a vector along the axis, or for blocks a tensor "
                      "of the input's rank. NaN becomes the zero point."),
       .inputs = {{"x", kReals | one_of({DType::i32})},
                  {"y_scale", kReals | one_of({DType::i32, DType::f8e8m0})},
                  {"y_zero_point", kQuantized, kOptional}},
       .outputs = {{"y", from_attribute("output_dtype", DType::u8)}},
       .attributes = {kAxis, kBlockSize, kOutputDType, kPrecision, kSaturate},
       .infer = infer_quantize,
       .reference = quantize,
       .batch = batch_apart_off_axis,
       .rounds = true,
       .wants_constants = true},
      {.name = "DequantizeLinear",
       .since = 25,
       .doc =
           MINNOW_DOC("y = (x - zero point) * scale, of the scale's dtype or output_dtype. Scale and zero point are one element, a vector "
                      "along the axis, or for blocks a tensor of the input's rank."),
       .inputs = {{"x", kQuantized | one_of({DType::i32})},
                  {"x_scale", kReals | one_of({DType::f8e8m0})},
                  {.name = "x_zero_point", .dtypes = kQuantized | one_of({DType::i32}), .arity = kOptional, .like = "x"}},
       .outputs = {{"y", from_attribute("output_dtype", DType::f32)}},
       .attributes = {kAxis, kBlockSize, kOutputDType},
       .infer = infer_dequantize,
       .reference = dequantize,
       .batch = batch_apart_off_axis,
       .monotone = true,
       .wants_constants = true,
       .recomputable = true},
      {.name = "DynamicQuantizeLinear",
       .since = 11,
       .doc = MINNOW_DOC("QuantizeLinear to u8 with the scale and the zero point that make the most of the range of x together with 0; the "
                         "scale of zeros is 1."),
       .inputs = {{"x", one_of({DType::f32})}},
       .outputs = {{"y", fixed(DType::u8)}, {"y_scale", fixed(DType::f32)}, {"y_zero_point", fixed(DType::u8)}},
       .infer_shapes = dynamic_shapes,
       .reference = quantize_dynamically,
       .decompose = dynamic_parts,
       .rounds = true},
  };
}

}  // namespace

std::span<const Operator> quantize_linear_operators() { return operator_table<definitions>(); }

}  // namespace minnow

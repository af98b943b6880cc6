// SPDX-License-Identifier: Apache-2.0
// Changes of the element type: by value (Cast, CastLike) and by bits (BitCast). The specification fixes the rounding here: nearest, ties to
// even, once.
#include <algorithm>
#include <cstring>

#include "base/numeric.h"
#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kTo = required("to", AttributeKind::integer, MINNOW_DOC("number of the new dtype"));
constexpr Attribute<bool> kSaturate{"saturate", true, MINNOW_DOC("what is too large for an 8-bit float becomes its largest number")};
constexpr Attribute<Name> kRoundMode{"round_mode", "up", MINNOW_DOC("of f8e8m0: up, down or nearest")};

E8m0Rounding rounding_of(const NodeView& node) {
  const std::string_view mode = node.attribute(kRoundMode);
  if (mode == "up") return E8m0Rounding::up;
  if (mode == "down") return E8m0Rounding::down;
  if (mode != "nearest") node.fail("round_mode should be up, down or nearest, it is \"{}\"", mode);
  return E8m0Rounding::nearest;
}

void check_target(const NodeView& node, DType to) {
  if (!contains(kAny, to)) throw Unsupported("{}: dtype {} is not supported", node.where(), to);
}

DType target_of(const NodeView& node) {
  const int64_t number = node.require<int64_t>(kTo.name);
  if (number < 1 || number > static_cast<int64_t>(DType::i2)) node.fail("attribute \"to\" is {}, which is no dtype", number);
  check_target(node, static_cast<DType>(number));
  return static_cast<DType>(number);
}

Shapes cast_shape(const NodeView& node) {
  target_of(node);
  rounding_of(node);
  return {node.input_sizes(0)};
}

/// An integer as a double that rounds to every narrower floating type as the integer itself would: where 53 bits are too few, the last one
/// tells that something was cut off (rounding to odd).
double to_double_odd(uint64_t magnitude, bool negative) {
  int shift = 0;
  for (; magnitude >> 54; ++shift) magnitude = (magnitude >> 1) | (magnitude & 1);
  if (magnitude >> 53) magnitude = (magnitude >> 1) | (magnitude & 1), ++shift;
  double value = static_cast<double>(magnitude);
  for (; shift > 0; --shift) value *= 2;
  return negative ? -value : value;
}

/// Elements of floating dtypes from doubles.
void narrow_reals(DType dtype, const double* values, size_t count, bool saturate, E8m0Rounding rounding, void* out) {
  uint8_t* bytes = static_cast<uint8_t*>(out);
  const SmallFloat* format = small_float(dtype);
  if (dtype == DType::f8e8m0)
    for (size_t i = 0; i < count; ++i) bytes[i] = encode_e8m0(values[i], saturate, rounding);
  else if (format && size_of(dtype) == 1)
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(encode(*format, values[i], saturate));
  else
    narrow(dtype, values, count, out);
}

void cast_reference(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const bool saturate = node.attribute(kSaturate);
  const E8m0Rounding rounding = rounding_of(node);
  constexpr size_t kChunk = 1024;
  double reals[kChunk];
  int64_t ints[kChunk];
  const size_t count = static_cast<size_t>(x.elements());
  // Weights that are stored in 16 bits come this way.
  if (y.dtype() == DType::f32 && (x.dtype() == DType::f16 || x.dtype() == DType::bf16)) {
    const auto* from = x.data<uint16_t>();
    float* to = y.data<float>();
    if (x.dtype() == DType::f16)
      std::transform(from, from + count, to, f32_from_f16);
    else
      std::transform(from, from + count, to, f32_from_bf16);
    return;
  }
  for (size_t start = 0; start < count; start += kChunk) {
    const size_t n = std::min(kChunk, count - start);
    const char* from = x.data<char>() + start * size_of(x.dtype());
    char* to = y.data<char>() + start * size_of(y.dtype());
    if (is_float(x.dtype())) {
      widen(x.dtype(), from, n, reals);
      if (is_float(y.dtype()))
        narrow_reals(y.dtype(), reals, n, saturate, rounding, to);
      else
        narrow(y.dtype(), reals, n, to);
    } else if (is_float(y.dtype()) && y.dtype() != DType::f64) {
      widen(x.dtype(), from, n, ints);
      for (size_t i = 0; i < n; ++i) {
        const bool negative = x.dtype() != DType::u64 && ints[i] < 0;
        const uint64_t bits = static_cast<uint64_t>(ints[i]);
        reals[i] = to_double_odd(negative ? 0 - bits : bits, negative);
      }
      narrow_reals(y.dtype(), reals, n, saturate, rounding, to);
    } else if (y.dtype() == DType::f64) {
      widen(x.dtype(), from, n, reinterpret_cast<double*>(to));
    } else {
      widen(x.dtype(), from, n, ints);
      narrow(y.dtype(), ints, n, to);
    }
  }
}

Shapes cast_like_shape(const NodeView& node) {
  check_target(node, node.input_dtype(1));
  rounding_of(node);
  return {node.input_sizes(0)};
}
Exprs cast_like_parts(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  Attributes attributes = node.node().attributes;
  attributes.set(kTo.name, static_cast<int64_t>(node.input_dtype(1)));
  return {builder.op("Cast", {inputs[0]}, std::move(attributes))};
}

Shapes bit_cast_shape(const NodeView& node) {
  const DType from = node.input_dtype(0), to = target_of(node);
  if (bits_of(from) != bits_of(to)) node.fail("the bits of {} ({} each) cannot be read as {} ({})", from, bits_of(from), to, bits_of(to));
  return {node.input_sizes(0)};
}
void bit_cast(const NodeView&, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const size_t bits = bits_of(x.dtype()), count = x.bytes();
  if (bits >= 8) {
    if (count > 0) std::memcpy(y.data(), x.data(), count);
    return;
  }
  // An element of less than a byte takes one, and signed ones fill it with their sign.
  const uint8_t sign = is_signed(y.dtype()) ? static_cast<uint8_t>(1u << (bits - 1)) : uint8_t{0};
  for (size_t i = 0; i < count; ++i) {
    const uint8_t code = x.data<uint8_t>()[i] & static_cast<uint8_t>((1u << bits) - 1);
    y.data<uint8_t>()[i] = static_cast<uint8_t>((code ^ sign) - sign);
  }
}

// Integers of another width hold the same sizes.
void cast_contents(const NodeView& node, std::span<ValueInfo> outputs) {
  if (may_hold_sizes(node.input(0)) && outputs[0].dtype != DType::boolean) set_contents(outputs[0], node.sizes(0));
}

#if MINNOW_GRADIENTS
Exprs cast_gradient(const GradientContext& c) {
  Exprs made(c.inputs.size());
  made[0] = cast(c.output_gradient(0), c.node.input_dtype(0));
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Cast",
       .since = 25,
       .doc =
           MINNOW_DOC("The elements as another dtype: floats to integers are cut toward zero, integers to narrower ones wrap around, all "
                      "else is rounded to nearest, ties to even; what is not zero is true."),
       .inputs = {{"input", kAny}},
       .outputs = {{"output", from_attribute("to", DType::undefined)}},
       .attributes = {kTo, kSaturate, kRoundMode},
       .infer_shapes = cast_shape,
       .infer_contents = cast_contents,
       .reference = cast_reference,
       .gradient = MINNOW_GRADIENT(cast_gradient),
       .elementwise = true,
       .float_width = FloatWidth::converted,
       .fusible = true,
       .monotone = true,
       .recomputable = true},
      {.name = "CastLike",
       .since = 25,
       .doc = MINNOW_DOC("Cast to the dtype of another tensor, whose elements do not matter."),
       .inputs = {{"input", kAny}, {"target_type", kAny}},
       .outputs = {{"output", same_as("target_type")}},
       .attributes = {kSaturate, kRoundMode},
       .infer_shapes = cast_like_shape,
       .infer_contents = cast_contents,
       .decompose = cast_like_parts,
       .gradient = MINNOW_GRADIENT(cast_gradient),
       .float_width = FloatWidth::converted,
       .recomputable = true},
      {.name = "BitCast",
       .since = 26,
       .doc = MINNOW_DOC("The bits of the elements read as another dtype of as many bits."),
       .inputs = {{"input", kAny}},
       .outputs = {{"output", from_attribute("to", DType::undefined)}},
       .attributes = {kTo},
       .infer_shapes = bit_cast_shape,
       .reference = bit_cast},
  };
}

}  // namespace

std::span<const Operator> cast_operators() { return operator_table<definitions>(); }

}  // namespace minnow

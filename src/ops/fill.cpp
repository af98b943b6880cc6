// SPDX-License-Identifier: Apache-2.0
// Tensors made from a few numbers: Constant, ConstantOfShape, Range, OneHot, and Trilu, which zeroes a triangle.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/numeric.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr DTypes kRanged = kFloats | one_of({DType::i16, DType::i32, DType::i64});
constexpr AttributeSpec kValue = optional("value", AttributeKind::tensor, "the tensor");
constexpr AttributeSpec kFillValue = optional("value", AttributeKind::tensor, "one element; f32 zero by default");
constexpr Attribute<int64_t> kAxis{"axis", -1, "place of the new axis in the output"};
constexpr Attribute<bool> kUpper{"upper", true, "keeps the upper triangle, else the lower one"};

// The one attribute that a Constant has, as a tensor.
Tensor constant_of(const NodeView& node) {
  if (const Tensor* value = node.find<Tensor>("value")) return *value;
  if (const float* value = node.find<float>("value_float")) return Tensor::scalar_f32(*value);
  if (const int64_t* value = node.find<int64_t>("value_int")) return Tensor::scalar_i64(*value);
  if (const Floats* values = node.find<Floats>("value_floats")) return Tensor::of_f32({static_cast<int64_t>(values->size())}, *values);
  if (const Ints* values = node.find<Ints>("value_ints")) return Tensor::of_i64({static_cast<int64_t>(values->size())}, *values);
  node.fail("has none of the attributes value, value_float, value_int, value_floats and value_ints");
}

void constant_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  Tensor value = constant_of(node);
  outputs[0].dtype = value.dtype();
  outputs[0].shape = value.shape();
  outputs[0].contents = std::move(value);
}

void constant(const NodeView& node, KernelArgs& args) {
  const Tensor value = constant_of(node);
  if (const size_t bytes = value.bytes()) std::memcpy(args.output(0).data(), value.data(), bytes);
}

Shapes constant_of_shape_shape(const NodeView& node) {
  if (const Tensor* value = node.find<Tensor>("value"); value && value->elements() != 1)
    node.fail("attribute \"value\" should hold one element, it is of shape {}", value->shape());
  if (node.input_sizes(0).rank() != 1) node.fail("a shape is a list, the input is of shape {}", node.input_sizes(0));
  const std::vector<Size> dims = node.sizes(0);
  if (dims.size() > kMaxRank) node.fail("makes a tensor of rank {}", dims.size());
  for (const Size dim : dims)
    if (less(dim, 0)) node.fail("shape {} has a negative dimension", dims);
  return {Sizes(dims)};
}

void constant_of_shape(const NodeView& node, KernelArgs& args) {
  const MutableTensorView y = args.output(0);
  constexpr char kZero[16] = {};
  const Tensor* value = node.find<Tensor>("value");
  fill_elements(size_of(y.dtype()), value ? value->data() : kZero, static_cast<size_t>(y.elements()), y.data());
}

// The number of elements of start, start + delta, ... before limit. The quotient is taken in f64, from a difference in T.
template <class T>
int64_t range_length(const NodeView& node) {
  double count;
  if constexpr (std::is_integral_v<T>) {
    const int64_t start = node.int_scalar(0), limit = node.int_scalar(1), delta = node.int_scalar(2);
    if (delta == 0) node.fail("delta is 0");
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                        : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
    count = std::ceil(static_cast<double>(distance) / static_cast<double>(step));
    if (count < 1e15) return static_cast<int64_t>((distance - 1) / step + 1);
  } else {
    const T start = static_cast<T>(node.real_scalar(0)), limit = static_cast<T>(node.real_scalar(1)),
            delta = static_cast<T>(node.real_scalar(2));
    count = std::ceil(static_cast<double>(limit - start) / static_cast<double>(delta));
  }
  if (std::isnan(count) || count > 1e15) node.fail("makes {} elements", count);
  return count < 0 ? 0 : static_cast<int64_t>(count);
}

Size symbolic_range_length(const NodeView& node) {
  const Size start = node.size_scalar(0), limit = node.size_scalar(1), delta = node.size_scalar(2);
  if (!delta.is_number() || delta.is(0)) return Size::unknown();
  const Size distance = less(0, delta) ? limit - start : start - limit;
  return larger(0, divide_up(distance, std::abs(delta.number())));
}

Shapes range_shape(const NodeView& node) {
  bool is_known = true;
  for (size_t i : {0, 1, 2}) is_known &= node.knows_contents(i);
  if (!is_known) return {{is_float(node.input_dtype(0)) ? Size::unknown() : symbolic_range_length(node)}};
  if (node.input_dtype(0) == DType::f64) return {Shape{range_length<double>(node)}};
  if (is_float(node.input_dtype(0))) return {Shape{range_length<float>(node)}};
  return {Shape{range_length<int64_t>(node)}};
}

template <class T>
void write_range(const NodeView& node, KernelArgs& args) {
  const MutableTensorView y = args.output(0);
  T start, delta;
  std::memcpy(&start, node.contents(0).data(), sizeof(T));
  std::memcpy(&delta, node.contents(2).data(), sizeof(T));
  T* out = y.data<T>();
  for (int64_t i = 0, n = y.elements(); i < n; ++i) {
    if constexpr (std::is_integral_v<T>)
      out[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
    else
      out[i] = start + static_cast<T>(i) * delta;
  }
}

// In f32, each number rounded at last.
void write_narrow_range(const NodeView& node, KernelArgs& args) {
  const float start = static_cast<float>(node.real_scalar(0)), delta = static_cast<float>(node.real_scalar(2));
  Numbers<double> all(static_cast<size_t>(args.output(0).elements()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(start + static_cast<float>(i) * delta);
  args.write(0, all);
}

// In the operator's own precision, not in f64: a sum that is rounded at every place is what the numbers are.
void range(const NodeView& node, KernelArgs& args) {
  switch (args.output(0).dtype()) {
    case DType::f16:
    case DType::bf16:
      return write_narrow_range(node, args);
    case DType::f32:
      return write_range<float>(node, args);
    case DType::f64:
      return write_range<double>(node, args);
    case DType::i16:
      return write_range<int16_t>(node, args);
    case DType::i32:
      return write_range<int32_t>(node, args);
    default:
      return write_range<int64_t>(node, args);
  }
}

// A number that may be given in a floating type; the fraction is cut off.
int64_t depth_of(const NodeView& node) {
  if (!is_float(node.input_dtype(1))) return node.int_scalar(1);
  const double depth = node.real_scalar(1);
  if (!(std::fabs(depth) < 1e15)) node.fail("depth is {}", depth);
  return static_cast<int64_t>(depth);
}

Shapes one_hot_shape(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  if (shape.rank() == kMaxRank) node.fail("makes a tensor of rank {}", shape.rank() + 1);
  const size_t axis = node.normalize_axis(node.attribute(kAxis), shape.rank() + 1);
  if (const auto values = node.known_sizes(2); values && differ(*values, Sizes{2}))
    node.fail("values of shape {} should be a pair", *values);
  const Size depth = node.knows_contents(1) ? Size(depth_of(node)) : is_float(node.input_dtype(1)) ? Size::unknown() : node.size_scalar(1);
  if (less(depth, 0)) node.fail("depth is {}", depth);
  shape.insert(axis, depth);
  return {shape};
}

void one_hot(const NodeView& node, KernelArgs& args) {
  const MutableTensorView y = args.output(0);
  const size_t axis = node.normalize_axis(node.attribute(kAxis), y.rank()), size = size_of(y.dtype());
  const int64_t depth = y.dim(axis), inner = y.shape().product(axis + 1, y.rank()), count = args.input(0).elements();
  const char* values = args.input(2).data<char>();  // off, on
  fill_elements(size, values, static_cast<size_t>(y.elements()), y.data());
  const bool real = is_float(args.input(0).dtype()), is_u64 = args.input(0).dtype() == DType::u64;
  const Numbers<double> reals = real ? args.reals(0) : Numbers<double>();
  const Numbers<int64_t> ints = real ? Numbers<int64_t>() : args.ints(0);
  if (y.elements() == 0) return;
  for (int64_t i = 0; i < count; ++i) {
    const size_t at = static_cast<size_t>(i);
    int64_t index = depth;  // beyond all: such an element is off everywhere
    if (!real)
      index = is_u64 && ints[at] < 0 ? depth : ints[at];
    else if (std::fabs(reals[at]) <= static_cast<double>(depth))
      index = static_cast<int64_t>(reals[at]);
    if (index < 0) index += depth;
    if (index < 0 || index >= depth) continue;
    const int64_t place = (i / inner * depth + index) * inner + i % inner;
    std::memcpy(y.data<char>() + static_cast<size_t>(place) * size, values + size, size);
  }
}

#if MINNOW_GRADIENTS

/// Sums over the elements that are off, and those that are on.
Exprs one_hot_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  const Expr& g = c.output_gradient(0);
  const Expr pair = b.op("CastLike", {b.constant(Tensor::of_f32({2}, std::array<float, 2>{0, 1})), c.input(2)});
  const Expr on = b.op("OneHot", {c.input(0), c.input(1), pair}, c.node.node().attributes);
  const auto sum = [&](const Expr& x) { return b.op("Reshape", {b.op("ReduceSum", {x}), b.constant({int64_t{1}})}); };
  const Expr sum_on = sum(g * on);
  return {{}, {}, b.op("Concat", {sum(g) - sum_on, sum_on}, {{"axis", int64_t{0}}})};
}

/// The limit alone decides how many elements there are.
Exprs range_gradient(const GradientContext& c) {
  const Expr& g = c.output_gradient(0);
  const auto sum = [&](const Expr& x, size_t i) { return c.shaped_like(c.builder.op("ReduceSum", {x}), i); };
  return {sum(g, 0), {}, sum(g * (c.output(0) - c.input(0)) / c.input(2), 2)};
}

#endif

Shapes trilu_shape(const NodeView& node) {
  if (node.input_sizes(0).rank() < 2) node.fail("takes matrices, the input is of shape {}", node.input_sizes(0));
  if (!node.may_hold_one(1)) node.fail("k of shape {} should be a scalar", node.input_sizes(1));
  return {node.input_sizes(0)};
}

void trilu(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  const bool upper = node.attribute(kUpper);
  const int64_t rows = x.dim(x.rank() - 2), columns = x.shape().back();
  const int64_t diagonal = args.has_input(1) ? std::clamp(args.ints(1)[0], -rows, columns) : 0;
  const size_t size = size_of(x.dtype());
  if (x.elements() == 0) return;
  std::memset(y.data(), 0, y.bytes());
  const int64_t all_rows = x.elements() / columns;
  for (int64_t r = 0; r < all_rows; ++r) {
    // Elements [edge, columns) of row i lie on the diagonal k or above it.
    const int64_t i = r % rows, edge = std::clamp<int64_t>(i + diagonal + (upper ? 0 : 1), 0, columns);
    const int64_t first = upper ? edge : 0, last = upper ? columns : edge;
    const size_t at = static_cast<size_t>(r * columns + first) * size;
    std::memcpy(y.data<char>() + at, x.data<char>() + at, static_cast<size_t>(last - first) * size);
  }
}

#if MINNOW_GRADIENTS
Exprs trilu_gradient(const GradientContext& c) {
  Exprs inputs = c.inputs;
  inputs[0] = c.output_gradient(0);
  Exprs made(inputs.size());
  made[0] = c.builder.op("Trilu", inputs, c.node.node().attributes);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Constant",
       .since = 25,
       .doc = MINNOW_DOC("A tensor that the node itself holds."),
       .outputs = {{"output", from_attribute("value", DType::undefined)}},
       .attributes = {kValue, optional("value_float", AttributeKind::real, MINNOW_DOC("the tensor, an f32 scalar")),
                      optional("value_floats", AttributeKind::reals, MINNOW_DOC("the tensor, an f32 vector")),
                      optional("value_int", AttributeKind::integer, MINNOW_DOC("the tensor, an i64 scalar")),
                      optional("value_ints", AttributeKind::integers, MINNOW_DOC("the tensor, an i64 vector"))},
       .infer = constant_infer,
       .reference = constant},
      {.name = "ConstantOfShape",
       .since = 25,
       .doc = MINNOW_DOC("A tensor of the shape that the input holds, every element of which is `value`."),
       .inputs = {{"input", kI64}},
       .outputs = {{"output", from_attribute("value", DType::f32)}},
       .attributes = {kFillValue},
       .infer_shapes = constant_of_shape_shape,
       .reference = constant_of_shape},
      {.name = "Range",
       .since = 27,
       .doc = MINNOW_DOC("start + i * delta for all i from 0 on that stay before `limit`; f16 and bf16 are computed in f32."),
       .inputs = {{"start", kRanged},
                  {.name = "limit", .dtypes = kRanged, .like = "start"},
                  {.name = "delta", .dtypes = kRanged, .like = "start"}},
       .outputs = {{"output", same_as("start")}},
       .attributes = {optional("stash_type", AttributeKind::integer, MINNOW_DOC("not read: f32 is what f16 and bf16 are computed in"))},
       .infer_shapes = range_shape,
       .reference = range,
       .gradient = MINNOW_GRADIENT(range_gradient)},
      {.name = "OneHot",
       .since = 11,
       .doc = MINNOW_DOC("A new axis of length `depth` that holds values[1] at the place that the index names and values[0] elsewhere; "
                         "negative indices count from the end, an index out of range leaves all off."),
       .inputs = {{"indices", kNumeric}, {"depth", kNumeric}, {"values"}},
       .outputs = {{"output", same_as("values")}},
       .attributes = {kAxis},
       .infer_shapes = one_hot_shape,
       .reference = one_hot,
       .gradient = MINNOW_GRADIENT(one_hot_gradient)},
      {.name = "Trilu",
       .since = 14,
       .doc = MINNOW_DOC("The triangle of each matrix on and above (or on and below) diagonal k; zeros elsewhere."),
       .inputs = {{"input"}, {"k", kI64, kOptional}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kUpper},
       .infer_shapes = trilu_shape,
       .reference = trilu,
       .gradient = MINNOW_GRADIENT(trilu_gradient)},
  };
}

}  // namespace

std::span<const Operator> fill_operators() { return operator_table<definitions>(); }

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Weights of 2 to 8 bits in blocks that share a scale, stored as one stream of bits for each block, the lowest bits first.
#include "graph/nbits.h"
#include "base/numeric.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kBits = required("bits", AttributeKind::integer, MINNOW_DOC("of a number, 2 to 8")),
                        kBlockSize = required("block_size", AttributeKind::integer,
                                              MINNOW_DOC("numbers that share a scale: a power of two, 16 or more")),
                        kDepth = required("K", AttributeKind::integer, MINNOW_DOC("numbers of a row; the last block may hold more"));

constexpr Attribute<int64_t> kAccuracyLevel{"accuracy_level", 0,
                                            MINNOW_DOC("4: A may be rounded to 8 bits in blocks; other values: it is not")};

void check_sizes(const NodeView& node, size_t input, const Sizes& expected) {
  if (const auto shape = node.known_sizes(input); shape && differ(*shape, expected))
    node.fail("input {} (\"{}\") should have shape {}, it has shape {}", input, node.input_name(input), expected, *shape);
}

/// The inputs B, scales, zero_points and g_idx, which begin at `first`. Gives the sizes of the rows that they stand for.
Sizes check_weights(const NodeView& node, size_t first, const NBits& form) {
  Sizes rows = node.input_sizes(first);
  if (rows.rank() < 2) node.fail("B should have two dimensions or more, it has {}", rows.rank());
  Sizes expected = rows;
  const size_t last = rows.rank() - 1;
  expected[last - 1] = form.blocks(), expected[last] = form.bytes();
  check_sizes(node, first, expected);
  expected = expected.first(last);
  check_sizes(node, first + 1, expected);
  if (node.input_dtype(first + 2) == DType::u8) expected[last - 1] = form.zero_point_bytes();
  check_sizes(node, first + 2, expected);
  check_sizes(node, first + 3, {form.depth});
  expected[last - 1] = form.depth;
  return expected;
}

Shapes dequantized_shape(const NodeView& node) { return {check_weights(node, 0, NBits::of(node))}; }

void dequantize(const NodeView& node, KernelArgs& args) {
  const NBits form = NBits::of(node);
  const size_t depth = static_cast<size_t>(form.depth), blocks = static_cast<size_t>(form.blocks()),
               bytes = static_cast<size_t>(form.bytes());
  const uint8_t* b = args.input(0).data<uint8_t>();
  const Numbers<double> scales = args.reals(1);
  const bool packed_zeros = args.has_input(2) && args.input(2).dtype() == DType::u8;
  const Numbers<double> real_zeros = args.has_input(2) && !packed_zeros ? args.reals(2) : Numbers<double>();
  const Numbers<int64_t> blocks_of = args.has_input(3) ? args.ints(3) : Numbers<int64_t>();
  for (const int64_t block : blocks_of)
    if (block < 0 || block >= form.blocks()) args.fail("g_idx names block {} of {}", block, form.blocks());
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  Pace pace;
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / depth, k = i % depth, own = k / static_cast<size_t>(form.block);
    const size_t block = row * blocks + (blocks_of.empty() ? own : static_cast<size_t>(blocks_of[k]));
    if (k == 0) pace.step(depth);
    const double zero =
        packed_zeros ? form.number(args.input(2).data<uint8_t>() + row * static_cast<size_t>(form.zero_point_bytes()), block % blocks)
        : real_zeros.empty() ? form.middle()
                             : real_zeros[block];
    y[i] = (form.number(b + (row * blocks + own) * bytes, k % static_cast<size_t>(form.block)) - zero) * scales[block];
  }
  args.write(0, y);
}

Shapes matmul_shape(const NodeView& node) {
  const NBits form = NBits::of(node);
  Sizes result = node.input_sizes(0);
  const int64_t columns = node.require<int64_t>("N");
  if (result.rank() == 0 || differ(result.back(), form.depth))
    node.fail("the last dimension of A should be K ({}), A has shape {}", form.depth, result);
  result[result.rank() - 1] = columns;
  if (node.has_sizes(1)) {
    if (const Sizes rows = check_weights(node, 1, form); differ(rows, Sizes{columns, form.depth}))
      node.fail("B should hold N ({}) rows, its shape is {}", columns, node.input_sizes(1));
  }
  check_sizes(node, 5, {columns});
  return {result};
}

Exprs matmul_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const auto at = [&](size_t i) { return i < in.size() ? in[i] : Expr(); };
  Attributes attributes;
  for (const char* name : {"K", "bits", "block_size"}) attributes.set(name, node.require<int64_t>(name));
  Expr w = b.op("minnow.DequantizeNBits", {in[1], in[2], at(3), at(4)}, std::move(attributes));
  if (node.input_dtype(0) != node.input_dtype(2)) w = b.op("Cast", {w}, {{"to", static_cast<int64_t>(node.input_dtype(0))}});
  const Expr y = b.op("MatMul", {in[0], b.op("Transpose", {w}, {{"perm", Ints{1, 0}}})});
  return {at(5) ? b.op("Add", {y, at(5)}) : y};
}

/// Arithmetic on bytes that hold one, two or four numbers, where they are not known.
Exprs computed_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const NBits form = NBits::of(node);
  if (8 % form.bits != 0 || (in.size() > 3 && in[3]) || node.input_shape(0).rank() < 2) return {};
  const int64_t each = 8 / form.bits, rank = static_cast<int64_t>(node.input_shape(0).rank());  // of B: one more than that of the result
  const DType dtype = node.input_dtype(1);
  const auto ints = [&](const Ints& values) {
    Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.writable().data<int64_t>());
    return b.constant(std::move(tensor));
  };
  const auto bytes = [&](const std::vector<uint8_t>& values, Shape shape) {
    Tensor tensor(DType::u8, shape);
    std::copy(values.begin(), values.end(), tensor.writable().data<uint8_t>());
    return b.constant(std::move(tensor));
  };
  const auto cast = [&](const Expr& x) { return b.op("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}}); };
  /// Reshapes to `last` behind leading dimensions that stay as they are.
  const auto reshape = [&](const Expr& x, size_t kept, const Ints& last) {
    Ints shape(kept, 0);
    shape.insert(shape.end(), last.begin(), last.end());
    return b.op("Reshape", {x, ints(shape)});
  };
  const auto first = [&](const Expr& x, int64_t count, int64_t axis) { return b.op("Slice", {x, ints({0}), ints({count}), ints({axis})}); };
  const auto unpacked = [&](Expr x, int64_t axes) {
    if (each == 1) return x;
    std::vector<uint8_t> shifts;
    for (int64_t i = 0; i < each; ++i) shifts.push_back(static_cast<uint8_t>(i * form.bits));
    x = b.op("Unsqueeze", {x, ints({axes})});
    x = b.op("BitShift", {x, bytes(shifts, {each})}, {{"direction", std::string("RIGHT")}});
    return b.op("BitwiseAnd", {x, bytes({static_cast<uint8_t>((1 << form.bits) - 1)}, {})});
  };
  const size_t leading = static_cast<size_t>(rank) - 2;
  Expr y = cast(reshape(unpacked(in[0], rank), leading, {form.blocks(), form.block}));
  const auto column = [&](const Expr& x) { return b.op("Unsqueeze", {x, ints({rank - 1})}); };
  if (in.size() > 2 && in[2]) {
    Expr zeros = in[2];
    if (node.input_dtype(2) == DType::u8) {
      zeros = unpacked(zeros, rank - 1);
      if (each > 1) zeros = reshape(zeros, leading, {form.zero_point_bytes() * each});
      if (form.zero_point_bytes() * each != form.blocks()) zeros = first(zeros, form.blocks(), rank - 2);
    }
    if (node.input_dtype(2) != dtype) zeros = cast(zeros);
    y = b.op("Sub", {y, column(zeros)});
  } else {
    y = b.op("Sub", {y, cast(bytes({static_cast<uint8_t>(form.middle())}, {}))});
  }
  y = reshape(b.op("Mul", {y, column(in[1])}), leading, {form.blocks() * form.block});
  return {form.blocks() * form.block == form.depth ? y : first(y, form.depth, rank - 2)};
}

/// DequantizeLinear on integers of 4 or 8 bits, where they are known.
Exprs dequantized_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const auto at = [&](size_t i) { return i < in.size() ? in[i] : Expr(); };
  const bool packed_zeros = node.input_dtype(2) == DType::u8;
  if (!node.is_constant(0) || at(3) || (at(2) && !(packed_zeros && node.is_constant(2)))) return computed_parts(node, b, in);
  const NBits form = NBits::of(node);
  const DType dtype = form.bits <= 4 ? DType::u4 : DType::u8;
  const auto numbers = [&](const uint8_t* from, Shape shape, int64_t count, int64_t each, int64_t bytes) {
    shape.push_back(count);
    Tensor tensor(dtype, shape);
    uint8_t* to = tensor.writable().data<uint8_t>();
    const int64_t streams = (count + each - 1) / each;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const int64_t row = i / count, k = i % count;
      to[i] = static_cast<uint8_t>(form.number(from + (row * streams + k / each) * bytes, static_cast<size_t>(k % each)));
    }
    return b.constant(std::move(tensor));
  };
  const Shape& shape = node.input_shape(0);
  const Shape rows(shape.dims().first(shape.rank() - 2));
  Expr zeros;
  if (at(2)) {
    zeros = numbers(node.contents(2).data<uint8_t>(), rows, form.blocks(), form.blocks(), form.zero_point_bytes());
  } else {
    Shape each = rows;
    each.push_back(form.blocks());
    Tensor middle(dtype, each);
    std::fill_n(middle.writable().data<uint8_t>(), middle.elements(), static_cast<uint8_t>(form.middle()));
    zeros = b.constant(std::move(middle));
  }
  const Expr values = numbers(node.contents(0).data<uint8_t>(), rows, form.depth, form.block, form.bytes());
  return {b.op("DequantizeLinear", {values, in[1], zeros}, {{"axis", int64_t{-1}}, {"block_size", form.block}})};
}

Batch batch(const NodeView& node) { return node.input_shape(0).rank() < 2 ? Batch::mixed : Batch::apart; }

double operations(const NodeView& node) {
  return 2 * static_cast<double>(node.output_shape(0).elements()) * static_cast<double>(node.require<int64_t>("K"));
}

constexpr DTypes kReals = one_of({DType::f32, DType::f16, DType::bf16});
constexpr DTypes kU8 = one_of({DType::u8}), kI32 = one_of({DType::i32});

constexpr List<Operator> definitions() {
  return {
      {.name = "minnow.DequantizeNBits",
       .doc = MINNOW_DOC(
           "Rows of K numbers of 2 to 8 bits: y = (number - zero point) * scale. B is [..., blocks, bytes of a block]; scales are "
           "[..., blocks]; zero points are the like, or packed as the numbers are, [..., bytes]; without them they are "
           "2^(bits - 1). g_idx names the block of each of the K numbers whose scale and zero point count."),
       .inputs = {{"B", kU8}, {"scales", kReals}, {"zero_points", kReals | kU8, kOptional}, {"g_idx", kI32, kOptional}},
       .outputs = {{"y", same_as("scales")}},
       .attributes = {kDepth, kBits, kBlockSize},
       .infer_shapes = dequantized_shape,
       .reference = dequantize,
       .decompose = dequantized_parts,
       .wants_constants = true},
      {.name = "minnow.MatMulNBits",
       .doc = MINNOW_DOC(
           "The product of A [..., K] with the transpose of N rows of weights, as minnow.DequantizeNBits reads them, plus a bias of "
           "N numbers. Kernels compute from the packed weights."),
       .inputs = {{"A", kReals},
                  {"B", kU8},
                  {"scales", kReals},
                  {"zero_points", kReals | kU8, kOptional},
                  {"g_idx", kI32, kOptional},
                  {.name = "bias", .dtypes = kReals, .arity = kOptional, .like = "A"}},
       .outputs = {{"Y", same_as("A")}},
       .attributes = {kDepth, required("N", AttributeKind::integer, MINNOW_DOC("rows of B")), kBits, kBlockSize, kAccuracyLevel},
       .infer_shapes = matmul_shape,
       .decompose = matmul_parts,
       .operations = operations,
       .batch = batch,
       .wants_constants = true},
  };
}

}  // namespace

std::span<const Operator> nbits_operators() { return operator_table<definitions>(); }

}  // namespace minnow

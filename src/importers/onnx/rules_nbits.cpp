// SPDX-License-Identifier: Apache-2.0
// Weights of 2 to 8 bits in blocks: com.microsoft.MatMulNBits and GatherBlockQuantized.
#include "graph/nbits.h"
#include "importers/onnx/rules.h"

namespace minnow::onnx {
namespace {

Expr gathered(GraphBuilder& g, const Expr& x, const Expr& indices, int64_t axis) {
  const Expr y = g.op("Gather", {x, indices}, {{"axis", axis}});
  y.value()->type.dtype = x.value()->type.dtype;
  return y;
}

}  // namespace

Exprs import_matmul_nbits(OnnxNode& node, GraphBuilder& g) {
  NBits form;
  form.depth = node.require<int64_t>("K"), form.bits = node.integer("bits", 4), form.block = node.require<int64_t>("block_size");
  const int64_t columns = node.require<int64_t>("N");
  if (form.block <= 0 || form.depth <= 0 || columns <= 0) node.fail("K, N and block_size should be positive");
  // Files have scales and zero points as vectors, or with the rows as a dimension.
  const Expr scales = reshaped(node.required_input(2), {columns, form.blocks()});
  Expr zeros = node.input(3);
  if (zeros) zeros = reshaped(zeros, {columns, node.dtype(zeros) == DType::u8 ? form.zero_point_bytes() : form.blocks()});
  const Expr b = reshaped(node.required_input(1), {columns, form.blocks(), form.bytes()});
  Attributes attributes{{"K", form.depth}, {"N", columns}, {"bits", form.bits}, {"block_size", form.block}};
  if (const int64_t level = node.integer("accuracy_level", 0); level != 0) attributes.set("accuracy_level", level);
  return {g.op("minnow.MatMulNBits", {node.required_input(0), b, scales, zeros, node.input(4), node.input(5)}, std::move(attributes))};
}

Exprs import_gather_block_quantized(OnnxNode& node, GraphBuilder& g) {
  const Expr data = node.required_input(0), indices = node.required_input(1), scales = node.required_input(2), zeros = node.input(3);
  const int64_t rank = node.rank(data), block = node.integer("block_size", 128), bits = node.integer("bits", 4);
  if (rank < 2) node.refuse("the number of dimensions of the data must be known, and at least 2");
  const int64_t gather = node.from_front(node.integer("gather_axis", 0), rank),
                axis = node.from_front(node.integer("quantize_axis", 1), rank);
  if (gather == axis) node.fail("gather_axis and quantize_axis are the same");
  const int64_t places = node.rank(indices);
  if (places < 0) node.refuse("the number of dimensions of the indices must be known");
  const auto take = [&](const Expr& x) { return x ? gathered(g, x, indices, gather) : x; };
  if (node.dtype(data) != DType::u8) {
    const Expr y = g.op("DequantizeLinear", {take(data), take(scales), take(zeros)},
                        {{"axis", gather < axis ? axis + places - 1 : axis}, {"block_size", block}});
    return {y};
  }
  // Bytes hold several numbers each.
  const Tensor* table = data.value()->constant();
  if (!table || gather != 0 || axis != rank - 1)
    node.refuse("bytes are supported as a constant whose first axis is looked up, in blocks along the last");
  Shape shape = table->shape();
  const int64_t depth = shape.back() * 8 / bits;
  if (bits <= 0 || block <= 0 || depth % block != 0) node.refuse("rows of {} numbers are not whole blocks of {}", depth, block);
  Ints rows(shape.begin(), shape.end() - 1);
  rows.push_back(depth / block), rows.push_back(block * bits / 8);
  return {g.op("minnow.DequantizeNBits", {take(reshaped(data, rows)), take(scales), take(zeros)},
               {{"K", depth}, {"bits", bits}, {"block_size", block}})};
}

}  // namespace minnow::onnx

// SPDX-License-Identifier: Apache-2.0
// Weights that a file keeps as indices into a palette of numbers.
#include "ops/operator_table.h"

namespace minnow {
namespace {

Shapes shapes(const NodeView& node) {
  const Sizes palette = node.input_sizes(1);
  const int64_t wanted = int64_t{1} << bits_of(node.input_dtype(0));
  if (palette.size() != 1) node.fail("the palette has {} dimensions, not one", palette.size());
  if (node.knows_shape(1) && node.input_shape(1)[0] != wanted)
    node.fail("indices of {} have a palette of {} numbers, this one has {}", node.input_dtype(0), wanted, node.input_shape(1)[0]);
  return {node.input_sizes(0)};
}

void reference(const NodeView&, KernelArgs& args) {
  const uint8_t* indices = args.input(0).data<uint8_t>();
  const int64_t count = args.input(0).elements();
  const auto look_up = [&](const auto* palette, auto* y) {
    for (int64_t i = 0; i < count; ++i) y[i] = palette[indices[i]];
  };
  if (args.input(1).dtype() == DType::f32)
    look_up(args.input(1).data<float>(), args.output(0).data<float>());
  else
    look_up(args.input(1).data<int8_t>(), args.output(0).data<int8_t>());
}

Exprs decompose(const NodeView&, GraphBuilder& b, const Exprs& in) {
  return {b.op("Gather", {in[1], b.op("Cast", {in[0]}, {{"to", static_cast<int64_t>(DType::i32)}})}, {{"axis", int64_t{0}}})};
}

constexpr List<Operator> definitions() {
  return {{.name = "minnow.LookUp",
           .since = 1,
           .doc = MINNOW_DOC(
               "y = palette[index], of a palette with a number for each index that the dtype has: 4 for u2, 16 for u4, 256 for u8. "
               "Palettes of i8 are those of quantized weights."),
           .inputs = {{"indices", one_of({DType::u8, DType::u4, DType::u2})}, {"palette", one_of({DType::f32, DType::i8})}},
           .outputs = {{"y", same_as("palette")}},
           .infer_shapes = shapes,
           .reference = reference,
           .decompose = decompose,
           .recomputable = true}};
}

}  // namespace

std::span<const Operator> look_up_operators() { return operator_table<definitions>(); }

}  // namespace minnow

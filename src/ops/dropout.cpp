// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/random.h"

namespace minnow {

namespace {

constexpr Name kSeed = "seed";

Shapes infer(const NodeView& node) {
  for (size_t i : {1, 2})
    if (!node.may_hold_one(i))
      node.fail("input {} (\"{}\") should hold one element, it has shape {}", i, node.input_name(i), node.input_sizes(i));
  node.find<int64_t>(kSeed);
  return {node.input_sizes(0), node.input_sizes(0)};
}

void reference(const NodeView& node, KernelArgs& args) {
  const double ratio = args.has_input(1) ? args.reals(1)[0] : 0.5;
  const size_t count = static_cast<size_t>(args.input(0).elements());
  if (!args.has_input(2) || args.ints(2)[0] == 0 || ratio == 0) {
    if (args.has_output(0) && count > 0) std::memcpy(args.output(0).data(), args.input(0).data(), args.input(0).bytes());
    if (args.has_output(1)) std::fill_n(args.output(1).data<uint8_t>(), count, uint8_t{1});
    return;
  }
  if (!(ratio > 0 && ratio < 1)) args.fail("the ratio should be in [0, 1), it is {}", ratio);
  const int64_t* seed = node.find<int64_t>(kSeed);
  RandomStream random = random_stream(seed ? std::optional<uint64_t>(static_cast<uint64_t>(*seed)) : std::nullopt);
  Numbers<double> x = args.reals(0);
  Numbers<int64_t> mask(count);
  for (size_t i = 0; i < count; ++i) {
    mask[i] = random.uniform() >= ratio;
    x[i] = mask[i] ? x[i] / (1 - ratio) : 0;
  }
  if (args.has_output(0)) args.write(0, x);
  if (args.has_output(1)) args.write(1, mask);
}

/// For inference: nothing happens.
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  if (node.has_input(2) && node.int_scalar(2) != 0 && (!node.has_input(1) || node.real_scalar(1) != 0)) return {};
  Exprs results{b.op("Identity", {in[0]})};
  const Shape& shape = node.input_shape(0);
  if (node.has_output(1)) results.push_back(b.op("Expand", {b.scalar(1, DType::boolean), b.constant(Ints(shape.begin(), shape.end()))}));
  return results;
}

constexpr DTypes kDroppable = kFloats | one_of({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz});

#if MINNOW_GRADIENTS
/// Dropped elements have no gradient; the mask, the second output, tells them.
Exprs dropout_gradient(const GradientContext& c) {
  const Expr& g = c.output_gradient(0);
  Exprs made(c.inputs.size());
  if (!c.has_input(2)) {
    made[0] = g;
    return made;
  }
  if (c.outputs.size() < 2 || !c.output(1))
    throw Unsupported("{}: the gradient of Dropout needs its second output, the mask", c.node.where());
  const Expr kept = 1.0 - (c.has_input(1) ? cast(c.input(1), c.node.input_dtype(0)) : c.builder.scalar_like(0.5, g));
  const Expr scale = select(c.input(2), 1.0 / kept, kept * 0.0 + 1.0);
  made[0] = where(c.output(1), g * scale);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Dropout",
       .since = 22,
       .doc = MINNOW_DOC("In training mode each element becomes 0 with probability `ratio` (1/2 where none is given) and is divided by 1 - "
                         "ratio otherwise; else nothing happens. The mask tells what was kept. Source: Srivastava et al. 2014."),
       .inputs = {{"data", kDroppable}, {"ratio", kDroppable, kOptional}, {"training_mode", kBool, kOptional}},
       .outputs = {{"output", same_as("data")}, {"mask", fixed(DType::boolean), kOptional}},
       .attributes = {optional(kSeed, AttributeKind::integer, MINNOW_DOC("seed of the mask; without one every run draws another"))},
       .infer_shapes = infer,
       .reference = reference,
       .decompose = parts,
       .gradient = MINNOW_GRADIENT(dropout_gradient),
       .pure = false}};
}

}  // namespace

std::span<const Operator> dropout_operators() { return operator_table<definitions>(); }

}  // namespace minnow

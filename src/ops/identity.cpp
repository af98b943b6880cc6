// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/batch.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

void infer(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0] = node.input(0);
  outputs[0].contents = {};
}

void reference(const NodeView& node, KernelArgs& args) {
  if (node.input(0).kind != ValueInfo::Kind::tensor) return args.set_output(0, args.datum(0));
  std::memcpy(args.output(0).data(), args.input(0).data(), args.input(0).bytes());
}

#if MINNOW_GRADIENTS
Exprs identity_gradient(const GradientContext& c) { return {c.output_gradient(0)}; }
Exprs first_gradient(const GradientContext& c) {
  Exprs made(c.inputs.size());
  made[0] = c.output_gradient(0);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
    {.name = "Identity",
     .since = 25,
     .doc = MINNOW_DOC("y = x, for a tensor, a sequence or an optional."),
     .inputs = {{"input", kAny, Arity::required, kAnyKind}},
     .outputs = {{"output", same_as("input")}},
     .infer = infer,
     .reference = reference,
     .gradient = MINNOW_GRADIENT(identity_gradient),
     .batch = batch_apart,
     .elements = Elements::kept,
     .axes = kAxesAlike},
#if MINNOW_GRADIENTS
        {.name = "minnow.StopGradient",
         .doc = MINNOW_DOC("y = x, which counts as a constant where gradients are computed."),
         .inputs = {{"input"}},
         .outputs = {{"output", same_as("input")}},
         .infer_shapes = [](const NodeView& node) -> Shapes { return {node.input_sizes(0)}; },
         .decompose = [](const NodeView&, GraphBuilder& b, const Exprs& in) -> Exprs { return {b.op("Identity", {in[0]})}; },
         .gradient = MINNOW_GRADIENT(zero_gradient),
         .batch = batch_apart},
        {.name = "minnow.After",
         .doc = MINNOW_DOC("y = input, computed after the other inputs. In expressions it may have a gradient of the program's own."),
         .inputs = {{"input"}, {"others", kAny, kVariadic}},
         .outputs = {{"output", same_as("input")}},
         .attributes = {optional("rule", AttributeKind::tensor, MINNOW_DOC("where the program keeps the gradient's function")),
                        optional("output", AttributeKind::integer, MINNOW_DOC("which output of that function this is; 0 by default"))},
         .infer_shapes = [](const NodeView& node) -> Shapes { return {node.input_sizes(0)}; },
         .decompose = [](const NodeView&, GraphBuilder& b, const Exprs& in) -> Exprs { return {b.op("Identity", {in[0]})}; },
         .gradient = MINNOW_GRADIENT(first_gradient)},
#endif
  };
}

}  // namespace

std::span<const Operator> identity_operators() { return operator_table<definitions>(); }

}  // namespace minnow

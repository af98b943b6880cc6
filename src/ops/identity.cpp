// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/batch.h"
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

constexpr List<Operator> definitions() {
  return {{.name = "Identity",
           .since = 25,
           .doc = MINNOW_DOC("y = x, for a tensor, a sequence or an optional."),
           .inputs = {{"input", kAny, Arity::required, kAnyKind}},
           .outputs = {{"output", same_as("input")}},
           .infer = infer,
           .reference = reference,
           .batch = batch_apart,
           .elements = Elements::kept,
           .axes = kAxesAlike}};
}

}  // namespace

std::span<const Operator> identity_operators() { return operator_table<definitions>(); }

}  // namespace minnow

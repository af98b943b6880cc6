// SPDX-License-Identifier: Apache-2.0
// Gather(palette, Cast(indices)) of constants, as ONNX writes weights from a palette, becomes minnow.LookUp: the file keeps the narrow
// indices, and plans look the weights up once, while they are packed.
#include <algorithm>

#include "passes/rewrite.h"

namespace minnow {
namespace {

constexpr std::string_view kLookUp = "minnow.LookUp";

/// The narrow indices behind a Cast, if each has a number in a palette of `count`.
Value* indices_of(const Node& gather, int64_t count, DTypes dtypes) {
  const Node* cast = made_by(gather.input(1), "Cast");
  Value* indices = cast ? cast->input(0) : nullptr;
  if (!indices || !indices->constant() || !contains(dtypes, indices->type.dtype)) return nullptr;
  const Tensor& tensor = *indices->constant();
  const uint8_t* index = tensor.data<uint8_t>();  // sub-byte dtypes have a byte for each element in memory
  const bool fits = std::all_of(index, index + tensor.elements(), [&](uint8_t each) { return each < count; });
  return fits ? indices : nullptr;
}

bool raise(Graph& graph, Node& node, const Operator& look_up) {
  Value* palette = node.input(0);
  if (!palette || !palette->constant() || !contains(look_up.inputs[1].dtypes, palette->type.dtype)) return false;
  const Shape shape = palette->constant()->shape();
  const int64_t axis = int_attribute(node, "axis", 0);
  if (shape.rank() != 1 || shape[0] == 0 || (axis != 0 && axis != -1)) return false;
  Value* indices = indices_of(node, shape[0], look_up.inputs[0].dtypes);
  if (!indices) return false;
  const int64_t wanted = int64_t{1} << bits_of(indices->type.dtype);
  if (shape[0] > wanted) return false;
  if (shape[0] < wanted) {
    std::vector<double> colours = *reals_of(palette);
    colours.resize(static_cast<size_t>(wanted), colours.back());
    palette = &add_reals(graph, palette->type.dtype, {wanted}, colours, graph.fresh_name(palette->name()));
  }
  replace(*node.output(0), kLookUp, {indices, palette}, {}, node.name());
  return true;
}

}  // namespace

void raise_look_ups(Graph& graph, PassContext& context) {
  const Operator* look_up = context.operators().find(kLookUp);
  if (!look_up) return;  // small builds compute the Gather
  for (Node& node : graph.nodes()) {
    if (node.op() != "Gather" || !node.output(0) || !raise(graph, node, *look_up)) continue;
    context.changed("{} looks constants up in a palette", label_of(node));
    remove_dead(node);
  }
}

}  // namespace minnow

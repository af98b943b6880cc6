// SPDX-License-Identifier: Apache-2.0
// Channels of several groups dealt out in turn, so that groups of the next layer see all of them.
#include <cstring>
#include <numeric>

#include "graph/channel_shuffle.h"
#include "ops/batch.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

Shapes shapes(const NodeView& node) {
  Sizes shape = node.input_sizes(0);
  Shapes all;
  for (const Size size : shuffle_sizes(node)) {
    shape[1] = size;
    all.emplace_back(shape);
  }
  return all;
}

void reference(const NodeView& node, KernelArgs& args) {
  const ChannelShuffle shuffle = ChannelShuffle::of(node);
  const Shape& first = node.input_shape(0);
  const size_t plane = static_cast<size_t>(first.product(2, first.rank())) * size_of(node.input_dtype(0));
  int64_t channel = 0;
  for (size_t i = 0; i < shuffle.sizes.size(); ++i)
    for (int64_t c = 0; c < shuffle.sizes[i]; ++c, ++channel) {
      if (!args.has_output(i)) continue;
      const ChannelShuffle::Place from = shuffle.source(channel);
      const TensorView& x = args.input(from.part);
      for (int64_t n = 0; n < first[0]; ++n)
        std::memcpy(args.output(i).data<char>() + static_cast<size_t>(n * shuffle.sizes[i] + c) * plane,
                    x.data<char>() + static_cast<size_t>(n * x.dim(1) + from.channel) * plane, plane);
    }
}

Exprs decompose(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Shape& first = node.input_shape(0);
  const int64_t groups = node.require<int64_t>("groups");
  int64_t channels = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input_shape(i)[1] < 0) return {};  // an export shows dimensions that are open so
    channels += node.input_shape(i)[1];
  }
  const auto shape = [&](const Ints& middle) {
    bool known = true;
    Ints all = {first[0]};
    all.insert(all.end(), middle.begin(), middle.end());
    for (size_t i = 2; i < first.rank(); ++i) all.push_back(first[i]);
    for (int64_t size : all) known = known && size >= 0;
    if (known) return builder.constant(all);
    return builder.op("Concat",
                      {builder.op("Shape", {inputs[0]}, {{"end", int64_t{1}}}), builder.constant(middle),
                       builder.op("Shape", {inputs[0]}, {{"start", int64_t{2}}})},
                      {{"axis", int64_t{0}}});
  };
  const Attributes keep = {{"allowzero", int64_t{1}}};
  const Expr x = inputs.size() == 1 ? inputs[0] : builder.op("Concat", inputs, {{"axis", int64_t{1}}});
  Ints perm(first.rank() + 1);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  const Expr dealt = builder.op("Transpose", {builder.op("Reshape", {x, shape({groups, channels / groups})}, keep)}, {{"perm", perm}});
  const Expr y = builder.op("Reshape", {dealt, shape({channels})}, keep);
  const Ints* sizes = node.find<Ints>("sizes");
  return sizes ? builder.ops("Split", {y, builder.constant(*sizes)}, sizes->size(), {{"axis", int64_t{1}}}) : Exprs{y};
}

constexpr List<Operator> definitions() {
  return {
      {.name = "minnow.ChannelShuffle",
       .since = 1,
       .doc =
           MINNOW_DOC("The parts [batch, channels, ...] one behind another along the channels, the first channel of each of `groups` equal "
                      "groups of them, then the second of each, and so on, cut into outputs of `sizes` channels. Source: Zhang et al. "
                      "2017, arXiv:1707.01083."),
       .inputs = {{.name = "parts", .arity = kVariadic, .like = "parts"}},
       .outputs = {{"outputs", same_as("parts"), kVariadic}},
       .attributes = {required("groups", AttributeKind::integer, MINNOW_DOC("number of groups that the channels are taken from in turn")),
                      optional("sizes", AttributeKind::integers, MINNOW_DOC("channels of each output; absent: there is one"))},
       .infer_shapes = shapes,
       .reference = reference,
       .decompose = decompose,
       .batch = batch_apart,
       .elements = Elements::permuted}};
}

}  // namespace

std::span<const Operator> channel_shuffle_operators() { return operator_table<definitions>(); }

}  // namespace minnow

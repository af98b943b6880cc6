// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "importers/caffe/rules.h"

#include "importers/builder/indexing.h"

namespace minnow::caffe {

Exprs import_split(CaffeLayer& layer, TypedBuilder&) { return Exprs(std::max<size_t>(layer.top_count(), 1), layer.bottom()); }
Exprs import_silence(CaffeLayer&, TypedBuilder&) { return {}; }

Exprs import_concat(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("concat_param");
  return {p.concat(layer.bottoms, layer.axis(parameters.integer("axis", parameters.integer("concat_dim", 1))))};
}

Exprs import_slice(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("slice_param");
  const int64_t axis = layer.axis(parameters.integer("axis", parameters.integer("slice_dim", 1)));
  const Ints points = parameters.integers("slice_point");
  const size_t count = layer.top_count();
  if (count < 2) return {layer.bottom()};
  if (points.empty()) return p.ops("Split", {layer.bottom()}, count, {{"axis", axis}, {"num_outputs", static_cast<int64_t>(count)}});
  if (points.size() + 1 != count) layer.fail("has {} points for {} tops", points.size(), count);
  Exprs tops;
  for (size_t i = 0; i < count; ++i)
    tops.push_back(
        p.slice(layer.bottom(), {i ? points[i - 1] : 0}, {i < points.size() ? points[i] : std::numeric_limits<int64_t>::max()}, {axis}));
  return tops;
}

Exprs import_flatten(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("flatten_param");
  const int64_t axis = layer.axis(parameters.integer("axis", 1)), end = layer.axis(parameters.integer("end_axis", -1)), rank = layer.rank();
  if (end < axis) layer.fail("ends at axis {}, before axis {}", end, axis);
  if (axis == 1 && end == rank - 1) return {p.op("Flatten", {layer.bottom()}, {{"axis", int64_t{1}}})};
  return {
      p.reshape(layer.bottom(), p.concat({p.shape_of(layer.bottom(), 0, axis), p.constant({-1}), p.shape_of(layer.bottom(), end + 1)}, 0))};
}

Exprs import_reshape(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("reshape_param");
  const Ints dims = parameters.message("shape").integers("dim");
  const int64_t rank = layer.rank();
  int64_t axis = parameters.integer("axis", 0);
  if (axis < 0) axis += rank + 1;
  const int64_t count = parameters.integer("num_axes", -1), end = count < 0 ? rank : axis + count;
  if (axis < 0 || axis > rank || end > rank) layer.fail("axes {} to {} do not fit {} dimensions", axis, end, rank);
  // 0 copies the dimension at that place behind the axis.
  Exprs parts = {p.shape_of(layer.bottom(), 0, axis)};
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from = axis + static_cast<int64_t>(i);
    if (dims[i] == 0 && from >= rank) layer.fail("copies dimension {} of {}", from, rank);
    parts.push_back(dims[i] == 0 ? p.shape_of(layer.bottom(), from, from + 1) : p.constant({dims[i]}));
  }
  parts.push_back(p.shape_of(layer.bottom(), end));
  return {p.reshape(layer.bottom(), p.concat(parts, 0))};
}

Exprs import_permute(CaffeLayer& layer, TypedBuilder& p) {
  Ints perm = layer.parameters("permute_param").integers("order");
  const int64_t rank = layer.rank();
  for (int64_t i = 0; i < rank; ++i)
    if (std::find(perm.begin(), perm.end(), i) == perm.end()) perm.push_back(i);
  if (static_cast<int64_t>(perm.size()) != rank) layer.fail("order {} does not fit {} dimensions", perm, rank);
  return {p.transpose(layer.bottom(), perm)};
}

Exprs import_tile(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("tile_param");
  Ints repeats(static_cast<size_t>(layer.rank()), 1);
  repeats[static_cast<size_t>(layer.axis(parameters.integer("axis", 1)))] = parameters.integer("tiles", 1);
  return {p.op("Tile", {layer.bottom(), p.constant(repeats)})};
}

Exprs import_reduction(CaffeLayer& layer, TypedBuilder& p) {
  static constexpr std::string_view kNames[] = {"", "ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceMean"};
  const Message& parameters = layer.parameters("reduction_param");
  const int64_t operation = parameters.choice("operation", {"", "SUM", "ASUM", "SUMSQ", "MEAN"}, 1);
  const double factor = parameters.real("coeff", 1);
  Ints axes;
  for (int64_t i = layer.axis(parameters.integer("axis", 0)); i < layer.rank(); ++i) axes.push_back(i);
  const Expr y = p.op(kNames[operation], {layer.bottom(), p.constant(axes)}, {{"keepdims", int64_t{0}}});
  return {factor == 1 ? y : p.op("Mul", {y, p.scalar(factor)})};
}

Exprs import_arg_max(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("argmax_param");
  const int64_t k = parameters.integer("top_k", 1);
  const bool values = parameters.flag("out_max_val", false);
  if (parameters.has("axis")) {
    const int64_t axis = layer.axis(parameters.integer("axis", 0));
    const Exprs best = p.ops("TopK", {layer.bottom(), p.constant({k})}, 2, {{"axis", axis}});
    return {values ? best[0] : p.cast(best[1], DType::f32)};
  }
  // Over everything but the batch: [N, 1, k], or [N, 2, k] with the values behind the places.
  const Exprs best = p.ops("TopK", {p.op("Flatten", {layer.bottom()}), p.constant({k})}, 2);
  const Expr places = p.unsqueeze(p.cast(best[1], DType::f32), {1});
  return {values ? p.concat({places, p.unsqueeze(best[0], {1})}, 1) : places};
}

Exprs import_batch_reindex(CaffeLayer& layer, TypedBuilder& p) { return {p.gather(layer.bottom(0), p.vector(p.i64(layer.bottom(1))), 0)}; }

Exprs import_crop(CaffeLayer& layer, TypedBuilder& p) {
  // To the size of bottom 1 from the axis on.
  const Message& parameters = layer.parameters("crop_param");
  const int64_t axis = layer.axis(parameters.integer("axis", 2)), count = layer.rank() - axis;
  Ints offsets = parameters.integers("offset");
  if (offsets.empty()) offsets = {0};
  if (offsets.size() == 1) offsets.assign(static_cast<size_t>(count), offsets[0]);
  if (static_cast<int64_t>(offsets.size()) != count) layer.fail("has {} offsets for {} dimensions", offsets.size(), count);
  Ints axes;
  for (int64_t i = axis; i < layer.rank(); ++i) axes.push_back(i);
  const Expr ends = p.op("Add", {p.shape_of(layer.bottom(1), axis), p.constant(offsets)});
  return {p.op("Slice", {layer.bottom(0), p.constant(offsets), ends, p.constant(axes)})};
}

Exprs import_reverse(CaffeLayer& layer, TypedBuilder& p) {
  return {reverse(p, layer.bottom(), {layer.axis(layer.parameters("reverse_param").integer("axis", 0))})};
}

Exprs import_shuffle_channel(CaffeLayer& layer, TypedBuilder& p) {
  const int64_t groups = layer.parameters("shuffle_channel_param").integer("group", 1), channels = layer.size(layer.bottom(), 1);
  if (groups < 1 || channels % groups != 0) layer.fail("{} groups do not fit {} channels", groups, channels);
  const Expr shape = p.shape_of(layer.bottom());
  const Expr batch = p.shape_of(layer.bottom(), 0, 1);
  const Expr cut =
      p.reshape(layer.bottom(), p.concat({batch, p.constant({groups, channels / groups, -1}), p.shape_of(layer.bottom(), 3)}, 0));
  if (p.rank(layer.bottom()) != 4) layer.refuse("an image of {} dimensions is not supported", p.rank(layer.bottom()));
  return {p.reshape(p.op("Transpose", {cut}, {{"perm", Ints{0, 2, 1, 3, 4}}}), shape)};
}

Exprs import_parameter(CaffeLayer& layer, TypedBuilder&) {
  return {layer.weights(0, layer.parameters("parameter_param").message("shape").integers("dim"))};
}

}  // namespace minnow::caffe

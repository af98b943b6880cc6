// SPDX-License-Identifier: Apache-2.0
#include "importers/parts.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "base/saturating.h"
#include "ops/infer.h"
#include "passes/infer_dims.h"
#include "passes/rewrite.h"

namespace minnow {

// Nodes.

Exprs Parts::ops(std::string_view name, const Exprs& inputs, size_t outputs, Attributes attributes) {
  for (const Expr& input : inputs)
    if (input) infer(input);
  if (outputs == 0) return {};  // a node without outputs computes nothing
  Exprs made = g_->ops(name, inputs, outputs, std::move(attributes));
  Node& node = *made[0].value()->producer();
  if (operators_->find(name)) {
    for (const Expr& x : made) x.value()->type.dtype = DType::undefined;
    infer_types(*operators_, node);
    infer_dims(*operators_, *sizes_, node);
  }
  inferred_.insert(&node);
  return made;
}
Expr Parts::op(std::string_view name, const Exprs& inputs, Attributes attributes) { return ops(name, inputs, 1, std::move(attributes))[0]; }

Expr Parts::reals(const Shape& shape, std::span<const double> values, DType dtype) {
  Tensor tensor(dtype, shape);
  narrow(dtype, values.data(), values.size(), tensor.writable().data());
  return g_->constant(std::move(tensor));
}

void Parts::infer(const Expr& x) {
  Node* node = x.value()->producer();
  if (!node || x.value()->type.dims || x.value()->type.kind != ValueType::Kind::tensor || !inferred_.insert(node).second) return;
  for (size_t i = 0; i < node->input_count(); ++i)
    if (node->input(i)) infer(g_->wrap(node->input(i)));
  if (!operators_->find(node->op())) return;
  infer_types(*operators_, *node);
  infer_dims(*operators_, *sizes_, *node);
}

DType Parts::dtype(const Expr& x) {
  infer(x);
  return x.value()->type.dtype;
}
int64_t Parts::rank(const Expr& x) {
  if (x.value()->constant()) return static_cast<int64_t>(x.value()->constant()->shape().rank());
  infer(x);
  return x.value()->type.dims ? static_cast<int64_t>(x.value()->type.dims->size()) : -1;
}
int64_t Parts::dim(const Expr& x, int64_t axis) {
  const int64_t count = rank(x);
  if (axis < 0) axis += count;
  if (axis < 0 || axis >= count) return -1;
  if (x.value()->constant()) return x.value()->constant()->shape()[static_cast<size_t>(axis)];
  return (*x.value()->type.dims)[static_cast<size_t>(axis)].size;
}
std::optional<Ints> Parts::shape(const Expr& x) {
  const int64_t count = rank(x);
  if (count < 0) return {};
  Ints all;
  for (int64_t i = 0; i < count; ++i) {
    all.push_back(dim(x, i));
    if (all.back() < 0) return {};
  }
  return all;
}
namespace {

/// Elements of an integer constant, or of vectors of such that are joined, cast or reshaped: frameworks compute axes in that way.
std::optional<Ints> known_ints(const Value* value, int depth) {
  constexpr int kDeepest = 8;
  if (!value) return {};
  if (value->constant()) return is_integer(value->constant()->dtype()) ? ints_of(value) : std::nullopt;
  const Node* node = value->producer();
  if (!node || depth == kDeepest || !is_integer(value->type.dtype)) return {};
  const std::string& op = node->op();
  if (op == "Cast" || op == "Identity" || op == "Reshape" || op == "Unsqueeze" || op == "Squeeze")
    return known_ints(node->input(0), depth + 1);
  if (op != "Concat") return {};
  Ints all;
  for (size_t i = 0; i < node->input_count(); ++i) {
    const auto part = known_ints(node->input(i), depth + 1);
    if (!part || part->size() > kMaxRank || all.size() > kMaxRank) return {};  // a vector, that speaks of axes
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

}  // namespace

std::optional<Ints> Parts::ints(const Expr& x) { return x ? known_ints(x.value(), 0) : std::nullopt; }
Expr Parts::own(const Expr& x) {
  const Value* value = x.value();
  return value->producer() && &value->graph() == &g_->graph() && !value->is_graph_output() ? x : op("Identity", {x});
}

InnerGraph::InnerGraph(const Parts& outside)
    : graph(std::make_shared<Graph>()), builder(*graph), parts(builder, outside.operators(), outside.sizes()) {
  graph->outer = &outside.builder().graph();
  graph->source = graph->outer->source;
}

std::optional<double> Parts::number(const Expr& x) { return x ? scalar_of(x.value()) : std::nullopt; }

// Shapes.

Expr Parts::cast(const Expr& x, DType to) {
  if (dtype(x) == to) return x;
  if (const auto values = x.value()->constant() ? ints(x) : std::nullopt; values && is_integer(to)) {
    Tensor tensor(to, x.value()->constant()->shape());
    narrow(to, values->data(), values->size(), tensor.writable().data());
    return g_->constant(std::move(tensor));
  }
  return op("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
}

Expr Parts::shape_of(const Expr& x, int64_t start, int64_t end) {
  const int64_t count = rank(x);
  if (count >= 0) {
    const int64_t last = std::min(end < 0 ? end + count : end, count), first = std::min(start < 0 ? start + count : start, last);
    Ints known;
    for (int64_t i = first; i < last; ++i) known.push_back(dim(x, i));
    if (std::find(known.begin(), known.end(), -1) == known.end()) return constant(known);
  }
  Attributes attributes;
  if (start != 0) attributes.set("start", start);
  if (end != kEnd) attributes.set("end", end);
  return op("Shape", {x}, std::move(attributes));
}

Expr Parts::reshape(const Expr& x, const Ints& to) {
  if (const auto known = shape(x); known && *known == to) return x;
  if (const Tensor* tensor = x.value()->constant()) {
    Ints sizes = to;
    int64_t others = 1;
    bool fits = true;
    for (int64_t size : to) fits = fits && !__builtin_mul_overflow(others, size == -1 ? 1 : size, &others);
    const auto open = std::find(sizes.begin(), sizes.end(), -1);
    if (open != sizes.end() && fits && others > 0) *open = tensor->elements() / others;
    if (sizes == Ints(tensor->shape().begin(), tensor->shape().end())) return x;
    if (fits && std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; }) &&
        Shape(sizes).elements() == tensor->elements())
      return g_->constant(tensor->reshaped(Shape(sizes)));
  }
  Attributes attributes;
  if (std::find(to.begin(), to.end(), 0) != to.end()) attributes.set("allowzero", int64_t{1});
  return op("Reshape", {x, constant(to)}, std::move(attributes));
}
Expr Parts::reshape(const Expr& x, const Expr& to) {
  const Expr wide = i64(to);
  if (const auto known = ints(wide)) return reshape(x, *known);
  const Expr y = op("Reshape", {x, rank(wide) == 1 ? wide : vector(wide)});
  if (const int64_t count = dim(wide, 0); !y.value()->type.dims && rank(wide) == 1 && count >= 0)
    y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return y;
}

Expr Parts::transpose(const Expr& x, const Ints& perm) {
  bool is_identity = true;
  for (size_t i = 0; i < perm.size(); ++i) is_identity = is_identity && perm[i] == static_cast<int64_t>(i);
  if (is_identity) return x;
  // Of a constant that is kept in another precision: turned as it is kept.
  const Node* maker = x.value()->producer();
  if (maker && maker->op() == "Cast" && maker->input(0)->constant())
    return cast(op("Transpose", {g_->wrap(maker->input(0))}, {{"perm", perm}}), dtype(x));
  return op("Transpose", {x}, {{"perm", perm}});
}

Expr Parts::before_transpose(const Expr& x, Ints& perm) {
  Node* maker = x.value()->producer();
  if (!maker || maker->op() != "Transpose" || &maker->graph() != &g_->graph() || !x.value()->is_unused()) return x;
  const Ints* given = maker->attributes.get<Ints>("perm");
  if (!given || maker != g_->graph().last()) return x;
  perm = *given;
  const Expr source = g_->wrap(maker->input(0));
  inferred_.erase(maker);
  g_->graph().remove(*maker);
  return source;
}
Expr Parts::unsqueeze(const Expr& x, const Ints& axes) { return axes.empty() ? x : op("Unsqueeze", {x, constant(axes)}); }
Expr Parts::squeeze(const Expr& x, const Ints& axes) { return axes.empty() ? x : op("Squeeze", {x, constant(axes)}); }

Expr Parts::concat(const Exprs& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  if (std::all_of(parts.begin(), parts.end(),
                  [&](const Expr& x) { return x.value()->constant() && rank(x) == 1 && dtype(x) == DType::i64; })) {
    Ints all;
    for (const Expr& x : parts) {
      const Ints some = *ints(x);
      all.insert(all.end(), some.begin(), some.end());
    }
    return constant(all);
  }
  return op("Concat", parts, {{"axis", axis}});
}

Expr Parts::slice(const Expr& x, const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
  Exprs inputs = {x, constant(starts), constant(ends), constant(axes)};
  if (!steps.empty()) inputs.push_back(constant(steps));
  return op("Slice", inputs);
}

Expr Parts::gather_batched(const Expr& x, const Expr& indices, int64_t axis, int64_t batch_dims) {
  const int64_t rank_x = rank(x), rank_i = rank(indices);
  if (batch_dims == 0) return gather(x, indices, axis);
  if (rank_x < 0 || rank_i < 0) throw Unsupported("it gathers from tensors of unknown rank");
  if (axis < 0) axis += rank_x;
  if (batch_dims < 0) batch_dims += rank_i;
  if (axis < batch_dims || axis >= rank_x || batch_dims > rank_i)
    throw InvalidModel("axis {} does not fit {} leading dimensions", axis, batch_dims);
  // The axis goes right behind the leading dimensions, which GatherND walks together.
  Ints perm;
  for (int64_t i = 0; i < batch_dims; ++i) perm.push_back(i);
  perm.push_back(axis);
  for (int64_t i = batch_dims; i < rank_x; ++i)
    if (i != axis) perm.push_back(i);
  const Expr y = op("GatherND", {transpose(x, perm), unsqueeze(i64(indices), {rank_i})}, {{"batch_dims", batch_dims}});
  // [batch, indices, between, behind] -> [batch, between, indices, behind]
  const int64_t taken = rank_i - batch_dims, between = axis - batch_dims, behind = rank_x - axis - 1;
  Ints back;
  for (int64_t i = 0; i < batch_dims; ++i) back.push_back(i);
  for (int64_t i = 0; i < between; ++i) back.push_back(batch_dims + taken + i);
  for (int64_t i = 0; i < taken; ++i) back.push_back(batch_dims + i);
  for (int64_t i = 0; i < behind; ++i) back.push_back(batch_dims + taken + between + i);
  return transpose(y, back);
}

Expr Parts::fill(const Expr& shape, double value, DType dtype) {
  Tensor one(dtype, {1});
  if (is_float(dtype)) {
    narrow(dtype, &value, 1, one.writable().data());
  } else {
    const int64_t number = static_cast<int64_t>(value);
    narrow(dtype, &number, 1, one.writable().data());
  }
  return op("ConstantOfShape", {i64(shape)}, {{"value", std::move(one)}});
}

Ints Parts::image_perm(const Expr& x, bool first) {
  const int64_t count = rank(x);
  if (count < 0) throw Unsupported("its image has an unknown number of dimensions");
  if (count < 3) throw InvalidModel("its image has {} dimensions", count);
  Ints perm = {0};
  if (first) perm.push_back(count - 1);
  for (int64_t i = first ? 1 : 2; i < count - (first ? 1 : 0); ++i) perm.push_back(i);
  if (!first) perm.push_back(1);
  return perm;
}
Expr Parts::channels_first(const Expr& x) { return transpose(x, image_perm(x, true)); }
Expr Parts::channels_last(const Expr& x) { return transpose(x, image_perm(x, false)); }

Expr Parts::swap_last(const Expr& x) {
  const int64_t count = rank(x);
  if (count < 0) throw Unsupported("it transposes a matrix of unknown rank");
  if (count < 2) throw InvalidModel("it transposes a matrix of {} dimensions", count);
  Ints perm;
  for (int64_t i = 0; i < count; ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}

// Images.

Attributes Parts::window_attributes(const Expr& x, const SlidingWindow& window) {
  const size_t count = window.strides.size();
  Attributes attributes{{"strides", window.strides}};
  if (!window.kernel.empty()) attributes.set("kernel_shape", window.kernel);
  const auto dilation = [&](size_t i) { return window.dilations.empty() ? 1 : window.dilations[i]; };
  if (std::any_of(window.dilations.begin(), window.dilations.end(), [](int64_t d) { return d != 1; }))
    attributes.set("dilations", window.dilations);
  if (!window.pads.empty()) {
    attributes.set("pads", window.pads);
    return attributes;
  }
  if (!window.same) return attributes;
  Ints pads(2 * count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = dim(x, static_cast<int64_t>(i) + 2), kernel = window.kernel.empty() ? -1 : window.kernel[i];
    if (size < 0 || kernel < 0 || window.strides[i] < 1) {
      attributes.set("auto_pad", std::string("SAME_UPPER"));
      return attributes;
    }
    const int64_t stride = window.strides[i], windows = size / stride + (size % stride != 0);
    const int64_t last = clamped_product({windows - 1, stride}), reach = clamped_product({kernel - 1, dilation(i)});
    const int64_t total = std::max<int64_t>(clamped_sum({last - size, reach, 1}), 0);
    pads[i] = total / 2;
    pads[count + i] = total - total / 2;
  }
  attributes.set("pads", pads);
  return attributes;
}

Expr Parts::conv(const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window, int64_t groups) {
  const Expr image = channels_first(x);
  Attributes attributes = window_attributes(image, window);
  if (groups != 1) attributes.set("group", groups);
  return channels_last(op("Conv", {image, weights, bias}, std::move(attributes)));
}

Expr Parts::conv_transpose(const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window, const Ints& output_size,
                           int64_t groups) {
  const Expr image = channels_first(x);
  const size_t count = window.strides.size();
  Attributes attributes{{"strides", window.strides}};
  if (!window.dilations.empty()) attributes.set("dilations", window.dilations);
  if (groups != 1) attributes.set("group", groups);
  Ints pads(2 * count), more(count);
  bool known = !output_size.empty();
  for (size_t i = 0; known && i < count; ++i) {
    const int64_t size = dim(image, static_cast<int64_t>(i) + 2), kernel = dim(weights, static_cast<int64_t>(i) + 2);
    known = size > 0 && kernel > 0 && output_size[i] > 0;
    if (!known) break;
    const int64_t dilation = window.dilations.empty() ? 1 : window.dilations[i];
    const int64_t last = clamped_product({size - 1, window.strides[i]}), reach = clamped_product({kernel - 1, dilation});
    const int64_t surplus = clamped_sum({clamped_sum({last, reach}), 1 - output_size[i]});
    // TensorFlow cuts in the middle with "same", and at the end without.
    pads[i] = surplus > 0 && window.same ? surplus / 2 : 0;
    pads[count + i] = std::max<int64_t>(surplus, 0) - pads[i];
    more[i] = surplus < 0 ? -std::max(surplus, -INT64_MAX) : 0;
  }
  if (!window.pads.empty()) {
    attributes.set("pads", window.pads);
  } else if (known) {
    attributes.set("pads", pads);
    if (std::any_of(more.begin(), more.end(), [](int64_t n) { return n > 0; })) attributes.set("output_padding", more);
  } else if (window.same) {
    attributes.set("auto_pad", std::string("SAME_UPPER"));
  }
  return channels_last(op("ConvTranspose", {image, weights, bias}, std::move(attributes)));
}

Expr Parts::pool(std::string_view name, const Expr& x, const SlidingWindow& window) {
  const Expr image = channels_first(x);
  return channels_last(op(name, {image}, window_attributes(image, window)));
}

Expr Parts::resize(const Expr& x, const Expr& size, bool bilinear, Grid grid) {
  Attributes attributes{{"axes", Ints{2, 3}}, {"mode", std::string(bilinear ? "linear" : "nearest")}};
  static constexpr std::string_view kNames[] = {"asymmetric", "align_corners", "half_pixel"};
  attributes.set("coordinate_transformation_mode", std::string(kNames[static_cast<size_t>(grid)]));
  if (!bilinear) attributes.set("nearest_mode", std::string(grid == Grid::asymmetric ? "floor" : "round_prefer_ceil"));
  return channels_last(op("Resize", {channels_first(x), Expr(), Expr(), i64(size)}, std::move(attributes)));
}

Expr Parts::space_to_depth(const Expr& x, int64_t block) {
  return channels_last(op("SpaceToDepth", {channels_first(x)}, {{"blocksize", block}}));
}
Expr Parts::depth_to_space(const Expr& x, int64_t block) {
  return channels_last(op("DepthToSpace", {channels_first(x)}, {{"blocksize", block}}));
}

Expr Parts::space_to_batch(const Expr& x, const Ints& block, const Expr& paddings) {
  const int64_t count = rank(x), spatial = static_cast<int64_t>(block.size());
  if (count < 0) throw Unsupported("its input has an unknown number of dimensions");
  if (count <= spatial) throw InvalidModel("{} block sizes do not fit an input of {} dimensions", spatial, count);
  // Padding of the spatial dimensions alone; the other rows are zeros.
  const Expr zeros = constant({0, 0});
  const Expr rows = vector(i64(paddings));
  Exprs all = {zeros, rows};
  for (int64_t i = spatial + 1; i < count; ++i) all.push_back(zeros);
  const Expr padded = pad(x, reshape(concat(all, 0), {count, 2}), Expr());
  const Expr shape = shape_of(padded);
  Exprs inner = {slice(shape, {0}, {1}, {0})}, outer = {constant({-1})};
  Ints perm;
  for (int64_t i = 0; i < spatial; ++i) {
    const Expr blocks = op("Div", {slice(shape, {i + 1}, {i + 2}, {0}), constant({block[static_cast<size_t>(i)]})});
    inner.push_back(blocks);
    inner.push_back(constant({block[static_cast<size_t>(i)]}));
    outer.push_back(blocks);
    perm.push_back(2 * i + 2);
  }
  const Expr rest = slice(shape, {spatial + 1}, {count}, {0});
  inner.push_back(rest), outer.push_back(rest);
  perm.push_back(0);
  for (int64_t i = 0; i < spatial; ++i) perm.push_back(2 * i + 1);
  for (int64_t i = spatial + 1; i < count; ++i) perm.push_back(i + spatial);
  if (const auto known = this->shape(padded)) {
    Ints in = {(*known)[0]}, out = {-1};
    for (int64_t i = 0; i < spatial; ++i) {
      const int64_t size = (*known)[static_cast<size_t>(i) + 1], b = block[static_cast<size_t>(i)];
      if (b < 1 || size % b != 0) throw InvalidModel("a dimension of {} cannot be cut in blocks of {}", size, b);
      in.push_back(size / b), in.push_back(b), out.push_back(size / b);
    }
    in.insert(in.end(), known->begin() + spatial + 1, known->end());
    out.insert(out.end(), known->begin() + spatial + 1, known->end());
    return reshape(transpose(reshape(padded, in), perm), out);
  }
  const Expr cut = op("Reshape", {padded, concat(inner, 0)});
  cut.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count + spatial));
  const Expr turned = transpose(cut, perm);
  const Expr y = op("Reshape", {turned, concat(outer, 0)});
  if (!y.value()->type.dims) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return y;
}

Expr Parts::batch_to_space(const Expr& x, const Ints& block, const Expr& crops) {
  const int64_t count = rank(x), spatial = static_cast<int64_t>(block.size());
  if (count < 0) throw Unsupported("its input has an unknown number of dimensions");
  if (count <= spatial) throw InvalidModel("{} block sizes do not fit an input of {} dimensions", spatial, count);
  // [blocks..., N, S..., rest] -> [N, S1, b1, S2, b2, ..., rest]
  const Expr shape = shape_of(x);
  Exprs cut = {constant(block), constant({-1}), slice(shape, {1}, {count}, {0})};
  Ints perm = {spatial};
  Exprs joined = {constant({-1})};
  for (int64_t i = 0; i < spatial; ++i) {
    perm.push_back(spatial + 1 + i);
    perm.push_back(i);
    joined.push_back(op("Mul", {slice(shape, {i + 1}, {i + 2}, {0}), constant({block[static_cast<size_t>(i)]})}));
  }
  for (int64_t i = spatial + 1; i < count; ++i) perm.push_back(i + spatial);
  joined.push_back(slice(shape, {spatial + 1}, {count}, {0}));
  Expr y;
  if (const auto known = this->shape(x)) {
    Ints to = block, out = {-1};
    to.push_back(-1);
    to.insert(to.end(), known->begin() + 1, known->end());
    for (int64_t i = 0; i < spatial; ++i) out.push_back((*known)[static_cast<size_t>(i) + 1] * block[static_cast<size_t>(i)]);
    out.insert(out.end(), known->begin() + spatial + 1, known->end());
    y = reshape(transpose(reshape(x, to), perm), out);
  } else {
    const Expr parts = op("Reshape", {x, concat(cut, 0)});
    parts.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count + spatial));
    y = op("Reshape", {transpose(parts, perm), concat(joined, 0)});
    if (!y.value()->type.dims) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  }
  // Crops: [before, after] of each.
  Ints axes;
  for (int64_t i = 0; i < spatial; ++i) axes.push_back(i + 1);
  if (const auto known = ints(crops)) {
    Ints starts, ends;
    bool any = false;
    for (size_t i = 0; i + 1 < known->size() && i / 2 < axes.size(); i += 2) {
      starts.push_back((*known)[i]);
      ends.push_back((*known)[i + 1] == 0 ? kEnd : -(*known)[i + 1]);
      any = any || (*known)[i] || (*known)[i + 1];
    }
    return any ? slice(y, starts, ends, axes) : y;
  }
  const Expr rows = reshape(i64(crops), Ints{spatial, 2});
  const Expr before = vector(slice(rows, {0}, {1}, {1})), after = vector(slice(rows, {1}, {2}, {1}));
  const Expr sizes = slice(shape_of(y), {1}, {spatial + 1}, {0});
  const Expr cropped = op("Slice", {y, before, op("Sub", {sizes, after}), constant(axes)});
  if (!cropped.value()->type.dims) cropped.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return cropped;
}

Expr Parts::local_response_normalization(const Expr& x, int64_t radius, float bias, float alpha, float beta) {
  const int64_t size = 2 * radius + 1;
  return channels_last(
      op("LRN", {channels_first(x)}, {{"size", size}, {"bias", bias}, {"alpha", alpha * static_cast<float>(size)}, {"beta", beta}}));
}

// Slices.

Expr Parts::strided_slice(const Expr& x, const Expr& begin, const Expr& end, const Ints& strides, const SliceMasks& masks) {
  const int64_t count = rank(x), entries = static_cast<int64_t>(strides.size());
  if (count < 0 && (masks.ellipsis || masks.new_axis)) throw Unsupported("it slices a tensor of unknown rank");
  if (entries > 63) throw InvalidModel("it slices by {} entries, masks have bits for 63", entries);
  const auto known_begin = ints(begin), known_end = ints(end);
  const bool known = known_begin && known_end && known_begin->size() == strides.size() && known_end->size() == strides.size();
  int64_t taken = 0;  // dimensions of x that entries speak of
  for (int64_t i = 0; i < entries; ++i)
    if (!((masks.ellipsis >> i) & 1) && !((masks.new_axis >> i) & 1)) ++taken;
  if (count >= 0 && taken > count) throw InvalidModel("it slices {} of {} dimensions", taken, count);
  Ints axes, starts, ends, steps, squeezed, added;
  std::vector<int64_t> place;  // entry of each axis
  int64_t axis = 0, out = 0;
  std::vector<bool> shrinks;
  Ints out_axis;
  for (int64_t i = 0; i < entries; ++i) {
    const size_t k = static_cast<size_t>(i);
    if ((masks.ellipsis >> i) & 1) {
      const int64_t skipped = count - taken;
      axis += skipped, out += skipped;
      continue;
    }
    if ((masks.new_axis >> i) & 1) {
      added.push_back(out++);
      continue;
    }
    const bool shrink = (masks.shrink >> i) & 1;
    const int64_t step = shrink ? 1 : strides[k];
    if (step == 0) throw InvalidModel("a stride is 0");
    const bool from_edge = ((masks.begin >> i) & 1) && !shrink, to_edge = ((masks.end >> i) & 1) && !shrink;
    axes.push_back(axis), steps.push_back(step), place.push_back(i);
    const int64_t start = from_edge ? (step > 0 ? 0 : kEnd) : known ? (*known_begin)[k] : 0;
    int64_t stop = known ? (*known_end)[k] : 0;
    if (to_edge) stop = step > 0 ? kEnd : std::numeric_limits<int64_t>::min();
    if (shrink && known) stop = start == -1 || start == kEnd ? kEnd : start + 1;
    starts.push_back(start), ends.push_back(stop);
    // A negative end of a backward slice counts from the end, as in a forward one.
    if (shrink)
      squeezed.push_back(axis);
    else
      ++out;
    ++axis;
  }
  Expr y = x;
  bool all = known;
  for (size_t i = 0; i < axes.size(); ++i) all = all && starts[i] == 0 && ends[i] == kEnd && steps[i] == 1;
  if (!axes.empty() && !all) {
    if (known) {
      y = slice(x, starts, ends, axes, steps);
    } else {
      const Expr where = constant(place), first = gather(vector(i64(begin)), where, 0), last = gather(vector(i64(end)), where, 0);
      const auto choose = [&](const Ints& mask, const Ints& edges, const Expr& other) {
        if (std::all_of(mask.begin(), mask.end(), [](int64_t bit) { return bit == 0; })) return other;
        return op("Where", {cast(constant(mask), DType::boolean), constant(edges), other});
      };
      Ints begin_mask, end_mask, shrink_mask;
      for (int64_t entry : place) {
        shrink_mask.push_back((masks.shrink >> entry) & 1);
        begin_mask.push_back(!shrink_mask.back() && ((masks.begin >> entry) & 1));
        end_mask.push_back(!shrink_mask.back() && ((masks.end >> entry) & 1));
      }
      const Expr from = choose(begin_mask, starts, first);
      Expr to = choose(end_mask, ends, last);
      if (std::any_of(shrink_mask.begin(), shrink_mask.end(), [](int64_t bit) { return bit != 0; })) {
        const Expr next = op("Add", {first, constant({1})});
        const Expr one_on = op("Where", {op("Equal", {next, constant({0})}), constant({kEnd}), next});
        to = op("Where", {cast(constant(shrink_mask), DType::boolean), one_on, to});
      }
      y = op("Slice", {x, from, to, constant(axes), constant(steps)});
      if (!y.value()->type.dims && count >= 0) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
    }
  }
  y = squeeze(y, squeezed);
  return unsqueeze(y, added);
}

Expr Parts::slice_sizes(const Expr& x, const Expr& begin, const Expr& size) {
  const auto known = ints(begin), counts = ints(size);
  if (known && counts && known->size() == counts->size()) {
    Ints ends, axes;
    for (size_t i = 0; i < known->size(); ++i) {
      ends.push_back((*counts)[i] < 0 ? kEnd : (*known)[i] + (*counts)[i]);
      axes.push_back(static_cast<int64_t>(i));
    }
    return slice(x, *known, ends, axes);
  }
  const Expr starts = vector(i64(begin)), sizes = vector(i64(size));
  const Expr ends = op("Where", {op("Less", {sizes, constant({0})}), constant({kEnd}), op("Add", {starts, sizes})});
  const Expr y = op("Slice", {x, starts, ends});
  if (const int64_t count = rank(x); count >= 0 && !y.value()->type.dims)
    y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return y;
}

Exprs Parts::split_sizes(const Expr& x, Ints sizes, int64_t axis) {
  const int64_t whole = dim(x, axis);
  int64_t rest = whole;
  for (int64_t size : sizes) rest -= std::max<int64_t>(size, 0);
  for (int64_t& size : sizes) {
    if (size >= 0) continue;
    if (whole < 0) throw Unsupported("a split of unknown size is not supported");
    size = rest;
  }
  return ops("Split", {x, constant(sizes)}, sizes.size(), {{"axis", axis}});
}

Expr Parts::pad(const Expr& x, const Expr& paddings, const Expr& value, std::string_view mode) {
  Expr pads;
  if (const auto known = ints(paddings)) {
    if (std::all_of(known->begin(), known->end(), [](int64_t n) { return n == 0; })) return x;
    Ints before, after;
    for (size_t i = 0; i + 1 < known->size(); i += 2) before.push_back((*known)[i]), after.push_back((*known)[i + 1]);
    before.insert(before.end(), after.begin(), after.end());
    pads = constant(before);
  } else {
    pads = vector(transpose(i64(paddings), {1, 0}));
  }
  Exprs inputs = {x, pads};
  if (value) inputs.push_back(value);
  const Expr y = op("Pad", inputs, {{"mode", std::string(mode)}});
  if (!y.value()->type.dims && rank(x) >= 0) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(rank(x)));
  return y;
}

// The places of a dimension are listed.
constexpr int64_t kMostMirrored = int64_t{1} << 24;

Expr Parts::pad_symmetric(const Expr& x, const Ints& paddings) {
  Expr y = x;
  for (size_t axis = 0; axis * 2 + 1 < paddings.size(); ++axis) {
    const int64_t before = paddings[axis * 2], after = paddings[axis * 2 + 1];
    if (before == 0 && after == 0) continue;
    const int64_t size = dim(x, static_cast<int64_t>(axis));
    if (size < 0) throw Unsupported("it mirrors a dimension of unknown size");
    if (size > kMostMirrored) throw Unsupported("it mirrors a dimension of {} places, {} are supported", size, kMostMirrored);
    if (before > size || after > size || before < 0 || after < 0)
      throw InvalidModel("a dimension of {} is mirrored for {}", size, std::max(before, after));
    const Charge table(2 * static_cast<size_t>(before + size + after) * sizeof(int64_t));  // the list may have grown to twice its size
    Ints places;
    for (int64_t i = before; i-- > 0;) places.push_back(i);
    for (int64_t i = 0; i < size; ++i) places.push_back(i);
    for (int64_t i = 0; i < after; ++i) places.push_back(size - 1 - i);
    y = gather(y, constant(places), static_cast<int64_t>(axis));
  }
  return y;
}

// Others.

Expr Parts::one_hot(const Expr& indices, const Expr& depth, const Expr& on, const Expr& off, int64_t axis) {
  const int64_t count = rank(indices);
  if (count < 0) throw Unsupported("its indices have an unknown number of dimensions");
  if (axis < 0) axis += count + 1;
  // Indices out of range, negative ones too, give a row of `off`: compared, not wrapped around.
  Ints column = Ints(static_cast<size_t>(count) + 1, 1);
  if (axis < 0 || axis > count) throw InvalidModel("axis {} does not fit {} dimensions", axis, count);
  column[static_cast<size_t>(axis)] = -1;
  const Expr numbers = reshape(op("Range", {scalar(0, DType::i64), reshape(i64(depth), Ints{}), scalar(1, DType::i64)}), column);
  return op("Where", {op("Equal", {unsqueeze(i64(indices), {axis}), numbers}), on, off});
}

Expr Parts::reverse(const Expr& x, const Ints& axes) {
  if (axes.empty()) return x;
  const size_t n = axes.size();
  return slice(x, Ints(n, -1), Ints(n, std::numeric_limits<int64_t>::min()), axes, Ints(n, -1));
}

namespace {

/// [size] as 0, 1, 2, ...
Expr counting(Parts& p, const Expr& size) {
  return p.op("Range", {p.scalar(0, DType::i64), p.reshape(p.i64(size), Ints{}), p.scalar(1, DType::i64)});
}

}  // namespace

Expr Parts::matrix_diag(const Expr& x) {
  const Expr places = counting(*this, shape_of(x, -1));
  const Expr diagonal = op("Equal", {unsqueeze(places, {1}), unsqueeze(places, {0})});
  return op("Where", {diagonal, unsqueeze(x, {-1}), scalar(0, dtype(x))});
}

Expr Parts::matrix_set_diag(const Expr& x, const Expr& diagonal) {
  const Expr rows = counting(*this, shape_of(x, -2, -1)), columns = counting(*this, shape_of(x, -1));
  const Expr on = op("Equal", {unsqueeze(rows, {1}), unsqueeze(columns, {0})});
  // As long as the shorter side: spread over rows or columns, whichever that is.
  const int64_t height = dim(x, -2), width = dim(x, -1);
  if (height < 0 || width < 0) throw Unsupported("it needs a matrix of known size");
  return op("Where", {on, unsqueeze(diagonal, {width <= height ? int64_t{-2} : int64_t{-1}}), x});
}

Expr Parts::floor_div(const Expr& a, const Expr& b) {
  if (is_float(dtype(a))) return op("Floor", {op("Div", {a, b})});
  return op("Div", {op("Sub", {a, op("Mod", {a, b})}), b});
}

Expr Parts::floor_mod(const Expr& a, const Expr& b) {
  if (!is_float(dtype(a))) return op("Mod", {a, b});
  const Expr rest = op("Mod", {a, b}, {{"fmod", int64_t{1}}}), zero = scalar(0, dtype(a));
  const Expr differs = op("Xor", {op("Less", {rest, zero}), op("Less", {b, zero})});
  const Expr off = op("And", {differs, op("Not", {op("Equal", {rest, zero})})});
  return op("Where", {off, op("Add", {rest, b}), rest});
}

Expr Parts::atan2(const Expr& y, const Expr& x) {
  constexpr double kPi = 3.14159265358979323846;
  const DType type = dtype(x);
  const Expr zero = scalar(0, type);
  const Expr x_negative = op("Less", {x, zero}), y_negative = op("Less", {y, zero}), x_zero = op("Equal", {x, zero});
  // atan(y / x) is right for x > 0; half a turn is added on the other side; on the axis it is a quarter.
  const Expr one = scalar(1, type);
  const Expr slope = op("Atan", {op("Div", {y, op("Where", {x_zero, one, x})})});
  const Expr half = op("Where", {y_negative, scalar(-kPi, type), scalar(kPi, type)});
  const Expr side = op("Where", {x_negative, op("Add", {slope, half}), slope});
  const Expr quarter = op("Mul", {op("Sign", {y}), scalar(kPi / 2, type)});
  return op("Where", {x_zero, quarter, side});
}

Expr Parts::lowest(DType dtype) {
  return is_float(dtype) ? scalar(-std::numeric_limits<double>::infinity(), dtype) : scalar(static_cast<double>(lowest_of(dtype)), dtype);
}
Expr Parts::largest(DType dtype) {
  return is_float(dtype) ? scalar(std::numeric_limits<double>::infinity(), dtype) : scalar(static_cast<double>(highest_of(dtype)), dtype);
}

Expr Parts::segment(const Expr& x, const Expr& ids, const Expr& count, Segment join) {
  const int64_t rank_ids = rank(ids);
  if (rank_ids < 0) throw Unsupported("its ids have an unknown number of dimensions");
  const DType type = dtype(x);
  Expr rows = x;
  if (rank_ids != 1) {
    const Expr shape = concat({constant({-1}), shape_of(x, rank_ids)}, 0);
    rows = reshape(x, shape);
  }
  // One row more takes what has a negative id.
  const Expr flat = vector(i64(ids)), many = reshape(i64(count), Ints{1});
  const Expr safe = op("Where", {op("Less", {flat, constant({0})}), many, flat});
  const Expr shape = concat({op("Add", {many, constant({1})}), shape_of(x, rank_ids)}, 0);
  // What segments without rows hold: numbers, as the format has it, not infinities.
  const double low = is_float(type) ? -3.4028234663852886e38 : static_cast<double>(lowest_of(type));
  const double high = is_float(type) ? 3.4028234663852886e38 : static_cast<double>(highest_of(type));
  static constexpr std::string_view kJoins[] = {"add", "mul", "max", "min"};
  const double start = join == Segment::sum ? 0 : join == Segment::product ? 1 : join == Segment::largest ? low : high;
  const Expr begun = fill(shape, start, type);
  const Expr y = op("ScatterND", {begun, unsqueeze(safe, {1}), rows}, {{"reduction", std::string(kJoins[static_cast<size_t>(join)])}});
  return op("Slice", {y, constant({0}), many, constant({0})});
}

Expr Parts::scatter_nd(const Expr& indices, const Expr& updates, const Expr& shape) {
  return op("ScatterND", {fill(shape, 0, dtype(updates)), i64(indices), updates}, {{"reduction", std::string("add")}});
}

Expr Parts::broadcast_shapes(const Expr& a, const Expr& b) { return shape_of(op("Expand", {fill(a, 0, DType::u8), i64(b)})); }

Expr Parts::dynamic_update_slice(const Expr& x, const Expr& update, const Expr& start) {
  const Expr whole = shape_of(x), part = shape_of(update), room = op("Sub", {whole, part});
  const Expr first = op("Min", {op("Max", {vector(i64(start)), constant({0})}), room});
  const Expr pads = concat({first, op("Sub", {room, first})}, 0);
  const DType type = dtype(x);
  const Expr moved = op("Pad", {update, pads, scalar(0, type)});
  const Expr mask = op("Pad", {fill(part, 1, DType::i32), pads, scalar(0, DType::i32)});
  return op("Where", {cast(mask, DType::boolean), moved, x});
}

Expr Parts::clip(const Expr& x, std::optional<double> low, std::optional<double> high) {
  const DType type = dtype(x);
  if (low && *low == 0 && !high && is_float(type)) return op("Relu", {x});
  Exprs inputs = {x, low ? scalar(*low, type) : Expr()};
  if (high) inputs.push_back(scalar(*high, type));
  return op("Clip", inputs);
}

}  // namespace minnow

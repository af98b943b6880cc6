// SPDX-License-Identifier: Apache-2.0
#include "passes/linear.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"

namespace minnow {
namespace {

constexpr size_t kSmallBytes = 64 * 1024;  // weights up to this size are copied if they have other users

bool is_float_constant(const Value* value) { return value && value->constant() && is_float(value->type.dtype); }

/// The shape of weights: of a constant, or of one that is stored in 16 bits and widened by a Cast.
std::optional<Shape> shape_of_weights(const Value* value) {
  if (is_float_constant(value)) return value->constant()->shape();
  const Node* cast = made_by(value, "Cast");
  if (!cast || !is_float_constant(cast->input(0)) || !is_float(value->type.dtype)) return {};
  return cast->input(0)->constant()->shape();
}

/// The channel that element `i` of a tensor belongs to.
class ChannelOf {
 public:
  ChannelOf(const Linear& linear, const Shape& weights) : channels_(weights[linear.channel_axis]), groups_(linear.channel_groups) {
    inner_ = weights.product(linear.channel_axis + 1, weights.rank());
    // Grouped weights of ConvTranspose: [in, out / groups, ...]; consecutive parts of `in` belong to the groups.
    if (groups_ > 1) in_per_group_ = weights[0] / groups_;
  }
  size_t operator()(int64_t i) const {
    const int64_t within = i / inner_ % channels_;
    return static_cast<size_t>(groups_ > 1 ? i / (inner_ * channels_) / in_per_group_ * channels_ + within : within);
  }

  /// That many elements after each other, from a multiple of it on, belong to one channel.
  int64_t run() const { return inner_; }

 private:
  int64_t channels_, groups_, inner_ = 1, in_per_group_ = 1;
};

}  // namespace

std::optional<Linear> Linear::of(Node* node) {
  const auto shape = node ? shape_of_weights(node->input(1)) : std::nullopt;
  if (!shape) return {};
  const Shape& w = *shape;
  Linear linear;
  linear.node = node;
  if (node->op() == "Conv") {
    if (w.rank() < 3) return {};
    linear.channels = w[0];
  } else if (node->op() == "ConvTranspose") {
    const int64_t group = int_attribute(*node, "group", 1);
    if (w.rank() < 3 || group < 1 || w[0] % group) return {};
    linear.channel_axis = 1, linear.channel_groups = group, linear.channels = w[1] * group;
  } else if (node->op() == "Gemm") {
    if (w.rank() != 2) return {};
    linear.channel_axis = int_attribute(*node, "transB", 0) ? 0 : 1;
    linear.channels = w[linear.channel_axis];
  } else if (node->op() == "MatMul") {
    if (w.rank() < 2) return {};
    linear.channel_axis = w.rank() - 1, linear.channels = w.back(), linear.has_bias_input = false;
  } else {
    return {};
  }
  if (linear.channels == 0 || w.elements() == 0) return {};
  return linear;
}

std::optional<std::vector<double>> Linear::per_channel(const Value* value) const {
  if (!is_float_constant(value)) return {};
  const Tensor& tensor = *value->constant();
  // The result's rank, and the axis of its channels counted from the end.
  const size_t w_rank = shape_of_weights(node->input(1))->rank();
  const bool is_conv = node->op() == "Conv" || node->op() == "ConvTranspose";
  size_t rank = w_rank;
  if (node->op() == "MatMul")
    rank = std::max<size_t>(rank_of(*node->input(0)).value_or(1), w_rank) - (rank_of(*node->input(0)) == 1 ? 1 : 0);
  const size_t from_end = is_conv ? w_rank - 2 : 0;
  const Shape& shape = tensor.shape();
  if (shape.rank() > rank) return {};
  for (size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && (shape.rank() - 1 - i != from_end || shape[i] != channels)) return {};
  std::vector<double> values = *reals_of(value);
  if (values.size() == 1) values.resize(static_cast<size_t>(channels), values[0]);
  return values;
}

bool Linear::absorb(std::span<const double> scale, std::span<const double> shift) const {
  Graph& graph = node->graph();
  Value& weights = *node->input(1);
  const Tensor* w = weights.constant();
  Value* bias = has_bias_input ? node->input(2) : nullptr;
  if (!shift.empty() && !has_bias_input) return false;
  if (!scale.empty() && w && weights.uses().size() > 1 && w->bytes() > kSmallBytes) return false;
  if (!scale.empty() && !w && channel_groups > 1) return false;
  const size_t count = static_cast<size_t>(channels);
  std::vector<double> b(count, 0.0);
  const double beta = node->op() == "Gemm" ? static_cast<double>(real_attribute(*node, "beta", 1)) : 1.0;
  if (bias) {
    if (!is_float_constant(bias)) return false;
    const Shape& shape = bias->constant()->shape();
    for (size_t i = 0; i < shape.rank(); ++i)
      if (shape[i] != 1 && (i + 1 != shape.rank() || shape[i] != channels)) return false;
    const std::vector<double> old = *reals_of(bias);
    for (size_t c = 0; c < count; ++c) b[c] = beta * old[old.size() == 1 ? 0 : c];
  }
  const double largest = largest_of(weights.type.dtype), most = w ? largest : 1e20;  // of weights stored in 16 bits a guess
  for (size_t c = 0; c < scale.size(); ++c)
    if (!(std::fabs(scale[c]) <= most) || std::fabs(b[c] *= scale[c]) > largest) return false;
  for (size_t c = 0; c < shift.size(); ++c)
    if (!(std::fabs(b[c] += shift[c]) <= largest)) return false;
  if (!scale.empty() && !w) {
    // The stored weights stay as they are: the factors multiply the widened weights when these are packed.
    Shape shape = *shape_of_weights(&weights);
    for (size_t axis = 0; axis < shape.rank(); ++axis)
      if (axis != channel_axis) shape[axis] = 1;
    Node& scaled = graph.add_node("Mul", {&weights, &add_reals(graph, weights.type.dtype, shape, scale)}, 1, {},
                                  graph.fresh_name(weights.name()), node);
    scaled.output(0)->type = weights.type;
    node->set_input(1, scaled.output(0));
  } else if (!scale.empty()) {
    // In runs of elements of one channel, and a piece at a time: weights may be large.
    constexpr size_t kPiece = 1024;
    const ChannelOf channel_of(*this, w->shape());
    const size_t elements = static_cast<size_t>(w->elements()), run = static_cast<size_t>(channel_of.run());
    Tensor scaled(w->dtype(), w->shape());
    const std::byte* from = w->data<std::byte>();
    std::byte* to = scaled.writable().data<std::byte>();
    double values[kPiece];
    for (size_t begin = 0; begin < elements; begin += kPiece) {
      const size_t piece = std::min(kPiece, elements - begin);
      widen(w->dtype(), from + begin * size_of(w->dtype()), piece, values);
      for (size_t i = 0; i < piece;) {
        const size_t last = std::min(piece, ((begin + i) / run + 1) * run - begin);
        const double factor = scale[channel_of(static_cast<int64_t>(begin + i))];
        for (; i < last; ++i)
          if (std::fabs(values[i] *= factor) > largest) return false;
      }
      narrow(w->dtype(), values, piece, to + begin * size_of(w->dtype()));
    }
    node->set_input(1, &graph.add_constant(std::move(scaled), graph.fresh_name(weights.name())));
  }
  if (bias || !shift.empty()) {
    if (node->op() == "Gemm") node->attributes.remove("beta");
    node->set_input(2, &add_reals(graph, weights.type.dtype, {channels}, b, graph.fresh_name(bias ? bias->name() : weights.name())));
  }
  return true;
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Numbers per channel that multiply the input of a convolution or a product, or are added to it, become part of its weights and bias. An
// addition stays if zero padding follows it, because the padding must not change.
#include <cmath>

#include "base/numeric.h"
#include "passes/linear.h"

namespace minnow {
namespace {

bool pads_nothing(const Node& conv) {
  const std::string_view automatic = text_attribute(conv, "auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") return false;
  if (const Ints* pads = automatic == "NOTSET" ? ints_attribute(conv, "pads") : nullptr)
    for (int64_t pad : *pads)
      if (pad != 0) return false;
  return true;
}

/// x = before * scale + shift, a number for each of the channels; empty: 1, or 0.
struct ChannelMap {
  Value* before;
  std::vector<double> scale, shift;
};

/// The elements of a constant as one number per channel of `x`, if it varies only along the channels.
std::optional<std::vector<double>> for_channels(const Value* constant, size_t rank, size_t axis, size_t channels) {
  auto values = constant && constant->constant() ? reals_of(constant) : std::nullopt;
  if (!values) return {};
  const Shape& shape = constant->constant()->shape();
  if (shape.rank() > rank) return {};
  for (size_t i = 0; i < shape.rank(); ++i) {
    const bool is_channel = i + rank - shape.rank() == axis;
    if (shape[i] != 1 && !(is_channel && shape[i] == static_cast<int64_t>(channels))) return {};
  }
  if (values->size() == 1) values->resize(channels, (*values)[0]);
  return values;
}

std::optional<ChannelMap> map_of_batch_normalization(const Node& node, size_t channels) {
  if (int_attribute(node, "training_mode", 0) != 0) return {};
  std::vector<double> parts[4];
  for (size_t i = 0; i < 4; ++i) {
    auto values = node.input(i + 1) && node.input(i + 1)->constant() ? reals_of(node.input(i + 1)) : std::nullopt;
    if (!values || values->size() != channels) return {};
    parts[i] = std::move(*values);
  }
  ChannelMap map{node.input(0), std::vector<double>(channels), std::vector<double>(channels)};
  const double epsilon = real_attribute(node, "epsilon", 1e-5f);
  for (size_t c = 0; c < channels; ++c) {
    map.scale[c] = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    map.shift[c] = parts[1][c] - parts[2][c] * map.scale[c];
  }
  return map;
}

/// How `x`, with its channels along `axis`, is computed from another value of its shape by scales and shifts.
std::optional<ChannelMap> map_of(const Value& x, size_t axis, size_t channels) {
  const Node* node = x.producer();
  const auto rank = rank_of(x);
  if (!node || !rank || axis >= *rank) return {};
  const auto keeps_shape = [&](const Value* before) {
    return before && !before->constant() && rank_of(*before) == rank &&
           (axis + 1 < *rank ? dim_of(*before, static_cast<int64_t>(axis)) : dim_of(*before, -1)) == static_cast<int64_t>(channels);
  };
  const std::string& op = node->op();
  if (op == "BatchNormalization") {
    auto map = axis == 1 && keeps_shape(node->input(0)) ? map_of_batch_normalization(*node, channels) : std::nullopt;
    for (size_t i = 1; i < node->output_count(); ++i)
      if (node->output(i)) return {};
    return map;
  }
  if (op != "Mul" && op != "Div" && op != "Add" && op != "Sub") return {};
  for (size_t i = 0; i < 2; ++i) {
    Value* before = node->input(i);
    auto values = keeps_shape(before) ? for_channels(node->input(1 - i), *rank, axis, channels) : std::nullopt;
    if (!values) continue;
    ChannelMap map{before, {}, {}};
    if (op == "Mul") {
      map.scale = std::move(*values);
    } else if (op == "Div") {
      if (i != 0) return {};
      for (double value : *values) map.scale.push_back(1 / value);
    } else {
      map.shift = std::move(*values);
      if (op == "Sub" && i == 0)
        for (double& value : map.shift) value = -value;
      else if (op == "Sub")
        map.scale.assign(channels, -1);
    }
    for (double value : map.scale)
      if (!std::isfinite(value)) return {};
    return map;
  }
  return {};
}

/// Where the weights have the input's channels: element i of the weights belongs to channel_of(i).
struct InputChannels {
  size_t axis = 0;  // of the input
  int64_t count = 0;
  int64_t inner = 1, own = 1;              // weights: elements behind the channel, channels along their axis
  int64_t groups = 1, rows_per_group = 1;  // Conv: rows of weights fall into groups

  static std::optional<InputChannels> of(const Linear& linear) {
    const Node& node = *linear.node;
    const Shape& w = node.input(1)->constant()->shape();
    const auto rank = rank_of(*node.input(0));
    InputChannels found;
    if (!rank) return {};
    if (node.op() == "Conv") {
      found.groups = int_attribute(node, "group", 1);
      if (found.groups < 1 || w[0] % found.groups || *rank != w.rank()) return {};
      found.axis = 1, found.own = w[1], found.inner = w.product(2, w.rank()), found.rows_per_group = w[0] / found.groups;
    } else if (node.op() == "MatMul" || (node.op() == "Gemm" && int_attribute(node, "transA", 0) == 0)) {
      if (*rank < 2) return {};
      const bool transposed = node.op() == "Gemm" && int_attribute(node, "transB", 0) != 0;
      found.axis = *rank - 1, found.own = transposed ? w[1] : w[w.rank() - 2], found.inner = transposed ? 1 : w.back();
    } else {
      return {};
    }
    found.count = found.own * found.groups;
    return found;
  }
  size_t channel_of(size_t i) const {
    const int64_t at = static_cast<int64_t>(i) / inner, row = at / own;
    return static_cast<size_t>(at % own + (groups > 1 ? row / rows_per_group * own : 0));
  }
};

bool fold(Graph& graph, Node& node) {
  const auto linear = Linear::of(&node);
  Value* x = node.input(0);
  if (!linear || !node.input(1)->constant() || !x || !x->producer() || sole_user(*x) != &node) return false;
  const auto channels = InputChannels::of(*linear);
  if (!channels || channels->count == 0) return false;
  const auto map = map_of(*x, channels->axis, static_cast<size_t>(channels->count));
  const Value& weights = *node.input(1);
  if (!map || weights.uses().size() > 1) return false;
  std::vector<double> values = *reals_of(&weights);
  for (size_t i = 0; i < values.size() && !map->scale.empty(); ++i)  // 0 times a weight that overflows would be NaN
    if (!(std::fabs(values[i] * map->scale[channels->channel_of(i)]) <= largest_of(weights.type.dtype))) return false;
  if (!map->shift.empty()) {
    if (node.op() != "Conv" || !pads_nothing(node)) return false;
    std::vector<double> shift(static_cast<size_t>(linear->channels));
    const size_t row = values.size() / shift.size();
    for (size_t i = 0; i < values.size(); ++i) shift[i / row] += values[i] * map->shift[channels->channel_of(i)];
    if (!linear->absorb({}, shift)) return false;
  }
  if (!map->scale.empty()) {
    for (size_t i = 0; i < values.size(); ++i) values[i] *= map->scale[channels->channel_of(i)];
    const Tensor& w = *weights.constant();
    node.set_input(1, &add_reals(graph, w.dtype(), w.shape(), values, graph.fresh_name(weights.name())));
  }
  Node& old = *x->producer();
  node.set_input(0, map->before);
  remove_dead(old);
  return true;
}

}  // namespace

void fold_input_scales(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    const std::string label = node.input(0) && node.input(0)->producer() ? label_of(*node.input(0)->producer()) : std::string();
    if (fold(graph, node)) context.changed("{} went into the weights of {}", label, label_of(node));
  }
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, attention and transformers.
#include <array>
#include <cmath>

#include "train/nn/ops.h"

namespace minnow::nn {
namespace {

using expr::Attributes;

struct RecurrentRow {
  const char* op;
  std::array<size_t, 4> order;  // for each gate of the operator the place in torch's weights
  size_t gates, states;
};
constexpr RecurrentRow kRecurrent[] = {{"RNN", {0}, 1, 1}, {"GRU", {1, 0, 2}, 3, 1}, {"LSTM", {0, 3, 1, 2}, 4, 2}};
constexpr const char* kParts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};

Var turned(const Var& x) { return op("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}}); }
Var joined(const Vars& parts, int64_t axis) { return parts.size() == 1 ? parts[0] : op("Concat", parts, {{"axis", axis}}); }
Vars parts_of(const Var& x, size_t count, int64_t axis) {
  return expr::ops("Split", {x}, count, {{"axis", axis}, {"num_outputs", static_cast<int64_t>(count)}});
}

}  // namespace

Recurrent::Recurrent(Kind kind, int64_t in, int64_t hidden, const RecurrentOptions& options)
    : kind_(kind), hidden_(hidden), options_(options) {
  if (in < 1 || hidden < 1 || options.layers < 1)
    throw InvalidArgument("a recurrent layer takes positive sizes, not {}, {} and {} layers", in, hidden, options.layers);
  const RecurrentRow& row = kRecurrent[static_cast<size_t>(kind)];
  const int64_t rows = static_cast<int64_t>(row.gates) * hidden;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (int64_t layer = 0; layer < options.layers; ++layer)
    for (int direction = 0; direction <= options.bidirectional; ++direction)
      for (size_t part = 0; part < (options.bias ? 4 : 2); ++part) {
        const int64_t width = layer == 0 ? in : hidden * (1 + options.bidirectional);
        const Shape shape = part == 0 ? Shape{rows, width} : part == 1 ? Shape{rows, hidden} : Shape{rows};
        weights_.push_back(uniform(std::string(kParts[part]) + "_l" + std::to_string(layer) + (direction ? "_reverse" : ""), shape, bound));
      }
}

/// The weights of all directions, with the gates in the operator's order.
Var Recurrent::weights(size_t part, int64_t layer) const {
  const RecurrentRow& row = kRecurrent[static_cast<size_t>(kind_)];
  const size_t each = options_.bias ? 4 : 2, directions = options_.bidirectional ? 2 : 1;
  Vars all;
  for (size_t d = 0; d < directions; ++d) {
    Var weight = weights_[(static_cast<size_t>(layer) * directions + d) * each + part];
    if (row.gates > 1) {
      const Vars gates = parts_of(weight, row.gates, 0);
      Vars ordered;
      for (size_t i = 0; i < row.gates; ++i) ordered.push_back(gates[row.order[i]]);
      weight = joined(ordered, 0);
    }
    all.push_back(op("Unsqueeze", {weight, ints({0})}));
  }
  return joined(all, 0);
}

Vars Recurrent::forward(const Vars& given) {
  const RecurrentRow& row = kRecurrent[static_cast<size_t>(kind_)];
  if (given.size() != 1 && given.size() != 1 + row.states)
    throw InvalidArgument("{} takes a sequence, and {} states if any; {} inputs are given", row.op, row.states, given.size());
  Var x = options_.batch_first ? turned(given[0]) : given[0];
  const Shape shape = x.shape();
  if (shape.rank() != 3) throw InvalidArgument("a sequence has three axes, its shape is {}", shape);
  const int64_t directions = 1 + options_.bidirectional;
  Attributes attributes{{"hidden_size", hidden_}, {"direction", std::string(options_.bidirectional ? "bidirectional" : "forward")}};
  if (kind_ == Kind::gru) attributes.emplace_back("linear_before_reset", int64_t{1});
  std::vector<Vars> last(row.states);
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    Vars inputs{x, weights(0, layer), weights(1, layer), options_.bias ? joined({weights(2, layer), weights(3, layer)}, 1) : Var(), Var()};
    for (size_t i = 1; i < given.size(); ++i)
      inputs.push_back(op("Slice", {given[i], ints({layer * directions}), ints({(layer + 1) * directions}), ints({0})}));
    const Vars made = expr::ops(row.op, inputs, 1 + row.states, attributes);
    x = op("Reshape",
           {op("Transpose", {made[0]}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}), ints({shape[0], shape[1], directions * hidden_})});
    for (size_t i = 0; i < row.states; ++i) last[i].push_back(made[i + 1]);
    if (is_training() && layer + 1 < options_.layers) x = Dropout(options_.dropout).forward({x})[0];
  }
  Vars results{options_.batch_first ? turned(x) : x};
  for (const Vars& each : last) results.push_back(joined(each, 0));
  return results;
}

MultiheadAttention::MultiheadAttention(int64_t size, int64_t heads, double dropout, bool batch_first)
    : size_(size), heads_(heads), dropout_(dropout), batch_first_(batch_first) {
  if (heads < 1 || size % heads != 0) throw InvalidArgument("heads divide the size, they are {} and {}", heads, size);
  in_weight_ = uniform("in_proj_weight", {3 * size, size}, std::sqrt(6 / static_cast<double>(4 * size)));  // Glorot, Bengio 2010
  in_bias_ = filled("in_proj_bias", {3 * size}, 0);
  out_ = layer("out_proj", make<Linear>(size, size));
  out_->bias.assign(Var(Tensor(DType::f32, {size})));
}

Vars MultiheadAttention::forward(const Vars& x) {
  if (x.size() < 3 || x.size() > 4)
    throw InvalidArgument("attention takes a query, keys, values and a mask, {} inputs are given", x.size());
  const Vars weights = parts_of(adapted(in_weight_), 3, 0), biases = parts_of(in_bias_, 3, 0);
  std::array<Var, 3> heads;
  int64_t batch = 0, length = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Var sequence = batch_first_ ? x[i] : turned(x[i]);
    const Shape shape = sequence.shape();
    if (shape.rank() != 3 || shape[2] != size_)
      throw InvalidArgument("sequences have three axes, the last of size {}; one has the shape {}", size_, shape);
    if (i == 0) batch = shape[0], length = shape[1];
    const Var projected = op("MatMul", {sequence, op("Transpose", {weights[i]})}) + biases[i];
    heads[i] = op("Transpose", {op("Reshape", {projected, ints({shape[0], shape[1], heads_, size_ / heads_})})},
                  {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }
  Var scores = op("MatMul", {heads[0] * (1 / std::sqrt(static_cast<double>(size_ / heads_))),
                             op("Transpose", {heads[1]}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}})});
  if (x.size() == 4 && x[3].has_value()) scores = op("Where", {x[3], like(-INFINITY, scores), scores});
  const Var shares = op("Softmax", {scores});
  const Var kept = is_training() ? Dropout(dropout_).forward({shares})[0] : shares;
  const Var together = op("Transpose", {op("MatMul", {kept, heads[2]})}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const Var y = out_->forward({op("Reshape", {together, ints({batch, length, size_})})})[0];
  return {batch_first_ ? y : turned(y), op("ReduceMean", {shares, ints({1})}, {{"keepdims", int64_t{0}}})};
}

TransformerLayer::TransformerLayer(bool decodes, int64_t size, int64_t heads, const TransformerOptions& o)
    : decodes_(decodes), norm_first_(o.norm_first) {
  self_ = layer("self_attn", make<MultiheadAttention>(size, heads, o.dropout, o.batch_first));
  if (decodes) other_ = layer("multihead_attn", make<MultiheadAttention>(size, heads, o.dropout, o.batch_first));
  first_ = layer("linear1", make<Linear>(size, o.feedforward)), second_ = layer("linear2", make<Linear>(o.feedforward, size));
  for (const char* name : {"norm1", "norm2", "norm3"})
    if (decodes || norms_.size() < 2) norms_.push_back(layer(name, make<LayerNorm>(Shape{size}, o.eps)));
  dropout_ = layer("dropout", make<Dropout>(o.dropout)), activation_ = layer("activation", make<Activation>(o.activation));
}

Vars TransformerLayer::forward(const Vars& given) {
  if (given.size() < (decodes_ ? 2 : 1)) throw InvalidArgument("a decoder layer takes two sequences, {} is given", given.size());
  const auto mask = [&](size_t i) { return i < given.size() ? given[i] : Var(); };
  Var x = first_of(given);
  size_t norm = 0;
  const auto add = [&](const auto& part) {
    LayerNorm& normalize = *norms_[norm++];
    x = norm_first_ ? x + dropout_->forward({part(normalize.forward({x})[0])})[0]
                    : normalize.forward({x + dropout_->forward({part(x)})[0]})[0];
  };
  add([&](const Var& v) { return self_->forward({v, v, v, mask(decodes_ ? 2 : 1)})[0]; });
  if (decodes_) add([&](const Var& v) { return other_->forward({v, given[1], given[1], mask(3)})[0]; });
  add([&](const Var& v) { return second_->forward(dropout_->forward(activation_->forward(first_->forward({v}))))[0]; });
  return {x};
}

TransformerStack::TransformerStack(std::vector<std::shared_ptr<TransformerLayer>> layers, std::shared_ptr<Layer> norm)
    : order_(std::move(layers)), norm_(std::move(norm)) {
  for (size_t i = 0; i < order_.size(); ++i) layer("layers." + std::to_string(i), order_[i]);
  if (norm_) layer("norm", norm_);
}
Vars TransformerStack::forward(const Vars& x) {
  Vars values = x;
  for (const auto& each : order_) values.at(0) = each->forward(values)[0];
  return norm_ ? norm_->forward({values.at(0)}) : Vars{values.at(0)};
}

}  // namespace minnow::nn

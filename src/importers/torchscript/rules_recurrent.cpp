// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and cells.
#include <algorithm>

#include "importers/torchscript/rules.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

struct Layer {
  std::string_view op;  // LSTM, GRU, RNN
  int64_t gates;
  Ints order;  // where ONNX's gates stand among PyTorch's
};

Layer layer_of(std::string_view target) {
  if (target == "lstm") return {"LSTM", 4, {0, 3, 1, 2}};  // input, forget, cell, output -> input, output, forget, cell
  if (target == "gru") return {"GRU", 3, {1, 0, 2}};       // reset, update, new -> update, reset, hidden
  return {"RNN", 1, {0}};
}

Expr reordered(TypedBuilder& p, const Expr& w, const Layer& layer) {
  if (layer.gates == 1) return w;
  const Exprs parts = p.ops("Split", {w}, static_cast<size_t>(layer.gates), {{"axis", int64_t{0}}, {"num_outputs", layer.gates}});
  Exprs turned;
  for (int64_t place : layer.order) turned.push_back(parts[static_cast<size_t>(place)]);
  return p.concat(turned, 0);
}

/// Weights of one direction, with a leading dimension for it.
struct Weights {
  Expr input, hidden, bias;
};
Weights weights_of(TypedBuilder& p, const Layer& layer, const Expr& w_ih, const Expr& w_hh, const Expr& b_ih, const Expr& b_hh) {
  Weights made;
  made.input = p.unsqueeze(reordered(p, w_ih, layer), {0});
  made.hidden = p.unsqueeze(reordered(p, w_hh, layer), {0});
  if (b_ih) made.bias = p.unsqueeze(p.concat({reordered(p, b_ih, layer), reordered(p, b_hh, layer)}, 0), {0});
  return made;
}

}  // namespace

Item import_recurrent(Call& call, TypedBuilder& p) {
  const std::string_view target = call.rule.target;
  const Layer layer = layer_of(target);
  const bool is_lstm = layer.op == "LSTM";
  Expr x = call.x("input");
  if (call.flag("train") && call.real("dropout") != 0) call.host.warn("Dropout between recurrent layers is left out");
  const bool batch_first = call.flag("batch_first"), both = call.flag("bidirectional"), biases = call.flag("has_biases");
  const int64_t layers = call.integer("num_layers"), directions = both ? 2 : 1, per = biases ? 4 : 2;
  call.host.expect_rank(x, {3, 2});
  const bool single = p.rank(x) == 2;
  const Exprs params = call.tensors("params");
  if (layers < 1 || static_cast<int64_t>(params.size()) != layers * directions * per)
    call.refuse("{} weights for {} layers (projections are not supported)", params.size(), layers);
  tell_size(x, -1, p.dim(params[0], 1));
  if (single) x = p.unsqueeze(x, {1});
  Exprs states;
  if (is_lstm)
    states = call.tensors("hx");
  else
    states = {call.x("hx")};
  if (states.size() != (is_lstm ? 2u : 1u)) call.fail("{} initial states", states.size());
  if (single)
    for (Expr& state : states) state = p.unsqueeze(state, {1});
  if (batch_first && !single) x = p.transpose(x, {1, 0, 2});
  const int64_t hidden = p.dim(params[1], 1);
  if (hidden < 1) call.refuse("weights of open size");
  std::vector<Exprs> last(states.size());
  Attributes base{{"hidden_size", hidden}};
  if (layer.op == "GRU") base.set("linear_before_reset", int64_t{1});
  if (both) base.set("direction", std::string("bidirectional"));
  if (target == "rnn_relu") base.set("activations", Strings(static_cast<size_t>(directions), "Relu"));
  for (int64_t i = 0; i < layers; ++i) {
    Exprs inputs, hiddens, bias;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const size_t at = static_cast<size_t>((i * directions + direction) * per);
      const Weights w =
          weights_of(p, layer, params[at], params[at + 1], biases ? params[at + 2] : Expr(), biases ? params[at + 3] : Expr());
      inputs.push_back(w.input);
      hiddens.push_back(w.hidden);
      if (biases) bias.push_back(w.bias);
    }
    Exprs arguments = {x, p.concat(inputs, 0), p.concat(hiddens, 0), biases ? p.concat(bias, 0) : Expr(), Expr()};
    for (const Expr& state : states) {
      const int64_t from = i * directions;
      arguments.push_back(layers == 1 ? state : p.slice(state, {from}, {from + directions}, {0}));
    }
    const Exprs made = p.ops(layer.op, arguments, is_lstm ? 3 : 2, base);
    for (size_t k = 0; k < states.size(); ++k) last[k].push_back(made[k + 1]);
    // [T, directions, N, H] -> [T, N, directions H]
    x = both ? p.reshape(p.transpose(made[0], {0, 2, 1, 3}),
                         p.concat({p.shape_of(made[0], 0, 1), p.shape_of(made[0], 2, 3), p.constant({directions * hidden})}, 0))
             : p.squeeze(made[0], {1});
  }
  if (batch_first && !single) x = p.transpose(x, {1, 0, 2});
  if (single) x = p.squeeze(x, {1});
  Exprs results = {x};
  for (Exprs& parts : last) {
    const Expr state = p.concat(parts, 0);
    results.push_back(single ? p.squeeze(state, {1}) : state);
  }
  return results;
}

Item import_recurrent_cell(Call& call, TypedBuilder& p) {
  const std::string_view target = call.rule.target;
  const Layer layer = layer_of(target);
  const bool is_lstm = layer.op == "LSTM";
  const Expr x = call.x("input");
  call.host.expect_rank(x, {2, 1});
  const bool single = p.rank(x) == 1;
  const Expr w_ih = call.x("w_ih"), w_hh = call.x("w_hh");
  tell_size(x, -1, p.dim(w_ih, 1));
  const int64_t hidden = p.dim(w_hh, 1);
  if (hidden < 1) call.refuse("weights of open size");
  const Weights w = weights_of(p, layer, w_ih, w_hh, call.optional("b_ih"), call.optional("b_hh"));
  Exprs states;
  if (is_lstm)
    states = call.tensors("hx");
  else
    states = {call.x("hx")};
  Attributes attributes{{"hidden_size", hidden}};
  if (layer.op == "GRU") attributes.set("linear_before_reset", int64_t{1});
  if (target == "rnn_relu") attributes.set("activations", Strings{"Relu"});
  const Ints front = single ? Ints{0, 1} : Ints{0};
  Exprs inputs = {p.unsqueeze(x, front), w.input, w.hidden, w.bias, Expr()};
  for (const Expr& state : states) inputs.push_back(p.unsqueeze(state, front));
  const Exprs made = p.ops(layer.op, inputs, is_lstm ? 3 : 2, std::move(attributes));
  Exprs results;
  for (size_t i = 1; i < made.size(); ++i) results.push_back(p.squeeze(made[i], front));
  if (!is_lstm) return results[0];
  return results;
}

}  // namespace minnow::torchscript

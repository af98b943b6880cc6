// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM share this beside their loops (loops/recurrent.cpp): sizes, activations, and all steps as nodes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/gradient.h"
#include "ops/recurrent.h"

namespace minnow {
namespace {

struct ActivationRow {
  std::string_view name;
  double (*function)(double x, double alpha, double beta);
  bool takes_alpha, takes_beta;
  double alpha, beta;  // where the node gives none
};

constexpr ActivationRow kActivations[] = {
    {"relu", [](double x, double, double) { return std::fmax(x, 0.0); }, false, false, 0, 0},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, false, false, 0, 0},
    {"sigmoid", [](double x, double, double) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }, false, false, 0,
     0},
    {"affine", [](double x, double alpha, double beta) { return alpha * x + beta; }, true, true, 1, 0},
    {"leakyrelu", [](double x, double alpha, double) { return x >= 0 ? x : alpha * x; }, true, false, 0.01, 0},
    {"thresholdedrelu", [](double x, double alpha, double) { return x >= alpha ? x : 0; }, true, false, 1, 0},
    {"scaledtanh", [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }, true, true, 1, 1},
    {"hardsigmoid", [](double x, double alpha, double beta) { return std::fmin(std::fmax(alpha * x + beta, 0.0), 1.0); }, true, true, 0.2,
     0.5},
    {"elu", [](double x, double alpha, double) { return x >= 0 ? x : alpha * std::expm1(x); }, true, false, 1, 0},
    {"softsign", [](double x, double, double) { return x / (1 + std::fabs(x)); }, false, false, 0, 0},
    {"softplus", [](double x, double, double) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, false, false, 0, 0},
};

void expect_shape(const NodeView& node, size_t input, std::string_view name, const Sizes& expected) {
  if (const auto shape = node.known_sizes(input); shape && differ(*shape, expected))
    node.fail("{} (\"{}\") should have shape {}, it has {}", name, node.input_name(input), expected, *shape);
}

}  // namespace

RecurrentSizes RecurrentSizes::of(const NodeView& node, int64_t gates, size_t states, int64_t peepholes) {
  const SymbolicRecurrentSizes known = recurrent_sizes(node, gates, states, peepholes);
  RecurrentSizes sizes{};
  sizes.length = known.length.number(), sizes.batch = known.batch.number();
  sizes.input = known.input.number(), sizes.hidden = known.hidden.number();
  sizes.directions = known.directions, sizes.batch_first = known.batch_first, sizes.first_reversed = known.first_reversed;
  return sizes;
}

SymbolicRecurrentSizes recurrent_sizes(const NodeView& node, int64_t gates, size_t states, int64_t peepholes) {
  SymbolicRecurrentSizes sizes{};
  const std::string_view direction = node.attribute(kRecurrentDirection);
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    node.fail("direction is \"{}\", it should be forward, reverse or bidirectional", direction);
  sizes.directions = direction == "bidirectional" ? 2 : 1;
  sizes.first_reversed = direction == "reverse";
  sizes.batch_first = node.attribute(kRecurrentLayout);
  const Sizes x = node.input_sizes(0), r = node.input_sizes(2);
  if (x.rank() != 3) node.fail("X (\"{}\") should have rank 3, it has shape {}", node.input_name(0), x);
  if (r.rank() != 3) node.fail("R (\"{}\") should have rank 3, it has shape {}", node.input_name(2), r);
  sizes.length = x[sizes.batch_first ? 1 : 0];
  sizes.batch = x[sizes.batch_first ? 0 : 1];
  sizes.input = x[2];
  sizes.hidden = r[2];
  if (const int64_t* hidden = node.find<int64_t>("hidden_size"); hidden && differ(*hidden, sizes.hidden))
    node.fail("hidden_size is {}, R (\"{}\") is made for {}", *hidden, node.input_name(2), sizes.hidden);
  expect_shape(node, 1, "W", {sizes.directions, sizes.hidden * gates, sizes.input});
  expect_shape(node, 2, "R", {sizes.directions, sizes.hidden * gates, sizes.hidden});
  expect_shape(node, 3, "B", {sizes.directions, sizes.hidden * (2 * gates)});
  expect_shape(node, 4, "sequence_lens", {sizes.batch});
  for (size_t i = 0; i < states; ++i) expect_shape(node, 5 + i, i ? "initial_c" : "initial_h", sizes.state());
  if (peepholes) expect_shape(node, 7, "P", {sizes.directions, sizes.hidden * peepholes});
  return sizes;
}

std::vector<RecurrentActivation> recurrent_activations(const NodeView& node, const RecurrentSizes& sizes,
                                                       std::initializer_list<std::string_view> defaults) {
  std::vector<std::string> names;
  if (const Strings* given = node.find<Strings>("activations"); given && !given->empty())
    names = *given;
  else
    for (int64_t i = 0; i < sizes.directions; ++i) names.insert(names.end(), defaults.begin(), defaults.end());
  const size_t expected = defaults.size() * static_cast<size_t>(sizes.directions);
  if (names.size() != expected) node.fail("{} activations are named, {} are needed", names.size(), expected);
  const Floats *alphas = node.find<Floats>("activation_alpha"), *betas = node.find<Floats>("activation_beta");
  const float* clip = node.find<float>("clip");
  size_t next_alpha = 0, next_beta = 0;  // each activation that has the parameter takes the next one of the list
  std::vector<RecurrentActivation> activations;
  for (const std::string& name : names) {
    std::string lower = name;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto row =
        std::find_if(std::begin(kActivations), std::end(kActivations), [&](const ActivationRow& r) { return r.name == lower; });
    if (row == std::end(kActivations)) node.fail("activation \"{}\" is not known", name);
    RecurrentActivation activation{row->function, row->alpha, row->beta, std::numeric_limits<double>::infinity()};
    if (row->takes_alpha && alphas && next_alpha < alphas->size()) activation.alpha = static_cast<double>((*alphas)[next_alpha++]);
    if (row->takes_beta && betas && next_beta < betas->size()) activation.beta = static_cast<double>((*betas)[next_beta++]);
    if (clip && *clip > 0) activation.clip = static_cast<double>(*clip);
    activations.push_back(activation);
  }
  return activations;
}

#if MINNOW_GRADIENTS
Expr recurrent_activation(const RecurrentActivation& activation, const Expr& given, bool clipped) {
  GraphBuilder& b = given.builder();
  const Expr x = clipped && std::isfinite(activation.clip)
                     ? b.op("Clip", {given, b.scalar_like(-activation.clip, given), b.scalar_like(activation.clip, given)})
                     : given;
  const auto row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                [&](const ActivationRow& r) { return r.function == activation.function; });
  const double alpha = activation.alpha, beta = activation.beta;
  if (row->name == "affine") return x * alpha + beta;
  if (row->name == "scaledtanh") return op("Tanh", {x * beta}) * alpha;
  if (row->name == "hardsigmoid") return b.op("Clip", {x * alpha + beta, b.scalar_like(0, x), b.scalar_like(1, x)});
  if (row->name == "leakyrelu" || row->name == "elu")
    return b.op(row->name == "elu" ? "Elu" : "LeakyRelu", {x}, {{"alpha", static_cast<float>(alpha)}});
  if (row->name == "thresholdedrelu") return select(x >= alpha, x, x * 0.0);
  static constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"relu", "Relu"}, {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}, {"softsign", "Softsign"}, {"softplus", "Softplus"}};
  for (const auto& [name, op_name] : kOperators)
    if (row->name == name) return op(op_name, {x});
  throw InternalError("an activation has no operator");
}

Exprs unrolled(const NodeView& node, GraphBuilder& b, const Exprs& in, const RecurrentSizes& sizes, int64_t gates, size_t states,
               std::span<const RecurrentActivation> activations, RecurrentStep step) {
  const auto given = [&](size_t i) { return i < in.size() && in[i]; };
  const int64_t hidden = sizes.hidden, width = gates * hidden;
  const auto direction_of = [&](const Expr& x, int64_t d) { return b.op("Gather", {x, b.scalar(static_cast<double>(d), DType::i64)}); };
  const auto turned = [&](const Expr& x) { return b.op("Transpose", {x}, {{"perm", Ints{1, 0, 2}}}); };  // batch and time, or directions
  const Expr x = sizes.batch_first ? turned(in[0]) : in[0];
  const auto state = [&](size_t i, int64_t d) {
    if (given(i)) return direction_of(sizes.batch_first ? turned(in[i]) : in[i], d);
    return b.constant(Tensor(node.input_dtype(0), Shape{sizes.batch, hidden}));
  };
  Exprs sequences;
  std::array<Exprs, 2> last;
  for (int64_t d = 0; d < sizes.directions; ++d) {
    RecurrentParts parts;
    Expr projected = b.op("MatMul", {x, op("Transpose", {direction_of(in[1], d)})});
    parts.r = op("Transpose", {direction_of(in[2], d)});
    if (given(3)) {
      const Exprs biases = b.ops("Split", {direction_of(in[3], d), b.constant({width, width})}, 2);
      projected = projected + biases[0];
      parts.rb = biases[1];
    }
    if (given(7)) parts.p = direction_of(in[7], d);
    parts.activations = activations.subspan(static_cast<size_t>(d) * activations.size() / static_cast<size_t>(sizes.directions));
    Expr h = state(5, d), c = states > 1 ? state(6, d) : Expr();
    if (given(4)) {  // an empty sequence ends in states of zeros
      const Expr begins = b.op("Unsqueeze", {b.op("Greater", {in[4], b.scalar(0, DType::i32)}), b.constant({int64_t{-1}})});
      h = where(begins, h);
      if (c) c = where(begins, c);
    }
    Exprs steps(static_cast<size_t>(sizes.length));
    const bool reversed = d == 1 || sizes.first_reversed;
    for (int64_t k = 0; k < sizes.length; ++k) {
      const int64_t t = reversed ? sizes.length - 1 - k : k;
      Expr next_h = h, next_c = c;
      step(parts, b.op("Gather", {projected, b.scalar(static_cast<double>(t), DType::i64)}), next_h, next_c);
      Expr y = next_h;
      if (given(4)) {  // what lies behind the end of a sequence leaves its states
        const Expr runs =
            b.op("Unsqueeze", {b.op("Greater", {in[4], b.scalar(static_cast<double>(t), DType::i32)}), b.constant({int64_t{-1}})});
        y = where(runs, next_h);
        next_h = select(runs, next_h, h);
        if (next_c) next_c = select(runs, next_c, c);
      }
      h = next_h, c = next_c;
      steps[static_cast<size_t>(t)] = b.op("Unsqueeze", {y, b.constant({int64_t{0}})});
    }
    sequences.push_back(b.op("Unsqueeze", {b.op("Concat", steps, {{"axis", int64_t{0}}}), b.constant({int64_t{1}})}));
    last[0].push_back(b.op("Unsqueeze", {h, b.constant({int64_t{0}})}));
    if (c) last[1].push_back(b.op("Unsqueeze", {c, b.constant({int64_t{0}})}));
  }
  Exprs results;
  const Expr y = b.op("Concat", sequences, {{"axis", int64_t{1}}});
  results.push_back(sizes.batch_first ? b.op("Transpose", {y}, {{"perm", Ints{2, 0, 1, 3}}}) : y);
  for (size_t i = 0; i < states; ++i) {
    const Expr all = b.op("Concat", last[i], {{"axis", int64_t{0}}});
    results.push_back(sizes.batch_first ? turned(all) : all);
  }
  return results;
}
#endif

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// The convolution in front of recurrent mixers of sequences, which carries its last inputs from one call to the next.
#include <algorithm>
#include <cmath>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<Name> kActivation{"activation", "none", MINNOW_DOC("`silu` or `swish`: y / (1 + e^-y) behind it; else `none`")};
enum Input : size_t { kInput, kWeight, kBias, kPast };
enum Output : size_t { kResult, kPresent };

Shapes shapes(const NodeView& node) {
  const Sizes x = node.input_sizes(kInput), w = node.input_sizes(kWeight);
  if (x.rank() != 3) node.fail("input should be of shape [batch, channels, length], it is of shape {}", x);
  if (w.rank() != 3 || differ(w[0], x[1]) || differ(w[1], 1) || less(w[2], 1))
    node.fail("weight should be of shape [{}, 1, k], it is of shape {}", x[1], w);
  constexpr int64_t kLongest = int64_t{1} << 29;  // with the state it is the image of a convolution
  if (!less(x[2], kLongest) && x[2].is_number()) node.fail("input should be shorter than {}, it is of shape {}", kLongest, x);
  const Sizes state{x[0], x[1], w[2] - 1};
  const auto expect = [&](size_t input, std::string_view name, const Sizes& shape) {
    if (const auto given = node.known_sizes(input); given && differ(*given, shape))
      node.fail("{} should be of shape {}, it is of shape {}", name, shape, *given);
  };
  expect(kBias, "bias", {x[1]});
  expect(kPast, "past_state", state);
  const std::string_view activation = node.attribute(kActivation);
  if (activation != "none" && activation != "silu" && activation != "swish")
    node.fail("activation should be none, silu or swish, it is \"{}\"", activation);
  return {x, state};
}

struct Geometry {
  int64_t batch, channels, length, taps;
  bool swish;

  static Geometry of(const NodeView& node) {
    const Shape& x = node.input_shape(kInput);
    return {x[0], x[1], x[2], node.input_shape(kWeight)[2], node.attribute(kActivation) != "none"};
  }
  Shape state_shape() const { return {batch, channels, taps - 1}; }
};

void reference(const NodeView& node, KernelArgs& args) {
  const Geometry g = Geometry::of(node);
  const Numbers<double> x = args.reals(kInput), w = args.reals(kWeight);
  const Numbers<double> bias = args.has_input(kBias) ? args.reals(kBias) : Numbers<double>();
  const Numbers<double> past = args.has_input(kPast) ? args.reals(kPast) : Numbers<double>();
  const int64_t kept = g.taps - 1;
  Numbers<double> y(x.size()), present(static_cast<size_t>(g.state_shape().elements())), row(static_cast<size_t>(kept + g.length));
  Pace pace;
  for (int64_t line = 0; line < g.batch * g.channels; ++line) {
    const int64_t channel = line % g.channels;
    if (!past.empty()) std::copy_n(past.begin() + line * kept, kept, row.begin());
    std::copy_n(x.begin() + line * g.length, g.length, row.begin() + kept);
    for (int64_t t = 0; t < g.length; ++t) {
      pace.step(static_cast<size_t>(g.taps));
      double sum = bias.empty() ? 0 : bias[static_cast<size_t>(channel)];
      for (int64_t k = 0; k < g.taps; ++k) sum += w[static_cast<size_t>(channel * g.taps + k)] * row[static_cast<size_t>(t + k)];
      y[static_cast<size_t>(line * g.length + t)] = g.swish ? sum / (1 + std::exp(-sum)) : sum;
    }
    std::copy_n(row.end() - kept, kept, present.begin() + line * kept);
  }
  args.write(kResult, y);
  if (args.has_output(kPresent)) args.write(kPresent, present);
}

Exprs decompose(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Geometry g = Geometry::of(node);
  if (g.channels < 0) return {};  // an export shows dimensions that are open so
  if (g.length == 0) return {};   // no window of a Conv fits
  const Expr row = node.has_input(kPast) ? builder.op("Concat", {inputs[kPast], inputs[kInput]}, {{"axis", int64_t{2}}})
                                         : builder.op("Pad", {inputs[kInput], builder.constant({0, 0, g.taps - 1, 0, 0, 0})});
  const Expr bias = node.has_input(kBias) ? inputs[kBias] : Expr();
  Expr y = builder.op("Conv", {row, inputs[kWeight], bias}, {{"group", g.channels}});
  if (g.swish) y = y * op("Sigmoid", {y});
  if (node.output_count() <= kPresent || !node.has_output(kPresent)) return {y};
  return {y, builder.op("Slice", {row, builder.constant({g.length}), builder.constant({g.length + g.taps - 1}), builder.constant({2})})};
}

double operations(const NodeView& node) {
  return 2 * static_cast<double>(node.input_shape(kInput).elements()) * static_cast<double>(node.input_shape(kWeight)[2]);
}

constexpr DTypes kCarried = one_of({DType::f32, DType::f16, DType::bf16});

constexpr List<Operator> definitions() {
  return {
      {.name = "CausalConvWithState",
       .since = 27,
       .doc = MINNOW_DOC("Each channel of [batch, channels, length] convolved with k taps of its own; an output sees the inputs up to its "
                         "own place. The k - 1 inputs before the first are those of past_state, else zeros; the last k - 1 are given as "
                         "present_state. Source: Gu, Dao 2023, arXiv:2312.00752."),
       .inputs = {{.name = "input", .dtypes = kCarried},
                  {.name = "weight", .dtypes = kCarried, .like = "input"},
                  {.name = "bias", .dtypes = kCarried, .arity = kOptional, .like = "input"},
                  {.name = "past_state", .dtypes = kCarried, .arity = kOptional, .like = "input"}},
       .outputs = {{"output", same_as("input")}, {"present_state", same_as("input"), kOptional}},
       .attributes = {kActivation},
       .infer_shapes = shapes,
       .reference = reference,
       .decompose = decompose,
       .operations = operations}};
}

}  // namespace

std::span<const Operator> causal_conv_operators() { return operator_table<definitions>(); }

}  // namespace minnow

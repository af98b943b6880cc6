// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM with their usual activations: a launch for each step, in which a group of items computes one element of one state.
#include <algorithm>

#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kMostSteps = 2048;
constexpr Attribute<std::string_view> kDirection{"direction", "forward"};

int64_t gates_of(const NodeView& node) { return node.op() == "LSTM" ? 4 : node.op() == "GRU" ? 3 : 1; }

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  for (const std::string_view name : {"activations", "activation_alpha", "activation_beta", "clip"})
    if (node.node().attributes.find(name)) return declined("{} are given", name);
  if (node.attribute(Attribute<bool>{"layout", false})) return declined("the batch comes first");
  if (node.attribute(Attribute<bool>{"input_forget", false})) return declined("the forget gate is made of the input gate");
  if (node.op() == "GRU" && !node.attribute(Attribute<bool>{"linear_before_reset", false})) return declined("states are reset before R");
  if (node.has_input(4)) return declined("sequences have lengths of their own");
  if (node.has_input(7)) return declined("there are peepholes");
  for (size_t i = node.op() == "LSTM" ? 3 : 2; i < node.output_count(); ++i)
    if (node.has_output(i)) return declined("gates are wanted");
  const Shape &x = node.input_shape(0), &r = node.input_shape(2);
  if (x.elements() == 0 || r.elements() == 0) return declined("an input is empty");
  if (x[0] > kMostSteps) return declined("there are {} steps", x[0]);
  const double products = 2.0 * static_cast<double>(x[0] * x[1]) * static_cast<double>(node.input_shape(1).elements() + r.elements());
  return estimate_of(node, device, products, 0.02, static_cast<int>(x[0]));
}

constexpr std::string_view kStep = R"(
  LOCAL float shared[256];
  const int j = GROUP(0) % hidden, b = GROUP(0) / hidden % batch, direction = GROUP(0) / hidden / batch;
  const int t = direction || REVERSED ? length - 1 - step : step, state = (direction * batch + b) * hidden;
  float given[GATES], kept[GATES];
  UNROLL for (int g = 0; g < GATES; ++g) given[g] = kept[g] = 0;
  for (int k = ITEM(0); k < inputs; k += ITEMS(0)) {
    const float v = GET(x, (t * batch + b) * inputs + k);
    UNROLL for (int g = 0; g < GATES; ++g) given[g] += v * GET(w, ((direction * GATES + g) * hidden + j) * inputs + k);
  }
  for (int k = ITEM(0); k < hidden; k += ITEMS(0)) {
    const float v = OLD(k);
    UNROLL for (int g = 0; g < GATES; ++g) kept[g] += v * GET(r, ((direction * GATES + g) * hidden + j) * hidden + k);
  }
  UNROLL for (int g = 0; g < GATES; ++g) {
    given[g] = group_sum(given[g], shared);
    kept[g] = group_sum(kept[g], shared);
#if HAS_bias
    given[g] += GET(bias, (direction * 2 * GATES + g) * hidden + j);
    kept[g] += GET(bias, ((direction * 2 + 1) * GATES + g) * hidden + j);
#endif
  }
  if (ITEM(0) != 0) return;
#if GATES == 4
  const float old = OLD_CELL(j);
  const float c = SIGMOID(given[2] + kept[2]) * old + SIGMOID(given[0] + kept[0]) * tanh(given[3] + kept[3]);
  const float h = SIGMOID(given[1] + kept[1]) * tanh(c);
  cells_out[state + j] = c;
#if HAS_y_c
  if (step == length - 1) PUT(y_c, state + j, c);
#endif
#elif GATES == 3
  const float z = SIGMOID(given[0] + kept[0]), reset = SIGMOID(given[1] + kept[1]);
  const float h = (1 - z) * tanh(given[2] + reset * kept[2]) + z * OLD(j);
#else
  const float h = tanh(given[0] + kept[0]);
#endif
  states_out[state + j] = h;
#if HAS_y
  PUT(y, ((t * DIRECTIONS + direction) * batch + b) * hidden + j, h);
#endif
#if HAS_y_h
  if (step == length - 1) PUT(y_h, state + j, h);
#endif
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape &x = node.input_shape(0), &r = node.input_shape(2);
  const int64_t gates = gates_of(node), directions = r[0], hidden = r[2], batch = x[1], length = x[0];
  const size_t bytes = static_cast<size_t>(directions * batch * hidden) * sizeof(float);
  const size_t states[2] = {context.reserve_scratch(bytes), context.reserve_scratch(bytes)};
  const size_t cells[2] = {gates == 4 ? context.reserve_scratch(bytes) : 0, gates == 4 ? context.reserve_scratch(bytes) : 0};
  auto kernel = std::make_unique<Launches>(context);
  for (int64_t step = 0; step < length; ++step) {
    KernelText text(*kernel, node);
    text.input(0, "x");
    text.input(1, "w");
    text.input(2, "r");
    text.input(3, "bias");
    text.output(0, "y");
    text.output(1, "y_h");
    const size_t from = static_cast<size_t>(step % 2), to = 1 - from;
    const auto old = [&](size_t input, std::string_view name, std::string_view macro, size_t scratch) {
      if (step > 0) {
        text.scratch(scratch, name, "f32", false);
        text.define(format("{}(k)", macro), format("{}[state + (k)]", name));
      } else {
        text.input(input, name);
        text.define(format("{}(k)", macro), node.has_input(input) ? format("GET({}, state + (k))", name) : std::string("0.0f"));
      }
    };
    old(5, "states", "OLD", states[from]);
    text.scratch(states[to], "states_out", "f32", true);
    if (gates == 4) {
      text.output(2, "y_c");
      old(6, "cells", "OLD_CELL", cells[from]);
      text.scratch(cells[to], "cells_out", "f32", true);
    }
    text.number("inputs", x[2]);
    text.number("hidden", hidden);
    text.number("batch", batch);
    text.number("length", length);
    text.number("step", step);
    text.define("GATES", gates);
    text.define("DIRECTIONS", directions);
    text.define("REVERSED", node.attribute(kDirection) == "reverse" ? 1 : 0);
    text.define("SIGMOID(v)", "(1.0f / (1.0f + exp(-(v))))");
    text.add_groups("recurrent", directions * batch * hidden, items_for(std::max(x[2], hidden)), kStep, "REDUCE(group_sum, SUM)\n");
  }
  return kernel;
}

constexpr Scheme kSchemes[] = {
    {"GRU", "gpu.recurrent", estimate, prepare}, {"LSTM", "gpu.recurrent", estimate, prepare}, {"RNN", "gpu.recurrent", estimate, prepare}};

}  // namespace

std::span<const Scheme> recurrent_schemes() { return kSchemes; }

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM with their usual activations: a launch for each step, in which a group of items computes one element of one state.
#include <algorithm>

#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kMostSteps = 2048;
constexpr Attribute<Name> kDirection{"direction", "forward"};

bool is_batch_first(const NodeView& node) { return node.attribute(Attribute<bool>{"layout", false}); }
// GRU as ONNX has it by default: the candidate needs all reset states, so that each step takes two launches.
bool resets_before(const NodeView& node) { return node.op() == "GRU" && !node.attribute(Attribute<bool>{"linear_before_reset", false}); }

struct Sizes {
  int64_t length, batch;
  explicit Sizes(const NodeView& node) : length(node.input_shape(0)[0]), batch(node.input_shape(0)[1]) {
    if (is_batch_first(node)) std::swap(length, batch);
  }
};

int64_t gates_of(const NodeView& node) { return node.op() == "LSTM" ? 4 : node.op() == "GRU" ? 3 : 1; }

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  for (const std::string_view name : {"activations", "activation_alpha", "activation_beta", "clip"})
    if (node.node().attributes.find(name)) return declined("{} are given", name);
  if (node.attribute(Attribute<bool>{"input_forget", false})) return declined("the forget gate is made of the input gate");
  if (node.has_input(4)) return declined("sequences have lengths of their own");
  if (node.has_input(7)) return declined("there are peepholes");
  for (size_t i = node.op() == "LSTM" ? 3 : 2; i < node.output_count(); ++i)
    if (node.has_output(i)) return declined("gates are wanted");
  const Shape &x = node.input_shape(0), &r = node.input_shape(2);
  if (x.elements() == 0 || r.elements() == 0) return declined("an input is empty");
  const int64_t length = Sizes(node).length;
  if (length > kMostSteps) return declined("there are {} steps, more than {}", length, kMostSteps);
  const double products = 2.0 * static_cast<double>(x[0] * x[1]) * static_cast<double>(node.input_shape(1).elements() + r.elements());
  return estimate_of(node, device, products, 0.02, static_cast<int>(length) * (resets_before(node) ? 2 : 1));
}

// Gates FIRST to FIRST + COUNT - 1 of all GATES. PART 1 of a GRU leaves `updates` and `resets` for PART 2; 0: all at once.
constexpr std::string_view kStep = R"(
  LOCAL float shared[256];
  const int j = GROUP(0) % hidden, b = GROUP(0) / hidden % batch, direction = GROUP(0) / hidden / batch;
  const int t = direction || REVERSED ? length - 1 - step : step, state = (direction * batch + b) * hidden;
  const int outer = (BATCH_FIRST ? b * DIRECTIONS + direction : direction * batch + b) * hidden;
  const int place = BATCH_FIRST ? b * length + t : t * batch + b;
  float given[COUNT], kept[COUNT];
  UNROLL for (int g = 0; g < COUNT; ++g) given[g] = kept[g] = 0;
  for (int k = ITEM(0); k < inputs; k += ITEMS(0)) {
    const float v = GET(x, place * inputs + k);
    UNROLL for (int g = 0; g < COUNT; ++g) given[g] += v * GET(w, ((direction * GATES + FIRST + g) * hidden + j) * inputs + k);
  }
  for (int k = ITEM(0); k < hidden; k += ITEMS(0)) {
#if PART == 2
    const float v = resets[state + k];
#else
    const float v = OLD(k);
#endif
    UNROLL for (int g = 0; g < COUNT; ++g) kept[g] += v * GET(r, ((direction * GATES + FIRST + g) * hidden + j) * hidden + k);
  }
  UNROLL for (int g = 0; g < COUNT; ++g) {
    given[g] = group_sum(given[g], shared);
    kept[g] = group_sum(kept[g], shared);
#if HAS_bias
    given[g] += GET(bias, (direction * 2 * GATES + FIRST + g) * hidden + j);
    kept[g] += GET(bias, ((direction * 2 + 1) * GATES + FIRST + g) * hidden + j);
#endif
  }
  if (ITEM(0) != 0) return;
#if PART == 1
  updates[state + j] = SIGMOID(given[0] + kept[0]);
  resets[state + j] = SIGMOID(given[1] + kept[1]) * OLD(j);
#else
#if GATES == 4
  const float old = OLD_CELL(j);
  const float c = SIGMOID(given[2] + kept[2]) * old + SIGMOID(given[0] + kept[0]) * tanh(given[3] + kept[3]);
  const float h = SIGMOID(given[1] + kept[1]) * tanh(c);
  cells_out[state + j] = c;
#if HAS_y_c
  if (step == length - 1) PUT(y_c, outer + j, c);
#endif
#elif PART == 2
  const float z = updates[state + j];
  const float h = (1 - z) * tanh(given[0] + kept[0]) + z * OLD(j);
#elif GATES == 3
  const float z = SIGMOID(given[0] + kept[0]), reset = SIGMOID(given[1] + kept[1]);
  const float h = (1 - z) * tanh(given[2] + reset * kept[2]) + z * OLD(j);
#else
  const float h = tanh(given[0] + kept[0]);
#endif
  states_out[state + j] = h;
#if HAS_y
  PUT(y, (BATCH_FIRST ? place * DIRECTIONS + direction : (t * DIRECTIONS + direction) * batch + b) * hidden + j, h);
#endif
#if HAS_y_h
  if (step == length - 1) PUT(y_h, outer + j, h);
#endif
#endif
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Sizes sizes(node);
  const Shape& r = node.input_shape(2);
  const int64_t gates = gates_of(node), directions = r[0], hidden = r[2], inputs = node.input_shape(0)[2];
  const size_t bytes = static_cast<size_t>(directions * sizes.batch * hidden) * sizeof(float);
  const bool in_two = resets_before(node);
  const size_t states[2] = {context.reserve_scratch(bytes), context.reserve_scratch(bytes)};
  const size_t cells[2] = {gates == 4 ? context.reserve_scratch(bytes) : 0, gates == 4 ? context.reserve_scratch(bytes) : 0};
  const size_t updates = in_two ? context.reserve_scratch(bytes) : 0, resets = in_two ? context.reserve_scratch(bytes) : 0;
  auto kernel = std::make_unique<Launches>(context);
  const auto add = [&](int64_t step, int64_t part) {
    KernelText text(*kernel, node);
    text.input(0, "x");
    text.input(1, "w");
    text.input(2, "r");
    text.input(3, "bias");
    if (part != 1) {
      text.output(0, "y");
      text.output(1, "y_h");
    }
    const size_t from = static_cast<size_t>(step % 2), to = 1 - from;
    const auto old = [&](size_t input, std::string_view name, std::string_view macro, size_t scratch) {
      if (step > 0) {
        text.scratch(scratch, name, "f32", false);
        text.define(format("{}(k)", macro), format("{}[state + (k)]", name));
      } else {
        text.input(input, name);
        text.define(format("{}(k)", macro), node.has_input(input) ? format("GET({}, outer + (k))", name) : std::string("0.0f"));
      }
    };
    old(5, "states", "OLD", states[from]);
    if (part > 0) {
      text.scratch(updates, "updates", "f32", part == 1);
      text.scratch(resets, "resets", "f32", part == 1);
    }
    if (part != 1) text.scratch(states[to], "states_out", "f32", true);
    if (gates == 4) {
      text.output(2, "y_c");
      old(6, "cells", "OLD_CELL", cells[from]);
      text.scratch(cells[to], "cells_out", "f32", true);
    }
    text.number("inputs", inputs);
    text.number("hidden", hidden);
    text.number("batch", sizes.batch);
    text.number("length", sizes.length);
    text.number("step", step);
    text.define("PART", part);
    text.define("GATES", gates);
    text.define("FIRST", part == 2 ? 2 : 0);
    text.define("COUNT", part == 0 ? gates : part == 1 ? 2 : 1);
    text.define("DIRECTIONS", directions);
    text.define("BATCH_FIRST", is_batch_first(node) ? 1 : 0);
    text.define("REVERSED", node.attribute(kDirection) == "reverse" ? 1 : 0);
    text.define("SIGMOID(v)", "(1.0f / (1.0f + exp(-(v))))");
    text.add_groups("recurrent", directions * sizes.batch * hidden, items_for(std::max(inputs, hidden)), kStep, "REDUCE(group_sum, SUM)\n");
  };
  for (int64_t step = 0; step < sizes.length; ++step)
    for (int64_t part = in_two ? 1 : 0; part <= (in_two ? 2 : 0); ++part) add(step, part);
  return kernel;
}

constexpr Scheme kSchemes[] = {
    {"GRU", "gpu.recurrent", estimate, prepare}, {"LSTM", "gpu.recurrent", estimate, prepare}, {"RNN", "gpu.recurrent", estimate, prepare}};

}  // namespace

std::span<const Scheme> recurrent_schemes() { return kSchemes; }

}  // namespace minnow::gpu

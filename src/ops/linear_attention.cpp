// SPDX-License-Identifier: Apache-2.0
// Attention whose memory is one matrix for each head: what a key is told is added to it, and a query reads it.
#include <algorithm>
#include <cmath>

#include "ops/conv_attributes.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<Name> kRule{"update_rule", "gated_delta", MINNOW_DOC("`linear`, `gated`, `delta` or `gated_delta`")};
constexpr Attribute<float> kScale{"scale", 0, MINNOW_DOC("factor of the output; 0: 1 / sqrt(width of a key)")};
constexpr Attribute<int64_t> kChunk{"chunk_size", 64, MINNOW_DOC("not read: how others cut the sequence")};
enum Input : size_t { kQuery, kKey, kValue, kPast, kDecay, kBeta };
enum Output : size_t { kResult, kPresent };

/// The rule: what the result, and what the memory, is like. Checks all inputs.
struct LinearAttentionSizes {
  Size batch, length, key, value;  // key, value: the widths of one
  int64_t q_heads, kv_heads;
  bool gated, delta;

  static LinearAttentionSizes of(const NodeView& node) {
    LinearAttentionSizes g{};
    const std::string_view rule = node.attribute(kRule);
    g.gated = rule == "gated" || rule == "gated_delta";
    g.delta = rule == "delta" || rule == "gated_delta";
    if (!g.gated && !g.delta && rule != "linear")
      node.fail("update_rule should be linear, gated, delta or gated_delta, it is \"{}\"", rule);
    if (node.has_input(kDecay) != g.gated) node.fail("with update_rule {} there should be {} decay", rule, g.gated ? "a" : "no");
    if (node.has_input(kBeta) != g.delta) node.fail("with update_rule {} there should be {} beta", rule, g.delta ? "a" : "no");
    g.q_heads = node.require<int64_t>("q_num_heads");
    g.kv_heads = node.require<int64_t>("kv_num_heads");
    if (g.q_heads <= 0 || g.kv_heads <= 0 || g.q_heads % g.kv_heads != 0)
      node.fail("{} query heads cannot share {} key and value heads", g.q_heads, g.kv_heads);
    const Sizes q = node.input_sizes(kQuery);
    if (q.rank() != 3) node.fail("query should be of shape [batch, length, heads * width], it is of shape {}", q);
    g.batch = q[0], g.length = q[1];
    g.key = width(node, kQuery, g.q_heads);
    if (differ(width(node, kKey, g.kv_heads), g.key))
      node.fail("keys of width {} do not fit queries of width {}", width(node, kKey, g.kv_heads), g.key);
    g.value = width(node, kValue, g.kv_heads);
    for (size_t i : {kKey, kValue, kDecay, kBeta})
      if (const auto shape = node.known_sizes(i);
          shape && (shape->rank() != 3 || differ((*shape)[0], g.batch) || differ((*shape)[1], g.length)))
        node.fail("input {} should be of shape [{}, {}, ...], it is of shape {}", i, g.batch, g.length, *shape);
    if (const auto decay = node.known_sizes(kDecay); decay && differ((*decay)[2], g.kv_heads) && differ((*decay)[2], g.key * g.kv_heads))
      node.fail("decay should have {} or {} columns, it is of shape {}", g.kv_heads, g.key * g.kv_heads, *decay);
    if (const auto beta = node.known_sizes(kBeta); beta && differ((*beta)[2], 1) && differ((*beta)[2], g.kv_heads))
      node.fail("beta should have 1 or {} columns, it is of shape {}", g.kv_heads, *beta);
    if (const auto past = node.known_sizes(kPast); past && differ(*past, g.state()))
      node.fail("past_state should be of shape {}, it is of shape {}", g.state(), *past);
    return g;
  }
  static Size width(const NodeView& node, size_t input, int64_t heads) {
    const auto x = node.known_sizes(input);
    if (!x) return Size::unknown();
    if (x->rank() != 3 || leaves_rest((*x)[2], heads)) node.fail("input {} of shape {} cannot be split between {} heads", input, *x, heads);
    return divide_exactly((*x)[2], heads);
  }
  Sizes state() const { return {batch, kv_heads, key, value}; }
  Sizes output() const { return {batch, length, value * q_heads}; }
};

struct Geometry {
  int64_t batch, length, q_heads, kv_heads, key, value;
  bool gated, delta;
  bool decay_of_head, one_beta;  // a decay for each head, not for each row of its matrix; one beta for all heads
  double scale;

  static Geometry of(const NodeView& node) {
    const LinearAttentionSizes s = LinearAttentionSizes::of(node);
    Geometry g{s.batch.number(),
               s.length.number(),
               s.q_heads,
               s.kv_heads,
               s.key.number(),
               s.value.number(),
               s.gated,
               s.delta,
               false,
               false,
               static_cast<double>(node.attribute(kScale))};
    if (g.gated) g.decay_of_head = node.input_shape(kDecay)[2] == g.kv_heads;
    if (g.delta) g.one_beta = node.input_shape(kBeta)[2] == 1;
    if (g.scale == 0) g.scale = g.key ? 1 / std::sqrt(static_cast<double>(g.key)) : 1;
    return g;
  }
  Shape state_shape() const { return {batch, kv_heads, key, value}; }
  Shape output_shape() const { return {batch, length, q_heads * value}; }
};

void infer(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].dtype = node.input_dtype(kQuery);
  if (outputs.size() > kPresent) outputs[kPresent].dtype = node.has_input(kPast) ? node.input_dtype(kPast) : node.input_dtype(kQuery);
  const LinearAttentionSizes sizes = LinearAttentionSizes::of(node);
  outputs[0].set_sizes(sizes.output());
  if (outputs.size() > kPresent) outputs[kPresent].set_sizes(sizes.state());
}

void reference(const NodeView& node, KernelArgs& args) {
  const Geometry g = Geometry::of(node);
  const Numbers<double> q = args.reals(kQuery), k = args.reals(kKey), v = args.reals(kValue);
  const Numbers<double> decay = g.gated ? args.reals(kDecay) : Numbers<double>(), beta = g.delta ? args.reals(kBeta) : Numbers<double>();
  Numbers<double> states = args.has_input(kPast) ? args.reals(kPast) : Numbers<double>(static_cast<size_t>(g.state_shape().elements()));
  Numbers<double> y(static_cast<size_t>(g.output_shape().elements())), told(static_cast<size_t>(g.value));
  const int64_t group = g.q_heads / g.kv_heads;
  Pace pace;
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.kv_heads; ++h)
      for (int64_t t = 0; t < g.length; ++t) {
        pace.step(static_cast<size_t>((2 + group) * g.key * g.value + 1));
        double* state = states.data() + (b * g.kv_heads + h) * g.key * g.value;
        const int64_t place = (b * g.length + t) * g.kv_heads + h;  // of this head among all heads of all steps
        const double *key = k.data() + place * g.key, *value = v.data() + place * g.value;
        if (g.gated)
          for (int64_t i = 0; i < g.key; ++i) {
            const double factor = std::exp(decay[static_cast<size_t>(g.decay_of_head ? place : place * g.key + i)]);
            for (int64_t j = 0; j < g.value; ++j) state[i * g.value + j] *= factor;
          }
        std::copy_n(value, g.value, told.begin());
        if (g.delta) {  // what the memory says already is not told again
          for (int64_t i = 0; i < g.key; ++i)
            for (int64_t j = 0; j < g.value; ++j) told[static_cast<size_t>(j)] -= key[i] * state[i * g.value + j];
          const double rate = beta[static_cast<size_t>(g.one_beta ? b * g.length + t : place)];
          for (double& each : told) each *= rate;
        }
        for (int64_t i = 0; i < g.key; ++i)
          for (int64_t j = 0; j < g.value; ++j) state[i * g.value + j] += key[i] * told[static_cast<size_t>(j)];
        for (int64_t own = h * group; own < (h + 1) * group; ++own) {
          const int64_t row = (b * g.length + t) * g.q_heads + own;
          double* out = y.data() + row * g.value;
          for (int64_t i = 0; i < g.key; ++i) {
            const double x = g.scale * q[static_cast<size_t>(row * g.key + i)];
            for (int64_t j = 0; j < g.value; ++j) out[j] += x * state[i * g.value + j];
          }
        }
      }
  args.write(kResult, y);
  if (args.has_output(kPresent)) args.write(kPresent, states);
}

double operations(const NodeView& node) {
  const Geometry g = Geometry::of(node);
  const double passes = static_cast<double>(g.kv_heads) * (2 + (g.gated ? 1 : 0) + (g.delta ? 2 : 0)) + 2 * static_cast<double>(g.q_heads);
  return static_cast<double>(g.batch * g.length) * passes * static_cast<double>(g.key * g.value);
}

#if MINNOW_GRADIENTS

constexpr size_t kForwardInputs = 6;

void infer_gradient(const NodeView& node, std::span<ValueInfo> outputs) {
  const LinearAttentionSizes sizes = LinearAttentionSizes::of(node);
  const Sizes expected[] = {sizes.output(), sizes.state()};
  for (size_t i : {kResult, kPresent})
    if (const auto given = node.known_sizes(kForwardInputs + i); given && differ(*given, expected[i]))
      node.fail("input {} should have shape {}, it has shape {}", kForwardInputs + i, expected[i], *given);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    if (!node.has_input(i)) node.fail("input {} is not there, it has no gradient", i);
    outputs[i].dtype = node.input_dtype(i);
    if (const auto given = node.known_sizes(i)) outputs[i].set_sizes(*given);
  }
}

/// Goes through the steps, keeps the memory after each, and comes back.
void reference_gradient(const NodeView& node, KernelArgs& args) {
  const Geometry g = Geometry::of(node);
  Numbers<double> in[kForwardInputs + 2], of[kForwardInputs];
  for (size_t i = 0; i < std::size(in); ++i)
    if (args.has_input(i)) in[i] = args.reals(i);
  for (size_t i = 0; i < kForwardInputs; ++i) of[i].resize(in[i].size());
  const int64_t group = g.q_heads / g.kv_heads, cells = g.key * g.value;
  Numbers<double> states(static_cast<size_t>((g.length + 1) * cells)), told(static_cast<size_t>(g.length * g.value)), grown(told.size()),
      faded(static_cast<size_t>(cells)), of_state(faded.size()), of_told(static_cast<size_t>(g.value));
  const auto each_cell = [&](auto body) {
    size_t at = 0;
    for (int64_t i = 0; i < g.key; ++i)
      for (int64_t j = 0; j < g.value; ++j, ++at) body(i, j, at);
  };
  Pace pace;
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.kv_heads; ++h) {
      const int64_t own_state = (b * g.kv_heads + h) * cells;
      const auto place_of = [&](int64_t t) { return (b * g.length + t) * g.kv_heads + h; };
      const auto rate_at = [&](int64_t t) { return static_cast<size_t>(g.one_beta ? b * g.length + t : place_of(t)); };
      const auto decay_at = [&](int64_t t, int64_t i) {
        return static_cast<size_t>(g.decay_of_head ? place_of(t) : place_of(t) * g.key + i);
      };
      const auto fade = [&](int64_t t) {  // the memory before step t, after it forgot
        const double* state = states.data() + t * cells;
        for (int64_t i = 0; i < g.key; ++i) {
          const double factor = g.gated ? std::exp(in[kDecay][decay_at(t, i)]) : 1;
          for (int64_t j = 0; j < g.value; ++j) faded[static_cast<size_t>(i * g.value + j)] = factor * state[i * g.value + j];
        }
      };
      if (in[kPast].empty())
        std::fill_n(states.begin(), cells, 0.0);
      else
        std::copy_n(in[kPast].begin() + own_state, cells, states.begin());
      for (int64_t t = 0; t < g.length; ++t) {
        pace.step(static_cast<size_t>((4 + group) * cells + 1));
        const double* key = in[kKey].data() + place_of(t) * g.key;
        double *const news = grown.data() + t * g.value, *const tell = told.data() + t * g.value;
        fade(t);
        std::copy_n(in[kValue].data() + place_of(t) * g.value, g.value, news);
        if (g.delta) each_cell([&](int64_t i, int64_t j, size_t at) { news[j] -= key[i] * faded[at]; });
        for (int64_t j = 0; j < g.value; ++j) tell[j] = g.delta ? in[kBeta][rate_at(t)] * news[j] : news[j];
        double* const next = states.data() + (t + 1) * cells;
        each_cell([&](int64_t i, int64_t j, size_t at) { next[at] = faded[at] + key[i] * tell[j]; });
      }
      if (in[kForwardInputs + kPresent].empty())
        std::fill_n(of_state.begin(), cells, 0.0);
      else
        std::copy_n(in[kForwardInputs + kPresent].begin() + own_state, cells, of_state.begin());
      for (int64_t t = g.length; t-- > 0;) {
        pace.step(static_cast<size_t>((6 + 2 * group) * cells + 1));
        const double *key = in[kKey].data() + place_of(t) * g.key, *state = states.data() + (t + 1) * cells;
        double *of_key = of[kKey].data() + place_of(t) * g.key, *of_value = of[kValue].data() + place_of(t) * g.value;
        const double *news = grown.data() + t * g.value, *tell = told.data() + t * g.value;
        for (int64_t own = h * group; own < (h + 1) * group && !in[kForwardInputs].empty(); ++own) {
          const int64_t row = (b * g.length + t) * g.q_heads + own;
          const double *of_y = in[kForwardInputs].data() + row * g.value, *query = in[kQuery].data() + row * g.key;
          double* of_query = of[kQuery].data() + row * g.key;
          each_cell([&](int64_t i, int64_t j, size_t at) {
            of_query[i] += g.scale * state[at] * of_y[j];
            of_state[at] += g.scale * query[i] * of_y[j];
          });
        }
        std::fill(of_told.begin(), of_told.end(), 0.0);
        each_cell([&](int64_t i, int64_t j, size_t at) {
          of_key[i] += of_state[at] * tell[j];
          of_told[static_cast<size_t>(j)] += of_state[at] * key[i];
        });
        fade(t);
        if (g.delta) {
          for (int64_t j = 0; j < g.value; ++j) {
            of[kBeta][rate_at(t)] += of_told[static_cast<size_t>(j)] * news[j];
            of_told[static_cast<size_t>(j)] *= in[kBeta][rate_at(t)];
          }
          each_cell([&](int64_t i, int64_t j, size_t at) {
            of_key[i] -= faded[at] * of_told[static_cast<size_t>(j)];
            of_state[at] -= key[i] * of_told[static_cast<size_t>(j)];
          });
        }
        for (int64_t j = 0; j < g.value; ++j) of_value[j] += of_told[static_cast<size_t>(j)];
        if (g.gated)
          for (int64_t i = 0; i < g.key; ++i) {
            const size_t decay = decay_at(t, i);
            const double factor = std::exp(in[kDecay][decay]);
            for (int64_t at = i * g.value; at < (i + 1) * g.value; ++at) {
              of[kDecay][decay] += of_state[static_cast<size_t>(at)] * faded[static_cast<size_t>(at)];
              of_state[static_cast<size_t>(at)] *= factor;
            }
          }
      }
      if (!of[kPast].empty()) std::copy_n(of_state.begin(), cells, of[kPast].begin() + own_state);
    }
  for (size_t i = 0; i < kForwardInputs; ++i)
    if (args.has_output(i)) args.write(i, of[i]);
}

Exprs gradient(const GradientContext& c) {
  Exprs inputs = c.inputs;
  inputs.resize(kForwardInputs);
  for (size_t i : {kResult, kPresent}) inputs.push_back(i < c.output_gradients.size() ? c.output_gradients[i] : Expr());
  return gradient_node(c, "minnow.LinearAttentionGradient", inputs);
}

#endif

constexpr List<Operator> definitions() {
  return {
#if MINNOW_GRADIENTS
    {.name = "minnow.LinearAttentionGradient",
     .doc = MINNOW_DOC("The gradients of the inputs of a LinearAttention with these inputs and attributes."),
     .inputs = {{.name = "query", .dtypes = kFloats},
                like("key", kFloats, "query"),
                like("value", kFloats, "query"),
                {.name = "past_state", .dtypes = kFloats, .arity = kOptional},
                like("decay", kFloats, "query", kOptional),
                like("beta", kFloats, "query", kOptional),
                like("gradient_output", kFloats, "query", kOptional),
                {.name = "gradient_state", .dtypes = kFloats, .arity = kOptional}},
     .outputs = {{"of_query", same_as("query"), kOptional},
                 {"of_key", same_as("query"), kOptional},
                 {"of_value", same_as("query"), kOptional},
                 {"of_past_state", same_as("past_state"), kOptional},
                 {"of_decay", same_as("query"), kOptional},
                 {"of_beta", same_as("query"), kOptional}},
     .attributes = {required("q_num_heads", AttributeKind::integer, MINNOW_DOC("number of query heads")),
                    required("kv_num_heads", AttributeKind::integer, MINNOW_DOC("number of key and value heads")), kRule, kScale, kChunk},
     .infer = infer_gradient,
     .reference = reference_gradient,
     .operations = [](const NodeView& node) { return 3 * operations(node); }},
#endif
    {
      .name = "LinearAttention", .since = 27,
      .doc = MINNOW_DOC(
          "For each step and head, S = exp(decay) S + k (beta (v - S^T k))^T and y = scale S^T q, where `linear` and `delta` "
          "have no decay, `linear` and `gated` add k v^T. Query heads share the matrix of a key head as in Attention. "
          "Source: Katharopoulos et al. 2020, arXiv:2006.16236; Yang et al. 2024, arXiv:2412.06464 (gated_delta)."),
      .inputs = {{.name = "query", .dtypes = kFloats},
                 {.name = "key", .dtypes = kFloats, .like = "query"},
                 {.name = "value", .dtypes = kFloats, .like = "query"},
                 {.name = "past_state", .dtypes = kFloats, .arity = kOptional},
                 {.name = "decay", .dtypes = kFloats, .arity = kOptional, .like = "query"},
                 {.name = "beta", .dtypes = kFloats, .arity = kOptional, .like = "query"}},
      .outputs = {{"output", same_as("query")}, {"present_state", same_as("query"), kOptional}},
      .attributes = {required("q_num_heads", AttributeKind::integer, MINNOW_DOC("number of query heads")),
                     required("kv_num_heads", AttributeKind::integer, MINNOW_DOC("number of key and value heads")), kRule, kScale, kChunk},
      .infer = infer, .reference = reference, .gradient = MINNOW_GRADIENT(gradient), .operations = operations
    }
  };
}

}  // namespace

std::span<const Operator> linear_attention_operators() { return operator_table<definitions>(); }

}  // namespace minnow

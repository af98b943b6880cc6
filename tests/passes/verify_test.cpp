// SPDX-License-Identifier: Apache-2.0
// `convert --verify` names the pass that changed what a model computes.
#include "passes/verify.h"

#include <gmock/gmock.h>

#include "graph/expr.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kGraph = R"(graph {
  source "net"
  input x: f32[batch, 3, n]
  const one = f32[] 1
  const step = f32[] 0.05
  const zero = i8[] 0
  const two = f32[] 2
  a = Mul(x, one)
  b = Identity(a)
  q = QuantizeLinear(b, step, zero)
  d = DequantizeLinear(q, step, zero)
  e = Mul(d, two)
  f = Add(e, one)
  y = Relu(f)
  output y
})";

/// Takes every pair of QuantizeLinear and DequantizeLinear for nothing.
void drop_roundings(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes())
    if (node.op() == "DequantizeLinear")
      if (const Node* before = made_by(node.input(0), "QuantizeLinear"); before && !node.output(0)->is_unused()) {
        forward(*node.output(0), *before->input(0));
        context.changed("dropped");
      }
}

/// Breaks a graph so that it cannot be run.
void add_nonsense(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes())
    if (node.op() == "Relu") {
      node.set_input(0, &graph.add_constant(Tensor(DType::f32, {7, 7}), "w"));
      context.changed("broken");
      return;
    }
}

std::string verified(void (*wrong)(Graph&, PassContext&)) {
  std::vector<Pass> passes;
  for (const Pass& pass : all_passes()) {
    passes.push_back(pass);
    if (pass.name == "remove_no_ops" && wrong) passes.push_back({"wrong_pass", "", wrong, kSimplify});
  }
  OptimizeOptions options;
  options.passes = passes;
  const auto before = parse_graph(kGraph), after = before->clone();
  try {
    optimize(*after, OperatorSet::builtin(), options);
    verify_optimization(OperatorSet::builtin(), *before, *after, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Verify, is_silent_where_all_is_right) { EXPECT_EQ(verified(nullptr), ""); }

TEST(Verify, names_the_pass_that_dropped_a_rounding) {
  EXPECT_THAT(verified(drop_roundings), AllOf(HasSubstr("net: output \"y\" differs after optimization"), HasSubstr("wrong_pass")));
}

TEST(Verify, names_the_pass_that_gave_an_output_another_shape) {
  EXPECT_THAT(verified(add_nonsense), AllOf(HasSubstr("after optimization"), HasSubstr("wrong_pass")));
}

std::string verified_alone(std::string_view text) {
  const auto before = parse_graph(text), after = before->clone();
  try {
    optimize(*after, OperatorSet::builtin());
    verify_optimization(OperatorSet::builtin(), *before, *after, {});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Verify, what_is_drawn_at_random_is_drawn_once) {
  EXPECT_EQ(verified_alone(R"(graph {
    source "net"
    input x: f32[100]
    const one = f32[] 1
    const half = f32[] 0.5
    r = RandomUniformLike(x)
    a = Mul(x, one)
    s = Add(r, half)
    mask = Floor(s)
    y = Mul(a, mask)
    output y
  })"),
            "");
}

TEST(Verify, dropout_outside_training_hides_nothing) {
  const auto text = [](const char* factor) {
    return std::string("graph {\n source \"net\"\n input x: f32[100]\n const k = f32[] ") + factor +
           "\n a = Mul(x, k)\n y = Dropout(a)\n output y\n}";
  };
  const auto before = parse_graph(text("1")), after = parse_graph(text("1.1"));
  OptimizeOptions options;
  options.level = Optimize::none;
  EXPECT_THROW(verify_optimization(OperatorSet::builtin(), *before, *after, options), Error);
}

TEST(Verify, shapes_that_fit_nowhere_are_an_error_that_says_so) {
  const auto text = [](const char* shape) {
    return std::string("graph {\n source \"net\"\n input x: f32") + shape +
           "\n const w = f32[2, 7, 1, 1] fill 1\n y = Conv(x, w) @\"first\"\n output y\n}";
  };
  EXPECT_THAT(verified_alone(text("[?, ?, ?, ?]")), HasSubstr("no sizes of the open dimensions were found to verify with"));
  const auto fixed = parse_graph(text("[1, 3, 4, 4]"));
  EXPECT_THAT([&] { verify_optimization(OperatorSet::builtin(), *fixed, *fixed, {}); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("first"), testing::Not(HasSubstr("open dimensions")))));
}

TEST(Verify, what_comes_first_need_not_be_a_batch) {
  EXPECT_EQ(verified_alone("graph {\n source \"net\"\n input x: f32[n, ?]\n const i = i64[] 2\n y = Gather(x, i)\n output y\n}"), "");
}

TEST(Verify, every_prefix_of_the_passes_is_a_graph_that_runs) {
  const auto before = parse_graph(kGraph);
  size_t changes = 0;
  for (size_t most = 0; most <= changes; ++most) {
    OptimizeOptions options;
    options.most_changes = most;
    size_t seen = 0;
    options.report = [&](const PassReport&) { ++seen; };
    const auto after = before->clone();
    optimize(*after, OperatorSet::builtin(), options);
    EXPECT_LE(seen, most);
    verify_optimization(OperatorSet::builtin(), *before, *after, options);
    if (most == 0) {
      options.most_changes = ~size_t{0};
      optimize(*before->clone(), OperatorSet::builtin(), options);
      changes = seen;
    }
  }
  EXPECT_GT(changes, 2u);
}

}  // namespace
}  // namespace minnow

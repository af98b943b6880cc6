// SPDX-License-Identifier: Apache-2.0
// Layers whose sums overflow in 16 bits: they are planned anew without that scheme and named, and the run gives what f32 gives.
#include <gmock/gmock.h>

#include <cmath>

#include "base/numeric.h"
#include "graph/graph.h"
#include "ops/infer.h"
#include "runtime/backends.h"
#include "runtime/executor.h"
#include "runtime/model.h"

namespace minnow {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Collects the lines of the log hook during its lifetime.
struct Log {
  Log() {
    set_log_hook([this](std::string_view line) { lines.emplace_back(line); });
  }
  ~Log() { set_log_hook({}); }
  std::vector<std::string> lines;
};

int g_runs = 0;  // of the scheme below

/// Rounds products to f16, like a machine with f16 arithmetic.
class HalfBackend final : public Backend {
 public:
  std::string_view name() const override { return "half"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override { return kSchemes; }

 private:
  class Product final : public Kernel {
   public:
    void run(RunContext& context) const noexcept override {
      ++g_runs;
      bool overflows = false;
      const int64_t count = context.outputs[0]->view.elements();
      for (int64_t i = 0; i < count; ++i) {
        const float product = f32_from_f16(f16_from_f32(context.in<float>(0)[i] * context.in<float>(1)[i]));
        overflows |= !std::isfinite(product);
        context.out<float>(0)[i] = product;
      }
      if (overflows) context.overflowed.store(true, std::memory_order_relaxed);
    }
  };
  static Estimate estimate(const NodeView& node, const Device&) {
    if (!(node.input_shape(0) == node.input_shape(1))) return declined("the factors have several shapes");
    return 1e-9;
  }
  static std::unique_ptr<Kernel> prepare(PrepareContext&) { return std::make_unique<Product>(); }
  static constexpr Scheme kSchemes[] = {{"Mul", "mul.half", estimate, prepare}};
  Device device_;
};

class OverflowTest : public ::testing::Test {
 protected:
  void load(std::string_view text) {
    graph_ = parse_graph(text);
    infer_types(OperatorSet::builtin(), *graph_);
    context_.explain = true;
    context_.plan_with(OperatorSet::builtin(), {std::make_shared<HalfBackend>(), make_backend("reference", {})}, weights_, 0);
    executor_.emplace(*graph_, context_);
    g_runs = 0;
  }
  std::vector<float> run(std::vector<float> x) {
    Slot slot;
    slot.view = TensorView(DType::f32, {static_cast<int64_t>(x.size())}, x.data());
    const Slot* const live_ins[] = {&slot};
    executor_->run(live_ins, [](size_t, DType, const Shape&) -> void* { return nullptr; });
    const TensorView y = executor_->output(0).view;
    return {y.data<float>(), y.data<float>() + y.elements()};
  }
  std::vector<std::string> schemes(std::string_view op) const {
    std::vector<std::string> names;
    for (const PlanState* state : executor_->last_plans())
      for (const Step& step : state->plan().steps())
        if (step.node->op() == op) names.emplace_back(step.scheme->name);
    return names;
  }

  std::unique_ptr<Graph> graph_;
  PackedWeights weights_;
  SessionContext context_;
  std::optional<Executor> executor_;
  Log log_;
};

// A clamp hides what overflows: the outputs are finite either way.
constexpr std::string_view kTwoLayers = R"(graph {
  input x: f32[n]
  const most = f32[] 70000
  big = Mul(x, x)
  h = Min(big, most)
  root = Sqrt(h)
  one = Div(x, x)
  y = Mul(root, one)
  output y
})";

TEST_F(OverflowTest, the_layer_is_named_and_computed_without_the_scheme) {
  load(kTwoLayers);
  EXPECT_THAT(run({1, 2, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(schemes("Mul"), ElementsAre("mul.half", "mul.half"));
  EXPECT_THAT(log_.lines, IsEmpty());
  EXPECT_EQ(g_runs, 2);
  // 260 * 260 = 67,600, which f16 cannot hold and f32 can.
  EXPECT_THAT(run({260, 1, 2}), ElementsAre(260, 1, 2));
  EXPECT_THAT(schemes("Mul"), ElementsAre("reference", "mul.half"));
  EXPECT_THAT(log_.lines, ElementsAre(AllOf(HasSubstr("\"big\""), HasSubstr("its sums overflow in scheme mul.half"))));
  EXPECT_EQ(g_runs, 4);
  const PlanState& state = *executor_->last_plans()[0];
  const SchemeChoice& first = state.choices.at(state.plan().steps()[0].node);
  ASSERT_THAT(first.refusals, SizeIs(1));
  EXPECT_EQ(first.refusals[0].reason, "its sums overflowed in a run");
}

TEST_F(OverflowTest, later_plans_remember_it) {
  load(kTwoLayers);
  run({260, 1, 2});
  EXPECT_THAT(run({300, 4}), ElementsAre(FloatNear(std::sqrt(70000.0f), 0.2f), 4));
  EXPECT_THAT(schemes("Mul"), ElementsAre("reference", "mul.half"));
  EXPECT_THAT(log_.lines, SizeIs(1));
}

TEST_F(OverflowTest, what_is_not_finite_before_is_no_overflow) {
  load(kTwoLayers);
  for (const float odd : {INFINITY, -INFINITY, NAN}) {
    run({odd, 1});
    EXPECT_THAT(schemes("Mul"), ElementsAre("mul.half", "mul.half"));
  }
  EXPECT_THAT(log_.lines, IsEmpty());
  EXPECT_THAT(run({260, 1}), ElementsAre(260, 1));
  EXPECT_THAT(log_.lines, SizeIs(1));
}

TEST_F(OverflowTest, many_layers_take_few_repeats) {
  std::string text = "graph {\n  input x: f32[n]\n  const most = f32[] 70000\n  root0 = Identity(x)\n";
  constexpr int kLayers = 40;
  for (int i = 0; i < kLayers; ++i)
    text += format("  big{} = Mul(root{}, root{})\n  h{} = Min(big{}, most)\n  root{} = Sqrt(h{})\n", i, i, i, i, i, i + 1, i);
  load(text + format("  output root{}\n}}", kLayers));
  EXPECT_THAT(run({260, 1}), ElementsAre(260, 1));
  EXPECT_THAT(schemes("Mul"), Each("reference"));
  ASSERT_THAT(log_.lines, SizeIs(9));
  EXPECT_THAT(log_.lines[8], HasSubstr("and 31 other nodes as well"));
}

TEST_F(OverflowTest, a_subgraph_is_planned_anew_within_its_node) {
  load(R"(graph {
  input x: f32[n]
  const count = i64[] 3
  const most = f32[] 70000
  outside = Mul(x, x)
  y = Loop(count, _, x) {body = graph {
    input i: i64[]
    input go: bool[]
    input v: f32[n]
    w = Add(v, v)
    big = Mul(w, w)
    h = Min(big, most)
    next = Sqrt(h)
    output go
    output next
  }}
  z = Sub(y, outside)
  output z
})");
  // 100, 200, 264.6: the third time (400 * 400) is too large for f16.
  EXPECT_THAT(run({100, 1}), ElementsAre(FloatNear(std::sqrt(70000.0f) - 10000, 0.2f), 7));
  EXPECT_THAT(schemes("Mul"), ElementsAre("mul.half"));
  EXPECT_THAT(log_.lines, ElementsAre(HasSubstr("\"big\"")));
}

// The same by a session: on ARM the products are of f16, elsewhere of bf16 or f32, and nothing overflows.
TEST(Overflow, precision_low_gives_what_f32_gives) {
  constexpr int64_t kChannels = 64;
  auto graph = parse_graph(R"(graph {
  input x: f32[1, 64, 6, 6]
  input w: f32[64, 64, 3, 3]
  h = Conv(x, w) {pads = [1, 1, 1, 1]}
  const low = f32[] 0
  const high = f32[] 6
  y = Clip(h, low, high)
  output y
})");
  Tensor weights(DType::f32, {kChannels, kChannels, 3, 3}), x(DType::f32, {1, kChannels, 6, 6});
  for (int64_t i = 0; i < weights.elements(); ++i) weights.writable().data<float>()[i] = i % 7 < 4 ? 30 : -29;
  for (int64_t i = 0; i < x.elements(); ++i) x.writable().data<float>()[i] = i % 5 < 3 ? 4000 : -3900;
  Value& w = *graph->inputs()[1];
  w.replace_all_uses_with(graph->add_constant(weights, "weights"));
  graph->remove_input(1);
  const Model model = Model::from_graph(std::move(graph));
  const auto outputs = [&](const char* precision, Session* session) {
    SessionOptions options;
    options.precision = precision;
    options.explain = true;
    *session = Session(model, options);
    return session->run({x});
  };
  Session low(model), high(model);
  const Log log;
  const Tensor got = outputs("low", &low)[0], want = outputs("high", &high)[0];
  for (int64_t i = 0; i < want.elements(); ++i) ASSERT_EQ(got.data<float>()[i], want.data<float>()[i]) << i;
  EXPECT_THAT(high.plan_report().rows, Each(testing::Field(&PlanRow::scheme, testing::Not(HasSubstr(".f16")))));
  EXPECT_THAT(low.plan_report().rows, Each(testing::Field(&PlanRow::scheme, testing::Not(HasSubstr(".f16")))));
  for (const std::string& line : log.lines) EXPECT_THAT(line, HasSubstr("its sums overflow in scheme conv.f16"));
}

}  // namespace
}  // namespace minnow

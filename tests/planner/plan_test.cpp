// SPDX-License-Identifier: Apache-2.0
// The cost of building a plan, and plans stay unchanged by runs.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "ops/infer.h"
#include "runtime/backends.h"
#include "runtime/executor.h"
#include "runtime/model.h"

namespace minnow {
namespace {

int g_prepared = 0;  // kernels of the backend below

/// A machine with small caches, on which batches are computed in parts.
class SmallBackend final : public Backend {
 public:
  SmallBackend() { device_.l1 = 1 << 10, device_.l2 = 2 << 10, device_.l3 = 4 << 10; }
  std::string_view name() const override { return "small"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override { return kSchemes; }

 private:
  struct Twice final : Kernel {
    void run(RunContext& context) const noexcept override {
      for (int64_t i = 0; i < context.outputs[0]->view.elements(); ++i) context.out<float>(0)[i] = 2 * context.in<float>(0)[i];
    }
  };
  static Estimate estimate(const NodeView& node, const Device&) { return 1e-9 * static_cast<double>(node.input_shape(0).elements()); }
  static std::unique_ptr<Kernel> prepare(PrepareContext&) {
    ++g_prepared;
    return std::make_unique<Twice>();
  }
  static constexpr Scheme kSchemes[] = {{"Neg", "twice", estimate, prepare}};
  Device device_;
};

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() : graph_(parse_graph("graph {\n  input x: f32[n, 64]\n  a = Neg(x)\n  b = Neg(a)\n  y = Neg(b)\n  output y\n}")) {
    infer_types(OperatorSet::builtin(), *graph_);
    context_.plan_with(OperatorSet::builtin(), {std::make_shared<SmallBackend>(), make_backend("reference", {})}, weights_, 0);
    g_prepared = 0;
  }
  std::unique_ptr<Graph> graph_;
  PackedWeights weights_;
  SessionContext context_;
};

TEST_F(PlanTest, a_first_run_prepares_each_kernel_once_though_the_batch_is_computed_in_parts) {
  Executor executor(*graph_, context_);
  executor.allow_parts();
  std::vector<float> x(64 * 64, 3);
  Slot slot;
  slot.view = TensorView(DType::f32, {64, 64}, x.data());
  const Slot* const live_ins[] = {&slot};
  for (int run = 0; run < 2; ++run) {
    executor.run(live_ins, [](size_t, DType, const Shape&) -> void* { return nullptr; });
    EXPECT_GT(executor.parts(), 1);
    EXPECT_EQ(g_prepared, 3);
    const TensorView y = executor.output(0).view;
    ASSERT_EQ(y.shape(), (Shape{64, 64}));
    for (int64_t i = 0; i < y.elements(); ++i) ASSERT_EQ(y.data<float>()[i], 24);
  }
}

TEST_F(PlanTest, several_states_share_a_plan) {
  PlanRequest request;
  for (const Node& node : graph_->nodes()) request.nodes.push_back(&node);
  LiveIn x;
  x.value = graph_->inputs()[0].get();
  x.info.dtype = DType::f32;
  x.info.shape = {2, 64};
  request.live_ins.push_back(x);
  request.outputs = {graph_->outputs()[0]};
  const std::shared_ptr<const Plan> plan = Plan::build(context_.environment, request);
  const auto no_subgraphs = [](const Node&, std::span<Slot* const>) -> std::unique_ptr<SubgraphRunner> { return nullptr; };
  PlanState one(plan, no_subgraphs), other(plan, no_subgraphs);
  EXPECT_EQ(&one.plan(), &other.plan());
  AlignedMemory arenas[2] = {allocate_aligned(plan->arena_bytes()), allocate_aligned(plan->arena_bytes())};
  std::vector<float> numbers(128, 1), results[2] = {std::vector<float>(128), std::vector<float>(128)};
  int number = 0;
  for (PlanState* state : {&one, &other}) {
    numbers.assign(128, static_cast<float>(number + 1));
    state->bind(static_cast<std::byte*>(arenas[number].get()));
    state->slots()[0].view = TensorView(DType::f32, {2, 64}, numbers.data());
    state->point_output(0, results[number++].data());
    for (size_t s = 0; s < plan->steps().size(); ++s) {
      RunContext context;
      context.inputs = state->steps()[s].inputs;
      context.outputs = state->steps()[s].outputs;
      plan->steps()[s].kernel->run(context);
    }
  }
  EXPECT_EQ(results[0][127], 8);
  EXPECT_EQ(results[1][127], 16);
  EXPECT_EQ(g_prepared, 3);
}

}  // namespace
}  // namespace minnow

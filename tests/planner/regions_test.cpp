// SPDX-License-Identifier: Apache-2.0
// Regions that a backend compiles as one, by a stand-in that runs each as a model of its own.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <random>
#include <set>

#include "backends/region.h"
#include "graph/expr.h"
#include "runtime/backends.h"

namespace minnow {
namespace {

class RegionKernel final : public Kernel {
 public:
  explicit RegionKernel(const Graph& region) : session_(Model::from_graph(region.clone()), options()) {}
  void run(RunContext& context) const noexcept override {
    try {
      std::vector<TensorView> inputs;
      std::vector<MutableTensorView> outputs;
      for (const Slot* slot : context.inputs) inputs.push_back(slot->view);
      for (const Slot* slot : context.outputs)
        outputs.emplace_back(slot->view.dtype(), slot->view.shape(), const_cast<void*>(slot->view.data()));
      session_.run(inputs, outputs);
    } catch (...) {
      context.fail(std::current_exception());
    }
  }

 private:
  static SessionOptions options() {
    SessionOptions made;
    made.backends = {"reference"};
    return made;
  }
  mutable Session session_;  // holds the values of its runs
};

class StubBackend final : public Backend, public RegionCompiler {
 public:
  StubBackend(std::set<std::string, std::less<>> taken, size_t least)
      : RegionCompiler("stub.region"), taken_(std::move(taken)), least_(least) {}
  std::string_view name() const override { return "stub"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override { return {}; }
  RegionCompiler* regions() override { return this; }
  bool accepts(const NodeView& node) const override { return taken_.contains(node.op()); }
  Estimate estimate(const Graph& region) const override {
    size_t nodes = 0;
    for ([[maybe_unused]] const Node& node : region.nodes()) ++nodes;
    return nodes < least_ ? declined("too few nodes") : Estimate(0);
  }
  std::unique_ptr<Kernel> compile(const Graph& region) override { return std::make_unique<RegionKernel>(region); }

 private:
  std::set<std::string, std::less<>> taken_;
  size_t least_;
  Device device_;
};

// The name of a backend that takes these operators, in regions of at least `least` nodes.
std::string stub(std::set<std::string, std::less<>> taken, size_t least = 1) {
  static int count = 0;
  const std::string name = "stub" + std::to_string(count++);
  add_backend(name, [=](const BackendOptions&) { return std::make_shared<StubBackend>(taken, least); });
  return name;
}

struct Found {
  std::vector<std::string> ops;
  std::vector<Tensor> outputs;
};
Found run(const Model& model, const std::vector<std::string>& backends, std::span<const TensorView> inputs) {
  SessionOptions options;
  options.backends = backends;
  Session session(model, options);
  Found found{{}, session.run(inputs)};
  for (const PlanRow& row : session.plan_report().rows) found.ops.push_back(row.op);
  return found;
}

Tensor values(size_t count) {
  std::vector<float> made(count);
  for (size_t i = 0; i < count; ++i) made[i] = static_cast<float>(i * 7 % 5) - 2;
  return Tensor::of_f32({static_cast<int64_t>(count)}, made);
}

void expect_equal(const Found& a, const Found& b) {
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t k = 0; k < a.outputs.size(); ++k)
    for (int64_t i = 0; i < a.outputs[k].elements(); ++i)
      ASSERT_NEAR(a.outputs[k].data<float>()[i], b.outputs[k].data<float>()[i], 1e-5) << k << " " << i;
}

TEST(Regions, connected_nodes_run_as_one_step) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {6})));
  const Expr y = b.op("Relu", {x + b.constant(values(6))}) - x;
  graph->add_output(*b.op("Erf", {y}).value());
  const Model model = Model::from_graph(std::move(graph));
  const Tensor x1 = values(6);
  const TensorView inputs[] = {x1};
  const Found found = run(model, {stub({"Add", "Relu", "Sub"}), "reference"}, inputs);
  EXPECT_EQ(found.ops, (std::vector<std::string>{std::string(kRegion), "Erf"}));
  expect_equal(found, run(model, {"reference"}, inputs));
}

TEST(Regions, no_path_leaves_a_region_and_enters_it_again) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {6})));
  const Expr a = b.op("Relu", {x});
  graph->add_output(*(a + b.op("Erf", {a})).value());
  const Model model = Model::from_graph(std::move(graph));
  const Tensor x1 = values(6);
  const TensorView inputs[] = {x1};
  const Found found = run(model, {stub({"Add", "Relu"}), "reference"}, inputs);
  EXPECT_EQ(found.ops, (std::vector<std::string>{std::string(kRegion), "Erf", std::string(kRegion)}));
  expect_equal(found, run(model, {"reference"}, inputs));
}

TEST(Regions, a_region_that_is_declined_stays_with_others) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {6})));
  graph->add_output(*b.op("Relu", {b.op("Erf", {b.op("Relu", {x + x})})}).value());
  const Model model = Model::from_graph(std::move(graph));
  const Tensor x1 = values(6);
  const TensorView inputs[] = {x1};
  const Found found = run(model, {stub({"Add", "Relu"}, 2), "reference"}, inputs);
  EXPECT_EQ(found.ops, (std::vector<std::string>{std::string(kRegion), "Erf", "Relu"}));
  expect_equal(found, run(model, {"reference"}, inputs));
}

// Nodes read any earlier values; the backend takes some operators.
TEST(Regions, random_graphs_give_the_same_results) {
  const std::vector<std::string> unary = {"Relu", "Erf", "Neg", "Abs", "Tanh"}, binary = {"Add", "Sub", "Max"};
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    std::vector<Expr> made = {b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {5}))),
                              b.wrap(&graph->add_input("y", ValueType::tensor(DType::f32, {5})))};
    const auto any = [&] { return made[made.size() - 1 - random() % std::min<size_t>(made.size(), 5)]; };
    for (int i = 0; i < 14; ++i)
      made.push_back(random() % 2 ? b.op(unary[random() % unary.size()], {any()}) : b.op(binary[random() % binary.size()], {any(), any()}));
    for (int i = 0; i < 3; ++i) graph->add_output(*made[2 + random() % (made.size() - 2)].value());
    std::set<std::string, std::less<>> taken;
    for (const auto& names : {unary, binary})
      for (const std::string& name : names)
        if (random() % 2) taken.insert(name);
    const Model model = Model::from_graph(std::move(graph));
    const Tensor x = values(5), y = Tensor::of_f32({5}, std::vector<float>{0.5f, -1, 3, 0, -0.25f});
    const TensorView inputs[] = {x, y};
    expect_equal(run(model, {stub(taken), "reference"}, inputs), run(model, {"reference"}, inputs));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace minnow

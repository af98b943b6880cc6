// SPDX-License-Identifier: Apache-2.0
// Values in one another's memory: the plan's decisions for chains, joins and splits, and results equal to those of plain loops.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <random>

#include "graph/expr.h"
#include "passes/pipeline.h"
#include "planner/draft.h"
#include "support/networks.h"

namespace minnow {
namespace {

// Steps and values of a plan by hand: value(bytes) gives the index, step(inputs, outputs) appends a step.
struct Hand {
  std::vector<PlanValue> values;
  std::vector<Step> steps;

  uint32_t value(size_t bytes) {
    PlanValue made;
    made.bytes = bytes;
    values.push_back(made);
    return static_cast<uint32_t>(values.size() - 1);
  }
  Step& step(std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
    const uint32_t s = static_cast<uint32_t>(steps.size());
    for (uint32_t v : outputs) values[v].first = values[v].last = s;
    for (uint32_t v : inputs) values[v].last = s;
    Step made;
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    steps.push_back(std::move(made));
    return steps.back();
  }
};

TEST(Sharing, the_parts_of_a_join_lie_in_the_whole) {
  Hand h;
  const uint32_t a = h.value(64), b = h.value(128), whole = h.value(192), end = h.value(8);
  h.step({}, {a});
  h.step({}, {b});
  h.step({a, b}, {whole}).estimate.joins = true;
  h.step({whole}, {end});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[a].alias, whole);
  EXPECT_EQ(h.values[a].alias_offset, 0u);
  EXPECT_EQ(h.values[b].alias, whole);
  EXPECT_EQ(h.values[b].alias_offset, 64u);
  EXPECT_EQ(h.values[whole].first, 0u);
}

TEST(Sharing, a_join_of_joins_is_one_memory) {
  Hand h;
  const uint32_t a = h.value(64), b = h.value(64), first = h.value(128), c = h.value(64), second = h.value(192), end = h.value(8);
  h.step({}, {a});
  h.step({}, {b});
  h.step({a, b}, {first}).estimate.joins = true;
  h.step({}, {c});
  h.step({c, first}, {second}).estimate.joins = true;
  h.step({second}, {end});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[b].alias, second);
  EXPECT_EQ(h.values[b].alias_offset, 128u);
  EXPECT_EQ(h.values[first].alias_offset, 64u);
  EXPECT_EQ(h.values[c].alias_offset, 0u);
  EXPECT_EQ(h.values[second].alias, kNone);
}

TEST(Sharing, what_is_written_in_place_goes_along) {
  Hand h;
  const uint32_t a = h.value(64), b = h.value(64), c = h.value(64), whole = h.value(128), end = h.value(8);
  h.step({}, {a});
  h.step({a}, {b}).estimate.overwrites = 0;
  h.step({}, {c});
  h.step({c, b}, {whole}).estimate.joins = true;
  h.step({whole}, {end});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[a].alias, whole);
  EXPECT_EQ(h.values[b].alias_offset, 64u);
  EXPECT_EQ(h.values[whole].first, 0u);
}

TEST(Sharing, a_value_that_a_step_reads_twice_is_not_overwritten) {
  Hand h;
  const uint32_t a = h.value(64), b = h.value(64), c = h.value(64), d = h.value(64);
  h.step({}, {a});
  h.step({a}, {b}).estimate.overwrites = 0;
  h.step({b, b}, {c}).estimate.overwrites = 1;
  h.step({c}, {d});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[b].alias, a);
  EXPECT_EQ(h.values[c].alias, kNone);
}

TEST(Sharing, a_part_that_is_read_later_or_twice_is_copied) {
  Hand h;
  const uint32_t a = h.value(64), b = h.value(64), whole = h.value(192), end = h.value(8);
  h.step({}, {a});
  h.step({}, {b});
  h.step({a, b, b}, {whole}).estimate.joins = true;
  h.step({whole, a}, {end});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[a].alias, kNone);  // read after the join
  EXPECT_EQ(h.values[b].alias, whole);  // its first place
  EXPECT_EQ(h.values[b].alias_offset, 64u);
}

TEST(Sharing, parts_of_a_split_that_are_overwritten_do_not_meet) {
  Hand h;
  const uint32_t whole = h.value(128), a = h.value(64), b = h.value(64), c = h.value(64), end = h.value(8);
  h.step({}, {whole});
  h.step({whole}, {a, b}).estimate.parts = true;
  h.step({b}, {c}).estimate.overwrites = 0;
  h.step({a, c}, {end});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[a].alias, whole);
  EXPECT_EQ(h.values[c].alias, whole);
  EXPECT_EQ(h.values[c].alias_offset, 64u);
  EXPECT_EQ(h.values[whole].last, 3u);
}

TEST(Sharing, a_split_whole_that_is_read_later_is_copied) {
  Hand h;
  const uint32_t whole = h.value(128), a = h.value(64), b = h.value(64), end = h.value(8);
  h.step({}, {whole});
  h.step({whole}, {a, b}).estimate.parts = true;
  h.step({a, b, whole}, {end});
  share_memory(h.steps, h.values, true);
  EXPECT_EQ(h.values[a].alias, kNone);
}

TEST(Sharing, a_view_lies_in_a_value_that_is_read_later) {
  for (const bool may_share : {true, false}) {
    Hand h;
    const uint32_t a = h.value(64), view = h.value(64), b = h.value(64), c = h.value(64), d = h.value(64), end = h.value(8);
    const auto view_of = [&](uint32_t from, uint32_t to) {
      Estimate& estimate = h.step({from}, {to}).estimate;
      estimate.overwrites = 0, estimate.is_view = true;
    };
    h.step({}, {a});
    view_of(a, view);
    h.step({view}, {b}).estimate.overwrites = 0;  // a is read later
    h.step({a, b}, {c}).estimate.overwrites = 0;  // neither is
    h.step({c}, {d}).estimate.overwrites = 0;
    h.step({d}, {end});
    EXPECT_EQ(share_memory(h.steps, h.values, may_share), may_share);
    EXPECT_EQ(h.values[view].alias, may_share ? a : kNone);
    EXPECT_EQ(h.values[b].alias, may_share ? kNone : view);
    EXPECT_EQ(h.values[c].alias, a);
    EXPECT_EQ(h.values[d].alias, a);
  }
}

TEST(Sharing, a_value_that_is_read_beside_its_view_is_not_overwritten) {
  Hand h;
  const uint32_t a = h.value(64), view = h.value(64), b = h.value(64), end = h.value(8);
  h.step({}, {a});
  Estimate& estimate = h.step({a}, {view}).estimate;
  estimate.overwrites = 0, estimate.is_view = true;
  h.step({a, view}, {b}).estimate.overwrites = 0;
  h.step({b}, {end});
  EXPECT_TRUE(share_memory(h.steps, h.values, true));
  EXPECT_EQ(h.values[view].alias, a);
  EXPECT_EQ(h.values[b].alias, kNone);
}

// Random graphs of joins, splits, views and elementwise steps: the same numbers as the reference backend, which shares nothing of it.
TEST(Sharing, random_graphs_give_what_plain_loops_give) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder b(*graph);
    struct Item {
      Expr value;
      int64_t channels;
    };
    std::vector<Item> items = {{b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {1, 32, 3, 5}))), 32}};
    const auto pick = [&]() -> const Item& { return items[random() % 3 == 0 ? random() % items.size() : items.size() - 1]; };
    for (int i = 0; i < 12; ++i) {
      const Item x = pick(), y = pick();
      switch (random() % 6) {
        case 0:
          items.push_back({op("Relu", {x.value - 0.1}), x.channels});
          break;
        case 1:
          if (x.channels + y.channels <= 128)
            items.push_back({b.op("Concat", {x.value, y.value}, {{"axis", int64_t{1}}}), x.channels + y.channels});
          break;
        case 2:
          if (x.channels >= 16) {
            const int64_t first = random() % 2 ? x.channels / 2 : x.channels - 3;
            const Exprs parts = b.ops("Split", {x.value, b.constant({first, x.channels - first})}, 2, {{"axis", int64_t{1}}});
            items.push_back({parts[0], first});
            items.push_back({parts[1], x.channels - first});
          }
          break;
        case 3:
          if (x.channels == y.channels) items.push_back({x.value + y.value, x.channels});
          break;
        case 4:
          items.push_back({b.op("Reshape", {x.value, b.constant({1, x.channels, 3, 5})}), x.channels});
          break;
        case 5: {
          Tensor w(DType::f32, {16, x.channels, 1, 1});
          for (int64_t k = 0; k < w.elements(); ++k) w.writable().data<float>()[k] = static_cast<float>(random() % 200) * 1e-3f - 0.1f;
          items.push_back({b.op("Conv", {x.value, b.constant(std::move(w))}), 16});
          break;
        }
      }
    }
    graph->add_output(*items.back().value.value());
    graph->add_output(*items[items.size() / 2].value.value());
    const Model model = Model::from_graph(std::move(graph));
    Tensor x(DType::f32, {1, 32, 3, 5});
    for (int64_t k = 0; k < x.elements(); ++k) x.writable().data<float>()[k] = static_cast<float>(random() % 2000) * 1e-3f - 1;
    SessionOptions options;
    options.threads = 1;
    Session session(model, options);
    session.run({x});
    const std::vector<Tensor> got = session.run({x});
    options.backends = {"reference"};
    const std::vector<Tensor> want = Session(model, options).run({x});
    for (size_t k = 0; k < want.size(); ++k)
      for (int64_t i = 0; i < want[k].elements(); ++i)
        ASSERT_NEAR(got[k].data<float>()[i], want[k].data<float>()[i], 1e-4) << "round " << round << ", output " << k << ", element " << i;
  }
}

TEST(Sharing, squeezenet_joins_without_copies_and_arenas_are_tight) {
  for (const std::string_view name : test::kNetworks) {
    std::unique_ptr<Graph> graph = test::make_network(name, 224);
    optimize(*graph, OperatorSet::builtin());
    const Model model = Model::from_graph(std::move(graph));
    SessionOptions options;
    options.threads = 1;
    Session session(model, options);
    session.set_profiling(true);  // without row tiling, whose choice depends on the machine's caches
    const Shape shapes[] = {{1, 3, 224, 224}};
    session.prepare(shapes);
    const PlanReport report = session.plan_report();
    EXPECT_LE(static_cast<double>(report.arena_bytes), 1.15 * static_cast<double>(report.arena_lower_bound)) << name;
  }
}

}  // namespace
}  // namespace minnow

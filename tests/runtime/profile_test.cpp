// SPDX-License-Identifier: Apache-2.0
// Rows of the nodes inside control flow.
#include "runtime/profile.h"

#include <gmock/gmock.h>

#include "graph/expr.h"
#include "graph/graph.h"

namespace minnow {
namespace {

using testing::HasSubstr;

SessionOptions one_thread() {
  SessionOptions options;
  options.threads = 1;
  return options;
}

// Doubles v while there are turns left, and adds what an If chooses; v grows where `grows`, so that every turn has a plan of its own.
std::string loop_text(bool grows) {
  return std::string(R"(graph {
    input turns: i64[]
    input v: f32[n]
    const one = f32[] 1
    const none = f32[] 0
    const big = f32[] 100
    before = Neg(v)
    y = Loop(turns, _, before) {body = graph {
      input i: i64[]
      input going: bool[]
      input h: f32[?]
      go = Identity(going)
      total = ReduceSum(h) {keepdims = 0}
      large = Greater(total, big)
      term = If(large) {then_branch = graph {
        less = Sub(none, one)
        output less
      }, else_branch = graph {
        more = Exp(none)
        again = Add(more, one)
        output again
      }}
      sum = Add(h, term)
)") + (grows ? "      next = Concat(sum, sum) {axis = 0}\n" : "      next = Mul(sum, one)\n") +
         R"(
      output go
      output next
    }}
    output y
  })";
}

std::vector<PlanRow> rows_of(const PlanReport& report, size_t depth) {
  std::vector<PlanRow> rows;
  for (const PlanRow& row : report.rows)
    if (row.depth == depth) rows.push_back(row);
  return rows;
}

const PlanRow* find(const PlanReport& report, std::string_view node) {
  for (const PlanRow& row : report.rows)
    if (row.node == node) return &row;
  return nullptr;
}

TEST(Profile, nodes_of_subgraphs_have_rows_behind_their_owner) {
  for (const bool grows : {false, true}) {
    const Model model = Model::from_graph(parse_graph(loop_text(grows)));
    Session session(model, one_thread());
    const Tensor v = Tensor::of_f32({1}, std::vector<float>{-1});
    const int64_t turns = grows ? 18 : 5;  // more shapes than a session keeps plans
    session.run({Tensor::scalar_i64(turns), v});
    EXPECT_TRUE(rows_of(session.plan_report(), 1).empty()) << "nothing was measured yet";
    session.set_profiling(true);
    for (int i = 0; i < 3; ++i) session.run({Tensor::scalar_i64(turns), v});
    const PlanReport report = session.plan_report();
    const PlanRow *loop = find(report, "y"), *sum = find(report, "sum"), *choice = find(report, "term"), *before = find(report, "before");
    ASSERT_TRUE(loop && sum && choice && before);
    EXPECT_EQ(before->calls, 1u);
    EXPECT_EQ(before->owner, "");
    EXPECT_EQ(sum->owner, "y.body");
    EXPECT_EQ(sum->depth, 1u);
    EXPECT_EQ(sum->calls, static_cast<uint64_t>(turns));
    EXPECT_EQ(sum->runs, 3u);
    EXPECT_EQ(sum->shape, grows ? "?" : "[1]");
    EXPECT_GT(sum->measured_seconds, 0);
    EXPECT_LE(sum->best_seconds, sum->measured_seconds);
    // The constants of the branch are folded when it is planned: what remains is what runs.
    if (const PlanRow* inner = find(report, "again")) {
      EXPECT_EQ(inner->owner, "y.body/term.else_branch");
      EXPECT_EQ(inner->depth, 2u);
    }
    // Each row stands behind its owner, and what runs within a node takes no longer than the node.
    double within = 0;
    for (const PlanRow& row : rows_of(report, 1)) within += row.measured_seconds;
    EXPECT_LE(within, loop->measured_seconds);
    EXPECT_LT(loop, sum);
    EXPECT_LT(sum, report.rows.data() + report.rows.size());
    EXPECT_EQ(rows_of(report, 0).size(), 2u);
  }
}

TEST(Profile, calls_of_a_run_are_counted_anew_in_the_next) {
  Session session(Model::from_graph(parse_graph(loop_text(false))), one_thread());
  const Tensor v = Tensor::of_f32({1}, std::vector<float>{-1});
  session.set_profiling(true);
  session.run({Tensor::scalar_i64(7), v});
  session.run({Tensor::scalar_i64(2), v});
  const PlanReport report = session.plan_report();
  const PlanRow* sum = find(report, "sum");
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->calls, 2u);
  EXPECT_EQ(sum->runs, 2u);
  session.run({Tensor::scalar_i64(0), v});  // no call at all: the row keeps what the last run with calls gave
  EXPECT_EQ(find(session.plan_report(), "sum")->runs, 2u);
}

TEST(Profile, a_trace_draws_inner_nodes_within_their_owner) {
  PlanReport report;
  const auto add = [&](const char* node, size_t depth, double start, double seconds, uint64_t calls) {
    PlanRow row;
    row.node = node, row.op = "Op", row.depth = depth, row.start_seconds = start, row.measured_seconds = seconds, row.calls = calls;
    row.owner = depth ? "loop.body" : "";
    report.rows.push_back(row);
  };
  add("loop", 0, 1e-3, 5e-3, 1);
  add("a", 1, 1.1e-3, 2e-3, 10);
  add("b", 1, 1.2e-3, 1e-3, 10);
  add("deep", 2, 1.3e-3, 0.5e-3, 20);
  add("c", 1, 1.3e-3, 1e-3, 10);
  add("after", 0, 7e-3, 1e-3, 1);
  const std::string trace = chrome_trace(report);
  std::vector<double> starts;
  for (size_t at = trace.find("\"ts\":"); at != trace.npos; at = trace.find("\"ts\":", at + 1))
    starts.push_back(std::stod(trace.substr(at + 5)));
  ASSERT_EQ(starts.size(), 6u);
  const double expected[] = {1000, 1000, 3000, 3000, 4000, 7000};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(starts[i], expected[i], 1e-6);
  EXPECT_THAT(trace, HasSubstr("\"owner\":\"loop.body\",\"calls\":20"));
  // A report that no session made.
  PlanReport odd;
  odd.rows.resize(1);
  odd.rows[0].depth = 5;
  EXPECT_THAT(chrome_trace(odd), HasSubstr("traceEvents"));
}

}  // namespace
}  // namespace minnow

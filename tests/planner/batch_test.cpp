// SPDX-License-Identifier: Apache-2.0
// Batches in parts: which graphs allow it, and that the results are those of plain loops over the whole batch.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "graph/expr.h"
#include "support/random.h"

namespace minnow {
namespace {

using test::random_tensor;
using MakeOutputs = std::function<Exprs(GraphBuilder&, const Expr& x)>;

Model batch_model(const MakeOutputs& make, std::optional<int64_t> batch) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  ValueType type = ValueType::tensor(DType::f32);
  type.dims = {{batch ? Dim{*batch, ""} : Dim{-1, "n"}, Dim{8, ""}, Dim{24, ""}, Dim{24, ""}}};
  for (const Expr& y : make(b, b.wrap(&graph->add_input("x", type)))) graph->add_output(*y.value());
  return Model::from_graph(std::move(graph));
}

void expect_close(const Tensor& got, const Tensor& wanted) {
  EXPECT_EQ(got.shape(), wanted.shape());
  if (got.dtype() != DType::f32 || got.shape() != wanted.shape()) return;
  const float *y = got.data<float>(), *w = wanted.data<float>();
  float largest = 1, difference = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    largest = std::max(largest, std::abs(w[i]));
    difference = std::max(difference, std::abs(y[i] - w[i]));
  }
  EXPECT_LE(difference, 2e-5f * largest);
}

// The parts that a session with little memory makes of the batch; the results are checked.
int64_t parts_of(const MakeOutputs& make, int64_t batch, bool open_batch = true) {
  const Model model = batch_model(make, open_batch ? std::optional<int64_t>() : batch);
  SessionOptions plain;
  plain.backends = {"reference"};
  SessionOptions low;
  low.memory = "low";
  low.threads = 1;  // with many, parts so small are estimated to take longer
  Session expected(model, plain), session(model, low);
  const Tensor x = random_tensor({batch, 8, 24, 24});
  const std::vector<Tensor> wanted = expected.run({x});
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> got = session.run({x});
    EXPECT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k) expect_close(got[k], wanted[k]);
  }
  return session.plan_report().batch_parts;
}

Expr weights(GraphBuilder& b, const Shape& shape) { return b.constant(random_tensor(shape)); }
Expr conv3x3(GraphBuilder& b, const Expr& x) { return b.op("Conv", {x, weights(b, {8, 8, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}}); }

TEST(Batch, a_network_of_images_is_computed_in_parts) {
  const MakeOutputs network = [](GraphBuilder& b, const Expr& x) -> Exprs {
    const Expr y = op("Relu", {conv3x3(b, x)}) + x;
    const Expr pooled = b.op("MaxPool", {conv3x3(b, y)}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    const Expr flat = b.op("Flatten", {pooled});
    const Expr scores = b.op("Gemm", {flat, weights(b, {8 * 144, 10}), weights(b, {10})});
    return {b.op("Softmax", {scores}), y};
  };
  EXPECT_EQ(parts_of(network, 8), 4);
  EXPECT_EQ(parts_of(network, 9), 3);
  EXPECT_EQ(parts_of(network, 8, false), 4);
  EXPECT_EQ(parts_of(network, 2), 1);  // parts of 1 could be broadcast
  EXPECT_EQ(parts_of(network, 7), 1);
}

TEST(Batch, shapes_that_are_computed_from_the_batch) {
  const MakeOutputs network = [](GraphBuilder& b, const Expr& x) -> Exprs {
    const Expr n = b.op("Gather", {op("Shape", {conv3x3(b, x)}), b.constant(Ints{0})}, {{"axis", int64_t{0}}});
    const Expr shape = b.op("Concat", {n, b.constant(Ints{-1, 24})}, {{"axis", int64_t{0}}});
    return {b.op("Softmax", {b.op("Reshape", {conv3x3(b, x), shape})})};
  };
  EXPECT_EQ(parts_of(network, 8), 4);
}

TEST(Batch, attention_norms_and_slices_of_each_entry) {
  const MakeOutputs network = [](GraphBuilder& b, const Expr& x) -> Exprs {
    const Expr rows = b.op("Reshape", {x, b.constant(Ints{0, 64, -1})});
    const Expr normal = b.op("LayerNormalization", {rows, weights(b, {72})}, {{"axis", int64_t{-1}}});
    const Expr q = b.op("MatMul", {normal, weights(b, {72, 72})}), k = b.op("Transpose", {normal}, {{"perm", Ints{0, 2, 1}}});
    const Expr seen = b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, k})}), normal});
    const Expr half = b.op("Slice", {seen, b.constant(Ints{1}), b.constant(Ints{40}), b.constant(Ints{2})});
    return {b.op("Concat", {half, normal}, {{"axis", int64_t{2}}}), b.op("ReduceMean", {half, b.constant(Ints{1, 2})})};
  };
  EXPECT_EQ(parts_of(network, 8), 4);
}

TEST(Batch, what_mixes_the_entries_is_computed_whole) {
  const std::pair<const char*, MakeOutputs> networks[] = {
      {"softmax over the batch",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {b.op("Softmax", {conv3x3(b, x)}, {{"axis", int64_t{0}}})};
       }},
      {"sum over the batch",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {b.op("ReduceSum", {conv3x3(b, x), b.constant(Ints{0})})};
       }},
      {"minus the mean of the batch",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {conv3x3(b, x) - b.op("ReduceMean", {x, b.constant(Ints{0})})};
       }},
      {"backward",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {b.op("Slice", {conv3x3(b, x), b.constant(Ints{-1}), b.constant(Ints{-1000}), b.constant(Ints{0}), b.constant(Ints{-1})})};
       }},
      {"a shift",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {b.op("Pad", {conv3x3(b, x), b.constant(Ints{1, 0, 0, 0, -1, 0, 0, 0})})};
       }},
      {"running sums",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {b.op("CumSum", {conv3x3(b, x), b.constant(Ints{0})})};
       }},
      {"divided by the number of entries",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         const Expr n = b.op("Gather", {op("Shape", {x}), b.constant(Ints{0})}, {{"axis", int64_t{0}}});
         return {conv3x3(b, x) / b.op("Cast", {n}, {{"to", int64_t{1}}})};
       }},
      {"the entries against one another",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         const Expr rows = b.op("Flatten", {conv3x3(b, x)});
         return {b.op("MatMul", {rows, b.op("Transpose", {rows}, {{"perm", Ints{1, 0}}})})};
       }},
      {"the batch as channels",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {b.op("Transpose", {conv3x3(b, x)}, {{"perm", Ints{1, 0, 2, 3}}})};
       }},
      {"a bias of each entry in the place of channels",  // as long as the batch, which is 8
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         const Expr means = b.op("ReduceMean", {x, b.constant(Ints{1, 2, 3})}, {{"keepdims", int64_t{0}}});
         return {b.op("ReduceMean", {conv3x3(b, x), b.constant(Ints{2, 3})}, {{"keepdims", int64_t{0}}}) + means};
       }},
      {"a constant of each entry",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         return {conv3x3(b, x) + weights(b, {8, 1, 1, 1})};
       }},
      {"places in the whole",
       [](GraphBuilder& b, const Expr& x) -> Exprs {
         const Exprs pooled = b.ops("MaxPool", {conv3x3(b, x)}, 2, {{"kernel_shape", Ints{2, 2}}});
         return {pooled[0], b.op("Cast", {pooled[1]}, {{"to", int64_t{1}}})};
       }},
  };
  for (const auto& [name, make] : networks) {
    SCOPED_TRACE(name);
    EXPECT_EQ(parts_of(make, 8), 1);
  }
}

TEST(Batch, callbacks_see_it_whole_and_runs_go_on_in_parts) {
  const Model model = batch_model([](GraphBuilder& b, const Expr& x) -> Exprs { return {op("Relu", {conv3x3(b, x)})}; }, {});
  SessionOptions low;
  low.memory = "low";
  low.threads = 1;  // with many, parts so small are estimated to take longer
  Session session(model, low);
  const Tensor x = random_tensor({8, 8, 24, 24});
  session.run({x});
  EXPECT_EQ(session.plan_report().batch_parts, 4);
  int64_t seen = 0;
  session.set_callbacks({}, [&](NodeEvent& event) {
    seen = event.output(0).shape()[0];
    return true;
  });
  session.run({x});
  EXPECT_EQ(seen, 8);
  session.set_callbacks({}, {});
  session.run({x});
  EXPECT_EQ(session.plan_report().batch_parts, 4);
}

TEST(Batch, one_that_is_over_the_memory_limit_is_computed_in_parts_that_fit) {
  const Model model = batch_model([](GraphBuilder& b, const Expr& x) -> Exprs { return {op("Relu", {conv3x3(b, conv3x3(b, x))})}; }, {});
  const Tensor x = random_tensor({8, 8, 24, 24});
  SessionOptions limited;
  limited.threads = 1;  // each has scratch of its own
  Session whole(model, limited);
  const std::vector<Tensor> wanted = whole.run({x});
  ASSERT_EQ(whole.plan_report().batch_parts, 1);
  const size_t bytes = whole.plan_report().arena_bytes;

  limited.memory_limit = bytes - bytes / 8;  // scratch does not shrink with the batch
  Session session(model, limited);
  const std::vector<Tensor> got = session.run({x});
  EXPECT_GT(session.plan_report().batch_parts, 1);
  EXPECT_LE(session.plan_report().arena_bytes, limited.memory_limit);
  expect_close(got[0], wanted[0]);

  limited.memory_limit = bytes / 64;
  EXPECT_THROW(Session(model, limited).run({x}), OutOfMemory);
}

}  // namespace
}  // namespace minnow

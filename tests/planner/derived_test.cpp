// SPDX-License-Identifier: Apache-2.0
// Weights stored in fewer bits: they are planned like the f32 weights that they stand for, and not kept beside their packed form.
#include "planner/derived.h"

#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/numeric.h"
#include "graph/expr.h"
#include "support/random.h"

namespace minnow {
namespace {

using test::random_tensor;

Tensor random_bytes(DType dtype, const Shape& shape, int lowest, int highest) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> uniform(lowest, highest);
  Tensor tensor(dtype, shape);
  uint8_t* to = static_cast<uint8_t*>(tensor.writable().data());
  for (int64_t i = 0; i < shape.elements(); ++i) to[i] = static_cast<uint8_t>(uniform(random));
  return tensor;
}

Tensor halves(const Shape& shape) {
  const Tensor wide = random_tensor(shape);
  Tensor tensor(DType::f16, shape);
  uint16_t* to = static_cast<uint16_t*>(tensor.writable().data());
  for (int64_t i = 0; i < shape.elements(); ++i) to[i] = f16_from_f32(wide.data<float>()[i]);
  return tensor;
}

using MakeWeights = std::function<Expr(GraphBuilder& b)>;

Model weights_model(const MakeWeights& make_weights, bool product) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  ValueType type = ValueType::tensor(DType::f32);
  if (product)
    type.dims = {{Dim{-1, "n"}, Dim{64, ""}}};
  else
    type.dims = {{Dim{1, ""}, Dim{64, ""}, Dim{-1, "h"}, Dim{9, ""}}};
  const Expr x = b.wrap(&graph->add_input("x", type));
  const Expr y = product ? b.op("MatMul", {x, make_weights(b)}) : b.op("Conv", {x, make_weights(b)}, {{"pads", Ints{1, 1, 1, 1}}});
  graph->add_output(*y.value());
  return Model::from_graph(std::move(graph));
}

void expect_planned_as_f32(const MakeWeights& make_weights, bool product = false) {
  const Model model = weights_model(make_weights, product);
  SessionOptions plain;
  plain.backends = {"reference"};
  Session expected(model, plain), session(model);
  for (const int64_t size : {9, 5, 9}) {
    const Tensor x = random_tensor(product ? Shape{size, 64} : Shape{1, 64, size, 9});
    const Tensor wanted = expected.run({x})[0], got = session.run({x})[0];
    for (const PlanRow& row : session.plan_report().rows) {
      EXPECT_NE(row.backend, "reference") << row.op;
      EXPECT_TRUE(row.op == "Conv" || row.op == "MatMul" || row.op == "minnow.Reorder") << row.op << " is computed in every run";
    }
    ASSERT_EQ(got.shape(), wanted.shape());
    float largest = 1, difference = 0;
    for (int64_t i = 0; i < got.elements(); ++i) {
      largest = std::max(largest, std::abs(wanted.data<float>()[i]));
      difference = std::max(difference, std::abs(wanted.data<float>()[i] - got.data<float>()[i]));
    }
    EXPECT_LE(difference, 2e-5f * largest);
  }
}

const Shape kKernel{64, 64, 3, 3};

TEST(DerivedConstants, halves_that_are_widened) {
  expect_planned_as_f32([](GraphBuilder& b) { return cast(b.constant(halves(kKernel)), DType::f32); });
  expect_planned_as_f32([](GraphBuilder& b) { return cast(b.constant(halves({64, 48})), DType::f32); }, true);
}

TEST(DerivedConstants, bytes_with_scales) {
  expect_planned_as_f32([](GraphBuilder& b) {
    return b.op("DequantizeLinear", {b.constant(random_bytes(DType::i8, kKernel, -127, 127)), b.constant(random_tensor({64}))},
                {{"axis", int64_t{0}}});
  });
  expect_planned_as_f32(
      [](GraphBuilder& b) {
        return b.op("DequantizeLinear",
                    {b.constant(random_bytes(DType::u8, {64, 48}, 0, 255)), b.constant(random_tensor({48})),
                     b.constant(random_bytes(DType::u8, {48}, 100, 140))},
                    {{"axis", int64_t{1}}});
      },
      true);
}

// As TensorFlow's transforms of graphs write them.
TEST(DerivedConstants, bytes_between_a_least_and_a_largest_number) {
  expect_planned_as_f32([](GraphBuilder& b) {
    const Expr wide = cast(b.constant(random_bytes(DType::u8, kKernel, 0, 255)), DType::f32);
    return b.op("Add", {b.op("Mul", {wide, b.scalar(0.01)}), b.scalar(-1.3)});
  });
}

TEST(DerivedConstants, four_bits_in_blocks) {
  expect_planned_as_f32(
      [](GraphBuilder& b) {
        return b.op("DequantizeLinear",
                    {b.constant(random_bytes(DType::u4, {64, 48}, 0, 15)), b.constant(random_tensor({4, 48})),
                     b.constant(random_bytes(DType::u4, {4, 48}, 6, 9))},
                    {{"axis", int64_t{0}}, {"block_size", int64_t{16}}});
      },
      true);
}

TEST(DerivedConstants, several_steps_in_a_row) {
  expect_planned_as_f32([](GraphBuilder& b) {
    const Expr wide = cast(b.constant(halves({9, 64, 64})), DType::f32);
    const Expr scaled = b.op("Mul", {wide, b.constant(random_tensor({64}))});
    const Expr turned = b.op("Transpose", {scaled}, {{"perm", Ints{2, 1, 0}}});
    return b.op("Reshape", {turned, b.constant({64, 64, 3, 3})});
  });
}

TEST(DerivedConstants, what_runs_read_is_there) {
  auto graph = std::make_unique<Graph>();
  GraphBuilder b(*graph);
  const Expr x = b.wrap(&graph->add_input("x", ValueType::tensor(DType::f32, {64, 64})));
  const Expr rows = b.wrap(&graph->add_input("rows", ValueType::tensor(DType::i64, {3})));
  const Tensor narrow = halves({64, 64});
  const Expr wide = cast(b.constant(narrow), DType::f32);
  graph->add_output(*b.op("MatMul", {x, wide}).value());
  graph->add_output(*(x + wide).value());
  graph->add_output(*b.op("Gather", {wide, rows}).value());
  graph->add_output(*wide.value());
  const Model model = Model::from_graph(std::move(graph));
  SessionOptions plain;
  plain.backends = {"reference"};
  const Tensor at = random_tensor({64, 64}), places = Tensor::of_i64({3}, std::vector<int64_t>{5, 0, 63});
  Session expected(model, plain), session(model);
  const std::vector<Tensor> wanted = expected.run({at, places}), got = session.run({at, places});
  for (size_t k = 0; k < wanted.size(); ++k)
    for (int64_t i = 0; i < wanted[k].elements(); ++i)
      ASSERT_NEAR(got[k].data<float>()[i], wanted[k].data<float>()[i], 1e-4f) << "output " << k;
  for (int64_t i = 0; i < narrow.elements(); ++i) ASSERT_EQ(got[3].data<float>()[i], f32_from_f16(narrow.data<uint16_t>()[i]));
}

// Plans of other shapes, and other sessions, find the packed form by the stored constant and the operations on it.
TEST(DerivedConstants, the_packed_form_is_known_by_the_source) {
  struct Packed final : WeightStore {
    std::vector<std::pair<const void*, Packing>> keys;
    std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing, FunctionRef<void(const TensorView&, void*)>) override {
      keys.emplace_back(weight.data(), packing);
      return nullptr;
    }
  } packed;
  Graph graph;
  GraphBuilder b(graph);
  const Tensor bytes = random_bytes(DType::i8, {32, 64}, -127, 127);
  std::vector<const Node*> nodes;
  for (const unsigned seed : {1u, 1u, 2u})
    nodes.push_back(b.op("DequantizeLinear", {b.constant(bytes), b.constant(random_tensor({64}, seed))}).value()->producer());
  nodes.push_back(
      b.op("DequantizeLinear", {b.constant(bytes), b.constant(random_tensor({32}, 1))}, {{"axis", int64_t{0}}}).value()->producer());
  for (const Node* node : nodes) {
    std::vector<PlanValue> values(3);
    for (size_t i = 0; i < 2; ++i) values[i].info.contents = *node->input(i)->constant();
    DerivedConstants derived(OperatorSet::builtin(), values);
    derived.add(2, *node, {0, 1});
    const Tensor contents = derived.compute(2);
    EXPECT_EQ(contents.shape(), bytes.shape());
    DerivedConstants::Store store(derived, packed);
    store.add(2, contents);
    store.packed(contents, {.form = "rows", .device = "cpu", .bytes = 4, .parameters = {}, .source = {}}, [](const TensorView&, void*) {});
    EXPECT_TRUE(store.is_packed(2));
  }
  ASSERT_EQ(packed.keys.size(), 4u);
  for (const auto& key : packed.keys) EXPECT_EQ(key.first, bytes.data());
  EXPECT_EQ(packed.keys[0], packed.keys[1]);
  EXPECT_NE(packed.keys[0], packed.keys[2]);
  EXPECT_NE(packed.keys[0], packed.keys[3]);
}

}  // namespace
}  // namespace minnow

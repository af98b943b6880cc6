// SPDX-License-Identifier: Apache-2.0
#include "compress/equalize.h"

#include <gmock/gmock.h>
#include <minnow/minnow.h>

#include <algorithm>
#include <cmath>

#include "support/random.h"

namespace minnow::compress {
namespace {

using test::normal_tensor;

constexpr const char* kChain = R"(graph "chain" {
  input x: f32[2, 4, 8, 8]
  const w1 = f32[6, 4, 3, 3] random 1
  const b1 = f32[6] random 2
  const w2 = f32[6, 1, 3, 3] random 3
  const b2 = f32[6] random 4
  const w3 = f32[8, 3, 1, 1] random 5
  const w4 = f32[4, 8, 1, 1] random 6
  a = Conv(x, w1, b1)
  r = Relu(a)
  b = Conv(r, w2, b2) {group = 6}
  c = Conv(b, w3) {group = 2}
  d = Conv(c, w4)
  e = Conv(c, w4)
  s = Add(d, e)
  output s
})";
constexpr const char* kTransformer = R"(graph "normalized" {
  input x: f32[3, 5, 8]
  const scale = f32[8] random 1
  const bias = f32[8] random 2
  const w1 = f32[8, 6] random 3
  const w2 = f32[8, 7] random 4
  n = LayerNormalization(x, scale, bias) {axis = -1}
  q = MatMul(n, w1)
  k = MatMul(n, w2)
  output q
  output k
})";

std::vector<Tensor> outputs_of(const Graph& graph, const Tensor& x) {
  Session session(Model::from_graph(graph.clone()));
  return session.run({x.view()});
}

void expect_near(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k)
    for (int64_t i = 0; i < a[k].elements(); ++i)
      ASSERT_NEAR(a[k].data<float>()[i], b[k].data<float>()[i], 1e-4F * std::max(1.0F, std::fabs(a[k].data<float>()[i])));
}

TEST(Equalize, keeps_the_function_and_evens_out_weights) {
  const Model model = Model::from_graph(parse_graph(kChain));
  const auto graph = simplified(model);
  Selection selection = select(*graph, {});
  // r, b and c: their makers and readers are layers.
  EXPECT_EQ(scalable_values(selection).size(), 3u);
  const Tensor x = normal_tensor({2, 4, 8, 8}, 9);
  const auto before = outputs_of(*graph, x);
  EXPECT_EQ(equalize(*graph, selection), 3u);
  expect_near(before, outputs_of(*graph, x));
  // Now a channel of r is made and read by weights of the same largest magnitude.
  for (const ScalableValue& site : scalable_values(selection)) {
    if (site.maker->node->op() != "Conv" || site.channels != 6 || site.maker->weights->constant()->shape()[1] != 4) continue;
    const auto reading = reading_weights(site);
    const float* w = site.maker->weights->constant()->data<float>();
    for (size_t c = 0; c < 6; ++c) {
      double making = 0;
      for (size_t i = 0; i < 36; ++i) making = std::max(making, std::fabs(static_cast<double>(w[c * 36 + i])));
      EXPECT_NEAR(making / reading[c], 1, 0.05);
    }
  }
}

TEST(Equalize, smoothing_keeps_the_function_of_a_normalization_and_its_readers) {
  const Model model = Model::from_graph(parse_graph(kTransformer));
  const auto graph = simplified(model);
  Selection selection = select(*graph, {});
  const Tensor x = normal_tensor({3, 5, 8}, 9);
  const auto before = outputs_of(*graph, x);
  EXPECT_EQ(smooth(*graph, selection, 0.5, [](const Value&) { return std::vector<double>{1, 100, 3, 0.01, 5, 6, 0, 8}; }), 1u);
  expect_near(before, outputs_of(*graph, x));
}

TEST(Equalize, leaves_values_alone_that_others_read) {
  for (const char* text :
       {"graph \"a\" {\n input x: f32[1, 2, 4, 4]\n const w = f32[2, 2, 1, 1] random 1\n y = Conv(x, w)\n z = Conv(y, w)\n output z\n "
        "output y\n}",
        "graph \"b\" {\n input x: f32[1, 2, 4, 4]\n const w = f32[2, 2, 1, 1] random 1\n y = Conv(x, w)\n z = Conv(y, w)\n s = Add(y, z)\n "
        "output s\n}",
        "graph \"c\" {\n input x: f32[1, 2, 4, 4]\n const w = f32[2, 2, 1, 1] random 1\n y = Conv(x, w)\n t = Sigmoid(y)\n z = Conv(t, w)\n"
        " output z\n}"}) {
    const auto graph = simplified(Model::from_graph(parse_graph(text)));
    Selection selection = select(*graph, {});
    EXPECT_TRUE(scalable_values(selection).empty()) << text;
  }
  // A weight that two layers share: each gets its own.
  const auto graph = simplified(Model::from_graph(parse_graph(
      "graph \"d\" {\n input x: f32[1, 2, 4, 4]\n const w = f32[2, 2, 1, 1] random 1\n y = Conv(x, w)\n z = Conv(y, w)\n output z\n}")));
  Selection selection = select(*graph, {});
  const Tensor x = normal_tensor({1, 2, 4, 4}, 9);
  const auto before = outputs_of(*graph, x);
  EXPECT_EQ(equalize(*graph, selection), 1u);
  expect_near(before, outputs_of(*graph, x));
}

}  // namespace
}  // namespace minnow::compress

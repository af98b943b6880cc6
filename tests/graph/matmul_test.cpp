// SPDX-License-Identifier: Apache-2.0
#include "graph/matmul.h"

#include <gmock/gmock.h>

namespace minnow::test {
namespace {

MatMulGeometry product_geometry(std::string_view op, const Shape& a, const Shape& b, const Attributes& attributes = {}) {
  Graph graph;
  ValueInfo infos[2];
  infos[0].dtype = infos[1].dtype = DType::f32;
  infos[0].shape = a, infos[1].shape = b;
  const ValueInfo* pointers[] = {&infos[0], &infos[1]};
  const Node& node = graph.add_node(op, {&graph.add_input("a", {}), &graph.add_input("b", {})}, 1, attributes);
  return MatMulGeometry::of(NodeView(node, pointers));
}

TEST(MatMulGeometry, broadcasts_leading_dimensions) {
  const MatMulGeometry p = product_geometry("MatMul", {3, 1, 2, 5}, {4, 5, 6});
  EXPECT_EQ(p.result, (Shape{3, 4, 2, 6}));
  EXPECT_EQ(p.batches(), 12);
  // Result matrix [i, j] is A's matrix i times B's matrix j.
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(p.a_matrix(4 * i + j), i);
      EXPECT_EQ(p.b_matrix(4 * i + j), j);
    }
  EXPECT_FALSE(p.shares_b());
  EXPECT_TRUE(product_geometry("MatMul", {3, 4, 2, 5}, {1, 5, 6}).shares_b());
  EXPECT_EQ(p.multiply_adds(), 12 * 2 * 5 * 6);
}

TEST(MatMulGeometry, knows_vectors_and_transposed_matrices) {
  EXPECT_EQ(product_geometry("MatMul", {5}, {2, 5, 6}).result, (Shape{2, 6}));
  EXPECT_EQ(product_geometry("MatMul", {2, 5}, {5}).result, (Shape{2}));
  EXPECT_EQ(product_geometry("MatMul", {5}, {5}).result, (Shape{}));
  const Attributes both{{"transA", int64_t{1}}, {"transB", int64_t{1}}};
  for (const char* op : {"Gemm", "minnow.FusedMatMul"}) {
    const MatMulGeometry p = product_geometry(op, {5, 2}, {6, 5}, both);
    EXPECT_EQ(p.result, (Shape{2, 6})) << op;
    EXPECT_EQ(p.k, 5) << op;
  }
}

}  // namespace
}  // namespace minnow::test

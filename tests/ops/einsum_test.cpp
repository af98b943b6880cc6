// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

struct Equation {
  std::string equation;
  std::vector<Shape> inputs;
  Shape shape;
  std::vector<double> y;
};

const std::vector<Equation>& equations() {
  static const std::vector<Equation> all = {
      {"ij,jk->ik", {{2, 3}, {3, 2}}, {2, 2}, {-0.9375, 0.3125, -0.375, -0.0625}},
      {"bij,bjk", {{2, 2, 3}, {2, 3, 2}}, {2, 2}, {1, 0.25, 1.3125, 0.0625}},
      {"ii->i", {{3, 3}}, {3}, {-0.5, 1, -0.25}},
      {"ii", {{3, 3}}, Shape{}, {0.25}},
      {"...ij,...jk", {{2, 2, 3}, {3, 2}}, {2, 2, 2}, {-0.9375, 0.3125, -0.375, -0.0625, 0.1875, -0.4375, 0.75, -0.8125}},
      {"bqhd,bkhd->bhqk",
       {{1, 2, 2, 3}, {1, 3, 2, 3}},
       {1, 2, 2, 3},
       {1, 0.9375, -1.1875, 1.25, 0.9375, -1.4375, -1.375, 1.1875, 1, -1.25, 1.0625, 2}},
      {"i,j->ji", {{2}, {3}}, {3, 2}, {0.25, -0.625, -0.375, 0.9375, 0.375, -0.9375}},
      {"ij->ji", {{2, 3}}, {3, 2}, {-0.5, -0.75, 1.25, 1, 0.25, 0}},
      {"ij->", {{2, 3}}, Shape{}, {1.25}},
      {"ba", {{2, 3}}, {3, 2}, {-0.5, -0.75, 1.25, 1, 0.25, 0}},
      {" i j , j -> i ", {{2, 3}, {3}}, {2}, {1, 1.125}},
      {"abc,cd,de->abe", {{2, 1, 3}, {3, 2}, {2, 2}}, {2, 1, 2}, {0.78125, -0.546875, 0.125, -0.03125}},
      {"ij,ij->ij", {{1, 3}, {2, 3}}, {2, 3}, {0.25, 0.9375, -0.1875, -0.25, -1.25, 0.0625}},
      {"...,->...", {{2, 2}, {}}, {2, 2}, {0.25, -0.625, -0.125, 0.375}},
      {"ijk,kj->i", {{2, 3, 2}, {2, 3}}, {2}, {1.0625, 1.4375}},
      {"i...->...", {{2, 3}}, {3}, {-1.25, 2.25, 0.25}},
      {"Ab,b->A", {{2, 3}, {3}}, {2}, {1, 1.125}},
      {"ij,k->i", {{2, 3}, {4}}, {2}, {0, 0}},
  };
  return all;
}

std::vector<Tensor> inputs_of(const Equation& row, DType dtype = DType::f32) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : row.inputs) inputs.push_back(pattern(shape, 7 - 2 * static_cast<int64_t>(inputs.size()), dtype));
  return inputs;
}

TEST(Einsum, equations) {
  for (const Equation& row : equations()) {
    const Attributes attributes{{"equation", row.equation}};
    EXPECT_TRUE(near(run_operator("Einsum", inputs_of(row), attributes)[0], row.shape, row.y)) << row.equation;
    EXPECT_TRUE(near(run_operator("Einsum", inputs_of(row, DType::f64), attributes)[0], row.shape, row.y)) << row.equation;
  }
}

TEST(Einsum, composed_form) {
  size_t composed = 0;
  for (const Equation& row : equations()) {
    try {
      EXPECT_TRUE(near(run_decomposition("Einsum", inputs_of(row), {{"equation", row.equation}})[0], row.shape, row.y)) << row.equation;
      ++composed;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << row.equation << ": " << error.what();
    }
  }
  EXPECT_EQ(composed, equations().size() - 3);  // all but diagonals and broadcasting
}

TEST(Einsum, integers_wrap_around) {
  const Tensor x = tensor(DType::i32, {2}, {65536, 3});
  EXPECT_TRUE(near(run_operator("Einsum", {x, x}, {{"equation", std::string("i,i->i")}})[0], {2}, {0, 9}, 0));
}

TEST(Einsum, empty) {
  EXPECT_TRUE(near(
      run_operator("Einsum", {tensor(DType::f32, {2, 0}, {}), tensor(DType::f32, {0, 3}, {})}, {{"equation", std::string("ij,jk->ik")}})[0],
      {2, 3}, {0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(
      near(run_operator("Einsum", {tensor(DType::f32, {0}, {}), pattern({3})}, {{"equation", std::string("i,j->ij")}})[0], {0, 3}, {}));
}

TEST(Einsum, errors) {
  const auto error = [](const std::string& equation) {
    return error_of("Einsum", {pattern({2, 3}), pattern({3, 2})}, {{"equation", equation}});
  };
  EXPECT_THAT(error("ij,jk->iq"), HasSubstr("stands there twice or in no term"));
  EXPECT_THAT(error("ij,jk->ii"), HasSubstr("stands there twice or in no term"));
  EXPECT_THAT(error("ij,ij"), HasSubstr("stands for 2 and for 3 elements"));
  EXPECT_THAT(error("ijk,jk"), HasSubstr("does not fit input 0 of shape [2, 3]"));
  EXPECT_THAT(error("ij"), HasSubstr("has 1 terms, there are 2 inputs"));
  EXPECT_THAT(error("ij,jk,k"), HasSubstr("input 2 is missing"));
  EXPECT_THAT(error("i1,1k"), HasSubstr("letters and at most one ellipsis"));
  EXPECT_THAT(error("......,jk"), HasSubstr("letters and at most one ellipsis"));
  EXPECT_THAT(error("i.j,jk"), HasSubstr("letters and at most one ellipsis"));
}

}  // namespace
}  // namespace minnow::test

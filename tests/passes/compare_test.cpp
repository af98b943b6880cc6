// SPDX-License-Identifier: Apache-2.0
// What `convert --verify` takes for the same.
#include "passes/compare.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace minnow {
namespace {

// y = 7 * round(factor * x) in steps of 0.1, or without the rounding.
std::string graph_text(const std::string& factor, bool quantized) {
  const std::string middle = quantized ? R"(
    const step = f32[] 0.1
    const zero = i8[] 0
    q = QuantizeLinear(h, step, zero)
    d = DequantizeLinear(q, step, zero)
    y = Mul(d, gain))"
                                       : "\n    y = Mul(h, gain)";
  return "graph {\n    source \"net\"\n    input x: f32[20000]\n    const gain = f32[] 7\n    const factor = f32[] " + factor +
         "\n    h = Mul(x, factor)" + middle + "\n    output y\n  }";
}

std::string complaint(const std::string& before, const std::string& after) {
  try {
    compare_graphs(OperatorSet::builtin(), *parse_graph(before), *parse_graph(after));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Compare, real_numbers_within_the_tolerance) {
  EXPECT_EQ(complaint(graph_text("0.5", false), graph_text("0.50002", false)), "");
  EXPECT_THAT(complaint(graph_text("0.5", false), graph_text("0.501", false)),
              testing::HasSubstr("net: output \"y\" differs after optimization: element"));
}

TEST(Compare, a_rounding_step_where_the_tolerance_reaches_over_an_edge) {
  EXPECT_EQ(complaint(graph_text("0.5", true), graph_text("0.50002", true)), "");
  EXPECT_THAT(complaint(graph_text("0.5", true), graph_text("0.6", true)), testing::HasSubstr("a difference of 0.7"));
}

TEST(Compare, other_types_and_numbers_of_outputs) {
  EXPECT_THAT(complaint("graph {\n input x: f32[2]\n y = Neg(x)\n output y\n}",
                        "graph {\n input x: f32[2]\n const a = i64[1] [0]\n y = ReduceSum(x, a)\n output y\n}"),
              testing::HasSubstr("is f32[2], after optimization f32[1]"));
  EXPECT_THAT(complaint("graph {\n input x: f32[2]\n y = Neg(x)\n output y\n}",
                        "graph {\n input x: f32[2]\n y = Neg(x)\n z = Abs(x)\n output y\n output z\n}"),
              testing::HasSubstr("there are 1 outputs, after optimization 2"));
}

}  // namespace
}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// The comparison behind `convert --verify`: which differences it accepts.
#include "passes/compare.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace minnow {
namespace {

using testing::HasSubstr;

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
              HasSubstr("net: output \"y\" differs after optimization: element"));
}

TEST(Compare, a_rounding_step_where_the_tolerance_reaches_over_an_edge) {
  EXPECT_EQ(complaint(graph_text("0.5", true), graph_text("0.50002", true)), "");
  EXPECT_THAT(complaint(graph_text("0.5", true), graph_text("0.6", true)), HasSubstr("output \"y\" differs"));
  EXPECT_THAT(complaint(graph_text("0.5", true), graph_text("0.505", true)), HasSubstr("output \"y\" differs"));
}

TEST(Compare, a_rounding_that_was_left_out) {
  EXPECT_THAT(complaint(graph_text("0.5", true), graph_text("0.5", false)), HasSubstr("in the root of the mean square"));
  EXPECT_THAT(complaint(graph_text("0.5", false), graph_text("0.5", true)), HasSubstr("output \"y\" differs"));
}

// A stack of convolutions, each between DequantizeLinear and QuantizeLinear; `without`: the pair of this layer is left out. With `others`
// the tensors have other names, as where a pass did the rounding elsewhere.
std::string layers(int count, int without, const std::string& factor = "1", bool others = false) {
  std::string text = R"(graph {
    source "net"
    input x: f32[1, 8, 12, 12]
    const step = f32[] 0.03
    const zero = i8[] 0
    const factor = f32[] )" +
                     factor + R"(
    const w = f32[8, 8, 3, 3] [)";
  for (int i = 0; i < 8 * 8 * 9; ++i) text += (i ? ", " : "") + std::to_string(((i * 37 + i / 7 * 11) % 41 - 20) * 0.008);
  text += "]\n    h0 = Mul(x, factor)\n";
  for (int k = 0; k < count; ++k) {
    const std::string i = std::to_string(k), next = std::to_string(k + 1), name = (others ? "other" : "") + i;
    std::string input = "h" + i;
    if (k != without) {
      text += "    q" + name + " = QuantizeLinear(h" + i + ", step, zero)\n    d" + i + " = DequantizeLinear(q" + name + ", step, zero)\n";
      input = "d" + i;
    }
    text += "    c" + i + " = Conv(" + input + ", w) {pads = [1, 1, 1, 1]}\n    h" + next + " = Tanh(c" + i + ")\n";
  }
  return text + "    output h" + std::to_string(count) + "\n  }";
}

TEST(Compare, many_layers_that_round) {
  constexpr int kLayers = 20;
  const std::string whole = layers(kLayers, -1);
  // As far as passes change numbers; the flipped roundings go through all layers behind.
  for (const char* factor : {"1.0000003", "0.99999", "1.00003"}) EXPECT_EQ(complaint(whole, layers(kLayers, -1, factor)), "") << factor;
  for (int without : {0, 7, 13, kLayers - 1})
    EXPECT_THAT(complaint(whole, layers(kLayers, without)), HasSubstr("differs after optimization")) << without;
}

TEST(Compare, roundings_that_cannot_be_followed_by_name) {
  constexpr int kLayers = 5;
  const std::string whole = layers(kLayers, -1);
  for (const char* factor : {"1", "1.0000003", "0.999999"}) EXPECT_EQ(complaint(whole, layers(kLayers, -1, factor, true)), "") << factor;
  for (int without = 0; without < kLayers; ++without)
    EXPECT_THAT(complaint(whole, layers(kLayers, without, "1", true)), HasSubstr("differs after optimization")) << without;
}

TEST(Compare, one_flipped_rounding_is_none_too_many) {
  // 0.35 lies at the edge between 3 and 4 steps; a last bit decides. Everything behind it differs by a whole step.
  const auto text = [](const char* edge) {
    return std::string(R"(graph {
      source "net"
      input x: f32[2000]
      const nothing = f32[] 0
      const edge = f32[] )") +
           edge + R"(
      const step = f32[] 0.1
      const zero = u8[] 0
      none = Mul(x, nothing)
      h = Add(none, edge)
      q = QuantizeLinear(h, step, zero)
      d = DequantizeLinear(q, step, zero)
      s = ReduceSum(d) {keepdims = 0}
      y = Exp(d)
      output y
      output s
    })";
  };
  EXPECT_EQ(complaint(text("0.349999"), text("0.350001")), "");
  EXPECT_THAT(complaint(text("0.349"), text("0.351")), HasSubstr("differs after optimization"));
}

TEST(Compare, other_forms_of_rounding) {
  const auto text = [](const std::string& factor, bool rounds, bool dynamic) {
    std::string middle = "d = Identity(h)";
    if (rounds) middle = dynamic ? "q, scale, zero = DynamicQuantizeLinear(h)\n      d = DequantizeLinear(q, scale, zero)" : "d = Round(h)";
    return "graph {\n      source \"net\"\n      input x: f32[20000]\n      const factor = f32[] " + factor +
           "\n      h = Mul(x, factor)\n      " + middle + "\n      y = Sigmoid(d)\n      output y\n    }";
  };
  for (const bool dynamic : {false, true}) {
    EXPECT_EQ(complaint(text("5", true, dynamic), text("5.0001", true, dynamic)), "") << dynamic;
    EXPECT_THAT(complaint(text("5", true, dynamic), text("5", false, dynamic)), HasSubstr("differs after optimization")) << dynamic;
    EXPECT_THAT(complaint(text("5", true, dynamic), text("5.1", true, dynamic)), HasSubstr("differs after optimization")) << dynamic;
  }
}

TEST(Compare, roundings_in_the_turns_of_a_loop) {
  const auto text = [](const char* factor, bool rounds) {
    return std::string(R"(graph {
      source "net"
      input x: f32[500]
      const turns = i64[] 6
      const factor = f32[] )") +
           factor + R"(
      h = Mul(x, factor)
      y = Loop(turns, _, h) {body = graph {
        input i: i64[]
        input going: bool[]
        input v: f32[500]
        const grow = f32[] 1.3
        go = Identity(going)
        larger = Mul(v, grow)
        next = )" +
           (rounds ? "Round" : "Identity") + R"((larger)
        output go
        output next
      }}
      output y
    })";
  };
  EXPECT_EQ(complaint(text("7", true), text("7.0003", true)), "");
  EXPECT_THAT(complaint(text("7", true), text("7", false)), HasSubstr("differs after optimization"));
}

TEST(Compare, other_types_and_numbers_of_outputs) {
  EXPECT_THAT(complaint("graph {\n input x: f32[2]\n y = Neg(x)\n output y\n}",
                        "graph {\n input x: f32[2]\n const a = i64[1] [0]\n y = ReduceSum(x, a)\n output y\n}"),
              HasSubstr("is f32[2], after optimization f32[1]"));
  EXPECT_THAT(complaint("graph {\n input x: f32[2]\n y = Neg(x)\n output y\n}",
                        "graph {\n input x: f32[2]\n y = Neg(x)\n z = Abs(x)\n output y\n output z\n}"),
              HasSubstr("there are 1 outputs, after optimization 2"));
}

}  // namespace
}  // namespace minnow

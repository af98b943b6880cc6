// SPDX-License-Identifier: Apache-2.0
#include "ops/stored_weights.h"

#include <gmock/gmock.h>
#include <minnow/minnow.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "graph/model_file.h"
#include "graph/model_generated.h"
#include "graph/model_header.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes written(const Graph& graph, const StoredWeights& weights) {
  Bytes bytes;
  write_model_to(
      graph, [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }, weights);
  return bytes;
}
std::unique_ptr<Graph> read(const Bytes& bytes, PacksWeight packs = nullptr) {
  const std::shared_ptr<void> memory = allocate_shared(bytes.size());
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  return read_model({static_cast<const std::byte*>(memory.get()), bytes.size()}, memory, "model in memory", packs);
}
std::vector<float> elements_of(const Value& constant) {
  const float* data = constant.constant()->data<float>();
  return {data, data + constant.constant()->elements()};
}
Tensor f32_tensor(const Shape& shape, std::vector<float> values) { return Tensor::of_f32(shape, values); }

TEST(StoredWeights, weights_of_layers_are_rounded_and_nothing_else) {
  const auto graph = parse_graph(R"(graph "g" {
  input x: f32[1, 2]
  input i: i64[1]
  const w = f32[2, 2] [1.001, -2.5, 0.1, 0.33333]
  const b = f32[2] [0.1, 0.2]
  const table = f32[2, 1] [0.1, 3.3]
  const both = f32[2, 2] [0.1, 0.2, 0.3, 0.4]
  const whole = i64[2] [1, 2]
  h: f32[1, 2] = Gemm(x, w, b)
  e = Gather(table, i)
  m = MatMul(h, both)
  s = Add(m, both)
  u = Add(s, whole)
  y = If(u) {then_branch = graph {
    const inner = f32[2, 2] [0.7, 0.8, 0.9, 1.1]
    p = MatMul(m, inner)
    q = MatMul(p, w)
    output q
  }}
  output y
  output e
}
)");
  for (DType dtype : {DType::f16, DType::bf16}) {
    SCOPED_TRACE(to_string(dtype));
    const StoredWeights weights = round_weights(*graph, dtype);
    EXPECT_EQ(weights.size(), 3u);  // w, table and inner
    const auto copy = read(written(*graph, weights));
    const auto rounded = [&](float value) {
      return dtype == DType::f16 ? f32_from_f16(f16_from_f32(value)) : f32_from_bf16(bf16_from_f32(value));
    };
    const auto& constants = copy->constants();
    EXPECT_THAT(elements_of(*constants[0]), ElementsAre(rounded(1.001f), -2.5f, rounded(0.1f), rounded(0.33333f)));
    EXPECT_NE(elements_of(*constants[0])[2], 0.1f);
    EXPECT_THAT(elements_of(*constants[1]), ElementsAre(0.1f, 0.2f));
    EXPECT_THAT(elements_of(*constants[2]), ElementsAre(rounded(0.1f), rounded(3.3f)));
    EXPECT_THAT(elements_of(*constants[3]), ElementsAre(0.1f, 0.2f, 0.3f, 0.4f));
    EXPECT_EQ(constants[0]->type.dtype, DType::f32);
    // Widened weights are stored as f32. If rounding is requested again, the file has the same bytes as before.
    EXPECT_EQ(written(*copy, round_weights(*copy, dtype)), written(*graph, weights));
  }
  EXPECT_THROW(round_weights(*graph, DType::f64), InvalidArgument);
}

TEST(StoredWeights, layers_that_do_not_fit_stay_f32_and_are_named) {
  Graph graph;
  Value& x = graph.add_input("x", ValueType::tensor(DType::f32, Shape{1, 2}));
  const auto layer = [&](const std::string& name, std::vector<float> w) -> Value& {
    Value& weights = graph.add_constant(f32_tensor({2, 2}, std::move(w)), name + "_w");
    return *graph.add_node("MatMul", {&x, &weights}, 1, {}, name).output(0);
  };
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [name, w] : {std::pair<std::string, std::vector<float>>{"large", {1, 70000, 2, 3}},
                                {"edge", {65504, 65519, 1, -65504}},
                                {"tiny", {1e-7f, -2e-7f, 1.5e-7f, 3e-8f}},
                                {"infinite", {inf, 1, -inf, 2}},
                                {"zero", {0, 0, 0, -0.0f}},
                                {"huge", {3.4e38f, 1, 1, 1}}})
    graph.add_output(layer(name, w));
  std::vector<std::string> warnings;
  const StoredWeights half = round_weights(graph, DType::f16, [&](std::string_view text) { warnings.emplace_back(text); });
  EXPECT_EQ(half.size(), 3u);
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("node \"large\" (MatMul): its weights \"large_w\" reach 70000, f16 holds at most 65504"),
                          HasSubstr("node \"tiny\" (MatMul): its weights \"tiny_w\" are too small for f16"), HasSubstr("node \"huge\"")));
  const auto copy = read(written(graph, half));
  EXPECT_THAT(elements_of(*copy->constants()[0]), ElementsAre(1, 70000, 2, 3));
  EXPECT_THAT(elements_of(*copy->constants()[1]), ElementsAre(65504, 65504, 1, -65504));
  EXPECT_THAT(elements_of(*copy->constants()[3]), ElementsAre(inf, 1, -inf, 2));
  warnings.clear();
  EXPECT_EQ(round_weights(graph, DType::bf16, [&](std::string_view text) { warnings.emplace_back(text); }).size(), 5u);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("node \"huge\"")));
}

size_t count(const Graph& graph, std::string_view op) {
  size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op() == op;
  return count;
}

TEST(StoredWeights, what_layers_pack_is_left_to_a_cast) {
  const auto graph = parse_graph(R"(graph "g" {
  input x: f32[1, 2]
  input i: i64[1]
  input c: bool[]
  const w = f32[2, 2] [1.001, -2.5, 0.1, 0.33333]
  const outer = f32[2, 2] [1.001, 2.5, 0.1, 0.33333]
  const table = f32[2, 2] [0.1, 3.3, 1.7, 0.9]
  const twice = f32[2, 2] [0.1, 3.4, 1.7, 0.9]
  h = MatMul(x, w)
  e = Gather(table, i)
  f = Gather(twice, i)
  m = MatMul(h, outer)
  n = MatMul(m, twice)
  y = If(c) {then_branch = graph {
    const inner = f32[2, 2] [0.7, 0.8, 0.9, 1.1]
    p = MatMul(n, inner)
    q = MatMul(p, outer)
    output q
  }, else_branch = graph {
    r = Identity(n)
    output r
  }}
  output y
  output e
  output f
}
)");
  for (DType dtype : {DType::f16, DType::bf16}) {
    SCOPED_TRACE(to_string(dtype));
    const Bytes bytes = written(*graph, round_weights(*graph, dtype));
    const auto wide = read(bytes), narrow = read(bytes, packs_weight);
    EXPECT_EQ(count(*wide, "Cast"), 0u);
    ASSERT_EQ(count(*narrow, "Cast"), 1u);  // not what a subgraph takes from outside, nor what runs look up
    const Node& cast = *narrow->nodes().begin();
    EXPECT_EQ(cast.op(), "Cast");
    EXPECT_EQ(cast.output(0)->name(), "w");
    EXPECT_EQ(cast.input(0)->constant()->dtype(), dtype);
    EXPECT_EQ(cast.input(0)->constant()->data<uint16_t>()[1], dtype == DType::f16 ? f16_from_f32(-2.5f) : bf16_from_f32(-2.5f));
    EXPECT_EQ(narrow->constants().size(), wide->constants().size());
    for (const Node& node : narrow->nodes())
      if (node.op() == "If") {
        EXPECT_EQ(count(**std::get_if<Subgraph>(node.attributes.find("then_branch")), "Cast"), 1u);
      }
    EXPECT_EQ(written(*read(written(*narrow, {})), {}), written(*narrow, {}));
  }
}

// Results are bit for bit those of widened weights; no f32 copy is kept beside the packed form.
TEST(StoredWeights, models_compute_as_if_they_were_widened) {
  Graph graph;
  Value& x = graph.add_input("x", ValueType::tensor(DType::f32, Shape{1, 20, 9, 9}));
  std::vector<float> w(24 * 20 * 9), v(24 * 1500);
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::sin(float(i));
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::cos(float(i));
  Value& conv = *graph.add_node("Conv", {&x, &graph.add_constant(f32_tensor({24, 20, 3, 3}, w), "w")}).output(0);
  Value& mean = *graph.add_node("GlobalAveragePool", {&conv}).output(0);
  Value& row = *graph.add_node("Flatten", {&mean}).output(0);
  graph.add_output(*graph.add_node("MatMul", {&row, &graph.add_constant(f32_tensor({24, 1500}, v), "v")}).output(0));
  std::vector<float> image(20 * 81);
  for (size_t i = 0; i < image.size(); ++i) image[i] = std::sin(float(i) / 3);
  for (DType dtype : {DType::f16, DType::bf16}) {
    const Bytes bytes = written(graph, round_weights(graph, dtype));
    const Model wide = Model::from_graph(read(bytes)), narrow = Model::from_memory(bytes);
    EXPECT_EQ(narrow.weight_bytes() * 2, wide.weight_bytes());
    for (const char* precision : {"high", "normal", "tf32", "low"}) {
      SCOPED_TRACE(format("{} {}", dtype, precision));
      SessionOptions options;
      options.precision = precision;
      Session a(wide, options), b(narrow, options);
      const TensorView in(DType::f32, {1, 20, 9, 9}, image.data());
      const Tensor want = a.run({in})[0], got = b.run({in})[0];
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
      for (const PlanRow& planned : b.plan_report().rows) EXPECT_NE(planned.op, "Cast");
    }
  }
}

TEST(StoredWeights, files_that_say_something_else_are_refused) {
  Graph graph;
  Value& x = graph.add_input("x", ValueType::tensor(DType::f32, Shape{1, 2}));
  Value& w = graph.add_constant(f32_tensor({2, 2}, {1, 2, 3, 4}), "w");
  graph.add_output(*graph.add_node("MatMul", {&x, &w}).output(0));
  const Bytes good = written(graph, round_weights(graph, DType::f16));
  const auto with_stored = [&](uint8_t stored) {
    Bytes bytes = good;
    file::Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    auto* model = flatbuffers::GetMutableRoot<file::Model>(bytes.data() + header.head_offset);
    auto* f32_tensor = const_cast<file::Tensor*>(model->graph()->constants()->Get(0)->tensor());
    // The field's place is known to the table alone.
    const flatbuffers::voffset_t at = reinterpret_cast<flatbuffers::Table*>(f32_tensor)->GetOptionalFieldOffset(file::Tensor::VT_STORED);
    EXPECT_NE(at, 0);
    reinterpret_cast<uint8_t*>(f32_tensor)[at] = stored;
    return bytes;
  };
  EXPECT_EQ(elements_of(*read(with_stored(static_cast<uint8_t>(DType::f16)))->constants()[0])[3], 4);
  for (uint8_t stored : {uint8_t{0}, uint8_t{1}, uint8_t{2}, static_cast<uint8_t>(DType::f64), uint8_t{200}}) {
    try {
      read(with_stored(stored));
      ADD_FAILURE() << "stored as " << int{stored} << " is read";
    } catch (const InvalidModel& error) {
      EXPECT_THAT(error.what(), HasSubstr("constant \"w\""));
    }
  }
}

}  // namespace
}  // namespace minnow::test

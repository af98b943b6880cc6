// SPDX-License-Identifier: Apache-2.0
// Properties of MNN files that the conformance cases cannot show: names, open sizes, errors, weights in another file.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "importers/formats.h"
#include "importers/mnn/mnn_node.h"
#include "passes/pipeline.h"
#include "support/flat_writer.h"
#include "support/paths.h"

namespace minnow::mnn {
namespace {

using test::FlatWriter;

std::string seed_file(const std::string& name) {
  std::ifstream file(test::source_dir() / "tests/fuzz/seeds/mnn" / (name + ".mnn"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::unique_ptr<Graph> import(const std::string& bytes) {
  ImportOptions options;
  options.source = "net.mnn";
  options.warn = [](std::string_view) {};
  return import_mnn(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, options);
}

std::string error_of(const std::string& bytes) {
  try {
    import(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// One operator in a model of its own.
struct Op {
  int32_t type;
  std::string name;
  std::vector<int32_t> inputs, outputs;
  uint8_t kind = 0;
  std::function<size_t(FlatWriter&)> parameter = {};
  int8_t layout = 1;  // channels last
};

std::string model(const std::vector<Op>& ops, const std::vector<std::string>& tensors) {
  FlatWriter w;
  std::vector<size_t> tables;
  for (const Op& op : ops) {
    const size_t parameter = op.parameter ? op.parameter(w) : 0, inputs = w.numbers(op.inputs), outputs = w.numbers(op.outputs),
                 name = w.text(op.name);
    FlatWriter::Table table;
    table.offset(0, inputs).offset(3, name).offset(4, outputs).number(5, op.type);
    if (op.kind) table.number(1, op.kind);
    table.number(6, op.layout);
    if (parameter) table.offset(2, parameter);
    tables.push_back(w.table(table));
  }
  const size_t list = w.offsets(tables);
  std::vector<size_t> names;
  for (const std::string& tensor : tensors) names.push_back(w.text(tensor));
  const size_t tensor_names = w.offsets(names);
  return w.finish(w.table(FlatWriter::Table().offset(3, list).offset(7, tensor_names)));
}

Op input(int32_t tensor, const std::vector<int32_t>& dims) {
  return {34, "x", {}, {tensor}, mnn::kInput, [dims](FlatWriter& w) {
            const size_t list = w.numbers(dims);
            return w.table(FlatWriter::Table().offset(0, list).number(1, int32_t{1}).number(2, int8_t{0}));
          }};
}

TEST(MnnImporter, names_are_those_of_the_file) {
  const auto graph = import(model({input(0, {2, 3}), {81, "act", {0}, {1}}}, {"data", "prob"}));
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(graph->inputs()[0]->name(), "data");
  ASSERT_EQ(graph->outputs().size(), 1u);
  EXPECT_EQ(graph->outputs()[0]->name(), "prob");
}

TEST(MnnImporter, sizes_that_the_engine_lets_its_users_change_stay_open) {
  const auto graph = import(seed_file("caffe_mtcnn_det1"));
  const auto& dims = *graph->inputs()[0]->type.dims;
  EXPECT_EQ(dims[0].symbol, "batch");
  EXPECT_EQ(dims[1].size, 3);
  EXPECT_EQ(dims[2].symbol, "height");
  EXPECT_EQ(dims[3].symbol, "width");
  EXPECT_EQ(graph->metadata.properties.at("shape.data"), "1x3x12x12");
  EXPECT_EQ(graph->metadata.properties.at("layout.data"), "NC4HW4");
}

TEST(MnnImporter, sizes_that_a_product_is_tied_to_stay_as_they_are) {
  const auto graph = import(seed_file("weights_8bit"));
  const auto& dims = *graph->inputs()[0]->type.dims;
  EXPECT_EQ(dims[2].size, 8);
  EXPECT_EQ(dims[3].size, 8);
}

TEST(MnnImporter, all_operators_that_are_missing_are_named_with_their_nodes) {
  const std::string error = error_of(model({input(0, {2, 3}),
                                            {1, "sum", {0}, {1}},
                                            {3, "text", {1}, {2}},
                                            {3, "more", {2}, {3}},
                                            {48, "power", {3}, {4}},
                                            {93, "split", {4}, {5}},
                                            {9999, "new", {5}, {6}}},
                                           {"x", "a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(
      error,
      "net.mnn: operators are not supported: AsString (nodes \"text\", \"more\"); Power (node \"power\"); QuantizedAdd (node \"sum\"); "
      "StringSplit (node \"split\"); operator 9999 (node \"new\")");
}

/// Attention over two heads, which share one of keys and values, with a score for seeing nothing.
std::string attention(bool keeps) {
  return model({input(0, {1, -1, 2, 4}),
                input(1, {1, -1, 1, 4}),
                input(2, {2}),
                {299,
                 "attention",
                 {0, 1, 1, -1, 2},
                 {3},
                 mnn::kAttention,
                 [keeps](FlatWriter& w) { return w.table(FlatWriter::Table().number(0, uint8_t{keeps})); }}},
               {"q", "k", "sinks", "y"});
}

TEST(MnnImporter, keys_and_values_are_kept_from_call_to_call) {
  const auto rows = [](int64_t from, int64_t to, int64_t heads) {
    std::vector<float> numbers;
    for (int64_t i = from * heads * 4; i < to * heads * 4; ++i) numbers.push_back(std::sin(static_cast<float>(i * i)));
    return Tensor::of_f32({1, to - from, heads, 4}, numbers);
  };
  const auto run = [&](Session& session, int64_t from, int64_t to) {
    const Tensor y = session.run({rows(from, to, 2), rows(from, to, 1), Tensor::of_f32({2}, std::vector<float>{0.5f, -2})})[0];
    return std::vector<float>(y.data<float>(), y.data<float>() + y.elements());
  };
  for (const bool fused : {false, true}) {
    auto kept = import(attention(true)), plain = import(attention(false));
    EXPECT_EQ(kept->states().size(), 2u);
    EXPECT_TRUE(plain->states().empty());
    if (fused)
      for (Graph* graph : {kept.get(), plain.get()}) optimize(*graph, OperatorSet::builtin());
    const Model growing = Model::from_graph(std::move(kept)), once = Model::from_graph(std::move(plain));
    Session steps(growing), all(once);
    const std::vector<float> expected = run(all, 0, 5);
    for (int round = 0; round < 2; ++round) {
      std::vector<float> made = run(steps, 0, 3);
      for (int64_t at : {3, 4}) {
        const std::vector<float> next = run(steps, at, at + 1);
        made.insert(made.end(), next.begin(), next.end());
      }
      ASSERT_EQ(made.size(), expected.size());
      for (size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], expected[i], 1e-6) << i;
      steps.reset_states();
    }
  }
}

/// Two layers; the second one uses the keys and values of the first (layer 5), or its own.
std::string two_layers(int32_t own, int32_t other) {
  const auto layer = [](std::string name, int32_t q, int32_t k, int32_t y, int32_t number, int32_t shared) {
    return Op{299, std::move(name), {q, k, k},
              {y}, mnn::kAttention, [=](FlatWriter& w) {
                return w.table(FlatWriter::Table().number(2, number).number(3, shared)); }};
  };
  return model({input(0, {1, -1, 2, 4}), input(1, {1, -1, 1, 4}), input(2, {1, -1, 2, 4}), input(3, {1, -1, 1, 4}),
                layer("first", 0, 1, 4, 5, -1), layer("second", 2, own, 5, 6, other)},
               {"q", "k", "r", "others", "y", "z"});
}

TEST(MnnImporter, an_attention_may_look_at_keys_and_values_of_another) {
  const auto rows = [](int64_t from, int64_t to, int64_t heads, float factor) {
    std::vector<float> numbers;
    for (int64_t i = from * heads * 4; i < to * heads * 4; ++i) numbers.push_back(std::sin(factor * static_cast<float>(i * i)));
    return Tensor::of_f32({1, to - from, heads, 4}, numbers);
  };
  for (const bool fused : {false, true}) {
    // The second layer's own keys (tensor 3) are not looked at.
    auto shared = import(two_layers(3, 5)), same = import(two_layers(1, -1));
    EXPECT_EQ(shared->states().size(), 2u);
    EXPECT_EQ(same->states().size(), 4u);
    if (fused)
      for (Graph* graph : {shared.get(), same.get()}) optimize(*graph, OperatorSet::builtin());
    const Model one = Model::from_graph(std::move(shared)), two = Model::from_graph(std::move(same));
    Session first(one), second(two);
    for (const auto& step : {std::pair<int64_t, int64_t>{0, 3}, {3, 4}, {4, 6}}) {
      const auto run = [&](Session& session) {
        const auto [from, to] = step;
        return session.run({rows(from, to, 2, 1), rows(from, to, 1, 1), rows(from, to, 2, 2), rows(from, to, 1, 3)});
      };
      const std::vector<Tensor> a = run(first), b = run(second);
      for (size_t i = 0; i < 2; ++i)
        for (int64_t at = 0; at < a[i].elements(); ++at)
          EXPECT_NEAR(a[i].data<float>()[at], b[i].data<float>()[at], 1e-6) << i << ", " << at;
    }
  }
  EXPECT_EQ(
      error_of(two_layers(3, 4)),
      "net.mnn: an operator is not supported: node \"second\" (Attention): keys of layer 4 are wanted, which no Attention before it keeps");
}

std::vector<float> numbers(size_t count, float phase) {
  std::vector<float> made;
  for (size_t i = 0; i < count; ++i) made.push_back(std::sin(phase + static_cast<float>(i * i)));
  return made;
}

/// A table LayerNorm without means.
size_t root_norm(FlatWriter& w, const std::vector<float>& scales) {
  const size_t axes = w.numbers(std::vector<int32_t>{-1}), gamma = w.numbers(scales);
  return w.table(FlatWriter::Table().offset(0, axes).number(1, 1e-5f).offset(2, gamma).number(6, uint8_t{1}));
}

/// A row of `row` numbers normalized as root_norm says.
std::vector<double> root_normalized(const std::vector<double>& row, const std::vector<float>& scales) {
  double squares = 0;
  for (double v : row) squares += v * v;
  std::vector<double> made;
  for (size_t i = 0; i < row.size(); ++i)
    made.push_back(row[i] / std::sqrt(squares / static_cast<double>(row.size()) + 1e-5) * static_cast<double>(scales[i]));
  return made;
}

double silu(double v) { return v / (1 + std::exp(-v)); }

void expect_near(const Tensor& tensor, const std::vector<double>& expected) {
  ASSERT_EQ(static_cast<size_t>(tensor.elements()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(tensor.data<float>()[i], expected[i], 1e-5) << i;
}

TEST(MnnImporter, projections_of_one_input_are_undone) {
  constexpr size_t kRows = 3, kIn = 4, kOut[] = {5, 2, 6};
  const std::vector<float> scales = numbers(kIn, 9), a = numbers(kRows * kIn, 1), b = numbers(kRows * kIn, 2);
  const auto weights = [&](size_t i, size_t outputs) { return numbers(outputs * kIn, 3 + static_cast<float>(i)); };
  for (const bool adds : {false, true}) {
    for (const bool gates : {false, true}) {
      const size_t members = gates ? 2 : 3, results = (gates ? 1 : 3) + (adds ? 1 : 0);
      const auto outputs_of = [&](size_t i) { return gates ? kOut[0] : kOut[i]; };
      const auto parameter = [&](FlatWriter& w) {
        std::vector<size_t> convolutions;
        for (size_t i = 0; i < members; ++i) {
          const auto outputs = static_cast<int32_t>(outputs_of(i));
          const size_t common = w.table(FlatWriter::Table().number(10, outputs).number(11, static_cast<int32_t>(kIn)));
          const size_t weight = w.numbers(weights(i, outputs_of(i))), bias = w.numbers(numbers(outputs_of(i), 7));
          convolutions.push_back(w.table(FlatWriter::Table().offset(0, common).offset(1, weight).offset(2, bias)));
        }
        const size_t list = w.offsets(convolutions), norm = root_norm(w, scales);
        FlatWriter::Table table;
        table.offset(0, list).number(1, uint8_t{gates}).number(2, uint8_t{adds});
        if (adds) table.offset(3, norm);
        return w.table(table);
      };
      std::vector<Op> ops = {input(0, {kRows, kIn, 1, 1})};
      Op fused{307, "fused", {0}, {}, mnn::kFusedLinear, parameter, 2};
      if (adds) ops.push_back(input(1, {kRows, kIn, 1, 1})), fused.inputs.push_back(1);
      for (size_t i = 0; i < results; ++i) fused.outputs.push_back(static_cast<int32_t>(2 + i));
      ops.push_back(fused);
      const Model net = Model::from_graph(import(model(ops, {"a", "b", "p", "q", "r", "s"})));
      const Tensor left = Tensor::of_f32({kRows, kIn, 1, 1}, a), right = Tensor::of_f32({kRows, kIn, 1, 1}, b);
      Session session(net);
      const std::vector<Tensor> made = adds ? session.run({left, right}) : session.run({left});
      ASSERT_EQ(made.size(), results);
      std::vector<std::vector<double>> expected(results);
      for (size_t row = 0; row < kRows; ++row) {
        std::vector<double> x(a.begin() + static_cast<ptrdiff_t>(row * kIn), a.begin() + static_cast<ptrdiff_t>((row + 1) * kIn));
        if (adds) {
          for (size_t i = 0; i < kIn; ++i) x[i] += static_cast<double>(b[row * kIn + i]);
          expected.back().insert(expected.back().end(), x.begin(), x.end());
          x = root_normalized(x, scales);
        }
        const auto projected = [&](size_t member, size_t output) {
          double sum = static_cast<double>(numbers(outputs_of(member), 7)[output]);
          for (size_t i = 0; i < kIn; ++i) sum += x[i] * static_cast<double>(weights(member, outputs_of(member))[output * kIn + i]);
          return sum;
        };
        for (size_t i = 0; i < (gates ? 1 : members); ++i)
          for (size_t output = 0; output < outputs_of(i); ++output)
            expected[i].push_back(gates ? projected(1, output) * silu(projected(0, output)) : projected(i, output));
      }
      for (size_t i = 0; i < results; ++i) expect_near(made[i], expected[i]);
    }
  }
  const Op empty{307, "fused", {0}, {1}, mnn::kFusedLinear, [](FlatWriter& w) { return w.table(FlatWriter::Table()); }};
  EXPECT_EQ(error_of(model({input(0, {3, 4, 1, 1}), empty}, {"a", "b"})),
            "net.mnn: node \"fused\" (FusedLinear): 0 convolutions are not valid");
}

TEST(MnnImporter, heads_are_normalized_and_gated) {
  constexpr size_t kRows = 3, kHeads = 2, kWidth = 4;
  const std::vector<float> scales = numbers(kWidth, 9), a = numbers(kRows * kHeads * kWidth, 1), b = numbers(kRows * kHeads * kWidth, 2);
  for (const bool images : {false, true}) {
    const std::vector<int32_t> heads = images ? std::vector<int32_t>{6, 4, 1, 1} : std::vector<int32_t>{6, 4},
                               gates = images ? std::vector<int32_t>{3, 8, 1, 1} : std::vector<int32_t>{3, 8};
    const Op norm{308,
                  "norm",
                  {0, 1},
                  {2},
                  mnn::kLayerNorm,
                  [&](FlatWriter& w) { return root_norm(w, scales); },
                  static_cast<int8_t>(images ? 2 : 0)};
    const Model net = Model::from_graph(import(model({input(0, heads), input(1, gates), norm}, {"a", "b", "y"})));
    const auto tensor = [](const std::vector<int32_t>& dims, const std::vector<float>& values) {
      return Tensor::of_f32(Shape(std::vector<int64_t>(dims.begin(), dims.end())), values);
    };
    const Tensor made = Session(net).run({tensor(heads, a), tensor(gates, b)})[0];
    EXPECT_EQ(made.shape(), tensor(gates, b).shape());
    std::vector<double> expected;
    for (size_t row = 0; row < kRows * kHeads; ++row) {
      const auto at = static_cast<ptrdiff_t>(row * kWidth);
      const std::vector<double> y = root_normalized({a.begin() + at, a.begin() + at + static_cast<ptrdiff_t>(kWidth)}, scales);
      for (size_t i = 0; i < kWidth; ++i) expected.push_back(y[i] * silu(static_cast<double>(b[row * kWidth + i])));
    }
    expect_near(made, expected);
  }
}

TEST(MnnImporter, extra_operators_are_called_by_their_own_type) {
  const Op extra{512, "mine", {0}, {1}, mnn::kExtra, [](FlatWriter& w) {
                   const size_t type = w.text("SuperOp");
                   return w.table(FlatWriter::Table().offset(0, type));
                 }};
  EXPECT_EQ(error_of(model({input(0, {2, 3}), extra}, {"x", "y"})), "net.mnn: an operator is not supported: SuperOp (node \"mine\")");
}

TEST(MnnImporter, an_error_names_file_node_and_operator) {
  const Op permute{46, "turn", {0}, {1}, mnn::kPermute, [](FlatWriter& w) {
                     const size_t dims = w.numbers(std::vector<int32_t>{1, 0, 2});
                     return w.table(FlatWriter::Table().offset(0, dims));
                   }};
  EXPECT_EQ(error_of(model({input(0, {2, 3}), permute}, {"x", "y"})),
            "net.mnn: node \"turn\" (Permute): an order of 3 dimensions does not fit 2");
}

TEST(MnnImporter, a_tensor_that_nothing_makes_is_an_error) {
  EXPECT_EQ(error_of(model({input(0, {2, 3}), {81, "act", {2}, {1}}}, {"x", "y", "ghost"})),
            "net.mnn: node \"act\" (Sigmoid): input 0 (\"ghost\") is used, but nothing before it makes it");
}

TEST(MnnImporter, a_loop_that_contains_itself_is_an_error) {
  // A subgraph whose only operator is a While over that subgraph.
  FlatWriter w;
  const auto loop = [&] {
    const size_t body = w.text("body"), parameter = w.table(FlatWriter::Table().offset(1, body));
    const size_t inputs = w.numbers(std::vector<int32_t>{0, 1, 2}), outputs = w.numbers(std::vector<int32_t>{3}), name = w.text("again");
    return w.table(FlatWriter::Table()
                       .offset(0, inputs)
                       .number(1, uint8_t{mnn::kWhile})
                       .offset(2, parameter)
                       .offset(3, name)
                       .offset(4, outputs)
                       .number(5, int32_t{600}));
  };
  const auto names = [&] {
    std::vector<size_t> all;
    for (const char* name : {"count", "go", "x", "y"}) all.push_back(w.text(name));
    return w.offsets(all);
  };
  const size_t inner = loop(), inner_list = w.offsets({inner}), inner_names = names(), graph_name = w.text("body");
  const size_t inputs = w.numbers(std::vector<int32_t>{0, 1, 2}), outputs = w.numbers(std::vector<int32_t>{1, 3});
  const size_t graph =
      w.table(FlatWriter::Table().offset(0, graph_name).offset(1, inputs).offset(2, outputs).offset(3, inner_names).offset(4, inner_list));
  const size_t graphs = w.offsets({graph});
  std::vector<size_t> ops;
  for (int32_t i = 0; i < 3; ++i) {
    const size_t made = w.numbers(std::vector<int32_t>{i}), dims = w.numbers(std::vector<int32_t>{});
    const size_t parameter = w.table(FlatWriter::Table().offset(0, dims).number(1, int32_t{3}).number(2, int8_t{0}));
    ops.push_back(w.table(FlatWriter::Table().number(1, uint8_t{mnn::kInput}).offset(2, parameter).offset(4, made).number(5, int32_t{34})));
  }
  ops.push_back(loop());
  const size_t list = w.offsets(ops), tensor_names = names();
  const std::string error = error_of(w.finish(w.table(FlatWriter::Table().offset(3, list).offset(7, tensor_names).offset(10, graphs))));
  EXPECT_NE(error.find("subgraphs and functions are nested more than 64 deep"), std::string::npos) << error;
}

TEST(MnnImporter, a_shape_of_more_elements_than_can_be_counted) {
  // [4, n, n] becomes [4, n * n]: what is folded while reading is judged by a product beyond 64 bits.
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const Op flatten{
      28,  "flat",        {0},
      {1}, mnn::kFlatten, [](FlatWriter& w) {
                     return w.table(FlatWriter::Table().number(0, int32_t{1}).number(1, int32_t{0})); }};
  const std::string error = error_of(model({input(0, {4, kMost, kMost}), flatten}, {"x", "y"}));
  EXPECT_EQ(error, "");
}

/// A Raster of one region over an input of that shape.
std::string raster(const std::vector<int32_t>& input_shape, const std::vector<int32_t>& region, const std::vector<int32_t>& shape) {
  const Op op{128, "copy", {0}, {1}, mnn::kExtra, [=](FlatWriter& w) {
                std::vector<size_t> attributes;
                for (const auto& [key, values] : {std::pair("region", region), std::pair("shape", shape)}) {
                  const size_t numbers = w.numbers(values), list = w.table(FlatWriter::Table().offset(1, numbers)), name = w.text(key);
                  attributes.push_back(w.table(FlatWriter::Table().offset(3, name).offset(7, list)));
                }
                const size_t all = w.offsets(attributes);
                return w.table(FlatWriter::Table().offset(3, all));
              }};
  return model({input(0, input_shape), op}, {"x", "y"});
}

TEST(MnnImporter, rasters_of_sizes_that_are_not_there) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const std::vector<int32_t> all = {0, 4, 2, 1, 0, 4, 2, 1, 1, 2, 2};  // offset and strides of source and target, sizes
  EXPECT_EQ(error_of(raster({2, 2}, all, {2, 2})), "");
  EXPECT_EQ(error_of(raster({kMost, kMost, kMost}, all, {2, 2})),
            "net.mnn: node \"copy\" (Raster): input 0 has more elements than memory can hold");
  EXPECT_NE(error_of(raster({2, 2}, all, {kMost, kMost})).find("a result of 1 by 2147483647 elements is not supported"), std::string::npos);
  EXPECT_NE(error_of(raster({2, 2}, all, {1 << 20, 1 << 20})).find("a result of 1048576 by 1048576 elements is not supported"),
            std::string::npos);
  EXPECT_EQ(error_of(raster({2, 2}, {0, 4, 2, 1, 0, 4, 2, 1, 1, 2, kMost}, {2, 2})),
            "net.mnn: node \"copy\" (Raster): a region has 2147483647 elements along an axis");
  EXPECT_NE(
      error_of(raster({2, 2}, {0, 4, 2, 1, 0, 4, 2, 1, 1 << 11, 1 << 11, 1 << 11}, {2, 2})).find("regions that overlap are not supported"),
      std::string::npos);
  EXPECT_EQ(error_of(raster({2, 2}, {0, 4, kMost, kMost, 0, 4, 2, 1, 1, 2, 2}, {2, 2})),
            "net.mnn: node \"copy\" (Raster): region 0 lies outside of its input or of the result");
  EXPECT_EQ(error_of(raster({2, 2}, {0, 4, 2}, {2, 2})), "net.mnn: node \"copy\" (Raster): 3 numbers do not fit the regions of 1 inputs");
}

// Every operator without outputs and with fewer inputs than it needs, or absent ones, with the parameter of its rule: a sentence, or a
// graph of the rest.
TEST(MnnImporter, operators_without_tensors) {
  for (const mnn::Rule& rule : mnn::all_rules())
    for (const std::vector<int32_t>& inputs : std::vector<std::vector<int32_t>>{{}, {0}, {0, 0}, {0, 0, 0}, {-1, 0, 0}, {0, -1, 0}}) {
      const auto table = [](FlatWriter& w) {
        return w.table(FlatWriter::Table().number(5, uint8_t{1}));
      };  // packed results of an Attention
      std::vector<Op> ops = {input(0, {1, 2, 2, 4}), {81, "act", {0}, {1}}};
      ops.push_back({rule.type, "node", inputs, {}, rule.kind, table});
      const std::string error = error_of(model(ops, {"x", "y"}));
      EXPECT_TRUE(error.empty() || error.starts_with("net.mnn: ")) << rule.name << ": " << error;
    }
}

TEST(MnnImporter, detections_of_numbers_that_are_not_there) {
  const auto detections = [](int32_t most, int32_t classes, int32_t per_box, float scale) {
    const Op op{116, "boxes", {0, 1, 2}, {3, 4, 5, 6}, mnn::kDetectionPostProcess, [=](FlatWriter& w) {
                  const size_t scales = w.numbers(std::vector<float>{10, 10, scale, 5});
                  return w.table(
                      FlatWriter::Table().number(0, most).number(1, per_box).number(2, int32_t{10}).number(5, classes).offset(7, scales));
                }};
    return error_of(
        model({input(0, {1, 6, 4}), input(1, {1, 6, 3}), input(2, {6, 4}), op}, {"codes", "scores", "anchors", "a", "b", "c", "d"}));
  };
  EXPECT_EQ(detections(5, 2, 1, 5), "");
  EXPECT_EQ(detections(std::numeric_limits<int32_t>::max(), 2, 2, 5), "");  // filled up when it runs, if it does
  EXPECT_EQ(detections(-1, 2, 1, 5), "net.mnn: node \"boxes\" (DetectionPostProcess): 2 classes and -1 detections are not valid");
  EXPECT_EQ(detections(5, std::numeric_limits<int32_t>::max(), 1, 5),
            "net.mnn: node \"boxes\" (DetectionPostProcess): has scores for 3 classes and not for 2147483647");
  EXPECT_EQ(detections(5, 2, 1, -5), "net.mnn: node \"boxes\" (DetectionPostProcess): a scale of -5 is not valid");
}

TEST(MnnImporter, inputs_of_one_name_may_have_different_ranks) {
  EXPECT_EQ(error_of(model({input(0, {1, 3, 8, 8}), input(1, {2}), {81, "act", {0}, {2}}, {81, "more", {1}, {3}}}, {"x", "x", "y", "z"})),
            "");
}

TEST(MnnImporter, a_shape_of_too_many_entries) {
  const Op reshape{73, "turn", {0, 1}, {2}, mnn::kReshape, [](FlatWriter& w) { return w.table(FlatWriter::Table()); }};
  EXPECT_EQ(error_of(model({input(0, {2, 3}), input(1, {1 << 24}), reshape}, {"x", "shape", "y"})),
            "net.mnn: node \"turn\" (Reshape): a shape of 16777216 dimensions is not valid");
}

TEST(MnnImporter, files_of_other_kinds_are_not_recognized) {
  const auto recognized = [](const std::string& bytes) { return looks_like_mnn(std::as_bytes(std::span(bytes.data(), bytes.size()))); };
  EXPECT_TRUE(recognized(seed_file("loop")));
  EXPECT_FALSE(recognized(""));
  EXPECT_FALSE(recognized(std::string(4096, '\0')));
  EXPECT_FALSE(recognized(std::string(4096, '\x10')));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_dir() / "tests/fuzz/seeds")) {
    if (!entry.is_regular_file() || entry.path().extension() == ".mnn") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    EXPECT_FALSE(recognized({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()})) << entry.path();
  }
}

TEST(MnnImporter, every_rule_has_a_number_and_a_name_of_its_own) {
  const auto rules = mnn::all_rules();
  for (size_t i = 1; i < rules.size(); ++i) {
    EXPECT_LE(rules[i - 1].type, rules[i].type) << rules[i].name;
    EXPECT_NE(rules[i - 1].name, rules[i].name);
    EXPECT_TRUE(rules[i].build);
  }
}

}  // namespace
}  // namespace minnow::mnn

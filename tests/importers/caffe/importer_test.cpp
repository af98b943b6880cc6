// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "importers/caffe/caffe_layer.h"
#include "importers/caffe/importer.h"
#include "ops/evaluate.h"
#include "support/wire.h"

namespace minnow::caffe {
namespace {

using test::wire::message;
using test::wire::varint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}
std::string blob(std::initializer_list<int64_t> shape, std::initializer_list<float> values) {
  std::string dims;
  for (int64_t dim : shape) dims += varint(static_cast<uint64_t>(dim));
  return message(7, message(1, dims)) + message(5, floats(values));
}
std::string old_blob(std::initializer_list<float> values) {
  return varint(1 << 3) + varint(1) + varint(2 << 3) + varint(1) + varint(3 << 3) + varint(1) + varint(4 << 3) + varint(values.size()) +
         message(5, floats(values));
}
std::string layer(const std::string& name, std::initializer_list<std::string> blobs) {
  std::string body = message(1, name);
  for (const std::string& one : blobs) body += message(7, one);
  return message(100, body);
}

std::unique_ptr<Graph> import_net(const std::string& text, const std::string& weights = {}) {
  ImportOptions options;
  options.warn = [](std::string_view) {};
  return caffe::import_model(text, weights, options, "net.prototxt", "net.caffemodel");
}
std::vector<float> run(const Graph& graph, const Shape& shape, std::vector<float> x) {
  const std::vector<Datum> inputs = {Datum(Tensor::of_f32(shape, x))};
  const std::vector<Datum> outputs = evaluate(OperatorSet::builtin(), graph, inputs);
  const Tensor& y = outputs.at(0).tensor;
  return {y.data<float>(), y.data<float>() + y.elements()};
}
std::string error_of(const std::string& text, const std::string& weights = {}) {
  try {
    import_net(text, weights);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr char kInput[] = "input: 'x' input_shape { dim: 1 dim: 2 }\n";

TEST(CaffeImporter, text_in_all_its_forms) {
  const auto graph = import_net(R"(# a comment
    name: "n" input: 'x'; input_shape < dim: [1, 2] >
    layer { name: "a", type: "Power" bottom: "x" top: "y" power_param { scale: 2. shift: -1e0 } }
    layer: { name: "b" type: "Eltwise" bottom: "y" bottom: "x" top: "z" eltwise_param { operation: MAX } })");
  EXPECT_THAT(run(*graph, {1, 2}, {0, 3}), ElementsAre(0, 5));
  EXPECT_EQ(graph->outputs()[0]->name(), "z");
}

TEST(CaffeImporter, the_first_dimension_is_open_as_caffes_blobs_are) {
  const auto dims = [](const Graph& graph, size_t i) { return to_string(graph.inputs().at(i)->type); };
  const auto graph = import_net(R"(input: 'x' input_shape { dim: 10 dim: 2 } input: 'y' input_shape { dim: 10 dim: 2 }
    input: 'rois' input_shape { dim: 300 dim: 2 } input: 'k' input_shape { dim: 3 }
    layer { name: "a" type: "Eltwise" bottom: "x" bottom: "y" top: "z" }
    layer { name: "b" type: "Power" bottom: "rois" top: "r" power_param { scale: 2. } }
    layer { name: "c" type: "Power" bottom: "k" top: "m" })");
  EXPECT_EQ(dims(*graph, 0), "f32[batch, 2]");
  EXPECT_EQ(dims(*graph, 1), "f32[batch, 2]") << "of the same size";
  EXPECT_EQ(dims(*graph, 2), "f32[batch2, 2]");
  EXPECT_EQ(dims(*graph, 3), "f32[3]") << "no batch of anything";
  EXPECT_EQ(dims(*import_net("input: 'x' input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8 "
                             "layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'y' }"),
                 0),
            "f32[batch, 3, height, width]");
}

TEST(CaffeImporter, pools_that_round_up_before_a_product_leave_the_batch_open) {
  const auto graph = import_net(
      "input: 'x' input_dim: 1 input_dim: 1 input_dim: 4 input_dim: 4 "
      "layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'p' pooling_param { pool: MAX kernel_size: 3 stride: 2 } } "
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'p' top: 'y' "
      "inner_product_param { num_output: 1 bias_term: false } } "
      "layer { name: 's' type: 'Softmax' bottom: 'y' top: 'z' }",
      layer("fc", {blob({1, 4}, {1, 1, 1, 1})}));
  EXPECT_EQ(to_string(graph->inputs()[0]->type), "f32[batch, 1, 4, 4]");
  EXPECT_EQ(run(*graph, {2, 1, 4, 4}, std::vector<float>(32, 1)), (std::vector<float>{1, 1}));
}

TEST(CaffeImporter, a_network_that_is_tied_to_its_batch_keeps_it) {
  const auto graph = import_net(R"(input: 'x' input_shape { dim: 2 dim: 6 }
    layer { name: "a" type: "Reshape" bottom: "x" top: "y" reshape_param { shape { dim: 3 dim: 4 } } })");
  EXPECT_EQ(to_string(graph->inputs()[0]->type), "f32[2, 6]");
}

TEST(CaffeImporter, layers_in_place_make_new_values) {
  const auto graph = import_net(std::string(kInput) + R"(
    layer { name: "a" type: "Power" bottom: "x" top: "y" power_param { shift: -2 } }
    layer { name: "r" type: "ReLU" bottom: "y" top: "y" }
    layer { name: "s" type: "Power" bottom: "y" top: "y" power_param { scale: 3 } })");
  EXPECT_THAT(run(*graph, {1, 2}, {1, 4}), ElementsAre(0, 6));
}

TEST(CaffeImporter, weights_are_called_after_their_layers) {
  const auto graph = import_net(
      std::string(kInput) + R"(layer { name: "fc" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 1 } })",
      layer("fc", {blob({1, 2}, {2, 3}), blob({1}, {10})}));
  std::vector<std::string> names;
  for (const auto& constant : graph->constants())
    if (constant->type.dtype == DType::f32) names.push_back(constant->name());
  EXPECT_THAT(names, UnorderedElementsAre("fc.weight", "fc.bias"));
}

TEST(CaffeImporter, weights_of_all_three_generations) {
  const std::string now =
      std::string(kInput) + R"(layer { name: "fc" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 1 } })";
  const std::string weights = layer("fc", {blob({1, 2}, {2, 3}), blob({1}, {10})});
  EXPECT_THAT(run(*import_net(now, weights), {1, 2}, {1, 1}), ElementsAre(15));
  const std::string before = R"(input: "x" input_dim: 1 input_dim: 2 input_dim: 1 input_dim: 1
    layers { name: "fc" type: INNER_PRODUCT bottom: "x" top: "y" inner_product_param { num_output: 1 } })";
  const std::string old_weights = message(2, message(4, "fc") + message(6, old_blob({2, 3})) + message(6, old_blob({10})));
  EXPECT_THAT(run(*import_net(before, old_weights), {1, 2, 1, 1}, {1, 1}), ElementsAre(15));
  const std::string first = R"(input: "x" input_dim: 1 input_dim: 2 input_dim: 1 input_dim: 1
    layers { layer { name: "fc" type: "innerproduct" num_output: 1 } bottom: "x" top: "y" })";
  const std::string first_weights = message(2, message(1, message(1, "fc") + message(50, old_blob({2, 3})) + message(50, old_blob({10}))));
  EXPECT_THAT(run(*import_net(first, first_weights), {1, 2, 1, 1}, {1, 1}), ElementsAre(15));
}

TEST(CaffeImporter, what_only_training_has_is_left_out) {
  const auto graph = import_net(R"(
    layer { name: "d" type: "Data" top: "x" top: "label" include { phase: TRAIN } }
    layer { name: "d" type: "MemoryData" top: "x" top: "label" memory_data_param { batch_size: 1 channels: 2 height: 1 width: 1 } }
    layer { name: "drop" type: "Dropout" bottom: "x" top: "x" }
    layer { name: "t" type: "Power" bottom: "x" top: "t" exclude { phase: TEST } }
    layer { name: "accuracy" type: "Accuracy" bottom: "x" bottom: "label" top: "accuracy" }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "label" top: "loss" })");
  ASSERT_EQ(graph->outputs().size(), 1u);
  EXPECT_EQ(graph->outputs()[0]->name(), "loss");
  EXPECT_EQ(graph->inputs().size(), 1u);
  EXPECT_THAT(run(*graph, {1, 2, 1, 1}, {0, 0}), ElementsAre(0.5f, 0.5f));
}

TEST(CaffeImporter, dropout_keeps_its_ratio_for_training) {
  for (const auto& [parameters, ratio] : {std::pair{"dropout_param { dropout_ratio: 0.25 }", 0.25f}, {"", 0.5f}}) {
    const auto graph = import_net(std::string(kInput) + "layer { name: 'd' type: 'Dropout' bottom: 'x' top: 'y' " + parameters + " }");
    const Node& node = *graph->nodes().begin();
    ASSERT_EQ(node.op(), "Dropout");
    EXPECT_EQ(*node.input(1)->constant()->data<float>(), ratio);
    EXPECT_THAT(run(*graph, {1, 2}, {1, 4}), ElementsAre(1, 4));
  }
}

TEST(CaffeImporter, pooling_rounds_up_and_padding_counts) {
  const std::string head =
      "input: 'x' input_shape { dim: 1 dim: 1 dim: 1 dim: 4 } layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'y' pooling_param { ";
  EXPECT_THAT(run(*import_net(head + "kernel_h: 1 kernel_w: 3 stride: 2 } }"), {1, 1, 1, 4}, {1, 2, 3, 4}), ElementsAre(3, 4));
  EXPECT_THAT(run(*import_net(head + "pool: AVE kernel_h: 1 kernel_w: 3 stride: 2 } }"), {1, 1, 1, 4}, {1, 2, 3, 4}), ElementsAre(2, 3.5));
  EXPECT_THAT(run(*import_net(head + "pool: AVE kernel_h: 1 kernel_w: 3 stride_h: 1 stride_w: 3 pad_h: 0 pad_w: 1 } }"), {1, 1, 1, 4},
                  {3, 3, 3, 6}),
              ElementsAre(2, 3));
  for (const char* method : {"MAX", "AVE"})
    EXPECT_THAT(error_of(head + "pool: " + method + " kernel_h: 1 kernel_w: 3 stride: 1 pad_h: 0 pad_w: 3 } }"),
                HasSubstr("net.prototxt: layer \"p\" (Pooling): padding should be smaller than the window, it is 3 beside a window of 3"));
}

TEST(CaffeImporter, a_layer_whose_weights_do_not_fit_is_named) {
  const std::string net =
      std::string(kInput) + R"(layer { name: "fc" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 3 } })";
  EXPECT_THAT(
      error_of(net, layer("fc", {blob({1, 2}, {2, 3}), blob({1}, {10})})),
      HasSubstr("net.prototxt: layer \"fc\" (InnerProduct): blob 0 should have shape [3, 2], the caffemodel has one of shape [1, 2]"));
  EXPECT_THAT(error_of(net, layer("other", {blob({1}, {1})})), HasSubstr("layer \"fc\" (InnerProduct): has no weights in the caffemodel"));
}

TEST(CaffeImporter, all_that_is_missing_is_told_at_once) {
  const std::string text = error_of(std::string(kInput) + R"(
    layer { name: "a" type: "Strange" bottom: "x" top: "y" }
    layer { name: "b" type: "Odd" bottom: "y" top: "z" }
    layer { name: "c" type: "Strange" bottom: "z" top: "u" }
    layer { name: "d" type: "Third" bottom: "u" top: "v" }
    layer { name: "e" type: "Fourth" bottom: "v" top: "w" }
    layer { name: "f" type: "Fifth" bottom: "w" top: "w" })");
  EXPECT_THAT(text, HasSubstr("layers are not supported: Fifth (layer \"f\"); Fourth (layer \"e\"); Odd (layer \"b\"); "
                              "Strange (layers \"a\", \"c\"); Third (layer \"d\")"));
}

TEST(CaffeImporter, errors_name_the_line) {
  EXPECT_THAT(error_of("name: \"a\n"), HasSubstr("net.prototxt: line 1: a quoted text does not end"));
  EXPECT_THAT(error_of("\nlayer { name: 'a' "), HasSubstr("line 2: a message does not end"));
  EXPECT_THAT(error_of(std::string(kInput) + "layer { name: 'a' type: 'ReLU' bottom: 'q' top: 'y' }"),
              HasSubstr("\"q\" is used, but no layer before it makes it"));
}

TEST(CaffeImporter, an_lstm_begins_anew_where_cont_says_so) {
  const std::string text = R"(
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 4 dim: 2 dim: 1 } } }
    layer { name: "cont" type: "Input" top: "cont" input_param { shape { dim: 4 dim: 2 } } }
    layer { name: "y" type: "LSTM" bottom: "x" bottom: "cont" top: "y" recurrent_param { num_output: 1 } })";
  const std::string weights =
      layer("y", {blob({4, 1}, {0.5f, -1, 0.25f, 2}), blob({4}, {0.1f, 0.2f, 0.3f, -0.4f}), blob({4, 1}, {1, -0.5f, 0.75f, 0.6f})});
  const std::unique_ptr<Graph> graph = import_net(text, weights);
  const auto steps = [&](std::vector<float> x, std::vector<float> cont) {
    const std::vector<Datum> inputs = {Datum(Tensor::of_f32({4, 2, 1}, x)), Datum(Tensor::of_f32({4, 2}, cont))};
    const std::vector<Datum> outputs = evaluate(OperatorSet::builtin(), *graph, inputs);
    const Tensor& y = outputs.at(0).tensor;
    return std::vector<float>(y.data<float>(), y.data<float>() + y.elements());
  };
  const std::vector<float> x = {1, -1, 2, 0.5f, -0.5f, 3, 0.25f, 1};
  const std::vector<float> once = steps(x, {0, 0, 1, 1, 1, 1, 1, 1});
  // The second sequence begins anew at step 2; the first does not.
  const std::vector<float> anew = steps(x, {0, 0, 1, 1, 1, 0, 1, 1});
  const std::vector<float> rest = steps({0, 3, 0, 1, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 1, 1, 1});
  for (size_t t : {0, 1, 2, 3}) EXPECT_FLOAT_EQ(anew[2 * t], once[2 * t]);
  for (size_t t : {0, 1}) EXPECT_FLOAT_EQ(anew[2 * t + 1], once[2 * t + 1]);
  for (size_t t : {2, 3}) EXPECT_FLOAT_EQ(anew[2 * t + 1], rest[2 * (t - 2) + 1]);
  EXPECT_NE(anew[5], once[5]);
}

// Against py-faster-rcnn's formulas, by hand: an anchor of 16 pixels at every other place, 16 pixels apart.
TEST(CaffeImporter, proposals_are_anchors_that_are_moved_clipped_and_suppressed) {
  const std::string text = R"(
    layer { name: "s" type: "Input" top: "s" input_param { shape { dim: 1 dim: 2 dim: 1 dim: 3 } } }
    layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 4 dim: 1 dim: 3 } } }
    layer { name: "i" type: "Input" top: "i" input_param { shape { dim: 1 dim: 3 } } }
    layer { name: "r" type: "Proposal" bottom: "s" bottom: "d" bottom: "i" top: "r" top: "p"
            proposal_param { ratio: 1 scale: 1 min_size: 4 post_nms_topn: 5 } })";
  const std::unique_ptr<Graph> graph = import_net(text);
  const std::vector<float> scores = {0, 0, 0, 0.25f, 0.75f, 0.5f}, image = {12, 50, 1};
  // The second is moved onto the first, but for one pixel; the third begins beyond the image, where little of it is left.
  const std::vector<float> moves = {0, -15.0f / 16, 0.25f, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<Datum> inputs = {Datum(Tensor::of_f32({1, 2, 1, 3}, scores)), Datum(Tensor::of_f32({1, 4, 1, 3}, moves)),
                                     Datum(Tensor::of_f32({1, 3}, image))};
  const std::vector<Datum> outputs = evaluate(OperatorSet::builtin(), *graph, inputs);
  const Tensor &rois = outputs.at(0).tensor, &kept = outputs.at(1).tensor;
  EXPECT_EQ(rois.shape(), (Shape{2, 5}));
  EXPECT_THAT(std::vector<float>(rois.data<float>(), rois.data<float>() + 10), ElementsAre(0, 1, 0, 17, 11, 0, 36, 0, 49, 11));
  EXPECT_THAT(std::vector<float>(kept.data<float>(), kept.data<float>() + 2), ElementsAre(0.75f, 0.5f));
}

TEST(CaffeImporter, proposals_of_a_large_map_take_no_memory_before_they_are_computed) {
  const std::string text = R"(
    layer { name: "s" type: "Input" top: "s" input_param { shape { dim: 1 dim: 2 dim: 4000 dim: 4000 } } }
    layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 4 dim: 4000 dim: 4000 } } }
    layer { name: "i" type: "Input" top: "i" input_param { shape { dim: 1 dim: 3 } } }
    layer { name: "r" type: "Proposal" bottom: "s" bottom: "d" bottom: "i" top: "r"
            proposal_param { ratio: 1 scale: 1 } })";
  const std::unique_ptr<Graph> graph = import_net(text);
  size_t bytes = 0;
  for (const Node& node : graph->nodes())
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i) && node.input(i)->constant()) bytes += node.input(i)->constant()->bytes();
  EXPECT_LT(bytes, 2000u);
}

TEST(CaffeImporter, position_sensitive_regions_take_the_channels_of_their_bins) {
  const std::string text = R"(
    layer { name: "m" type: "Input" top: "m" input_param { shape { dim: 1 dim: 4 dim: 4 dim: 4 } } }
    layer { name: "r" type: "Input" top: "r" input_param { shape { dim: 2 dim: 5 } } }
    layer { name: "y" type: "PSROIPooling" bottom: "m" bottom: "r" top: "y"
            psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 0.5 } })";
  const std::unique_ptr<Graph> graph = import_net(text);
  std::vector<float> maps;
  for (int i = 0; i < 64; ++i) maps.push_back(static_cast<float>(i));
  const std::vector<float> regions = {0, 0, 0, 7, 7, 0, 20, 20, 30, 30};  // all of the maps; beyond them
  const std::vector<Datum> inputs = {Datum(Tensor::of_f32({1, 4, 4, 4}, maps)), Datum(Tensor::of_f32({2, 5}, regions))};
  const std::vector<Datum> outputs = evaluate(OperatorSet::builtin(), *graph, inputs);
  const Tensor& y = outputs.at(0).tensor;
  EXPECT_EQ(y.shape(), (Shape{2, 1, 2, 2}));
  EXPECT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + 8), ElementsAre(2.5f, 20.5f, 42.5f, 60.5f, 0, 0, 0, 0));
}

TEST(CaffeImporter, at_least_sixty_layers) {
  size_t computed = 0;
  for (const caffe::Rule& rule : caffe::all_rules()) computed += rule.build != nullptr;
  EXPECT_GE(computed, 60u);
}

TEST(CaffeImporter, damaged_files_give_an_error_or_a_graph) {
  const std::string text = std::string(kInput) + R"(
    layer { name: "fc" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 3 } }
    layer { name: "n" type: "BatchNorm" bottom: "y" top: "y" }
    layer { name: "s" type: "Scale" bottom: "y" top: "y" scale_param { bias_term: true } })";
  const std::string weights = layer("fc", {blob({3, 2}, {1, 2, 3, 4, 5, 6}), blob({3}, {1, 2, 3})}) +
                              layer("n", {blob({3}, {1, 2, 3}), blob({3}, {1, 2, 3}), blob({1}, {1})}) +
                              layer("s", {blob({3}, {1, 2, 3}), blob({3}, {1, 2, 3})});
  EXPECT_NO_THROW(import_net(text, weights));
  const auto try_both = [](const std::string& net, const std::string& numbers) {
    try {
      import_net(net, numbers);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  };
  for (size_t size = 0; size < text.size(); ++size) try_both(text.substr(0, size), weights);
  for (size_t size = 0; size < weights.size(); ++size) try_both(text, weights.substr(0, size));
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string net = text, numbers = weights;
    std::string& damaged = i % 2 ? net : numbers;
    for (int k = 0; k < 1 + i % 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(i % 2 ? 32 + random() % 95 : random());
    try_both(net, numbers);
  }
}

}  // namespace
}  // namespace minnow::caffe

// SPDX-License-Identifier: Apache-2.0
// Networks without some channels equal those whose weights for these channels are zero.
#include <gmock/gmock.h>
#include <minnow/convert.h>
#include <minnow/prune.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "compress/models.h"
#include "graph/graph.h"
#include "support/networks.h"
#include "support/paths.h"
#include "support/sentence.h"

namespace minnow::compress {
namespace {

using test::sentence_of;
using testing::HasSubstr;

struct Network {
  const char *name, *text;
};

constexpr Network kNetworks[] = {
    {"plain", R"(graph {
       input x: f32[2, 3, 12, 12]
       const w1 = f32[16, 3, 3, 3] random 1
       const b1 = f32[16] random 2
       const w2 = f32[24, 16, 3, 3] random 3
       const w3 = f32[8, 24, 1, 1] random 4
       a = Conv(x, w1, b1) {pads = [1, 1, 1, 1], strides = [2, 2]}
       b = Relu(a)
       c = Conv(b, w2)
       d = Sigmoid(c)
       y = Conv(d, w3)
       output y
     })"},
    {"residual", R"(graph {
       input x: f32[1, 3, 10, 10]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[32, 16, 3, 3] random 2
       const w3 = f32[16, 32, 3, 3] random 3
       const b3 = f32[16] random 4
       const w4 = f32[5, 16, 1, 1] random 5
       a = Conv(x, w1) {pads = [1, 1, 1, 1]}
       b = Relu(a)
       c = Conv(b, w2) {pads = [1, 1, 1, 1]}
       d = Relu(c)
       e = Conv(d, w3, b3) {pads = [1, 1, 1, 1]}
       f = Add(e, b)
       g = Relu(f)
       y = Conv(g, w4)
       output y
     })"},
    {"depthwise", R"(graph {
       input x: f32[1, 3, 9, 9]
       const w1 = f32[16, 3, 1, 1] random 1
       const w2 = f32[16, 1, 3, 3] random 2
       const b2 = f32[16] random 3
       const w3 = f32[24, 16, 1, 1] random 4
       const w4 = f32[48, 1, 3, 3] random 5
       const w5 = f32[4, 48, 1, 1] random 6
       const low = f32[] 0
       const high = f32[] 6
       a = Conv(x, w1)
       b = Clip(a, low, high)
       c = Conv(b, w2, b2) {group = 16, pads = [1, 1, 1, 1]}
       d = HardSwish(c)
       e = Conv(d, w3)
       f = Conv(e, w4) {group = 24}
       y = Conv(f, w5)
       output y
     })"},
    {"joined", R"(graph {
       input x: f32[1, 3, 8, 8]
       const w1 = f32[16, 3, 1, 1] random 1
       const w2 = f32[8, 16, 1, 1] random 2
       const w3 = f32[24, 16, 3, 3] random 3
       const w4 = f32[32, 35, 1, 1] random 4
       const w5 = f32[6, 32, 1, 1] random 5
       a = Conv(x, w1)
       b = Relu(a)
       c = Conv(b, w2)
       d = Conv(b, w3) {pads = [1, 1, 1, 1]}
       e = Concat(c, x, d) {axis = 1}
       f = Relu(e)
       g = Conv(f, w4)
       h = Relu(g)
       y = Conv(h, w5)
       output y
     })"},
    {"dense_block", R"(graph {
       input x: f32[1, 4, 7, 7]
       const w1 = f32[16, 4, 3, 3] random 1
       const w2 = f32[16, 16, 3, 3] random 2
       const w3 = f32[16, 32, 3, 3] random 3
       const w4 = f32[5, 48, 1, 1] random 4
       a = Conv(x, w1) {pads = [1, 1, 1, 1]}
       b = Conv(a, w2) {pads = [1, 1, 1, 1]}
       c = Concat(a, b) {axis = 1}
       d = Relu(c)
       e = Conv(d, w3) {pads = [1, 1, 1, 1]}
       f = Concat(c, e) {axis = -3}
       y = Conv(f, w4)
       output y
     })"},
    {"groups", R"(graph {
       input x: f32[1, 4, 9, 9]
       const w1 = f32[32, 4, 1, 1] random 1
       const w2 = f32[48, 8, 3, 3] random 2
       const b2 = f32[48] random 3
       const w3 = f32[32, 48, 1, 1] random 4
       const w4 = f32[3, 32, 1, 1] random 5
       a = Conv(x, w1)
       b = Relu(a)
       c = Conv(b, w2, b2) {group = 4, pads = [1, 1, 1, 1]}
       d = Relu(c)
       e = Conv(d, w3)
       f = Add(e, a)
       y = Conv(f, w4)
       output y
     })"},
    {"shuffled", R"(graph {
       input x: f32[1, 4, 6, 6]
       const w1 = f32[32, 4, 1, 1] random 1
       const w2 = f32[32, 16, 3, 3] random 2
       const w3 = f32[5, 32, 1, 1] random 3
       const apart = i64[5] [1, 2, 16, 6, 6]
       const whole = i64[4] [1, 32, 6, 6]
       a = Conv(x, w1)
       b = Reshape(a, apart)
       c = Transpose(b) {perm = [0, 2, 1, 3, 4]}
       d = Reshape(c, whole)
       e = Conv(d, w2) {group = 2, pads = [1, 1, 1, 1]}
       y = Conv(e, w3)
       output y
     })"},
    {"split", R"(graph {
       input x: f32[1, 4, 6, 6]
       const w1 = f32[48, 4, 1, 1] random 1
       const w2 = f32[16, 16, 3, 3] random 2
       const w3 = f32[5, 48, 1, 1] random 3
       const parts = i64[2] [16, 32]
       a = Conv(x, w1)
       b, c = Split(a, parts) {axis = 1}
       d = Conv(b, w2) {pads = [1, 1, 1, 1]}
       e = Concat(d, c) {axis = 1}
       y = Conv(e, w3)
       output y
     })"},
    {"sliced", R"(graph {
       input x: f32[1, 4, 6, 6]
       const w1 = f32[32, 4, 1, 1] random 1
       const w2 = f32[16, 16, 3, 3] random 2
       const w3 = f32[5, 16, 1, 1] random 3
       const starts = i64[2] [8, 1]
       const ends = i64[2] [-8, 100]
       const axes = i64[2] [1, 2]
       a = Conv(x, w1)
       b = Slice(a, starts, ends, axes)
       c = Conv(b, w2)
       d = Relu(c)
       y = Conv(d, w3)
       output y
     })"},
    {"squeeze_and_excite", R"(graph {
       input x: f32[2, 4, 8, 8]
       const w1 = f32[32, 4, 3, 3] random 1
       const w2 = f32[16, 32, 1, 1] random 2
       const w3 = f32[32, 16, 1, 1] random 3
       const w4 = f32[6, 32, 1, 1] random 4
       a = Conv(x, w1)
       p = GlobalAveragePool(a)
       b = Conv(p, w2)
       c = Relu(b)
       d = Conv(c, w3)
       e = Sigmoid(d)
       f = Mul(a, e)
       y = Conv(f, w4)
       output y
     })"},
    {"flat", R"(graph {
       input x: f32[2, 3, 8, 8]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[64, 144] random 2
       const b2 = f32[64] random 3
       const w3 = f32[64, 10] random 4
       a = Conv(x, w1)
       b = MaxPool(a) {kernel_shape = [2, 2], strides = [2, 2]}
       c = Relu(b)
       d = Flatten(c)
       e = Gemm(d, w2, b2) {transB = 1}
       f = Relu(e)
       y = Gemm(f, w3)
       output y
     })"},
    {"normalized", R"(graph {
       input x: f32[1, 3, 8, 8]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[16, 16, 3, 3] random 2
       const w3 = f32[5, 32, 1, 1] random 3
       const s = f32[32] random 4
       const t = f32[32] random 5
       const m = f32[32] random 6
       const v = f32[32] fill 0.7
       const s2 = f32[16] random 7
       const t2 = f32[16] random 8
       a = Conv(x, w1) {pads = [1, 1, 1, 1]}
       n = InstanceNormalization(a, s2, t2)
       b = Conv(n, w2) {pads = [1, 1, 1, 1]}
       c = Concat(a, b) {axis = 1}
       d = BatchNormalization(c, s, t, m, v)
       e = Relu(d)
       y = Conv(e, w3)
       output y
     })"},
    {"sloped", R"(graph {
       input x: f32[1, 3, 8, 8]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[24, 16, 3, 3] random 2
       const w3 = f32[4, 24, 1, 1] random 3
       const slope = f32[16, 1, 1] random 4
       const factors = f32[1, 24, 1, 1] random 5
       const one = f32[] 0.25
       a = Conv(x, w1)
       b = PRelu(a, slope)
       c = Conv(b, w2)
       d = Mul(factors, c)
       e = Sub(one, d)
       f = Tanh(e)
       y = Conv(f, w3)
       output y
     })"},
    {"unet", R"(graph {
       input x: f32[1, 3, 8, 8]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[32, 16, 3, 3] random 2
       const w3 = f32[32, 16, 2, 2] random 3
       const b3 = f32[16] random 4
       const w4 = f32[4, 32, 1, 1] random 5
       a = Conv(x, w1) {pads = [1, 1, 1, 1]}
       b = Relu(a)
       p = MaxPool(b) {kernel_shape = [2, 2], strides = [2, 2]}
       c = Conv(p, w2) {pads = [1, 1, 1, 1]}
       d = Relu(c)
       e = ConvTranspose(d, w3, b3) {strides = [2, 2]}
       f = Concat(e, b) {axis = 1}
       y = Conv(f, w4)
       output y
     })"},
    {"padded_and_resized", R"(graph {
       input x: f32[1, 3, 8, 8]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[16, 16, 3, 3] random 2
       const w3 = f32[4, 16, 1, 1] random 3
       const pads = i64[8] [0, 0, 1, 2, 0, 0, 1, 0]
       const scales = f32[4] [1, 1, 2, 2]
       const sizes = i64[4] [1, 16, 5, 7]
       a = Conv(x, w1)
       b = Pad(a, pads)
       c = Resize(b, _, scales) {mode = "nearest"}
       d = Conv(c, w2)
       e = Resize(d, _, _, sizes) {mode = "linear"}
       y = Conv(e, w3)
       output y
     })"},
    {"rows", R"(graph {
       input x: f32[2, 5, 12]
       const w1 = f32[12, 32] random 1
       const b1 = f32[32] random 2
       const w2 = f32[32, 16] random 3
       const w3 = f32[16, 6] random 4
       a = MatMul(x, w1)
       b = Add(a, b1)
       c = Gelu(b)
       d = MatMul(c, w2)
       e = Relu(d)
       y = MatMul(e, w3)
       output y
     })"},
    {"channels_last", R"(graph {
       input x: f32[1, 3, 6, 6]
       const w1 = f32[16, 3, 3, 3] random 1
       const w2 = f32[16, 24] random 2
       const w3 = f32[5, 24, 1, 1] random 3
       a = Conv(x, w1)
       b = Transpose(a) {perm = [0, 2, 3, 1]}
       c = MatMul(b, w2)
       d = Relu(c)
       e = Transpose(d) {perm = [0, 3, 1, 2]}
       y = Conv(e, w3)
       output y
     })"},
    {"reduced", R"(graph {
       input x: f32[2, 3, 6, 6]
       const w1 = f32[32, 3, 3, 3] random 1
       const w2 = f32[32, 16] random 2
       const w3 = f32[16, 7] random 3
       const axes = i64[2] [2, 3]
       a = Conv(x, w1)
       b = Relu(a)
       c = ReduceMean(b, axes) {keepdims = 0}
       d = Gemm(c, w2)
       e = Relu(d)
       y = Gemm(e, w3)
       output y
     })"},
    {"lines", R"(graph {
       input x: f32[2, 6, 30]
       const w1 = f32[16, 6, 3] random 1
       const w2 = f32[16, 1, 5] random 2
       const w3 = f32[24, 16, 3] random 3
       const w4 = f32[3, 24, 1] random 4
       a = Conv(x, w1)
       b = Conv(a, w2) {group = 16}
       c = LeakyRelu(b)
       d = Conv(c, w3) {dilations = [2]}
       y = Conv(d, w4)
       output y
     })"},
    {"two_heads", R"(graph {
       input x: f32[1, 3, 9, 9]
       const w1 = f32[32, 3, 3, 3] random 1
       const w2 = f32[16, 32, 3, 3] random 2
       const w3 = f32[16, 32, 1, 1] random 3
       const w4 = f32[4, 16, 1, 1] random 4
       a = Conv(x, w1)
       b = Relu(a)
       c = Conv(b, w2)
       d = Conv(b, w3) {strides = [2, 2]}
       e = Relu(c)
       y = Conv(e, w4)
       z = Softplus(d)
       output y
       output z
     })"},
};

double largest_magnitude(const Tensor& a) {
  double most = 0;
  for (const float value : std::span(a.data<float>(), size_t(a.elements()))) most = std::max(most, std::fabs(double(value)));
  return most;
}

// Both models on made-up inputs: at most 1e-5 of the largest number apart.
void expect_equal(const Model& masked, const Model& pruned) {
  SessionOptions options;
  options.precision = "high";
  Session a(masked, options), b(pruned, options);
  const std::vector<Tensor> inputs = synthetic_samples(masked, 1, 7).at(0);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const auto wanted = a.run(views), got = b.run(views);
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(wanted[i].shape(), got[i].shape());
    if (wanted[i].dtype() != DType::f32) continue;
    double worst = 0;
    for (int64_t k = 0; k < wanted[i].elements(); ++k)
      worst = std::max(worst, std::fabs(double(wanted[i].data<float>()[k]) - double(got[i].data<float>()[k])));
    EXPECT_LE(worst, 1e-5 * std::max(1.0, largest_magnitude(wanted[i]))) << "output " << i;
  }
}

void check(const Model& model, const char* criterion, double operations) {
  ChannelOptions options;
  options.operations = operations, options.criterion = criterion, options.multiple = 4;
  const Samples samples = synthetic_samples(model, 2);
  const ChannelPruned pruned = prune_channels(model, options, samples);
  EXPECT_LE(pruned.report.operations_after, 0.8 * pruned.report.operations_before);
  EXPECT_LT(pruned.report.weights_after, pruned.report.weights_before);
  options.mask = true;
  const ChannelPruned masked = prune_channels(model, options, samples);
  EXPECT_EQ(masked.report.operations_after, pruned.report.operations_after);
  EXPECT_EQ(masked.report.weights_after, masked.report.weights_before);
  expect_equal(masked.plain, pruned.plain);
  expect_equal(masked.model, pruned.model);
}

class ChannelsTest : public testing::TestWithParam<Network> {};
TEST_P(ChannelsTest, pruned_networks_equal_masked_ones) {
  const Model model = model_of(GetParam().text);
  for (const char* criterion : {"l1", "geometric", "taylor"}) {
    SCOPED_TRACE(criterion);
    check(model, criterion, 0.5);
  }
}
INSTANTIATE_TEST_SUITE_P(Networks, ChannelsTest, testing::ValuesIn(kNetworks), [](const auto& info) { return info.param.name; });

TEST(Channels, known_networks_equal_masked_ones) {
  for (const std::string_view name : test::kNetworks) {
    SCOPED_TRACE(name);
    check(model_of(test::make_network(name, 64)), "l1", 0.5);
  }
}

// None of them rounds its activations to bytes, where the last bit of a sum decides on a step.
TEST(Channels, trained_networks_equal_masked_ones) {
  namespace fs = std::filesystem;
  size_t count = 0;
  for (const char* name : {"onnx/mtcnn_onet/model.onnx", "onnx/pplcnet_orientation/model.onnx", "onnx/centerface/model.onnx",
                           "onnx/nudenet_320n/model.onnx", "onnx/open_nsfw_resnet50/model.onnx", "tflite/mp_pose_detection/model.tflite"}) {
    const fs::path path = test::models_dir() / name;
    if (!fs::exists(path)) continue;
    SCOPED_TRACE(name);
    ++count;
    const bool is_open = std::string_view(name).find("nudenet") != std::string_view::npos;  // height and width are open
    check(convert(path.string(), is_open ? ConvertOptions{.shapes_in_order = {{1, 3, 64, 64}}} : ConvertOptions{}), "l1", 0.7);
  }
  if (count == 0) GTEST_SKIP() << "no model is there; scripts/fetch_models.py unpacks them";
}

TEST(Channels, half_the_operations_are_removed_and_layers_keep_whole_vectors) {
  const Model model = model_of(test::make_network("mobilenet_v1", 64));
  const ChannelPruned pruned = prune_channels(model, {.operations = 0.5});
  EXPECT_LE(pruned.report.operations_after, 0.5 * pruned.report.operations_before);
  EXPECT_GE(pruned.report.operations_after, 0.45 * pruned.report.operations_before);
  for (const PrunedChannels& group : pruned.report.groups) EXPECT_EQ(group.after % 8, 0u) << group.nodes[0];
}

TEST(Channels, outputs_and_unknown_operators_keep_their_channels) {
  const Model model = model_of(R"(graph {
    input x: f32[1, 3, 6, 6]
    const w1 = f32[16, 3, 3, 3] random 1
    const w2 = f32[16, 16, 1, 1] random 2
    a = Conv(x, w1)
    b = DepthToSpace(a) {blocksize = 2}
    y = Conv(a, w2)
    output y
    output b
  })");
  EXPECT_THAT(sentence_of([&] { prune_channels(model); }),
              HasSubstr("no channel can be removed; DepthToSpace \"b\": channels cannot be followed through DepthToSpace"));
}

TEST(Channels, wrong_options_are_errors) {
  const Model model = model_of(kNetworks[0].text);
  EXPECT_THAT(sentence_of([&] { prune_channels(model, {.operations = 0}); }), HasSubstr("operations: 0 is not above 0"));
  EXPECT_THAT(sentence_of([&] { prune_channels(model, {.criterion = "l7"}); }),
              HasSubstr("criterion: \"l7\" is none of l1, geometric, taylor"));
  EXPECT_THAT(sentence_of([&] { prune_channels(model, {.criterion = "taylor"}); }), HasSubstr("taylor needs samples"));
  EXPECT_THAT(sentence_of([&] { prune_channels(model, {.skip = {"nobody"}}); }),
              HasSubstr("no layer of the model has the name \"nobody\""));
  EXPECT_THAT(sentence_of([&] { ChannelOptions().set("multiple", "0", "r.toml: "); }), HasSubstr("r.toml: multiple: 0 is not"));
  EXPECT_THAT(sentence_of([&] { ChannelOptions().set("operation", "1"); }), HasSubstr("operations"));
}

}  // namespace
}  // namespace minnow::compress

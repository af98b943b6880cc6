// SPDX-License-Identifier: Apache-2.0
// Layers and losses in C++ give torch's outputs and gradients (tests/python/nn/answers.json, scripts/make_layer_answers.py).
#include <gmock/gmock.h>
#include <minnow/nn.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/paths.h"
#include "support/sentence.h"

namespace minnow::nn {
namespace {

using json = nlohmann::json;
using test::sentence_of;
using testing::HasSubstr;
using L = std::shared_ptr<Layer>;

/// Numbers in [-1, 1), as tests/python/nn/cases.py makes them.
std::vector<double> noise(uint64_t tensor, size_t count) {
  std::vector<double> made(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t x = (i * 104729 + tensor * 7919 + 12345) & 0xffffffff;
    for (const auto& [shift, factor] : {std::pair<int, uint64_t>{16, 0x85ebca6b}, {13, 0xc2b2ae35}, {16, 1}})
      x = ((x ^ (x >> shift)) * factor) & 0xffffffff;
    made[i] = static_cast<double>(x >> 16) / 32768 - 1;
  }
  return made;
}

uint32_t crc32(const std::string& text) {
  uint32_t crc = ~0u;
  for (const char letter : text) {
    crc ^= static_cast<uint8_t>(letter);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

Tensor of(const Shape& shape, const std::vector<double>& values) {
  return Tensor::of_f32(shape, std::vector<float>(values.begin(), values.end()));
}

Tensor weight_of(const std::string& name, const Shape& shape) {
  std::vector<double> values = noise(crc32(name) % 10007, static_cast<size_t>(shape.elements()));
  for (double& value : values) value = name.ends_with("running_var") ? std::fabs(value * 0.5) + 0.5 : value * 0.5;
  return of(shape, values);
}

Tensor value_of(const std::string& kind, const Shape& shape, size_t place) {
  std::vector<double> v = noise(1000 + place, static_cast<size_t>(shape.elements()));
  if (kind.starts_with("classes")) {
    const size_t first = kind.find(':'), second = kind.find(':', first + 1);
    std::vector<int64_t> classes;
    for (const double value : v)
      classes.push_back(second != std::string::npos && std::fabs(value) < 0.2
                            ? std::stoll(kind.substr(second + 1))
                            : static_cast<int64_t>((value + 1) / 2 * std::stod(kind.substr(first + 1))));
    return Tensor::of_i64(shape, classes);
  }
  if (kind == "share" || kind == "goals") {  // logarithms of shares along the last axis, shares along axis 1
    const size_t axis = kind == "share" ? shape.rank() - 1 : 1, length = static_cast<size_t>(shape[axis]);
    const size_t inner = static_cast<size_t>(shape.product(axis + 1, shape.rank()));
    for (size_t line = 0; line * length < v.size(); ++line) {
      double* const first = v.data() + line / inner * length * inner + line % inner;
      double sum = 0;
      for (size_t i = 0; i < length; ++i) sum += std::exp(first[i * inner]);
      for (size_t i = 0; i < length; ++i)
        first[i * inner] = kind == "share" ? first[i * inner] - std::log(sum) : std::exp(first[i * inner]) / sum;
    }
    return of(shape, v);
  }
  for (double& x : v)
    x = kind == "far"                             ? x * 4
        : kind == "sign"                          ? (x < 0 ? -1.0 : 1.0)
        : kind == "probability" || kind == "goal" ? (x + 1) * 0.49 + 0.01
        : kind == "rate" || kind == "variance"    ? x + 1.5
        : kind == "amount"                        ? std::floor((x + 1) * 3)
                                                  : x;
  return of(shape, v);
}

Shape shape_from(const json& row) {
  Shape shape;
  for (const int64_t dim : row) shape.push_back(dim);
  return shape;
}

const Var kWeights = Tensor::of_f32({5}, std::vector<float>{0.5f, 1, 1.5f, 2, 0.25f});

/// Layers of torch that the test makes.
const std::map<std::string, std::function<L()>> kLayers = {
    {"nn.Linear(5, 3)", [] { return make<Linear>(5, 3); }},
    {"nn.Linear(5, 3, bias=False)", [] { return make<Linear>(5, 3, false); }},
    {"nn.Embedding(7, 3)", [] { return make<Embedding>(7, 3); }},
    {"nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False)",
     [] { return make<Conv1d>(4, 6, 3, ConvOptions{.stride = {2}, .padding = {2}, .dilation = {2}, .groups = 2, .bias = false}); }},
    {"nn.Conv2d(3, 5, 3, padding=1)", [] { return make<Conv2d>(3, 5, 3, ConvOptions{.padding = {1}}); }},
    {"nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0))",
     [] {
       return make<Conv2d>(3, 4, PerAxis{3, 2}, ConvOptions{.stride = {2, 1}, .padding = {1, 0}});
     }},
    {"nn.Conv3d(2, 3, 3, padding=1)", [] { return make<Conv3d>(2, 3, 3, ConvOptions{.padding = {1}}); }},
    {"nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)",
     [] { return make<ConvTranspose2d>(3, 4, 3, ConvOptions{.stride = {2}, .padding = {1}, .output_padding = {1}}); }},
    {"nn.ConvTranspose3d(2, 3, 2, stride=2)", [] { return make<ConvTranspose3d>(2, 3, 2, ConvOptions{.stride = {2}}); }},
    {"nn.MaxPool1d(3, stride=2, padding=1, ceil_mode=True)",
     [] { return make<MaxPool1d>(3, PoolOptions{.stride = {2}, .padding = {1}, .ceil_mode = true}); }},
    {"nn.MaxPool2d(2)", [] { return make<MaxPool2d>(2); }},
    {"nn.MaxPool2d((2, 3), dilation=2)",
     [] {
       return make<MaxPool2d>(PerAxis{2, 3}, PoolOptions{.dilation = {2}});
     }},
    {"nn.AvgPool2d(3, 2, 1)", [] { return make<AvgPool2d>(3, PoolOptions{.stride = {2}, .padding = {1}}); }},
    {"nn.AvgPool2d(3, 2, 1, count_include_pad=False)",
     [] { return make<AvgPool2d>(3, PoolOptions{.stride = {2}, .padding = {1}, .count_include_pad = false}); }},
    {"nn.AvgPool3d(2)", [] { return make<AvgPool3d>(2); }},
    {"nn.AdaptiveAvgPool2d(1)", [] { return make<AdaptiveAvgPool2d>(1); }},
    {"nn.AdaptiveMaxPool2d(1)", [] { return make<AdaptiveMaxPool2d>(1); }},
    {"nn.BatchNorm1d(4)", [] { return make<BatchNorm1d>(4); }},
    {"nn.BatchNorm2d(3)", [] { return make<BatchNorm2d>(3); }},
    {"nn.BatchNorm2d(3, momentum=0.3, eps=1e-3)", [] { return make<BatchNorm2d>(3, 1e-3, 0.3); }},
    {"nn.BatchNorm3d(3)", [] { return make<BatchNorm3d>(3); }},
    {"nn.LayerNorm((3, 4))",
     [] {
       return make<LayerNorm>(Shape{3, 4});
     }},
    {"nn.RMSNorm((3, 4), eps=0.01)",
     [] {
       return make<RMSNorm>(Shape{3, 4}, 0.01);
     }},
    {"nn.GroupNorm(2, 6)", [] { return make<GroupNorm>(2, 6); }},
    {"nn.InstanceNorm2d(3, affine=True)", [] { return make<InstanceNorm2d>(3); }},
    {"nn.GELU()", [] { return make<Activation>("gelu"); }},
    {"nn.SiLU()", [] { return make<Activation>("silu"); }},
    {"nn.Hardsigmoid()", [] { return make<Activation>("hardsigmoid"); }},
    {"nn.LeakyReLU(0.2)",
     [] {
       return make<Activation>("leaky_relu", expr::Attributes{{"alpha", 0.2f}});
     }},
    {"nn.Softmax(1)",
     [] {
       return make<Activation>("softmax", expr::Attributes{{"axis", int64_t{1}}});
     }},
    {"nn.Flatten()", [] { return make<Flatten>(); }},
    {"nn.Unflatten(1, (2, 3))",
     [] {
       return make<Unflatten>(1, PerAxis{2, 3});
     }},
    {"nn.PixelShuffle(2)", [] { return make<PixelShuffle>(2); }},
    {"nn.PixelUnshuffle(2)", [] { return make<PixelUnshuffle>(2); }},
    {"nn.Upsample(scale_factor=2)", [] { return make<Upsample>(UpsampleOptions{.scale = {2}}); }},
    {"nn.Upsample(size=(5, 7))",
     [] {
       return make<Upsample>(UpsampleOptions{.size = {5, 7}});
     }},
    {"nn.Upsample(scale_factor=2, mode='bilinear')", [] { return make<Upsample>(UpsampleOptions{.scale = {2}, .mode = "bilinear"}); }},
    {"nn.Upsample(size=(5, 7), mode='bilinear', align_corners=True)",
     [] {
       return make<Upsample>(UpsampleOptions{.size = {5, 7}, .mode = "bilinear", .align_corners = true});
     }},
    {"nn.Upsample(scale_factor=3, mode='linear')", [] { return make<Upsample>(UpsampleOptions{.scale = {3}, .mode = "linear"}); }},
    {"nn.Upsample(scale_factor=2, mode='bicubic')", [] { return make<Upsample>(UpsampleOptions{.scale = {2}, .mode = "bicubic"}); }},
    {"nn.Bilinear(3, 4, 2)", [] { return make<Bilinear>(3, 4, 2); }},
    {"nn.Dropout(0.4)", [] { return make<Dropout>(0.4); }},
    {"nn.RNN(3, 4)", [] { return make<RNN>(3, 4); }},
    {"nn.LSTM(3, 4)", [] { return make<LSTM>(3, 4); }},
    {"nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)",
     [] { return make<LSTM>(3, 4, RecurrentOptions{.layers = 2, .batch_first = true, .bidirectional = true}); }},
    {"nn.GRU(3, 4, num_layers=2, bidirectional=True)",
     [] { return make<GRU>(3, 4, RecurrentOptions{.layers = 2, .bidirectional = true}); }},
    {"nn.GRU(3, 4, batch_first=True)", [] { return make<GRU>(3, 4, RecurrentOptions{.batch_first = true}); }},
    {"nn.MultiheadAttention(6, 3, batch_first=True)", [] { return make<MultiheadAttention>(6, 3, 0.0, true); }},
    {"nn.TransformerEncoderLayer(6, 2, 8, 0.0)",
     [] { return make<TransformerEncoderLayer>(6, 2, TransformerOptions{.feedforward = 8, .dropout = 0}); }},
    {"nn.TransformerEncoderLayer(6, 2, 8, 0.0, activation='gelu', norm_first=True, batch_first=True)",
     [] {
       return make<TransformerEncoderLayer>(
           6, 2, TransformerOptions{.feedforward = 8, .dropout = 0, .activation = "gelu", .batch_first = true, .norm_first = true});
     }},
    {"nn.TransformerDecoderLayer(6, 2, 8, 0.0)",
     [] { return make<TransformerDecoderLayer>(6, 2, TransformerOptions{.feedforward = 8, .dropout = 0}); }},
    {"nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4))",
     [] {
       return make<Sequential>(std::vector<L>{make<Conv2d>(1, 3, 3), make<BatchNorm2d>(3), make<Activation>("relu"), make<MaxPool2d>(2),
                                              make<Flatten>(), make<Linear>(12, 4)});
     }},
    {"nn.CrossEntropyLoss()", [] { return make<CrossEntropyLoss>(); }},
    {"nn.CrossEntropyLoss(label_smoothing=0.2)", [] { return make<CrossEntropyLoss>(LossOptions{.label_smoothing = 0.2}); }},
    {"nn.CrossEntropyLoss(ignore_index=2, label_smoothing=0.2)",
     [] { return make<CrossEntropyLoss>(LossOptions{.ignore_index = 2, .label_smoothing = 0.2}); }},
    {"nn.CrossEntropyLoss(label_smoothing=0.2, weight=W)",
     [] { return make<CrossEntropyLoss>(LossOptions{.weight = kWeights, .label_smoothing = 0.2}); }},
    {"nn.CrossEntropyLoss(label_smoothing=0.1)", [] { return make<CrossEntropyLoss>(LossOptions{.label_smoothing = 0.1}); }},
    {"nn.NLLLoss(weight=W)", [] { return make<NLLLoss>(LossOptions{.weight = kWeights}); }},
    {"nn.BCELoss()", [] { return make<BCELoss>(); }},
    {"nn.BCEWithLogitsLoss(pos_weight=W)", [] { return make<BCEWithLogitsLoss>(LossOptions{.pos_weight = kWeights}); }},
    {"nn.MSELoss(reduction='sum')", [] { return make<MSELoss>(LossOptions{.reduction = "sum"}); }},
    {"nn.L1Loss()", [] { return make<L1Loss>(); }},
    {"nn.HuberLoss(delta=0.4)", [] { return make<HuberLoss>(LossOptions{.delta = 0.4}); }},
    {"nn.SmoothL1Loss(beta=0.5)", [] { return make<SmoothL1Loss>(LossOptions{.beta = 0.5}); }},
    {"nn.PoissonNLLLoss()", [] { return make<PoissonNLLLoss>(); }},
    {"nn.PoissonNLLLoss(full=True)", [] { return make<PoissonNLLLoss>(LossOptions{.full = true}); }},
    {"nn.KLDivLoss(reduction='batchmean')", [] { return make<KLDivLoss>(LossOptions{.reduction = "batchmean"}); }},
    {"nn.GaussianNLLLoss(full=True, reduction='sum')", [] { return make<GaussianNLLLoss>(LossOptions{.reduction = "sum", .full = true}); }},
    {"nn.SoftMarginLoss()", [] { return make<SoftMarginLoss>(); }},
    {"nn.HingeEmbeddingLoss()", [] { return make<HingeEmbeddingLoss>(); }},
    {"nn.MultiMarginLoss(p=2)", [] { return make<MultiMarginLoss>(LossOptions{.p = 2}); }},
    {"nn.MultiMarginLoss(margin=0.5, weight=W)", [] { return make<MultiMarginLoss>(LossOptions{.weight = kWeights, .margin = 0.5}); }},
    {"nn.TripletMarginLoss(margin=0.3, swap=True)", [] { return make<TripletMarginLoss>(LossOptions{.margin = 0.3, .swap = true}); }},
    {"nn.TripletMarginLoss(p=3.0, reduction='none')", [] { return make<TripletMarginLoss>(LossOptions{.reduction = "none", .p = 3}); }},
    {"nn.MarginRankingLoss(margin=0.1)", [] { return make<MarginRankingLoss>(LossOptions{.margin = 0.1}); }},
    {"nn.CosineEmbeddingLoss()", [] { return make<CosineEmbeddingLoss>(); }},
};

void expect_near(const Tensor& found, const json& expected, const std::string& what) {
  EXPECT_EQ(found.shape(), shape_from(expected["shape"])) << what;
  const size_t count = static_cast<size_t>(found.elements());
  const double tolerance = 1e-5 * std::max(1.0, expected["size"].get<double>());
  const std::vector<double> weights = noise(31, count);
  double sum = 0;
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(found.dtype() == DType::i64 ? static_cast<double>(found.data<int64_t>()[i])
                                                 : static_cast<double>(found.data<float>()[i]));
  for (size_t i = 0; i < count; ++i) sum += values[i] * (weights[i] + 2);
  EXPECT_NEAR(sum, expected["sum"].get<double>(), tolerance) << what;
  const size_t some = expected["some"].size();
  for (size_t i = 0; i < some; ++i) {
    const size_t at =
        some > 1 ? static_cast<size_t>(static_cast<double>(i) * static_cast<double>(count - 1) / static_cast<double>(some - 1)) : 0;
    EXPECT_NEAR(values[at], expected["some"][i].get<double>(), tolerance) << what << " at " << at;
  }
}

Tensor gradient(const Var& loss, const Var& parameter) {
  try {
    return expr::gradients(loss, {parameter})[0].tensor();
  } catch (const Error& error) {
    if (std::string(error.what()).find("does not depend") == std::string::npos) throw;
    return Tensor(parameter.dtype(), parameter.shape());
  }
}

TEST(Layers, give_torchs_outputs_and_gradients) {
  std::ifstream file(test::source_dir() / "tests/python/nn/answers.json");
  const json answers = json::parse(file);
  std::set<std::string> tested;
  for (const json& row : answers) {
    const std::string name = row["layer"];
    const auto found = kLayers.find(name);
    if (found == kLayers.end()) continue;
    SCOPED_TRACE(name);
    tested.insert(name);
    const L layer = found->second();
    layer->set_training(row["train"]);
    auto state = layer->state_dict();
    std::vector<std::string> names;
    for (const json& key : row["answer"]["names"]) names.push_back(key);
    std::vector<std::string> own;
    for (auto& [key, value] : state) {
      own.push_back(key);
      if (value.dtype() == DType::f32) value = weight_of(key, value.shape());
    }
    EXPECT_THAT(own, testing::UnorderedElementsAreArray(names));
    layer->load_state_dict(state);
    Vars inputs, wanted;
    for (size_t i = 0; i < row["inputs"].size(); ++i) {
      const std::string kind = row["inputs"][i][0];
      const Tensor value = value_of(kind, shape_from(row["inputs"][i][1]), i);
      const bool differentiates = kind == "noise" || kind == "far" || kind == "share" || kind == "probability" || kind == "rate";
      inputs.push_back(differentiates ? expr::trainable(value) : Var(value));
      if (differentiates) wanted.push_back(inputs.back());
    }
    if (name == "nn.LSTM(3, 4)" && inputs[0].rank() != 3) continue;  // sequences without a batch are Python's
    const Vars outputs = layer->forward(inputs);
    Var loss = Var::scalar(0, DType::f32);
    for (size_t i = 0; i < row["answer"]["outputs"].size(); ++i) {
      expect_near(outputs.at(i).tensor(), row["answer"]["outputs"][i], "output " + std::to_string(i));
      const Shape shape = outputs[i].shape();
      loss = loss + expr::op("ReduceSum", {outputs[i] * Var(of(shape, noise(100 + i, static_cast<size_t>(shape.elements()))))},
                             {{"keepdims", int64_t{0}}});
    }
    for (size_t i = 0; i < wanted.size(); ++i)
      expect_near(gradient(loss, wanted[i]), row["answer"]["gradients"][i], "gradient " + std::to_string(i));
    for (const auto& [key, value] : layer->parameters()) expect_near(gradient(loss, value), row["answer"]["parameters"][key], key);
    for (const auto& [key, value] : layer->buffers()) expect_near(value.tensor(), row["answer"]["buffers"][key], key);
  }
  EXPECT_EQ(tested.size(), kLayers.size());
}

TEST(Layers, a_network_learns) {
  seed(1);
  Sequential net(
      {make<Conv2d>(1, 4, 3), make<BatchNorm2d>(4), make<Activation>("relu"), make<Flatten>(), make<Dropout>(0.1), make<Linear>(64, 2)});
  std::vector<double> pictures = noise(1, 16 * 36);
  std::vector<int64_t> labels(16);
  for (size_t i = 0; i < 16; ++i) {
    labels[i] = static_cast<int64_t>(i % 2);
    for (size_t k = 0; k < 18 * (i % 2); ++k) pictures[i * 36 + k] += 2;
  }
  CrossEntropyLoss loss;
  TrainingStep step(
      [&](const Vars& batch) {
        return loss.forward({net.forward({batch[0]})[0], batch[1]});
      },
      net.parameters(), Optimizer::create({.name = "sgd", .settings = {{"lr", 0.1}, {"momentum", 0.9}}}));
  const Tensor x = of({16, 1, 6, 6}, pictures), t = Tensor::of_i64({16}, labels);
  const float first = step({x, t})[0].data<float>()[0];
  float last = first;
  for (int i = 0; i < 30; ++i) last = step({x, t})[0].data<float>()[0];
  EXPECT_LT(last, first / 5);
  EXPECT_EQ(static_cast<int64_t>(net.buffers().back().second.item()), 31);
}

TEST(Layers, keys_decide_initial_values) {
  seed(5);
  const auto first = Linear(3, 4).state_dict();
  seed(5);
  const auto again = Linear(3, 4).state_dict(), other = Linear(3, 4).state_dict();
  const float *a = first.at("weight").data<float>(), *b = again.at("weight").data<float>(), *c = other.at("weight").data<float>();
  EXPECT_TRUE(std::equal(a, a + 12, b));
  EXPECT_FALSE(std::equal(a, a + 12, c));
}

TEST(Layers, errors) {
  Linear layer(2, 3);
  const Var x = of({2, 2}, noise(1, 4));
  EXPECT_THAT(sentence_of([&] { layer.load_state_dict({}); }), HasSubstr("the state has no \"bias\""));
  auto state = layer.state_dict();
  state["bias"] = of({2}, {1, 2});
  EXPECT_THAT(sentence_of([&] { layer.load_state_dict(state); }), HasSubstr("\"bias\" is f32[3], it is given f32[2]"));
  EXPECT_THAT(sentence_of([&] { layer.forward({}); }), HasSubstr("none is given"));
  EXPECT_THAT(sentence_of([] { Activation("rely"); }), HasSubstr("relu"));
  EXPECT_THAT(sentence_of([] { Conv2d(3, 4, 3, ConvOptions{.groups = 2}); }), HasSubstr("groups divide"));
  EXPECT_THAT(sentence_of([] { Conv2d(3, 4, PerAxis{1, 2, 3}); }), HasSubstr("2 numbers"));
  EXPECT_THAT(sentence_of([] { Dropout(2); }), HasSubstr("between 0 and 1"));
  EXPECT_THAT(sentence_of([] { MultiheadAttention(5, 2); }), HasSubstr("divide"));
  EXPECT_THAT(sentence_of([&] { mse_loss({x, x}, {.reduction = "average"}); }), HasSubstr("reduction"));
  EXPECT_THAT(sentence_of([&] { mse_loss({x}); }), HasSubstr("takes 2 inputs, 1"));
  EXPECT_THAT(sentence_of([&] { mse_loss({x, of({2, 1}, {1, 2})}); }), HasSubstr("shape"));
  EXPECT_THAT(sentence_of([&] { AdaptiveAvgPool2d(2).forward({of({1, 1, 3, 3}, noise(1, 9))}); }), HasSubstr("divide"));
  EXPECT_THAT(sentence_of([&] { BatchNorm(2).forward({of({1, 2}, {1, 2})}); }), HasSubstr("more than one"));
}

TEST(Layers, a_list_names_its_modules) {
  ModuleList list({make<Linear>(2, 3), make<Linear>(3, 1)});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list.parameters()[2].first, "1.weight");
  EXPECT_THAT(sentence_of([&] { list(Vars{}); }), HasSubstr("call the modules in it"));
  EXPECT_THAT(sentence_of([&] { Upsample({.scale = {2}, .mode = "bilinar"}); }), HasSubstr("bilinear"));
  EXPECT_THAT(sentence_of([&] { Upsample({}); }), HasSubstr("either size or scale"));
}

}  // namespace
}  // namespace minnow::nn

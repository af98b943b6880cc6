// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters in C++.
#include <gmock/gmock.h>
#include <minnow/nn.h>

#include <cstring>

#include "support/paths.h"
#include "support/sentence.h"
#include "train/names.h"

namespace minnow::nn {
namespace {

using test::scratch_path;
using test::sentence_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<Sequential> convolution_network() {
  return std::make_shared<Sequential>(
      std::vector<std::shared_ptr<Layer>>{make<Conv2d>(2, 4, 3), make<Activation>("relu"), make<Flatten>(), make<Linear>(4 * 4, 5)});
}
Tensor picture() {
  Tensor x(DType::f32, {3, 2, 4, 4});
  for (int64_t i = 0; i < x.elements(); ++i) x.writable().data<float>()[i] = static_cast<float>((i * 37 % 23) - 11) / 11;
  return x;
}
std::vector<float> run(Layer& net) {
  const Var y = net.forward({Var(picture())})[0];
  return {y.data<float>(), y.data<float>() + y.elements()};
}
/// Other numbers in the adapters.
void draw(const Named& adapters) {
  for (const auto& [name, value] : adapters) init::normal_(value, 0, 0.3);
}

TEST(LoraInCpp, begins_as_the_network_and_trains_alone) {
  seed(1);
  const auto net = convolution_network();
  const std::vector<float> before = run(*net);
  const Named adapters = lora(*net, "*", 2, 4);
  EXPECT_THAT(names_of(adapters), ElementsAre("0.lora.a", "0.lora.b", "3.lora.a", "3.lora.b"));
  EXPECT_EQ(run(*net), before);
  const auto state = net->state_dict();
  TrainingStep step(
      [&](const Vars& batch) {
        return Vars{expr::op("ReduceMean", {net->forward({batch[0]})[0]}, {{"keepdims", int64_t{0}}})};
      },
      adapters, Optimizer::create({.name = "sgd", .settings = {{"lr", 0.5}}}));
  for (int i = 0; i < 3; ++i) step({picture()});
  EXPECT_NE(run(*net), before);
  for (const auto& [name, value] : net->state_dict()) {
    const bool trained = name.find("lora") != std::string::npos;
    EXPECT_EQ(std::memcmp(value.data(), state.at(name).data(), value.bytes()) != 0, trained) << name;
  }
}

TEST(LoraInCpp, merging_gives_the_same_and_is_undone_exactly) {
  seed(2);
  const auto net = convolution_network();
  const Tensor weight = net->state_dict().at("3.weight");
  draw(lora(*net, "*", 2));
  const std::vector<float> apart = run(*net);
  merge_lora(*net);
  const std::vector<float> merged = run(*net);
  for (size_t i = 0; i < apart.size(); ++i) EXPECT_NEAR(merged[i], apart[i], 1e-4);
  EXPECT_NE(std::memcmp(net->state_dict().at("3.weight").data(), weight.data(), weight.bytes()), 0);
  const auto plain = convolution_network();  // a merged network has the state of the plain one
  plain->load_state_dict(net->state_dict());
  EXPECT_EQ(run(*plain), merged);
  merge_lora(*net);  // changes nothing
  EXPECT_EQ(run(*net), merged);
  unmerge_lora(*net);
  EXPECT_EQ(std::memcmp(net->state_dict().at("3.weight").data(), weight.data(), weight.bytes()), 0);
  EXPECT_EQ(run(*net), apart);
}

TEST(LoraInCpp, files_go_into_another_network) {
  seed(3);
  const auto net = convolution_network(), other = convolution_network();
  other->load_state_dict(net->state_dict());
  draw(lora(*net, "3", 3, 6));
  const std::string path = scratch_path("adapters.safetensors");
  save_lora(*net, path);
  EXPECT_THAT(names_of(load_lora(*other, path)), ElementsAre("3.lora.a", "3.lora.b"));
  EXPECT_EQ(run(*other), run(*net));
  draw(load_lora(*other, path));
  EXPECT_NE(run(*other), run(*net));
  load_lora(*other, path);  // replaces them
  EXPECT_EQ(run(*other), run(*net));
}

TEST(LoraInCpp, attention_has_an_adapter_for_each_of_its_three_weights) {
  MultiheadAttention layer(8, 2);
  const Named adapters = lora(layer, "", 2);
  ASSERT_THAT(names_of(adapters), ElementsAre("lora.a", "lora.b"));
  EXPECT_EQ(adapters[0].second.shape(), (Shape{3, 2, 8}));
  EXPECT_EQ(adapters[1].second.shape(), (Shape{3, 8, 2}));
}

TEST(LoraInCpp, errors_are_sentences) {
  const auto net = convolution_network();
  EXPECT_THAT(sentence_of([&] { lora(*net, "*", 0); }), HasSubstr("the rank is positive"));
  EXPECT_THAT(sentence_of([&] { lora(*net, "encoder*"); }), HasSubstr("no Linear, convolution or attention layer \"encoder*\""));
  EXPECT_THAT(sentence_of([&] { merge_lora(*net); }), HasSubstr("no adapters"));
  EXPECT_THAT(sentence_of([&] { save_lora(*net, scratch_path("none")); }), HasSubstr("no adapters"));
  lora(*net);
  EXPECT_THAT(sentence_of([&] { lora(*net); }), HasSubstr("adapters already"));
  const std::string path = scratch_path("wrong.safetensors");
  const Tensor a(DType::f32, {1, 2, 16}), b(DType::f32, {1, 5, 2});
  const auto loading = [&](const std::map<std::string, Tensor>& tensors, const std::string& scales) {
    save_safetensors(path, tensors, {{"scales", scales}});
    return sentence_of([&] { load_lora(*net, path); });
  };
  EXPECT_THAT(loading({}, "{}"), HasSubstr("names no layer"));
  EXPECT_THAT(loading({}, "[1]"), HasSubstr("its scales are no JSON"));
  EXPECT_THAT(loading({}, "{\"9\": 1}"), HasSubstr("no layer \"9\""));
  EXPECT_THAT(loading({}, "{\"3\": 1}"), HasSubstr("not complete"));
  EXPECT_THAT(loading({{"3.lora.a", b}, {"3.lora.b", a}}, "{\"3\": 1}"), HasSubstr("does not fit the weight [5, 16]"));
  EXPECT_EQ(loading({{"3.lora.a", a}, {"3.lora.b", b}}, "{\"3\": 1e0}"), "no error");
}

}  // namespace
}  // namespace minnow::nn

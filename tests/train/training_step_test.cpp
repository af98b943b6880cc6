// SPDX-License-Identifier: Apache-2.0
// A training step computes what gradients and an optimizer compute one after the other, to the bit, allocates nothing, and loses nothing.
#include <gmock/gmock.h>
#include <minnow/train.h>

#include <cmath>
#include <cstring>

#include "support/allocations.h"
#include "support/random.h"
#include "support/sentence.h"

namespace minnow {
namespace {

using test::normal_tensor;
using test::sentence_of;
using testing::HasSubstr;

/// Two layers whose first weight is used twice, and a convolution.
struct Network {
  Var kernel = expr::trainable(normal_tensor({3, 2, 3, 3}, 1, 0.5f), "kernel"), w = expr::trainable(normal_tensor({48, 48}, 2, 0.5f), "w"),
      v = expr::trainable(normal_tensor({48, 5}, 3, 0.5f), "v"), bias = expr::trainable(Tensor(DType::f32, {5}), "bias");
  std::vector<std::pair<std::string, Var>> parameters() const { return {{"kernel", kernel}, {"w", w}, {"v", v}, {"bias", bias}}; }
  Vars vars() const { return {kernel, w, v, bias}; }
  Vars loss(const Vars& batch) const {
    const Var seen = expr::relu(expr::op("Conv", {batch[0], kernel}));
    const Var flat = expr::op("Flatten", {seen});
    const Var hidden = expr::relu(expr::matmul(expr::relu(expr::matmul(flat, w)), w));
    const Var y = expr::matmul(hidden, v) + bias, error = y - batch[1];
    return {expr::reduce_mean(error * error), y};
  }
};

Optimizer::Config config_of(const std::string& name, double clip_norm = 0, int accumulate = 1) {
  Optimizer::Config config{.name = name, .settings = {{"lr", 0.01}}};
  config.clip_norm = clip_norm;
  config.accumulate = accumulate;
  config.average = 0.9;
  return config;
}

TEST(TrainingStep, equals_gradients_and_an_optimizer) {
  const Tensor x = normal_tensor({4, 2, 6, 6}, 5, 0.5f), y = normal_tensor({4, 5}, 6, 0.5f);
  for (const Optimizer::Config& config : {config_of("sgd"), config_of("adamw"), config_of("adamw", 0.1), config_of("adam", 0, 3),
                                          config_of("prodigy"), config_of("lbfgs"), config_of("muon"), config_of("adafactor")}) {
    const Network one, other;
    const std::shared_ptr<Optimizer> optimizer = Optimizer::create(config);
    TrainingStep step([&](const Vars& batch) { return one.loss(batch); }, one.parameters(), optimizer);
    const std::unique_ptr<Optimizer> apart = Optimizer::create(config);
    for (int i = 0; i < 6; ++i) {
      const std::span<const Tensor> results = step({x, y});
      const Vars expected = other.loss({Var(x), Var(y)});
      const Vars gradients = expr::gradients(expected[0], other.vars());
      std::vector<Tensor> values;
      std::vector<Trainable> tensors;
      for (const Var& parameter : other.vars()) values.push_back(parameter.tensor().clone());
      for (size_t k = 0; k < values.size(); ++k)
        tensors.push_back({other.parameters()[k].first, values[k].writable(), gradients[k].tensor().view(), {}});
      EXPECT_EQ(results[0].data<float>()[0], static_cast<float>(expected[0].item())) << config.name << ", step " << i;
      ASSERT_EQ(results[1].elements(), 20);
      for (int64_t k = 0; k < 20; ++k) EXPECT_EQ(results[1].data<float>()[k], expected[1].data<float>()[k]);
      apart->on_execute(tensors);
      for (size_t k = 0; k < values.size(); ++k) other.vars()[k].assign(Var(std::move(values[k])));
      for (size_t k = 0; k < 4; ++k)
        for (int64_t e = 0; e < one.vars()[k].elements(); ++e)
          ASSERT_EQ(one.vars()[k].data<float>()[e], other.vars()[k].data<float>()[e])
              << config.name << ", step " << i << ", " << one.parameters()[k].first;
    }
    EXPECT_EQ(optimizer->steps(), apart->steps());
    EXPECT_EQ(step.calls(), 6);
  }
}

TEST(TrainingStep, allocates_nothing) {
  const Network network;
  for (const char* name : {"sgd", "adamw", "lamb"}) {
    TrainingStep step([&](const Vars& batch) { return network.loss(batch); }, network.parameters(), Optimizer::create(config_of(name)));
    const Tensor x = normal_tensor({4, 2, 6, 6}, 5, 0.5f), y = normal_tensor({4, 5}, 6, 0.5f);
    const TensorView batch[] = {x, y};
    for (int i = 0; i < 3; ++i) step.run(batch);
    EXPECT_EQ(test::allocations_of([&] {
                for (int i = 0; i < 10; ++i) step.run(batch);
              }),
              0)
        << name;
  }
}

TEST(TrainingStep, gradients_never_exist_together) {
  // 12 layers of 64 x 64 weights, whose activations are small: all gradients would take 196,608 bytes.
  std::vector<std::pair<std::string, Var>> parameters;
  for (unsigned i = 0; i < 12; ++i) parameters.emplace_back("w" + std::to_string(i), expr::trainable(normal_tensor({64, 64}, i, 0.5f)));
  TrainingStep step(
      [&](const Vars& batch) -> Vars {
        Var h = batch[0];
        for (const auto& [name, w] : parameters) h = expr::tanh(expr::matmul(h, w));
        return {expr::reduce_mean(h)};
      },
      parameters, Optimizer::create(config_of("adamw")));
  step({normal_tensor({1, 64}, 20, 0.5f)});
  EXPECT_LT(step.arena_bytes(), 12u * 64 * 64 * 4 / 2);
}

/// 16 layers with residuals, whose activations are wide.
struct Deep {
  std::vector<std::pair<std::string, Var>> parameters;
  Deep() {
    for (unsigned i = 0; i < 16; ++i) parameters.emplace_back("w" + std::to_string(i), expr::trainable(normal_tensor({32, 32}, i, 0.5f)));
  }
  Vars loss(const Vars& batch) const {
    Var h = batch[0];
    for (const auto& [name, w] : parameters) h = h + expr::tanh(expr::matmul(h * expr::sigmoid(h), w));
    return {expr::reduce_mean(h * h)};
  }
};

TEST(TrainingStep, recomputes_activations_to_the_same_bits) {
  const Tensor x = normal_tensor({256, 32}, 30, 0.5f);
  const auto train = [&](const Deep& network, size_t memory) {
    TrainingStep step([&](const Vars& batch) { return network.loss(batch); }, network.parameters, Optimizer::create(config_of("adamw")),
                      {.memory = memory});
    for (int i = 0; i < 3; ++i) step({x});
    return step.arena_bytes();
  };
  const Deep all;
  const size_t whole = train(all, 0);
  for (const size_t part : {2, 3}) {
    const Deep some;
    EXPECT_LE(train(some, whole / part), whole / part);
    for (size_t i = 0; i < 16; ++i)
      for (int64_t e = 0; e < 32 * 32; ++e)
        ASSERT_EQ(some.parameters[i].second.data<float>()[e], all.parameters[i].second.data<float>()[e]) << part << ", " << i;
  }
  EXPECT_THAT(sentence_of([&] { train(Deep(), whole / 1000); }), HasSubstr("although activations are computed again"));
}

// Residual blocks as in a Transformer. Each keeps its input for the whole backward pass unless residuals can be computed again, and hidden
// layers are four times as wide: gradients of weights come first, so that few of them are there at a time.
TEST(TrainingStep, residual_blocks_take_a_few_of_their_widest_layers) {
  constexpr int64_t kRows = 512, kWidth = 32, kHidden = 128;
  constexpr size_t kBlocks = 8, kLayer = kRows * kHidden * sizeof(float);
  const expr::Scope scope({.threads = 1});  // each thread takes scratch
  const Tensor x = normal_tensor({kRows, kWidth}, 30, 0.5f);
  std::vector<std::vector<float>> results;
  for (const size_t memory : {size_t{0}, 7 * kLayer}) {
    std::vector<std::pair<std::string, Var>> parameters;
    for (unsigned i = 0; i < kBlocks; ++i) {
      const std::string name = std::to_string(i);
      parameters.emplace_back("up" + name, expr::trainable(normal_tensor({kWidth, kHidden}, 4 * i, 0.1f)));
      parameters.emplace_back("bias" + name, expr::trainable(normal_tensor({kHidden}, 4 * i + 1, 0.1f)));
      parameters.emplace_back("down" + name, expr::trainable(normal_tensor({kHidden, kWidth}, 4 * i + 2, 0.1f)));
      parameters.emplace_back("out" + name, expr::trainable(normal_tensor({kWidth}, 4 * i + 3, 0.1f)));
    }
    TrainingStep step(
        [&](const Vars& batch) -> Vars {
          Var h = batch[0];
          for (size_t i = 0; i < parameters.size(); i += 4) {
            const Var inner = expr::op("Gelu", {expr::matmul(h, parameters[i].second) + parameters[i + 1].second});
            h = h + expr::matmul(inner, parameters[i + 2].second) + parameters[i + 3].second;
          }
          return {expr::reduce_mean(h * h)};
        },
        parameters, Optimizer::create({.name = "sgd", .settings = {{"lr", 0.5}}}), {.memory = memory});
    for (int i = 0; i < 3; ++i) step({x});
    EXPECT_EQ(step.arena_bytes() > 12 * kLayer, memory == 0);
    results.emplace_back();
    for (const auto& [name, w] : parameters)
      results.back().insert(results.back().end(), w.data<float>(), w.data<float>() + w.tensor().elements());
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(TrainingStep, gates_of_an_lstm_are_computed_again) {
  const expr::Scope scope({.threads = 1});  // each thread takes scratch
  constexpr int64_t kSteps = 40, kBatch = 32, kInput = 24, kHidden = 19;
  const Tensor x = normal_tensor({kSteps, kBatch, kInput}, 3, 1);
  size_t whole = 0;
  std::vector<std::vector<float>> results;
  for (const size_t share : {0, 3, 2}) {  // thirds of the memory
    std::vector<std::pair<std::string, Var>> parameters;
    for (const int64_t input : {kInput, kHidden})
      for (const auto& [name, shape] :
           {std::pair("w", Shape{1, 4 * kHidden, input}), {"r", Shape{1, 4 * kHidden, kHidden}}, {"b", Shape{1, 8 * kHidden}}})
        parameters.emplace_back(name + std::to_string(input), expr::trainable(normal_tensor(shape, unsigned(parameters.size()), 0.3f)));
    TrainingStep step(
        [&](const Vars& batch) -> Vars {
          Var h = batch[0];
          for (size_t i = 0; i < parameters.size(); i += 3) {
            h = expr::op("LSTM", {h, parameters[i].second, parameters[i + 1].second, parameters[i + 2].second}, {{"hidden_size", kHidden}});
            h = expr::reshape(h, {kSteps, kBatch, kHidden});
          }
          return {expr::reduce_mean(h * h)};
        },
        parameters, Optimizer::create({.name = "sgd", .settings = {{"lr", 0.5}}}), {.memory = whole * share / 3});
    for (int i = 0; i < 3; ++i) step({x});
    if (share == 0) whole = step.arena_bytes();
    EXPECT_LE(step.arena_bytes(), share == 0 ? whole : whole * share / 3);
    results.emplace_back();
    for (const auto& [name, w] : parameters)
      results.back().insert(results.back().end(), w.data<float>(), w.data<float>() + w.tensor().elements());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(TrainingStep, parameters_that_others_hold_keep_their_values_there) {
  const Var w = expr::trainable(Tensor::of_f32({2}, std::vector<float>{1, 2}), "w");
  TrainingStep step([&](const Vars& batch) -> Vars { return {expr::reduce_sum(w * w * batch[0])}; }, {{"w", w}},
                    Optimizer::create({.name = "sgd", .settings = {{"lr", 0.25}}}));
  const Tensor x = Tensor::of_f32({2}, std::vector<float>{1, 1});
  step({x});
  const Tensor held = w.tensor();
  const Var later = w + w;  // not computed yet
  EXPECT_EQ(held.data<float>()[1], 1);
  step({x});
  EXPECT_EQ(held.data<float>()[1], 1);
  EXPECT_EQ(later.data<float>()[1], 2);
  EXPECT_EQ(w.data<float>()[1], 0.5f);
  w.assign(Var(Tensor::of_f32({2}, std::vector<float>{8, 16})));
  step({x});
  EXPECT_EQ(w.data<float>()[1], 8);
  const Tensor long_x = Tensor::of_f32({3, 2}, std::vector<float>(6, 1));  // another plan
  step({long_x});
  EXPECT_EQ(w.data<float>()[1], 8 - 0.25f * 3 * 16);
}

TEST(TrainingStep, buffers_and_keys_are_part_of_the_plan) {
  const Var w = expr::trainable(Tensor::of_f32({2}, std::vector<float>{1, 2}), "w");
  const Var mean = Var(Tensor(DType::f32, {2})), still = Var(Tensor(DType::f32, {3}));
  TrainingStep step(
      [&](const Vars& batch) -> Vars {
        nn::update_buffer(mean, nn::read_buffer(mean) * 0.5 + batch[0]);
        nn::update_buffer(mean, nn::read_buffer(mean) + 1);
        return {expr::reduce_sum(w * batch[0]) + expr::reduce_sum(nn::read_buffer(still)), nn::random_key(), nn::random_key()};
      },
      {{"w", w}}, Optimizer::create({.name = "sgd"}), {.seed = 7});
  const Tensor x = Tensor::of_f32({2}, std::vector<float>{1, 3});
  std::vector<uint32_t> drawn;
  for (int i = 0; i < 2; ++i)
    for (const Tensor& key : step({x}).subspan(1)) drawn.insert(drawn.end(), key.data<uint32_t>(), key.data<uint32_t>() + 2);
  EXPECT_EQ(mean.data<float>()[0], 3);
  EXPECT_EQ(mean.data<float>()[1], 6);
  std::vector<uint32_t> sorted = drawn;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
  still.assign(Var(Tensor::of_f32({3}, std::vector<float>{1, 2, 4})));
  const float before = w.data<float>()[0] + 3 * w.data<float>()[1];
  EXPECT_NEAR(step({x})[0].data<float>()[0], before + 7, 1e-5f);
  EXPECT_EQ(mean.data<float>()[0], 3.5f);
  step.set_calls(1);  // the same keys again
  EXPECT_EQ(step({x})[1].data<uint32_t>()[0], drawn[4]);
  nn::update_buffer(mean, nn::read_buffer(mean) * 2);
  EXPECT_EQ(mean.data<float>()[0], 7.5f);
}

TEST(TrainingStep, a_loss_that_is_not_finite_updates_nothing) {
  const Network network;
  TrainingStep step([&](const Vars& batch) { return network.loss(batch); }, network.parameters(), Optimizer::create(config_of("adamw")));
  Tensor x = normal_tensor({4, 2, 6, 6}, 5, 0.5f), y = normal_tensor({4, 5}, 6, 0.5f);
  step({x, y});
  const Tensor before = network.w.tensor().clone();
  x.writable().data<float>()[0] = std::nanf("");
  EXPECT_THAT(sentence_of([&] { step({x, y}); }), HasSubstr("the loss is nan in step 2, and nothing was updated"));
  for (int64_t i = 0; i < before.elements(); ++i) ASSERT_EQ(network.w.data<float>()[i], before.data<float>()[i]);
  x.writable().data<float>()[0] = 3e38f;
  EXPECT_THAT(sentence_of([&] { step({x, y}); }), HasSubstr("the first value that is not finite is the result of"));
  EXPECT_EQ(step.optimizer().steps(), 1);
}

TEST(TrainingStep, a_gradient_that_is_not_finite_is_named_at_once) {
  // The root of 0 is finite, its derivative is not.
  const auto loss = [](const Vars& w, const Vars& batch) {
    return Vars{expr::reduce_sum(w[0] * batch[0]) + expr::reduce_sum(expr::op("Sqrt", {w[1] * w[1]}))};
  };
  const Tensor x = normal_tensor({40}, 1, 0.5f);
  for (const char* name : {"sgd", "adamw", "muon", "adafactor", "lbfgs", "prodigy"})
    for (const double clip_norm : {0.0, 1.0})
      for (const int accumulate : {1, 2}) {
        Tensor zeros(DType::f32, {40});
        std::memset(zeros.writable().data(), 0, zeros.bytes());
        const Vars w{expr::trainable(normal_tensor({40}, 2, 0.5f)), expr::trainable(zeros)};
        Optimizer::Config config{.name = name};
        config.clip_norm = clip_norm, config.accumulate = accumulate;
        TrainingStep step([&](const Vars& batch) { return loss(w, batch); }, {{"good", w[0]}, {"bad", w[1]}}, Optimizer::create(config));
        EXPECT_THAT(sentence_of([&] { step({x}); }),
                    HasSubstr("the loss of step 1 is finite, but the gradient of the parameter \"bad\" is not"))
            << name << " " << clip_norm << " " << accumulate;
      }
}

TEST(TrainingStep, running_statistics_have_a_batch_of_sharpness_once) {
  const Var w = expr::trainable(normal_tensor({4}, 2, 0.5f)), mean = Var(Tensor::of_f32({}, std::vector<float>{0}));
  Optimizer::Config config{.name = "sgd", .settings = {{"lr", 0.1}}};
  config.sharpness = 0.5;
  TrainingStep step(
      [&](const Vars& batch) {
        nn::update_buffer(mean, nn::read_buffer(mean) + 1.0f);
        return Vars{expr::reduce_sum(w * w * batch[0])};
      },
      {{"w", w}}, Optimizer::create(config));
  for (int i = 0; i < 6; ++i) {
    step({normal_tensor({4}, 5, 0.5f)});
    EXPECT_EQ(mean.tensor().data<float>()[0], static_cast<float>(i / 2 + 1));
  }
}

TEST(TrainingStep, estimates_the_curvature_for_sophia) {
  // sum(x w^2 / 2 + w): the Hessian is diagonal, so that Hutchinson's estimate is x itself. "flat" has none.
  const Var w = expr::trainable(normal_tensor({3}, 2, 0.5f)), flat = expr::trainable(normal_tensor({2}, 3, 0.5f));
  const std::shared_ptr<Optimizer> optimizer = Optimizer::create({.name = "sophia", .settings = {{"beta2", 0.0}, {"curvature_every", 3}}});
  int recorded = 0;
  TrainingStep step(
      [&](const Vars& batch) {
        ++recorded;
        return Vars{expr::reduce_sum(w * w * batch[0]) * 0.5f + expr::reduce_sum(w) + expr::reduce_sum(flat)};
      },
      {{"w", w}, {"flat", flat}}, optimizer);
  const auto h = [&](const char* name) {
    for (const NamedTensor& state : optimizer->state())
      if (state.name == name) return std::vector<float>(state.value.data<float>(), state.value.data<float>() + state.value.elements());
    return std::vector<float>();
  };
  for (int i = 0; i < 7; ++i) {
    const Tensor scaled = Tensor::of_f32({3}, std::vector<float>{1.0f + i, -2.0f - i, 5.0f + i});
    step({scaled});
    const float seen = static_cast<float>(i / 3 * 3);
    EXPECT_THAT(h("w.h"), testing::ElementsAre(1 + seen, -2 - seen, 5 + seen)) << i;
    EXPECT_THAT(h("flat.h"), testing::ElementsAre(0, 0));
  }
  EXPECT_EQ(recorded, 2);
}

TEST(TrainingStep, takes_a_loss_of_drawn_targets_for_the_curvature) {
  const Var w = expr::trainable(Tensor::of_f32({2}, std::vector<float>{3, -1}));
  const std::shared_ptr<Optimizer> optimizer = Optimizer::create({.name = "sophia", .settings = {{"beta2", 0.0}}});
  TrainingStep::Options options;
  options.curvature = [&](const Vars& batch) { return Vars{expr::reduce_mean(batch[0] * w)}; };
  TrainingStep step([&](const Vars& batch) { return Vars{expr::reduce_mean(batch[0] * w * w)}; }, {{"w", w}}, optimizer, options);
  step({Tensor::of_f32({4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8})});
  std::vector<float> h;
  for (const NamedTensor& state : optimizer->state())
    if (state.name == "w.h") h.assign(state.value.data<float>(), state.value.data<float>() + 2);
  EXPECT_THAT(h, testing::ElementsAre(4 * 4.0f, 4 * 6.25f));
}

TEST(TrainingStep, faults_are_named) {
  const Network network;
  const Tensor x = normal_tensor({4, 2, 6, 6}, 5, 0.5f), y = normal_tensor({4, 5}, 6, 0.5f);
  const auto sentence = [&](const TrainingStep::Loss& loss) {
    TrainingStep step(loss, network.parameters(), Optimizer::create({}));
    return sentence_of([&] { step({x, y}); });
  };
  EXPECT_THAT(sentence([&](const Vars& batch) { return Vars{network.loss(batch)[1]}; }), HasSubstr("a loss of one element"));
  EXPECT_THAT(sentence([&](const Vars& batch) { return Vars{expr::reduce_sum(network.w) + expr::reduce_sum(batch[0])}; }),
              HasSubstr("does not depend on the parameters \"kernel\", "));
  EXPECT_THAT(sentence([](const Vars&) { return Vars{}; }), HasSubstr("gives no loss"));
  EXPECT_THAT(sentence_of([&] {
                TrainingStep([](const Vars& b) { return b; }, {{"x", Var(x)}}, Optimizer::create({}));
              }),
              HasSubstr("\"x\" is no parameter"));
  EXPECT_THAT(sentence_of([&] { TrainingStep([](const Vars& b) { return b; }, {}, Optimizer::create({})); }), HasSubstr("no parameters"));
}

}  // namespace
}  // namespace minnow

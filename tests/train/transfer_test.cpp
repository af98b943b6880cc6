// SPDX-License-Identifier: Apache-2.0
// Training a part of a network in C++: freezing, class means, cached features.
#include <gmock/gmock.h>
#include <minnow/nn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include "support/operators.h"
#include "support/paths.h"
#include "support/sentence.h"
#include "train/names.h"

namespace minnow::nn {
namespace {

using test::floats;
using test::sentence_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string removed_path(const char* name) {
  const auto path = test::scratch_dir() / name;
  std::filesystem::remove(path);
  return path.string();
}
Tensor numbers(const Shape& shape, int seed = 0) {
  Tensor x(DType::f32, shape);
  for (int64_t i = 0; i < x.elements(); ++i)
    x.writable().data<float>()[i] = static_cast<float>(((i + seed) * 37 + seed * 11) % 23 - 11) / 11;
  return x;
}
std::shared_ptr<Sequential> two_layers() {
  return std::make_shared<Sequential>(
      std::vector<std::shared_ptr<Layer>>{make<Linear>(4, 3), make<Activation>("relu"), make<Linear>(3, 2)});
}

// ---- Freezing

TEST(Freezing, leaves_parameters_of_a_pattern_as_they_are) {
  seed(1);
  const auto net = two_layers();
  EXPECT_THAT(freeze(*net, {"0.*", "2.b*s"}), ElementsAre("0.weight", "0.bias", "2.bias"));
  EXPECT_THAT(names_of(net->parameters()), ElementsAre("2.weight"));
  EXPECT_THAT(names_of(net->Module::parameters()), ElementsAre("0.weight", "0.bias", "2.weight", "2.bias"));
  const auto before = net->state_dict();
  EXPECT_EQ(before.size(), 4U);
  TrainingStep step(
      [&](const Vars& batch) {
        return Vars{mse_loss({(*net)(batch[0]), batch[1]})};
      },
      net->parameters(), Optimizer::create({.name = "sgd", .settings = {{"lr", 0.1}}}));
  step({numbers({5, 4}), numbers({5, 2}, 3)});
  for (const auto& [name, value] : net->state_dict()) EXPECT_EQ(floats(value) != floats(before.at(name)), name == "2.weight") << name;
  EXPECT_THAT(unfreeze(*net, {"0.w*"}), ElementsAre("0.weight"));
  EXPECT_THAT(names_of(net->parameters()), ElementsAre("0.weight", "2.weight"));
  EXPECT_EQ(unfreeze(*net).size(), 4U);
  net->load_state_dict(before);
}

TEST(Freezing, a_frozen_part_takes_less_memory) {
  const auto arena = [](bool frozen) {
    Sequential net(
        {make<Linear>(64, 512), make<Activation>("relu"), make<Linear>(512, 512), make<Activation>("relu"), make<Linear>(512, 2)});
    if (frozen) freeze(net, {"0.*", "2.*"});
    TrainingStep step(
        [&](const Vars& batch) {
          return Vars{mse_loss({net(batch[0]), batch[1]})};
        },
        net.parameters(), Optimizer::create({}));
    const std::pair<DType, Shape> batch[] = {{DType::f32, {64, 64}}, {DType::f32, {64, 2}}};
    step.prepare(batch);
    return step.arena_bytes();
  };
  EXPECT_LT(arena(true) + 512 * 512 * 2, arena(false));  // among others the gradient of 512 x 512 floats goes
}

TEST(Freezing, biases_alone_are_trained) {
  const auto net = two_layers();
  EXPECT_THAT(train_biases_only(*net), ElementsAre("0.bias", "2.bias"));
  EXPECT_THAT(names_of(net->parameters()), ElementsAre("0.bias", "2.bias"));
  Linear bare(2, 2, false);
  EXPECT_THAT(sentence_of([&] { train_biases_only(bare); }), HasSubstr("the network has no bias"));
  EXPECT_EQ(bare.parameters().size(), 1U);
}

TEST(Freezing, more_memory_trains_more_layers) {
  const std::pair<DType, Shape> batch[] = {{DType::f32, {8, 3, 16, 16}}, {DType::f32, {8, 4}}};
  const Tensor x = numbers({8, 3, 16, 16}), y = numbers({8, 4}, 3);
  const auto make_net = [] {
    return Sequential({make<Conv2d>(3, 8, 3, ConvOptions{.padding = {1}}), make<Activation>("relu"),
                       make<Conv2d>(8, 8, 3, ConvOptions{.padding = {1}}), make<Activation>("relu"), make<AvgPool2d>(4), make<Flatten>(),
                       make<Linear>(128, 16), make<Activation>("relu"), make<Linear>(16, 4)});
  };
  const Optimizer::Config adam{.name = "adam", .settings = {{"lr", 0.01}}};
  // How much memory a step takes depends on the machine's threads and vectors.
  const auto bytes_of_step = [&](const std::vector<std::string>& frozen) {
    Sequential net = make_net();
    if (!frozen.empty()) freeze(net, frozen);
    TrainingStep step(
        [&](const Vars& inputs) {
          return Vars{mse_loss({net(inputs[0]), inputs[1]})};
        },
        net.parameters(), Optimizer::create(adam));
    step.prepare(batch);
    return step.arena_bytes();
  };
  const size_t least = bytes_of_step({"0.*", "2.*", "6.*"}), most = bytes_of_step({});
  ASSERT_LT(least, most);
  std::vector<std::string> before;
  for (const size_t memory : {least, (2 * least + most) / 3, (least + 2 * most) / 3, most}) {
    SCOPED_TRACE(memory);
    seed(1);
    Sequential net = make_net();
    const TrainingStep::Loss loss = [&](const Vars& inputs) { return Vars{mse_loss({net(inputs[0]), inputs[1]})}; };
    const std::vector<std::string> names = train_within(net, memory, loss, batch, adam);
    EXPECT_EQ(names, names_of(net.parameters()));
    EXPECT_THAT(names, testing::IsSupersetOf(before));
    before = names;
    TrainingStep step(loss, net.parameters(), Optimizer::create(adam));
    step.prepare(batch);
    EXPECT_LE(step.arena_bytes(), memory);
    const auto value = [&] { return *step({x, y})[0].data<float>(); };
    const float first = value();
    EXPECT_LT(value(), first);
    if (memory != most) continue;
    EXPECT_EQ(names.size(), 8U);
    freeze(net, {"0.*"});
    EXPECT_THAT(sentence_of([&] { train_within(net, 10, loss, batch, adam); }),
                testing::AllOf(HasSubstr("training 8.weight, 8.bias alone takes "), HasSubstr(" bytes, more than 10")));
    EXPECT_EQ(net.parameters().size(), 6U);  // frozen as before
  }
}

TEST(Freezing, errors_name_the_pattern_and_the_parameters) {
  const auto net = two_layers();
  EXPECT_THAT(sentence_of([&] { freeze(*net, {"head.*"}); }),
              HasSubstr("the network has no parameter \"head.*\"; it has 0.weight, 0.bias, 2.weight, 2.bias"));
  EXPECT_THAT(sentence_of([&] { unfreeze(Activation("relu")); }), HasSubstr("it has none"));
  EXPECT_EQ(net->parameters().size(), 4U);
}

// ---- Class means

/// Cosines by plain loops. examples: the features of each class [n, size].
std::vector<double> cosines(const std::vector<Tensor>& examples, const Tensor& x) {
  const int64_t size = x.shape()[1];
  const auto unit = [&](const float* row) {
    double squares = 0;
    for (int64_t i = 0; i < size; ++i) squares += static_cast<double>(row[i]) * row[i];
    std::vector<double> made;
    for (int64_t i = 0; i < size; ++i) made.push_back(row[i] / std::max(std::sqrt(squares), 1e-12));
    return made;
  };
  std::vector<double> found;
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    for (const Tensor& each : examples) {
      std::vector<double> mean(static_cast<size_t>(size));
      for (int64_t k = 0; k < each.shape()[0]; ++k) {
        const std::vector<double> row = unit(each.data<float>() + k * size);
        for (size_t i = 0; i < row.size(); ++i) mean[i] += row[i] / static_cast<double>(each.shape()[0]);
      }
      double squares = 0, product = 0;
      const std::vector<double> own = unit(x.data<float>() + n * size);
      for (size_t i = 0; i < mean.size(); ++i) squares += mean[i] * mean[i], product += mean[i] * own[i];
      found.push_back(product / std::max(std::sqrt(squares), 1e-12));
    }
  return found;
}

TEST(ClassMeans, scores_are_cosines_with_the_means) {
  for (const auto& [count, size] : {std::pair<int64_t, int64_t>{1, 1}, {5, 7}, {3, 17}}) {
    const std::vector<Tensor> examples = {numbers({count, size}, 1), numbers({count + 1, size}, 5), numbers({1, size}, 9)};
    NearestClassMean head;
    for (size_t i = 0; i < examples.size(); ++i) head.learn(std::string(1, static_cast<char>('c' - i)), Var(examples[i]));
    const Tensor x = numbers({4, size}, 4);
    const Tensor scores = head.forward({Var(x)})[0].tensor();
    const std::vector<double> expected = cosines(examples, x);
    ASSERT_EQ(scores.shape(), (Shape{4, 3}));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(scores.data<float>()[i], expected[i], 2e-6);
    const std::vector<std::string> found = head.classify(Var(x));
    for (size_t n = 0; n < 4; ++n) {
      const auto best =
          std::max_element(expected.begin() + static_cast<ptrdiff_t>(3 * n), expected.begin() + static_cast<ptrdiff_t>(3 * n + 3));
      EXPECT_NEAR(expected[3 * n + static_cast<size_t>('c' - found[n][0])], *best, 2e-6);
    }
    EXPECT_THAT(head.names(), ElementsAre("c", "b", "a"));
  }
}

TEST(ClassMeans, more_examples_of_a_class_move_its_mean) {
  NearestClassMean once, twice;
  const Tensor all = numbers({6, 5}, 2);
  const auto part = [&](int64_t first, int64_t count) {
    return Var(Tensor(TensorView(DType::f32, {count, 5}, all.data<float>() + first * 5)));
  };
  once.learn("a", Var(all));
  twice.learn("a", part(0, 2)), twice.learn("a", part(2, 4));
  const auto sums = once.state_dict(), others = twice.state_dict();
  EXPECT_EQ(others.at("a.count").data<int64_t>()[0], 6);
  for (int64_t i = 0; i < 5; ++i) EXPECT_NEAR(sums.at("a.sum").data<float>()[i], others.at("a.sum").data<float>()[i], 1e-6);
}

TEST(ClassMeans, pictures_are_averaged_over_their_places_and_files_keep_classes) {
  seed(3);
  const auto body = make<Conv2d>(1, 6, 3);
  NearestClassMean head(features_of(body));
  head.learn("dark", Var(numbers({5, 1, 6, 6}, 1)));
  head.learn("bright", Var(numbers({5, 1, 6, 6}, 8)));
  const Tensor features = body->forward({Var(numbers({2, 1, 6, 6}, 5))})[0].tensor();
  Tensor means(DType::f32, {2, 6});
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t k = 0; k < 16; ++k) means.writable().data<float>()[i] += features.data<float>()[i * 16 + k] / 16;
  NearestClassMean plain;
  plain.load_state_dict(head.state_dict());
  EXPECT_THAT(plain.names(), ElementsAre("bright", "dark"));
  const Tensor a = head.forward({Var(numbers({2, 1, 6, 6}, 5))})[0].tensor(), b = plain.forward({Var(means)})[0].tensor();
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 2; ++c) EXPECT_NEAR(a.data<float>()[n * 2 + c], b.data<float>()[n * 2 + 1 - c], 1e-5);
  const std::string path = removed_path("class_means.safetensors");
  head.save(path);
  NearestClassMean other(features_of(body));
  other.load(path);
  EXPECT_EQ(other.classify(Var(numbers({3, 1, 6, 6}, 8))), head.classify(Var(numbers({3, 1, 6, 6}, 8))));
  head.forget("dark");
  EXPECT_THAT(head.names(), ElementsAre("bright"));
}

TEST(ClassMeans, errors_are_sentences) {
  NearestClassMean head;
  EXPECT_THAT(sentence_of([&] { head(Var(numbers({2, 3}))); }), HasSubstr("no class was learned yet"));
  head.learn("rows", Var(numbers({2, 3})));
  EXPECT_THAT(sentence_of([&] { head.forget("row"); }), HasSubstr("no class \"row\""));
  EXPECT_THAT(sentence_of([&] { head(Var(numbers({2, 4}))); }), HasSubstr("features have the size 3, they have 4"));
  EXPECT_THAT(sentence_of([&] { head.learn("x", Var(numbers({3}))); }), HasSubstr("they have the shape [3]"));
  EXPECT_THAT(sentence_of([&] { head.load_state_dict({{"a.sum", numbers({3})}}); }), HasSubstr("\"a.sum\" does not fit"));
  EXPECT_THAT(sentence_of([&] { head.load_state_dict({{"weight", numbers({3})}}); }), HasSubstr("not that of a NearestClassMean"));
  EXPECT_THAT(sentence_of([&] { features_of(nullptr); }), HasSubstr("none is given"));
  EXPECT_THAT(head.names(), ElementsAre("rows"));
}

// ---- Cached features

/// Counts the samples that a network gets.
struct Part : Layer {
  Part() : drop(layer("drop", make<Dropout>(0.5))), linear(layer("linear", make<Linear>(4, 3))) { linear->set_training(false); }
  Vars forward(const Vars& x) override {
    batches.push_back(x[0].shape()[0]);
    return drop->forward(linear->forward(x));
  }
  std::shared_ptr<Dropout> drop;
  std::shared_ptr<Linear> linear;
  std::vector<int64_t> batches;
};

/// Ten samples {input [4], number}; counts how often one is read.
struct Samples : data::Dataset {
  int64_t size() const override { return 10; }
  data::Sample get(int64_t index, data::Random&) const override {
    ++reads;
    return {numbers({4}, static_cast<int>(index)), Tensor::scalar_i64(index)};
  }
  std::vector<std::string> classes() const override { return {"a", "b"}; }
  mutable std::atomic<int> reads{0};
};

Tensor row(const data::Dataset& dataset, int64_t index) {
  data::Random random(0);
  return dataset.get(index, random)[0];
}

TEST(CachedFeatures, are_computed_once_in_evaluation_mode) {
  seed(5);
  const auto part = std::make_shared<Part>();
  const auto samples = std::make_shared<Samples>();
  for (const size_t limit : {size_t{1} << 30, size_t{10 * 3 * 4}, size_t{10 * 3 * 4 - 1}, size_t{0}}) {
    part->batches.clear(), samples->reads = 0;
    const CachedFeatures cached(part, samples, {.batch_size = 4, .memory_limit = limit});
    EXPECT_THAT(part->batches, ElementsAre(4, 4, 2));
    EXPECT_EQ(cached.on_disk(), limit < 10 * 3 * 4);
    EXPECT_EQ(cached.size(), 10);
    EXPECT_THAT(cached.classes(), ElementsAre("a", "b"));
    EXPECT_TRUE(part->is_training() && part->drop->is_training());
    EXPECT_FALSE(part->linear->is_training());
    data::Random random(0);
    for (int64_t i = 0; i < 10; ++i) {
      const Tensor x = numbers({4}, static_cast<int>(i)), w = part->linear->weight.tensor(), b = part->linear->bias.tensor();
      const data::Sample sample = cached.get(i, random);
      ASSERT_EQ(sample.size(), 2U);
      ASSERT_EQ(sample[0].shape(), (Shape{3}));
      EXPECT_EQ(sample[1].data<int64_t>()[0], i);
      for (int64_t k = 0; k < 3; ++k) {
        double expected = b.data<float>()[k];
        for (int64_t j = 0; j < 4; ++j) expected += static_cast<double>(x.data<float>()[j]) * w.data<float>()[k * 4 + j];
        EXPECT_NEAR(sample[0].data<float>()[k], expected, 1e-6);
      }
    }
    EXPECT_EQ(samples->reads, 10);
  }
}

TEST(CachedFeatures, a_file_serves_until_the_weights_change) {
  seed(6);
  const auto part = std::make_shared<Part>();
  const auto samples = std::make_shared<Samples>();
  const std::string path = removed_path("features.safetensors");
  const CachedFeatures first(part, samples, {.path = path});
  EXPECT_THAT(part->batches, ElementsAre(10));
  {
    samples->reads = 0;
    const CachedFeatures second(part, samples, {.path = path});
    EXPECT_THAT(part->batches, ElementsAre(10));
    EXPECT_TRUE(second.on_disk());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        data::Random random(0);
        for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(second.get(i, random)[1].data<int64_t>()[0], i);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(floats(row(second, 3)), floats(row(first, 3)));
    EXPECT_GE(samples->reads, 10);  // the labels, when they were asked for
    EXPECT_EQ(floats(load_safetensors(path).at("features")).size(), 30U);
  }
  const std::vector<float> before = floats(row(first, 3));
  part->linear->bias.assign(Var(numbers({3}, 7)));
  const CachedFeatures third(part, samples, {.path = path});
  EXPECT_THAT(part->batches, ElementsAre(10, 10));
  EXPECT_NE(floats(row(third, 3)), before);
  EXPECT_EQ(floats(row(first, 3)), before);  // the old file is still there for its object
}

TEST(CachedFeatures, functions_are_told_apart_by_their_key) {
  const auto samples = std::make_shared<Samples>();
  const std::string path = removed_path("function.safetensors");
  int calls = 0;
  const Features twice = [&](const Var& x) { return ++calls, x * 2.0; };
  for (const char* key : {"a", "a", "b"}) {
    const CachedFeatures cached(twice, samples, {.path = path, .key = key});
    EXPECT_FLOAT_EQ(row(cached, 1).data<float>()[2], 2 * numbers({4}, 1).data<float>()[2]);
  }
  EXPECT_EQ(calls, 2);
}

TEST(CachedFeatures, feed_a_training_step) {
  seed(8);
  const auto part = std::make_shared<Part>();
  const auto cached = std::make_shared<CachedFeatures>(part, std::make_shared<Samples>());
  const auto head = make<Linear>(3, 10);
  TrainingStep step(
      [&](const Vars& batch) {
        return Vars{cross_entropy({(*head)(batch[0]), batch[1]})};
      },
      head->parameters(), Optimizer::create({.name = "adam", .settings = {{"lr", 0.05}}}));
  std::vector<float> losses;
  data::Random random(0);
  Tensor x(DType::f32, {10, 3}), labels(DType::i64, {10});
  for (int64_t i = 0; i < 10; ++i) {
    const data::Sample sample = cached->get(i, random);
    std::memcpy(x.writable().data<float>() + 3 * i, sample[0].data(), 12);
    labels.writable().data<int64_t>()[i] = sample[1].data<int64_t>()[0];
  }
  for (int i = 0; i < 60; ++i) losses.push_back(step({x, labels})[0].data<float>()[0]);
  EXPECT_LT(losses.back(), losses.front() * 0.8f);
}

TEST(CachedFeatures, errors_are_sentences) {
  const auto samples = std::make_shared<Samples>();
  const Features same = [](const Var& x) { return x; };
  struct Empty : Samples {
    int64_t size() const override { return 0; }
  };
  EXPECT_THAT(sentence_of([&] { CachedFeatures(same, std::make_shared<Empty>()); }), HasSubstr("the data set is empty"));
  EXPECT_THAT(sentence_of([&] { CachedFeatures(Features(), samples); }), HasSubstr("none is given"));
  EXPECT_THAT(sentence_of([&] { CachedFeatures(same, samples, {.batch_size = 0}); }), HasSubstr("batch_size is positive"));
  EXPECT_THAT(sentence_of([&] { CachedFeatures([](const Var& x) { return expr::op("ReduceSum", {x}); }, samples); }),
              HasSubstr("features of 10 inputs have the shape"));
  struct Growing : Samples {
    data::Sample get(int64_t index, data::Random&) const override { return {numbers({index + 1})}; }
  };
  EXPECT_THAT(sentence_of([&] { CachedFeatures(same, std::make_shared<Growing>()); }), HasSubstr("inputs of one shape are expected"));
  EXPECT_THAT(sentence_of([&] { CachedFeatures(same, std::make_shared<Growing>(), {.batch_size = 1}); }),
              HasSubstr("features of one shape are expected, there are f32[1, 1] and f32[1, 2]"));
  data::Random random(0);
  EXPECT_THAT(sentence_of([&] { CachedFeatures(same, samples).get(10, random); }), HasSubstr("sample 10 is none of 10"));
  const std::string path = removed_path("weights.safetensors");
  save_safetensors(path, {{"weight", numbers({3})}});
  EXPECT_THAT(sentence_of([&] { CachedFeatures(same, samples, {.path = path}); }), HasSubstr("has no features"));
  EXPECT_EQ(load_safetensors(path).size(), 1U);  // it is still there
}

}  // namespace
}  // namespace minnow::nn

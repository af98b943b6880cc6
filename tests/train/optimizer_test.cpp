// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <minnow/optimizer.h>
#include <minnow/optimizer_c.h>

#include <cmath>
#include <cstring>

#include "base/memory.h"
#include "base/os.h"
#include "support/paths.h"
#include "support/sentence.h"
#include "train/cases.h"
#include "train/custom.h"

namespace minnow::train {
namespace {

using test::sentence_of;
using testing::HasSubstr;

TEST(OptimizerParameters, are_zero_aligned_and_movable) {
  for (const int64_t n : {1, 15, 16, 1000}) {
    Optimizer::Parameters parameters(n);
    EXPECT_EQ(parameters.size(), n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(parameters.get()) % 64, 0u);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(parameters.get()[i], 0.0f);
    const float* data = parameters.get();
    Optimizer::Parameters other = std::move(parameters);
    EXPECT_EQ(other.get(), data);
    EXPECT_EQ(other.size(), n);
    EXPECT_EQ(parameters.get(), nullptr);
    EXPECT_EQ(parameters.size(), 0);
    Optimizer::Parameters third(1);
    third = std::move(other);
    EXPECT_EQ(third.get(), data);
  }
  static_assert(!std::is_copy_constructible_v<Optimizer::Parameters> && !std::is_copy_assignable_v<Optimizer::Parameters>);
  static_assert(std::has_virtual_destructor_v<Optimizer::Parameters>);
  for (const int64_t n : {int64_t{0}, int64_t{-1}})
    EXPECT_THAT(sentence_of([&] { Optimizer::Parameters{n}; }), HasSubstr("positive number"));
  EXPECT_NE(sentence_of([&] { Optimizer::Parameters{int64_t{1} << 62}; }), "no error");
}

TEST(Optimizer, choose_takes_the_cheapest_that_fits_and_can_run) {
  const Tensor few(DType::f32, {1000}), many(DType::f32, {1 << 22});
  const auto of = [](const Tensor& tensor) {
    return std::vector<Trainable>{{"w", MutableTensorView(tensor.dtype(), tensor.shape(), const_cast<void*>(tensor.data())), {}}};
  };
  const Optimizer::Config adam{.name = "adam", .threads = 1}, sgd{.name = "sgd", .threads = 1},
      on_gpu{.name = "sgd", .device = Optimizer::Device::gpu};
  Optimizer::Config bytes = adam;
  bytes.settings = {{"bytes", true}};
  EXPECT_EQ(Optimizer::choose(std::vector{on_gpu, adam, sgd}, of(many)), 2u) << "less state to move";
  EXPECT_EQ(Optimizer::choose(std::vector{adam, bytes}, of(many), 20), 1u) << "8-bit state fits 20 MB";
  Optimizer::Config two = sgd;
  two.threads = 2;
  EXPECT_EQ(Optimizer::choose(std::vector{two, sgd}, of(few)), 1u) << "a second thread takes longer to wake";
  if (os::available_cores() > 1) {
    EXPECT_EQ(Optimizer::choose(std::vector{sgd, two}, of(many)), 1u);
  }
  EXPECT_THAT(sentence_of([&] { Optimizer::choose(std::vector{adam}, of(many), 1); }), HasSubstr("no configuration fits 1 MB of state"));
  const Optimizer::Config elsewhere{.name = "muon", .backend = "reference"};
  EXPECT_THAT(sentence_of([&] { Optimizer::choose(std::vector{elsewhere}, of(many)); }), HasSubstr("the processor alone computes"));
  EXPECT_THAT(sentence_of([&] { Optimizer::choose({}, of(many)); }), HasSubstr("no configurations"));
  EXPECT_THAT(sentence_of([&] { Optimizer::choose(std::vector{Optimizer::Config{.name = "adamm"}}, of(many)); }), HasSubstr("adamm"));
}

TEST(Optimizer, errors_suggest_what_there_is) {
  const auto creation = [](Optimizer::Config config) { return sentence_of([&] { Optimizer::create(config); }); };
  EXPECT_THAT(creation({.name = "adamm"}), testing::AllOf(HasSubstr("there is no optimizer \"adamm\""), HasSubstr("\"adam\"")));
  EXPECT_THAT(creation({.name = ""}), HasSubstr("all are "));
  EXPECT_EQ(creation({.name = "sgd", .settings = {{"momentun", 0.9}}}),
            "optimizer \"sgd\": there is no setting \"momentun\"; the nearest are \"momentum\", \"dampening\", \"maximize\"");
  EXPECT_EQ(creation({.name = "sgd", .settings = {{"momentum", 1.5}}}), "optimizer \"sgd\": momentum takes a number from 0 to 1, not 1.5");
  EXPECT_EQ(creation({.name = "sgd", .settings = {{"lr", "fast"}}}), "optimizer \"sgd\": lr takes a number, not \"fast\"");
  EXPECT_EQ(creation({.name = "sgd", .settings = {{"lr", std::nan("")}}}), "optimizer \"sgd\": lr takes a number of at least 0, not nan");
  EXPECT_EQ(creation({.name = "sgd", .settings = {{"nesterov", 1}}}), "optimizer \"sgd\": nesterov takes true or false, not 1");
  EXPECT_THAT(creation({.name = "sgd", .groups = {{"*.bias", {{"rate", 1.0}}}}}),
              HasSubstr("group \"*.bias\": there is no setting \"rate\""));
  EXPECT_EQ(creation({.name = "sgd", .clip_norm = -1}), "optimizer \"sgd\": clip_norm takes a number of at least 0, not -1");
  EXPECT_THAT(creation({.name = "lamb", .settings = {{"decoupled_weight_decay", false}}}), HasSubstr("leave decoupled_weight_decay away"));
}

TEST(Optimizer, devices_without_a_backend_are_errors) {
  using Device = Optimizer::Device;
  EXPECT_THAT(sentence_of([] { Optimizer::create({.name = "sgd", .device = Device::other}); }), HasSubstr("name its backend, too"));
  EXPECT_THAT(sentence_of([] { Optimizer::create({.name = "sgd", .backend = "abacus"}); }), HasSubstr("there is no backend \"abacus\""));
  Tensor w(DType::f32, {4}), g(DType::f32, {4});
  const Trainable tensors[] = {{"w", w.writable(), g}};
  const auto bytes = Optimizer::create({.name = "adam", .settings = {{"bytes", true}}, .backend = "reference"});
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(sentence_of([&] { bytes->on_execute(tensors); }), HasSubstr("8-bit state are the processor's alone"));
  EXPECT_NE(Optimizer::create({.name = "sgd", .device = Device::cpu}), nullptr);
}

TEST(Optimizer, tensors_stay_the_same) {
  Model model(DType::f32), other(DType::f64);
  const auto optimizer = Optimizer::create({.name = "adam"});
  optimizer->on_execute(model.gradients(0, "noise"));
  EXPECT_THAT(sentence_of([&] { optimizer->on_execute(other.gradients(0, "noise")); }),
              HasSubstr("parameter 0 was \"layer.weight\", f32[4, 6]"));
  EXPECT_THAT(sentence_of([&] { optimizer->on_execute(model.tensors().first(2)); }), HasSubstr("state for 4 parameters, 2 came"));
  std::vector<Trainable> tensors(model.tensors().begin(), model.tensors().end());
  tensors[1].gradient = model.tensors()[0].gradient;
  EXPECT_THAT(sentence_of([&] { optimizer->on_execute(tensors); }), HasSubstr("\"layer.bias\" is f32[4], its gradient f32[4, 6]"));
  tensors[1].name = "layer.weight";
  EXPECT_THAT(sentence_of([&] { Optimizer::create({})->on_execute(tensors); }), HasSubstr("two parameters have the name \"layer.weight\""));
  Tensor integers(DType::i32, {2});
  const Trainable wrong[] = {{"steps", integers.writable(), integers}};
  EXPECT_THAT(sentence_of([&] { Optimizer::create({})->on_execute(wrong); }),
              HasSubstr("parameter \"steps\" is i32; parameters are f32 or f64"));
}

TEST(Optimizer, a_tensor_without_a_gradient_stays) {
  Model model(DType::f32);
  const auto optimizer = Optimizer::create({.name = "adamw"});
  model.gradients(0, "noise");
  std::vector<Trainable> tensors(model.tensors().begin(), model.tensors().end());
  tensors[0].gradient = {};
  const std::vector<double> before = model.values(0), second = model.values(1);
  optimizer->on_execute(tensors);
  EXPECT_EQ(model.values(0), before);
  EXPECT_NE(model.values(1), second);
}

TEST(Optimizer, the_norm_of_gradients_is_returned) {
  Model model(DType::f64);
  const auto optimizer = Optimizer::create({.name = "sgd", .clip_norm = 100});
  EXPECT_TRUE(std::isnan(optimizer->gradient_norm()));
  double sum = 0;
  for (const Trainable& tensor : model.gradients(0, "noise"))
    for (int64_t i = 0; i < tensor.gradient.elements(); ++i) sum += std::pow(tensor.gradient.data<double>()[i], 2);
  optimizer->on_execute(model.tensors());
  EXPECT_NEAR(optimizer->gradient_norm(), std::sqrt(sum), 1e-13);
  EXPECT_EQ(optimizer->steps(), 1);
}

TEST(Optimizer, results_do_not_depend_on_the_number_of_threads_nor_on_how_tensors_are_cut) {
  for (const Rule& row : rules()) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      Tensor w(DType::f32, {3, 20011}), g(DType::f32, {3, 20011});
      const auto values = [](Tensor& t) { return t.writable().data<float>(); };
      for (uint32_t i = 0; i < 60033; ++i)
        values(w)[i] = static_cast<float>(noise(0, 1, i)), values(g)[i] = static_cast<float>(noise(0, 2, i));
      const auto optimizer = Optimizer::create({.name = row.name, .clip_norm = 10, .threads = threads});
      const Trainable tensors[] = {{"w", w.writable(), g}};
      for (int step = 0; step < 3; ++step) optimizer->on_execute(tensors);
      results.emplace_back(values(w), values(w) + 60033);
    }
    EXPECT_EQ(results[0], results[1]) << row.name;
    EXPECT_EQ(results[0], results[2]) << row.name;
  }
}

TEST(Optimizer, every_row_trains_awkward_shapes_and_documents_itself) {
  for (const Rule& rule : rules()) {
    const std::string& name = rule.name;
    const OptimizerDescription row = describe_optimizer(name);
    EXPECT_FALSE(row.formula.empty()) << name;
    for (const OptimizerSetting& setting : row.settings) EXPECT_FALSE(setting.meaning.empty()) << name << " " << setting.name;
    for (const DType dtype : {DType::f32, DType::f64}) {
      std::vector<Tensor> weights, gradients;
      std::vector<Trainable> tensors;
      for (const Shape& shape :
           {Shape{}, Shape{0}, Shape{3, 0}, Shape{1}, Shape{15}, Shape{17}, Shape{257}, Shape{7, 1}, Shape{1, 7}, Shape{2, 3, 5}}) {
        weights.emplace_back(dtype, shape), gradients.emplace_back(dtype, shape);
        for (int64_t i = 0; i < shape.elements(); ++i)
          for (Tensor* t : {&weights.back(), &gradients.back()}) {
            const double x = noise(static_cast<uint32_t>(weights.size()), t == &weights.back(), static_cast<uint32_t>(i));
            if (dtype == DType::f32)
              t->writable().data<float>()[i] = static_cast<float>(x);
            else
              t->writable().data<double>()[i] = x;
          }
      }
      for (size_t i = 0; i < weights.size(); ++i) tensors.push_back({"w" + std::to_string(i), weights[i].writable(), gradients[i]});
      const auto optimizer = Optimizer::create({.name = name});
      for (int step = 0; step < 3; ++step) optimizer->on_execute(tensors);
      for (const Tensor& w : weights)
        for (int64_t i = 0; i < w.elements(); ++i)
          EXPECT_TRUE(std::isfinite(dtype == DType::f32 ? w.data<float>()[i] : w.data<double>()[i])) << name << " " << to_string(w.shape());
    }
  }
}

TEST(Optimizer, costs_are_what_is_counted_and_allocated) {
  Tensor w(DType::f32, {100, 1000}), g(DType::f32, {100, 1000});
  const Trainable tensors[] = {{"w", w.writable(), g}};
  for (const Rule& rule : rules()) {
    const std::string& name = rule.name;
    const auto account = std::make_shared<MemoryAccount>(0);
    const auto optimizer = Optimizer::create({.name = name});
    const Optimizer::Cost cost = optimizer->on_measure(tensors);
    {
      const ChargeTo charge(account);
      optimizer->on_get_parameters(tensors);
    }
    const double megabytes = static_cast<double>(account->used()) / 1e6;
    EXPECT_NEAR(cost.memory, megabytes, 0.2 * megabytes + 1e-3) << name;
    EXPECT_GT(cost.compute, 0.1) << name;
  }
  // Counted by hand, clipping, scaling and decay of the gradient included (7).
  const auto megaflops = [&](const char* name, Settings settings = {}) {
    return Optimizer::create({.name = name, .settings = std::move(settings)})->on_measure(tensors).compute;
  };
  EXPECT_NEAR(megaflops("sgd"), 0.9, 0.18);
  EXPECT_NEAR(megaflops("sgd", {{"momentum", 0.9}}), 1.4, 0.28);
  EXPECT_NEAR(megaflops("adam"), 2.1, 0.42);
}

TEST(Optimizer, a_state_that_does_not_fit_changes_nothing) {
  Model model(DType::f32);
  const auto optimizer = Optimizer::create({.name = "adam"});
  optimizer->on_execute(model.gradients(0, "noise"));
  std::vector<NamedTensor> state = optimizer->state();
  EXPECT_EQ(state[0].name, "layer.weight.m");
  std::vector<NamedTensor> less(state.begin() + 1, state.end()), more = state, other = state;
  more.push_back({"layer.weight.x", Tensor(DType::f32, {1})});
  other[0].value = Tensor(DType::f32, {6, 4});
  EXPECT_THAT(sentence_of([&] { optimizer->set_state(less); }), HasSubstr("the state has no \"layer.weight.m\""));
  EXPECT_THAT(sentence_of([&] { optimizer->set_state(more); }), HasSubstr("\"layer.weight.x\" of the state belongs to no parameter"));
  EXPECT_THAT(sentence_of([&] { optimizer->set_state(other); }), HasSubstr("is f32[6, 4], f32[4, 6] is needed"));
  optimizer->set_state(state);
}

TEST(Optimizer, settings_change_between_steps) {
  Model model(DType::f64);
  const auto optimizer = Optimizer::create({.name = "sgd", .settings = {{"lr", 0.5}}});
  optimizer->on_execute(model.gradients(0, "noise"));
  const std::vector<double> before = model.values(0);
  optimizer->set("lr", 0.0);
  optimizer->on_execute(model.gradients(1, "noise"));
  EXPECT_EQ(model.values(0), before);
  EXPECT_THAT(sentence_of([&] { optimizer->set("momentum", 0.9); }), HasSubstr("decides which state there is"));
  EXPECT_THAT(sentence_of([&] { optimizer->set("speed", 0.9); }), HasSubstr("there is no setting \"speed\""));
}

TEST(Optimizer, averages_are_not_trained) {
  Model model(DType::f32);
  const auto optimizer = Optimizer::create({.name = "schedule_free"});
  optimizer->on_execute(model.gradients(0, "noise"));
  optimizer->on_execute(model.gradients(1, "noise"));
  optimizer->evaluate(model.tensors(), true);
  EXPECT_THAT(sentence_of([&] { optimizer->on_execute(model.gradients(2, "noise")); }), HasSubstr("call evaluate(tensors, false)"));
  optimizer->evaluate(model.tensors(), false);
  optimizer->on_execute(model.gradients(2, "noise"));
}

TEST(Optimizer, eight_bit_state_follows_full_state) {
  for (const auto& [name, most] : {std::pair("adam", 0.03), std::pair("adamw", 0.03), std::pair("lion", 0.2)}) {
    Model full(DType::f32), bytes(DType::f32), begin(DType::f32);
    const auto a = Optimizer::create({.name = name, .settings = {{"lr", 0.01}}});
    const auto b = Optimizer::create({.name = name, .settings = {{"lr", 0.01}, {"bytes", true}}});
    for (int step = 0; step < 100; ++step) {
      a->on_execute(full.gradients(step, "noise"));
      b->on_execute(bytes.gradients(step, "noise"));
    }
    double distance = 0, way = 0;
    for (size_t i = 0; i < full.tensors().size(); ++i)
      for (size_t j = 0; j < full.values(i).size(); ++j) {
        distance += std::pow(full.values(i)[j] - bytes.values(i)[j], 2);
        way += std::pow(full.values(i)[j] - begin.values(i)[j], 2);
      }
    EXPECT_LT(std::sqrt(distance / way), most) << name;
  }
  const auto a = Optimizer::create({.name = "adam"}), b = Optimizer::create({.name = "adam", .settings = {{"bytes", true}}});
  Tensor w(DType::f32, {1000, 100});
  const Trainable tensors[] = {{"w", w.writable(), w}};
  EXPECT_NEAR(b->on_measure(tensors).memory, 0.2, 0.01);
  EXPECT_NEAR(a->on_measure(tensors).memory, 0.8, 0.01);
  EXPECT_THAT(sentence_of([&] {
                Optimizer::create({.name = "adam", .settings = {{"bytes", true}, {"amsgrad", true}}})->on_measure(tensors);
              }),
              HasSubstr("amsgrad and bytes cannot be combined"));
}

TEST(Optimizer, others_are_registered) {
  struct Halving final : Optimizer {
    const Parameters& on_get_parameters(std::span<const Trainable>) override { return parameters; }
    Cost on_measure(std::span<const Trainable>) const override { return {}; }
    void on_execute(std::span<const Trainable> tensors) override {
      for (const Trainable& tensor : tensors)
        for (int64_t i = 0; i < tensor.values.elements(); ++i) tensor.values.data<float>()[i] *= 0.5f;
    }
    std::vector<NamedTensor> state() const override { return {}; }
    void set_state(std::span<const NamedTensor>) override {}
    int64_t steps() const noexcept override { return 0; }
    Schedule& schedule() override { return none; }
    void set(std::string_view, const Setting&) override {}
    Parameters parameters{1};
    Schedule none;
  };
  register_optimizer("com.example.Halving", [](const Optimizer::Config&) { return std::make_unique<Halving>(); });
  Model model(DType::f32);
  const double before = model.values(0)[0];
  Optimizer::create({.name = "com.example.Halving"})->on_execute(model.gradients(0, "noise"));
  EXPECT_EQ(model.values(0)[0], before / 2);
  EXPECT_THAT(sentence_of([] { register_optimizer("adam", [](const Optimizer::Config&) { return std::make_unique<Halving>(); }); }),
              HasSubstr("\"adam\" is an optimizer of Minnow"));
  register_optimizer("com.example.Nothing", [](const Optimizer::Config&) { return nullptr; });
  EXPECT_THAT(sentence_of([] { Optimizer::create({.name = "com.example.Nothing"}); }), HasSubstr("returned nothing"));
}

int heavy_ball(minnow_optimizer_call* call, void*) {
  if (call->dtype != MINNOW_F64) return std::strncpy(call->error, "takes f64 alone", call->error_size - 1), 1;
  double *w = static_cast<double*>(call->values), *m = static_cast<double*>(call->states[0]);
  for (int64_t i = 0; i < call->count; ++i) {
    m[i] = call->settings[0] * m[i] + static_cast<const double*>(call->gradient)[i];
    w[i] -= call->learning_rate * m[i];
  }
  return 0;
}

TEST(Optimizer, tables_of_other_libraries_have_groups_schedules_and_clipping) {
  static const minnow_optimizer_setting settings[] = {{"mass", 0.0, 0.0, 1.0, "of the ball"}};
  static const char* const states[] = {"m"};
  static const minnow_custom_optimizer table = {
      sizeof(table), "com.example.Ball", "m = mass m + g; w -= a m", nullptr, 1e-3, settings, 1, states, 1, 4, heavy_ball};
  register_custom(&table, "this process", true);
  const Settings ours = {{"lr", 0.1}, {"momentum", 0.9}}, theirs = {{"lr", 0.1}, {"mass", 0.9}};
  const Schedule schedule = Schedule::create("cosine", {{"steps", 20}});
  Model a(DType::f64), b(DType::f64);
  const auto sgd =
      Optimizer::create({.name = "sgd", .settings = ours, .groups = {{"*.bias", {{"lr", 0.5}}}}, .schedule = schedule, .clip_value = 0.3});
  const auto ball = Optimizer::create(
      {.name = "com.example.Ball", .settings = theirs, .groups = {{"*.bias", {{"lr", 0.5}}}}, .schedule = schedule, .clip_value = 0.3});
  for (int step = 0; step < 20; ++step) {
    sgd->on_execute(a.gradients(step, "noise"));
    ball->on_execute(b.gradients(step, "noise"));
  }
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < a.values(i).size(); ++j) EXPECT_NEAR(a.values(i)[j], b.values(i)[j], 1e-14);
  Model narrow(DType::f32);
  EXPECT_EQ(sentence_of([&] { Optimizer::create({.name = "com.example.Ball", .threads = 1})->on_execute(narrow.gradients(0, "noise")); }),
            "optimizer \"com.example.Ball\": parameter \"layer.weight\": takes f64 alone");
}

TEST(Optimizer, a_shared_library_brings_its_own) {
  const std::string path = test::binary_dir() / "lib" / "libcustom_optimizers.so";
  EXPECT_EQ(load_optimizers(path), std::vector<std::string>{"com.example.Signum"});
  for (const DType dtype : {DType::f32, DType::f64}) {
    Model a(dtype), b(dtype);
    const auto signum = Optimizer::create({.name = "com.example.Signum", .settings = {{"lr", 0.01}, {"momentum", 0.0}}});
    const auto lion = Optimizer::create({.name = "lion", .settings = {{"lr", 0.01}, {"beta1", 0.0}, {"beta2", 0.0}}});
    for (int step = 0; step < 10; ++step) {
      signum->on_execute(a.gradients(step, "noise"));
      lion->on_execute(b.gradients(step, "noise"));
    }
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < a.values(i).size(); ++j) EXPECT_NEAR(a.values(i)[j], b.values(i)[j], 1e-6);
  }
  EXPECT_EQ(describe_optimizer("com.example.Signum").settings.back().name, "momentum");
}

TEST(Optimizer, a_library_that_is_none_is_an_error) {
  EXPECT_THAT(sentence_of([] { load_optimizers("/nowhere.so"); }), HasSubstr("/nowhere.so"));
}

TEST(Optimizer, line_search_is_refused_where_losses_and_gradients_do_not_belong_together) {
  const Optimizer::Config searching{.name = "lbfgs", .settings = {{"line_search", true}}};
  Model model(DType::f64);
  EXPECT_THAT(sentence_of([&] { Optimizer::create(searching)->on_execute(model.gradients(0, "valley")); }), HasSubstr("call on_minimize"));
  Optimizer::Config clipped = searching;
  clipped.clip_norm = 1;
  EXPECT_THAT(sentence_of([&] { Optimizer::create(clipped); }), HasSubstr("line_search compares losses"));
  const std::vector<double> before = model.values(0);
  int calls = 0;
  const auto optimizer = Optimizer::create(searching);
  const std::function<double()> loss = [&] {
    if (++calls == 2) throw std::runtime_error("no loss");
    return model.loss();
  };
  EXPECT_ANY_THROW(optimizer->on_minimize(model.gradients(0, "valley"), loss));
  EXPECT_EQ(model.values(0), before);
}

TEST(Optimizer, a_cycled_momentum_needs_one) {
  const Schedule schedule = Schedule::create("one_cycle", {{"steps", 10}, {"cycle_momentum", true}});
  EXPECT_THAT(sentence_of([&] { Optimizer::create({.name = "adagrad", .schedule = schedule}); }), HasSubstr("leave cycle_momentum away"));
  EXPECT_DOUBLE_EQ(schedule.momentum_at(0), 0.95);
  EXPECT_DOUBLE_EQ(schedule.momentum_at(2), 0.85);
  EXPECT_TRUE(std::isnan(Schedule::create("one_cycle", {{"steps", 10}}).momentum_at(0)));
  EXPECT_DOUBLE_EQ(Schedule::sequential({Schedule(), schedule}, {5}).momentum_at(7), 0.85);
}

}  // namespace
}  // namespace minnow::train

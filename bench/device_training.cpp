// SPDX-License-Identifier: Apache-2.0
// Times training steps of two small networks on a device, with parameters and the optimizer's state in its memory ("device") and in the
// host's ("host"). Prints a table.
// usage: device_training [BACKEND [STEPS]]
#include <minnow/train.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>

using namespace minnow;

namespace {

Tensor noise(const Shape& shape, unsigned seed, float size) {
  Tensor t(DType::f32, shape);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  for (int64_t i = 0; i < shape.elements(); ++i) t.writable().data<float>()[i] = normal(random);
  return t;
}
/// An optimizer under a type that is not Minnow's, which keeps it on the host.
struct OnHost : Optimizer {
  std::unique_ptr<Optimizer> o;
  explicit OnHost(std::unique_ptr<Optimizer> given) : o(std::move(given)) {}
  const Parameters& on_get_parameters(std::span<const Trainable> t) override { return o->on_get_parameters(t); }
  Cost on_measure(std::span<const Trainable> t) const override { return o->on_measure(t); }
  void on_execute(std::span<const Trainable> t) override { o->on_execute(t); }
  bool takes_one_at_a_time() const noexcept override { return o->takes_one_at_a_time(); }
  void begin(std::span<const Trainable> t) override { o->begin(t); }
  void update(size_t i, const TensorView& g) override { o->update(i, g); }
  void end() override { o->end(); }
  std::vector<NamedTensor> state() const override { return o->state(); }
  void set_state(std::span<const NamedTensor> s) override { o->set_state(s); }
  int64_t steps() const noexcept override { return o->steps(); }
  std::string_view not_finite() const noexcept override { return o->not_finite(); }
  Schedule& schedule() override { return o->schedule(); }
  void set(std::string_view n, const Setting& v) override { o->set(n, v); }
};
using Named = std::vector<std::pair<std::string, Var>>;
struct Net {
  Named parameters;
  std::function<Vars(const Vars&)> loss;
  Tensor x, y;
};
Var parameter(Net& net, const char* name, const Shape& shape, float size) {
  Var v = expr::trainable(noise(shape, unsigned(net.parameters.size()) + 1, size), name);
  net.parameters.emplace_back(name, v);
  return v;
}
Tensor classes(int64_t n, int64_t count) {
  std::vector<int64_t> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = int64_t(i * 7) % count;
  return Tensor::of_i64({n}, v);
}
Net lenet() {
  Net net;
  Var c1 = parameter(net, "c1", {6, 1, 5, 5}, 0.2f), b1 = parameter(net, "b1", {6}, 0), c2 = parameter(net, "c2", {16, 6, 5, 5}, 0.08f),
      b2 = parameter(net, "b2", {16}, 0), w1 = parameter(net, "w1", {256, 120}, 0.06f), w2 = parameter(net, "w2", {120, 84}, 0.09f),
      w3 = parameter(net, "w3", {84, 10}, 0.1f);
  net.loss = [=](const Vars& b) -> Vars {
    const expr::Attributes pool = {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}};
    Var a = expr::op("MaxPool", {expr::relu(expr::op("Conv", {b[0], c1, b1}))}, pool);
    Var c = expr::op("MaxPool", {expr::relu(expr::op("Conv", {a, c2, b2}))}, pool);
    Var h = expr::relu(expr::matmul(expr::relu(expr::matmul(expr::op("Flatten", {c}), w1)), w2));
    return {expr::op("SoftmaxCrossEntropyLoss", {expr::matmul(h, w3), b[1]})};
  };
  net.x = noise({64, 1, 28, 28}, 50, 1), net.y = classes(64, 10);
  return net;
}
Net mlp() {
  Net net;
  Var w1 = parameter(net, "w1", {1024, 4096}, 0.02f), w2 = parameter(net, "w2", {4096, 4096}, 0.02f),
      w3 = parameter(net, "w3", {4096, 1000}, 0.02f);
  net.loss = [=](const Vars& b) -> Vars {
    Var h = expr::relu(expr::matmul(expr::relu(expr::matmul(b[0], w1)), w2));
    return {expr::op("SoftmaxCrossEntropyLoss", {expr::matmul(h, w3), b[1]})};
  };
  net.x = noise({64, 1024}, 50, 1), net.y = classes(64, 1000);
  return net;
}
}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const std::string backend = argc > 1 ? argv[1] : "cuda";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 100;
  SessionOptions options;
  options.backends = {backend};
  const expr::Scope scope(options);
  std::puts("| network | optimizer | state | least ms | mean ms | first loss | last |\n|---|---|---|---|---|---|---|");
  for (const char* which : {"lenet", "mlp"})
    for (const char* name : {"sgd", "adamw"})
      for (const bool host : {true, false}) {
        Net net = std::string(which) == "lenet" ? lenet() : mlp();
        std::unique_ptr<Optimizer> made = Optimizer::create({.name = name, .settings = {{"lr", 1e-3}}});
        std::shared_ptr<Optimizer> optimizer = host ? std::shared_ptr<Optimizer>(new OnHost(std::move(made))) : std::move(made);
        TrainingStep step(net.loss, net.parameters, optimizer);
        float first = 0, last = 0;
        for (int i = 0; i < 3; ++i) {
          last = step({net.x, net.y})[0].data<float>()[0];
          if (i == 0) first = last;
        }
        double least = 1e9, total = 0;
        for (int i = 0; i < steps; ++i) {
          const auto begin = Clock::now();
          last = step({net.x, net.y})[0].data<float>()[0];
          const double s = std::chrono::duration<double>(Clock::now() - begin).count();
          least = std::min(least, s), total += s;
        }
        std::printf("| %s | %s | %s | %.3f | %.3f | %.5f | %.5f |\n", which, name, host ? "host" : std::string(step.device()).c_str(),
                    least * 1e3, total / steps * 1e3, first, last);
        std::fflush(stdout);
      }
}

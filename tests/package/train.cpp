// SPDX-License-Identifier: Apache-2.0
#include <minnow/optimizer.h>

#include <cstdio>

int main() {
  using namespace minnow;
  Tensor w = Tensor::of_f32({2}, std::vector<float>{1, 2}).clone(), g = Tensor::of_f32({2}, std::vector<float>{1, 1});
  Optimizer::Config config;
  config.name = "sgd";
  config.settings = {{"lr", 0.5}};
  const Trainable tensors[] = {{"w", w.writable(), g, {}}};
  Optimizer::create(config)->on_execute(tensors);
  std::printf("%g %g\n", static_cast<double>(w.data<float>()[0]), static_cast<double>(w.data<float>()[1]));
  return w.data<float>()[0] == 0.5f && w.data<float>()[1] == 1.5f ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// The cases of tests/train/answers.txt, and the tensors that they are about.
#pragma once
#include <minnow/optimizer.h>

#include <map>
#include <string>
#include <vector>

namespace minnow::train {

struct Case {
  std::string name, library;
  Optimizer::Config config;
  std::string kind = "noise";
  int steps = 100;
  double f32 = 1e-6;  // how near f32 comes
  bool evaluate = false, curvature = false;
  std::map<std::string, std::vector<double>> answers;
};
const std::vector<Case>& cases();

/// Weights and gradients as scripts/make_optimizer_answers.py makes them.
class Model {
 public:
  explicit Model(DType dtype);
  /// Those of a step, from 0.
  std::span<const Trainable> gradients(int step, const std::string& kind, bool curvature = false);
  double loss() const;  // of kind "valley"
  /// One step with them.
  void step(Optimizer& optimizer, int step, const Case& by);
  std::span<const Trainable> tensors() const { return tensors_; }
  std::vector<double> values(size_t i) const;

 private:
  std::vector<Tensor> weights_, gradients_, curvatures_;
  std::vector<Trainable> tensors_;
};

/// Numbers in [-1, 1) with 16 bits.
double noise(uint32_t tensor, uint32_t step, uint32_t element);

}  // namespace minnow::train

// SPDX-License-Identifier: Apache-2.0
// Runs of a graph that show its tensors.
#pragma once
#include <minnow/compress.h>

#include <memory>

#include "graph/graph.h"

namespace minnow::compress {

/// A model of a copy of the graph, which shares its constants.
Model model_of(const Graph& graph, const Model& like);

class Observer {
 public:
  using Visit = std::function<void(const std::string& name, const Tensor& tensor)>;
  /// `names`: of the tensors to show, inputs among them.
  Observer(const Model& model, std::vector<std::string> names);
  ~Observer();
  /// Returns the outputs of the model. `inputs` as of sample `index`, for errors.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, size_t index, const Visit& visit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The inputs of sample `index`, checked against the model. Throws InvalidArgument.
std::vector<Tensor> checked_sample(const Model& model, const Samples& samples, size_t index);

}  // namespace minnow::compress

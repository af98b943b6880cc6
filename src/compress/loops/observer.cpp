// SPDX-License-Identifier: Apache-2.0
#include "compress/observer.h"

#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "runtime/model.h"

namespace minnow::compress {

Model model_of(const Graph& graph, const Model& like) { return Model::from_graph(graph.clone(), like.impl()->custom_operators); }

struct Observer::Impl {
  Impl(const Model& model, std::vector<std::string> given) : session(model), names(given.begin(), given.end()) {
    for (const ValueDescription& input : model.inputs()) inputs.push_back(input.name);
    if (names.empty()) return;  // callbacks keep steps apart
    session.set_callbacks({}, [this](NodeEvent& event) {
      for (size_t i = 0; i < event.output_count(); ++i)
        if (const std::string name(event.output_name(i)); names.contains(name)) (*visit)(name, event.output(i));
      return true;
    });
  }
  Session session;
  std::unordered_set<std::string> names;
  std::vector<std::string> inputs;
  const Visit* visit = nullptr;
};

Observer::Observer(const Model& model, std::vector<std::string> names) : impl_(std::make_unique<Impl>(model, std::move(names))) {}
Observer::~Observer() = default;

std::vector<Tensor> Observer::run(const std::vector<Tensor>& inputs, size_t index, const Visit& visit) {
  impl_->visit = &visit;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (impl_->names.contains(impl_->inputs[i])) visit(impl_->inputs[i], inputs[i]);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  try {
    impl_->session.reset_states();
    return impl_->session.run(views);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_argument && error.kind() != ErrorKind::invalid_model) throw;
    throw InvalidArgument("calibration sample {}: {}", index, error.what());
  }
}

std::vector<Tensor> checked_sample(const Model& model, const Samples& samples, size_t index) {
  std::vector<Tensor> tensors = samples.at(index);
  const std::vector<ValueDescription>& inputs = model.inputs();
  if (tensors.size() != inputs.size())
    throw InvalidArgument("calibration sample {}: {} tensors are given, the model takes {} input{}", index, tensors.size(), inputs.size(),
                          inputs.size() == 1 ? "" : "s");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const auto fail = [&](const std::string& why) {
      throw InvalidArgument("calibration sample {}: input \"{}\" is {}, {}", index, inputs[i].name, inputs[i].type, why);
    };
    if (!tensor) fail("and no tensor is given for it");
    if (inputs[i].dtype != DType::undefined && tensor.dtype() != inputs[i].dtype)
      fail(format("the sample has {}{}", tensor.dtype(), tensor.shape()));
    bool fits = !inputs[i].has_rank || inputs[i].dims.size() == tensor.shape().rank();
    for (size_t axis = 0; fits && inputs[i].has_rank && axis < inputs[i].dims.size(); ++axis)
      fits = inputs[i].dims[axis] < 0 || inputs[i].dims[axis] == tensor.shape()[axis];
    if (!fits) fail(format("the sample has {}{}", tensor.dtype(), tensor.shape()));
    if (tensor.elements() == 0) fail("the sample is empty");
    if (tensor.dtype() == DType::f32)
      for (int64_t k = 0; k < tensor.elements(); ++k)
        if (!std::isfinite(tensor.data<float>()[k])) fail("the sample holds a number that is not finite");
  }
  return tensors;
}

}  // namespace minnow::compress

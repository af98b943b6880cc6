// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "base/nearest.h"
#include "express/evaluate.h"
#include "express/graph.h"
#include "express/state.h"
#include "graph/model_file.h"
#include "runtime/model.h"

namespace minnow {

using namespace express;

Module::~Module() = default;

Var Module::operator()(const Var& input) {
  Vars outputs = forward({input});
  if (outputs.size() != 1) throw InvalidArgument("the module gives {} values; call it with a list of inputs", outputs.size());
  return std::move(outputs[0]);
}

std::shared_ptr<Module> Module::clone() const { throw Unsupported("this module cannot be cloned: its class does not say how"); }

std::vector<std::pair<std::string, Var>> Module::parameters() const {
  std::vector<std::pair<std::string, Var>> all = parameters_;
  for (const auto& [name, module] : submodules_)
    for (auto& [inner, parameter] : module->parameters()) all.emplace_back(name + "." + inner, parameter);
  return all;
}

void Module::load_parameters(const std::map<std::string, Tensor>& values) {
  const std::vector<std::pair<std::string, Var>> all = parameters();
  std::vector<std::string> names;
  for (const auto& [name, parameter] : all) names.push_back(name);
  for (const auto& [name, value] : values) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw InvalidArgument("the module has no parameter \"{}\"{}", name, nearest(name, names));
    all[static_cast<size_t>(found - names.begin())].second.assign(Var(value));
  }
}

void Module::set_training(bool on) noexcept {
  training_ = on;
  for (const auto& [name, module] : submodules_) module->set_training(on);
}

void Module::reset_states() {
  for (const auto& [name, module] : submodules_) module->reset_states();
}

Var Module::parameter(std::string name, Tensor initial) {
  Var made = expr::trainable(std::move(initial), name);
  parameters_.emplace_back(std::move(name), made);
  return made;
}

namespace {

/// A model and the sessions that calls run on.
class LoadedModule final : public Module {
 public:
  LoadedModule(Model model, SessionOptions options) : model_(std::move(model)), options_(std::move(options)) {
    release(std::make_unique<Session>(model_, options_));  // errors in the options come now
  }

  Vars forward(const Vars& inputs) override {
    const Graph& graph = model_.graph();
    if (inputs.size() != graph.inputs().size())
      throw InvalidArgument("{}: the module takes {} inputs ({}), {} were given", graph.source, graph.inputs().size(), names(),
                            inputs.size());
    std::vector<LazyValue> values;
    bool symbolic = !model_.states().empty() && RecordingScope::is_open();
    std::vector<LazyValue> pending;
    for (const Var& input : inputs) {
      values.push_back(value_of(input));
      if (!values.back()) continue;  // left out
      symbolic |= values.back().node->fed_by_others || values.back().node->keeps_inputs;
      if (!values.back().node->is_computed()) pending.push_back(values.back());
    }
    std::unique_lock<std::mutex> one_after_another(states_mutex_, std::defer_lock);
    if (!model_.states().empty()) one_after_another.lock();
    if (symbolic) {
      if (states_.empty() && !model_.states().empty()) begin_states();
      return apply(model_, inputs, &states_);
    }
    if (!pending.empty()) evaluate(pending);
    std::vector<Datum> data;
    for (const LazyValue& value : values) {
      if (!value) {
        data.emplace_back();
        continue;
      }
      const Output& output = output_of(value);
      data.push_back(output.tensor ? Datum(output.tensor) : *output.datum);
    }
    std::unique_ptr<Session> session = borrow();
    std::vector<Datum> results;
    try {
      for (size_t i = 0; i < states_.size(); ++i) session->set_state(i, output_of(states_[i]).tensor);
      results = session->run_any(data);
      for (size_t i = 0; i < states_.size(); ++i) output_of(states_[i]).tensor = Tensor(session->state(i).view());
    } catch (...) {
      release(std::move(session));
      throw;
    }
    release(std::move(session));
    Vars outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      outputs.push_back(var_of(constant_value(std::move(results[i]))));
      outputs.back().set_name(graph.outputs()[i]->name());
    }
    return outputs;
  }

  std::shared_ptr<Module> clone() const override { return std::make_shared<LoadedModule>(model_, options_); }

  void reset_states() override {
    const std::lock_guard lock(states_mutex_);
    if (!model_.states().empty()) {
      if (states_.empty() && RecordingScope::is_open()) begin_states();  // so that resetting these says what is wrong
      std::unique_ptr<Session> session = borrow();
      session->reset_states();
      release(std::move(session));
    }
    for (const LazyValue& state : states_) reset_state(state);
  }

 private:
  // Expressions have the states from now on: the values that the calls so far have left.
  void begin_states() {
    states_ = states_of(model_.graph());
    std::unique_ptr<Session> session = borrow();
    for (size_t i = 0; i < states_.size(); ++i) output_of(states_[i]).tensor = Tensor(session->state(i).view());
    release(std::move(session));
  }
  std::string names() const {
    std::string text;
    for (const ValueDescription& input : model_.inputs()) text += (text.empty() ? "" : ", ") + input.name;
    return text;
  }
  std::unique_ptr<Session> borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Session> session = std::move(free_.back());
        free_.pop_back();
        return session;
      }
    }
    return std::make_unique<Session>(model_, options_);
  }
  void release(std::unique_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(session));
  }

  const Model model_;
  const SessionOptions options_;
  std::mutex mutex_, states_mutex_;
  std::vector<std::unique_ptr<Session>> free_;  // of a model with states one at most
  std::vector<LazyValue> states_;               // once an expression has the model as a part of it
};

void check_names(const Model& model, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const auto& input : model.graph().inputs()) all.push_back(input->name());
  for (const Node& node : model.graph().nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) all.push_back(node.output(i)->name());
  for (const std::string& name : names)
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw InvalidArgument("{}: the model has no value \"{}\"{}", model.graph().source, name, nearest(name, all));
}

}  // namespace

std::shared_ptr<Module> load_module(const Model& model, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                    const SessionOptions& options) {
  if (inputs.empty() && outputs.empty()) return std::make_shared<LoadedModule>(model, options);
  check_names(model, inputs);
  check_names(model, outputs);
  std::vector<std::string> from = inputs, to = outputs;
  if (from.empty())
    for (const ValueDescription& input : model.inputs()) from.push_back(input.name);
  if (to.empty())
    for (const ValueDescription& output : model.outputs()) to.push_back(output.name);
  return std::make_shared<LoadedModule>(model.between(from, to), options);
}

std::shared_ptr<Module> load_module(const std::string& path, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, const SessionOptions& options) {
  return load_module(Model::from_graph(read_model(path), operators_in_use()), inputs, outputs, options);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "base/function_ref.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "express/evaluate.h"
#include "express/graph.h"
#include "express/loaded_module.h"
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

std::vector<std::pair<std::string, Var>> Module::parameters() const try {
  std::vector<std::pair<std::string, Var>> all = parameters_;
  for (const auto& [name, module] : submodules_)
    for (auto& [inner, parameter] : module->parameters()) all.emplace_back(name + "." + inner, parameter);
  return all;
} catch (...) {
  throw_as_error();
}

void Module::load_parameters(const std::map<std::string, Tensor>& values) try {
  const std::vector<std::pair<std::string, Var>> all = parameters();
  std::vector<std::string> names;
  for (const auto& [name, parameter] : all) names.push_back(name);
  for (const auto& [name, value] : values) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw InvalidArgument("the module has no parameter \"{}\"{}", name, nearest(name, names));
    all[static_cast<size_t>(found - names.begin())].second.assign(Var(value));
  }
} catch (...) {
  throw_as_error();
}

void Module::set_training(bool on) noexcept {
  training_ = on;
  for (const auto& [name, module] : submodules_) module->set_training(on);
}

void Module::reset_states() {
  for (const auto& [name, module] : submodules_) module->reset_states();
}

Var Module::parameter(std::string name, Tensor initial) try {
  Var made = expr::trainable(std::move(initial), name);
  parameters_.emplace_back(std::move(name), made);
  return made;
} catch (...) {
  throw_as_error();
}

namespace {

/// A model and the sessions that calls run on.
class LoadedModule final : public ModelModule {
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
    const std::unique_lock<std::mutex> one_after_another = lock_states();
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
    std::vector<Datum> results;
    on_session([&](Session& session) { results = session.run_any(data); });
    Vars outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      outputs.push_back(var_of(constant_value(std::move(results[i]))));
      outputs.back().set_name(graph.outputs()[i]->name());
    }
    return outputs;
  }

  void prepare(std::span<const Shape> input_shapes) override {
    const std::unique_lock<std::mutex> one_after_another = lock_states();
    Lent(*this)->prepare(input_shapes);
  }

  void run_into(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs) override {
    const std::unique_lock<std::mutex> one_after_another = lock_states();
    on_session([&](Session& session) { session.run(inputs, outputs); });
  }

  Tensor state(size_t i) override {
    const std::unique_lock<std::mutex> one_after_another = lock_states();
    if (i < states_.size()) return Tensor(output_of(states_[i]).tensor.view());
    return Tensor(Lent(*this)->state(i).view());
  }

  void set_state(size_t i, const Tensor& value) override {
    const std::unique_lock<std::mutex> one_after_another = lock_states();
    const State& declared = model_.graph().states().at(i);
    const ValueType& type = declared.current->type;
    bool fits = !type.dims || type.dims->size() == value.shape().rank();
    for (size_t axis = 0; fits && type.dims && axis < type.dims->size(); ++axis)
      fits = !(*type.dims)[axis].known() || (*type.dims)[axis].size == value.shape()[axis];
    if (!fits || value.dtype() != declared.initial.dtype())
      throw InvalidArgument("{}: state \"{}\" is {}, it cannot be set to {}{}", model_.graph().source, declared.name,
                            model_.states()[i].type, value.dtype(), value.shape());
    if (i < states_.size()) {
      give(states_[i], value);
      return;
    }
    Lent(*this)->set_state(i, value.view());
  }

  std::shared_ptr<Module> clone() const override { return std::make_shared<LoadedModule>(model_, options_); }

  void reset_states() override {
    const std::lock_guard lock(states_mutex_);
    if (!model_.states().empty()) {
      if (states_.empty() && RecordingScope::is_open()) begin_states();  // so that resetting them raises the right error
      Lent(*this)->reset_states();
    }
    for (const LazyValue& state : states_) reset_state(state);
  }

 private:
  /// A session that nobody else uses, until this goes.
  class Lent {
   public:
    explicit Lent(LoadedModule& from) : from_(from), session_(from.borrow()) {}
    ~Lent() {
      try {
        from_.release(std::move(session_));
      } catch (...) {  // no memory: the next call makes another one
      }
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    Session* operator->() noexcept { return session_.get(); }
    Session& operator*() noexcept { return *session_; }

   private:
    LoadedModule& from_;
    std::unique_ptr<Session> session_;
  };
  // Serializes the calls of a model with states.
  std::unique_lock<std::mutex> lock_states() {
    std::unique_lock<std::mutex> lock(states_mutex_, std::defer_lock);
    if (!model_.states().empty()) lock.lock();
    return lock;
  }
  // Runs `f` on a session that nobody else uses, with the states' values.
  void on_session(FunctionRef<void(Session&)> f) {
    Lent session(*this);
    for (size_t i = 0; i < states_.size(); ++i) session->set_state(i, output_of(states_[i]).tensor);
    f(*session);
    for (size_t i = 0; i < states_.size(); ++i) output_of(states_[i]).tensor = Tensor(session->state(i).view());
  }
  // Expressions have the states from now on: the values that the calls so far have left.
  void begin_states() {
    states_ = states_of(model_.graph());
    Lent session(*this);
    for (size_t i = 0; i < states_.size(); ++i) output_of(states_[i]).tensor = Tensor(session->state(i).view());
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
                                    const SessionOptions& options) try {
  if (inputs.empty() && outputs.empty()) return std::make_shared<LoadedModule>(model, options);
  check_names(model, inputs);
  check_names(model, outputs);
  std::vector<std::string> from = inputs, to = outputs;
  if (from.empty())
    for (const ValueDescription& input : model.inputs()) from.push_back(input.name);
  if (to.empty())
    for (const ValueDescription& output : model.outputs()) to.push_back(output.name);
  return std::make_shared<LoadedModule>(model.between(from, to), options);
} catch (...) {
  throw_as_error();
}

std::shared_ptr<Module> load_module(const std::string& path, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, const SessionOptions& options) try {
  return load_module(Model::from_graph(read_model(path), operators_in_use()), inputs, outputs, options);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow

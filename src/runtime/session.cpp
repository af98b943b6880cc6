// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/topology.h"
#include "base/watch.h"
#include "runtime/backends.h"
#include "runtime/executor.h"
#include "runtime/inputs.h"
#include "runtime/model.h"
#include "runtime/power.h"
#include "runtime/profile.h"

namespace minnow {
namespace {

constexpr double kLongestLimit = 1e9;  // seconds, which a clock can add

std::string_view name_of(Datum::Kind kind) {
  return kind == Datum::Kind::tensor ? "a tensor" : kind == Datum::Kind::sequence ? "a sequence" : "not given";
}

/// A sequence or an optional, or a tensor where one is expected.
void check_kind(const Graph& graph, size_t i, Datum::Kind given) {
  const Value& input = *graph.inputs()[i];
  if (input.type.kind == ValueType::Kind::optional) return;
  if ((input.type.kind == ValueType::Kind::tensor ? Datum::Kind::tensor : Datum::Kind::sequence) != given)
    throw InvalidArgument("{}: input \"{}\" should be {}, it is {}", graph.source, input.name(), to_string(input.type), name_of(given));
}

void check_input(const Graph& graph, size_t i, const TensorView& given) {
  check_input_shape(graph, i, given);
  const Value& input = *graph.inputs()[i];
  if (!given.data() && given.elements() != 0) throw InvalidArgument("{}: input \"{}\" has no data", graph.source, input.name());
}

}  // namespace

void check_input_shape(const Graph& graph, size_t i, const TensorView& given) {
  const Value& input = *graph.inputs()[i];
  const ValueType& type = input.type;
  bool fits = type.dtype == DType::undefined || type.dtype == given.dtype();
  const char* advice = "";
  if (type.dims) {
    fits &= type.dims->size() == given.rank();
    for (size_t axis = 0; fits && axis < given.rank(); ++axis)
      if ((*type.dims)[axis].known() && (*type.dims)[axis].size != given.dim(axis))
        fits = false, advice = "; `minnow convert --shape` changes the dimensions that a model fixes";
  }
  if (!fits)
    throw InvalidArgument("{}: input \"{}\" should be {}, it is {}{}{}", graph.source, input.name(), to_string(type), given.dtype(),
                          given.shape(), advice);
}

struct Session::Impl {
  Impl(const Model& model, const SessionOptions& given) : model(model.impl()), options(resolved(given)) {
    if (options.cores.size() < os::allowed_cores().size()) own_cores = options.cores;
    const BackendOptions for_backends = backend_options(options);
    PlanEnvironment& environment = context.environment;
    context.planned = [this] { this->model->packed.release_plain(); };
    context.explain = options.explain;
    for (const SchemeTime& time : options.times) environment.times[{time.node, time.scheme}] = time.seconds;
    context.threads = for_backends.threads;
    size_t& wanted = environment.wanted_backends;
    std::vector<std::shared_ptr<Backend>> backends = make_backends(options, for_backends, wanted);
    context.plan_with(*this->model->operators, std::move(backends), this->model->packed, options.memory_limit);
    if (!options.weight_cache.empty()) this->model->packed.keep_in(options.weight_cache, graph(), context.threads);
    account = std::make_shared<MemoryAccount>(options.memory_limit);
    executor.emplace(*this->model->graph, context);
    if (graph().states().empty()) executor->allow_parts();
    inputs.resize(graph().inputs().size());
    states.resize(graph().states().size());
    for (const Slot& input : inputs) live_ins.push_back(&input);
    for (size_t i = 0; i < states.size(); ++i) live_ins.push_back(&states[i].slot);
    reset_states();
  }

  const Graph& graph() const { return *model->graph; }

  // A state and the buffer that its next value is written to while the current one may still be read.
  struct StateBuffers {
    Slot slot;
    Tensor current, next;
  };

  void reset_states() {
    for (size_t i = 0; i < states.size(); ++i) set_state(i, graph().states()[i].initial);
  }
  void set_state(size_t i, const TensorView& value) {
    states[i].current = Tensor(value);
    states[i].slot.view = states[i].current.view();
  }

  void run(Executor::Destination destination) {
    struct Reset {
      std::atomic<bool>& flag;
      ~Reset() { flag.store(false); }
    } reset{context.cancelled};
    Watch::Clock::time_point deadline = Watch::Clock::time_point::max();
    if (options.time_limit > 0 || context.profiling) {
      context.run_start = Watch::Clock::now();
      const std::chrono::duration<double> limit(std::min(options.time_limit, kLongestLimit));
      if (options.time_limit > 0) deadline = context.run_start + std::chrono::duration_cast<Watch::Clock::duration>(limit);
    }
    const Watch watch(context.cancelled, deadline);
    const os::OnCores here(own_cores);
    ++context.run_number;
    const size_t outputs = graph().outputs().size();
    const ChargeTo session(account);
    with_fallback([&] {
      executor->run(live_ins, [&](size_t k, DType dtype, const Shape& shape) -> void* {
        const ChargeTo nobody;  // outputs are the caller's, states stay
        if (k < outputs) return destination(k, dtype, shape);
        StateBuffers& state = states[k - outputs];
        if (!state.next || state.next.dtype() != dtype || !(state.next.shape() == shape)) state.next = Tensor(dtype, shape);
        return const_cast<void*>(state.next.data());
      });
    });
    for (StateBuffers& state : states) {
      std::swap(state.current, state.next);
      state.slot.view = state.current.view();
    }
    model->packed.save();
  }

  /// Calls f(). If a device fails in it and the session may do without devices, it is called again with the processor alone.
  void with_fallback(FunctionRef<void()> f) {
    try {
      return f();
    } catch (const Error& error) {
      if (!leave_devices(error.what())) throw;
    }
    f();
  }
  /// False if no device has failed.
  bool leave_devices(std::string_view error) {
    PlanEnvironment& environment = context.environment;
    const auto has_failed = [](const auto& backend) { return backend->has_failed(); };
    if (!kHasDevices || !options.fallback || std::none_of(environment.backends.begin(), environment.backends.end(), has_failed))
      return false;
    log("{}; the session goes on with the processor", error);
    executor->forget_plans();
    options.backends = {"cpu"};
    std::vector<std::shared_ptr<Backend>> backends = make_backends(options, backend_options(options), environment.wanted_backends);
    context.plan_with(*model->operators, std::move(backends), model->packed, options.memory_limit);
    return true;
  }

  void bind_inputs(std::span<const TensorView> given) {
    if (given.size() != inputs.size())
      throw InvalidArgument("{}: the model takes {} inputs, {} were given", graph().source, inputs.size(), given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      check_input(graph(), i, given[i]);
      inputs[i].view = given[i];
    }
  }

  std::shared_ptr<Model::Impl> model;
  SessionOptions options;
  std::vector<int> own_cores;  // that the caller's thread stays on in a run; none: where it is
  SessionContext context;
  std::shared_ptr<MemoryAccount> account;  // of memory held by runs
  std::optional<Executor> executor;
  std::vector<Slot> inputs;
  std::vector<StateBuffers> states;
  std::vector<const Slot*> live_ins;
};

Session::Session(const Model& model, const SessionOptions& options) try : impl_(std::make_unique<Impl>(model, options)) {
} catch (...) {
  throw_as_error();
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Tensor> Session::run(std::span<const TensorView> inputs) try {
  impl_->bind_inputs(inputs);
  std::vector<Tensor> outputs(impl_->graph().outputs().size());
  impl_->run([&](size_t k, DType dtype, const Shape& shape) -> void* {
    outputs[k] = Tensor(dtype, shape);
    return const_cast<void*>(outputs[k].data());
  });
  for (size_t k = 0; k < outputs.size(); ++k)
    if (!outputs[k]) throw InvalidArgument("output \"{}\" is not a tensor; use run_any", impl_->graph().outputs()[k]->name());
  return outputs;
} catch (...) {
  throw_as_error();
}

void Session::run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs) try {
  impl_->bind_inputs(inputs);
  if (outputs.size() != impl_->graph().outputs().size())
    throw InvalidArgument("{}: the model has {} outputs, {} were given", impl_->graph().source, impl_->graph().outputs().size(),
                          outputs.size());
  for (const Value* output : impl_->graph().outputs())
    if (output->type.kind != ValueType::Kind::tensor)
      throw InvalidArgument("output \"{}\" is {}, not a tensor; use run_any", output->name(), to_string(output->type));
  impl_->run([&](size_t k, DType dtype, const Shape& shape) -> void* {
    if (outputs[k].dtype() != dtype || !(outputs[k].shape() == shape))
      throw InvalidArgument("output \"{}\" is {}{}, the memory given for it is {}{}", impl_->graph().outputs()[k]->name(), dtype, shape,
                            outputs[k].dtype(), outputs[k].shape());
    if (!outputs[k].data() && shape.elements() != 0)
      throw InvalidArgument("no memory is given for output \"{}\"", impl_->graph().outputs()[k]->name());
    return outputs[k].data();
  });
} catch (...) {
  throw_as_error();
}

std::vector<Datum> Session::run_any(std::span<const Datum> inputs) try {
  Impl& impl = *impl_;
  if (inputs.size() != impl.inputs.size())
    throw InvalidArgument("{}: the model takes {} inputs, {} were given", impl.graph().source, impl.inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_kind(impl.graph(), i, inputs[i].kind);
    if (inputs[i].kind == Datum::Kind::tensor) {
      if (impl.graph().inputs()[i]->type.kind == ValueType::Kind::tensor) check_input(impl.graph(), i, inputs[i].tensor);
      impl.inputs[i].view = inputs[i].tensor.view();
    }
    impl.inputs[i].datum = inputs[i];
  }
  const size_t count = impl.graph().outputs().size();
  std::vector<Tensor> tensors(count);
  impl.run([&](size_t k, DType dtype, const Shape& shape) -> void* {
    tensors[k] = Tensor(dtype, shape);
    return const_cast<void*>(tensors[k].data());
  });
  std::vector<Datum> outputs(count);
  // Sequences stay in the session's memory: the caller gets a copy, which does not count against the memory limit.
  for (size_t k = 0; k < count; ++k) outputs[k] = tensors[k] ? Datum(std::move(tensors[k])) : copy_of(impl.executor->output(k).datum);
  return outputs;
} catch (...) {
  throw_as_error();
}

void Session::prepare(std::span<const Shape> input_shapes) try {
  const Graph& graph = impl_->graph();
  if (input_shapes.size() != graph.inputs().size())
    throw InvalidArgument("{}: the model takes {} inputs, {} shapes were given", graph.source, graph.inputs().size(), input_shapes.size());
  std::vector<ValueInfo> infos;
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    ValueInfo info;
    info.dtype = graph.inputs()[i]->type.dtype;
    info.shape = input_shapes[i];
    check_input_shape(graph, i, TensorView(info.dtype, info.shape, nullptr));
    infos.push_back(std::move(info));
  }
  for (const Impl::StateBuffers& state : impl_->states) {
    ValueInfo info;
    info.dtype = state.current.dtype();
    info.shape = state.current.shape();
    infos.push_back(std::move(info));
  }
  const ChargeTo session(impl_->account);
  const os::OnCores here(impl_->own_cores);
  impl_->with_fallback([&] { impl_->executor->prepare(infos); });
  impl_->model->packed.save();
} catch (...) {
  throw_as_error();
}

void Session::reset_states() try { impl_->reset_states(); } catch (...) {
  throw_as_error();
}

const Tensor& Session::state(size_t i) const {
  if (i >= impl_->states.size()) throw InvalidArgument("the model has {} states, number {} was asked for", impl_->states.size(), i);
  return impl_->states[i].current;
}

void Session::set_state(size_t i, const TensorView& value) try {
  const Tensor& current = state(i);
  if (current.dtype() != value.dtype())
    throw InvalidArgument("state \"{}\" is {}, it cannot be set to {}", impl_->graph().states()[i].name, current.dtype(), value.dtype());
  impl_->set_state(i, value);
} catch (...) {
  throw_as_error();
}

void Session::cancel() noexcept { impl_->context.cancelled.store(true); }

void Session::set_callbacks(NodeCallback before, NodeCallback after) {
  impl_->context.before = std::move(before);
  impl_->context.after = std::move(after);
}

void Session::set_profiling(bool on) noexcept { impl_->context.profiling = on; }

PlanReport Session::plan_report() const try {
  PlanReport report;
  report.batch_parts = impl_->executor->parts();
  for (const PlanState* state : impl_->executor->last_plans()) {
    report.arena_bytes += state->plan().arena_bytes();
    report.arena_lower_bound += state->plan().arena_lower_bound();
    report.cut |= state->plan().is_cut();
    append_rows(*state, impl_->context.threads, report.rows);
  }
  return report;
} catch (...) {
  throw_as_error();
}

size_t Session::arena_bytes() const noexcept { return impl_->executor->arena_bytes(); }

}  // namespace minnow

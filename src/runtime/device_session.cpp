// SPDX-License-Identifier: Apache-2.0
#if !MINNOW_SMALL  // which have no devices
#include <minnow/device.h>

#include <algorithm>

#include "base/no_memory.h"
#include "base/watch.h"
#include "runtime/backends.h"
#include "runtime/executor.h"
#include "runtime/inputs.h"
#include "runtime/model.h"
#include "runtime/power.h"
#include "runtime/profile.h"

namespace minnow {

struct DeviceTensor::Impl {
  std::shared_ptr<Backend> device;
  std::shared_ptr<void> memory;
  DType dtype;
  Shape shape;
  size_t bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
};

DType DeviceTensor::dtype() const noexcept { return impl_->dtype; }
const Shape& DeviceTensor::shape() const noexcept { return impl_->shape; }
std::string_view DeviceTensor::backend() const noexcept { return impl_->device->name(); }

DeviceMemory DeviceTensor::memory() const try {
  const Backend::Foreign place = impl_->device->foreign(impl_->memory.get());
  return {place.handle, place.offset};
} catch (...) {
  throw_as_error();
}

Tensor DeviceTensor::to_host() const try {
  Tensor copy(impl_->dtype, impl_->shape);
  impl_->device->copy_to_host(const_cast<void*>(copy.data()), impl_->memory.get(), impl_->bytes());
  return copy;
} catch (...) {
  throw_as_error();
}

struct DeviceSession::Impl {
  Impl(const Model& given, const SessionOptions& options_given) : model(given.impl()), options(resolved(options_given)) {
    options.fallback = false;
    options.backends = resolved_names(options.backends);
    for (const auto* values : {&model->inputs, &model->outputs})
      for (const ValueDescription& value : *values)
        if (!value.is_tensor) throw Unsupported("{}: \"{}\" is {}; tensors alone stay on a device", graph().source, value.name, value.type);
    const BackendOptions for_backends = backend_options(options);
    context.threads = for_backends.threads;
    context.planned = [this] { model->packed.release_plain(); };
    for (const SchemeTime& time : options.times) context.environment.times[{time.node, time.scheme}] = time.seconds;
    std::vector<std::shared_ptr<Backend>> backends = make_backends(options, for_backends, context.environment.wanted_backends);
    device = backends.front();
    if (!memory_of(*device))
      throw InvalidArgument("the backend {} has no memory of its own; a session on a device names a device first", device->name());
    context.plan_with(*model->operators, std::move(backends), model->packed, options.memory_limit);
    account = std::make_shared<MemoryAccount>(options.memory_limit);
    executor.emplace(*model->graph, context);
    executor->keep_on(*device);
    slots.resize(graph().inputs().size() + graph().states().size());
    for (const Slot& slot : slots) live_ins.push_back(&slot);
    states.resize(graph().states().size());
    outputs.resize(graph().outputs().size());
    reset_states();
  }
  const Graph& graph() const { return *model->graph; }

  std::shared_ptr<void> allocate(DType dtype, const Shape& shape) const {
    return device->allocate(std::max<size_t>(static_cast<size_t>(shape.elements()) * size_of(dtype), 1));
  }
  DeviceTensor::Impl upload(const TensorView& tensor) const {
    DeviceTensor::Impl made{device, allocate(tensor.dtype(), tensor.shape()), tensor.dtype(), tensor.shape()};
    device->copy_from_host(made.memory.get(), tensor.data(), tensor.bytes());
    device->finish();
    return made;
  }
  void reset_states() {
    for (size_t i = 0; i < states.size(); ++i) states[i].current = upload(graph().states()[i].initial);
  }
  void check_index(size_t i) const {
    if (i >= states.size()) throw InvalidArgument("the model has {} states, number {} was asked for", states.size(), i);
  }

  // Memory that was given out before and is free again, or new memory.
  struct Spare {
    std::vector<std::shared_ptr<void>> memory;
    size_t bytes = 0;
  };
  std::shared_ptr<void> take(Spare& spare, DType dtype, const Shape& shape) const {
    constexpr size_t kMost = 3;
    const size_t bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
    if (bytes > spare.bytes) spare = {{}, bytes};
    for (const std::shared_ptr<void>& memory : spare.memory)
      if (memory.use_count() == 1) return memory;
    std::shared_ptr<void> made = device->allocate(std::max<size_t>(spare.bytes, 1));
    if (spare.memory.size() < kMost) spare.memory.push_back(made);
    return made;
  }

  std::vector<DeviceTensor> run(std::span<const DeviceTensor> inputs) {
    if (inputs.size() != graph().inputs().size())
      throw InvalidArgument("{}: the model takes {} inputs, {} were given", graph().source, graph().inputs().size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string_view name = graph().inputs()[i]->name();
      if (!inputs[i]) throw InvalidArgument("{}: input \"{}\" has no data", graph().source, name);
      if (inputs[i].backend() != device->name())
        throw InvalidArgument("{}: input \"{}\" is on {}, the session is on {}", graph().source, name, inputs[i].backend(), device->name());
      slots[i].view = TensorView(inputs[i].dtype(), inputs[i].shape(), inputs[i].impl_->memory.get());
      check_input_shape(graph(), i, slots[i].view);
    }
    for (size_t i = 0; i < states.size(); ++i)
      slots[inputs.size() + i].view = TensorView(states[i].current.dtype, states[i].current.shape, states[i].current.memory.get());
    Watch::Clock::time_point deadline = Watch::Clock::time_point::max();
    if (options.time_limit > 0)
      deadline =
          Watch::Clock::now() + std::chrono::duration_cast<Watch::Clock::duration>(std::chrono::duration<double>(options.time_limit));
    const Watch watch(context.cancelled, deadline);
    ++context.run_number;
    std::vector<DeviceTensor::Impl> made(outputs.size() + states.size());
    const ChargeTo session(account);
    executor->run(live_ins, [&](size_t k, DType dtype, const Shape& shape) -> void* {
      const ChargeTo nobody;
      Spare& spare = k < outputs.size() ? outputs[k] : states[k - outputs.size()].spare;
      made[k] = {device, take(spare, dtype, shape), dtype, shape};
      return made[k].memory.get();
    });
    device->finish();
    std::vector<DeviceTensor> results;
    for (size_t k = 0; k < outputs.size(); ++k)
      results.push_back(DeviceTensor(std::make_shared<const DeviceTensor::Impl>(std::move(made[k]))));
    for (size_t i = 0; i < states.size(); ++i) states[i].current = std::move(made[outputs.size() + i]);
    model->packed.save();
    return results;
  }

  std::shared_ptr<Model::Impl> model;
  SessionOptions options;
  SessionContext context;
  std::shared_ptr<Backend> device;
  std::shared_ptr<MemoryAccount> account;
  std::optional<Executor> executor;
  std::vector<Slot> slots;  // inputs and states
  std::vector<const Slot*> live_ins;
  struct State {
    DeviceTensor::Impl current;
    Spare spare;
  };
  std::vector<State> states;
  std::vector<Spare> outputs;
};

DeviceSession::DeviceSession(const Model& model, const SessionOptions& options) try : impl_(std::make_unique<Impl>(model, options)) {
} catch (...) {
  throw_as_error();
}
DeviceSession::~DeviceSession() = default;
DeviceSession::DeviceSession(DeviceSession&&) noexcept = default;
DeviceSession& DeviceSession::operator=(DeviceSession&&) noexcept = default;

std::string_view DeviceSession::backend() const noexcept { return impl_->device->name(); }

DeviceTensor DeviceSession::upload(const TensorView& tensor) try {
  return DeviceTensor(std::make_shared<const DeviceTensor::Impl>(impl_->upload(tensor)));
} catch (...) {
  throw_as_error();
}

DeviceTensor DeviceSession::adopt(DType dtype, const Shape& shape, const DeviceMemory& memory, std::shared_ptr<const void> owner) try {
  auto made = std::make_shared<DeviceTensor::Impl>(
      DeviceTensor::Impl{impl_->device, impl_->device->adopt({memory.handle, memory.offset}, std::move(owner)), dtype, shape});
  if (reinterpret_cast<uintptr_t>(made->memory.get()) % kAlignment != 0)
    made = std::make_shared<DeviceTensor::Impl>(impl_->upload(DeviceTensor(made).to_host()));
  return DeviceTensor(std::move(made));
} catch (...) {
  throw_as_error();
}

std::vector<DeviceTensor> DeviceSession::run(std::span<const DeviceTensor> inputs) try { return impl_->run(inputs); } catch (...) {
  throw_as_error();
}

void DeviceSession::reset_states() try { impl_->reset_states(); } catch (...) {
  throw_as_error();
}

Tensor DeviceSession::state(size_t i) const try {
  impl_->check_index(i);
  return DeviceTensor(std::make_shared<const DeviceTensor::Impl>(impl_->states[i].current)).to_host();
} catch (...) {
  throw_as_error();
}

void DeviceSession::set_state(size_t i, const TensorView& value) try {
  impl_->check_index(i);
  if (impl_->states[i].current.dtype != value.dtype())
    throw InvalidArgument("state \"{}\" is {}, it cannot be set to {}", impl_->graph().states()[i].name, impl_->states[i].current.dtype,
                          value.dtype());
  impl_->states[i].current = impl_->upload(value);
} catch (...) {
  throw_as_error();
}

PlanReport DeviceSession::plan_report() const try {
  PlanReport report;
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

}  // namespace minnow
#endif

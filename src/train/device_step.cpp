// SPDX-License-Identifier: Apache-2.0
#include "train/device_step.h"

#include <algorithm>

#include "base/no_memory.h"
#include "ops/infer.h"

namespace minnow::train {

using namespace express;

DeviceCopy::DeviceCopy(std::shared_ptr<Backend> device, DType dtype, const Shape& shape)
    : device_(std::move(device)), dtype_(dtype), shape_(shape) {
  memory_ = device_->allocate(std::max<size_t>(view().bytes(), 1));
}

void DeviceCopy::upload(const TensorView& from) const {
  if (from.bytes() > 0) device_->copy_from_host(memory_.get(), from.data(), from.bytes());
}
void DeviceCopy::download(void* to) const {
  if (view().bytes() > 0) device_->copy_to_host(to, memory_.get(), view().bytes());
}
Tensor DeviceCopy::to_host() const {
  const ChargeTo nobody;
  Tensor copy(dtype_, shape_);
  download(const_cast<void*>(copy.data()));
  return copy;
}

void DeviceCopy::fetch(Cell& cell) const {
  LazyValue& now = cell.value;
  Output& output = output_of(now);
  if (now.node->kind == LazyNode::Kind::constant && now.node.use_count() == 1 && output.memory_is_ours &&
      output.tensor.owner().use_count() == 1)
    return download(const_cast<void*>(output.tensor.data()));
  LazyValue made = constant_value(to_host());
  made.node->trainable = now.node->trainable, made.node->keeps_inputs = now.node->keeps_inputs;
  made.node->variable = now.node->variable;
  output_of(made).name = output.name;
  output_of(made).memory_is_ours = true;
  now = std::move(made);
}

struct DevicePlace::States final : StatesElsewhere {
  std::vector<DeviceCopies> copies;  // by slot
  void fetch(std::span<const Slot> slots) const override {
    for (size_t i = 0; i < slots.size(); ++i)
      for (size_t k = 0; k < slots[i].states.size(); ++k) copies[i][k]->download(slots[i].states[k].memory);
  }
};

DevicePlace::DevicePlace(std::shared_ptr<Backend> device, RuleOptimizer& optimizer)
    : device_(std::move(device)), optimizer_(optimizer), states_(std::make_shared<States>()) {
  const std::span<const Slot> slots = optimizer.slots();
  for (const Slot& slot : slots) {
    gradients_.push_back(std::make_shared<DeviceCopy>(device_, slot.dtype, slot.shape));
    DeviceCopies& states = states_->copies.emplace_back();
    for (size_t k = 0; k < slot.states.size(); ++k) states.push_back(std::make_shared<DeviceCopy>(device_, slot.dtype, slot.shape));
  }
  coefficients_ = std::make_shared<DeviceCopy>(device_, DType::f32, Shape{static_cast<int64_t>(slots.size() * kMostCoefficients)});
}

const std::shared_ptr<DeviceCopy>& DevicePlace::place_of(const Var& variable, DType dtype, const Shape& shape) {
  const auto [at, is_new] = numbers_.try_emplace(Access::cell(variable).get(), variables_.size());
  if (is_new) variables_.push_back({variable, std::make_shared<DeviceCopy>(device_, dtype, shape)});
  return variables_[at->second].copy;
}

const DeviceCopies& DevicePlace::states(size_t slot) const noexcept { return states_->copies[slot]; }

void DevicePlace::take_states() {
  if (optimizer_.newer_states() == states_) return;
  const std::span<const Slot> slots = optimizer_.slots();
  for (size_t i = 0; i < slots.size(); ++i)
    for (size_t k = 0; k < slots[i].states.size(); ++k)
      states_->copies[i][k]->upload({slots[i].dtype, slots[i].shape, slots[i].states[k].memory});
}

void DevicePlace::take_coefficients() const {
  const std::span<const Slot> slots = optimizer_.slots();
  std::vector<float> narrow;
  for (const Slot& slot : slots)
    for (const double c : slot.c) narrow.push_back(static_cast<float>(c));
  coefficients_->upload({DType::f32, coefficients_->view().shape(), narrow.data()});
}

void DevicePlace::keep_states() const { optimizer_.set_newer_states(states_); }

Value& DeviceUpdate::add(const DeviceCopy& copy) {
  slots_.emplace_back().view = copy.view();
  return graph_.add_input(format("x{}", slots_.size()), ValueType::tensor(copy.view().dtype(), copy.view().shape()));
}

DeviceUpdate::DeviceUpdate(const DevicePlace& place, const DeviceCopies& parameters, const std::vector<Copied>& buffers,
                           SessionContext& context) {
  graph_.source = "update";
  Value& coefficients = add(place.coefficients());
  const auto add_update = [&](const std::string& name, std::vector<Value*> inputs, const Attributes& attributes,
                              const std::vector<const DeviceCopy*>& updated) {
    inputs.insert(inputs.begin(), &coefficients);
    std::vector<std::string> names;
    for (size_t k = 0; k < updated.size(); ++k) names.push_back(format("y{}", outputs_.size() + k));
    Node& node = graph_.add_node("minnow.UpdateElements", inputs, names, attributes, name);
    for (size_t k = 0; k < updated.size(); ++k) {
      graph_.add_output(*node.output(k));
      outputs_.push_back(const_cast<void*>(updated[k]->view().data()));
    }
  };
  const std::span<const Slot> slots = place.optimizer().slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].count == 0) continue;
    const Tape tape = slots[i].loops[0]->tape();
    MINNOW_CHECK(static_cast<size_t>(tape.states) == slots[i].states.size(), "a rule has as many states as its tensor");
    Ints rule, results{tape.weight};
    for (const Tape::Entry& entry : tape.entries) {
      rule.push_back(static_cast<int64_t>(entry.op));
      rule.insert(rule.end(), std::begin(entry.of), std::end(entry.of));
    }
    results.insert(results.end(), tape.new_states.begin(), tape.new_states.end());
    std::vector<Value*> inputs{&add(*parameters[i]), &add(*place.gradients()[i])};
    std::vector<const DeviceCopy*> updated{parameters[i].get()};
    for (const std::shared_ptr<DeviceCopy>& state : place.states(i)) inputs.push_back(&add(*state)), updated.push_back(state.get());
    add_update(slots[i].name, inputs,
               {{"rule", rule}, {"results", results}, {"first", static_cast<int64_t>(i * kMostCoefficients)}, {"checked", true}}, updated);
  }
  const Ints both{0, -1, -1, -1, -1, 0, -1, -1, -1, -1}, second{1};
  for (const Copied& each : buffers)
    if (each.to->view().elements() > 0)
      add_update("buffer", {&add(*each.to), &add(*each.from)}, {{"rule", both}, {"results", second}}, {each.to});
  infer_types(*context.environment.operators, graph_);
  for (const minnow::Slot& slot : slots_) live_ins_.push_back(&slot);
  executor_.emplace(graph_, context);
  executor_->keep_on(*place.device(), true);
}

void DeviceUpdate::run() {
  executor_->run(live_ins_, [&](size_t k, DType, const Shape&) { return outputs_[k]; });
}

}  // namespace minnow::train

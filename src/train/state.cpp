// SPDX-License-Identifier: Apache-2.0
// The state of an optimizer, and settings that change.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/no_memory.h"
#include "train/rule_optimizer.h"
#include "train/settings.h"

namespace minnow::train {

namespace {
constexpr std::string_view kCounters = "optimizer.counters", kScheduleState = "optimizer.schedule";
}

std::vector<NamedTensor> RuleOptimizer::state() const try {
  if (!made_) return pending_;
  if (newer_) newer_->fetch(slots_);  // and the device goes on with them
  std::vector<NamedTensor> result;
  for (const Need& need : needs_)
    if (!need.name.empty()) result.push_back({need.name, Tensor(TensorView(need.dtype, need.shape, *need.to))});
  const int64_t counters[] = {steps_, calls_, climbed_ ? 1 : 0, is_average_ ? 1 : 0};
  result.push_back({std::string(kCounters), Tensor::of_i64({4}, counters)});
  const std::vector<double> schedule = config_.schedule.state();
  if (!schedule.empty())
    result.push_back(
        {std::string(kScheduleState), Tensor(TensorView(DType::f64, Shape{static_cast<int64_t>(schedule.size())}, schedule.data()))});
  return result;
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::set_state(std::span<const NamedTensor> state) try {
  if (!made_) {
    pending_.assign(state.begin(), state.end());
    return;
  }
  std::map<std::string_view, const Tensor*> given;
  for (const NamedTensor& entry : state) given[entry.name] = &entry.value;
  const auto take = [&](std::string_view name, DType dtype, const Shape& shape) -> const Tensor& {
    const auto found = given.find(name);
    if (found == given.end()) throw InvalidArgument("{}: the state has no \"{}\"", where(), name);
    const Tensor& tensor = *found->second;
    if (tensor.dtype() != dtype || !(tensor.shape() == shape))
      throw InvalidArgument("{}: \"{}\" of the state is {}{}, {}{} is needed", where(), name, tensor.dtype(), tensor.shape(), dtype, shape);
    given.erase(found);
    return tensor;
  };
  // All is looked at before anything changes.
  std::vector<const Tensor*> tensors;
  for (const Need& need : needs_) tensors.push_back(need.name.empty() ? nullptr : &take(need.name, need.dtype, need.shape));
  const Tensor& counters = take(kCounters, DType::i64, {4});
  const size_t entries = config_.schedule.state().size();
  std::vector<double> schedule;
  if (entries > 0) {
    const Tensor& tensor = take(kScheduleState, DType::f64, {static_cast<int64_t>(entries)});
    schedule.assign(tensor.data<double>(), tensor.data<double>() + entries);
  }
  if (!given.empty()) throw InvalidArgument("{}: \"{}\" of the state belongs to no parameter", where(), given.begin()->first);
  newer_ = nullptr;
  for (size_t i = 0; i < needs_.size(); ++i)
    if (tensors[i] && tensors[i]->bytes() > 0) std::memcpy(*needs_[i].to, tensors[i]->data(), tensors[i]->bytes());
  steps_ = counters.data<int64_t>()[0], calls_ = counters.data<int64_t>()[1], climbed_ = counters.data<int64_t>()[2] != 0;
  is_average_ = counters.data<int64_t>()[3] != 0;
  for (Slot& slot : slots_) slot.is_high = climbed_, slot.is_accumulated = true;
  if (entries > 0) config_.schedule.set_state(schedule);
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::set(std::string_view setting, const Setting& value) try {
  std::vector<double> values(rows_.size());
  read_settings(rows_, {{std::string(setting), value}}, where(), values);
  if (setting == "line_search") throw InvalidArgument("{}: line_search is set when the optimizer is made", where());
  Config config = config_;
  const auto found = std::find_if(config.settings.begin(), config.settings.end(), [&](const auto& pair) { return pair.first == setting; });
  if (found != config.settings.end())
    found->second = value;
  else
    config.settings.emplace_back(setting, value);
  std::swap(config_, config);
  std::vector<std::vector<double>> settings;
  for (const Slot& slot : slots_) {
    settings.push_back(settings_for(slot.name));
    if (variant_of(settings.back()) != slot.variant) {
      std::swap(config_, config);
      throw InvalidArgument("{}: {} decides which state there is, and cannot change after the first step", where(), setting);
    }
  }
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i].settings = std::move(settings[i]);
} catch (...) {
  throw_as_error();
}

namespace {

/// y, at which gradients are taken, lies between z and the average: y = beta average + (1 - beta) z.
template <class T>
void to_average(const T* z, T beta, bool on, size_t count, T* y) {
  for (size_t i = 0; i < count; ++i) y[i] = on ? (y[i] - (1 - beta) * z[i]) / beta : beta * y[i] + (1 - beta) * z[i];
}

}  // namespace

void RuleOptimizer::evaluate(std::span<const Trainable> tensors, bool on) try {
  if (rule_.name != "schedule_free" || !made_ || on == is_average_) return;
  check_same(tensors);
  settle_states();
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const double beta = slot.settings[kCommonSettings + 1];
    void* w = tensors[i].values.data();
    if (slot.dtype == DType::f32)
      to_average(static_cast<const float*>(slot.states[0].memory), static_cast<float>(beta), on, slot.count, static_cast<float*>(w));
    else
      to_average(static_cast<const double*>(slot.states[0].memory), beta, on, slot.count, static_cast<double*>(w));
  }
  is_average_ = on;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::train

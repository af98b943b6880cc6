// SPDX-License-Identifier: Apache-2.0
#include "train/rule_optimizer.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/pattern.h"
#include "base/thread_pool.h"
#include "train/custom.h"
#include "train/settings.h"

namespace minnow::train {

std::vector<SettingRow> all_settings(const Rule& rule) {
  std::vector<SettingRow> rows = {
      number("lr", rule.lr, "learning rate"), number("weight_decay", rule.weight_decay, "pulls weights towards 0"),
      flag("decoupled_weight_decay", rule.decay != Decay::coupled, "w *= 1 - lr weight_decay, instead of a part of the gradient"),
      flag("maximize", false, "climb instead of descend")};
  rows.insert(rows.end(), rule.settings.begin(), rule.settings.end());
  return rows;
}

namespace {

size_t elements_of(const StateRow& row, const Shape& shape, size_t history) {
  const size_t count = static_cast<size_t>(shape.elements()), rank = shape.rank();
  switch (row.size) {
    case StateRow::Size::elements:
    case StateRow::Size::bytes:
      return count;
    case StateRow::Size::blocks:
      return (count + kBlock - 1) / kBlock;
    case StateRow::Size::rows:
      return count == 0 ? 0 : count / static_cast<size_t>(shape.back());
    case StateRow::Size::columns:
      return count == 0 ? 0 : count / static_cast<size_t>(shape[rank - 2]);
    case StateRow::Size::axes: {
      size_t sum = 0;
      for (const int64_t dim : shape) sum += static_cast<size_t>(dim);
      return std::max<size_t>(sum, 1);
    }
    case StateRow::Size::history:
      return history + 1;
    case StateRow::Size::histories:
      return count * (history + 1);
    case StateRow::Size::curvature:
      return 0;
  }
  return 0;
}

/// Floats that a need takes in the one array: whole cache lines.
int64_t floats_of(const Need& need) { return static_cast<int64_t>(align_up(static_cast<size_t>(need.shape.elements()) * 4) / 4); }

}  // namespace

RuleOptimizer::RuleOptimizer(const Rule& rule, const Config& config) : rule_(rule), config_(config), rows_(all_settings(rule)) {
  if (!rule.whole.empty()) whole_ = &whole_named(rule.whole);
  const auto at_least = [&](const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      if (std::isinf(high)) throw InvalidArgument("{}: {} takes a number of at least {}, not {}", where(), name, low, value);
      throw InvalidArgument("{}: {} takes a number from {} to {}, not {}", where(), name, low, high, value);
    }
  };
  at_least("accumulate", config.accumulate, 1, kInfinity);
  at_least("clip_value", config.clip_value, 0, kInfinity);
  at_least("clip_norm", config.clip_norm, 0, kInfinity);
  at_least("clip_adaptive", config.clip_adaptive, 0, kInfinity);
  at_least("average", config.average, 0, 1);
  at_least("sharpness", config.sharpness, 0, kInfinity);
  at_least("threads", config.threads, 0, kInfinity);
  device_ = DeviceUpdates::make(rule, config);
  if (config.sharpness > 0 && config.accumulate > 1)
    throw Unsupported("{}: sharpness and accumulate cannot be combined; give on_execute the mean gradient", where());
  const auto check = [&](const Settings& settings, const std::string& place) {
    std::vector<double> values(rows_.size());
    values[kDecoupled] = 1;
    read_settings(rows_, settings, place, values);
    if (rule.decay == Decay::own && values[kDecoupled] == 0)
      throw InvalidArgument("{}: its formula says what weight_decay does; leave decoupled_weight_decay away", place);
  };
  check(config.settings, where());
  for (size_t i = kCommonSettings; i < rows_.size(); ++i) {
    if (rows_[i].name == "momentum" || (rows_[i].name == "beta1" && momentum_ == 0)) momentum_ = i;
    if (rows_[i].name == "curvature_every") curvature_every_ = static_cast<int64_t>(settings_for("")[i]);
    if (rows_[i].name == "line_search") is_searching_ = settings_for("")[i] != 0;
  }
  if (momentum_ == 0 && !std::isnan(config.schedule.momentum_at(0)))
    throw Unsupported("{}: has no momentum that the schedule could cycle; leave cycle_momentum away", where());
  if (is_searching_) {
    const std::vector<double> values = settings_for("");
    if (values[kWeightDecay] != 0 || values[kMaximize] != 0 || config.accumulate > 1 || config.clip_value > 0 || config.clip_norm > 0 ||
        config.clip_adaptive > 0 || config.sharpness > 0 || !config.groups.empty())
      throw Unsupported(
          "{}: line_search compares losses, so gradients have to be theirs: without groups, weight_decay, maximize, accumulate, "
          "clipping and sharpness",
          where());
  }
  for (const Group& group : config.groups) check(group.settings, format("{}, group \"{}\"", where(), group.pattern));
}

std::vector<double> RuleOptimizer::settings_for(std::string_view name) const {
  std::vector<double> values;
  for (const SettingRow& row : rows_) values.push_back(row.fallback);
  read_settings(rows_, config_.settings, where(), values);
  for (const Group& group : config_.groups)
    if (fits_pattern(group.pattern, name)) {
      read_settings(rows_, group.settings, where(), values);
      break;
    }
  if (const double momentum = config_.schedule.momentum_at(0); !std::isnan(momentum)) values[momentum_] = momentum;
  return values;
}

size_t RuleOptimizer::variant_of(std::span<const double> settings) const {
  size_t variant = 0;
  for (size_t i = 0; i < rule_.switches.size(); ++i)
    for (size_t k = kCommonSettings; k < rows_.size(); ++k)
      if (rows_[k].name == rule_.switches[i] && settings[k] != 0) variant |= size_t{1} << i;
  return variant;
}

bool RuleOptimizer::has(const StateRow& row, const Slot& slot) const {
  if (row.of != StateRow::Of::all && (row.of == StateRow::Of::matrices) != (slot.shape.rank() >= 2)) return false;
  if (row.only_with.empty()) return true;
  const bool without = row.only_with[0] == '!';
  const std::string_view name = std::string_view(row.only_with).substr(without ? 1 : 0);
  for (size_t i = 0; i < rule_.switches.size(); ++i)
    if (rule_.switches[i] == name) return ((slot.variant >> i & 1) != 0) != without;
  throw InternalError("{} has no switch {}", where(), name);
}

std::vector<Slot> RuleOptimizer::slots_for(std::span<const Trainable> tensors) const {
  std::vector<Slot> slots;
  std::vector<std::string_view> names;
  for (const Trainable& tensor : tensors) {
    const DType dtype = tensor.values.dtype();
    if (dtype != DType::f32 && dtype != DType::f64)
      throw Unsupported("{}: parameter \"{}\" is {}; parameters are f32 or f64", where(), tensor.name, dtype);
    Slot& slot = slots.emplace_back();
    slot.name = tensor.name, slot.shape = tensor.values.shape(), slot.dtype = dtype;
    slot.count = static_cast<size_t>(slot.shape.elements());
    slot.settings = settings_for(slot.name);
    slot.variant = variant_of(slot.settings);
    for (size_t phase = 0; phase < rule_.phases.size() && rule_.whole.empty() && !rule_.table; ++phase) {
      const std::string_view loop = rule_.phases[phase].loops[slot.variant];
      if (loop.empty()) {
        std::string combined;
        for (size_t i = 0; i < rule_.switches.size(); ++i)
          if (slot.variant >> i & 1) combined += (combined.empty() ? "" : " and ") + rule_.switches[i];
        throw Unsupported("{}: {} cannot be combined", where(), combined);
      }
      slot.loops[phase] = &loop_named(loop);
    }
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw InvalidArgument("{}: two parameters have the name \"{}\"", where(), *twice);
  return slots;
}

std::vector<Need> RuleOptimizer::needs(std::vector<Slot>& slots) const {
  std::vector<Need> result;
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    const auto add = [&](std::string name, DType dtype, const Shape& shape, auto** to, double fill = 0, bool weights = false) {
      result.push_back({name.empty() ? name : slot.name + "." + name, dtype, shape, reinterpret_cast<void**>(to), fill, weights, i});
    };
    slot.states.clear();
    const size_t history = rule_.together ? static_cast<size_t>(slot.settings[kCommonSettings]) : 0;
    slot.states.reserve(kMostStates);  // needs point into it
    for (const StateRow& row : rule_.states) {
      const size_t width = size_of(slot.dtype);
      if (row.size == StateRow::Size::curvature) {
        slot.states.push_back({nullptr, 0, 1});
      } else if (has(row, slot)) {
        const bool bytes = row.size == StateRow::Size::bytes, blocks = row.size == StateRow::Size::blocks;
        slot.states.push_back({nullptr, bytes ? 1 : blocks ? sizeof(float) : width, blocks ? kBlock : 1});
        const Shape shape =
            row.size == StateRow::Size::elements || bytes ? slot.shape : Shape{static_cast<int64_t>(elements_of(row, slot.shape, history))};
        double fill = 0;
        for (size_t k = 0; k < rows_.size(); ++k)
          if (rows_[k].name == row.begin) fill = slot.settings[k];
        add(row.name,
            bytes    ? DType::u8
            : blocks ? DType::f32
                     : slot.dtype,
            shape, &slot.states.back().memory, fill, row.begin == "weights");
      } else if (row.of != StateRow::Of::all) {
        slot.states.push_back({nullptr, 0, 1});  // rules over whole tensors find each state at its place in the row
      }
    }
    if (rule_.scratch || rule_.table)
      add("", slot.dtype, Shape{static_cast<int64_t>(rule_.scratch ? rule_.scratch(slot.shape) : slot.count)}, &slot.scratch);
    if (!rule_.scalars.empty()) add("scalars", DType::f64, Shape{static_cast<int64_t>(rule_.scalars.size())}, &slot.scalars);
    add("step", DType::i64, {}, &slot.t);
    if (config_.accumulate > 1) add("accumulated", slot.dtype, slot.shape, &slot.accumulated);
    if (config_.clip_adaptive > 0) add("", slot.dtype, slot.shape, &slot.prepared);
    if (config_.sharpness > 0) add("before_climb", slot.dtype, slot.shape, &slot.before_climb);
    if (config_.average > 0) add("average", slot.dtype, slot.shape, &slot.average, 0, true);
  }
  return result;
}

void RuleOptimizer::make_state(std::span<const Trainable> tensors) {
  std::vector<Slot> slots = slots_for(tensors);
  for (const Slot& slot : slots)
    for (const Loop* loop : slot.loops)
      if (device_ && loop && !loop->tape().is_whole)
        throw Unsupported("{}: updates of 8-bit state are the processor's alone; leave device and backend away", where());
  std::vector<Need> needs = this->needs(slots);
  int64_t floats = 0;
  for (const Need& need : needs)
    if (need.dtype == DType::f32) floats += floats_of(need);
  auto parameters = std::make_unique<Parameters>(std::max<int64_t>(floats, 16));
  std::vector<Tensor> typed;
  float* next = parameters->get();
  for (const Need& need : needs) {
    if (need.dtype == DType::f32) {
      *need.to = next;
      next += floats_of(need);
    } else {
      *need.to = typed.emplace_back(need.dtype, need.shape).writable().data();
    }
    const size_t count = static_cast<size_t>(need.shape.elements());
    if (need.weights && count > 0) std::memcpy(*need.to, tensors[need.slot].values.data(), count * size_of(need.dtype));
    if (need.fill != 0 && need.dtype == DType::f32) std::fill_n(static_cast<float*>(*need.to), count, static_cast<float>(need.fill));
    if (need.fill != 0 && need.dtype == DType::f64) std::fill_n(static_cast<double*>(*need.to), count, need.fill);
  }
  tasks_.clear();
  int64_t total = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const int64_t count = static_cast<int64_t>(slots[i].count),
                  part = rule_.whole.empty() && !rule_.table ? kChunk : std::max<int64_t>(count, 1);
    slots[i].first_task = tasks_.size();
    for (int64_t first = 0; first < count; first += part) tasks_.push_back({i, first, std::min(part, count - first), {}});
    slots[i].tasks = tasks_.size() - slots[i].first_task;
    total += count;
  }
  threads_ = config_.threads > 0 ? config_.threads : static_cast<size_t>(total) < kWorthThreads ? 1 : os::available_cores();
  if (threads_ > 1) ThreadPool::process().reserve(threads_);
  slots_ = std::move(slots), needs_ = std::move(needs), parameters_ = std::move(parameters), typed_ = std::move(typed);
  failures_.resize(slots_.size());
  members_.reserve(slots_.size());
  made_ = true;
  if (!pending_.empty()) {
    const std::vector<NamedTensor> state = std::move(pending_);
    pending_.clear();
    set_state(state);
  }
}

void RuleOptimizer::check_same(std::span<const Trainable> tensors) const {
  if (tensors.size() != slots_.size())
    throw InvalidArgument("{}: has state for {} parameters, {} came", where(), slots_.size(), tensors.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Trainable& tensor = tensors[i];
    const Slot& slot = slots_[i];
    if (tensor.name != slot.name || tensor.values.dtype() != slot.dtype || !(tensor.values.shape() == slot.shape))
      throw InvalidArgument("{}: parameter {} was \"{}\", {}{}, and now is \"{}\", {}{}", where(), i, slot.name, slot.dtype, slot.shape,
                            tensor.name, tensor.values.dtype(), tensor.values.shape());
    for (const TensorView& view : {tensor.gradient, tensor.curvature})
      if (view && (view.dtype() != slot.dtype || !(view.shape() == slot.shape)))
        throw InvalidArgument("{}: parameter \"{}\" is {}{}, its {} {}{}", where(), slot.name, slot.dtype, slot.shape,
                              view.data() == tensor.gradient.data() ? "gradient" : "curvature", view.dtype(), view.shape());
  }
}

const Optimizer::Parameters& RuleOptimizer::on_get_parameters(std::span<const Trainable> tensors) try {
  if (!made_) make_state(tensors);
  check_same(tensors);
  settle_states();
  return *parameters_;
} catch (...) {
  throw_as_error();
}

Optimizer::Cost RuleOptimizer::on_measure(std::span<const Trainable> tensors) const try {
  std::vector<Slot> slots = slots_for(tensors);
  Cost cost;
  for (const Need& need : needs(slots))
    cost.memory += need.dtype == DType::f32
                       ? 4.0 * static_cast<double>(floats_of(need))
                       : static_cast<double>(align_up(static_cast<size_t>(need.shape.elements()) * size_of(need.dtype)));
  for (const Slot& slot : slots) {
    double each = 0;
    for (const Loop* loop : slot.loops)
      if (loop) each += loop->tape().operations;
    const auto more = [&](bool used, std::string_view loop) {
      if (used) each += loop_named(loop).tape().operations;
    };
    more(config_.clip_norm > 0, "square_sum");
    more(config_.average > 0, "average");
    more(config_.sharpness > 0, "square_sum");
    more(config_.sharpness > 0, "climb");
    if (config_.accumulate > 1) each += config_.accumulate * loop_named("accumulate").tape().operations;
    if (config_.clip_adaptive > 0) each += 5;
    if (rule_.table) each += custom_operations(*rule_.table);
    cost.compute += each * static_cast<double>(slot.count);
    if (rule_.whole_operations) cost.compute += rule_.whole_operations(slot.shape);
  }
  return {cost.compute / 1e6, cost.memory / 1e6};
} catch (...) {
  throw_as_error();
}

std::unique_ptr<Optimizer> make_optimizer(const Rule& rule, const Optimizer::Config& config) {
  return std::make_unique<RuleOptimizer>(rule, config);
}

OptimizerDescription describe(const Rule& rule) {
  OptimizerDescription description{rule.name, rule.formula, {}};
  for (const SettingRow& row : all_settings(rule)) description.settings.push_back({row.name, fallback_of(row), row.meaning});
  return description;
}

}  // namespace minnow::train

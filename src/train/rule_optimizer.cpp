// SPDX-License-Identifier: Apache-2.0
// An optimizer made from a row of the table: it lays out the state, changes gradients as Config says, and runs the row's loops over all
// tensors at once.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/memory.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/thread_pool.h"
#include "train/custom.h"
#include "train/rule.h"
#include "train/settings.h"

namespace minnow::train {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kWorthThreads = 1 << 16;  // elements: below, waking the workers costs more than it gains

enum Common : size_t { kLr, kWeightDecay, kDecoupled, kMaximize, kCommonSettings };
std::vector<SettingRow> all_settings(const Rule& rule) {
  std::vector<SettingRow> rows = {
      number("lr", rule.lr, "learning rate"), number("weight_decay", rule.weight_decay, "pulls weights towards 0"),
      flag("decoupled_weight_decay", rule.decay != Decay::coupled, "w *= 1 - lr weight_decay, instead of a part of the gradient"),
      flag("maximize", false, "climb instead of descend")};
  rows.insert(rows.end(), rule.settings.begin(), rule.settings.end());
  return rows;
}

/// `*`: any characters, `?`: one.
bool fits(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, behind = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == name[n]))) {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++, behind = n;
    } else if (star != std::string_view::npos) {
      p = star + 1, n = ++behind;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

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

/// A tensor and what belongs to it.
struct Slot {
  std::string name;
  Shape shape;
  DType dtype;
  size_t count;
  std::vector<double> settings;  // the common ones, then the row's own
  size_t variant = 0;            // bit i: switch i is on
  const Loop* loops[3] = {};
  struct Place {
    void* memory;
    size_t multiply, divide;  // element i is at byte i * multiply / divide; 0: Trainable::curvature
  };
  std::vector<Place> states;
  void *accumulated = nullptr, *average = nullptr, *before_climb = nullptr, *prepared = nullptr, *scratch = nullptr;
  int64_t* t = nullptr;
  double* scalars = nullptr;

  // For the present step.
  bool active = false, is_prepared = false;
  bool is_accumulated = false, is_high = false;  // since the last step; after a step uphill
  void* w = nullptr;
  const void *g = nullptr, *curvature = nullptr;
  Step step{};
  double c[kMostCoefficients] = {};
  float narrow[kMostCoefficients] = {};
  double sums[kMostSums] = {};
};

struct Task {
  size_t slot;
  int64_t first, count;
  double sums[kMostSums] = {};
};

/// Memory that a slot points to: a state of the optimizer, or scratch, which has no name.
struct Need {
  std::string name;
  DType dtype;
  Shape shape;
  void** to;
  double fill;
  bool weights;  // begins as a copy of them
  size_t slot;
};

class RuleOptimizer final : public Optimizer {
 public:
  RuleOptimizer(const Rule& rule, const Config& config);

  const Parameters& on_get_parameters(std::span<const Trainable> tensors) override;
  Cost on_measure(std::span<const Trainable> tensors) const override;
  void on_execute(std::span<const Trainable> tensors) override;
  std::vector<NamedTensor> state() const override;
  void set_state(std::span<const NamedTensor> state) override;
  int64_t steps() const noexcept override { return steps_; }
  double gradient_norm() const noexcept override { return norm_; }
  Schedule& schedule() override { return config_.schedule; }
  void set(std::string_view setting, const Setting& value) override;
  void evaluate(std::span<const Trainable> tensors, bool on) override;

 private:
  std::string where() const { return format("optimizer \"{}\"", rule_.name); }
  std::vector<double> settings_for(std::string_view name) const;
  size_t variant_of(std::span<const double> settings) const;
  std::vector<Slot> slots_for(std::span<const Trainable> tensors) const;
  std::vector<Need> needs(std::vector<Slot>& slots) const;
  bool has(const StateRow& row, const Slot& slot) const;
  void make_state(std::span<const Trainable> tensors);
  void check_same(std::span<const Trainable> tensors) const;

  void prelude(Slot& slot, double scale) const;
  void run(const Loop* loop, size_t phase, void* Slot::*state);
  double norm();
  bool accumulate();
  void clip_adaptively();
  bool climb();
  void update();
  void update_by_table();

  const Rule& rule_;
  Config config_;
  std::vector<SettingRow> rows_;
  std::vector<Slot> slots_;
  std::vector<Task> tasks_;
  std::vector<Need> needs_;  // of slots_
  std::unique_ptr<Parameters> parameters_;
  std::vector<Tensor> typed_;
  std::vector<NamedTensor> pending_;  // a state that came before the tensors
  double all_sums_[kMostSums] = {};
  double scale_ = 1;                   // by which the norm is clipped
  std::vector<Member> members_;        // of the present step
  std::vector<std::string> failures_;  // of the tasks of custom optimizers
  double norm_ = std::nan("");
  int64_t steps_ = 0, calls_ = 0;
  int threads_ = 1;
  bool climbed_ = false, made_ = false, is_average_ = false;
  const Loop *square_sum_ = &loop_named("square_sum"), *accumulate_ = &loop_named("accumulate"), *average_ = &loop_named("average"),
             *climb_ = &loop_named("climb");
  const WholeLoop* whole_ = nullptr;
};

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
  if (config.device != Device::automatic && config.device != Device::cpu)
    throw Unsupported("{}: this build updates parameters on the CPU alone; set device to cpu or automatic", where());
  if (config.sharpness > 0 && config.accumulate > 1)
    throw Unsupported("{}: sharpness and accumulate cannot be combined; give on_execute the mean gradient", where());
  std::vector<double> values(rows_.size());
  read_settings(rows_, config.settings, where(), values);
  for (const Group& group : config.groups) read_settings(rows_, group.settings, format("{}, group \"{}\"", where(), group.pattern), values);
}

std::vector<double> RuleOptimizer::settings_for(std::string_view name) const {
  std::vector<double> values;
  for (const SettingRow& row : rows_) values.push_back(row.fallback);
  read_settings(rows_, config_.settings, where(), values);
  for (const Group& group : config_.groups)
    if (fits(group.pattern, name)) {
      read_settings(rows_, group.settings, where(), values);
      break;
    }
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

/// Floats that a need takes in the one array: whole cache lines.
int64_t floats_of(const Need& need) { return static_cast<int64_t>(align_up(static_cast<size_t>(need.shape.elements()) * 4) / 4); }

void RuleOptimizer::make_state(std::span<const Trainable> tensors) {
  std::vector<Slot> slots = slots_for(tensors);
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
    for (int64_t first = 0; first < count; first += part) tasks_.push_back({i, first, std::min(part, count - first), {}});
    total += count;
  }
  threads_ = config_.threads > 0 ? config_.threads : total < kWorthThreads ? 1 : os::available_cores();
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
      if (loop) each += loop->operations();
    const auto more = [&](bool used, std::string_view loop) {
      if (used) each += loop_named(loop).operations();
    };
    more(config_.clip_norm > 0, "square_sum");
    more(config_.average > 0, "average");
    more(config_.sharpness > 0, "square_sum");
    more(config_.sharpness > 0, "climb");
    if (config_.accumulate > 1) each += config_.accumulate * loop_named("accumulate").operations();
    if (config_.clip_adaptive > 0) each += 5;
    if (rule_.table) each += custom_operations(*rule_.table);
    cost.compute += each * static_cast<double>(slot.count);
    if (rule_.whole_operations) cost.compute += rule_.whole_operations(slot.shape);
  }
  return {cost.compute / 1e6, cost.memory / 1e6};
} catch (...) {
  throw_as_error();
}

// ---- One step

/// Sets the first coefficients of a loop.
void RuleOptimizer::prelude(Slot& slot, double scale) const {
  const bool own = rule_.decay == Decay::own, decoupled = slot.settings[kDecoupled] != 0,
             clamp = config_.clip_value > 0 && !slot.is_prepared;
  const double weight_decay = own ? 0 : slot.settings[kWeightDecay];
  slot.c[kScale] = slot.settings[kMaximize] != 0 ? -scale : scale;
  slot.c[kHigh] = clamp ? config_.clip_value : kInfinity;
  slot.c[kLow] = -slot.c[kHigh];
  slot.c[kDecay] = decoupled ? 0 : weight_decay;
  slot.c[kShrink] = decoupled ? slot.step.lr * weight_decay : 0;
}

/// Runs a loop with the one state that is named, or the row's loops of a phase, over all active tensors, and adds up the sums.
void RuleOptimizer::run(const Loop* loop, size_t phase, void* Slot::*state) {
  for (Slot& slot : slots_)
    for (size_t i = 0; i < kMostCoefficients; ++i) slot.narrow[i] = static_cast<float>(slot.c[i]);
  ThreadPool::process().run(tasks_.size(), threads_, [&](size_t i) {
    Task& task = tasks_[i];
    Slot& slot = slots_[task.slot];
    if (!slot.active) return;
    const size_t first = static_cast<size_t>(task.first), offset = first * size_of(slot.dtype);
    const bool narrow = slot.dtype == DType::f32;
    Chunk chunk;
    chunk.count = static_cast<size_t>(task.count);
    chunk.w = static_cast<char*>(slot.w) + offset;
    chunk.g = static_cast<const char*>(slot.g) + offset;
    chunk.c = narrow ? static_cast<const void*>(slot.narrow) : slot.c;
    chunk.sums = task.sums;
    if (state) {
      chunk.s[0] = static_cast<char*>(slot.*state) + offset;
    } else {
      for (size_t k = 0; k < slot.states.size(); ++k) {
        const Slot::Place& place = slot.states[k];
        chunk.s[k] = place.multiply == 0 ? const_cast<char*>(static_cast<const char*>(slot.curvature ? slot.curvature : slot.g) + offset)
                                         : static_cast<char*>(place.memory) + first * place.multiply / place.divide;
      }
    }
    if (!loop && !rule_.whole.empty()) {
      Whole whole{slot.step, slot.shape, slot.w, slot.g, {}, slot.scratch};
      for (size_t k = 0; k < slot.states.size(); ++k) whole.s[k] = slot.states[k].memory;
      (narrow ? whole_->f32 : whole_->f64)(whole);
      return;
    }
    const Loop& used = loop ? *loop : *slot.loops[phase];
    (narrow ? used.f32 : used.f64)(chunk);
  });
  // In the order of the tasks, whatever thread ran them.
  for (Slot& slot : slots_) std::fill_n(slot.sums, kMostSums, 0.0);
  std::fill_n(all_sums_, kMostSums, 0.0);
  for (const Task& task : tasks_)
    if (slots_[task.slot].active)
      for (size_t k = 0; k < kMostSums; ++k) slots_[task.slot].sums[k] += task.sums[k], all_sums_[k] += task.sums[k];
}

/// The norm of all gradients, clipped by value.
double RuleOptimizer::norm() {
  for (Slot& slot : slots_) {
    prelude(slot, scale_);
    slot.c[kDecay] = 0;
  }
  run(square_sum_, 0, nullptr);
  return std::sqrt(all_sums_[0]);
}

/// Adds the gradients to those of calls before; false where more are to come.
bool RuleOptimizer::accumulate() {
  const int64_t position = (calls_ - 1) % config_.accumulate;
  for (Slot& slot : slots_) {
    if (position == 0) {
      slot.is_accumulated = false;
      if (slot.count > 0) std::memset(slot.accumulated, 0, slot.count * size_of(slot.dtype));
    }
    slot.is_accumulated = slot.is_accumulated || slot.active;
    std::fill_n(slot.c, kMostCoefficients, 0.0);
    slot.c[kScale] = 1;
    slot.c[kHigh] = kInfinity, slot.c[kLow] = -kInfinity;
    slot.c[kOwn] = 1.0 / config_.accumulate;
  }
  run(accumulate_, 0, &Slot::accumulated);
  if (position + 1 < config_.accumulate) return false;
  for (Slot& slot : slots_) slot.active = slot.is_accumulated, slot.g = slot.accumulated;
  return true;
}

template <class T>
void clip_rows(const Slot& slot, double scale, double high, double share) {
  const size_t rows = slot.shape.rank() < 2 ? 1 : static_cast<size_t>(slot.shape[0]), length = slot.count / std::max<size_t>(rows, 1);
  for (size_t row = 0; row < rows; ++row) {
    const T *w = static_cast<const T*>(slot.w) + row * length, *g = static_cast<const T*>(slot.g) + row * length;
    T* to = static_cast<T*>(slot.prepared) + row * length;
    double weights = 0, gradients = 0;
    for (size_t i = 0; i < length; ++i) {
      const double x = scale * std::min(std::max(static_cast<double>(g[i]), -high), high);
      weights += static_cast<double>(w[i]) * static_cast<double>(w[i]);
      gradients += x * x;
    }
    const double most = share * std::max(std::sqrt(weights), 1e-3), norm = std::sqrt(gradients);
    const double factor = scale * (norm < most ? 1 : most / std::max(norm, 1e-6));
    for (size_t i = 0; i < length; ++i) to[i] = static_cast<T>(factor * std::min(std::max(static_cast<double>(g[i]), -high), high));
  }
}

void RuleOptimizer::clip_adaptively() {
  const double high = config_.clip_value > 0 ? config_.clip_value : kInfinity;
  ThreadPool::process().run(slots_.size(), threads_, [&](size_t i) {
    Slot& slot = slots_[i];
    if (!slot.active) return;
    (slot.dtype == DType::f32 ? clip_rows<float> : clip_rows<double>)(slot, scale_, high, config_.clip_adaptive);
    slot.g = slot.prepared;
    slot.is_prepared = true;
  });
  scale_ = 1;
}

/// SAM: true where this call moved uphill; in the next one the weights are those from before again.
bool RuleOptimizer::climb() {
  if (!climbed_) {
    const double size = norm();
    for (Slot& slot : slots_) {
      prelude(slot, scale_);
      slot.c[kDecay] = slot.c[kShrink] = 0;
      slot.c[kOwn] = config_.sharpness / (size + 1e-12);
    }
    run(climb_, 0, &Slot::before_climb);
    for (Slot& slot : slots_) slot.is_high = slot.active;
  } else {
    for (Slot& slot : slots_)
      if (slot.is_high && slot.count > 0) std::memcpy(slot.w, slot.before_climb, slot.count * size_of(slot.dtype));
  }
  climbed_ = !climbed_;
  return climbed_;
}

void RuleOptimizer::update() {
  const double factor = config_.schedule.at(steps_);
  for (Slot& slot : slots_) {
    if (!slot.active) continue;
    ++*slot.t;
    slot.step = {.settings = std::span(slot.settings).subspan(kCommonSettings),
                 .t = *slot.t,
                 .lr = slot.settings[kLr] * factor,
                 .weight_decay = slot.settings[kWeightDecay],
                 .count = static_cast<double>(slot.count),
                 .has_curvature = slot.curvature != nullptr,
                 .scalars = slot.scalars,
                 .sums = slot.sums,
                 .all_sums = all_sums_,
                 .c = slot.c};
  }
  if (rule_.table) return update_by_table();
  if (rule_.together) {
    members_.clear();
    for (Slot& slot : slots_) {
      if (!slot.active) continue;
      prelude(slot, scale_);
      Member& member = members_.emplace_back(Member{&slot.step, slot.dtype, slot.count, slot.w, slot.g, {}});
      for (size_t k = 0; k < slot.states.size(); ++k) member.s[k] = slot.states[k].memory;
    }
    if (!members_.empty()) rule_.together(members_);
    return;
  }
  for (size_t phase = 0; phase < rule_.phases.size(); ++phase) {
    for (Slot& slot : slots_) {
      if (!slot.active) continue;
      prelude(slot, scale_);
      rule_.phases[phase].coefficients(slot.step);
    }
    run(nullptr, phase, nullptr);
  }
}

void RuleOptimizer::on_execute(std::span<const Trainable> tensors) try {
  if (!made_) make_state(tensors);
  check_same(tensors);
  ++calls_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.w = tensors[i].values.data();
    slot.g = tensors[i].gradient.data();
    slot.curvature = tensors[i].curvature.data();
    slot.active = tensors[i].gradient && slot.count > 0;
    slot.is_prepared = false;
  }
  scale_ = 1;
  if (config_.accumulate > 1 && !accumulate()) return;
  if (config_.clip_norm > 0) {
    norm_ = norm();
    scale_ = std::min(1.0, config_.clip_norm / (norm_ + 1e-6));
    if (std::isnan(norm_)) scale_ = norm_;
  }
  if (config_.sharpness > 0 && climb()) return;
  if (config_.clip_adaptive > 0) clip_adaptively();
  update();
  if (config_.average > 0) {
    for (Slot& slot : slots_) {
      prelude(slot, 1);
      slot.c[kDecay] = slot.c[kShrink] = 0;
      slot.c[kOwn] = config_.average, slot.c[kOwn + 1] = 1 - config_.average;
    }
    run(average_, 0, &Slot::average);
  }
  ++steps_;
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::update_by_table() {
  for (std::string& failure : failures_) failure.clear();
  ThreadPool::process().run(slots_.size(), rule_.table_threads ? threads_ : 1, [&](size_t i) {
    Slot& slot = slots_[i];
    if (!slot.active) return;
    prelude(slot, scale_);
    void* states[kMostStates];
    for (size_t k = 0; k < slot.states.size(); ++k) states[k] = slot.states[k].memory;
    failures_[i] = run_custom(*rule_.table, slot.dtype, slot.shape, slot.w, slot.g, slot.scratch,
                              std::span<void* const>(states, slot.states.size()), slot.step);
  });
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].active && !failures_[i].empty()) throw InvalidArgument("{}: parameter \"{}\": {}", where(), slots_[i].name, failures_[i]);
}

// ---- State

namespace {
constexpr std::string_view kCounters = "optimizer.counters", kScheduleState = "optimizer.schedule";
}

std::vector<NamedTensor> RuleOptimizer::state() const try {
  if (!made_) return pending_;
  std::vector<NamedTensor> result;
  for (const Need& need : needs_)
    if (!need.name.empty()) result.push_back({need.name, Tensor(TensorView(need.dtype, need.shape, *need.to))});
  const int64_t counters[] = {steps_, calls_, climbed_ ? 1 : 0};
  result.push_back({std::string(kCounters), Tensor::of_i64({3}, counters)});
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
  const Tensor& counters = take(kCounters, DType::i64, {3});
  const size_t entries = config_.schedule.state().size();
  std::vector<double> schedule;
  if (entries > 0) {
    const Tensor& tensor = take(kScheduleState, DType::f64, {static_cast<int64_t>(entries)});
    schedule.assign(tensor.data<double>(), tensor.data<double>() + entries);
  }
  if (!given.empty()) throw InvalidArgument("{}: \"{}\" of the state belongs to no parameter", where(), given.begin()->first);
  for (size_t i = 0; i < needs_.size(); ++i)
    if (tensors[i] && tensors[i]->bytes() > 0) std::memcpy(*needs_[i].to, tensors[i]->data(), tensors[i]->bytes());
  steps_ = counters.data<int64_t>()[0], calls_ = counters.data<int64_t>()[1], climbed_ = counters.data<int64_t>()[2] != 0;
  for (Slot& slot : slots_) slot.is_high = climbed_, slot.is_accumulated = true;
  if (entries > 0) config_.schedule.set_state(schedule);
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::set(std::string_view setting, const Setting& value) try {
  std::vector<double> values(rows_.size());
  read_settings(rows_, {{std::string(setting), value}}, where(), values);
  Config config = config_;
  const auto found = std::find_if(config.settings.begin(), config.settings.end(), [&](const auto& pair) { return pair.first == setting; });
  if (found != config.settings.end())
    found->second = value;
  else
    config.settings.emplace_back(setting, value);
  std::swap(config_, config);
  for (Slot& slot : slots_) {
    std::vector<double> settings = settings_for(slot.name);
    if (variant_of(settings) != slot.variant) {
      std::swap(config_, config);
      throw InvalidArgument("{}: {} decides which state there is, and cannot change after the first step", where(), setting);
    }
    slot.settings = std::move(settings);
  }
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

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Rule& rule, const Optimizer::Config& config) {
  return std::make_unique<RuleOptimizer>(rule, config);
}

OptimizerDescription describe(const Rule& rule) {
  OptimizerDescription description{rule.name, rule.formula, {}};
  for (const SettingRow& row : all_settings(rule)) description.settings.push_back({row.name, fallback_of(row), row.meaning});
  return description;
}

}  // namespace minnow::train

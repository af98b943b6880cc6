// SPDX-License-Identifier: Apache-2.0
// One step of an optimizer.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/no_memory.h"
#include "base/thread_pool.h"
#include "train/custom.h"
#include "train/rule_optimizer.h"

namespace minnow::train {

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
  for (Slot& slot : now_)
    for (size_t i = 0; i < kMostCoefficients; ++i) slot.narrow[i] = static_cast<float>(slot.c[i]);
  const bool own_threads = !loop && !rule_.whole.empty() && whole_->own_threads;
  ThreadPool::process().run(tasks_now_.size(), own_threads ? 1 : threads_now_, [&](size_t i) {
    Task& task = tasks_now_[i];
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
    chunk.is_bad = &task.is_bad;
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
      Whole whole{slot.step, slot.shape, slot.w, slot.g, {}, slot.scratch, own_threads ? threads_now_ : 1};
      for (size_t k = 0; k < slot.states.size(); ++k) whole.s[k] = slot.states[k].memory;
      (narrow ? whole_->f32 : whole_->f64)(whole);
      return;
    }
    const Loop& used = loop ? *loop : *slot.loops[phase];
    (narrow ? used.f32 : used.f64)(chunk);
  });
  // In the order of the tasks, whatever thread ran them.
  for (Slot& slot : now_) std::fill_n(slot.sums, kMostSums, 0.0);
  std::fill_n(all_sums_, kMostSums, 0.0);
  for (Task& task : tasks_now_) {
    if (!slots_[task.slot].active) continue;
    for (size_t k = 0; k < kMostSums; ++k) slots_[task.slot].sums[k] += task.sums[k], all_sums_[k] += task.sums[k];
    if (std::exchange(task.is_bad, false) && !bad_) bad_ = &slots_[task.slot];
  }
}

void RuleOptimizer::run_on_device(size_t phase) {
  std::fill_n(all_sums_, kMostSums, 0.0);
  for (Slot& slot : now_) {
    if (!slot.active) continue;
    MutableTensorView state_views[kMostStates];
    for (size_t k = 0; k < slot.states.size(); ++k) {
      const Slot::Place& place = slot.states[k];
      void* memory = place.multiply == 0 ? const_cast<void*>(slot.curvature ? slot.curvature : slot.g) : place.memory;
      state_views[k] = MutableTensorView(slot.dtype, slot.shape, memory);
    }
    device_->run(*slot.loops[phase], {slot.dtype, slot.shape, slot.w}, {slot.dtype, slot.shape, slot.g},
                 std::span(state_views, slot.states.size()), slot.c, slot.sums);
    for (size_t k = 0; k < kMostSums; ++k) all_sums_[k] += slot.sums[k];
  }
}

/// The norm of all gradients, clipped by value.
double RuleOptimizer::norm() {
  for (Slot& slot : now_) {
    prelude(slot, scale_);
    slot.c[kDecay] = 0;
  }
  run(square_sum_, 0, nullptr);
  return std::sqrt(all_sums_[0]);
}

/// Adds the gradients to those of calls before; false where more are to come.
bool RuleOptimizer::accumulate() {
  const int64_t position = (calls_ - 1) % config_.accumulate;
  for (Slot& slot : now_) {
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
  for (Slot& slot : now_) slot.active = slot.is_accumulated, slot.g = slot.accumulated;
  return true;
}

namespace {

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

}  // namespace

void RuleOptimizer::clip_adaptively() {
  const double high = config_.clip_value > 0 ? config_.clip_value : kInfinity;
  ThreadPool::process().run(now_.size(), threads_now_, [&](size_t i) {
    Slot& slot = now_[i];
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
    for (Slot& slot : now_) {
      prelude(slot, scale_);
      slot.c[kDecay] = slot.c[kShrink] = 0;
      slot.c[kOwn] = config_.sharpness / (size + 1e-12);
    }
    run(climb_, 0, &Slot::before_climb);
    for (Slot& slot : now_) slot.is_high = slot.active;
  } else {
    for (Slot& slot : now_)
      if (slot.is_high && slot.count > 0) std::memcpy(slot.w, slot.before_climb, slot.count * size_of(slot.dtype));
  }
  climbed_ = !climbed_;
  return climbed_;
}

void RuleOptimizer::start_update() {
  const double factor = config_.schedule.at(steps_), momentum = config_.schedule.momentum_at(steps_);
  for (Slot& slot : now_) {
    if (!slot.active) continue;
    ++*slot.t;
    if (!std::isnan(momentum)) slot.settings[momentum_] = momentum;
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
}

void RuleOptimizer::update_now() {
  start_update();
  if (rule_.table) return update_by_table();
  if (rule_.together) {
    members_.clear();
    for (Slot& slot : now_) {
      if (!slot.active) continue;
      prelude(slot, scale_);
      Member& member = members_.emplace_back(Member{&slot.step, slot.dtype, slot.count, slot.w, slot.g, {}});
      for (size_t k = 0; k < slot.states.size(); ++k) member.s[k] = slot.states[k].memory;
    }
    if (members_.empty()) return;
    if (loss_)
      rule_.search(members_, first_loss_, *loss_);
    else
      rule_.together(members_);
    return;
  }
  for (size_t phase = 0; phase < rule_.phases.size(); ++phase) {
    for (Slot& slot : now_) {
      if (!slot.active) continue;
      prelude(slot, scale_);
      rule_.phases[phase].coefficients(slot.step);
    }
    if (device_)
      run_on_device(phase);
    else
      run(nullptr, phase, nullptr);
  }
}

std::string RuleOptimizer::keeps_off_devices() const {
  if (device_) return "the optimizer has a backend of its own";
  if (config_.accumulate > 1 || config_.clip_adaptive > 0 || config_.sharpness > 0 || config_.average > 0 || is_searching_)
    return "accumulate, clip_adaptive, sharpness, average and line_search are the processor's";
  if (curvature_every_ > 0) return format("{} takes estimates of the curvature", where());
  if (rule_.phases.size() != 1 || !rule_.whole.empty() || rule_.together || rule_.table || rule_.joint)
    return format("{} looks at whole tensors", where());
  for (const Slot& slot : slots_) {
    if (slot.dtype != DType::f32) return format("parameter \"{}\" is {}", slot.name, slot.dtype);
    if (const Tape tape = slot.loops[0]->tape(); !tape.is_whole || !tape.sums.empty()) return format("{} has 8-bit state", where());
  }
  return {};
}

void RuleOptimizer::step_elsewhere(std::span<const Trainable> tensors, double squares) {
  begin_call(tensors);
  now_ = slots_;
  for (Slot& slot : now_) slot.active = slot.count > 0;
  if (clips_norm()) clip_norm_to(std::sqrt(squares));
  start_update();
  for (Slot& slot : now_) {
    if (!slot.active) continue;
    prelude(slot, scale_);
    rule_.phases[0].coefficients(slot.step);
  }
  ++steps_;
}

void RuleOptimizer::settle_states() {
  if (!newer_) return;
  newer_->fetch(slots_);
  newer_ = nullptr;
}

void RuleOptimizer::begin(std::span<const Trainable> tensors) try {
  settle_states();
  begin_call(tensors);
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::begin_call(std::span<const Trainable> tensors) {
  if (!made_) make_state(tensors);
  check_same(tensors);
  if (is_average_)
    throw InvalidArgument("{}: the parameters are averages now; call evaluate(tensors, false) before the next step", where());
  ++calls_;
  scale_ = 1;
  bad_ = nullptr;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.w = tensors[i].values.data();
    slot.g = tensors[i].gradient.data();
    slot.curvature = tensors[i].curvature.data();
    slot.active = tensors[i].gradient && slot.count > 0;
    slot.is_prepared = false;
  }
}

void RuleOptimizer::clip_norm_to(double norm) {
  norm_ = norm;
  scale_ = std::min(1.0, config_.clip_norm / (norm_ + 1e-6));
  if (std::isnan(norm_)) scale_ = norm_;
}

/// The step of the tensors in now_; false where gradients were only added up, or the weights moved uphill.
bool RuleOptimizer::step() {
  if (config_.accumulate > 1 && !accumulate()) return false;
  if (config_.clip_norm > 0) clip_norm_to(norm());
  if (config_.sharpness > 0 && climb()) return false;
  // Rules without loops over elements look at no single gradient. They take far longer than this.
  if (config_.clip_norm == 0 && (!rule_.whole.empty() || rule_.together || rule_.table || device_)) norm();
  if (config_.clip_adaptive > 0) clip_adaptively();
  update_now();
  if (config_.average > 0) {
    for (Slot& slot : now_) {
      prelude(slot, 1);
      slot.c[kDecay] = slot.c[kShrink] = 0;
      slot.c[kOwn] = config_.average, slot.c[kOwn + 1] = 1 - config_.average;
    }
    run(average_, 0, &Slot::average);
  }
  return true;
}

double RuleOptimizer::on_minimize(std::span<const Trainable> tensors, const std::function<double()>& loss) try {
  first_loss_ = loss();
  loss_ = is_searching_ ? &loss : nullptr;
  struct Forget {
    const std::function<double()>*& loss;
    ~Forget() { loss = nullptr; }
  } forget{loss_};
  execute(tensors);
  return first_loss_;
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::on_execute(std::span<const Trainable> tensors) try {
  if (is_searching_) throw InvalidArgument("{}: line_search computes the loss several times; call on_minimize", where());
  execute(tensors);
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::execute(std::span<const Trainable> tensors) {
  begin(tensors);
  now_ = slots_, tasks_now_ = tasks_, threads_now_ = threads_;
  if (step()) ++steps_;
}

bool RuleOptimizer::takes_one_at_a_time() const noexcept {
  return config_.clip_norm == 0 && config_.sharpness == 0 && !rule_.together && !rule_.joint;
}

void RuleOptimizer::update(size_t tensor, const TensorView& gradient) try {
  Slot& slot = slots_.at(tensor);
  if (gradient.dtype() != slot.dtype || !(gradient.shape() == slot.shape))
    throw InvalidArgument("{}: parameter \"{}\" is {}{}, its gradient {}{}", where(), slot.name, slot.dtype, slot.shape, gradient.dtype(),
                          gradient.shape());
  slot.g = gradient.data();
  slot.active = slot.count > 0;
  now_ = std::span(slots_).subspan(tensor, 1);
  tasks_now_ = std::span(tasks_).subspan(slot.first_task, slot.tasks);
  threads_now_ = slot.count < kWorthThreads ? 1 : threads_;
  step();
  slot.active = false;
} catch (...) {
  throw_as_error();
}

void RuleOptimizer::end() {
  if (calls_ % config_.accumulate == 0) ++steps_;
}

void RuleOptimizer::update_by_table() {
  for (std::string& failure : failures_) failure.clear();
  ThreadPool::process().run(now_.size(), rule_.table_threads ? threads_now_ : 1, [&](size_t i) {
    Slot& slot = now_[i];
    if (!slot.active) return;
    prelude(slot, scale_);
    void* states[kMostStates];
    for (size_t k = 0; k < slot.states.size(); ++k) states[k] = slot.states[k].memory;
    failures_[i] = run_custom(*rule_.table, slot.dtype, slot.shape, slot.w, slot.g, slot.scratch,
                              std::span<void* const>(states, slot.states.size()), slot.step);
  });
  for (size_t i = 0; i < now_.size(); ++i)
    if (now_[i].active && !failures_[i].empty()) throw InvalidArgument("{}: parameter \"{}\": {}", where(), now_[i].name, failures_[i]);
}

}  // namespace minnow::train

// SPDX-License-Identifier: Apache-2.0
// The table of schedules.
#include <minnow/schedule.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "train/settings.h"

namespace minnow {
namespace train {
namespace {

using Values = std::span<const double>;  // of the row's settings

/// A part of a way, between 0 and 1.
double part(int64_t t, double steps) { return std::min(static_cast<double>(t) / steps, 1.0); }
double between(double from, double to, double x) { return from + (to - from) * x; }
/// From `from` to `to` by half a cosine.
double half_cosine(double from, double to, double x) { return to + (from - to) * (1 + std::cos(M_PI * x)) / 2; }

double warm_restarts(int64_t t, Values v) {
  double length = v[0], begin = 0;
  const double multiple = v[1], now = static_cast<double>(t);
  if (multiple == 1) {
    begin = std::floor(now / length) * length;
  } else {
    const double n = std::floor(std::log(now / length * (multiple - 1) + 1) / std::log(multiple) + 1e-12);
    begin = length * (std::pow(multiple, n) - 1) / (multiple - 1);
    length *= std::pow(multiple, n);
  }
  return half_cosine(1, v[2], (now - begin) / length);
}

/// How far up a cycle is: 0 to 1, less in later cycles where `mode` says so.
double cyclic_height(int64_t t, Values v) {
  const double up = v[0], down = v[1] > 0 ? v[1] : up, now = static_cast<double>(t), total = up + down, share = up / total;
  const double cycle = std::floor(1 + now / total), x = 1 + now / total - cycle, height = x <= share ? x / share : (x - 1) / (share - 1);
  if (v[3] == 1) return height / std::pow(2.0, cycle - 1);
  if (v[3] == 2) return height * std::pow(v[4], now);
  return height;
}
double cyclic(int64_t t, Values v) { return v[2] + (1 - v[2]) * cyclic_height(t, v); }
double cyclic_momentum(int64_t t, Values v) { return v[7] - (v[7] - v[6]) * cyclic_height(t, v); }

/// From `begin` to `top`, and down to `end`.
double one_cycle_way(int64_t t, Values v, double begin, double top, double end) {
  const double steps = v[0], rise = v[1] * steps - 1, last = steps - 1, now = static_cast<double>(t);
  const bool linear = v[4] != 0, three = v[5] != 0;
  const auto way = [&](double from, double to, double x) { return linear ? between(from, to, x) : half_cosine(from, to, x); };
  if (now <= rise) return way(begin, top, rise > 0 ? now / rise : 1);
  if (!three) return way(top, end, std::min((now - rise) / (last - rise), 1.0));
  const double middle = 2 * rise;
  if (now <= middle) return way(top, begin, (now - rise) / (middle - rise));
  return way(begin, end, std::min((now - middle) / (last - middle), 1.0));
}
double one_cycle(int64_t t, Values v) { return one_cycle_way(t, v, 1 / v[2], 1, 1 / v[2] / v[3]); }
double one_cycle_momentum(int64_t t, Values v) { return one_cycle_way(t, v, v[8], v[7], v[8]); }

struct ScheduleRow {
  std::string name;
  std::vector<SettingRow> settings;
  double (*at)(int64_t t, Values v);
  size_t cycles_momentum = 0;  // the setting that says so; 0: the schedule cannot
  double (*momentum)(int64_t t, Values v) = nullptr;
};

const std::vector<ScheduleRow>& schedule_rows() {
  static const std::vector<ScheduleRow>& rows = *new std::vector<ScheduleRow>{
      {"constant",
       {number("factor", 1.0 / 3, "until the last step"), integer("steps", 5, "of the factor", 0)},
       [](int64_t t, Values v) { return static_cast<double>(t) < v[1] ? v[0] : 1.0; }},
      {"linear",
       {number("start", 1.0 / 3, "first factor"), number("end", 1, "last factor"), integer("steps", 5, "between them")},
       [](int64_t t, Values v) { return between(v[0], v[1], part(t, v[2])); }},
      {"warm_up",
       {integer("steps", 1000, "until the factor is 1"), fraction("start", 0, "first factor")},
       [](int64_t t, Values v) { return between(v[1], 1, part(t, v[0])); }},
      {"step",
       {integer("every", 30, "steps between falls"), number("gamma", 0.1, "factor of a fall")},
       [](int64_t t, Values v) { return std::pow(v[1], std::floor(static_cast<double>(t) / v[0])); }},
      {"multi_step", {number("gamma", 0.1, "factor of a fall")}, nullptr},
      {"exponential",
       {number("gamma", 0.99, "factor of a step")},
       [](int64_t t, Values v) { return std::pow(v[0], static_cast<double>(t)); }},
      {"polynomial",
       {integer("steps", 1000, "until 0"), number("power", 1, "of the polynomial")},
       [](int64_t t, Values v) { return std::pow(1 - part(t, v[0]), v[1]); }},
      {"cosine",
       {integer("steps", 1000, "until the end"), fraction("end", 0, "last factor")},
       [](int64_t t, Values v) { return half_cosine(1, v[1], part(t, v[0])); }},
      {"warm_restarts",
       {integer("steps", 10, "until the first restart"), number("multiple", 1, "of the next length", 1), fraction("end", 0, "last factor")},
       warm_restarts},
      {"cyclic",
       {integer("up", 2000, "steps upwards"), integer("down", 0, "steps downwards; 0: as many", 0), number("base", 0.1, "lowest factor"),
        integer("mode", 0, "0: triangular, 1: triangular2, 2: exp_range", 0, 2), number("gamma", 1, "exp_range: factor of a step"),
        flag("cycle_momentum", false, "the momentum goes the other way"), fraction("base_momentum", 0.8, "where the rate is highest"),
        fraction("max_momentum", 0.9, "where the rate is lowest")},
       cyclic,
       5,
       cyclic_momentum},
      {"one_cycle",
       {integer("steps", 1000, "in all", 2), fraction("rise", 0.3, "share of steps upwards"),
        number("div", 25, "1 / the first factor", 1e-300), number("final_div", 1e4, "first factor / last factor", 1e-300),
        flag("linear", false, "lines, not cosines"), flag("three_phases", false, "down to the first factor as fast as up"),
        flag("cycle_momentum", false, "the momentum goes the other way"), fraction("base_momentum", 0.85, "where the rate is highest"),
        fraction("max_momentum", 0.95, "where the rate is lowest")},
       one_cycle,
       6,
       one_cycle_momentum},
      {"inverse",
       {number("gamma", 1e-4, "of a step"), number("power", 0.75, "of the fall")},
       [](int64_t t, Values v) { return std::pow(1 + v[0] * static_cast<double>(t), -v[1]); }},
      {"plateau",
       {number("factor", 0.1, "of a fall"), integer("patience", 10, "measurements without a better one", 0),
        number("threshold", 1e-4, "what counts as better"), integer("cooldown", 0, "measurements after a fall that do not count", 0),
        number("least", 0, "lowest factor"), flag("larger_is_better", false, "accuracies rather than losses"),
        flag("absolute", false, "the threshold is no share of the best")},
       nullptr},
  };
  return rows;
}

}  // namespace
}  // namespace train

struct Schedule::Rule {
  const train::ScheduleRow* row = nullptr;
  std::vector<double> values;
  std::vector<double> milestones;
  std::function<double(int64_t)> lambda;
  std::vector<Schedule> parts;
  bool product = false;
  // plateau
  double factor = 1, best = std::nan("");
  int64_t bad = 0, resting = 0;

  bool is_plateau() const { return row && row->name == "plateau"; }
  /// Milestones passed after t steps, and the last of them.
  std::pair<size_t, int64_t> part_at(int64_t t) const {
    const auto next = std::upper_bound(milestones.begin(), milestones.end(), static_cast<double>(t));
    return {static_cast<size_t>(next - milestones.begin()), next == milestones.begin() ? 0 : static_cast<int64_t>(next[-1])};
  }
};

Schedule::Schedule() = default;
Schedule::~Schedule() = default;
Schedule::Schedule(std::unique_ptr<Rule> rule) : rule_(std::move(rule)) {}
Schedule::Schedule(const Schedule& other) : rule_(other.rule_ ? std::make_unique<Rule>(*other.rule_) : nullptr) {}
Schedule::Schedule(Schedule&& other) noexcept = default;
Schedule& Schedule::operator=(const Schedule& other) {
  rule_ = other.rule_ ? std::make_unique<Rule>(*other.rule_) : nullptr;
  return *this;
}
Schedule& Schedule::operator=(Schedule&& other) noexcept = default;

Schedule Schedule::create(std::string_view name, const Settings& settings) try {
  const auto& rows = train::schedule_rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const train::ScheduleRow& r) { return r.name == name; });
  if (row == rows.end()) throw InvalidArgument("there is no schedule \"{}\"{}", name, nearest(name, schedule_names()));
  auto rule = std::make_unique<Rule>();
  rule->row = &*row;
  for (const train::SettingRow& setting : row->settings) rule->values.push_back(setting.fallback);
  const std::string where = format("schedule \"{}\"", name);
  Settings rest;
  for (const auto& pair : settings) {
    if (row->name == "multi_step" && pair.first == "milestones") {
      if (const auto* list = std::get_if<std::vector<double>>(&pair.second)) {
        rule->milestones = *list;
        std::sort(rule->milestones.begin(), rule->milestones.end());
        continue;
      }
      throw InvalidArgument("{}: milestones takes a list of numbers, not {}", where, train::shown(pair.second));
    }
    rest.push_back(pair);
  }
  train::read_settings(row->settings, rest, where, rule->values);
  return Schedule(std::move(rule));
} catch (...) {
  throw_as_error();
}

Schedule Schedule::lambda(std::function<double(int64_t)> f) {
  auto rule = std::make_unique<Rule>();
  rule->lambda = std::move(f);
  return Schedule(std::move(rule));
}

Schedule Schedule::sequential(std::vector<Schedule> schedules, std::vector<int64_t> milestones) try {
  if (schedules.empty() || milestones.size() + 1 != schedules.size())
    throw InvalidArgument("a sequence of {} schedules takes {} milestones, not {}", schedules.size(),
                          std::max<size_t>(schedules.size(), 1) - 1, milestones.size());
  if (std::adjacent_find(milestones.begin(), milestones.end(), std::greater_equal<>()) != milestones.end())
    throw InvalidArgument("the milestones of a sequence of schedules rise");
  auto rule = std::make_unique<Rule>();
  rule->parts = std::move(schedules);
  rule->milestones.assign(milestones.begin(), milestones.end());
  return Schedule(std::move(rule));
} catch (...) {
  throw_as_error();
}

Schedule Schedule::chained(std::vector<Schedule> schedules) {
  auto rule = std::make_unique<Rule>();
  rule->parts = std::move(schedules);
  rule->product = true;
  return Schedule(std::move(rule));
}

double Schedule::at(int64_t t) const {
  if (!rule_) return 1;
  const Rule& rule = *rule_;
  if (rule.lambda) return rule.lambda(t);
  if (rule.product) {
    double product = 1;
    for (const Schedule& schedule : rule.parts) product *= schedule.at(t);
    return product;
  }
  const auto [part, begin] = rule.part_at(t);
  if (!rule.parts.empty()) return rule.parts[part].at(t - begin);
  if (rule.is_plateau()) return rule.factor;
  if (!rule.row->at) return std::pow(rule.values[0], static_cast<double>(part));
  return rule.row->at(t, rule.values);
}

double Schedule::momentum_at(int64_t t) const {
  if (!rule_) return std::nan("");
  const Rule& rule = *rule_;
  if (rule.product) {
    for (const Schedule& schedule : rule.parts)
      if (const double momentum = schedule.momentum_at(t); !std::isnan(momentum)) return momentum;
  } else if (!rule.parts.empty()) {
    const auto [part, begin] = rule.part_at(t);
    return rule.parts[part].momentum_at(t - begin);
  } else if (rule.row && rule.row->momentum && rule.values[rule.row->cycles_momentum] != 0) {
    return rule.row->momentum(t, rule.values);
  }
  return std::nan("");
}

void Schedule::observe(double metric) {
  if (!rule_) return;
  Rule& rule = *rule_;
  for (Schedule& schedule : rule.parts) schedule.observe(metric);
  if (!rule.is_plateau()) return;
  const double factor = rule.values[0], patience = rule.values[1], threshold = rule.values[2], least = rule.values[4];
  const bool larger = rule.values[5] != 0, absolute = rule.values[6] != 0;
  const double margin = absolute ? threshold : threshold * rule.best;
  const bool better = std::isnan(rule.best) || (larger ? metric > rule.best + margin : metric < rule.best - margin);
  if (better) {
    rule.best = metric;
    rule.bad = 0;
  } else {
    ++rule.bad;
  }
  if (rule.resting > 0) {
    --rule.resting;
    rule.bad = 0;
  }
  if (static_cast<double>(rule.bad) > patience) {
    rule.factor = std::max(rule.factor * factor, least);
    rule.resting = static_cast<int64_t>(rule.values[3]);
    rule.bad = 0;
  }
}

std::vector<double> Schedule::state() const {
  std::vector<double> state;
  if (!rule_) return state;
  if (rule_->is_plateau()) state = {rule_->factor, rule_->best, static_cast<double>(rule_->bad), static_cast<double>(rule_->resting)};
  for (const Schedule& schedule : rule_->parts) {
    const std::vector<double> more = schedule.state();
    state.insert(state.end(), more.begin(), more.end());
  }
  return state;
}

void Schedule::set_state(const std::vector<double>& state) try {
  const size_t wanted = this->state().size();
  if (state.size() != wanted) throw InvalidArgument("the state of this schedule is {} numbers, not {}", wanted, state.size());
  if (wanted == 0) return;
  auto next = state.begin();
  if (rule_->is_plateau()) {
    rule_->factor = next[0], rule_->best = next[1];
    rule_->bad = static_cast<int64_t>(next[2]), rule_->resting = static_cast<int64_t>(next[3]);
    next += 4;
  }
  for (Schedule& schedule : rule_->parts) {
    const auto size = static_cast<std::ptrdiff_t>(schedule.state().size());
    schedule.set_state({next, next + size});
    next += size;
  }
} catch (...) {
  throw_as_error();
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const train::ScheduleRow& row : train::schedule_rows()) names.push_back(row.name);
  return names;
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#include "runtime/power.h"

#include <minnow/tune.h>

#include <algorithm>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "base/thread_wait.h"

namespace minnow {
namespace {

constexpr double kAlike =
    0.9;  // cores of at least that share of another one's speed are of its kind: some of a kind may clock a little higher
constexpr double kLongWait = 200e-6, kWait = 50e-6;  // seconds; the second is the pool's default

struct Mode {
  std::string_view name;
  bool little = false, pin = false;
  double wait = 0;
  double slack = 1;       // of the least time, within which the least processor time is chosen
  double other_wait = 0;  // that tuning tries too
};
constexpr Mode kModes[] = {
    {"performance", false, true, kLongWait, 1, kWait},
    {"balanced", false, false, kWait, 1.05, 0},
    {"efficient", true, false, 0, 2, kWait},
};

const Mode& mode_of(std::string_view name) {
  for (const Mode& mode : kModes)
    if (mode.name == name) return mode;
  throw InvalidArgument("power is \"{}\", it should be performance, balanced or efficient", name);
}

// Cores in the order in which a mode takes them, other threads of a core behind all, and how many of them are its own.
struct Order {
  std::vector<int> numbers;
  size_t own = 0;
  bool alike = false;  // all cores are
};

Order order_of(const Mode& mode, std::span<const os::Core> cores) {
  std::vector<size_t> by_speed(cores.size());
  for (size_t i = 0; i < by_speed.size(); ++i) by_speed[i] = i;
  sort_indices(by_speed, [&](size_t a, size_t b) { return cores[a].speed > cores[b].speed; });
  std::vector<os::Core> sorted;
  for (size_t i : by_speed) sorted.push_back(cores[i]);
  std::vector<size_t> kinds(sorted.size(), 0);  // 0: the fastest
  for (size_t i = 1, head = 0; i < sorted.size(); ++i) {
    const bool alike = sorted[i].speed >= kAlike * sorted[head].speed;
    kinds[i] = kinds[i - 1] + (alike ? 0 : 1);
    if (!alike) head = i;
  }
  const size_t slowest = kinds.empty() ? 0 : kinds.back();
  Order order;
  order.alike = slowest == 0;
  for (const bool first : {true, false})
    for (size_t k = 0; k <= slowest; ++k)
      for (size_t i = 0; i < sorted.size(); ++i) {
        if (sorted[i].first != first || kinds[i] != (mode.little ? slowest - k : k)) continue;
        order.numbers.push_back(sorted[i].number);
        order.own += first && (slowest == 0 || (kinds[i] == slowest) == mode.little);
      }
  return order;
}

// The cores for that many threads.
std::vector<int> cores_for(const Order& order, int threads) {
  const size_t count = std::min(std::max(order.own, static_cast<size_t>(threads)), order.numbers.size());
  return {order.numbers.begin(), order.numbers.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<int> numbers_of(std::span<const os::Core> cores) {
  std::vector<int> numbers;
  for (const os::Core& core : cores) numbers.push_back(core.number);
  return numbers;
}

}  // namespace

Way Way::of(const SessionOptions& options) { return {options.threads, options.active_wait, options.pin_threads, options.cores}; }
void Way::set(SessionOptions& options) const {
  options.threads = threads;
  options.active_wait = active_wait;
  options.pin_threads = pin_threads;
  options.cores = cores;
}

Way way_of(std::string_view name, int threads, std::span<const os::Core> cores, int most) {
  const Mode& mode = mode_of(name);
  const Order order = order_of(mode, cores);
  Way way{threads, mode.wait, mode.pin, {}};
  if (threads == 0) {
    way.threads = order.own ? static_cast<int>(order.own) : most;
    if (mode.little && order.alike) way.threads /= 2;
    way.threads = std::max(1, std::min(way.threads, most));
  }
  way.cores = mode.little || mode.pin ? cores_for(order, way.threads) : numbers_of(cores);
  return way;
}

std::vector<Way> ways_by_threads(std::string_view name, int threads, std::span<const os::Core> cores, int most) {
  std::vector<Way> ways = {way_of(name, threads, cores, most)};
  if (threads != 0) return ways;
  for (int count = ways[0].threads / 2; count > 0; count /= 2) ways.push_back(way_of(name, count, cores, most));
  // With the little cores too.
  const auto whole = std::count_if(cores.begin(), cores.end(), [](const os::Core& core) { return core.first; });
  const int all = std::min(static_cast<int>(whole), most);
  if (!mode_of(name).little && all > ways[0].threads) ways.push_back(way_of(name, all, cores, most));
  return ways;
}

std::vector<Way> ways_by_place(std::string_view name, const Way& chosen, std::span<const os::Core> cores) {
  const Mode& mode = mode_of(name);
  std::vector<Way> ways = {chosen};
  if (chosen.threads == 1) return ways;  // the caller's own
  Way placed = chosen;
  placed.pin_threads = !chosen.pin_threads;
  placed.cores = cores_for(order_of(mode, cores), chosen.threads);
  ways.push_back(placed);
  for (size_t i = 0; i < 2; ++i) {
    ways.push_back(ways[i]);
    ways.back().active_wait = mode.other_wait;
  }
  return ways;
}

size_t best_way(std::string_view name, std::span<const double> seconds, std::span<const double> cpu_seconds) {
  const double slack = name.empty() ? 1 : mode_of(name).slack, least = *std::min_element(seconds.begin(), seconds.end());
  size_t best = seconds.size();
  for (size_t i = 0; i < seconds.size(); ++i)
    if (seconds[i] <= slack * least && (best == seconds.size() || cpu_seconds[i] < cpu_seconds[best])) best = i;
  return best;
}

SessionOptions with_power(const SessionOptions& options, std::string_view power) try {
  const Way way = way_of(power, options.threads, os::cores(), os::available_cores());
  SessionOptions result = options;
  result.power.clear();
  if (options.threads == 0) result.threads = way.threads;
  if (options.cores.empty()) result.cores = way.cores;
  if (options.active_wait == -1) result.active_wait = way.active_wait;
  result.pin_threads |= way.pin_threads;
  return result;
} catch (...) {
  throw_as_error();
}

SessionOptions resolved(const SessionOptions& given) {
  SessionOptions options = given.power.empty() ? given : with_power(given, given.power);
  options.power.clear();
  const std::vector<int> allowed = os::allowed_cores();
  for (const int core : options.cores)
    if (std::find(allowed.begin(), allowed.end(), core) == allowed.end())
      throw InvalidArgument("cores names {}, this process may use {}", core, allowed);
  if (options.active_wait != -1 && !(options.active_wait >= 0 && options.active_wait <= 1))
    throw InvalidArgument("active_wait is {}; it is a number of seconds, at most 1, or -1", options.active_wait);
  return options;
}

void place_threads(const SessionOptions& options) {
  if (options.pin_threads || !options.cores.empty()) ThreadPool::process().place(options.cores, options.pin_threads);
  if (options.active_wait >= 0) set_active_wait(options.active_wait);
}

}  // namespace minnow

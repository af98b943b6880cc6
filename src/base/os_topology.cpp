// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

#include "base/topology.h"

namespace minnow::os {
namespace {

constexpr int kMostCores = 4096;

// The first line of a short file; empty if there is none.
std::string line_of(const std::string& path) {
  std::string line;
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    char text[4096];
    if (std::fgets(text, sizeof text, file)) line = text;
    std::fclose(file);
  }
  return line;
}

// Parses the system's lists of cores, such as "0-3,8"; empty for other text.
std::vector<int> list_of(const std::string& text) {
  std::vector<int> numbers;
  for (const char* at = text.c_str();;) {
    int first = 0, used = 0;
    if (std::sscanf(at, "%5d%n", &first, &used) != 1 || first < 0 || first >= kMostCores) return {};
    int last = first;
    at += used;
    if (*at == '-') {
      if (std::sscanf(++at, "%5d%n", &last, &used) != 1 || last < first || last >= kMostCores) return {};
      at += used;
    }
    for (int i = first; i <= last; ++i) numbers.push_back(i);
    if (*at != ',') return *at == '\n' || *at == 0 ? numbers : std::vector<int>();
    ++at;
    if (numbers.size() > size_t{kMostCores}) return {};
  }
}

double number_of(const std::string& text) {
  double number = 0;
  return std::sscanf(text.c_str(), "%15lf", &number) == 1 && number > 0 && number < 1e15 ? number : 0;
}

}  // namespace

std::vector<Core> read_cores(std::span<const int> allowed, const std::string& root) {
  std::vector<Core> cores;
  for (const int number : allowed) {
    Core core{number};
    const std::vector<int> threads = list_of(line_of(root + "/cpu" + std::to_string(number) + "/topology/thread_siblings_list"));
    const auto of_this = [&](int other) { return std::find(threads.begin(), threads.end(), other) != threads.end(); };
    if (of_this(number)) core.first = std::none_of(cores.begin(), cores.end(), [&](const Core& other) { return of_this(other.number); });
    cores.push_back(core);
  }
  // Schedulers use capacities. If all are equal, as before Linux 6.12 on x86, frequencies may distinguish the cores.
  for (const char* file : {"/cpu_capacity", "/cpufreq/cpuinfo_max_freq"}) {
    std::vector<double> speeds;
    for (const int number : allowed) speeds.push_back(number_of(line_of(root + "/cpu" + std::to_string(number) + file)));
    if (speeds.empty()) break;
    const auto [least, most] = std::minmax_element(speeds.begin(), speeds.end());
    if (*least <= 0 || *least == *most) continue;
    for (size_t i = 0; i < cores.size(); ++i) cores[i].speed = speeds[i] / *most;
    break;
  }
  return cores;
}

const std::vector<Core>& cores() {
  static const std::vector<Core> found = read_cores(allowed_cores());
  return found;
}

#if defined(__linux__)

namespace {

bool set_affinity(std::span<const int> cores) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<size_t>(core), &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

std::vector<int> allowed_cores() {
  // The cores of the process, not of the calling thread: a thread that was placed before may be placed elsewhere.
  static const std::vector<int> found = [] {
    cpu_set_t set;
    std::vector<int> numbers;
    if (::sched_getaffinity(::getpid(), sizeof set, &set) == 0)
      for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(static_cast<size_t>(core), &set)) numbers.push_back(core);
    return numbers;
  }();
  return found;
}

bool stay_on_cores(std::span<const int> cores) noexcept {
  if (!cores.empty()) return set_affinity(cores);
  try {
    return set_affinity(allowed_cores());
  } catch (...) {
    return false;  // there is no memory for the list
  }
}

static_assert(sizeof(cpu_set_t) <= 128);

OnCores::OnCores(std::span<const int> cores) noexcept {
  cpu_set_t before;
  if (cores.empty() || ::sched_getaffinity(0, sizeof before, &before) != 0) return;
  std::memcpy(before_, &before, sizeof before);
  changed_ = set_affinity(cores);
}

OnCores::~OnCores() {
  if (!changed_) return;
  cpu_set_t before;
  std::memcpy(&before, before_, sizeof before);
  ::sched_setaffinity(0, sizeof before, &before);
}

#else

std::vector<int> allowed_cores() { return {}; }
bool stay_on_cores(std::span<const int>) noexcept { return false; }
OnCores::OnCores(std::span<const int>) noexcept {}
OnCores::~OnCores() = default;

#endif

}  // namespace minnow::os

// SPDX-License-Identifier: Apache-2.0
// The cores of this machine: how fast, and which are threads of one. Implemented in os_*.cpp, as all that asks the system.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace minnow::os {

struct Core {
  int number = 0;     // the system's
  double speed = 1;   // beside the others': 1 is the fastest
  bool first = true;  // of the hardware threads of its core that the process may use; true for all if the system does not report them
  friend bool operator==(const Core&, const Core&) = default;
};

/// Numbers of the online cores in this process's affinity mask. Empty if the system does not report them.
std::vector<int> allowed_cores();
/// Reads the system's files about these cores, in order. Speed is `root`/cpuN/cpu_capacity, else cpufreq/cpuinfo_max_freq, if all cores
/// have it; topology/thread_siblings_list names the threads of a core. If files are absent or invalid, all cores are alike.
std::vector<Core> read_cores(std::span<const int> allowed, const std::string& root = "/sys/devices/system/cpu");
/// The same of this process, read once.
const std::vector<Core>& cores();

/// Keeps the calling thread on these cores from now on; none: on all of allowed_cores() as they were at the first call. False if the
/// system refuses.
bool stay_on_cores(std::span<const int> cores) noexcept;

/// While this object lives, the calling thread stays on these cores. An empty list changes nothing. Allocates nothing.
class OnCores {
 public:
  explicit OnCores(std::span<const int> cores) noexcept;
  ~OnCores();
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  [[maybe_unused]] bool changed_ = false;
  [[maybe_unused]] alignas(8) unsigned char before_[128];  // the system's set of cores
};

}  // namespace minnow::os

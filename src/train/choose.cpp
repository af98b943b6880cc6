// SPDX-License-Identifier: Apache-2.0
// The cheapest of several configurations, by an estimate of a step's time.
#include <minnow/optimizer.h>

#include <algorithm>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "train/rule_optimizer.h"

namespace minnow {
namespace {

// A desktop core of about 2022. Updates are bound by memory, so that these decide about threads and states, seldom about arithmetic.
constexpr double kOperations = 8e9;      // of a core, each second
constexpr double kCoreBandwidth = 12e9;  // bytes, of a core
constexpr double kBandwidth = 30e9;      // of all cores together
constexpr double kWake = 5e-6;           // seconds until a further thread has begun
constexpr double kTransfer = 10e9;       // bytes to a device and back, each second
constexpr double kLaunch = 50e-6;        // seconds until a device has begun

double seconds_of(const Optimizer::Config& config, const Optimizer::Cost& cost, double values, double bytes) {
  const int cores = os::available_cores();
  const int threads = config.threads > 0 ? std::min(config.threads, cores) : values < static_cast<double>(train::kWorthThreads) ? 1 : cores;
  const double moved = 3 * bytes + 2 * cost.memory * 1e6;  // weights are read and written, gradients read, states read and written
  if (config.device == Optimizer::Device::gpu || config.device == Optimizer::Device::other) return kLaunch + moved / kTransfer;
  return std::max(cost.compute * 1e6 / (kOperations * threads), moved / std::min(kCoreBandwidth * threads, kBandwidth)) +
         kWake * (threads - 1);
}

}  // namespace

size_t Optimizer::choose(std::span<const Config> candidates, std::span<const Trainable> tensors, double most_memory) try {
  double values = 0, bytes = 0, best_seconds = 0, least_memory = 0;
  for (const Trainable& tensor : tensors) {
    values += static_cast<double>(tensor.values.elements());
    bytes += static_cast<double>(tensor.values.bytes());
  }
  size_t best = candidates.size();
  std::string refusal;
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::unique_ptr<Optimizer> made;
    try {
      made = create(candidates[i]);
    } catch (const Unsupported& error) {  // of a device that this build has no updates for
      refusal = error.what();
      continue;
    }
    const Cost cost = made->on_measure(tensors);
    if (cost.memory > most_memory) {
      least_memory = least_memory > 0 ? std::min(least_memory, cost.memory) : cost.memory;
      continue;
    }
    if (const double seconds = seconds_of(candidates[i], cost, values, bytes); best == candidates.size() || seconds < best_seconds)
      best = i, best_seconds = seconds;
  }
  if (best < candidates.size()) return best;
  if (candidates.empty()) throw InvalidArgument("there are no configurations to choose from");
  if (least_memory > 0) throw InvalidArgument("no configuration fits {} MB of state; the smallest takes {} MB", most_memory, least_memory);
  throw Unsupported("none of the configurations can be used here: {}", refusal);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_times.h"

#include <algorithm>

namespace minnow {

DeviceTimes::DeviceTimes(const Plan& plan, bool& active) : active_(active) {
  for (const Step& step : plan.steps()) {
    Backend* const device = memory_of(*step.backend);
    if (!device || std::any_of(tracks_.begin(), tracks_.end(), [&](const Track& track) { return track.device == device; })) continue;
    if (!device->can_stamp()) continue;
    device->finish();
    device->stamp();
    tracks_.push_back({device, Clock::now(), {}});
  }
  active_ = true;
}

DeviceTimes::~DeviceTimes() {
  active_ = false;
  for (Track& track : tracks_) try {
      track.device->take_stamps();  // of a run that failed
    } catch (...) {}
}

bool DeviceTimes::run(size_t number, const Step& step, RunContext& context) {
  for (Track& track : tracks_)
    if (track.device == memory_of(*step.backend)) {
      track.steps.push_back(number);
      track.device->stamp();
      step.kernel->run(context);
      track.device->stamp();
      return true;
    }
  return false;
}

void DeviceTimes::report(FunctionRef<void(size_t, Clock::time_point, double)> f) {
  for (Track& track : tracks_) {
    const std::vector<double> stamps = track.device->take_stamps();
    if (stamps.size() != 1 + 2 * track.steps.size()) continue;  // the driver refused one
    for (size_t i = 0; i < track.steps.size(); ++i) {
      const double begin = stamps[1 + 2 * i], end = stamps[2 + 2 * i];
      f(track.steps[i], track.begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(begin)),
        std::max(end - begin, 0.0));
    }
  }
}

}  // namespace minnow

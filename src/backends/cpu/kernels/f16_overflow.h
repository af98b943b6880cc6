// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace minnow::cpu {

/// How many tiles that sum in f16, of all threads, ended with a sum that is infinite or NaN. One place for the process: where two sessions
/// run at the same time, one may take the other's for its own, and gives up a scheme that it could have kept.
std::atomic<uint32_t>& f16_overflows() noexcept;

}  // namespace minnow::cpu

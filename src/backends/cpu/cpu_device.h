// SPDX-License-Identifier: Apache-2.0
// Facts for the schemes of this backend, beyond backend.h.
#pragma once
#include "backends/backend.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {

/// The Device that this backend gives to every estimate and prepare.
struct CpuDevice : Device {
  Isa isa = Isa::sse4;
  const Kernels* kernels = nullptr;
};
inline const CpuDevice& cpu_device(const Device& device) { return static_cast<const CpuDevice&>(device); }

}  // namespace minnow::cpu

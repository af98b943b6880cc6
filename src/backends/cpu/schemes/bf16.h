// SPDX-License-Identifier: Apache-2.0
// What the schemes that multiply in bf16 share: they serve precision "low". Values between operators stay f32; each scheme rounds its input
// as it takes it.
#pragma once
#include <string>

#include "backends/cpu/cpu_device.h"

namespace minnow::cpu {

/// Why no such scheme may serve; empty where one may.
std::string refusal_of_bf16(const Device& device);

}  // namespace minnow::cpu

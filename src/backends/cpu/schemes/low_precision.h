// SPDX-License-Identifier: Apache-2.0
// Shared by the schemes that multiply in 16 bits. They serve precision "low". Values between operators stay f32; each scheme rounds its
// input as it takes it.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "backends/cpu/cpu_device.h"
#include "graph/node_view.h"

namespace minnow::cpu {

/// How a scheme takes the factors of its products.
enum class Factors : uint8_t { f32, bf16, f16 };

/// Declines, with the reason, if no scheme with such factors can serve the node. `weights`: the inputs that the scheme rounds beforehand if
/// they are constant.
Estimate refusal_of(Factors factors, const NodeView& node, const Device& device, std::initializer_list<size_t> weights = {1});
/// The kernels that multiply them, with tiles for plain images or without; null for f32.
const LowPrecisionKernels* low_precision_kernels(Factors factors, const Kernels& kernels, bool plain = false);
/// Multiply-adds per second, relative to those of f32 tiles on this machine.
double speed_of(Factors factors, const Kernels& kernels, bool plain = false);
/// In the names of packings: "", " bf16", " f16".
std::string_view suffix_of(Factors factors) noexcept;

}  // namespace minnow::cpu

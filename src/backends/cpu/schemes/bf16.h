// SPDX-License-Identifier: Apache-2.0
// What the schemes that multiply in bf16 share: they serve precision "low" where the machine has the instruction. Values between
// operators stay f32; each scheme rounds its input as it takes it.
#pragma once
#include <string>
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/conv_shape.h"

namespace minnow::cpu {

/// Why no such scheme may serve; empty where one may.
std::string refusal_of_bf16(const Device& device);

/// The machine's kernels with the tile of bf16 pairs in the place of f32's.
inline Kernels bf16_kernels(const Kernels& kernels) {
  Kernels pairs = kernels;
  pairs.tile = &kernels.bf16->tile;
  return pairs;
}

/// Weights [outer][channels][inner] of f32 times `factor` as [outer][(channels + 1) / 2][inner] pairs of bf16, rounded to nearest.
std::vector<float> bf16_pairs(const float* w, size_t outer, size_t channels, size_t inner, float factor = 1);

}  // namespace minnow::cpu

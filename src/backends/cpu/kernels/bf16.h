// SPDX-License-Identifier: Apache-2.0
// Products of bf16 pairs, summed in f32, where the machine has an instruction for them.
#pragma once
#include <vector>

#include "backends/cpu/kernels/tile.h"

namespace minnow::cpu {

/// Two neighbouring channels in bf16, the first in the lower half, take the place of a float: what moves images and weights of f32 moves
/// pairs as well, the image then having half as many channels. Sums, bias and results are f32.
struct Bf16Kernels {
  TileKernels tile;  // `packed` and `plain`; no rows: this instruction set has none
  /// Pixels of two neighbouring vectors of channels (`high` null: of one), `lanes` floats each, as pixels of `lanes` pairs. Channels from
  /// `channels` on become zero, whatever they hold.
  void (*pairs)(const float* low, const float* high, size_t pixels, size_t channels, float* to);
  /// `count` floats of two planes (`high` null: of one) as pairs.
  void (*planes)(const float* low, const float* high, size_t count, float* to);
  /// At most two vectors of floats of each of `rows` rows, `stride` floats apart, as a vector of pairs each; what is beyond becomes zero.
  void (*row_pairs)(const float* from, size_t stride, size_t rows, size_t count, float* to);
};

/// Weights [outer][channels][inner] of f32 times `factor` as [outer][(channels + 1) / 2][inner] pairs of bf16, rounded to nearest.
std::vector<float> bf16_pairs(const float* w, size_t outer, size_t channels, size_t inner, float factor = 1);

/// Whether this machine runs them. Callers check that before they use the table.
bool has_bf16_products();
/// Multiply-adds a second beside those of f32 tiles on this machine.
double bf16_speed();

}  // namespace minnow::cpu

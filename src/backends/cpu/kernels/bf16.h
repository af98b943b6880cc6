// SPDX-License-Identifier: Apache-2.0
// Products of bf16 pairs, summed in f32, where the machine has an instruction for them.
#pragma once
#include "backends/cpu/kernels/tile.h"

namespace minnow::cpu {

/// Two neighbouring channels in bf16, the first in the lower half, take the place of a float: what moves images and weights of f32 moves
/// pairs as well, the image then having half as many channels. Sums, bias and results are f32.
struct Bf16Kernels {
  TileKernels tile;  // `packed` alone; no rows: this instruction set has none
  /// Pixels of two neighbouring vectors of channels (`high` null: of one), `lanes` floats each, as pixels of `lanes` pairs. Channels from
  /// `channels` on become zero, whatever they hold.
  void (*pairs)(const float* low, const float* high, size_t pixels, size_t channels, float* to);
  /// `count` floats next to each other as (count + 1) / 2 pairs.
  void (*row)(const float* from, size_t count, float* to);
};

/// Whether this machine runs them. Callers check that before they use the table.
bool has_bf16_products();
/// Multiply-adds a second beside those of f32 tiles on this machine.
double bf16_speed();

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Products of bf16 pairs, summed in f32: by an instruction where the machine has one, else widened in the tile.
#pragma once
#include <vector>

#include "backends/cpu/kernels/tile.h"

namespace minnow::cpu {

/// Two neighbouring channels in bf16, the first in the lower half, take the place of a float: what moves images and weights of f32 moves
/// pairs as well, the image then having half as many channels. Sums, bias and results are f32.
struct Bf16Kernels {
  TileKernels tile;  // `packed`, and in the direct form `plain`
  /// Pixels of two neighbouring vectors of channels (`high` null: of one), `lanes` floats each, as pixels of `lanes` pairs. Channels from
  /// `channels` on become zero, whatever they hold.
  void (*pairs)(const float* low, const float* high, size_t pixels, size_t channels, float* to);
  /// `count` floats of two planes (`high` null: of one) as pairs.
  void (*planes)(const float* low, const float* high, size_t count, float* to);
  /// At most two vectors of floats of each of `rows` rows, `stride` floats apart, as a vector of pairs each; what is beyond becomes zero.
  void (*row_pairs)(const float* from, size_t stride, size_t rows, size_t count, float* to);
};

/// Those of an instruction set.
struct Bf16Forms {
  Bf16Kernels widening;  // runs wherever f32 does, no faster than that
  Bf16Kernels direct;    // by an instruction; no tiles: this instruction set has none
};

/// Whether this machine runs the direct form.
bool has_bf16_products();
/// The form that this machine should take.
const Bf16Kernels& bf16_kernels(const Bf16Forms& forms);
/// Multiply-adds a second of that form beside those of f32 tiles on this machine.
double bf16_speed(const Bf16Forms& forms);

/// Weights [outer][channels][inner] of f32 times `factor` as [outer][(channels + 1) / 2][inner] pairs of bf16, rounded to nearest.
std::vector<float> bf16_pairs(const float* w, size_t outer, size_t channels, size_t inner, float factor = 1);

}  // namespace minnow::cpu

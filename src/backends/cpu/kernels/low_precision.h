// SPDX-License-Identifier: Apache-2.0
// Products of factors that are rounded to bf16 or f16, two neighbouring channels side by side, summed in f32.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/tile.h"

namespace minnow::cpu {

enum class LowPrecisionFormat : uint8_t { bf16, f16 };

/// Two neighbouring channels in 16 bits each, the first in the lower half, occupy the place of a float. So code that moves images and
/// weights of f32 also moves pairs, as an image of half as many channels. Sums, bias and results are f32.
struct LowPrecisionKernels {
  TileKernels tile;  // `packed`, and in forms by an instruction `plain`
  /// Converts pixels of two neighbouring vectors of channels (`high` null: of one), `lanes` floats each, to pixels of `lanes` pairs, in
  /// `parts` planes. Channels from `channels` on become zero, whatever they hold. `to` may be `low` only if there is one part.
  void (*pack_pixels)(const float* low, const float* high, size_t pixels, size_t channels, float* to);
  /// `count` floats of two planes (`high` null: of one) as pairs.
  void (*pack_planes)(const float* low, const float* high, size_t count, float* to);
  /// Converts at most two vectors of floats of each of `rows` rows, `stride` floats apart, to a vector of pairs each, in `parts` planes,
  /// filled up with zeros.
  void (*pack_rows)(const float* from, size_t stride, size_t rows, size_t count, float* to);
  LowPrecisionFormat format;  // of the tile's weights
  float divisor = 1;          // of an image's floats when they become pairs; products are multiplied by it again
  /// Planes that the vectors of pairs of an image are cut into, [part][pixel][lanes / parts], for tiles of `packed`: pixels are so much
  /// closer then, and vectors of channels as far apart as ever. A tile may read 4 floats beyond the last pixel.
  size_t parts = 1;
  /// Reorders the weights of a panel, [pair][lanes of `vectors` vectors], for `packed`: the weights of each tap that fill whole vectors of
  /// pairs. Null: they keep their order.
  void (*arrange)(float* panel, size_t pairs, size_t vectors) = nullptr;

  /// The same for a panel of one tap and any number of pairs.
  void arrange_whole(float* panel, size_t count, size_t vectors, size_t lanes) const {
    if (arrange) arrange(panel, count / lanes * lanes, vectors);
  }
};

/// Weights [outer][channels][inner] of f32 times `factor` as [outer][(channels + 1) / 2][inner] pairs, rounded to nearest.
std::vector<float> low_precision_weights(LowPrecisionFormat format, const float* w, size_t outer, size_t channels, size_t inner,
                                         float factor = 1);

}  // namespace minnow::cpu

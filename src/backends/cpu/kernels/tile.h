// SPDX-License-Identifier: Apache-2.0
// The register tile that every matrix product and convolution goes through:
//   y[pixel][n] = bias[n] + sum over tap, k of x[pixel, tap, k] * w[tap][k][n],  n over one or two vectors.
#pragma once
#include <atomic>
#include <cstddef>

namespace minnow::cpu {

/// The most products summed one after another in f32: sums of millions of similar numbers would lose most of their digits. Longer sums are
/// composed of parts.
inline constexpr size_t kLongestSum = size_t{1} << 15;

/// Further uses of a product of Strassen's algorithm. At each of its levels, from the innermost: also += product; product += add. Then
/// Tile's own with product + bias. Null: not so. Neighbouring rows of `also` and `add` are a vector apart, the tile's two vectors
/// `stride`.
inline constexpr size_t kStrassenLevels = 2;
struct TileSums {
  struct Level {
    float* also = nullptr;
    const float* add = nullptr;
    ptrdiff_t stride = 0;
  };
  Level levels[kStrassenLevels];
  const float* bias = nullptr;
};

/// Weights that are sums: from - less + plus - less_too (the last two may be null). The tile computes them and writes them to `to`, for
/// itself and for later tiles. Null `from`: `to` already holds them.
struct TileWeights {
  const float *from = nullptr, *less = nullptr, *plus = nullptr, *less_too = nullptr;
  float* to = nullptr;
};

/// One call. A tile of `rows` pixels consists of two runs of neighbouring pixels, the first of (rows + 1) / 2, so that each can be a whole
/// row of a narrow image. Distances are in floats. Nothing needs to be aligned.
struct Tile {
  const float* x[2] = {};      // the first pixel of each run
  const ptrdiff_t* taps = {};  // the offset of every tap from x
  size_t tap_count = 1;
  size_t blocks = 0;           // whole vectors of input channels per tap
  size_t rest = 0;             // channels beyond them; lanes beyond those are not read
  ptrdiff_t block_stride = 0;  // from one vector of input channels to the next
  const float* w = nullptr;    // [tap][channel][n], without gaps
  float* y[2] = {};
  ptrdiff_t pixel_stride = 0, vector_stride = 0;  // of y and of `add`
  const float* bias = nullptr;                    // [n], or null: zero
  bool accumulate = false;                        // start from y instead of the bias
  bool finish = false;                            // add `add`, multiply by `scale` and round, then clamp
  const float* add[2] = {};                       // the other arm of a residual block, or null
  const float* scale = nullptr;                   // [n], or null: neither multiply nor round
  float low = 0, high = 0;
  const char* prefetch = nullptr;           // asked_bytes are asked for per channel; null: none
  ptrdiff_t prefetch_also = 0;              // and one that lies so many bytes further
  TileSums sums;                            // looked at by `summed` only
  TileWeights make;                         // likewise; `w` is `make.to` then, there is one tap, and `rest` is 0
  std::atomic<bool>* overflowed = nullptr;  // set by tiles that sum in f16 where a sum is infinite or NaN; null: nobody asks
};
using TileFunction = void (*)(const Tile&);

/// The bytes that one tile prefetches of a channel's weights of `lanes` floats: a cache line at most.
constexpr size_t asked_bytes(size_t lanes) { return lanes * sizeof(float) < 64 ? lanes * sizeof(float) : 64; }

inline constexpr int kMostTileRows = 32;  // 14 where sums stay in vectors

/// Rows of a row-major matrix in Strassen's quarters: `to` gets, as vectors of [quarter or sum][vector of half a row][row], a11, a12, a21,
/// a22 and the four sums of `strassen_sums`. Distances are in floats.
struct StrassenRows {
  const float *top, *bottom;  // the first row of the upper and of the lower half
  size_t stride;              // from one row to the next
  size_t vectors;             // of half a row
  size_t rows, bottom_rows;   // the last row may have no partner in the lower half: zero
  float* to;
  size_t vector_step, part_step;
};

/// Rows of the right factor's quarters b11, b12, b21, b22, each of two vectors: part i of `to` gets factor i of Strassen's seven products,
/// row after row. Every element is multiplied by `factor` first.
struct StrassenFactors {
  const float* from[4];
  size_t from_row;  // floats from one row to the next
  size_t rows;
  float factor;
  float* to;
  size_t part_step;
};

struct TileKernels {
  int rows[3];  // most rows of a tile of 1 and 2 vectors
  /// [vectors][rows]; null above the most. Neighbouring pixels are `lanes` floats apart, and the channels of a vector next to each other.
  const TileFunction (*packed)[kMostTileRows + 1];
  /// [rows]: of 2 vectors and with `sums`.
  const TileFunction* summed;
  /// Vectors of the left factor's sums from its quarters a11, a12, a21, a22: a21 + a22, that - a11, a11 - a21, a12 - the second.
  void (*strassen_sums)(const float* const (&a)[4], float* const (&s)[4], size_t vectors);
  void (*strassen_rows)(const StrassenRows& rows);
  void (*strassen_factors)(const StrassenFactors& factors);
  /// Like `packed`, for neighbouring pixels that are adjacent in memory and taps of one channel (ignores `blocks` and `rest`).
  const TileFunction (*plain)[kMostTileRows + 1];
};

}  // namespace minnow::cpu

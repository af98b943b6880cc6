// SPDX-License-Identifier: Apache-2.0
// The arithmetic of preprocess.cpp, compiled for each instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::vision {

/// Pixels of a tile.
inline constexpr size_t kPreprocessTile = 256;

struct PreprocessLoops {
  /// Four pixels of up to four bytes around each place, and weights of the right and the lower ones (null: the first pixel alone), to
  /// planes.
  void (*blend)(const uint32_t* const* corners, const float* across, const float* down, int channels, float* const* planes, size_t n);
  /// The same of y, u and v, each pixel as blue, green and red first: they are bounded before the blend.
  void (*blend_yuv)(const uint32_t* const* corners, const float* across, const float* down, float* const* planes, size_t n);
  /// blue, green, red to gray.
  void (*to_gray)(const float* blue, const float* green, const float* red, float* gray, size_t n);
  /// Where `outside` is not 0: the padding.
  void (*pad)(float* plane, const uint8_t* outside, float padding, size_t n);
  /// (plane - mean) * scale.
  void (*finish)(const float* plane, double mean, float scale, float* out, size_t n);
};
const PreprocessLoops& preprocess_loops();

}  // namespace minnow::vision

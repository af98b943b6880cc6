// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace minnow::vision {

struct BlobLoops {
  /// Planes of (value - mean) * scale of n pixels of three bytes.
  void (*three)(const uint8_t* pixels, int64_t n, float* const* planes, const float* mean, float scale);
};
const BlobLoops& blob_loops();

}  // namespace minnow::vision

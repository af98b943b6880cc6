// SPDX-License-Identifier: Apache-2.0
// Loops that move pixels: rows are reversed, tiles transposed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::vision {

struct ArrangeLoops {
  /// out[i] = in[n - 1 - i], of pixels of some bytes. out is not in.
  void (*reverse)(const std::byte* in, int64_t n, int64_t bytes, std::byte* out);
  /// out[x][y] = in[y][x] for `rows` rows of `columns` pixels of some bytes; strides may be negative.
  void (*transpose)(const std::byte* in, int64_t in_stride, int64_t rows, int64_t columns, int64_t bytes, std::byte* out,
                    int64_t out_stride);
};

const ArrangeLoops& arrange_loops();

}  // namespace minnow::vision

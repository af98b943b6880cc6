// SPDX-License-Identifier: Apache-2.0
// Writers of small PNG and JPEG files whose pixels are known: the tests' own, so that nothing that reads them wrote them.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace minnow::test {

using Bytes = std::vector<uint8_t>;
inline std::span<const std::byte> view(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }

/// The place of a sample within a picture of PNG: what it is made of, and how it is written.
struct PngFile {
  int width = 1, height = 1, depth = 8, type = 2;  // 0 gray, 2 colours, 3 palette, 4 gray and alpha, 6 colours and alpha
  bool interlaced = false;
  std::vector<int> samples = {};  // row by row, red first
  Bytes palette = {}, transparency = {};
  int claimed_width = 0, claimed_height = 0;  // what the header says instead, where not 0
  int channels() const { return type == 2 ? 3 : type == 4 ? 2 : type == 6 ? 4 : 1; }
  int sample(int x, int y, int c) const { return samples[static_cast<size_t>((y * width + x) * channels() + c)]; }
  /// Random samples.
  void fill(std::mt19937& random);
  /// Rows use the five filters in turn; the data lies in stored blocks, cut over chunks.
  Bytes bytes() const;
};

/// A JPEG file of one or three components without subsampling, each a grid of blocks of 8 x 8 coefficients; all quantizers are 1.
struct JpegFile {
  using Block = std::array<int, 64>;  // rows of coefficients, the lowest frequencies first
  int columns = 1, rows = 1;          // blocks
  std::vector<std::vector<Block>> components = {};
  int restart_interval = 0;  // blocks
  int orientation = 0;       // 1 to 8: an EXIF block says so
  /// The value at a place, before it is rounded: the inverse transform as ISO/IEC 10918-1 A.3.3 writes it.
  double value(size_t component, int x, int y) const;
  void fill(std::mt19937& random, size_t component_count);
  Bytes bytes() const;
};

}  // namespace minnow::test

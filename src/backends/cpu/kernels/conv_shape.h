// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/share.h"

namespace minnow::cpu {

/// A two-dimensional convolution of one batch. The output's size determines the padding at the bottom and at the right.
struct ConvShape {
  size_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  size_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  size_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  size_t pad_top = 0, pad_left = 0;
  bool channels_last = false;  // a plain image is [in_h][in_w][in_channels]

  size_t taps() const noexcept { return kernel_h * kernel_w; }
  size_t extent_h() const noexcept { return (kernel_h - 1) * dilation_h + 1; }
  size_t extent_w() const noexcept { return (kernel_w - 1) * dilation_w + 1; }
  /// Every tap of every output lies inside the input.
  bool reads_no_padding() const noexcept {
    return pad_top == 0 && pad_left == 0 && (out_h - 1) * stride_h + extent_h() <= in_h && (out_w - 1) * stride_w + extent_w() <= in_w;
  }
};

/// The position of output (row, column) in a larger image: (top + row * step_h, left + column * step_w).
struct OutputGrid {
  size_t height, width;  // of the larger image
  size_t top = 0, left = 0, step_h = 1, step_w = 1;
};

/// For images that are slices of 3-D ones: positions of one channel of the whole input and output, and taps of one filter for one channel.
struct Slices {
  size_t in, out, taps;
};

/// How weights lie: the first tap, and from one group, output or input channel of a group, row and column of taps to the next.
struct FilterSteps {
  size_t first = 0, group, output, channel;
  ptrdiff_t row, column;
};

/// How threads divide a layer: the number of parts of its pixels, a divisor of the number of threads; the channels are divided into threads
/// / parts. A thread that computes the same pixels in layer after layer finds them in its own caches, but reads the weights of all
/// channels; a thread that computes a few channels reads all pixels. It should read about as much of both.
inline size_t pixel_parts(size_t threads, size_t pixels, size_t in_channels, size_t out_channels, size_t taps = 1) noexcept {
  const double weights = static_cast<double>(in_channels * out_channels * taps);
  const double data = static_cast<double>(pixels * (in_channels + out_channels));
  size_t parts = threads;
  while (parts > 1 && (threads % parts != 0 || static_cast<double>(parts * parts) * weights > 4 * static_cast<double>(threads) * data))
    --parts;
  return parts;
}

}  // namespace minnow::cpu

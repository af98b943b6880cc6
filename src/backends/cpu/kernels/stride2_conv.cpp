// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/stride2_conv.h"
#include "base/saturating.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

// Tap k reads pixel offset + k of the blocks that begin with the output's own.
size_t offset_of(size_t pad) { return pad % 2; }
size_t taps_of(size_t kernel, size_t pad) { return (offset_of(pad) + kernel - 1) / 2 + 1; }

}  // namespace

std::optional<WinogradForm> Stride2Conv::form_of(const ConvShape& s) {
  if (s.stride_h != 2 || s.stride_w != 2 || s.dilation_h != 1 || s.dilation_w != 1 || s.groups != 1) return std::nullopt;
  const size_t taps = taps_of(s.kernel_h, s.pad_top);
  if (taps != taps_of(s.kernel_w, s.pad_left)) return std::nullopt;
  if (taps == 3) return WinogradForm::f4;
  if (taps == 4) return WinogradForm::four_f4;
  return std::nullopt;
}

ConvShape Stride2Conv::blocks_of(const ConvShape& s) {
  ConvShape b = s;
  b.in_channels = 4 * s.in_channels;
  b.in_h = ceil_div(s.in_h, 2), b.in_w = ceil_div(s.in_w, 2);
  b.kernel_h = taps_of(s.kernel_h, s.pad_top), b.kernel_w = taps_of(s.kernel_w, s.pad_left);
  b.stride_h = b.stride_w = 1;
  b.pad_top = ceil_div(s.pad_top, 2), b.pad_left = ceil_div(s.pad_left, 2);
  return b;
}

Stride2Conv::Stride2Conv(const Kernels& kernels, const ConvShape& shape, const WinogradConv::Options& options, const Epilogue& epilogue)
    : shape_(shape), blocks_(blocks_of(shape)), lanes_(kernels.lanes), conv_(kernels, blocks_, options, epilogue) {}

void Stride2Conv::pack_weights(const float* oihw, float* out) const {
  const size_t taps_h = blocks_.kernel_h, taps_w = blocks_.kernel_w, planes = shape_.out_channels * shape_.in_channels;
  std::vector<float> weights(planes * 4 * taps_h * taps_w);
  for (size_t plane = 0; plane < planes; ++plane)
    for (size_t ky = 0; ky < shape_.kernel_h; ++ky)
      for (size_t kx = 0; kx < shape_.kernel_w; ++kx) {
        const size_t y = ky + offset_of(shape_.pad_top), x = kx + offset_of(shape_.pad_left);
        weights[((plane * 4 + y % 2 * 2 + x % 2) * taps_h + y / 2) * taps_w + x / 2] =
            oihw[(plane * shape_.kernel_h + ky) * shape_.kernel_w + kx];
      }
  conv_.pack_weights(weights.data(), out);
}

size_t Stride2Conv::blocks_floats() const noexcept {
  return product_of({shape_.batch, ceil_div(blocks_.in_channels, lanes_), blocks_.in_h, blocks_.in_w, lanes_});
}

// One row of blocks, all channels. Pixels beyond the image, and lanes without a channel, are zero.
void Stride2Conv::gather(size_t unit, const float* x, float* out) const noexcept {
  const size_t image = unit / blocks_.in_h, row = unit % blocks_.in_h, whole = shape_.in_w / 2;
  const size_t vectors = ceil_div(blocks_.in_channels, lanes_), plane = blocks_.in_h * blocks_.in_w * lanes_;
  for (size_t v = 0; v < vectors; ++v) {
    float* to = out + (image * vectors + v) * plane + row * blocks_.in_w * lanes_;
    const size_t first = v * lanes_ / 4, channels = std::min(shape_.in_channels, first + lanes_ / 4) - first;
    if (channels * 4 < lanes_) std::memset(to, 0, blocks_.in_w * lanes_ * sizeof(float));
    for (size_t c = 0; c < channels; ++c)
      for (size_t y = 0; y < 2; ++y) {
        float* pair = to + c * 4 + y * 2;
        if (2 * row + y >= shape_.in_h) {
          for (size_t i = 0; i < blocks_.in_w; ++i) pair[i * lanes_] = pair[i * lanes_ + 1] = 0;
          continue;
        }
        const size_t step = shape_.channels_last ? shape_.in_channels : 1;  // floats from one pixel to the next
        const float* from = shape_.channels_last ? x + (image * shape_.in_h + 2 * row + y) * shape_.in_w * step + first + c
                                                 : x + ((image * shape_.in_channels + first + c) * shape_.in_h + 2 * row + y) * shape_.in_w;
        if (step == 1)
          for (size_t i = 0; i < whole; ++i) std::memcpy(pair + i * lanes_, from + 2 * i, 2 * sizeof(float));
        else
          for (size_t i = 0; i < whole; ++i) pair[i * lanes_] = from[2 * i * step], pair[i * lanes_ + 1] = from[(2 * i + 1) * step];
        if (shape_.in_w % 2) pair[whole * lanes_] = from[2 * whole * step], pair[whole * lanes_ + 1] = 0;
      }
  }
}

}  // namespace minnow::cpu

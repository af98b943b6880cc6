// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/depthwise_conv.h"
#include "base/saturating.h"

#include <algorithm>

namespace minnow::cpu {

DepthwiseConv::DepthwiseConv(const Kernels& kernels, const ConvShape& s, const Options& options, const Epilogue& epilogue)
    : shape_(s),
      epilogue_(epilogue),
      kernels_(kernels.depthwise),
      lanes_(kernels.lanes),
      slices_(options.slices.value_or(Slices{s.in_h * s.in_w, s.out_h * s.out_w, s.taps()})),
      channels_(s.in_channels / s.groups),
      vectors_(ceil_div(s.out_channels, kernels.lanes)),
      in_ring_(std::max<size_t>(s.in_h, 1)),
      y_ring_(std::max<size_t>(s.out_h, 1)),
      window_(*kernels.layout, s, kernels.lanes) {
  identity_ = channels_ == 1 && s.out_channels == s.groups;
  const bool usual = (s.kernel_w == 3 || s.kernel_w == 5) && s.stride_w <= 2 && s.dilation_w == 1;
  if (identity_ && usual) direct_ = kernels_->direct[s.kernel_w == 5][s.stride_w - 1];

  size_t rows = s.out_h;
  if (!direct_) {
    // The windows of all channels of a group should stay in L1, or, where they are many, in L2.
    const auto bytes = [&](size_t height) { return product_of({channels_ + 1, window_.plane(height), sizeof(float)}); };
    const size_t budget = channels_ == 1 ? options.l1 / 2 : options.l2 / 4;
    while (rows > 1 && bytes(rows) > budget) rows = ceil_div(rows, 2);
  }
  blocks_ = ceil_div(s.out_h, rows);
  const size_t shares = pixel_parts(options.threads, s.out_h * s.out_w, s.in_channels, s.out_channels);
  rows_first_ = shares > 1;
  blocks_ = std::max(blocks_, std::min(ceil_div(blocks_, shares) * shares, s.out_h));
  const size_t parts = s.batch * vectors_ * blocks_;
  if (parts < 4 * options.threads) blocks_ = std::min(s.out_h, blocks_ * ceil_div(4 * options.threads, parts));
  if (direct_) return;

  const size_t low = s.out_h / blocks_;
  for (size_t taller = 0; taller < 2; ++taller)
    for (size_t c = 0; c < channels_; ++c)
      for (size_t ky = 0; ky < s.kernel_h; ++ky)
        for (size_t kx = 0; kx < s.kernel_w; ++kx)
          taps_[taller].push_back(static_cast<ptrdiff_t>(c * window_.plane(low + taller) + window_.tap(ky, kx)));
  if (!identity_) {
    const size_t outputs = s.out_channels / s.groups;
    for (size_t v = 0; v < vectors_; ++v) {
      const auto channel_of = [&](size_t lane, size_t c) {
        const size_t o = std::min(v * lanes_ + lane, s.out_channels - 1);  // lanes without a channel take any
        return o / outputs * channels_ + c;
      };
      const size_t first = channel_of(0, 0) / lanes_, count = channel_of(lanes_ - 1, channels_ - 1) / lanes_ + 1 - first;
      sources_.push_back({first, count});
      most_sources_ = std::max(most_sources_, count);
      order_offsets_.push_back(orders_.size());
      for (size_t c = 0; c < channels_; ++c)
        for (bool take : {false, true})
          for (size_t i = 0; i < count; ++i)
            for (size_t l = 0; l < lanes_; ++l) {
              const size_t channel = channel_of(l, c);
              orders_.push_back(static_cast<int32_t>(take ? channel / lanes_ == first + i : channel % lanes_));
            }
    }
  }
  const size_t plane = window_.plane(low + (s.out_h % blocks_ ? 1 : 0));
  scratch_floats_ = product_of({channels_ + (identity_ ? 0 : most_sources_), plane});
}

void DepthwiseConv::pack_panel(size_t panel, const float* oihw, float* out) const noexcept {
  const size_t depth = channels_ * shape_.taps();
  out += panel * depth * lanes_;
  for (size_t k = 0; k < depth; ++k)
    for (size_t l = 0; l < lanes_; ++l) {
      const size_t o = panel * lanes_ + l, taps = shape_.taps();
      *out++ = o < shape_.out_channels ? oihw[(o * channels_ + k / taps) * slices_.taps + k % taps] : 0;
    }
}

void DepthwiseConv::pack_bias(const float* bias, float* out) const noexcept {
  for (size_t o = 0; o < vectors_ * lanes_; ++o) out[o] = o < shape_.out_channels ? bias[o] : 0;
}

void DepthwiseConv::run(size_t unit, const Arguments& a, float* scratch) const noexcept {
  const ConvShape& s = shape_;
  const size_t block = rows_first_ ? unit / vectors_ % blocks_ : unit % blocks_;
  const size_t vector = rows_first_ ? unit % vectors_ : unit / blocks_ % vectors_, image = unit / blocks_ / vectors_;
  const size_t first = share(s.out_h, blocks_, block), rows = share(s.out_h, blocks_, block + 1) - first;
  const size_t x_plane = slices_.in * lanes_, at = ((image * vectors_ + vector) * slices_.out + first % y_ring_ * s.out_w) * lanes_;
  const float* w = a.w + vector * channels_ * s.taps() * lanes_;
  const float* bias = a.bias ? a.bias + vector * lanes_ : nullptr;
  float* y = a.y + at;
  const float* x = a.x + image * ceil_div(s.in_channels, lanes_) * x_plane;
  const auto common = [&](auto& r) {
    r.y = y, r.w = w, r.bias = bias, r.add = a.add ? a.add + at : nullptr;
    r.scale = epilogue_.scale_of(vector * lanes_);
    r.low = epilogue_.low, r.high = epilogue_.high, r.clamps = epilogue_.clamps();
    r.out_w = s.out_w, r.rows = rows;
  };
  if (direct_) {
    DirectDepthwiseRows r;
    common(r);
    const size_t top = std::min(first * s.stride_h > s.pad_top ? first * s.stride_h - s.pad_top : 0, s.in_h - 1);
    const size_t round = top - top % in_ring_;
    r.x = x + vector * x_plane - round * s.in_w * lanes_;
    r.wrap = round + in_ring_, r.ring = in_ring_;
    r.in_h = s.in_h, r.in_w = s.in_w, r.kernel_h = s.kernel_h, r.stride_h = s.stride_h, r.dilation_h = s.dilation_h;
    r.pad_top = static_cast<ptrdiff_t>(s.pad_top), r.pad_left = static_cast<ptrdiff_t>(s.pad_left), r.first = first;
    direct_(r);
  } else {
    const size_t plane = window_.plane(rows);
    if (identity_) {
      window_.copy(x + vector * x_plane, first, rows, scratch);
    } else {
      const Source source = sources_[vector];
      float* sources = scratch + channels_ * plane;
      for (size_t i = 0; i < source.count; ++i) window_.copy(x + (source.first + i) * x_plane, first, rows, sources + i * plane);
      const int32_t* orders = orders_.data() + order_offsets_[vector];
      for (size_t c = 0; c < channels_; ++c, orders += 2 * source.count * lanes_)
        kernels_->permute({orders, orders + source.count * lanes_, source.count}, sources, plane, plane / lanes_, scratch + c * plane);
    }
    WindowDepthwiseRows r;
    common(r);
    r.x = scratch;
    const std::vector<ptrdiff_t>& taps = taps_[rows - s.out_h / blocks_];
    r.taps = taps.data();
    r.tap_count = taps.size();
    r.x_row = window_.row_step();
    kernels_->rows(r);
  }
  if (epilogue_.after) epilogue_.after(y, y, rows * s.out_w * lanes_, epilogue_.a, epilogue_.b);
}

}  // namespace minnow::cpu

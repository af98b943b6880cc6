// SPDX-License-Identifier: Apache-2.0
// DeformConv on images: the samples of a block of positions as columns of a matrix, which the filters multiply. In the packed layout a
// vector of channels is interpolated at once, straight into the form in which the product reads its factor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kMaxPositions = 256;  // of a block
constexpr size_t kCorners = 4;         // pixels that a sample is interpolated from

size_t size(int64_t value) { return static_cast<size_t>(value); }

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  const ConvGeometry conv = ConvGeometry::of(node);
  if (conv.window.rank() != 2) return declined("there are {} spatial dimensions, not 2", conv.window.rank());
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a tensor is empty");
  if (conv.window.input_positions() > INT32_MAX) return declined("an image has {} pixels", conv.window.input_positions());
  const size_t outputs = size(conv.out_channels_per_group()), lanes = size(device.pack);
  const double samples = static_cast<double>(conv.batch * conv.in_channels * conv.window.taps() * conv.window.output_positions());
  const double padded = static_cast<double>(ceil_div(outputs, lanes) * lanes) / static_cast<double>(outputs);
  return Estimate(device.flop_time(2 * conv.multiply_adds() * padded, 0.7) + device.flop_time(60 * samples) + 2e-6);
}

Estimate estimate_packed(const NodeView& node, const Device& device) {
  Estimate estimated = estimate(node, device);
  if (!estimated.declined.empty()) return estimated;
  if (!node.is_constant(1)) return declined("the weights are not constant");
  const ConvGeometry conv = ConvGeometry::of(node);
  if (device.pack == 1) return declined("there is no packed layout");
  for (const int64_t each : {conv.in_channels_per_group(), conv.in_channels / node.attribute(Attribute<int64_t>{"offset_group", 1})})
    if (each % device.pack != 0) return declined("groups of {} channels are not whole vectors of {}", each, device.pack);
  const double samples = static_cast<double>(conv.batch * conv.in_channels * conv.window.taps() * conv.window.output_positions());
  estimated.seconds -= device.flop_time(56 * samples);
  estimated.packed_inputs = 1;
  return estimated;
}

class DeformConvKernel final : public Kernel {
 public:
  DeformConvKernel(PrepareContext& context, bool packed)
      : packed_(packed),
        conv_(ConvGeometry::of(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        offset_groups_(size(context.node().attribute(Attribute<int64_t>{"offset_group", 1}))),
        channels_(size(conv_.in_channels_per_group())),
        filters_(size(conv_.out_channels_per_group())),
        taps_(size(conv_.window.taps())),
        positions_(size(conv_.window.output_positions())),
        block_(std::min(positions_,
                        std::clamp<size_t>(context.device().l2 / 2 / sizeof(float) / (channels_ * taps_), packed ? 8 : 16, kMaxPositions))),
        product_(kernels_, {block_, channels_ * taps_, filters_, !packed, true}, MatMul::Options{1, context.device().l2}, Epilogue{}) {
    const NodeView& node = context.node();
    const size_t groups = size(conv_.groups);
    const auto bytes = [&](size_t floats) { return product_of({groups, floats, sizeof(float)}); };
    if (node.is_constant(1))
      weights_ = context.packed(1, "deform_conv",
                                {{"packed", packed_}, {"depth", channels_ * taps_}, {"filters", filters_}, {"slices", product_.slices()}},
                                bytes(product_.packed_b_floats()),
                                [&](const TensorView& w, void* out) { pack_weights(w.data<float>(), static_cast<float*>(out)); });
    else
      weights_offset_ = context.reserve_scratch(bytes(product_.packed_b_floats()));
    if (node.has_input(3)) bias_offset_ = context.reserve_scratch(bytes(product_.bias_floats()));
    MINNOW_CHECK(!packed_ || product_.units() == 1, "a block of positions must be one of the product");
    columns_floats_ = packed_ ? 0 : align_up(product_of({channels_, taps_, block_}), kernels_.lanes);
    sums_floats_ = align_up(product_of({block_, filters_}), kernels_.lanes);
    samples_floats_ = 2 * kCorners * block_;
    units_.reserve(context, product_of({size(conv_.batch), groups, blocks()}),
                   sum_of({columns_floats_, sums_floats_, samples_floats_, product_.scratch_floats()}));
  }

  void run(RunContext& context) const noexcept override {
    const float *x = context.in<float>(0), *offsets = context.in<float>(2), *mask = context.has_input(4) ? context.in<float>(4) : nullptr;
    const float* weights = static_cast<const float*>(weights_.get());
    if (!weights) {
      pack_weights(context.in<float>(1), context.scratch_at<float>(weights_offset_));
      weights = context.scratch_at<float>(weights_offset_);
    }
    const size_t groups = size(conv_.groups);
    const float* bias = nullptr;
    if (context.has_input(3)) {
      float* packed = context.scratch_at<float>(bias_offset_);
      for (size_t g = 0; g < groups; ++g) product_.pack_bias(context.in<float>(3) + g * filters_, 1, packed + g * product_.bias_floats());
      bias = packed;
    }
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t first = unit % blocks() * block_, group = unit / blocks() % groups, image = unit / blocks() / groups;
      const size_t count = std::min(block_, positions_ - first);
      float *columns = scratch, *sums = columns + columns_floats_, *samples = sums + sums_floats_, *rest = samples + samples_floats_;
      fill_columns(x, offsets, mask, image, group, first, count, packed_ ? rest : columns, reinterpret_cast<int32_t*>(samples),
                   samples + kCorners * block_);
      const MatMul::Arguments arguments{columns, weights + group * product_.packed_b_floats(),
                                        bias ? bias + group * product_.bias_floats() : nullptr, nullptr, sums};
      // In the packed layout its first factor is there already.
      for (size_t i = 0; i < product_.units() && !Watch::stopping(); ++i)
        product_.run(i, arguments, rest, i > 0 ? i - 1 : packed_ ? 0 : SIZE_MAX);
      kernels_.layout->transpose(sums, filters_, count, filters_,
                                 context.out<float>(0) + (image * groups + group) * filters_ * positions_ + first, positions_);
    });
  }

 private:
  size_t blocks() const noexcept { return ceil_div(positions_, block_); }

  void pack_weights(const float* w, float* out) const {
    std::vector<float> by_tap;
    if (packed_) {
      by_tap.resize(size(conv_.groups) * filters_ * channels_ * taps_);
      for (size_t filter = 0; filter < size(conv_.groups) * filters_; ++filter, w += channels_ * taps_)
        kernels_.layout->transpose(w, taps_, channels_, taps_, by_tap.data() + filter * channels_ * taps_, channels_);
      w = by_tap.data();
    }
    for (size_t g = 0; g < size(conv_.groups); ++g)
      for (size_t panel = 0; panel < product_.panels(); ++panel)
        product_.pack_b(panel, w + g * filters_ * channels_ * taps_, 1, out + g * product_.packed_b_floats());
  }

  // Columns [channel][tap][place], or [tap][vector of channels][place][lane]; those beyond `count` positions hold anything. `at` and
  // `weight` have kCorners rows of block_, or kCorners for each place.
  void fill_columns(const float* x, const float* offsets, const float* mask, size_t image, size_t group, size_t first, size_t count,
                    float* columns, int32_t* at, float* weight) const noexcept {
    const size_t pixels = size(conv_.window.input_positions()), channels_of_offset = size(conv_.in_channels) / offset_groups_;
    const size_t begin = group * channels_, end = begin + channels_;
    for (size_t channel = begin; channel < end;) {
      const size_t offset_group = channel / channels_of_offset, last = std::min(end, (offset_group + 1) * channels_of_offset);
      for (size_t tap = 0; tap < taps_; ++tap) {
        const size_t row = (image * offset_groups_ + offset_group) * taps_ + tap;
        find_samples(offsets + 2 * row * positions_, mask ? mask + row * positions_ : nullptr, tap, first, count, at, weight);
        const size_t lanes = kernels_.lanes;
        for (size_t c = channel; packed_ && c < last; c += lanes)
          kernels_.resample->blend_pixels(x + (image * size(conv_.in_channels) + c) * pixels, at, weight, kCorners, count,
                                          columns + (tap * channels_ + c - begin) * block_);
        for (size_t c = channel; !packed_ && c < last; ++c) {
          const float* plane = x + (image * size(conv_.in_channels) + c) * pixels;
          float* to = columns + ((c - begin) * taps_ + tap) * block_;
          for (size_t i = 0; i < count; ++i) {
            float sum = 0;
            for (size_t corner = 0; corner < kCorners; ++corner) sum += weight[corner * block_ + i] * plane[at[corner * block_ + i]];
            to[i] = sum;
          }
        }
      }
      channel = last;
    }
  }

  // Finds the pixels around the samples of one tap, and their weights; pixels outside the image have weight 0.
  void find_samples(const float* offsets, const float* mask, size_t tap, size_t first, size_t count, int32_t* at,
                    float* weight) const noexcept {
    const WindowGeometry& w = conv_.window;
    const int64_t ky = static_cast<int64_t>(tap) / w.kernel[1] * w.dilation[0] - w.pad_begin[0];
    const int64_t kx = static_cast<int64_t>(tap) % w.kernel[1] * w.dilation[1] - w.pad_begin[1];
    const float height = static_cast<float>(w.input[0]), width = static_cast<float>(w.input[1]);
    int64_t row = static_cast<int64_t>(first) / w.output[1], column = static_cast<int64_t>(first) % w.output[1];
    for (size_t i = 0; i < count; ++i) {
      const float y = static_cast<float>(row * w.stride[0] + ky) + offsets[first + i];
      const float x = static_cast<float>(column * w.stride[1] + kx) + offsets[positions_ + first + i];
      if (++column == w.output[1]) column = 0, ++row;
      const bool inside = y > -1 && y < height && x > -1 && x < width;  // false for NaN
      const float top = inside ? std::floor(y) : 0, left = inside ? std::floor(x) : 0, scale = !inside ? 0 : mask ? mask[first + i] : 1;
      const float down = y - top, right = x - left;
      for (size_t corner = 0; corner < kCorners; ++corner) {
        const float corner_y = top + static_cast<float>(corner / 2), corner_x = left + static_cast<float>(corner % 2);
        const bool counts = inside && corner_y >= 0 && corner_y < height && corner_x >= 0 && corner_x < width;
        const size_t to = packed_ ? i * kCorners + corner : corner * block_ + i;
        at[to] = counts ? static_cast<int32_t>(static_cast<int64_t>(corner_y) * w.input[1] + static_cast<int64_t>(corner_x)) : 0;
        weight[to] = counts ? scale * (corner / 2 ? down : 1 - down) * (corner % 2 ? right : 1 - right) : 0;
      }
    }
  }

  bool packed_;  // the image
  ConvGeometry conv_;
  const Kernels& kernels_;
  size_t offset_groups_, channels_, filters_, taps_, positions_, block_;  // channels and filters of a group
  MatMul product_;
  std::shared_ptr<const void> weights_;
  size_t weights_offset_ = 0, bias_offset_ = 0, columns_floats_ = 0, sums_floats_ = 0, samples_floats_ = 0;
  Units units_;
};

template <bool kPacked>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<DeformConvKernel>(context, kPacked);
}

constexpr Scheme kSchemes[] = {{"DeformConv", "deform_conv.packed", estimate_packed, prepare<true>, kLargeOnly},
                               {"DeformConv", "deform_conv", estimate, prepare<false>, kLargeOnly}};

}  // namespace

std::span<const Scheme> deform_conv_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

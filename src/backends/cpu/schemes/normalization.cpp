// SPDX-License-Identifier: Apache-2.0
// Normalizations: of layers row by row, of batches, instances and groups of channels in either layout, among neighbouring channels.
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 3 << 10;
constexpr Attribute<float> kEpsilon{"epsilon", 1e-5f};

Estimate streaming(const NodeView& node, const Device& device, double passes) {
  const double count = static_cast<double>(node.input_shape(0).elements());
  // Sums over a row wait for each other, and each row ends with a root and a division.
  const double efficiency = passes > 1 ? 0.3 : 1;
  Estimate estimate(device.flop_time(4 * passes * count, efficiency) + device.byte_time(4 * (passes + 1) * count) + 2e-7);
  estimate.overwrites = 0;
  return estimate;
}

// LayerNormalization, RMSNormalization

struct Trailing {
  size_t rows, length;
  explicit Trailing(const NodeView& node) {
    const Shape& shape = node.input_shape(0);
    const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -1}), shape.rank());
    rows = static_cast<size_t>(shape.product(0, axis));
    length = static_cast<size_t>(shape.product(axis, shape.rank()));
  }
};

Estimate estimate_layer(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.has_output(i)) return declined("the statistics are wanted");
  const size_t length = Trailing(node).length;
  for (size_t i : {1, 2})
    if (node.has_input(i) && static_cast<size_t>(node.input_shape(i).elements()) != length)
      return declined("scale or bias of shape {} is not one value for each element of a row", node.input_shape(i));
  return streaming(node, device, 3);
}

class LayerKernel final : public Kernel {
 public:
  LayerKernel(const Kernels& kernels, const NodeView& node)
      : kernels_(*kernels.rows), shape_(node), epsilon_(node.attribute(kEpsilon)), centered_(node.op() == "LayerNormalization") {}
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    const float* scale = context.in<float>(1);
    const float* bias = context.has_input(2) ? context.in<float>(2) : nullptr;
    float* y = context.out<float>(0);
    const size_t n = shape_.length, each = std::max<size_t>(1, kFloatsPerTask / n), tasks = (shape_.rows + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t row = task * each; row < std::min(shape_.rows, (task + 1) * each); ++row) {
        float mean = 0, inverse;
        if (centered_)
          kernels_.moments(x + row * n, n, epsilon_, &mean, &inverse);
        else
          inverse =
              1 / std::sqrt(kernels_.reduce[static_cast<size_t>(Reduction::sum_square)](x + row * n, n) / static_cast<float>(n) + epsilon_);
        kernels_.standardize(x + row * n, n, mean, inverse, scale, bias, y + row * n);
      }
    });
  }

 private:
  const RowKernels& kernels_;
  Trailing shape_;
  float epsilon_;
  bool centered_;
};

std::unique_ptr<Kernel> prepare_layer(PrepareContext& context) {
  return std::make_unique<LayerKernel>(*cpu_device(context.device()).kernels, context.node());
}

// BatchNormalization with constant statistics, InstanceNormalization, GroupNormalization

bool is_batch(const NodeView& node) { return node.op() == "BatchNormalization"; }

Estimate estimate_channels(const NodeView& node, const Device& device, Layout layout) {
  const size_t parameters = is_batch(node) ? 5 : 3;
  for (size_t i = 0; i < parameters; ++i) {
    if (node.input_dtype(i) != DType::f32) return declined("the dtype of input {} is {}, not f32", i, node.input_dtype(i));
    if (i > 0 && !node.is_constant(i)) return declined("input {} is not constant", i);
  }
  if (is_batch(node) && node.attribute(Attribute<bool>{"training_mode", false})) return declined("it is in training mode");
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.has_output(i)) return declined("the statistics are wanted");
  const Shape& shape = node.input_shape(0);
  if (shape.elements() == 0 || shape.rank() < 2) return declined("the shape is {}", shape);
  if (layout == Layout::packed && (device.pack == 1 || shape.rank() < 3)) return declined("the shape has no packed layout");
  Estimate estimate = streaming(node, device, is_batch(node) ? 1 : 3);
  if (layout == Layout::packed) estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate_channels(node, device, Layout::plain); }
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate_channels(node, device, Layout::packed); }

// y = scale x + shift for each channel; for instances and groups, of x less its mean over its deviation. In the packed layout lanes of one
// vector may belong to several groups and a group to several vectors: the moments of all channels are taken first there, and joined as each
// vector needs them.
class ChannelsKernel final : public Kernel {
 public:
  explicit ChannelsKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels),
        batch_(is_batch(context.node())),
        epsilon_(context.node().attribute(kEpsilon)),
        lanes_(context.output_layout(0) == Layout::packed ? kernels_.lanes : 1) {
    const NodeView& node = context.node();
    const Shape& shape = node.input_shape(0);
    const size_t channels = static_cast<size_t>(shape[1]);
    if (node.op() == "GroupNormalization") members_ = channels / static_cast<size_t>(node.require<int64_t>("num_groups"));
    blocks_ = (channels + lanes_ - 1) / lanes_;
    images_ = static_cast<size_t>(shape[0]);
    pixels_ = static_cast<size_t>(shape.product(2, shape.rank()));
    scale_.assign(blocks_ * lanes_, 0);
    shift_ = scale_;
    const auto values = [&](size_t input) { return node.contents(input).data<float>(); };
    for (size_t c = 0; c < channels; ++c) {
      scale_[c] = values(1)[c];
      shift_[c] = values(2)[c];
      if (!batch_) continue;
      const double inverse = 1 / std::sqrt(static_cast<double>(values(4)[c]) + static_cast<double>(epsilon_));
      scale_[c] = static_cast<float>(values(1)[c] * inverse);
      shift_[c] = static_cast<float>(values(2)[c] - values(3)[c] * inverse * values(1)[c]);
    }
    if (joins_moments()) moments_ = context.reserve_scratch(2 * images_ * blocks_ * lanes_ * sizeof(float));
  }

  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t plane = pixels_ * lanes_;
    float* means = nullptr;
    const auto for_each = [&](size_t count, size_t size, auto work) {
      const size_t each = std::max<size_t>(1, kFloatsPerTask / size);
      context.parallel_for((count + each - 1) / each, [&](size_t task) {
        for (size_t i = task * each; i < std::min(count, (task + 1) * each); ++i) work(i);
      });
    };
    if (joins_moments()) {
      means = context.scratch_at<float>(moments_);
      float* inverses = means + images_ * blocks_ * lanes_;
      for_each(images_ * blocks_, plane,
               [&](size_t i) { kernels_.rows->lane_moments(x + i * plane, pixels_, 0, means + i * lanes_, inverses + i * lanes_); });
    }
    const size_t members = lanes_ == 1 ? members_ : 1;
    for_each(images_ * blocks_ / members, plane * members,
             [&](size_t i) { one_group(x + i * members * plane, i * members, means, y + i * members * plane); });
  }

 private:
  static constexpr size_t kMostLanes = 16;
  bool joins_moments() const noexcept { return lanes_ > 1 && members_ > 1; }

  // One vector of channels, or the channels of a group in the plain layout. `block` counts them over all images.
  void one_group(const float* x, size_t block, const float* means, float* y) const noexcept {
    const size_t channel = block % blocks_ * lanes_;
    float mean[kMostLanes], inverse[kMostLanes], scale[kMostLanes], shift[kMostLanes];
    if (means)
      join_moments(means + (block - block % blocks_) * lanes_, channel, mean, inverse);
    else if (!batch_ && lanes_ == 1)
      kernels_.rows->moments(x, pixels_ * members_, epsilon_, mean, inverse);
    else if (!batch_)
      kernels_.rows->lane_moments(x, pixels_, epsilon_, mean, inverse);
    for (size_t c = channel; c < channel + (lanes_ == 1 ? members_ : 1); ++c, x += pixels_, y += pixels_) {
      for (size_t l = 0; l < lanes_; ++l) {
        scale[l] = scale_[c + l], shift[l] = shift_[c + l];
        if (!batch_) scale[l] *= inverse[l], shift[l] -= mean[l] * scale[l];
      }
      if (lanes_ == 1)
        (*kernels_.unary)[Unary::scale](x, y, pixels_, scale[0], shift[0]);
      else
        kernels_.rows->lane_affine(x, pixels_, scale, shift, y);
    }
  }

  // Moments of the groups that a vector of channels belongs to, from the moments of the image's channels.
  void join_moments(const float* means, size_t channel, float* mean, float* inverse) const noexcept {
    const float* inverses = means + images_ * blocks_ * lanes_;
    for (size_t l = 0; l < lanes_; ++l) {
      const size_t first = (channel + l) / members_ * members_;
      if (l > 0 && first != channel + l) {
        mean[l] = mean[l - 1], inverse[l] = inverse[l - 1];
        continue;
      }
      const size_t last = std::min(first + members_, blocks_ * lanes_);
      float sum = 0, variance = 0;
      for (size_t c = first; c < last; ++c) sum += means[c];
      mean[l] = sum / static_cast<float>(members_);
      for (size_t c = first; c < last; ++c)
        variance += (means[c] - mean[l]) * (means[c] - mean[l]) + 1 / (inverses[c] * inverses[c]);  // an inverse may be infinite
      inverse[l] = 1 / std::sqrt(variance / static_cast<float>(members_) + epsilon_);
    }
  }

  const Kernels& kernels_;
  bool batch_;
  float epsilon_;
  size_t lanes_, blocks_, images_, pixels_, members_ = 1;  // members: channels of a group
  size_t moments_ = 0;                                     // in scratch: means and inverse deviations of all channels
  std::vector<float> scale_, shift_;
};

std::unique_ptr<Kernel> prepare_channels(PrepareContext& context) { return std::make_unique<ChannelsKernel>(context); }

// LRN: the sums of squares of neighbouring channels, a few hundred pixels at a time, and their power by logarithm and exponential.

constexpr size_t kPixels = 512;
constexpr Attribute<float> kLrnAlpha{"alpha", 1e-4f}, kLrnBeta{"beta", 0.75f}, kLrnBias{"bias", 1};

Estimate estimate_lrn(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  const double count = static_cast<double>(node.input_shape(0).elements());
  if (count == 0) return declined("the input is empty");
  if (!(node.attribute(kLrnAlpha) >= 0 && node.attribute(kLrnBias) >= 0 && node.attribute(kLrnBeta) > 0))
    return declined("alpha or bias is negative, or beta is not positive");
  return Estimate(device.flop_time((100 + 4 * static_cast<double>(node.require<int64_t>("size"))) * count) + device.byte_time(8 * count) +
                  2e-7);
}

class LrnKernel final : public Kernel {
 public:
  LrnKernel(const Kernels& kernels, const NodeView& node)
      : kernels_(kernels),
        size_(static_cast<size_t>(node.require<int64_t>("size"))),
        images_(static_cast<size_t>(node.input_shape(0)[0])),
        channels_(static_cast<size_t>(node.input_shape(0)[1])),
        pixels_(static_cast<size_t>(node.input_shape(0).product(2, node.input_shape(0).rank()))),
        factor_(node.attribute(kLrnAlpha) / static_cast<float>(size_)),
        beta_(node.attribute(kLrnBeta)),
        bias_(node.attribute(kLrnBias)) {}

  void run(RunContext& context) const noexcept override {
    const UnaryKernels& unary = *kernels_.unary;
    const auto sum_squares = kernels_.rows->reduce_columns[static_cast<size_t>(Reduction::sum_square)];
    const BinaryFunction multiply = kernels_.binary->of(Binary::multiply, BinaryForm::both);
    const size_t cuts = (pixels_ + kPixels - 1) / kPixels, before = (size_ - 1) / 2, after = size_ - 1 - before;
    context.parallel_for(images_ * cuts, [&](size_t task) {
      const size_t first = task % cuts * kPixels, width = std::min(kPixels, pixels_ - first);
      const size_t at = task / cuts * channels_ * pixels_ + first;
      const float* x = context.in<float>(0) + at;
      float sums[kPixels];
      Stop stop;
      for (size_t c = 0; c < channels_; ++c) {
        const size_t from = c - std::min(c, before), to = c + std::min(after, channels_ - 1 - c) + 1;
        if (stop.after((to - from + 16) * width / 8)) return;
        sum_squares(x + from * pixels_, to - from, pixels_, width, true, sums);
        unary[Unary::scale](sums, sums, width, factor_, bias_);
        unary[Unary::log](sums, sums, width, 0, 0);
        unary[Unary::scale](sums, sums, width, -beta_, 0);
        unary[Unary::exp](sums, sums, width, 0, 0);
        multiply(x + c * pixels_, sums, context.out<float>(0) + at + c * pixels_, width);
      }
    });
  }

 private:
  const Kernels& kernels_;
  size_t size_, images_, channels_, pixels_;
  float factor_, beta_, bias_;
};

std::unique_ptr<Kernel> prepare_lrn(PrepareContext& context) {
  return std::make_unique<LrnKernel>(*cpu_device(context.device()).kernels, context.node());
}

constexpr Scheme kSchemes[] = {
    {"BatchNormalization", "channel_norm.packed", estimate_packed, prepare_channels},
    {"BatchNormalization", "channel_norm", estimate_plain, prepare_channels},
    {"GroupNormalization", "channel_norm.packed", estimate_packed, prepare_channels},
    {"GroupNormalization", "channel_norm", estimate_plain, prepare_channels},
    {"InstanceNormalization", "channel_norm.packed", estimate_packed, prepare_channels},
    {"InstanceNormalization", "channel_norm", estimate_plain, prepare_channels},
    {"LRN", "lrn", estimate_lrn, prepare_lrn},
    {"LayerNormalization", "layer_norm", estimate_layer, prepare_layer},
    {"RMSNormalization", "layer_norm", estimate_layer, prepare_layer},
};

}  // namespace

std::span<const Scheme> normalization_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

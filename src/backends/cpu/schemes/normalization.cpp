// SPDX-License-Identifier: Apache-2.0
// Normalizations: of layers row by row, of batches and instances channel by channel in either layout.
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_device.h"
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
  void run(RunContext& context) noexcept override {
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

// BatchNormalization with constant statistics, InstanceNormalization

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

// y = scale x + shift for each channel; for instances, of x less its mean over its deviation.
class ChannelsKernel final : public Kernel {
 public:
  ChannelsKernel(const Kernels& kernels, const NodeView& node, Layout layout)
      : kernels_(kernels), batch_(is_batch(node)), epsilon_(node.attribute(kEpsilon)) {
    const Shape& shape = node.input_shape(0);
    const size_t channels = static_cast<size_t>(shape[1]);
    lanes_ = layout == Layout::packed ? kernels.lanes : 1;
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
  }

  void run(RunContext& context) noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t plane = pixels_ * lanes_, planes = images_ * blocks_;
    const size_t each = std::max<size_t>(1, kFloatsPerTask / plane), tasks = (planes + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t i = task * each; i < std::min(planes, (task + 1) * each); ++i)
        one_plane(x + i * plane, i % blocks_ * lanes_, y + i * plane);
    });
  }

 private:
  void one_plane(const float* x, size_t channel, float* y) const noexcept {
    constexpr size_t kMostLanes = 16;
    float mean[kMostLanes], inverse[kMostLanes], scale[kMostLanes], shift[kMostLanes];
    for (size_t l = 0; l < lanes_; ++l) scale[l] = scale_[channel + l], shift[l] = shift_[channel + l];
    if (!batch_) {
      if (lanes_ == 1)
        kernels_.rows->moments(x, pixels_, epsilon_, mean, inverse);
      else
        kernels_.rows->lane_moments(x, pixels_, epsilon_, mean, inverse);
      for (size_t l = 0; l < lanes_; ++l) scale[l] *= inverse[l], shift[l] -= mean[l] * scale[l];
    }
    if (lanes_ == 1)
      (*kernels_.unary)[Unary::scale](x, y, pixels_, scale[0], shift[0]);
    else
      kernels_.rows->lane_affine(x, pixels_, scale, shift, y);
  }

  const Kernels& kernels_;
  bool batch_;
  float epsilon_;
  size_t lanes_, blocks_, images_, pixels_;
  std::vector<float> scale_, shift_;
};

std::unique_ptr<Kernel> prepare_channels(PrepareContext& context) {
  return std::make_unique<ChannelsKernel>(*cpu_device(context.device()).kernels, context.node(), context.output_layout(0));
}

constexpr Scheme kSchemes[] = {
    {"BatchNormalization", "channel_norm.packed", estimate_packed, prepare_channels},
    {"BatchNormalization", "channel_norm", estimate_plain, prepare_channels},
    {"InstanceNormalization", "channel_norm.packed", estimate_packed, prepare_channels},
    {"InstanceNormalization", "channel_norm", estimate_plain, prepare_channels},
    {"LayerNormalization", "layer_norm", estimate_layer, prepare_layer},
    {"RMSNormalization", "layer_norm", estimate_layer, prepare_layer},
};

}  // namespace

std::span<const Scheme> normalization_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

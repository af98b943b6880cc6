// SPDX-License-Identifier: Apache-2.0
// Batch normalization in training mode and its gradient, in either layout: one pass over the memory finds the sums of each channel, a
// second one makes the result. And sums of channels, the gradients of biases.
#include "backends/cpu/kernels/channels.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

namespace {

constexpr size_t kMostLanes = 16;

bool is_gradient(const NodeView& node) { return node.op() == "minnow.BatchNormalizationGradient"; }

template <bool kPacked>
Estimate estimate(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (!is_gradient(node) && !node.attribute(Attribute<bool>{"training_mode", false})) return declined("it is not in training mode");
  const Shape& x = node.input_shape(0);
  if (x.rank() < 2 || x.elements() == 0) return declined("the input {} has no channels", x);
  if (kPacked && device.pack == 1) return declined("there is no packed layout");
  const double bytes = 4.0 * static_cast<double>(x.elements()) * (is_gradient(node) ? 5 : 3);
  const double pixels = static_cast<double>(x[0] * x[1]) / (kPacked ? device.pack : 1);
  Estimate estimate(device.byte_time(bytes) + pixels * 4e-8 + 1e-6);
  const bool gradient = is_gradient(node);
  if (kPacked) {
    estimate.packed_inputs = gradient ? 0b101 : 1;
    estimate.packed_outputs = 1;
  }
  estimate.overwrites = gradient ? 2 : 0;
  return estimate;
}

class BatchNormalizationKernel final : public Kernel {
 public:
  BatchNormalizationKernel(PrepareContext& context, bool packed)
      : kernels_(*cpu_device(context.device()).kernels->channels), gradient_(is_gradient(context.node())), packed_(packed) {
    const NodeView& node = context.node();
    const Shape& x = node.input_shape(0);
    images_ = static_cast<size_t>(x[0]), channels_ = static_cast<size_t>(x[1]), pixels_ = static_cast<size_t>(x.product(2, x.rank()));
    lanes_ = packed ? static_cast<size_t>(context.device().pack) : 1;
    vectors_ = (channels_ + lanes_ - 1) / lanes_;
    epsilon_ = static_cast<double>(node.attribute(Attribute<float>{"epsilon", 1e-5f}));
    momentum_ = static_cast<double>(node.attribute(Attribute<float>{"momentum", 0.9f}));
    moments_ = context.reserve_scratch(images_ * vectors_ * lanes_ * sizeof(ChannelMoments));
    factors_ = context.reserve_scratch(vectors_ * 4 * lanes_ * sizeof(float));
  }

  void run(RunContext& context) const noexcept override {
    const float *x = context.in<float>(0), *g = gradient_ ? context.in<float>(2) : nullptr;
    ChannelMoments* const moments = context.scratch_at<ChannelMoments>(moments_);
    float* const factors = context.scratch_at<float>(factors_);
    const size_t plane = pixels_ * lanes_, planes = images_ * vectors_;
    // Some planes a task: those of small images are a matter of nanoseconds.
    const size_t each = std::max<size_t>(1, (size_t{16} << 10) / plane), tasks = (planes + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t i = task * each; i < std::min(planes, (task + 1) * each); ++i)
        kernels_.moments[packed_](x + i * plane, g ? g + i * plane : nullptr, pixels_, moments + i * lanes_);
    });
    for (size_t c = 0; c < channels_; ++c) finish_channel(context, c, moments, factors + c / lanes_ * 4 * lanes_ + c % lanes_);
    if (!context.has_output(0)) return;
    float* const y = context.out<float>(0);
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t i = task * each; i < std::min(planes, (task + 1) * each); ++i)
        kernels_.affine[packed_]({x + i * plane, g ? g + i * plane : nullptr, factors + i % vectors_ * 4 * lanes_, y + i * plane, pixels_});
    });
  }

 private:
  void finish_channel(RunContext& context, size_t c, const ChannelMoments* moments, float* factors) const noexcept {
    ChannelMoments all = moments[c];
    const double pixels = static_cast<double>(pixels_), count = pixels * static_cast<double>(images_);
    for (size_t i = 1; i < images_; ++i) join(all, pixels * static_cast<double>(i), moments[i * vectors_ * lanes_ + c], pixels);
    const double variance = all.squares / count, scale = static_cast<double>(context.in<float>(1)[c]);
    const double inverse = 1 / std::sqrt(variance + epsilon_), factor = scale * inverse;
    if (gradient_) {
      if (context.has_output(1)) context.out<float>(1)[c] = static_cast<float>(all.products * inverse);
      if (context.has_output(2)) context.out<float>(2)[c] = static_cast<float>(all.g);
      factors[0] = static_cast<float>(-factor * inverse * inverse * all.products / count);
      factors[2 * lanes_] = static_cast<float>(-factor * all.g / count);
      factors[3 * lanes_] = static_cast<float>(factor);
    } else {
      const auto follow = [&](size_t i, double value) {
        if (context.has_output(i))
          context.out<float>(i)[c] =
              static_cast<float>(static_cast<double>(context.in<float>(2 + i)[c]) * momentum_ + value * (1 - momentum_));
      };
      follow(1, all.mean), follow(2, variance);
      factors[0] = static_cast<float>(factor);
      factors[2 * lanes_] = context.in<float>(2)[c];
    }
    factors[lanes_] = static_cast<float>(all.mean);
  }

  const ChannelKernels& kernels_;
  bool gradient_, packed_;
  size_t images_, channels_, pixels_, lanes_, vectors_;
  double epsilon_, momentum_;
  size_t moments_, factors_;  // of scratch
};

template <bool kPacked>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<BatchNormalizationKernel>(context, kPacked);
}

// ---- Sums and means of channels over images and their pixels.

template <bool kPacked>
Estimate estimate_sum(const NodeView& node, const Device& device) {
  const Shape& x = node.input_shape(0);
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (kPacked && device.pack == 1) return declined("there is no packed layout");
  if (x.rank() < 3 || x.elements() == 0) return declined("the input {} has no positions", x);
  std::vector<bool> reduced(x.rank());
  for (int64_t axis : node.has_input(1) ? node.ints(1) : Ints()) reduced[node.normalize_axis(axis, x.rank())] = true;
  for (size_t i = 0; i < x.rank(); ++i)
    if (reduced[i] != (i != 1)) return declined("the reduced axes are not all but the channels");
  const double pixels = static_cast<double>(x[0] * x[1]) / (kPacked ? device.pack : 1);
  Estimate estimate(device.byte_time(4.0 * static_cast<double>(x.elements())) + pixels * 2e-8 + 1e-6);
  if (kPacked) estimate.packed_inputs = 1;
  return estimate;
}

class ChannelSumKernel final : public Kernel {
 public:
  ChannelSumKernel(PrepareContext& context, bool packed) : kernels_(*cpu_device(context.device()).kernels), packed_(packed) {
    const Shape& x = context.node().input_shape(0);
    images_ = static_cast<size_t>(x[0]), channels_ = static_cast<size_t>(x[1]), pixels_ = static_cast<size_t>(x.product(2, x.rank()));
    lanes_ = packed ? static_cast<size_t>(context.device().pack) : 1;
    vectors_ = (channels_ + lanes_ - 1) / lanes_;
    factor_ = context.node().op() == "ReduceMean" ? 1 / (static_cast<double>(images_) * static_cast<double>(pixels_)) : 1;
  }
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t plane = pixels_ * lanes_;
    context.parallel_for(vectors_, [&](size_t vector) {
      double sums[kMostLanes] = {};
      for (size_t i = 0; i < images_; ++i) {
        const float* from = x + (i * vectors_ + vector) * plane;
        float part[kMostLanes];
        if (packed_)
          kernels_.pool->sum(from, pixels_, 1, part);
        else
          part[0] = kernels_.rows->reduce[static_cast<size_t>(Reduction::sum)](from, pixels_);
        for (size_t l = 0; l < lanes_; ++l) sums[l] += static_cast<double>(part[l]);
      }
      const size_t first = vector * lanes_;
      for (size_t l = 0; l < std::min(lanes_, channels_ - first); ++l) y[first + l] = static_cast<float>(sums[l] * factor_);
    });
  }

 private:
  const Kernels& kernels_;
  bool packed_;
  size_t images_, channels_, pixels_, lanes_, vectors_;
  double factor_;
};

template <bool kPacked>
std::unique_ptr<Kernel> prepare_sum(PrepareContext& context) {
  return std::make_unique<ChannelSumKernel>(context, kPacked);
}

constexpr Scheme kSchemes[] = {
    {"BatchNormalization", "batch_normalization.plain", estimate<false>, prepare<false>},
    {"BatchNormalization", "batch_normalization.packed", estimate<true>, prepare<true>},
    {"minnow.BatchNormalizationGradient", "batch_normalization.plain", estimate<false>, prepare<false>},
    {"minnow.BatchNormalizationGradient", "batch_normalization.packed", estimate<true>, prepare<true>},
    {"ReduceMean", "reduce.channels", estimate_sum<false>, prepare_sum<false>},
    {"ReduceMean", "reduce.channels_packed", estimate_sum<true>, prepare_sum<true>},
    {"ReduceSum", "reduce.channels", estimate_sum<false>, prepare_sum<false>},
    {"ReduceSum", "reduce.channels_packed", estimate_sum<true>, prepare_sum<true>},
};

}  // namespace

std::span<const Scheme> batch_normalization_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

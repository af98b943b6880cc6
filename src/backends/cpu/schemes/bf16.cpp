// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv as implicit products of bf16 pairs: the image is rounded first, then it is the convolution of f32 of half as
// many channels (kernels/bf16.h).
#include "backends/cpu/schemes/bf16.h"

#include <bit>

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/numeric.h"

namespace minnow::cpu {

std::string refusal_of_bf16(const Device& device) {
  if (device.precision != Precision::low) return "its rounding is for precision \"low\"";
  if (cpu_device(device).kernels->bf16->row == nullptr || !has_bf16_products()) return "this machine does not multiply bf16";
  return {};
}

std::vector<float> bf16_pairs(const float* w, size_t outer, size_t channels, size_t inner, float factor) {
  const size_t halves = ceil_div(channels, 2);
  std::vector<float> pairs(outer * halves * inner);
  for (size_t o = 0; o < outer; ++o)
    for (size_t h = 0; h < halves; ++h)
      for (size_t i = 0; i < inner; ++i) {
        const float* from = w + (o * channels + 2 * h) * inner + i;
        const uint32_t low = bf16_from_f32(factor * from[0]), high = 2 * h + 1 < channels ? bf16_from_f32(factor * from[inner]) : 0;
        pairs[(o * halves + h) * inner + i] = std::bit_cast<float>(low | high << 16);
      }
  return pairs;
}

namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

Estimate estimate(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of_bf16(device); !refusal.empty()) return declined("{}", refusal);
  if (const std::string refusal = refusal_of_conv(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  const size_t lanes = static_cast<size_t>(device.pack), channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  if (channels < lanes) return declined("{} channels of a group are less than a vector", channels);
  if (s.groups > 1 && (channels % (2 * lanes) != 0 || outputs % lanes != 0))
    return declined("{} groups of {} channels are not whole vectors of {} pairs", s.groups, channels, device.pack);
  const double padded = static_cast<double>(ceil_div(outputs, lanes) * lanes) / static_cast<double>(outputs) *
                        static_cast<double>(2 * ceil_div(channels, 2)) / static_cast<double>(channels);
  const double compute = device.flop_time(2 * ConvGeometry::of(node).multiply_adds() * padded, 0.85 * bf16_speed());
  const double weights = device.weight_time(2.0 * static_cast<double>(node.input_shape(1).elements()));
  const double in = static_cast<double>(node.input_shape(0).elements());
  double out = static_cast<double>(node.output_shape(0).elements());
  if (node.has_input(3)) out *= 2;
  Estimate estimate(std::max(compute, weights) + device.byte_time(6 * in) + 0.5 * device.byte_time(2 * in + 4 * out) + 1e-6);
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

ConvShape of_pairs(ConvShape s) {
  s.in_channels = s.groups * ceil_div(s.in_channels / s.groups, 2);
  return s;
}

class Bf16ConvKernel final : public Kernel {
 public:
  explicit Bf16ConvKernel(PrepareContext& context)
      : s_(conv_shape(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        conv_(bf16_kernels(kernels_), of_pairs(s_), gemm_options(context.device()), epilogue_of(context.node(), kernels_)) {
    filter_.prepare(context, conv_, format("bf16 conv {} groups {}", context.device().name, s_.groups), [&](const float* w, float* out) {
      conv_.pack_weights(bf16_pairs(w, s_.out_channels, s_.in_channels / s_.groups, s_.taps()).data(), out);
    });
    const size_t lanes = kernels_.lanes, channels = s_.in_channels / s_.groups;
    vectors_ = ceil_div(channels, lanes);
    planes_ = ceil_div(channels, 2 * lanes);
    plane_ = s_.in_h * s_.in_w * lanes;
    cuts_ = ceil_div(plane_, kFloatsPerTask);
    pairs_ = context.reserve_scratch(s_.batch * s_.groups * planes_ * plane_ * sizeof(float));
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) noexcept override {
    const float* x = context.in<float>(0);
    float* pairs = context.scratch_at<float>(pairs_);
    const size_t channels = s_.in_channels / s_.groups, lanes = kernels_.lanes;
    context.parallel_for(s_.batch * s_.groups * planes_ * cuts_, [&](size_t task) {
      const size_t cut = task % cuts_, p = task / cuts_ % planes_, group = task / cuts_ / planes_;
      const size_t first = share(plane_ / lanes, cuts_, cut), count = share(plane_ / lanes, cuts_, cut + 1) - first;
      const float* low = x + (group * vectors_ + 2 * p) * plane_ + first * lanes;
      kernels_.bf16->pairs(low, 2 * p + 1 < vectors_ ? low + plane_ : nullptr, count, channels - 2 * p * lanes,
                           pairs + (group * planes_ + p) * plane_ + first * lanes);
    });
    const GemmConv::Arguments arguments{pairs, filter_.weights(), filter_.bias(), context.has_input(3) ? context.in<float>(3) : nullptr,
                                        context.out<float>(0)};
    units_.run(context, [&](size_t unit, float* scratch, size_t before) { conv_.run(unit, arguments, scratch, before); });
  }

 private:
  ConvShape s_;
  const Kernels& kernels_;
  GemmConv conv_;
  PackedFilter filter_;
  size_t vectors_, planes_, plane_, cuts_;  // vectors of a group's channels in f32, in pairs; floats of one; pieces of one
  size_t pairs_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<Bf16ConvKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.bf16", estimate, prepare},
    {"minnow.FusedConv", "conv.bf16", estimate, prepare},
};

}  // namespace

std::span<const Scheme> bf16_schemes() { return kSchemes; }

}  // namespace minnow::cpu

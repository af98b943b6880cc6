// SPDX-License-Identifier: Apache-2.0
// minnow.QuantizedConv and QLinearConv in f32, where Winograd's filtering of floats takes less time than sums of integers: the image
// becomes floats (its integers less the zero point), and the sums become bytes as those of integers do. Results are within one step.
#if !MINNOW_SMALL
#include <algorithm>

#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/winograd.h"

namespace minnow::cpu {
namespace {

constexpr size_t kOutputs = 4, kStride = 1;
constexpr size_t kElementsPerTask = 16 << 10;
// Estimates of integer sums are right and those of F(4) are 0.4 to 0.6 of the time measured, so that f32 must promise half the time
// (ResNet-18 on AVX2, Zen 3, 2026-11-28: promised 0.32 to 0.39 of the time, F(4) took 0.54 to 0.84; F(2) promised 0.63 and took 1.3).
constexpr double kDoubt = 2;

int32_t byte_at(const Tensor& tensor, size_t i) {
  return tensor.dtype() == DType::i8 ? int32_t{tensor.data<int8_t>()[i]} : int32_t{tensor.data<uint8_t>()[i]};
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.pack == 1) return declined("there is no packed layout");
  if (!fuses(cpu_device(device).isa)) return unavailable("without fused multiply-adds f32 is no faster than integers");
  if (const std::string refusal = refusal_of_quantized_conv(node); !refusal.empty()) return declined("{}", refusal);
  Estimate result = winograd_estimate(conv_shape(node), device, kOutputs, kStride);
  if (!result.declined.empty()) return result;
  const double elements = static_cast<double>(node.input_shape(kX).elements() + node.output_shape(0).elements());
  result.seconds = kDoubt * (result.seconds + device.byte_time((1 + sizeof(float)) * elements));
  result.packed_inputs = uint64_t{1} << kX;
  return result;
}

class QuantizedWinogradKernel final : public Kernel {
 public:
  explicit QuantizedWinogradKernel(PrepareContext& context)
      : s_(conv_shape(context.node())),
        kernels_(*cpu_device(context.device()).kernels->integer),
        lanes_(cpu_device(context.device()).kernels->lanes),
        conv_(*cpu_device(context.device()).kernels, s_, winograd_options(context.device(), *WinogradForms::of(s_, kOutputs, kStride)), {}),
        requantization_(context.node(), s_.out_channels, 1, *cpu_device(context.device()).kernels) {
    const Tensor &zero = context.node().contents(kXZero), &w_zero = context.node().contents(kWZero);
    source_ = {nullptr, zero.dtype() == DType::i8, byte_at(zero, 0)};
    pack_weights(context, context.node().contents(kW), w_zero);
    x_floats_ = product_of({s_.batch, ceil_div(s_.in_channels, lanes_), lanes_, s_.in_h, s_.in_w});
    x_ = context.reserve_scratch(product_of({x_floats_, sizeof(float)}));
    planes_ = s_.batch * ceil_div(s_.out_channels, lanes_);
    y_ = context.reserve_scratch(product_of({planes_, s_.out_h, s_.out_w, lanes_, sizeof(float)}));
    shared_ = context.reserve_scratch(product_of({conv_.shared_floats(), sizeof(float)}));
    units_.reserve(context, conv_.units(), conv_.scratch_floats());
  }

  void run(RunContext& context) noexcept override {
    float *x = context.scratch_at<float>(x_), *y = context.scratch_at<float>(y_), *shared = context.scratch_at<float>(shared_);
    context.parallel_for(ceil_div(x_floats_, kElementsPerTask), [&](size_t task) {
      const size_t first = task * kElementsPerTask;
      ByteSource source = source_;
      source.from = context.in<uint8_t>(kX) + first;
      kernels_.dequantize(source, std::min(kElementsPerTask, x_floats_ - first), 1, x + first);
    });
    const WinogradConv::Arguments arguments{x, shared_weights_ ? static_cast<const float*>(shared_weights_.get()) : weights_.data(),
                                            nullptr, nullptr, y};
    context.parallel_for(conv_.transform_units(), [&](size_t unit) { conv_.transform(unit, arguments, shared); });
    units_.run(context, [&](size_t unit, float* scratch) { conv_.run(unit, arguments, shared, scratch); });
    const size_t pixels = s_.out_h * s_.out_w;
    context.parallel_for(planes_, [&](size_t plane) {
      IntegerTile to{};
      requantization_.apply(to, 0, plane % (planes_ / s_.batch));
      to.y[0] = context.out<uint8_t>(0) + plane * pixels * lanes_;
      kernels_.requantize(y + plane * pixels * lanes_, pixels, to);
    });
  }

 private:
  /// The weights less their zero points; shared with other plans if these are 0.
  void pack_weights(PrepareContext& context, const Tensor& w, const Tensor& zero) {
    const size_t each = static_cast<size_t>(w.elements()) / s_.out_channels;
    const auto pack = [&](float* out) {
      std::vector<float> floats(static_cast<size_t>(w.elements()));
      for (size_t i = 0; i < floats.size(); ++i)
        floats[i] = static_cast<float>(byte_at(w, i) - byte_at(zero, zero.elements() == 1 ? 0 : i / each));
      conv_.pack_weights(floats.data(), out);
    };
    bool shared = true;
    for (size_t i = 0; i < static_cast<size_t>(zero.elements()); ++i) shared &= byte_at(zero, i) == 0;
    if (!shared) {
      weights_.resize(conv_.weight_floats());
      return pack(weights_.data());
    }
    const PackingParameters parameters = {{"columns", conv_.kept_columns().front()}};
    shared_weights_ = context.packed(kW, "winograd of integers", parameters, product_of({conv_.weight_floats(), sizeof(float)}),
                                     [&](const TensorView&, void* out) { pack(static_cast<float*>(out)); });
  }

  ConvShape s_;
  const IntegerKernels& kernels_;
  size_t lanes_;
  WinogradConv conv_;
  Requantization requantization_;
  ByteSource source_{};
  std::vector<float> weights_;  // where they are not shared
  std::shared_ptr<const void> shared_weights_;
  size_t x_floats_ = 0, planes_ = 0;   // planes: of vectors of output channels, of all images
  size_t x_ = 0, y_ = 0, shared_ = 0;  // of scratch
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<QuantizedWinogradKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"QLinearConv", "quantized_conv.winograd_f4_f32", estimate, prepare, kLargeOnly},
    {"minnow.QuantizedConv", "quantized_conv.winograd_f4_f32", estimate, prepare, kLargeOnly},
};

}  // namespace

std::span<const Scheme> quantized_winograd_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
#endif

// SPDX-License-Identifier: Apache-2.0
// The gradient of MaxPool on the packed layout.
#include "backends/cpu/kernels/pool_gradient.h"

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "graph/window.h"

namespace minnow::cpu {

namespace {

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (device.pack == 1) return declined("there is no packed layout");
  const WindowGeometry w = PoolGeometry::of(node).window;
  if (w.rank() > 2) return declined("there are {} spatial dimensions", w.rank());
  if (node.input_shape(0).elements() == 0 || node.input_shape(1).elements() == 0) return declined("the input is empty");
  if (w.input_positions() > INT32_MAX) return declined("the image is too large");
  const double taps = static_cast<double>(node.input_shape(1).elements() * w.taps());
  Estimate estimate(device.flop_time(taps * 12, 0.5) + device.byte_time(12.0 * static_cast<double>(node.input_shape(0).elements())) + 1e-6);
  estimate.packed_inputs = 3;
  estimate.packed_outputs = 1;
  return estimate;
}

class MaxPoolGradientKernel final : public Kernel {
 public:
  explicit MaxPoolGradientKernel(PrepareContext& context) : kernels_(*cpu_device(context.device()).kernels->pool_gradient) {
    const Shape& shape = context.node().input_shape(0);
    const WindowGeometry w = PoolGeometry::of(context.node()).window;
    const auto size = [](int64_t value) { return static_cast<size_t>(value); };
    lanes_ = size(context.device().pack);
    planes_ = size(shape[0]) * ((size(shape[1]) + lanes_ - 1) / lanes_);
    const size_t x = w.rank() - 1;  // the horizontal axis
    p_.in_h = p_.out_h = p_.kernel_h = p_.stride_h = p_.dilation_h = 1;
    p_.pad_top = 0;
    if (w.rank() == 2) {
      p_.in_h = size(w.input[0]), p_.out_h = size(w.output[0]), p_.kernel_h = size(w.kernel[0]), p_.stride_h = size(w.stride[0]);
      p_.dilation_h = size(w.dilation[0]), p_.pad_top = static_cast<ptrdiff_t>(w.pad_begin[0]);
    }
    p_.in_w = size(w.input[x]), p_.out_w = size(w.output[x]), p_.kernel_w = size(w.kernel[x]), p_.stride_w = size(w.stride[x]);
    p_.dilation_w = size(w.dilation[x]), p_.pad_left = static_cast<ptrdiff_t>(w.pad_begin[x]);
  }
  void run(RunContext& context) const noexcept override {
    const size_t in = p_.in_h * p_.in_w * lanes_, out = p_.out_h * p_.out_w * lanes_;
    context.parallel_for(planes_, [&](size_t plane) {
      MaxPoolGradient p = p_;
      p.x = context.in<float>(0) + plane * in, p.g = context.in<float>(1) + plane * out, p.y = context.out<float>(0) + plane * in;
      kernels_.max(p);
    });
  }

 private:
  const PoolGradientKernels& kernels_;
  MaxPoolGradient p_{};
  size_t lanes_, planes_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<MaxPoolGradientKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.MaxPoolGradient", "pool_gradient.packed", estimate, prepare}};

}  // namespace

std::span<const Scheme> pool_gradient_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// MaxPool of 8-bit integers in the packed layout: the lanes of a pixel at once.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/schemes.h"
#include "graph/window.h"

namespace minnow::cpu {
namespace {

struct Window {
  size_t in_h = 1, in_w = 1, out_h = 1, out_w = 1, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;
};

Estimate estimate(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (dtype != DType::u8 && dtype != DType::i8) return declined("the dtype is {}, not of 8 bits", dtype);
  if (device.pack == 1) return declined("there is no packed layout");
  if (node.output_count() > 1 && node.has_output(1)) return declined("the positions of the largest are wanted");
  const PoolGeometry pool = PoolGeometry::of(node);
  if (pool.window.rank() != 1 && pool.window.rank() != 2) return declined("there are {} spatial dimensions", pool.window.rank());
  if (node.output_shape(0).elements() == 0) return declined("the output is empty");
  const double outputs = static_cast<double>(node.output_shape(0).elements());
  Estimate estimate(device.flop_time(4 * outputs * static_cast<double>(pool.window.taps())) +
                    device.byte_time(outputs + static_cast<double>(node.input_shape(0).elements())) + 5e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

class BytePoolKernel final : public Kernel {
 public:
  explicit BytePoolKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->integer),
        lanes_(static_cast<size_t>(context.device().pack)),
        is_signed_(context.node().input_dtype(0) == DType::i8) {
    const PoolGeometry pool = PoolGeometry::of(context.node());
    const WindowGeometry& g = pool.window;
    const auto size = [](int64_t value) { return static_cast<size_t>(value); };
    const size_t x = g.rank() - 1;
    w_.in_w = size(g.input[x]), w_.out_w = size(g.output[x]), w_.kernel_w = size(g.kernel[x]), w_.stride_w = size(g.stride[x]);
    w_.dilation_w = size(g.dilation[x]), w_.pad_left = g.pad_begin[x];
    if (g.rank() == 2) {
      w_.in_h = size(g.input[0]), w_.out_h = size(g.output[0]), w_.kernel_h = size(g.kernel[0]), w_.stride_h = size(g.stride[0]);
      w_.dilation_h = size(g.dilation[0]), w_.pad_top = g.pad_begin[0];
    }
    planes_ = size(pool.batch) * ((size(pool.channels) + lanes_ - 1) / lanes_);
  }

  void run(RunContext& context) const noexcept override {
    context.parallel_for(planes_, [&](size_t plane) {
      const uint8_t* x = context.in<uint8_t>(0) + plane * w_.in_h * w_.in_w * lanes_;
      uint8_t* y = context.out<uint8_t>(0) + plane * w_.out_h * w_.out_w * lanes_;
      for (size_t row = 0; row < w_.out_h; ++row) pool_row(x, row, y + row * w_.out_w * lanes_);
    });
  }

 private:
  // Tap by tap, along the outputs that find it in the image.
  void pool_row(const uint8_t* x, size_t row, uint8_t* y) const noexcept {
    std::memset(y, is_signed_ ? 0x80 : 0, w_.out_w * lanes_);
    Stop stop;
    for (size_t ky = 0; ky < w_.kernel_h; ++ky) {
      const int64_t in_row = static_cast<int64_t>(row * w_.stride_h + ky * w_.dilation_h) - w_.pad_top;
      if (stop.after(1)) return;
      if (in_row < 0 || in_row >= static_cast<int64_t>(w_.in_h)) continue;
      for (size_t kx = 0; kx < w_.kernel_w; ++kx) {
        if (stop.after(w_.out_w)) return;
        const int64_t left = static_cast<int64_t>(kx * w_.dilation_w) - w_.pad_left, stride = static_cast<int64_t>(w_.stride_w);
        const int64_t begin = left >= 0 ? 0 : (-left + stride - 1) / stride, reach = static_cast<int64_t>(w_.in_w) - left;
        const int64_t end = reach <= 0 ? 0 : std::min(static_cast<int64_t>(w_.out_w), (reach + stride - 1) / stride);
        if (begin >= end) continue;
        const size_t at = static_cast<size_t>(in_row) * w_.in_w + static_cast<size_t>(left + begin * stride);
        kernels_.maximum(x + at * lanes_, w_.stride_w, static_cast<size_t>(end - begin), is_signed_,
                         y + static_cast<size_t>(begin) * lanes_);
      }
    }
  }

  const IntegerKernels& kernels_;
  Window w_;
  size_t lanes_, planes_ = 0;
  bool is_signed_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<BytePoolKernel>(context); }

constexpr Scheme kSchemes[] = {{"MaxPool", "max_pool.bytes", estimate, prepare}};

}  // namespace

std::span<const Scheme> byte_pool_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// MaxPool of 8-bit integers in the packed layout: the lanes of a pixel at once.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_device.h"
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
  if (node.output_count() > 1 && node.has_output(1)) return declined("the places of the largest are wanted");
  const PoolGeometry pool = PoolGeometry::of(node);
  if (pool.window.rank() != 1 && pool.window.rank() != 2) return declined("there are {} spatial dimensions", pool.window.rank());
  if (node.output_shape(0).elements() == 0) return declined("the output is empty");
  const double outputs = static_cast<double>(node.output_shape(0).elements());
  Estimate estimate(device.flop_time(2 * outputs * static_cast<double>(pool.window.taps())) +
                    device.byte_time(outputs + static_cast<double>(node.input_shape(0).elements())) + 5e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

// One row of outputs of `kLanes` channels.
template <class T, size_t kLanes>
void pool_row(const Window& w, const T* x, size_t row, T* y) {
  const auto first_tap = [](int64_t begin, size_t dilation) {
    return begin >= 0 ? size_t{0} : (static_cast<size_t>(-begin) + dilation - 1) / dilation;
  };
  const int64_t top = static_cast<int64_t>(row * w.stride_h) - w.pad_top;
  for (size_t column = 0; column < w.out_w; ++column, y += kLanes) {
    const int64_t left = static_cast<int64_t>(column * w.stride_w) - w.pad_left;
    T most[kLanes];
    std::fill_n(most, kLanes, std::numeric_limits<T>::lowest());
    for (size_t ky = first_tap(top, w.dilation_h); ky < w.kernel_h; ++ky) {
      const size_t in_row = static_cast<size_t>(top + static_cast<int64_t>(ky * w.dilation_h));
      if (in_row >= w.in_h) break;
      for (size_t kx = first_tap(left, w.dilation_w); kx < w.kernel_w; ++kx) {
        const size_t in_column = static_cast<size_t>(left + static_cast<int64_t>(kx * w.dilation_w));
        if (in_column >= w.in_w) break;
        const T* from = x + (in_row * w.in_w + in_column) * kLanes;
        for (size_t l = 0; l < kLanes; ++l) most[l] = std::max(most[l], from[l]);
      }
    }
    std::memcpy(y, most, sizeof most);
  }
}

class BytePoolKernel final : public Kernel {
 public:
  explicit BytePoolKernel(PrepareContext& context)
      : lanes_(static_cast<size_t>(context.device().pack)), is_signed_(context.node().input_dtype(0) == DType::i8) {
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

  void run(RunContext& context) noexcept override { is_signed_ ? run_as<int8_t>(context) : run_as<uint8_t>(context); }

 private:
  template <class T>
  void run_as(RunContext& context) const noexcept {
    const auto row = lanes_ == 16 ? pool_row<T, 16> : lanes_ == 8 ? pool_row<T, 8> : pool_row<T, 4>;
    context.parallel_for(planes_, [&](size_t plane) {
      const T* x = context.in<T>(0) + plane * w_.in_h * w_.in_w * lanes_;
      T* y = context.out<T>(0) + plane * w_.out_h * w_.out_w * lanes_;
      for (size_t r = 0; r < w_.out_h; ++r) row(w_, x, r, y + r * w_.out_w * lanes_);
    });
  }

  Window w_;
  size_t lanes_, planes_ = 0;
  bool is_signed_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<BytePoolKernel>(context); }

constexpr Scheme kSchemes[] = {{"MaxPool", "max_pool.bytes", estimate, prepare}};

}  // namespace

std::span<const Scheme> byte_pool_schemes() { return kSchemes; }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Pooling in one or two dimensions, and global pooling, on the packed layout.
#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/schemes/schemes.h"
#include "graph/window.h"

namespace minnow::cpu {
namespace {

bool is_global(const NodeView& node) { return node.op() == "GlobalAveragePool" || node.op() == "GlobalMaxPool"; }
bool is_average(const NodeView& node) { return node.op() == "AveragePool" || node.op() == "GlobalAveragePool"; }

size_t size(int64_t value) { return static_cast<size_t>(value); }

size_t vectors_of(const NodeView& node, const Device& device) {
  const Shape& x = node.input_shape(0);
  return size(x[0]) * ((size(x[1]) + size(device.pack) - 1) / size(device.pack));
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (device.pack == 1) return declined("there is no packed layout");
  if (node.output_count() > 1 && node.has_output(1)) return declined("the indices are wanted");
  const PoolGeometry pool = PoolGeometry::of(node);
  if (!is_global(node) && pool.window.rank() > 2) return declined("there are {} spatial dimensions", pool.window.rank());
  if (node.input_shape(0).elements() == 0 || node.output_shape(0).elements() == 0) return declined("the input is empty");
  const double lanes = static_cast<double>(vectors_of(node, device)) * device.pack;
  const double taps = static_cast<double>(is_global(node) ? pool.window.input_places() : pool.window.output_places() * pool.window.taps());
  Estimate estimate(device.flop_time(lanes * taps * 3, 0.5) +
                    device.byte_time(4 * lanes * static_cast<double>(pool.window.input_places())) + 2e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

class WindowsKernel final : public Kernel {
 public:
  explicit WindowsKernel(const PrepareContext& context)
      : lanes_(size(context.device().pack)), vectors_(vectors_of(context.node(), context.device())) {
    const NodeView& node = context.node();
    const PoolKernels& kernels = *cpu_device(context.device()).kernels->pool;
    const WindowGeometry w = PoolGeometry::of(node).window;
    function_ = is_average(node) ? kernels.average : kernels.max;
    const bool flat = w.rank() == 1;
    const size_t x = flat ? 0 : 1;  // the horizontal axis
    const auto vertical = [&](const Shape& shape, int64_t otherwise) { return flat ? otherwise : shape[0]; };
    r_.in_h = size(vertical(w.input, 1)), r_.in_w = size(w.input[x]), r_.out_w = size(w.output[x]);
    r_.kernel_h = size(vertical(w.kernel, 1)), r_.kernel_w = size(w.kernel[x]);
    r_.stride_h = size(vertical(w.stride, 1)), r_.stride_w = size(w.stride[x]);
    r_.dilation_h = size(vertical(w.dilation, 1)), r_.dilation_w = size(w.dilation[x]);
    r_.pad_top = static_cast<ptrdiff_t>(vertical(w.pad_begin, 0)), r_.pad_left = static_cast<ptrdiff_t>(w.pad_begin[x]);
    r_.first = 0, r_.rows = size(vertical(w.output, 1));
    images_ = size(node.input_shape(0)[0]);
    const size_t threads = size(context.device().threads), channels = size(node.input_shape(0)[1]);
    blocks_ = std::min(r_.rows, pixel_parts(threads, r_.rows * r_.out_w, channels, channels));
    r_.count_h = r_.count_w = 0;
    if (is_average(node) && node.attribute(Attribute<bool>{"count_include_pad", false})) {
      r_.count_h = r_.in_h + size(vertical(w.pad_begin, 0) + vertical(w.pad_end, 0));
      r_.count_w = r_.in_w + size(w.pad_begin[x] + w.pad_end[x]);
    }
  }
  void run(RunContext& context) noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t in = r_.in_h * r_.in_w * lanes_, out = r_.rows * r_.out_w * lanes_;
    const size_t each = vectors_ / images_;  // vectors of an image
    context.parallel_for(vectors_ * blocks_, [&](size_t unit) {
      const size_t image = unit / each / blocks_, block = unit / each % blocks_, vector = image * each + unit % each;
      PoolRows rows = r_;
      rows.first = share(r_.rows, blocks_, block), rows.rows = share(r_.rows, blocks_, block + 1) - rows.first;
      rows.x = x + vector * in;
      rows.y = y + vector * out + rows.first * r_.out_w * lanes_;
      function_(rows);
    });
  }

 private:
  size_t lanes_, vectors_, images_;
  size_t blocks_ = 1;  // of rows
  void (*function_)(const PoolRows&);
  PoolRows r_{};
};

class GlobalKernel final : public Kernel {
 public:
  explicit GlobalKernel(const PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->pool),
        lanes_(size(context.device().pack)),
        vectors_(vectors_of(context.node(), context.device())),
        places_(size(PoolGeometry::of(context.node()).window.input_places())),
        average_(is_average(context.node())) {}
  void run(RunContext& context) noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    // A vector's plane is a few hundred cache lines: several of them are a task.
    const size_t each = std::max<size_t>(1, (16 << 10) / (places_ * lanes_)), tasks = (vectors_ + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      for (size_t vector = task * each; vector < std::min(vectors_, (task + 1) * each); ++vector) {
        const float* from = x + vector * places_ * lanes_;
        if (average_)
          kernels_.sum(from, places_, 1.0f / static_cast<float>(places_), y + vector * lanes_);
        else
          kernels_.most(from, places_, y + vector * lanes_);
      }
    });
  }

 private:
  const PoolKernels& kernels_;
  size_t lanes_, vectors_, places_;
  bool average_;
};

std::unique_ptr<Kernel> prepare_windows(PrepareContext& context) { return std::make_unique<WindowsKernel>(context); }
std::unique_ptr<Kernel> prepare_global(PrepareContext& context) { return std::make_unique<GlobalKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"AveragePool", "pool.packed", estimate, prepare_windows},
    {"MaxPool", "pool.packed", estimate, prepare_windows},
    {"GlobalAveragePool", "pool.global", estimate, prepare_global},
    {"GlobalMaxPool", "pool.global", estimate, prepare_global},
};

}  // namespace

std::span<const Scheme> pool_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Pooling in one to three dimensions, and global pooling, on the packed layout. Windows added up to an image (Col2Im) on the plain one.
#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "graph/window.h"

namespace minnow::cpu {
namespace {

bool is_global(const NodeView& node) { return node.op() == "GlobalAveragePool" || node.op() == "GlobalMaxPool"; }
bool is_average(const NodeView& node) {
  return node.op() == "AveragePool" || node.op() == "GlobalAveragePool" || node.op() == "ReduceMean";
}

constexpr size_t kMostLanes = 16;

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
  if (!is_global(node) && pool.window.rank() > 3) return declined("there are {} spatial dimensions", pool.window.rank());
  if (node.input_shape(0).elements() == 0 || node.output_shape(0).elements() == 0) return declined("the input is empty");
  const double lanes = static_cast<double>(vectors_of(node, device)) * device.pack;
  const double taps = static_cast<double>(is_global(node) ? pool.window.input_places() : pool.window.output_places() * pool.window.taps());
  Estimate estimate(device.flop_time(lanes * taps * 3, 0.5) +
                    device.byte_time(4 * lanes * static_cast<double>(pool.window.input_places())) + 2e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

// A reduction over all of an image, whose result is plain where it drops the dimensions.
Estimate estimate_reduction(const NodeView& node, const Device& device) {
  const Shape& x = node.input_shape(0);
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (device.pack == 1) return declined("there is no packed layout");
  if (x.rank() < 3 || x.elements() == 0) return declined("the input {} has no places", x);
  std::vector<bool> reduced(x.rank());
  for (int64_t axis : node.has_input(1) ? node.ints(1) : Ints()) reduced[node.normalize_axis(axis, x.rank())] = true;
  for (size_t i = 0; i < x.rank(); ++i)
    if (reduced[i] != (i > 1)) return declined("the reduced axes are not those of an image");
  const double lanes = static_cast<double>(vectors_of(node, device)) * device.pack, places = static_cast<double>(x.product(2, x.rank()));
  Estimate estimate(device.flop_time(lanes * places * 3, 0.5) + device.byte_time(4 * lanes * places) + 2e-7);
  estimate.packed_inputs = 1;
  estimate.packed_outputs = node.output_shape(0).rank() == x.rank();
  return estimate;
}

// Of three dimensions, the first is pooled over whole planes into one, which then is pooled as an image is: the largest and the mean are
// the same whichever dimension comes first.
class WindowsKernel final : public Kernel {
 public:
  explicit WindowsKernel(PrepareContext& context)
      : lanes_(size(context.device().pack)), vectors_(vectors_of(context.node(), context.device())) {
    const NodeView& node = context.node();
    const PoolKernels& kernels = *cpu_device(context.device()).kernels->pool;
    const WindowGeometry w = PoolGeometry::of(node).window;
    function_ = is_average(node) ? kernels.average : kernels.max;
    const size_t x = w.rank() - 1;  // the horizontal axis
    const bool with_padding = is_average(node) && node.attribute(Attribute<bool>{"count_include_pad", false});
    const auto set_vertical = [&](PoolRows& r, size_t axis) {
      r.in_h = size(w.input[axis]), r.rows = size(w.output[axis]);
      r.kernel_h = size(w.kernel[axis]), r.stride_h = size(w.stride[axis]), r.dilation_h = size(w.dilation[axis]);
      r.pad_top = static_cast<ptrdiff_t>(w.pad_begin[axis]);
      if (with_padding) r.count_h = r.in_h + size(w.pad_begin[axis] + w.pad_end[axis]);
    };
    r_.in_h = r_.kernel_h = r_.stride_h = r_.dilation_h = r_.rows = 1;
    r_.in_w = size(w.input[x]), r_.out_w = size(w.output[x]);
    r_.kernel_w = size(w.kernel[x]), r_.stride_w = size(w.stride[x]), r_.dilation_w = size(w.dilation[x]);
    r_.pad_left = static_cast<ptrdiff_t>(w.pad_begin[x]);
    if (with_padding) r_.count_h = 1, r_.count_w = r_.in_w + size(w.pad_begin[x] + w.pad_end[x]);
    if (x > 0) set_vertical(r_, x - 1);
    if (x > 1) {
      set_vertical(planes_, 0);
      planes_.in_w = planes_.out_w = r_.in_h * r_.in_w;
      planes_.kernel_w = planes_.stride_w = planes_.dilation_w = 1;
      if (with_padding) planes_.count_w = planes_.in_w;
    }
    images_ = size(node.input_shape(0)[0]);
    const size_t threads = size(context.device().threads), channels = size(node.input_shape(0)[1]);
    blocks_ = x > 1 ? planes_.rows : std::min(r_.rows, pixel_parts(threads, r_.rows * r_.out_w, channels, channels));
    units_.reserve(context, vectors_ * blocks_, planes_.out_w * lanes_);
  }
  void run(RunContext& context) noexcept override {
    const size_t in = r_.in_h * r_.in_w * lanes_, out = r_.rows * r_.out_w * lanes_;
    const size_t each = vectors_ / images_;  // vectors of an image
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t image = unit / each / blocks_, block = unit / each % blocks_, vector = image * each + unit % each;
      PoolRows rows = r_;
      if (planes_.rows > 0) {
        PoolRows plane = planes_;
        plane.first = block, plane.rows = 1;
        plane.x = context.in<float>(0) + vector * planes_.in_h * in;
        plane.y = scratch;
        function_(plane);
        rows.x = scratch;
        rows.y = context.out<float>(0) + (vector * blocks_ + block) * out;
      } else {
        rows.first = share(r_.rows, blocks_, block), rows.rows = share(r_.rows, blocks_, block + 1) - rows.first;
        rows.x = context.in<float>(0) + vector * in;
        rows.y = context.out<float>(0) + vector * out + rows.first * r_.out_w * lanes_;
      }
      function_(rows);
    });
  }

 private:
  size_t lanes_, vectors_, images_;
  size_t blocks_ = 1;  // of rows, or the planes of the output
  void (*function_)(const PoolRows&);
  PoolRows r_{}, planes_{};
  Units units_;
};

class GlobalKernel final : public Kernel {
 public:
  explicit GlobalKernel(const PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->pool),
        lanes_(size(context.device().pack)),
        vectors_(vectors_of(context.node(), context.device())),
        places_(size(context.node().input_shape(0).product(2, context.node().input_shape(0).rank()))),
        channels_(size(context.node().input_shape(0)[1])),
        is_plain_(context.node().output_shape(0).rank() == 2),
        average_(is_average(context.node())) {}
  void run(RunContext& context) noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t of_image = (channels_ + lanes_ - 1) / lanes_;
    // A vector's plane is a few hundred cache lines: several of them are a task.
    const size_t each = std::max<size_t>(1, (16 << 10) / (places_ * lanes_)), tasks = (vectors_ + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      float whole[kMostLanes];
      for (size_t vector = task * each; vector < std::min(vectors_, (task + 1) * each); ++vector) {
        const float* from = x + vector * places_ * lanes_;
        const size_t channel = vector % of_image * lanes_, count = std::min(lanes_, channels_ - channel);
        float* to = is_plain_ ? y + vector / of_image * channels_ + channel : y + vector * lanes_;
        float* at = is_plain_ && count < lanes_ ? whole : to;
        if (average_)
          kernels_.sum(from, places_, 1.0f / static_cast<float>(places_), at);
        else
          kernels_.most(from, places_, at);
        if (at != to) std::copy_n(at, count, to);
      }
    });
  }

 private:
  const PoolKernels& kernels_;
  size_t lanes_, vectors_, places_, channels_;
  bool is_plain_, average_;
};

// ---- Col2Im

Estimate estimate_columns(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.output_shape(0).rank() != 4) return declined("there are not two spatial dimensions");
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  const WindowGeometry w = WindowGeometry::of(node, node.ints(1), node.ints(2));
  if (w.stride[1] != 1) return declined("blocks are not neighbours along a row");
  const double count = static_cast<double>(node.input_shape(0).elements());
  return Estimate(device.flop_time(2 * count, 0.25) + device.byte_time(4 * count) + 3e-7);
}

// The elements of a block's column lie side by side for neighbouring blocks, as those of a row of the image do that they are added to.
class ColumnsKernel final : public Kernel {
 public:
  explicit ColumnsKernel(PrepareContext& context)
      : add_(cpu_device(context.device()).kernels->binary->of(Binary::add, BinaryForm::both)),
        window_(WindowGeometry::of(context.node(), context.node().ints(1), context.node().ints(2))),
        planes_(size(context.node().output_shape(0).product(0, 2))) {}
  void run(RunContext& context) noexcept override {
    const size_t blocks = size(window_.output_places()), image = size(window_.input_places());
    context.parallel_for(planes_, [&](size_t plane) {
      const float* x = context.in<float>(0) + plane * size(window_.taps()) * blocks;
      float* y = context.out<float>(0) + plane * image;
      std::fill_n(y, image, 0.0f);
      for (int64_t row = 0; row < window_.input[0]; ++row, y += window_.input[1]) add_row(row, x, y);
    });
  }

 private:
  void add_row(int64_t row, const float* x, float* y) const noexcept {
    const int64_t columns = window_.output[1], blocks = window_.output_places();
    for (int64_t kx = 0; kx < window_.kernel[1]; ++kx) {
      const int64_t shift = kx * window_.dilation[1] - window_.pad_begin[1];
      const int64_t first = std::max<int64_t>(0, -shift), last = std::min(columns, window_.input[1] - shift);
      if (first >= last) continue;
      for (int64_t ky = 0; ky < window_.kernel[0]; ++ky) {
        const int64_t top = row + window_.pad_begin[0] - ky * window_.dilation[0], block = top / window_.stride[0];
        if (top < 0 || top % window_.stride[0] != 0 || block >= window_.output[0]) continue;
        add_(y + first + shift, x + (ky * window_.kernel[1] + kx) * blocks + block * columns + first, y + first + shift,
             size(last - first));
      }
    }
  }

  BinaryFunction add_;
  WindowGeometry window_;
  size_t planes_;
};

std::unique_ptr<Kernel> prepare_columns(PrepareContext& context) { return std::make_unique<ColumnsKernel>(context); }
std::unique_ptr<Kernel> prepare_windows(PrepareContext& context) { return std::make_unique<WindowsKernel>(context); }
std::unique_ptr<Kernel> prepare_global(PrepareContext& context) { return std::make_unique<GlobalKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"AveragePool", "pool.packed", estimate, prepare_windows},
    {"Col2Im", "pool.columns", estimate_columns, prepare_columns},
    {"MaxPool", "pool.packed", estimate, prepare_windows},
    {"GlobalAveragePool", "pool.global", estimate, prepare_global},
    {"GlobalMaxPool", "pool.global", estimate, prepare_global},
    {"ReduceMax", "pool.global", estimate_reduction, prepare_global},
    {"ReduceMean", "pool.global", estimate_reduction, prepare_global},
};

}  // namespace

std::span<const Scheme> pool_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

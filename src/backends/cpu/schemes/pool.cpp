// SPDX-License-Identifier: Apache-2.0
// Pooling in one to three dimensions, and global pooling, on the packed layout; 3-D MaxPool on the plain one, too. Windows added
// up to an image (Col2Im) on the plain one.
#include <limits>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"
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
  const double taps =
      static_cast<double>(is_global(node) ? pool.window.input_positions() : pool.window.output_positions() * pool.window.taps());
  Estimate estimate(device.flop_time(lanes * taps * 3, 0.5) +
                    device.byte_time(4 * lanes * static_cast<double>(pool.window.input_positions())) + 2e-7);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

// A reduction over all of an image, whose result is plain where it drops the dimensions.
Estimate estimate_reduction(const NodeView& node, const Device& device) {
  const Shape& x = node.input_shape(0);
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (device.pack == 1) return declined("there is no packed layout");
  if (x.rank() < 3 || x.elements() == 0) return declined("the input {} has no positions", x);
  std::vector<bool> reduced(x.rank());
  for (int64_t axis : node.has_input(1) ? node.ints(1) : Ints()) reduced[node.normalize_axis(axis, x.rank())] = true;
  for (size_t i = 0; i < x.rank(); ++i)
    if (reduced[i] != (i > 1)) return declined("the reduced axes are not those of an image");
  const double lanes = static_cast<double>(vectors_of(node, device)) * device.pack, positions = static_cast<double>(x.product(2, x.rank()));
  Estimate estimate(device.flop_time(lanes * positions * 3, 0.5) + device.byte_time(4 * lanes * positions) + 2e-7);
  estimate.packed_inputs = 1;
  estimate.packed_outputs = node.output_shape(0).rank() == x.rank();
  return estimate;
}

// With three dimensions, the first is pooled over whole planes into one, which then is pooled as an image is: the largest and the mean are
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
  void run(RunContext& context) const noexcept override {
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

// ---- Three dimensions in the plain layout: the largest over planes, then over rows, then along a row, each by vectors.

Estimate estimate_plain_3d(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.output_count() > 1 && node.has_output(1)) return declined("the indices are wanted");
  const WindowGeometry w = PoolGeometry::of(node).window;
  if (w.rank() != 3) return declined("there are {} spatial dimensions, not 3", w.rank());
  if (node.input_shape(0).elements() == 0 || node.output_shape(0).elements() == 0) return declined("the input is empty");
  const double images = static_cast<double>(node.input_shape(0).product(0, 2)), rows = static_cast<double>(w.output[0] * w.output[1]);
  const double largest =
      static_cast<double>(w.output[0] * w.kernel[0] * w.input[1]) + rows * static_cast<double>(w.kernel[1] + w.kernel[2]);
  return Estimate(device.flop_time(images * static_cast<double>(w.input[2]) * largest, 0.1) + images * rows * 3e-8 / device.threads +
                  device.byte_time(4 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements())) + 2e-7);
}

class PlainPool3dKernel final : public Kernel {
 public:
  explicit PlainPool3dKernel(PrepareContext& context)
      : largest_(cpu_device(context.device()).kernels->binary->of(Binary::maximum, BinaryForm::both)),
        w_(PoolGeometry::of(context.node()).window) {
    units_.reserve(context, size(context.node().input_shape(0).product(0, 2) * w_.output[0]),
                   sum_of({plane(), product_of({2, size(w_.output[1]), size(w_.input[2])})}));
  }
  void run(RunContext& context) const noexcept override {
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t image = unit / size(w_.output[0]);
      const float* planes =
          join(0, unit % size(w_.output[0]), context.in<float>(0) + image * size(w_.input[0]) * plane(), plane(), scratch);
      const size_t width = size(w_.input[2]), height = size(w_.output[1]), out = size(w_.output[2]);
      float *const rows = scratch + plane(), *const most = rows + height * width;
      for (size_t row = 0; row < height; ++row) {
        float* const to = rows + row * width;
        const float* largest = planes ? join(1, row, planes, width, to) : nullptr;
        if (!largest)
          std::fill_n(to, width, std::numeric_limits<float>::lowest());
        else if (largest != to)
          std::copy_n(largest, width, to);
      }
      // Windows within the rows, for all rows at once: compute the maximum from every position on, then pick some of them.
      const size_t taps = size(w_.kernel[2]), step = size(w_.dilation[2]), all = height * width;
      Stop stop;
      for (size_t tap = 1; tap < taps && tap * step < all && !stop.after(all / 8); ++tap)
        largest_(tap == 1 ? rows : most, rows + tap * step, most, all - tap * step);
      float* y = context.out<float>(0) + unit * height * out;
      for (size_t row = 0; row < height; ++row, y += out) pool_row(rows + row * width, (taps == 1 ? rows : most) + row * width, y);
    });
  }

 private:
  size_t plane() const noexcept { return size(w_.input[1] * w_.input[2]); }

  // The maximum of the slices of `count` floats in the window of output `at`: a slice itself, or `out`; null if the window is empty.
  const float* join(size_t axis, size_t at, const float* x, size_t count, float* out) const noexcept {
    const float* most = nullptr;
    Stop stop;
    for (int64_t tap = 0; tap < w_.kernel[axis]; ++tap) {
      if (stop.after(1)) break;
      const int64_t slice = static_cast<int64_t>(at) * w_.stride[axis] + tap * w_.dilation[axis] - w_.pad_begin[axis];
      if (slice < 0 || slice >= w_.input[axis]) continue;
      const float* from = x + size(slice) * count;
      if (most) largest_(most, from, out, count);
      most = most ? out : from;
    }
    return most;
  }

  // `most`: the largest of the window from each place of the row on.
  void pool_row(const float* x, const float* most, float* y) const noexcept {
    const int64_t width = w_.input[2], taps = w_.kernel[2], stride = w_.stride[2], dilation = w_.dilation[2], pad = w_.pad_begin[2];
    // The outputs [first, last) have their windows within the row.
    const int64_t positions = width - (taps - 1) * dilation, outputs = w_.output[2], first = std::min(outputs, (pad + stride - 1) / stride);
    const int64_t last = std::clamp((positions + pad + stride - 1) / stride, first, outputs);
    const auto at_end = [&](int64_t i) {
      float value = std::numeric_limits<float>::lowest();
      bool any = false;
      for (int64_t tap = 0, place = i * stride - pad; tap < taps && place < width; ++tap, place += dilation) {
        if (place < 0) {  // to the last one before the row
          const int64_t before = std::min(taps - 1 - tap, (-place - 1) / dilation);
          tap += before, place += before * dilation;
          continue;
        }
        if (!any || x[place] > value || x[place] != x[place]) value = x[place];
        any = true;
      }
      y[i] = value;
    };
    for (int64_t i = 0; i < first; ++i) at_end(i);
    for (int64_t i = first; i < last; ++i) y[i] = most[i * stride - pad];
    for (int64_t i = last; i < outputs; ++i) at_end(i);
  }

  BinaryFunction largest_;
  WindowGeometry w_;
  Units units_;
};

class GlobalKernel final : public Kernel {
 public:
  explicit GlobalKernel(const PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->pool),
        lanes_(size(context.device().pack)),
        vectors_(vectors_of(context.node(), context.device())),
        positions_(size(context.node().input_shape(0).product(2, context.node().input_shape(0).rank()))),
        channels_(size(context.node().input_shape(0)[1])),
        is_plain_(context.node().output_shape(0).rank() < context.node().input_shape(0).rank()),
        average_(is_average(context.node())) {}
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t of_image = (channels_ + lanes_ - 1) / lanes_;
    // A vector's plane is a few hundred cache lines: several of them are a task.
    const size_t each = std::max<size_t>(1, (16 << 10) / (positions_ * lanes_)), tasks = (vectors_ + each - 1) / each;
    context.parallel_for(tasks, [&](size_t task) {
      float whole[kMostLanes];
      for (size_t vector = task * each; vector < std::min(vectors_, (task + 1) * each); ++vector) {
        const float* from = x + vector * positions_ * lanes_;
        const size_t channel = vector % of_image * lanes_, count = std::min(lanes_, channels_ - channel);
        float* to = is_plain_ ? y + vector / of_image * channels_ + channel : y + vector * lanes_;
        float* at = is_plain_ && count < lanes_ ? whole : to;
        if (average_)
          kernels_.sum(from, positions_, 1.0f / static_cast<float>(positions_), at);
        else
          kernels_.most(from, positions_, at);
        if (at != to) std::copy_n(at, count, to);
      }
    });
  }

 private:
  const PoolKernels& kernels_;
  size_t lanes_, vectors_, positions_, channels_;
  bool is_plain_, average_;
};

// ---- Col2Im

Estimate estimate_columns(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (node.output_shape(0).rank() != 4) return declined("there are not two spatial dimensions");
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  const WindowGeometry w = WindowGeometry::of(node, node.ints(1), node.ints(2));
  const double count = static_cast<double>(node.input_shape(0).elements());
  return Estimate(device.flop_time(2 * count, w.stride[1] == 1 ? 0.25 : 0.05) + device.byte_time(4 * count) + 3e-7);
}

// Tap by tap: the elements of all blocks lie side by side, and those of a row of blocks are added to a row of the image.
class ColumnsKernel final : public Kernel {
 public:
  explicit ColumnsKernel(PrepareContext& context)
      : add_(cpu_device(context.device()).kernels->binary->of(Binary::add, BinaryForm::both)),
        window_(WindowGeometry::of(context.node(), context.node().ints(1), context.node().ints(2))),
        planes_(size(context.node().output_shape(0).product(0, 2))) {}
  void run(RunContext& context) const noexcept override {
    const size_t blocks = size(window_.output_positions()), image = size(window_.input_positions());
    context.parallel_for(planes_, [&](size_t plane) {
      const float* x = context.in<float>(0) + plane * size(window_.taps()) * blocks;
      float* y = context.out<float>(0) + plane * image;
      std::fill_n(y, image, 0.0f);
      Stop stop;
      for (size_t tap = 0; tap < size(window_.taps()) && !stop.after(blocks); ++tap, x += blocks) add_tap(static_cast<int64_t>(tap), x, y);
    });
  }

 private:
  void add_tap(int64_t tap, const float* x, float* y) const noexcept {
    const int64_t columns = window_.output[1], height = window_.input[0], width = window_.input[1], step = window_.stride[1];
    const int64_t down = tap / window_.kernel[1] * window_.dilation[0] - window_.pad_begin[0];
    const int64_t right = tap % window_.kernel[1] * window_.dilation[1] - window_.pad_begin[1];
    // The blocks [first, last) of a row have this tap within the image.
    const int64_t first = right < 0 ? (-right + step - 1) / step : 0;
    const int64_t last = right < width ? std::min(columns, (width - 1 - right) / step + 1) : 0;
    if (first >= last) return;
    for (int64_t block = 0; block < window_.output[0]; ++block, x += columns) {
      const int64_t row = block * window_.stride[0] + down;
      if (row < 0 || row >= height) continue;
      float* to = y + row * width + right + first * step;
      if (step == 1)
        add_(to, x + first, to, size(last - first));
      else
        for (int64_t i = first; i < last; ++i, to += step) *to += x[i];
    }
  }

  BinaryFunction add_;
  WindowGeometry window_;
  size_t planes_;
};

std::unique_ptr<Kernel> prepare_columns(PrepareContext& context) { return std::make_unique<ColumnsKernel>(context); }
std::unique_ptr<Kernel> prepare_windows(PrepareContext& context) { return std::make_unique<WindowsKernel>(context); }
std::unique_ptr<Kernel> prepare_plain_3d(PrepareContext& context) { return std::make_unique<PlainPool3dKernel>(context); }
std::unique_ptr<Kernel> prepare_global(PrepareContext& context) { return std::make_unique<GlobalKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"AveragePool", "pool.packed", estimate, prepare_windows},
    {"Col2Im", "pool.columns", estimate_columns, prepare_columns, kLargeOnly},
    {"MaxPool", "pool.packed", estimate, prepare_windows},
    {"MaxPool", "pool.plain_3d", estimate_plain_3d, prepare_plain_3d, kLargeOnly},
    {"GlobalAveragePool", "pool.global", estimate, prepare_global},
    {"GlobalMaxPool", "pool.global", estimate, prepare_global},
    {"ReduceMax", "pool.global", estimate_reduction, prepare_global},
    {"ReduceMean", "pool.global", estimate_reduction, prepare_global},
};

}  // namespace

std::span<const Scheme> pool_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

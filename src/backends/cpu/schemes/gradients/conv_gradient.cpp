// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions on the packed layout: of filters, as products over the places of an image that are read where they lie, and of
// the images of depthwise convolutions.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/filter_gradient.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/saturating.h"

namespace minnow::cpu {

namespace {

size_t size(int64_t value) { return static_cast<size_t>(value); }

/// One or two spatial dimensions.
ConvShape shape_of(const ConvGeometry& conv) {
  const WindowGeometry& w = conv.window;
  const bool flat = w.rank() == 1;
  const size_t x = flat ? 0 : 1;
  ConvShape s;
  s.batch = size(conv.batch), s.in_channels = size(conv.in_channels), s.out_channels = size(conv.out_channels);
  s.groups = size(conv.groups);
  s.in_w = size(w.input[x]), s.out_w = size(w.output[x]), s.kernel_w = size(w.kernel[x]);
  s.stride_w = size(w.stride[x]), s.dilation_w = size(w.dilation[x]), s.pad_left = size(w.pad_begin[x]);
  if (!flat) {
    s.in_h = size(w.input[0]), s.out_h = size(w.output[0]), s.kernel_h = size(w.kernel[0]);
    s.stride_h = size(w.stride[0]), s.dilation_h = size(w.dilation[0]), s.pad_top = size(w.pad_begin[0]);
  }
  return s;
}

/// The outputs [begin, end) whose tap lies within the image.
struct Places {
  size_t begin, end;
  Places(size_t tap, size_t dilation, size_t pad, size_t stride, size_t in, size_t out) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(tap * dilation) - static_cast<ptrdiff_t>(pad), step = static_cast<ptrdiff_t>(stride);
    begin = first < 0 ? size((-first + step - 1) / step) : 0;
    const ptrdiff_t rest = static_cast<ptrdiff_t>(in) - first;
    end = rest <= 0 ? 0 : std::min(out, size((rest + step - 1) / step));
    begin = std::min(begin, end);
  }
};

std::string refusal_of(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f32) return format("the dtype is {}, not f32", node.input_dtype(0));
  if (device.pack == 1) return "there is no packed layout";
  if (node.input_shape(0).elements() == 0 || node.input_shape(1).elements() == 0 || node.output_shape(0).elements() == 0)
    return "a tensor is empty";
  const size_t rank = node.input_shape(0).rank() - 2;
  if (rank != 1 && rank != 2) return format("there are {} spatial dimensions", rank);
  return {};
}

Estimate estimate_filters(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  const ConvGeometry conv = conv_gradient_geometry(node);
  const ConvShape s = shape_of(conv);
  const size_t lanes = size(device.pack), in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  if (s.groups > 1 && (in % lanes || out % lanes)) return declined("the groups are not whole vectors of {}", device.pack);
  const double used = static_cast<double>(in * out) / static_cast<double>(align_up(in, 4) * align_up(out, lanes));
  const double bytes = 4.0 * static_cast<double>(node.input_shape(0).elements() + node.input_shape(1).elements());
  Estimate estimate(device.flop_time(2 * conv.multiply_adds(), 0.7 * used) + device.byte_time(bytes) +
                    2 * device.byte_time(4.0 * static_cast<double>(node.output_shape(0).elements())) + 1e-6);
  estimate.packed_inputs = 3;
  return estimate;
}

// A unit has the gradients of the filters between one vector of channels and up to three vectors of outputs, in a part of the images. The
// number of parts depends on the shape alone, and so do the sums.
class FilterGradientKernel final : public Kernel {
 public:
  explicit FilterGradientKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->filter_gradient),
        layout_(*cpu_device(context.device()).kernels->layout),
        s_(shape_of(conv_gradient_geometry(context.node()))),
        lanes_(size(context.device().pack)) {
    in_ = s_.in_channels / s_.groups, out_ = s_.out_channels / s_.groups;
    in_vectors_ = ceil_div(in_, lanes_), out_vectors_ = ceil_div(out_, lanes_);
    out_blocks_ = ceil_div(out_vectors_, kMostVectors);
    units_ = s_.groups * in_vectors_ * out_blocks_;
    constexpr size_t kUnits = 16;
    parts_ = std::min(s_.batch, units_ < kUnits ? ceil_div(kUnits, units_) : 1);
    sum_row_ = std::min(kMostVectors, out_vectors_) * lanes_;
    floats_ = lanes_ * s_.taps() * sum_row_;
    tall_ = in_ > 4 || kernels_.rows[1] == 4;
    // Rows of places that stay in L1 while the tiles of all taps go over them.
    const size_t row_bytes = sizeof(float) * lanes_ * (s_.out_w * kMostVectors + s_.in_w * s_.stride_h);
    chunk_ = std::clamp<size_t>(context.device().l1 / row_bytes, 1, s_.out_h);
    scratch_ = context.reserve_scratch(product_of({units_, parts_, floats_, sizeof(float)}));
  }

  void run(RunContext& context) const noexcept override {
    float* const sums = context.scratch_at<float>(scratch_);
    const float *x = context.in<float>(0), *g = context.in<float>(1);
    context.parallel_for(units_ * parts_, [&](size_t task) {
      float* const to = sums + task * floats_;
      std::fill_n(to, floats_, 0.0f);
      const size_t part = task % parts_;
      for (size_t image = share(s_.batch, parts_, part); image < share(s_.batch, parts_, part + 1); ++image)
        add_image(task / parts_, image, x, g, to);
      if (parts_ == 1) finish(task, to, context.out<float>(0));
    });
    if (parts_ == 1) return;
    context.parallel_for(units_, [&](size_t unit) {
      float* const to = sums + unit * parts_ * floats_;
      for (size_t part = 1; part < parts_; ++part)
        for (size_t i = 0; i < floats_; ++i) to[i] += to[part * floats_ + i];
      finish(unit, to, context.out<float>(0));
    });
  }

 private:
  static constexpr size_t kMostVectors = 3;

  struct Block {
    size_t group, in, first, vectors;  // vectors of channels and outputs of the group
  };
  Block block_of(size_t unit) const noexcept {
    const size_t block = unit % out_blocks_, first = share(out_vectors_, out_blocks_, block);
    return {unit / out_blocks_ / in_vectors_, unit / out_blocks_ % in_vectors_, first, share(out_vectors_, out_blocks_, block + 1) - first};
  }

  // sums: [channel][tap][output]
  void add_image(size_t unit, size_t image, const float* x, const float* g, float* sums) const noexcept {
    const Block b = block_of(unit);
    const size_t in_plane = s_.in_h * s_.in_w * lanes_, out_plane = s_.out_h * s_.out_w * lanes_;
    x += (image * ceil_div(s_.in_channels, lanes_) + b.group * in_vectors_ + b.in) * in_plane;
    g += (image * ceil_div(s_.out_channels, lanes_) + b.group * out_vectors_ + b.first) * out_plane;
    const size_t channels = std::min(lanes_, in_ - b.in * lanes_), height = kernels_.rows[tall_];
    const FilterGradientFunction tile = kernels_.tile[tall_][b.vectors - 1];
    FilterGradientTile t;
    t.x_row = static_cast<ptrdiff_t>(s_.stride_h * s_.in_w * lanes_);
    t.x_column = static_cast<ptrdiff_t>(s_.stride_w * lanes_);
    t.g_row = static_cast<ptrdiff_t>(s_.out_w * lanes_);
    t.sum_row = s_.taps() * sum_row_;
    for (size_t top = 0; top < s_.out_h; top += chunk_)
      for (size_t tap = 0; tap < s_.taps(); ++tap) {
        const size_t ky = tap / s_.kernel_w, kx = tap % s_.kernel_w;
        const Places rows(ky, s_.dilation_h, s_.pad_top, s_.stride_h, s_.in_h, s_.out_h);
        const Places columns(kx, s_.dilation_w, s_.pad_left, s_.stride_w, s_.in_w, s_.out_w);
        const size_t begin = std::max(top, rows.begin), end = std::min(top + chunk_, rows.end);
        if (begin >= end || columns.begin == columns.end) continue;
        t.rows = end - begin, t.columns = columns.end - columns.begin;
        const size_t in_row = begin * s_.stride_h + ky * s_.dilation_h - s_.pad_top,
                     in_column = columns.begin * s_.stride_w + kx * s_.dilation_w - s_.pad_left;
        const float* from = x + (in_row * s_.in_w + in_column) * lanes_;
        for (size_t v = 0; v < b.vectors; ++v) t.g[v] = g + v * out_plane + (begin * s_.out_w + columns.begin) * lanes_;
        for (size_t first = 0; first < channels; first += height) {
          t.x = from + first;
          t.sums = sums + (first * s_.taps() + tap) * sum_row_;
          tile(t);
        }
      }
  }

  void finish(size_t unit, const float* sums, float* y) const noexcept {
    const Block b = block_of(unit);
    const size_t taps = s_.taps(), channels = std::min(lanes_, in_ - b.in * lanes_), first = b.first * lanes_;
    const size_t outputs = std::min(b.vectors * lanes_, out_ - first);
    layout_.transpose(sums, sum_row_, channels * taps, outputs, y + ((b.group * out_ + first) * in_ + b.in * lanes_) * taps, in_ * taps);
  }

  const FilterGradientKernels& kernels_;
  const LayoutKernels& layout_;
  ConvShape s_;
  size_t lanes_, in_, out_, in_vectors_, out_vectors_, out_blocks_, units_, parts_, sum_row_, floats_, chunk_, scratch_;
  bool tall_;
};

std::unique_ptr<Kernel> prepare_filters(PrepareContext& context) { return std::make_unique<FilterGradientKernel>(context); }

// ---- Depthwise.

Estimate estimate_depthwise(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  const ConvGeometry conv = conv_gradient_geometry(node);
  if (conv.groups != conv.in_channels || conv.groups != conv.out_channels) return declined("it is not depthwise");
  const double bytes = 4.0 * static_cast<double>(node.input_shape(0).elements() + node.input_shape(1).elements());
  Estimate estimate(device.flop_time(2 * conv.multiply_adds(), 0.3) + device.byte_time(bytes) + 1e-6);
  estimate.packed_inputs = 3;
  return estimate;
}

class DepthwiseFilterGradientKernel final : public Kernel {
 public:
  explicit DepthwiseFilterGradientKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->filter_gradient),
        layout_(*cpu_device(context.device()).kernels->layout),
        s_(shape_of(conv_gradient_geometry(context.node()))),
        lanes_(size(context.device().pack)),
        vectors_(ceil_div(s_.in_channels, lanes_)),
        scratch_(context.reserve_scratch(product_of({s_.batch, vectors_, s_.taps(), lanes_, sizeof(float)}))) {}

  void run(RunContext& context) const noexcept override {
    const size_t floats = s_.taps() * lanes_;
    float *const sums = context.scratch_at<float>(scratch_), *const y = context.out<float>(0);
    context.parallel_for(s_.batch * vectors_, [&](size_t plane) {
      float* const to = sums + plane * floats;
      std::fill_n(to, floats, 0.0f);
      add_plane(context.in<float>(0) + plane * s_.in_h * s_.in_w * lanes_, context.in<float>(1) + plane * s_.out_h * s_.out_w * lanes_, to);
    });
    for (size_t vector = 0; vector < vectors_; ++vector) {
      float* const to = sums + vector * floats;
      for (size_t image = 1; image < s_.batch; ++image)
        for (size_t i = 0; i < floats; ++i) to[i] += to[image * vectors_ * floats + i];
      const size_t first = vector * lanes_;
      layout_.transpose(to, lanes_, s_.taps(), std::min(lanes_, s_.in_channels - first), y + first * s_.taps(), s_.taps());
    }
  }

 private:
  void add_plane(const float* x, const float* g, float* sums) const noexcept {
    FilterGradientTile t;
    t.x_row = static_cast<ptrdiff_t>(s_.stride_h * s_.in_w * lanes_);
    t.x_column = static_cast<ptrdiff_t>(s_.stride_w * lanes_);
    t.g_row = static_cast<ptrdiff_t>(s_.out_w * lanes_);
    t.sum_row = 0;
    constexpr size_t kRows = 16;
    for (size_t top = 0; top < s_.out_h; top += kRows)
      for (size_t tap = 0; tap < s_.taps(); ++tap) {
        const size_t ky = tap / s_.kernel_w, kx = tap % s_.kernel_w;
        const Places rows(ky, s_.dilation_h, s_.pad_top, s_.stride_h, s_.in_h, s_.out_h);
        const Places columns(kx, s_.dilation_w, s_.pad_left, s_.stride_w, s_.in_w, s_.out_w);
        const size_t begin = std::max(top, rows.begin), end = std::min(top + kRows, rows.end);
        if (begin >= end || columns.begin == columns.end) continue;
        t.rows = end - begin, t.columns = columns.end - columns.begin;
        t.x = x + ((begin * s_.stride_h + ky * s_.dilation_h - s_.pad_top) * s_.in_w + columns.begin * s_.stride_w + kx * s_.dilation_w -
                   s_.pad_left) *
                      lanes_;
        t.g[0] = g + (begin * s_.out_w + columns.begin) * lanes_;
        t.sums = sums + tap * lanes_;
        kernels_.depthwise(t);
      }
  }

  const FilterGradientKernels& kernels_;
  const LayoutKernels& layout_;
  ConvShape s_;
  size_t lanes_, vectors_, scratch_;
};

std::unique_ptr<Kernel> prepare_depthwise(PrepareContext& context) { return std::make_unique<DepthwiseFilterGradientKernel>(context); }

/// The convolution whose image's gradient a ConvTranspose is.
ConvGeometry convolution_of(const NodeView& node) {
  const ConvTransposeGeometry transposed = ConvTransposeGeometry::of(node);
  ConvGeometry conv;
  conv.batch = transposed.batch, conv.groups = transposed.groups;
  conv.in_channels = transposed.out_channels, conv.out_channels = transposed.in_channels;
  conv.window = transposed.window;
  return conv;
}

Estimate estimate_depthwise_image(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  const ConvGeometry conv = convolution_of(node);
  if (conv.groups != conv.in_channels || conv.groups != conv.out_channels) return declined("it is not depthwise");
  if (node.has_input(2)) return declined("there is a bias");
  const double bytes = 4.0 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements());
  Estimate estimate(device.flop_time(2 * conv.multiply_adds(), 0.2) + device.byte_time(bytes) + 1e-6);
  estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}

class DepthwiseImageGradientKernel final : public Kernel {
 public:
  explicit DepthwiseImageGradientKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->filter_gradient),
        layout_(*cpu_device(context.device()).kernels->layout),
        s_(shape_of(convolution_of(context.node()))),
        lanes_(size(context.device().pack)),
        vectors_(ceil_div(s_.in_channels, lanes_)),
        weights_(context.reserve_scratch(product_of({vectors_, s_.taps(), lanes_, sizeof(float)}))) {}

  void run(RunContext& context) const noexcept override {
    const size_t floats = s_.taps() * lanes_;
    float* const weights = context.scratch_at<float>(weights_);
    for (size_t vector = 0; vector < vectors_; ++vector) {
      const size_t first = vector * lanes_;
      layout_.transpose(context.in<float>(1) + first * s_.taps(), s_.taps(), std::min(lanes_, s_.in_channels - first), s_.taps(),
                        weights + vector * floats, lanes_);
    }
    context.parallel_for(s_.batch * vectors_, [&](size_t plane) {
      DepthwiseImageGradient p;
      p.in_h = s_.in_h, p.in_w = s_.in_w, p.out_h = s_.out_h, p.out_w = s_.out_w, p.kernel_h = s_.kernel_h, p.kernel_w = s_.kernel_w;
      p.stride_h = s_.stride_h, p.stride_w = s_.stride_w, p.dilation_h = s_.dilation_h, p.dilation_w = s_.dilation_w;
      p.pad_top = static_cast<ptrdiff_t>(s_.pad_top), p.pad_left = static_cast<ptrdiff_t>(s_.pad_left);
      p.g = context.in<float>(0) + plane * s_.out_h * s_.out_w * lanes_;
      p.w = weights + plane % vectors_ * floats;
      p.y = context.out<float>(0) + plane * s_.in_h * s_.in_w * lanes_;
      kernels_.depthwise_image(p);
    });
  }

 private:
  const FilterGradientKernels& kernels_;
  const LayoutKernels& layout_;
  ConvShape s_;
  size_t lanes_, vectors_, weights_;
};

std::unique_ptr<Kernel> prepare_depthwise_image(PrepareContext& context) { return std::make_unique<DepthwiseImageGradientKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"ConvTranspose", "conv_transpose.depthwise", estimate_depthwise_image, prepare_depthwise_image, kLargeOnly},
    {"minnow.ConvWeightGradient", "conv_gradient.gemm", estimate_filters, prepare_filters},
    {"minnow.ConvWeightGradient", "conv_gradient.depthwise", estimate_depthwise, prepare_depthwise},
};

}  // namespace

std::span<const Scheme> conv_gradient_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

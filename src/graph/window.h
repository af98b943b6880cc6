// SPDX-License-Identifier: Apache-2.0
// The arithmetic of sliding windows: what kernel, stride, dilation and padding make of spatial dimensions, for convolutions and pools
// alike. Shape rules, references and schemes all take their numbers from here.
#pragma once
#include "graph/node_view.h"

namespace minnow {

/// Windows over the spatial dimensions of a tensor [batch, channels, spatial...]. Each Shape has one entry per spatial dimension.
/// Tap k of output position o reads input position o * stride + k * dilation - pad_begin; positions outside [0, input) are padding.
struct WindowGeometry {
  Shape input, output;
  Shape kernel, stride, dilation;
  Shape pad_begin, pad_end;  // never negative; resolved from auto_pad. With ceil_mode the last window may reach beyond pad_end.

  size_t rank() const noexcept { return kernel.rank(); }
  /// Input positions that one window spans along a dimension: (kernel - 1) * dilation + 1.
  int64_t extent(size_t axis) const noexcept { return (kernel[axis] - 1) * dilation[axis] + 1; }
  int64_t taps() const noexcept { return kernel.product(0, rank()); }
  int64_t input_positions() const noexcept { return input.product(0, rank()); }
  int64_t output_positions() const noexcept { return output.product(0, rank()); }
  bool is_padded() const noexcept;     // some window reads padding
  bool is_pointwise() const noexcept;  // one tap, stride 1, no padding: output place i reads input place i alone
  bool is_undilated() const noexcept;  // every dilation is 1
  bool has_unit_stride() const noexcept;

  /// Reads `strides`, `dilations`, `pads` and `auto_pad` of the node. Throws InvalidModel where they do not fit the dimensions.
  static WindowGeometry of(const NodeView& node, std::span<const int64_t> input, std::span<const int64_t> kernel, bool ceil_mode = false);
};

/// The spatial sizes that windows leave of an input: the shape rule behind WindowGeometry.
Sizes window_output(const NodeView& node, std::span<const Size> input, std::span<const Size> kernel, bool ceil_mode = false);

/// Pooling of X [batch, channels, spatial...].
struct PoolGeometry {
  int64_t batch = 0, channels = 0;
  WindowGeometry window;

  int64_t planes() const noexcept { return batch * channels; }
  Shape output_shape() const;

  /// For MaxPool, AveragePool and LpPool, and of the global pools, whose one window is all of the input.
  static PoolGeometry of(const NodeView& node);
  /// The shape rule.
  static Sizes output_sizes(const NodeView& node);
};

/// For minnow.FusedConv: X is [batch, spatial..., in_channels].
inline constexpr Attribute<bool> kChannelsLast{"channels_last", false, "X is [batch, spatial..., channels]"};
inline bool has_channels_last(const NodeView& node) { return node.op() == "minnow.FusedConv" && node.attribute(kChannelsLast); }

/// A convolution of X [batch, in_channels, spatial...] with W [out_channels, in_channels / groups, kernel...].
struct ConvGeometry {
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  WindowGeometry window;

  int64_t in_channels_per_group() const noexcept { return in_channels / groups; }
  int64_t out_channels_per_group() const noexcept { return out_channels / groups; }
  bool is_depthwise() const noexcept { return groups == in_channels && groups > 1; }
  Shape output_shape() const;
  /// Multiply-adds of the direct computation, padding included.
  double multiply_adds() const noexcept;

  /// For Conv, minnow.FusedConv, ConvInteger and DeformConv: X is input 0, W input 1. QLinearConv and minnow.QuantizedConv have W at 3.
  /// The bias, where there is one, is checked too. Where X's channels are last, what is said here is of X as it would be with them first.
  /// Throws InvalidModel where shapes and attributes do not fit; asks for a cut where a shape is not known.
  static ConvGeometry of(const NodeView& node);
  /// The shape rule, with the same checks. Channels are first.
  static Sizes output_sizes(const NodeView& node);
};

/// The convolution whose filters minnow.ConvWeightGradient differentiates: of X, input 0, with an output like input 1.
inline ConvGeometry conv_gradient_geometry(const NodeView& node) {
  const Shape &x = node.input_shape(0), &g = node.input_shape(1);
  ConvGeometry conv;
  conv.batch = x[0], conv.in_channels = x[1], conv.out_channels = g[1];
  conv.groups = node.attribute(Attribute<int64_t>{"group", 1});
  conv.window = WindowGeometry::of(node, x.dims().subspan(2), node.require<Ints>("kernel_shape"));
  return conv;
}

/// A transposed convolution of X [batch, in_channels, spatial...] with W [in_channels, out_channels / groups, kernel...].
/// `window` is that of the convolution whose adjoint this is: window.output is X's spatial shape, window.input the result's.
/// Tap k of X place o adds to result place o * stride + k * dilation - pad_begin.
struct ConvTransposeGeometry {
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  WindowGeometry window;

  int64_t in_channels_per_group() const noexcept { return in_channels / groups; }
  int64_t out_channels_per_group() const noexcept { return out_channels / groups; }
  Shape output_shape() const;
  double multiply_adds() const noexcept;

  static ConvTransposeGeometry of(const NodeView& node);
  /// The shape rule, with the same checks.
  static Sizes output_sizes(const NodeView& node);
};

}  // namespace minnow

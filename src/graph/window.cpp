// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

#include <algorithm>

namespace minnow {
namespace {

// Keeps every product of two of these numbers within 62 bits.
constexpr int64_t kLimit = int64_t{1} << 30;

enum class AutoPad { explicit_pads, same_upper, same_lower, valid };

AutoPad auto_pad_of(const NodeView& node) {
  const std::string* text = node.find<std::string>("auto_pad");
  if (!text || text->empty() || *text == "NOTSET") return AutoPad::explicit_pads;
  if (*text == "SAME_UPPER") return AutoPad::same_upper;
  if (*text == "SAME_LOWER") return AutoPad::same_lower;
  if (*text == "VALID") return AutoPad::valid;
  node.fail("auto_pad should be NOTSET, SAME_UPPER, SAME_LOWER or VALID, it is \"{}\"", *text);
}

/// An integer list of `count` entries within [lowest, kLimit], or `fallback` in each place where it is absent.
Shape list_of(const NodeView& node, std::string_view name, size_t count, int64_t lowest, int64_t fallback) {
  const Ints* list = node.find<Ints>(name);
  if (!list) return Shape::filled(count, fallback);
  if (list->size() != count) node.fail("{} should have {} entries, it is {}", name, count, *list);
  for (int64_t entry : *list)
    if (entry < lowest || entry > kLimit) node.fail("{} should be at least {}, it is {}", name, lowest, *list);
  return Shape(*list);
}

void check_dims(const NodeView& node, std::span<const int64_t> dims, int64_t lowest, std::string_view what) {
  for (int64_t dim : dims)
    if (dim < lowest || dim > kLimit) node.fail("{} {} should be at least {} along each dimension", what, Shape(dims), lowest);
}

/// kernel, stride, dilation and, where `explicit_pads`, the pads.
WindowGeometry attributes_of(const NodeView& node, std::span<const int64_t> kernel, bool explicit_pads) {
  WindowGeometry window;
  const size_t rank = kernel.size();
  if (2 * rank > kMaxRank) node.fail("has {} spatial dimensions, at most {} are supported", rank, kMaxRank / 2);
  check_dims(node, kernel, 1, "a kernel of shape");
  double taps = 1;
  for (int64_t dim : kernel) taps *= static_cast<double>(dim);
  if (taps > 0x1p40) node.fail("a kernel of shape {} is too large", Shape(kernel));
  window.kernel = Shape(kernel);
  window.stride = list_of(node, "strides", rank, 1, 1);
  window.dilation = list_of(node, "dilations", rank, 1, 1);
  window.pad_begin = window.pad_end = Shape::filled(rank, 0);
  if (explicit_pads) {
    const Shape pads = list_of(node, "pads", 2 * rank, 0, 0);
    for (size_t i = 0; i < rank; ++i) window.pad_begin[i] = pads[i], window.pad_end[i] = pads[rank + i];
  }
  return window;
}

std::span<const int64_t> spatial(const Shape& shape) { return shape.dims().subspan(2); }

void check_image(const NodeView& node, const Shape& x, const Shape& w) {
  if (x.rank() < 3) node.fail("takes [batch, channels, spatial...], the input has shape {}", x);
  if (w.rank() != x.rank()) node.fail("an input of shape {} needs weights of rank {}, they have shape {}", x, x.rank(), w);
  if (const Ints* kernel = node.find<Ints>("kernel_shape"); kernel && !std::ranges::equal(*kernel, spatial(w)))
    node.fail("kernel_shape {} does not fit weights of shape {}", *kernel, w);
}

int64_t groups_of(const NodeView& node, int64_t channels, int64_t filters) {
  const int64_t groups = node.attribute(Attribute<int64_t>{"group", 1});
  if (groups < 1 || channels % groups != 0 || filters % groups != 0)
    node.fail("group {} does not divide {} input channels and {} filters", groups, channels, filters);
  return groups;
}

void check_bias(const NodeView& node, size_t input, int64_t channels) {
  if (node.has_input(input) && node.input_shape(input) != Shape{channels})
    node.fail("the bias should have shape [{}], it has shape {}", channels, node.input_shape(input));
}

Shape image_shape(int64_t batch, int64_t channels, const Shape& spatial) {
  Shape shape{batch, channels};
  for (int64_t dim : spatial) shape.push_back(dim);
  return shape;
}

}  // namespace

bool WindowGeometry::is_padded() const noexcept {
  for (size_t i = 0; i < rank(); ++i)
    if (pad_begin[i] != 0 || (output[i] - 1) * stride[i] + extent(i) > input[i] + pad_begin[i]) return true;
  return false;
}
bool WindowGeometry::is_pointwise() const noexcept { return taps() == 1 && has_unit_stride() && !is_padded(); }
bool WindowGeometry::is_undilated() const noexcept {
  return std::all_of(dilation.begin(), dilation.end(), [](int64_t d) { return d == 1; });
}
bool WindowGeometry::has_unit_stride() const noexcept {
  return std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s == 1; });
}

WindowGeometry WindowGeometry::of(const NodeView& node, std::span<const int64_t> input, std::span<const int64_t> kernel, bool ceil_mode) {
  if (kernel.size() != input.size())
    node.fail("{} spatial dimensions need a kernel of as many, it has shape {}", input.size(), Shape(kernel));
  const AutoPad auto_pad = auto_pad_of(node);
  WindowGeometry window = attributes_of(node, kernel, auto_pad == AutoPad::explicit_pads);
  check_dims(node, input, 0, "an image of shape");
  window.input = window.output = Shape(input);
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t stride = window.stride[i], extent = window.extent(i);
    if (auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower) {
      const int64_t output = (input[i] + stride - 1) / stride;
      const int64_t padding = std::max<int64_t>((output - 1) * stride + extent - input[i], 0);
      window.output[i] = output;
      window.pad_begin[i] = auto_pad == AutoPad::same_upper ? padding / 2 : padding - padding / 2;
      window.pad_end[i] = padding - window.pad_begin[i];
      continue;
    }
    const int64_t padded = input[i] + window.pad_begin[i] + window.pad_end[i];
    if (padded < extent) node.fail("a window of {} does not fit into {} positions (dimension {} of {})", extent, padded, i, window.input);
    int64_t& output = window.output[i];
    output = (padded - extent) / stride + 1;
    if (ceil_mode && auto_pad == AutoPad::explicit_pads && (padded - extent) % stride != 0) {
      // One more window, where it begins inside the input or the padding before it.
      if (output * stride < input[i] + window.pad_begin[i]) ++output;
    }
  }
  return window;
}

Shape PoolGeometry::output_shape() const { return image_shape(batch, channels, window.output); }

PoolGeometry PoolGeometry::of(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const bool global = node.op().starts_with("Global");
  if (x.rank() < (global ? 2 : 3)) node.fail("takes [batch, channels, spatial...], the input has shape {}", x);
  PoolGeometry pool;
  pool.batch = x[0], pool.channels = x[1];
  if (!global) {
    pool.window =
        WindowGeometry::of(node, spatial(x), node.require<Ints>("kernel_shape"), node.attribute(Attribute<bool>{"ceil_mode", false}));
    // A window that lies in the padding alone has no largest element and no mean.
    const WindowGeometry& window = pool.window;
    for (size_t i = 0; i < window.rank(); ++i)
      if (const int64_t pad = std::max(window.pad_begin[i], window.pad_end[i]); pad >= window.extent(i))
        node.fail("padding should be smaller than the window, it is {} beside a window of {} (spatial dimension {})", pad, window.extent(i),
                  i);
    return pool;
  }
  WindowGeometry& window = pool.window;
  const size_t rank = x.rank() - 2;
  window.input = window.kernel = Shape(spatial(x));
  window.output = window.stride = window.dilation = Shape::filled(rank, 1);
  window.pad_begin = window.pad_end = Shape::filled(rank, 0);
  return pool;
}

Shape ConvGeometry::output_shape() const { return image_shape(batch, out_channels, window.output); }
double ConvGeometry::multiply_adds() const noexcept {
  return static_cast<double>(batch) * static_cast<double>(out_channels) * static_cast<double>(window.output_positions()) *
         static_cast<double>(in_channels_per_group()) * static_cast<double>(window.taps());
}

ConvGeometry ConvGeometry::of(const NodeView& node) {
  const bool quantized = node.op() == "QLinearConv" || node.op() == "minnow.QuantizedConv";
  Shape x = node.input_shape(0);
  const Shape& w = node.input_shape(quantized ? 3 : 1);
  check_image(node, x, w);
  if (has_channels_last(node)) std::rotate(x.begin() + 1, x.end() - 1, x.end());
  ConvGeometry conv;
  conv.batch = x[0], conv.in_channels = x[1], conv.out_channels = w[0];
  conv.groups = groups_of(node, conv.in_channels, conv.out_channels);
  if (w[1] != conv.in_channels_per_group())
    node.fail("weights of shape {} take {} channels in each of {} groups, the input has {}", w, w[1], conv.groups, x[1]);
  if (node.op() != "ConvInteger") check_bias(node, quantized ? 8 : node.op() == "DeformConv" ? 3 : 2, conv.out_channels);
  conv.window = WindowGeometry::of(node, spatial(x), spatial(w));
  return conv;
}

Shape ConvTransposeGeometry::output_shape() const { return image_shape(batch, out_channels, window.input); }
double ConvTransposeGeometry::multiply_adds() const noexcept {
  return static_cast<double>(batch) * static_cast<double>(in_channels) * static_cast<double>(window.output_positions()) *
         static_cast<double>(out_channels_per_group()) * static_cast<double>(window.taps());
}

ConvTransposeGeometry ConvTransposeGeometry::of(const NodeView& node) {
  const Shape &x = node.input_shape(0), &w = node.input_shape(1);
  check_image(node, x, w);
  ConvTransposeGeometry conv;
  conv.batch = x[0], conv.in_channels = x[1];
  if (w[0] != x[1]) node.fail("weights of shape {} take {} channels, the input has {}", w, w[0], x[1]);
  conv.groups = groups_of(node, x[1], w[0]);
  if (w[1] > kLimit || conv.groups > kLimit) node.fail("weights of shape {} in {} groups are too many", w, conv.groups);
  conv.out_channels = w[1] * conv.groups;
  check_bias(node, 2, conv.out_channels);

  const AutoPad auto_pad = auto_pad_of(node);
  const bool wanted = node.has_attribute("output_shape");
  WindowGeometry& window = conv.window;
  // Given output sizes, the pads follow from them, and `pads` is not looked at.
  window = attributes_of(node, spatial(w), auto_pad == AutoPad::explicit_pads && !wanted);
  const size_t rank = window.rank();
  const Shape more = list_of(node, "output_padding", rank, 0, 0);
  check_dims(node, spatial(x), 0, "an image of shape");
  window.output = window.input = Shape(spatial(x));
  const Shape wanted_shape = list_of(node, "output_shape", rank, 0, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = window.stride[i];
    // What X touches, before anything is cut off.
    const int64_t full = stride * (window.output[i] - 1) + window.extent(i) + more[i];
    if (!wanted && (auto_pad == AutoPad::explicit_pads || auto_pad == AutoPad::valid)) {
      window.input[i] = full - window.pad_begin[i] - window.pad_end[i];
    } else {
      window.input[i] = wanted ? wanted_shape[i] : window.output[i] * stride;
      // Where the result is larger than what X touches, the rest of it stays zero, at the end.
      const int64_t padding = std::max<int64_t>(full - window.input[i], 0);
      window.pad_begin[i] = auto_pad == AutoPad::same_upper ? padding / 2 : padding - padding / 2;
      window.pad_end[i] = padding - window.pad_begin[i];
    }
    if (window.input[i] < 0) node.fail("the result would have {} positions along spatial dimension {}", window.input[i], i);
  }
  return conv;
}

}  // namespace minnow

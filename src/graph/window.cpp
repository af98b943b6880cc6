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
    if (entry < lowest || entry > kLimit) node.fail("{} should be from {} to {}, it is {}", name, lowest, kLimit, *list);
  return Shape(*list);
}

void check_dims(const NodeView& node, std::span<const Size> dims, int64_t lowest, std::string_view what) {
  for (const Size dim : dims) {
    const bool fits = dim.is_number() ? dim.number() >= lowest && dim.number() <= kLimit : !less(dim, lowest);
    if (!fits) node.fail("{} {} should be from {} to {} along each dimension", what, dims, lowest, kLimit);
  }
}

// Kernels and references count the places of windows in arrays of so many numbers.
constexpr size_t kMaxSpatial = 6;

/// The attributes of windows: stride, dilation, and padding that the attributes give.
struct Windows {
  AutoPad auto_pad;
  WindowGeometry& geometry;

  bool is_same() const noexcept { return auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower; }
  Size extent(size_t axis, Size kernel) const { return (kernel - 1) * geometry.dilation[axis] + 1; }
};

/// Writes `geometry`, which outlives the result.
Windows windows_of(const NodeView& node, std::span<const Size> input, std::span<const Size> kernel, WindowGeometry& geometry,
                   bool wants_pads = true) {
  const size_t rank = kernel.size();
  if (rank != input.size()) node.fail("{} spatial dimensions need a kernel of as many, it has shape {}", input.size(), kernel);
  if (rank > kMaxSpatial) node.fail("has {} spatial dimensions, at most {} are supported", rank, kMaxSpatial);
  check_dims(node, kernel, 1, "a kernel of shape");
  double taps = 1;
  for (const Size dim : kernel) taps *= dim.is_number() ? static_cast<double>(dim.number()) : 1;
  if (taps > 0x1p40) node.fail("a kernel of shape {} is too large", kernel);
  const Windows windows{auto_pad_of(node), geometry};
  geometry.stride = list_of(node, "strides", rank, 1, 1);
  geometry.dilation = list_of(node, "dilations", rank, 1, 1);
  geometry.pad_begin = geometry.pad_end = Shape::filled(rank, 0);
  if (windows.auto_pad == AutoPad::explicit_pads && wants_pads) {
    const Shape pads = list_of(node, "pads", 2 * rank, 0, 0);
    for (size_t i = 0; i < rank; ++i) geometry.pad_begin[i] = pads[i], geometry.pad_end[i] = pads[rank + i];
  }
  return windows;
}

Sizes outputs_of(const NodeView& node, const Windows& windows, std::span<const Size> input, std::span<const Size> kernel, bool ceil_mode) {
  check_dims(node, input, 0, "an image of shape");
  const WindowGeometry& geometry = windows.geometry;
  Sizes output;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t stride = geometry.stride[i];
    if (windows.is_same()) {
      output.push_back(divide_up(input[i], stride));
      continue;
    }
    const Size padded = input[i] + geometry.pad_begin[i] + geometry.pad_end[i], extent = windows.extent(i, kernel[i]);
    if (less(padded, extent)) node.fail("a window of {} does not fit into {} positions (dimension {} of {})", extent, padded, i, input);
    Size places = divide_down(padded - extent, stride) + 1;
    if (ceil_mode && windows.auto_pad == AutoPad::explicit_pads && stride > 1) {
      // One more window, where it begins inside the input or the padding before it.
      const Size rest = padded - extent - (places - 1) * stride, begin = places * stride, end = input[i] + geometry.pad_begin[i];
      if (differ(rest, 0) && less(begin, end))
        places += 1;
      else if (!equal(rest, 0) && !equal(begin, end) && !less(end, begin))
        places = Size::unknown();
    }
    output.push_back(places);
  }
  return output;
}

/// The padding of one axis where it follows from sizes.
void set_padding(WindowGeometry& window, size_t axis, AutoPad auto_pad, int64_t padding) {
  window.pad_begin[axis] = auto_pad == AutoPad::same_upper ? padding / 2 : padding - padding / 2;
  window.pad_end[axis] = padding - window.pad_begin[axis];
}

/// Completes the geometry of windows whose sizes are numbers.
void place(const NodeView& node, const Windows& windows, std::span<const int64_t> input, std::span<const int64_t> kernel,
           const Sizes& output) {
  if (!output.is_static()) node.fail("windows of unknown number {} are not planned", output);
  WindowGeometry& window = windows.geometry;
  window.input = Shape(input);
  window.kernel = Shape(kernel);
  window.output = output.shape();
  for (size_t i = 0; windows.is_same() && i < input.size(); ++i)
    set_padding(window, i, windows.auto_pad, std::max<int64_t>((window.output[i] - 1) * window.stride[i] + window.extent(i) - input[i], 0));
}

std::span<const int64_t> spatial(const Shape& shape) { return shape.dims().subspan(2); }
std::span<const Size> spatial(const Sizes& sizes) { return sizes.dims().subspan(2); }

void check_image(const NodeView& node, const Sizes& x, const Sizes& w) {
  if (x.rank() < 3) node.fail("takes [batch, channels, spatial...], the input has shape {}", x);
  if (w.rank() != x.rank()) node.fail("an input of shape {} needs weights of rank {}, they have shape {}", x, x.rank(), w);
  const Ints* kernel = node.find<Ints>("kernel_shape");
  const auto may_be = [](int64_t size, Size dim) { return !differ(size, dim); };
  if (kernel && !std::equal(kernel->begin(), kernel->end(), w.begin() + 2, w.end(), may_be))
    node.fail("kernel_shape {} does not fit weights of shape {}", *kernel, w);
}

int64_t groups_of(const NodeView& node, Size channels, Size filters) {
  const int64_t groups = node.attribute(Attribute<int64_t>{"group", 1});
  if (groups < 1 || leaves_rest(channels, groups) || leaves_rest(filters, groups))
    node.fail("group {} does not divide {} input channels and {} filters", groups, channels, filters);
  return groups;
}

void check_bias(const NodeView& node, size_t input, Size channels) {
  if (const auto bias = node.known_sizes(input); bias && (bias->rank() != 1 || differ((*bias)[0], channels)))
    node.fail("the bias should have shape [{}], it has shape {}", channels, *bias);
}

Sizes image_sizes(Size batch, Size channels, std::span<const Size> spatial) {
  Sizes sizes{batch, channels};
  for (const Size dim : spatial) sizes.push_back(dim);
  return sizes;
}

Shape image_shape(int64_t batch, int64_t channels, const Shape& spatial) {
  Shape shape{batch, channels};
  for (int64_t dim : spatial) shape.push_back(dim);
  return shape;
}

size_t weights_input(const NodeView& node) { return node.op() == "QLinearConv" || node.op() == "minnow.QuantizedConv" ? 3 : 1; }

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

Sizes window_output(const NodeView& node, std::span<const Size> input, std::span<const Size> kernel, bool ceil_mode) {
  WindowGeometry geometry;
  return outputs_of(node, windows_of(node, input, kernel, geometry), input, kernel, ceil_mode);
}

WindowGeometry WindowGeometry::of(const NodeView& node, std::span<const int64_t> input, std::span<const int64_t> kernel, bool ceil_mode) {
  const Sizes sizes{Shape(input)}, kernel_sizes{Shape(kernel)};
  WindowGeometry window;
  const Windows windows = windows_of(node, sizes.dims(), kernel_sizes.dims(), window);
  place(node, windows, input, kernel, outputs_of(node, windows, sizes.dims(), kernel_sizes.dims(), ceil_mode));
  return window;
}

Shape PoolGeometry::output_shape() const { return image_shape(batch, channels, window.output); }

namespace {

/// A pool whose windows are not all of the input, checked.
struct PoolSizes {
  Sizes x, kernel, output;
  AutoPad auto_pad;

  /// Writes the attributes of windows into `window`.
  static PoolSizes of(const NodeView& node, WindowGeometry& window) {
    const Ints& given = node.require<Ints>("kernel_shape");
    PoolSizes pool{node.input_sizes(0), Shape(given), {}, {}};
    const std::span<const Size> image = spatial(pool.x), kernel = pool.kernel.dims();
    const Windows windows = windows_of(node, image, kernel, window);
    pool.auto_pad = windows.auto_pad;
    pool.output = outputs_of(node, windows, image, kernel, node.attribute(Attribute<bool>{"ceil_mode", false}));
    // A window that lies in the padding alone has no largest element and no mean.
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t pad = std::max(window.pad_begin[i], window.pad_end[i]);
      const Size extent = windows.extent(i, kernel[i]);
      if (less(extent, pad + 1))
        node.fail("padding should be smaller than the window, it is {} beside a window of {} (spatial dimension {})", pad, extent, i);
    }
    return pool;
  }
};

bool is_global(const NodeView& node, size_t rank) {
  const bool global = node.op().starts_with("Global");
  if (rank < (global ? 2 : 3)) node.fail("takes [batch, channels, spatial...], the input has shape {}", node.input_sizes(0));
  return global;
}

}  // namespace

Sizes PoolGeometry::output_sizes(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (is_global(node, x.rank())) return image_sizes(x[0], x[1], Sizes::filled(x.rank() - 2, 1).dims());
  WindowGeometry window;
  return image_sizes(x[0], x[1], PoolSizes::of(node, window).output.dims());
}

PoolGeometry PoolGeometry::of(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  PoolGeometry pool;
  if (!is_global(node, x.rank())) {
    const PoolSizes sizes = PoolSizes::of(node, pool.window);
    place(node, {sizes.auto_pad, pool.window}, spatial(x), node.require<Ints>("kernel_shape"), sizes.output);
    pool.batch = x[0], pool.channels = x[1];
    return pool;
  }
  pool.batch = x[0], pool.channels = x[1];
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

namespace {

/// A convolution, checked.
struct ConvSizes {
  Sizes x, w, output;
  int64_t groups;
  AutoPad auto_pad;

  /// Writes the attributes of windows into `window`.
  static ConvSizes of(const NodeView& node, WindowGeometry& window) {
    const size_t weights = weights_input(node);
    ConvSizes conv{node.input_sizes(0), node.input_sizes(weights), {}, 1, {}};
    check_image(node, conv.x, conv.w);
    if (has_channels_last(node)) std::rotate(conv.x.begin() + 1, conv.x.end() - 1, conv.x.end());
    const Sizes &x = conv.x, &w = conv.w;
    conv.groups = groups_of(node, x[1], w[0]);
    if (differ(w[1] * conv.groups, x[1]))
      node.fail("weights of shape {} take {} channels in each of {} groups, the input has {}", w, w[1], conv.groups, x[1]);
    if (node.op() != "ConvInteger") check_bias(node, weights == 3 ? 8 : node.op() == "DeformConv" ? 3 : 2, w[0]);
    const Windows windows = windows_of(node, spatial(x), spatial(w), window);
    conv.auto_pad = windows.auto_pad;
    conv.output = outputs_of(node, windows, spatial(x), spatial(w), false);
    return conv;
  }
};

}  // namespace

Sizes ConvGeometry::output_sizes(const NodeView& node) {
  // While types are inferred with symbols, the rank and the number of channels are known without X.
  if (node.is_symbolic() && !node.has_sizes(0)) {
    const Sizes w = node.input_sizes(weights_input(node));
    if (w.rank() >= 3) return image_sizes(Size::unknown(), w[0], Sizes::filled(w.rank() - 2, Size::unknown()).dims());
  }
  WindowGeometry window;
  const ConvSizes conv = ConvSizes::of(node, window);
  return image_sizes(conv.x[0], conv.w[0], conv.output.dims());
}

ConvGeometry ConvGeometry::of(const NodeView& node) {
  Shape x = node.input_shape(0);
  const Shape& w = node.input_shape(weights_input(node));
  ConvGeometry conv;
  const ConvSizes sizes = ConvSizes::of(node, conv.window);
  if (has_channels_last(node)) std::rotate(x.begin() + 1, x.end() - 1, x.end());
  conv.batch = x[0], conv.in_channels = x[1], conv.out_channels = w[0];
  conv.groups = sizes.groups;
  place(node, {sizes.auto_pad, conv.window}, spatial(x), spatial(w), sizes.output);
  return conv;
}

Shape ConvTransposeGeometry::output_shape() const { return image_shape(batch, out_channels, window.input); }
double ConvTransposeGeometry::multiply_adds() const noexcept {
  return static_cast<double>(batch) * static_cast<double>(in_channels) * static_cast<double>(window.output_positions()) *
         static_cast<double>(out_channels_per_group()) * static_cast<double>(window.taps());
}

Sizes ConvTransposeGeometry::output_sizes(const NodeView& node) {
  const Sizes w = node.input_sizes(1);
  const int64_t groups = node.attribute(Attribute<int64_t>{"group", 1});
  if (node.is_symbolic() && !node.has_sizes(0) && w.rank() >= 3)
    return image_sizes(Size::unknown(), w[1] * groups, Sizes::filled(w.rank() - 2, Size::unknown()).dims());
  const Sizes x = node.input_sizes(0);
  check_image(node, x, w);
  if (differ(w[0], x[1])) node.fail("weights of shape {} take {} channels, the input has {}", w, w[0], x[1]);
  groups_of(node, x[1], w[0]);
  if (less(kLimit, w[1]) || groups > kLimit) node.fail("weights of shape {} in {} groups are too many", w, groups);
  const Size channels = w[1] * groups;
  check_bias(node, 2, channels);
  const bool is_wanted = node.has_attribute("output_shape");
  WindowGeometry geometry;
  const Windows windows = windows_of(node, spatial(x), spatial(w), geometry, !is_wanted);
  const size_t rank = x.rank() - 2;
  const Shape more = list_of(node, "output_padding", rank, 0, 0), wanted = list_of(node, "output_shape", rank, 0, 0);
  check_dims(node, spatial(x), 0, "an image of shape");
  Sizes output;
  for (size_t i = 0; i < rank; ++i) {
    Size places = wanted[i];
    if (!is_wanted && windows.is_same())
      places = x[i + 2] * geometry.stride[i];
    else if (!is_wanted)  // what X touches, less what is cut off
      places = (x[i + 2] - 1) * geometry.stride[i] + windows.extent(i, w[i + 2]) + more[i] - geometry.pad_begin[i] - geometry.pad_end[i];
    if (less(places, 0)) node.fail("the result would have {} positions along spatial dimension {}", places, i);
    output.push_back(places);
  }
  return image_sizes(x[0], channels, output.dims());
}

ConvTransposeGeometry ConvTransposeGeometry::of(const NodeView& node) {
  const Shape &x = node.input_shape(0), &w = node.input_shape(1), y = output_sizes(node).shape();
  ConvTransposeGeometry conv;
  conv.batch = x[0], conv.in_channels = x[1], conv.out_channels = y[1];
  conv.groups = groups_of(node, x[1], w[0]);
  const bool is_wanted = node.has_attribute("output_shape");
  // Given output sizes, the pads follow from them, and `pads` is not looked at.
  const Sizes sizes = w;
  WindowGeometry& window = conv.window;
  const Windows windows = windows_of(node, spatial(sizes), spatial(sizes), window, !is_wanted);
  window.kernel = Shape(spatial(w));
  window.output = Shape(spatial(x));
  window.input = Shape(spatial(y));
  const Shape more = list_of(node, "output_padding", window.rank(), 0, 0);
  for (size_t i = 0; (is_wanted || windows.is_same()) && i < window.rank(); ++i) {
    // Where the result is larger than what X touches, the rest of it stays zero, at the end.
    const int64_t full = window.stride[i] * (window.output[i] - 1) + window.extent(i) + more[i];
    set_padding(window, i, windows.auto_pad, std::max<int64_t>(full - window.input[i], 0));
  }
  return conv;
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Back from windows to an image: MaxUnpool and Col2Im.
#include <cstring>

#include "ops/conv_attributes.h"
#include "ops/dense.h"
#include "ops/gradient.h"
#include "ops/indices.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

/// The shape that X has in the image that its indices count in.
Sizes unpooled(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() < 3) node.fail("takes [batch, channels, spatial...], the input has shape {}", x);
  if (const auto indices = node.known_sizes(1); indices && differ(*indices, x))
    node.fail("the indices should have shape {}, they have shape {}", x, *indices);
  const size_t rank = x.rank() - 2;
  const Ints& kernel = node.require<Ints>("kernel_shape");
  const auto list = [&](std::string_view name, size_t count, int64_t fallback) {
    const Ints* found = node.find<Ints>(name);
    const Ints values = found ? *found : Ints(count, fallback);
    if (values.size() != count) node.fail("{} should have {} entries, it is {}", name, count, values);
    for (int64_t value : values)
      if (value < fallback || value > int64_t{1} << 30) node.fail("{} should be at least {}, it is {}", name, fallback, values);
    return values;
  };
  list("kernel_shape", rank, 1);
  const Ints stride = list("strides", rank, 1), pads = list("pads", 2 * rank, 0);
  Sizes shape{x[0], x[1]};
  for (size_t i = 0; i < rank; ++i) {
    if (less(int64_t{1} << 30, x[i + 2])) node.fail("the input of shape {} is too large", x);
    const Size dim = (x[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[rank + i];
    if (less(dim, 0)) node.fail("the result would have {} positions along spatial dimension {}", dim, i);
    shape.push_back(dim);
  }
  return shape;
}

Shapes unpool_shape(const NodeView& node) {
  const Sizes inner = unpooled(node);
  if (!node.has_input(2)) return {inner};
  const std::vector<Size> wanted = node.sizes(2);
  if (wanted.size() != inner.rank()) node.fail("output_shape should have {} entries, it is {}", inner.rank(), wanted);
  for (size_t i = 0; i < inner.rank(); ++i)
    if (less(wanted[i], inner[i]) || (i < 2 && differ(wanted[i], inner[i])))
      node.fail("output_shape {} does not hold an image of shape {}", wanted, inner);
  return {Sizes(wanted)};
}

void unpool(const NodeView& node, KernelArgs& args) {
  const Shape inner = unpooled(node).shape(), outer = args.output(0).shape();
  const TensorView &x = args.input(0), &indices = args.input(1);
  const MutableTensorView y = args.output(0);
  const Ints step = row_major_strides(outer);
  const int64_t count = inner.elements(), all = x.elements();
  const bool is_larger = outer != inner;
  if (y.bytes() == 0) return;
  std::memset(y.data(), 0, y.bytes());
  with_bits(size_of(x.dtype()), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    const int64_t* positions = indices.data<int64_t>();
    T* to = y.data<T>();
    for (int64_t i = 0; i < all; ++i) {
      const int64_t index = positions[i];
      if (index < 0 || index >= count) args.fail("index {} is out of range for an image of shape {}", index, inner);
      int64_t at = index;
      if (is_larger) {
        int64_t rest = index;
        at = 0;
        for (size_t axis = inner.rank(); axis-- > 0; rest /= inner[axis]) at += rest % inner[axis] * step[axis];
      }
      to[at] = from[i];
    }
  });
}

struct Columns {
  int64_t batch, channels;
  WindowGeometry window;
};

Columns columns_of(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  if (x.rank() != 3) node.fail("takes [batch, channels * block, blocks], the input has shape {}", x);
  const Ints image = node.ints(1), block = node.ints(2);
  Columns columns{x[0], 0, WindowGeometry::of(node, image, block)};
  if (x[1] % columns.window.taps() != 0) node.fail("{} rows are not a multiple of the elements of a block of shape {}", x[1], Shape(block));
  columns.channels = x[1] / columns.window.taps();
  double windows = 1;
  for (int64_t dim : columns.window.output) windows *= static_cast<double>(dim);
  if (windows != static_cast<double>(x[2])) node.fail("an image of shape {} has {} blocks, the input {}", Shape(image), windows, x[2]);
  return columns;
}

Shapes col2im_shape(const NodeView& node) {
  // While types are inferred with symbols, image and block may be: then what is left is their number.
  if (node.knows_contents(1) && node.knows_contents(2) && node.knows_shape(0)) {
    const Columns columns = columns_of(node);
    Sizes shape{columns.batch, columns.channels};
    for (int64_t dim : columns.window.input) shape.push_back(dim);
    return {shape};
  }
  const bool has_block = node.is_constant(2);
  Sizes shape{Size::unknown(), Size::unknown()};
  if (const auto x = node.known_sizes(0)) {
    if (x->rank() != 3) node.fail("takes [batch, channels * block, blocks], the input has shape {}", *x);
    Size taps = has_block ? Size(1) : Size::unknown();
    for (int64_t dim : has_block ? node.ints(2) : Ints()) taps *= dim;
    shape = {(*x)[0], divide_exactly((*x)[1], taps)};
  }
  for (const Size dim : node.sizes(1)) shape.push_back(dim);
  return {shape};
}

template <class T>
void add_columns(const Columns& columns, const Numbers<T>& x, Numbers<T>& y) {
  const WindowGeometry& window = columns.window;
  const int64_t taps = window.taps(), blocks = window.output_positions(), image = window.input_positions();
  if (x.empty()) return;
  const int64_t at_once = windows_at_once(taps);
  WindowPositions positions(window);
  Pace pace;
  for (int64_t first = 0; first < blocks; first += at_once) {
    positions.seek(first, std::min(at_once, blocks - first));
    for (int64_t plane = 0; plane < columns.batch * columns.channels; ++plane)
      for (int64_t t = 0; t < taps; ++t) {
        const T* from = x.data() + (plane * taps + t) * blocks + first;
        T* to = y.data() + plane * image;
        const int64_t* at = positions.of_tap(t);
        pace.step(static_cast<size_t>(positions.count()));
        for (int64_t i = 0; i < positions.count(); ++i)
          if (at[i] >= 0) to[at[i]] += from[i];
      }
  }
}

void col2im(const NodeView& node, KernelArgs& args) {
  const Columns columns = columns_of(node);
  const size_t count = static_cast<size_t>(args.output(0).elements());
  if (is_float(args.input(0).dtype())) {
    Numbers<double> y(count);
    add_columns(columns, args.reals(0), y);
    return args.write(0, y);
  }
  const Numbers<int64_t> x = args.ints(0);
  Numbers<uint64_t> y(count);  // sums wrap around
  add_columns(columns, Numbers<uint64_t>(x.begin(), x.end()), y);
  args.write(0, Numbers<int64_t>(y.begin(), y.end()));
}

#if MINNOW_GRADIENTS

/// Each element's place in the image; places outside read a zero behind it.
Exprs col2im_gradient(const GradientContext& c) {
  if (!c.know_shapes()) throw Unsupported("{}: the gradient of Col2Im needs the shape of its input before the run", c.node.where());
  const Columns columns = columns_of(c.node);
  const WindowGeometry& window = columns.window;
  const int64_t taps = window.taps(), blocks = window.output_positions(), image = window.input_positions();
  Tensor places(DType::i64, Shape{taps, blocks});
  WindowPositions positions(window);
  const int64_t at_once = windows_at_once(taps);
  for (int64_t first = 0; first < blocks; first += at_once) {
    positions.seek(first, std::min(at_once, blocks - first));
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < positions.count(); ++i) {
        const int64_t at = positions.of_tap(t)[i];
        places.writable().data<int64_t>()[t * blocks + first + i] = at >= 0 ? at : image;
      }
  }
  GraphBuilder& b = c.builder;
  const Expr flat =
      b.op("Reshape", {c.output_gradient(0), b.constant({columns.batch, columns.channels, image})}, {{"allowzero", int64_t{1}}});
  const Expr padded = b.op("Pad", {flat, b.constant({int64_t{0}, int64_t{1}}), Expr(), b.constant({int64_t{2}})});
  Exprs made(c.inputs.size());
  made[0] = c.shaped_like(b.op("Gather", {padded, b.constant(std::move(places))}, {{"axis", int64_t{2}}}), 0);
  return made;
}

Exprs unpool_gradient(const GradientContext& c) {
  if (!c.knows_shape(0)) throw Unsupported("{}: the gradient of MaxUnpool needs the shape of its input before the run", c.node.where());
  GraphBuilder& b = c.builder;
  Expr image = c.output_gradient(0);
  if (c.has_input(2)) {  // without the zeros behind the image that indices count in
    const Shape inner = unpooled(c.node).shape();
    Ints axes, starts(inner.rank());
    for (size_t i = 0; i < inner.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    image = b.op("Slice", {image, b.constant(starts), b.constant(Ints(inner.begin(), inner.end())), b.constant(axes)});
  }
  Exprs made(c.inputs.size());
  made[0] = b.op("Gather", {b.op("Reshape", {image, b.constant({int64_t{-1}})}), c.input(1)});
  return made;
}

#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Col2Im",
       .since = 18,
       .doc =
           MINNOW_DOC("Adds blocks up to an image: input [batch, channels * block, blocks] holds, for each block in row-major order of the "
                      "blocks' positions, its elements; where blocks overlap, they are added."),
       .inputs = {{"input", kNumeric | kBool}, {"image_shape", kI64}, {"block_shape", kI64}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kDilations, kPads, kStrides},
       .infer_shapes = col2im_shape,
       .reference = col2im,
       .gradient = MINNOW_GRADIENT(col2im_gradient)},
      {.name = "MaxUnpool",
       .since = 22,
       .doc = MINNOW_DOC(
           "Puts each element of X where MaxPool found it, by the indices that MaxPool gave; all else is zero. The indices count "
           "in an image of (X - 1) * stride + kernel - pads positions a dimension; output_shape gives that image more zeros after it."),
       .inputs = {{"X", kFloats}, {"I", kI64}, {"output_shape", kI64, kOptional}},
       .outputs = {{"output", same_as("X")}},
       .attributes = {required("kernel_shape", AttributeKind::integers, MINNOW_DOC("shape of a window")), kPads, kStrides},
       .infer_shapes = unpool_shape,
       .reference = unpool,
       .gradient = MINNOW_GRADIENT(unpool_gradient)},
  };
}

}  // namespace

std::span<const Operator> unpool_operators() { return operator_table<definitions>(); }

}  // namespace minnow

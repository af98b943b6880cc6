// SPDX-License-Identifier: Apache-2.0
#include "importers/builder/images.h"

#include <algorithm>

#include "base/error.h"
#include "base/memory.h"
#include "base/saturating.h"
#include "importers/builder/indexing.h"

namespace minnow {
namespace {

Ints image_perm(TypedBuilder& p, const Expr& x, bool first) {
  const int64_t count = p.rank(x);
  if (count < 0) throw Unsupported("its image has an unknown number of dimensions");
  if (count < 3) throw InvalidModel("its image has {} dimensions", count);
  Ints perm = {0};
  if (first) perm.push_back(count - 1);
  for (int64_t i = first ? 1 : 2; i < count - (first ? 1 : 0); ++i) perm.push_back(i);
  if (!first) perm.push_back(1);
  return perm;
}

}  // namespace

Expr channels_first(TypedBuilder& p, const Expr& x) { return p.transpose(x, image_perm(p, x, true)); }
Expr channels_last(TypedBuilder& p, const Expr& x) { return p.transpose(x, image_perm(p, x, false)); }
Expr conv(TypedBuilder& p, const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window, int64_t groups) {
  const Expr image = channels_first(p, x);
  Attributes attributes = window_attributes(p, image, window);
  if (groups != 1) attributes.set("group", groups);
  return channels_last(p, p.op("Conv", {image, weights, bias}, std::move(attributes)));
}

Expr conv_transpose(TypedBuilder& p, const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window,
                    const Ints& output_size, int64_t groups) {
  const Expr image = channels_first(p, x);
  const size_t count = window.strides.size();
  Attributes attributes{{"strides", window.strides}};
  if (!window.dilations.empty()) attributes.set("dilations", window.dilations);
  if (groups != 1) attributes.set("group", groups);
  Ints pads(2 * count), more(count);
  bool known = !output_size.empty();
  for (size_t i = 0; known && i < count; ++i) {
    const int64_t size = p.dim(image, static_cast<int64_t>(i) + 2), kernel = p.dim(weights, static_cast<int64_t>(i) + 2);
    known = size > 0 && kernel > 0 && output_size[i] > 0;
    if (!known) break;
    const int64_t dilation = window.dilations.empty() ? 1 : window.dilations[i];
    const int64_t last = clamped_product({size - 1, window.strides[i]}), reach = clamped_product({kernel - 1, dilation});
    const int64_t surplus = clamped_sum({clamped_sum({last, reach}), 1 - output_size[i]});
    // TensorFlow cuts in the middle with "same", and at the end without.
    pads[i] = surplus > 0 && window.same ? surplus / 2 : 0;
    pads[count + i] = std::max<int64_t>(surplus, 0) - pads[i];
    more[i] = surplus < 0 ? -std::max(surplus, -INT64_MAX) : 0;
  }
  if (!window.pads.empty()) {
    attributes.set("pads", window.pads);
  } else if (known) {
    attributes.set("pads", pads);
    if (std::any_of(more.begin(), more.end(), [](int64_t n) { return n > 0; })) attributes.set("output_padding", more);
  } else if (window.same) {
    attributes.set("auto_pad", std::string("SAME_UPPER"));
  }
  return channels_last(p, p.op("ConvTranspose", {image, weights, bias}, std::move(attributes)));
}

Attributes window_attributes(TypedBuilder& p, const Expr& x, const SlidingWindow& window) {
  const size_t count = window.strides.size();
  Attributes attributes{{"strides", window.strides}};
  if (!window.kernel.empty()) attributes.set("kernel_shape", window.kernel);
  const auto dilation = [&](size_t i) { return window.dilations.empty() ? 1 : window.dilations[i]; };
  if (std::any_of(window.dilations.begin(), window.dilations.end(), [](int64_t d) { return d != 1; }))
    attributes.set("dilations", window.dilations);
  if (!window.pads.empty()) {
    attributes.set("pads", window.pads);
    return attributes;
  }
  if (!window.same) return attributes;
  Ints pads(2 * count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = p.dim(x, static_cast<int64_t>(i) + 2), kernel = window.kernel.empty() ? -1 : window.kernel[i];
    if (size < 0 || kernel < 0 || window.strides[i] < 1) {
      attributes.set("auto_pad", std::string("SAME_UPPER"));
      return attributes;
    }
    const int64_t stride = window.strides[i], windows = size / stride + (size % stride != 0);
    const int64_t last = clamped_product({windows - 1, stride}), reach = clamped_product({kernel - 1, dilation(i)});
    const int64_t total = std::max<int64_t>(clamped_sum({last - size, reach, 1}), 0);
    pads[i] = total / 2;
    pads[count + i] = total - total / 2;
  }
  attributes.set("pads", pads);
  return attributes;
}

Expr pool(TypedBuilder& p, std::string_view name, const Expr& x, const SlidingWindow& window) {
  const Expr image = channels_first(p, x);
  return channels_last(p, p.op(name, {image}, window_attributes(p, image, window)));
}

Expr resize(TypedBuilder& p, const Expr& x, const Expr& size, bool bilinear, ResizeGrid grid) {
  Attributes attributes{{"axes", Ints{2, 3}}, {"mode", std::string(bilinear ? "linear" : "nearest")}};
  static constexpr std::string_view kNames[] = {"asymmetric", "align_corners", "half_pixel"};
  attributes.set("coordinate_transformation_mode", std::string(kNames[static_cast<size_t>(grid)]));
  if (!bilinear) attributes.set("nearest_mode", std::string(grid == ResizeGrid::asymmetric ? "floor" : "round_prefer_ceil"));
  return channels_last(p, p.op("Resize", {channels_first(p, x), Expr(), Expr(), p.i64(size)}, std::move(attributes)));
}

Expr crop_and_resize(TypedBuilder& p, const Expr& images, const Expr& boxes, const Expr& which, const Ints& size, bool bilinear,
                     double outside) {
  const Expr shape = p.shape_of(images), zero = p.scalar(0), whole = p.i64(which);
  const Expr pixels = p.reshape(p.cast(images, DType::f32), p.concat({p.constant({-1}), p.slice(shape, {3}, {4}, {0})}, 0));
  struct Samples {
    Expr inside, before, after, weight;  // [boxes, samples]; indices of pixels as i64
  } samples[2];
  Exprs sizes;
  for (int64_t axis = 0; axis < 2; ++axis) {
    const int64_t count = size[static_cast<size_t>(axis)];
    if (count < 1) throw InvalidModel("a crop of shape {} is empty", size);
    sizes.push_back(p.slice(shape, {axis + 1}, {axis + 2}, {0}));
    const Expr last = p.cast(p.op("Sub", {sizes.back(), p.constant({1})}), DType::f32);
    const Expr low = p.slice(boxes, {axis}, {axis + 1}, {1}), high = p.slice(boxes, {axis + 2}, {axis + 3}, {1});
    Expr at = p.op("Mul", {p.op("Mul", {p.scalar(0.5), p.op("Add", {low, high})}), last});
    if (count > 1) {
      const Charge table(static_cast<size_t>(clamped_product({count, 8})));
      std::vector<double> numbers(static_cast<size_t>(count));
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
      const Expr step = p.op("Div", {p.op("Mul", {p.op("Sub", {high, low}), last}), p.scalar(static_cast<double>(count - 1))});
      at = p.op("Add", {p.op("Mul", {low, last}), p.op("Mul", {step, p.reals({1, count}, numbers)})});
    }
    const Expr safe = p.op("Min", {p.op("Max", {at, zero}), last}), floor = p.op("Floor", {safe}), rest = p.op("Sub", {safe, floor});
    Samples& along = samples[axis];
    along.inside = p.op("And", {p.op("GreaterOrEqual", {at, zero}), p.op("LessOrEqual", {at, last})});
    const Expr next =
        bilinear ? p.op("Ceil", {safe}) : p.op("Add", {floor, p.cast(p.op("GreaterOrEqual", {rest, p.scalar(0.5)}), DType::f32)});
    along.before = p.i64(bilinear ? floor : next);
    along.after = p.i64(next);
    along.weight = rest;
  }
  const auto& [rows, columns] = samples;
  const Expr first_row = p.op("Mul", {p.unsqueeze(whole, {1, 2}), sizes[0]});
  const auto pixel = [&](const Expr& y, const Expr& x) {  // [boxes, height, width, channels]
    const Expr row = p.op("Add", {first_row, p.unsqueeze(y, {2})});
    return p.gather(pixels, p.op("Add", {p.op("Mul", {row, sizes[1]}), p.unsqueeze(x, {1})}), 0);
  };
  Expr y = pixel(rows.before, columns.before);
  if (bilinear) {
    const auto between = [&](const Expr& a, const Expr& b, const Expr& weight) {
      return p.op("Add", {a, p.op("Mul", {p.op("Sub", {b, a}), weight})});
    };
    const Expr across = p.unsqueeze(columns.weight, {1, 3});
    const Expr top = between(y, pixel(rows.before, columns.after), across);
    const Expr bottom = between(pixel(rows.after, columns.before), pixel(rows.after, columns.after), across);
    y = between(top, bottom, p.unsqueeze(rows.weight, {2, 3}));
  }
  const Expr inside = p.op("And", {p.unsqueeze(rows.inside, {2, 3}), p.unsqueeze(columns.inside, {1, 3})});
  return p.op("Where", {inside, y, p.scalar(outside)});
}

Expr space_to_depth(TypedBuilder& p, const Expr& x, int64_t block) {
  return channels_last(p, p.op("SpaceToDepth", {channels_first(p, x)}, {{"blocksize", block}}));
}

Expr depth_to_space(TypedBuilder& p, const Expr& x, int64_t block) {
  return channels_last(p, p.op("DepthToSpace", {channels_first(p, x)}, {{"blocksize", block}}));
}

Expr space_to_batch(TypedBuilder& p, const Expr& x, const Ints& block, const Expr& paddings) {
  const int64_t count = p.rank(x), spatial = static_cast<int64_t>(block.size());
  if (count < 0) throw Unsupported("its input has an unknown number of dimensions");
  if (count <= spatial) throw InvalidModel("{} block sizes do not fit an input of {} dimensions", spatial, count);
  // Padding of the spatial dimensions alone; the other rows are zeros.
  const Expr zeros = p.constant({0, 0});
  const Expr rows = p.vector(p.i64(paddings));
  Exprs all = {zeros, rows};
  for (int64_t i = spatial + 1; i < count; ++i) all.push_back(zeros);
  const Expr padded = pad(p, x, p.reshape(p.concat(all, 0), {count, 2}), Expr());
  const Expr shape = p.shape_of(padded);
  Exprs inner = {p.slice(shape, {0}, {1}, {0})}, outer = {p.constant({-1})};
  Ints perm;
  for (int64_t i = 0; i < spatial; ++i) {
    const Expr blocks = p.op("Div", {p.slice(shape, {i + 1}, {i + 2}, {0}), p.constant({block[static_cast<size_t>(i)]})});
    inner.push_back(blocks);
    inner.push_back(p.constant({block[static_cast<size_t>(i)]}));
    outer.push_back(blocks);
    perm.push_back(2 * i + 2);
  }
  const Expr rest = p.slice(shape, {spatial + 1}, {count}, {0});
  inner.push_back(rest), outer.push_back(rest);
  perm.push_back(0);
  for (int64_t i = 0; i < spatial; ++i) perm.push_back(2 * i + 1);
  for (int64_t i = spatial + 1; i < count; ++i) perm.push_back(i + spatial);
  if (const auto known = p.shape(padded)) {
    Ints in = {(*known)[0]}, out = {-1};
    for (int64_t i = 0; i < spatial; ++i) {
      const int64_t size = (*known)[static_cast<size_t>(i) + 1], b = block[static_cast<size_t>(i)];
      if (b < 1 || size % b != 0) throw InvalidModel("a dimension of {} cannot be cut in blocks of {}", size, b);
      in.push_back(size / b), in.push_back(b), out.push_back(size / b);
    }
    in.insert(in.end(), known->begin() + spatial + 1, known->end());
    out.insert(out.end(), known->begin() + spatial + 1, known->end());
    return p.reshape(p.transpose(p.reshape(padded, in), perm), out);
  }
  const Expr cut = p.op("Reshape", {padded, p.concat(inner, 0)});
  cut.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count + spatial));
  const Expr turned = p.transpose(cut, perm);
  const Expr y = p.op("Reshape", {turned, p.concat(outer, 0)});
  if (!y.value()->type.dims) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return y;
}

Expr batch_to_space(TypedBuilder& p, const Expr& x, const Ints& block, const Expr& crops) {
  const int64_t count = p.rank(x), spatial = static_cast<int64_t>(block.size());
  if (count < 0) throw Unsupported("its input has an unknown number of dimensions");
  if (count <= spatial) throw InvalidModel("{} block sizes do not fit an input of {} dimensions", spatial, count);
  // [blocks..., N, S..., rest] -> [N, S1, b1, S2, b2, ..., rest]
  const Expr shape = p.shape_of(x);
  Exprs cut = {p.constant(block), p.constant({-1}), p.slice(shape, {1}, {count}, {0})};
  Ints perm = {spatial};
  Exprs joined = {p.constant({-1})};
  for (int64_t i = 0; i < spatial; ++i) {
    perm.push_back(spatial + 1 + i);
    perm.push_back(i);
    joined.push_back(p.op("Mul", {p.slice(shape, {i + 1}, {i + 2}, {0}), p.constant({block[static_cast<size_t>(i)]})}));
  }
  for (int64_t i = spatial + 1; i < count; ++i) perm.push_back(i + spatial);
  joined.push_back(p.slice(shape, {spatial + 1}, {count}, {0}));
  Expr y;
  if (const auto known = p.shape(x)) {
    Ints to = block, out = {-1};
    to.push_back(-1);
    to.insert(to.end(), known->begin() + 1, known->end());
    for (int64_t i = 0; i < spatial; ++i) out.push_back((*known)[static_cast<size_t>(i) + 1] * block[static_cast<size_t>(i)]);
    out.insert(out.end(), known->begin() + spatial + 1, known->end());
    y = p.reshape(p.transpose(p.reshape(x, to), perm), out);
  } else {
    const Expr parts = p.op("Reshape", {x, p.concat(cut, 0)});
    parts.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count + spatial));
    y = p.op("Reshape", {p.transpose(parts, perm), p.concat(joined, 0)});
    if (!y.value()->type.dims) y.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  }
  // Crops: [before, after] of each.
  Ints axes;
  for (int64_t i = 0; i < spatial; ++i) axes.push_back(i + 1);
  if (const auto known = p.ints(crops)) {
    Ints starts, ends;
    bool any = false;
    for (size_t i = 0; i + 1 < known->size() && i / 2 < axes.size(); i += 2) {
      starts.push_back((*known)[i]);
      ends.push_back((*known)[i + 1] == 0 ? kEnd : -(*known)[i + 1]);
      any = any || (*known)[i] || (*known)[i + 1];
    }
    return any ? p.slice(y, starts, ends, axes) : y;
  }
  const Expr rows = p.reshape(p.i64(crops), Ints{spatial, 2});
  const Expr before = p.vector(p.slice(rows, {0}, {1}, {1})), after = p.vector(p.slice(rows, {1}, {2}, {1}));
  const Expr sizes = p.slice(p.shape_of(y), {1}, {spatial + 1}, {0});
  const Expr cropped = p.op("Slice", {y, before, p.op("Sub", {sizes, after}), p.constant(axes)});
  if (!cropped.value()->type.dims) cropped.value()->type.dims = std::vector<Dim>(static_cast<size_t>(count));
  return cropped;
}

Expr local_response_normalization(TypedBuilder& p, const Expr& x, int64_t radius, float bias, float alpha, float beta) {
  const int64_t size = 2 * radius + 1;
  return channels_last(p, p.op("LRN", {channels_first(p, x)},
                               {{"size", size}, {"bias", bias}, {"alpha", alpha * static_cast<float>(size)}, {"beta", beta}}));
}

}  // namespace minnow

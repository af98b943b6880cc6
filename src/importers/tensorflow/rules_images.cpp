// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and other rules for images, and for the detection of objects in them.
#include <algorithm>

#include "importers/tensorflow/rules.h"

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/builder/arithmetic.h"
#include "importers/builder/images.h"

namespace minnow::tensorflow {
namespace {

/// Returns the image with channels last; turned_back() undoes this.
Expr image_of(TfNode& node, TypedBuilder& p, const Expr& x, int64_t rank = 4) {
  if (p.rank(x) < 0) x.value()->type.dims = std::vector<Dim>(static_cast<size_t>(rank));
  return node.channels_first() ? channels_last(p, x) : x;
}
Expr turned_back(TfNode& node, TypedBuilder& p, const Expr& y) { return node.channels_first() ? channels_first(p, y) : y; }

/// The entries of a list with one for each dimension that belong to the spatial ones.
Ints spatial(TfNode& node, std::string_view name, size_t count) {
  const Ints all = node.integers(name);
  if (all.empty()) return Ints(count, 1);
  if (all.size() != count + 2) node.fail("attribute \"{}\" has {} entries", name, all.size());
  const size_t first = node.channels_first() ? 2 : 1;
  for (size_t i = 0; i < all.size(); ++i)
    if ((i < first || i >= first + count) && all[i] != 1) node.refuse("\"{}\" of {} is not supported", name, all);
  return {all.begin() + static_cast<ptrdiff_t>(first), all.begin() + static_cast<ptrdiff_t>(first + count)};
}
SlidingWindow window_of(TfNode& node, size_t count, bool kernel) {
  SlidingWindow window;
  window.strides = spatial(node, "strides", count);
  window.dilations = spatial(node, "dilations", count);
  if (kernel) window.kernel = spatial(node, "ksize", count);
  const std::string_view padding = node.text("padding");
  window.same = padding == "SAME";
  if (padding == "EXPLICIT") {
    const Ints pads = node.integers("explicit_paddings");
    if (pads.size() != 2 * (count + 2)) node.fail("explicit_paddings has {} entries", pads.size());
    const size_t first = node.channels_first() ? 2 : 1;
    for (size_t side = 0; side < 2; ++side)
      for (size_t i = 0; i < count; ++i) window.pads.push_back(pads[2 * (first + i) + side]);
  } else if (!window.same && padding != "VALID") {
    node.fail("padding is \"{}\"", padding);
  }
  return window;
}

/// An axis that is resized.
struct ResizedAxis {
  Expr in, out;  // sizes, i64 scalars
  Expr scale;    // f32: the distance of the result's places in the input
  Expr places;   // f32 vector: 0, 1, ... of the result
};
ResizedAxis resized_axis(TfNode& node, TypedBuilder& p, int64_t axis) {
  ResizedAxis made;
  made.in = p.reshape(p.shape_of(node.input(0), axis, axis + 1), Ints{});
  made.out = p.reshape(p.slice(p.i64(node.input(1)), {axis - 1}, {axis}, {0}), Ints{});
  const Expr zero = p.scalar(0, DType::i64), one = p.scalar(1, DType::i64);
  Expr in = made.in, out = made.out;
  if (node.flag("align_corners")) {  // has no effect on a result of one place
    const Expr cut = p.op("Min", {one, p.op("Sub", {out, one})});
    in = p.op("Sub", {in, cut}), out = p.op("Sub", {out, cut});
  }
  made.scale = p.op("Div", {p.cast(in, DType::f32), p.cast(out, DType::f32)});
  made.places = p.cast(p.op("Range", {zero, made.out, one}), DType::f32);
  return made;
}

Expr channel(TypedBuilder& p, const Expr& x, int64_t i) { return p.slice(x, {i}, {i + 1}, {-1}); }

}  // namespace

Exprs conv(TfNode& node, TypedBuilder& p) {
  const size_t count = node.def.op == "Conv3D" ? 3 : 2;
  const Expr x = image_of(node, p, node.input(0), static_cast<int64_t>(count) + 2);
  // Weights [kernel..., in / groups, out].
  const Expr w = p.transpose(node.input(1), count == 3 ? Ints{4, 3, 0, 1, 2} : Ints{3, 2, 0, 1});
  SlidingWindow window = window_of(node, count, false);
  for (size_t i = 0; i < count; ++i) window.kernel.push_back(p.dim(w, static_cast<int64_t>(i) + 2));
  if (std::any_of(window.kernel.begin(), window.kernel.end(), [](int64_t size) { return size < 1; })) window.kernel.clear();
  const int64_t channels = p.dim(x, -1), per_group = p.dim(w, 1);
  const int64_t groups = channels > 0 && per_group > 0 && channels % per_group == 0 ? channels / per_group : 1;
  return {turned_back(node, p, conv(p, x, w, Expr(), window, groups))};
}
Exprs depthwise_conv(TfNode& node, TypedBuilder& p) {
  // Weights [H, W, C, multiplier].
  const Expr x = image_of(node, p, node.input(0));
  const int64_t height = p.dim(node.input(1), 0), width = p.dim(node.input(1), 1), channels = p.dim(node.input(1), 2),
                multiplier = p.dim(node.input(1), 3);
  if (height < 1 || width < 1 || channels < 1 || multiplier < 1) node.refuse("weights of unknown shape are not supported");
  const Expr w = p.reshape(p.transpose(node.input(1), {2, 3, 0, 1}), Ints{channels * multiplier, 1, height, width});
  SlidingWindow window = window_of(node, 2, false);
  window.kernel = {height, width};
  return {turned_back(node, p, conv(p, x, w, Expr(), window, channels))};
}
Exprs conv_transpose(TfNode& node, TypedBuilder& p) {
  // Sizes, weights [kernel..., out, in], data.
  const size_t count = node.def.op == "Conv3DBackpropInputV2" ? 3 : 2;
  const Expr x = image_of(node, p, node.input(2), static_cast<int64_t>(count) + 2);
  const Expr w = p.transpose(node.input(1), count == 3 ? Ints{4, 3, 0, 1, 2} : Ints{3, 2, 0, 1});
  Ints size;
  if (const auto known = p.ints(node.input(0))) {
    const size_t first = node.channels_first() && known->size() == count + 2 ? 2 : known->size() == count ? 0 : 1;
    if (known->size() < first + count) node.fail("its sizes are {}", *known);
    size.assign(known->begin() + static_cast<ptrdiff_t>(first), known->begin() + static_cast<ptrdiff_t>(first + count));
  }
  const SlidingWindow window = window_of(node, count, false);
  return {turned_back(node, p, conv_transpose(p, x, w, Expr(), window, size))};
}
Exprs pool(TfNode& node, TypedBuilder& p) {
  const size_t count = node.def.op.ends_with("3D") ? 3 : 2;
  const Expr x = image_of(node, p, node.input(0), static_cast<int64_t>(count) + 2);
  return {turned_back(node, p, pool(p, node.rule->target, x, window_of(node, count, true)))};
}
/// Also tells where the largest elements are.
Exprs pool_argmax(TfNode& node, TypedBuilder& p) {
  const Expr image = channels_first(p, image_of(node, p, node.input(0)));
  const Exprs made = p.ops("MaxPool", {image}, 2, window_attributes(p, image, window_of(node, 2, true)));
  // MaxPool counts the elements as they lie with channels first, TensorFlow as they lie with channels last.
  const Expr shape = p.shape_of(image), channels = p.slice(shape, {1}, {2}, {0});
  const Expr pixels = p.op("Mul", {p.slice(shape, {2}, {3}, {0}), p.slice(shape, {3}, {4}, {0})});
  const Expr row = p.op("Div", {made[1], pixels});  // batch * channels + channel
  Expr pixel = p.op("Mod", {made[1], pixels});
  if (node.flag("include_batch_in_index")) pixel = p.op("Add", {pixel, p.op("Mul", {p.op("Div", {row, channels}), pixels})});
  const Expr place = p.op("Add", {p.op("Mul", {pixel, channels}), p.op("Mod", {row, channels})});
  return {channels_last(p, made[0]), p.cast(channels_last(p, place), node.type("Targmax", DType::i64))};
}
Exprs bias_add(TfNode& node, TypedBuilder& p) {
  const int64_t rank = p.rank(node.input(0));
  Expr bias = node.input(1);
  if (node.channels_first() && rank > 2) {
    Ints axes;
    for (int64_t i = 1; i < rank - 1; ++i) axes.push_back(i);
    bias = p.unsqueeze(bias, axes);
  }
  return {p.op("Add", {node.input(0), bias})};
}
Exprs fused_batch_norm(TfNode& node, TypedBuilder& p) {
  if (node.flag("is_training", true)) node.refuse("training mode is not supported");
  const Expr x = image_of(node, p, node.input(0));
  const Expr first = channels_first(p, x);
  const Expr y = p.op("BatchNormalization", {first, node.input(1), node.input(2), node.input(3), node.input(4)},
                      {{"epsilon", node.real("epsilon", 1e-4f)}});
  return {turned_back(node, p, channels_last(p, y)), node.input(3), node.input(4), node.input(3), node.input(4), node.input(3)};
}
Exprs resize(TfNode& node, TypedBuilder& p) {
  const Expr x = image_of(node, p, node.input(0));
  const ResizeGrid grid = node.flag("align_corners")        ? ResizeGrid::align_corners
                          : node.flag("half_pixel_centers") ? ResizeGrid::half_pixel
                                                            : ResizeGrid::asymmetric;
  const bool bilinear = node.def.op == "ResizeBilinear";
  const Expr y = resize(p, bilinear ? p.cast(x, DType::f32) : x, node.input(1), bilinear, grid);
  return {y};
}
Exprs space_to_depth(TfNode& node, TypedBuilder& p) {
  return {turned_back(node, p, space_to_depth(p, image_of(node, p, node.input(0)), node.integer("block_size", 0)))};
}
Exprs depth_to_space(TfNode& node, TypedBuilder& p) {
  return {turned_back(node, p, depth_to_space(p, image_of(node, p, node.input(0)), node.integer("block_size", 0)))};
}
Exprs space_to_batch(TfNode& node, TypedBuilder& p) { return {space_to_batch(p, node.input(0), node.ints(1), node.input(2))}; }
Exprs batch_to_space(TfNode& node, TypedBuilder& p) { return {batch_to_space(p, node.input(0), node.ints(1), node.input(2))}; }
Exprs lrn(TfNode& node, TypedBuilder& p) {
  return {local_response_normalization(p, image_of(node, p, node.input(0)), node.integer("depth_radius", 5), node.real("bias", 1),
                                       node.real("alpha", 1), node.real("beta", 0.5f))};
}

// Resizing and windows.

Exprs resize_bicubic(TfNode& node, TypedBuilder& p) {
  const auto number = [&](double value) { return p.scalar(value); };
  const auto integer = [&](double value) { return p.scalar(value, DType::i64); };
  const bool half_pixel = node.flag("half_pixel_centers");
  const double a = half_pixel ? -0.5 : -0.75;
  // The weights of samples at a distance of at most 1, and of 1 to 2.
  const auto near = [&](const Expr& t) { return ((number(a + 2) * t - number(a + 3)) * t) * t + number(1); };
  const auto far = [&](const Expr& t) { return ((number(a) * t - number(5 * a)) * t + number(8 * a)) * t - number(4 * a); };
  Expr y = p.cast(image_of(node, p, node.input(0)), DType::f32);
  for (const int64_t axis : {1, 2}) {
    const ResizedAxis along = resized_axis(node, p, axis);
    const Expr at = half_pixel ? (along.places + number(0.5)) * along.scale - number(0.5) : along.places * along.scale;
    const Expr floor = p.op("Floor", {at}), first = p.i64(floor), last = along.in - integer(1);
    // TensorFlow reads the weights from a table with 1,024 steps.
    const Expr rest = p.op("Round", {(at - floor) * number(1024)}) * number(1.0 / 1024);
    Exprs weights = {far(rest + number(1)), near(rest), near(number(1) - rest), far(number(2) - rest)}, samples;
    for (size_t i = 0; i < 4; ++i) {
      const Expr place = p.op("Add", {first, integer(static_cast<double>(i) - 1)});
      const Expr inside = p.op("Min", {p.op("Max", {place, integer(0)}), last});
      if (half_pixel) weights[i] = p.op("Where", {p.op("Equal", {place, inside}), weights[i], number(0)});
      samples.push_back(p.gather(y, inside, axis));
    }
    if (half_pixel) {
      const Expr sum = p.op("Sum", weights);
      for (Expr& weight : weights) weight = weight / sum;
    }
    for (size_t i = 0; i < 4; ++i) {
      const Expr weight = p.unsqueeze(weights[i], axis == 1 ? Ints{1, 2} : Ints{1});
      samples[i] = p.op("Mul", {samples[i], weight});
    }
    y = p.op("Sum", samples);
  }
  return {y};
}

/// The mean of the area that a pixel of the result covers: a matrix for each axis.
Exprs resize_area(TfNode& node, TypedBuilder& p) {
  Expr y = p.cast(image_of(node, p, node.input(0)), DType::f32);
  const Expr shape = p.shape_of(y);
  for (const int64_t axis : {1, 2}) {
    const ResizedAxis along = resized_axis(node, p, axis);
    const Expr one = p.scalar(1), zero = p.scalar(0), places = p.unsqueeze(along.places, {1});
    const Expr low = places * along.scale, high = (places + one) * along.scale;  // [out, 1]
    const Expr pixels = p.cast(p.op("Range", {p.scalar(0, DType::i64), along.in, p.scalar(1, DType::i64)}), DType::f32),
               next = pixels + one;
    // The last pixel goes on behind the edge.
    const Expr is_last = p.op("Equal", {next, p.cast(along.in, DType::f32)});
    const Expr end = p.op("Where", {is_last, largest(p, DType::f32), next});
    const Expr covered = p.op("Max", {p.op("Min", {end, high}) - p.op("Max", {pixels, low}), zero});
    const Expr weights = p.op("Div", {covered, along.scale});  // [out, in]
    if (axis == 2) {
      y = p.op("MatMul", {weights, y});
      continue;
    }
    const Expr batch = p.slice(shape, {0}, {1}, {0}), rest = p.slice(shape, {2}, {4}, {0});
    const Expr rows = p.reshape(y, p.concat({p.slice(shape, {0}, {2}, {0}), p.op("ReduceProd", {rest})}, 0));
    y = p.reshape(p.op("MatMul", {weights, rows}), p.concat({batch, p.vector(along.out), rest}, 0));
  }
  return {y};
}

/// The elements of each window as the channels of a pixel.
Exprs extract_patches(TfNode& node, TypedBuilder& p) {
  const Ints kernel = spatial(node, "ksizes", 2), strides = spatial(node, "strides", 2), rates = spatial(node, "rates", 2);
  const std::string_view padding = node.text("padding");
  if (padding != "SAME" && padding != "VALID") node.fail("padding is \"{}\"", padding);
  const auto integer = [&](int64_t value) { return p.scalar(static_cast<double>(value), DType::i64); };
  Expr x = image_of(node, p, node.input(0));
  Exprs shape = {p.shape_of(x, 0, 1)};
  for (const size_t i : {0u, 1u}) {
    const int64_t axis = i == 0 ? 1 : 3, size = kernel[i], step = strides[i], rate = rates[i];
    if (size < 1 || step < 1 || rate < 1) node.fail("windows of {} with strides {} and rates {}", kernel, strides, rates);
    const Expr in = p.reshape(p.shape_of(x, axis, axis + 1), Ints{}), reach = integer(clamped_sum({clamped_product({size - 1, rate}), 1}));
    Expr count;
    if (padding == "SAME") {
      count = p.op("Div", {in + integer(step - 1), integer(step)});
      const Expr missing = p.op("Max", {(count - integer(1)) * integer(step) + reach - in, integer(0)});
      const Expr before = p.op("Div", {missing, integer(2)});
      x = p.op("Pad", {x, p.concat({p.vector(before), p.vector(missing - before)}, 0), Expr(), p.constant({axis})});
    } else {
      count = p.op("Div", {p.op("Max", {in - reach + integer(step), integer(0)}), integer(step)});
    }
    const Charge table(static_cast<size_t>(clamped_product({size, 8})));
    Ints taps;
    for (int64_t tap = 0; tap < size; ++tap) taps.push_back(clamped_product({tap, rate}));
    const Expr first = p.op("Range", {integer(0), count, integer(1)}) * integer(step);
    x = p.gather(x, p.op("Add", {p.unsqueeze(first, {1}), p.constant(taps)}), axis);  // [N, rows, taps, W, C], then columns
    shape.push_back(p.vector(count));
  }
  const int64_t taps = clamped_product({kernel[0], kernel[1]});
  shape.push_back(p.op("Mul", {p.shape_of(x, 5), p.constant({taps})}));
  return {p.reshape(p.transpose(x, {0, 1, 3, 2, 4, 5}), p.concat(shape, 0))};
}

// Colors. Channels are the last dimension.

Exprs rgb_to_hsv(TfNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), r = channel(p, x, 0), g = channel(p, x, 1), b = channel(p, x, 2);
  const auto number = [&](double value) { return p.scalar(value, p.dtype(x)); };
  const Expr value = p.op("Max", {r, g, b}), range = value - p.op("Min", {r, g, b}), zero = number(0);
  const Expr saturation = p.op("Where", {p.op("Greater", {value, zero}), range / value, zero});
  const Expr sixth = number(1) / (number(6) * range);
  const Expr after_green = p.op("Where", {p.op("Equal", {g, value}), (b - r) * sixth + number(2.0 / 6), (r - g) * sixth + number(4.0 / 6)});
  const Expr turn = p.op("Where", {p.op("Equal", {r, value}), (g - b) * sixth, after_green});
  const Expr hue = p.op("Where", {p.op("Greater", {range, zero}), turn, zero});
  return {p.concat({p.op("Where", {p.op("Less", {hue, zero}), hue + number(1), hue}), saturation, value}, -1)};
}
Exprs hsv_to_rgb(TfNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), saturation = channel(p, x, 1), value = channel(p, x, 2);
  const auto number = [&](double n) { return p.scalar(n, p.dtype(x)); };
  const Expr sixths = channel(p, x, 0) * number(6), white = number(1) - saturation;
  const auto color = [&](double at, double sign, double offset) {
    const Expr part = number(sign) * p.op("Abs", {sixths - number(at)}) + number(offset);
    return (white + saturation * p.op("Clip", {part, number(0), number(1)})) * value;
  };
  return {p.concat({color(3, 1, -1), color(2, -1, 2), color(4, -1, 2)}, -1)};
}
Exprs adjust_contrast(TfNode& node, TypedBuilder& p) {
  const Expr x = node.input(0), mean = p.op("ReduceMean", {x, p.constant({-3, -2})});
  return {p.op("Add", {(x - mean) * p.cast(node.input(1), p.dtype(x)), mean})};
}

// Detection.

Exprs crop(TfNode& node, TypedBuilder& p) {
  const Ints size = node.ints(3);
  if (size.size() != 2) node.fail("its crops should have a height and a width, they have {} sizes", size.size());
  if (p.rank(node.input(0)) != 4) node.refuse("it crops images of unknown rank");
  const std::string_view method = node.text("method", "bilinear");
  if (method != "bilinear" && method != "nearest") node.refuse("method \"{}\" is not supported", method.substr(0, 100));
  return {crop_and_resize(p, node.input(0), node.input(1), node.input(2), size, method == "bilinear",
                          static_cast<double>(node.real("extrapolation_value", 0)))};
}
Exprs non_max_suppression(TfNode& node, TypedBuilder& p) {
  const bool has_score = node.def.op != "NonMaxSuppression" && node.def.op != "NonMaxSuppressionV2";
  const Expr overlap = node.def.op == "NonMaxSuppression" ? p.scalar(static_cast<double>(node.real("iou_threshold", 0.5f))) : node.input(3);
  Exprs inputs = {p.unsqueeze(node.input(0), {0}), p.unsqueeze(node.input(1), {0, 1}), p.vector(p.i64(node.input(2))), p.vector(overlap)};
  if (has_score) inputs.push_back(p.vector(node.input(4)));
  const Expr found = p.op("NonMaxSuppression", inputs);
  return {p.cast(p.vector(p.slice(found, {2}, {3}, {1})), DType::i32)};
}

/// V4 and V5 also return the number of boxes found, and may pad their lists to the maximum number.
Exprs non_max_suppression_counted(TfNode& node, TypedBuilder& p) {
  const bool has_scores = node.def.op == "NonMaxSuppressionV5";
  if (has_scores && p.number(node.input(5)).value_or(1) != 0) node.refuse("scores that decay are not supported");
  Expr found = non_max_suppression(node, p)[0];
  const Expr count = p.shape_of(found);
  Expr scores = has_scores ? p.gather(node.input(1), found, 0) : Expr();
  if (node.flag("pad_to_max_output_size")) {
    const Expr rest = p.concat({p.constant({0}), p.op("Sub", {p.vector(p.i64(node.input(2))), count})}, 0);
    found = p.op("Pad", {found, rest});
    if (scores) scores = p.op("Pad", {scores, rest});
  }
  const Expr valid = p.reshape(p.cast(count, DType::i32), Ints{});
  return has_scores ? Exprs{found, scores, valid} : Exprs{found, valid};
}
/// For each image the best boxes of all classes: boxes, scores, classes and their number; zeros follow them.
Exprs combined_non_max_suppression(TfNode& node, TypedBuilder& p) {
  // Boxes [batch, count, 1 or classes, 4], scores [batch, count, classes].
  const int64_t lists = p.dim(node.input(0), 2);
  if (lists < 1) node.refuse("boxes of unknown shape are not supported");
  const Expr shape = p.shape_of(node.input(1)), batch = p.slice(shape, {0}, {1}, {0}), count = p.slice(shape, {1}, {2}, {0});
  const Expr per_class = p.vector(p.i64(node.input(2))), all = p.constant({-1}), lowest = minnow::lowest(p, DType::f32);
  Expr total = p.vector(p.i64(node.input(3)));
  if (node.flag("pad_per_class")) total = p.op("Min", {total, p.op("Mul", {per_class, p.slice(shape, {2}, {3}, {0})})});
  // Boxes of their own make a class of an image an image.
  const Expr boxes = p.reshape(p.transpose(node.input(0), {0, 2, 1, 3}), p.concat({all, count, p.constant({4})}, 0));
  Expr scores = p.transpose(node.input(1), {0, 2, 1});
  if (lists > 1) scores = p.reshape(scores, p.concat({all, p.constant({1}), count}, 0));
  const Expr found = p.op("NonMaxSuppression", {boxes, scores, per_class, p.vector(node.input(4)), p.vector(node.input(5))});
  const Expr kept = p.op("ScatterND", {p.op("Expand", {lowest, p.shape_of(scores)}), found, p.op("GatherND", {scores, found})});
  const Expr row = p.concat({p.reshape(kept, p.concat({batch, all}, 0)), p.op("Expand", {lowest, p.concat({batch, total}, 0)})}, 1);
  const Exprs best = p.ops("TopK", {row, total}, 2);
  const Expr valid = p.op("Greater", {best[0], lowest}), zero = p.scalar(0);
  const Expr place = p.op("Where", {valid, best[1], p.scalar(0, DType::i64)});  // class * count + box
  const Expr of_image = p.reshape(boxes, p.concat({batch, all, p.constant({4})}, 0));
  const Expr box = p.unsqueeze(lists > 1 ? place : p.op("Mod", {place, count}), {-1});
  Expr corners = p.op("GatherND", {of_image, box}, {{"batch_dims", int64_t{1}}});
  if (node.flag("clip_boxes", true)) corners = clip(p, corners, 0, 1);
  return {p.op("Where", {p.unsqueeze(valid, {-1}), corners, zero}), p.op("Where", {valid, best[0], zero}),
          p.cast(p.op("Div", {place, count}), DType::f32),
          p.op("ReduceSum", {p.cast(valid, DType::i32), p.constant({1})}, {{"keepdims", int64_t{0}}})};
}

}  // namespace minnow::tensorflow

// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools, products, normalizations. Images are [N, H, W, C]; weights of convolutions [O, H, W, I].
#include <algorithm>
#include <cmath>

#include "importers/tflite/rules.h"

#include "importers/builder/arithmetic.h"
#include "importers/builder/images.h"

namespace minnow::tflite {
namespace {

bool is_same(const TfliteNode& node) { return node.option<int8_t>(0, 0) == 0; }

int64_t positive(const TfliteNode& node, std::string_view what, int64_t value) {
  if (value < 1) node.fail("{} is {}", what, value);
  return value;
}

/// Strides and dilations; the options name the width before the height.
SlidingWindow window_of(const TfliteNode& node, size_t stride_w, size_t dilation_w) {
  SlidingWindow window;
  window.same = is_same(node);
  window.strides = {positive(node, "stride_h", node.option<int32_t>(stride_w + 1, 0)),
                    positive(node, "stride_w", node.option<int32_t>(stride_w, 0))};
  if (dilation_w)
    window.dilations = {positive(node, "dilation_h_factor", node.option<int32_t>(dilation_w + 1, 1)),
                        positive(node, "dilation_w_factor", node.option<int32_t>(dilation_w, 1))};
  return window;
}

Expr bias_of(const TfliteNode& node, size_t i) { return node.optional_input(i); }

/// True if numbers meet weights of 8 bits: the format's kernels then quantize the numbers while they run (dynamic range).
bool is_hybrid(const TfliteNode& node) {
  const TensorInfo &x = node.input_info(0), &w = node.input_info(1);
  return x.dtype == DType::f32 && w.quantized() && w.dtype == DType::i8 && !w.quantization.block && node.raw[1].value()->constant();
}

/// True for i16 numbers, i8 weights and a bias of 64 or 32 bits, if sums of `depth` products of bytes are exact in
/// floats.
bool is_16_by_8(const TfliteNode& node, int64_t depth) {
  constexpr int64_t kMostExact = (int64_t{1} << 24) / (255 * 128);
  if (node.in.size() < 3 || !node.in[2] || !node.raw[1].value()->constant() || depth < 1 || depth > kMostExact) return false;
  const TensorInfo &x = node.input_info(0), &w = node.input_info(1), &y = node.output_info(0);
  const auto whole = [](const TensorInfo& t) { return t.dtype == DType::i16 && t.quantized() && t.quantization.scale.size() == 1; };
  return whole(x) && whole(y) && w.dtype == DType::i8 && w.quantized() && !w.quantization.block &&
         (node.input_info(2).dtype == DType::i64 || node.input_info(2).dtype == DType::i32);
}

/// Returns the result of a layer with i16 activations and i8 weights, as real numbers that are whole steps of the result's scale. Like the
/// format's kernels, it multiplies by factors of 15 bits and rounds once if the bias has 64 bits; with a bias of 32 bits it multiplies by
/// factors of 31 bits and rounds twice. sums(x) computes the layer's sums of products for integers x, in f32 and without the bias. It is
/// called for the high and for the low bytes, so that both sums are exact. Channels are last.
template <class Sums>
Expr layer_16_by_8(TfliteNode& node, TypedBuilder& p, Sums sums, size_t activation_field) {
  const Expr x = node.raw[0], low = p.op("Mod", {x, p.scalar(256, DType::i16)});
  const Expr high = p.op("Div", {p.op("Sub", {x, low}), p.scalar(256, DType::i16)});
  const auto wide_sums = [&](const Expr& part) { return p.i64(sums(p.cast(part, DType::f32))); };
  const Expr total =
      p.op("Add", {p.op("Add", {p.op("Mul", {wide_sums(high), p.scalar(256, DType::i64)}), wide_sums(low)}), p.i64(node.raw[2])});
  // scale of a step of the sums = fraction * 2^exponent: the fraction as a factor, then a rounding shift.
  const bool narrow = node.input_info(2).dtype == DType::i32;
  const double in_scale = static_cast<double>(node.input_info(0).quantization.scale[0]),
               out_scale = static_cast<double>(node.output_info(0).quantization.scale[0]);
  Ints factors, halves, divisors, signs;
  for (const float weight_scale : node.input_info(1).quantization.scale) {
    int exponent = 0;
    const double fraction = std::frexp(in_scale * static_cast<double>(weight_scale) / out_scale, &exponent);
    int64_t factor = std::llround(fraction * 2147483648.0);
    if (factor == int64_t{1} << 31) factor /= 2, ++exponent;
    if (exponent > (narrow ? 0 : 14) || exponent < -30) node.refuse("a result of scale {} is not supported", out_scale);
    factors.push_back(narrow ? factor : factor >= 0x7fff0000 ? 0x7fff : (factor + (1 << 15)) >> 16);
    const int shift = narrow ? -exponent : 15 - exponent;
    halves.push_back((int64_t{1} << shift) / 2);
    divisors.push_back(int64_t{1} << shift);
    signs.push_back(shift > 0 ? 1 : 0);
  }
  Expr scaled = p.op("Mul", {total, p.constant(factors)});
  if (narrow) {  // to 31 bits less, then by the shift, with ties away from zero
    scaled = floor_div(p, p.op("Add", {scaled, p.scalar(1 << 30, DType::i64)}), p.scalar(2147483648.0, DType::i64));
    const Expr negative = p.i64(p.op("Less", {scaled, p.scalar(0, DType::i64)}));
    scaled = p.op("Sub", {scaled, p.op("Mul", {negative, p.constant(signs)})});
  }
  const Expr steps = clip(p, floor_div(p, p.op("Add", {scaled, p.constant(halves)}), p.constant(divisors)), -32768, 32767);
  return node.activated(p.op("Mul", {p.cast(steps, DType::f32), p.scalar(out_scale)}), activation_field);
}

/// True if bytes become bytes of the same steps.
bool averages_steps(const TfliteNode& node) {
  const TensorInfo &x = node.input_info(0), &y = node.output_info(0);
  return (x.dtype == DType::i8 || x.dtype == DType::u8) && x.dtype == y.dtype && x.quantized() && x.quantization.per_tensor() &&
         x.quantization == y.quantization;
}

/// The average of stored numbers, rounded to nearest; ties round away from zero, as stored (before the zero point is subtracted).
Expr average_of_steps(const TfliteNode& node, TypedBuilder& p, const SlidingWindow& window) {
  // In f32 the quotient of a tie may come out slightly low. With windows below 5,000 elements, other quotients are farther from ties.
  constexpr double kHalf = 0.5001;
  const TensorQuantization& q = node.input_info(0).quantization;
  const Expr average = pool(p, "AveragePool", p.cast(node.raw[0], DType::f32), window);
  const Expr steps = p.op("Mul", {p.op("Sign", {average}), p.op("Floor", {p.op("Add", {p.op("Abs", {average}), p.scalar(kHalf)})})});
  const double zero = q.zero_point.empty() ? 0 : static_cast<double>(q.zero_point[0]);
  return p.op("Mul", {p.op("Sub", {steps, p.scalar(zero)}), p.scalar(static_cast<double>(q.scale[0]))});
}

}  // namespace

Exprs import_conv_2d(TfliteNode& node, TypedBuilder& p) {
  Expr x = node.input(0);
  const Expr w = node.real_permuted(1, {0, 3, 1, 2});
  if (is_hybrid(node)) x = rounded_by_item(p, x, node.input_info(1).quantization.per_tensor());
  SlidingWindow window = window_of(node, 1, 4);
  window.kernel = {p.dim(w, 2), p.dim(w, 3)};
  if (window.kernel[0] < 1 || window.kernel[1] < 1) node.refuse("weights of unknown size are not supported");
  const int64_t channels = p.dim(x, -1), per_group = p.dim(w, 1);
  int64_t groups = 1;
  if (channels > 0 && per_group > 0) {
    if (channels % per_group != 0) node.fail("weights for {} channels do not fit {}", per_group, channels);
    groups = channels / per_group;
  }
  if (is_16_by_8(node, per_group * window.kernel[0] * window.kernel[1])) {
    const Expr steps = p.cast(p.transpose(node.raw[1], {0, 3, 1, 2}), DType::f32);
    return {layer_16_by_8(
        node, p, [&](const Expr& part) { return conv(p, part, steps, Expr(), window, groups); }, 3)};
  }
  return {node.activated(conv(p, x, w, bias_of(node, 2), window, groups), 3)};
}

Exprs import_depthwise_conv_2d(TfliteNode& node, TypedBuilder& p) {
  // [1, H, W, C * multiplier]
  Expr x = node.input(0);
  const Expr w = node.real_permuted(1, {3, 0, 1, 2});
  if (is_hybrid(node)) x = rounded_by_item(p, x, false);
  SlidingWindow window = window_of(node, 1, 5);
  window.kernel = {p.dim(w, 2), p.dim(w, 3)};
  int64_t channels = p.dim(x, -1);
  if (channels < 1 && p.dim(w, 0) > 0) channels = p.dim(w, 0) / std::max<int64_t>(node.option<int32_t>(3, 1), 1);
  if (channels < 1 || p.dim(w, 0) % channels != 0 || p.dim(w, 1) != 1)
    node.fail("weights of shape [1, ..., {}] do not fit {} channels", p.dim(w, 0), channels);
  if (is_16_by_8(node, window.kernel[0] * window.kernel[1])) {
    const Expr steps = p.cast(p.transpose(node.raw[1], {3, 0, 1, 2}), DType::f32);
    return {layer_16_by_8(
        node, p, [&](const Expr& part) { return conv(p, part, steps, Expr(), window, channels); }, 4)};
  }
  return {node.activated(conv(p, x, w, bias_of(node, 2), window, channels), 4)};
}

Exprs import_transpose_conv(TfliteNode& node, TypedBuilder& p) {
  // Output shape, weights [O, H, W, I], data, bias.
  const Expr x = node.input(2), w = node.real_permuted(1, {3, 0, 1, 2});
  SlidingWindow window = window_of(node, 1, 0);
  Ints size;
  if (const auto shape = node.known_ints(0)) {
    if (shape->size() != 4) node.fail("its output shape has {} entries", shape->size());
    size = {(*shape)[1], (*shape)[2]};
  }
  return {node.activated(conv_transpose(p, x, w, bias_of(node, 3), window, size), 3)};
}

Exprs import_transpose_conv_bias(TfliteNode& node, TypedBuilder& p) {
  // Options are a structure of the program that wrote the file: padding (1: same, 2: valid), stride_w, stride_h.
  if (node.info.custom_options.size() < 12) node.fail("its options have {} bytes", node.info.custom_options.size());
  const FlatNumbers<int32_t> options(node.info.custom_options.data(), 3);
  const Expr x = node.input(0), w = node.real_permuted(1, {3, 0, 1, 2});
  SlidingWindow window;
  window.same = options[0] == 1;
  window.strides = {positive(node, "stride_h", options[2]), positive(node, "stride_w", options[1])};
  Ints size;
  const int64_t height = p.dim(x, 1), width = p.dim(x, 2);
  if (window.same && height > 0 && width > 0) size = {height * window.strides[0], width * window.strides[1]};
  return {conv_transpose(p, x, w, bias_of(node, 2), window, size)};
}

Exprs import_conv_3d(TfliteNode& node, TypedBuilder& p) {
  // Weights [D, H, W, I, O].
  const Expr x = node.input(0), w = node.real_permuted(1, {4, 3, 0, 1, 2});
  SlidingWindow window;
  window.same = is_same(node);
  window.strides = {positive(node, "stride_d", node.option<int32_t>(1, 0)), positive(node, "stride_h", node.option<int32_t>(3, 0)),
                    positive(node, "stride_w", node.option<int32_t>(2, 0))};
  window.dilations = {positive(node, "dilation_d_factor", node.option<int32_t>(5, 1)),
                      positive(node, "dilation_h_factor", node.option<int32_t>(7, 1)),
                      positive(node, "dilation_w_factor", node.option<int32_t>(6, 1))};
  window.kernel = {p.dim(w, 2), p.dim(w, 3), p.dim(w, 4)};
  const int64_t channels = p.dim(x, -1), per_group = p.dim(w, 1);
  const int64_t groups = channels > 0 && per_group > 0 && channels % per_group == 0 ? channels / per_group : 1;
  return {node.activated(conv(p, x, w, bias_of(node, 2), window, groups), 4)};
}

Exprs import_conv_3d_transpose(TfliteNode& node, TypedBuilder& p) {
  // Output shape, weights [D, H, W, O, I], data, bias.
  const Expr x = node.input(2), w = node.real_permuted(1, {4, 3, 0, 1, 2});
  SlidingWindow window;
  window.same = is_same(node);
  window.strides = {positive(node, "stride_d", node.option<int32_t>(1, 0)), positive(node, "stride_h", node.option<int32_t>(3, 0)),
                    positive(node, "stride_w", node.option<int32_t>(2, 0))};
  Ints size;
  if (const auto shape = node.known_ints(0)) {
    if (shape->size() != 5) node.fail("its output shape has {} entries", shape->size());
    size = {(*shape)[1], (*shape)[2], (*shape)[3]};
  }
  return {node.activated(conv_transpose(p, x, w, bias_of(node, 3), window, size), 4)};
}

Exprs import_pool(TfliteNode& node, TypedBuilder& p) {
  SlidingWindow window = window_of(node, 1, 0);
  window.kernel = {positive(node, "filter_height", node.option<int32_t>(4, 0)), positive(node, "filter_width", node.option<int32_t>(3, 0))};
  const std::string_view target = node.rule->target;
  if (target == "AveragePool" && averages_steps(node)) return {node.activated(average_of_steps(node, p, window), 5)};
  if (target != "LpPool") return {node.activated(pool(p, target, node.input(0), window), 5)};
  // The root of the mean of squares.
  const Expr squares = p.op("Mul", {node.input(0), node.input(0)});
  return {node.activated(p.op("Sqrt", {pool(p, "AveragePool", squares, window)}), 5)};
}

Exprs import_reduce_window(TfliteNode& node, TypedBuilder& p) {
  // Data, start value, window shape, strides, window dilations.
  static constexpr std::string_view kNames[] = {"", "Add", "Mul", "Min", "Max", "Min", "Max"};
  const int64_t function = node.option<int32_t>(0, 0);
  const Ints shape = node.ints(2), strides = node.ints(3), dilations = node.ints(4);
  Expr x = node.input(0);
  const auto sizes = p.shape(x);
  if (function < 1 || function > 6) node.refuse("function {} is not supported", function);
  if (!sizes) node.refuse("a tensor of unknown shape is not supported");
  if (sizes->size() != shape.size() || strides.size() != shape.size() || dilations.size() != shape.size())
    node.fail("windows of {} dimensions do not fit a tensor of {}", shape.size(), sizes->size());
  // One axis after the other: the elements of a window are slices that are joined.
  const DType dtype = p.dtype(x);
  const bool logic = dtype == DType::boolean;
  if (logic) x = p.cast(x, DType::u8);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1 && strides[axis] == 1) continue;
    if (shape[axis] < 1 || shape[axis] > 1024 || strides[axis] < 1 || dilations[axis] < 1 || dilations[axis] > (*sizes)[axis])
      node.refuse("a window of {} is not supported", shape[axis]);
    const int64_t extent = (shape[axis] - 1) * dilations[axis] + 1, windows = ((*sizes)[axis] - extent) / strides[axis] + 1;
    if ((*sizes)[axis] < extent) node.refuse("a window of {} is not supported", shape[axis]);
    Expr joined;
    for (int64_t i = 0; i < shape[axis]; ++i) {
      const int64_t first = i * dilations[axis];
      const Expr part = p.slice(x, {first}, {first + (windows - 1) * strides[axis] + 1}, {static_cast<int64_t>(axis)}, {strides[axis]});
      joined = joined ? p.op(kNames[function], {joined, part}) : part;
    }
    x = joined;
  }
  const Expr start = node.input(1);
  x = p.op(kNames[function], {x, logic ? p.cast(start, DType::u8) : start});
  return {logic ? p.cast(x, DType::boolean) : x};
}

Exprs import_fully_connected(TfliteNode& node, TypedBuilder& p) {
  if (node.option<int8_t>(1, 0) != 0) node.refuse("shuffled weights are not supported");
  Expr x = node.input(0);
  const Expr w = node.input(1), bias = bias_of(node, 2);
  const int64_t units = p.dim(w, 0), depth = p.dim(w, 1), rank = p.rank(x);
  if (units < 0 || depth < 0 || p.rank(w) != 2) node.refuse("weights of unknown shape are not supported");
  const bool keeps_dims = node.flag(2) && rank != 2;
  if (keeps_dims && rank < 1) node.refuse("a tensor of unknown rank is not supported");
  const bool integers = node.input_info(1).quantized() && node.input_info(0).quantized();
  if (is_16_by_8(node, depth) && rank == 2) {
    const Expr steps = p.cast(node.raw[1], DType::f32);
    return {layer_16_by_8(
        node, p,
        [&](const Expr& part) {
          return p.op("Gemm", {part, steps}, {{"transB", int64_t{1}}});
        },
        0)};
  }
  if (is_hybrid(node)) {  // each row by itself
    const auto shape = p.shape_of(x);
    x = rounded_by_item(p, rank == 2 ? x : p.reshape(x, Ints{-1, depth}), !node.flag(3));
    if (rank != 2 && keeps_dims) x = p.reshape(x, shape);
  }
  Expr y;
  if (keeps_dims && !integers) {
    y = p.op("MatMul", {x, node.real_permuted(1, {1, 0})});
    if (bias) y = p.op("Add", {y, bias});
  } else {
    const Expr rows = rank == 2 && p.dim(x, 1) == depth ? x : p.reshape(x, Ints{-1, depth});
    y = p.op("Gemm", {rows, w, bias}, {{"transB", int64_t{1}}});
  }
  y = node.activated(y, 0);
  if (keeps_dims && integers) {
    if (auto shape = p.shape(x)) {
      shape->back() = units;
      y = p.reshape(y, *shape);
    } else {
      y = p.reshape(y, p.concat({p.shape_of(x, 0, -1), p.constant({units})}, 0));
    }
  }
  return {y};
}

Exprs import_batch_matmul(TfliteNode& node, TypedBuilder& p) {
  const Expr a = node.flag(0) ? p.swap_last(node.input(0)) : node.input(0), b = node.flag(1) ? p.swap_last(node.input(1)) : node.input(1);
  return {p.op("MatMul", {a, b})};
}

Exprs import_depth_to_space(TfliteNode& node, TypedBuilder& p) {
  return {depth_to_space(p, node.input(0), positive(node, "block_size", node.option<int32_t>(0, 0)))};
}
Exprs import_space_to_depth(TfliteNode& node, TypedBuilder& p) {
  return {space_to_depth(p, node.input(0), positive(node, "block_size", node.option<int32_t>(0, 0)))};
}
Exprs import_batch_to_space(TfliteNode& node, TypedBuilder& p) { return {batch_to_space(p, node.input(0), node.ints(1), node.input(2))}; }
Exprs import_space_to_batch(TfliteNode& node, TypedBuilder& p) { return {space_to_batch(p, node.input(0), node.ints(1), node.input(2))}; }

Exprs import_embedding_lookup(TfliteNode& node, TypedBuilder& p) { return {p.gather(node.input(1), node.input(0), 0)}; }

Exprs import_hashtable_lookup(TfliteNode& node, TypedBuilder& p) {
  // Lookups [n], keys [m], values [m, ...]: the values of the keys that are looked up, zeros for missing keys, and which keys were found.
  const Expr lookup = node.input(0), keys = node.input(1), values = node.input(2);
  const int64_t rank = p.rank(values);
  if (rank < 1) node.refuse("values of unknown rank are not supported");
  const Expr equal = p.cast(p.op("Equal", {p.unsqueeze(lookup, {1}), p.unsqueeze(keys, {0})}), DType::i32);
  const Expr hits = p.op("ReduceMax", {equal, p.constant({1})}, {{"keepdims", int64_t{0}}});
  const Expr place = p.op("ArgMax", {equal}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  Ints axes;
  for (int64_t i = 1; i < rank; ++i) axes.push_back(i);
  const Expr found = p.unsqueeze(p.cast(hits, DType::boolean), axes);
  return {p.op("Where", {found, p.gather(values, place, 0), p.scalar(0, p.dtype(values))}), p.cast(hits, DType::u8)};
}

Exprs import_l2_normalization(TfliteNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const Expr length = p.op("ReduceL2", {x, p.constant({-1})});
  return {node.activated(p.op("Div", {x, p.op("Max", {length, p.scalar(1e-6)})}), 0)};
}

Exprs import_local_response_normalization(TfliteNode& node, TypedBuilder& p) {
  return {local_response_normalization(p, node.input(0), node.option<int32_t>(0, 0), node.real_option(1, 0), node.real_option(2, 0),
                                       node.real_option(3, 0))};
}

Exprs import_softmax(TfliteNode& node, TypedBuilder& p) {
  const float beta = node.real_option(0, 0);
  const Expr x = beta == 1 ? node.input(0) : p.op("Mul", {node.input(0), p.scalar(static_cast<double>(beta))});
  return {p.op("Softmax", {x}, {{"axis", int64_t{-1}}})};
}
Exprs import_log_softmax(TfliteNode& node, TypedBuilder& p) { return {p.op("LogSoftmax", {node.input(0)}, {{"axis", int64_t{-1}}})}; }

Exprs import_resize_bilinear(TfliteNode& node, TypedBuilder& p) {
  const ResizeGrid grid = node.flag(2) ? ResizeGrid::align_corners : node.flag(3) ? ResizeGrid::half_pixel : ResizeGrid::asymmetric;
  return {resize(p, node.input(0), node.input(1), true, grid)};
}
Exprs import_resize_nearest(TfliteNode& node, TypedBuilder& p) {
  const ResizeGrid grid = node.flag(0) ? ResizeGrid::align_corners : node.flag(1) ? ResizeGrid::half_pixel : ResizeGrid::asymmetric;
  return {resize(p, node.input(0), node.input(1), false, grid)};
}

}  // namespace minnow::tflite

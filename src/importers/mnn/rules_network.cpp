// SPDX-License-Identifier: Apache-2.0
// Products, normalizations, resizing and sampling.
#include <algorithm>
#include <cmath>

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/mnn/rules.h"

namespace minnow::mnn {

// Products.

namespace {

Expr matmul(MnnNode& node, TypedBuilder& p, bool transpose_a, bool transpose_b) {
  Expr a = node.input(0), b;
  if (node.has(1)) {
    b = node.input(1);
  } else {
    node.refuse("weights in the node's own table are not supported");
  }
  const int64_t rank_a = p.rank(a), rank_b = p.rank(b);
  const Expr bias = node.has(2) ? node.input(2) : Expr();
  if (rank_a == 2 && rank_b == 2 && bias && p.rank(bias) == 1) {
    Attributes attributes;
    if (transpose_a) attributes.set("transA", int64_t{1});
    if (transpose_b) attributes.set("transB", int64_t{1});
    return p.op("Gemm", {a, b, bias}, std::move(attributes));
  }
  if (transpose_a && rank_a != 1) a = p.swap_last(a);
  if (transpose_b && rank_b != 1) b = p.swap_last(b);
  const Expr y = p.op("MatMul", {a, b});
  return bias ? p.op("Add", {y, bias}) : y;
}

}  // namespace

Exprs import_matmul(MnnNode& node, TypedBuilder& p) { return {matmul(node, p, node.flag(1), node.flag(2))}; }
Exprs import_batch_matmul(MnnNode& node, TypedBuilder& p) { return {matmul(node, p, node.flag(0), node.flag(1))}; }

Exprs import_det(MnnNode& node, TypedBuilder& p) { return {p.op("Det", {node.input(0)})}; }

Exprs import_svd(MnnNode& node, TypedBuilder& p) {
  // Columns no fewer than rows: MNN gives as many singular values as there are columns.
  const int64_t rows = p.dim(node.input(0), 0), columns = p.dim(node.input(0), 1);
  if (node.rank(0) != 2) node.fail("takes a matrix, the input has {} dimensions", node.rank(0));
  if (rows < 0 || columns < 0) node.refuse("a matrix of unknown size is not supported");
  if (rows < columns) node.refuse("a matrix of {} rows and {} columns, more than rows, is not supported", rows, columns);
  return p.ops("minnow.Svd", {node.input(0)}, 3);
}

Exprs import_cosine_similarity(MnnNode& node, TypedBuilder& p) {
  // Along dimension 1.
  const Expr a = node.input(0), b = node.input(1), axes = p.constant({1});
  const auto sum = [&](const Expr& x) { return p.op("ReduceSum", {x, axes}, {{"keepdims", int64_t{0}}}); };
  const Expr product = p.op("Sqrt", {p.op("Mul", {sum(p.op("Mul", {a, a})), sum(p.op("Mul", {b, b}))})});
  return {p.op("Div", {sum(p.op("Mul", {a, b})), p.op("Max", {product, p.scalar(1e-8)})})};
}

// Normalizations.

Exprs import_softmax(MnnNode& node, TypedBuilder& p) { return {p.op("Softmax", {node.input(0)}, {{"axis", node.integer(0)}})}; }

Exprs import_reduction(MnnNode& node, TypedBuilder& p) {
  // operation 0, dim 1, coeff 2, keepDims 3
  static constexpr std::string_view kNames[] = {"ReduceSum", "ReduceL1",   "ReduceSumSquare", "ReduceMean", "ReduceMax",
                                                "ReduceMin", "ReduceProd", "ReduceMax",       "ReduceMin"};
  const int64_t operation = node.integer<int8_t>(0);
  if (operation < 0 || operation > 8) node.refuse("function {} is not supported", operation);
  const Expr x = operation >= 7 ? p.cast(node.truth(0), DType::i32) : node.input(0);
  Exprs inputs = {x};
  Ints axes = node.list(1);
  if (!axes.empty())
    inputs.push_back(p.constant(axes));
  else if (node.has(1))
    inputs.push_back(p.vector(p.i64(node.input(1))));
  Expr y;
  if (operation == 3 && !is_float(p.dtype(x))) {  // means of integers round toward zero
    const DType type = p.dtype(x);
    inputs[0] = p.cast(x, DType::f32);
    y = p.cast(p.op("ReduceMean", inputs, {{"keepdims", int64_t{node.flag(3)}}}), type);
  } else {
    y = p.op(kNames[operation], inputs, {{"keepdims", int64_t{node.flag(3)}}});
  }
  const float coefficient = node.real(2, 0);
  if (coefficient != 0 && coefficient != 1 && is_float(p.dtype(y))) y = p.op("Mul", {y, p.scalar(static_cast<double>(coefficient))});
  return {operation >= 7 ? p.cast(y, DType::boolean) : y};
}

Exprs import_moments(MnnNode& node, TypedBuilder& p) {
  const Expr x = node.input(0);
  const Ints axes = node.list(0);
  Exprs inputs = {x};
  if (!axes.empty()) inputs.push_back(p.constant(axes));
  const int64_t keep = !axes.empty() && node.flag(1, true);
  const Expr mean = p.op("ReduceMean", inputs, {{"keepdims", int64_t{1}}});
  const Expr difference = p.op("Sub", {x, mean});
  inputs[0] = p.op("Mul", {difference, difference});
  const Expr variance = p.op("ReduceMean", inputs, {{"keepdims", keep}});
  inputs[0] = x;
  node.output_layouts.assign(node.output_layouts.size(), axes.empty() ? Layout::channels_first : Layout::packed);
  return {keep ? mean : p.op("ReduceMean", inputs, {{"keepdims", int64_t{0}}}), variance};
}

Exprs import_batch_norm(MnnNode& node, TypedBuilder& p) {
  // channels 0, slope 1, mean 2, var 3, bias 4, A 5, B 6, epsilon 7
  const std::vector<float> slope = node.reals(1), mean = node.reals(2), variance = node.reals(3), bias = node.reals(4);
  const size_t channels = mean.size();
  if (channels == 0 || variance.size() != channels || (!slope.empty() && slope.size() != channels) ||
      (!bias.empty() && bias.size() != channels))
    node.fail("has {} means, {} variances, {} slopes, {} biases", channels, variance.size(), slope.size(), bias.size());
  const auto vector = [&](const std::vector<float>& values, float fallback) {
    const Charge table(product_of({static_cast<size_t>(std::max<int64_t>(channels, 0)), sizeof(float)}));
    return p.constant(Tensor::of_f32({static_cast<int64_t>(channels)}, values.empty() ? std::vector<float>(channels, fallback) : values));
  };
  return {
      node.from_image(p.op("BatchNormalization", {node.image(), vector(slope, 1), vector(bias, 0), vector(mean, 0), vector(variance, 1)},
                           {{"epsilon", node.real(7, 0.001f)}}))};
}

Exprs import_instance_norm(MnnNode& node, TypedBuilder& p) {
  const std::vector<float> slope = node.reals(1), bias = node.reals(4);
  const Expr x = node.image();
  const int64_t channels = p.dim(x, 1);
  if (channels < 1) node.refuse("an image of unknown channels is not supported");
  const auto vector = [&](const std::vector<float>& values, float fallback) {
    std::vector<float> all = values.empty() ? std::vector<float>(static_cast<size_t>(channels), fallback) : values;
    if (static_cast<int64_t>(all.size()) != channels) node.fail("{} numbers do not fit {} channels", all.size(), channels);
    return p.constant(Tensor::of_f32({channels}, all));
  };
  return {node.from_image(p.op("InstanceNormalization", {x, vector(slope, 1), vector(bias, 0)}, {{"epsilon", node.real(7, 0.001f)}}))};
}

namespace {

// Scales of 1 are written out.
constexpr int64_t kMostNormalized = int64_t{1} << 24;

/// x normalized over the dimensions `axes`; none: by groups.
Exprs layer_norm(MnnNode& node, TypedBuilder& p, const Expr& x, Ints axes) {
  // axis 0, epsilon 1, gamma 2, beta 3, group 4, external 5, useRMSNorm 6
  const int64_t rank = p.rank(x), group = node.integer(4, 1);
  for (int64_t& axis : axes) axis = node.from_front(axis, rank);
  std::sort(axes.begin(), axes.end());
  const std::vector<float> gamma = node.file.reals(node.parameter(), 2, 5, 1, node.info, node.place);
  const std::vector<float> beta = node.file.reals(node.parameter(), 3, 5, 2, node.info, node.place);
  const float epsilon = node.real(1);
  const bool root = node.flag(6);
  const int64_t count = static_cast<int64_t>(axes.size());
  // Leading dimensions move behind the others.
  bool last = count > 0;
  for (int64_t i = 0; i < count; ++i) last = last && axes[static_cast<size_t>(i)] == rank - count + i;
  if (count > 0 && !last) {
    const auto mean = [&](const Expr& of) { return p.op("ReduceMean", {of, p.constant(axes)}); };
    const Expr centered = root ? x : p.op("Sub", {x, mean(x)});
    Expr y = p.op(
        "Div", {centered, p.op("Sqrt", {p.op("Add", {mean(p.op("Mul", {centered, centered})), p.scalar(static_cast<double>(epsilon))})})});
    if (!gamma.empty()) node.refuse("scales along dimensions that are not the last are not supported");
    return {y};
  }
  Ints tail;
  if (count == 0) {
    // By groups: all behind the batch and the groups is one.
    const auto shape = p.shape(x);
    if (!shape) node.refuse("a tensor of unknown shape is not supported");
    if (rank < 2 || group < 1) node.fail("{} groups do not fit a tensor of shape {}", group, *shape);
    const Expr parts = p.reshape(x, Ints{(*shape)[0], group, -1});
    const int64_t size = p.dim(parts, 2);
    if (size > kMostNormalized) node.refuse("normalizing {} elements together is not supported", size);
    Expr y = p.op("LayerNormalization",
                  {parts, p.constant(Tensor::of_f32({size}, std::vector<float>(static_cast<size_t>(std::max<int64_t>(size, 0)), 1)))},
                  {{"axis", int64_t{2}}, {"epsilon", epsilon}});
    y = p.reshape(y, *shape);
    if (!gamma.empty()) {
      Shape column{static_cast<int64_t>(gamma.size())};
      for (int64_t i = 2; i < rank; ++i) column.push_back(1);
      y = p.op("Mul", {y, p.constant(Tensor::of_f32(column, gamma))});
      if (beta.size() == gamma.size()) y = p.op("Add", {y, p.constant(Tensor::of_f32(column, beta))});
    }
    return {y};
  }
  for (int64_t axis : axes) tail.push_back(p.dim(x, axis));
  int64_t elements = 1;
  for (int64_t size : tail)
    elements = size < 0 || elements < 0 ? -1 : size > kMostNormalized ? size : std::min(elements, kMostNormalized + 1) * size;
  if (elements < 0 && count == 1 && !gamma.empty()) tail = {static_cast<int64_t>(gamma.size())}, elements = tail[0];
  if (elements < 0) node.refuse("dimensions of unknown size are not supported");
  if (elements > kMostNormalized) node.refuse("normalizing {} elements together is not supported", elements);
  const Charge table(static_cast<size_t>(elements) * sizeof(float));
  std::vector<float> scale = gamma.empty() ? std::vector<float>(static_cast<size_t>(elements), 1) : gamma;
  if (static_cast<int64_t>(scale.size()) != elements) node.fail("{} scales do not fit dimensions of {}", scale.size(), tail);
  Exprs inputs = {x, p.constant(Tensor::of_f32(Shape(tail), scale))};
  Expr bias;
  if (std::any_of(beta.begin(), beta.end(), [](float v) { return v != 0; })) {
    if (beta.size() != scale.size()) node.fail("{} biases do not fit dimensions of {}", beta.size(), tail);
    bias = p.constant(Tensor::of_f32(Shape(tail), beta));
  }
  if (root) {
    const Expr y = p.op("RMSNormalization", inputs, {{"axis", rank - count}, {"epsilon", epsilon}});
    return {bias ? p.op("Add", {y, bias}) : y};
  }
  if (bias) inputs.push_back(bias);
  return {p.op("LayerNormalization", inputs, {{"axis", rank - count}, {"epsilon", epsilon}})};
}

/// x normalized over the axes of the node's table; rows that are kept as images of one pixel over their channels, whatever the axes.
Expr normalized(MnnNode& node, TypedBuilder& p, const Expr& x) {
  return p.rank(x) == 4 && node.info.default_layout == Layout::packed
             ? p.unsqueeze(layer_norm(node, p, p.squeeze(x, {2, 3}), {1})[0], {2, 3})
             : layer_norm(node, p, x, node.list(0))[0];
}

/// `up` times silu(gate).
Expr gated(TypedBuilder& p, const Expr& up, const Expr& gate) { return p.op("Mul", {up, p.op("Mul", {gate, p.op("Sigmoid", {gate})})}); }

}  // namespace

Exprs import_layer_norm(MnnNode& node, TypedBuilder& p) {
  node.rank(0);
  const bool adds = node.input_count() == 2 && node.output_count() == 2;
  if (!adds && (node.input_count() > 1 || node.output_count() > 1))
    node.refuse("{} inputs and {} outputs are not supported", node.input_count(), node.output_count());
  const Expr x = adds ? p.op("Add", {node.input(0), node.input(1)}) : node.input(0);
  const Expr y = normalized(node, p, x);
  return adds ? Exprs{x, y} : Exprs{y};
}

Exprs import_gated_norm(MnnNode& node, TypedBuilder& p) {
  // A head in each row [rows * heads, width, ...], gates [rows, heads * width, ...] -> as the gates.
  node.rank(0);
  const Expr gate = node.input(1);
  if (!node.output_layouts.empty()) node.output_layouts[0] = node.layout(1);
  return {gated(p, p.reshape(normalized(node, p, node.input(0)), p.op("Shape", {gate})), gate)};
}

Exprs import_fused_linear(MnnNode& node, TypedBuilder& p) {
  // convs 0, act_silu_mul 1, has_ln 2, ln 3. Several convolutions of one input; with ln the input is the norm of the sum of both inputs.
  // The outputs are the results of all, or one, gated by the first; with ln they are followed by the sum.
  const FlatTables convs = node.parameter().tables(0);
  const bool gates = node.flag(1), adds = node.flag(2);
  if (gates ? convs.size() != 2 : convs.size() == 0) node.fail("{} convolutions are not valid", convs.size());
  const size_t outputs = (gates ? 1 : convs.size()) + (adds ? 1 : 0);
  if (node.output_count() != outputs) node.fail("{} outputs should be {}", node.output_count(), outputs);
  Expr x = node.input(0), sum;
  OpInfo info = node.info;
  MnnNode member(p, node.host, node.file, node.graph, info);
  member.place = node.place;
  member.rule = find_rule(12, kConvolution2D);
  member.layouts = {node.layout(0)};
  if (adds) {
    sum = p.op("Add", {x, node.input(1)});
    info.parameter = node.parameter().table(3);
    if (!info.parameter) node.fail("its normalization is missing");
    x = normalized(member, p, sum);
  }
  member.raw = {x};
  Exprs results;
  for (size_t i = 0; i < convs.size(); ++i) {
    info.parameter = convs[i];
    results.push_back(import_convolution(member, p)[0]);
  }
  if (gates) results = {gated(p, results[1], results[0])};
  if (adds) results.push_back(sum);
  return results;
}

Exprs import_group_norm(MnnNode& node, TypedBuilder& p) {
  // axis 0, epsilon 1, gamma 2, beta 3, group 4, bSwish 5, external 6; perhaps inputs that are added first.
  Expr x = node.image();
  for (size_t i = 1; i < node.input_count(); ++i) {
    const Expr more = node.input(i);
    x = p.op("Add", {x, p.rank(more) == 2 ? p.unsqueeze(more, {2, 3}) : more});
  }
  const int64_t channels = p.dim(x, 1);
  if (channels < 1) node.refuse("an image of unknown channels is not supported");
  std::vector<float> gamma = node.file.reals(node.parameter(), 2, 6, 1, node.info, node.place);
  std::vector<float> beta = node.file.reals(node.parameter(), 3, 6, 2, node.info, node.place);
  const Charge table(product_of({static_cast<size_t>(channels), 2 * sizeof(float)}));
  if (gamma.empty()) gamma.assign(static_cast<size_t>(channels), 1);
  if (beta.empty()) beta.assign(static_cast<size_t>(channels), 0);
  if (static_cast<int64_t>(gamma.size()) != channels || gamma.size() != beta.size())
    node.fail("{} scales and {} biases do not fit {} channels", gamma.size(), beta.size(), channels);
  const Expr y =
      p.op("GroupNormalization", {x, p.constant(Tensor::of_f32({channels}, gamma)), p.constant(Tensor::of_f32({channels}, beta))},
           {{"num_groups", node.integer(4, 1)}, {"epsilon", node.real(1)}});
  return {node.from_image(node.integer(5) == 1 ? p.op("Mul", {y, p.op("Sigmoid", {y})}) : y)};
}

Exprs import_lrn(MnnNode& node, TypedBuilder& p) {
  // regionType 0, localSize 1, alpha 2, beta 3, bias 4
  const int64_t region = node.integer(0), size = at_least(node, "localSize", node.integer(1), 1);
  const float alpha = node.real(2), beta = node.real(3), bias = node.real(4, 1);
  const Expr x = node.image();
  if (region == 0) return {node.from_image(p.op("LRN", {x}, {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}}))};
  // Within a channel: the mean of squares over a window, where padding counts.
  const int64_t pad = size / 2;
  const Expr squares = p.op(
      "AveragePool", {p.op("Mul", {x, x})},
      {{"kernel_shape", Ints{size, size}}, {"strides", Ints{1, 1}}, {"pads", Ints{pad, pad, pad, pad}}, {"count_include_pad", int64_t{1}}});
  const Expr base = p.op("Add", {p.op("Mul", {squares, p.scalar(static_cast<double>(alpha))}), p.scalar(static_cast<double>(bias))});
  return {node.from_image(p.op("Div", {x, p.op("Pow", {base, p.scalar(static_cast<double>(beta))})}))};
}

Exprs import_normalize(MnnNode& node, TypedBuilder& p) {
  // acrossSpatial 0, channelShared 1, eps 2, scale 3: the length of each place's channels becomes 1, then scales.
  const Expr x = node.image();
  const std::vector<float> scale = node.reals(3);
  const int64_t rank = p.rank(x);
  if (rank < 2) node.refuse("a tensor of {} dimensions is not supported", rank);
  Ints axes = {1};
  if (node.integer(0) != 0)
    for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  const Expr squares = p.op("ReduceSumSquare", {x, p.constant(axes)});
  Expr y = p.op("Div", {x, p.op("Sqrt", {p.op("Add", {squares, p.scalar(static_cast<double>(node.real(2)))})})});
  if (!scale.empty()) {
    Shape column{static_cast<int64_t>(scale.size())};
    for (int64_t i = 2; i < rank; ++i) column.push_back(1);
    y = p.op("Mul", {y, p.constant(Tensor::of_f32(column, scale))});
  }
  return {node.from_image(y)};
}

// Resizing.

Exprs import_interp(MnnNode& node, TypedBuilder& p) {
  // widthScale 0, heightScale 1, outputWidth 2, outputHeight 3, resizeType 4, alignCorners 5, halfPixelCenters 6, widthOffset 7,
  // heightOffset 8, cubicCoeffA 9, ctm 10, depthScale 11, outputDepth 12, depthOffset 13
  const int64_t type = node.integer(4);
  Attributes attributes;
  static constexpr std::string_view kModes[] = {"", "nearest", "linear", "cubic", "nearest"};
  if (type < 1 || type > 4) node.refuse("type {} is not supported", type);
  attributes.set("mode", std::string(kModes[type]));
  if (type == 3) attributes.set("cubic_coeff_a", node.real(9, -0.75f));
  int64_t coordinates = node.integer<int8_t>(10);
  if (coordinates == 0) coordinates = node.flag(6) && type != 1 ? 2 : node.flag(5) ? 1 : 4;
  static constexpr std::string_view kCoordinates[] = {"", "align_corners", "half_pixel", "pytorch_half_pixel", "asymmetric", "half_pixel"};
  if (coordinates < 1 || coordinates > 5) node.refuse("coordinates of kind {} are not supported", coordinates);
  attributes.set("coordinate_transformation_mode", std::string(kCoordinates[coordinates]));
  if (coordinates == 5 && type != 1 && type != 4) node.refuse("coordinates of kind 5 are not supported but for nearest");
  if (type == 1) attributes.set("nearest_mode", std::string(coordinates == 5 ? "round_prefer_ceil" : "floor"));
  if (type == 4) attributes.set("nearest_mode", std::string("round_prefer_floor"));
  const int64_t rank = node.rank(0);
  if (rank < 3) node.refuse("a tensor of {} dimensions is not supported", rank);
  if (node.input_count() > 1) {
    const Expr given = p.vector(node.input(1));
    const bool sizes = !is_float(p.dtype(given));
    const int64_t count = p.dim(given, 0);
    if (count == rank && count != 2) {  // of every dimension, in the tensor's own layout
      Exprs inputs = {node.input(0), Expr(), sizes ? Expr() : given};
      if (sizes) inputs.push_back(p.i64(given));
      return {p.op("Resize", inputs, std::move(attributes))};
    }
    if (count != 2) node.refuse("{} sizes for an image of {} dimensions are not supported", count, rank);
    attributes.set("axes", Ints{2, 3});
    return {node.from_image(p.op("Resize", {node.image(), Expr(), Expr(), p.i64(given)}, std::move(attributes)))};
  }
  const Expr x = node.image();
  Ints sizes = {node.integer(3), node.integer(2)};
  std::vector<double> scales = {static_cast<double>(node.real(1)), static_cast<double>(node.real(0))};
  Ints axes = {2, 3};
  if (rank == 5) {
    sizes.insert(sizes.begin(), node.integer(12));
    scales.insert(scales.begin(), static_cast<double>(node.real(11)));
    axes.push_back(4);
  }
  if (rank == 3) sizes = {sizes[0]}, scales = {scales[0]}, axes = {2};
  attributes.set("axes", axes);
  if (std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 0; }))
    return {node.from_image(p.op("Resize", {x, Expr(), Expr(), p.constant(sizes)}, std::move(attributes)))};
  if (std::any_of(scales.begin(), scales.end(), [](double scale) { return !(scale > 0) || scale > 1e6; }))
    node.fail("has neither sizes nor scales");
  return {node.from_image(p.op("Resize", {x, Expr(), p.reals({static_cast<int64_t>(scales.size())}, scales)}, std::move(attributes)))};
}

Exprs import_resize(MnnNode& node, TypedBuilder& p) {
  const std::vector<double> scales = {static_cast<double>(node.real(1)), static_cast<double>(node.real(0))};
  if (!(scales[0] > 0) || !(scales[1] > 0)) node.fail("has scales of {} and {}", scales[0], scales[1]);
  return {node.from_image(
      p.op("Resize", {node.image(), Expr(), p.reals({2}, scales)},
           {{"axes", Ints{2, 3}}, {"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("asymmetric")}}))};
}

Exprs import_grid_sample(MnnNode& node, TypedBuilder& p) {
  // mode 0, paddingMode 1, alignCorners 2, backward 3
  static constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};
  const int64_t mode = node.integer<int8_t>(0), padding = node.integer<int8_t>(1);
  if (node.flag(3) || mode < 0 || mode > 1 || padding < 0 || padding > 2)
    node.refuse("mode {} with padding {} is not supported", mode, padding);
  return {node.from_image(p.op("GridSample", {node.image(), node.input(1)},
                               {{"mode", std::string(mode == 0 ? "linear" : "nearest")},
                                {"padding_mode", std::string(kPaddings[padding])},
                                {"align_corners", int64_t{node.flag(2)}}}))};
}

Exprs import_stft(MnnNode& node, TypedBuilder& p) {
  if (node.input_count() == 3) {  // ONNX's: signal, step, window
    const Expr window = p.vector(node.input(2));
    return {p.op("STFT", {node.input(0), p.reshape(p.i64(node.input(1)), Ints{}), window, p.reshape(p.shape_of(window), Ints{})})};
  }
  // n_fft 0, hop_length 1, abs 2: frames of a signal, windowed, as magnitudes or pairs.
  const int64_t length = at_least(node, "n_fft", node.integer(0), 1), hop = at_least(node, "hop_length", node.integer(1), 1);
  Expr x = node.input(0);
  const auto shape = p.shape(x);
  if (!shape) node.refuse("a signal of unknown length is not supported");
  x = p.reshape(x, Ints{1, -1, 1});
  const Expr window = node.has(1) ? p.vector(node.input(1)) : Expr();
  const Expr y =
      p.op("STFT", {x, p.scalar(static_cast<double>(hop), DType::i64), window, p.scalar(static_cast<double>(length), DType::i64)},
           {{"onesided", int64_t{1}}});
  if (node.flag(2, true)) {
    const Expr squares = p.op("ReduceSumSquare", {y, p.constant({-1})}, {{"keepdims", int64_t{0}}});
    return {p.squeeze(p.op("Sqrt", {squares}), {0})};
  }
  return {p.squeeze(y, {0})};
}

}  // namespace minnow::mnn

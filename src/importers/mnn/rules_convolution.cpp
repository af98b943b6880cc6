// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and other operators with windows or with the weights of one. Weights of convolutions are [O, I / groups, kernel...]
// in every layout.
#include <algorithm>
#include <cmath>

#include "importers/builder/arithmetic.h"
#include "importers/builder/images.h"
#include "importers/mnn/rules.h"
#include "importers/mnn/weights.h"

namespace minnow::mnn {
namespace {

constexpr size_t kNo = size_t(-1);  // a field that there is not

/// The table Convolution2DCommon, which lists columns before rows.
struct Window {
  explicit Window(const FlatTable& common) : table(common) {}
  const FlatTable& table;
  int64_t at(size_t field, int64_t fallback) const { return table.number<int32_t>(field, static_cast<int32_t>(fallback)); }
  int64_t kernel_h() const { return at(3, 1); }
  int64_t kernel_w() const { return at(2, 1); }
  int64_t groups() const { return at(9, 1); }
  int64_t outputs() const { return at(10, 0); }
  int64_t inputs() const { return at(11, 0); }
};

SlidingWindow sliding_window(const MnnNode& node, const Window& window) {
  SlidingWindow sliding;
  const auto positive = [&](size_t field) { return std::max<int64_t>(at_least(node, "a stride or dilation", window.at(field, 1), 0), 1); };
  sliding.strides = {positive(5), positive(4)};
  sliding.dilations = {positive(7), positive(6)};
  const int64_t mode = window.table.number<int8_t>(8, 0);
  sliding.same = mode == 2;
  if (mode == 0) {
    const Ints pads = window.table.numbers<int32_t>(14).copy<int64_t>();  // top, left, bottom, right
    sliding.pads =
        pads.size() >= 4 ? Ints(pads.begin(), pads.begin() + 4) : Ints{window.at(1, 0), window.at(0, 0), window.at(1, 0), window.at(0, 0)};
    for (int64_t pad : sliding.pads) at_least(node, "padding", pad, -1'000'000);
  }
  return sliding;
}

Expr activated(TypedBuilder& p, const Window& window, const Expr& y) {
  if (window.table.flag(13, false)) return clip(p, y, 0, 6);
  if (window.table.flag(12, false)) return p.op("Relu", {y});
  return y;
}

/// Weights that the node's own table holds, as real numbers of `shape`.
Expr own_weights(MnnNode& node, TypedBuilder& p, const FlatTable& conv, size_t weight_field, size_t packed_field, size_t external_field,
                 const std::function<Shape(int64_t elements)>& shape_of) {
  const FlatTable packed = packed_field == kNo ? FlatTable() : conv.table(packed_field);
  if (!packed) {
    SharedBytes bytes = node.file.in_file(conv.numbers<float>(weight_field).bytes());
    if (bytes.empty() && external_field != kNo) bytes = node.file.piece(conv, external_field, 1, node.info, node.place);
    const Shape shape = shape_of(static_cast<int64_t>(bytes.size() / 4));
    if (static_cast<uint64_t>(shape.elements()) * 4 != bytes.size())
      node.fail("weights of shape {} should be {} numbers, there are {}", shape, shape.elements(), bytes.size() / 4);
    return p.constant(node.file.share(DType::f32, shape, bytes));
  }
  const PackedWeights weights = read_packed_weights(node.file, packed, conv, external_field, node.info, node.place);
  const Shape shape = shape_of(weights.values.elements());
  if (shape.elements() != weights.values.elements())
    node.fail("weights of shape {} should be {} numbers, there are {}", shape, shape.elements(), weights.values.elements());
  if (!weights.rows()) return p.cast(p.constant(weights.values.reshaped(shape)), DType::f32);
  const int64_t rows = weights.rows();
  if (weights.values.elements() % rows != 0) node.fail("{} scales do not fit weights of shape {}", rows, shape);
  // Rows are outputs, or blocks of them; of deconvolutions, whose outputs do not come first, so many equal parts.
  const bool blocks = rows != shape[0];
  const Shape stored = blocks ? Shape{rows, weights.values.elements() / rows} : shape;
  Floats zero_points;
  for (size_t i = 0; i < weights.offset.size(); ++i)
    zero_points.push_back(weights.scale[i] != 0 ? -weights.offset[i] / weights.scale[i] : 0);
  const bool whole = std::all_of(zero_points.begin(), zero_points.end(),
                                 [](float z) { return std::abs(z - std::round(z)) < 1e-4f && std::abs(z) <= 127; }) &&
                     std::none_of(weights.scale.begin(), weights.scale.end(), [](float s) { return s == 0; });
  const Expr values = p.constant(weights.values.reshaped(stored)), scales = p.constant(Tensor::of_f32({rows}, weights.scale));
  Exprs inputs = {values, scales};
  const bool shifted = std::any_of(zero_points.begin(), zero_points.end(), [](float z) { return z != 0; });
  if (shifted && whole && weights.values.dtype() == DType::i8) {
    Tensor zeros(DType::i8, {rows});
    for (size_t i = 0; i < zero_points.size(); ++i) zeros.writable().data<int8_t>()[i] = static_cast<int8_t>(std::lround(zero_points[i]));
    inputs.push_back(p.constant(std::move(zeros)));
  }
  Expr real = p.op("DequantizeLinear", inputs, {{"axis", int64_t{0}}});
  if (!weights.offset.empty() && inputs.size() == 2) {  // ranges that begin anywhere
    Shape column{rows};
    for (size_t i = 1; i < stored.rank(); ++i) column.push_back(1);
    real = p.op("Add", {real, p.constant(Tensor::of_f32(column, weights.offset))});
  }
  return blocks ? p.reshape(real, Ints(shape.begin(), shape.end())) : real;
}

/// A bias from input 2, or of the table; empty if it is absent or zero.
Expr bias_of(MnnNode& node, TypedBuilder& p, const FlatTable& conv, size_t field, size_t external_field, size_t piece, int64_t outputs) {
  if (node.has(2)) return p.vector(node.input(2));
  if (node.input_count() > 1) return {};
  const std::vector<float> bias = external_field == kNo ? conv.numbers<float>(field).copy<float>()
                                                        : node.file.reals(conv, field, external_field, piece, node.info, node.place);
  if (bias.empty() || std::all_of(bias.begin(), bias.end(), [](float v) { return v == 0; })) return {};
  if (static_cast<int64_t>(bias.size()) != outputs) node.fail("{} biases do not fit {} outputs", bias.size(), outputs);
  return p.constant(Tensor::of_f32({outputs}, bias));
}

/// Images of MNN may lack trailing dimensions of 1, which operators of two dimensions get here and lose after.
struct Image {
  Expr x;
  int64_t missing = 0;
};

Image as_image(MnnNode& node, TypedBuilder& p, int64_t rank) {
  const Expr x = node.image();
  const int64_t have = p.rank(x);
  if (have < 0 || have == rank) return {x};  // checked by the operator's own rule
  if (have > rank || have < 2) node.refuse("a tensor of {} dimensions is not supported", have);
  Ints axes;
  for (int64_t i = have; i < rank; ++i) axes.push_back(i);
  return {p.unsqueeze(x, axes), rank - have};
}

Expr back(MnnNode& node, TypedBuilder& p, const Image& image, const Expr& y, int64_t rank) {
  Ints axes;
  for (int64_t i = rank - image.missing; i < rank; ++i) axes.push_back(i);
  return node.from_image(p.squeeze(y, axes));
}

}  // namespace

Expr convolution(MnnNode& node, TypedBuilder& p, const Expr& weights, const Expr& bias, const FlatTable& common, bool activates) {
  const Window window(common);
  const auto finished = [&](const Expr& y) { return activates ? activated(p, window, y) : y; };
  const Expr x = node.image();
  if (is_integer(p.dtype(x))) node.refuse("a convolution of {} whose scale the file does not tell is not supported", p.dtype(x));
  if (p.rank(weights) == 2) {  // of one place: a product
    const int64_t rank = p.rank(x);
    const Expr rows = rank == 2 ? x : p.reshape(x, Ints{-1, p.dim(weights, 1)});
    const Expr y = finished(p.op("Gemm", {rows, weights, bias}, {{"transB", int64_t{1}}}));
    Ints shape = {-1, p.dim(weights, 0)};
    shape.resize(static_cast<size_t>(rank), 1);
    return node.from_image(rank == 2 ? y : p.reshape(y, shape));
  }
  const int64_t per_group = p.dim(weights, 1), kernel_h = p.dim(weights, 2), kernel_w = p.dim(weights, 3);
  SlidingWindow sliding = sliding_window(node, window);
  const Image image = as_image(node, p, 4);
  const int64_t channels = p.dim(image.x, 1);
  int64_t groups = window.groups();
  if (channels > 0 && per_group > 0) {
    if (channels % per_group != 0) node.fail("weights for {} channels do not fit {}", per_group, channels);
    groups = channels / per_group;
  }
  if (kernel_h > 0 && kernel_w > 0) sliding.kernel = {kernel_h, kernel_w};
  Attributes attributes = window_attributes(p, image.x, sliding);
  if (groups > 1) attributes.set("group", groups);
  return back(node, p, image, finished(p.op("Conv", {image.x, weights, bias}, std::move(attributes))), 4);
}

namespace {

/// True for matrix products as MNN's converter writes them: convolutions with a kernel of 1x1 over images of 1x1.
bool is_of_one_place(const MnnNode& node, TypedBuilder& p, const Window& window) {
  const Expr x = node.image();
  const int64_t rank = p.rank(x);
  if (rank < 2 || rank > 4 || window.kernel_h() != 1 || window.kernel_w() != 1) return false;
  const SlidingWindow sliding = sliding_window(node, window);
  if (std::any_of(sliding.pads.begin(), sliding.pads.end(), [](int64_t pad) { return pad != 0; })) return false;
  for (int64_t i = 2; i < rank; ++i)
    if (p.dim(x, i) != 1) return false;
  return true;
}

}  // namespace

Exprs import_convolution(MnnNode& node, TypedBuilder& p) {
  // Convolution2D: common 0, weight 1, bias 2, packed weights 3, integers 4, sparse 5, external 6.
  const FlatTable common = node.parameter().table(0);
  const Window window(common);
  if (node.parameter().table(4)) return import_convolution_int8(node, p);
  const int64_t kernel_h = at_least(node, "kernelY", window.kernel_h(), 1), kernel_w = at_least(node, "kernelX", window.kernel_w(), 1);
  Expr weights;
  int64_t outputs = window.outputs();
  if (node.input_count() > 1) {
    weights = node.input(1);
    if (p.rank(weights) >= 0 && p.rank(weights) != 4) node.fail("weights of {} dimensions should have 4", p.rank(weights));
    if (node.rule->target == "depthwise" && p.dim(weights, 1) > 1 && p.dim(weights, 0) == 1) weights = p.transpose(weights, {1, 0, 2, 3});
    outputs = p.dim(weights, 0);
  } else {
    at_least(node, "outputCount", outputs, 1);
    const bool one_place = is_of_one_place(node, p, window);
    weights = own_weights(node, p, node.parameter(), 1, 3, 6, [&](int64_t elements) {
      const int64_t area = outputs * kernel_h * kernel_w;
      if (elements % area != 0) node.fail("{} weights do not fit {} outputs of {} by {}", elements, outputs, kernel_h, kernel_w);
      if (one_place && p.dim(node.image(), 1) == elements / area) return Shape{outputs, elements / area};
      return Shape{outputs, elements / area, kernel_h, kernel_w};
    });
  }
  const bool packed = static_cast<bool>(node.parameter().table(3));
  return {convolution(node, p, weights, bias_of(node, p, node.parameter(), 2, 6, packed ? 3 : 2, outputs), common, true)};
}

Exprs import_deconvolution(MnnNode& node, TypedBuilder& p) {
  const FlatTable common = node.parameter().table(0);
  const Window window(common);
  const int64_t kernel_h = at_least(node, "kernelY", window.kernel_h(), 1), kernel_w = at_least(node, "kernelX", window.kernel_w(), 1);
  const bool shaped = common.flag(16, false);  // the last input is the output's shape
  const size_t tensors = node.input_count() - (shaped && node.input_count() > 1 ? 1 : 0);
  const Image image = as_image(node, p, 4);
  const int64_t channels = p.dim(image.x, 1);
  const bool depthwise = node.rule->target == "depthwise";
  int64_t groups = std::max<int64_t>(window.groups(), 1), outputs = window.outputs();
  Expr weights;
  if (tensors > 1) {
    weights = node.input(1);
    if (outputs == 0) outputs = p.dim(weights, 1) * groups;
    if (depthwise) groups = channels > 0 ? channels : p.dim(weights, 0);
  } else {
    at_least(node, "outputCount", outputs, 1);
    if (depthwise) groups = outputs;
    weights = own_weights(node, p, node.parameter(), 1, 3, 6, [&](int64_t elements) {
      const int64_t area = outputs / groups * kernel_h * kernel_w;
      if (area < 1 || elements % area != 0)
        node.fail("{} weights do not fit {} outputs of {} by {}", elements, outputs, kernel_h, kernel_w);
      return Shape{elements / area, outputs / groups, kernel_h, kernel_w};
    });
  }
  const Expr bias = tensors > 1 ? (tensors > 2 ? p.vector(node.input(2)) : Expr())
                                : bias_of(node, p, node.parameter(), 2, 6, node.parameter().table(3) ? 3 : 2, outputs);
  const SlidingWindow sliding = sliding_window(node, window);
  Attributes attributes{{"strides", sliding.strides}, {"dilations", sliding.dilations}};
  if (groups > 1) attributes.set("group", groups);
  Ints size;
  if (shaped) {
    const Ints given = node.ints(node.input_count() - 1);
    if (given.size() < 3) node.fail("its output shape has {} entries", given.size());
    size = {given[1], given[2]};
  } else if (sliding.same) {
    const int64_t height = p.dim(image.x, 2), width = p.dim(image.x, 3);
    if (height > 0 && width > 0) size = {height * sliding.strides[0], width * sliding.strides[1]};
  }
  if (!size.empty() || sliding.same) {
    // Cut the surplus on both sides for "same" and explicit padding, otherwise at the end.
    Ints pads(4), more(2);
    bool known = !size.empty();
    for (size_t i = 0; known && i < 2; ++i) {
      const int64_t in = p.dim(image.x, static_cast<int64_t>(i) + 2), kernel = i ? kernel_w : kernel_h;
      known = in > 0;
      if (!known && shaped) node.refuse("an output shape for an image of unknown size is not supported");
      if (!known) break;
      const int64_t surplus = (in - 1) * sliding.strides[i] + (kernel - 1) * sliding.dilations[i] + 1 - size[i];
      pads[i] = sliding.same ? std::max<int64_t>(surplus, 0) / 2 : sliding.pads.empty() ? 0 : sliding.pads[i];
      pads[2 + i] = std::max<int64_t>(surplus - pads[i], 0);
      more[i] = std::max<int64_t>(pads[i] - surplus, 0);
    }
    if (known) {
      attributes.set("pads", pads);
      if (more[0] || more[1]) attributes.set("output_padding", more);
    } else {
      attributes.set("auto_pad", std::string("SAME_UPPER"));
    }
  } else {
    if (!sliding.pads.empty()) attributes.set("pads", sliding.pads);
    const Ints more = common.numbers<int32_t>(15).copy<int64_t>();
    if (more.size() >= 2 && (more[0] || more[1])) attributes.set("output_padding", Ints{more[0], more[1]});
  }
  return {back(node, p, image, activated(p, window, p.op("ConvTranspose", {image.x, weights, bias}, std::move(attributes))), 4)};
}

namespace {

/// Strides 1, dilations 0, kernels 2, pads 3 of Convolution3DCommon; depth, height, width.
SlidingWindow window_3d(const MnnNode& node, const FlatTable& common) {
  SlidingWindow window;
  const auto read = [&](size_t field, int64_t fallback, std::string_view what) {
    Ints list = common.numbers<int32_t>(field).copy<int64_t>();
    if (list.empty()) list.assign(3, fallback);
    if (list.size() < 3) node.fail("has {} {}", list.size(), what);
    for (int64_t value : list) at_least(node, what, value, fallback);
    return list;
  };
  window.dilations = read(0, 1, "dilations");
  window.strides = read(1, 1, "strides");
  window.kernel = read(2, 1, "kernels");
  window.dilations.resize(3), window.strides.resize(3), window.kernel.resize(3);
  const int64_t mode = common.number<int8_t>(4, 0);
  window.same = mode == 2;
  if (mode == 0) {
    Ints pads = read(3, 0, "pads");
    if (pads.size() == 3) pads.insert(pads.end(), pads.begin(), pads.begin() + 3);
    if (pads.size() != 6) node.fail("has {} pads", pads.size());
    window.pads = pads;
  }
  return window;
}

Expr activated_3d(TypedBuilder& p, const FlatTable& common, const Expr& y) {
  if (common.flag(8, false)) return clip(p, y, 0, 6);
  return common.flag(7, false) ? p.op("Relu", {y}) : y;
}

}  // namespace

Exprs import_convolution_3d(MnnNode& node, TypedBuilder& p) {
  // Convolution3D: common 0, weight 1, bias 2, external 3. Common: inputCount 5, outputCount 6, relu 7, relu6 8, group 9.
  const FlatTable common = node.parameter().table(0);
  const SlidingWindow window = window_3d(node, common);
  int64_t outputs = common.number<int32_t>(6, 0);
  Expr weights;
  if (node.input_count() > 1) {
    weights = node.input(1);
    outputs = p.dim(weights, 0);
  } else {
    at_least(node, "outputCount", outputs, 1);
    weights = own_weights(node, p, node.parameter(), 1, kNo, 3, [&](int64_t elements) {
      const int64_t area = Shape{outputs, window.kernel[0], window.kernel[1], window.kernel[2]}.elements();
      if (elements % area != 0) node.fail("{} weights do not fit {} outputs", elements, outputs);
      return Shape{outputs, elements / area, window.kernel[0], window.kernel[1], window.kernel[2]};
    });
  }
  const Image image = as_image(node, p, 5);
  const int64_t channels = p.dim(image.x, 1), per_group = p.dim(weights, 1);
  int64_t groups = std::max<int64_t>(common.number<int32_t>(9, 1), 1);
  if (channels > 0 && per_group > 0 && channels % per_group == 0) groups = channels / per_group;
  Attributes attributes = window_attributes(p, image.x, window);
  if (groups > 1) attributes.set("group", groups);
  const Expr bias = bias_of(node, p, node.parameter(), 2, 3, 2, outputs);
  return {back(node, p, image, activated_3d(p, common, p.op("Conv", {image.x, weights, bias}, std::move(attributes))), 5)};
}

Exprs import_filter_gradient(MnnNode& node, TypedBuilder& p) {
  // Conv2DBackPropFilter: the gradient of the filter. Image [n, c, h, w] and gradient of the result [n, k, y, x] -> [k, c, kernel] (one
  // filter per channel: [c, 1, kernel]). It sums over images and places, which is a convolution: the image, with images as channels, is
  // convolved with the gradient as its filter, and strides and dilations change places.
  const FlatTable common = node.parameter().table(0);
  const Window window(common);
  SlidingWindow sliding = sliding_window(node, window);
  sliding.kernel = {at_least(node, "kernelY", window.kernel_h(), 1), at_least(node, "kernelX", window.kernel_w(), 1)};
  const Expr image = node.image(), gradient = node.input(1);
  const auto in = p.shape(image), out = p.shape(gradient);
  if (!in || !out) node.refuse("tensors of unknown shape are not supported");
  if (in->size() != 4 || out->size() != 4 || (*in)[0] != (*out)[0]) node.fail("tensors of shape {} and {} do not fit", *in, *out);
  const int64_t channels = (*in)[1];
  const bool lanes = window.groups() > 1 && channels == window.groups() && (*out)[1] == channels;
  if (window.groups() > 1 && !lanes) node.refuse("{} groups are not supported", window.groups());
  Ints before(2), behind(2);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t stride = sliding.strides[i], size = (*in)[2 + i], places = (*out)[2 + i];
    const int64_t reach = (sliding.kernel[i] - 1) * (sliding.dilations.empty() ? 1 : sliding.dilations[i]) + (places - 1) * stride + 1;
    if (sliding.same)
      before[i] = std::max<int64_t>(reach - size, 0) / 2;
    else if (!sliding.pads.empty())
      before[i] = sliding.pads[i];
    behind[i] = std::max<int64_t>(reach - size - before[i], 0);
  }
  Attributes attributes{{"dilations", sliding.strides}, {"pads", Ints{before[0], before[1], behind[0], behind[1]}}};
  if (!sliding.dilations.empty()) attributes.set("strides", sliding.dilations);
  Expr x = p.transpose(image, {1, 0, 2, 3});
  const Expr filter = p.transpose(gradient, {1, 0, 2, 3});
  if (lanes) {
    attributes.set("group", channels);
    x = p.reshape(x, Ints{1, channels * (*in)[0], (*in)[2], (*in)[3]});
  }
  const Expr sums = p.op("Conv", {x, filter}, std::move(attributes));
  node.output_layouts.assign(node.output_layouts.size(), Layout::channels_first);
  return {p.transpose(p.slice(sums, {0, 0}, {sliding.kernel[0], sliding.kernel[1]}, {2, 3}), {1, 0, 2, 3})};
}

Exprs import_deconvolution_3d(MnnNode& node, TypedBuilder& p) {
  const FlatTable common = node.parameter().table(0);
  const SlidingWindow window = window_3d(node, common);
  const int64_t groups = std::max<int64_t>(common.number<int32_t>(9, 1), 1);
  int64_t outputs = common.number<int32_t>(6, 0);
  Expr weights;
  if (node.input_count() > 1) {
    weights = node.input(1);
  } else {
    at_least(node, "outputCount", outputs, 1);
    weights = own_weights(node, p, node.parameter(), 1, kNo, 3, [&](int64_t elements) {
      const int64_t area = Shape{outputs / groups, window.kernel[0], window.kernel[1], window.kernel[2]}.elements();
      if (area < 1 || elements % area != 0) node.fail("{} weights do not fit {} outputs", elements, outputs);
      return Shape{elements / area, outputs / groups, window.kernel[0], window.kernel[1], window.kernel[2]};
    });
  }
  if (window.same || common.flag(11, false)) node.refuse("an output shape that is given is not supported");
  Attributes attributes{{"strides", window.strides}, {"dilations", window.dilations}};
  if (!window.pads.empty()) attributes.set("pads", window.pads);
  if (groups > 1) attributes.set("group", groups);
  const Ints more = common.numbers<int32_t>(10).copy<int64_t>();
  if (more.size() == 3) attributes.set("output_padding", more);
  const Image image = as_image(node, p, 5);
  const Expr bias = bias_of(node, p, node.parameter(), 2, 3, 2, outputs);
  return {back(node, p, image, activated_3d(p, common, p.op("ConvTranspose", {image.x, weights, bias}, std::move(attributes))), 5)};
}

Exprs import_dilation_2d(MnnNode& node, TypedBuilder& p) {
  // The maximum over a window of x plus weights [C, kernel...].
  const FlatTable common = node.parameter().table(0);
  const Window window(common);
  const int64_t kernel_h = at_least(node, "kernelY", window.kernel_h(), 1), kernel_w = at_least(node, "kernelX", window.kernel_w(), 1);
  const int64_t channels = at_least(node, "outputCount", window.outputs(), 1);
  const Expr weights = own_weights(node, p, node.parameter(), 1, kNo, kNo, [&](int64_t) { return Shape{channels, kernel_h, kernel_w}; });
  SlidingWindow sliding = sliding_window(node, window);
  sliding.kernel = {kernel_h, kernel_w};
  const Expr x = node.image();
  const auto shape = p.shape(x);
  if (!shape || shape->size() != 4) node.refuse("an image of unknown shape is not supported");
  if (kernel_h * kernel_w > 1024) node.refuse("a window of {} by {} is not supported", kernel_h, kernel_w);
  Ints pads(4), count(2);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = (*shape)[i + 2], extent = (sliding.kernel[i] - 1) * sliding.dilations[i] + 1, stride = sliding.strides[i];
    if (sliding.same) {
      count[i] = (size + stride - 1) / stride;
      const int64_t total = std::max<int64_t>((count[i] - 1) * stride + extent - size, 0);
      pads[i] = total / 2;
      pads[2 + i] = total - total / 2;
    } else {
      if (!sliding.pads.empty()) pads[i] = sliding.pads[i], pads[2 + i] = sliding.pads[2 + i];
      if (size + pads[i] + pads[2 + i] < extent) node.fail("an image of {} is smaller than its window", *shape);
      count[i] = (size + pads[i] + pads[2 + i] - extent) / stride + 1;
    }
  }
  const Expr padded = p.op("Pad", {x, p.constant({0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]}), lowest(p, DType::f32)});
  Expr y;
  for (int64_t h = 0; h < kernel_h; ++h)
    for (int64_t w = 0; w < kernel_w; ++w) {
      const int64_t top = h * sliding.dilations[0], left = w * sliding.dilations[1];
      const Expr part =
          p.slice(padded, {top, left}, {top + (count[0] - 1) * sliding.strides[0] + 1, left + (count[1] - 1) * sliding.strides[1] + 1},
                  {2, 3}, sliding.strides);
      const Expr one = p.slice(weights, {h, w}, {h + 1, w + 1}, {1, 2});
      const Expr sum = p.op("Add", {part, one});
      y = y ? p.op("Max", {y, sum}) : sum;
    }
  return {node.from_image(y)};
}

// Pools.

namespace {

/// Over all spatial dimensions, however many there are; the converter writes that of images as one over three.
Expr global_pool(MnnNode& node, TypedBuilder& p, bool largest) {
  const std::string_view op = largest ? "GlobalMaxPool" : "GlobalAveragePool";
  if (p.rank(node.input(0)) > 2) return node.from_image(p.op(op, {node.image()}));
  const Image image = as_image(node, p, 4);
  return back(node, p, image, p.op(op, {image.x}), 4);
}

}  // namespace

Exprs import_pooling(MnnNode& node, TypedBuilder& p) {
  // padX 0, padY 1, isGlobal 2, kernelX 3, kernelY 4, strideX 5, strideY 6, type 7, padType 8, dataType 9, ceilModel 10, pads 11, countType
  // 12
  const int64_t type = node.integer<int8_t>(7), pad_type = node.integer<int8_t>(8), count_type = node.integer<int8_t>(12);
  if (type < 0 || type > 1) node.refuse("type {} is not supported", type);
  if (node.flag(2)) return {global_pool(node, p, type == 0)};
  const Image image = as_image(node, p, 4);
  SlidingWindow window;
  window.kernel = {at_least(node, "kernelY", node.integer(4), 1), at_least(node, "kernelX", node.integer(3), 1)};
  window.strides = {at_least(node, "strideY", std::max<int64_t>(node.integer(6), 1), 1),
                    at_least(node, "strideX", std::max<int64_t>(node.integer(5), 1), 1)};
  window.same = pad_type == 2;
  const Ints given = node.list(11);
  if (pad_type == 0) {
    if (given.size() == 4)
      window.pads = given;
    else if (given.size() == 2)
      window.pads = {given[0], 0, given[1], 0};
    else
      window.pads = {node.integer(1), node.integer(0), node.integer(1), node.integer(0)};
    for (int64_t pad : window.pads) at_least(node, "padding", pad, 0);
  }
  const bool pads_count = type == 1 && (count_type == 1 || (count_type == 0 && pad_type == 0 && given.empty()));
  const bool ceil = pad_type == 0 && node.flag(10, true);
  const int64_t height = p.dim(image.x, 2), width = p.dim(image.x, 3);
  Attributes attributes;
  if (height > 0 && width > 0) {
    // A window is no larger than the padded image. With ceil_mode the last window may lie entirely beyond it.
    Ints beyond(2);
    bool average = false;
    for (size_t i = 0; i < 2; ++i) {
      int64_t size = i ? width : height;
      if (!window.pads.empty()) size += window.pads[i] + window.pads[2 + i];
      window.kernel[i] = std::min(window.kernel[i], size);
      if (!ceil) continue;
      const int64_t windows = (size - window.kernel[i] + window.strides[i] - 1) / window.strides[i] + 1;
      beyond[i] = std::max<int64_t>((windows - 1) * window.strides[i] + window.kernel[i] - size, 0);
      average = average || (beyond[i] > 0 && pads_count);
    }
    if (average) {
      // Averages count the padding, but not elements beyond it, so pad first.
      const Expr padded =
          p.op("Pad", {image.x, p.constant({0, 0, window.pads[0], window.pads[1], 0, 0, window.pads[2], window.pads[3]}), p.scalar(0)});
      window.pads = {0, 0, beyond[0], beyond[1]};
      return {back(node, p, image, p.op("AveragePool", {padded}, window_attributes(p, padded, window)), 4)};
    }
    if (!window.pads.empty()) window.pads[2] += beyond[0], window.pads[3] += beyond[1];
    attributes = window_attributes(p, image.x, window);
  } else {
    attributes = window_attributes(p, image.x, window);
    if (ceil) attributes.set("ceil_mode", int64_t{1});
  }
  if (pads_count && !window.pads.empty()) attributes.set("count_include_pad", int64_t{1});
  if (type == 1) return {back(node, p, image, p.op("AveragePool", {image.x}, std::move(attributes)), 4)};
  if (node.output_count() < 2) return {back(node, p, image, p.op("MaxPool", {image.x}, std::move(attributes)), 4)};
  Exprs both = p.ops("MaxPool", {image.x}, 2, std::move(attributes));
  // MNN counts places within a plane, ONNX from the beginning of the tensor.
  if (height < 1 || width < 1) node.refuse("places in an image of unknown size are not supported");
  both[1] = p.cast(p.op("Mod", {both[1], p.scalar(static_cast<double>(height * width), DType::i64)}), DType::i32);
  for (Expr& y : both) y = back(node, p, image, y, 4);
  return both;
}

Exprs import_pool_gradient(MnnNode& node, TypedBuilder& p) {
  // The attributes are those of a Pooling. Inputs: its input [n, c, h, w], its result, and the result's gradient. Output: the input's
  // gradient. Each window's gradient goes to all of its largest elements; for averages it is split equally, also beyond the edge.
  const int64_t type = node.integer<int8_t>(7), pad_type = node.integer<int8_t>(8);
  if (type < 0 || type > 1) node.refuse("type {} is not supported", type);
  const auto first = [&](size_t i) { return node.layout(i) == Layout::channels_last ? channels_first(p, node.input(i)) : node.input(i); };
  const Expr x = node.image(), y = first(1), gradient = first(2);
  const auto in = p.shape(x), out = p.shape(gradient);
  if (!in || !out) node.refuse("tensors of unknown shape are not supported");
  if (in->size() != 4 || out->size() != 4 || (*in)[0] != (*out)[0] || (*in)[1] != (*out)[1] || p.shape(y) != out)
    node.fail("tensors of shape {} and {} do not fit", *in, *out);
  Ints kernel{node.integer(4), node.integer(3)}, strides{node.integer(6), node.integer(5)}, before{node.integer(1), node.integer(0)},
      behind(2);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = (*in)[2 + i], places = (*out)[2 + i];
    if (node.flag(2)) kernel[i] = strides[i] = size, before[i] = 0;
    at_least(node, "a window's size", kernel[i], 1), at_least(node, "a stride", strides[i] = std::max<int64_t>(strides[i], 1), 1);
    const int64_t reach = (places - 1) * strides[i] + kernel[i];
    if (!node.flag(2) && pad_type != 0) before[i] = pad_type == 2 ? std::max<int64_t>(reach - size, 0) / 2 : 0;
    at_least(node, "padding", before[i], 0);
    behind[i] = std::max<int64_t>(reach - size - before[i], 0);
    if (places < 1 || (size + before[i] + behind[i] - kernel[i]) / strides[i] + 1 != places)
      node.fail("a window of {} by {} does not make {} of {}", kernel[0], kernel[1], *out, *in);
  }
  const int64_t planes = (*in)[0] * (*in)[1], taps = kernel[0] * kernel[1], places = (*out)[2] * (*out)[3];
  const auto spread = [&](const Expr& of) { return p.op("Expand", {p.reshape(of, Ints{planes, 1, places}), p.constant({1, taps, 1})}); };
  Expr columns;  // [planes, elements of a window, windows]
  if (type == 1) {
    columns = spread(p.op("Div", {gradient, p.scalar(static_cast<double>(taps))}));
  } else {
    if (taps > 1024 && places > 1) node.refuse("a window of {} by {} is not supported", kernel[0], kernel[1]);
    Expr windows;
    if (places == 1 && before == Ints{0, 0} && behind == Ints{0, 0}) {
      windows = p.reshape(p.slice(x, {0, 0}, {kernel[0], kernel[1]}, {2, 3}), Ints{planes, taps, 1});
    } else {
      if (taps > 1024) node.refuse("a window of {} by {} is not supported", kernel[0], kernel[1]);
      const Expr padded = p.op("Pad", {x, p.constant({0, 0, before[0], before[1], 0, 0, behind[0], behind[1]}), lowest(p, DType::f32)});
      Exprs parts;
      for (int64_t h = 0; h < kernel[0]; ++h)
        for (int64_t w = 0; w < kernel[1]; ++w)
          parts.push_back(p.reshape(
              p.slice(padded, {h, w}, {h + ((*out)[2] - 1) * strides[0] + 1, w + ((*out)[3] - 1) * strides[1] + 1}, {2, 3}, strides),
              Ints{planes, 1, places}));
      windows = p.concat(parts, 1);
    }
    columns = p.op("Where", {p.op("GreaterOrEqual", {windows, p.reshape(y, Ints{planes, 1, places})}),
                             p.reshape(gradient, Ints{planes, 1, places}), p.scalar(0)});
  }
  const Expr sums = p.op("Col2Im", {columns, p.constant({(*in)[2], (*in)[3]}), p.constant(kernel)},
                         {{"strides", strides}, {"pads", Ints{before[0], before[1], behind[0], behind[1]}}});
  return {node.from_image(p.reshape(sums, *in))};
}

Exprs import_pooling_3d(MnnNode& node, TypedBuilder& p) {
  // strides 0, kernels 1, pads 2, type 3, padType 4, isGlobal 5
  const int64_t type = node.integer<int8_t>(3), pad_type = node.integer<int8_t>(4);
  if (node.flag(5)) return {global_pool(node, p, type == 0)};
  const Image image = as_image(node, p, 5);
  SlidingWindow window;
  window.strides = node.list(0), window.kernel = node.list(1);
  if (window.strides.size() != 3 || window.kernel.size() != 3)
    node.fail("has {} strides and {} kernels", window.strides.size(), window.kernel.size());
  for (size_t i = 0; i < 3; ++i) at_least(node, "a stride", window.strides[i], 1), at_least(node, "a kernel", window.kernel[i], 1);
  window.same = pad_type == 2;
  if (pad_type == 0) {
    Ints pads = node.list(2);
    if (pads.empty()) pads.assign(3, 0);
    if (pads.size() == 3) pads.insert(pads.end(), pads.begin(), pads.begin() + 3);
    if (pads.size() != 6) node.fail("has {} pads", pads.size());
    for (int64_t pad : pads) at_least(node, "padding", pad, 0);
    window.pads = pads;
  }
  Attributes attributes = window_attributes(p, image.x, window);
  if (type != 0 && pad_type == 0) attributes.set("count_include_pad", int64_t{1});
  return {back(node, p, image, p.op(type == 0 ? "MaxPool" : "AveragePool", {image.x}, std::move(attributes)), 5)};
}

Exprs import_inner_product(MnnNode& node, TypedBuilder& p) {
  // outputCount 0, biasTerm 1, weightSize 2, weight 3, bias 4, axis 5, transpose 6, packed weights 7
  const int64_t outputs = at_least(node, "outputCount", node.integer(0), 1);
  const Expr weights = own_weights(node, p, node.parameter(), 3, node.parameter().table(7) ? 7 : kNo, kNo, [&](int64_t elements) {
    if (elements % outputs != 0) node.fail("{} weights do not fit {} outputs", elements, outputs);
    return node.flag(6) ? Shape{elements / outputs, outputs} : Shape{outputs, elements / outputs};
  });
  const int64_t depth = p.dim(weights, node.flag(6) ? 0 : 1);
  const Expr x = p.rank(node.input(0)) == 2 ? node.input(0) : p.reshape(node.image(), Ints{-1, depth});
  const Expr bias = bias_of(node, p, node.parameter(), 4, kNo, 0, outputs);
  return {p.op("Gemm", {x, weights, bias}, {{"transB", int64_t{!node.flag(6)}}})};
}

Exprs import_im2col(MnnNode& node, TypedBuilder& p) {
  // [N, C, H, W] -> [C kernel, N places]
  const FlatTable common = node.parameter().table(0);
  const Window window(common);
  SlidingWindow sliding = sliding_window(node, window);
  const int64_t kernel_h = at_least(node, "kernelY", window.kernel_h(), 1), kernel_w = at_least(node, "kernelX", window.kernel_w(), 1);
  const Expr x = node.image();
  const auto shape = p.shape(x);
  if (!shape || shape->size() != 4) node.refuse("an image of unknown shape is not supported");
  if (sliding.same || kernel_h * kernel_w > 1024) node.refuse("a window of {} by {} is not supported", kernel_h, kernel_w);
  Ints pads = sliding.pads.empty() ? Ints(4) : sliding.pads;
  const Expr padded = p.op("Pad", {x, p.constant({0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]}), p.scalar(0)});
  const int64_t rows = ((*shape)[2] + pads[0] + pads[2] - (kernel_h - 1) * sliding.dilations[0] - 1) / sliding.strides[0] + 1;
  const int64_t columns = ((*shape)[3] + pads[1] + pads[3] - (kernel_w - 1) * sliding.dilations[1] - 1) / sliding.strides[1] + 1;
  if (rows < 1 || columns < 1) node.fail("an image of {} is smaller than its window", *shape);
  Exprs parts;
  for (int64_t h = 0; h < kernel_h; ++h)
    for (int64_t w = 0; w < kernel_w; ++w) {
      const int64_t top = h * sliding.dilations[0], left = w * sliding.dilations[1];
      parts.push_back(p.unsqueeze(
          p.slice(padded, {top, left}, {top + (rows - 1) * sliding.strides[0] + 1, left + (columns - 1) * sliding.strides[1] + 1}, {2, 3},
                  sliding.strides),
          {2}));
    }
  // [N, C, kernel, rows, columns]
  const Expr all = p.concat(parts, 2);
  return {p.reshape(p.transpose(all, {1, 2, 0, 3, 4}), Ints{(*shape)[1] * kernel_h * kernel_w, (*shape)[0] * rows * columns})};
}

Exprs import_col2im(MnnNode& node, TypedBuilder& p) {
  const FlatTable common = node.parameter().table(0);
  const Window window(common);
  const SlidingWindow sliding = sliding_window(node, window);
  if (sliding.same) node.refuse("its padding is not supported");
  Expr x = node.input(0);
  const bool single = p.rank(x) == 2;
  if (single) x = p.unsqueeze(x, {0});
  const Expr y =
      p.op("Col2Im", {x, p.vector(p.i64(node.input(1))), p.constant({window.kernel_h(), window.kernel_w()})},
           {{"dilations", sliding.dilations}, {"strides", sliding.strides}, {"pads", sliding.pads.empty() ? Ints(4) : sliding.pads}});
  return {y};
}

}  // namespace minnow::mnn

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/saturating.h"
#include "importers/builder/images.h"
#include "importers/caffe/rules.h"

namespace minnow::caffe {
namespace {

/// Two numbers from `name_h`, `name_w`, or from `name`, repeated or not.
Ints pair_of(const CaffeLayer& layer, const Message& parameters, std::string_view name, std::string_view height, std::string_view width,
             int64_t fallback) {
  Ints values = parameters.integers(name);
  if (parameters.has(height) || parameters.has(width)) return {parameters.integer(height, fallback), parameters.integer(width, fallback)};
  if (values.empty()) values = {fallback};
  if (values.size() == 1) values.push_back(values[0]);
  if (values.size() != 2) layer.refuse("\"{}\" in {} dimensions is not supported", name, values.size());
  return values;
}

SlidingWindow window_of(const CaffeLayer& layer, const Message& parameters) {
  SlidingWindow window;
  window.kernel = pair_of(layer, parameters, "kernel_size", "kernel_h", "kernel_w", 0);
  window.strides = pair_of(layer, parameters, "stride", "stride_h", "stride_w", 1);
  const Ints pad = pair_of(layer, parameters, "pad", "pad_h", "pad_w", 0);
  window.pads = {pad[0], pad[1], pad[0], pad[1]};
  window.dilations = pair_of(layer, parameters, "dilation", "dilation_h", "dilation_w", 1);
  for (size_t i = 0; i < 2; ++i)
    if (window.kernel[i] < 1 || window.strides[i] < 1 || window.dilations[i] < 1 || pad[i] < 0)
      layer.fail("a kernel of {} with strides {}, dilations {} and padding {} is not valid", window.kernel, window.strides,
                 window.dilations, pad);
  return window;
}

Attributes attributes_of(const SlidingWindow& window, int64_t groups) {
  Attributes attributes{{"kernel_shape", window.kernel}, {"strides", window.strides}, {"pads", window.pads}};
  if (window.dilations != Ints{1, 1}) attributes.set("dilations", window.dilations);
  if (groups != 1) attributes.set("group", groups);
  return attributes;
}

/// As Caffe does, so that the error names the layer as the file does.
void check_pool_padding(const CaffeLayer& layer, const SlidingWindow& window) {
  for (size_t i = 0; i < 2; ++i)
    if (window.pads[i] >= window.kernel[i])
      layer.fail("padding should be smaller than the window, it is {} beside a window of {}", window.pads[i], window.kernel[i]);
}

}  // namespace

Exprs import_convolution(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("convolution_param");
  const SlidingWindow window = window_of(layer, parameters);
  const int64_t outputs = parameters.integer("num_output", 0), channels = layer.size(layer.bottom(), 1);
  const bool depthwise = layer.layer.type != "Convolution";
  const int64_t groups = depthwise ? channels : parameters.integer("group", 1);
  if (parameters.integer("axis", 1) != 1) layer.refuse("channels along axis {} are not supported", parameters.integer("axis", 1));
  if (groups < 1 || outputs < 1 || channels % groups != 0 || outputs % groups != 0)
    layer.fail("{} groups do not fit {} channels and {} outputs", groups, channels, outputs);
  const Expr weights = layer.weights(0, {outputs, channels / groups, window.kernel[0], window.kernel[1]});
  const Expr bias = parameters.flag("bias_term", true) ? layer.weights(1, {outputs}) : Expr();
  Exprs tops;
  for (const Expr& x : layer.bottoms) tops.push_back(p.op("Conv", {x, weights, bias}, attributes_of(window, groups)));
  return tops;
}

Exprs import_deconvolution(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("convolution_param");
  const SlidingWindow window = window_of(layer, parameters);
  const int64_t outputs = parameters.integer("num_output", 0), channels = layer.size(layer.bottom(), 1);
  const int64_t groups = layer.layer.type == "DeconvolutionDepthwise" ? channels : parameters.integer("group", 1);
  if (groups < 1 || outputs < 1 || channels % groups != 0 || outputs % groups != 0)
    layer.fail("{} groups do not fit {} channels and {} outputs", groups, channels, outputs);
  const Expr weights = layer.weights(0, {channels, outputs / groups, window.kernel[0], window.kernel[1]});
  const Expr bias = parameters.flag("bias_term", true) ? layer.weights(1, {outputs}) : Expr();
  return {p.op("ConvTranspose", {layer.bottom(), weights, bias}, attributes_of(window, groups))};
}

Exprs import_pooling(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("pooling_param");
  const int64_t method = parameters.choice("pool", {"MAX", "AVE", "STOCHASTIC"}, 0);
  if (method == 2) layer.refuse("stochastic pooling is not supported");
  if (layer.top_count() > 1) layer.refuse("the places of maxima are not supported");
  if (parameters.flag("global_pooling", false)) return {p.op(method == 0 ? "GlobalMaxPool" : "GlobalAveragePool", {layer.bottom()})};
  const SlidingWindow window = window_of(layer, parameters);
  check_pool_padding(layer, window);
  Attributes attributes = attributes_of(window, 1);
  const bool ceil =
      parameters.has("ceil_mode") ? parameters.flag("ceil_mode", true) : parameters.choice("round_mode", {"CEIL", "FLOOR"}, 0) == 0;
  if (ceil) attributes.set("ceil_mode", int64_t{1});
  // Averages count the padding, but not elements beyond it.
  if (method == 1) attributes.set("count_include_pad", int64_t{1});
  return {p.op(method == 0 ? "MaxPool" : "AveragePool", {layer.bottom()}, std::move(attributes))};
}

Exprs import_spp(CaffeLayer& layer, TypedBuilder& p) {
  // Pyramids of 1, 4, 16, ... windows, flat one after the other.
  const Message& parameters = layer.parameters("spp_param");
  const int64_t levels = parameters.integer("pyramid_height", 1), method = parameters.choice("pool", {"MAX", "AVE"}, 0);
  const int64_t sizes[] = {layer.size(layer.bottom(), 2), layer.size(layer.bottom(), 3)};
  if (levels < 1 || levels > 16) layer.fail("a pyramid of {} levels is not valid", levels);
  Exprs parts;
  for (int64_t level = 0; level < levels; ++level) {
    SlidingWindow window;
    window.pads.assign(4, 0);
    window.dilations = {1, 1};
    for (size_t i = 0; i < 2; ++i) {
      const int64_t bins = int64_t{1} << level, kernel = (sizes[i] + bins - 1) / bins, pad = (kernel * bins - sizes[i] + 1) / 2;
      window.kernel.push_back(kernel), window.strides.push_back(kernel);
      window.pads[i] = window.pads[i + 2] = pad;
    }
    check_pool_padding(layer, window);
    Attributes attributes = attributes_of(window, 1);
    attributes.set("ceil_mode", int64_t{1});
    if (method == 1) attributes.set("count_include_pad", int64_t{1});
    parts.push_back(p.op("Flatten", {p.op(method == 0 ? "MaxPool" : "AveragePool", {layer.bottom()}, std::move(attributes))}));
  }
  return {p.concat(parts, 1)};
}

Exprs import_inner_product(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("inner_product_param");
  const int64_t outputs = parameters.integer("num_output", 0), axis = layer.axis(parameters.integer("axis", 1)), rank = layer.rank();
  const bool transposed = parameters.flag("transpose", false);
  if (outputs < 1) layer.fail("has {} outputs", outputs);
  int64_t depth = 1;
  for (int64_t i = axis; i < rank; ++i) depth = clamped_product({depth, layer.size(layer.bottom(), i)});
  const Expr weights = layer.weights(0, transposed ? Ints{depth, outputs} : Ints{outputs, depth});
  const Expr bias = parameters.flag("bias_term", true) ? layer.weights(1, {outputs}) : Expr();
  const Expr rows = axis == 1 && rank == 2 ? layer.bottom() : p.op("Flatten", {layer.bottom()}, {{"axis", axis}});
  Expr y = p.op("Gemm", {rows, weights, bias}, {{"transB", int64_t{!transposed}}});
  if (axis != 1) y = p.reshape(y, p.concat({p.shape_of(layer.bottom(), 0, axis), p.constant({outputs})}, 0));
  return {y};
}

Exprs import_matmul(CaffeLayer& layer, TypedBuilder& p) { return {p.op("MatMul", {layer.bottom(0), layer.bottom(1)})}; }

Exprs import_embed(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("embed_param");
  const int64_t inputs = parameters.integer("input_dim", 0), outputs = parameters.integer("num_output", 0);
  const Expr y = p.gather(layer.weights(0, {inputs, outputs}), p.i64(layer.bottom()), 0);
  return {parameters.flag("bias_term", true) ? p.op("Add", {y, layer.weights(1, {outputs})}) : y};
}

Exprs import_softmax(CaffeLayer& layer, TypedBuilder& p) {
  return {p.op("Softmax", {layer.bottom()}, {{"axis", layer.axis(layer.parameters("softmax_param").integer("axis", 1))}})};
}

Exprs import_lrn(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("lrn_param");
  const int64_t size = parameters.integer("local_size", 5);
  const float alpha = static_cast<float>(parameters.real("alpha", 1)), beta = static_cast<float>(parameters.real("beta", 0.75)),
              k = static_cast<float>(parameters.real("k", 1));
  if (size < 1 || size % 2 == 0) layer.fail("a region of {} is not odd", size);
  if (parameters.choice("norm_region", {"ACROSS_CHANNELS", "WITHIN_CHANNEL"}, 0) == 0)
    return {p.op("LRN", {layer.bottom()}, {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", k}})};
  // The mean of squares around each place, of its own channel; padding counts.
  const Expr squares = p.op("Mul", {layer.bottom(), layer.bottom()});
  const Expr mean =
      p.op("AveragePool", {squares}, {{"kernel_shape", Ints{size, size}}, {"pads", Ints(4, size / 2)}, {"count_include_pad", int64_t{1}}});
  const Expr base = p.op("Add", {p.op("Mul", {mean, p.scalar(static_cast<double>(alpha))}), p.scalar(static_cast<double>(k))});
  return {p.op("Div", {layer.bottom(), p.op("Pow", {base, p.scalar(static_cast<double>(beta))})})};
}

Exprs import_mvn(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("mvn_param");
  Ints axes;
  for (int64_t i = parameters.flag("across_channels", false) ? 1 : 2; i < layer.rank(); ++i) axes.push_back(i);
  const Expr centered = p.op("Sub", {layer.bottom(), p.op("ReduceMean", {layer.bottom(), p.constant(axes)})});
  if (!parameters.flag("normalize_variance", true)) return {centered};
  const Expr variance = p.op("ReduceMean", {p.op("Mul", {centered, centered}), p.constant(axes)});
  return {p.op("Div", {centered, p.op("Add", {p.op("Sqrt", {variance}), p.scalar(parameters.real("eps", 1e-9))})})};
}

Exprs import_normalize(CaffeLayer& layer, TypedBuilder& p) {
  // SSD's Normalize layer: each place (or image) is divided by its length, then scaled.
  const Message& parameters = layer.parameters("norm_param");
  const bool across = parameters.flag("across_spatial", true), shared = parameters.flag("channel_shared", true);
  Ints axes = {1};
  for (int64_t i = 2; across && i < layer.rank(); ++i) axes.push_back(i);
  const Expr squares = p.op("ReduceSumSquare", {layer.bottom(), p.constant(axes)});
  const Expr y = p.op("Div", {layer.bottom(), p.op("Sqrt", {p.op("Add", {squares, p.scalar(parameters.real("eps", 1e-10))})})});
  if (layer.blob_count() == 0) return {y};
  const Expr scale = layer.weights(0, {shared ? 1 : p.dim(layer.bottom(), 1)});
  return {p.op("Mul", {y, shared ? scale : layer.along(scale, 1)})};
}

Exprs import_interp(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("interp_param");
  if (parameters.integer("pad_beg", 0) || parameters.integer("pad_end", 0)) layer.refuse("padding is not supported");
  Ints size = {parameters.integer("height", 0), parameters.integer("width", 0)};
  const int64_t zoom = parameters.integer("zoom_factor", 1), shrink = parameters.integer("shrink_factor", 1);
  if (shrink < 1 || zoom < 1) layer.fail("factors {} and {} are not valid", zoom, shrink);
  for (size_t i = 0; i < 2; ++i) {
    if (size[i] > 0) continue;
    const int64_t given = layer.size(layer.bottom(), static_cast<int64_t>(i) + 2), shrunk = (given - 1) / shrink + 1;
    size[i] = shrunk + (shrunk - 1) * (zoom - 1);
  }
  return {p.op("Resize", {layer.bottom(), Expr(), Expr(), p.constant(size)},
               {{"axes", Ints{2, 3}}, {"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}})};
}

Exprs import_upsample(CaffeLayer& layer, TypedBuilder& p) {
  if (layer.bottoms.size() != 1) layer.refuse("places of maxima are not supported");
  const Message& parameters = layer.parameters("upsample_param");
  const double scale = parameters.real("scale", 2);
  const double scales[] = {parameters.real("scale_h", scale), parameters.real("scale_w", scale)};
  return {p.op("Resize", {layer.bottom(), Expr(), p.reals({2}, scales)},
               {{"axes", Ints{2, 3}},
                {"mode", std::string("nearest")},
                {"coordinate_transformation_mode", std::string("asymmetric")},
                {"nearest_mode", std::string("floor")}})};
}

namespace {

/// x [T, N, ...] as [T, N, depth], times `weights` [rows, depth].
Expr rows_of(CaffeLayer& layer, TypedBuilder& p, int64_t& depth) {
  depth = 1;
  for (int64_t i = 2; i < layer.rank(); ++i) depth = clamped_product({depth, layer.size(layer.bottom(), i)});
  return layer.rank() == 3 ? layer.bottom()
                           : p.reshape(layer.bottom(), p.concat({p.shape_of(layer.bottom(), 0, 2), p.constant({depth})}, 0));
}

}  // namespace

Exprs import_lstm(CaffeLayer& layer, TypedBuilder& p) {
  // Blobs: x weights [4H, I], bias [4H], h weights [4H, H]; gates in the order input, forget, output, cell. The second bottom [T, N] is 0
  // where a sequence begins and 1 where it continues. If sequences begin only at the first step, the layer is an LSTM, else a loop.
  const int64_t hidden = layer.parameters("recurrent_param").integer("num_output", 0);
  if (layer.bottoms.size() > 2) layer.refuse("a static input is not supported");
  if (hidden < 1) layer.fail("has {} outputs", hidden);
  int64_t depth = 1;
  const Expr x = rows_of(layer, p, depth);
  const auto gates = [&](const Expr& w) {  // input, output, forget, cell
    const Exprs parts = p.ops("Split", {w}, 4, {{"axis", int64_t{0}}, {"num_outputs", int64_t{4}}});
    return p.unsqueeze(p.concat({parts[0], parts[2], parts[1], parts[3]}, 0), {0});
  };
  const Expr bias = p.concat({gates(layer.weights(1, {4 * hidden})), p.fill(p.constant({1, 4 * hidden}), 0, DType::f32)}, 1);
  const Expr w = gates(layer.weights(0, {4 * hidden, depth})), r = gates(layer.weights(2, {4 * hidden, hidden}));
  const auto whole = [&](TypedBuilder& parts) {
    const Exprs made = parts.ops("LSTM", {x, w, r, bias}, 1, {{"hidden_size", hidden}});
    return parts.squeeze(made[0], {1});
  };
  if (layer.bottoms.size() < 2) return {whole(p)};
  const int64_t length = layer.size(layer.bottom(), 0), batch = layer.size(layer.bottom(), 1);
  if (p.dim(layer.bottom(1), 0) != length || p.dim(layer.bottom(1), 1) != batch)
    layer.fail("bottom 1 has to say of {} steps of {} sequences where they go on", length, batch);
  const auto stepwise = [&](TypedBuilder& parts) {
    // One step. Its inputs are the states [N, H] (hidden and cell), x of this step, and cont.
    InnerGraph step(parts);
    TypedBuilder& q = step.builder;
    const auto input = [&](const char* name, const Shape& shape) {
      return step.builder.wrap(&step.graph->add_input(name, ValueType::tensor(DType::f32, shape)));
    };
    const Expr h = input("h", {batch, hidden}), c = input("c", {batch, hidden}), now = input("now", {batch, depth});
    const Expr mask = q.unsqueeze(input("goes_on", {batch}), {1});
    const auto kept = [&](const Expr& state) { return q.unsqueeze(q.op("Mul", {state, mask}), {0}); };
    const Exprs made = q.ops("LSTM", {q.unsqueeze(now, {0}), w, r, bias, Expr(), kept(h), kept(c)}, 3, {{"hidden_size", hidden}});
    const Expr next = q.own(q.squeeze(made[1], {0}));
    step.graph->add_output(*next.value());
    step.graph->add_output(*q.own(q.squeeze(made[2], {0})).value());
    step.graph->add_output(*q.op("Identity", {next}).value());
    const Expr begin = parts.fill(parts.constant({batch, hidden}), 0, DType::f32);
    return parts.ops("Scan", {begin, begin, x, layer.bottom(1)}, 3, {{"body", Subgraph(step.graph)}, {"num_scan_inputs", int64_t{2}}})[2];
  };
  if (length < 2) return {whole(p)};
  const Expr least = p.op("ReduceMin", {p.slice(layer.bottom(1), {1}, {length}, {0})}, {{"keepdims", int64_t{0}}});
  Attributes branches;
  const auto branch = [&](const char* name, const auto& compute) {
    InnerGraph body(p);
    body.graph->add_output(*body.builder.own(compute(body.builder)).value());
    branches.set(name, Subgraph(body.graph));
  };
  branch("then_branch", whole);
  branch("else_branch", stepwise);
  const Expr y = p.op("If", {p.op("Equal", {least, p.scalar(1)})}, std::move(branches));
  y.value()->type = ValueType::tensor(DType::f32, Shape{length, batch, hidden});  // of either branch
  return {y};
}

Exprs import_rnn(CaffeLayer& layer, TypedBuilder& p) {
  // h' = tanh(W x + b + R h); o = tanh(V h' + c). Blobs: W [H, I], b, R [H, H], V [H, H], c.
  const int64_t hidden = layer.parameters("recurrent_param").integer("num_output", 0);
  if (layer.bottoms.size() > 2) layer.refuse("a static input is not supported");
  if (hidden < 1) layer.fail("has {} outputs", hidden);
  int64_t depth = 1;
  const Expr x = rows_of(layer, p, depth);
  const Expr bias = p.concat({p.unsqueeze(layer.weights(1, {hidden}), {0}), p.fill(p.constant({1, hidden}), 0, DType::f32)}, 1);
  const Exprs made =
      p.ops("RNN", {x, p.unsqueeze(layer.weights(0, {hidden, depth}), {0}), p.unsqueeze(layer.weights(2, {hidden, hidden}), {0}), bias}, 1,
            {{"hidden_size", hidden}});
  const Expr product = p.op("MatMul", {p.squeeze(made[0], {1}), p.transpose(layer.weights(3, {hidden, hidden}), {1, 0})});
  return {p.op("Tanh", {p.op("Add", {product, layer.weights(4, {hidden})})})};
}

}  // namespace minnow::caffe

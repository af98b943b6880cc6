// SPDX-License-Identifier: Apache-2.0
// Layers of networks: convolutions, pools, normalizations, resizing, padding, attention, embeddings, detection.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/torchscript/rules.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

namespace {

/// An image [N, C, spatial...]. If the program passes one without N, adds that axis and sets `was_single`.
Expr batched(Call& call, const Expr& x, int64_t spatial, bool& was_single) {
  call.host.expect_rank(x, {spatial + 2, spatial + 1});
  const int64_t rank = call.p.rank(x);
  was_single = rank == spatial + 1;
  if (!was_single && rank != spatial + 2) call.fail("its input has {} dimensions, {} are expected", rank, spatial + 2);
  return was_single ? call.p.unsqueeze(x, {0}) : x;
}
Item unbatched(Call& call, const Expr& y, bool was_single) { return was_single ? call.p.squeeze(y, {0}) : y; }

Ints twice(const Ints& pads) {
  Ints both = pads;
  both.insert(both.end(), pads.begin(), pads.end());
  return both;
}

Item convolve(Call& call, TypedBuilder& p, const Expr& input, const Expr& w, const Expr& bias, bool transposed) {
  const int64_t spatial = call.rank(w) - 2;
  if (spatial < 1) call.fail("its weights have {} dimensions", spatial + 2);
  const size_t n = static_cast<size_t>(spatial);
  bool single = false;
  const Expr x = batched(call, input, spatial, single);
  const int64_t groups = call.integer("groups");
  tell_size(x, 1, transposed ? p.dim(w, 0) : p.dim(w, 1) < 0 ? -1 : p.dim(w, 1) * groups);
  Attributes attributes{{"strides", call.ints("stride", n)}};
  Ints dilations = call.ints("dilation", n);
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) attributes.set("dilations", dilations);
  if (groups != 1) attributes.set("group", groups);
  Ints kernel;
  for (size_t i = 0; i < n; ++i) kernel.push_back(p.dim(w, static_cast<int64_t>(i) + 2));
  if (std::none_of(kernel.begin(), kernel.end(), [](int64_t k) { return k < 1; })) attributes.set("kernel_shape", kernel);
  if (call["padding"].is(Kind::text)) {
    const std::string& how = call.text("padding");
    if (how == "same") {  // the odd element at the end
      Ints before, after;
      for (size_t i = 0; i < n; ++i) {
        const int64_t total = (kernel[i] - 1) * dilations[i];
        before.push_back(total / 2);
        after.push_back(total - total / 2);
      }
      before.insert(before.end(), after.begin(), after.end());
      attributes.set("pads", before);
    } else if (how != "valid") {
      call.refuse("padding \"{}\" is not supported", how);
    }
  } else {
    const Ints pads = call.ints("padding", n);
    if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; })) attributes.set("pads", twice(pads));
  }
  if (transposed) {
    const Ints more = call.ints("output_padding", n);
    if (std::any_of(more.begin(), more.end(), [](int64_t pad) { return pad != 0; })) attributes.set("output_padding", more);
  }
  return unbatched(call, p.op(transposed ? "ConvTranspose" : "Conv", {x, w, bias}, std::move(attributes)), single);
}

}  // namespace

Item import_conv(Call& call, TypedBuilder& p) {
  return convolve(call, p, call.x("input"), call.x("weight"), call.optional("bias"), call.rule.target == "transposed");
}
Item import_convolution(Call& call, TypedBuilder& p) {
  return convolve(call, p, call.x("input"), call.x("weight"), call.optional("bias"), call.flag("transposed"));
}

Item import_batch_norm(Call& call, TypedBuilder& p) {
  const Expr x = call.x("input");
  if (call.flag("training") || !call.has("running_mean")) call.refuse("statistics of the batch itself (training mode) are not supported");
  const Expr mean = call.x("running_mean"), variance = call.x("running_var");
  const auto like = [&](double value) { return p.fill(p.shape_of(mean), value, p.dtype(mean)); };
  const Expr scale = call.has("weight") ? call.x("weight") : like(1), bias = call.has("bias") ? call.x("bias") : like(0);
  tell_size(x, 1, p.dim(mean, 0));
  return p.op("BatchNormalization", {x, scale, bias, mean, variance},
              {{"epsilon", static_cast<float>(call.real("eps"))}, {"momentum", static_cast<float>(1 - call.real("momentum", 0.1))}});
}
Item import_instance_norm(Call& call, TypedBuilder& p) {
  const Expr x = call.x("input");
  const float epsilon = static_cast<float>(call.real("eps"));
  if (!call.flag("use_input_stats") && call.has("running_mean")) {
    const Expr mean = call.x("running_mean");
    const auto like = [&](double value) { return p.fill(p.shape_of(mean), value, p.dtype(mean)); };
    return p.op(
        "BatchNormalization",
        {x, call.has("weight") ? call.x("weight") : like(1), call.has("bias") ? call.x("bias") : like(0), mean, call.x("running_var")},
        {{"epsilon", epsilon}});
  }
  if (call.has("weight"))
    return p.op("InstanceNormalization",
                {x, call.x("weight"), call.has("bias") ? call.x("bias") : p.fill(p.shape_of(call.x("weight")), 0, p.dtype(x))},
                {{"epsilon", epsilon}});
  const Expr channels = p.shape_of(x, 1, 2);
  return p.op("InstanceNormalization", {x, p.fill(channels, 1, p.dtype(x)), p.fill(channels, 0, p.dtype(x))}, {{"epsilon", epsilon}});
}
Item import_group_norm(Call& call, TypedBuilder& p) {
  const Expr x = call.x("input");
  const Expr channels = p.shape_of(x, 1, 2);
  const Expr scale = call.has("weight") ? call.x("weight") : p.fill(channels, 1, p.dtype(x)),
             bias = call.has("bias") ? call.x("bias") : p.fill(channels, 0, p.dtype(x));
  return p.op("GroupNormalization", {x, scale, bias},
              {{"num_groups", call.integer("num_groups")}, {"epsilon", static_cast<float>(call.real("eps"))}});
}
Item import_layer_norm(Call& call, TypedBuilder& p) {
  const Expr x = call.x("input");
  const int64_t axes = static_cast<int64_t>(call.items("normalized_shape").size());
  const std::string_view op = call.rule.target;
  const Expr shape = call.vector("normalized_shape");
  Exprs inputs = {x, call.has("weight") ? call.x("weight") : p.fill(shape, 1, p.dtype(x))};
  if (call.has("weight")) tell_size(x, -1, p.dim(inputs[1], -1));
  double epsilon = call.real("eps", 1.1920928955078125e-07);  // f32's, where none is given
  if (op == "LayerNormalization" && call.has("bias")) inputs.push_back(call.x("bias"));
  return p.op(op, inputs, {{"axis", -axes}, {"epsilon", static_cast<float>(epsilon)}});
}

// Pools.

namespace {

Attributes pool_attributes(Call& call, size_t n) {
  const Ints kernel = call.ints("kernel_size", n);
  Ints strides = call.ints("stride", n);
  if (strides.empty()) strides = kernel;
  Attributes attributes{{"kernel_shape", kernel}, {"strides", strides}};
  const Ints pads = call.ints("padding", n);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; })) attributes.set("pads", twice(pads));
  if (call.flag("ceil_mode")) attributes.set("ceil_mode", int64_t{1});
  return attributes;
}

/// The matrix [out, size] that gives the mean of each of `out` windows, for any size.
Expr mean_matrix(TypedBuilder& p, const Expr& size, int64_t out, DType type) {
  Ints begins, ends;
  for (int64_t i = 0; i < out; ++i) begins.push_back(i), ends.push_back(i + 1);
  const Expr parts = p.constant({out});
  const Expr start = p.op("Div", {p.op("Mul", {p.constant(begins), size}), parts});
  const Expr end = p.op("Div", {p.op("Add", {p.op("Mul", {p.constant(ends), size}), p.constant({out - 1})}), parts});
  const Expr places = p.op("Range", {p.scalar(0, DType::i64), p.reshape(size, Ints{}), p.scalar(1, DType::i64)});
  const Expr from = p.unsqueeze(start, {1}), to = p.unsqueeze(end, {1});
  const Expr inside = p.op("And", {p.op("GreaterOrEqual", {places, from}), p.op("Less", {places, to})});
  return p.op("Div", {p.cast(inside, type), p.cast(p.op("Sub", {to, from}), type)});
}

}  // namespace

Item import_max_pool(Call& call, TypedBuilder& p) {
  const std::string_view what = call.rule.target;  // "2", "2i": with indices
  const size_t n = static_cast<size_t>(what[0] - '0');
  bool single = false;
  const Expr x = batched(call, call.x("self"), static_cast<int64_t>(n), single);
  Attributes attributes = pool_attributes(call, n);
  const Ints dilations = call.ints("dilation", n);
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) attributes.set("dilations", dilations);
  if (what.size() == 1) return unbatched(call, p.op("MaxPool", {x}, std::move(attributes)), single);
  const Exprs both = p.ops("MaxPool", {x}, 2, std::move(attributes));
  // PyTorch counts within an image, ONNX within the whole tensor.
  Expr image = p.op("ReduceProd", {p.shape_of(x, 2)}, {{"keepdims", int64_t{1}}});
  const Expr places = p.op("Mod", {both[1], image});
  return Item::tuple({unbatched(call, both[0], single), unbatched(call, places, single)});
}
Item import_avg_pool(Call& call, TypedBuilder& p) {
  const size_t n = static_cast<size_t>(call.rule.target[0] - '0');
  bool single = false;
  const Expr x = batched(call, call.x("self"), static_cast<int64_t>(n), single);
  Attributes attributes = pool_attributes(call, n);
  const bool override = call.takes("divisor_override") && call.has("divisor_override");
  if (override || call.flag("count_include_pad")) attributes.set("count_include_pad", int64_t{1});
  Expr y;
  if (override) {
    if (call.flag("ceil_mode")) call.refuse("divisor_override together with ceil_mode is not supported");
    double elements = 1;
    for (int64_t k : call.ints("kernel_size", n)) elements *= static_cast<double>(k);
    y = p.op("AveragePool", {x}, std::move(attributes));
    y = p.op("Mul", {y, scalar_like(call, elements / static_cast<double>(call.integer("divisor_override")), y)});
  } else {
    y = p.op("AveragePool", {x}, std::move(attributes));
  }
  return unbatched(call, y, single);
}
Item import_adaptive_pool(Call& call, TypedBuilder& p) {
  const std::string_view what = call.rule.target;  // "avg2", "max2"
  const bool mean = what.starts_with("avg");
  const size_t n = static_cast<size_t>(what[3] - '0');
  bool single = false;
  Expr x = batched(call, call.x("self"), static_cast<int64_t>(n), single);
  const Items& wanted = call.items("output_size");
  Ints sizes;
  for (size_t i = 0; i < n; ++i) {
    const Item& item = wanted[std::min(i, wanted.size() - 1)];
    if (!item.is_none() && !item.is_known()) call.refuse("its output size depends on data");
    sizes.push_back(item.is_none() ? -1 : item.integer());
  }
  const auto finish = [&](const Expr& y) -> Item {
    if (mean) return unbatched(call, y, single);
    return Item::tuple({unbatched(call, y, single), Item::unreadable("the places of an adaptive pool are not supported")});
  };
  if (std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 1; }))
    return finish(p.op(mean ? "GlobalAveragePool" : "GlobalMaxPool", {x}));
  // Windows have one size if the input's size is a multiple.
  Ints kernel;
  bool even = true, same = true;
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = p.dim(x, static_cast<int64_t>(i) + 2);
    if (sizes[i] == -1) {
      kernel.push_back(1);
      continue;
    }
    if (sizes[i] < 1) call.fail("its output size is {}", sizes[i]);
    even = even && size > 0 && size % sizes[i] == 0;
    kernel.push_back(even ? size / sizes[i] : 1);
    same = same && kernel.back() == 1;
  }
  if (even && same) return finish(x);
  if (even) return finish(p.op(mean ? "AveragePool" : "MaxPool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}}));
  for (size_t i = 0; i < n; ++i) {
    if (sizes[i] == -1) continue;
    const int64_t axis = static_cast<int64_t>(i) + 2, rank = static_cast<int64_t>(n) + 2;
    const Expr size = p.shape_of(x, axis, axis + 1);
    if (sizes[i] > 4096) call.refuse("an output size of {}", sizes[i]);
    if (mean) {  // a product with the matrix of means, along this axis
      const Expr matrix = mean_matrix(p, size, sizes[i], p.dtype(x));
      if (axis == rank - 1) {
        x = p.op("MatMul", {x, p.transpose(matrix, {1, 0})});
      } else if (axis == rank - 2) {
        x = p.op("MatMul", {matrix, x});
      } else {
        Ints perm, back;
        for (int64_t k = 0; k < rank; ++k) perm.push_back(k);
        std::swap(perm[static_cast<size_t>(axis)], perm[static_cast<size_t>(rank - 1)]);
        x = p.transpose(p.op("MatMul", {p.transpose(x, perm), p.transpose(matrix, {1, 0})}), perm);
      }
      continue;
    }
    Exprs parts;
    call.host.spend(static_cast<size_t>(sizes[i]));
    for (int64_t k = 0; k < sizes[i]; ++k) {
      const Expr start = p.op("Div", {p.op("Mul", {size, p.constant({k})}), p.constant({sizes[i]})});
      const Expr end =
          p.op("Div", {p.op("Add", {p.op("Mul", {size, p.constant({k + 1})}), p.constant({sizes[i] - 1})}), p.constant({sizes[i]})});
      const Expr window = p.op("Slice", {x, start, end, p.constant({axis})});
      if (!window.value()->type.dims) window.value()->type.dims = std::vector<Dim>(static_cast<size_t>(rank));
      parts.push_back(p.op("ReduceMax", {window, p.constant({axis})}, {{"keepdims", int64_t{1}}}));
    }
    x = p.concat(parts, axis);
  }
  return finish(x);
}
Item import_max_unpool(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self"), places = p.i64(call.x("indices"));
  const int64_t spatial = static_cast<int64_t>(call.items("output_size").size()), rank = call.rank(x);
  // Scattered into images of zeros.
  const Expr lead = p.shape_of(x, 0, rank - spatial), size = call.vector("output_size");
  const Expr count = p.op("ReduceProd", {size}, {{"keepdims", int64_t{1}}});
  const Expr zeros = p.fill(p.concat({lead, count}, 0), 0, p.dtype(x)), flat = p.concat({lead, p.constant({-1})}, 0);
  const Expr y = p.op("ScatterElements", {zeros, p.reshape(places, flat), p.reshape(x, flat)}, {{"axis", rank - spatial}});
  return p.reshape(y, p.concat({lead, size}, 0));
}

// Resizing and padding.

Item import_upsample(Call& call, TypedBuilder& p) {
  const std::string_view what = call.rule.target;  // nearest, exact, linear, cubic, linear_aa, cubic_aa
  const Expr x = call.x("input");
  int64_t spatial = 0;
  const std::string_view name = call.rule.op;
  for (char c : name)
    if (c >= '1' && c <= '3') spatial = c - '0';
  call.host.expect_rank(x, {spatial + 2});
  Ints axes;
  for (int64_t i = 0; i < spatial; ++i) axes.push_back(i + 2);
  const bool corners = call.takes("align_corners") && call.flag("align_corners");
  Attributes attributes{{"axes", axes}};
  attributes.set("mode", std::string(what.starts_with("cubic") ? "cubic" : what.starts_with("linear") ? "linear" : "nearest"));
  attributes.set("coordinate_transformation_mode", std::string(corners             ? "align_corners"
                                                               : what == "nearest" ? "asymmetric"
                                                                                   : "half_pixel"));
  if (what == "nearest") attributes.set("nearest_mode", std::string("floor"));
  if (what == "exact") attributes.set("nearest_mode", std::string("round_prefer_ceil"));
  if (what.starts_with("cubic")) attributes.set("cubic_coeff_a", what == "cubic_aa" ? -0.5f : -0.75f);
  if (what.ends_with("_aa")) {
    attributes.set("antialias", int64_t{1});
    attributes.set("exclude_outside", int64_t{1});
  }
  Expr scales, sizes;
  if (call.has("output_size")) {
    sizes = call.vector("output_size");
  } else {
    std::vector<double> factors = call.reals("scale_factors");
    if (factors.size() == 1) factors.resize(static_cast<size_t>(spatial), factors[0]);
    if (static_cast<int64_t>(factors.size()) != spatial) call.fail("it has {} factors", factors.size());
    scales = p.reals({spatial}, factors);
  }
  return p.op("Resize", {x, Expr(), scales, sizes}, std::move(attributes));
}

namespace {

/// `pad` counts from the last dimension: before and after it, then the one in front of it.
Item padded(Call& call, TypedBuilder& p, const Expr& x, const Items& pad, std::string_view mode, const Expr& value) {
  if (pad.size() % 2 != 0) call.fail("it has {} numbers", pad.size());
  const int64_t count = static_cast<int64_t>(pad.size() / 2);
  Items before, after;
  Ints axes;
  bool none = true;
  for (int64_t i = count; i-- > 0;) {
    before.push_back(pad[static_cast<size_t>(2 * i)]);
    after.push_back(pad[static_cast<size_t>(2 * i + 1)]);
    axes.push_back(-1 - i);
  }
  before.insert(before.end(), after.begin(), after.end());
  for (const Item& item : before) none = none && item.is_known() && item.integer() == 0;
  if (none) return x;
  if (const int64_t rank = p.rank(x); rank >= 0) {
    // Write the padding of all dimensions in order, the form that passes recognize.
    if (rank < count) call.fail("{} dimensions of a tensor of {} are padded", count, rank);
    Items all(static_cast<size_t>(2 * rank), Item::integer(0));
    for (int64_t i = 0; i < count; ++i) {
      all[static_cast<size_t>(rank - count + i)] = before[static_cast<size_t>(i)];
      all[static_cast<size_t>(2 * rank - count + i)] = before[static_cast<size_t>(count + i)];
    }
    return p.op("Pad", {x, call.vector(all), value}, {{"mode", std::string(mode)}});
  }
  return p.op("Pad", {x, call.vector(before), value, p.constant(axes)}, {{"mode", std::string(mode)}});
}

}  // namespace

Item import_pad(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  std::string mode = "constant";
  if (call.takes("mode")) mode = call.text("mode");
  if (call.rule.target == "reflect" || call.rule.target == "replicate") mode = call.rule.target;
  if (mode == "constant") {
    const Item& value = call["value"];
    return padded(call, p, x, call.items("pad"), "constant",
                  value.is_none() || (value.is_known() && value.real() == 0) ? Expr() : p.cast(call.tensor(value), p.dtype(x)));
  }
  const std::string_view known = mode == "reflect" ? "reflect" : mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : "";
  if (known.empty()) call.refuse("padding \"{}\" is not supported", mode);
  return padded(call, p, x, call.items("pad"), known, Expr());
}
Item import_pixel_shuffle(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  return p.op("DepthToSpace", {x}, {{"blocksize", call.integer("upscale_factor")}, {"mode", std::string("CRD")}});
}
Item import_pixel_unshuffle(Call& call, TypedBuilder& p) {
  // [N, C, H r, W r] -> [N, C r r, H, W], channels outermost: SpaceToDepth puts blocks there.
  const Expr x = call.x("self");
  const int64_t r = call.integer("downscale_factor");
  call.host.expect_rank(x, {4});
  const Expr height = p.op("Div", {p.shape_of(x, 2, 3), p.constant({r})}), width = p.op("Div", {p.shape_of(x, 3, 4), p.constant({r})});
  const Expr split = p.reshape(x, p.concat({p.shape_of(x, 0, 2), height, p.constant({r}), width, p.constant({r})}, 0));
  const Expr turned = p.transpose(split, {0, 1, 3, 5, 2, 4});
  return p.reshape(turned, p.concat({p.shape_of(x, 0, 1), p.op("Mul", {p.shape_of(x, 1, 2), p.constant({r * r})}), height, width}, 0));
}
Item import_channel_shuffle(Call& call, TypedBuilder& p) {
  const Expr x = call.x("self");
  const int64_t groups = call.integer("groups"), rank = call.rank(x);
  const Expr channels = p.op("Div", {p.shape_of(x, 1, 2), p.constant({groups})}), rest = p.shape_of(x, 2);
  const Expr split = p.reshape(x, p.concat({p.shape_of(x, 0, 1), p.constant({groups}), channels, rest}, 0));
  Ints perm = {0, 2, 1};
  for (int64_t i = 3; i < rank + 1; ++i) perm.push_back(i);
  return p.reshape(p.transpose(split, perm), p.shape_of(x));
}
Item import_im2col(Call& call, TypedBuilder& p) {
  // Windows by gathering rows and columns of the padded image.
  const Expr image = call.x("self");
  call.host.expect_rank(image, {4});
  const Ints kernel = call.ints("kernel_size", 2), dilation = call.ints("dilation", 2), pads = call.ints("padding", 2),
             stride = call.ints("stride", 2);
  const Expr x = pads[0] || pads[1] ? p.op("Pad", {image, p.constant({0, 0, pads[0], pads[1], 0, 0, pads[0], pads[1]})}) : image;
  const auto places = [&](size_t axis) {  // [kernel, windows]
    const int64_t extent = clamped_product({clamped_sum({kernel[axis], -1}), dilation[axis]});
    const Expr size = p.reshape(p.shape_of(x, static_cast<int64_t>(axis) + 2, static_cast<int64_t>(axis) + 3), Ints{});
    const Expr begins = p.op("Range", {p.scalar(0, DType::i64), p.op("Sub", {size, p.scalar(static_cast<double>(extent), DType::i64)}),
                                       p.scalar(static_cast<double>(stride[axis]), DType::i64)});
    const Charge table(product_of({static_cast<size_t>(std::max<int64_t>(kernel[axis], 0)), sizeof(int64_t)}));
    Ints offsets;
    for (int64_t i = 0; i < kernel[axis]; ++i) offsets.push_back(clamped_product({i, dilation[axis]}));
    return p.op("Add", {p.reshape(p.constant(offsets), {kernel[axis], 1}), p.unsqueeze(begins, {0})});
  };
  const Expr rows = p.gather(x, places(0), 2);                // [N, C, kh, oh, W]
  const Expr both = p.gather(rows, places(1), 4);             // [N, C, kh, oh, kw, ow]
  const Expr turned = p.transpose(both, {0, 1, 2, 4, 3, 5});  // [N, C, kh, kw, oh, ow]
  return p.reshape(turned,
                   p.concat({p.shape_of(x, 0, 1), p.op("Mul", {p.shape_of(x, 1, 2), p.constant({clamped_product({kernel[0], kernel[1]})})}),
                             p.constant({-1})},
                            0));
}
Item import_col2im(Call& call, TypedBuilder& p) {
  const Ints pads = call.ints("padding", 2);
  return p.op("Col2Im", {call.x("self"), call.vector("output_size"), p.constant(call.ints("kernel_size", 2))},
              {{"dilations", call.ints("dilation", 2)}, {"pads", twice(pads)}, {"strides", call.ints("stride", 2)}});
}
Item import_grid_sampler(Call& call, TypedBuilder& p) {
  static constexpr std::string_view kModes[] = {"linear", "nearest", "cubic"}, kPads[] = {"zeros", "border", "reflection"};
  const int64_t mode = call.integer("interpolation_mode"), pad = call.integer("padding_mode");
  if (mode < 0 || mode > 2 || pad < 0 || pad > 2) call.fail("mode {} and padding {}", mode, pad);
  return p.op("GridSample", {call.x("input"), call.x("grid")},
              {{"mode", std::string(kModes[mode])},
               {"padding_mode", std::string(kPads[pad])},
               {"align_corners", int64_t{call.flag("align_corners")}}});
}
Item import_affine_grid(Call& call, TypedBuilder& p) {
  return p.op("AffineGrid", {call.x("theta"), call.vector("size")}, {{"align_corners", int64_t{call.flag("align_corners")}}});
}
// Embeddings and attention.

Item import_embedding(Call& call, TypedBuilder& p) {
  const Expr index = call.x("indices");
  call.host.expect_integers(index);
  return p.gather(call.x("weight"), p.i64(index), 0);
}
Item import_embedding_bag(Call& call, TypedBuilder& p) {
  // Support bags of one length, given as rows of a matrix, which is what models use; others depend on data.
  const Expr w = call.x("weight"), index = call.x("indices");
  call.host.expect_integers(index);
  const auto offsets = p.ints(call.x("offsets"));
  if (!offsets || offsets->empty()) call.refuse("bags whose places depend on data are not supported");
  const int64_t count = p.dim(index, 0), mode = call.integer("mode");
  Exprs bags;
  for (size_t i = 0; i < offsets->size(); ++i) {
    call.host.spend(1);
    const int64_t end = i + 1 < offsets->size() ? (*offsets)[i + 1] : count < 0 ? kEnd : count;
    const Expr rows = p.gather(w, p.slice(p.i64(index), {(*offsets)[i]}, {end}, {0}), 0);
    bags.push_back(p.op(mode == 0   ? "ReduceSum"
                        : mode == 1 ? "ReduceMean"
                                    : "ReduceMax",
                        {rows, p.constant({0})}, {{"keepdims", int64_t{1}}}));
  }
  return Item::tuple({Item(p.concat(bags, 0)), Item(), Item(), Item()});
}
Item import_attention(Call& call, TypedBuilder& p) {
  Expr q = call.x("query"), k = call.x("key"), v = call.x("value");
  const DType type = p.dtype(q);
  if (call.has("dropout_p") && call.real("dropout_p") != 0) call.host.warn("Dropout inside attention is left out");
  const bool causal = call.flag("is_causal");
  const int64_t width = p.dim(q, -1);
  Expr scale;
  if (call.has("scale")) {
    scale = scalar_like(call, call.real("scale"), q);
  } else if (width > 0) {
    scale = scalar_like(call, 1 / std::sqrt(static_cast<double>(width)), q);
  } else {
    scale = p.op("Reciprocal", {p.op("Sqrt", {p.cast(p.reshape(p.shape_of(q, call.rank(q) - 1), Ints{}), type)})});
  }
  if (call.takes("enable_gqa") && call.flag("enable_gqa")) {
    const int64_t heads = p.dim(q, -3), pairs = p.dim(k, -3);
    if (heads < 1 || pairs < 1 || heads % pairs != 0) call.refuse("groups of an unknown number of heads");
    const auto repeated = [&](const Expr& x) {
      const int64_t rank = call.rank(x);
      Ints counts(static_cast<size_t>(rank + 1), 1);
      counts[static_cast<size_t>(rank - 2)] = heads / pairs;
      const Expr tiled = p.op("Tile", {p.unsqueeze(x, {rank - 2}), p.constant(counts)});
      return p.reshape(tiled, p.concat({p.shape_of(x, 0, rank - 3), p.constant({heads}), p.shape_of(x, rank - 2)}, 0));
    };
    k = repeated(k);
    v = repeated(v);
  }
  Expr scores = p.op("Mul", {p.op("MatMul", {q, p.swap_last(k)}), scale});
  const auto masked = [&](const Expr& keep) { scores = p.op("Where", {keep, scores, scalar_like(call, -INFINITY, scores)}); };
  if (causal) {
    const Expr length = p.concat({p.shape_of(q, call.rank(q) - 2, call.rank(q) - 1), p.shape_of(k, call.rank(k) - 2, call.rank(k) - 1)}, 0);
    const Expr keep = p.op("Trilu", {p.fill(length, 1, DType::u8)}, {{"upper", int64_t{0}}});
    masked(p.cast(keep, DType::boolean));
  }
  if (call.has("attn_mask")) {
    const Expr mask = call.x("attn_mask");
    if (p.dtype(mask) == DType::boolean)
      masked(mask);
    else
      scores = p.op("Add", {scores, p.cast(mask, type)});
  }
  return p.op("MatMul", {p.op("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
}

namespace {

/// x * weights^T + bias.
Expr projected(Call& call, TypedBuilder& p, const Expr& x, std::string_view weights, std::string_view bias) {
  return p.op("Add", {p.op("MatMul", {x, p.transpose(call.x(weights), {1, 0})}), call.x(bias)});
}

/// The attention of x [batch, time, width] to itself as PyTorch's fused operators have it: projections, heads, and a projection again.
Expr self_attention(Call& call, TypedBuilder& p, const Expr& x, int64_t heads) {
  const int64_t width = call.integer("embed_dim");
  if (heads < 1 || width % heads != 0) call.fail("{} heads of {}", heads, width);
  const Exprs parts =
      p.ops("Split", {projected(call, p, x, "qkv_weight", "qkv_bias")}, 3, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}});
  const Expr shape = p.concat({p.shape_of(x, 0, 2), p.constant({heads, width / heads})}, 0);
  const auto split = [&](const Expr& y) { return p.transpose(p.reshape(y, shape), {0, 2, 1, 3}); };
  Expr scores = p.op("Mul", {p.op("MatMul", {split(parts[0]), p.swap_last(split(parts[1]))}),
                             scalar_like(call, 1 / std::sqrt(static_cast<double>(width / heads)), x)});
  if (call.has("mask")) {
    Expr mask = p.cast(call.x("mask"), DType::boolean);
    if (call.integer("mask_type", 0) == 1 && p.rank(mask) == 2) mask = p.unsqueeze(mask, {1, 2});
    scores = p.op("Where", {mask, scalar_like(call, -INFINITY, scores), scores});
  }
  const Expr mixed = p.op("MatMul", {p.op("Softmax", {scores}, {{"axis", int64_t{-1}}}), split(parts[2])});
  return projected(call, p, p.reshape(p.transpose(mixed, {0, 2, 1, 3}), p.shape_of(x)), "proj_weight", "proj_bias");
}

}  // namespace

Item import_native_attention(Call& call, TypedBuilder& p) {
  // The fused form that eval-mode encoders take: projections, attention, projection.
  const Expr x = call.x("query");
  if (call["key"].object() != call["query"].object() || call["value"].object() != call["query"].object())
    call.refuse("only attention of a tensor to itself is supported");
  if (call.flag("need_weights")) call.refuse("its weights are asked for");
  return Item::tuple({Item(self_attention(call, p, x, call.integer("num_head"))), Item()});
}
Item import_encoder_layer(Call& call, TypedBuilder& p) {
  const Expr src = call.x("src");
  const float epsilon = static_cast<float>(call.real("eps"));
  const auto norm = [&](const Expr& x, const char* which) {
    return p.op("LayerNormalization", {x, call.x(format("norm_weight_{}", which)), call.x(format("norm_bias_{}", which))},
                {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  };
  const bool first = call.flag("norm_first");
  Expr y = p.op("Add", {src, self_attention(call, p, first ? norm(src, "1") : src, call.integer("num_heads"))});
  if (!first) y = norm(y, "1");
  const Expr hidden = projected(call, p, first ? norm(y, "2") : y, "ffn_weight_1", "ffn_bias_1");
  y = p.op("Add", {y, projected(call, p, p.op(call.flag("use_gelu") ? "Gelu" : "Relu", {hidden}), "ffn_weight_2", "ffn_bias_2")});
  return first ? y : norm(y, "2");
}

// Detection.

Item import_nms(Call& call, TypedBuilder& p) {
  const Expr boxes = p.unsqueeze(call.x("dets"), {0}), scores = p.unsqueeze(call.x("scores"), {0, 1});
  const Expr chosen = p.op("NonMaxSuppression",
                           {boxes, scores, p.scalar(static_cast<double>(INT64_MAX / 2), DType::i64), p.scalar(call.real("iou_threshold"))});
  return p.gather(chosen, p.scalar(2, DType::i64), 1);
}
Item import_roi_align(Call& call, TypedBuilder& p) {
  const Expr rois = call.x("rois");
  const Expr batch = p.i64(p.gather(rois, p.scalar(0, DType::i64), 1));
  Expr boxes = p.slice(rois, {1}, {5}, {1});
  double scale = 1;
  if (call["spatial_scale"].symbol())  // of a feature map whose size is open: the boxes are scaled beforehand
    boxes = p.op("Mul", {boxes, p.cast(call.x("spatial_scale"), p.dtype(boxes))});
  else
    scale = call.real("spatial_scale");
  const int64_t sampling = call.integer("sampling_ratio");
  return p.op("RoiAlign", {call.x("input"), boxes, batch},
              {{"spatial_scale", static_cast<float>(scale)},
               {"output_height", call.integer("pooled_height")},
               {"output_width", call.integer("pooled_width")},
               {"sampling_ratio", std::max<int64_t>(sampling, 0)},
               {"mode", std::string("avg")},
               {"coordinate_transformation_mode", std::string(call.flag("aligned") ? "half_pixel" : "output_half_pixel")}});
}
Item import_roi_pool(Call& call, TypedBuilder& p) {
  const Expr y = p.op("MaxRoiPool", {call.x("input"), call.x("rois")},
                      {{"spatial_scale", static_cast<float>(call.real("spatial_scale"))},
                       {"pooled_shape", Ints{call.integer("pooled_height"), call.integer("pooled_width")}}});
  return Item::tuple({Item(y), Item::unreadable("the places of a region pool are not supported")});
}
Item import_deform_conv(Call& call, TypedBuilder& p) {
  Exprs inputs = {call.x("input"), call.x("weight"), call.x("offset"), call.x("bias")};
  if (call.flag("use_mask")) inputs.push_back(call.x("mask"));
  const Ints pads = {call.integer("pad_h"), call.integer("pad_w"), call.integer("pad_h"), call.integer("pad_w")};
  return p.op("DeformConv", inputs,
              {{"strides", Ints{call.integer("stride_h"), call.integer("stride_w")}},
               {"pads", pads},
               {"dilations", Ints{call.integer("dilation_h"), call.integer("dilation_w")}},
               {"group", call.integer("groups")},
               {"offset_group", call.integer("offset_groups")}});
}

}  // namespace minnow::torchscript

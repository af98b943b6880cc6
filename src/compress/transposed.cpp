// SPDX-License-Identifier: Apache-2.0
#include "compress/transposed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compress/names.h"
#include "graph/activation.h"

namespace minnow::compress {
namespace {

// Products of the convolutions, for each one of the ConvTranspose: 16 / 9 for windows of 3x3 and a stride of 2, 1 for 2x2 and 4x4.
constexpr double kMostProducts = 1.8;

bool all_are(const Ints* values, int64_t expected) {
  return !values || std::all_of(values->begin(), values->end(), [&](int64_t value) { return value == expected; });
}
int64_t at(const Ints* values, size_t i) { return values && i < values->size() ? (*values)[i] : 0; }
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/// One axis. Place i = s q + r behind DepthToSpace is row i - `cropped` of the result, and sums x[q - j] w[s j + r + offset] over j from
/// `least` to `most`.
struct Axis {
  int64_t kernel, offset, least, most, cropped, cropped_end, pad_end;
  int64_t taps() const { return most - least + 1; }

  /// Nothing if the padding exceeds what a Conv has.
  static std::optional<Axis> of(int64_t kernel, int64_t stride, int64_t begin, int64_t end, int64_t more) {
    std::optional<Axis> best;
    for (int64_t cropped = 0; cropped < stride; ++cropped) {
      Axis axis{kernel, begin - cropped, 0, 0, cropped, 0, 0};
      axis.least = floor_div(-axis.offset, stride), axis.most = floor_div(kernel - 1 - axis.offset, stride);
      // Places that the result has beyond `stride` for each pixel of x but one.
      const int64_t rest = cropped + kernel + more - begin - end, pixels = floor_div(rest - 1, stride);
      axis.pad_end = pixels - axis.least;
      axis.cropped_end = stride * (pixels + 1) - rest;
      if (axis.most >= 0 && axis.pad_end >= 0 && (!best || axis.taps() < best->taps())) best = axis;
    }
    return best;
  }
};

struct Form {
  int64_t stride;
  std::array<Axis, 2> axes;
};

std::optional<Form> form_of(const Node& node) {
  const Value *x = node.input(0), *w = node.input(1), *b = node.input(2);
  if (node.op() != "ConvTranspose" || !x || !w || !w->constant() || rank_of(*x) != size_t{4} || w->constant()->shape().rank() != 4)
    return {};
  if (w->constant()->dtype() != DType::f32 || w->constant()->elements() == 0) return {};
  if (b && (!b->constant() || b->constant()->dtype() != DType::f32)) return {};
  const std::string_view automatic = text_attribute(node, "auto_pad", "NOTSET");
  const Ints *strides = ints_attribute(node, "strides"), *pads = ints_attribute(node, "pads"),
             *more = ints_attribute(node, "output_padding");
  if ((automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) || ints_attribute(node, "output_shape")) return {};
  if (!all_are(ints_attribute(node, "dilations"), 1) || int_attribute(node, "group", 1) != 1) return {};
  const int64_t stride = strides && !strides->empty() ? (*strides)[0] : 1;
  if (stride < 1 || stride > 16 || !all_are(strides, stride)) return {};
  const Shape& shape = w->constant()->shape();
  Form form{stride, {}};
  double products = 1;
  for (size_t i = 0; i < 2; ++i) {
    const auto axis = Axis::of(shape[2 + i], stride, at(pads, i), at(pads, 2 + i), at(more, i));
    if (!axis) return {};
    form.axes[i] = *axis;
    products *= static_cast<double>(axis->taps() * stride) / static_cast<double>(axis->kernel);
  }
  return products <= kMostProducts ? std::optional(form) : std::nullopt;
}

/// [output channel, place in the square][input channel][taps]
Tensor weights_of(const Tensor& w, const Form& form) {
  const int64_t inputs = w.shape()[0], outputs = w.shape()[1], s = form.stride;
  const auto& [rows, columns] = form.axes;
  Tensor made(DType::f32, {outputs * s * s, inputs, rows.taps(), columns.taps()});
  float* to = made.writable().data<float>();
  for (int64_t o = 0; o < outputs * s * s; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t ty = 0; ty < rows.taps(); ++ty)
        for (int64_t tx = 0; tx < columns.taps(); ++tx, ++to) {
          const int64_t y = s * (rows.most - ty) + o / s % s + rows.offset, x = s * (columns.most - tx) + o % s + columns.offset;
          const bool inside = y >= 0 && y < rows.kernel && x >= 0 && x < columns.kernel;
          *to = inside ? w.data<float>()[((i * outputs + o / s / s) * rows.kernel + y) * columns.kernel + x] : 0;
        }
  return made;
}

void make_convolution(Graph& graph, Node& node, const Form& form) {
  const auto& [rows, columns] = form.axes;
  const int64_t area = form.stride * form.stride;
  const std::string stem = node.output(0)->name();
  const auto add = [&](std::string_view op, const std::vector<Value*>& inputs, Attributes attributes) {
    const std::string name[] = {graph.fresh_name(stem)};
    return graph.add_node(op, inputs, name, std::move(attributes), node.name(), &node).output(0);
  };
  const auto list = [&](const Ints& values) {
    Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.writable().data<int64_t>());
    return &graph.add_constant(std::move(tensor));
  };
  std::vector<Value*> inputs = {node.input(0),
                                &graph.add_constant(weights_of(*node.input(1)->constant(), form), graph.fresh_name(node.input(1)->name()))};
  if (const Value* b = node.input(2)) {
    const Tensor& bias = *b->constant();
    Tensor repeated(DType::f32, {bias.elements() * area});
    for (int64_t i = 0; i < repeated.elements(); ++i) repeated.writable().data<float>()[i] = bias.data<float>()[i / area];
    inputs.push_back(&graph.add_constant(std::move(repeated), graph.fresh_name(b->name())));
  }
  Value* y =
      add("Conv", inputs,
          {{"kernel_shape", Ints{rows.taps(), columns.taps()}}, {"pads", Ints{rows.most, columns.most, rows.pad_end, columns.pad_end}}});
  // An activation comes before the pixels are moved, where it joins the Conv.
  Value* result = node.output(0);
  if (Node* user = sole_user(*result); user && user->input(0) == result && activation_of(*user)) {
    inputs = {y};
    for (size_t i = 1; i < user->input_count(); ++i) inputs.push_back(user->input(i));
    y = add(user->op(), inputs, user->attributes);
    result = user->output(0);
  }
  const Attributes interleave = {{"blocksize", form.stride}, {"mode", std::string("CRD")}};
  if (form.stride > 1) y = add("DepthToSpace", {y}, interleave);
  if (rows.cropped || rows.cropped_end || columns.cropped || columns.cropped_end) {
    const auto end = [](const Axis& axis) { return axis.cropped_end ? -axis.cropped_end : std::numeric_limits<int64_t>::max(); };
    y = add("Slice", {y, list({rows.cropped, columns.cropped}), list({end(rows), end(columns)}), list({2, 3})}, {});
  }
  Node* const last = result->producer();
  take_place_of(*result, *y);
  remove_dead(*last);
}

}  // namespace

void transposed_to_convolutions(Graph& graph, const std::vector<std::string>& skip) {
  std::vector<std::pair<Node*, Form>> found;
  for (Node& node : graph.nodes())
    if (const auto form = form_of(node); form && !is_named(node, skip)) found.emplace_back(&node, *form);
  for (const auto& [node, form] : found) make_convolution(graph, *node, form);
  graph.remove_unused_constants();
}

}  // namespace minnow::compress

// SPDX-License-Identifier: Apache-2.0
// Pad: a border of constants or of repeated elements; negative amounts cut elements off.
#include <algorithm>
#include <cstring>

#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/copy_region.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<Name> kMode{"mode", "constant", "what the border holds: constant, reflect, edge or wrap"};

struct Border {
  Sizes shape;  // of the result
  std::array<Size, kMaxRank> before{}, after{};
};

Border border_of(const NodeView& node) {
  const Sizes from = node.input_sizes(0);
  const std::vector<Size> pads = node.sizes(1);
  Ints axes;
  if (node.has_input(3))
    axes = node.ints(3);
  else
    for (size_t i = 0; i < from.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (pads.size() != 2 * axes.size()) node.fail("pads {} should hold two numbers for each of {} axes", pads, axes.size());
  Border border;
  border.shape = from;
  std::array<bool, kMaxRank> seen{};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = node.normalize_axis(axes[i], from.rank());
    if (seen[axis]) node.fail("axes {} name an axis twice", axes);
    seen[axis] = true;
    border.before[axis] = pads[i];
    border.after[axis] = pads[axes.size() + i];
    Size& dim = border.shape[axis];
    dim = dim + pads[i] + pads[axes.size() + i];
    if (less(dim, 0) || (dim.is_unknown() && !node.is_symbolic())) node.fail("pads {} leave no shape of {}", pads, from);
  }
  return border;
}

// For every place along an axis of the result, the place in the input, or -1 for the constant. Negative amounts cut elements off
// before the rest is repeated.
Ints sources(const NodeView& node, std::string_view mode, int64_t dim, int64_t before, int64_t after, int64_t length) {
  const int64_t first = std::max<int64_t>(0, -before), last = dim - std::max<int64_t>(0, -after), kept = last - first;
  if (mode != "constant" && kept <= 0 && length > 0) node.fail("mode {} has no elements to repeat along an axis of {}", mode, dim);
  Ints places(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    int64_t k = i - before - first;  // 0 is the first element kept
    if (k < 0 || k >= kept) {
      if (mode == "constant") {
        places[static_cast<size_t>(i)] = -1;
        continue;
      }
      if (mode == "edge") {
        k = std::clamp<int64_t>(k, 0, kept - 1);
      } else if (mode == "wrap") {
        k = (k % kept + kept) % kept;
      } else if (kept == 1) {
        k = 0;
      } else {
        const int64_t period = 2 * (kept - 1);
        k = (k % period + period) % period;
        if (k >= kept) k = period - k;
      }
    }
    places[static_cast<size_t>(i)] = first + k;
  }
  return places;
}

Shapes infer(const NodeView& node) {
  const std::string_view mode = node.attribute(kMode);
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    node.fail("mode is \"{}\", it should be constant, reflect, edge or wrap", mode);
  if (!node.may_hold_one(2)) node.fail("constant_value of shape {} should be a scalar", node.input_sizes(2));
  if (node.has_input(3) && !node.knows_contents(3)) return {Sizes::filled(node.input_sizes(0).rank(), Size::unknown())};
  return {border_of(node).shape};
}

Batch pad_batch(const NodeView& node) {
  const Border border = border_of(node);
  return border.before[0].is(0) && border.after[0].is(0) ? Batch::apart : Batch::mixed;
}

// Mostly a few bytes: a border of one element, or of a pixel.
void copy(char* to, const char* from, size_t bytes) {
  if (bytes == 4)
    std::memcpy(to, from, 4);
  else if (bytes == 8)
    std::memcpy(to, from, 8);
  else
    std::memcpy(to, from, bytes);
}

struct Run {
  size_t from, to, length;  // elements of the last of the axes, then bytes
};

void reference(const NodeView& node, KernelArgs& args) {
  const TensorView& x = args.input(0);
  const MutableTensorView y = args.output(0);
  if (y.elements() == 0) return;
  const Border border = border_of(node);
  const std::string_view mode = node.attribute(kMode);
  const size_t size = size_of(x.dtype());
  if (mode == "constant") {
    constexpr char kZero[16] = {};
    fill_elements(size, args.has_input(2) ? args.input(2).data() : kZero, static_cast<size_t>(y.elements()), y.data());
    if (x.elements() == 0) return;
  }
  // Axes behind the last one that changes are part of one block.
  size_t rank = x.rank();
  while (rank > 0 && border.before[rank - 1].is(0) && border.after[rank - 1].is(0)) --rank;
  const int64_t block = x.shape().product(rank, x.rank());
  std::vector<Ints> places;
  for (size_t i = 0; i < rank; ++i)
    places.push_back(sources(node, mode, x.dim(i), border.before[i].number(), border.after[i].number(), y.dim(i)));
  // The last of them is copied in runs of neighbours.
  std::vector<Run> runs;
  if (rank == 0) {
    runs.push_back({0, 0, 1});
  } else {
    const Ints& last = places.back();
    for (size_t i = 0; i < last.size(); ++i) {
      if (last[i] < 0) continue;
      if (i > 0 && last[i - 1] >= 0 && last[i] == last[i - 1] + 1)
        ++runs.back().length;
      else
        runs.push_back({static_cast<size_t>(last[i]), i, 1});
    }
    --rank;
  }
  const size_t unit = static_cast<size_t>(block) * size;
  for (Run& run : runs) run = {run.from * unit, run.to * unit, run.length * unit};
  const Ints from = row_major_strides(x.shape()), to = row_major_strides(y.shape());
  for_each_index(Shape(y.shape().dims().first(rank)), [&](std::span<const int64_t> index) {
    int64_t source = 0, target = 0;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t place = places[i][static_cast<size_t>(index[i])];
      if (place < 0) return;
      source += place * from[i];
      target += index[i] * to[i];
    }
    const char* left = x.data<char>() + static_cast<size_t>(source) * size;
    char* right = y.data<char>() + static_cast<size_t>(target) * size;
    for (const Run& run : runs) copy(right + run.to, left + run.from, run.length);
  });
}

#if MINNOW_GRADIENTS
/// A border of constants is cut off again, and elements that were cut off have no gradient.
Exprs pad_gradient(const GradientContext& c) {
  if (c.node.attribute(kMode) != "constant") return moved_gradient(c);
  if (c.wants(2)) c.node.fail("has no gradient of its constant");
  Exprs inputs{c.output_gradient(0), -c.input(1)};
  if (c.has_input(3)) inputs.resize(3), inputs.push_back(c.input(3));
  Exprs made(c.inputs.size());
  made[0] = c.builder.op("Pad", inputs);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "Pad",
       .since = 25,
       .doc = MINNOW_DOC("A border of pads[i] elements before and pads[i + n] after each of the n `axes`: a constant, the elements "
                         "reflected at the border, the border's element, or the elements from the other side. Negative amounts cut "
                         "elements off, before anything is repeated."),
       .inputs = {{"data"}, {"pads", kI64}, {.name = "constant_value", .arity = kOptional, .like = "data"}, {"axes", kIndex, kOptional}},
       .outputs = {{"output", same_as("data")}},
       .attributes = {kMode},
       .infer_shapes = infer,
       .infer_contents = move_contents,
       .reference = reference,
       .gradient = MINNOW_GRADIENT(pad_gradient),
       .batch = pad_batch,
       .axes = axis_list(3)}};
}

}  // namespace

std::span<const Operator> pad_operators() { return operator_table<definitions>(); }

}  // namespace minnow

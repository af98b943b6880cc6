// SPDX-License-Identifier: Apache-2.0
// TensorArray (a handle, and a "flow" that orders the operations on it) and TensorList (a value) both become sequences; the flow stands for
// the sequence. Elements that were never set are zeros if their shape is known, else scalars, which cannot be joined with others.
#include <algorithm>

#include "importers/tensorflow/rules.h"

namespace minnow::tensorflow {
namespace {

using Dims = std::optional<Ints>;

DType dtype_of_list(TfNode& node, TypedBuilder& p, const Expr& list) {
  p.infer(list);
  const ValueType& type = list.value()->type;
  if (type.kind != ValueType::Kind::sequence) node.fail("its input is no list");
  return type.element_dtype();
}

/// The shape that a TensorList's operators take as an input: -1 alone stands for an unknown rank.
Dims element_shape(TfNode& node, TypedBuilder& p, size_t input) {
  if (input >= node.input_count() || p.rank(node.input(input)) == 0) return {};
  return p.ints(node.input(input));
}

Expr with_shape(const Expr& x, const Dims& dims) {
  if (dims && !x.value()->type.dims) {
    x.value()->type.dims.emplace();
    for (int64_t size : *dims) x.value()->type.dims->push_back(Dim{size, {}});
  }
  return x;
}

Expr split(TypedBuilder& p, const Expr& x) { return p.op("SplitToSequence", {x}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}); }

Expr stack(TypedBuilder& p, const Expr& list, const Dims& dims) {
  Dims stacked = dims;
  if (stacked) stacked->insert(stacked->begin(), -1);
  return with_shape(p.op("ConcatFromSequence", {list}, {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}}), stacked);
}

Expr scalar(TypedBuilder& p, const Expr& index) { return p.reshape(p.i64(index), Ints{}); }

Expr at(TypedBuilder& p, const Expr& list, const Expr& index, const Dims& dims) {
  return with_shape(p.op("SequenceAt", {list, scalar(p, index)}), dims);
}

Expr replaced(TypedBuilder& p, const Expr& list, const Expr& place, const Expr& x) {
  return p.op("SequenceInsert", {p.op("SequenceErase", {list, place}), x, place});
}

/// Writes x at `place`. If the list may grow, a place at its end appends x.
Expr written(TypedBuilder& p, const Expr& list, const Expr& place, const Expr& x, bool grows) {
  if (!grows) return replaced(p, list, place, x);
  Attributes branches;
  for (const bool there : {true, false}) {
    InnerGraph body(p);
    const auto here = [&](const Expr& e) { return body.builder.wrap(e.value()); };
    const Expr y =
        there ? replaced(body.builder, here(list), here(place), here(x)) : body.builder.op("SequenceInsert", {here(list), here(x)});
    body.graph->add_output(*y.value());
    branches.set(there ? "then_branch" : "else_branch", Subgraph(body.graph));
  }
  return p.op("If", {p.op("Less", {place, p.op("SequenceLength", {list})})}, std::move(branches));
}

Expr length(TypedBuilder& p, const Expr& list) { return p.cast(p.op("SequenceLength", {list}), DType::i32); }

Expr reserved(TypedBuilder& p, const Expr& count, const Dims& dims, DType dtype) {
  const Expr length = p.vector(p.i64(count));
  if (dims && std::find(dims->begin(), dims->end(), -1) == dims->end())
    return split(p, p.fill(p.concat({length, p.constant(*dims)}, 0), 0, dtype));
  // Insert and erase a vector, so that shape inference does not take the list for one of scalars, as ONNX's does, also in loops.
  const Expr first = p.scalar(0, DType::i64), vector = p.fill(p.constant({1}), 0, dtype);
  return p.op("SequenceErase", {p.op("SequenceInsert", {split(p, p.fill(length, 0, dtype)), vector, first}), first});
}

/// x[k] goes to place indices[k] of a list of as many elements.
Expr scattered(TypedBuilder& p, const Expr& x, const Expr& indices) {
  const Node* maker = indices.value()->producer();
  if (maker && maker->op() == "Range") {  // 0, 1, 2 ...: how a tensor is put into an array as a whole
    const auto first = p.number(p.wrap(maker->input(0))), step = p.number(p.wrap(maker->input(2)));
    if (first == 0.0 && step == 1.0) return split(p, x);
  }
  if (const auto known = p.ints(indices)) {
    bool in_order = true;
    for (size_t i = 0; i < known->size(); ++i) in_order = in_order && (*known)[i] == static_cast<int64_t>(i);
    if (in_order) return split(p, x);
  }
  const Expr places = p.i64(indices);
  const Expr numbers = p.op("Range", {p.scalar(0, DType::i64), p.op("Size", {places}), p.scalar(1, DType::i64)});
  return split(p, p.gather(x, p.op("ScatterElements", {numbers, places, numbers}), 0));
}

DType element_dtype(TfNode& node, std::string_view attribute) {
  const DType dtype = node.type(attribute);
  if (dtype == DType::undefined) node.refuse("a list of elements of this type is not supported");
  return dtype;
}

/// Joined along the first dimension. (The lengths, a second result, are asked for by gradients alone.)
Exprs joined(TypedBuilder& p, const Expr& list) { return {p.op("ConcatFromSequence", {list}, {{"axis", int64_t{0}}})}; }

}  // namespace

// The handle says whether the array grows.
Exprs tensor_array(TfNode& node, TypedBuilder& p) {
  const bool grows = node.flag("dynamic_size");
  return {p.scalar(grows, DType::boolean), reserved(p, node.input(0), node.shape("element_shape"), element_dtype(node, "dtype"))};
}
Exprs tensor_array_write(TfNode& node, TypedBuilder& p) {  // handle, index, value, flow
  const auto grows = p.ints(node.input(0));
  dtype_of_list(node, p, node.input(3));
  return {written(p, node.input(3), scalar(p, node.input(1)), node.input(2), !grows || grows->size() != 1 || grows->front())};
}
Exprs tensor_array_read(TfNode& node, TypedBuilder& p) { return {at(p, node.input(2), node.input(1), {})}; }
Exprs tensor_array_gather(TfNode& node, TypedBuilder& p) {  // handle, indices, flow
  return {p.gather(stack(p, node.input(2), node.shape("element_shape")), p.i64(node.input(1)), 0)};
}
Exprs tensor_array_scatter(TfNode& node, TypedBuilder& p) { return {scattered(p, node.input(2), node.input(1))}; }
Exprs tensor_array_concat(TfNode& node, TypedBuilder& p) { return joined(p, node.input(1)); }
Exprs tensor_array_split(TfNode& node, TypedBuilder& p) {  // handle, value, lengths, flow
  return {p.op("SplitToSequence", {node.input(1), p.vector(p.i64(node.input(2)))}, {{"axis", int64_t{0}}})};
}
Exprs tensor_array_size(TfNode& node, TypedBuilder& p) { return {length(p, node.input(1))}; }

Exprs list_reserve(TfNode& node, TypedBuilder& p) {
  return {reserved(p, node.input(1), element_shape(node, p, 0), element_dtype(node, "element_dtype"))};
}
Exprs list_empty(TfNode& node, TypedBuilder& p) {
  return {p.op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(element_dtype(node, "element_dtype"))}})};
}
Exprs list_from_tensor(TfNode& node, TypedBuilder& p) { return {split(p, node.input(0))}; }
Exprs list_get(TfNode& node, TypedBuilder& p) { return {at(p, node.input(0), node.input(1), element_shape(node, p, 2))}; }
Exprs list_set(TfNode& node, TypedBuilder& p) {
  dtype_of_list(node, p, node.input(0));
  return {written(p, node.input(0), scalar(p, node.input(1)), node.input(2), node.flag("resize_if_index_out_of_bounds"))};
}
Exprs list_stack(TfNode& node, TypedBuilder& p) { return {stack(p, node.input(0), element_shape(node, p, 1))}; }
Exprs list_length(TfNode& node, TypedBuilder& p) { return {length(p, node.input(0))}; }
Exprs list_push(TfNode& node, TypedBuilder& p) { return {p.op("SequenceInsert", {node.input(0), node.input(1)})}; }
Exprs list_pop(TfNode& node, TypedBuilder& p) {
  const Expr last = p.scalar(-1, DType::i64);
  return {p.op("SequenceErase", {node.input(0), last}), at(p, node.input(0), last, element_shape(node, p, 1))};
}
Exprs list_gather(TfNode& node, TypedBuilder& p) {
  return {p.gather(stack(p, node.input(0), element_shape(node, p, 2)), p.i64(node.input(1)), 0)};
}
Exprs list_scatter(TfNode& node, TypedBuilder& p) { return {scattered(p, node.input(0), node.input(1))}; }
Exprs list_concat(TfNode& node, TypedBuilder& p) { return joined(p, node.input(0)); }

}  // namespace minnow::tensorflow

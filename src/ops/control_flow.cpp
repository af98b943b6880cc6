// SPDX-License-Identifier: Apache-2.0
// Nodes that run subgraphs: If, Loop, SequenceMap. The runner binds what the subgraphs capture.
#include "ops/control_flow.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/memory.h"
#include "ops/copy_region.h"
#include "ops/operator_table.h"
#include "ops/sequence.h"

namespace minnow {

const Graph& subgraph_of(const NodeView& node, std::string_view attribute) {
  const Subgraph& graph = node.require<Subgraph>(attribute);
  if (!graph) node.fail("attribute \"{}\" holds no graph", attribute);
  return *graph;
}

void check_subgraph(const NodeView& node, std::string_view attribute, size_t inputs, size_t least_outputs) {
  const Graph& graph = subgraph_of(node, attribute);
  if (graph.inputs().size() != inputs) node.fail("graph \"{}\" takes {} inputs, {} are given", attribute, graph.inputs().size(), inputs);
  if (graph.outputs().size() < least_outputs)
    node.fail("graph \"{}\" has {} outputs, {} are needed", attribute, graph.outputs().size(), least_outputs);
}

ValueInfo subgraph_output(const NodeView& node, std::string_view attribute, size_t i) {
  return info_of(subgraph_of(node, attribute).outputs()[i]->type);
}

void Stack::append(KernelArgs& args, const TensorView& element) {
  if (size_of(element.dtype()) == 0) args.fail("what is stacked is no tensor");
  if (count_ == 0) {
    dtype_ = element.dtype();
    shape_ = element.shape();
  } else if (element.dtype() != dtype_ || element.shape() != shape_) {
    args.fail("iteration {} gives {}{} where the ones before gave {}{}", count_, element.dtype(), element.shape(), dtype_, shape_);
  }
  const size_t bytes = element.bytes(), used = bytes * static_cast<size_t>(count_);
  if (used + bytes > capacity_) {
    const size_t capacity = std::max<size_t>(2 * capacity_, used + bytes);
    std::shared_ptr<void> larger = allocate_shared(capacity);
    if (used) std::memcpy(larger.get(), memory_.get(), used);
    memory_ = std::move(larger);
    capacity_ = capacity;
  }
  if (bytes) std::memcpy(static_cast<char*>(memory_.get()) + used, element.data(), bytes);
  ++count_;
}

Tensor Stack::take(KernelArgs& args, const ValueType& declared, DType dtype, int64_t given_axis, bool reversed) {
  if (count_ == 0) {
    // Nothing tells the shape of the elements but what the graph declares; what it leaves open has no elements.
    shape_ = Shape();
    if (declared.dims)
      for (const Dim& dim : *declared.dims) shape_.push_back(dim.known() ? dim.size : 0);
    else
      for (int64_t least = given_axis < 0 ? -(given_axis + 1) : given_axis; static_cast<int64_t>(shape_.rank()) < least;)
        shape_.push_back(0);
    dtype_ = dtype != DType::undefined ? dtype : declared.dtype;
    if (size_of(dtype_) == 0) args.fail("an output of no iterations has no known dtype");
    memory_ = allocate_shared(0);
  }
  if (shape_.rank() == kMaxRank) args.fail("stacks tensors of rank {}", kMaxRank);
  const int64_t rank = static_cast<int64_t>(shape_.rank()) + 1;
  if (given_axis < -rank || given_axis >= rank) args.fail("axis {} is out of range for elements of shape {}", given_axis, shape_);
  const size_t axis = static_cast<size_t>(given_axis < 0 ? given_axis + rank : given_axis);
  Shape stacked = shape_, result = shape_;
  stacked.insert(0, count_);
  result.insert(axis, count_);
  stacked.elements();
  if (axis == 0 && !reversed) return Tensor(dtype_, result, memory_.get(), memory_);
  Tensor moved(dtype_, result);
  Ints to = row_major_strides(result);
  const int64_t step = to[axis];
  to.erase(to.begin() + static_cast<ptrdiff_t>(axis));
  to.insert(to.begin(), reversed ? -step : step);
  char* target = moved.writable().data<char>();
  if (reversed && count_ > 0) target += (count_ - 1) * step * static_cast<int64_t>(size_of(dtype_));
  copy_region(size_of(dtype_), stacked, memory_.get(), row_major_strides(stacked), target, to);
  return moved;
}

namespace {

constexpr AttributeSpec kThen = required("then_branch", AttributeKind::graph, "runs where the condition is true");
constexpr AttributeSpec kElse = required("else_branch", AttributeKind::graph, "runs where it is false");
constexpr AttributeSpec kLoopBody =
    required("body", AttributeKind::graph,
             "takes iteration number, condition and carried values; gives condition, carried values and one slice of each stacked output");
constexpr AttributeSpec kMapBody = required("body", AttributeKind::graph, "takes an element of each sequence; gives one of each output");

bool truth(KernelArgs& args, const Datum& datum, std::string_view what) {
  if (datum.kind != Datum::Kind::tensor || datum.tensor.dtype() != DType::boolean || datum.tensor.elements() != 1)
    args.fail("{} should be one bool", what);
  return *datum.tensor.data<uint8_t>() != 0;
}

Tensor bool_scalar(bool value) {
  Tensor tensor(DType::boolean, Shape{});
  *tensor.writable().data<uint8_t>() = value;
  return tensor;
}

void if_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  for (std::string_view branch : {"then_branch", "else_branch"}) check_subgraph(node, branch, 0, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueInfo a = subgraph_output(node, "then_branch", i), b = subgraph_output(node, "else_branch", i);
    // An optional holds what the other branch gives bare.
    outputs[i] = b.kind == ValueInfo::Kind::optional || a.dtype == DType::undefined ? b : a;
    if (a.dtype != DType::undefined && b.dtype != DType::undefined && (a.dtype != b.dtype || a.kind != b.kind) &&
        a.kind != ValueInfo::Kind::optional && b.kind != ValueInfo::Kind::optional)
      node.fail("output {} is {} in one branch and {} in the other", i, a.dtype, b.dtype);
    if (outputs[i].dtype == DType::undefined) outputs[i].dtype = a.dtype;
    // Constants of one shape in both branches: the shape is known. Declared shapes are not trusted.
    const Tensor* x = subgraph_of(node, "then_branch").outputs()[i]->constant();
    const Tensor* y = subgraph_of(node, "else_branch").outputs()[i]->constant();
    if (x && y && x->shape() == y->shape() && x->dtype() == y->dtype()) {
      outputs[i].extent = ValueInfo::Extent::exact;
      outputs[i].shape = x->shape();
    }
  }
}

void if_reference(const NodeView&, KernelArgs& args) {
  std::vector<Datum> results = args.run_subgraph(truth(args, args.datum(0), "the condition") ? "then_branch" : "else_branch", {});
  for (size_t i = 0; i < args.output_count(); ++i)
    if (args.has_output(i)) args.set_output(i, std::move(results[i]));
}

size_t carried_count(const NodeView& node) { return node.input_count() > 2 ? node.input_count() - 2 : 0; }

void loop_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  const size_t carried = carried_count(node);
  check_subgraph(node, "body", carried + 2, std::max(carried, outputs.size()) + 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = subgraph_output(node, "body", i + 1);
    if (i >= carried && outputs[i].kind != ValueInfo::Kind::tensor) node.fail("output {} stacks values that are no tensors", i);
    if (i >= carried || !node.has_input(i + 2)) continue;
    if (outputs[i].dtype != DType::undefined) continue;
    const ValueInfo& initial = node.input(i + 2);
    outputs[i].kind = initial.kind;
    outputs[i].element = initial.element;
    outputs[i].dtype = initial.dtype;
  }
}

void loop_reference(const NodeView& node, KernelArgs& args) {
  const size_t carried = carried_count(node);
  int64_t limit = std::numeric_limits<int64_t>::max();
  if (args.has_input(0)) {
    if (args.input(0).elements() != 1) args.fail("the trip count of shape {} should be a scalar", args.input(0).shape());
    limit = args.ints(0)[0];
  }
  bool running = !args.has_input(1) || truth(args, args.datum(1), "the condition");
  std::vector<Datum> state(carried + 2);
  for (size_t i = 0; i < carried; ++i)
    if (args.has_input(i + 2)) state[i + 2] = args.datum(i + 2);
  const Graph& body = subgraph_of(node, "body");
  std::vector<Stack> stacks(body.outputs().size() - 1 - carried);
  for (int64_t iteration = 0; running && iteration < limit; ++iteration) {
    state[0] = Tensor::scalar_i64(iteration);
    state[1] = bool_scalar(running);
    std::vector<Datum> results = args.run_subgraph("body", state);
    running = truth(args, results[0], "the condition that the body gives");
    for (size_t i = 0; i < carried; ++i) state[i + 2] = std::move(results[i + 1]);
    for (size_t i = 0; i < stacks.size(); ++i)
      if (args.has_output(carried + i)) stacks[i].append(args, results[1 + carried + i].tensor);
  }
  for (size_t i = 0; i < args.output_count(); ++i) {
    if (!args.has_output(i)) continue;
    if (i < carried)
      args.set_output(i, std::move(state[i + 2]));
    else
      args.set_output(i, Datum(stacks[i - carried].take(args, body.outputs()[i + 1]->type, node.output(i).dtype, 0, false)));
  }
}

void map_infer(const NodeView& node, std::span<ValueInfo> outputs) {
  check_subgraph(node, "body", node.input_count(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) set_sequence(outputs[i], subgraph_output(node, "body", i).dtype);
}

void map_reference(const NodeView& node, KernelArgs& args) {
  std::vector<Datum> inputs;
  for (size_t i = 0; i < args.input_count(); ++i) inputs.push_back(args.has_input(i) ? args.datum(i) : Datum());
  const size_t count = inputs[0].items.size();
  for (const Datum& input : inputs)
    if (input.kind == Datum::Kind::sequence && input.items.size() != count)
      args.fail("sequences of {} and {} tensors are given", count, input.items.size());
  std::vector<std::vector<Datum>> outputs(args.output_count());
  for (size_t k = 0; k < count; ++k) {
    std::vector<Datum> elements = inputs;
    for (Datum& element : elements)
      if (element.kind == Datum::Kind::sequence) element = Datum(element.items[k]);
    std::vector<Datum> results = args.run_subgraph("body", elements);
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].push_back(owned(std::move(results[i])));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    DType dtype = node.output(i).dtype;
    if (dtype == DType::undefined && !outputs[i].empty()) dtype = outputs[i][0].tensor.dtype();
    if (args.has_output(i)) args.set_output(i, Datum::sequence(dtype, std::move(outputs[i])));
  }
}

constexpr List<Operator> definitions() {
  return {
      {.name = "If",
       .since = 25,
       .doc = MINNOW_DOC("The outputs of one of two graphs, which one the condition says. The graphs see the values around the node."),
       .inputs = {{"cond", kBool}},
       .outputs = {{"outputs", same_as("cond"), kVariadic}},
       .attributes = {kThen, kElse},
       .infer = if_infer,
       .reference = if_reference},
      {.name = "Loop",
       .since = 25,
       .doc = MINNOW_DOC("Runs a graph again and again, at most M times and while its condition is true; carried values go from one "
                         "iteration to the next, other outputs are stacked along a new first axis."),
       .inputs = {{"M", kI64, kOptional}, {"cond", kBool, kOptional}, {"v_initial", kAny, kVariadic, kAnyKind}},
       .outputs = {{"v_final_and_scan_outputs", same_as("v_initial"), kVariadic}},
       .attributes = {kLoopBody},
       .infer = loop_infer,
       .reference = loop_reference},
      {.name = "SequenceMap",
       .since = 17,
       .doc =
           MINNOW_DOC("Runs a graph on each tensor of a sequence (together with those of further sequences, or with the same tensor each "
                      "time); the results make sequences."),
       .inputs = {sequence_input("input_sequence"), {"additional_inputs", kAny, kVariadic, kTensors | kSequences}},
       .outputs = {{"out_sequence", same_as("input_sequence"), kVariadic}},
       .attributes = {kMapBody},
       .infer = map_infer,
       .reference = map_reference},
  };
}

}  // namespace

std::span<const Operator> control_flow_operators() { return operator_table<definitions>(); }

}  // namespace minnow

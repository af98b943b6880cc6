// SPDX-License-Identifier: Apache-2.0
// Scan: a graph run along an axis of its inputs, with a state.
#include "ops/control_flow.h"
#include "ops/copy_region.h"
#include "ops/operator_table.h"
#include "ops/sequence.h"

namespace minnow {
namespace {

constexpr AttributeSpec kBody = required(
    "body", AttributeKind::graph, "takes the state and a slice of each scanned input; gives the state and a slice of each stacked output");
constexpr AttributeSpec kInputs =
    required("num_scan_inputs", AttributeKind::integer, "how many of the last inputs are scanned; the others are the state");
constexpr AttributeSpec kInputAxes = optional("scan_input_axes", AttributeKind::integers, "axis of each scanned input; 0 by default");
constexpr AttributeSpec kOutputAxes = optional("scan_output_axes", AttributeKind::integers, "axis of each stacked output; 0 by default");
constexpr AttributeSpec kInputDirections =
    optional("scan_input_directions", AttributeKind::integers, "1 for each scanned input that is read backward; 0 by default");
constexpr AttributeSpec kOutputDirections =
    optional("scan_output_directions", AttributeKind::integers, "1 for each stacked output that is written backward; 0 by default");

struct Counts {
  size_t states, scanned, stacked;
};

Counts counts_of(const NodeView& node) {
  const int64_t scanned = node.require<int64_t>("num_scan_inputs");
  if (scanned < 1 || scanned > static_cast<int64_t>(node.input_count()))
    node.fail("num_scan_inputs is {}, the node has {} inputs", scanned, node.input_count());
  Counts counts{node.input_count() - static_cast<size_t>(scanned), static_cast<size_t>(scanned), 0};
  check_subgraph(node, "body", node.input_count(), std::max(counts.states, node.output_count()));
  counts.stacked = subgraph_of(node, "body").outputs().size() - counts.states;
  return counts;
}

// One number for each of `count` inputs or outputs, 0 by default.
Ints list_of(const NodeView& node, std::string_view attribute, size_t count) {
  const Ints* given = node.find<Ints>(attribute);
  if (!given) return Ints(count, 0);
  if (given->size() != count) node.fail("attribute \"{}\" is {}, it should hold {} numbers", attribute, *given, count);
  return *given;
}

Ints directions_of(const NodeView& node, std::string_view attribute, size_t count) {
  const Ints list = list_of(node, attribute, count);
  for (int64_t direction : list)
    if (direction != 0 && direction != 1) node.fail("attribute \"{}\" is {}, it should hold zeros and ones", attribute, list);
  return list;
}

void infer(const NodeView& node, std::span<ValueInfo> outputs) {
  const Counts counts = counts_of(node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = subgraph_output(node, "body", i);
    if (outputs[i].kind != ValueInfo::Kind::tensor) node.fail("output {} is no tensor", i);
    if (i < counts.states && outputs[i].dtype == DType::undefined) outputs[i].dtype = node.input_dtype(i);
  }
  directions_of(node, "scan_input_directions", counts.scanned);
  directions_of(node, "scan_output_directions", counts.stacked);
  list_of(node, "scan_output_axes", counts.stacked);
  const Ints axes = list_of(node, "scan_input_axes", counts.scanned);
  Size length = Size::unknown();
  for (size_t i = 0; i < counts.scanned; ++i) {
    const auto shape = node.known_sizes(counts.states + i);
    if (!shape) continue;
    const Size dim = (*shape)[node.normalize_axis(axes[i], shape->rank(), "scan_input_axes")];
    if (differ(dim, length)) node.fail("scanned inputs have {} and {} slices", length, dim);
    length = dim;
  }
}

}  // namespace

ScanForm scan_form(const NodeView& node) {
  const Counts counts = counts_of(node);
  return {counts.states,
          counts.scanned,
          counts.stacked,
          list_of(node, "scan_input_axes", counts.scanned),
          list_of(node, "scan_output_axes", counts.stacked),
          directions_of(node, "scan_input_directions", counts.scanned),
          directions_of(node, "scan_output_directions", counts.stacked)};
}

Tensor slice_of(const TensorView& x, size_t axis, int64_t t) {
  Shape shape = x.shape();
  shape.erase(axis);
  Ints strides = row_major_strides(x.shape());
  const char* from = x.data<char>() + static_cast<size_t>(t * strides[axis]) * size_of(x.dtype());
  if (axis == 0) return Tensor(x.dtype(), shape, from, nullptr);
  strides.erase(strides.begin() + static_cast<ptrdiff_t>(axis));
  Tensor made(x.dtype(), shape);
  copy_region(size_of(x.dtype()), shape, from, strides, made.writable().data(), row_major_strides(shape));
  return made;
}

namespace {

void reference(const NodeView& node, KernelArgs& args) {
  const ScanForm counts = scan_form(node);
  std::vector<size_t> axes;
  for (size_t i = 0; i < counts.scanned; ++i)
    axes.push_back(node.normalize_axis(counts.input_axes[i], args.input(counts.states + i).rank()));
  const int64_t length = args.input(counts.states).dim(axes[0]);
  std::vector<Datum> state(counts.states + counts.scanned);
  for (size_t i = 0; i < counts.states; ++i) state[i] = args.datum(i);
  std::vector<Stack> stacks(counts.stacked);
  for (int64_t t = 0; t < length; ++t) {
    for (size_t i = 0; i < counts.scanned; ++i)
      state[counts.states + i] = Datum(slice_of(args.input(counts.states + i), axes[i], counts.input_backward[i] ? length - 1 - t : t));
    std::vector<Datum> results = args.run_subgraph("body", state);
    for (size_t i = 0; i < counts.states; ++i) state[i] = std::move(results[i]);
    for (size_t i = 0; i < counts.stacked; ++i)
      if (args.has_output(counts.states + i)) stacks[i].append(args, results[counts.states + i].tensor);
  }
  const Graph& body = subgraph_of(node, "body");
  for (size_t i = 0; i < args.output_count(); ++i) {
    if (!args.has_output(i)) continue;
    if (i < counts.states) {
      args.set_output(i, std::move(state[i]));
      continue;
    }
    const size_t k = i - counts.states;
    args.set_output(i, Datum(stacks[k].take(args, body.outputs()[i]->type, node.output(i).dtype, counts.output_axes[k],
                                            counts.output_backward[k] != 0)));
  }
}

constexpr List<Operator> definitions() {
  return {
      {.name = "Scan",
       .since = 25,
       .doc = MINNOW_DOC("Runs a graph on slice after slice of the scanned inputs. The state goes from one slice to the next; the other "
                         "outputs are stacked along a new axis."),
       .inputs = {{"initial_state_and_scan_inputs", kAny, kVariadic}},
       .outputs = {{"final_state_and_scan_outputs", same_as("initial_state_and_scan_inputs"), kVariadic}},
       .attributes = {kBody, kInputs, kInputAxes, kOutputAxes, kInputDirections, kOutputDirections},
       .infer = infer,
       .reference = reference}};
}

}  // namespace

std::span<const Operator> scan_operators() { return operator_table<definitions>(); }

}  // namespace minnow

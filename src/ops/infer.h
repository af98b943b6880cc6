// SPDX-License-Identifier: Apache-2.0
// Types of the values of a whole graph, written into Value::type: dtypes and kinds, or shapes for given sizes, or symbolic shapes.
// Subgraphs are included. These functions write into the graph: call them before it is shared.
#pragma once
#include <map>
#include <string>

#include "base/function_ref.h"
#include "ops/operator.h"

namespace minnow {

/// Fills in dtypes and kinds (not shapes) of all values that nodes make and of the inputs of subgraphs. Control flow needs it: what an If
/// or a Loop gives is known from its subgraphs alone. Operators that `operators` lacks leave their outputs as they are.
/// Checks the form of every node on the way (check_form): importers, the pipeline of passes and Model::from_graph call this function before
/// anything else looks at the nodes, so that passes and kernels may rely on required inputs, outputs and attributes. Throws InvalidModel
/// where a node contradicts its operator.
void infer_types(const OperatorSet& operators, const Graph& graph);

/// The same for one node, from the types of its inputs and, for control flow, of its subgraphs' outputs.
void infer_types(const OperatorSet& operators, const Node& node);

/// Shapes of all values for inputs of these shapes (of the declared ones where not given), contents of small integer tensors computed on
/// the way. Dimensions are written where they are certain: for these input shapes, not for others. The others stay open.
/// Throws InvalidArgument for shapes that the inputs cannot have, InvalidModel where a node does not fit.
void infer_static_types(const OperatorSet& operators, const Graph& graph, const std::map<std::string, Shape>& input_shapes = {});

/// Infers the outputs of an If over its branches: outputs of the same dtype and shape in both (or in the one that is taken,
/// where the condition is known) get them, the others stay as they are. `outside` tells what is known of the condition and of captured
/// values. Other nodes are left alone. Writes nothing into the graphs.
void infer_branches(const OperatorSet& operators, const Node& node, FunctionRef<ValueInfo(const Value&)> outside,
                    std::span<ValueInfo> outputs);

/// The same of a Loop or a Scan: carried values whose shapes an iteration keeps, and the elements that are stacked. Numbers of iterations
/// that are not known, or zero, leave stacked outputs as they are. For builds with expressions.
void infer_iterations(const OperatorSet& operators, const Node& node, FunctionRef<ValueInfo(const Value&)> outside,
                      std::span<ValueInfo> outputs);

/// Shapes of all values in terms of the inputs' symbols. Dimensions that only a run tells have no symbol.
/// False where a node does not fit; dtypes and kinds are filled in then too.
bool infer_symbolic_types(const OperatorSet& operators, const Graph& graph);

/// The same for one node, from the types of its inputs and, where `known` gives it, from what else is known of them. Dimensions that only a
/// run tells get symbols of their own in `table`. Where the node does not fit, its outputs have no dimensions. Returns what is known of the
/// outputs, small contents included.
std::vector<ValueInfo> infer_dims(
    const OperatorSet& operators, SizeTable& table, Node& node,
    FunctionRef<const ValueInfo*(const Value&)> known = [](const Value&) { return static_cast<const ValueInfo*>(nullptr); });

}  // namespace minnow

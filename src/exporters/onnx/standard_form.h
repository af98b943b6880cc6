// SPDX-License-Identifier: Apache-2.0
// A graph in ONNX's operators alone.
#pragma once
#include "ops/operator.h"

namespace minnow::onnx {

/// A copy of `graph`, its constants shared, in which operators of the minnow domain (and those that opset `opset` or ONNX Runtime lacks)
/// are replaced by their decompositions; custom operators stay. Types are inferred anew, and outputs have ranks where any way tells them.
/// Throws Unsupported with all nodes that cannot be decomposed without the shapes of their inputs.
std::unique_ptr<Graph> standard_form(const OperatorSet& operators, const Graph& graph, int64_t opset);

}  // namespace minnow::onnx

// SPDX-License-Identifier: Apache-2.0
// A graph in ONNX's operators alone.
#pragma once
#include "ops/operator.h"

namespace minnow::onnx {

/// The operator that the writer names com.microsoft.MatMulNBits.
inline constexpr std::string_view kMatMulNBits = "minnow.MatMulNBits";

/// A copy of `graph` that shares its constants. Operators of the minnow domain (except kMatMulNBits where ONNX Runtime runs it), and those
/// that opset `opset` or ONNX Runtime lacks, are replaced by their decompositions; custom operators stay. Types are inferred again, and
/// outputs get ranks if any method finds them. Throws Unsupported, naming all nodes that cannot be decomposed without the shapes of their
/// inputs.
std::unique_ptr<Graph> standard_form(const OperatorSet& operators, const Graph& graph, int64_t opset);

}  // namespace minnow::onnx

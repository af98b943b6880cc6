// SPDX-License-Identifier: Apache-2.0
// Helpers of the operators that run subgraphs.
#pragma once
#include "ops/operator.h"

namespace minnow {

/// The graph of an attribute; throws InvalidModel where there is none.
const Graph& subgraph_of(const NodeView& node, std::string_view attribute);
/// Throws InvalidModel where the graph takes another number of inputs, or has fewer outputs.
void check_subgraph(const NodeView& node, std::string_view attribute, size_t inputs, size_t least_outputs);
/// Kind and dtype of an output of the graph, as far as types were inferred (infer_types); its shape is left unknown.
ValueInfo subgraph_output(const NodeView& node, std::string_view attribute, size_t i);

/// The attributes of a Scan: an axis for each scanned input and stacked output, and whether it is walked backward.
struct ScanForm {
  size_t states, scanned, stacked;
  Ints input_axes, output_axes, input_backward, output_backward;
};
/// Throws InvalidModel.
ScanForm scan_form(const NodeView& node);
/// Slice t of a tensor along an axis, without that axis; borrowed where it lies in one piece.
Tensor slice_of(const TensorView& x, size_t axis, int64_t t);

/// Tensors of one dtype and shape, gathered one after the other and stacked along a new axis.
class Stack {
 public:
  void append(KernelArgs& args, const TensorView& element);
  /// The stacked tensor. Where there were no elements, `declared` tells their shape and `dtype` (or `declared`) their dtype.
  Tensor take(KernelArgs& args, const ValueType& declared, DType dtype, int64_t axis, bool reversed);

 private:
  std::shared_ptr<void> memory_;
  size_t capacity_ = 0;
  int64_t count_ = 0;
  DType dtype_ = DType::undefined;
  Shape shape_;
};

}  // namespace minnow

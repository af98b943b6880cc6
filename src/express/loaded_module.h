// SPDX-License-Identifier: Apache-2.0
// Functions that only modules of loaded models have.
#pragma once
#include "express/node.h"

namespace minnow::express {

class ModelModule : public Module {
 public:
  /// Plans for inputs of these shapes, in the model's order, and packs weights now. Throws the errors of planning.
  virtual void prepare(std::span<const Shape> input_shapes) = 0;
  /// The same call as forward() with tensors, into memory of the caller that has the outputs' dtypes and shapes.
  virtual void run_into(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs) = 0;
  /// A copy of the value that a state has now, by the model's order.
  virtual Tensor state(size_t i) = 0;
  /// Throws InvalidArgument for another dtype, and for a shape that the model does not declare.
  virtual void set_state(size_t i, const Tensor& value) = 0;
};

}  // namespace minnow::express

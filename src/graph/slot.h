// SPDX-License-Identifier: Apache-2.0
// Where the values of a plan are during a run.
#pragma once
#include <minnow/tensor.h>

#include <string_view>

#include "base/function_ref.h"

namespace minnow {

/// One value of a running plan. A tensor is read through `view`; a sequence or an optional through `datum`.
struct Slot {
  TensorView view;         // dtype, shape, elements; for an output the plan has set it before the kernel runs where its shape is known
  void* buffer = nullptr;  // memory that the plan reserved for it, or null
  size_t capacity = 0;     // bytes of `buffer`; of a sequence or an optional: 1 where a single step reads it, once, so that it may be moved
  Datum datum;             // sequences and optionals; also owns the memory of a tensor that the plan could not place
};

/// Runs the subgraphs of a control-flow node. Captured values are bound by the runtime.
class SubgraphRunner {
 public:
  /// Runs the graph of that attribute; the outputs own their memory. Throws what the run threw.
  virtual std::vector<Datum> run(std::string_view attribute, std::span<const Datum> inputs) = 0;
  virtual ~SubgraphRunner() = default;
};

}  // namespace minnow

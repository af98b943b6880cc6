// SPDX-License-Identifier: Apache-2.0
// Runs nodes and graphs by their references alone, one node after the other: what is constant is computed so ahead of a run, and tests
// compare other kernels with it.
#pragma once
#include <functional>
#include <optional>

#include "base/function_ref.h"

#include "ops/operator.h"

namespace minnow {

/// Outputs of one node for the given inputs (kind none: absent), by its reference or its decomposition.
/// Throws InvalidModel or InvalidArgument with the node where it cannot be computed.
std::vector<Datum> evaluate(const OperatorSet& operators, const Node& node, std::span<const Datum> inputs,
                            const std::function<std::vector<Datum>(const Graph&, std::span<const Datum>)>& run_subgraph = {});

/// Sees a node's inputs and outputs (kind none: absent) when it has been computed, in subgraphs too; may put others in place of the
/// outputs.
using Observer = std::function<void(const Node& node, std::span<const Datum> inputs, std::span<Datum> outputs)>;

/// Outputs of a graph. States read their initial values.
std::vector<Datum> evaluate(const OperatorSet& operators, const Graph& graph, std::span<const Datum> inputs, const Observer& observer = {});

/// Computes what depends on constants alone: for importers, passes and plans. Everybody who computes ahead of a run asks it, so that one
/// place decides what may be computed. Memory is charged to the account of the thread. Throws Cancelled where the thread's watch says stop;
/// other errors leave a node uncomputed, and the run reports them if it gets there.
class ConstantEvaluator {
 public:
  /// Looks at the types of a node's outputs before anything is computed or allocated; false leaves the node uncomputed.
  using Accept = FunctionRef<bool(std::span<const ValueInfo> outputs)>;

  /// Importers compute up to 64 KB of f32, which a graph may hold without growing much.
  static constexpr int64_t kFewElements = 16384;

  /// A node whose known inputs and outputs have more elements together stays uncomputed.
  explicit ConstantEvaluator(const OperatorSet& operators, int64_t most_elements = INT64_MAX)
      : operators_(operators), most_elements_(most_elements) {}

  /// True where a node gives the same whenever and wherever it is computed: it draws no random numbers, runs no subgraph, and is no custom
  /// operator, whose library a reader of the file may lack.
  bool may_compute(const Node& node) const;
  /// The node's outputs, which are tensors, for these inputs (kind none: absent; a tensor without memory: its shape alone is known). Empty
  /// where they cannot be computed.
  std::vector<Datum> outputs(const Node& node, std::span<const Datum> inputs) const;
  std::vector<Datum> outputs(const Node& node, std::span<const Datum> inputs, Accept accept) const;
  /// The tensor of a constant, or of a value that nodes compute from constants alone. `may_enter` is asked before a node is
  /// looked at, so that a search can end long before the graph's inputs.
  std::optional<Tensor> contents(const Value& value, FunctionRef<bool(const Node&)> may_enter) const;
  /// The first output of an operator for such inputs, which must fit it.
  Tensor apply(std::string_view op, std::initializer_list<Tensor> inputs, Attributes attributes = {}) const;

 private:
  struct Search;
  std::optional<Tensor> contents(const Value& value, Search& search, int depth) const;

  const OperatorSet& operators_;
  const int64_t most_elements_;
};

}  // namespace minnow

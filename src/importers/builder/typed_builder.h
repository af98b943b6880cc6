// SPDX-License-Identifier: Apache-2.0
// Builds graphs for importers and infers the types of the nodes, as far as the file determines them.
#pragma once
#include <memory>
#include <unordered_set>

#include "graph/expr.h"
#include "graph/size.h"
#include "ops/operator.h"

namespace minnow {

/// The end of a Slice that goes to the end, whatever the size.
constexpr int64_t kEnd = INT64_MAX;

class TypedBuilder : public GraphBuilder {
 public:
  TypedBuilder(Graph& graph, const OperatorSet& operators, SizeTable& sizes)
      : GraphBuilder(graph), operators_(&operators), sizes_(&sizes) {}
  const OperatorSet& operators() const noexcept { return *operators_; }
  SizeTable& sizes() const noexcept { return *sizes_; }

  // Nodes. The types of their outputs are inferred.
  Expr op(std::string_view name, ListView<Expr> inputs, const AttributeList& attributes = kNoAttributes);
  Exprs ops(std::string_view name, ListView<Expr> inputs, size_t outputs, const AttributeList& attributes = kNoAttributes);
  Expr reals(const Shape& shape, std::span<const double> values, DType dtype = DType::f32);  // a constant

  // Queries. They infer the types of nodes that were made with plain expressions.
  void infer(const Expr& x);
  /// x itself if a node of this graph makes it and no output has it yet, as outputs require; else a copy made by an Identity node.
  Expr own(const Expr& x);
  /// Called before a node that was made here is removed.
  void forget(const Node& node) { inferred_.erase(&node); }
  DType dtype(const Expr& x);
  int64_t rank(const Expr& x);               // -1: not known
  int64_t dim(const Expr& x, int64_t axis);  // from the end if negative; -1: not known
  std::optional<Ints> shape(const Expr& x);  // if all sizes are known
  std::optional<Ints> ints(const Expr& x);   // elements, if they follow from constants
  std::optional<double> number(const Expr& x);

  // Shapes.
  Expr cast(const Expr& x, DType dtype);  // x itself if it has that dtype; integer constants are cast at once
  Expr i64(const Expr& x) { return cast(x, DType::i64); }
  Expr shape_of(const Expr& x, int64_t start = 0, int64_t end = kEnd);  // i64 vector; a constant if it is known
  Expr reshape(const Expr& x, ListView<int64_t> shape);                 // -1 infers one; 0 is a size
  Expr reshape(const Expr& x, const Expr& shape);
  Expr vector(const Expr& x) { return reshape(x, {-1}); }
  Expr transpose(const Expr& x, ListView<int64_t> perm);
  Expr swap_last(const Expr& x);  // the last two dimensions
  Expr unsqueeze(const Expr& x, ListView<int64_t> axes);
  Expr squeeze(const Expr& x, ListView<int64_t> axes);
  Expr concat(ListView<Expr> parts, int64_t axis);
  Expr slice(const Expr& x, ListView<int64_t> starts, ListView<int64_t> ends, ListView<int64_t> axes, ListView<int64_t> steps = {});
  Expr gather(const Expr& x, const Expr& indices, int64_t axis) { return op("Gather", {x, indices}, {{"axis", axis}}); }
  Expr fill(const Expr& shape, double value, DType dtype);
  /// f(x) for an elementwise f. If x is the result of a Transpose, f is applied before it, so that Transposes meet and cancel.
  template <class F>
  Expr elementwise(const Expr& x, F f) {
    Ints perm;
    const Expr source = before_transpose(x, perm);
    return perm.empty() ? f(source) : transpose(f(source), perm);
  }

 private:
  /// If a Transpose makes x and nothing else reads x: removes it and returns its input and permutation. Else returns x.
  Expr before_transpose(const Expr& x, Ints& perm);

  const OperatorSet* operators_;
  SizeTable* sizes_;
  std::unordered_set<const void*> inferred_;
};

/// A graph inside of a node (a branch, the body of a loop), while it is filled.
struct InnerGraph {
  /// It may use the values of the graph that `outside` builds.
  explicit InnerGraph(const TypedBuilder& outside);
  std::shared_ptr<Graph> graph;
  TypedBuilder builder;
};

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Expr: a value of a graph that is being built, with arithmetic operators. Importers, passes, decompositions and gradients all write graphs
// with it.
#pragma once
#include "base/list_view.h"
#include "graph/graph.h"

namespace minnow {

class GraphBuilder;

/// A handle on a value; empty for an absent optional input.
class Expr {
 public:
  Expr() = default;
  Expr(GraphBuilder& builder, Value& value) : builder_(&builder), value_(&value) {}
  explicit operator bool() const noexcept { return value_ != nullptr; }
  Value* value() const noexcept { return value_; }
  GraphBuilder& builder() const noexcept { return *builder_; }

 private:
  GraphBuilder* builder_ = nullptr;
  Value* value_ = nullptr;
};
using Exprs = std::vector<Expr>;

/// Adds nodes to a graph, at its end or before a node.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph, Node* before = nullptr) : graph_(&graph), before_(before) {}
  Graph& graph() const noexcept { return *graph_; }
  /// Names of nodes and values made from now on begin with this (the foreign node's name), so that errors and profiles can be read.
  void set_stem(std::string stem) { stem_ = std::move(stem); }
  void set_insertion_point(Node* before) { before_ = before; }

  Expr wrap(Value* value) { return value ? Expr(*this, *value) : Expr(); }
  /// One node with one output.
  Expr op(std::string_view name, ListView<Expr> inputs, const AttributeList& attributes = kNoAttributes);
  /// One node with `outputs` outputs.
  Exprs ops(std::string_view name, ListView<Expr> inputs, size_t outputs, const AttributeList& attributes = kNoAttributes);
  Expr constant(Tensor tensor);
  Expr constant(ListView<int64_t> ints);                // i64, rank 1
  Expr scalar(double value, DType dtype = DType::f32);  // rank 0
  Expr scalar_like(double value, const Expr& like);     // rank 0, dtype of `like`, which must be known

 private:
  Graph* graph_;
  Node* before_;
  std::string stem_;
};

/// Free form of GraphBuilder::op for expressions that exist: op("Tanh", {x}).
Expr op(std::string_view name, ListView<Expr> inputs, const AttributeList& attributes = kNoAttributes);

// Numbers take the dtype of the expression beside them.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator+(const Expr& a, double b);
Expr operator-(const Expr& a, double b);
Expr operator*(const Expr& a, double b);
Expr operator/(const Expr& a, double b);
Expr operator+(double a, const Expr& b);
Expr operator-(double a, const Expr& b);
Expr operator*(double a, const Expr& b);
Expr operator/(double a, const Expr& b);
Expr operator>=(const Expr& a, double b);
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr cast(const Expr& x, DType dtype);

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// The vocabulary of passes: questions about nodes and values, and changes that keep names, types and the form of the graph right. A value
// keeps its name as long as it is the same tensor. A scaled, shifted or permuted tensor gets another name, because compare.h and callers
// who ask for a tensor by name rely on that.
#pragma once
#include <optional>

#include "graph/activation.h"
#include "graph/graph.h"
#include "passes/pass.h"

namespace minnow {

// Questions.

/// The node that makes `value` if it is that operator, else null.
Node* made_by(const Value* value, std::string_view op) noexcept;
/// The only node that uses `value`, if it is in the same graph and `value` is no output; else null.
Node* sole_user(const Value& value) noexcept;
inline bool has_one_use(const Value& value) noexcept { return sole_user(value) != nullptr; }
/// True for an output that the graph gives under its name (the next value of a state has none).
bool is_named_output(const Value& value) noexcept;
/// The other input of a node with two inputs.
inline Value* other_input(const Node& node, const Value* one) noexcept { return node.input(0) == one ? node.input(1) : node.input(0); }

/// The definition of a built-in operator, for its traits; null for a custom operator, which has none.
const Operator* traits_of(const Node& node) noexcept;
/// A convolution or a matrix product of real numbers, with or without steps that it has taken in.
inline bool is_conv(const Node& node) { return node.op() == "Conv" || node.op() == "minnow.FusedConv"; }
inline bool is_matmul(const Node& node) { return node.op() == "MatMul" || node.op() == "Gemm" || node.op() == "minnow.FusedMatMul"; }
/// True if output 0 has the elements of input 0 in their order, in the same shape (Identity) or in another.
bool keeps_elements(const Node& node) noexcept;
/// The same for operators that change the shape.
bool is_reshape(const Node& node) noexcept;
/// True if no element is below zero.
bool is_never_negative(const Value& value) noexcept;

/// The rank, if it is known.
std::optional<size_t> rank_of(const Value& value) noexcept;
/// Dimension `axis` (from the end if negative), if it is a known number.
std::optional<int64_t> dim_of(const Value& value, int64_t axis) noexcept;
/// True if the shapes are the same for certain: equal numbers, or equal symbols, everywhere.
bool same_shape(const Value& a, const Value& b) noexcept;
inline bool same_dtype(const Value& a, const Value& b) noexcept {
  return a.type.kind == b.type.kind && a.type.dtype == b.type.dtype && a.type.dtype != DType::undefined;
}
/// The one element of a constant of one element.
std::optional<double> scalar_of(const Value* value) noexcept;
/// True if `value` is a constant of one element that is `expected`, within the precision of half floats.
bool is_scalar(const Value* value, double expected) noexcept;
/// The elements of a constant.
std::optional<Ints> ints_of(const Value* value);
std::optional<std::vector<double>> reals_of(const Value* value);

int64_t int_attribute(const Node& node, std::string_view name, int64_t fallback) noexcept;
float real_attribute(const Node& node, std::string_view name, float fallback) noexcept;
std::string_view text_attribute(const Node& node, std::string_view name, std::string_view fallback = {}) noexcept;
const Ints* ints_attribute(const Node& node, std::string_view name) noexcept;
/// `axis` in [0, rank), if it is in range.
std::optional<size_t> positive_axis(int64_t axis, size_t rank) noexcept;
/// A name for reports: the node's, or that of its first output.
std::string label_of(const Node& node);

/// Bytes that a constant takes in a file.
size_t stored_bytes(DType dtype, const Shape& shape);

// Changes.

/// Replaces `value` by `with` in all uses. If `value` is an output of the model, `with` takes over its name. Returns false, without
/// changes, if `with` cannot (it is an input, a constant, or an output itself).
bool forward(Value& value, Value& with);
/// Replaces `value` by the output of a new node, inserted before the old producer: the output takes over name, type and users. The old
/// producer stays, unused; see remove_dead().
Node& replace(Value& value, std::string_view op, const std::vector<Value*>& inputs, Attributes attributes = {}, std::string name = {});
/// The same for a node that already exists: its output `with` replaces `value`.
void take_place_of(Value& value, Value& with);
/// Removes `node` if nothing uses its outputs, and then the producers of its inputs likewise. Safe for the current node of an iteration and
/// nodes before it.
void remove_dead(Node& node);
/// Nodes after the current position of a walk. Removing them at once would disturb the walk, so they are collected until its end.
class DeadNodes {
 public:
  void add(Node& node) { nodes_.push_back(&node); }
  /// Calls remove_dead() for each. Call it after the walk.
  void remove() {
    for (Node* node : nodes_) remove_dead(*node);
    nodes_.clear();
  }

 private:
  std::vector<Node*> nodes_;
};
/// The activation that a node computes, if fused operators have it.
std::optional<Activation> activation_of(const Node& node);
/// Infers the types of the outputs of a node that was made without taking another's place.
void infer_node(PassContext& context, Node& node);
/// A constant of the same dtype as `like` with these elements (rounded to it).
Value& add_reals(Graph& graph, DType dtype, const Shape& shape, std::span<const double> values, std::string name = {});
Value& add_ints(Graph& graph, std::span<const int64_t> values, std::string name = {});  // i64, rank 1

/// Calls body(graph) for `graph` and every graph within, outer ones first.
template <class F>
void for_each_graph(Graph& graph, F&& body) {
  body(graph);
  for (Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) for_each_graph(**subgraph, body);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// The implementation of Var: cells (variables), and the immutable nodes of the lazy graph that are their values.
#pragma once
#include <minnow/express.h>

#include <atomic>
#include <functional>

#include "ops/operator.h"

namespace minnow::express {

struct Cell;
struct LazyNode;

/// Output `output` of a node; without a node: absent.
struct LazyValue {
  std::shared_ptr<LazyNode> node;
  uint32_t output = 0;
  explicit operator bool() const noexcept { return node != nullptr; }
  friend bool operator==(const LazyValue&, const LazyValue&) = default;
};

struct HashOfValue {
  size_t operator()(const LazyValue& value) const noexcept { return std::hash<const void*>()(value.node.get()) * 31 + value.output; }
};

/// One output of a node: its type as far as it is known, and the value once it is computed.
struct Output {
  std::string name;
  ValueInfo::Kind kind = ValueInfo::Kind::absent;
  ValueInfo::Kind element = ValueInfo::Kind::tensor;
  DType dtype = DType::undefined;
  bool shape_known = false;  // without computing
  Shape shape;
  bool memory_is_ours = false;   // the tensor's memory was allocated here, and its owner counts all who read it
  Tensor tensor;                 // the value of a tensor
  std::shared_ptr<Datum> datum;  // of a sequence or an optional
  bool has_value() const noexcept { return static_cast<bool>(tensor) || datum != nullptr; }
};

/// A subgraph of a control-flow node. Its inputs are those that the operator passes, followed by captured values, which are additional
/// inputs of the node after the operator's own.
struct Closure {
  std::string attribute;
  std::shared_ptr<const Graph> graph;
  size_t captures = 0;
};

/// The additional members of states and steps (express/state.h).
struct StateParts {
  Tensor initial;                      // state
  std::vector<const LazyNode*> feeds;  // step: the placeholders and states that it depends on
};

/// A constant, a placeholder, a call of an operator, a state, or a step of states.
struct LazyNode {
  enum class Kind : uint8_t { constant, placeholder, call, state, step };
  Kind kind = Kind::constant;
  bool trainable = false;      // constant: a parameter
  bool fed_by_others = false;  // depends on a placeholder or a state
  bool keeps_inputs = false;   // depends on a placeholder, a state or a parameter: the expression is kept once it is computed
  uint32_t pending = 0;        // at least as many nodes as are not computed yet here and before; an upper bound
  uint64_t id = 0;             // grows with every node that is made
  uint64_t epoch = 0;          // when the value was computed or, of a placeholder or a state, given
  std::string name;
  std::vector<Output> outputs;
  std::weak_ptr<Cell> variable;  // of a parameter

  // call
  const Operator* op = nullptr;
  std::shared_ptr<const OperatorSet> operators;  // that `op` is from; null: the built-in ones
  Attributes attributes;                         // without the subgraphs
  std::vector<Closure> closures;
  std::string form;               // attributes and subgraphs as bytes: equal for nodes that compute the same
  std::vector<LazyValue> inputs;  // the operator's own, then the captures of each closure in order
  size_t formal_inputs = 0;

  // placeholder
  std::vector<int64_t> dims;
  bool any_rank = false;
  bool is_formal = false;  // an argument with which a function of control flow is recorded

  std::unique_ptr<StateParts> state;
  std::unique_ptr<std::vector<std::optional<std::vector<Dim>>>> open;  // the results of open_dims() for each output

  // Used by the thread that collects an expression.
  uint64_t mark = 0;
  uint32_t place = 0, uses = 0;

  LazyNode() noexcept : id(next_id.fetch_add(1, std::memory_order_relaxed)) {}
  ~LazyNode();
  LazyNode(const LazyNode&) = delete;
  LazyNode& operator=(const LazyNode&) = delete;

  /// True if the outputs hold values that count now.
  bool is_computed() const noexcept {
    if (kind == Kind::step) return computed_ && is_of_these_feeds();
    if (kind != Kind::call) return kind != Kind::placeholder || outputs[0].has_value();
    return computed_ && (!fed_by_others || epoch == current_epoch.load(std::memory_order_relaxed));
  }
  void set_computed() noexcept { computed_ = true; }
  /// The node has to be computed again.
  void set_pending() noexcept { computed_ = false; }
  /// Called when a placeholder or a state gets another value: every node that depends on it must be computed again.
  void set_given() noexcept { epoch = next_epoch(); }
  static uint64_t next_epoch() noexcept { return current_epoch.fetch_add(1, std::memory_order_relaxed) + 1; }

  static std::atomic<uint64_t> next_id;
  static std::atomic<uint64_t> current_epoch;  // counts assignments to placeholders and states, and steps

 private:
  bool is_of_these_feeds() const noexcept {
    for (const LazyNode* feed : state->feeds)
      if (feed->epoch > epoch || !feed->is_computed()) return false;
    return true;
  }
  bool computed_ = false;
};

/// A number of elements for each axis.
using Strides = Shape;

/// The elements of its base that a view shows: `shape` elements, `strides[i]` apart along axis i, beginning at `offset`. The base of a view
/// of a view is the variable behind both; its parent is the other view.
struct Region {
  Shape base;
  int64_t offset = 0;
  Shape shape;
  Strides strides;
  bool read_only = false;        // places of it may be one element, or NumPy's view is for reading too
  int part = 0;                  // of complex elements 1: the real, 2: the imaginary parts; the strides are of whole elements
  bool by_call = false;          // a call of an operator is better than a copy, which the planner might not need
  std::shared_ptr<Cell> parent;  // null: the base itself
  /// The view's value as an expression of the parent's, for parents that are not computed.
  std::function<LazyValue(const LazyValue&)> of_parent;
};

/// A variable's value in another memory.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  /// Copies it into the variable's value: into its memory, where nobody else holds that.
  virtual void fetch(Cell& cell) const = 0;
};

/// A variable.
struct Cell {
  LazyValue value;             // of a view: made from the base's when it is read
  std::shared_ptr<Cell> base;  // of a view
  std::unique_ptr<Region> region;
  LazyValue seen;                          // the base's value that `value` was made from
  std::shared_ptr<const Elsewhere> newer;  // what `value` is to become when somebody reads it; null: nothing
};

/// Brings the value of a variable here, or that of a view's base. Whoever looks into a cell calls this first, as value_of() does.
inline void settle(Cell& cell) {
  Cell& owner = cell.base ? *cell.base : cell;
  if (!owner.newer) [[likely]]
    return;
  owner.newer->fetch(owner);
  owner.newer = nullptr;
}

struct Access {
  static const std::shared_ptr<Cell>& cell(const Var& x) { return x.cell_; }
  static std::shared_ptr<Cell> take(Var& x) { return std::move(x.cell_); }
  static Var var(std::shared_ptr<Cell> cell) { return Var(std::move(cell)); }
};

/// The value that a variable has now; absent for an absent one.
LazyValue value_of(const Var& x);
/// The same for the last Var of a variable. The variable is released, so that intermediate results of an expression are not kept.
LazyValue value_of(Var&& x);
/// The same of a Var that must be there.
LazyValue required_value(const Var& x);
LazyValue required_value(Var&& x);
Var var_of(LazyValue value);
LazyValue constant_value(Tensor tensor);
LazyValue constant_value(Datum datum);
inline Output& output_of(const LazyValue& value) { return value.node->outputs[value.output]; }

/// Throws Unsupported with the nearest names.
const Operator& find_operator(std::string_view name);
const Operator& find_operator(std::string_view name, std::shared_ptr<const OperatorSet>& operators);

/// The one of two sets (either may be null) that contains the custom operators of both. Throws Unsupported if neither does.
const std::shared_ptr<const OperatorSet>& joined(const std::shared_ptr<const OperatorSet>& a, const std::shared_ptr<const OperatorSet>& b);

/// The argument of the last use_operators(); null: only the built-in operators.
std::shared_ptr<const OperatorSet> operators_in_use();

/// The arguments of call().
struct CallRequest {
  const Operator* op = nullptr;
  std::shared_ptr<const OperatorSet> operators;
  Attributes attributes;
  std::vector<Closure> closures;
  std::vector<LazyValue> inputs;
  size_t formal_inputs = 0;
  std::vector<bool> wanted;  // outputs
  std::string name;
};
/// Makes a node that calls an operator and infers the types of its outputs. Throws InvalidModel if the inputs do not fit. Computes the
/// expression when it has grown to kMostPending nodes.
std::shared_ptr<LazyNode> call(CallRequest request);
inline constexpr uint32_t kMostPending = 1000;

/// The same for operators that take only tensors and return one tensor.
LazyValue call(const Operator& op, std::span<const LazyValue> inputs, Attributes attributes = {});
inline LazyValue call(const Operator& op, std::initializer_list<LazyValue> inputs, Attributes attributes = {}) {
  return call(op, std::span<const LazyValue>(inputs.begin(), inputs.size()), std::move(attributes));
}
LazyValue call(std::string_view op, std::initializer_list<LazyValue> inputs, Attributes attributes = {});
LazyValue cast(const LazyValue& x, DType dtype);
LazyValue ints_value(const Ints& values);

/// A value's properties for shape rules.
ValueInfo info_of(const LazyValue& value, bool with_contents);

/// The shape of a tensor if it is known without computing and does not depend on a placeholder; else null.
const Shape* known_shape(const LazyValue& value);

}  // namespace minnow::express

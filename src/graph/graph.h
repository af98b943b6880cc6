// SPDX-License-Identifier: Apache-2.0
// The graph: nodes in an order in which every value is made before it is used, values with their types, subgraphs, states.
#pragma once
#include <minnow/tensor.h>

#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace minnow {

class Graph;
class MemoryAccount;
class Node;
class Value;

/// One dimension of a declared type: a size, a symbol ("batch"), or neither (unknown).
struct Dim {
  int64_t size = -1;
  std::string symbol;
  bool known() const noexcept { return size >= 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// The declared or inferred type of a value. Unknown parts are left out: dtype undefined, dims empty (unknown rank).
struct ValueType {
  enum class Kind : uint8_t { tensor, sequence, optional };
  Kind kind = Kind::tensor;
  DType dtype = DType::undefined;            // kind tensor
  std::optional<std::vector<Dim>> dims;      // kind tensor
  std::shared_ptr<const ValueType> element;  // kind sequence, optional

  static ValueType tensor(DType dtype) { return {Kind::tensor, dtype, {}, {}}; }
  static ValueType tensor(DType dtype, const Shape& shape);
  static ValueType sequence_of(ValueType element);
  static ValueType optional_of(ValueType element);
  /// True where every dimension is known.
  bool is_static() const noexcept;
  /// The shape, where is_static(), else throws InvalidArgument.
  Shape shape() const;
  /// dtype of the tensor, or of the innermost element of a sequence or an optional.
  DType element_dtype() const noexcept;
};
/// "f32[1, 3, height, ?]", "seq(i64)", "optional(f32)"
std::string to_string(const ValueType& type);

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
using Subgraph = std::shared_ptr<Graph>;
using AttributeValue = std::variant<int64_t, float, std::string, Tensor, Subgraph, Ints, Floats, Strings, ValueType>;

/// An attribute as a call writes it, {"axis", axis}. It refers to the caller's value, so it must not outlive the call.
struct NamedAttribute {
  class Reference {
   public:
    Reference(std::integral auto value) noexcept : integer_(value) {}
    Reference(const char* text) noexcept
        : object_(text), copy_([](const void* x) { return AttributeValue(static_cast<const char*>(x)); }) {}
    template <class T>
    requires(!std::integral<T>) Reference(const T& value)
    noexcept : object_(&value), copy_([](const void* x) { return AttributeValue(*static_cast<const T*>(x)); }) {}
    AttributeValue copy() const { return copy_ ? copy_(object_) : AttributeValue(integer_); }

   private:
    union {
      int64_t integer_;
      const void* object_;
    };
    AttributeValue (*copy_)(const void*) = nullptr;  // of the object
  };
  const char* name;
  Reference value;
};

/// The attributes of a node: a few (name, value) pairs.
class Attributes {
 public:
  Attributes();
  Attributes(std::initializer_list<NamedAttribute> list);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();
  const AttributeValue* find(std::string_view name) const noexcept;
  AttributeValue* find(std::string_view name) noexcept;
  /// The value if it is there and of that type, else null.
  template <class T>
  const T* get(std::string_view name) const noexcept {
    const AttributeValue* value = find(name);
    return value ? std::get_if<T>(value) : nullptr;
  }
  void set(std::string_view name, AttributeValue value);
  void remove(std::string_view name);
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }
  size_t size() const noexcept { return items_.size(); }

 private:
  std::vector<std::pair<std::string, AttributeValue>> items_;
};

/// A parameter that takes {{"axis", axis}, ...} or Attributes, without a copy.
class AttributeList {
 public:
  constexpr AttributeList() = default;
  AttributeList(std::initializer_list<NamedAttribute> list) noexcept : list_(list) {}
  AttributeList(const Attributes& attributes) noexcept : attributes_(&attributes) {}
  Attributes copy() const { return attributes_ ? *attributes_ : Attributes(list_); }

 private:
  std::initializer_list<NamedAttribute> list_;
  const Attributes* attributes_ = nullptr;
};
inline constexpr AttributeList kNoAttributes;

struct Use {
  Node* node;
  uint32_t input;
};

/// A value: a graph input, a constant (initializer), or an output of a node.
class Value {
 public:
  const std::string& name() const noexcept { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  ValueType type;

  /// The node that makes it; null for inputs and constants.
  Node* producer() const noexcept { return producer_; }
  size_t output_index() const noexcept { return index_; }
  /// The graph it belongs to; nodes of subgraphs of that graph may use it too (a captured value).
  Graph& graph() const noexcept { return *graph_; }
  bool is_input() const noexcept { return !producer_ && !constant_; }
  /// The contents of a constant, else null.
  const Tensor* constant() const noexcept { return constant_ ? &*constant_ : nullptr; }
  void set_constant(Tensor tensor);  // on a constant only

  /// Every use as a node input, in subgraphs too, in no particular order. Being a graph output is not listed here.
  std::span<const Use> uses() const noexcept { return uses_; }
  bool is_graph_output() const noexcept { return output_uses_ != 0; }
  bool is_unused() const noexcept { return uses_.empty() && output_uses_ == 0; }
  /// Makes every user, graph outputs included, use `other`. Linear in the uses.
  void replace_all_uses_with(Value& other);

 private:
  friend class Graph;
  friend class Node;
  Value(Graph& graph, std::string name) : name_(std::move(name)), graph_(&graph) {}
  std::string name_;
  Graph* graph_;
  Node* producer_ = nullptr;
  uint32_t index_ = 0;  // output of the producer, or place among the graph's inputs or constants
  uint32_t output_uses_ = 0;
  std::optional<Tensor> constant_;
  std::vector<Use> uses_;
};

/// One operation. `op` is the operator's name; operators outside ai.onnx carry their domain: "minnow.FusedConv", "com.example.Foo".
class Node {
 public:
  const std::string& op() const noexcept { return op_; }
  const std::string& name() const noexcept { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  Graph& graph() const noexcept { return *graph_; }
  Attributes attributes;

  size_t input_count() const noexcept { return inputs_.size(); }
  /// Null for an optional input that is absent; also beyond the last input.
  Value* input(size_t i) const noexcept { return i < inputs_.size() ? inputs_[i].value : nullptr; }
  void set_input(size_t i, Value* value);  // extends the list where needed; trailing absent inputs are cut
  size_t output_count() const noexcept { return outputs_.size(); }
  /// Null for an optional output that is absent.
  Value* output(size_t i) const noexcept { return i < outputs_.size() ? outputs_[i].get() : nullptr; }

  Node* next() const noexcept { return next_; }
  Node* previous() const noexcept { return previous_; }
  /// `resnet50.onnx: node "conv1" (Conv)`, the beginning of every error about this node.
  std::string where() const;

 private:
  friend class Graph;
  friend class Value;
  struct InputSlot {
    Value* value = nullptr;
    uint32_t use = 0;  // place in value's list of uses
  };
  Node() = default;
  void connect(size_t i, Value* value);
  void disconnect(size_t i);
  std::string op_, name_;
  Graph* graph_ = nullptr;
  std::vector<InputSlot> inputs_;
  std::vector<std::unique_ptr<Value>> outputs_;
  Node *next_ = nullptr, *previous_ = nullptr;
};

/// A value that a session keeps between runs: read like an input, replaced by `next` when a run ends.
struct State {
  std::string name;
  Value* current;  // no producer, not among the inputs
  Value* next;
  Tensor initial;
};

/// Facts about a model that are not its computation.
struct Metadata {
  std::string producer, source_format, source_hash;
  std::vector<std::string> labels;
  std::map<std::string, std::string> properties;
};

class Graph {
 public:
  /// Nodes and values are charged to the account of the thread that makes the graph.
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::string source;  // where it came from ("resnet50.onnx"), for errors
  Metadata metadata;
  /// The graph that holds the node whose attribute this is. A subgraph that captures values must die with or before it.
  Graph* outer = nullptr;

  Value& add_input(std::string name, ValueType type);
  Value& add_constant(Tensor tensor, std::string name = {});
  /// Appends a node, or inserts it before `before`. `outputs` names its outputs; an empty name is an absent optional output.
  Node& add_node(std::string_view op, std::span<Value* const> inputs, std::span<const std::string> outputs, Attributes attributes = {},
                 std::string name = {}, Node* before = nullptr);
  Node& add_node(std::string_view op, std::initializer_list<Value*> inputs, size_t output_count = 1, Attributes attributes = {},
                 std::string name = {}, Node* before = nullptr);
  void add_output(Value& value);
  void set_output(size_t i, Value& value);
  /// `state.current` null: a value of that name and of the initial tensor's type is made. `state.next` may be set later.
  void add_state(State state);
  void set_state_next(size_t i, Value& next);
  /// The node's outputs must be unused.
  void remove(Node& node);
  void remove_unused_constants();
  void remove_input(size_t i);  // must be unused
  void replace_outputs(const std::vector<Value*>& outputs);
  /// Puts the inputs in this order; `names` must be their names, each once.
  void order_inputs(const std::vector<std::string>& names);
  /// Puts `node` before `before` (at the end where null).
  void move(Node& node, Node* before);

  const std::vector<std::unique_ptr<Value>>& inputs() const noexcept { return inputs_; }
  const std::vector<std::unique_ptr<Value>>& constants() const noexcept { return constants_; }
  const std::vector<Value*>& outputs() const noexcept { return outputs_; }
  const std::vector<State>& states() const noexcept { return states_; }
  Node* first() const noexcept { return first_; }
  Node* last() const noexcept { return last_; }
  size_t node_count() const noexcept { return count_; }

  /// for (Node& node : graph.nodes()): the current node may be removed, and nodes inserted before it.
  class NodeRange {
   public:
    class Iterator {
     public:
      explicit Iterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
      Node& operator*() const noexcept { return *node_; }
      Iterator& operator++() noexcept {
        node_ = next_;
        next_ = node_ ? node_->next() : nullptr;
        return *this;
      }
      bool operator!=(const Iterator& other) const noexcept { return node_ != other.node_; }

     private:
      Node *node_, *next_;
    };
    explicit NodeRange(Node* first) : first_(first) {}
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return Iterator(nullptr); }

   private:
    Node* first_;
  };
  NodeRange nodes() const noexcept { return NodeRange(first_); }

  /// A deep copy of the structure; constants share their memory.
  std::unique_ptr<Graph> clone() const;
  /// A name that no other call of this function returned and that no importer makes.
  std::string fresh_name(std::string_view stem);
  /// How many names this graph and those within have made; a model file keeps it, so that a graph read back makes new ones.
  uint64_t names_made() const noexcept { return name_counter_; }
  void set_names_made(uint64_t count) noexcept { name_counter_ = count; }

 private:
  friend class Value;
  friend class Node;
  void charge(size_t bytes);
  void refund(size_t bytes) noexcept;
  void link(Node& node, Node* before);
  void unlink(Node& node);
  std::vector<std::unique_ptr<Value>> inputs_, constants_, state_values_;
  std::vector<Value*> outputs_;
  std::vector<State> states_;
  Node *first_ = nullptr, *last_ = nullptr;
  size_t count_ = 0;
  uint64_t name_counter_ = 0;
  std::shared_ptr<MemoryAccount> account_;
  size_t charged_ = 0;
};

/// The values of outer graphs that `graph` (a subgraph) or its own subgraphs use, each once, in order of first use.
std::vector<Value*> captured_values(const Graph& graph);

/// Throws InvalidModel where the graph breaks a promise of its form: order, ownership, names of inputs and outputs.
void verify(const Graph& graph);

/// The graph as text, one node a line, the form that parse_graph reads (text.cpp shows it). The contents of larger constants are left out
/// ("..."), except where all elements are equal; such a text cannot be read back.
std::string to_text(const Graph& graph, size_t inline_elements = 64);
/// Reads the text form; for tests and debugging. A constant may also be given as `random SEED`: floats in [-1, 1), integers in [-4, 4].
/// Throws InvalidModel with the line.
std::unique_ptr<Graph> parse_graph(std::string_view text);

}  // namespace minnow

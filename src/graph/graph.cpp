// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/watch.h"

namespace minnow {

ValueType ValueType::tensor(DType dtype, const Shape& shape) {
  ValueType type = tensor(dtype);
  type.dims.emplace();
  for (int64_t size : shape) type.dims->push_back(Dim{size, {}});
  return type;
}

ValueType ValueType::sequence_of(ValueType element) {
  ValueType type;
  type.kind = Kind::sequence;
  type.element = std::make_shared<const ValueType>(std::move(element));
  return type;
}

ValueType ValueType::optional_of(ValueType element) {
  ValueType type = sequence_of(std::move(element));
  type.kind = Kind::optional;
  return type;
}

bool ValueType::is_static() const noexcept {
  return kind == Kind::tensor && dims && std::all_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.known(); });
}

Shape ValueType::shape() const {
  if (!is_static()) throw InvalidArgument("type {} has no fixed shape", to_string(*this));
  Shape shape;
  for (const Dim& dim : *dims) shape.push_back(dim.size);
  return shape;
}

DType ValueType::element_dtype() const noexcept { return kind == Kind::tensor || !element ? dtype : element->element_dtype(); }

std::string to_string(const ValueType& type) {
  if (type.kind != ValueType::Kind::tensor)
    return (type.kind == ValueType::Kind::sequence ? "seq(" : "optional(") + (type.element ? to_string(*type.element) : std::string("?")) +
           ")";
  std::string text(type.dtype == DType::undefined ? std::string_view("?") : name_of(type.dtype));
  if (!type.dims) return text;
  text += '[';
  for (size_t i = 0; i < type.dims->size(); ++i) {
    const Dim& dim = (*type.dims)[i];
    if (i) text += ", ";
    text += dim.known() ? std::to_string(dim.size) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text + ']';
}

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<NamedAttribute> list) {
  items_.reserve(list.size());
  for (const NamedAttribute& attribute : list) items_.emplace_back(attribute.name, attribute.value.copy());
}
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;
const AttributeValue* Attributes::find(std::string_view name) const noexcept {
  for (const auto& [key, value] : items_)
    if (key == name) return &value;
  return nullptr;
}
AttributeValue* Attributes::find(std::string_view name) noexcept { return const_cast<AttributeValue*>(std::as_const(*this).find(name)); }

void Attributes::set(std::string_view name, AttributeValue value) {
  if (AttributeValue* old = find(name))
    *old = std::move(value);
  else
    items_.emplace_back(std::string(name), std::move(value));
}

void Attributes::remove(std::string_view name) {
  std::erase_if(items_, [&](const auto& item) { return item.first == name; });
}

void Value::set_constant(Tensor tensor) {
  MINNOW_CHECK(constant_, "only a constant's contents can be replaced");
  type = ValueType::tensor(tensor.dtype(), tensor.shape());
  constant_ = std::move(tensor);
}

namespace {

// Value::output_uses_ is 0 without such a use. For a value that is one output and nothing else, the usual case, it holds that output's
// place, so that replacing each of many outputs takes linear time; else the number of uses.
constexpr uint32_t kOnePlace = uint32_t{1} << 31;
constexpr size_t kNoPlace = kOnePlace;  // of the next value of a state

void add_use(uint32_t& uses, size_t place) {
  if (uses == 0 && place < kNoPlace)
    uses = kOnePlace | static_cast<uint32_t>(place);
  else
    uses = (uses & kOnePlace ? 1 : uses) + 1;
}
void remove_use(uint32_t& uses) { uses = uses & kOnePlace ? 0 : uses - 1; }
}  // namespace

void Value::replace_all_uses_with(Value& other) {
  if (&other == this) return;
  while (!uses_.empty()) {
    const Use use = uses_.back();
    use.node->set_input(use.input, &other);
  }
  if (const size_t place = output_uses_ & ~kOnePlace;
      output_uses_ & kOnePlace && place < graph_->outputs_.size() && graph_->outputs_[place] == this)
    return graph_->set_output(place, other);
  for (size_t i = 0; output_uses_ && i < graph_->outputs_.size(); ++i)
    if (graph_->outputs_[i] == this) graph_->set_output(i, other);
  for (size_t i = 0; output_uses_ && i < graph_->states_.size(); ++i)
    if (graph_->states_[i].next == this) graph_->set_state_next(i, other);
}

void Node::connect(size_t i, Value* value) {
  if (!value) return;
  value->uses_.push_back({this, static_cast<uint32_t>(i)});  // before the input names it: this may throw
  inputs_[i] = {value, static_cast<uint32_t>(value->uses_.size() - 1)};
}

void Node::disconnect(size_t i) {
  Value* value = inputs_[i].value;
  if (!value) return;
  const uint32_t place = inputs_[i].use;
  const Use moved = value->uses_.back();
  value->uses_[place] = moved;
  moved.node->inputs_[moved.input].use = place;
  value->uses_.pop_back();
  inputs_[i].value = nullptr;
}

void Node::set_input(size_t i, Value* value) {
  if (i >= inputs_.size()) inputs_.resize(i + 1);
  disconnect(i);
  connect(i, value);
  while (!inputs_.empty() && !inputs_.back().value) inputs_.pop_back();
}

std::string Node::where() const {
  const Graph* top = graph_;
  while (top && top->outer) top = top->outer;
  const std::string source = top && !top->source.empty() ? top->source + ": " : std::string();
  std::string shown = name_;
  if (shown.empty())
    for (const auto& output : outputs_)
      if (output && shown.empty()) shown = output->name();
  constexpr size_t kMostShown = 250;
  return format("{}node \"{}\" ({})", source, shortened(shown, kMostShown), shortened(op_, kMostShown));
}

namespace {

// About what a node, its inputs and its attributes take beside its outputs.
size_t node_bytes(size_t inputs, size_t attributes) {
  return sizeof(Node) + inputs * (2 * sizeof(Use)) + attributes * (sizeof(AttributeValue) + sizeof(std::string));
}

}  // namespace

Graph::Graph() : account_(current_account()) {}

void Graph::charge(size_t bytes) {
  if (!account_) return;
  account_->charge(bytes);
  charged_ += bytes;
}

void Graph::refund(size_t bytes) noexcept {
  if (!account_) return;
  bytes = std::min(bytes, charged_);
  account_->refund(bytes);
  charged_ -= bytes;
}

Graph::~Graph() {
  // Nodes of this graph may use values of outer graphs, which outlive it: take those uses back. Values of this graph die with it.
  for (Node* node = last_; node;) {
    Node* previous = node->previous_;
    for (size_t i = 0; i < node->inputs_.size(); ++i) node->disconnect(i);
    node->attributes = {};
    node = previous;
  }
  for (Node* node = first_; node;) {
    Node* next = node->next_;
    delete node;
    node = next;
  }
  refund(charged_);
}

namespace {

/// Names that are made later have higher numbers.
void note_number(Graph& graph, uint64_t number) {
  Graph* top = &graph;
  while (top->outer) top = top->outer;
  top->set_names_made(std::max(top->names_made(), number));
}

/// Names that are made later differ from `name`: a file that Minnow exported has names with numbers, too.
void note_name(Graph& graph, std::string_view name) {
  const size_t mark = name.rfind('#');
  if (mark == std::string_view::npos) return;
  constexpr size_t kMostDigits = 18;  // a number with more is not ours
  const std::string_view digits = name.substr(mark + 1);
  if (digits.empty() || digits.size() > kMostDigits) return;
  uint64_t number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return;
    number = 10 * number + static_cast<uint64_t>(digit - '0');
  }
  note_number(graph, number);
}

}  // namespace

Value& Graph::add_input(std::string name, ValueType type) {
  charge(sizeof(Value));
  note_name(*this, name);
  std::unique_ptr<Value> value(new Value(*this, std::move(name)));
  value->type = std::move(type);
  value->index_ = static_cast<uint32_t>(inputs_.size());
  inputs_.push_back(std::move(value));
  return *inputs_.back();
}

Value& Graph::add_constant(Tensor tensor, std::string name) {
  charge(sizeof(Value));
  note_name(*this, name);
  std::unique_ptr<Value> value(new Value(*this, name.empty() ? fresh_name("constant") : std::move(name)));
  value->type = ValueType::tensor(tensor.dtype(), tensor.shape());
  value->constant_ = std::move(tensor);
  value->index_ = static_cast<uint32_t>(constants_.size());
  constants_.push_back(std::move(value));
  return *constants_.back();
}

Node& Graph::add_node(std::string_view op, std::span<Value* const> inputs, std::span<const std::string> outputs, Attributes attributes,
                      std::string name, Node* before) {
  charge(node_bytes(inputs.size(), attributes.size()) + outputs.size() * sizeof(Value));
  Watch::check();
  std::unique_ptr<Node> node(new Node);
  node->op_ = op;
  node->name_ = std::move(name);
  node->graph_ = this;
  node->attributes = std::move(attributes);
  for (const auto& [key, value] : node->attributes)
    if (const Subgraph* subgraph = std::get_if<Subgraph>(&value)) {
      (*subgraph)->outer = this;
      note_number(*this, (*subgraph)->names_made());
    }
  size_t count = inputs.size();
  while (count && !inputs[count - 1]) --count;
  node->inputs_.resize(count);
  node->outputs_.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    note_name(*this, outputs[i]);
    node->outputs_[i].reset(new Value(*this, outputs[i]));
    node->outputs_[i]->producer_ = node.get();
    node->outputs_[i]->index_ = static_cast<uint32_t>(i);
  }
  try {
    for (size_t i = 0; i < count; ++i) node->connect(i, inputs[i]);
  } catch (...) {  // no value may list a node that there is not
    for (size_t i = 0; i < count; ++i) node->disconnect(i);
    throw;
  }
  link(*node, before);
  return *node.release();
}

Node& Graph::add_node(std::string_view op, std::initializer_list<Value*> inputs, size_t output_count, Attributes attributes,
                      std::string name, Node* before) {
  std::vector<std::string> outputs;
  for (size_t i = 0; i < output_count; ++i) outputs.push_back(fresh_name(op));
  return add_node(op, std::span<Value* const>(inputs.begin(), inputs.size()), outputs, std::move(attributes), std::move(name), before);
}

void Graph::add_output(Value& value) {
  add_use(value.output_uses_, outputs_.size());
  outputs_.push_back(&value);
}

void Graph::set_output(size_t i, Value& value) {
  remove_use(outputs_[i]->output_uses_);
  outputs_[i] = &value;
  add_use(value.output_uses_, i);
}

void Graph::add_state(State state) {
  if (!state.current) {
    note_name(*this, state.name);
    state_values_.push_back(std::unique_ptr<Value>(new Value(*this, state.name)));
    state_values_.back()->type = ValueType::tensor(state.initial.dtype(), state.initial.shape());
    state.current = state_values_.back().get();
  }
  state.name = printable(state.name);  // wherever it came from, it is shown and a key in other languages
  states_.push_back(std::move(state));
  if (Value* next = states_.back().next) add_use(next->output_uses_, kNoPlace);
}

void Graph::set_state_next(size_t i, Value& next) {
  if (states_[i].next) remove_use(states_[i].next->output_uses_);
  states_[i].next = &next;
  add_use(next.output_uses_, kNoPlace);
}

void Graph::remove(Node& node) {
  for (const auto& output : node.outputs_) MINNOW_CHECK(!output || output->is_unused(), "a removed node's outputs must be unused");
  for (size_t i = 0; i < node.inputs_.size(); ++i) node.disconnect(i);
  unlink(node);
  refund(node_bytes(node.input_count(), node.attributes.size()) + node.output_count() * sizeof(Value));
  delete &node;
}

void Graph::remove_unused_constants() {
  refund(sizeof(Value) * std::erase_if(constants_, [](const std::unique_ptr<Value>& value) { return value->is_unused(); }));
  for (size_t i = 0; i < constants_.size(); ++i) constants_[i]->index_ = static_cast<uint32_t>(i);
}

void Graph::remove_input(size_t i) {
  MINNOW_CHECK(inputs_[i]->is_unused(), "a removed input must be unused");
  inputs_.erase(inputs_.begin() + static_cast<ptrdiff_t>(i));
  for (size_t k = i; k < inputs_.size(); ++k) inputs_[k]->index_ = static_cast<uint32_t>(k);
}

void Graph::replace_outputs(const std::vector<Value*>& outputs) {
  for (Value* output : outputs_) remove_use(output->output_uses_);
  outputs_.clear();
  for (Value* output : outputs) add_output(*output);
}

void Graph::order_inputs(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, uint32_t> place;
  for (uint32_t i = 0; i < names.size(); ++i) place.emplace(names[i], i);
  for (const auto& input : inputs_) {
    const auto found = place.find(input->name());
    MINNOW_CHECK(found != place.end() && place.size() == inputs_.size(), "the names must be those of the inputs");
    input->index_ = found->second;
  }
  std::vector<std::unique_ptr<Value>> ordered(inputs_.size());
  for (auto& input : inputs_) ordered[input->index_] = std::move(input);
  inputs_ = std::move(ordered);
}

void Graph::move(Node& node, Node* before) {
  if (before == &node) return;
  unlink(node);
  link(node, before);
}

void Graph::link(Node& node, Node* before) {
  node.next_ = before;
  node.previous_ = before ? before->previous_ : last_;
  (node.previous_ ? node.previous_->next_ : first_) = &node;
  (before ? before->previous_ : last_) = &node;
  ++count_;
}

void Graph::unlink(Node& node) {
  (node.previous_ ? node.previous_->next_ : first_) = node.next_;
  (node.next_ ? node.next_->previous_ : last_) = node.previous_;
  --count_;
}

std::string Graph::fresh_name(std::string_view stem) {
  Graph* top = this;
  while (top->outer) top = top->outer;
  return format("{}#{}", stem, ++top->name_counter_);
}

namespace {

using ValueMap = std::unordered_map<const Value*, Value*>;

std::unique_ptr<Graph> clone_into(const Graph& graph, ValueMap& map) {
  auto copy = std::make_unique<Graph>();
  copy->name = graph.name;
  copy->source = graph.source;
  copy->metadata = graph.metadata;
  for (const auto& input : graph.inputs()) map[input.get()] = &copy->add_input(input->name(), input->type);
  for (const auto& constant : graph.constants()) map[constant.get()] = &copy->add_constant(*constant->constant(), constant->name());
  for (const State& state : graph.states()) {
    copy->add_state({state.name, nullptr, nullptr, state.initial});
    map[state.current] = copy->states().back().current;
    map[state.current]->type = state.current->type;
  }
  for (const Node& node : graph.nodes()) {
    std::vector<Value*> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      const auto found = map.find(input);
      inputs.push_back(found != map.end() ? found->second : const_cast<Value*>(input));
    }
    std::vector<std::string> outputs;
    // A name for each output that is there, even for those without one: an empty name stands for an absent output.
    for (size_t i = 0; i < node.output_count(); ++i) outputs.emplace_back(node.output(i) ? "_" : "");
    Attributes attributes;
    for (const auto& [key, value] : node.attributes) {
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&value))
        attributes.set(key, Subgraph(clone_into(**subgraph, map)));
      else
        attributes.set(key, value);
    }
    Node& made = copy->add_node(node.op(), inputs, outputs, std::move(attributes), node.name());
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) {
        made.output(i)->type = node.output(i)->type;
        made.output(i)->rename(node.output(i)->name());
        map[node.output(i)] = made.output(i);
      }
  }
  const auto mapped = [&](Value* value) -> Value& {
    const auto found = map.find(value);
    return found != map.end() ? *found->second : *value;
  };
  for (Value* output : graph.outputs()) copy->add_output(mapped(output));
  for (size_t i = 0; i < graph.states().size(); ++i)
    if (Value* next = graph.states()[i].next) copy->set_state_next(i, mapped(next));  // others keep their value
  return copy;
}

void collect_captured(const Graph& graph, std::unordered_set<const Graph*>& inside, std::unordered_set<const Value*>& seen,
                      std::vector<Value*>& captured) {
  inside.insert(&graph);
  const auto visit = [&](Value* value) {
    if (value && !inside.contains(&value->graph()) && seen.insert(value).second) captured.push_back(value);
  };
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i) visit(node.input(i));
    for (const auto& [key, value] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&value)) collect_captured(**subgraph, inside, seen, captured);
  }
  for (Value* output : graph.outputs()) visit(output);
}

}  // namespace

std::unique_ptr<Graph> Graph::clone() const {
  ValueMap map;
  std::unique_ptr<Graph> copy = clone_into(*this, map);
  const Graph* top = this;
  while (top->outer) top = top->outer;
  copy->name_counter_ = top->name_counter_;
  return copy;
}

std::vector<Value*> captured_values(const Graph& graph) {
  std::unordered_set<const Graph*> inside;
  std::unordered_set<const Value*> seen;
  std::vector<Value*> captured;
  collect_captured(graph, inside, seen, captured);
  return captured;
}

namespace {

void verify_into(const Graph& graph, std::unordered_set<const Value*>& known) {
  for (const auto& input : graph.inputs()) known.insert(input.get());
  for (const auto& constant : graph.constants()) known.insert(constant.get());
  for (const State& state : graph.states()) known.insert(state.current);
  for (const Node& node : graph.nodes()) {
    if (&node.graph() != &graph) throw InvalidModel("{}: belongs to another graph", node.where());
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i) && !known.contains(node.input(i)))
        throw InvalidModel("{}: input {} (\"{}\") is used before it is made", node.where(), i, node.input(i)->name());
    for (const auto& [key, value] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&value)) verify_into(**subgraph, known);
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) known.insert(node.output(i));
  }
  for (const Value* output : graph.outputs())
    if (!known.contains(output)) throw InvalidModel("{}: output \"{}\" is made by no node", graph.source, output->name());
}

}  // namespace

void verify(const Graph& graph) {
  std::unordered_set<const Value*> known;
  verify_into(graph, known);
  std::unordered_set<std::string> names;
  for (const auto& input : graph.inputs())
    if (!names.insert(input->name()).second) throw InvalidModel("{}: two inputs are named \"{}\"", graph.source, input->name());
}

}  // namespace minnow

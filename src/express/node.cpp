// SPDX-License-Identifier: Apache-2.0
#include "express/node.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "base/nearest.h"
#include "base/no_memory.h"
#include "express/evaluate.h"
#include "express/immediate.h"
#include "express/infer.h"
#include "express/lower.h"
#include "express/scope.h"

namespace minnow::express {

std::atomic<uint64_t> LazyNode::next_id{1};
std::atomic<uint64_t> LazyNode::current_epoch{1};

// Without recursion: a chain may be as long as it likes.
LazyNode::~LazyNode() {
  thread_local std::vector<LazyValue> waiting;
  thread_local bool emptying = false;
  for (LazyValue& input : inputs)
    if (input && input.node.use_count() == 1) waiting.push_back(std::move(input));
  if (emptying) return;
  emptying = true;
  while (!waiting.empty()) {
    const LazyValue last = std::move(waiting.back());
    waiting.pop_back();
  }
  emptying = false;
}

LazyValue constant_value(Tensor tensor) {
  auto node = std::make_shared<LazyNode>();
  node->outputs.resize(1);
  Output& output = node->outputs[0];
  output.kind = ValueInfo::Kind::tensor;
  output.dtype = tensor.dtype();
  output.shape_known = true;
  output.shape = tensor.shape();
  output.tensor = std::move(tensor);
  return {std::move(node), 0};
}

LazyValue constant_value(Datum datum) {
  if (datum.kind == Datum::Kind::tensor) return constant_value(std::move(datum.tensor));
  auto node = std::make_shared<LazyNode>();
  node->outputs.resize(1);
  Output& output = node->outputs[0];
  output.kind = datum.kind == Datum::Kind::sequence ? ValueInfo::Kind::sequence : ValueInfo::Kind::optional;
  output.dtype = datum.element;
  output.datum = std::make_shared<Datum>(std::move(datum));
  return {std::move(node), 0};
}

LazyValue ints_value(const Ints& values) { return constant_value(Tensor::of_i64({static_cast<int64_t>(values.size())}, values)); }

Var var_of(LazyValue value) {
  auto cell = std::make_shared<Cell>();
  cell->value = std::move(value);
  return Access::var(std::move(cell));
}

LazyValue required_value(const Var& x) { return required_value(Var(x)); }
LazyValue required_value(Var&& x) {
  LazyValue value = value_of(std::move(x));
  if (!value) throw InvalidArgument("a Var without a value is used; only optional inputs of operators may be left out");
  return value;
}

// Operators by name.

namespace {

std::mutex& operators_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::shared_ptr<const OperatorSet>& kept_operators() {
  static std::shared_ptr<const OperatorSet> operators;
  return operators;
}

}  // namespace

std::shared_ptr<const OperatorSet> operators_in_use() {
  const std::lock_guard lock(operators_mutex());
  return kept_operators();
}

const Operator& find_operator(std::string_view name) {
  std::shared_ptr<const OperatorSet> operators;
  return find_operator(name, operators);
}

const Operator& find_operator(std::string_view name, std::shared_ptr<const OperatorSet>& operators) {
  if (const Operator* op = OperatorSet::builtin().find(name)) return *op;
  if (!operators) operators = operators_in_use();
  if (operators)
    if (const Operator* op = operators->find(name)) return *op;
  // Operators may have come into use since the set of the node at hand.
  if (std::shared_ptr<const OperatorSet> now = operators_in_use(); now && now != operators)
    if (const Operator* op = now->find(name)) return operators = std::move(now), *op;
  const bool is_custom = name.find('.') != name.npos && !name.starts_with("minnow.") && !name.starts_with("ai.onnx.");
  std::vector<std::string> names;
  for (const Operator* op : (operators ? *operators : OperatorSet::builtin()).list())
    if (is_custom == (op->custom != nullptr)) names.emplace_back(op->name);
  throw Unsupported("there is no operator \"{}\"{}{}", name, nearest(name, names),
                    is_custom ? "; a library that has it is loaded by load_operators()" : "");
}

const std::shared_ptr<const OperatorSet>& joined(const std::shared_ptr<const OperatorSet>& a, const std::shared_ptr<const OperatorSet>& b) {
  const auto has_all_of = [](const OperatorSet& set, const OperatorSet& other) {
    for (const Operator* op : other.list())
      if (const Operator* found = op->custom ? set.find(op->name) : op; !found || found->custom != op->custom) return false;
    return true;
  };
  if (!b || a == b) return a;
  if (!a || has_all_of(*b, *a)) return b;
  if (has_all_of(*a, *b)) return a;
  throw Unsupported("one expression uses custom operators of two sets; load the libraries together with one load_operators()");
}

// Calls.

const Shape* known_shape(const LazyValue& value) {
  const Output& output = output_of(value);
  if (output.shape_known) return &output.shape;
  // The shape of a value that depends on a placeholder may change with the placeholder's value.
  return output.tensor && !value.node->fed_by_others ? &output.tensor.shape() : nullptr;
}

ValueInfo info_of(const LazyValue& value, bool with_contents) {
  const Output& output = output_of(value);
  ValueInfo info;
  info.kind = output.kind;
  info.element = output.element;
  info.dtype = output.dtype;
  if (info.kind != ValueInfo::Kind::tensor) return info;
  const Shape* shape = known_shape(value);
  info.extent = shape ? ValueInfo::Extent::exact : ValueInfo::Extent::unknown;
  if (shape) info.shape = *shape;
  if (with_contents) info.contents = output.tensor;
  return info;
}

namespace {

/// The results of inference for calls with inputs of equal types.
struct KnownCall {
  std::vector<Output> outputs;           // without names
  uint64_t contents = 0;                 // bit i: shapes depend on the contents of input i too, and the key goes on with them
  std::unique_ptr<Immediate> immediate;  // once the call has run at once
  bool is_lazy = false;                  // the call cannot run at once
};

// On this thread. The key is the operator, the options of the scope, the form, the inputs' types, and contents that shapes depend on.
constexpr size_t kMostKnownCalls = 2048;
thread_local std::unordered_map<std::string, KnownCall> known_calls;
thread_local std::string call_key;

void append_type(std::string& key, const LazyValue& value) {
  struct {
    uint8_t kind, element, dtype, rank;
  } head{};
  if (!value) {
    key.append(reinterpret_cast<const char*>(&head), sizeof(head));
    return;
  }
  const Output& output = output_of(value);
  const Shape* shape = known_shape(value);
  head = {static_cast<uint8_t>(output.kind), static_cast<uint8_t>(output.element), static_cast<uint8_t>(output.dtype),
          shape ? static_cast<uint8_t>(shape->rank()) : uint8_t{255}};
  key.append(reinterpret_cast<const char*>(&head), sizeof(head));
  if (shape) key.append(reinterpret_cast<const char*>(shape->begin()), shape->rank() * sizeof(int64_t));
}

void append_types(std::string& key, std::span<const LazyValue> inputs) {
  key += static_cast<char>(inputs.size());
  for (const LazyValue& input : inputs) append_type(key, input);
}

// How many nodes are not computed, here and before; counts no further than `most`.
[[gnu::cold]] uint32_t count_pending(const LazyNode& root, uint32_t most) {
  std::vector<const LazyNode*> stack{&root};
  std::unordered_set<const LazyNode*> seen{&root};
  uint32_t count = 0;
  while (!stack.empty() && count < most) {
    const LazyNode* node = stack.back();
    stack.pop_back();
    ++count;
    for (const LazyValue& input : node->inputs)
      if (input && !input.node->is_computed() && seen.insert(input.node.get()).second) stack.push_back(input.node.get());
  }
  return count;
}

}  // namespace

namespace {

/// Writes the key of a call with all outputs wanted.
void begin_key(const Operator* op, std::string_view form, size_t outputs) {
  call_key.assign(reinterpret_cast<const char*>(&op), sizeof(op));
  const Runtime* const runtime = current_runtime().get();
  call_key.append(reinterpret_cast<const char*>(&runtime), sizeof(runtime));
  const size_t form_bytes = form.size();
  call_key.append(reinterpret_cast<const char*>(&form_bytes), sizeof(form_bytes));
  call_key += form;
  call_key.append(outputs, '+');
}

/// Appends the contents of the inputs in the bit set `which` to the key. False if they are large, or not computed.
bool append_contents(std::span<const LazyValue> inputs, uint64_t which) {
  for (size_t i = 0; i < inputs.size() && i < 64; ++i) {
    if (!(which >> i & 1)) continue;
    if (!inputs[i] || inputs[i].node->fed_by_others || !inputs[i].node->is_computed()) return false;
    const Tensor& tensor = output_of(inputs[i]).tensor;
    if (!tensor || tensor.elements() > kMostShapeElements) return false;
    call_key.append(tensor.data<char>(), tensor.bytes());
  }
  return true;
}

/// Completes the key and looks up the inferred types of the call; null if there are none.
KnownCall* find_known(std::span<const LazyValue> inputs) {
  append_types(call_key, inputs);
  auto found = known_calls.find(call_key);
  if (found == known_calls.end() || found->second.contents == 0) return found == known_calls.end() ? nullptr : &found->second;
  if (!append_contents(inputs, found->second.contents)) return nullptr;
  found = known_calls.find(call_key);
  return found == known_calls.end() ? nullptr : &found->second;
}

/// Stores inferred types under the key of the failed lookup.
[[gnu::cold]] KnownCall* keep(std::string key, const LazyNode& node, const Inference& found) {
  if (!found.exact || node.op->custom) return nullptr;
  if (known_calls.size() >= kMostKnownCalls) known_calls.clear();
  if (found.contents != 0) {
    call_key = std::move(key);
    KnownCall& types = known_calls[call_key];
    types.contents |= found.contents;
    if (!append_contents(node.inputs, types.contents)) return nullptr;
    key = call_key;
  }
  KnownCall& kept = known_calls[std::move(key)];
  kept.outputs = node.outputs;
  return &kept;
}

/// The computed outputs; null if the call has to be an expression.
std::shared_ptr<LazyNode> run_now(KnownCall* known, std::span<const LazyValue> inputs) {
  if (!known || known->is_lazy || !known->immediate) return nullptr;
  return known->immediate->run(inputs);
}

}  // namespace

std::shared_ptr<LazyNode> call(CallRequest request) {
  const bool all_wanted = std::find(request.wanted.begin(), request.wanted.end(), false) == request.wanted.end();
  const bool now = all_wanted && request.closures.empty() && request.name.empty() && may_run_now(*request.op, request.inputs);
  std::string form;
  if (request.attributes.size() != 0 || !request.closures.empty()) form = form_of(request.attributes, request.closures);
  begin_key(request.op, form, 0);
  for (const bool wanted : request.wanted) call_key += wanted ? '+' : '-';
  const size_t types = call_key.size();
  KnownCall* known = find_known(request.inputs);
  if (now)
    if (std::shared_ptr<LazyNode> computed = run_now(known, request.inputs)) return computed;
  auto node = std::make_shared<LazyNode>();
  node->kind = LazyNode::Kind::call;
  node->op = request.op;
  node->operators = std::move(request.operators);
  node->attributes = std::move(request.attributes);
  node->closures = std::move(request.closures);
  node->inputs = std::move(request.inputs);
  node->formal_inputs = request.formal_inputs;
  node->name = std::move(request.name);
  node->form = std::move(form);
  node->outputs.resize(request.wanted.size());
  uint32_t pending = 1;
  for (const LazyValue& input : node->inputs) {
    if (!input) continue;
    node->fed_by_others |= input.node->fed_by_others;
    node->keeps_inputs |= input.node->keeps_inputs;
    if (!node->operators) node->operators = input.node->operators;
    if (!input.node->is_computed()) pending = std::min(pending + input.node->pending, kMostPending);
  }
  if (known && !(now && !known->is_lazy)) {
    node->outputs = known->outputs;
  } else {
    std::string key = call_key.substr(0, types);  // computing contents may make other calls
    append_types(key, node->inputs);
    for (size_t i = 0; i < request.wanted.size(); ++i)
      node->outputs[i].kind = request.wanted[i] ? ValueInfo::Kind::tensor : ValueInfo::Kind::absent;
    Inference found = infer(*node);
    known = keep(std::move(key), *node, found);
    if (now && known) {
      known->immediate = Immediate::prepare(*node, found.contents, std::move(found.graph), *found.made);
      known->is_lazy = !known->immediate;
      if (std::shared_ptr<LazyNode> computed = run_now(known, node->inputs)) return computed;
    }
  }
  node->pending = pending;
  if (pending >= kMostPending && !node->fed_by_others) {
    node->pending = count_pending(*node, kMostPending);
    if (node->pending >= kMostPending) evaluate(LazyValue{node, 0});
  }
  return node;
}

LazyValue call(const Operator& op, std::span<const LazyValue> inputs, Attributes attributes) {
  if (attributes.size() == 0 && may_run_now(op, inputs)) {
    begin_key(&op, {}, 1);
    if (std::shared_ptr<LazyNode> computed = run_now(find_known(inputs), inputs)) return {std::move(computed), 0};
  }
  CallRequest request;
  request.op = &op;
  request.inputs.assign(inputs.begin(), inputs.end());
  request.formal_inputs = inputs.size();
  request.attributes = std::move(attributes);
  request.wanted = {true};
  return {call(std::move(request)), 0};
}

LazyValue call(std::string_view op, std::initializer_list<LazyValue> inputs, Attributes attributes) {
  return call(find_operator(op), inputs, std::move(attributes));
}

LazyValue cast(const LazyValue& x, DType dtype) {
  if (output_of(x).dtype == dtype) return x;
  if (size_of(dtype) == 0) throw Unsupported("a tensor cannot become {}; there are bool, integers and floating types", dtype);
  static const Operator& op = find_operator("Cast");
  return call(op, {x}, {{"to", static_cast<int64_t>(dtype)}});
}

}  // namespace minnow::express

namespace minnow::expr {

void use_operators(std::shared_ptr<const OperatorSet> operators) try {
  const std::lock_guard lock(express::operators_mutex());
  express::kept_operators() = std::move(operators);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::expr

// SPDX-License-Identifier: Apache-2.0
// From messages to a graph: names to values, scopes of subgraphs, expansion of functions, one rule a node.
#include "importers/onnx/importer.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"
#include "importers/driver.h"
#include "importers/onnx/messages.h"
#include "importers/onnx/node_order.h"
#include "importers/onnx/wire.h"
#include "ops/infer.h"
#include "ops/operator.h"
#include "passes/rewrite.h"

namespace minnow::onnx {
namespace {

constexpr size_t kMaxAttributes = 1000;            // of a node; the list is searched in order
constexpr size_t kNodeCost = 300;                  // the approximate bytes of a node beside its text
constexpr size_t kMaxExpanded = size_t{16} << 20;  // text of function bodies, beyond eight times the file

struct Scope;

/// An attribute and the scope its text stands in: a subgraph sees the values of that scope.
struct BoundAttribute {
  std::string_view message;
  Scope* scope;
};

/// The model, or one call of a function.
struct Frame {
  const Opsets* opsets;
  const FunctionMessage* function = nullptr;
  const Frame* caller = nullptr;
  std::string prefix;  // of the names of nodes and values inside
  std::unordered_map<std::string_view, BoundAttribute> arguments;
};

/// Names of values. A subgraph sees its outer scope; a function body sees nothing outside.
struct Scope {
  Graph& graph;
  const Frame& frame;
  const Scope* outer = nullptr;
  std::unordered_map<std::string_view, Value*> values;  // null: an absent optional input of a function
  std::unordered_map<std::string_view, std::string_view> types;
};

class Importer : private ImportDriver {
 public:
  Importer(const ModelMessage& model, const DataReader& data, const ImportOptions& options, std::string source, size_t file_bytes)
      : ImportDriver(std::move(source), options.operators ? *options.operators : OperatorSet::builtin(), Refusals("operator", "node", 5)),
        model_(model),
        data_(data),
        kept_inputs_(options.keep_inputs.begin(), options.keep_inputs.end()) {
    nesting_ = Nesting(kMaxExpanded + file_bytes * 8);  // counted in bytes of text
    warn_ = options.warn ? options.warn : [](std::string_view sentence) { log_message(sentence); };
  }

  std::unique_ptr<Graph> run();

 private:
  void import_graph(std::string_view message, Scope& scope);
  void add_inputs(const GraphMessage& message, Scope& scope);
  void add_initializers(const GraphMessage& message, Scope& scope);
  void import_nodes(const Views& texts, Scope& scope, const std::string& where);
  void import_node(const NodeMessage& message, Scope& scope);
  void import_constant(const NodeMessage& message, Scope& scope, const std::string& where);
  void call_function(const FunctionMessage& function, const NodeMessage& call, Scope& scope, const std::string& where);
  void read_attributes(const NodeMessage& message, Scope& scope, Attributes& attributes, const std::string& where);
  AttributeValue attribute_value(const AttributeMessage& attribute, Scope& written_in, Graph& used_in, const std::string& where);
  /// Follows a reference to an attribute of the enclosing function. False if the attribute is absent.
  bool resolve(std::string_view name, std::string_view reference, BoundAttribute& attribute, const std::string& where) const;
  Value* lookup(std::string_view name, const Scope& scope, const std::string& where) const;
  void bind(std::string_view name, Value& value, Scope& scope, const std::string& where);
  /// True for an initializer that stays an input of the model, because the caller asked for it, or because it is an exported state.
  bool stays_input(std::string_view name, const Scope& scope) const {
    if (scope.outer || scope.frame.function) return false;
    return kept_inputs_.contains(name) || state_inputs_.contains(name);
  }
  int64_t opset_of(const NodeMessage& message, const Frame& frame, const std::string& where) const;
  const FunctionMessage* find_function(const NodeMessage& message) const;
  std::string place(const NodeMessage& message, const Frame& frame) const;
  void refuse_strings(const ValueType& type, const std::string& where) const;
  void settle_training(Graph& graph);
  void check_operators(const Graph& graph) const;

  const ModelMessage& model_;
  const DataReader& data_;
  std::function<void(std::string_view)> warn_;
  std::unordered_set<std::string_view> kept_inputs_;   // names of initializers that stay inputs
  std::unordered_set<std::string_view> state_inputs_;  // names of inputs whose next value is an output
  std::vector<FunctionMessage> functions_;
  std::vector<size_t> function_costs_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FunctionMessage*> function_index_;
  std::unordered_map<const char*, Tensor> function_constants_;  // of bodies that are expanded many times
};

/// The memory that each call of the function adds: the size of its text without the tensors, which all calls share.
size_t cost_of(const FunctionMessage& function) {
  size_t cost = kNodeCost * (1 + function.nodes.size());
  for (std::string_view text : function.nodes) {
    cost += text.size();
    for (std::string_view attribute : NodeMessage(text).attributes)
      for (Fields fields(attribute); fields.next();)
        if (fields.number() == field::kAttributeT) cost -= fields.bytes().size();
  }
  return cost;
}

std::string Importer::place(const NodeMessage& message, const Frame& frame) const {
  std::string_view shown = message.name;
  for (size_t i = 0; shown.empty() && i < message.outputs.size(); ++i) shown = message.outputs[i];
  return format("{}: node \"{}{}\" ({}{}{})", source_, frame.prefix, shown.substr(0, 200), message.domain.substr(0, 100),
                message.domain.empty() ? "" : ".", message.op.substr(0, 100));
}

Value* Importer::lookup(std::string_view name, const Scope& scope, const std::string& where) const {
  if (name.empty()) return nullptr;
  for (const Scope* at = &scope; at; at = at->outer) {
    const auto found = at->values.find(name);
    if (found != at->values.end()) return found->second;
  }
  throw InvalidModel("{}: \"{}\" is used, but nothing makes it", where, name.substr(0, 200));
}

void Importer::bind(std::string_view name, Value& value, Scope& scope, const std::string& where) {
  if (!scope.values.emplace(name, &value).second) throw InvalidModel("{}: \"{}\" is made a second time", where, name.substr(0, 200));
  const auto declared = scope.types.find(name);
  if (declared == scope.types.end()) return;
  const DType inferred = value.type.dtype;
  const ValueType type = read_type(declared->second, format("{}: value \"{}\"", source_, name.substr(0, 200)));
  if (value.constant()) return;
  if (value.type.kind != ValueType::Kind::tensor || inferred == DType::undefined || inferred == type.dtype) value.type = type;
}

void Importer::refuse_strings(const ValueType& type, const std::string& where) const {
  if (type.element_dtype() == DType::string) throw Unsupported("{}: holds strings, which are not supported", where);
}

int64_t Importer::opset_of(const NodeMessage& message, const Frame& frame, const std::string& where) const {
  const auto found = frame.opsets->find(message.domain);
  if (found != frame.opsets->end()) return found->second;
  if (message.domain.empty() && model_.ir_version < 3) return 1;
  throw InvalidModel("{}: the model does not say which version of the operators of \"{}\" it uses", where,
                     message.domain.empty() ? std::string_view("ai.onnx") : message.domain.substr(0, 100));
}

const FunctionMessage* Importer::find_function(const NodeMessage& message) const {
  if (function_index_.empty()) return nullptr;
  const auto found = function_index_.find({message.domain, message.op, message.overload});
  return found == function_index_.end() ? nullptr : found->second;
}

bool Importer::resolve(std::string_view name, std::string_view reference, BoundAttribute& attribute, const std::string& where) const {
  const Frame& frame = attribute.scope->frame;
  if (!frame.function)
    throw InvalidModel("{}: attribute \"{}\" refers to attribute \"{}\" of a function, but stands in none", where, name, reference);
  const auto found = frame.arguments.find(reference);
  if (found == frame.arguments.end()) return false;
  attribute = found->second;
  return true;
}

AttributeValue Importer::attribute_value(const AttributeMessage& attribute, Scope& written_in, Graph& used_in, const std::string& where) {
  const auto here = [&] { return format("{}: attribute \"{}\"", where, attribute.name.substr(0, 100)); };
  switch (attribute.type) {
    case AttributeType::integer:
      return attribute.integer;
    case AttributeType::real:
      return attribute.real;
    case AttributeType::text:
      return std::string(attribute.text);
    case AttributeType::integers:
    case AttributeType::undefined:  // an empty list, of whatever type
      return attribute.integers;
    case AttributeType::reals:
      return attribute.reals;
    case AttributeType::texts:
      return Strings(attribute.texts.begin(), attribute.texts.end());
    case AttributeType::type: {
      ValueType type = read_type(attribute.payload, here());
      refuse_strings(type, here());
      return type;
    }
    case AttributeType::sparse_tensor:
    case AttributeType::tensor: {
      const auto read = [&] {
        return attribute.type == AttributeType::tensor ? data_.tensor(attribute.payload, here())
                                                       : data_.sparse_tensor(attribute.payload, here());
      };
      if (!written_in.frame.function) return read();
      Tensor& cached = function_constants_[attribute.payload.data()];
      if (!cached) cached = read();
      return cached;
    }
    case AttributeType::graph: {
      Subgraph graph = std::make_shared<Graph>();
      graph->outer = &used_in;
      Scope scope{*graph, written_in.frame, &written_in, {}, {}};
      nesting_.enter(source_, 0, [&] { import_graph(attribute.payload, scope); });
      return graph;
    }
    default:
      throw Unsupported("{}: a list of tensors, graphs or types is not supported", here());
  }
}

void Importer::read_attributes(const NodeMessage& message, Scope& scope, Attributes& attributes, const std::string& where) {
  if (message.attributes.size() > kMaxAttributes) throw InvalidModel("{}: has {} attributes", where, message.attributes.size());
  for (std::string_view text : message.attributes) {
    AttributeMessage attribute(text);
    const std::string_view name = attribute.name;
    BoundAttribute bound{text, &scope};
    if (!attribute.reference.empty()) {
      if (!resolve(name, attribute.reference, bound, where)) continue;
      attribute = AttributeMessage(bound.message);
      attribute.name = name;
    }
    if (attribute.type >= AttributeType::tensors && !attribute.unreadable && attribute.type != AttributeType::sparse_tensor &&
        attribute.type != AttributeType::type)
      continue;  // an empty list that nothing reads
    attributes.set(name, attribute_value(attribute, *bound.scope, scope.graph, where));
  }
}

void Importer::add_inputs(const GraphMessage& message, Scope& scope) {
  std::unordered_set<std::string_view> initialized;
  for (std::string_view text : message.initializers) initialized.insert(TensorMessage(text).name);
  for (std::string_view text : message.sparse_initializers) initialized.insert(sparse_tensor_name(text));
  for (std::string_view text : message.inputs) {
    const ValueMessage input(text);
    if (input.name.empty()) throw InvalidModel("{}: an input of graph \"{}\" has no name", source_, message.name.substr(0, 100));
    if (initialized.contains(input.name) && !stays_input(input.name, scope)) continue;  // a default: constant unless asked for
    const std::string where = format("{}: input \"{}\"", source_, input.name.substr(0, 200));
    ValueType type = read_type(input.type, where);
    refuse_strings(type, where);
    bind(input.name, scope.graph.add_input(std::string(input.name), std::move(type)), scope, where);
  }
}

void Importer::add_initializers(const GraphMessage& message, Scope& scope) {
  const auto add = [&](std::string_view name, Tensor tensor, const std::string& where) {
    if (name.empty()) throw InvalidModel("{}: has no name", where);
    bind(name, scope.graph.add_constant(std::move(tensor), std::string(name)), scope, where);
  };
  for (std::string_view text : message.initializers) {
    const TensorMessage tensor(text);
    if (scope.values.contains(tensor.name) && stays_input(tensor.name, scope)) continue;
    const std::string where = format("{}: initializer \"{}\"", source_, tensor.name.substr(0, 200));
    add(tensor.name, data_.tensor(tensor, where), where);
  }
  for (std::string_view text : message.sparse_initializers) {
    const std::string_view name = sparse_tensor_name(text);
    if (scope.values.contains(name) && stays_input(name, scope)) continue;
    const std::string where = format("{}: sparse initializer \"{}\"", source_, name.substr(0, 200));
    add(name, data_.sparse_tensor(text, where), where);
  }
}

void Importer::import_graph(std::string_view text, Scope& scope) {
  const GraphMessage message(text);
  Graph& graph = scope.graph;
  graph.name = message.name;
  graph.source = source_;
  for (std::string_view value_text : message.values) {
    const ValueMessage value(value_text);
    if (!value.type.empty()) scope.types[value.name] = value.type;
  }
  std::vector<ValueMessage> outputs;
  for (std::string_view output_text : message.outputs) {
    const ValueMessage& output = outputs.emplace_back(output_text);
    constexpr std::string_view kNext = "_next";
    if (!scope.outer && output.name.ends_with(kNext)) state_inputs_.insert(output.name.substr(0, output.name.size() - kNext.size()));
    if (!output.type.empty()) scope.types[output.name] = output.type;
  }
  add_inputs(message, scope);
  add_initializers(message, scope);
  import_nodes(message.nodes, scope, format("{}: graph \"{}\"", source_, message.name.substr(0, 100)));
  for (const ValueMessage& output : outputs) {
    const std::string where = format("{}: output \"{}\" of graph \"{}\"", source_, output.name.substr(0, 200), message.name.substr(0, 100));
    Value* value = lookup(output.name, scope, where);
    if (!value) throw InvalidModel("{}: has no name or is an absent value", where);
    if (!output.type.empty()) refuse_strings(read_type(output.type, where), where);
    // An output is made by a node of this very graph.
    if (!value->producer() || &value->graph() != &graph) {
      const std::string name(output.name);
      Node& copy = graph.add_node("Identity", std::span<Value* const>(&value, 1), std::span<const std::string>(&name, 1));
      copy.output(0)->type = value->type;
      value = copy.output(0);
    }
    graph.add_output(*value);
  }
}

void Importer::import_nodes(const Views& texts, Scope& scope, const std::string& where) {
  std::vector<NodeMessage> nodes;
  nodes.reserve(texts.size());
  for (std::string_view text : texts) nodes.emplace_back(text);
  const auto visible = [&](std::string_view name) {
    for (const Scope* at = &scope; at; at = at->outer)
      if (at->values.contains(name)) return true;
    return false;
  };
  for (size_t i : node_order(nodes, visible, where)) import_node(nodes[i], scope);
}

void Importer::import_constant(const NodeMessage& message, Scope& scope, const std::string& where) {
  Attributes attributes;
  read_attributes(message, scope, attributes, where);
  if (message.outputs.size() != 1 || message.outputs[0].empty()) throw InvalidModel("{}: a constant has one output", where);
  Tensor tensor;
  for (const auto& [name, value] : attributes) {
    if (name == "value" || name == "sparse_value") {
      if (const Tensor* given = std::get_if<Tensor>(&value)) tensor = *given;
    } else if (name == "value_int") {
      if (const int64_t* given = std::get_if<int64_t>(&value)) tensor = Tensor::scalar_i64(*given);
    } else if (name == "value_float") {
      if (const float* given = std::get_if<float>(&value)) tensor = Tensor::scalar_f32(*given);
    } else if (name == "value_ints") {
      if (const Ints* given = std::get_if<Ints>(&value)) tensor = Tensor::of_i64({static_cast<int64_t>(given->size())}, *given);
    } else if (name == "value_floats") {
      if (const Floats* given = std::get_if<Floats>(&value)) tensor = Tensor::of_f32({static_cast<int64_t>(given->size())}, *given);
      if (std::holds_alternative<Ints>(value)) tensor = Tensor(DType::f32, {0});  // an empty list of unsaid type
    } else if (name == "value_string" || name == "value_strings") {
      throw Unsupported("{}: holds strings, which are not supported", where);
    }
  }
  if (!tensor) throw InvalidModel("{}: has no value", where);
  const std::string name = scope.frame.prefix.empty() ? std::string(message.outputs[0])
                                                      : scope.graph.fresh_name(scope.frame.prefix + std::string(message.outputs[0]));
  bind(message.outputs[0], scope.graph.add_constant(std::move(tensor), name), scope, where);
}

void Importer::import_node(const NodeMessage& message, Scope& scope) {
  const std::string where = place(message, scope.frame);
  if (const FunctionMessage* function = find_function(message)) return call_function(*function, message, scope, where);
  const int64_t version = opset_of(message, scope.frame, where);
  if (message.domain.empty() && message.op == "Constant") return import_constant(message, scope, where);

  GraphBuilder builder(scope.graph);
  OnnxNode node(builder, operators_, warn_);
  node.op = message.domain.empty() ? std::string(message.op) : std::string(message.domain) + "." + std::string(message.op);
  node.version = version;
  node.name = message.name.empty() ? std::string() : scope.frame.prefix + std::string(message.name);
  node.place = where;
  builder.set_stem(!node.name.empty() || message.outputs.empty() ? node.name : scope.frame.prefix + std::string(message.outputs[0]));
  for (std::string_view input : message.inputs) node.inputs.push_back(builder.wrap(lookup(input, scope, where)));
  for (std::string_view output : message.outputs) node.outputs.emplace_back(output);
  read_attributes(message, scope, node.attributes, where);
  if (message.domain.empty() && version < 8) node.attributes.remove("consumed_inputs");  // a memory hint of the first opsets

  Node* const before = scope.graph.last();
  Exprs made = build(node, [&] { return find_rule(node.op, version)(node, builder); }).value_or(Exprs());
  if (made.empty()) made = node.copy();  // refused: only to go on
  // Values of nodes that the rule made take the names of the file, once; others get a node to bear the name.
  std::unordered_set<const Value*> fresh = values_made_after(scope.graph, before);
  const Node* inferred = nullptr;  // once for all of its outputs
  for (size_t i = 0; i < message.outputs.size(); ++i) {
    if (message.outputs[i].empty()) continue;
    if (i >= made.size() || !made[i]) {
      refusals_.add(format("node \"{}\" ({}): output {} is not supported", node.name, node.op, i));
      made.resize(std::max(made.size(), i + 1));
      made[i] = builder.op("Identity", {made[0]});  // only to go on
      fresh.insert(made[i].value());
    }
    Value* value = made[i].value();
    if (!fresh.erase(value)) value = builder.op("Identity", {made[i]}).value();
    value->rename(scope.frame.prefix.empty() ? std::string(message.outputs[i])
                                             : scope.graph.fresh_name(scope.frame.prefix + std::string(message.outputs[i])));
    if (const Node* producer = value->producer(); producer && producer != inferred) infer_types(operators_, *(inferred = producer));
    bind(message.outputs[i], *value, scope, where);
  }
}

void Importer::call_function(const FunctionMessage& function, const NodeMessage& call, Scope& scope, const std::string& where) {
  for (const Frame* frame = &scope.frame; frame; frame = frame->caller)
    if (frame->function == &function) throw InvalidModel("{}: the function calls itself", where);
  if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
    throw InvalidModel("{}: the function takes {} inputs and gives {} outputs, the call has {} and {}", where, function.inputs.size(),
                       function.outputs.size(), call.inputs.size(), call.outputs.size());
  Frame frame;
  frame.opsets = &function.opsets;
  frame.function = &function;
  frame.caller = &scope.frame;
  std::string_view shown = call.name;
  for (size_t i = 0; shown.empty() && i < call.outputs.size(); ++i) shown = call.outputs[i];
  frame.prefix = inner_prefix(scope.frame.prefix, shown);
  Scope body{scope.graph, frame, nullptr, {}, {}};

  if (call.attributes.size() > kMaxAttributes) throw InvalidModel("{}: has {} attributes", where, call.attributes.size());
  for (std::string_view text : function.defaults)
    frame.arguments.insert_or_assign(AttributeMessage(text).name, BoundAttribute{text, &body});
  for (std::string_view text : call.attributes) {
    const AttributeMessage attribute(text);
    BoundAttribute bound{text, &scope};
    if (!attribute.reference.empty() && !resolve(attribute.name, attribute.reference, bound, where)) continue;
    frame.arguments.insert_or_assign(attribute.name, bound);
  }
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    Value* value = i < call.inputs.size() ? lookup(call.inputs[i], scope, where) : nullptr;
    if (!body.values.emplace(function.inputs[i], value).second)
      throw InvalidModel("{}: two inputs of the function are named \"{}\"", where, function.inputs[i].substr(0, 200));
  }
  nesting_.enter(where, function_costs_[static_cast<size_t>(&function - functions_.data())],
                 [&] { import_nodes(function.nodes, body, where); });

  std::unordered_set<const Value*> named;  // values from outside, and those that have a caller's name
  for (std::string_view input : function.inputs) named.insert(body.values.at(input));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    Value* value = lookup(function.outputs[i], body, where);
    if (!value) throw InvalidModel("{}: output {} of the function is an absent input", where, i);
    // The body's own value takes the caller's name; a value from outside, or one with a name already, gets a node to bear it.
    const bool own = value->producer() && &value->graph() == &scope.graph && named.insert(value).second;
    const std::string name = scope.frame.prefix.empty() ? std::string(call.outputs[i])
                                                        : scope.graph.fresh_name(scope.frame.prefix + std::string(call.outputs[i]));
    if (own) {
      value->rename(name);
    } else {
      Node& copy = scope.graph.add_node("Identity", std::span<Value* const>(&value, 1), std::span<const std::string>(&name, 1));
      copy.output(0)->type = value->type;
      value = copy.output(0);
    }
    bind(call.outputs[i], *value, scope, where);
  }
}

/// BatchNormalization in training mode whose statistics nobody reads is meant for inference.
void Importer::settle_training(Graph& graph) {
  for (Node& node : graph.nodes()) {
    for (const auto& [name, value] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&value)) settle_training(**subgraph);
    const int64_t* training = node.attributes.get<int64_t>("training_mode");
    if (node.op() != "BatchNormalization" || !training || !*training) continue;
    bool used = false;
    for (size_t i = 1; i < node.output_count(); ++i) used = used || (node.output(i) && !node.output(i)->is_unused());
    if (used || !node.output(0)) continue;
    warn_(format("{}: training mode is read as inference", node.where()));
    std::vector<Value*> inputs;
    for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.input(i));
    Attributes attributes = node.attributes;
    attributes.remove("training_mode");
    const std::string output = node.output(0)->name();
    Node& made = graph.add_node(node.op(), inputs, std::span<const std::string>(&output, 1), std::move(attributes), node.name(), &node);
    made.output(0)->type = node.output(0)->type;
    node.output(0)->replace_all_uses_with(*made.output(0));
    graph.remove(node);
  }
}

void collect_missing(const Graph& graph, const OperatorSet& operators, Refusals& refusals) {
  for (const Node& node : graph.nodes()) {
    if (!operators.find(node.op())) {
      std::string name = node.name();
      for (size_t i = 0; name.empty() && i < node.output_count(); ++i)
        if (node.output(i)) name = node.output(i)->name();
      refusals.add_missing(node.op(), name.substr(0, 200));
      if (node.op().find('.') != std::string_view::npos) refusals.advise("a library with custom operators is loaded by --operators");
    }
    for (const auto& [name, value] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&value)) collect_missing(**subgraph, operators, refusals);
  }
}

void Importer::check_operators(const Graph& graph) const {
  Refusals all = refusals_;
  collect_missing(graph, operators_, all);
  all.throw_if_any(source_);
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::unique_ptr<Graph> Importer::run() {
  if (!model_.has_graph) throw InvalidModel("{}: is not an ONNX model: it holds no graph", source_);
  functions_.reserve(model_.functions.size());
  for (std::string_view text : model_.functions) {
    const FunctionMessage& function = functions_.emplace_back(text);
    if (!function_index_.emplace(std::tuple(function.domain, function.name, function.overload), &function).second)
      throw InvalidModel("{}: function \"{}\" is defined twice", source_, function.name.substr(0, 200));
  }
  for (const FunctionMessage& function : functions_) function_costs_.push_back(cost_of(function));
  Frame frame;
  frame.opsets = &model_.opsets;
  Scope scope{*graph_, frame, nullptr, {}, {}};
  if (const auto opset = model_.opsets.find(""); opset != model_.opsets.end() && opset->second > kNewestOpset)
    warn_(format("{}: opset {} is newer than {}, whose operators it is read with", source_, opset->second, kNewestOpset));
  import_graph(model_.graph, scope);
  for (std::string_view name : kept_inputs_)
    if (const auto found = scope.values.find(name); found == scope.values.end() || !found->second || !found->second->is_input()) {
      std::vector<std::string> inputs;
      for (const auto& input : graph_->inputs()) inputs.push_back(input->name());
      throw InvalidArgument("{}: the model has no input \"{}\"{}", source_, name.substr(0, 200), nearest(name, inputs));
    }
  settle_training(*graph_);
  check_operators(*graph_);
  for_each_graph(*graph_, [](Graph& each) { each.remove_unused_constants(); });  // those that rules have read or converted
  infer_types(operators_, *graph_);

  Metadata& metadata = graph_->metadata;
  metadata.source_format = "onnx";
  metadata.producer = model_.producer;
  if (!model_.producer_version.empty()) metadata.producer += " " + std::string(model_.producer_version);
  for (const auto& [key, value] : model_.properties) {
    if (key == kProducerKey)
      metadata.producer = value;
    else if (key == kLabelsKey)
      metadata.labels = split_lines(value);
    else
      metadata.properties[std::string(key)] = value;
  }
  verify(*graph_);
  return std::move(graph_);
}

}  // namespace

std::unique_ptr<Graph> import_model(std::string_view bytes, const DataReader& data, const ImportOptions& options,
                                    const std::string& source) {
  return read_as("ONNX model", source, [&] {
    const ModelMessage model(bytes);
    return Importer(model, data, options, source, bytes.size()).run();
  });
}

}  // namespace minnow::onnx

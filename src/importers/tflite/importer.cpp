// SPDX-License-Identifier: Apache-2.0
// From a file's tables to a graph: tensors to values, variables to states, subgraphs to If and Loop, one rule an operator.
#include "importers/tflite/importer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "base/error.h"
#include "base/nearest.h"
#include "importers/control_flow.h"
#include "importers/driver.h"
#include "importers/finish.h"
#include "importers/tflite/tflite_node.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow::tflite {
namespace {

constexpr size_t kMostSignatures = 100;  // that are looked at

/// The values of a subgraph's tensors at one use. `graph` may belong to an outer scope, into which the subgraph's nodes are inlined.
struct Scope {
  Scope(TypedBuilder& p, const SubgraphInfo& graph_info, std::string name_prefix)
      : builder(p), info(graph_info), prefix(std::move(name_prefix)), raw(graph_info.tensors.size()), real(graph_info.tensors.size()) {}
  TypedBuilder& builder;
  const SubgraphInfo& info;
  std::string prefix;  // of values' names
  std::vector<Expr> raw, real;
  std::map<int32_t, std::string> resources;  // tensor -> name of the variable
  enum class Kind : uint8_t { main, nested, once } kind = Kind::nested;
};

/// A way to call the model, whose names inputs and outputs then have: tensors by name.
struct Signature {
  std::string name;  // empty: the first subgraph, with the names of its tensors
  size_t subgraph = 0;
  std::vector<std::pair<std::string, size_t>> inputs, outputs;
};

Signature read_signature(const ModelFile& file, const FlatTable& table) {
  Signature signature{std::string(table.text(2).substr(0, 200)), table.number<uint32_t>(4, 0), {}, {}};
  if (signature.subgraph >= file.subgraphs().size()) throw Malformed{"a signature refers to a graph that is not there"};
  for (size_t list = 0; list < 2; ++list) {
    const FlatTables entries = table.tables(list);
    for (size_t k = 0; k < entries.size() && k < 1000; ++k) {
      const uint32_t tensor = entries[k].number<uint32_t>(1, 0);
      if (tensor >= file.subgraphs()[signature.subgraph].tensors.size())
        throw Malformed{"a signature refers to a tensor that is not there"};
      (list ? signature.outputs : signature.inputs).emplace_back(entries[k].text(0).substr(0, 200), tensor);
    }
  }
  return signature;
}

Signature find_signature(const ModelFile& file, const std::string& name) {
  if (name.empty()) return {};
  std::vector<std::string> known;
  const FlatTables tables = file.signatures();
  for (size_t i = 0; i < tables.size() && i < kMostSignatures; ++i) {
    known.emplace_back(tables[i].text(2).substr(0, 200));
    if (known.back() == name) return read_signature(file, tables[i]);
  }
  throw InvalidArgument("{}: the model has no signature{}{}", file.source(), known.empty() ? "s" : " \"" + name + "\"",
                        nearest(name, known));
}

/// A named variable of the model.
struct Variable {
  size_t state = 0;
  Expr value;  // now
};

class Importer final : public Host, private ImportDriver {
 public:
  Importer(ModelFile& file, const ImportOptions& options)
      : ImportDriver(file.source(), options.operators ? *options.operators : OperatorSet::builtin()),
        file_(file),
        signature_(find_signature(file, options.signature)),
        main_(signature_.subgraph) {}

  std::unique_ptr<Graph> run();

  void set_variable(const TfliteNode& node, size_t i, const Expr& value) override;
  Expr read_resource(const TfliteNode& node) override;
  void assign_resource(const TfliteNode& node) override;
  void name_resource(const TfliteNode& node) override;
  void run_once(const TfliteNode& node, int64_t subgraph) override;
  Exprs branch(const TfliteNode& node, const Expr& condition, int64_t then_graph, int64_t else_graph) override;
  Exprs loop(const TfliteNode& node, int64_t condition_graph, int64_t body_graph) override;
  Exprs inlined(const TfliteNode& node, int64_t subgraph) override;
  Expr real_tensor(const TfliteNode& node, int32_t index) override { return real_of(*scope_, index, node.place); }

 private:
  const SubgraphInfo& subgraph(const TfliteNode& node, int64_t index) const;
  void import_operators(Scope& scope);
  void import_operator(Scope& scope, const OperatorInfo& op, size_t number);
  void read_inputs(Scope& scope, TfliteNode& node);
  void refuse(Scope& scope, TfliteNode& node, const std::string& op);
  void bind(Scope& scope, int32_t tensor, const Expr& value);
  Expr raw_of(Scope& scope, int32_t tensor, const std::string& place);
  Expr real_of(Scope& scope, int32_t tensor, const std::string& place);
  Exprs outputs_of(Scope& scope, const std::string& place);
  /// The subgraph put into the graph of `builder`.
  Exprs put(TypedBuilder& builder, const SubgraphInfo& info, const Exprs& inputs, const std::vector<std::string>& resources,
            const TfliteNode& node);
  std::vector<std::string> resources_of(const TfliteNode& node, size_t first) const;
  const std::string& resource_of(const TfliteNode& node, size_t input) const;
  Variable& variable(const std::string& name, const TensorInfo& like, const std::string& place);
  void add_outputs(Scope& scope);
  void finish_states(Scope& scope);
  void describe();

  ModelFile& file_;
  Signature signature_;
  size_t main_;                       // the subgraph that is read
  Scope* scope_ = nullptr;            // where the current operator stands
  std::map<int32_t, size_t> states_;  // of variable tensors of the main graph
  size_t state_bytes_ = 0;
  std::map<std::string, Variable> variables_;
  std::map<std::string, Tensor> initial_values_;
  std::vector<std::pair<std::string, Expr>> assigned_once_;
};

const SubgraphInfo& Importer::subgraph(const TfliteNode& node, int64_t index) const {
  if (index < 0 || static_cast<size_t>(index) >= file_.subgraphs().size() || static_cast<size_t>(index) == main_)
    node.fail("there is no subgraph {}", index);
  return file_.subgraphs()[static_cast<size_t>(index)];
}

Expr Importer::raw_of(Scope& scope, int32_t tensor, const std::string& place) {
  Expr& value = scope.raw[static_cast<size_t>(tensor)];
  if (value) return value;
  const TensorInfo& info = scope.info.tensors[static_cast<size_t>(tensor)];
  if (info.is_variable) {
    if (scope.kind != Scope::Kind::main) throw Unsupported("{}: variable tensors of subgraphs are not supported", place);
    Shape shape(info.shape);
    for (int64_t size : shape)
      if (size < 0) throw Unsupported("{}: variable tensor \"{}\" has an unknown shape", place, info.name);
    // Nothing in the file is as large as a state, so that the limit is one of ours.
    constexpr size_t kMostStateBytes = size_t{256} << 20;
    const size_t elements = static_cast<size_t>(shape.elements());
    if (elements > (kMostStateBytes - state_bytes_) / std::max<size_t>(size_of(info.dtype), 1))
      throw Unsupported("{}: variable tensor \"{}\" of shape {}: states of more than {} bytes are not supported", place, info.name, shape,
                        kMostStateBytes);
    state_bytes_ += elements * size_of(info.dtype);
    Tensor initial(info.dtype, shape);
    if (info.dtype == DType::i8 && info.quantization.zero_point.size() == 1 && initial.bytes())
      std::memset(initial.writable().data(), static_cast<int>(info.quantization.zero_point[0]), initial.bytes());
    Graph& graph = scope.builder.graph();
    states_[tensor] = graph.states().size();
    graph.add_state({unique(info.name.empty() ? "state" : std::string(info.name)), nullptr, nullptr, initial});
    return value = scope.builder.wrap(graph.states().back().current);
  }
  if (!file_.has_contents(info)) {
    // A tensor without elements needs no bytes.
    const bool empty = info.has_rank && std::find(info.shape.begin(), info.shape.end(), 0) != info.shape.end();
    if (!empty || info.dtype == DType::undefined)
      throw InvalidModel("{}: \"{}\" is used, but nothing before it makes it", place, info.name.substr(0, 200));
  }
  const std::string name = unique(scope.prefix + std::string(info.name));
  return value = scope.builder.wrap(&scope.builder.graph().add_constant(file_.contents(info), name));
}

Expr Importer::real_of(Scope& scope, int32_t tensor, const std::string& place) {
  const TensorInfo& info = scope.info.tensors[static_cast<size_t>(tensor)];
  const Expr stored = raw_of(scope, tensor, place);
  if (!info.quantized()) return stored;
  Expr& value = scope.real[static_cast<size_t>(tensor)];
  if (!value) {
    if (info.quantization.block) {
      const Expr scales = scope.builder.cast(raw_of(scope, info.quantization.block_scales, place), DType::f32);
      value = scope.builder.op("DequantizeLinear", {stored, scales},
                               {{"axis", scope.builder.rank(stored) - 1}, {"block_size", info.quantization.block}});
    } else {
      value = dequantize(scope.builder, stored, info.quantization, info.quantization.axis);
    }
  }
  return value;
}

void Importer::bind(Scope& scope, int32_t tensor, const Expr& value) {
  scope.raw[static_cast<size_t>(tensor)] = value;
  scope.real[static_cast<size_t>(tensor)] = {};
}

void Importer::import_operators(Scope& scope) {
  const Temporarily<Scope*> here(scope_, &scope);
  nesting_.enter(source_, scope.info.operators.size(), [&] {
    for (size_t i = 0; i < scope.info.operators.size(); ++i) import_operator(scope, scope.info.operators[i], i);
  });
}

void Importer::refuse(Scope& scope, TfliteNode& node, const std::string& op) {
  const Exprs made = stand_ins(scope.builder, "tflite." + op, node.out.size());
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (!node.out[i]) continue;
    made[i].value()->type = node.out[i]->value_type();
    bind(scope, node.info.outputs[i], made[i]);
  }
}

/// Refuses tensors of kinds that no rule, or not this one, takes.
void check_kinds(const TfliteNode& node) {
  for (const TensorInfo* tensor : node.in)
    if (tensor && (tensor->type == TensorType::string || tensor->type == TensorType::variant))
      node.refuse("\"{}\" holds {}, which are not supported", tensor->name.substr(0, 200),
                  tensor->type == TensorType::string ? "strings" : "variants");
  for (const auto& list : {node.in, node.out})
    for (const TensorInfo* tensor : list)
      if (tensor && tensor->is_complex() && (!node.rule || node.rule->target != "complex"))
        node.refuse("complex numbers are not supported here");
}

/// True if a rule that moves elements gets them as real numbers: not all tensors are quantized alike.
bool quantized_differently(const TfliteNode& node) {
  const TensorQuantization* first = nullptr;
  for (const auto& list : {node.in, node.out})
    for (const TensorInfo* tensor : list)
      if (tensor && tensor->quantized()) {
        if (!first) first = &tensor->quantization;
        if (!(tensor->quantization == *first) || !tensor->quantization.per_tensor()) return true;
      }
  return false;
}

void Importer::read_inputs(Scope& scope, TfliteNode& node) {
  for (size_t i = 0; i < node.info.inputs.size(); ++i) {
    const bool resource = node.in[i] && node.in[i]->type == TensorType::resource;
    node.raw.push_back(node.info.inputs[i] < 0 || resource ? Expr() : raw_of(scope, node.info.inputs[i], node.place));
  }
  const Values values = node.rule ? node.rule->values : Values::raw;
  node.as_real = values == Values::real || (values == Values::moves && quantized_differently(node));
  for (size_t i = 0; i < node.info.inputs.size(); ++i)
    node.inputs.push_back(!node.raw[i] || !node.as_real ? node.raw[i] : real_of(scope, node.info.inputs[i], node.place));
}

/// Brings a rule's results to the types that the file gives them.
void store_outputs(const TfliteNode& node, Exprs& made) {
  for (size_t i = 0; i < node.out.size(); ++i) {
    const TensorInfo* tensor = node.out[i];
    if (!tensor || tensor->type == TensorType::resource || tensor->type == TensorType::variant) continue;
    if (i >= made.size() || !made[i]) {
      if (tensor->type == TensorType::string) node.refuse("strings are not supported");
      node.refuse("output {} is not supported", i);
    }
    if (node.as_real && tensor->quantized())
      made[i] = quantize(node.p, made[i], *tensor);
    else if (tensor->dtype != DType::undefined && node.p.dtype(made[i]) != DType::undefined)
      made[i] = node.p.cast(made[i], tensor->dtype);
  }
}

void Importer::import_operator(Scope& scope, const OperatorInfo& op, size_t number) {
  TypedBuilder& p = scope.builder;
  TfliteNode node(p, *this, file_, op);
  const std::string op_name = operator_name(op.code, op.custom);
  const auto tensor_of = [&](int32_t index) { return index < 0 ? nullptr : &scope.info.tensors[static_cast<size_t>(index)]; };
  for (size_t i = 0; i < op.inputs.size(); ++i) node.in.push_back(tensor_of(op.inputs[i]));
  for (size_t i = 0; i < op.outputs.size(); ++i) node.out.push_back(tensor_of(op.outputs[i]));
  for (size_t i = 0; i < op.intermediates.size(); ++i) node.intermediates.push_back(tensor_of(op.intermediates[i]));
  std::string shown = "#" + std::to_string(number);
  for (size_t i = node.out.size(); i-- > 0;)
    if (node.out[i] && !node.out[i]->name.empty()) shown = std::string(node.out[i]->name.substr(0, 200));
  node.place = format("{}: node \"{}{}\" ({})", source_, scope.prefix, shown, op_name);
  p.set_stem(scope.prefix + shown);

  node.rule = find_rule(op.code, op.custom);
  const bool is_custom = !node.rule && op.code == kCustomCode;
  const std::string custom_name = is_custom && operators_.find(op.custom) ? std::string(op.custom) : "tflite." + std::string(op.custom);
  if (!node.rule && !(is_custom && operators_.find(custom_name))) {
    refusals_.add_missing(op_name, scope.prefix + shown);
    return refuse(scope, node, op_name);
  }
  Node* const before = p.graph().last();
  const auto made = build(node, [&] {
    check_kinds(node);
    read_inputs(scope, node);
    Exprs outputs = node.rule ? node.rule->build(node, p) : p.ops(custom_name, node.raw, node.out.size());
    outputs.resize(std::max(outputs.size(), node.out.size()));
    store_outputs(node, outputs);
    outputs.resize(node.out.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!node.out[i]) outputs[i] = {};
    return outputs;
  });
  if (!made) return refuse(scope, node, op_name);
  name_outputs(p, before, *made, [&](size_t i) { return scope.prefix + std::string(node.out[i]->name); });
  for (size_t i = 0; i < made->size(); ++i) {
    if (!(*made)[i]) continue;
    const TensorInfo& tensor = *node.out[i];
    Value& value = *(*made)[i].value();
    if (!value.type.dims && value.type.kind == ValueType::Kind::tensor && tensor.has_rank && !value.constant())
      value.type.dims = std::vector<Dim>(tensor.shape.size() + (tensor.is_complex() ? 1 : 0));
    bind(scope, op.outputs[i], (*made)[i]);
  }
}

Exprs Importer::outputs_of(Scope& scope, const std::string& place) {
  Exprs all;
  for (size_t i = 0; i < scope.info.outputs.size(); ++i) {
    const int32_t tensor = scope.info.outputs[i];
    all.push_back(scope.info.tensors[static_cast<size_t>(tensor)].type == TensorType::resource ? Expr() : raw_of(scope, tensor, place));
  }
  return all;
}

std::vector<std::string> Importer::resources_of(const TfliteNode& node, size_t first) const {
  std::vector<std::string> names;
  for (size_t i = first; i < node.in.size(); ++i) {
    const auto found = scope_->resources.find(node.info.inputs[i]);
    names.push_back(found == scope_->resources.end() ? std::string() : found->second);
  }
  return names;
}

Exprs Importer::put(TypedBuilder& builder, const SubgraphInfo& info, const Exprs& inputs, const std::vector<std::string>& resources,
                    const TfliteNode& node) {
  if (info.inputs.size() != inputs.size()) node.fail("its subgraph takes {} inputs, {} are given", info.inputs.size(), inputs.size());
  Scope inner(builder, info, inner_prefix(scope_->prefix, info.name.empty() ? "body" : info.name));
  inner.kind = scope_->kind == Scope::Kind::once ? Scope::Kind::once : Scope::Kind::nested;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) inner.raw[static_cast<size_t>(info.inputs[i])] = builder.wrap(inputs[i].value());
    if (!resources[i].empty()) inner.resources[info.inputs[i]] = resources[i];
  }
  import_operators(inner);
  return outputs_of(inner, node.place);
}

Exprs Importer::inlined(const TfliteNode& node, int64_t index) {
  return put(node.p, subgraph(node, index), node.raw, resources_of(node, 0), node);
}

Exprs Importer::branch(const TfliteNode& node, const Expr& condition, int64_t then_graph, int64_t else_graph) {
  const Exprs inputs(node.raw.begin() + 1, node.raw.end());
  const std::vector<std::string> resources = resources_of(node, 1);
  const auto side = [&](TypedBuilder& builder, int64_t index) {
    const Exprs results = put(builder, subgraph(node, index), inputs, resources, node);
    if (results.size() != node.out.size()) node.fail("its subgraph gives {} outputs, it has {}", results.size(), node.out.size());
    return results;
  };
  return make_if(
      node.p, node, condition, [&](TypedBuilder& builder) { return side(builder, then_graph); },
      [&](TypedBuilder& builder) { return side(builder, else_graph); });
}

Exprs Importer::loop(const TfliteNode& node, int64_t condition_graph, int64_t body_graph) {
  TypedBuilder& p = node.p;
  const SubgraphInfo &condition_info = subgraph(node, condition_graph), &body_info = subgraph(node, body_graph);
  const std::vector<std::string> resources = resources_of(node, 0);
  if (body_info.inputs.size() != node.raw.size())
    node.fail("its body takes {} inputs, {} are given", body_info.inputs.size(), node.raw.size());
  std::vector<LoopValue> values;
  for (size_t i = 0; i < node.raw.size(); ++i) {
    LoopValue& value = values.emplace_back();
    if (!(value.start = node.raw[i])) continue;
    const TensorInfo& tensor = body_info.tensors[static_cast<size_t>(body_info.inputs[i])];
    // A dimension stays fixed if the file fixes it to the initial size; others may change between iterations.
    value.type = tensor.has_rank && p.rank(value.start) == static_cast<int64_t>(tensor.shape.size())
                     ? carried_type(p, value.start, tensor.shape)
                     : ValueType::tensor(p.dtype(value.start));
    value.name = scope_->prefix + std::string(tensor.name);
  }
  return make_while(
      p, node, names_, values,
      [&](TypedBuilder& builder, const Exprs& of) {
        const Exprs result = put(builder, condition_info, of, resources, node);
        if (result.size() != 1 || !result[0]) node.fail("its condition gives {} outputs", result.size());
        return result[0];
      },
      [&](TypedBuilder& builder, const Exprs& of) { return put(builder, body_info, of, resources, node); });
}

// Variables.

void Importer::set_variable(const TfliteNode& node, size_t i, const Expr& value) {
  if (i >= node.in.size() || !node.in[i]) node.fail("input {} is missing", i);
  if (!node.in[i]->is_variable) return;  // a state that nobody keeps
  if (scope_->kind != Scope::Kind::main) node.refuse("variable tensors of subgraphs are not supported");
  bind(*scope_, node.info.inputs[i], value);
}

const std::string& Importer::resource_of(const TfliteNode& node, size_t input) const {
  const auto found = input < node.in.size() ? scope_->resources.find(node.info.inputs[input]) : scope_->resources.end();
  if (found == scope_->resources.end()) node.fail("input {} is no variable", input);
  return found->second;
}

void Importer::name_resource(const TfliteNode& node) {
  if (node.out.empty() || !node.out[0]) node.fail("has no output");
  const FlatTable& options = node.options();
  scope_->resources[node.info.outputs[0]] = std::string(options.text(0).substr(0, 200)) + "/" + std::string(options.text(1).substr(0, 200));
}

Variable& Importer::variable(const std::string& name, const TensorInfo& like, const std::string& place) {
  const auto found = variables_.find(name);
  if (found != variables_.end()) return found->second;
  Tensor initial;
  if (const auto value = initial_values_.find(name); value != initial_values_.end()) {
    initial = value->second;
  } else {
    Shape shape(like.shape);
    for (int64_t size : shape)
      if (size < 0) throw Unsupported("{}: a variable of unknown shape is not supported", place);
    initial = Tensor(like.dtype, shape);
  }
  Variable& variable = variables_[name];
  variable.state = graph_->states().size();
  graph_->add_state({unique(name.substr(name.starts_with("/") ? 1 : 0)), nullptr, nullptr, initial});
  return variable;
}

Expr Importer::read_resource(const TfliteNode& node) {
  if (scope_->kind == Scope::Kind::once) node.refuse("reading a variable while the model is initialized is not supported");
  Variable& found = variable(resource_of(node, 0), node.output_info(0), node.place);
  if (!found.value) found.value = node.p.wrap(graph_->states()[found.state].current);
  return node.p.wrap(found.value.value());
}

void Importer::assign_resource(const TfliteNode& node) {
  const std::string& name = resource_of(node, 0);
  const Expr value = node.input(1);
  if (scope_->kind == Scope::Kind::once) {
    assigned_once_.emplace_back(name, value);
    return;
  }
  if (scope_->kind != Scope::Kind::main) node.refuse("assigning a variable in a subgraph is not supported");
  variable(name, node.input_info(1), node.place).value = value;
}

void Importer::run_once(const TfliteNode& node, int64_t index) {
  if (scope_->kind != Scope::Kind::main || !variables_.empty()) node.refuse("initializing variables that are in use is not supported");
  Graph scratch;
  scratch.source = source_;
  SizeTable sizes;
  TypedBuilder builder(scratch, operators_, sizes);
  Scope inner(builder, subgraph(node, index), {});
  inner.kind = Scope::Kind::once;
  assigned_once_.clear();
  const size_t refused = refusals_.size();
  import_operators(inner);
  if (refusals_.size() == refused) {
    for (const auto& [name, value] : assigned_once_) {
      const auto contents = ConstantEvaluator(operators_).contents(*value.value(), [](const Node&) { return true; });
      if (!contents) node.refuse("the initial value of variable \"{}\" is not known before the run", name);
      initial_values_[name] = *contents;
    }
  }
  assigned_once_.clear();
}

void Importer::finish_states(Scope& scope) {
  const auto set = [&](size_t state, const Expr& value) { graph_->set_state_next(state, *scope.builder.own(value).value()); };
  for (const auto& [tensor, state] : states_) set(state, scope.raw[static_cast<size_t>(tensor)]);
  for (const auto& [name, variable] : variables_)
    set(variable.state, variable.value ? variable.value : scope.builder.wrap(graph_->states()[variable.state].current));
}

// The whole.

void Importer::add_outputs(Scope& scope) {
  std::vector<std::pair<std::string, Expr>> outputs;
  const auto add = [&](std::string name, int32_t tensor) {
    const Expr x = raw_of(scope, tensor, format("{}: output \"{}\"", source_, name));
    outputs.emplace_back(std::move(name), x);
  };
  for (const auto& [called, tensor] : signature_.outputs) add(called, static_cast<int32_t>(tensor));
  for (size_t i = 0; i < scope.info.outputs.size() && signature_.name.empty(); ++i) {
    const int32_t tensor = scope.info.outputs[i];
    const std::string_view name = scope.info.tensors[static_cast<size_t>(tensor)].name;
    add(name.empty() ? "output" + std::to_string(i) : std::string(name), tensor);
  }
  add_named_outputs(scope.builder, outputs, names_);
}

void Importer::describe() {
  Metadata& metadata = graph_->metadata;
  metadata.labels = read_labels(file_.bytes());
  for (const auto& [name, bytes] : file_.metadata())
    if (name == "min_runtime_version" && bytes.size() < 100) {
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      metadata.properties[std::string(name)] = text.substr(0, text.find('\0'));
    }
  // Record the names that signatures of this graph give the inputs and outputs.
  const FlatTables signatures = file_.signatures();
  for (size_t i = 0; i < signatures.size() && i < kMostSignatures; ++i) {
    const Signature signature = read_signature(file_, signatures[i]);
    if (signature.subgraph != main_) continue;
    std::string text;
    for (const auto* list : {&signature.inputs, &signature.outputs}) {
      text += list == &signature.outputs ? " -> " : "";
      for (size_t k = 0; k < list->size(); ++k)
        text += format("{}{}={}", k ? ", " : "", (*list)[k].first, file_.subgraphs()[main_].tensors[(*list)[k].second].name.substr(0, 200));
    }
    metadata.properties["signature." + signature.name.substr(0, 100)] = text;
  }
}

std::unique_ptr<Graph> Importer::run() {
  const SubgraphInfo& info = file_.subgraphs()[main_];
  graph_->name = info.name;
  TypedBuilder builder(*graph_, operators_, sizes_);
  Scope scope(builder, info, {});
  scope.kind = Scope::Kind::main;
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    const TensorInfo& tensor = info.tensors[static_cast<size_t>(info.inputs[i])];
    if (tensor.type == TensorType::string) {
      refusals_.add(format("input \"{}\" holds strings", tensor.name));
      continue;
    }
    if (tensor.dtype == DType::undefined) {
      refusals_.add(format("input \"{}\" is of type {}", tensor.name, static_cast<int>(tensor.type)));
      continue;
    }
    std::string name = tensor.name.empty() ? "input" + std::to_string(i) : std::string(tensor.name);
    for (const auto& [called, index] : signature_.inputs)
      if (index == static_cast<size_t>(info.inputs[i])) name = called;
    name = unique(name);
    scope.raw[static_cast<size_t>(info.inputs[i])] = builder.wrap(&graph_->add_input(name, tensor.value_type()));
  }
  throw_refusals();
  for (const auto& output : signature_.outputs) names_.take(output.first);
  import_operators(scope);
  throw_refusals();
  add_outputs(scope);
  finish_states(scope);
  describe();
  return finish("tflite", std::string(file_.description().substr(0, 500)));
}

}  // namespace

std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source) {
  return read_as("TFLite model", source, [&] {
    ModelFile file(std::move(bytes), source);
    return Importer(file, options).run();
  });
}

}  // namespace minnow::tflite

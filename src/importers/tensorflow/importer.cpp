// SPDX-License-Identifier: Apache-2.0
// From nodes in any order to a graph: references to values, functions put in line or made If and Loop.
#include "importers/tensorflow/importer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/os.h"
#include "importers/control_flow.h"
#include "importers/driver.h"
#include "importers/source.h"
#include "importers/tensorflow/control_flow.h"
#include "importers/tensorflow/saved_model.h"
#include "importers/tensorflow/tables.h"
#include "importers/tensorflow/tf_node.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {
namespace tensorflow {
namespace {

using onnx::Fields;

constexpr size_t kMostBranches = 64;  // of a choice by number

/// The nodes of the graph, or of one use of a function.
struct Scope {
  Scope(TypedBuilder& p, const std::vector<NodeDef>& defs, std::string name_prefix)
      : builder(p), nodes(defs), prefix(std::move(name_prefix)) {
    for (size_t i = 0; i < defs.size(); ++i) index.emplace(defs[i].name, i);
  }
  TypedBuilder& builder;
  const std::vector<NodeDef>& nodes;
  std::string prefix;
  std::unordered_map<std::string_view, size_t> index;
  std::unordered_map<std::string_view, Exprs> made;      // by node
  std::unordered_map<std::string_view, Expr> arguments;  // of a function
};

class Importer final : public Host, private ImportDriver {
 public:
  Importer(Source from, const ImportOptions& options, std::string source)
      : ImportDriver(std::move(source), options.operators ? *options.operators : OperatorSet::builtin()),
        from_(std::move(from)),
        def_(from_.graph),
        shapes_(options.shapes) {}

  std::unique_ptr<Graph> run();

  Exprs call(const TfNode& node, std::string_view function, const Exprs& inputs) override {
    return put(node.p, named(node, function), inputs, node);
  }
  Exprs branch(const TfNode& node, const Expr& condition, std::string_view then_function, std::string_view else_function,
               const Exprs& inputs) override;
  Exprs cases(const TfNode& node, const Expr& index, std::span<const std::string_view> functions, const Exprs& inputs) override;
  Exprs loop(const TfNode& node, std::string_view condition, std::string_view body) override;
  Table table(const TfNode& node, const Expr& handle) override;

 private:
  Exprs cases(const TfNode& node, TypedBuilder& p, const Expr& index, std::span<const std::string_view> functions, size_t first,
              const Exprs& inputs);
  const FunctionDef& named(const TfNode& node, std::string_view name) const;
  Exprs put(TypedBuilder& builder, const FunctionDef& function, const Exprs& inputs, const TfNode& node);
  Expr value(Scope& scope, std::string_view text, const std::string& where);
  void import_with_inputs(Scope& scope, size_t node);
  void import_node(Scope& scope, const NodeDef& def);
  Exprs outputs_of(Scope& scope, const NodeDef& def, TfNode& node);
  Expr import_table(Scope& scope, const NodeDef& def);
  Expr import_placeholder(Scope& scope, const NodeDef& def, const TfNode& node);
  Expr constant(Scope& scope, const NodeDef& def, Tensor tensor);
  std::string place(const Scope& scope, const NodeDef& def) const {
    return format("{}: node \"{}{}\" ({})", source_, scope.prefix, def.name.substr(0, 200), def.op.substr(0, 100));
  }
  /// The name of the model input that this placeholder stands for.
  std::string_view input_name(std::string_view placeholder) const {
    for (const auto& [key, tensor] : from_.inputs)
      if (parse_reference(tensor).node == placeholder) return key;
    return placeholder;
  }
  std::vector<size_t> find_outputs() const;
  void import_all(TypedBuilder& builder, Scope& scope);
  void import_signature(TypedBuilder& builder, Scope& scope);
  void give(TypedBuilder& builder, const Expr& made, const std::string& name);

  Source from_;
  const GraphDef& def_;
  std::map<std::string_view, TableContents> tables_;
  std::unordered_map<const Value*, Table> table_of_;  // by the values that stand for them
  std::map<std::string, std::vector<int64_t>> shapes_;
  Scope* scope_ = nullptr;  // where the current node stands
};

/// The tensor of a Const node. Throws Unsupported.
Tensor contents_of(const NodeDef& def) {
  const auto found = def.attributes.find("value");
  std::string_view message;
  if (found != def.attributes.end())
    for (Fields fields(found->second); fields.next();)
      if (fields.number() == 8) message = fields.bytes();
  return read_tensor(message);
}

bool is_variable(std::string_view op) { return op == "VarHandleOp" || op == "Variable" || op == "VariableV2"; }

Expr Importer::value(Scope& scope, std::string_view text, const std::string& where) {
  const Reference reference = parse_reference(text);
  const auto argument = scope.arguments.find(reference.node);
  if (argument != scope.arguments.end()) return argument->second;
  const auto found = scope.made.find(reference.node);
  if (found == scope.made.end()) throw InvalidModel("{}: \"{}\" is used, but no node makes it", where, text.substr(0, 200));
  const NodeDef& def = scope.nodes[scope.index.at(reference.node)];
  const size_t at = reference.place + (reference.argument.empty() ? 0 : output_place(def.op, reference.argument));
  if (at >= found->second.size() || !found->second[at])
    throw InvalidModel("{}: node \"{}\" has no output {}", where, reference.node.substr(0, 200), at);
  return found->second[at];
}

/// Imports the inputs of each node before the node, because files list nodes in any order.
void Importer::import_with_inputs(Scope& scope, size_t first) {
  std::vector<std::pair<size_t, size_t>> stack = {{first, 0}};  // node, next input
  std::unordered_set<size_t> open = {first};
  while (!stack.empty()) {
    auto& [at, next] = stack.back();
    const NodeDef& def = scope.nodes[at];
    if (scope.made.contains(def.name)) {
      open.erase(at);
      stack.pop_back();
      continue;
    }
    if (next < def.inputs.size()) {
      const std::string_view text = def.inputs[next++];
      if (text.starts_with('^')) continue;
      const auto found = scope.index.find(parse_reference(text).node);
      if (found == scope.index.end() || scope.made.contains(found->first)) continue;  // an argument, or an error that import_node tells
      if (!open.insert(found->second).second) throw InvalidModel("{}: its inputs go round in a circle", place(scope, def));
      stack.emplace_back(found->second, 0);
      continue;
    }
    const size_t done = at;
    stack.pop_back();
    import_node(scope, scope.nodes[done]);
    open.erase(done);
  }
}

/// A hash table: its keys stand for it, a value that functions hand on.
Expr Importer::import_table(Scope& scope, const NodeDef& def) {
  const auto found = nesting_.depth() > 0 ? tables_.end() : tables_.find(def.name);
  if (found == tables_.end()) throw Unsupported("it is not filled with constants of the graph");
  Table table{contents_of(*found->second.keys), contents_of(*found->second.values)};
  const DType keys = table.keys.dtype();
  if (keys != DType::i32 && keys != DType::i64) throw Unsupported("keys of {} are not supported", keys);
  if (table.keys.shape().rank() != 1 || table.values.shape() != table.keys.shape())
    throw Unsupported("{} keys do not fit values of shape {}", table.keys.elements(), table.values.shape());
  const Expr handle = constant(scope, def, table.keys);
  table_of_.emplace(handle.value(), std::move(table));
  return handle;
}

Expr Importer::import_placeholder(Scope& scope, const NodeDef& def, const TfNode& node) {
  if (nesting_.depth() > 0) node.fail("stands in a function");
  ValueType type = ValueType::tensor(node.type("dtype"));
  if (type.dtype == DType::undefined) {
    constexpr int64_t kString = 7;
    node.refuse(node.integer("dtype", 0) == kString ? "strings are not supported" : "its type is not supported");
  }
  auto shape = node.shape("shape");
  if (!shape)  // the file has no shape, but the caller may have given one
    if (const auto known = shapes_.find(std::string(input_name(def.name))); known != shapes_.end()) shape = known->second;
  if (shape) {
    type.dims.emplace();
    for (int64_t size : *shape) type.dims->push_back(Dim{size, {}});
  }
  return scope.builder.wrap(&scope.builder.graph().add_input(unique(std::string(def.name)), std::move(type)));
}

Expr Importer::constant(Scope& scope, const NodeDef& def, Tensor tensor) {
  return scope.builder.wrap(&scope.builder.graph().add_constant(std::move(tensor), unique(scope.prefix + std::string(def.name))));
}

Exprs Importer::outputs_of(Scope& scope, const NodeDef& def, TfNode& node) {
  if (def.op == "Const") return {constant(scope, def, contents_of(def))};
  if (def.op == "HashTable" || def.op == "HashTableV2") return {import_table(scope, def)};
  if (def.op == "Placeholder") return {import_placeholder(scope, def, node)};
  if (is_variable(def.op)) {
    const auto found = nesting_.depth() > 0 ? from_.variables.end() : from_.variables.find(def.name);
    if (found == from_.variables.end() || !from_.checkpoint)
      throw Unsupported("its value is not in the file, nor in a checkpoint beside it");
    return {constant(scope, def, from_.checkpoint->read(found->second))};
  }
  constexpr int64_t kComplex64 = 8, kComplex128 = 18;
  const int64_t type = node.integer("T", 0) % 100;
  if ((type == kComplex64 || type == kComplex128) && node.rule->target != "complex" && def.op != "Identity")
    node.refuse("complex numbers are not supported here");
  for (std::string_view text : def.inputs)
    if (!text.starts_with('^')) node.inputs.push_back(value(scope, text, node.place));
  return node.rule->build(node, node.p);
}

void Importer::import_node(Scope& scope, const NodeDef& def) {
  nesting_.spend(source_, 1);
  TypedBuilder& p = scope.builder;
  TfNode node(p, *this, def);
  node.place = place(scope, def);
  node.rule = find_rule(def.op);
  const std::string name = scope.prefix + std::string(def.name.substr(0, 200));
  p.set_stem(name);
  const bool is_known =
      node.rule || def.op == "Const" || def.op == "Placeholder" || def.op == "HashTable" || def.op == "HashTableV2" || is_variable(def.op);
  if (!is_known) refusals_.add_missing(std::string(def.op.substr(0, 200)), name);
  Node* const before = p.graph().last();
  const Temporarily<Scope*> here(scope_, &scope);
  auto made = is_known ? build(node, [&] { return outputs_of(scope, def, node); }) : std::nullopt;
  if (!made)
    made = stand_ins(p, "tensorflow." + std::string(def.op.substr(0, 100)), 8);
  else
    name_outputs(p, before, *made,
                 [&](size_t i) { return scope.prefix + std::string(def.name) + (i ? ":" + std::to_string(i) : std::string()); });
  // If an unknown shape hides the dtype, the attribute T of most operators still gives it.
  for (const Expr& x : *made)
    if (x && node.rule && x.value()->type.kind == ValueType::Kind::tensor && x.value()->type.dtype == DType::undefined)
      x.value()->type.dtype = node.type("T");
  scope.made[def.name] = std::move(*made);
}

Table Importer::table(const TfNode& node, const Expr& handle) {
  const auto found = table_of_.find(handle.value());
  if (found == table_of_.end()) node.refuse("its table is not known before the run");
  return found->second;
}

const FunctionDef& Importer::named(const TfNode& node, std::string_view name) const {
  const auto found = def_.functions.find(name);
  if (found == def_.functions.end()) node.fail("there is no function \"{}\"", name.substr(0, 200));
  return found->second;
}

Exprs Importer::put(TypedBuilder& builder, const FunctionDef& function, const Exprs& inputs, const TfNode& node) {
  if (inputs.size() != function.inputs.size())
    node.fail("function \"{}\" takes {} inputs, {} are given", function.name.substr(0, 200), function.inputs.size(), inputs.size());
  Scope inner(builder, function.nodes, inner_prefix(scope_->prefix, node.def.name));
  for (size_t i = 0; i < inputs.size(); ++i) inner.arguments[function.inputs[i]] = builder.wrap(inputs[i].value());
  Exprs results;
  nesting_.enter(source_, 0, [&] {
    for (std::string_view output : function.outputs) {
      const auto found = function.results.find(output);
      if (found == function.results.end())
        node.fail("function \"{}\" does not give \"{}\"", function.name.substr(0, 200), output.substr(0, 200));
      const auto from = inner.index.find(parse_reference(found->second).node);
      if (from != inner.index.end()) import_with_inputs(inner, from->second);
      results.push_back(value(inner, found->second, node.place));
    }
  });
  return results;
}

Exprs Importer::branch(const TfNode& node, const Expr& condition, std::string_view then_function, std::string_view else_function,
                       const Exprs& inputs) {
  return make_if(
      node.p, node, condition, [&](TypedBuilder& builder) { return put(builder, named(node, then_function), inputs, node); },
      [&](TypedBuilder& builder) { return put(builder, named(node, else_function), inputs, node); });
}

// An index that names no branch takes the last.
Exprs Importer::cases(const TfNode& node, const Expr& index, std::span<const std::string_view> functions, const Exprs& inputs) {
  if (functions.empty()) node.fail("has no branches");
  if (functions.size() > kMostBranches) node.refuse("a choice among {} is not supported", functions.size());  // each lies in the one before
  return cases(node, node.p, index, functions, 0, inputs);
}

Exprs Importer::cases(const TfNode& node, TypedBuilder& p, const Expr& index, std::span<const std::string_view> functions, size_t first,
                      const Exprs& inputs) {
  if (first + 1 == functions.size()) return put(p, named(node, functions[first]), inputs, node);
  const Expr here = p.wrap(index.value());
  const Expr condition = p.op("Equal", {here, p.scalar(static_cast<double>(first), p.dtype(here))});
  return make_if(
      p, node, condition, [&](TypedBuilder& builder) { return put(builder, named(node, functions[first]), inputs, node); },
      [&](TypedBuilder& builder) { return cases(node, builder, index, functions, first + 1, inputs); });
}

/// Which arguments of a loop's body it gives back as they came, through Identity perhaps.
std::vector<bool> unchanged(const FunctionDef& body) {
  std::unordered_map<std::string_view, const NodeDef*> nodes;
  for (const NodeDef& def : body.nodes) nodes.emplace(def.name, &def);
  std::vector<bool> same;
  for (size_t i = 0; i < body.inputs.size() && i < body.outputs.size(); ++i) {
    const auto result = body.results.find(body.outputs[i]);
    std::string_view at = result == body.results.end() ? std::string_view() : parse_reference(result->second).node;
    for (size_t steps = 0; at != body.inputs[i] && steps < 8; ++steps) {
      const auto found = nodes.find(at);
      if (found == nodes.end() || found->second->op != "Identity" || found->second->inputs.empty()) break;
      at = parse_reference(found->second->inputs[0]).node;
    }
    same.push_back(at == body.inputs[i]);
  }
  same.resize(body.inputs.size());
  return same;
}

Exprs Importer::loop(const TfNode& node, std::string_view condition_name, std::string_view body_name) {
  const FunctionDef &condition_function = named(node, condition_name), &body_function = named(node, body_name);
  // If the body returns an argument unchanged, it reads the outer value, possibly a constant.
  const std::vector<bool> same = unchanged(body_function);
  std::vector<LoopValue> values;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    values.push_back({node.inputs[i], i >= same.size() || !same[i], carried_type(node.p, node.inputs[i])});
  return make_while(
      node.p, node, names_, values,
      [&](TypedBuilder& builder, const Exprs& of) {
        const Exprs result = put(builder, condition_function, of, node);
        if (result.size() != 1) node.fail("its condition gives {} outputs", result.size());
        return result[0];
      },
      [&](TypedBuilder& builder, const Exprs& of) { return put(builder, body_function, of, node); });
}

/// Nodes whose results no other node reads.
std::vector<size_t> Importer::find_outputs() const {
  std::unordered_map<std::string_view, size_t> index;
  std::unordered_set<std::string_view> read;
  for (size_t i = 0; i < def_.nodes.size(); ++i) {
    index.emplace(def_.nodes[i].name, i);
    for (std::string_view input : def_.nodes[i].inputs)
      if (!input.starts_with('^')) read.insert(parse_reference(input).node);
  }
  // Nodes that still read a node of a rewritten loop or branch were part of it.
  std::vector<uint8_t> inside(def_.nodes.size());
  std::vector<std::vector<size_t>> readers(def_.nodes.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < def_.nodes.size(); ++i) {
    for (std::string_view input : def_.nodes[i].inputs)
      if (const auto found = index.find(parse_reference(input).node); found != index.end()) readers[found->second].push_back(i);
    if (is_control_flow(def_.nodes[i].op)) inside[i] = 1, open.push_back(i);
  }
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    for (size_t reader : readers[at])
      if (!inside[reader]) inside[reader] = 1, open.push_back(reader);
  }
  std::vector<size_t> outputs, of_loops, constants;
  for (size_t i = 0; i < def_.nodes.size(); ++i) {
    const NodeDef& def = def_.nodes[i];
    if (inside[i] || def.was_read || read.contains(def.name) || def.op == "Const" || def.op == "NoOp" || def.op == "Placeholder" ||
        def.op == "Assert" || fills_table(def.op) || def.op.starts_with("TensorArrayClose"))
      continue;
    if (def.op == "Identity" && def.inputs.size() == 1)  // freezing makes it of a variable's reading, also of one that nothing needs
      if (const auto from = index.find(parse_reference(def.inputs[0]).node);
          from != index.end() && def_.nodes[from->second].op == "Const") {
        constants.push_back(i);
        continue;
      }
    (def.leaves_loop ? of_loops : outputs).push_back(i);  // a loop leaves with all of its values, whether they are wanted or not
  }
  return !outputs.empty() ? outputs : !of_loops.empty() ? of_loops : constants;
}

/// Gives `x` under this name.
void Importer::give(TypedBuilder& builder, const Expr& made, const std::string& name) {
  const Expr x = builder.own(made);
  Value& output = *(x.value()->name() == name || names_.take(name) ? x : builder.op("Identity", {x})).value();
  output.rename(name);
  graph_->add_output(output);
}

/// Imports all of a frozen graph. Inputs, used or not, keep the order of the file, except for placeholders that TensorFlow's own freezing
/// leaves from loops: these are imported only if needed.
void Importer::import_all(TypedBuilder& builder, Scope& scope) {
  const std::vector<size_t> outputs = find_outputs();
  for (const NodeDef& def : def_.nodes)
    if (def.op == "Placeholder" && !def.name.starts_with("unused_control_flow_input")) import_node(scope, def);
  for (size_t i : outputs) import_with_inputs(scope, i);
  throw_refusals();
  for (size_t i : outputs) {
    const Exprs& made = scope.made.at(def_.nodes[i].name);
    for (size_t k = 0; k < made.size(); ++k)
      if (made[k]) give(builder, made[k], std::string(def_.nodes[i].name) + (k ? ":" + std::to_string(k) : std::string()));
  }
}

/// Imports the nodes that a signature needs. Inputs and outputs get the signature's names.
void Importer::import_signature(TypedBuilder& builder, Scope& scope) {
  for (const auto& [key, tensor] : from_.outputs) names_.take(std::string(key));
  for (const auto& [key, tensor] : from_.inputs) names_.take(std::string(key));
  std::vector<Value*> inputs;
  for (const auto& [key, tensor] : from_.inputs) {
    const auto found = scope.index.find(parse_reference(tensor).node);
    if (found == scope.index.end() || def_.nodes[found->second].op != "Placeholder")
      throw InvalidModel("{}: input \"{}\" of the signature is \"{}\", which is no placeholder", source_, key.substr(0, 200),
                         tensor.substr(0, 200));
    const NodeDef& def = def_.nodes[found->second];
    if (scope.made.contains(def.name)) throw InvalidModel("{}: two inputs of the signature are \"{}\"", source_, tensor.substr(0, 200));
    import_node(scope, def);
    inputs.push_back(scope.made.at(def.name)[0].value());
  }
  for (const auto& [key, tensor] : from_.outputs)
    if (const auto found = scope.index.find(parse_reference(tensor).node); found != scope.index.end())
      import_with_inputs(scope, found->second);
  throw_refusals();
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i]->rename(std::string(from_.inputs[i].first));
  for (const auto& [key, tensor] : from_.outputs) {
    const Expr x = builder.own(value(scope, tensor, format("{}: output \"{}\" of the signature", source_, key.substr(0, 200))));
    x.value()->rename(std::string(key));
    graph_->add_output(*x.value());
  }
}

std::unique_ptr<Graph> Importer::run() {
  tables_ = find_tables(def_);
  TypedBuilder builder(*graph_, operators_, sizes_);
  Scope scope(builder, def_.nodes, {});
  if (scope.index.size() != def_.nodes.size()) throw InvalidModel("{}: two nodes have the same name", source_);
  if (from_.has_signature)
    import_signature(builder, scope);
  else
    import_all(builder, scope);
  return finish("tensorflow", "TensorFlow");
}

}  // namespace

std::unique_ptr<Graph> import_model(std::string_view bytes, const std::string& checkpoint, const ImportOptions& options,
                                    const std::string& source) {
  return read_as("TensorFlow graph", source, [&] {
    Source from;
    if (looks_like_saved_model(bytes)) {
      from = read_saved_model(bytes, options.signature, checkpoint, source);
    } else {
      if (!options.signature.empty()) throw InvalidArgument("{}: a frozen graph has no signatures", source);
      from.graph = read_graph(bytes);
    }
    make_functional(from.graph, source);
    return Importer(std::move(from), options, source).run();
  });
}

}  // namespace tensorflow

std::unique_ptr<Graph> import_tensorflow(const std::string& path, const ImportOptions& options) {
  const auto file = os::MappedFile::open(path);
  return tensorflow::import_model(text_of(file->bytes()), folder_of_file(path) + "/variables/variables", options,
                                  source_of(options, name_of_file(path)));
}
std::unique_ptr<Graph> import_tensorflow(std::span<const std::byte> bytes, std::shared_ptr<const void>, const ImportOptions& options) {
  return tensorflow::import_model(text_of(bytes), {}, options, source_of(options));
}
bool looks_like_tensorflow(std::span<const std::byte> bytes) {
  return tensorflow::looks_like_graph(text_of(bytes)) || tensorflow::looks_like_saved_model(text_of(bytes));
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// From nodes in any order to a graph: references to values, functions put in line or made If and Loop.
#include "importers/tensorflow/importer.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/os.h"
#include "importers/refusals.h"
#include "importers/tensorflow/tf_node.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {
namespace tensorflow {
namespace {

using onnx::Fields;

constexpr int kMaxDepth = 32;             // of functions in each other
constexpr size_t kMostNodes = 2'000'000;  // of all functions where they are used

/// The nodes of the graph, or of one use of a function.
struct Scope {
  Scope(Parts& p, const std::vector<NodeDef>& defs, std::string name_prefix) : parts(p), nodes(defs), prefix(std::move(name_prefix)) {
    for (size_t i = 0; i < defs.size(); ++i) index.emplace(defs[i].name, i);
  }
  Parts& parts;
  const std::vector<NodeDef>& nodes;
  std::string prefix;
  std::unordered_map<std::string_view, size_t> index;
  std::unordered_map<std::string_view, Exprs> made;      // by node
  std::unordered_map<std::string_view, Expr> arguments;  // of a function
};

struct Reference {
  std::string_view node, argument;
  size_t place = 0;
};

Reference parse(std::string_view text) {
  Reference reference;
  const size_t first = text.find(':');
  reference.node = text.substr(0, first);
  if (first == text.npos) return reference;
  const size_t last = text.rfind(':');
  if (last != first) reference.argument = text.substr(first + 1, last - first - 1);
  const std::string_view number = text.substr(last + 1);
  std::from_chars(number.data(), number.data() + number.size(), reference.place);
  return reference;
}

class Importer final : public Host {
 public:
  Importer(GraphDef def, const ImportOptions& options, std::string source)
      : def_(std::move(def)), operators_(options.operators ? *options.operators : OperatorSet::builtin()), source_(std::move(source)) {}

  std::unique_ptr<Graph> run();

  Exprs call(const TfNode& node, std::string_view function, const Exprs& inputs) override {
    return put(node.p, named(node, function), inputs, node);
  }
  Exprs branch(const TfNode& node, const Expr& condition, std::string_view then_function, std::string_view else_function,
               const Exprs& inputs) override;
  Exprs loop(const TfNode& node, std::string_view condition, std::string_view body) override;

 private:
  const FunctionDef& named(const TfNode& node, std::string_view name) const;
  Exprs put(Parts& parts, const FunctionDef& function, const Exprs& inputs, const TfNode& node);
  Expr value(Scope& scope, std::string_view text, const std::string& where);
  void import_with_inputs(Scope& scope, size_t node);
  void import_node(Scope& scope, const NodeDef& def);
  Expr own(Parts& parts, const Expr& x) {
    const Value* v = x.value();
    return v->producer() && &v->graph() == &parts.builder().graph() && !v->is_graph_output() ? x : parts.op("Identity", {x});
  }
  std::string place(const Scope& scope, const NodeDef& def) const {
    return format("{}: node \"{}{}\" ({})", source_, scope.prefix, def.name.substr(0, 200), def.op.substr(0, 100));
  }
  std::string unique(std::string name);

  GraphDef def_;
  const OperatorSet& operators_;
  std::string source_;
  std::unique_ptr<Graph> graph_;
  SizeTable sizes_;
  Scope* scope_ = nullptr;
  int depth_ = 0;
  size_t nodes_left_ = kMostNodes;
  std::unordered_set<std::string> names_;
  Refusals refusals_;
};

std::string Importer::unique(std::string name) {
  if (name.empty()) name = "value";
  if (names_.insert(name).second) return name;
  for (size_t i = 1;; ++i) {
    std::string other = name + "_" + std::to_string(i);
    if (names_.insert(other).second) return other;
  }
}

Expr Importer::value(Scope& scope, std::string_view text, const std::string& where) {
  const Reference reference = parse(text);
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

/// Nodes stand in any order: what a node needs is imported before it.
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
      const auto found = scope.index.find(parse(text).node);
      if (found == scope.index.end() || scope.made.contains(found->first)) continue;  // an argument, or an error that import_node tells
      // A loop of the first generation goes round through NextIteration, which is refused by itself.
      if (!open.insert(found->second).second) {
        if (find_rule(def.op)) throw InvalidModel("{}: its inputs go round in a circle", place(scope, def));
        continue;
      }
      stack.emplace_back(found->second, 0);
      continue;
    }
    const size_t done = at;
    stack.pop_back();
    import_node(scope, scope.nodes[done]);
    open.erase(done);
  }
}

void Importer::import_node(Scope& scope, const NodeDef& def) {
  if (nodes_left_-- == 0) throw InvalidModel("{}: functions that call functions make this file a very large graph", source_);
  Parts& p = scope.parts;
  Graph& graph = p.builder().graph();
  const std::string where = place(scope, def);
  TfNode node(p, *this, def);
  node.place = where;
  p.builder().set_stem(scope.prefix + std::string(def.name.substr(0, 200)));
  const auto refuse = [&] {  // results of a kind, only to go on and find what else is missing
    Exprs results;
    for (Expr& x : p.builder().ops("tensorflow." + std::string(def.op.substr(0, 100)), {}, 8)) results.push_back(x);
    scope.made[def.name] = std::move(results);
  };
  if (def.op == "Const") {
    const auto found = def.attributes.find("value");
    std::string_view message;
    if (found != def.attributes.end())
      for (Fields fields(found->second); fields.next();)
        if (fields.number() == 8) message = fields.bytes();
    try {
      Tensor tensor = read_tensor(message);
      scope.made[def.name] = {p.builder().wrap(&graph.add_constant(std::move(tensor), unique(scope.prefix + std::string(def.name))))};
    } catch (const Unsupported& error) {
      refusals_.add(format("node \"{}\" (Const): {}", def.name.substr(0, 200), error.what()));
      refuse();
    }
    return;
  }
  if (def.op == "Placeholder") {
    if (depth_ > 0) throw InvalidModel("{}: stands in a function", where);
    ValueType type = ValueType::tensor(node.type("dtype"));
    if (type.dtype == DType::undefined) {
      refusals_.add(where.substr(source_.size() + 2) + ": its type is not supported");
      return refuse();
    }
    if (const auto found = def.attributes.find("shape"); found != def.attributes.end())
      for (Fields fields(found->second); fields.next();)
        if (fields.number() == 7)
          if (const auto shape = read_shape(fields.bytes())) {
            type.dims.emplace();
            for (int64_t size : *shape) type.dims->push_back(Dim{size, {}});
          }
    scope.made[def.name] = {p.builder().wrap(&graph.add_input(unique(std::string(def.name)), std::move(type)))};
    return;
  }
  node.rule = find_rule(def.op);
  if (!node.rule) {
    refusals_.add_missing(std::string(def.op.substr(0, 200)), scope.prefix + std::string(def.name.substr(0, 200)));
    return refuse();
  }
  Node* const before = graph.last();
  Scope* const outer = scope_;
  scope_ = &scope;
  Exprs made;
  try {
    for (std::string_view text : def.inputs)
      if (!text.starts_with('^')) node.inputs.push_back(value(scope, text, where));
    made = node.rule->build(node, p);
  } catch (const Unsupported& error) {
    scope_ = outer;
    const std::string_view sentence = error.what();
    refusals_.add(sentence.starts_with(source_) ? std::string(sentence.substr(source_.size() + 2))
                                                : where.substr(source_.size() + 2) + ": " + std::string(sentence));
    return refuse();
  } catch (const InvalidModel& error) {
    scope_ = outer;
    if (std::string_view(error.what()).starts_with(source_)) throw;
    throw InvalidModel("{}: {}", where, error.what());
  }
  scope_ = outer;
  std::unordered_set<const Value*> fresh;
  for (Node* at = graph.last(); at != before; at = at->previous())
    for (size_t i = 0; i < at->output_count(); ++i) fresh.insert(at->output(i));
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) continue;
    if (fresh.erase(made[i].value()))
      made[i].value()->rename(unique(scope.prefix + std::string(def.name) + (i ? ":" + std::to_string(i) : std::string())));
    p.infer(made[i]);
  }
  scope.made[def.name] = std::move(made);
}

const FunctionDef& Importer::named(const TfNode& node, std::string_view name) const {
  const auto found = def_.functions.find(name);
  if (found == def_.functions.end()) node.fail("there is no function \"{}\"", name.substr(0, 200));
  return found->second;
}

Exprs Importer::put(Parts& parts, const FunctionDef& function, const Exprs& inputs, const TfNode& node) {
  if (inputs.size() != function.inputs.size())
    node.fail("function \"{}\" takes {} inputs, {} are given", function.name.substr(0, 200), function.inputs.size(), inputs.size());
  if (depth_ >= kMaxDepth) throw InvalidModel("{}: functions call each other more than {} deep", source_, kMaxDepth);
  Scope inner(parts, function.nodes, scope_->prefix + std::string(node.def.name.substr(0, 100)) + "/");
  if (inner.prefix.size() > 250) inner.prefix.erase(0, inner.prefix.size() - 250);
  for (size_t i = 0; i < inputs.size(); ++i) inner.arguments[function.inputs[i]] = parts.builder().wrap(inputs[i].value());
  ++depth_;
  Exprs results;
  for (std::string_view output : function.outputs) {
    const auto found = function.results.find(output);
    if (found == function.results.end())
      node.fail("function \"{}\" does not give \"{}\"", function.name.substr(0, 200), output.substr(0, 200));
    const auto from = inner.index.find(parse(found->second).node);
    if (from != inner.index.end()) import_with_inputs(inner, from->second);
    results.push_back(value(inner, found->second, node.place));
  }
  --depth_;
  return results;
}

Exprs Importer::branch(const TfNode& node, const Expr& condition, std::string_view then_function, std::string_view else_function,
                       const Exprs& inputs) {
  Attributes attributes;
  size_t count = 0;
  for (const auto& [name, function] : {std::pair("then_branch", then_function), std::pair("else_branch", else_function)}) {
    auto body = std::make_shared<Graph>();
    body->outer = &node.p.builder().graph();
    body->source = source_;
    GraphBuilder builder(*body);
    Parts parts(builder, operators_, sizes_);
    const Exprs results = put(parts, named(node, function), inputs, node);
    if (count && count != results.size()) node.fail("its branches give {} and {} outputs", count, results.size());
    count = results.size();
    for (const Expr& x : results) body->add_output(*own(parts, x).value());
    attributes.set(name, Subgraph(body));
  }
  return node.p.ops("If", {node.p.reshape(condition, Ints{})}, count, std::move(attributes));
}

Exprs Importer::loop(const TfNode& node, std::string_view condition_name, std::string_view body_name) {
  Parts& p = node.p;
  const FunctionDef &condition_function = named(node, condition_name), &body_function = named(node, body_name);
  const auto condition = [&](Parts& parts, const Exprs& values) {
    const Exprs result = put(parts, condition_function, values, node);
    if (result.size() != 1) node.fail("its condition gives {} outputs", result.size());
    return parts.reshape(parts.builder().wrap(result[0].value()), Ints{});
  };
  const Expr start = condition(p, node.inputs);
  auto body = std::make_shared<Graph>();
  body->outer = &p.builder().graph();
  body->source = source_;
  GraphBuilder builder(*body);
  Parts parts(builder, operators_, sizes_);
  body->add_input(unique("iteration"), ValueType::tensor(DType::i64, Shape{}));
  body->add_input(unique("condition"), ValueType::tensor(DType::boolean, Shape{}));
  // What each iteration hands on keeps its rank; its sizes may change.
  Exprs values, carried = {Expr(), start};
  for (const Expr& x : node.inputs) {
    ValueType type = ValueType::tensor(p.dtype(x));
    if (const int64_t rank = p.rank(x); rank >= 0) type.dims = std::vector<Dim>(static_cast<size_t>(rank));
    values.push_back(builder.wrap(&body->add_input(unique("carried"), std::move(type))));
    carried.push_back(x);
  }
  const Exprs results = put(parts, body_function, values, node);
  if (results.size() != node.inputs.size()) node.fail("its body gives {} outputs and takes {} inputs", results.size(), node.inputs.size());
  body->add_output(*own(parts, condition(parts, results)).value());
  for (const Expr& x : results) body->add_output(*own(parts, x).value());
  if (results.empty()) node.refuse("a loop that carries nothing is not supported");
  return p.ops("Loop", carried, results.size(), {{"body", Subgraph(body)}});
}

std::unique_ptr<Graph> Importer::run() {
  graph_ = std::make_unique<Graph>();
  graph_->source = source_;
  GraphBuilder builder(*graph_);
  Parts parts(builder, operators_, sizes_);
  Scope scope(parts, def_.nodes, {});
  if (scope.index.size() != def_.nodes.size()) throw InvalidModel("{}: two nodes have the same name", source_);
  // Outputs are nodes whose results no other node reads.
  std::unordered_set<std::string_view> read;
  for (const NodeDef& def : def_.nodes)
    for (std::string_view input : def.inputs)
      if (!input.starts_with('^')) read.insert(parse(input).node);
  // Loops of the first generation go round in a circle, so that what is missing must be found before their nodes are put in order.
  if (std::any_of(def_.nodes.begin(), def_.nodes.end(), [](const NodeDef& def) { return def.op == "NextIteration"; })) {
    for (const NodeDef& def : def_.nodes) {
      if (find_rule(def.op) || def.op == "Const" || def.op == "Placeholder") continue;
      refusals_.add_missing(std::string(def.op.substr(0, 200)), def.name.substr(0, 200));
    }
    refusals_.throw_if_any(source_);
  }
  std::vector<size_t> outputs;
  for (size_t i = 0; i < def_.nodes.size(); ++i) {
    const NodeDef& def = def_.nodes[i];
    // Inputs keep the order of the file, used or not.
    if (def.op == "Placeholder") import_node(scope, def);
    if (read.contains(def.name) || def.op == "Const" || def.op == "NoOp" || def.op == "Placeholder" || def.op == "Assert") continue;
    outputs.push_back(i);
  }
  for (size_t i : outputs) import_with_inputs(scope, i);
  refusals_.throw_if_any(source_);
  for (size_t i : outputs) {
    const Exprs& made = scope.made.at(def_.nodes[i].name);
    for (size_t k = 0; k < made.size(); ++k) {
      if (!made[k]) continue;
      const std::string name = std::string(def_.nodes[i].name) + (k ? ":" + std::to_string(k) : std::string());
      const Expr x = own(parts, made[k]);
      Value& output = *(x.value()->name() == name || names_.insert(name).second ? x : parts.op("Identity", {x})).value();
      output.rename(name);
      graph_->add_output(output);
    }
  }
  if (graph_->outputs().empty()) throw InvalidModel("{}: has no outputs", source_);
  for_each_graph(*graph_, [](Graph& each) {
    each.remove_unused_constants();
    for (Node& node : each.nodes())
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i) && node.output(i)->type.dims)
          for (Dim& dim : *node.output(i)->type.dims)
            if (dim.symbol.find('?') != dim.symbol.npos) dim.symbol.clear();
  });
  infer_types(operators_, *graph_);
  graph_->metadata.source_format = "tensorflow";
  graph_->metadata.producer = "TensorFlow";
  verify(*graph_);
  return std::move(graph_);
}

}  // namespace

std::unique_ptr<Graph> import_model(std::string_view bytes, const ImportOptions& options, const std::string& source) {
  try {
    return Importer(read_graph(bytes), options, source).run();
  } catch (const onnx::WireError& error) {
    throw InvalidModel("{}: is not a valid TensorFlow graph: {}", source, error.what);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("{}: there is not enough memory to read it", source);
  }
}

}  // namespace tensorflow

namespace {

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::unique_ptr<Graph> import_tensorflow(const std::string& path, const ImportOptions& options) {
  const auto file = os::MappedFile::open(path);
  const size_t slash = path.find_last_of('/');
  return tensorflow::import_model(text_of(file->bytes()), options,
                                  options.source.empty() ? path.substr(slash == path.npos ? 0 : slash + 1) : options.source);
}
std::unique_ptr<Graph> import_tensorflow(std::span<const std::byte> bytes, std::shared_ptr<const void>, const ImportOptions& options) {
  return tensorflow::import_model(text_of(bytes), options, options.source.empty() ? "model" : options.source);
}
bool looks_like_tensorflow(std::span<const std::byte> bytes) { return tensorflow::looks_like_graph(text_of(bytes)); }

}  // namespace minnow

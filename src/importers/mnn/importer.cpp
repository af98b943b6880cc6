// SPDX-License-Identifier: Apache-2.0
// From a file's tables to a graph: tensors to values with the layout that each has, subgraphs to If and Loop, one rule an operator.
#include "importers/mnn/importer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "importers/builder/arithmetic.h"
#include "importers/finish.h"
#include "importers/mnn/mnn_node.h"
#include "importers/nesting.h"
#include "importers/refusals.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow::mnn {
namespace {

/// Which sizes of the inputs stay open, though the file has a number for them: the engine takes others as well.
struct OpenSizes {
  bool batch = false, image = false;
};

/// A subgraph where it is used: the tensors' values. The graph may be shared with an outer scope, where a subgraph's nodes are put in line.
struct Scope {
  Scope(TypedBuilder& p, const GraphInfo& graph_info, std::string name_prefix)
      : builder(p),
        info(graph_info),
        prefix(std::move(name_prefix)),
        values(graph_info.tensors.size()),
        layouts(graph_info.tensors.size(), Layout::channels_first) {}
  TypedBuilder& builder;
  const GraphInfo& info;
  std::string prefix;  // of values' names
  Exprs values;
  std::vector<Layout> layouts;
  bool is_main = false;
};

class Importer final : public Host {
 public:
  Importer(ModelFile& file, const OperatorSet& operators, OpenSizes open) : file_(file), operators_(operators), open_(open) {}

  std::unique_ptr<Graph> run();
  Exprs branch(MnnNode& node) override;
  Exprs loop(MnnNode& node) override;
  Expr add_state(MnnNode& node, std::string_view what, const Shape& shape, size_t& number) override;
  Exprs put(TypedBuilder& builder, std::string_view name, const Exprs& inputs, const MnnNode& node) override;

 private:
  const GraphInfo& subgraph(const MnnNode& node, std::string_view name) const;
  /// The subgraph's nodes put into the graph of `builder`; its inputs are `inputs`, empty ones are made by the subgraph itself.
  Exprs put(TypedBuilder& builder, const GraphInfo& info, const Exprs& inputs, const MnnNode& node);
  void import_ops(Scope& scope);
  void import_op(Scope& scope, const OpInfo& op, size_t number);
  void import_input(Scope& scope, const OpInfo& op, const std::string& where);
  Expr as_kept(Scope& scope, int32_t tensor, Expr value, bool is_input);
  void bind(Scope& scope, const OpInfo& op, size_t output, Expr value, Layout layout);
  void refuse(Scope& scope, const OpInfo& op, const std::string& name);
  std::string unique(std::string name) { return names_.make(std::move(name)); }
  std::string tensor_name(const Scope& scope, const OpInfo& op, size_t output) const;
  /// As MNN hands values from one graph to another: integers and truth values as i32.
  Expr plain(TypedBuilder& builder, const Expr& x);
  void add_outputs(Scope& scope);

  ModelFile& file_;
  const OperatorSet& operators_;
  const ConstantEvaluator evaluator_{operators_, ConstantEvaluator::kFewElements};
  OpenSizes open_;
  std::unique_ptr<Graph> graph_;
  SizeTable sizes_;
  Scope* scope_ = nullptr;  // where the current operator stands
  Nesting nesting_;
  UniqueNames names_;
  Refusals refusals_;
};

std::string Importer::tensor_name(const Scope& scope, const OpInfo& op, size_t output) const {
  return std::string(scope.info.tensors[static_cast<size_t>(op.outputs[output])].substr(0, 500));
}

Expr Importer::plain(TypedBuilder& builder, const Expr& x) {
  if (x.value()->type.kind != ValueType::Kind::tensor) return x;
  const DType dtype = builder.dtype(x);
  return dtype == DType::boolean || dtype == DType::i64 ? builder.cast(x, DType::i32) : x;
}

/// Ranks and certain sizes of what a Loop gives: states as its body's inputs say, gathered values as the body makes them.
void type_loop(const Exprs& made, const Graph& body) {
  const size_t states = body.inputs().size() - 2;
  for (size_t i = 0; i < made.size(); ++i) {
    ValueType& type = made[i].value()->type;
    const ValueType& inner = i < states ? body.inputs()[i + 2]->type : body.outputs()[i + 1]->type;
    if (i < states && inner.kind != ValueType::Kind::tensor) type = inner;
    if (type.dims || !inner.dims) continue;
    type.dims.emplace();
    if (i >= states) type.dims->emplace_back();
    for (const Dim& dim : *inner.dims) type.dims->push_back(dim.known() ? dim : Dim{});
  }
}

void Importer::import_ops(Scope& scope) {
  Scope* const before = scope_;
  nesting_.enter(file_.source(), scope.info.ops.size(), [&] {
    for (size_t i = 0; i < scope.info.ops.size(); ++i) {
      scope_ = &scope;  // again each time: what was refused inside of an operator left it as it was there
      import_op(scope, scope.info.ops[i], i);
    }
  });
  scope_ = before;
}

/// A tensor that the engine keeps as integers of 8 bits, rounded so; an input that comes as such integers, as the numbers they stand for.
Expr Importer::as_kept(Scope& scope, int32_t tensor, Expr value, bool is_input) {
  TypedBuilder& p = scope.builder;
  const auto found = scope.info.quantization.find(tensor);
  if (found == scope.info.quantization.end() || !(found->second.scale > 0)) return value;
  const TensorQuantization& q = found->second;
  const DType dtype = p.dtype(value);
  if (dtype != DType::f32 && !(is_input && dtype == DType::i8)) return value;
  Tensor zero(DType::i8, {});
  zero.writable().data<int8_t>()[0] = static_cast<int8_t>(std::clamp(q.zero, -128.0f, 127.0f));
  const Expr scale = p.scalar(static_cast<double>(q.scale)), zero_point = p.constant(std::move(zero));
  if (dtype == DType::f32) {
    // A range that lacks -128 alone saturates one step earlier, which is within the rounding.
    if (q.low > -127 || q.high < 127)
      value = clip(p, value, static_cast<double>((q.low - q.zero) * q.scale), static_cast<double>((q.high - q.zero) * q.scale));
    value = p.op("QuantizeLinear", {value, scale, zero_point});
  }
  return p.op("DequantizeLinear", {value, scale, zero_point});
}

void Importer::bind(Scope& scope, const OpInfo& op, size_t output, Expr value, Layout layout) {
  const size_t tensor = static_cast<size_t>(op.outputs[output]);
  if (op.type != kOpConst) value = as_kept(scope, op.outputs[output], value, false);
  scope.values[tensor] = value;
  scope.layouts[tensor] = layout;
}

void Importer::import_input(Scope& scope, const OpInfo& op, const std::string& where) {
  if (op.outputs.size() != 1 || op.outputs[0] < 0) throw InvalidModel("{}: should have one output, it has {}", where, op.outputs.size());
  const FlatTable& input = op.parameter;
  const Layout layout = static_cast<Layout>(std::clamp<int>(input.number<int8_t>(2, 2), 0, 2));
  const size_t tensor = static_cast<size_t>(op.outputs[0]);
  if (scope.values[tensor]) {  // of a subgraph, given where it is used
    scope.layouts[tensor] = layout;
    return;
  }
  if (!scope.is_main) throw InvalidModel("{}: is an input that its subgraph does not name", where);
  ValueType type = ValueType::tensor(dtype_of(input.number<int32_t>(1, 1)));
  if (type.dtype == DType::undefined) {
    refusals_.add(format("{}: holds elements of type {}", where.substr(file_.source().size() + 2), input.number<int32_t>(1, 1)));
    return refuse(scope, op, "Input");
  }
  const FlatNumbers<int32_t> dims = input.numbers<int32_t>(0);
  if (dims.size() > kMaxRank) throw InvalidModel("{}: has {} dimensions", where, dims.size());
  std::string name = tensor_name(scope, op, 0);
  if (name.empty()) name = "input" + std::to_string(graph_->inputs().size());
  // TensorFlow's inputs may have no shape at all, ONNX's are scalars then.
  if (input.has(0) || file_.source_kind() != 1) {
    type.dims.emplace();
    const size_t first = layout == Layout::channels_last ? 1 : 2;
    if (layout != Layout::channels_first && dims.size() == 4)
      graph_->metadata.properties["layout." + name] = layout == Layout::channels_last ? "NHWC" : "NC4HW4";
    for (size_t i = 0; i < dims.size(); ++i) {
      const bool image = dims.size() == 4 && (i == first || i == first + 1);
      const bool open = dims[i] > 0 && ((open_.batch && i == 0 && dims.size() > 1) || (open_.image && image));
      type.dims->push_back(Dim{dims[i] < 0 || open ? -1 : dims[i], {}});
      if (!open) continue;
      const size_t number = graph_->inputs().size();
      type.dims->back().symbol =
          i == 0 ? "batch" : (i == first ? "height" : "width") + (number == 0 ? std::string() : std::to_string(number));
      std::string& given = graph_->metadata.properties["shape." + name];
      given.clear();
      for (size_t k = 0; k < dims.size(); ++k) given += (k ? "x" : "") + std::to_string(dims[k]);
    }
  }
  scope.values[tensor] =
      as_kept(scope, op.outputs[0], scope.builder.wrap(&graph_->add_input(unique(std::move(name)), std::move(type))), true);
  scope.layouts[tensor] = layout;
}

void Importer::refuse(Scope& scope, const OpInfo& op, const std::string& name) {
  // Outputs of a kind, only to go on and find what else is missing.
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i] < 0) continue;
    const Expr x = scope.builder.op("mnn." + name, {});
    x.value()->type = ValueType::tensor(DType::f32);
    scope.values[static_cast<size_t>(op.outputs[i])] = x;
  }
}

void Importer::import_op(Scope& scope, const OpInfo& op, size_t number) {
  TypedBuilder& p = scope.builder;
  Graph& graph = p.graph();
  const std::string op_name = op.type == kOpExtra ? std::string(op.parameter.text(0).substr(0, 100)) : operator_name(op.type);
  std::string shown(op.name.substr(0, 200));
  if (shown.empty() && op.outputs.size() && op.outputs[0] >= 0) shown = tensor_name(scope, op, 0).substr(0, 200);
  if (shown.empty()) shown = "#" + std::to_string(number);
  MnnNode node(p, *this, file_, scope.info, op);
  node.place = format("{}: node \"{}{}\" ({})", file_.source(), scope.prefix, shown, op_name);
  p.set_stem(scope.prefix + shown);
  try {
    if (op.type == kOpInput && op.kind == kInput) return import_input(scope, op, node.place);
    if ((op.type == kOpConst || op.type == kOpTrainable) && op.kind == kBlob) {
      if (op.outputs.size() != 1 || op.outputs[0] < 0) node.fail("should have one output, it has {}", op.outputs.size());
      Tensor tensor = file_.blob(op.parameter, op, node.place);
      const size_t at = static_cast<size_t>(op.outputs[0]);
      scope.values[at] = p.wrap(&graph.add_constant(std::move(tensor), unique(scope.prefix + tensor_name(scope, op, 0))));
      scope.layouts[at] = static_cast<Layout>(std::clamp<int>(op.parameter.number<int8_t>(1, 0), 0, 2));
      if (scope.values[at].value()->constant()->dtype() == DType::f16 || scope.values[at].value()->constant()->dtype() == DType::bf16)
        scope.values[at] = p.op("Cast", {scope.values[at]}, {{"to", static_cast<int64_t>(DType::f32)}});
      return;
    }
    node.rule = op.type == kOpExtra ? nullptr : find_rule(op.type, op.kind);
    if (!node.rule) {
      refusals_.add_missing(op_name, scope.prefix + shown);
      return refuse(scope, op, op_name);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int32_t tensor = op.inputs[i];
      if (tensor < 0) {
        node.raw.emplace_back();
        node.layouts.push_back(Layout::channels_first);
        continue;
      }
      const Expr& value = scope.values[static_cast<size_t>(tensor)];
      if (!value)
        node.fail("input {} (\"{}\") is used, but nothing before it makes it", i,
                  scope.info.tensors[static_cast<size_t>(tensor)].substr(0, 200));
      node.raw.push_back(p.wrap(value.value()));
      node.layouts.push_back(scope.layouts[static_cast<size_t>(tensor)]);
    }
    node.output_layouts.assign(op.outputs.size(), node.layout(0));
    Node* const before = graph.last();
    Exprs made = node.rule->build(node, p);
    std::unordered_set<const Value*> values;
    std::unordered_set<const Node*> fresh;
    std::vector<Node*> nodes;  // the last comes first
    for (Node* at = graph.last(); at && at != before; at = at->previous()) {
      nodes.push_back(at);
      fresh.insert(at);
      for (size_t i = 0; i < at->output_count(); ++i) values.insert(at->output(i));
    }
    for (Expr& x : made) {
      if (!x || !values.contains(x.value())) continue;
      const auto contents =
          evaluator_.contents(*x.value(), [&](const Node& node) { return fresh.contains(&node) && node.op() != "DequantizeLinear"; });
      if (contents) x = p.wrap(&graph.add_constant(*contents, {}));
    }
    for (Node* at : nodes) {
      const auto is_used = [&](const Value* value) {
        return value &&
               (!value->is_unused() || std::any_of(made.begin(), made.end(), [&](const Expr& x) { return x && x.value() == value; }));
      };
      bool used = false;
      for (size_t i = 0; i < at->output_count(); ++i) used = used || is_used(at->output(i));
      if (used) continue;
      for (size_t i = 0; i < at->output_count(); ++i) values.erase(at->output(i));
      p.forget(*at);
      graph.remove(*at);
    }
    for (size_t i = 0; i < made.size() && i < op.outputs.size(); ++i) {
      if (!made[i] || op.outputs[i] < 0) continue;
      if (values.erase(made[i].value())) made[i].value()->rename(unique(scope.prefix + tensor_name(scope, op, i)));
      p.infer(made[i]);
      bind(scope, op, i, made[i], node.output_layouts[i]);
    }
  } catch (const Unsupported& error) {
    refusals_.add_thrown(file_.source(), node.place, error.what());
    refuse(scope, op, op_name);
  } catch (const InvalidModel& error) {
    // What a stand-in for something refused leads to is no fault of the file.
    if (!refusals_.empty()) return refuse(scope, op, op_name);
    throw InvalidModel("{}", located(file_.source(), node.place, error.what()));
  }
}

Expr Importer::add_state(MnnNode& node, std::string_view what, const Shape& shape, size_t& number) {
  if (&node.p.graph() != graph_.get()) node.refuse("what is kept from call to call is not supported inside of a loop or branch");
  file_.spend(static_cast<uint64_t>(shape.elements()) * sizeof(float));
  number = graph_->states().size();
  std::string name = scope_->prefix + std::string(node.info.name.substr(0, 200)) + "/" + std::string(what);
  graph_->add_state({unique(std::move(name)), nullptr, nullptr, Tensor(DType::f32, shape)});
  Value* const current = graph_->states().back().current;
  for (Dim& dim : *current->type.dims)
    if (dim.size == 0) dim = Dim{};
  return node.p.wrap(current);
}

const GraphInfo& Importer::subgraph(const MnnNode& node, std::string_view name) const {
  const GraphInfo* graph = file_.subgraph(name);
  if (!graph) node.fail("there is no subgraph \"{}\"", name.substr(0, 200));
  return *graph;
}

Exprs Importer::put(TypedBuilder& builder, std::string_view name, const Exprs& inputs, const MnnNode& node) {
  return put(builder, subgraph(node, name), inputs, node);
}

Exprs Importer::put(TypedBuilder& builder, const GraphInfo& info, const Exprs& inputs, const MnnNode& node) {
  Scope inner(builder, info, scope_->prefix + std::string(node.info.name.substr(0, 100)) + "/");
  if (inner.prefix.size() > 250) inner.prefix.erase(0, inner.prefix.size() - 250);
  if (inputs.size() != info.inputs.size()) node.fail("its subgraph takes {} inputs, {} are given", info.inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) inner.values[static_cast<size_t>(info.inputs[i])] = builder.wrap(inputs[i].value());
  import_ops(inner);
  Exprs results;
  for (int32_t output : info.outputs) {
    const Expr& value = inner.values[static_cast<size_t>(output)];
    if (!value)
      node.fail("its subgraph \"{}\" does not make its output \"{}\"", info.name.substr(0, 200),
                info.tensors[static_cast<size_t>(output)].substr(0, 200));
    results.push_back(value);
  }
  return results;
}

namespace {

constexpr size_t kNowhere = size_t(-1);

size_t place_of(const GraphInfo& graph, const std::vector<int32_t>& list, std::string_view name) {
  for (size_t i = 0; i < list.size(); ++i)
    if (graph.tensors[static_cast<size_t>(list[i])] == name) return i;
  return kNowhere;
}

}  // namespace

Exprs Importer::branch(MnnNode& node) {
  // Parameter: then_graph 0, else_graph 1, names of each input in the subgraphs 2, pairs of names of each output 3. Input 0: the condition.
  const FlatTables inputs = node.parameter().tables(2), outputs = node.parameter().tables(3);
  // A condition that is known already leaves one branch, in line.
  const auto known = node.p.number(node.any(0));
  Attributes attributes;
  for (size_t side = 0; side < 2; ++side) {
    if (known && (*known > 0) == (side == 1)) continue;
    const GraphInfo& info = subgraph(node, node.parameter().text(side));
    Exprs given(info.inputs.size());
    for (size_t i = 0; i < inputs.size() && i < node.raw.size(); ++i)
      for (std::string_view name : inputs[i].texts(0))
        if (const size_t at = place_of(info, info.inputs, name); at != kNowhere) given[at] = node.any(i);
    const auto result_of = [&](const Exprs& results, size_t i) {
      size_t at = i;
      if (outputs.size()) {
        const auto names = outputs[i].texts(0);
        at = names.size() == 2 ? place_of(info, info.outputs, names[side]) : kNowhere;
      }
      if (at >= results.size()) node.fail("a subgraph does not give output {}", i);
      return results[at];
    };
    if (known) {
      const Exprs results = put(node.p, info, given, node);
      Exprs taken;
      for (size_t i = 0; i < node.output_count(); ++i) taken.push_back(result_of(results, i));
      return taken;
    }
    InnerGraph body(node.p);
    const Exprs results = put(body.builder, info, given, node);
    for (size_t i = 0; i < node.output_count(); ++i)
      body.graph->add_output(*body.builder.own(plain(body.builder, result_of(results, i))).value());
    attributes.set(side == 0 ? "then_branch" : "else_branch", Subgraph(body.graph));
  }
  return node.p.ops("If", {node.p.reshape(node.truth(0), Ints{})}, node.output_count(), std::move(attributes));
}

Exprs Importer::loop(MnnNode& node) {
  // Parameter: cond_graph 0, body_graph 1, names of each input in the subgraphs 2, outputs' names 3, (output, input) names of what an
  // iteration hands on 4. Without cond_graph it is ONNX's Loop: inputs count, condition, states; body (i, condition, states) gives
  // (condition, states, values to be gathered).
  TypedBuilder& p = node.p;
  const GraphInfo& info = subgraph(node, node.parameter().text(1));
  const bool counted = !node.parameter().has(0);
  InnerGraph body(p);
  const Expr iteration = body.builder.wrap(&body.graph->add_input(unique("iteration"), ValueType::tensor(DType::i64, Shape{})));
  const Expr running = body.builder.wrap(&body.graph->add_input(unique("condition"), ValueType::tensor(DType::boolean, Shape{})));
  // What each iteration hands on keeps its rank; its sizes may change.
  const auto carry = [&](const Expr& x, int32_t tensor) {
    if (x.value()->type.kind != ValueType::Kind::tensor)
      return body.builder.wrap(&body.graph->add_input(unique("carried"), x.value()->type));
    ValueType type = ValueType::tensor(p.dtype(x));
    if (const int64_t rank = p.rank(x); rank >= 0) type.dims = std::vector<Dim>(static_cast<size_t>(rank));
    for (const OpInfo& op : info.ops) {
      if (op.type != kOpInput || op.kind != kInput || op.outputs.size() != 1 || op.outputs[0] != tensor || !type.dims) continue;
      const FlatNumbers<int32_t> dims = op.parameter.numbers<int32_t>(0);
      for (size_t i = 0; dims.size() == type.dims->size() && i < dims.size(); ++i)
        if (dims[i] > 0 && p.dim(x, static_cast<int64_t>(i)) == dims[i]) (*type.dims)[i].size = dims[i];
    }
    return body.builder.wrap(&body.graph->add_input(unique("carried"), std::move(type)));
  };
  const auto scalar = [](TypedBuilder& builder, const Expr& x) { return builder.reshape(x, Ints{}); };
  Exprs inner(info.inputs.size());
  if (counted) {
    const size_t states = node.raw.size() < 2 ? kNowhere : node.raw.size() - 2;
    if (states == kNowhere || info.inputs.size() != states + 2 || info.outputs.size() < states + 1 || node.output_count() < states)
      node.fail("{} inputs and {} outputs do not fit its body's {} and {}", node.raw.size(), node.output_count(), info.inputs.size(),
                info.outputs.size());
    inner[0] = body.builder.cast(iteration, DType::i32);
    inner[1] = running;
    Exprs carried = {scalar(p, p.i64(node.any(0))), scalar(p, node.truth(1))};
    std::vector<size_t> places;  // of states that change; the others are values of the outer graph
    for (size_t i = 0; i < states; ++i) {
      const Expr x = plain(p, node.any(i + 2));
      if (info.outputs[i + 1] == info.inputs[i + 2]) {
        inner[i + 2] = x;
        continue;
      }
      inner[i + 2] = carry(x, info.inputs[i + 2]);
      carried.push_back(x);
      places.push_back(i);
    }
    const Exprs results = put(body.builder, info, inner, node);
    body.graph->add_output(*body.builder.own(scalar(body.builder, body.builder.cast(results[0], DType::boolean))).value());
    for (size_t i : places) body.graph->add_output(*body.builder.own(plain(body.builder, results[i + 1])).value());
    for (size_t i = states + 1; i < results.size(); ++i)
      body.graph->add_output(*body.builder.own(plain(body.builder, body.builder.wrap(results[i].value()))).value());
    const size_t gathered = results.size() - states - 1;
    Exprs outputs(node.output_count());
    for (size_t i = 0; i < states; ++i) outputs[i] = plain(p, node.any(i + 2));
    if (places.size() + gathered == 0) return outputs;
    const Exprs made = p.ops("Loop", carried, places.size() + gathered, {{"body", Subgraph(body.graph)}});
    type_loop(made, *body.graph);
    for (size_t i = 0; i < places.size(); ++i) outputs[places[i]] = made[i];
    for (size_t i = 0; i < gathered && states + i < outputs.size(); ++i) outputs[states + i] = made[places.size() + i];
    return outputs;
  }
  // TensorFlow's: all is matched by names. States are the body's inputs.
  const GraphInfo& test = subgraph(node, node.parameter().text(0));
  const FlatTables given = node.parameter().tables(2), updates = node.parameter().tables(4);
  std::vector<size_t> source(info.inputs.size(), kNowhere), test_source(test.inputs.size(), kNowhere);  // inputs of the node
  for (size_t i = 0; i < given.size() && i < node.raw.size(); ++i)
    for (std::string_view name : given[i].texts(0)) {
      if (const size_t at = place_of(info, info.inputs, name); at != kNowhere) source[at] = i;
      if (const size_t at = place_of(test, test.inputs, name); at != kNowhere) test_source[at] = i;
    }
  // A state for each input of body or condition that an output of the body replaces.
  struct State {
    size_t input, result;  // of the node; of the body
    Expr value;
  };
  std::vector<State> states;
  std::vector<size_t> state_of(info.inputs.size(), kNowhere), test_state_of(test.inputs.size(), kNowhere);
  std::unordered_map<std::string_view, size_t> state_by_name;
  for (size_t i = 0; i < updates.size(); ++i) {
    const auto names = updates[i].texts(0);
    if (names.size() != 2) node.fail("update {} names {} tensors", i, names.size());
    const size_t result = place_of(info, info.outputs, names[0]);
    if (result == kNowhere) node.refuse("a state that the condition replaces is not supported");
    const size_t at = place_of(info, info.inputs, names[1]), test_at = place_of(test, test.inputs, names[1]);
    const size_t input = at != kNowhere ? source[at] : test_at != kNowhere ? test_source[test_at] : kNowhere;
    if (input == kNowhere) node.fail("update {} replaces \"{}\", which is no input", i, names[1].substr(0, 200));
    if (at != kNowhere) state_of[at] = states.size();
    if (test_at != kNowhere) test_state_of[test_at] = states.size();
    state_by_name.emplace(names[0], states.size());
    state_by_name.emplace(names[1], states.size());
    states.push_back({input, result, {}});
  }
  if (states.empty()) node.refuse("a loop that carries nothing is not supported");
  const auto condition = [&](TypedBuilder& builder, const std::function<Expr(size_t)>& state) {
    Exprs values(test.inputs.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (test_state_of[i] != kNowhere)
        values[i] = state(test_state_of[i]);
      else if (test_source[i] != kNowhere)
        values[i] = node.any(test_source[i]);
    }
    const Exprs results = put(builder, test, values, node);
    if (results.size() != 1) node.fail("its condition gives {} outputs", results.size());
    return scalar(builder, builder.cast(builder.wrap(results[0].value()), DType::boolean));
  };
  Exprs carried = {Expr(), Expr()};
  for (State& state : states) {
    const Expr x = plain(p, node.any(state.input));
    carried.push_back(x);
    state.value = carry(x, -1);
  }
  carried[1] = condition(p, [&](size_t i) { return carried[2 + i]; });
  for (size_t i = 0; i < inner.size(); ++i) {
    if (state_of[i] != kNowhere)
      inner[i] = states[state_of[i]].value;
    else if (source[i] != kNowhere)
      inner[i] = node.any(source[i]);
  }
  const Exprs results = put(body.builder, info, inner, node);
  Exprs next;
  for (const State& state : states) next.push_back(plain(body.builder, body.builder.wrap(results[state.result].value())));
  const Expr again = condition(body.builder, [&](size_t i) { return next[i]; });
  body.graph->add_output(*body.builder.own(again).value());
  for (const Expr& x : next) body.graph->add_output(*body.builder.own(x).value());
  const Exprs made = p.ops("Loop", carried, states.size(), {{"body", Subgraph(body.graph)}});
  type_loop(made, *body.graph);
  Exprs outputs;
  for (std::string_view name : node.parameter().texts(3)) {
    if (const auto found = state_by_name.find(name); found != state_by_name.end()) {
      outputs.push_back(made[found->second]);
    } else if (const size_t at = place_of(info, info.inputs, name); at != kNowhere && source[at] != kNowhere) {
      outputs.push_back(node.any(source[at]));
    } else {
      node.refuse("output \"{}\" is no state of the loop", name.substr(0, 200));
    }
  }
  return outputs;
}

void Importer::add_outputs(Scope& scope) {
  std::vector<size_t> tensors;
  const auto names = file_.output_names();
  if (!names.empty()) {
    std::unordered_map<std::string_view, size_t> places;
    for (size_t i = 0; i < scope.info.tensors.size(); ++i) places.emplace(scope.info.tensors[i], i);
    for (std::string_view name : names) {
      const auto found = places.find(name);
      if (found == places.end() || !scope.values[found->second])
        throw InvalidModel("{}: output \"{}\" is made by no operator", file_.source(), name.substr(0, 200));
      tensors.push_back(found->second);
    }
  } else {  // what nobody reads
    std::vector<bool> read(scope.info.tensors.size());
    for (const OpInfo& op : scope.info.ops)
      for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i] >= 0) read[static_cast<size_t>(op.inputs[i])] = true;
    for (const OpInfo& op : scope.info.ops)
      for (size_t i = 0; i < op.outputs.size() && op.type != kOpInput && op.type != kOpConst; ++i)
        if (op.outputs[i] >= 0 && !read[static_cast<size_t>(op.outputs[i])] && scope.values[static_cast<size_t>(op.outputs[i])])
          tensors.push_back(static_cast<size_t>(op.outputs[i]));
  }
  if (tensors.empty()) throw InvalidModel("{}: has no outputs", file_.source());
  std::vector<std::pair<std::string, Expr>> outputs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string name(scope.info.tensors[tensors[i]].substr(0, 500));
    if (name.empty()) name = "output" + std::to_string(i);
    if (scope.layouts[tensors[i]] == Layout::channels_last) graph_->metadata.properties["layout." + name] = "NHWC";
    outputs.emplace_back(std::move(name), plain(scope.builder, scope.values[tensors[i]]));
  }
  add_named_outputs(scope.builder, outputs, names_);
}

std::unique_ptr<Graph> Importer::run() {
  graph_ = std::make_unique<Graph>();
  graph_->source = file_.source();
  TypedBuilder builder(*graph_, operators_, sizes_);
  Scope scope(builder, file_.main(), {});
  scope.is_main = true;
  import_ops(scope);
  refusals_.throw_if_any(file_.source());
  add_outputs(scope);
  graph_->metadata.source_format = "mnn";
  if (const std::string_view version = file_.version(); !version.empty())
    graph_->metadata.producer = "MNN " + std::string(version.substr(0, 100));
  finish_import(*graph_, operators_);
  return std::move(graph_);
}

/// The graph with such sizes open; null where it does not take other sizes than the file's, or where the file has none to open.
std::unique_ptr<Graph> import_open(ModelFile& file, const OperatorSet& operators, OpenSizes open) {
  std::unique_ptr<Graph> graph;
  try {
    graph = Importer(file, operators, open).run();
    std::map<std::string, Shape> given, other;
    bool any = false;
    for (const auto& input : graph->inputs()) {
      const auto found = graph->metadata.properties.find("shape." + input->name());
      if (found == graph->metadata.properties.end()) continue;
      any = true;
      Shape shape, changed;
      for (size_t at = 0; at <= found->second.size();) {
        const size_t end = std::min(found->second.find('x', at), found->second.size());
        shape.push_back(std::stoll(found->second.substr(at, end - at)));
        if (!input->type.dims || input->type.dims->size() <= changed.rank()) return nullptr;  // another input of that name
        const Dim& dim = (*input->type.dims)[changed.rank()];
        // Twice as many images; images that are larger by a size that strides divide.
        changed.push_back(dim.known()             ? dim.size
                          : dim.symbol == "batch" ? 2 * shape.back()
                          : dim.symbol.empty()    ? shape.back()
                                                  : shape.back() + 64);
        at = end + 1;
      }
      given[input->name()] = shape;
      other[input->name()] = changed;
    }
    if (!any || (open.batch && open.image && std::none_of(graph->inputs().begin(), graph->inputs().end(), [](const auto& input) {
                   return input->type.dims && std::any_of(input->type.dims->begin(), input->type.dims->end(),
                                                          [](const Dim& dim) { return dim.symbol.starts_with("height"); });
                 })))
      return any ? import_open(file, operators, {true, false}) : nullptr;
    infer_static_types(operators, *graph->clone(), given);
    infer_static_types(operators, *graph->clone(), other);
    return graph;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return nullptr;
  } catch (const FlatError&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source,
                                    std::unique_ptr<onnx::ExternalData> external, const std::string& weights_name) {
  try {
    ModelFile file(std::move(bytes), source, std::move(external), weights_name);
    const OperatorSet& operators = options.operators ? *options.operators : OperatorSet::builtin();
    // The file has numbers for sizes that the engine lets its users change. Which can be changed is found by trying.
    for (const OpenSizes open : {OpenSizes{true, true}, OpenSizes{false, true}, OpenSizes{true, false}})
      if (auto graph = import_open(file, operators, open)) return graph;
    return Importer(file, operators, {}).run();
  } catch (const FlatError& error) {
    throw InvalidModel("{}: is not a valid MNN model: {}", source, error.what);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("{}: there is not enough memory to read it", source);
  }
}

}  // namespace minnow::mnn

// SPDX-License-Identifier: Apache-2.0
// From a file's tables to a graph: tensors to values with the layout that each has, subgraphs to If and Loop, one rule an operator.
#include "importers/mnn/importer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "importers/builder/arithmetic.h"
#include "importers/control_flow.h"
#include "importers/driver.h"
#include "importers/finish.h"
#include "importers/mnn/mnn_node.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow::mnn {
namespace {

/// Which sizes of the inputs stay open, though the file has a number for them: the engine takes others as well.
struct OpenSizes {
  bool batch = false, image = false;
};

/// The values of a subgraph's tensors at one use. The graph may belong to an outer scope, into which the subgraph's nodes are inlined.
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

class Importer final : public Host, private ImportDriver {
 public:
  Importer(ModelFile& file, const OperatorSet& operators, OpenSizes open)
      : ImportDriver(file.source(), operators), file_(file), open_(open) {}

  std::unique_ptr<Graph> run();
  Exprs branch(MnnNode& node) override;
  Exprs loop(MnnNode& node) override;
  Expr add_state(MnnNode& node, std::string_view what, const Shape& shape, size_t& number) override;
  Exprs put(TypedBuilder& builder, std::string_view name, const Exprs& inputs, const MnnNode& node) override;

 private:
  /// ONNX's Loop: inputs count, condition, states; the body (i, condition, states) gives (condition, states, values to be gathered).
  Exprs counted_loop(MnnNode& node);
  /// TensorFlow's loop.
  Exprs while_loop(MnnNode& node);
  ValueType carried(TypedBuilder& p, const Expr& x, const GraphInfo& body, int32_t tensor) const;
  const GraphInfo& subgraph(const MnnNode& node, std::string_view name) const;
  /// The subgraph's nodes put into the graph of `builder`; its inputs are `inputs`, empty ones are made by the subgraph itself.
  Exprs put(TypedBuilder& builder, const GraphInfo& info, const Exprs& inputs, const MnnNode& node);
  void import_ops(Scope& scope);
  void import_op(Scope& scope, const OpInfo& op, size_t number);
  void import_input(Scope& scope, const OpInfo& op, const std::string& where);
  Expr as_kept(Scope& scope, int32_t tensor, Expr value, bool is_input);
  void bind(Scope& scope, const OpInfo& op, size_t output, Expr value, Layout layout);
  void import_constant(Scope& scope, const OpInfo& op, const MnnNode& node);
  void read_inputs(Scope& scope, const OpInfo& op, MnnNode& node);
  /// Folds outputs computed from constants, because MNN's shapes are chains of such nodes. Unused nodes are removed.
  void compute_constants(TypedBuilder& builder, const Node* before, Exprs& made);
  void refuse(Scope& scope, const OpInfo& op, const std::string& name);
  std::string tensor_name(const Scope& scope, const OpInfo& op, size_t output) const;
  /// As MNN hands values from one graph to another: integers and truth values as i32.
  Expr plain(TypedBuilder& builder, const Expr& x);
  void add_outputs(Scope& scope);

  ModelFile& file_;
  const ConstantEvaluator evaluator_{operators_, ConstantEvaluator::kFewElements};
  OpenSizes open_;
  Scope* scope_ = nullptr;  // where the current operator stands
};

std::string Importer::tensor_name(const Scope& scope, const OpInfo& op, size_t output) const {
  return std::string(scope.info.tensors[static_cast<size_t>(op.outputs[output])].substr(0, 500));
}

Expr Importer::plain(TypedBuilder& builder, const Expr& x) {
  if (x.value()->type.kind != ValueType::Kind::tensor) return x;
  const DType dtype = builder.dtype(x);
  return dtype == DType::boolean || dtype == DType::i64 ? builder.cast(x, DType::i32) : x;
}

void Importer::import_ops(Scope& scope) {
  const Temporarily<Scope*> here(scope_, &scope);
  nesting_.enter(source_, scope.info.ops.size(), [&] {
    for (size_t i = 0; i < scope.info.ops.size(); ++i) import_op(scope, scope.info.ops[i], i);
  });
}

/// Rounds a tensor that the engine stores as i8 in the same way. An input given as i8 is dequantized.
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
    // A range that lacks only -128 saturates one step earlier, which is within the rounding.
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
  if (scope.values[tensor]) {  // an input of a subgraph, given at its use
    scope.layouts[tensor] = layout;
    return;
  }
  if (!scope.is_main) throw InvalidModel("{}: is an input that its subgraph does not name", where);
  ValueType type = ValueType::tensor(dtype_of(input.number<int32_t>(1, 1)));
  if (type.dtype == DType::undefined) {
    refusals_.add(format("{}: holds elements of type {}", where.substr(source_.size() + 2), input.number<int32_t>(1, 1)));
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
  const Exprs made = stand_ins(scope.builder, "mnn." + name, op.outputs.size());
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i] < 0) continue;
    made[i].value()->type = ValueType::tensor(DType::f32);
    scope.values[static_cast<size_t>(op.outputs[i])] = made[i];
  }
}

void Importer::import_constant(Scope& scope, const OpInfo& op, const MnnNode& node) {
  if (op.outputs.size() != 1 || op.outputs[0] < 0) node.fail("should have one output, it has {}", op.outputs.size());
  TypedBuilder& builder = scope.builder;
  const size_t at = static_cast<size_t>(op.outputs[0]);
  Tensor tensor = file_.blob(op.parameter, op, node.place);
  const DType dtype = tensor.dtype();
  const Expr value = builder.wrap(&builder.graph().add_constant(std::move(tensor), unique(scope.prefix + tensor_name(scope, op, 0))));
  scope.values[at] = dtype == DType::f16 || dtype == DType::bf16 ? builder.cast(value, DType::f32) : value;
  scope.layouts[at] = static_cast<Layout>(std::clamp<int>(op.parameter.number<int8_t>(1, 0), 0, 2));
}

void Importer::read_inputs(Scope& scope, const OpInfo& op, MnnNode& node) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t tensor = op.inputs[i];
    const size_t at = static_cast<size_t>(tensor);
    if (tensor >= 0 && !scope.values[at])
      node.fail("input {} (\"{}\") is used, but nothing before it makes it", i, scope.info.tensors[at].substr(0, 200));
    node.raw.push_back(tensor < 0 ? Expr() : scope.builder.wrap(scope.values[at].value()));
    node.layouts.push_back(tensor < 0 ? Layout::channels_first : scope.layouts[at]);
  }
  node.output_layouts.assign(op.outputs.size(), node.layout(0));
}

void Importer::compute_constants(TypedBuilder& builder, const Node* before, Exprs& made) {
  Graph& graph = builder.graph();
  std::unordered_set<const Node*> fresh;
  std::vector<Node*> nodes;  // the last comes first
  for (Node* at = graph.last(); at && at != before; at = at->previous()) nodes.push_back(at), fresh.insert(at);
  for (Expr& x : made) {
    if (!x || !x.value()->producer() || !fresh.contains(x.value()->producer())) continue;
    const auto contents =
        evaluator_.contents(*x.value(), [&](const Node& node) { return fresh.contains(&node) && node.op() != "DequantizeLinear"; });
    if (contents) x = builder.wrap(&graph.add_constant(*contents, {}));
  }
  for (Node* at : nodes) {
    const auto is_used = [&](const Value* value) {
      return value &&
             (!value->is_unused() || std::any_of(made.begin(), made.end(), [&](const Expr& x) { return x && x.value() == value; }));
    };
    bool used = false;
    for (size_t i = 0; i < at->output_count(); ++i) used = used || is_used(at->output(i));
    if (used) continue;
    builder.forget(*at);
    graph.remove(*at);
  }
}

void Importer::import_op(Scope& scope, const OpInfo& op, size_t number) {
  TypedBuilder& p = scope.builder;
  const std::string op_name = op.type == kOpExtra ? std::string(op.parameter.text(0).substr(0, 100)) : operator_name(op.type);
  std::string shown(op.name.substr(0, 200));
  if (shown.empty() && op.outputs.size() && op.outputs[0] >= 0) shown = tensor_name(scope, op, 0).substr(0, 200);
  if (shown.empty()) shown = "#" + std::to_string(number);
  MnnNode node(p, *this, file_, scope.info, op);
  node.place = format("{}: node \"{}{}\" ({})", source_, scope.prefix, shown, op_name);
  p.set_stem(scope.prefix + shown);
  const bool is_input = op.type == kOpInput && op.kind == kInput;
  const bool is_constant = (op.type == kOpConst || op.type == kOpTrainable) && op.kind == kBlob;
  node.rule = op.type == kOpExtra ? nullptr : find_rule(op.type, op.kind);
  if (!node.rule && !is_input && !is_constant) {
    refusals_.add_missing(op_name, scope.prefix + shown);
    return refuse(scope, op, op_name);
  }
  Node* const before = p.graph().last();
  const auto made = build(node, [&]() -> Exprs {
    if (is_input) return import_input(scope, op, node.place), Exprs();
    if (is_constant) return import_constant(scope, op, node), Exprs();
    read_inputs(scope, op, node);
    Exprs outputs = node.rule->build(node, p);
    compute_constants(p, before, outputs);
    outputs.resize(std::min(outputs.size(), op.outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i)
      if (op.outputs[i] < 0) outputs[i] = {};
    return outputs;
  });
  if (!made) return refuse(scope, op, op_name);
  name_outputs(p, before, *made, [&](size_t i) { return scope.prefix + tensor_name(scope, op, i); });
  for (size_t i = 0; i < made->size(); ++i)
    if ((*made)[i]) bind(scope, op, i, (*made)[i], node.output_layouts[i]);
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
  Scope inner(builder, info, inner_prefix(scope_->prefix, node.info.name));
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
  const auto side = [&](TypedBuilder& builder, size_t which) {
    const GraphInfo& info = subgraph(node, node.parameter().text(which));
    Exprs given(info.inputs.size());
    for (size_t i = 0; i < inputs.size() && i < node.raw.size(); ++i)
      for (std::string_view name : inputs[i].texts(0))
        if (const size_t at = place_of(info, info.inputs, name); at != kNowhere) given[at] = node.any(i);
    const Exprs results = put(builder, info, given, node);
    Exprs taken;
    for (size_t i = 0; i < node.output_count(); ++i) {
      size_t at = i;
      if (outputs.size()) {
        const auto names = outputs[i].texts(0);
        at = names.size() == 2 ? place_of(info, info.outputs, names[which]) : kNowhere;
      }
      if (at >= results.size()) node.fail("a subgraph does not give output {}", i);
      taken.push_back(results[at]);
    }
    return taken;
  };
  // A condition that is known already leaves one branch, in line.
  if (const auto known = node.p.number(node.any(0))) return side(node.p, *known > 0 ? 0 : 1);
  const auto plain_side = [&](TypedBuilder& builder, size_t which) {
    Exprs results = side(builder, which);
    for (Expr& x : results) x = plain(builder, x);
    return results;
  };
  return make_if(
      node.p, node, node.truth(0), [&](TypedBuilder& builder) { return plain_side(builder, 0); },
      [&](TypedBuilder& builder) { return plain_side(builder, 1); });
}

Exprs Importer::loop(MnnNode& node) {
  // Parameter: cond_graph 0, body_graph 1, names of each input in the subgraphs 2, outputs' names 3, (output, input) names of the values
  // carried to the next iteration 4. Without cond_graph the node is like ONNX's Loop: inputs count, condition, states; body (i, condition,
  // states) gives (condition, states, values to be gathered).
  return node.parameter().has(0) ? while_loop(node) : counted_loop(node);
}

ValueType Importer::carried(TypedBuilder& p, const Expr& x, const GraphInfo& body, int32_t tensor) const {
  Ints fixed;
  for (const OpInfo& op : body.ops)
    if (op.type == kOpInput && op.kind == kInput && op.outputs.size() == 1 && op.outputs[0] == tensor)
      fixed = op.parameter.numbers<int32_t>(0).copy<int64_t>();
  for (int64_t& size : fixed)
    if (size == 0) size = -1;
  return carried_type(p, x, fixed);
}

Exprs Importer::counted_loop(MnnNode& node) {
  TypedBuilder& p = node.p;
  const GraphInfo& info = subgraph(node, node.parameter().text(1));
  const auto scalar = [](TypedBuilder& builder, const Expr& x) { return builder.reshape(x, Ints{}); };
  const size_t states = node.raw.size() < 2 ? kNowhere : node.raw.size() - 2;
  if (states == kNowhere || info.inputs.size() != states + 2 || info.outputs.size() < states + 1 || node.output_count() < states)
    node.fail("{} inputs and {} outputs do not fit its body's {} and {}", node.raw.size(), node.output_count(), info.inputs.size(),
              info.outputs.size());
  LoopBody body(p, names_);
  Exprs inner(info.inputs.size()), starts = {scalar(p, p.i64(node.any(0))), scalar(p, node.truth(1))};
  inner[0] = body.builder.cast(body.iteration, DType::i32);
  inner[1] = body.condition;
  std::vector<size_t> places;  // of states that change; the others are values of the outer graph
  for (size_t i = 0; i < states; ++i) {
    const Expr x = plain(p, node.any(i + 2));
    inner[i + 2] = x;
    if (info.outputs[i + 1] == info.inputs[i + 2]) continue;
    inner[i + 2] = body.builder.wrap(&body.graph->add_input(unique("carried"), carried(p, x, info, info.inputs[i + 2])));
    starts.push_back(x);
    places.push_back(i);
  }
  const Exprs results = put(body.builder, info, inner, node);
  const auto give = [&](const Expr& x) { body.graph->add_output(*body.builder.own(x).value()); };
  give(scalar(body.builder, body.builder.cast(results[0], DType::boolean)));
  for (size_t i : places) give(plain(body.builder, results[i + 1]));
  for (size_t i = states + 1; i < results.size(); ++i) give(plain(body.builder, body.builder.wrap(results[i].value())));
  const size_t gathered = results.size() - states - 1;
  Exprs outputs(node.output_count());
  for (size_t i = 0; i < states; ++i) outputs[i] = plain(p, node.any(i + 2));
  if (places.size() + gathered == 0) return outputs;
  const Exprs made = p.ops("Loop", starts, places.size() + gathered, {{"body", Subgraph(body.graph)}});
  type_loop(made, *body.graph);
  for (size_t i = 0; i < places.size(); ++i) outputs[places[i]] = made[i];
  for (size_t i = 0; i < gathered && states + i < outputs.size(); ++i) outputs[states + i] = made[places.size() + i];
  return outputs;
}

Exprs Importer::while_loop(MnnNode& node) {
  // All is matched by names. States are the body's inputs.
  TypedBuilder& p = node.p;
  const GraphInfo &info = subgraph(node, node.parameter().text(1)), &test = subgraph(node, node.parameter().text(0));
  const FlatTables given = node.parameter().tables(2), updates = node.parameter().tables(4);
  std::vector<size_t> source(info.inputs.size(), kNowhere), test_source(test.inputs.size(), kNowhere);  // inputs of the node
  for (size_t i = 0; i < given.size() && i < node.raw.size(); ++i)
    for (std::string_view name : given[i].texts(0)) {
      if (const size_t at = place_of(info, info.inputs, name); at != kNowhere) source[at] = i;
      if (const size_t at = place_of(test, test.inputs, name); at != kNowhere) test_source[at] = i;
    }
  // A state for each input of body or condition that an output of the body replaces.
  std::vector<LoopValue> states;
  std::vector<size_t> result;  // of the body, for each state
  std::vector<size_t> state_of(info.inputs.size(), kNowhere), test_state_of(test.inputs.size(), kNowhere);
  std::unordered_map<std::string_view, size_t> state_by_name;
  for (size_t i = 0; i < updates.size(); ++i) {
    const auto names = updates[i].texts(0);
    if (names.size() != 2) node.fail("update {} names {} tensors", i, names.size());
    result.push_back(place_of(info, info.outputs, names[0]));
    if (result.back() == kNowhere) node.refuse("a state that the condition replaces is not supported");
    const size_t at = place_of(info, info.inputs, names[1]), test_at = place_of(test, test.inputs, names[1]);
    const size_t input = at != kNowhere ? source[at] : test_at != kNowhere ? test_source[test_at] : kNowhere;
    if (input == kNowhere) node.fail("update {} replaces \"{}\", which is no input", i, names[1].substr(0, 200));
    if (at != kNowhere) state_of[at] = i;
    if (test_at != kNowhere) test_state_of[test_at] = i;
    state_by_name.emplace(names[0], i);
    state_by_name.emplace(names[1], i);
    const Expr start = plain(p, node.any(input));
    states.push_back({start, true, carried_type(p, start)});
  }
  const auto arguments = [&](const std::vector<size_t>& from_state, const std::vector<size_t>& from_input, const Exprs& values) {
    Exprs all(from_state.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (from_state[i] != kNowhere)
        all[i] = values[from_state[i]];
      else if (from_input[i] != kNowhere)
        all[i] = node.any(from_input[i]);
    }
    return all;
  };
  const auto condition = [&](TypedBuilder& builder, const Exprs& values) {
    const Exprs results = put(builder, test, arguments(test_state_of, test_source, values), node);
    if (results.size() != 1) node.fail("its condition gives {} outputs", results.size());
    return builder.cast(builder.wrap(results[0].value()), DType::boolean);
  };
  const auto body = [&](TypedBuilder& builder, const Exprs& values) {
    const Exprs results = put(builder, info, arguments(state_of, source, values), node);
    Exprs next;
    for (size_t at : result) next.push_back(plain(builder, builder.wrap(results[at].value())));
    return next;
  };
  const Exprs made = make_while(p, node, names_, states, condition, body);
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
        throw InvalidModel("{}: output \"{}\" is made by no operator", source_, name.substr(0, 200));
      tensors.push_back(found->second);
    }
  } else {  // values that nobody reads
    std::vector<bool> read(scope.info.tensors.size());
    for (const OpInfo& op : scope.info.ops)
      for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i] >= 0) read[static_cast<size_t>(op.inputs[i])] = true;
    for (const OpInfo& op : scope.info.ops)
      for (size_t i = 0; i < op.outputs.size() && op.type != kOpInput && op.type != kOpConst; ++i)
        if (op.outputs[i] >= 0 && !read[static_cast<size_t>(op.outputs[i])] && scope.values[static_cast<size_t>(op.outputs[i])])
          tensors.push_back(static_cast<size_t>(op.outputs[i]));
  }
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
  TypedBuilder builder(*graph_, operators_, sizes_);
  Scope scope(builder, file_.main(), {});
  scope.is_main = true;
  import_ops(scope);
  throw_refusals();
  add_outputs(scope);
  const std::string_view version = file_.version();
  return finish("mnn", version.empty() ? std::string() : "MNN " + std::string(version.substr(0, 100)));
}

/// The graph with open batch or image sizes; null if it runs only with the sizes of the file, or if the file has none to open.
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
  } catch (const Malformed&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Graph> import_model(SharedBytes bytes, const ImportOptions& options, const std::string& source,
                                    std::unique_ptr<onnx::ExternalData> external, const std::string& weights_name) {
  return read_as("MNN model", source, [&] {
    ModelFile file(std::move(bytes), source, std::move(external), weights_name);
    const OperatorSet& operators = options.operators ? *options.operators : OperatorSet::builtin();
    // The file has numbers for sizes that the engine lets its users change. Which can be changed is found by trying.
    for (const OpenSizes open : {OpenSizes{true, true}, OpenSizes{false, true}, OpenSizes{true, false}})
      if (auto graph = import_open(file, operators, open)) return graph;
    return Importer(file, operators, {}).run();
  });
}

}  // namespace minnow::mnn

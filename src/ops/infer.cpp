// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <algorithm>
#include <unordered_map>

#include "ops/check_form.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/sequence.h"

namespace minnow {
namespace {

const Graph* subgraph_in(const AttributeValue& attribute) {
  const Subgraph* subgraph = std::get_if<Subgraph>(&attribute);
  return subgraph ? subgraph->get() : nullptr;
}

ValueInfo constant_info(const Tensor& tensor) {
  ValueInfo info;
  info.dtype = tensor.dtype();
  info.shape = tensor.shape();
  info.contents = tensor;
  return info;
}

ValueInfo scalar_info(DType dtype) {
  ValueInfo info;
  info.dtype = dtype;
  return info;
}

// Calls bind(input of the subgraph, what is known of it) for each value that a node hands to its subgraph.
template <class Bind>
void bind_inputs(const Node& node, const Graph& body, const std::vector<ValueInfo>& inputs, Bind bind) {
  const auto& to = body.inputs();
  const auto input = [&](size_t i) { return i < inputs.size() ? inputs[i] : ValueInfo(); };
  if (node.op() == "Loop") {
    for (size_t i = 0; i < to.size(); ++i) {
      ValueInfo info = i == 0 ? scalar_info(DType::i64) : i == 1 ? scalar_info(DType::boolean) : input(i);
      if (i > 1) info.extent = ValueInfo::Extent::unknown, info.contents = {}, info.symbolic = nullptr;  // changes between iterations
      bind(*to[i], info);
    }
  } else if (node.op() == "Scan" || node.op() == "SequenceMap") {
    const int64_t* scanned = node.attributes.get<int64_t>("num_scan_inputs");
    const Ints* axes = node.attributes.get<Ints>("scan_input_axes");
    for (size_t i = 0; i < to.size() && i < inputs.size(); ++i) {
      ValueInfo info = input(i);
      info.contents = {};
      if (info.kind == ValueInfo::Kind::sequence) {
        info.kind = ValueInfo::Kind::tensor;
        info.extent = info.symbolic ? ValueInfo::Extent::symbolic : ValueInfo::Extent::unknown;
      }
      if (scanned && i + static_cast<size_t>(*scanned) >= inputs.size() && info.extent != ValueInfo::Extent::unknown) {
        const size_t k = i + static_cast<size_t>(*scanned) - inputs.size();
        Sizes sizes = info.sizes();
        const int64_t rank = static_cast<int64_t>(sizes.rank());
        int64_t axis = axes && k < axes->size() ? (*axes)[k] : 0;
        if (axis < 0) axis += rank;
        if (axis >= 0 && axis < rank) sizes.erase(static_cast<size_t>(axis));
        info.set_sizes(sizes);
      }
      bind(*to[i], info);
    }
  }
}

// Writes kind and dtype; what the type says beyond that stays as long as it agrees.
void write_kind(Value& value, const ValueInfo& info) {
  ValueType& type = value.type;
  const ValueInfo old = info_of(type);
  const bool same = old.kind == info.kind && (info.kind != ValueInfo::Kind::optional || old.element == info.element);
  if (same && (info.dtype == DType::undefined || info.dtype == old.dtype)) return;
  switch (info.kind) {
    case ValueInfo::Kind::tensor:
      if (type.kind != ValueType::Kind::tensor) type = ValueType();
      type.dtype = info.dtype;
      return;
    case ValueInfo::Kind::sequence:
      type = ValueType::sequence_of(ValueType::tensor(info.dtype));
      return;
    case ValueInfo::Kind::optional: {
      const ValueType element = ValueType::tensor(info.dtype);
      type = ValueType::optional_of(info.element == ValueInfo::Kind::sequence ? ValueType::sequence_of(element) : element);
      return;
    }
    case ValueInfo::Kind::absent:
      return;
  }
}

std::vector<const ValueInfo*> pointers_to(const Node& node, const std::vector<ValueInfo>& inputs) {
  std::vector<const ValueInfo*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) pointers.push_back(node.input(i) ? &inputs[i] : nullptr);
  return pointers;
}

// The node's inputs as far as their types tell.
std::vector<ValueInfo> declared_inputs(const Node& node) {
  std::vector<ValueInfo> inputs(node.input_count());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const Value* value = node.input(i)) inputs[i] = value->constant() ? constant_info(*value->constant()) : info_of(value->type);
  return inputs;
}

/// Sizes that nothing is known of become symbols of their own, so that what is computed from one is known to be so.
void name_unknown(ValueInfo& info, SizeTable& table) {
  if (!info.symbolic) return;
  const auto is_unknown = [](Size size) { return size.is_unknown(); };
  if (std::none_of(info.symbolic->shape.begin(), info.symbolic->shape.end(), is_unknown)) return;
  SymbolicValue named = *info.symbolic;
  for (Size& size : named.shape)
    if (size.is_unknown()) size = table.size_of(Dim());
  info.symbolic = std::make_shared<SymbolicValue>(std::move(named));
}

Sizes sizes_of(const std::vector<Dim>& dims, SizeTable& table) {
  Sizes sizes;
  for (const Dim& dim : dims) sizes.push_back(table.size_of(dim));
  return sizes;
}

// The facts in the type of a value, its dimensions as sizes.
ValueInfo declared_info(const Value& value, SizeTable& table) {
  if (const Tensor* constant = value.constant()) return constant_info(*constant);
  const ValueType& type = value.type;
  ValueInfo info = info_of(type);
  if (type.kind == ValueType::Kind::tensor) {
    if (type.dims && type.dims->size() <= kMaxRank) info.set_sizes(sizes_of(*type.dims, table));
  } else if (type.element && type.element->dims && type.element->dims->size() <= kMaxRank) {
    info.symbolic = std::make_shared<SymbolicValue>(SymbolicValue{sizes_of(*type.element->dims, table), {}, false});
  }
  return info;
}

std::vector<Dim> dims_of(const Sizes& sizes, SizeTable& table) {
  std::vector<Dim> dims;
  for (const Size size : sizes) dims.push_back(table.dim_of(size));
  return dims;
}

// Writes kind, dtype and, where they are known, dimensions.
void write_info(Value& value, const ValueInfo& info, SizeTable& table) {
  write_kind(value, info);
  ValueType& type = value.type;
  if (info.kind == ValueInfo::Kind::tensor && info.extent != ValueInfo::Extent::unknown) {
    type.dims = dims_of(info.sizes(), table);
  } else if (info.kind != ValueInfo::Kind::tensor && info.symbolic && type.element && type.element->kind == ValueType::Kind::tensor) {
    ValueType element = *type.element;
    element.dims = dims_of(info.symbolic->shape, table);
    type.element = std::make_shared<const ValueType>(std::move(element));
  }
}

// The facts that two branches agree on; nothing where their kinds, dtypes or ranks differ.
std::optional<ValueInfo> join(const ValueInfo& a, const ValueInfo& b) {
  if (a.kind != ValueInfo::Kind::tensor || b.kind != a.kind || a.dtype != b.dtype) return {};
  if (a.extent == ValueInfo::Extent::unknown || b.extent == ValueInfo::Extent::unknown) return {};
  Sizes sizes = a.sizes();
  const Sizes other = b.sizes();
  if (sizes.rank() != other.rank()) return {};
  for (size_t i = 0; i < sizes.rank(); ++i)
    if (!equal(sizes[i], other[i])) sizes[i] = Size::unknown();
  ValueInfo joined;
  joined.dtype = a.dtype;
  joined.set_sizes(sizes);
  return joined;
}

const Graph* branch_of(const Node& node, std::string_view name) {
  const Subgraph* branch = node.attributes.get<Subgraph>(name);
  return branch ? branch->get() : nullptr;
}

// Outputs of an If from those of its branches, or of the one that is taken. `condition`: null where it is not known.
void join_branches(const Node& node, const Tensor& condition, FunctionRef<ValueInfo(const Value&)> info_about,
                   std::span<ValueInfo> outputs) {
  const Graph *yes = branch_of(node, "then_branch"), *no = branch_of(node, "else_branch");
  if (!yes || !no) return;
  const bool decided = condition && condition.dtype() == DType::boolean && condition.elements() == 1;
  const bool truth = decided && *condition.data<uint8_t>() != 0;
  for (size_t i = 0; i < outputs.size() && i < yes->outputs().size() && i < no->outputs().size(); ++i) {
    const ValueInfo a = info_about(*yes->outputs()[i]), b = info_about(*no->outputs()[i]);
    const ValueInfo& taken = truth ? a : b;
    if (decided && taken.kind == ValueInfo::Kind::tensor && taken.extent != ValueInfo::Extent::unknown)
      outputs[i] = taken;
    else if (const auto both = decided ? std::nullopt : join(a, b))
      outputs[i] = *both;
  }
}

/// How many elements a tensor may have whose contents are computed.
struct FoldLimits {
  int64_t integers, reals;

  bool allow(const ValueInfo& info) const {
    return info.kind == ValueInfo::Kind::tensor && info.extent == ValueInfo::Extent::exact &&
           info.shape.elements() <= (is_float(info.dtype) ? reals : integers);
  }
};

// Contents of the outputs where those of the inputs are known numbers.
void fold(const OperatorSet& operators, const Operator& op, const Node& node, std::span<const ValueInfo> inputs,
          std::span<ValueInfo> outputs, FoldLimits limits) {
  std::vector<Datum> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo& info = inputs[i];
    if (!node.input(i))
      given.emplace_back();
    else if (op.shape_only && info.kind == ValueInfo::Kind::tensor && info.extent == ValueInfo::Extent::exact)
      given.emplace_back(Tensor(info.dtype, info.shape, nullptr, nullptr));
    else if (info.contents && limits.allow(info))
      given.emplace_back(info.contents);
    else
      return;
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.output(i) && !limits.allow(outputs[i]) && outputs[i].extent != ValueInfo::Extent::symbolic) return;
  const std::vector<Datum> results = ConstantEvaluator(operators).outputs(node, given);
  for (size_t i = 0; i < results.size(); ++i)
    if (node.output(i)) outputs[i] = constant_info(results[i].tensor);
}

[[maybe_unused]] bool is_all_known(const Node& node, std::span<const ValueInfo> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.output(i) && !outputs[i].contents) return false;
  return true;
}

// Shapes of a node's outputs, and contents where they are small. Throws where the node does not fit.
void infer_node(const OperatorSet& operators, const Operator& op, const Node& node, std::vector<ValueInfo>& inputs,
                std::span<ValueInfo> outputs, SizeTable& table, FoldLimits limits) {
  const std::vector<const ValueInfo*> pointers = pointers_to(node, inputs);
  const NodeView view = NodeView::symbolic(node, pointers, &op);
  for (size_t i = 0; op.custom && i < outputs.size(); ++i)
    if (node.output(i)) outputs[i] = info_of(node.output(i)->type);  // a custom operator may tell nothing
  try {
    infer_outputs(op, view, outputs);
  } catch (const NeedsContents&) {
    infer_kinds(op, view, outputs);
    for (ValueInfo& output : outputs)
      if (output.kind == ValueInfo::Kind::tensor) output.extent = ValueInfo::Extent::unknown, output.contents = {};
    return;
  }
  fold(operators, op, node, inputs, outputs, limits);
#if !MINNOW_SMALL
  if (op.infer_contents && !is_all_known(node, outputs) && may_hold_sizes(outputs[0])) try {
      op.infer_contents(view, outputs);
    } catch (const NeedsContents&) {}
#endif
  for (ValueInfo& output : outputs) name_unknown(output, table);
}

// Shapes, and contents where they are small, of the values of a graph whose inputs have given shapes.
class ShapeInference {
 public:
  ShapeInference(const OperatorSet& operators, SizeTable& table) : operators_(operators), table_(table) {}

  void set(const Value& value, ValueInfo info) { known_[&value] = std::move(info); }
  void follow_iterations() { follows_iterations_ = true; }
  const std::unordered_map<const Value*, ValueInfo>& known() const noexcept { return known_; }

  void run(const Graph& graph) {
    for (const State& state : graph.states()) {
      ValueInfo info = constant_info(state.initial);
      info.contents = {};
      set(*state.current, std::move(info));
    }
    for (const Node& node : graph.nodes()) visit(node);
  }

  ValueInfo info_about(const Value& value) const {
    if (const Tensor* constant = value.constant()) return constant_info(*constant);
    const auto found = known_.find(&value);
    return found != known_.end() ? found->second : info_of(value.type);
  }

 private:
  void visit(const Node& node) {
    std::vector<ValueInfo> inputs(node.input_count()), outputs(node.output_count());
    for (size_t i = 0; i < inputs.size(); ++i)
      if (node.input(i)) inputs[i] = info_about(*node.input(i));
    for (const auto& [name, attribute] : node.attributes)
      if (const Graph* body = subgraph_in(attribute)) visit_subgraph(node, *body, inputs);
    const Operator* op = operators_.find(node.op());
    if (!op) {
      for (size_t i = 0; i < outputs.size(); ++i)
        if (node.output(i)) set(*node.output(i), info_of(node.output(i)->type));
      return;
    }
    infer_node(operators_, *op, node, inputs, outputs, table_, kLimits);
    if (node.op() == "If" && !inputs.empty())
      join_branches(
          node, inputs[0].contents, [this](const Value& value) { return info_about(value); }, outputs);
#if MINNOW_EXPRESS
    if (follows_iterations_)
      infer_iterations(
          operators_, node, [this](const Value& value) { return info_about(value); }, outputs);
#endif
    for (size_t i = 0; i < outputs.size(); ++i) {
      name_unknown(outputs[i], table_);
      if (node.output(i)) set(*node.output(i), std::move(outputs[i]));
    }
  }

  // A graph that may never run must not make the whole fail.
  void visit_subgraph(const Node& node, const Graph& body, const std::vector<ValueInfo>& inputs) {
    bind_inputs(node, body, inputs, [&](const Value& value, const ValueInfo& info) { set(value, info); });
    try {
      run(body);
    } catch (const Error&) {}
  }

  // More than shapes are made of: neither time nor memory is spent on folding weights.
  static constexpr FoldLimits kLimits{65536, 1024};

  const OperatorSet& operators_;
  SizeTable& table_;
  bool follows_iterations_ = false;
  std::unordered_map<const Value*, ValueInfo> known_;
};

ValueInfo exact_info(DType dtype, const Shape& shape) {
  ValueInfo info;
  info.dtype = dtype;
  info.shape = shape;
  return info;
}

}  // namespace

void infer_types(const OperatorSet& operators, const Node& node) {
  const Operator* op = operators.find(node.op());
  if (!op) return;
  const std::vector<ValueInfo> inputs = declared_inputs(node);
  std::vector<ValueInfo> outputs(node.output_count());
  for (size_t i = 0; op->custom && i < outputs.size(); ++i)
    if (node.output(i)) outputs[i] = info_of(node.output(i)->type);  // a custom operator may tell nothing yet
  const std::vector<const ValueInfo*> pointers = pointers_to(node, inputs);
  const NodeView view(node, pointers, {}, op);
  check_form(*op, view, Known::declared);
  infer_kinds(*op, view, outputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.output(i)) write_kind(*node.output(i), outputs[i]);
}

void infer_types(const OperatorSet& operators, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    for (const auto& [name, attribute] : node.attributes)
      if (const Graph* body = subgraph_in(attribute)) {
        bind_inputs(node, *body, declared_inputs(node), [](Value& value, const ValueInfo& info) { write_kind(value, info); });
        infer_types(operators, *body);
      }
    infer_types(operators, node);
  }
}

void infer_branches(const OperatorSet& operators, const Node& node, FunctionRef<ValueInfo(const Value&)> outside,
                    std::span<ValueInfo> outputs) {
  SizeTable table;
  ShapeInference inference(operators, table);
  const ValueInfo condition = node.input_count() == 1 && node.input(0) ? outside(*node.input(0)) : ValueInfo();
  try {
    for (const auto& [name, attribute] : node.attributes)
      if (const Graph* body = subgraph_in(attribute)) {
        for (const Value* value : captured_values(*body)) inference.set(*value, outside(*value));
        inference.run(*body);
      }
  } catch (const Error&) {
    return;  // a branch that may never run must not make the whole fail
  }
  std::vector<ValueInfo> joined(outputs.begin(), outputs.end());
  join_branches(
      node, condition.contents, [&](const Value& value) { return inference.info_about(value); }, joined);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (joined[i].extent == ValueInfo::Extent::exact && !joined[i].symbolic) outputs[i] = joined[i];  // symbols die with the table
}

#if MINNOW_EXPRESS

void infer_iterations(const OperatorSet& operators, const Node& node, FunctionRef<ValueInfo(const Value&)> outside,
                      std::span<ValueInfo> outputs) {
  const bool is_loop = node.op() == "Loop";
  const Subgraph* body = is_loop || node.op() == "Scan" ? node.attributes.get<Subgraph>("body") : nullptr;
  if (!body || !*body) return;
  const int64_t* scanned = node.attributes.get<int64_t>("num_scan_inputs");
  const size_t lead = is_loop ? 2 : 0, elements = node.input_count() - static_cast<size_t>(scanned ? *scanned : 0);
  const auto axis_of = [&](const char* attribute, size_t i, size_t rank) {
    const Ints* list = node.attributes.get<Ints>(attribute);
    const int64_t axis = list ? (*list)[i] : 0;
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  };
  std::vector<ValueInfo> inputs(node.input_count());
  int64_t length = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (node.input(i)) inputs[i] = outside(*node.input(i));
    ValueInfo& info = inputs[i];
    info.contents = {};
    if (info.extent == ValueInfo::Extent::exact && i < lead) info.shape = Shape();
    if (info.extent != ValueInfo::Extent::exact || i < elements) continue;
    const size_t axis = axis_of("scan_input_axes", i - elements, info.shape.rank());
    length = info.shape[axis];
    info.shape.erase(axis);
  }
  for (bool all_keep = false; !all_keep;) {
    SizeTable table;
    ShapeInference inference(operators, table);
    inference.follow_iterations();
    for (const Value* value : captured_values(**body)) {
      ValueInfo info = outside(*value);
      info.contents = {};
      inference.set(*value, std::move(info));
    }
    for (size_t i = lead; i < inputs.size(); ++i) inference.set(*(*body)->inputs()[i], inputs[i]);
    try {
      inference.run(**body);
    } catch (const Error&) {
      return;  // a body that may never run must not make the whole fail
    }
    const auto result = [&](size_t i) { return inference.info_about(*(*body)->outputs()[is_loop ? i + 1 : i]); };
    all_keep = true;
    for (size_t i = lead; i < elements; ++i) {
      const ValueInfo after = result(i - lead);
      if (inputs[i].extent != ValueInfo::Extent::exact || (after.extent == ValueInfo::Extent::exact && after.shape == inputs[i].shape))
        continue;
      inputs[i].extent = ValueInfo::Extent::unknown;
      all_keep = false;
    }
    if (!all_keep) continue;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool is_carried = i + lead < elements;
      ValueInfo info = is_carried ? inputs[i + lead] : result(i);
      info.contents = {};
      if (info.kind != ValueInfo::Kind::tensor || info.extent != ValueInfo::Extent::exact || info.symbolic) continue;
      if (!is_carried) {
        if (length < 1 || info.shape.rank() == kMaxRank) continue;
        info.shape.insert(axis_of("scan_output_axes", i - (elements - lead), info.shape.rank() + 1), length);
      }
      outputs[i] = info;
    }
  }
}

#endif

namespace {

void infer_shapes(const OperatorSet& operators, const Graph& graph, const std::map<std::string, Shape>& input_shapes, SizeTable& table) {
  ShapeInference inference(operators, table);
  size_t used = 0;
  for (const auto& input : graph.inputs()) {
    const ValueType& type = input->type;
    const auto given = input_shapes.find(input->name());
    if (given == input_shapes.end()) {
      inference.set(*input, declared_info(*input, table));
      continue;
    }
    ++used;
    const Shape& shape = given->second;
    bool fits = type.kind == ValueType::Kind::tensor && (!type.dims || type.dims->size() == shape.rank());
    for (size_t i = 0; fits && type.dims && i < shape.rank(); ++i) fits = !(*type.dims)[i].known() || (*type.dims)[i].size == shape[i];
    if (!fits) throw InvalidArgument("{}: input \"{}\" is {}, it cannot have shape {}", graph.source, input->name(), type, shape);
    inference.set(*input, exact_info(type.dtype, shape));
  }
  if (used != input_shapes.size())
    for (const auto& [name, shape] : input_shapes)
      if (std::none_of(graph.inputs().begin(), graph.inputs().end(), [&n = name](const auto& input) { return input->name() == n; }))
        throw InvalidArgument("{}: there is no input \"{}\"", graph.source, name);
  inference.run(graph);
  for (const auto& [value, info] : inference.known()) {
    Value& target = const_cast<Value&>(*value);  // the graph's own, which the caller lets this function write
    if (value->is_input() && &value->graph() == &graph && info.symbolic) continue;  // as it was declared
    write_info(target, info, table);
    unname_unknown(target.type);
  }
}

}  // namespace

void infer_static_types(const OperatorSet& operators, const Graph& graph, const std::map<std::string, Shape>& input_shapes) {
  infer_types(operators, graph);
  SizeTable table;
  infer_shapes(operators, graph, input_shapes, table);
}

bool infer_symbolic_types(const OperatorSet& operators, const Graph& graph) {
  infer_types(operators, graph);
  SizeTable table;
  try {
    infer_shapes(operators, graph, {}, table);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<ValueInfo> infer_dims(const OperatorSet& operators, SizeTable& table, Node& node,
                                  FunctionRef<const ValueInfo*(const Value&)> known) {
  std::vector<ValueInfo> inputs(node.input_count()), outputs(node.output_count());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const Value* value = node.input(i)) {
      const ValueInfo* found = known(*value);
      inputs[i] = found ? *found : declared_info(*value, table);
    }
  const Operator* op = operators.find(node.op());
  bool fits = op != nullptr;
  if (op) {
    try {
      infer_node(operators, *op, node, inputs, outputs, table, {kMostSizes, kMostSizes});
      if (node.op() == "If" && !inputs.empty())
        join_branches(
            node, inputs[0].contents, [&](const Value& value) { return declared_info(value, table); }, outputs);
    } catch (const Error&) {  // perhaps in a branch that is never taken; if it is, the run says what is wrong
      fits = false;
      outputs.assign(outputs.size(), ValueInfo());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* output = node.output(i);
    if (!output) continue;
    if (output->type.kind == ValueType::Kind::tensor) output->type.dims.reset();
    if (fits && outputs[i].kind != ValueInfo::Kind::absent) write_info(*output, outputs[i], table);
  }
  return outputs;
}

}  // namespace minnow

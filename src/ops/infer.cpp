// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "ops/check_form.h"
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

// What a node gives to the inputs of its subgraph: bind(input of the graph, what is known of it).
template <class Bind>
void bind_inputs(const Node& node, const Graph& body, const std::vector<ValueInfo>& inputs, Bind bind) {
  const auto& to = body.inputs();
  const auto input = [&](size_t i) { return i < inputs.size() ? inputs[i] : ValueInfo(); };
  if (node.op() == "Loop") {
    for (size_t i = 0; i < to.size(); ++i) {
      ValueInfo info = i == 0 ? scalar_info(DType::i64) : i == 1 ? scalar_info(DType::boolean) : input(i);
      if (i > 1) info.extent = ValueInfo::Extent::unknown, info.contents = {};  // may change from one iteration to the next
      bind(*to[i], info);
    }
  } else if (node.op() == "Scan" || node.op() == "SequenceMap") {
    const int64_t* scanned = node.attributes.get<int64_t>("num_scan_inputs");
    const Ints* axes = node.attributes.get<Ints>("scan_input_axes");
    for (size_t i = 0; i < to.size() && i < inputs.size(); ++i) {
      ValueInfo info = input(i);
      info.contents = {};
      if (info.kind == ValueInfo::Kind::sequence) info.kind = ValueInfo::Kind::tensor, info.extent = ValueInfo::Extent::unknown;
      if (scanned && i + static_cast<size_t>(*scanned) >= inputs.size() && info.extent == ValueInfo::Extent::exact) {
        const size_t k = i + static_cast<size_t>(*scanned) - inputs.size();
        const int64_t rank = static_cast<int64_t>(info.shape.rank());
        int64_t axis = axes && k < axes->size() ? (*axes)[k] : 0;
        if (axis < 0) axis += rank;
        if (axis >= 0 && axis < rank) info.shape.erase(static_cast<size_t>(axis));
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

// What the types of a node's inputs tell.
std::vector<ValueInfo> declared_inputs(const Node& node) {
  std::vector<ValueInfo> inputs(node.input_count());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const Value* value = node.input(i)) inputs[i] = value->constant() ? constant_info(*value->constant()) : info_of(value->type);
  return inputs;
}

// Shapes, and contents where they are small, of the values of a graph whose inputs have given shapes.
class ShapeInference {
 public:
  explicit ShapeInference(const OperatorSet& operators) : operators_(operators) {}

  void set(const Value& value, ValueInfo info) { known_[&value] = std::move(info); }
  const std::unordered_map<const Value*, ValueInfo>& known() const noexcept { return known_; }

  void run(const Graph& graph) {
    for (const State& state : graph.states()) {
      ValueInfo info = constant_info(state.initial);
      info.contents = {};
      set(*state.current, std::move(info));
    }
    for (const Node& node : graph.nodes()) visit(node);
  }

  /// Outputs of an If whose branches were visited. `condition`: null where it is not known.
  void join_branches(const Node& node, const Tensor& condition, std::span<ValueInfo> outputs) const {
    const Subgraph *yes = node.attributes.get<Subgraph>("then_branch"), *no = node.attributes.get<Subgraph>("else_branch");
    if (!yes || !*yes || !no || !*no) return;
    const bool decided = condition && condition.dtype() == DType::boolean && condition.elements() == 1;
    const bool truth = decided && *condition.data<uint8_t>() != 0;
    for (size_t i = 0; i < outputs.size() && i < (*yes)->outputs().size() && i < (*no)->outputs().size(); ++i) {
      const ValueInfo a = info_about(*(*yes)->outputs()[i]), b = info_about(*(*no)->outputs()[i]);
      const ValueInfo& taken = decided && !truth ? b : a;
      if (taken.kind != ValueInfo::Kind::tensor || taken.extent != ValueInfo::Extent::exact) continue;
      if (!decided && (b.kind != a.kind || b.extent != a.extent || b.dtype != a.dtype || b.shape != a.shape)) continue;
      outputs[i] = taken;
      if (!decided) outputs[i].contents = {};
    }
  }

 private:
  // More than shapes are made of: neither time nor memory is spent on folding weights.
  static constexpr int64_t kMostIntegers = 65536, kMostReals = 1024;

  ValueInfo info_about(const Value& value) const {
    if (const Tensor* constant = value.constant()) return constant_info(*constant);
    const auto found = known_.find(&value);
    return found != known_.end() ? found->second : info_of(value.type);
  }

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
    const std::vector<const ValueInfo*> pointers = pointers_to(node, inputs);
    const NodeView view(node, pointers, {}, op);
    try {
      infer_outputs(*op, view, outputs);
      fold(*op, node, inputs, outputs);
    } catch (const NeedsContents&) {
      infer_kinds(*op, view, outputs);
      for (ValueInfo& output : outputs)
        if (output.kind == ValueInfo::Kind::tensor) output.extent = ValueInfo::Extent::unknown, output.contents = {};
    }
    if (node.op() == "If" && !inputs.empty()) join_branches(node, inputs[0].contents, outputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (node.output(i)) set(*node.output(i), std::move(outputs[i]));
  }

  // A graph that may never run must not make the whole fail.
  void visit_subgraph(const Node& node, const Graph& body, const std::vector<ValueInfo>& inputs) {
    bind_inputs(node, body, inputs, [&](const Value& value, const ValueInfo& info) { set(value, info); });
    try {
      run(body);
    } catch (const Error&) {}
  }

  static bool is_small(const ValueInfo& info) {
    return info.kind == ValueInfo::Kind::tensor && info.extent != ValueInfo::Extent::unknown &&
           info.shape.elements() <= (is_float(info.dtype) ? kMostReals : kMostIntegers);
  }

  void fold(const Operator& op, const Node& node, const std::vector<ValueInfo>& inputs, std::vector<ValueInfo>& outputs) const {
    if (!op.pure) return;
    std::vector<Datum> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueInfo& info = inputs[i];
      if (!node.input(i))
        given.emplace_back();
      else if (op.shape_only && info.kind == ValueInfo::Kind::tensor)
        given.emplace_back(Tensor(info.dtype, info.shape, nullptr, nullptr));
      else if (info.contents && is_small(info))
        given.emplace_back(info.contents);
      else
        return;
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (node.output(i) && !is_small(outputs[i])) return;
    const std::vector<Datum> results = ConstantEvaluator(operators_).outputs(node, given);
    for (size_t i = 0; i < results.size(); ++i)
      if (node.output(i)) outputs[i] = constant_info(results[i].tensor);
  }

  const OperatorSet& operators_;
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
  if (node.op() != "If") return;
  ShapeInference inference(operators);
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
  inference.join_branches(node, condition.contents, outputs);
}

void infer_static_types(const OperatorSet& operators, const Graph& graph, const std::map<std::string, Shape>& input_shapes) {
  infer_types(operators, graph);
  ShapeInference inference(operators);
  size_t used = 0;
  for (const auto& input : graph.inputs()) {
    const ValueType& type = input->type;
    const auto given = input_shapes.find(input->name());
    if (given == input_shapes.end()) {
      if (type.is_static()) inference.set(*input, exact_info(type.dtype, type.shape()));
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
    write_kind(target, info);
    if (info.kind != ValueInfo::Kind::tensor || info.extent == ValueInfo::Extent::unknown) continue;
    target.type.dims = ValueType::tensor(info.dtype, info.shape).dims;
    if (info.extent == ValueInfo::Extent::upper_bound) *target.type.dims = std::vector<Dim>(info.shape.rank());
  }
}

namespace {

constexpr size_t kProbes = 3;
using Sizes = std::array<int64_t, kProbes>;

struct Symbol {
  std::string name;  // empty: a dimension of its own that nobody named
  Sizes sizes{};
};

std::vector<int64_t> primes(size_t count) {
  std::vector<int64_t> found;
  for (int64_t candidate = 7; found.size() < count; candidate += 2) {
    bool prime = candidate % 3 != 0;
    for (int64_t d = 5; prime && d * d <= candidate; d += 2) prime = candidate % d != 0;
    if (prime) found.push_back(candidate);
  }
  return found;
}

// The symbol of every dimension that an input declares as not fixed, by its place in `symbols`.
struct ProbedInput {
  const Value* value;
  std::vector<size_t> symbols;  // SIZE_MAX for a fixed dimension
};

}  // namespace

bool infer_symbolic_types(const OperatorSet& operators, const Graph& graph) {
  infer_types(operators, graph);
  std::vector<Symbol> symbols;
  std::vector<ProbedInput> inputs;
  std::unordered_map<std::string, size_t> by_name;
  for (const auto& input : graph.inputs()) {
    const ValueType& type = input->type;
    if (type.kind != ValueType::Kind::tensor || !type.dims || type.dims->size() > kMaxRank) continue;
    inputs.push_back({input.get(), {}});
    for (const Dim& dim : *type.dims) {
      size_t place = SIZE_MAX;
      if (!dim.known()) {
        place = symbols.size();
        if (!dim.symbol.empty()) place = by_name.emplace(dim.symbol, place).first->second;
        if (place == symbols.size()) symbols.push_back({dim.symbol, {}});
      }
      inputs.back().symbols.push_back(place);
    }
  }
  const std::vector<int64_t> sizes = primes(kProbes * std::max<size_t>(symbols.size(), 1));

  // First sizes that tell all symbols apart; then what networks that halve an image need; then what those need whose inputs should
  // have belonged together; at last the smallest.
  struct Attempt {
    int64_t factor;
    bool together;
  };
  for (const Attempt attempt : {Attempt{1, false}, Attempt{32, false}, Attempt{1, true}, Attempt{32, true}}) {
    if (attempt.together && symbols.size() < 2) continue;
    for (size_t s = 0; s < symbols.size(); ++s)
      for (size_t p = 0; p < kProbes; ++p) symbols[s].sizes[p] = attempt.factor * sizes[attempt.together ? p : p * symbols.size() + s];
    std::vector<ShapeInference> probes;
    try {
      for (size_t p = 0; p < (symbols.empty() ? 1 : kProbes); ++p) {
        ShapeInference& probe = probes.emplace_back(operators);
        for (const ProbedInput& input : inputs) {
          Shape shape;
          for (size_t i = 0; i < input.symbols.size(); ++i)
            shape.push_back(input.symbols[i] == SIZE_MAX ? (*input.value->type.dims)[i].size : symbols[input.symbols[i]].sizes[p]);
          probe.set(*input.value, exact_info(input.value->type.dtype, shape));
        }
        probe.run(graph);
      }
    } catch (const Error&) {
      continue;
    }
    std::map<Sizes, std::string> names;
    for (const Symbol& symbol : symbols) {
      const auto [place, fresh] = names.emplace(symbol.sizes, symbol.name);
      if (!fresh && place->second != symbol.name) place->second.clear();  // not to be told apart
    }
    for (const auto& [value, first] : probes[0].known()) {
      if (value->is_input() && &value->graph() == &graph) continue;  // as it was declared
      std::vector<const ValueInfo*> infos;
      for (const ShapeInference& probe : probes) {
        const auto found = probe.known().find(value);
        if (found != probe.known().end()) infos.push_back(&found->second);
      }
      const bool all = infos.size() == probes.size() && std::all_of(infos.begin(), infos.end(), [&f = first](const ValueInfo* info) {
                         return info->kind == ValueInfo::Kind::tensor && info->extent != ValueInfo::Extent::unknown &&
                                info->shape.rank() == f.shape.rank() && info->dtype == f.dtype;
                       });
      if (!all) continue;
      const bool exact =
          std::all_of(infos.begin(), infos.end(), [](const ValueInfo* info) { return info->extent == ValueInfo::Extent::exact; });
      std::vector<Dim> dims(first.shape.rank());
      for (size_t i = 0; exact && i < dims.size(); ++i) {
        Sizes seen{};
        for (size_t p = 0; p < kProbes; ++p) seen[p] = infos[std::min(p, infos.size() - 1)]->shape[i];
        if (std::all_of(seen.begin(), seen.end(), [&](int64_t size) { return size == seen[0]; }))
          dims[i].size = seen[0];
        else if (const auto name = names.find(seen); name != names.end())
          dims[i].symbol = name->second;
      }
      Value& target = const_cast<Value&>(*value);  // as above
      write_kind(target, first);
      target.type.dims = std::move(dims);
    }
    return true;
  }
  return false;
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// From nodes to steps: inference, folding, decompositions and the cut, node after node.
#include <algorithm>

#include "ops/infer.h"
#include "ops/storage_dtype.h"
#include "planner/draft.h"

namespace minnow {
namespace {

// Derived constants of so many bytes are kept from the time that schemes are asked until kernels are prepared; more are computed again.
constexpr size_t kKeptBytes = size_t{4} << 20;

bool is_fallback(const Candidate& candidate) { return candidate.scheme->op == kAnyOperator; }
bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// The dtype of 16 bits that f32 values of the graph are to have; undefined: they stay. That of a file of f16 or bf16, where a device
// with tensor cores computes alone.
DType storage_dtype_for(const PlanEnvironment& environment, const PlanRequest& request) {
  if (!kHasDevices || request.nodes.empty() || environment.wanted_backends != 1) return DType::undefined;
  const Backend& backend = *environment.backends.front();
  if (backend.uses_host_memory() || backend.device().pack == 1 || backend.device().precision == Precision::high) return DType::undefined;
  return storage_dtype(request.nodes.front()->graph());
}

std::string text_of(const std::vector<SchemeChoice::Refusal>& refusals) {
  std::string text;
  for (const SchemeChoice::Refusal& refusal : refusals) text += format("; {}: {}", refusal.scheme, refusal.reason);
  return text;
}

template <class F>
void for_each_captured(const Node& node, F f) {
  for (const auto& [name, attribute] : node.attributes)
    if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute))
      for (const Value* value : captured_values(**subgraph)) f(*value);
}

class StepMaker {
 public:
  StepMaker(const PlanEnvironment& environment, const PlanRequest& request, Draft& draft)
      : environment_(environment), request_(request), draft_(draft), plan_(draft.plan), storage_(storage_dtype_for(environment, request)) {
    plan_.aliases = request.aliases ? std::make_shared<ValueAliases>(*request.aliases) : std::make_shared<ValueAliases>();
    plan_.handed_over = request.handed_over;
    plan_.output_memory = request.output_memory;
    plan_.host_outputs = request.host_outputs;
    plan_.fixed_addresses = request.fixed_addresses;
    plan_.observed = request.observed;
    if (request.like)
      for (const Step& step : request.like->steps()) earlier_.emplace(step.node, step.scheme);
  }

  void run() {
    add_live_ins();
    for (const Node* node : request_.nodes) add_node(*node);
    find_outputs();
    find_exports();
  }

 private:
  const Value* canonical(const Value* value) const {
    for (auto found = plan_.aliases->find(value); found != plan_.aliases->end(); found = plan_.aliases->find(value)) value = found->second;
    return value;
  }

  // The index of a graph value, or kNone if it is not known yet. Constants join when first asked for.
  uint32_t lookup(const Value* value) {
    value = canonical(value);
    const auto found = index_.find(value);
    if (found != index_.end()) return found->second;
    const Tensor* constant = value->constant();
    if (!constant) return kNone;
    PlanValue made;
    made.place = PlanValue::Place::constant;
    made.info.dtype = constant->dtype();
    made.info.shape = constant->shape();
    made.info.contents = *constant;
    return add_value(value, std::move(made));
  }
  bool is_known(uint32_t v) const { return v != kNone && plan_.values[v].info.extent == ValueInfo::Extent::exact; }

  uint32_t add_value(const Value* value, PlanValue made) {
    made.value = value;
    const uint32_t index = static_cast<uint32_t>(plan_.values.size());
    plan_.values.push_back(std::move(made));
    index_[value] = index;
    return index;
  }

  void add_live_ins() {
    plan_.live_ins = request_.live_ins;
    for (LiveIn& live_in : plan_.live_ins) {
      PlanValue made;
      made.place = PlanValue::Place::live_in;
      made.info = live_in.info;
      made.memory = live_in.memory;
      live_in.contents_required = false;
      add_value(live_in.value, std::move(made));
    }
  }

  // Appends the steps that compute the node, or leaves it for the plan after the cut.
  void add_node(const Node& node) {
    Step step;
    step.node = &node;
    step.definition = environment_.operators->find(node.op());
    if (!step.definition)
      throw Unsupported("{}: there is no such operator; load_operators() or --operators loads a library that has it", node.where());
    std::vector<ValueInfo> outputs(node.output_count());
    if (!find_inputs(step)) {
      plan_.remaining.push_back(&node);
      return;
    }
    if (stores_16_bits()) {
      if (is_rounding(step)) {
        (*plan_.aliases)[node.output(0)] = canonical(node.input(0));
        return;
      }
      convert_inputs(step);
    }
    if (!infer(step, outputs)) {
      plan_.remaining.push_back(&node);
      return;
    }
    Folded folded = fold(*environment_.operators, step, outputs, plan_.values, draft_.derived);
    for (auto& [output, constant] : folded.constants) {
      const uint32_t v = add_value(node.output(output), std::move(constant));
      if (folded.derived) draft_.derived.add(v, node, step.inputs);
    }
    if (folded.done) return;
    const size_t first_output = plan_.values.size();
    add_outputs(step, std::move(outputs));
    keep_derived(step);
    SchemeChoice choice;
    const auto earlier = earlier_.find(&node);
    std::vector<Candidate> candidates =
        find_candidates(environment_, step, plan_.values, draft_.derived, earlier == earlier_.end() ? nullptr : earlier->second, choice);
    if (candidates.empty() || is_fallback(candidates[0]) || candidates[0].spare) {
      if (stores_16_bits() && reads_16_bits(step)) return compute_in_f32(step, first_output);
      if (step.definition->decompose && (candidates.empty() || environment_.backends.size() > 1) && decompose(step, first_output)) return;
      if (candidates.empty()) throw Unsupported("{}: no backend can compute it{}", node.where(), text_of(choice.refusals));
    }
    step.least_seconds = candidates[0].estimated_seconds;
    for (const Candidate& candidate : candidates) step.least_seconds = std::min(step.least_seconds, candidate.estimated_seconds);
    if (request_.choices) (*request_.choices)[&node] = std::move(choice);
    draft_.candidates.push_back(std::move(candidates));
    plan_.steps.push_back(std::move(step));
  }

  // False if an input is not known before the run.
  bool find_inputs(Step& step) {
    for (size_t i = 0; i < step.node->input_count(); ++i) {
      const Value* value = step.node->input(i);
      step.inputs.push_back(value ? lookup(value) : kNone);
      if (value && !is_known(step.inputs.back())) return false;
    }
    bool known = true;
    for_each_captured(*step.node, [&](const Value& value) {
      step.captured.push_back(known ? lookup(&value) : kNone);
      known = known && is_known(step.captured.back());
    });
    return known;
  }

  // ---- Values that have 16 bits where the graph has f32

  bool stores_16_bits() const { return kHasDevices && storage_ != DType::undefined; }
  DType dtype_of(uint32_t v) const { return v == kNone ? DType::undefined : plan_.values[v].info.dtype; }
  bool reads_16_bits(const Step& step) const {
    return std::any_of(step.inputs.begin(), step.inputs.end(), [&](uint32_t v) { return dtype_of(v) == storage_; });
  }
  // A Cast between f32 and the 16 bits whose input has 16 bits already.
  bool is_rounding(const Step& step) const {
    if (step.definition->float_width != FloatWidth::converted || dtype_of(step.inputs[0]) != storage_ || !step.node->output(0))
      return false;
    const int64_t* to = step.node->attributes.get<int64_t>("to");
    return to && (*to == static_cast<int64_t>(DType::f32) || *to == static_cast<int64_t>(storage_));
  }
  // Gives the step inputs of the dtypes that it takes: 16 bits if it may, else what the graph says.
  void convert_inputs(Step& step) {
    const Operator& op = *step.definition;
    const bool any = reads_16_bits(step), in_f32 = op.float_width == FloatWidth::f32;
    for (size_t i = op.float_width == FloatWidth::converted ? 1 : 0; i < step.inputs.size(); ++i) {
      const uint32_t v = step.inputs[i];
      const bool constant = v != kNone && plan_.values[v].place == PlanValue::Place::constant;
      if (in_f32 || computes_in_16_bits(op)) {
        const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
        if (dtype_of(v) == DType::f32 && contains(spec.dtypes, storage_) && (constant ? any && !in_f32 : true))
          step.inputs[i] = converted(v, storage_);
      } else if (dtype_of(v) == storage_ && step.node->input(i)->type.dtype == DType::f32) {
        step.inputs[i] = converted(v, DType::f32);
      }
    }
  }
  // The value in another dtype, by a Cast.
  uint32_t converted(uint32_t v, DType to) {
    const Value* from = plan_.values[v].value;
    if (const auto found = converted_.find(from); found != converted_.end()) return found->second;
    auto graph = std::make_unique<Graph>();
    GraphBuilder builder(*graph);
    builder.set_stem(from->name());
    const Value* result = cast(input_of(builder, v), to).value();
    add_as_written(std::move(graph));
    return converted_[from] = lookup(result);
  }
  // Value v as an input of the builder's graph.
  Expr input_of(GraphBuilder& builder, uint32_t v) {
    const PlanValue& value = plan_.values[v];
    Value& input = builder.graph().add_input(value.value->name(), ValueType::tensor(value.info.dtype, value.info.shape));
    (*plan_.aliases)[&input] = value.value;
    return builder.wrap(&input);
  }
  void add_as_written(std::unique_ptr<Graph> graph) {
    const Graph& nodes = *graph;
    plan_.graphs.push_back(std::move(graph));
    const DType half = std::exchange(storage_, DType::undefined);
    for (const Node& node : nodes.nodes()) add_node(node);
    storage_ = half;
  }
  // Puts the node in f32, between Casts, in the place of the step.
  void compute_in_f32(const Step& step, size_t first_output) {
    auto graph = std::make_unique<Graph>();
    GraphBuilder builder(*graph);
    builder.set_stem(step.node->name().empty() ? step.node->op() : step.node->name());
    Exprs inputs;
    for (const uint32_t v : step.inputs) {
      if (v == kNone) {
        inputs.emplace_back();
        continue;
      }
      inputs.push_back(input_of(builder, v));
      if (dtype_of(v) == storage_) inputs.back() = cast(inputs.back(), DType::f32);
    }
    Exprs results = builder.ops(step.node->op(), inputs, step.node->output_count(), step.node->attributes);
    for (size_t i = 0; i < results.size(); ++i) {
      const Value* output = step.node->output(i);
      if (!output) continue;
      if (dtype_of(step.outputs[i]) == storage_) results[i] = cast(results[i], storage_);
      index_.erase(output);
      (*plan_.aliases)[output] = results[i].value();
    }
    plan_.values.resize(first_output);
    add_as_written(std::move(graph));
  }

  // False if the shapes depend on values known only during a run.
  bool infer(const Step& step, std::vector<ValueInfo>& outputs) {
    const Node& node = *step.node;
    for (;;) {
      StepInfos infos(step, plan_.values);
      const bool in_f32 = stores_16_bits() && step.definition->float_width == FloatWidth::f32 && reads_16_bits(step);
      if (in_f32) infos.widen(storage_);
      try {
        infer_outputs(*step.definition, NodeView(node, infos.inputs, {}, step.definition), outputs);
        infer_branches(
            *environment_.operators, node, [&](const Value& value) { return plan_.values[lookup(&value)].info; }, outputs);
        if (in_f32 && outputs[0].dtype == DType::f32) outputs[0].dtype = storage_;
        return true;
      } catch (const NeedsContents& needs) {
        const uint32_t v = step.inputs[needs.input];
        if (draft_.derived.contains(v) && !plan_.values[v].info.contents)
          plan_.values[v].info.contents = draft_.derived.compute(v);
        else if (!read_contents(v))
          return false;
      }
    }
  }

  // Reads the contents of a live-in on which a shape depends. False if only the run can compute them.
  bool read_contents(uint32_t v) {
    PlanValue& value = plan_.values[v];
    if (value.place != PlanValue::Place::live_in || !request_.contents || value.info.kind != ValueInfo::Kind::tensor) return false;
    const TensorView view = request_.contents(v);
    if (!view.data() && view.elements() != 0) return false;
    value.info.contents = Tensor(view);
    plan_.live_ins[v].contents_required = true;
    return true;
  }

  void add_outputs(Step& step, std::vector<ValueInfo> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!step.node->output(i)) {
        step.outputs.push_back(kNone);
        continue;
      }
      PlanValue made;
      made.info = std::move(outputs[i]);
      if (made.info.kind != ValueInfo::Kind::tensor || made.info.extent == ValueInfo::Extent::unknown)
        made.place = PlanValue::Place::dynamic;
      step.outputs.push_back(add_value(step.node->output(i), std::move(made)));
    }
  }

  // Computes derived constants once for all schemes that are asked, as long as they are few.
  void keep_derived(const Step& step) {
    for (uint32_t v : step.inputs) {
      if (v == kNone || !draft_.derived.contains(v) || plan_.values[v].info.contents) continue;
      ValueInfo& info = plan_.values[v].info;
      const size_t bytes = static_cast<size_t>(info.shape.elements()) * size_of(info.dtype);
      if (kept_bytes_ + bytes > kKeptBytes) continue;
      kept_bytes_ += bytes;
      info.contents = draft_.derived.compute(v);
    }
  }

  // Puts the nodes of the operator's decomposition in the place of the step. The outputs made for the step, the values from first_output
  // on, become aliases of the results.
  bool decompose(const Step& step, size_t first_output) {
    auto graph = std::make_unique<Graph>();
    const Graph* top = &step.node->graph();
    while (top->outer) top = top->outer;
    graph->source = top->source;
    GraphBuilder builder(*graph);
    builder.set_stem(step.node->name().empty() ? step.node->op() : step.node->name());
    // Record aliases only if the graph is kept: if it is dropped, other values may soon have the same addresses.
    std::vector<std::pair<const Value*, const Value*>> taken;
    const Exprs results = build_decomposition(step, *graph, builder, taken);
    if (results.empty()) return false;
    // A build for a list of models may lack a part; then the reference is taken.
    for (const Node& node : graph->nodes())
      if (step.definition->reference && !environment_.operators->find(node.op())) return false;
    for (size_t i = 0; i < step.node->output_count(); ++i) {
      const Value* output = step.node->output(i);
      if (!output) continue;
      MINNOW_CHECK(i < results.size() && results[i], "a decomposition must give every output that is asked for");
      index_.erase(output);
      (*plan_.aliases)[output] = results[i].value();
    }
    plan_.aliases->insert(taken.begin(), taken.end());
    plan_.values.resize(first_output);
    const Graph& nodes = *graph;
    plan_.graphs.push_back(std::move(graph));
    for (const Node& node : nodes.nodes()) add_node(node);
    return true;
  }

  // The results of the decomposition on inputs of `graph`; `taken` pairs these with the node's inputs. Empty if the operator has none.
  Exprs build_decomposition(const Step& step, Graph& graph, GraphBuilder& builder,
                            std::vector<std::pair<const Value*, const Value*>>& taken) const {
    // The parts of an elementwise function compute in f32: in 16 bits, e^x + 1 is too inexact for its logarithm.
    const bool widened = step.definition->elementwise && contains(step.definition->inputs[0].dtypes, DType::f32);
    Exprs inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Value* value = step.node->input(i);
      if (!value) {
        inputs.emplace_back();
        continue;
      }
      const ValueInfo& info = plan_.values[step.inputs[i]].info;
      Value& input =
          graph.add_input(value->name(), info.kind == ValueInfo::Kind::tensor ? ValueType::tensor(info.dtype, info.shape) : value->type);
      taken.emplace_back(&input, canonical(value));
      inputs.push_back(builder.wrap(&input));
      if (widened && is_half(info.dtype)) inputs.back() = cast(inputs.back(), DType::f32);
    }
    const StepInfos infos(step, plan_.values);
    Exprs results;
    try {
      results = step.definition->decompose(NodeView(*step.node, infos.inputs, infos.outputs, step.definition), builder, inputs);
    } catch (const NeedsContents&) {}
    for (size_t i = 0; widened && i < results.size(); ++i)
      if (const uint32_t v = step.outputs[i]; results[i] && v != kNone && is_half(plan_.values[v].info.dtype))
        results[i] = cast(results[i], plan_.values[v].info.dtype);
    return results;
  }

  void find_outputs() {
    plan_.wanted = request_.outputs;
    for (const Value* output : plan_.wanted) {
      uint32_t v = lookup(output);
      if (stores_16_bits() && dtype_of(v) == storage_ && output->type.dtype == DType::f32) v = converted(v, DType::f32);
      plan_.outputs.push_back(v);
    }
  }

  // Finds the values that the plan after the cut reads.
  void find_exports() {
    std::unordered_set<uint32_t> exported;
    const auto add = [&](const Value* value) {
      const uint32_t v = lookup(value);
      if (v == kNone || !exported.insert(v).second) return;
      plan_.exports.push_back(v);
      plan_.export_values.push_back(canonical(value));
    };
    for (const Node* node : plan_.remaining) {
      for (size_t i = 0; i < node->input_count(); ++i)
        if (node->input(i)) add(node->input(i));
      for_each_captured(*node, [&](const Value& value) { add(&value); });
    }
  }

  const PlanEnvironment& environment_;
  const PlanRequest& request_;
  Draft& draft_;
  PlanParts& plan_;
  std::unordered_map<const Value*, uint32_t> index_;
  std::unordered_map<const Node*, const Scheme*> earlier_;  // the schemes of PlanRequest::like
  size_t kept_bytes_ = 0;                                   // of derived constants
  DType storage_;                                           // storage_dtype_for
  std::unordered_map<const Value*, uint32_t> converted_;    // values of one dtype in the other
};

}  // namespace

void add_steps(const PlanEnvironment& environment, const PlanRequest& request, Draft& draft) {
  StepMaker(environment, request, draft).run();
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Building a plan: inference and folding, candidates and decompositions, layouts and conversions, lifetimes and memory, preparing.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <unordered_set>

#include "base/sort.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "planner/custom_schemes.h"
#include "planner/derived.h"
#include "planner/plan.h"

namespace minnow {
namespace {

// Results up to this many elements are computed once, while planning, where their inputs are known.
constexpr int64_t kFoldLimit = 65536;
// Floats from this many on are derived: schemes pack them, and then they are not kept.
constexpr int64_t kDerivedElements = 1024;
// Derived constants of so many bytes may be kept from the time that schemes are asked until kernels are prepared; more are computed again.
constexpr size_t kKeptBytes = size_t{4} << 20;

double operations_of(const Step& step, const NodeView& view) {
  if (step.definition && step.definition->operations) return step.definition->operations(view);
  if (!step.definition || !view.has_output(0) || view.output(0).extent != ValueInfo::Extent::exact) return 0;
  return static_cast<double>(view.output_shape(0).elements());
}

}  // namespace

std::string_view report_name(const Node& node) {
  if (!node.name().empty() || node.output_count() == 0 || !node.output(0)) return node.name();
  return node.output(0)->name();
}

void PlanEnvironment::index_schemes() {
  rows.clear();
  custom = custom_schemes(*operators);
  for (const auto& backend : backends) {
    for (const Scheme& scheme : backend->schemes()) rows[scheme.op].push_back({backend.get(), &scheme});
    if (backend->uses_host_memory() && !backend->is_fallback())
      for (const Scheme& scheme : custom) rows[scheme.op].push_back({backend.get(), &scheme});
  }
}

class PlanBuilder {
 public:
  PlanBuilder(const PlanEnvironment& environment, PlanRequest request)
      : environment_(environment), request_(std::move(request)), plan_(new Plan), derived_(*environment.operators, plan_->values_) {}

  std::unique_ptr<Plan> build() {
    plan_->aliases_ = request_.aliases ? std::make_shared<ValueAliases>(*request_.aliases) : std::make_shared<ValueAliases>();
    if (request_.like)
      for (const Step& step : request_.like->steps()) earlier_.emplace(step.node, step.scheme);
    add_live_ins();
    for (const Node* node : request_.nodes) process(*node);
    find_outputs();
    remove_unneeded_steps();
    choose_schemes();
    prepare_kernels();
    settle_derived();
    for (Step& step : steps()) {
      const Infos infos = infos_of(step);
      step.operations = operations_of(step, NodeView(*step.node, infos.inputs, infos.outputs, step.definition));
    }
    if (request_.by_bands) join_bands(*plan_);
    place_values();
    prepare();
    return std::move(plan_);
  }

 private:
  std::vector<PlanValue>& values() { return plan_->values_; }
  std::vector<Step>& steps() { return plan_->steps_; }

  const Value* canonical(const Value* value) const {
    for (auto found = plan_->aliases_->find(value); found != plan_->aliases_->end(); found = plan_->aliases_->find(value))
      value = found->second;
    return value;
  }

  // The index of a graph value, or kNone where it is not known yet. Constants join when first asked for.
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

  uint32_t add_value(const Value* value, PlanValue made) {
    made.value = value;
    const uint32_t index = static_cast<uint32_t>(values().size());
    values().push_back(std::move(made));
    if (value) index_[value] = index;
    return index;
  }

  void add_live_ins() {
    plan_->live_ins_ = std::move(request_.live_ins);
    for (LiveIn& live_in : plan_->live_ins_) {
      PlanValue made;
      made.place = PlanValue::Place::live_in;
      made.info = live_in.info;
      live_in.contents_required = false;
      add_value(live_in.value, std::move(made));
    }
  }

  // Pointers to what is known of a step's inputs and outputs, for a NodeView. Valid until a value is added.
  struct Infos {
    std::vector<const ValueInfo*> inputs, outputs;
  };
  Infos infos_of(const Step& step) {
    Infos infos;
    for (uint32_t v : step.inputs) infos.inputs.push_back(v == kNone ? nullptr : &values()[v].info);
    for (uint32_t v : step.outputs) infos.outputs.push_back(v == kNone ? nullptr : &values()[v].info);
    return infos;
  }

  // Lets a step's infos know the contents of derived constants; what they point to is the result.
  std::deque<ValueInfo> add_derived(const Step& step, Infos& infos) const {
    std::deque<ValueInfo> own;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const uint32_t v = step.inputs[i];
      if (v == kNone || !derived_.contains(v) || infos.inputs[i]->contents) continue;
      own.push_back(*infos.inputs[i]);
      own.back().contents = derived_.compute(v);
      infos.inputs[i] = &own.back();
    }
    return own;
  }

  void defer(const Node& node) { plan_->remaining_.push_back(&node); }

  // Reads the contents of a live-in that a shape depends on. False where only the run can tell them.
  bool read_contents(uint32_t v) {
    PlanValue& value = values()[v];
    if (value.place != PlanValue::Place::live_in || !request_.contents || value.info.kind != ValueInfo::Kind::tensor) return false;
    const TensorView view = request_.contents(v);
    if (!view.data() && view.elements() != 0) return false;
    value.info.contents = Tensor(view);
    plan_->live_ins_[v].contents_required = true;
    return true;
  }

  void process(const Node& node) {
    Step step;
    step.node = &node;
    step.definition = environment_.operators->find(node.op());
    if (!step.definition)
      throw Unsupported("{}: there is no such operator; load_operators() or --operators loads a library that has it", node.where());
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* value = node.input(i);
      const uint32_t v = value ? lookup(value) : kNone;
      if (value && (v == kNone || values()[v].info.extent != ValueInfo::Extent::exact)) return defer(node);
      step.inputs.push_back(v);
    }
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute))
        for (const Value* value : captured_values(**subgraph)) {
          const uint32_t v = lookup(value);
          if (v == kNone || values()[v].info.extent != ValueInfo::Extent::exact) return defer(node);
          step.captured.push_back(v);
        }
    std::vector<ValueInfo> outputs(node.output_count());
    for (;;) {
      const Infos infos = infos_of(step);
      try {
        infer_outputs(*step.definition, NodeView(node, infos.inputs, {}, step.definition), outputs);
        infer_branches(
            *environment_.operators, node, [&](const Value& value) { return values()[lookup(&value)].info; }, outputs);
        break;
      } catch (const NeedsContents& needs) {
        const uint32_t v = step.inputs[needs.input];
        if (derived_.contains(v) && !values()[v].info.contents)
          values()[v].info.contents = derived_.compute(v);
        else if (!read_contents(v))
          return defer(node);
      }
    }
    if (fold(step, outputs)) return;
    const size_t first_output = values().size();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.output(i)) {
        step.outputs.push_back(kNone);
        continue;
      }
      PlanValue made;
      made.info = std::move(outputs[i]);
      if (made.info.kind != ValueInfo::Kind::tensor || made.info.extent == ValueInfo::Extent::unknown)
        made.place = PlanValue::Place::dynamic;
      step.outputs.push_back(add_value(node.output(i), std::move(made)));
    }
    std::vector<Candidate> candidates = find_candidates(step);
    if (candidates.empty() || is_fallback(candidates[0])) {
      if (step.definition->decompose && (candidates.empty() || environment_.backends.size() > 1) && decompose(step, first_output)) return;
      if (candidates.empty()) {
        std::string reasons;
        for (const Refusal& refusal : step.refusals) reasons += format("; {}: {}", refusal.scheme, refusal.reason);
        throw Unsupported("{}: no backend can compute it{}", node.where(), reasons);
      }
    }
    candidates_.push_back(std::move(candidates));
    steps().push_back(std::move(step));
  }

  static bool is_fallback(const Candidate& candidate) { return candidate.scheme->op == kAnyOperator; }

  bool fold(const Step& step, const std::vector<ValueInfo>& outputs) {
    if (!step.definition->pure || !step.captured.empty()) return false;
    int64_t elements = 0;
    std::vector<Datum> inputs;
    for (uint32_t v : step.inputs) {
      if (v == kNone) {
        inputs.emplace_back();
        continue;
      }
      const ValueInfo& info = values()[v].info;
      if (info.kind != ValueInfo::Kind::tensor) return false;
      if (info.contents || derived_.contains(v)) {
        elements += info.shape.elements();
        inputs.emplace_back(info.contents);
      } else if (step.definition->shape_only) {
        inputs.emplace_back(Tensor(info.dtype, info.shape, nullptr, nullptr));
      } else {
        return false;
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!step.node->output(i)) continue;
      if (outputs[i].kind != ValueInfo::Kind::tensor) return false;
      if (outputs[i].extent != ValueInfo::Extent::unknown) elements += outputs[i].shape.elements();
    }
    if (is_float(outputs[0].dtype) && outputs[0].shape.elements() >= kDerivedElements &&
        DerivedConstants::suits(*step.node, infos_of(step).inputs, outputs)) {
      PlanValue made;
      made.place = PlanValue::Place::constant;
      made.info = outputs[0];
      derived_.add(add_value(step.node->output(0), std::move(made)), *step.node, step.inputs);
      return true;
    }
    if (elements > kFoldLimit) return false;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const uint32_t v = step.inputs[i]; v != kNone && derived_.contains(v) && !values()[v].info.contents)
        inputs[i] = Datum(derived_.compute(v));
    const std::vector<Datum> results = ConstantEvaluator(*environment_.operators).outputs(*step.node, inputs);
    if (results.empty()) return false;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!step.node->output(i)) continue;
      PlanValue made;
      made.place = PlanValue::Place::constant;
      made.info.dtype = results[i].tensor.dtype();
      made.info.shape = results[i].tensor.shape();
      made.info.contents = results[i].tensor;
      add_value(step.node->output(i), std::move(made));
    }
    return true;
  }

  // What was measured for the node and the shape of its first output, or for the node alone.
  double known_seconds(const Step& step, const Scheme& scheme, double estimated) {
    const std::string name(report_name(*step.node)), scheme_name(scheme.name);
    const auto known = environment_.times.find({name, scheme_name});
    if (known != environment_.times.end() && std::isinf(known->second)) return known->second;
    for (const uint32_t v : step.outputs)
      if (v != kNone && values()[v].info.extent == ValueInfo::Extent::exact) {
        const auto of_shape = environment_.times.find({format("{} {}", name, values()[v].info.shape), scheme_name});
        if (of_shape != environment_.times.end()) return of_shape->second;
        break;
      }
    return known != environment_.times.end() ? known->second : estimated;
  }

  std::vector<Candidate> find_candidates(Step& step) {
    std::vector<Candidate> accepted;
    for (uint32_t v : step.inputs) {
      if (v == kNone || !derived_.contains(v) || values()[v].info.contents) continue;
      ValueInfo& info = values()[v].info;
      const size_t bytes = static_cast<size_t>(info.shape.elements()) * size_of(info.dtype);
      if (kept_bytes_ + bytes > kKeptBytes) continue;
      kept_bytes_ += bytes;
      info.contents = derived_.compute(v);
    }
    Infos infos = infos_of(step);
    const std::deque<ValueInfo> derived = add_derived(step, infos);
    const NodeView view(*step.node, infos.inputs, infos.outputs, step.definition);
    const auto ask = [&](const PlanEnvironment::Row& row) {
      Estimate estimate;
      try {
        estimate = row.scheme->estimate(view, row.backend->device());
      } catch (const NeedsContents& needs) {
        estimate = declined("input {} is not constant", needs.input);
      }
      const bool is_known = estimate.declined.empty() && !environment_.times.empty();
      const double seconds = is_known ? known_seconds(step, *row.scheme, estimate.seconds) : estimate.seconds;
      if (std::isinf(seconds)) estimate = declined("its sums overflowed in a run");
      if (estimate.declined.empty()) {
        if (accepted.empty() || estimate.seconds < step.least_seconds) step.least_seconds = estimate.seconds;
        estimate.seconds = seconds;
        if (environment_.explain) step.candidates.emplace_back(row.scheme, estimate.seconds);
        accepted.push_back({row.backend, row.scheme, std::move(estimate)});
      } else if (environment_.explain || environment_.backends.size() == 1) {
        step.refusals.push_back({row.scheme->name, std::move(estimate.declined)});
      }
    };
    const auto found = environment_.rows.find(step.node->op());
    if (found != environment_.rows.end()) {
      if (const auto earlier = earlier_.find(step.node); earlier != earlier_.end())
        for (const PlanEnvironment::Row& row : found->second)
          if (row.scheme == earlier->second) ask(row);
      if (accepted.empty())
        for (const PlanEnvironment::Row& row : found->second) ask(row);
    }
    if (accepted.empty())
      if (const auto any = environment_.rows.find(kAnyOperator); any != environment_.rows.end())
        for (const PlanEnvironment::Row& row : any->second) ask(row);
    return accepted;
  }

  // Puts the nodes of the operator's decomposition in the place of the step. The outputs made for the step become aliases of the results.
  bool decompose(const Step& step, size_t first_output) {
    auto graph = std::make_unique<Graph>();
    const Graph* top = &step.node->graph();
    while (top->outer) top = top->outer;
    graph->source = top->source;
    GraphBuilder builder(*graph);
    builder.set_stem(step.node->name().empty() ? step.node->op() : step.node->name());
    // Aliases are kept with the graph alone: where it is given up, others may soon lie at the same addresses.
    std::vector<std::pair<const Value*, const Value*>> taken;
    // The parts of an elementwise function compute in f32: what 16 bits keep of e^x + 1 is not enough for its logarithm.
    const bool widened = step.definition->elementwise && contains(step.definition->inputs[0].dtypes, DType::f32);
    const auto is_half = [](DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; };
    Exprs inputs;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Value* value = step.node->input(i);
      if (!value) {
        inputs.emplace_back();
        continue;
      }
      const ValueInfo& info = values()[step.inputs[i]].info;
      Value& input =
          graph->add_input(value->name(), info.kind == ValueInfo::Kind::tensor ? ValueType::tensor(info.dtype, info.shape) : value->type);
      taken.emplace_back(&input, canonical(value));
      inputs.push_back(builder.wrap(&input));
      if (widened && is_half(info.dtype)) inputs.back() = cast(inputs.back(), DType::f32);
    }
    Exprs results;
    {
      const Infos infos = infos_of(step);
      try {
        results = step.definition->decompose(NodeView(*step.node, infos.inputs, infos.outputs, step.definition), builder, inputs);
      } catch (const NeedsContents&) {}
    }
    if (results.empty()) return false;
    for (size_t i = 0; widened && i < results.size(); ++i)
      if (const uint32_t v = step.outputs[i]; results[i] && v != kNone && is_half(values()[v].info.dtype))
        results[i] = cast(results[i], values()[v].info.dtype);
    // A build for a list of models may lack a part; then the reference is taken.
    for (const Node& node : graph->nodes())
      if (step.definition->reference && !environment_.operators->find(node.op())) return false;
    // The outputs that were made for the step are taken back.
    for (size_t i = 0; i < step.node->output_count(); ++i) {
      const Value* output = step.node->output(i);
      if (!output) continue;
      MINNOW_CHECK(i < results.size() && results[i], "a decomposition must give every output that is asked for");
      index_.erase(output);
      (*plan_->aliases_)[output] = results[i].value();
    }
    plan_->aliases_->insert(taken.begin(), taken.end());
    values().resize(first_output);
    const Graph& nodes = *graph;
    plan_->graphs_.push_back(std::move(graph));
    for (const Node& node : nodes.nodes()) process(node);
    return true;
  }

  void find_outputs() {
    plan_->wanted_ = std::move(request_.outputs);
    for (const Value* output : plan_->wanted_) plan_->outputs_.push_back(lookup(output));
    // What the plan after the cut reads.
    std::unordered_set<const Value*> made_later;
    std::unordered_set<uint32_t> exported;
    const auto need = [&](const Value* value) {
      const uint32_t v = lookup(value);
      if (v == kNone || !exported.insert(v).second) return;
      plan_->exports_.push_back(v);
      plan_->export_values_.push_back(canonical(value));
    };
    for (const Node* node : plan_->remaining_) {
      for (size_t i = 0; i < node->input_count(); ++i)
        if (node->input(i)) need(node->input(i));
      for (const auto& [name, attribute] : node->attributes)
        if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute))
          for (const Value* value : captured_values(**subgraph)) need(value);
    }
  }

  void remove_unneeded_steps() {
    std::vector<bool> needed(values().size(), false);
    for (uint32_t v : plan_->outputs_)
      if (v != kNone) needed[v] = true;
    for (uint32_t v : plan_->exports_) needed[v] = true;
    std::vector<bool> keep(steps().size(), false);
    for (size_t s = steps().size(); s-- > 0;) {
      for (uint32_t v : steps()[s].outputs) keep[s] = keep[s] || (v != kNone && needed[v]);
      if (!keep[s]) continue;
      for (uint32_t v : steps()[s].inputs)
        if (v != kNone) needed[v] = true;
      for (uint32_t v : steps()[s].captured) needed[v] = true;
    }
    size_t count = 0;
    for (size_t s = 0; s < steps().size(); ++s) {
      if (!keep[s]) continue;
      if (s != count) steps()[count] = std::move(steps()[s]), candidates_[count] = std::move(candidates_[s]);
      ++count;
    }
    steps().resize(count);
    candidates_.resize(count);
  }

  void choose_schemes() {
    std::vector<bool> wants_plain(values().size(), false);
    for (uint32_t v : plan_->outputs_)
      if (v != kNone) wants_plain[v] = true;
    for (uint32_t v : plan_->exports_) wants_plain[v] = true;
    for (const Step& step : steps())
      for (uint32_t v : step.captured) wants_plain[v] = true;
    for (PlanValue& value : values())
      if (value.info.kind == ValueInfo::Kind::tensor && value.info.extent != ValueInfo::Extent::unknown)
        value.bytes = static_cast<size_t>(value.info.shape.elements()) * size_of(value.info.dtype);
    const std::vector<size_t> choice = choose_candidates(candidates_, steps(), values(), wants_plain);

    std::vector<Step> old = std::move(steps());
    steps().clear();
    std::unordered_map<uint32_t, uint32_t> converted;  // value -> the same in the other layout
    for (size_t s = 0; s < old.size(); ++s) {
      Step& step = old[s];
      Candidate& chosen = candidates_[s][choice[s]];
      if (environment_.explain)
        for (size_t c = 0; c < candidates_[s].size(); ++c)
          if (c != choice[s])
            step.refusals.push_back(
                {candidates_[s][c].scheme->name, format("estimated at {} us", candidates_[s][c].estimate.seconds * 1e6)});
      step.backend = chosen.backend;
      step.scheme = chosen.scheme;
      step.estimate = std::move(chosen.estimate);
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const uint32_t v = step.inputs[i];
        if (v == kNone || values()[v].info.kind != ValueInfo::Kind::tensor || step.estimate.input_layout(i) == values()[v].layout) continue;
        auto found = converted.find(v);
        if (found == converted.end()) found = converted.emplace(v, add_conversion(v, *step.backend)).first;
        step.inputs[i] = found->second;
      }
      for (size_t i = 0; i < step.outputs.size(); ++i)
        if (step.outputs[i] != kNone) set_layout(step.outputs[i], step.estimate.output_layout(i), step.backend->device());
      const std::vector<uint32_t> outputs = step.outputs;
      Backend& backend = *step.backend;
      steps().push_back(std::move(step));
      for (uint32_t v : outputs) {
        if (v == kNone || !wants_plain[v] || values()[v].layout == Layout::plain) continue;
        const uint32_t plain = add_conversion(v, backend);
        converted[v] = plain;
        std::replace(plan_->outputs_.begin(), plan_->outputs_.end(), v, plain);
        std::replace(plan_->exports_.begin(), plan_->exports_.end(), v, plain);
        replaced_captures_[v] = plain;
      }
    }
    for (Step& step : steps())
      for (uint32_t& v : step.captured)
        if (const auto found = replaced_captures_.find(v); found != replaced_captures_.end()) v = found->second;
  }

  void set_layout(uint32_t v, Layout layout, const Device& device) {
    PlanValue& value = values()[v];
    value.layout = layout;
    if (layout == Layout::packed) value.bytes = device.bytes(value.info.dtype, value.info.shape, layout);
  }

  const std::vector<PlanEnvironment::Row>& reorders() const {
    static const std::vector<PlanEnvironment::Row> kNothing;
    const auto found = environment_.rows.find(kReorder);
    return found == environment_.rows.end() ? kNothing : found->second;
  }

  // Appends a step that gives value v in the other layout.
  uint32_t add_conversion(uint32_t v, Backend& backend) {
    const bool to_plain = values()[v].layout == Layout::packed;
    if (!conversions_) {
      plan_->graphs_.push_back(std::make_unique<Graph>());
      conversions_ = plan_->graphs_.back().get();
    }
    const std::string name = values()[v].value ? values()[v].value->name() : std::string("value");
    Value& input = conversions_->add_input(name, ValueType::tensor(values()[v].info.dtype, values()[v].info.shape));
    Step step;
    step.node = &conversions_->add_node(kReorder, {&input}, 1, {{"to", std::string(to_plain ? "plain" : "packed")}}, name);
    PlanValue made;
    made.info = values()[v].info;
    made.info.contents = {};
    made.bytes = static_cast<size_t>(made.info.shape.elements()) * size_of(made.info.dtype);
    const uint32_t result = add_value(nullptr, std::move(made));
    step.inputs = {v};
    step.outputs = {result};
    const Infos infos = infos_of(step);
    const NodeView view(*step.node, infos.inputs, infos.outputs);
    std::string reason = "no backend has a scheme for it";
    // The backend at hand first; a backend without a packed layout leaves it to the one that the value comes from or goes to.
    for (const bool at_hand : {true, false})
      for (const PlanEnvironment::Row& row : reorders()) {
        if ((row.backend == &backend) != at_hand) continue;
        Estimate estimate = row.scheme->estimate(view, row.backend->device());
        if (!estimate.declined.empty()) {
          reason = estimate.declined;
          continue;
        }
        set_layout(result, to_plain ? Layout::plain : Layout::packed, row.backend->device());
        step.backend = row.backend;
        step.scheme = row.scheme;
        step.least_seconds = estimate.seconds;
        step.estimate = std::move(estimate);
        steps().push_back(std::move(step));
        return result;
      }
    throw InternalError("{}: a change of layout was planned, but {}", step.node->where(), reason);
  }

  void place_values() {
    const uint32_t end = static_cast<uint32_t>(steps().size());
    std::vector<PlanValue>& all = values();
    for (size_t k = 0; k < plan_->outputs_.size(); ++k) {
      const uint32_t v = plan_->outputs_[k];
      if (v != kNone && all[v].place == PlanValue::Place::arena && all[v].info.extent == ValueInfo::Extent::exact)
        all[v].place = PlanValue::Place::output;
    }
    std::vector<bool> made(all.size(), false);
    const auto use = [&](uint32_t v, uint32_t s) {
      if (v != kNone) all[v].last = std::max(all[v].last, s);
    };
    for (uint32_t s = 0; s < end; ++s) {
      for (uint32_t v : steps()[s].outputs)
        if (v != kNone) all[v].first = all[v].last = s, made[v] = true;
      for (uint32_t v : steps()[s].inputs) use(v, s);
      for (uint32_t v : steps()[s].captured) use(v, s);
    }
    for (uint32_t v : plan_->exports_) use(v, end);
    for (uint32_t v : plan_->outputs_) use(v, end);
    share_memory(steps(), all);
    items_.clear();
    for (uint32_t v = 0; v < all.size(); ++v) {
      if (!made[v] || all[v].place != PlanValue::Place::arena || all[v].alias != kNone || all[v].bytes == 0) continue;
      items_.push_back({all[v].bytes, all[v].first, all[v].last});
      item_values_.push_back(v);
    }
  }

  // The steps with the largest constants first: while a weight is packed it is in memory twice, and that should not come on top of all
  // the others.
  std::vector<size_t> by_weight() const {
    std::vector<size_t> bytes(plan_->steps_.size(), 0), order(bytes.size());
    for (size_t s = 0; s < bytes.size(); ++s) {
      order[s] = s;
      for (uint32_t v : plan_->steps_[s].inputs)
        if (v != kNone && plan_->values_[v].place == PlanValue::Place::constant) bytes[s] += plan_->values_[v].info.contents.bytes();
    }
    sort_indices(order, [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
    return order;
  }

  void prepare_kernel(Step& step) {
    Infos infos = infos_of(step);
    const std::deque<ValueInfo> derived = add_derived(step, infos);
    DerivedConstants::Store store(derived_, *environment_.weights);
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i] != kNone && derived_.contains(step.inputs[i])) store.add(step.inputs[i], infos.inputs[i]->contents);
    const NodeView view(*step.node, infos.inputs, infos.outputs, step.definition);
    PrepareContext context(view, step.backend->device(), step.estimate, store);
    step.kernel = step.scheme->prepare(context);
    for (uint32_t v : step.inputs)
      if (v != kNone && derived_.contains(v) && !store.is_packed(v)) {
        const std::lock_guard lock(mutex_);
        read_.insert(v);
      }
    MINNOW_CHECK(step.kernel, "a scheme that accepted must prepare a kernel");
    step.scratch_bytes = context.scratch_bytes();
  }

  // Kernels are prepared on the threads that will run them: most of that is the packing of weights.
  void prepare_kernels() {
    int threads = 1;
    for (const Step& step : steps()) threads = std::max(threads, step.backend->device().threads);
    const std::vector<size_t> order = by_weight();
    std::vector<std::exception_ptr> errors(order.size());
    std::atomic<size_t> next{0};
    const std::shared_ptr<MemoryAccount> account = current_account();
    ThreadPool::process().run(static_cast<size_t>(threads), threads, [&](size_t) {
      const ChargeTo charge(account);
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < order.size();) try {
          if (Step& step = steps()[order[i]]; step.backend->device().threads > 1) prepare_kernel(step);
        } catch (...) {
          errors[order[i]] = std::current_exception();
        }
    });
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
    for (size_t s : order)
      if (Step& step = steps()[s]; !step.kernel) prepare_kernel(step);
  }

  // What runs read of the derived constants is computed for good; what kernels packed is not kept.
  void settle_derived() {
    for (const std::vector<uint32_t>* all : {&plan_->outputs_, &plan_->exports_}) read_.insert(all->begin(), all->end());
    for (const Step& step : steps()) read_.insert(step.captured.begin(), step.captured.end());
    for (uint32_t v = 0; v < values().size(); ++v) {
      if (!derived_.contains(v)) continue;
      Tensor& contents = values()[v].info.contents;
      if (!read_.contains(v))
        contents = {};
      else if (!contents)
        contents = derived_.compute(v);
    }
  }

  void prepare() {
    Plan& plan = *plan_;
    plan.slots_.resize(values().size());
    for (Step& step : steps()) {
      const auto slots_of = [&](const std::vector<uint32_t>& indices, std::vector<Slot*>& slots) {
        for (uint32_t v : indices) slots.push_back(v == kNone ? nullptr : &plan.slots_[v]);
      };
      slots_of(step.inputs, step.input_slots);
      slots_of(step.outputs, step.output_slots);
      slots_of(step.captured, step.captured_slots);
      bool control_flow = false;
      for (const auto& [name, attribute] : step.node->attributes) control_flow |= std::holds_alternative<Subgraph>(attribute);
      if (control_flow && environment_.make_subgraph_runner)
        step.subgraphs = environment_.make_subgraph_runner(*step.node, step.captured_slots);
    }
    for (uint32_t s = 0; s < steps().size(); ++s)
      if (steps()[s].scratch_bytes) items_.push_back({steps()[s].scratch_bytes, s, s});
    plan.arena_bytes_ = plan_memory(items_);
    plan.lower_bound_ = memory_lower_bound(items_);
    size_t next = 0;
    for (uint32_t v : item_values_) values()[v].offset = items_[next++].offset;
    for (Step& step : steps())
      if (step.scratch_bytes) step.scratch_offset = items_[next++].offset;
    for (PlanValue& value : values())
      if (value.alias != kNone) value.offset = values()[value.alias].offset + value.alias_offset;
    for (uint32_t v = 0; v < values().size(); ++v) {
      const PlanValue& value = values()[v];
      const void* data = value.place == PlanValue::Place::constant ? value.info.contents.data() : nullptr;
      if (value.info.kind == ValueInfo::Kind::tensor) plan.slots_[v].view = TensorView(value.info.dtype, value.info.shape, data);
    }
  }

  const PlanEnvironment& environment_;
  PlanRequest request_;
  std::unique_ptr<Plan> plan_;
  std::unordered_map<const Value*, uint32_t> index_;
  std::vector<std::vector<Candidate>> candidates_;
  std::unordered_map<const Node*, const Scheme*> earlier_;  // the schemes of PlanRequest::like
  std::unordered_map<uint32_t, uint32_t> replaced_captures_;
  Graph* conversions_ = nullptr;
  DerivedConstants derived_;
  size_t kept_bytes_ = 0;              // of derived constants
  std::mutex mutex_;                   // of read_, while kernels are prepared
  std::unordered_set<uint32_t> read_;  // derived constants that some kernel reads when it runs
  std::vector<MemoryItem> items_;
  std::vector<uint32_t> item_values_;
};

std::unique_ptr<Plan> Plan::build(const PlanEnvironment& environment, PlanRequest request) {
  return PlanBuilder(environment, std::move(request)).build();
}

void Plan::bind(std::byte* arena) noexcept {
  arena_ = arena;
  for (size_t v = 0; v < values_.size(); ++v) {
    const PlanValue& value = values_[v];
    if (value.place != PlanValue::Place::arena) continue;
    void* memory = value.offset == kNowhere ? arena : arena + value.offset;
    if (value.info.extent == ValueInfo::Extent::exact) {
      slots_[v].view = TensorView(value.info.dtype, value.info.shape, memory);
    } else {
      slots_[v].buffer = memory;
      slots_[v].capacity = value.bytes;
    }
  }
}

void Plan::point_output(size_t i, void* memory) noexcept {
  const uint32_t v = outputs_[i];
  slots_[v].view = TensorView(values_[v].info.dtype, values_[v].info.shape, memory);
}

PlanRequest Plan::continuation() const {
  PlanRequest request;
  request.nodes = remaining_;
  request.aliases = aliases_;
  for (size_t i = 0; i < wanted_.size(); ++i) request.outputs.push_back(wanted_[i]);
  for (size_t k = 0; k < exports_.size(); ++k) {
    const uint32_t v = exports_[k];
    LiveIn live_in;
    live_in.value = export_values_[k];
    live_in.info = values_[v].info;
    if (live_in.info.kind == ValueInfo::Kind::tensor) {
      live_in.info.shape = slots_[v].view.shape();
      live_in.info.extent = ValueInfo::Extent::exact;
    }
    if (values_[v].place != PlanValue::Place::constant) live_in.info.contents = {};
    request.live_ins.push_back(std::move(live_in));
  }
  return request;
}

}  // namespace minnow

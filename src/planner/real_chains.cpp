// SPDX-License-Identifier: Apache-2.0
// Steps between quantized tensors that compute in f32: neighbours together, so that tensors between them are never made into bytes. They
// are the cheapest cut of a graph (Dinitz 1970) whose nodes are the steps: on one side are those that stay in bytes.
#if !MINNOW_SMALL
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/real_form.h"
#include "planner/draft.h"

namespace minnow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Steps of f32 take 1.4 to 1.6 times as long as estimated, depthwise convolutions and steps of bytes 1.1 to 1.2 times (twelve networks on
// AVX2, Zen 3, 2026-11-29).
constexpr double kDoubt = 1.35;

/// The cheapest cut between node 0 and node 1.
class Cut {
 public:
  explicit Cut(uint32_t nodes) : first_(nodes, kNone) {}
  /// `cost` counts if `from` is on the side of node 0 and `to` on that of node 1.
  void add_edge(uint32_t from, uint32_t to, double cost) {
    add_half(from, to, cost);
    add_half(to, from, 0);
  }
  /// The distance of each node from node 0 in the rest of the graph; kNone: it is on the side of node 1.
  std::vector<uint32_t> solve() {
    for (;;) {
      std::vector<uint32_t> distance = distances();
      if (distance[1] == kNone) return distance;
      fill_shortest_ways(distance);
    }
  }

 private:
  static constexpr double kLeast = 1e-12;  // seconds
  std::vector<uint32_t> distances() const {
    std::vector<uint32_t> distance(first_.size(), kNone), queue = {0};
    distance[0] = 0;
    for (size_t k = 0; k < queue.size(); ++k)
      for (uint32_t e = first_[queue[k]]; e != kNone; e = edges_[e].next)
        if (edges_[e].rest > kLeast && distance[edges_[e].to] == kNone)
          distance[edges_[e].to] = distance[queue[k]] + 1, queue.push_back(edges_[e].to);
    return distance;
  }
  // Each edge that leads nowhere is looked at once.
  void fill_shortest_ways(const std::vector<uint32_t>& distance) {
    std::vector<uint32_t> next = first_, way;  // the next edge of each node; edges from node 0 to `at`
    for (uint32_t at = 0;;) {
      if (at == 1) {
        double rest = kInfinity;
        for (const uint32_t e : way) rest = std::min(rest, edges_[e].rest);
        size_t kept = way.size();
        for (size_t k = way.size(); k-- > 0;) {
          edges_[way[k]].rest -= rest, edges_[way[k] ^ 1].rest += rest;
          if (edges_[way[k]].rest <= kLeast) kept = k;
        }
        at = edges_[way[kept] ^ 1].to;
        way.resize(kept);
      }
      uint32_t& e = next[at];
      while (e != kNone && (edges_[e].rest <= kLeast || distance[edges_[e].to] != distance[at] + 1)) e = edges_[e].next;
      if (e != kNone) {
        way.push_back(e);
        at = edges_[e].to;
      } else if (way.empty()) {
        return;
      } else {
        at = edges_[way.back() ^ 1].to;
        next[at] = edges_[next[at]].next;
        way.pop_back();
      }
    }
  }
  void add_half(uint32_t from, uint32_t to, double rest) {
    edges_.push_back({to, first_[from], rest});
    first_[from] = static_cast<uint32_t>(edges_.size() - 1);
  }
  struct Edge {
    uint32_t to, next;  // of the same node
    double rest;
  };
  std::vector<Edge> edges_;  // the one back is beside it
  std::vector<uint32_t> first_;
};

double least_seconds(const std::vector<Candidate>& candidates) {
  double least = kInfinity;
  for (const Candidate& candidate : candidates)
    if (candidate.scheme->op != kAnyOperator) least = std::min(least, candidate.estimate.seconds);
  return least;
}

bool is_depthwise(const Node& node) {
  const int64_t* const group = node.attributes.get<int64_t>("group");
  return group && *group != 1;
}

class RealChains {
 public:
  RealChains(const PlanEnvironment& environment, const PlanRequest& request, const Draft& bytes)
      : environment_(environment), request_(request), bytes_(bytes), plan_(bytes.plan) {}

  /// Null: no step should compute in f32.
  std::unique_ptr<Draft> make() {
    find_ends();
    if (std::none_of(steps_.begin(), steps_.end(), [](const Ends& step) { return step.can_be_real; })) return nullptr;
    std::vector<bool> real;
    for (const Ends& step : steps_) real.push_back(step.can_be_real);
    const auto all = draft_of(real, nullptr);
    choose(*all, real);
    if (std::none_of(real.begin(), real.end(), [](bool is) { return is; })) return nullptr;
    SchemeChoices choices;
    auto draft = draft_of(real, request_.choices ? &choices : nullptr);
    if (request_.choices) report(real, choices);
    return draft;
  }

 private:
  struct Ends {
    RealEnds ends;
    bool can_be_real = false;
  };

  // Whether bytes take much less time than f32 can: then the weights need not become f32 to find that out.
  bool gains_nothing(const NodeView& node, const RealEnds& ends, const std::vector<Candidate>& bytes) const {
    constexpr double kConversions = 1.5;
    if (ends.saving == 0 || !node.definition()->operations) return false;
    const double least = environment_.backends.front()->device().flop_time(node.definition()->operations(node), ends.saving);
    return kConversions * least_seconds(bytes) < least;
  }
  const RealEnd& input_end(size_t s, size_t i) const { return steps_[s].ends.inputs[i]; }

  // Which steps have a real form, and how the bytes of each value stand for numbers.
  void find_ends() {
    steps_.resize(plan_.steps.size());
    scales_.resize(plan_.values.size());
    std::vector<bool> contradicted(plan_.values.size(), false);
    bool changed = false;
    const auto set = [&](uint32_t v, const std::optional<Bytes>& scale) {
      if (!scale || scales_[v] == scale) return;
      if (scales_[v]) contradicted[v] = true;
      changed |= !scales_[v];
      if (!scales_[v]) scales_[v] = scale;
    };
    const auto for_each_end = [&](size_t s, auto f) {
      const Step& step = plan_.steps[s];
      for (size_t i = 0; i < steps_[s].ends.inputs.size(); ++i)  // none if it has no real form
        if (input_end(s, i).kind != RealEnd::Kind::itself) f(step.inputs[i], input_end(s, i));
      if (steps_[s].ends.output.kind != RealEnd::Kind::itself) f(step.outputs[0], steps_[s].ends.output);
    };
    for (const Node* node : request_.nodes) step_of_[node] = kNoStep;
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = plan_.steps[s];
      const auto found = step_of_.find(step.node);
      if (found == step_of_.end() || least_seconds(bytes_.candidates[s]) == kInfinity) continue;
      const StepInfos infos(step, plan_.values);
      const NodeView node(*step.node, infos.inputs, infos.outputs, step.definition);
      const auto ends = real_ends(node);
      if (!ends || gains_nothing(node, *ends, bytes_.candidates[s])) continue;
      steps_[s] = {*ends, true};
      found->second = s;
      for_each_end(s, [&](uint32_t v, const RealEnd& end) {
        if (end.kind == RealEnd::Kind::bytes) set(v, end.bytes);
      });
    }
    // Scales go through steps that move bytes.
    do {
      changed = false;
      for (size_t s = 0; s < steps_.size(); ++s) {
        std::optional<Bytes> known;
        for (const bool sets : {false, true})
          for_each_end(s, [&](uint32_t v, const RealEnd& end) {
            if (end.kind != RealEnd::Kind::as_others) return;
            if (sets) set(v, known);
            if (scales_[v]) known = scales_[v];
          });
      }
    } while (changed);
    for (size_t s = 0; s < steps_.size(); ++s) {
      bool known = steps_[s].can_be_real;
      for_each_end(s, [&](uint32_t v, const RealEnd&) { known = known && scales_[v] && !contradicted[v]; });
      steps_[s].can_be_real = known;
    }
  }

  bool reads_reals(size_t s, size_t i) const { return steps_[s].can_be_real && input_end(s, i).kind != RealEnd::Kind::itself; }
  bool makes_reals(size_t s) const { return steps_[s].can_be_real && steps_[s].ends.output.kind != RealEnd::Kind::itself; }

  // The values that are read by something outside the steps.
  std::vector<bool> read_outside() const {
    std::vector<bool> read(plan_.values.size(), false);
    for (const auto* list : {&plan_.outputs, &plan_.exports})
      for (uint32_t v : *list)
        if (v != kNone) read[v] = true;
    for (const Step& step : plan_.steps)
      for (uint32_t v : step.captured) read[v] = true;
    return read;
  }

  // The draft in which these steps compute in f32.
  std::unique_ptr<Draft> draft_of(const std::vector<bool>& real, SchemeChoices* choices) {
    auto draft = std::make_unique<Draft>(environment_);
    auto graph = std::make_unique<Graph>();
    const Graph* top = &plan_.steps.front().node->graph();
    while (top->outer) top = top->outer;
    graph->source = top->source;
    GraphBuilder builder(*graph);
    PlanRequest request = request_;
    request.nodes.clear();
    request.choices = choices;
    request.aliases = request_.aliases ? std::make_shared<ValueAliases>(*request_.aliases) : std::make_shared<ValueAliases>();
    std::vector<bool> wants_bytes = read_outside();
    for (size_t s = 0; s < plan_.steps.size(); ++s)
      for (size_t i = 0; i < plan_.steps[s].inputs.size(); ++i)
        if (const uint32_t v = plan_.steps[s].inputs[i]; v != kNone && !(real[s] && reads_reals(s, i))) wants_bytes[v] = true;
    // Nodes without a step, whose results are known or not needed, would wait for their inputs. Conversions for them alone are not needed.
    std::unordered_map<const Value*, uint32_t> index;
    for (uint32_t v = 0; v < plan_.values.size(); ++v) index[plan_.values[v].value] = v;
    const auto wants = [&](const Value* value) {
      if (!value) return;
      for (auto alias = plan_.aliases->find(value); alias != plan_.aliases->end(); alias = plan_.aliases->find(value))
        value = alias->second;
      if (const auto found = index.find(value); found != index.end()) wants_bytes[found->second] = true;
    };
    for (const Node* node : request_.nodes) {
      if (step_of_.at(node) != kNoStep) continue;
      for (size_t i = 0; i < node->input_count(); ++i) wants(node->input(i));
      for (const auto& [name, attribute] : node->attributes)
        if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute))
          for (const Value* value : captured_values(**subgraph)) wants(value);
    }

    std::vector<Value*> outside(plan_.values.size()), reals(plan_.values.size());
    const Node* done = nullptr;  // the last node of the graph that is in request.nodes
    const auto add_nodes = [&](size_t s) {
      for (const Node* node = done ? done->next() : graph->first(); node; node = node->next()) {
        request.nodes.push_back(node);
        made_for_[node] = s;
        done = node;
      }
    };
    const auto from_outside = [&](const Value* value, uint32_t v) {
      if (!outside[v]) {
        const ValueInfo& info = plan_.values[v].info;
        Value& input =
            graph->add_input(value->name(), info.kind == ValueInfo::Kind::tensor ? ValueType::tensor(info.dtype, info.shape) : value->type);
        (*request.aliases)[&input] = value;
        outside[v] = &input;
      }
      return builder.wrap(outside[v]);
    };
    for (const Node* node : request_.nodes) {
      const size_t s = step_of_.at(node);
      if (s == kNoStep || !real[s]) {
        request.nodes.push_back(node);
        continue;
      }
      const Step& step = plan_.steps[s];
      builder.set_stem(std::string(report_name(*node)));
      Exprs inputs;
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const uint32_t v = step.inputs[i];
        if (v == kNone) {
          inputs.emplace_back();
        } else if (!reads_reals(s, i)) {
          inputs.push_back(from_outside(node->input(i), v));
        } else {
          if (!reals[v]) reals[v] = as_reals(from_outside(node->input(i), v), *scales_[v]).value();
          inputs.push_back(builder.wrap(reals[v]));
        }
      }
      add_nodes(kNoStep);
      const StepInfos infos(step, plan_.values);
      Expr result = real_form(NodeView(*node, infos.inputs, infos.outputs, step.definition), builder, inputs);
      add_nodes(s);
      if (makes_reals(s)) {
        reals[step.outputs[0]] = result.value();
        if (!wants_bytes[step.outputs[0]]) continue;
        result = as_bytes(result, *scales_[step.outputs[0]]);
        add_nodes(kNoStep);
      }
      (*request.aliases)[node->output(0)] = result.value();
    }
    draft->plan.graphs.push_back(std::move(graph));
    add_steps(environment_, request, *draft);
    remove_unneeded_steps(*draft);
    return draft;
  }

  // Decides by the estimates; `all`: the draft in which all steps compute in f32 that can.
  void choose(const Draft& all, std::vector<bool>& real) {
    std::vector<double> seconds(steps_.size(), 0);
    const Device& device = environment_.backends.front()->device();
    for (size_t s = 0; s < all.plan.steps.size(); ++s) {
      const auto found = made_for_.find(all.plan.steps[s].node);
      if (found == made_for_.end() || found->second == kNoStep) continue;
      double bytes = 0;  // of weights: Winograd's are larger still, and push others out of the caches
      for (const uint32_t v : all.plan.steps[s].inputs)
        if (v != kNone && all.plan.values[v].place == PlanValue::Place::constant)
          bytes += static_cast<double>(all.plan.values[v].info.shape.elements()) * sizeof(float);
      seconds[found->second] +=
          (is_depthwise(*all.plan.steps[s].node) ? 1 : kDoubt) * least_seconds(all.candidates[s]) + 2 * device.weight_time(bytes);
    }
    // Nodes: one for each step, and for each value the conversions in both directions, which happen once.
    constexpr uint32_t kBytes = 0, kReals = 1, kFirst = 2;
    const uint32_t count = static_cast<uint32_t>(steps_.size()), values = static_cast<uint32_t>(plan_.values.size());
    Cut cut(kFirst + count + 2 * values);
    const auto node_of = [&](uint32_t s) { return steps_[s].can_be_real && seconds[s] < kInfinity ? kFirst + s : kBytes; };
    const auto read_by = [&](uint32_t v, uint32_t reader) {
      cut.add_edge(kFirst + count + 2 * v, reader, kInfinity);
      cut.add_edge(reader, kFirst + count + 2 * v + 1, kInfinity);
    };
    const auto made_by = [&](uint32_t v, uint32_t maker) {
      const double elements = static_cast<double>(plan_.values[v].info.shape.elements()), moved = device.byte_time(5 * elements) + 3e-7;
      cut.add_edge(maker, kFirst + count + 2 * v, moved + device.flop_time(15 * elements));
      cut.add_edge(kFirst + count + 2 * v + 1, maker, moved + device.flop_time(28 * elements));
    };
    std::vector<bool> made(values, false);
    const std::vector<bool> outside = read_outside();
    for (uint32_t s = 0; s < count; ++s) {
      const uint32_t node = node_of(s);
      if (node != kBytes) cut.add_edge(kBytes, node, seconds[s]), cut.add_edge(node, kReals, least_seconds(bytes_.candidates[s]));
      for (size_t i = 0; i < plan_.steps[s].inputs.size(); ++i)
        if (const uint32_t v = plan_.steps[s].inputs[i]; v != kNone && scales_[v]) read_by(v, reads_reals(s, i) ? node : kBytes);
      if (makes_reals(s)) made_by(plan_.steps[s].outputs[0], node), made[plan_.steps[s].outputs[0]] = true;
    }
    for (uint32_t v = 0; v < values; ++v) {
      if (!scales_[v]) continue;
      if (!made[v]) made_by(v, kBytes);
      if (outside[v]) read_by(v, kBytes);
    }
    const std::vector<uint32_t> distance = cut.solve();
    for (uint32_t s = 0; s < count; ++s) real[s] = distance[node_of(s)] == kNone;
  }

  // Says of each step in f32 how long it was estimated to take in bytes.
  void report(const std::vector<bool>& real, SchemeChoices& choices) {
    for (const auto& [node, s] : made_for_) {
      const auto found = choices.find(node);
      if (found == choices.end() || s == kNoStep || !real[s]) continue;
      for (const Candidate& candidate : bytes_.candidates[s])
        found->second.refusals.push_back({candidate.scheme->name, format("estimated at {} us; with its neighbours, f32 takes less time",
                                                                         std::round(candidate.estimate.seconds * 1e7) / 10)});
    }
    *request_.choices = std::move(choices);
  }

  static constexpr size_t kNoStep = SIZE_MAX;  // of a conversion
  const PlanEnvironment& environment_;
  const PlanRequest& request_;
  const Draft& bytes_;
  const PlanParts& plan_;
  std::vector<Ends> steps_;
  std::vector<std::optional<Bytes>> scales_;                    // of values
  std::unordered_map<const Node*, size_t> step_of_, made_for_;  // the step with a real form of a node of the model, and of one in f32
};

}  // namespace

void take_real_chains(const PlanEnvironment& environment, const PlanRequest& request, std::unique_ptr<Draft>& draft) {
  const Device& device = environment.backends.front()->device();
  if (request.observed || draft->plan.steps.empty() || device.pack == 1 || device.low_memory || device.precision == Precision::high) return;
  for (const auto& backend : environment.backends)
    if (!backend->uses_host_memory()) return;
  auto chosen = RealChains(environment, request, *draft).make();
  if (!chosen) return;
  draft = std::move(chosen);
  draft->plan.has_real_chains = true;
}

}  // namespace minnow
#endif

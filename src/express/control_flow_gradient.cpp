// SPDX-License-Identifier: Apache-2.0
// Gradients through If, Loop and Scan: backpropagation through time.
//
// The body becomes an expression again, and that expression is differentiated like any other. Values of the body that its gradient reads
// become further outputs of the forward node. The gradient of an If is an If with the same condition. The gradient of a Loop or a Scan is a
// Scan from the last iteration to the first: it carries the gradients of the carried values, and the sums of those of captured values.
// Werbos 1990, "Backpropagation through time: what it does and how to do it".
#include <algorithm>
#include <unordered_set>

#include "express/backward.h"
#include "express/graph.h"
#include "express/recording.h"

namespace minnow::express {

#if MINNOW_GRADIENTS

namespace {

using Wanted = std::vector<bool>;

/// The first place of each value in a list.
class Places {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  Places() = default;
  explicit Places(std::span<const LazyValue> list) {
    for (size_t i = 0; i < list.size(); ++i) places_.emplace(list[i], i);
  }
  /// False if the value has a place already.
  bool add(const LazyValue& value, size_t place) { return places_.emplace(value, place).second; }
  size_t find(const LazyValue& value) const {
    const auto found = places_.find(value);
    return found == places_.end() ? kNone : found->second;
  }
  bool has(const LazyValue& value) const { return places_.contains(value); }

 private:
  std::unordered_map<LazyValue, size_t, HashOfValue> places_;
};

/// A subgraph as an expression.
struct Body {
  std::vector<LazyValue> formals;  // of the inputs that the operator passes, then of captured values
  RecordedFunction forward;
  std::unordered_set<const LazyNode*> inside;

  /// The value that a result is: outputs of a graph may be copies.
  static const LazyValue& source(const LazyValue& result) {
    const LazyNode& node = *result.node;
    return node.op && node.op->name == "Identity" && node.inputs.size() == 1 ? node.inputs[0] : result;
  }
  bool is_inside(const LazyValue& value) const { return inside.contains(value.node.get()); }
};

Body open(const Closure& closure, const std::shared_ptr<const OperatorSet>& operators, std::vector<LazyValue> formals) {
  Body body;
  body.formals = std::move(formals);
  body.forward = record([&] {
    Vars results;
    const std::vector<LazyValue> made = instantiate(*closure.graph, operators, body.formals);
    resolve_sequences(made);
    for (const LazyValue& result : made) results.push_back(var_of(result));
    return results;
  });
  body.inside.insert(body.forward.inside.begin(), body.forward.inside.end());
  return body;
}

LazyValue formal_like(const LazyValue& value) { return formal({}, output_of(value).dtype, known_shape(value)); }

LazyValue zeros_like(const LazyValue& value) {
  const Shape* shape = known_shape(value);
  const LazyValue sizes = shape ? ints_value(Ints(shape->begin(), shape->end())) : call("Shape", {value});
  return call("ConstantOfShape", {sizes}, {{"value", Tensor(output_of(value).dtype, Shape{1})}});
}

bool is_float(const LazyValue& value) {
  return output_of(value).kind == ValueInfo::Kind::tensor && minnow::is_float(output_of(value).dtype);
}

/// Moves into the body what its gradient reads of the shapes of its values: a shape is saved rather than the value.
void take_shapes(Body& body, RecordedFunction& backward) {
  std::erase_if(backward.inside, [&](const LazyNode* node) {
    if (node->op->name != "Shape" || node->inputs[0].node->id >= backward.first) return false;
    body.forward.inside.push_back(node);
    body.inside.insert(node);
    return true;
  });
}

/// Values of the body, and those made before it, that its gradient reads, without `formals`; each once.
std::vector<LazyValue> values_before(const Body& body, const RecordedFunction& backward, std::span<const LazyValue> formals) {
  std::vector<LazyValue> found;
  Places known(formals);
  const auto look_at = [&](const LazyValue& value) {
    if (value && (value.node->id < backward.first || body.is_inside(value)) && known.add(value, 0)) found.push_back(value);
  };
  for (const LazyNode* node : backward.inside)
    for (const LazyValue& input : node->inputs) look_at(input);
  for (const LazyValue& result : backward.results) look_at(result);
  return found;
}

/// Declares the shapes that outputs of a subgraph are known to have: results of no iterations have them too.
void declare_shapes(Graph& graph, std::span<const LazyValue> results) {
  for (size_t i = 0; i < results.size(); ++i)
    if (const Shape* shape = known_shape(results[i])) graph.outputs()[i]->type = ValueType::tensor(output_of(results[i]).dtype, *shape);
}

Recorded subgraph(const RecordedFunction& recording, std::span<const LazyValue> formals) {
  Recorded made = body_of(recording, formals, {}, 0);
  declare_shapes(*made.graph, recording.results);
  return made;
}

/// Replaces the subgraphs of a node by those of `bodies`, which begin with the same outputs. Values of the old outputs are computed again.
/// `iterations`: how many of each further value are stacked; -1: not known, 0: they are not stacked.
void extend(LazyNode& node, std::span<const Body> bodies, std::span<const std::vector<LazyValue>> further, int64_t iterations) {
  std::vector<LazyValue> inputs(node.inputs.begin(), node.inputs.begin() + static_cast<ptrdiff_t>(node.formal_inputs));
  size_t next = node.formal_inputs;
  for (size_t b = 0; b < bodies.size(); ++b) {
    RecordedFunction forward = bodies[b].forward;
    forward.results.insert(forward.results.end(), further[b].begin(), further[b].end());
    Recorded made = subgraph(forward, bodies[b].formals);
    Closure& closure = node.closures[b];
    inputs.insert(inputs.end(), node.inputs.begin() + static_cast<ptrdiff_t>(next),
                  node.inputs.begin() + static_cast<ptrdiff_t>(next + closure.captures));
    next += closure.captures;
    inputs.insert(inputs.end(), made.captured.begin(), made.captured.end());
    closure.captures += made.captured.size();
    closure.graph = std::move(made.graph);
  }
  node.inputs = std::move(inputs);
  for (const LazyValue& value : further[0]) {
    Output output;
    output.kind = ValueInfo::Kind::tensor;
    output.dtype = output_of(value).dtype;
    if (const Shape* shape = known_shape(value); shape && iterations >= 0 && shape->rank() < kMaxRank) {
      output.shape_known = true;
      output.shape = *shape;
      if (iterations > 0) output.shape.insert(0, iterations);
    }
    node.outputs.push_back(std::move(output));
  }
  for (Output& output : node.outputs) output.tensor = Tensor(), output.datum = nullptr;
  node.open = nullptr;
  node.pending = std::max(node.pending, 1u);
  node.set_pending();
}

void check_tensor(const LazyNode& node, const LazyValue& value) {
  if (output_of(value).kind != ValueInfo::Kind::tensor)
    throw Unsupported("node \"{}\" ({}): the gradient needs a value of its body that is no tensor", node.name, node.op->name);
}

// If.

/// A branch of an If, and the way back through it.
struct Branch {
  std::vector<LazyValue> seeds, gradients, needed;
  RecordedFunction backward;

  /// Records the gradients again, with zeros for parameters that only the other branch uses.
  void record_results(const std::vector<LazyValue>& parameters, const Wanted& flows) {
    const uint64_t first = backward.first;
    backward = record(
        [&] {
          Vars results;
          for (size_t p = 0; p < parameters.size(); ++p) {
            if (!flows[p]) continue;
            const LazyValue& gradient = gradients[p];
            results.push_back(var_of(gradient ? gradient : zeros_like(parameters[p])));
          }
          return results;
        },
        first);
  }
  /// Finds values of the body that the way back reads.
  void find_needed(const LazyNode& node, const Body& body, const std::vector<LazyValue>& formals) {
    std::vector<LazyValue> known = seeds;
    known.insert(known.end(), formals.begin(), formals.end());
    for (const LazyValue& value : values_before(body, backward, known)) {
      if (!body.is_inside(value)) continue;  // a constant
      check_tensor(node, value);
      needed.push_back(value);
    }
  }
};

/// Values in place of those that the other branch gives: of their dtypes and, if these are known, of their shapes, because an iteration
/// around may stack them.
std::vector<LazyValue> stand_ins(const std::vector<LazyValue>& needed, Body& body) {
  const RecordedFunction recording = record(
      [&] {
        Vars results;
        for (const LazyValue& value : needed)
          results.push_back(var_of(known_shape(value) ? zeros_like(value) : constant_value(Tensor(output_of(value).dtype, Shape{0}))));
        return results;
      },
      0);
  body.forward.inside.insert(body.forward.inside.end(), recording.inside.begin(), recording.inside.end());
  return recording.results;
}

Exprs if_gradients(RuleGraph& rules, const std::shared_ptr<LazyNode>& shared, const Exprs& output_gradients, const Wanted& wanted) {
  LazyNode& node = *shared;
  // Both branches may capture one value; its gradient comes once.
  std::vector<LazyValue> captured;
  std::vector<size_t> inputs;  // where each is among the node's inputs first
  Places places;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (places.add(node.inputs[i], captured.size())) captured.push_back(node.inputs[i]), inputs.push_back(i);
  std::vector<LazyValue> formals;  // of `captured`
  for (const LazyValue& value : captured) formals.push_back(formal_like(value));

  std::vector<Body> bodies;
  Branch branches[2];
  size_t next = 1;
  for (const Closure& closure : node.closures) {
    std::vector<LazyValue> own;
    for (size_t i = 0; i < closure.captures; ++i) own.push_back(formals[places.find(node.inputs[next + i])]);
    next += closure.captures;
    bodies.push_back(open(closure, node.operators, std::move(own)));
  }
  std::vector<LazyValue> parameters;
  std::vector<size_t> parameter_inputs;
  for (size_t i = 0; i < captured.size(); ++i)
    if (wanted[inputs[i]]) parameters.push_back(formals[i]), parameter_inputs.push_back(inputs[i]);
  for (size_t b = 0; b < 2; ++b) {
    Branch& branch = branches[b];
    const std::vector<LazyValue>& results = bodies[b].forward.results;
    std::vector<LazyValue> outputs;
    for (size_t i = 0; i < results.size() && i < output_gradients.size(); ++i)
      if (output_gradients[i]) outputs.push_back(results[i]), branch.seeds.push_back(formal_like(results[i]));
    branch.backward = record([&] {
      branch.gradients = differentiate(outputs, branch.seeds, parameters);
      return Vars();
    });
  }
  Wanted flows(parameters.size());
  for (size_t p = 0; p < parameters.size(); ++p) flows[p] = branches[0].gradients[p] || branches[1].gradients[p];
  std::vector<std::vector<LazyValue>> further(2);
  const size_t outputs_before = node.outputs.size();
  std::vector<size_t> first_saved;
  for (size_t b = 0; b < 2; ++b) {
    Branch& branch = branches[b];
    branch.record_results(parameters, flows);
    take_shapes(bodies[b], branch.backward);
    branch.find_needed(node, bodies[b], formals);
    first_saved.push_back(outputs_before + further[b].size());
    further[b].insert(further[b].end(), branch.needed.begin(), branch.needed.end());
    const std::vector<LazyValue> others = stand_ins(branch.needed, bodies[1 - b]);
    further[1 - b].insert(further[1 - b].end(), others.begin(), others.end());
  }
  // In `further`, the values of the first branch come first, then those of the second.
  for (Body& body : bodies) body.forward.results.resize(outputs_before);
  const bool known =
      std::all_of(further[0].begin(), further[0].end(), known_shape) && std::all_of(further[1].begin(), further[1].end(), known_shape);
  if (!further[0].empty()) extend(node, bodies, further, known ? 0 : -1);

  LazyNode described;
  described.op = node.op;
  described.name = node.name;
  described.formal_inputs = 1;
  Exprs values{rules.wrap(node.inputs[0])};
  for (size_t b = 0; b < 2; ++b) {
    Branch& branch = branches[b];
    std::vector<LazyValue> own = branch.needed;
    own.insert(own.end(), branch.seeds.begin(), branch.seeds.end());
    own.insert(own.end(), formals.begin(), formals.end());
    const Recorded made = body_of(branch.backward, own, {}, 0);
    for (size_t i = 0; i < branch.needed.size(); ++i)
      values.push_back(rules.wrap(LazyValue{shared, static_cast<uint32_t>(first_saved[b] + i)}));
    for (const Expr& gradient : output_gradients)
      if (gradient) values.push_back(gradient);
    for (const LazyValue& value : captured) values.push_back(rules.wrap(value));
    for (const LazyValue& value : made.captured) values.push_back(rules.wrap(value));
    described.closures.push_back({node.closures[b].attribute, made.graph, own.size() + made.captured.size()});
  }
  std::vector<DType> dtypes;
  for (size_t p = 0; p < parameters.size(); ++p)
    if (flows[p]) dtypes.push_back(output_of(parameters[p]).dtype);
  Exprs gradients(node.inputs.size());
  if (dtypes.empty()) return gradients;
  const Exprs made = rules.call(described, values, dtypes);
  for (size_t p = 0, k = 0; p < parameters.size(); ++p)
    if (flows[p]) gradients[parameter_inputs[p]] = made[k++];
  return gradients;
}

// Loop and Scan.

class Iteration {
 public:
  Iteration(RuleGraph& rules, const std::shared_ptr<LazyNode>& node)
      : rules_(rules), shared_(node), node_(*node), is_loop_(node->op->name == "Loop") {
    lead_ = is_loop_ ? 2 : 0;         // the trip count and the condition; the iteration and the condition
    result_lead_ = is_loop_ ? 1 : 0;  // the condition
    const int64_t* scanned = node_.attributes.get<int64_t>("num_scan_inputs");
    scanned_ = scanned ? static_cast<size_t>(*scanned) : 0;
    states_ = node_.formal_inputs - lead_ - scanned_;
  }

  Exprs gradients(const Exprs& output_gradients, const Wanted& wanted) {
    open_body();
    find_reached(wanted);
    differentiate_body(output_gradients, wanted);
    return add_scan(output_gradients);
  }

 private:
  size_t first_capture() const { return node_.formal_inputs; }
  const LazyValue& state(size_t i) const { return body_.formals[lead_ + i]; }
  const LazyValue& result(size_t i) const { return body_.forward.results[result_lead_ + i]; }
  int64_t listed(std::string_view attribute, size_t i) const {
    const Ints* list = node_.attributes.get<Ints>(attribute);
    return list ? (*list)[i] : 0;
  }

  /// The formals have the shapes of the initial values, except where an iteration changes them.
  void open_body() {
    const Shape scalar;
    varies_.assign(states_, false);
    for (;;) {
      std::vector<LazyValue> formals;
      for (size_t i = 0; i < lead_; ++i) formals.push_back(formal({}, i == 0 ? DType::i64 : DType::boolean, &scalar));
      for (size_t i = lead_; i < node_.inputs.size(); ++i) {
        const LazyValue& input = node_.inputs[i];
        if (!input) throw Unsupported("node \"{}\" ({}): the gradient of a call with an absent input", node_.name, node_.op->name);
        const Shape* shape = known_shape(input);
        if (i < first_capture()) check_tensor(node_, input);
        if (i < lead_ + states_ && varies_[i - lead_]) shape = nullptr;
        Shape element;
        if (shape && i >= lead_ + states_ && i < first_capture()) {
          element = *shape;
          const int64_t axis = listed("scan_input_axes", i - lead_ - states_);
          const size_t along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape->rank()) : axis);
          length_ = element[along];
          element.erase(along);
          shape = &element;
        }
        if (output_of(input).kind == ValueInfo::Kind::tensor)
          formals.push_back(formal({}, output_of(input).dtype, shape));
        else
          formals.push_back(input);
      }
      body_ = open(node_.closures[0], node_.operators, std::move(formals));
      bool all_keep = true;
      for (size_t i = 0; i < states_; ++i)
        if (!keeps_shapes({&state(i), 1}, {&result(i), 1})) varies_[i] = true, all_keep = false;
      if (all_keep) return;
    }
  }

  /// Which carried values depend on a value whose gradient is wanted, through any number of iterations.
  void find_reached(const Wanted& wanted) {
    reached_.assign(states_, false);
    for (size_t i = 0; i < states_; ++i) reached_[i] = wanted[lead_ + i];
    for (bool changes = true; changes;) {
      changes = false;
      std::unordered_set<const LazyNode*> reaching;
      for (size_t i = lead_; i < body_.formals.size(); ++i)
        if (i < lead_ + states_ ? reached_[i - lead_] : wanted[i]) reaching.insert(body_.formals[i].node.get());
      for (const LazyNode* node : body_.forward.inside)
        for (const LazyValue& input : node->inputs)
          if (input && reaching.contains(input.node.get())) reaching.insert(node);
      for (size_t i = 0; i < states_; ++i)
        if (!reached_[i] && is_float(result(i)) && reaching.contains(result(i).node.get())) reached_[i] = changes = true;
    }
  }

  void differentiate_body(const Exprs& output_gradients, const Wanted& wanted) {
    std::vector<LazyValue> outputs, seeds, parameters;
    for (size_t i = 0; i < states_; ++i) {
      carried_.push_back(reached_[i] ? formal_like(state(i)) : LazyValue());
      if (reached_[i]) outputs.push_back(result(i)), seeds.push_back(carried_[i]), parameters.push_back(state(i));
    }
    for (size_t i = states_; i < output_gradients.size(); ++i) {
      stacked_.push_back(output_gradients[i] ? formal_like(result(i)) : LazyValue());
      if (stacked_.back()) outputs.push_back(result(i)), seeds.push_back(stacked_.back());
    }
    for (size_t i = lead_ + states_; i < body_.formals.size(); ++i)
      if (wanted[i]) parameters.push_back(body_.formals[i]);
    backward_ = record([&] {
      const std::vector<LazyValue> found = differentiate(outputs, seeds, parameters);
      size_t next = 0;
      Vars results;
      for (size_t i = 0; i < states_; ++i) {
        if (!reached_[i]) continue;
        const LazyValue& gradient = found[next++];
        results.push_back(var_of(gradient ? gradient : zeros_like(state(i))));
      }
      const size_t elements = next + static_cast<size_t>(std::count(wanted.begin() + static_cast<ptrdiff_t>(lead_ + states_),
                                                                    wanted.begin() + static_cast<ptrdiff_t>(first_capture()), true));
      size_t captured = elements;
      for (size_t i = first_capture(); i < body_.formals.size(); ++i) {
        if (!wanted[i]) continue;
        const LazyValue& gradient = found[captured++];
        if (!gradient) continue;
        sums_.emplace_back(i, formal_like(body_.formals[i]));
        results.push_back(var_of(call("Add", {sums_.back().second, gradient})));
      }
      for (size_t i = lead_ + states_; i < first_capture(); ++i) {
        if (!wanted[i]) continue;
        const LazyValue& gradient = found[next++];
        if (gradient) elements_.push_back(i), results.push_back(var_of(gradient));
      }
      return results;
    });
  }

  /// A scanned input of the Scan that goes back.
  struct Scanned {
    LazyValue formal;
    Expr value;
    int64_t axis, direction;
  };

  Exprs add_scan(const Exprs& output_gradients) {
    std::vector<LazyValue> known;
    std::vector<Scanned> scanned;
    LazyNode described;
    for (const LazyValue& value : carried_)
      if (value) known.push_back(value);
    for (const auto& [input, sum] : sums_) known.push_back(sum);
    const size_t carried = known.size();
    for (size_t i = 0; i < stacked_.size(); ++i) {
      if (!stacked_[i]) continue;
      scanned.push_back(
          {stacked_[i], output_gradients[states_ + i], listed("scan_output_axes", i), 1 - listed("scan_output_directions", i)});
      known.push_back(stacked_[i]);
    }
    take_shapes(body_, backward_);
    std::vector<LazyValue> captures, saved;
    std::vector<std::pair<size_t, size_t>> to_find;  // in `scanned`, the output of the node
    const size_t outputs_before = node_.outputs.size();
    Places outputs;
    for (size_t k = states_; k < outputs_before; ++k)
      if (node_.outputs[k].kind != ValueInfo::Kind::absent && listed("scan_output_axes", k - states_) == 0 &&
          listed("scan_output_directions", k - states_) == 0)
        outputs.add(Body::source(result(k)), k), outputs.add(result(k), k);
    const auto save = [&](const LazyValue& value) {
      size_t output = outputs.find(value);
      if (output == Places::kNone) {
        check_tensor(node_, value);
        output = outputs_before + saved.size();
        saved.push_back(value);
      }
      to_find.emplace_back(scanned.size(), output);
      scanned.push_back({value, Expr(), 0, 1});
    };
    const Places formals(body_.formals);
    for (const LazyValue& value : values_before(body_, backward_, known)) {
      const size_t place = formals.find(value);
      if (place != Places::kNone && place >= first_capture()) {
        captures.push_back(value);
      } else if (place != Places::kNone && place >= lead_ + states_) {
        const size_t i = place - lead_ - states_;
        scanned.push_back({value, rules_.wrap(node_.inputs[place]), listed("scan_input_axes", i), 1 - listed("scan_input_directions", i)});
      } else if (place != Places::kNone || body_.is_inside(value)) {
        save(value);
      }  // else a constant
    }
    if (scanned.empty() && is_loop_) save(body_.formals[0]);
    if (scanned.empty()) {
      const size_t i = node_.formal_inputs - 1;
      scanned.push_back({body_.formals[i], rules_.wrap(node_.inputs[i]), listed("scan_input_axes", scanned_ - 1), 1});
    }
    if (!saved.empty()) {
      for (const char* attribute : {"scan_output_axes", "scan_output_directions"})
        if (const Ints* list = node_.attributes.get<Ints>(attribute)) {
          Ints longer = *list;
          longer.resize(outputs_before - states_ + saved.size());
          node_.attributes.set(attribute, longer);
        }
      // A subgraph may have more outputs than its node: those further ones come last.
      body_.forward.results.resize(result_lead_ + outputs_before);
      extend(node_, {&body_, 1}, {&saved, 1}, length_ > 0 ? length_ : -1);
    }
    for (const auto& [i, output] : to_find) scanned[i].value = rules_.wrap(LazyValue{shared_, static_cast<uint32_t>(output)});

    known.resize(carried);
    for (const Scanned& each : scanned) known.push_back(each.formal);
    described.formal_inputs = known.size();
    known.insert(known.end(), captures.begin(), captures.end());
    const Recorded made = subgraph(backward_, known);
    described.op = &find_operator("Scan");
    described.name = node_.name;
    described.closures.push_back({"body", made.graph, captures.size() + made.captured.size()});

    Exprs values;
    for (size_t i = 0; i < states_; ++i) {
      if (!carried_[i]) continue;
      const bool arrives = i < output_gradients.size() && output_gradients[i];
      const bool varies = varies_[i] && i < outputs_before && node_.outputs[i].kind != ValueInfo::Kind::absent;
      const LazyValue like = varies ? LazyValue{shared_, static_cast<uint32_t>(i)} : node_.inputs[lead_ + i];
      values.push_back(arrives ? output_gradients[i] : rules_.zeros_like(like));
    }
    for (const auto& [input, sum] : sums_) values.push_back(rules_.zeros_like(node_.inputs[input]));
    Ints axes, directions, element_axes, element_directions;
    for (const Scanned& each : scanned) {
      values.push_back(each.value);
      axes.push_back(each.axis);
      directions.push_back(each.direction);
    }
    for (const LazyValue& value : captures) values.push_back(rules_.wrap(node_.inputs[formals.find(value)]));
    for (const LazyValue& value : made.captured) values.push_back(rules_.wrap(value));
    for (const size_t input : elements_) {
      const size_t i = input - lead_ - states_;
      element_axes.push_back(listed("scan_input_axes", i));
      element_directions.push_back(1 - listed("scan_input_directions", i));
    }
    described.attributes = {{"num_scan_inputs", static_cast<int64_t>(scanned.size())},
                            {"scan_input_axes", axes},
                            {"scan_input_directions", directions},
                            {"scan_output_axes", element_axes},
                            {"scan_output_directions", element_directions}};
    std::vector<DType> dtypes;
    for (const LazyValue& result : backward_.results) dtypes.push_back(output_of(result).dtype);
    Exprs gradients(node_.inputs.size());
    if (dtypes.empty()) return gradients;
    const Exprs found = rules_.call(described, values, dtypes);
    size_t next = 0;
    for (size_t i = 0; i < states_; ++i)
      if (carried_[i]) gradients[lead_ + i] = found[next++];
    for (const auto& [input, sum] : sums_) gradients[input] = found[next++];
    for (const size_t input : elements_) gradients[input] = found[next++];
    return gradients;
  }

  RuleGraph& rules_;
  const std::shared_ptr<LazyNode>& shared_;
  LazyNode& node_;
  const bool is_loop_;
  size_t lead_, result_lead_, states_, scanned_;
  int64_t length_ = -1;  // of the scanned inputs, if it is known
  Body body_;
  Wanted reached_, varies_;                         // carried values: those on the way to a gradient, and those whose shapes change
  std::vector<LazyValue> carried_, stacked_;        // formals of gradients; absent where there is none
  std::vector<std::pair<size_t, LazyValue>> sums_;  // a captured input, and the formal of the sum of its gradients
  std::vector<size_t> elements_;                    // scanned inputs that have a gradient
  RecordedFunction backward_;
};

}  // namespace

Exprs control_flow_gradients(RuleGraph& rules, const std::shared_ptr<LazyNode>& node, const Exprs& output_gradients,
                             const std::vector<bool>& wanted) {
  if (node->op->name == "If") return if_gradients(rules, node, output_gradients, wanted);
  if (node->op->name == "Loop" || node->op->name == "Scan") return Iteration(rules, node).gradients(output_gradients, wanted);
  throw Unsupported("node \"{}\" ({}): {} has no gradient", node->name, node->op->name, node->op->name);
}

#else

Exprs control_flow_gradients(RuleGraph&, const std::shared_ptr<LazyNode>& node, const Exprs&, const std::vector<bool>&) {
  throw Unsupported("{} has no gradient in this build (MINNOW_GRADIENTS)", node->op->name);
}

#endif

}  // namespace minnow::express

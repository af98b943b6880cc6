// SPDX-License-Identifier: Apache-2.0
// Expressions as graphs and back: models, copies, replaced parts.
#include "express/graph.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/pattern.h"
#include "express/evaluate.h"
#include "express/lower.h"
#include "express/state.h"
#include "graph/model_file.h"
#include "ops/infer.h"
#include "runtime/model.h"

namespace minnow {

namespace express {
namespace {

// The model property that lists the names of the constants that are parameters, one per line.
constexpr const char* kTrainables = "minnow.trainables";

// Makes every use of `from` inside a subgraph (and those within) a use of `to`; outputs go through an Identity.
void capture(Graph& graph, Value& from, Value& to) {
  for (Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i) == &from) node.set_input(i, &to);
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) capture(**subgraph, from, to);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == &from) graph.set_output(i, *graph.add_node("Identity", {&to}).output(0));
}

// The type of a placeholder or a state.
ValueType declared_type(const LazyNode& node) {
  ValueType type = type_of(node.outputs[0]);
  if (node.any_rank) return type;
  type.dims.emplace();
  for (const int64_t dim : node.dims) type.dims->push_back({dim, {}});
  return type;
}

/// The nodes of expressions, inputs before users. Successive steps on the same states are in the order in which they were made, because
/// each reads the states that the one before wrote; `place` is 1 for all of these steps except the last.
std::vector<LazyValue> in_order(std::span<const LazyValue> roots) {
  std::vector<LazyValue> nodes, steps;
  walk(roots, [&](const std::shared_ptr<LazyNode>& node) {
    node->place = node->uses = 0;
    nodes.push_back({node, 0});
    if (node->kind == LazyNode::Kind::step) steps.push_back(nodes.back());
  });
  steps = earlier_steps(std::move(steps));
  if (steps.empty()) return nodes;
  sort_by_age(nodes);
  for (const LazyValue& step : steps) {
    step.node->place = 1;
    for (const LazyValue& state : states_of(*step.node)) state.node->uses = 1;
  }
  // Values computed from a state change with each step. Evaluation computes them again, but in a model each has one value. So `uses` marks
  // the values that depend on these states, and the states themselves; `place` counts the earlier steps made before each value.
  uint32_t done = 0;
  const auto check = [&](const LazyValue& value) {
    if (value.node->uses && value.node->kind != LazyNode::Kind::state && value.node->place != done)
      throw Unsupported(
          "what is made of a state is used before and after a call that changes the state, which a model cannot say; make it anew after "
          "the "
          "call, or use a clone() of the module");
    return value.node->uses;
  };
  for (const LazyValue& value : nodes) {
    LazyNode& node = *value.node;
    const bool is_step = node.kind == LazyNode::Kind::step;
    uint32_t uses = node.uses;
    for (const LazyValue& input : is_step ? std::span(node.inputs).first(node.outputs.size() + state_count(node)) : std::span(node.inputs))
      if (input) uses |= check(input);
    if (is_step)
      done += node.place;
    else
      node.uses = uses, node.place = done;
  }
  for (const LazyValue& root : roots) check(root);
  return nodes;
}

/// Makes a call compute as in training, where its operator tells the two apart. Returns the result if the caller computes it.
Var set_training(const Node& node, CallRequest& request, const expr::ApplyOptions& options) {
  if (node.op() == "BatchNormalization") {
    const auto trained = [&](size_t i) { return request.inputs[i] && request.inputs[i].node->trainable; };
    if (!trained(1) && !trained(2)) return {};
    request.attributes.set("training_mode", int64_t{1});
    request.wanted.assign(3, true);
  } else if (node.op() == "Dropout") {
    if (options.dropout && (node.output_count() < 2 || !node.output(1)))
      return options.dropout(var_of(request.inputs[0]), node.input(1) ? var_of(request.inputs[1]) : Var());
    request.wanted.assign(2, true);  // its gradient reads the mask
    request.inputs.resize(3);
    Tensor yes(DType::boolean, Shape{});
    *yes.writable().data<uint8_t>() = 1;
    request.inputs[2] = constant_value(std::move(yes));
    request.formal_inputs = 3;
  }
  return {};
}

bool is_constant(const LazyNode& node) { return node.kind == LazyNode::Kind::constant || (node.is_computed() && !node.keeps_inputs); }

}  // namespace

LazyValue placeholder_of(const ValueType& type, std::string name) {
  if (type.kind != ValueType::Kind::tensor)
    throw Unsupported("input \"{}\" is {}; only tensors can be placeholders", name, to_string(type));
  std::vector<int64_t> dims;
  if (type.dims)
    for (const Dim& dim : *type.dims) dims.push_back(dim.size);
  return value_of(type.dims ? expr::placeholder(std::move(name), type.dtype, dims) : expr::placeholder(std::move(name), type.dtype));
}

std::vector<LazyValue> instantiate(const Graph& given, const std::shared_ptr<const OperatorSet>& operators,
                                   std::span<const LazyValue> inputs, const std::vector<LazyValue>* states,
                                   std::vector<std::pair<std::string, LazyValue>>* named, const expr::ApplyOptions* options,
                                   const Seen& seen) {
  const std::unique_ptr<Graph> graph = given.clone();  // its subgraphs are taken apart
  std::unordered_map<const Value*, LazyValue> values;
  const auto note = [&](const Value& value, LazyValue made) {
    output_of(made).name = value.name();
    if (named) named->emplace_back(value.name(), made);
    values[&value] = std::move(made);
  };
  const auto shown = [&](const Value& value, LazyValue made) {
    if (!seen) return made;
    const Var other = seen(value.name(), var_of(made));
    return other.has_value() ? required_value(other) : made;
  };
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    values[graph->inputs()[i].get()] = shown(*graph->inputs()[i], inputs[i]);
    if (named) named->emplace_back(graph->inputs()[i]->name(), inputs[i]);
  }
  const std::vector<LazyValue> own_states = states ? *states : states_of(given);
  for (size_t i = 0; i < own_states.size(); ++i) {
    values[graph->states()[i].current] = own_states[i];
    if (named) named->emplace_back(graph->states()[i].name, own_states[i]);
  }
  std::unordered_set<std::string_view> trainables;
  const auto found = graph->metadata.properties.find(kTrainables);
  if (found != graph->metadata.properties.end())
    for (std::string_view rest = found->second; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      trainables.insert(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  for (const auto& constant : graph->constants()) {
    if (options)
      if (const auto given = options->constants.find(constant->name()); given != options->constants.end()) {
        values[constant.get()] = required_value(given->second);
        continue;
      }
    LazyValue made = constant_value(*constant->constant());
    made.node->trainable = made.node->keeps_inputs = trainables.contains(constant->name());
    note(*constant, std::move(made));
  }
  for (Node& node : graph->nodes()) {
    CallRequest request;
    request.operators = operators;
    request.op = &find_operator(node.op(), request.operators);
    for (size_t i = 0; i < node.input_count(); ++i) request.inputs.push_back(node.input(i) ? values.at(node.input(i)) : LazyValue());
    request.formal_inputs = request.inputs.size();
    for (const auto& [name, attribute] : node.attributes) {
      const Subgraph* subgraph = std::get_if<Subgraph>(&attribute);
      if (!subgraph) {
        request.attributes.set(name, attribute);
        continue;
      }
      const std::vector<Value*> captured = captured_values(**subgraph);
      for (Value* value : captured) {
        Value& input = (*subgraph)->add_input(value->name(), value->type);
        capture(**subgraph, *value, input);
        request.inputs.push_back(values.at(value));
      }
      (*subgraph)->outer = nullptr;
      request.closures.push_back({name, *subgraph, captured.size()});
    }
    for (size_t i = 0; i < node.output_count(); ++i) request.wanted.push_back(node.output(i) != nullptr);
    request.name = node.name();
    if (options && options->training)
      if (const Var result = set_training(node, request, *options); result.has_value()) {
        values[node.output(0)] = shown(*node.output(0), required_value(result));
        continue;
      }
    const std::shared_ptr<LazyNode> made = call(std::move(request));
    if (options && options->next && node.op() == "BatchNormalization" && made->outputs.size() == 3)
      for (uint32_t i : {1, 2})
        if (node.input(i + 2)) options->next->insert_or_assign(node.input(i + 2)->name(), var_of({made, i}));
    for (uint32_t i = 0; i < node.output_count(); ++i) {
      if (!node.output(i)) continue;
      note(*node.output(i), {made, i});
      values[node.output(i)] = shown(*node.output(i), values[node.output(i)]);
    }
  }
  std::vector<LazyValue> outputs;
  for (const Value* output : graph->outputs()) outputs.push_back(values.at(output));
  if (own_states.empty()) return outputs;
  std::vector<LazyValue> next;
  for (const State& state : graph->states()) next.push_back(values.at(state.next));
  const std::shared_ptr<LazyNode> step = make_step(outputs, next, own_states);
  for (uint32_t i = 0; i < outputs.size(); ++i) outputs[i] = {step, i};
  return outputs;
}

}  // namespace express

using namespace express;

namespace expr {
namespace {

std::vector<LazyValue> values_of(const Vars& vars) {
  std::vector<LazyValue> values;
  for (const Var& x : vars) values.push_back(required_value(x));
  return values;
}

// Makes expressions again with substitutes, which are found by node and output, for some of their parts.
using Substitutes = std::unordered_map<const LazyNode*, std::vector<std::pair<uint32_t, LazyValue>>>;
Vars rebuilt(const std::vector<LazyValue>& roots, Substitutes substitutes) {
  const auto now = [&](const LazyValue& value) -> const LazyValue& {
    if (const auto found = substitutes.find(value.node.get()); found != substitutes.end())
      for (const auto& [output, substitute] : found->second)
        if (output == value.output) return substitute;
    return value;
  };
  walk(roots, [&](const std::shared_ptr<LazyNode>& node) {
    if (std::none_of(node->inputs.begin(), node->inputs.end(), [&](const LazyValue& input) { return input && &now(input) != &input; }))
      return;
    if (node->kind == LazyNode::Kind::step) {
      std::vector<LazyValue> parts[3];
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const size_t results = node->outputs.size(), part = i < results ? 0 : i < results + state_count(*node) ? 1 : 2;
        parts[part].push_back(now(node->inputs[i]));
      }
      for (size_t i = parts[2].size(); i-- > 0;)  // drop next values of states that were substituted
        if (parts[2][i].node->kind != LazyNode::Kind::state) parts[1].erase(parts[1].begin() + i), parts[2].erase(parts[2].begin() + i);
      const std::shared_ptr<LazyNode> made = make_step(parts[0], parts[1], parts[2]);
      for (uint32_t i = 0; i < node->outputs.size(); ++i) {
        made->outputs[i].name = node->outputs[i].name;
        substitutes[node.get()].emplace_back(i, LazyValue{made, i});
      }
      return;
    }
    CallRequest request;
    request.op = node->op;
    request.operators = node->operators;
    request.attributes = node->attributes;
    request.closures = node->closures;
    for (const LazyValue& input : node->inputs) request.inputs.push_back(input ? now(input) : LazyValue());
    request.formal_inputs = node->formal_inputs;
    for (const Output& output : node->outputs) request.wanted.push_back(output.kind != ValueInfo::Kind::absent);
    request.name = node->name;
    const std::shared_ptr<LazyNode> made = call(std::move(request));
    auto& list = substitutes[node.get()];
    for (uint32_t i = 0; i < node->outputs.size(); ++i) {
      made->outputs[i].name = node->outputs[i].name;
      if (std::none_of(list.begin(), list.end(), [&](const auto& entry) { return entry.first == i; }))
        list.emplace_back(i, LazyValue{made, i});
    }
  });
  Vars results;
  for (const LazyValue& root : roots) results.push_back(var_of(now(root)));
  return results;
}

}  // namespace

Vars clone(const Vars& outputs) try {
  const std::vector<LazyValue> roots = values_of(outputs);
  Substitutes substitutes;
  walk(roots, [&](const std::shared_ptr<LazyNode>& node) {
    if (is_given(*node) || node->trainable) substitutes[node.get()].emplace_back(0, value_of(var_of({node, 0}).clone()));
  });
  return rebuilt(roots, std::move(substitutes));
} catch (...) {
  throw_as_error();
}

Vars replace(const Vars& outputs, const std::vector<std::pair<Var, Var>>& from_to) try {
  Substitutes substitutes;
  for (const auto& [from, to] : from_to) {
    const LazyValue old = required_value(from);
    substitutes[old.node.get()].emplace_back(old.output, required_value(to));
  }
  const std::vector<LazyValue> roots = values_of(outputs);
  std::unordered_set<const LazyNode*> parts;
  walk(roots, [&](const std::shared_ptr<LazyNode>& node) { parts.insert(node.get()); });
  for (const auto& [from, to] : from_to)
    if (!parts.contains(required_value(from).node.get()))
      throw InvalidArgument(
          "a value{} that should be replaced is no part of these expressions; what depends on no placeholder, parameter or state keeps no "
          "expression once it is computed",
          from.name().empty() ? "" : " (\"" + from.name() + "\")");
  return rebuilt(roots, std::move(substitutes));
} catch (...) {
  throw_as_error();
}

Vars placeholders(const Vars& outputs) try {
  Vars found;
  walk(values_of(outputs), [&](const std::shared_ptr<LazyNode>& node) {
    if (node->kind == LazyNode::Kind::placeholder) found.push_back(var_of({node, 0}));
  });
  return found;
} catch (...) {
  throw_as_error();
}

Vars trainables(const Vars& outputs) try {
  Vars found;
  walk(values_of(outputs), [&](const std::shared_ptr<LazyNode>& node) {
    if (!node->trainable) return;
    const std::shared_ptr<Cell> variable = node->variable.lock();
    found.push_back(variable ? Access::var(variable) : var_of({node, 0}));
  });
  return found;
} catch (...) {
  throw_as_error();
}

Model to_model(const Vars& outputs, const Vars& inputs) try {
  auto graph = std::make_unique<Graph>();
  graph->source = "expression";
  graph->metadata.producer = std::string("minnow ") + version();
  const std::vector<LazyValue> roots = values_of(outputs);
  if (roots.empty()) throw InvalidArgument("an expression without outputs cannot become a model");
  std::unordered_set<std::string> names;
  const auto fresh = [&](const std::string& name, std::string_view otherwise) {
    std::string made = name.empty() ? std::string(otherwise) : name;
    while (made.empty() || !names.insert(made).second) made = graph->fresh_name(name.empty() ? otherwise : std::string_view(name));
    return made;
  };
  std::unordered_map<const LazyNode*, std::vector<Value*>> values;
  std::vector<const LazyNode*> states;
  std::unordered_map<const LazyNode*, Value*> next;  // of states
  const auto add_input = [&](const LazyNode& node) {
    const Output& output = node.outputs[0];
    if (!output.name.empty() && names.contains(output.name))
      throw InvalidArgument("two inputs of the expression are named \"{}\"", output.name);
    values[&node] = {&graph->add_input(fresh(output.name, "input"), declared_type(node))};
  };
  for (const Var& input : inputs) {
    const LazyValue value = required_value(input);
    if (value.node->kind != LazyNode::Kind::placeholder)
      throw InvalidArgument("\"{}\" is given as an input but is no placeholder", output_of(value).name);
    add_input(*value.node);
  }
  // Names of outputs are kept before others get theirs.
  std::unordered_map<const LazyNode*, std::vector<std::string>> output_names;
  for (size_t i = 0; i < roots.size(); ++i) {
    if (is_given(*roots[i].node) || roots[i].node->kind == LazyNode::Kind::step || is_constant(*roots[i].node)) continue;
    std::vector<std::string>& list = output_names[roots[i].node.get()];
    list.resize(roots[i].node->outputs.size());
    if (list[roots[i].output].empty()) list[roots[i].output] = fresh(output_of(roots[i]).name, "output");
  }
  std::string trainables;
  std::shared_ptr<const OperatorSet> operators;
  const auto add = [&](const LazyNode& node) {
    if (values.contains(&node)) return;
    if (node.kind == LazyNode::Kind::placeholder) {
      if (!inputs.empty())
        throw InvalidArgument("the expression depends on the placeholder \"{}\", which is not among the inputs", node.outputs[0].name);
      return add_input(node);
    }
    std::vector<Value*>& made = values[&node];
    if (node.kind == LazyNode::Kind::state) {
      graph->add_state({fresh(node.outputs[0].name, "state"), nullptr, nullptr, node.state->initial});
      made.push_back(graph->states().back().current);
      made[0]->type = declared_type(node);
      states.push_back(&node);
      return;
    }
    if (node.kind == LazyNode::Kind::step) {
      const auto value_of_input = [&](const LazyValue& input) { return values.at(input.node.get())[input.output]; };
      for (const LazyValue& result : results_of(node)) made.push_back(value_of_input(result));
      std::vector<Value*> following;
      for (const LazyValue& value : next_of(node)) following.push_back(value_of_input(value));
      for (size_t i = 0; i < following.size(); ++i) {
        const LazyNode* state = states_of(node)[i].node.get();
        next[state] = following[i];
        if (node.place) values[state] = {following[i]};
      }
      return;
    }
    if (is_constant(node)) {
      for (const Output& output : node.outputs) {
        if (output.kind == ValueInfo::Kind::absent) {
          made.push_back(nullptr);
          continue;
        }
        if (!output.tensor) throw Unsupported("a sequence or an optional that is computed already cannot be saved");
        made.push_back(&graph->add_constant(output.tensor, fresh(output.name, "constant")));
        if (node.trainable) trainables += (trainables.empty() ? "" : "\n") + made.back()->name();
      }
      return;
    }
    operators = joined(operators, node.operators);
    std::vector<Value*> arguments;
    for (const LazyValue& input : node.inputs) arguments.push_back(input ? values.at(input.node.get())[input.output] : nullptr);
    std::vector<std::string> made_names;
    const auto known = output_names.find(&node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].kind == ValueInfo::Kind::absent)
        made_names.emplace_back();
      else if (known != output_names.end() && !known->second[i].empty())
        made_names.push_back(known->second[i]);
      else
        made_names.push_back(fresh(node.outputs[i].name, node.op->name));
    }
    const Node& emitted = emit(*graph, node, arguments, made_names, node.name);
    for (size_t i = 0; i < node.outputs.size(); ++i) made.push_back(emitted.output(i));
  };
  for (const LazyValue& value : in_order(roots)) add(*value.node);
  for (size_t i = 0; i < states.size(); ++i) {
    Value& current = *values.at(states[i])[0];
    const auto found = next.find(states[i]);
    graph->set_state_next(i, found != next.end() ? *found->second : *graph->add_node("Identity", {&current}).output(0));
  }
  if (!trainables.empty()) graph->metadata.properties[kTrainables] = trainables;
  // Every output is the result of a node of its own.
  for (size_t i = 0; i < roots.size(); ++i) {
    Value* value = values.at(roots[i].node.get())[roots[i].output];
    const std::string& own_name = output_of(roots[i]).name;
    const bool is_renamed = roots[i].node->kind == LazyNode::Kind::step && !own_name.empty() && own_name != value->name();
    if (!value->producer() || value->is_graph_output() || is_renamed) {
      const std::string name[] = {fresh(is_renamed                               ? own_name
                                        : value->producer() || value->is_input() ? std::string()
                                                                                 : value->name() + "_output",
                                        "output")};
      Value* const from[] = {value};
      value = graph->add_node("Identity", from, name).output(0);
    }
    graph->add_output(*value);
  }
  infer_symbolic_types(operators ? *operators : OperatorSet::builtin(), *graph);  // for whoever looks at the model
  return Model::from_graph(std::move(graph), std::move(operators));
} catch (...) {
  throw_as_error();
}

void save(const Vars& outputs, const std::string& path, const Vars& inputs) try {
  write_model(to_model(outputs, inputs).graph(), path);
} catch (...) {
  throw_as_error();
}

Loaded load(const std::string& path) try { return load(Model::from_graph(read_model(path), operators_in_use())); } catch (...) {
  throw_as_error();
}

Loaded load(const Model& model) try {
  Loaded loaded;
  std::vector<LazyValue> inputs;
  for (const auto& input : model.graph().inputs()) inputs.push_back(placeholder_of(input->type, input->name()));
  std::vector<std::pair<std::string, LazyValue>> values;
  const std::vector<LazyValue> outputs = instantiate(model.graph(), model.impl()->custom_operators, inputs, nullptr, &values);
  for (const auto& [name, value] : values) {
    Var x = var_of(value);
    if (value.node->trainable) value.node->variable = Access::cell(x);
    loaded.values.emplace(name, std::move(x));
  }
  for (const auto& input : model.graph().inputs()) loaded.inputs.push_back(loaded.values.at(input->name()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.graph().outputs()[i]->name();
    if (outputs[i].node->kind == LazyNode::Kind::step) loaded.values.insert_or_assign(name, var_of(outputs[i]));
    loaded.outputs.push_back(loaded.values.at(name));
  }
  return loaded;
} catch (...) {
  throw_as_error();
}

const Var& Loaded::at(const std::string& name) const try {
  if (const auto found = values.find(name); found != values.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [other, value] : values) names.push_back(other);
  throw InvalidArgument("the model has no value \"{}\"{}", name, nearest(name, names));
} catch (...) {
  throw_as_error();
}

Vars apply(const Model& model, const Vars& inputs) try { return express::apply(model, inputs, nullptr); } catch (...) {
  throw_as_error();
}

Vars apply(const Model& model, const Vars& inputs, const ApplyOptions& options) try {
  check_constants(model, options);
  return express::apply(model, inputs, nullptr, &options);
} catch (...) {
  throw_as_error();
}

namespace {

/// Calls note(value) for all that nodes of a subgraph read, and its outputs.
void note_read(const Graph& graph, const std::function<void(const Value*)>& note) {
  for (const Value* output : graph.outputs()) note(output);
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i) note(node.input(i));
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) note_read(**subgraph, note);
  }
}

/// True for inputs of floats that have no gradient.
bool is_setting(const Node& node, size_t input) {
  return input > 0 && (node.op() == "Clip" || node.op() == "Dropout" || node.op() == "Resize");
}

/// Values of floats from which a float result of the graph can be reached through floats, so that a loss may have a gradient for them.
/// Nodes with subgraphs count for all that these read.
std::unordered_set<const Value*> values_with_effect(const Graph& graph) {
  std::unordered_set<const Value*> found;
  const std::function<void(const Value*)> note = [&](const Value* value) {
    if (value && (value->type.kind != ValueType::Kind::tensor || value->type.dtype == DType::undefined || is_float(value->type.dtype)))
      found.insert(value);
  };
  for (const Value* output : graph.outputs()) note(output);
  for (const State& state : graph.states()) note(state.next);
  for (const Node* node = graph.last(); node; node = node->previous()) {
    bool has_effect = false;
    for (size_t i = 0; i < node->output_count(); ++i) has_effect = has_effect || found.contains(node->output(i));
    if (!has_effect) continue;
    const Operator* op = OperatorSet::builtin().find(node->op());
    if (op && (op->shape_only || op->rounds)) continue;
    for (size_t i = 0; i < node->input_count(); ++i)
      if (!is_setting(*node, i)) note(node->input(i));
    for (const auto& [name, attribute] : node->attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) note_read(**subgraph, note);
  }
  return found;
}

}  // namespace

std::map<std::string, Var> parameters_of(const Model& model, const std::vector<std::string>& patterns) try {
  std::map<std::string, Var> made;
  const std::unordered_set<const Value*> effective = values_with_effect(model.graph());
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const auto& constant : model.graph().constants()) {
      const Tensor& tensor = *constant->constant();
      if (!is_float(tensor.dtype()) || !fits_pattern(pattern, constant->name())) continue;
      any = true;
      if (pattern == "*" && !effective.contains(constant.get())) continue;
      if (!made.contains(constant->name())) made.emplace(constant->name(), trainable(tensor.clone(), constant->name()));
    }
    if (any) continue;
    std::string names;
    size_t count = 0;
    for (const auto& constant : model.graph().constants())
      if (is_float(constant->constant()->dtype()) && ++count <= 5) names += (names.empty() ? "" : ", ") + constant->name();
    if (count == 0) throw InvalidArgument("{}: the model has no constants of floats that could be trained", model.graph().source);
    throw InvalidArgument("{}: no constant of floats fits \"{}\"; there are {}: {}{}", model.graph().source, pattern, count, names,
                          count > 5 ? " ..." : "");
  }
  return made;
} catch (...) {
  throw_as_error();
}

}  // namespace expr

void express::check_constants(const Model& model, const expr::ApplyOptions& options) {
  std::vector<std::string> names;
  for (const auto& constant : model.graph().constants()) names.push_back(constant->name());
  const std::unordered_set<std::string_view> known(names.begin(), names.end());
  for (const auto& [name, value] : options.constants)
    if (!known.contains(name))
      throw InvalidArgument("{}: the model has no constant \"{}\"{}", model.graph().source, name, nearest(name, names));
}

Vars express::apply(const Model& model, const Vars& inputs, const std::vector<LazyValue>* states, const expr::ApplyOptions* options,
                    const Seen& seen) {
  const Graph& graph = model.graph();
  if (inputs.size() != graph.inputs().size())
    throw InvalidArgument("{}: the model takes {} inputs, {} were given", graph.source, graph.inputs().size(), inputs.size());
  std::vector<LazyValue> values;
  for (const Var& input : inputs) values.push_back(required_value(input));
  for (size_t i = 0; i < values.size(); ++i) {
    Output& output = output_of(values[i]);
    const Value& input = *graph.inputs()[i];
    if (output.dtype == DType::undefined) output.dtype = input.type.element_dtype();  // an empty sequence does not know it
    if (input.type.kind == ValueType::Kind::tensor && input.type.dtype != DType::undefined && input.type.dtype != output.dtype)
      throw InvalidArgument("{}: input \"{}\" should be {}, it is {}", graph.source, input.name(), to_string(input.type), output.dtype);
  }
  Vars results;
  for (LazyValue& value : instantiate(graph, model.impl()->custom_operators, values, states, nullptr, options, seen))
    results.push_back(var_of(std::move(value)));
  return results;
}

}  // namespace minnow

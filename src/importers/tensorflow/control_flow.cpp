// SPDX-License-Identifier: Apache-2.0
#include "importers/tensorflow/control_flow.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace minnow::tensorflow {
namespace {

constexpr int kMostDeep = 64;              // loops and branches in each other
constexpr size_t kMostVisits = 4'000'000;  // of nodes, by all loops and branches; shared nodes are visited, and copied, for each

std::string_view node_of(std::string_view reference) {
  if (reference.starts_with('^')) reference.remove_prefix(1);
  return reference.substr(0, reference.find(':'));
}

// TensorFlow 1 has variants for references to variables.
bool is(const NodeDef& def, std::string_view op) { return def.op == op || (def.op.starts_with("Ref") && def.op.substr(3) == op); }

class Rewriter {
 public:
  Rewriter(GraphDef& graph, const std::string& source) : graph_(graph), source_(source) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) index_.emplace(graph.nodes[i].name, i);
  }

  void run() {
    for (const NodeDef& node : graph_.nodes)
      for (std::string_view reference : node.inputs)
        if (!reference.starts_with('^'))
          if (const auto found = index_.find(node_of(reference)); found != index_.end()) graph_.nodes[found->second].was_read = true;
    std::vector<Loop> loops = find_loops();
    std::vector<Branches> branches = find_branches();
    // Rewrite inner loops and branches first: an outer one waits while a cycle remains inside it.
    for (int deep = 0; !loops.empty() || !branches.empty(); ++deep) {
      const size_t before = loops.size() + branches.size();
      std::erase_if(branches, [&](Branches& each) { return rewrite(each); });
      std::erase_if(loops, [&](Loop& each) { return rewrite(each); });
      if (loops.size() + branches.size() == before || deep == kMostDeep) {
        const NodeDef& node = graph_.nodes[loops.empty() ? branches[0].merges[0] : loops[0].variables[0].merge];
        throw InvalidModel("{}: node \"{}\" ({}): its loop or branch is not closed as TensorFlow closes them", source_,
                           node.name.substr(0, 200), node.op);
      }
    }
  }

 private:
  struct Variable {
    size_t enter, merge, next, change = SIZE_MAX, exit = SIZE_MAX;  // change: the Switch
  };
  struct Loop {
    std::string_view frame;
    std::vector<Variable> variables;
    std::vector<size_t> constants;  // Enter nodes of loop-invariant values
  };
  struct Branches {
    std::vector<size_t> merges;  // of one condition
  };
  /// The nodes that some nodes depend on, up to those at which `stop` ends the search.
  struct Cone {
    std::vector<size_t> nodes, ends;  // ends: nodes that stop() told
    bool closed = true;               // false: it holds a circle that is not rewritten yet
  };

  template <class... Args>
  [[noreturn]] void fail(const NodeDef& node, std::string_view pattern, const Args&... args) const {
    throw InvalidModel("{}: node \"{}\" ({}): {}", source_, node.name.substr(0, 200), node.op, format(pattern, args...));
  }
  const NodeDef* find(std::string_view reference) const {
    const auto found = index_.find(node_of(reference));
    return found == index_.end() ? nullptr : &graph_.nodes[found->second];
  }
  std::string_view input(const NodeDef& node, size_t i) const {
    if (i >= node.inputs.size() || node.inputs[i].starts_with('^')) fail(node, "input {} is missing", i);
    return node.inputs[i];
  }
  std::string_view keep(std::string text) { return graph_.texts.emplace_back(std::move(text)); }

  void count_visit() const {
    if (visits_left_-- == 0)
      throw InvalidModel("{}: its loops and branches share so many nodes that they make it a very large graph", source_);
  }

  template <class Stop>
  Cone cone_of(const std::vector<std::string_view>& from, Stop stop) const {
    Cone cone;
    std::unordered_set<size_t> seen;
    std::vector<size_t> open;
    const auto visit = [&](std::string_view reference) {
      const auto found = index_.find(node_of(reference));
      if (found != index_.end() && seen.insert(found->second).second) open.push_back(found->second);
    };
    for (std::string_view reference : from) visit(reference);
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      count_visit();
      const NodeDef& node = graph_.nodes[at];
      if (stop(at)) {
        cone.ends.push_back(at);
        continue;
      }
      if (is_control_flow(node.op)) {
        cone.closed = false;
        continue;
      }
      cone.nodes.push_back(at);
      for (std::string_view reference : node.inputs)
        if (!reference.starts_with('^')) visit(reference);
    }
    std::sort(cone.nodes.begin(), cone.nodes.end());
    std::sort(cone.ends.begin(), cone.ends.end());
    return cone;
  }

  std::vector<Loop> find_loops() {
    std::vector<Loop> loops;
    std::unordered_map<std::string_view, size_t> by_frame;
    std::unordered_set<size_t> variables;  // Enter nodes
    const auto loop_of = [&](const NodeDef& enter) -> Loop& {
      std::string_view frame;
      if (const auto found = enter.attributes.find("frame_name"); found != enter.attributes.end())
        for (onnx::Fields fields(found->second); fields.next();)
          if (fields.number() == 2) frame = fields.bytes();
      const auto [place, fresh] = by_frame.emplace(frame, loops.size());
      if (fresh) loops.push_back({frame, {}, {}});
      return loops[place->second];
    };
    std::unordered_map<size_t, std::pair<size_t, size_t>> by_merge;  // place among the loops and their variables
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeDef& merge = graph_.nodes[i];
      if (!is(merge, "Merge") || merge.inputs.size() < 2) continue;
      const NodeDef *first = find(merge.inputs[0]), *second = find(merge.inputs[1]);
      if (!first || !second || is(*second, "NextIteration") == is(*first, "NextIteration")) continue;
      if (is(*first, "NextIteration")) std::swap(first, second);
      if (!is(*first, "Enter")) fail(merge, "a loop's value should come from Enter, it comes from {}", first->op);
      Loop& loop = loop_of(*first);
      const size_t enter = index_.at(first->name);
      variables.insert(enter);
      by_merge[i] = {static_cast<size_t>(&loop - loops.data()), loop.variables.size()};
      loop.variables.push_back({enter, i, index_.at(second->name)});
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeDef& node = graph_.nodes[i];
      if (is(node, "Enter") && !variables.contains(i)) loop_of(node).constants.push_back(i);
      if (!is(node, "Switch") || node.inputs.empty()) continue;
      const NodeDef* merge = find(node.inputs[0]);
      const auto found = merge ? by_merge.find(index_.at(merge->name)) : by_merge.end();
      const NodeDef* condition = node.inputs.size() > 1 ? find(node.inputs[1]) : nullptr;
      if (found == by_merge.end() || !condition || condition->op != "LoopCond") continue;
      loops[found->second.first].variables[found->second.second].change = i;
    }
    std::unordered_map<size_t, Variable*> by_change;
    for (Loop& loop : loops) {
      if (loop.variables.empty()) fail(graph_.nodes[loop.constants[0]], "its loop goes round nothing");
      for (Variable& variable : loop.variables) by_change.emplace(variable.change, &variable);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeDef& node = graph_.nodes[i];
      if (!is(node, "Exit")) continue;
      const NodeDef* change = find(input(node, 0));
      const auto found = change ? by_change.find(index_.at(change->name)) : by_change.end();
      if (found == by_change.end()) fail(node, "leaves no loop");
      found->second->exit = i;
    }
    return loops;
  }

  /// Merges that end branches, grouped if they are in one name scope and end the same condition.
  std::vector<Branches> find_branches() {
    std::vector<Branches> list;
    std::unordered_map<std::string, size_t> by_scope;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeDef& node = graph_.nodes[i];
      if (!is(node, "Merge")) continue;
      const NodeDef *first = find(input(node, 0)), *second = find(input(node, 1));
      if ((first && is(*first, "NextIteration")) || (second && is(*second, "NextIteration"))) continue;
      const size_t slash = node.name.rfind('/');
      const std::string scope = slash == node.name.npos ? std::string(node.name) + "//" : std::string(node.name.substr(0, slash));
      const auto [place, fresh] = by_scope.emplace(scope, list.size());
      if (fresh) list.emplace_back();
      list[place->second].merges.push_back(i);
    }
    return list;
  }

  /// The function of some nodes. `arguments`: nodes whose value, whichever output is asked for, is given.
  std::string_view add_function(const std::string& name, const std::vector<size_t>& arguments, const Cone& cone,
                                const std::vector<std::string_view>& results) {
    FunctionDef function;
    function.name = keep(name);
    for (size_t at : arguments) function.inputs.push_back(graph_.nodes[at].name);
    for (size_t at : cone.nodes) function.nodes.push_back(graph_.nodes[at]);
    for (size_t i = 0; i < results.size(); ++i) {
      function.outputs.push_back(keep(std::to_string(i)));
      function.results.emplace(function.outputs.back(), results[i]);
    }
    const std::string_view key = function.name;
    if (!graph_.functions.emplace(key, std::move(function)).second)
      throw InvalidModel("{}: function \"{}\" is there already", source_, key.substr(0, 200));
    return key;
  }

  /// A field that holds bytes.
  static std::string bytes_field(uint32_t number, std::string_view bytes) {
    std::string text(1, static_cast<char>(number << 3 | 2));
    for (size_t size = bytes.size();; size >>= 7) {
      text += static_cast<char>(size >= 0x80 ? size | 0x80 : size);
      if (size < 0x80) break;
    }
    return text.append(bytes);
  }
  /// AttrValue of a function's name, and of a list of such.
  std::string_view function_value(std::string_view name) { return keep(bytes_field(10, bytes_field(1, name))); }
  std::string_view functions_value(const std::vector<std::string_view>& names) {
    std::string list;
    for (std::string_view name : names) list += bytes_field(9, bytes_field(1, name));
    return keep(bytes_field(1, list));
  }

  void add_node(NodeDef node) {
    if (!index_.emplace(node.name, graph_.nodes.size()).second)
      throw InvalidModel("{}: two nodes are named \"{}\"", source_, node.name.substr(0, 200));
    graph_.nodes.push_back(std::move(node));
  }
  void become_identity(size_t at, std::string_view of) {
    NodeDef& node = graph_.nodes[at];
    node.op = "Identity";
    node.inputs = {of};
    node.attributes.clear();
  }

  bool rewrite(Loop& loop) {
    std::vector<std::string_view> next, starts;
    std::vector<size_t> at_condition, at_body;  // the nodes that stand for the arguments, in the order of `starts`
    std::string_view condition;
    for (const Variable& variable : loop.variables) {
      // A value that nothing in the loop reads may have no Switch of its own.
      at_condition.push_back(variable.merge);
      at_body.push_back(variable.change == SIZE_MAX ? variable.merge : variable.change);
      starts.push_back(input(graph_.nodes[variable.enter], 0));
      next.push_back(input(graph_.nodes[variable.next], 0));
      if (variable.change == SIZE_MAX) continue;
      const NodeDef* loop_condition = find(input(graph_.nodes[variable.change], 1));
      condition = input(*loop_condition, 0);
    }
    if (condition.empty()) fail(graph_.nodes[loop.variables[0].merge], "its loop has no condition");
    for (size_t at : loop.constants) {
      at_condition.push_back(at), at_body.push_back(at);
      starts.push_back(input(graph_.nodes[at], 0));
      next.push_back(graph_.nodes[at].name);
    }
    const std::unordered_set<size_t> condition_ends(at_condition.begin(), at_condition.end()), body_ends(at_body.begin(), at_body.end());
    const Cone tests = cone_of({condition}, [&](size_t at) { return condition_ends.contains(at); });
    const Cone steps = cone_of(next, [&](size_t at) { return body_ends.contains(at); });
    if (!tests.closed || !steps.closed) return false;
    const std::string name = std::string(loop.frame.empty() ? graph_.nodes[loop.variables[0].merge].name : loop.frame) + "/loop";
    const std::string_view test = add_function(name + "/condition", at_condition, tests, {condition});
    const std::string_view step = add_function(name + "/body", at_body, steps, next);
    NodeDef node;
    node.name = keep(name), node.op = "While", node.inputs = std::move(starts);
    node.attributes.emplace("cond", function_value(test));
    node.attributes.emplace("body", function_value(step));
    add_node(std::move(node));
    for (size_t i = 0; i < loop.variables.size(); ++i)
      if (const size_t exit = loop.variables[i].exit; exit != SIZE_MAX) {
        become_identity(exit, keep(format("{}:{}", name, i)));
        graph_.nodes[exit].leaves_loop = true;
      }
    return true;
  }

  /// Which condition leads to a node, and by which of its outputs.
  struct Choice {
    std::string_view condition;
    size_t place = 0;
    bool of_many = false;  // the condition is a number
  };
  /// Looked for at the Switch nodes behind it, through control inputs too.
  std::optional<Choice> choice_of(std::string_view reference) const {
    std::unordered_set<size_t> seen;
    std::vector<std::string_view> open = {reference};
    while (!open.empty()) {
      const std::string_view at = open.back();
      open.pop_back();
      const NodeDef* node = find(at);
      if (!node || !seen.insert(index_.at(node->name)).second) continue;
      count_visit();
      const bool of_many = node->op == "_SwitchN";
      if (of_many || is(*node, "Switch")) {
        const NodeDef* by = find(input(*node, 1));
        if (by && by->op == "LoopCond") continue;  // the loop around all branches
        std::string_view condition = node->inputs[1];
        // Within branches the condition has Identities of itself.
        for (int i = 0; by && by->op == "Identity" && i < kMostDeep; ++i) condition = input(*by, 0), by = find(condition);
        size_t place = 0;
        if (const size_t colon = at.find(':'); colon != at.npos) std::from_chars(at.data() + colon + 1, at.data() + at.size(), place);
        return Choice{condition, place, of_many};
      }
      if (is_control_flow(node->op)) continue;
      for (std::string_view each : node->inputs) open.push_back(each);
    }
    return {};
  }

  /// The inputs of a Merge in the order of the branches; `choice` gets the condition.
  std::vector<std::string_view> in_order(const NodeDef& merge, Choice& choice) const {
    std::vector<std::string_view> inputs, ordered, left;
    for (std::string_view each : merge.inputs)
      if (!each.starts_with('^')) inputs.push_back(each);
    ordered.resize(inputs.size());
    bool found = false;
    for (std::string_view each : inputs) {
      const auto one = choice_of(each);
      if (!one) {
        left.push_back(each);
        continue;
      }
      if (one->place >= ordered.size() || !ordered[one->place].empty()) fail(merge, "the same branch leads to two of its inputs");
      ordered[one->place] = each;
      choice = *one, found = true;
    }
    if (!found) fail(merge, "no condition leads to it");
    if (left.size() > 1) fail(merge, "no condition leads to {} of its inputs", left.size());
    for (std::string_view& place : ordered)
      if (place.empty()) place = left[0];
    if (!choice.of_many && ordered.size() != 2) fail(merge, "a condition that is true or false chooses among {}", ordered.size());
    return ordered;
  }

  bool rewrite(Branches& branches) {
    std::vector<std::vector<std::string_view>> results;  // of each branch
    Choice choice;
    for (size_t at : branches.merges) {
      const std::vector<std::string_view> inputs = in_order(graph_.nodes[at], choice);
      results.resize(std::max(results.size(), inputs.size()));
      if (results.size() != inputs.size())
        fail(graph_.nodes[at], "its branches are {}, elsewhere there are {}", inputs.size(), results.size());
      for (size_t i = 0; i < inputs.size(); ++i) results[i].push_back(inputs[i]);
    }
    const auto stop = [&](size_t at) { return is(graph_.nodes[at], "Switch") || graph_.nodes[at].op == "_SwitchN"; };
    std::vector<Cone> cones;
    std::vector<size_t> arguments;
    for (const auto& each : results) {
      cones.push_back(cone_of(each, stop));
      if (!cones.back().closed) return false;
      std::vector<size_t> all;
      std::set_union(arguments.begin(), arguments.end(), cones.back().ends.begin(), cones.back().ends.end(), std::back_inserter(all));
      arguments = std::move(all);
    }
    std::vector<std::string_view> inputs = {choice.condition};
    for (size_t at : arguments) inputs.push_back(input(graph_.nodes[at], 0));
    const std::string name = std::string(graph_.nodes[branches.merges[0]].name) + "/branches";
    std::vector<std::string_view> functions;
    for (size_t i = 0; i < cones.size(); ++i) functions.push_back(add_function(format("{}/{}", name, i), arguments, cones[i], results[i]));
    NodeDef node;
    node.name = keep(name), node.inputs = std::move(inputs);
    if (choice.of_many) {
      node.op = "Case";
      node.attributes.emplace("branches", functions_value(functions));
    } else {
      node.op = "If";
      node.attributes.emplace("then_branch", function_value(functions[1]));
      node.attributes.emplace("else_branch", function_value(functions[0]));
    }
    add_node(std::move(node));
    for (size_t i = 0; i < branches.merges.size(); ++i) become_identity(branches.merges[i], keep(format("{}:{}", name, i)));
    return true;
  }

  GraphDef& graph_;
  const std::string& source_;
  std::unordered_map<std::string_view, size_t> index_;
  mutable size_t visits_left_ = kMostVisits;
};

}  // namespace

std::span<const std::string_view> control_flow_operators() noexcept {
  static constexpr std::string_view kOps[] = {"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch", "_SwitchN"};
  return kOps;
}

bool is_control_flow(std::string_view op) noexcept {
  if (op.starts_with("Ref")) op.remove_prefix(3);
  const auto all = control_flow_operators();
  return std::find(all.begin(), all.end(), op) != all.end();
}

void make_functional(GraphDef& graph, const std::string& source) {
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const NodeDef& node) { return is_control_flow(node.op); }))
    Rewriter(graph, source).run();
}

}  // namespace minnow::tensorflow

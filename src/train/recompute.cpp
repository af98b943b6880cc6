// SPDX-License-Identifier: Apache-2.0
// A greedy search after Chen et al. 2016, "Training deep nets with sublinear memory cost" (arXiv:1604.06174), and Kirisame et al. 2020,
// "Dynamic tensor rematerialization" (arXiv:2006.09616): where most bytes live, drop the value that saves most for its time, until all fit.
#include "train/recompute.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.h"

namespace minnow::train {
namespace {

constexpr uint32_t kNever = ~uint32_t{0};
constexpr int kMostTurns = 2000;          // each looks at all values
constexpr double kOperationsPerByte = 4;  // that take as long as moving a byte: memory-bound nodes cost their bytes

/// A tensor that a node makes.
struct Item {
  Value* value = nullptr;
  size_t bytes = 0;
  uint32_t made = 0;
  uint32_t forward_end = 0;    // its last use up to the loss, or where it is made
  uint32_t backward = kNever;  // its first use behind the loss
  uint32_t end = 0;            // its last use
  bool is_output = false;
  double cost = 0;  // of computing it again
  bool may_drop = false, dropped = false;
  bool is_view = false;          // lies in the memory of its first input, and is dropped with it
  bool is_elementwise = false;   // may take over the memory of an input that nobody reads later
  std::vector<uint32_t> inputs;  // items
  // With the present choice.
  uint32_t again = kNever, last = 0;
  uint32_t last_copy = kNever;   // the item whose copy, before node `last`, is the last user; kNever: that node
  uint32_t made_again = kNever;  // the time of its copy

  bool is_split() const { return dropped && again != kNever; }
};

double cost_of(const Node& node, const Operator& op) {
  std::vector<ValueInfo> infos(node.input_count());
  std::vector<const ValueInfo*> known;
  double bytes = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* value = node.input(i);
    if (value) {
      infos[i].dtype = value->type.dtype;
      infos[i].shape = value->type.shape();
      if (const Tensor* constant = value->constant()) infos[i].contents = *constant;
      bytes += static_cast<double>(infos[i].shape.elements()) * static_cast<double>(size_of(infos[i].dtype));
    }
    known.push_back(value ? &infos[i] : nullptr);
  }
  for (size_t i = 0; i < node.output_count(); ++i)
    if (const Value* value = node.output(i))
      bytes += static_cast<double>(value->type.shape().elements()) * static_cast<double>(size_of(value->type.dtype));
  const NodeView view(node, known, {}, &op);
  return bytes + (op.operations ? op.operations(view) / kOperationsPerByte : 0);
}

bool is_static(const Value* value) {
  return !value || (value->type.kind == ValueType::Kind::tensor && value->type.is_static() && size_of(value->type.dtype) != 0);
}

class Recomputation {
 public:
  Recomputation(Graph& graph, const OperatorSet& operators) : graph_(graph) {
    for (Node& node : graph.nodes()) {
      place_[&node] = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back(&node);
    }
    const Node* loss = graph.outputs().empty() ? nullptr : graph.outputs()[0]->producer();
    turn_ = loss ? place_.at(loss) : 0;
    for (uint32_t at = 0; at < nodes_.size(); ++at) add_items(at, operators);
  }

  /// Chooses what is dropped; returns the bytes that the result needs.
  size_t choose(size_t bytes) {
    const size_t all = simulate();
    if (all <= bytes) return all;
    Choice best{all, 0, std::vector<bool>(items_.size())};
    const auto consider = [&] {
      const size_t peak = simulate();
      double cost = 0;
      for (const Item& item : items_) cost += item.dropped && item.again != kNever ? item.cost : 0;
      const bool better = best.peak > bytes ? peak < best.peak : peak <= bytes && cost < best.cost;
      if (!better) return;
      best = {peak, cost, {}};
      for (const Item& item : items_) best.dropped.push_back(item.dropped);
    };
    drop_greedily(bytes, consider);
    for (const size_t segments : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96}) {
      drop_segments(segments);
      consider();
    }
    const auto take_best = [&] {
      for (size_t i = 0; i < items_.size(); ++i) items_[i].dropped = best.dropped[i];
    };
    take_best();
    if (best.peak > bytes) {  // drop also within the last segment
      drop_greedily(bytes, consider);
      take_best();
    }
    keep_again(bytes);
    return simulate();
  }

  /// Adds the nodes that compute dropped values again.
  void insert_nodes() {
    std::unordered_map<const Node*, Node*> copies;
    for (Item& item : items_) {  // in order, so that inputs come first
      if (!item.dropped || item.again == kNever) continue;
      Node& node = *item.value->producer();
      uint32_t at = item.again;
      for (size_t i = 0; i < node.output_count(); ++i)  // another output may be needed before
        if (const Value* other = node.output(i))
          if (const Item& same = items_[number_.at(other)]; same.dropped) at = std::min(at, same.again);
      Node*& copy = copies[&node];
      if (!copy) {
        std::vector<Value*> inputs;
        std::vector<std::string> names;
        for (size_t i = 0; i < node.input_count(); ++i) {
          Value* input = node.input(i);
          const auto found = input ? number_.find(input) : number_.end();
          if (found != number_.end() && items_[found->second].dropped && items_[found->second].again != kNever)
            input = copies.at(input->producer())->output(input->output_index());
          inputs.push_back(input);
        }
        for (size_t i = 0; i < node.output_count(); ++i)
          names.push_back(node.output(i) ? graph_.fresh_name(node.output(i)->name()) : std::string());
        Attributes attributes = node.attributes;
        for (const auto& [name, attribute] : node.attributes)
          if (const Subgraph* body = std::get_if<Subgraph>(&attribute)) attributes.set(name, Subgraph((*body)->clone()));
        copy = &graph_.add_node(node.op(), inputs, names, std::move(attributes), node.name(), nodes_[at]);
        for (size_t i = 0; i < node.output_count(); ++i)
          if (node.output(i)) copy->output(i)->type = node.output(i)->type;
      }
      const std::vector<Use> uses(item.value->uses().begin(), item.value->uses().end());
      for (const Use& use : uses)
        if (const auto found = place_.find(use.node); found != place_.end() && found->second > turn_)
          use.node->set_input(use.input, copy->output(item.value->output_index()));
    }
  }

 private:
  struct Choice {
    size_t peak;
    double cost;
    std::vector<bool> dropped;
  };

  void add_items(uint32_t at, const OperatorSet& operators) {
    Node& node = *nodes_[at];
    const Operator* op = operators.find(node.op());
    bool can_repeat = op && op->pure && at < turn_;
    for (const auto& [name, attribute] : node.attributes)  // fused elementwise operators have a body, which captures nothing
      can_repeat = can_repeat && (op->elementwise || !std::holds_alternative<Subgraph>(attribute));
    for (size_t i = 0; i < node.input_count(); ++i) can_repeat = can_repeat && is_static(node.input(i));
    for (size_t i = 0; i < node.output_count(); ++i) can_repeat = can_repeat && is_static(node.output(i));
    const double cost = can_repeat ? cost_of(node, *op) : 0;
    for (size_t i = 0; i < node.output_count(); ++i) {
      Value* value = node.output(i);
      if (!value) continue;
      Item item;
      item.value = value;
      item.made = item.forward_end = item.end = at;
      item.is_output = value->is_graph_output();
      // A reshape shares its input's memory.
      const bool is_view = op && op->elements == Elements::kept && i == 0;
      item.cost = is_view ? 0 : cost;
      item.is_view = is_view && node.input(0) && number_.contains(node.input(0));
      item.is_elementwise = op && op->elementwise;
      if (is_static(value) && !is_view) item.bytes = static_cast<size_t>(value->type.shape().elements()) * size_of(value->type.dtype);
      item.may_drop = can_repeat && !item.is_output;
      for (const Use& use : value->uses()) {
        const auto found = place_.find(use.node);
        if (found == place_.end()) {  // within a subgraph
          item.may_drop = false, item.end = static_cast<uint32_t>(nodes_.size()) - 1;
          continue;
        }
        item.end = std::max(item.end, found->second);
        if (found->second <= turn_)
          item.forward_end = std::max(item.forward_end, found->second);
        else
          item.backward = std::min(item.backward, found->second);
      }
      for (size_t k = 0; k < node.input_count(); ++k)
        if (node.input(k))
          if (const auto found = number_.find(node.input(k)); found != number_.end()) item.inputs.push_back(found->second);
      for (uint32_t base = item.is_view ? number_.at(node.input(0)) : kNever; base != kNever;) {
        Item& of = items_[base];
        of.end = std::max(of.end, item.end);
        if (at <= turn_) {
          of.forward_end = std::max(of.forward_end, item.forward_end), of.backward = std::min(of.backward, item.backward);
          of.may_drop = of.may_drop && item.may_drop;
        }
        base = of.is_view ? of.inputs[0] : kNever;
      }
      number_[value] = static_cast<uint32_t>(items_.size());
      items_.push_back(std::move(item));
    }
  }

  /// Finds where dropped values are computed again and how long all values live; returns the most bytes at once, and their place in peak_.
  size_t simulate() {
    for (Item& item : items_) {
      if (item.is_view) item.dropped = items_[item.inputs[0]].dropped && item.may_drop;
      item.again = item.dropped ? item.backward : kNever, item.last = item.end, item.last_copy = kNever;
    }
    std::vector<uint32_t>& copies = copies_;  // before each node
    copies.assign(nodes_.size() + 1, 0);
    for (uint32_t i = static_cast<uint32_t>(items_.size()); i-- > 0;) {  // users before what they use
      const Item& user = items_[i];
      if (user.is_view) extend(items_[user.inputs[0]], user.last, user.last_copy);
      if (!user.is_split()) continue;
      ++copies[user.again];
      for (const uint32_t k : user.inputs) {
        Item& input = items_[k];
        extend(input, user.again, i);
        if (input.dropped) input.again = std::min(input.again, user.again);
      }
    }
    // Times: each node comes behind the copies before it, which keep the order of items.
    std::vector<uint32_t>& begins = begins_;  // of the copies before each node
    begins.assign(nodes_.size() + 1, 0);
    for (uint32_t at = 0; at < nodes_.size(); ++at) begins[at + 1] = begins[at] + copies[at] + 1;
    const auto time_of = [&](uint32_t at) { return begins[at + 1] - 1; };
    for (Item& item : items_) item.made_again = item.is_split() ? time_of(item.again) - copies[item.again]-- : kNever;
    changes_.assign(begins.back() + 1, 0);
    const auto live = [&](uint32_t first, uint32_t last, int64_t bytes) { changes_[first] += bytes, changes_[last + 1] -= bytes; };
    for (const Item& item : items_) {
      const int64_t bytes = static_cast<int64_t>(item.bytes);
      const auto end_of = [&](const Item& of) { return of.last_copy != kNever ? items_[of.last_copy].made_again : time_of(of.last); };
      const auto overwrites = [&](uint32_t time, bool again) {
        return item.is_elementwise && std::any_of(item.inputs.begin(), item.inputs.end(), [&](uint32_t k) {
                 const Item& input = items_[k];
                 return input.bytes == item.bytes && !input.is_output &&
                        (input.is_split() && !again && item.made <= turn_ ? time_of(input.forward_end) : end_of(input)) == time;
               });
      };
      const uint32_t made = time_of(item.made);
      live(made, item.is_split() ? time_of(item.forward_end) : end_of(item), bytes);
      if (overwrites(made, false)) live(made, made, -bytes);
      if (!item.is_split()) continue;
      live(item.made_again, end_of(item), bytes);
      if (overwrites(item.made_again, true)) live(item.made_again, item.made_again, -bytes);
    }
    int64_t now = 0, most = 0;
    for (uint32_t at = 0, time = 0; at < nodes_.size(); ++at)
      for (; time < begins[at + 1]; ++time)
        if ((now += changes_[time]) > most) most = now, peak_ = at;
    return static_cast<size_t>(most);
  }
  static void extend(Item& item, uint32_t last, uint32_t copy) {
    if (last > item.last)
      item.last = last, item.last_copy = copy;
    else if (last == item.last && item.last_copy != kNever)
      item.last_copy = copy == kNever ? kNever : std::max(item.last_copy, copy);
  }

  bool is_live_at_peak(const Item& item) const {
    if (item.dropped && item.again != kNever)
      return (item.made <= peak_ && peak_ <= item.forward_end) || (item.again <= peak_ && peak_ <= item.last);
    return item.made <= peak_ && peak_ <= item.last;
  }

  /// Adds item i and the inputs that it would miss to `group`, with what that costs; false where that is not possible.
  bool collect(uint32_t i, uint32_t at, std::vector<uint32_t>& group, double& cost) const {
    const Item& item = items_[i];
    if (!item.may_drop || group.size() > 64) return false;
    if (std::find(group.begin(), group.end(), i) != group.end()) return true;
    group.push_back(i);
    cost += item.cost;
    for (const uint32_t k : item.inputs) {
      const Item& input = items_[k];
      if (input.dropped || input.last >= at) continue;
      if (!collect(k, at, group, cost)) return false;
    }
    return true;
  }

  /// Drops the values that save most bytes at the peak for their cost.
  bool drop_one() {
    double best = 0;
    std::vector<uint32_t> best_group, group;
    for (uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.dropped || !item.may_drop || item.backward == kNever || item.forward_end >= peak_ || item.backward <= peak_ ||
          !is_live_at_peak(item) || item.bytes == 0)
        continue;
      group.clear();
      double cost = 0;
      if (!collect(i, item.backward, group, cost)) continue;
      double saved = 0;
      for (const uint32_t k : group)
        if (is_live_at_peak(items_[k]) && items_[k].forward_end < peak_) saved += static_cast<double>(items_[k].bytes);
      if (const double score = saved / (cost + 1); score > best) best = score, best_group = group;
    }
    for (const uint32_t i : best_group) items_[i].dropped = true;
    return !best_group.empty();
  }

  /// Drops value after value, as long as that lowers the peak; a few that do not may come between.
  template <class F>
  void drop_greedily(size_t bytes, F consider) {
    size_t least = simulate(), since = 0;
    for (int turns = 0; turns < kMostTurns && least > bytes && since < 32 && drop_one(); ++turns) {
      const size_t peak = simulate();
      ++since;
      if (peak < least) least = peak, since = 0;
      consider();
    }
  }

  /// Cuts the forward pass into segments of equal bytes, where few bytes cross. Values that live across a cut stay; the rest of all
  /// segments but the last is dropped.
  void drop_segments(size_t segments) {
    std::vector<int64_t> made(turn_ + 2), crossing(turn_ + 2);
    int64_t total = 0;
    for (const Item& item : items_) {
      if (item.made > turn_) continue;
      const int64_t bytes = static_cast<int64_t>(item.bytes);
      made[item.made] += item.backward != kNever ? bytes : 0;
      total += item.backward != kNever ? bytes : 0;
      crossing[item.made] += bytes, crossing[item.forward_end] -= bytes;
    }
    for (uint32_t at = 1; at <= turn_; ++at) made[at] += made[at - 1], crossing[at] += crossing[at - 1];
    std::vector<uint32_t> cuts;  // the last node of each segment
    const uint32_t reach = std::max<uint32_t>(turn_ / static_cast<uint32_t>(3 * segments), 1);
    for (size_t k = 1; k < segments; ++k) {
      const int64_t bytes = total / static_cast<int64_t>(segments) * static_cast<int64_t>(k);
      const uint32_t ideal = static_cast<uint32_t>(std::lower_bound(made.begin(), made.begin() + turn_ + 1, bytes) - made.begin());
      const uint32_t first = std::max(ideal, reach) - reach, last = std::min(ideal + reach, turn_);
      const auto cut = static_cast<uint32_t>(std::min_element(crossing.begin() + first, crossing.begin() + last + 1) - crossing.begin());
      if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
    }
    for (Item& item : items_) {
      const auto cut = std::lower_bound(cuts.begin(), cuts.end(), item.made);
      item.dropped = item.may_drop && cut != cuts.end() && item.forward_end <= *cut;
    }
  }

  /// Keeps dropped values after all, those first that cost most for their bytes, as long as all fit.
  void keep_again(size_t bytes) {
    simulate();
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < items_.size(); ++i)
      if (items_[i].dropped && items_[i].again != kNever) order.push_back(i);
    const auto worth = [&](uint32_t i) { return items_[i].cost / (static_cast<double>(items_[i].bytes) + 1); };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return worth(a) > worth(b); });
    if (order.size() > kMostTurns) order.resize(kMostTurns);
    for (const uint32_t i : order) {
      items_[i].dropped = false;
      if (simulate() > bytes) items_[i].dropped = true;
    }
  }

  Graph& graph_;
  std::vector<Node*> nodes_;
  std::unordered_map<const Node*, uint32_t> place_;
  std::vector<Item> items_;
  std::unordered_map<const Value*, uint32_t> number_;
  std::vector<int64_t> changes_;
  std::vector<uint32_t> copies_, begins_;
  uint32_t turn_ = 0, peak_ = 0;
};

/// Takes the gates of LSTMs away from their gradients, which then compute them again for a few steps at a time. Cells with peepholes or
/// unusual activations, which no scheme goes back through, keep theirs. Returns whether there were any.
bool drop_gates(Graph& graph) {
  constexpr size_t kP = 7, kGates = 9, kGatesOfLstm = 3;
  bool any = false;
  for (Node& node : graph.nodes()) {
    Value* gates = node.op() == "minnow.RecurrentGradient" ? node.input(kGates) : nullptr;
    Node* lstm = gates ? gates->producer() : nullptr;
    if (!lstm || lstm->op() != "LSTM" || gates->output_index() != kGatesOfLstm || gates->uses().size() != 1 || gates->is_graph_output())
      continue;
    bool usual = !lstm->input(kP) && gates->type.dtype == DType::f32;
    for (const std::string_view name : {"clip", "activations", "input_forget"}) usual = usual && !lstm->attributes.find(name);
    if (!usual) continue;
    node.set_input(kGates, nullptr);
    std::vector<Value*> inputs;
    std::vector<std::string> names;
    for (size_t i = 0; i < lstm->input_count(); ++i) inputs.push_back(lstm->input(i));
    for (size_t i = 0; i < lstm->output_count(); ++i)
      names.push_back(lstm->output(i) && i != kGatesOfLstm ? graph.fresh_name(lstm->output(i)->name()) : std::string());
    Node& made = graph.add_node(lstm->op(), inputs, names, lstm->attributes, lstm->name(), lstm);
    for (size_t i = 0; i < made.output_count(); ++i)
      if (made.output(i)) {
        made.output(i)->type = lstm->output(i)->type;
        lstm->output(i)->replace_all_uses_with(*made.output(i));
      }
    graph.remove(*lstm);
    any = true;
  }
  return any;
}

}  // namespace

void move_gradients_forward(Graph& graph, const OperatorSet& operators) {
  std::vector<Node*> nodes;
  for (Node& node : graph.nodes()) nodes.push_back(&node);
  // By node that only leads to outputs: how many of its inputs are still to be made. Reshapes stay with their users: one that comes while
  // its input is still to be read has to copy.
  std::unordered_map<const Node*, size_t> missing;
  std::unordered_set<const Node*> views, placed_views;
  for (size_t i = nodes.size(); i-- > 0;) {
    Node& node = *nodes[i];
    bool ends = true, is_output = false;
    size_t made_inputs = 0;
    for (const auto& [name, attribute] : node.attributes) ends = ends && !std::holds_alternative<Subgraph>(attribute);
    for (size_t k = 0; k < node.output_count() && ends; ++k)
      if (const Value* value = node.output(k)) {
        is_output = is_output || value->is_graph_output();
        for (const Use& use : value->uses()) ends = ends && (missing.contains(use.node) || views.contains(use.node));
      }
    for (size_t k = 0; k < node.input_count(); ++k) made_inputs += node.input(k) && node.input(k)->producer() ? 1 : 0;
    if (!ends || made_inputs == 0) continue;
    const Operator* op = operators.find(node.op());
    if (op && op->elements == Elements::kept && made_inputs == 1 && !is_output)
      views.insert(&node);
    else
      missing[&node] = made_inputs;
  }
  // Other nodes keep their order; behind each come those that it completes, each behind its reshapes.
  for (Node* const node : nodes) {
    if (missing.contains(node) || views.contains(node)) continue;
    std::vector<Node*> made{node};
    Node* last = node;
    const auto place = [&](Node& next) {
      if (last->next() != &next) graph.move(next, last->next());
      last = &next;
    };
    const auto place_view = [&](auto& self, Node* view) -> void {
      if (!view || !views.contains(view) || !placed_views.insert(view).second) return;
      for (size_t k = 0; k < view->input_count(); ++k)
        if (view->input(k)) self(self, view->input(k)->producer());
      place(*view);
    };
    for (size_t at = 0; at < made.size(); ++at) {
      if (at > 0) {
        for (size_t k = 0; k < made[at]->input_count(); ++k)
          if (made[at]->input(k)) place_view(place_view, made[at]->input(k)->producer());
        place(*made[at]);
      }
      const auto complete = [&](auto& self, const Node& of) -> void {
        for (size_t k = 0; k < of.output_count(); ++k) {
          if (!of.output(k)) continue;
          for (const Use& use : of.output(k)->uses()) {
            if (views.contains(use.node)) self(self, *use.node);
            if (const auto found = missing.find(use.node); found != missing.end() && --found->second == 0) made.push_back(use.node);
          }
        }
      };
      complete(complete, *made[at]);
    }
  }
}

size_t recompute(Graph& graph, const OperatorSet& operators, size_t bytes) {
  infer_static_types(operators, graph);
  std::optional<Recomputation> made(std::in_place, graph, operators);
  size_t needed = made->choose(bytes);
  if (needed > bytes && drop_gates(graph)) {
    made.emplace(graph, operators);
    needed = made->choose(bytes);
  }
  made->insert_nodes();
  infer_types(operators, graph);
  return needed;
}

}  // namespace minnow::train

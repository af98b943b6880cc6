// SPDX-License-Identifier: Apache-2.0
// A Loop that computes an LSTM step by step becomes the operator: Hochreiter, Schmidhuber 1997, "Long Short-Term Memory", with a forget
// gate. TensorFlow writes it with counters, lists of what goes in and comes out, and one product for all gates; TFLite's converter makes
// tensors of the lists.
#include <algorithm>

#include "passes/rewrite.h"

namespace minnow {
namespace {

/// A body's values through what changes neither numbers nor their order.
const Value* stripped(const Value* value) {
  while (value && value->producer() &&
         (value->producer()->op() == "Cast" || value->producer()->op() == "Identity" || value->producer()->op() == "Reshape" ||
          value->producer()->op() == "Squeeze" || value->producer()->op() == "Unsqueeze"))
    value = value->producer()->input(0);
  return value;
}
const Node* maker_of(const Value* value, std::string_view op) { return made_by(value, op); }

struct Carried {
  const Value *in, *next;
  Value* begin;
  Value* end;  // the Loop's output; null where it has none
};

/// y = rows W, with W [rows, columns] or, where `transposed`, the other way round.
struct Term {
  const Value* rows = nullptr;
  const Value* weights = nullptr;
  bool transposed = false;
};

/// What was found; weights and biases are constants of any graph.
struct Cell {
  size_t h = 0, c = 0;   // of what is carried
  size_t place[4] = {};  // of the gates i, o, f, c among the columns
  Value* x = nullptr;    // [steps, batch, features]
  Term of_x, of_h;
  std::vector<const Value*> biases;
  bool one_row = false;  // holds for a batch of 1 alone
};

class RecurrenceRaiser {
 public:
  RecurrenceRaiser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes())
      if (node.op() == "Loop") raise(node);
    replaced_.remove();
  }

 private:
  void raise(Node& loop) {
    const Subgraph* subgraph = loop.attributes.get<Subgraph>("body");
    if (!subgraph || !*subgraph || loop.input_count() < 4) return;
    body_ = subgraph->get();
    carried_.clear();
    const size_t count = loop.input_count() - 2;
    if (body_->inputs().size() != count + 2 || body_->outputs().size() < count + 1 || !body_->states().empty()) return;
    for (size_t i = 0; i < count; ++i)
      carried_.push_back(
          {body_->inputs()[i + 2].get(), body_->outputs()[i + 1], loop.input(i + 2), i < loop.output_count() ? loop.output(i) : nullptr});
    const auto steps = steps_of(loop);
    const auto cell = steps ? find_cell() : std::nullopt;
    if (!cell || dim_of(*cell->x, 0) != *steps) return;
    const auto batch = dim_of(*cell->x, 1), features = dim_of(*cell->x, 2),
               columns = dim_of(*cell->of_h.weights, cell->of_h.transposed ? 0 : 1);
    if (!features || !columns || *columns % 4 != 0 || (cell->one_row && batch != 1)) return;
    const int64_t hidden = *columns / 4;
    const auto fits = [&](const Term& term, int64_t depth) {
      return term.weights->constant()->shape() == (term.transposed ? Shape{*columns, depth} : Shape{depth, *columns});
    };
    if (!fits(cell->of_x, *features) || !fits(cell->of_h, hidden)) return;
    for (const Value* bias : cell->biases)
      if (bias->constant()->elements() != *columns) return;
    // Everything that is seen of the loop must be the LSTM's.
    std::vector<Value*> sequences;
    const Value* h = carried_[cell->h].next;
    for (size_t i = 0; i < loop.output_count(); ++i) {
      Value* output = loop.output(i);
      if (!output || output->is_unused() || i == cell->h || i == cell->c) continue;
      if (i >= count) {
        if (body_->outputs()[i + 1] != h) return;
        sequences.push_back(output);
      } else if (is_list_of(carried_[i], *h)) {
        for (const Use& use : output->uses()) {
          if (use.node->op() != "ConcatFromSequence" || &use.node->graph() != &graph_ || int_attribute(*use.node, "axis", 0) != 0 ||
              int_attribute(*use.node, "new_axis", 0) != 1)
            return;
          sequences.push_back(use.node->output(0));
        }
        if (output->is_graph_output()) return;
      } else if (is_tensor_of(carried_[i], *h) && dim_of(*carried_[i].begin, 0) == *steps) {
        sequences.push_back(output);
      } else {
        return;
      }
    }
    make(loop, *cell, hidden, sequences);
  }

  // Counting.

  std::optional<size_t> carried_as(const Value* value) const {
    for (size_t i = 0; i < carried_.size(); ++i)
      if (carried_[i].in == value) return i;
    return {};
  }
  /// Where `value` is a counter's next number: which.
  std::optional<size_t> next_count(const Value* value) const {
    const Node* add = maker_of(stripped(value), "Add");
    for (size_t k = 0; add && k < 2; ++k)
      if (const auto i = carried_as(stripped(add->input(k))); i && is_scalar(add->input(1 - k), 1) && scalar_of(carried_[*i].begin))
        if (stripped(carried_[*i].next) == add->output(0)) return i;
    return {};
  }
  /// The number of the step, from 0.
  bool is_step(const Value* value) const {
    value = stripped(value);
    if (value == body_->inputs()[0].get()) return true;
    const auto i = carried_as(value);
    return i && next_count(carried_[*i].next) == i && is_scalar(carried_[*i].begin, 0);
  }
  bool is_next_step(const Value* value) const {
    const auto i = next_count(value);
    return i && is_scalar(carried_[*i].begin, 0);
  }
  /// Steps until `condition`, of the next step, is false: a constant number.
  std::optional<int64_t> steps_while(const Value* condition, int depth = 0) const {
    const Node* node = stripped(condition) ? stripped(condition)->producer() : nullptr;
    if (!node || depth > 4) return {};
    if (node->op() == "And") {
      const auto a = steps_while(node->input(0), depth + 1), b = steps_while(node->input(1), depth + 1);
      return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
    }
    const auto counter = node->op() == "Less" ? next_count(node->input(0)) : std::nullopt;
    const auto bound = scalar_of(stripped(node->input(1)));
    if (!counter || !bound) return {};
    return static_cast<int64_t>(*bound - *scalar_of(carried_[*counter].begin));
  }
  std::optional<int64_t> steps_of(const Node& loop) const {
    if (loop.input(1) && !is_scalar(loop.input(1), 1)) return {};
    const Value* condition = body_->outputs()[0];
    const bool always = condition == body_->inputs()[1].get() || is_scalar(condition, 1);
    const auto most = loop.input(0) ? scalar_of(loop.input(0)) : std::nullopt;
    if (loop.input(0) && !most) return {};
    std::optional<int64_t> steps;
    if (most) steps = static_cast<int64_t>(*most);
    if (!always) {
      const auto counted = steps_while(condition);
      if (!counted) return {};
      steps = steps ? std::min(*steps, *counted) : *counted;
    }
    return steps && *steps > 0 ? steps : std::nullopt;
  }

  // The cell.

  /// The value outside that `value` of the body is in every step.
  Value* outside(const Value* value) const {
    if (const auto i = carried_as(value)) return carried_[*i].next == value ? carried_[*i].begin : nullptr;
    return value && &value->graph() == &graph_ ? const_cast<Value*>(value) : nullptr;
  }
  /// What a step takes a row of: [steps, batch, features].
  Value* sequence_of(const Value* step) const {
    if (const Node* reshape = maker_of(step, "Reshape")) {  // to rows of features, which they are
      const auto shape = ints_of(reshape->input(1));
      Value* x = sequence_of(reshape->input(0));
      return x && rank_of(*x) == size_t{3} && shape && shape->size() == 2 && (*shape)[1] > 0 && dim_of(*x, 2) == (*shape)[1] ? x : nullptr;
    }
    const Node* node = step ? step->producer() : nullptr;
    if (!node || !is_step(node->input(1))) return nullptr;
    if (node->op() == "Gather" && int_attribute(*node, "axis", 0) == 0) return outside(node->input(0));
    if (node->op() != "SequenceAt") return nullptr;
    const Node* split = maker_of(outside(node->input(0)), "SplitToSequence");
    return split && !split->input(1) && int_attribute(*split, "axis", 0) == 0 && int_attribute(*split, "keepdims", 1) == 0 ? split->input(0)
                                                                                                                           : nullptr;
  }

  static bool is_gate(const Value* value, std::string_view function, const Node*& split, size_t& place) {
    const Node* node = maker_of(value, function);
    const Node* from = node ? maker_of(node->input(0), "Split") : nullptr;
    if (!from || from->output_count() != 4 || (split && split != from)) return false;
    split = from;
    place = node->input(0)->output_index();
    return true;
  }

  std::optional<Cell> find_cell() const {
    for (size_t h = 0; h < carried_.size(); ++h) {
      const Node* out = maker_of(carried_[h].next, "Mul");
      if (!out || carried_[h].next->type.dtype != DType::f32) continue;
      for (size_t k = 0; k < 2; ++k) {
        Cell cell;
        cell.h = h;
        const Node *split = nullptr, *tanh = maker_of(out->input(k), "Tanh");
        if (!tanh || !is_gate(out->input(1 - k), "Sigmoid", split, cell.place[1])) continue;
        const auto c = std::find_if(carried_.begin(), carried_.end(), [&](const Carried& each) { return each.next == tanh->input(0); });
        const Node* sum = maker_of(tanh->input(0), "Add");
        if (c == carried_.end() || !sum) continue;
        cell.c = static_cast<size_t>(c - carried_.begin());
        if (is_update(*sum, *c->in, split, cell) && are_gates(*split, cell)) return cell;
      }
    }
    return {};
  }
  /// f c + i g
  static bool is_update(const Node& sum, const Value& c, const Node*& split, Cell& cell) {
    for (size_t k = 0; k < 2; ++k) {
      const Node *keep = maker_of(sum.input(k), "Mul"), *add = maker_of(sum.input(1 - k), "Mul");
      if (!keep || !add || (keep->input(0) != &c && keep->input(1) != &c)) continue;
      if (!is_gate(other_input(*keep, &c), "Sigmoid", split, cell.place[2])) continue;
      for (size_t i = 0; i < 2; ++i)
        if (is_gate(add->input(i), "Sigmoid", split, cell.place[0]) && is_gate(add->input(1 - i), "Tanh", split, cell.place[3]))
          return true;
    }
    return false;
  }
  /// The sum of two products and biases, in four equal parts that the gates take one each.
  bool are_gates(const Node& split, Cell& cell) const {
    bool taken[4] = {};
    for (size_t place : cell.place) {
      if (place > 3 || taken[place]) return false;
      taken[place] = true;
    }
    const int64_t axis = int_attribute(split, "axis", 0);
    if (axis != 1 && axis != -1) return false;
    if (split.input(1)) {
      const auto sizes = ints_of(split.input(1));
      if (!sizes || std::any_of(sizes->begin(), sizes->end(), [&](int64_t size) { return size != (*sizes)[0]; })) return false;
    }
    return take_sum(split.input(0), cell, 0) && cell.of_x.weights && cell.of_h.weights;
  }
  bool take_sum(const Value* value, Cell& cell, int depth) const {
    if (!value || depth > 6) return false;
    if (value->constant()) {
      if (value->type.dtype != DType::f32) return false;
      cell.biases.push_back(value);
      return true;
    }
    const Node* node = value->producer();
    if (!node) return false;
    if (node->op() == "Add") return take_sum(node->input(0), cell, depth + 1) && take_sum(node->input(1), cell, depth + 1);
    if (node->op() == "Reshape" || node->op() == "Squeeze") {  // a row as a vector
      cell.one_row = true;
      return take_sum(node->input(0), cell, depth + 1);
    }
    if (node->op() != "MatMul" && node->op() != "Gemm") return false;
    Term term{node->input(0), node->input(1), int_attribute(*node, "transB", 0) != 0};
    if (!term.rows || !term.weights || !term.weights->constant() || term.weights->type.dtype != DType::f32) return false;
    if (term.weights->constant()->shape().rank() != 2) return false;
    if (node->op() == "Gemm") {
      if (int_attribute(*node, "transA", 0) != 0 || real_attribute(*node, "alpha", 1) != 1 || real_attribute(*node, "beta", 1) != 1)
        return false;
      if (node->input(2) && !(node->input(2)->constant() && take_sum(node->input(2), cell, depth + 1))) return false;
    }
    if (term.rows == carried_[cell.h].in) {
      if (cell.of_h.weights) return false;
      cell.of_h = term;
      return true;
    }
    cell.x = sequence_of(term.rows);
    if (!cell.x || cell.of_x.weights || rank_of(*cell.x) != size_t{3} || cell.x->type.dtype != DType::f32) return false;
    cell.of_x = term;
    return true;
  }

  // What comes out.

  /// A list whose element of this step becomes h.
  bool is_list_of(const Carried& list, const Value& h) const {
    const Node* insert = maker_of(list.next, "SequenceInsert");
    const Node* erase =
        insert && insert->input(1) == &h && is_step(insert->input(2)) ? maker_of(insert->input(0), "SequenceErase") : nullptr;
    return erase && erase->input(0) == list.in && is_step(erase->input(1));
  }
  /// A tensor whose row of this step becomes h: what lies before it, h, and what lies behind it, joined.
  bool is_tensor_of(const Carried& tensor, const Value& h) const {
    const Node* join = maker_of(tensor.next, "Concat");
    if (!join || join->input_count() != 3 || int_attribute(*join, "axis", 0) != 0 || stripped(join->input(1)) != stripped(&h)) return false;
    const Node *before = maker_of(join->input(0), "Slice"), *behind = maker_of(join->input(2), "Slice");
    if (!before || !behind || before->input(0) != tensor.in || behind->input(0) != tensor.in) return false;
    if (before->input(3) || behind->input(3) || before->input(4) || behind->input(4)) return false;
    const auto zeros = ints_of(before->input(1));
    if (!zeros || std::any_of(zeros->begin(), zeros->end(), [](int64_t begin) { return begin != 0; })) return false;
    return is_step(first_of(before->input(2))) && is_next_step(first_of(behind->input(1)));
  }
  /// The first of the numbers of a vector that is put together; ends that mean "all" are chosen by a Where.
  static const Value* first_of(const Value* value) {
    for (int depth = 0; depth < 8 && value && value->producer(); ++depth) {
      const Node& node = *value->producer();
      if (node.op() == "Where")
        value = node.input(2);
      else if (node.op() == "Cast" || node.op() == "Concat")
        value = node.input(0);
      else
        break;
    }
    return value;
  }

  Value& add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes, Node& before) {
    const std::string name[] = {graph_.fresh_name(before.output(0) ? before.output(0)->name() : op)};
    Node& node = graph_.add_node(op, inputs, name, std::move(attributes), before.name(), &before);
    infer_node(context_, node);
    return *node.output(0);
  }
  Value& vector(std::initializer_list<int64_t> values) { return add_ints(graph_, std::vector<int64_t>(values)); }

  /// Rows of gates [4 hidden, ...] in the operator's order, behind a dimension of 1.
  Value& in_order(Value& rows, const Cell& cell, int64_t hidden, Node& before) {
    std::vector<Value*> parts;
    for (size_t place : cell.place) {
      const int64_t begin = static_cast<int64_t>(place) * hidden;
      parts.push_back(&add("Slice", {&rows, &vector({begin}), &vector({begin + hidden}), &vector({0})}, {}, before));
    }
    return add("Unsqueeze", {&add("Concat", parts, {{"axis", int64_t{0}}}, before), &vector({0})}, {}, before);
  }
  Value& own(const Value& constant) { return graph_.add_constant(*constant.constant(), graph_.fresh_name(constant.name())); }
  Value& weights(const Term& term, const Cell& cell, int64_t hidden, Node& before) {
    Value* rows = &own(*term.weights);
    if (!term.transposed) rows = &add("Transpose", {rows}, {{"perm", Ints{1, 0}}}, before);
    return in_order(*rows, cell, hidden, before);
  }

  void make(Node& loop, const Cell& cell, int64_t hidden, const std::vector<Value*>& sequences) {
    context_.changed("{} is an LSTM over \"{}\"", label_of(loop), cell.x->name());
    Value* bias = nullptr;
    for (const Value* each : cell.biases) {
      Value& flat = add("Reshape", {&own(*each), &vector({4 * hidden})}, {}, loop);
      bias = bias ? &add("Add", {bias, &flat}, {}, loop) : &flat;
    }
    if (bias) {
      const std::vector<double> zeros(static_cast<size_t>(4 * hidden), 0);
      bias = &add("Concat", {&in_order(*bias, cell, hidden, loop), &add_reals(graph_, DType::f32, Shape{1, 4 * hidden}, zeros)},
                  {{"axis", int64_t{1}}}, loop);
    }
    const auto begin = [&](const Carried& state) { return &add("Unsqueeze", {state.begin, &vector({0})}, {}, loop); };
    const std::vector<Value*> inputs = {cell.x,
                                        &weights(cell.of_x, cell, hidden, loop),
                                        &weights(cell.of_h, cell, hidden, loop),
                                        bias,
                                        nullptr,
                                        begin(carried_[cell.h]),
                                        begin(carried_[cell.c])};
    std::vector<std::string> names;
    for (int i = 0; i < 3; ++i) names.push_back(graph_.fresh_name(cell.x->name()));
    Node& lstm = graph_.add_node("LSTM", inputs, names, {{"hidden_size", hidden}}, loop.name(), &loop);
    infer_node(context_, lstm);
    replaced_.add(loop);  // first: it goes with the last that reads it
    for (Value* sequence : sequences) {
      Node* before = sequence->producer();
      replace(*sequence, "Squeeze", {lstm.output(0), &vector({1})});
      if (before != &loop) replaced_.add(*before);
    }
    for (const auto& [state, made] : {std::pair(cell.h, lstm.output(1)), std::pair(cell.c, lstm.output(2))})
      if (Value* output = carried_[state].end; output && !output->is_unused()) replace(*output, "Squeeze", {made, &vector({0})});
  }

  Graph& graph_;
  PassContext& context_;
  Graph* body_ = nullptr;
  std::vector<Carried> carried_;
  DeadNodes replaced_;
};

}  // namespace

void raise_recurrences(Graph& graph, PassContext& context) { RecurrenceRaiser(graph, context).run(); }

}  // namespace minnow

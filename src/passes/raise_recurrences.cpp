// SPDX-License-Identifier: Apache-2.0
// A Loop that computes a recurrent layer step by step becomes the operator: LSTM (Hochreiter, Schmidhuber 1997, "Long Short-Term Memory",
// with a forget gate), GRU (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder", its reset gate before or behind
// the product) and RNN (Elman 1990, "Finding Structure in Time"). TensorFlow writes counters, lists of inputs and outputs, and one product
// for all gates. TFLite's converter turns the lists into tensors. MNN multiplies the input with all its weights before the loop, slices
// the result in each step, and keeps states as images of one pixel.
#include <algorithm>

#include "passes/recurrence.h"

namespace minnow {
namespace {

/// Adds nodes before the loop.
class LayerBuilder {
 public:
  /// `copies`: of constants of bodies, made in the graph around them.
  LayerBuilder(Graph& graph, PassContext& context, Node& before, std::map<const Value*, Value*>& copies)
      : graph_(graph), context_(context), before_(before), copies_(copies) {}
  Graph& graph() noexcept { return graph_; }
  PassContext& context() noexcept { return context_; }

  Value& add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes = {}) {
    const std::string name[] = {graph_.fresh_name(before_.output(0) ? before_.output(0)->name() : op)};
    Node& node = graph_.add_node(op, inputs, name, std::move(attributes), before_.name(), &before_);
    infer_node(context_, node);
    return *node.output(0);
  }
  Value& ints(const std::vector<int64_t>& values) { return add_ints(graph_, values); }
  Value& zeros(const Shape& shape) {
    return add_reals(graph_, DType::f32, shape, std::vector<double>(static_cast<size_t>(shape.elements()), 0));
  }
  /// The constant itself or, if it is a constant of the body, a copy in this graph.
  Value& own(const Value& constant) {
    if (&constant.graph() == &graph_) return const_cast<Value&>(constant);
    Value*& copy = copies_[&constant];
    if (!copy) copy = &graph_.add_constant(*constant.constant(), graph_.fresh_name(constant.name()));
    return *copy;
  }

 private:
  Graph& graph_;
  PassContext& context_;
  Node& before_;
  std::map<const Value*, Value*>& copies_;
};

// Outputs.

/// The index at which the body replaces an element of a list by h: the number of the step, or 0 in a list of one element.
std::optional<LinearInSteps> place_in_list(const LoopSteps& steps, const LoopSteps::Carried& list, const Value& h) {
  const Node* insert = made_by(list.next, "SequenceInsert");
  const Node* erase = insert && insert->input(1) == &h ? made_by(insert->input(0), "SequenceErase") : nullptr;
  if (!erase || erase->input(0) != list.in || !insert->input(2) || !erase->input(1)) return {};
  const auto place = steps.element(insert->input(2));
  if (!place || place != steps.element(erase->input(1))) return {};
  if (*place == LinearInSteps{1, 0, 0}) return place;
  // Something put in and taken out again leaves a list as it was.
  const Value* begin = list.begin;
  if (const Node* taken = made_by(begin, "SequenceErase"))
    if (const Node* put = made_by(taken->input(0), "SequenceInsert"); put && put->input(2) == taken->input(1) && put->input(2))
      begin = put->input(0);
  const Node* split = made_by(begin, "SplitToSequence");
  const bool of_one = split && !split->input(1) && int_attribute(*split, "axis", 0) == 0 && dim_of(*split->input(0), 0) == 1;
  return of_one && *place == LinearInSteps{} ? place : std::nullopt;
}

/// The number of the step and `more`, as the first of several numbers; ends that mean "all" are chosen by a Where.
bool is_step(const LoopSteps& steps, const Value* value, int64_t more) {
  for (int depth = 0; depth < 8 && value && value->producer(); ++depth) {
    const Node& node = *value->producer();
    if (node.op() == "Where")
      value = node.input(2);
    else if (node.op() == "Cast" || node.op() == "Concat")
      value = node.input(0);
    else
      break;
  }
  return steps.element(value) == LinearInSteps{1, 0, more};
}

/// True for a tensor whose row of this step is replaced by h: a Concat of the rows before it, h, and the rows after it.
bool is_tensor_of(const LoopSteps& steps, const LoopSteps::Carried& tensor, const Value& h) {
  const Node* join = made_by(tensor.next, "Concat");
  if (!join || join->input_count() != 3 || int_attribute(*join, "axis", 0) != 0 || LoopSteps::plain(join->input(1)) != LoopSteps::plain(&h))
    return false;
  const Node *before = made_by(join->input(0), "Slice"), *behind = made_by(join->input(2), "Slice");
  if (!before || !behind || before->input(0) != tensor.in || behind->input(0) != tensor.in) return false;
  if (before->input(3) || behind->input(3) || before->input(4) || behind->input(4)) return false;
  const auto zeros = ints_of(before->input(1));
  if (!zeros || std::any_of(zeros->begin(), zeros->end(), [](int64_t begin) { return begin != 0; })) return false;
  const auto& dims = tensor.begin->type.dims;
  return dims && !dims->empty() && steps.is_steps((*dims)[0]) && is_step(steps, before->input(2), 0) && is_step(steps, behind->input(1), 1);
}

/// A value outside the loop that the layer's output takes the place of.
struct Sequence {
  Value* value;
  Rows rows;             // of a step
  bool in_turn;          // steps come in the order in which they are computed, which may be backward
  bool is_last = false;  // the last step alone
};

/// The sequences in a list of the hidden states of all steps, if output i of the loop is one: its readers concatenate the list.
std::optional<std::vector<Sequence>> sequences_of_list(const Value& list, const LinearInSteps& place, const Rows& rows) {
  std::vector<Sequence> sequences;
  if (list.is_graph_output()) return {};
  for (const Use& use : list.uses()) {
    if (use.node->op() != "ConcatFromSequence" || &use.node->graph() != &list.producer()->graph() ||
        int_attribute(*use.node, "axis", 0) != 0 || int_attribute(*use.node, "new_axis", 0) != 1)
      return {};
    Rows joined = rows;
    joined.rank += place == LinearInSteps{} ? 1 : 0;
    sequences.push_back({use.node->output(0), joined, false, place == LinearInSteps{}});
  }
  return sequences;
}

/// The hidden states that output i of the loop consists of: those of some or all steps. Empty if the output is something else.
std::optional<std::vector<Sequence>> sequences_of(const LoopSteps& steps, const Cell& cell, StateRows& states, Value& output, size_t i) {
  const Value* h = steps.carried()[cell.h].next;
  if (i >= steps.carried().size()) {
    const Value* of_step = steps.body().outputs()[i + 1];
    if (LoopSteps::plain(of_step) != LoopSteps::plain(h)) return {};
    const auto rows = steps.rows_of(of_step, states.known);
    if (!rows || (rows->batch < 0) != (states.hidden.batch < 0)) return {};
    return std::vector<Sequence>{{&output, *rows, true}};
  }
  const LoopSteps::Carried& carried = steps.carried()[i];
  if (const auto place = place_in_list(steps, carried, *h)) return sequences_of_list(output, *place, states.hidden);
  if (LoopSteps::plain(carried.next) == LoopSteps::plain(h)) {
    const auto rows = steps.rows_of(carried.next, states.known);
    if (!rows) return {};
    return std::vector<Sequence>{{&output, *rows, false, true}};
  }
  if (is_tensor_of(steps, carried, *h) && rank_of(*carried.begin) == size_t{3})
    return std::vector<Sequence>{{&output, {0, 1, cell.hidden, 2, false}, false}};
  return {};
}

// Inputs.

/// x [steps, batch, features]. Returns null, without adding nodes, if its number of steps differs from the loop's.
Value* input_of(const LoopSteps& steps, const Cell& cell, const Rows& rows, LayerBuilder& builder) {
  Value* x = cell.source.value;
  if (!x || x->type.dtype != DType::f32) return nullptr;
  const Term& term = *cell.gates[0].plain.x;
  const int64_t features = term.weights->constant()->shape()[term.transposed ? 1 : 0];
  for (const Gate& gate : cell.gates)
    if (gate.plain.x->weights->constant()->shape()[gate.plain.x->transposed ? 1 : 0] != features) return nullptr;
  if (cell.source.batch == 0) {
    if (rank_of(*x) != size_t{3} || dim_of(*x, 2) != features || !steps.is_steps((*x->type.dims)[0])) return nullptr;
    return rows.single && dim_of(*x, 1) != 1 ? nullptr : x;
  }
  if (rows.single && cell.source.batch != 1) return nullptr;
  // Use the tensor from before the Reshape to rows, if that has the right shape.
  if (const Node* reshape = made_by(x, "Reshape")) {
    Value* before = reshape->input(0);
    if (rank_of(*before) == size_t{3} && steps.is_steps((*before->type.dims)[0]) && dim_of(*before, 1) == cell.source.batch &&
        dim_of(*before, 2) == features)
      return before;
  }
  Value& made = builder.add("Reshape", {x, &builder.ints({-1, cell.source.batch, features})});
  if (made.type.dims && steps.is_steps((*made.type.dims)[0])) return &made;
  remove_dead(*made.producer());
  return nullptr;
}

/// Zeros, perhaps as many as the batch has rows.
bool is_zero(const Value& value) {
  if (const Node* expand = made_by(&value, "Expand")) return is_scalar(expand->input(0), 0);
  const auto numbers = value.constant() && value.constant()->elements() < 1 << 20 ? reals_of(&value) : std::nullopt;
  return numbers && std::all_of(numbers->begin(), numbers->end(), [](double number) { return number == 0; });
}
/// True if the state has the batch of x already.
bool begins_as(const Value& begin, const Cell& cell, const Value& x) {
  const Dim& batch = (*x.type.dims)[1];
  Ints dims;
  for (const Dim& dim : *begin.type.dims) dims.push_back(dim.known() ? dim.size : -1);
  const auto rows = rows_among(dims, cell.hidden);
  if (rows->batch < 0) return batch.size == 1;
  const Dim& own = (*begin.type.dims)[begin.type.dims->size() - 1 - static_cast<size_t>(rows->batch)];
  return own == batch && (own.known() || !own.symbol.empty());
}

// The operator.

/// [1, gates * hidden, features]
Value& weights(LayerBuilder& builder, const std::vector<const Term*>& terms, int64_t hidden) {
  std::vector<Value*> parts;
  for (const Term* term : terms) {
    const int64_t axis = term->transposed ? 0 : 1;
    Value* part = &builder.add("Slice", {&builder.own(*term->weights), &builder.ints({term->begin}), &builder.ints({term->begin + hidden}),
                                         &builder.ints({axis})});
    if (!term->transposed) part = &builder.add("Transpose", {part}, {{"perm", Ints{1, 0}}});
    parts.push_back(part);
  }
  return builder.add("Unsqueeze", {&builder.add("Concat", parts, {{"axis", int64_t{0}}}), &builder.ints({0})});
}
/// [hidden]; null if there is none.
Value* bias_of(LayerBuilder& builder, const Sum& sum, int64_t hidden) {
  Value* total = nullptr;
  for (const Bias& bias : sum.biases) {
    Value* flat = &builder.add("Reshape", {&builder.own(*bias.value), &builder.ints({-1})});
    flat = &builder.add("Slice", {flat, &builder.ints({bias.begin}), &builder.ints({bias.begin + hidden}), &builder.ints({0})});
    if (total)
      total = &builder.add(bias.negative ? "Sub" : "Add", {total, flat});
    else
      total = bias.negative ? &builder.add("Neg", {flat}) : flat;
  }
  return total;
}
/// [1, 2 gates hidden]: of the inputs' products, then of the states'.
Value* biases(LayerBuilder& builder, const Cell& cell) {
  std::vector<Value*> parts;
  bool any = false;
  for (const bool recurrent : {false, true})
    for (const Gate& gate : cell.gates) {
      Value* bias = bias_of(builder, recurrent ? gate.reset : gate.plain, cell.hidden);
      any = any || bias;
      parts.push_back(bias ? bias : &builder.zeros(Shape{cell.hidden}));
    }
  return any ? &builder.add("Unsqueeze", {&builder.add("Concat", parts, {{"axis", int64_t{0}}}), &builder.ints({0})}) : nullptr;
}
/// [1, batch, hidden]
Value* begin_of(LayerBuilder& builder, Value* begin, int64_t hidden) {
  if (is_zero(*begin)) return nullptr;
  if (rank_of(*begin) == size_t{2}) return &builder.add("Unsqueeze", {begin, &builder.ints({0})});
  return &builder.add("Reshape", {begin, &builder.ints({1, -1, hidden})});
}
std::vector<int64_t> shape_of(const Rows& rows) {
  std::vector<int64_t> dims(rows.rank, 1);
  if (rows.batch >= 0) dims[rows.rank - 1 - static_cast<size_t>(rows.batch)] = -1;
  dims[rows.rank - 1 - static_cast<size_t>(rows.feature)] = rows.width;
  return dims;
}
/// Replaces `value`, whose last dimensions hold rows as `rows` says, by the operator's result `made`, [..., batch, hidden].
void put(LayerBuilder& builder, Value& value, Value& made, const Rows& rows, bool has_steps) {
  if (rows.rank == 2 && rows.feature == 0) {
    replace(value, "Squeeze", {&made, &builder.ints({has_steps ? 1 : 0})});
    return;
  }
  std::vector<int64_t> dims = shape_of(rows);
  if (has_steps) dims.insert(dims.begin(), 0);
  replace(value, "Reshape", {&made, &builder.ints(dims)});
}

void make_layer(const LoopSteps& steps, const Cell& cell, const StateRows& states, Value& x, const std::vector<Sequence>& sequences,
                Node& loop, LayerBuilder& builder, DeadNodes& replaced) {
  builder.context().changed("{} is {} {} over \"{}\"", label_of(loop), cell.op == "GRU" ? "a" : "an", cell.op, x.name());
  std::vector<const Term*> of_x, of_h;
  for (const Gate& gate : cell.gates) {
    of_x.push_back(&*gate.plain.x);
    of_h.push_back(gate.plain.h ? &*gate.plain.h : gate.plain.reset_h ? &*gate.plain.reset_h : &*gate.reset.h);
  }
  std::vector<Value*> inputs = {&x,
                                &weights(builder, of_x, cell.hidden),
                                &weights(builder, of_h, cell.hidden),
                                biases(builder, cell),
                                nullptr,
                                begin_of(builder, steps.carried()[cell.h].begin, cell.hidden)};
  if (cell.has_c) inputs.push_back(begin_of(builder, steps.carried()[cell.c].begin, cell.hidden));
  while (!inputs.back()) inputs.pop_back();
  std::vector<std::string> names;
  for (int i = 0; i < (cell.has_c ? 3 : 2); ++i) names.push_back(builder.graph().fresh_name(x.name()));
  Attributes attributes{{"hidden_size", cell.hidden}};
  if (cell.source.backward) attributes.set("direction", std::string("reverse"));
  if (cell.op == "GRU" && cell.gates[2].reset.h) attributes.set("linear_before_reset", int64_t{1});
  Node& layer = builder.graph().add_node(cell.op, inputs, names, std::move(attributes), loop.name(), &loop);
  infer_node(builder.context(), layer);
  replaced.add(loop);  // first, so that it is removed together with its last reader
  for (const Sequence& sequence : sequences) {
    Node* before = sequence.value->producer();
    Value* y = layer.output(0);
    if (sequence.in_turn && cell.source.backward)
      y = &builder.add("Slice", {y, &builder.ints({-1}), &builder.ints({INT64_MIN}), &builder.ints({0}), &builder.ints({-1})});
    if (sequence.is_last) {
      replace(*sequence.value, "Reshape", {layer.output(1), &builder.ints(shape_of(sequence.rows))});
    } else {
      put(builder, *sequence.value, *y, sequence.rows, true);
    }
    if (before != &loop) replaced.add(*before);
  }
  KnownRows known = states.known;
  const auto put_state = [&](size_t state, Value& made) {
    Value* output = steps.carried()[state].end;
    if (output && !output->is_unused()) put(builder, *output, made, *steps.rows_of(steps.carried()[state].next, known), false);
  };
  put_state(cell.h, *layer.output(1));
  if (cell.has_c) put_state(cell.c, *layer.output(2));
}

void raise(Graph& graph, PassContext& context, Node& loop, std::map<const Value*, Value*>& copies, DeadNodes& replaced) {
  const LoopSteps steps(graph, loop);
  if (!steps.valid()) return;
  const auto cell = find_cell(steps);
  if (!cell) return;
  auto states = rows_of_states(steps, *cell);
  if (!states) return;
  // Everything that is seen of the loop must be the layer's.
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < loop.output_count(); ++i) {
    Value* output = loop.output(i);
    if (!output || output->is_unused() || i == cell->h || (cell->has_c && i == cell->c)) continue;
    const auto found = sequences_of(steps, *cell, *states, *output, i);
    if (!found) return;
    sequences.insert(sequences.end(), found->begin(), found->end());
  }
  LayerBuilder builder(graph, context, loop, copies);
  Value* x = input_of(steps, *cell, states->hidden, builder);
  if (!x) return;
  for (size_t i : {cell->h, cell->c})
    if (Value* begin = steps.carried()[i].begin; !is_zero(*begin) && !begins_as(*begin, *cell, *x)) return;
  make_layer(steps, *cell, *states, *x, sequences, loop, builder, replaced);
}

}  // namespace

void raise_recurrences(Graph& graph, PassContext& context) {
  std::map<const Value*, Value*> copies;
  DeadNodes replaced;
  for (Node& node : graph.nodes())
    if (node.op() == "Loop") raise(graph, context, node, copies, replaced);
  replaced.remove();
}

}  // namespace minnow

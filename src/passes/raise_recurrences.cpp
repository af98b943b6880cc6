// SPDX-License-Identifier: Apache-2.0
// A Loop that computes a recurrent layer step by step becomes the operator: LSTM (Hochreiter, Schmidhuber 1997, "Long Short-Term Memory",
// with a forget gate), GRU (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder", its reset gate before or behind
// the product) and RNN (Elman 1990, "Finding Structure in Time"). TensorFlow writes it with counters, lists of what goes in and comes out,
// and one product for all gates; TFLite's converter makes tensors of the lists; MNN's multiplies the input with all its weights before the
// loop, takes slices of that, and keeps states as images of one pixel.
#include <algorithm>
#include <map>
#include <numeric>

#include "passes/loop_steps.h"

namespace minnow {
namespace {

/// Columns [begin, begin + hidden) of a matrix that rows are multiplied with: [rows, columns], or the other way round.
struct Term {
  const Value* weights = nullptr;
  bool transposed = false;
  int64_t begin = 0;
};
struct Bias {
  const Value* value;
  int64_t begin;
  bool negative;
};
/// Products with a step's input, with the hidden state, and with its product with the reset gate; and numbers.
struct Sum {
  std::optional<Term> x, h, reset_h;
  std::vector<Bias> biases;
};
/// What a gate's function is applied to.
struct Gate {
  Sum plain, reset;  // reset: what the reset gate is multiplied with
};

struct Cell {
  std::string_view op;
  std::vector<Gate> gates;  // in the operator's order
  size_t h = 0, c = 0;      // of what is carried
  bool has_c = false;
  int64_t hidden = 0;
  Rows rows;  // of the hidden state
};

/// A sequence as the loop takes it apart: [steps, batch, features], or rows that lie one behind another.
struct Source {
  Value* value = nullptr;
  int64_t batch = 0;  // of rows
  bool backward = false;
  friend bool operator==(const Source&, const Source&) = default;
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
  const std::vector<LoopSteps::Carried>& carried() const { return steps_->carried(); }

  void raise(Node& loop) {
    const LoopSteps steps(graph_, loop);
    if (!steps.valid()) return;
    steps_ = &steps;
    auto cell = find_cell();
    if (!cell || !keeps_rows(*cell)) return;
    // Everything that is seen of the loop must be the layer's.
    std::vector<Sequence> sequences;
    const Value* h = carried()[cell->h].next;
    for (size_t i = 0; i < loop.output_count(); ++i) {
      Value* output = loop.output(i);
      if (!output || output->is_unused() || i == cell->h || (cell->has_c && i == cell->c)) continue;
      if (i >= carried().size()) {
        if (LoopSteps::plain(steps.body().outputs()[i + 1]) != LoopSteps::plain(h)) return;
        const auto rows = steps.rows_of(steps.body().outputs()[i + 1], known_);
        if (!rows || (rows->batch < 0) != (cell->rows.batch < 0)) return;
        sequences.push_back({output, *rows, true});
      } else if (const auto place = place_in_list(carried()[i], *h)) {
        for (const Use& use : output->uses()) {
          if (use.node->op() != "ConcatFromSequence" || &use.node->graph() != &graph_ || int_attribute(*use.node, "axis", 0) != 0 ||
              int_attribute(*use.node, "new_axis", 0) != 1)
            return;
          Rows rows = cell->rows;
          rows.rank += *place == Linear{} ? 1 : 0;
          sequences.push_back({use.node->output(0), rows, false, *place == Linear{}});
        }
        if (output->is_graph_output()) return;
      } else if (plain(carried()[i].next) == plain(h)) {
        const auto rows = steps.rows_of(carried()[i].next, known_);
        if (!rows) return;
        sequences.push_back({output, *rows, false, true});
      } else if (is_tensor_of(carried()[i], *h) && rank_of(*carried()[i].begin) == size_t{3}) {
        sequences.push_back({output, {0, 1, cell->hidden, 2, false}, false});
      } else {
        return;
      }
    }
    Value* x = input_of(*cell, loop);
    if (!x) return;
    for (size_t i : {cell->h, cell->c})
      if (Value* begin = carried()[i].begin; !is_zero(*begin) && !begins_as(*begin, *cell, *x)) return;
    make(loop, *cell, *x, sequences);
  }

  struct Sequence {
    Value* value;
    Rows rows;             // of a step
    bool in_turn;          // steps come in the order in which they are computed, which may be backward
    bool is_last = false;  // the last step alone
  };

  // The cell.

  static const Value* plain(const Value* value) { return LoopSteps::plain(value); }
  static const Node* maker_of(const Value* value, std::string_view op) { return made_by(plain(value), op); }
  bool is_carried(const Value* value, size_t i) const { return plain(value) == carried()[i].in; }

  /// What the gates' functions see, and how many features a state has.
  std::optional<Cell> find_cell() {
    for (size_t h = 0; h < carried().size(); ++h) {
      const Value* next = plain(carried()[h].next);
      if (!next || next->type.dtype != DType::f32 || carried()[h].begin->type.dtype != DType::f32) continue;
      for (auto find : {&RecurrenceRaiser::find_lstm, &RecurrenceRaiser::find_gru, &RecurrenceRaiser::find_rnn}) {
        Cell cell;
        cell.h = cell.c = h;
        source_ = {};
        if ((this->*find)(*next, cell)) return cell;
      }
    }
    return {};
  }

  bool find_lstm(const Value& next, Cell& cell) {
    const Node* out = made_by(&next, "Mul");
    for (size_t k = 0; out && k < 2; ++k) {
      const Node *tanh = maker_of(out->input(k), "Tanh"), *o = maker_of(out->input(1 - k), "Sigmoid");
      const Node* sum = tanh ? maker_of(tanh->input(0), "Add") : nullptr;
      if (!o || !sum) continue;
      const auto c = std::find_if(carried().begin(), carried().end(), [&](const auto& each) { return plain(each.next) == sum->output(0); });
      if (c == carried().end()) continue;
      cell.c = static_cast<size_t>(c - carried().begin());
      cell.has_c = true;
      for (size_t i = 0; i < 2; ++i) {  // f c + i g
        const Node *keep = maker_of(sum->input(i), "Mul"), *add = maker_of(sum->input(1 - i), "Mul");
        if (!keep || !add || is_carried(keep->input(0), cell.c) == is_carried(keep->input(1), cell.c)) continue;
        const Node* f = maker_of(keep->input(is_carried(keep->input(0), cell.c) ? 1 : 0), "Sigmoid");
        for (size_t j = 0; f && j < 2; ++j) {
          const Node *in = maker_of(add->input(j), "Sigmoid"), *g = maker_of(add->input(1 - j), "Tanh");
          if (in && g) return take_gates(cell, "LSTM", {in, o, f, g}, nullptr);
        }
      }
    }
    return false;
  }

  /// (1 - z) g + z h, or g - z (g - h), or g + z (h - g).
  bool find_gru(const Value& next, Cell& cell) {
    const Node* node = next.producer();
    if (!node || (node->op() != "Add" && node->op() != "Sub")) return false;
    const bool adds = node->op() == "Add";
    const Node *z = nullptr, *g = nullptr;
    for (size_t k = 0; k < (adds ? 2u : 1u) && !z; ++k) {
      const Node *outer = maker_of(node->input(k), "Tanh"), *product = maker_of(node->input(1 - k), "Mul");
      for (size_t i = 0; outer && product && i < 2 && !z; ++i) {
        const Node *gate = maker_of(product->input(i), "Sigmoid"), *difference = maker_of(product->input(1 - i), "Sub");
        if (gate && difference && maker_of(difference->input(adds ? 1 : 0), "Tanh") == outer &&
            is_carried(difference->input(adds ? 0 : 1), cell.h))
          z = gate, g = outer;
      }
      const Node *keep = maker_of(node->input(k), "Mul"), *take = maker_of(node->input(1 - k), "Mul");
      for (size_t i = 0; adds && keep && take && i < 4 && !z; ++i) {
        const Node *gate = maker_of(keep->input(i / 2), "Sigmoid"), *rest = maker_of(take->input(i % 2), "Sub");
        const Node* candidate = maker_of(take->input(1 - i % 2), "Tanh");
        if (gate && rest && candidate && is_carried(keep->input(1 - i / 2), cell.h) && is_scalar(rest->input(0), 1) &&
            maker_of(rest->input(1), "Sigmoid") == gate)
          z = gate, g = candidate;
      }
    }
    if (!z) return false;
    const Node* r = reset_of(g->input(0), 0);
    return r && take_gates(cell, "GRU", {z, r, g}, r) && is_gru(cell);
  }
  /// The gate among what is added up before the candidate's function: it multiplies the state, or the state's product.
  const Node* reset_of(const Value* value, int depth) const {
    const Node* node = plain(value) ? plain(value)->producer() : nullptr;
    if (!node || depth > 6) return nullptr;
    if (node->op() == "Mul")
      for (size_t k = 0; k < 2; ++k)
        if (const Node* gate = maker_of(node->input(k), "Sigmoid")) return gate;
    if (node->op() != "Add" && node->op() != "Sub" && node->op() != "Gemm" && node->op() != "MatMul" && node->op() != "Split" &&
        node->op() != "Slice")
      return nullptr;
    const Node* found = reset_of(node->input(0), depth + 1);
    return found || (node->op() != "Add" && node->op() != "Sub") ? found : reset_of(node->input(1), depth + 1);
  }
  static bool is_gru(const Cell& cell) {
    for (size_t i = 0; i < 2; ++i)
      if (!cell.gates[i].plain.h || cell.gates[i].plain.reset_h || cell.gates[i].reset.h || !cell.gates[i].reset.biases.empty())
        return false;
    const Gate& candidate = cell.gates[2];
    if (candidate.plain.h || bool(candidate.plain.reset_h) == bool(candidate.reset.h)) return false;
    return candidate.reset.h || candidate.reset.biases.empty();
  }

  bool find_rnn(const Value& next, Cell& cell) { return made_by(&next, "Tanh") && take_gates(cell, "RNN", {next.producer()}, nullptr); }

  /// Each gate as a sum of products and numbers.
  bool take_gates(Cell& cell, std::string_view op, const std::vector<const Node*>& functions, const Node* reset) {
    cell.op = op;
    h_ = cell.h;
    reset_ = reset;
    cell.hidden = 0;
    for (const Node* function : functions) {
      Gate& gate = cell.gates.emplace_back();
      if (!take(function->input(0), 0, false, gate, false, 0) || !gate.plain.x) return false;
      if (op != "GRU" && !gate.plain.h) return false;
    }
    // Rows of the recurrent weights are as many as a state has features.
    for (const Gate& gate : cell.gates)
      for (const auto& term : {gate.plain.h, gate.plain.reset_h, gate.reset.h})
        if (term) {
          const int64_t depth = term->weights->constant()->shape()[term->transposed ? 1 : 0];
          if (cell.hidden != 0 && cell.hidden != depth) return false;
          cell.hidden = depth;
        }
    return cell.hidden > 1;
  }

  bool take(const Value* value, int64_t begin, bool negative, Gate& gate, bool in_reset, int depth) {
    value = plain(value);
    if (!value || depth > 10) return false;
    Sum& sum = in_reset ? gate.reset : gate.plain;
    if (value->constant()) return value->type.dtype == DType::f32 && (sum.biases.push_back({value, begin, negative}), true);
    if (!negative && !in_reset)
      if (const auto step = steps_->taken(value)) return take_outside(*step, begin, sum);
    const Node* node = value->producer();
    if (!node) return false;
    const std::string_view op = node->op();
    const auto further = [&](size_t i, bool sign) { return take(node->input(i), begin, sign, gate, in_reset, depth + 1); };
    if (op == "Add") return further(0, negative) && further(1, negative);
    if (op == "Sub") return further(0, negative) && further(1, !negative);
    if (op == "Split") {
      const auto place = first_column(*node, value->output_index(), plain(node->input(0)));
      return place && take(node->input(0), begin + *place, negative, gate, in_reset, depth + 1);
    }
    if (op == "Slice") {
      const auto columns = columns_of(*node);
      return columns && take(node->input(0), begin + columns->begin, negative, gate, in_reset, depth + 1);
    }
    if (op == "Mul" && reset_ && !in_reset) {
      for (size_t k = 0; k < 2; ++k)
        if (maker_of(node->input(k), "Sigmoid") == reset_) return take(node->input(1 - k), begin, negative, gate, true, depth + 1);
      return false;
    }
    if ((op != "MatMul" && op != "Gemm") || negative) return false;
    const auto term = term_of(*node, begin, sum);
    if (!term) return false;
    const Value* rows = plain(node->input(0));
    if (is_carried(rows, h_)) return put(sum.h, *term);
    if (const Node* product = made_by(rows, "Mul"); product && reset_ && !in_reset)
      for (size_t k = 0; k < 2; ++k)
        if (maker_of(product->input(k), "Sigmoid") == reset_ && is_carried(product->input(1 - k), h_)) return put(sum.reset_h, *term);
    const auto step = in_reset ? std::nullopt : steps_->taken(rows);
    return step && put(sum.x, *term) && put_source({step->source, step->batch, step->backward});
  }
  static bool put(std::optional<Term>& place, const Term& term) { return !place && (place = term, true); }
  bool put_source(const Source& source) {
    if (!source_.value) source_ = source;
    return source == source_;
  }
  /// How many features a row has.
  std::optional<int64_t> width_of(const Value* value, int depth) const {
    value = plain(value);
    if (const auto step = steps_->taken(value)) return step->rows.width;
    const Node* node = value ? value->producer() : nullptr;
    if (!node || depth > 6) return {};
    if (node->op() == "MatMul" || node->op() == "Gemm") {
      const Tensor* weights = node->input(1) ? node->input(1)->constant() : nullptr;
      if (!weights || weights->shape().rank() != 2) return {};
      return weights->shape()[int_attribute(*node, "transB", 0) != 0 ? 0 : 1];
    }
    if (node->op() != "Add") return {};
    const auto width = width_of(node->input(0), depth + 1);
    return width ? width : width_of(node->input(1), depth + 1);
  }
  /// Where a part of a Split begins; `from` is its input without reshapes.
  std::optional<int64_t> first_column(const Node& split, size_t output, const Value* from) const {
    const auto sizes = split.input(1) ? ints_of(split.input(1)) : std::nullopt;
    if (sizes)
      return output < sizes->size()
                 ? std::optional(std::accumulate(sizes->begin(), sizes->begin() + static_cast<std::ptrdiff_t>(output), int64_t{0}))
                 : std::nullopt;
    const auto width = width_of(from, 0);
    const int64_t parts = static_cast<int64_t>(split.output_count());
    return !split.input(1) && width && *width % parts == 0 ? std::optional(static_cast<int64_t>(output) * (*width / parts)) : std::nullopt;
  }
  /// The product's weights; its bias goes to the sum.
  static std::optional<Term> term_of(const Node& product, int64_t begin, Sum& sum) {
    const Term term{product.input(1), int_attribute(product, "transB", 0) != 0, begin};
    if (!product.input(0) || !term.weights || !term.weights->constant() || term.weights->type.dtype != DType::f32) return {};
    if (term.weights->constant()->shape().rank() != 2) return {};
    if (product.op() == "Gemm") {
      if (int_attribute(product, "transA", 0) != 0 || real_attribute(product, "alpha", 1) != 1 || real_attribute(product, "beta", 1) != 1)
        return {};
      if (const Value* bias = product.input(2)) {
        if (!bias->constant() || bias->type.dtype != DType::f32) return {};
        sum.biases.push_back({bias, begin, false});
      }
    }
    return term;
  }
  /// What a step takes was multiplied with its weights before the loop.
  bool take_outside(const TakenStep& step, int64_t begin, Sum& sum) {
    const Value* value = plain(step.source);
    const Node* node = value ? value->producer() : nullptr;
    if (node && node->op() == "Add")
      for (size_t k = 0; k < 2; ++k)
        if (node->input(k) && node->input(k)->constant() && node->input(k)->type.dtype == DType::f32) {
          sum.biases.push_back({node->input(k), begin, false});
          value = plain(node->input(1 - k));
          node = value ? value->producer() : nullptr;
          break;
        }
    if (!node || (node->op() != "Gemm" && node->op() != "MatMul")) return false;
    const auto term = term_of(*node, begin, sum);
    const auto columns = dim_of(*value, -1);
    const auto rank = rank_of(*value);
    if (!term || !columns || *columns != step.rows.width || !rank || !put(sum.x, *term)) return false;
    // Rows of all steps one behind another, or [steps, batch, features].
    int64_t batch = step.batch;
    if (*rank == 2 && batch == 0) {
      const auto second = dim_of(*step.source, 1);
      if (!second) return false;
      batch = *second;
    }
    if (*rank != 2 && (*rank != 3 || batch != 0 || !same_shape_but_last(*value, *step.source))) return false;
    return put_source({node->input(0), batch, step.backward});
  }
  static bool same_shape_but_last(const Value& a, const Value& b) {
    if (!a.type.dims || !b.type.dims || a.type.dims->size() != b.type.dims->size()) return false;
    for (size_t i = 0; i + 1 < a.type.dims->size(); ++i) {
      const Dim &one = (*a.type.dims)[i], &other = (*b.type.dims)[i];
      if (!(one == other) || (!one.known() && one.symbol.empty())) return false;
    }
    return true;
  }

  /// True where rows stay rows: in the first step, with what the states are at the beginning, and in those after it.
  bool keeps_rows(Cell& cell) {
    std::vector<size_t> states = {cell.h};
    if (cell.has_c) states.push_back(cell.c);
    std::map<size_t, Rows> now;
    for (size_t i : states) {
      const Value& begin = *carried()[i].begin;
      if (!begin.type.dims) return false;
      Ints dims;
      for (const Dim& dim : *begin.type.dims) dims.push_back(dim.known() ? dim.size : -1);
      const auto rows = rows_among(dims, cell.hidden);
      if (!rows) return false;
      now[i] = *rows;
    }
    for (int round = 0; round < 2; ++round) {
      known_.clear();
      for (size_t i : states) known_[carried()[i].in] = now[i];
      for (size_t i : states) {
        const auto rows = steps_->rows_of(carried()[i].next, known_);
        if (!rows || rows->width != cell.hidden || rows->feature != now[i].feature || (now[i].batch >= 0 && rows->batch != now[i].batch))
          return false;
        cell.rows.single = cell.rows.single || rows->single || rows->batch < 0;
        now[i] = *rows;
      }
    }
    now[cell.h].single = cell.rows.single;
    cell.rows = now[cell.h];
    return fits(cell);
  }
  bool fits(const Cell& cell) const {
    const auto within = [&](const std::optional<Term>& term) {
      return !term || term->begin + cell.hidden <= term->weights->constant()->shape()[term->transposed ? 0 : 1];
    };
    const auto held = [&](const Sum& sum) {
      return within(sum.x) && within(sum.h) && within(sum.reset_h) &&
             std::all_of(sum.biases.begin(), sum.biases.end(),
                         [&](const Bias& bias) { return bias.begin + cell.hidden <= bias.value->constant()->elements(); });
    };
    return std::all_of(cell.gates.begin(), cell.gates.end(), [&](const Gate& gate) { return held(gate.plain) && held(gate.reset); });
  }

  // What comes out.

  /// The place in a list where h is put in place of what was there: the number of the step, or 0 in a list of one element.
  std::optional<Linear> place_in_list(const LoopSteps::Carried& list, const Value& h) const {
    const Node* insert = made_by(list.next, "SequenceInsert");
    const Node* erase = insert && insert->input(1) == &h ? made_by(insert->input(0), "SequenceErase") : nullptr;
    if (!erase || erase->input(0) != list.in || !insert->input(2) || !erase->input(1)) return {};
    const auto place = steps_->element(insert->input(2));
    if (!place || place != steps_->element(erase->input(1))) return {};
    if (*place == Linear{1, 0, 0}) return place;
    // Something put in and taken out again leaves a list as it was.
    const Value* begin = list.begin;
    if (const Node* taken = made_by(begin, "SequenceErase"))
      if (const Node* put = made_by(taken->input(0), "SequenceInsert"); put && put->input(2) == taken->input(1) && put->input(2))
        begin = put->input(0);
    const Node* split = made_by(begin, "SplitToSequence");
    const bool of_one = split && !split->input(1) && int_attribute(*split, "axis", 0) == 0 && dim_of(*split->input(0), 0) == 1;
    return of_one && *place == Linear{} ? place : std::nullopt;
  }
  /// A tensor whose row of this step becomes h: what lies before it, h, and what lies behind it, joined.
  bool is_tensor_of(const LoopSteps::Carried& tensor, const Value& h) const {
    const Node* join = made_by(tensor.next, "Concat");
    if (!join || join->input_count() != 3 || int_attribute(*join, "axis", 0) != 0 || plain(join->input(1)) != plain(&h)) return false;
    const Node *before = made_by(join->input(0), "Slice"), *behind = made_by(join->input(2), "Slice");
    if (!before || !behind || before->input(0) != tensor.in || behind->input(0) != tensor.in) return false;
    if (before->input(3) || behind->input(3) || before->input(4) || behind->input(4)) return false;
    const auto zeros = ints_of(before->input(1));
    if (!zeros || std::any_of(zeros->begin(), zeros->end(), [](int64_t begin) { return begin != 0; })) return false;
    const auto& dims = tensor.begin->type.dims;
    return dims && !dims->empty() && steps_->is_steps((*dims)[0]) && is_step(before->input(2), 0) && is_step(behind->input(1), 1);
  }
  /// The number of the step and `more`, as the first of several numbers; ends that mean "all" are chosen by a Where.
  bool is_step(const Value* value, int64_t more) const {
    for (int depth = 0; depth < 8 && value && value->producer(); ++depth) {
      const Node& node = *value->producer();
      if (node.op() == "Where")
        value = node.input(2);
      else if (node.op() == "Cast" || node.op() == "Concat")
        value = node.input(0);
      else
        break;
    }
    return steps_->element(value) == Linear{1, 0, more};
  }

  /// x [steps, batch, features]; null, and nothing made, where it has another number of steps than the loop.
  Value* input_of(const Cell& cell, Node& loop) {
    Value* x = source_.value;
    if (!x || x->type.dtype != DType::f32) return nullptr;
    const Term& term = *cell.gates[0].plain.x;
    const int64_t features = term.weights->constant()->shape()[term.transposed ? 1 : 0];
    for (const Gate& gate : cell.gates)
      if (gate.plain.x->weights->constant()->shape()[gate.plain.x->transposed ? 1 : 0] != features) return nullptr;
    if (source_.batch == 0) {
      if (rank_of(*x) != size_t{3} || dim_of(*x, 2) != features || !steps_->is_steps((*x->type.dims)[0])) return nullptr;
      return cell.rows.single && dim_of(*x, 1) != 1 ? nullptr : x;
    }
    if (cell.rows.single && source_.batch != 1) return nullptr;
    // What the rows were before they were rows, if that is it.
    if (const Node* reshape = made_by(x, "Reshape")) {
      Value* before = reshape->input(0);
      if (rank_of(*before) == size_t{3} && steps_->is_steps((*before->type.dims)[0]) && dim_of(*before, 1) == source_.batch &&
          dim_of(*before, 2) == features)
        return before;
    }
    Value& made = add("Reshape", {x, &vector({-1, source_.batch, features})}, {}, loop);
    if (made.type.dims && steps_->is_steps((*made.type.dims)[0])) return &made;
    remove_dead(*made.producer());
    return nullptr;
  }

  // The operator.

  /// Zeros, perhaps as many as the batch has rows.
  static bool is_zero(const Value& value) {
    if (const Node* expand = made_by(&value, "Expand")) return is_scalar(expand->input(0), 0);
    const auto numbers = value.constant() && value.constant()->elements() < 1 << 20 ? reals_of(&value) : std::nullopt;
    return numbers && std::all_of(numbers->begin(), numbers->end(), [](double number) { return number == 0; });
  }
  /// True where the state has the batch of x already.
  bool begins_as(const Value& begin, const Cell& cell, const Value& x) const {
    const Dim& batch = (*x.type.dims)[1];
    Ints dims;
    for (const Dim& dim : *begin.type.dims) dims.push_back(dim.known() ? dim.size : -1);
    const auto rows = rows_among(dims, cell.hidden);
    if (rows->batch < 0) return batch.size == 1;
    const Dim& own = (*begin.type.dims)[begin.type.dims->size() - 1 - static_cast<size_t>(rows->batch)];
    return own == batch && (own.known() || !own.symbol.empty());
  }

  Value& add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes, Node& before) {
    const std::string name[] = {graph_.fresh_name(before.output(0) ? before.output(0)->name() : op)};
    Node& node = graph_.add_node(op, inputs, name, std::move(attributes), before.name(), &before);
    infer_node(context_, node);
    return *node.output(0);
  }
  Value& vector(std::initializer_list<int64_t> values) { return add_ints(graph_, std::vector<int64_t>(values)); }
  Value& own(const Value& constant) {
    if (&constant.graph() == &graph_) return const_cast<Value&>(constant);
    Value*& copy = copies_[&constant];
    if (!copy) copy = &graph_.add_constant(*constant.constant(), graph_.fresh_name(constant.name()));
    return *copy;
  }
  Value& zeros(const Shape& shape) {
    return add_reals(graph_, DType::f32, shape, std::vector<double>(static_cast<size_t>(shape.elements()), 0));
  }

  /// [1, gates * hidden, features]
  Value& weights(const std::vector<const Term*>& terms, int64_t hidden, Node& before) {
    std::vector<Value*> parts;
    for (const Term* term : terms) {
      const int64_t axis = term->transposed ? 0 : 1;
      Value* part =
          &add("Slice", {&own(*term->weights), &vector({term->begin}), &vector({term->begin + hidden}), &vector({axis})}, {}, before);
      if (!term->transposed) part = &add("Transpose", {part}, {{"perm", Ints{1, 0}}}, before);
      parts.push_back(part);
    }
    return add("Unsqueeze", {&add("Concat", parts, {{"axis", int64_t{0}}}, before), &vector({0})}, {}, before);
  }
  /// [hidden]; null where there is none.
  Value* bias_of(const Sum& sum, int64_t hidden, Node& before) {
    Value* total = nullptr;
    for (const Bias& bias : sum.biases) {
      Value* flat = &add("Reshape", {&own(*bias.value), &vector({-1})}, {}, before);
      flat = &add("Slice", {flat, &vector({bias.begin}), &vector({bias.begin + hidden}), &vector({0})}, {}, before);
      if (total)
        total = &add(bias.negative ? "Sub" : "Add", {total, flat}, {}, before);
      else
        total = bias.negative ? &add("Neg", {flat}, {}, before) : flat;
    }
    return total;
  }
  /// [1, 2 gates hidden]: of the inputs' products, then of the states'.
  Value* biases(const Cell& cell, Node& before) {
    std::vector<Value*> parts;
    bool any = false;
    for (const bool recurrent : {false, true})
      for (const Gate& gate : cell.gates) {
        Value* bias = bias_of(recurrent ? gate.reset : gate.plain, cell.hidden, before);
        any = any || bias;
        parts.push_back(bias ? bias : &zeros(Shape{cell.hidden}));
      }
    return any ? &add("Unsqueeze", {&add("Concat", parts, {{"axis", int64_t{0}}}, before), &vector({0})}, {}, before) : nullptr;
  }
  /// [1, batch, hidden]
  Value* begin_of(size_t state, int64_t hidden, Node& before) {
    Value* begin = carried()[state].begin;
    if (is_zero(*begin)) return nullptr;
    if (rank_of(*begin) == size_t{2}) return &add("Unsqueeze", {begin, &vector({0})}, {}, before);
    return &add("Reshape", {begin, &vector({1, -1, hidden})}, {}, before);
  }
  static std::vector<int64_t> shape_of(const Rows& rows) {
    std::vector<int64_t> dims(rows.rank, 1);
    if (rows.batch >= 0) dims[rows.rank - 1 - static_cast<size_t>(rows.batch)] = -1;
    dims[rows.rank - 1 - static_cast<size_t>(rows.feature)] = rows.width;
    return dims;
  }
  /// Puts what the operator made, [..., batch, hidden], in the place of `value`, whose last dimensions hold rows so.
  void put(Value& value, Value& made, const Rows& rows, bool has_steps) {
    if (rows.rank == 2 && rows.feature == 0) {
      replace(value, "Squeeze", {&made, &vector({has_steps ? 1 : 0})});
      return;
    }
    std::vector<int64_t> dims = shape_of(rows);
    if (has_steps) dims.insert(dims.begin(), 0);
    replace(value, "Reshape", {&made, &add_ints(graph_, dims)});
  }

  void make(Node& loop, const Cell& cell, Value& x, const std::vector<Sequence>& sequences) {
    context_.changed("{} is {} {} over \"{}\"", label_of(loop), cell.op == "GRU" ? "a" : "an", cell.op, x.name());
    std::vector<const Term*> of_x, of_h;
    for (const Gate& gate : cell.gates) {
      of_x.push_back(&*gate.plain.x);
      of_h.push_back(gate.plain.h ? &*gate.plain.h : gate.plain.reset_h ? &*gate.plain.reset_h : &*gate.reset.h);
    }
    std::vector<Value*> inputs = {&x,      &weights(of_x, cell.hidden, loop),  &weights(of_h, cell.hidden, loop), biases(cell, loop),
                                  nullptr, begin_of(cell.h, cell.hidden, loop)};
    if (cell.has_c) inputs.push_back(begin_of(cell.c, cell.hidden, loop));
    while (!inputs.back()) inputs.pop_back();
    std::vector<std::string> names;
    for (int i = 0; i < (cell.has_c ? 3 : 2); ++i) names.push_back(graph_.fresh_name(x.name()));
    Attributes attributes{{"hidden_size", cell.hidden}};
    if (source_.backward) attributes.set("direction", std::string("reverse"));
    if (cell.op == "GRU" && cell.gates[2].reset.h) attributes.set("linear_before_reset", int64_t{1});
    Node& layer = graph_.add_node(cell.op, inputs, names, std::move(attributes), loop.name(), &loop);
    infer_node(context_, layer);
    replaced_.add(loop);  // first: it goes with the last that reads it
    for (const Sequence& sequence : sequences) {
      Node* before = sequence.value->producer();
      Value* y = layer.output(0);
      if (sequence.in_turn && source_.backward)
        y = &add("Slice", {y, &vector({-1}), &vector({INT64_MIN}), &vector({0}), &vector({-1})}, {}, loop);
      if (sequence.is_last) {
        replace(*sequence.value, "Reshape", {layer.output(1), &add_ints(graph_, shape_of(sequence.rows))});
      } else {
        put(*sequence.value, *y, sequence.rows, true);
      }
      if (before != &loop) replaced_.add(*before);
    }
    const auto put_state = [&](size_t state, Value& made) {
      Value* output = carried()[state].end;
      if (output && !output->is_unused()) put(*output, made, *steps_->rows_of(carried()[state].next, known_), false);
    };
    put_state(cell.h, *layer.output(1));
    if (cell.has_c) put_state(cell.c, *layer.output(2));
  }

  Graph& graph_;
  PassContext& context_;
  const LoopSteps* steps_ = nullptr;
  size_t h_ = 0;
  const Node* reset_ = nullptr;
  Source source_;
  std::unordered_map<const Value*, std::optional<Rows>> known_;
  std::map<const Value*, Value*> copies_;
  DeadNodes replaced_;
};

}  // namespace

void raise_recurrences(Graph& graph, PassContext& context) { RecurrenceRaiser(graph, context).run(); }

}  // namespace minnow

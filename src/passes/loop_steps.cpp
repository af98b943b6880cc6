// SPDX-License-Identifier: Apache-2.0
#include "passes/loop_steps.h"

#include <algorithm>

namespace minnow {
namespace {

constexpr int kDeepestStep = 24;

/// Skips nodes that change neither integers nor their order.
const Value* stripped(const Value* value) {
  while (value && value->producer() && (value->producer()->op() == "Cast" || keeps_elements(*value->producer())))
    value = value->producer()->input(0);
  return value;
}

std::optional<int64_t> checked(int64_t a, int64_t b, bool times) {
  int64_t result;
  if (times ? __builtin_mul_overflow(a, b, &result) : __builtin_add_overflow(a, b, &result)) return {};
  return result;
}
std::optional<LinearInSteps> sum_of(const LinearInSteps& a, const LinearInSteps& b, int64_t factor) {  // a + factor * b
  const auto term = [&](int64_t x, int64_t y) {
    const auto scaled = checked(y, factor, true);
    return scaled ? checked(x, *scaled, false) : std::nullopt;
  };
  const auto step = term(a.step, b.step), trips = term(a.trips, b.trips), constant = term(a.constant, b.constant);
  return step && trips && constant ? std::optional(LinearInSteps{*step, *trips, *constant}) : std::nullopt;
}

Ints dims_of(const Value& value) {
  Ints dims;
  for (const Dim& dim : *value.type.dims) dims.push_back(dim.known() ? dim.size : -1);
  return dims;
}

/// The combination of both; empty if they contradict each other.
std::optional<Rows> joined(const Rows& a, const Rows& b) {
  const auto either = [](int x, int y) { return x < 0 ? y : x; };
  if (a.feature >= 0 && b.feature >= 0 && (a.feature != b.feature || a.width != b.width)) return {};
  if (a.batch >= 0 && b.batch >= 0 && a.batch != b.batch) return {};
  const Rows both{either(a.feature, b.feature), either(a.batch, b.batch), a.feature < 0 ? b.width : a.width, std::max(a.rank, b.rank),
                  a.single || b.single};
  return both.batch >= 0 && both.batch == both.feature ? std::nullopt : std::optional(both);
}

}  // namespace

std::optional<Rows> rows_among(const Ints& dims, int64_t width) {
  Rows rows{-1, -1, width, dims.size(), false};
  for (size_t i = dims.size(); i-- > 0;) {
    const int place = static_cast<int>(dims.size() - 1 - i);
    if (dims[i] == 1 && width != 1) continue;
    if (rows.feature < 0) {
      if (dims[i] != width) return {};
      rows.feature = place;
    } else if (dims[i] != 1) {
      if (rows.batch >= 0) return {};
      rows.batch = place;
    }
  }
  return rows.feature < 0 ? std::nullopt : std::optional(rows);
}

std::optional<Columns> columns_of(const Node& slice) {
  const auto begin = ints_of(slice.input(1)), end = ints_of(slice.input(2));
  if (!begin || !end || begin->size() != end->size()) return {};
  Ints axes(begin->size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  if (slice.input(3)) {
    const auto given = ints_of(slice.input(3));
    if (!given || given->size() != axes.size()) return {};
    axes = *given;
  }
  if (slice.input(4)) {
    const auto strides = ints_of(slice.input(4));
    if (!strides || std::any_of(strides->begin(), strides->end(), [](int64_t stride) { return stride != 1; })) return {};
  }
  std::optional<Columns> found;
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool to_the_end = (*end)[i] >= INT32_MAX;
    if ((*begin)[i] == 0 && to_the_end) continue;
    if (found || (*begin)[i] < 0 || (*end)[i] <= (*begin)[i]) return {};
    found = Columns{axes[i], (*begin)[i], to_the_end ? INT64_MAX : (*end)[i]};
  }
  return found;
}

LoopSteps::LoopSteps(const Graph& graph, Node& loop) : graph_(graph) {
  const Subgraph* subgraph = loop.attributes.get<Subgraph>("body");
  if (!subgraph || !*subgraph || loop.input_count() < 3) return;
  const Graph& body = **subgraph;
  const size_t count = loop.input_count() - 2;
  if (body.inputs().size() != count + 2 || body.outputs().size() < count + 1 || !body.states().empty()) return;
  for (size_t i = 0; i < count; ++i) {
    if (!loop.input(i + 2)) return;
    carried_.push_back(
        {body.inputs()[i + 2].get(), body.outputs()[i + 1], loop.input(i + 2), i < loop.output_count() ? loop.output(i) : nullptr});
  }
  body_ = &body;
  const Value* condition = body.outputs()[0];
  const bool always = condition == body.inputs()[1].get() || is_scalar(condition, 1);
  std::optional<Dim> most;
  if (loop.input(0) && !(most = size_in(loop.input(0)))) return;
  if (always) {
    steps_ = most;
  } else {
    steps_ = steps_while(condition, 0);
    if (most && steps_ && !(*most == *steps_)) {
      if (most->known() && steps_->known())
        steps_->size = std::min(most->size, steps_->size);
      else
        steps_.reset();
    }
  }
  if (loop.input(1) && !is_scalar(loop.input(1), 1) && !(steps_ && begins(loop.input(1), 0))) steps_.reset();
  if (steps_ && (steps_->known() ? steps_->size < 1 : steps_->symbol.empty())) steps_.reset();
}

const Value* LoopSteps::plain(const Value* value) {
  while (value && value->producer() && keeps_elements(*value->producer())) value = value->producer()->input(0);
  return value;
}

std::optional<size_t> LoopSteps::carried_as(const Value* value) const {
  for (size_t i = 0; i < carried_.size(); ++i)
    if (carried_[i].in == value) return i;
  return {};
}

Value* LoopSteps::outside(const Value* value) const {
  if (const auto i = carried_as(value)) return carried_[*i].next == value ? carried_[*i].begin : nullptr;
  return value && &value->graph() == &graph_ ? const_cast<Value*>(value) : nullptr;
}

/// A number, or a dimension of a shape.
std::optional<Dim> LoopSteps::size_in(const Value* value) const {
  value = stripped(value);
  for (int i = 0; i < kDeepestStep && value && carried_as(value); ++i) value = stripped(outside(value));
  if (!value) return {};
  if (value->constant()) {
    const auto numbers = ints_of(value);
    return numbers && numbers->size() == 1 ? std::optional(Dim{(*numbers)[0], {}}) : std::nullopt;
  }
  const Node* node = value->producer();
  if (!node || (node->op() != "Gather" && node->op() != "Slice")) return {};
  const Value* from = outside(node->input(0));
  while (from && from->producer() && (from->producer()->op() == "Cast" || from->producer()->op() == "Identity"))
    from = from->producer()->input(0);
  const Node* shape = made_by(from, "Shape");
  if (!shape || !shape->input(0) || !shape->input(0)->type.dims || int_attribute(*shape, "start", 0) != 0) return {};
  const auto& dims = *shape->input(0)->type.dims;
  const auto begin = ints_of(node->input(1));
  if (!begin || begin->size() != 1) return {};
  const int64_t rank = static_cast<int64_t>(dims.size()), place = (*begin)[0] < 0 ? (*begin)[0] + rank : (*begin)[0];
  if (place < 0 || place >= rank || int_attribute(*node, "axis", 0) != 0) return {};
  if (node->op() == "Slice") {
    const auto end = ints_of(node->input(2));
    if (!end || end->size() != 1 || ((*end)[0] < 0 ? (*end)[0] + rank : (*end)[0]) != place + 1) return {};
    if (node->input(3) && ints_of(node->input(3)) != Ints{0}) return {};
    if (node->input(4) && ints_of(node->input(4)) != Ints{1}) return {};
  }
  return dims[static_cast<size_t>(place)];
}

/// True if the condition means 0 < T.
bool LoopSteps::begins(const Value* condition, int depth) const {
  const Node* node = stripped(condition) ? stripped(condition)->producer() : nullptr;
  if (!node || depth > 4) return false;
  if (node->op() == "And") return begins(node->input(0), depth + 1) && begins(node->input(1), depth + 1);
  const auto size = node->op() == "Less" && is_scalar(node->input(0), 0) ? size_in(node->input(1)) : std::nullopt;
  return size && is_steps(*size);
}

/// Steps until `condition`, of the step after, is false.
std::optional<Dim> LoopSteps::steps_while(const Value* condition, int depth) const {
  const Node* node = stripped(condition) ? stripped(condition)->producer() : nullptr;
  if (!node || depth > 4) return {};
  if (node->op() == "And") {
    const auto a = steps_while(node->input(0), depth + 1), b = steps_while(node->input(1), depth + 1);
    if (!a || !b || *a == *b) return a && b ? a : std::nullopt;
    if (!a->known() || !b->known()) return {};
    return Dim{std::min(a->size, b->size), {}};
  }
  if (node->op() != "Less") return {};
  const auto next = element(node->input(0));
  const auto bound = size_in(node->input(1));
  if (!next || next->step != 1 || next->trips != 0 || !bound) return {};
  if (bound->known()) return Dim{bound->size - next->constant + 1, {}};
  return next->constant == 1 ? bound : std::nullopt;
}

std::optional<LinearInSteps> LoopSteps::element(const Value* value, size_t place, int depth) const {
  if (!value || depth > kDeepestStep) return {};
  if (value->constant()) {
    const auto numbers = ints_of(value);
    if (!numbers || numbers->empty() || (numbers->size() > 1 && numbers->size() <= place)) return {};
    return LinearInSteps{0, 0, (*numbers)[numbers->size() == 1 ? 0 : place]};
  }
  if (value == body_->inputs()[0].get()) return LinearInSteps{1, 0, 0};
  if (const auto i = carried_as(value)) {
    const Carried& each = carried_[*i];
    if (each.next == value) return element(each.begin, place, depth + 1);
    const Node* add = made_by(stripped(each.next), "Add");
    for (size_t k = 0; add && k < 2; ++k) {
      const auto begin = scalar_of(each.begin);
      if (stripped(add->input(k)) == value && is_scalar(add->input(1 - k), 1) && begin)
        return LinearInSteps{1, 0, static_cast<int64_t>(*begin)};
    }
    return {};
  }
  if (const auto size = size_in(value)) {
    if (size->known()) return LinearInSteps{0, 0, size->size};
    return steps_ && is_steps(*size) ? std::optional(LinearInSteps{0, 1, 0}) : std::nullopt;
  }
  const Node* node = value->producer();
  if (!node) return {};
  const std::string_view op = node->op();
  const auto of = [&](size_t i) { return element(node->input(i), place, depth + 1); };
  if (op == "Cast" || keeps_elements(*node)) return of(0);
  if (op == "Concat") {
    for (size_t i = 0; i < node->input_count(); ++i) {
      const auto count = node->input(i) && rank_of(*node->input(i)) == size_t{1} ? dim_of(*node->input(i), 0) : std::nullopt;
      if (!count) return {};
      if (place < static_cast<size_t>(*count)) return element(node->input(i), place, depth + 1);
      place -= static_cast<size_t>(*count);
    }
    return {};
  }
  if (op == "Where") return is_false(node->input(0), place, depth + 1) ? of(2) : std::nullopt;
  if (op != "Add" && op != "Sub" && op != "Mul") return {};
  const auto a = of(0), b = of(1);
  if (!a || !b) return {};
  if (op != "Mul") return sum_of(*a, *b, op == "Add" ? 1 : -1);
  if (a->step == 0 && a->trips == 0) return sum_of({}, *b, a->constant);
  if (b->step == 0 && b->trips == 0) return sum_of({}, *a, b->constant);
  return {};
}

/// True if the element is false in every step. Writers of files guard ends of slices so that count from the back.
bool LoopSteps::is_false(const Value* value, size_t place, int depth) const {
  if (!value || depth > kDeepestStep) return false;
  if (value->constant()) {
    const auto numbers = ints_of(value);
    return numbers && !numbers->empty() && (numbers->size() == 1 || place < numbers->size()) &&
           (*numbers)[numbers->size() == 1 ? 0 : place] == 0;
  }
  const Node* node = value->producer();
  if (!node) return false;
  const auto of = [&](size_t i) { return is_false(node->input(i), place, depth + 1); };
  if (node->op() == "Identity" || node->op() == "Reshape") return of(0);
  if (node->op() == "Or") return of(0) && of(1);
  if (node->op() == "And") return of(0) || of(1);
  if (node->op() != "Less") return false;
  const auto a = element(node->input(0), place, depth + 1), b = element(node->input(1), place, depth + 1);
  const auto difference = a && b ? sum_of(*a, *b, -1) : std::nullopt;
  if (!difference) return false;
  // a - b is least in the first step or in the last one.
  if (difference->trips < 0 || difference->trips + difference->constant < 0) return false;
  if (difference->trips + difference->step >= 0) return true;
  if (!steps_ || !steps_->known()) return false;
  const auto last = checked(difference->trips + difference->step, steps_->size, true);
  return last && *last - difference->step + difference->constant >= 0;
}

/// t * batch, or (T - 1 - t) * batch.
bool LoopSteps::is_at(const std::optional<LinearInSteps>& value, int64_t batch, bool& backward) const {
  if (!value) return false;
  backward = value->step < 0;
  if (!backward) return *value == LinearInSteps{batch, 0, 0};
  if (value->step != -batch) return false;
  if (steps_->known()) return value->trips * steps_->size + value->constant == (steps_->size - 1) * batch;
  return value->trips == batch && value->constant == -batch;
}

std::optional<TakenStep> LoopSteps::taken_by_slice(const Node& slice) const {
  TakenStep step;
  step.source = outside(slice.input(0));
  if (!step.source || !step.source->type.dims) return {};
  const Ints dims = dims_of(*step.source);
  if (slice.input(3)) {
    const auto axes = ints_of(slice.input(3));
    if (!axes || axes->empty() || (*axes)[0] != 0) return {};
    for (size_t i = 0; i < axes->size(); ++i)
      if ((*axes)[i] != static_cast<int64_t>(i)) return {};
  }
  if (slice.input(4)) {
    const auto strides = ints_of(slice.input(4));
    if (!strides || std::any_of(strides->begin(), strides->end(), [](int64_t stride) { return stride != 1; })) return {};
  }
  const auto count = slice.input(1) && rank_of(*slice.input(1)) == size_t{1} ? dim_of(*slice.input(1), 0) : std::nullopt;
  if (!count || *count < 1 || *count > static_cast<int64_t>(dims.size())) return {};
  for (size_t i = 1; i < static_cast<size_t>(*count); ++i) {
    const auto begin = element(slice.input(1), i), end = element(slice.input(2), i);
    if (begin != LinearInSteps{} || !end || end->step != 0 || end->trips != 0 || dims[i] < 0 || end->constant < dims[i]) return {};
  }
  const auto begin = element(slice.input(1)), end = element(slice.input(2));
  const auto length = begin && end ? sum_of(*end, *begin, -1) : std::nullopt;
  if (!length || length->step != 0 || length->trips != 0 || length->constant < 1) return {};
  const int64_t batch = length->constant;
  if (!is_at(begin, batch, step.backward)) return {};
  if (dims.size() == 3 && batch == 1 && dims[2] > 1) {  // [steps, batch, features]
    step.rows = {0, 1, dims[2], 3, false};
    return step;
  }
  step.batch = batch;
  Ints row = dims;
  row[0] = 1;
  const int64_t width = *std::max_element(row.begin(), row.end());
  const auto rows = rows_among(row, width);
  if (!rows || rows->batch >= 0) return {};
  step.rows = *rows;
  step.rows.batch = static_cast<int>(dims.size()) - 1;
  return step.rows.feature == step.rows.batch ? std::nullopt : std::optional(step);
}

/// True for a single number without dimensions.
bool LoopSteps::is_count(const Value* value) const {
  while (value && value->producer() && (value->producer()->op() == "Cast" || value->producer()->op() == "Identity"))
    value = value->producer()->input(0);
  const auto i = carried_as(value);
  return value && rank_of(i ? *carried_[*i].begin : *value) == size_t{0};
}

std::optional<TakenStep> LoopSteps::taken(const Value* value) const {
  const Node* node = value ? value->producer() : nullptr;
  if (!node) return {};
  if (node->op() == "Slice" && &node->graph() == body_) return taken_by_slice(*node);
  TakenStep step;
  if (node->op() == "Gather" && int_attribute(*node, "axis", 0) == 0 && is_count(node->input(1))) {
    step.source = outside(node->input(0));
  } else if (node->op() == "SequenceAt") {
    const Node* split = made_by(outside(node->input(0)), "SplitToSequence");
    if (split && !split->input(1) && int_attribute(*split, "axis", 0) == 0 && int_attribute(*split, "keepdims", 1) == 0)
      step.source = split->input(0);
  }
  if (!step.source || !is_at(element(node->input(1)), 1, step.backward)) return {};
  const auto width = rank_of(*step.source) == size_t{3} ? dim_of(*step.source, 2) : std::nullopt;
  if (!width) return {};
  step.rows = {0, 1, *width, 2, false};
  return step;
}

std::optional<Rows> LoopSteps::rows_of(const Value* value, std::unordered_map<const Value*, std::optional<Rows>>& known, int depth) const {
  if (!value || depth > 2 * kDeepestStep) return {};
  if (const auto found = known.find(value); found != known.end()) return found->second;
  const auto find = [&]() -> std::optional<Rows> {
    if (const Tensor* tensor = value->constant()) {
      const Shape& shape = tensor->shape();
      if (tensor->elements() == 1) return Rows{.rank = shape.rank()};
      const Ints dims(shape.begin(), shape.end());
      const auto rows = rows_among(dims, *std::max_element(dims.begin(), dims.end()));
      return rows && rows->batch < 0 ? rows : std::nullopt;
    }
    if (const auto step = taken(value)) return step->rows;
    const Node* node = value->producer();
    if (!node || &node->graph() != body_) return {};
    const std::string_view op = node->op();
    const auto of = [&](size_t i) { return rows_of(node->input(i), known, depth + 1); };
    if (op == "Identity" || op == "Sigmoid" || op == "Tanh") return of(0);
    if (op == "Add" || op == "Sub" || op == "Mul") {
      const auto a = of(0), b = of(1);
      return a && b ? joined(*a, *b) : std::nullopt;
    }
    if (op == "Reshape" || op == "Squeeze" || op == "Unsqueeze") {
      const auto rows = of(0);
      auto dims = op == "Reshape" ? ints_of(node->input(1)) : std::nullopt;
      if (!dims && value->type.dims) dims = dims_of(*value);
      if (!dims && op == "Squeeze" && !node->input(1) && rows && rows->feature >= 0)  // of one row
        return Rows{0, -1, rows->width, 1, true};
      if (!rows || !dims || std::count(dims->begin(), dims->end(), -1) > 1 || std::count(dims->begin(), dims->end(), 0)) return {};
      if (std::count(dims->begin(), dims->end(), rows->width) == 0) std::replace(dims->begin(), dims->end(), int64_t{-1}, rows->width);
      auto made = rows_among(*dims, rows->width);
      if (made) made->single = rows->single || (rows->batch >= 0 && made->batch < 0);
      return made;
    }
    if (op == "Split") {
      auto rows = of(0);
      const int64_t axis = int_attribute(*node, "axis", 0);
      if (!rows || (axis < 0 ? -1 - axis : static_cast<int64_t>(rows->rank) - 1 - axis) != rows->feature) return {};
      const auto sizes = node->input(1) ? ints_of(node->input(1)) : std::nullopt;
      const int64_t parts = static_cast<int64_t>(node->output_count());
      if (node->input(1) ? !sizes || static_cast<int64_t>(sizes->size()) != parts : rows->width % parts != 0) return {};
      rows->width = sizes ? (*sizes)[value->output_index()] : rows->width / parts;
      return rows;
    }
    if (op == "Slice") {
      auto rows = of(0);
      const auto columns = columns_of(*node);
      if (!rows || !columns) return {};
      const int64_t axis = columns->axis < 0 ? -1 - columns->axis : static_cast<int64_t>(rows->rank) - 1 - columns->axis;
      const int64_t end = std::min(columns->end, rows->width);
      if (axis != rows->feature || columns->begin >= end) return {};
      rows->width = end - columns->begin;
      return rows;
    }
    if (op == "MatMul" || op == "Gemm") {
      auto rows = of(0);
      const bool transposed = int_attribute(*node, "transB", 0) != 0;
      const Tensor* weights = node->input(1) ? node->input(1)->constant() : nullptr;
      if (!rows || rows->feature != 0 || rows->batch > 1 || !weights || weights->shape().rank() != 2) return {};
      rows->width = weights->shape()[transposed ? 0 : 1];
      if (const auto bias = op == "Gemm" && node->input(2) ? of(2) : std::optional(*rows)) return joined(*rows, *bias);
    }
    return {};
  };
  const auto found = find();
  known[value] = found;
  return found;
}

}  // namespace minnow

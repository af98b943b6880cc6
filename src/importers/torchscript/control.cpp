// SPDX-License-Identifier: Apache-2.0
// Branches and loops: decided while importing if they can be, else If and Loop.
#include <algorithm>

#include "importers/torchscript/interpreter.h"
#include "passes/rewrite.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

constexpr int64_t kMostUnrolled = 64;        // iterations of a loop whose count is known, before it becomes a Loop
constexpr int64_t kMostUnrolledEver = 4096;  // if it cannot become one
constexpr int kMostTries = 12;               // until a loop's variables have settled

template <class F>
void Interpreter::inside(Inner& inner, F&& body) {
  TypedBuilder* const outer = p_;
  p_ = &inner.body->builder;
  struct Back {
    TypedBuilder*& place;
    TypedBuilder* value;
    ~Back() { place = value; }
  } back{p_, outer};
  body();
}

// If.

Interpreter::Inner Interpreter::follow(const Block& block, Frame& frame) {
  Inner inner;
  inner.body = std::make_unique<InnerGraph>(*p_);
  const std::unordered_map<std::string, Item> variables = frame.variables;
  spend(variables.size() / 16);
  mark();
  inside(inner, [&] {
    try {
      run(block, frame);
    } catch (const Raised& raised) {
      inner.raised = true;
      inner.message = raised.message;
    } catch (...) {
      roll_back();
      throw;
    }
  });
  inner.changes = roll_back();
  inner.variables = std::move(frame.variables);
  frame.variables = variables;
  return inner;
}

/// Joins the results of two branches to one item; differing values become outputs of both.
struct Interpreter::Joiner {
  Interpreter& interpreter;
  Inner &first, &second;
  Exprs first_outputs, second_outputs, results;
  bool collecting = true;
  size_t at = 0;
  int depth = 0;

  Expr in(Inner& inner, const Item& item, DType type) {
    Expr x;
    interpreter.inside(inner, [&] {
      TypedBuilder& p = *interpreter.p_;
      if (item.is(Kind::tensor)) {
        x = interpreter.expr(item);
        if (type != DType::undefined) x = p.cast(x, type);
      } else if (item.symbol()) {
        x = p.cast(p.wrap(item.symbol()), type);
      } else if (item.is(Kind::integer) && type == DType::i64) {
        x = p.constant({item.integer()});
      } else {
        x = p.reshape(p.scalar(item.is_number() ? item.real() : 0, type), Ints{1});
      }
    });
    return x;
  }
  Expr pair(const Expr& a, const Expr& b) {
    if (collecting) {
      first_outputs.push_back(a);
      second_outputs.push_back(b);
      return a;
    }
    return results[at++];
  }

  static DType number_type(const Item& a, const Item& b) {
    const auto type = [](const Item& item) {
      return item.is(Kind::real) ? DType::f64 : item.is(Kind::integer) ? DType::i64 : DType::boolean;
    };
    const DType x = type(a), y = type(b);
    return x == y ? x : x == DType::f64 || y == DType::f64 ? DType::f64 : DType::i64;
  }
  static Kind kind_of(DType type) { return type == DType::f64 ? Kind::real : type == DType::i64 ? Kind::integer : Kind::boolean; }

  Expr sequence(Inner& inner, const ListObject& list) {
    if (list.sequence) return interpreter.p_->wrap(list.sequence);
    Expr x;
    interpreter.inside(inner, [&] {
      Exprs items;
      for (const Item& item : list.items) items.push_back(interpreter.expr(item));
      x = items.empty() ? interpreter.p_->op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(DType::f32)}})
                        : interpreter.p_->op("SequenceConstruct", items);
    });
    return x;
  }
  static bool all_tensors(const ListObject& list) {
    return list.sequence || std::all_of(list.items.begin(), list.items.end(), [](const Item& item) { return item.is(Kind::tensor); });
  }

  Item join(const Item& a, const Item& b) {
    if (a.is(Kind::refused) || b.is(Kind::refused)) return Item::of_kind(Kind::refused);
    if (a.is(Kind::uninitialized) || b.is(Kind::uninitialized)) {
      const Item& other = a.is(Kind::uninitialized) ? b : a;
      if ((a.is(Kind::uninitialized) && a.has_text()) || (b.is(Kind::uninitialized) && b.has_text()))
        return a.has_text() && a.is(Kind::uninitialized) ? a : b;
      if (other.is(Kind::uninitialized) || other.is_known() || other.is(Kind::text) || other.is_none()) return other;
      if (other.is_number()) {
        const DType type = number_type(other, other);
        return Item::symbol(other.kind(), pair(in(first, a, type), in(second, b, type)));
      }
      if (other.is(Kind::tensor)) {
        const DType type = interpreter.p_->dtype(in(a.is(Kind::tensor) ? first : second, other, DType::undefined));
        return Item::tensor(pair(in(first, a, type), in(second, b, type)));
      }
      return Item::unreadable("a variable is read that only one branch assigns");
    }
    if (a.object() && a.object() == b.object()) return a;
    if (a.is_number() && b.is_number()) {
      if (a.is_known() && b.is_known() && a.kind() == b.kind() && a.integer() == b.integer() && a.real() == b.real()) return a;
      if (a.symbol() && a.symbol() == b.symbol()) return a;
      const DType type = number_type(a, b);
      return Item::symbol(kind_of(type), pair(in(first, a, type), in(second, b, type)));
    }
    if (a.is(Kind::tensor) && b.is(Kind::tensor)) return tensor(a, b);
    if (a.is(Kind::text) && b.is(Kind::text)) return a.text() == b.text() ? a : Item::text("");
    if (a.kind() == b.kind() && (a.is_none() || a.is(Kind::class_name) || a.is(Kind::function))) return a;
    if (++depth > 50) throw Unsupported("{}: containers lie in each other very deep", interpreter.source_);
    interpreter.spend(16);  // a shared object is visited once per reference
    Item made = container(a, b);
    --depth;
    return made;
  }
  Item tensor(const Item& a, const Item& b) {
    if (a.as_tensor().quantization != b.as_tensor().quantization)
      return Item::unreadable("a tensor is quantized differently in two branches");
    const Expr x = in(first, a, DType::undefined), y = in(second, b, DType::undefined);
    if (x.value() == y.value()) return a;
    return Item::tensor(pair(x, y));
  }
  Item container(const Item& a, const Item& b) {
    if (a.is(Kind::tuple) && b.is(Kind::tuple) && a.as_tuple().items.size() == b.as_tuple().items.size()) {
      Item made = Item::tuple({});
      made.as_tuple().class_name = a.as_tuple().class_name;
      for (size_t i = 0; i < a.as_tuple().items.size(); ++i)
        made.as_tuple().items.push_back(join(a.as_tuple().items[i], b.as_tuple().items[i]));
      return interpreter.keep(made);
    }
    if (a.is(Kind::list) && b.is(Kind::list)) {
      Item made = Item::list();
      list(a.as_list(), b.as_list(), made.as_list());
      return interpreter.keep(made);
    }
    if (a.is(Kind::dict) && b.is(Kind::dict)) {
      Item made = Item::object(Kind::dict, std::make_shared<DictObject>());
      dict(a.as_dict(), b.as_dict(), made.as_dict());
      return interpreter.keep(made);
    }
    return Item::unreadable(format("a variable is read that is {} or {}, which only data tells", describe(a), describe(b)));
  }
  void list(const ListObject& a, const ListObject& b, ListObject& made) {
    made.element = a.element;
    if (!a.sequence && !b.sequence && a.items.size() == b.items.size()) {
      Items items;
      for (size_t i = 0; i < a.items.size(); ++i) items.push_back(join(a.items[i], b.items[i]));
      made.items = std::move(items);
      return;
    }
    if (!all_tensors(a) || !all_tensors(b))
      throw Unsupported("{}: a list has {} or {} items, which only data tells", interpreter.source_, a.items.size(), b.items.size());
    made.sequence = pair(sequence(first, a), sequence(second, b)).value();
    made.items.clear();
  }
  void dict(const DictObject& a, const DictObject& b, DictObject& made) {
    if (a.items.size() != b.items.size()) throw Unsupported("{}: the keys of a dictionary depend on data", interpreter.source_);
    std::vector<std::pair<Item, Item>> items;
    for (size_t i = 0; i < a.items.size(); ++i) items.emplace_back(a.items[i].first, join(a.items[i].second, b.items[i].second));
    made.items = std::move(items);
  }
  /// The states of one object.
  void state(const Object& a, const Object& b, Object& made) {
    if (const auto* x = dynamic_cast<const ListObject*>(&a)) {
      list(*x, static_cast<const ListObject&>(b), static_cast<ListObject&>(made));
    } else if (const auto* tuple = dynamic_cast<const TupleObject*>(&a)) {
      made.assign(*tuple);
    } else if (const auto* table = dynamic_cast<const DictObject*>(&a)) {
      dict(*table, static_cast<const DictObject&>(b), static_cast<DictObject&>(made));
    } else if (const auto* instance = dynamic_cast<const InstanceObject*>(&a)) {
      const auto& other = static_cast<const InstanceObject&>(b);
      auto& into = static_cast<InstanceObject&>(made);
      for (const auto& [name, item] : instance->attributes)
        if (const Item* found = other.find(name))
          into.set(name, join(item, *found));
        else
          into.set(name, item);
      for (const auto& [name, item] : other.attributes)
        if (!instance->find(name)) into.set(name, item);
    } else if (const auto* x_tensor = dynamic_cast<const TensorObject*>(&a)) {
      const auto& y_tensor = static_cast<const TensorObject&>(b);
      const Item x = Item::tensor(std::make_shared<TensorObject>(*x_tensor)), y = Item::tensor(std::make_shared<TensorObject>(y_tensor));
      const Item both = tensor(x, y);
      auto& into = static_cast<TensorObject&>(made);
      into.value = both.as_tensor().value;
      if (both.as_tensor().value == x_tensor->value && !collecting) into.value = x_tensor->value;
      into.version = std::max(x_tensor->version, y_tensor.version) + 1;
      if (into.base) into.base_version = into.base->version;
    }
  }
};

namespace {

std::optional<std::vector<Dim>> dims_of(const Expr& x) {
  if (const Tensor* tensor = x.value()->constant()) return ValueType::tensor(tensor->dtype(), tensor->shape()).dims;
  return x.value()->type.dims;
}

/// Which branch is taken where a size is zero.
enum class Emptiness : uint8_t { none, if_true, if_false };

Emptiness emptiness_of(const Value* condition) {
  Emptiness at_zero = Emptiness::if_true;
  for (const Node* node = condition ? condition->producer() : nullptr; node;) {
    const std::string& op = node->op();
    if (op == "Reshape" || op == "Identity" || op == "Squeeze" || op == "Unsqueeze") {
      node = node->input(0)->producer();
    } else if (op == "Not") {
      at_zero = at_zero == Emptiness::if_true ? Emptiness::if_false : Emptiness::if_true;
      node = node->input(0)->producer();
    } else if (op == "Equal" || op == "Greater" || op == "Less") {
      const auto is_zero = [&](size_t i) {
        return node->input(i) && is_integer(node->input(i)->type.dtype) && scalar_of(node->input(i)) == 0.0;
      };
      if (op == "Equal" && (is_zero(0) || is_zero(1))) return at_zero;
      if ((op == "Greater" && is_zero(1)) || (op == "Less" && is_zero(0)))
        return at_zero == Emptiness::if_true ? Emptiness::if_false : Emptiness::if_true;
      return Emptiness::none;
    } else {
      return Emptiness::none;
    }
  }
  return Emptiness::none;
}

}  // namespace

/// For a branch that runs only if a size is zero: reshapes its empty result to the rank of the other branch's result, so that the program
/// can go on with one rank. (The run fails if the tensor is not empty.)
Expr Interpreter::raised_rank(Inner& inner, const Expr& nothing, const Expr& other) {
  const auto from = dims_of(nothing), to = dims_of(other);
  const bool tensors = nothing.value()->type.kind == ValueType::Kind::tensor && other.value()->type.kind == ValueType::Kind::tensor;
  if (!tensors || !from || !to || to->empty() || from->size() == to->size()) return nothing;
  Ints shape;
  bool has_zero = false;
  for (const Dim& dim : *to) shape.push_back(dim.known() ? dim.size : -1);
  for (int64_t& size : shape) {
    if (size < 0) size = has_zero ? 1 : 0;
    has_zero = has_zero || size == 0;
  }
  if (!has_zero) return nothing;
  Expr made;
  inside(inner, [&] { made = p_->op("Reshape", {nothing, p_->constant(shape)}, {{"allowzero", int64_t{1}}}); });
  return made;
}

void Interpreter::branch(const Statement& statement, Frame& frame) {
  const Item decider = evaluate(*statement.values[0], frame);
  if (decider.is(Kind::refused)) {  // go on only to find other refusals
    try {
      return run(statement.body, frame);
    } catch (const Raised&) {
      return run(statement.orelse, frame);
    }
  }
  const Item test = truth(decider, frame);
  if (test.is_known()) return run(test.truth() ? statement.body : statement.orelse, frame);
  const Expr condition_value = condition(test);
  const Emptiness emptiness = emptiness_of(test.symbol());
  const std::string stem = stem_;
  const uint64_t born = Object::next();
  Inner first = follow(statement.body, frame);
  Inner second = follow(statement.orelse, frame);
  stem_ = stem;
  if (first.raised && second.raised) throw Raised{first.message};
  // Assume that a branch that only raises an error is never taken.
  if (first.raised || second.raised) return run(first.raised ? statement.orelse : statement.body, frame);

  // Names that both know and that one has changed.
  std::vector<std::string> names;
  for (const auto& [name, item] : first.variables) {
    const auto other = second.variables.find(name);
    if (other == second.variables.end()) continue;
    const auto old = frame.variables.find(name);
    const auto same = [](const Item& a, const Item& b) {
      return a.kind() == b.kind() && a.object() == b.object() && a.symbol() == b.symbol() && a.integer() == b.integer() &&
             (a.real() == b.real() || a.real() != a.real()) && a.function() == b.function() && a.has_text() == b.has_text() &&
             (!a.has_text() || a.text() == b.text());
    };
    if (old == frame.variables.end() || !same(old->second, item) || !same(old->second, other->second)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::vector<std::shared_ptr<Object>> objects;
  std::unordered_map<const Object*, std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> states;
  for (Inner* inner : {&first, &second})
    for (const auto& [object, after] : inner->changes) {
      if (object->born >= born) continue;  // made in a branch, it belongs to that alone
      auto [place, is_new] = states.emplace(object.get(), std::pair(object, object));
      if (is_new) objects.push_back(object);
      (inner == &first ? place->second.first : place->second.second) = after;
    }
  Joiner joiner{*this, first, second, {}, {}, {}, true, 0, 0};
  const auto join_all = [&](bool apply) {
    for (const std::string& name : names) {
      const Item made = joiner.join(first.variables.at(name), second.variables.at(name));
      if (apply) frame.variables[name] = made;
    }
    for (const auto& object : objects) {
      const auto& [a, b] = states.at(object.get());
      if (apply) {
        touch(object);
        joiner.state(*a, *b, *object);
      } else {
        joiner.state(*a, *b, *object->copy());
      }
    }
  };
  join_all(false);
  if (!joiner.first_outputs.empty()) {
    if (emptiness != Emptiness::none) {
      const bool then_empty = emptiness == Emptiness::if_true;
      Inner& empty = then_empty ? first : second;
      Exprs &nothing = then_empty ? joiner.first_outputs : joiner.second_outputs,
            &other = then_empty ? joiner.second_outputs : joiner.first_outputs;
      for (size_t i = 0; i < nothing.size(); ++i) nothing[i] = raised_rank(empty, nothing[i], other[i]);
    }
    Attributes attributes;
    for (Inner* inner : {&first, &second}) {
      Exprs& outputs = inner == &first ? joiner.first_outputs : joiner.second_outputs;
      for (const Expr& x : outputs) {
        const Expr mine = x.value()->type.kind == ValueType::Kind::tensor || x.value()->producer() ? inner->body->builder.own(x) : x;
        inner->body->graph->add_output(*mine.value());
      }
      attributes.set(inner == &first ? "then_branch" : "else_branch", Subgraph(inner->body->graph));
    }
    p_->set_stem(frame.path.empty() ? "if" : frame.path + ".if");
    joiner.results = p_->ops("If", {condition_value}, joiner.first_outputs.size(), std::move(attributes));
    // The dimensions that both branches agree on.
    for (size_t i = 0; i < joiner.results.size(); ++i) {
      ValueType& type = joiner.results[i].value()->type;
      if (type.kind == ValueType::Kind::sequence && (!type.element || !type.element->dims)) {
        const Value *x = joiner.first_outputs[i].value(), *y = joiner.second_outputs[i].value();
        const auto is_empty = [](const Value* value) { return value->producer() && value->producer()->op() == "SequenceEmpty"; };
        const auto &of_x = x->type.element, &of_y = y->type.element;
        if (is_empty(x) || is_empty(y)) {
          type.element = is_empty(x) ? of_y : of_x;
        } else if (of_x && of_y && of_x->dims && of_y->dims && of_x->dims->size() == of_y->dims->size()) {
          ValueType element = ValueType::tensor(of_x->dtype);
          element.dims = std::vector<Dim>(of_x->dims->size());
          type.element = std::make_shared<const ValueType>(std::move(element));
        }
      }
      const auto a = dims_of(joiner.first_outputs[i]), b = dims_of(joiner.second_outputs[i]);
      if (type.kind != ValueType::Kind::tensor || type.dims || !a || !b) continue;
      // Programs write zeros([0]) for "nothing yet", and rely on the other branch's rank.
      const auto is_nothing = [](const std::vector<Dim>& dims) { return dims.size() == 1 && dims[0].size == 0; };
      if (a->size() != b->size()) {
        if (is_nothing(*a) || is_nothing(*b)) type.dims = std::vector<Dim>(is_nothing(*a) ? b->size() : a->size());
        continue;
      }
      std::vector<Dim> dims(a->size());
      for (size_t axis = 0; axis < dims.size(); ++axis)
        if ((*a)[axis] == (*b)[axis]) dims[axis] = (*a)[axis];
      type.dims = std::move(dims);
    }
  }
  joiner.collecting = false;
  join_all(true);
  if (frame.done) return;
}

// Loops.

namespace {

void find_assigned(const Block& block, std::set<std::string>& names) {
  for (const Statement& statement : block) {
    if (statement.kind == Statement::Kind::assign)
      for (const SyntaxPtr& target : statement.targets)
        if (target->kind == Syntax::Kind::name) names.insert(target->text);
    find_assigned(statement.body, names);
    find_assigned(statement.orelse, names);
  }
}

/// False, too, for tuples that lie in each other very deep, or hold very much.
bool same_item(const Item& a, const Item& b, size_t& budget, int depth = 0) {
  if (a.kind() != b.kind() || budget == 0 || depth > 50) return false;
  --budget;
  switch (a.kind()) {
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      return a.symbol() == b.symbol() && a.integer() == b.integer() && a.real() == b.real();
    case Kind::text:
    case Kind::class_name:
      return a.text() == b.text();
    case Kind::tensor:
      return a.object() == b.object() || (a.as_tensor().value && a.as_tensor().value == b.as_tensor().value);
    case Kind::tuple:
      if (a.object() == b.object()) return true;
      if (a.as_tuple().items.size() != b.as_tuple().items.size()) return false;
      for (size_t i = 0; i < a.as_tuple().items.size(); ++i)
        if (!same_item(a.as_tuple().items[i], b.as_tuple().items[i], budget, depth + 1)) return false;
      return true;
    case Kind::function:
      return a.function() == b.function();
    default:
      return a.object() == b.object();
  }
}
bool same_item(const Item& a, const Item& b) {
  size_t budget = 10'000;  // items
  return same_item(a, b, budget);
}

}  // namespace

/// The types that a loop carries. The body is followed repeatedly until they no longer change.
struct Interpreter::LoopShape {
  struct Slot {
    DType type = DType::undefined;  // of a number: f32, i64 or bool
    int openness = 0;               // of a tensor's dimensions: 0 as they begin, 1 their number, 2 nothing
    bool is_sequence = false;
    std::optional<int64_t> rank;  // of a sequence's tensors; -1: not known, or they differ
  };
  std::set<std::string> names;                   // variables that change
  std::vector<std::shared_ptr<Object>> objects;  // objects that change
  std::map<std::string, Slot> slots;             // by label
  Exprs initial, carried;                        // of this try, in order
  std::vector<std::string> labels;
  Inner* inner = nullptr;  // null: after the loop, where `results` are taken
  Exprs results;
  size_t taken = 0;

  const Expr& taken_result(const std::string& source) {
    if (taken == results.size()) throw Unsupported("{}: a loop's variables change their form", source);
    return results[taken++];
  }
};

Item Interpreter::widened(const Item& item, LoopShape& shape, const std::string& label) {
  if (label.size() > 2000) throw Unsupported("{}: containers lie in each other very deep", source_);
  spend(16);  // a shared object is visited once per reference
  const auto slot_of = [&]() -> LoopShape::Slot& { return shape.slots[label]; };
  const auto take = [&](const Expr& begin, const ValueType& type) {
    if (!shape.inner) return p_->wrap(shape.taken_result(source_).value());
    shape.initial.push_back(begin);
    shape.labels.push_back(label);
    return shape.inner->body->builder.wrap(&shape.inner->body->graph->add_input(unique("carried"), type));
  };
  TypedBuilder& outside = *p_;
  if (item.is_number()) {
    LoopShape::Slot& slot = slot_of();
    if (slot.type == DType::undefined) slot.type = item.is(Kind::real) ? DType::f64 : item.is(Kind::integer) ? DType::i64 : DType::boolean;
    Expr begin;
    if (shape.inner)
      begin = item.symbol()             ? outside.cast(outside.wrap(item.symbol()), slot.type)
              : slot.type == DType::i64 ? outside.constant({item.integer()})
                                        : outside.reshape(outside.scalar(item.real(), slot.type), Ints{1});
    return Item::symbol(Joiner::kind_of(slot.type), take(begin, ValueType::tensor(slot.type, Shape{1})));
  }
  if (item.is(Kind::tensor)) {
    if (item.as_tensor().quantization) throw Unsupported("{}: a quantized tensor changes in a loop", source_);
    LoopShape::Slot& slot = slot_of();
    const Expr now = expr(item);
    if (slot.type == DType::undefined) slot.type = outside.dtype(now);
    const Expr begin = shape.inner ? outside.cast(now, slot.type) : now;
    ValueType type = ValueType::tensor(slot.type);
    outside.infer(begin);
    if (begin.value()->constant())
      type = ValueType::tensor(slot.type, begin.value()->constant()->shape());
    else
      type.dims = begin.value()->type.dims;
    if (slot.openness == 1 && type.dims) type.dims = std::vector<Dim>(type.dims->size());
    if (slot.openness == 2) type.dims.reset();
    return keep(Item::tensor(take(begin, type)));
  }
  if (item.is(Kind::tuple)) {
    Item made = Item::tuple({});
    made.as_tuple().class_name = item.as_tuple().class_name;
    for (size_t i = 0; i < item.as_tuple().items.size(); ++i)
      made.as_tuple().items.push_back(widened(item.as_tuple().items[i], shape, label + "." + std::to_string(i)));
    return keep(made);
  }
  if (item.is(Kind::list)) {
    auto copy = std::static_pointer_cast<ListObject>(item.as_list().copy());
    copy->born = Object::next();
    widen_state(*copy, shape, label);
    return keep(Item::object(Kind::list, std::move(copy)));
  }
  return item;
}

/// How many dimensions all tensors of a list have; -1 if that is not known.
int64_t Interpreter::element_rank(const ListObject& list) {
  if (list.sequence) {
    const auto& element = list.sequence->type.element;
    return element && element->dims ? static_cast<int64_t>(element->dims->size()) : -1;
  }
  int64_t rank = -1;
  for (size_t i = 0; i < list.items.size(); ++i) {
    const int64_t one = list.items[i].is(Kind::tensor) ? p_->rank(expr(list.items[i])) : -1;
    if (i > 0 && one != rank) return -1;
    rank = one;
  }
  return rank;
}

void Interpreter::widen_state(Object& object, LoopShape& shape, const std::string& label) {
  if (auto* list = dynamic_cast<ListObject*>(&object)) {
    LoopShape::Slot& slot = shape.slots[label];
    if (list->sequence || slot.is_sequence) {
      Expr begin;
      if (!slot.rank) slot.rank = element_rank(*list);
      if (slot.type == DType::undefined) slot.type = list->items.empty() ? DType::f32 : p_->dtype(expr(list->items[0]));
      if (shape.inner) {
        Exprs items;
        for (const Item& item : list->items) {
          if (!item.is(Kind::tensor)) throw Unsupported("{}: a list of {} grows in a loop", source_, describe(item));
          items.push_back(p_->cast(expr(item), slot.type));
        }
        begin = list->sequence  ? p_->wrap(list->sequence)
                : items.empty() ? p_->op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(slot.type)}})
                                : p_->op("SequenceConstruct", items);
        shape.initial.push_back(begin);
        shape.labels.push_back(label);
        ValueType element = ValueType::tensor(slot.type);
        if (*slot.rank >= 0) element.dims = std::vector<Dim>(static_cast<size_t>(*slot.rank));
        list->sequence = &shape.inner->body->graph->add_input(unique("carried"), ValueType::sequence_of(std::move(element)));
      } else {
        list->sequence = shape.taken_result(source_).value();
      }
      list->items.clear();
      return;
    }
    for (size_t i = 0; i < list->items.size(); ++i) list->items[i] = widened(list->items[i], shape, label + "." + std::to_string(i));
  } else if (auto* dict = dynamic_cast<DictObject*>(&object)) {
    for (size_t i = 0; i < dict->items.size(); ++i)
      dict->items[i].second = widened(dict->items[i].second, shape, label + "." + std::to_string(i));
  } else if (auto* instance = dynamic_cast<InstanceObject*>(&object)) {
    for (auto& [name, item] : instance->attributes)
      if (shape.slots.contains(label + "." + name)) item = widened(item, shape, label + "." + name);
  } else if (auto* tensor = dynamic_cast<TensorObject*>(&object)) {
    const auto before = std::make_shared<TensorObject>(*tensor);
    tensor->value = widened(Item::tensor(before), shape, label).as_tensor().value;
    ++tensor->version;
    if (tensor->base) tensor->base_version = tensor->base->version;
  }
}

/// Gathers a variable's value after an iteration. False if the loop has to carry more than assumed.
bool Interpreter::gather(const Item& before, const Item& after, LoopShape& shape, const std::string& label, Exprs& outputs) {
  if (before.is(Kind::refused) || after.is(Kind::refused)) {
    if (before.is_number() || before.is(Kind::tensor)) outputs.push_back(Expr());
    return true;
  }
  LoopShape::Slot& slot = shape.slots[label];
  TypedBuilder& p = *p_;
  if (before.is_number()) {
    if (!after.is_number()) throw Unsupported("{}: a variable of a loop is a number first and {} later", source_, describe(after));
    const DType type = after.is(Kind::real) ? DType::f64 : after.is(Kind::integer) ? DType::i64 : DType::boolean;
    if (type != slot.type && (type == DType::f64 || slot.type == DType::boolean)) {
      slot.type = type;
      return false;
    }
    outputs.push_back(after.symbol()            ? p.cast(p.wrap(after.symbol()), slot.type)
                      : slot.type == DType::i64 ? p.constant({after.integer()})
                                                : p.reshape(p.scalar(after.real(), slot.type), Ints{1}));
    return true;
  }
  if (before.is(Kind::tensor)) {
    if (!after.is(Kind::tensor)) throw Unsupported("{}: a variable of a loop is a tensor first and {} later", source_, describe(after));
    const Expr x = expr(after), y = expr(before);
    const DType type = p.dtype(x);
    if (type != slot.type && type != DType::undefined) {
      slot.type = type;
      return false;
    }
    p.infer(x);
    const auto now = dims_of(x), then = dims_of(y);
    const bool same = now == then;
    if (slot.openness == 0 && !same) {
      slot.openness = now && then && now->size() == then->size() ? 1 : 2;
      return false;
    }
    if (slot.openness == 1 && (!now || !then || now->size() != then->size())) {
      slot.openness = 2;
      return false;
    }
    outputs.push_back(x);
    return true;
  }
  if (before.is(Kind::tuple)) {
    if (!after.is(Kind::tuple) || after.as_tuple().items.size() != before.as_tuple().items.size())
      throw Unsupported("{}: a tuple of a loop becomes {}", source_, describe(after));
    bool held = true;
    for (size_t i = 0; i < before.as_tuple().items.size(); ++i)
      held = gather(before.as_tuple().items[i], after.as_tuple().items[i], shape, label + "." + std::to_string(i), outputs) && held;
    return held;
  }
  if (before.is(Kind::list)) {
    if (!after.is(Kind::list)) throw Unsupported("{}: a list of a loop becomes {}", source_, describe(after));
    return gather_state(before.as_list(), after.as_list(), shape, label, outputs);
  }
  if (!same_item(before, after)) {
    if (before.is(Kind::text)) return true;
    throw Unsupported("{}: a variable of a loop is {} first and {} later", source_, describe(before), describe(after));
  }
  return true;
}

bool Interpreter::gather_state(const Object& before, const Object& after, LoopShape& shape, const std::string& label, Exprs& outputs) {
  if (const auto* list = dynamic_cast<const ListObject*>(&before)) {
    const auto& now = static_cast<const ListObject&>(after);
    LoopShape::Slot& slot = shape.slots[label];
    if (slot.is_sequence || list->sequence) {
      const bool stays_empty = !now.sequence && now.items.empty();
      if (slot.rank && *slot.rank >= 0 && !stays_empty && element_rank(now) != *slot.rank) {
        slot.rank = -1;
        return false;
      }
      if (now.sequence) {
        const Value* value = now.sequence;
        const DType type = value->type.element_dtype();
        if (type != DType::undefined && type != slot.type) {
          slot.type = type;
          return false;
        }
        outputs.push_back(p_->wrap(now.sequence));
      } else {
        Exprs items;
        for (const Item& item : now.items) items.push_back(expr(item));
        outputs.push_back(items.empty() ? p_->op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(slot.type)}})
                                        : p_->op("SequenceConstruct", items));
      }
      return true;
    }
    if (now.sequence || now.items.size() != list->items.size()) {
      for (const Item& item : now.items) {
        if (!item.is(Kind::tensor))
          throw Unsupported("{}: a list of {} grows in a loop whose length only data tells", source_, describe(item));
        slot.type = p_->dtype(expr(item));
      }
      slot.is_sequence = true;
      slot.rank = element_rank(now);
      return false;
    }
    bool held = true;
    for (size_t i = 0; i < list->items.size(); ++i)
      held = gather(list->items[i], now.items[i], shape, label + "." + std::to_string(i), outputs) && held;
    return held;
  }
  if (const auto* dict = dynamic_cast<const DictObject*>(&before)) {
    const auto& now = static_cast<const DictObject&>(after);
    if (now.items.size() != dict->items.size()) throw Unsupported("{}: a dictionary grows in a loop", source_);
    bool held = true;
    for (size_t i = 0; i < dict->items.size(); ++i)
      held = gather(dict->items[i].second, now.items[i].second, shape, label + "." + std::to_string(i), outputs) && held;
    return held;
  }
  if (const auto* instance = dynamic_cast<const InstanceObject*>(&before)) {
    const auto& now = static_cast<const InstanceObject&>(after);
    bool held = true;
    for (const auto& [name, item] : now.attributes) {
      const Item* old = instance->find(name);
      if (!old) continue;
      const std::string field = label + "." + name;
      if (shape.slots.contains(field)) {
        held = gather(*old, item, shape, field, outputs) && held;
      } else if (!same_item(*old, item)) {
        shape.slots[field];
        held = false;
      }
    }
    return held;
  }
  if (const auto* tensor = dynamic_cast<const TensorObject*>(&before)) {
    const Item x = Item::tensor(std::make_shared<TensorObject>(*tensor)),
               y = Item::tensor(std::make_shared<TensorObject>(static_cast<const TensorObject&>(after)));
    return gather(x, y, shape, label, outputs);
  }
  return true;
}

/// Follows the body once, assuming that `shape` says what changes. Returns true if that holds; then the graph contains the Loop.
bool Interpreter::carry(const Statement& statement, Frame& frame, const Item& count, LoopShape& shape) {
  const bool is_counted = statement.kind == Statement::Kind::counted;
  shape.initial.clear();
  shape.labels.clear();
  Inner inner;
  inner.body = std::make_unique<InnerGraph>(*p_);
  shape.inner = &inner;
  Value& iteration = inner.body->graph->add_input(unique("iteration"), ValueType::tensor(DType::i64, Shape{}));
  Value& going = inner.body->graph->add_input(unique("condition"), ValueType::tensor(DType::boolean, Shape{}));
  const uint64_t born = Object::next();
  const std::unordered_map<std::string, Item> variables = frame.variables;
  spend(variables.size() / 16 + 10);
  mark();
  bool held = true;
  Exprs outputs;
  std::unordered_map<std::string, Item> begun;  // as the iteration finds them
  std::vector<std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> states;
  // A mark is always taken back, whatever is thrown.
  struct Back {
    Interpreter& interpreter;
    Frame& frame;
    const std::unordered_map<std::string, Item>& variables;
    bool done = false;
    void now() {
      if (done) return;
      done = true;
      interpreter.roll_back();
      frame.variables = variables;
    }
    ~Back() { now(); }
  } back{*this, frame, variables};

  for (const std::string& name : shape.names) {
    frame.variables[name] = widened(variables.at(name), shape, name);
    begun[name] = frame.variables[name];
  }
  for (size_t i = 0; i < shape.objects.size(); ++i) {
    touch(shape.objects[i]);
    widen_state(*shape.objects[i], shape, "#" + std::to_string(i));
    states.emplace_back(shape.objects[i], shape.objects[i]->copy());
  }
  Expr more;
  inside(inner, [&] {
    if (is_counted) {
      const Expr at = p_->reshape(inner.body->builder.wrap(&iteration), Ints{1});
      assign(*statement.targets[0], Item::symbol(Kind::integer, at), frame);
    }
    run(statement.body, frame);
    std::set<std::string> assigned;
    find_assigned(statement.body, assigned);
    for (const std::string& name : assigned) {
      const auto before = variables.find(name);
      if (before == variables.end() || shape.names.contains(name)) continue;
      if (!same_item(before->second, frame.variables.at(name))) {
        shape.names.insert(name);
        held = false;
      }
    }
    for (size_t i = mark_starts_.back(); i < journal_.size(); ++i) {
      const std::shared_ptr<Object> object = journal_[i].first;
      if (object->born >= born || std::find(shape.objects.begin(), shape.objects.end(), object) != shape.objects.end()) continue;
      shape.objects.push_back(object);
      held = false;
    }
    if (!held) return;
    for (const std::string& name : shape.names) held = gather(begun.at(name), frame.variables.at(name), shape, name, outputs) && held;
    for (size_t i = 0; i < states.size(); ++i)
      held = gather_state(*states[i].second, *states[i].first, shape, "#" + std::to_string(i), outputs) && held;
    if (!held) return;
    if (outputs.size() != shape.initial.size()) throw Unsupported("{}: a loop's variables change their form", source_);
    if (is_counted) {
      more = p_->op("Identity", {inner.body->builder.wrap(&going)});
    } else {
      const Item test = truth(evaluate(*statement.values[0], frame), frame);
      more = test.symbol() ? inner.body->builder.own(condition(test)) : p_->op("Identity", {p_->scalar(test.truth(), DType::boolean)});
    }
  });
  if (!held) return false;
  inner.body->graph->add_output(*more.value());
  for (const Expr& x : outputs) {
    if (!x) return true;  // something is refused: there is nothing to build
    inner.body->graph->add_output(*inner.body->builder.own(x).value());
  }
  back.now();
  Exprs inputs;
  if (is_counted) {
    inputs.push_back(count.symbol() ? p_->reshape(p_->wrap(count.symbol()), Ints{})
                                    : p_->scalar(static_cast<double>(count.integer()), DType::i64));
    inputs.push_back(Expr());
  } else {
    const Item test = truth(evaluate(*statement.values[0], frame), frame);
    inputs.push_back(Expr());
    inputs.push_back(test.symbol() ? condition(test) : p_->scalar(test.truth(), DType::boolean));
  }
  inputs.insert(inputs.end(), shape.initial.begin(), shape.initial.end());
  if (shape.initial.empty()) return true;  // it changes nothing
  p_->set_stem(frame.path.empty() ? "loop" : frame.path + ".loop");
  // Dimensions stand after a loop as its body's inputs have them.
  std::vector<ValueType> types;
  for (size_t i = 0; i < shape.initial.size(); ++i) types.push_back(inner.body->graph->inputs()[i + 2]->type);
  shape.results = p_->ops("Loop", inputs, shape.initial.size(), {{"body", Subgraph(inner.body->graph)}});
  for (size_t i = 0; i < shape.results.size(); ++i) {
    ValueType& type = shape.results[i].value()->type;
    if (type.kind == ValueType::Kind::tensor && !type.dims) type.dims = types[i].dims;
    if (type.kind == ValueType::Kind::sequence && (!type.element || !type.element->dims)) type.element = types[i].element;
  }
  shape.inner = nullptr;
  shape.taken = 0;
  for (const std::string& name : shape.names) frame.variables[name] = widened(variables.at(name), shape, name);
  for (size_t i = 0; i < shape.objects.size(); ++i) {
    touch(shape.objects[i]);
    widen_state(*shape.objects[i], shape, "#" + std::to_string(i));
  }
  return true;
}

void Interpreter::loop(const Statement& statement, Frame& frame, const Item& count) {
  LoopShape shape;
  for (int tries = 0; tries < kMostTries * 4; ++tries)
    if (carry(statement, frame, count, shape)) return;
  refuse(frame, "a loop's variables do not settle");
}

void Interpreter::counted(const Statement& statement, Frame& frame) {
  const Item count = evaluate(*statement.values[0], frame);
  if (count.is(Kind::refused)) {
    frame.variables[statement.targets[0]->text] = count;
    return run(statement.body, frame);
  }
  if (!count.is(Kind::integer)) refuse(frame, format("a loop counts to {}", describe(count)));
  if (count.is_known()) {
    if (count.integer() > kMostUnrolled) {
      try {
        return loop(statement, frame, count);
      } catch (const Unsupported&) {
        if (count.integer() > kMostUnrolledEver) throw;
      }
    }
    for (int64_t i = 0; i < count.integer() && !frame.done; ++i) {
      assign(*statement.targets[0], Item::integer(i), frame);
      run(statement.body, frame);
    }
    return;
  }
  loop(statement, frame, count);
}

void Interpreter::repeated(const Statement& statement, Frame& frame) {
  for (int64_t i = 0;; ++i) {
    const Item test = truth(evaluate(*statement.values[0], frame), frame);
    if (!test.is_known()) return loop(statement, frame, Item());
    if (!test.truth() || frame.done) return;
    if (i > kMostUnrolledEver) refuse(frame, "a loop goes round very often before data decide about it");
    run(statement.body, frame);
  }
}

}  // namespace minnow::torchscript

// SPDX-License-Identifier: Apache-2.0
// Tensors as operators take and change them, and calls of operators.
#include <algorithm>

#include "importers/torchscript/interpreter.h"
#include "passes/rewrite.h"

namespace minnow::torchscript {

using Kind = Item::Kind;

constexpr size_t kMostTextCharacters = 10'000;  // that a program may put together

// Tensors.

void Interpreter::refresh(const std::shared_ptr<TensorObject>& tensor) {
  // From the base to this view, refresh each view whose base has changed.
  std::vector<std::shared_ptr<TensorObject>> chain = {tensor};
  while (chain.back()->base) chain.push_back(chain.back()->base);
  for (size_t i = chain.size() - 1; i-- > 0;) {
    TensorObject& view = *chain[i];
    if (view.base_version == view.base->version) continue;
    touch(chain[i]);
    view.value = view.read(expr(Item::tensor(view.base))).value();
    view.base_version = view.base->version;
    ++view.version;
  }
}

Expr Interpreter::expr(const Item& item) {
  const std::shared_ptr<TensorObject> tensor = item.tensor_object();
  if (tensor->imaginary) throw Unsupported("{}: complex numbers are not supported in branches, loops, lists and attributes", source_);
  if (tensor->base) refresh(tensor);
  if (!tensor->value) {
    if (tensor->literal.dtype() == DType::undefined)
      throw Unsupported("{}: \"{}\" is a tensor of complex numbers, which is not supported", source_, tensor->name.substr(0, 200));
    tensor->value = &graph_.add_constant(tensor->literal, unique(tensor->name.empty() ? "constant" : tensor->name));
  }
  return p_->wrap(tensor->value);
}

void Interpreter::write(const std::shared_ptr<TensorObject>& tensor, const Expr& value) {
  Expr now = value;
  for (std::shared_ptr<TensorObject> at = tensor;; at = at->base) {
    touch(at);
    at->value = now.value();
    ++at->version;
    if (!at->base) return;
    now = at->write(expr(Item::tensor(at->base)), now);
    at->base_version = at->base->version + 1;  // the base's version after its own write
  }
}

Expr Interpreter::output(const Item& item) {
  if (item.is(Kind::tensor)) return expr(item);
  if (item.symbol()) {
    const Expr x = p_->wrap(item.symbol());
    return p_->reshape(item.is(Kind::real) ? p_->cast(x, DType::f32) : x, Ints{});
  }
  if (item.is(Kind::integer)) return p_->reshape(p_->constant({item.integer()}), Ints{});
  return p_->scalar(item.real(), item.is(Kind::boolean) ? DType::boolean : DType::f32);
}

int64_t Interpreter::rank(const Expr& x) {
  const int64_t known = p_->rank(x);
  if (known < 0) expect_rank(x, {});
  return known;
}

void Interpreter::expect_rank(const Expr& x, std::initializer_list<int64_t> ranks) {
  if (p_->rank(x) >= 0) return;
  const auto is_open = [](const auto& value) { return !value->type.dims && value->type.kind == ValueType::Kind::tensor; };
  // Find the model input that it comes from, and whether nodes in between change the rank.
  std::unordered_set<const Value*> seen;
  std::vector<std::pair<const Value*, bool>> open;
  if (std::any_of(graph_.inputs().begin(), graph_.inputs().end(), is_open)) open.emplace_back(x.value(), true);
  while (!open.empty()) {
    const auto [value, same] = open.back();
    open.pop_back();
    if (!seen.insert(value).second) continue;
    if (value->is_input() && &value->graph() == &graph_ && is_open(value)) throw RankNeeded{value->name(), same ? Ints(ranks) : Ints{}};
    const Node* node = value->producer();
    if (!node) continue;
    static constexpr std::string_view kKeep[] = {"Cast", "Identity", "Relu", "Sigmoid",   "Tanh",
                                                 "Clip", "Neg",      "Abs",  "Transpose", "Softmax"};
    const bool keeps = std::find(std::begin(kKeep), std::end(kKeep), node->op()) != std::end(kKeep);
    for (size_t i = node->input_count(); i-- > 0;)
      if (node->input(i) && !node->input(i)->constant()) open.emplace_back(node->input(i), same && keeps && i == 0);
    for (const auto& [name, attribute] : node->attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute))
        for (const Value* captured : captured_values(**subgraph)) open.emplace_back(captured, false);
  }
  const Node* maker = x.value()->producer();
  throw Unsupported("{}: line {}: the number of dimensions of \"{}\"{} must be known", source_, line_, x.value()->name(),
                    maker ? format(" ({})", maker->op()) : std::string());
}

void Interpreter::expect_integers(const Expr& x) {
  if (!is_float(p_->dtype(x))) return;
  static constexpr std::string_view kMoves[] = {"Reshape", "Unsqueeze", "Squeeze", "Slice", "Transpose",
                                                "Gather",  "Identity",  "Expand",  "Cast"};
  const Value* value = x.value();
  for (size_t i = 0; i < 1000; ++i) {
    if (value->is_input() && &value->graph() == &graph_) throw IntegersNeeded{value->name()};
    const Node* node = value->producer();
    if (!node || std::find(std::begin(kMoves), std::end(kMoves), node->op()) == std::end(kMoves)) return;
    value = node->input(0);
  }
}

/// Computes x now if it depends only on constants, so that the program can use its value.
Expr Interpreter::folded(const Expr& x) {
  if (x.value()->constant()) return x;
  int left = 16;  // the most nodes that a rule makes; earlier nodes were examined when they were made
  const auto contents = evaluator_.contents(*x.value(), [&](const Node&) { return left-- > 0; });
  return contents ? p_->wrap(&graph_.add_constant(*contents)) : x;
}

void Interpreter::fold(Item& item, int depth) {
  if (depth > 100) throw InvalidModel("lists, tuples or dictionaries hold each other more than 100 deep, or themselves");
  if (depth > 1) spend(1);  // a shared object is visited once per reference
  if (item.is(Kind::tensor)) {
    TensorObject& tensor = item.as_tensor();
    if (!tensor.value || tensor.imaginary || tensor.value->constant() || tensor.quantization) return;
    const Expr x = folded(p_->wrap(tensor.value));
    tensor.value = x.value();
  } else if (item.symbol()) {
    const Expr x = folded(p_->wrap(item.symbol()));
    const auto number = p_->number(x);
    if (!number) return;
    item = item.is(Kind::integer) ? Item::integer((*p_->ints(x))[0])
           : item.is(Kind::real)  ? Item::real(*number)
                                  : Item::boolean(*number != 0);
  } else if (item.is(Kind::tuple)) {
    for (Item& one : item.as_tuple().items) fold(one, depth + 1);
  } else if (item.is(Kind::list) && !item.as_list().sequence) {
    for (Item& one : item.as_list().items) fold(one, depth + 1);
  } else if (item.is(Kind::dict)) {
    for (auto& [key, value] : item.as_dict().items) fold(value, depth + 1);
  }
}

// Operators.

/// Calls of operators that have no rows for complex numbers.
Item Interpreter::apply_to_parts(const std::string& op, const Items& positional, const std::vector<std::string>& names, const Items& named,
                                 Frame& frame) {
  const auto part = [&](const Item& item, bool imaginary) {
    return is_complex(item) ? keep(Item::tensor(p_->wrap(imaginary ? item.as_tensor().imaginary : item.as_tensor().value))) : item;
  };
  const auto of_parts = [&](bool imaginary) {
    Items ordered, by_name;
    for (const auto& [from, to] : {std::pair(&positional, &ordered), std::pair(&named, &by_name)})
      for (const Item& item : *from) {
        Item& made = to->emplace_back(part(item, imaginary));
        if (!holds_complex({item}) || is_complex(item)) continue;
        Items& items = (made = keep(Item::list(item.is(Kind::list) ? item.as_list().items : item.as_tuple().items))).as_list().items;
        for (Item& one : items) {
          if (!is_complex(one)) throw Unsupported("{}: lists of real and complex numbers are not supported", place(frame, op));
          one = part(one, imaginary);
        }
      }
    return apply(op, std::move(ordered), names, std::move(by_name), frame);
  };
  const Item re = of_parts(false);
  if (tells_of_shape(op) || re.is(Kind::refused)) return re;
  const Item im = of_parts(true);
  if (im.is(Kind::refused)) return im;
  const auto join = [&](const Item& a, const Item& b) { return keep(complex_item(expr(a), expr(b))); };
  if (re.is(Kind::tensor)) return join(re, im);
  const auto items_of = [](const Item& item) -> const Items& { return item.is(Kind::list) ? item.as_list().items : item.as_tuple().items; };
  if ((!re.is(Kind::list) && !re.is(Kind::tuple)) || (re.is(Kind::list) && re.as_list().sequence) ||
      items_of(re).size() != items_of(im).size())
    throw Unsupported("{}: complex numbers are not supported", place(frame, op));
  Items both;
  for (size_t i = 0; i < items_of(re).size(); ++i) both.push_back(join(items_of(re)[i], items_of(im)[i]));
  return keep(re.is(Kind::list) ? Item::list(std::move(both)) : Item::tuple(std::move(both)));
}

bool Interpreter::holds_complex(const Items& items) {
  return std::any_of(items.begin(), items.end(), [](const Item& item) {
    if (item.is(Kind::list)) return std::any_of(item.as_list().items.begin(), item.as_list().items.end(), is_complex);
    if (item.is(Kind::tuple)) return std::any_of(item.as_tuple().items.begin(), item.as_tuple().items.end(), is_complex);
    return is_complex(item);
  });
}

Item Interpreter::apply(std::string op, Items positional, const std::vector<std::string>& names, Items named, Frame& frame) {
  spend(1);
  const auto refused = [](const Item& item) { return item.is(Kind::refused); };
  for (const Items* list : {&positional, &named})
    for (const Item& item : *list) {
      if (refused(item)) return item;
      if (item.is(Kind::list) && op != "aten::append" && op != "aten::__getitem__") spend(item.as_list().items.size() / 32);
      if (item.is(Kind::list) && op != "aten::append" && op != "aten::__getitem__" &&
          std::any_of(item.as_list().items.begin(), item.as_list().items.end(), refused))
        return Item::of_kind(Kind::refused);
    }
  if (op == "prim::RaiseException")
    throw Raised{!positional.empty() && positional[0].is(Kind::text) ? positional[0].text() : std::string("an error")};
  if (op == "aten::str" && positional.size() == 1 && positional[0].is(Kind::integer) &&
      positional[0].is_known())  // the key of a dictionary
    return Item::text(std::to_string(positional[0].integer()));
  if (op == "aten::format" || op == "aten::warn" || op == "aten::str") {  // other texts are for people: what stands in them does not matter
    return op == "aten::warn"
               ? Item()
               : Item::text(!positional.empty() && positional[0].is(Kind::text) ? positional[0].text().substr(0, kMostTextCharacters) : "");
  }
  if (op == "aten::__is__" || op == "aten::__isnot__") {
    const bool same = positional.size() == 2 && (positional[0].is_none() || positional[1].is_none()
                                                     ? positional[0].kind() == positional[1].kind()
                                                     : positional[0].object() && positional[0].object() == positional[1].object());
    for (const Item& item : positional)
      if (item.is(Kind::uninitialized)) refuse(frame, item.has_text() ? item.text() : "a variable is read that was not assigned");
    return Item::boolean(same == (op == "aten::__is__"));
  }
  if (op == "prim::unchecked_unwrap_optional" || op == "aten::_unwrap_optional" || op == "aten::wait" || op == "prim::data")
    return positional.empty() ? Item() : positional[0];
  for (const Items* list : {&positional, &named})
    for (const Item& item : *list)
      if (item.is(Kind::uninitialized)) refuse(frame, item.has_text() ? item.text() : "a variable is read that was not assigned");
  if (op.starts_with("quantized::") && op.ends_with(".new")) op.resize(op.size() - 4);
  const auto hold_tensors = [](const Items& items) { return std::any_of(items.begin(), items.end(), is_complex); };
  if (works_on_parts(op) ? holds_complex(positional) || holds_complex(named) : hold_tensors(positional) || hold_tensors(named)) {
    if (op == "aten::__getitem__" && !positional.empty() && !is_complex(positional[0])) {
      // of a list
    } else if (works_on_parts(op) || tells_of_shape(op)) {
      try {
        return apply_to_parts(op, positional, names, named, frame);
      } catch (const Unsupported& error) {
        refusals_.add_thrown(source_, place(frame, op), error.what());
        return Item::of_kind(Kind::refused);
      }
    } else if (const std::string own = "complex" + op.substr(std::min(op.find("::"), op.size())); !signatures_of(own).empty()) {
      op = own;
    } else if (op != "aten::append") {
      refusals_.add_missing(op + " of complex numbers", (frame.path.empty() ? stem_ : frame.path).substr(0, 200));
      return Item::of_kind(Kind::refused);
    }
  }
  const std::string where = place(frame, op);
  bool in_place = false;
  std::span<const Signature> overloads = signatures_of(op);
  if (overloads.empty() && op.size() > 7 && op.back() == '_' && op[op.size() - 2] != '_') {
    op.pop_back();
    overloads = signatures_of(op);
    in_place = true;
  }
  const std::string label = frame.path.empty() ? stem_ : frame.path;
  if (overloads.empty()) {
    refusals_.add_missing(op + (in_place ? "_" : ""), label.substr(0, 200));
    return Item::of_kind(Kind::refused);
  }
  p_->set_stem(label.substr(0, 200));
  try {
    Items arguments;
    const Signature* signature = resolve(op, positional, names, named, arguments);
    if (!signature) {
      std::string given;
      for (const Item& item : positional) given += (given.empty() ? "" : ", ") + describe(item);
      for (size_t i = 0; i < named.size(); ++i) given += (given.empty() ? "" : ", ") + names[i] + "=" + describe(named[i]);
      throw Unsupported("{}: arguments ({}) are not supported", where, given.substr(0, 500));
    }
    return apply_rule(*signature, std::move(arguments), where, in_place);
  } catch (const Unsupported& error) {
    refusals_.add_thrown(source_, where, error.what());
    return Item::of_kind(Kind::refused);
  } catch (const InvalidModel& error) {
    throw InvalidModel("{}", located(source_, where, error.what()));
  } catch (const InvalidArgument& error) {  // a shape that cannot be
    throw InvalidModel("{}: {}", where, error.what());
  }
}

Item Interpreter::apply_rule(const Signature& signature, Items arguments, const std::string& where, bool in_place) {
  spend(16);  // nodes cost more than numbers
  Call call(*p_, *this, signature, std::move(arguments), where);
  // The first quantized tensor, if the rule needs real numbers.
  Item quantized;
  const Items given = call.arguments;
  if (signature.rule->result != Rule::Result::quantized) {
    const auto replace = [&](Item& item) {
      if (!item.is(Kind::tensor) || !item.as_tensor().quantization) return;
      if (quantized.is_none()) quantized = item;
      item = keep(Item::tensor(dequantized(call, item)));
    };
    for (Item& item : call.arguments) {
      replace(item);
      if (item.is(Kind::list) && !item.as_list().sequence &&
          std::any_of(item.as_list().items.begin(), item.as_list().items.end(),
                      [](const Item& one) { return one.is(Kind::tensor) && one.as_tensor().quantization; }) &&
          signature.rule->op != "aten::append" && signature.rule->op != "aten::__getitem__" && signature.rule->op != "aten::len") {
        item = keep(Item::list(item.as_list().items));
        for (Item& one : item.as_list().items) replace(one);
      }
    }
    if (signature.rule->op == "aten::append") call.arguments = given, quantized = {};
  }
  Item result = signature.rule->build(call, *p_);
  if (!quantized.is_none() && result.is(Kind::tensor) && result.object() != call.arguments[0].object())
    result = requantized(call, result, quantized);
  if (!quantized.is_none() && (result.is(Kind::tuple) || (result.is(Kind::list) && !result.as_list().sequence)) &&
      result.object() != call.arguments[0].object())
    for (Item& one : result.is(Kind::tuple) ? result.as_tuple().items : result.as_list().items)
      one = keep(requantized(call, one, quantized));
  if (!quantized.is_none() && result.object() && result.object() == call.arguments[0].object()) result = given[0];
  if (in_place && given.empty()) call.refuse("there is nothing that its result can be written to");
  if (in_place && !quantized.is_none()) {
    if (!given[0].is(Kind::tensor) || !result.is(Kind::tensor)) call.refuse("its result cannot be written to {}", describe(given[0]));
    touch(given[0].object());
    given[0].as_tensor().assign(result.as_tensor());
    return given[0];
  }
  if (!quantized.is_none()) return keep(result);
  fold(result);
  if (in_place) {
    const Item self = call.arguments[0];
    if (!self.is(Kind::tensor)) return result;
    if (!result.is(Kind::tensor)) call.refuse("its result cannot be written to {}", describe(self));
    const Expr old = expr(self);
    write(self.tensor_object(), p_->cast(expr(result), p_->dtype(old)));
    return self;
  }
  if (signature.rule->result == Rule::Result::view && !call.arguments.empty() && call.arguments[0].is(Kind::tensor))
    attach_views(result, signature, call.arguments, where);
  return keep(result);
}

/// Connects views in a result to the tensors that they show.
void Interpreter::attach_views(Item& result, const Signature& signature, const Items& arguments, const std::string& where) {
  const std::shared_ptr<TensorObject> base = arguments[0].tensor_object();
  const auto rest = std::make_shared<Items>(arguments);
  (*rest)[0] = Item();
  const auto attach = [&](Item& item, int64_t place) {
    if (!item.is(Kind::tensor) || item.object() == arguments[0].object()) return;
    const std::shared_ptr<TensorObject> view = item.tensor_object();
    if (view->base || view->quantization) return;
    const auto read = [this, rest, &signature, where, place](const Expr& x) {
      Items again = *rest;
      again[0] = Item::tensor(x);
      Call call(*p_, *this, signature, std::move(again), where);
      const Item made = signature.rule->build(call, *p_);
      if (place < 0) return expr(made);
      const Items& parts = made.is(Kind::list) ? made.as_list().items : made.as_tuple().items;
      if (static_cast<size_t>(place) >= parts.size()) call.refuse("the tensor that it shows has {} parts now", parts.size());
      return expr(parts[static_cast<size_t>(place)]);
    };
    view->base = base;
    view->base_version = base->version;
    view->read = read;
    // Apply the view to the element numbers of the base: the result shows where each element of the view belongs.
    view->write = [this, read](const Expr& whole, const Expr& part) {
      TypedBuilder& p = *p_;
      const Expr shape = p.shape_of(whole);
      const Expr count = p.op("Size", {whole});
      const Expr numbers = p.reshape(p.op("Range", {p.scalar(0, DType::i64), count, p.scalar(1, DType::i64)}), shape);
      const Expr places = folded(read(folded(numbers)));
      const auto known = p.shape(whole), shown = p.shape(places);
      if (known && shown && *known == *shown && p.ints(places)) {  // all of it, in order
        const Ints order = *p.ints(places);
        bool in_order = true;
        for (size_t i = 0; i < order.size() && in_order; ++i) in_order = order[i] == static_cast<int64_t>(i);
        if (in_order) return p.reshape(part, shape);
      }
      const Expr updated =
          p.op("ScatterElements", {p.vector(whole), p.vector(places), p.vector(p.cast(part, p.dtype(whole)))}, {{"axis", int64_t{0}}});
      return p.reshape(updated, shape);
    };
  };
  if (result.is(Kind::tensor)) {
    attach(result, -1);
  } else if (result.is(Kind::list) || result.is(Kind::tuple)) {
    Items& items = result.is(Kind::list) ? result.as_list().items : result.as_tuple().items;
    for (size_t i = 0; i < items.size(); ++i) {
      attach(items[i], static_cast<int64_t>(i));
      keep(items[i]);
    }
  }
}

void Interpreter::restore(const Item& root) {
  // Names first: by the shortest way from the model.
  std::vector<std::pair<Item, std::string>> open = {{root, ""}};
  std::unordered_set<const Object*> seen;
  std::vector<Item> later;
  for (size_t at = 0; at < open.size(); ++at) {
    const Item item = open[at].first;
    const std::string path = open[at].second;
    if (!item.object() || !seen.insert(item.object().get()).second || path.size() > 1000) continue;
    const auto below = [&](std::string_view name) { return path.empty() ? std::string(name) : path + "." + std::string(name); };
    if (item.is(Kind::instance)) {
      item.as_instance().path = path;
      for (const auto& [name, value] : item.as_instance().attributes) open.emplace_back(value, below(name));
      if (item.as_instance().has_state && item.as_instance().attributes.empty()) open.emplace_back(item.as_instance().state, path);
      later.push_back(item);
    } else if (item.is(Kind::list) || item.is(Kind::tuple)) {
      const Items& items = item.is(Kind::list) ? item.as_list().items : item.as_tuple().items;
      for (size_t i = 0; i < items.size(); ++i) open.emplace_back(items[i], below(std::to_string(i)));
    } else if (item.is(Kind::dict)) {
      for (const auto& [key, value] : item.as_dict().items) open.emplace_back(value, below(key.is(Kind::text) ? key.text() : "item"));
    } else if (item.is(Kind::tensor) && item.as_tensor().name.empty()) {
      item.as_tensor().name = path;
    }
  }
  // Inner objects before those that contain them.
  for (size_t i = later.size(); i-- > 0;) {
    InstanceObject& instance = later[i].as_instance();
    if (!instance.has_state || !instance.attributes.empty()) continue;
    const auto setter = program_.find_method(instance.class_name, "__setstate__");
    if (!setter) continue;
    Frame frame;
    frame.path = instance.path;
    const Item state = instance.state;
    call(setter, {later[i], state}, instance.path);
  }
}

}  // namespace minnow::torchscript

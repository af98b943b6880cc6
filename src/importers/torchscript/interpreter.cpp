// SPDX-License-Identifier: Apache-2.0
// Statements, expressions and function calls, and the journal that undoes their changes.
#include "importers/torchscript/interpreter.h"

#include <algorithm>
#include <cmath>

#include "passes/rewrite.h"

namespace minnow::torchscript {

using Kind = Item::Kind;
using Form = Syntax::Kind;

// Nesting of statements and expressions, across all calls; each level takes up to 2 KB of stack. Models reach 20.
constexpr int kMostNesting = 200;
constexpr size_t kMostSteps = 8'000'000;  // of work in all

Interpreter::Interpreter(Program& program, Graph& graph, const OperatorSet& operators, SizeTable& sizes, Refusals& refusals,
                         ObjectStore& store, std::string source, std::function<void(const std::string&)> warn, int64_t version)
    : program_(program),
      graph_(graph),
      operators_(operators),
      sizes_(sizes),
      refusals_(refusals),
      store_(store),
      source_(std::move(source)),
      warn_(std::move(warn)),
      version_(version),
      root_(graph, operators, sizes),
      p_(&root_) {
  mark();
}

std::string Interpreter::place(const Frame& frame, std::string_view op) const {
  std::string where = frame.path.empty() ? stem_ : frame.path;
  if (where.size() > 200) where.resize(200);
  return format("{}: \"{}\", line {} ({})", source_, where, line_, op);
}
void Interpreter::fail(const Frame& frame, std::string_view what) const {
  throw InvalidModel("{}: \"{}\", line {}: {}", source_, frame.path.substr(0, 200), line_, what);
}
void Interpreter::refuse(const Frame& frame, std::string_view what) const {
  throw Unsupported("{}: \"{}\", line {}: {}", source_, frame.path.substr(0, 200), line_, what);
}

void Interpreter::spend(size_t steps) {
  *steps_ += steps;
  if (*steps_ > kMostSteps) throw Unsupported("{}: its program takes more than {} steps to follow", source_, kMostSteps);
}

/// Counts how deep the interpreter is in itself, so that its own stack is safe.
struct Interpreter::Deeper {
  explicit Deeper(Interpreter& interpreter) : interpreter_(interpreter) {
    if (interpreter.nesting_ >= kMostNesting)
      throw InvalidModel("{}: line {}: statements and expressions are in each other more than {} deep", interpreter.source_,
                         interpreter.line_, kMostNesting);
    ++interpreter.nesting_;
  }
  ~Deeper() { --interpreter_.nesting_; }
  Interpreter& interpreter_;
};

// The journal of changes.

void Interpreter::mark() {
  marks_.emplace_back();
  mark_starts_.push_back(journal_.size());
}

void Interpreter::touch(const std::shared_ptr<Object>& object) {
  if (!object) throw Unsupported("{}: something is changed that never changes", source_);
  if (!marks_.back().emplace(object.get(), journal_.size()).second) return;
  if (const auto* list = dynamic_cast<const ListObject*>(object.get())) spend(list->items.size() / 16);
  if (const auto* dict = dynamic_cast<const DictObject*>(object.get())) spend(dict->items.size() / 16);
  journal_.emplace_back(object, object->copy());
}

std::vector<std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> Interpreter::roll_back() {
  std::vector<std::pair<std::shared_ptr<Object>, std::shared_ptr<Object>>> changes;
  for (size_t i = mark_starts_.back(); i < journal_.size(); ++i) {
    changes.emplace_back(journal_[i].first, journal_[i].first->copy());
    journal_[i].first->assign(*journal_[i].second);
  }
  journal_.resize(mark_starts_.back());
  mark_starts_.pop_back();
  marks_.pop_back();
  return changes;
}

std::vector<std::shared_ptr<Object>> Interpreter::changed(uint64_t born) const {
  std::vector<std::shared_ptr<Object>> list;
  for (const auto& entry : journal_)
    if (entry.first->born < born) list.push_back(entry.first);
  return list;
}

const Object* Interpreter::before(const Object& object) const {
  const auto found = marks_[0].find(&object);
  return found == marks_[0].end() ? nullptr : journal_[found->second].second.get();
}

// Statements.

void Interpreter::run(const Block& block, Frame& frame) {
  for (const Statement& statement : block) {
    if (frame.done) return;
    run(statement, frame);
  }
}

void Interpreter::run(const Statement& statement, Frame& frame) {
  const Deeper deeper(*this);
  spend(1);
  line_ = statement.line;
  switch (statement.kind) {
    case Statement::Kind::pass:
      return;
    case Statement::Kind::give_back:
      frame.result = statement.values.empty() ? Item() : evaluate(*statement.values[0], frame);
      frame.done = true;
      return;
    case Statement::Kind::expression:
      for (const SyntaxPtr& value : statement.values) evaluate(*value, frame);
      return;
    case Statement::Kind::assign: {
      if (statement.targets[0]->kind == Form::name) stem_ = statement.targets[0]->text;
      if (statement.unpacks) {
        const Item item = evaluate(*statement.values[0], frame);
        Items parts;
        if (item.is(Kind::refused)) {
          parts.assign(statement.targets.size(), item);
        } else if (item.is(Kind::tuple)) {
          parts = item.as_tuple().items;
        } else if (item.is(Kind::list) && !item.as_list().sequence) {
          parts = item.as_list().items;
        } else if (item.is(Kind::list)) {
          for (size_t i = 0; i < statement.targets.size(); ++i) parts.push_back(index(item, Item::integer(static_cast<int64_t>(i)), frame));
        } else {
          refuse(frame, format("{} is taken apart", describe(item)));
        }
        if (parts.size() != statement.targets.size())
          fail(frame, format("{} values are taken apart into {} names", parts.size(), statement.targets.size()));
        spend(parts.size());
        for (size_t i = 0; i < parts.size(); ++i) assign(*statement.targets[i], parts[i], frame);
        return;
      }
      Items values;
      for (const SyntaxPtr& value : statement.values) values.push_back(evaluate(*value, frame));
      if (statement.type && values.size() == 1) values[0] = annotated(type_text(statement.type.get()), values[0], frame);
      for (size_t i = 0; i < values.size(); ++i) assign(*statement.targets[i], values[i], frame);
      return;
    }
    case Statement::Kind::branch:
      return branch(statement, frame);
    case Statement::Kind::counted:
      return counted(statement, frame);
    case Statement::Kind::repeated:
      return repeated(statement, frame);
    case Statement::Kind::context: {
      const Item manager = evaluate(*statement.values[0], frame);
      const Item entered = call_method(manager, "__enter__", {}, frame);
      if (!statement.targets.empty()) assign(*statement.targets[0], entered, frame);
      run(statement.body, frame);
      call_method(manager, "__exit__", {Item(), Item(), Item()}, frame);
      return;
    }
    case Statement::Kind::function:
      frame.variables[statement.function->name] = Item::function(statement.function);
      return;
  }
}

void Interpreter::assign(const Syntax& target, const Item& item, Frame& frame) {
  if (target.kind == Form::name) {
    frame.variables[target.text] = item;
    return;
  }
  const Item owner = evaluate(*target.parts[0], frame);
  if (owner.is(Kind::refused)) return;
  if (!owner.is(Kind::instance)) refuse(frame, format("an attribute of {} is set", describe(owner)));
  touch(owner.object());
  owner.as_instance().set(target.text, item);
}

// Expressions.

Item Interpreter::evaluate(const Syntax& syntax, Frame& frame) {
  const Deeper deeper(*this);
  switch (syntax.kind) {
    case Form::none:
      return {};
    case Form::boolean:
      return Item::boolean(syntax.integer != 0);
    case Form::integer:
      return Item::integer(syntax.integer);
    case Form::real:
      return Item::real(syntax.real);
    case Form::text:
      return Item::text(syntax.text);
    case Form::name: {
      const auto found = frame.variables.find(syntax.text);
      if (found != frame.variables.end()) return found->second;
      fail(frame, format("\"{}\" is used, but nothing is assigned to it", syntax.text.substr(0, 200)));
    }
    case Form::negative: {
      const Item item = evaluate(*syntax.parts[0], frame);
      if (item.is_known())
        return item.is(Kind::real) ? Item::real(-item.real()) : Item::integer(static_cast<int64_t>(-static_cast<uint64_t>(item.integer())));
      return apply("aten::neg", {item}, {}, {}, frame);
    }
    case Form::list:
    case Form::tuple: {
      Items items;
      spend(syntax.parts.size());
      for (const SyntaxPtr& part : syntax.parts) items.push_back(evaluate(*part, frame));
      return keep(syntax.kind == Form::list ? Item::list(std::move(items)) : Item::tuple(std::move(items)));
    }
    case Form::dict: {
      auto made = std::make_shared<DictObject>();
      for (size_t i = 0; i + 1 < syntax.parts.size(); i += 2) {
        Item key = evaluate(*syntax.parts[i], frame);
        made->items.emplace_back(std::move(key), evaluate(*syntax.parts[i + 1], frame));
      }
      return keep(Item::object(Kind::dict, std::move(made)));
    }
    case Form::attribute: {
      const Syntax* root = &syntax;
      while (root->kind == Form::attribute) root = root->parts[0].get();
      if (root->kind == Form::name && !frame.variables.contains(root->text) && (root->text == "CONSTANTS" || root->text == "__torch__"))
        return global(type_text(&syntax), frame);
      return attribute(evaluate(*syntax.parts[0], frame), syntax.text, frame);
    }
    case Form::index:
      return index(evaluate(*syntax.parts[0], frame), evaluate(*syntax.parts[1], frame), frame);
    case Form::slice: {
      const Item what = evaluate(*syntax.parts[0], frame);
      const Item from = syntax.parts[1] ? evaluate(*syntax.parts[1], frame) : Item::integer(0);
      const Item to = syntax.parts[2] ? evaluate(*syntax.parts[2], frame) : Item::integer(INT64_MAX);
      if (what.is(Kind::refused)) return what;
      if (!what.is(Kind::tuple) || !from.is_known() || !to.is_known()) refuse(frame, format("a part of {} is taken", describe(what)));
      const Items& items = what.as_tuple().items;
      const int64_t size = static_cast<int64_t>(items.size());
      const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
      const int64_t first = clamp(from.integer()), last = std::max(first, clamp(to.integer()));
      spend(static_cast<size_t>(last - first));
      return keep(Item::tuple(Items(items.begin() + first, items.begin() + last)));
    }
    case Form::call:
      return evaluate_call(syntax, frame);
  }
  return {};
}

Item Interpreter::global(const std::string& name, Frame& frame) {
  if (name.starts_with("CONSTANTS.c")) {
    size_t place = 0;
    for (char c : std::string_view(name).substr(11))
      place = c >= '0' && c <= '9' && place < 1'000'000 ? place * 10 + static_cast<size_t>(c - '0') : SIZE_MAX / 16;
    if (place >= constants_.size()) fail(frame, format("there is no {}", name.substr(0, 100)));
    return constants_[place];
  }
  if (const auto function = program_.find_function(name)) return Item::function(function);
  const size_t dot = name.rfind('.');
  if (const auto owner = program_.find_class(name.substr(0, dot)); owner && owner->base == "Enum") {
    const auto found = owner->constants.find(name.substr(dot + 1));
    if (found == owner->constants.end()) fail(frame, format("there is no {}", name.substr(0, 200)));
    auto made = std::make_shared<InstanceObject>();
    made->class_name = name.substr(0, dot);
    made->attributes.emplace_back("value", evaluate(*found->second, frame));
    made->attributes.emplace_back("name", Item::text(name.substr(dot + 1)));
    return keep(Item::object(Kind::instance, std::move(made)));
  }
  return Item::class_name(name);
}

Item Interpreter::attribute(const Item& item, const std::string& name, Frame& frame) {
  if (item.is(Kind::refused)) return item;
  if (item.is(Kind::class_name)) return global(item.text() + "." + name, frame);
  if (item.is(Kind::tuple) && !item.as_tuple().class_name.empty()) {
    const auto owner = program_.find_class(item.as_tuple().class_name);
    for (size_t i = 0; owner && i < owner->fields.size() && i < item.as_tuple().items.size(); ++i)
      if (owner->fields[i] == name) return item.as_tuple().items[i];
  }
  if (!item.is(Kind::instance)) refuse(frame, format("attribute \"{}\" of {} is read", name.substr(0, 200), describe(item)));
  if (const Item* found = item.as_instance().find(name)) return *found;
  if (const auto owner = program_.find_class(item.as_instance().class_name)) {
    const auto found = owner->constants.find(name);
    if (found != owner->constants.end()) return evaluate(*found->second, frame);
    if (owner->base == "Enum" && name == "name")
      for (const auto& [member, value] : owner->constants) {
        const Item known = evaluate(*value, frame), *mine = item.as_instance().find("value");
        if (mine && known.kind() == mine->kind() &&
            (known.is(Kind::text) ? known.text() == mine->text() : known.is_known() && known.real() == mine->real()))
          return Item::text(member);
      }
  }
  fail(frame, format("an object of {} has no attribute \"{}\"", item.as_instance().class_name.substr(0, 200), name.substr(0, 200)));
}

Item Interpreter::index(const Item& item, const Item& at, Frame& frame) {
  if (item.is(Kind::tuple) && at.is_known()) {
    const Items& items = item.as_tuple().items;
    const int64_t place = at.integer() < 0 ? at.integer() + static_cast<int64_t>(items.size()) : at.integer();
    if (place < 0 || place >= static_cast<int64_t>(items.size()))
      fail(frame, format("item {} of {} is read", at.integer(), describe(item)));
    return items[static_cast<size_t>(place)];
  }
  return apply("aten::__getitem__", {item, at}, {}, {}, frame);
}

Item Interpreter::annotated(const std::string& type, const Item& item, Frame& frame) {
  if (item.is(Kind::list) && type.starts_with("List[")) {
    if (item.as_list().items.empty() && item.as_list().element.empty()) item.as_list().element = type.substr(5, type.size() - 6);
    return item;
  }
  if (!item.is(Kind::tensor)) return item;
  if (type == "int") return apply("aten::Int", {item}, {}, {}, frame);
  if (type == "float" || type == "number")
    return apply(is_float(p_->dtype(expr(item))) ? "aten::Float" : "aten::Int", {item}, {}, {}, frame);
  if (type == "bool") return truth(item, frame);
  return item;
}

Item Interpreter::truth(const Item& item, Frame& frame) {
  switch (item.kind()) {
    case Kind::none:
      return Item::boolean(false);
    case Kind::boolean:
      return item;
    case Kind::integer:
    case Kind::real: {
      if (item.is_known()) return Item::boolean(item.truth());
      Item made = Item::symbol(Kind::boolean, p_->cast(p_->wrap(item.symbol()), DType::boolean));
      fold(made);
      return made;
    }
    case Kind::tensor: {
      const Expr x = expr(item);
      if (const auto number = p_->number(x)) return Item::boolean(*number != 0);
      Item made = Item::symbol(Kind::boolean, p_->reshape(p_->cast(x, DType::boolean), Ints{1}));
      fold(made);
      return made;
    }
    case Kind::text:
      return Item::boolean(!item.text().empty());
    case Kind::tuple:
      return Item::boolean(!item.as_tuple().items.empty());
    case Kind::dict:
      return Item::boolean(!item.as_dict().items.empty());
    case Kind::list:
      if (!item.as_list().sequence) return Item::boolean(!item.as_list().items.empty());
      refuse(frame, "a condition is a list whose length only a run tells");
    case Kind::refused:
      return Item::boolean(true);
    default:
      refuse(frame, format("a condition is {}", describe(item)));
  }
}

/// True if the item is of the type, as isinstance() sees it.
bool Interpreter::is_instance(const Item& item, const std::string& type) {
  if (type.starts_with("Optional[")) return item.is_none() || is_instance(item, type.substr(9, type.size() - 10));
  if (type.starts_with("Union[") || type.starts_with("(")) {
    int open = 0;
    std::string part;
    for (size_t i = type.find_first_of("[(") + 1; i + 1 <= type.size(); ++i) {
      const char c = i < type.size() ? type[i] : ',';
      open += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      if ((c == ',' && open == 0) || open < 0) {
        if (is_instance(item, part)) return true;
        part.clear();
        if (open < 0) return false;
      } else if (c != ' ' || !part.empty()) {
        part += c;
      }
    }
    return false;
  }
  if (type == "Any") return true;
  if (type == "None" || type == "NoneType") return item.is_none();
  switch (item.kind()) {
    case Kind::boolean:
      return type == "bool";
    case Kind::integer:
      return type == "int" || type == "number";
    case Kind::real:
      return type == "float" || type == "number";
    case Kind::text:
      return type == "str";
    case Kind::tensor:
      return type == "Tensor";
    case Kind::list:
      if (type == "list") return true;
      if (!type.starts_with("List[")) return false;
      if (item.as_list().sequence) return type == "List[Tensor]";
      if (item.as_list().items.empty()) return item.as_list().element.empty() || item.as_list().element == type.substr(5, type.size() - 6);
      return is_instance(item.as_list().items[0], type.substr(5, type.size() - 6));
    case Kind::tuple:
      return type == "tuple" || type.starts_with("Tuple[") || type == item.as_tuple().class_name;
    case Kind::dict:
      return type == "dict" || type.starts_with("Dict[");
    case Kind::instance:
      return type == item.as_instance().class_name;
    default:
      return false;
  }
}

/// Forms that look like calls of functions of their own.
Item Interpreter::special(const std::string& name, const Syntax& syntax, Frame& frame, bool& known) {
  known = true;
  const auto argument = [&](size_t i) -> const Syntax& {
    if (i + 1 >= syntax.parts.size()) fail(frame, format("{}() lacks an argument", name));
    return *syntax.parts[i + 1];
  };
  if (name == "annotate") {
    const std::string type = type_text(&argument(0));
    const Syntax& inner = argument(1);
    const Syntax* function = inner.kind == Form::call ? inner.parts[0].get() : nullptr;
    if (function && function->kind == Form::attribute && function->text == "tolist") {
      const Item x = evaluate(*function->parts[0], frame);
      return apply("prim::tolist", {x}, {}, {}, frame);
    }
    return annotated(type, evaluate(inner, frame), frame);
  }
  if (name == "unchecked_cast") {
    const Item item = evaluate(argument(1), frame);
    return item;
  }
  if (name == "uninitialized") return Item::of_kind(Kind::uninitialized);
  if (name == "getattr") {
    const Item owner = evaluate(argument(0), frame), field = evaluate(argument(1), frame);
    if (!field.is(Kind::text)) fail(frame, "getattr() takes a name");
    return attribute(owner, field.text(), frame);
  }
  if (name == "isinstance") {
    const Item item = evaluate(argument(0), frame);
    if (item.is(Kind::refused)) return Item::boolean(true);
    const Syntax& types = argument(1);
    if (types.kind == Form::tuple || types.kind == Form::list) {
      for (const SyntaxPtr& type : types.parts)
        if (is_instance(item, type_text(type.get()))) return Item::boolean(true);
      return Item::boolean(false);
    }
    return Item::boolean(is_instance(item, type_text(&types)));
  }
  if (name == "print") {
    for (size_t i = 1; i < syntax.parts.size(); ++i) evaluate(*syntax.parts[i], frame);
    return {};
  }
  if (name == "fork") {  // what would run at the same time runs now
    const Item function = evaluate(argument(0), frame);
    if (!function.is(Kind::function)) refuse(frame, "fork() takes a function of the file");
    spend(frame.variables.size());
    Frame inner{frame.variables, frame.path, {}, false};
    run(function.function()->body, inner);
    return inner.result;
  }
  if (name == "bool") return truth(evaluate(argument(0), frame), frame);
  static const std::map<std::string, std::string, std::less<>> kConversions = {
      {"int", "aten::Int"}, {"float", "aten::Float"}, {"str", "aten::str"}, {"sorted", "aten::sorted"}, {"complex", "aten::Complex"}};
  if (const auto found = kConversions.find(name); found != kConversions.end())
    return apply(found->second, {evaluate(argument(0), frame)}, {}, {}, frame);
  known = false;
  return {};
}

Item Interpreter::evaluate_call(const Syntax& syntax, Frame& frame) {
  spend(1);
  const Syntax& function = *syntax.parts[0];
  if (function.kind == Form::name && !frame.variables.contains(function.text)) {
    bool known = false;
    Item result = special(function.text, syntax, frame, known);
    if (known) return result;
    refuse(frame, format("{}() is not supported", function.text.substr(0, 100)));
  }
  const size_t named_count = syntax.keywords.size(), positional_count = syntax.parts.size() - 1 - named_count;
  const auto arguments = [&](Items& positional, Items& named) {
    for (size_t i = 0; i < positional_count; ++i) positional.push_back(evaluate(*syntax.parts[1 + i], frame));
    for (size_t i = 0; i < named_count; ++i) named.push_back(evaluate(*syntax.parts[1 + positional_count + i], frame));
  };
  Items positional, named;
  if (function.kind == Form::attribute) {
    const Syntax* root = &function;
    while (root->kind == Form::attribute) root = root->parts[0].get();
    const bool is_global = root->kind == Form::name && !frame.variables.contains(root->text);
    if (is_global && (root->text == "torch" || root->text == "ops")) {
      const std::string whole = type_text(&function);
      std::string op;
      if (root->text == "torch") {
        op = "aten::" + function.text;
      } else {
        op = whole.substr(4);
        const size_t dot = op.find('.');
        if (dot != op.npos) op.replace(dot, 1, "::");
      }
      arguments(positional, named);
      return apply(op, std::move(positional), syntax.keywords, std::move(named), frame);
    }
    if (is_global && root->text == "__torch__") {
      if (function.text == "__new__") {
        auto made = std::make_shared<InstanceObject>();
        made->class_name = type_text(function.parts[0].get());
        return keep(Item::object(Kind::instance, std::move(made)));
      }
    } else {
      const Item owner = evaluate(*function.parts[0], frame);
      arguments(positional, named);
      positional.insert(positional.end(), named.begin(), named.end());
      if (owner.is(Kind::class_name) && function.text == "__new__") {
        auto made = std::make_shared<InstanceObject>();
        made->class_name = owner.text();
        return keep(Item::object(Kind::instance, std::move(made)));
      }
      return call_method(owner, function.text, positional, frame);
    }
  }
  const Item callee = evaluate(function, frame);
  arguments(positional, named);
  positional.insert(positional.end(), named.begin(), named.end());
  if (callee.is(Kind::refused)) return callee;
  if (callee.is(Kind::function)) return call(callee.function(), std::move(positional), frame.path);
  if (callee.is(Kind::class_name)) return make(callee.text(), positional, frame);
  refuse(frame, format("{} is called", describe(callee)));
}

Item Interpreter::make(const std::string& class_name, const Items& arguments, Frame& frame) {
  const auto owner = program_.find_class(class_name);
  if (!owner) fail(frame, format("there is no \"{}\"", class_name.substr(0, 200)));
  if (owner->base == "NamedTuple") {
    Item made = Item::tuple(arguments);
    made.as_tuple().class_name = class_name;
    return keep(made);
  }
  auto made = std::make_shared<InstanceObject>();
  made->class_name = class_name;
  const Item item = keep(Item::object(Kind::instance, std::move(made)));
  call_method(item, "__init__", arguments, frame);
  return item;
}

Item Interpreter::call_method(const Item& object, const std::string& method, const Items& arguments, Frame& frame) {
  if (object.is(Kind::refused)) return object;
  if (object.is(Kind::tensor)) {
    Items all = {object};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return apply("aten::" + method, std::move(all), {}, {}, frame);
  }
  if (!object.is(Kind::instance)) refuse(frame, format("method {} of {} is called", method.substr(0, 100), describe(object)));
  const auto function = program_.find_method(object.as_instance().class_name, method);
  if (!function) refuse(frame, format("{} has no method {}", object.as_instance().class_name.substr(0, 200), method.substr(0, 100)));
  Items all = {object};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return call(function, std::move(all), object.as_instance().path.empty() ? frame.path : object.as_instance().path);
}

Item Interpreter::call(const std::shared_ptr<Function>& function, Items arguments, const std::string& path) {
  Frame frame;
  frame.path = path;
  if (arguments.size() > function->parameters.size())
    fail(frame, format("{}() takes {} arguments, {} are given", function->name, function->parameters.size(), arguments.size()));
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    const Parameter& parameter = function->parameters[i];
    if (i < arguments.size()) {
      frame.variables[parameter.name] = std::move(arguments[i]);
    } else if (parameter.fallback) {
      frame.variables[parameter.name] = evaluate(*parameter.fallback, frame);
    } else {
      fail(frame, format("{}() lacks its argument \"{}\"", function->name, parameter.name));
    }
  }
  const uint32_t line = line_;
  const std::string stem = stem_;
  run(function->body, frame);
  line_ = line;
  stem_ = stem;
  return frame.result;
}

}  // namespace minnow::torchscript

// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/value.h"

#include <atomic>

#include "base/error.h"

namespace minnow::torchscript {

uint64_t Object::next() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

Item Item::boolean(bool value) {
  Item item = of_kind(Kind::boolean);
  item.integer_ = value;
  return item;
}
Item Item::integer(int64_t value) {
  Item item = of_kind(Kind::integer);
  item.integer_ = value;
  return item;
}
Item Item::real(double value) {
  Item item = of_kind(Kind::real);
  item.real_ = value;
  return item;
}
Item Item::text(std::string value) {
  Item item = of_kind(Kind::text);
  item.text_ = std::make_shared<const std::string>(std::move(value));
  return item;
}
Item Item::tensor(std::shared_ptr<TensorObject> value) { return object(Kind::tensor, std::move(value)); }
Item Item::tensor(const Expr& x) {
  auto made = std::make_shared<TensorObject>();
  made->value = x.value();
  return tensor(std::move(made));
}
Item Item::symbol(Kind kind, const Expr& x) {
  Item item = of_kind(kind);
  item.symbol_ = x.value();
  return item;
}
Item Item::list(std::vector<Item> items) {
  auto made = std::make_shared<ListObject>();
  made->items = std::move(items);
  return object(Kind::list, std::move(made));
}
Item Item::tuple(std::vector<Item> items) {
  auto made = std::make_shared<TupleObject>();
  made->items = std::move(items);
  return object(Kind::tuple, std::move(made));
}
Item Item::object(Kind kind, std::shared_ptr<Object> object) {
  Item item = of_kind(kind);
  item.object_ = std::move(object);
  return item;
}
Item Item::function(std::shared_ptr<Function> function) {
  Item item = of_kind(Kind::function);
  item.function_ = std::move(function);
  return item;
}
Item Item::class_name(std::string name) {
  Item item = text(std::move(name));
  item.kind_ = Kind::class_name;
  return item;
}
Item Item::unreadable(std::string why) {
  Item item = text(std::move(why));
  item.kind_ = Kind::uninitialized;
  return item;
}
Item::Item(const Exprs& xs) {
  Items items;
  for (const Expr& x : xs) items.push_back(x ? tensor(x) : Item());
  *this = tuple(std::move(items));
}

namespace {

constexpr std::string_view kNames[] = {"None",  "bool", "int",    "float",    "str",     "Tensor",        "list",
                                       "tuple", "dict", "object", "function", "a class", "uninitialized", "refused"};

}  // namespace

Object& Item::object_of(Kind kind) const {
  if (kind_ != kind || !object_) throw Unsupported("a {} is expected, {} stands there", kNames[static_cast<size_t>(kind)], describe(*this));
  return *object_;
}
ListObject& Item::as_list() const { return static_cast<ListObject&>(object_of(Kind::list)); }
TupleObject& Item::as_tuple() const { return static_cast<TupleObject&>(object_of(Kind::tuple)); }
DictObject& Item::as_dict() const { return static_cast<DictObject&>(object_of(Kind::dict)); }
InstanceObject& Item::as_instance() const { return static_cast<InstanceObject&>(object_of(Kind::instance)); }
TensorObject& Item::as_tensor() const { return static_cast<TensorObject&>(object_of(Kind::tensor)); }
std::shared_ptr<TensorObject> Item::tensor_object() const {
  object_of(Kind::tensor);
  return std::static_pointer_cast<TensorObject>(object_);
}

std::string describe(const Item& item) {
  std::string text(kNames[static_cast<size_t>(item.kind())]);
  if (item.is(Item::Kind::tuple)) text += format(" of {}", item.as_tuple().items.size());
  if (item.is(Item::Kind::instance)) text = item.as_instance().class_name;
  if (item.is(Item::Kind::uninitialized) && item.has_text()) text = item.text();
  return text;
}

}  // namespace minnow::torchscript

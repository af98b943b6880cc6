// SPDX-License-Identifier: Apache-2.0
// The values of variables while the importer follows a TorchScript program: numbers, either known or computed by the graph, tensors, and
// Python's containers and objects with their identity.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numeric.h"
#include "graph/expr.h"
#include "importers/torchscript/script.h"

namespace minnow::torchscript {

/// Something with an identity: all references to it see its changes.
struct Object {
  Object() : born(next()) {}
  virtual ~Object() = default;
  /// Copies and restores the contents, for branches that are followed one after the other.
  virtual std::shared_ptr<Object> copy() const = 0;
  virtual void assign(const Object& other) = 0;
  uint64_t born;  // counts objects: one made later has a larger number
  static uint64_t next();
};

struct ListObject;
struct TupleObject;
struct DictObject;
struct InstanceObject;
struct TensorObject;

class Item {
 public:
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    tensor,
    list,
    tuple,
    dict,
    instance,
    function,       // of the file
    class_name,     // a class of the file, or a module path on the way to one
    uninitialized,  // never read
    refused         // the result of an unsupported operator; anything computed from it is refused too
  };

  Item() = default;
  static Item boolean(bool value);
  static Item integer(int64_t value);
  static Item real(double value);
  static Item text(std::string value);
  static Item tensor(std::shared_ptr<TensorObject> value);
  static Item tensor(const Expr& x);
  /// A number that the graph computes: one element of i64 [1], f64 [1], or a bool [1].
  static Item symbol(Kind kind, const Expr& x);
  static Item list(std::vector<Item> items = {});
  static Item tuple(std::vector<Item> items);
  static Item object(Kind kind, std::shared_ptr<Object> object);
  static Item function(std::shared_ptr<Function> function);
  static Item class_name(std::string name);
  /// A value that must not be read, with the reason.
  static Item unreadable(std::string why);
  static Item of_kind(Kind kind) {
    Item item;
    item.kind_ = kind;
    return item;
  }
  // Conversions for the results of rules.
  Item(const Expr& x) : Item(tensor(x)) {}
  Item(const Exprs& xs);

  Kind kind() const noexcept { return kind_; }
  bool is(Kind kind) const noexcept { return kind_ == kind; }
  bool is_none() const noexcept { return kind_ == Kind::none; }
  bool is_number() const noexcept { return kind_ == Kind::boolean || kind_ == Kind::integer || kind_ == Kind::real; }
  /// A number whose value the importer knows.
  bool is_known() const noexcept { return is_number() && !symbol_; }
  int64_t integer() const noexcept { return kind_ == Kind::real ? truncate(real_) : integer_; }
  double real() const noexcept { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
  bool truth() const noexcept { return kind_ == Kind::real ? real_ != 0 : integer_ != 0; }
  Value* symbol() const noexcept { return symbol_; }
  const std::string& text() const noexcept { return *text_; }
  bool has_text() const noexcept { return text_ != nullptr; }
  const std::shared_ptr<Object>& object() const noexcept { return object_; }
  const std::shared_ptr<Function>& function() const noexcept { return function_; }
  // These throw Unsupported if the item is something else, because the types in programs are not reliable.
  ListObject& as_list() const;
  TupleObject& as_tuple() const;
  DictObject& as_dict() const;
  InstanceObject& as_instance() const;
  TensorObject& as_tensor() const;
  std::shared_ptr<TensorObject> tensor_object() const;

 private:
  Object& object_of(Kind kind) const;

  Kind kind_ = Kind::none;
  int64_t integer_ = 0;
  double real_ = 0;
  Value* symbol_ = nullptr;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<Object> object_;
  std::shared_ptr<Function> function_;
};
using Items = std::vector<Item>;

/// How integers stand for the numbers of a quantized tensor: (q - zero) * scale.
struct Quantization {
  double scale = 1;
  int64_t zero = 0;
  std::vector<double> scales;  // of channels along `axis`, instead of the one
  Ints zeros;
  int64_t axis = 0;
};

/// A tensor. `value` is its current value in the graph; a literal of the file gets a constant at its first use. A view shares elements with
/// its base: a write to either shows in both.
struct TensorObject final : Object {
  Value* value = nullptr;
  Value* imaginary = nullptr;  // of complex numbers, whose real parts are `value`
  Tensor literal;
  std::string name;  // of a literal: its attribute path
  std::shared_ptr<const Quantization> quantization;
  bool is_number = false;  // made from a Python number: yields to other tensors' dtypes as a number does
  uint64_t version = 0;

  // A view.
  std::shared_ptr<TensorObject> base;
  uint64_t base_version = 0;
  std::function<Expr(const Expr& base)> read;
  std::function<Expr(const Expr& base, const Expr& part)> write;

  std::shared_ptr<Object> copy() const override { return std::make_shared<TensorObject>(*this); }
  void assign(const Object& other) override { *this = static_cast<const TensorObject&>(other); }
};

/// A list; one that grows while the graph runs is a sequence of the graph.
struct ListObject final : Object {
  Items items;
  Value* sequence = nullptr;  // instead of items
  std::string element;        // its type, if the file gives it
  std::shared_ptr<Object> copy() const override { return std::make_shared<ListObject>(*this); }
  void assign(const Object& other) override { *this = static_cast<const ListObject&>(other); }
};

/// A tuple does not change; a named one has a class.
struct TupleObject final : Object {
  Items items;
  std::string class_name;
  std::shared_ptr<Object> copy() const override { return std::make_shared<TupleObject>(*this); }
  void assign(const Object& other) override { *this = static_cast<const TupleObject&>(other); }
};

struct DictObject final : Object {
  std::vector<std::pair<Item, Item>> items;  // in the order of insertion
  std::shared_ptr<Object> copy() const override { return std::make_shared<DictObject>(*this); }
  void assign(const Object& other) override { *this = static_cast<const DictObject&>(other); }
};

/// An object of a class of the file.
struct InstanceObject final : Object {
  std::string class_name;
  std::string path;  // of attributes from the model, "layer1.0.conv"; empty for the model, and for objects made while following
  std::vector<std::pair<std::string, Item>> attributes;
  Item state;  // of a class whose objects are opaque, or whose __setstate__ was not run yet
  bool has_state = false;

  const Item* find(std::string_view name) const {
    for (const auto& attribute : attributes)
      if (attribute.first == name) return &attribute.second;
    return nullptr;
  }
  void set(std::string_view name, Item item) {
    for (auto& attribute : attributes)
      if (attribute.first == name) {
        attribute.second = std::move(item);
        return;
      }
    attributes.emplace_back(name, std::move(item));
  }
  std::shared_ptr<Object> copy() const override { return std::make_shared<InstanceObject>(*this); }
  void assign(const Object& other) override { *this = static_cast<const InstanceObject&>(other); }
};

/// "int", "Tensor", "List", "a tuple of 3": for errors.
std::string describe(const Item& item);

}  // namespace minnow::torchscript

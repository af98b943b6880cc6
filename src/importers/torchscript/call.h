// SPDX-License-Identifier: Apache-2.0
// One call of an operator as seen by its rule: arguments by name, with the table's defaults for omitted ones.
#pragma once
#include <span>

#include "importers/builder/typed_builder.h"
#include "importers/foreign_node.h"
#include "importers/torchscript/value.h"

namespace minnow::torchscript {

class Call;

using Builder = Item(Call& call, TypedBuilder& p);

/// A row of the table. Several rows of one name are its overloads: the first whose arguments fit is taken.
struct Rule {
  std::string_view op;
  /// "T input, T? bias=None, i[2] stride=1, * i? dtype=None". Types: T tensor, i int, f float, n int or float, b bool, s text, a anything.
  /// [] marks a list ([2]: one number may stand for all), ? an optional argument. Arguments after * are keyword-only.
  std::string_view signature;
  Builder* build;
  std::string_view target = {};  // Minnow's operator, or a word, for rules that serve several
  /// view: a view of the first argument. quantized: the rule handles quantized tensors itself. Other rules get dequantized tensors, and
  /// their results are quantized like their first argument.
  enum class Result : uint8_t { fresh, view, quantized } result = Result::fresh;
};

std::span<const Rule> all_rules();

struct Argument {
  std::string_view name;
  char type = 'a';
  bool optional = false, is_list = false, by_name = false, has_fallback = false;
  int64_t list_size = -1;  // of a list that one number stands for too
  Item fallback;
};
struct Signature {
  const Rule* rule;
  std::vector<Argument> arguments;
};
/// The overloads of an operator; empty if it has no rule.
std::span<const Signature> signatures_of(std::string_view op);
/// The first overload that the arguments fit, and the arguments in its order; null if none does.
const Signature* resolve(std::string_view op, const Items& positional, const std::vector<std::string>& names, const Items& named,
                         Items& arguments);

/// The services of the interpreter that rules need.
class Host {
 public:
  /// The graph's current value for a tensor.
  virtual Expr expr(const Item& tensor) = 0;
  /// Must be called before an object is changed.
  virtual void touch(const std::shared_ptr<Object>& object) = 0;
  /// Writes to a tensor and to the base of which it is a view.
  virtual void write(const std::shared_ptr<TensorObject>& tensor, const Expr& value) = 0;
  /// Keeps a newly made object.
  virtual Item keep(Item item) = 0;
  /// The rank of a tensor. If it is not known, throws RankNeeded, and the import starts again with another guess.
  virtual int64_t rank(const Expr& x) = 0;
  /// The same, but the operator restricts the rank to one of `ranks`.
  virtual void expect_rank(const Expr& x, std::initializer_list<int64_t> ranks) = 0;
  /// Requires a tensor of indices. If it comes from a model input that was guessed to be floating, the import starts again.
  virtual void expect_integers(const Expr& x) = 0;
  virtual void warn(const std::string& sentence) = 0;
  virtual int64_t version() const = 0;  // of the file's operators
  /// Counts work; throws if a program makes too much of it.
  virtual void spend(size_t steps) = 0;

 protected:
  ~Host() = default;
};

class Call : public ForeignNode {
 public:
  Call(TypedBuilder& parts, Host& interpreter, const Signature& taken, Items given, std::string where)
      : ForeignNode{std::move(where)}, p(parts), host(interpreter), rule(*taken.rule), signature(taken), arguments(std::move(given)) {}

  TypedBuilder& p;
  Host& host;
  const Rule& rule;
  const Signature& signature;
  Items arguments;

  const Item& operator[](std::string_view name) const;
  bool has(std::string_view name) const { return !(*this)[name].is_none(); }
  /// True if this overload has such an argument, given or not.
  bool takes(std::string_view name) const;
  /// A tensor; of a number, a tensor of one element without dimensions.
  Expr x(std::string_view name) { return tensor((*this)[name]); }
  Expr optional(std::string_view name) { return has(name) ? x(name) : Expr(); }
  Exprs tensors(std::string_view name);
  Expr tensor(const Item& item);
  /// A size, an axis or a count. Refuses values beyond kMostInteger, so that rules can add and multiply two of them.
  int64_t integer(std::string_view name);
  int64_t integer(std::string_view name, int64_t if_none) { return has(name) ? integer(name) : if_none; }
  double real(std::string_view name);
  double real(std::string_view name, double if_none) { return has(name) ? real(name) : if_none; }
  bool flag(std::string_view name);
  const std::string& text(std::string_view name);
  /// A list of known sizes, axes or counts; with `count`, a number stands for a list of that length. None gives an empty list.
  Ints ints(std::string_view name, size_t count = 0);
  std::vector<double> reals(std::string_view name);
  /// An axis in [0, rank).
  int64_t axis(std::string_view name, int64_t rank);
  int64_t axis_of(int64_t axis, int64_t rank) const;
  DType type(std::string_view name, DType if_none);
  /// A list of integers, known or not, as an i64 vector.
  Expr vector(std::string_view name);
  Expr vector(const Items& items);
  /// One integer as an i64 vector of one element.
  Expr one(const Item& item);
  /// The items of a list or a tuple.
  const Items& items(std::string_view name);
  int64_t rank(const Expr& x) { return host.rank(x); }

 private:
  static constexpr int64_t kMostInteger = int64_t{1} << 31;
  int64_t known_integer(const Item& item, std::string_view name);
};

// Functions that several files of rules use.

/// x and y as tensors of one dtype, by PyTorch's promotion: numbers and tensors without dimensions yield to the others of their category.
std::pair<Expr, Expr> promoted(Call& call, const Item& x, const Item& y);
DType promoted_type(Call& call, const Item& x, const Item& y);
/// PyTorch's promotion of two dtypes.
DType joined(DType a, DType b);
bool is_floating(DType type);
/// x as a floating tensor: integers become f32, as functions of real numbers do it.
Expr real_of(Call& call, const Expr& x);
/// The numbers that a tensor stands for, quantized or not.
Expr dequantized(Call& call, const Item& item);
/// A floating result quantized as `like` is.
Item requantized(Call& call, const Item& result, const Item& like);
/// y with the dimensions given by a list of sizes, which shape inference does not read.
Expr with_sizes(const Expr& y, const Items& wanted);
Expr scalar_like(Call& call, double value, const Expr& x);
/// Records that dimension `axis` of x (from the end if negative) must be `size`, as weights used with x imply. Has an effect only if x is a
/// model input, possibly transposed, that leaves this dimension open. Ignores sizes below 1.
void tell_size(const Expr& x, int64_t axis, int64_t size);

// Complex numbers (rules_complex.cpp). An operator "aten::f" that takes some has a row "complex::f" of its own, or is one of these.
bool is_complex(const Item& item);
Item complex_item(const Expr& re, const Expr& im);
/// True if the operator does the same with the real and the imaginary parts.
bool works_on_parts(std::string_view op);
/// True if the operator's result depends on the shape only, so that the real parts suffice.
bool tells_of_shape(std::string_view op);

}  // namespace minnow::torchscript

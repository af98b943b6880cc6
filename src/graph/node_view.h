// SPDX-License-Identifier: Apache-2.0
// How shape rules, references, decompositions and schemes see a node: its attributes, and the concrete shapes, dtypes and known
// contents of its inputs and outputs.
#pragma once
#include "base/error.h"
#include "base/name.h"
#include "graph/graph.h"
#include "graph/size.h"

namespace minnow {

struct Operator;  // ops/operator.h; here only passed on

/// The facts known about a value in symbols. Lives as long as the SizeTable of its expressions.
struct SymbolicValue {
  Sizes shape;                 // of the tensor; of a sequence or an optional: of every tensor within
  std::vector<Size> contents;  // where has_contents: an element each, unknown ones included
  bool has_contents = false;
};

/// The facts known about a value while a plan is made, or while types are inferred.
struct ValueInfo {
  enum class Kind : uint8_t { absent, tensor, sequence, optional };
  enum class Extent : uint8_t {
    exact,        // shape is the shape
    symbolic,     // symbolic->shape is the shape; never while a plan is being made
    upper_bound,  // the shape depends on data; no dimension exceeds `shape`'s, and the elements fit in as many bytes
    unknown       // the shape (and perhaps the rank) depends on data
  };
  Kind kind = Kind::tensor;
  Kind element = Kind::tensor;     // kind optional: what it holds where it is not empty, tensor or sequence
  DType dtype = DType::undefined;  // of a sequence or an optional: of the tensors within
  Extent extent = Extent::exact;
  Shape shape;
  Tensor contents;                                // set where the contents are known before the run
  std::shared_ptr<const SymbolicValue> symbolic;  // null where shape and contents say everything

  ValueInfo() = default;
  ValueInfo(const ValueInfo& other);
  ValueInfo(ValueInfo&& other) noexcept;
  ValueInfo& operator=(const ValueInfo& other);
  ValueInfo& operator=(ValueInfo&& other) noexcept;
  ~ValueInfo();

  /// The shape as sizes, of extent exact or symbolic.
  Sizes sizes() const;
  /// Extent exact where all are numbers, else symbolic. Contents are forgotten.
  void set_sizes(const Sizes& sizes);
};

/// Thrown by NodeView where a shape rule asks for contents that only a run can tell. The planner cuts the plan there.
struct NeedsContents {
  size_t input;
};

/// The shape of one output as a shape rule gives it.
struct OutputShape {
  Sizes shape;  // a size is unknown where symbols do not tell it, or where it is more than a number holds
  ValueInfo::Extent extent = ValueInfo::Extent::exact;
  size_t open_axis = kMaxRank;  // extent upper_bound: what depends on data
  OutputShape(const Sizes& exact);
  OutputShape(const Shape& exact);
  OutputShape(std::initializer_list<Size> exact);
  OutputShape(const OutputShape& other);
  OutputShape& operator=(const OutputShape& other);
  /// The size along one axis depends on data and is at most `bound`'s, the others are exact.
  static OutputShape upper_bound(const Sizes& bound, size_t open_axis = 0) {
    OutputShape output(bound);
    output.extent = ValueInfo::Extent::upper_bound;
    output.open_axis = open_axis;
    return output;
  }
  static OutputShape unknown() {
    OutputShape output{Sizes()};
    output.extent = ValueInfo::Extent::unknown;
    return output;
  }
};
using Shapes = std::vector<OutputShape>;

#ifndef MINNOW_DOCS
#define MINNOW_DOCS 1  // 0 leaves the texts out of the library (preset `size`)
#endif
#if MINNOW_DOCS
using Doc = std::string_view;
#define MINNOW_DOC(text) text
#else
/// A text that takes no room.
struct Doc {
  constexpr Doc() = default;
  constexpr Doc(std::string_view) {}
  constexpr Doc(const char*) {}
  constexpr operator std::string_view() const { return {}; }
};
#define MINNOW_DOC(text) ::minnow::Doc()
#endif

enum class AttributeKind : uint8_t { integer, real, text, tensor, graph, integers, reals, texts, type };

/// One attribute of an operator as its definition states it. T: int64_t, float, Name, or bool (kept as an integer).
/// `Attribute<int64_t> kAxis{"axis", -1, "..."}` has a default; an attribute without a default is an AttributeSpec (below).
template <class T>
struct Attribute {
  Name name;
  T fallback;
  [[no_unique_address]] Doc doc = {};
};

struct AttributeSpec {
  Name name;
  AttributeKind kind;
  bool required = false;
  [[no_unique_address]] Doc doc = {};
  bool has_default = false;
  double default_number = 0;
  Name default_text = {};

  constexpr AttributeSpec(Name name, AttributeKind kind, bool required, Doc doc = {})
      : name(name), kind(kind), required(required), doc(doc) {}
  constexpr AttributeSpec(const Attribute<int64_t>& a)
      : name(a.name), kind(AttributeKind::integer), doc(a.doc), has_default(true), default_number(static_cast<double>(a.fallback)) {}
  constexpr AttributeSpec(const Attribute<bool>& a)
      : name(a.name), kind(AttributeKind::integer), doc(a.doc), has_default(true), default_number(a.fallback ? 1 : 0) {}
  constexpr AttributeSpec(const Attribute<float>& a)
      : name(a.name), kind(AttributeKind::real), doc(a.doc), has_default(true), default_number(static_cast<double>(a.fallback)) {}
  constexpr AttributeSpec(const Attribute<Name>& a)
      : name(a.name), kind(AttributeKind::text), doc(a.doc), has_default(true), default_text(a.fallback) {}
};
constexpr AttributeSpec required(Name name, AttributeKind kind, Doc doc = {}) { return {name, kind, true, doc}; }
constexpr AttributeSpec optional(Name name, AttributeKind kind, Doc doc = {}) { return {name, kind, false, doc}; }

class NodeView {
 public:
  /// `inputs` and `outputs` have an entry per position; absent ones are null or of kind absent. They must outlive the view.
  NodeView(const Node& node, std::span<const ValueInfo* const> inputs, std::span<const ValueInfo* const> outputs = {},
           const Operator* definition = nullptr)
      : node_(&node), inputs_(inputs), outputs_(outputs), definition_(definition) {}
  /// For rules that infer types without a run in sight: what only a run tells is unknown.
  static NodeView symbolic(const Node& node, std::span<const ValueInfo* const> inputs, const Operator* definition) {
    NodeView view(node, inputs, {}, definition);
    view.symbolic_ = true;
    return view;
  }
  bool is_symbolic() const noexcept { return symbolic_; }

  /// The operator's definition, for those who know what that is; null where it was not looked up.
  const Operator* definition() const noexcept { return definition_; }
  const Node& node() const noexcept { return *node_; }
  const std::string& op() const noexcept { return node_->op(); }
  std::string where() const { return node_->where(); }

  size_t input_count() const noexcept { return inputs_.size(); }
  bool has_input(size_t i) const noexcept { return i < inputs_.size() && inputs_[i] && inputs_[i]->kind != ValueInfo::Kind::absent; }
  const ValueInfo& input(size_t i) const {
    if (!has_input(i)) [[unlikely]]
      fail("input {} is missing", i);
    return *inputs_[i];
  }
  /// The exact shape; asks for a cut where it is not known before the run.
  const Shape& input_shape(size_t i) const {
    const ValueInfo& info = input(i);
    if (info.extent != ValueInfo::Extent::exact) [[unlikely]]
      needs_contents(i);
    return info.shape;
  }
  /// The shape with symbols: what a shape rule computes with. Asks for a cut where not even the rank is known before the run.
  Sizes input_sizes(size_t i) const;
  /// For checks: the sizes of an input, or nothing where it is absent, or where types are inferred with symbols and not even its rank is
  /// known.
  std::optional<Sizes> known_sizes(size_t i) const;
  /// For checks that need numbers: whether the shape of an input is known so. Asks for a cut where it is not while a plan is being made.
  bool knows_shape(size_t i) const;
  /// False where an input surely holds no elements or several.
  bool may_hold_one(size_t i) const;
  /// Whether input_sizes(i) tells anything. Always, except where types are inferred with symbols: a rule that makes do without an input's
  /// shape asks is_symbolic() too.
  bool has_sizes(size_t i) const noexcept;
  DType input_dtype(size_t i) const { return has_input(i) ? inputs_[i]->dtype : DType::undefined; }
  std::string input_name(size_t i) const { return node_->input(i) ? node_->input(i)->name() : std::string(); }

  size_t output_count() const noexcept { return node_->output_count(); }
  bool has_output(size_t i) const noexcept { return node_->output(i) != nullptr; }
  /// For references, decompositions and schemes: shapes and dtypes of the outputs are inferred by then.
  const ValueInfo& output(size_t i) const {
    MINNOW_CHECK(i < outputs_.size() && outputs_[i], "an output's type is asked for before it is inferred");
    return *outputs_[i];
  }
  const Shape& output_shape(size_t i) const { return output(i).shape; }

  /// True where the contents are known before the run.
  bool is_constant(size_t i) const { return has_input(i) && static_cast<bool>(inputs_[i]->contents); }
  /// Contents of an input; asks for a cut where only a run can tell them.
  const Tensor& contents(size_t i) const {
    const ValueInfo& info = input(i);
    if (!info.contents) [[unlikely]]
      needs_contents(i);
    return info.contents;
  }
  /// Contents of an integer (or bool) input of any shape as i64; of a floating input as f64.
  Ints ints(size_t i) const;
  std::vector<double> reals(size_t i) const;
  /// Contents of an integer input as sizes. While types are inferred with symbols, elements that nothing is known of are unknown; asks for
  /// a cut where not even their number is known.
  std::vector<Size> sizes(size_t i) const;
  Size size_scalar(size_t i) const;
  /// For a rule that can do without the contents of an input while types are inferred with symbols: true where they are known. Else asks
  /// for a cut, or is false.
  bool knows_contents(size_t i) const;
  /// The one element of an input that holds a scalar or a tensor of one element.
  int64_t int_scalar(size_t i) const;
  double real_scalar(size_t i) const;

  // Attributes. The value, or the default that the definition names.
  int64_t attribute(const Attribute<int64_t>& a) const { return number(a.name, a.fallback); }
  bool attribute(const Attribute<bool>& a) const { return number(a.name, a.fallback ? 1 : 0) != 0; }
  float attribute(const Attribute<float>& a) const;
  std::string_view attribute(const Attribute<Name>& a) const;
  /// An attribute without a default: null where it is absent; throws InvalidModel where it is of another type.
  template <class T>
  const T* find(std::string_view name) const {
    const AttributeValue* value = node_->attributes.find(name);
    if (!value) return nullptr;
    const T* typed = std::get_if<T>(value);
    if (!typed) fail("attribute \"{}\" has the wrong type", name);
    return typed;
  }
  /// The same where it must be there.
  template <class T>
  const T& require(std::string_view name) const {
    const T* value = find<T>(name);
    if (!value) fail("attribute \"{}\" is missing", name);
    return *value;
  }
  bool has_attribute(std::string_view name) const noexcept { return node_->attributes.find(name) != nullptr; }

  /// Throws InvalidModel: "where: sentence".
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    fail_with(pattern, erase(args...));
  }
  /// An axis in [-rank, rank) as [0, rank); `what` names it in the error.
  size_t normalize_axis(int64_t axis, size_t rank, std::string_view what = "axis") const;

 private:
  [[noreturn]] void fail_with(std::string_view pattern, std::span<const FormatArg> args) const;
  [[noreturn]] static void needs_contents(size_t input);
  int64_t number(std::string_view name, int64_t fallback) const;
  const Node* node_;
  std::span<const ValueInfo*const> inputs_, outputs_;
  const Operator* definition_;
  bool symbolic_ = false;
};

/// The shape that NumPy's broadcasting rule gives; throws InvalidModel with `where` where the shapes do not fit. With symbols: a number
/// above 1 decides (the run reports another size); a symbol does where all others are 1 or the same; else the size is unknown.
Shape broadcast_shapes(const NodeView& node, std::span<const Shape> shapes);
Sizes broadcast_sizes(const NodeView& node, std::span<const Sizes> shapes);
Sizes broadcast_inputs(const NodeView& node);  // of all inputs

}  // namespace minnow

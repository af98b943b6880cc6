// SPDX-License-Identifier: Apache-2.0
// The definition of an operator: schema, type and shape rule, reference, decomposition, gradient, documentation. Each has one file of this
// folder and one line in all.cpp.
#pragma once
#include "graph/expr.h"
#include "graph/node_view.h"
#include "ops/kernel_args.h"
#include "ops/list.h"

namespace minnow {

#ifndef MINNOW_GRADIENTS
#define MINNOW_GRADIENTS 1
#endif
#if MINNOW_GRADIENTS
#define MINNOW_GRADIENT(...) __VA_ARGS__  // a rule, where the build keeps gradients
#else
#define MINNOW_GRADIENT(...) nullptr
#endif

/// A function that this build does not call, and that takes no room in the table of operators.
template <class Signature>
struct LeftOut {
  constexpr LeftOut() = default;
  constexpr LeftOut(Signature*) {}
  constexpr explicit operator bool() const { return false; }
};

/// A set of dtypes, a bit each.
using DTypes = uint32_t;
constexpr DTypes one_of(std::initializer_list<DType> list) {
  DTypes set = 0;
  for (DType dtype : list) set |= DTypes{1} << static_cast<int>(dtype);
  return set;
}
constexpr bool contains(DTypes set, DType dtype) { return (set >> static_cast<int>(dtype)) & 1; }
inline constexpr DTypes kFloats = one_of({DType::f64, DType::f32, DType::f16, DType::bf16});
inline constexpr DTypes kFloat8 =
    one_of({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0, DType::f4e2m1});
inline constexpr DTypes kSigned = one_of({DType::i64, DType::i32, DType::i16, DType::i8});
inline constexpr DTypes kUnsigned = one_of({DType::u64, DType::u32, DType::u16, DType::u8});
inline constexpr DTypes kSubByte = one_of({DType::i4, DType::u4, DType::i2, DType::u2});
inline constexpr DTypes kInts = kSigned | kUnsigned;
inline constexpr DTypes kBool = one_of({DType::boolean});
inline constexpr DTypes kNumeric = kFloats | kInts;
inline constexpr DTypes kAny = kNumeric | kFloat8 | kSubByte | kBool;
inline constexpr DTypes kIndex = one_of({DType::i64, DType::i32});
inline constexpr DTypes kI64 = one_of({DType::i64});

/// kept: an optional output that only a gradient asks for; functions of the operator do not return it.
enum class Arity : uint8_t { required, optional, variadic, kept };
inline constexpr Arity kOptional = Arity::optional;
inline constexpr Arity kVariadic = Arity::variadic;

/// The kinds that an input may have at run time: a bit per ValueInfo::Kind.
using Kinds = uint8_t;
inline constexpr Kinds kTensors = 1, kSequences = 2, kOptionals = 4, kAnyKind = 7;

/// An input that usually is a constant of a layer.
enum class Weight : uint8_t {
  no,
  stored,  // files may hold it in 16 bits
  packed   // so, and kernels pack it when they are prepared
};

struct InputSpec {
  Name name;
  DTypes dtypes = kAny;
  Arity arity = Arity::required;
  Kinds kinds = kTensors;
  Weight weight = Weight::no;
  Name like = {};  // name of an input whose dtype this one must have; a variadic input may name itself
};

/// How the dtype of an output follows from the node.
struct DTypeRule {
  enum class Kind : uint8_t { same_as, fixed, attribute };
  Name name = {};  // same_as: of an input; attribute: an integer (a DType's number) or a tensor (its dtype)
  Kind kind = Kind::same_as;
  DType dtype = DType::undefined;  // fixed; others: where the input or attribute is absent
};
constexpr DTypeRule same_as(Name input, DType fallback = DType::undefined) { return {input, DTypeRule::Kind::same_as, fallback}; }
constexpr DTypeRule fixed(DType dtype) { return {{}, DTypeRule::Kind::fixed, dtype}; }
constexpr DTypeRule from_attribute(Name name, DType fallback) { return {name, DTypeRule::Kind::attribute, fallback}; }

struct OutputSpec {
  Name name;
  [[no_unique_address]] DTypeRule dtype;  // and the arity in its padding
  Arity arity = Arity::required;
};

struct GradientContext;  // ops/gradient.h

/// How an operator treats the batch, which is axis 0.
enum class Batch : uint8_t {
  mixed,    // entries may depend on each other
  apart,    // entry i of the outputs depends on entry i of the inputs alone, wherever axis 0 lasts from an input to an output
  reshaped  // apart, and all that inputs beyond the first do is to tell the shape of the output
};

/// Where the elements of the outputs come from: from input 0, or from all inputs where the last one is variadic.
enum class Elements : uint8_t {
  computed,
  kept,      // all of them, in their order (Reshape)
  permuted,  // all of them, in another order (Transpose)
  copied,    // any of them, any number of times (Slice, Gather)
  chosen     // output 0 has the larger or smaller ones of them (MaxPool)
};
constexpr bool moves_data(Elements elements) { return elements != Elements::computed && elements != Elements::chosen; }

/// The dtype in which an operator computes floats of 16 bits.
enum class FloatWidth : uint8_t {
  kept,      // their own: the same function as of f32, and results have 16 bits
  f32,       // f32, whatever floats it reads and writes
  converted  // another than it reads: the dtype of the result is what the operator is for
};

/// How a node names axes of input 0, where the operator treats all others alike: op(Transpose(x)) is Transpose(op(x)) with other names.
struct AxisRule {
  enum class Kind : uint8_t {
    none,       // axes have meanings of their own
    alike,      // no axis is named
    attribute,  // the attribute "axis" names one
    scalar,     // an input names one
    list,       // an input lists some
    entries     // an input has an entry for each
  } kind = Kind::none;
  uint8_t input = 0;  // of scalar, list and entries
};
inline constexpr AxisRule kAxesAlike{AxisRule::Kind::alike}, kAxisAttribute{AxisRule::Kind::attribute};
constexpr AxisRule axis_scalar(uint8_t input) { return {AxisRule::Kind::scalar, input}; }
constexpr AxisRule axis_list(uint8_t input) { return {AxisRule::Kind::list, input}; }
constexpr AxisRule axis_entries(uint8_t input) { return {AxisRule::Kind::entries, input}; }

struct Operator {
  Name name;      // as Node::op(): "Conv", "minnow.FusedConv"
  int since = 1;  // opset of ai.onnx from which this is the meaning
  [[no_unique_address]] Doc doc = {};
  List<InputSpec> inputs = {};
  List<OutputSpec> outputs = {};
  List<AttributeSpec> attributes = {};

  /// Shapes of the outputs. Computes with NodeView::input_sizes: numbers in give numbers, symbols give symbols. Asks for contents with
  /// NodeView::ints, or NodeView::sizes where symbols will do; absent outputs may be given any shape.
  Shapes (*infer_shapes)(const NodeView&) = nullptr;
  /// Instead of infer_shapes and the dtype rules, where outputs are sequences or optionals or their dtypes follow no simple rule.
  /// `outputs` has an entry per output of the node. Kinds and dtypes are set before a shape or contents are asked for, so that types can
  /// be inferred where shapes are not known.
  void (*infer)(const NodeView&, std::span<ValueInfo> outputs) = nullptr;
  /// Elements of small integer outputs, where those of inputs are known with symbols: set_contents (ops/contents.h). Called where not all
  /// are numbers; shapes are inferred by then. Null: not followed.
#if MINNOW_SMALL  // no sizes but numbers
  [[no_unique_address]] LeftOut<void(const NodeView&, std::span<ValueInfo> outputs)> infer_contents = {};
#else
  void (*infer_contents)(const NodeView&, std::span<ValueInfo> outputs) = nullptr;
#endif
  /// Plain loops; every other kernel is judged against them. Null where `decompose` says everything.
  void (*reference)(const NodeView&, KernelArgs&) = nullptr;
  /// The same computation in simpler operators; shapes and dtypes of the inputs are known. Empty result: not this case.
  Exprs (*decompose)(const NodeView&, GraphBuilder&, const Exprs& inputs) = nullptr;
  /// Gradients of the inputs, one each; empty Expr: no gradient flows there (ops/gradient.h). Null: those of the decomposition, or, where
  /// elements are moved, of the places that they come from.
#if MINNOW_GRADIENTS
  Exprs (*gradient)(const GradientContext&) = nullptr;
#else
  [[no_unique_address]] LeftOut<Exprs(const GradientContext&)> gradient = {};
#endif
  /// Arithmetic operations of one run (a multiply-add counts two), for reports. Null: as many as output 0 has elements.
  double (*operations)(const NodeView&) = nullptr;
  /// Shapes and dtypes are known. Null: apart where elementwise, else mixed. ops/batch.h has the usual ones.
  Batch (*batch)(const NodeView&) = nullptr;
  bool pure = true;          // false: never folded, merged or removed as equal to another (random numbers)
  bool shape_only = false;   // the outputs depend on the shapes of the inputs alone (Shape, Size)
  bool elementwise = false;  // output elements depend on the elements of the inputs (broadcast) at the same place alone
  // Traits that passes and the planner ask for. tests/ops/traits_test.cpp checks each against the reference.
  Elements elements = Elements::computed;
  AxisRule axes = {};  // elementwise operators need none
  FloatWidth float_width = FloatWidth::kept;
  bool fusible = false;          // elementwise, and minnow.FusedElementwise may hold it
  bool commutative = false;      // any order of the inputs gives the same result, and of one input it is that input
  bool monotone = false;         // elements grow with those of input 0 at the same place, or fall with them
  bool never_negative = false;   // no float that it makes is below zero
  bool rounds = false;           // output 0 has whole numbers made of reals
  bool quantizable = false;      // passes make it compute quantized data where a QuantizeLinear follows it
  bool wants_constants = false;  // schemes are fast where all inputs but the first are constants
  bool recomputable = false;     // cheap: where it makes a weight of input 0, packing computes it anew, and plans do not keep it
  const void* custom = nullptr;  // a custom operator's own table
};

/// Operators by name.
class OperatorSet {
 public:
  /// The built-in operators.
  static const OperatorSet& builtin();
  /// Null where there is none.
  const Operator* find(std::string_view name) const noexcept;
  const std::vector<const Operator*>& list() const noexcept { return list_; }
  void add(const Operator& op);  // must outlive this set; throws InvalidArgument for a name that exists

 private:
  std::vector<const Operator*> list_;  // sorted by name
};

/// Dtypes, kinds and shapes of the outputs of a node, checked against the definition (number and dtypes of inputs, required attributes).
/// Throws InvalidModel; NeedsContents from the shape rule passes through. `outputs` has an entry per output of the node.
void infer_outputs(const Operator& op, const NodeView& node, std::span<ValueInfo> outputs);
/// Runs the reference. Where no output holds an element there is nothing to run: one axis of such a tensor may still be as long as it
/// likes, and no reference should walk along it.
void run_reference(const Operator& op, const NodeView& node, KernelArgs& args);
/// Kinds and dtypes alone, as far as they follow from what is known of the inputs; the rest stays as it is. Inputs are not checked.
void infer_kinds(const Operator& op, const NodeView& node, std::span<ValueInfo> outputs);

}  // namespace minnow

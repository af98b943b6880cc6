// SPDX-License-Identifier: Apache-2.0
// Reductions along any set of axes. Floating sums are kept in double; integer sums and products wrap around.
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "ops/batch.h"
#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kKeepDims{"keepdims", true, MINNOW_DOC("reduced dimensions stay, with size 1")};
constexpr Attribute<bool> kNoopWithEmptyAxes{"noop_with_empty_axes", false, MINNOW_DOC("no axes means none, not all")};

std::array<bool, kMaxRank> reduced_axes(const NodeView& node) {
  const size_t rank = node.input_sizes(0).rank();
  const Ints axes = node.has_input(1) ? node.ints(1) : Ints();
  std::array<bool, kMaxRank> reduced{};
  if (axes.empty() && !node.attribute(kNoopWithEmptyAxes)) reduced.fill(true);
  for (int64_t given : axes) {
    const size_t axis = node.normalize_axis(given, rank);
    if (reduced[axis]) node.fail("axes {} name an axis twice", axes);
    reduced[axis] = true;
  }
  return reduced;
}

/// The shape of the result with every reduced dimension kept as 1.
Shape kept_shape(const NodeView& node) {
  const auto reduced = reduced_axes(node);
  Shape kept = node.input_shape(0);
  for (size_t i = 0; i < kept.rank(); ++i)
    if (reduced[i]) kept[i] = 1;
  return kept;
}

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  const bool kept = node.attribute(kKeepDims);
  if (node.has_input(1) && !node.knows_contents(1)) return {kept ? Sizes::filled(x.rank(), Size::unknown()) : OutputShape::unknown()};
  const auto reduced = reduced_axes(node);
  Sizes y;
  for (size_t i = 0; i < x.rank(); ++i)
    if (!reduced[i] || kept) y.push_back(reduced[i] ? 1 : x[i]);
  return {y};
}

/// y[place] = f(y[place], x) over all elements, from `first`.
template <class T, class F>
Numbers<T> reduce(const NodeView& node, const Numbers<T>& x, T first, F f) {
  const Shape kept = kept_shape(node);
  Numbers<T> y(static_cast<size_t>(kept.elements()), first);
  walk_broadcast(kept, node.input_shape(0), [&](size_t from, size_t place) { y[place] = static_cast<T>(f(y[place], x[from])); });
  return y;
}

template <class T, class F>
void fold(const NodeView& node, KernelArgs& args, int first, F f) {
  args.write(0, reduce<T>(node, args.values<T>(0), static_cast<T>(first), f));
}
/// Sums and products: integers wrap around, so that signed and unsigned ones have the same bits.
template <class F>
void fold(const NodeView& node, KernelArgs& args, int first, F f) {
  is_float(args.input(0).dtype()) ? fold<double>(node, args, first, f) : fold<int64_t>(node, args, first, f);
}

constexpr auto kAdd = [](auto a, auto x) { return Wrapping<decltype(a)>(a) + Wrapping<decltype(a)>(x); };
constexpr auto kMultiply = [](auto a, auto x) { return Wrapping<decltype(a)>(a) * Wrapping<decltype(a)>(x); };
constexpr auto kAddSquare = [](auto a, auto x) {
  using W = Wrapping<decltype(a)>;
  return W(a) + W(x) * W(x);
};
constexpr auto kAddMagnitude = [](auto a, auto x) {
  using W = Wrapping<decltype(a)>;
  return W(a) + (x < 0 ? W(0) - W(x) : W(x));
};

void sum(const NodeView& node, KernelArgs& args) { fold(node, args, 0, kAdd); }
void prod(const NodeView& node, KernelArgs& args) {
  const DType dtype = args.input(0).dtype();
  is_float(dtype) ? fold<double>(node, args, 1, [=](double a, double x) { return in_range(a * x, dtype); })
                  : fold<int64_t>(node, args, 1, kMultiply);
}
void sum_square(const NodeView& node, KernelArgs& args) { fold(node, args, 0, kAddSquare); }
void l1(const NodeView& node, KernelArgs& args) {
  with_wide(args.input(0).dtype(), [&](auto zero) { fold<decltype(zero)>(node, args, 0, kAddMagnitude); });
}

/// NaN wins over every number; of nothing, the largest is the smallest there is.
template <bool kIsMax>
void min_or_max(const NodeView& node, KernelArgs& args) {
  const DType dtype = args.input(0).dtype();
  with_wide(dtype, [&](auto zero) {
    using T = decltype(zero);
    T first;
    if constexpr (std::is_floating_point_v<T>)
      first = kIsMax ? -INFINITY : INFINITY;
    else if constexpr (std::is_unsigned_v<T>)
      first = kIsMax ? 0 : std::numeric_limits<T>::max();
    else
      first = kIsMax ? lowest_of(dtype) : highest_of(dtype);
    args.write(0, reduce<T>(node, args.values<T>(0), first, [](T a, T x) { return (kIsMax ? a > x : a < x) || a != a ? a : x; }));
  });
}

void mean(const NodeView& node, KernelArgs& args) {
  const int64_t results = kept_shape(node).elements(), count = results ? args.input(0).elements() / results : 0;
  with_wide(args.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> y = reduce<T>(node, args.values<T>(0), T(0), kAdd);
    if (!std::is_floating_point_v<T> && count == 0 && results > 0) args.fail("integers have no mean where there are none");
    if constexpr (std::is_floating_point_v<T>)
      for (T& value : y) value = in_range(value, args.input(0).dtype());
    for (T& value : y) value = static_cast<T>(value / static_cast<T>(count));
    args.write(0, y);
  });
}

/// Reductions that end in a function of reals; an integer result is cut toward zero.
void l2(const NodeView& node, KernelArgs& args) {
  Numbers<double> y = reduce<double>(node, args.reals(0), 0.0, kAddSquare);
  for (double& value : y) value = std::sqrt(in_range(value, args.input(0).dtype()));
  args.write(0, y);
}
void log_sum(const NodeView& node, KernelArgs& args) {
  Numbers<double> y = reduce<double>(node, args.reals(0), 0.0, kAdd);
  for (double& value : y) value = std::log(in_range(value, args.input(0).dtype()));
  args.write(0, y);
}
void log_sum_exp(const NodeView& node, KernelArgs& args) {
  Numbers<double> x = args.reals(0);
  // The largest is taken out, so that no power overflows.
  Numbers<double> largest = reduce<double>(node, x, -INFINITY, [](double a, double v) { return std::fmax(a, v); });
  for (double& value : largest)
    if (!std::isfinite(value)) value = 0;
  walk_broadcast(kept_shape(node), node.input_shape(0), [&](size_t from, size_t place) { x[from] = std::exp(x[from] - largest[place]); });
  Numbers<double> y = reduce<double>(node, x, 0.0, kAdd);
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::log(y[i]) + largest[i];
  args.write(0, y);
}

/// The composed forms, for floating types; narrow ones are reduced in f32, where sums neither overflow nor lose their small terms.
/// The sum of e^x takes the largest x out, so that no power overflows. If that is infinite, it takes out the largest number, which leaves
/// infinities as they are.
enum class Form { l1, l2, log_sum, log_sum_exp, sum_square };
Exprs composed(const NodeView& node, GraphBuilder& b, const Exprs& in, Form form) {
  const DType dtype = node.input_dtype(0);
  if (!is_float(dtype)) return {};
  const bool is_narrow = dtype == DType::f16 || dtype == DType::bf16;
  Expr x = is_narrow ? cast(in[0], DType::f32) : in[0], largest;
  Attributes attributes = node.node().attributes;
  const auto reduced = [&](std::string_view name) { return b.op(name, {x, in.size() > 1 ? in[1] : Expr()}, attributes); };
  if (form == Form::l1) x = op("Abs", {x});
  if (form == Form::l2 || form == Form::sum_square) x = x * x;
  if (form == Form::log_sum_exp) {
    attributes.set(kKeepDims.name, int64_t{1});
    const double bound = largest_of(is_narrow ? DType::f32 : dtype);
    largest = b.op("Clip", {reduced("ReduceMax"), b.scalar_like(-bound, x), b.scalar_like(bound, x)});
    x = op("Exp", {x - largest});
  }
  x = reduced("ReduceSum");
  if (form == Form::l2) x = op("Sqrt", {x});
  if (form == Form::log_sum || form == Form::log_sum_exp) x = op("Log", {x});
  if (form == Form::log_sum_exp) {
    const Shape& shape = node.output_shape(0);
    x = op("Reshape", {x + largest, b.constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}});
  }
  return {is_narrow ? cast(x, dtype) : x};
}
template <Form kForm>
Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  return composed(node, b, in, kForm);
}

constexpr DTypes kReducible = kFloats | one_of({DType::i32, DType::i64, DType::u32, DType::u64});
constexpr DTypes kOrdered = kReducible | kBool | one_of({DType::i8, DType::u8});

#if MINNOW_GRADIENTS
/// A tensor of the reduced shape, such that it is broadcast to the input.
Expr with_axes(const GradientContext& c, const Expr& reduced) {
  if (c.node.attribute(kKeepDims)) return reduced;
  if (!c.has_input(1))
    return c.node.attribute(kNoopWithEmptyAxes) || !c.knows_shape(0)
               ? reduced
               : c.builder.op("Reshape", {reduced, c.builder.constant(Ints(c.node.input_shape(0).rank(), 1))});
  if (c.node.is_constant(1) && c.node.contents(1).elements() == 0 && !c.node.attribute(kNoopWithEmptyAxes)) return reduced;  // a scalar
  return c.builder.op("Unsqueeze", {reduced, c.input(1)});
}
Exprs spread(const GradientContext&, const Expr& gradient) { return {gradient, Expr()}; }
Exprs sum_gradient(const GradientContext& c) {
  return spread(c, c.builder.op("Expand", {with_axes(c, c.output_gradient(0)), c.shape_of(0)}));
}
Exprs mean_gradient(const GradientContext& c) {
  GraphBuilder& b = c.builder;
  const auto size = [&](const Expr& x) {
    const Expr made = b.op("Size", {x});
    made.value()->type.dtype = DType::i64;
    return cast(made, c.node.input_dtype(0));
  };
  const Expr g = c.output_gradient(0), share = g * size(c.output(0)) / size(c.input(0));
  return spread(c, b.op("Expand", {with_axes(c, share), c.shape_of(0)}));
}
/// The largest (or smallest) elements share the gradient.
Exprs chosen_gradient(const GradientContext& c) {
  const Expr mask = cast(op("Equal", {c.input(0), with_axes(c, c.output(0))}), c.node.input_dtype(0));
  Exprs axes{mask};
  if (c.has_input(1)) axes.push_back(c.input(1));
  const Expr count =
      c.builder.op("ReduceSum", axes, {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{c.node.attribute(kNoopWithEmptyAxes)}}});
  return spread(c, with_axes(c, c.output_gradient(0)) * mask / count);
}
/// The product of all others. Where one element is zero it alone has a gradient; where two are, none has.
Exprs product_gradient(const GradientContext& c) {
  const Expr &x = c.input(0), zero = c.builder.scalar_like(0, x), is_zero = op("Equal", {x, zero});
  is_zero.value()->type.dtype = DType::boolean;
  const auto reduced = [&](const char* name, const Expr& of) {
    Exprs inputs{of};
    if (c.has_input(1)) inputs.push_back(c.input(1));
    return c.builder.op(name, inputs, {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{c.node.attribute(kNoopWithEmptyAxes)}}});
  };
  const Expr others = select(is_zero, zero + 1.0, x), product = reduced("ReduceProd", others),
             zeros = reduced("ReduceSum", cast(is_zero, c.node.input_dtype(0)));
  const Expr here = where(op("Equal", {zeros, zero + 1.0}), product), elsewhere = where(op("Equal", {zeros, zero}), product / others);
  return spread(c, with_axes(c, c.output_gradient(0)) * select(is_zero, here, elsewhere));
}
#endif

constexpr Operator row(Name name, int since, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&),
                       Exprs (*parts)(const NodeView&, GraphBuilder&, const Exprs&) = nullptr, DTypes dtypes = kReducible,
                       Exprs (*gradient)(const GradientContext&) = nullptr) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"data", dtypes}, {"axes", kI64, kOptional}},
          .outputs = {{"reduced", same_as("data")}},
          .attributes = {kKeepDims, kNoopWithEmptyAxes},
          .infer_shapes = infer,
          .reference = reference,
          .decompose = parts,
          .gradient = gradient,
          .batch = batch_apart,
          .axes = axis_list(1)};
}

constexpr Operator with_contents(Operator op, void (*infer_contents)(const NodeView&, std::span<ValueInfo>)) {
  op.infer_contents = infer_contents;
  return op;
}

Size size_sum(Size a, Size b) { return a + b; }
Size size_product(Size a, Size b) { return a * b; }

constexpr List<Operator> definitions() {
  return {
      with_contents(row("ReduceSum", 13, MINNOW_DOC("The sum of the elements along the axes; 0 of none. Integers wrap around."), sum,
                        nullptr, kReducible, MINNOW_GRADIENT(sum_gradient)),
                    reduce_contents<size_sum>),
      row("ReduceMean", 18, MINNOW_DOC("The mean of the elements along the axes, of integers cut toward zero."), mean, nullptr, kReducible,
          MINNOW_GRADIENT(mean_gradient)),
      with_contents(row("ReduceProd", 18, MINNOW_DOC("The product of the elements along the axes; 1 of none. Integers wrap around."), prod,
                        nullptr, kReducible, MINNOW_GRADIENT(product_gradient)),
                    reduce_contents<size_product>),
      with_contents(row("ReduceMax", 20,
                        MINNOW_DOC("The largest element along the axes, NaN where one is NaN; of none the lowest value of the dtype."),
                        min_or_max<true>, nullptr, kOrdered, MINNOW_GRADIENT(chosen_gradient)),
                    reduce_contents<larger>),
      with_contents(row("ReduceMin", 20,
                        MINNOW_DOC("The smallest element along the axes, NaN where one is NaN; of none the highest value of the dtype."),
                        min_or_max<false>, nullptr, kOrdered, MINNOW_GRADIENT(chosen_gradient)),
                    reduce_contents<smaller>),
      row("ReduceL1", 18, MINNOW_DOC("The sum of the absolute values along the axes."), l1, parts<Form::l1>),
      row("ReduceL2", 18, MINNOW_DOC("The square root of the sum of the squares along the axes."), l2, parts<Form::l2>),
      row("ReduceSumSquare", 18, MINNOW_DOC("The sum of the squares along the axes."), sum_square, parts<Form::sum_square>),
      row("ReduceLogSum", 18, MINNOW_DOC("The logarithm of the sum along the axes."), log_sum, parts<Form::log_sum>),
      row("ReduceLogSumExp", 18, MINNOW_DOC("The logarithm of the sum of e^x along the axes."), log_sum_exp, parts<Form::log_sum_exp>),
  };
}

}  // namespace

std::span<const Operator> reduce_operators() { return operator_table<definitions>(); }

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of any number of broadcast tensors; Clip.
#include <cmath>
#include <numeric>

#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

Shapes broadcast(const NodeView& node) {
  for (size_t i = 0; i < node.input_count(); ++i) node.input(i);  // throws where one is absent
  return {broadcast_inputs(node)};
}

/// The inputs joined by f, from left to right.
template <class T, class F>
Numbers<T> fold(KernelArgs& args, F f) {
  const Shape to = args.output(0).shape();
  Numbers<T> y(static_cast<size_t>(to.elements()));
  for (size_t input = 0; input < args.input_count(); ++input) {
    const Numbers<T> x = args.values<T>(input);
    walk_broadcast(args.input(input).shape(), to,
                   [&](size_t place, size_t from) { y[place] = input == 0 ? x[from] : static_cast<T>(f(y[place], x[from])); });
  }
  return y;
}

// NaN wins over every number.
constexpr auto kMax = [](auto a, auto b) { return a > b || a != a ? a : b; };
constexpr auto kMin = [](auto a, auto b) { return a < b || a != a ? a : b; };

void max(const NodeView&, KernelArgs& args) {
  with_wide(args.output(0).dtype(), [&](auto zero) { args.write(0, fold<decltype(zero)>(args, kMax)); });
}
void min(const NodeView&, KernelArgs& args) {
  with_wide(args.output(0).dtype(), [&](auto zero) { args.write(0, fold<decltype(zero)>(args, kMin)); });
}
Numbers<double> sums(KernelArgs& args) {
  const DType dtype = args.output(0).dtype();
  return fold<double>(args, [=](double a, double b) { return in_range(a + b, dtype); });
}
void mean(const NodeView&, KernelArgs& args) {
  Numbers<double> y = sums(args);
  for (double& value : y) value /= static_cast<double>(args.input_count());
  args.write(0, y);
}
void sum(const NodeView&, KernelArgs& args) { args.write(0, sums(args)); }

Size largest_size(std::span<const Size> x) { return std::accumulate(x.begin() + 1, x.end(), x[0], larger); }
Size smallest_size(std::span<const Size> x) { return std::accumulate(x.begin() + 1, x.end(), x[0], smaller); }

/// The inputs joined by a binary operator.
Expr join(std::string_view name, const Exprs& in) {
  Expr all = in[0];
  for (size_t i = 1; i < in.size(); ++i) all = op(name, {all, in[i]});
  return all;
}
template <bool kIsMax>
Exprs min_or_max_parts(const NodeView&, GraphBuilder&, const Exprs& in) {
  if (in.size() <= 2) return {};  // the form that backends know
  return {join(kIsMax ? "Max" : "Min", in)};
}
Exprs sum_parts(const NodeView&, GraphBuilder&, const Exprs& in) {
  // Narrow types would be rounded after every addition.
  const DType dtype = in[0].value()->type.dtype;
  if (in.size() > 2 && (dtype == DType::f16 || dtype == DType::bf16)) return {};
  return {in.size() == 1 ? op("Identity", {in[0]}) : join("Add", in)};
}

Shapes clip_shape(const NodeView& node) {
  for (size_t i : {1, 2})
    if (!node.may_hold_one(i))
      node.fail("input {} (\"{}\") should hold one element, it has shape {}", i, node.input_name(i), node.input_sizes(i));
  return {node.input_sizes(0)};
}
void clip(const NodeView&, KernelArgs& args) {
  with_wide(args.output(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const bool has_low = args.has_input(1), has_high = args.has_input(2);
    const T low = has_low ? args.values<T>(1)[0] : T(), high = has_high ? args.values<T>(2)[0] : T();
    args.map([=](auto x) {
      const T raised = has_low && static_cast<T>(x) < low ? low : static_cast<T>(x);
      return has_high && raised > high ? high : raised;
    });
  });
}
Exprs clip_parts(const NodeView& node, GraphBuilder&, const Exprs& in) {
  Expr y = in[0];
  const size_t rank = node.input_shape(0).rank();
  for (size_t i : {1, 2}) {
    if (i >= in.size() || !in[i]) continue;
    if (node.input_shape(i).rank() > rank) return {};                   // broadcasting would add a dimension
    y = select(op(i == 1 ? "Less" : "Greater", {y, in[i]}), in[i], y);  // a bound that is NaN does not bound, as Max and Min would have it
  }
  return {y.value() == in[0].value() ? op("Identity", {y}) : y};
}

constexpr Operator row(Name name, std::string_view doc, DTypes dtypes, void (*reference)(const NodeView&, KernelArgs&),
                       Exprs (*parts)(const NodeView&, GraphBuilder&, const Exprs&) = nullptr,
                       Exprs (*gradient)(const GradientContext&) = nullptr) {
  return {.name = name,
          .since = 13,
          .doc = doc,
          .inputs = {{.name = "data_0", .dtypes = dtypes, .arity = kVariadic, .like = "data_0"}},
          .outputs = {{"result", same_as("data_0")}},
          .infer_shapes = broadcast,
          .reference = reference,
          .decompose = parts,
          .gradient = gradient,
          .elementwise = true,
          .fusible = true,
          .commutative = true};
}

#if MINNOW_GRADIENTS
/// The inputs that are the largest (or smallest) share the gradient.
Exprs chosen_gradient(const GradientContext& c) {
  const DType dtype = c.node.input_dtype(0);
  Exprs masks, made(c.inputs.size());
  for (const Expr& x : c.inputs) masks.push_back(cast(op("Equal", {x, c.output(0)}), dtype));
  const Expr share = c.output_gradient(0) / join("Add", masks);
  for (size_t i = 0; i < made.size(); ++i)
    if (c.wants(i)) made[i] = c.sum_to(share * masks[i], i);
  return made;
}
Exprs mean_gradient(const GradientContext& c) {
  Exprs made(c.inputs.size());
  const Expr share = c.output_gradient(0) / static_cast<double>(made.size());
  for (size_t i = 0; i < made.size(); ++i)
    if (c.wants(i)) made[i] = c.sum_to(share, i);
  return made;
}
Exprs sum_gradient(const GradientContext& c) {
  Exprs made(c.inputs.size());
  for (size_t i = 0; i < made.size(); ++i)
    if (c.wants(i)) made[i] = c.sum_to(c.output_gradient(0), i);
  return made;
}
Exprs clip_gradient(const GradientContext& c) {
  const Expr &x = c.input(0), &g = c.output_gradient(0), zero = c.builder.scalar_like(0, g);
  Exprs made(c.inputs.size());
  made[0] = g;
  if (!c.wants(1) && !c.wants(2)) {  // by the output, so that x need not be kept; zero at the ends, as in hard functions of networks
    for (size_t i : {1, 2})
      if (c.has_input(i)) made[0] = where(op(i == 1 ? "Greater" : "Less", {c.output(0), c.input(i)}), made[0]);
    return made;
  }
  for (size_t i : {1, 2}) {
    if (!c.has_input(i)) continue;
    const Expr beyond = op(i == 1 ? "Less" : "Greater", {x, c.input(i)});
    made[0] = select(beyond, zero, made[0]);
    if (c.wants(i)) made[i] = c.shaped_like(c.builder.op("ReduceSum", {where(beyond, g)}, {{"keepdims", int64_t{0}}}), i);
  }
  return made;
}
#endif

constexpr List<Operator> definitions() {
  Operator max_row =
      row("Max", MINNOW_DOC("The largest of the inputs, element by element, with NumPy's broadcasting; NaN where one is NaN."), kNumeric,
          max, min_or_max_parts<true>);
  Operator min_row =
      row("Min", MINNOW_DOC("The smallest of the inputs, element by element, with NumPy's broadcasting; NaN where one is NaN."), kNumeric,
          min, min_or_max_parts<false>);
  max_row.gradient = min_row.gradient = MINNOW_GRADIENT(chosen_gradient);
  max_row.infer_contents = map_contents<largest_size>;
  min_row.infer_contents = map_contents<smallest_size>;
  return {
      std::move(max_row),
      std::move(min_row),
      row("Sum", MINNOW_DOC("The sum of the inputs, element by element, with NumPy's broadcasting."), kFloats, sum, sum_parts,
          MINNOW_GRADIENT(sum_gradient)),
      row("Mean", MINNOW_DOC("The mean of the inputs, element by element, with NumPy's broadcasting."), kFloats, mean, nullptr,
          MINNOW_GRADIENT(mean_gradient)),
      {.name = "Clip",
       .since = 13,
       .doc = MINNOW_DOC("y = min(max(x, min), max); a bound that is absent does not bound, NaN stays NaN."),
       .inputs = {{"input", kNumeric},
                  {.name = "min", .dtypes = kNumeric, .arity = kOptional, .like = "input"},
                  {.name = "max", .dtypes = kNumeric, .arity = kOptional, .like = "input"}},
       .outputs = {{"output", same_as("input")}},
       .infer_shapes = clip_shape,
       .reference = clip,
       .decompose = clip_parts,
       .gradient = MINNOW_GRADIENT(clip_gradient),
       .elementwise = true,
       .fusible = true,
       .monotone = true,
       .quantizable = true},
  };
}

}  // namespace

std::span<const Operator> variadic_operators() { return operator_table<definitions>(); }

}  // namespace minnow

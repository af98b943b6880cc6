// SPDX-License-Identifier: Apache-2.0
// Tests of elements, and the choice between elements.
#include <cmath>
#include <cstring>

#include "ops/contents.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kDetectNegative{"detect_negative", true, MINNOW_DOC("minus infinity counts")};
constexpr Attribute<bool> kDetectPositive{"detect_positive", true, MINNOW_DOC("plus infinity counts")};

Shapes broadcast(const NodeView& node) { return {broadcast_inputs(node)}; }
Shapes same_shape(const NodeView& node) { return {node.input_sizes(0)}; }

template <auto kFunction>
void compare(const NodeView&, KernelArgs& args) {
  args.map2(kFunction);
}

Expr truth(Expr x) {
  x.value()->type.dtype = DType::boolean;
  return x;
}
Exprs greater_or_equal_parts(const NodeView&, GraphBuilder&, const Exprs& in) {
  return {op("Or", {truth(op("Greater", {in[0], in[1]})), truth(op("Equal", {in[0], in[1]}))})};
}
Exprs less_or_equal_parts(const NodeView&, GraphBuilder&, const Exprs& in) {
  return {op("Or", {truth(op("Less", {in[0], in[1]})), truth(op("Equal", {in[0], in[1]}))})};
}

void is_nan(const NodeView&, KernelArgs& args) {
  args.map_reals([](double x) { return std::isnan(x); });
}
void is_inf(const NodeView& node, KernelArgs& args) {
  const bool negative = node.attribute(kDetectNegative), positive = node.attribute(kDetectPositive);
  args.map_reals([=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

// Elements are moved, whatever they mean.
void where(const NodeView&, KernelArgs& args) {
  const Shape to = args.output(0).shape();
  Numbers<int64_t> condition(static_cast<size_t>(to.elements()));
  const Numbers<int64_t> given = args.ints(0);
  walk_broadcast(args.input(0).shape(), to, [&](size_t place, size_t from) { condition[place] = given[from]; });
  const size_t size = args.output(0).bytes() / std::max<size_t>(1, condition.size());
  char* y = args.output(0).data<char>();
  for (size_t input : {1, 2}) {
    const char* x = args.input(input).data<char>();
    walk_broadcast(args.input(input).shape(), to, [&](size_t place, size_t from) {
      if ((condition[place] != 0) == (input == 1)) std::memcpy(y + place * size, x + from * size, size);
    });
  }
}

// On sizes: 1, 0, or unknown where symbols do not tell.
Size truth_of(bool is_true, bool is_false) { return is_true ? Size(1) : is_false ? Size(0) : Size::unknown(); }
bool at_most(Size a, Size b) { return less(a, b + 1); }
Size sizes_equal(std::span<const Size> x) { return truth_of(equal(x[0], x[1]), differ(x[0], x[1])); }
Size size_greater(std::span<const Size> x) { return truth_of(less(x[1], x[0]), at_most(x[0], x[1])); }
Size size_less(std::span<const Size> x) { return truth_of(less(x[0], x[1]), at_most(x[1], x[0])); }
Size size_at_least(std::span<const Size> x) { return truth_of(at_most(x[1], x[0]), less(x[0], x[1])); }
Size size_at_most(std::span<const Size> x) { return truth_of(at_most(x[0], x[1]), less(x[1], x[0])); }
Size size_where(std::span<const Size> x) {
  if (x[0].is_number()) return x[0].is(0) ? x[2] : x[1];
  return equal(x[1], x[2]) ? x[1] : Size::unknown();
}

using Reference = void (*)(const NodeView&, KernelArgs&);
constexpr Operator row(Name name, int since, DTypes dtypes, std::string_view doc, Reference reference,
                       void (*infer_contents)(const NodeView&, std::span<ValueInfo>)) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"A", dtypes}, {.name = "B", .dtypes = dtypes, .like = "A"}},
          .outputs = {{"C", fixed(DType::boolean)}},
          .infer_shapes = broadcast,
          .infer_contents = infer_contents,
          .reference = reference,
          .elementwise = true,
          .fusible = true};
}

constexpr DTypes kMayBeInfinite = kFloats | one_of({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz});

#if MINNOW_GRADIENTS
Exprs where_gradient(const GradientContext& c) {
  const Expr &condition = c.input(0), &g = c.output_gradient(0), zero = c.builder.scalar_like(0, g);
  Exprs made(3);
  if (c.wants(1)) made[1] = c.sum_to(select(condition, g, zero), 1);
  if (c.wants(2)) made[2] = c.sum_to(select(condition, zero, g), 2);
  return made;
}
#endif

constexpr List<Operator> definitions() {
  Operator greater_or_equal = row("GreaterOrEqual", 16, kNumeric, MINNOW_DOC("c = a >= b with NumPy's broadcasting; false beside NaN."),
                                  compare<[](auto a, auto b) { return b <= a; }>, map_contents<size_at_least>);
  greater_or_equal.decompose = greater_or_equal_parts;
  Operator less_or_equal = row("LessOrEqual", 16, kNumeric, MINNOW_DOC("c = a <= b with NumPy's broadcasting; false beside NaN."),
                               compare<[](auto a, auto b) { return a <= b; }>, map_contents<size_at_most>);
  less_or_equal.decompose = less_or_equal_parts;
  return {
      with(row("Equal", 19, kNumeric | kBool, MINNOW_DOC("c = a == b with NumPy's broadcasting; false beside NaN."),
               compare<[](auto a, auto b) { return a == b; }>, map_contents<sizes_equal>),
           &Operator::commutative),
      row("Greater", 13, kNumeric, MINNOW_DOC("c = a > b with NumPy's broadcasting; false beside NaN."),
          compare<[](auto a, auto b) { return b < a; }>, map_contents<size_greater>),
      row("Less", 13, kNumeric, MINNOW_DOC("c = a < b with NumPy's broadcasting; false beside NaN."),
          compare<[](auto a, auto b) { return a < b; }>, map_contents<size_less>),
      std::move(greater_or_equal),
      std::move(less_or_equal),
      {.name = "IsNaN",
       .since = 20,
       .doc = MINNOW_DOC("y = true where x is not a number."),
       .inputs = {{"X", kMayBeInfinite}},
       .outputs = {{"Y", fixed(DType::boolean)}},
       .infer_shapes = same_shape,
       .reference = is_nan,
       .elementwise = true,
       .fusible = true},
      {.name = "IsInf",
       .since = 20,
       .doc = MINNOW_DOC("y = true where x is infinite, of either sign or of one."),
       .inputs = {{"X", kMayBeInfinite}},
       .outputs = {{"Y", fixed(DType::boolean)}},
       .attributes = {kDetectNegative, kDetectPositive},
       .infer_shapes = same_shape,
       .reference = is_inf,
       .elementwise = true,
       .fusible = true},
      {.name = "Where",
       .since = 16,
       .doc = MINNOW_DOC("y = x where the condition is true, else y, with NumPy's broadcasting of all three."),
       .inputs = {{"condition", kBool}, {"X", kNumeric | kBool}, {.name = "Y", .dtypes = kNumeric | kBool, .like = "X"}},
       .outputs = {{"output", same_as("X")}},
       .infer_shapes = broadcast,
       .infer_contents = map_contents<size_where>,
       .reference = where,
       .gradient = MINNOW_GRADIENT(where_gradient),
       .elementwise = true,
       .fusible = true},
  };
}

}  // namespace

std::span<const Operator> comparison_operators() { return operator_table<definitions>(); }

}  // namespace minnow

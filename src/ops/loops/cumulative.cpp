// SPDX-License-Identifier: Apache-2.0
// Running sums and products along an axis.
#include "ops/gradient.h"
#include "ops/operator_table.h"
#include "ops/sums.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kExclusive{"exclusive", false, MINNOW_DOC("element i does not count itself")};
constexpr Attribute<bool> kReverse{"reverse", false, MINNOW_DOC("from the last element to the first")};

Shapes infer(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (!node.may_hold_one(1)) node.fail("the axis should be one number, it has shape {}", node.input_sizes(1));
  if (node.is_constant(1)) node.normalize_axis(node.int_scalar(1), x.rank());
  return {x};
}

template <bool kIsProduct>
void accumulate(const NodeView& node, KernelArgs& args) {
  const Shape& shape = args.input(0).shape();
  const int64_t rank = static_cast<int64_t>(shape.rank()), given = args.ints(1)[0];
  if (given < -rank || given >= rank) args.fail("axis {} is out of range for rank {}", given, rank);
  const AxisLines lines(shape, static_cast<size_t>(given < 0 ? given + rank : given));
  const bool exclusive = node.attribute(kExclusive), reverse = node.attribute(kReverse);
  with_wide(args.input(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    using W = Wrapping<T>;
    Numbers<T> x = args.values<T>(0);
    lines.for_each([&](int64_t first, int64_t) {
      W total = kIsProduct ? 1 : 0;
      for (int64_t k = 0; k < lines.length; ++k) {
        T& at = x[static_cast<size_t>(first + (reverse ? lines.length - 1 - k : k) * lines.inner)];
        const W before = total, value = static_cast<W>(at);
        total = kIsProduct ? total * value : total + value;
        if constexpr (std::is_floating_point_v<T>) total = in_range(total, args.input(0).dtype());
        at = static_cast<T>(exclusive ? before : total);
      }
    });
    args.write(0, x);
  });
}

constexpr Operator row(Name name, int since, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&),
                       Exprs (*gradient)(const GradientContext&)) {
  constexpr DTypes dtypes = kFloats | one_of({DType::i32, DType::i64, DType::u32, DType::u64});
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"x", dtypes}, {"axis", kIndex}},
          .outputs = {{"y", same_as("x")}},
          .attributes = {kExclusive, kReverse},
          .infer_shapes = infer,
          .reference = reference,
          .gradient = gradient,
          .axes = axis_scalar(1)};
}

#if MINNOW_GRADIENTS
Exprs sum_gradient(const GradientContext& c) {
  const int64_t exclusive = c.node.attribute(kExclusive), back = !c.node.attribute(kReverse);
  return {c.builder.op("CumSum", {c.output_gradient(0), c.input(1)}, {{"exclusive", exclusive}, {"reverse", back}}), Expr()};
}
/// Element i of the input is a factor of the output's elements from i on. Inputs that are zero have no gradient here.
Exprs product_gradient(const GradientContext& c) {
  const int64_t exclusive = c.node.attribute(kExclusive), back = !c.node.attribute(kReverse);
  const Expr sums = c.builder.op("CumSum", {c.output_gradient(0) * c.output(0), c.input(1)}, {{"exclusive", exclusive}, {"reverse", back}});
  return {sums / c.input(0), Expr()};
}
#endif

constexpr List<Operator> definitions() {
  return {
      row("CumSum", 14, MINNOW_DOC("The sums of the elements so far along the axis; integers wrap around."), accumulate<false>,
          MINNOW_GRADIENT(sum_gradient)),
      row("CumProd", 26, MINNOW_DOC("The products of the elements so far along the axis; integers wrap around."), accumulate<true>,
          MINNOW_GRADIENT(product_gradient)),
  };
}

}  // namespace

std::span<const Operator> cumulative_operators() { return operator_table<definitions>(); }

}  // namespace minnow

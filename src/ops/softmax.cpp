// SPDX-License-Identifier: Apache-2.0
// Softmax and its relatives: along one axis, elements become shares of one.
#include <cmath>

#include "ops/batch.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<int64_t> kAxis{"axis", -1, MINNOW_DOC("the axis along which the shares sum to 1; negative counts from the last")};

size_t axis_of(const NodeView& node) { return node.normalize_axis(node.attribute(kAxis), node.input_sizes(0).rank()); }

Shapes infer(const NodeView& node) {
  axis_of(node);
  return {node.input_sizes(0)};
}

template <bool kLog>
void softmax(const NodeView& node, KernelArgs& args) {
  Numbers<double> x = args.reals(0);
  const AxisLines lines(args.input(0).shape(), axis_of(node));
  lines.for_each([&](int64_t first, int64_t) {
    double* line = x.data() + first;
    const int64_t end = lines.length * lines.inner;
    double largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < end; k += lines.inner) largest = std::fmax(largest, line[k]);
    for (int64_t k = 0; k < end; k += lines.inner) {
      const double share = std::exp(line[k] -= largest);
      sum += share;
      if (!kLog) line[k] = share;
    }
    const double log_sum = std::log(sum);
    for (int64_t k = 0; k < end; k += lines.inner) line[k] = kLog ? line[k] - log_sum : line[k] / sum;
  });
  args.write(0, x);
}

template <bool kLog>
Exprs softmax_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const DType dtype = node.input_dtype(0);
  const bool is_narrow = dtype == DType::f16 || dtype == DType::bf16;  // sums of many small shares need more bits
  const Expr x = is_narrow ? cast(in[0], DType::f32) : in[0], axis = b.constant({static_cast<int64_t>(axis_of(node))});
  const Expr shifted = x - b.op("ReduceMax", {x, axis}), shares = op("Exp", {shifted}), sum = b.op("ReduceSum", {shares, axis});
  const Expr y = kLog ? shifted - op("Log", {sum}) : shares / sum;
  return {is_narrow ? cast(y, dtype) : y};
}

void hardmax(const NodeView& node, KernelArgs& args) {
  Numbers<double> x = args.reals(0);
  const AxisLines lines(args.input(0).shape(), axis_of(node));
  lines.for_each([&](int64_t first, int64_t) {
    double* line = x.data() + first;
    const int64_t end = lines.length * lines.inner;
    int64_t best = 0;
    for (int64_t k = 0; k < end && !std::isnan(line[best]); k += lines.inner)
      if (line[k] > line[best] || std::isnan(line[k])) best = k;
    for (int64_t k = 0; k < end; k += lines.inner) line[k] = k == best;
  });
  args.write(0, x);
}

#if MINNOW_GRADIENTS
template <bool kLog>
Exprs softmax_gradient(const GradientContext& c) {
  const Expr &y = c.output(0), &g = c.output_gradient(0), axis = c.builder.constant({c.node.attribute(kAxis)});
  const Expr sum = c.builder.op("ReduceSum", {kLog ? g : g * y, axis});
  return {kLog ? g - op("Exp", {y}) * sum : y * (g - sum)};
}
#endif

constexpr Operator row(Name name, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&),
                       Exprs (*parts)(const NodeView&, GraphBuilder&, const Exprs&), Exprs (*gradient)(const GradientContext&)) {
  return {.name = name,
          .since = 13,
          .doc = doc,
          .inputs = {{"input", kFloats}},
          .outputs = {{"output", same_as("input")}},
          .attributes = {kAxis},
          .infer_shapes = infer,
          .reference = reference,
          .decompose = parts,
          .gradient = gradient,
          .batch = batch_apart_off_axis,
          .axes = kAxisAttribute};
}

constexpr List<Operator> definitions() {
  return {
      with(row("Softmax", MINNOW_DOC("y = e^x / the sum of e^x along the axis."), softmax<false>, softmax_parts<false>,
               MINNOW_GRADIENT(softmax_gradient<false>)),
           &Operator::never_negative),
      row("LogSoftmax", MINNOW_DOC("y = x - ln(the sum of e^x along the axis)."), softmax<true>, softmax_parts<true>,
          MINNOW_GRADIENT(softmax_gradient<true>)),
      row("Hardmax", MINNOW_DOC("1 at the first largest element along the axis, 0 elsewhere."), hardmax, nullptr,
          MINNOW_GRADIENT(zero_gradient)),
  };
}

}  // namespace

std::span<const Operator> softmax_operators() { return operator_table<definitions>(); }

}  // namespace minnow

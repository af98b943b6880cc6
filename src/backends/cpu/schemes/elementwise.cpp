// SPDX-License-Identifier: Apache-2.0
// Functions of one f32 tensor, in either layout, and of an f64 tensor.
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/unary64.h"
#include "backends/cpu/schemes/functions.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

// The floats that a tensor takes in its layout; lanes without a channel are computed too, whatever they hold.
size_t floats_of(const ValueInfo& info, const Device& device, Layout layout) {
  return device.bytes(info.dtype, info.shape, layout) / sizeof(float);
}

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(UnaryFunction function, float a, float b, size_t count) : function_(function), a_(a), b_(b), count_(count) {}
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    const size_t tasks = (count_ + kFloatsPerTask - 1) / kFloatsPerTask;
    context.parallel_for(tasks, [&](size_t task) {
      const size_t begin = task * kFloatsPerTask;
      function_(x + begin, y + begin, std::min(kFloatsPerTask, count_ - begin), a_, b_);
    });
  }

 private:
  UnaryFunction function_;
  float a_, b_;
  size_t count_;
};

Estimate estimate_unary(const NodeView& node, const Device& device, Layout layout) {
  if (node.input_dtype(0) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(0));
  if (layout == Layout::packed && (device.pack == 1 || node.output_shape(0).rank() < 3)) return declined("the shape has no packed layout");
  const std::optional<Function> function = function_of(node);
  if (!function) return declined("the bounds are not constant");
  const double count = static_cast<double>(floats_of(node.output(0), device, layout));
  Estimate estimate(device.byte_time(8 * count) + device.flop_time(count * cost_of(function->kind)) + 1e-7);
  if (layout == Layout::packed) estimate.packed_inputs = estimate.packed_outputs = 1;
  estimate.overwrites = 0;
  return estimate;
}
Estimate estimate_unary_plain(const NodeView& node, const Device& device) { return estimate_unary(node, device, Layout::plain); }
Estimate estimate_unary_packed(const NodeView& node, const Device& device) { return estimate_unary(node, device, Layout::packed); }

std::unique_ptr<Kernel> prepare_unary(PrepareContext& context) {
  const Function function = *function_of(context.node());
  return std::make_unique<UnaryKernel>((*cpu_device(context.device()).kernels->unary)[function.kind], function.a, function.b,
                                       floats_of(context.node().output(0), context.device(), context.output_layout(0)));
}

constexpr size_t kDoublesPerTask = 4 << 10;

class Unary64Kernel final : public Kernel {
 public:
  Unary64Kernel(Unary64Function function, size_t count) : function_(function), count_(count) {}
  void run(RunContext& context) const noexcept override {
    const double* x = context.in<double>(0);
    double* y = context.out<double>(0);
    context.parallel_for((count_ + kDoublesPerTask - 1) / kDoublesPerTask, [&](size_t task) {
      const size_t begin = task * kDoublesPerTask;
      function_(x + begin, std::min(kDoublesPerTask, count_ - begin), y + begin);
    });
  }

 private:
  Unary64Function function_;
  size_t count_;
};

struct Function64 {
  std::string_view op;
  Unary64 kind;
  double cost;  // operations for one element
};
constexpr Function64 kFunctions64[] = {{"Abs", Unary64::abs, 1},    {"Ceil", Unary64::ceil, 1},   {"Cos", Unary64::cos, 60},
                                       {"Exp", Unary64::exp, 40},   {"Floor", Unary64::floor, 1}, {"Log", Unary64::log, 50},
                                       {"Neg", Unary64::neg, 1},    {"Round", Unary64::rint, 1},  {"Sin", Unary64::sin, 60},
                                       {"Sqrt", Unary64::sqrt, 10}, {"Tanh", Unary64::tanh, 60}};
constexpr std::pair<std::string_view, MoreUnary> kMoreFunctions64[] = {
    {"Acos", MoreUnary::arccos},   {"Acosh", MoreUnary::arccosh}, {"Asin", MoreUnary::arcsin},
    {"Asinh", MoreUnary::arcsinh}, {"Atan", MoreUnary::arctan},   {"Atanh", MoreUnary::arctanh},
    {"Cosh", MoreUnary::cosh},     {"Sinh", MoreUnary::sinh},     {"Tan", MoreUnary::tan}};
constexpr double kMoreCost64 = 70;

struct Kernel64 {
  Unary64Function function = nullptr;  // null: none for this instruction set
  double cost = 0;
};
Kernel64 kernel64_of(const NodeView& node, const Device& device) {
  const Kernels& kernels = *cpu_device(device).kernels;
  if (!kernels.unary64->functions) return {};
  for (const Function64& row : kFunctions64)
    if (row.op == node.op()) return {(*kernels.unary64)[row.kind], row.cost};
  for (const auto& [op, kind] : kMoreFunctions64)
    if (op == node.op()) return {kernels.functions64->functions[static_cast<size_t>(kind)], kMoreCost64};
  return {};
}

Estimate estimate_unary64(const NodeView& node, const Device& device) {
  if (node.input_dtype(0) != DType::f64) return declined("the dtype is {}, not f64", node.input_dtype(0));
  const Kernel64 kernel = kernel64_of(node, device);
  if (!kernel.function) return unavailable("there is no kernel for this instruction set");
  const double count = static_cast<double>(node.output_shape(0).elements());
  Estimate estimate(device.byte_time(16 * count) + device.flop_time(2 * count * kernel.cost) + 1e-7);
  estimate.overwrites = 0;
  return estimate;
}

std::unique_ptr<Kernel> prepare_unary64(PrepareContext& context) {
  return std::make_unique<Unary64Kernel>(kernel64_of(context.node(), context.device()).function,
                                         static_cast<size_t>(context.node().output_shape(0).elements()));
}

#define MINNOW_UNARY64_ROW(op) \
  { op, "unary.f64", estimate_unary64, prepare_unary64, kLargeOnly }
#define MINNOW_UNARY_ROWS(op) \
  {op, "unary.packed", estimate_unary_packed, prepare_unary}, { op, "unary", estimate_unary_plain, prepare_unary }

constexpr Scheme kSchemes[] = {
    MINNOW_UNARY_ROWS("Abs"),       MINNOW_UNARY_ROWS("Atan"),      MINNOW_UNARY_ROWS("Ceil"),
    MINNOW_UNARY_ROWS("Celu"),      MINNOW_UNARY_ROWS("Clip"),      MINNOW_UNARY_ROWS("Cos"),
    MINNOW_UNARY_ROWS("Elu"),       MINNOW_UNARY_ROWS("Erf"),       MINNOW_UNARY_ROWS("Exp"),
    MINNOW_UNARY_ROWS("Floor"),     MINNOW_UNARY_ROWS("Gelu"),      MINNOW_UNARY_ROWS("HardSigmoid"),
    MINNOW_UNARY_ROWS("HardSwish"), MINNOW_UNARY_ROWS("LeakyRelu"), MINNOW_UNARY_ROWS("Log"),
    MINNOW_UNARY_ROWS("Mish"),      MINNOW_UNARY_ROWS("Neg"),       MINNOW_UNARY_ROWS("Reciprocal"),
    MINNOW_UNARY_ROWS("Relu"),      MINNOW_UNARY_ROWS("Round"),     MINNOW_UNARY_ROWS("Selu"),
    MINNOW_UNARY_ROWS("Sigmoid"),   MINNOW_UNARY_ROWS("Sign"),      MINNOW_UNARY_ROWS("Sin"),
    MINNOW_UNARY_ROWS("Softplus"),  MINNOW_UNARY_ROWS("Softsign"),  MINNOW_UNARY_ROWS("Sqrt"),
    MINNOW_UNARY_ROWS("Swish"),     MINNOW_UNARY_ROWS("Tanh"),      MINNOW_UNARY_ROWS("ThresholdedRelu"),
    MINNOW_UNARY64_ROW("Acos"),     MINNOW_UNARY64_ROW("Acosh"),    MINNOW_UNARY64_ROW("Asin"),
    MINNOW_UNARY64_ROW("Asinh"),    MINNOW_UNARY64_ROW("Atan"),     MINNOW_UNARY64_ROW("Atanh"),
    MINNOW_UNARY64_ROW("Cosh"),     MINNOW_UNARY64_ROW("Sinh"),     MINNOW_UNARY64_ROW("Tan"),
    MINNOW_UNARY64_ROW("Abs"),      MINNOW_UNARY64_ROW("Ceil"),     MINNOW_UNARY64_ROW("Cos"),
    MINNOW_UNARY64_ROW("Exp"),      MINNOW_UNARY64_ROW("Floor"),    MINNOW_UNARY64_ROW("Log"),
    MINNOW_UNARY64_ROW("Neg"),      MINNOW_UNARY64_ROW("Round"),    MINNOW_UNARY64_ROW("Sin"),
    MINNOW_UNARY64_ROW("Sqrt"),     MINNOW_UNARY64_ROW("Tanh"),
};
#undef MINNOW_UNARY64_ROW
#undef MINNOW_UNARY_ROWS

}  // namespace

std::span<const Scheme> elementwise_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

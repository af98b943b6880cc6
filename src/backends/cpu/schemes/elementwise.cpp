// SPDX-License-Identifier: Apache-2.0
// Functions of one f32 tensor, in either layout.
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {
namespace {

constexpr size_t kFloatsPerTask = 16 << 10;

// Unary

struct Function {
  Unary kind;
  float a = 0, b = 0;
};

float number(const NodeView& node, std::string_view name, float fallback) { return node.attribute(Attribute<float>{name, fallback}); }

std::optional<Function> function_of(const NodeView& node) {
  constexpr std::pair<std::string_view, Unary> kPlain[] = {{"Abs", Unary::abs},
                                                           {"Ceil", Unary::ceil},
                                                           {"Cos", Unary::cos},
                                                           {"Erf", Unary::erf},
                                                           {"Exp", Unary::exp},
                                                           {"Floor", Unary::floor},
                                                           {"HardSwish", Unary::hard_swish},
                                                           {"Log", Unary::log},
                                                           {"Mish", Unary::mish},
                                                           {"Neg", Unary::neg},
                                                           {"Reciprocal", Unary::reciprocal},
                                                           {"Relu", Unary::relu},
                                                           {"Round", Unary::round},
                                                           {"Sigmoid", Unary::sigmoid},
                                                           {"Sign", Unary::sign},
                                                           {"Sin", Unary::sin},
                                                           {"Softplus", Unary::softplus},
                                                           {"Softsign", Unary::softsign},
                                                           {"Sqrt", Unary::sqrt},
                                                           {"Tanh", Unary::tanh}};
  const std::string& op = node.op();
  for (const auto& [name, kind] : kPlain)
    if (name == op) return Function{kind};
  if (op == "LeakyRelu") return Function{Unary::leaky_relu, number(node, "alpha", 0.01f)};
  if (op == "HardSigmoid") return Function{Unary::hard_sigmoid, number(node, "alpha", 0.2f), number(node, "beta", 0.5f)};
  if (op == "Elu") return Function{Unary::elu, number(node, "alpha", 1)};
  if (op == "Celu") return Function{Unary::celu, number(node, "alpha", 1)};
  if (op == "Selu") return Function{Unary::selu, number(node, "alpha", 1.67326319f), number(node, "gamma", 1.05070102f)};
  if (op == "Swish") return Function{Unary::swish, number(node, "alpha", 1)};
  if (op == "ThresholdedRelu") return Function{Unary::thresholded_relu, number(node, "alpha", 1)};
  if (op == "Gelu")
    return Function{node.attribute(Attribute<std::string_view>{"approximate", "none"}) == "tanh" ? Unary::gelu_tanh : Unary::gelu};
  if (op == "Clip") {
    Function clip{Unary::clip, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
    if ((node.has_input(1) && !node.is_constant(1)) || (node.has_input(2) && !node.is_constant(2))) return std::nullopt;
    if (node.has_input(1)) clip.a = static_cast<float>(node.real_scalar(1));
    if (node.has_input(2)) clip.b = static_cast<float>(node.real_scalar(2));
    return clip;
  }
  return std::nullopt;
}

// Cost of one element in operations: transcendental functions take some tens of instructions.
double cost_of(Unary kind) {
  switch (kind) {
    case Unary::copy:
    case Unary::relu:
    case Unary::clip:
    case Unary::neg:
    case Unary::abs:
    case Unary::scale:
    case Unary::leaky_relu:
      return 2;
    case Unary::hard_sigmoid:
    case Unary::hard_swish:
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
    case Unary::sign:
      return 6;
    default:
      return 60;
  }
}

// The floats that a tensor takes in its layout; lanes without a channel are computed too, whatever they hold.
size_t floats_of(const ValueInfo& info, const Device& device, Layout layout) {
  return device.bytes(info.dtype, info.shape, layout) / sizeof(float);
}

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(UnaryFunction function, float a, float b, size_t count) : function_(function), a_(a), b_(b), count_(count) {}
  void run(RunContext& context) noexcept override {
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

#define MINNOW_UNARY_ROWS(op) \
  {op, "unary.packed", estimate_unary_packed, prepare_unary}, { op, "unary", estimate_unary_plain, prepare_unary }

constexpr Scheme kSchemes[] = {
    MINNOW_UNARY_ROWS("Abs"),
    MINNOW_UNARY_ROWS("Ceil"),
    MINNOW_UNARY_ROWS("Celu"),
    MINNOW_UNARY_ROWS("Clip"),
    MINNOW_UNARY_ROWS("Cos"),
    MINNOW_UNARY_ROWS("Elu"),
    MINNOW_UNARY_ROWS("Erf"),
    MINNOW_UNARY_ROWS("Exp"),
    MINNOW_UNARY_ROWS("Floor"),
    MINNOW_UNARY_ROWS("Gelu"),
    MINNOW_UNARY_ROWS("HardSigmoid"),
    MINNOW_UNARY_ROWS("HardSwish"),
    MINNOW_UNARY_ROWS("LeakyRelu"),
    MINNOW_UNARY_ROWS("Log"),
    MINNOW_UNARY_ROWS("Mish"),
    MINNOW_UNARY_ROWS("Neg"),
    MINNOW_UNARY_ROWS("Reciprocal"),
    MINNOW_UNARY_ROWS("Relu"),
    MINNOW_UNARY_ROWS("Round"),
    MINNOW_UNARY_ROWS("Selu"),
    MINNOW_UNARY_ROWS("Sigmoid"),
    MINNOW_UNARY_ROWS("Sign"),
    MINNOW_UNARY_ROWS("Sin"),
    MINNOW_UNARY_ROWS("Softplus"),
    MINNOW_UNARY_ROWS("Softsign"),
    MINNOW_UNARY_ROWS("Sqrt"),
    MINNOW_UNARY_ROWS("Swish"),
    MINNOW_UNARY_ROWS("Tanh"),
    MINNOW_UNARY_ROWS("ThresholdedRelu"),
};
#undef MINNOW_UNARY_ROWS

}  // namespace

std::span<const Scheme> elementwise_schemes() { return kSchemes; }

}  // namespace minnow::cpu

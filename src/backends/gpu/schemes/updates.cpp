// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers: the kernel's source is written from the rule.
#include "backends/gpu/schemes/kernel_text.h"
#include "ops/update_rule.h"

namespace minnow::gpu {
namespace {

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal(node); !reason.empty()) return declined("{}", reason);
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input_dtype(i) != DType::f32) return declined("the dtype of input {} is {}", i, node.input_dtype(i));
  return estimate_of(node, device);
}

std::string expression_of(UpdateOp op, std::span<const std::string> x) {
  switch (op) {
    case UpdateOp::input:
      break;
    case UpdateOp::add:
      return format("{} + {}", x[0], x[1]);
    case UpdateOp::subtract:
      return format("{} - {}", x[0], x[1]);
    case UpdateOp::multiply:
      return format("{} * {}", x[0], x[1]);
    case UpdateOp::divide:
      return format("QUOTIENT({}, {})", x[0], x[1]);
    case UpdateOp::root:
      return format("sqrt({})", x[0]);
    case UpdateOp::size:
      return format("fabs({})", x[0]);
    case UpdateOp::larger:
      return format("{} > {} ? {} : {}", x[0], x[1], x[0], x[1]);
    case UpdateOp::smaller:
      return format("{} < {} ? {} : {}", x[0], x[1], x[0], x[1]);
    case UpdateOp::clamped:
      return format("{} > {} ? {} : {} < {} ? {} : {}", x[2], x[1], x[1], x[2], x[0], x[0], x[2]);
    case UpdateOp::by_sign:
      return format("{} > 0 ? {} : {} < 0 ? {} : {}", x[0], x[1], x[0], x[2], x[3]);
  }
  return {};
}

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Ints &rule = node.require<Ints>("rule"), &results = node.require<Ints>("results");
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node, KernelText::kAnyInput);  // the caller may update tensors where they lie
  const size_t tensors = node.input_count() - 1;
  text.input(0, "c");
  for (size_t i = 0; i < tensors; ++i) text.input(1 + i, format("x{}", i));
  for (size_t i = 0; i < node.output_count(); ++i) text.output(i, format("y{}", i));
  text.number("first", node.attribute(Attribute<int64_t>{"first", 0}));  // not in the text: tensors of one rule share a program
  std::string body;
  if (node.attribute(Attribute<bool>{"checked", false})) {
    text.faults("the gradient is not finite in element {} of {}");
    body = "  if ((AS_U32(GET(x1, i)) & 0x7f800000u) == 0x7f800000u) { FAULT(i, n) }\n";
  }
  for (size_t i = 0; i < rule.size() / 5; ++i) {
    const int64_t* row = rule.data() + 5 * i;
    std::string operands[4];
    for (size_t k = 0; k < 4; ++k) operands[k] = row[k + 1] < 0 ? "0.0f" : format("v{}", row[k + 1]);
    const UpdateOp op = static_cast<UpdateOp>(row[0]);
    std::string value = expression_of(op, operands);
    if (op == UpdateOp::input) value = i < tensors ? format("GET(x{}, i)", i) : format("GET(c, first + {})", i - tensors);
    body += format("  const float v{} = {};\n", i, value);
  }
  for (size_t k = 0; k < node.output_count(); ++k)
    if (node.has_output(k)) body += format("  PUT(y{}, i, v{});\n", k, results[k]);
  text.add_items("update", node.output_shape(0).elements(), body);
  return kernel;
}

constexpr Scheme kSchemes[] = {{"minnow.UpdateElements", "gpu.update", estimate, prepare}};

}  // namespace

std::span<const Scheme> update_schemes() { return kSchemes; }

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax along one axis: a group of items for each line.
#include "backends/gpu/schemes/lines.h"
#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {
namespace {

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  Estimate estimate = estimate_of(node, device, 0);
  estimate.overwrites = 0;
  return estimate;
}

constexpr std::string_view kSource = R"(
REDUCE(group_sum, SUM)
REDUCE(group_most, MOST)
KERNEL(softmax)(UPDATE(MEM(T), x), WRITE(MEM(T), y), const int length, const int inner) {
  USE_READ(MEM(T), x);
  USE_WRITE(MEM(T), y);
  LOCAL float shared[256];
  const int at = GROUP(0) / inner * length * inner + GROUP(0) % inner;
  float most = -AS_F32(0x7f800000u);
  for (int k = ITEM(0); k < length; k += 256) { const float v = LOAD(T, x, at + k * inner); most = MOST(v, most); }
  most = group_most(most, shared);
  float sum = 0;
  for (int k = ITEM(0); k < length; k += 256) sum += exp(LOAD(T, x, at + k * inner) - most);
  sum = group_sum(sum, shared);
  if (LOG) sum = log(sum); else sum = 1.0f / sum;
  for (int k = ITEM(0); k < length; k += 256) {
    const float v = LOAD(T, x, at + k * inner) - most;
    STORE(T, y, at + k * inner, LOG ? v - sum : exp(v) * sum);
  }
}
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Shape& shape = node.input_shape(0);
  const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -1}), shape.rank());
  const int64_t inner = shape.product(axis + 1, shape.rank()), lines = shape.product(0, axis) * inner;
  auto kernel = std::make_unique<Launches>(context);
  const std::string source = format("#define T {}\n#define LOG {}\n{}{}", dialect_name(node.input_dtype(0)),
                                    node.op() == "LogSoftmax" ? 1 : 0, kGroupReductions, kSource);
  kernel->add(source, "softmax", {static_cast<uint32_t>(lines), 1, 1}, {256, 1, 1},
              {Given::input(0), Given::output(0), shape[axis], inner});
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Softmax", "gpu.softmax", estimate, prepare}, {"LogSoftmax", "gpu.softmax", estimate, prepare}};

}  // namespace

std::span<const Scheme> softmax_schemes() { return kSchemes; }

}  // namespace minnow::gpu

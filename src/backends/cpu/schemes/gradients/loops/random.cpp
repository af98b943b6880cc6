// SPDX-License-Identifier: Apache-2.0
// minnow.KeyedUniform: blocks of random bits, any of which can be made first.
#include <algorithm>

#include "backends/cpu/schemes/schemes.h"
#include "base/philox.h"

namespace minnow::cpu {

namespace {

constexpr size_t kNumbersPerTask = 16 << 10, kBlock = 4;

Estimate estimate(const NodeView& node, const Device& device) {
  const double count = static_cast<double>(node.output_shape(0).elements());
  return Estimate(count * 2e-9 / device.threads + device.byte_time(4 * count) + 2e-7);
}

class KeyedUniformKernel final : public Kernel {
 public:
  explicit KeyedUniformKernel(const PrepareContext& context) : count_(static_cast<size_t>(context.node().output_shape(0).elements())) {}

  void run(RunContext& context) const noexcept override {
    const uint32_t* given = context.in<uint32_t>(0);
    const std::array<uint32_t, 2> key{given[0], given[1]};
    float* y = context.out<float>(0);
    context.parallel_for((count_ + kNumbersPerTask - 1) / kNumbersPerTask, [&](size_t task) {
      const size_t end = std::min(count_, (task + 1) * kNumbersPerTask);
      for (size_t i = task * kNumbersPerTask; i < end; i += kBlock) {
        const uint64_t number = i / kBlock;
        const Philox::Block block = Philox::block({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0, 0}, key);
        for (size_t k = 0; k < std::min(kBlock, end - i); ++k) y[i + k] = Philox::uniform(block[k]);
      }
    });
  }

 private:
  size_t count_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<KeyedUniformKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.KeyedUniform", "keyed_uniform", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> random_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

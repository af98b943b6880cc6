// SPDX-License-Identifier: Apache-2.0
// The gradient of a layer normalization, row by row. A task has some rows, and sums of its own for the scale and the bias: results do not
// depend on the number of threads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"

namespace minnow::cpu {

namespace {

enum Output : size_t { kX, kScale, kBias };

Estimate estimate(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  const double count = static_cast<double>(node.input_shape(0).elements());
  if (count == 0) return declined("the input is empty");
  Estimate estimate(device.flop_time(20 * count, 0.3) + device.byte_time(12 * count) + 1e-6);
  estimate.overwrites = 2;
  return estimate;
}

class LayerGradientKernel final : public Kernel {
 public:
  explicit LayerGradientKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->rows),
        epsilon_(context.node().attribute(Attribute<float>{"epsilon", 1e-5f})),
        centered_(context.node().attribute(Attribute<bool>{"centered", true})) {
    const NodeView& node = context.node();
    const Shape& x = node.input_shape(0);
    const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", -1}), x.rank());
    rows_ = static_cast<size_t>(x.product(0, axis)), length_ = static_cast<size_t>(x.product(axis, x.rank()));
    // So many that the sums take an eighth of the input's memory at most, and that a float can add them up.
    each_ = std::clamp<size_t>((rows_ + 31) / 32, 16, 4096);
    tasks_ = (rows_ + each_ - 1) / each_;
    sums_ = context.reserve_scratch(tasks_ * 2 * length_ * sizeof(float));
  }

  void run(RunContext& context) const noexcept override {
    const float *x = context.in<float>(0), *scale = context.in<float>(1), *g = context.in<float>(2);
    float* const y = context.has_output(kX) ? context.out<float>(kX) : nullptr;
    const bool sums = context.has_output(kScale) || context.has_output(kBias);
    float* const all = context.scratch_at<float>(sums_);
    const size_t n = length_;
    context.parallel_for(tasks_, [&](size_t task) {
      float* const own = all + task * 2 * n;
      if (sums) std::memset(own, 0, 2 * n * sizeof(float));
      for (size_t at = task * each_ * n; at < std::min(rows_, (task + 1) * each_) * n; at += n) {
        LayerGradient row{x + at, g + at, scale, n, 0, 0, centered_, y ? y + at : nullptr, sums ? own : nullptr, own + n};
        if (centered_)
          kernels_.moments(row.x, n, epsilon_, &row.mean, &row.inverse);
        else
          row.inverse = 1 / std::sqrt(kernels_.dot(row.x, row.x, n) / static_cast<float>(n) + epsilon_);
        kernels_.layer_gradient(row);
      }
    });
    for (const size_t output : {kScale, kBias})
      if (context.has_output(output))
        kernels_.reduce_columns[static_cast<size_t>(Reduction::sum)](all + (output - kScale) * n, tasks_, 2 * n, n, true,
                                                                     context.out<float>(output));
  }

 private:
  const RowKernels& kernels_;
  float epsilon_;
  bool centered_;
  size_t rows_, length_, each_, tasks_, sums_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<LayerGradientKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.LayerNormalizationGradient", "layer_norm_gradient", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> layer_normalization_gradient_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear of f32 and DequantizeLinear to f32 of 8-bit integers: one scale in either layout, or one for each place along an axis.
// Sums of two tensors of 8-bit integers.
#include <algorithm>
#include <cmath>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/share.h"
#include "graph/quantized_sum.h"

namespace minnow::cpu {
namespace {

constexpr size_t kElementsPerTask = 16 << 10;

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

Estimate estimate(const NodeView& node, const Device& device, Layout layout) {
  const bool quantizes = node.op() == "QuantizeLinear";
  const DType real = quantizes ? node.input_dtype(0) : node.output(0).dtype, byte = quantizes ? node.output(0).dtype : node.input_dtype(0);
  if (real != DType::f32 || !is_byte(byte) || node.input_dtype(1) != DType::f32) return declined("the dtypes are {} and {}", real, byte);
  if (const int64_t* precision = node.find<int64_t>("precision"); precision && *precision && *precision != static_cast<int64_t>(DType::f32))
    return declined("it divides in another precision");
  const int64_t scales = node.input_shape(1).elements();
  if (node.attribute(Attribute<int64_t>{"block_size", 0}) != 0 || node.input_shape(1).rank() > 1)
    return declined("there are scales of blocks");
  if (node.has_input(2) && node.input_shape(2).elements() != scales) return declined("there are fewer zero points than scales");
  if (layout == Layout::packed && (device.pack == 1 || node.output_shape(0).rank() < 3)) return declined("the shape has no packed layout");
  if (layout == Layout::packed && scales != 1) return declined("there are {} scales", scales);
  const double elements = static_cast<double>(node.output_shape(0).elements());
  // 0.15 ns to widen an element, 0.25 to divide and round it (AVX2, Zen 3 of 126 GFLOP/s, 2026-11-29).
  Estimate estimate(device.byte_time(5 * elements) + device.flop_time((quantizes ? 28 : 15) * elements) + 2e-7);
  if (layout == Layout::packed) estimate.packed_inputs = estimate.packed_outputs = 1;
  return estimate;
}
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate(node, device, Layout::plain); }
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate(node, device, Layout::packed); }

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels->integer), quantizes_(context.node().op() == "QuantizeLinear") {
    const NodeView& node = context.node();
    const ValueInfo& y = node.output(0);
    is_signed_ = (quantizes_ ? y.dtype : node.input_dtype(0)) == DType::i8;
    if (const int64_t scales = node.input_shape(1).elements(); scales == 1) {
      count_ = context.device().bytes(y.dtype, y.shape, context.output_layout(0)) / size_of(y.dtype);
    } else {
      const size_t axis = node.normalize_axis(node.attribute(Attribute<int64_t>{"axis", 1}), y.shape.rank());
      scales_ = static_cast<size_t>(scales);
      rows_ = static_cast<size_t>(y.shape.product(0, axis + 1));
      count_ = static_cast<size_t>(y.shape.product(axis + 1, y.shape.rank()));
    }
  }

  void run(RunContext& context) const noexcept override {
    const size_t cuts = std::max<size_t>(1, count_ / kElementsPerTask),
                 rows = std::max<size_t>(1, kElementsPerTask / std::max<size_t>(1, count_));
    context.parallel_for((rows_ + rows - 1) / rows * cuts, [&](size_t task) {
      const size_t cut = task % cuts, begin = share(count_, cuts, cut), end = share(count_, cuts, cut + 1),
                   last = std::min(rows_, (task / cuts + 1) * rows);
      for (size_t row = task / cuts * rows; row < last; ++row) convert(context, row * count_ + begin, end - begin, row % scales_);
    });
  }

 private:
  void convert(RunContext& context, size_t at, size_t count, size_t scale) const noexcept {
    const float factor = context.in<float>(1)[scale];
    int32_t zero = 0;
    if (context.has_input(2)) zero = is_signed_ ? int32_t{context.in<int8_t>(2)[scale]} : int32_t{context.in<uint8_t>(2)[scale]};
    if (quantizes_)
      kernels_.quantize(context.in<float>(0) + at, count, factor, zero, is_signed_, context.out<uint8_t>(0) + at);
    else
      kernels_.dequantize({context.in<uint8_t>(0) + at, is_signed_, zero}, count, factor, context.out<float>(0) + at);
  }

  const IntegerKernels& kernels_;
  bool quantizes_, is_signed_;
  size_t scales_ = 1, rows_ = 1, count_ = 0;  // elements of a row, which share a scale
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<QuantizeKernel>(context); }

// DynamicQuantizeLinear: the bounds of the tensor first, then as above. All steps are in f32, as the operator's definition fixes them.

Estimate estimate_dynamic(const NodeView& node, const Device& device) {
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  if (!node.has_output(0)) return declined("the quantized tensor is not wanted");
  return Estimate(device.byte_time(9 * static_cast<double>(node.input_shape(0).elements())) + 5e-7);
}

class DynamicKernel final : public Kernel {
 public:
  explicit DynamicKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels), count_(static_cast<size_t>(context.node().input_shape(0).elements())) {
    tasks_ = (count_ + kElementsPerTask - 1) / kElementsPerTask;
    bounds_offset_ = context.reserve_scratch(2 * tasks_ * sizeof(float));
  }

  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* bounds = context.scratch_at<float>(bounds_offset_);
    const auto extent = [&](size_t task) { return std::min(kElementsPerTask, count_ - task * kElementsPerTask); };
    context.parallel_for(tasks_, [&](size_t task) {
      const float* from = x + task * kElementsPerTask;
      float least = kernels_.rows->reduce[static_cast<size_t>(Reduction::min)](from, extent(task));
      float most = kernels_.rows->reduce[static_cast<size_t>(Reduction::max)](from, extent(task));
      if (std::isnan(least)) {  // NaN is no bound
        least = most = 0;
        for (size_t i = 0; i < extent(task); ++i) least = std::min(least, from[i]), most = std::max(most, from[i]);
      }
      bounds[2 * task] = least, bounds[2 * task + 1] = most;
    });
    float low = 0, high = 0;
    for (size_t task = 0; task < tasks_; ++task) low = std::min(low, bounds[2 * task]), high = std::max(high, bounds[2 * task + 1]);
    const float range = high - low, scale = range == 0 ? 1 : range / 255;
    const float zero = std::nearbyint(std::clamp(0 - low / scale, 0.0f, 255.0f));
    const int32_t zero_point = std::isnan(zero) ? 0 : static_cast<int32_t>(zero);
    context.parallel_for(tasks_, [&](size_t task) {
      const size_t begin = task * kElementsPerTask;
      kernels_.integer->quantize(x + begin, extent(task), scale, zero_point, false, context.out<uint8_t>(0) + begin);
    });
    if (context.has_output(1)) *context.out<float>(1) = scale;
    if (context.has_output(2)) *context.out<uint8_t>(2) = static_cast<uint8_t>(zero_point);
  }

 private:
  const Kernels& kernels_;
  size_t count_, tasks_, bounds_offset_;
};

std::unique_ptr<Kernel> prepare_dynamic(PrepareContext& context) { return std::make_unique<DynamicKernel>(context); }

Estimate estimate_sum(const NodeView& node, const Device& device, Layout layout) {
  const Shape& shape = node.output_shape(0);
  if (node.input_shape(0) != shape || node.input_shape(1) != shape) return declined("an input is broadcast");
  if (layout == Layout::packed && (device.pack == 1 || shape.rank() < 3)) return declined("the shape has no packed layout");
  Estimate estimate(device.byte_time(3 * static_cast<double>(shape.elements())) + 2e-7);
  if (layout == Layout::packed) estimate.packed_inputs = 3, estimate.packed_outputs = 1;
  estimate.overwrites = 0;
  return estimate;
}
Estimate estimate_plain_sum(const NodeView& node, const Device& device) { return estimate_sum(node, device, Layout::plain); }
Estimate estimate_packed_sum(const NodeView& node, const Device& device) { return estimate_sum(node, device, Layout::packed); }

class SumKernel final : public Kernel {
 public:
  explicit SumKernel(PrepareContext& context) : kernels_(*cpu_device(context.device()).kernels->integer) {
    const QuantizedSum sum = QuantizedSum::of(context.node());
    const ValueInfo& y = context.node().output(0);
    sum_ = {{sum.factor[0], sum.factor[1]}, sum.offset(), sum.zero[2], sum.low, sum.high, sum.shift, y.dtype == DType::i8};
    count_ = context.device().bytes(y.dtype, y.shape, context.output_layout(0));
  }

  void run(RunContext& context) const noexcept override {
    context.parallel_for((count_ + kElementsPerTask - 1) / kElementsPerTask, [&](size_t task) {
      const size_t begin = task * kElementsPerTask;
      kernels_.sum(context.in<uint8_t>(0) + begin, context.in<uint8_t>(1) + begin, std::min(kElementsPerTask, count_ - begin), sum_,
                   context.out<uint8_t>(0) + begin);
    });
  }

 private:
  const IntegerKernels& kernels_;
  ByteSum sum_;
  size_t count_;
};

std::unique_ptr<Kernel> prepare_sum(PrepareContext& context) { return std::make_unique<SumKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"DequantizeLinear", "quantize.packed", estimate_packed, prepare},
    {"DequantizeLinear", "quantize", estimate_plain, prepare},
    {"DynamicQuantizeLinear", "quantize.dynamic", estimate_dynamic, prepare_dynamic},
    {"QuantizeLinear", "quantize.packed", estimate_packed, prepare},
    {"QuantizeLinear", "quantize", estimate_plain, prepare},
    {"minnow.QuantizedAdd", "add.integers.packed", estimate_packed_sum, prepare_sum, kLargeOnly},
    {"minnow.QuantizedAdd", "add.integers", estimate_plain_sum, prepare_sum, kLargeOnly},
};

}  // namespace

std::span<const Scheme> quantize_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

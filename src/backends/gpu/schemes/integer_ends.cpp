// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/gpu/schemes/elementwise.h"
#include "backends/gpu/schemes/integers.h"

namespace minnow::gpu {
namespace {

constexpr size_t kAScale = 1, kBScale = 4, kYScale = 6, kYZero = 7, kBias = 8, kResidualScale = 10, kResidualZero = 11;

bool has_bytes(const NodeView& node) { return node.has_input(kYScale); }
bool activates_reals(const NodeView& node) { return has_bytes(node) && !Activation::of(node).joins_rounding(); }
int64_t at(const Tensor& tensor, int64_t channel) { return tensor.elements() == 1 ? 0 : channel; }
float scale_of(const NodeView& node, size_t i, int64_t channel) { return node.contents(i).data<float>()[at(node.contents(i), channel)]; }

}  // namespace

std::string IntegerEnds::refusal(const NodeView& node, int64_t channels) {
  for (const size_t i : {kAScale, size_t{2}, kBScale, size_t{5}, kYScale, kYZero, kBias, kResidualScale, kResidualZero}) {
    if (!node.has_input(i)) continue;
    if (!node.is_constant(i)) return format("input {} is not constant", i);
    const bool one = node.input_shape(i).elements() == 1, of_channels = node.input_shape(i).elements() == channels;
    if (!one && (!of_channels || node.input_shape(i).rank() != 1)) return format("input {} is neither one nor one for each channel", i);
  }
  for (const size_t i : {kAScale, kBScale, kYScale})
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return format("the dtype of input {} is {}", i, node.input_dtype(i));
  // A matrix product's scales of a are those of rows.
  if (node.op() != "minnow.QuantizedConv" && node.input_shape(kAScale).elements() != 1) return "rows have scales of their own";
  if (node.has_input(kYZero) && node.input_shape(kYZero).elements() != 1) return "the zero point of the result is not one";
  const DType dtype = node.output(0).dtype;
  if (!is_byte(dtype) && dtype != DType::f32) return format("the dtype of the result is {}", dtype);
  for (const size_t i : {kAScale, kBScale, kYScale})
    for (int64_t c = 0; node.has_input(i) && c < node.input_shape(i).elements(); ++c)
      if (!std::isfinite(scale_of(node, i, c)) || (i == kYScale && !std::isfinite(1 / scale_of(node, i, c))))
        return "a scale is not finite, or 0";
  if (node.has_input(kBias)) {
    const Tensor& bias = node.contents(kBias);
    if (bias.dtype() != DType::i32 && bias.dtype() != DType::f32) return format("the bias is {}", bias.dtype());
    for (int64_t c = 0; c < bias.elements(); ++c)
      if (bias.dtype() == DType::i32 ? std::abs(int64_t{bias.data<int32_t>()[c]}) >= int64_t{1} << 30
                                     : !std::isfinite(bias.data<float>()[c]))
        return "the bias is too large";
  }
  return {};
}

std::vector<int32_t> IntegerEnds::table(const NodeView& node, int64_t channels) {
  std::vector<int32_t> ends;
  const auto append = [&](float x) { ends.push_back(std::bit_cast<int32_t>(x)); };
  const bool later = activates_reals(node);
  for (int64_t c = 0; c < channels; ++c) {
    const Tensor* const bias = node.has_input(kBias) ? &node.contents(kBias) : nullptr;
    ends.push_back(bias && bias->dtype() == DType::i32 ? bias->data<int32_t>()[at(*bias, c)] : 0);
    append(bias && bias->dtype() == DType::f32 ? bias->data<float>()[at(*bias, c)] : 0);
    const float factor = scale_of(node, kAScale, c) * scale_of(node, kBScale, c);
    append(has_bytes(node) && !later ? factor / scale_of(node, kYScale, c) : factor);
    append(later ? 1 / scale_of(node, kYScale, c) : 1);
  }
  return ends;
}

std::string IntegerEnds::statements(const NodeView& node, std::string_view channel, std::string_view residual) {
  const Activation activation = Activation::of(node);
  const bool adds = node.has_input(kBias) && node.input_dtype(kBias) == DType::f32;
  std::string text = format("const int end = 4 * {}; const float real = ((float)(sum + ends[end]){}) * AS_F32((u32)ends[end + 2]); ",
                            channel, adds ? " + AS_F32((u32)ends[end + 1])" : "");
  if (!has_bytes(node)) return text + format("const float result = {}; ", expression_of(activation, "real"));
  const DType dtype = node.output(0).dtype;
  const bool relu = activation.kind == Activation::Kind::relu;
  const int64_t zero = node.int_scalar(kYZero), low = relu ? std::max(zero, lowest_of(dtype)) : lowest_of(dtype), high = highest_of(dtype);
  std::string steps = "real";
  if (has_residual(node)) {
    steps = format("FMA((float)({} - ({})), {}, real)", residual, node.int_scalar(kResidualZero),
                   literal(scale_of(node, kResidualScale, 0) / scale_of(node, kYScale, 0)));
  } else if (activates_reals(node)) {
    text += format("const float active = {} * AS_F32((u32)ends[end + 3]); ", expression_of(activation, "real"));
    steps = "active != active ? 0.0f : active";
  }
  // Rounded by an addition that leaves whole numbers, which are the lowest bits then: conversions take four times as long.
  return text +
         format("const float cut = fmin(fmax({}, {}), {}); const int result = (int)(AS_U32(cut + 12582912.0f) - 1262485504u) + ({}); ",
                steps, literal(static_cast<float>(low - zero)), literal(static_cast<float>(high - zero)), zero);
}

}  // namespace minnow::gpu

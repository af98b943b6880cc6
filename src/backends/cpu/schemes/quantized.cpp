// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/schemes/functions.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;
constexpr bool kJoinsColumns = !kSmall;

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

int32_t byte_at(const Tensor& tensor, size_t i) {
  return tensor.dtype() == DType::i8 ? tensor.data<int8_t>()[i] : tensor.data<uint8_t>()[i];
}
bool has_real_result(const NodeView& node) { return node.output(0).dtype == DType::f32; }

/// One element, or one for each channel.
float of_channel(const Tensor& numbers, size_t channel) { return numbers.data<float>()[numbers.elements() == 1 ? 0 : channel]; }

/// Whether the activation is computed in f32, before bytes are made.
bool activates_reals(const NodeView& node) { return !has_real_result(node) && !Activation::of(node).joins_rounding(); }

float multiplier_of(const NodeView& node, size_t channel) {
  const float of_sum = of_channel(node.contents(kXScale), channel) * of_channel(node.contents(kWScale), channel);
  return has_real_result(node) || activates_reals(node) ? of_sum : of_sum / of_channel(node.contents(kYScale), channel);
}

/// A step of the residual in those of the result.
float residual_step(const NodeView& node) { return of_channel(node.contents(kResidualScale), 0) / of_channel(node.contents(kYScale), 0); }

}  // namespace

std::string refusal_of_quantized(const NodeView& node, size_t outputs, size_t depth, bool any_w) {
  const FactorInputs inputs(node);
  for (size_t i : {inputs.x, inputs.w, inputs.x_zero, inputs.w_zero})
    if (node.has_input(i) && !is_byte(node.input_dtype(i))) return format("the dtype of input {} is {}", i, node.input_dtype(i));
  for (size_t i : {inputs.w, inputs.w_zero})
    if (!any_w && node.has_input(i) && !node.is_constant(i)) return format("input {} is not constant", i);
  if (node.has_input(inputs.x_zero) && node.input_shape(inputs.x_zero).elements() != 1)
    return "the rows of x have zero points of their own";
  const auto is_per_channel = [&](size_t i) {
    const int64_t elements = node.input_shape(i).elements();
    return elements == 1 || elements == static_cast<int64_t>(outputs);
  };
  if (any_w && node.has_input(inputs.w_zero) && node.input_shape(inputs.w_zero).elements() != 1)
    return "the columns of w have zero points of their own";
  if (node.has_input(inputs.w_zero) && !is_per_channel(inputs.w_zero)) return "the zero points of w are not one for each channel";
  if (depth > kMostIntegerDepth) return format("sums of {} products do not fit 32 bits for certain", depth);
  if (inputs.raw) return {};
  if (!is_byte(node.output(0).dtype) && !has_real_result(node)) return format("the dtype of the result is {}", node.output(0).dtype);
  for (size_t i : {kXScale, kWScale, kYScale})
    if (node.has_input(i) && node.input_dtype(i) != DType::f32)
      return format("the dtype of input {} is {}, not f32", i, node.input_dtype(i));
  for (size_t i = kXScale; i <= kResidualZero; ++i)
    if (i != kResidual && !(any_w && i == kW) && node.has_input(i) && !node.is_constant(i)) return format("input {} is not constant", i);
  const bool conv = node.op() == "minnow.QuantizedConv";
  for (size_t i : {kXScale, kYScale, kYZero})
    if (node.has_input(i) && node.input_shape(i).elements() != 1 && !(conv && i != kYZero && is_per_channel(i)))
      return format("input {} is not one element", i);
  if (node.has_input(kResidual) && !std::isfinite(residual_step(node))) return "a scale is not finite, or 0";
  if (!is_per_channel(kWScale)) return "the scales of w are not one for each channel";
  if (node.has_input(kBias) && node.input_dtype(kBias) == DType::i32) {
    const Tensor& bias = node.contents(kBias);
    for (int64_t i = 0; i < bias.elements(); ++i)
      if (std::abs(int64_t{bias.data<int32_t>()[i]}) >= int64_t{1} << 30) return "the bias is too large";
  }
  for (size_t i = 0; i < outputs; ++i)
    if (!std::isfinite(multiplier_of(node, i)) || (node.has_input(kYScale) && !std::isfinite(1 / of_channel(node.contents(kYScale), i))))
      return "a scale is not finite, or 0";
  return {};
}

double integer_speed(const Kernels& kernels, size_t channels) {
  constexpr double kSpeeds[kIntegerForms] = {1.2, 3.5, 6.5, 10};
  return kSpeeds[static_cast<size_t>(best_form(*kernels.integer, true, channels))];
}

void arrange_rows(const Kernels& kernels, IntegerForm form, const ByteSource& x, size_t depth, size_t count, size_t row, size_t group,
                  uint8_t* rows) noexcept {
  // Vectors of a row that are `stride` bytes apart, `pieces` of them adjacent: in the form matrices, those of a group of channels.
  constexpr size_t kMostLanes = 16;
  const bool matrices = form == IntegerForm::matrices;
  const size_t lanes = kernels.lanes, piece = lanes * element_bytes(form), whole = depth / lanes, rest = depth % lanes;
  const size_t pieces = matrices ? group_bytes(form) / piece : 1, stride = matrices ? group : piece;
  for (size_t r = 0; r < count; ++r) {
    ByteSource source{x.from + r * depth, x.is_signed, x.zero_point};
    uint8_t* to = rows + r * row;
    for (size_t i = 0; i < pieces; ++i, source.from += lanes)
      kernels.integer->arrange(form, source, pieces * lanes, (whole + pieces - 1 - i) / pieces, to + i * piece, stride);
    if (!rest) continue;
    uint8_t last[kMostLanes] = {};
    std::memcpy(last, x.from + r * depth + whole * lanes, rest);
    source.from = last;
    kernels.integer->arrange(form, source, lanes, 1, to + whole / pieces * stride + whole % pieces * piece, stride);
  }
}

Requantization::Requantization(const NodeView& node, size_t outputs, size_t groups, const Kernels& kernels)
    : padded(ceil_div(outputs / groups, kPair * kernels.lanes) * kPair * kernels.lanes),
      bias(groups * padded, 0),
      low(0),
      high(0),
      zero_point(0),
      is_signed(node.output(0).dtype == DType::i8),
      raw(size_of(node.output(0).dtype) == sizeof(int32_t)),
      lanes(kernels.lanes) {
  if (FactorInputs(node).raw) return;
  multiplier.assign(groups * padded, 0);
  const Activation activation = Activation::of(node);
  const bool relu = activation.kind == Activation::Kind::relu, clip = activation.kind == Activation::Kind::clip;
  if (raw) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    low = clip ? activation.alpha : relu ? 0 : -kInfinity;
    high = clip ? activation.beta : kInfinity;
  } else {
    zero_point = byte_at(node.contents(kYZero), 0);
    const int32_t lowest = is_signed ? -128 : 0, highest = is_signed ? 127 : 255;
    low = static_cast<float>((relu ? std::max(zero_point, lowest) : lowest) - zero_point);
    high = static_cast<float>(highest - zero_point);
  }
  const bool has_fractions = node.has_input(kBias) && node.input_dtype(kBias) == DType::f32;
  if (has_fractions) addend.assign(groups * padded, 0);
  for (size_t g = 0, channel = 0; g < groups; ++g)
    for (size_t o = 0; o < outputs / groups; ++o, ++channel) {
      multiplier[g * padded + o] = multiplier_of(node, channel);
      if (has_fractions)
        addend[g * padded + o] = node.contents(kBias).data<float>()[channel];
      else if (node.has_input(kBias))
        bias[g * padded + o] = node.contents(kBias).data<int32_t>()[channel];
    }
  if (node.has_input(kResidual)) {
    residual_ = {residual_step(node), byte_at(node.contents(kResidualZero), 0), node.input_dtype(kResidual) == DType::i8};
    if (residual_.step != 0) activate_ = kernels.integer->activate;
  }
  if (!activates_reals(node)) return;
  factor.assign(groups * padded, 1);
  for (size_t g = 0, channel = 0; g < groups; ++g)
    for (size_t o = 0; o < outputs / groups; ++o, ++channel) factor[g * padded + o] = 1 / of_channel(node.contents(kYScale), channel);
  take_activation(activation, kernels);
}

void Requantization::apply(IntegerTile& tile, size_t group, size_t vector, const int32_t* sums) const noexcept {
  tile.bias = (sums ? sums : bias.data()) + group * padded + vector * lanes;
  tile.multiplier = multiplier.empty() ? nullptr : multiplier.data() + group * padded + vector * lanes;
  tile.addend = addend.empty() ? nullptr : addend.data() + group * padded + vector * lanes;
  if (activate_) {
    tile.activate = activate_, tile.activation = &activation_;
    tile.factor = factor.empty() ? nullptr : factor.data() + group * padded + vector * lanes;
    tile.residual.step = residual_.step;
    tile.residual.zero_point = residual_.zero_point, tile.residual.is_signed = residual_.is_signed;
  }
  tile.low = low, tile.high = high;
  tile.zero_point = zero_point;
  tile.is_signed = is_signed;
  tile.raw = raw;
}

void Requantization::take_activation(const Activation& activation, const Kernels& kernels) {
  activate_ = kernels.integer->activate;
  float slope = 0;
  if (activation.kind == Activation::Kind::hard_swish) {
    activation_ = {nullptr, 0.5F, 0, 1, false}, slope = 1.0F / 6;
  } else if (activation.kind == Activation::Kind::leaky_relu) {
    const float alpha = activation.alpha;
    constexpr float kSteep = 1e30F;  // from one bound to the other within a step that no sum has
    activation_ = {nullptr, alpha, std::min(alpha, 1.0F), std::max(alpha, 1.0F), false}, slope = alpha > 1 ? -kSteep : kSteep;
  } else if (kernels.integer->activates_smoothly &&
             (activation.kind == Activation::Kind::swish || activation.kind == Activation::Kind::gelu)) {
    // x / (1 + e^-x), and the same of c x + d x^3 instead of x: with these c and d it is nearest to GELU, within 0.0003.
    constexpr float kLog2E = 1.44269504F, kC = 1.60028599F, kD = 0.06941461F;
    const bool gelu = activation.kind == Activation::Kind::gelu;
    slope = gelu ? -kLog2E * kC : -kLog2E;
    activation_ = {nullptr, gelu ? kD / kC / (slope * slope) : 0, 0, 0, true};
  } else {
    const Function function = function_of(activation);
    activation_ = {(*kernels.unary)[function.kind], function.a, function.b};
    return;
  }
  for (size_t i = 0; i < factor.size(); ++i) {
    multiplier[i] *= factor[i];
    factor[i] = slope / factor[i];
  }
}

IntegerWeights::IntegerWeights(const NodeView& node, const Kernels& kernels, size_t outputs, size_t channels, size_t taps, size_t groups,
                               bool last, size_t columns, size_t pixel)
    : outputs_(outputs),
      channels_(channels),
      taps_(taps),
      groups_(groups),
      lanes_(kernels.lanes),
      columns_(kJoinsColumns ? columns : 1),
      pixel_(pixel),
      inputs_(node),
      outputs_last_(last) {
  w_ = node.contents(inputs_.w);
  const Tensor zero = node.has_input(inputs_.w_zero) ? node.contents(inputs_.w_zero) : Tensor();
  x_is_signed_ = node.input_dtype(inputs_.x) == DType::i8;
  offset_ = byte_offset(*kernels.integer, x_is_signed_);
  if (zero) zeros_.resize(outputs);
  for (size_t o = 0; o < zeros_.size(); ++o) zeros_[o] = byte_at(zero, zero.elements() == 1 ? 0 : o);
  if (std::all_of(zeros_.begin(), zeros_.end(), [](int32_t each) { return each == 0; })) zeros_.clear();
  form_ = best_form(*kernels.integer, plain().fit_bytes(), columns_ * channels);
  if (form_ == IntegerForm::matrices) columns_ = 1;
  if (columns_ == 1) pixel_ = channels;
  pairs_ = ceil_div(ceil_div(outputs / groups, lanes_), kPair);
  channel_groups_ = groups_of(form_, columns_ * pixel_);
  panel_bytes_ = taps / columns_ * channel_groups_ * kPair * lanes_ * group_bytes(form_);
}

ByteWeights IntegerWeights::plain() const noexcept {
  const size_t terms = channels_ * taps_;
  return {static_cast<const uint8_t*>(w_.data()),
          w_.dtype() == DType::i8,
          zeros_.empty() ? nullptr : zeros_.data(),
          outputs_,
          terms,
          outputs_last_ ? 1 : terms,
          outputs_last_ ? outputs_ : 1};
}

void IntegerWeights::pack(uint8_t* out) const {
  const size_t of_tap = channel_groups_ * channels_at_once(form_);
  std::vector<size_t> terms(taps_ / columns_ * of_tap);
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t tap = i / of_tap * columns_, c = i % of_tap, column = c / pixel_, channel = c - column * pixel_;
    terms[i] = column < columns_ && channel < channels_ ? channel * taps_ + tap + column : ByteWeights::kNoTerm;
  }
  const ByteWeights w = plain();
  const size_t each = outputs_ / groups_, lanes = kPair * lanes_;
  for (size_t g = 0; g < groups_; ++g)
    for (size_t pair = 0; pair < pairs_; ++pair, out += panel_bytes_)
      w.pack(form_, terms, g * each + pair * lanes, (g + 1) * each, lanes, out);
}

void IntegerWeights::prepare(PrepareContext& context, Requantization& requantization) {
  const size_t bytes = groups_ * pairs_ * panel_bytes_, each = outputs_ / groups_;
  if (form_ != IntegerForm::words) {
    // The bias takes the share of x's offset and zero point.
    const NodeView& node = context.node();
    const bool known = !node.has_input(inputs_.x_zero) || node.is_constant(inputs_.x_zero);
    if (!known) {
      sums_.assign(requantization.bias.size(), 0);
      biases_offset_ = context.reserve_scratch(sums_.size() * sizeof(int32_t));
    }
    const int32_t zero = (known && node.has_input(inputs_.x_zero) ? byte_at(node.contents(inputs_.x_zero), 0) : 0) + offset_;
    std::vector<int32_t> sums(outputs_);
    plain().sum_terms(sums.data());
    for (size_t o = 0; o < outputs_; ++o) {
      requantization.bias_of(o / each, o % each) -= zero * sums[o];
      if (!known) sums_[o / each * requantization.padded + o % each] = sums[o];
    }
  }
  if (zeros_.empty()) {
    const PackingParameters parameters = {{"form", form_},         {"groups", groups_}, {"outputs", outputs_},
                                          {"channels", channels_}, {"taps", taps_},     {"outputs last", outputs_last_},
                                          {"columns", columns_},   {"pixel", pixel_}};
    shared_ =
        context.packed(inputs_.w, "integer", parameters, bytes, [&](const TensorView&, void* out) { pack(static_cast<uint8_t*>(out)); });
  } else {
    own_.resize(bytes);
    pack(own_.data());
  }
  w_ = Tensor();
}

ByteSource IntegerWeights::source(const RunContext& context) const noexcept {
  ByteSource source{context.in<uint8_t>(inputs_.x), x_is_signed_, 0};
  if (context.has_input(inputs_.x_zero))
    source.zero_point = x_is_signed_ ? int32_t{*context.in<int8_t>(inputs_.x_zero)} : int32_t{*context.in<uint8_t>(inputs_.x_zero)};
  return source;
}

const int32_t* IntegerWeights::biases(const RunContext& context, const Requantization& requantization,
                                      const ByteSource& source) const noexcept {
  if (sums_.empty()) return requantization.bias.data();
  int32_t* biases = context.scratch_at<int32_t>(biases_offset_);
  for (size_t i = 0; i < sums_.size(); ++i) biases[i] = requantization.bias[i] - source.zero_point * sums_[i];
  return biases;
}

}  // namespace minnow::cpu

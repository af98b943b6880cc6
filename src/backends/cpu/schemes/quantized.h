// SPDX-License-Identifier: Apache-2.0
// Shared by the schemes of quantized convolutions and products: their constants, arranged for the kernels.
#pragma once
#include <string>
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/integer_weights.h"
#include "graph/activation.h"

namespace minnow::cpu {

/// Inputs of minnow.QuantizedConv, minnow.QuantizedMatMul and the QLinear forms.
enum QuantizedInput : size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias, kResidual, kResidualScale, kResidualZero };
/// The inputs of a node with its factors and their zero points. ConvInteger and MatMulInteger, whose sums are i32, have other ones.
struct FactorInputs {
  bool raw;  // the sums are wanted themselves
  size_t x = 0, x_zero = 2, w, w_zero;
  explicit FactorInputs(const NodeView& node)
      : raw(node.op() == "ConvInteger" || node.op() == "MatMulInteger"), w(raw ? 1 : 3), w_zero(raw ? 3 : 5) {}
};

/// The requantization of the sums of `outputs` channels in `groups` groups of equal size, each group padded to whole tiles.
struct Requantization {
  Requantization(const NodeView& node, size_t outputs, size_t groups, const Kernels& kernels);
  /// The bias of channel o of group g.
  int32_t& bias_of(size_t g, size_t o) { return bias[g * padded + o]; }
  /// `sums`: biases that take the place of those here, or null. The caller sets the residual's place.
  void apply(IntegerTile& tile, size_t group, size_t vector, const int32_t* sums = nullptr) const noexcept;

  size_t padded;  // channels of a group in whole tiles
  std::vector<int32_t> bias;
  std::vector<float> multiplier;  // empty: results are the sums
  std::vector<float> addend;      // of a bias in f32; else empty
  std::vector<float> factor;      // of an activation before bytes are made (IntegerTile); else empty
  float low, high;
  int32_t zero_point;
  bool is_signed, raw;  // raw: results have 32 bits
  size_t lanes;

 private:
  void take_activation(const Activation& activation, const Kernels& kernels);
  ActivateFunction activate_ = nullptr;
  ByteResidual residual_;  // where it lies is known in a run alone
  ByteActivation activation_;
};

/// Weights of one group as tiles read them: [pair of vectors][tap][group of channels][vector][lane][channel].
class IntegerWeights {
 public:
  /// `last`: the weights' outputs are their last axis, not their first. The form is the fastest that the machine and the values allow.
  /// `columns` taps that follow each other may be one, of so many pixels with `pixel` channels each.
  IntegerWeights(const NodeView& node, const Kernels& kernels, size_t outputs, size_t channels, size_t taps, size_t groups, bool last,
                 size_t columns = 1, size_t pixel = 0);

  IntegerForm form() const noexcept { return form_; }
  /// Taps of the weights that are one tap of a tile.
  size_t columns() const noexcept { return columns_; }
  size_t channel_groups() const noexcept { return channel_groups_; }
  size_t pairs() const noexcept { return pairs_; }
  /// The panel of a pair of vectors of a group.
  const uint8_t* panel(size_t group, size_t pair) const noexcept { return data() + (group * pairs_ + pair) * panel_bytes_; }
  size_t panel_bytes() const noexcept { return panel_bytes_; }
  /// Packs the weights (shared with other plans if their zero points are 0) and folds the zero point of X into the biases if it is
  /// constant.
  void prepare(PrepareContext& context, Requantization& requantization);

  /// At the beginning of a run: X as this run finds it (`from` is set, the zero point read), and the biases that belong to it.
  ByteSource source(const RunContext& context) const noexcept;
  const int32_t* biases(const RunContext& context, const Requantization& requantization, const ByteSource& source) const noexcept;

 private:
  const uint8_t* data() const noexcept { return shared_ ? static_cast<const uint8_t*>(shared_.get()) : own_.data(); }
  ByteWeights plain() const noexcept;
  void pack(uint8_t* out) const;
  Tensor w_;                    // until it is packed
  std::vector<int32_t> zeros_;  // one for each output; empty: all are 0
  size_t outputs_, channels_, taps_, groups_, lanes_, columns_, pixel_, pairs_, channel_groups_, panel_bytes_;
  IntegerForm form_;
  FactorInputs inputs_;
  bool outputs_last_, x_is_signed_;
  int32_t offset_;             // of x in the forms of bytes
  std::vector<int32_t> sums_;  // of the weights of each channel, where the zero point of X is known in a run alone
  size_t biases_offset_ = 0;
  std::shared_ptr<const void> shared_;
  std::vector<uint8_t> own_;
};

/// `count` rows of `depth` bytes as tiles of a form read them. In the form matrices `row` are the bytes of a group of channels of one row,
/// and groups are `group` bytes apart; in other forms a row takes `row` bytes.
void arrange_rows(const Kernels& kernels, IntegerForm form, const ByteSource& x, size_t depth, size_t count, size_t row, size_t group,
                  uint8_t* rows) noexcept;

/// Sums of so many products of 9-bit numbers and a bias below 2^30 fit 32 bits.
inline constexpr size_t kMostIntegerDepth = 16384;
/// Why no integer scheme can serve a node of `outputs` channels whose sums have `depth` terms; empty if they can. `any_w`: w need not be
/// constant, but has one zero point.
std::string refusal_of_quantized(const NodeView& node, size_t outputs, size_t depth, bool any_w = false);
/// Why no scheme can serve a convolution; empty if one can.
std::string refusal_of_quantized_conv(const NodeView& node);
/// The estimate for a convolution in the packed layout; `speed` is relative to multiply-adds of f32. `of_input`, `of_output`: operations
/// for each element of the image, which is arranged, and of the result, which is requantized.
Estimate quantized_conv_estimate(const NodeView& node, const Device& device, double speed, double of_input = 0, double of_output = 0);
/// Multiply-adds of these schemes, relative to those of f32, where a tap has so many channels.
double integer_speed(const Kernels& kernels, size_t channels);

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Attention of bytes. Keys and values are packed into panels once per head. For a block of queries of one head, the sums of bytes stay in
// the second-level cache until they are weights, which are bytes again: 255 for the largest of a row, so that rows of many keys of equal
// weight lose nothing. The zero point of keys adds the same to all scores of a query, which softmax takes away.
#include <algorithm>
#include <cmath>
#include "backends/cpu/schemes/large/byte_panels.h"
#include "graph/attention.h"

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/attention_mask.h"
#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask };
constexpr int64_t kFewQueries = 4;  // f32 leaves keys and values where they are then

size_t size(int64_t value) { return static_cast<size_t>(value); }

float number(const NodeView& node, size_t input) { return node.contents(input).data<float>()[0]; }
int32_t zero_of(const NodeView& node, size_t input) {
  const Tensor& zero = node.contents(input);
  return zero.dtype() == DType::i8 ? int32_t{zero.data<int8_t>()[0]} : int32_t{zero.data<uint8_t>()[0]};
}

Estimate estimate(const NodeView& node, const Device& device) {
  for (size_t i = kQueryScale; i <= kAttentionZero; ++i)
    if (node.has_input(i) && (!node.is_constant(i) || node.input_shape(i).elements() != 1))
      return declined("input {} is not one constant", i);
  const float factor = number(node, kQueryScale) * number(node, kKeyScale);
  for (const float scale : {factor, number(node, kValueScale), node.has_input(kAttentionScale) ? number(node, kAttentionScale) : 1.0F})
    if (!(scale > 0) || !std::isfinite(scale)) return declined("a scale is not finite, or 0");
  const AttentionGeometry a = AttentionGeometry::of(node);
  if (!(a.scale > 0) || !std::isfinite(a.scale)) return declined("scores are multiplied by {}", a.scale);
  if (a.output_shape().elements() == 0 || a.keys() == 0 || a.head == 0) return declined("a tensor is empty");
  if (size(std::max(a.head, a.keys())) > kMostIntegerDepth) return declined("sums do not fit 32 bits for certain");
  if (a.queries <= kFewQueries) return declined("a few queries take less time in f32");
  const Kernels& kernels = *cpu_device(device).kernels;
  const double scores = static_cast<double>(a.scores_shape().elements());
  const double bytes = static_cast<double>(node.input_shape(kQuery).elements() + node.input_shape(kKey).elements() +
                                           node.input_shape(kValue).elements() + node.output_shape(0).elements());
  const auto product = [&](int64_t width, double speed) { return device.flop_time(2 * scores * static_cast<double>(width), speed); };
  const bool words = best_form(*kernels.integer, true, size(a.head)) == IntegerForm::words;
  const double packing = static_cast<double>(node.input_shape(kKey).elements() + node.input_shape(kValue).elements()) * (words ? 30 : 6);
  const double integers = product(a.head, 0.7 * integer_speed(kernels, size(a.head))) +
                          product(a.v_head, 0.7 * integer_speed(kernels, size(a.keys()))) + device.flop_time(scores * 50 + packing) +
                          device.byte_time(2 * bytes);
  const double reals = product(a.head, 0.75) + product(a.v_head, 0.75) + device.flop_time(scores * 80) + device.byte_time(13 * bytes);
  if (integers >= reals) return declined("products of f32 take less time");
  return Estimate(integers + 1e-6);
}

class QuantizedAttentionKernel final : public Kernel {
 public:
  explicit QuantizedAttentionKernel(PrepareContext& context) : QuantizedAttentionKernel(context, context.node()) {}

  void run(RunContext& context) const noexcept override {
    const size_t parts = keys_.panels.pairs() + values_.panels.pairs();
    context.parallel_for(size(a_.batch * a_.kv_heads) * parts, [&](size_t task) {
      const size_t head = task / parts, part = task % parts;
      if (part < keys_.panels.pairs())
        pack(context, keys_, kKey, head, a_.head, part);
      else
        pack(context, values_, kValue, head, a_.v_head, part - keys_.panels.pairs());
    });
    units_.run(context, [&](size_t unit, float* scratch) { attend(context, unit / blocks_, unit % blocks_, scratch); });
  }

 private:
  /// Keys or values. The left factor of the product has a zero point and an offset, which panels' biases take away.
  struct Side {
    BytePanels panels;
    int32_t zero, left_zero;
    size_t panels_at = 0, biases_at = 0;  // in scratch
  };

  QuantizedAttentionKernel(PrepareContext& context, const NodeView& node)
      : a_(AttentionGeometry::of(node)),
        mask_(node, a_, kMask),
        kernels_(*cpu_device(context.device()).kernels),
        query_{nullptr, node.input_dtype(kQuery) == DType::i8, zero_of(node, kQueryZero)},
        keys_{BytePanels(kernels_, size(a_.head), size(a_.keys()), node.input_dtype(kKey) == DType::i8), zero_of(node, kKeyZero),
              query_.zero_point + byte_offset(*kernels_.integer, query_.is_signed)},
        values_{BytePanels(kernels_, size(a_.keys()), size(a_.v_head), node.input_dtype(kValue) == DType::i8), zero_of(node, kValueZero),
                byte_offset(*kernels_.integer, false)},
        factor_(
            static_cast<float>(static_cast<double>(number(node, kQueryScale)) * static_cast<double>(number(node, kKeyScale)) * a_.scale)),
        value_scale_(number(node, kValueScale)),
        quantizes_(node.has_input(kAttentionScale)) {
    if (quantizes_) {
      scale_ = number(node, kAttentionScale), zero_ = zero_of(node, kAttentionZero);
      is_signed_ = node.output(0).dtype == DType::i8;
    }
    const size_t heads = size(a_.batch * a_.kv_heads);
    for (Side* side : {&keys_, &values_}) {
      side->panels_at = context.reserve_scratch(product_of({heads, side->panels.bytes()}));
      side->biases_at = context.reserve_scratch(product_of({heads, side->panels.padded(), sizeof(int32_t)}));
    }
    // Tiles read weights where they are made, if bytes need no other order and sign.
    const IntegerForm form = values_.panels.form();
    in_place_ = !kernels_.integer->signed_bytes && (form == IntegerForm::bytes || (kHasAmx && form == IntegerForm::amx));
    weights_row_ = in_place_ ? values_.panels.row_bytes() : keys_.panels.padded();
    const size_t of_row = sum_of({keys_.panels.row_bytes(), keys_.panels.padded() * sizeof(int32_t), in_place_ ? 0 : weights_row_,
                                  values_.panels.row_bytes(), values_.panels.padded() * sizeof(int32_t), sizeof(float)});
    const size_t most = size(most_rows(*kernels_.integer, keys_.panels.form()));
    blocks_ = ceil_div(size(a_.queries), std::clamp(context.device().l2 / 2 / of_row, most, 4 * most));
    const size_t threads = size(context.device().threads), all = size(a_.batch * a_.q_heads);
    if (all * blocks_ % threads != 0 && size(a_.queries) / (blocks_ * threads) >= most / 2) blocks_ *= threads;
    rows_ = ceil_div(size(a_.queries), blocks_);
    // Rows of queries, of weights, sums, and a row of the mask.
    query_bytes_ = align_up(product_of({rows_, keys_.panels.row_bytes()}));
    weight_bytes_ = align_up(product_of({rows_, weights_row_}) + kSlack);
    arranged_bytes_ = in_place_ ? 0 : align_up(product_of({rows_, values_.panels.row_bytes()}));
    sum_bytes_ = align_up(product_of({rows_, std::max(keys_.panels.padded(), values_.panels.padded()), sizeof(int32_t)}));
    units_.reserve(
        context, all * blocks_,
        sum_of({query_bytes_, weight_bytes_, arranged_bytes_, sum_bytes_, rows_ * sizeof(float), keys_.panels.padded() * sizeof(float)}) /
            sizeof(float));
  }

  /// Where the rows of a head begin, and the bytes from one to the next.
  struct Rows {
    size_t at, stride;
  };
  Rows rows_of(size_t head, int64_t heads, int64_t length, int64_t width) const noexcept {
    const size_t of_head = size(width), b = head / size(heads), h = head % size(heads);
    if (a_.packed) return {(b * size(length) * size(heads) + h) * of_head, size(heads) * of_head};
    return {head * size(length) * of_head, of_head};
  }

  void pack(RunContext& context, const Side& side, Input input, size_t head, int64_t width, size_t pair) const noexcept {
    const BytePanels& panels = side.panels;
    uint8_t* const panel = context.scratch_at<uint8_t>(side.panels_at) + head * panels.bytes() + pair * panels.panel_bytes();
    int32_t* const bias = context.scratch_at<int32_t>(side.biases_at) + head * panels.padded() + pair * panels.columns();
    const Rows rows = rows_of(head, a_.kv_heads, a_.added, width);
    const uint8_t* const from = context.in<uint8_t>(input) + rows.at;
    if (input == kKey)
      panels.pack(from, 1, rows.stride, side.zero, pair, panel);
    else
      panels.pack(from, rows.stride, 1, side.zero, pair, panel);
    if (side.left_zero == 0) {
      std::fill_n(bias, panels.columns(), 0);
      return;
    }
    panels.sum_terms(panel, bias);
    for (size_t i = 0; i < panels.columns(); ++i) bias[i] *= -side.left_zero;
  }

  /// The sums of `rows` arranged rows and the first panels of a head, over the first terms, in whole vectors.
  void multiply(RunContext& context, const Side& side, size_t head, const uint8_t* rows, size_t count, size_t panels_used, size_t terms,
                int32_t* sums) const noexcept {
    const BytePanels& panels = side.panels;
    const IntegerTiles tiles(*kernels_.integer, kernels_.lanes, panels.form());
    IntegerTile t = panels.tile(count);
    t.groups = std::min(t.groups, groups_of(panels.form(), terms));
    t.raw = true;
    t.vector_stride = static_cast<ptrdiff_t>(kernels_.lanes * sizeof(int32_t));
    const uint8_t* const panel = context.scratch_at<uint8_t>(side.panels_at) + head * panels.bytes();
    const int32_t* const biases = context.scratch_at<int32_t>(side.biases_at) + head * panels.padded();
    for (size_t pair = 0; pair < panels_used; ++pair) {
      t.w = panel + pair * panels.panel_bytes();
      t.bias = biases + pair * panels.columns();
      panels.multiply(t, tiles, rows, count, reinterpret_cast<uint8_t*>(sums + pair * panels.columns()), panels.padded() * sizeof(int32_t));
    }
  }

  void attend(RunContext& context, size_t head, size_t block, float* scratch) const noexcept {
    const size_t first = share(size(a_.queries), blocks_, block), rows = share(size(a_.queries), blocks_, block + 1) - first;
    const size_t batch = head / size(a_.q_heads), of_batch = head % size(a_.q_heads);
    const size_t shared = batch * size(a_.kv_heads) + of_batch / size(a_.group());
    uint8_t* const queries = reinterpret_cast<uint8_t*>(scratch);
    uint8_t* const weights = queries + query_bytes_;
    uint8_t* const arranged = in_place_ ? weights : weights + weight_bytes_;
    int32_t* const sums = reinterpret_cast<int32_t*>(weights + weight_bytes_ + arranged_bytes_);
    int32_t* const totals = sums + sum_bytes_ / sizeof(int32_t);
    float* const mask_row = reinterpret_cast<float*>(totals + rows_);

    const Rows from = rows_of(head, a_.q_heads, a_.queries, a_.head);
    keys_.panels.arrange({context.in<uint8_t>(kQuery) + from.at + first * from.stride, query_.is_signed, query_.zero_point}, from.stride,
                         rows, queries);
    Stop stop;
    const size_t keys = mask_.seen_by(first + rows - 1);  // the last query sees most
    if (stop.after(rows * keys * size(a_.head) / 2)) return;
    multiply(context, keys_, shared, queries, rows, ceil_div(keys, keys_.panels.columns()), size(a_.head), sums);
    const size_t padded = keys_.panels.padded();
    for (size_t r = 0; r < rows; ++r) {
      uint8_t* const to = weights + r * weights_row_;
      const size_t seen = mask_.seen_by(first + r), vectors = ceil_div(seen, kernels_.lanes) * kernels_.lanes;
      if (stop.after(seen)) return;
      totals[r] = static_cast<int32_t>(
          kernels_.attention->weigh({sums + r * padded, seen, factor_, mask_.row(context, batch, of_batch, first + r, mask_row)}, to));
      if (vectors < size(a_.keys())) std::fill(to + vectors, to + size(a_.keys()), uint8_t{0});
    }
    if (!in_place_) values_.panels.arrange({weights, false, 0}, weights_row_, rows, arranged);
    if (stop.after(rows * keys * size(a_.v_head) / 2)) return;
    // Biases count all keys: those that no query sees have to be there where weights have an offset.
    multiply(context, values_, shared, arranged, rows, values_.panels.pairs(), values_.left_zero == 0 ? keys : size(a_.keys()), sums);

    const Rows result = rows_of(head, a_.q_heads, a_.queries, a_.v_head);
    const size_t place = quantizes_ ? 1 : sizeof(float), v_head = size(a_.v_head);
    uint8_t* y = context.out<uint8_t>(0) + (result.at + first * result.stride) * place;
    const int32_t rest = values_.panels.rest_of(values_.zero);
    for (size_t r = 0; r < rows; ++r, y += result.stride * place) {
      const int32_t* const of_row = sums + r * values_.panels.padded();
      float* const reals = reinterpret_cast<float*>(sums + r * values_.panels.padded());
      kernels_.attention->scale_sums(of_row, v_head, rest * totals[r], totals[r] > 0 ? value_scale_ / static_cast<float>(totals[r]) : 0,
                                     reals);
      if (quantizes_)
        kernels_.integer->quantize(reals, v_head, scale_, zero_, is_signed_, y);
      else
        std::copy_n(reals, v_head, reinterpret_cast<float*>(y));
    }
  }

  static constexpr size_t kSlack = 64;  // behind the last row
  const AttentionGeometry a_;
  const AttentionMask mask_;
  const Kernels& kernels_;
  const ByteSource query_;
  Side keys_, values_;
  const float factor_, value_scale_;
  const bool quantizes_;
  float scale_ = 1;  // of the result, its zero point and sign
  int32_t zero_ = 0;
  bool is_signed_ = false, in_place_ = false;
  size_t weights_row_ = 0, query_bytes_ = 0, weight_bytes_ = 0, arranged_bytes_ = 0, sum_bytes_ = 0;
  size_t rows_ = 0, blocks_ = 1;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<QuantizedAttentionKernel>(context); }

constexpr Scheme kSchemes[] = {{kQuantizedAttention, "attention.bytes", estimate, prepare}};

}  // namespace

std::span<const Scheme> quantized_attention_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Attention in one pass. For a block of queries of one head, the scores stay in the second-level cache from the product with the keys over
// softmax to the product with the values. Keys and values are packed into panels once per head. Products are in f32, or the factors of both
// are rounded to pairs of bf16, or those of the product with the values to pairs of f16. (Scores summed in f16 would have errors of 0.01 at
// values of ten, and softmax would keep these errors.) Softmax is computed in f32. A few queries, as decoders have, read keys and values
// where they lie: packing them would take longer than the products (64 keys of 12 heads, one query: 150 -> 20 us, Zen 3, 2026-11-28).
#include "graph/attention.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/attention_mask.h"
#include "backends/cpu/schemes/low_precision.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kUsedKeys };
enum Output : size_t { kResult, kPresentKey, kPresentValue, kScores };
constexpr size_t kPair = 2;  // vectors of a panel
constexpr ptrdiff_t kNoTaps = 0;
constexpr int64_t kFewQueries = kSmall ? 0 : 4;

size_t size(int64_t value) { return static_cast<size_t>(value); }

Estimate estimate_as(const NodeView& node, const Device& device, Factors factors) {
  for (size_t i : {kQuery, kKey, kValue, kPastKey, kPastValue})
    if (node.has_input(i) && node.input_dtype(i) != DType::f32)
      return declined("the dtype of input {} is {}, not f32", i, node.input_dtype(i));
  if (node.has_input(kMask) && node.input_dtype(kMask) != DType::f32 && node.input_dtype(kMask) != DType::boolean)
    return declined("the dtype of the mask is {}", node.input_dtype(kMask));
  if (node.has_input(kUsedKeys)) return declined("the number of keys depends on the data");
  if (node.output_count() > kScores && node.has_output(kScores)) return declined("the scores are wanted");
  const AttentionGeometry a = AttentionGeometry::of(node);
  if (a.softcap != 0) return declined("the scores are capped");
  if (const int64_t* precision = node.find<int64_t>("softmax_precision"); precision && *precision != static_cast<int64_t>(DType::f32))
    return declined("softmax is wanted in another precision");
  if (a.output_shape().elements() == 0 || a.keys() == 0 || a.head == 0) return declined("a tensor is empty");
  const bool few = a.queries <= kFewQueries;
  if (few && factors != Factors::f32) return declined("a few queries read keys and values where they lie");
  const Kernels& kernels = *cpu_device(device).kernels;
  if (Estimate refusal = refusal_of(factors, node, device, {}); !refusal.declined.empty()) return refusal;
  if (factors == Factors::bf16 && low_precision_kernels(factors, kernels) == &kernels.bf16->widening)
    return unavailable("this machine has no products of bf16");
  const double scores = static_cast<double>(a.scores_shape().elements());
  double bytes = 0;
  for (size_t i : {kQuery, kKey, kValue, kPastKey, kPastValue})
    if (node.has_input(i)) bytes += 8 * static_cast<double>(node.input_shape(i).elements());
  if (few)
    return Estimate(device.flop_time(2 * scores * static_cast<double>(a.head + a.v_head), 0.3) + device.flop_time(scores * 80) +
                    device.byte_time(bytes / 2) + 1e-6);
  const double speed = 0.75 * speed_of(factors, kernels);
  return Estimate(device.flop_time(2 * scores * static_cast<double>(a.head), factors == Factors::f16 ? 0.75 : speed) +
                  device.flop_time(2 * scores * static_cast<double>(a.v_head), speed) + device.flop_time(scores * 80) +
                  device.byte_time(bytes) + 1e-6);
}
template <Factors kFactors>
Estimate estimate(const NodeView& node, const Device& device) {
  return estimate_as(node, device, kFactors);
}

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(PrepareContext& context, Factors factors)
      : a_(AttentionGeometry::of(context.node())),
        mask_(context.node(), a_, kMask),
        kernels_(*cpu_device(context.device()).kernels),
        key_low_precision_(factors == Factors::f16 ? nullptr : low_precision_kernels(factors, kernels_)),
        value_low_precision_(low_precision_kernels(factors, kernels_)),
        lanes_(kernels_.lanes) {
    keys_ = size(a_.keys()), head_ = size(a_.head), v_head_ = size(a_.v_head), queries_ = size(a_.queries);
    key_vectors_ = ceil_div(keys_, lanes_), value_vectors_ = ceil_div(v_head_, lanes_);
    // A block's scores take at most a third of the second-level cache. With few heads per thread there are more blocks. If later keys are
    // ignored, sums depend on the block size, so it must not depend on the number of threads then.
    const size_t most = size(tile_of(value_low_precision_).rows[kPair]), threads = size(context.device().threads),
                 all_heads = size(a_.batch * a_.q_heads);
    rows_ = std::clamp(context.device().l2 / 3 / sizeof(float) / std::max<size_t>(1, key_vectors_ * lanes_), most, 5 * most);
    blocks_ = ceil_div(queries_, rows_);
    const size_t even = threads / std::gcd(threads, all_heads);  // gives every thread as much
    if (mask_.seen_by(0) == keys_ && all_heads * blocks_ % threads != 0 && queries_ / even >= most / 2)
      blocks_ = ceil_div(blocks_, even) * even;
    rows_ = ceil_div(queries_, blocks_);
    const size_t heads = size(a_.batch * a_.kv_heads);
    key_floats_ = product_of({key_vectors_, lanes_, head_}), value_floats_ = product_of({value_vectors_, lanes_, keys_});
    few_ = a_.queries <= kFewQueries;
    if (!few_) {
      keys_offset_ = context.reserve_scratch(product_of({heads, key_floats_, sizeof(float)}));
      values_offset_ = context.reserve_scratch(product_of({heads, value_floats_, sizeof(float)}));
    }
    const size_t row_floats = key_vectors_ * lanes_;
    if (few_) {
      units_.reserve(context, size(a_.batch * a_.q_heads), product_of({2, row_floats}));
      return;
    }
    const size_t spare = value_low_precision_ && value_low_precision_->parts > 1 ? 1 : 0;
    units_.reserve(context, size(a_.batch * a_.q_heads) * blocks_,
                   sum_of({product_of({rows_, ceil_div(head_, lanes_) * lanes_ + row_floats + (kPair + spare) * lanes_}), row_floats}));
  }

  void run(RunContext& context) const noexcept override {
    if (kFewQueries && few_) return units_.run(context, [&](size_t head, float* scratch) { attend_in_place(context, head, scratch); });
    const size_t parts = ceil_div(key_vectors_, kPair) + ceil_div(value_vectors_, kPair);
    context.parallel_for(size(a_.batch * a_.kv_heads) * parts, [&](size_t task) { pack(context, task / parts, task % parts); });
    units_.run(context, [&](size_t unit, float* scratch) { attend(context, unit / blocks_, unit % blocks_, scratch); });
  }

 private:
  /// Rows of one head: `width` floats each, `stride` apart.
  struct Rows {
    const float* data;
    size_t stride;
  };
  Rows rows_of(const float* data, int64_t head, int64_t heads, int64_t length, int64_t width) const noexcept {
    const int64_t b = head / heads, h = head % heads;
    if (a_.packed) return {data + (b * length * heads + h) * width, size(heads * width)};
    return {data + head * length * width, size(width)};
  }

  /// The keys or values of a head: `past` rows from the cache, then those of this run.
  struct Cached {
    const float* past;
    Rows added;
  };
  Cached keys_of(RunContext& context, size_t head) const noexcept {
    return {context.has_input(kPastKey) ? context.in<float>(kPastKey) + head * size(a_.past) * head_ : nullptr,
            rows_of(context.in<float>(kKey), static_cast<int64_t>(head), a_.kv_heads, a_.added, a_.head)};
  }
  Cached values_of(RunContext& context, size_t head) const noexcept {
    return {context.has_input(kPastValue) ? context.in<float>(kPastValue) + head * size(a_.past) * v_head_ : nullptr,
            rows_of(context.in<float>(kValue), static_cast<int64_t>(head), a_.kv_heads, a_.added, a_.v_head)};
  }

  /// Writes a head's keys or values to that output, if it is wanted.
  void keep(RunContext& context, Output output, size_t head, const Cached& from, size_t width) const noexcept {
    if (!context.has_output(output)) return;
    const size_t past = size(a_.past), added = size(a_.added);
    float* to = context.out<float>(output) + head * keys_ * width;
    if (from.past) std::memcpy(to, from.past, past * width * sizeof(float));
    for (size_t i = 0; i < added; ++i) std::memcpy(to + (past + i) * width, from.added.data + i * from.added.stride, width * sizeof(float));
  }

  // A panel of keys [head][lanes of the panel] with the scale, or of values [key][lanes of the panel], filled up with zeros.
  void pack(RunContext& context, size_t head, size_t part) const noexcept {
    float* key_panels = context.scratch_at<float>(keys_offset_) + head * key_floats_;
    float* value_panels = context.scratch_at<float>(values_offset_) + head * value_floats_;
    const size_t past = size(a_.past);
    const auto [past_k, k] = keys_of(context, head);
    const auto [past_v, v] = values_of(context, head);
    if (part == 0) {
      keep(context, kPresentKey, head, {past_k, k}, head_);
      keep(context, kPresentValue, head, {past_v, v}, v_head_);
    }

    const size_t key_parts = ceil_div(key_vectors_, kPair);
    if (part < key_parts) {
      const float scale = static_cast<float>(a_.scale);
      const size_t vector = part * kPair;
      const size_t lanes = std::min(kPair, key_vectors_ - vector) * lanes_, first = vector * lanes_, last = std::min(keys_, first + lanes);
      float* out = key_panels + first * head_;
      const size_t old = std::clamp(past, first, last);  // keys [first, old) come from the cache
      if (last < first + lanes)
        for (size_t i = 0; i < head_; ++i) std::fill(out + i * lanes + last - first, out + (i + 1) * lanes, 0.0f);
      if (old > first) kernels_.layout->transpose(past_k + first * head_, head_, old - first, head_, out, lanes);
      if (last > old) kernels_.layout->transpose(k.data + (old - past) * k.stride, k.stride, last - old, head_, out + old - first, lanes);
      (*kernels_.unary)[Unary::scale](out, out, head_ * lanes, scale, 0);
      round_panel(key_low_precision_, out, head_, lanes);
    } else {
      const size_t vector = (part - key_parts) * kPair;
      const size_t lanes = std::min(kPair, value_vectors_ - vector) * lanes_, column = vector * lanes_;
      const size_t columns = std::min(lanes, v_head_ - column);
      float* const panel = value_panels + column * keys_;
      float* out = panel;
      for (size_t i = 0; i < keys_; ++i, out += lanes) {
        const float* row = i < past ? past_v + i * v_head_ : v.data + (i - past) * v.stride;
        std::memcpy(out, row + column, columns * sizeof(float));
        std::fill(out + columns, out + lanes, 0.0f);
      }
      round_panel(value_low_precision_, panel, keys_, lanes);
    }
  }

  // Two neighbouring rows of a panel become one of pairs, in place; nothing in f32.
  void round_panel(const LowPrecisionKernels* low_precision, float* panel, size_t depth, size_t lanes) const noexcept {
    if (!low_precision) return;
    if (low_precision->divisor != 1) (*kernels_.unary)[Unary::scale](panel, panel, depth * lanes, low_precision->divisor, 0);
    for (size_t i = 0; i < depth; i += 2)
      low_precision->pack_planes(panel + i * lanes, i + 1 < depth ? panel + (i + 1) * lanes : nullptr, lanes, panel + i / 2 * lanes);
    low_precision->arrange_whole(panel, factors(low_precision, depth), lanes / lanes_, lanes_);
  }
  // The same of the left factor [depth / lanes][rows][lanes]; channels from `depth` on become zero. `spare`: room for [rows][lanes] where
  // the planes of pairs are in parts.
  void round_rows(const LowPrecisionKernels* low_precision, float* x, size_t rows, size_t depth, float* spare) const noexcept {
    if (!low_precision) return;
    const size_t plane = rows * lanes_;
    for (size_t i = 0; i * lanes_ < depth; i += 2) {
      float* to = i == 0 && low_precision->parts > 1 ? spare : x + i / 2 * plane;
      low_precision->pack_pixels(x + i * plane, (i + 1) * lanes_ < depth ? x + (i + 1) * plane : nullptr, rows, depth - i * lanes_, to);
      if (to == spare) std::memcpy(x, spare, plane * sizeof(float));
    }
  }
  static size_t factors(const LowPrecisionKernels* low_precision, size_t depth) noexcept {
    return low_precision ? ceil_div(depth, 2) : depth;
  }
  // The factors for the first `seen` keys, where the weights were arranged for all: whole vectors of pairs, the left factor being zero
  // beyond.
  size_t seen_factors(size_t seen) const noexcept {
    const size_t all = factors(value_low_precision_, keys_), wanted = factors(value_low_precision_, seen);
    return value_low_precision_ && value_low_precision_->arrange ? std::min(ceil_div(wanted, lanes_) * lanes_, all) : wanted;
  }

  // y[row][n] = sum over k of x[row][k] w[k][n] for a panel of some vectors; x is [k / lanes][rows][lanes].
  void multiply(RunContext& context, const LowPrecisionKernels* low_precision, const float* x, size_t rows, size_t depth, const float* w,
                size_t vectors, float* y, size_t row_stride, size_t vector_stride) const noexcept {
    Tile t;
    t.overflowed = &context.overflowed;
    t.taps = &kNoTaps;
    t.blocks = depth / lanes_;
    t.rest = depth % lanes_;
    t.block_stride = static_cast<ptrdiff_t>(rows * lanes_);
    t.pixel_stride = static_cast<ptrdiff_t>(row_stride);
    t.vector_stride = static_cast<ptrdiff_t>(vector_stride);
    t.w = w;
    const TileKernels& kernels = tile_of(low_precision);
    const size_t tiles = ceil_div(rows, size(kernels.rows[vectors])), pixel = lanes_ / (low_precision ? low_precision->parts : 1);
    for (size_t i = 0; i < tiles; ++i) {
      const size_t first = share(rows, tiles, i), count = share(rows, tiles, i + 1) - first, half = (count + 1) / 2;
      t.x[0] = x + first * pixel;
      t.x[1] = t.x[0] + half * pixel;
      t.y[0] = y + first * row_stride;
      t.y[1] = t.y[0] + half * row_stride;
      kernels.packed[vectors][count](t);
    }
  }

  void attend(RunContext& context, size_t head, size_t block, float* scratch) const noexcept {
    const size_t first = share(queries_, blocks_, block), rows = share(queries_, blocks_, block + 1) - first;
    const size_t batch = head / size(a_.q_heads), shared = batch * size(a_.kv_heads) + head % size(a_.q_heads) / size(a_.group());
    float* q = scratch;
    float* scores = q + rows_ * ceil_div(head_, lanes_) * lanes_;
    float* mask_row = scores + rows_ * key_vectors_ * lanes_;
    float* edge = mask_row + key_vectors_ * lanes_;
    float* spare = edge + rows_ * kPair * lanes_;
    const Rows from = rows_of(context.in<float>(kQuery), static_cast<int64_t>(head), a_.q_heads, a_.queries, a_.head);
    for (size_t i = 0; i < head_; i += lanes_)
      for (size_t r = 0; r < rows; ++r)
        std::memcpy(q + (i / lanes_ * rows + r) * lanes_, from.data + (first + r) * from.stride + i,
                    std::min(lanes_, head_ - i) * sizeof(float));
    round_rows(key_low_precision_, q, rows, head_, spare);

    const float* key_panels = context.scratch_at<float>(keys_offset_) + shared * key_floats_;
    const size_t seen = mask_.seen_by(first + rows - 1);
    Stop stop;
    for (size_t vector = 0; vector * lanes_ < seen && !stop.after(rows * head_ * kPair); vector += kPair)
      multiply(context, key_low_precision_, q, rows, factors(key_low_precision_, head_), key_panels + vector * lanes_ * head_,
               std::min(kPair, key_vectors_ - vector), scores + vector * rows * lanes_, lanes_, rows * lanes_);

    for (size_t r = 0; r < rows; ++r) {
      if (stop.after(seen)) return;
      const ScoreRow row{scores + r * lanes_, rows * lanes_, mask_.seen_by(first + r),
                         mask_.row(context, batch, head % size(a_.q_heads), first + r, mask_row)};
      kernels_.attention->softmax(row);
      for (size_t vector = ceil_div(row.count, lanes_); vector * lanes_ < seen; ++vector)
        std::fill_n(scores + (vector * rows + r) * lanes_, lanes_, 0.0f);
    }

    round_rows(value_low_precision_, scores, rows, seen, spare);

    const float* value_panels = context.scratch_at<float>(values_offset_) + shared * value_floats_;
    const size_t stride = a_.packed ? size(a_.q_heads) * v_head_ : v_head_;
    float* y = context.out<float>(kResult) +
               (a_.packed ? (batch * queries_ + first) * stride + head % size(a_.q_heads) * v_head_ : (head * queries_ + first) * v_head_);
    for (size_t vector = 0; vector < value_vectors_; vector += kPair) {
      const size_t vectors = std::min(kPair, value_vectors_ - vector), column = vector * lanes_;
      const float* w = value_panels + column * keys_;
      if (stop.after(rows * seen)) return;
      if (column + vectors * lanes_ <= v_head_) {
        multiply(context, value_low_precision_, scores, rows, seen_factors(seen), w, vectors, y + column, stride, lanes_);
        continue;
      }
      // The last columns go through a buffer of whole vectors.
      multiply(context, value_low_precision_, scores, rows, seen_factors(seen), w, vectors, edge, vectors * lanes_, lanes_);
      for (size_t r = 0; r < rows; ++r)
        std::memcpy(y + r * stride + column, edge + r * vectors * lanes_, (v_head_ - column) * sizeof(float));
    }
  }

  // All queries of a head, one after the other, without panels. `scratch`: scores and a row of the mask.
  void attend_in_place(RunContext& context, size_t head, float* scratch) const noexcept {
    const size_t batch = head / size(a_.q_heads), of_batch = head % size(a_.q_heads), past = size(a_.past);
    const size_t shared = batch * size(a_.kv_heads) + of_batch / size(a_.group());
    const Cached keys = keys_of(context, shared), values = values_of(context, shared);
    if (of_batch % size(a_.group()) == 0) {
      keep(context, kPresentKey, shared, keys, head_);
      keep(context, kPresentValue, shared, values, v_head_);
    }
    const Rows q = rows_of(context.in<float>(kQuery), static_cast<int64_t>(head), a_.q_heads, a_.queries, a_.head);
    const size_t stride = a_.packed ? size(a_.q_heads) * v_head_ : v_head_;
    float* y = context.out<float>(kResult) + (a_.packed ? batch * queries_ * stride + of_batch * v_head_ : head * queries_ * v_head_);
    const float scale = static_cast<float>(a_.scale);
    const AttentionKernels& kernels = *kernels_.attention;
    Stop stop;
    for (size_t i = 0; i < queries_; ++i, y += stride) {
      const size_t seen = mask_.seen_by(i), old = std::min(seen, past);
      if (stop.after(seen * (head_ + v_head_))) return;
      const float* query = q.data + i * q.stride;
      kernels.multiply_rows(query, keys.past, head_, old, head_, scale, scratch);
      kernels.multiply_rows(query, keys.added.data, keys.added.stride, seen - old, head_, scale, scratch + old);
      kernels.softmax({scratch, lanes_, seen, mask_.row(context, batch, of_batch, i, scratch + key_vectors_ * lanes_)});
      std::fill_n(y, v_head_, 0.0F);
      kernels.add_rows(scratch, values.past, v_head_, old, v_head_, y);
      kernels.add_rows(scratch + old, values.added.data, values.added.stride, seen - old, v_head_, y);
    }
  }

  const TileKernels& tile_of(const LowPrecisionKernels* low_precision) const noexcept {
    return low_precision ? low_precision->tile : *kernels_.tile;
  }

  AttentionGeometry a_;
  AttentionMask mask_;
  const Kernels& kernels_;
  const LowPrecisionKernels *key_low_precision_, *value_low_precision_;  // null: f32
  size_t lanes_, keys_ = 0, head_ = 0, v_head_ = 0, queries_ = 0, key_vectors_ = 0, value_vectors_ = 0;
  size_t rows_ = 0, blocks_ = 1;  // queries of one block, at most; blocks of one head
  size_t key_floats_ = 0, value_floats_ = 0, keys_offset_ = 0, values_offset_ = 0;
  bool few_ = false;
  Units units_;
};

template <Factors kFactors>
std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  return std::make_unique<AttentionKernel>(context, kFactors);
}

constexpr Scheme kSchemes[] = {
    {"Attention", "attention", estimate<Factors::f32>, prepare<Factors::f32>},
    {"Attention", "attention.bf16", estimate<Factors::bf16>, prepare<Factors::bf16>, kLargeOnly},
    {"Attention", "attention.f16", estimate<Factors::f16>, prepare<Factors::f16>, kLargeOnly},
};

}  // namespace

std::span<const Scheme> attention_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

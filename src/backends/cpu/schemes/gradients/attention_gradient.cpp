// SPDX-License-Identifier: Apache-2.0
// The gradient of attention (Dao et al. 2022, arXiv:2205.14135, algorithm 4). For a block of queries of one head the weights are computed
// again; they and their gradients stay in the second-level cache for all five products, so that no tensor of all scores is made. The
// gradients of keys and values add up from block to block.
#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/attention_mask.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {

namespace {

enum Input : size_t { kQuery, kKey, kValue, kMask, kGradient = 7 };
enum Output : size_t { kOfQuery, kOfKey, kOfValue };

size_t size(int64_t value) { return static_cast<size_t>(value); }

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(kQuery) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(kQuery));
  if (node.has_input(kMask) && node.input_dtype(kMask) != DType::f32 && node.input_dtype(kMask) != DType::boolean)
    return declined("the dtype of the mask is {}", node.input_dtype(kMask));
  const AttentionGeometry a = AttentionGeometry::of(node);
  if (a.output_shape().elements() == 0 || a.keys() == 0 || a.head == 0) return declined("a tensor is empty");
  const double scores = static_cast<double>(a.scores_shape().elements());
  double bytes = 0;
  for (size_t i : {kQuery, kKey, kValue, kGradient}) bytes += 8 * static_cast<double>(node.input_shape(i).elements());
  return Estimate(device.flop_time(2 * scores * static_cast<double>(3 * a.head + 2 * a.v_head), 0.75) + device.flop_time(scores * 100) +
                  device.byte_time(bytes) + 1e-6);
}

/// One product for blocks of a number of queries.
struct Product {
  MatMul matmul;

  Product(const Kernels& kernels, size_t l2, const MatMul::Shape& shape)
      : matmul(kernels, shape, {.threads = 1, .l2 = l2, .depth = SIZE_MAX}, {}) {}
  void pack(const float* b, float factor, float* to) const noexcept {
    for (size_t panel = 0; panel < matmul.panels(); ++panel) matmul.pack_b(panel, b, factor, to);
  }
  /// y = a b, or y += a b.
  void run(const float* a, const float* b, bool adds, float* y, float* scratch) const noexcept {
    for (size_t unit = 0; unit < matmul.units(); ++unit) matmul.run(unit, {a, b, nullptr, adds ? y : nullptr, y}, scratch);
  }
};

struct Products {
  Product scores, of_weights, of_query, of_key, of_value;

  Products(const Kernels& kernels, size_t l2, size_t rows, size_t keys, size_t head, size_t v_head)
      : scores(kernels, l2, {rows, head, keys, false, true}),
        of_weights(kernels, l2, {rows, v_head, keys, false, true}),
        of_query(kernels, l2, {rows, keys, head}),
        of_key(kernels, l2, {keys, rows, head, true}),
        of_value(kernels, l2, {keys, rows, v_head, true}) {}
  size_t scratch_floats() const noexcept {
    size_t most = 0;
    for (const Product* each : {&scores, &of_weights, &of_query, &of_key, &of_value}) most = std::max(most, each->matmul.scratch_floats());
    return most;
  }
};

class AttentionGradientKernel final : public Kernel {
 public:
  explicit AttentionGradientKernel(PrepareContext& context)
      : a_(AttentionGeometry::of(context.node())), mask_(context.node(), a_, kMask), kernels_(*cpu_device(context.device()).kernels) {
    keys_ = size(a_.keys()), head_ = size(a_.head), v_head_ = size(a_.v_head), queries_ = size(a_.queries);
    // The weights of a block and their gradients take half of the second-level cache. The number of threads does not matter: sums depend on
    // the blocks.
    const size_t l2 = context.device().l2;
    rows_ = std::min(queries_, std::clamp<size_t>(l2 / 4 / sizeof(float) / keys_, 32, 192));
    whole_.emplace(kernels_, l2, rows_, keys_, head_, v_head_);
    if (queries_ % rows_) last_.emplace(kernels_, l2, queries_ % rows_, keys_, head_, v_head_);
    const size_t sizes[] = {whole_->scores.matmul.packed_b_floats(),
                            whole_->of_weights.matmul.packed_b_floats(),
                            whole_->of_query.matmul.packed_b_floats(),
                            std::max(whole_->of_key.matmul.packed_b_floats(), whole_->of_value.matmul.packed_b_floats()),
                            rows_ * keys_,
                            rows_ * keys_,
                            (keys_ + kernels_.lanes) * 2,
                            std::max(whole_->scratch_floats(), last_ ? last_->scratch_floats() : 0)};
    size_t floats = 0;
    for (size_t i = 0; i < std::size(sizes); ++i) {
      offsets_[i] = floats;
      floats = sum_of({floats, (sizes[i] + 15) / 16 * 16});
    }
    units_.reserve(context, size(a_.batch * a_.q_heads), floats);
  }

  void run(RunContext& context) const noexcept override {
    units_.run(context, [&](size_t head, float* scratch) { one_head(context, head, scratch); });
  }

 private:
  enum Part : size_t { kTurnedKeys, kTurnedValues, kKeys, kBlock, kWeights, kOfWeights, kRow, kScratch, kParts };

  float* out(RunContext& context, Output output, size_t at) const noexcept {
    return context.has_output(output) ? context.out<float>(output) + at : nullptr;
  }

  void one_head(RunContext& context, size_t head, float* scratch) const noexcept {
    const auto part = [&](Part which) { return scratch + offsets_[which]; };
    const float *q = context.in<float>(kQuery) + head * queries_ * head_, *k = context.in<float>(kKey) + head * keys_ * head_,
                *v = context.in<float>(kValue) + head * keys_ * v_head_, *g = context.in<float>(kGradient) + head * queries_ * v_head_;
    float* const of_q = out(context, kOfQuery, head * queries_ * head_);
    float* const of_k = out(context, kOfKey, head * keys_ * head_);
    float* const of_v = out(context, kOfValue, head * keys_ * v_head_);
    const float scale = static_cast<float>(a_.scale);
    float *const weights = part(kWeights), *const changes = part(kOfWeights), *const room = part(kScratch);
    whole_->scores.pack(k, scale, part(kTurnedKeys));
    whole_->of_weights.pack(v, 1, part(kTurnedValues));
    if (of_q) whole_->of_query.pack(k, scale, part(kKeys));
    const BinaryFunction multiply = kernels_.binary->of(Binary::multiply, BinaryForm::both);
    Stop stop;
    for (size_t first = 0; first < queries_; first += rows_) {
      if (stop.after(rows_ * keys_)) return;
      const size_t rows = std::min(rows_, queries_ - first);
      const Products& products = rows == rows_ ? *whole_ : *last_;
      products.scores.run(q + first * head_, part(kTurnedKeys), false, weights, room);
      for (size_t r = 0; r < rows; ++r) weigh(context, head, first + r, weights + r * keys_, part(kRow));
      if (of_v) {
        products.of_value.pack(g + first * v_head_, 1, part(kBlock));
        products.of_value.run(weights, part(kBlock), first > 0, of_v, room);
      }
      if (!of_q && !of_k) continue;
      products.of_weights.run(g + first * v_head_, part(kTurnedValues), false, changes, room);
      for (size_t r = 0; r < rows; ++r) {
        float *const weight = weights + r * keys_, *const change = changes + r * keys_;
        const float mean = kernels_.rows->dot(weight, change, keys_);
        (*kernels_.unary)[Unary::scale](change, change, keys_, 1, -mean);
        multiply(weight, change, change, keys_);
      }
      if (of_q) products.of_query.run(changes, part(kKeys), false, of_q + first * head_, room);
      if (!of_k) continue;
      products.of_key.pack(q + first * head_, scale, part(kBlock));
      products.of_key.run(changes, part(kBlock), first > 0, of_k, room);
    }
  }

  /// The softmax of a query's scores, in a row of whole vectors that another row of numbers follows.
  void weigh(RunContext& context, size_t head, size_t query, float* scores, float* row) const noexcept {
    const size_t seen = mask_.seen_by(query), heads = size(a_.q_heads);
    std::memcpy(row, scores, seen * sizeof(float));
    kernels_.attention->softmax(
        {row, kernels_.lanes, seen, mask_.row(context, head / heads, head % heads, query, row + keys_ + kernels_.lanes)});
    std::memcpy(scores, row, seen * sizeof(float));
    std::fill(scores + seen, scores + keys_, 0.0f);
  }

  AttentionGeometry a_;
  AttentionMask mask_;
  const Kernels& kernels_;
  size_t keys_, head_, v_head_, queries_, rows_;
  std::optional<Products> whole_, last_;  // for blocks of rows_ queries, and for a shorter one
  size_t offsets_[kParts];                // in the scratch of a unit
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<AttentionGradientKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.AttentionGradient", "attention_gradient", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> attention_gradient_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

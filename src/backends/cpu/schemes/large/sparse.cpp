// SPDX-License-Identifier: Apache-2.0
// Conv, minnow.FusedConv and matrix products whose constant weights are mostly zero. Infinities and NaN that would meet a zero weight are
// not multiplied, so these outputs stay finite.
#include <map>
#include <mutex>

#include "backends/cpu/kernels/sparse_product.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {
namespace {

constexpr size_t kHeights = std::size(kSparseHeights);
constexpr double kFewestZeros = 0.3;  // with fewer, dense schemes are always faster

struct Terms {
  size_t of[kHeights] = {};  // blocks of each height with a weight other than zero; all 0: weights are dense
};

// At a few places.
bool looks_dense(const Tensor& weights) {
  constexpr size_t kSamples = 64;
  const size_t elements = static_cast<size_t>(weights.elements());
  if (elements == 0) return true;
  const float* w = weights.data<float>();
  size_t zeros = 0, seed = 12345;
  for (size_t i = 0; i < kSamples; ++i) {
    seed = seed * 1103515245 + 12345;
    zeros += w[share(elements, kSamples, i) + (seed >> 8) % std::max<size_t>(1, elements / kSamples)] == 0;
  }
  return zeros < kSamples / 8;
}

Terms count(const Tensor& tensor, const ConvShape& shape, const SparseWeights& weights) {
  Terms terms;
  if (looks_dense(tensor)) return terms;
  terms.of[0] = SparseProduct::count_terms(shape, weights, 0);
  const double all = static_cast<double>(tensor.elements());
  if (static_cast<double>(terms.of[0]) > (1 - kFewestZeros) * all) return Terms{};
  for (size_t i = 1; i < kHeights; ++i) terms.of[i] = SparseProduct::count_terms(shape, weights, i);
  if (terms.of[0] == 0) std::fill(std::begin(terms.of), std::end(terms.of), 1);  // all zero
  return terms;
}

// Estimates are asked for often; a weight is counted once while its owner lives.
Terms terms_of(const Tensor& tensor, const ConvShape& shape, const SparseWeights& weights) {
  struct Known {
    std::weak_ptr<const void> owner;
    Terms terms;
  };
  static std::mutex mutex;
  static std::map<std::pair<const void*, std::array<size_t, 4>>, Known> known;
  if (!tensor.owner()) return count(tensor, shape, weights);
  const std::pair key(tensor.data(), std::array{shape.in_channels, shape.out_channels, shape.taps(), weights.output});
  const auto is_dead = [](const auto& row) { return row.second.owner.expired(); };
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end() && !found->second.owner.owner_before(tensor.owner()) && !tensor.owner().owner_before(found->second.owner))
      return found->second.terms;
  }
  const Terms terms = count(tensor, shape, weights);
  const std::lock_guard lock(mutex);
  if (known.size() % 256 == 255) std::erase_if(known, is_dead);
  known[key] = {tensor.owner(), terms};
  return terms;
}

struct Choice {
  double seconds = std::numeric_limits<double>::infinity();
  size_t height = 0, terms = 0;
};

SparseProduct::Options options_of(const Device& device, bool matrices, size_t height) {
  return {height, matrices, static_cast<size_t>(device.threads), device.l1, device.l2};
}

// Measured on Zen 3 (AVX2, 2026-11-28): blocks of four outputs keep multipliers busy three quarters of the time, single outputs wait for
// pixels from L1 and L2 two thirds of it.
double seconds_of(const Device& device, const ConvShape& shape, const Terms& terms, bool matrices, size_t height) {
  constexpr double kEfficiency[kHeights] = {0.33, 0.75};
  const Kernels& kernels = *cpu_device(device).kernels;
  const double lanes = static_cast<double>(kernels.lanes), outputs = static_cast<double>(shape.out_channels);
  const bool few = matrices && 2 * shape.out_w <= kernels.lanes;
  const SparseProduct product(kernels, shape, options_of(device, matrices, height), {});
  const double rows = static_cast<double>(kSparseHeights[height]), count = static_cast<double>(terms.of[height]);
  // Beside its products, a tile begins and ends the sums of each block: about as long as six terms take.
  const double multiplied = product.vectors() * rows * count + 6 * product.tiles() * outputs;
  const double compute = few ? device.flop_time(2 * product.vectors() * (rows * count + 2 * outputs), height ? 0.2 : 0.06)
                             : device.flop_time(2 * multiplied * lanes, kEfficiency[height]);
  const double turned = product.turned() * static_cast<double>(product.chunks()) + (few ? 0 : product.vectors() * lanes * outputs);
  const double turns = device.flop_time(20 * turned), weights = device.weight_time(4 * (rows + 1) * count);
  return std::max(compute + turns, weights) + 0.25 * std::min(compute, weights) + 1e-6;
}

// The faster height, whatever the number of threads: sums of a few rows are added in another order.
Choice choose(const Device& device, const ConvShape& shape, const Terms& terms, bool matrices) {
  CpuDevice one = cpu_device(device);
  one.threads = 1;
  Choice best;
  for (size_t height = 0; height < kHeights; ++height)
    if (const double seconds = seconds_of(one, shape, terms, matrices, height); seconds < best.seconds)
      best = {seconds, height, terms.of[height]};
  best.seconds = seconds_of(device, shape, terms, matrices, best.height);
  return best;
}

// Whether a packed form takes more memory than the weights.
bool takes_more(const Choice& choice, const Tensor& weights) {
  return static_cast<double>(choice.terms) * static_cast<double>(kSparseHeights[choice.height] + 1) >
         static_cast<double>(weights.elements());
}

bool offsets_fit(const ConvShape& s) { return s.in_channels <= UINT32_MAX / 4 / std::max<size_t>(1, (s.in_h + 64) * (s.in_w + 64)); }

Choice choose_conv(const NodeView& node, const Device& device) {
  const ConvShape s = conv_shape(node);
  const Tensor& w = node.contents(1);
  return choose(device, s, terms_of(w, s, {w.data<float>(), s.in_channels * s.taps(), s.taps()}), false);
}

Estimate estimate_conv(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of_conv(node, {.scales = true}); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (s.groups != 1) return declined("there are {} groups", s.groups);
  const size_t lanes = static_cast<size_t>(device.pack);
  if (s.in_channels < lanes || s.out_channels < lanes) return declined("there are fewer channels than the {} of a vector", lanes);
  if (s.in_channels * s.taps() > kLongestSum) return declined("sums of {} products are too long for it", s.in_channels * s.taps());
  if (!offsets_fit(s)) return declined("the image is too large");
  const Tensor& w = node.contents(1);
  const Terms terms = terms_of(w, s, {w.data<float>(), s.in_channels * s.taps(), s.taps()});
  if (terms.of[0] == 0) return declined("too few weights are zero");
  const double moved =
      4.0 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements() * (node.has_input(3) ? 2 : 1));
  const Choice choice = choose(device, s, terms, false);
  if (device.low_memory && takes_more(choice, w)) return declined("the weights and their places take more memory, which is to be saved");
  Estimate estimate(choice.seconds + 0.5 * device.byte_time(moved) + rounding_seconds(node, device));
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

SparseWeights weights_of(const Product& p, const float* b, float alpha) {
  return {b, p.shape.transpose_b ? p.shape.k : 1, p.shape.transpose_b ? 1 : p.shape.n, alpha};
}
// An image of one row.
ConvShape shape_of(const Product& p) {
  ConvShape s;
  s.in_channels = p.shape.k, s.out_channels = p.shape.n;
  s.in_w = s.out_w = p.shape.m;
  return s;
}
// Inputs that are added to the whole product; -1: none.
int added_input(const NodeView& node, const Addition& addition) { return addition.kind == Addend::full ? 2 : node.has_input(3) ? 3 : -1; }

Choice choose_product(const NodeView& node, const Device& device) {
  const Product p(node);
  const Tensor& b = node.contents(1);
  return choose(device, shape_of(p), terms_of(b, shape_of(p), weights_of(p, b.data<float>(), 1)), true);
}

Estimate estimate_product(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a matrix is empty");
  if (node.has_input(kScale) && !node.is_constant(kScale)) return declined("sums are rounded");
  if (!node.is_constant(1)) return declined("B is not constant");
  const std::optional<Addition> addition = addition_of(node);
  if (!addition) return declined("a tensor of shape {} is added", node.input_shape(2));
  if (addition->kind == Addend::scalar || (addition->kind == Addend::columns && !node.is_constant(2)))
    return declined("the bias is one value or not constant");
  const Product p(node);
  if (p.batches != 1 || static_cast<size_t>(node.input_shape(1).elements()) != p.shape.k * p.shape.n)
    return declined("B is several matrices");
  if (p.shape.transpose_a) return declined("A is transposed");
  if (p.shape.k > kLongestSum) return declined("sums of {} products are too long for it", p.shape.k);
  const ConvShape s = shape_of(p);
  const Tensor& b = node.contents(1);
  const Terms terms = terms_of(b, s, weights_of(p, b.data<float>(), 1));
  if (terms.of[0] == 0) return declined("too few weights are zero");
  const double moved = 4.0 * static_cast<double>(node.input_shape(0).elements() + node.output_shape(0).elements());
  const Choice choice = choose(device, s, terms, true);
  if (device.low_memory && takes_more(choice, b)) return declined("the weights and their places take more memory, which is to be saved");
  return Estimate(choice.seconds + device.byte_time(moved) + rounding_seconds(node, device));
}

class SparseKernel final : public Kernel {
 public:
  /// `added`: the input that is added to the result, or -1.
  SparseKernel(PrepareContext& context, const ConvShape& shape, const Choice& choice, const SparseWeights& layout, bool matrices,
               bool has_bias, float bias_factor, int added)
      : product_(*cpu_device(context.device()).kernels, shape, options_of(context.device(), matrices, choice.height),
                 epilogue_of(context.node(), *cpu_device(context.device()).kernels)),
        added_(added) {
    weights_ = context.packed(1, "sparse",
                              {{"height", choice.height},
                               {"outputs", shape.out_channels},
                               {"plane", product_.plane()},
                               {"pitch", product_.pitch()},
                               {"stride_h", shape.stride_h},
                               {"stride_w", shape.stride_w},
                               {"dilation_h", shape.dilation_h},
                               {"dilation_w", shape.dilation_w},
                               {"kernel_w", shape.kernel_w},
                               {"output step", layout.output},
                               {"factor", layout.factor}},
                              product_.packed_bytes(choice.terms), [&](const TensorView& w, void* out) {
                                product_.pack({w.data<float>(), layout.output, layout.channel, layout.factor}, choice.terms, out);
                              });
    product_.set_weights(weights_.get(), choice.terms);
    if (has_bias)
      bias_ = context.packed(2, "sparse", {{"bias factor", bias_factor}}, product_.bias_floats() * sizeof(float),
                             [&](const TensorView& b, void* out) {
                               float* to = static_cast<float*>(out);
                               product_.pack_bias(b.data<float>(), to);
                               for (size_t i = 0; i < product_.bias_floats(); ++i) to[i] *= bias_factor;
                             });
    units_.reserve(context, product_.units(), product_.scratch_floats());
  }

  void run(RunContext& context) const noexcept override {
    const SparseProduct::Arguments arguments{
        context.in<float>(0), static_cast<const float*>(bias_.get()),
        added_ >= 0 && context.has_input(static_cast<size_t>(added_)) ? context.in<float>(static_cast<size_t>(added_)) : nullptr,
        context.out<float>(0)};
    units_.run(context, [&](size_t unit, float* scratch, size_t before) { product_.run(unit, arguments, scratch, before); });
  }

 private:
  SparseProduct product_;
  int added_;
  std::shared_ptr<const void> weights_, bias_;
  Units units_;
};

// A weight that is all zero has no terms; the estimate counts one.
Choice exact(Choice choice, const Tensor& tensor, const ConvShape& shape, const SparseWeights& weights) {
  if (choice.terms == 1 && tensor) choice.terms = SparseProduct::count_terms(shape, weights, choice.height);
  return choice;
}

std::unique_ptr<Kernel> prepare_conv(PrepareContext& context) {
  const NodeView& node = context.node();
  const ConvShape s = conv_shape(node);
  const SparseWeights layout{node.contents(1).data<float>(), s.in_channels * s.taps(), s.taps()};
  return std::make_unique<SparseKernel>(context, s, exact(choose_conv(node, context.device()), node.contents(1), s, layout), layout, false,
                                        node.has_input(2), 1.0f, 3);
}

std::unique_ptr<Kernel> prepare_product(PrepareContext& context) {
  const NodeView& node = context.node();
  const Product p(node);
  const Addition addition = *addition_of(node);
  const SparseWeights layout = weights_of(p, node.contents(1).data<float>(), alpha_of(node));
  return std::make_unique<SparseKernel>(context, shape_of(p),
                                        exact(choose_product(node, context.device()), node.contents(1), shape_of(p), layout), layout, true,
                                        addition.kind == Addend::columns, addition.factor, added_input(node, addition));
}

constexpr Scheme kSchemes[] = {
    {"Conv", "conv.sparse", estimate_conv, prepare_conv},
    {"minnow.FusedConv", "conv.sparse", estimate_conv, prepare_conv},
    {"Gemm", "matmul.sparse", estimate_product, prepare_product},
    {"MatMul", "matmul.sparse", estimate_product, prepare_product},
    {"minnow.FusedMatMul", "matmul.sparse", estimate_product, prepare_product},
};

}  // namespace

std::span<const Scheme> sparse_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Depthwise minnow.QuantizedConv and QLinearConv with constant weights, exact: some neighbouring pixels of a channel at once where there
// are kernels for it, else lane by lane in f32, whose sums are exact integers there.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/depthwise_conv.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kMostTaps = 128;  // products of 9-bit numbers over so few taps are exact in f32

int32_t byte_at(const Tensor& tensor, size_t i) {
  return tensor.dtype() == DType::i8 ? int32_t{tensor.data<int8_t>()[i]} : int32_t{tensor.data<uint8_t>()[i]};
}
ByteSource source_of(const NodeView& node) {
  const Tensor& zero = node.contents(kXZero);
  return {nullptr, zero.dtype() == DType::i8, byte_at(zero, 0)};
}
/// The weights less their zero points, [channel][tap].
std::vector<int32_t> weights_of(const NodeView& node, const ConvShape& s) {
  const Tensor &w = node.contents(kW), &zero = node.contents(kWZero);
  std::vector<int32_t> weights(s.out_channels * s.taps());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = byte_at(w, i) - byte_at(zero, zero.elements() == 1 ? 0 : i / s.taps());
  return weights;
}

std::string refusal_of(const NodeView& node, const Device& device) {
  if (device.pack == 1) return "there is no packed layout";
  if (const std::string refusal = refusal_of_quantized_conv(node); !refusal.empty()) return refusal;
  if (node.has_input(kResidual)) return "there is a residual";
  const ConvShape s = conv_shape(node);
  if (s.groups == 1 || s.groups != s.in_channels || s.groups != s.out_channels) return "it is not depthwise";
  if (s.taps() > kMostTaps) return format("{} taps are too many to be exact", s.taps());
  return {};
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  return quantized_conv_estimate(node, device, 0.35, 28, 44);
}

// Vector by vector of channels, some rows at a time: the image of each in f32, its convolution and its result stay close together.
class QuantizedDepthwiseKernel final : public Kernel {
 public:
  explicit QuantizedDepthwiseKernel(PrepareContext& context)
      : s_(conv_shape(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        source_(source_of(context.node())),
        conv_(kernels_, of_one_vector(s_, kernels_.lanes), {1, context.device().l1, context.device().l2}, Epilogue{}),
        vectors_(ceil_div(s_.out_channels, kernels_.lanes)),
        requantization_(context.node(), s_.out_channels, 1, kernels_) {
    const size_t lanes = kernels_.lanes, taps = s_.taps();
    const std::vector<int32_t> w = weights_of(context.node(), s_);
    weights_.resize(vectors_ * conv_.weight_floats());
    std::vector<float> plain(lanes * taps);
    for (size_t v = 0; v < vectors_; ++v) {
      std::fill(plain.begin(), plain.end(), 0.0f);
      for (size_t i = v * lanes * taps; i < std::min(w.size(), (v + 1) * lanes * taps); ++i)
        plain[i - v * lanes * taps] = static_cast<float>(w[i]);
      conv_.pack_weights(plain.data(), weights_.data() + v * conv_.weight_floats());
    }
    in_row_ = s_.in_w * lanes, out_row_ = s_.out_w * lanes;
    size_t rows = s_.out_h;
    if (!kSmall && conv_.has_rows()) {
      conv_.cut_rows(s_.in_h, s_.out_h);
      while (rows > 1 && (in_rows(rows) * in_row_ + rows * out_row_) * sizeof(float) > context.device().l2 / 4) rows = ceil_div(rows, 2);
    }
    blocks_ = ceil_div(s_.out_h, rows);
    rows = ceil_div(s_.out_h, blocks_);
    out_offset_ = product_of({in_rows(rows), in_row_});
    units_.reserve(context, product_of({s_.batch, vectors_, blocks_}),
                   sum_of({out_offset_, product_of({rows, out_row_}), conv_.scratch_floats()}));
  }

  void run(RunContext& context) const noexcept override {
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t plane = unit / blocks_, first = share(s_.out_h, blocks_, unit % blocks_),
                   rows = share(s_.out_h, blocks_, unit % blocks_ + 1) - first;
      float *y = scratch + out_offset_, *rest = y + rows * out_row_;
      // The rows of the image that these rows read.
      const size_t top = blocks_ == 1 ? 0 : std::min(first * s_.stride_h - std::min(first * s_.stride_h, s_.pad_top), s_.in_h),
                   bottom = std::min(s_.in_h, top + in_rows(rows));
      ByteSource source = source_;
      source.from = context.in<uint8_t>(kX) + (plane * s_.in_h + top) * in_row_;
      kernels_.integer->dequantize(source, (bottom - top) * in_row_, 1, scratch);
      const float* w = weights_.data() + plane % vectors_ * conv_.weight_floats();
      const DepthwiseConv::Arguments arguments{scratch - top * in_row_, w, nullptr, nullptr, y - first * out_row_};
      const bool all = blocks_ == 1;  // else a unit of the convolution is a row
      for (size_t i = all ? 0 : first; i < (all ? conv_.units() : first + rows); ++i) conv_.run(i, arguments, rest);
      IntegerTile t{};
      requantization_.apply(t, 0, plane % vectors_);
      uint8_t* const to = context.out<uint8_t>(0) + (plane * s_.out_h + first) * out_row_ * (requantization_.raw ? sizeof(float) : 1);
      IntegerTile sums = t;
      if (t.activate) sums.raw = true, sums.multiplier = nullptr;
      sums.y[0] = t.activate ? reinterpret_cast<uint8_t*>(y) : to;
      kernels_.integer->requantize(y, rows * s_.out_w, sums);
      if (t.activate) t.activate(reinterpret_cast<int32_t*>(y), rows * s_.out_w, t, 0, nullptr, to, static_cast<ptrdiff_t>(kernels_.lanes));
    });
  }

 private:
  static ConvShape of_one_vector(ConvShape s, size_t lanes) {
    s.batch = 1;
    s.in_channels = s.out_channels = s.groups = lanes;
    return s;
  }
  size_t in_rows(size_t rows) const noexcept { return std::min(s_.in_h, (rows - 1) * s_.stride_h + s_.extent_h()); }

  ConvShape s_;
  const Kernels& kernels_;
  ByteSource source_;
  DepthwiseConv conv_;
  size_t vectors_;
  Requantization requantization_;
  std::vector<float> weights_;
  size_t in_row_ = 0, out_row_ = 0, blocks_ = 1, out_offset_ = 0;  // floats
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<QuantizedDepthwiseKernel>(context); }

constexpr size_t kMostRows = 16;  // of a filter

/// Where blocks of columns begin, and which of them an output reads.
struct Blocks {
  Blocks(const ByteDepthwiseForm& form, const ConvShape& s)
      : columns(form.columns),
        step(columns / 2),
        shifts(std::max<size_t>(1, step / s.stride_w)),
        pieces(ceil_div(s.kernel_w + shifts - 1, columns)) {}
  size_t columns, step, shifts, pieces;
};

constexpr double kFree = 1e9;  // the speed of multiply-adds that other costs contain

bool runs(const Kernels& kernels, const ByteDepthwiseForm& form) {
  return form.columns != 0 && (!form.needs_bytes || runs(*kernels.integer, IntegerForm::bytes));
}

/// The first form that the machine runs and the weights fit; null: there is none.
const ByteDepthwiseForm* form_of(const NodeView& node, const ConvShape& s, const Kernels& kernels) {
  const auto are_bytes = [&] {
    const std::vector<int32_t> weights = weights_of(node, s);
    return std::all_of(weights.begin(), weights.end(), [](int32_t w) { return w >= -128 && w <= 127; });
  };
  for (const ByteDepthwiseForm& form : kernels.byte_depthwise->forms) {
    if (!runs(kernels, form)) continue;
    const size_t pieces = Blocks(form, s).pieces;
    if (pieces <= kByteDepthwisePieces && form.rows[pieces - 1][s.stride_w - 1] && (!form.needs_bytes || are_bytes())) return &form;
  }
  return nullptr;
}

Estimate estimate_bytes(const NodeView& node, const Device& device) {
  const Kernels& kernels = *cpu_device(device).kernels;
  const auto& forms = kernels.byte_depthwise->forms;
  if (std::none_of(std::begin(forms), std::end(forms), [&](const ByteDepthwiseForm& form) { return runs(kernels, form); }))
    return unavailable("the machine does not multiply bytes");
  if (const std::string refusal = refusal_of(node, device); !refusal.empty()) return declined("{}", refusal);
  if (node.output(0).dtype == DType::f32) return declined("the result is f32");
  const ConvShape s = conv_shape(node);
  if (s.stride_w > 2 || s.dilation_w != 1 || s.kernel_h > kMostRows)
    return declined("the filter's columns are too far apart, or it has too many rows");
  const ByteDepthwiseForm* const form = form_of(node, s, kernels);
  if (!form) return declined("there are no kernels for filters of this width and weights less their zero points");
  if (form->needs_bytes) return quantized_conv_estimate(node, device, 1.0);
  // Words: 0.17 ns for each element of the image, 0.12 ns for each output and row of the filter, 30 ns for each row of a vector
  // (mp_face_landmark and mobilenet_v3_small, AVX2, Zen 3 of 126 GFLOP/s, 2026-11-29).
  Estimate result = quantized_conv_estimate(node, device, kFree, 14, 13 * static_cast<double>(s.kernel_h));
  result.seconds += device.flop_time(4000.0 * static_cast<double>(s.batch * ceil_div(s.out_channels, kernels.lanes) * s.out_h));
  return result;
}

// Row by row of a vector of channels: each row of the image is put into blocks once, in a ring of as many rows as a filter spans.
class ByteDepthwiseKernel final : public Kernel {
 public:
  explicit ByteDepthwiseKernel(PrepareContext& context)
      : s_(conv_shape(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        lanes_(kernels_.lanes),
        form_(*form_of(context.node(), s_, kernels_)),
        block_(form_, s_),
        source_(source_of(context.node())),
        vectors_(ceil_div(s_.out_channels, lanes_)),
        requantization_(context.node(), s_.out_channels, 1, kernels_) {
    const size_t pieces = block_.pieces, shifts = block_.shifts, taps = s_.taps();
    row_function_ = form_.rows[pieces - 1][s_.stride_w - 1];
    const std::vector<int32_t> w = weights_of(context.node(), s_);
    panel_ = s_.kernel_h * pieces * shifts * lanes_ * kBlockBytes;
    weights_.resize(vectors_ * panel_);
    const int32_t offset = source_.is_signed ? form_.signed_offset : 0;
    uint8_t* to = weights_.data();
    for (size_t v = 0; v < vectors_; ++v)
      for (size_t ky = 0; ky < s_.kernel_h; ++ky)
        for (size_t piece = 0; piece < pieces; ++piece)
          for (size_t shift = 0; shift < shifts; ++shift)
            for (size_t lane = 0; lane < lanes_; ++lane)
              for (size_t i = piece * block_.columns; i < (piece + 1) * block_.columns; ++i) {
                const size_t channel = v * lanes_ + lane;
                const bool used = channel < s_.out_channels && i >= shift && i - shift < s_.kernel_w;
                const int16_t weight = used ? static_cast<int16_t>(w[channel * taps + ky * s_.kernel_w + i - shift]) : int16_t{0};
                const size_t bytes = kBlockBytes / block_.columns;  // the low one is the first
                std::memcpy(to, &weight, bytes);
                to += bytes;
              }
    for (size_t c = 0; c < s_.out_channels; ++c) {
      int32_t sum = 0;
      for (size_t tap = 0; tap < taps; ++tap) sum += w[c * taps + tap];
      requantization_.bias_of(0, c) -= (source_.zero_point + offset) * sum;
    }
    // Blocks for whole tiles of outputs, however wide these are. Outputs beyond the last one may read anything.
    const size_t blocks_an_output = std::max<size_t>(1, s_.stride_w / block_.step);
    read_ = (s_.out_w - 1) / shifts * blocks_an_output + 2 * (pieces - 1) + 1;
    blocks_ = ceil_div(s_.out_w + kByteDepthwiseMost, shifts) * blocks_an_output + 2 * (pieces - 1);
    columns_ = block_.step * (read_ - 1) + block_.columns;
    copied_ = std::min(s_.in_w, columns_ - std::min(columns_, s_.pad_left));
    row_bytes_ = product_of({blocks_, kBlockBytes, lanes_});
    const size_t threads = static_cast<size_t>(context.device().threads), planes = s_.batch * vectors_;
    if (threads > 1 && planes < 4 * threads) cuts_ = std::min(s_.out_h, ceil_div(4 * threads, planes));
    units_.reserve(context, planes * cuts_,
                   ceil_div(sum_of({product_of({s_.extent_h(), row_bytes_}), product_of({columns_, lanes_})}), sizeof(float)));
  }

  void run(RunContext& context) const noexcept override {
    const uint8_t* x = context.in<uint8_t>(kX);
    uint8_t* y = context.out<uint8_t>(0);
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t plane = unit / cuts_, first = share(s_.out_h, cuts_, unit % cuts_), last = share(s_.out_h, cuts_, unit % cuts_ + 1);
      run_rows(x + plane * s_.in_h * s_.in_w * lanes_, y + plane * s_.out_h * s_.out_w * lanes_, plane % vectors_, first, last,
               reinterpret_cast<uint8_t*>(scratch));
    });
  }

 private:
  void run_rows(const uint8_t* x, uint8_t* y, size_t vector, size_t first, size_t last, uint8_t* ring) const noexcept {
    IntegerTile to{};
    requantization_.apply(to, 0, vector);
    const uint8_t* rows[kMostRows];
    const ByteDepthwiseRow r{rows, s_.kernel_h, weights_.data() + vector * panel_, s_.out_w, &to};
    const size_t height = s_.extent_h();
    uint8_t* padded = ring + height * row_bytes_;
    std::memset(padded, source_.zero_point, columns_ * lanes_);
    size_t made = 0;  // rows from the top of the padding that are in the ring, or not needed any more
    Stop stop;
    for (size_t row = first; row < last; ++row) {
      if (stop.after(s_.out_w * s_.taps())) return;
      const size_t top = row * s_.stride_h;
      for (made = std::max(made, top); made < top + height; ++made) arrange_row(x, made, padded, ring + made % height * row_bytes_);
      for (size_t ky = 0; ky < s_.kernel_h; ++ky) rows[ky] = ring + (top + ky * s_.dilation_h) % height * row_bytes_;
      to.y[0] = y + row * s_.out_w * lanes_;
      row_function_(r);
    }
  }

  /// `padded`: a row with its padding, whose columns in the image are written.
  void arrange_row(const uint8_t* x, size_t place, uint8_t* padded, uint8_t* blocks) const noexcept {
    uint8_t* inside = padded + s_.pad_left * lanes_;
    if (place < s_.pad_top || place - s_.pad_top >= s_.in_h)
      std::memset(inside, source_.zero_point, copied_ * lanes_);
    else
      std::memmove(inside, x + (place - s_.pad_top) * s_.in_w * lanes_, copied_ * lanes_);  // memcpy becomes rep movsb with -Os: slower
    form_.arrange(padded, read_, source_.is_signed, blocks);
  }

  static constexpr size_t kBlockBytes = 4;  // of a lane
  ConvShape s_;
  const Kernels& kernels_;
  size_t lanes_;
  const ByteDepthwiseForm& form_;
  Blocks block_;
  ByteSource source_;
  size_t vectors_;
  Requantization requantization_;
  void (*row_function_)(const ByteDepthwiseRow&) = nullptr;
  std::vector<uint8_t> weights_;
  size_t panel_ = 0;                              // bytes of the weights of a vector
  size_t blocks_ = 0, read_ = 0, row_bytes_ = 0;  // of a row
  size_t columns_ = 0, copied_ = 0;               // of a row with its padding; of those, in the image
  size_t cuts_ = 1;
  Units units_;
};

std::unique_ptr<Kernel> prepare_bytes(PrepareContext& context) { return std::make_unique<ByteDepthwiseKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"QLinearConv", "quantized_conv.depthwise_bytes", estimate_bytes, prepare_bytes, kLargeOnly},
    {"QLinearConv", "quantized_conv.depthwise", estimate, prepare},
    {"minnow.QuantizedConv", "quantized_conv.depthwise_bytes", estimate_bytes, prepare_bytes, kLargeOnly},
    {"minnow.QuantizedConv", "quantized_conv.depthwise", estimate, prepare},
};

}  // namespace

std::span<const Scheme> quantized_depthwise_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

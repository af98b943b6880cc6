// SPDX-License-Identifier: Apache-2.0
// minnow.QuantizedConv, QLinearConv and ConvInteger with constant weights, exact: tiles of 32-bit sums over a copy of some rows of the
// image whose pixels hold all channels of a group. Images of up to four channels are read as they come, in the plain layout.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/quantized.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {

std::string refusal_of_quantized_conv(const NodeView& node) {
  if (!node.is_constant(FactorInputs(node).w)) return "the weights are not constant";
  if (node.is_constant(kResidual)) return "the residual is constant";
  const auto shape = conv_shape_of(node);
  if (!shape) return "there are more than two spatial dimensions";
  if (node.output_shape(0).elements() == 0 || node.input_shape(kX).elements() == 0) return "a tensor is empty";
  if (node.output_shape(0).rank() < 3) return "the output has no packed layout";
  return refusal_of_quantized(node, shape->out_channels, shape->in_channels / shape->groups * shape->taps());
}

Estimate quantized_conv_estimate(const NodeView& node, const Device& device, double speed, double of_input, double of_output) {
  const double x = static_cast<double>(node.input_shape(kX).elements()), y = static_cast<double>(node.output_shape(0).elements());
  const double bytes = x + y * static_cast<double>(size_of(node.output(0).dtype) + (node.has_input(kResidual) ? 1 : 0));
  Estimate estimate(device.flop_time(2 * ConvGeometry::of(node).multiply_adds(), speed) + device.flop_time(x * of_input + y * of_output) +
                    2 * device.byte_time(bytes) + 1e-6);
  estimate.packed_inputs = uint64_t{1} << kX | (node.has_input(kResidual) ? uint64_t{1} << kResidual : 0);
  estimate.packed_outputs = 1;
  return estimate;
}

namespace {

// Operations for an element that becomes a word, or that is requantized beside words: 1x1 convolutions of 16 to 128 channels take 36 us and
// 0.22 ns for each element of image and result (mp_face_landmark, AVX2, Zen 3 of 126 GFLOP/s, 2026-11-29).
constexpr double kOfWord = 24;
constexpr size_t kPair = 2;

Estimate estimate(const NodeView& node, const Device& device) {
  if (device.pack == 1) return declined("there is no packed layout");
  if (const std::string refusal = refusal_of_quantized_conv(node); !refusal.empty()) return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  const size_t lanes = static_cast<size_t>(device.pack);
  if (s.groups > 1 && (s.in_channels / s.groups % lanes != 0 || s.out_channels / s.groups % lanes != 0))
    return declined("{} groups of {} channels are not whole vectors of {}", s.groups, s.in_channels / s.groups, device.pack);
  const Kernels& kernels = *cpu_device(device).kernels;
  const size_t channels = s.in_channels / s.groups;
  // Words reach 0.9 of their speed in nine networks from resnet8 to resnet_18: with 0.8, estimates were up to a fifth too long (AVX2, Zen
  // 3, 2026-11-29).
  const bool words = best_form(*kernels.integer, true, channels) == IntegerForm::words;
  const double of_element = words ? kOfWord : 0;
  // Eight first layers of three channels took 1.4 to 1.9 times as long (the same day).
  const double few = words && channels < lanes ? 0.6 : 1;
  // Tiles compute two vectors of channels, whether both are used or not.
  const double outputs = static_cast<double>(s.out_channels / s.groups), tile = static_cast<double>(kPair * lanes);
  const double used = outputs / (std::ceil(outputs / tile) * tile);
  return quantized_conv_estimate(node, device, used * few * (words ? 0.9 : 0.8) * integer_speed(kernels, channels), of_element, of_element);
}

constexpr bool kReadsPlain = !kSmall;
constexpr size_t kFewChannels = channels_at_once(IntegerForm::bytes);

Estimate estimate_plain(const NodeView& node, const Device& device) {
  const Kernels& kernels = *cpu_device(device).kernels;
  if (best_form(*kernels.integer, true, kFewChannels) == IntegerForm::matrices)
    return unavailable("the machine multiplies matrices of bytes");
  Estimate result = estimate(node, device);
  if (!result.declined.empty()) return result;
  const ConvShape s = conv_shape(node);
  if (s.groups != 1 || s.in_channels > kFewChannels) return declined("there are {} channels in {} groups", s.in_channels, s.groups);
  if (s.kernel_w == 1 && s.stride_w != 1) return declined("columns are left out");
  const FactorInputs inputs(node);
  if (!node.has_input(inputs.w_zero) || node.input_dtype(inputs.w) != DType::i8) return declined("the weights may be no bytes");
  const Tensor& zero = node.contents(inputs.w_zero);
  for (int64_t i = 0; i < zero.elements(); ++i)
    if (zero.data<int8_t>()[i] != 0) return declined("the weights have zero points");
  result.packed_inputs &= ~(uint64_t{1} << kX);
  return result;
}

class QuantizedConvKernel final : public Kernel {
 public:
  explicit QuantizedConvKernel(PrepareContext& context, bool plain)
      : plain_(kReadsPlain && plain),
        s_(conv_shape(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        lanes_(kernels_.lanes),
        place_(lanes_ * size_of(context.node().output(0).dtype)),
        requantization_(context.node(), s_.out_channels, s_.groups, kernels_),
        weights_(context.node(), kernels_, s_.out_channels, s_.in_channels / s_.groups, s_.taps(), s_.groups, false, columns_of_tap(),
                 plain_ ? kFewChannels : s_.in_channels / s_.groups) {
    weights_.prepare(context, requantization_);
    const size_t channels = s_.in_channels / s_.groups;
    in_blocks_ = ceil_div(channels, lanes_);
    // Rows and columns that no tap reads are not copied.
    step_h_ = s_.kernel_h == 1 ? 1 : s_.stride_h, step_w_ = s_.kernel_w == 1 ? 1 : s_.stride_w;
    columns_ = (s_.out_w - 1) * step_w_ + s_.extent_w();
    if (weights_.form() == IntegerForm::matrices) {
      planes_ = weights_.channel_groups(), phases_ = step_w_;
      piece_ = lanes_, pixel_ = group_bytes(IntegerForm::matrices);
    } else {
      piece_ = lanes_ * element_bytes(weights_.form()), pixel_ = in_blocks_ * piece_;
    }
    if (kReadsPlain && plain_) pixel_ = kFewChannels * element_bytes(weights_.form());
    row_ = product_of({ceil_div(columns_, phases_), phases_, pixel_});
    const size_t budget = context.device().l2 / 3;
    rows_ = 1;
    while (rows_ < s_.out_h && window_bytes(rows_ + 1) <= budget && rows_ * s_.out_w < 512) ++rows_;
    blocks_ = ceil_div(s_.out_h, rows_);
    const size_t threads = static_cast<size_t>(context.device().threads), groups = s_.batch * s_.groups * blocks_;
    if (threads > 1 && groups < 2 * threads) chunks_ = std::min(weights_.pairs(), ceil_div(2 * threads, groups));
    rows_ = ceil_div(s_.out_h, blocks_);
    for (size_t ky = 0; ky < s_.kernel_h; ++ky)
      for (size_t kx = 0; kx < s_.kernel_w; kx += weights_.columns())
        taps_.push_back(static_cast<ptrdiff_t>(ky * s_.dilation_h * row_ + place_of(kx * s_.dilation_w)));
    size_t scratch = sum_of({window_bytes(rows_), pixel_, kAmxGroups * group_bytes(IntegerForm::amx)});  // tiles may read a pixel beyond
    if (kReadsPlain && plain_ && weights_.form() == IntegerForm::words) {
      between_ = align_up(sum_of({scratch, 2 * lanes_}));  // words are written in whole vectors
      scratch = sum_of({between_, product_of({columns_, kFewChannels}), lanes_});
    }
    units_.reserve(context, groups * chunks_, scratch / sizeof(float) + 1);
  }

  void run(RunContext& context) const noexcept override {
    const ByteSource x = weights_.source(context);
    const int32_t* biases = weights_.biases(context, requantization_, x);
    uint8_t* y = context.out<uint8_t>(0);
    const ptrdiff_t to_residual =
        context.has_input(kResidual)
            ? static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(context.in<uint8_t>(kResidual)) - reinterpret_cast<uintptr_t>(y))
            : 0;
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t chunk = unit % chunks_, block = unit / chunks_ % blocks_, group = unit / chunks_ / blocks_ % s_.groups;
      run_block(x, biases, y, to_residual, unit / chunks_ / blocks_ / s_.groups, group, block, chunk, reinterpret_cast<uint8_t*>(scratch));
    });
  }

 private:
  /// A row of taps is one, whose channels are those of all its pixels, where these lie in the window without gaps.
  size_t columns_of_tap() const noexcept {
    return s_.dilation_w == 1 && (plain_ || s_.in_channels / s_.groups % lanes_ == 0) ? s_.kernel_w : 1;
  }
  size_t window_rows(size_t rows) const noexcept { return (rows - 1) * step_h_ + s_.extent_h(); }
  size_t window_bytes(size_t rows) const noexcept { return product_of({planes_, window_rows(rows), row_}); }
  /// Where a column begins in a row of the window.
  size_t place_of(size_t column) const noexcept { return (column % phases_ * ceil_div(columns_, phases_) + column / phases_) * pixel_; }

  // Pixels, [plane][row][phase][column][channel], with the zero point around the image: one plane and phase of all channels, but for the
  // form matrices a plane for each of its groups of channels, the columns sorted by their place modulo the stride (phases).
  void copy_window(ByteSource x, size_t first, size_t rows, uint8_t* window) const noexcept {
    const size_t plane = s_.in_h * s_.in_w * lanes_;
    const int32_t offset = byte_offset(*kernels_.integer, x.is_signed);
    const uint8_t zero = weights_.form() != IntegerForm::words ? static_cast<uint8_t>(x.zero_point + offset) : uint8_t{0};
    uint8_t* const window_begin = window;
    const size_t window_plane = window_rows(rows) * row_, pieces = pixel_ / piece_;  // bytes of a plane; vectors of channels of a pixel
    // Columns [begin, end) of the window lie in the image.
    const size_t stride = s_.kernel_w == 1 ? s_.stride_w : 1;
    const size_t begin = std::min(columns_, ceil_div(s_.pad_left, stride));
    const size_t end = std::max(begin, std::min(columns_, ceil_div(s_.in_w + s_.pad_left, stride)));
    for (size_t r = 0; r < window_rows(rows); ++r, window += row_) {
      const size_t place = s_.kernel_h == 1 ? (first + r) * s_.stride_h : first * s_.stride_h + r;  // from the top of the padding
      const bool outside = place < s_.pad_top || place - s_.pad_top >= s_.in_h || begin == end;
      for (size_t p = 0; p < planes_; ++p) {
        uint8_t* row = window + p * window_plane;
        if (outside || phases_ > 1) {
          std::memset(row, zero, row_);
        } else {
          std::memset(row, zero, begin * pixel_);
          std::memset(row + end * pixel_, zero, (columns_ - end) * pixel_);
        }
      }
      if (outside) continue;
      if (kReadsPlain && plain_) {
        const uint8_t* planes[kFewChannels];  // weights of channels that are not there are 0
        for (size_t c = 0; c < kFewChannels; ++c)
          planes[c] = x.from + (std::min(c, s_.in_channels - 1) * s_.in_h + place - s_.pad_top) * s_.in_w + begin - s_.pad_left;
        uint8_t* const to = window + begin * pixel_;
        if (between_) {
          uint8_t* const bytes = window_begin + between_;
          const size_t count = (end - begin) * kFewChannels;
          kernels_.integer->interleave(planes, end - begin, 0, bytes);
          std::memset(bytes + count, x.zero_point, lanes_);  // the last vector may end beyond the image
          kernels_.integer->arrange(IntegerForm::words, {bytes, x.is_signed, x.zero_point}, lanes_, ceil_div(count, lanes_), to,
                                    2 * lanes_);
        } else {
          kernels_.integer->interleave(planes, end - begin, offset ? 0x80 : 0, to);
        }
        continue;
      }
      ByteSource source = x;
      for (size_t c = 0; c < in_blocks_; ++c)
        for (size_t first_column = begin; first_column < std::min(end, begin + phases_); ++first_column) {
          source.from = x.from + c * plane + ((place - s_.pad_top) * s_.in_w + first_column * stride - s_.pad_left) * lanes_;
          kernels_.integer->arrange(weights_.form(), source, phases_ * stride * lanes_, ceil_div(end - first_column, phases_),
                                    window + c / pieces * window_plane + place_of(first_column) + c % pieces * piece_, pixel_);
        }
    }
  }

  void run_block(ByteSource x, const int32_t* biases, uint8_t* y, ptrdiff_t to_residual, size_t image, size_t group, size_t block,
                 size_t chunk, uint8_t* window) const noexcept {
    const size_t first = share(s_.out_h, blocks_, block), rows = share(s_.out_h, blocks_, block + 1) - first;
    const size_t in_vectors = s_.groups == 1 ? in_blocks_ : s_.groups * in_blocks_,
                 out_vectors = ceil_div(s_.out_channels / s_.groups, lanes_);
    x.from += (kReadsPlain && plain_ ? image * s_.in_channels : (image * in_vectors + group * in_blocks_) * lanes_) * s_.in_h * s_.in_w;
    copy_window(x, first, rows, window);
    const size_t place = place_, y_plane = s_.out_h * s_.out_w * place;  // bytes
    y += (image * s_.groups + group) * out_vectors * y_plane + first * s_.out_w * place;
    const bool flat = s_.taps() == 1;  // the pixels of all rows are contiguous
    const size_t width = flat ? rows * s_.out_w : s_.out_w, height = flat ? 1 : rows;
    const size_t most = static_cast<size_t>(most_rows(*kernels_.integer, weights_.form())), in_row = step_h_ * row_,
                 in_pixel = step_w_ / phases_ * pixel_;
    const IntegerTiles integer_tiles(*kernels_.integer, lanes_, weights_.form());
    IntegerTile t{};
    t.taps = taps_.data();
    t.tap_count = taps_.size();
    t.groups = weights_.channel_groups();
    t.row_stride = static_cast<ptrdiff_t>(in_pixel);
    t.group_stride = static_cast<ptrdiff_t>(window_rows(rows) * row_);
    t.pixel_stride = static_cast<ptrdiff_t>(place);
    t.vector_stride = static_cast<ptrdiff_t>(y_plane);
    t.residual.from_y = to_residual;
    const size_t last = share(weights_.pairs(), chunks_, chunk + 1), tiles = ceil_div(width, most);
    const TileRows parts(weights_.form(), width, tiles);
    Stop stop;
    for (size_t pair = share(weights_.pairs(), chunks_, chunk); pair < last; ++pair) {
      requantization_.apply(t, group, pair * kPair, biases);
      t.w = weights_.panel(group, pair);
      t.vectors = std::min(kPair, out_vectors - pair * kPair);
      uint8_t* to = y + pair * kPair * y_plane;
      for (size_t row = 0; row < height;) {
        if (stop.after(width * t.tap_count * t.groups * t.vectors)) return;
        // Narrow rows, two at once. In the form amx, a last one is computed with the one before it, as TileRows does.
        if (kHasAmx && weights_.form() == IntegerForm::amx && width * 2 <= most && row > 0 && row + 1 == height) --row;
        const bool two = width * 2 <= most && row + 1 < height;
        for (size_t i = 0; i < (two ? 1 : tiles); ++i) {
          const size_t from = parts.begin(i), count = two ? 2 * width : parts.rows(i);
          t.x[0] = window + row * in_row + from * in_pixel;
          t.y[0] = to + (row * s_.out_w + from) * place;
          t.x[1] = two ? t.x[0] + in_row : t.x[0] + (count + 1) / 2 * in_pixel;
          t.y[1] = t.y[0] + (two ? s_.out_w : (count + 1) / 2) * place;
          t.rows = count;
          integer_tiles.run(t);
        }
        row += two ? 2 : 1;
      }
    }
  }

  bool plain_;  // x is
  ConvShape s_;
  const Kernels& kernels_;
  size_t lanes_, place_;  // place: bytes of a vector of results
  Requantization requantization_;
  IntegerWeights weights_;
  size_t in_blocks_ = 0, piece_ = 0, pixel_ = 0;  // vectors of input channels; bytes of one of them, and of a pixel, in the window
  size_t planes_ = 1, phases_ = 1;                // of the window
  size_t step_h_ = 1, step_w_ = 1, columns_ = 0, row_ = 0;
  size_t between_ = 0;  // behind the window: a row of plain bytes before it becomes words
  size_t rows_ = 1, blocks_ = 1, chunks_ = 1;
  std::vector<ptrdiff_t> taps_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<QuantizedConvKernel>(context, false); }
std::unique_ptr<Kernel> prepare_plain(PrepareContext& context) { return std::make_unique<QuantizedConvKernel>(context, true); }

constexpr Scheme kSchemes[] = {
    {"ConvInteger", "quantized_conv", estimate, prepare},
    {"QLinearConv", "quantized_conv", estimate, prepare},
    {"minnow.QuantizedConv", "quantized_conv.first_layer", estimate_plain, prepare_plain, kLargeOnly},
    {"minnow.QuantizedConv", "quantized_conv", estimate, prepare},
};

}  // namespace

std::span<const Scheme> quantized_conv_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

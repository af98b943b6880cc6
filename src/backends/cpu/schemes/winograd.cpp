// SPDX-License-Identifier: Apache-2.0
// Conv and minnow.FusedConv by Winograd's minimal filtering: kernels of stride 1 whose axes have 1 to 7 taps, and 3x3 of stride 2, in tiles
// of 2 to 6 outputs along each axis of more than one tap, and kernels of stride 2 on a plain image of few channels.
#include "backends/cpu/kernels/stride2_conv.h"

#include "backends/cpu/schemes/conv.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/winograd.h"
#include "base/saturating.h"

namespace minnow::cpu {

WinogradConv::Options winograd_options(const Device& device, WinogradForms form) {
  return {form, static_cast<size_t>(device.threads), device.l2, device.l3, {}};
}

namespace {

// Positions along an axis of the smallest form that serves it.
double least_positions(WinogradForm form) {
  const WinogradNumbers& numbers = numbers_of(form);
  if (form == WinogradForm::none) return 1;
  if (numbers.stride == 2) return 5;
  return numbers.taps == 2 ? 4 : numbers.taps == 4 ? 7 : static_cast<double>(numbers.taps + 1);
}

// Operations of the transforms along an axis, of a vector at a position.
double transform_operations(WinogradForm form) { return form == WinogradForm::none ? 0 : 3; }

}  // namespace

double winograd_seconds(const ConvShape& s, const Device& device, WinogradForms form, size_t parts) {
  const size_t lanes = static_cast<size_t>(device.pack);
  const double in = static_cast<double>(s.in_channels), out = static_cast<double>(ceil_div(s.out_channels, lanes) * lanes);
  const double positions = static_cast<double>(form.positions());
  const double each = static_cast<double>(s.batch) * WinogradConv::products(s, form);
  // Sums of few products: a tile costs about as much as six channels beside them.
  const double products = device.flop_time(2 * each * (in + 6) * out, 0.92);
  const bool columns = WinogradConv::keeps_columns(s, form, device.l3);
  const double kept =
      (columns ? static_cast<double>(numbers_of(form.down).positions() * numbers_of(form.across).taps) : positions) * in * out;
  const double weights = device.weight_time(4 * kept * static_cast<double>(parts)) / static_cast<double>(parts);
  // Transformed columns are written to L2 and read again.
  const double operations = transform_operations(form.down) + transform_operations(form.across);
  const double transforms =
      device.flop_time(operations * each * (in + out), 0.3) + (columns ? device.flop_time(7 * positions * in * out) : 0);
  // Weights beyond the smallest form's cost time too: 13 us per megabyte. So a form loses to one of half its size that is equally fast by
  // measurement: F(3) to F(2) in layers of 7x7 pixels, and F(4) of stride 2 to F(2) in those of 14x14.
  const double memory = 13e-12 * 4 * (kept - least_positions(form.down) * least_positions(form.across) * in * out) / device.threads;
  // Neither hides the other wholly.
  return std::max(products, weights) + 0.25 * std::min(products, weights) + transforms + memory + 1e-6;
}

double winograd_packing_seconds(const ConvShape& s, const Device& device, WinogradForms form) {
  const WinogradNumbers &down = numbers_of(form.down), &across = numbers_of(form.across);
  const double filters = static_cast<double>(s.in_channels) * static_cast<double>(s.out_channels);
  const double each = static_cast<double>(down.positions() * across.taps * (down.taps + across.positions()));
  return device.flop_time(4 * filters * each, 0.3) + device.byte_time(4 * filters * static_cast<double>(form.positions()));  // in f64
}

namespace {

constexpr double kMostError[] = {1, 4, 16};  // beside that of summing directly; at precision high, normal, low

Estimate estimate(const NodeView& node, const Device& device, size_t outputs, size_t stride) {
  if (const std::string refusal = refusal_of_conv(node, {.any_weights = true, .scales = true}); !refusal.empty())
    return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  const std::optional<WinogradForms> form = WinogradForms::of(s, outputs, stride);
  if (!form)
    return declined("the kernel {}x{} has no F({}) of stride {}, dilation 1 and one group", s.kernel_h, s.kernel_w, outputs, stride);
  if (s.in_channels > kLongestSum) return declined("sums of {} channels are too long for it", s.in_channels);
  const double most = kMostError[device.precision == Precision::high ? 0 : device.precision == Precision::low ? 2 : 1];
  // Without fused multiply-adds it is up to a fifth larger. With few channels plain sums are short and round little (the worst layer of the
  // corpus, of one channel, has 4.9 instead of 1.9 times with F(4)).
  const double error = form->error() * (fuses(cpu_device(device).isa) ? 1 : 1.25) * (s.in_channels < 16 ? 2.6 : 1);
  if (error > most) return declined("its error is up to {} times that of plain sums, and the precision allows {}", error, most);
  if (device.low_memory) return declined("its weights are several times the plain ones, and memory is to be saved");
  Estimate estimate(winograd_seconds(s, device, *form) + (node.is_constant(1) ? 0 : winograd_packing_seconds(s, device, *form)) +
                    rounding_seconds(node, device));
  estimate.packed_inputs = 1 | 8;
  estimate.packed_outputs = 1;
  return estimate;
}

Estimate estimate_first_layer(const NodeView& node, const Device& device) {
  if (device.precision == Precision::high) return declined("its error is above that of precision \"high\"");
  if (const std::string refusal = refusal_of_conv(node, {.channels_last = true, .scales = true}); !refusal.empty())
    return declined("{}", refusal);
  const ConvShape s = conv_shape(node);
  if (4 * s.in_channels > 16) return declined("{} channels are better served from the packed layout", s.in_channels);
  const std::optional<WinogradForm> form = Stride2Conv::form_of(s);
  if (!form) return declined("the kernel is not of stride 2, dilation 1, one group and between 5x5 and 8x8");
  if (*form == WinogradForm::four_f4 && !fuses(cpu_device(device).isa))
    return declined("without fused multiply-adds its error is over four times that of plain sums");
  if (device.low_memory) return declined("its weights are several times the plain ones, and memory is to be saved");
  const ConvShape blocks = Stride2Conv::blocks_of(s);
  const double bytes = 8.0 * static_cast<double>(s.batch * s.in_channels * s.in_h * s.in_w);
  Estimate estimate(winograd_seconds(blocks, device, *form) + 2 * device.byte_time(bytes) + rounding_seconds(node, device));
  estimate.packed_inputs = 8;
  estimate.packed_outputs = 1;
  return estimate;
}

class PackedKernel final : public WinogradKernel {
 public:
  PackedKernel(PrepareContext& context, WinogradForms form)
      : conv_(*cpu_device(context.device()).kernels, conv_shape(context.node()), winograd_options(context.device(), form),
              epilogue_of(context.node(), *cpu_device(context.device()).kernels)) {
    prepare(context, conv_, "winograd", {}, form, [&](const float* w, float* out) { conv_.pack_weights(w, out); });
  }
  void run(RunContext& context) const noexcept override { run_conv(context, conv_, context.in<float>(0)); }

 private:
  WinogradConv conv_;
};

class FirstLayerKernel final : public WinogradKernel {
 public:
  FirstLayerKernel(PrepareContext& context, WinogradForms form)
      : conv_(*cpu_device(context.device()).kernels, conv_shape(context.node()), winograd_options(context.device(), form),
              epilogue_of(context.node(), *cpu_device(context.device()).kernels)) {
    blocks_ = context.reserve_scratch(product_of({conv_.blocks_floats(), sizeof(float)}));
    const ConvShape s = conv_shape(context.node());
    prepare(context, conv_.conv(), "winograd of blocks", {{"odd top", s.pad_top % 2}, {"odd left", s.pad_left % 2}}, form,
            [&](const float* w, float* out) { conv_.pack_weights(w, out); });
  }
  void run(RunContext& context) const noexcept override {
    const float* x = context.in<float>(0);
    float* blocks = context.scratch_at<float>(blocks_);
    constexpr size_t kEach = 8;
    const size_t rows = conv_.gather_units();
    context.parallel_for(ceil_div(rows, kEach), [&](size_t task) {
      for (size_t row = task * kEach; row < std::min(rows, (task + 1) * kEach); ++row) conv_.gather(row, x, blocks);
    });
    run_conv(context, conv_.conv(), blocks);
  }

 private:
  Stride2Conv conv_;
  size_t blocks_;
};

template <size_t kOutputs, size_t kStride>
Estimate estimate_form(const NodeView& node, const Device& device) {
  return estimate(node, device, kOutputs, kStride);
}
template <size_t kOutputs, size_t kStride>
std::unique_ptr<Kernel> prepare_form(PrepareContext& context) {
  return std::make_unique<PackedKernel>(context, *WinogradForms::of(conv_shape(context.node()), kOutputs, kStride));
}
std::unique_ptr<Kernel> prepare_first_layer(PrepareContext& context) {
  return std::make_unique<FirstLayerKernel>(context, *Stride2Conv::form_of(conv_shape(context.node())));
}

#define MINNOW_WINOGRAD_ROWS(name, outputs, stride, large_only)                                         \
  {"Conv", name, estimate_form<outputs, stride>, prepare_form<outputs, stride>, large_only}, {          \
    "minnow.FusedConv", name, estimate_form<outputs, stride>, prepare_form<outputs, stride>, large_only \
  }

constexpr Scheme kSchemes[] = {
    MINNOW_WINOGRAD_ROWS("conv.winograd_f2", 2, 1, false),
    MINNOW_WINOGRAD_ROWS("conv.winograd_f3", 3, 1, true),
    MINNOW_WINOGRAD_ROWS("conv.winograd_f4", 4, 1, false),
    MINNOW_WINOGRAD_ROWS("conv.winograd_f6", 6, 1, true),
    MINNOW_WINOGRAD_ROWS("conv.winograd_stride2_f2", 2, 2, true),
    MINNOW_WINOGRAD_ROWS("conv.winograd_stride2_f4", 4, 2, true),
    {"Conv", "conv.winograd_first_layer", estimate_first_layer, prepare_first_layer, kLargeOnly},
    {"minnow.FusedConv", "conv.winograd_first_layer", estimate_first_layer, prepare_first_layer, kLargeOnly},
};
#undef MINNOW_WINOGRAD_ROWS

}  // namespace

std::span<const Scheme> winograd_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

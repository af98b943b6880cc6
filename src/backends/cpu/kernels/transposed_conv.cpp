// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/transposed_conv.h"

#include <algorithm>

namespace minnow::cpu {
namespace {

// One axis of one phase: the outputs `first`, first + stride, ... (`count` of them) use the taps `tap`, tap + stride, ... (`taps` of
// them).
struct Axis {
  size_t tap, taps, first, count;
  ptrdiff_t pad;  // before the input, of the convolution by the reversed taps
};

Axis axis_of(size_t phase, size_t output, size_t kernel, size_t stride, size_t dilation, size_t pad) {
  const size_t skipped = pad > phase ? ceil_div(pad - phase, stride) : 0;  // positions before the output
  const size_t end = ceil_div(output + pad - phase, stride);               // output >= stride > phase
  Axis axis;
  axis.tap = phase;
  axis.taps = stride == 1 ? kernel : kernel > phase ? ceil_div(kernel - phase, stride) : 0;
  axis.first = skipped * stride + phase - pad;
  axis.count = end - skipped;
  axis.pad = static_cast<ptrdiff_t>((axis.taps - 1) * dilation) - static_cast<ptrdiff_t>(skipped);
  return axis;
}

template <class F>
void for_each_phase(const ConvShape& s, F f) {
  for (size_t y = 0; y < s.stride_h; ++y)
    for (size_t x = 0; x < s.stride_w; ++x) {
      const Axis vertical = axis_of(y, s.out_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top);
      const Axis horizontal = axis_of(x, s.out_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left);
      f(vertical, horizontal);
    }
}

ConvShape shape_of(const ConvShape& shape, const Axis& y, const Axis& x) {
  ConvShape s = shape;
  s.out_h = y.count, s.out_w = x.count;
  s.kernel_h = y.taps, s.kernel_w = x.taps;
  s.stride_h = s.stride_w = 1;
  s.pad_top = static_cast<size_t>(y.pad), s.pad_left = static_cast<size_t>(x.pad);
  return s;
}

}  // namespace

TransposedPhases::TransposedPhases(const ConvShape& s) {
  if ((s.stride_h > 1 && s.dilation_h > 1) || (s.stride_w > 1 && s.dilation_w > 1))
    refusal = "there are a stride and a dilation";
  else if (s.out_h < s.stride_h || s.out_w < s.stride_w)
    refusal = "the output is smaller than the stride";
  if (!refusal.empty()) return;
  for_each_phase(s, [&](const Axis& y, const Axis& x) {
    if (y.taps == 0 || x.taps == 0)
      leaves_gaps = true;
    else if (y.pad < 0 || x.pad < 0)
      refusal = "the padding is larger than what the kernel reaches";
    else
      shapes.push_back(shape_of(s, y, x));
  });
  if (!refusal.empty()) shapes.clear();
}

template <class Conv>
TransposedConv<Conv>::TransposedConv(const Kernels& kernels, const ConvShape& shape, const typename Conv::Options& options,
                                     const Epilogue& epilogue)
    : shape_(shape) {
  for_each_phase(shape, [&](const Axis& y, const Axis& x) {
    if (y.taps == 0 || x.taps == 0) return;
    const ConvShape s = shape_of(shape, y, x);
    typename Conv::Options of_phase = options;
    of_phase.grid = {shape.out_h, shape.out_w, y.first, x.first, shape.stride_h, shape.stride_w};
    const size_t ins = shape.in_channels / shape.groups, outs = shape.out_channels / shape.groups;
    size_t taps = shape.taps();
    if constexpr (!kTransforms) taps = options.slices ? options.slices->taps : taps;
    const size_t row = shape.stride_h * shape.kernel_w;
    of_phase.filter = {(y.tap * shape.kernel_w + x.tap) + (y.taps - 1) * row + (x.taps - 1) * shape.stride_w,
                       ins * outs * taps,
                       taps,
                       outs * taps,
                       -static_cast<ptrdiff_t>(row),
                       -static_cast<ptrdiff_t>(shape.stride_w)};
    phases_.push_back(
        {y.tap, x.tap, units_, weight_floats_, transforms_, shared_floats_, panels_, s, Conv(kernels, s, of_phase, epilogue)});
    const Conv& conv = phases_.back().conv;
    units_ += conv.units();
    weight_floats_ += conv.weight_floats();
    scratch_floats_ = std::max(scratch_floats_, conv.scratch_floats());
    panels_ += conv.panels();
    if constexpr (kTransforms) {
      transforms_ += conv.transform_units();
      shared_floats_ += conv.shared_floats();
    }
  });
}

template <class Conv>
void TransposedConv<Conv>::pack_weights(const float* iohw, float* out) const {
  for (size_t panel = 0; panel < panels_; ++panel) pack_panel(panel, iohw, out);
}

template class TransposedConv<GemmConv>;
template class TransposedConv<WinogradConv>;

}  // namespace minnow::cpu

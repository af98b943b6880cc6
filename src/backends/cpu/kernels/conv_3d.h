// SPDX-License-Identifier: Apache-2.0
// Convolutions with three spatial dimensions as sums of convolutions of slices: one for each tap along the first of them.
#pragma once
#include <algorithm>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/kernels.h"
#include "base/saturating.h"

namespace minnow::cpu {

/// `slice`: the two inner dimensions. Tap k of output slice o reads input slice o * stride + k * dilation - pad; transposed, tap k of input
/// slice i adds to output slice i * stride + k * dilation - pad.
struct Conv3dShape {
  ConvShape slice;
  size_t in_slices = 1, out_slices = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  bool transposed = false;

  /// The input slice that a tap of output slice `o` reads; in_slices or more where it reads none.
  size_t in_slice(size_t o, size_t tap) const noexcept {
    if (!transposed) return o * stride + tap * dilation - pad;  // wraps around before the first
    const size_t at = o + pad - tap * dilation;
    return at % stride == 0 ? at / stride : in_slices;
  }
  /// The last tap of output slice `o` that reads input; `kernel` where none does.
  size_t last_tap(size_t o) const noexcept {
    size_t tap = kernel;
    while (tap-- > 0)
      if (in_slice(o, tap) < in_slices) return tap;
    return kernel;
  }
};

/// Conv computes each slice: GemmConv, DepthwiseConv or TransposedConv, with packed images. Every output slice must read at least one input
/// slice.
template <class Conv>
class Conv3d {
 public:
  using Arguments = typename Conv::Arguments;

  Conv3d(const Kernels& kernels, const Conv3dShape& shape, typename Conv::Options options, const Epilogue& epilogue)
      : shape_(shape),
        in_slice_(shape.slice.in_h * shape.slice.in_w * kernels.lanes),
        out_slice_(shape.slice.out_h * shape.slice.out_w * kernels.lanes),
        sum_(kernels, shape.slice, with_slices(options, shape), Epilogue{}),
        last_(kernels, shape.slice, with_slices(options, shape), epilogue) {}

  size_t weight_floats() const noexcept { return product_of({shape_.kernel, sum_.weight_floats()}); }
  /// From [out channel][in channel of the group][kernel of slices][kernel_h][kernel_w], the channels in the order that Conv takes.
  void pack_weights(const float* weights, float* out) const noexcept {
    for (size_t panel = 0; panel < panels(); ++panel) pack_panel(panel, weights, out);
  }
  /// All of it in parts that may be packed at the same time.
  size_t panels() const noexcept { return shape_.kernel * sum_.panels(); }
  void pack_panel(size_t panel, const float* weights, float* out) const noexcept {
    const size_t each = sum_.panels(), tap = panel / each;
    sum_.pack_panel(panel % each, weights + tap * shape_.slice.taps(), out + tap * sum_.weight_floats());
  }
  size_t bias_floats() const noexcept { return sum_.bias_floats(); }
  void pack_bias(const float* bias, float* out) const noexcept { sum_.pack_bias(bias, out); }

  size_t units() const noexcept { return product_of({shape_.out_slices, sum_.units()}); }
  size_t scratch_floats() const noexcept { return std::max(sum_.scratch_floats(), last_.scratch_floats()); }
  void run(size_t unit, const Arguments& arguments, float* scratch) const noexcept {
    const size_t each = sum_.units(), slice = unit / each;
    const size_t last = shape_.last_tap(slice);
    Arguments a = arguments;
    a.y += slice * out_slice_;
    if (a.add) a.add += slice * out_slice_;
    for (size_t tap = 0; tap <= last; ++tap) {
      const size_t from = shape_.in_slice(slice, tap);
      if (from >= shape_.in_slices) continue;
      a.x = arguments.x + from * in_slice_;
      a.w = arguments.w + tap * sum_.weight_floats();
      (tap == last ? last_ : sum_).run(unit % each, a, scratch);
      a.bias = nullptr;  // the first sums in y already contain it
      a.add = a.y;
    }
  }

 private:
  static typename Conv::Options with_slices(typename Conv::Options options, const Conv3dShape& shape) {
    const ConvShape& s = shape.slice;
    options.slices = {shape.in_slices * s.in_h * s.in_w, shape.out_slices * s.out_h * s.out_w, shape.kernel * s.taps()};
    return options;
  }
  Conv3dShape shape_;
  size_t in_slice_, out_slice_;  // floats of a slice of one vector of channels
  Conv sum_, last_;              // last_ finishes the sums
};

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/window.h"
#include "base/saturating.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

// Every `stride`-th pixel of kElement floats (0: of `element`).
template <size_t kElement>
void gather(const float* from, size_t stride, size_t count, size_t element, float* to) {
  const size_t size = kElement ? kElement : element;
  for (size_t i = 0; i < count; ++i)
    for (size_t e = 0; e < size; ++e) to[i * size + e] = from[i * stride * size + e];
}

}  // namespace

Window::Window(const LayoutKernels& kernels, const ConvShape& s, size_t element)
    : kernels_(&kernels),
      in_h_(s.in_h),
      in_w_(s.in_w),
      stride_h_(s.stride_h),
      stride_w_(s.stride_w),
      dilation_h_(s.dilation_h),
      extent_h_(s.extent_h()),
      pad_top_(s.pad_top),
      pad_left_(s.pad_left),
      element_(element),
      step_h_(std::min(s.stride_h, s.extent_h())) {
  size_t most = 0;
  for (size_t kx = 0; kx < s.kernel_w; ++kx) {
    const size_t phase = kx * s.dilation_w % s.stride_w;
    if (std::find(phases_.begin(), phases_.end(), phase) == phases_.end()) phases_.push_back(phase);
    most = std::max(most, kx * s.dilation_w / s.stride_w);
  }
  columns_ = s.out_w + most;
  row_ = product_of({phases_.size(), columns_, element_});
  for (size_t kx = 0; kx < s.kernel_w; ++kx) {
    const size_t place = kx * s.dilation_w;
    const size_t phase = static_cast<size_t>(std::find(phases_.begin(), phases_.end(), place % s.stride_w) - phases_.begin());
    tap_columns_.push_back((phase * columns_ + place / s.stride_w) * element_);
  }
}

template <class Move, class Clear>
void Window::for_each_run(size_t first, size_t rows, Move move, Clear clear) const noexcept {
  const size_t count = in_rows(rows);
  for (size_t r = 0; r < count; ++r) {
    // Row of the input counted from the top of the padding.
    const size_t place = step_h_ == stride_h_ ? first * stride_h_ + r : (first + r / step_h_) * stride_h_ + r % step_h_;
    size_t to = r * row_;
    if (place < pad_top_ || place - pad_top_ >= in_h_) {
      clear(to, row_);
      continue;
    }
    const size_t from = (place - pad_top_) * in_w_ * element_;
    for (size_t phase : phases_) {
      // Column i of this phase is input column i * stride + phase - pad_left.
      const size_t begin = phase >= pad_left_ ? 0 : std::min(columns_, (pad_left_ - phase + stride_w_ - 1) / stride_w_);
      const size_t end =
          in_w_ + pad_left_ <= phase ? begin : std::max(begin, std::min(columns_, (in_w_ + pad_left_ - phase + stride_w_ - 1) / stride_w_));
      clear(to, begin * element_);
      if (begin != end) move(end - begin, from + (begin * stride_w_ + phase - pad_left_) * element_, to + begin * element_);
      clear(to + end * element_, (columns_ - end) * element_);
      to += columns_ * element_;
    }
  }
}

void Window::copy(const float* image, size_t first, size_t rows, float* out) const noexcept {
  const auto move = [&](size_t columns, size_t from, size_t to) {
    const float* source = image + from;
    float* target = out + to;
    if (stride_w_ == 1) {
      std::memcpy(target, source, columns * element_ * sizeof(float));
    } else if (element_ == 1) {
      stride_w_ == 2 ? kernels_->every_other(source, columns, target) : gather<1>(source, stride_w_, columns, 1, target);
    } else if (element_ == 16) {
      gather<16>(source, stride_w_, columns, 16, target);
    } else if (element_ == 8) {
      gather<8>(source, stride_w_, columns, 8, target);
    } else if (element_ == 4) {
      gather<4>(source, stride_w_, columns, 4, target);
    } else {
      gather<0>(source, stride_w_, columns, element_, target);
    }
  };
  for_each_run(first, rows, move, [&](size_t to, size_t count) { std::memset(out + to, 0, count * sizeof(float)); });
}

void Window::copy_channels(const float* image, size_t channels, size_t first, size_t rows, float* out) const noexcept {
  const size_t plane = this->plane(rows);
  const auto move = [&](size_t columns, size_t from, size_t to) {
    kernels_->transpose(image + from * channels, stride_w_ * channels, columns, channels, out + to, plane);
  };
  const auto clear = [&](size_t to, size_t count) {
    for (size_t c = 0; c < channels; ++c) std::memset(out + c * plane + to, 0, count * sizeof(float));
  };
  for_each_run(first, rows, move, clear);
}

}  // namespace minnow::cpu

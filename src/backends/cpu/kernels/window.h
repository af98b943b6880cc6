// SPDX-License-Identifier: Apache-2.0
// A zero-bordered copy of some rows of an image, in which neighbouring outputs find neighbouring inputs whatever the stride is: the kernels
// that read it know neither borders nor strides.
#pragma once
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/layout.h"
#include "base/saturating.h"

namespace minnow::cpu {

/// Rows of columns of `element` floats, the columns of a row sorted by their place modulo the stride ("phases").
class Window {
 public:
  Window() = default;
  /// `element`: floats per pixel of a plane: c in a packed image, 1 in a plain one.
  Window(const LayoutKernels& kernels, const ConvShape& shape, size_t element);

  /// Floats of one plane that serves `rows` rows of output.
  size_t plane(size_t rows) const noexcept { return product_of({in_rows(rows), row_}); }
  /// Floats between the inputs of neighbouring rows of output.
  size_t row_step() const noexcept { return step_h_ * row_; }
  /// Where tap (ky, kx) of the output at the upper left finds its input.
  size_t tap(size_t ky, size_t kx) const noexcept { return ky * dilation_h_ * row_ + tap_columns_[kx]; }

  /// Copies the part of the plane `image` that the output rows [first, first + rows) read to `out`.
  void copy(const float* image, size_t first, size_t rows, float* out) const noexcept;
  /// The same for all `channels` of a channels-last image; the resulting planes of one float per pixel are plane(rows) apart.
  void copy_channels(const float* image, size_t channels, size_t first, size_t rows, float* out) const noexcept;

 private:
  // For each row and phase, calls move(columns, source, target) for the columns within the image, with positions in floats of one plane,
  // and clear(target, count) for floats that are zero.
  template <class Move, class Clear>
  void for_each_run(size_t first, size_t rows, Move move, Clear clear) const noexcept;
  size_t in_rows(size_t rows) const noexcept { return rows == 0 ? 0 : (rows - 1) * step_h_ + extent_h_; }
  const LayoutKernels* kernels_ = nullptr;
  size_t in_h_ = 0, in_w_ = 0, stride_h_ = 1, stride_w_ = 1, dilation_h_ = 1, extent_h_ = 1, pad_top_ = 0, pad_left_ = 0, element_ = 1;
  size_t step_h_ = 1;                // window rows between rows of output; less than the stride where rows between are never read
  size_t columns_ = 0;               // of one phase
  size_t row_ = 0;                   // floats of one row
  std::vector<size_t> phases_;       // positions modulo the stride that some tap reads
  std::vector<size_t> tap_columns_;  // floats from a row's beginning, by kx
};

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// The loops that every product of matrices and every convolution among the references goes through: plain, but with contiguous inner loops
// and sums held in registers, because tests run whole models on them.
#pragma once
#include <vector>

#include "graph/matmul.h"
#include "graph/window.h"
#include "ops/operator.h"

namespace minnow {

/// A matrix of T with strides in elements.
template <class T>
struct MatrixView {
  T* data;
  int64_t row, column = 1;
};

/// c[m, n] += a[m, k] * b[k, n]; terms are added in the order of k. b and c need column stride 1.
/// T: double, or uint64_t for integers of any sign, which wrap around.
template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);

/// y[batch, m, n] += the product of a and b. T as of multiply_add.
template <class T>
void multiply(const MatMulGeometry& product, const T* a, const T* b, T* y);

/// Where the taps of consecutive windows lie in one channel of the input.
class WindowPositions {
 public:
  explicit WindowPositions(const WindowGeometry& window) : window_(&window) {}
  /// Makes the table for windows [first, first + count), in row-major order of the output.
  void seek(int64_t first, int64_t count);
  int64_t count() const noexcept { return count_; }
  /// Place that tap `tap` of the i-th of these windows reads, -1 for padding; taps in row-major order of the kernel.
  const int64_t* of_tap(int64_t tap) const noexcept { return positions_.data() + tap * count_; }

 private:
  const WindowGeometry* window_;
  int64_t count_ = 0;
  Numbers<int64_t> positions_;
};

/// A result [batch, channels, positions] that begins as the bias of each channel, or as zero where input `bias` is absent.
Numbers<double> begin_with_bias(const KernelArgs& args, size_t bias, int64_t batch, int64_t channels, int64_t positions);

/// Windows to handle at once, so that `rows` values for each stay within the second-level cache.
int64_t windows_at_once(int64_t rows);

/// y[batch, out_channels, positions] += the convolution of x and w, all dense. T as of multiply_add.
template <class T>
void convolve(const ConvGeometry& conv, const T* x, const T* w, T* y);

/// y[batch, out_channels, positions] += the transposed convolution of x and w.
void convolve_transposed(const ConvTransposeGeometry& conv, const double* x, const double* w, double* y);

}  // namespace minnow

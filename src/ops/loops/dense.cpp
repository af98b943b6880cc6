// SPDX-License-Identifier: Apache-2.0
#include "ops/dense.h"

#include <algorithm>
#include <array>

#include "base/memory.h"
#include "base/watch.h"

namespace minnow {
namespace {

constexpr int64_t kColumns = 16;  // sums kept in registers: sixteen doubles are eight vectors of the least x86-64 has

template <class T>
void multiply_row(int64_t n, int64_t k, const T* a, int64_t a_step, MatrixView<const T> b, T* c) {
  int64_t j = 0;
  for (; j + kColumns <= n; j += kColumns) {
    T sums[kColumns];
    std::copy_n(c + j, kColumns, sums);
    for (int64_t i = 0; i < k; ++i) {
      const T left = a[i * a_step];
      const T* right = b.data + i * b.row + j;
      for (int64_t s = 0; s < kColumns; ++s) sums[s] += left * right[s];
    }
    std::copy_n(sums, kColumns, c + j);
  }
  if (j == n) return;
  const int64_t rest = n - j;
  for (int64_t i = 0; i < k; ++i) {
    const T left = a[i * a_step];
    const T* right = b.data + i * b.row + j;
    for (int64_t s = 0; s < rest; ++s) c[j + s] += left * right[s];
  }
}

}  // namespace

template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  // A block of b that the second-level cache holds is used by every row of a before the next one.
  const int64_t block = windows_at_once(k);
  Pace pace;
  for (int64_t first = 0; first < n; first += block)
    for (int64_t i = 0; i < m; ++i, pace.step(static_cast<size_t>(std::min(block, n - first) * k)))
      multiply_row<T>(std::min(block, n - first), k, a.data + i * a.row, a.column, {b.data + first, b.row}, c.data + i * c.row + first);
}
template void multiply_add(int64_t, int64_t, int64_t, MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void multiply_add(int64_t, int64_t, int64_t, MatrixView<const uint64_t>, MatrixView<const uint64_t>, MatrixView<uint64_t>);

template <class T>
void multiply(const MatMulGeometry& p, const T* a, const T* b, T* y) {
  const int64_t batches = p.batches();
  Pace pace;
  if (p.transpose_b && p.m < 8) {  // turning b around would cost more than the product
    for (int64_t i = 0; i < batches; ++i, y += p.m * p.n) {
      const T *left = a + p.a_matrix(i) * p.m * p.k, *right = b + p.b_matrix(i) * p.k * p.n;
      for (int64_t r = 0; r < p.m; ++r)
        for (int64_t c = 0; c < p.n; ++c, pace.step(static_cast<size_t>(p.k))) {
          T sum = y[r * p.n + c];
          for (int64_t k = 0; k < p.k; ++k) sum += left[p.transpose_a ? k * p.m + r : r * p.k + k] * right[c * p.k + k];
          y[r * p.n + c] = sum;
        }
    }
    return;
  }
  // Rows of b have to be contiguous.
  Numbers<T> turned(p.transpose_b ? static_cast<size_t>(p.k * p.n) : 0);
  int64_t turned_matrix = -1;
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t matrix = p.b_matrix(i);
    const T *left = a + p.a_matrix(i) * p.m * p.k, *right = b + matrix * p.k * p.n;
    if (p.transpose_b) {
      if (matrix != turned_matrix)
        for (int64_t r = 0; r < p.n; ++r, pace.step(static_cast<size_t>(p.k)))
          for (int64_t c = 0; c < p.k; ++c) turned[static_cast<size_t>(c * p.n + r)] = right[r * p.k + c];
      turned_matrix = matrix;
      right = turned.data();
    }
    multiply_add<T>(p.m, p.n, p.k, {left, p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1}, {right, p.n}, {y + i * p.m * p.n, p.n});
  }
}
template void multiply(const MatMulGeometry&, const double*, const double*, double*);
template void multiply(const MatMulGeometry&, const uint64_t*, const uint64_t*, uint64_t*);

int64_t windows_at_once(int64_t rows) {
  constexpr int64_t kValues = 64 << 10;  // 512 KiB of doubles
  return std::clamp<int64_t>(kValues / std::max<int64_t>(rows, 1) / kColumns * kColumns, kColumns, 4096);
}

Numbers<double> begin_with_bias(const KernelArgs& args, size_t bias, int64_t batch, int64_t channels, int64_t positions) {
  Numbers<double> y(static_cast<size_t>(batch * channels * positions));
  if (!args.has_input(bias)) return y;
  const Numbers<double> b = args.reals(bias);
  for (int64_t image = 0; image < batch * channels; ++image)
    std::fill_n(y.begin() + image * positions, positions, b[static_cast<size_t>(image % channels)]);
  return y;
}

void WindowPositions::seek(int64_t first, int64_t count) {
  const WindowGeometry& w = *window_;
  const size_t rank = w.rank();
  const int64_t taps = w.taps();
  count_ = count;
  check_memory(static_cast<size_t>(taps * count) * sizeof(int64_t), "a table of windows");
  positions_.resize(static_cast<size_t>(taps * count));
  std::array<int64_t, kMaxRank> at{}, tap{};
  Pace pace;
  int64_t rest = first;
  for (size_t i = rank; i-- > 0; rest /= w.output[i]) at[i] = rest % w.output[i];
  for (int64_t window = 0; window < count; ++window) {
    tap.fill(0);
    for (int64_t t = 0; t < taps; ++t, pace.step()) {
      int64_t place = 0;
      for (size_t i = 0; i < rank; ++i) {
        const int64_t along = at[i] * w.stride[i] + tap[i] * w.dilation[i] - w.pad_begin[i];
        if (along < 0 || along >= w.input[i]) {
          place = -1;
          break;
        }
        place = place * w.input[i] + along;
      }
      positions_[static_cast<size_t>(t * count + window)] = place;
      for (size_t i = rank; i-- > 0 && ++tap[i] == w.kernel[i];) tap[i] = 0;
    }
    for (size_t i = rank; i-- > 0 && ++at[i] == w.output[i];) at[i] = 0;
  }
}

template <class T>
void convolve(const ConvGeometry& conv, const T* x, const T* w, T* y) {
  const int64_t taps = conv.window.taps(), channels = conv.in_channels_per_group(), filters = conv.out_channels_per_group();
  const int64_t inputs = conv.window.input_positions(), outputs = conv.window.output_positions(), rows = channels * taps;
  if (conv.batch == 0 || filters == 0) return;
  const bool pointwise = conv.window.is_pointwise();
  const int64_t block = pointwise ? std::max<int64_t>(outputs, 1) : windows_at_once(rows);
  WindowPositions positions(conv.window);
  Pace pace;
  Numbers<T> columns(pointwise ? 0 : static_cast<size_t>(rows * std::min(block, outputs)));
  for (int64_t first = 0; first < outputs; first += block) {
    const int64_t count = std::min(block, outputs - first);
    if (!pointwise) positions.seek(first, count);
    for (int64_t image = 0; image < conv.batch * conv.groups; ++image) {
      const T* from = x + image * channels * inputs;
      if (!pointwise) {
        T* column = columns.data();
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t t = 0; t < taps; ++t, column += count) {
            pace.step(static_cast<size_t>(count));
            const int64_t* at = positions.of_tap(t);
            for (int64_t i = 0; i < count; ++i) column[i] = at[i] < 0 ? T(0) : from[c * inputs + at[i]];
          }
      }
      multiply_add<T>(filters, count, rows, {w + image % conv.groups * filters * rows, rows},
                      {pointwise ? from : columns.data(), pointwise ? inputs : count}, {y + image * filters * outputs + first, outputs});
    }
  }
}
template void convolve(const ConvGeometry&, const double*, const double*, double*);
template void convolve(const ConvGeometry&, const uint64_t*, const uint64_t*, uint64_t*);

void convolve_transposed(const ConvTransposeGeometry& conv, const double* x, const double* w, double* y) {
  const int64_t taps = conv.window.taps(), channels = conv.in_channels_per_group(), filters = conv.out_channels_per_group();
  const int64_t inputs = conv.window.output_positions(), outputs = conv.window.input_positions(), rows = filters * taps;
  if (conv.batch == 0 || filters == 0) return;
  const int64_t block = windows_at_once(rows);
  WindowPositions positions(conv.window);
  Pace pace;
  Numbers<double> columns(static_cast<size_t>(rows * std::min(block, inputs)));
  for (int64_t first = 0; first < inputs; first += block) {
    const int64_t count = std::min(block, inputs - first);
    positions.seek(first, count);
    for (int64_t image = 0; image < conv.batch * conv.groups; ++image) {
      std::fill(columns.begin(), columns.end(), 0.0);
      multiply_add<double>(rows, count, channels, {w + image % conv.groups * channels * rows, 1, rows},
                           {x + image * channels * inputs + first, inputs}, {columns.data(), count});
      double* to = y + image * filters * outputs;
      const double* column = columns.data();
      for (int64_t f = 0; f < filters; ++f, to += outputs)
        for (int64_t t = 0; t < taps; ++t, column += count) {
          pace.step(static_cast<size_t>(count));
          const int64_t* at = positions.of_tap(t);
          for (int64_t i = 0; i < count; ++i)
            if (at[i] >= 0) to[at[i]] += column[i];
        }
    }
  }
}

}  // namespace minnow

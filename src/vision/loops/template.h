// SPDX-License-Identifier: Apache-2.0
// Loops of matchTemplate(), over results of a row.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::vision {

struct TemplateNorm {
  bool difference, normed;
  double squares, norm;  // of the template: the sum of its squares and its root, or that of its deviations
  float other;           // where a quotient is neither near nor below 1
};

struct TemplateLoops {
  /// value += add; difference: squares - 2 value + those of the template; normed: divided by the root of squares - means times the norm.
  void (*finish32)(const float* products, const double* add, const double* means, const double* squares, const TemplateNorm& norm, size_t n,
                   float* out);
  void (*finish64)(const double* products, const double* add, const double* means, const double* squares, const TemplateNorm& norm,
                   size_t n, float* out);
  /// Sums of columns, and of their squares, plus a row `in`, less a row `out`.
  void (*slide)(const uint8_t* in, const uint8_t* out, size_t n, uint32_t* sums, uint32_t* squares);
  /// sums[x] = columns[x] + ... + columns[x + window - 1] for x < n, below 2^31. `work`: n + window numbers.
  void (*windows)(const uint32_t* columns, size_t window, size_t n, uint32_t* work, double* sums);
  /// to[i] = from[i] - less
  void (*bytes)(const uint8_t* from, float less, size_t n, float* to);
};
const TemplateLoops& template_loops();

}  // namespace minnow::vision

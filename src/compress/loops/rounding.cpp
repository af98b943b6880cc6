// SPDX-License-Identifier: Apache-2.0
#include "compress/rounding.h"

#include <algorithm>
#include <cmath>

#include "base/watch.h"

namespace minnow::compress {

std::vector<double> root_of_inverse(std::vector<double> a, size_t n) {
  // A = R R' with an upper triangle R, from the last column on; then U = inverse(R). Both loops go along rows.
  std::vector<double> column(n);
  for (size_t j = n; j-- > 0;) {
    const double pivot = a[j * n + j];
    if (!(pivot > 0)) return {};
    const double root = std::sqrt(pivot);
    for (size_t i = 0; i < j; ++i) a[i * n + j] = column[i] = a[j * n + i] / root;
    a[j * n + j] = root;
    for (size_t i = 0; i < j; ++i) {
      // The lower triangle keeps what is left of A.
      double* __restrict row = a.data() + i * n;
      const double factor = column[i];
      for (size_t k = 0; k <= i; ++k) row[k] -= factor * column[k];
    }
  }
  std::vector<double> result(n * n, 0);
  for (size_t i = n; i-- > 0;) {
    double* __restrict row = result.data() + i * n;
    for (size_t m = i + 1; m < n; ++m) {
      const double factor = a[i * n + m];
      const double* from = result.data() + m * n;
      for (size_t k = m; k < n; ++k) row[k] -= factor * from[k];
    }
    const double pivot = a[i * n + i];
    for (size_t k = i + 1; k < n; ++k) row[k] /= pivot;
    row[i] = 1 / pivot;
  }
  return result;
}

namespace {

template <class F>
void for_blocks(const Rows& rows, const Gram& gram, F&& f) {
  const size_t outputs = rows.channels / gram.groups();
  for (size_t g = 0; g < gram.groups(); ++g)
    for (const Gram::Block& block : gram.blocks(g)) {
      Watch::check();
      f(block, g * outputs, (g + 1) * outputs);
    }
}

// Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers": each weight in turn is rounded, and
// the weights behind it take up its error.
void gptq(const Rows& rows, IntegerRows& integers, int most, const Gram& gram) {
  for_blocks(rows, gram, [&](const Gram::Block& block, size_t first, size_t end) {
    const size_t n = block.size;
    std::vector<double> matrix = block.matrix;
    double mean = 0;
    for (size_t i = 0; i < n; ++i) mean += matrix[i * n + i] / static_cast<double>(n);
    if (!(mean > 0)) return;
    for (size_t i = 0; i < n; ++i) matrix[i * n + i] += 0.01 * mean;
    const std::vector<double> root = root_of_inverse(std::move(matrix), n);
    if (root.empty()) return;
    std::vector<double> w(n);
    for (size_t c = first; c < end; ++c) {
      const double scale = static_cast<double>(integers.scale(c));
      for (size_t i = 0; i < n; ++i) w[i] = static_cast<double>(rows.row(c)[block.begin + i]);
      for (size_t i = 0; i < n; ++i) {
        const double integer = std::clamp(std::nearbyint(w[i] / scale), static_cast<double>(-most), static_cast<double>(most));
        integers.values[c * rows.depth + block.begin + i] = static_cast<int8_t>(integer);
        const double error = (w[i] - scale * integer) / root[i * n + i];
        for (size_t k = i + 1; k < n; ++k) w[k] -= error * root[i * n + k];
      }
    }
  });
}

// The objective of Nagel et al., "Up or Down? Adaptive Rounding for Post-Training Quantization". Weights change by one step, one after the
// other, as long as the error of the output falls; nothing is random.
void descend(const Rows& rows, IntegerRows& integers, int most, const Gram& gram) {
  constexpr int kMostSweeps = 50;
  for_blocks(rows, gram, [&](const Gram::Block& block, size_t first, size_t end) {
    const size_t n = block.size;
    std::vector<double> slope(n);  // half of the derivative by each error
    for (size_t c = first; c < end; ++c) {
      const double scale = static_cast<double>(integers.scale(c));
      int8_t* q = integers.values.data() + c * rows.depth + block.begin;
      std::fill(slope.begin(), slope.end(), 0);
      for (size_t i = 0; i < n; ++i) {
        const double error = scale * q[i] - static_cast<double>(rows.row(c)[block.begin + i]);
        for (size_t k = 0; k < n; ++k) slope[k] += error * block.matrix[i * n + k];
      }
      bool changed = true;
      for (int sweep = 0; sweep < kMostSweeps && changed; ++sweep) {
        changed = false;
        for (size_t i = 0; i < n; ++i) {
          const int step = slope[i] > 0 ? -1 : 1;
          // The error changes by 2 step slope + step^2 matrix; a little must be gained, or sums would go on for their last bits.
          const double gain = scale * (2 * std::fabs(slope[i]) - scale * block.matrix[i * n + i]);
          if (gain <= 1e-9 * scale * std::fabs(slope[i]) || std::abs(q[i] + step) > most) continue;
          // Up or down: no weight goes further than the next integer on either side.
          const double error = scale * (q[i] + step) - static_cast<double>(rows.row(c)[block.begin + i]);
          if (std::fabs(error) >= scale) continue;
          q[i] = static_cast<int8_t>(q[i] + step);
          for (size_t k = 0; k < n; ++k) slope[k] += scale * step * block.matrix[i * n + k];
          changed = true;
        }
      }
    }
  });
}

constexpr RoundingMethod kMethods[] = {
    {"nearest", "each weight to the nearest integer", nullptr},
    {"adaround", "up or down, whichever together keep the layer's output nearest", descend},
    {"gptq", "one after the other; the rest take up the errors", gptq},
};

}  // namespace

std::span<const RoundingMethod> rounding_methods() { return kMethods; }

const RoundingMethod* rounding_method(std::string_view name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const RoundingMethod& each) { return each.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

double output_error(const Rows& rows, const IntegerRows& integers, const Gram& gram) {
  double sum = 0;
  for_blocks(rows, gram, [&](const Gram::Block& block, size_t first, size_t end) {
    for (size_t c = first; c < end; ++c)
      for (size_t i = 0; i < block.size; ++i)
        for (size_t k = 0; k < block.size; ++k) {
          const auto error = [&](size_t at) {
            return static_cast<double>(integers.scale(c)) * integers.values[c * rows.depth + block.begin + at] -
                   static_cast<double>(rows.row(c)[block.begin + at]);
          };
          sum += error(i) * error(k) * block.matrix[i * block.size + k];
        }
  });
  return sum;
}

}  // namespace minnow::compress

// SPDX-License-Identifier: Apache-2.0
#include "compress/blocks.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "base/parallel.h"
#include "base/watch.h"

namespace minnow::compress {
namespace {

float half_of(float value) { return f32_from_f16(f16_from_f32(value)); }

float clamped(float value, float most) { return std::min(std::max(value, 0.0F), most); }

BlockGrid grid_between(float low, float high, const BlockForm& form) {
  BlockGrid grid;
  const float most = static_cast<float>(form.most()), middle = static_cast<float>(form.middle());
  if (form.symmetric) {
    // The integers reach one step further below the middle: the largest magnitude goes there, whatever its sign is.
    const float largest = -low > high ? low : high;
    grid = {largest / -middle, middle};
  } else {
    low = std::min(low, 0.0F), high = std::max(high, 0.0F);
    grid.scale = (high - low) / most;
  }
  if (form.half) grid.scale = half_of(grid.scale);
  if (!form.symmetric && grid.scale > 0) grid.zero = clamped(nearest_integer(-low / grid.scale), most);
  return grid;
}

float error_of(std::span<const float> weights, std::span<const float> importance, const BlockGrid& grid, float most) {
  const float per_scale = 1 / grid.scale;
  float sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const float integer = clamped(nearest_integer(weights[i] * per_scale) + grid.zero, most);
    const float error = weights[i] - grid.scale * (integer - grid.zero);
    sum += error * error * (importance.empty() ? 1 : importance[i]);
  }
  return sum;
}

/// |x|^0.7 and its proximal step: what is left of x when outliers are set apart.
constexpr float kPower = 0.7F;
float outlier_of(float x, float beta) {
  const float size = std::fabs(x);
  if (size <= std::pow(1 / beta, 1 / (2 - kPower))) return 0;
  return std::copysign(std::max(size - std::pow(size, kPower - 1) / beta, 0.0F), x);
}

/// Improves a grid by half-quadratic steps.
BlockGrid half_quadratic(std::span<const float> weights, const BlockGrid& first, const BlockForm& form, bool integer_zeros) {
  if (first.scale == 0) return first;
  constexpr int kMostRounds = 20;
  const float most = static_cast<float>(form.most());
  const auto cost = [&](const BlockGrid& grid) {
    double sum = 0;
    for (const float w : weights)
      sum += std::pow(static_cast<double>(std::fabs(w - grid.number(grid.nearest(w, form.most())))), static_cast<double>(kPower));
    return sum;
  };
  BlockGrid best = first, grid = first;
  double least = cost(first);
  float beta = 10;
  const float unit = std::fabs(first.scale);
  for (int round = 0; round < kMostRounds; ++round, beta *= 1.01F) {
    double sum = 0, squares = 0;
    for (const float w : weights) {
      const uint8_t integer = grid.nearest(w, form.most());
      const float kept = w - unit * outlier_of((w - grid.number(integer)) / unit, beta);
      if (form.symmetric) {
        const double steps = static_cast<double>(integer) - form.middle();
        sum += static_cast<double>(kept) * steps, squares += steps * steps;
      } else {
        sum += static_cast<double>(integer) - static_cast<double>(kept / grid.scale);
      }
    }
    if (form.symmetric) {
      if (squares == 0) break;
      grid.scale = static_cast<float>(sum / squares);
      if (form.half) grid.scale = half_of(grid.scale);
      if (grid.scale == 0) break;
    } else {
      grid.zero = clamped(static_cast<float>(sum / static_cast<double>(weights.size())), most);
      if (integer_zeros)
        grid.zero = nearest_integer(grid.zero);
      else if (form.half)
        grid.zero = half_of(grid.zero);
    }
    const double now = cost(grid);
    if (now >= least) break;
    best = grid, least = now;
  }
  return best;
}

template <class F>
BlockRows rounded_by(const Rows& rows, const BlockForm& form, int64_t cost, F&& grid_for) {
  BlockRows result(form, rows.channels, rows.depth);
  in_parts(static_cast<int64_t>(rows.channels), cost * static_cast<int64_t>(rows.depth), [&](int64_t first, int64_t last) {
    for (size_t c = static_cast<size_t>(first); c < static_cast<size_t>(last); ++c) {
      Watch::check();
      for (size_t b = 0; b < result.blocks(); ++b) {
        const size_t begin = b * form.block, count = std::min(form.block, rows.depth - begin);
        const BlockGrid grid = grid_for(std::span(rows.row(c) + begin, count), begin);
        result.grids_of(c)[b] = grid;
        for (size_t i = begin; i < begin + count; ++i) result.integers[c * rows.depth + i] = grid.nearest(rows.row(c)[i], form.most());
      }
    }
  });
  return result;
}

}  // namespace

uint8_t BlockGrid::nearest(float weight, int most) const noexcept {
  // A scale of 0 stands for a block of zeros; a zero point that is no integer moves the place of rounding.
  if (scale == 0) return static_cast<uint8_t>(zero);
  return static_cast<uint8_t>(clamped(nearest_integer(std::clamp(weight / scale, -1e6F, 1e6F) + zero), static_cast<float>(most)));
}

bool fit_half(const Rows& rows, const BlockForm& form) {
  constexpr float kLeast = 0x1p-11F, kMost = 32768;  // searches make scales smaller; normal numbers of f16 begin at 2^-14
  for (size_t c = 0; c < rows.channels; ++c)
    for (size_t begin = 0; begin < rows.depth; begin += form.block) {
      const std::span<const float> block(rows.row(c) + begin, std::min(form.block, rows.depth - begin));
      const auto [low, high] = std::minmax_element(block.begin(), block.end());
      const float scale = std::max(-*low, *high) / static_cast<float>(form.most());
      if (scale != 0 && (scale < kLeast * 0.25F || scale > kMost)) return false;
    }
  return true;
}

BlockGrid grid_of(std::span<const float> weights, std::span<const float> importance, const BlockForm& form, bool search) {
  const auto [lowest, highest] = std::minmax_element(weights.begin(), weights.end());
  const float low = *lowest, high = *highest;
  BlockGrid best = grid_between(low, high, form);
  if (!search || best.scale == 0) return best;
  const float most = static_cast<float>(form.most());
  float least = error_of(weights, importance, best, most);
  constexpr int kSteps = 24;
  const float narrowest = form.bits <= 3 ? 0.4F : 0.6F;
  for (int i = 1; i <= kSteps; ++i) {
    const float part = 1 - (1 - narrowest) * static_cast<float>(i) / kSteps;
    const BlockGrid grid = grid_between(part * low, part * high, form);
    if (grid.scale == 0) break;
    if (const float error = error_of(weights, importance, grid, most); error < least) least = error, best = grid;
  }
  return best;
}

BlockRows round_blocks(const Rows& rows, const BlockForm& form, bool search, std::span<const float> importance) {
  return rounded_by(rows, form, search ? 30 : 2, [&](std::span<const float> weights, size_t begin) {
    return grid_of(weights, importance.empty() ? importance : importance.subspan(begin, weights.size()), form, search);
  });
}

BlockRows round_half_quadratic(const Rows& rows, const BlockForm& form, bool integer_zeros) {
  BlockRows result = rounded_by(rows, form, 200, [&](std::span<const float> weights, size_t) {
    return half_quadratic(weights, grid_of(weights, {}, form, false), form, integer_zeros);
  });
  result.real_zeros = !form.symmetric && !integer_zeros;
  return result;
}

BlockRows round_gptq(const Rows& rows, const BlockForm& form, bool search, const Gram& gram) {
  constexpr size_t kTile = 8;  // rows that share the traffic of the triangle
  BlockRows result(form, rows.channels, rows.depth);
  const size_t outputs = rows.channels / gram.groups();
  for (size_t g = 0; g < gram.groups(); ++g)
    for (const Gram::Block& block : gram.blocks(g)) {
      const size_t n = block.size;
      std::vector<double> matrix = block.matrix;
      double mean = 0;
      for (size_t i = 0; i < n; ++i) mean += matrix[i * n + i] / static_cast<double>(n);
      std::vector<float> importance(n);
      for (size_t i = 0; i < n; ++i) {
        importance[i] = static_cast<float>(matrix[i * n + i]);
        matrix[i * n + i] += mean > 0 ? 0.01 * mean : 1;
      }
      std::vector<double> root = root_of_inverse(std::move(matrix), n);
      if (root.empty()) {  // sums that are no numbers: no error moves
        root.assign(n * n, 0);
        for (size_t i = 0; i < n; ++i) root[i * n + i] = 1;
      }
      const bool weighs = mean > 0;
      in_parts(static_cast<int64_t>((outputs + kTile - 1) / kTile), static_cast<int64_t>(kTile * n * n), [&](int64_t first, int64_t last) {
        std::vector<double> w(kTile * n);
        std::vector<float> values(form.block);
        for (size_t tile = static_cast<size_t>(first); tile < static_cast<size_t>(last); ++tile) {
          Watch::check();
          const size_t channel = g * outputs + tile * kTile, count = std::min(kTile, (g + 1) * outputs - channel);
          for (size_t c = 0; c < count; ++c)
            for (size_t i = 0; i < n; ++i) w[c * n + i] = static_cast<double>(rows.row(channel + c)[block.begin + i]);
          for (size_t i = 0; i < n; ++i) {
            const size_t b = (block.begin + i) / form.block;
            for (size_t c = 0; c < count; ++c) {
              double* row = w.data() + c * n;
              BlockGrid& grid = result.grids_of(channel + c)[b];
              if ((block.begin + i) % form.block == 0) {
                const size_t size = std::min(form.block, n - i);
                for (size_t k = 0; k < size; ++k) values[k] = static_cast<float>(row[i + k]);
                grid = grid_of(std::span(values).first(size), weighs ? std::span(importance).subspan(i, size) : std::span<float>(), form,
                               search);
              }
              const uint8_t integer = grid.nearest(static_cast<float>(row[i]), form.most());
              result.integers[(channel + c) * rows.depth + block.begin + i] = integer;
              const double error = (row[i] - static_cast<double>(grid.number(integer))) / root[i * n + i];
              const double* from = root.data() + i * n;
              for (size_t k = i + 1; k < n; ++k) row[k] -= error * from[k];
            }
          }
        }
      });
    }
  return result;
}

double output_error(const Rows& wanted, const Rows& got, const Gram& gram) {
  const size_t outputs = wanted.channels / gram.groups();
  double sum = 0;
  for (size_t g = 0; g < gram.groups(); ++g)
    for (const Gram::Block& block : gram.blocks(g)) {
      std::vector<double> error(block.size);
      for (size_t c = g * outputs; c < (g + 1) * outputs; ++c) {
        for (size_t i = 0; i < block.size; ++i)
          error[i] = static_cast<double>(got.row(c)[block.begin + i]) - static_cast<double>(wanted.row(c)[block.begin + i]);
        for (size_t i = 0; i < block.size; ++i) {
          const double* row = block.matrix.data() + i * block.size;
          double product[4] = {};
          size_t k = 0;
          for (; k + 4 <= block.size; k += 4)
            for (size_t p = 0; p < 4; ++p) product[p] += error[k + p] * row[k + p];
          for (; k < block.size; ++k) product[0] += error[k] * row[k];
          sum += error[i] * ((product[0] + product[1]) + (product[2] + product[3]));
        }
      }
    }
  return sum;
}

std::vector<float> importance_of(const Gram& gram) {
  std::vector<float> importance;
  for (const Gram::Block& block : gram.blocks(0))
    for (size_t i = 0; i < block.size; ++i) importance.push_back(static_cast<float>(block.matrix[i * block.size + i]));
  return importance;
}

std::vector<double> activation_aware_factors(std::span<const Rows* const> readers, const BlockForm& form, bool search, const Gram& gram,
                                             std::span<const double> magnitudes) {
  constexpr int kPowers = 20;
  constexpr size_t kMostChannels = 64;  // of a reader, evenly spread, that judge
  std::vector<Rows> judges;
  for (const Rows* reader : readers) {
    Rows judge;
    judge.channels = std::min(kMostChannels, reader->channels), judge.depth = reader->depth;
    for (size_t i = 0; i < judge.channels; ++i) {
      const float* row = reader->row(i * reader->channels / judge.channels);
      judge.values.insert(judge.values.end(), row, row + reader->depth);
    }
    judges.push_back(std::move(judge));
  }
  std::vector<double> best(magnitudes.size(), 1), factors(magnitudes.size());
  double least = 0;
  for (int i = 0; i < kPowers; ++i) {
    double low = 0, high = 0;
    for (size_t k = 0; k < factors.size(); ++k) {
      factors[k] = std::pow(std::max(magnitudes[k], 1e-8), static_cast<double>(i) / kPowers);
      low = k ? std::min(low, factors[k]) : factors[k], high = std::max(high, factors[k]);
    }
    // The extremes lie alike on both sides of 1.
    for (double& factor : factors) factor = std::clamp(factor / std::sqrt(low * high), 1e-4, 1e4);
    const Gram divided = gram.divided(factors);
    const std::vector<float> importance = importance_of(divided);
    double error = 0;
    for (const Rows& judge : judges) {
      Rows scaled = judge;
      for (size_t c = 0; c < scaled.channels; ++c)
        for (size_t k = 0; k < scaled.depth; ++k) scaled.row(c)[k] *= static_cast<float>(factors[k]);
      error += output_error(scaled, round_blocks(scaled, form, search, importance).numbers(), divided);
    }
    if (i == 0 || error < least) least = error, best = factors;
  }
  return best;
}

}  // namespace minnow::compress

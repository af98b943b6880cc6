// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/filters.h>

#include <cfloat>

#include "base/no_memory.h"
#include "vision/elements.h"
#include "vision/loops/corner.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

/// Calls row(sums of dx dx, of dx dy, of dy dy over the blocks of a row's pixels, row of the result). The sums are of doubles, so that
/// equal corners stay equal.
template <class F>
Tensor of_scatter(const char* name, const ImageView& image, int block, int size, Border border, int64_t channels, Output output, F&& row) {
  check_not_empty(name, image);
  check_dtype(name, image, {DType::u8, DType::f32});
  check_channels(name, image, {1});
  check_size(name, image.width(), image.height());
  if (block < 1 || block > 4096) throw InvalidArgument("{}: blocks have between 1 and 4096 pixels, not {}", name, block);
  if (size != -1 && size != 1 && size != 3 && size != 5 && size != 7)
    throw InvalidArgument("{}: the derivatives' kernel has 1, 3, 5 or 7 pixels, or is Scharr's (-1), not {}", name, size);
  double scale = static_cast<double>(1 << ((size > 0 ? size : 3) - 1)) * block;
  if (size < 0) scale *= 2;
  if (image.dtype() == DType::u8) scale *= 255;
  scale = 1 / scale;
  const Tensor dx = size > 0 ? sobel(image, DType::f32, 1, 0, size, scale, 0, border) : scharr(image, DType::f32, 1, 0, scale, 0, border);
  const Tensor dy = size > 0 ? sobel(image, DType::f32, 0, 1, size, scale, 0, border) : scharr(image, DType::f32, 0, 1, scale, 0, border);
  Result result(name, output, DType::f32, image.height(), image.width(), channels, {&image});
  const ImageView x = dx, y = dy;
  const CornerLoops& loops = corner_loops();
  const int64_t before = block / 2, after = block - 1 - before;
  const size_t width = static_cast<size_t>(image.width()), left = static_cast<size_t>(before),
               padded = width + static_cast<size_t>(block) - 1;
  const std::vector<int64_t> columns = border_positions(image.width(), before, after, border);
  const std::vector<int64_t> rows = border_positions(image.height(), before, after, border);
  const int64_t band = std::max<int64_t>(4 * block, 32), bands = (image.height() + band - 1) / band;
  for_rows(bands, 12 * image.width() * band, [&](int64_t first, int64_t last) {
    std::vector<double> column(3 * width), line(padded);
    std::vector<float> sums(3 * width);
    const auto add = [&](int64_t i, double sign) {
      const int64_t at = rows[static_cast<size_t>(i)];
      if (at >= 0) loops.add(x.row<float>(at), y.row<float>(at), width, sign, column.data());
    };
    const int64_t begin = first * band, end = std::min(last * band, image.height());
    for (int64_t i = begin; i < begin + block - 1; ++i) add(i, 1);
    for (int64_t i = begin; i < end; ++i) {
      add(i + block - 1, 1);
      for (size_t c = 0; c < 3; ++c) {
        const double* const from = column.data() + c * width;
        const auto beyond = [&](size_t k) { line[k] = columns[k] < 0 ? 0 : from[columns[k]]; };
        for (size_t k = 0; k < left; ++k) beyond(k);
        std::copy_n(from, width, line.data() + left);
        for (size_t k = left + width; k < padded; ++k) beyond(k);
        loops.across(line.data(), width, static_cast<size_t>(block), sums.data() + c * width);
      }
      row(sums.data(), sums.data() + width, sums.data() + 2 * width, result.view().row<float>(i));
      add(i, -1);
    }
  });
  return result.finish();
}

/// A vector of a symmetric matrix (a b; b c) of an eigenvalue.
void vector_of_value(double a, double b, double c, double value, float* to) {
  double x = b, y = value - a;
  if (std::fabs(x) + std::fabs(y) < 1e-4) {
    y = b;
    x = value - c;
    const double size = std::fabs(x) + std::fabs(y);
    if (size < 1e-4) {
      const double scale = 1 / (size + static_cast<double>(FLT_EPSILON));
      x *= scale, y *= scale;
    }
  }
  const double scale = 1 / std::sqrt(x * x + y * y + DBL_EPSILON);
  to[0] = static_cast<float>(x * scale);
  to[1] = static_cast<float>(y * scale);
}

}  // namespace

Tensor corner_harris(const ImageView& image, int block, int size, double k, Border border, Output output) {
  try {
    const size_t width = static_cast<size_t>(image.width());
    return of_scatter("cornerHarris", image, block, size, border, 1, output,
                      [&](const float* xx, const float* xy, const float* yy, float* to) {
                        corner_loops().harris(xx, xy, yy, width, static_cast<float>(k), to);
                      });
  } catch (...) {
    throw_as_error();
  }
}

Tensor corner_min_eigen_val(const ImageView& image, int block, int size, Border border, Output output) {
  try {
    const size_t width = static_cast<size_t>(image.width());
    return of_scatter("cornerMinEigenVal", image, block, size, border, 1, output,
                      [&](const float* xx, const float* xy, const float* yy, float* to) { corner_loops().least(xx, xy, yy, width, to); });
  } catch (...) {
    throw_as_error();
  }
}

Tensor corner_eigen_vals_and_vecs(const ImageView& image, int block, int size, Border border, Output output) {
  try {
    const size_t width = static_cast<size_t>(image.width());
    return of_scatter("cornerEigenValsAndVecs", image, block, size, border, 6, output,
                      [&](const float* xx, const float* xy, const float* yy, float* to) {
                        for (size_t x = 0; x < width; ++x, to += 6) {
                          const double a = xx[x], b = xy[x], c = yy[x], middle = (a + c) * 0.5;
                          const double apart = std::sqrt((a - c) * (a - c) * 0.25 + b * b);
                          to[0] = static_cast<float>(middle + apart);
                          to[1] = static_cast<float>(middle - apart);
                          vector_of_value(a, b, c, middle + apart, to + 2);
                          vector_of_value(a, b, c, middle - apart, to + 4);
                        }
                      });
  } catch (...) {
    throw_as_error();
  }
}

Corners good_features_to_track(const ImageView& image, int most, double quality, double distance, const ImageView& mask, int block,
                               int size, bool harris, double k) {
  try {
    const char* const name = "goodFeaturesToTrack";
    if (!(quality > 0) || !(distance >= 0) || most < 0)
      throw InvalidArgument("{}: qualityLevel is above 0, minDistance and maxCorners are at least 0", name);
    if (mask) check_mask(name, image, mask);
    const Tensor measured = harris ? corner_harris(image, block, size, k) : corner_min_eigen_val(image, block, size);
    const ImageView values = measured;
    const int64_t width = image.width(), height = image.height();
    float largest = -FLT_MAX;
    bool any = false;
    for (int64_t y = 0; y < height; ++y) {
      const float* const row = values.row<float>(y);
      if (!mask) {
        double low, high;
        arithmetic_loops().least_and_most[kF32](row, static_cast<size_t>(width), &low, &high);
        largest = std::max(largest, static_cast<float>(high)), any = true;
        continue;
      }
      const uint8_t* const marks = mask.row<uint8_t>(y);
      for (int64_t x = 0; x < width; ++x)
        if (marks[x]) largest = std::max(largest, row[x]), any = true;
    }
    const float least = static_cast<float>(any ? static_cast<double>(largest) * quality : 0);
    struct Candidate {
      float value;
      int32_t x, y;
    };
    std::vector<Candidate> candidates;
    for (int64_t y = 1; y + 1 < height; ++y) {
      const float *row = values.row<float>(y), *above = values.row<float>(y - 1), *below = values.row<float>(y + 1);
      const uint8_t* const marks = mask ? mask.row<uint8_t>(y) : nullptr;
      for (int64_t x = 1; x + 1 < width; ++x) {
        const float value = row[x];
        if (!(value > least) || value == 0 || value < row[x + 1] || value < above[x] || (marks && !marks[x])) continue;
        bool peak = value >= row[x - 1] && value >= row[x + 1];
        for (int64_t i = x - 1; peak && i <= x + 1; ++i) {
          // Values that are not above the least one count as 0.
          peak = value >= (above[i] > least ? above[i] : 0) && value >= (below[i] > least ? below[i] : 0);
        }
        if (peak) candidates.push_back({value, static_cast<int32_t>(x), static_cast<int32_t>(y)});
      }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      if (a.value != b.value) return a.value > b.value;
      return a.y != b.y ? a.y > b.y : a.x > b.x;
    });
    std::vector<Candidate> kept;
    if (distance >= 1) {
      const int64_t cell = std::lrint(std::min(distance, 1e9)), columns = (width + cell - 1) / cell, rows = (height + cell - 1) / cell;
      std::vector<std::vector<size_t>> grid(static_cast<size_t>(columns * rows));
      const double squared = distance * distance;
      for (const Candidate& candidate : candidates) {
        const int64_t cx = candidate.x / cell, cy = candidate.y / cell;
        bool apart = true;
        for (int64_t y = std::max<int64_t>(0, cy - 1); apart && y <= std::min(rows - 1, cy + 1); ++y) {
          for (int64_t x = std::max<int64_t>(0, cx - 1); apart && x <= std::min(columns - 1, cx + 1); ++x) {
            for (const size_t other : grid[static_cast<size_t>(y * columns + x)]) {
              const double dx = candidate.x - kept[other].x, dy = candidate.y - kept[other].y;
              apart = apart && !(dx * dx + dy * dy < squared);
            }
          }
        }
        if (!apart) continue;
        grid[static_cast<size_t>(cy * columns + cx)].push_back(kept.size());
        kept.push_back(candidate);
        if (most > 0 && kept.size() == static_cast<size_t>(most)) break;
      }
    } else {
      if (most > 0 && candidates.size() > static_cast<size_t>(most)) candidates.resize(static_cast<size_t>(most));
      kept = std::move(candidates);
    }
    Corners corners;
    if (kept.empty()) return corners;
    const int64_t count = static_cast<int64_t>(kept.size());
    corners.points = Tensor(DType::f32, {count, 1, 2});
    corners.quality = Tensor(DType::f32, {count, 1});
    auto* points = static_cast<float*>(corners.points.writable().data());
    auto* qualities = static_cast<float*>(corners.quality.writable().data());
    for (const Candidate& candidate : kept) {
      *points++ = static_cast<float>(candidate.x);
      *points++ = static_cast<float>(candidate.y);
      *qualities++ = candidate.value;
    }
    return corners;
  } catch (...) {
    throw_as_error();
  }
}

Tensor corner_sub_pix(const ImageView& image, const TensorView& corners, Size half, Size zero, const Criteria& criteria) {
  try {
    const char* const name = "cornerSubPix";
    const Points given = points_of(name, corners);
    if (given.integers && given.count) throw InvalidArgument("{}: corners are f32, not i32", name);
    Tensor result(DType::f32, corners.shape());
    auto* const points = static_cast<Point2f*>(result.writable().data());
    if (given.count) std::memcpy(points, given.data, static_cast<size_t>(given.count) * sizeof(Point2f));
    if (given.count == 0) return result;
    check_not_empty(name, image);
    check_channels(name, image, {1});
    check_dtype(name, image, {DType::u8, DType::f32});
    if (half.width <= 0 || half.height <= 0 || half.width > (image.width() - 5) / 2 || half.height > (image.height() - 5) / 2)
      throw InvalidArgument("{}: the picture {} is larger than twice the window {} x {} by 5 at least", name, to_string(image), half.width,
                            half.height);
    const int most = (criteria.type & 1) ? std::clamp(criteria.count, 1, 100) : 100;
    const double epsilon = (criteria.type & 2) ? std::max(criteria.epsilon, 0.) : 0;
    const int w = 2 * half.width + 1, h = 2 * half.height + 1;
    std::vector<float> weights(static_cast<size_t>(w * h)), patch(static_cast<size_t>((w + 2) * (h + 2)));
    for (int i = 0; i < h; ++i) {
      const float y = static_cast<float>(i - half.height) / static_cast<float>(half.height), vy = std::exp(-y * y);
      for (int j = 0; j < w; ++j) {
        const float x = static_cast<float>(j - half.width) / static_cast<float>(half.width);
        const bool blank = zero.width >= 0 && zero.height >= 0 && 2 * zero.width + 1 < w && 2 * zero.height + 1 < h &&
                           std::abs(i - half.height) <= zero.height && std::abs(j - half.width) <= zero.width;
        weights[static_cast<size_t>(i * w + j)] = blank ? 0 : vy * std::exp(-x * x);
      }
    }
    const float width = static_cast<float>(image.width()), height = static_cast<float>(image.height());
    const auto inside = [&](const Point2f& p) { return p.x >= 0 && p.y >= 0 && p.x < width && p.y < height; };
    const auto sample = [&](const Point2f& center) {
      const float left = center.x - static_cast<float>(w + 1) * 0.5f, top = center.y - static_cast<float>(h + 1) * 0.5f;
      const int64_t x0 = static_cast<int64_t>(std::floor(left)), y0 = static_cast<int64_t>(std::floor(top));
      const float a = left - static_cast<float>(x0), b = top - static_cast<float>(y0);
      const float w00 = (1 - a) * (1 - b), w01 = a * (1 - b), w10 = (1 - a) * b, w11 = a * b;
      const auto read = [&](auto element) {
        using T = decltype(element);
        for (int y = 0; y < h + 2; ++y) {
          const T* const r0 = image.row<T>(std::clamp<int64_t>(y0 + y, 0, image.height() - 1));
          const T* const r1 = image.row<T>(std::clamp<int64_t>(y0 + y + 1, 0, image.height() - 1));
          for (int x = 0; x < w + 2; ++x) {
            const int64_t i = std::clamp<int64_t>(x0 + x, 0, image.width() - 1), j = std::clamp<int64_t>(x0 + x + 1, 0, image.width() - 1);
            patch[static_cast<size_t>(y * (w + 2) + x)] = static_cast<float>(r0[i]) * w00 + static_cast<float>(r0[j]) * w01 +
                                                          static_cast<float>(r1[i]) * w10 + static_cast<float>(r1[j]) * w11;
          }
        }
      };
      if (image.dtype() == DType::u8)
        read(uint8_t());
      else
        read(float());
    };
    for (int64_t n = 0; n < given.count; ++n) {
      const Point2f start = points[n];
      if (!inside(start)) throw InvalidArgument("{}: corner {} lies outside of the picture", name, n);
      Point2f at = start;
      double moved = 0;
      int steps = 0;
      do {
        sample(at);
        double a = 0, b = 0, c = 0, u = 0, v = 0;
        for (int i = 0; i < h; ++i) {
          const float* const row = patch.data() + (i + 1) * (w + 2) + 1;
          for (int j = 0; j < w; ++j) {
            const double weight = weights[static_cast<size_t>(i * w + j)];
            const double gx = row[j + 1] - row[j - 1], gy = row[j + w + 2] - row[j - w - 2];
            const double xx = gx * gx * weight, xy = gx * gy * weight, yy = gy * gy * weight, px = j - half.width, py = i - half.height;
            a += xx, b += xy, c += yy;
            u += xx * px + xy * py;
            v += xy * px + yy * py;
          }
        }
        const double det = a * c - b * b;
        if (std::fabs(det) <= DBL_EPSILON * DBL_EPSILON) break;
        const double scale = 1 / det;
        const Point2f next{static_cast<float>(at.x + c * scale * u - b * scale * v),
                           static_cast<float>(at.y - b * scale * u + a * scale * v)};
        moved = static_cast<double>((next.x - at.x) * (next.x - at.x) + (next.y - at.y) * (next.y - at.y));
        if (!inside(next)) break;
        at = next;
      } while (++steps < most && moved > epsilon * epsilon);
      const bool far =
          std::fabs(at.x - start.x) > static_cast<float>(half.width) || std::fabs(at.y - start.y) > static_cast<float>(half.height);
      points[n] = far ? start : at;
    }
    return result;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

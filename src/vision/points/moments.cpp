// SPDX-License-Identifier: Apache-2.0
#include <cfloat>

#include "base/no_memory.h"
#include "vision/loops/arithmetic.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

enum { m00, m10, m01, m20, m11, m02, m30, m21, m12, m03, mu20, mu11, mu02, mu30, mu21, mu12, mu03, nu20 };

void complete(Moments& m) {
  double inverse = 0, cx = 0, cy = 0;
  if (std::fabs(m[m00]) > DBL_EPSILON) {
    inverse = 1 / m[m00];
    cx = m[m10] * inverse;
    cy = m[m01] * inverse;
  }
  m[mu20] = m[m20] - m[m10] * cx;
  m[mu11] = m[m11] - m[m10] * cy;
  m[mu02] = m[m02] - m[m01] * cy;
  m[mu30] = m[m30] - cx * (3 * m[mu20] + cx * m[m10]);
  m[mu21] = m[m21] - cx * (2 * m[mu11] + cx * m[m01]) - cy * m[mu20];
  m[mu12] = m[m12] - cy * (2 * m[mu11] + cy * m[m10]) - cx * m[mu02];
  m[mu03] = m[m03] - cy * (3 * m[mu02] + cy * m[m01]);
  const double square = inverse * inverse, more = square * std::sqrt(std::fabs(inverse));
  for (size_t i = 0; i < 7; ++i) m[nu20 + i] = m[mu20 + i] * (i < 3 ? square : more);
}

/// Green's formula over the edges.
template <class T>
Moments of_contour(std::span<const PointOf<T>> points) {
  Moments m{};
  double sums[10] = {};
  double x0 = static_cast<double>(points.back().x), y0 = static_cast<double>(points.back().y);
  for (const PointOf<T>& p : points) {
    const double x = static_cast<double>(p.x), y = static_cast<double>(p.y), xx0 = x0 * x0, yy0 = y0 * y0, xx = x * x, yy = y * y;
    const double area = x0 * y - x * y0, sx = x0 + x, sy = y0 + y;
    sums[m00] += area;
    sums[m10] += area * sx;
    sums[m01] += area * sy;
    sums[m20] += area * (x0 * sx + xx);
    sums[m11] += area * (x0 * (sy + y0) + x * (sy + y));
    sums[m02] += area * (y0 * sy + yy);
    sums[m30] += area * sx * (xx0 + xx);
    sums[m03] += area * sy * (yy0 + yy);
    sums[m21] += area * (xx0 * (3 * y0 + y) + 2 * x * x0 * sy + xx * (y0 + 3 * y));
    sums[m12] += area * (yy0 * (3 * x0 + x) + 2 * y * y0 * sx + yy * (x0 + 3 * x));
    x0 = x;
    y0 = y;
  }
  if (!(std::fabs(sums[m00]) > static_cast<double>(FLT_EPSILON))) return m;
  static constexpr double kDivisor[10] = {2, 6, 6, 12, 24, 12, 20, 60, 60, 20};
  const double sign = sums[m00] > 0 ? 1 : -1;
  for (size_t i = 0; i < 10; ++i) m[i] = sums[i] * (sign / kDivisor[i]);
  complete(m);
  return m;
}

constexpr int64_t kTile = 32;

/// Sums rows of up to 32 elements, with positions within the tile. `Sum` holds them: p x^3 y^0 .. for T's largest value.
template <class T, class Sum>
void tile(const ImageView& image, int64_t x0, int64_t y0, int64_t width, int64_t height, bool binary, double out[10]) {
  Sum sums[10] = {};
  for (int64_t y = 0; y < height; ++y) {
    const T* const row = image.row<T>(y0 + y) + x0;
    Sum s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    if (std::is_same_v<T, uint8_t> && !binary) {
      int32_t s[4];
      arithmetic_loops().row_moments_u8(reinterpret_cast<const uint8_t*>(row), static_cast<size_t>(width), s);
      s0 = Sum(s[0]), s1 = Sum(s[1]), s2 = Sum(s[2]), s3 = Sum(s[3]);
    } else {
      for (int64_t x = 0; x < width; ++x) {
        const Sum p = binary ? Sum(row[x] != 0) : Sum(row[x]), px = p * Sum(x), pxx = px * Sum(x);
        s0 += p, s1 += px, s2 += pxx, s3 += pxx * Sum(x);
      }
    }
    const Sum v = Sum(y), vv = v * v;
    sums[m00] += s0, sums[m10] += s1, sums[m01] += s0 * v, sums[m20] += s2, sums[m11] += s1 * v, sums[m02] += s0 * vv;
    sums[m30] += s3, sums[m21] += s2 * v, sums[m12] += s1 * vv, sums[m03] += s0 * v * vv;
  }
  for (int i = 0; i < 10; ++i) out[i] = static_cast<double>(sums[i]);
}

Moments of_image(const ImageView& image, bool binary) {
  check_channels("moments", image, {1});
  const auto add = [&](auto&& tile_of) {
    Moments m{};
    for (int64_t y = 0; y < image.height(); y += kTile) {
      for (int64_t x = 0; x < image.width(); x += kTile) {
        double t[10];
        tile_of(x, y, std::min(kTile, image.width() - x), std::min(kTile, image.height() - y), t);
        const double dx = static_cast<double>(x), dy = static_cast<double>(y), xm = dx * t[m00], ym = dy * t[m00];
        m[m00] += t[m00];
        m[m10] += t[m10] + xm;
        m[m01] += t[m01] + ym;
        m[m20] += t[m20] + dx * (t[m10] * 2 + xm);
        m[m11] += t[m11] + dx * (t[m01] + ym) + dy * t[m10];
        m[m02] += t[m02] + dy * (t[m01] * 2 + ym);
        m[m30] += t[m30] + dx * (3 * t[m20] + dx * (3 * t[m10] + xm));
        m[m21] += t[m21] + dx * (2 * (t[m11] + dy * t[m10]) + dx * (t[m01] + ym)) + dy * t[m20];
        m[m12] += t[m12] + dy * (2 * (t[m11] + dx * t[m01]) + dy * (t[m10] + xm)) + dx * t[m02];
        m[m03] += t[m03] + dy * (3 * t[m02] + dy * (3 * t[m01] + ym));
      }
    }
    return m;
  };
  Moments m = with_element("moments", image.dtype(), [&](auto element) {
    using T = decltype(element);
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<sizeof(T) == 1, int32_t, int64_t>>;
    if ((std::is_same_v<T, int8_t> || std::is_same_v<T, int32_t>)&&!binary)
      throw Unsupported("moments: a picture is u8, u16, i16, f32 or f64, not {}", image.dtype());
    return add([&](int64_t x, int64_t y, int64_t w, int64_t h, double* t) { tile<T, Sum>(image, x, y, w, h, binary, t); });
  });
  complete(m);
  return m;
}

}  // namespace

Moments moments(const TensorView& array, bool binary) {
  try {
    int64_t count = 0;
    if ((array.dtype() == DType::i32 || array.dtype() == DType::f32) && vectors_in(array, 2, count)) {
      if (count == 0) return {};
      return points_of("moments", array).visit([](auto points) { return of_contour(points); });
    }
    if (array.elements() == 0) return {};
    return of_image(ImageView(array), binary);
  } catch (...) {
    throw_as_error();
  }
}

std::array<double, 7> hu_moments(const Moments& m) {
  const double n20 = m[nu20], n11 = m[nu20 + 1], n02 = m[nu20 + 2], n30 = m[nu20 + 3], n21 = m[nu20 + 4], n12 = m[nu20 + 5],
               n03 = m[nu20 + 6];
  const double s = n20 + n02, d = n20 - n02, t0 = n30 + n12, t1 = n21 + n03, q0 = t0 * t0, q1 = t1 * t1, n4 = 4 * n11;
  const double r0 = t0 * (q0 - 3 * q1), r1 = t1 * (3 * q0 - q1), p0 = n30 - 3 * n12, p1 = 3 * n21 - n03;
  return {s, d * d + n4 * n11, p0 * p0 + p1 * p1, q0 + q1, p0 * r0 + p1 * r1, d * (q0 - q1) + n4 * t0 * t1, p1 * r0 - p0 * r1};
}

double match_shapes(const TensorView& a, const TensorView& b, ShapeMatch method) {
  try {
    if (method < ShapeMatch::i1 || method > ShapeMatch::i3)
      throw InvalidArgument("matchShapes: the method is {}; there are CONTOURS_MATCH_I1, _I2 and _I3", static_cast<int>(method));
    const std::array<double, 7> ha = hu_moments(moments(a)), hb = hu_moments(moments(b));
    double result = 0;
    bool any_a = false, any_b = false;
    for (size_t i = 0; i < 7; ++i) {
      const double sa = std::fabs(ha[i]), sb = std::fabs(hb[i]);
      any_a |= sa > 0;
      any_b |= sb > 0;
      if (!(sa > 1e-5 && sb > 1e-5)) continue;
      const double la = (ha[i] < 0 ? -1 : 1) * std::log10(sa), lb = (hb[i] < 0 ? -1 : 1) * std::log10(sb);
      if (method == ShapeMatch::i1)
        result += std::fabs(1 / lb - 1 / la);
      else if (method == ShapeMatch::i2)
        result += std::fabs(lb - la);
      else
        result = std::max(result, std::fabs((la - lb) / la));
    }
    return any_a == any_b ? result : DBL_MAX;  // one alone has no area
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

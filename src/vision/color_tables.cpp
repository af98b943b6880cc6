// SPDX-License-Identifier: Apache-2.0
// Tables of Lab and Luv, with OpenCV's fixed-point units, so that results are OpenCV's. Sources: IEC 61966-2-1 (sRGB), CIE 15.
#include <array>
#include <cmath>
#include <span>

#include "vision/image.h"
#include "vision/loops/color.h"

namespace minnow::vision {
namespace {

constexpr double kToXyz[9] = {0.412453, 0.357580, 0.180423, 0.212671, 0.715160, 0.072169, 0.019334, 0.119193, 0.950227};
constexpr double kFromXyz[9] = {3.240479, -1.53715, -0.498535, -0.969256, 1.875991, 0.041556, 0.055648, -0.204043, 1.057311};
constexpr double kWhite[3] = {0.950456, 1, 1.088754};  // D65

double without_gamma(double x) { return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4); }
double with_gamma(double x) { return x <= 0.0031308 ? x * 12.92 : 1.055 * std::pow(x, 1 / 2.4) - 0.055; }
/// f of CIE 15: the cube root, and a line below (6 / 29)^3.
double root(double x) { return x < 216.0 / 24389 ? x * (841.0 / 108) + 16.0 / 116 : std::cbrt(x); }

/// The same, with the last bit that OpenCV's has: K. Turkowski, "Computing the cube root", Apple technical report 10 (1998).
float root_of(float x) {
  if (x <= 216.0f / 24389) return std::fma(x, 841.0f / 108, 16.0f / 116);
  int exponent;
  double f = std::frexp(x, &exponent);
  for (; exponent % 3; ++exponent) f *= 0.5;
  f = ((((45.25483399593904156165403917471033 * f + 192.2798368355061050458134625) * f + 119.1654824285581628956914143) * f +
        13.43250139086239872172837314) *
           f +
       0.1636161226585754240958355063) /
      ((((14.80884093219134573786480845 * f + 151.9714051044435648658557668) * f + 168.5254414101568283957668343) * f +
        33.9905941350215598754191872) *
           f +
       1.0);
  return std::ldexp(static_cast<float>(std::floor(f * (1 << 24)) / (1 << 24)), exponent / 3);
}

int nearest(double x) { return static_cast<int>(std::nearbyint(x)); }

/// Coefficients of the natural cubic spline through values at 0, 1, 2 ...; the last value ends it.
std::vector<float> spline_through(const std::vector<double>& values) {
  const size_t n = values.size() - 1;
  std::vector<double> weight(n, 0.0), second(n, 0.0);
  for (size_t i = 1; i + 1 <= n; ++i) {
    const double bend = i + 1 < values.size() ? (values[i + 1] - 2 * values[i] + values[i - 1]) * 3 : 0;
    weight[i] = 1 / (4 - weight[i - 1]);
    second[i] = (bend - second[i - 1]) * weight[i];
  }
  std::vector<float> table(4 * n);
  double next = 0;
  for (size_t i = n; i-- > 0;) {
    const double c = second[i] - weight[i] * next;
    table[4 * i] = static_cast<float>(values[i]);
    table[4 * i + 1] = static_cast<float>(values[i + 1] - values[i] - (next + 2 * c) / 3);
    table[4 * i + 2] = static_cast<float>(c);
    table[4 * i + 3] = static_cast<float>((next - c) / 3);
    next = c;
  }
  return table;
}

template <class F>
std::vector<float> spline_of(double step, F function) {
  std::vector<double> values;
  for (int i = 0; i <= LabTables::kSteps; ++i) values.push_back(function(i * step));
  return spline_through(values);
}

/// Each point of a cube of 33 x 33 x 33 colours with its 7 neighbours, so that interpolating one channel loads 8 values.
std::vector<int16_t> with_neighbours(const std::vector<int16_t>& points) {
  std::vector<int16_t> cube(points.size() * 8);
  for (int b = 0; b < 33; ++b)
    for (int g = 0; g < 33; ++g)
      for (int r = 0; r < 33; ++r)
        for (int k = 0; k < 8; ++k) {
          const int at = std::min(r + (k >> 2), 32) + 33 * (std::min(g + (k >> 1 & 1), 32) + 33 * std::min(b + (k & 1), 32));
          for (int c = 0; c < 3; ++c)
            cube[static_cast<size_t>(24 * (r + 33 * (g + 33 * b)) + 8 * c + k)] = points[static_cast<size_t>(3 * at + c)];
        }
  return cube;
}

LabTables made() {
  LabTables t;
  constexpr double kStep = 1.0 / LabTables::kSteps;
  t.gamma = spline_of(kStep, without_gamma);
  t.inverse_gamma = spline_of(kStep, with_gamma);
  t.root = spline_of(1.5 / LabTables::kSteps, root);
  for (int i = 0; i < 256; ++i) t.gamma_u8[i] = nearest(255 * 8 * without_gamma(i / 255.0));
  for (int i = 0; i < 4096; ++i) t.inverse_gamma_u8[i] = nearest(255 * with_gamma(i / 4096.0));
  for (int i = 0; i < 3072; ++i) t.root_u8[i] = nearest(32768 * root(i / (255.0 * 8)));
  for (int i = 0; i < 9; ++i) {
    t.lab_matrix[i] = static_cast<float>(kToXyz[i] / kWhite[i / 3]);
    t.lab_matrix_u8[i] = nearest(4096 * kToXyz[i] / kWhite[i / 3]);
    t.lab_inverse[i] = static_cast<float>(kFromXyz[i] * kWhite[i % 3]);
    t.lab_inverse_u8[i] = nearest(4096 * kFromXyz[i] * kWhite[i % 3]);
    t.luv_matrix[i] = static_cast<float>(kToXyz[i]);
    t.luv_inverse[i] = static_cast<float>(kFromXyz[i]);
    t.luv_inverse_u8[i] = nearest(4096 * kFromXyz[i]);
  }
  const double white = 1 / (kWhite[0] + 15 * kWhite[1] + 3 * kWhite[2]), un = 52 * white * kWhite[0], vn = 117 * white * kWhite[1];
  t.un = static_cast<float>(un);
  t.vn = static_cast<float>(vn);
  for (int i = 0; i < 256; ++i) {
    const double lightness = i / 255.0 * 100, fy = (lightness + 16) / 116;
    t.y_u8[i] = nearest(16384 * (i <= 20 ? lightness * 27 / 24389 : fy * fy * fy));
    t.fy_u8[i] = nearest(16384 * (i <= 20 ? 16.0 / 116 + i * 5.0 / (3 * 17 * 29) : fy));
  }
  for (int i = -8145; i < 16384 * 9 / 4 - 8145; ++i)
    t.xz_u8.push_back(i <= 3390 ? i * 108 / 841 - 16384 * 16 / 116 * 108 / 841 : static_cast<int>(int64_t{i} * i / 16384 * i / 16384));
  for (int l = 0; l < 256; ++l)
    for (int i = 0; i < 256; ++i) {
      const double lightness = l / 255.0 * 100, u = i * 354 / 255.0 - 134, v = i * 262 / 255.0 - 140;
      t.u_u8.push_back(nearest(9 * (u + lightness * un) * 16));
      t.v_u8.push_back(nearest(std::min(0.25, std::max(-0.25, 0.25 / (v + lightness * vn))) * 16384 * 1024));
    }

  // In floats and in OpenCV's order: the last bit decides how some points are rounded.
  std::vector<int16_t> lab, luv;
  float linear[33], lab_matrix[9], luv_matrix[9];
  for (int i = 0; i < 33; ++i) linear[i] = static_cast<float>(without_gamma(static_cast<float>(i) / 32));
  for (int i = 0; i < 9; ++i) {
    luv_matrix[i] = static_cast<float>(kToXyz[i]);
    lab_matrix[i] = static_cast<float>(kToXyz[i] * (1 / kWhite[i / 3]));
  }
  const auto add = [](std::vector<int16_t>& points, float a, float b, float c) {
    for (const float value : {a, b, c}) points.push_back(static_cast<int16_t>(nearest(value)));
  };
  for (const float b : linear)
    for (const float g : linear)
      for (const float r : linear) {
        float f[3], xyz[3];
        for (int k = 0; k < 3; ++k) {
          f[k] = root_of(r * lab_matrix[3 * k] + g * lab_matrix[3 * k + 1] + b * lab_matrix[3 * k + 2]);
          xyz[k] = r * luv_matrix[3 * k] + g * luv_matrix[3 * k + 1] + b * luv_matrix[3 * k + 2];
        }
        add(lab, 16384 * (116 * f[1] - 16) / 100, 16384 * (500 * (f[0] - f[1]) + 128) / 256, 16384 * (200 * (f[1] - f[2]) + 128) / 256);
        const float lightness = root_of(xyz[1]) * 116 - 16, scale = 52 / std::max(xyz[0] + 15 * xyz[1] + 3 * xyz[2], 1.1920929e-07f);
        add(luv, 16384 * lightness / 100, 16384 * (lightness * (xyz[0] * scale - t.un) + 134) / 354,
            16384 * (lightness * (2.25f * xyz[1] * scale - t.vn) + 140) / 262);
      }
  t.lab = with_neighbours(lab);
  t.luv = with_neighbours(luv);
  return t;
}

std::array<float, 512> hsv_factors_of(double hue) {
  std::array<float, 512> factors{};  // none for 0
  for (size_t i = 1; i < 256; ++i) {
    factors[i] = static_cast<float>(nearest(hue * 4096 / (6.0 * static_cast<double>(i)))) / 4096;
    factors[256 + i] = static_cast<float>(nearest(255.0 * 4096 / static_cast<double>(i))) / 4096;
  }
  return factors;
}

}  // namespace

const float* hsv_factors(bool full) {
  static const std::array<float, 512> half_circle = hsv_factors_of(180), whole_circle = hsv_factors_of(256);
  return full ? whole_circle.data() : half_circle.data();
}

const LabTables& lab_tables() {
  static const LabTables tables = made();
  return tables;
}

}  // namespace minnow::vision

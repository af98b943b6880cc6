// SPDX-License-Identifier: Apache-2.0
// How exact functions of doubles are.
#pragma once
#include <algorithm>
#include <cmath>

namespace minnow::cpu {

/// The distance in units in the last place of the double nearest to `want`.
inline double ulps(double got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  const double nearest = static_cast<double>(want);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - want) / std::ldexp(1.0L, std::max(exponent - 53, -1074))));
}

}  // namespace minnow::cpu

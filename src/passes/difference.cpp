// SPDX-License-Identifier: Apache-2.0
#include "passes/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numeric.h"

namespace minnow {

std::vector<double> widened(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

Difference difference(const Tensor& before, const Tensor& after) {
  const std::vector<double> a = widened(before), b = widened(after);
  Difference found;
  double squares = 0;
  for (double value : a)
    if (std::isfinite(value)) found.largest = std::max(found.largest, std::fabs(value));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double apart = std::fabs(a[i] - b[i]);
    if (std::isnan(apart)) apart = std::numeric_limits<double>::infinity();
    squares += apart * apart;
    if (apart > found.worst) found.worst = apart, found.place = i, found.expected = a[i], found.actual = b[i];
  }
  if (!a.empty()) found.mean_square = std::sqrt(squares / static_cast<double>(a.size()));
  return found;
}

bool same_form(const Datum& a, const Datum& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!same_form(a.items[i], b.items[i])) return false;
  return a.kind != Datum::Kind::tensor || (a.tensor.dtype() == b.tensor.dtype() && a.tensor.shape() == b.tensor.shape());
}

}  // namespace minnow

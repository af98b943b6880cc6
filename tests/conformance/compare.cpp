// SPDX-License-Identifier: Apache-2.0
#include "conformance/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/format.h"
#include "base/numeric.h"

namespace minnow::test {
namespace {

struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
      return {1e-3, 1e-5};
    case DType::f16:
      return {2e-3, 1e-3};
    case DType::bf16:
      return {1e-2, 1e-2};
    default:
      return {0, 0};
  }
}

std::string tensor_difference(const Tensor& actual, const Tensor& expected, const Rule& rule) {
  if (actual.dtype() != expected.dtype()) return format("dtype is {}, it should be {}", actual.dtype(), expected.dtype());
  if (actual.shape() != expected.shape()) return format("shape is {}, it should be {}", actual.shape(), expected.shape());
  if (rule.kind == Rule::Kind::form) return {};
  const DType dtype = expected.dtype();
  const size_t count = static_cast<size_t>(expected.elements());
  if (!is_float(dtype)) {
    if (!count || std::memcmp(actual.data(), expected.data(), expected.bytes()) == 0) return {};
    std::vector<int64_t> a(count), b(count);
    widen(dtype, actual.data(), count, a.data());
    widen(dtype, expected.data(), count, b.data());
    size_t wrong = 0, first = count;
    for (size_t i = 0; i < count; ++i)
      if (std::abs(a[i] - b[i]) > rule.steps) ++wrong, first = std::min(first, i);
    if (!wrong || (rule.ties && wrong * 10 <= count)) return {};
    return format("{} of {} elements differ, the first is element {}: {}, it should be {}", wrong, count, first, a[first], b[first]);
  }
  std::vector<double> a(count), b(count);
  widen(dtype, actual.data(), count, a.data());
  widen(dtype, expected.data(), count, b.data());
  const Tolerance tolerance = tolerance_of(dtype);
  double largest = 1;
  for (double value : b)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  size_t wrong = 0, worst = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < count; ++i) {
    const double bound = rule.kind == Rule::Kind::largest ? std::max(rule.tolerance * largest, rule.absolute)
                                                          : tolerance.absolute + tolerance.relative * std::fabs(b[i]);
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const double excess = same ? 0 : std::isfinite(a[i]) && std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) - bound : INFINITY;
    if (excess <= 0) continue;
    ++wrong;
    if (excess > worst_excess) worst_excess = excess, worst = i;
  }
  if (!wrong) return {};
  return format("{} of {} elements differ, most of all element {}: {}, it should be {}", wrong, count, worst, a[worst], b[worst]);
}

}  // namespace

double largest_difference(const Datum& actual, const Datum& expected) {
  const Tensor &a = actual.tensor, &b = expected.tensor;
  if (actual.kind != Datum::Kind::tensor || expected.kind != actual.kind || a.dtype() != b.dtype() || a.shape() != b.shape()) return 0;
  std::vector<double> x(static_cast<size_t>(a.elements())), y(x.size());
  widen(a.dtype(), a.data(), x.size(), x.data());
  widen(b.dtype(), b.data(), y.size(), y.data());
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::fabs(x[i] - y[i]));
  return largest;
}

std::string difference(const Datum& actual, const Datum& expected, const Rule& rule) {
  const auto kind = [](const Datum& datum) {
    return datum.kind == Datum::Kind::tensor ? "a tensor" : datum.kind == Datum::Kind::sequence ? "a sequence" : "an empty optional";
  };
  if (actual.kind != expected.kind) return format("is {}, it should be {}", kind(actual), kind(expected));
  if (expected.kind == Datum::Kind::tensor) return tensor_difference(actual.tensor, expected.tensor, rule);
  if (actual.items.size() != expected.items.size())
    return format("has {} items, it should have {}", actual.items.size(), expected.items.size());
  for (size_t i = 0; i < expected.items.size(); ++i)
    if (std::string text = difference(actual.items[i], expected.items[i], rule); !text.empty()) return format("item {}: {}", i, text);
  return {};
}

}  // namespace minnow::test

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/winograd_axis.h"

#include <algorithm>
#include <cmath>

namespace minnow::cpu {
namespace {

using Numbers = std::vector<double>;

// The finite points; infinity follows them. For a form of stride 2: the points of its even inputs, with two taps each.
Numbers points_of(WinogradForm form) {
  const WinogradNumbers& numbers = numbers_of(form);
  Numbers points;
  for (size_t i = 0; i + 1 < numbers.served(); ++i) points.push_back(numbers.point(i));
  return points;
}

double difference_product(const Numbers& points, const std::vector<size_t>& members, size_t point) {
  double n = 1;
  for (size_t k : members)
    if (k != point && k < points.size()) n *= points[point] - points[k];
  return n;
}

// The divisor of weights at a finite point. If zero is not among the points, the negative point of a pair gets the sign of the positive
// one, so that both share their even and their odd taps.
double normal_of(const Numbers& points, size_t point) {
  std::vector<size_t> all(points.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const double n = difference_product(points, all, point);
  return all.size() % 2 == 0 && point % 2 ? -n : n;
}

// Coefficients of the product of (x - p) over the finite members but `without`, lowest power first.
Numbers polynomial(const Numbers& points, const std::vector<size_t>& members, size_t without) {
  Numbers c{1};
  for (size_t k : members)
    if (k != without && k < points.size()) {
      c.push_back(0);
      for (size_t t = c.size(); t-- > 0;) c[t] = (t > 0 ? c[t - 1] : 0) - points[k] * c[t];
    }
  return c;
}

struct Matrices {
  std::vector<Numbers> input, output;  // [position][input], [output][position]
  double bound = 0;                    // on the growth of errors
};

// F(outputs, taps) with the points `members` (points.size() being infinity) and with weights that were normalized for all points.
Matrices matrices_of(const Numbers& points, const std::vector<size_t>& members, size_t outputs, size_t taps) {
  Matrices m;
  m.output.assign(outputs, Numbers(members.size()));
  Numbers growth(members.size());
  for (size_t j = 0; j < members.size(); ++j) {
    const size_t p = members[j];
    const bool finite = p < points.size();
    Numbers row = polynomial(points, members, finite ? p : points.size());
    row.resize(outputs + taps - 1);
    double kernel = 0, inputs = 0;
    const double normal = finite ? difference_product(points, members, p) : 1;
    for (size_t k = 0; k < taps; ++k) kernel += finite ? std::abs(std::pow(points[p], double(k)) / normal) : k + 1 == taps;
    for (double& c : row) inputs += std::abs(c);
    growth[j] = kernel * inputs;
    if (finite)
      for (double& c : row) c *= normal_of(points, p) / normal;
    m.input.push_back(std::move(row));
    for (size_t i = 0; i < outputs; ++i) m.output[i][j] = finite ? std::pow(points[p], double(i)) : i + 1 == outputs;
  }
  for (const Numbers& row : m.output) {
    double sum = 0;
    for (size_t j = 0; j < row.size(); ++j) sum += std::abs(row[j]) * growth[j];
    m.bound = std::max(m.bound, sum);
  }
  return m;
}

}  // namespace

WinogradAxis WinogradAxis::of(WinogradForm form, size_t outputs) {
  const WinogradNumbers& numbers = numbers_of(form);
  const bool strided = numbers.stride == 2;
  const Numbers points = points_of(form);
  const size_t taps = numbers.met(), wanted = outputs + taps - 1, all = points.size() + 1;
  Matrices best;
  std::vector<size_t> members;
  for (size_t set = 0; set < size_t{1} << all; ++set) {
    std::vector<size_t> candidate;
    for (size_t i = 0; i < all; ++i)
      if (set >> i & 1) candidate.push_back(i);
    if (candidate.size() != wanted) continue;
    Matrices m = matrices_of(points, candidate, outputs, taps);
    if (members.empty() || m.bound < best.bound) best = std::move(m), members = std::move(candidate);
  }

  WinogradAxis axis;
  axis.outputs = outputs;
  axis.inputs = strided ? 2 * outputs + 1 : wanted;
  axis.positions = members;
  // In a form of stride 2, the odd inputs meet the tap between in plain products, at positions of their own.
  for (size_t i = 0; strided && i < outputs; ++i) axis.positions.push_back(all + i);
  const size_t count = axis.positions.size(), step = strided ? 2 : 1;
  axis.input.resize(count * axis.inputs);
  axis.output.resize(outputs * count);
  for (size_t j = 0; j < count; ++j) {
    for (size_t i = 0; j < wanted && i < wanted; ++i) axis.input[j * axis.inputs + i * step] = static_cast<float>(best.input[j][i]);
    if (j >= wanted) axis.input[j * axis.inputs + 2 * (j - wanted) + 1] = 1;
    for (size_t i = 0; i < outputs; ++i)
      axis.output[i * count + j] = j < wanted ? static_cast<float>(best.output[i][j]) : i == j - wanted ? 1.0f : 0.0f;
  }
  return axis;
}

WinogradCoefficients::WinogradCoefficients(WinogradForm form) {
  const WinogradNumbers& numbers = numbers_of(form);
  const size_t pairs = numbers.pairs();
  Numbers squares;
  std::vector<size_t> members;
  for (size_t i = 0; i < pairs; ++i) squares.push_back(numbers.p[i] * numbers.p[i]), members.push_back(i);
  const auto add = [&](size_t without) {
    const Numbers c = polynomial(squares, members, without);
    for (size_t i = 0; i + 1 < c.size(); ++i) input.push_back(static_cast<float>(c[i]));  // the highest power has no factor
  };
  add(pairs);
  for (size_t pair = 0; pair < pairs; ++pair) add(pair), input.push_back(static_cast<float>(numbers.p[pair]));
  // Kernels read those of as many outputs as their positions could have.
  for (size_t power = 1; power < numbers.positions(); ++power)
    for (size_t pair = 0; pair < pairs; ++pair) output.push_back(static_cast<float>(std::pow(numbers.p[pair], double(power))));
  const Numbers points = points_of(form);
  weights.push_back(numbers.has_zero() ? static_cast<float>(1 / normal_of(points, 0)) : 0);
  for (size_t pair = 0; pair < pairs; ++pair)
    for (size_t k = 0; k < numbers.met(); ++k) {
      const size_t point = 2 * pair + numbers.has_zero();
      weights.push_back(static_cast<float>(std::pow(points[point], double(k)) / normal_of(points, point)));
    }
}

void winograd_kernel_row(WinogradForm form, size_t position, double* g) {
  const WinogradNumbers& numbers = numbers_of(form);
  const bool strided = numbers.stride == 2;
  const Numbers points = points_of(form);
  std::fill(g, g + numbers.taps, 0.0);
  if (position > points.size()) {  // of an odd input
    g[1] = 1;
    return;
  }
  if (position == points.size()) {
    g[numbers.taps - 1] = 1;
    return;
  }
  const double n = normal_of(points, position);
  for (size_t k = 0; k < numbers.met(); ++k) g[k * (strided ? 2 : 1)] = std::pow(points[position], double(k)) / n;
}

}  // namespace minnow::cpu

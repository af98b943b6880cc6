// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters. Each call draws from a stream of its own.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/nearest.h"
#include "base/no_memory.h"
#include "train/nn/ops.h"

namespace minnow::nn {

Var normal_numbers(const Shape& shape) {
  std::vector<int64_t> both(shape.begin(), shape.end());
  both.insert(both.begin(), 2);
  const Var u = op("minnow.KeyedUniform", {random_key(), ints(both)});
  const Var radius = op("Sqrt", {op("Log", {1 - u[0]}) * -2.0});  // Box, Muller 1958
  return radius * op("Cos", {u[1] * 6.283185307179586});
}

namespace init {
namespace {

void set(const Var& parameter, const Var& value) {
  const DType dtype = parameter.dtype();
  const Var cast = value.dtype() == dtype ? value : op("Cast", {value}, {{"to", static_cast<int64_t>(dtype)}});
  parameter.assign(Var(cast.tensor()));
}

Var uniform_numbers(const Shape& shape) {
  return op("minnow.KeyedUniform", {random_key(), ints(std::vector<int64_t>(shape.begin(), shape.end()))});
}

Tensor zeros_of(const Var& parameter) { return Tensor(DType::f32, parameter.shape()); }

struct Gain {
  std::string_view name;
  double factor;
};
constexpr double kLeaky = 0;  // depends on the slope
constexpr Gain kGains[] = {
    {"linear", 1},           {"conv1d", 1},           {"conv2d", 1},  {"conv3d", 1},     {"conv_transpose1d", 1},
    {"conv_transpose2d", 1}, {"conv_transpose3d", 1}, {"sigmoid", 1}, {"tanh", 5.0 / 3}, {"relu", 1.4142135623730951},
    {"leaky_relu", kLeaky},  {"selu", 0.75}};

double kaiming_deviation(const Var& parameter, const Kaiming& how) {
  const Fans count = fans(parameter);
  return calculate_gain(how.nonlinearity, how.a) / std::sqrt(static_cast<double>(how.mode == Fan::in ? count.in : count.out));
}

}  // namespace

Fans fans(const Var& parameter) try {
  const Shape shape = parameter.shape();
  if (shape.rank() < 2) throw InvalidArgument("a weight has two axes at least, its shape is {}", shape);
  const int64_t field = shape.product(2, shape.rank());
  return {shape[1] * field, shape[0] * field};
} catch (...) {
  throw_as_error();
}

double calculate_gain(std::string_view nonlinearity, double slope) try {
  const auto row = std::find_if(std::begin(kGains), std::end(kGains), [&](const Gain& each) { return each.name == nonlinearity; });
  if (row == std::end(kGains)) {
    std::vector<std::string> names;
    for (const Gain& each : kGains) names.emplace_back(each.name);
    throw InvalidArgument("there is no activation \"{}\"{}", nonlinearity, nearest(nonlinearity, names));
  }
  return row->factor == kLeaky ? std::sqrt(2 / (1 + slope * slope)) : row->factor;
} catch (...) {
  throw_as_error();
}

void uniform_(const Var& parameter, double a, double b) try {
  set(parameter, uniform_numbers(parameter.shape()) * (b - a) + a);
} catch (...) {
  throw_as_error();
}
void normal_(const Var& parameter, double mean, double deviation) try {
  set(parameter, normal_numbers(parameter.shape()) * deviation + mean);
} catch (...) {
  throw_as_error();
}
void trunc_normal_(const Var& parameter, double mean, double deviation, double a, double b) try {
  if (!(a < b) || mean < a - 2 * deviation || mean > b + 2 * deviation)
    throw InvalidArgument("too few normal numbers of mean {} and deviation {} are between {} and {}", mean, deviation, a, b);
  const Shape shape = parameter.shape();
  const size_t count = static_cast<size_t>(shape.elements());
  Tensor made(DType::f32, shape);
  float* values = made.writable().data<float>();
  // Draw numbers outside of [a, b] again.
  for (size_t kept = 0; kept < count;) {
    const Var drawn = normal_numbers({static_cast<int64_t>(count - kept)}) * deviation + mean;
    const float* from = drawn.data<float>();
    for (size_t i = 0, end = count - kept; i < end; ++i)
      if (const double value = static_cast<double>(from[i]); value >= a && value <= b) values[kept++] = from[i];
  }
  set(parameter, Var(made));
} catch (...) {
  throw_as_error();
}
void constant_(const Var& parameter, double value) try {
  Tensor made = zeros_of(parameter);
  std::fill_n(made.writable().data<float>(), made.elements(), static_cast<float>(value));
  set(parameter, Var(made));
} catch (...) {
  throw_as_error();
}
void zeros_(const Var& parameter) { constant_(parameter, 0); }
void ones_(const Var& parameter) { constant_(parameter, 1); }
void eye_(const Var& parameter) try {
  const Shape shape = parameter.shape();
  if (shape.rank() != 2) throw InvalidArgument("eye_ takes a matrix, its shape is {}", shape);
  Tensor made = zeros_of(parameter);
  for (int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) made.writable().data<float>()[i * shape[1] + i] = 1;
  set(parameter, Var(made));
} catch (...) {
  throw_as_error();
}
void dirac_(const Var& parameter, int64_t groups) try {
  const Shape shape = parameter.shape();
  if (shape.rank() < 3 || shape.rank() > 5 || groups < 1 || shape[0] % groups != 0)
    throw InvalidArgument("dirac_ takes filters of 3 to 5 axes whose number the groups divide, the shape is {}", shape);
  Tensor made = zeros_of(parameter);
  const int64_t each = shape[0] / groups, field = shape.product(2, shape.rank());
  int64_t middle = 0;
  for (size_t axis = 2; axis < shape.rank(); ++axis) middle = middle * shape[axis] + shape[axis] / 2;
  if (field)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i = 0; i < std::min(each, shape[1]); ++i)
        made.writable().data<float>()[((group * each + i) * shape[1] + i) * field + middle] = 1;
  set(parameter, Var(made));
} catch (...) {
  throw_as_error();
}

void xavier_uniform_(const Var& parameter, double gain) try {
  const Fans count = fans(parameter);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(count.in + count.out));
  uniform_(parameter, -bound, bound);
} catch (...) {
  throw_as_error();
}
void xavier_normal_(const Var& parameter, double gain) try {
  const Fans count = fans(parameter);
  normal_(parameter, 0, gain * std::sqrt(2.0 / static_cast<double>(count.in + count.out)));
} catch (...) {
  throw_as_error();
}
void kaiming_uniform_(const Var& parameter, const Kaiming& how) try {
  const double bound = std::sqrt(3.0) * kaiming_deviation(parameter, how);
  uniform_(parameter, -bound, bound);
} catch (...) {
  throw_as_error();
}
void kaiming_normal_(const Var& parameter, const Kaiming& how) try {
  normal_(parameter, 0, kaiming_deviation(parameter, how));
} catch (...) {
  throw_as_error();
}

void orthogonal_(const Var& parameter, double gain) try {
  fans(parameter);  // two axes
  const Shape shape = parameter.shape();
  const size_t rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape.product(1, shape.rank()));
  const size_t count = std::min(rows, columns), length = std::max(rows, columns);
  // `count` vectors of that length: each loses its parts along those before it, twice because of rounding. The factors of normal numbers
  // have every direction with the same chance.
  const Var drawn = normal_numbers({static_cast<int64_t>(count), static_cast<int64_t>(length)});
  const float* from = drawn.data<float>();
  std::vector<double> q(from, from + count * length);
  const auto row = [&](size_t i) { return std::span(q.data() + i * length, length); };
  const auto product = [&](size_t i, size_t k) {
    double sum = 0;
    for (size_t j = 0; j < length; ++j) sum += row(i)[j] * row(k)[j];
    return sum;
  };
  for (size_t i = 0; i < count; ++i) {
    for (int time = 0; time < 2; ++time)
      for (size_t k = 0; k < i; ++k) {
        const double part = product(i, k);
        for (size_t j = 0; j < length; ++j) row(i)[j] -= part * row(k)[j];
      }
    const double norm = std::sqrt(product(i, i));
    for (double& value : row(i)) value /= norm;
  }
  Tensor made(DType::f32, shape);
  float* to = made.writable().data<float>();
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) to[i * columns + j] = static_cast<float>(gain * (rows < columns ? row(i)[j] : row(j)[i]));
  set(parameter, Var(made));
} catch (...) {
  throw_as_error();
}

}  // namespace init
}  // namespace minnow::nn

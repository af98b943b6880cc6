// SPDX-License-Identifier: Apache-2.0
// Resizing as PIL does it: the filter grows with the scale, so that a smaller picture is smooth. Rows are resampled first; of bytes the
// result is rounded to bytes before columns are.
#include "vision/resize_parts.h"

namespace minnow::vision {
namespace {

constexpr int kBits = 22;  // of weights for bytes

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }
double triangle(double x) { return std::abs(x) < 1 ? 1 - std::abs(x) : 0; }
/// Keys' cubic with a = -0.5.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}
double sinc(double x) { return x == 0 ? 1 : std::sin(x * 3.14159265358979323846) / (x * 3.14159265358979323846); }
double lanczos3(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Weights {
  std::vector<int64_t> first;
  std::vector<size_t> start;  // where the weights of each begin; one more for the end
  std::vector<double> values;
  std::vector<int32_t> integers;
};

Weights weights_of(const Axis& axis, double (*filter)(double), double support) {
  Weights weights;
  const double scale = static_cast<double>(axis.from) / static_cast<double>(axis.to), grown = std::max(scale, 1.0), reach = support * grown;
  for (int64_t i = 0; i < axis.to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
    const int64_t last = std::min<int64_t>(axis.from, static_cast<int64_t>(center + reach + 0.5));
    weights.first.push_back(first);
    const size_t start = weights.values.size();
    weights.start.push_back(start);
    double sum = 0;
    for (int64_t k = first; k < last; ++k) {
      weights.values.push_back(filter((static_cast<double>(k) - center + 0.5) / grown));
      sum += weights.values.back();
    }
    for (size_t k = start; k < weights.values.size(); ++k) {
      if (sum != 0) weights.values[k] /= sum;
      weights.integers.push_back(static_cast<int32_t>(weights.values[k] * (1 << kBits) + (weights.values[k] < 0 ? -0.5 : 0.5)));
    }
  }
  weights.start.push_back(weights.values.size());
  return weights;
}

/// Sums are exact for bytes (32 bits, as PIL's), else in double.
template <class T>
struct Sum {
  static constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  using Type = std::conditional_t<kBytes, int32_t, double>;
  static Type start() { return kBytes ? Type(1 << (kBits - 1)) : Type(0); }
  static const Type* weights(const Weights& all) {
    if constexpr (kBytes)
      return all.integers.data();
    else
      return all.values.data();
  }
  static T finish(Type sum) {
    if constexpr (kBytes)
      return static_cast<T>(std::clamp(sum >> kBits, 0, 255));
    else
      return saturate<T>(sum);
  }
};

template <class T>
void across(const ImageView& from, const MutableImageView& to, const Weights& all) {
  const int64_t channels = from.channels();
  const auto* const weights = Sum<T>::weights(all);
  for_rows(to.height(), static_cast<int64_t>(all.values.size()) * channels, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      T* out = to.row<T>(y);
      for (size_t x = 0; x < all.first.size(); ++x) {
        const T* const in = from.row<T>(y) + all.first[x] * channels;
        const size_t count = all.start[x + 1] - all.start[x];
        for (int64_t c = 0; c < channels; ++c) {
          auto sum = Sum<T>::start();
          for (size_t k = 0; k < count; ++k)
            sum += static_cast<decltype(sum)>(in[static_cast<int64_t>(k) * channels + c]) * weights[all.start[x] + k];
          *out++ = Sum<T>::finish(sum);
        }
      }
    }
  });
}

template <class T>
void down(const ImageView& from, const MutableImageView& to, const Weights& all) {
  const int64_t size = from.width() * from.channels();
  const auto* const weights = Sum<T>::weights(all);
  for_rows(to.height(), size * (1 + from.height() / to.height()), [&](int64_t begin, int64_t end) {
    std::vector<typename Sum<T>::Type> sums(static_cast<size_t>(size));
    for (int64_t y = begin; y < end; ++y) {
      const size_t at = static_cast<size_t>(y);
      std::fill(sums.begin(), sums.end(), Sum<T>::start());
      for (size_t k = all.start[at]; k < all.start[at + 1]; ++k) {
        const T* const in = from.row<T>(all.first[at] + static_cast<int64_t>(k - all.start[at]));
        const auto weight = weights[k];
        auto* const sum = sums.data();
        for (int64_t i = 0; i < size; ++i) sum[i] += static_cast<decltype(+weight)>(in[i]) * weight;
      }
      T* const out = to.row<T>(y);
      for (int64_t i = 0; i < size; ++i) out[i] = Sum<T>::finish(sums[static_cast<size_t>(i)]);
    }
  });
}

}  // namespace

void resize_antialiased(const ImageView& from, const MutableImageView& to, Interpolation interpolation) {
  const bool is_box = interpolation == Interpolation::area, linear = interpolation == Interpolation::linear;
  const bool is_cubic = interpolation == Interpolation::cubic;
  double (*const filter)(double) = is_box ? box : linear ? triangle : is_cubic ? cubic : lanczos3;
  const double support = is_box ? 0.5 : linear ? 1 : is_cubic ? 2 : 3;
  with_element("resize", from.dtype(), [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, int32_t>) return;
    ImageView source = from;
    Tensor between;
    if (from.width() != to.width()) {
      const bool last = from.height() == to.height();
      if (!last) between = new_image(from.dtype(), from.height(), to.width(), from.channels());
      across<T>(from, last ? to : writable(between), weights_of({from.width(), to.width(), 0}, filter, support));
      if (last) return;
      source = between;
    }
    down<T>(source, to, weights_of({from.height(), to.height(), 0}, filter, support));
  });
}

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
#include <cfloat>

#include "base/no_memory.h"
#include "vision/fft.h"
#include "vision/points.h"

namespace minnow::vision {
namespace {

constexpr size_t kLanes = 32;

/// Channels of a picture, one plane each.
template <class T>
struct Planes {
  size_t height, width;
  std::vector<std::vector<T>> channels;
};

/// Each channel less a constant.
template <class T>
Planes<T> planes_of(const ImageView& image, const std::vector<double>& less) {
  Planes<T> planes{static_cast<size_t>(image.height()), static_cast<size_t>(image.width()), {}};
  const size_t channels = static_cast<size_t>(image.channels());
  for (size_t c = 0; c < channels; ++c) planes.channels.emplace_back(planes.height * planes.width);
  const auto fill = [&](auto element) {
    using From = decltype(element);
    for_rows(image.height(), 2 * image.width() * image.channels(), [&](int64_t first, int64_t last) {
      for (size_t c = 0; c < channels; ++c) {
        const T minus = static_cast<T>(less[c]);
        for (int64_t y = first; y < last; ++y) {
          const From* const row = image.row<From>(y) + c;
          T* const to = planes.channels[c].data() + static_cast<size_t>(y) * planes.width;
          for (size_t x = 0; x < planes.width; ++x) to[x] = static_cast<T>(row[x * channels]) - minus;
        }
      }
    });
  };
  if (image.dtype() == DType::u8)
    fill(uint8_t());
  else
    fill(float());
  return planes;
}

/// The length of a transform and how many results it gives.
struct Cut {
  size_t length, results, count;
};

Cut cut_of(size_t results, size_t size) {
  size_t block = std::max<size_t>(static_cast<size_t>(std::lrint(static_cast<double>(size) * 4.5)), size < 256 ? 257 - size : 1);
  block = std::min(block, results);
  size_t length = static_cast<size_t>(fast_size(static_cast<int64_t>(block + size - 1)));
  block = std::min(length - size + 1, results);
  const size_t count = (results + block - 1) / block;
  block = (results + count - 1) / count;
  length = static_cast<size_t>(fast_size(static_cast<int64_t>(block + size - 1)));
  return {length, block, count};
}

template <class T>
void multiply(T* a_re, T* a_im, const T* b_re, const T* b_im, size_t n) {
  if constexpr (sizeof(T) == 4)
    fft_loops().multiply32(a_re, a_im, b_re, b_im, n, true);
  else
    fft_loops().multiply64(a_re, a_im, b_re, b_im, n, true);
}

/// Sums of products of a template with all parts of a picture, of all channels: [height - th + 1, width - tw + 1]. Blocks of the picture go
/// through Fourier transforms, two blocks as the parts of complex numbers.
template <class T>
std::vector<T> correlate(const Planes<T>& image, const Planes<T>& pattern) {
  const size_t channels = image.channels.size(), height = image.height - pattern.height + 1, width = image.width - pattern.width + 1;
  std::vector<T> result(height * width);
  const Cut across = cut_of(width, pattern.width), down = cut_of(height, pattern.height);
  const Fft<T> horizontal(across.length), vertical(down.length);
  const size_t nx = across.length, ny = down.length, groups = (ny + kLanes - 1) / kLanes;
  const size_t block_size = 2 * nx * kLanes;
  // Rows of a plane, turned: [nx, lanes] of the real parts, then of the imaginary ones.
  const auto gather = [&](const std::vector<T>& plane, size_t g, T* to) {
    const size_t y = g * kLanes, lanes = std::min(kLanes, ny - y);
    for (size_t part = 0; part < 2; ++part) {
      const T* const from = plane.data() + part * nx * ny + y * nx;
      T* const out = to + part * nx * lanes;
      for (size_t x = 0; x < nx; x += 8)
        for (size_t l = 0; l < lanes; ++l)
          for (size_t i = x; i < std::min(nx, x + 8); ++i) out[i * lanes + l] = from[l * nx + i];
    }
    return lanes;
  };
  std::vector<std::vector<T>> spectra;
  for (size_t c = 0; c < channels; ++c) {
    std::vector<T> plane(2 * nx * ny);
    for (size_t y = 0; y < pattern.height; ++y)
      std::copy_n(pattern.channels[c].data() + y * pattern.width, pattern.width, plane.data() + y * nx);
    fft_columns(vertical, plane.data(), plane.data() + nx * ny, pattern.width, nx, false);
    std::vector<T>& spectrum = spectra.emplace_back(groups * block_size);
    std::vector<T> work(horizontal.work() * kLanes);
    for (size_t g = 0; g < groups; ++g) {
      T* const block = spectrum.data() + g * block_size;
      const size_t lanes = gather(plane, g, block);
      horizontal.run(block, block + nx * lanes, lanes, false, work.data());
    }
  }
  const size_t tiles = across.count * down.count, pairs = (tiles + 1) / 2;
  const T scale = T(1) / static_cast<T>(nx * ny);
  for_rows(static_cast<int64_t>(pairs), static_cast<int64_t>(64 * nx * ny), [&](int64_t first, int64_t last) {
    std::vector<std::vector<T>> planes(channels, std::vector<T>(2 * nx * ny));
    std::vector<T> block(block_size), sum(block_size), work(horizontal.work() * kLanes);
    for (int64_t pair = first; pair < last; ++pair) {
      for (size_t c = 0; c < channels; ++c) {
        std::vector<T>& plane = planes[c];
        for (size_t part = 0; part < 2; ++part) {
          const size_t tile = 2 * static_cast<size_t>(pair) + part;
          T* const to = plane.data() + part * nx * ny;
          if (tile >= tiles) {
            std::fill(to, to + nx * ny, T(0));
            continue;
          }
          const size_t x0 = tile % across.count * across.results, y0 = tile / across.count * down.results;
          const size_t w = std::min(nx, image.width - x0), h = std::min(ny, image.height - y0);
          for (size_t y = 0; y < h; ++y) {
            std::copy_n(image.channels[c].data() + (y0 + y) * image.width + x0, w, to + y * nx);
            std::fill(to + y * nx + w, to + (y + 1) * nx, T(0));
          }
          std::fill(to + h * nx, to + ny * nx, T(0));
        }
        fft_columns(vertical, plane.data(), plane.data() + nx * ny, nx, nx, false);
      }
      for (size_t g = 0; g < groups; ++g) {
        size_t lanes = 0;
        for (size_t c = 0; c < channels; ++c) {
          T* const to = c == 0 ? sum.data() : block.data();
          lanes = gather(planes[c], g, to);
          const T* const spectrum = spectra[c].data() + g * block_size;
          horizontal.run(to, to + nx * lanes, lanes, false, work.data());
          multiply(to, to + nx * lanes, spectrum, spectrum + nx * lanes, nx * lanes);
          if (c)
            for (size_t i = 0; i < 2 * nx * lanes; ++i) sum[i] += block[i];
        }
        horizontal.run(sum.data(), sum.data() + nx * lanes, lanes, true, work.data());
        for (size_t part = 0; part < 2; ++part) {
          T* const to = planes[0].data() + part * nx * ny + g * kLanes * nx;
          const T* const from = sum.data() + part * nx * lanes;
          for (size_t x = 0; x < nx; x += 8)
            for (size_t l = 0; l < lanes; ++l)
              for (size_t i = x; i < std::min(nx, x + 8); ++i) to[l * nx + i] = from[i * lanes + l] * scale;
        }
      }
      fft_columns(vertical, planes[0].data(), planes[0].data() + nx * ny, across.results, nx, true);
      for (size_t part = 0; part < 2; ++part) {
        const size_t tile = 2 * static_cast<size_t>(pair) + part;
        if (tile >= tiles) break;
        const size_t x0 = tile % across.count * across.results, y0 = tile / across.count * down.results;
        const size_t w = std::min(across.results, width - x0), h = std::min(down.results, height - y0);
        for (size_t y = 0; y < h; ++y)
          std::copy_n(planes[0].data() + part * nx * ny + y * nx, w, result.data() + (y0 + y) * width + x0);
      }
    }
  });
  return result;
}

/// Sums of the channels of a template, of its squares, and of its deviations' squares.
struct Statistics {
  std::vector<double> mean;
  double squares = 0, deviations = 0;  // of all channels, over all elements
};

template <class T>
Statistics statistics_of(const ImageView& image) {
  Statistics s;
  const size_t channels = static_cast<size_t>(image.channels());
  std::vector<double> squares(channels);
  s.mean.resize(channels);
  const double count = static_cast<double>(image.height() * image.width());
  for (int64_t y = 0; y < image.height(); ++y) {
    const T* const row = image.row<T>(y);
    for (size_t x = 0; x < static_cast<size_t>(image.width()); ++x) {
      for (size_t c = 0; c < channels; ++c) {
        const double value = static_cast<double>(row[x * channels + c]);
        s.mean[c] += value;
        squares[c] += value * value;
      }
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    s.mean[c] /= count;
    s.squares += squares[c];
    s.deviations += std::max(squares[c] / count - s.mean[c] * s.mean[c], 0.) * count;
  }
  return s;
}

/// Calls use(x, sums of the channels, sum of squares) for the window of each result of rows first .. last - 1.
template <class T, class F>
void windows(const ImageView& image, int64_t window_height, int64_t window_width, int64_t first, int64_t last, F&& use) {
  const size_t channels = static_cast<size_t>(image.channels()), elements = static_cast<size_t>(image.width()) * channels;
  std::vector<double> column(elements), column_squares(static_cast<size_t>(image.width()));
  const auto add = [&](int64_t y, double sign) {
    const T* const row = image.row<T>(y);
    for (size_t i = 0; i < elements; ++i) column[i] += sign * static_cast<double>(row[i]);
    for (size_t x = 0, i = 0; x < column_squares.size(); ++x)
      for (size_t c = 0; c < channels; ++c, ++i) column_squares[x] += sign * static_cast<double>(row[i]) * static_cast<double>(row[i]);
  };
  for (int64_t y = first; y < first + window_height - 1; ++y) add(y, 1);
  const size_t w = static_cast<size_t>(window_width), results = static_cast<size_t>(image.width()) - w + 1;
  double sums[4];
  for (int64_t y = first; y < last; ++y) {
    add(y + window_height - 1, 1);
    double squares = 0;
    std::fill(sums, sums + 4, 0.);
    for (size_t x = 0; x + 1 < w; ++x) {
      for (size_t c = 0; c < channels; ++c) sums[c] += column[x * channels + c];
      squares += column_squares[x];
    }
    for (size_t x = 0; x < results; ++x) {
      for (size_t c = 0; c < channels; ++c) sums[c] += column[(x + w - 1) * channels + c];
      squares += column_squares[x + w - 1];
      use(y, x, sums, squares);
      for (size_t c = 0; c < channels; ++c) sums[c] -= column[x * channels + c];
      squares -= column_squares[x];
    }
    add(y, -1);
  }
}

template <class T, class Work>
void match(const ImageView& image, const ImageView& pattern, TemplateMatch method, const MutableImageView& to) {
  const size_t channels = static_cast<size_t>(image.channels());
  const Statistics s = statistics_of<T>(pattern);
  const double area = static_cast<double>(pattern.height() * pattern.width());
  const bool normed = method == TemplateMatch::sqdiff_normed || method == TemplateMatch::ccorr_normed || method == TemplateMatch::ccoeff_normed;
  const bool difference = method == TemplateMatch::sqdiff || method == TemplateMatch::sqdiff_normed;
  const bool centered = method == TemplateMatch::ccoeff || method == TemplateMatch::ccoeff_normed;
  if (method == TemplateMatch::ccoeff_normed && s.deviations / area < DBL_EPSILON) {
    for (int64_t y = 0; y < to.height(); ++y) std::fill(to.row<float>(y), to.row<float>(y) + to.width(), 1.f);
    return;
  }
  // The template's mean is taken away, so that a constant of the picture's adds nothing; sums lose less.
  const std::vector<double> middle(channels, std::is_same_v<T, uint8_t> ? 128. : 0.);
  const std::vector<Work> products = correlate(planes_of<Work>(image, middle), planes_of<Work>(pattern, s.mean));
  const size_t width = static_cast<size_t>(to.width());
  if (method == TemplateMatch::ccoeff) {
    for (int64_t y = 0; y < to.height(); ++y)
      for (size_t x = 0; x < width; ++x) to.row<float>(y)[x] = static_cast<float>(products[static_cast<size_t>(y) * width + x]);
    return;
  }
  const double norm = std::sqrt(centered ? s.deviations : s.squares);
  for_rows(to.height(), 8 * image.width() * image.channels(), [&](int64_t first, int64_t last) {
    windows<T>(image, pattern.height(), pattern.width(), first, last, [&](int64_t y, size_t x, const double* sums, double squares) {
      double value = static_cast<double>(products[static_cast<size_t>(y) * width + x]), means = 0;
      for (size_t c = 0; c < channels; ++c) {
        if (centered)
          means += sums[c] * sums[c] / area;
        else
          value += s.mean[c] * sums[c];
      }
      if (difference) value = std::max(squares - 2 * value + s.squares, 0.);
      if (normed) {
        const double left = std::max(squares - means, 0.);
        const double scale =
            left <= std::min(0.5, 10 * static_cast<double>(FLT_EPSILON) * squares) ? 0 : std::sqrt(left) * norm;  // else rounding errors
        if (std::fabs(value) < scale)
          value /= scale;
        else if (std::fabs(value) < scale * 1.125)
          value = value > 0 ? 1 : -1;
        else
          value = method == TemplateMatch::sqdiff_normed ? 1 : 0;
      }
      to.row<float>(y)[x] = static_cast<float>(value);
    });
  });
}

void match_masked(const ImageView& image, const ImageView& pattern, const ImageView& mask, TemplateMatch method, const MutableImageView& to) {
  const size_t channels = static_cast<size_t>(image.channels());
  const std::vector<double> zero(channels, 0.);
  using P = Planes<double>;
  const P i = planes_of<double>(image, zero), t = planes_of<double>(pattern, zero);
  P m = planes_of<double>(mask, zero);
  if (mask.dtype() == DType::u8)
    for (auto& plane : m.channels)
      for (double& value : plane) value = value > 0 ? 1 : 0;
  while (m.channels.size() < channels) m.channels.push_back(m.channels[0]);
  const auto combined = [&](const P& a, const P& b, auto&& f) {
    P result = a;
    for (size_t c = 0; c < channels; ++c)
      for (size_t k = 0; k < a.channels[c].size(); ++k) result.channels[c][k] = f(a.channels[c][k], b.channels[c][k], c);
    return result;
  };
  const auto product = [](double a, double b, size_t) { return a * b; };
  const auto total = [](const std::vector<double>& plane) {
    double sum = 0;
    for (const double value : plane) sum += value;
    return sum;
  };
  const auto squares = [&](const P& a) {
    double sum = 0;
    for (const auto& plane : a.channels)
      for (const double value : plane) sum += value * value;
    return sum;
  };
  const auto channel = [&](const P& a, size_t c) { return P{a.height, a.width, {a.channels[c]}}; };
  const P m2 = combined(m, m, product), i2 = combined(i, i, product);
  std::vector<double> result, norm;
  double scale = 1;
  if (method == TemplateMatch::ccoeff || method == TemplateMatch::ccoeff_normed) {
    std::vector<double> mean(channels), weight(channels);
    for (size_t c = 0; c < channels; ++c) {
      weight[c] = total(m.channels[c]);
      mean[c] = total(combined(m, t, product).channels[c]) / weight[c];
    }
    const P deviation = combined(m, t, [&](double a, double b, size_t c) { return a * (b - mean[c]); });
    const P weighted = combined(m, deviation, product);
    result = correlate(i, weighted);
    if (method == TemplateMatch::ccoeff_normed) norm = correlate(i2, m2), scale = std::sqrt(squares(deviation));
    for (size_t c = 0; c < channels; ++c) {
      const std::vector<double> sums = correlate(channel(i, c), channel(m, c));
      const double share = total(weighted.channels[c]) / weight[c];
      for (size_t k = 0; k < result.size(); ++k) result[k] -= share * sums[k];
      if (norm.empty()) continue;
      const std::vector<double> sums2 = correlate(channel(i, c), channel(m2, c));
      const double weight2 = total(m2.channels[c]);
      for (size_t k = 0; k < result.size(); ++k) norm[k] += sums[k] / weight[c] * (sums[k] * weight2 / weight[c] - 2 * sums2[k]);
    }
    for (double& value : norm) value = std::sqrt(value);
  } else {
    const bool normed = method == TemplateMatch::sqdiff_normed || method == TemplateMatch::ccorr_normed;
    const bool difference = method == TemplateMatch::sqdiff || method == TemplateMatch::sqdiff_normed;
    result = correlate(i, combined(t, m2, product));
    const double pattern2 = squares(combined(t, m, product));
    if (normed || difference) norm = correlate(i2, m2);
    if (difference)
      for (size_t k = 0; k < result.size(); ++k) result[k] = norm[k] + pattern2 - 2 * result[k];
    if (normed)
      for (double& value : norm) value = std::sqrt(pattern2 * value);
    else
      norm.clear();
  }
  const size_t width = static_cast<size_t>(to.width());
  for (size_t k = 0; k < result.size(); ++k)
    to.row<float>(static_cast<int64_t>(k / width))[k % width] = static_cast<float>(norm.empty() ? result[k] : result[k] / (norm[k] * scale));
}

}  // namespace

Tensor match_template(const ImageView& picture, const ImageView& part, TemplateMatch method, const ImageView& mask, Output output) {
  try {
    const char* const name = "matchTemplate";
    ImageView image = picture, pattern = part;
    check_not_empty(name, image);
    check_not_empty(name, pattern);
    check_dtype(name, image, {DType::u8, DType::f32});
    check_channels(name, image, {1, 2, 3, 4});
    check_size(name, image.width(), image.height());
    if (pattern.dtype() != image.dtype() || pattern.channels() != image.channels())
      throw InvalidArgument("{}: the template has the picture's dtype and channels, {}, not {}", name, to_string(image), to_string(pattern));
    if (method < TemplateMatch::sqdiff || method > TemplateMatch::ccoeff_normed)
      throw InvalidArgument("{}: the method is {}; it is between TM_SQDIFF (0) and TM_CCOEFF_NORMED (5)", name, static_cast<int>(method));
    if (!mask && (image.height() < pattern.height() || image.width() < pattern.width())) std::swap(image, pattern);
    if (image.height() < pattern.height() || image.width() < pattern.width())
      throw InvalidArgument("{}: the template {} does not fit in the picture {}", name, to_string(pattern), to_string(image));
    if (mask) {
      check_dtype(name, mask, {DType::u8, DType::f32});
      if (mask.height() != pattern.height() || mask.width() != pattern.width() ||
          (mask.channels() != 1 && mask.channels() != pattern.channels()))
        throw InvalidArgument("{}: the mask has the template's size, and one channel or as many, not {}", name, to_string(mask));
    }
    Result result(name, output, DType::f32, image.height() - pattern.height() + 1, image.width() - pattern.width() + 1, 1,
                  {&image, &pattern, &mask});
    if (mask)
      match_masked(image, pattern, mask, method, result.view());
    else if (image.dtype() == DType::u8)
      match<uint8_t, float>(image, pattern, method, result.view());
    else
      match<float, double>(image, pattern, method, result.view());
    return result.finish();
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

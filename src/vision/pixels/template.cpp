// SPDX-License-Identifier: Apache-2.0
#include <cfloat>
#include <memory>

#include "base/no_memory.h"
#include "vision/fft.h"
#include "vision/loops/template.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

constexpr size_t kLanes = 32;

/// Channels of a picture, one plane each.
template <class T>
struct Planes {
  size_t height, width;
  std::vector<std::vector<T>> channels;
};

/// Part of a row of a channel: elements x .. x + count - 1 of row y.
template <class T>
using ReadRow = FunctionRef<void(size_t c, size_t y, size_t x, size_t count, T* to)>;

/// A channel less a constant.
template <class T, class F>
void use_rows(const ImageView& image, const std::vector<double>& less, F&& use) {
  const size_t channels = static_cast<size_t>(image.channels());
  const auto read = [&](auto element) {
    using From = decltype(element);
    const auto row = [&](size_t c, size_t y, size_t x, size_t count, T* to) {
      const T minus = static_cast<T>(less[c]);
      const From* const from = image.row<From>(static_cast<int64_t>(y)) + x * channels + c;
      if constexpr (sizeof(From) == 1 && sizeof(T) == 4) {
        if (channels == 1) return template_loops().bytes(from, minus, count, to);
      }
      if (channels == 1)
        for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]) - minus;
      else
        for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i * channels]) - minus;
    };
    use(ReadRow<T>(row));
  };
  if (image.dtype() == DType::u8)
    read(uint8_t());
  else
    read(float());
}

template <class T>
Planes<T> planes_of(const ImageView& image, const std::vector<double>& less) {
  Planes<T> planes{static_cast<size_t>(image.height()), static_cast<size_t>(image.width()), {}};
  use_rows<T>(image, less, [&](ReadRow<T> read) {
    for (size_t c = 0; c < static_cast<size_t>(image.channels()); ++c) {
      std::vector<T>& plane = planes.channels.emplace_back(planes.height * planes.width);
      for (size_t y = 0; y < planes.height; ++y) read(c, y, 0, planes.width, plane.data() + y * planes.width);
    }
  });
  return planes;
}

/// The length of a transform and how many results it gives.
struct Cut {
  size_t length, results, count;
};

Cut cut_into(size_t count, size_t results, size_t size) {
  const size_t block = (results + count - 1) / count;
  return {static_cast<size_t>(fast_size(static_cast<int64_t>(block + size - 1))), block, count};
}
Cut cut_of(size_t results, size_t size) {
  size_t block = std::max<size_t>(static_cast<size_t>(std::lrint(static_cast<double>(size) * 4.5)), size < 256 ? 257 - size : 1);
  block = std::min(block, results);
  size_t length = static_cast<size_t>(fast_size(static_cast<int64_t>(block + size - 1)));
  block = std::min(length - size + 1, results);
  const size_t count = (results + block - 1) / block;
  return cut_into(count, results, size);
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
void correlate(size_t image_height, size_t image_width, ReadRow<T> read, const Planes<T>& pattern, T* result) {
  const size_t channels = pattern.channels.size(), height = image_height - pattern.height + 1, width = image_width - pattern.width + 1;
  const Cut across = cut_of(width, pattern.width);
  Cut down = cut_of(height, pattern.height);
  if (across.count * down.count == 1 && height > 1) down = cut_into(2, height, pattern.height);  // blocks go in pairs
  const Fft<T> horizontal(across.length), vertical(down.length);
  const size_t nx = across.length, ny = down.length, groups = (ny + kLanes - 1) / kLanes;
  // Rows are not a power of two apart, else a column's elements would share few places of the cache.
  const size_t stride = (nx + 15) / 16 * 16 + 16, plane_size = stride * ny, block_size = 2 * nx * kLanes;
  // Rows of a plane, turned: [nx, lanes] of the real parts, then of the imaginary ones.
  const auto gather = [&](const T* plane, size_t g, T* to) {
    const size_t y = g * kLanes, lanes = std::min(kLanes, ny - y);
    for (size_t part = 0; part < 2; ++part) turn(plane + part * plane_size + y * stride, stride, lanes, nx, to + part * nx * lanes, lanes);
    return lanes;
  };
  std::vector<std::vector<T>> spectra;
  for (size_t c = 0; c < channels; ++c) {
    std::vector<T> plane(2 * plane_size);
    for (size_t y = 0; y < pattern.height; ++y)
      std::copy_n(pattern.channels[c].data() + y * pattern.width, pattern.width, plane.data() + y * stride);
    fft_columns(vertical, plane.data(), plane.data() + plane_size, pattern.width, stride, false);
    std::vector<T>& spectrum = spectra.emplace_back(groups * block_size);
    std::vector<T> work(horizontal.work() * kLanes);
    for (size_t g = 0; g < groups; ++g) {
      T* const block = spectrum.data() + g * block_size;
      const size_t lanes = gather(plane.data(), g, block);
      horizontal.run(block, block + nx * lanes, lanes, false, work.data());
      for (size_t i = 0; i < 2 * nx * lanes; ++i) block[i] *= T(1) / static_cast<T>(nx * ny);
    }
  }
  const size_t tiles = across.count * down.count, pairs = (tiles + 1) / 2;
  for_rows(static_cast<int64_t>(pairs), static_cast<int64_t>(64 * nx * ny), [&](int64_t first, int64_t last) {
    // Not set before: pages of zeros took longer than a transform.
    std::vector<std::unique_ptr<T[]>> planes(channels);
    for (std::unique_ptr<T[]>& plane : planes) plane = std::make_unique_for_overwrite<T[]>(2 * plane_size);
    const auto block = std::make_unique_for_overwrite<T[]>(channels > 1 ? block_size : 0),
               sum = std::make_unique_for_overwrite<T[]>(block_size),
               work = std::make_unique_for_overwrite<T[]>(horizontal.work() * kLanes);
    for (int64_t pair = first; pair < last; ++pair) {
      for (size_t c = 0; c < channels; ++c) {
        T* const plane = planes[c].get();
        for (size_t part = 0; part < 2; ++part) {
          const size_t tile = 2 * static_cast<size_t>(pair) + part;
          T* const to = plane + part * plane_size;
          if (tile >= tiles) {
            std::fill(to, to + plane_size, T(0));
            continue;
          }
          const size_t x0 = tile % across.count * across.results, y0 = tile / across.count * down.results;
          const size_t w = std::min(nx, image_width - x0), h = std::min(ny, image_height - y0);
          for (size_t y = 0; y < h; ++y) {
            read(c, y0 + y, x0, w, to + y * stride);
            std::fill(to + y * stride + w, to + y * stride + nx, T(0));
          }
          std::fill(to + h * stride, to + ny * stride, T(0));
        }
        fft_columns(vertical, plane, plane + plane_size, nx, stride, false);
      }
      for (size_t g = 0; g < groups; ++g) {
        size_t lanes = 0;
        for (size_t c = 0; c < channels; ++c) {
          T* const to = c == 0 ? sum.get() : block.get();
          lanes = gather(planes[c].get(), g, to);
          const T* const spectrum = spectra[c].data() + g * block_size;
          horizontal.run(to, to + nx * lanes, lanes, false, work.get());
          multiply(to, to + nx * lanes, spectrum, spectrum + nx * lanes, nx * lanes);
          if (c)
            for (size_t i = 0; i < 2 * nx * lanes; ++i) sum[i] += block[i];
        }
        horizontal.run(sum.get(), sum.get() + nx * lanes, lanes, true, work.get());
        for (size_t part = 0; part < 2; ++part)
          turn(sum.get() + part * nx * lanes, lanes, across.results, lanes, planes[0].get() + part * plane_size + g * kLanes * stride,
               stride);
      }
      fft_columns(vertical, planes[0].get(), planes[0].get() + plane_size, across.results, stride, true);
      for (size_t part = 0; part < 2; ++part) {
        const size_t tile = 2 * static_cast<size_t>(pair) + part;
        if (tile >= tiles) break;
        const size_t x0 = tile % across.count * across.results, y0 = tile / across.count * down.results;
        const size_t w = std::min(across.results, width - x0), h = std::min(down.results, height - y0);
        for (size_t y = 0; y < h; ++y) std::copy_n(planes[0].get() + part * plane_size + y * stride, w, result + (y0 + y) * width + x0);
      }
    }
  });
}

std::vector<double> correlate(const Planes<double>& image, const Planes<double>& pattern) {
  std::vector<double> result((image.height - pattern.height + 1) * (image.width - pattern.width + 1));
  const auto read = [&](size_t c, size_t y, size_t x, size_t count, double* to) {
    std::copy_n(image.channels[c].data() + y * image.width + x, count, to);
  };
  correlate<double>(image.height, image.width, ReadRow<double>(read), pattern, result.data());
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

/// Calls use(y, sums of each channel's window, of squares) for results of rows first .. last - 1; the sums lie in rows of [channel, result]
/// and [result].
template <class T, class Column, class F>
void windows(const ImageView& image, int64_t window_height, int64_t window_width, int64_t first, int64_t last, F&& use) {
  constexpr bool kIntegers = std::is_same_v<Column, uint32_t>;
  using Sum = std::conditional_t<kIntegers, int64_t, double>;
  const size_t channels = static_cast<size_t>(image.channels()), elements = static_cast<size_t>(image.width()) * channels;
  std::vector<Column> column(elements), column_squares(elements);
  const std::vector<T> zeros(elements);
  const auto slide = [&](const T* in, const T* out) {
    if constexpr (kIntegers)
      template_loops().slide(in, out, elements, column.data(), column_squares.data());
    else
      for (size_t i = 0; i < elements; ++i) {
        const Column a = static_cast<Column>(in[i]), b = static_cast<Column>(out[i]);
        column[i] += a - b;
        column_squares[i] += a * a - b * b;
      }
  };
  for (int64_t y = first; y < first + window_height - 1; ++y) slide(image.row<T>(y), zeros.data());
  const size_t w = static_cast<size_t>(window_width), results = static_cast<size_t>(image.width()) - w + 1;
  std::vector<double> sums(channels * results), squares(results);
  // Sums of squares below 2^31 take half the time as integers of 32 bits.
  const bool small = kIntegers && channels == 1 && window_height * window_width <= (int64_t{1} << 31) / (255 * 255);
  std::vector<uint32_t> running(small ? results + w : 0);
  for (int64_t y = first; y < last; ++y) {
    slide(image.row<T>(y + window_height - 1), y > first ? image.row<T>(y - 1) : zeros.data());
    if constexpr (kIntegers) {
      if (small) {
        template_loops().windows(column.data(), w, results, running.data(), sums.data());
        template_loops().windows(column_squares.data(), w, results, running.data(), squares.data());
        use(y, sums.data(), squares.data());
        continue;
      }
    }
    for (size_t c = 0; c < channels; ++c) {
      Sum sum = 0, square = 0;
      const Column* const s = column.data() + c;
      const Column* const s2 = column_squares.data() + c;
      for (size_t x = 0; x + 1 < w; ++x) sum += s[x * channels], square += s2[x * channels];
      double* const to = sums.data() + c * results;
      for (size_t x = 0; x < results; ++x) {
        const size_t in = (x + w - 1) * channels, out = x * channels;
        sum += s[in];
        square += s2[in];
        to[x] = static_cast<double>(sum);
        squares[x] = c ? squares[x] + static_cast<double>(square) : static_cast<double>(square);
        sum -= s[out];
        square -= s2[out];
      }
    }
    use(y, sums.data(), squares.data());
  }
}

template <class T, class Work>
void match(const ImageView& image, const ImageView& pattern, TemplateMatch method, const MutableImageView& to) {
  const size_t channels = static_cast<size_t>(image.channels());
  const Statistics s = statistics_of<T>(pattern);
  const double area = static_cast<double>(pattern.height() * pattern.width()), share = 1 / area;
  const bool normed =
      method == TemplateMatch::sqdiff_normed || method == TemplateMatch::ccorr_normed || method == TemplateMatch::ccoeff_normed;
  const bool difference = method == TemplateMatch::sqdiff || method == TemplateMatch::sqdiff_normed;
  const bool centered = method == TemplateMatch::ccoeff || method == TemplateMatch::ccoeff_normed;
  if (method == TemplateMatch::ccoeff_normed && s.deviations / area < DBL_EPSILON) {
    for (int64_t y = 0; y < to.height(); ++y) std::fill(to.row<float>(y), to.row<float>(y) + to.width(), 1.f);
    return;
  }
  // The template's mean is taken away, so that a constant of the picture's adds nothing; sums lose less.
  const std::vector<double> middle(channels, std::is_same_v<T, uint8_t> ? 128. : 0.);
  const size_t width = static_cast<size_t>(to.width());
  const bool in_place = sizeof(Work) == 4 && to.stride() == to.row_bytes();
  std::vector<Work> apart(in_place ? 0 : static_cast<size_t>(to.height()) * width);
  Work* const products = in_place ? to.row<Work>(0) : apart.data();
  use_rows<Work>(image, middle, [&](ReadRow<Work> read) {
    correlate<Work>(static_cast<size_t>(image.height()), static_cast<size_t>(image.width()), read, planes_of<Work>(pattern, s.mean),
                    products);
  });
  if (method == TemplateMatch::ccoeff) {
    if (in_place) return;
    for (int64_t y = 0; y < to.height(); ++y)
      for (size_t x = 0; x < width; ++x) to.row<float>(y)[x] = static_cast<float>(products[static_cast<size_t>(y) * width + x]);
    return;
  }
  const TemplateNorm norm{difference, normed, s.squares, std::sqrt(centered ? s.deviations : s.squares),
                          method == TemplateMatch::sqdiff_normed ? 1.f : 0.f};
  // Few bands: each starts with the sums of a whole window.
  const int64_t band = std::max<int64_t>(4 * pattern.height(), 32), bands = (to.height() + band - 1) / band;
  for_rows(bands, 8 * image.width() * image.channels() * band, [&](int64_t first, int64_t last) {
    std::vector<double> add(width), means(width);
    const auto row = [&](int64_t y, const double* sums, const double* squares) {
      for (size_t c = 0; c < channels; ++c) {
        const double* const sum = sums + c * width;
        std::vector<double>& to_sum = centered ? means : add;
        if (c == 0) std::fill(to_sum.begin(), to_sum.end(), 0.);
        if (centered)
          for (size_t x = 0; x < width; ++x) means[x] += sum[x] * sum[x] * share;
        else
          for (size_t x = 0; x < width; ++x) add[x] += s.mean[c] * sum[x];
      }
      const Work* const from = products + static_cast<size_t>(y) * width;
      if constexpr (sizeof(Work) == 4)
        template_loops().finish32(from, add.data(), means.data(), squares, norm, width, to.row<float>(y));
      else
        template_loops().finish64(from, add.data(), means.data(), squares, norm, width, to.row<float>(y));
    };
    const auto slide = [&](auto column) {
      windows<T, decltype(column)>(image, pattern.height(), pattern.width(), first * band, std::min(last * band, to.height()), row);
    };
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (pattern.height() <= 66000) return slide(uint32_t());  // whose squares fit
    }
    slide(double());
  });
}

void match_masked(const ImageView& image, const ImageView& pattern, const ImageView& mask, TemplateMatch method,
                  const MutableImageView& to) {
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
    to.row<float>(static_cast<int64_t>(k / width))[k % width] =
        static_cast<float>(norm.empty() ? result[k] : result[k] / (norm[k] * scale));
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
      throw InvalidArgument("{}: the template has the picture's dtype and channels, {}, not {}", name, to_string(image),
                            to_string(pattern));
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

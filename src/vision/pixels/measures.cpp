// SPDX-License-Identifier: Apache-2.0
// Sums, extremes, norms and histograms.
#include <minnow/vision/arithmetic.h>

#include <bit>
#include <mutex>

#include "vision/elements.h"
#include "vision/histogram.h"

namespace minnow::vision {
namespace {

/// Rows of a picture in which pixels that are not chosen do not count.
class Chosen {
 public:
  Chosen(const ImageView& image, const ImageView& mask)
      : image_(image),
        mask_(mask),
        width_(static_cast<size_t>(image.width())),
        pixel_(static_cast<size_t>(image.channels()) * size_of(image.dtype())),
        buffer_(mask ? (static_cast<size_t>(image.row_bytes()) + 7) / 8 : 0) {}
  /// How many pixels of row y are chosen.
  size_t count(int64_t y) const { return mask_ ? arithmetic_loops().nonzero[0](mask_.row<void>(y), width_) : width_; }
  /// Row y with zeros where the mask is 0.
  const void* with_zeros(int64_t y) {
    if (!mask_) return image_.row<void>(y);
    arithmetic_loops().masked(image_.row<void>(y), mask_.row<uint8_t>(y), buffer_.data(), width_, pixel_, true);
    return buffer_.data();
  }
  /// Row y with pixels that were chosen in it or before where the mask is 0; null if there are none yet.
  const void* with_others(int64_t y) {
    if (!mask_) return image_.row<void>(y);
    const uint8_t* const chosen = mask_.row<uint8_t>(y);
    if (!any_) {
      size_t x = 0;
      while (x < width_ && !chosen[x]) ++x;
      if (x == width_) return nullptr;
      any_ = true;
      auto* const to = reinterpret_cast<std::byte*>(buffer_.data());
      for (size_t i = 0; i < width_; ++i) std::memcpy(to + i * pixel_, image_.row<std::byte>(y) + x * pixel_, pixel_);
    }
    arithmetic_loops().masked(image_.row<void>(y), chosen, buffer_.data(), width_, pixel_, false);
    return buffer_.data();
  }

 private:
  const ImageView &image_, &mask_;
  const size_t width_, pixel_;
  std::vector<double> buffer_;
  bool any_ = false;
};

struct Sums {
  std::vector<double> of, squares;  // for each channel
  int64_t pixels = 0;
};

Sums sums_of(std::string_view function, const ImageView& given, const ImageView& given_mask, bool absolute, bool squares) {
  check_not_empty(function, given);
  if (given_mask) check_mask(function, given, given_mask);
  const int64_t at_once = rows_at_once({&given, &given_mask});
  const ImageView image = with_rows_joined(given, at_once), mask = given_mask ? with_rows_joined(given_mask, at_once) : ImageView();
  const int index = element_index(function, image.dtype());
  const size_t channels = static_cast<size_t>(image.channels());
  Sums result{std::vector<double>(channels), std::vector<double>(channels)};
  std::mutex lock;
  for_rows(image.height(), image.width() * image.channels(), [&](int64_t first, int64_t last) {
    std::vector<double> sum(std::max<size_t>(kSums, channels)), square(sum.size());
    Chosen chosen(image, mask);
    int64_t pixels = 0;
    const size_t elements = static_cast<size_t>(image.width()) * channels;
    for (int64_t y = first; y < last; ++y) {
      const void* const row = chosen.with_zeros(y);
      pixels += static_cast<int64_t>(chosen.count(y));
      if (index == 0 && (!squares || channels == 1) && (channels == 1 || channels == 3 || channels == 4)) {
        const auto* bytes = static_cast<const uint8_t*>(row);
        arithmetic_loops().channel_sums_u8(bytes, elements / channels, static_cast<int>(channels), sum.data());
        if (squares) square[0] += arithmetic_loops().squared_distance_u8(bytes, nullptr, elements);
      } else if (kSums % channels == 0) {
        arithmetic_loops().sums[index](row, elements, absolute, sum.data(), squares ? square.data() : nullptr);
      } else {
        std::vector<double> values(elements);
        arithmetic_loops().to_f64[index](row, values.data(), elements);
        for (size_t i = 0; i < elements; ++i) {
          sum[i % channels] += absolute ? std::abs(values[i]) : values[i];
          square[i % channels] += values[i] * values[i];
        }
      }
    }
    const std::lock_guard guard(lock);
    for (size_t i = 0; i < sum.size(); ++i) result.of[i % channels] += sum[i], result.squares[i % channels] += square[i];
    result.pixels += pixels;
  });
  return result;
}

Scalar4 four(std::string_view function, const std::vector<double>& values, double scale) {
  if (values.size() > 4) throw InvalidArgument("{}: the picture has up to 4 channels, not {}", function, values.size());
  Scalar4 result{};
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[i] * scale;
  return result;
}

void check_four(std::string_view function, const ImageView& image) {
  if (image.channels() > 4) throw InvalidArgument("{}: the picture has up to 4 channels, not {}", function, image.channels());
}

/// All elements as one channel; the mask then has an element for each of them.
Tensor difference_of(std::string_view function, const ImageView& a, const ImageView& b) {
  check_same(function, a, b);
  if (a.dtype() == DType::u8) return absdiff(a, b);
  // Differences of 16-bit integers are exact in f32.
  return subtract(a, b, {}, a.dtype() == DType::i32 || a.dtype() == DType::f64 ? DType::f64 : DType::f32);
}

/// The sum of differences of bytes, or of their squares; b == nullptr: of a.
double distance_of_bytes(const ImageView& given, const ImageView* other, bool squared) {
  const int64_t at_once = rows_at_once({&given, other ? other : &given});
  const ImageView a = with_rows_joined(given, at_once), b = other ? with_rows_joined(*other, at_once) : ImageView();
  double total = 0;
  std::mutex lock;
  for_light_rows(a.height(), 2 * a.row_bytes(), [&](int64_t first, int64_t last) {
    double here = 0;
    for (int64_t y = first; y < last; ++y)
      here += (squared ? arithmetic_loops().squared_distance_u8 : arithmetic_loops().distance_u8)(
          a.row<uint8_t>(y), b ? b.row<uint8_t>(y) : nullptr, static_cast<size_t>(a.row_bytes()));
    const std::lock_guard guard(lock);
    total += here;
  });
  return total;
}

double norm_of(std::string_view function, const ImageView& image, Norm kind, const ImageView& mask) {
  check_not_empty(function, image);
  if (mask) check_mask(function, image, mask);
  switch (kind) {
    case Norm::inf: {
      double most = 0;
      const int index = element_index(function, image.dtype());
      const int64_t at_once = rows_at_once({&image, &mask});
      const ImageView rows = with_rows_joined(image, at_once), marks = mask ? with_rows_joined(mask, at_once) : ImageView();
      Chosen chosen(rows, marks);
      for (int64_t y = 0; y < rows.height(); ++y) {
        const void* const row = chosen.with_others(y);
        if (!row) continue;
        double low, high;
        arithmetic_loops().least_and_most[index](row, static_cast<size_t>(rows.width() * rows.channels()), &low, &high);
        most = std::max({most, std::abs(low), std::abs(high)});
      }
      return most;
    }
    case Norm::l1:
    case Norm::l2:
    case Norm::l2sqr: {
      if (image.dtype() == DType::u8 && !mask) {
        const double bytes = distance_of_bytes(image, nullptr, kind != Norm::l1);
        return kind == Norm::l2 ? std::sqrt(bytes) : bytes;
      }
      const Sums sums = sums_of(function, image, mask, kind == Norm::l1, kind != Norm::l1);
      double total = 0;
      for (const double sum : kind == Norm::l1 ? sums.of : sums.squares) total += sum;
      return kind == Norm::l2 ? std::sqrt(total) : total;
    }
    case Norm::hamming:
    case Norm::hamming2: {
      check_dtype(function, image, {DType::u8});
      check_channels(function, image, {1});
      Chosen chosen(image, mask);
      int64_t bits = 0;
      for (int64_t y = 0; y < image.height(); ++y)
        for (const uint8_t byte : std::span(static_cast<const uint8_t*>(chosen.with_zeros(y)), static_cast<size_t>(image.width()))) {
          const unsigned value = byte;
          bits += std::popcount(kind == Norm::hamming ? value : (value | value >> 1) & 0x55u);
        }
      return static_cast<double>(bits);
    }
    default:
      throw InvalidArgument("{}: there is no norm {}", function, static_cast<int>(kind));
  }
}

}  // namespace

Scalar4 sum(const ImageView& image) try {
  check_four("sumElems", image);
  return four("sumElems", sums_of("sumElems", image, {}, false, false).of, 1);
} catch (...) {
  throw_as_error();
}

Scalar4 mean(const ImageView& image, const ImageView& mask) try {
  check_four("mean", image);
  const Sums sums = sums_of("mean", image, mask, false, false);
  return four("mean", sums.of, sums.pixels ? 1 / static_cast<double>(sums.pixels) : 0);
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> mean_std_dev(const ImageView& image, const ImageView& mask) try {
  const Sums sums = sums_of("meanStdDev", image, mask, false, true);
  const Shape shape{image.channels(), 1};
  Tensor means(DType::f64, shape), deviations(DType::f64, shape);
  double *mean = means.writable().data<double>(), *deviation = deviations.writable().data<double>();
  const double scale = sums.pixels ? 1 / static_cast<double>(sums.pixels) : 0;
  for (size_t c = 0; c < sums.of.size(); ++c) {
    mean[c] = sums.of[c] * scale;
    deviation[c] = std::sqrt(std::max(sums.squares[c] * scale - mean[c] * mean[c], 0.0));
  }
  return {std::move(means), std::move(deviations)};
} catch (...) {
  throw_as_error();
}

namespace {

/// `places`: whether to look for where they lie.
Extremes extremes(std::string_view kName, const ImageView& image, const ImageView& mask, bool places) {
  check_not_empty(kName, image);
  check_channels(kName, image, {1});
  if (mask) check_mask(kName, image, mask);
  const int index = element_index(kName, image.dtype());
  // Rows that lie one behind the other are searched several at a time.
  const int64_t together = !mask && image.stride() == image.row_bytes() ? std::max<int64_t>(1, 32768 / image.row_bytes()) : 1;
  struct Found {
    double least, most;
    int64_t least_row, most_row;
  };
  Found found{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), -1, -1};
  std::mutex lock;
  for_light_rows(image.height(), image.row_bytes(), [&](int64_t first, int64_t last) {
    Found here{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), -1, -1};
    Chosen chosen(image, mask);
    for (int64_t y = first; y < last; y += together) {
      const void* const row = chosen.with_others(y);
      if (!row) continue;
      double low, high;
      arithmetic_loops().least_and_most[index](row, static_cast<size_t>(image.width() * std::min(together, last - y)), &low, &high);
      if (low < here.least || here.least_row < 0) here.least = low, here.least_row = y;
      if (high > here.most || here.most_row < 0) here.most = high, here.most_row = y;
      if (index == 0 && here.least == 0 && here.most == 255) break;  // no byte is beyond
    }
    if (here.least_row < 0) return;
    const std::lock_guard guard(lock);
    const auto better = [](bool greater, bool equal, int64_t row, int64_t than) { return than < 0 || greater || (equal && row < than); };
    if (better(here.least < found.least, here.least == found.least, here.least_row, found.least_row))
      found.least = here.least, found.least_row = here.least_row;
    if (better(here.most > found.most, here.most == found.most, here.most_row, found.most_row))
      found.most = here.most, found.most_row = here.most_row;
  });
  Extremes result;
  if (found.least_row < 0) return result;
  result.least = found.least, result.most = found.most;
  if (!places) return result;
  const auto place = [&](int64_t first, double value) {
    const size_t width = static_cast<size_t>(image.width());
    const bool compares = index == kF32 && !mask;
    const std::vector<float> values(compares ? width : 0, static_cast<float>(value));
    std::vector<uint8_t> marks(values.size());
    std::vector<double> row(compares || (index == 0 && !mask) ? 0 : width);
    for (int64_t y = first; y < std::min(image.height(), first + together); ++y) {
      if (index == 0 && !mask) {
        const auto* bytes = image.row<uint8_t>(y);
        if (const void* at = std::memchr(bytes, static_cast<int>(value), width))
          return Point{static_cast<int>(static_cast<const uint8_t*>(at) - bytes), static_cast<int>(y)};
        continue;
      }
      if (compares) {
        arithmetic_loops().compare_f32(Comparison::equal, image.row<float>(y), values.data(), marks.data(), marks.size());
        if (const void* at = std::memchr(marks.data(), 255, marks.size()))
          return Point{static_cast<int>(static_cast<const uint8_t*>(at) - marks.data()), static_cast<int>(y)};
        continue;
      }
      arithmetic_loops().to_f64[index](image.row<void>(y), row.data(), row.size());
      for (size_t x = 0; x < row.size(); ++x)
        if (row[x] == value && (!mask || mask.row<uint8_t>(y)[x])) return Point{static_cast<int>(x), static_cast<int>(y)};
    }
    return Point{-1, -1};
  };
  result.least_at = place(found.least_row, found.least);
  result.most_at = place(found.most_row, found.most);
  return result;
}

}  // namespace

Extremes min_max(const ImageView& image, const ImageView& mask) try { return extremes("minMaxLoc", image, mask, true); } catch (...) {
  throw_as_error();
}

Extremes values_of_extremes(std::string_view function, const ImageView& image, const ImageView& mask) {
  return extremes(function, image, mask, false);
}

double norm(const ImageView& image, Norm kind, const ImageView& mask) try { return norm_of("norm", image, kind, mask); } catch (...) {
  throw_as_error();
}

double norm(const ImageView& a, const ImageView& b, Norm kind, bool relative, const ImageView& mask) try {
  constexpr std::string_view kName = "norm";
  check_not_empty(kName, a);
  check_same(kName, a, b);
  if (a.dtype() == DType::u8 && !mask && !relative && (kind == Norm::l1 || kind == Norm::l2 || kind == Norm::l2sqr)) {
    const double total = distance_of_bytes(a, &b, kind != Norm::l1);
    return kind == Norm::l2 ? std::sqrt(total) : total;
  }
  const Tensor difference = kind == Norm::hamming || kind == Norm::hamming2 ? bitwise_xor(a, b) : difference_of(kName, a, b);
  const double size = norm_of(kName, difference, kind, mask);
  return relative ? size / (norm_of(kName, b, kind, mask) + std::numeric_limits<double>::epsilon()) : size;
} catch (...) {
  throw_as_error();
}

double psnr(const ImageView& a, const ImageView& b, double peak) try {
  constexpr std::string_view kName = "PSNR";
  check_not_empty(kName, a);
  check_same(kName, a, b);
  const double error = std::sqrt(norm(a, b, Norm::l2sqr) / static_cast<double>(a.height() * a.width() * a.channels()));
  return 20 * std::log10(peak / (error + std::numeric_limits<double>::epsilon()));
} catch (...) {
  throw_as_error();
}

int64_t count_nonzero(const ImageView& image) try {
  constexpr std::string_view kName = "countNonZero";
  check_not_empty(kName, image);
  check_channels(kName, image, {1});
  const int index = element_index(kName, image.dtype());
  int64_t count = 0;
  std::mutex lock;
  for_light_rows(image.height(), image.row_bytes(), [&](int64_t first, int64_t last) {
    size_t here = 0;
    for (int64_t y = first; y < last; ++y)
      here += arithmetic_loops().nonzero[index](image.row<void>(y), static_cast<size_t>(image.width()));
    const std::lock_guard guard(lock);
    count += static_cast<int64_t>(here);
  });
  return count;
} catch (...) {
  throw_as_error();
}

Tensor find_nonzero(const ImageView& image) try {
  if (!image) return Tensor();
  check_channels("findNonZero", image, {1});
  std::vector<int32_t> places;
  with_element("findNonZero", image.dtype() == DType::boolean ? DType::u8 : image.dtype(), [&](auto element) {
    for (int64_t y = 0; y < image.height(); ++y) {
      const auto* const row = image.row<decltype(element)>(y);
      for (int64_t x = 0; x < image.width(); ++x)
        if (row[x] != 0) places.insert(places.end(), {static_cast<int32_t>(x), static_cast<int32_t>(y)});
    }
  });
  if (places.empty()) return Tensor();
  Tensor result(DType::i32, {static_cast<int64_t>(places.size() / 2), 1, 2});
  std::copy(places.begin(), places.end(), result.writable().data<int32_t>());
  return result;
} catch (...) {
  throw_as_error();
}

Tensor reduce(const ImageView& image, int axis, Reduction kind, DType wanted, Output output) try {
  constexpr std::string_view kName = "reduce";
  check_not_empty(kName, image);
  if (axis != 0 && axis != 1) throw InvalidArgument("reduce: the axis is 0 (to one row) or 1 (to one column), not {}", axis);
  if (static_cast<int>(kind) < 0 || kind > Reduction::sum_of_squares)
    throw InvalidArgument("reduce: there is no reduction {}", static_cast<int>(kind));
  const DType dtype = wanted == DType::undefined ? image.dtype() : wanted;
  const int from = element_index(kName, image.dtype()), to = element_index(kName, dtype);
  const bool sums = kind == Reduction::sum || kind == Reduction::sum_of_squares;
  const bool extremes = kind == Reduction::most || kind == Reduction::least;
  if (extremes ? from != to || from == 1 || from == 4 : sums ? to < 4 || (from > to) || from == 1 || from == 4 : from > to && to < 4)
    throw Unsupported("reduce: {} cannot be reduced to {} in this way", image.dtype(), dtype);
  const size_t channels = static_cast<size_t>(image.channels()), elements = static_cast<size_t>(image.width()) * channels;
  const int64_t height = axis == 0 ? 1 : image.height(), width = axis == 0 ? image.width() : 1;
  Result result(kName, output, dtype, height, width, image.channels(), {&image});
  const auto join = [kind](double& into, double value) {
    switch (kind) {
      case Reduction::most:
        into = std::max(into, value);
        return;
      case Reduction::least:
        into = std::min(into, value);
        return;
      default:
        into += value;
    }
  };
  const double scale = kind == Reduction::mean ? 1.0 / static_cast<double>(axis == 0 ? image.height() : image.width()) : 1;
  const auto start = [&](double value) { return kind == Reduction::sum_of_squares ? value * value : value; };
  std::vector<double> row(elements), made(axis == 0 ? elements + 16 : channels + 16);
  if (axis == 0 && image.dtype() == DType::u8 && (kind == Reduction::sum || kind == Reduction::mean)) {
    std::vector<uint32_t> bytes(elements);
    constexpr int64_t kMost = 1 << 24;  // bytes whose sum is within 32 bits
    for (int64_t y = 0; y < image.height(); ++y) {
      arithmetic_loops().add_bytes(image.row<uint8_t>(y), bytes.data(), elements);
      if ((y + 1) % kMost != 0 && y + 1 != image.height()) continue;
      for (size_t i = 0; i < elements; ++i) made[i] += bytes[i];
      std::fill(bytes.begin(), bytes.end(), 0u);
    }
    for (size_t i = 0; i < elements; ++i) made[i] *= scale;
    arithmetic_loops().from_f64[to](made.data(), result.view().row<void>(0), elements);
    return result.finish();
  }
  for (int64_t y = 0; y < image.height(); ++y) {
    arithmetic_loops().to_f64[from](image.row<void>(y), row.data(), elements);
    if (axis == 0) {
      if (y == 0)
        for (size_t i = 0; i < elements; ++i) made[i] = start(row[i]);
      else if (extremes)
        for (size_t i = 0; i < elements; ++i) join(made[i], row[i]);
      else if (kind == Reduction::sum_of_squares)
        for (size_t i = 0; i < elements; ++i) made[i] += row[i] * row[i];
      else
        for (size_t i = 0; i < elements; ++i) made[i] += row[i];
      continue;
    }
    if (!extremes && kSums % channels == 0) {
      double sum[kSums] = {}, square[kSums] = {};
      const bool squares = kind == Reduction::sum_of_squares;
      arithmetic_loops().sums[from](image.row<void>(y), elements, false, sum, squares ? square : nullptr);
      std::fill_n(made.begin(), channels, 0.0);
      for (size_t k = 0; k < kSums; ++k) made[k % channels] += squares ? square[k] : sum[k];
      for (size_t c = 0; c < channels; ++c) made[c] *= scale;
      arithmetic_loops().from_f64[to](made.data(), result.view().row<void>(y), channels);
      continue;
    }
    for (size_t c = 0; c < channels; ++c) made[c] = start(row[c]);
    for (size_t i = channels; i < elements; i += channels)
      for (size_t c = 0; c < channels; ++c) join(made[c], start(row[i + c]));
    for (size_t c = 0; c < channels; ++c) made[c] *= scale;
    arithmetic_loops().from_f64[to](made.data(), result.view().row<void>(y), channels);
  }
  if (axis == 0) {
    for (size_t i = 0; i < elements; ++i) made[i] *= scale;
    arithmetic_loops().from_f64[to](made.data(), result.view().row<void>(0), elements);
  }
  return result.finish();
} catch (...) {
  throw_as_error();
}

// ---- Histograms

namespace {

constexpr int32_t kNone = -(1 << 29);

/// A channel of one of several pictures, and how its elements become bins.
struct Dimension {
  const ImageView* image = nullptr;
  int64_t channel = 0;
  int bins = 0;
  double low = 0, high = 0;
  std::vector<int> table;       // of u8: the bin of each value, -1: none
  std::vector<int32_t> scaled;  // the same times the bins of the dimensions behind, or kNone
  int bin_of(double value) const {
    if (!(value >= low && value < high)) return -1;
    const double scale = bins / (high - low);
    const int bin = static_cast<int>(std::floor(value * scale - scale * low));
    return bin < 0 ? -1 : std::min(bin, bins - 1);
  }
};

std::vector<Dimension> dimensions_of(std::string_view function, const std::vector<ImageView>& images, const std::vector<int>& channels,
                                     const std::vector<int>& sizes, const std::vector<double>& ranges) {
  if (images.empty()) throw InvalidArgument("{}: the list has no pictures", function);
  for (const ImageView& image : images) {
    check_not_empty(function, image);
    check_dtype(function, image, {DType::u8, DType::u16, DType::f32});
    if (image.dtype() != images[0].dtype() || image.height() != images[0].height() || image.width() != images[0].width())
      throw InvalidArgument("{}: the pictures have the same dtype and size, not {} and {}", function, to_string(images[0]),
                            to_string(image));
  }
  if (sizes.empty() || sizes.size() > 4) throw Unsupported("{}: a histogram has 1 to 4 dimensions, not {}", function, sizes.size());
  if (channels.size() != sizes.size() && !(channels.empty() && sizes.size() == images.size()))
    throw InvalidArgument("{}: there is a channel for each of {} dimensions, not {}", function, sizes.size(), channels.size());
  if (ranges.size() != 2 * sizes.size() && !(ranges.empty() && images[0].dtype() == DType::u8))
    throw InvalidArgument("{}: there are 2 bounds for each of {} dimensions, not {}", function, sizes.size(), ranges.size());
  std::vector<Dimension> dimensions(sizes.size());
  int64_t bins = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Dimension& dimension = dimensions[d];
    int64_t rest = channels.empty() ? 0 : channels[d];
    if (channels.empty()) {
      dimension.image = &images[d];
    } else {
      for (const ImageView& image : images) {
        if (rest >= 0 && rest < image.channels()) {
          dimension.image = &image;
          break;
        }
        rest -= image.channels();
      }
      if (!dimension.image || channels[d] < 0) throw InvalidArgument("{}: there is no channel {}", function, channels[d]);
    }
    dimension.channel = rest;
    if (sizes[d] <= 0 || (bins *= sizes[d]) > kMostPixels)
      throw InvalidArgument("{}: the size {} of a histogram cannot be", function, sizes[d]);
    dimension.bins = sizes[d];
    dimension.low = ranges.empty() ? 0 : ranges[2 * d];
    dimension.high = ranges.empty() ? 256 : ranges[2 * d + 1];
    if (!(dimension.low < dimension.high))
      throw InvalidArgument("{}: the bounds {} and {} are not in order", function, dimension.low, dimension.high);
    if (images[0].dtype() == DType::u8)
      for (int value = 0; value < 256; ++value) dimension.table.push_back(dimension.bin_of(value));
  }
  int32_t scale = 1;
  for (size_t d = dimensions.size(); d-- > 0; scale *= dimensions[d].bins)
    for (const int bin : dimensions[d].table) dimensions[d].scaled.push_back(bin < 0 ? kNone : bin * scale);
  return dimensions;
}

/// The bin of each pixel of a row; -1: none. A dimension adds its bin times the bins of those behind it, or kNone.
void bins_of_row(const std::vector<Dimension>& dimensions, int64_t y, std::vector<int32_t>& bins) {
  int32_t scale = 1;
  for (const Dimension& dimension : dimensions) scale *= dimension.bins;
  for (const Dimension& dimension : dimensions) {
    scale /= dimension.bins;
    const size_t step = static_cast<size_t>(dimension.image->channels()), width = bins.size();
    const bool first = &dimension == &dimensions[0];
    int32_t* const made = bins.data();
    const auto take = [&](auto element, auto bin_of) {
      using T = decltype(element);
      const T* from = dimension.image->row<T>(y) + dimension.channel;
      if (first)
        for (size_t x = 0; x < width; ++x) made[x] = bin_of(from[x * step]);
      else
        for (size_t x = 0; x < width; ++x) made[x] += bin_of(from[x * step]);
    };
    const auto scaled = [scale](int bin) { return bin < 0 ? kNone : bin * scale; };
    const auto computed = [&](auto value) { return scaled(dimension.bin_of(static_cast<double>(value))); };
    if (dimension.image->dtype() == DType::u8) {
      take(uint8_t(), [table = dimension.scaled.data()](uint8_t value) { return table[value]; });
    } else if (dimension.image->dtype() == DType::u16) {
      take(uint16_t(), computed);
    } else {
      take(float(), computed);
    }
  }
  for (int32_t& bin : bins) bin = bin < 0 ? -1 : bin;
}

}  // namespace

Tensor histogram(const std::vector<ImageView>& images, const std::vector<int>& channels, const ImageView& mask,
                 const std::vector<int>& sizes, const std::vector<double>& ranges, const Tensor& accumulate_to) try {
  constexpr std::string_view kName = "calcHist";
  const std::vector<Dimension> dimensions = dimensions_of(kName, images, channels, sizes, ranges);
  if (mask) check_mask(kName, images[0], mask);
  Shape shape;
  size_t total = 1;
  for (const int size : sizes) shape.push_back(size), total *= static_cast<size_t>(size);
  if (sizes.size() == 1) shape.push_back(1);
  Tensor result(DType::f32, shape);
  float* counts = result.writable().data<float>();
  std::fill_n(counts, total, 0.0f);
  if (accumulate_to && accumulate_to.elements() > 0) {
    if (accumulate_to.dtype() != DType::f32 || accumulate_to.elements() != static_cast<int64_t>(total))
      throw InvalidArgument("calcHist: the histogram to add to is f32{}, not {}{}", shape, accumulate_to.dtype(), accumulate_to.shape());
    std::copy_n(accumulate_to.data<float>(), total, counts);
  }
  const ImageView& image = images[0];
  const size_t width = static_cast<size_t>(image.width());
  std::vector<int64_t> found(total);
  if (dimensions.size() == 1 && image.dtype() == DType::u8) {
    const std::array<int64_t, 256> of_values = histogram_of_bytes(*dimensions[0].image, dimensions[0].channel, mask);
    for (size_t v = 0; v < 256; ++v)
      if (const int bin = dimensions[0].table[v]; bin >= 0) found[static_cast<size_t>(bin)] += of_values[v];
  } else {
    std::vector<int32_t> bins(width);
    // Neighbours, which often have the same bin, count in tables of their own. The first place of each counts pixels without a bin.
    const size_t tables = total <= 4096 ? 4 : 1, table = total + 1;
    std::vector<uint32_t> counted(tables * table);
    for (int64_t y = 0; y < image.height(); ++y) {
      bins_of_row(dimensions, y, bins);
      uint32_t* of_bins = counted.data() + 1;
      if (mask) {
        for (size_t x = 0; x < width; ++x) of_bins[bins[x]] += mask.row<uint8_t>(y)[x] != 0;
      } else {
        size_t x = 0;
        for (; tables == 4 && x + 4 <= width; x += 4)
          ++of_bins[bins[x]], ++of_bins[table + bins[x + 1]], ++of_bins[2 * table + bins[x + 2]], ++of_bins[3 * table + bins[x + 3]];
        for (; x < width; ++x) ++of_bins[bins[x]];
      }
    }
    for (size_t i = 0; i < tables; ++i)
      for (size_t bin = 0; bin < total; ++bin) found[bin] += counted[i * table + bin + 1];
  }
  for (size_t i = 0; i < total; ++i) counts[i] += static_cast<float>(found[i]);
  return result;
} catch (...) {
  throw_as_error();
}

double compare_histograms(const Tensor& a, const Tensor& b, HistogramComparison method) try {
  if (!a || !b || a.dtype() != DType::f32 || b.dtype() != DType::f32 || a.shape() != b.shape() || a.elements() == 0)
    throw InvalidArgument("compareHist: the histograms are f32 of the same shape");
  const float *p = a.data<float>(), *q = b.data<float>();
  const size_t n = static_cast<size_t>(a.elements());
  constexpr double kLeast = std::numeric_limits<double>::epsilon();
  double sum_a = 0, sum_b = 0, square_a = 0, square_b = 0, product = 0, result = 0;
  for (size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(p[i]), y = static_cast<double>(q[i]);
    sum_a += x, sum_b += y;
    switch (method) {
      case HistogramComparison::correlation:
        square_a += x * x, square_b += y * y, product += x * y;
        break;
      case HistogramComparison::chi_square:
        if (std::abs(x) > kLeast) result += (x - y) * (x - y) / x;
        break;
      case HistogramComparison::chi_square_alt:
        if (std::abs(x + y) > kLeast) result += (x - y) * (x - y) / (x + y);
        break;
      case HistogramComparison::intersection:
        result += std::min(x, y);
        break;
      case HistogramComparison::bhattacharyya:
        result += std::sqrt(x * y);
        break;
      case HistogramComparison::kullback_leibler:
        if (std::abs(x) > kLeast) result += x * std::log(x / (std::abs(y) <= kLeast ? 1e-10 : y));
        break;
      default:
        throw InvalidArgument("compareHist: there is no method {}", static_cast<int>(method));
    }
  }
  const double count = static_cast<double>(n);
  switch (method) {
    case HistogramComparison::correlation: {
      const double spread = (square_a - sum_a * sum_a / count) * (square_b - sum_b * sum_b / count);
      return std::abs(spread) > kLeast ? (product - sum_a * sum_b / count) / std::sqrt(spread) : 1;
    }
    case HistogramComparison::chi_square_alt:
      return 2 * result;
    case HistogramComparison::bhattacharyya: {
      const double both = sum_a * sum_b;
      return std::sqrt(std::max(1 - result * (std::abs(both) > std::numeric_limits<float>::epsilon() ? 1 / std::sqrt(both) : 1), 0.0));
    }
    default:
      return result;
  }
} catch (...) {
  throw_as_error();
}

Tensor back_project(const std::vector<ImageView>& images, const std::vector<int>& channels, const Tensor& histogram,
                    const std::vector<double>& ranges, double scale, Output output) try {
  constexpr std::string_view kName = "calcBackProject";
  if (!histogram || histogram.dtype() != DType::f32) throw InvalidArgument("calcBackProject: the histogram is f32");
  std::vector<int> sizes;
  for (size_t d = 0; d < histogram.shape().rank(); ++d)
    sizes.push_back(static_cast<int>(std::min<int64_t>(histogram.shape()[d], kMostPixels + 1)));
  if (sizes.size() == 2 && channels.size() == 1 && (sizes[0] == 1 || sizes[1] == 1)) sizes = {std::max(sizes[0], sizes[1])};
  const std::vector<Dimension> dimensions = dimensions_of(kName, images, channels, sizes, ranges);
  const ImageView& image = images[0];
  const ImageView given = output.view();
  Result result(kName, output, image.dtype(), image.height(), image.width(), 1, {&image, given ? &given : &image});
  const float* values = histogram.data<float>();
  if (image.dtype() == DType::u8 && histogram.elements() <= image.height() * image.width()) {
    // A byte for each bin; the first is for pixels in none.
    std::vector<uint8_t> of_bins(static_cast<size_t>(histogram.elements()) + 1);
    for (size_t i = 1; i < of_bins.size(); ++i) of_bins[i] = saturate<uint8_t>(static_cast<double>(values[i - 1]) * scale);
    for_rows(image.height(), image.width() * 4, [&](int64_t first, int64_t last) {
      std::vector<int32_t> bins(static_cast<size_t>(image.width()));
      for (int64_t y = first; y < last; ++y) {
        bins_of_row(dimensions, y, bins);
        uint8_t* const out = result.view().row<uint8_t>(y);
        for (size_t x = 0; x < bins.size(); ++x) out[x] = of_bins[static_cast<size_t>(bins[x] + 1)];
      }
    });
    return result.finish();
  }
  for_rows(image.height(), image.width() * 4, [&](int64_t first, int64_t last) {
    std::vector<int32_t> bins(static_cast<size_t>(image.width()));
    std::vector<double> made(bins.size() + 16);
    for (int64_t y = first; y < last; ++y) {
      bins_of_row(dimensions, y, bins);
      for (size_t x = 0; x < bins.size(); ++x) made[x] = bins[x] < 0 ? 0 : static_cast<double>(values[bins[x]]) * scale;
      arithmetic_loops().from_f64[element_index(kName, image.dtype())](made.data(), result.view().row<void>(y), bins.size());
    }
  });
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision

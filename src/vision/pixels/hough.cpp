// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "base/no_memory.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int64_t kMostVotes = int64_t{1} << 28;

int round_of(float x) { return static_cast<int>(std::lrint(x)); }

/// Angles from `low` to `high`; the last one is left out where it is the first one turned by pi.
int64_t count_of_angles(double low, double high, double step) {
  const double last = std::floor((high - low) / step);
  if (!(last >= 0 && last < 1e7)) throw InvalidArgument("HoughLines: there are between 1 and 10000000 angles");
  const int64_t count = static_cast<int64_t>(last) + 1;
  return count > 1 && std::fabs(kPi - static_cast<double>(count - 1) * step) < step / 2 ? count - 1 : count;
}

void check_lines(const char* name, const ImageView& image, double rho, double theta) {
  check_not_empty(name, image);
  check_dtype(name, image, {DType::u8, DType::boolean});
  check_channels(name, image, {1});
  check_size(name, image.width(), image.height());
  if (!(rho > 0 && rho < 1e9) || !(theta > 0 && theta < 1e9)) throw InvalidArgument("{}: rho and theta are above 0", name);
}

void check_votes(const char* name, int64_t angles, int64_t distances) {
  if (distances < 1 || distances > kMostVotes / (angles + 2))
    throw InvalidArgument("{}: {} angles times {} distances are more than {}; rho and theta may be larger", name, angles, distances,
                          kMostVotes);
}

/// Pixels that are not 0, and 1 for each in `left`.
void find_pixels(const ImageView& image, std::vector<uint8_t>& left, std::vector<Point>& pixels) {
  const int64_t width = image.width(), height = image.height();
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* const row = image.row<uint8_t>(y);
    for (int64_t x = 0; x < width;) {
      // Most pictures of lines are dark: many pixels at once.
      uint64_t words[8] = {};
      const int64_t end = std::min(x + 64, width);
      std::memcpy(words, row + x, static_cast<size_t>(end - x));
      const uint64_t any = (words[0] | words[1]) | (words[2] | words[3]) | ((words[4] | words[5]) | (words[6] | words[7]));
      if (any == 0) {
        x = end;
        continue;
      }
      for (const uint64_t word : words) {
        const int64_t stop = std::min(x + 8, end);
        if (word == 0) x = stop;
        for (; x < stop; ++x) {
          if (!row[x]) continue;
          left[static_cast<size_t>(y * width + x)] = 1;
          pixels.push_back({static_cast<int>(x), static_cast<int>(y)});
        }
      }
    }
  }
}

/// Both ways along a line, in steps of a pixel of one coordinate and of 1 / 65536 of the other.
struct Walk {
  bool flat;  // steps of a pixel to the side
  int64_t x0, y0, dx, dy;

  /// (a, b): the direction.
  Walk(const Point& p, float a, float b) : flat(std::fabs(a) > std::fabs(b)), x0(p.x), y0(p.y) {
    if (flat) {
      dx = a > 0 ? 1 : -1;
      dy = std::lrint(b * 65536 / std::fabs(a));
      y0 = (y0 << 16) + 32768;
    } else {
      dy = b > 0 ? 1 : -1;
      dx = std::lrint(a * 65536 / std::fabs(b));
      x0 = (x0 << 16) + 32768;
    }
  }
  Point at(int64_t x, int64_t y) const { return {static_cast<int>(flat ? x : x >> 16), static_cast<int>(flat ? y >> 16 : y)}; }
};

}  // namespace

Tensor hough_lines(const ImageView& image, double rho_step, double theta_step, int threshold, double min_theta, double max_theta,
                   bool weighted, bool with_votes) {
  try {
    check_lines("HoughLines", image, rho_step, theta_step);
    if (!(max_theta >= min_theta)) throw InvalidArgument("HoughLines: max_theta is at least min_theta");
    if (threshold <= 0) threshold = 0;
    const float rho = static_cast<float>(rho_step), theta = static_cast<float>(theta_step), inverse = 1 / rho;
    const int64_t angles = count_of_angles(min_theta, max_theta, theta);
    const int64_t span = 2 * (image.width() + image.height()) + 1;
    const int64_t distances = round_of(static_cast<float>(span) / rho);
    check_votes("HoughLines", angles, distances + 2);
    struct Pixel {
      float x, y;
      int weight;
    };
    std::vector<Pixel> pixels;
    for (int64_t y = 0; y < image.height(); ++y) {
      const uint8_t* const row = image.row<uint8_t>(y);
      for (int64_t x = 0; x < image.width(); ++x)
        if (row[x]) pixels.push_back({static_cast<float>(x), static_cast<float>(y), weighted ? row[x] : 1});
    }
    const int64_t stride = distances + 2;
    std::vector<int32_t> votes(static_cast<size_t>((angles + 2) * stride));
    std::vector<float> cosines, sines;
    float angle = static_cast<float>(min_theta);
    for (int64_t n = 0; n < angles; ++n, angle += theta) {
      sines.push_back(static_cast<float>(std::sin(static_cast<double>(angle)) * inverse));
      cosines.push_back(static_cast<float>(std::cos(static_cast<double>(angle)) * inverse));
    }
    for_rows(angles, 4 * static_cast<int64_t>(pixels.size()), [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) {
        int32_t* const row = votes.data() + (n + 1) * stride + 1 + (distances - 1) / 2;
        const float c = cosines[static_cast<size_t>(n)], s = sines[static_cast<size_t>(n)];
        for (const Pixel& p : pixels)
          row[std::clamp<int64_t>(round_of(p.x * c + p.y * s), -(distances - 1) / 2, distances / 2)] += p.weight;
      }
    });
    std::vector<int64_t> peaks;
    for (int64_t r = 0; r < distances; ++r) {
      for (int64_t n = 0; n < angles; ++n) {
        const int32_t* const v = votes.data() + (n + 1) * stride + r + 1;
        if (*v > threshold && v[0] > v[-1] && v[0] >= v[1] && v[0] > v[-stride] && v[0] >= v[stride]) peaks.push_back(v - votes.data());
      }
    }
    std::sort(peaks.begin(), peaks.end(), [&](int64_t a, int64_t b) {
      const int32_t va = votes[static_cast<size_t>(a)], vb = votes[static_cast<size_t>(b)];
      return va != vb ? va > vb : a < b;
    });
    if (peaks.empty()) return Tensor();
    const int64_t numbers = with_votes ? 3 : 2;
    Tensor lines(DType::f32, {static_cast<int64_t>(peaks.size()), 1, numbers});
    auto* to = static_cast<float*>(lines.writable().data());
    for (const int64_t peak : peaks) {
      const int64_t n = peak / stride - 1, r = peak % stride - 1;
      *to++ = static_cast<float>(r - (distances - 1) / 2) * rho;
      *to++ = static_cast<float>(min_theta) + static_cast<float>(n) * theta;
      if (with_votes) *to++ = static_cast<float>(votes[static_cast<size_t>(peak)]);
    }
    return lines;
  } catch (...) {
    throw_as_error();
  }
}

Tensor hough_lines_p(const ImageView& image, double rho_step, double theta_step, int threshold, double min_length, double max_gap) {
  try {
    check_lines("HoughLinesP", image, rho_step, theta_step);
    const float rho = static_cast<float>(rho_step), theta = static_cast<float>(theta_step), inverse = 1 / rho;
    const int64_t width = image.width(), height = image.height();
    const int64_t angles = count_of_angles(0, kPi, theta);
    const int64_t distances = round_of(static_cast<float>((width + height) * 2 + 1) / rho);
    check_votes("HoughLinesP", angles, distances);
    const int64_t least = std::lrint(std::clamp(min_length, -1e9, 1e9)), most = std::lrint(std::clamp(max_gap, -1e9, 1e9));
    // The distances that pixels can have: from -width to the diagonal.
    const int64_t below = static_cast<int64_t>(static_cast<double>(width) / rho_step) + 2;
    const int64_t above = static_cast<int64_t>(std::hypot(static_cast<double>(width), static_cast<double>(height)) / rho_step) + 2;
    const int64_t stride = below + above + 1;
    std::vector<int32_t> votes(static_cast<size_t>(angles * stride));
    constexpr size_t kLanes = 8;  // a number that the compiler knows, for vectors
    std::vector<float> cosines, sines;
    std::vector<int32_t*> rows;
    for (int64_t n = 0; n < angles; ++n) {
      cosines.push_back(static_cast<float>(std::cos(static_cast<double>(n) * theta) * inverse));
      sines.push_back(static_cast<float>(std::sin(static_cast<double>(n) * theta) * inverse));
      rows.push_back(votes.data() + n * stride + below);
    }
    std::vector<uint8_t> left(static_cast<size_t>(width * height));  // pixels that belong to no line yet
    std::vector<Point> pixels;
    find_pixels(image, left, pixels);
    const size_t padded = (rows.size() + kLanes - 1) / kLanes * kLanes;
    cosines.resize(padded), sines.resize(padded);
    std::vector<int32_t> position(padded);
    const auto locate = [&](float x, float y) {
      // Rounded by the sum with 1.5 * 2^23, to the nearest and ties to even, so that the compiler makes vectors of the loop.
      const float* c = cosines.data();
      const float* s = sines.data();
      int32_t* to = position.data();
      for (size_t first = 0; first < padded; first += kLanes, c += kLanes, s += kLanes, to += kLanes)
        for (size_t n = 0; n < kLanes; ++n) to[n] = static_cast<int32_t>((x * c[n] + y * s[n] + 12582912.f) - 12582912.f);
    };
    std::vector<int32_t> lines;
    Random random(~uint64_t{0});
    for (int64_t count = static_cast<int64_t>(pixels.size()); count > 0; --count) {
      const size_t drawn = static_cast<size_t>(random.uniform(0, static_cast<int>(count)));
      const Point p = pixels[drawn];
      pixels[drawn] = pixels[static_cast<size_t>(count - 1)];
      if (!left[static_cast<size_t>(p.y * width + p.x)]) continue;
      int best = threshold - 1;
      size_t best_angle = 0;
      locate(static_cast<float>(p.x), static_cast<float>(p.y));
      for (size_t n = 0; n < rows.size(); ++n) {
        const int value = ++rows[n][position[n]];
        if (value > best) best = value, best_angle = n;
      }
      if (best < threshold) continue;

      const Walk walk(p, -sines[best_angle], cosines[best_angle]);
      Point end[2] = {p, p};
      for (int way = 0; way < 2; ++way) {
        const int64_t sx = way ? -walk.dx : walk.dx, sy = way ? -walk.dy : walk.dy;
        int64_t gap = 0;
        for (int64_t x = walk.x0, y = walk.y0;; x += sx, y += sy) {
          const Point q = walk.at(x, y);
          if (q.x < 0 || q.x >= width || q.y < 0 || q.y >= height) break;
          if (left[static_cast<size_t>(q.y * width + q.x)])
            gap = 0, end[way] = q;
          else if (++gap > most)
            break;
        }
      }
      const bool good = std::abs(end[1].x - end[0].x) >= least || std::abs(end[1].y - end[0].y) >= least;
      for (int way = 0; way < 2; ++way) {
        const int64_t sx = way ? -walk.dx : walk.dx, sy = way ? -walk.dy : walk.dy;
        for (int64_t x = walk.x0, y = walk.y0;; x += sx, y += sy) {
          const Point q = walk.at(x, y);
          uint8_t& there = left[static_cast<size_t>(q.y * width + q.x)];
          if (there && good) {
            locate(static_cast<float>(q.x), static_cast<float>(q.y));
            for (size_t n = 0; n < rows.size(); ++n) --rows[n][position[n]];
          }
          there = 0;
          if (q == end[way]) break;
        }
      }
      if (good)
        for (const int value : {end[0].x, end[0].y, end[1].x, end[1].y}) lines.push_back(value);
    }
    if (lines.empty()) return Tensor();
    Tensor result(DType::i32, {static_cast<int64_t>(lines.size() / 4), 1, 4});
    std::memcpy(result.writable().data(), lines.data(), lines.size() * sizeof(int32_t));
    return result;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

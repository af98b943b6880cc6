// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/filters.h>

#include <cfloat>

#include "base/no_memory.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

struct Found {
  float x, y, radius;
  int votes;
};

/// The numbers of a search for circles, and its steps.
struct Search {
  int width, height, columns, rows;  // of the picture; of the accumulator, without its border
  int least_radius, most_radius;
  float dp, inverse;                // pixels for a place of the accumulator, and 1 over it
  static constexpr int kBins = 10;  // of radii, for each dp

  int stride() const { return columns + 2; }
  int bins() const { return static_cast<int>(std::lrint(static_cast<float>(most_radius - least_radius) / dp * kBins)); }
  Found circle_at(int center) const {
    return {(static_cast<float>(center % stride()) + 0.5f) * dp, (static_cast<float>(center / stride()) + 0.5f) * dp, 0, 0};
  }

  /// Each edge votes for the centers along its gradient, in both directions. Appends the pixels that vote.
  std::vector<int32_t> votes(const ImageView& dx, const ImageView& dy, const ImageView& edges, std::vector<Point>& pixels) const {
    std::vector<int32_t> votes(static_cast<size_t>(stride()) * static_cast<size_t>(rows + 2));
    for (int y = 0; y < height; ++y) {
      const uint8_t* const marks = edges.row<uint8_t>(y);
      for (int x = 0; x < width; ++x) {
        if (!marks[x]) continue;
        const float vx = dx.row<int16_t>(y)[x], vy = dy.row<int16_t>(y)[x], size = std::sqrt(vx * vx + vy * vy);
        if (size < 1) continue;
        pixels.push_back({x, y});
        int sx = static_cast<int>(std::lrint(vx * inverse * 1024 / size)), sy = static_cast<int>(std::lrint(vy * inverse * 1024 / size));
        const int x0 = static_cast<int>(std::lrint(static_cast<float>(x) * inverse * 1024));
        const int y0 = static_cast<int>(std::lrint(static_cast<float>(y) * inverse * 1024));
        for (int way = 0; way < 2; ++way, sx = -sx, sy = -sy) {
          int64_t x1 = x0 + int64_t{least_radius} * sx, y1 = y0 + int64_t{least_radius} * sy;
          for (int r = least_radius; r <= most_radius; ++r, x1 += sx, y1 += sy) {
            const int64_t x2 = x1 >> 10, y2 = y1 >> 10;
            if (x2 < 0 || x2 >= columns || y2 < 0 || y2 >= rows) break;
            ++votes[static_cast<size_t>(y2 * stride() + x2)];
          }
        }
      }
    }
    return votes;
  }

  /// Places with more votes than the threshold and their neighbours, those with most votes first.
  std::vector<int> centers(const std::vector<int32_t>& votes, int threshold) const {
    const int stride = this->stride();
    std::vector<int> centers;
    for (int y = 1; y < rows + 1; ++y) {
      for (int x = 1; x < stride - 1; ++x) {
        const int32_t* const v = votes.data() + static_cast<size_t>(y) * static_cast<size_t>(stride) + x;
        if (*v > threshold && v[0] > v[-1] && v[0] >= v[1] && v[0] > v[-stride] && v[0] >= v[stride]) centers.push_back(y * stride + x);
      }
    }
    std::sort(centers.begin(), centers.end(), [&](int a, int b) {
      const int va = votes[static_cast<size_t>(a)], vb = votes[static_cast<size_t>(b)];
      return va != vb ? va > vb : a < b;
    });
    return centers;
  }

  /// Sets the radius that most pixels are at, relative to its length, and their number. `counts`: room for bins().
  void find_radius(const std::vector<Point>& pixels, std::vector<int>& counts, Found& circle) const {
    const int bins = this->bins();
    const float least2 = static_cast<float>(least_radius) * static_cast<float>(least_radius);
    const float most2 = static_cast<float>(most_radius) * static_cast<float>(most_radius);
    std::fill(counts.begin(), counts.end(), 0);
    bool any = false;
    for (const Point& p : pixels) {
      const float x = circle.x - static_cast<float>(p.x), y = circle.y - static_cast<float>(p.y), r2 = x * x + y * y;
      if (!(least2 <= r2 && r2 <= most2)) continue;
      any = true;
      const int64_t bin = std::lrint((std::sqrt(r2) - static_cast<float>(least_radius)) / dp * kBins);
      ++counts[static_cast<size_t>(std::clamp<int64_t>(bin, 0, std::max(bins - 1, 0)))];
    }
    for (int j = bins - 1; any && j > 0; --j) {
      if (!counts[static_cast<size_t>(j)]) continue;
      const int top = j;
      int count = 0;
      for (; j > top - kBins && j >= 0; --j) count += counts[static_cast<size_t>(j)];
      const float radius = static_cast<float>(top + j) / 2.f / kBins * dp + static_cast<float>(least_radius);
      if (static_cast<float>(count) * circle.radius >= static_cast<float>(circle.votes) * radius ||
          (circle.radius < FLT_EPSILON && count >= circle.votes))
        circle.radius = radius, circle.votes = count;
    }
  }
};

}  // namespace

Tensor hough_circles(const ImageView& image, double dp_given, double distance_given, double edge, double votes_given, int least_radius,
                     int most_radius, bool with_votes) {
  try {
    const char* const name = "HoughCircles";
    check_not_empty(name, image);
    check_dtype(name, image, {DType::u8});
    check_channels(name, image, {1});
    check_size(name, image.width(), image.height());
    if (!(dp_given > 0 && dp_given < 1e6) || !(distance_given > 0) || !(edge > 0 && edge < 1e9) || !(votes_given > 0 && votes_given < 1e9))
      throw InvalidArgument("{}: dp, minDist, param1 and param2 are above 0", name);
    const float dp = std::max(static_cast<float>(dp_given), 1.f), inverse = 1 / dp, distance = static_cast<float>(distance_given);
    const int high = static_cast<int>(std::lrint(edge)), threshold = static_cast<int>(std::lrint(votes_given));
    const int width = static_cast<int>(image.width()), height = static_cast<int>(image.height());
    const bool centers_only = most_radius < 0;
    least_radius = std::max(0, least_radius);
    if (most_radius <= 0)
      most_radius = std::max(width, height);
    else if (most_radius <= least_radius)
      most_radius = least_radius + 2;
    most_radius = std::min(most_radius, least_radius + width + height + 2);
    if (least_radius > width + height) return Tensor();
    const Tensor dx_picture = sobel(image, DType::i16, 1, 0, 3, 1, 0, Border::replicate);
    const Tensor dy_picture = sobel(image, DType::i16, 0, 1, 3, 1, 0, Border::replicate);
    const Tensor edges_picture = canny_of_gradient(dx_picture, dy_picture, std::max(1, high / 2), high, false);
    const ImageView dx = dx_picture, dy = dy_picture, edges = edges_picture;

    const int columns = static_cast<int>(std::ceil(static_cast<float>(width) * inverse)),
              rows = static_cast<int>(std::ceil(static_cast<float>(height) * inverse));
    const Search search{width, height, columns, rows, least_radius, most_radius, dp, inverse};
    std::vector<Point> pixels;
    const std::vector<int32_t> votes = search.votes(dx, dy, edges, pixels);
    const std::vector<int> centers = search.centers(votes, threshold);
    std::vector<Found> circles;
    const auto apart = [&](const std::vector<Found>& from, const Found& circle) {
      for (const Found& other : from) {
        const float x = circle.x - other.x, y = circle.y - other.y;
        if (x * x + y * y < distance * distance) return false;
      }
      return true;
    };
    if (centers_only) {
      for (const int center : centers) {
        Found circle = search.circle_at(center);
        circle.votes = center;
        if (apart(circles, circle)) circles.push_back(circle);
      }
    } else if (!pixels.empty()) {
      const int bins = search.bins();
      std::vector<Found> estimates(centers.size());
      for_rows(static_cast<int64_t>(centers.size()), static_cast<int64_t>(4 * pixels.size()), [&](int64_t begin, int64_t end) {
        std::vector<int> counts(static_cast<size_t>(std::max(bins, 1)));
        for (int64_t i = begin; i < end; ++i) {
          Found& circle = estimates[static_cast<size_t>(i)];
          circle = search.circle_at(centers[static_cast<size_t>(i)]);
          search.find_radius(pixels, counts, circle);
        }
      });
      std::erase_if(estimates, [&](const Found& circle) { return circle.votes <= threshold; });
      std::sort(estimates.begin(), estimates.end(), [](const Found& a, const Found& b) {
        if (a.votes != b.votes) return a.votes > b.votes;
        if (a.radius != b.radius) return a.radius > b.radius;
        return a.x != b.x ? a.x < b.x : a.y < b.y;
      });
      for (const Found& circle : estimates)
        if (apart(circles, circle)) circles.push_back(circle);
    }
    if (circles.empty()) return Tensor();
    Tensor result(DType::f32, {1, static_cast<int64_t>(circles.size()), with_votes ? 4 : 3});
    auto* to = static_cast<float*>(result.writable().data());
    for (const Found& circle : circles) {
      *to++ = circle.x, *to++ = circle.y, *to++ = circle.radius;
      if (with_votes) *to++ = static_cast<float>(circle.votes);
    }
    return result;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

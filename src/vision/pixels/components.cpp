// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <mutex>
#include <numeric>

#include "base/no_memory.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

/// Pixels first .. last - 1 of a row.
struct Run {
  int32_t first, last;
};

/// A bit for each of 64 pixels: whether it is not 0.
uint64_t bits_of(const uint8_t* pixels) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 8) {
    uint64_t word;
    std::memcpy(&word, pixels + i, 8);
    constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
    const uint64_t ones = ((((word & kLow) + kLow) | word) & ~kLow) >> 7;  // in each byte that is not 0
    bits |= (ones * 0x0102040810204080u) >> 56 << i;
  }
  return bits;
}

/// Appends the runs of pixels that are not 0: they begin and end where a bit differs from the one before.
void runs_of(const uint8_t* row, int32_t width, std::vector<Run>& runs) {
  uint64_t before = 0;
  for (int32_t x = 0; x < width; x += 64) {
    uint8_t rest[64] = {};
    if (width - x < 64) std::memcpy(rest, row + x, static_cast<size_t>(width - x));
    const uint64_t bits = bits_of(width - x < 64 ? rest : row + x);
    for (uint64_t changes = bits ^ (bits << 1 | before); changes != 0; changes &= changes - 1) {
      const int32_t at = x + std::countr_zero(changes);
      if (bits >> (at - x) & 1)
        runs.push_back({at, width});
      else
        runs.back().last = at;
    }
    before = bits >> 63;
  }
}

/// The runs of all rows, in order, those of strips of rows on several threads: row y's are row_start[y] .. row_start[y + 1] - 1.
std::vector<Run> runs_of(const ImageView& image, std::vector<size_t>& row_start) {
  struct Strip {
    int64_t first, last;
    std::vector<Run> runs;
  };
  std::vector<Strip> strips;
  std::mutex lock;
  row_start.assign(static_cast<size_t>(image.height()) + 1, 0);
  for_rows(image.height(), 4 * image.width(), [&](int64_t first, int64_t last) {
    Strip strip{first, last, {}};
    for (int64_t y = first; y < last; ++y) {
      runs_of(image.row<uint8_t>(y), static_cast<int32_t>(image.width()), strip.runs);
      row_start[static_cast<size_t>(y) + 1] = strip.runs.size();
    }
    const std::lock_guard guard(lock);
    strips.push_back(std::move(strip));
  });
  if (strips.size() == 1) return std::move(strips[0].runs);
  std::sort(strips.begin(), strips.end(), [](const Strip& a, const Strip& b) { return a.first < b.first; });
  size_t count = 0;
  for (const Strip& strip : strips) count += strip.runs.size();
  std::vector<Run> runs;
  runs.reserve(count);
  for (const Strip& strip : strips) {
    for (int64_t y = strip.first; y < strip.last; ++y) row_start[static_cast<size_t>(y) + 1] += runs.size();
    runs.insert(runs.end(), strip.runs.begin(), strip.runs.end());
  }
  return runs;
}

/// The first run of a component, from any of its runs. Paths become shorter on the way.
int32_t root_of(std::vector<int32_t>& parent, int32_t i) {
  while (parent[static_cast<size_t>(i)] != i) {
    int32_t& up = parent[static_cast<size_t>(i)];
    up = parent[static_cast<size_t>(up)];
    i = up;
  }
  return i;
}

/// Joins runs with those of the row above; `reach` is 1 where corners touch, too. The result has an earlier run of its
/// component for each run, or the run itself.
std::vector<int32_t> join_runs(const std::vector<Run>& runs, const std::vector<size_t>& row_start, int32_t height, int32_t reach) {
  std::vector<int32_t> parent(runs.size());
  size_t above = 0, above_end = 0;
  for (int32_t y = 0; y < height; ++y) {
    const size_t begin = row_start[static_cast<size_t>(y)], end = row_start[static_cast<size_t>(y) + 1];
    size_t j = above;
    for (size_t i = begin; i < end; ++i) {
      const Run run = runs[i];
      int32_t root = static_cast<int32_t>(i);
      while (j < above_end && runs[j].last + reach <= run.first) ++j;
      parent[i] = root;
      for (size_t k = j; k < above_end && runs[k].first < run.last + reach; ++k) {
        const int32_t other = root_of(parent, static_cast<int32_t>(k));
        if (other < root)
          parent[static_cast<size_t>(root)] = other, root = other;
        else
          parent[static_cast<size_t>(other)] = root;
      }
    }
    above = begin;
    above_end = end;
  }
  return parent;
}

/// Labels of runs from 1 on. Returns the number of labels, with that of the background.
int32_t number(const std::vector<Run>& runs, const std::vector<size_t>& row_start, int32_t height, ComponentOrder order,
               std::vector<int32_t>& parent, std::vector<int32_t>& label) {
  // Roots come in the order of their first pixels. By blocks of 2 x 2 pixels, those of two rows are ordered by the leftmost block.
  int32_t count = 1;
  if (order == ComponentOrder::pixels) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const int32_t up = parent[i];
      label[i] = up == static_cast<int32_t>(i) ? count++ : label[static_cast<size_t>(up)];
    }
  } else {
    std::vector<int32_t> leftmost(runs.size());
    std::vector<int32_t> roots;
    for (int32_t y = 0; y < height; y += 2) {
      const size_t begin = row_start[static_cast<size_t>(y)], end = row_start[static_cast<size_t>(std::min(y + 2, height))];
      roots.clear();
      for (size_t i = begin; i < end; ++i) {
        const size_t root = static_cast<size_t>(root_of(parent, static_cast<int32_t>(i)));
        if (root < begin) continue;  // the component began above
        if (root == i) {
          roots.push_back(static_cast<int32_t>(i));
          leftmost[i] = runs[i].first >> 1;
        } else {
          leftmost[root] = std::min(leftmost[root], runs[i].first >> 1);
        }
      }
      std::sort(roots.begin(), roots.end(),
                [&](int32_t a, int32_t b) { return leftmost[static_cast<size_t>(a)] < leftmost[static_cast<size_t>(b)]; });
      for (const int32_t root : roots) label[static_cast<size_t>(root)] = count++;
    }
    for (size_t i = 0; i < runs.size(); ++i) label[i] = label[static_cast<size_t>(root_of(parent, static_cast<int32_t>(i)))];
  }
  return count;
}

struct Sums {
  int32_t left = INT32_MAX, top = INT32_MAX, right = INT32_MIN, bottom = INT32_MIN;
  int64_t area = 0, x = 0, y = 0;
  void add(int32_t first, int32_t last, int32_t row) {
    const int64_t length = last - first;
    if (length <= 0) return;
    left = std::min(left, first);
    right = std::max(right, last - 1);
    top = std::min(top, row);
    bottom = std::max(bottom, row);
    area += length;
    x += (static_cast<int64_t>(first) + last - 1) * length / 2;
    y += row * length;
  }
};

/// Sets boxes, areas and centroids.
void add_stats(const std::vector<Run>& runs, const std::vector<size_t>& row_start, const std::vector<int32_t>& label, int32_t width,
               int32_t height, Components& found) {
  std::vector<Sums> sums(static_cast<size_t>(found.count));
  for (int32_t y = 0; y < height; ++y) {
    int32_t x = 0;
    for (size_t i = row_start[static_cast<size_t>(y)]; i < row_start[static_cast<size_t>(y) + 1]; ++i) {
      sums[0].add(x, runs[i].first, y);
      sums[static_cast<size_t>(label[i])].add(runs[i].first, runs[i].last, y);
      x = runs[i].last;
    }
    sums[0].add(x, width, y);
  }
  found.stats = Tensor(DType::i32, {found.count, 5});
  found.centroids = Tensor(DType::f64, {found.count, 2});
  auto* stats = static_cast<int32_t*>(found.stats.writable().data());
  auto* centroids = static_cast<double*>(found.centroids.writable().data());
  for (const Sums& s : sums) {
    const bool any = s.area > 0;
    *stats++ = any ? s.left : -1;
    *stats++ = s.top;
    *stats++ = any ? s.right - s.left + 1 : 0;
    *stats++ = any ? s.bottom - s.top + 1 : 0;
    *stats++ = static_cast<int32_t>(s.area);
    const double area = static_cast<double>(s.area);
    *centroids++ = any ? static_cast<double>(s.x) / area : std::numeric_limits<double>::quiet_NaN();
    *centroids++ = any ? static_cast<double>(s.y) / area : std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

Components connected_components(const ImageView& image, int connectivity, DType dtype, ComponentOrder order, bool with_stats) {
  try {
    const char* const name = "connectedComponents";
    check_dtype(name, image, {DType::u8, DType::i8, DType::boolean});
    check_channels(name, image, {1});
    check_not_empty(name, image);
    check_size(name, image.width(), image.height());
    if (connectivity != 4 && connectivity != 8) throw InvalidArgument("{}: the connectivity is 4 or 8, not {}", name, connectivity);
    if (dtype != DType::i32 && dtype != DType::u16) throw Unsupported("{}: labels are CV_32S or CV_16U, not {}", name, dtype);
    const int32_t width = static_cast<int32_t>(image.width()), height = static_cast<int32_t>(image.height());
    const int32_t reach = connectivity == 8 ? 1 : 0;

    std::vector<size_t> row_start;
    const std::vector<Run> runs = runs_of(image, row_start);
    std::vector<int32_t> parent = join_runs(runs, row_start, height, reach), label(runs.size());
    Components found;
    found.count = number(runs, row_start, height, order, parent, label);
    found.labels = new_image(dtype, height, width, 1);
    const MutableImageView labels = writable(found.labels);
    const auto fill = [&](auto element) {
      using T = decltype(element);
      for_rows(height, 4 * width, [&](int64_t first, int64_t last) {
        for (int64_t y = first; y < last; ++y) {
          T* const row = labels.row<T>(y);
          int32_t x = 0;
          for (size_t i = row_start[static_cast<size_t>(y)]; i < row_start[static_cast<size_t>(y) + 1]; ++i) {
            std::fill(row + x, row + runs[i].first, T(0));
            std::fill(row + runs[i].first, row + runs[i].last, static_cast<T>(label[i]));
            x = runs[i].last;
          }
          std::fill(row + x, row + width, T(0));
        }
      });
    };
    if (dtype == DType::i32)
      fill(int32_t());
    else
      fill(uint16_t());
    if (!with_stats) return found;

    add_stats(runs, row_start, label, width, height, found);
    return found;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

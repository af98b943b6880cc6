// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/no_memory.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

// Directions: 0 is right, then counterclockwise as a person sees the picture.
constexpr int kDx[8] = {1, 1, 0, -1, -1, -1, 0, 1};
constexpr int kDy[8] = {0, -1, -1, -1, 0, 1, 1, 1};

// A pixel: 0, or kInside before a border meets it; then kBorder, or kRightBorder where the pixel to the right is 0 and was looked at.
constexpr int8_t kInside = 1, kBorder = 2, kRightBorder = -2;

struct Outline {
  bool hole = false;
  int32_t parent = -1, first_child = -1, next = -1, previous = -1;
  size_t first = 0, last = 0;  // its points
};

/// Borders as they are found, their approximation, and the tree that they make at the end. Pixels have a frame around the picture.
class Outlines {
 protected:
  Outlines(const ImageView& image, ChainApproximation method, Point offset)
      : method_(method), offset_(offset), width_(image.width() + 2), height_(image.height() + 2) {
    for (int d = 0; d < 16; ++d) step_[d] = kDx[d & 7] + kDy[d & 7] * width_;
    borders_.emplace_back().hole = true;  // the frame
  }

  /// Adds the border through (x, y), which trace(pixel, start) follows, as the first child of `parent`.
  template <class Trace>
  void add(int64_t x, int64_t y, bool hole, int32_t parent, const Trace& trace) {
    const int32_t number = static_cast<int32_t>(borders_.size());
    Outline& border = borders_.emplace_back();
    border.hole = hole;
    border.parent = parent;
    Outline& above = borders_[static_cast<size_t>(parent)];
    border.next = above.first_child;
    if (border.next >= 0) borders_[static_cast<size_t>(border.next)].previous = number;
    above.first_child = number;
    border.first = points_.size();
    const Point start{static_cast<int>(x) - 1 + offset_.x, static_cast<int>(y) - 1 + offset_.y};
    codes_.clear();
    trace(y * width_ + x, start);
    if (chain()) approximate(start);
    borders_.back().last = points_.size();
  }

  bool chain() const { return method_ == ChainApproximation::tc89_l1 || method_ == ChainApproximation::tc89_kcos; }

  /// Follows a border from its first pixel: same(pixel) tells what belongs to the area; mark_right(pixel) is called where the pixel to the
  /// right does not and was looked at, else mark(pixel).
  template <bool kChain, class Pixel, class Same, class MarkRight, class Mark>
  void follow(Pixel* first, bool hole, Point point, const Same& same, const MarkRight& mark_right, const Mark& mark) {
    const int away = hole ? 0 : 4;  // where the pixel is of another area
    int direction = away;
    do direction = (direction - 1) & 7;
    while (direction != away && !same(first[step_[direction]]));
    if (direction == away) {
      mark_right(first);
      if (!kChain) points_.push_back(point);
      return;
    }
    const bool every = method_ == ChainApproximation::none;
    Pixel* const second = first + step_[direction];
    Pixel* pixel = first;
    int last = direction ^ 4;
    for (;;) {
      const int from = direction;
      int to = from + 1;
      while (!same(pixel[step_[to]])) ++to;
      Pixel* const next = pixel + step_[to];
      if (to > 8)
        mark_right(pixel);
      else
        mark(pixel);
      direction = to & 7;
      if (kChain)
        codes_.push_back(static_cast<int8_t>(direction));
      else if (direction != last || every)
        points_.push_back(point);
      last = direction;
      point.x += kDx[direction];
      point.y += kDy[direction];
      if (next == first && pixel == second) break;
      pixel = next;
      direction = (direction + 4) & 7;
    }
  }

  /// Depth first: a border, what lies within, the next border.
  Contours results() {
    Contours found;
    std::vector<int32_t> order, place(borders_.size() + 1, -1);
    for (int32_t i = borders_[0].first_child; i >= 0;) {
      const Outline& border = borders_[static_cast<size_t>(i)];
      place[static_cast<size_t>(i) + 1] = static_cast<int32_t>(order.size());
      order.push_back(i);
      if (border.first_child >= 0) {
        i = border.first_child;
        continue;
      }
      while (i > 0 && borders_[static_cast<size_t>(i)].next < 0) i = borders_[static_cast<size_t>(i)].parent;
      i = i > 0 ? borders_[static_cast<size_t>(i)].next : -1;
    }
    found.points.reserve(points_.size());
    found.starts.reserve(order.size() + 1);
    found.hierarchy.reserve(4 * order.size());
    found.starts.push_back(0);
    for (const int32_t i : order) {
      const Outline& border = borders_[static_cast<size_t>(i)];
      found.points.insert(found.points.end(), points_.begin() + static_cast<int64_t>(border.first),
                          points_.begin() + static_cast<int64_t>(border.last));
      found.starts.push_back(static_cast<int32_t>(found.points.size()));
      for (const int32_t other : {border.next, border.previous, border.first_child, border.parent == 0 ? -1 : border.parent})
        found.hierarchy.push_back(place[static_cast<size_t>(other + 1)]);
    }
    return found;
  }

  ChainApproximation method_;
  Point offset_;
  int64_t width_, height_;
  int64_t step_[16];
  std::vector<Outline> borders_;
  std::vector<Point> points_;

 private:
  // ---- Teh and Chin's dominant points

  struct Corner {
    Point point;
    size_t support = 0;  // of the region around the point
    int measure = 0;     // of the curvature
    bool removed = false;
  };

  const Corner& around(size_t i, int64_t step) const {
    const int64_t count = static_cast<int64_t>(corners_.size());
    int64_t j = static_cast<int64_t>(i) + step;
    if (j < 0) j += count;
    if (j >= count) j -= count;
    return corners_[static_cast<size_t>(j)];
  }

  /// The support region grows while chords grow and the point moves away from them.
  size_t support(size_t i) const {
    int64_t distance = 0, length = 0;
    size_t k = 1;
    for (;; ++k) {
      if (k > corners_.size()) throw InternalError("the support region of a contour's point ends within the contour");
      const Point a = around(i, -static_cast<int64_t>(k)).point, b = around(i, static_cast<int64_t>(k)).point, p = corners_[i].point;
      const int64_t dx = b.x - a.x, dy = b.y - a.y, chord = dx * dx + dy * dy, apart = (p.x - a.x) * dy - (p.y - a.y) * dx;
      const float change = static_cast<float>(static_cast<double>(distance) * static_cast<double>(chord) -
                                              static_cast<double>(apart) * static_cast<double>(length));
      // A change of -0 has the sign bit, so that it counts as negative, and not as positive.
      const bool negative = std::signbit(change), zero = change == 0 && !negative;
      if (k > 1 && (length >= chord || (distance > 0 && (negative || zero)) || (distance < 0 && !negative))) return k - 1;
      distance = apart;
      length = chord;
    }
  }

  /// The bits of 1.1 plus the largest cosine of the angle at a point; floats above 0 are ordered as their bits.
  int cosine(size_t i) const {
    const size_t k = corners_[i].support;
    int best = 0;
    for (size_t j = k; j > 0; --j) {
      const Point p = corners_[i].point, a = around(i, -static_cast<int64_t>(j)).point, b = around(i, static_cast<int64_t>(j)).point;
      const int dx1 = a.x - p.x, dy1 = a.y - p.y, dx2 = b.x - p.x, dy2 = b.y - p.y;
      if ((dx1 | dy1) == 0 || (dx2 | dy2) == 0) break;
      const double lengths = (1.0 * dx1 * dx1 + 1.0 * dy1 * dy1) * (1.0 * dx2 * dx2 + 1.0 * dy2 * dy2);
      const float value = static_cast<float>(static_cast<float>((1.0 * dx1 * dx2 + 1.0 * dy1 * dy2) / std::sqrt(lengths)) + 1.1);
      int bits;
      std::memcpy(&bits, &value, sizeof bits);
      if (j < k && bits <= best) break;
      best = bits;
    }
    return best;
  }

  void approximate(Point start) {
    if (codes_.empty()) return points_.push_back(start);
    static constexpr int8_t kTurn[15] = {1, 2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1};
    corners_.clear();
    for (size_t i = 0; i < codes_.size(); ++i) {
      const int turn = kTurn[codes_[i] - codes_[i == 0 ? codes_.size() - 1 : i - 1] + 7];
      corners_.push_back({start, 0, turn, turn == 0});
      start.x += kDx[codes_[i]];
      start.y += kDy[codes_[i]];
    }
    for (size_t i = 0; i < corners_.size(); ++i) {
      if (corners_[i].removed) continue;
      corners_[i].support = support(i);
      if (method_ == ChainApproximation::tc89_kcos) corners_[i].measure = cosine(i);
    }
    const auto remove = [&](size_t i) {
      corners_[i].measure = 0;
      corners_[i].removed = true;
    };
    for (size_t i = 0; i < corners_.size(); ++i) {  // only the largest of half a region stays
      for (int64_t j = 1; j <= static_cast<int64_t>(corners_[i].support / 2); ++j) {
        if (around(i, -j).measure <= corners_[i].measure && around(i, j).measure <= corners_[i].measure) continue;
        remove(i);
        break;
      }
    }
    for (size_t i = 0; i < corners_.size(); ++i) {
      const Corner& corner = corners_[i];
      if (corner.removed || corner.support != 1) continue;
      if (corner.measure <= around(i, -1).measure || corner.measure <= around(i, 1).measure) remove(i);
    }
    if (method_ == ChainApproximation::tc89_l1) thin();
    for (const Corner& corner : corners_)
      if (!corner.removed) points_.push_back(corner.point);
  }

  size_t next_kept(size_t i) const {
    for (++i; i < corners_.size() && corners_[i].removed;) ++i;
    return i;
  }

  /// Keeps one of two neighbours that stayed, and the ends of more.
  void thin() {
    const size_t count = corners_.size();
    size_t start = 0;
    if (corners_[0].measure != 0 && corners_[count - 1].measure != 0) {
      size_t head = 1, tail = count - 2;
      for (; head < count && corners_[head].measure != 0; ++head) corners_[head - 1].measure = 0;
      if (head == count) return;
      --head;
      for (; tail > 0 && corners_[tail].measure != 0; --tail) {
        for (size_t i = tail + 1; i < count; ++i) corners_[i].removed = true;
        corners_[tail + 1].measure = 0;
      }
      ++tail;
      if (head == 0 && tail == count - 1) {
        head = next_kept(0);
        corners_.push_back(corners_[0]);
        corners_.back().removed = false;
      }
      start = head;
    }
    const size_t end = corners_.size();
    size_t first = start, previous = start;
    int run = 1;
    for (size_t i = start; i < end; ++i) {
      if (corners_[i].removed) continue;
      if (next_kept(i) == i + 1 && i + 1 != end) {
        ++run;
      } else {
        if (run == 2) {
          const Corner &a = corners_[previous], &b = corners_[i];
          const bool keep_first = a.measure > b.measure || (a.measure == b.measure && a.support <= b.support);
          corners_[keep_first ? i : previous].removed = true;
        } else if (run > 2) {
          first = next_kept(first);
          for (size_t j = first + 1; j < i; ++j) corners_[j].removed = true;
        }
        first = i;
        run = 1;
      }
      previous = i;
    }
  }

  std::vector<int8_t> codes_;
  std::vector<Corner> corners_;
};

class Follower : Outlines {
 public:
  Follower(const ImageView& image, Retrieval mode, ChainApproximation method, Point offset)
      : Outlines(image, method, offset),
        mode_(mode),
        // Eight bytes more, so that a row is read in words.
        pixels_(static_cast<size_t>(width_ * height_) + 8) {
    for (int64_t y = 0; y < image.height(); ++y) {
      const uint8_t* const from = image.row<uint8_t>(y);
      int8_t* const to = pixels_.data() + (y + 1) * width_ + 1;
      for (int64_t x = 0; x < image.width(); ++x) to[x] = from[x] != 0;
    }
    if (mode_ == Retrieval::two_levels || mode_ == Retrieval::tree) marks_ = std::make_unique<int32_t[]>(pixels_.size());
  }

  Contours run() {
    for (int64_t y = 1; y < height_ - 1; ++y) scan(y);
    return results();
  }

 private:
  void scan(int64_t y) {
    int8_t* const row = pixels_.data() + y * width_;
    int8_t before = 0;
    int32_t met = 0;          // the border that was met last
    bool met_inside = false;  // whether its pixel had something to its right
    for (int64_t x = 1; x < width_ - 1; ++x) {
      x = next_change(row, x, before);
      if (x >= width_ - 1) break;
      if (before & ~1) {
        met_inside = before > 0;
        if (marks_) met = marks_[static_cast<size_t>(y * width_ + x - 1)];
      }
      const int8_t pixel = row[x];
      const bool outer = before == 0 && pixel == kInside, hole = pixel == 0 && before >= 1;
      if ((outer || hole) && !(mode_ == Retrieval::external && (hole || met_inside))) {
        add_met(x - hole, y, hole, met);
        if (const int8_t now = row[x - hole]; now & ~1) {
          met_inside = now > 0;
          if (marks_) met = marks_[static_cast<size_t>(y * width_ + x - hole)];
        }
      }
      before = row[x];
    }
  }

  /// The first position from x on whose pixel is not `value`; width_ - 1 or more where there is none.
  int64_t next_change(const int8_t* row, int64_t x, int8_t value) const {
    const uint64_t all = static_cast<uint8_t>(value) * 0x0101010101010101u;
    for (; x < width_ - 1; x += 8) {
      uint64_t word;
      std::memcpy(&word, row + x, 8);
      if (word == all) continue;
      for (int i = 0; i < 8; ++i)
        if (row[x + i] != value) return x + i;
    }
    return x;
  }

  void add_met(int64_t x, int64_t y, bool hole, int32_t met) {
    int32_t parent = 0;
    if (marks_ && (hole || mode_ == Retrieval::tree)) {
      parent = met;
      if (borders_[static_cast<size_t>(parent)].hole == hole) parent = std::max(0, borders_[static_cast<size_t>(parent)].parent);
    }
    const int32_t number = static_cast<int32_t>(borders_.size());
    const auto write = [&](int8_t* pixel, int8_t value) {
      *pixel = value;
      if (marks_) marks_[static_cast<size_t>(pixel - pixels_.data())] = number;
    };
    const auto same = [](int8_t pixel) { return pixel != 0; };
    const auto mark_right = [&](int8_t* pixel) { write(pixel, kRightBorder); };
    const auto mark = [&](int8_t* pixel) {
      if (*pixel == kInside) write(pixel, kBorder);
    };
    add(x, y, hole, parent, [&](int64_t first, Point start) {
      if (chain())
        follow<true>(pixels_.data() + first, hole, start, same, mark_right, mark);
      else
        follow<false>(pixels_.data() + first, hole, start, same, mark_right, mark);
    });
  }

  Retrieval mode_;
  std::vector<int8_t> pixels_;
  std::unique_ptr<int32_t[]> marks_;  // the border that marked a pixel; set where the pixel is marked
};

/// Borders of areas of equal labels. Two bits of a pixel are flags: a border went through it, and its right side was looked at. Labels that
/// have one of these bits already, as negative ones, are never the beginning of a border.
class LabelFollower : Outlines {
 public:
  LabelFollower(const ImageView& image, ChainApproximation method, Point offset)
      : Outlines(image, method, offset),
        // Borders of ground run along the frame: what lies above and below is of another label.
        memory_(static_cast<size_t>(width_ * (height_ + 4)), 1),
        pixels_(memory_.data() + 2 * width_) {
    std::fill_n(pixels_, width_ * height_, 0);
    for (int64_t y = 0; y < image.height(); ++y)
      std::memcpy(pixels_ + (y + 1) * width_ + 1, image.row<int32_t>(y), static_cast<size_t>(image.width()) * 4);
    recent_.fill(-1);
    places_.emplace_back();  // the frame's
  }

  Contours run() {
    for (int64_t y = 1; y < height_ - 1; ++y) scan(y);
    return results();
  }

 private:
  static constexpr uint32_t kRight = 0x80000000u, kMet = 0x40000000u, kFlags = kRight | kMet;

  static bool flagged(uint32_t pixel) { return (pixel & kFlags) != 0; }

  void scan(int64_t y) {
    uint32_t* const row = pixels_ + y * width_;
    uint32_t before = 0;
    int64_t met = 0;  // where the last flagged pixel is
    for (int64_t x = 1; x < width_ - 1; ++x) {
      for (; x < width_ - 1 && ((row[x] ^ before) & ~kFlags) == 0; ++x) before = row[x];
      if (x >= width_ - 1) break;
      const bool outer = (flagged(before) || before == 0) && !flagged(row[x]), hole = !outer && !flagged(before) && !flagged(row[x]);
      if (outer || hole) {
        const int32_t parent = hole && met > 0 ? parent_of(met, y) : 0;
        met = x - hole;
        add_area(met, y, hole, parent);
        x -= hole;  // what lies in the hole may begin a border itself
        before = row[x];
      } else {
        before = row[x];
        if (flagged(before)) met = x;
      }
    }
  }

  /// The border around the hole that begins right of the flagged pixel (x, y).
  int32_t parent_of(int64_t x, int64_t y) const {
    int32_t found = -1;
    for (int32_t i = recent_[pixels_[y * width_ + x] & 127]; i >= 0; i = places_[static_cast<size_t>(i)].older) {
      const Place& place = places_[static_cast<size_t>(i)];
      if (x > place.right || y > place.bottom) continue;
      if (found >= 0 && passes(found, y * width_ + x)) break;
      found = i;
    }
    if (found >= 0 && borders_[static_cast<size_t>(found)].hole) found = borders_[static_cast<size_t>(found)].parent;
    if (found <= 0) throw InvalidArgument("findContours: a hole has no area around it; labels are between 0 and {}", kMet - 1);
    return found;
  }

  bool passes(int32_t border, int64_t end) const {
    const Place& place = places_[static_cast<size_t>(border)];
    return std::binary_search(way_.begin() + static_cast<int64_t>(place.first), way_.begin() + static_cast<int64_t>(place.last), end);
  }

  void add_area(int64_t x, int64_t y, bool hole, int32_t parent) {
    const uint32_t label = pixels_[y * width_ + x] & ~kFlags;
    Place place{recent_[label & 127], x, y, way_.size(), 0};
    recent_[label & 127] = static_cast<int32_t>(borders_.size());
    const auto write = [&](uint32_t* pixel, uint32_t value) {
      *pixel = value;
      const int64_t at = pixel - pixels_;
      way_.push_back(at);
      place.right = std::max(place.right, at % width_);
      place.bottom = std::max(place.bottom, at / width_);
    };
    const auto same = [label](uint32_t pixel) { return (pixel & ~kFlags) == label; };
    const auto mark_right = [&](uint32_t* pixel) { write(pixel, label | kFlags); };
    const auto mark = [&](uint32_t* pixel) { write(pixel, *pixel == label ? label | kMet : *pixel); };
    add(x, y, hole, parent, [&](int64_t first, Point start) {
      if (chain())
        follow<true>(pixels_ + first, hole, start, same, mark_right, mark);
      else
        follow<false>(pixels_ + first, hole, start, same, mark_right, mark);
    });
    std::sort(way_.begin() + static_cast<int64_t>(place.first), way_.end());
    place.last = way_.size();
    places_.push_back(place);
  }

  /// A border's pixels, and the last column and row that it reaches.
  struct Place {
    int32_t older = -1;  // the last one before whose label has the same lowest bits
    int64_t right = 0, bottom = 0;
    size_t first = 0, last = 0;  // in way_
  };

  std::vector<uint32_t> memory_;
  uint32_t* pixels_;
  std::vector<Place> places_;  // of each border
  std::vector<int64_t> way_;
  std::array<int32_t, 128> recent_;
};

}  // namespace

Contours find_contours(const ImageView& image, Retrieval mode, ChainApproximation method, Point offset) {
  try {
    check_not_empty("findContours", image);
    check_channels("findContours", image, {1});
    check_size("findContours", image.width() + 2, image.height() + 2);
    check_dtype("findContours", image, {DType::u8, DType::boolean, DType::i32});
    const bool labels = image.dtype() == DType::i32;
    if (labels && mode != Retrieval::two_levels && mode != Retrieval::flood_fill)
      throw InvalidArgument("findContours: the mode is {}; for labels, i32, there are RETR_CCOMP and RETR_FLOODFILL",
                            static_cast<int>(mode));
    if (!labels && (mode < Retrieval::external || mode > Retrieval::tree))
      throw InvalidArgument("findContours: the mode is {}; for u8 there are RETR_EXTERNAL, RETR_LIST, RETR_CCOMP and RETR_TREE",
                            static_cast<int>(mode));
    if (method < ChainApproximation::none || method > ChainApproximation::tc89_kcos)
      throw InvalidArgument("findContours: the method is {}; it is between CHAIN_APPROX_NONE (1) and CHAIN_APPROX_TC89_KCOS (4)",
                            static_cast<int>(method));
    if (labels) return LabelFollower(image, method, offset).run();
    return Follower(image, mode, method, offset).run();
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Which pixels a line, an arc or a polygon has. They are those of OpenCV's functions, so the constants, the order of operations and the
// rounding are OpenCV's as well: coordinates are integers with 16 fractional bits, lines are Bresenham's.
#include "vision/canvas.h"

#include <array>
#include <cfloat>
#include <numbers>

namespace minnow::vision {
namespace {

constexpr int kMostThickness = 32767;

// The sine of 0 to 450 degrees with seven digits.
float sine(int64_t degrees) {
  static const std::array<float, 451> table = [] {
    std::array<float, 451> sines{};
    for (size_t i = 0; i < sines.size(); ++i)
      sines[i] = static_cast<float>(std::round(std::sin(static_cast<double>(i) * std::numbers::pi / 180) * 1e7) / 1e7);
    return sines;
  }();
  return table[static_cast<size_t>(degrees)];
}

// How much of the colour a pixel gets at each 1/32 of a pixel from the line's middle, and how much wider a line is across by its slope.
constexpr uint8_t kWeights[64] = {168, 177, 185, 194, 202, 210, 218, 224, 231, 236, 241, 246, 249, 252, 254, 254,
                                  254, 254, 252, 249, 246, 241, 236, 231, 224, 218, 210, 202, 194, 185, 177, 168,
                                  158, 149, 140, 131, 122, 114, 105, 97,  89,  82,  75,  68,  62,  56,  50,  45,
                                  40,  36,  32,  28,  25,  22,  19,  16,  14,  12,  11,  9,   8,   7,   5,   5};
constexpr uint8_t kSlopes[32] = {181, 181, 181, 182, 182, 183, 184, 185, 187, 188, 190, 192, 194, 196, 198, 201,
                                 203, 206, 209, 211, 214, 218, 221, 224, 227, 231, 235, 238, 242, 246, 250, 254};

int64_t share(int64_t part, int64_t of, int64_t whole) {
  return static_cast<int64_t>(static_cast<double>(part) * static_cast<double>(of) / static_cast<double>(whole));
}

}  // namespace

bool clip(int64_t width, int64_t height, Point64& a, Point64& b) {
  if (width <= 0 || height <= 0) return false;
  const int64_t right = width - 1, bottom = height - 1;
  const auto beside = [&](const Point64& p) { return (p.x < 0 ? 1 : 0) | (p.x > right ? 2 : 0); };
  const auto side = [&](const Point64& p) { return beside(p) | (p.y < 0 ? 4 : 0) | (p.y > bottom ? 8 : 0); };
  int first = side(a), second = side(b);
  if ((first & second) == 0 && (first | second) != 0) {
    const auto to_row = [&](Point64& p, int& at) {
      const int64_t y = at < 8 ? 0 : bottom;
      p.x += share(y - p.y, b.x - a.x, b.y - a.y);
      p.y = y;
      at = beside(p);
    };
    const auto to_column = [&](Point64& p, int& at) {
      const int64_t x = at == 1 ? 0 : right;
      p.y += share(x - p.x, b.y - a.y, b.x - a.x);
      p.x = x;
      at = 0;
    };
    if (first & 12) to_row(a, first);
    if (second & 12) to_row(b, second);
    if ((first & second) == 0) {
      if (first) to_column(a, first);
      if (second) to_column(b, second);
    }
  }
  return (first | second) == 0;
}

std::vector<Point2d> arc_points(const Point2d& center, double width, double height, int angle, int start, int end, int delta) {
  const auto turns = [](int64_t degrees) { return (degrees + 359) / 360; };  // whole turns that cover so many degrees, of 1 or more
  int64_t turn = angle, from = std::min(start, end), to = std::max(start, end);
  if (turn < 0) turn += 360 * turns(-turn);
  if (turn > 360) turn -= 360 * turns(turn - 360);
  if (from < 0) {
    const int64_t more = 360 * turns(-from);
    from += more, to += more;
  }
  if (to > 360) {
    const int64_t less = 360 * turns(to - 360);
    from -= less, to -= less;
  }
  if (to - from > 360) from = 0, to = 360;
  const double along = sine(450 - turn), across = sine(turn);
  std::vector<Point2d> points;
  for (int64_t i = from; i < to + delta; i += delta) {
    int64_t at = std::min(i, to);
    if (at < 0) at += 360;
    const double x = width * static_cast<double>(sine(450 - at)), y = height * static_cast<double>(sine(at));
    points.push_back({center.x + x * along - y * across, center.y + x * across + y * along});
  }
  if (points.size() == 1) points.assign(2, center);
  return points;
}

Canvas::Canvas(std::string_view function, const MutableImageView& img, const Scalar4& color, LineType type, int thickness, int shift,
               bool fills)
    : img_(img), bytes_(img.channels() * static_cast<int64_t>(size_of(img.dtype()))), type_(type) {
  check_channels(function, img, {1, 2, 3, 4});
  const int number = static_cast<int>(type);
  if (number == 0) type_ = LineType::eight;
  if (number == 1) type_ = LineType::four;
  if (type_ != LineType::four && type_ != LineType::eight && type_ != LineType::antialiased)
    throw InvalidArgument("{}: the line type is {}; there are 4, 8 and 16 (antialiased)", function, number);
  if (thickness > kMostThickness || (thickness < 0 && !fills))
    throw InvalidArgument("{}: the thickness is {}, not {} to {}", function, thickness, fills ? "a negative number" : "0", kMostThickness);
  if (shift < 0 || shift > kFraction) throw InvalidArgument("{}: shift is {}, not 0 to {}", function, shift, kFraction);
  pixel_ = pixel_of(color, img.dtype(), img.channels());
  if (img.dtype() != DType::u8 && antialiased()) type_ = LineType::eight;
}

void Canvas::row(int64_t y, int64_t x1, int64_t x2) const {
  x1 = std::max<int64_t>(x1, 0);
  x2 = std::min(x2, width() - 1);
  if (x1 > x2) return;
  std::byte* const to = img_.row<std::byte>(y) + x1 * bytes_;
  const size_t bytes = static_cast<size_t>((x2 - x1 + 1) * bytes_);
  if (bytes_ == 1) {
    std::memset(to, static_cast<int>(pixel_[0]), bytes);
    return;
  }
  std::memcpy(to, pixel_.data(), static_cast<size_t>(bytes_));
  for (size_t done = static_cast<size_t>(bytes_); done < bytes; done *= 2) std::memcpy(to + done, to, std::min(done, bytes - done));
}

void Canvas::plain_line(const Point64& from, const Point64& to) const {
  Point64 a = from, b = to;
  if (!clip(width(), height(), a, b)) return;
  if (b.x < a.x) std::swap(a, b);  // lines go from left to right
  int64_t along = b.x - a.x, across = std::abs(b.y - a.y);
  const int64_t down = b.y < a.y ? -1 : 1;
  const bool steep = across > along;
  if (steep) std::swap(along, across);
  int64_t x = a.x, y = a.y;
  if (type_ == LineType::four) {
    int64_t error = 0;
    for (int64_t left = along + across; left >= 0; --left) {
      put(x, y);
      const bool aside = error < 0;
      error += aside ? 2 * along : -2 * across;
      if (aside != steep)
        y += down;
      else
        ++x;
    }
    return;
  }
  const int64_t forward = steep ? down * img_.stride() : bytes_, aside = steep ? bytes_ : down * img_.stride();
  std::byte* at = img_.row<std::byte>(y) + x * bytes_;
  int64_t error = along - 2 * across;
  const auto draw = [&](auto put_pixel) {
    for (int64_t left = along; left >= 0; --left) {
      put_pixel(at);
      const int64_t turn = error >> 63;  // all bits where the error is negative
      error += (turn & (2 * along)) - 2 * across;
      at += forward + (turn & aside);
    }
  };
  const std::byte* const pixel = pixel_.data();
  if (bytes_ == 1)
    draw([first = pixel[0]](std::byte* p) { p[0] = first; });
  else if (bytes_ == 3)
    draw([first = pixel[0], second = pixel[1], third = pixel[2]](std::byte* p) { p[0] = first, p[1] = second, p[2] = third; });
  else
    draw([&](std::byte* p) { std::memcpy(p, pixel, static_cast<size_t>(bytes_)); });
}

void Canvas::exact_line(Point64 a, Point64 b) const {
  if (!clip(width() * kOne, height() * kOne, a, b)) return;
  const bool flat = std::abs(b.x - a.x) > std::abs(b.y - a.y);
  if (flat ? b.x < a.x : b.y < a.y) std::swap(a, b);
  const int64_t along = flat ? b.x - a.x : b.y - a.y, across = flat ? b.y - a.y : b.x - a.x;
  const int64_t step = across * kOne / (along | 1);
  put_if_inside((b.x + kOne / 2) >> kFraction, (b.y + kOne / 2) >> kFraction);
  a.x += kOne / 2, a.y += kOne / 2;
  for (int64_t left = along >> kFraction; left >= 0; --left) {
    put_if_inside(a.x >> kFraction, a.y >> kFraction);
    a.x += flat ? kOne : step;
    a.y += flat ? step : kOne;
  }
}

void Canvas::smooth_line(Point64 a, Point64 b) const {
  if (bytes_ == 2) {
    const auto pixel = [](const Point64& p) { return Point64{p.x >> kFraction, p.y >> kFraction}; };
    Canvas plain = *this;
    plain.type_ = LineType::eight;
    return plain.plain_line(pixel(a), pixel(b));
  }
  if (!clip(width() * kOne, height() * kOne, a, b)) return;
  // From here on x runs along the line, y across it.
  const bool flat = std::abs(b.x - a.x) > std::abs(b.y - a.y);
  if (!flat) std::swap(a.x, a.y), std::swap(b.x, b.y);
  if (b.x < a.x) std::swap(a, b);
  const int64_t along = b.x - a.x;
  const int64_t step = (b.y - a.y) * kOne / (along | 1);
  b.x += kOne;
  const int64_t count = (b.x >> kFraction) - (a.x >> kFraction);
  a.y += ((step * -(a.x & (kOne - 1))) >> kFraction) + kOne / 2;
  int slope = static_cast<int>(step >> (kFraction - 5)) & 0x3f;
  if (step < 0) slope ^= 0x3f;
  slope = slope & 0x20 ? 0x100 : kSlopes[slope];
  // The first two and the last two pixels get less, by where the line ends within them.
  const int start = static_cast<int>(a.x >> (kFraction - 7)) & 0x78, end = static_cast<int>(b.x >> (kFraction - 7)) & 0x78;
  const auto part = [&](int length) { return (length * slope >> 8) & 0x1ff; };
  const int first = (0x78 - start) | 4, last = end | 4, single = part(((end - start) & 0x78) | 4);
  const int weights[3][3] = {
      {0, single, part(first)}, {single, part((end - start + 0x80) | 4), part(first + 0x80)}, {part(last), part(last + 0x80), slope}};
  // Copies: what is written through pointers to bytes could be anything.
  const int64_t columns = width(), rows = height(), stride = img_.stride(), channels = bytes_;
  uint8_t* const pixels = img_.row<uint8_t>(0);
  int wanted[4] = {};
  for (int64_t c = 0; c < channels; ++c) wanted[c] = static_cast<int>(pixel_[static_cast<size_t>(c)]);
  const auto blend = [&](int64_t x, int64_t y, int alpha) {
    if (x < 0 || x >= columns || y < 0 || y >= rows) return;
    uint8_t* const to = pixels + y * stride + x * channels;
    const auto mix = [&](size_t c) {
      int value = to[c];
      value += ((wanted[c] - value) * alpha + 127) >> 8;
      value += ((wanted[c] - value) * alpha + 127) >> 8;
      to[c] = static_cast<uint8_t>(value);
    };
    mix(0);
    if (channels >= 3) mix(1), mix(2);
    if (channels == 4) mix(3);
  };
  int64_t y = a.y;
  for (int64_t i = 0; i <= count; ++i, y += step) {
    const int64_t x = (a.x >> kFraction) + i;
    const int64_t left = count - i;
    const int weight = weights[std::min<int64_t>(i, 2)][std::min<int64_t>(left, 2)];
    const int64_t row = (y >> kFraction) - 1;
    const int distance = static_cast<int>(y >> (kFraction - 5)) & 31;
    const int places[3] = {distance + 32, distance, 63 - distance};
    for (int k = 0; k < 3; ++k) {
      const int alpha = (weight * kWeights[places[k]] >> 8) & 0xff;
      if (flat)
        blend(x, row + k, alpha);
      else
        blend(row + k, x, alpha);
    }
  }
}

void Canvas::thick_line(const Point64& from, const Point64& to, int thickness, int ends, int shift) const {
  Point64 a = scaled(from, shift), b = scaled(to, shift);
  const auto pixel = [](const Point64& p) { return Point64{(p.x + kOne / 2) >> kFraction, (p.y + kOne / 2) >> kFraction}; };
  if (thickness <= 1) {
    if (antialiased())
      smooth_line(a, b);
    else if (type_ == LineType::four && shift != 0)
      exact_line(a, b);
    else
      plain_line(pixel(a), pixel(b));
    return;
  }
  if (shift == 0) {  // the part within the picture and as many pixels around it
    Point64 first{from.x + thickness, from.y + thickness}, second{to.x + thickness, to.y + thickness};
    if (!clip(width() + 2 * thickness, height() + 2 * thickness, first, second)) return;
    a = scaled({first.x - thickness, first.y - thickness}, 0);
    b = scaled({second.x - thickness, second.y - thickness}, 0);
  }
  constexpr double kPixel = 1.0 / static_cast<double>(kOne);
  const double dx = static_cast<double>(a.x - b.x) * kPixel, dy = static_cast<double>(b.y - a.y) * kPixel;
  const double square = dx * dx + dy * dy;
  const int64_t half = thickness * (kOne / 2);
  if (square > DBL_EPSILON) {
    const double r = (static_cast<double>(half) + (thickness & 1) * static_cast<double>(kOne) * 0.5) / std::sqrt(square);
    const Point64 aside{rounded(dy * r), rounded(dx * r)};
    fill_convex(
        {{a.x + aside.x, a.y + aside.y}, {a.x - aside.x, a.y - aside.y}, {b.x - aside.x, b.y - aside.y}, {b.x + aside.x, b.y + aside.y}},
        kFraction);
  }
  for (const int which : {1, 2}) {
    if (!(ends & which)) continue;
    const Point64& end = which == 1 ? a : b;
    if (antialiased())
      ellipse(end, half, half, 0, 0, 360, -1);
    else
      circle(pixel(end), (half + kOne / 2) >> kFraction, true);
  }
}

void Canvas::polyline(const std::vector<Point64>& points, bool closed, int thickness, int shift) const {
  if (points.empty()) return;
  int ends = closed ? 2 : 3;
  const Point64* before = closed ? &points.back() : &points.front();
  for (size_t i = closed ? 0 : 1; i < points.size(); ++i) {
    thick_line(*before, points[i], thickness, ends, shift);
    before = &points[i];
    ends = 2;
  }
}

void Canvas::fill_convex(const std::vector<Point64>& points, int shift) const {
  const size_t count = points.size();
  const int64_t half = (int64_t{1} << shift) >> 1;
  Point64 before = scaled(points.back(), shift);
  size_t top = 0;
  int64_t x_least = points[0].x, x_most = x_least, y_least = points[0].y, y_most = y_least;
  for (size_t i = 0; i < count; ++i) {
    const Point64& point = points[i];
    if (point.y < y_least) y_least = point.y, top = i;
    y_most = std::max(y_most, point.y);
    x_most = std::max(x_most, point.x);
    x_least = std::min(x_least, point.x);
    const Point64 here = scaled(point, shift);
    if (antialiased())
      smooth_line(before, here);
    else if (shift == 0)
      plain_line({before.x >> kFraction, before.y >> kFraction}, {here.x >> kFraction, here.y >> kFraction});
    else
      exact_line(before, here);
    before = here;
  }
  const auto pixel = [&](int64_t v) { return (v + half) >> shift; };
  const int64_t first = pixel(y_least), last = std::min(pixel(y_most), height() - 1);
  if (count < 3 || pixel(x_most) < 0 || pixel(y_most) < 0 || pixel(x_least) >= width() || first >= height()) return;

  // Two chains of edges lead down from the top corner: forwards and backwards along the polygon.
  struct Side {
    size_t corner, stride;
    int64_t x, dx, end;
  };
  Side sides[2] = {{top, 1, -kOne, 0, first}, {top, count - 1, -kOne, 0, first}};
  const int64_t left_half = antialiased() ? kOne - 1 : kOne / 2, right_half = antialiased() ? 0 : kOne / 2;
  int64_t edges = static_cast<int64_t>(count);
  for (int64_t y = first; y <= last;) {
    if (!antialiased() || y < last || y == first)
      for (Side& side : sides) {
        if (y < side.end) continue;
        size_t from = side.corner, to = (from + side.stride) % count;
        while (edges-- > 0) {
          const int64_t end = pixel(points[to].y);
          if (end > y) {
            const int64_t start = points[from].x * (kOne >> shift), rows = end - y;
            side.end = end;
            side.dx = ((points[to].x * (kOne >> shift) - start) * 2 + rows) / (2 * rows);
            side.x = start;
            side.corner = to;
            break;
          }
          from = to;
          to = (to + side.stride) % count;
        }
      }
    if (edges < 0) break;
    int64_t rows = 1;
    if (y >= 0)
      row(y, (std::min(sides[0].x, sides[1].x) + left_half) >> kFraction, (std::max(sides[0].x, sides[1].x) + right_half) >> kFraction);
    else  // rows above the picture, up to the next corner, at once
      rows = std::max<int64_t>(1, std::min({int64_t{0}, sides[0].end, sides[1].end, last}) - y);
    for (Side& side : sides) side.x += side.dx * rows;
    y += rows;
  }
}

void Canvas::circle(const Point64& center, int64_t radius, bool fill) const {
  const auto pair = [&](int64_t y, int64_t x1, int64_t x2) {
    if (y < 0 || y >= height()) return;
    if (fill) return row(y, x1, x2);
    if (x1 >= 0 && x1 < width()) put(x1, y);
    if (x2 >= 0 && x2 < width()) put(x2, y);
  };
  int64_t error = 0, dx = radius, dy = 0, plus = 1, minus = 2 * radius - 1;
  while (dx >= dy) {
    if (center.x - dx < width() && center.x + dx >= 0 && center.y - dx < height() && center.y + dx >= 0) {
      pair(center.y - dy, center.x - dx, center.x + dx);
      pair(center.y + dy, center.x - dx, center.x + dx);
      if (center.x - dy < width() && center.x + dy >= 0) {
        pair(center.y - dx, center.x - dy, center.x + dy);
        pair(center.y + dx, center.x - dy, center.x + dy);
      }
    }
    ++dy;
    error += plus;
    plus += 2;
    if (error > 0) {
      error -= minus;
      --dx;
      minus -= 2;
    }
  }
}

void Canvas::ellipse(const Point64& center, int64_t width, int64_t height, int angle, int start, int end, int thickness) const {
  width = std::abs(width), height = std::abs(height);
  const int64_t size = (std::max(width, height) + kOne / 2) >> kFraction;
  const int delta = size < 3 ? 90 : size < 10 ? 30 : size < 15 ? 18 : 5;
  std::vector<Point64> points;
  for (const Point2d& p : arc_points({static_cast<double>(center.x), static_cast<double>(center.y)}, static_cast<double>(width),
                                     static_cast<double>(height), angle, start, end, delta)) {
    // The pixel, then the fraction.
    Point64 point{rounded(p.x / static_cast<double>(kOne)) * kOne, rounded(p.y / static_cast<double>(kOne)) * kOne};
    point.x += rounded(p.x - static_cast<double>(point.x));
    point.y += rounded(p.y - static_cast<double>(point.y));
    if (points.empty() || point != points.back()) points.push_back(point);
  }
  if (points.size() == 1) points.assign(2, center);
  if (thickness >= 0) return polyline(points, false, thickness, kFraction);
  if (int64_t{end} - start >= 360) return fill_convex(points, kFraction);
  points.push_back(center);
  std::vector<Edge> edges;
  add_edges(points, edges, kFraction, {});
  fill_edges(std::move(edges));
}

void Canvas::add_edges(const std::vector<Point64>& points, std::vector<Edge>& edges, int shift, const Point& offset) const {
  const int64_t half = offset.y + ((int64_t{1} << shift) >> 1);
  // x with 16 fractional bits, y in rows.
  const auto corner = [&](const Point64& p) { return Point64{(p.x + offset.x) * (kOne >> shift), (p.y + half) >> shift}; };
  Point64 before = corner(points.back());
  for (const Point64& point : points) {
    const Point64 here = corner(point);
    Point64 a = before, b = here;  // what the edge's slope is taken from
    if (antialiased()) {
      smooth_line({a.x, a.y * kOne}, {b.x, b.y * kOne});
    } else {
      Point64 from{(a.x + kOne / 2) >> kFraction, a.y}, to{(b.x + kOne / 2) >> kFraction, b.y};
      plain_line(from, to);
      const auto outside = [&](const Point64& p) { return p.x < 0 || p.x >= width() || p.y < 0 || p.y >= height(); };
      if (outside(from) || outside(to)) {
        clip(width(), height(), from, to);
        if (from.y != to.y) a.y = from.y, b.y = to.y;
      }
      a.x = from.x * kOne;
      b.x = to.x * kOne;
    }
    if (before.y != here.y) {
      const int64_t dx = (b.x - a.x) / (b.y - a.y);
      const bool down = before.y < here.y;
      const Point64 &upper = down ? before : here, &kept = down ? a : b;
      edges.push_back({upper.y, down ? here.y : before.y, kept.x + (upper.y - kept.y) * dx, dx});
    }
    before = here;
  }
}

void Canvas::fill_edges(std::vector<Edge> edges) const {
  if (edges.size() < 2) return;
  int64_t bottom = 0;
  for (const Edge& edge : edges) bottom = std::max(bottom, edge.bottom);
  bottom = std::min(bottom, height());
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.top != b.top ? a.top < b.top : a.x != b.x ? a.x < b.x : a.dx < b.dx;
  });
  std::vector<Edge> active, merged;  // the edges that meet a row, from left to right
  size_t next = 0;
  for (int64_t y = edges[0].top; y < bottom;) {
    merged.clear();
    size_t old = 0;
    while (true) {
      while (old < active.size() && active[old].bottom == y) ++old;
      const bool starts = next < edges.size() && edges[next].top == y;
      if (old < active.size() && (!starts || active[old].x < edges[next].x))
        merged.push_back(active[old++]);
      else if (starts)
        merged.push_back(edges[next++]);
      else
        break;
    }
    active.swap(merged);
    int64_t rows = 1;
    if (y < 0) {  // rows above the picture, up to the next change, at once
      int64_t change = std::min<int64_t>(0, next < edges.size() ? edges[next].top : 0);
      for (const Edge& edge : active) change = std::min(change, edge.bottom);
      rows = change - y;
    }
    for (size_t i = 0; i + 1 < active.size(); i += 2) {
      Edge &a = active[i], &b = active[i + 1];
      if (y >= 0) row(y, (std::min(a.x, b.x) + kOne - 1) >> kFraction, std::max(a.x, b.x) >> kFraction);
      a.x += a.dx * rows;
      b.x += b.dx * rows;
    }
    const auto left_of = [](const Edge& a, const Edge& b) { return a.x < b.x; };
    if (!std::is_sorted(active.begin(), active.end(), left_of)) std::stable_sort(active.begin(), active.end(), left_of);
    y += rows;
    if (active.empty() && next == edges.size()) break;
    if (active.empty()) y = std::max(y, edges[next].top);
  }
}

}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Shared by what draws: a picture with a colour, lines and polygons of points with 16 fractional bits.
#pragma once
#include <minnow/vision/drawing.h>

#include "vision/image.h"

namespace minnow::vision {

inline constexpr int kFraction = 16;
inline constexpr int64_t kOne = int64_t{1} << kFraction;

struct Point64 {
  int64_t x = 0, y = 0;
  friend bool operator==(const Point64&, const Point64&) = default;
};
/// A point whose coordinates have `shift` fractional bits, with 16 of them.
inline Point64 scaled(const Point64& p, int shift) { return {p.x * (kOne >> shift), p.y * (kOne >> shift)}; }
inline Point64 wide(const Point& p) { return {p.x, p.y}; }

/// To the nearest integer, ties to even; far numbers stay finite.
inline int64_t rounded(double value) { return static_cast<int64_t>(std::nearbyint(std::clamp(value, -0x1p46, 0x1p46))); }

/// A picture that is drawn into with one colour.
class Canvas {
 public:
  /// Checks the picture and what all functions take; `fills`: a negative thickness is allowed.
  Canvas(std::string_view function, const MutableImageView& img, const Scalar4& color, LineType type, int thickness, int shift, bool fills);

  int64_t width() const { return img_.width(); }
  int64_t height() const { return img_.height(); }
  bool antialiased() const { return type_ == LineType::antialiased; }

  /// (x, y) is within the picture.
  void put(int64_t x, int64_t y) const {
    std::byte* const to = img_.row<std::byte>(y) + x * bytes_;
    if (bytes_ == 1)
      to[0] = pixel_[0];
    else if (bytes_ == 3)
      to[0] = pixel_[0], to[1] = pixel_[1], to[2] = pixel_[2];
    else
      std::memcpy(to, pixel_.data(), static_cast<size_t>(bytes_));
  }
  void put_if_inside(int64_t x, int64_t y) const {
    if (x >= 0 && x < width() && y >= 0 && y < height()) put(x, y);
  }
  /// Pixels x1 to x2 of a row, as far as they are within the picture.
  void row(int64_t y, int64_t x1, int64_t x2) const;

  // Between points of the picture, or with 16 fractional bits.
  void plain_line(const Point64& from, const Point64& to) const;
  void exact_line(Point64 from, Point64 to) const;
  void smooth_line(Point64 from, Point64 to) const;
  /// Points with `shift` fractional bits. `ends`: 1 rounds the first end of a thick line, 2 the second.
  void thick_line(const Point64& from, const Point64& to, int thickness, int ends, int shift) const;
  void polyline(const std::vector<Point64>& points, bool closed, int thickness, int shift) const;
  void fill_convex(const std::vector<Point64>& points, int shift) const;
  void circle(const Point64& center, int64_t radius, bool fill) const;
  void ellipse(const Point64& center, int64_t width, int64_t height, int angle, int start, int end, int thickness) const;

  /// An edge of polygons, from row `top` to before row `bottom`.
  struct Edge {
    int64_t top, bottom, x, dx;
  };
  /// Draws a polygon's outline and adds its edges.
  void add_edges(const std::vector<Point64>& points, std::vector<Edge>& edges, int shift, const Point& offset) const;
  void fill_edges(std::vector<Edge> edges) const;

 private:
  MutableImageView img_;
  int64_t bytes_;
  std::vector<std::byte> pixel_;
  LineType type_;
};

/// The part of a line within [0, width) x [0, height); the points may have any fraction.
bool clip(int64_t width, int64_t height, Point64& from, Point64& to);
/// Points on an arc about the origin of `center`, one each `delta` degrees.
std::vector<Point2d> arc_points(const Point2d& center, double width, double height, int angle, int start, int end, int delta);

}  // namespace minnow::vision

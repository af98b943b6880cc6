// SPDX-License-Identifier: Apache-2.0
// Lines, shapes and text drawn into pictures of 1 to 4 channels of any dtype, in place. Pixels are OpenCV's. Parts beyond the picture
// are left out. `shift`: that many binary digits of the coordinates are a fraction, at most 16. Thickness is at most 32767; a negative one
// fills the shape where the function says so. Antialiased lines are drawn into u8 alone; other dtypes get lines of 8 neighbours.
#pragma once
#include <minnow/vision/image.h>

#include <string>
#include <vector>

namespace minnow::vision {

/// Which neighbours follow each other along a line. OpenCV's numbers.
enum class LineType { four = 4, eight = 8, antialiased = 16 };

enum class Marker { cross = 0, tilted_cross = 1, star = 2, diamond = 3, square = 4, triangle_up = 5, triangle_down = 6 };

/// The fonts that A. V. Hershey drew; `italic` may be added to their numbers.
enum class Font {
  simplex = 0,
  plain = 1,
  duplex = 2,
  complex = 3,
  triplex = 4,
  complex_small = 5,
  script_simplex = 6,
  script_complex = 7,
  italic = 16
};

using Polygon = std::vector<Point>;

MINNOW_API void line(const MutableImageView& img, const Point& from, const Point& to, const Scalar4& color, int thickness = 1,
                     LineType type = LineType::eight, int shift = 0);
/// A line with a tip at `to`, whose length is `tip` times the line's.
MINNOW_API void arrowed_line(const MutableImageView& img, const Point& from, const Point& to, const Scalar4& color, int thickness = 1,
                             LineType type = LineType::eight, int shift = 0, double tip = 0.1);
/// Between two opposite corners, both within it. A negative thickness fills it.
MINNOW_API void rectangle(const MutableImageView& img, const Point& corner, const Point& opposite, const Scalar4& color, int thickness = 1,
                          LineType type = LineType::eight, int shift = 0);
MINNOW_API void rectangle(const MutableImageView& img, const Rect& rectangle, const Scalar4& color, int thickness = 1,
                          LineType type = LineType::eight, int shift = 0);
/// A negative thickness fills it. The radius is at most 2^26.
MINNOW_API void circle(const MutableImageView& img, const Point& center, int radius, const Scalar4& color, int thickness = 1,
                       LineType type = LineType::eight, int shift = 0);
/// An arc, or with a negative thickness its sector; `axes` are half the width and height, angles are degrees, clockwise.
MINNOW_API void ellipse(const MutableImageView& img, const Point& center, const Size& axes, double angle, double start_angle,
                        double end_angle, const Scalar4& color, int thickness = 1, LineType type = LineType::eight, int shift = 0);
/// The ellipse within a rotated rectangle of that center, width and height (rounded to float, as OpenCV's are).
MINNOW_API void ellipse(const MutableImageView& img, const Point2d& center, const Point2d& size, double angle, const Scalar4& color,
                        int thickness = 1, LineType type = LineType::eight);
MINNOW_API void polylines(const MutableImageView& img, const std::vector<Polygon>& lines, bool closed, const Scalar4& color,
                          int thickness = 1, LineType type = LineType::eight, int shift = 0);
/// Fills what an odd number of the polygons' turns surrounds.
MINNOW_API void fill_poly(const MutableImageView& img, const std::vector<Polygon>& polygons, const Scalar4& color,
                          LineType type = LineType::eight, int shift = 0, const Point& offset = {});
/// Fills a polygon that each row meets in one piece; quicker than fill_poly.
MINNOW_API void fill_convex_poly(const MutableImageView& img, const Polygon& polygon, const Scalar4& color, LineType type = LineType::eight,
                                 int shift = 0);
/// Contours of find_contours(): all of them, or the one of this index; a negative thickness fills them. With `hierarchy`, which has the
/// indices of the next, previous, first inner and outer contour of each contour, those that lie up to `most_level` deep.
MINNOW_API void draw_contours(const MutableImageView& img, const std::vector<Polygon>& contours, int index, const Scalar4& color,
                              int thickness = 1, LineType type = LineType::eight, const std::vector<std::array<int, 4>>& hierarchy = {},
                              int most_level = 2147483647, const Point& offset = {});
MINNOW_API void draw_marker(const MutableImageView& img, const Point& position, const Scalar4& color, Marker marker = Marker::cross,
                            int size = 20, int thickness = 1, LineType type = LineType::eight);

/// The part of a line within a rectangle; `inside`: whether there is one.
struct ClippedLine {
  bool inside = false;
  Point from, to;
};
MINNOW_API ClippedLine clip_line(const Rect& rectangle, const Point& from, const Point& to);
/// The corners of the polygon that stands for an arc, one each `delta` degrees (1 to 180).
MINNOW_API Polygon ellipse_to_polygon(const Point& center, const Size& axes, int angle, int start_angle, int end_angle, int delta);

/// UTF-8. Fonts have the printable characters of ASCII, Font::complex has the Cyrillic ones; others become question marks. `origin`: the
/// left end of the text's base line, or with `bottom_left_origin` in a picture whose first row is the lowest.
MINNOW_API void put_text(const MutableImageView& img, const std::string& text, const Point& origin, Font font, double scale,
                         const Scalar4& color, int thickness = 1, LineType type = LineType::eight, bool bottom_left_origin = false);
/// The size of the text above its base line, and how far it reaches below it.
struct TextSize {
  Size size;
  int base_line = 0;
};
MINNOW_API TextSize text_size(const std::string& text, Font font, double scale, int thickness);
/// The scale at which capital letters have this height in pixels.
MINNOW_API double font_scale_from_height(Font font, int height, int thickness = 1);

/// How draw_detections() draws.
struct DetectionStyle {
  int thickness = 0;                          // of boxes and limbs; 0: by the size of the picture
  double font_scale = 0;                      // of the labels; 0: by the size of the picture
  double mask_opacity = 0.4;                  // 0 to 1
  float least_score = 0;                      // detections below it are left out
  float least_keypoint = 0;                   // so are keypoints whose third number is below it
  std::vector<Scalar4> colors;                // by class, again from the first where there are more classes; none: colours of our own
  std::vector<std::pair<int, int>> skeleton;  // pairs of keypoints that lines join
};

/// Boxes with labels, scores, keypoints and masks. `boxes`: f32 [n, 4], (x1, y1, x2, y2) in pixels. `classes`: i32 or i64 [n], or empty.
/// `labels`: a text for each class, or where there are no classes for each box; or none. `scores`: f32 [n] or empty. `keypoints`:
/// f32 [n, k, 2], or with a score of each [n, k, 3], or empty. `masks`: [n, height, width] of u8, boolean or f32 (set where at least 0.5),
/// of the picture's size, or empty. Throws InvalidArgument where they do not fit together. The picture is u8 of 1, 3 or 4 channels.
MINNOW_API void draw_detections(const MutableImageView& img, const TensorView& boxes, const TensorView& classes = {},
                                const std::vector<std::string>& labels = {}, const TensorView& scores = {},
                                const TensorView& keypoints = {}, const TensorView& masks = {}, const DetectionStyle& style = {});

}  // namespace minnow::vision

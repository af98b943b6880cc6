// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

/// u8 and bool as they are, other numbers as f32.
struct Masks {
  Tensor value;
  operator TensorView() const { return value; }  // NOLINT(google-explicit-constructor)
};
template <>
struct From<Masks> {
  Masks value;
  From(nb::handle object, const char* name) : value{From<Tensor>(object, name).value} {
    if (value.value.dtype() != DType::u8 && value.value.dtype() != DType::boolean) value.value = From<Floats>(object, name).value.value;
  }
  const Masks& get() const { return value; }
};

namespace {

using vision::Font;
using vision::ImageView;
using vision::LineType;
using vision::MutableImageView;
using vision::Point;
using vision::Point2d;
using vision::Polygon;
using vision::Rect;
using vision::Scalar4;
using vision::Size;

// The functions with several forms.
void rectangle(const MutableImageView& img, const Point& a, const Point& b, const Scalar4& color, int thickness, LineType type, int shift) {
  vision::rectangle(img, a, b, color, thickness, type, shift);
}
void rectangle_within(const MutableImageView& img, const Rect& r, const Scalar4& color, int thickness, LineType type, int shift) {
  vision::rectangle(img, r, color, thickness, type, shift);
}
void ellipse(const MutableImageView& img, const Point& center, const Size& axes, double angle, double start, double end,
             const Scalar4& color, int thickness, LineType type, int shift) {
  vision::ellipse(img, center, axes, angle, start, end, color, thickness, type, shift);
}
void ellipse_within(const MutableImageView& img, const Point2d& center, const Point2d& size, double angle, const Scalar4& color,
                    int thickness, LineType type) {
  vision::ellipse(img, center, size, angle, color, thickness, type);
}

void draw_contours(const MutableImageView& img, const std::vector<Polygon>& contours, int index, const Scalar4& color, int thickness,
                   LineType type, const std::vector<int>& hierarchy, int most_level, const Point& offset) {
  std::vector<std::array<int, 4>> rows(hierarchy.size() / 4);
  for (size_t i = 0; i < 4 * rows.size(); ++i) rows[i / 4][i % 4] = hierarchy[i];
  vision::draw_contours(img, contours, index, color, thickness, type, rows, most_level, offset);
}

std::tuple<bool, Point, Point> clip_line(const Rect& r, const Point& a, const Point& b) {
  const vision::ClippedLine clipped = vision::clip_line(r, a, b);
  return {clipped.inside, clipped.from, clipped.to};
}

std::tuple<Size, int> text_size(const std::string& text, Font font, double scale, int thickness) {
  const vision::TextSize size = vision::text_size(text, font, scale, thickness);
  return {size.size, size.base_line};
}

using Maybe = std::optional<Tensor>;
using MaybeFloats = std::optional<Floats>;
void draw_detections(const MutableImageView& img, const Floats& boxes, const Maybe& classes, const std::vector<std::string>& labels,
                     const MaybeFloats& scores, const MaybeFloats& keypoints, const std::optional<Masks>& masks, int thickness,
                     double font_scale, double opacity, float least_score, float least_keypoint, const std::vector<double>& colors,
                     const std::vector<int>& skeleton) {
  vision::DetectionStyle style{thickness, font_scale, opacity, least_score, least_keypoint, {}, {}};
  for (size_t i = 0; i + 3 < colors.size(); i += 4) style.colors.push_back({colors[i], colors[i + 1], colors[i + 2], colors[i + 3]});
  for (size_t i = 0; i + 1 < skeleton.size(); i += 2) style.skeleton.push_back({skeleton[i], skeleton[i + 1]});
  if (boxes.value.elements() == 0) return;  // lists without boxes have no second axis
  const auto view = [](const auto& tensor) { return tensor ? TensorView(*tensor) : TensorView(); };
  vision::draw_detections(img, boxes, view(classes), labels, view(scores), view(keypoints), view(masks), style);
}

}  // namespace

void define_drawing(nb::module_& m) {
  define(m, "line", vision::line, {"img", "pt1", "pt2", "color", "thickness", "lineType", "shift"});
  define(m, "arrowedLine", vision::arrowed_line, {"img", "pt1", "pt2", "color", "thickness", "line_type", "shift", "tipLength"});
  define(m, "rectangle", rectangle, {"img", "pt1", "pt2", "color", "thickness", "lineType", "shift"});
  define(m, "rectangle_within", rectangle_within, {"img", "rec", "color", "thickness", "lineType", "shift"});
  define(m, "circle", vision::circle, {"img", "center", "radius", "color", "thickness", "lineType", "shift"});
  define(m, "ellipse", ellipse, {"img", "center", "axes", "angle", "startAngle", "endAngle", "color", "thickness", "lineType", "shift"});
  define(m, "ellipse_within", ellipse_within, {"img", "box", "box", "box", "color", "thickness", "lineType"});
  define(m, "polylines", vision::polylines, {"img", "pts", "isClosed", "color", "thickness", "lineType", "shift"});
  define(m, "fillPoly", vision::fill_poly, {"img", "pts", "color", "lineType", "shift", "offset"});
  define(m, "fillConvexPoly", vision::fill_convex_poly, {"img", "points", "color", "lineType", "shift"});
  define(m, "drawContours", draw_contours,
         {"image", "contours", "contourIdx", "color", "thickness", "lineType", "hierarchy", "maxLevel", "offset"});
  define(m, "drawMarker", vision::draw_marker, {"img", "position", "color", "markerType", "markerSize", "thickness", "line_type"});
  define(m, "clipLine", clip_line, {"imgRect", "pt1", "pt2"});
  define(m, "ellipse2Poly", vision::ellipse_to_polygon, {"center", "axes", "angle", "arcStart", "arcEnd", "delta"});
  define(m, "putText", vision::put_text,
         {"img", "text", "org", "fontFace", "fontScale", "color", "thickness", "lineType", "bottomLeftOrigin"});
  define(m, "getTextSize", text_size, {"text", "fontFace", "fontScale", "thickness"});
  define(m, "draw_detections", draw_detections,
         {"img", "boxes", "classes", "labels", "scores", "keypoints", "masks", "thickness", "font_scale", "mask_opacity", "least_score",
          "least_keypoint", "colors", "skeleton"});
  define(m, "getFontScaleFromHeight", vision::font_scale_from_height, {"fontFace", "pixelHeight", "thickness"});
}

}  // namespace minnow::python

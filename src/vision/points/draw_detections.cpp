// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "vision/canvas.h"

namespace minnow::vision {
namespace {

/// A colour of its own for each class: hues that lie far apart, one after the other. Blue, green, red.
Scalar4 color_of(size_t kind) {
  const double hue = std::fmod(0.33 + static_cast<double>(kind) * 0.618033988749895, 1.0) * 6;
  const double part = hue - std::floor(hue), low = 40, high = 255, rise = low + (high - low) * part, fall = high - (high - low) * part;
  const double colors[6][3] = {{low, rise, high}, {low, high, fall}, {rise, high, low},
                               {high, fall, low}, {high, low, rise}, {fall, low, high}};
  const auto& c = colors[static_cast<size_t>(hue) % 6];
  return {c[0], c[1], c[2], 255};
}

struct Sizes {
  int thickness;
  double font_scale;
};
Sizes sizes_for(const ImageView& img, const DetectionStyle& style) {
  const double side = static_cast<double>(img.width() + img.height()) / 2;
  const int thickness = style.thickness > 0 ? style.thickness : std::max(1, static_cast<int>(std::lround(side * 0.003)));
  return {thickness, style.font_scale > 0 ? style.font_scale : std::max(0.35, side / 1500)};
}

int pixel(double value) { return static_cast<int>(std::lround(std::clamp(value, -1e6, 1e6))); }

bool has(const TensorView& tensor) { return tensor.dtype() != DType::undefined; }

void blend_mask(const MutableImageView& img, const TensorView& masks, int64_t which, const std::vector<std::byte>& color, double opacity) {
  const int share = static_cast<int>(std::lround(opacity * 256));
  const int64_t channels = std::min<int64_t>(img.channels(), 3);  // alpha stays
  const int64_t start = which * img.height() * img.width();
  for (int64_t y = 0; y < img.height(); ++y) {
    uint8_t* out = img.row<uint8_t>(y);
    for (int64_t x = 0; x < img.width(); ++x, out += img.channels()) {
      const int64_t at = start + y * img.width() + x;
      const bool set = masks.dtype() == DType::f32 ? static_cast<const float*>(masks.data())[at] >= 0.5f
                                                   : static_cast<const uint8_t*>(masks.data())[at] != 0;
      if (!set) continue;
      for (int64_t c = 0; c < channels; ++c)
        out[c] = static_cast<uint8_t>((out[c] * (256 - share) + static_cast<int>(color[static_cast<size_t>(c)]) * share + 128) >> 8);
    }
  }
}

/// Text on a ground of the box's colour, above the box where there is room.
void draw_label(const MutableImageView& img, const std::string& text, const Point& corner, const Scalar4& color, const Sizes& sizes) {
  const int thickness = std::max(1, sizes.thickness / 2), margin = sizes.thickness + 1;
  const TextSize size = text_size(text, Font::simplex, sizes.font_scale, thickness);
  const int height = size.size.height + size.base_line / 2 + 2 * margin, width = size.size.width + 2 * margin;
  const int left = std::clamp(corner.x, 0, std::max(0, static_cast<int>(img.width()) - width));
  const int top = std::max(0, corner.y - height);
  rectangle(img, Rect{left, top, width, height}, color, -1);
  const double brightness = img.channels() == 1 ? color[0] : 0.114 * color[0] + 0.587 * color[1] + 0.299 * color[2];
  const double ink = brightness > 140 ? 0 : 255;
  put_text(img, text, {left + margin, top + margin + size.size.height}, Font::simplex, sizes.font_scale, {ink, ink, ink, 255}, thickness,
           LineType::antialiased);
}

}  // namespace

void draw_detections(const MutableImageView& img, const TensorView& boxes, const TensorView& classes,
                     const std::vector<std::string>& labels, const TensorView& scores, const TensorView& keypoints, const TensorView& masks,
                     const DetectionStyle& style) try {
  check_not_empty("draw_detections", img);
  check_dtype("draw_detections", img, {DType::u8});
  check_channels("draw_detections", img, {1, 3, 4});
  const auto fits = [&](const char* what, const TensorView& tensor, bool right, const char* wanted) {
    if (!right) throw InvalidArgument("draw_detections: {} are {}, not {}{}", what, wanted, tensor.dtype(), tensor.shape());
  };
  const Shape& shape = boxes.shape();
  fits("boxes", boxes, boxes.dtype() == DType::f32 && shape.rank() == 2 && shape[1] == 4, "f32[n, 4]");
  const int64_t count = shape[0];
  const auto counts = [&](const TensorView& tensor, size_t rank) { return tensor.shape().rank() == rank && tensor.shape()[0] == count; };
  if (has(classes))
    fits("classes", classes, (classes.dtype() == DType::i32 || classes.dtype() == DType::i64) && counts(classes, 1),
         "i32[n], one for each box,");
  if (has(scores)) fits("scores", scores, scores.dtype() == DType::f32 && counts(scores, 1), "f32[n], one for each box,");
  if (has(keypoints)) {
    const bool right = keypoints.dtype() == DType::f32 && counts(keypoints, 3) && (keypoints.shape()[2] == 2 || keypoints.shape()[2] == 3);
    fits("keypoints", keypoints, right, "f32[n, points, 2 or 3]");
  }
  if (has(masks)) {
    const bool dtype = masks.dtype() == DType::u8 || masks.dtype() == DType::boolean || masks.dtype() == DType::f32;
    const bool right = dtype && counts(masks, 3) && masks.shape()[1] == img.height() && masks.shape()[2] == img.width();
    fits("masks", masks, right, "u8[n, height, width] of the picture's size");
  }
  if (!has(classes) && !labels.empty() && static_cast<int64_t>(labels.size()) != count)
    throw InvalidArgument("draw_detections: there are {} labels for {} boxes", labels.size(), count);
  if (!(style.mask_opacity >= 0 && style.mask_opacity <= 1))
    throw InvalidArgument("draw_detections: the masks' opacity is {}, not 0 to 1", style.mask_opacity);
  const int64_t points = has(keypoints) ? keypoints.shape()[1] : 0;
  for (const auto& [a, b] : style.skeleton)
    if (a < 0 || b < 0 || (has(keypoints) && (a >= points || b >= points)))
      throw InvalidArgument("draw_detections: the skeleton joins keypoints {} and {} of {}", a, b, points);

  const Sizes sizes = sizes_for(img, style);
  const float* const all_boxes = static_cast<const float*>(boxes.data());
  const auto score_of = [&](int64_t i) { return has(scores) ? static_cast<const float*>(scores.data())[i] : 1.0f; };
  const auto class_of = [&](int64_t i) -> int64_t {
    if (!has(classes)) return labels.empty() ? 0 : i;
    return classes.dtype() == DType::i32 ? static_cast<const int32_t*>(classes.data())[i] : static_cast<const int64_t*>(classes.data())[i];
  };
  const auto color_at = [&](int64_t i) {
    const size_t kind = static_cast<size_t>(std::max<int64_t>(class_of(i), 0));
    return style.colors.empty() ? color_of(kind) : style.colors[kind % style.colors.size()];
  };
  const auto drawn = [&](int64_t i) { return score_of(i) >= style.least_score; };
  // Large areas come first, so that boxes and labels stay readable.
  if (has(masks))
    for (int64_t i = 0; i < count; ++i)
      if (drawn(i)) blend_mask(img, masks, i, pixel_of(color_at(i), DType::u8, img.channels()), style.mask_opacity);
  const auto corner = [&](int64_t i, int64_t k) {
    return Point{pixel(static_cast<double>(all_boxes[4 * i + 2 * k])), pixel(static_cast<double>(all_boxes[4 * i + 2 * k + 1]))};
  };
  for (int64_t i = 0; i < count; ++i)
    if (drawn(i)) rectangle(img, corner(i, 0), corner(i, 1), color_at(i), sizes.thickness);
  for (int64_t i = 0; i < count && points > 0; ++i) {
    if (!drawn(i)) continue;
    const int64_t numbers = keypoints.shape()[2];
    const auto seen = [&](int64_t k, Point& at) {
      const float* const p = static_cast<const float*>(keypoints.data()) + (i * points + k) * numbers;
      at = {pixel(static_cast<double>(p[0])), pixel(static_cast<double>(p[1]))};
      return numbers == 2 || p[2] >= style.least_keypoint;
    };
    Point a, b;
    for (const auto& [from, to] : style.skeleton)
      if (seen(from, a) && seen(to, b)) line(img, a, b, color_at(i), sizes.thickness, LineType::antialiased);
    for (int64_t k = 0; k < points; ++k)
      if (seen(k, a))
        circle(img, a, sizes.thickness + 1, style.skeleton.empty() ? color_of(static_cast<size_t>(k) + 3) : color_at(i), -1,
               LineType::antialiased);
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!drawn(i)) continue;
    const int64_t kind = class_of(i);
    std::string text;
    if (!labels.empty() && kind >= 0 && kind < static_cast<int64_t>(labels.size()))
      text = labels[static_cast<size_t>(kind)];
    else if (has(classes))
      text = format("{}", kind);
    if (has(scores)) {
      char digits[16];
      std::snprintf(digits, sizeof digits, "%s%.2f", text.empty() ? "" : " ", static_cast<double>(std::clamp(score_of(i), -99.0f, 999.0f)));
      text += digits;
    }
    if (!text.empty()) draw_label(img, text, corner(i, 0), color_at(i), sizes);
  }
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision

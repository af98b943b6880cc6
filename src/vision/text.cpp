// SPDX-License-Identifier: Apache-2.0
#include "vision/hershey.h"

namespace minnow::vision {
namespace {

/// Calls f(glyph) for the characters of a text.
template <class F>
void for_glyphs(const std::string& text, Font face, const HersheyFont& font, F&& f) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  for (size_t i = 0; i < text.size(); ++i) {
    int c = byte(i), first = ' ', end = 127;
    if (c >= 0x80 && face == Font::complex) {
      const int second = byte(i + 1);
      if (c == 0xD0 && second >= 0x90 && second <= 0xBF) {
        c = second - 17, first = 127, end = 175;
        ++i;
      } else if (c == 0xD1 && second >= 0x80 && second <= 0x8F) {
        c = second + 47, first = 175, end = 191;
        ++i;
      } else {  // another character of two to six bytes
        for (const int mark : {0xC0, 0xE0, 0xF0, 0xF8, 0xFC}) i += c >= mark && byte(i + 1) != 0;
        c = '?';
      }
    }
    if (c < first || c >= end) c = '?';
    f(font.glyphs[static_cast<size_t>(c - ' ')]);
  }
}

int coordinate(char c) { return static_cast<uint8_t>(c) - 'R'; }

void check_scale(std::string_view function, double scale) {
  if (!(std::abs(scale) <= 10000)) throw InvalidArgument("{}: the scale of the font is {}", function, scale);
}

}  // namespace

void put_text(const MutableImageView& img, const std::string& text, const Point& origin, Font face, double scale, const Scalar4& color,
              int thickness, LineType type, bool bottom_left_origin) try {
  const Canvas canvas("putText", img, color, type, thickness, 0, false);
  check_scale("putText", scale);
  if (text.empty()) return;
  const HersheyFont font = hershey_font(face);
  const int64_t across = rounded(scale * static_cast<double>(kOne)), down = bottom_left_origin ? -across : across;
  int64_t x = origin.x * kOne;
  const int64_t y = origin.y * kOne - font.base_line * down;
  std::vector<Point64> stroke;
  for_glyphs(text, face, font, [&](std::string_view glyph) {
    x -= coordinate(glyph[0]) * across;
    stroke.clear();
    const auto draw = [&] {
      if (stroke.size() > 1) canvas.polyline(stroke, false, thickness, kFraction);
      stroke.clear();
    };
    for (size_t i = 2; i < glyph.size();) {
      if (glyph[i] == ' ') {
        draw();
        ++i;
      } else {
        stroke.push_back({coordinate(glyph[i]) * across + x, coordinate(glyph[i + 1]) * down + y});
        i += 2;
      }
    }
    draw();
    x += coordinate(glyph[1]) * across;
  });
} catch (...) {
  throw_as_error();
}

TextSize text_size(const std::string& text, Font face, double scale, int thickness) try {
  check_scale("getTextSize", scale);
  const HersheyFont font = hershey_font(face);
  double width = 0;
  for_glyphs(text, face, font, [&](std::string_view glyph) { width += (coordinate(glyph[1]) - coordinate(glyph[0])) * scale; });
  const auto pixels = [](double size) { return static_cast<int>(std::clamp(std::nearbyint(size), -0x1p31, 0x1p31 - 1)); };
  return {{pixels(width + thickness), pixels((font.cap_line + font.base_line) * scale + (int64_t{thickness} + 1) / 2)},
          pixels(font.base_line * scale + thickness * 0.5)};
} catch (...) {
  throw_as_error();
}

double font_scale_from_height(Font face, int height, int thickness) try {
  const HersheyFont font = hershey_font(face);
  return (height - (thickness + 1) / 2.0) / (font.cap_line + font.base_line);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision

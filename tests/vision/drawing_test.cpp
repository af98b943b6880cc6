// SPDX-License-Identifier: Apache-2.0
// Shapes against what geometry says of their pixels. tests/python/cv_parity/drawing.py compares every pixel with OpenCV's.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <cmath>
#include <random>
#include <string>

#include "base/error.h"

namespace minnow::vision {
namespace {

struct Sheet {
  int width, height;
  Tensor pixels{DType::u8, Shape{height, width}};
  Sheet(int w, int h) : width(w), height(h) { std::fill_n(data(), w * h, uint8_t{0}); }
  uint8_t* data() { return pixels.writable().data<uint8_t>(); }
  MutableImageView view() { return pixels.writable(); }
  int at(int x, int y) const { return pixels.data<uint8_t>()[y * width + x]; }
  int set() const {
    int count = 0;
    for (int i = 0; i < width * height; ++i) count += pixels.data<uint8_t>()[i] != 0;
    return count;
  }
};

TEST(Drawing, lines_have_a_pixel_in_each_column_next_to_the_exact_line) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Sheet sheet(60, 50);
    const auto point = [&] { return Point{static_cast<int>(random() % 60), static_cast<int>(random() % 50)}; };
    const Point a = point(), b = point();
    line(sheet.view(), a, b, {9});
    const int dx = std::abs(b.x - a.x), dy = std::abs(b.y - a.y);
    EXPECT_EQ(sheet.set(), std::max(dx, dy) + 1);
    for (int y = 0; y < 50; ++y)
      for (int x = 0; x < 60; ++x) {
        if (!sheet.at(x, y)) continue;
        const double across = std::abs(double(b.x - a.x) * (y - a.y) - double(b.y - a.y) * (x - a.x)) / std::max({dx, dy, 1});
        EXPECT_LE(across, 0.5 + 1e-9);
      }
  }
}

TEST(Drawing, circles_are_as_far_from_their_center_as_the_radius) {
  for (const int radius : {0, 1, 5, 17}) {
    Sheet ring(50, 50), disc(50, 50);
    circle(ring.view(), {25, 24}, radius, {1});
    circle(disc.view(), {25, 24}, radius, {1}, -1);
    for (int y = 0; y < 50; ++y)
      for (int x = 0; x < 50; ++x) {
        const double distance = std::hypot(x - 25, y - 24);
        if (ring.at(x, y)) {
          EXPECT_NEAR(distance, radius, 1);
        }
        if (std::abs(distance - radius) > 1) {
          EXPECT_EQ(disc.at(x, y), distance < radius);
        }
      }
  }
}

TEST(Drawing, polygons_are_filled_where_a_ray_crosses_an_odd_number_of_sides) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    Sheet sheet(64, 64);
    Polygon corners(3 + random() % 5);
    for (Point& corner : corners) corner = {static_cast<int>(random() % 64), static_cast<int>(random() % 64)};
    fill_poly(sheet.view(), {corners}, {1});
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 64; ++x) {
        bool inside = false;
        double nearest = 1e9;
        for (size_t k = 0; k < corners.size(); ++k) {
          const Point a = corners[k], b = corners[(k + 1) % corners.size()];
          if ((a.y > y) != (b.y > y) && x < a.x + double(b.x - a.x) * (y - a.y) / (b.y - a.y)) inside = !inside;
          const double length = std::hypot(b.x - a.x, b.y - a.y);
          const double along =
              length > 0 ? std::clamp(((x - a.x) * double(b.x - a.x) + (y - a.y) * double(b.y - a.y)) / (length * length), 0.0, 1.0) : 0;
          nearest = std::min(nearest, std::hypot(x - a.x - along * (b.x - a.x), y - a.y - along * (b.y - a.y)));
        }
        if (nearest > 2) {
          ASSERT_EQ(sheet.at(x, y), inside) << x << "," << y;
        }
      }
  }
}

TEST(Drawing, text_fills_the_size_that_it_is_said_to_have) {
  for (int font = 0; font < 8; ++font)
    for (const int italic : {0, 16}) {
      const Font face = static_cast<Font>(font + italic);
      const TextSize size = text_size("minnow EXT", face, 2, 1);
      Sheet sheet(size.size.width + 60, size.size.height + size.base_line + 60);
      put_text(sheet.view(), "minnow EXT", {30, 30 + size.size.height}, face, 2, {255});
      EXPECT_GT(sheet.set(), 200);
      int left = sheet.width, right = 0, bottom = 0;
      for (int y = 0; y < sheet.height; ++y)
        for (int x = 0; x < sheet.width; ++x)
          if (sheet.at(x, y)) left = std::min(left, x), right = std::max(right, x), bottom = std::max(bottom, y);
      EXPECT_NEAR(left, 30, 25);
      EXPECT_NEAR(right, 30 + size.size.width, 25);
      EXPECT_LE(bottom, 30 + size.size.height + size.base_line);
    }
}

TEST(Drawing, detections_are_where_their_boxes_and_masks_are) {
  Tensor picture(DType::u8, Shape{100, 120, 3});
  const auto clear = [&] { std::fill_n(picture.writable().data<uint8_t>(), 100 * 120 * 3, uint8_t{0}); };
  const auto at = [&](int x, int y) { return picture.data<uint8_t>()[(y * 120 + x) * 3] + picture.data<uint8_t>()[(y * 120 + x) * 3 + 1]; };
  Tensor boxes(DType::f32, Shape{2, 4}), scores(DType::f32, Shape{2}), classes(DType::i32, Shape{2}), masks(DType::u8, Shape{2, 100, 120});
  const float corners[] = {10, 40, 50, 90, 60, 40, 100, 90};
  std::copy_n(corners, 8, boxes.writable().data<float>());
  scores.writable().data<float>()[0] = 0.9f, scores.writable().data<float>()[1] = 0.2f;
  classes.writable().data<int32_t>()[0] = 1, classes.writable().data<int32_t>()[1] = 0;
  std::fill_n(masks.writable().data<uint8_t>(), masks.elements(), uint8_t{0});
  masks.writable().data<uint8_t>()[80 * 120 + 30] = 1;
  clear();
  DetectionStyle style;
  style.colors = {{0, 255, 0, 0}, {200, 0, 0, 0}};
  style.least_score = 0.5f;
  draw_detections(picture.writable(), boxes, classes, {"cat", "dog"}, scores, {}, masks, style);
  EXPECT_EQ(at(30, 90), 200);
  EXPECT_EQ(at(30, 80), 80);  // four tenths of it
  EXPECT_EQ(at(31, 80), 0);
  EXPECT_EQ(at(80, 90), 0);    // its score is too low
  EXPECT_EQ(at(11, 38), 200);  // the label's ground
  EXPECT_THROW(draw_detections(picture.writable(), boxes, {}, {"one label"}), InvalidArgument);
  EXPECT_THROW(draw_detections(picture.writable(), boxes, classes, {}, boxes), InvalidArgument);
  Tensor keypoints(DType::f32, Shape{2, 2, 2});
  const float places[] = {20, 50, 40, 50, 70, 50, 90, 50};
  std::copy_n(places, 8, keypoints.writable().data<float>());
  clear();
  style = {};
  style.skeleton = {{0, 1}};
  draw_detections(picture.writable(), boxes, {}, {}, {}, keypoints, {}, style);
  EXPECT_GT(at(30, 50), 0);
  EXPECT_EQ(at(30, 60), 0);
  style.skeleton = {{0, 2}};
  EXPECT_THROW(draw_detections(picture.writable(), boxes, {}, {}, {}, keypoints, {}, style), InvalidArgument);
}

TEST(Drawing, what_cannot_be_drawn_is_said) {
  Sheet sheet(5, 5);
  EXPECT_THROW(line(sheet.view(), {0, 0}, {1, 1}, {1}, -1), InvalidArgument);
  EXPECT_THROW(line(sheet.view(), {0, 0}, {1, 1}, {1}, 1, static_cast<LineType>(3)), InvalidArgument);
  EXPECT_THROW(circle(sheet.view(), {0, 0}, -1, {1}), InvalidArgument);
  EXPECT_THROW(put_text(sheet.view(), "x", {0, 0}, static_cast<Font>(8), 1, {1}), InvalidArgument);
  EXPECT_THROW(draw_contours(sheet.view(), {{{1, 1}, {2, 2}}}, 0, {1}, 1, LineType::eight, {{0, 0, 0, 0}}, 5), InvalidArgument);
  // Far beyond the picture is not wrong.
  const int far = 2147483647;
  line(sheet.view(), {-far, -far}, {far, far}, {7}, 3);
  EXPECT_EQ(sheet.at(2, 2), 7);
  rectangle(sheet.view(), Point{-far, -far}, Point{far, far}, {8}, -1);
  EXPECT_EQ(sheet.set(), 25);
}

}  // namespace
}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Filters against their definitions, in plain loops.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "base/error.h"

namespace minnow::vision {
namespace {

struct Picture {
  int64_t height, width, channels;
  std::vector<uint8_t> pixels;
  Picture(int64_t h, int64_t w, int64_t c, unsigned seed = 1) : height(h), width(w), channels(c), pixels(static_cast<size_t>(h * w * c)) {
    std::mt19937 random(seed);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random());
  }
  ImageView view() const { return {DType::u8, height, width, channels, pixels.data(), width * channels}; }
  double at(int64_t y, int64_t x, int64_t c) const { return pixels[static_cast<size_t>((y * width + x) * channels + c)]; }
  /// With the border mirrored at the outermost pixels.
  double mirrored(int64_t y, int64_t x, int64_t c) const {
    const auto place = [](int64_t i, int64_t size) {
      if (size == 1) return int64_t{0};
      while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
      return i;
    };
    return at(place(y, height), place(x, width), c);
  }
};

/// Each element of the result against expected(y, x, channel).
void expect(const Tensor& result, const Picture& picture, double within, const std::function<double(int64_t, int64_t, int64_t)>& expected) {
  const ImageView view(result);
  ASSERT_EQ(view.height(), picture.height);
  ASSERT_EQ(view.width(), picture.width);
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x)
      for (int64_t c = 0; c < picture.channels; ++c) {
        const int64_t i = x * picture.channels + c;
        const double found = view.dtype() == DType::u8    ? view.row<uint8_t>(y)[i]
                             : view.dtype() == DType::i16 ? view.row<int16_t>(y)[i]
                                                          : double(view.row<float>(y)[i]);
        ASSERT_NEAR(found, expected(y, x, c), within) << y << " " << x << " " << c;
      }
}

const std::vector<Picture>& pictures() {
  static const std::vector<Picture> all = {{1, 1, 1}, {1, 9, 3}, {7, 1, 1}, {5, 6, 4}, {23, 70, 1}, {19, 50, 3}};
  return all;
}

TEST(Filters, blur_is_the_mean) {
  for (const Picture& p : pictures())
    for (const Size size : {Size{3, 3}, Size{5, 5}, Size{7, 2}, Size{21, 19}})
      expect(blur(p.view(), size), p, 0.51, [&](int64_t y, int64_t x, int64_t c) {
        double sum = 0;
        for (int j = 0; j < size.height; ++j)
          for (int i = 0; i < size.width; ++i) sum += p.mirrored(y + j - size.height / 2, x + i - size.width / 2, c);
        return sum / (size.width * size.height);
      });
}

TEST(Filters, gaussian_blur_has_weights_of_eight_bits) {
  const double weights[] = {1, 4, 6, 4, 1};
  for (const Picture& p : pictures()) {
    if (p.height == 1 || p.width == 1) continue;
    expect(gaussian_blur(p.view(), {5, 5}, 0), p, 0, [&](int64_t y, int64_t x, int64_t c) {
      double sum = 0;
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += weights[j] * weights[i] * p.mirrored(y + j - 2, x + i - 2, c);
      return std::floor((sum + 128) / 256);
    });
  }
}

TEST(Filters, sobel_is_a_difference_of_smoothed_columns) {
  for (const Picture& p : pictures())
    expect(sobel(p.view(), DType::i16, 1, 0), p, 0, [&](int64_t y, int64_t x, int64_t c) {
      double sum = 0;
      for (int j = -1; j <= 1; ++j) sum += (j ? 1 : 2) * (p.mirrored(y + j, x + 1, c) - p.mirrored(y + j, x - 1, c));
      return sum;
    });
}

TEST(Filters, filter_2d_is_a_correlation) {
  const float kernel[] = {0.5f, -1, 0, 2, 0.25f, -0.75f};
  const ImageView weights(DType::f32, 2, 3, 1, kernel, 3 * sizeof(float));
  for (const Picture& p : pictures())
    expect(filter_2d(p.view(), DType::f32, weights, {0, 1}, 3), p, 1e-3, [&](int64_t y, int64_t x, int64_t c) {
      double sum = 3;
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 3; ++i) sum += double(kernel[j * 3 + i]) * p.mirrored(y + j - 1, x + i, c);
      return sum;
    });
}

TEST(Filters, median_is_the_middle) {
  for (const Picture& p : pictures())
    for (const int size : {3, 5, 7, 15})
      expect(median_blur(p.view(), size), p, 0, [&](int64_t y, int64_t x, int64_t c) {
        std::vector<double> values;
        for (int j = -size / 2; j <= size / 2; ++j)
          for (int i = -size / 2; i <= size / 2; ++i)
            values.push_back(p.at(std::clamp<int64_t>(y + j, 0, p.height - 1), std::clamp<int64_t>(x + i, 0, p.width - 1), c));
        const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
      });
}

TEST(Filters, erosion_is_the_least_of_the_kernel) {
  for (const MorphShape shape : {MorphShape::rect, MorphShape::ellipse, MorphShape::cross})
    for (const Size size : {Size{3, 3}, Size{5, 3}, Size{11, 13}}) {
      const Tensor kernel = structuring_element(shape, size);
      const ImageView places(kernel);
      for (const Picture& p : pictures())
        expect(morphology(p.view(), MorphOp::erode, places), p, 0, [&](int64_t y, int64_t x, int64_t c) {
          double least = 255;
          for (int j = 0; j < size.height; ++j)
            for (int i = 0; i < size.width; ++i) {
              const int64_t v = y + j - size.height / 2, u = x + i - size.width / 2;
              if (places.row<uint8_t>(j)[i] && v >= 0 && u >= 0 && v < p.height && u < p.width) least = std::min(least, p.at(v, u, c));
            }
          return least;
        });
    }
}

TEST(Filters, otsu_parts_two_hills) {
  Picture p(20, 30, 1);
  for (uint8_t& pixel : p.pixels) pixel = static_cast<uint8_t>(pixel % 2 ? 40 + pixel % 16 : 180 + pixel % 32);
  const auto [limit, picture] = threshold(p.view(), 0, 255, Threshold::binary, ThresholdFrom::otsu);
  EXPECT_GE(limit, 55);
  EXPECT_LT(limit, 180);
  expect(picture, p, 0, [&p, limit = limit](int64_t y, int64_t x, int64_t c) { return p.at(y, x, c) > limit ? 255 : 0; });
}

TEST(Filters, integral_sums_rectangles) {
  for (const Picture& p : pictures()) {
    const Tensor sums = integral(p.view());
    const ImageView view(sums);
    for (int64_t c = 0; c < p.channels; ++c) {
      double all = 0;
      for (int64_t y = 0; y < p.height; ++y)
        for (int64_t x = 0; x < p.width; ++x) all += p.at(y, x, c);
      EXPECT_EQ(view.row<int32_t>(p.height)[p.width * p.channels + c], all);
    }
  }
}

TEST(Filters, distances_are_from_the_nearest_zero) {
  Picture p(17, 29, 1);
  for (uint8_t& pixel : p.pixels) pixel = pixel > 8;
  expect(distance_transform(p.view(), Metric::l2, 0), p, 1e-4, [&](int64_t y, int64_t x, int64_t) {
    double best = 1e9;
    for (int64_t v = 0; v < p.height; ++v)
      for (int64_t u = 0; u < p.width; ++u)
        if (p.at(v, u, 0) == 0) best = std::min(best, std::hypot(double(v - y), double(u - x)));
    return best;
  });
}

TEST(Filters, flood_fill_stays_within_borders) {
  Picture p(5, 7, 1);
  for (size_t i = 0; i < p.pixels.size(); ++i) p.pixels[i] = i % 7 == 3 ? 200 : 10;  // a wall in column 3
  const MutableImageView view(DType::u8, 5, 7, 1, p.pixels.data(), 7);
  const auto [area, rectangle] = flood_fill(view, nullptr, {1, 1}, {50});
  EXPECT_EQ(area, 15);
  EXPECT_EQ(rectangle, (Rect{0, 0, 3, 5}));
  EXPECT_EQ(p.pixels[2], 50);
  EXPECT_EQ(p.pixels[4], 10);
}

TEST(Filters, even_pictures_stay_as_they_are) {
  for (const int64_t height : {1, 2, 7, 33})
    for (const int64_t width : {1, 2, 5, 16, 65, 130})
      for (const int64_t channels : {1, 3}) {
        Picture p(height, width, channels);
        std::fill(p.pixels.begin(), p.pixels.end(), uint8_t(77));
        const auto same = [&](int64_t, int64_t, int64_t) { return 77; };
        expect(bilateral_filter(p.view(), 5, 20, 20), p, 0, same);
        expect(stack_blur(p.view(), {7, 5}), p, 1, same);
        expect(gaussian_blur(p.view(), {31, 7}, 2), p, 0, same);
        expect(box_filter(p.view(), DType::f32, {40, 9}), p, 1e-4, same);
        expect(median_blur(p.view(), 31), p, 0, same);
        expect(morphology(p.view(), MorphOp::close, structuring_element(MorphShape::ellipse, {9, 5})), p, 0, same);
        const Tensor edges = canny(p.view(), 10, 20);
        EXPECT_EQ(std::count(edges.data<uint8_t>(), edges.data<uint8_t>() + edges.elements(), 255), 0);
        const auto [sums, squares, tilted] = integral_3(p.view());
        EXPECT_EQ(sums.data<int32_t>()[sums.elements() - 1], 77 * height * width);
        EXPECT_EQ(squares.data<double>()[squares.elements() - 1], 77.0 * 77 * double(height * width));
        EXPECT_EQ(tilted.data<int32_t>()[0], 0);
        std::vector<int32_t> markers(static_cast<size_t>(height * width));
        markers[markers.size() / 2] = 3;
        if (channels == 3) {
          watershed(p.view(), MutableImageView(DType::i32, height, width, 1, markers.data(), width * 4));
          EXPECT_TRUE(std::all_of(markers.begin(), markers.end(), [](int32_t label) { return label == 3 || label == -1; }) || height < 3 ||
                      width < 3);
          continue;
        }
        expect(equalize_hist(p.view()), p, 0, same);
        EXPECT_EQ(clahe(p.view()).elements(), height * width);
        EXPECT_EQ(adaptive_threshold(p.view(), 255, AdaptiveMethod::gaussian, Threshold::binary, 21, -1).data<uint8_t>()[0], 0);
        const auto [distances, labels] = distance_transform_with_labels(p.view(), Metric::l2, 5, LabelType::components);
        EXPECT_EQ(labels.data<int32_t>()[0], 0);
      }
}

TEST(Filters, errors_are_sentences) {
  const Picture p(4, 4, 1);
  EXPECT_THROW(blur(p.view(), {0, 3}), InvalidArgument);
  EXPECT_THROW(blur(p.view(), {3, 3}, {3, 0}), InvalidArgument);
  EXPECT_THROW(blur(p.view(), {1 << 30, 1 << 30}), InvalidArgument);
  EXPECT_THROW(blur(ImageView(), {3, 3}), InvalidArgument);
  EXPECT_THROW(gaussian_blur(p.view(), {4, 4}, 1), InvalidArgument);
  EXPECT_THROW(gaussian_blur(p.view(), {0, 0}, 1e300), InvalidArgument);
  EXPECT_THROW(gaussian_blur(p.view(), {0, 0}, std::nan("")), InvalidArgument);
  EXPECT_THROW(sobel(p.view(), DType::i16, 0, 0), InvalidArgument);
  EXPECT_THROW(sobel(p.view(), DType::i16, 1 << 30, 1 << 30), InvalidArgument);
  EXPECT_THROW(median_blur(p.view(), 4), InvalidArgument);
  EXPECT_THROW(bilateral_filter(p.view(), 1 << 30, 3, 3), InvalidArgument);
  EXPECT_THROW(morphology(p.view(), MorphOp::dilate, ImageView(), {-1, -1}, 1 << 30), InvalidArgument);
  EXPECT_THROW(threshold(p.view(), 0, 1, static_cast<Threshold>(9)), InvalidArgument);
  EXPECT_THROW(adaptive_threshold(p.view(), 255, AdaptiveMethod::mean, Threshold::binary, 4, 0), InvalidArgument);
  EXPECT_THROW(clahe(p.view(), 2, {0, 3}), InvalidArgument);
  EXPECT_THROW(distance_transform(p.view(), Metric::l2, 4), InvalidArgument);
  const ImageView wrong(DType::i64, 1, 1, 1, p.pixels.data(), 8);
  EXPECT_THROW(blur(wrong, {3, 3}), Unsupported);
  EXPECT_THROW(equalize_hist(wrong), Unsupported);
}

}  // namespace
}  // namespace minnow::vision

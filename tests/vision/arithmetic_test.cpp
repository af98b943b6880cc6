// SPDX-License-Identifier: Apache-2.0
// Arithmetic against plain loops in doubles; tests/python/cv_parity/arithmetic.py compares it with OpenCV.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

Tensor noise(DType dtype, Shape shape, unsigned seed) {
  Tensor doubles(DType::f64, shape);
  std::mt19937 random(seed);
  double* values = doubles.writable().data<double>();
  for (int64_t i = 0; i < doubles.elements(); ++i) values[i] = static_cast<double>(random() % 300) - 20;
  return convert_scale(doubles, dtype);
}
std::vector<double> doubles(const Tensor& tensor) {
  const Tensor wide = convert_scale(tensor, DType::f64);
  return {wide.data<double>(), wide.data<double>() + wide.elements()};
}
double bounded(DType dtype, double value) {
  switch (dtype) {
    case DType::u8:
      return std::clamp(std::nearbyint(value), 0.0, 255.0);
    case DType::i16:
      return std::clamp(std::nearbyint(value), -32768.0, 32767.0);
    default:
      return value;
  }
}

TEST(Arithmetic, agrees_with_plain_loops) {
  for (const DType dtype : {DType::u8, DType::i16, DType::f32})
    for (const Shape& shape : {Shape{1, 1}, Shape{7, 13, 3}, Shape{3, 70, 4}}) {
      const Tensor a = noise(dtype, shape, 1), b = noise(dtype, shape, 2);
      const std::vector<double> x = doubles(a), y = doubles(b);
      const auto expect = [&](const Tensor& made, auto value) {
        ASSERT_EQ(made.dtype(), dtype);
        const std::vector<double> found = doubles(made);
        for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(found[i], bounded(dtype, value(x[i], y[i])), dtype == DType::f32 ? 1e-3 : 0) << i;
      };
      expect(add(a, b), [](double p, double q) { return p + q; });
      expect(subtract(a, b), [](double p, double q) { return p - q; });
      expect(absdiff(a, b), [](double p, double q) { return std::abs(p - q); });
      expect(maximum(a, b), [](double p, double q) { return std::max(p, q); });
      expect(multiply(a, b, 0.5), [](double p, double q) { return p * q * 0.5; });
      expect(add(a, 17.0), [](double p, double) { return p + 17; });
      expect(subtract(17.0, a), [](double p, double) { return 17 - p; });
      expect(add_weighted(a, 0.25, b, 0.5, 3), [](double p, double q) { return p * 0.25 + q * 0.5 + 3; });
    }
}

// Rows that lie one behind the other are taken for one; rows of a part of a picture are not.
TEST(Arithmetic, parts_of_a_picture_give_what_whole_pictures_give) {
  for (const Shape& shape : {Shape{1, 1, 3}, Shape{6, 13, 3}, Shape{11, 31, 3}, Shape{64, 70, 3}}) {
    const Tensor a = noise(DType::u8, shape, 1), b = noise(DType::u8, shape, 2);
    const int height = static_cast<int>(shape[0]), width = static_cast<int>(shape[1]);
    const Tensor wide_a = copy_make_border(a, 1, 2, 3, 1, Border::reflect), wide_b = copy_make_border(b, 2, 1, 1, 5, Border::reflect);
    const ImageView part_a = ImageView(wide_a).part({3, 1, width, height}), part_b = ImageView(wide_b).part({1, 2, width, height});
    const auto equal = [](const Tensor& x, const Tensor& y) { EXPECT_EQ(doubles(x), doubles(y)); };
    equal(add(a, b), add(part_a, part_b));
    equal(add(a, b), add(a, part_b));
    equal(add_weighted(a, 0.25, b, 0.5, 3), add_weighted(part_a, 0.25, part_b, 0.5, 3));
    equal(multiply(a, b, 0.5), multiply(part_a, part_b, 0.5));
    equal(bitwise_and(a, b), bitwise_and(part_a, part_b));
    equal(compare(a, b, Compare::less), compare(part_a, part_b, Compare::less));
    equal(in_range(a, Scalar4{3, 20, 9}, Scalar4{90, 200, 100}), in_range(part_a, Scalar4{3, 20, 9}, Scalar4{90, 200, 100}));
    equal(convert_scale_abs(a, 1.5, -9), convert_scale_abs(part_a, 1.5, -9));
    equal(threshold(a, 90, 255, Threshold::binary).second, threshold(part_a, 90, 255, Threshold::binary).second);
    equal(convert_color(a, ColorCode::bgr_to_gray), convert_color(part_a, ColorCode::bgr_to_gray));
    equal(convert_color(a, ColorCode::bgr_to_bgr565), convert_color(part_a, ColorCode::bgr_to_bgr565));
    equal(extract_channel(a, 1), extract_channel(part_a, 1));
    const std::vector<Tensor> planes = split(a), parts = split(part_a);
    for (size_t c = 0; c < 3; ++c) equal(planes[c], parts[c]);
    equal(merge({planes[0], planes[1], planes[2]}), a);
    EXPECT_EQ(mean(a), mean(part_a));
    EXPECT_EQ(norm(a, b), norm(part_a, part_b));
  }
}

TEST(Arithmetic, integers_divided_by_zero_are_zero) {
  const Tensor made = divide(noise(DType::u8, {2, 40}, 3), Tensor(convert_scale(noise(DType::u8, {2, 40}, 4), DType::u8, 0)));
  for (int i = 0; i < 80; ++i) EXPECT_EQ(made.data<uint8_t>()[i], 0);
}

TEST(Arithmetic, masks_keep_the_destination) {
  const Tensor a = noise(DType::u8, {5, 33, 3}, 1), b = noise(DType::u8, {5, 33, 3}, 2),
               mask = compare(noise(DType::u8, {5, 33}, 3), 100.0, Compare::greater);
  Tensor into = noise(DType::u8, {5, 33, 3}, 4);
  const Tensor before = into.clone(), sums = add(a, b);
  EXPECT_FALSE(add(a, b, mask, DType::undefined, MutableImageView(into.writable())));
  for (int i = 0; i < 5 * 33 * 3; ++i)
    EXPECT_EQ(into.data<uint8_t>()[i], (mask.data<uint8_t>()[i / 3] ? sums : before).data<uint8_t>()[i]) << i;
}

TEST(Arithmetic, measures) {
  for (const DType dtype : {DType::u8, DType::i16, DType::f32})
    for (const int channels : {1, 3}) {
      const Tensor image = noise(dtype, channels == 1 ? Shape{9, 131} : Shape{9, 131, 3}, 5);
      const std::vector<double> x = doubles(image);
      double total = 0, squares = 0;
      for (size_t i = 0; i < x.size(); i += static_cast<size_t>(channels)) total += x[i];
      for (const double value : x) squares += value * value;
      EXPECT_NEAR(sum(image)[0], total, 1e-6);
      EXPECT_NEAR(mean(image)[0], total / (9 * 131), 1e-9);
      EXPECT_NEAR(norm(image), std::sqrt(squares), 1e-6);
      if (channels == 1) {
        const Extremes found = min_max(image);
        const auto least = std::min_element(x.begin(), x.end());
        EXPECT_EQ(found.least, *least);
        EXPECT_EQ(found.least_at, (Point{static_cast<int>((least - x.begin()) % 131), static_cast<int>((least - x.begin()) / 131)}));
        EXPECT_EQ(count_nonzero(image), static_cast<int64_t>(x.size()) - std::count(x.begin(), x.end(), 0.0));
      }
    }
}

TEST(Arithmetic, channels_come_apart_and_together) {
  for (const DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64})
    for (const int64_t channels : {2, 3, 4, 5}) {
      const Tensor image = noise(dtype, {6, 71, channels}, 6);
      const std::vector<Tensor> planes = split(image);
      const Tensor back = merge({planes.begin(), planes.end()});
      EXPECT_EQ(doubles(back), doubles(image));
      EXPECT_EQ(doubles(extract_channel(image, 1)), doubles(planes[1]));
    }
}

TEST(Arithmetic, histogram_counts_all_pixels) {
  const Tensor image = noise(DType::u8, {20, 33}, 7);
  const Tensor counts = histogram({image}, {0}, {}, {16}, {0, 256});
  std::array<float, 16> expected{};
  for (int i = 0; i < 660; ++i) ++expected[image.data<uint8_t>()[i] / 16];
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(counts.data<float>()[i], expected[i]);
}

TEST(Arithmetic, refuses_what_does_not_fit) {
  const Tensor a = noise(DType::u8, {3, 4}, 1);
  EXPECT_THROW(add(a, noise(DType::u8, {4, 3}, 1)), Error);
  EXPECT_THROW(add(a, noise(DType::f32, {3, 4}, 1)), Error);
  EXPECT_THROW(add(Tensor(DType::u8, {0, 4}), Tensor(DType::u8, {0, 4})), Error);
  EXPECT_THROW(add(Tensor(DType::i64, {3, 4}), Tensor(DType::i64, {3, 4})), Error);
  EXPECT_THROW(merge({}), Error);
  EXPECT_THROW(extract_channel(a, 1), Error);
  EXPECT_THROW(histogram({a}, {0}, {}, {0}, {0, 256}), Error);
  EXPECT_THROW(histogram({a}, {3}, {}, {16}, {0, 256}), Error);
  EXPECT_THROW(reduce(a, 2, Reduction::sum), Error);
  EXPECT_THROW(lookup(a, noise(DType::u8, {1, 255}, 1)), Error);
}

}  // namespace
}  // namespace minnow::vision

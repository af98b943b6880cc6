// SPDX-License-Identifier: Apache-2.0
// Changes of pictures: those without chance by their formulas, the others by what they keep and how often they happen.
#include <cmath>
#include <map>
#include <set>

#include "data/support.h"

namespace minnow::data {
namespace {

namespace T = transforms;
using test::sentence_of;
using test::values;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// u8: element i is i * step.
Tensor picture(int64_t height, int64_t width, int64_t channels, int step = 1) {
  Tensor made(DType::u8, channels ? Shape{height, width, channels} : Shape{height, width});
  uint8_t* to = made.writable().data<uint8_t>();
  for (int64_t i = 0; i < made.elements(); ++i) to[i] = static_cast<uint8_t>(i * step);
  return made;
}
Tensor floats(const Tensor& from, float divisor) {
  Tensor made(DType::f32, from.shape());
  for (int64_t i = 0; i < from.elements(); ++i) made.writable().data<float>()[i] = static_cast<float>(from.data<uint8_t>()[i]) / divisor;
  return made;
}
std::vector<uint8_t> changed(const Transform& transform, const Tensor& from, uint64_t seed = 1) {
  Random random(seed);
  return values<uint8_t>(transform(from, random));
}

TEST(Transforms, without_chance) {
  Random random(0);
  const Tensor planes = T::to_tensor()(picture(1, 2, 3, 51), random);
  EXPECT_EQ(planes.shape(), (Shape{3, 1, 2}));
  EXPECT_THAT(values<float>(planes), ElementsAre(0, 0.6f, 0.2f, 0.8f, 0.4f, 1));
  EXPECT_EQ(T::to_tensor()(picture(2, 3, 0), random).shape(), (Shape{1, 2, 3}));
  EXPECT_THAT(values<float>(T::normalize({0, 0.2f, 0.4f}, {1, 2, 0.5f})(planes, random)),
              ElementsAre(0, 0.6f, 0, testing::FloatEq(0.3f), 0, testing::FloatEq(1.2f)));
  EXPECT_THAT(changed(T::pad(1, 9), picture(1, 1, 1)), ElementsAre(9, 9, 9, 9, 0, 9, 9, 9, 9));
  EXPECT_THAT(changed(T::center_crop({1, 2}), picture(3, 4, 0)), ElementsAre(5, 6));
  EXPECT_THAT(changed(T::center_crop(3), picture(1, 1, 1, 1)), Each(0));
  EXPECT_EQ(T::resize({2, 5})(picture(3, 4, 3), random).shape(), (Shape{2, 5, 3}));
  EXPECT_EQ(T::resize({2, 5})(picture(3, 4, 1), random).shape(), (Shape{2, 5, 1}));
  EXPECT_EQ(T::resize_shorter(6)(picture(3, 4, 0), random).shape(), (Shape{6, 8}));
  EXPECT_EQ(changed(T::resize({3, 4}), picture(3, 4, 3)), changed(T::compose({}), picture(3, 4, 3)));
  EXPECT_THAT(changed(T::grayscale(3), picture(1, 1, 3, 100)), Each(82));  // 0.299 * 0 + 0.587 * 100 + 0.114 * 200 = 81.5
  EXPECT_THAT(changed(T::grayscale(), picture(1, 2, 1)), ElementsAre(0, 1));
}

TEST(Transforms, flips_are_as_likely_as_asked) {
  const Tensor from = picture(2, 3, 1);
  EXPECT_THAT(changed(T::random_horizontal_flip(1), from), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(changed(T::random_vertical_flip(1), from), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(changed(T::random_vertical_flip(0), from), ElementsAre(0, 1, 2, 3, 4, 5));
  for (const Transform& transform : {T::random_horizontal_flip(0.3), T::random_apply({T::random_vertical_flip(1)}, 0.3)}) {
    int flipped = 0;
    for (uint64_t seed = 0; seed < 2000; ++seed) flipped += changed(transform, from, seed)[0] != 0;
    EXPECT_NEAR(flipped, 600, 5 * std::sqrt(2000 * 0.3 * 0.7));
  }
}

TEST(Transforms, crops_are_parts_at_every_place) {
  const Tensor from = picture(4, 5, 0);
  std::map<int, int> places;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<uint8_t> part = changed(T::random_crop({3, 3}), from, seed);
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x) EXPECT_EQ(part[static_cast<size_t>(3 * y + x)], part[0] + 5 * y + x);
    ++places[part[0]];
  }
  EXPECT_EQ(places.size(), 6u);
  for (const auto& [place, count] : places) EXPECT_NEAR(count, 2000 / 6.0, 5 * std::sqrt(2000 / 6.0));
  EXPECT_THAT(changed(T::random_crop({1, 1}, 0), picture(1, 1, 1)), ElementsAre(0));
  EXPECT_EQ(changed(T::random_crop(8, 3), picture(2, 2, 3)).size(), 8u * 8 * 3);
  EXPECT_THAT(sentence_of([&] {
                changed(T::random_crop({5, 1}), from);
              }),
              HasSubstr("the picture has 4 x 5 pixels; random_crop() takes 5 x 1"));

  // Parts of a ramp keep its slope: pixels rise by 4 a column, times the share of columns that are cut.
  Tensor ramp(DType::f32, {32, 32, 1});
  for (int64_t i = 0; i < 32 * 32; ++i) ramp.writable().data<float>()[i] = static_cast<float>(i % 32) * 4;
  double least = 1, most = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Tensor part = T::random_resized_crop(16, {0.25, 0.5}, {1, 1})(ramp, random);
    EXPECT_EQ(part.shape(), (Shape{16, 16, 1}));
    const double slope = static_cast<double>(part.data<float>()[9] - part.data<float>()[6]) / 3, share = std::pow(slope / 4 / 2, 2);
    least = std::min(least, share);
    most = std::max(most, share);
  }
  EXPECT_NEAR(least, 0.25, 0.02);
  EXPECT_NEAR(most, 0.5, 0.03);
  Random random(1);
  EXPECT_EQ(T::random_resized_crop(7, {1, 1}, {50, 60})(picture(4, 9, 3), random).shape(), (Shape{7, 7, 3}));  // no such part fits
}

TEST(Transforms, affine_maps_turn_and_move) {
  const Tensor from = picture(3, 3, 0, 10);
  const auto turned = [&](double degrees) { return changed(T::random_affine({.degrees = {degrees, degrees}}), from); };
  EXPECT_THAT(turned(0), ElementsAre(0, 10, 20, 30, 40, 50, 60, 70, 80));
  EXPECT_THAT(turned(90), ElementsAre(20, 50, 80, 10, 40, 70, 0, 30, 60));  // counterclockwise
  EXPECT_THAT(turned(180), ElementsAre(80, 70, 60, 50, 40, 30, 20, 10, 0));
  EXPECT_EQ(changed(T::random_affine({.scale = {1e-3, 1e-3}, .fill = 7}), from)[0], 7);
  const Tensor bar = picture(1, 9, 0);
  std::set<uint8_t> firsts;
  for (uint64_t seed = 0; seed < 50; ++seed) firsts.insert(changed(T::random_affine({.translate_x = 0.5}), bar, seed)[8]);
  EXPECT_GT(firsts.size(), 4u);
  std::set<std::vector<uint8_t>> angles;
  for (uint64_t seed = 0; seed < 20; ++seed) angles.insert(changed(T::random_rotation(45), from, seed));
  EXPECT_GT(angles.size(), 10u);
}

TEST(Transforms, colours_change_within_their_range) {
  const Tensor from = picture(2, 2, 3, 20);
  EXPECT_EQ(changed(T::color_jitter(0, 0, 0, 0), from), values<uint8_t>(from));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<uint8_t> bright = changed(T::color_jitter(0.5), from, seed);
    const double factor = bright[11] / 220.0;
    EXPECT_TRUE(factor > 0.49 && factor < 1.17) << factor;  // 255 is the most
    if (bright[11] < 255) {
      for (size_t i = 0; i < bright.size(); ++i) EXPECT_NEAR(bright[i], 20.0 * static_cast<double>(i) * factor, 1.5);
    }
    // Contrast keeps the mean of the gray picture where nothing leaves the range.
    const auto gray_mean = [](const Tensor& of) {
      double mean = 0;
      for (int64_t i = 0; i < of.elements(); ++i)
        mean += static_cast<double>(of.data<float>()[i]) * (i % 3 == 0 ? 0.299 : i % 3 == 1 ? 0.587 : 0.114) / 4;
      return mean;
    };
    Random contrasts(seed);
    const Tensor middle = floats(picture(2, 2, 3, 3), 100), flat = T::color_jitter(0, 0.3)(middle, contrasts);  // 0 to 0.33
    if (flat.data<float>()[0] > 0) {
      EXPECT_NEAR(gray_mean(flat), gray_mean(middle), 1e-6);
    }
    Random random(seed);
    const Tensor turned = T::color_jitter(0, 0, 0, 0.5)(floats(from, 255), random);
    for (int64_t i = 0; i < 4; ++i) {  // value and chroma stay: the largest and the least of the three
      const float* p = turned.data<float>() + 3 * i;
      EXPECT_NEAR(std::max({p[0], p[1], p[2]}), 20.0 * static_cast<double>(3 * i + 2) / 255, 1e-5);
      EXPECT_NEAR(std::min({p[0], p[1], p[2]}), 20.0 * static_cast<double>(3 * i) / 255, 1e-5);
    }
  }
  int gray = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) gray += changed(T::random_grayscale(0.2), from, seed) != values<uint8_t>(from);
  EXPECT_NEAR(gray, 400, 5 * std::sqrt(2000 * 0.16));
  EXPECT_THAT(changed(T::gaussian_blur(3), picture(5, 5, 3, 0)), Each(0));
  EXPECT_NE(changed(T::gaussian_blur(3, {1, 1}), picture(5, 5, 1, 11)), values<uint8_t>(picture(5, 5, 1, 11)));
}

TEST(Transforms, erased_rectangles) {
  Tensor planes(DType::f32, {2, 10, 12});
  int erased = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const Tensor made = T::random_erasing(0.5, {0.1, 0.2}, {0.5, 2}, 3)(planes, random);
    int64_t first = -1, last = -1, count = 0;
    for (int64_t i = 0; i < 120; ++i)
      if (made.data<float>()[i] == 3) {
        if (first < 0) first = i;
        last = i;
        ++count;
        EXPECT_EQ(made.data<float>()[120 + i], 3);
      }
    if (!count) continue;
    ++erased;
    EXPECT_EQ(count, (last / 12 - first / 12 + 1) * (last % 12 - first % 12 + 1));
    EXPECT_TRUE(count >= 8 && count <= 30) << count;
  }
  EXPECT_NEAR(erased, 200, 50);
}

TEST(Transforms, mixed_batches_keep_their_sums) {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 4; ++i) {
    Tensor plane(DType::f32, {1, 6, 6});
    std::fill_n(plane.writable().data<float>(), 36, static_cast<float>(i));
    samples.push_back({plane, Tensor::scalar_i64(i)});
  }
  for (const bool cut : {false, true})
    for (const double alpha : {0.4, 1.0, 20.0}) {
      const auto mix = cut ? T::cutmix(4, alpha) : T::mixup(4, alpha);
      for (uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        const Sample batch = mix(samples, random);
        EXPECT_EQ(batch[1].shape(), (Shape{4, 4}));
        for (int64_t i = 0; i < 4; ++i) {  // the mean of a picture is the mean of its classes
          double mean = 0, classes = 0, sum = 0;
          for (int64_t j = 0; j < 36; ++j) mean += static_cast<double>(batch[0].data<float>()[36 * i + j]) / 36;
          for (int64_t j = 0; j < 4; ++j) {
            classes += static_cast<double>(j) * static_cast<double>(batch[1].data<float>()[4 * i + j]);
            sum += static_cast<double>(batch[1].data<float>()[4 * i + j]);
          }
          EXPECT_NEAR(mean, classes, 1e-5);
          EXPECT_NEAR(sum, 1, 1e-6);
        }
      }
    }
  Random random(0);
  EXPECT_THAT(sentence_of([&] { T::mixup(3)(samples, random); }), HasSubstr("the label 3 is none of the 3 classes"));
  EXPECT_THAT(sentence_of([] { T::mixup(0); }), HasSubstr("above 0, not 0 and 1"));
}

TEST(Transforms, wrong_settings_are_sentences) {
  EXPECT_THAT(sentence_of([] { T::random_horizontal_flip(1.5); }), HasSubstr("p is a number from 0 to 1, not 1.5"));
  EXPECT_THAT(sentence_of([] { T::resize(0); }), HasSubstr("not 0 x 0"));
  EXPECT_THAT(sentence_of([] { T::normalize({1}, {0}); }), HasSubstr("std is not 0"));
  EXPECT_THAT(sentence_of([] { T::random_resized_crop(3, {0.5, 0.2}); }), HasSubstr("scale is a rising range"));
  EXPECT_THAT(sentence_of([] { T::grayscale(2); }), HasSubstr("1 or 3 channels"));
  EXPECT_THAT(sentence_of([] { T::color_jitter(0, 0, 0, 0.6); }), HasSubstr("hue is a number from 0 to 0.5"));
  EXPECT_THAT(sentence_of([] { T::gaussian_blur(4); }), HasSubstr("odd number"));
  EXPECT_THAT(sentence_of([] { T::pad(-1); }), HasSubstr("not -1"));
  EXPECT_THAT(sentence_of([] { T::random_affine({.shear = {0, 100}}); }), HasSubstr("shear"));
  EXPECT_THAT(sentence_of([] { T::compose({nullptr}); }), HasSubstr("takes functions"));
  Random random(0);
  EXPECT_THAT(sentence_of([&] { T::to_tensor()(Tensor(DType::i64, {2, 2}), random); }), HasSubstr("a picture is u8 or f32"));
  EXPECT_THAT(sentence_of([&] {
                T::normalize({1, 2}, {1, 1})(Tensor(DType::f32, {3, 1, 1}), random);
              }),
              HasSubstr("numbers for 2 channels, the picture has 3"));
  EXPECT_THAT(sentence_of([&] { T::random_erasing()(picture(2, 2, 3), random); }), HasSubstr("what to_tensor() gives"));
}

}  // namespace
}  // namespace minnow::data

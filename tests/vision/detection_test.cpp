// SPDX-License-Identifier: Apache-2.0
// Helpers of detectors against what their definitions say. tests/python/cv_parity/detection.py compares those that OpenCV has.
#include <gtest/gtest.h>
#include <minnow/vision.h>

#include <cmath>
#include <map>
#include <random>

#include "base/error.h"

namespace minnow::vision {
namespace {

Tensor numbers(const std::vector<float>& values, const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  std::copy(values.begin(), values.end(), tensor.writable().data<float>());
  return tensor;
}

TEST(Detection, a_letterbox_leads_back_to_the_source) {
  Tensor picture(DType::u8, Shape{30, 60, 3});
  std::fill_n(picture.writable().data<uint8_t>(), 30 * 60 * 3, uint8_t{200});
  const auto [boxed, where] = letterbox(picture, {40, 40});
  ASSERT_EQ(boxed.shape(), (Shape{40, 40, 3}));
  EXPECT_EQ(where.left, 0);
  EXPECT_EQ(where.top, 10);
  EXPECT_EQ(boxed.data<uint8_t>()[0], 114);
  EXPECT_EQ(boxed.data<uint8_t>()[(20 * 40 + 20) * 3], 200);
  const Tensor boxes = out_of_letterbox(numbers({0, 10, 40, 30, -5, 0, 20, 20}, Shape{2, 4}), where);
  const float expected[] = {0, 0, 60, 30, 0, 0, 30, 15};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(boxes.data<float>()[i], expected[i], 1e-4);
  const Tensor keypoints = out_of_letterbox(numbers({20, 20, 0.25f, 40, 10, 700}, Shape{1, 2, 3}), where);
  const float moved[] = {30, 15, 0.25f, 60, 0, 700};  // scores stay
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(keypoints.data<float>()[i], moved[i], 1e-4);
  // A mask of a quarter of the resolution: its middle rows are the picture, of which the left half is set.
  Tensor mask(DType::f32, Shape{1, 10, 10});
  for (int i = 0; i < 100; ++i) mask.writable().data<float>()[i] = i % 10 < 5 ? 1.0f : 0.0f;
  const Tensor whole = scale_masks(mask, where);
  ASSERT_EQ(whole.shape(), (Shape{1, 30, 60}));
  for (int i = 0; i < 30 * 60; ++i) ASSERT_EQ(whole.data<uint8_t>()[i], i % 60 < 30) << i;
}

TEST(Detection, boxes_that_overlap_a_better_one_go_apart_for_each_class) {
  const Tensor boxes = numbers({0, 0, 10, 10, 1, 1, 11, 11, 50, 50, 60, 60, 0, 0, 10, 9}, Shape{4, 4});
  const Tensor scores = numbers({0.5f, 0.9f, 0.3f, 0.8f}, Shape{4});
  EXPECT_EQ(nms(boxes, scores, 0.5f), (std::vector<int>{1, 2}));
  EXPECT_EQ(nms(boxes, scores, 0.5f, 0.4f), (std::vector<int>{1}));
  EXPECT_EQ(nms(boxes, scores, 0.5f, 0, numbers({0, 0, 0, 1}, Shape{4})), (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(nms(boxes, scores, 0.99f, 0, {}, 2), (std::vector<int>{1, 3}));
  EXPECT_THROW(nms(boxes, numbers({1}, Shape{1})), InvalidArgument);
}

TEST(Detection, heads_of_networks_become_boxes) {
  const Tensor ssd = decode_ssd(numbers({1, -1, 0, std::log(2.0f) / 0.2f}, Shape{1, 4}), numbers({0.5f, 0.5f, 0.2f, 0.4f}, Shape{1, 4}));
  const float corners[] = {0.42f, 0.06f, 0.62f, 0.86f};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(ssd.data<float>()[i], corners[i], 1e-5);

  const auto [points, strides] = grid_points({16, 8}, {8});
  ASSERT_EQ(points.shape(), (Shape{2, 2}));
  EXPECT_EQ(points.data<float>()[2], 12);
  std::vector<float> weights(2 * 4 * 3, -50);
  for (size_t side = 0; side < 8; ++side) weights[side * 3 + 1 + side % 2] = 50;  // distances 1, 2, 1, 2
  const Tensor dfl = decode_dfl(numbers(weights, Shape{2, 12}), points, strides);
  const float expected[] = {4 - 8, 4 - 16, 4 + 8, 4 + 16, 12 - 8, 4 - 16, 12 + 8, 4 + 16};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(dfl.data<float>()[i], expected[i], 1e-4);

  const auto [boxes, scores] = decode_yolo(numbers(std::vector<float>(6 * 2, 0), Shape{6, 1, 2}), {10, 20}, 8, 3);
  const float second[] = {12 - 5, 4 - 10, 12 + 5, 4 + 10};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(boxes.data<float>()[4 + i], second[i], 1e-5);
  EXPECT_NEAR(scores.data<float>()[1], 0.25, 1e-6);
}

TEST(Detection, beams_find_the_sequences_of_all_ways) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> p(5 * 3);
    for (float& value : p) value = static_cast<float>(random() % 100 + 1) / 100;
    std::map<std::vector<int>, double> all;
    for (int way = 0; way < 243; ++way) {
      double probability = 1;
      std::vector<int> labels;
      int before = 0;
      for (int step = 0, rest = way; step < 5; ++step, rest /= 3) {
        const int label = rest % 3;
        probability *= p[static_cast<size_t>(step * 3 + label)];
        if (label != 0 && label != before) labels.push_back(label);
        before = label;
      }
      all[labels] += probability;
    }
    const auto found = ctc_beam(numbers(p, Shape{5, 3}), 1000);
    ASSERT_EQ(found.size(), all.size());
    for (const auto& [labels, logarithm] : found) EXPECT_NEAR(std::exp(logarithm), all[labels], 1e-9 + 1e-6 * all[labels]);
    EXPECT_LE(ctc_beam(numbers(p, Shape{5, 3}), 2).size(), 2u);
  }
  EXPECT_EQ(ctc_greedy(numbers({0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, Shape{5, 3})), (std::vector<int>{1, 1, 2}));
}

TEST(Detection, text_boxes_grow_around_areas_of_the_map) {
  Tensor map(DType::f32, Shape{60, 80});
  std::fill_n(map.writable().data<float>(), 60 * 80, 0.1f);
  for (int y = 20; y <= 30; ++y)
    for (int x = 10; x <= 50; ++x) map.writable().data<float>()[y * 80 + x] = 0.9f;
  const auto [boxes, scores] = db_boxes(map);
  ASSERT_EQ(boxes.shape(), (Shape{1, 4, 2}));
  EXPECT_NEAR(scores.data<float>()[0], 0.9, 1e-3);
  const double grows = 40.0 * 10 * 1.5 / 100;
  float left = 1e9f, bottom = 0;
  for (int i = 0; i < 4; ++i) left = std::min(left, boxes.data<float>()[2 * i]), bottom = std::max(bottom, boxes.data<float>()[2 * i + 1]);
  EXPECT_NEAR(left, 10 - grows, 1e-3);
  EXPECT_NEAR(bottom, 30 + grows, 1e-3);
  EXPECT_EQ(db_boxes(map, 0.3, 0.95).second.elements(), 0);
}

}  // namespace
}  // namespace minnow::vision

// SPDX-License-Identifier: Apache-2.0
// Data sets, parts of them, batches, random numbers.
#include <set>

#include "data/support.h"

namespace minnow::data {
namespace {

using test::scalar;
using test::sentence_of;
using test::values;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Random, is_a_function_of_its_numbers_and_fills_its_range) {
  Random a(7, 1, 2), b(7, 1, 2), seed(8, 1, 2), pass(7, 2, 2), number(7, 1, 3);
  const uint32_t first = a.bits();
  EXPECT_EQ(first, b.bits());
  EXPECT_EQ((std::set<uint32_t>{first, seed.bits(), pass.bits(), number.bits()}.size()), 4u);
  Random random(3);
  constexpr int kDraws = 40000;
  double sum = 0, squares = 0, uniform = 0;
  std::vector<int> counts(5);
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal(), u = random.uniform(2, 6);
    EXPECT_TRUE(u >= 2 && u < 6);
    sum += x;
    squares += x * x;
    uniform += u;
    ++counts[static_cast<size_t>(random.below(5))];
  }
  // Five deviations of each mean.
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(uniform / kDraws, 4, 5 * 4 / std::sqrt(12.0 * kDraws));
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 5, 5 * std::sqrt(kDraws * 0.16));
  EXPECT_EQ(random.below(1), 0);
}

TEST(Dataset, rows_of_tensors) {
  const DatasetPtr pairs = tensors(
      {Tensor::of_f32({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}), Tensor::of_i64({3}, std::vector<int64_t>{7, 8, 9})}, {"a", "b"});
  Random random(0);
  EXPECT_EQ(pairs->size(), 3);
  const Sample sample = pairs->get(1, random);
  EXPECT_THAT(values<float>(sample[0]), ElementsAre(3, 4));
  EXPECT_EQ(scalar<int64_t>(sample[1]), 8);
  EXPECT_THAT(pairs->classes(), ElementsAre("a", "b"));
  EXPECT_EQ(sentence_of([&] { pairs->get(3, random); }), "there is no sample 3; the data set has 3");
  EXPECT_EQ(sentence_of([&] { pairs->get(-1, random); }), "there is no sample -1; the data set has 3");
  EXPECT_THAT(sentence_of([] { tensors({}); }), HasSubstr("one tensor or more"));
  EXPECT_THAT(sentence_of([] {
                tensors({Tensor(DType::f32, {2}), Tensor(DType::f32, {3})});
              }),
              HasSubstr("tensor 0 has the shape [2], tensor 1 [3]"));
  EXPECT_THAT(sentence_of([] { tensors({Tensor::scalar_f32(1)}); }), HasSubstr("a row for each sample"));
  EXPECT_EQ(tensors({Tensor(DType::f32, {0, 3})})->size(), 0);
}

TEST(Dataset, parts_and_sums) {
  Random random(0);
  const DatasetPtr part = subset(test::numbers(10), {4, 4, 9});
  EXPECT_EQ(part->size(), 3);
  EXPECT_EQ(scalar<int64_t>(part->get(2, random)[0]), 9);
  EXPECT_THAT(sentence_of([] { subset(test::numbers(2), {2}); }), HasSubstr("there is no sample 2"));
  const DatasetPtr joined = concat({test::numbers(2), tensors({Tensor(DType::i64, {0})}), part});
  EXPECT_EQ(joined->size(), 5);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 5; ++i) all.push_back(scalar<int64_t>(joined->get(i, random)[0]));
  EXPECT_THAT(all, ElementsAre(0, 1, 4, 4, 9));
  EXPECT_THAT(sentence_of([&] { joined->get(5, random); }), HasSubstr("the data set has 5"));
  EXPECT_THAT(sentence_of([] { concat({}); }), HasSubstr("one data set or more"));
  EXPECT_THAT(sentence_of([] { concat({nullptr}); }), HasSubstr("null"));

  std::multiset<int64_t> found;
  std::vector<int64_t> sizes;
  const std::vector<double> shares{0.5, 0.25, 0.25};
  for (const DatasetPtr& each : random_split(test::numbers(11), shares, 3)) {
    sizes.push_back(each->size());
    for (int64_t i = 0; i < each->size(); ++i) found.insert(scalar<int64_t>(each->get(i, random)[0]));
  }
  EXPECT_THAT(sizes, ElementsAre(6, 3, 2));
  EXPECT_THAT(found, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(sentence_of([] { random_split(test::numbers(4), std::vector<double>{0.5, 0.6}, 1); }), HasSubstr("add up to 1.1"));
  EXPECT_THAT(sentence_of([] {
                random_split(test::numbers(4), std::vector<double>{-1, 2}, 1);
              }),
              HasSubstr("a share of the samples is -1"));
}

TEST(Dataset, functions_change_samples) {
  Random random(0);
  const DatasetPtr doubled = mapped(test::numbers(3), [](Sample sample, Random&) -> Sample {
    return {sample[0], Tensor::scalar_i64(2 * sample[0].data<int64_t>()[0])};
  });
  EXPECT_EQ(scalar<int64_t>(doubled->get(2, random)[1]), 4);
  const DatasetPtr noisy =
      transformed(doubled, [](const Tensor&, Random& r) { return Tensor::scalar_f32(static_cast<float>(r.uniform())); });
  Random a(1), b(1), c(2);
  const float once = scalar<float>(noisy->get(0, a)[0]);
  EXPECT_EQ(once, scalar<float>(noisy->get(0, b)[0]));
  EXPECT_NE(once, scalar<float>(noisy->get(0, c)[0]));
  EXPECT_THAT(sentence_of([] { mapped(nullptr, nullptr); }), HasSubstr("null"));
  EXPECT_THAT(sentence_of([] { transformed(test::numbers(1), nullptr); }), HasSubstr("takes a function"));
}

TEST(Dataset, batches_have_an_axis_in_front) {
  const std::vector<Sample> samples{{Tensor::of_f32({2}, std::vector<float>{1, 2}), Tensor::scalar_i64(5)},
                                    {Tensor::of_f32({2}, std::vector<float>{3, 4}), Tensor::scalar_i64(6)}};
  const Sample batch = collate(samples);
  EXPECT_EQ(batch[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(values<float>(batch[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(batch[1].shape(), Shape{2});
  EXPECT_THAT(values<int64_t>(batch[1]), ElementsAre(5, 6));
  EXPECT_EQ(collate(std::vector<Sample>{{Tensor(DType::u8, {0})}})[0].shape(), (Shape{1, 0}));
  EXPECT_THAT(sentence_of([] { collate({}); }), HasSubstr("one sample or more"));
  EXPECT_THAT(sentence_of([] {
                collate(std::vector<Sample>{{Tensor(DType::f32, {2})}, {Tensor(DType::f32, {3})}});
              }),
              HasSubstr("samples 0 and 1 of a batch are f32 [2] and f32 [3]"));
  EXPECT_THAT(sentence_of([] { collate(std::vector<Sample>{{Tensor(DType::f32, {2})}, {}}); }), HasSubstr("1 and 0 tensors"));
}

}  // namespace
}  // namespace minnow::data

// SPDX-License-Identifier: Apache-2.0
// Loaders: the same batches with any number of threads, resumed at any place, and after errors.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "data/support.h"

namespace minnow::data {
namespace {

using test::numbers;
using test::scalar;
using test::sentence_of;
using test::values;
using testing::ElementsAre;
using testing::HasSubstr;

using Batches = std::vector<std::vector<int64_t>>;

Batches pass_of(DataLoader& loader) {
  Batches batches;
  for (const Sample& batch : loader) batches.push_back(values<int64_t>(batch[0]));
  return batches;
}

TEST(DataLoader, gives_batches_in_order) {
  DataLoader whole(numbers(5), {.batch_size = 2});
  EXPECT_EQ(whole.size(), 3);
  EXPECT_THAT(pass_of(whole), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_THAT(pass_of(whole), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  DataLoader dropping(numbers(5), {.batch_size = 2, .drop_last = true});
  EXPECT_EQ(dropping.size(), 2);
  EXPECT_THAT(pass_of(dropping), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  DataLoader empty(numbers(0), {.batch_size = 2, .shuffle = true, .workers = 1});
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(pass_of(empty).empty());
  EXPECT_FALSE(empty.next());
}

TEST(DataLoader, shuffles_each_pass_anew_and_repeats_by_its_seed) {
  DataLoader a(numbers(50), {.batch_size = 7, .shuffle = true, .seed = 3}), b(numbers(50), {.batch_size = 7, .shuffle = true, .seed = 3}),
      c(numbers(50), {.batch_size = 7, .shuffle = true, .seed = 4});
  const Batches first = pass_of(a), second = pass_of(a);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, pass_of(b));
  EXPECT_EQ(second, pass_of(b));
  EXPECT_NE(first, pass_of(c));
  for (const Batches& pass : {first, second}) {
    std::set<int64_t> all;
    for (const auto& batch : pass) all.insert(batch.begin(), batch.end());
    EXPECT_EQ(all.size(), 50u);
  }
}

// Samples that draw numbers, with batches that do.
DataLoader drawing(int workers, int prefetch = 2) {
  const DatasetPtr noisy = transformed(numbers(23), [](const Tensor& x, Random& random) {
    if (x.data<int64_t>()[0] % 5 == 0) std::this_thread::yield();
    return Tensor::scalar_i64(x.data<int64_t>()[0] * 1000 + random.below(1000));
  });
  return DataLoader(noisy, {.batch_size = 4,
                            .shuffle = true,
                            .workers = workers,
                            .prefetch = prefetch,
                            .seed = 9,
                            .collate = [](std::span<const Sample> samples, Random& random) {
                              Sample batch = collate(samples);
                              batch[0].writable().data<int64_t>()[0] += 1000000 * random.below(1000);
                              return batch;
                            }});
}

TEST(DataLoader, workers_change_nothing) {
  DataLoader alone = drawing(0);
  const Batches first = pass_of(alone), second = pass_of(alone);
  for (const int workers : {1, 2, 5})
    for (const int prefetch : {1, 3}) {
      DataLoader many = drawing(workers, prefetch);
      EXPECT_EQ(pass_of(many), first) << workers;
      EXPECT_EQ(pass_of(many), second) << workers;
    }
}

TEST(DataLoader, goes_on_from_a_state_with_any_number_of_workers) {
  DataLoader whole = drawing(0);
  const Batches first = pass_of(whole), second = pass_of(whole);
  for (size_t given = 0; given <= first.size(); ++given) {
    DataLoader stopped = drawing(3);
    for (size_t i = 0; i < given; ++i) stopped.next();
    const Tensor state = stopped.state();
    DataLoader resumed = drawing(given % 2 ? 2 : 0);
    resumed.next();  // a pass under way is left
    resumed.set_state(state);
    EXPECT_EQ(pass_of(resumed), Batches(first.begin() + static_cast<std::ptrdiff_t>(given), first.end()));
    EXPECT_EQ(pass_of(resumed), second);
  }
}

TEST(DataLoader, refuses_the_state_of_another) {
  DataLoader loader(numbers(10), {.batch_size = 4});
  EXPECT_EQ(sentence_of([&] { loader.set_state(DataLoader(numbers(11), {.batch_size = 3}).state()); }),
            "the state is that of a loader of 11 samples in 4 batches of 3, this one has 10 in 3 of 4");
  EXPECT_THAT(sentence_of([&] { loader.set_state(DataLoader(numbers(10), {.batch_size = 4, .drop_last = true}).state()); }),
              HasSubstr("2 batches"));
  EXPECT_THAT(sentence_of([&] { loader.set_state(Tensor(DType::f32, {5})); }), HasSubstr("i64 [5], not f32 [5]"));
  EXPECT_THAT(sentence_of([&] {
                loader.set_state(Tensor::of_i64({5}, std::vector<int64_t>{0, 4, 10, 4, 3}));
              }),
              HasSubstr("at batch 4 of pass 0"));
  EXPECT_THAT(values<int64_t>((*loader.next())[0]), ElementsAre(0, 1, 2, 3));
}

TEST(DataLoader, a_pass_may_be_left) {
  DataLoader loader(numbers(6), {.batch_size = 2, .shuffle = true, .workers = 2, .seed = 1}),
      other(numbers(6), {.batch_size = 2, .shuffle = true, .seed = 1});
  loader.end_pass();  // nothing was begun
  for (const Sample& batch : loader) {
    EXPECT_EQ(batch[0].shape(), Shape{2});
    break;
  }
  loader.end_pass();
  pass_of(other);
  EXPECT_EQ(pass_of(loader), pass_of(other));
}

TEST(DataLoader, errors_lose_nothing) {
  for (const int workers : {0, 2}) {
    auto broken = std::make_shared<std::atomic<bool>>(true);
    DataLoader loader(mapped(numbers(9),
                             [broken](Sample sample, Random&) {
                               if (*broken && sample[0].data<int64_t>()[0] == 4) throw std::runtime_error("picture 4 is damaged");
                               return sample;
                             }),
                      {.batch_size = 2, .workers = workers});
    loader.next();
    loader.next();
    for (int i = 0; i < 2; ++i) EXPECT_THROW(loader.next(), std::runtime_error);
    *broken = false;
    EXPECT_THAT(pass_of(loader), ElementsAre(ElementsAre(4, 5), ElementsAre(6, 7), ElementsAre(8)));
  }
}

TEST(DataLoader, threads_run_beside_each_other_and_end) {
  std::atomic<int> inside{0}, most{0};
  {
    DataLoader loader(mapped(numbers(40),
                             [&](Sample sample, Random&) {
                               const int now = ++inside;
                               for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
                               std::this_thread::sleep_for(std::chrono::milliseconds(2));
                               --inside;
                               return sample;
                             }),
                      {.workers = 4});
    for (int i = 0; i < 10; ++i) loader.next();
  }  // with batches under way
  EXPECT_EQ(inside, 0);
  EXPECT_GT(most, 1);
}

TEST(DataLoader, moves) {
  DataLoader a(numbers(6), {.batch_size = 2, .workers = 2});
  a.next();
  DataLoader b = std::move(a);
  EXPECT_THAT(values<int64_t>((*b.next())[0]), ElementsAre(2, 3));
}

TEST(DataLoader, wrong_settings_are_sentences) {
  EXPECT_THAT(sentence_of([] { DataLoader(nullptr); }), HasSubstr("takes a data set"));
  EXPECT_THAT(sentence_of([] { DataLoader(numbers(1), {.batch_size = 0}); }), HasSubstr("batch_size is a number from 1, not 0"));
  EXPECT_THAT(sentence_of([] { DataLoader(numbers(1), {.workers = -1}); }), HasSubstr("not -1 and 2"));
  EXPECT_THAT(sentence_of([] { DataLoader(numbers(1), {.shuffle = true, .sampler = in_order(1)}); }), HasSubstr("exclude each other"));
  DataLoader beyond(numbers(2), {.sampler = in_order(3)});
  beyond.next();
  beyond.next();
  EXPECT_EQ(sentence_of([&] { beyond.next(); }), "there is no sample 2; the data set has 2");
}

TEST(Sampler, weights_decide_how_often_a_sample_comes) {
  const SamplerPtr often = weighted({1, 0, 3}, 8000, 5);
  std::map<int64_t, int> counts;
  for (const int64_t i : often->order(0)) ++counts[i];
  EXPECT_EQ(counts.count(1), 0u);
  EXPECT_NEAR(counts[2], 6000, 5 * std::sqrt(8000 * 0.75 * 0.25));
  EXPECT_EQ(often->order(1), often->order(1));
  EXPECT_NE(often->order(1), often->order(2));
  const SamplerPtr once = weighted({5, 0, 1, 1}, 3, 2, false);
  int first = 0;
  for (uint32_t pass = 0; pass < 2000; ++pass) {
    const std::vector<int64_t> order = once->order(pass);
    EXPECT_THAT(order, testing::UnorderedElementsAre(0, 2, 3));
    first += order[0] == 0;
  }
  EXPECT_NEAR(first, 2000 * 5 / 7.0, 5 * std::sqrt(2000 * 5 / 7.0 * 2 / 7.0));  // the first draw is in proportion to the weights
  EXPECT_THAT(sentence_of([] { weighted({0, 0}, 1, 0); }), HasSubstr("none of 2 weights"));
  EXPECT_THAT(sentence_of([] { weighted({1, -1}, 1, 0); }), HasSubstr("a weight is -1"));
  EXPECT_THAT(sentence_of([] { weighted({1, 0}, 2, 0, false); }), HasSubstr("2 samples are to be drawn; 1 have a weight above 0"));
  EXPECT_THAT(sentence_of([] { in_order(-1); }), HasSubstr("not of -1"));
}

}  // namespace
}  // namespace minnow::data

// SPDX-License-Identifier: Apache-2.0
#include <minnow/data.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/no_memory.h"
#include "data/streams.h"

namespace minnow::data {
namespace {

class InOrder : public Sampler {
 public:
  explicit InOrder(int64_t samples) : samples_(samples) {}
  int64_t size() const override { return samples_; }
  std::vector<int64_t> order(uint32_t) const override {
    std::vector<int64_t> order(static_cast<size_t>(samples_));
    std::iota(order.begin(), order.end(), int64_t{0});
    return order;
  }

 private:
  int64_t samples_;
};

class Shuffled : public Sampler {
 public:
  Shuffled(int64_t samples, uint64_t seed) : samples_(samples), seed_(seed) {}
  int64_t size() const override { return samples_; }
  std::vector<int64_t> order(uint32_t pass) const override { return permutation(samples_, Random(seed_, pass, kOrder)); }

 private:
  int64_t samples_;
  uint64_t seed_;
};

class Weighted : public Sampler {
 public:
  Weighted(std::vector<double> weights, int64_t count, uint64_t seed, bool replacement)
      : weights_(std::move(weights)), count_(count), seed_(seed), replacement_(replacement) {}
  int64_t size() const override { return count_; }
  std::vector<int64_t> order(uint32_t pass) const override {
    Random random(seed_, pass, kOrder);
    std::vector<int64_t> order;
    if (replacement_) {
      std::vector<double> ends(weights_.size());
      std::partial_sum(weights_.begin(), weights_.end(), ends.begin());
      for (int64_t i = 0; i < count_; ++i)  // the first end above the drawn number: never a sample of weight 0
        order.push_back(std::upper_bound(ends.begin(), ends.end(), random.uniform(0, ends.back())) - ends.begin());
      return order;
    }
    // The largest keys log(u) / w: Efraimidis, Spirakis 2006, "Weighted random sampling with a reservoir".
    std::vector<std::pair<double, int64_t>> keys;
    for (size_t i = 0; i < weights_.size(); ++i)
      if (weights_[i] > 0) keys.emplace_back(std::log(1 - random.uniform()) / weights_[i], static_cast<int64_t>(i));
    std::partial_sort(keys.begin(), keys.begin() + count_, keys.end(), std::greater<>());
    for (int64_t i = 0; i < count_; ++i) order.push_back(keys[static_cast<size_t>(i)].second);
    return order;
  }

 private:
  std::vector<double> weights_;
  int64_t count_;
  uint64_t seed_;
  bool replacement_;
};

void check_count(int64_t samples) {
  if (samples < 0) throw InvalidArgument("an order is of 0 samples or more, not of {}", samples);
}

}  // namespace

SamplerPtr in_order(int64_t samples) try {
  check_count(samples);
  return std::make_shared<InOrder>(samples);
} catch (...) {
  throw_as_error();
}

SamplerPtr shuffled(int64_t samples, uint64_t seed) try {
  check_count(samples);
  return std::make_shared<Shuffled>(samples, seed);
} catch (...) {
  throw_as_error();
}

SamplerPtr weighted(std::vector<double> weights, int64_t count, uint64_t seed, bool replacement) try {
  int64_t positive = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) throw InvalidArgument("a weight is {}; weights are finite numbers from 0", weight);
    positive += weight > 0;
  }
  if (!positive) throw InvalidArgument("none of {} weights is above 0", weights.size());
  if (count < 1 || (!replacement && count > positive))
    throw InvalidArgument("{} samples are to be drawn; {} have a weight above 0", count, positive);
  return std::make_shared<Weighted>(std::move(weights), count, seed, replacement);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data

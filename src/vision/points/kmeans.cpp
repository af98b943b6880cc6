// SPDX-License-Identifier: Apache-2.0
#include <cfloat>

#include "base/no_memory.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

float squared_distance(const float* a, const float* b, size_t size) {
  float sum = 0;
  size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    const float d0 = a[i] - b[i], d1 = a[i + 1] - b[i + 1], d2 = a[i + 2] - b[i + 2], d3 = a[i + 3] - b[i + 3];
    sum += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3;
  }
  for (; i < size; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

class Clusters {
 public:
  Clusters(const float* data, size_t count, size_t size, size_t clusters)
      : data_(data), count_(count), size_(size), k_(clusters), centers_(clusters * size), labels_(count) {}

  const float* sample(size_t i) const { return data_ + i * size_; }
  float* center(size_t k) { return centers_.data() + k * size_; }

  /// Each new center is the best of three samples that were drawn by their distance from the centers before.
  void draw_spread(Random& random) {
    std::vector<size_t> chosen{random.next() % count_};
    std::vector<float> distance(count_), best(count_), trial(count_);
    double sum = 0;
    for (size_t i = 0; i < count_; ++i) sum += distance[i] = squared_distance(sample(i), sample(chosen[0]), size_);
    for (size_t k = 1; k < k_; ++k) {
      double least = DBL_MAX;
      size_t found = count_;
      for (int attempt = 0; attempt < 3; ++attempt) {
        double left = random.uniform(0., 1.) * sum;
        size_t i = 0;
        for (; i + 1 < count_; ++i) {
          left -= distance[i];
          if (left <= 0) break;
        }
        double total = 0;
        for (size_t j = 0; j < count_; ++j) total += trial[j] = std::min(squared_distance(sample(j), sample(i), size_), distance[j]);
        if (total < least) {
          least = total;
          found = i;
          best.swap(trial);
        }
      }
      if (found == count_) throw InvalidArgument("kmeans: distances are too large, or NaN");
      chosen.push_back(found);
      sum = least;
      distance.swap(best);
    }
    for (size_t k = 0; k < k_; ++k) std::copy_n(sample(chosen[k]), size_, center(k));
  }

  /// Anywhere in the box around the samples, and a little beyond.
  void draw_in_box(Random& random) {
    std::vector<float> low(sample(0), sample(0) + size_), high = low;
    for (size_t i = 1; i < count_; ++i)
      for (size_t j = 0; j < size_; ++j) low[j] = std::min(low[j], sample(i)[j]), high[j] = std::max(high[j], sample(i)[j]);
    const float margin = 1.f / static_cast<float>(size_);
    for (size_t k = 0; k < k_; ++k)
      for (size_t j = 0; j < size_; ++j)
        center(k)[j] = (random.uniform(0.f, 1.f) * (1.f + margin * 2.f) - margin) * (high[j] - low[j]) + low[j];
  }

  /// The means of the labelled samples. A cluster without samples takes the farthest one of the largest cluster.
  void average() {
    std::fill(centers_.begin(), centers_.end(), 0.f);
    std::vector<int> members(k_);
    for (size_t i = 0; i < count_; ++i) {
      const size_t k = static_cast<size_t>(labels_[i]);
      for (size_t j = 0; j < size_; ++j) center(k)[j] += sample(i)[j];
      ++members[k];
    }
    for (size_t k = 0; k < k_; ++k) {
      if (members[k] != 0) continue;
      const size_t largest = static_cast<size_t>(std::max_element(members.begin(), members.end()) - members.begin());
      std::vector<float> mean(center(largest), center(largest) + size_);
      for (float& value : mean) value *= 1.f / static_cast<float>(members[largest]);
      float most = 0;
      size_t farthest = count_;
      for (size_t i = 0; i < count_; ++i) {
        if (static_cast<size_t>(labels_[i]) != largest) continue;
        const float distance = squared_distance(sample(i), mean.data(), size_);
        if (most <= distance) most = distance, farthest = i;
      }
      if (farthest == count_) throw InvalidArgument("kmeans: distances are NaN");
      --members[largest];
      ++members[k];
      labels_[farthest] = static_cast<int32_t>(k);
      for (size_t j = 0; j < size_; ++j) {
        center(largest)[j] -= sample(farthest)[j];
        center(k)[j] += sample(farthest)[j];
      }
    }
    for (size_t k = 0; k < k_; ++k)
      for (size_t j = 0; j < size_; ++j) center(k)[j] *= 1.f / static_cast<float>(members[k]);
  }

  void assign() {
    for_rows(static_cast<int64_t>(count_), static_cast<int64_t>(k_ * size_), [&](int64_t first, int64_t last) {
      for (size_t i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
        float least = FLT_MAX;
        int32_t best = 0;
        for (size_t k = 0; k < k_; ++k) {
          const float distance = squared_distance(sample(i), center(k), size_);
          if (distance < least) least = distance, best = static_cast<int32_t>(k);
        }
        labels_[i] = best;
      }
    });
  }

  double compactness() {
    double sum = 0;
    for (size_t i = 0; i < count_; ++i) sum += squared_distance(sample(i), center(static_cast<size_t>(labels_[i])), size_);
    return sum;
  }

  std::vector<float>& centers() { return centers_; }
  std::vector<int32_t>& labels() { return labels_; }

 private:
  const float* data_;
  size_t count_, size_, k_;
  std::vector<float> centers_;
  std::vector<int32_t> labels_;
};

}  // namespace

KMeans kmeans(const TensorView& data, int clusters, const TensorView& labels, Criteria criteria, int attempts, int flags) {
  try {
    const Shape& shape = data.shape();
    if (data.dtype() != DType::f32 || shape.rank() < 1 || shape.rank() > 3)
      throw InvalidArgument("kmeans: samples are f32, [n, size] or [n, 1, size], not {}{}", data.dtype(), shape);
    const bool row = shape.rank() >= 2 && shape[0] == 1;
    const int64_t channels = shape.rank() == 3 ? shape[2] : 1, columns = shape.rank() >= 2 ? shape[1] : 1;
    const int64_t count = row ? columns : shape[0], size = row ? channels : columns * channels;
    if (clusters <= 0 || count < clusters || size < 1)
      throw InvalidArgument("kmeans: there are between 1 and {} clusters (the samples), not {}", count, clusters);
    const size_t n = static_cast<size_t>(count), k = static_cast<size_t>(clusters);
    Clusters state(static_cast<const float*>(data.data()), n, static_cast<size_t>(size), k);
    const bool given = (flags & 1) != 0, spread = (flags & 2) != 0;
    if (given) {
      if (labels.dtype() != DType::i32 || labels.elements() != count)
        throw InvalidArgument("kmeans: labels are i32[{}, 1], not {}{}", count, labels.dtype(), labels.shape());
      const auto* const from = static_cast<const int32_t*>(labels.data());
      for (int64_t i = 0; i < count; ++i)
        if (from[i] < 0 || from[i] >= clusters) throw InvalidArgument("kmeans: label {} is {}, not below {}", i, from[i], clusters);
      std::copy(from, from + count, state.labels().begin());
    }
    const double epsilon = (criteria.type & 2) ? std::max(criteria.epsilon, 0.) : static_cast<double>(FLT_EPSILON);
    int most = (criteria.type & 1) ? std::clamp(criteria.count, 2, 100) : 100;
    attempts = std::max(attempts, 1);
    if (clusters == 1) attempts = 1, most = 2;
    KMeans best;
    best.compactness = DBL_MAX;
    best.labels = Tensor(DType::i32, {count, 1});
    best.centers = Tensor(DType::f32, {clusters, size});
    std::vector<float> before;
    Random& random = thread_random();
    for (int attempt = 0; attempt < attempts; ++attempt) {
      for (int step = 0;;) {
        double moved = step == 0 ? DBL_MAX : 0;
        before = state.centers();
        if (step == 0 && (attempt > 0 || !given)) {
          if (spread)
            state.draw_spread(random);
          else
            state.draw_in_box(random);
        } else {
          state.average();
          if (step > 0) {
            for (size_t c = 0; c < k; ++c) {
              double distance = 0;
              for (size_t j = 0; j < static_cast<size_t>(size); ++j) {
                const double d = state.center(c)[j] - before[c * static_cast<size_t>(size) + j];
                distance += d * d;
              }
              moved = std::max(moved, distance);
            }
          }
        }
        if (++step == most || moved <= epsilon * epsilon) break;
        state.assign();
      }
      const double compactness = state.compactness();
      if (!(compactness < best.compactness)) continue;
      best.compactness = compactness;
      std::copy(state.labels().begin(), state.labels().end(), static_cast<int32_t*>(best.labels.writable().data()));
      std::copy(state.centers().begin(), state.centers().end(), static_cast<float*>(best.centers.writable().data()));
    }
    if (best.compactness == DBL_MAX) throw InvalidArgument("kmeans: samples are not finite");
    return best;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision

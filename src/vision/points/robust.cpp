// SPDX-License-Identifier: Apache-2.0
#include "vision/points/robust.h"

#include <cfloat>

#include "vision/matrix.h"

namespace minnow::vision {
namespace {

/// Samples that are needed so that one of them has no outliers, with a probability.
int samples_for(double confidence, double outliers, size_t points, int most) {
  confidence = std::clamp(confidence, 0., 1.);
  outliers = std::clamp(outliers, 0., 1.);
  const double denominator = 1 - std::pow(1 - outliers, static_cast<double>(points));
  if (denominator < DBL_MIN) return 0;
  const double a = std::log(std::max(1 - confidence, DBL_MIN)), b = std::log(denominator);
  return b >= 0 || -a >= most * -b ? most : static_cast<int>(std::lrint(a / b));
}

bool draw(const Model& model, Random& random, int attempts, std::vector<int>& pairs) {
  const int count = static_cast<int>(model.count());
  for (; attempts > 0; --attempts) {
    pairs.clear();
    while (pairs.size() < model.least()) {
      const int i = random.uniform(0, count);
      if (std::find(pairs.begin(), pairs.end(), i) == pairs.end()) pairs.push_back(i);
    }
    if (model.usable(pairs)) return true;
  }
  return false;
}

size_t mark(const Model& model, const std::vector<double>& parameters, double distance, std::vector<float>& errors,
            std::vector<uint8_t>& inliers) {
  model.errors(parameters, errors);
  inliers.resize(errors.size());
  const float most = static_cast<float>(distance * distance);
  size_t count = 0;
  for (size_t i = 0; i < errors.size(); ++i) count += inliers[i] = errors[i] <= most;
  return count;
}

}  // namespace

std::vector<double> robust_fit(const Model& model, const RobustOptions& options, std::vector<uint8_t>& inliers) {
  if (!(options.confidence > 0 && options.confidence < 1))
    throw InvalidArgument("the confidence is between 0 and 1, not {}", options.confidence);
  const size_t count = model.count(), least = model.least();
  if (count < least) return {};
  inliers.assign(count, 1);
  std::vector<int> pairs;
  if (count == least) {
    for (size_t i = 0; i < count; ++i) pairs.push_back(static_cast<int>(i));
    const auto models = model.fit(pairs);
    return models.empty() ? std::vector<double>() : models[0];
  }
  const bool median = options.method == Robust::lmeds;
  Random random(~uint64_t{0});
  std::vector<float> errors(count);
  std::vector<uint8_t> marked;
  std::vector<double> best;
  size_t most_inliers = 0;
  double least_median = DBL_MAX;
  int samples =
      median ? std::max(3, samples_for(options.confidence, 0.45, least, options.most_samples)) : std::max(options.most_samples, 1);
  for (int sample = 0; sample < samples; ++sample) {
    if (!draw(model, random, median ? 1000 : 10000, pairs)) {
      if (sample == 0) return {};
      break;
    }
    for (std::vector<double>& candidate : model.fit(pairs)) {
      if (median) {
        model.errors(candidate, errors);
        for (float& error : errors)
          if (!(error >= 0)) error = FLT_MAX;
        std::nth_element(errors.begin(), errors.begin() + static_cast<int64_t>(count / 2), errors.end());
        if (const double value = static_cast<double>(errors[count / 2]); value < least_median) {
          least_median = value;
          best = std::move(candidate);
        }
        continue;
      }
      const size_t good = mark(model, candidate, options.threshold, errors, marked);
      if (good <= std::max(most_inliers, least - 1)) continue;
      most_inliers = good;
      inliers.swap(marked);
      best = std::move(candidate);
      samples = samples_for(options.confidence, static_cast<double>(count - good) / static_cast<double>(count), least, samples);
    }
  }
  if (median && !best.empty()) {
    const double sigma = 2.5 * 1.4826 * (1 + 5. / static_cast<double>(count - least)) * std::sqrt(least_median);
    if (mark(model, best, std::max(sigma, 0.001), errors, inliers) < least) best.clear();
  }
  return best;
}

void minimize(std::vector<double>& x, size_t count, int steps,
              FunctionRef<void(const double* x, double* residuals, double* derivatives)> evaluate) {
  const size_t n = x.size();
  std::vector<double> r(count), jacobian(count * n), a(n * n), v(n), diagonal(n), step(n), trial(n), damped, trial_r(count);
  const auto square = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
  };
  const auto largest = [](const std::vector<double>& values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::fabs(value));
    return most;
  };
  const auto normal_equations = [&] {
    evaluate(x.data(), r.data(), jacobian.data());
    std::fill(a.begin(), a.end(), 0.);
    std::fill(v.begin(), v.end(), 0.);
    for (size_t k = 0; k < count; ++k) {
      const double* const row = jacobian.data() + k * n;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) a[i * n + j] += row[i] * row[j];
        v[i] += row[i] * r[k];
      }
    }
  };
  normal_equations();
  double sum = square(r), lambda = 1, cut = 0.75;
  for (size_t i = 0; i < n; ++i) diagonal[i] = a[i * n + i];
  for (int done = 0; done < steps;) {
    damped = a;
    for (size_t i = 0; i < n; ++i) damped[i * n + i] += lambda * diagonal[i];
    least_squares(damped.data(), n, n, v.data(), 1, step.data());
    for (size_t i = 0; i < n; ++i) trial[i] = x[i] - step[i];
    evaluate(trial.data(), trial_r.data(), nullptr);
    const double next = square(trial_r);
    double expected = 0, along = 0;  // how much less the sum would be if the residuals were linear
    for (size_t i = 0; i < n; ++i) {
      double part = 2 * v[i];
      for (size_t j = 0; j < n; ++j) part -= a[i * n + j] * step[j];
      expected += step[i] * part;
      along += step[i] * v[i];
    }
    const double ratio = (sum - next) / (std::fabs(expected) > DBL_EPSILON ? expected : 1);
    if (ratio > 0.75) {
      lambda *= 0.5;
      if (lambda < cut) lambda = 0;
    } else if (ratio < 0.25) {
      double growth = std::clamp((next - sum) / (std::fabs(along) > DBL_EPSILON ? along : 1) + 2, 2., 10.);
      if (lambda == 0) {
        std::vector<double> identity(n * n), inverse(n * n);
        for (size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
        least_squares(a.data(), n, n, identity.data(), n, inverse.data());
        double most = DBL_EPSILON;
        for (size_t i = 0; i < n; ++i) most = std::max(most, std::fabs(inverse[i * n + i]));
        lambda = cut = 1 / most;
        growth *= 0.5;
      }
      lambda *= growth;
    }
    if (next < sum) {
      sum = next;
      x.swap(trial);
      normal_equations();
    }
    ++done;
    if (largest(step) < static_cast<double>(FLT_EPSILON) || largest(r) < static_cast<double>(FLT_EPSILON)) break;
  }
}

}  // namespace minnow::vision

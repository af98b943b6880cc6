// SPDX-License-Identifier: Apache-2.0
#include "compress/sparing.h"

#include <algorithm>
#include <unordered_map>

namespace minnow::compress {
namespace {

constexpr double kQuiet = 1e-3;        // noise of outputs that are near enough: 30 dB
constexpr double kWorthwhile = 0.1;    // of the noise that is left: less gains less than half a decibel
constexpr double kMostLeft = 1.0 / 3;  // of the noise, or the layers are not worth their time: 5 dB

/// The part of the multiply-adds or of the weights that each node_at() has, whichever is more.
std::vector<double> shares_of(const Quantization& quantization, const Model& model, const Samples& samples) {
  const std::vector<Layer>& layers = quantization.layers();
  std::vector<std::string> names;
  for (size_t i = 0; i < quantization.count(); ++i) {
    const Node& node = quantization.node_at(i);
    names.push_back(i < layers.size() ? node.output(0)->name() : node.input(0)->name());
  }
  std::unordered_map<std::string, int64_t> elements;
  Observer observer(model_of(quantization.graph(), model), names);
  observer.run(checked_sample(model, samples, 0), 0,
               [&](const std::string& name, const Tensor& tensor) { elements[name] = tensor.elements(); });
  std::vector<double> operations, weights;
  double all_operations = 0, all_weights = 0;
  for (size_t i = 0; i < quantization.count(); ++i) {
    if (i < layers.size()) {
      const Shape& shape = layers[i].weights->constant()->shape();
      operations.push_back(operations_of(elements[names[i]], shape.elements() / shape[layers[i].axis]));
      weights.push_back(static_cast<double>(shape.elements()));
    } else {
      // Each row of its input is multiplied by W, and a state by R.
      const Tensor &w = *quantization.node_at(i).input(1)->constant(), &r = *quantization.node_at(i).input(2)->constant();
      operations.push_back(operations_of(elements[names[i]] / w.shape()[2], w.elements() + r.elements()));
      weights.push_back(static_cast<double>(w.elements() + r.elements()));
    }
    all_operations += operations[i], all_weights += weights[i];
  }
  std::vector<double> shares;
  for (size_t i = 0; i < quantization.count(); ++i)
    shares.push_back(std::max(operations[i] / std::max(all_operations, 1.0), weights[i] / all_weights));
  return shares;
}

/// Fewer bits are asked for where the size counts more than the accuracy.
bool may_spare(const Quantization& quantization, const QuantizeOptions& options) {
  return options.keep_f32 > 0 && quantization.bits() >= 7 && quantization.count() > 1;
}

}  // namespace

double noise_alone(Quantization& quantization, Reference& reference, size_t layer, int bits, size_t probes) {
  std::vector<int> alone(quantization.count(), kF32);
  alone[layer] = bits;
  const double noise = noise_of(reference.compare(quantization.plain(alone), probes));
  quantization.one_run(static_cast<double>(probes));
  return noise;
}

double runs_to_spare(const Quantization& quantization, const Samples& samples, const QuantizeOptions& options) {
  if (!may_spare(quantization, options)) return 0;
  return static_cast<double>((quantization.count() + 2) * std::min(kProbes, samples.count));
}

std::vector<int> spared_layers(Quantization& quantization, const Model& model, const Samples& samples, const QuantizeOptions& options) {
  if (!may_spare(quantization, options)) return {};
  const size_t probes = std::min(kProbes, samples.count), count = quantization.count();
  Reference reference(model, samples, kMostKept);
  const double before = noise_of(reference.compare(quantization.plain({}), probes));
  if (before <= kQuiet) return {};
  const std::vector<double> shares = shares_of(quantization, model, samples);
  std::vector<double> noise;
  double left = 0, budget = options.keep_f32 / 100;
  for (size_t i = 0; i < count; ++i) {
    noise.push_back(noise_alone(quantization, reference, i, quantization.bits(), probes));
    left += noise[i];
  }
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return noise[a] * shares[b] > noise[b] * shares[a]; });
  std::vector<int> bits(count, quantization.bits());
  for (const size_t i : order) {
    if (left <= kQuiet || shares[i] > budget || noise[i] < kWorthwhile * left) continue;
    bits[i] = kF32;
    left -= noise[i], budget -= shares[i];
  }
  const double after = noise_of(reference.compare(quantization.plain(bits), probes));
  return after <= kMostLeft * before ? bits : std::vector<int>();
}

}  // namespace minnow::compress

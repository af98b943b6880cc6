// SPDX-License-Identifier: Apache-2.0
#include "compress/fidelity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/no_memory.h"
#include "compress/observer.h"
#include "compress/search.h"

namespace minnow::compress {

void FidelitySum::add(const float* wanted, const float* got, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const double a = static_cast<double>(wanted[i]), b = static_cast<double>(got[i]);
    signal_ += a * a, square_ += b * b, product_ += a * b, noise_ += (a - b) * (a - b);
  }
}

Fidelity FidelitySum::result() const noexcept {
  Fidelity fidelity;
  fidelity.sqnr = noise_ == 0    ? std::numeric_limits<double>::infinity()
                  : signal_ == 0 ? -std::numeric_limits<double>::infinity()
                                 : 10 * std::log10(signal_ / noise_);
  const double both = std::sqrt(signal_) * std::sqrt(square_);
  fidelity.cosine = both > 0 ? std::min(product_ / both, 1.0) : signal_ == square_ ? 1 : 0;
  return fidelity;
}

struct Reference::Impl {
  const Model& model;
  const Samples& samples;
  size_t room;
  Observer observer;
  std::vector<std::vector<Tensor>> kept;  // outputs of the first samples

  std::vector<Tensor> run(const std::vector<Tensor>& inputs, size_t i) {
    if (i < kept.size()) return kept[i];
    std::vector<Tensor> outputs = observer.run(inputs, i, {});
    size_t bytes = 0;
    for (const Tensor& output : outputs) bytes += output.bytes();
    if (i == kept.size() && bytes <= room) kept.push_back(outputs), room -= bytes;
    return outputs;
  }
};

Reference::Reference(const Model& model, const Samples& samples, size_t most_bytes)
    : impl_(new Impl{model, samples, most_bytes, Observer(model, {}), {}}) {}
Reference::~Reference() = default;

std::vector<OutputReport> Reference::compare(const Model& other, size_t count) {
  struct Output {
    FidelitySum sum;
    size_t rows = 0, equal = 0;
    bool has_rows = true;
  };
  const Model& model = impl_->model;
  Observer second(other, {});
  std::vector<Output> outputs(model.outputs().size());
  for (size_t i = 0; i < count; ++i) {
    const std::vector<Tensor> inputs = checked_sample(model, impl_->samples, i);
    const std::vector<Tensor> wanted = impl_->run(inputs, i), got = second.run(inputs, i, {});
    for (size_t k = 0; k < wanted.size() && k < got.size(); ++k) {
      const Tensor &a = wanted[k], &b = got[k];
      if (a.dtype() != DType::f32 || b.dtype() != DType::f32 || a.shape() != b.shape()) {
        outputs[k].has_rows = false;
        continue;
      }
      const size_t count = static_cast<size_t>(a.elements());
      outputs[k].sum.add(a.data<float>(), b.data<float>(), count);
      // A row of scores for each entry of the batch: every other dimension is 1.
      const size_t rank = a.shape().rank();
      size_t row = 0;
      for (size_t axis = rank > 1 ? 1 : 0; axis < rank; ++axis)
        if (a.shape()[axis] > 1) outputs[k].has_rows &= row == 0, row = static_cast<size_t>(a.shape()[axis]);
      if (row < 2) outputs[k].has_rows = false;
      for (size_t at = 0; outputs[k].has_rows && at + row <= count; at += row, ++outputs[k].rows) {
        const auto best = [&](const Tensor& t) {
          return std::max_element(t.data<float>() + at, t.data<float>() + at + row) - t.data<float>();
        };
        outputs[k].equal += best(a) == best(b);
      }
    }
  }
  std::vector<OutputReport> reports;
  for (size_t k = 0; k < outputs.size(); ++k) {
    OutputReport report{model.outputs()[k].name, outputs[k].sum.result(), -1};
    if (outputs[k].has_rows && outputs[k].rows)
      report.agreement = static_cast<double>(outputs[k].equal) / static_cast<double>(outputs[k].rows);
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<OutputReport> compare(const Model& model, const Model& quantized, const Samples& samples) try {
  return Reference(model, samples, 0).compare(quantized, samples.count);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress

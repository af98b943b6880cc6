// SPDX-License-Identifier: Apache-2.0
// Data sets in memory and data sets made of others.
#include "data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/no_memory.h"
#include "data/streams.h"

namespace minnow::data {
namespace {

class Tensors : public Dataset {
 public:
  Tensors(std::vector<Tensor> columns, std::vector<std::string> classes) : columns_(std::move(columns)), classes_(std::move(classes)) {}
  int64_t size() const override { return columns_[0].shape()[0]; }
  Sample get(int64_t index, Random&) const override {
    check_index(index, size());
    Sample sample;
    for (const Tensor& column : columns_) sample.push_back(row_of(column, index));
    return sample;
  }
  std::vector<std::string> classes() const override { return classes_; }

 private:
  std::vector<Tensor> columns_;
  std::vector<std::string> classes_;
};

class Subset : public Dataset {
 public:
  Subset(DatasetPtr dataset, std::vector<int64_t> indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {}
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Sample get(int64_t index, Random& random) const override {
    check_index(index, size());
    return dataset_->get(indices_[static_cast<size_t>(index)], random);
  }
  std::vector<std::string> classes() const override { return dataset_->classes(); }

 private:
  DatasetPtr dataset_;
  std::vector<int64_t> indices_;
};

class Concat : public Dataset {
 public:
  explicit Concat(std::vector<DatasetPtr> datasets) : datasets_(std::move(datasets)) {
    int64_t end = 0;
    for (const DatasetPtr& dataset : datasets_) ends_.push_back(end += dataset->size());
  }
  int64_t size() const override { return ends_.back(); }
  Sample get(int64_t index, Random& random) const override {
    check_index(index, size());
    const size_t place = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    return datasets_[place]->get(index - (place ? ends_[place - 1] : 0), random);
  }
  std::vector<std::string> classes() const override { return datasets_[0]->classes(); }

 private:
  std::vector<DatasetPtr> datasets_;
  std::vector<int64_t> ends_;
};

class Mapped : public Dataset {
 public:
  using Function = std::function<Sample(Sample, Random&)>;
  Mapped(DatasetPtr dataset, Function function) : dataset_(std::move(dataset)), function_(std::move(function)) {}
  int64_t size() const override { return dataset_->size(); }
  Sample get(int64_t index, Random& random) const override { return function_(dataset_->get(index, random), random); }
  std::vector<std::string> classes() const override { return dataset_->classes(); }

 private:
  DatasetPtr dataset_;
  Function function_;
};

void check_dataset(const DatasetPtr& dataset) {
  if (!dataset) throw InvalidArgument("a data set is a null pointer");
}

}  // namespace

void check_index(int64_t index, int64_t size) {
  if (index < 0 || index >= size) throw InvalidArgument("there is no sample {}; the data set has {}", index, size);
}

Tensor row_of(const Tensor& tensor, int64_t row) {
  Shape shape = tensor.shape();
  shape.erase(0);
  const size_t bytes = static_cast<size_t>(shape.elements()) * size_of(tensor.dtype());
  return Tensor(tensor.dtype(), shape, tensor.data<std::byte>() + static_cast<size_t>(row) * bytes, tensor.owner());
}

DatasetPtr tensors(std::vector<Tensor> columns, std::vector<std::string> classes) try {
  if (columns.empty()) throw InvalidArgument("a data set of tensors takes one tensor or more");
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!size_of(columns[i].dtype())) throw InvalidArgument("tensor {} is {}; samples are numbers", i, columns[i].dtype());
    if (columns[i].shape().empty() || columns[i].shape()[0] != columns[0].shape()[0])
      throw InvalidArgument("the tensors have a row for each sample; tensor 0 has the shape {}, tensor {} {}", columns[0].shape(), i,
                            columns[i].shape());
  }
  return std::make_shared<Tensors>(std::move(columns), std::move(classes));
} catch (...) {
  throw_as_error();
}

DatasetPtr subset(DatasetPtr dataset, std::vector<int64_t> indices) try {
  check_dataset(dataset);
  for (const int64_t index : indices) check_index(index, dataset->size());
  return std::make_shared<Subset>(std::move(dataset), std::move(indices));
} catch (...) {
  throw_as_error();
}

DatasetPtr concat(std::vector<DatasetPtr> datasets) try {
  if (datasets.empty()) throw InvalidArgument("concat() takes one data set or more");
  for (const DatasetPtr& dataset : datasets) check_dataset(dataset);
  return std::make_shared<Concat>(std::move(datasets));
} catch (...) {
  throw_as_error();
}

std::vector<DatasetPtr> random_split(const DatasetPtr& dataset, std::span<const double> shares, uint64_t seed) try {
  check_dataset(dataset);
  const int64_t count = dataset->size();
  std::vector<int64_t> sizes;
  double sum = 0;
  for (const double share : shares) {
    if (!(share >= 0)) throw InvalidArgument("a share of the samples is {}; shares are numbers from 0", share);
    sum += share;
    sizes.push_back(static_cast<int64_t>(static_cast<double>(count) * share + 1e-9));
  }
  if (std::abs(sum - 1) > 1e-6) throw InvalidArgument("the shares of the samples add up to {} instead of 1", sum);
  const int64_t left = count - std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  for (int64_t i = 0; i < left; ++i) ++sizes[static_cast<size_t>(i) % sizes.size()];
  const std::vector<int64_t> order = permutation(count, Random(seed, 0, kOrder));
  std::vector<DatasetPtr> parts;
  auto from = order.begin();
  for (const int64_t size : sizes) {
    parts.push_back(subset(dataset, std::vector<int64_t>(from, from + size)));
    from += size;
  }
  return parts;
} catch (...) {
  throw_as_error();
}

DatasetPtr mapped(DatasetPtr dataset, std::function<Sample(Sample sample, Random& random)> function) try {
  check_dataset(dataset);
  if (!function) throw InvalidArgument("mapped() takes a function");
  return std::make_shared<Mapped>(std::move(dataset), std::move(function));
} catch (...) {
  throw_as_error();
}

DatasetPtr transformed(DatasetPtr dataset, Transform transform) {
  if (!transform) throw InvalidArgument("transformed() takes a function");
  return mapped(std::move(dataset), [transform = std::move(transform)](Sample sample, Random& random) {
    if (sample.empty()) throw InvalidArgument("a sample without tensors has none to transform");
    sample[0] = transform(sample[0], random);
    return sample;
  });
}

Sample collate(std::span<const Sample> samples) try {
  if (samples.empty()) throw InvalidArgument("a batch has one sample or more");
  Sample batch;
  for (size_t part = 0; part < samples[0].size(); ++part) {
    const Tensor& first = samples[0][part];
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].size() != samples[0].size())
        throw InvalidArgument("samples 0 and {} of a batch have {} and {} tensors", i, samples[0].size(), samples[i].size());
      const Tensor& other = samples[i][part];
      if (other.shape() != first.shape() || other.dtype() != first.dtype())
        throw InvalidArgument("samples 0 and {} of a batch are {} {} and {} {}; a transform such as resize() makes them equal", i,
                              first.dtype(), first.shape(), other.dtype(), other.shape());
    }
    if (!size_of(first.dtype())) throw InvalidArgument("a sample has a tensor of {}; samples are numbers", first.dtype());
    Shape shape = first.shape();
    shape.insert(0, static_cast<int64_t>(samples.size()));
    Tensor joined(first.dtype(), shape);
    std::byte* to = static_cast<std::byte*>(joined.writable().data());
    if (const size_t bytes = first.bytes())
      for (const Sample& sample : samples) {
        std::memcpy(to, sample[part].data(), bytes);
        to += bytes;
      }
    batch.push_back(std::move(joined));
  }
  return batch;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data

// SPDX-License-Identifier: Apache-2.0
// Features of the frozen part of a network, computed once.
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/no_memory.h"
#include "base/os.h"
#include "base/sha256.h"
#include "train/nn/ops.h"
#include "train/nn/safetensors.h"

namespace minnow::nn {

/// A network in evaluation mode, until this goes.
class EvalMode {
 public:
  explicit EvalMode(Module& net) : net_(net) {
    if (auto* const layer = dynamic_cast<Layer*>(&net_))
      layer->for_each([&](const std::string&, Layer& each) { modes_.push_back(each.is_training()); }, {});
    else
      modes_.push_back(net.is_training());
    net_.set_training(false);
  }
  ~EvalMode() {
    size_t i = 0;
    net_.set_training(modes_[0]);  // outer layers come first: each sets those in it, too
    if (auto* const layer = dynamic_cast<Layer*>(&net_))
      layer->for_each([&](const std::string&, Layer& each) { each.set_training(modes_[i++]); }, {});
  }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  Module& net_;
  std::vector<bool> modes_;
};

namespace {

constexpr const char* kFeatures = "features";

/// Inputs with an axis in front.
Tensor stacked(const std::vector<Tensor>& inputs) {
  Shape shape = inputs[0].shape();
  shape.insert(0, static_cast<int64_t>(inputs.size()));
  Tensor made(inputs[0].dtype(), shape);
  std::byte* to = static_cast<std::byte*>(made.writable().data());
  for (const Tensor& input : inputs) {
    if (input.dtype() != inputs[0].dtype() || !(input.shape() == inputs[0].shape()))
      throw InvalidArgument("inputs of one shape are expected, there are {}{} and {}{}", inputs[0].dtype(), inputs[0].shape(),
                            input.dtype(), input.shape());
    if (input.bytes()) std::memcpy(to, input.data(), input.bytes());
    to += input.bytes();
  }
  return made;
}

/// The weights of a network as a text of 64 digits.
std::string digest_of(const Module& net) {
  std::map<std::string, Tensor> state;
  if (const auto* const layer = dynamic_cast<const Layer*>(&net))
    state = layer->state_dict();
  else
    for (const auto& [name, value] : net.parameters()) state.emplace(name, value.tensor());
  Sha256 sum;
  for (const auto& [name, tensor] : state) {
    const std::string text = format("{} {}{}\n", name, tensor.dtype(), tensor.shape());
    sum.add(std::as_bytes(std::span(text)));
    sum.add({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
  }
  return sum.hex_digest();
}

/// A name for a file in the folder of temporary files, which no other object of this process or of another one has.
std::string temporary_path(const void* object) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) throw IoError("the features need a file, but there is no folder for temporary ones ({}); name a path", failed.message());
  const auto tick = std::filesystem::file_time_type::clock::now().time_since_epoch().count();
  for (int64_t i = 0;; ++i) {
    const std::filesystem::path path =
        folder / format("minnow-features-{}-{}-{}", tick, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(object)), i);
    if (!std::filesystem::exists(path)) return path.string();
  }
}

}  // namespace

struct CachedFeatures::Impl {
  data::DatasetPtr dataset;
  Tensor features;  // [N, ...], in memory or in a mapped file
  bool on_disk = false;
  std::mutex mutex;
  std::vector<std::optional<data::Sample>> rest;  // of each sample, once it was read

  Impl(const Features& function, data::DatasetPtr from, const CacheOptions& options, const std::string& key) : dataset(std::move(from)) {
    if (!function) throw InvalidArgument("features are made by a function, none is given");
    if (!dataset || dataset->size() < 1) throw InvalidArgument("the data set is empty");
    if (options.batch_size < 1) throw InvalidArgument("batch_size is positive, it is {}", options.batch_size);
    rest.resize(static_cast<size_t>(dataset->size()));
    if (options.path.empty() || !os::file_exists(options.path) || !open(options.path, key)) compute(function, options, key);
  }

  /// Reads sample `index` and keeps all but its input, which is returned.
  Tensor read(int64_t index) {
    data::Random random(0, 0, static_cast<uint64_t>(index));
    data::Sample sample = dataset->get(index, random);
    if (sample.empty()) throw InvalidArgument("sample {} is empty", index);
    Tensor input = std::move(sample[0]);
    sample.erase(sample.begin());
    const std::lock_guard lock(mutex);
    rest[static_cast<size_t>(index)] = std::move(sample);
    return input;
  }

  /// False if the file is for other weights or samples. Throws InvalidArgument for a file of another kind.
  bool open(const std::string& path, const std::string& key) {
    std::map<std::string, std::string> texts;
    std::map<std::string, Tensor> tensors = map_safetensors(path, &texts);
    const auto found = tensors.find(kFeatures);
    if (found == tensors.end() || !texts.contains("key"))
      throw InvalidArgument("{}: the file is there already, and has no features; remove it, or name another one", path);
    if (texts["key"] != key || found->second.shape().rank() < 1 || found->second.shape()[0] != dataset->size()) return false;
    features = std::move(found->second);
    return on_disk = true;
  }

  void compute(const Features& function, const CacheOptions& options, const std::string& key) {
    const int64_t samples = dataset->size();
    const auto batch = [&](int64_t first) {
      std::vector<Tensor> inputs;
      for (int64_t i = first; i < std::min(first + options.batch_size, samples); ++i) inputs.push_back(read(i));
      Tensor made = function(Var(stacked(inputs))).tensor();
      if (made.shape().rank() < 1 || made.shape()[0] != static_cast<int64_t>(inputs.size()))
        throw InvalidArgument("features of {} inputs have the shape {}", inputs.size(), made.shape());
      return made;
    };
    const Tensor head = batch(0);
    Shape shape = head.shape();
    shape[0] = samples;
    const auto all = [&](const os::ByteSink& sink) {
      for (int64_t first = 0; first < samples; first += options.batch_size) {
        const Tensor made = first == 0 ? head : batch(first);
        Shape row = made.shape();
        row[0] = samples;
        if (made.dtype() != head.dtype() || !(row == shape))
          throw InvalidArgument("features of one shape are expected, there are {}{} and {}{}", head.dtype(), head.shape(), made.dtype(),
                                made.shape());
        sink({static_cast<const std::byte*>(made.data()), made.bytes()});
      }
    };
    if (options.path.empty() &&
        static_cast<size_t>(shape.elements()) <= options.memory_limit / std::max<size_t>(size_of(head.dtype()), 1)) {
      features = Tensor(head.dtype(), shape);
      std::byte* to = static_cast<std::byte*>(features.writable().data());
      all([&](std::span<const std::byte> piece) {
        if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
      });
      return;
    }
    const std::string path = options.path.empty() ? temporary_path(this) : options.path;
    const SafetensorsEntry entry{kFeatures, head.dtype(), shape};
    const std::string header = safetensors_header(std::span(&entry, 1), {{"key", key}});
    os::write_file_atomically(path, [&](const os::ByteSink& sink) {
      sink(std::as_bytes(std::span(header)));
      all(sink);
    });
    open(path, key);
    if (options.path.empty()) {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);  // the mapping keeps the bytes until this object goes
    }
  }
};

CachedFeatures::CachedFeatures(const std::shared_ptr<Module>& net, data::DatasetPtr dataset, const CacheOptions& options) try {
  const Features function = features_of(net);
  const EvalMode mode(*net);
  impl_ = std::make_shared<Impl>(function, std::move(dataset), options, digest_of(*net) + options.key);
} catch (...) {
  throw_as_error();
}

CachedFeatures::CachedFeatures(const Features& features, data::DatasetPtr dataset, const CacheOptions& options) try
    : impl_(std::make_shared<Impl>(features, std::move(dataset), options, options.key)) {
} catch (...) {
  throw_as_error();
}

int64_t CachedFeatures::size() const { return impl_->dataset->size(); }
std::vector<std::string> CachedFeatures::classes() const { return impl_->dataset->classes(); }
bool CachedFeatures::on_disk() const noexcept { return impl_->on_disk; }

data::Sample CachedFeatures::get(int64_t index, data::Random&) const try {
  if (index < 0 || index >= size()) throw InvalidArgument("sample {} is none of {}", index, size());
  const size_t at = static_cast<size_t>(index);
  bool known;
  {
    const std::lock_guard lock(impl_->mutex);
    known = impl_->rest[at].has_value();
  }
  if (!known) impl_->read(index);
  Shape shape = impl_->features.shape();
  shape.erase(0);
  Tensor row(impl_->features.dtype(), shape);
  if (row.bytes())
    std::memcpy(row.writable().data(), static_cast<const std::byte*>(impl_->features.data()) + at * row.bytes(), row.bytes());
  data::Sample sample{std::move(row)};
  const std::lock_guard lock(impl_->mutex);
  sample.insert(sample.end(), impl_->rest[at]->begin(), impl_->rest[at]->end());
  return sample;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::nn

// SPDX-License-Identifier: Apache-2.0
// Batches, prepared ahead by threads in an order that can be resumed.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/no_memory.h"
#include "data/dataset.h"
#include "data/streams.h"

namespace minnow::data {

struct DataLoader::Impl {
  struct Made {
    Sample batch;
    std::exception_ptr error;
  };

  DatasetPtr dataset;
  LoaderOptions options;
  SamplerPtr sampler;
  int64_t samples = 0, batches = 0;  // of a pass
  // The position: all that the next batch depends on.
  int64_t pass = 0, given = 0;
  // The pass under way. `next`: the first batch that no worker took; `made`: a ring of those that are prepared ahead.
  bool is_open = false, is_closing = false;
  std::vector<int64_t> order;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable may_work, is_made;
  std::vector<std::optional<Made>> made;
  int64_t next = 0;

  ~Impl() { close(); }

  std::optional<Made>& place_of(int64_t batch) { return made[static_cast<size_t>(batch) % made.size()]; }

  Sample make(int64_t batch) const {
    const int64_t begin = batch * options.batch_size, end = std::min(begin + options.batch_size, samples);
    std::vector<Sample> rows;
    for (int64_t i = begin; i < end; ++i) {
      Random random(options.seed, static_cast<uint32_t>(pass), static_cast<uint64_t>(i));
      rows.push_back(dataset->get(order[static_cast<size_t>(i)], random));
    }
    if (!options.collate) return collate(rows);
    Random random(options.seed, static_cast<uint32_t>(pass), kBatch + static_cast<uint64_t>(begin));
    return options.collate(rows, random);
  }

  void work() {
    std::unique_lock lock(mutex);
    const int64_t ahead = static_cast<int64_t>(made.size());
    while (true) {
      may_work.wait(lock, [&] { return is_closing || next == batches || next < given + ahead; });
      if (is_closing || next == batches) return;
      const int64_t batch = next++;
      lock.unlock();
      Made result;
      try {
        result.batch = make(batch);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      place_of(batch) = std::move(result);
      is_made.notify_all();
    }
  }

  void open() {
    order = sampler->order(static_cast<uint32_t>(pass));
    if (static_cast<int64_t>(order.size()) != samples)
      throw InvalidArgument("the order of pass {} has {} samples, the sampler's size() is {}", pass, order.size(), samples);
    next = given;
    is_open = true;
    made.resize(static_cast<size_t>(std::min(int64_t{options.workers} * options.prefetch, batches)));
    try {
      for (int i = 0; i < options.workers; ++i) workers.emplace_back([this] { work(); });
    } catch (...) {  // the system refused a thread
      close();
      throw;
    }
  }

  void close() noexcept {
    {
      const std::lock_guard lock(mutex);
      is_closing = true;
    }
    may_work.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
    made.clear();
    is_closing = is_open = false;
  }

  Sample take() {
    if (!options.workers) return make(given);
    std::unique_lock lock(mutex);
    is_made.wait(lock, [&] { return place_of(given).has_value(); });
    Made result = std::move(*place_of(given));
    place_of(given).reset();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.batch);
  }

  void move_to(int64_t new_pass, int64_t new_given) {
    close();
    pass = new_pass;
    given = new_given;
  }
};

DataLoader::DataLoader(DatasetPtr dataset, LoaderOptions options) try : impl_(std::make_unique<Impl>()) {
  if (!dataset) throw InvalidArgument("a loader takes a data set");
  if (options.batch_size < 1) throw InvalidArgument("batch_size is a number from 1, not {}", options.batch_size);
  if (options.workers < 0 || options.prefetch < 1)
    throw InvalidArgument("workers is a number from 0 and prefetch one from 1, not {} and {}", options.workers, options.prefetch);
  if (options.sampler && options.shuffle) throw InvalidArgument("shuffle and sampler exclude each other");
  Impl& impl = *impl_;
  impl.sampler = options.sampler ? options.sampler : options.shuffle ? shuffled(dataset->size(), options.seed) : in_order(dataset->size());
  impl.samples = impl.sampler->size();
  impl.batches = impl.samples / options.batch_size + (!options.drop_last && impl.samples % options.batch_size ? 1 : 0);
  impl.dataset = std::move(dataset);
  impl.options = std::move(options);
} catch (...) {
  throw_as_error();
}

DataLoader::~DataLoader() = default;
DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&&) noexcept = default;

int64_t DataLoader::size() const noexcept { return impl_->batches; }

std::optional<Sample> DataLoader::next() try {
  Impl& impl = *impl_;
  if (impl.given == impl.batches) {
    impl.move_to(impl.pass + 1, 0);
    return std::nullopt;
  }
  std::optional<Sample> batch;
  try {
    if (!impl.is_open) impl.open();
    batch = impl.take();
  } catch (...) {
    impl.close();
    throw;
  }
  {
    const std::lock_guard lock(impl.mutex);
    ++impl.given;
  }
  impl.may_work.notify_one();
  return batch;
} catch (...) {
  throw_as_error();
}

void DataLoader::end_pass() {
  if (impl_->is_open || impl_->given) impl_->move_to(impl_->pass + 1, 0);
}

Tensor DataLoader::state() const try {
  const Impl& impl = *impl_;
  return Tensor::of_i64({5}, std::vector<int64_t>{impl.pass, impl.given, impl.samples, impl.options.batch_size, impl.batches});
} catch (...) {
  throw_as_error();
}

void DataLoader::set_state(const TensorView& state) try {
  Impl& impl = *impl_;
  if (state.dtype() != DType::i64 || state.shape() != Shape{5})
    throw InvalidArgument("the state of a loader is i64 [5], not {} {}", state.dtype(), state.shape());
  const int64_t* v = state.data<int64_t>();
  if (v[2] != impl.samples || v[3] != impl.options.batch_size || v[4] != impl.batches)
    throw InvalidArgument("the state is that of a loader of {} samples in {} batches of {}, this one has {} in {} of {}", v[2], v[4], v[3],
                          impl.samples, impl.batches, impl.options.batch_size);
  if (v[0] < 0 || v[1] < 0 || v[1] > impl.batches) throw InvalidArgument("the state of a loader is at batch {} of pass {}", v[1], v[0]);
  impl.move_to(v[0], v[1]);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data

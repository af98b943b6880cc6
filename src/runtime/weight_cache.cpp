// SPDX-License-Identifier: Apache-2.0
#include "runtime/weight_cache.h"

#include <minnow/minnow.h>

#include <cstring>
#include <vector>

#include "base/digest.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/processor.h"
#include "base/thread_pool.h"
#include "runtime/packing_version.h"

namespace minnow {
namespace {

constexpr std::string_view kDamaged = "it is damaged or cut off", kReplaced = "weights are packed anew and the file is replaced";

static_assert(sizeof(WeightCache::Header) == 64);

std::string_view magic() {
  static constexpr WeightCache::Header kHeader;
  return {reinterpret_cast<const char*>(kHeader.magic), sizeof kHeader.magic};
}

uint64_t digest_of_text(std::string_view text, uint64_t seed = 0) { return digest_of(std::as_bytes(std::span(text)), seed); }

std::string hex(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[number >> (4 * i) & 15];
  return text;
}

void collect(const Graph& graph, std::vector<const Tensor*>& constants) {
  for (const auto& value : graph.constants()) constants.push_back(value->constant());
  for (const Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) collect(**subgraph, constants);
}

std::span<const std::byte> bytes_of(const Tensor& tensor) { return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()}; }

}  // namespace

WeightCache::WeightCache(std::string file, const Graph& graph, int threads) : file_(std::move(file)) {
  os::check_replaceable(file_, magic(), "a weight cache");
  const os::CacheSizes caches = os::cache_sizes();  // blocks are as large as they allow
  build_ = digest_of_text(format("{} {} {} {} {} {}", version(), kPackingVersion, caches.l1, caches.l2, caches.l3, os::processor_name()));
  std::vector<const Tensor*> constants;
  collect(graph, constants);
  std::vector<uint64_t> digests(constants.size());
  ThreadPool::process().run(constants.size(), threads, [&](size_t i) {
    digests[i] = digest_of(bytes_of(*constants[i]));
    os::release_mapped(constants[i]->data(), constants[i]->bytes());
  });
  for (size_t i = 0; i < constants.size(); ++i) {
    digests_[constants[i]->data()] = {constants[i]->bytes(), digests[i]};
    model_ = digest_of_text(format("{}{}{}", digests[i], constants[i]->dtype(), constants[i]->shape()), model_);
  }
  if (const std::string problem = read(entries_); !problem.empty()) log("{}: {}; {}", file_, problem, kReplaced);
}

std::string WeightCache::read(Entries& entries) const {
  if (!os::file_exists(file_)) return {};
  std::shared_ptr<const os::MappedFile> mapped;
  try {
    mapped = os::MappedFile::open(file_);
  } catch (const Error& error) {
    const std::string_view what(error.what());
    return std::string(what.starts_with(file_ + ": ") ? what.substr(file_.size() + 2) : what);
  }
  const std::span<const std::byte> bytes = mapped->bytes();
  Header header;
  const Header known;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), known.magic, sizeof known.magic) != 0)
    return "it is no file of packed weights";
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.build != build_) return "its packed weights are of another machine or another build of Minnow";
  if (header.model != model_) return "its packed weights are of another model";
  const auto inside = [&](uint64_t offset, uint64_t size) { return offset <= bytes.size() && size <= bytes.size() - offset; };
  const std::string damaged(kDamaged);
  if (header.file_size != bytes.size() || !inside(header.index_offset, header.index_size)) return damaged;
  std::span<const std::byte> index = bytes.subspan(header.index_offset, header.index_size);
  if (digest_of(index) != header.index_digest) return damaged;
  while (!index.empty()) {
    uint64_t numbers[4];  // offset, bytes, digest, length of the name
    if (index.size() < sizeof numbers) return entries.clear(), damaged;
    std::memcpy(numbers, index.data(), sizeof numbers);
    index = index.subspan(sizeof numbers);
    if (numbers[0] % kAlignment != 0 || !inside(numbers[0], numbers[1]) || numbers[3] > index.size()) return entries.clear(), damaged;
    const size_t length = static_cast<size_t>(numbers[3]);
    const std::string name(reinterpret_cast<const char*>(index.data()), length);
    index = index.subspan(std::min(align_up(length, 8), index.size()));
    entries[name] = {std::shared_ptr<const void>(mapped, bytes.data() + numbers[0]), static_cast<size_t>(numbers[1]), numbers[2], false};
  }
  return {};
}

std::string WeightCache::key_of(const Tensor& weight, const Packing& packing) const {
  const auto found = digests_.find(weight.data());
  const bool known = found != digests_.end() && found->second.first == weight.bytes();
  return format("{} {}{} {}", hex(known ? found->second.second : digest_of(bytes_of(weight))), weight.dtype(), weight.shape(),
                packing.text());
}

std::shared_ptr<const void> WeightCache::find(const std::string& key, size_t bytes) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.bytes != bytes) return nullptr;
    entry = found->second;
  }
  // Reading all of it also brings its pages, on the threads that prepare.
  const bool good = digest_of({static_cast<const std::byte*>(entry.data.get()), bytes}) == entry.digest;
  const std::lock_guard lock(mutex_);
  if (good) {
    entry.good = true;
    entries_[key] = entry;
    return entry.data;
  }
  if (!damaged_) log("{}: {}; {}", file_, kDamaged, kReplaced);
  damaged_ = true;  // nothing more is taken from it
  std::erase_if(entries_, [](const auto& item) { return !item.second.good; });
  return nullptr;
}

void WeightCache::add(const std::string& key, std::shared_ptr<const void> packed, size_t bytes) {
  const uint64_t digest = digest_of({static_cast<const std::byte*>(packed.get()), bytes});
  const std::lock_guard lock(mutex_);
  entries_[key] = {std::move(packed), bytes, digest, true};
  changed_.store(true, std::memory_order_release);
}

void WeightCache::save() {
  if (!changed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (!changed_.exchange(false)) return;
  try {
    Entries all;
    if (!damaged_) read(all);  // entries that other processes have added since
    for (const auto& [key, entry] : entries_) all[key] = entry;
    Header header;
    header.build = build_, header.model = model_;
    uint64_t end = sizeof header;
    std::vector<std::byte> index;
    for (const auto& [key, entry] : all) {
      const uint64_t numbers[4] = {end, entry.bytes, entry.digest, key.size()};
      const size_t begin = index.size();
      index.resize(begin + sizeof numbers + align_up(key.size(), 8));
      std::memcpy(index.data() + begin, numbers, sizeof numbers);
      std::memcpy(index.data() + begin + sizeof numbers, key.data(), key.size());
      end += align_up(entry.bytes);
    }
    header.index_offset = end, header.index_size = index.size(), header.index_digest = digest_of(index);
    header.file_size = end + index.size();
    os::check_replaceable(file_, magic(), "a weight cache");  // it may have changed since
    os::write_file_atomically(file_, [&](const os::ByteSink& sink) {
      sink(std::as_bytes(std::span(&header, 1)));
      const std::byte zeros[kAlignment] = {};
      for (const auto& [key, entry] : all) {
        sink({static_cast<const std::byte*>(entry.data.get()), entry.bytes});
        sink({zeros, align_up(entry.bytes) - entry.bytes});
      }
      sink(index);
    });
  } catch (const std::exception& error) {
    log("{}", error.what());
  }
}

}  // namespace minnow

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

constexpr EntryFileKind kKind{'P', "a weight cache", "packed weights", "weights are packed anew and the file is replaced"};

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

WeightCache::WeightCache(const std::string& file, const Graph& graph, int threads) {
  EntryFile::check_kind(file, kKind);               // before all of the model is read
  const os::CacheSizes caches = os::cache_sizes();  // blocks are as large as they allow
  const uint64_t build =
      digest_of_text(format("{} {} {} {} {} {}", version(), kPackingVersion, caches.l1, caches.l2, caches.l3, os::processor_name()));
  std::vector<const Tensor*> constants;
  collect(graph, constants);
  std::vector<uint64_t> digests(constants.size());
  ThreadPool::process().run(constants.size(), threads, [&](size_t i) {
    digests[i] = digest_of(bytes_of(*constants[i]));
    os::release_mapped(constants[i]->data(), constants[i]->bytes());
  });
  uint64_t model = 0;
  for (size_t i = 0; i < constants.size(); ++i) {
    digests_[constants[i]->data()] = {constants[i]->bytes(), digests[i]};
    model = digest_of_text(format("{}{}{}", digests[i], constants[i]->dtype(), constants[i]->shape()), model);
  }
  entries_.emplace(file, kKind, build, model);
}

std::string WeightCache::key_of(const Tensor& weight, const Packing& packing) const {
  const auto found = digests_.find(weight.data());
  const bool known = found != digests_.end() && found->second.first == weight.bytes();
  return format("{} {}{} {}", hex(known ? found->second.second : digest_of(bytes_of(weight))), weight.dtype(), weight.shape(),
                packing.text());
}

std::shared_ptr<const void> WeightCache::find(const std::string& key, size_t bytes) {
  const EntryFile::Piece piece = entries_->find(key);
  return piece.bytes == bytes ? piece.data : nullptr;
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// A file of packed weights that processes share (base/entry_file.h). A packed form has the name "digest-of-the-weight dtype[shape] packing"
// (Packing::text), so its key describes how it was made. The header's digests are those of version, packing code and machine, and of all
// constants with their dtypes and shapes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "backends/backend.h"
#include "base/entry_file.h"
#include "graph/graph.h"

namespace minnow {

class WeightCache {
 public:
  using Header = EntryFile::Header;

  /// Reads every constant of `graph` once, on `threads` threads, to identify the model. Reads the file if it belongs to this model, machine
  /// and build. Otherwise, or if the file is damaged, the cache starts empty and the log hook gets one message.
  WeightCache(const std::string& file, const Graph& graph, int threads);
  const std::string& file() const noexcept { return entries_->file(); }

  // Safe to call from many threads.

  /// The key of a packed weight.
  std::string key_of(const Tensor& weight, const Packing& packing) const;
  /// Null if the file has no entry of that size, or a damaged one (the log hook gets one message).
  std::shared_ptr<const void> find(const std::string& key, size_t bytes);
  /// Adds a packed weight for the next save().
  void add(const std::string& key, std::shared_ptr<const void> packed, size_t bytes) { entries_->add(key, std::move(packed), bytes); }
  /// See EntryFile::save().
  void save() { entries_->save(); }

 private:
  std::optional<EntryFile> entries_;
  std::unordered_map<const void*, std::pair<size_t, uint64_t>> digests_;  // of constants: bytes and digest by place
};

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// A file of packed weights that processes share. It is mapped, so that the system holds one copy for all of them:
//   header                     64 bytes, see below
//   packed forms               each at a multiple of 64
//   index                      for each: offset, bytes, digest and length of the name (64-bit numbers), the name, zeros up to a multiple of
//   8
// A packed form has the name "digest-of-the-weight dtype[shape] packing" (Packing::text), so its key describes how it was made. Anyone who
// may write the file may write any weights: digests only detect damage and files of other models.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backends/backend.h"
#include "graph/graph.h"

namespace minnow::os {
class MappedFile;
}

namespace minnow {

class WeightCache {
 public:
  /// Numbers have this machine's byte order, so the file is invalid on machines with another one.
  struct Header {
    unsigned char magic[8] = {0x89, 'M', 'N', 'P', '\r', '\n', 0x1a, '\n'};  // as a .minnow file's, with P for packed
    uint64_t build = 0, model = 0;  // digests: of version, packing code and machine; of all constants with their dtypes and shapes
    uint64_t file_size = 0, index_offset = 0, index_size = 0, index_digest = 0;
    uint64_t reserved = 0;
  };

  /// Reads every constant of `graph` once, on `threads` threads, to identify the model. Reads the file if it belongs to this model, machine
  /// and build. Otherwise, or if the file is damaged, the cache starts empty and the log hook gets one message.
  WeightCache(std::string file, const Graph& graph, int threads);
  const std::string& file() const noexcept { return file_; }

  // Safe to call from many threads.

  /// The key of a packed weight.
  std::string key_of(const Tensor& weight, const Packing& packing) const;
  /// Null if the file has no entry of that size, or a damaged one (the log hook gets one message).
  std::shared_ptr<const void> find(const std::string& key, size_t bytes);
  /// Adds a packed weight for the next save().
  void add(const std::string& key, std::shared_ptr<const void> packed, size_t bytes);
  /// If weights were added, rewrites the file with all entries. If several processes save at the same time, the last one wins. On failure
  /// the log hook gets one message, and the next packed weight triggers another attempt.
  void save();

 private:
  struct Entry {
    std::shared_ptr<const void> data;
    size_t bytes = 0;
    uint64_t digest = 0;
    bool good = false;  // the digest is known to be right
  };
  using Entries = std::map<std::string, Entry>;
  /// The entries of the file, or why there are none; neither for a file that is not there.
  std::string read(Entries& entries) const;
  const std::string file_;
  uint64_t build_ = 0, model_ = 0;
  std::unordered_map<const void*, std::pair<size_t, uint64_t>> digests_;  // of constants: bytes and digest by place
  std::mutex mutex_;
  Entries entries_;
  bool damaged_ = false;  // the file's packed forms
  std::atomic<bool> changed_{false};
};

}  // namespace minnow

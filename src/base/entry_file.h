// SPDX-License-Identifier: Apache-2.0
// A file of named pieces of bytes that processes share: a cache on disk. It is mapped, so that the system holds one copy for all of them:
//   header                     64 bytes, see below
//   pieces                     each at a multiple of 64
//   index                      for each: offset, bytes, digest and length of the name (64-bit numbers), the name, zeros up to a multiple of
//   8
// A name describes how its piece was made. Anyone who may write the file may write any pieces: digests only detect damage and files of
// others.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace minnow {

/// The contents of a file, in words for messages.
struct EntryFileKind {
  char letter;                // in the magic number: a file begins with 0x89 'M' 'N' letter
  std::string_view name;      // "a weight cache"
  std::string_view contents;  // "packed weights"
  std::string_view replaced;  // "weights are packed anew and the file is replaced"
};

class EntryFile {
 public:
  /// Numbers have this machine's byte order, so the file is invalid on machines with another one.
  struct Header {
    unsigned char magic[8] = {0x89, 'M', 'N', 0, '\r', '\n', 0x1a, '\n'};  // as a .minnow file's, with the kind's letter
    uint64_t build = 0, model = 0;  // digests of all that every piece depends on; the second one of the model, or 0
    uint64_t file_size = 0, index_offset = 0, index_size = 0, index_digest = 0;
    uint64_t reserved = 0;
  };

  /// Reads the file if its digests are these. Otherwise, or if it is damaged, there are no pieces, and the log hook gets one message.
  /// Throws InvalidArgument if the file is of another kind.
  EntryFile(std::string file, const EntryFileKind& kind, uint64_t build, uint64_t model);
  /// The same of a file's bytes, which stay where they are, at a multiple of 8. Nothing is ever written. `name`: for messages.
  EntryFile(std::span<const std::byte> bytes, std::string name, const EntryFileKind& kind, uint64_t build, uint64_t model);
  const std::string& file() const noexcept { return file_; }

  // Safe to call from many threads.

  struct Piece {
    std::shared_ptr<const void> data;  // null: there is none
    size_t bytes = 0;
  };
  /// The piece of that name, if the file has it undamaged (the log hook gets one message about the first damaged one).
  Piece find(const std::string& name);
  bool has(const std::string& name);
  /// Adds a piece for the next save().
  void add(const std::string& name, std::shared_ptr<const void> data, size_t bytes);
  /// If pieces were added, rewrites the file with all of them, and those that other processes have added since. If several processes save
  /// at the same time, the last one wins. On failure the log hook gets one message, and the next piece triggers another attempt.
  void save();
  /// Whether a file is of that kind, by its first bytes; throws InvalidArgument if it is not. A file that does not exist, or is empty, may
  /// become one.
  static void check_kind(const std::string& file, const EntryFileKind& kind);

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
  std::string parse(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, Entries& entries) const;
  const std::string file_;
  const EntryFileKind& kind_;
  const uint64_t build_, model_;
  std::mutex mutex_;
  Entries entries_;
  bool damaged_ = false;  // a piece of the file
  std::atomic<bool> changed_{false};
};

}  // namespace minnow

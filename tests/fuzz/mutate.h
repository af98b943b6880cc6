// SPDX-License-Identifier: Apache-2.0
// Mutators that know the structure of a file. A changed byte rarely survives a format's reader; a changed field does, and reaches the
// passes, the planner and the kernels.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::fuzz {

/// A deterministic source of numbers (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, count); 0 if count is 0.
  size_t below(size_t count) { return count ? static_cast<size_t>(next() % count) : 0; }
  bool one_in(size_t count) { return below(count) == 0; }

 private:
  uint64_t state_;
};

/// A number at which code tends to break: near 0, powers of two and the limits of a type; or a small one.
int64_t interesting_integer(Random& random);
float interesting_float(Random& random);

/// Names with a meaning in a format (its operators). A mutator replaces one by another.
using Names = std::span<const std::string_view>;

/// Each changes one to four things, so that most of the file stays valid.
std::string mutate_bytes(std::string bytes, Random& random);
/// Text of identifiers, numbers, quoted strings and lines: prototxt, TorchScript programs.
std::string mutate_text(std::string text, Random& random, Names names);
/// Protocol Buffers' wire format, of any schema.
std::string mutate_protobuf(std::string bytes, Random& random, Names names);
/// A FlatBuffer of any schema that begins at `begin`.
std::string mutate_flatbuffer(std::string bytes, Random& random, size_t begin = 0);
/// A TorchScript archive: program texts, pickles, entries. Archives are written anew with stored entries and right checksums.
std::string mutate_archive(std::string bytes, Random& random, Names names);

}  // namespace minnow::fuzz

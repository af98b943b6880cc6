// SPDX-License-Identifier: Apache-2.0
#include "base/repeats.h"

#include <cstdint>
#include <cstring>

// A code: number of bytes that are new, those bytes, then length - kLeast and distance of a repetition, and so on; the end may come behind
// new bytes. Numbers have seven bits in a byte, the lowest first; the highest bit says that more follow.
namespace minnow {
namespace {

constexpr size_t kLeast = 6;  // bytes of a repetition: shorter ones cost as much as they save, because an entropy coder follows

}  // namespace

#if !MINNOW_SMALL  // small builds only read codes
std::vector<std::byte> repeats_coded(std::span<const std::byte> plain) {
  constexpr size_t kTableBits = 15, kMostTried = 16;
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<std::byte> coded;
  std::vector<uint32_t> newest(size_t{1} << kTableBits, kNone), before(plain.size(), kNone);  // places whose next bytes have the same hash
  const auto hash_at = [&](size_t i) {
    uint64_t word = 0;
    std::memcpy(&word, plain.data() + i, kLeast);
    return static_cast<size_t>(word * 0x9e3779b97f4a7c15u >> (64 - kTableBits));
  };
  const auto append = [&](size_t value) {
    for (; value >= 128; value >>= 7) coded.push_back(static_cast<std::byte>(value % 128 + 128));
    coded.push_back(static_cast<std::byte>(value));
  };
  const auto append_new = [&](size_t first, size_t last) {
    append(last - first);
    coded.insert(coded.end(), plain.begin() + static_cast<ptrdiff_t>(first), plain.begin() + static_cast<ptrdiff_t>(last));
  };
  size_t first_new = 0;
  for (size_t i = 0; i + kLeast <= plain.size();) {
    size_t length = 0, distance = 0, tried = 0;
    for (uint32_t other = newest[hash_at(i)]; other != kNone && tried < kMostTried; other = before[other], ++tried) {
      size_t same = 0;
      while (i + same < plain.size() && plain[other + same] == plain[i + same]) ++same;
      if (same > length) length = same, distance = i - other;
    }
    const size_t end = i + (length < kLeast ? 1 : length);
    if (length >= kLeast) append_new(first_new, i), append(length - kLeast), append(distance), first_new = end;
    for (; i < end; ++i) {
      if (i + kLeast > plain.size()) continue;
      uint32_t& place = newest[hash_at(i)];
      before[i] = place, place = static_cast<uint32_t>(i);
    }
  }
  append_new(first_new, plain.size());
  return coded;
}
#endif

bool decode_repeats(std::span<const std::byte> coded, std::span<std::byte> plain) noexcept {
  size_t at = 0, made = 0;
  bool whole = true;
  const auto number = [&] {
    size_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      if (at == coded.size()) break;
      const size_t bits = static_cast<size_t>(coded[at++]);
      value |= bits % 128 << shift;
      if (bits < 128) return value;
    }
    whole = false;
    return size_t{0};
  };
  for (;;) {
    const size_t added = number();
    if (!whole || added > coded.size() - at || added > plain.size() - made) return false;
    if (added) std::memcpy(plain.data() + made, coded.data() + at, added);
    at += added, made += added;
    if (at == coded.size()) return made == plain.size();
    const size_t length = number() + kLeast, distance = number();
    if (!whole || distance == 0 || distance > made || length > plain.size() - made) return false;
    for (size_t i = 0; i < length; ++i, ++made) plain[made] = plain[made - distance];  // may read what it has just written
  }
}

}  // namespace minnow

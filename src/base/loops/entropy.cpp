// SPDX-License-Identifier: Apache-2.0
#include "base/entropy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#if defined(__x86_64__) && !MINNOW_SMALL
#include <immintrin.h>
#endif

// A code:
//   u32 width, u32 0, u64 plain bytes
//   for each plane (bytes width * i + plane): u32 1 and 256 u16 frequencies whose sum is 4096; or u32 0: its bytes follow as they are
//   for each part of 128 KiB of a plane that is coded: u32 bytes of its code
//   bytes of planes that are stored, then codes of parts, plane by plane
// The code of a part: 32 states (u32), then words (u16). Symbol i belongs to stream i % 32; a stream that falls below 2^16 takes the next
// word. All numbers are little-endian.
namespace minnow {
namespace {

constexpr size_t kStreams = 32, kPartSize = size_t{1} << 17, kHeader = 16;
constexpr uint32_t kBits = 12, kSum = 1 << kBits, kLeast = 1 << 16;
constexpr size_t kStates = kStreams * sizeof(uint32_t), kFrequencies = 256 * sizeof(uint16_t);

template <class T>
T read(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
#if !MINNOW_SMALL  // small builds only read codes
template <class T>
void append(std::vector<std::byte>& to, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

/// Frequencies that add up to kSum, at least 1 for each byte that occurs.
std::array<uint16_t, 256> frequencies_of(const std::array<uint64_t, 256>& counts, uint64_t all) {
  std::array<uint16_t, 256> result{};
  int64_t left = kSum;
  for (size_t s = 0; s < 256; ++s) {
    if (counts[s] == 0) continue;
    result[s] = static_cast<uint16_t>(std::max<uint64_t>(1, (counts[s] * kSum + all / 2) / all));
    left -= result[s];
  }
  // Frequent bytes pay for rare ones, or take what is left: a step costs them least.
  while (left != 0) {
    size_t best = 256;
    double least = 0;
    for (size_t s = 0; s < 256; ++s) {
      if (result[s] == 0 || (left < 0 && result[s] == 1)) continue;
      const double step = left < 0 ? -1 : 1, frequency = result[s];
      const double cost = -step * static_cast<double>(counts[s]) / (frequency + std::min(step, 0.0));
      if (best == 256 || cost < least) best = s, least = cost;
    }
    const int64_t most = std::max<int64_t>(1, std::abs(left) / 8), step = left < 0 ? -std::min<int64_t>(most, result[best] - 1) : most;
    result[best] = static_cast<uint16_t>(result[best] + step);
    left -= step;
  }
  return result;
}

struct Symbols {
  const std::byte* first;
  size_t stride, count;
  size_t operator[](size_t i) const noexcept { return static_cast<size_t>(first[i * stride]); }
};

std::vector<std::byte> code_of(const Symbols& symbols, const std::array<uint16_t, 256>& frequencies) {
  std::array<uint32_t, 256> before{};
  for (size_t s = 1; s < 256; ++s) before[s] = before[s - 1] + frequencies[s - 1];
  std::array<uint32_t, kStreams> states;
  states.fill(kLeast);
  std::vector<uint16_t> words;  // from the last to the first
  for (size_t i = symbols.count; i-- > 0;) {
    uint32_t& x = states[i % kStreams];
    const size_t symbol = symbols[i];
    const uint32_t frequency = frequencies[symbol];
    if (x >= static_cast<uint64_t>(frequency) << (32 - kBits)) words.push_back(static_cast<uint16_t>(x)), x >>= 16;
    x = (x / frequency << kBits) + x % frequency + before[symbol];
  }
  std::vector<std::byte> code;
  code.reserve(kStates + 2 * words.size());
  for (const uint32_t state : states) append(code, state);
  std::reverse(words.begin(), words.end());
  for (const uint16_t word : words) append(code, word);
  return code;
}
#endif

struct Streams {
  uint32_t states[kStreams];
  const std::byte *next, *end;
};

/// Decodes symbols `first` to `last`; `first` is a multiple of kStreams. False where words are missing.
bool decode_some(Streams& streams, const uint32_t* table, size_t first, size_t last, std::byte* to, size_t stride) noexcept {
  for (size_t i = first; i < last; ++i) {
    uint32_t& x = streams.states[i % kStreams];
    const uint32_t entry = table[x & (kSum - 1)];
    to[i * stride] = static_cast<std::byte>(entry);
    x = ((entry >> 8 & (kSum - 1)) + 1) * (x >> kBits) + (entry >> 20);
    if (x >= kLeast) continue;
    if (streams.end - streams.next < 2) return false;
    x = x << 16 | read<uint16_t>(streams.next);
    streams.next += 2;
  }
  return true;
}

#if defined(__x86_64__) && !MINNOW_SMALL
/// For each set of lanes that take a word: which word each lane takes.
struct Expansions {
  alignas(32) uint32_t word[256][8];
  Expansions() noexcept {
    for (unsigned set = 0; set < 256; ++set)
      for (unsigned lane = 0, word_of = 0; lane < 8; ++lane) word[set][lane] = set >> lane & 1 ? word_of++ : 0;
  }
};

/// Whole rounds of all streams, as long as words for one more are there: returns the symbols that are decoded.
__attribute__((target("avx2"))) size_t decode_rounds(Streams& streams, const uint32_t* table, size_t count, std::byte* to,
                                                     size_t stride) noexcept {
  static const Expansions expansions;
  constexpr size_t kVectors = kStreams / 8;
  __m256i x[kVectors];
  for (size_t v = 0; v < kVectors; ++v) x[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(streams.states + 8 * v));
  const __m256i low = _mm256_set1_epi32(kSum - 1), one = _mm256_set1_epi32(1), sign = _mm256_set1_epi32(INT32_MIN),
                least = _mm256_set1_epi32(static_cast<int>(kLeast ^ 0x80000000U));
  // The lowest bytes of eight numbers.
  const __m256i bytes = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1,
                                         -1, -1, -1, -1, -1, -1);
  const std::byte* next = streams.next;
  size_t i = 0;
  for (; i + kStreams <= count && streams.end - next >= static_cast<ptrdiff_t>(2 * kStreams); i += kStreams) {
    uint32_t symbols[kStreams / 4];
    for (size_t v = 0; v < kVectors; ++v) {
      const __m256i entry = _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), _mm256_and_si256(x[v], low), 4);
      const __m256i frequency = _mm256_add_epi32(_mm256_and_si256(_mm256_srli_epi32(entry, 8), low), one);
      __m256i state = _mm256_add_epi32(_mm256_mullo_epi32(frequency, _mm256_srli_epi32(x[v], kBits)), _mm256_srli_epi32(entry, 20));
      const __m256i below = _mm256_cmpgt_epi32(least, _mm256_xor_si256(state, sign));
      const unsigned set = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(below)));
      const __m256i words = _mm256_permutevar8x32_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(next))),
                                                        _mm256_load_si256(reinterpret_cast<const __m256i*>(expansions.word[set])));
      state = _mm256_blendv_epi8(state, _mm256_or_si256(_mm256_slli_epi32(state, 16), words), below);
      next += 2 * static_cast<unsigned>(__builtin_popcount(set));
      x[v] = state;
      const __m256i packed = _mm256_shuffle_epi8(entry, bytes);
      symbols[2 * v] = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm256_castsi256_si128(packed)));
      symbols[2 * v + 1] = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm256_extracti128_si256(packed, 1)));
    }
    if (stride == 1) {
      std::memcpy(to + i, symbols, kStreams);
    } else {
      const auto* each = reinterpret_cast<const std::byte*>(symbols);
      for (size_t k = 0; k < kStreams; ++k) to[(i + k) * stride] = each[k];
    }
  }
  for (size_t v = 0; v < kVectors; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(streams.states + 8 * v), x[v]);
  streams.next = next;
  return i;
}
#endif

}  // namespace

#if MINNOW_SMALL
std::vector<std::byte> entropy_coded(std::span<const std::byte>, size_t) { return {}; }
#else
std::vector<std::byte> entropy_coded(std::span<const std::byte> plain, size_t width) {
  if (plain.size() % width != 0 || plain.size() / width < kFrequencies) return {};
  const size_t count = plain.size() / width;
  std::vector<std::byte> head, sizes, stored;
  append(head, static_cast<uint32_t>(width)), append(head, uint32_t{0}), append(head, static_cast<uint64_t>(plain.size()));
  std::vector<std::vector<std::byte>> parts;
  for (size_t plane = 0; plane < width; ++plane) {
    const Symbols all{plain.data() + plane, width, count};
    std::array<uint64_t, 256> counts{};
    for (size_t i = 0; i < count; ++i) ++counts[all[i]];
    const std::array<uint16_t, 256> frequencies = frequencies_of(counts, count);
    std::vector<std::vector<std::byte>> of_plane((count + kPartSize - 1) / kPartSize);
    in_parts(static_cast<int64_t>(of_plane.size()), kPartSize, [&](int64_t first, int64_t last) {
      for (size_t p = static_cast<size_t>(first); p < static_cast<size_t>(last); ++p)
        of_plane[p] = code_of({all.first + p * kPartSize * width, width, std::min(kPartSize, count - p * kPartSize)}, frequencies);
    });
    size_t bytes = kFrequencies;
    for (const auto& part : of_plane) bytes += part.size() + sizeof(uint32_t);
    const bool pays = bytes < count - count / 50;
    append(head, uint32_t{pays});
    if (pays) {
      for (const uint16_t frequency : frequencies) append(head, frequency);
      for (auto& part : of_plane) append(sizes, static_cast<uint32_t>(part.size())), parts.push_back(std::move(part));
    } else {
      for (size_t i = 0; i < count; ++i) stored.push_back(all.first[i * width]);
    }
  }
  head.insert(head.end(), sizes.begin(), sizes.end());
  head.insert(head.end(), stored.begin(), stored.end());
  for (const auto& part : parts) head.insert(head.end(), part.begin(), part.end());
  if (head.size() > plain.size() - plain.size() / 20) return {};
  return head;
}
#endif

std::unique_ptr<EntropyCode> EntropyCode::open(std::span<const std::byte> coded, uint64_t plain_bytes) {
  std::span<const std::byte> rest = coded;
  const auto take = [&](uint64_t bytes) {
    const std::span<const std::byte> taken = rest.first(static_cast<size_t>(bytes));
    rest = rest.subspan(static_cast<size_t>(bytes));
    return taken;
  };
  if (rest.size() < kHeader) return nullptr;
  const std::byte* header = take(kHeader).data();
  const uint32_t width = read<uint32_t>(header);
  if ((width != 1 && width != 2 && width != 4 && width != 8) || read<uint32_t>(header + 4) != 0) return nullptr;
  if (read<uint64_t>(header + 8) != plain_bytes || plain_bytes % width != 0 || plain_bytes == 0) return nullptr;
  const uint64_t count = plain_bytes / width, parts_of_plane = (count + kPartSize - 1) / kPartSize;
  // Every part has its states, so that the tables below are in proportion to the file.
  if (parts_of_plane > coded.size() / sizeof(uint32_t)) return nullptr;
  auto code = std::make_unique<EntropyCode>();
  code->coded_ = coded, code->plain_bytes_ = static_cast<size_t>(plain_bytes), code->width_ = width;
  code->tables_.resize(width);
  uint64_t stored = 0, of_codes = 0;
  for (size_t plane = 0; plane < width; ++plane) {
    if (rest.size() < sizeof(uint32_t)) return nullptr;
    const uint32_t kind = read<uint32_t>(take(sizeof(uint32_t)).data());
    if (kind > 1) return nullptr;
    if (kind == 0) {
      stored += count;
      continue;
    }
    if (rest.size() < kFrequencies) return nullptr;
    const std::byte* frequencies = take(kFrequencies).data();
    auto table = std::make_unique<Table>();
    uint32_t slot = 0;
    for (uint32_t s = 0; s < 256; ++s) {
      const uint32_t frequency = read<uint16_t>(frequencies + 2 * s);
      if (frequency > kSum - slot) return nullptr;
      for (uint32_t i = 0; i < frequency; ++i) (*table)[slot++] = s | (frequency - 1) << 8 | i << 20;
    }
    if (slot != kSum) return nullptr;
    code->tables_[plane] = std::move(table);
    of_codes += parts_of_plane;
  }
  if (rest.size() < of_codes * sizeof(uint32_t)) return nullptr;
  const std::byte* sizes = take(of_codes * sizeof(uint32_t)).data();
  if (rest.size() < stored) return nullptr;
  std::span<const std::byte> as_is = take(stored);
  for (size_t plane = 0; plane < width; ++plane)
    for (uint64_t p = 0; p < parts_of_plane; ++p) {
      Part part{plane, static_cast<size_t>(p * kPartSize), static_cast<size_t>(std::min<uint64_t>(kPartSize, count - p * kPartSize)), {}};
      if (code->tables_[plane]) {
        const uint32_t size = read<uint32_t>(sizes);
        sizes += sizeof size;
        if (size < kStates || size > rest.size()) return nullptr;
        part.code = take(size);
      } else {
        part.code = as_is.first(part.count), as_is = as_is.subspan(part.count);
      }
      code->parts_.push_back(part);
    }
  return rest.empty() ? std::move(code) : nullptr;
}

bool EntropyCode::decode(size_t index, std::byte* plain) const noexcept {
  const Part& part = parts_[index];
  std::byte* to = plain + part.first * width_ + part.plane;
  if (!tables_[part.plane]) {
    if (width_ == 1) std::memcpy(to, part.code.data(), part.count);
    for (size_t i = 0; width_ != 1 && i < part.count; ++i) to[i * width_] = part.code[i];
    return true;
  }
  const uint32_t* table = tables_[part.plane]->data();
  Streams streams;
  std::memcpy(streams.states, part.code.data(), kStates);
  streams.next = part.code.data() + kStates, streams.end = part.code.data() + part.code.size();
  size_t done = 0;
#if defined(__x86_64__) && !MINNOW_SMALL
  static const bool has = __builtin_cpu_supports("avx2");
  if (has) done = decode_rounds(streams, table, part.count, to, width_);
#endif
  if (!decode_some(streams, table, done, part.count, to, width_) || streams.next != streams.end) return false;
  // The coder began with these.
  return std::all_of(streams.states, streams.states + kStreams, [](uint32_t state) { return state == kLeast; });
}

bool EntropyCode::decode(std::byte* plain) const {
  std::atomic<bool> whole{true};
  in_parts(static_cast<int64_t>(parts_.size()), kPartSize, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part)
      if (!decode(static_cast<size_t>(part), plain)) whole.store(false, std::memory_order_relaxed);
  });
  return whole.load();
}

}  // namespace minnow

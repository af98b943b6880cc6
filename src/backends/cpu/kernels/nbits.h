// SPDX-License-Identifier: Apache-2.0
// Products with columns of 2- to 8-bit numbers, computed in f32 from the packed numbers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

inline constexpr size_t kNBitsGroup = 32;  // numbers of a column that fill whole words: as many words as a number has bits
inline constexpr int kLeastBits = 2, kMostBits = 8;
inline constexpr size_t kMostNBitsRows = 8;  // that are multiplied together

/// Numbers of 3, 5 and 6 bits are stored as two: the lower two or four bits of the group, then the others. So four numbers are bytes of a
/// word after few shifts. The first is the numbers' width where there is one part.
constexpr int low_bits(int bits) { return bits == 3 ? 2 : bits == 5 || bits == 6 ? 4 : bits; }
/// The place of number `i` of a group in a part whose numbers have `width` bits: a word, and its lowest bit. Four successive numbers of
/// `low` bits that are in one field of the bytes of a word are in one field of the other part, too.
struct NBitsPlace {
  size_t word, bit;
};
constexpr NBitsPlace nbits_place(size_t i, size_t low, size_t width) {
  const size_t fields = 8 / low, word = i / (4 * fields), byte = i / fields % 4, step = word * fields + i % fields;
  return {step / (8 / width), 8 * byte + step % (8 / width) * width};
}

/// A panel: as many columns as a vector has lanes, each number less the middle of its range.
struct NBitsPanel {
  const uint32_t* words;  // [group][bits][lanes], the low_bits() of the numbers and then the others, each by nbits_place()
  const void* scales;     // [block][lanes], f32 or f16
  const float* zeros;     // [block][lanes], less the middle of the range; or null
  const uint8_t* bytes;   // the same as bytes; or null
  size_t block;           // numbers that share a scale: 16, or a multiple of 32
  int middle;             // of `bytes`
  bool half_scales;
};

/// A row of the left factor in whole numbers of steps: of three bytes, or of one. A unit has min(block, kNBitsGroup) numbers, which share a
/// step.
struct NBitsDigits {
  int32_t* digits;  // as many as there are numbers
  float* steps;     // of each unit
  float* sums;      // of each unit, in steps
};

/// kMostNBitsRows rows of the left factor in steps of one byte, of which `count` are there, for products with many of them. In each group
/// rows follow each other.
struct NBitsRows {
  const int32_t* digits;  // [group][row][kNBitsGroup / 4], four bytes each, in the order of NBitsDigits
  const float* steps;     // [group][row]
  const float* sums;
  size_t count;
  float* y;
  size_t stride;  // of y
};

/// Products in whole numbers. Null where there are none. Numbers in two parts have none for blocks of 16.
struct NBitsDigitKernels {
  bool needs_bytes = false;  // the machine has to run IntegerForm::bytes
  /// Whole groups of a, in units of `unit` numbers. False where that would lose more than it should: some numbers are infinite, NaN, or too
  /// small.
  bool (*split[kMostBits - kLeastBits + 1])(const float* a, size_t groups, size_t unit, bool one_byte, const NBitsDigits& to) = {};
  /// The product of `multiply` in whole numbers, where that is faster (else null): of three bytes, which round as f32 does, or of one.
  void (*multiply_digits[kMostBits - kLeastBits + 1])(const NBitsPanel& panel, const NBitsDigits& a, size_t groups, float* y) = {};
  void (*multiply_bytes[kMostBits - kLeastBits + 1])(const NBitsPanel& panel, const NBitsDigits& a, size_t groups, float* y) = {};
  /// multiply_bytes for several rows at once, in units of kNBitsGroup.
  void (*multiply_rows[kMostBits - kLeastBits + 1])(const NBitsPanel& panel, const NBitsRows& rows, size_t groups) = {};
};

struct NBitsKernels {
  // Null where there are none: for 7 bits, and for SSE4.
  /// [bits - kLeastBits]: y[lane] = sum over k of a[k] times number k of the column, for `groups` whole groups. `sums` are those of a in
  /// each block, where there are zero points.
  void (*multiply[kMostBits - kLeastBits + 1])(const NBitsPanel& panel, const float* a, const float* sums, size_t groups, float* y) = {};
  NBitsDigitKernels digits[2] = {};  // the faster ones first
  /// The columns' numbers from `begin` on, which begins a group, `count` of them filled up to whole groups: to[k * stride + lane].
  void (*unpack[kMostBits - kLeastBits + 1])(const NBitsPanel& panel, size_t begin, size_t count, float* to, size_t stride) = {};
};

}  // namespace minnow::cpu

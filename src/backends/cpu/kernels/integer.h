// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers, summed exactly in 32 bits and requantized, and the steps around them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/unary.h"
#include "base/share.h"

namespace minnow::cpu {

/// The form of a tile's factors.
///   words: x and w as 16-bit integers less their zero points, in pairs of channels; for any values.
///   bytes: x as u8 (or i8, if the kernels say so) and w as i8, in groups of four channels, on machines that multiply and add these
///   exactly.
///   matrices: the same bytes in groups of eight channels, for machines that multiply two pixels at once. The layout of x is
///   [eight channels][pixel][channel].
///   amx: as bytes, for the tile registers of AMX, which multiply 16 pixels by 16 outputs and up to 16 groups of channels at once.
enum class IntegerForm : uint8_t { words, bytes, matrices, amx };
inline constexpr size_t kIntegerForms = 4;
#if defined(__x86_64__)
inline constexpr bool kHasAmx = true;  // on some machines
#else
inline constexpr bool kHasAmx = false;
#endif
/// Channels that are multiplied at once, and bytes that they take.
inline constexpr size_t channels_at_once(IntegerForm form) {
  constexpr size_t kChannels[kIntegerForms] = {2, 4, 8, 4};
  return kChannels[static_cast<size_t>(form)];
}
inline constexpr size_t group_bytes(IntegerForm form) { return form == IntegerForm::matrices ? 8 : 4; }
inline constexpr size_t element_bytes(IntegerForm form) { return form == IntegerForm::words ? 2 : 1; }
/// Groups of a tap. In amx they are equal pieces of at most kAmxGroups, so that a tap may have more than its channels; the weights of these
/// are 0, and x is read up to kAmxGroups groups beyond.
inline constexpr size_t kAmxGroups = 16;
inline constexpr size_t groups_of(IntegerForm form, size_t channels) {
  const size_t groups = (channels + channels_at_once(form) - 1) / channels_at_once(form);
  if (!kHasAmx || form != IntegerForm::amx) return groups;
  const size_t pieces = (groups + kAmxGroups - 1) / kAmxGroups;
  return pieces * ((groups + pieces - 1) / pieces);
}

/// An activation in f32 before bytes are made: a function of (x, a, b); or if it is null, of z = slope x, x min(max(z + a, b), high), or
/// where it is smooth x / (1 + 2^(z (1 + a z^2))) to four digits, more than bytes need.
struct ByteActivation {
  UnaryFunction function = nullptr;
  float a = 0, b = 0, high = 0;
  bool smooth = false;
};

/// A tensor of bytes that lies as y does, `from_y` bytes away, is added before results become bytes: (byte - zero_point) step, in steps of
/// y.
struct ByteResidual {
  float step = 0;  // 0: there is none
  int32_t zero_point = 0;
  bool is_signed = false;
  ptrdiff_t from_y = 0;
};

struct IntegerTile;
/// `rows` vectors of sums of the tile's vector n, next to each other, become bytes `stride` apart. x is overwritten, `bias` is added to it.
using ActivateFunction = void (*)(int32_t* x, size_t rows, const IntegerTile& tile, size_t n, const int32_t* bias, uint8_t* y,
                                  ptrdiff_t stride);

/// s[row][n] = bias[n] + sum over tap, channel of x[row, tap, channel] w[tap][channel][n], n over two vectors of lanes, and
/// y[row][n] = zero_point + clamp(round((s[row][n] + addend[n]) multiplier[n])), or s[row][n] itself, or in f32 clamp((s[row][n] +
/// addend[n]) multiplier[n]). A tile of `rows` rows is two runs, the first of (rows + 1) / 2. Distances are in bytes.
struct IntegerTile {
  const uint8_t* x[2];
  const ptrdiff_t* taps;  // the offset of every tap from x
  size_t tap_count = 1;
  size_t groups = 0;           // of channels per tap (groups_of)
  ptrdiff_t row_stride = 0;    // of x; in matrices rows are next to each other, and one beyond either run may be read
  ptrdiff_t group_stride = 0;  // of x in matrices; in other forms groups are next to each other
  const uint8_t* w;            // [tap][group][two vectors][lane][channel of the group]
  const int32_t* bias;
  const float* multiplier;
  const float* addend = nullptr;  // the part of a bias beyond `bias`, added in f32; null: none
  float low = 0, high = 0;        // bounds of the result less the zero point
  int32_t zero_point = 0;
  bool is_signed = false;  // y is i8
  // y = zero_point + clamp(round(f((s + addend) multiplier) factor)) for a function f. The other activation is computed in steps of y:
  // `multiplier` contains the factor, and `factor` is the slope divided by it.
  ActivateFunction activate = nullptr;  // null: there is no activation
  const ByteActivation* activation = nullptr;
  const float* factor = nullptr;
  ByteResidual residual;  // beside `activate` alone, without another activation
  const int32_t* row_terms =
      nullptr;         // for IntegerKernels::finish_rows: a number for each row of y, from y[0] on, which is added to its sums
  bool raw = false;    // y is the sums, i32, or made of them in f32 if there is a multiplier
  size_t vectors = 2;  // that are written
  size_t rows = 0;
  mutable uint32_t registers = 0;  // amx: what the tile registers are configured for, which tiles of one loop share
  uint8_t* y[2];
  ptrdiff_t pixel_stride = 0, vector_stride = 0;  // of y
};
using IntegerTileFunction = void (*)(const IntegerTile&);

inline constexpr int kMostIntegerRows = 32;

/// Bytes minus their zero point, or as u8.
struct ByteSource {
  const uint8_t* from;
  bool is_signed = false;
  int32_t zero_point = 0;
};

/// A sum of bytes: y = clamp(((a factor[0] + b factor[1] + offset) >> shift) + zero_point, low, high), wrapping around at 32 bits.
struct ByteSum {
  int32_t factor[2], offset, zero_point, low, high;
  int shift;
  bool is_signed;
};

/// A sum of bytes in f32: y = clamp(round(f((a - zero of a) first + b second + offset)), low, high) + zero_point, where f(x) is x, or slope
/// x below 0. NaN becomes the zero point. `first`, `offset` and `slopes` are vectors, a number for each lane.
struct ByteBlend {
  const float *first, *offset, *slopes;  // slopes: null: f(x) = x
  float second, low, high;
  int32_t a_zero, zero_point;
  bool x_is_signed, y_is_signed;  // x: a and b
};

/// y = min(max(round(f(a first + b second)), low), high), f as above or, if `unit` is not 0, f(x) = x min(max(unit x / 6 + 1/2, 0), 1).
struct RealBlend {
  const float *first, *slopes;
  float second, low, high, unit;
};

struct IntegerKernels {
  int rows[kIntegerForms];                          // most rows of a tile of each form
  const IntegerTileFunction* tiles[kIntegerForms];  // [form][rows]; null: there is none
  int lanes;                                        // of a vector of sums
  bool signed_bytes;                                // the forms of bytes take x as i8
  void (*release)();                                // the tile registers, behind the last tile of a loop in the form amx
  /// `count` vectors of `lanes` bytes, `step` bytes apart, next to each other in a form: of bytes plus their offset (below), for words as
  /// 16-bit numbers less the zero point. `to_step`: bytes between the results.
  void (*arrange)(IntegerForm form, const ByteSource& source, size_t step, size_t count, uint8_t* to, size_t to_step);
  /// to[4 i + c] = from[c][i] ^ flip: four bytes for each of `count` places. Null: there is none.
  void (*interleave)(const uint8_t* const from[4], size_t count, uint8_t flip, uint8_t* to);
  /// y = clamp(round(x / scale) + zero_point) as u8 or i8; NaN becomes the zero point.
  void (*quantize)(const float* x, size_t count, float scale, int32_t zero_point, bool is_signed, uint8_t* y);
  /// y = (x - zero_point) scale.
  void (*dequantize)(const ByteSource& source, size_t count, float scale, float* y);
  /// most[i] = max(most[i], x[i step]) of `count` vectors of `lanes` bytes, those of `most` next to each other; step counts vectors.
  void (*maximum)(const uint8_t* x, size_t step, size_t count, bool is_signed, uint8_t* most);
  /// y = clamp(round((x + bias + addend) multiplier)) + zero_point for exact integers x, or as in a raw tile: `count` vectors; each lane
  /// has its own bias, addend and multiplier. Uses the fields of `to` that describe the result.
  void (*requantize)(const float* x, size_t count, const IntegerTile& to);
  /// For IntegerTile::activate. Adds the residual or activates.
  ActivateFunction activate;
  /// The same where each row has a term of its own. Null: there is none.
  ActivateFunction finish_rows;
  bool activates_smoothly;  // ByteActivation may be smooth: a SiLU took half the time of the function's with AVX-512, 0.95 with AVX2
  /// y = table[x], a table of 256 bytes; y may be x. Null: there is none.
  void (*lookup)(const uint8_t* x, size_t count, const uint8_t* table, uint8_t* y);
  /// `count` bytes; y may be a or b.
  void (*sum)(const uint8_t* a, const uint8_t* b, size_t count, const ByteSum& how, uint8_t* y);
  /// `count` bytes. y may be a or b. Null: there is none.
  void (*blend)(const uint8_t* a, const uint8_t* b, size_t count, const ByteBlend& how, uint8_t* y);
  /// `count` floats; b may be null: nothing is added. y may be a or b. Null: there is none.
  void (*blend_reals)(const float* a, const float* b, size_t count, const RealBlend& how, float* y);
  /// y = round(min(max(x / divisor, low), high)); the divisor is between 1e-25 and 1e25. Null: there is none.
  void (*round_quotients)(const float* x, size_t count, float divisor, float low, float high, float* y);
};

inline int most_rows(const IntegerKernels& kernels, IntegerForm form) { return kernels.rows[static_cast<int>(form)]; }
/// The number that gives x the sign that the kernels want: 0, 128 or -128.
inline int32_t byte_offset(const IntegerKernels& kernels, bool x_is_signed) {
  return x_is_signed == kernels.signed_bytes ? 0 : x_is_signed ? 128 : -128;
}

/// Whether this machine runs a form.
bool runs(const IntegerKernels& kernels, IntegerForm form);
/// The fastest that it runs for taps of so many channels, for weights that are i8 less their zero points or not.
IntegerForm best_form(const IntegerKernels& kernels, bool weights_are_bytes, size_t channels);

/// A loop over tiles of one form.
class IntegerTiles {
 public:
  IntegerTiles(const IntegerKernels& kernels, size_t lanes, IntegerForm form)
      : functions_(kernels.tiles[static_cast<size_t>(form)]),
        release_(kHasAmx && form == IntegerForm::amx ? kernels.release : nullptr),
        lanes_(lanes) {}
  IntegerTiles(const IntegerTiles&) = delete;
  ~IntegerTiles() {
    if (kHasAmx && release_) release_();
  }
  void run(const IntegerTile& tile) const {
    // In the form amx tiles activate their sums themselves.
    if (tile.activate && !(kHasAmx && release_)) return run_activated(tile);
    functions_[tile.rows](tile);
  }

 private:
  void run_activated(const IntegerTile& tile) const;
  const IntegerTileFunction* functions_;
  void (*release_)();
  size_t lanes_;
};

/// The rows of `tiles` tiles that cover `count` rows. In the form amx all have the same height, so that the tile registers are configured
/// once, and the last one may begin before the end of the one ahead. Configuring them took 9 % of tiles' time (mobilenet_v2, 2026-11-29).
class TileRows {
 public:
  TileRows(IntegerForm form, size_t count, size_t tiles)
      : count_(count), tiles_(tiles), height_(kHasAmx && form == IntegerForm::amx ? ceil_div(count, tiles) : 0) {}
  size_t begin(size_t i) const noexcept { return kHasAmx && height_ ? std::min(i * height_, count_ - height_) : share(count_, tiles_, i); }
  size_t rows(size_t i) const noexcept { return kHasAmx && height_ ? height_ : share(count_, tiles_, i + 1) - share(count_, tiles_, i); }

 private:
  size_t count_, tiles_, height_;
};

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/large/byte_panels.h"
#include <algorithm>
#include <cstring>

#include "backends/cpu/schemes/quantized.h"
#include "base/saturating.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr ptrdiff_t kOneTap = 0;
constexpr size_t kMostColumns = 32;

}  // namespace

BytePanels::BytePanels(const Kernels& kernels, size_t depth, size_t outputs, bool is_signed)
    : kernels_(kernels),
      depth_(depth),
      outputs_(outputs),
      lanes_(kernels.lanes),
      is_signed_(is_signed),
      form_(best_form(*kernels.integer, true, depth)),
      shift_(is_signed ? 0 : 128),
      groups_(groups_of(form_, depth)),
      pairs_(ceil_div(outputs, kPair * lanes_)),
      panel_bytes_(product_of({groups_, kPair, lanes_, group_bytes(form_)})),
      row_(align_up(groups_ * group_bytes(form_) + lanes_ * 2)),
      terms_(groups_ * channels_at_once(form_), ByteWeights::kNoTerm) {
  for (size_t k = 0; k < depth; ++k) terms_[k] = k;
}

void BytePanels::pack(const uint8_t* from, size_t term_step, size_t output_step, int32_t zero, size_t pair, uint8_t* panel) const noexcept {
  const size_t first = pair * columns(), used = std::min(columns(), outputs_ - first);
  const bool fours = form_ == IntegerForm::bytes || (kHasAmx && form_ == IntegerForm::amx);
  const uint8_t flip = is_signed_ ? 0 : 0x80;
  constexpr size_t kFour = 4;
  const size_t group = columns() * kFour, whole = depth_ / kFour;
  if (fours && output_step == 1) {
    uint8_t none[kMostColumns];
    std::memset(none, flip, sizeof none);
    if (used < columns()) std::memset(panel, 0, panel_bytes_);
    const size_t packed = ceil_div(depth_, kFour);
    std::memset(panel + packed * group, 0, (groups_ - packed) * group);
    for (size_t g = 0; g < packed; ++g) {
      const uint8_t* rows[kFour];
      for (size_t i = 0; i < kFour; ++i) rows[i] = g * kFour + i < depth_ ? from + (g * kFour + i) * term_step + first : none;
      kernels_.integer->interleave(rows, used, flip, panel + g * group);
    }
    return;
  }
  if (fours && term_step == 1 && depth_ % kFour == 0 && output_step % kFour == 0) {  // four terms move as a number of f32 does
    std::memset(panel + whole * group, 0, (groups_ - whole) * group);
    if (used < columns()) std::memset(panel, 0, panel_bytes_);
    kernels_.layout->transpose(reinterpret_cast<const float*>(from + first * output_step), output_step / kFour, used, whole,
                               reinterpret_cast<float*>(panel), columns());
    if (flip) {
      const ByteSource flipped{panel, !kernels_.integer->signed_bytes, 0};
      kernels_.integer->arrange(IntegerForm::bytes, flipped, lanes_, whole * group / lanes_, panel, lanes_);
    }
    return;
  }
  const ByteWeights w{from, is_signed_, nullptr, outputs_, depth_, output_step, term_step, form_ == IntegerForm::words ? zero : shift_};
  w.pack(form_, terms_, first, first + used, columns(), panel);
}

void BytePanels::sum_terms(const uint8_t* panel, int32_t* sums) const noexcept {
  std::fill_n(sums, columns(), 0);
  if (form_ == IntegerForm::words) return;
  // A row of ones.
  constexpr size_t kBytes = 512;
  alignas(64) uint8_t ones[kBytes + 64];
  std::memset(ones, 1, sizeof ones);
  const bool bytes = kHasAmx && form_ == IntegerForm::amx;
  const IntegerForm form = bytes ? IntegerForm::bytes : form_;
  IntegerTile t = tile(1);
  const IntegerTiles tiles(*kernels_.integer, lanes_, form);
  alignas(64) int32_t some[kMostColumns];
  const int32_t none[kMostColumns] = {};
  t.bias = none;
  t.raw = true;
  t.x[0] = t.x[1] = ones;
  t.group_stride = 0;
  t.y[0] = t.y[1] = reinterpret_cast<uint8_t*>(some);
  t.vector_stride = static_cast<ptrdiff_t>(lanes_ * sizeof(int32_t));
  t.rows = 1;
  const size_t most = form == IntegerForm::matrices ? groups_ : kBytes / group_bytes(form);
  for (size_t g = 0; g < groups_; g += most) {
    t.groups = std::min(most, groups_ - g);
    t.w = panel + g * columns() * group_bytes(form);
    tiles.run(t);
    for (size_t i = 0; i < columns(); ++i) sums[i] += some[i];
  }
}

void BytePanels::arrange(const ByteSource& x, size_t stride, size_t count, uint8_t* rows) const noexcept {
  for (size_t r = 0; r < count; ++r)
    arrange_rows(kernels_, form_, {x.from + r * stride, x.is_signed, x.zero_point}, depth_, 1, row_stride(), count * row_stride(),
                 rows + r * row_stride());
}

IntegerTile BytePanels::tile(size_t count) const noexcept {
  IntegerTile t{};
  t.taps = &kOneTap;
  t.groups = groups_;
  t.row_stride = static_cast<ptrdiff_t>(row_stride());
  t.group_stride = static_cast<ptrdiff_t>(count * row_stride());
  return t;
}

void BytePanels::multiply(IntegerTile& t, const IntegerTiles& tiles, const uint8_t* rows, size_t count, uint8_t* y,
                          size_t y_row) const noexcept {
  const size_t parts = ceil_div(count, static_cast<size_t>(most_rows(*kernels_.integer, form_)));
  const TileRows heights(form_, count, parts);
  const int32_t* const terms = t.row_terms;
  t.pixel_stride = static_cast<ptrdiff_t>(y_row);
  for (size_t i = 0; i < parts; ++i) {
    const size_t from = heights.begin(i), height = heights.rows(i), half = (height + 1) / 2;
    t.x[0] = rows + from * row_stride();
    t.x[1] = t.x[0] + half * row_stride();
    t.y[0] = y + from * y_row;
    t.y[1] = t.y[0] + half * y_row;
    t.rows = height;
    if (terms) t.row_terms = terms + from;
    tiles.run(t);
  }
  t.row_terms = terms;
}

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/schemes/loops/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

constexpr int64_t kBytesPerPiece = 64 << 10;  // less is not worth waking a thread for

struct Wide {  // 16 bytes, for complex128
  uint64_t words[2];
};

// A matrix whose rows are contiguous in the destination and whose columns are contiguous in the source: by tiles, so that the cache lines
// of both sides are used whole, and in these by squares of two places, which compilers make of vectors (1000 x 1000 f32 0.34 ms -> 0.22,
// f64 0.60 -> 0.39; Zen 4, 2026-11-22).
template <class T>
void transpose(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t r1 = std::min(rows, r0 + kTile), c1 = std::min(columns, c0 + kTile);
      int64_t r = r0;
      for (; r + 2 <= r1; r += 2) {
        const T* in = from + r;
        T *upper = to + r * to_row, *lower = upper + to_row;
        int64_t c = c0;
        for (; c + 2 <= c1; c += 2) {
          const T *left = in + c * from_row, *right = left + from_row;
          const T a = left[0], b = left[1], d = right[0], e = right[1];
          upper[c] = a, upper[c + 1] = d, lower[c] = b, lower[c + 1] = e;
        }
        if (c < c1) upper[c] = in[c * from_row], lower[c] = in[c * from_row + 1];
      }
      for (; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c) to[r * to_row + c] = from[r + c * from_row];
    }
}

}  // namespace

std::vector<StridedCopy::Axis> plain_axes(const Shape& shape) {
  std::vector<StridedCopy::Axis> axes(shape.rank());
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0; stride *= shape[i]) axes[i] = {shape[i], stride, stride};
  return axes;
}

StridedCopy::StridedCopy(std::vector<Axis> axes, int64_t to_offset, int64_t from_offset, size_t element_bytes)
    : to_offset_(to_offset), from_offset_(from_offset), size_(element_bytes) {
  for (const Axis& axis : axes) {
    elements_ *= axis.extent;
    if (axis.extent == 1) continue;
    // Two neighbours that are one run on both sides are one axis.
    if (!axes_.empty() && axes_.back().to == axis.to * axis.extent && axes_.back().from == axis.from * axis.extent)
      axes_.back() = {axes_.back().extent * axis.extent, axis.to, axis.from};
    else
      axes_.push_back(axis);
  }
  while (axes_.size() < 2) axes_.insert(axes_.begin(), {1, 0, 0});
  const int64_t inner = elements_ / std::max<int64_t>(1, axes_[0].extent) * static_cast<int64_t>(size_);
  if (elements_ > 0 && axes_[0].extent > 1)
    pieces_ = static_cast<size_t>(std::clamp<int64_t>(axes_[0].extent * inner / kBytesPerPiece, 1, std::min<int64_t>(axes_[0].extent, 64)));
}

template <class T>
void StridedCopy::copy(const T* from, T* to, int64_t begin, int64_t end) const noexcept {
  const size_t rank = axes_.size();
  const Axis &rows = axes_[rank - 2], &columns = axes_[rank - 1];
  int64_t index[64] = {};
  from += from_offset_;
  to += to_offset_;
  if (rank > 2) from += begin * axes_[0].from, to += begin * axes_[0].to;
  const int64_t row_begin = rank == 2 ? begin : 0, row_end = rank == 2 ? end : rows.extent;
  index[0] = begin;
  for (;;) {
    if (columns.to == 1 && columns.from == 1) {
      const size_t bytes = static_cast<size_t>(columns.extent) * sizeof(T);
      for (int64_t r = row_begin; r < row_end; ++r) std::memcpy(to + r * rows.to, from + r * rows.from, bytes);
    } else if (columns.to == 1 && columns.from == 0) {
      for (int64_t r = row_begin; r < row_end; ++r) std::fill_n(to + r * rows.to, columns.extent, from[r * rows.from]);
    } else if (columns.to == 1 && rows.from == 1) {
      transpose(from + row_begin, columns.from, to + row_begin * rows.to, rows.to, row_end - row_begin, columns.extent);
    } else {
      for (int64_t r = row_begin; r < row_end; ++r) {
        const T* in = from + r * rows.from;
        T* out = to + r * rows.to;
        for (int64_t c = 0; c < columns.extent; ++c) out[c * columns.to] = in[c * columns.from];
      }
    }
    if (rank == 2) return;
    size_t axis = rank - 2;
    for (;;) {
      if (axis == 0) return;
      --axis;
      const int64_t limit = axis == 0 ? end : axes_[axis].extent, start = axis == 0 ? begin : 0;
      from += axes_[axis].from, to += axes_[axis].to;
      if (++index[axis] < limit) break;
      from -= (index[axis] - start) * axes_[axis].from, to -= (index[axis] - start) * axes_[axis].to;
      index[axis] = start;
    }
  }
}

void StridedCopy::run(size_t piece, const void* from, void* to) const noexcept {
  if (elements_ == 0) return;
  const int64_t extent = axes_[0].extent, count = static_cast<int64_t>(pieces_), p = static_cast<int64_t>(piece);
  const int64_t begin = extent * p / count, end = extent * (p + 1) / count;
  if (begin == end) return;
  switch (size_) {
    case 1:
      return copy(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), begin, end);
    case 2:
      return copy(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), begin, end);
    case 4:
      return copy(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), begin, end);
    case 8:
      return copy(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), begin, end);
    default:
      return copy(static_cast<const Wide*>(from), static_cast<Wide*>(to), begin, end);
  }
}

}  // namespace minnow::cpu

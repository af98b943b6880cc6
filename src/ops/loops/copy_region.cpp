// SPDX-License-Identifier: Apache-2.0
#include "ops/copy_region.h"

#include <array>
#include <cstring>

namespace minnow {
namespace {

struct Axis {
  int64_t extent, from, to;  // strides in bytes
};

template <class T>
void copy_column(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i, from += from_stride, to += to_stride) std::memcpy(to, from, sizeof(T));
}

void copy_row(size_t size, const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t count) {
  const int64_t dense = static_cast<int64_t>(size);
  if (from_stride == dense && to_stride == dense) {
    std::memcpy(to, from, size * static_cast<size_t>(count));
    return;
  }
  switch (size) {
    case 1:
      return copy_column<uint8_t>(from, from_stride, to, to_stride, count);
    case 2:
      return copy_column<uint16_t>(from, from_stride, to, to_stride, count);
    case 4:
      return copy_column<uint32_t>(from, from_stride, to, to_stride, count);
    case 8:
      return copy_column<uint64_t>(from, from_stride, to, to_stride, count);
    default:
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
  }
}

}  // namespace

void copy_region(size_t element_size, const Shape& extent, const void* from, std::span<const int64_t> from_strides, void* to,
                 std::span<const int64_t> to_strides) {
  if (extent.elements() == 0) return;
  const int64_t size = static_cast<int64_t>(element_size);
  std::array<Axis, kMaxRank + 1> axes;
  size_t rank = 0;
  for (size_t i = 0; i < extent.rank(); ++i) {
    if (extent[i] == 1) continue;
    const Axis axis{extent[i], from_strides[i] * size, to_strides[i] * size};
    Axis* outer = rank ? &axes[rank - 1] : nullptr;
    if (outer && outer->from == axis.from * axis.extent && outer->to == axis.to * axis.extent)
      *outer = {outer->extent * axis.extent, axis.from, axis.to};
    else
      axes[rank++] = axis;
  }
  if (rank == 0) axes[rank++] = {1, size, size};
  const Axis row = axes[--rank];
  std::array<int64_t, kMaxRank> index{};
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  for (;;) {
    copy_row(element_size, source, row.from, target, row.to, row.extent);
    size_t axis = rank;
    for (; axis > 0; --axis) {
      const Axis& a = axes[axis - 1];
      source += a.from, target += a.to;
      if (++index[axis - 1] < a.extent) break;
      source -= a.from * a.extent, target -= a.to * a.extent;
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

void fill_elements(size_t element_size, const void* element, size_t count, void* to) {
  if (count == 0) return;
  // Doubling what is written already: few calls, whatever the element size.
  char* target = static_cast<char*>(to);
  const size_t bytes = element_size * count;
  std::memcpy(target, element, element_size);
  for (size_t done = element_size; done < bytes;) {
    const size_t n = done < bytes - done ? done : bytes - done;
    std::memcpy(target + done, target, n);
    done += n;
  }
}

}  // namespace minnow

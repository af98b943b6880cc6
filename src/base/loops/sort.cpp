// SPDX-License-Identifier: Apache-2.0
#include "base/sort.h"

#include <algorithm>
#include <limits>

#include "base/watch.h"

namespace minnow {

void sort_indices(std::span<size_t> indices, FunctionRef<bool(size_t, size_t)> before) {
  std::stable_sort(indices.begin(), indices.end(), before);
}

void sort_indices(std::span<int64_t> indices, FunctionRef<bool(size_t, size_t)> before) {
  if constexpr (sizeof(size_t) == sizeof(int64_t))
    sort_indices({reinterpret_cast<size_t*>(indices.data()), indices.size()}, before);
  else
    std::stable_sort(indices.begin(), indices.end(),
                     [&](int64_t a, int64_t b) { return before(static_cast<size_t>(a), static_cast<size_t>(b)); });
}

void sort_first(std::span<size_t> indices, size_t count, FunctionRef<bool(size_t, size_t)> before) {
  std::partial_sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(count), indices.end(), before);
}

void sort_numbers(std::span<uint64_t> numbers) noexcept { std::sort(numbers.begin(), numbers.end()); }

namespace {

constexpr size_t kInserted = 16;  // so many are kept in order all the time

/// std::sort in parts between which a run may stop; the rest is then left as it is.
void sort_unless_stopped(uint64_t* begin, uint64_t* end) noexcept {
  constexpr ptrdiff_t kPart = ptrdiff_t{1} << 18;
  if (end - begin <= kPart) return std::sort(begin, end);
  if (Watch::stopping()) return;
  uint64_t* const middle = begin + (end - begin) / 2;
  std::nth_element(begin, middle, end);
  sort_unless_stopped(begin, middle);
  sort_unless_stopped(middle, end);
}

}  // namespace

size_t first_floats_scratch(size_t wanted) noexcept { return wanted <= kInserted ? wanted : wanted + std::max<size_t>(wanted, 64); }

void first_floats(const float* x, size_t length, size_t step, bool largest, size_t wanted, uint64_t* found) noexcept {
  const float sign = largest ? 1.0f : -1.0f;
  // A value no better than the bar comes too late. NaN: none does.
  float bar = std::numeric_limits<float>::quiet_NaN();
  uint64_t last = std::numeric_limits<uint64_t>::max();  // of the first `wanted` so far
  size_t count = 0;
  const size_t most = first_floats_scratch(wanted);
  const auto raise = [&] {
    last = found[wanted - 1];
    bar = sign * x[(last & 0xffffffffu) * step];
  };
  const auto look = [&](size_t place) {
    const float value = x[place * step];
    if (sign * value <= bar) return;
    // The earlier of two elements has the smaller number: value in the upper half, position in the lower half.
    const uint64_t one = uint64_t{largest ? ~order_key(value) : order_key(value)} << 32 | place;
    if (one >= last) return;
    if (wanted > kInserted) {
      found[count++] = one;
      if (count < most) return;
      std::nth_element(found, found + wanted - 1, found + count);
      count = wanted;
      return raise();
    }
    size_t at = count < wanted ? count++ : wanted - 1;
    for (; at > 0 && found[at - 1] > one; --at) found[at] = found[at - 1];
    found[at] = one;
    if (count == wanted) raise();
  };
  size_t place = 0;
  for (; place + 4 <= length; place += 4) {
    const float* four = x + place * step;
    if ((sign * four[0] <= bar) & (sign * four[step] <= bar) & (sign * four[2 * step] <= bar) & (sign * four[3 * step] <= bar)) continue;
    for (size_t k = 0; k < 4; ++k) look(place + k);
  }
  for (; place < length; ++place) look(place);
  if (wanted <= kInserted) return;
  std::nth_element(found, found + wanted - 1, found + count);
  sort_unless_stopped(found, found + wanted);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Dimensions of what moves elements: Transpose, Concat, Reshape, Slice, Pad and their like.
#include <algorithm>
#include <limits>

#include "passes/infer_dims_rules.h"

namespace minnow {

std::optional<DimRules::Unsure> DimRules::transpose() {
  const auto x = in(0);
  const Ints* order = ints_attribute(node_, "perm");
  if (!x || (order && order->size() != x->size())) return {};
  Unsure y;
  for (size_t i = 0; i < x->size(); ++i) {
    const auto from = order ? positive_axis((*order)[i], x->size()) : x->size() - 1 - i;
    if (!from) return {};
    y.push_back((*x)[*from]);
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::concat() {
  std::optional<Unsure> y;
  std::optional<Size> sum(Size(0));
  std::optional<size_t> axis;
  for (size_t i = 0; i < node_.input_count(); ++i) {
    const auto x = in(i);
    if (!x || (y && y->size() != x->size())) {
      sum.reset();  // an input of unknown shape still has the others' dimensions, less the axis
      if (x) return {};
      continue;
    }
    if (!y) y = sure(*x), axis = positive_axis(integer("axis", 0), x->size());
    if (!axis) return {};
    sum = sum ? Size::add(*sum, (*x)[*axis]) : std::nullopt;
    for (size_t k = 0; k < x->size(); ++k)
      if ((*x)[k].is_number()) (*y)[k] = (*x)[k];
  }
  if (y) (*y)[*axis] = sum;
  return y;
}

std::optional<DimRules::Unsure> DimRules::channel_shuffle(size_t output) {
  const auto x = in(0);
  if (!x || x->size() < 2) return {};
  Unsure y = sure(*x);
  if (const Ints* sizes = ints_attribute(node_, "sizes")) {
    y[1] = output < sizes->size() ? std::optional(Size((*sizes)[output])) : std::nullopt;
    return y;
  }
  for (size_t i = 1; i < node_.input_count(); ++i) {
    const auto part = in(i);
    y[1] = y[1] && part && part->size() == x->size() ? Size::add(*y[1], (*part)[1]) : std::nullopt;
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::split(size_t output) {
  const auto x = in(0);
  const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
  if (!axis) return {};
  Unsure y = sure(*x);
  y[*axis].reset();
  if (const auto parts = ints_of(node_.input(1)); parts && output < parts->size()) {
    y[*axis] = Size((*parts)[output]);
  } else if (!node_.input(1)) {
    y[*axis] = Size::divide_exactly((*x)[*axis], Size(static_cast<int64_t>(node_.output_count())));
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::reshape() {
  const auto x = in(0);
  const auto wanted = ints_of(node_.input(1));
  if (!wanted) {
    const auto rank = node_.input(1) ? dim_of(*node_.input(1), 0) : std::nullopt;
    return rank && *rank <= static_cast<int64_t>(kMaxRank) ? std::optional(unknown(static_cast<size_t>(*rank))) : std::nullopt;
  }
  const bool zero_is_size = integer("allowzero", 0) != 0;
  Unsure shape;
  for (int64_t dim : *wanted) shape.emplace_back(Size(dim));
  if (x && !zero_is_size)
    if (const auto sizes = reshaped_sizes(*x, shape)) return sure(*sizes);
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool copied = shape[i]->is(0) && !zero_is_size;
    if (copied && x && i < x->size())
      shape[i] = (*x)[i];
    else if (copied || shape[i]->is(-1))
      shape[i].reset();
  }
  return shape;
}

std::optional<DimRules::Unsure> DimRules::flatten() {
  const auto x = in(0);
  if (!x) return unknown(2);
  const int64_t rank = static_cast<int64_t>(x->size());
  int64_t axis = integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return {};
  Unsure y{Size(1), Size(1)};
  for (size_t i = 0; i < x->size(); ++i) {
    auto& to = y[static_cast<int64_t>(i) < axis ? 0 : 1];
    to = to ? Size::multiply(*to, (*x)[i]) : std::nullopt;
  }
  return y;
}

// The axes of input `i`, as a set; nothing where they are not known.
std::optional<std::vector<bool>> DimRules::axes(size_t i, size_t rank) const {
  const auto list = ints_of(node_.input(i));
  if (!list) return {};
  std::vector<bool> set(rank);
  for (int64_t axis : *list) {
    const auto place = positive_axis(axis, rank);
    if (!place) return {};
    set[*place] = true;
  }
  return set;
}

std::optional<DimRules::Unsure> DimRules::squeeze() {
  const auto x = in(0);
  const auto dropped = x && node_.input(1) ? axes(1, x->size()) : std::nullopt;
  if (!dropped) return {};
  Unsure y;
  for (size_t i = 0; i < x->size(); ++i)
    if (!(*dropped)[i]) y.push_back((*x)[i]);
  return y;
}

std::optional<DimRules::Unsure> DimRules::unsqueeze() {
  const auto x = in(0);
  const auto list = ints_of(node_.input(1));
  if (!x || !list || x->size() + list->size() > kMaxRank) return {};
  const auto added = axes(1, x->size() + list->size());
  if (!added || static_cast<size_t>(std::count(added->begin(), added->end(), true)) != list->size()) return {};
  Unsure y;
  for (size_t i = 0, k = 0; i < added->size(); ++i) y.push_back((*added)[i] ? Size(1) : (*x)[k++]);
  return y;
}

std::optional<DimRules::Unsure> DimRules::expand() {
  const auto x = in(0);
  const auto shape = ints_of(node_.input(1));
  if (!shape) {
    const auto length = x && node_.input(1) ? dim_of(*node_.input(1), 0) : std::nullopt;
    if (!length || *length > static_cast<int64_t>(kMaxRank)) return {};
    return unknown(std::max(x->size(), static_cast<size_t>(*length)));
  }
  if (!x) return {};
  const size_t rank = std::max(x->size(), shape->size());
  Unsure y(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Size own = i + x->size() >= rank ? (*x)[i + x->size() - rank] : Size(1);
    const int64_t wanted = i + shape->size() >= rank ? (*shape)[i + shape->size() - rank] : 1;
    y[i] = wanted == 1 ? own : Size(wanted);
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::tile() {
  const auto x = in(0);
  const auto repeats = ints_of(node_.input(1));
  if (!x) return {};
  if (!repeats || repeats->size() != x->size()) return unknown(x->size());
  Unsure y;
  for (size_t i = 0; i < x->size(); ++i) y.push_back(Size::multiply((*x)[i], Size((*repeats)[i])));
  return y;
}

std::optional<DimRules::Unsure> DimRules::gather() {
  const auto x = in(0), indices = in(1);
  const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
  if (!axis || !indices) return {};
  Unsure y = sure(*x);
  y.erase(y.begin() + static_cast<ptrdiff_t>(*axis));
  y.insert(y.begin() + static_cast<ptrdiff_t>(*axis), indices->begin(), indices->end());
  return y;
}

std::optional<DimRules::Unsure> DimRules::slice() {
  const auto x = in(0);
  if (!x) return {};
  Unsure y = sure(*x);
  const auto starts = ints_of(node_.input(1)), ends = ints_of(node_.input(2)), steps = ints_of(node_.input(4));
  auto list = ints_of(node_.input(3));
  if (!node_.input(3)) {
    const auto count = node_.input(1) ? dim_of(*node_.input(1), 0) : std::nullopt;
    if (!count || *count > static_cast<int64_t>(x->size())) return unknown(x->size());
    list.emplace();
    for (int64_t i = 0; i < *count; ++i) list->push_back(i);
  }
  if (!list) return unknown(x->size());
  for (size_t i = 0; i < list->size(); ++i) {
    const auto axis = positive_axis((*list)[i], x->size());
    if (!axis) return {};
    y[*axis].reset();
    if (!starts || !ends || (node_.input(4) && !steps) || i >= starts->size() || i >= ends->size() || (steps && i >= steps->size()))
      continue;
    y[*axis] = sliced((*x)[*axis], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
  }
  return y;
}

std::optional<Size> DimRules::sliced(const Size& size, int64_t start, int64_t end, int64_t step) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  if (size.is_number() && step != 0) {
    const int64_t n = size.number();
    const auto clamp = [&](int64_t at, int64_t low, int64_t high) { return std::clamp(at < 0 ? at + n : at, low, high); };
    const int64_t from = step > 0 ? clamp(start, 0, n) : clamp(start, -1, n - 1);
    const int64_t to = step > 0 ? clamp(end, 0, n) : end < -n ? -1 : clamp(end, -1, n - 1);
    if (step > 0) return Size(to <= from ? 0 : (to - from - 1) / step + 1);
    return step == std::numeric_limits<int64_t>::min() ? std::nullopt : std::optional(Size(from <= to ? 0 : (from - to - 1) / -step + 1));
  }
  // Of a size that is not known: everything, from either end. Other bounds may be cut off at it.
  const bool forward = start == 0 && end >= kFar && step == 1, backward = (start == -1 || start >= kFar) && end < -kFar && step == -1;
  return forward || backward ? std::optional(size) : std::nullopt;
}

std::optional<DimRules::Unsure> DimRules::compress() {
  const auto x = in(0);
  if (!node_.attributes.find("axis")) return unknown(1);
  const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
  if (!axis) return {};
  Unsure y = sure(*x);
  y[*axis].reset();
  return y;
}

std::optional<DimRules::Unsure> DimRules::col2im() {
  const auto image = in(1);
  if (!image || image->size() != 1 || !(*image)[0].is_number() || (*image)[0].number() < 0 || (*image)[0].number() > 8) return {};
  return unknown(2 + static_cast<size_t>((*image)[0].number()));
}

std::optional<DimRules::Unsure> DimRules::gather_nd() {
  const auto data = in(0), indices = in(1);
  if (!data || !indices || indices->empty() || !indices->back().is_number()) return {};
  const int64_t first = integer("batch_dims", 0), count = indices->back().number(), rank = static_cast<int64_t>(data->size());
  if (first < 0 || count < 0 || first > rank || count > rank - first) return {};
  Unsure y(indices->begin(), indices->end() - 1);
  y.insert(y.end(), data->begin() + first + count, data->end());
  return y;
}

std::optional<DimRules::Unsure> DimRules::pad() {
  const auto x = in(0);
  if (!x) return {};
  const auto pads = ints_of(node_.input(1));
  auto list = ints_of(node_.input(3));
  if (!pads || (node_.input(3) && !list)) return unknown(x->size());
  if (!list) {
    list.emplace();
    for (size_t i = 0; i < x->size(); ++i) list->push_back(static_cast<int64_t>(i));
  }
  if (pads->size() != 2 * list->size()) return {};
  Unsure y = sure(*x);
  for (size_t i = 0; i < list->size(); ++i) {
    const auto axis = positive_axis((*list)[i], x->size());
    if (!axis) return {};
    const auto begun = Size::add((*x)[*axis], Size((*pads)[i]));
    y[*axis] = begun ? Size::add(*begun, Size((*pads)[i + list->size()])) : std::nullopt;
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::constant_of_shape() {
  if (const auto shape = ints_of(node_.input(0))) {
    Unsure y;
    for (int64_t dim : *shape) y.emplace_back(Size(dim));
    return y;
  }
  const auto rank = node_.input(0) ? dim_of(*node_.input(0), 0) : std::nullopt;
  return rank && *rank <= static_cast<int64_t>(kMaxRank) ? std::optional(unknown(static_cast<size_t>(*rank))) : std::nullopt;
}

std::optional<DimRules::Unsure> DimRules::shape_length() {
  const int64_t rank = static_cast<int64_t>(in(0)->size());
  const auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t start = clamp(integer("start", 0)), end = clamp(integer("end", rank));
  return Unsure{Size(std::max<int64_t>(end - start, 0))};
}

}  // namespace minnow

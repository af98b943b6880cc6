// SPDX-License-Identifier: Apache-2.0
// Dimensions of what computes: windows, products, reductions, recurrent layers.
#include <algorithm>

#include "graph/window.h"
#include "passes/infer_dims_rules.h"

namespace minnow {

// What windows make of the dimensions from 2 on.
std::optional<Size> DimRules::windows(const Size& input, size_t axis, size_t spatial, int64_t kernel, bool ceil) {
  const auto at = [&](std::string_view name, size_t i, int64_t fallback) -> std::optional<int64_t> {
    const Ints* list = ints_attribute(node_, name);
    if (!list) return fallback;
    return i < list->size() ? std::optional((*list)[i]) : std::nullopt;
  };
  const auto stride = at("strides", axis, 1), dilation = at("dilations", axis, 1);
  const auto begin = at("pads", axis, 0), end = at("pads", axis + spatial, 0);
  if (!stride || !dilation || !begin || !end || *stride <= 0 || *dilation <= 0 || kernel <= 0) return {};
  // Attributes are as wild as a file makes them.
  constexpr int64_t kMost = int64_t{1} << 31;
  if (*stride > kMost || *dilation > kMost || kernel > kMost || *begin > kMost || *begin < -kMost || *end > kMost || *end < -kMost)
    return {};
  const std::string_view automatic = text_attribute(node_, "auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    const auto rounded = Size::add(input, Size(*stride - 1));
    return rounded ? Size::divide_down(*rounded, *stride) : std::nullopt;
  }
  const int64_t pads = automatic == "VALID" ? 0 : *begin + *end;
  const int64_t extent = (kernel - 1) * *dilation + 1;
  if (ceil && *stride != 1) {  // as WindowGeometry::of has it; only for numbers
    if (!input.is_number() || input.number() < 0 || input.number() > kMost || input.number() + pads < extent) return {};
    const int64_t room = input.number() + pads - extent;
    int64_t count = room / *stride + 1;
    if ((automatic == "NOTSET" || automatic.empty()) && room % *stride != 0 && count * *stride < input.number() + *begin) ++count;
    return Size(count);
  }
  const auto room = Size::add(input, Size(pads - extent));
  const auto count = room ? Size::divide_down(*room, *stride) : std::nullopt;
  return count ? Size::add(*count, Size(1)) : std::nullopt;
}

std::optional<DimRules::Unsure> DimRules::conv(size_t x_at, size_t w_at) {
  auto x = in(x_at);
  const auto w = in(w_at);
  if (!w || w->size() < 3 || (x && x->size() != w->size())) return {};
  if (x && node_.op() == "minnow.FusedConv" && integer(kChannelsLast.name, 0)) std::rotate(x->begin() + 1, x->end() - 1, x->end());
  Unsure y = unknown(w->size());
  y[1] = (*w)[0];
  if (!x) return y;
  y[0] = (*x)[0];
  for (size_t i = 2; i < x->size(); ++i)
    if ((*w)[i].is_number()) y[i] = windows((*x)[i], i - 2, x->size() - 2, (*w)[i].number(), false);
  return y;
}

std::optional<DimRules::Unsure> DimRules::conv_transpose() {
  const auto x = in(0), w = in(1);
  if (!w || w->size() < 3 || (x && x->size() != w->size())) return {};
  Unsure y = unknown(w->size());
  y[1] = Size::multiply((*w)[1], Size(integer("group", 1)));
  if (!x) return y;
  y[0] = (*x)[0];
  if (ints_attribute(node_, "output_shape") || text_attribute(node_, "auto_pad", "NOTSET") != "NOTSET") return y;
  const size_t spatial = x->size() - 2;
  const auto at = [&](std::string_view name, size_t i, int64_t fallback) {
    const Ints* list = ints_attribute(node_, name);
    return list && i < list->size() ? (*list)[i] : fallback;
  };
  for (size_t i = 0; i < spatial; ++i) {
    if (!(*w)[i + 2].is_number()) continue;
    constexpr int64_t kMost = int64_t{1} << 24;
    const int64_t kernel = (*w)[i + 2].number(), stride = at("strides", i, 1), dilation = at("dilations", i, 1);
    const int64_t begin = at("pads", i, 0), end = at("pads", i + spatial, 0), extra = at("output_padding", i, 0);
    for (int64_t number : {kernel, stride, dilation, begin, end, extra})
      if (number < 0 || number > kMost) return y;
    // (x - 1) * stride + (kernel - 1) * dilation + 1 + extra - pads
    const auto scaled = Size::multiply((*x)[i + 2], Size(stride));
    if (scaled) y[i + 2] = Size::add(*scaled, Size((kernel - 1) * dilation + 1 + extra - begin - end - stride));
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::pool() {
  const auto x = in(0);
  const Ints* kernel = ints_attribute(node_, "kernel_shape");
  if (!x || !kernel || kernel->size() + 2 != x->size()) return {};
  Unsure y = sure(*x);
  for (size_t i = 2; i < x->size(); ++i) y[i] = windows((*x)[i], i - 2, x->size() - 2, (*kernel)[i - 2], integer("ceil_mode", 0) != 0);
  return y;
}

std::optional<DimRules::Unsure> DimRules::global_pool() {
  auto x = in(0);
  if (!x || x->size() < 2) return {};
  for (size_t i = 2; i < x->size(); ++i) (*x)[i] = Size(1);
  return sure(*x);
}

std::optional<DimRules::Unsure> DimRules::matmul(size_t a_at, size_t b_at) {
  auto a = in(a_at), b = in(b_at);
  if (!a || !b || a->empty() || b->empty()) return {};
  if (integer("transA", 0) && a->size() >= 2) std::swap((*a)[a->size() - 1], (*a)[a->size() - 2]);
  if (integer("transB", 0) && b->size() >= 2) std::swap((*b)[b->size() - 1], (*b)[b->size() - 2]);
  const bool row = a->size() == 1, column = b->size() == 1;
  if (row) a->insert(a->begin(), Size(1));
  if (column) b->push_back(Size(1));
  const size_t batch = std::max(a->size(), b->size()) - 2;
  Unsure y(batch);
  for (size_t i = 0; i < batch; ++i) {
    const auto at = [&](const Sizes& s) { return i + s.size() >= batch + 2 ? s[i + s.size() - batch - 2] : Size(1); };
    const Size p = at(*a), q = at(*b);
    if (p == q || q.is(1))
      y[i] = p;
    else if (p.is(1) || q.is_number())
      y[i] = q;
    else if (p.is_number())
      y[i] = p;
  }
  if (!row) y.push_back((*a)[a->size() - 2]);
  if (!column) y.push_back(b->back());
  return y;
}

std::optional<DimRules::Unsure> DimRules::einsum() {
  std::string text(text_attribute(node_, "equation"));
  std::erase(text, ' ');
  if (text.find('.') != text.npos) return {};
  const size_t arrow = std::min(text.find("->"), text.size());
  std::vector<std::string> terms(1);
  for (char label : text.substr(0, arrow))
    if (label == ',')
      terms.emplace_back();
    else
      terms.back() += label;
  std::string made;
  if (arrow < text.size()) {
    made = text.substr(arrow + 2);
  } else {
    for (char label = 'A'; label <= 'z'; ++label)
      if (std::count(text.begin(), text.end(), label) == 1) made += label;
  }
  if (terms.size() != node_.input_count()) return {};
  Unsure y = unknown(made.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto x = in(i);
    if (x && x->size() != terms[i].size()) return {};
  }
  for (size_t axis = 0; axis < made.size(); ++axis) {
    // As with broadcasting: a number above 1 decides; a symbol does where all others are 1 or the same.
    std::optional<Size> size, decided;
    bool sure = true;
    for (size_t i = 0; i < terms.size(); ++i) {
      const auto x = in(i);
      for (size_t at = 0; at < terms[i].size(); ++at) {
        if (terms[i][at] != made[axis]) continue;
        if (!x) {
          sure = false;
          continue;
        }
        const Size& own = (*x)[at];
        if (own.is_number() && own.number() > 1) decided = own;
        if (!size || size->is(1))
          size = own;
        else if (!own.is(1) && !(own == *size))
          sure = false;
      }
    }
    y[axis] = decided ? decided : sure ? size : std::nullopt;
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::attention() {
  const auto q = in(0), v = in(2);
  if (!q || !v || q->size() != v->size() || (q->size() != 3 && q->size() != 4)) return {};
  Unsure y = sure(*q);
  if (q->size() == 4) {
    y[3] = (*v)[3];
    return y;
  }
  const int64_t heads = integer("q_num_heads", 0), shared = integer("kv_num_heads", 0);
  if (heads <= 0 || shared <= 0 || heads % shared != 0) return {};
  y[2] = Size::multiply((*v)[2], Size(heads / shared));
  return y;
}

std::optional<DimRules::Unsure> DimRules::dft() {
  const auto x = in(0);
  if (!x || x->size() < 2) return {};
  Unsure y = sure(*x);
  const bool inverse = integer("inverse", 0) != 0, one_sided = integer("onesided", 0) != 0;
  y.back() = Size(inverse && one_sided ? 1 : 2);
  const auto axis = node_.input(2) ? ints_of(node_.input(2)) : Ints{-2};
  const auto place = axis && axis->size() == 1 ? positive_axis((*axis)[0], x->size()) : std::nullopt;
  if (!place) return unknown(x->size());
  std::optional<Size> length = (*x)[*place];
  if (node_.input(1)) {
    const auto given = ints_of(node_.input(1));
    length = given && given->size() == 1 && (*given)[0] > 0 ? std::optional(Size((*given)[0])) : std::nullopt;
  } else if (inverse && one_sided) {
    const auto less = Size::subtract(*length, Size(1));
    length = less ? Size::multiply(*less, Size(2)) : std::nullopt;
  }
  if (one_sided && !inverse && length) {
    const auto half = Size::divide_down(*length, 2);
    length = half ? Size::add(*half, Size(1)) : std::nullopt;
  }
  y[*place] = length;
  return y;
}

std::optional<DimRules::Unsure> DimRules::stft() {
  const auto x = in(0), window = in(2);
  if (!x || x->size() < 2) return {};
  Unsure y = unknown(4);  // batch, frames, frequencies, parts
  y[0] = (*x)[0];
  y[3] = Size(2);
  const auto given = ints_of(node_.input(3)), step = ints_of(node_.input(1));
  int64_t frame = 0;
  if (window && window->size() == 1 && (*window)[0].is_number())
    frame = (*window)[0].number();
  else if (given && given->size() == 1)
    frame = (*given)[0];
  if (frame < 1) return y;
  y[2] = Size(integer("onesided", 1) != 0 ? frame / 2 + 1 : frame);
  const auto span = Size::subtract((*x)[1], Size(frame));
  const auto steps = span && step && step->size() == 1 && (*step)[0] > 0 ? Size::divide_down(*span, (*step)[0]) : std::nullopt;
  if (steps) y[1] = Size::add(*steps, Size(1));
  return y;
}

std::optional<DimRules::Unsure> DimRules::roi_align() {
  const auto x = in(0), rois = in(1);
  Unsure y = unknown(4);
  if (rois && rois->size() == 2) y[0] = (*rois)[0];
  if (x && x->size() == 4) y[1] = (*x)[1];
  const int64_t height = integer("output_height", 1), width = integer("output_width", 1);
  if (height > 0 && width > 0) y[2] = Size(height), y[3] = Size(width);
  return y;
}

std::optional<DimRules::Unsure> DimRules::resize() {
  const auto x = in(0);
  if (!x) return {};
  Unsure y = unknown(x->size());
  if (text_attribute(node_, "keep_aspect_ratio_policy", "stretch") != "stretch") return y;
  const Ints* chosen = ints_attribute(node_, "axes");
  Ints list;
  for (size_t i = 0; i < x->size(); ++i) list.push_back(static_cast<int64_t>(i));
  if (chosen) y = sure(*x), list = *chosen;
  const auto sizes = node_.input(3) ? ints_of(node_.input(3)) : std::nullopt;
  const auto scales = node_.input(2) ? reals_of(node_.input(2)) : std::nullopt;
  for (size_t i = 0; i < list.size(); ++i) {
    const auto axis = positive_axis(list[i], x->size());
    if (!axis) return {};
    y[*axis].reset();
    if (sizes && i < sizes->size()) {
      y[*axis] = Size((*sizes)[i]);
    } else if (!node_.input(3) && scales && i < scales->size()) {
      const double scale = (*scales)[i];
      if (scale == 1)
        y[*axis] = (*x)[*axis];
      else if (scale >= 1 && scale <= 64 && scale == static_cast<double>(static_cast<int64_t>(scale)))
        y[*axis] = Size::multiply((*x)[*axis], Size(static_cast<int64_t>(scale)));
    }
  }
  return y;
}

std::optional<DimRules::Unsure> DimRules::reduce(size_t axes_at) {
  const auto x = in(0);
  if (!x) return {};
  std::optional<std::vector<bool>> reduced(std::vector<bool>(x->size(), integer("noop_with_empty_axes", 0) == 0));
  if (node_.input(axes_at)) {
    const auto list = ints_of(node_.input(axes_at));
    if (!list) return integer("keepdims", 1) ? std::optional(unknown(x->size())) : std::nullopt;
    if (!list->empty()) reduced = axes(axes_at, x->size());
  }
  return reduced ? std::optional(without(*x, *reduced)) : std::nullopt;
}

std::optional<DimRules::Unsure> DimRules::argmax() {
  const auto x = in(0);
  const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
  if (!axis) return {};
  std::vector<bool> reduced(x->size());
  reduced[*axis] = true;
  return without(*x, reduced);
}

DimRules::Unsure DimRules::without(const Sizes& x, const std::vector<bool>& reduced) const {
  const bool kept = integer("keepdims", 1) != 0;
  Unsure y;
  for (size_t i = 0; i < x.size(); ++i)
    if (!reduced[i] || kept) y.push_back(reduced[i] ? Size(1) : x[i]);
  return y;
}

std::optional<DimRules::Unsure> DimRules::top_k() {
  const auto x = in(0);
  const auto axis = x ? positive_axis(integer("axis", -1), x->size()) : std::nullopt;
  if (!axis) return {};
  Unsure y = sure(*x);
  const auto k = ints_of(node_.input(1));
  y[*axis] = k && k->size() == 1 ? std::optional(Size((*k)[0])) : std::nullopt;
  return y;
}

std::optional<DimRules::Unsure> DimRules::recurrent(size_t output) {
  const auto x = in(0), r = in(2);
  if (!x || x->size() != 3 || !r || r->size() != 3) return {};
  const bool batch_first = integer("layout", 0) != 0;
  const Size &directions = (*r)[0], &hidden = (*r)[2], &steps = (*x)[batch_first ? 1 : 0], &batch = (*x)[batch_first ? 0 : 1];
  if (output == 0) return batch_first ? Unsure{batch, steps, directions, hidden} : Unsure{steps, directions, batch, hidden};
  return batch_first ? Unsure{batch, directions, hidden} : Unsure{directions, batch, hidden};
}

std::optional<DimRules::Unsure> DimRules::space() {
  const auto x = in(0);
  const int64_t block = integer("blocksize", 0);
  if (!x || x->size() != 4 || block <= 0 || block > 4096) return {};
  const bool to_space = node_.op() == "DepthToSpace";
  const auto scaled = [&](const Size& size, bool up, int64_t by) {
    return up ? Size::multiply(size, Size(by)) : Size::divide_exactly(size, Size(by));
  };
  return Unsure{(*x)[0], scaled((*x)[1], !to_space, block * block), scaled((*x)[2], to_space, block), scaled((*x)[3], to_space, block)};
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#include "importers/mnn/mnn_node.h"

#include <algorithm>

#include "importers/builder/images.h"

namespace minnow::mnn {

Expr MnnNode::input(size_t i) const {
  const Expr x = any(i);
  return p.dtype(x) == DType::boolean ? p.cast(x, DType::i32) : x;
}

Expr MnnNode::truth(size_t i) const { return p.cast(any(i), DType::boolean); }

Exprs MnnNode::all_inputs() const {
  Exprs all;
  for (size_t i = 0; i < raw.size(); ++i) all.push_back(input(i));
  return alike(std::move(all));
}

Exprs MnnNode::alike(Exprs values) const {
  const bool wide = std::any_of(values.begin(), values.end(), [&](const Expr& x) { return x && p.dtype(x) == DType::i64; });
  for (Expr& x : values)
    if (wide && x && p.dtype(x) == DType::i32) x = p.cast(x, DType::i64);
  return values;
}

std::optional<Ints> MnnNode::known_ints(size_t i) const { return has(i) ? p.ints(raw[i]) : std::nullopt; }

Ints MnnNode::ints(size_t i) const {
  const auto values = p.ints(any(i));
  if (!values) refuse("input {} (\"{}\") is not constant", i, std::string_view(raw[i].value()->name()).substr(0, 200));
  return *values;
}

int64_t MnnNode::rank(size_t i) const {
  const int64_t rank = p.rank(any(i));
  if (rank < 0) refuse("a tensor of unknown rank is not supported");
  return rank;
}

Expr MnnNode::image() const {
  const Expr x = input(0);
  return channels_last() && p.rank(x) > 2 ? channels_first(p, x) : x;
}

Expr MnnNode::from_image(const Expr& y) const { return channels_last() && p.rank(y) > 2 ? minnow::channels_last(p, y) : y; }

int64_t at_least(const MnnNode& node, std::string_view what, int64_t value, int64_t least) {
  if (value < least || value > 1'000'000) node.fail("{} is {}", what, value);
  return value;
}

}  // namespace minnow::mnn

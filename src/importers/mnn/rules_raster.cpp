// SPDX-License-Identifier: Apache-2.0
// Raster copies regions of the inputs to places of the output. It replaces layout operators in files that were prepared ahead of time.
#include <algorithm>

#include "base/saturating.h"
#include "importers/mnn/rules.h"

namespace minnow::mnn {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 22;  // of an output, whose elements are looked up one by one

/// Elements of three nested loops; strides and offsets count elements.
struct Region {
  int64_t from = 0, to = 0;
  Ints source, target, size;  // three each
  int64_t elements() const { return size[0] * size[1] * size[2]; }
};

/// The integers of the attribute `key` of an Extra; empty if it has none.
Ints listed(const FlatTable& extra, std::string_view key) {
  const FlatTables attributes = extra.tables(3);
  for (size_t i = 0; i < attributes.size(); ++i)
    if (attributes[i].text(3) == key) return attributes[i].table(7).numbers<int32_t>(1).copy<int64_t>();
  return {};
}

std::vector<Region> regions_of(const MnnNode& node, int64_t elements) {
  const Ints numbers = listed(node.parameter(), "region");
  if (numbers.size() != 11 * node.input_count())
    node.fail("{} numbers do not fit the regions of {} inputs", numbers.size(), node.input_count());
  std::vector<Region> regions;
  int64_t total = 0;
  for (auto at = numbers.begin(); at != numbers.end(); at += 11) {
    Region region{at[0], at[4], Ints(at + 1, at + 4), Ints(at + 5, at + 8), Ints(at + 8, at + 11)};
    for (int64_t size : region.size)
      if (size < 0 || size > kMostElements) node.fail("a region has {} elements along an axis", size);
    if (region.size[0] * region.size[1] > kMostElements || region.elements() > kMostElements ||
        (total += region.elements()) > 2 * elements + 64)
      node.refuse("regions that overlap are not supported");
    regions.push_back(std::move(region));
  }
  return regions;
}

/// Calls body(source, target) for all elements of a region; its ends are known to lie within.
template <class F>
void for_each(const Region& region, F&& body) {
  for (int64_t i = 0; i < region.size[0]; ++i)
    for (int64_t k = 0; k < region.size[1]; ++k)
      for (int64_t m = 0; m < region.size[2]; ++m)
        body(region.from + i * region.source[0] + k * region.source[1] + m * region.source[2],
             region.to + i * region.target[0] + k * region.target[1] + m * region.target[2]);
}

/// The least and the largest place that three loops come to.
std::pair<int64_t, int64_t> reach(int64_t from, const Ints& strides, const Ints& size) {
  std::pair<int64_t, int64_t> ends(from, from);
  for (size_t i = 0; i < 3; ++i) {
    int64_t& end = strides[i] < 0 ? ends.first : ends.second;
    end = clamped_sum({end, clamped_product({strides[i], size[i] - 1})});
  }
  return ends;
}

bool are_in_order(const Ints& strides, const Ints& size, const Ints& order) {
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t axis = static_cast<size_t>(order[i]);
    if (size[axis] != 1 && strides[axis] != step) return false;
    step = clamped_product({step, size[axis]});
  }
  return true;
}

}  // namespace

Exprs import_raster(MnnNode& node, TypedBuilder& p) {
  if (node.info.kind != kExtra) node.refuse("without regions it is not supported");
  const Ints shape = listed(node.parameter(), "shape");
  int64_t elements = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && elements > kMostElements / dim))
      node.refuse("a result of {} by {} elements is not supported", elements, dim);
    elements *= dim;
  }
  if (shape.size() > kMaxRank || node.input_count() == 0) node.fail("has {} inputs and {} dimensions", node.input_count(), shape.size());
  const std::vector<Region> regions = regions_of(node, elements);
  Ints counts, bases;
  int64_t held = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    const auto dims = p.shape(node.input(i));
    if (!dims) node.refuse("an input of unknown shape is not supported");
    int64_t count = 1;
    bool fits = true;
    for (int64_t dim : *dims) fits = fits && !__builtin_mul_overflow(count, dim, &count);
    counts.push_back(count);
    bases.push_back(held);
    if (!fits || __builtin_add_overflow(held, count, &held)) node.fail("input {} has more elements than memory can hold", i);
    if (regions[i].elements() == 0) continue;
    const auto source = reach(regions[i].from, regions[i].source, regions[i].size),
               target = reach(regions[i].to, regions[i].target, regions[i].size);
    if (source.first < 0 || source.second >= counts[i] || target.first < 0 || target.second >= elements)
      node.fail("region {} lies outside of its input or of the result", i);
  }
  const Region& first = regions[0];
  if (regions.size() == 1 && first.elements() == elements && counts[0] == elements && first.from == 0 && first.to == 0 &&
      are_in_order(first.target, first.size, {0, 1, 2})) {
    for (const Ints& order : {Ints{0, 1, 2}, Ints{0, 2, 1}, Ints{1, 0, 2}, Ints{1, 2, 0}, Ints{2, 0, 1}, Ints{2, 1, 0}}) {
      if (!are_in_order(first.source, first.size, order)) continue;
      Ints sizes, perm(3);
      for (size_t i = 0; i < 3; ++i) {
        sizes.push_back(first.size[static_cast<size_t>(order[i])]);
        perm[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
      }
      return {p.reshape(order == Ints{0, 1, 2} ? node.input(0) : p.transpose(p.reshape(node.input(0), sizes), perm), shape)};
    }
  }
  node.file.spend(static_cast<uint64_t>(elements) * sizeof(int64_t));
  Ints places(static_cast<size_t>(elements), held);  // index `held`, after the inputs, is a zero
  for (size_t i = 0; i < regions.size(); ++i)
    for_each(regions[i], [&](int64_t source, int64_t target) { places[static_cast<size_t>(target)] = bases[i] + source; });
  Exprs flat;
  for (const Expr& x : node.all_inputs()) flat.push_back(p.reshape(x, Ints{-1}));
  if (std::find(places.begin(), places.end(), held) != places.end()) flat.push_back(p.reshape(p.scalar(0, p.dtype(flat[0])), Ints{1}));
  return {p.reshape(p.gather(flat.size() == 1 ? flat[0] : p.concat(flat, 0), p.constant(places), 0), shape)};
}

}  // namespace minnow::mnn

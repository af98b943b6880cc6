// SPDX-License-Identifier: Apache-2.0
// A Caffe layer as a rule sees it.
#pragma once
#include <functional>
#include <span>

#include "importers/builder/typed_builder.h"
#include "importers/caffe/net.h"
#include "importers/foreign_node.h"

namespace minnow::caffe {

class CaffeLayer : public ForeignNode {
 public:
  CaffeLayer(TypedBuilder& parts, const Layer& layer, std::vector<Blob>* blobs) : p(parts), layer(layer), blobs_(blobs) {}

  TypedBuilder& p;
  const Layer& layer;
  Exprs bottoms;

  Expr bottom(size_t i = 0) const;
  size_t top_count() const noexcept { return layer.tops.size(); }
  const Message& parameters(std::string_view name) const { return layer.message.message(name); }
  size_t blob_count() const noexcept { return blobs_ ? blobs_->size() : 0; }
  const Blob& blob(size_t i) const;
  /// The blob as a constant of that shape; -1 stands for the remaining size. Another number of elements is an error.
  Expr weights(size_t i, Ints shape) const;
  /// The rank of bottom 0 and an axis of it, which may count from the end.
  int64_t rank() const;
  int64_t axis(int64_t given) const { return from_front(given, rank()); }
  /// A size that must be known.
  int64_t size(const Expr& x, int64_t axis) const;
  /// x of [channels] as broadcast along `axis` of bottom 0.
  Expr along(const Expr& x, int64_t axis) const;

 private:
  std::vector<Blob>* blobs_;
};

using Builder = Exprs(CaffeLayer& layer, TypedBuilder& p);
struct Rule {
  std::string_view type;
  Builder* build;                // null: a layer that only training has
  std::string_view target = {};  // Minnow's operator, for rules that serve several
  bool needs_size = false;       // of its image, while importing
};

std::span<const Rule> all_rules();
const Rule* find_rule(std::string_view type);

}  // namespace minnow::caffe

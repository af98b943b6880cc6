// SPDX-License-Identifier: Apache-2.0
// A pass rewrites one graph and keeps its results. pipeline.cpp has the one ordered list of them.
#pragma once
#include <minnow/convert.h>

#include <algorithm>

#include "graph/size.h"
#include "ops/operator.h"

namespace minnow {

/// Shared by all passes of one optimization.
class PassContext {
 public:
  explicit PassContext(const OperatorSet& operators = OperatorSet::builtin(), Optimize level = Optimize::standard)
      : operators_(operators), level_(level) {}

  const OperatorSet& operators() const noexcept { return operators_; }
  const Operator* find(const Node& node) const noexcept { return operators_.find(node.op()); }
  /// True if floating constants are parameters that must stay as they are.
  bool keeps_parameters() const noexcept { return level_ == Optimize::train; }
  Optimize level() const noexcept { return level_; }

  /// Counts a change, and records it if details were requested.
  template <class... Args>
  void changed(std::string_view pattern, const Args&... args) {
    ++changes;
    if (details) details->push_back(format(pattern, args...));
  }
  /// Whether a pass may add so many bytes of constants that take no other's place.
  bool may_grow(size_t bytes) const noexcept { return bytes <= growth_left_; }
  /// It has added them.
  void has_grown(size_t bytes) noexcept { growth_left_ -= std::min(bytes, growth_left_); }
  /// Bounds the bytes that all passes together may add by the bytes of the graph's constants, a few megabytes at least, so that a small
  /// file stays a small model whatever it declares.
  void set_growth(size_t bytes_of_constants) noexcept { growth_left_ = std::max(kLeastGrowth, bytes_of_constants); }

  size_t changes = 0;
  std::vector<std::string>* details = nullptr;
  SizeTable sizes;  // the meanings of symbols in the graph's types

 private:
  static constexpr size_t kLeastGrowth = size_t{4} << 20;
  const OperatorSet& operators_;
  Optimize level_;
  size_t growth_left_ = kLeastGrowth;
};

struct Pass {
  std::string_view name, doc;
  /// Rewrites the nodes of this graph; the pipeline calls it for subgraphs too. It may remove or replace nodes with subgraphs, but must not
  /// touch the nodes of another graph.
  void (*run)(Graph& graph, PassContext& context);
  uint8_t stages = 0;           // bits of kSimplify, kFuse, kRaise, kTidy, kGroup
  bool while_training = false;  // also at level train
};
inline constexpr uint8_t kSimplify = 1, kFuse = 2, kRaise = 4, kTidy = 8, kGroup = 16;

void fuse_elementwise(Graph&, PassContext&);  // which expressions run alone

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

#include "base/error.h"
#include "graph/model_header.h"

namespace minnow {

/// Limits how deep subgraphs and functions of a file are nested, and how many nodes they make.
/// They are read at each use, so a small file could ask for any number of nodes. The depth limit is that of .minnow files, so every graph
/// that can be read can be written.
class Nesting {
 public:
  static constexpr int kMostDeep = file::kMaxDepth;
  explicit Nesting(size_t nodes = 1'000'000) : left_(nodes) {}

  /// Calls import() for a subgraph or function of `nodes` nodes (or for a part of them: see spend()). Throws InvalidModel, beginning with
  /// `where`, beyond the limits.
  template <class F>
  void enter(const std::string& where, size_t nodes, F&& import) {
    if (depth_ >= kMostDeep) throw InvalidModel("{}: subgraphs and functions are nested more than {} deep", where, kMostDeep);
    spend(where, nodes);
    struct Deeper {
      int& depth;
      explicit Deeper(int& d) : depth(++d) {}
      ~Deeper() { --depth; }
    } const deeper(depth_);
    import();
  }
  void spend(const std::string& where, size_t nodes) {
    if (nodes > left_) throw InvalidModel("{}: subgraphs and functions that use each other make this file a very large graph", where);
    left_ -= nodes;
  }
  /// How many subgraphs lie around the current node.
  int depth() const noexcept { return depth_; }

 private:
  int depth_ = 0;
  size_t left_;
};

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

#include "base/error.h"

namespace minnow {

/// Subgraphs of a file that are read where they are used, again and again perhaps: how deep and how many operators in all is limited, as a
/// small file may ask for any number.
class Nesting {
 public:
  /// Calls import() for a subgraph of so many operators. Throws InvalidModel beyond the limits, in the name of the file.
  template <class F>
  void enter(const std::string& source, size_t operators, F&& import) {
    if (depth_ >= kMaxDepth) throw InvalidModel("{}: subgraphs are nested more than {} deep", source, kMaxDepth);
    if (operators > left_) throw InvalidModel("{}: subgraphs that use subgraphs make this file a very large graph", source);
    left_ -= operators;
    struct Deeper {
      int& depth;
      explicit Deeper(int& d) : depth(++d) {}
      ~Deeper() { --depth; }
    } const deeper(depth_);
    import();
  }

 private:
  static constexpr int kMaxDepth = 32;
  int depth_ = 0;
  size_t left_ = 1'000'000;
};

}  // namespace minnow

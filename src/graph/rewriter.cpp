// SPDX-License-Identifier: Apache-2.0
#include "graph/rewriter.h"

namespace minnow {

std::atomic<GraphRewriter>& expression_rewriter() noexcept {
  static std::atomic<GraphRewriter> rewriter{nullptr};
  return rewriter;
}

std::atomic<GraphRewriter>& step_rewriter() noexcept {
  static std::atomic<GraphRewriter> rewriter{nullptr};
  return rewriter;
}

}  // namespace minnow

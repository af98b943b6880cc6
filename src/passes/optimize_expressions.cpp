// SPDX-License-Identifier: Apache-2.0
// The passes that pay off for expressions: a form that is planned once and run a few times should not wait for all passes.
#include <minnow/express_passes.h>

#include "graph/rewriter.h"
#include "passes/pass.h"

namespace minnow {

void optimize_expressions(bool on) {
  const GraphRewriter rewrite = [](const OperatorSet& operators, Graph& graph) {
    PassContext context(operators);
    fuse_elementwise(graph, context);
  };
  expression_rewriter().store(on ? rewrite : nullptr);
}

}  // namespace minnow

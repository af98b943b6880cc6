// SPDX-License-Identifier: Apache-2.0
// The passes that pay off for expressions: a form that is planned once and run a few times should not wait for all passes. A step of
// training should.
#include <minnow/express_passes.h>

#include "graph/rewriter.h"
#include "passes/pipeline.h"

namespace minnow {

void optimize_expressions(bool on) {
  const GraphRewriter rewrite = [](const OperatorSet& operators, Graph& graph) {
    PassContext context(operators);
    fuse_elementwise(graph, context);
  };
  const GraphRewriter rewrite_step = [](const OperatorSet& operators, Graph& graph) { optimize(graph, operators); };
  expression_rewriter().store(on ? rewrite : nullptr);
  step_rewriter().store(on ? rewrite_step : nullptr);
}

}  // namespace minnow

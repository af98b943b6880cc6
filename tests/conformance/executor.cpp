// SPDX-License-Identifier: Apache-2.0
#include "conformance/executor.h"

#include <minnow/minnow.h>
#if MINNOW_EXPRESS
#include <minnow/express.h>
#endif

#if MINNOW_EXPRESS
#include "express/node.h"
#endif
#include "ops/evaluate.h"

namespace minnow::test {

Run make_executor(const std::string& backend, std::unique_ptr<Graph> graph) {
  if (backend == "evaluate") {
    std::shared_ptr<Graph> shared = std::move(graph);
    return [shared](std::span<const Datum> inputs) { return evaluate(OperatorSet::builtin(), *shared, inputs); };
  }
#if MINNOW_EXPRESS
  if (backend == "express") {
    const Model model = Model::from_graph(std::move(graph));
    return [model](std::span<const Datum> inputs) {
      Vars vars;
      for (const Datum& input : inputs) vars.push_back(express::var_of(express::constant_value(input)));
      const Vars outputs = expr::apply(model, vars);
      expr::evaluate(outputs);
      std::vector<Datum> results;
      for (const Var& output : outputs) results.push_back(output.datum());
      return results;
    };
  }
#endif
  SessionOptions options;
  options.threads = 1;
  options.backends = {backend_of(backend)};
  if (!precision_of(backend).empty()) options.precision = precision_of(backend);
  const auto session = std::make_shared<Session>(Model::from_graph(std::move(graph)), options);
  return [session](std::span<const Datum> inputs) { return session->run_any(inputs); };
}

}  // namespace minnow::test

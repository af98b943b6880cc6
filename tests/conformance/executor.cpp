// SPDX-License-Identifier: Apache-2.0
#include "conformance/executor.h"

#include <minnow/minnow.h>

#include "ops/evaluate.h"

namespace minnow::test {

Run make_executor(const std::string& backend, std::unique_ptr<Graph> graph) {
  if (backend == "evaluate") {
    std::shared_ptr<Graph> shared = std::move(graph);
    return [shared](std::span<const Datum> inputs) { return evaluate(OperatorSet::builtin(), *shared, inputs); };
  }
  SessionOptions options;
  options.threads = 1;
  options.backends = {backend};
  const auto session = std::make_shared<Session>(Model::from_graph(std::move(graph)), options);
  return [session](std::span<const Datum> inputs) { return session->run_any(inputs); };
}

}  // namespace minnow::test

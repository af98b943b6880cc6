// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace minnow::test {

/// Runs a graph: "evaluate" (the operators' references, one after the other), "reference" or "cpu" (a session on that backend),
/// "express" (calls of an expression), "cpu-low" and others with "-low" (a session at precision low).
inline bool is_low(std::string_view backend) { return backend.ends_with("-low"); }
inline std::string backend_of(std::string_view backend) {
  return std::string(backend.substr(0, backend.size() - (is_low(backend) ? 4 : 0)));
}
using Run = std::function<std::vector<Datum>(std::span<const Datum> inputs)>;
Run make_executor(const std::string& backend, std::unique_ptr<Graph> graph);

}  // namespace minnow::test

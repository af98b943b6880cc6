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

/// The precision that a backend's name ends with; empty: normal.
inline std::string_view precision_of(std::string_view backend) {
  const size_t dash = backend.find('-');
  return dash == std::string_view::npos ? "" : backend.substr(dash + 1);
}
inline std::string backend_of(std::string_view backend) { return std::string(backend.substr(0, backend.find('-'))); }

/// Runs a graph: "evaluate" (the operators' references, one after the other), "reference" or "cpu" (a session on that backend),
/// "express" (calls of an expression), "cpu-low" and "cuda-tf32" (a session at that precision).
using Run = std::function<std::vector<Datum>(std::span<const Datum> inputs)>;
Run make_executor(const std::string& backend, std::unique_ptr<Graph> graph);

}  // namespace minnow::test

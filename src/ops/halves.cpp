// SPDX-License-Identifier: Apache-2.0
#include "ops/halves.h"

namespace minnow {
namespace {

constexpr const char* kKey = "minnow.dtype";  // among the graph's properties

}  // namespace

void note_halves(Graph& graph, DType half) { graph.metadata.properties[kKey] = half == DType::f16 ? "f16" : "bf16"; }

DType noted_halves(const Graph& graph) {
  const auto found = graph.metadata.properties.find(kKey);
  if (found == graph.metadata.properties.end()) return DType::undefined;
  return found->second == "f16" ? DType::f16 : found->second == "bf16" ? DType::bf16 : DType::undefined;
}

}  // namespace minnow

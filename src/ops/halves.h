// SPDX-License-Identifier: Apache-2.0
// Files whose nodes all compute in f16 or bf16 are f32 graphs with a note: devices with tensor cores may then compute in 16 bits again.
#pragma once
#include "graph/graph.h"

namespace minnow {

/// Writes the note: each f32 value of the graph is of `half`, f16 or bf16, in the file.
void note_halves(Graph& graph, DType half);
/// What the note says; undefined: there is none.
DType noted_halves(const Graph& graph);

}  // namespace minnow

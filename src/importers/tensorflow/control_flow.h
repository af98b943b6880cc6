// SPDX-License-Identifier: Apache-2.0
// Control flow of TensorFlow's first generation as that of the second: loops of Enter, Merge, Switch, NextIteration and Exit become While,
// branches between Switch and Merge become If, their nodes go into functions.
#pragma once
#include <span>
#include <string>

#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

/// Rewrites TensorFlow 1 loops and branches of the main graph as While and If. Merge and Exit nodes become Identity nodes of their results,
/// so that names stay; nothing reads Switch, Enter and their exclusive inputs any more. Throws InvalidModel with `source` and the node for
/// a cycle that TensorFlow would not write.
void make_functional(GraphDef& graph, const std::string& source);

std::span<const std::string_view> control_flow_operators() noexcept;
/// True for the operators of such loops and branches. After make_functional(), results of their readers cannot be outputs.
bool is_control_flow(std::string_view op) noexcept;

}  // namespace minnow::tensorflow

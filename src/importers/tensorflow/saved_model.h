// SPDX-License-Identifier: Apache-2.0
// SavedModel folders: a graph with signatures, and the checkpoint of its variables.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "importers/tensorflow/checkpoint.h"
#include "importers/tensorflow/graph_def.h"

namespace minnow::tensorflow {

/// A tensor that a signature names: its key, and "node:place".
using NamedTensors = std::vector<std::pair<std::string_view, std::string_view>>;

/// The graph to import: all of a frozen graph, or the nodes that a signature needs.
struct Source {
  GraphDef graph;
  bool has_signature = false;
  NamedTensors inputs, outputs;                       // of the signature, in the order of their keys
  std::map<std::string_view, std::string> variables;  // VarHandleOp and Variable nodes -> names in the checkpoint
  std::optional<Checkpoint> checkpoint;
};

/// `signature`: empty for "serving_default", or the only one. `checkpoint`: the prefix of the folder's variables; empty: no variables.
/// Throws Malformed, InvalidModel, and InvalidArgument for an unknown signature, with the names of all.
Source read_saved_model(std::string_view bytes, const std::string& signature, const std::string& checkpoint, const std::string& source);
bool looks_like_saved_model(std::string_view head);

}  // namespace minnow::tensorflow

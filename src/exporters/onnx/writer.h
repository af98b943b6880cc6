// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "exporters/onnx/wire.h"
#include "graph/graph.h"

namespace minnow::onnx {

/// Bytes of the file beside the model: each tensor's begins at a multiple of kExternalPage, so that it can be mapped.
struct ExternalFile {
  std::string location;  // its name, relative to the model's folder
  struct Piece {
    uint64_t offset;
    Tensor tensor;
  };
  std::vector<Piece> pieces;
  uint64_t size = 0;
};
inline constexpr uint64_t kExternalPage = 4096;  // smaller constants stay in the model

/// The ModelProto of a graph with ONNX's operators. It borrows the constants' memory, so the graph must outlive it. Large constants go to
/// `external` unless it is null. Throws Unsupported, with the node, for anything that ONNX cannot express.
MessageWriter model_message(const Graph& graph, int64_t opset, ExternalFile* external);

}  // namespace minnow::onnx

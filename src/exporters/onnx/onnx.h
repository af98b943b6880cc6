// SPDX-License-Identifier: Apache-2.0
// Graphs as ONNX files, for onnx.checker, ONNX Runtime and Netron.
#pragma once
#include <string>

#include "importers/onnx/proto.h"
#include "ops/operator.h"

namespace minnow {

inline constexpr int64_t kOldestExportOpset = 21;  // before it, quantization had no blocks and GroupNormalization another meaning

struct OnnxOptions {
  /// Constants of a page and more lie in a file beside the model, PATH.data. Without it they do so only where the model would not fit the
  /// two gigabytes that the format allows.
  bool external_data = false;
  /// The opset of ai.onnx that the file requires, kOldestExportOpset to kNewestOpset. 0: 26, or the newest where an operator needs
  /// a newer one. ONNX Runtime 1.31.1 runs 26, but for a few operators (RoiAlign, random numbers) only versions before 22.
  int64_t opset = 0;
};

/// Writes `graph` beside `path` and renames it. Fused operators are taken apart, states become inputs (the value before a run) and outputs
/// ("NAME_next", the value after it) behind the graph's own; names, symbolic dimensions and metadata stay. Constants are not copied.
/// Throws Unsupported for what ONNX cannot say, with the node; IoError.
void export_onnx(const OperatorSet& operators, const Graph& graph, const std::string& path, const OnnxOptions& options = {});

}  // namespace minnow

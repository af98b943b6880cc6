// SPDX-License-Identifier: Apache-2.0
// Graphs as ONNX files, for onnx.checker, ONNX Runtime and Netron.
#pragma once
#include <string>

#include "importers/onnx/proto.h"
#include "ops/operator.h"

namespace minnow {

inline constexpr int64_t kOldestExportOpset = 21;  // before it, quantization had no blocks and GroupNormalization another meaning

struct OnnxOptions {
  /// Stores constants of at least a page in a file beside the model, PATH.data. Otherwise this happens only if the model would exceed the
  /// format's limit of two gigabytes.
  bool external_data = false;
  /// The opset of ai.onnx that the file requires, kOldestExportOpset to kNewestOpset. 0: 26, or the newest where an operator needs
  /// a newer one. ONNX Runtime 1.31.1 runs 26, but for a few operators (RoiAlign, random numbers) only versions before 22.
  int64_t opset = 0;
};

/// Writes `graph` to a temporary file and renames it to `path`. Fused operators are decomposed. States become inputs (the value before a
/// run) and outputs ("NAME_next", the value after it), after the graph's own. Names, symbolic dimensions and metadata stay. Constants are
/// not copied. Throws Unsupported, with the node, for anything that ONNX cannot express; IoError.
void export_onnx(const OperatorSet& operators, const Graph& graph, const std::string& path, const OnnxOptions& options = {});
/// The bytes of that file, and of one beside it, without writing them.
uint64_t onnx_bytes(const OperatorSet& operators, const Graph& graph, const OnnxOptions& options = {});

}  // namespace minnow

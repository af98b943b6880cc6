// SPDX-License-Identifier: Apache-2.0
// Files whose nodes all compute in f16 or bf16 are f32 graphs with a note: devices with tensor cores may then compute in 16 bits again.
#pragma once
#include "ops/operator.h"

namespace minnow {

/// The note's key among a graph's properties. Its value is the dtype, f16 or bf16, that each f32 value of the graph has in the file.
inline constexpr const char* kStorageDtypeKey = "minnow.dtype";

/// The dtype in the note; undefined: there is none.
inline DType storage_dtype(const Graph& graph) {
  for (const auto& [key, value] : graph.metadata.properties)
    if (key == kStorageDtypeKey) return value == "f16" ? DType::f16 : value == "bf16" ? DType::bf16 : DType::undefined;
  return DType::undefined;
}

/// For whoever adds nodes that are to compute in f32, quantizers for example.
inline void forget_storage_dtype(Graph& graph) { graph.metadata.properties.erase(kStorageDtypeKey); }

/// Whether an operator computes the same function of 16-bit inputs in place of f32, with results of 16 bits.
inline bool computes_in_16_bits(const Operator& op) {
  return !op.custom && !op.infer && op.pure && op.float_width != FloatWidth::converted;
}

}  // namespace minnow

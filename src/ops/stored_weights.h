// SPDX-License-Identifier: Apache-2.0
// Weights that a model file keeps in 16 bits.
#pragma once
#include <functional>
#include <string_view>

#include "graph/model_file.h"
#include "ops/operator.h"

namespace minnow {

/// Whether the operator packs its input where that is a constant (Weight::packed). For `read_model`.
bool packs_weight(const Use& use);

/// The weights of layers (convolutions, products, recurrent layers, embeddings) rounded to f16 or bf16, nearest even. Constants that
/// anything else uses too are not among them, nor are those that the dtype cannot hold, because one of them would become infinite or they
/// are so small that rounding changes them by over 1/256 of their root mean square: these stay f32, and `warn`, where it is given, gets a
/// sentence with the layer's name. Throws InvalidArgument for another dtype.
StoredWeights round_weights(const Graph& graph, DType dtype, const std::function<void(std::string_view)>& warn = {});

}  // namespace minnow

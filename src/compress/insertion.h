// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear around the layers of a selection.
#pragma once
#include "compress/ranges.h"
#include "compress/selection.h"
#include "compress/weights.h"

namespace minnow::compress {

struct LayerNumbers {
  IntegerRows weights;
  std::vector<double> bias;  // empty: none
};

/// Values keep their names: a quantized value's name is that of its DequantizeLinear's output. `quantizers`: of groups; `layers`: of
/// layers.
void insert_quantization(Graph& graph, const Selection& selection, std::span<const Quantizer> quantizers,
                         std::span<const LayerNumbers> layers);

}  // namespace minnow::compress

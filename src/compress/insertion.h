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

struct RecurrenceNumbers {
  IntegerRows w, r;  // rows: of the gates of all directions, with a scale each
};

/// Values keep their names: a quantized value's name is that of its DequantizeLinear's output. `quantizers`: of groups; `layers`,
/// `recurrences`: of the selection's; recurrences without numbers stay f32.
void insert_quantization(Graph& graph, const Selection& selection, std::span<const Quantizer> quantizers,
                         std::span<const LayerNumbers> layers, std::span<const RecurrenceNumbers> recurrences);

}  // namespace minnow::compress

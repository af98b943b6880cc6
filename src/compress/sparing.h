// SPDX-License-Identifier: Apache-2.0
// Layers that cost next to nothing and make most of the noise stay f32.
#pragma once
#include "compress/quantization.h"
#include "compress/search.h"

namespace minnow::compress {

/// The noise at the outputs on `probes` samples when one layer alone has integers, of so many bits.
double noise_alone(Quantization& quantization, Reference& reference, size_t layer, int bits, size_t probes);

/// The bits of each layer: kF32 for those that `options.keep_f32` lets stay f32. Empty: all have those of the options.
std::vector<int> spared_layers(Quantization& quantization, const Model& model, const Samples& samples, const QuantizeOptions& options);
/// How many runs spared_layers() takes at most.
double runs_to_spare(const Quantization& quantization, const Samples& samples, const QuantizeOptions& options);

}  // namespace minnow::compress

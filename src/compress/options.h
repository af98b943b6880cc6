// SPDX-License-Identifier: Apache-2.0
// The options of a quantization, checked and looked up.
#pragma once
#include <minnow/compress.h>

#include "compress/blocks.h"
#include "compress/ranges.h"
#include "compress/rounding.h"
#include "compress/weights.h"

namespace minnow::compress {

struct Settings {
  /// Throws InvalidArgument for a wrong value.
  explicit Settings(const QuantizeOptions& options, const std::string& prefix = {});
  const RangeMethod* method;  // null: auto
  const WeightMethod* weights;
  const RoundingMethod* rounding;
  RangeOptions ranges;
  int most_weight = 127;  // the largest integer of a weight
  // With weights_only:
  const BlockMethod* blocks = nullptr;
  int block_bits = 4;
  bool searches_blocks = true;  // method "mse" of weights
};

}  // namespace minnow::compress

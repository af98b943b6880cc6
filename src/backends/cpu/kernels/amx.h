// SPDX-License-Identifier: Apache-2.0
// The tile registers of Intel's AMX: eight, of 16 rows of 64 bytes at most.
#pragma once
#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

/// The shapes of the registers, as LDTILECFG reads them.
struct AmxConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  /// Registers 0 and 1 hold sums of a run of `first` rows, 2 and 3 of one of `second`; 4 and 5 the rows of both runs, `depth` groups of 4
  /// bytes each; 6 and 7 the weights of so many groups. No register has no rows.
  AmxConfiguration(size_t first, size_t second, size_t depth) {
    const size_t counts[] = {first, first, second, second, first, second, depth, depth};
    for (size_t i = 0; i < 8; ++i) {
      rows[i] = static_cast<uint8_t>(counts[i] ? counts[i] : 1);
      row_bytes[i] = static_cast<uint16_t>(i == 4 || i == 5 ? 4 * depth : 64);
    }
  }
};

}  // namespace minnow::cpu

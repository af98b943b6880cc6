// SPDX-License-Identifier: Apache-2.0
#include "train/tape.h"

namespace minnow::train {

Noted Noted::input() { return once(Tape::Op::input); }

Noted Noted::once(Tape::Op op, int16_t a, int16_t b, int16_t c, int16_t d) {
  tape->operations += op == Tape::Op::input ? 0 : op == Tape::Op::clamped || op == Tape::Op::by_sign ? 2 : 1;
  tape->entries.push_back({op, {a, b, c, d}});
  return {static_cast<int16_t>(tape->entries.size() - 1)};
}

}  // namespace minnow::train

// SPDX-License-Identifier: Apache-2.0
// Integers of 64 bits as pairs of words, for devices without them. Quotients are functions of the library.
#pragma once
#include "backends/gpu/shaders/target.h"

namespace minnow::gpu {

/// Shifts take a word as the second operand. Comparisons give booleans.
Target::Id pair_binary(Target& target, Op op, bool is_signed, Target::Id a, Target::Id b);
Target::Id real_of_pair(Target& target, Target::Id pair, bool is_signed);
/// Towards zero; any number where it is out of range.
Target::Id pair_of_real(Target& target, Target::Id real, bool is_signed);

}  // namespace minnow::gpu

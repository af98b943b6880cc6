// SPDX-License-Identifier: Apache-2.0
// Optimization of expressions (see express.h). Link minnow_convert (CMake: Minnow::convert).
#pragma once
#include <minnow/error.h>

namespace minnow {

/// Turns on the fusion of elementwise operators in expressions: later chains are computed as one, without writing intermediate results to
/// memory. Steps of training get all passes. Forms that already have plans keep them. Applies to the whole process; may be called at any
/// time.
MINNOW_API void optimize_expressions(bool on = true);

}  // namespace minnow

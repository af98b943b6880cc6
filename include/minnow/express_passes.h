// SPDX-License-Identifier: Apache-2.0
// Optimization of expressions (see express.h). Link minnow_convert (CMake: Minnow::convert).
#pragma once
#include <minnow/error.h>

namespace minnow {

/// From now on chains of elementwise operators in expressions are computed as one, without writing what lies between to memory. Forms that
/// were planned for before stay as they are. For the whole process; may be called at any time.
MINNOW_API void optimize_expressions(bool on = true);

}  // namespace minnow

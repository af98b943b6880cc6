// SPDX-License-Identifier: Apache-2.0
// Operators that are a function of one float, as the kernels know them.
#pragma once
#include <optional>

#include "backends/cpu/kernels/unary.h"
#include "graph/activation.h"

namespace minnow::cpu {

struct Function {
  Unary kind;
  float a = 0, b = 0;
};

/// Nothing for another operator, and for a Clip whose bounds are not constant.
std::optional<Function> function_of(const NodeView& node);
/// The function that an activation is.
Function function_of(const Activation& activation) noexcept;
/// Operations for one element: transcendental functions take some tens of instructions.
double cost_of(Unary kind);

}  // namespace minnow::cpu

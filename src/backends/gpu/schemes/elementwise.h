// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "graph/activation.h"
#include "graph/node_view.h"

namespace minnow::gpu {

inline constexpr std::string_view kFusedElementwise = "minnow.FusedElementwise";

/// The operator's result as an expression of the dialect over its operands; empty: there is none for the operator or its dtypes. An
/// operand that is absent is empty.
std::optional<std::string> expression_of(const NodeView& node, std::span<const std::string> operands);

/// The activation of x as an expression of floats.
std::string expression_of(const Activation& activation, const std::string& x);

/// Whether an elementwise operator's result is a boolean.
inline bool is_boolean_result(std::string_view op) {
  for (const std::string_view each :
       {"And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not", "Or", "Xor"})
    if (op == each) return true;
  return false;
}

}  // namespace minnow::gpu

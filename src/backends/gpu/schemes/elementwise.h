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

}  // namespace minnow::gpu

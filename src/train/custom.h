// SPDX-License-Identifier: Apache-2.0
// Optimizers of other libraries: C tables become rows.
#pragma once
#include <minnow/optimizer_c.h>

#include <span>
#include <string>

#include "train/rule.h"

namespace minnow::train {

/// A row for a table, which has to stay where it is. Throws InvalidArgument with `where` for a table that is not complete.
Rule rule_of(const minnow_custom_optimizer* table, const std::string& where);
/// Makes create() know it, as register_optimizer() does. `threads`: update may be called from several threads.
void register_custom(const minnow_custom_optimizer* table, const std::string& where, bool threads);
double custom_operations(const minnow_custom_optimizer& table);
/// Empty, or the sentence of the error. The gradient is changed as the coefficients of the step say before the table sees it.
std::string run_custom(const minnow_custom_optimizer& table, DType dtype, const Shape& shape, void* w, const void* g, void* gradient,
                       std::span<void* const> states, const Step& step);

}  // namespace minnow::train

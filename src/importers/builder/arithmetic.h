// SPDX-License-Identifier: Apache-2.0
// Arithmetic that takes several of Minnow's operators.
#pragma once
#include "importers/builder/typed_builder.h"

namespace minnow {

Expr floor_div(TypedBuilder& p, const Expr& a, const Expr& b);
Expr floor_mod(TypedBuilder& p, const Expr& a, const Expr& b);
Expr atan2(TypedBuilder& p, const Expr& y, const Expr& x);
Expr lowest(TypedBuilder& p, DType dtype);
Expr largest(TypedBuilder& p, DType dtype);
/// Applies to x a range of numbers, absent bounds left open.
Expr clip(TypedBuilder& p, const Expr& x, std::optional<double> low, std::optional<double> high);
Expr matrix_diag(TypedBuilder& p, const Expr& x);
Expr matrix_set_diag(TypedBuilder& p, const Expr& x, const Expr& diagonal);
Expr broadcast_shapes(TypedBuilder& p, const Expr& a, const Expr& b);  // i64 vectors

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/operator.h"

namespace minnow {

/// The definitions of all built-in operators, from the one list in all.cpp.
std::vector<Operator> all_operators();

}  // namespace minnow

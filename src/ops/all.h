// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ops/operator.h"

namespace minnow {

/// All built-in operators, in the order of the one list in all.cpp.
std::vector<const Operator*> all_operators();

}  // namespace minnow

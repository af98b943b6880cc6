// SPDX-License-Identifier: Apache-2.0
// The schemes of custom operators, as rows beside those of the cpu backend.
#pragma once
#include <vector>

#include "backends/backend.h"
#include "ops/operator.h"

namespace minnow {

/// The schemes that the custom operators of a set bring, which must outlive them.
std::vector<Scheme> custom_schemes(const OperatorSet& operators);

}  // namespace minnow

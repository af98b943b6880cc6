// SPDX-License-Identifier: Apache-2.0
// The operations of minnow.UpdateElements, by their numbers in its attribute "rule".
#pragma once
#include <cstdint>

namespace minnow {

enum class UpdateOp : uint8_t { input, add, subtract, multiply, divide, root, size, larger, smaller, clamped, by_sign };

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// How much a tensor may hold.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace minnow {

/// Elements of one tensor: whatever their dtype and however they are padded to vectors, a size_t counts their bytes. 2^27 where addresses
/// have 32 bits.
inline constexpr int64_t kMostElements = std::min<int64_t>(int64_t{1} << 58, PTRDIFF_MAX / 16);

}  // namespace minnow

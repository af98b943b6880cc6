// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace minnow {

/// 64 bits that tell contents apart, at the speed of memory. Not against people who look for equal digests.
uint64_t digest_of(std::span<const std::byte> bytes, uint64_t seed = 0) noexcept;

}  // namespace minnow

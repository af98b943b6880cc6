// SPDX-License-Identifier: Apache-2.0
// Lossless coding of bytes that repeat earlier ones (Ziv and Lempel, "A universal algorithm for sequential data compression", 1977).
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace minnow {

/// The same bytes always give the same code.
std::vector<std::byte> repeats_coded(std::span<const std::byte> plain);

/// Writes exactly plain.size() bytes. False if the code is damaged or stands for another number of bytes; then `plain` holds anything.
bool decode_repeats(std::span<const std::byte> coded, std::span<std::byte> plain) noexcept;

}  // namespace minnow

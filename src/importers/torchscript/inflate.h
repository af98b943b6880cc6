// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace minnow::torchscript {

/// Inflates a deflate stream (RFC 1951) to `size` bytes. Empty if the stream is broken, or has more or fewer bytes. Memory grows with the
/// bytes actually decoded.
std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> source, size_t size);

}  // namespace minnow::torchscript

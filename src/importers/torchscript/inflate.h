// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace minnow::torchscript {

/// Deflate (RFC 1951): the `size` bytes that `source` unpacks to. Nothing where the stream is broken, or gives more or fewer bytes. Memory
/// grows with what really comes out.
std::optional<std::vector<std::byte>> inflate(std::span<const std::byte> source, size_t size);

}  // namespace minnow::torchscript

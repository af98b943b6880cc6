// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace minnow {

/// Why a file of any kind has no content, as the end of a sentence: it "is empty", or it is a pointer of Git LFS whose file was not
/// fetched. An empty text for any other bytes.
std::string placeholder(std::span<const std::byte> bytes);

}  // namespace minnow

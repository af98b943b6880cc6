// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace minnow {

/// Why a file cannot be what it should be, whatever that is: "is empty", or it is a pointer of Git LFS, which stands for a file that was
/// not fetched. Empty text for any other bytes.
std::string placeholder(std::span<const std::byte> bytes);

}  // namespace minnow

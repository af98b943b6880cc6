// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/convert.h>

#include <memory>
#include <string>
#include <utility>

namespace minnow {

/// Reads all bytes of a file from `offset` on, at most `limit`. Memory grows with the bytes actually read. Throws OutOfMemory;
/// InvalidArgument if the callback claims more bytes than requested; and the exceptions of the callback.
std::pair<std::shared_ptr<const void>, size_t> read_all(const ReadCallback& read, const std::string& name, uint64_t offset, uint64_t limit);

}  // namespace minnow

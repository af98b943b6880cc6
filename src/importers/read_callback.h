// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/convert.h>

#include <memory>
#include <string>
#include <utility>

namespace minnow {

/// All bytes of a file from `offset` on, at most `limit`, in memory that grows with what really comes. Throws OutOfMemory, InvalidArgument
/// where the callback says that it gave more than it was asked for, and what the callback throws.
std::pair<std::shared_ptr<const void>, size_t> read_all(const ReadCallback& read, const std::string& name, uint64_t offset, uint64_t limit);

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Memory for the values of expressions. A loop frees a large tensor and soon allocates another of the same size. Fresh memory from the
// system costs a page fault per 4 KiB, more than most operators take. So a few freed blocks are kept.
#pragma once
#include <cstddef>
#include <memory>

namespace minnow::express {

/// Uninitialized, aligned as all tensors are. Throws OutOfMemory.
std::shared_ptr<void> allocate_value(size_t bytes);
/// Returns the kept blocks to the system.
void release_kept_memory() noexcept;

}  // namespace minnow::express

// SPDX-License-Identifier: Apache-2.0
// Memory for the values of expressions. A loop frees a large tensor and wants one of the same size again; what comes from the system anew
// costs a page fault for every 4 KiB, more than most operators take. So a few freed blocks are kept.
#pragma once
#include <cstddef>
#include <memory>

namespace minnow::express {

/// Uninitialized, aligned as all tensors are. Throws OutOfMemory.
std::shared_ptr<void> allocate_value(size_t bytes);
/// Gives what is kept back to the system.
void release_kept_memory() noexcept;

}  // namespace minnow::express

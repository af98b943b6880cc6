// SPDX-License-Identifier: Apache-2.0
// Aligned memory, and the limit that every large allocation is checked against.
#pragma once
#include <cstddef>
#include <memory>

namespace minnow {

inline constexpr size_t kAlignment = 64;  // a cache line, and the widest vector
inline constexpr size_t align_up(size_t bytes, size_t alignment = kAlignment) { return (bytes + alignment - 1) / alignment * alignment; }

struct AlignedFree {
  void operator()(void* memory) const noexcept;
};
using AlignedMemory = std::unique_ptr<void, AlignedFree>;

/// Uninitialized memory aligned to kAlignment, never null. Throws OutOfMemory where the limit or the system refuses; counts allocations for
/// tests.
AlignedMemory allocate_aligned(size_t bytes);
std::shared_ptr<void> allocate_shared(size_t bytes);

/// Throws OutOfMemory where `bytes` is more than the memory limit.
void check_memory(size_t bytes, const char* what);
/// The limit on one allocation in bytes; 0 means the machine's physical memory.
void set_memory_limit(size_t bytes) noexcept;
size_t memory_limit() noexcept;

}  // namespace minnow

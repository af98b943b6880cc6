// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <atomic>
#include <cstdlib>

#include "base/error.h"
#include "base/os.h"

namespace minnow {
namespace {
std::atomic<size_t> g_limit{0};
}

void AlignedFree::operator()(void* memory) const noexcept { std::free(memory); }

void set_memory_limit(size_t bytes) noexcept { g_limit.store(bytes, std::memory_order_relaxed); }

size_t memory_limit() noexcept {
  const size_t limit = g_limit.load(std::memory_order_relaxed);
  static const size_t physical = os::physical_memory_bytes();
  return limit ? limit : physical;
}

void check_memory(size_t bytes, const char* what) {
  if (bytes > memory_limit()) throw OutOfMemory("{} of {} bytes is over the memory limit of {} bytes", what, bytes, memory_limit());
}

AlignedMemory allocate_aligned(size_t bytes) {
  check_memory(bytes, "an allocation");
  void* memory = std::aligned_alloc(kAlignment, align_up(bytes ? bytes : 1));
  if (!memory) throw OutOfMemory("the system refused {} bytes of memory", bytes);
  return AlignedMemory(memory);
}

std::shared_ptr<void> allocate_shared(size_t bytes) { return std::shared_ptr<void>(allocate_aligned(bytes)); }

}  // namespace minnow

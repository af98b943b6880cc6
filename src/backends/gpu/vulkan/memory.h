// SPDX-License-Identifier: Apache-2.0
// Memory of a Vulkan device. Buffers have no addresses there, so each gets a range of numbers that nothing else uses; schemes may add to
// them. Small allocations share a buffer.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/gpu/vulkan/api.h"

namespace minnow::gpu::vulkan {

/// A buffer with memory of its own.
struct Buffer {
  Object buffer = 0, memory = 0;
  size_t bytes = 0;
  char* mapped = nullptr;  // where the host sees it; null: nowhere
  uint64_t serial = 0;     // no two buffers of a process have the same
  uintptr_t first = 0;     // its address
  uint32_t slots = 0;
  std::map<size_t, size_t> free;  // of a shared buffer: offset, bytes
};

/// Where a queue stands, for memory that waits to be freed until no queue works with it.
struct QueueProgress {
  std::atomic<bool> idle{true};
  std::atomic<uint64_t> epoch{0};  // the queue has finished all work that was given to it before this epoch
};

class DeviceMemory {
 public:
  enum class Use : uint8_t { device, visible, staging };
  DeviceMemory(const DeviceApi& api, Handle device, const MemoryProperties& properties, const Properties& limits, uint64_t max_allocation);
  ~DeviceMemory();

  /// Zero where memory is exhausted, else the address. `visible`: the host sees it, and the device reads it where it lies.
  uintptr_t allocate(size_t bytes, Use use);
  void release(uintptr_t address, size_t bytes) noexcept;
  /// The buffer around an address; null: none. Safe beside allocate() and release() of other addresses; takes no lock.
  const Buffer* find(const void* address) const noexcept {
    const uintptr_t slot = reinterpret_cast<uintptr_t>(address) >> kSlotBits;
    return slot < kSlots ? slots_[slot] : nullptr;
  }
  /// The host works with the device's own memory.
  bool is_unified() const noexcept { return unified_; }

  void add(QueueProgress& queue);
  void remove(QueueProgress& queue) noexcept;
  uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  /// Changes whenever a buffer is freed.
  uint64_t freed() const noexcept { return freed_.load(std::memory_order_acquire); }
  bool has_waiting() const noexcept { return waiting_count_.load(std::memory_order_acquire) != 0; }
  /// Frees the buffers that no queue works with any more.
  void collect() noexcept;

 private:
  // On 64-bit machines 65,536 slots of 256 MiB, else 256 of 16 MiB.
  static constexpr int kSlotBits = sizeof(void*) == 8 ? 28 : 24;
  static constexpr size_t kSlots = sizeof(void*) == 8 ? 65536 : 256;

  struct Waiting {
    uintptr_t address;
    size_t bytes;
    uint64_t epoch;
  };
  Buffer* make(size_t bytes, Use use);
  void reclaim(uintptr_t address, size_t bytes) noexcept;
  void give_back(std::vector<std::unique_ptr<Buffer>>& list, size_t i) noexcept;
  void destroy(Buffer& buffer) noexcept;
  void collect_locked() noexcept;
  static int type_of(const MemoryProperties& properties, uint32_t types, Flags wanted, Flags unwanted);

  const DeviceApi& api_;
  Handle device_;
  MemoryProperties properties_;
  uint64_t max_allocation_;
  size_t shared_bytes_;  // of a buffer for small allocations
  bool unified_ = false;
  std::unique_ptr<Buffer*[]> slots_;
  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Buffer>>, 3> shared_;  // by use
  std::vector<std::unique_ptr<Buffer>> own_;
  std::vector<Waiting> waiting_;
  std::vector<QueueProgress*> queues_;
  std::atomic<uint64_t> epoch_{0}, freed_{0};
  std::atomic<size_t> waiting_count_{0};
};

}  // namespace minnow::gpu::vulkan

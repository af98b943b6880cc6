// SPDX-License-Identifier: Apache-2.0
// Memory of devices whose buffers have no addresses, as in Vulkan and OpenGL. Each buffer gets a range of numbers that nothing else uses;
// schemes may add to them. Small allocations share a buffer. Drivers look up here which buffer an argument of a launch means.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/gpu/driver.h"
#include "backends/gpu/shaders/shader_compiler.h"

namespace minnow::gpu {

/// A buffer with memory of its own.
struct Buffer {
  uint64_t object = 0, memory = 0;  // the driver's
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
  virtual ~DeviceMemory() = default;  // which has to call destroy_all()

  /// Zero where memory is exhausted, else the address. `visible`: the host sees it, and the device reads it where it lies.
  uintptr_t allocate(size_t bytes, Use use);
  void release(uintptr_t address, size_t bytes) noexcept;
  /// The buffer around an address; null: none. Safe beside allocate() and release() of other addresses; takes no lock.
  const Buffer* find(const void* address) const noexcept {
    const uintptr_t slot = reinterpret_cast<uintptr_t>(address) >> kSlotBits;
    return slot < kSlots ? slots_[slot] : nullptr;
  }

  void add(QueueProgress& queue);
  void remove(QueueProgress& queue) noexcept;
  uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  /// Changes whenever a buffer is freed.
  uint64_t freed() const noexcept { return freed_.load(std::memory_order_acquire); }
  bool has_waiting() const noexcept { return waiting_count_.load(std::memory_order_acquire) != 0; }
  /// Frees the buffers that no queue works with any more.
  void collect() noexcept;

 protected:
  /// `shared_bytes`: of a buffer for small allocations, a multiple of 256.
  explicit DeviceMemory(size_t shared_bytes) : shared_bytes_(shared_bytes), slots_(new Buffer*[kSlots]()) {}
  /// Makes `buffer.bytes` bytes. False: memory is exhausted.
  virtual bool create(Buffer& buffer, Use use) noexcept = 0;
  virtual void destroy(Buffer& buffer) noexcept = 0;
  void destroy_all() noexcept;

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
  void collect_locked() noexcept;

  const size_t shared_bytes_;
  std::unique_ptr<Buffer*[]> slots_;
  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Buffer>>, 3> shared_;  // by use
  std::vector<std::unique_ptr<Buffer>> own_;
  std::vector<Waiting> waiting_;
  std::vector<QueueProgress*> queues_;
  std::atomic<uint64_t> epoch_{0}, freed_{0};
  std::atomic<size_t> waiting_count_{0};
};

/// The part of a buffer that a launch reads or writes.
struct BoundBuffer {
  const Buffer* buffer;
  uint64_t first, bytes;
};

/// The arguments of a launch as a shader takes them.
struct BoundArguments {
  uint32_t words[kMostArguments + 6];
  BoundBuffer buffers[kMostArguments];
  size_t count = 0;  // of buffers

  /// `nothing` stands for empty tensors. Buffers of up to `max_range` bytes are bound whole, of larger ones a part. False: an address is
  /// not one of the elements that the shader reads.
  bool set(const DeviceMemory& memory, const Buffer& nothing, const ShaderInterface& shader, std::span<const Argument> arguments,
           uint64_t max_range) noexcept;
};

/// Calls dispatch(groups) for parts of a launch of at most `most` groups; `words` are the six that tell a shader which part it is.
template <class F>
bool for_parts(const Extent& groups, const uint32_t* most, uint32_t* words, F&& dispatch) {
  std::copy(groups.begin(), groups.end(), words + 3);
  for (words[2] = 0; words[2] < groups[2]; words[2] += std::min(most[2], groups[2] - words[2]))
    for (words[1] = 0; words[1] < groups[1]; words[1] += std::min(most[1], groups[1] - words[1]))
      for (words[0] = 0; words[0] < groups[0]; words[0] += std::min(most[0], groups[0] - words[0])) {
        Extent part;
        for (size_t i = 0; i < 3; ++i) part[i] = std::min(most[i], groups[i] - words[i]);
        if (!dispatch(part)) return false;
      }
  return true;
}

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
#include "express/memory.h"

#include <array>
#include <mutex>
#include <utility>

#include "base/memory.h"

namespace minnow::express {
namespace {

constexpr size_t kLeast = size_t{256} << 10;  // smaller blocks the C library keeps well enough
constexpr size_t kMost = size_t{32} << 20;    // of all that is kept
constexpr size_t kBlocks = 8;

class Kept {
 public:
  AlignedMemory take(size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    for (AlignedMemory& block : blocks_)
      if (block && block.get_deleter().bytes == bytes) {
        bytes_ -= bytes;
        return std::move(block);
      }
    return {};
  }
  void give(AlignedMemory block) noexcept {
    AlignedMemory out;  // freed without the lock
    const std::lock_guard lock(mutex_);
    const size_t bytes = block.get_deleter().bytes;
    if (bytes_ + bytes > kMost) return out.swap(block);
    // The oldest place makes room.
    AlignedMemory& place = blocks_[next_];
    next_ = (next_ + 1) % kBlocks;
    if (place) bytes_ -= place.get_deleter().bytes;
    out = std::exchange(place, std::move(block));
    bytes_ += bytes;
  }
  void clear() noexcept {
    std::array<AlignedMemory, kBlocks> out;
    const std::lock_guard lock(mutex_);
    out.swap(blocks_);
    bytes_ = 0;
  }
  static Kept& instance() {
    static Kept& kept = *new Kept;  // outlives every tensor
    return kept;
  }

 private:
  std::mutex mutex_;
  std::array<AlignedMemory, kBlocks> blocks_;
  size_t bytes_ = 0, next_ = 0;
};

}  // namespace

std::shared_ptr<void> allocate_value(size_t bytes) {
  const ChargeTo nobody;
  if (bytes < kLeast || bytes > kMost) return allocate_shared(bytes);
  Kept& kept = Kept::instance();
  AlignedMemory block = kept.take(bytes);
  if (!block) block = allocate_aligned(bytes);
  void* memory = block.get();
  auto holder = std::make_shared<AlignedMemory>(std::move(block));
  return std::shared_ptr<void>(memory, [holder = std::move(holder)](void*) noexcept { Kept::instance().give(std::move(*holder)); });
}

void release_kept_memory() noexcept { Kept::instance().clear(); }

}  // namespace minnow::express

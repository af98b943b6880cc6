// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/vulkan/memory.h"

#include <algorithm>

#include "base/memory.h"

namespace minnow::gpu::vulkan {
namespace {

constexpr size_t kAlign = 256;  // no device asks for a larger offset of storage buffers
std::atomic<uint64_t> next_serial{1};

}  // namespace

int DeviceMemory::type_of(const MemoryProperties& properties, uint32_t types, Flags wanted, Flags unwanted) {
  for (uint32_t i = 0; i < properties.type_count; ++i)
    if ((types >> i & 1) && (properties.types[i].flags & wanted) == wanted && !(properties.types[i].flags & unwanted))
      return static_cast<int>(i);
  return -1;
}

DeviceMemory::DeviceMemory(const DeviceApi& api, Handle device, const MemoryProperties& properties, const Properties& limits,
                           uint64_t max_allocation)
    : api_(api), device_(device), properties_(properties), max_allocation_(max_allocation), slots_(new Buffer*[kSlots]()) {
  uint64_t heap = 0;
  for (uint32_t i = 0; i < properties.heap_count; ++i)
    if (properties.heaps[i].flags & kDeviceLocal) heap = std::max(heap, properties.heaps[i].bytes);
  // A discrete device may show its memory to the host too, but the host reads it very slowly.
  unified_ =
      limits.type != kDiscrete && limits.type != kVirtual && type_of(properties, ~0u, kDeviceLocal | kHostVisible | kHostCoherent, 0) >= 0;
  const uint64_t range = limits.limits.max_storage_buffer_range;
  shared_bytes_ = static_cast<size_t>(
      std::min<uint64_t>({limits.type == kDiscrete ? 64u << 20 : 16u << 20, range, std::max<uint64_t>(heap / 16, 1 << 20)}));
  shared_bytes_ = shared_bytes_ / kAlign * kAlign;
}

DeviceMemory::~DeviceMemory() {
  for (auto& list : shared_)
    for (auto& buffer : list) destroy(*buffer);
  for (auto& buffer : own_) destroy(*buffer);
}

void DeviceMemory::destroy(Buffer& buffer) noexcept {
  if (buffer.buffer) api_.vkDestroyBuffer(device_, buffer.buffer, nullptr);
  if (buffer.memory) api_.vkFreeMemory(device_, buffer.memory, nullptr);  // unmaps
  buffer.buffer = buffer.memory = 0;
}

// Null: memory is exhausted.
Buffer* DeviceMemory::make(size_t bytes, Use use) {
  if (bytes > max_allocation_) return nullptr;
  auto made = std::make_unique<Buffer>();
  made->bytes = bytes;
  made->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  own_.reserve(own_.size() + 1);
  shared_[static_cast<size_t>(use)].reserve(shared_[static_cast<size_t>(use)].size() + 1);
  BufferInfo info;
  info.bytes = bytes;
  info.usage = kUsageTransferFrom | kUsageTransferTo | kUsageStorage;
  if (api_.vkCreateBuffer(device_, &info, nullptr, &made->buffer) != kSuccess) return nullptr;
  MemoryNeeds needs{};
  api_.vkGetBufferMemoryRequirements(device_, made->buffer, &needs);
  const Flags host = kHostVisible | kHostCoherent;
  int type = -1;
  bool maps = use != Use::device || unified_;
  if (use == Use::device && unified_) {
    type = type_of(properties_, needs.types, kDeviceLocal | host | kHostCached, 0);
    if (type < 0) type = type_of(properties_, needs.types, kDeviceLocal | host, 0);
  } else if (use == Use::device) {
    type = type_of(properties_, needs.types, kDeviceLocal, kHostVisible);
    if (type < 0) type = type_of(properties_, needs.types, kDeviceLocal, 0);
  } else {
    type = type_of(properties_, needs.types, host | kHostCached, 0);
    if (type < 0) type = type_of(properties_, needs.types, host, 0);
  }
  if (type < 0) type = type_of(properties_, needs.types, maps ? host : 0, 0);
  MemoryInfo memory;
  memory.bytes = needs.bytes;
  memory.type = static_cast<uint32_t>(std::max(type, 0));
  void* mapped = nullptr;
  if (type < 0 || api_.vkAllocateMemory(device_, &memory, nullptr, &made->memory) != kSuccess ||
      api_.vkBindBufferMemory(device_, made->buffer, made->memory, 0) != kSuccess ||
      (maps && api_.vkMapMemory(device_, made->memory, 0, kWholeSize, 0, &mapped) != kSuccess)) {
    destroy(*made);
    return nullptr;
  }
  made->mapped = static_cast<char*>(mapped);
  // A range of slots that no other buffer has; slot 0 would contain the null pointer.
  const size_t count = (bytes + (size_t{1} << kSlotBits) - 1) >> kSlotBits;
  size_t at = 1, run = 0;
  for (; at < kSlots && run < count; ++at) run = slots_[at] ? 0 : run + 1;
  if (run < count) {
    destroy(*made);
    return nullptr;
  }
  made->slots = static_cast<uint32_t>(count);
  made->first = (at - count) << kSlotBits;
  for (size_t i = at - count; i < at; ++i) slots_[i] = made.get();
  if (bytes == shared_bytes_) made->free[0] = bytes;
  auto& list = bytes == shared_bytes_ ? shared_[static_cast<size_t>(use)] : own_;
  list.push_back(std::move(made));
  return list.back().get();
}

uintptr_t DeviceMemory::allocate(size_t bytes, Use use) {
  if (bytes > PTRDIFF_MAX) return 0;
  bytes = align_up(std::max<size_t>(bytes, 1), kAlign);
  const std::lock_guard lock(mutex_);
  if (bytes > shared_bytes_ / 4) {
    const size_t whole = bytes == shared_bytes_ ? bytes + kAlign : bytes;  // not a shared one
    Buffer* buffer = make(whole, use);
    if (!buffer && !waiting_.empty()) collect_locked(), buffer = make(whole, use);
    return buffer ? buffer->first : 0;
  }
  const auto take = [&](Buffer& buffer) -> uintptr_t {
    for (auto at = buffer.free.begin(); at != buffer.free.end(); ++at) {
      if (at->second < bytes) continue;
      const auto [offset, size] = *at;
      if (size == bytes) {
        buffer.free.erase(at);
      } else {
        auto node = buffer.free.extract(at);  // the rest, without an allocation
        node.key() = offset + bytes;
        node.mapped() = size - bytes;
        buffer.free.insert(std::move(node));
      }
      return buffer.first + offset;
    }
    return 0;
  };
  for (auto& buffer : shared_[static_cast<size_t>(use)])
    if (const uintptr_t address = take(*buffer)) return address;
  Buffer* buffer = make(shared_bytes_, use);
  return buffer ? take(*buffer) : 0;
}

void DeviceMemory::release(uintptr_t address, size_t bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({address, align_up(std::max<size_t>(bytes, 1), kAlign), epoch_.fetch_add(1, std::memory_order_acq_rel) + 1});
  waiting_count_.store(waiting_.size(), std::memory_order_release);
  collect_locked();
} catch (...) {}  // no memory to note it: the bytes stay taken until the device closes

void DeviceMemory::collect_locked() noexcept {
  uint64_t passed = ~uint64_t{0};
  for (const QueueProgress* queue : queues_)
    if (!queue->idle.load(std::memory_order_seq_cst)) passed = std::min(passed, queue->epoch.load(std::memory_order_acquire));
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.epoch > passed) return false;
    reclaim(one.address, one.bytes);
    return true;
  });
  waiting_count_.store(waiting_.size(), std::memory_order_release);
}

void DeviceMemory::reclaim(uintptr_t address, size_t bytes) noexcept try {
  Buffer* const buffer = slots_[address >> kSlotBits];
  if (buffer->bytes != shared_bytes_) {
    for (size_t i = 0; i < own_.size(); ++i)
      if (own_[i].get() == buffer) return give_back(own_, i);
    return;
  }
  size_t offset = address - buffer->first;
  auto next = buffer->free.lower_bound(offset);
  if (next != buffer->free.end() && next->first == offset + bytes) bytes += next->second, next = buffer->free.erase(next);
  if (next != buffer->free.begin())
    if (const auto before = std::prev(next); before->first + before->second == offset) {
      offset = before->first, bytes += before->second;
      buffer->free.erase(before);
    }
  buffer->free[offset] = bytes;
  if (bytes != buffer->bytes) return;
  // One empty buffer stays for the next allocation.
  for (auto& list : shared_) {
    const auto is_empty = [](const auto& one) { return one->free.size() == 1 && one->free.begin()->second == one->bytes; };
    if (std::count_if(list.begin(), list.end(), is_empty) < 2) continue;
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].get() == buffer) return give_back(list, i);
  }
} catch (...) {}

void DeviceMemory::give_back(std::vector<std::unique_ptr<Buffer>>& list, size_t i) noexcept {
  const size_t at = list[i]->first >> kSlotBits;
  for (size_t slot = 0; slot < list[i]->slots; ++slot) slots_[at + slot] = nullptr;
  destroy(*list[i]);
  list.erase(list.begin() + static_cast<ptrdiff_t>(i));
  freed_.fetch_add(1, std::memory_order_acq_rel);
}

void DeviceMemory::collect() noexcept {
  const std::lock_guard lock(mutex_);
  collect_locked();
}

void DeviceMemory::add(QueueProgress& queue) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(&queue);
}

void DeviceMemory::remove(QueueProgress& queue) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(queues_, &queue);
  collect_locked();
}

}  // namespace minnow::gpu::vulkan

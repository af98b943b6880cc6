// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device_memory.h"

#include "base/memory.h"

namespace minnow::gpu {
namespace {

constexpr size_t kAlign = 256;  // no device asks for a larger offset of storage buffers
std::atomic<uint64_t> next_serial{1};

}  // namespace

void DeviceMemory::destroy_all() noexcept {
  for (auto& list : shared_)
    for (auto& buffer : list) destroy(*buffer);
  for (auto& buffer : own_) destroy(*buffer);
}

// Null: memory is exhausted.
Buffer* DeviceMemory::make(size_t bytes, Use use) {
  auto made = std::make_unique<Buffer>();
  made->bytes = bytes;
  made->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  auto& list = bytes == shared_bytes_ ? shared_[static_cast<size_t>(use)] : own_;
  list.reserve(list.size() + 1);
  if (bytes == shared_bytes_) made->free[0] = bytes;
  // A range of slots that no other buffer has; slot 0 would contain the null pointer.
  const size_t count = ((bytes - 1) >> kSlotBits) + 1;
  size_t at = 1, run = 0;
  for (; at < kSlots && run < count; ++at) run = slots_[at] ? 0 : run + 1;
  if (run < count || !create(*made, use)) return nullptr;
  made->slots = static_cast<uint32_t>(count);
  made->first = (at - count) << kSlotBits;
  for (size_t i = at - count; i < at; ++i) slots_[i] = made.get();
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
  if (Buffer* const buffer = make(shared_bytes_, use)) return take(*buffer);
  Buffer* const buffer = make(bytes, use);  // the last of the memory
  return buffer ? buffer->first : 0;
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

bool BoundArguments::set(const DeviceMemory& memory, const Buffer& nothing, const ShaderInterface& shader,
                         std::span<const Argument> arguments, uint64_t max_range) noexcept {
  if (arguments.size() != shader.parameters.size()) return false;
  count = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != Argument::Kind::buffer) {
      words[i] = static_cast<uint32_t>(arguments[i].i32);  // or the bits of an f32
      continue;
    }
    const Buffer* buffer = memory.find(arguments[i].address);
    uint64_t offset = buffer ? reinterpret_cast<uintptr_t>(arguments[i].address) - buffer->first : 0;
    if (!buffer || offset >= buffer->bytes) buffer = &nothing, offset = 0;  // an empty tensor, which the kernel does not touch
    const uint64_t first = buffer->bytes <= max_range ? 0 : offset / kAlign * kAlign;
    if ((offset - first) % shader.element_bytes[i]) return false;
    words[i] = static_cast<uint32_t>((offset - first) / shader.element_bytes[i]);
    buffers[count++] = {buffer, first, std::min<uint64_t>(buffer->bytes - first, max_range / 4 * 4)};
  }
  return true;
}

}  // namespace minnow::gpu

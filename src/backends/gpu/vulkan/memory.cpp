// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/vulkan/memory.h"

namespace minnow::gpu::vulkan {
namespace {

// The first type of memory that has all of the wanted properties and none of the unwanted; -1: there is none.
int type_of(const MemoryProperties& properties, uint32_t types, Flags wanted, Flags unwanted = 0) {
  for (uint32_t i = 0; i < properties.type_count; ++i)
    if ((types >> i & 1) && (properties.types[i].flags & wanted) == wanted && !(properties.types[i].flags & unwanted))
      return static_cast<int>(i);
  return -1;
}

size_t shared_bytes_of(const MemoryProperties& properties, const Properties& limits) {
  uint64_t heap = 0;
  for (uint32_t i = 0; i < properties.heap_count; ++i)
    if (properties.heaps[i].flags & kDeviceLocal) heap = std::max(heap, properties.heaps[i].bytes);
  const uint64_t bytes = limits.type == kDiscrete ? 64 << 20 : 16 << 20;
  return static_cast<size_t>(std::min({bytes, uint64_t{limits.limits.max_storage_buffer_range}, std::max<uint64_t>(heap / 16, 1 << 20)})) /
         256 * 256;
}

constexpr Flags kHost = kHostVisible | kHostCoherent;

}  // namespace

// A discrete device may show its memory to the host too, but the host reads it very slowly.
VulkanMemory::VulkanMemory(const DeviceApi& api, Handle device, const MemoryProperties& properties, const Properties& limits,
                           uint64_t max_allocation)
    : DeviceMemory(shared_bytes_of(properties, limits)),
      api_(api),
      device_(device),
      properties_(properties),
      max_allocation_(max_allocation),
      unified_(limits.type != kDiscrete && limits.type != kVirtual && type_of(properties, ~0u, kDeviceLocal | kHost) >= 0) {}

void VulkanMemory::destroy(Buffer& buffer) noexcept {
  if (buffer.object) api_.vkDestroyBuffer(device_, buffer.object, nullptr);
  if (buffer.memory) api_.vkFreeMemory(device_, buffer.memory, nullptr);  // which unmaps it
  buffer.object = buffer.memory = 0;
}

bool VulkanMemory::create(Buffer& buffer, Use use) noexcept {
  if (buffer.bytes > max_allocation_) return false;
  BufferInfo info;
  info.bytes = buffer.bytes;
  info.usage = kUsageTransferFrom | kUsageTransferTo | kUsageStorage;
  if (api_.vkCreateBuffer(device_, &info, nullptr, &buffer.object) != kSuccess) return false;
  MemoryNeeds needs{};
  api_.vkGetBufferMemoryRequirements(device_, buffer.object, &needs);
  const bool maps = use != Use::device || unified_;
  struct {
    Flags wanted, unwanted;
  } const wishes[] = {{use != Use::device ? kHost | kHostCached
                       : unified_         ? kDeviceLocal | kHost | kHostCached
                                          : kDeviceLocal,
                       maps ? 0 : kHostVisible},
                      {use != Use::device ? kHost
                       : unified_         ? kDeviceLocal | kHost
                                          : kDeviceLocal,
                       0},
                      {maps ? kHost : 0, 0}};
  int type = -1;
  for (const auto& wish : wishes)
    if (type < 0) type = type_of(properties_, needs.types, wish.wanted, wish.unwanted);
  MemoryInfo memory;
  memory.bytes = needs.bytes;
  memory.type = static_cast<uint32_t>(std::max(type, 0));
  void* mapped = nullptr;
  if (type < 0 || api_.vkAllocateMemory(device_, &memory, nullptr, &buffer.memory) != kSuccess ||
      api_.vkBindBufferMemory(device_, buffer.object, buffer.memory, 0) != kSuccess ||
      (maps && api_.vkMapMemory(device_, buffer.memory, 0, kWholeSize, 0, &mapped) != kSuccess)) {
    destroy(buffer);
    return false;
  }
  buffer.mapped = static_cast<char*>(mapped);
  return true;
}

}  // namespace minnow::gpu::vulkan

// SPDX-License-Identifier: Apache-2.0
// A stand-in for Vulkan's loader, libvulkan.so.1: its device's memory is the host's, copies are done and kernels do nothing. Faults come
// when the variable MINNOW_STUB_FAULT says so:
//   lost:N      the Nth submission of work, from 0 on, after the variable was set loses the device; so do all later ones of that device
//   kernel      no kernel is accepted
//   uncached    no kernel is accepted whose pipeline comes from no cache with the data of an earlier one
//   memory:N    the device has N bytes
//   old         the device has version 1.0
//   small       its groups have 128 items
// The device is a discrete one, whose memory the host does not see.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/gpu/vulkan/api.h"

namespace {

using namespace minnow::gpu::vulkan;

struct Memory {
  std::vector<char> bytes;
};
struct Copy {
  Object from, to;
  BufferCopy region;
};
struct Commands {
  std::vector<Copy> copies;
};

std::mutex mutex;
size_t used = 0;
size_t submissions = 0;
bool lost = false;
std::map<Object, Object> memory_of_buffer;
std::map<Object, size_t> bytes_of_buffer;
std::set<Object> full_caches;
constexpr char kPipeline[] = "a pipeline";
Object next_object = 1;

std::string fault() {
  const char* text = std::getenv("MINNOW_STUB_FAULT");
  return text ? text : "";
}
size_t number_behind(const char* word) {
  const std::string text = fault();
  return text.rfind(word, 0) == 0 ? std::stoull(text.substr(std::strlen(word))) : SIZE_MAX;
}
template <class T>
Handle handle(T* object) {
  return reinterpret_cast<Handle>(object);
}
int something;
char* bytes_of(Object buffer) { return reinterpret_cast<Memory*>(memory_of_buffer.at(buffer))->bytes.data(); }
Result make_object(Object* object) {
  const std::lock_guard lock(mutex);
  *object = next_object++;
  return kSuccess;
}

Result vkCreateInstance(const InstanceInfo*, const void*, Handle* made) { return *made = handle(&something), kSuccess; }
Result vkEnumerateInstanceVersion(uint32_t* version) { return *version = version_of(1, 2), kSuccess; }
Result vkEnumeratePhysicalDevices(Handle, uint32_t* count, Handle* devices) {
  *count = 1;
  if (devices) *devices = handle(&something);
  return kSuccess;
}
Result vkEnumerateDeviceExtensionProperties(Handle, const char*, uint32_t* count, Extension*) { return *count = 0, kSuccess; }
void vkGetPhysicalDeviceProperties(Handle, Properties* properties) {
  *properties = {};
  properties->api_version = fault() == "old" ? version_of(1, 0) : version_of(1, 2);
  properties->type = kDiscrete;
  std::strcpy(properties->name, "stand-in");
  Limits& limits = properties->limits;
  limits.max_storage_buffer_range = 1 << 27;
  limits.max_push_constants = 128;
  limits.max_stage_storage_buffers = 32;
  limits.max_shared_bytes = 32768;
  limits.max_group_items = fault() == "small" ? 128 : 1024;
  for (size_t i = 0; i < 3; ++i) limits.max_groups[i] = 65535, limits.max_group[i] = limits.max_group_items;
}
void vkGetPhysicalDeviceProperties2(Handle device, Properties2* properties) {
  vkGetPhysicalDeviceProperties(device, &properties->properties);
}
void vkGetPhysicalDeviceFeatures2(Handle, Features2* features) {
  features->features[kShaderInt64] = 1;
  auto* storage_16 = static_cast<Storage16Features*>(const_cast<void*>(features->head.next));
  storage_16->storage_buffer = 1;
  if (storage_16->head.next) static_cast<Storage8Features*>(const_cast<void*>(storage_16->head.next))->storage_buffer = 1;
}
void vkGetPhysicalDeviceMemoryProperties(Handle, MemoryProperties* properties) {
  *properties = {};
  properties->type_count = 2;
  properties->types[0] = {kDeviceLocal, 0};
  properties->types[1] = {kHostVisible | kHostCoherent | kHostCached, 1};
  properties->heap_count = 2;
  properties->heaps[0] = {size_t{1} << 30, kDeviceLocal};
  properties->heaps[1] = {size_t{1} << 30, 0};
}
void vkGetPhysicalDeviceQueueFamilyProperties(Handle, uint32_t* count, QueueFamily* families) {
  *count = 1;
  if (families) *families = {kQueueGraphics | kQueueCompute, 2, 64, {1, 1, 1}};
}
Result vkCreateDevice(Handle, const DeviceInfo*, const void*, Handle* made) {
  const std::lock_guard lock(mutex);
  lost = false;
  return *made = handle(&something), kSuccess;
}
void vkDestroyDevice(Handle, const void*) {}
void vkGetDeviceQueue(Handle, uint32_t, uint32_t, Handle* queue) { *queue = handle(&something); }
Result vkAllocateMemory(Handle, const MemoryInfo* info, const void*, Object* made) {
  const std::lock_guard lock(mutex);
  if (used + info->bytes > number_behind("memory:")) return kOutOfDeviceMemory;
  used += info->bytes;
  return *made = reinterpret_cast<Object>(new Memory{std::vector<char>(info->bytes)}), kSuccess;
}
void vkFreeMemory(Handle, Object memory, const void*) {
  const std::lock_guard lock(mutex);
  used -= reinterpret_cast<Memory*>(memory)->bytes.size();
  delete reinterpret_cast<Memory*>(memory);
}
Result vkMapMemory(Handle, Object memory, uint64_t, uint64_t, Flags, void** mapped) {
  return *mapped = reinterpret_cast<Memory*>(memory)->bytes.data(), kSuccess;
}
Result vkCreateBuffer(Handle, const BufferInfo* info, const void*, Object* made) {
  make_object(made);
  const std::lock_guard lock(mutex);
  return bytes_of_buffer[*made] = info->bytes, kSuccess;
}
void vkDestroyBuffer(Handle, Object buffer, const void*) {
  const std::lock_guard lock(mutex);
  bytes_of_buffer.erase(buffer);
  memory_of_buffer.erase(buffer);
}
void vkGetBufferMemoryRequirements(Handle, Object buffer, MemoryNeeds* needs) {
  const std::lock_guard lock(mutex);
  *needs = {bytes_of_buffer.at(buffer), 256, 3};
}
Result vkBindBufferMemory(Handle, Object buffer, Object memory, uint64_t) {
  const std::lock_guard lock(mutex);
  return memory_of_buffer[buffer] = memory, kSuccess;
}
Result vkCreateFence(Handle, const FenceInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyFence(Handle, Object, const void*) {}
Result vkResetFences(Handle, uint32_t, const Object*) { return kSuccess; }
Result vkGetFenceStatus(Handle, Object) { return kSuccess; }
Result vkWaitForFences(Handle, uint32_t, const Object*, uint32_t, uint64_t) { return kSuccess; }
Result vkQueueSubmit(Handle, uint32_t count, const SubmitInfo* info, Object) {
  const std::lock_guard lock(mutex);
  const size_t losing = number_behind("lost:");
  submissions = losing == SIZE_MAX ? 0 : submissions + 1;
  if (losing != SIZE_MAX && submissions > losing) lost = true;
  if (lost) return kDeviceLost;
  for (uint32_t i = 0; count > 0 && i < info->command_count; ++i)
    for (const Copy& copy : reinterpret_cast<Commands*>(info->commands[i])->copies)
      std::memcpy(bytes_of(copy.to) + copy.region.to, bytes_of(copy.from) + copy.region.from, copy.region.bytes);
  return kSuccess;
}
Result vkCreateCommandPool(Handle, const CommandPoolInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyCommandPool(Handle, Object, const void*) {}
Result vkResetCommandPool(Handle, Object, Flags) { return kSuccess; }
Result vkAllocateCommandBuffers(Handle, const CommandBufferInfo*, Handle* made) { return *made = handle(new Commands), kSuccess; }
Result vkBeginCommandBuffer(Handle commands, const BeginInfo*) { return reinterpret_cast<Commands*>(commands)->copies.clear(), kSuccess; }
Result vkEndCommandBuffer(Handle) { return kSuccess; }
void vkCmdBindPipeline(Handle, uint32_t, Object) {}
void vkCmdBindDescriptorSets(Handle, uint32_t, Object, uint32_t, uint32_t, const Object*, uint32_t, const uint32_t*) {}
void vkCmdPushConstants(Handle, Object, Flags, uint32_t, uint32_t, const void*) {}
void vkCmdDispatch(Handle, uint32_t, uint32_t, uint32_t) {}
void vkCmdCopyBuffer(Handle commands, Object from, Object to, uint32_t, const BufferCopy* region) {
  reinterpret_cast<Commands*>(commands)->copies.push_back({from, to, *region});
}
void vkCmdPipelineBarrier(Handle, Flags, Flags, Flags, uint32_t, const MemoryBarrier*, uint32_t, const void*, uint32_t, const void*) {}
Result vkCreateDescriptorSetLayout(Handle, const SetLayoutInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyDescriptorSetLayout(Handle, Object, const void*) {}
Result vkCreatePipelineLayout(Handle, const PipelineLayoutInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyPipelineLayout(Handle, Object, const void*) {}
Result vkCreateShaderModule(Handle, const ShaderModuleInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyShaderModule(Handle, Object, const void*) {}
Result vkCreatePipelineCache(Handle, const PipelineCacheInfo* info, const void*, Object* made) {
  make_object(made);
  const std::lock_guard lock(mutex);
  if (info->bytes == sizeof kPipeline && std::memcmp(info->data, kPipeline, sizeof kPipeline) == 0) full_caches.insert(*made);
  return kSuccess;
}
void vkDestroyPipelineCache(Handle, Object cache, const void*) {
  const std::lock_guard lock(mutex);
  full_caches.erase(cache);
}
Result vkGetPipelineCacheData(Handle, Object, size_t* bytes, void* data) {
  *bytes = sizeof kPipeline;
  if (data) std::memcpy(data, kPipeline, sizeof kPipeline);
  return kSuccess;
}
Result vkCreateComputePipelines(Handle, Object cache, uint32_t, const ComputePipelineInfo*, const void*, Object* made) {
  {
    const std::lock_guard lock(mutex);
    if (fault() == "kernel" || (fault() == "uncached" && !full_caches.contains(cache))) return -3;
  }
  return make_object(made);
}
void vkDestroyPipeline(Handle, Object, const void*) {}
Result vkCreateQueryPool(Handle, const QueryPoolInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyQueryPool(Handle, Object, const void*) {}
Result vkGetQueryPoolResults(Handle, Object, uint32_t, uint32_t, size_t bytes, void* results, uint64_t, Flags) {
  const std::lock_guard lock(mutex);
  if (lost) return kDeviceLost;
  return std::memset(results, 0, bytes), kSuccess;
}
void vkCmdResetQueryPool(Handle, Object, uint32_t, uint32_t) {}
void vkCmdWriteTimestamp(Handle, Flags, Object, uint32_t) {}
Result vkCreateDescriptorPool(Handle, const DescriptorPoolInfo*, const void*, Object* made) { return make_object(made); }
void vkDestroyDescriptorPool(Handle, Object, const void*) {}
Result vkAllocateDescriptorSets(Handle, const DescriptorSetInfo*, Object* made) { return make_object(made); }
void vkUpdateDescriptorSets(Handle, uint32_t, const WriteDescriptors*, uint32_t, const void*) {}

void* function_of(const char* name);
void* vkGetDeviceProcAddr(Handle, const char* name) { return function_of(name); }
void* function_of(const char* name) {
#define MINNOW_STUB(function, result, parameters) \
  if (std::strcmp(name, #function) == 0) return reinterpret_cast<void*>(&function);
  MINNOW_VULKAN_GLOBAL(MINNOW_STUB)
  MINNOW_VULKAN_INSTANCE(MINNOW_STUB)
  MINNOW_VULKAN_DEVICE(MINNOW_STUB)
#undef MINNOW_STUB
  return nullptr;
}

}  // namespace

extern "C" void* vkGetInstanceProcAddr(Handle, const char* name) { return function_of(name); }

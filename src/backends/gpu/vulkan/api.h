// SPDX-License-Identifier: Apache-2.0
// The functions and structures of Vulkan 1.1 that the driver uses, by the Khronos specification, with its names for fields that are not
// plain. The loader is opened at run time. Structures have the sizes and offsets of the specification on 64-bit machines, and on 32-bit
// ones that align 64-bit numbers to 8 bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/os.h"

namespace minnow::gpu::vulkan {

using Result = int32_t;
using Flags = uint32_t;
using Handle = struct Opaque*;  // instances, physical devices, devices, queues, command buffers
using Object = uint64_t;        // all other handles
inline constexpr Result kSuccess = 0, kTimeout = 2, kOutOfHostMemory = -1, kOutOfDeviceMemory = -2, kInitializationFailed = -3,
                        kDeviceLost = -4, kTooManyObjects = -10, kFragmentedPool = -12, kOutOfPoolMemory = -1000069000;

inline constexpr Flags kQueueGraphics = 1, kQueueCompute = 2;
inline constexpr Flags kDeviceLocal = 1, kHostVisible = 2, kHostCoherent = 4, kHostCached = 8;
inline constexpr Flags kStageCompute = 1 << 11, kStageTransfer = 1 << 12, kStageBottom = 1 << 13, kStageHost = 1 << 14;
inline constexpr Flags kShaderRead = 1 << 5, kShaderWrite = 1 << 6, kTransferRead = 1 << 11, kTransferWrite = 1 << 12, kHostRead = 1 << 13;
inline constexpr Flags kUsageTransferFrom = 1, kUsageTransferTo = 2, kUsageStorage = 32;
inline constexpr uint32_t kStorageBuffer = 7, kStorageBufferDynamic = 9;
inline constexpr Flags kShaderStageCompute = 32;
inline constexpr uint32_t kBindCompute = 1;
inline constexpr uint64_t kWholeSize = ~uint64_t{0};
inline constexpr uint32_t kOtherDevice = 0, kIntegrated = 1, kDiscrete = 2, kVirtual = 3, kProcessor = 4;

constexpr uint32_t version_of(uint32_t major, uint32_t minor) { return major << 22 | minor << 12; }

/// How every structure with extensions begins.
struct Head {
  uint32_t type;
  const void* next = nullptr;
};

struct ApplicationInfo {
  Head head{0};
  const char* application = nullptr;
  uint32_t application_version = 0;
  const char* engine = nullptr;
  uint32_t engine_version = 0, api_version = 0;
};
struct InstanceInfo {
  Head head{1};
  Flags flags = 0;
  const ApplicationInfo* application = nullptr;
  uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
};
struct DeviceQueueInfo {
  Head head{2};
  Flags flags = 0;
  uint32_t family = 0, count = 0;
  const float* priorities = nullptr;
};
struct DeviceInfo {
  Head head{3};
  Flags flags = 0;
  uint32_t queue_info_count = 0;
  const DeviceQueueInfo* queue_infos = nullptr;
  uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
  const void* features = nullptr;
};
struct Extension {
  char name[256];
  uint32_t version;
};
struct Limits {  // VkPhysicalDeviceLimits; the fields between those that the driver reads are reserved
  uint32_t reserved_0[7];
  uint32_t max_storage_buffer_range, max_push_constants, max_memory_allocations;
  uint32_t reserved_1[9];
  uint32_t max_stage_storage_buffers;
  uint32_t reserved_2[34];
  uint32_t max_shared_bytes, max_groups[3], max_group_items, max_group[3];
  uint64_t reserved_3[10];
  uint64_t min_storage_offset;
  uint32_t reserved_4[22];
  float timestamp_period;
  uint32_t reserved_5[19];
};
static_assert(sizeof(Limits) == 504 && offsetof(Limits, max_stage_storage_buffers) == 76 && offsetof(Limits, max_shared_bytes) == 216 &&
              offsetof(Limits, min_storage_offset) == 328 && offsetof(Limits, timestamp_period) == 424);
struct Properties {  // VkPhysicalDeviceProperties
  uint32_t api_version, driver_version, vendor, device, type;
  char name[256];
  uint8_t cache_id[16];
  Limits limits;
  uint32_t sparse[5];
};
static_assert(sizeof(Properties) == 824 && offsetof(Properties, limits) == 296);
struct Properties2 {
  Head head{1000059001};
  Properties properties{};
};
struct FloatControls {  // VkPhysicalDeviceFloatControlsProperties
  Head head{1000197000};
  uint32_t denormal_independence = 0, rounding_independence = 0, keeps_special_f16 = 0, keeps_special_f32 = 0, rest[13] = {};
};
static_assert(sizeof(FloatControls) == 88 || sizeof(void*) == 4);
inline constexpr uint32_t kSubgroupBasic = 1, kSubgroupArithmetic = 4, kSubgroupBallot = 8;
struct SubgroupProperties {
  Head head{1000094000};
  uint32_t size = 0, stages = 0, operations = 0, quads = 0;
};
struct AllocationLimits {  // VkPhysicalDeviceMaintenance3Properties
  Head head{1000168000};
  uint32_t max_descriptors = 0;
  uint64_t max_allocation = 0;
};
inline constexpr size_t kShaderInt64 = 40;  // of the features
struct Features2 {
  Head head{1000059000};
  uint32_t features[55] = {};
};
struct Storage8Features {
  Head head{1000177000};
  uint32_t storage_buffer = 0, uniform_and_storage_buffer = 0, push_constants = 0;
};
struct Storage16Features {
  Head head{1000083000};
  uint32_t storage_buffer = 0, uniform_and_storage_buffer = 0, push_constants = 0, input_output = 0;
};
struct MemoryProperties {  // VkPhysicalDeviceMemoryProperties
  uint32_t type_count;
  struct {
    Flags flags;
    uint32_t heap;
  } types[32];
  uint32_t heap_count;
  struct {
    uint64_t bytes;
    Flags flags;
  } heaps[16];
};
static_assert(sizeof(MemoryProperties) == 520);
struct QueueFamily {
  Flags flags;
  uint32_t count, timestamp_bits, granularity[3];
};
struct MemoryInfo {
  Head head{5};
  uint64_t bytes = 0;
  uint32_t type = 0;
};
struct BufferInfo {
  Head head{12};
  Flags flags = 0;
  uint64_t bytes = 0;
  Flags usage = 0;
  uint32_t sharing = 0, family_count = 0;
  const uint32_t* families = nullptr;
};
struct MemoryNeeds {
  uint64_t bytes, alignment;
  uint32_t types;
};
struct FenceInfo {
  Head head{8};
  Flags flags = 0;
};
struct SubmitInfo {
  Head head{4};
  uint32_t wait_count = 0;
  const Object* waits = nullptr;
  const Flags* wait_stages = nullptr;
  uint32_t command_count = 0;
  const Handle* commands = nullptr;
  uint32_t signal_count = 0;
  const Object* signals = nullptr;
};
struct CommandPoolInfo {
  Head head{39};
  Flags flags = 0;
  uint32_t family = 0;
};
struct CommandBufferInfo {
  Head head{40};
  Object pool = 0;
  uint32_t level = 0, count = 1;
};
struct BeginInfo {
  Head head{42};
  Flags flags = 0;
  const void* inheritance = nullptr;
};
struct MemoryBarrier {
  Head head{46};
  Flags from = 0, to = 0;
};
struct BufferCopy {
  uint64_t from, to, bytes;
};
struct SetLayoutBinding {
  uint32_t binding, type, count;
  Flags stages;
  const Object* samplers = nullptr;
};
struct SetLayoutInfo {
  Head head{32};
  Flags flags = 0;
  uint32_t binding_count = 0;
  const SetLayoutBinding* bindings = nullptr;
};
struct PushRange {
  Flags stages;
  uint32_t offset, bytes;
};
struct PipelineLayoutInfo {
  Head head{30};
  Flags flags = 0;
  uint32_t set_count = 0;
  const Object* sets = nullptr;
  uint32_t push_count = 0;
  const PushRange* pushes = nullptr;
};
struct ShaderModuleInfo {
  Head head{16};
  Flags flags = 0;
  size_t bytes = 0;
  const uint32_t* code = nullptr;
};
struct ShaderStage {
  Head head{18};
  Flags flags = 0, stage = kShaderStageCompute;
  Object module = 0;
  const char* name = "main";
  const void* specialization = nullptr;
};
struct ComputePipelineInfo {
  Head head{29};
  Flags flags = 0;
  ShaderStage stage;
  Object layout = 0, base = 0;
  int32_t base_index = -1;
};
struct PipelineCacheInfo {
  Head head{17};
  Flags flags = 0;
  size_t bytes = 0;
  const void* data = nullptr;
};
struct QueryPoolInfo {  // of time stamps
  Head head{11};
  Flags flags = 0;
  uint32_t type = 2, count = 0;
  Flags statistics = 0;
};
inline constexpr Flags kQuery64Bits = 1;
struct PoolSize {
  uint32_t type, count;
};
struct DescriptorPoolInfo {
  Head head{33};
  Flags flags = 0;
  uint32_t max_sets = 0, size_count = 0;
  const PoolSize* sizes = nullptr;
};
struct DescriptorSetInfo {
  Head head{34};
  Object pool = 0;
  uint32_t count = 1;
  const Object* layouts = nullptr;
};
struct DescriptorBuffer {
  Object buffer;
  uint64_t offset, range;
};
struct WriteDescriptors {
  Head head{35};
  Object set = 0;
  uint32_t binding = 0, element = 0, count = 0, type = 0;
  const void* images = nullptr;
  const DescriptorBuffer* buffers = nullptr;
  const Object* views = nullptr;
};

/// The functions, by where the loader has them: X(name, result, parameters).
#define MINNOW_VULKAN_GLOBAL(X)                                            \
  X(vkCreateInstance, Result, (const InstanceInfo*, const void*, Handle*)) \
  X(vkEnumerateInstanceVersion, Result, (uint32_t*))
#define MINNOW_VULKAN_INSTANCE(X)                                                               \
  X(vkEnumeratePhysicalDevices, Result, (Handle, uint32_t*, Handle*))                           \
  X(vkEnumerateDeviceExtensionProperties, Result, (Handle, const char*, uint32_t*, Extension*)) \
  X(vkGetPhysicalDeviceProperties, void, (Handle, Properties*))                                 \
  X(vkGetPhysicalDeviceProperties2, void, (Handle, Properties2*))                               \
  X(vkGetPhysicalDeviceFeatures2, void, (Handle, Features2*))                                   \
  X(vkGetPhysicalDeviceMemoryProperties, void, (Handle, MemoryProperties*))                     \
  X(vkGetPhysicalDeviceQueueFamilyProperties, void, (Handle, uint32_t*, QueueFamily*))          \
  X(vkCreateDevice, Result, (Handle, const DeviceInfo*, const void*, Handle*))                  \
  X(vkGetDeviceProcAddr, void*, (Handle, const char*))
#define MINNOW_VULKAN_DEVICE(X)                                                                                              \
  X(vkDestroyDevice, void, (Handle, const void*))                                                                            \
  X(vkGetDeviceQueue, void, (Handle, uint32_t, uint32_t, Handle*))                                                           \
  X(vkAllocateMemory, Result, (Handle, const MemoryInfo*, const void*, Object*))                                             \
  X(vkFreeMemory, void, (Handle, Object, const void*))                                                                       \
  X(vkMapMemory, Result, (Handle, Object, uint64_t, uint64_t, Flags, void**))                                                \
  X(vkCreateBuffer, Result, (Handle, const BufferInfo*, const void*, Object*))                                               \
  X(vkDestroyBuffer, void, (Handle, Object, const void*))                                                                    \
  X(vkGetBufferMemoryRequirements, void, (Handle, Object, MemoryNeeds*))                                                     \
  X(vkBindBufferMemory, Result, (Handle, Object, Object, uint64_t))                                                          \
  X(vkCreateFence, Result, (Handle, const FenceInfo*, const void*, Object*))                                                 \
  X(vkDestroyFence, void, (Handle, Object, const void*))                                                                     \
  X(vkResetFences, Result, (Handle, uint32_t, const Object*))                                                                \
  X(vkGetFenceStatus, Result, (Handle, Object))                                                                              \
  X(vkWaitForFences, Result, (Handle, uint32_t, const Object*, uint32_t, uint64_t))                                          \
  X(vkQueueSubmit, Result, (Handle, uint32_t, const SubmitInfo*, Object))                                                    \
  X(vkCreateCommandPool, Result, (Handle, const CommandPoolInfo*, const void*, Object*))                                     \
  X(vkDestroyCommandPool, void, (Handle, Object, const void*))                                                               \
  X(vkResetCommandPool, Result, (Handle, Object, Flags))                                                                     \
  X(vkAllocateCommandBuffers, Result, (Handle, const CommandBufferInfo*, Handle*))                                           \
  X(vkBeginCommandBuffer, Result, (Handle, const BeginInfo*))                                                                \
  X(vkEndCommandBuffer, Result, (Handle))                                                                                    \
  X(vkCmdBindPipeline, void, (Handle, uint32_t, Object))                                                                     \
  X(vkCmdBindDescriptorSets, void, (Handle, uint32_t, Object, uint32_t, uint32_t, const Object*, uint32_t, const uint32_t*)) \
  X(vkCmdPushConstants, void, (Handle, Object, Flags, uint32_t, uint32_t, const void*))                                      \
  X(vkCmdDispatch, void, (Handle, uint32_t, uint32_t, uint32_t))                                                             \
  X(vkCmdCopyBuffer, void, (Handle, Object, Object, uint32_t, const BufferCopy*))                                            \
  X(vkCmdPipelineBarrier, void,                                                                                              \
    (Handle, Flags, Flags, Flags, uint32_t, const MemoryBarrier*, uint32_t, const void*, uint32_t, const void*))             \
  X(vkCreateDescriptorSetLayout, Result, (Handle, const SetLayoutInfo*, const void*, Object*))                               \
  X(vkDestroyDescriptorSetLayout, void, (Handle, Object, const void*))                                                       \
  X(vkCreatePipelineLayout, Result, (Handle, const PipelineLayoutInfo*, const void*, Object*))                               \
  X(vkDestroyPipelineLayout, void, (Handle, Object, const void*))                                                            \
  X(vkCreateShaderModule, Result, (Handle, const ShaderModuleInfo*, const void*, Object*))                                   \
  X(vkDestroyShaderModule, void, (Handle, Object, const void*))                                                              \
  X(vkCreatePipelineCache, Result, (Handle, const PipelineCacheInfo*, const void*, Object*))                                 \
  X(vkDestroyPipelineCache, void, (Handle, Object, const void*))                                                             \
  X(vkGetPipelineCacheData, Result, (Handle, Object, size_t*, void*))                                                        \
  X(vkCreateComputePipelines, Result, (Handle, Object, uint32_t, const ComputePipelineInfo*, const void*, Object*))          \
  X(vkDestroyPipeline, void, (Handle, Object, const void*))                                                                  \
  X(vkCreateQueryPool, Result, (Handle, const QueryPoolInfo*, const void*, Object*))                                         \
  X(vkDestroyQueryPool, void, (Handle, Object, const void*))                                                                 \
  X(vkGetQueryPoolResults, Result, (Handle, Object, uint32_t, uint32_t, size_t, void*, uint64_t, Flags))                     \
  X(vkCmdResetQueryPool, void, (Handle, Object, uint32_t, uint32_t))                                                         \
  X(vkCmdWriteTimestamp, void, (Handle, Flags, Object, uint32_t))                                                            \
  X(vkCreateDescriptorPool, Result, (Handle, const DescriptorPoolInfo*, const void*, Object*))                               \
  X(vkDestroyDescriptorPool, void, (Handle, Object, const void*))                                                            \
  X(vkAllocateDescriptorSets, Result, (Handle, const DescriptorSetInfo*, Object*))                                           \
  X(vkUpdateDescriptorSets, void, (Handle, uint32_t, const WriteDescriptors*, uint32_t, const void*))

#define MINNOW_VULKAN_POINTER(name, result, parameters) result(*name) parameters = nullptr;

/// The loader, one instance, and the functions that take no device.
struct Api {
  MINNOW_VULKAN_GLOBAL(MINNOW_VULKAN_POINTER)
  MINNOW_VULKAN_INSTANCE(MINNOW_VULKAN_POINTER)
  Handle instance = nullptr;
  uint32_t version = 0;  // of the loader
  std::unique_ptr<os::SharedLibrary> library;
};

/// The functions of one device.
struct DeviceApi {
  MINNOW_VULKAN_DEVICE(MINNOW_VULKAN_POINTER)
};

#undef MINNOW_VULKAN_POINTER

/// Null, and the reason, where the loader, an instance or a function is missing.
const Api* load_api(std::string& problem);
/// False where a function is missing.
bool load_device_api(const Api& api, Handle device, DeviceApi& functions);

}  // namespace minnow::gpu::vulkan

// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/vulkan/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace minnow::gpu::vulkan {
namespace {

// Kernels need groups of 256 items, and shared memory for two tiles of 16 x 132 floats.
constexpr uint32_t kGroupItems = 256, kSharedBytes = 2 * 16 * 132 * 4;

std::string_view kind_of(uint32_t type) {
  constexpr std::string_view kKinds[] = {"other", "integrated", "discrete", "virtual", "processor"};
  return kKinds[std::min<uint32_t>(type, 4) % 5];
}

int rank_of(const Found& found) {
  if (!found.problem.empty()) return 9;
  constexpr int kRanks[] = {4, 1, 0, 2, 3};
  return kRanks[std::min<uint32_t>(found.properties.type, 4) % 5];
}

Found look_at(const Api& api, Handle physical) {
  Found found;
  found.physical = physical;
  api.vkGetPhysicalDeviceProperties(physical, &found.properties);
  api.vkGetPhysicalDeviceMemoryProperties(physical, &found.memory);
  const uint32_t version = std::min(found.properties.api_version, api.version);
  if (version < version_of(1, 1)) {
    found.problem = format("it has Vulkan {}.{}, the backend needs 1.1", version >> 22, version >> 12 & 1023);
    return found;
  }
  uint32_t count = 0;
  api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<Extension> extensions(count);
  api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data());
  // Version 1.2 has them all.
  const auto has = [&](const char* name) {
    if (std::none_of(extensions.begin(), extensions.end(), [&](const Extension& one) { return std::strcmp(one.name, name) == 0; }))
      return version >= version_of(1, 2);
    found.extensions.push_back(name);
    return true;
  };
  if (const char* subset = "VK_KHR_portability_subset";
      std::any_of(extensions.begin(), extensions.end(), [&](const Extension& one) { return std::strcmp(one.name, subset) == 0; }))
    found.extensions.push_back(subset);  // must be enabled where it is offered
  Storage8Features storage_8;
  Storage16Features storage_16;
  Features2 features;
  features.head.next = &storage_16;
  if (has("VK_KHR_8bit_storage")) storage_16.head.next = &storage_8;
  api.vkGetPhysicalDeviceFeatures2(physical, &features);
  FloatControls controls;
  SubgroupProperties subgroup;
  AllocationLimits allocation;
  Properties2 properties;
  properties.head.next = &subgroup;
  subgroup.head.next = &allocation;
  if (has("VK_KHR_shader_float_controls")) allocation.head.next = &controls;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  found.has_i64 = features.features[kShaderInt64] != 0;
  found.has_8bit = storage_8.storage_buffer != 0;
  found.has_16bit = storage_16.storage_buffer != 0;
  found.keeps_special_numbers = controls.keeps_special_f32 != 0;
  found.subgroup = subgroup.size;
  constexpr uint32_t kNeeded = kSubgroupBasic | kSubgroupArithmetic | kSubgroupBallot;
  found.has_subgroups = (subgroup.stages & kShaderStageCompute) && (subgroup.operations & kNeeded) == kNeeded && subgroup.size > 1;
  found.max_allocation = allocation.max_allocation ? allocation.max_allocation : uint64_t{1} << 30;

  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<QueueFamily> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  // A family for graphics too comes first: drivers give it the whole device, and it may be the only one.
  for (const Flags wanted : {kQueueCompute | kQueueGraphics, kQueueCompute})
    for (uint32_t i = 0; i < count && found.queues == 0; ++i)
      if ((families[i].flags & wanted) == wanted && families[i].count > 0)
        found.family = i, found.queues = std::min(families[i].count, 8u), found.timestamp_bits = families[i].timestamp_bits;
  const Limits& limits = found.properties.limits;
  if (found.queues == 0)
    found.problem = "it has no queue for compute shaders";
  else if (limits.max_group_items < kGroupItems || limits.max_group[0] < kGroupItems)
    found.problem =
        format("its groups have at most {} items, kernels need {}", std::min(limits.max_group_items, limits.max_group[0]), kGroupItems);
  else if (limits.max_shared_bytes < kSharedBytes)
    found.problem = format("its groups share {} bytes, kernels need {}", limits.max_shared_bytes, kSharedBytes);
  return found;
}

}  // namespace

std::string Found::details() const {
  uint64_t memory_bytes = 0;
  for (uint32_t i = 0; i < memory.heap_count; ++i)
    if (memory.heaps[i].flags & kDeviceLocal) memory_bytes = std::max(memory_bytes, memory.heaps[i].bytes);
  std::string without;
  for (const auto& [has, what] : {std::pair(has_i64, "64-bit integers"),
                                  {has_16bit, "16-bit storage"},
                                  {has_8bit, "8-bit storage"},
                                  {has_subgroups, "sums of subgroups"}})
    if (!has) without += format("{}{}", without.empty() ? ", without " : ", ", what);
  const uint32_t version = properties.api_version;
  return format("{}, Vulkan {}.{}, subgroups of {}, {} KiB shared memory, {} bytes of push constants, {} GiB{}", kind_of(properties.type),
                version >> 22, version >> 12 & 1023, subgroup, properties.limits.max_shared_bytes >> 10,
                properties.limits.max_push_constants, (memory_bytes + (1 << 29)) >> 30, without);
}

std::vector<Found> find_devices(const Api& api) {
  uint32_t count = 0;
  if (api.vkEnumeratePhysicalDevices(api.instance, &count, nullptr) != kSuccess) return {};
  std::vector<Handle> handles(count);
  api.vkEnumeratePhysicalDevices(api.instance, &count, handles.data());
  const char* wanted = std::getenv("MINNOW_VULKAN_DEVICE");
  std::vector<Found> found;
  for (const Handle handle : handles) {
    Found one = look_at(api, handle);
    if (!wanted || std::strstr(one.properties.name, wanted)) found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return rank_of(a) < rank_of(b); });
  return found;
}

Machine::Machine(const Api& instance, const Found& given, std::string name) : name(std::move(name)), found(given) {
  const std::vector<float> priorities(found.queues, 1.0f);
  DeviceQueueInfo queues;
  queues.family = found.family;
  queues.count = found.queues;
  queues.priorities = priorities.data();
  Storage8Features storage_8;
  Storage16Features storage_16;
  Features2 features;
  features.features[kShaderInt64] = found.has_i64;
  storage_16.storage_buffer = found.has_16bit;
  storage_8.storage_buffer = found.has_8bit;
  features.head.next = &storage_16;
  if (found.has_8bit) storage_16.head.next = &storage_8;
  DeviceInfo info;
  info.head.next = &features;
  info.queue_info_count = 1;
  info.queue_infos = &queues;
  info.extension_count = static_cast<uint32_t>(found.extensions.size());
  info.extensions = found.extensions.data();
  check(instance.vkCreateDevice(found.physical, &info, nullptr, &device), "opening the device");
  if (!load_device_api(instance, device, api)) throw Unsupported("Vulkan: the driver of {} lacks functions of version 1.1", this->name);
  for (uint32_t i = 0; i < found.queues; ++i) api.vkGetDeviceQueue(device, found.family, i, &lanes_.emplace_back().queue);
  memory = std::make_unique<VulkanMemory>(api, device, found.memory, found.properties, found.max_allocation);
  const uintptr_t address = memory->allocate(1, DeviceMemory::Use::device);
  if (!address) throw out_of_memory("Vulkan: {} has no memory left", this->name);
  nothing = memory->find(reinterpret_cast<const void*>(address));
  const Properties& of = found.properties;
  std::string id;
  for (const uint32_t byte : of.cache_id) id += format("{} ", byte);
  programs.emplace(*this, format("vulkan {} {} {}, driver {}, caches {}, abilities {} {} {} {} {} {} {}, {}", of.name, of.vendor, of.device,
                                 of.driver_version, id, found.has_i64, found.has_8bit, found.has_16bit, found.keeps_special_numbers,
                                 found.has_subgroups, of.limits.max_push_constants, of.limits.max_shared_bytes, shader_revision()));
}

Machine::~Machine() {
  programs.reset();
  for (auto& [key, one] : layouts_) {
    api.vkDestroyPipelineLayout(device, one.pipeline, nullptr);
    api.vkDestroyDescriptorSetLayout(device, one.set, nullptr);
  }
  memory.reset();
  if (device && api.vkDestroyDevice) api.vkDestroyDevice(device, nullptr);
}

void Machine::check(Result result, std::string_view what) {
  if (result == kSuccess) return;
  if (result == kOutOfDeviceMemory || result == kOutOfHostMemory || result == kOutOfPoolMemory || result == kTooManyObjects)
    throw out_of_memory("Vulkan: {} is out of memory, {}: error {}", name, what, result);
  if (result == kDeviceLost) {
    lost.store(true, std::memory_order_release);
    throw Unsupported("Vulkan: {} was lost, {}; new sessions open it again", name, what);
  }
  throw Unsupported("Vulkan: {} failed, {}: error {}", name, what, result);
}

std::shared_ptr<void> Machine::allocate(size_t bytes, DeviceMemory::Use use) {
  const uintptr_t address = memory->allocate(bytes, use);
  if (!address) throw out_of_memory("Vulkan: {} has no {} bytes left", name, bytes);
  return {reinterpret_cast<void*>(address),
          [self = shared_from_this(), bytes](void* at) { self->memory->release(reinterpret_cast<uintptr_t>(at), bytes); }};
}

const Machine::Layout& Machine::layout(uint32_t buffers, bool pushes) {
  const std::lock_guard lock(mutex_);
  Layout& made = layouts_[buffers * 2 + pushes];
  if (made.pipeline) return made;
  std::vector<SetLayoutBinding> bindings;
  for (uint32_t i = 0; i < buffers; ++i) bindings.push_back({i, kStorageBuffer, 1, kShaderStageCompute});
  if (!pushes) bindings.push_back({buffers, kStorageBufferDynamic, 1, kShaderStageCompute});
  SetLayoutInfo set;
  set.binding_count = static_cast<uint32_t>(bindings.size());
  set.bindings = bindings.data();
  if (!made.set) check(api.vkCreateDescriptorSetLayout(device, &set, nullptr, &made.set), "describing the arguments of a kernel");
  const PushRange range{kShaderStageCompute, 0, found.properties.limits.max_push_constants / 4 * 4};
  PipelineLayoutInfo info;
  info.set_count = 1;
  info.sets = &made.set;
  info.push_count = pushes ? 1 : 0;
  info.pushes = &range;
  check(api.vkCreatePipelineLayout(device, &info, nullptr, &made.pipeline), "describing the arguments of a kernel");
  return made;
}

Programs::Entry& Machine::entry(const std::string& source, const std::string& name, const Extent& group, const Extent& groups) {
  ShaderSource wanted{name, group, false, source};
  for (size_t i = 0; i < 3; ++i) wanted.group_offsets = wanted.group_offsets || groups[i] > found.properties.limits.max_groups[i];
  return programs->entry(wanted.to_source());
}

std::unique_ptr<Program> Machine::compile(const std::string& source) {
  const Limits& limits = found.properties.limits;
  const ShaderSource given = ShaderSource::of(source);
  ShaderOptions options;
  options.group = given.group;
  options.shared_bytes = limits.max_shared_bytes;
  options.group_offsets = given.group_offsets;
  options.has_i64 = found.has_i64;
  options.has_8bit_storage = found.has_8bit;
  options.has_16bit_storage = found.has_16bit;
  options.has_signed_zero_inf_nan_preserve = found.keeps_special_numbers;
  options.has_subgroups = found.has_subgroups;
  Shader shader = compile_to_spirv(given.text, given.function, options);
  options.push_constants = (shader.parameters.size() + (options.group_offsets ? 6 : 0)) * 4 <= limits.max_push_constants;
  if (!options.push_constants) shader = compile_to_spirv(given.text, given.function, options);
  auto made = std::make_unique<Pipeline>(api, device);
  made->stored.pushes = options.push_constants;
  made->stored.offsets = options.group_offsets;
  made->stored.code.assign(reinterpret_cast<const char*>(shader.spirv.data()), shader.spirv.size() * sizeof(uint32_t));
  made->stored.interface = std::move(static_cast<ShaderInterface&>(shader));
  if (const uint32_t buffers = made->stored.buffers() + !options.push_constants; buffers > limits.max_stage_storage_buffers)
    throw Unsupported("Vulkan: the kernel {} has {} buffers, {} takes {}", given.function, buffers, name, limits.max_stage_storage_buffers);
  check(build(*made), format("compiling the kernel {}", given.function));
  return made;
}

std::unique_ptr<Program> Machine::load(std::span<const std::byte> binary) {
  auto made = std::make_unique<Pipeline>(api, device);
  if (!made->stored.read(binary)) return nullptr;
  const Result result = build(*made);
  if (result == kDeviceLost) check(result, "loading a kernel");
  if (result != kSuccess) return nullptr;
  return made;
}

// The pipeline of `stored`, which gets the driver's data about it.
Result Machine::build(Pipeline& made) {
  StoredShader& stored = made.stored;
  made.buffers = stored.buffers();
  made.words = stored.words();
  const Layout& layout = this->layout(made.buffers, stored.pushes);
  made.layout = layout.pipeline;
  made.set_layout = layout.set;
  std::vector<uint32_t> spirv(stored.code.size() / sizeof(uint32_t));
  std::memcpy(spirv.data(), stored.code.data(), spirv.size() * sizeof(uint32_t));
  ShaderModuleInfo module;
  module.bytes = spirv.size() * sizeof(uint32_t);
  module.code = spirv.data();
  // A cache for each pipeline, so that pipelines are kept, and read, one by one. The driver ignores data of other drivers.
  PipelineCacheInfo cached;
  cached.bytes = stored.data.size();
  cached.data = stored.data.data();
  Object cache = 0;
  ComputePipelineInfo info;
  info.layout = made.layout;
  Result result = api.vkCreateShaderModule(device, &module, nullptr, &info.stage.module);
  if (result != kSuccess) return result;
  if (api.vkCreatePipelineCache(device, &cached, nullptr, &cache) != kSuccess) cache = 0;
  result = api.vkCreateComputePipelines(device, cache, 1, &info, nullptr, &made.pipeline);
  api.vkDestroyShaderModule(device, info.stage.module, nullptr);
  if (cache && result == kSuccess && stored.data.empty()) {
    size_t bytes = 0;
    if (api.vkGetPipelineCacheData(device, cache, &bytes, nullptr) == kSuccess) {
      stored.data.resize(bytes);
      if (api.vkGetPipelineCacheData(device, cache, &bytes, stored.data.data()) != kSuccess) bytes = 0;
      stored.data.resize(bytes);
    }
  }
  if (cache) api.vkDestroyPipelineCache(device, cache, nullptr);
  return result;
}

}  // namespace minnow::gpu::vulkan

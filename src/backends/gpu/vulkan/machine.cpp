// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/vulkan/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace minnow::gpu::vulkan {
namespace {

// Kernels need groups of 256 items, and shared memory for two tiles of 16 x 132 floats.
constexpr uint32_t kGroupItems = 256, kSharedBytes = 2 * 16 * 132 * 4;
constexpr size_t kMostBuilders = 8;

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
  found.max_allocation = allocation.max_allocation ? allocation.max_allocation : uint64_t{1} << 30;

  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<QueueFamily> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  // A family for graphics too comes first: drivers give it the whole device, and it may be the only one.
  for (const Flags wanted : {kQueueCompute | kQueueGraphics, kQueueCompute})
    for (uint32_t i = 0; i < count && found.queues == 0; ++i)
      if ((families[i].flags & wanted) == wanted && families[i].count > 0) found.family = i, found.queues = std::min(families[i].count, 8u);
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
  for (const auto& [has, what] : {std::pair(has_i64, "64-bit integers"), {has_16bit, "16-bit storage"}, {has_8bit, "8-bit storage"}})
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

bool Pipeline::wait() noexcept {
  if (const int state = state_.load(std::memory_order_acquire)) return state > 0;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_.load(std::memory_order_acquire) != 0; });
  return state_.load(std::memory_order_acquire) > 0;
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
  load_cache();
}

Machine::~Machine() {
  for (auto& [key, one] : pipelines_) {
    one->wait();
    if (one->pipeline) api.vkDestroyPipeline(device, one->pipeline, nullptr);
  }
  for (auto& [key, one] : layouts_) {
    api.vkDestroyPipelineLayout(device, one.pipeline, nullptr);
    api.vkDestroyDescriptorSetLayout(device, one.set, nullptr);
  }
  if (cache_) api.vkDestroyPipelineCache(device, cache_, nullptr);
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

std::shared_ptr<Pipeline> Machine::pipeline(const std::string& source, const std::string& function, const Extent& group,
                                            const Extent& groups) {
  const Limits& limits = found.properties.limits;
  ShaderOptions options;
  options.group = group;
  options.shared_bytes = limits.max_shared_bytes;
  for (size_t i = 0; i < 3; ++i) options.group_offsets = options.group_offsets || groups[i] > limits.max_groups[i];
  options.has_i64 = found.has_i64;
  options.has_8bit_storage = found.has_8bit;
  options.has_16bit_storage = found.has_16bit;
  options.has_signed_zero_inf_nan_preserve = found.keeps_special_numbers;
  const std::string key = format("{} {} {} {} {}\n{}", function, group[0], group[1], group[2], options.group_offsets ? 1 : 0, source);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = pipelines_.find(key); known != pipelines_.end() && known->second) return known->second;
  }
  Shader shader = compile_to_spirv(source, function, options);
  auto made = std::make_shared<Pipeline>();
  const auto count_words = [&] { return static_cast<uint32_t>(shader.parameters.size()) + (options.group_offsets ? 6 : 0); };
  made->pushes = count_words() * 4 <= limits.max_push_constants;
  if (!made->pushes) {
    options.push_constants = false;
    shader = compile_to_spirv(source, function, options);
  }
  made->words = count_words();
  made->offsets = options.group_offsets;
  made->buffers = static_cast<uint32_t>(std::count(shader.parameters.begin(), shader.parameters.end(), Argument::Kind::buffer));
  made->interface = std::move(static_cast<ShaderInterface&>(shader));
  if (made->buffers + !made->pushes > limits.max_stage_storage_buffers)
    throw Unsupported("Vulkan: the kernel {} has {} buffers, {} takes {}", function, made->buffers, name, limits.max_stage_storage_buffers);

  const std::lock_guard lock(mutex_);
  std::shared_ptr<Pipeline>& place = pipelines_[key];
  if (place) return place;  // another thread was faster
  const Layout& layout = this->layout(made->buffers, made->pushes);
  made->layout = layout.pipeline;
  made->set_layout = layout.set;
  ShaderModuleInfo info;
  info.bytes = shader.spirv.size() * sizeof(uint32_t);
  info.code = shader.spirv.data();
  check(api.vkCreateShaderModule(device, &info, nullptr, &made->module_), "taking a kernel");
  place = made;
  to_build_.push_back(made);
  if (builders_ < static_cast<int>(std::min<size_t>(kMostBuilders, std::max(1u, std::thread::hardware_concurrency())))) {
    try {
      std::thread([self = shared_from_this()] { self->work(); }).detach();
      ++builders_;
    } catch (const std::system_error&) {  // no thread to be had
      if (builders_ == 0) to_build_.pop_back(), build(*made);
    }
  }
  return made;
}

// A builder: takes pipelines until none waits. Sessions wait for their pipelines before they end, so none is left when a process ends.
void Machine::work() noexcept {
  for (;;) {
    std::shared_ptr<Pipeline> next;
    {
      const std::lock_guard lock(mutex_);
      if (to_build_.empty()) {
        --builders_;
        return;
      }
      next = std::move(to_build_.front());
      to_build_.pop_front();
    }
    build(*next);
  }
}

void Machine::build(Pipeline& pipeline) noexcept {
  ComputePipelineInfo info;
  info.stage.module = pipeline.module_;
  info.layout = pipeline.layout;
  const Result result = api.vkCreateComputePipelines(device, cache_, 1, &info, nullptr, &pipeline.pipeline);
  api.vkDestroyShaderModule(device, pipeline.module_, nullptr);
  pipeline.module_ = 0;
  if (result == kDeviceLost) lost.store(true, std::memory_order_release);
  const std::lock_guard lock(pipeline.mutex_);
  pipeline.state_.store(result == kSuccess ? 1 : -1, std::memory_order_release);
  pipeline.changed_.notify_all();
}

void Machine::load_cache() {
  PipelineCacheInfo info;
  if (api.vkCreatePipelineCache(device, &info, nullptr, &cache_) != kSuccess) cache_ = 0;
}

}  // namespace minnow::gpu::vulkan

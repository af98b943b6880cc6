// SPDX-License-Identifier: Apache-2.0
// A Vulkan device that sessions share: its memory, and the kernels that were compiled for it.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/gpu/programs.h"
#include "backends/gpu/shaders/stored_shader.h"
#include "backends/gpu/vulkan/memory.h"

namespace minnow::gpu::vulkan {

/// A device that a driver offers, and why it cannot be used.
struct Found {
  Handle physical = nullptr;
  Properties properties{};
  MemoryProperties memory{};
  uint32_t family = 0, queues = 0, timestamp_bits = 0;
  uint64_t max_allocation = 0;
  uint32_t subgroup = 0;
  bool has_i64 = false, has_8bit = false, has_16bit = false, keeps_special_numbers = false, has_subgroups = false;
  std::vector<const char*> extensions;  // to enable
  std::string problem;

  std::string details() const;
};

/// The best device first, unusable ones last. MINNOW_VULKAN_DEVICE, a part of a name, leaves only devices whose name has it.
std::vector<Found> find_devices(const Api& api);

/// A compiled kernel.
class Pipeline final : public Program {
 public:
  explicit Pipeline(const DeviceApi& api, Handle device) : api_(api), device_(device) {}
  ~Pipeline() override {
    if (pipeline) api_.vkDestroyPipeline(device_, pipeline, nullptr);
  }
  std::string binary() const override { return stored.to_bytes(); }

  StoredShader stored;              // SPIR-V, and the driver's cache with this one pipeline
  uint32_t buffers = 0, words = 0;  // pushes: the words are push constants, else in a buffer; offsets: six words more
  Object layout = 0, set_layout = 0, pipeline = 0;

 private:
  const DeviceApi& api_;
  const Handle device_;
};

class Machine final : public Compiler, public std::enable_shared_from_this<Machine> {
 public:
  /// Throws Unsupported, OutOfMemory.
  Machine(const Api& instance, const Found& found, std::string name);
  ~Machine() override;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Throws OutOfMemory, and for other results Unsupported, with `what` the device was doing.
  void check(Result result, std::string_view what);
  std::shared_ptr<void> allocate(size_t bytes, DeviceMemory::Use use);
  /// The place of a kernel's pipeline. `groups`: as many as launches have at most.
  Programs::Entry& entry(const std::string& source, const std::string& name, const Extent& group, const Extent& groups);
  std::unique_ptr<Program> compile(const std::string& source) override;
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override;

  /// One of the device's queues, with the lock that its functions need.
  struct Lane {
    Handle queue = nullptr;
    std::mutex mutex;
  };
  Lane& next_lane() { return lanes_[next_lane_.fetch_add(1, std::memory_order_relaxed) % lanes_.size()]; }

  DeviceApi api;
  Handle device = nullptr;
  const std::string name;
  const Found found;
  std::atomic<bool> lost{false};
  std::unique_ptr<VulkanMemory> memory;
  const Buffer* nothing = nullptr;  // a few bytes in place of empty tensors
  std::optional<Programs> programs;

 private:
  struct Layout {
    Object set = 0, pipeline = 0;
  };
  const Layout& layout(uint32_t buffers, bool pushes);
  Result build(Pipeline& pipeline);

  std::deque<Lane> lanes_;
  std::atomic<size_t> next_lane_{0};
  std::mutex mutex_;  // of all that follows
  std::unordered_map<uint32_t, Layout> layouts_;
};

}  // namespace minnow::gpu::vulkan

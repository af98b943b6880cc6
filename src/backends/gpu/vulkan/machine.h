// SPDX-License-Identifier: Apache-2.0
// A Vulkan device that sessions share: its memory, and the kernels that were compiled for it.
#pragma once
#include <condition_variable>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/gpu/vulkan/memory.h"

namespace minnow::gpu::vulkan {

/// A device that a driver offers, and why it cannot be used.
struct Found {
  Handle physical = nullptr;
  Properties properties{};
  MemoryProperties memory{};
  uint32_t family = 0, queues = 0;
  uint64_t max_allocation = 0;
  uint32_t subgroup = 0;
  bool has_i64 = false, has_8bit = false, has_16bit = false, keeps_special_numbers = false;
  std::vector<const char*> extensions;  // to enable
  std::string problem;

  std::string details() const;
};

/// The best device first, unusable ones last. MINNOW_VULKAN_DEVICE, a part of a name, leaves only devices whose name has it.
std::vector<Found> find_devices(const Api& api);

/// A compiled kernel. The driver works on it on a thread of its own; wait() returns false where it refused the kernel.
class Pipeline {
 public:
  bool wait() noexcept;

  ShaderInterface interface;
  uint32_t buffers = 0, words = 0;
  bool pushes = true;    // the words are push constants, else in a buffer
  bool offsets = false;  // six words more
  Object layout = 0, set_layout = 0, pipeline = 0;

 private:
  friend class Machine;
  Object module_ = 0;
  std::atomic<int> state_{0};  // 1: ready, -1: refused
  std::mutex mutex_;
  std::condition_variable changed_;
};

class Machine : public std::enable_shared_from_this<Machine> {
 public:
  /// Throws Unsupported, OutOfMemory.
  Machine(const Api& instance, const Found& found, std::string name);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Throws OutOfMemory, and for other results Unsupported, with `what` the device was doing.
  void check(Result result, std::string_view what);
  std::shared_ptr<void> allocate(size_t bytes, DeviceMemory::Use use);
  /// Compiles at the first call. `groups`: as many as launches have at most.
  std::shared_ptr<Pipeline> pipeline(const std::string& source, const std::string& name, const Extent& group, const Extent& groups);

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

 private:
  struct Layout {
    Object set = 0, pipeline = 0;
  };
  const Layout& layout(uint32_t buffers, bool pushes);
  void build(Pipeline& pipeline) noexcept;
  void work() noexcept;
  void load_cache();

  std::deque<Lane> lanes_;
  std::atomic<size_t> next_lane_{0};
  std::mutex mutex_;  // of all that follows
  std::unordered_map<std::string, std::shared_ptr<Pipeline>> pipelines_;
  std::unordered_map<uint32_t, Layout> layouts_;
  Object cache_ = 0;
  std::deque<std::shared_ptr<Pipeline>> to_build_;
  int builders_ = 0;
};

}  // namespace minnow::gpu::vulkan

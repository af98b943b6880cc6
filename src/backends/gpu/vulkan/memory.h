// SPDX-License-Identifier: Apache-2.0
// Memory of a Vulkan device.
#pragma once
#include "backends/gpu/device_memory.h"
#include "backends/gpu/vulkan/api.h"

namespace minnow::gpu::vulkan {

class VulkanMemory final : public DeviceMemory {
 public:
  VulkanMemory(const DeviceApi& api, Handle device, const MemoryProperties& properties, const Properties& limits, uint64_t max_allocation);
  ~VulkanMemory() override { destroy_all(); }
  /// The host works with the device's own memory.
  bool is_unified() const noexcept { return unified_; }

 private:
  bool create(Buffer& buffer, Use use) noexcept override;
  void destroy(Buffer& buffer) noexcept override;

  const DeviceApi& api_;
  Handle device_;
  const MemoryProperties properties_;
  const uint64_t max_allocation_;
  const bool unified_;
};

}  // namespace minnow::gpu::vulkan

// SPDX-License-Identifier: Apache-2.0
// Command buffers with the descriptor sets and words that their launches need.
#pragma once
#include <unordered_map>

#include "backends/gpu/vulkan/machine.h"

namespace minnow::gpu::vulkan {

class Tape {
 public:
  /// `once`: command buffers are submitted once and then reset, else they stay.
  Tape(std::shared_ptr<Machine> machine, bool once);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  bool launch(const Pipeline& pipeline, const Extent& groups, std::span<const Argument> arguments) noexcept;
  bool copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes) noexcept;
  /// Writes a time stamp when all commands so far are done; query 0 empties the pool first, which has `count`.
  bool stamp(Object pool, uint32_t query, uint32_t count) noexcept;
  bool is_open() const noexcept { return open_ != nullptr; }
  /// Ends the command buffer that launches went to; null: there is none, or the driver refused.
  Handle close() noexcept;
  /// All command buffers have run and may be used anew.
  void reset() noexcept;

 private:
  struct Words {  // memory for arguments that exceed push constants
    std::shared_ptr<void> memory;
    const Buffer* buffer;
    size_t first, used;
  };
  struct Set {
    Object set;
    std::vector<uint64_t> key;
  };
  Handle begin() noexcept;
  void order() noexcept;
  Object set_for(const Pipeline& pipeline, std::span<const DescriptorBuffer> buffers, std::span<const uint64_t> key);
  Object new_set(const Pipeline& pipeline, uint32_t descriptors);
  Words& words_for(size_t bytes);

  std::shared_ptr<Machine> machine_;
  const DeviceApi& api_;
  bool once_, needs_barrier_ = false;
  Object pool_ = 0;
  std::vector<Handle> commands_;
  size_t used_ = 0;
  Handle open_ = nullptr;
  std::vector<Object> descriptor_pools_;
  std::unordered_map<uint64_t, std::vector<Set>> sets_;  // by the hash of the key
  uint64_t sets_freed_ = 0;
  std::vector<Words> words_;
  size_t words_at_ = 0;
};

}  // namespace minnow::gpu::vulkan

// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/vulkan/tape.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"

namespace minnow::gpu::vulkan {
namespace {

constexpr size_t kOffsetAlign = 256, kWordsBytes = 64 << 10;
constexpr uint32_t kSetsOfPool = 64, kDescriptorsOfPool = 512;

}  // namespace

Tape::Tape(std::shared_ptr<Machine> machine, bool once) : machine_(std::move(machine)), api_(machine_->api), once_(once) {
  CommandPoolInfo info;
  info.family = machine_->found.family;
  machine_->check(api_.vkCreateCommandPool(machine_->device, &info, nullptr, &pool_), "making a list of commands");
  sets_freed_ = machine_->memory->freed();
}

Tape::~Tape() {
  for (const Object pool : descriptor_pools_) api_.vkDestroyDescriptorPool(machine_->device, pool, nullptr);
  if (pool_) api_.vkDestroyCommandPool(machine_->device, pool_, nullptr);
}

// Null: the driver refused.
Handle Tape::begin() noexcept try {
  if (open_) return open_;
  if (used_ == commands_.size()) {
    commands_.reserve(commands_.size() + 1);
    CommandBufferInfo info;
    info.pool = pool_;
    Handle made = nullptr;
    if (api_.vkAllocateCommandBuffers(machine_->device, &info, &made) != kSuccess) return nullptr;
    commands_.push_back(made);
  }
  BeginInfo info;
  info.flags = once_ ? 1 : 0;
  if (api_.vkBeginCommandBuffer(commands_[used_], &info) != kSuccess) return nullptr;
  open_ = commands_[used_++];
  needs_barrier_ = true;  // earlier command buffers wrote
  return open_;
} catch (const std::bad_alloc&) {
  return nullptr;
}

// Later commands see the results of earlier ones, and do not write where those still read.
void Tape::order() noexcept {
  if (needs_barrier_) {
    MemoryBarrier barrier;
    barrier.from = kShaderWrite | kTransferWrite;
    barrier.to = kShaderRead | kShaderWrite | kTransferRead | kTransferWrite;
    api_.vkCmdPipelineBarrier(open_, kStageCompute | kStageTransfer, kStageCompute | kStageTransfer, 0, 1, &barrier, 0, nullptr, 0,
                              nullptr);
  }
  needs_barrier_ = true;
}

Handle Tape::close() noexcept {
  if (!open_) return nullptr;
  MemoryBarrier barrier;  // the host reads after a fence
  barrier.from = kShaderWrite | kTransferWrite;
  barrier.to = kHostRead;
  api_.vkCmdPipelineBarrier(open_, kStageCompute | kStageTransfer, kStageHost, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  const Handle closed = open_;
  open_ = nullptr;
  return api_.vkEndCommandBuffer(closed) == kSuccess ? closed : nullptr;
}

void Tape::reset() noexcept {
  if (used_ > 0) api_.vkResetCommandPool(machine_->device, pool_, 0);
  open_ = nullptr;
  used_ = 0;
  words_at_ = 0;
  for (Words& words : words_) words.used = 0;
  // Sets may name buffers that are gone.
  if (const uint64_t freed = machine_->memory->freed(); freed != sets_freed_) {
    sets_freed_ = freed;
    for (const Object pool : descriptor_pools_) api_.vkDestroyDescriptorPool(machine_->device, pool, nullptr);
    descriptor_pools_.clear();
    sets_.clear();
  }
}

bool Tape::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes) noexcept {
  if (!begin()) return false;
  order();
  const BufferCopy region{from_offset, to_offset, bytes};
  api_.vkCmdCopyBuffer(open_, from.object, to.object, 1, &region);
  return true;
}

bool Tape::stamp(Object pool, uint32_t query, uint32_t count) noexcept {
  if (!begin()) return false;
  if (query == 0) api_.vkCmdResetQueryPool(open_, pool, 0, count);
  api_.vkCmdWriteTimestamp(open_, kStageBottom, pool, query);
  return true;
}

Object Tape::new_set(const Pipeline& pipeline, uint32_t descriptors) {
  const auto allocate = [&](Object pool) -> Object {
    DescriptorSetInfo info;
    info.pool = pool;
    info.layouts = &pipeline.set_layout;
    Object set = 0;
    return api_.vkAllocateDescriptorSets(machine_->device, &info, &set) == kSuccess ? set : 0;
  };
  if (!descriptor_pools_.empty())
    if (const Object set = allocate(descriptor_pools_.back())) return set;
  const PoolSize sizes[] = {{kStorageBuffer, std::max(kDescriptorsOfPool, descriptors)}, {kStorageBufferDynamic, kSetsOfPool}};
  DescriptorPoolInfo info;
  info.max_sets = kSetsOfPool;
  info.size_count = 2;
  info.sizes = sizes;
  Object pool = 0;
  descriptor_pools_.reserve(descriptor_pools_.size() + 1);
  if (api_.vkCreateDescriptorPool(machine_->device, &info, nullptr, &pool) != kSuccess) return 0;
  descriptor_pools_.push_back(pool);
  return allocate(pool);
}

// The set with these buffers; made where it is not known. Zero: the driver refused.
Object Tape::set_for(const Pipeline& pipeline, std::span<const DescriptorBuffer> buffers, std::span<const uint64_t> key) {
  uint64_t hash = 14695981039346656037u;
  for (const uint64_t part : key) hash = (hash ^ part) * 1099511628211u, hash ^= hash >> 29;
  if (const auto same = sets_.find(hash); same != sets_.end())
    for (const Set& set : same->second)
      if (std::equal(key.begin(), key.end(), set.key.begin(), set.key.end())) return set.set;
  const Object made = new_set(pipeline, static_cast<uint32_t>(buffers.size()));
  if (!made) return 0;
  WriteDescriptors writes[2];
  writes[0].set = writes[1].set = made;
  writes[0].count = pipeline.buffers;
  writes[0].type = kStorageBuffer;
  writes[0].buffers = buffers.data();
  writes[1].binding = pipeline.buffers;
  writes[1].count = 1;
  writes[1].type = kStorageBufferDynamic;
  writes[1].buffers = buffers.data() + pipeline.buffers;
  const WriteDescriptors* const first = pipeline.buffers > 0 ? writes : writes + 1;
  const uint32_t count = (pipeline.buffers > 0 ? 1 : 0) + (pipeline.stored.pushes ? 0 : 1);
  if (count > 0) api_.vkUpdateDescriptorSets(machine_->device, count, first, 0, nullptr);
  sets_[hash].push_back({made, {key.begin(), key.end()}});
  return made;
}

Tape::Words& Tape::words_for(size_t bytes) {
  while (words_at_ < words_.size() && words_[words_at_].used + bytes > kWordsBytes) ++words_at_;
  if (words_at_ == words_.size()) {
    words_.reserve(words_.size() + 1);
    std::shared_ptr<void> memory = machine_->allocate(kWordsBytes, DeviceMemory::Use::visible);
    const Buffer* const buffer = machine_->memory->find(memory.get());
    words_.push_back({memory, buffer, reinterpret_cast<uintptr_t>(memory.get()) - buffer->first, 0});
  }
  return words_[words_at_];
}

bool Tape::launch(const Pipeline& pipeline, const Extent& groups, std::span<const Argument> arguments) noexcept try {
  const Limits& limits = machine_->found.properties.limits;
  BoundArguments bound;
  if (!bound.set(*machine_->memory, *machine_->nothing, pipeline.stored.interface, arguments, limits.max_storage_buffer_range))
    return false;
  if (!begin()) return false;
  DescriptorBuffer buffers[kMostArguments + 1];
  uint64_t key[2 * kMostArguments + 3];
  for (size_t i = 0; i < bound.count; ++i) {
    buffers[i] = {bound.buffers[i].buffer->object, bound.buffers[i].first, bound.buffers[i].bytes};
    key[2 * i] = bound.buffers[i].buffer->serial;
    key[2 * i + 1] = bound.buffers[i].first;
  }
  order();
  api_.vkCmdBindPipeline(open_, kBindCompute, pipeline.pipeline);
  if (pipeline.stored.pushes) {
    const Object set = set_for(pipeline, {buffers, bound.count}, {key, 2 * bound.count});
    if (!set) return false;
    api_.vkCmdBindDescriptorSets(open_, kBindCompute, pipeline.layout, 0, 1, &set, 0, nullptr);
  }
  const auto dispatch = [&](const Extent& part) {
    if (pipeline.stored.pushes) {
      if (pipeline.words > 0) api_.vkCmdPushConstants(open_, pipeline.layout, kShaderStageCompute, 0, pipeline.words * 4, bound.words);
    } else {
      const size_t bytes = align_up(pipeline.words * sizeof(uint32_t), kOffsetAlign);
      Words& memory = words_for(bytes);
      buffers[bound.count] = {memory.buffer->object, memory.first, bytes};
      key[2 * bound.count] = memory.buffer->serial;
      key[2 * bound.count + 1] = memory.first;
      key[2 * bound.count + 2] = bytes;  // keys of pipelines without words are shorter
      const Object set = set_for(pipeline, {buffers, bound.count + 1}, {key, 2 * bound.count + 3});
      if (!set) return false;
      std::memcpy(memory.buffer->mapped + memory.first + memory.used, bound.words, pipeline.words * sizeof(uint32_t));
      const uint32_t offset = static_cast<uint32_t>(memory.used);
      memory.used += bytes;
      api_.vkCmdBindDescriptorSets(open_, kBindCompute, pipeline.layout, 0, 1, &set, 1, &offset);
    }
    api_.vkCmdDispatch(open_, part[0], part[1], part[2]);
    return true;
  };
  return pipeline.stored.offsets ? for_parts(groups, limits.max_groups, bound.words + arguments.size(), dispatch) : dispatch(groups);
} catch (...) {
  return false;
}

}  // namespace minnow::gpu::vulkan

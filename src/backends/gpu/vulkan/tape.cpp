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

// What follows sees what was written before, and does not write where it is still being read.
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
  api_.vkCmdCopyBuffer(open_, from.buffer, to.buffer, 1, &region);
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
  const uint32_t count = (pipeline.buffers > 0 ? 1 : 0) + (pipeline.pushes ? 0 : 1);
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

bool Tape::launch(Pipeline& pipeline, const Extent& groups, std::span<const Argument> arguments) noexcept try {
  if (arguments.size() != pipeline.interface.parameters.size() || !pipeline.wait() || !begin()) return false;
  const Limits& limits = machine_->found.properties.limits;
  uint32_t words[kMostArguments + 6];
  DescriptorBuffer buffers[kMostArguments + 1];
  uint64_t key[2 * (kMostArguments + 1) + 1];
  size_t count = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != Argument::Kind::buffer) {
      words[i] = static_cast<uint32_t>(arguments[i].i32);  // or the bits of an f32
      continue;
    }
    const Buffer* buffer = machine_->memory->find(arguments[i].address);
    uint64_t offset = buffer ? reinterpret_cast<uintptr_t>(arguments[i].address) - buffer->first : 0;
    if (!buffer || offset >= buffer->bytes) {  // an empty tensor, which the kernel does not touch
      buffer = machine_->memory->find(machine_->nothing.get());
      offset = 0;
    }
    // Whole buffers, where the device takes them, so that few sets serve all launches.
    const uint64_t first = buffer->bytes <= limits.max_storage_buffer_range ? 0 : offset / kOffsetAlign * kOffsetAlign;
    const uint32_t size = pipeline.interface.element_bytes[i];
    if ((offset - first) % size) return false;
    words[i] = static_cast<uint32_t>((offset - first) / size);
    buffers[count] = {buffer->buffer, first, std::min<uint64_t>(buffer->bytes - first, limits.max_storage_buffer_range / 4 * 4)};
    key[2 * count] = buffer->serial;
    key[2 * count + 1] = first;
    ++count;
  }
  const size_t words_bytes = align_up(pipeline.words * sizeof(uint32_t), kOffsetAlign);
  Words* memory = nullptr;
  const auto descriptors = [&]() -> Object {
    if (pipeline.pushes) return set_for(pipeline, {buffers, count}, {key, 2 * count});
    memory = &words_for(words_bytes);
    buffers[count] = {memory->buffer->buffer, memory->first, words_bytes};
    key[2 * count] = memory->buffer->serial;
    key[2 * count + 1] = memory->first;
    key[2 * count + 2] = pipeline.words;  // sets of other layouts have other lengths
    return set_for(pipeline, {buffers, count + 1}, {key, 2 * count + 3});
  };
  order();
  api_.vkCmdBindPipeline(open_, kBindCompute, pipeline.pipeline);
  Object bound = 0;
  const auto dispatch = [&](const Extent& part) {
    if (pipeline.pushes) {
      if (!bound) {
        bound = descriptors();
        if (!bound) return false;
        api_.vkCmdBindDescriptorSets(open_, kBindCompute, pipeline.layout, 0, 1, &bound, 0, nullptr);
      }
      if (pipeline.words > 0) api_.vkCmdPushConstants(open_, pipeline.layout, kShaderStageCompute, 0, pipeline.words * 4, words);
    } else {
      bound = descriptors();
      if (!bound) return false;
      std::memcpy(memory->buffer->mapped + memory->first + memory->used, words, pipeline.words * 4);
      const uint32_t offset = static_cast<uint32_t>(memory->used);
      memory->used += words_bytes;
      api_.vkCmdBindDescriptorSets(open_, kBindCompute, pipeline.layout, 0, 1, &bound, 1, &offset);
    }
    api_.vkCmdDispatch(open_, part[0], part[1], part[2]);
    return true;
  };
  if (!pipeline.offsets) return dispatch(groups);
  uint32_t* const place = words + arguments.size();  // first group, and groups in all
  std::copy(groups.begin(), groups.end(), place + 3);
  const uint32_t* const most = limits.max_groups;
  for (place[2] = 0; place[2] < groups[2]; place[2] += most[2])
    for (place[1] = 0; place[1] < groups[1]; place[1] += most[1])
      for (place[0] = 0; place[0] < groups[0]; place[0] += most[0])
        if (!dispatch({std::min(most[0], groups[0] - place[0]), std::min(most[1], groups[1] - place[1]),
                       std::min(most[2], groups[2] - place[2])}))
          return false;
  return true;
} catch (...) {
  return false;
}

}  // namespace minnow::gpu::vulkan

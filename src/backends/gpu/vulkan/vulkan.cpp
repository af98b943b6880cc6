// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>

#include "backends/gpu/gpu.h"
#include "backends/gpu/vulkan/tape.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace minnow::gpu {
namespace {

using namespace vulkan;

// Work that a session gave to the device, which its queue and its recordings share. Command buffers wait in `pending_` until someone needs
// their results, so that a run takes one submission.
class Stream {
 public:
  explicit Stream(std::shared_ptr<Machine> given)
      : machine(std::move(given)), tape(machine, true), api_(machine->api), lane_(machine->next_lane()) {
    pending_.reserve(kMostPending + 2);
    machine->check(api_.vkCreateFence(machine->device, &fence_info_, nullptr, &fence_), "making a fence");
    machine->memory->add(progress_);
  }
  ~Stream() {
    try_finish();
    machine->memory->remove(progress_);
    api_.vkDestroyFence(machine->device, fence_, nullptr);
  }

  /// Call before work goes to the tape or to enqueue().
  void begin() noexcept {
    if (!progress_.idle.load(std::memory_order_relaxed)) return;
    progress_.epoch.store(machine->memory->epoch(), std::memory_order_release);
    progress_.idle.store(false, std::memory_order_seq_cst);
  }
  bool is_idle() const noexcept { return progress_.idle.load(std::memory_order_relaxed); }
  /// How often work was finished.
  uint64_t finished() const noexcept { return finished_; }

  Result enqueue(Handle commands) noexcept {
    begin();
    if (pending_.size() + 2 > kMostPending)
      if (const Result result = flush(); result != kSuccess) return result;
    if (const Result result = close(); result != kSuccess) return result;
    pending_.push_back(commands);
    return kSuccess;
  }
  /// The device may begin.
  Result flush() noexcept {
    if (const Result result = close(); result != kSuccess) return result;
    return pending_.empty() ? kSuccess : submit(0);
  }
  Result try_finish() noexcept {
    if (is_idle()) return kSuccess;
    Result result = close();
    if (result == kSuccess) result = submit(fence_);
    if (result == kSuccess) result = wait();
    pending_.clear();
    tape.reset();
    ++finished_;
    progress_.idle.store(true, std::memory_order_seq_cst);
    if (machine->memory->has_waiting()) machine->memory->collect();
    return result;
  }

  const std::shared_ptr<Machine> machine;
  Tape tape;

 private:
  static constexpr size_t kMostPending = 16;
  Result close() noexcept {
    if (!tape.is_open()) return kSuccess;
    const Handle closed = tape.close();
    if (!closed) return kOutOfHostMemory;
    pending_.push_back(closed);  // enqueue() keeps room
    return kSuccess;
  }
  Result submit(Object fence) noexcept {
    SubmitInfo info;
    info.command_count = static_cast<uint32_t>(pending_.size());
    info.commands = pending_.data();
    Result result;
    {
      const std::lock_guard lock(lane_.mutex);
      result = api_.vkQueueSubmit(lane_.queue, pending_.empty() ? 0 : 1, &info, fence);
    }
    pending_.clear();
    return result;
  }
  Result wait() noexcept {
    // A short run ends before a thread would have gone to sleep and come back.
    Result result = kTimeout;
    if (machine->found.properties.type != kProcessor) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
      do result = api_.vkGetFenceStatus(machine->device, fence_);
      while (result == 1 && std::chrono::steady_clock::now() < end);
    }
    if (result != kSuccess && result != kDeviceLost) result = api_.vkWaitForFences(machine->device, 1, &fence_, 1, ~uint64_t{0});
    if (result == kSuccess) result = api_.vkResetFences(machine->device, 1, &fence_);
    return result;
  }

  const DeviceApi& api_;
  Machine::Lane& lane_;
  FenceInfo fence_info_;
  Object fence_ = 0;
  std::vector<Handle> pending_;
  QueueProgress progress_;
  uint64_t finished_ = 0;
};

class VulkanFunction final : public Function {
 public:
  explicit VulkanFunction(Programs::Entry& program) : program(program) {}
  Programs::Entry& program;  // the machine keeps it
};

class VulkanRecording final : public Recording {
 public:
  VulkanRecording(std::shared_ptr<Stream> stream, std::unique_ptr<Tape> tape, bool& failed)
      : stream_(std::move(stream)), tape_(std::move(tape)), failed_(failed) {
    const bool is_empty = !tape_->is_open();
    commands_ = tape_->close();
    if (!is_empty && !commands_) throw out_of_memory("Vulkan: {} has no memory left for recorded work", stream_->machine->name);
  }
  ~VulkanRecording() override {
    if (enqueued_ == stream_->finished()) stream_->try_finish();
  }
  void enqueue(RunContext& context) noexcept override {
    if (!commands_) return;  // nothing was launched
    Result result = kSuccess;
    if (enqueued_ == stream_->finished()) result = stream_->try_finish();  // a command buffer is submitted once at a time
    if (result == kSuccess) result = stream_->enqueue(commands_);
    enqueued_ = stream_->finished();
    if (result != kSuccess) try {
        failed_ = true;
        stream_->machine->check(result, "taking recorded work");
      } catch (...) {
        context.fail(std::current_exception());
      }
  }

 private:
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<Tape> tape_;
  Handle commands_ = nullptr;
  uint64_t enqueued_ = ~uint64_t{0};
  bool& failed_;  // the queue's, which lives longer
};

class VulkanQueue final : public Queue {
 public:
  VulkanQueue(std::shared_ptr<Machine> machine, const BackendOptions& options)
      : machine_(std::move(machine)),
        stream_(std::make_shared<Stream>(machine_)),
        kernel_cache_(open_kernel_cache(options.kernel_cache)),
        threads_(std::min(8, std::max(1, options.threads))) {
    device_.name = "vulkan " + machine_->name;
    device_.precision = options.precision;
    device_.max_tensor_bytes = machine_->found.properties.limits.max_storage_buffer_range / 4 * 4;
    // Vulkan tells neither clocks nor widths; these order devices beside the processor.
    const uint32_t type = machine_->found.properties.type;
    device_.flops = type == kDiscrete || type == kVirtual ? 10e12 : type == kIntegrated ? 1e12 : 40e9;
    const double bandwidth = type == kDiscrete || type == kVirtual ? 400e9 : type == kIntegrated ? 40e9 : 10e9;
    device_.l1_bandwidth = device_.l2_bandwidth = device_.l3_bandwidth = device_.memory_bandwidth = bandwidth;
    device_.transfer_latency = machine_->memory->is_unified() ? 2e-6 : 2e-5;
    device_.transfer_bandwidth = 10e9;
  }
  ~VulkanQueue() override {
    stream_->try_finish();
    for (const Object pool : query_pools_) machine_->api.vkDestroyQueryPool(machine_->device, pool, nullptr);
  }

  const Device& device() const override { return device_; }
  std::shared_ptr<void> allocate(size_t bytes) override { return machine_->allocate(bytes, DeviceMemory::Use::device); }
  std::shared_ptr<void> allocate_visible(size_t bytes) override { return machine_->allocate(bytes, DeviceMemory::Use::visible); }

  void copy_from_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const Buffer& buffer = buffer_of(to);
    const size_t offset = offset_in(buffer, to);
    if (buffer.mapped) {
      finish();
      copy(buffer.mapped + offset, static_cast<const char*>(from), bytes);
      return;
    }
    const Buffer& staging = this->staging();
    const size_t staging_offset = offset_in(staging, staging_.get());
    // In parts, so that the device reads one part while threads copy the next.
    for (size_t done = 0; done < bytes;) {
      const size_t part = std::min(bytes - done, kPart);
      if (staged_ + part > kStaging) finish();
      copy(staging.mapped + staging_offset + staged_, static_cast<const char*>(from) + done, part);
      stream_->begin();
      if (!stream_->tape.copy(staging, staging_offset + staged_, buffer, offset + done, part)) refuse("copying to the device");
      staged_ += part, done += part;
      if (done < bytes || bytes > kPart) machine_->check(stream_->flush(), "copying to the device");
    }
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const Buffer& buffer = buffer_of(from);
    const size_t offset = offset_in(buffer, from);
    if (buffer.mapped) {
      finish();
      copy(static_cast<char*>(to), buffer.mapped + offset, bytes);
      return;
    }
    const Buffer& staging = this->staging();
    const size_t staging_offset = offset_in(staging, staging_.get());
    if (staged_ > 0 && bytes > kStaging - staged_) finish();
    for (size_t done = 0; done < bytes;) {
      const size_t at = staged_, part = std::min(bytes - done, kStaging - at);
      stream_->begin();
      if (!stream_->tape.copy(buffer, offset + done, staging, staging_offset + at, part)) refuse("copying from the device");
      finish();
      copy(static_cast<char*>(to) + done, staging.mapped + staging_offset + at, part);
      done += part;
    }
  }

  std::unique_ptr<Function> function(const std::string& source, const std::string& name, size_t, const Extent& group,
                                     const Extent& groups) override {
    Programs::Entry& program = machine_->entry(source, name, group, groups);
    wanted_.push_back(&program);
    return std::make_unique<VulkanFunction>(program);
  }
  void compile() override { machine_->programs->make(std::exchange(wanted_, {}), kernel_cache_.get(), threads_); }
  bool launch(Function& function, const Extent& groups, const Extent&, std::span<const Argument> arguments) noexcept override {
    const Program* const program = static_cast<VulkanFunction&>(function).program.program();
    if (!program) return false;
    const Pipeline& pipeline = static_cast<const Pipeline&>(*program);
    if (recording_) return recording_->launch(pipeline, groups, arguments);
    stream_->begin();
    return stream_->tape.launch(pipeline, groups, arguments);
  }
  void finish() override {
    const Result result = stream_->try_finish();
    staged_ = 0;
    machine_->check(result, "finishing its work");
  }

  bool can_stamp() override { return machine_->found.timestamp_bits > 0; }
  void stamp() noexcept override try {
    const size_t pool = stamps_ / kStamps;
    QueryPoolInfo info;
    info.count = kStamps;
    if (pool == query_pools_.size()) {
      query_pools_.reserve(pool + 1);
      Object made = 0;
      if (machine_->api.vkCreateQueryPool(machine_->device, &info, nullptr, &made) != kSuccess) return;
      query_pools_.push_back(made);
    }
    stream_->begin();
    if (!stream_->tape.stamp(query_pools_[pool], static_cast<uint32_t>(stamps_ % kStamps), kStamps)) return;
    if (stamps_++ == 0) stream_->flush();  // the caller looks at the host's clock now
  } catch (...) {}
  std::vector<double> take_stamps() override {
    std::vector<uint64_t> ticks(std::exchange(stamps_, 0));
    if (stream_->try_finish() != kSuccess) return {};
    for (size_t first = 0; first < ticks.size(); first += kStamps) {
      const uint32_t count = static_cast<uint32_t>(std::min<size_t>(kStamps, ticks.size() - first));
      if (machine_->api.vkGetQueryPoolResults(machine_->device, query_pools_[first / kStamps], 0, count, count * sizeof(uint64_t),
                                              ticks.data() + first, sizeof(uint64_t), kQuery64Bits) != kSuccess)
        return {};
    }
    const uint64_t mask = ~uint64_t{0} >> (64 - std::min(64u, machine_->found.timestamp_bits));
    const double period = static_cast<double>(machine_->found.properties.limits.timestamp_period) * 1e-9;
    std::vector<double> seconds;
    for (const uint64_t tick : ticks) seconds.push_back(static_cast<double>((tick - ticks[0]) & mask) * period);
    return seconds;
  }

  bool can_record() const override { return true; }
  void begin_recording() override { recording_ = std::make_unique<Tape>(machine_, false); }
  std::unique_ptr<Recording> end_recording() override { return std::make_unique<VulkanRecording>(stream_, std::move(recording_), failed_); }

 private:
  static constexpr size_t kStaging = 8 << 20, kPart = 1 << 20;
  static constexpr uint32_t kStamps = 256;  // of a pool of queries

  const Buffer& buffer_of(const void* address) const {
    const Buffer* buffer = machine_->memory->find(address);
    MINNOW_CHECK(buffer, "a copy is to or from the device's memory");
    return *buffer;
  }
  static size_t offset_in(const Buffer& buffer, const void* address) { return reinterpret_cast<uintptr_t>(address) - buffer.first; }
  [[noreturn]] void refuse(std::string_view what) const { throw Unsupported("Vulkan: {} failed, {}", machine_->name, what); }
  const Buffer& staging() {
    if (!staging_) staging_ = machine_->allocate(kStaging, DeviceMemory::Use::staging);
    return buffer_of(staging_.get());
  }
  void copy(char* to, const char* from, size_t bytes) noexcept {
    constexpr size_t kTask = 128 << 10;
    const size_t tasks = (bytes + kTask - 1) / kTask;
    ThreadPool::process().run(tasks, tasks < 8 ? 1 : threads_, [&](size_t i) {
      const size_t at = i * kTask;
      std::memcpy(to + at, from + at, std::min(kTask, bytes - at));
    });
  }

  std::shared_ptr<Machine> machine_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<EntryFile> kernel_cache_;
  std::vector<Programs::Entry*> wanted_;  // which are to be compiled
  Device device_;
  int threads_;
  std::unique_ptr<Tape> recording_;
  std::vector<Object> query_pools_;  // for time stamps
  size_t stamps_ = 0;                // that were asked for
  std::shared_ptr<void> staging_;
  size_t staged_ = 0;  // bytes of it that copies to the device may still read
};

std::string no_device() {
  return std::getenv("MINNOW_VULKAN_DEVICE") ? "no device has a name with MINNOW_VULKAN_DEVICE in it" : "no driver offers a device";
}

}  // namespace

std::shared_ptr<Backend> make_vulkan_backend(const BackendOptions& options) {
  if (options.device > 0)
    throw InvalidArgument("the backend vulkan takes no number of a device; MINNOW_VULKAN_DEVICE chooses one by a part of its name");
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) throw Unsupported("the backend vulkan cannot be used: {}", problem);
  static std::mutex mutex;
  static std::shared_ptr<Machine>& machine = *new std::shared_ptr<Machine>;  // never destroyed: the driver may be gone by then
  static int opened = 0;
  const std::lock_guard lock(mutex);
  if (!machine || machine->lost.load(std::memory_order_acquire)) {
    const std::vector<Found> found = find_devices(*api);
    if (found.empty()) throw Unsupported("the backend vulkan cannot be used: {}", no_device());
    const Found& best = found.front();
    if (!best.problem.empty()) throw Unsupported("the backend vulkan cannot be used: {}: {}", best.properties.name, best.problem);
    // A name of its own after a loss: weights are known by it, and those of the lost device are gone.
    std::string name = best.properties.name;
    if (opened > 0) name += format(" ({})", opened + 1);
    machine = std::make_shared<Machine>(*api, best, std::move(name));
    ++opened;
  }
  return make_gpu_backend("vulkan", std::make_unique<VulkanQueue>(machine, options));
}

std::vector<DeviceRow> vulkan_devices() {
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) return {{"vulkan", "", "", problem}};
  std::vector<DeviceRow> rows;
  for (const Found& found : find_devices(*api))
    rows.push_back({"vulkan", found.properties.name, found.problem.empty() ? found.details() : "", found.problem});
  if (rows.empty()) rows.push_back({"vulkan", "", "", no_device()});
  return rows;
}

}  // namespace minnow::gpu

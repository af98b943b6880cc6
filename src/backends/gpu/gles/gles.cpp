// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "backends/gpu/gles/machine.h"
#include "backends/gpu/gpu.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

using namespace gles;

// Launches with their arguments. Only the thread that is in the context can give them to OpenGL, so they are collected first.
class LaunchList {
 public:
  bool add(const Machine& machine, const GlesProgram& program, const Extent& groups, std::span<const Argument> arguments) noexcept try {
    BoundArguments bound;
    if (!bound.set(*machine.memory, *machine.nothing, program.stored.interface, arguments,
                   static_cast<uint64_t>(machine.found.max_buffer_bytes)))
      return false;
    Extent most;
    for (size_t i = 0; i < 3; ++i) most[i] = static_cast<uint32_t>(machine.found.max_groups[i]);
    const auto dispatch = [&](const Extent& part) {
      launches_.push_back({&program, part, words_.size(), buffers_.size(), bound.count});
      words_.insert(words_.end(), bound.words, bound.words + program.words);
      buffers_.insert(buffers_.end(), bound.buffers, bound.buffers + bound.count);
      return true;
    };
    return program.stored.offsets ? for_parts(groups, most.data(), bound.words + arguments.size(), dispatch) : dispatch(groups);
  } catch (...) {
    return false;
  }
  size_t size() const noexcept { return launches_.size(); }
  void clear() noexcept {
    launches_.clear();
    words_.clear();
    buffers_.clear();
  }
  /// In the context.
  void run(const Api& api, size_t begin, size_t end) const noexcept {
    for (size_t i = begin; i < end; ++i) {
      const Launch& launch = launches_[i];
      api.glUseProgram(launch.program->id);
      if (launch.program->words > 0) api.glUniform1uiv(0, static_cast<int>(launch.program->words), words_.data() + launch.first_word);
      for (size_t b = 0; b < launch.buffers; ++b) {
        const BoundBuffer& bound = buffers_[launch.first_buffer + b];
        api.glBindBufferRange(kStorageBuffer, static_cast<unsigned>(b), static_cast<unsigned>(bound.buffer->object),
                              static_cast<intptr_t>(bound.first), static_cast<intptr_t>(bound.bytes));
      }
      api.glDispatchCompute(launch.groups[0], launch.groups[1], launch.groups[2]);
      api.glMemoryBarrier(kStorageBarrier);
    }
  }

 private:
  struct Launch {
    const GlesProgram* program;
    Extent groups;
    size_t first_word, first_buffer, buffers;
  };
  std::vector<Launch> launches_;
  std::vector<uint32_t> words_;
  std::vector<BoundBuffer> buffers_;
};

// Work that a session gave to the device, which its queue and its recordings share.
class Stream {
 public:
  explicit Stream(std::shared_ptr<Machine> given) : machine(std::move(given)) { machine->memory->add(progress_); }
  ~Stream() {
    try {
      finish();
    } catch (...) {}
    machine->memory->remove(progress_);
  }

  bool launch(const GlesProgram& program, const Extent& groups, std::span<const Argument> arguments) noexcept try {
    begin();
    const size_t before = launches_.size();
    if (!launches_.add(*machine, program, groups, arguments)) return false;
    if (work_.empty() || work_.back().list != &launches_) work_.push_back({&launches_, before, before});
    work_.back().end = launches_.size();
    return true;
  } catch (...) {
    return false;
  }
  /// The list stays as it is until the work has been given to the device.
  void enqueue(const LaunchList& list) {
    begin();
    work_.push_back({&list, 0, list.size()});
  }
  bool has(const LaunchList& list) const noexcept {
    return std::any_of(work_.begin(), work_.end(), [&](const Work& work) { return work.list == &list; });
  }
  /// In the context: gives all work to the device.
  void submit() noexcept {
    for (const Work& work : work_) work.list->run(machine->api, work.begin, work.end);
    if (!work_.empty()) machine->api.glMemoryBarrier(kUpdateBarrier);
    work_.clear();
    launches_.clear();
  }
  void finish() {
    if (progress_.idle.load(std::memory_order_relaxed)) return;
    std::exception_ptr thrown;
    {
      const Machine::Entered entered(*machine);
      submit();
      machine->api.glFinish();
      try {
        machine->check("finishing its work");
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    progress_.idle.store(true, std::memory_order_seq_cst);
    if (machine->memory->has_waiting()) machine->memory->collect();
    if (thrown) std::rethrow_exception(thrown);
  }
  void begin() noexcept {
    if (!progress_.idle.load(std::memory_order_relaxed)) return;
    progress_.epoch.store(machine->memory->epoch(), std::memory_order_release);
    progress_.idle.store(false, std::memory_order_seq_cst);
  }

  const std::shared_ptr<Machine> machine;

 private:
  struct Work {
    const LaunchList* list;
    size_t begin, end;
  };
  LaunchList launches_;
  std::vector<Work> work_;
  QueueProgress progress_;
};

class GlesFunction final : public Function {
 public:
  explicit GlesFunction(Programs::Entry& program) : program(program) {}
  Programs::Entry& program;  // the machine keeps it
};

class GlesRecording final : public Recording {
 public:
  GlesRecording(std::shared_ptr<Stream> stream, std::unique_ptr<LaunchList> list) : stream_(std::move(stream)), list_(std::move(list)) {}
  ~GlesRecording() override {
    if (stream_->has(*list_)) try {
        stream_->finish();
      } catch (...) {}
  }
  void enqueue(RunContext& context) noexcept override try { stream_->enqueue(*list_); } catch (...) {
    context.fail(std::current_exception());
  }

 private:
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<LaunchList> list_;
};

class GlesQueue final : public Queue {
 public:
  GlesQueue(std::shared_ptr<Machine> machine, const BackendOptions& options)
      : machine_(std::move(machine)),
        api_(machine_->api),
        stream_(std::make_shared<Stream>(machine_)),
        kernel_cache_(open_kernel_cache(options.kernel_cache)),
        threads_(std::max(1, options.threads)) {
    device_.name = "gles " + machine_->name;
    device_.precision = options.precision;
    device_.max_tensor_bytes = static_cast<size_t>(machine_->found.max_buffer_bytes) / 4 * 4;
    // OpenGL tells neither clocks nor widths; these order devices beside the processor.
    const bool slow = machine_->found.is_processor();
    device_.flops = slow ? 20e9 : 300e9;
    const double bandwidth = slow ? 10e9 : 20e9;
    device_.l1_bandwidth = device_.l2_bandwidth = device_.l3_bandwidth = device_.memory_bandwidth = bandwidth;
    device_.transfer_latency = 5e-5;
    device_.transfer_bandwidth = 4e9;
  }
  ~GlesQueue() override {
    if (queries_.empty()) return;
    const Machine::Entered entered(*machine_);
    api_.glDeleteQueriesEXT(static_cast<int>(queries_.size()), queries_.data());
  }
  const Device& device() const override { return device_; }
  std::shared_ptr<void> allocate(size_t bytes) override { return machine_->allocate(bytes); }

  void copy_from_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const Buffer& buffer = buffer_of(to);
    stream_->begin();
    const Machine::Entered entered(*machine_);
    stream_->submit();
    api_.glBindBuffer(kCopyWrite, static_cast<unsigned>(buffer.object));
    api_.glBufferSubData(kCopyWrite, offset_in(buffer, to), static_cast<intptr_t>(bytes), from);
    machine_->check("copying to the device");
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const Buffer& buffer = buffer_of(from);
    stream_->begin();
    const Machine::Entered entered(*machine_);
    stream_->submit();
    api_.glBindBuffer(kCopyRead, static_cast<unsigned>(buffer.object));
    const void* const mapped = api_.glMapBufferRange(kCopyRead, offset_in(buffer, from), static_cast<intptr_t>(bytes), kMapRead);
    if (mapped) {
      std::memcpy(to, mapped, bytes);
      api_.glUnmapBuffer(kCopyRead);
    }
    machine_->check("copying from the device");
    if (!mapped) throw Unsupported("OpenGL ES: {} failed, copying from the device", machine_->name);
  }

  std::unique_ptr<Function> function(const std::string& source, const std::string& name, size_t, const Extent& group,
                                     const Extent& groups) override {
    Programs::Entry& program = machine_->entry(source, name, group, groups);
    wanted_.push_back(&program);
    return std::make_unique<GlesFunction>(program);
  }
  void compile() override { machine_->programs->make(std::exchange(wanted_, {}), kernel_cache_.get(), threads_); }
  bool launch(Function& function, const Extent& groups, const Extent&, std::span<const Argument> arguments) noexcept override {
    const Program* const made = static_cast<GlesFunction&>(function).program.program();
    if (!made) return false;
    const GlesProgram& program = static_cast<const GlesProgram&>(*made);
    return recording_ ? recording_->add(*machine_, program, groups, arguments) : stream_->launch(program, groups, arguments);
  }
  void finish() override { stream_->finish(); }

  bool can_stamp() override { return machine_->found.has_timer; }
  void stamp() noexcept override try {
    stream_->begin();
    const Machine::Entered entered(*machine_);
    stream_->submit();
    if (stamps_ == queries_.size()) api_.glGenQueriesEXT(1, &queries_.emplace_back());
    api_.glQueryCounterEXT(queries_[stamps_], kTimestamp);
    if (stamps_++ == 0) api_.glFlush();  // the caller looks at the host's clock now
  } catch (...) {}
  std::vector<double> take_stamps() override {
    std::vector<double> seconds(std::exchange(stamps_, 0));
    const Machine::Entered entered(*machine_);
    uint64_t first = 0, nanoseconds = 0;
    for (size_t i = 0; i < seconds.size(); ++i) {
      api_.glGetQueryObjectui64vEXT(queries_[i], kQueryResult, &nanoseconds);
      if (i == 0) first = nanoseconds;
      seconds[i] = static_cast<double>(static_cast<int64_t>(nanoseconds - first)) * 1e-9;
    }
    return seconds;
  }

  bool can_record() const override { return true; }
  void begin_recording() override { recording_ = std::make_unique<LaunchList>(); }
  std::unique_ptr<Recording> end_recording() override { return std::make_unique<GlesRecording>(stream_, std::move(recording_)); }

 private:
  const Buffer& buffer_of(const void* address) const {
    const Buffer* buffer = machine_->memory->find(address);
    MINNOW_CHECK(buffer, "a copy is to or from the device's memory");
    return *buffer;
  }
  static intptr_t offset_in(const Buffer& buffer, const void* address) {
    return static_cast<intptr_t>(reinterpret_cast<uintptr_t>(address) - buffer.first);
  }

  std::shared_ptr<Machine> machine_;
  const Api& api_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<EntryFile> kernel_cache_;
  std::vector<Programs::Entry*> wanted_;  // which are to be compiled
  int threads_;
  Device device_;
  std::unique_ptr<LaunchList> recording_;
  std::vector<unsigned> queries_;  // for time stamps
  size_t stamps_ = 0;              // of them that are in use
};

std::string no_device() {
  return std::getenv("MINNOW_GLES_DEVICE") ? "no device with OpenGL ES 3.1 has a name with MINNOW_GLES_DEVICE in it"
                                           : "no driver offers OpenGL ES 3.1";
}

}  // namespace

std::shared_ptr<Backend> make_gles_backend(const BackendOptions& options) {
  if (options.device > 0)
    throw InvalidArgument("the backend gles takes no number of a device; MINNOW_GLES_DEVICE chooses one by a part of its name");
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) throw Unsupported("the backend gles cannot be used: {}", problem);
  static std::mutex mutex;
  static std::shared_ptr<Machine>& machine = *new std::shared_ptr<Machine>;  // never destroyed: the driver may be gone by then
  static int opened = 0;
  const std::lock_guard lock(mutex);
  if (!machine || machine->lost.load(std::memory_order_acquire)) {
    const std::vector<Found> found = find_devices(*api);
    if (found.empty()) throw Unsupported("the backend gles cannot be used: {}", no_device());
    const Found& best = found.front();
    if (!best.problem.empty()) throw Unsupported("the backend gles cannot be used: {}: {}", best.name, best.problem);
    // A name of its own after a loss: weights are known by it, and those of the lost device are gone.
    machine = std::make_shared<Machine>(*api, best, opened > 0 ? format("{} ({})", best.name, opened + 1) : best.name);
    ++opened;
  }
  return make_gpu_backend("gles", std::make_unique<GlesQueue>(machine, options));
}

std::vector<DeviceRow> gles_devices() {
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) return {{"gles", "", "", problem}};
  std::vector<DeviceRow> rows;
  for (const Found& found : find_devices(*api))
    rows.push_back({"gles", found.name, found.problem.empty() ? found.details() : "", found.problem});
  if (rows.empty()) rows.push_back({"gles", "", "", no_device()});
  return rows;
}

}  // namespace minnow::gpu

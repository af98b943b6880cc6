// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gpu.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "backends/gpu/dialect.h"
#include "backends/gpu/driver.h"
#include "backends/gpu/opencl/api.h"
#include "backends/gpu/programs.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

using namespace opencl;

constexpr Int kSuccess = 0, kOutOfMemory = -4, kOutOfResources = -5, kOutOfHostMemory = -6;

std::string text_of(Int (*get)(Handle, UInt, size_t, void*, size_t*), Handle object, UInt what) {
  size_t bytes = 0;
  if (get(object, what, 0, nullptr, &bytes) != kSuccess || bytes == 0) return {};
  std::string text(bytes, '\0');
  get(object, what, bytes, text.data(), nullptr);
  text.resize(text.find('\0') == std::string::npos ? bytes : text.find('\0'));
  return text;
}

template <class T>
T number_of(const Api& api, Handle device, UInt what) {
  T value{};
  api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

struct Found {
  Handle platform, device;
  std::string name, details;
  bool is_gpu;
};

std::vector<Found> find_devices(const Api& api) {
  std::vector<Found> found;
  UInt count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count) != kSuccess) return found;
  std::vector<Handle> platforms(count);
  api.clGetPlatformIDs(count, platforms.data(), nullptr);
  for (Handle platform : platforms) {
    UInt devices = 0;
    if (api.clGetDeviceIDs(platform, kDeviceTypeAll, 0, nullptr, &devices) != kSuccess) continue;
    std::vector<Handle> handles(devices);
    api.clGetDeviceIDs(platform, kDeviceTypeAll, devices, handles.data(), nullptr);
    for (Handle device : handles) {
      const double memory = static_cast<double>(number_of<uint64_t>(api, device, kGlobalMemSize)) / (1 << 30);
      found.push_back({platform, device, text_of(api.clGetDeviceInfo, device, kDeviceName),
                       format("{}, {} compute units, {} GiB", text_of(api.clGetDeviceInfo, device, kDeviceVersion),
                              number_of<UInt>(api, device, kMaxComputeUnits), static_cast<int64_t>(memory + 0.5)),
                       (number_of<uint64_t>(api, device, kDeviceType) & kDeviceTypeGpu) != 0});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.is_gpu > b.is_gpu; });
  return found;
}

// Nothing where the device cannot record, or only work that must have ended before it is enqueued again.
std::optional<CommandBuffers> find_command_buffers(const Api& api, const Found& found) {
  if (!api.clGetExtensionFunctionAddressForPlatform || !api.clRetainCommandQueue ||
      text_of(api.clGetDeviceInfo, found.device, kExtensions).find("cl_khr_command_buffer") == std::string::npos ||
      !(number_of<uint64_t>(api, found.device, kCommandBufferCapabilities) & kSimultaneousUse) ||
      number_of<uint64_t>(api, found.device, kCommandBufferRequiredQueue) != 0)
    return {};
  const auto function = [&](const char* name) { return api.clGetExtensionFunctionAddressForPlatform(found.platform, name); };
  CommandBuffers buffers{reinterpret_cast<decltype(CommandBuffers::create)>(function("clCreateCommandBufferKHR")),
                         reinterpret_cast<decltype(CommandBuffers::add_kernel)>(function("clCommandNDRangeKernelKHR")),
                         reinterpret_cast<decltype(CommandBuffers::finalize)>(function("clFinalizeCommandBufferKHR")),
                         reinterpret_cast<decltype(CommandBuffers::enqueue)>(function("clEnqueueCommandBufferKHR")),
                         reinterpret_cast<decltype(CommandBuffers::release)>(function("clReleaseCommandBufferKHR"))};
  if (!buffers.create || !buffers.add_kernel || !buffers.finalize || !buffers.enqueue || !buffers.release) return {};
  return buffers;
}

class OpenClProgram final : public Program {
 public:
  OpenClProgram(const Api& api, Handle program) : program(program), api_(api) {}
  ~OpenClProgram() override { api_.clReleaseProgram(program); }
  std::string binary() const override {
    size_t bytes = 0;
    if (api_.clGetProgramInfo(program, kProgramBinarySizes, sizeof bytes, &bytes, nullptr) != kSuccess) return {};
    std::string binary(bytes, '\0');
    char* place = binary.data();
    return api_.clGetProgramInfo(program, kProgramBinaries, sizeof place, &place, nullptr) == kSuccess ? binary : std::string();
  }
  const Handle program;

 private:
  const Api& api_;
};

// Quotients as the processor rounds them, where the device can.
constexpr const char* kBuildOptions[] = {"-cl-fp32-correctly-rounded-divide-sqrt", ""};

// Sessions on one device share the context, compiled programs, and the addresses of buffers. OpenCL's buffers have no addresses, so
// each gets a range of numbers that nothing else uses.
class Machine final : public Compiler {
 public:
  Machine(const Api& api, const Found& found) : api(api), device(found.device), name(found.name), is_gpu(found.is_gpu) {
    Int status = 0;
    command_buffers = find_command_buffers(api, found);
    context = api.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    if (!context) throw Unsupported("OpenCL: no context on {}: error {}", name, status);
    programs.emplace(*this,
                     format("opencl {} {}, {}, driver {}, prefix {}", text_of(api.clGetPlatformInfo, found.platform, kPlatformName), name,
                            text_of(api.clGetDeviceInfo, device, kDeviceVersion), text_of(api.clGetDeviceInfo, device, kDriverVersion),
                            digest_text(std::string(kOpenClPrefix) + std::string(kCommonPrefix))));
  }

  std::shared_ptr<void> allocate(std::shared_ptr<Machine> self, size_t bytes) {
    Int status = 0;
    const Handle buffer = api.clCreateBuffer(context, kMemReadWrite, bytes, nullptr, &status);
    if (!buffer) throw out_of_memory("OpenCL: {} has no {} bytes left: error {}", name, bytes, status);
    return known(std::move(self), buffer, bytes);
  }
  std::shared_ptr<void> adopt(std::shared_ptr<Machine> self, const Backend::Foreign& memory, std::shared_ptr<const void> owner) {
    const Handle buffer = static_cast<Handle>(memory.handle);
    size_t bytes = 0;
    if (api.clGetMemObjectInfo(buffer, kMemSize, sizeof bytes, &bytes, nullptr) != kSuccess || api.clRetainMemObject(buffer) != kSuccess)
      throw InvalidArgument("OpenCL: the memory given is no buffer");
    const std::shared_ptr<void> made = known(std::move(self), buffer, bytes);
    auto both = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<const void>>>(made, std::move(owner));
    return {std::move(both), static_cast<char*>(made.get()) + memory.offset};
  }

  struct Place {
    Handle buffer;
    uint64_t offset;
  };
  Place place_of(const void* address) const noexcept {
    const std::lock_guard lock(mutex_);
    const uintptr_t number = reinterpret_cast<uintptr_t>(address);
    auto found = buffers_.upper_bound(number);
    if (found == buffers_.begin()) return {nullptr, 0};
    --found;
    return {found->second, number - found->first};
  }

  std::unique_ptr<Program> compile(const std::string& source) override {
    const std::string text = std::string(kOpenClPrefix) + std::string(kCommonPrefix) + source;
    const char* texts[] = {text.c_str()};
    Int status = 0;
    const Handle handle = api.clCreateProgramWithSource(context, 1, texts, nullptr, &status);
    if (!handle) throw InternalError("OpenCL: a program was not taken: error {}", status);
    auto program = std::make_unique<OpenClProgram>(api, handle);
    if (build(handle)) return program;
    std::string log(16384, '\0');
    size_t bytes = 0;
    api.clGetProgramBuildInfo(handle, device, kProgramBuildLog, log.size(), log.data(), &bytes);
    log.resize(std::min(bytes, log.size()));
    throw_not_compiled("OpenCL: " + name, log, source);
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(binary.data());
    const size_t size = binary.size();
    const Handle handle =
        api.clCreateProgramWithBinary(context, 1, &device, &size, const_cast<const unsigned char**>(&bytes), nullptr, nullptr);
    if (!handle) return nullptr;
    auto program = std::make_unique<OpenClProgram>(api, handle);
    return build(handle) ? std::move(program) : nullptr;
  }

  const Api& api;
  Handle device, context;
  std::string name;
  bool is_gpu;
  std::optional<CommandBuffers> command_buffers;
  std::optional<Programs> programs;

 private:
  bool build(Handle program) const {
    return std::any_of(std::begin(kBuildOptions), std::end(kBuildOptions),
                       [&](const char* options) { return api.clBuildProgram(program, 1, &device, options, nullptr, nullptr) == kSuccess; });
  }
  static constexpr size_t kGap = 4096;
  // The buffer under an address of its own; it is released with the pointer.
  std::shared_ptr<void> known(std::shared_ptr<Machine> self, Handle buffer, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const uintptr_t address = next_;
    next_ += align_up(bytes, kGap) + kGap;
    buffers_[address] = buffer;
    return {reinterpret_cast<void*>(address), [self = std::move(self)](void* memory) { self->release(memory); }};
  }
  void release(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(reinterpret_cast<uintptr_t>(memory));
    api.clReleaseMemObject(found->second);
    buffers_.erase(found);
  }
  mutable std::mutex mutex_;
  std::map<uintptr_t, Handle> buffers_;
  uintptr_t next_ = uintptr_t{1} << (sizeof(uintptr_t) * 8 - 4);
};

// A kernel that a session has asked for.
struct OpenClKernel {
  std::shared_ptr<Machine> machine;
  Programs::Entry& program;
  const std::string name;
  Handle kernel = nullptr;  // until the program is compiled
  // Arguments stay from launch to launch: the addresses that were set last. No two buffers ever have one address.
  std::array<const void*, kMostArguments> set{};
  bool has_arguments = false;
  ~OpenClKernel() {
    if (kernel) machine->api.clReleaseKernel(kernel);
  }
};

class OpenClFunction final : public Function {
 public:
  explicit OpenClFunction(std::shared_ptr<OpenClKernel> kernel) : kernel(std::move(kernel)) {}
  const std::shared_ptr<OpenClKernel> kernel;
};

// Launches with their arguments, for the queue on which they were recorded.
class OpenClRecording final : public Recording {
 public:
  OpenClRecording(std::shared_ptr<Machine> machine, Handle buffer, Handle queue, const Handle& current, bool& failed)
      : machine_(std::move(machine)), buffer_(buffer), queue_(queue), current_(current), failed_(failed) {
    machine_->api.clRetainCommandQueue(queue_);
  }
  ~OpenClRecording() override {
    machine_->command_buffers->release(buffer_);
    machine_->api.clReleaseCommandQueue(queue_);
  }
  Handle buffer() const noexcept { return buffer_; }
  void enqueue(RunContext& context) noexcept override {
    const bool moved = current_ != queue_;  // to a queue that tells times
    if (moved) machine_->api.clFinish(current_);
    const Int status = machine_->command_buffers->enqueue(0, nullptr, buffer_, 0, nullptr, nullptr);
    if (moved) machine_->api.clFinish(queue_);
    if (status == kSuccess) return;
    failed_ = true;
    fail_unsupported(context, "OpenCL: {} did not accept recorded work: error {}", machine_->name, status);
  }

 private:
  std::shared_ptr<Machine> machine_;
  const Handle buffer_, queue_;
  const Handle& current_;  // the session's queue; like failed_ it is the OpenClQueue's, which lives longer
  bool& failed_;
};

class OpenClQueue final : public Queue {
 public:
  OpenClQueue(std::shared_ptr<Machine> machine, const BackendOptions& options)
      : machine_(std::move(machine)),
        api_(machine_->api),
        kernel_cache_(open_kernel_cache(options.kernel_cache)),
        compiling_threads_(std::max(1, options.threads)) {
    Int status = 0;
    queue_ = api_.clCreateCommandQueue(machine_->context, machine_->device, 0, &status);
    if (!queue_) throw Unsupported("OpenCL: no queue on {}: error {}", machine_->name, status);
    device_.name = "opencl " + machine_->name;
    if (options.device > 0) device_.name += format(" (device {})", options.device);  // weights are known by it
    device_.precision = options.precision;
    const double units = number_of<UInt>(api_, machine_->device, kMaxComputeUnits);
    const double clock = number_of<UInt>(api_, machine_->device, kMaxClockFrequency) * 1e6;
    device_.flops = machine_->is_gpu ? units * clock * 128 : units * 20e9;
    // OpenCL does not tell it: GPUs move a byte in the time of 10 to 80 operations.
    const double bandwidth = machine_->is_gpu ? std::max(40e9, device_.flops / 40) : 10e9;
    device_.l1_bandwidth = device_.l2_bandwidth = device_.l3_bandwidth = device_.memory_bandwidth = bandwidth;
    device_.transfer_latency = 2e-5;
    device_.transfer_bandwidth = 8e9;
  }
  ~OpenClQueue() override {
    take_stamps();
    api_.clFinish(queue_);
    api_.clReleaseCommandQueue(queue_);
  }

  const Device& device() const override { return device_; }
  std::shared_ptr<void> allocate(size_t bytes) override {
    try {
      return machine_->allocate(machine_, bytes);
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  std::shared_ptr<void> adopt(const Backend::Foreign& memory, std::shared_ptr<const void> owner) override {
    return machine_->adopt(machine_, memory, std::move(owner));
  }
  Backend::Foreign foreign(const void* address) const override {
    const Machine::Place place = machine_->place_of(address);
    return {place.buffer, place.offset};
  }

  void copy_from_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const Machine::Place place = machine_->place_of(to);
    check(api_.clEnqueueWriteBuffer(queue_, place.buffer, 1, place.offset, bytes, from, 0, nullptr, nullptr), "copying to the device");
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    const Machine::Place place = machine_->place_of(from);
    check(api_.clEnqueueReadBuffer(queue_, place.buffer, 1, place.offset, bytes, to, 0, nullptr, nullptr), "copying from the device");
  }

  std::unique_ptr<Function> function(const std::string& source, const std::string& name, size_t, const Extent&, const Extent&) override {
    auto kernel = std::shared_ptr<OpenClKernel>(new OpenClKernel{machine_, machine_->programs->entry(source), name});
    wanted_.push_back(kernel);
    return std::make_unique<OpenClFunction>(std::move(kernel));
  }
  void compile() override {
    const auto wanted = std::exchange(wanted_, {});
    std::vector<Programs::Entry*> entries;
    for (const auto& kernel : wanted) entries.push_back(&kernel->program);
    try {
      machine_->programs->make(std::move(entries), kernel_cache_.get(), compiling_threads_);
    } catch (...) {
      failed_ = true;
      throw;
    }
    for (const auto& kernel : wanted) {
      Int status = 0;
      kernel->kernel =
          api_.clCreateKernel(static_cast<const OpenClProgram&>(*kernel->program.program()).program, kernel->name.c_str(), &status);
      if (kernel->kernel) continue;
      failed_ = true;
      throw InternalError("OpenCL: there is no kernel {}: error {}", kernel->name, status);
    }
  }

  bool launch(Function& function, const Extent& groups, const Extent& group, std::span<const Argument> arguments) noexcept override {
    OpenClKernel& kernel = *static_cast<OpenClFunction&>(function).kernel;
    size_t local[3], global[3];
    for (size_t i = 0; i < 3; ++i) local[i] = group[i], global[i] = size_t{groups[i]} * group[i];
    const bool taken =
        kernel.kernel && set_arguments(kernel, arguments) &&
        (recording_ ? machine_->command_buffers->add_kernel(recording_, nullptr, nullptr, kernel.kernel, 3, nullptr, global, local, 0,
                                                            nullptr, nullptr, nullptr)
                    : api_.clEnqueueNDRangeKernel(queue_, kernel.kernel, 3, nullptr, global, local, 0, nullptr, nullptr)) == kSuccess;
    failed_ = failed_ || !taken;
    return taken;
  }

  bool can_record() const override { return machine_->command_buffers.has_value(); }
  void begin_recording() override {
    const uint64_t properties[] = {kCommandBufferFlags, kSimultaneousUseFlag, 0};
    Int status = 0;
    recording_ = machine_->command_buffers->create(1, &queue_, properties, &status);
    check(status, "beginning to record");
  }
  std::unique_ptr<Recording> end_recording() override {
    auto recording = std::make_unique<OpenClRecording>(machine_, std::exchange(recording_, nullptr), queue_, queue_, failed_);
    check(machine_->command_buffers->finalize(recording->buffer()), "recording");
    return recording;
  }

  // A queue that tells times may cost more, so it takes the other one's place when it is asked for.
  bool can_stamp() override {
    if (stamps_work_) return true;
    Int status = 0;
    const Handle queue = api_.clCreateCommandQueue(machine_->context, machine_->device, kQueueProfiling, &status);
    if (!queue) return false;
    api_.clFinish(queue_);
    api_.clReleaseCommandQueue(std::exchange(queue_, queue));
    return stamps_work_ = true;
  }
  void stamp() noexcept override {
    Handle event = nullptr;
    if (api_.clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &event) == kSuccess) stamps_.push_back(event);
  }
  std::vector<double> take_stamps() override {
    std::vector<double> seconds;
    uint64_t first = 0;
    for (Handle event : std::exchange(stamps_, {})) {
      uint64_t nanoseconds = 0;
      api_.clGetEventProfilingInfo(event, kProfilingEnd, sizeof nanoseconds, &nanoseconds, nullptr);
      api_.clReleaseEvent(event);
      if (seconds.empty()) first = nanoseconds;
      seconds.push_back(static_cast<double>(static_cast<int64_t>(nanoseconds - first)) * 1e-9);
    }
    return seconds;
  }

  void finish() override { check(api_.clFinish(queue_), "finishing its work"); }

 private:
  // Numbers never change, addresses seldom do.
  bool set_arguments(OpenClKernel& kernel, std::span<const Argument> arguments) noexcept {
    UInt index = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      const bool is_buffer = argument.kind == Argument::Kind::buffer;
      if (!kernel.has_arguments || (is_buffer && argument.address != kernel.set[i])) {
        kernel.set[i] = nullptr;  // where the driver refuses it
        if (is_buffer) {
          const Machine::Place place = machine_->place_of(argument.address);
          if (api_.clSetKernelArg(kernel.kernel, index, sizeof place.buffer, &place.buffer) != kSuccess) return false;
          if (api_.clSetKernelArg(kernel.kernel, index + 1, sizeof place.offset, &place.offset) != kSuccess) return false;
          kernel.set[i] = argument.address;
        } else if (api_.clSetKernelArg(kernel.kernel, index, sizeof argument.i32, &argument.i32) != kSuccess) {
          return false;
        }
      }
      index += is_buffer ? 2 : 1;
    }
    return kernel.has_arguments = true;
  }
  void check(Int status, std::string_view what) {
    if (status == kSuccess) return;
    failed_ = true;
    if (status == kOutOfMemory || status == kOutOfResources || status == kOutOfHostMemory)
      throw out_of_memory("OpenCL: {} is out of memory, {}: error {}", machine_->name, what, status);
    throw Unsupported("OpenCL: {} failed, {}: error {}", machine_->name, what, status);
  }
  std::shared_ptr<Machine> machine_;
  const Api& api_;
  std::unique_ptr<EntryFile> kernel_cache_;
  std::vector<std::shared_ptr<OpenClKernel>> wanted_;  // whose programs are to be compiled
  int compiling_threads_;
  std::vector<Handle> stamps_;  // events
  bool stamps_work_ = false;
  Handle queue_;
  Handle recording_ = nullptr;  // a command buffer, while launches go into it
  Device device_;
};

}  // namespace

std::shared_ptr<Backend> make_opencl_backend(const BackendOptions& options) {
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) throw Unsupported("the backend opencl cannot be used: {}", problem);
  static std::mutex mutex;
  static auto& machines = *new std::map<int, std::shared_ptr<Machine>>;  // never destroyed: the driver may be gone by then
  const std::lock_guard lock(mutex);
  std::shared_ptr<Machine>& machine = machines[options.device];
  if (!machine) {
    const std::vector<Found> found = find_devices(*api);
    if (found.empty()) throw Unsupported("the backend opencl cannot be used: no driver offers a device");
    check_number("opencl", options.device, found.size());
    machine = std::make_shared<Machine>(*api, found[static_cast<size_t>(options.device)]);
  }
  return make_gpu_backend("opencl", std::make_unique<OpenClQueue>(machine, options), options.device);
}

std::vector<DeviceRow> opencl_devices() {
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) return {{"opencl", "", "", problem}};
  std::vector<DeviceRow> rows;
  for (const Found& found : find_devices(*api)) rows.push_back({"opencl", found.name, found.details, "", !found.is_gpu});
  if (rows.empty()) rows.push_back({"opencl", "", "", "no driver offers a device"});
  return rows;
}

}  // namespace minnow::gpu

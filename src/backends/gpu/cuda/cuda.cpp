// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gpu.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "backends/gpu/cuda/api.h"
#include "backends/gpu/cuda/compiler.h"
#include "backends/gpu/programs.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace minnow::gpu {
namespace {

using namespace cuda;

std::string text_of(const Api& api, Result result) {
  const char* text = nullptr;
  return api.cuGetErrorString(result, &text) == 0 && text ? format("{} ({})", text, result) : format("error {}", result);
}

class CudaProgram final : public Program {
 public:
  CudaProgram(Handle module, std::string code) : module(module), code_(std::move(code)) {}
  std::string binary() const override { return code_; }
  const Handle module;  // as long as the process, which has the device's context as long

 private:
  std::string code_;
};

// The context and compiled programs, which sessions on one device share.
class Machine final : public Compiler {
 public:
  /// `ahead`: the compute capability for which kernels were compiled ahead of runs, and plans are made; 0: they are compiled here.
  Machine(const Api& api, int ordinal, int ahead) : api(api), ahead(ahead) {
    check(api.cuDeviceGet(&device_, ordinal), "opening the device");
    char text[256] = {};
    check(api.cuDeviceGetName(text, sizeof text, device_), "asking for its name");
    name = text;
    check(api.cuDevicePrimaryCtxRetain(&context_, device_), "making a context");
    figures = {attribute(kMajor) * 10 + attribute(kMinor),
               attribute(kMultiprocessors),
               attribute(kClockRate),
               attribute(kMemoryClock),
               attribute(kBusWidth),
               api.cuTensorMapEncodeTiled != nullptr};
    if (ahead) figures = figures_ahead(ahead);
    programs.emplace(*this, target_of(figures.capability, ahead != 0), ahead ? library_kernels() : nullptr);
  }
  int attribute(int which) const {
    int value = 0;
    check(api.cuDeviceGetAttribute(&value, which, device_), "asking for its properties");
    return value;
  }
  void check(Result result, std::string_view what) const {
    if (result == 0) return;
    if (result == kOutOfMemory) throw out_of_memory("CUDA: {} is out of memory, {}", name, what);
    throw Unsupported("CUDA: {} failed, {}: {}", name, what, text_of(api, result));
  }
  /// Whether the start of a kernel overlaps the end of the one before.
  bool starts_early() const noexcept { return waits(figures.capability) && api.cuLaunchKernelEx; }
  /// Calls work in a thread's current context.
  void enter() const noexcept { api.cuCtxSetCurrent(context_); }

  std::unique_ptr<Program> compile(const std::string& source) override {
    if (ahead) throw_not_ahead();
    std::string code = compiled(source, figures.capability, false);
    Handle module = nullptr;
    enter();
    check(api.cuModuleLoadData(&module, code.data()), "loading a kernel");
    return std::make_unique<CudaProgram>(module, std::move(code));
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override {
    Handle module = nullptr;
    enter();
    if (api.cuModuleLoadData(&module, binary.data()) != 0) return refuses_ = true, nullptr;
    return std::make_unique<CudaProgram>(module, std::string(reinterpret_cast<const char*>(binary.data()), binary.size()));
  }

  const Api& api;
  std::string name;
  const int ahead;
  Figures figures;
  std::optional<Programs> programs;

 private:
  // Why there is no kernel where all of them should come from a file.
  [[noreturn]] void throw_not_ahead() const {
    std::string problem;
    load_compiler(problem);
    int version = 0;
    api.cuDriverGetVersion(&version);
    if (refuses_)
      throw Unsupported("CUDA: the driver, of CUDA {}.{}, refuses a kernel that was compiled ahead, perhaps by a newer NVRTC",
                        version / 1000, version % 1000 / 10);
    throw Unsupported(
        "the backend cuda finds a kernel neither in the kernel cache{}, which has others for cuda:{}.{}, nor can NVRTC compile it: {}",
        library_kernels() ? " nor in the library (MINNOW_CUDA_KERNELS)" : "", ahead / 10, ahead % 10, problem);
  }
  int device_ = 0;
  Handle context_ = nullptr;
  std::atomic<bool> refuses_{false};  // a binary
};

// A kernel that a session has asked for.
struct CudaKernel {
  Programs::Entry& program;
  const std::string name;
  const unsigned shared_bytes;
  Handle function = nullptr;  // until the program is compiled
};

class CudaFunction final : public Function {
 public:
  explicit CudaFunction(std::shared_ptr<const CudaKernel> kernel) : kernel(std::move(kernel)) {}
  const std::shared_ptr<const CudaKernel> kernel;
};

class CudaRecording final : public Recording {
 public:
  CudaRecording(std::shared_ptr<Machine> machine, Handle stream, Handle graph, bool& failed)
      : machine_(std::move(machine)), stream_(stream), failed_(failed) {
    const Result result = machine_->api.cuGraphInstantiateWithFlags(&graph_, graph, 0);
    machine_->api.cuGraphDestroy(graph);
    machine_->check(result, "recording its work");
  }
  ~CudaRecording() override { machine_->api.cuGraphExecDestroy(graph_); }
  void enqueue(RunContext& context) noexcept override {
    machine_->enter();
    const Result result = machine_->api.cuGraphLaunch(graph_, stream_);
    if (result == 0) return;
    failed_ = true;
    fail_unsupported(context, "CUDA: {} did not accept recorded work: error {}", machine_->name, result);
  }

 private:
  std::shared_ptr<Machine> machine_;
  Handle stream_, graph_ = nullptr;
  bool& failed_;  // the queue's, which lives longer
};

class CudaQueue final : public Queue {
 public:
  CudaQueue(std::shared_ptr<Machine> machine, const BackendOptions& options)
      : machine_(std::move(machine)),
        api_(machine_->api),
        kernel_cache_(open_kernel_cache(options.kernel_cache)),
        compiling_threads_(std::max(1, options.threads)),
        threads_(std::min(8, compiling_threads_)) {
    machine_->enter();
    check(api_.cuStreamCreate(&stream_, kStreamNonBlocking), "making a stream");
    device_ = described("cuda " + machine_->name, machine_->figures, options.precision);
    if (options.device > 0) device_.name += format(" (device {})", options.device);  // weights are known by it
  }
  ~CudaQueue() override {
    machine_->enter();
    api_.cuStreamSynchronize(stream_);
    for (Handle event : events_) api_.cuEventDestroy_v2(event);
    api_.cuStreamDestroy_v2(stream_);
  }

  const Device& device() const override { return device_; }
  int tensor_cores() const override { return tensor_cores_of(machine_->figures.capability); }
  std::shared_ptr<void> allocate(size_t bytes) override {
    machine_->enter();
    Address address = 0;
    check(api_.cuMemAlloc_v2(&address, std::max<size_t>(bytes, 1)), "allocating");
    return {reinterpret_cast<void*>(address), [machine = machine_](void* memory) {
              machine->enter();
              machine->api.cuMemFree_v2(reinterpret_cast<Address>(memory));
            }};
  }
  std::shared_ptr<void> adopt(const Backend::Foreign& memory, std::shared_ptr<const void> owner) override {
    machine_->enter();
    check(api_.cuStreamSynchronize(nullptr), "waiting for the default stream");  // which may still write it
    return {std::const_pointer_cast<void>(owner), static_cast<char*>(memory.handle) + memory.offset};
  }
  Backend::Foreign foreign(const void* address) const override { return {const_cast<void*>(address), 0}; }
  // Copies pass through page-locked memory, in parts, so that the device reads one part while threads copy the next.
  void copy_from_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    if (staged_ > 0) finish();
    char* const staging = page_locked();
    for (size_t done = 0; done < bytes;) {
      const size_t part = std::min(bytes - done, bytes < 2 * kPart ? kPart / 4 : kPart);
      if (staged_ + part > kStaging) finish();
      copy(staging + staged_, static_cast<const char*>(from) + done, part);
      check(api_.cuMemcpyHtoDAsync_v2(reinterpret_cast<Address>(to) + done, staging + staged_, part, stream_), "copying to the device");
      staged_ += part, done += part;
    }
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    char* const staging = page_locked();
    for (size_t done = 0; done < bytes;) {
      const size_t part = std::min(bytes - done, kStaging);
      if (staged_ > 0) finish();
      check(api_.cuMemcpyDtoHAsync_v2(staging, reinterpret_cast<Address>(from) + done, part, stream_), "copying from the device");
      finish();
      copy(static_cast<char*>(to) + done, staging, part);
      done += part;
    }
  }

  std::unique_ptr<Function> function(const std::string& source, const std::string& name, size_t shared_bytes, const Extent&,
                                     const Extent&) override {
    wanted_.push_back(
        std::make_shared<CudaKernel>(CudaKernel{machine_->programs->entry(source), name, static_cast<unsigned>(shared_bytes)}));
    return std::make_unique<CudaFunction>(wanted_.back());
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
    machine_->enter();
    for (const auto& kernel : wanted) {
      check(api_.cuModuleGetFunction(&kernel->function, static_cast<const CudaProgram&>(*kernel->program.program()).module,
                                     kernel->name.c_str()),
            "finding a kernel");
      if (kernel->shared_bytes > 0)
        check(api_.cuFuncSetAttribute(kernel->function, kMostSharedBytes, static_cast<int>(kernel->shared_bytes)),
              "reserving shared memory");
    }
  }

  bool encode(const Boxes& boxes, const void* address, EncodedBoxes& to) noexcept override {
    std::array<uint64_t, 4> sizes{}, steps{};
    std::array<uint32_t, 4> box{}, ones{};
    for (size_t i = 0; i < boxes.rank; ++i)
      sizes[i] = static_cast<uint64_t>(boxes.sizes[i]), box[i] = static_cast<uint32_t>(boxes.box[i]), ones[i] = 1;
    for (size_t i = 1; i < boxes.rank; ++i) steps[i - 1] = static_cast<uint64_t>(boxes.steps[i]);
    machine_->enter();
    const bool taken =
        api_.cuTensorMapEncodeTiled(&to, kTypeU16, static_cast<uint32_t>(boxes.rank), const_cast<void*>(address), sizes.data(),
                                    steps.data(), box.data(), ones.data(), 0, boxes.swizzled ? kSwizzle128 : 0, kPromote256, 0) == 0;
    failed_ = failed_ || !taken;
    return taken;
  }
  bool launch(Function& function, const Extent& groups, const Extent& group, std::span<const Argument> arguments) noexcept override {
    void* values[kMostArguments];
    for (size_t i = 0; i < arguments.size(); ++i)
      values[i] = const_cast<void*>(arguments[i].kind == Argument::Kind::boxes ? arguments[i].address : &arguments[i].address);
    machine_->enter();
    const CudaKernel& kernel = *static_cast<CudaFunction&>(function).kernel;
    bool taken;
    if (machine_->starts_early()) {
      LaunchAttribute early = {kProgrammaticSerialization, {1}};
      const LaunchConfig config = {
          {groups[0], groups[1], groups[2]}, {group[0], group[1], group[2]}, kernel.shared_bytes, stream_, &early, 1};
      taken = api_.cuLaunchKernelEx(&config, kernel.function, values, nullptr) == 0;
    } else {
      taken = api_.cuLaunchKernel(kernel.function, groups[0], groups[1], groups[2], group[0], group[1], group[2], kernel.shared_bytes,
                                  stream_, values, nullptr) == 0;
    }
    failed_ = failed_ || !taken;
    return taken;
  }

  void finish() override {
    machine_->enter();
    check(api_.cuStreamSynchronize(stream_), "finishing its work");
    staged_ = 0;
  }

  bool can_stamp() override { return true; }
  void stamp() noexcept override {
    machine_->enter();
    if (stamps_ == events_.size()) {
      Handle event = nullptr;
      if (api_.cuEventCreate(&event, 0) != 0) return;
      events_.push_back(event);
    }
    api_.cuEventRecord(events_[stamps_++], stream_);
  }
  std::vector<double> take_stamps() override {
    machine_->enter();
    std::vector<double> seconds(std::exchange(stamps_, 0));
    for (size_t i = 1; i < seconds.size(); ++i) {
      float milliseconds = 0;
      if (api_.cuEventElapsedTime(&milliseconds, events_[0], events_[i]) == 0) seconds[i] = static_cast<double>(milliseconds) * 1e-3;
    }
    return seconds;
  }

  bool can_record() const override { return true; }
  void begin_recording() override {
    machine_->enter();
    check(api_.cuStreamBeginCapture_v2(stream_, kCaptureThreadLocal), "beginning to record");
  }
  std::unique_ptr<Recording> end_recording() override {
    machine_->enter();
    Handle graph = nullptr;
    check(api_.cuStreamEndCapture(stream_, &graph), "recording");
    return std::make_unique<CudaRecording>(machine_, stream_, graph, failed_);
  }

 private:
  void check(Result result, std::string_view what) {
    if (result != 0) failed_ = true;
    machine_->check(result, what);
  }
  std::shared_ptr<Machine> machine_;
  const Api& api_;
  std::unique_ptr<EntryFile> kernel_cache_;
  std::vector<std::shared_ptr<CudaKernel>> wanted_;  // whose programs are to be compiled
  static constexpr size_t kStaging = 8 << 20, kPart = 1 << 20;

  char* page_locked() {
    machine_->enter();
    if (!staging_) {
      void* memory = nullptr;
      check(api_.cuMemHostAlloc(&memory, kStaging, 0), "allocating page-locked memory");
      staging_ = {static_cast<char*>(memory), [machine = machine_](char* memory) {
                    machine->enter();
                    machine->api.cuMemFreeHost(memory);
                  }};
    }
    return staging_.get();
  }
  void copy(char* to, const char* from, size_t bytes) noexcept {
    constexpr size_t kTask = 128 << 10;
    const size_t tasks = (bytes + kTask - 1) / kTask;
    ThreadPool::process().run(tasks, tasks < 8 ? 1 : threads_, [&](size_t i) {
      const size_t at = i * kTask;
      std::memcpy(to + at, from + at, std::min(kTask, bytes - at));
    });
  }

  Handle stream_ = nullptr;
  Device device_;
  std::vector<Handle> events_;  // for time stamps
  size_t stamps_ = 0;           // of them that are in use
  int compiling_threads_, threads_;
  std::shared_ptr<char> staging_;
  size_t staged_ = 0;  // bytes of it that copies to the device may still read
};

// Why NVRTC cannot compile for a compute capability, as in 75; empty: it can, or does not tell.
std::string problem_of(const CompilerApi& compiler, int capability) {
  int count = 0;
  if (!compiler.nvrtcGetNumSupportedArchs || compiler.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0) return {};
  std::vector<int> known(static_cast<size_t>(count));
  if (compiler.nvrtcGetSupportedArchs(known.data()) != 0 || std::find(known.begin(), known.end(), capability) != known.end()) return {};
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  return format("NVRTC compiles for compute capability {}.{} to {}.{}, the device has {}.{}; MINNOW_NVRTC may name another version's file",
                *least / 10, *least % 10, *most / 10, *most % 10, capability / 10, capability % 10);
}

constexpr std::string_view kNoKernels =
    "; without it, kernels for compute capability {}.{} must come from a file (--kernel-cache) or be in the library (docs/devices.md)";

int capability_of(const Api& api, int ordinal) {
  int device = 0, major = 0, minor = 0;
  api.cuDeviceGet(&device, ordinal);
  api.cuDeviceGetAttribute(&major, kMajor, device);
  api.cuDeviceGetAttribute(&minor, kMinor, device);
  return major * 10 + minor;
}

// The number of devices; 0, and the reason.
int count_devices(const Api& api, std::string& problem) {
  if (const Result result = api.cuInit(0); result != 0) return problem = "the driver does not start: " + text_of(api, result), 0;
  int count = 0;
  api.cuDeviceGetCount(&count);
  if (count == 0) problem = "the driver has no device";
  return count;
}

}  // namespace

std::shared_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  if (options.isa.find('.') != options.isa.npos) return make_gpu_backend("cuda", make_queue_ahead(options));
  std::string problem, missing;
  const Api* const api = load_api(problem);
  if (!api || count_devices(*api, problem) == 0) throw Unsupported("the backend cuda cannot be used: {}", problem);
  check_number("cuda", options.device, static_cast<size_t>(count_devices(*api, problem)));
  const int capability = capability_of(*api, options.device);
  int ahead = 0;
  if (const CompilerApi* const compiler = load_compiler(missing)) {
    if (options.kernel_cache.empty()) problem = problem_of(*compiler, capability);
  } else {
    ahead = std::max(capability_ahead(library_kernels(), capability),
                     capability_ahead(open_kernel_cache(options.kernel_cache).get(), capability));
    if (ahead == 0 && options.kernel_cache.empty()) problem = missing + format(kNoKernels, capability / 10, capability % 10);
  }
  if (!problem.empty()) throw Unsupported("the backend cuda cannot be used: {}", problem);
  static std::mutex mutex;
  static auto& machines = *new std::map<std::pair<int, int>, std::shared_ptr<Machine>>;  // never destroyed: the driver may be gone by then
  const std::lock_guard lock(mutex);
  std::shared_ptr<Machine>& machine = machines[{options.device, ahead}];
  if (!machine) machine = std::make_shared<Machine>(*api, options.device, ahead);
  return make_gpu_backend("cuda", std::make_unique<CudaQueue>(machine, options), options.device);
}

std::vector<DeviceRow> cuda_devices() {
  std::string problem;
  const Api* api = load_api(problem);
  const int count = api ? count_devices(*api, problem) : 0;
  if (count == 0) return {{"cuda", "", "", problem}};
  std::string missing;
  const CompilerApi* const compiler = load_compiler(missing);
  std::vector<DeviceRow> rows;
  for (int i = 0; i < count; ++i) {
    const int capability = capability_of(*api, i);
    int device = 0, units = 0;
    size_t bytes = 0;
    char name[256] = {};
    api->cuDeviceGet(&device, i);
    api->cuDeviceGetName(name, sizeof name, device);
    api->cuDeviceGetAttribute(&units, kMultiprocessors, device);
    api->cuDeviceTotalMem_v2(&bytes, device);
    const int ahead = compiler ? 0 : capability_ahead(library_kernels(), capability);
    if (compiler)
      problem = problem_of(*compiler, capability);
    else if (ahead == 0)
      problem = missing + format(kNoKernels, capability / 10, capability % 10);
    rows.push_back({"cuda", name,
                    format("compute capability {}.{}, {} multiprocessors, {} GiB{}", capability / 10, capability % 10, units, bytes >> 30,
                           ahead ? format(", kernels in the library for cuda:{}.{}", ahead / 10, ahead % 10) : std::string()),
                    problem});
  }
  return rows;
}

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gpu.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "backends/gpu/dialect.h"
#include "backends/gpu/driver.h"
#include "backends/gpu/opencl/api.h"
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

// Sessions on one device share the context, compiled programs, and the addresses of buffers. OpenCL's buffers have no addresses, so
// each gets a range of numbers that nothing else uses.
class Machine {
 public:
  Machine(const Api& api, const Found& found) : api(api), device(found.device), name(found.name), is_gpu(found.is_gpu) {
    Int status = 0;
    context = api.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    if (!context) throw Unsupported("OpenCL: no context on {}: error {}", name, status);
  }

  std::shared_ptr<void> allocate(std::shared_ptr<Machine> self, size_t bytes) {
    Int status = 0;
    const Handle buffer = api.clCreateBuffer(context, kMemReadWrite, bytes, nullptr, &status);
    if (!buffer) throw out_of_memory("OpenCL: {} has no {} bytes left: error {}", name, bytes, status);
    const std::lock_guard lock(mutex_);
    const uintptr_t address = next_;
    next_ += align_up(bytes, kGap) + kGap;
    buffers_[address] = buffer;
    return {reinterpret_cast<void*>(address), [self = std::move(self)](void* memory) { self->release(memory); }};
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

  Handle program(const std::string& source) {
    const std::lock_guard lock(programs_mutex_);
    Handle& made = programs_[source];
    if (made) return made;
    const std::string text = std::string(kOpenClPrefix) + std::string(kCommonPrefix) + source;
    const char* texts[] = {text.c_str()};
    Int status = 0;
    const Handle program = api.clCreateProgramWithSource(context, 1, texts, nullptr, &status);
    if (!program) throw InternalError("OpenCL: a program was not taken: error {}", status);
    // Quotients as the processor rounds them, where the device can.
    if (api.clBuildProgram(program, 1, &device, "-cl-fp32-correctly-rounded-divide-sqrt", nullptr, nullptr) != kSuccess &&
        api.clBuildProgram(program, 1, &device, "", nullptr, nullptr) != kSuccess) {
      std::string log(16384, '\0');
      size_t bytes = 0;
      api.clGetProgramBuildInfo(program, device, kProgramBuildLog, log.size(), log.data(), &bytes);
      log.resize(std::min(bytes, log.size()));
      throw InternalError("OpenCL: {} does not compile a kernel: {}\n{}", name, log, source);
    }
    return made = program;
  }

  const Api& api;
  Handle device, context;
  std::string name;
  bool is_gpu;

 private:
  static constexpr size_t kGap = 4096;
  void release(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(reinterpret_cast<uintptr_t>(memory));
    api.clReleaseMemObject(found->second);
    buffers_.erase(found);
  }
  mutable std::mutex mutex_;
  std::mutex programs_mutex_;
  std::map<uintptr_t, Handle> buffers_;
  uintptr_t next_ = uintptr_t{1} << (sizeof(uintptr_t) * 8 - 4);
  std::unordered_map<std::string, Handle> programs_;
};

class OpenClFunction final : public Function {
 public:
  OpenClFunction(std::shared_ptr<Machine> machine, Handle kernel) : kernel(kernel), machine_(std::move(machine)) {}
  ~OpenClFunction() override { machine_->api.clReleaseKernel(kernel); }
  const Handle kernel;

 private:
  std::shared_ptr<Machine> machine_;
};

class OpenClQueue final : public Queue {
 public:
  OpenClQueue(std::shared_ptr<Machine> machine, const BackendOptions& options) : machine_(std::move(machine)), api_(machine_->api) {
    Int status = 0;
    queue_ = api_.clCreateCommandQueue(machine_->context, machine_->device, 0, &status);
    if (!queue_) throw Unsupported("OpenCL: no queue on {}: error {}", machine_->name, status);
    device_.name = "opencl " + machine_->name;
    device_.precision = options.precision;
    const double units = number_of<UInt>(api_, machine_->device, kMaxComputeUnits);
    const double clock = number_of<UInt>(api_, machine_->device, kMaxClockFrequency) * 1e6;
    device_.flops = machine_->is_gpu ? units * clock * 128 : units * 20e9;
    const double bandwidth = machine_->is_gpu ? 200e9 : 10e9;
    device_.l1_bandwidth = device_.l2_bandwidth = device_.l3_bandwidth = device_.memory_bandwidth = bandwidth;
    device_.transfer_latency = 2e-5;
    device_.transfer_bandwidth = 8e9;
  }
  ~OpenClQueue() override {
    api_.clFinish(queue_);
    api_.clReleaseCommandQueue(queue_);
  }

  const Device& device() const override { return device_; }
  std::shared_ptr<void> allocate(size_t bytes) override { return machine_->allocate(machine_, bytes); }

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
    Int status = 0;
    const Handle kernel = api_.clCreateKernel(machine_->program(source), name.c_str(), &status);
    if (!kernel) throw InternalError("OpenCL: there is no kernel {}: error {}\n{}", name, status, source);
    return std::make_unique<OpenClFunction>(machine_, kernel);
  }

  bool launch(Function& function, const Extent& groups, const Extent& group, std::span<const Argument> arguments) noexcept override {
    const Handle kernel = static_cast<OpenClFunction&>(function).kernel;
    UInt index = 0;
    for (const Argument& argument : arguments) {
      if (argument.kind == Argument::Kind::buffer) {
        const Machine::Place place = machine_->place_of(argument.address);
        if (api_.clSetKernelArg(kernel, index++, sizeof place.buffer, &place.buffer) != kSuccess) return false;
        if (api_.clSetKernelArg(kernel, index++, sizeof place.offset, &place.offset) != kSuccess) return false;
      } else if (api_.clSetKernelArg(kernel, index++, sizeof argument.i32, &argument.i32) != kSuccess) {
        return false;
      }
    }
    size_t local[3], global[3];
    for (size_t i = 0; i < 3; ++i) local[i] = group[i], global[i] = size_t{groups[i]} * group[i];
    return api_.clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, nullptr) == kSuccess;
  }

  void finish() override { check(api_.clFinish(queue_), "finishing its work"); }

 private:
  void check(Int status, std::string_view what) const {
    if (status == kSuccess) return;
    if (status == kOutOfMemory || status == kOutOfResources || status == kOutOfHostMemory)
      throw out_of_memory("OpenCL: {} is out of memory, {}: error {}", machine_->name, what, status);
    throw Unsupported("OpenCL: {} failed, {}: error {}", machine_->name, what, status);
  }
  std::shared_ptr<Machine> machine_;
  const Api& api_;
  Handle queue_;
  Device device_;
};

}  // namespace

std::shared_ptr<Backend> make_opencl_backend(const BackendOptions& options) {
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) throw Unsupported("the backend opencl cannot be used: {}", problem);
  static std::mutex mutex;
  static std::shared_ptr<Machine>& machine = *new std::shared_ptr<Machine>;  // never destroyed: the driver may be gone by then
  const std::lock_guard lock(mutex);
  if (!machine) {
    const std::vector<Found> found = find_devices(*api);
    if (found.empty()) throw Unsupported("the backend opencl cannot be used: no driver offers a device");
    machine = std::make_shared<Machine>(*api, found.front());
  }
  return make_gpu_backend("opencl", std::make_unique<OpenClQueue>(machine, options));
}

std::vector<DeviceRow> opencl_devices() {
  std::string problem;
  const Api* api = load_api(problem);
  if (!api) return {{"opencl", "", "", problem}};
  std::vector<DeviceRow> rows;
  for (const Found& found : find_devices(*api)) rows.push_back({"opencl", found.name, found.details, ""});
  if (rows.empty()) rows.push_back({"opencl", "", "", "no driver offers a device"});
  return rows;
}

}  // namespace minnow::gpu

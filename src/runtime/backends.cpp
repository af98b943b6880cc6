// SPDX-License-Identifier: Apache-2.0
// The one list of the backends of this build.
#include "runtime/backends.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include "backends/cpu/cpu.h"
#include "backends/reference/reference.h"
#if MINNOW_GPU
#include "backends/gpu/gpu.h"
#endif
#include "base/log.h"
#include "base/os.h"
#include "base/processor.h"
#include "runtime/power.h"

namespace minnow {
namespace {

struct Row {
  std::string_view name;
  std::shared_ptr<Backend> (*make)(const BackendOptions&);
  std::vector<DeviceRow> (*devices)();  // null: the processor
};

constexpr std::string_view kAuto = "auto";

constexpr Row kBackends[] = {
    {"cpu", make_cpu_backend, nullptr},
#if MINNOW_GPU
    {"cuda", gpu::make_cuda_backend, gpu::cuda_devices},
    {"opencl", gpu::make_opencl_backend, gpu::opencl_devices},
    {"vulkan", gpu::make_vulkan_backend, gpu::vulkan_devices},
    {"gles", gpu::make_gles_backend, gpu::gles_devices},
#endif
    {"reference", make_reference_backend, nullptr},
};

// Drivers that compute on the processor.
[[maybe_unused]] bool is_processor(const DeviceRow& row) {
  for (const std::string_view word : {"llvmpipe", "softpipe", "SwiftShader"})
    if (row.name.find(word) != row.name.npos) return true;
  return row.is_processor;
}

// Backends that the program has added.
struct Added {
  std::mutex mutex;
  std::vector<std::pair<std::string, MakeBackend>> rows;
};
Added& added() {
  static Added& all = *new Added;  // never destroyed: sessions may outlive static variables
  return all;
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kBackends) names.emplace_back(row.name);
  const std::lock_guard lock(added().mutex);
  for (const auto& [name, make] : added().rows) names.push_back(name);
  return names;
}

void add_backend(const std::string& name, MakeBackend make) {
  for (const std::string& known : backend_names())
    if (known == name || name == kAuto) throw InvalidArgument("there is a backend \"{}\" already", name);
  const std::lock_guard lock(added().mutex);
  added().rows.emplace_back(name, std::move(make));
}

std::vector<std::string> resolved_names(const std::vector<std::string>& names) {
  std::vector<std::string> resolved;
  for (const std::string& name : names) {
    if (name != kAuto) {
      resolved.push_back(name);
      continue;
    }
    if constexpr (kHasDevices)
      for (const DeviceRow& row : device_rows())
        if (row.backend != "cpu" && row.problem.empty() && !is_processor(row)) {
          resolved.push_back(row.backend);
          break;
        }
    resolved.emplace_back("cpu");
  }
  return resolved;
}

std::vector<std::string> usable_backend_names() {
  std::vector<std::string> names;
  for (const Row& row : kBackends) try {
      if (row.devices) row.make({});
      names.emplace_back(row.name);
    } catch (const Unsupported&) {}
  return names;
}

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> rows = {{"cpu", os::processor_name(), format("{} cores", os::available_cores()), ""}};
  for (const Row& row : kBackends)
    if (row.devices)
      for (DeviceRow& device : row.devices()) rows.push_back(std::move(device));
  return rows;
}

std::string_view family_of(std::string_view name) { return name.substr(0, name.find(':')); }

namespace {

int device_number(std::string_view name) {
  const std::string_view family = family_of(name), digits = name.substr(std::min(family.size() + 1, name.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (family.size() == name.size()) return 0;
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || number < 0)
    throw InvalidArgument("the backend \"{}\" has no number of a device behind the colon, as in {}:1", name, family);
  return number;
}

}  // namespace

std::shared_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  for (const Row& row : kBackends) {
    if (row.name != (kHasDevices ? family_of(name) : name)) continue;
    if constexpr (!kHasDevices) return row.make(options);
    BackendOptions own = options;
    if (row.name == "cuda" && name.find('.') != name.npos)
      own.isa = name.substr(row.name.size() + 1);  // a compute capability to compile for
    else
      own.device = device_number(name);
    if (own.device > 0 && !row.devices)
      throw InvalidArgument("the backend {} has one device, number {} was asked for", row.name, own.device);
    return row.make(own);
  }
  MakeBackend make;
  {
    const std::lock_guard lock(added().mutex);
    for (const auto& row : added().rows)
      if (row.first == name) make = row.second;
  }
  if (make) return make(options);
  throw InvalidArgument("there is no backend \"{}\"; this build has {}", name, backend_names());
}

BackendOptions backend_options(const SessionOptions& options) {
  if (!options.power.empty()) return backend_options(resolved(options));
  BackendOptions made;
  if (options.threads < 0) throw InvalidArgument("threads is {}; it is a number of threads, or 0 for all cores", options.threads);
  if (!(options.time_limit >= 0))
    throw InvalidArgument("time_limit is {}; it is a number of seconds, or 0 for no limit", options.time_limit);
  // More threads than cores would only take turns.
  const int cores = os::available_cores();
  made.threads = options.threads > 0 ? std::min(options.threads, cores) : cores;
  if (options.memory != "normal" && options.memory != "low")
    throw InvalidArgument("memory is \"{}\", it should be normal or low", options.memory);
  made.low_memory = options.memory == "low";
  if (options.precision == "high")
    made.precision = Precision::high;
  else if (options.precision == "tf32")
    made.precision = Precision::tf32;
  else if (options.precision == "low")
    made.precision = Precision::low;
  else if (options.precision != "normal")
    throw InvalidArgument("precision is \"{}\", it should be high, normal, tf32 or low", options.precision);
  made.isa = options.isa;
  made.kernel_cache = options.kernel_cache;
  return made;
}

std::vector<std::shared_ptr<Backend>> make_backends(const SessionOptions& options, const BackendOptions& for_backends, size_t& wanted) {
  std::vector<std::shared_ptr<Backend>> made;
  for (const std::string& name : resolved_names(options.backends)) try {
      made.push_back(make_backend(name, for_backends));
    } catch (const Unsupported& error) {
      if (!options.fallback) throw;
      log("{}; the session does without it", error.what());
    }
  if (made.empty() && !options.backends.empty()) made.push_back(make_cpu_backend(for_backends));
  wanted = made.size();
  // The processor computes what a device cannot.
  if (!made.empty() && !made.back()->uses_host_memory()) made.push_back(make_cpu_backend(for_backends));
  if (made.empty() || !made.back()->is_fallback()) made.push_back(make_reference_backend(for_backends));
  if (for_backends.threads > 1) ThreadPool::process().reserve(for_backends.threads);
  place_threads(resolved(options));
  return made;
}

}  // namespace minnow

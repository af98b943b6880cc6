// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/vulkan/api.h"

#include "base/error.h"
#include "base/format.h"

namespace minnow::gpu::vulkan {
namespace {

struct Loaded {
  Api api;
  std::string problem;

  Loaded() {
    for (const char* name : {"libvulkan.so.1", "libvulkan.so", "libMoltenVK.dylib"}) try {
        api.library = std::make_unique<os::SharedLibrary>(name);
        break;
      } catch (const Error&) {}
    if (!api.library) {
      problem = "the loader of Vulkan (libvulkan.so.1) is not installed";
      return;
    }
    const auto get = reinterpret_cast<void* (*)(Handle, const char*)>(api.library->symbol("vkGetInstanceProcAddr"));
    if (!get) {
      problem = "libvulkan has no function vkGetInstanceProcAddr";
      return;
    }
#define MINNOW_LOAD(function, result, parameters)                                        \
  api.function = reinterpret_cast<decltype(api.function)>(get(api.instance, #function)); \
  if (!api.function && problem.empty()) problem = "libvulkan has no function " #function;
    MINNOW_VULKAN_GLOBAL(MINNOW_LOAD)
    if (!problem.empty()) {
      problem = "the loader of Vulkan is older than version 1.1";
      return;
    }
    api.vkEnumerateInstanceVersion(&api.version);
    if (api.version < version_of(1, 1)) {
      problem = "the loader of Vulkan is older than version 1.1";
      return;
    }
    ApplicationInfo application;
    application.application = application.engine = "minnow";
    application.api_version = api.version < version_of(1, 2) ? version_of(1, 1) : version_of(1, 2);
    InstanceInfo info;
    info.application = &application;
    if (const Result result = api.vkCreateInstance(&info, nullptr, &api.instance); result != kSuccess) {
      problem = result == -9 ? "no driver offers a device" : format("the loader of Vulkan does not start: error {}", result);
      return;
    }
    MINNOW_VULKAN_INSTANCE(MINNOW_LOAD)
#undef MINNOW_LOAD
  }
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const Loaded& loaded = *new Loaded;  // never closed: drivers run code when the process ends
  problem = loaded.problem;
  return loaded.problem.empty() ? &loaded.api : nullptr;
}

bool load_device_api(const Api& api, Handle device, DeviceApi& functions) {
  bool complete = true;
#define MINNOW_LOAD(function, result, parameters)                                                                  \
  functions.function = reinterpret_cast<decltype(functions.function)>(api.vkGetDeviceProcAddr(device, #function)); \
  complete = complete && functions.function;
  MINNOW_VULKAN_DEVICE(MINNOW_LOAD)
#undef MINNOW_LOAD
  return complete;
}

}  // namespace minnow::gpu::vulkan

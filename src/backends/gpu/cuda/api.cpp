// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/cuda/api.h"

#include <cstdlib>

#include "base/error.h"
#include "base/format.h"

namespace minnow::gpu::cuda {
namespace {

std::unique_ptr<os::SharedLibrary> open(std::initializer_list<const char*> names) {
  for (const char* name : names) try {
      if (name) return std::make_unique<os::SharedLibrary>(name);
    } catch (const Error&) {}
  return nullptr;
}

struct Loaded {
  Api api;
  std::string problem;

  Loaded() {
    api.driver = open({"libcuda.so.1"});
    if (!api.driver) {
      problem = "NVIDIA's driver (libcuda.so.1) is not installed";
      return;
    }
    api.compiler = open({std::getenv("MINNOW_NVRTC"), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"});
    if (!api.compiler) {
      problem = "NVRTC (libnvrtc.so.12) is not found; PyPI's nvidia-cuda-nvrtc has it, and MINNOW_NVRTC may name the file";
      return;
    }
#define MINNOW_LOAD(library, function) load(*api.library, api.function, #function)
    MINNOW_LOAD(driver, cuInit);
    MINNOW_LOAD(driver, cuDriverGetVersion);
    MINNOW_LOAD(driver, cuDeviceGetCount);
    MINNOW_LOAD(driver, cuDeviceGet);
    MINNOW_LOAD(driver, cuDeviceGetName);
    MINNOW_LOAD(driver, cuDeviceGetAttribute);
    MINNOW_LOAD(driver, cuDeviceTotalMem_v2);
    MINNOW_LOAD(driver, cuDevicePrimaryCtxRetain);
    MINNOW_LOAD(driver, cuCtxSetCurrent);
    MINNOW_LOAD(driver, cuMemAlloc_v2);
    MINNOW_LOAD(driver, cuMemFree_v2);
    MINNOW_LOAD(driver, cuMemHostAlloc);
    MINNOW_LOAD(driver, cuMemFreeHost);
    MINNOW_LOAD(driver, cuMemcpyHtoDAsync_v2);
    MINNOW_LOAD(driver, cuMemcpyDtoHAsync_v2);
    MINNOW_LOAD(driver, cuModuleLoadData);
    MINNOW_LOAD(driver, cuModuleGetFunction);
    MINNOW_LOAD(driver, cuFuncSetAttribute);
    MINNOW_LOAD(driver, cuLaunchKernel);
    MINNOW_LOAD(driver, cuStreamCreate);
    MINNOW_LOAD(driver, cuStreamDestroy_v2);
    MINNOW_LOAD(driver, cuStreamSynchronize);
    MINNOW_LOAD(driver, cuStreamBeginCapture_v2);
    MINNOW_LOAD(driver, cuStreamEndCapture);
    MINNOW_LOAD(driver, cuGraphInstantiateWithFlags);
    MINNOW_LOAD(driver, cuGraphLaunch);
    MINNOW_LOAD(driver, cuGraphDestroy);
    MINNOW_LOAD(driver, cuGraphExecDestroy);
    MINNOW_LOAD(driver, cuGetErrorString);
    MINNOW_LOAD(compiler, nvrtcCreateProgram);
    MINNOW_LOAD(compiler, nvrtcCompileProgram);
    MINNOW_LOAD(compiler, nvrtcGetCUBINSize);
    MINNOW_LOAD(compiler, nvrtcGetCUBIN);
    MINNOW_LOAD(compiler, nvrtcGetProgramLogSize);
    MINNOW_LOAD(compiler, nvrtcGetProgramLog);
    MINNOW_LOAD(compiler, nvrtcDestroyProgram);
#undef MINNOW_LOAD
  }

  template <class F>
  void load(os::SharedLibrary& library, F& function, const char* name) {
    function = reinterpret_cast<F>(library.symbol(name));
    if (!function && problem.empty()) problem = format("the driver has no function {}", name);
  }
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const Loaded loaded;
  problem = loaded.problem;
  return loaded.problem.empty() ? &loaded.api : nullptr;
}

}  // namespace minnow::gpu::cuda

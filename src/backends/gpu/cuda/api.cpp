// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/cuda/api.h"

#include <cstdlib>

#include "backends/gpu/loader.h"

namespace minnow::gpu::cuda {
namespace {

constexpr Symbol kDriver[] = {
    {"cuInit", offsetof(DriverFunctions, cuInit)},
    {"cuDriverGetVersion", offsetof(DriverFunctions, cuDriverGetVersion)},
    {"cuDeviceGetCount", offsetof(DriverFunctions, cuDeviceGetCount)},
    {"cuDeviceGet", offsetof(DriverFunctions, cuDeviceGet)},
    {"cuDeviceGetName", offsetof(DriverFunctions, cuDeviceGetName)},
    {"cuDeviceGetAttribute", offsetof(DriverFunctions, cuDeviceGetAttribute)},
    {"cuDeviceTotalMem_v2", offsetof(DriverFunctions, cuDeviceTotalMem_v2)},
    {"cuDevicePrimaryCtxRetain", offsetof(DriverFunctions, cuDevicePrimaryCtxRetain)},
    {"cuCtxSetCurrent", offsetof(DriverFunctions, cuCtxSetCurrent)},
    {"cuMemAlloc_v2", offsetof(DriverFunctions, cuMemAlloc_v2)},
    {"cuMemFree_v2", offsetof(DriverFunctions, cuMemFree_v2)},
    {"cuMemHostAlloc", offsetof(DriverFunctions, cuMemHostAlloc)},
    {"cuMemFreeHost", offsetof(DriverFunctions, cuMemFreeHost)},
    {"cuMemcpyHtoDAsync_v2", offsetof(DriverFunctions, cuMemcpyHtoDAsync_v2)},
    {"cuMemcpyDtoHAsync_v2", offsetof(DriverFunctions, cuMemcpyDtoHAsync_v2)},
    {"cuModuleLoadData", offsetof(DriverFunctions, cuModuleLoadData)},
    {"cuModuleGetFunction", offsetof(DriverFunctions, cuModuleGetFunction)},
    {"cuFuncSetAttribute", offsetof(DriverFunctions, cuFuncSetAttribute)},
    {"cuLaunchKernel", offsetof(DriverFunctions, cuLaunchKernel)},
    {"cuStreamCreate", offsetof(DriverFunctions, cuStreamCreate)},
    {"cuStreamDestroy_v2", offsetof(DriverFunctions, cuStreamDestroy_v2)},
    {"cuStreamSynchronize", offsetof(DriverFunctions, cuStreamSynchronize)},
    {"cuStreamBeginCapture_v2", offsetof(DriverFunctions, cuStreamBeginCapture_v2)},
    {"cuStreamEndCapture", offsetof(DriverFunctions, cuStreamEndCapture)},
    {"cuGraphInstantiateWithFlags", offsetof(DriverFunctions, cuGraphInstantiateWithFlags)},
    {"cuGraphLaunch", offsetof(DriverFunctions, cuGraphLaunch)},
    {"cuGraphDestroy", offsetof(DriverFunctions, cuGraphDestroy)},
    {"cuGraphExecDestroy", offsetof(DriverFunctions, cuGraphExecDestroy)},
    {"cuEventCreate", offsetof(DriverFunctions, cuEventCreate)},
    {"cuEventDestroy_v2", offsetof(DriverFunctions, cuEventDestroy_v2)},
    {"cuEventRecord", offsetof(DriverFunctions, cuEventRecord)},
    {"cuEventElapsedTime", offsetof(DriverFunctions, cuEventElapsedTime)},
    {"cuGetErrorString", offsetof(DriverFunctions, cuGetErrorString)},
};
constexpr Symbol kCompiler[] = {
    {"nvrtcCreateProgram", offsetof(CompilerFunctions, nvrtcCreateProgram)},
    {"nvrtcCompileProgram", offsetof(CompilerFunctions, nvrtcCompileProgram)},
    {"nvrtcGetCUBINSize", offsetof(CompilerFunctions, nvrtcGetCUBINSize)},
    {"nvrtcGetCUBIN", offsetof(CompilerFunctions, nvrtcGetCUBIN)},
    {"nvrtcGetPTXSize", offsetof(CompilerFunctions, nvrtcGetPTXSize)},
    {"nvrtcGetPTX", offsetof(CompilerFunctions, nvrtcGetPTX)},
    {"nvrtcGetProgramLogSize", offsetof(CompilerFunctions, nvrtcGetProgramLogSize)},
    {"nvrtcGetProgramLog", offsetof(CompilerFunctions, nvrtcGetProgramLog)},
    {"nvrtcDestroyProgram", offsetof(CompilerFunctions, nvrtcDestroyProgram)},
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const LoadedOnce<Api, DriverFunctions>& once = *[] {
    auto* const loaded =
        new LoadedOnce<Api, DriverFunctions>(open_first("libcuda.so.1"), kDriver, "NVIDIA's driver (libcuda.so.1) is not installed");
    if (loaded->api.library) {
      loaded->api.cuTensorMapEncodeTiled = reinterpret_cast<EncodeTiled>(loaded->api.library->symbol("cuTensorMapEncodeTiled"));
      loaded->api.cuLaunchKernelEx = reinterpret_cast<LaunchEx>(loaded->api.library->symbol("cuLaunchKernelEx"));
    }
    return loaded;
  }();
  return once.get(problem);
}

const CompilerApi* load_compiler(std::string& problem) {
  static const LoadedOnce<CompilerApi, CompilerFunctions>& once = *[] {
    const char* const named = std::getenv("MINNOW_NVRTC");
    auto* const loaded = new LoadedOnce<CompilerApi, CompilerFunctions>(
        open_first(named && *named ? named : nullptr, "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"), kCompiler,
        "NVRTC (libnvrtc.so.12) is not found; PyPI's nvidia-cuda-nvrtc has it, and MINNOW_NVRTC may name the file");
    if (const auto& library = loaded->api.library) {
      loaded->api.nvrtcGetNumSupportedArchs = reinterpret_cast<Result (*)(int*)>(library->symbol("nvrtcGetNumSupportedArchs"));
      loaded->api.nvrtcGetSupportedArchs = reinterpret_cast<Result (*)(int*)>(library->symbol("nvrtcGetSupportedArchs"));
    }
    return loaded;
  }();
  return once.get(problem);
}

}  // namespace minnow::gpu::cuda

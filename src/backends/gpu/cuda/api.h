// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver and of NVRTC that the backend calls, by NVIDIA's documentation. Both libraries are loaded at run time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/os.h"

namespace minnow::gpu::cuda {

using Handle = struct Opaque*;  // CUcontext, CUmodule, CUfunction, CUstream, CUgraph, nvrtcProgram ...
using Address = unsigned long long;
using Result = int;

inline constexpr int kMaxThreads = 1, kClockRate = 13, kMultiprocessors = 16, kMemoryClock = 36, kBusWidth = 37, kMajor = 75, kMinor = 76;
inline constexpr int kMostSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr int kTypeU16 = 1, kSwizzle128 = 3, kPromote256 = 3;  // CU_TENSOR_MAP_DATA_TYPE_UINT16 and others

struct DriverFunctions {
  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int*);
  Result (*cuDeviceGetCount)(int*);
  Result (*cuDeviceGet)(int*, int);
  Result (*cuDeviceGetName)(char*, int, int);
  Result (*cuDeviceGetAttribute)(int*, int, int);
  Result (*cuDeviceTotalMem_v2)(size_t*, int);
  Result (*cuDevicePrimaryCtxRetain)(Handle*, int);
  Result (*cuCtxSetCurrent)(Handle);
  Result (*cuMemAlloc_v2)(Address*, size_t);
  Result (*cuMemFree_v2)(Address);
  Result (*cuMemHostAlloc)(void**, size_t, unsigned);
  Result (*cuMemFreeHost)(void*);
  Result (*cuMemcpyHtoDAsync_v2)(Address, const void*, size_t, Handle);
  Result (*cuMemcpyDtoHAsync_v2)(void*, Address, size_t, Handle);
  Result (*cuModuleLoadData)(Handle*, const void*);
  Result (*cuModuleGetFunction)(Handle*, Handle, const char*);
  Result (*cuFuncSetAttribute)(Handle, int, int);
  Result (*cuLaunchKernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**);
  Result (*cuStreamCreate)(Handle*, unsigned);
  Result (*cuStreamDestroy_v2)(Handle);
  Result (*cuStreamSynchronize)(Handle);
  Result (*cuStreamBeginCapture_v2)(Handle, int);
  Result (*cuStreamEndCapture)(Handle, Handle*);
  Result (*cuGraphInstantiateWithFlags)(Handle*, Handle, unsigned long long);
  Result (*cuGraphLaunch)(Handle, Handle);
  Result (*cuGraphDestroy)(Handle);
  Result (*cuGraphExecDestroy)(Handle);
  Result (*cuEventCreate)(Handle*, unsigned);
  Result (*cuEventDestroy_v2)(Handle);
  Result (*cuEventRecord)(Handle, Handle);
  Result (*cuEventElapsedTime)(float*, Handle, Handle);
  Result (*cuGetErrorString)(Result, const char**);
};

/// CUlaunchConfig and CUlaunchAttribute.
struct LaunchAttribute {
  int id;
  alignas(8) char value[64];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
inline constexpr int kProgrammaticSerialization = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

/// Drivers since CUDA 12 have these; they are null in older ones.
using LaunchEx = Result (*)(const LaunchConfig* config, Handle function, void** parameters, void** extra);
using EncodeTiled = Result (*)(void* map, int type, uint32_t rank, void* address, const uint64_t* sizes, const uint64_t* steps,
                               const uint32_t* box, const uint32_t* element_steps, int interleave, int swizzle, int promotion, int fill);

struct CompilerFunctions {
  Result (*nvrtcCreateProgram)(Handle*, const char*, const char*, int, const char* const*, const char* const*);
  Result (*nvrtcCompileProgram)(Handle, int, const char* const*);
  Result (*nvrtcGetCUBINSize)(Handle, size_t*);
  Result (*nvrtcGetCUBIN)(Handle, char*);
  Result (*nvrtcGetPTXSize)(Handle, size_t*);
  Result (*nvrtcGetPTX)(Handle, char*);
  Result (*nvrtcGetProgramLogSize)(Handle, size_t*);
  Result (*nvrtcGetProgramLog)(Handle, char*);
  Result (*nvrtcDestroyProgram)(Handle*);
};

struct Api : DriverFunctions {
  std::unique_ptr<os::SharedLibrary> library;
  EncodeTiled cuTensorMapEncodeTiled = nullptr;
  LaunchEx cuLaunchKernelEx = nullptr;
};
/// Null, and the reason, where the driver or one of its functions is missing.
const Api* load_api(std::string& problem);

struct CompilerApi : CompilerFunctions {
  std::unique_ptr<os::SharedLibrary> library;
  // Null before CUDA 11.2.
  Result (*nvrtcGetNumSupportedArchs)(int*) = nullptr;
  Result (*nvrtcGetSupportedArchs)(int*) = nullptr;
};
/// NVRTC; null, and the reason, where it is missing. MINNOW_NVRTC names its library where it is not found. It is loaded at the first call:
/// with a file of compiled kernels, a process may do without.
const CompilerApi* load_compiler(std::string& problem);

}  // namespace minnow::gpu::cuda

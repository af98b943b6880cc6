// SPDX-License-Identifier: Apache-2.0
// The functions of OpenCL 1.2 that the driver calls, by the Khronos specification. The library is loaded at run time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/os.h"

namespace minnow::gpu::opencl {

using Handle = struct Opaque*;  // cl_platform_id, cl_device_id, cl_context, ...
using Int = int32_t;
using UInt = uint32_t;

inline constexpr uint64_t kDeviceTypeAll = 0xFFFFFFFF, kDeviceTypeGpu = 1 << 2;
inline constexpr UInt kDeviceType = 0x1000, kMaxComputeUnits = 0x1002, kMaxWorkGroupSize = 0x1004, kMaxClockFrequency = 0x100C,
                      kGlobalMemSize = 0x101F, kLocalMemSize = 0x1023, kDeviceName = 0x102B, kDriverVersion = 0x102D,
                      kDeviceVersion = 0x102F, kExtensions = 0x1030, kHostUnifiedMemory = 0x1035, kPlatformName = 0x0902,
                      kProgramBinarySizes = 0x1165, kProgramBinaries = 0x1166, kProgramBuildLog = 0x1183, kProfilingEnd = 0x1283,
                      kMemSize = 0x1102;
inline constexpr uint64_t kMemReadWrite = 1, kQueueProfiling = 2;

struct Functions {
  Int (*clGetPlatformIDs)(UInt, Handle*, UInt*);
  Int (*clGetPlatformInfo)(Handle, UInt, size_t, void*, size_t*);
  Int (*clGetDeviceIDs)(Handle, uint64_t, UInt, Handle*, UInt*);
  Int (*clGetDeviceInfo)(Handle, UInt, size_t, void*, size_t*);
  Handle (*clCreateContext)(const intptr_t*, UInt, const Handle*, void (*)(const char*, const void*, size_t, void*), void*, Int*);
  Handle (*clCreateCommandQueue)(Handle, Handle, uint64_t, Int*);
  Handle (*clCreateBuffer)(Handle, uint64_t, size_t, void*, Int*);
  Handle (*clCreateProgramWithSource)(Handle, UInt, const char**, const size_t*, Int*);
  Handle (*clCreateProgramWithBinary)(Handle, UInt, const Handle*, const size_t*, const unsigned char**, Int*, Int*);
  Int (*clBuildProgram)(Handle, UInt, const Handle*, const char*, void (*)(Handle, void*), void*);
  Int (*clGetProgramInfo)(Handle, UInt, size_t, void*, size_t*);
  Int (*clGetProgramBuildInfo)(Handle, Handle, UInt, size_t, void*, size_t*);
  Handle (*clCreateKernel)(Handle, const char*, Int*);
  Int (*clSetKernelArg)(Handle, UInt, size_t, const void*);
  Int (*clEnqueueNDRangeKernel)(Handle, Handle, UInt, const size_t*, const size_t*, const size_t*, UInt, const Handle*, Handle*);
  Int (*clEnqueueWriteBuffer)(Handle, Handle, UInt, size_t, size_t, const void*, UInt, const Handle*, Handle*);
  Int (*clEnqueueReadBuffer)(Handle, Handle, UInt, size_t, size_t, void*, UInt, const Handle*, Handle*);
  Int (*clEnqueueMarkerWithWaitList)(Handle, UInt, const Handle*, Handle*);
  Int (*clGetEventProfilingInfo)(Handle, UInt, size_t, void*, size_t*);
  Int (*clReleaseEvent)(Handle);
  Int (*clFlush)(Handle);
  Int (*clFinish)(Handle);
  Int (*clGetMemObjectInfo)(Handle, UInt, size_t, void*, size_t*);
  Int (*clRetainMemObject)(Handle);
  Int (*clReleaseMemObject)(Handle);
  Int (*clReleaseKernel)(Handle);
  Int (*clReleaseProgram)(Handle);
  Int (*clReleaseCommandQueue)(Handle);
};

struct Api : Functions {
  std::unique_ptr<os::SharedLibrary> library;
  void* (*clGetExtensionFunctionAddressForPlatform)(Handle, const char*) = nullptr;  // null: not there
  Int (*clRetainCommandQueue)(Handle) = nullptr;
};

/// The extension cl_khr_command_buffer: launches that are recorded once, with their arguments. Each platform has functions of its own.
struct CommandBuffers {
  Handle (*create)(UInt, const Handle*, const uint64_t*, Int*);
  Int (*add_kernel)(Handle, Handle, const uint64_t*, Handle, UInt, const size_t*, const size_t*, const size_t*, UInt, const UInt*, UInt*,
                    Handle*);
  Int (*finalize)(Handle);
  Int (*enqueue)(UInt, Handle*, Handle, UInt, const Handle*, Handle*);
  Int (*release)(Handle);
};
inline constexpr UInt kCommandBufferCapabilities = 0x12A9, kCommandBufferRequiredQueue = 0x12AA, kCommandBufferFlags = 0x1293;
inline constexpr uint64_t kSimultaneousUse = 4;      // among the capabilities
inline constexpr uint64_t kSimultaneousUseFlag = 1;  // of a command buffer

/// Null, and the reason, where the library or a function is missing.
const Api* load_api(std::string& problem);

}  // namespace minnow::gpu::opencl

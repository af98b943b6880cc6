// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/opencl/api.h"

#include "backends/gpu/loader.h"

namespace minnow::gpu::opencl {
namespace {

constexpr Symbol kSymbols[] = {
    {"clGetPlatformIDs", offsetof(Functions, clGetPlatformIDs)},
    {"clGetPlatformInfo", offsetof(Functions, clGetPlatformInfo)},
    {"clGetDeviceIDs", offsetof(Functions, clGetDeviceIDs)},
    {"clGetDeviceInfo", offsetof(Functions, clGetDeviceInfo)},
    {"clCreateContext", offsetof(Functions, clCreateContext)},
    {"clCreateCommandQueue", offsetof(Functions, clCreateCommandQueue)},
    {"clCreateBuffer", offsetof(Functions, clCreateBuffer)},
    {"clCreateProgramWithSource", offsetof(Functions, clCreateProgramWithSource)},
    {"clCreateProgramWithBinary", offsetof(Functions, clCreateProgramWithBinary)},
    {"clBuildProgram", offsetof(Functions, clBuildProgram)},
    {"clGetProgramInfo", offsetof(Functions, clGetProgramInfo)},
    {"clGetProgramBuildInfo", offsetof(Functions, clGetProgramBuildInfo)},
    {"clCreateKernel", offsetof(Functions, clCreateKernel)},
    {"clSetKernelArg", offsetof(Functions, clSetKernelArg)},
    {"clEnqueueNDRangeKernel", offsetof(Functions, clEnqueueNDRangeKernel)},
    {"clEnqueueWriteBuffer", offsetof(Functions, clEnqueueWriteBuffer)},
    {"clEnqueueReadBuffer", offsetof(Functions, clEnqueueReadBuffer)},
    {"clEnqueueMarkerWithWaitList", offsetof(Functions, clEnqueueMarkerWithWaitList)},
    {"clGetEventProfilingInfo", offsetof(Functions, clGetEventProfilingInfo)},
    {"clReleaseEvent", offsetof(Functions, clReleaseEvent)},
    {"clFlush", offsetof(Functions, clFlush)},
    {"clFinish", offsetof(Functions, clFinish)},
    {"clGetMemObjectInfo", offsetof(Functions, clGetMemObjectInfo)},
    {"clRetainMemObject", offsetof(Functions, clRetainMemObject)},
    {"clReleaseMemObject", offsetof(Functions, clReleaseMemObject)},
    {"clReleaseKernel", offsetof(Functions, clReleaseKernel)},
    {"clReleaseProgram", offsetof(Functions, clReleaseProgram)},
    {"clReleaseCommandQueue", offsetof(Functions, clReleaseCommandQueue)},
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const LoadedOnce<Api, Functions>& once = *[] {
    auto* const loaded =
        new LoadedOnce<Api, Functions>(open_first("libOpenCL.so.1", "libOpenCL.so"), kSymbols, "libOpenCL.so.1 is not installed");
    Api& api = loaded->api;
    if (!api.library) return loaded;
    api.clGetExtensionFunctionAddressForPlatform =
        reinterpret_cast<void* (*)(Handle, const char*)>(api.library->symbol("clGetExtensionFunctionAddressForPlatform"));
    api.clRetainCommandQueue = reinterpret_cast<Int (*)(Handle)>(api.library->symbol("clRetainCommandQueue"));
    return loaded;
  }();
  return once.get(problem);
}

}  // namespace minnow::gpu::opencl

// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/opencl/api.h"

#include <string>

#include "base/error.h"
#include "base/format.h"

namespace minnow::gpu::opencl {
namespace {

struct Loaded {
  Api api;
  std::string problem;

  Loaded() {
    for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"}) try {
        api.library = std::make_unique<os::SharedLibrary>(name);
        break;
      } catch (const Error&) {}
    if (!api.library) {
      problem = "libOpenCL.so.1 is not installed";
      return;
    }
#define MINNOW_LOAD(function) load(api.function, #function)
    MINNOW_LOAD(clGetPlatformIDs);
    MINNOW_LOAD(clGetPlatformInfo);
    MINNOW_LOAD(clGetDeviceIDs);
    MINNOW_LOAD(clGetDeviceInfo);
    MINNOW_LOAD(clCreateContext);
    MINNOW_LOAD(clCreateCommandQueue);
    MINNOW_LOAD(clCreateBuffer);
    MINNOW_LOAD(clCreateProgramWithSource);
    MINNOW_LOAD(clBuildProgram);
    MINNOW_LOAD(clGetProgramBuildInfo);
    MINNOW_LOAD(clCreateKernel);
    MINNOW_LOAD(clSetKernelArg);
    MINNOW_LOAD(clEnqueueNDRangeKernel);
    MINNOW_LOAD(clEnqueueWriteBuffer);
    MINNOW_LOAD(clEnqueueReadBuffer);
    MINNOW_LOAD(clFlush);
    MINNOW_LOAD(clFinish);
    MINNOW_LOAD(clReleaseMemObject);
    MINNOW_LOAD(clReleaseKernel);
    MINNOW_LOAD(clReleaseProgram);
    MINNOW_LOAD(clReleaseCommandQueue);
#undef MINNOW_LOAD
  }

  template <class F>
  void load(F& function, const char* name) {
    function = reinterpret_cast<F>(api.library->symbol(name));
    if (!function && problem.empty()) problem = format("libOpenCL has no function {}", name);
  }
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const Loaded loaded;
  problem = loaded.problem;
  return loaded.problem.empty() ? &loaded.api : nullptr;
}

}  // namespace minnow::gpu::opencl

// SPDX-License-Identifier: Apache-2.0
// A stand-in for OpenCL's library, libOpenCL.so.1, whose memory is the host's and whose kernels do nothing. It keeps the kernels that plans
// ask for: each one becomes a file of the folder that the variable MINNOW_STUB_FOLDER names, with its name and the items of a group in the
// first line, "//! name x y z", so that tests compile them (shaders/kernels_test.py).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unordered_set>

#include "backends/gpu/dialect.h"

namespace {

using Handle = void*;
using Int = int32_t;
using UInt = uint32_t;

int something;

struct Kernel {
  const std::string* source;
  std::string name;
};

Int give(const void* value, size_t size, size_t room, void* to, size_t* bytes) {
  if (bytes) *bytes = size;
  if (to) std::memcpy(to, value, size < room ? size : room);
  return 0;
}

}  // namespace

extern "C" {
Int clGetPlatformIDs(UInt, Handle* platforms, UInt* count) {
  if (platforms) *platforms = &something;
  if (count) *count = 1;
  return 0;
}
Int clGetPlatformInfo(Handle, UInt, size_t room, void* to, size_t* bytes) { return give("stand-in", 9, room, to, bytes); }
Int clGetDeviceIDs(Handle, uint64_t, UInt, Handle* devices, UInt* count) {
  if (devices) *devices = &something;
  if (count) *count = 1;
  return 0;
}
Int clGetDeviceInfo(Handle, UInt what, size_t room, void* to, size_t* bytes) {
  constexpr UInt kName = 0x102B, kVersion = 0x102F;
  if (what == kName || what == kVersion) return give("stand-in", 9, room, to, bytes);
  const uint64_t number = 1000;
  return give(&number, sizeof number, room, to, bytes);
}
Handle clCreateContext(const intptr_t*, UInt, const Handle*, void (*)(const char*, const void*, size_t, void*), void*, Int*) {
  return &something;
}
Handle clCreateCommandQueue(Handle, Handle, uint64_t, Int*) { return &something; }
Handle clCreateBuffer(Handle, uint64_t, size_t bytes, void*, Int*) { return std::calloc(1, bytes); }
Handle clCreateProgramWithSource(Handle, UInt, const char** texts, const size_t*, Int*) {
  return new std::string(texts[0] + minnow::gpu::kOpenClPrefix.size() + minnow::gpu::kCommonPrefix.size());
}
Int clBuildProgram(Handle, UInt, const Handle*, const char*, void (*)(Handle, void*), void*) { return 0; }
Int clGetProgramBuildInfo(Handle, Handle, UInt, size_t, void*, size_t* bytes) { return *bytes = 0, 0; }
Handle clCreateKernel(Handle program, const char* name, Int*) { return new Kernel{static_cast<const std::string*>(program), name}; }
Int clSetKernelArg(Handle, UInt, size_t, const void*) { return 0; }
Int clEnqueueNDRangeKernel(Handle, Handle handle, UInt, const size_t*, const size_t*, const size_t* group, UInt, const Handle*, Handle*) {
  static std::unordered_set<std::string>& known = *new std::unordered_set<std::string>;
  const Kernel& kernel = *static_cast<const Kernel*>(handle);
  const std::string text = "//! " + kernel.name + " " + std::to_string(group[0]) + " " + std::to_string(group[1]) + " " +
                           std::to_string(group[2]) + "\n" + *kernel.source;
  const char* folder = std::getenv("MINNOW_STUB_FOLDER");
  if (!folder || !known.insert(text).second) return 0;
  std::ofstream(std::string(folder) + "/" + std::to_string(std::hash<std::string>()(text)) + ".kernel") << text;
  return 0;
}
Int clEnqueueWriteBuffer(Handle, Handle buffer, UInt, size_t offset, size_t bytes, const void* from, UInt, const Handle*, Handle*) {
  return std::memcpy(static_cast<char*>(buffer) + offset, from, bytes), 0;
}
Int clEnqueueReadBuffer(Handle, Handle buffer, UInt, size_t offset, size_t bytes, void* to, UInt, const Handle*, Handle*) {
  return std::memcpy(to, static_cast<const char*>(buffer) + offset, bytes), 0;
}
Int clFlush(Handle) { return 0; }
Int clFinish(Handle) { return 0; }
Int clReleaseMemObject(Handle buffer) { return std::free(buffer), 0; }
Int clReleaseKernel(Handle kernel) { return delete static_cast<Kernel*>(kernel), 0; }
Int clReleaseProgram(Handle) { return 0; }
Int clReleaseCommandQueue(Handle) { return 0; }
// No binaries, time stamps or memory of others.
Handle clCreateProgramWithBinary(Handle, UInt, const Handle*, const size_t*, const unsigned char**, Int*, Int* status) {
  return *status = -44, nullptr;
}
Int clGetProgramInfo(Handle, UInt, size_t, void*, size_t*) { return -30; }
Int clEnqueueMarkerWithWaitList(Handle, UInt, const Handle*, Handle*) { return -30; }
Int clGetEventProfilingInfo(Handle, UInt, size_t, void*, size_t*) { return -7; }
Int clReleaseEvent(Handle) { return 0; }
Int clGetMemObjectInfo(Handle, UInt, size_t, void*, size_t*) { return -30; }
Int clRetainMemObject(Handle) { return 0; }
}

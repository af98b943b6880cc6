// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUDA's driver, libcuda.so.1, on machines without one: its memory is the host's, kernels are loaded and do nothing. So
// NVRTC compiles what plans ask for (conformance_tests --backend cuda --compile). The variable MINNOW_STUB_CAPABILITY is the device's
// compute capability, as in 90, and MINNOW_STUB_DEVICES the number of devices.
#include <cstdint>
#include <cstdlib>
#include <cstring>

using Handle = void*;
using Address = unsigned long long;
using Result = int;

namespace {
int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}
int capability() { return number("MINNOW_STUB_CAPABILITY", 80); }
int something;
}  // namespace

extern "C" {
Result cuInit(unsigned) { return 0; }
Result cuGetExportTable(const void** table, const void*) { return *table = nullptr, 500; }  // NVRTC asks; not found
Result cuDriverGetVersion(int* version) { return *version = 13000, 0; }
Result cuDeviceGetCount(int* count) { return *count = number("MINNOW_STUB_DEVICES", 1), 0; }
Result cuDeviceGet(int* device, int) { return *device = 0, 0; }
Result cuDeviceGetName(char* name, int size, int) { return std::strncpy(name, "stand-in", static_cast<size_t>(size)), 0; }
Result cuDeviceGetAttribute(int* value, int which, int) {
  constexpr int kMajor = 75, kMinor = 76, kSharedPerBlock = 97;
  *value = which == kMajor ? capability() / 10 : which == kMinor ? capability() % 10 : which == kSharedPerBlock ? 101376 : 128;
  return 0;
}
Result cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{1} << 30, 0; }
Result cuDevicePrimaryCtxRetain(Handle* context, int) { return *context = &something, 0; }
Result cuCtxSetCurrent(Handle) { return 0; }
Result cuMemAlloc_v2(Address* address, size_t bytes) {
  constexpr size_t kAlignment = 256;  // as CUDA has it
  void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory) std::memset(memory, 0, bytes);
  *address = reinterpret_cast<Address>(memory);
  return memory ? 0 : 2;
}
Result cuMemFree_v2(Address address) { return std::free(reinterpret_cast<void*>(address)), 0; }
Result cuMemHostAlloc(void** memory, size_t bytes, unsigned) { return (*memory = std::calloc(1, bytes)) ? 0 : 2; }
Result cuMemFreeHost(void* memory) { return std::free(memory), 0; }
Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Handle) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Handle) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Handle) {
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes), 0;
}
Result cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Handle) {
  return std::memset(reinterpret_cast<void*>(to), value, bytes), 0;
}
Result cuTensorMapEncodeTiled(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int,
                              int, int) {
  return 0;
}
Result cuModuleLoadData(Handle* module, const void*) { return *module = &something, 0; }
Result cuModuleGetFunction(Handle* function, Handle, const char*) { return *function = &something, 0; }
Result cuFuncSetAttribute(Handle, int, int) { return 0; }
Result cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**) { return 0; }
Result cuLaunchKernelEx(const void*, Handle, void**, void**) { return 0; }
Result cuStreamCreate(Handle* stream, unsigned) { return *stream = &something, 0; }
Result cuStreamDestroy_v2(Handle) { return 0; }
Result cuStreamSynchronize(Handle) { return 0; }
Result cuStreamBeginCapture_v2(Handle, int) { return 0; }
Result cuStreamEndCapture(Handle, Handle* graph) { return *graph = &something, 0; }
Result cuGraphInstantiateWithFlags(Handle* exec, Handle, unsigned long long) { return *exec = &something, 0; }
Result cuGraphLaunch(Handle, Handle) { return 0; }
Result cuGraphDestroy(Handle) { return 0; }
Result cuGraphExecDestroy(Handle) { return 0; }
Result cuGetErrorString(Result, const char** text) { return *text = "an error of the stand-in", 0; }
Result cuEventCreate(Handle* event, unsigned) { return *event = &something, 0; }
Result cuEventDestroy_v2(Handle) { return 0; }
Result cuEventRecord(Handle, Handle) { return 0; }
Result cuEventSynchronize(Handle) { return 0; }
Result cuEventElapsedTime(float* milliseconds, Handle, Handle) { return *milliseconds = 1, 0; }
}

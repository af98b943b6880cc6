// SPDX-License-Identifier: Apache-2.0
// Kernels compiled by NVRTC, for the device at hand or, as PTX, ahead of runs for devices that need not be there.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "backends/gpu/driver.h"
#include "base/entry_file.h"

namespace minnow::gpu::cuda {

/// All that a source's code depends on besides the source: what NVRTC is told, and the prefix of sources. `capability`: as in 90.
std::string target_of(int capability, bool ahead);
/// Code of a source: for devices of that compute capability, or PTX, which the driver makes code of. Throws Unsupported where NVRTC is
/// missing, and InternalError with its messages where it refuses the source.
std::string compiled(const std::string& source, int capability, bool ahead);

/// Whether kernels wait by themselves for the kernel before them, so that their start may overlap its end.
inline bool waits(int capability) { return capability >= 90; }

/// The numbers that a driver tells about a device.
struct Figures {
  int capability = 0, multiprocessors = 0, clock = 0, memory_clock = 0, bus_width = 0;  // kHz, bits
  bool encodes_boxes = false;                                                           // for wgmma
};
/// Plans whose kernels are compiled ahead follow these figures on every device, so that all devices ask for the same kernels.
Figures figures_ahead(int capability);
/// The device as estimates see it.
Device described(std::string name, const Figures& figures, Precision precision);
/// The compute capability of tensor cores, as Queue has it.
inline int tensor_cores_of(int capability) { return capability >= 80 ? capability : 0; }

/// The backend "cuda:8.0": it compiles the kernels of plans into the file of BackendOptions::kernel_cache and has no device.
std::unique_ptr<Queue> make_queue_ahead(const BackendOptions& options);
/// The capability of kernels in the file that were compiled ahead and that a device of this one can take, the best; 0: there are none, or
/// no file.
int capability_ahead(EntryFile* file, int capability);

/// The bytes of the file that the CMake option MINNOW_CUDA_KERNELS names; none without it.
std::span<const std::byte> embedded_kernels() noexcept;
/// The file of these bytes; null if there are none.
EntryFile* library_kernels();

}  // namespace minnow::gpu::cuda

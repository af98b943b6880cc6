// SPDX-License-Identifier: Apache-2.0
// The backends for GPUs, which load their drivers at run time (option MINNOW_GPU).
#pragma once
#include "backends/backend.h"

namespace minnow::gpu {

/// "cuda", on NVIDIA's first device. Throws Unsupported, with the reason, where there is none.
std::shared_ptr<Backend> make_cuda_backend(const BackendOptions& options);
std::vector<DeviceRow> cuda_devices();

/// "opencl", on the first GPU, else the first device that a driver offers. Throws Unsupported, with the reason, where there is none.
std::shared_ptr<Backend> make_opencl_backend(const BackendOptions& options);
std::vector<DeviceRow> opencl_devices();

/// "vulkan", on the first GPU, else the first device that a driver offers; MINNOW_VULKAN_DEVICE, a part of its name, chooses one. Throws
/// Unsupported, with the reason, where there is none.
std::shared_ptr<Backend> make_vulkan_backend(const BackendOptions& options);
std::vector<DeviceRow> vulkan_devices();

/// "gles", on the first GPU with OpenGL ES 3.1, else the first device; MINNOW_GLES_DEVICE, a part of its name, chooses one. Throws
/// Unsupported, with the reason, where there is none.
std::shared_ptr<Backend> make_gles_backend(const BackendOptions& options);
std::vector<DeviceRow> gles_devices();

}  // namespace minnow::gpu

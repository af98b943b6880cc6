// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/gpu/driver.h"

namespace minnow::gpu {

/// The backend "opencl" on the best device: the first GPU, else the first device. Throws Unsupported where there is none.
std::shared_ptr<Backend> make_opencl_backend(const BackendOptions& options);
std::vector<DeviceRow> opencl_devices();

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/gpu/driver.h"

namespace minnow::gpu {

/// The backend "cuda" on the first device. Throws Unsupported where there is none.
std::shared_ptr<Backend> make_cuda_backend(const BackendOptions& options);
std::vector<DeviceRow> cuda_devices();

}  // namespace minnow::gpu

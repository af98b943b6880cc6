// SPDX-License-Identifier: Apache-2.0
// The backend that runs the operators' own reference loops. It tests all other backends, and serves nodes that no other can.
#pragma once
#include <memory>

#include "backends/backend.h"

namespace minnow {

std::shared_ptr<Backend> make_reference_backend(const BackendOptions& options);

}  // namespace minnow

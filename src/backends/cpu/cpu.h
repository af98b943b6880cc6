// SPDX-License-Identifier: Apache-2.0
// The CPU backend: kernels over portable vectors, compiled for several instruction sets.
#pragma once
#include <memory>

#include "backends/backend.h"

namespace minnow {

/// Uses the widest instruction set that the machine has and that neither `options.isa` nor the environment's MINNOW_ISA excludes.
/// Throws InvalidArgument for a name that does not exist, Unsupported where no instruction set is left.
std::shared_ptr<Backend> make_cpu_backend(const BackendOptions& options);

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace minnow {

/// Names of the backends of this build, in order of preference.
std::vector<std::string> backend_names();
/// Throws InvalidArgument for a name that this build does not have, with those that it has.
std::shared_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options);

}  // namespace minnow

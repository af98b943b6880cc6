// SPDX-License-Identifier: Apache-2.0
// Programs that this one goes on as.
#pragma once
#include <string>
#include <vector>

namespace minnow::os {

/// Goes on as another program, found in PATH by its first argument. Returns only if that cannot be started, with the system's reason.
std::string become(const std::vector<std::string>& arguments);

}  // namespace minnow::os

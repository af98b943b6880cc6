// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace minnow::os {

/// What the system calls the processor; empty where it does not tell. Implemented in os_*.cpp, as all that asks the system.
std::string processor_name();

}  // namespace minnow::os

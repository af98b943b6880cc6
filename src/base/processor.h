// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace minnow::os {

/// The system's name for the processor; empty if there is none. Implemented in os_*.cpp, as all that asks the system.
std::string processor_name();

}  // namespace minnow::os

// SPDX-License-Identifier: Apache-2.0
#include <minnow/minnow.h>
#include <minnow/version.h>

namespace minnow {

const char* version() noexcept { return MINNOW_VERSION; }

}  // namespace minnow

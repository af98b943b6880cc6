// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace minnow {

/// How long the workers of the process's pool wait actively after a job before they sleep, from their next wait on.
void set_active_wait(double seconds) noexcept;

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace minnow::cli {

/// Runs the command `minnow` with these arguments, argv[0] being its name. Returns the exit status; throws nothing. Writes to stdout and
/// stderr, and sets the process's log hook.
int command_line(int argc, const char* const* argv) noexcept;

}  // namespace minnow::cli

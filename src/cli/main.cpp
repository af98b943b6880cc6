// SPDX-License-Identifier: Apache-2.0
// The `minnow` command; the Python package calls the same function.
#include "cli/command_line.h"

int main(int argc, char** argv) { return minnow::cli::command_line(argc, argv); }

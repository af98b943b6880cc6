# SPDX-License-Identifier: Apache-2.0
# Cross build for 64-bit ARM Linux.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
set(emulator qemu-aarch64-static)
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")

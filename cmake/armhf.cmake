# SPDX-License-Identifier: Apache-2.0
# Cross build for 32-bit ARM Linux: ARMv7 with NEON, fused multiplication and addition (VFPv4) and the conversions of f16, which every
# Cortex-A7, A15 and later has. Highway's kernels need all three.
set(CMAKE_SYSTEM_PROCESSOR armv7-a)
set(triple arm-linux-gnueabihf)
set(emulator qemu-arm-static)
set(CMAKE_C_FLAGS_INIT "-march=armv7-a+neon-vfpv4 -mfp16-format=ieee")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")

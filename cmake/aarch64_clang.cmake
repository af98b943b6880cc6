# SPDX-License-Identifier: Apache-2.0
# Cross build for 64-bit ARM Linux by clang, over the headers and libraries of Debian's cross compiler.
include("${CMAKE_CURRENT_LIST_DIR}/aarch64.cmake")
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET ${triple})
set(CMAKE_CXX_COMPILER_TARGET ${triple})

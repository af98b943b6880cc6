# SPDX-License-Identifier: Apache-2.0
# Writes LIST with the bytes of FILE, a file of compiled kernels, as the elements of an array. src/CMakeLists.txt sets both.
file(READ "${FILE}" magic LIMIT 8 HEX)
if(NOT magic STREQUAL "894d4e4b0d0a1a0a")
  message(FATAL_ERROR "MINNOW_CUDA_KERNELS: ${FILE} is no file of compiled kernels; minnow inspect MODEL --plan --backend cuda:8.0 --kernel-cache FILE makes one")
endif()
file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "(..)(..)(..)(..)(..)(..)(..)(..)" "0x\\1,0x\\2,0x\\3,0x\\4,0x\\5,0x\\6,0x\\7,0x\\8,\n" bytes "${bytes}") # its size is a multiple of 8
file(WRITE "${LIST}" "${bytes}")

# SPDX-License-Identifier: Apache-2.0
# Cross build for WebAssembly with its vectors of 128 bits and threads, by Debian's emscripten; programs run under node.
set(ENV{NODE_PATH} /usr/share/nodejs) # where Debian has the parser that emscripten's linker needs; only Debian's node looks there
set(CMAKE_CXX_LINKER_LAUNCHER env NODE_PATH=/usr/share/nodejs)
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
# Exceptions by way of JavaScript: Debian's version does not catch those of WebAssembly itself.
set(CMAKE_C_FLAGS_INIT "-msimd128 -pthread")
# Files of vectors of doubles hold nothing there, and what Highway says of their functions' target is said of none.
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -pthread -fexceptions -Wno-pragma-clang-attribute -include ${CMAKE_CURRENT_LIST_DIR}/libcxx_gaps.h")
# Threads exist before they are needed, as a thread that waits for another cannot start it. Files are those of the machine.
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-sPTHREAD_POOL_SIZE=16 -sINITIAL_MEMORY=2147418112 -sTOTAL_STACK=8388608 -sDEFAULT_PTHREAD_STACK_SIZE=2097152 -sNODERAWFS=1 -sEXIT_RUNTIME=1")
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

# SPDX-License-Identifier: Apache-2.0
# Links LIBRARY.lto.s, the assembly that clang's link-time optimization left, with thinner unwind tables, to LIBRARY, and removes it.
# src/CMakeLists.txt sets COMPILER (with its options), PYTHON, EXPORT_MAP, LIBRARY and SONAME.
set(part "${LIBRARY}.lto.s")
if(NOT EXISTS "${part}")
  message(FATAL_ERROR "there is no optimized code ${part} to link")
endif()
execute_process(COMMAND "${PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/../scripts/thin_unwind_tables.py" "${part}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND
    ${COMPILER} -Wa,--no-warn -shared "${part}" -o "${LIBRARY}" "-Wl,-soname,${SONAME}" "-Wl,--version-script=${EXPORT_MAP}" -Wl,--as-needed
    -Wl,--no-undefined -Wl,--gc-sections -Wl,-O2 -Wl,--icf=all -Wl,--hash-style=gnu -Wl,-z,max-page-size=16384 -Wl,-z,pack-relative-relocs
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${part}")

# SPDX-License-Identifier: Apache-2.0
# Links what gcc's link-time optimization left beside LIBRARY (-save-temps) again, with thinner unwind tables and the linker in LINKER_FOLDER,
# to LIBRARY, and removes the parts. src/CMakeLists.txt sets COMPILER, PYTHON, LINKER_FOLDER, EXPORT_MAP, LIBRARY and SONAME.
file(GLOB parts "${LIBRARY}.ltrans*.ltrans.s")
if(NOT parts)
  message(FATAL_ERROR "there is no optimized code ${LIBRARY}.ltrans*.ltrans.s to link again")
endif()
execute_process(COMMAND "${PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/../scripts/thin_unwind_tables.py" ${parts} COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND
    "${COMPILER}" -shared -fno-use-linker-plugin "-B${LINKER_FOLDER}" ${parts} -o "${LIBRARY}" "-Wl,-soname,${SONAME}"
    "-Wl,--version-script=${EXPORT_MAP}" -Wl,--as-needed -Wl,--no-undefined -Wl,--gc-sections -Wl,-O2 -Wl,--icf=all -Wl,--hash-style=gnu
    -Wl,-z,max-page-size=16384 -Wl,-z,pack-relative-relocs
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB parts "${LIBRARY}.lto*" "${LIBRARY}.ltrans*" "${LIBRARY}.res" "${LIBRARY}.wpa*")
file(REMOVE ${parts})

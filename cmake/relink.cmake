# SPDX-License-Identifier: Apache-2.0
# Links what gcc's link-time optimization left beside LIBRARY (-save-temps) again with the linker in LINKER_FOLDER, to LIBRARY, and removes
# the parts. See src/CMakeLists.txt, which sets COMPILER, LINKER_FOLDER, EXPORT_MAP, LIBRARY and SONAME.
file(GLOB objects "${LIBRARY}.ltrans*.ltrans.o")
if(NOT objects)
  message(FATAL_ERROR "there are no optimized objects ${LIBRARY}.ltrans*.ltrans.o to link again")
endif()
execute_process(
  COMMAND
    "${COMPILER}" -shared -fno-use-linker-plugin "-B${LINKER_FOLDER}" ${objects} -o "${LIBRARY}" "-Wl,-soname,${SONAME}"
    "-Wl,--version-script=${EXPORT_MAP}" -Wl,--as-needed -Wl,--no-undefined -Wl,--gc-sections -Wl,-O2 -Wl,--icf=all -Wl,--hash-style=gnu
    -Wl,-z,max-page-size=16384 -Wl,-z,pack-relative-relocs
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB parts "${LIBRARY}.lto*" "${LIBRARY}.ltrans*" "${LIBRARY}.res" "${LIBRARY}.wpa*")
file(REMOVE ${parts})

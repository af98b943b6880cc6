# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with a digest of the sources that decide how weights are packed: files of packed weights are of one such digest.
# src/CMakeLists.txt sets SOURCES, their folder, and HEADER.
file(GLOB_RECURSE sources RELATIVE "${SOURCES}" "${SOURCES}/*.cpp" "${SOURCES}/*.h")
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 "${SOURCES}/${source}" digest)
  string(APPEND digests "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING "${digest}" 0 16 digest)
file(WRITE "${HEADER}" "#pragma once\nnamespace minnow {\ninline constexpr char kPackingVersion[] = \"${digest}\";\n}\n")

# SPDX-License-Identifier: Apache-2.0
# minnow_test_suites(target): one ctest entry for each GoogleTest suite of the executable, listed when ctest starts. A suite rather than a
# test, because a process for each of thousands of short tests costs more than the tests; each writes its counts to an XML file, from which
# scripts/test_summary.py adds them up.
function(minnow_test_suites target)
  set(include_file "${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake")
  string(JOIN " " emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
  file(
    GENERATE
    OUTPUT "${include_file}"
    CONTENT
      "set(target ${target})
set(command ${emulator} \"$<TARGET_FILE:${target}>\")
set(results \"${PROJECT_BINARY_DIR}/test-results\")
set(environment \"MINNOW_MODELS_DIR=${MINNOW_MODELS_DIR}\" \"MINNOW_CORPUS=${MINNOW_CORPUS}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include_file}")
endfunction()

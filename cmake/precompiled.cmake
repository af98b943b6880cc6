# SPDX-License-Identifier: Apache-2.0
# Headers that most files of a target include are compiled once for it, which halves the time of a build. They are named in angle brackets,
# and ccache looks at their contents alone (the launcher in CMakeLists.txt), so that other checkouts find what one has compiled. Files whose
# options differ from their target's say SKIP_PRECOMPILE_HEADERS: gcc refuses headers that were compiled with other ones. Headers that change
# often do not belong here: each change compiles the whole target anew.
function(minnow_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND (MINNOW_SANITIZE OR MINNOW_SMALL))
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp") # ccache asks for it
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT MINNOW_OPERATORS AND NOT MINNOW_COVERAGE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE -fpch-preprocess) # ccache asks for it
    if(MINNOW_SANITIZE) # gcc 12 then takes strings of precompiled headers for too short
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
endfunction()
set(MINNOW_STANDARD_HEADERS <algorithm> <cmath> <cstring> <functional> <limits> <memory> <numeric> <optional> <span> <string> <string_view>
                            <unordered_map> <unordered_set> <utility> <vector>)
set(MINNOW_GRAPH_HEADERS ${MINNOW_STANDARD_HEADERS} <graph/expr.h> <graph/graph.h> <graph/node_view.h> <base/error.h> <base/format.h>
                         <ops/operator.h>)

# With MINNOW_UNITY, eight files of a target are compiled as one: the templates of its headers are instantiated once for them, which takes
# most of the time. Names in anonymous namespaces then differ from those of the files nearby. Files with options of their own, such as
# kernels, are compiled alone; so are all files of preset clang, which shows that each includes what it uses.
function(minnow_unity target)
  if(MINNOW_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage) # gcc takes all but the outermost file for headers
    endif()
  endif()
endfunction()

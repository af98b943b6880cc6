# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags of everything that is ours, as the interface target `minnow_flags`.
add_library(minnow_flags INTERFACE)
target_compile_options(minnow_flags INTERFACE -Wall -Wextra $<$<BOOL:${MINNOW_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(minnow_flags INTERFACE -Wno-restrict) # false alarms in std::string, gcc bug 105651, mended in 13
endif()
# The file names in messages and debug information do not depend on where the repository lies.
target_compile_options(minnow_flags INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
target_compile_options(minnow_flags INTERFACE $<$<CONFIG:MinSizeRel>:-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables>)
if(APPLE)
  target_link_options(minnow_flags INTERFACE $<$<CONFIG:MinSizeRel>:-Wl,-dead_strip>)
else()
  target_link_options(minnow_flags INTERFACE $<$<CONFIG:MinSizeRel>:-Wl,--gc-sections>)
endif()
set(MINNOW_ARM OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm)")
  set(MINNOW_ARM ON)
  # References round after every operation, as they do on x86: kernels say themselves where they fuse a multiplication with an addition.
  target_compile_options(minnow_flags INTERFACE -ffp-contract=off)
  if(NOT APPLE)
    # Binutils pads segments to the largest page that an ARM kernel may have, 64 KiB; phones have pages of 4 or 16.
    target_link_options(minnow_flags INTERFACE $<$<CONFIG:MinSizeRel>:-Wl,-z,max-page-size=16384>)
  endif()
endif()
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(minnow_flags INTERFACE -Wno-psabi) # notes that gcc 7 changed how some classes are passed on 32-bit ARM
endif()
target_compile_definitions(
  minnow_flags INTERFACE MINNOW_DOCS=$<BOOL:${MINNOW_DOCS}> MINNOW_GRADIENTS=$<BOOL:${MINNOW_GRADIENTS}> MINNOW_EXPRESS=$<BOOL:${MINNOW_EXPRESS}>
                         MINNOW_ONE_ISA=$<BOOL:${MINNOW_ONE_ISA}>)
if(MINNOW_SMALL)
  target_compile_definitions(minnow_flags INTERFACE MINNOW_SMALL=1)
  # No frame pointers: 2 % of the code and a tenth of its unwind tables.
  target_compile_options(minnow_flags INTERFACE -fomit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # -Oz: what many functions have in common becomes functions (on ARM). The whole program is optimized at once, which finds most of that.
    target_compile_options(minnow_flags INTERFACE $<$<CONFIG:MinSizeRel>:-Oz> -fno-unwind-tables)
    set(CMAKE_CXX_COMPILE_OPTIONS_IPO -flto)
    set(CMAKE_CXX_LINK_OPTIONS_IPO -flto)
  endif()
endif()

if(MINNOW_SANITIZE)
  set(minnow_sanitize -fsanitize=${MINNOW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(minnow_flags INTERFACE ${minnow_sanitize})
  target_link_options(minnow_flags INTERFACE ${minnow_sanitize})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(minnow_flags INTERFACE -Wno-maybe-uninitialized) # gcc advises against it beside sanitizers: false alarms
  else()
    target_compile_options(minnow_flags INTERFACE -Wno-pass-failed) # clang unrolls less between sanitizers' checks, and says so
  endif()
endif()
if(MINNOW_FUZZ)
  target_compile_options(minnow_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Kernels are worth more optimization than the code around them, in the builds that optimize at all; what no run waits for is worth less.
# Functions in sections of their own: a library leaves out what only the converter calls.
set(MINNOW_SECTION_OPTIONS "$<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>")
# gcc inlines a function with -Os only if the caller is estimated not to grow at all; an instruction more (of std::string_view's
# constructor) lets the rest become constants: 5 to 18 % smaller.
set(MINNOW_SMALL_OPTIONS $<$<CONFIG:Release>:-Os> "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:--param=max-inline-insns-size=1>"
    "${MINNOW_SECTION_OPTIONS}")
set(MINNOW_FAST_OPTIONS $<$<CONFIG:Release>:-O2> "${MINNOW_SECTION_OPTIONS}") # behind a target's own options
set(MINNOW_KERNEL_OPTIONS
    $<$<CONFIG:MinSizeRel>:-O2>
    -Wno-psabi # gcc notes that vectors wider than the baseline are passed differently; kernels are never called across libraries
)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Vectors are written out, or loops become vectors; copies of short loops, and vectors for the rests of rows, would double the code.
  list(APPEND MINNOW_KERNEL_OPTIONS
       "$<$<CONFIG:Release>:-O2;-ftree-vectorize;-fvect-cost-model=dynamic;--param=vect-epilogues-nomask=0;-fno-asynchronous-unwind-tables>")
else()
  list(APPEND MINNOW_KERNEL_OPTIONS $<$<CONFIG:Release>:-O3>)
endif()
if(MINNOW_SANITIZE) # builds that do not optimize the rest, which halves the time they take to compile
  list(APPEND MINNOW_KERNEL_OPTIONS $<$<CONFIG:Debug>:-O1> -DHWY_IS_DEBUG_BUILD=0) # Highway's assertions need its library
endif()
if(MINNOW_COVERAGE) # the options of src/CMakeLists.txt hold
  set(MINNOW_SMALL_OPTIONS)
  set(MINNOW_FAST_OPTIONS)
  set(MINNOW_KERNEL_OPTIONS -Wno-psabi)
endif()
if(MINNOW_ARM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Tiles are written in the order that keeps their sums in registers; gcc's first scheduling fetches early and spills.
  list(APPEND MINNOW_KERNEL_OPTIONS -fno-schedule-insns)
  if(CMAKE_SIZEOF_VOID_P EQUAL 4)
    list(APPEND MINNOW_KERNEL_OPTIONS -D__ARM_VFPV4__) # by which Highway knows fused multiplication; clang defines it, gcc does not
  endif()
endif()

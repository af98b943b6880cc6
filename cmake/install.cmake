# SPDX-License-Identifier: Apache-2.0
# The install tree and the CMake package: find_package(Minnow) gives
#   Minnow::minnow   the core as a static archive
#   Minnow::shared   the core as a shared library, exporting the public API alone
#   Minnow::convert  importers, passes and exporters, a static archive over Minnow::minnow
#   Minnow::numerics factorizations, Fourier transforms and random streams, a static archive over Minnow::minnow (64-bit machines)
#   Minnow::train    optimizers and schedules, a static archive over Minnow::minnow (MINNOW_TRAIN)
#   Minnow::vision   pictures, a static archive over Minnow::minnow, libjpeg, libpng, libwebp and zlib (MINNOW_VISION)
include(CMakePackageConfigHelpers)
set(minnow_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Minnow")

if(TARGET minnow_shared)
  set_target_properties(minnow_shared PROPERTIES EXPORT_NAME shared)
  install(TARGETS minnow_shared EXPORT MinnowTargets)
endif()
set_target_properties(minnow_convert PROPERTIES EXPORT_NAME convert)
install(TARGETS minnow minnow_convert EXPORT MinnowTargets)
if(TARGET minnow_numerics)
  set_target_properties(minnow_numerics PROPERTIES EXPORT_NAME numerics)
  install(TARGETS minnow_numerics EXPORT MinnowTargets)
endif()
if(TARGET minnow_train)
  set_target_properties(minnow_train PROPERTIES EXPORT_NAME train)
  install(TARGETS minnow_train EXPORT MinnowTargets)
endif()
if(TARGET minnow_vision)
  set_target_properties(minnow_vision PROPERTIES EXPORT_NAME vision)
  install(TARGETS minnow_vision EXPORT MinnowTargets)
endif()
if(TARGET minnow_cli)
  install(TARGETS minnow_cli)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_BINARY_DIR}/generated/minnow/version.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow")
if(MINNOW_EXPRESS)
  install(FILES "${PROJECT_BINARY_DIR}/generated/minnow/operators.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT MinnowTargets NAMESPACE Minnow:: DESTINATION "${minnow_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/MinnowConfig.cmake.in" "${PROJECT_BINARY_DIR}/MinnowConfig.cmake"
                              INSTALL_DESTINATION "${minnow_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/MinnowConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/MinnowConfig.cmake" "${PROJECT_BINARY_DIR}/MinnowConfigVersion.cmake" DESTINATION "${minnow_package_dir}")

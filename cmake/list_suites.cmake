# SPDX-License-Identifier: Apache-2.0
# Read by ctest when it starts; see test_suites.cmake, which sets target, command, results and environment.
list(GET command -1 executable)
if(NOT EXISTS "${executable}")
  add_test(${target} ${executable})  # fails as "not built", instead of passing with nothing run
  return()
endif()
execute_process(COMMAND ${command} --gtest_list_tests OUTPUT_VARIABLE listing ERROR_VARIABLE listing_errors RESULT_VARIABLE listing_status)
if(NOT listing_status EQUAL 0)
  add_test(${target} ${executable} --gtest_list_tests)
  return()
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listing}")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REPLACE "/" "-" file "${suite}")
  add_test(${target}:${suite}* ${command} --gtest_filter=${suite}* --gtest_brief=1 --gtest_output=xml:${results}/${target}-${file}xml)
  set_tests_properties(${target}:${suite}* PROPERTIES ENVIRONMENT "${environment}")
endforeach()

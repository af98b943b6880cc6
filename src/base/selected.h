// SPDX-License-Identifier: Apache-2.0
// The operators that a build keeps: all, or those that the CMake option MINNOW_OPERATORS names. Code of the others is left out.
#pragma once
#include <string_view>
#if MINNOW_SELECTED
#include <minnow/selected_operators.h>  // generated: minnow::kSelectedOperators
#endif

namespace minnow {

constexpr bool is_selected([[maybe_unused]] std::string_view op) {
#if MINNOW_SELECTED
  for (std::string_view selected : kSelectedOperators)
    if (selected == op) return true;
  return false;
#else
  return true;
#endif
}

}  // namespace minnow

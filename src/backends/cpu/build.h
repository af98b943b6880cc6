// SPDX-License-Identifier: Apache-2.0
// Which parts of the backend this build keeps, as constants, so that the compiler still reads code that a small build leaves out. Whole
// files are left out by their folders, large/ and gradients/ (src/CMakeLists.txt).
#pragma once
#include <optional>
#include <type_traits>

namespace minnow::cpu {

/// Whether the build leaves out kernels that only make some shapes, dtypes or precisions faster (the option MINNOW_SMALL).
#if MINNOW_SMALL
inline constexpr bool kSmall = true;
#else
inline constexpr bool kSmall = false;
#endif
inline constexpr bool kGradients = MINNOW_GRADIENTS;

/// An entry of a table of kernels: null in a small build.
template <class Function>
constexpr Function* unless_small(Function* function) {
  return kSmall ? nullptr : function;
}
/// Likewise, null in a build without gradients.
template <class Function>
constexpr Function* with_gradients(Function* function) {
  return kGradients ? function : nullptr;
}

/// Stands for an object that is never there.
template <class T>
struct Absent {
  constexpr explicit operator bool() const noexcept { return false; }
  T* operator->() const noexcept { return nullptr; }
  template <class... Args>
  void emplace(Args&&...) {}
};
/// An object that may be there, but not in a small build.
template <class T>
using OptionalUnlessSmall = std::conditional_t<kSmall, Absent<T>, std::optional<T>>;

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// The border to C: exceptions become statuses and sentences.
#pragma once
#include <minnow/minnow_c.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/function_ref.h"

namespace minnow {

/// Calls body(). An exception becomes the returned status and the text of minnow_error_text().
minnow_status c_status(FunctionRef<void()> body) noexcept;

/// A pointer that C gave for something that must be there, by the name that the header gives it. Throws InvalidArgument for null.
template <class T>
T& given(T* pointer, std::string_view name) {
  if (!pointer) throw InvalidArgument("{} is NULL", name);
  return *pointer;
}

/// Copies a struct that begins with its size, of this version, an earlier or a later one, or null. Members that it lacks are zero.
/// `first_size`: the size in the first version. Throws InvalidArgument for a shorter one, and for a longer one with unknown members set.
template <class T>
T sized(const T* from, size_t first_size, std::string_view name) {
  T made{};
  if (!from) return made;
  const size_t size = from->struct_size;
  constexpr size_t kMost = 4096;  // beyond any version: the caller has not set it
  if (size < first_size || size > kMost) throw InvalidArgument("struct_size of {} is {}, {} is expected", name, size, sizeof(T));
  for (size_t i = sizeof(T); i < size; ++i)
    if (reinterpret_cast<const unsigned char*>(from)[i]) throw InvalidArgument("{} asks for something of a later version of Minnow", name);
  std::memcpy(&made, from, std::min(size, sizeof(T)));
  return made;
}

}  // namespace minnow

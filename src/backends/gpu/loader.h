// SPDX-License-Identifier: Apache-2.0
// Loading a driver's functions at run time, from a table of their names.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/os.h"

namespace minnow::gpu {

/// A function of a library, and where its pointer lies in a struct of function pointers.
struct Symbol {
  const char* name;
  size_t place;
};

/// The first of these libraries that can be opened; null pointers are left out. Null: none can be.
template <class... Names>
std::unique_ptr<os::SharedLibrary> open_first(Names... names) {
  for (const char* name : {static_cast<const char*>(names)...}) try {
      if (name) return std::make_unique<os::SharedLibrary>(name);
    } catch (const Error&) {}
  return nullptr;
}

/// Fills in `functions`, a struct of function pointers. Returns the name of the first one that the library lacks, or null.
template <class Functions>
const char* load_functions(const os::SharedLibrary& library, std::span<const Symbol> symbols, Functions& functions) {
  static_assert(std::is_trivially_copyable_v<Functions> && std::is_standard_layout_v<Functions>);
  const char* missing = nullptr;
  for (const Symbol& symbol : symbols) {
    void* const address = library.symbol(symbol.name);
    std::memcpy(reinterpret_cast<char*>(&functions) + symbol.place, &address, sizeof address);
    if (!address && !missing) missing = symbol.name;
  }
  return missing;
}

/// A library of a driver, for a static variable: `Api` has the functions, which begin with the struct `Functions`.
template <class Api, class Functions>
struct LoadedOnce {
  Api api;
  std::string problem;
  LoadedOnce(std::unique_ptr<os::SharedLibrary> library, std::span<const Symbol> symbols, std::string_view missing) {
    api.library = std::move(library);
    if (!api.library)
      problem = missing;
    else if (const char* name = load_functions<Functions>(*api.library, symbols, api))
      problem = format("the library has no function {}", name);
  }
  /// Null, and the reason, where the library or a function is missing.
  const Api* get(std::string& reason) const {
    reason = problem;
    return problem.empty() ? &api : nullptr;
  }
};

}  // namespace minnow::gpu

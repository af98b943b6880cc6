// SPDX-License-Identifier: Apache-2.0
#include "base/no_memory.h"

#include <new>
#include <stdexcept>
#include <system_error>

#include "base/error.h"

namespace minnow {
namespace {

// Made when the program begins: copies share its sentence and allocate nothing.
const OutOfMemory kNoMemory("the system has no more memory");

}  // namespace

std::exception_ptr no_memory() noexcept { return std::make_exception_ptr(kNoMemory); }

void throw_as_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw kNoMemory;
  } catch (const std::length_error&) {
    throw kNoMemory;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory) throw kNoMemory;
    throw;
  }
}

}  // namespace minnow

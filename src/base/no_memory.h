// SPDX-License-Identifier: Apache-2.0
// Errors for exhausted memory; reporting one allocates nothing.
#pragma once
#include <exception>

namespace minnow {

/// An OutOfMemory that was made when the program began.
std::exception_ptr no_memory() noexcept;

/// For the end of every public function: throws the exception that is being handled again, but an OutOfMemory in place of std::bad_alloc,
/// of std::length_error, and of std::system_error where the system refused a thread.
///
///   Model Model::load(...) try { ... } catch (...) { throw_as_error(); }
[[noreturn]] void throw_as_error();

}  // namespace minnow

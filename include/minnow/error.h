// SPDX-License-Identifier: Apache-2.0
// The errors that Minnow throws. Each is one sentence: where the error is, what was expected and what was found.
#pragma once
#include <stdexcept>
#include <string>

#if defined(_WIN32)
#define MINNOW_API
#else
#define MINNOW_API __attribute__((visibility("default")))
#endif

namespace minnow {

enum class ErrorKind { invalid_model, invalid_argument, unsupported, out_of_memory, io, cancelled, internal };

/// Base of everything that Minnow throws on purpose. what() is one sentence a user can act on.
class MINNOW_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace minnow

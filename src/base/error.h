// SPDX-License-Identifier: Apache-2.0
// Error types with formatted sentences, and check() for promises of our own.
#pragma once
#include <minnow/error.h>

#include "base/format.h"

namespace minnow {

/// A pattern with its arguments, of a length and of characters that can be printed.
std::string sentence_of(std::string_view pattern, std::span<const FormatArg> args);

/// Error whose sentence is made from a pattern; `FormattedError` adds the kind and any arguments.
class SentenceError : public Error {
 protected:
  SentenceError(ErrorKind kind, std::string_view pattern, std::span<const FormatArg> args);
};

template <ErrorKind kKind>
class FormattedError : public SentenceError {
 public:
  template <class... Args>
  explicit FormattedError(std::string_view pattern, const Args&... args) : SentenceError(kKind, pattern, erase(args...)) {}
};

using InvalidModel = FormattedError<ErrorKind::invalid_model>;        // the model is wrong
using InvalidArgument = FormattedError<ErrorKind::invalid_argument>;  // the caller is wrong
using Unsupported = FormattedError<ErrorKind::unsupported>;           // right, but not something we can do
using IoError = FormattedError<ErrorKind::io>;                        // a file could not be read or written
using Cancelled = FormattedError<ErrorKind::cancelled>;               // stopped by the caller or a time limit
using InternalError = FormattedError<ErrorKind::internal>;            // a promise of ours was broken

// Errors that callers tell apart by their type (minnow/error.h).

template <class... Args>
OutOfMemory out_of_memory(std::string_view pattern, const Args&... args) {
  return OutOfMemory(sentence_of(pattern, erase(args...)));
}
/// `code`: an errno.
FileError file_error(const std::string& path, std::string_view what, int code);

[[noreturn]] void check_failed(const char* condition, const char* sentence, const char* file, int line);

}  // namespace minnow

/// A promise broken by us (never by a model, a file or a caller): throws InternalError, in release builds too.
#define MINNOW_CHECK(condition, sentence)                               \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::minnow::check_failed(#condition, sentence, __FILE__, __LINE__); \
  } while (false)

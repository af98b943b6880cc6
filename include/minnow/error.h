// SPDX-License-Identifier: Apache-2.0
// The errors that Minnow throws. Each is one sentence: where the error is, what was expected and what was found.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

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

/// The system refused memory, or a memory limit of a conversion or a run was reached. The object that failed stays usable, as it was before
/// the call. Minnow throws no std::bad_alloc, and throwing this allocates nothing. Python: OutOfMemory (a MemoryError).
class MINNOW_API OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& sentence) : Error(ErrorKind::out_of_memory, sentence) {}
};

/// The system refused to open, read or write a file: "PATH: cannot be opened: No such file or directory". Python: FileNotFound (a
/// FileNotFoundError), PermissionDenied, IsADirectory or IoError (an OSError), by the code.
class MINNOW_API FileError : public Error {
 public:
  /// `code`: an errno.
  FileError(const std::string& sentence, std::string path, int code)
      : Error(ErrorKind::io, sentence), path_(std::move(path)), code_(code) {}
  const std::string& path() const noexcept { return path_; }
  int code() const noexcept { return code_; }

 private:
  std::string path_;
  int code_;
};

/// A run took longer than SessionOptions::time_limit. The session stays usable. Python: TimeLimitReached (a TimeoutError).
class MINNOW_API TimeLimitReached : public Error {
 public:
  explicit TimeLimitReached(const std::string& sentence) : Error(ErrorKind::cancelled, sentence) {}
};

}  // namespace minnow

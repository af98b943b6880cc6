// SPDX-License-Identifier: Apache-2.0
// Errors that say more than their kind, for callers that act on it: Python makes FileNotFoundError and TimeoutError of them.
#pragma once
#include <string>

#include "base/error.h"

namespace minnow {

/// The system refused to open, read or write a file: "PATH: cannot be opened: No such file or directory".
class FileError : public IoError {
 public:
  /// `code`: an errno.
  FileError(const std::string& path, std::string_view what, int code);
  const std::string& path() const noexcept { return path_; }
  int code() const noexcept { return code_; }

 private:
  std::string path_;
  int code_;
};

/// A run took longer than its time limit.
class TimeLimitReached : public FormattedError<ErrorKind::cancelled> {
 public:
  using FormattedError::FormattedError;
};

}  // namespace minnow

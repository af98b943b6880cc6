// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cstring>

#include "base/text.h"

namespace minnow {
namespace {

// Bytes: names and lists of a model may be of any length, and so may the places that name them.
constexpr size_t kMostSentence = 8000;

}  // namespace

std::string sentence_of(std::string_view pattern, std::span<const FormatArg> args) {
  return shortened(printable(format_args(pattern, args), true), kMostSentence);
}

SentenceError::SentenceError(ErrorKind kind, std::string_view pattern, std::span<const FormatArg> args)
    : Error(kind, sentence_of(pattern, args)) {}

FileError file_error(const std::string& path, std::string_view what, int code) {
  return FileError(sentence_of("{}: {}: {}", erase(path, what, std::strerror(code))), path, code);
}

void check_failed(const char* condition, const char* sentence, const char* file, int line) {
  std::string_view path(file);
  if (const size_t slash = path.rfind("src/"); slash != path.npos) path.remove_prefix(slash);
  throw InternalError("{}:{}: {} (\"{}\" does not hold; please report this)", path, line, sentence, condition);
}

}  // namespace minnow

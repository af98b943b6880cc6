// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace minnow {

SentenceError::SentenceError(ErrorKind kind, std::string_view pattern, std::span<const FormatArg> args)
    : Error(kind, format_args(pattern, args)) {}

void check_failed(const char* condition, const char* sentence, const char* file, int line) {
  std::string_view path(file);
  if (const size_t slash = path.rfind("src/"); slash != path.npos) path.remove_prefix(slash);
  throw InternalError("{}:{}: {} (\"{}\" does not hold; please report this)", path, line, sentence, condition);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Shared by the writer and the reader of the text form.
#pragma once
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace minnow::text_form {

inline bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '#' ||
         c == '+' || c == '-';
}
bool is_word(std::string_view text);  // can stand unquoted

}  // namespace minnow::text_form

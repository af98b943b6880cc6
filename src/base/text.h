// SPDX-License-Identifier: Apache-2.0
// Text that came with a model, a file or a caller, made fit for terminals, JSON and Python.
#pragma once
#include <string>
#include <string_view>

namespace minnow {

/// True for valid UTF-8 without characters that steer terminals: control characters (C0, DEL, C1), line separators, and those that
/// change the direction of writing.
bool is_printable(std::string_view text) noexcept;
/// The text itself if it is printable. Else control characters and invalid UTF-8 are escaped as \n, \t, \x1b, \u202e. Escaping twice is the
/// same as escaping once. `lines`: line breaks and tabs stay.
std::string printable(std::string_view text, bool lines = false);
/// At most about `most` bytes: the beginning and the end of a longer text, with "..." between them. No character is cut.
std::string shortened(std::string_view text, size_t most);

}  // namespace minnow

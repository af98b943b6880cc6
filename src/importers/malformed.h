// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace minnow {

/// A fault in the bytes of a FlatBuffer or a protobuf message; the importer adds the file's name.
struct Malformed {
  std::string_view what;
};

}  // namespace minnow

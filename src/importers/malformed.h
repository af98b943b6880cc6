// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace minnow {

/// Thrown by readers of FlatBuffers and of protobuf's wire format: what is wrong with the bytes. The importer adds the file's name.
struct Malformed {
  std::string_view what;
};

}  // namespace minnow

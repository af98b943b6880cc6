// SPDX-License-Identifier: Apache-2.0
#include "importers/unique_names.h"

namespace minnow {

std::string UniqueNames::make(std::string name) {
  if (name.empty()) name = "value";
  if (take(name)) return name;
  for (size_t& number = next_.at(name);;) {  // a reference stays good while the map grows
    std::string other = name + "_" + std::to_string(number++);
    if (take(other)) return other;
  }
}

}  // namespace minnow

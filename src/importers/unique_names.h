// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>

namespace minnow {

/// Names of values that were given: foreign files may have one name twice, a graph may not.
class UniqueNames {
 public:
  /// The name; a number is appended if it was used before.
  std::string make(std::string name);
  /// Returns false, without changes, if the name was used before.
  bool take(const std::string& name) { return next_.emplace(name, 1).second; }

 private:
  std::unordered_map<std::string, size_t> next_;  // name -> the number that the next of that name may have
};

}  // namespace minnow

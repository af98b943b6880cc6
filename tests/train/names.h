// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/nn.h>

#include <string>
#include <vector>

namespace minnow::nn {

/// The names of parameters, in their order.
inline std::vector<std::string> names_of(const Named& list) {
  std::vector<std::string> names;
  for (const auto& [name, value] : list) names.push_back(name);
  return names;
}

}  // namespace minnow::nn

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdlib>

namespace minnow::test {

/// How many cases of a long generated series there are for one that runs: the environment's MINNOW_EVERY, or 1. Sanitizers take a part in
/// `./dev test --ci`, and all of it in `./dev check-all`.
inline size_t one_in() {
  const char* every = std::getenv("MINNOW_EVERY");
  const long number = every ? std::atol(every) : 1;
  return number > 1 ? static_cast<size_t>(number) : 1;
}

}  // namespace minnow::test

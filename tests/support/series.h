// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdlib>

namespace minnow::test {

/// Of a long series of generated cases, one in this many runs: the environment's MINNOW_EVERY, or 1. Sanitizers take a part of a series in
/// `./dev test --ci`, and all of it in `./dev check-all`.
inline size_t one_in() {
  const char* every = std::getenv("MINNOW_EVERY");
  const long number = every ? std::atol(every) : 1;
  return number > 1 ? static_cast<size_t>(number) : 1;
}

}  // namespace minnow::test

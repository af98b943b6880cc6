// SPDX-License-Identifier: Apache-2.0
// The sentence of the error that a call throws.
#pragma once
#include <minnow/error.h>

#include <string>

namespace minnow::test {

/// "no error" where f throws none.
template <class F>
std::string sentence_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace minnow::test

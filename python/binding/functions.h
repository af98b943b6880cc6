// SPDX-License-Identifier: Apache-2.0
// Public functions of the package that code of the user's calls (functions.cpp).
#pragma once
#include "binding.h"

namespace minnow::python {

/// During its lifetime, functions of the package called by the user's code count as outermost: they may return arrays of NumPy.
class Outermost {
 public:
  Outermost() noexcept;
  ~Outermost();
  Outermost(const Outermost&) = delete;
  Outermost& operator=(const Outermost&) = delete;

 private:
  int depth_;
  bool at_once_;
};

/// Whether the functions of pictures that the package calls now give arrays of NumPy, not Vars, since the user's code gets arrays anyway.
bool arrays_at_once() noexcept;
/// A result for the user: arrays of NumPy that may be written in place of Vars, also in lists and tuples. Shares memory that nobody else
/// has.
nb::object to_arrays(nb::handle result);

}  // namespace minnow::python

// SPDX-License-Identifier: Apache-2.0
// Public functions of the package that code of the user's calls (functions.cpp).
#pragma once

namespace minnow::python {

/// While it lives, functions of the package that code of the user's calls are outermost ones: they may give arrays of NumPy.
class Outermost {
 public:
  Outermost() noexcept;
  ~Outermost();
  Outermost(const Outermost&) = delete;
  Outermost& operator=(const Outermost&) = delete;

 private:
  int depth_;
};

}  // namespace minnow::python

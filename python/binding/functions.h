// SPDX-License-Identifier: Apache-2.0
// Public functions of the package that code of the user's calls (functions.cpp).
#pragma once

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
};

}  // namespace minnow::python

// SPDX-License-Identifier: Apache-2.0
// How far tensors are from others, summed over runs.
#pragma once
#include <minnow/compress.h>

namespace minnow::compress {

class FidelitySum {
 public:
  void add(const float* wanted, const float* got, size_t count) noexcept;
  Fidelity result() const noexcept;

 private:
  double signal_ = 0, noise_ = 0, product_ = 0, square_ = 0;
};

}  // namespace minnow::compress

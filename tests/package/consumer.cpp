// SPDX-License-Identifier: Apache-2.0
#include <minnow/tensor.h>
#include <minnow/version.h>

#include <cstdio>

int main() {
  std::puts(MINNOW_VERSION);
  return minnow::size_of(minnow::DType::f32) == 4 ? 0 : 1;
}

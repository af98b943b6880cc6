// SPDX-License-Identifier: Apache-2.0
#include <minnow/numerics.h>

#include <cmath>

int main() {
  using namespace minnow;
  numerics::Generator generator(42);
  const Tensor a = generator.draw("standard_normal", {3, 3});
  const numerics::QR qr = numerics::qr(a);
  const double* q = qr.q.data<double>();
  return std::fabs(q[0] * q[0] + q[3] * q[3] + q[6] * q[6] - 1) < 1e-12 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// The cost of small expressions: microseconds a call, the least and the median of 25 rounds of 2,000 calls, on one thread.
#include <minnow/express.h>
#include <minnow/express_passes.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace {

using namespace minnow;

template <class F>
void measure(const char* what, F f) {
  constexpr int kRounds = 25, kCalls = 2000;
  std::vector<double> rounds;
  for (int i = 0; i < 200; ++i) f();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) f();
    rounds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kCalls);
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-46s %8.3f us least %8.3f us median\n", what, rounds.front(), rounds[rounds.size() / 2]);
}

}  // namespace

int main() {
  SessionOptions options;
  options.threads = 1;
  const expr::Scope scope(options);
  const Var a = Tensor(DType::f32, {8}), b = Tensor(DType::f32, {8});
  const Var m = Tensor(DType::f32, {8, 8});
  measure("a + b, 8 floats, read", [&] { (a + b).tensor(); });
  measure("a + b, not read", [&] { a + b; });
  measure("a * 2, read", [&] { (a * 2).tensor(); });
  measure("matmul 8x8, read", [&] { expr::matmul(m, m).tensor(); });
  measure("tanh(a * 2 + b), read", [&] { expr::tanh(a * 2 + b).tensor(); });
  measure("20 additions, read once", [&] {
    Var x = a;
    for (int i = 0; i < 20; ++i) x = x + b;
    x.tensor();
  });
  measure("row of a matrix, read", [&] { m[3].tensor(); });
  measure("m[3] = 1", [&] { m[3] = 1; });
  const Var large = Tensor(DType::f32, {1000000});
  for (const bool fused : {false, true}) {
    optimize_expressions(fused);
    expr::clear_cache();
    std::vector<double> times;
    for (int i = 0; i < 30; ++i) {
      const auto start = std::chrono::steady_clock::now();
      Var x = large;
      for (int k = 0; k < 20; ++k) x = k % 2 ? x * 0.5f : x + 1.0f;
      x.tensor();
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    std::printf("%-46s %8.3f ms least %8.3f ms median\n", fused ? "20 operations on 1e6 floats, fused" : "20 operations on 1e6 floats",
                times.front(), times[times.size() / 2]);
  }
}

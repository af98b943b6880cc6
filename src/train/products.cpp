// SPDX-License-Identifier: Apache-2.0
#include "train/products.h"

#include "backends/cpu/isa.h"
#include "base/os.h"
#include "base/thread_pool.h"

namespace minnow::train {
namespace {

// Asked once: finding out allocates, which steps do not.
const cpu::Kernels& kernels() {
  static const cpu::Kernels& found = cpu::kernels_for(cpu::best_isa());
  return found;
}
size_t runners() {
  static const size_t found = std::min(static_cast<size_t>(os::available_cores()), ThreadPool::kMostRunners);
  return found;
}

}  // namespace

Product::Product(size_t m, size_t k, size_t n, bool transpose_b)
    : matmul_(kernels(), {m, k, n, false, transpose_b}, {.threads = runners()}, {}) {}

size_t Product::scratch_floats() const noexcept {
  return whole_lines(matmul_.packed_b_floats()) + runners() * whole_lines(matmul_.scratch_floats());
}

void Product::run(const float* a, const float* b, float* y, float* scratch, int threads) const noexcept {
  ThreadPool& pool = ThreadPool::process();
  threads = std::min(threads, static_cast<int>(runners()));
  float *packed = scratch, *rest = scratch + whole_lines(matmul_.packed_b_floats());
  const size_t each = whole_lines(matmul_.scratch_floats());
  pool.run(matmul_.panels(), threads, [&](size_t panel) { matmul_.pack_b(panel, b, 1, packed); });
  pool.run(matmul_.units(), threads, [&](size_t unit, size_t runner) {
    matmul_.run(unit, {a, packed, nullptr, nullptr, y}, rest + runner * each);
  });
}

namespace {

struct Iteration {
  Product gram, square, update;

  Iteration(size_t n, size_t length) : gram(n, length, n, true), square(n, n, n), update(n, n, length) {}
  size_t scratch_floats() const noexcept { return std::max({gram.scratch_floats(), square.scratch_floats(), update.scratch_floats()}); }
};

}  // namespace

size_t orthogonalize_floats(size_t n, size_t length) { return muon_elements(n, length) + Iteration(n, length).scratch_floats(); }

float* orthogonalize(float* x, size_t n, size_t length, int steps, const double* abc, float* scratch, int threads) noexcept {
  const Iteration iteration(n, length);
  float* rest = scratch + muon_elements(n, length);
  return orthogonalize(x, n, steps, abc, scratch, [&](MuonProduct product, const float* a, const float* b, float* y) {
    const Product& of = product == MuonProduct::gram     ? iteration.gram
                        : product == MuonProduct::square ? iteration.square
                                                         : iteration.update;
    of.run(a, b, y, rest, threads);
  });
}

}  // namespace minnow::train

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/unary64.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/unary64_support.h"

namespace minnow::cpu {
namespace {

const Unary64Row kUnary64Rows[] = {
    // by Unary64, in its order
    MINNOW_UNARY64_ROW(std::exp, -745, 709.7),       MINNOW_UNARY64_ROW(std::log, 0, 1e300),
    MINNOW_UNARY64_ROW(std::sin, -1e7, 1e7),         MINNOW_UNARY64_ROW(std::cos, -1e7, 1e7),
    MINNOW_UNARY64_ROW(std::tanh, -30, 30, 2.5),     {[](long double x) { return -x; }, [](double x) { return -x; }, -1e300, 1e300, 0},
    MINNOW_UNARY64_ROW(std::fabs, -1e300, 1e300, 0), MINNOW_UNARY64_ROW(std::sqrt, 0, 1e300, 0.5),
    MINNOW_UNARY64_ROW(std::rint, -1e17, 1e17, 0),   MINNOW_UNARY64_ROW(std::floor, -1e17, 1e17, 0),
    MINNOW_UNARY64_ROW(std::ceil, -1e17, 1e17, 0),
};
static_assert(std::size(kUnary64Rows) == static_cast<size_t>(Unary64::count));

class Unary64Test : public EveryIsa {
 protected:
  void SetUp() override {
    if (!functions_) GTEST_SKIP() << "the C library serves";
  }
  const Unary64Loop* functions_ = kernels_for(GetParam()).unary64->functions;
};

TEST_P(Unary64Test, agrees_with_the_c_library_in_long_double) { expect_close_to_long_double(kUnary64Rows, functions_); }

TEST_P(Unary64Test, edges_are_those_of_the_c_library) { expect_the_c_librarys_edges(kUnary64Rows, functions_); }

MINNOW_EVERY_ISA(Unary64Test);

}  // namespace
}  // namespace minnow::cpu

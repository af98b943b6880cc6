// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/functions64.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/unary64_support.h"

namespace minnow::cpu {
namespace {

const Unary64Row kMoreUnary64Rows[] = {
    // by MoreUnary, in its order
    MINNOW_UNARY64_ROW(std::exp2, -1070, 1023.9),  MINNOW_UNARY64_ROW(std::expm1, -40, 709.7, 2),
    MINNOW_UNARY64_ROW(std::log2, 0, 1e300),       MINNOW_UNARY64_ROW(std::log10, 0, 1e300),
    MINNOW_UNARY64_ROW(std::log1p, -0.999, 1e300), MINNOW_UNARY64_ROW(std::tan, -1e7, 1e7, 2),
    MINNOW_UNARY64_ROW(std::asin, -1, 1),          MINNOW_UNARY64_ROW(std::acos, -1, 1),
    MINNOW_UNARY64_ROW(std::atan, -1e10, 1e10),    MINNOW_UNARY64_ROW(std::sinh, -710, 710, 2),
    MINNOW_UNARY64_ROW(std::cosh, -710, 710, 2),   MINNOW_UNARY64_ROW(std::asinh, -1e300, 1e300, 2.5),
    MINNOW_UNARY64_ROW(std::acosh, 1, 1e300, 2.5), MINNOW_UNARY64_ROW(std::atanh, -1, 1, 2.5),
    MINNOW_UNARY64_ROW(std::cbrt, -1e300, 1e300),  MINNOW_UNARY64_ROW(std::trunc, -1e17, 1e17, 0),
};
static_assert(std::size(kMoreUnary64Rows) == static_cast<size_t>(MoreUnary::count));

class Functions64Test : public EveryIsa {
 protected:
  void SetUp() override {
    if (!functions_) GTEST_SKIP() << "the C library serves";
  }
  const Unary64Loop* functions_ = kernels_for(GetParam()).functions64->functions;
};

TEST_P(Functions64Test, agrees_with_the_c_library_in_long_double) { expect_close_to_long_double(kMoreUnary64Rows, functions_); }

TEST_P(Functions64Test, edges_are_those_of_the_c_library) { expect_the_c_librarys_edges(kMoreUnary64Rows, functions_); }

MINNOW_EVERY_ISA(Functions64Test);

}  // namespace
}  // namespace minnow::cpu

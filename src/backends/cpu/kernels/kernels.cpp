// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/kernels.h"

#include "backends/cpu/kernels/targets.h"
#include "base/error.h"

namespace minnow::cpu {

// What each kernel file defines once per target.
#define MINNOW_DECLARE(target)                   \
  namespace target {                             \
  extern const TileKernels kTileKernels;         \
  extern const UnaryKernels kUnaryKernels;       \
  extern const BinaryKernels kBinaryKernels;     \
  extern const LanewiseKernels kLanewiseKernels; \
  }
#define MINNOW_TABLE(target, isa)                                                                                                 \
  {                                                                                                                               \
    isa, static_cast<size_t>(target::kTileKernels.lanes), &target::kTileKernels, &target::kUnaryKernels, &target::kBinaryKernels, \
        &target::kLanewiseKernels                                                                                                 \
  }

#if HWY_TARGETS & HWY_SSE4
MINNOW_DECLARE(N_SSE4)
#endif
#if HWY_TARGETS & HWY_AVX2
MINNOW_DECLARE(N_AVX2)
#endif
#if HWY_TARGETS & HWY_AVX3
MINNOW_DECLARE(N_AVX3)
#endif
#if HWY_TARGETS & HWY_NEON
MINNOW_DECLARE(N_NEON)
#endif

const Kernels& kernels_for(Isa isa) {
  static const Kernels kTables[] = {
#if HWY_TARGETS & HWY_SSE4
    MINNOW_TABLE(N_SSE4, Isa::sse4),
#endif
#if HWY_TARGETS & HWY_AVX2
    MINNOW_TABLE(N_AVX2, Isa::avx2),
#endif
#if HWY_TARGETS & HWY_AVX3
    MINNOW_TABLE(N_AVX3, Isa::avx3),
#endif
#if HWY_TARGETS & HWY_NEON
    MINNOW_TABLE(N_NEON, Isa::neon),
#endif
  };
  for (const Kernels& table : kTables)
    if (table.isa == isa) return table;
  throw InternalError("this build has no kernels for {}", name_of(isa));
}

}  // namespace minnow::cpu

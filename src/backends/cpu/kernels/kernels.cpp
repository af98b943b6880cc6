// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/kernels.h"

#include "backends/cpu/kernels/targets.h"
#include "base/error.h"

// Every table that a kernel file defines once per target, by its type (kType is the object), in the order of struct Kernels.
#define MINNOW_KERNEL_TABLES(DO, target) \
  DO(target, TileKernels)                \
  DO(target, UnaryKernels)               \
  DO(target, BinaryKernels)              \
  DO(target, LanewiseKernels)            \
  DO(target, PoolKernels)                \
  DO(target, LayoutKernels)              \
  DO(target, WinogradKernels)            \
  DO(target, RowKernels)                 \
  DO(target, ResampleKernels)            \
  DO(target, RecurrentKernels)           \
  DO(target, AttentionKernels)           \
  DO(target, IntegerKernels)             \
  DO(target, Bf16Forms)                  \
  DO(target, F16Form)
#define MINNOW_DECLARE(target, Type) extern const Type k##Type;
#define MINNOW_ADDRESS(target, Type) &target::k##Type,
#define MINNOW_DECLARE_ALL(target)             \
  namespace target {                           \
  MINNOW_KERNEL_TABLES(MINNOW_DECLARE, target) \
  }
#define MINNOW_TABLE(target, isa) {isa, static_cast<size_t>(lanes_of(isa)), MINNOW_KERNEL_TABLES(MINNOW_ADDRESS, target)},

namespace minnow::cpu {

#if HWY_TARGETS & HWY_SSE4
MINNOW_DECLARE_ALL(N_SSE4)
#endif
#if HWY_TARGETS & HWY_AVX2
MINNOW_DECLARE_ALL(N_AVX2)
#endif
#if HWY_TARGETS & HWY_AVX3
MINNOW_DECLARE_ALL(N_AVX3)
#endif
#if HWY_TARGETS & HWY_NEON
MINNOW_DECLARE_ALL(N_NEON)
#endif
#if HWY_TARGETS & HWY_WASM
MINNOW_DECLARE_ALL(N_WASM)
#endif

const Kernels& kernels_for(Isa isa) {
  static const Kernels kTables[] = {
#if HWY_TARGETS & HWY_SSE4
    MINNOW_TABLE(N_SSE4, Isa::sse4)
#endif
#if HWY_TARGETS & HWY_AVX2
        MINNOW_TABLE(N_AVX2, Isa::avx2)
#endif
#if HWY_TARGETS & HWY_AVX3
            MINNOW_TABLE(N_AVX3, Isa::avx3)
#endif
#if HWY_TARGETS & HWY_NEON
                MINNOW_TABLE(N_NEON, Isa::neon)
#endif
#if HWY_TARGETS & HWY_WASM
                    MINNOW_TABLE(N_WASM, Isa::simd128)
#endif
  };
  for (const Kernels& table : kTables)
    if (table.isa == isa) return table;
  throw InternalError("this build has no kernels for {}", name_of(isa));
}

}  // namespace minnow::cpu

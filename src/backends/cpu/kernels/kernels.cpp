// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/kernels.h"

#include "backends/cpu/kernels/targets.h"
#include "base/error.h"

#if MINNOW_GRADIENTS
#define MINNOW_GRADIENT_TABLES(DO, target) \
  DO(target, ChannelKernels)               \
  DO(target, PoolGradientKernels)          \
  DO(target, FilterGradientKernels)
#else
#define MINNOW_GRADIENT_TABLES(DO, target)
#endif
#if MINNOW_SMALL
#define MINNOW_LARGE_TABLES(DO, target)
#else
#define MINNOW_LARGE_TABLES(DO, target) \
  DO(target, NBitsKernels)              \
  DO(target, SparseKernels)
#endif
// Every table that a kernel file defines once per target, by its type (kType is the object), in the order of struct Kernels.
#define MINNOW_KERNEL_TABLES(DO, target) \
  DO(target, TileKernels)                \
  DO(target, UnaryKernels)               \
  DO(target, Unary64Kernels)             \
  DO(target, BinaryKernels)              \
  DO(target, ChainKernels)               \
  DO(target, MinMaxKernels)              \
  DO(target, DepthwiseKernels)           \
  DO(target, PoolKernels)                \
  DO(target, LayoutKernels)              \
  DO(target, WinogradKernels)            \
  DO(target, RowKernels)                 \
  DO(target, ResampleKernels)            \
  DO(target, RecurrentKernels)           \
  DO(target, AttentionKernels)           \
  DO(target, IntegerKernels)             \
  DO(target, ByteDepthwiseKernels)       \
  DO(target, Bf16Forms)                  \
  DO(target, F16Form)                    \
  DO(target, F64I32Kernels)              \
  DO(target, CombineKernels)             \
  DO(target, SumProductKernels)          \
  DO(target, AnyAllKernels)              \
  DO(target, ArgmaxKernels)              \
  DO(target, Functions32Kernels)         \
  DO(target, Functions64Kernels)         \
  MINNOW_LARGE_TABLES(DO, target)        \
  MINNOW_GRADIENT_TABLES(DO, target)
#define MINNOW_DECLARE_ALL(target, isa)              \
  namespace target {                                 \
  MINNOW_KERNEL_TABLES(MINNOW_DECLARE_TABLE, target) \
  }
#define MINNOW_TABLES(target, isa) {isa, static_cast<size_t>(lanes_of(isa)), MINNOW_KERNEL_TABLES(MINNOW_TABLE_ADDRESS, target)},

namespace minnow::cpu {

MINNOW_EACH_TARGET(MINNOW_DECLARE_ALL)

const Kernels& kernels_for(Isa isa) {
  static const Kernels kTables[] = {MINNOW_EACH_TARGET(MINNOW_TABLES)};
  for (const Kernels& table : kTables)
    if (table.isa == isa) return table;
  throw InternalError("this build has no kernels for {}", name_of(isa));
}

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/kernels.h"

#include "backends/cpu/build.h"
#include "backends/cpu/kernels/targets.h"
#include "base/error.h"

// Every table that a kernel file defines once per target, by its type (kType is the object), in the order of struct Kernels, and whether
// the build compiles the file: those in large/ and gradients/ are not in every build. Pointers to the others are
// null, and no scheme of such a build reads them.
#define MINNOW_KERNEL_TABLES(DO, target)      \
  DO(target, TileKernels, true)               \
  DO(target, UnaryKernels, true)              \
  DO(target, Unary64Kernels, true)            \
  DO(target, BinaryKernels, true)             \
  DO(target, ChainKernels, true)              \
  DO(target, MinMaxKernels, true)             \
  DO(target, DepthwiseKernels, true)          \
  DO(target, PoolKernels, true)               \
  DO(target, LayoutKernels, true)             \
  DO(target, WinogradKernels, true)           \
  DO(target, RowKernels, true)                \
  DO(target, ResampleKernels, true)           \
  DO(target, RecurrentKernels, true)          \
  DO(target, AttentionKernels, true)          \
  DO(target, IntegerKernels, true)            \
  DO(target, ByteDepthwiseKernels, true)      \
  DO(target, Bf16Forms, true)                 \
  DO(target, F16Form, true)                   \
  DO(target, F64I32Kernels, true)             \
  DO(target, CombineKernels, !kSmall)         \
  DO(target, SumProductKernels, !kSmall)      \
  DO(target, AnyAllKernels, !kSmall)          \
  DO(target, ArgmaxKernels, !kSmall)          \
  DO(target, Functions32Kernels, true)        \
  DO(target, Functions64Kernels, true)        \
  DO(target, NBitsKernels, !kSmall)           \
  DO(target, SparseKernels, !kSmall)          \
  DO(target, ChannelKernels, kGradients)      \
  DO(target, PoolGradientKernels, kGradients) \
  DO(target, FilterGradientKernels, kGradients)
#define MINNOW_DECLARE_KEPT(target, Type, kept) MINNOW_DECLARE_TABLE(target, Type)
#define MINNOW_KEPT_ADDRESS(target, Type, kept) kept ? &target::k##Type : nullptr,
#define MINNOW_DECLARE_ALL(target, isa)             \
  namespace target {                                \
  MINNOW_KERNEL_TABLES(MINNOW_DECLARE_KEPT, target) \
  }
#define MINNOW_TABLES(target, isa) {isa, static_cast<size_t>(lanes_of(isa)), MINNOW_KERNEL_TABLES(MINNOW_KEPT_ADDRESS, target)},

namespace minnow::cpu {

MINNOW_EACH_TARGET(MINNOW_DECLARE_ALL)

const Kernels& kernels_for(Isa isa) {
  static const Kernels kTables[] = {MINNOW_EACH_TARGET(MINNOW_TABLES)};
  for (const Kernels& table : kTables)
    if (table.isa == isa) return table;
  throw InternalError("this build has no kernels for {}", name_of(isa));
}

}  // namespace minnow::cpu

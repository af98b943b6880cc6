// SPDX-License-Identifier: Apache-2.0
// Which instruction sets a kernel file is compiled for. Include this before hwy/foreach_target.h.
//
// Highway's own dispatch needs its library, so there is a chooser of our own (kernels.h): each kernel file defines one table of function
// pointers per target, `const SomeKernels kSomeKernels` in namespace minnow::cpu::HWY_NAMESPACE, within `#if MINNOW_KERNEL_TARGET`, and a
// struct of pointers to them is filled for each target by the macros below.
#pragma once

#if MINNOW_ONE_ISA
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_NEON | HWY_WASM | HWY_SCALAR | HWY_EMU128))
#else
// SSSE3 adds nothing to SSE4; SVE's vectors have no compile-time length, and arrays of them cannot be register tiles.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#include "hwy/detect_targets.h"

/// False in the pass for the compiler's baseline: without vectors there are no kernels, the reference serves there.
#define MINNOW_KERNEL_TARGET (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

/// Whether an attribute can compile a function for ARM's extensions of NEON (dot products, f16, bf16). Before version 16, clang's
/// arm_neon.h has them only if the whole file is compiled for them. A build for a single instruction set omits them to stay small.
#define MINNOW_ARM_EXTENSIONS (HWY_ARCH_ARM_A64 && !MINNOW_ONE_ISA && (!HWY_COMPILER_CLANG || HWY_COMPILER_CLANG >= 1600))

/// Full unrolling of short constant loops, so that arrays of vectors become registers.
#if defined(__clang__)
#define MINNOW_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MINNOW_UNROLL _Pragma("GCC unroll 64")
#endif

// DO(target, isa) for each target of this build: Highway's namespace and our name of the instruction set.
#if HWY_TARGETS & HWY_SSE4
#define MINNOW_IF_SSE4(DO) DO(N_SSE4, Isa::sse4)
#else
#define MINNOW_IF_SSE4(DO)
#endif
#if HWY_TARGETS & HWY_AVX2
#define MINNOW_IF_AVX2(DO) DO(N_AVX2, Isa::avx2)
#else
#define MINNOW_IF_AVX2(DO)
#endif
#if HWY_TARGETS & HWY_AVX3
#define MINNOW_IF_AVX3(DO) DO(N_AVX3, Isa::avx3)
#else
#define MINNOW_IF_AVX3(DO)
#endif
#if HWY_TARGETS & HWY_NEON
#define MINNOW_IF_NEON(DO) DO(N_NEON, Isa::neon)
#else
#define MINNOW_IF_NEON(DO)
#endif
#if HWY_TARGETS & HWY_WASM
#define MINNOW_IF_WASM(DO) DO(N_WASM, Isa::simd128)
#else
#define MINNOW_IF_WASM(DO)
#endif
#define MINNOW_EACH_TARGET(DO) MINNOW_IF_SSE4(DO) MINNOW_IF_AVX2(DO) MINNOW_IF_AVX3(DO) MINNOW_IF_NEON(DO) MINNOW_IF_WASM(DO)

// The table of a type (`kType`): declared within the namespace of a target, and its address, for a list of tables, ROWS(DO, target).
#define MINNOW_DECLARE_TABLE(target, Type) extern const Type k##Type;
#define MINNOW_TABLE_ADDRESS(target, Type) &target::k##Type,

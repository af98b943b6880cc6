// SPDX-License-Identifier: Apache-2.0
// How loops over pixels are compiled for each instruction set. A file of loops is written once, over Highway's vectors or as plain loops
// that the compiler makes vectors of, and ends with a table of functions:
//
//   #include "vision/targets.h"  // a block of its own: clang-format must not sort it behind foreach_target.h
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "vision/loops/blur.cpp"
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace minnow::vision::HWY_NAMESPACE {
//   #if MINNOW_KERNEL_TARGET
//   ...
//   extern const BlurLoops kBlurLoops;
//   const BlurLoops kBlurLoops{add_row, ...};
//   #endif
//   }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   #define MINNOW_LOOPS kBlurLoops
//   const BlurLoops& minnow::vision::blur_loops() {
//     static const BlurLoops& loops = choose_loops<BlurLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
//     return loops;
//   }
//   #endif
#pragma once
#include <initializer_list>

#include "backends/cpu/isa.h"
#include "backends/cpu/kernels/targets.h"
#include "base/error.h"

// A file that defines this before has no loops for AVX-512, which bring nothing where memory is what takes the time.
#ifdef MINNOW_UP_TO_AVX2
#undef HWY_DISABLED_TARGETS
#if MINNOW_ONE_ISA
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_NEON | HWY_WASM | HWY_SCALAR | HWY_EMU128))
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#undef MINNOW_IF_AVX3
#define MINNOW_IF_AVX3(DO)
#endif

#define MINNOW_LOOPS_ROW(target, isa) {isa, &target::MINNOW_LOOPS},

namespace minnow::vision {

using cpu::Isa;

template <class Loops>
struct LoopsRow {
  Isa isa;
  const Loops* loops;
};

/// The row for the widest instruction set that this machine has and MINNOW_ISA allows. Throws InternalError where there is none.
template <class Loops>
const Loops& choose_loops(std::initializer_list<LoopsRow<Loops>> rows) {
  const Isa best = cpu::best_isa();
  const Loops* found = nullptr;
  for (const LoopsRow<Loops>& row : rows)  // from the weakest on
    if (row.isa <= best) found = row.loops;
  if (!found) throw InternalError("this build has no loops for {}", cpu::name_of(best));
  return *found;
}

}  // namespace minnow::vision

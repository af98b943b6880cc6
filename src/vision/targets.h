// SPDX-License-Identifier: Apache-2.0
// How loops over pixels are compiled for each instruction set. A file of loops is written once, over Highway's vectors or as plain loops
// that the compiler makes vectors of, and ends with a table of functions:
//
//   #include "vision/targets.h"  // a block of its own: clang-format must not sort it behind foreach_target.h
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "vision/blur_loops.cpp"
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

#define MINNOW_LOOPS_ROW(target, isa) {isa, &target::MINNOW_LOOPS},

namespace minnow::vision {

using cpu::Isa;

template <class Loops>
struct LoopsRow {
  Isa isa;
  const Loops* loops;
};

/// The row for the widest instruction set that this machine has and MINNOW_ISA allows. Throws Unsupported where there is none.
template <class Loops>
const Loops& choose_loops(std::initializer_list<LoopsRow<Loops>> rows) {
  const Isa best = cpu::best_isa();
  for (const LoopsRow<Loops>& row : rows)
    if (row.isa == best) return *row.loops;
  throw InternalError("this build has no loops for {}", cpu::name_of(best));
}

}  // namespace minnow::vision

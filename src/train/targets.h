// SPDX-License-Identifier: Apache-2.0
// How a family's loops are compiled for each instruction set. Its file is
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "train/adam.cpp"
//   #include "train/targets.h"  // before foreach_target.h
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace minnow::train::HWY_NAMESPACE {
//   #if MINNOW_KERNEL_TARGET
//   namespace {
//   #include "train/loops.inc"
//   ...
//   }
//   extern const Family kAdamFamily;
//   const Family kAdamFamily{kLoops, kWholes};
//   #endif
//   }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   MINNOW_FAMILY(adam_family, kAdamFamily)   // and coefficients
//   #endif
#pragma once
#include <algorithm>
#include <cmath>

#include "backends/cpu/isa.h"
#include "backends/cpu/kernels/targets.h"
#include "base/error.h"
#include "train/rule.h"

namespace minnow::train {

using cpu::Isa;

struct Family {
  std::span<const Loop> loops;
  std::span<const WholeLoop> wholes = {};
};

}  // namespace minnow::train

#define MINNOW_FAMILY_CASE(target, isa) \
  case isa:                             \
    return target::MINNOW_FAMILY_TABLE;
/// Defines name(), the family for the instruction set of this machine; MINNOW_FAMILY_TABLE is its table.
#define MINNOW_FAMILY(name)                                                                   \
  const minnow::train::Family& minnow::train::name() {                                        \
    switch (cpu::best_isa()) {                                                                \
      MINNOW_EACH_TARGET(MINNOW_FAMILY_CASE)                                                  \
      default:                                                                                \
        throw InternalError("this build has no loops for {}", cpu::name_of(cpu::best_isa())); \
    }                                                                                         \
  }

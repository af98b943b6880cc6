// SPDX-License-Identifier: Apache-2.0
#include "numpy/kernels/kernels.h"

#include "backends/cpu/kernels/targets.h"
#include "base/error.h"

// In the order of struct Kernels.
#define MINNOW_NUMPY_TABLES(DO, target) \
  DO(target, Binary64Kernels)           \
  DO(target, SortKernels)               \
  DO(target, ProductKernels)            \
  DO(target, PredicateKernels)
#define MINNOW_DECLARE_ALL(target, isa)             \
  namespace target {                                \
  MINNOW_NUMPY_TABLES(MINNOW_DECLARE_TABLE, target) \
  }
#define MINNOW_TABLES(target, isa) {isa, MINNOW_NUMPY_TABLES(MINNOW_TABLE_ADDRESS, target)},

namespace minnow::numpy {
using cpu::Isa;

MINNOW_EACH_TARGET(MINNOW_DECLARE_ALL)

const Kernels& numpy_kernels(Isa isa) {
  static const Kernels kTables[] = {MINNOW_EACH_TARGET(MINNOW_TABLES)};
  for (const Kernels& table : kTables)
    if (table.isa == isa) return table;
  throw InternalError("this build has no kernels for {}", cpu::name_of(isa));
}

}  // namespace minnow::numpy

// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set that only minnow.numpy needs. They are not part of the engine's library.
#pragma once
#include "backends/cpu/isa.h"
#include "numpy/kernels/binary64.h"
#include "numpy/kernels/predicates.h"
#include "numpy/kernels/products.h"
#include "numpy/kernels/sort.h"

namespace minnow::numpy {

struct Kernels {
  cpu::Isa isa;
  const Binary64Kernels* binary64;
  const SortKernels* sort;
  const ProductKernels* products;
  const PredicateKernels* predicates;
};

/// Throws InternalError for one that cpu::available_isas() does not name.
const Kernels& numpy_kernels(cpu::Isa isa);

}  // namespace minnow::numpy

// SPDX-License-Identifier: Apache-2.0
// Products of bf16 pairs, summed in f32, by an instruction for that if the machine has one; else the tile widens the factors.
#pragma once
#include "backends/cpu/kernels/low_precision.h"

namespace minnow::cpu {

/// Those of an instruction set.
struct Bf16Forms {
  LowPrecisionKernels widening;  // runs wherever f32 does, no faster than that
  LowPrecisionKernels direct;    // by an instruction; no tiles: this instruction set has none
  LowPrecisionKernels matrices;  // by registers of matrices (AMX), and without `plain` tiles; no tiles: there are none
};

/// Whether this machine runs the direct form.
bool has_bf16_products();
/// The form that this machine should take. `plain`: with `plain` tiles.
const LowPrecisionKernels& bf16_kernels(const Bf16Forms& forms, bool plain = false);
/// Multiply-adds per second of that form, relative to those of f32 tiles on this machine.
double bf16_speed(const Bf16Forms& forms, bool plain = false);

}  // namespace minnow::cpu

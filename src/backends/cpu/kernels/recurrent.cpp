// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/recurrent.h"

#include <limits>

#include "backends/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/recurrent.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::cpu::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr size_t kLanes = HWY_LANES(float);

#include "backends/cpu/kernels/math.inc"

void lstm(const CellRows& cell, float* c, float* h) {
  const D d;
  const float* gates = cell.gates;
  for (size_t row = 0; row < cell.rows; ++row, gates += cell.gate_stride, c += kLanes, h += kLanes) {
    const V input = sigmoid_of(hn::LoadU(d, gates)), forget = sigmoid_of(hn::LoadU(d, gates + 2 * kLanes));
    const V state = hn::MulAdd(forget, hn::LoadU(d, c), hn::Mul(input, tanh_of(hn::LoadU(d, gates + 3 * kLanes))));
    hn::StoreU(state, d, c);
    hn::StoreU(hn::Mul(sigmoid_of(hn::LoadU(d, gates + kLanes)), tanh_of(state)), d, h);
  }
}

void gru(const CellRows& cell, const float* h, float* next) {
  const D d;
  const float* gates = cell.gates;
  for (size_t row = 0; row < cell.rows; ++row, gates += cell.gate_stride, h += kLanes, next += kLanes) {
    const V update = sigmoid_of(hn::LoadU(d, gates)), reset = sigmoid_of(hn::LoadU(d, gates + kLanes));
    const V made = tanh_of(hn::MulAdd(reset, hn::LoadU(d, gates + 3 * kLanes), hn::LoadU(d, gates + 2 * kLanes)));
    hn::StoreU(hn::MulAdd(update, hn::Sub(hn::LoadU(d, h), made), made), d, next);
  }
}

void reset(const CellRows& cell, const float* h, float* scaled) {
  const D d;
  float* gates = cell.gates;
  for (size_t row = 0; row < cell.rows; ++row, gates += cell.gate_stride, h += kLanes, scaled += kLanes) {
    hn::StoreU(hn::Mul(sigmoid_of(hn::LoadU(d, gates + kLanes)), hn::LoadU(d, h)), d, scaled);
    hn::StoreU(hn::Zero(d), d, gates + 3 * kLanes);
  }
}
}  // namespace

extern const RecurrentKernels kRecurrentKernels;
const RecurrentKernels kRecurrentKernels{lstm, gru, reset};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/recurrent.h"

#include <cstring>
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

#if MINNOW_GRADIENTS
void gates_of(const float* sums, size_t gate, const float* before, float* gates, size_t to, float* c) {
  const D d;
  const V input = sigmoid_of(hn::LoadU(d, sums)), output = sigmoid_of(hn::LoadU(d, sums + gate)),
          forget = sigmoid_of(hn::LoadU(d, sums + 2 * gate)), made = tanh_of(hn::LoadU(d, sums + 3 * gate));
  hn::StoreU(input, d, gates), hn::StoreU(output, d, gates + to), hn::StoreU(forget, d, gates + 2 * to),
      hn::StoreU(made, d, gates + 3 * to);
  hn::StoreU(hn::MulAdd(forget, hn::LoadU(d, before), hn::Mul(input, made)), d, c);
}

void back(float* gates, size_t gate, const float* before, const float* c, const float* h, float* of_c) {
  const D d;
  const V one = hn::Set(d, 1), input = hn::LoadU(d, gates), output = hn::LoadU(d, gates + gate), forget = hn::LoadU(d, gates + 2 * gate),
          made = hn::LoadU(d, gates + 3 * gate), last = tanh_of(hn::LoadU(d, c)), of_h = hn::LoadU(d, h);
  const V cell = hn::MulAdd(hn::Mul(of_h, output), hn::NegMulAdd(last, last, one), hn::LoadU(d, of_c));
  hn::StoreU(hn::Mul(cell, forget), d, of_c);
  hn::StoreU(hn::Mul(hn::Mul(cell, made), hn::Mul(input, hn::Sub(one, input))), d, gates);
  hn::StoreU(hn::Mul(hn::Mul(of_h, last), hn::Mul(output, hn::Sub(one, output))), d, gates + gate);
  hn::StoreU(hn::Mul(hn::Mul(cell, hn::LoadU(d, before)), hn::Mul(forget, hn::Sub(one, forget))), d, gates + 2 * gate);
  hn::StoreU(hn::Mul(hn::Mul(cell, input), hn::NegMulAdd(made, made, one)), d, gates + 3 * gate);
}

void lstm_gates(const LstmBack& cell, const float* sums, float* c) {
  size_t i = 0;
  for (; i + kLanes <= cell.count; i += kLanes) gates_of(sums + i, cell.count, cell.before + i, cell.gates + i, cell.count, c + i);
  const size_t rest = cell.count - i;
  if (rest == 0) return;
  float gates[4 * kLanes] = {}, states[kLanes] = {};
  for (size_t g = 0; g < 4; ++g) std::memcpy(gates + g * kLanes, sums + g * cell.count + i, rest * sizeof(float));
  std::memcpy(states, cell.before + i, rest * sizeof(float));
  gates_of(gates, kLanes, states, gates, kLanes, states);
  for (size_t g = 0; g < 4; ++g) std::memcpy(cell.gates + g * cell.count + i, gates + g * kLanes, rest * sizeof(float));
  std::memcpy(c + i, states, rest * sizeof(float));
}

void lstm_back(const LstmBack& cell) {
  size_t i = 0;
  for (; i + kLanes <= cell.count; i += kLanes) back(cell.gates + i, cell.count, cell.before + i, cell.c + i, cell.h + i, cell.of_c + i);
  const size_t rest = cell.count - i;
  if (rest == 0) return;
  float gates[4 * kLanes] = {}, before[kLanes] = {}, c[kLanes] = {}, h[kLanes] = {}, of_c[kLanes] = {};
  for (size_t g = 0; g < 4; ++g) std::memcpy(gates + g * kLanes, cell.gates + g * cell.count + i, rest * sizeof(float));
  std::memcpy(before, cell.before + i, rest * sizeof(float)), std::memcpy(c, cell.c + i, rest * sizeof(float));
  std::memcpy(h, cell.h + i, rest * sizeof(float)), std::memcpy(of_c, cell.of_c + i, rest * sizeof(float));
  back(gates, kLanes, before, c, h, of_c);
  for (size_t g = 0; g < 4; ++g) std::memcpy(cell.gates + g * cell.count + i, gates + g * kLanes, rest * sizeof(float));
  std::memcpy(cell.of_c + i, of_c, rest * sizeof(float));
}
#endif
}  // namespace

extern const RecurrentKernels kRecurrentKernels;
#if MINNOW_GRADIENTS
const RecurrentKernels kRecurrentKernels{lstm, gru, reset, lstm_gates, lstm_back};
#else
const RecurrentKernels kRecurrentKernels{lstm, gru, reset};
#endif
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/recurrent.h"

#include <cstring>
#include <limits>

#include "backends/cpu/build.h"
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

/// Writes gates and state where `kept` says, or gates over the sums where they are less than a vector.
void keep(const CellRows& cell, size_t row, V a, V b, V c, V e, V state) {
  if (!kGradients || !cell.kept) return;
  const D d;
  const KeptGates& kept = *cell.kept;
  const bool whole = kept.units >= kLanes + row * kept.units_step;
  if (kept.gates || !whole) {
    float* to = whole ? kept.gates + row * kept.gates_step : cell.gates + row * cell.gate_stride;
    const size_t gate = whole ? kept.gate : kLanes;
    hn::StoreU(a, d, to), hn::StoreU(b, d, to + gate), hn::StoreU(c, d, to + 2 * gate), hn::StoreU(e, d, to + 3 * gate);
  }
  if (whole && kept.c) hn::StoreU(state, d, kept.c + row * kept.c_step);
}

void lstm(const CellRows& cell, float* c, float* h) {
  const D d;
  const float* gates = cell.gates;
  for (size_t row = 0; row < cell.rows; ++row, gates += cell.gate_stride, c += kLanes, h += kLanes) {
    const V input = sigmoid_of(hn::LoadU(d, gates)), output = sigmoid_of(hn::LoadU(d, gates + kLanes)),
            forget = sigmoid_of(hn::LoadU(d, gates + 2 * kLanes)), made = tanh_of(hn::LoadU(d, gates + 3 * kLanes));
    const V state = hn::MulAdd(forget, hn::LoadU(d, c), hn::Mul(input, made));
    hn::StoreU(state, d, c);
    hn::StoreU(hn::Mul(output, tanh_of(state)), d, h);
    keep(cell, row, input, output, forget, made, state);
  }
}

void gru(const CellRows& cell, const float* h, float* next) {
  const D d;
  const float* gates = cell.gates;
  for (size_t row = 0; row < cell.rows; ++row, gates += cell.gate_stride, h += kLanes, next += kLanes) {
    const V update = sigmoid_of(hn::LoadU(d, gates)), reset = sigmoid_of(hn::LoadU(d, gates + kLanes)),
            product = hn::LoadU(d, gates + 3 * kLanes);
    const V made = tanh_of(hn::MulAdd(reset, product, hn::LoadU(d, gates + 2 * kLanes)));
    hn::StoreU(hn::MulAdd(update, hn::Sub(hn::LoadU(d, h), made), made), d, next);
    keep(cell, row, update, reset, made, product, made);
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

float largest(const float* x, size_t count) {
  // As whole numbers, whose order is that of numbers without a sign, with NaN above infinity.
  const hn::RebindToSigned<D> di;
  const auto bits = hn::Set(di, 0x7fffffff);
  auto most = hn::Zero(di);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) most = hn::Max(most, hn::And(bits, hn::BitCast(di, hn::LoadU(D(), x + i))));
  int32_t result = hn::GetLane(hn::MaxOfLanes(di, most));
  for (; i < count; ++i) {
    int32_t number;
    std::memcpy(&number, x + i, sizeof number);
    result = HWY_MAX(result, number & 0x7fffffff);
  }
  float number;
  std::memcpy(&number, &result, sizeof number);
  return number;
}
void add_scaled(const float* x, float factor, const float* base, size_t count, float* y) {
  const D d;
  const V by = hn::Set(d, factor);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(hn::MulAdd(by, hn::LoadU(d, x + i), base ? hn::LoadU(d, base + i) : hn::Zero(d)), d, y + i);
  for (; i < count; ++i) y[i] = factor * x[i] + (base ? base[i] : 0);
}

template <bool kSigmoid>
void activate(float* x, size_t count) {
  const D d;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V sums = hn::LoadU(d, x + i);
    hn::StoreU(kSigmoid ? sigmoid_of(sums) : tanh_of(sums), d, x + i);
  }
  if (i == count) return;
  float rest[kLanes] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(float));
  const V sums = hn::LoadU(d, rest);
  hn::StoreU(kSigmoid ? sigmoid_of(sums) : tanh_of(sums), d, rest);
  std::memcpy(x + i, rest, (count - i) * sizeof(float));
}
void lstm_gates(float* sums, size_t hidden) {
  activate<true>(sums, 3 * hidden);
  activate<false>(sums + 3 * hidden, hidden);
}

/// One vector of a sequence: the gradients of its sums from its gates, and the states' gradients in place.
struct LstmCell {
  static constexpr size_t kGates = 4, kKept = 4;
  static void back(const V (&gates)[4], V before, V after, V& of_h, V& of_c, V (&sums)[5]) {
    const D d;
    const V one = hn::Set(d, 1), input = gates[0], output = gates[1], forget = gates[2], made = gates[3], last = tanh_of(after);
    const V cell = hn::MulAdd(hn::Mul(of_h, output), hn::NegMulAdd(last, last, one), of_c);
    sums[0] = hn::Mul(hn::Mul(cell, made), hn::Mul(input, hn::Sub(one, input)));
    sums[1] = hn::Mul(hn::Mul(of_h, last), hn::Mul(output, hn::Sub(one, output)));
    sums[2] = hn::Mul(hn::Mul(cell, before), hn::Mul(forget, hn::Sub(one, forget)));
    sums[3] = hn::Mul(hn::Mul(cell, input), hn::NegMulAdd(made, made, one));
    of_c = hn::Mul(cell, forget);
    of_h = hn::Zero(d);
  }
};
struct GruCell {  // whose reset gate scales the product
  static constexpr size_t kGates = 3, kKept = 4;
  static void back(const V (&gates)[4], V before, V, V& of_h, V&, V (&sums)[5]) {
    const D d;
    const V one = hn::Set(d, 1), update = gates[0], reset = gates[1], made = gates[2];
    sums[0] = hn::Mul(hn::Mul(of_h, hn::Sub(before, made)), hn::Mul(update, hn::Sub(one, update)));
    sums[2] = hn::Mul(hn::Mul(of_h, hn::Sub(one, update)), hn::NegMulAdd(made, made, one));
    sums[1] = hn::Mul(hn::Mul(sums[2], gates[3]), hn::Mul(reset, hn::Sub(one, reset)));
    sums[4] = hn::Mul(sums[2], reset);
    of_h = hn::Mul(of_h, update);
  }
};
template <bool kRelu>
struct RnnCell {
  static constexpr size_t kGates = 1, kKept = 0;
  static void back(const V (&)[4], V, V after, V& of_h, V&, V (&sums)[5]) {
    const D d;
    if constexpr (kRelu)
      sums[0] = hn::IfThenElseZero(hn::Gt(after, hn::Zero(d)), of_h);
    else
      sums[0] = hn::Mul(of_h, hn::NegMulAdd(after, after, hn::Set(d, 1)));
    of_h = hn::Zero(d);
  }
};

template <class Cell>
void back(const CellBack& s) {
  const D d;
  const V zero = hn::Zero(d);
  V bias[5] = {zero, zero, zero, zero, zero};
  constexpr bool kTwo = Cell::kGates == 3;  // the last gate has two sums
  for (size_t row = 0; row < s.rows; ++row) {
    V sums[5] = {zero, zero, zero, zero, zero};
    if (!s.lengths || s.time < s.lengths[row]) {
      V gates[4] = {zero, zero, zero, zero};
      for (size_t g = 0; g < Cell::kKept; ++g) gates[g] = hn::LoadU(d, s.gates + row * s.of_rows.gates + g * s.gate);
      const bool begins = !s.before || (s.lengths && s.time_before >= s.lengths[row]);
      const float* before = begins ? s.initial + row * s.of_rows.initial : s.before + row * s.of_rows.before;
      V of_h = hn::Add(hn::LoadU(d, s.of_h + row * kLanes), hn::LoadU(d, s.of_y + row * s.of_rows.y)),
        of_c = hn::LoadU(d, s.of_c + row * kLanes);
      Cell::back(gates, hn::LoadU(d, before), hn::LoadU(d, s.after + row * s.of_rows.after), of_h, of_c, sums);
      hn::StoreU(of_h, d, s.of_h + row * kLanes);
      hn::StoreU(of_c, d, s.of_c + row * kLanes);
    }
    for (size_t g = 0; g < Cell::kGates; ++g) {
      const V of_r = sums[kTwo && g == 2 ? 4 : g];
      hn::StoreU(of_r, d, s.factors + g * s.factor + row * kLanes);
      hn::StoreU(sums[g], d, s.of_x + row * s.of_rows.sums + g * s.gate);
      if (kTwo) hn::StoreU(of_r, d, s.of_r + row * s.of_rows.sums + g * s.gate);
    }
    for (size_t g = 0; g < 5; ++g) bias[g] = hn::Add(bias[g], sums[g]);
  }
  for (size_t g = 0; g < Cell::kGates; ++g) {
    float* x = s.of_bias_x + g * s.bias;
    hn::StoreU(hn::Add(hn::LoadU(d, x), bias[g]), d, x);
    if (!kTwo) continue;
    float* r = s.of_bias_r + g * s.bias;
    hn::StoreU(hn::Add(hn::LoadU(d, r), bias[g == 2 ? 4 : g]), d, r);
  }
}
}  // namespace

extern const RecurrentKernels kRecurrentKernels;
const RecurrentKernels kRecurrentKernels{.lstm = lstm,
                                         .gru = gru,
                                         .reset = reset,
                                         .largest = unless_small(largest),
                                         .add_scaled = unless_small(add_scaled),
                                         .lstm_gates = with_gradients(lstm_gates),
                                         .lstm_back = with_gradients(back<LstmCell>),
                                         .gru_back = with_gradients(back<GruCell>),
                                         .tanh_back = with_gradients(back<RnnCell<false>>),
                                         .relu_back = with_gradients(back<RnnCell<true>>)};
#endif
}  // namespace minnow::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

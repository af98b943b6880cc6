// SPDX-License-Identifier: Apache-2.0
// Transcendental functions on vectors, once per target: included within `#if MINNOW_KERNEL_TARGET` in namespace
// minnow::cpu::HWY_NAMESPACE, in an anonymous namespace, after `namespace hn = hwy::HWY_NAMESPACE`. Unlike Highway's own they take every
// float: infinities, NaN, and arguments whose result overflows. The coefficients are minimax fits (weighted least squares).

template <class V>
HWY_INLINE V exp_of(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  // Beyond these the result is infinity or zero anyway; NaN passes, being the second operand.
  const V clamped = hn::Min(hn::Set(d, 89.0f), hn::Max(hn::Set(d, -104.0f), x));
  const auto n = hn::NearestInt(hn::Mul(clamped, hn::Set(d, 1.44269504089f)));
  const V nf = hn::ConvertTo(d, n);
  V r = hn::NegMulAdd(nf, hn::Set(d, 0.693145751953125f), clamped);
  r = hn::NegMulAdd(nf, hn::Set(d, 1.428606765330187e-6f), r);
  V p = hn::Set(d, 0.001395171725f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.00836959841f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.04166618728f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.1666651289f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5000000101f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  // 2^n in two factors, because n may lie outside the exponents of normal numbers.
  const auto half = hn::ShiftRight<1>(n);
  const auto bias = hn::Set(di, 127);
  p = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias))));
  p = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias))));
  return hn::IfThenElse(hn::IsNaN(x), x, p);
}

template <class V>
HWY_INLINE V sigmoid_of(V x) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

template <class V>
HWY_INLINE V tanh_of(V x) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f), size = hn::Abs(x), s = hn::Mul(x, x);
  V p = hn::Set(d, -0.005717036553f);
  p = hn::MulAdd(p, s, hn::Set(d, 0.020650579f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.05374349526f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.1333149125f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.3333328392f));
  const V small = hn::MulAdd(hn::Mul(p, s), x, x);
  const V large = hn::CopySign(hn::Sub(one, hn::Div(two, hn::Add(exp_of(hn::Add(size, size)), one))), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625f)), small, large);
}

template <class V>
HWY_INLINE V erf_of(V x) {
  const hn::DFromV<V> d;
  const V size = hn::Abs(x), s = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  V p = hn::Set(d, 8.397639975e-05f);
  p = hn::MulAdd(p, s, hn::Set(d, -0.0008149769677f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.005201712927f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.02685970102f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.112837016f));
  p = hn::MulAdd(p, s, hn::Set(d, -0.3761263419f));
  p = hn::MulAdd(p, s, hn::Set(d, 0.1283791667f));
  const V small = hn::MulAdd(p, x, x);
  // 1 - erf as the exponential of a polynomial; beyond 4 it is below half a unit in the last place of 1.
  const V t = hn::Min(hn::Set(d, 4.0f), size);
  V q = hn::Set(d, -2.116190652e-05f);
  q = hn::MulAdd(q, t, hn::Set(d, 0.0004352188862f));
  q = hn::MulAdd(q, t, hn::Set(d, -0.004174643021f));
  q = hn::MulAdd(q, t, hn::Set(d, 0.02512862459f));
  q = hn::MulAdd(q, t, hn::Set(d, -0.1082939466f));
  q = hn::MulAdd(q, t, hn::Set(d, -0.633334653f));
  q = hn::MulAdd(q, t, hn::Set(d, -1.129520823f));
  q = hn::MulAdd(q, t, hn::Set(d, 0.0001758745628f));
  const V large = hn::CopySign(hn::Sub(one, exp_of(q)), x);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.9219f)), small, large));
}

template <class V>
HWY_INLINE V log_of(V x) {
  const hn::DFromV<V> d;
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), x, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

/// log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
template <class V>
HWY_INLINE V softplus_of(V x) {
  const hn::DFromV<V> d;
  const V tail = hn::Log1p(d, exp_of(hn::Neg(hn::Abs(x))));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Add(hn::Max(x, hn::Zero(d)), tail));
}

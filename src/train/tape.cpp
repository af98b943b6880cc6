// SPDX-License-Identifier: Apache-2.0
#include "train/tape.h"

namespace minnow::train {

Noted Noted::input() { return Noted::once(Tape::Op::input); }

Noted Noted::once(Tape::Op op, int16_t a, int16_t b, int16_t c, int16_t d) {
  tape->operations += op == Tape::Op::input ? 0 : op == Tape::Op::clamped || op == Tape::Op::by_sign ? 2 : 1;
  tape->entries.push_back({op, {a, b, c, d}});
  return {static_cast<int16_t>(tape->entries.size() - 1)};
}

Noted operator+(Noted a, Noted b) { return a.at == Tape::kZero ? b : Noted::once(Tape::Op::add, a.at, b.at); }
Noted operator-(Noted a, Noted b) { return Noted::once(Tape::Op::subtract, a.at, b.at); }
Noted operator*(Noted a, Noted b) { return Noted::once(Tape::Op::multiply, a.at, b.at); }
Noted operator/(Noted a, Noted b) { return Noted::once(Tape::Op::divide, a.at, b.at); }
Noted root(Noted a) { return Noted::once(Tape::Op::root, a.at); }
Noted size(Noted a) { return Noted::once(Tape::Op::size, a.at); }
Noted larger(Noted a, Noted b) { return Noted::once(Tape::Op::larger, a.at, b.at); }
Noted smaller(Noted a, Noted b) { return Noted::once(Tape::Op::smaller, a.at, b.at); }
Noted clamped(Noted low, Noted high, Noted x) { return Noted::once(Tape::Op::clamped, low.at, high.at, x.at); }
Noted by_sign(Noted x, Noted a, Noted b, Noted c) { return Noted::once(Tape::Op::by_sign, x.at, a.at, b.at, c.at); }

Tape recorded(size_t states, size_t coefficients, size_t sums, void (*update)(Noted& w, Noted g, Noted* s, const Noted* c, Noted* sums)) {
  Tape tape;
  tape.states = static_cast<int16_t>(states), tape.coefficients = static_cast<int16_t>(coefficients);
  Noted::tape = &tape;
  Noted w = Noted::input();
  const Noted g = Noted::input();
  std::vector<Noted> s(states + 1), c(coefficients), sum(sums + 1);
  for (size_t k = 0; k < states; ++k) s[k] = Noted::input();
  for (Noted& each : c) each = Noted::input();
  update(w, g, s.data(), c.data(), sum.data());
  Noted::tape = nullptr;
  tape.weight = w.at;
  for (size_t k = 0; k < states; ++k) tape.new_states.push_back(s[k].at);
  for (size_t k = 0; k < sums; ++k) tape.sums.push_back(sum[k].at);
  return tape;
}

}  // namespace minnow::train

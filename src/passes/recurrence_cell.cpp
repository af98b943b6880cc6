// SPDX-License-Identifier: Apache-2.0
// The patterns of LSTM, GRU and RNN cells, from the next hidden state back to the gates.
#include <algorithm>

#include "passes/recurrence.h"

namespace minnow {
namespace {

bool find_lstm(const LoopSteps& steps, const Value& next, Cell& cell) {
  const Node* out = made_by(&next, "Mul");
  for (size_t k = 0; out && k < 2; ++k) {
    const Node *tanh = plain_maker(out->input(k), "Tanh"), *o = plain_maker(out->input(1 - k), "Sigmoid");
    const Node* sum = tanh ? plain_maker(tanh->input(0), "Add") : nullptr;
    if (!o || !sum) continue;
    const auto c = std::find_if(steps.carried().begin(), steps.carried().end(),
                                [&](const auto& each) { return LoopSteps::plain(each.next) == sum->output(0); });
    if (c == steps.carried().end()) continue;
    cell.c = static_cast<size_t>(c - steps.carried().begin());
    cell.has_c = true;
    for (size_t i = 0; i < 2; ++i) {  // f c + i g
      const Node *keep = plain_maker(sum->input(i), "Mul"), *add = plain_maker(sum->input(1 - i), "Mul");
      if (!keep || !add || is_carried(steps, keep->input(0), cell.c) == is_carried(steps, keep->input(1), cell.c)) continue;
      const Node* f = plain_maker(keep->input(is_carried(steps, keep->input(0), cell.c) ? 1 : 0), "Sigmoid");
      for (size_t j = 0; f && j < 2; ++j) {
        const Node *in = plain_maker(add->input(j), "Sigmoid"), *g = plain_maker(add->input(1 - j), "Tanh");
        if (in && g) return read_gates(steps, "LSTM", {in, o, f, g}, nullptr, cell);
      }
    }
  }
  return false;
}

/// The reset gate among the addends of the candidate's function: it multiplies the state, or the state's product.
const Node* reset_of(const Value* value, int depth) {
  const Node* node = LoopSteps::plain(value) ? LoopSteps::plain(value)->producer() : nullptr;
  if (!node || depth > 6) return nullptr;
  if (node->op() == "Mul")
    for (size_t k = 0; k < 2; ++k)
      if (const Node* gate = plain_maker(node->input(k), "Sigmoid")) return gate;
  if (node->op() != "Add" && node->op() != "Sub" && node->op() != "Gemm" && node->op() != "MatMul" && node->op() != "Split" &&
      node->op() != "Slice")
    return nullptr;
  const Node* found = reset_of(node->input(0), depth + 1);
  return found || (node->op() != "Add" && node->op() != "Sub") ? found : reset_of(node->input(1), depth + 1);
}
bool is_gru(const Cell& cell) {
  for (size_t i = 0; i < 2; ++i)
    if (!cell.gates[i].plain.h || cell.gates[i].plain.reset_h || cell.gates[i].reset.h || !cell.gates[i].reset.biases.empty()) return false;
  const Gate& candidate = cell.gates[2];
  if (candidate.plain.h || bool(candidate.plain.reset_h) == bool(candidate.reset.h)) return false;
  return candidate.reset.h || candidate.reset.biases.empty();
}

/// (1 - z) g + z h, or g - z (g - h), or g + z (h - g).
bool find_gru(const LoopSteps& steps, const Value& next, Cell& cell) {
  const Node* node = next.producer();
  if (!node || (node->op() != "Add" && node->op() != "Sub")) return false;
  const bool adds = node->op() == "Add";
  const Node *z = nullptr, *g = nullptr;
  for (size_t k = 0; k < (adds ? 2u : 1u) && !z; ++k) {
    const Node *outer = plain_maker(node->input(k), "Tanh"), *product = plain_maker(node->input(1 - k), "Mul");
    for (size_t i = 0; outer && product && i < 2 && !z; ++i) {
      const Node *gate = plain_maker(product->input(i), "Sigmoid"), *difference = plain_maker(product->input(1 - i), "Sub");
      if (gate && difference && plain_maker(difference->input(adds ? 1 : 0), "Tanh") == outer &&
          is_carried(steps, difference->input(adds ? 0 : 1), cell.h))
        z = gate, g = outer;
    }
    const Node *keep = plain_maker(node->input(k), "Mul"), *take = plain_maker(node->input(1 - k), "Mul");
    for (size_t i = 0; adds && keep && take && i < 4 && !z; ++i) {
      const Node *gate = plain_maker(keep->input(i / 2), "Sigmoid"), *rest = plain_maker(take->input(i % 2), "Sub");
      const Node* candidate = plain_maker(take->input(1 - i % 2), "Tanh");
      if (gate && rest && candidate && is_carried(steps, keep->input(1 - i / 2), cell.h) && is_scalar(rest->input(0), 1) &&
          plain_maker(rest->input(1), "Sigmoid") == gate)
        z = gate, g = candidate;
    }
  }
  if (!z) return false;
  const Node* r = reset_of(g->input(0), 0);
  return r && read_gates(steps, "GRU", {z, r, g}, r, cell) && is_gru(cell);
}

bool find_rnn(const LoopSteps& steps, const Value& next, Cell& cell) {
  return made_by(&next, "Tanh") && read_gates(steps, "RNN", {next.producer()}, nullptr, cell);
}

}  // namespace

std::optional<Cell> find_cell(const LoopSteps& steps) {
  for (size_t h = 0; h < steps.carried().size(); ++h) {
    const Value* next = LoopSteps::plain(steps.carried()[h].next);
    if (!next || next->type.dtype != DType::f32 || steps.carried()[h].begin->type.dtype != DType::f32) continue;
    for (const auto find : {find_lstm, find_gru, find_rnn}) {
      Cell cell;
      cell.h = cell.c = h;
      if (find(steps, *next, cell)) return cell;
    }
  }
  return {};
}

}  // namespace minnow

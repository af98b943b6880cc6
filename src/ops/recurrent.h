// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM share this: sizes, directions, sequences of different length, activations.
#pragma once
#include "ops/operator.h"

namespace minnow {

inline constexpr Attribute<Name> kRecurrentDirection{"direction", "forward", MINNOW_DOC("forward, reverse or bidirectional")};
inline constexpr Attribute<bool> kRecurrentLayout{"layout", false, MINNOW_DOC("the batch comes first in X, Y and the states")};

inline constexpr Attribute<bool> kInputForget{"input_forget", false, MINNOW_DOC("the forget gate is 1 - the input gate")};
inline constexpr Attribute<bool> kLinearBeforeReset{"linear_before_reset", false,
                                                    MINNOW_DOC("the reset gate scales the product with R, not the state")};
constexpr List<AttributeSpec> recurrent_attributes(std::initializer_list<AttributeSpec> more) {
  List<AttributeSpec> list = {
      optional("activations", AttributeKind::texts, MINNOW_DOC("names of the activations, in order of use, of each direction")),
      optional("activation_alpha", AttributeKind::reals, MINNOW_DOC("one for each activation that takes an alpha")),
      optional("activation_beta", AttributeKind::reals, MINNOW_DOC("one for each activation that takes a beta")),
      optional("clip", AttributeKind::real, MINNOW_DOC("inputs of activations are limited to [-clip, clip]")),
      optional("hidden_size", AttributeKind::integer, MINNOW_DOC("must agree with R")),
      kRecurrentDirection,
      kRecurrentLayout};
  list.append(more);
  return list;
}

/// LSTM and GRU with weights of 8 bits.
inline constexpr Name kQuantizedLstm = "minnow.QuantizedLSTM", kQuantizedGru = "minnow.QuantizedGRU";

/// Arithmetic operations of one run: every step of every sequence multiplies by all of W and R.
double recurrent_operations(const NodeView& node);

/// The sizes of a recurrent node; `Number` is int64_t, or Size in its shape rule.
template <class Number, class Dims>
struct RecurrentDims {
  Number length, batch, input, hidden;
  int64_t directions;
  bool batch_first, first_reversed;
  Dims state() const { return batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden}; }
  Dims sequence() const { return batch_first ? Dims{batch, length, directions, hidden} : Dims{length, directions, batch, hidden}; }
};
using SymbolicRecurrentSizes = RecurrentDims<Size, Sizes>;

/// Checked against all inputs. `gates`: blocks of `hidden` rows in W. `states`: inputs from 5 on that are initial states. `peepholes`: rows
/// of P, input 7, or 0.
SymbolicRecurrentSizes recurrent_sizes(const NodeView& node, int64_t gates, size_t states, int64_t peepholes);

struct RecurrentSizes : RecurrentDims<int64_t, Shape> {
  static RecurrentSizes of(const NodeView& node, int64_t gates, size_t states, int64_t peepholes);
};

/// One activation with its own alpha and beta; chosen once, called per element.
struct RecurrentActivation {
  double (*function)(double x, double alpha, double beta);
  double alpha, beta, clip;
  double operator()(double x) const {
    if (x > clip) x = clip;
    if (x < -clip) x = -clip;
    return function(x, alpha, beta);
  }
  double without_clip(double x) const { return function(x, alpha, beta); }
};
/// The activations of all directions; `defaults` names those of one.
std::vector<RecurrentActivation> recurrent_activations(const NodeView& node, const RecurrentSizes& sizes,
                                                       std::initializer_list<std::string_view> defaults);

/// The weights of one direction in the form that the loops want: one row per input element.
struct RecurrentWeights {
  Numbers<double> w, r;                      // [input, gates * hidden], [hidden, gates * hidden]
  std::span<const double> wb, rb;            // biases, gates * hidden each; empty: 0
  std::span<const double> p;                 // peepholes; empty: 0
  std::span<const double> w_scale, r_scale;  // of integers, gates * hidden each; empty: w and r are the weights themselves
  const RecurrentActivation* activations;
  /// out += h R^T, with h rounded to bytes where R holds integers.
  void add_state(std::span<const double> h, std::span<double> out) const;
};

/// One step of one sequence: `x`, of 4 hidden numbers, begins with X W^T + wb for all gates, and becomes what a gradient needs: the gates
/// and, of a GRU that scales the product with R, that product. `h`, `c` are the states, updated in place.
using RecurrentCell = FunctionRef<void(const RecurrentWeights&, std::span<double> x, std::span<double> h, std::span<double> c)>;

/// Runs the cell over all directions, sequences and steps and writes Y, Y_h and, where `has_cell_state`, Y_c, then gates and cell states.
/// `scales`: the input with the scales of W, which those of R follow; 0: the weights are real numbers.
void run_recurrent(const NodeView& node, KernelArgs& args, const RecurrentSizes& sizes, int64_t gates, bool has_cell_state,
                   std::span<const RecurrentActivation> activations, RecurrentCell cell, size_t scales = 0);

// The same as nodes, for gradients: all steps, one after the other.

/// The weights of one direction.
struct RecurrentParts {
  Expr r, rb, p;  // [hidden, gates * hidden], [gates * hidden], [peepholes * hidden]; empty where absent
  std::span<const RecurrentActivation> activations;
};
Expr recurrent_activation(const RecurrentActivation& activation, const Expr& x, bool clipped = true);
/// One step of all sequences: `x` [batch, gates * hidden] is X W^T + wb; the states [batch, hidden] become the next ones.
using RecurrentStep = FunctionRef<void(const RecurrentParts&, const Expr& x, Expr& h, Expr& c)>;
/// Y, Y_h and, with two states, Y_c.
Exprs unrolled(const NodeView& node, GraphBuilder& builder, const Exprs& inputs, const RecurrentSizes& sizes, int64_t gates, size_t states,
               std::span<const RecurrentActivation> activations, RecurrentStep step);

/// The unrolled form of an RNN, GRU or LSTM.
Exprs recurrent_parts(const NodeView& node, GraphBuilder& builder, const Exprs& inputs);
/// The rule of all three (recurrent_gradient.cpp).
Exprs recurrent_gradient(const GradientContext& context);

/// out[columns] += x[rows] * matrix[rows, columns]
void add_product(std::span<const double> x, std::span<const double> matrix, std::span<double> out);
/// The same for a matrix of integers with a scale for each column. x is rounded to integers from -127 to 127, in steps of its largest
/// magnitude / 127 in f32, so that the sums of products are integers.
void add_rounded_product(std::span<const double> x, std::span<const double> matrix, std::span<const double> scales, std::span<double> out);

}  // namespace minnow

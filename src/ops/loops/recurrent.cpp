// SPDX-License-Identifier: Apache-2.0
// The loops of RNN, GRU and LSTM over directions, sequences and steps.
#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>

namespace minnow {
namespace {

// [rows, columns] of one direction, transposed.
Numbers<double> transposed(std::span<const double> matrix, size_t rows, size_t columns) {
  Numbers<double> result(matrix.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  return result;
}

}  // namespace

void add_product(std::span<const double> x, std::span<const double> matrix, std::span<double> out) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double scale = x[i];
    const double* row = matrix.data() + i * out.size();
    for (size_t j = 0; j < out.size(); ++j) out[j] += scale * row[j];
  }
}

void add_rounded_product(std::span<const double> x, std::span<const double> matrix, std::span<const double> scales, std::span<double> out) {
  float most = 0;
  for (const double number : x)
    if (const float size = std::fabs(static_cast<float>(number)); !(size <= most)) most = size;  // NaN stays
  const float scale = most == 0 ? 1 : most / 127;
  Numbers<double> rounded(x.size()), sums(out.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float steps = std::nearbyint(static_cast<float>(x[i]) / scale);
    rounded[i] = std::isnan(steps) ? 0 : static_cast<double>(steps);
  }
  add_product(rounded, matrix, sums);
  for (size_t j = 0; j < out.size(); ++j)
    out[j] += static_cast<double>(static_cast<float>(sums[j]) * static_cast<float>(scales[j])) * static_cast<double>(scale);
}

void RecurrentWeights::add_state(std::span<const double> h, std::span<double> out) const {
  if (r_scale.empty())
    add_product(h, r, out);
  else
    add_rounded_product(h, r, r_scale, out);
}

void run_recurrent(const NodeView& node, KernelArgs& args, const RecurrentSizes& sizes, int64_t gates, bool has_cell_state,
                   std::span<const RecurrentActivation> activations, RecurrentCell cell, size_t scales) {
  const size_t length = static_cast<size_t>(sizes.length), batch = static_cast<size_t>(sizes.batch),
               hidden = static_cast<size_t>(sizes.hidden), input = static_cast<size_t>(sizes.input),
               directions = static_cast<size_t>(sizes.directions), width = static_cast<size_t>(gates) * hidden;
  const Numbers<double> x = args.reals(0), w = args.reals(1), r = args.reals(2);
  const auto optional = [&](size_t i) { return node.has_input(i) ? args.reals(i) : Numbers<double>(); };
  const Numbers<double> biases = optional(3), initial_h = optional(5), initial_c = has_cell_state ? optional(6) : Numbers<double>(),
                        peepholes = scales ? Numbers<double>() : optional(7), w_scale = scales ? args.reals(scales) : Numbers<double>(),
                        r_scale = scales ? args.reals(scales + 1) : Numbers<double>();
  Numbers<int64_t> lengths(batch, sizes.length);
  if (node.has_input(4)) lengths = args.ints(4);
  for (int64_t steps : lengths)
    if (steps < 0 || steps > sizes.length) args.fail("a sequence length is {}, X has {} steps", steps, sizes.length);

  const size_t state_count = batch * directions * hidden;
  const size_t kept = has_cell_state ? 3 : 2, places = length * state_count;  // first output for gradients
  Numbers<double> y(places), last_h(state_count), last_c(state_count), projected(4 * hidden), h(hidden), c(hidden);
  Numbers<double> kept_gates(args.has_output(kept) ? 4 * places : 0), kept_cells(args.has_output(kept + 1) ? places : 0);
  Pace pace;
  for (size_t d = 0; d < directions; ++d) {
    const auto part = [&](const Numbers<double>& all) {
      return std::span<const double>(all).subspan(d * all.size() / directions, all.size() / directions);
    };
    RecurrentWeights weights;
    weights.w = transposed(part(w), width, input);
    weights.r = transposed(part(r), width, hidden);
    if (!biases.empty()) weights.wb = part(biases).first(width), weights.rb = part(biases).last(width);
    if (!peepholes.empty()) weights.p = part(peepholes);
    if (scales) weights.w_scale = part(w_scale), weights.r_scale = part(r_scale);
    weights.activations = activations.data() + d * activations.size() / directions;
    const bool reversed = d == 1 || sizes.first_reversed;
    for (size_t b = 0; b < batch; ++b) {
      const size_t state = (sizes.batch_first ? b * directions + d : d * batch + b) * hidden;
      for (size_t j = 0; j < hidden; ++j) {
        h[j] = initial_h.empty() ? 0 : initial_h[state + j];
        c[j] = initial_c.empty() ? 0 : initial_c[state + j];
      }
      const size_t steps = static_cast<size_t>(lengths[b]);
      if (steps == 0) continue;  // an empty sequence ends in states of zeros, as in ONNX Runtime; the standard does not say
      for (size_t step = 0; step < steps; ++step) {
        pace.step(width * (input + hidden));
        const size_t t = reversed ? steps - 1 - step : step;
        const size_t row = sizes.batch_first ? b * length + t : t * batch + b;
        for (size_t j = 0; j < width; ++j) projected[j] = weights.wb.empty() ? 0 : weights.wb[j];
        const std::span<const double> at = std::span<const double>(x).subspan(row * input, input);
        if (scales)
          add_rounded_product(at, weights.w, weights.w_scale, std::span(projected).first(width));
        else
          add_product(at, weights.w, std::span(projected).first(width));
        cell(weights, projected, h, c);
        const size_t place = ((d * length + t) * batch + b) * hidden;
        if (!kept_gates.empty()) std::copy(projected.begin(), projected.end(), kept_gates.begin() + static_cast<ptrdiff_t>(4 * place));
        if (!kept_cells.empty()) std::copy(c.begin(), c.end(), kept_cells.begin() + static_cast<ptrdiff_t>(place));
        const size_t to = sizes.batch_first ? (row * directions + d) * hidden : ((t * directions + d) * batch + b) * hidden;
        std::copy(h.begin(), h.end(), y.begin() + static_cast<ptrdiff_t>(to));
      }
      std::copy(h.begin(), h.end(), last_h.begin() + static_cast<ptrdiff_t>(state));
      std::copy(c.begin(), c.end(), last_c.begin() + static_cast<ptrdiff_t>(state));
    }
  }
  if (args.has_output(0)) args.write(0, y);
  if (args.has_output(1)) args.write(1, last_h);
  if (has_cell_state && args.has_output(2)) args.write(2, last_c);
  if (args.has_output(kept)) args.write(kept, kept_gates);
  if (args.has_output(kept + 1)) args.write(kept + 1, kept_cells);
}

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Fourier transforms and the complex numbers that they give: pairs along a new last dimension, which only these rules read. Spectrograms.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "importers/tensorflow/rules.h"

#include "base/memory.h"
#include "base/saturating.h"

namespace minnow::tensorflow {
namespace {

/// DFT along the dimension before the pairs; it wants a batch in front.
Expr transform(TfNode& node, TypedBuilder& p, const Expr& pairs, const Expr& length, Attributes attributes) {
  const int64_t rank = p.rank(pairs);
  if (rank < 0) node.refuse("its input has an unknown number of dimensions");
  const Expr x = rank == 2 ? p.unsqueeze(pairs, {0}) : pairs;
  const Expr axis = p.scalar(static_cast<double>(rank == 2 ? 1 : rank - 2), DType::i64);
  const Expr y = p.op("DFT", {x, length, axis}, std::move(attributes));
  return rank == 2 ? p.squeeze(y, {0}) : y;
}
Expr length_of(TfNode& node, TypedBuilder& p) { return p.reshape(p.i64(node.input(1)), Ints{}); }
Expr half(TfNode& node, TypedBuilder& p, int64_t part) {
  return p.gather(node.input(0), p.scalar(static_cast<double>(part), DType::i64), -1);
}

}  // namespace

Exprs import_fft(TfNode& node, TypedBuilder& p) {
  return {transform(node, p, node.input(0), Expr(), {{"inverse", int64_t{node.def.op == "IFFT"}}})};
}
Exprs import_rfft(TfNode& node, TypedBuilder& p) {
  return {transform(node, p, p.unsqueeze(node.input(0), {-1}), length_of(node, p), {{"onesided", int64_t{1}}})};
}
Exprs import_irfft(TfNode& node, TypedBuilder& p) {
  return {p.squeeze(transform(node, p, node.input(0), length_of(node, p), {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}}), {-1})};
}
Exprs import_complex(TfNode& node, TypedBuilder& p) {
  return {p.concat({p.unsqueeze(node.input(0), {-1}), p.unsqueeze(node.input(1), {-1})}, -1)};
}
Exprs import_real(TfNode& node, TypedBuilder& p) { return {half(node, p, 0)}; }
Exprs import_imaginary(TfNode& node, TypedBuilder& p) { return {half(node, p, 1)}; }
Exprs import_complex_abs(TfNode& node, TypedBuilder& p) {
  return {p.op("ReduceL2", {node.input(0), p.constant({-1})}, {{"keepdims", int64_t{0}}})};
}

/// Samples [time, channels] to squared or plain magnitudes [channels, frames, frequencies].
Exprs audio_spectrogram(TfNode& node, TypedBuilder& p) {
  const int64_t window = node.integer("window_size", 0), stride = node.integer("stride", 0);
  constexpr int64_t kLongest = 1 << 24;
  if (window < 2 || window > kLongest || stride < 1) node.fail("windows of {} samples at a distance of {}", window, stride);
  int64_t length = 1;  // of the transform: a power of 2; zeros follow the window
  while (length < window) length *= 2;
  const Charge table(static_cast<size_t>(length) * sizeof(double));
  std::vector<double> hann(static_cast<size_t>(length));
  for (size_t i = 0; i < static_cast<size_t>(window); ++i)
    hann[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window));
  const Expr samples = p.op("Pad", {p.transpose(node.input(0), {1, 0}), p.constant({0, length - window}), Expr(), p.constant({1})});
  const Expr pairs = p.op("STFT", {p.unsqueeze(samples, {-1}), p.scalar(static_cast<double>(stride), DType::i64), p.reals({length}, hann)});
  return {p.op(node.flag("magnitude_squared") ? "ReduceSumSquare" : "ReduceL2", {pairs, p.constant({-1})}, {{"keepdims", int64_t{0}}})};
}

/// Cosine transforms of the logarithms of a spectrogram's energies in bands of equal width on the mel scale.
Exprs mfcc(TfNode& node, TypedBuilder& p) {  // squared magnitudes [channels, frames, frequencies], sample rate
  const int64_t bins = p.dim(node.input(0), -1), bands = node.integer("filterbank_channel_count", 40),
                count = node.integer("dct_coefficient_count", 13);
  const auto rate = p.number(node.input(1));
  if (bins < 0 || !rate) node.refuse("a spectrogram of unknown width or a sample rate that is not constant is not supported");
  const double low = static_cast<double>(node.real("lower_frequency_limit", 20)),
               high = static_cast<double>(node.real("upper_frequency_limit", 4000));
  if (bins < 2 || bands < 1 || count < 1 || count > bands || !(*rate > 0 && low >= 0 && low < high))
    node.fail("{} coefficients of {} bands from {} to {} Hz of {} frequencies", count, bands, low, high, bins);
  const Charge tables(static_cast<size_t>(clamped_product({clamped_sum({bins, count}), bands, 8})));
  const auto mel = [](double frequency) { return 1127 * std::log1p(frequency / 700); };
  // Band b is a triangle from the edges b to b + 2, with its top at b + 1.
  const double first_edge = mel(low), width = (mel(high) - first_edge) / static_cast<double>(bands + 1);
  const double per_bin = *rate / 2 / static_cast<double>(bins - 1);
  const double first_bin = std::floor(1.5 + low / per_bin), last_bin = std::floor(high / per_bin);
  if (last_bin >= static_cast<double>(bins)) node.fail("{} Hz is beyond the spectrogram's {} frequencies", high, bins);
  std::vector<double> weights(static_cast<size_t>(bins * bands)), cosines(static_cast<size_t>(bands * count));
  for (int64_t bin = 0; bin < bins; ++bin) {
    if (static_cast<double>(bin) < first_bin || static_cast<double>(bin) > last_bin) continue;
    const double place = (mel(static_cast<double>(bin) * per_bin) - first_edge) / width;  // in bands
    for (int64_t band = 0; band < bands; ++band)
      weights[static_cast<size_t>(bin * bands + band)] = std::max(0.0, 1 - std::abs(place - static_cast<double>(band + 1)));
  }
  for (int64_t band = 0; band < bands; ++band)
    for (int64_t i = 0; i < count; ++i)
      cosines[static_cast<size_t>(band * count + i)] =
          std::sqrt(2 / static_cast<double>(bands)) *
          std::cos(std::numbers::pi / static_cast<double>(bands) * static_cast<double>(i) * (static_cast<double>(band) + 0.5));
  const Expr energies = p.op("MatMul", {p.op("Sqrt", {node.input(0)}), p.reals({bins, bands}, weights)});
  const Expr logs = p.op("Log", {p.op("Max", {energies, p.scalar(1e-12)})});
  return {p.op("MatMul", {logs, p.reals({bands, count}, cosines)})};
}

}  // namespace minnow::tensorflow

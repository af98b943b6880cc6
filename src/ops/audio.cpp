// SPDX-License-Identifier: Apache-2.0
// Windows for frames of a signal, and the matrix from frequencies to bands of the mel scale.
#include <cmath>
#include <numbers>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kPeriodic{"periodic", true, MINNOW_DOC("the window's period is its length; else it is symmetric")};
constexpr Attribute<int64_t> kOutputDType{"output_datatype", 1, MINNOW_DOC("dtype of the result, as ONNX numbers it")};

DType output_dtype(const NodeView& node) {
  const int64_t number = node.attribute(kOutputDType);
  if (number < 0 || number > 26 || !contains(kNumeric, static_cast<DType>(number)))
    node.fail("output_datatype is {}, which is no numeric dtype", number);
  return static_cast<DType>(number);
}

void infer_window(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].dtype = output_dtype(node);
  const Size size = node.size_scalar(0);
  if (less(size, 0)) node.fail("a window cannot have {} elements", size);
  outputs[0].set_sizes({size});
}

/// The window c0 - c1 cos(t) + c2 cos(2 t), t from 0 to 2 pi. A symmetric window of one element is 1.
struct Coefficients {
  double c0, c1, c2;
};
constexpr Coefficients kHann{0.5, 0.5, 0}, kHamming{25. / 46, 21. / 46, 0}, kBlackman{0.42, 0.5, 0.08};

template <const Coefficients& kWindow>
void window(const NodeView& node, KernelArgs& args) {
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  const double period = static_cast<double>(y.size()) - (node.attribute(kPeriodic) ? 0 : 1);
  for (size_t i = 0; i < y.size(); ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / period;
    y[i] = period == 0 ? 1 : kWindow.c0 - kWindow.c1 * std::cos(t) + kWindow.c2 * std::cos(2 * t);
  }
  args.write(0, y);
}

constexpr Operator row(Name name, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&)) {
  return {.name = name,
          .since = 17,
          .doc = doc,
          .inputs = {{"size", kIndex}},
          .outputs = {{"output", from_attribute(kOutputDType.name, DType::f32)}},
          .attributes = {kPeriodic, kOutputDType},
          .infer = infer_window,
          .reference = reference};
}

enum MelInput : size_t { kBands, kLength, kRate, kLowest, kHighest };

void infer_mel(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].dtype = output_dtype(node);
  const Size bands = node.size_scalar(kBands), length = node.size_scalar(kLength);
  if (less(bands, 0) || less(length, 0)) node.fail("{} bands of a transform of length {} are not possible", bands, length);
  for (const MelInput i : {kRate, kLowest, kHighest})
    if (!node.may_hold_one(i))
      node.fail("input {} (\"{}\") should hold one element, its shape is {}", static_cast<size_t>(i), node.input_name(i),
                node.input_sizes(i));
  outputs[0].set_sizes({divide_down(length, 2) + 1, bands});
}

void mel(const NodeView&, KernelArgs& args) {
  const int64_t bands = args.ints(kBands)[0], length = args.ints(kLength)[0], rate = args.ints(kRate)[0], bins = length / 2 + 1;
  if (rate <= 0) args.fail("sample_rate is {}", rate);
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double lowest = to_mel(args.reals(kLowest)[0]), highest = to_mel(args.reals(kHighest)[0]);
  const double step = (highest - lowest) / static_cast<double>(bands + 2);
  const auto edge = [&](int64_t i) {  // the frequency bin where band i - 1 ends, i has its peak, and i + 1 begins
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + lowest) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin < static_cast<double>(bins))) args.fail("a band has its edge at {} Hz, which is not in the spectrum", hertz);
    return static_cast<int64_t>(bin);
  };
  Numbers<double> y(static_cast<size_t>(bins * bands));
  for (int64_t i = 0; i < bands; ++i) {
    const auto at = [&](int64_t bin) -> double& { return y[static_cast<size_t>(bin * bands + i)]; };
    const int64_t left = edge(i), peak = edge(i + 1), right = edge(i + 2);
    if (left == peak) at(peak) = 1;
    for (int64_t bin = left; left < peak && bin <= peak; ++bin)
      at(bin) = static_cast<double>(bin - left) / static_cast<double>(peak - left);
    for (int64_t bin = peak; bin < right; ++bin) at(bin) = static_cast<double>(right - bin) / static_cast<double>(right - peak);
  }
  args.write(0, y);
}

constexpr List<Operator> definitions() {
  return {
      row("HannWindow", MINNOW_DOC("1/2 - 1/2 cos(t), t from 0 to 2 pi over the window."), window<kHann>),
      row("HammingWindow", MINNOW_DOC("25/46 - 21/46 cos(t), t from 0 to 2 pi over the window."), window<kHamming>),
      row("BlackmanWindow", MINNOW_DOC("0.42 - 0.5 cos(t) + 0.08 cos(2 t), t from 0 to 2 pi over the window."), window<kBlackman>),
      {.name = "MelWeightMatrix",
       .since = 17,
       .doc = MINNOW_DOC(
           "The matrix that gathers the bins of a spectrum into triangular bands at equal distances on the mel scale, 2595 log10(1 + f / "
           "700): [dft_length / 2 + 1, num_mel_bins]."),
       .inputs = {{"num_mel_bins", kIndex},
                  {"dft_length", kIndex},
                  {"sample_rate", kIndex},
                  {"lower_edge_hertz", kFloats},
                  {"upper_edge_hertz", kFloats}},
       .outputs = {{"output", from_attribute(kOutputDType.name, DType::f32)}},
       .attributes = {kOutputDType},
       .infer = infer_mel,
       .reference = mel},
  };
}

}  // namespace

std::span<const Operator> audio_operators() { return operator_table<definitions>(); }

}  // namespace minnow

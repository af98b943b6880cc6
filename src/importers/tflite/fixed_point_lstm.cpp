// SPDX-License-Identifier: Apache-2.0
// LSTM layers of 8-bit data and weights with a 16-bit cell state: one minnow.FixedPointLstm, with the scales that LiteRT derives from the
// file's tensors (kernels/unidirectional_sequence_lstm.cc), in its order and precision.
#include <algorithm>
#include <cmath>

#include "importers/tflite/rules.h"

namespace minnow::tflite {
namespace {

enum Input : size_t {
  kX = 0,
  kW = 1,
  kR = 5,
  kPeephole = 9,
  kBias = 12,
  kProjection = 16,
  kProjectionBias = 17,
  kH = 18,
  kC = 19,
  kNorm = 20
};

const TensorInfo* info_of(const TfliteNode& node, size_t i) { return i < node.in.size() ? node.in[i] : nullptr; }
Expr stored(const TfliteNode& node, size_t i) { return i < node.raw.size() ? node.raw[i] : Expr(); }

/// One scale for all elements, and for weights zero point 0.
bool is_plain(const TensorInfo* info, DType dtype, bool symmetric = true) {
  if (!info || info->dtype != dtype || info->quantization.block || !info->quantization.per_tensor()) return false;
  const Ints& zeros = info->quantization.zero_point;
  return !symmetric || std::all_of(zeros.begin(), zeros.end(), [](int64_t zero) { return zero == 0; });
}
float scale_of(const TensorInfo* info) { return info && info->quantization.per_tensor() ? info->quantization.scale[0] : 0; }
int64_t zero_of(const TensorInfo* info) { return info->quantization.zero_point.empty() ? 0 : info->quantization.zero_point[0]; }

/// The exponent of the cell state's scale, if that is a power of two that LiteRT takes.
std::optional<int64_t> cell_exponent(const TensorInfo* cell) {
  int exponent = 0;
  if (!is_plain(cell, DType::i16) || std::frexp(scale_of(cell), &exponent) != 0.5f) return {};
  --exponent;
  if (exponent < -15 || exponent > -9) return {};
  return exponent;
}

}  // namespace

Exprs fixed_point_lstm(TfliteNode& node, TypedBuilder& p, const Expr& x) {
  const bool coupled = !stored(node, kW), norms = static_cast<bool>(stored(node, kNorm + 1));
  const size_t first = coupled ? 1 : 0;
  const std::optional<int64_t> exponent = cell_exponent(info_of(node, kC));
  if (!p.operators().find("minnow.FixedPointLstm") || !exponent || node.option<int8_t>(0, 0) != 4 || node.intermediates.size() != 5)
    return {};
  const TensorInfo* hidden = node.intermediates[4];
  bool fits = is_plain(info_of(node, kX), DType::i8, false) && is_plain(info_of(node, kH), DType::i8, false) && hidden &&
              hidden->quantization.per_tensor() && scale_of(hidden) > 0;
  for (size_t gate = first; gate < 4; ++gate) {
    fits = fits && is_plain(info_of(node, kW + gate), DType::i8) && is_plain(info_of(node, kR + gate), DType::i8);
    if (norms) fits = fits && is_plain(info_of(node, kNorm + gate), DType::i16) && scale_of(node.intermediates[gate]) > 0;
    if (stored(node, kBias + gate)) fits = fits && info_of(node, kBias + gate)->dtype == DType::i32;
  }
  const bool projects = static_cast<bool>(stored(node, kProjection)), peepholes = static_cast<bool>(stored(node, kPeephole + 2));
  if (projects) fits = fits && is_plain(info_of(node, kProjection), DType::i8);
  if (stored(node, kProjectionBias)) fits = fits && info_of(node, kProjectionBias)->dtype == DType::i32;
  for (size_t gate = first; peepholes && gate < 3; ++gate) fits = fits && is_plain(info_of(node, kPeephole + gate), DType::i16);
  if (!fits) return {};

  const TensorInfo &input = *info_of(node, kX), &state = *info_of(node, kH), &cell = *info_of(node, kC);
  Floats x_scales, h_scales, peephole_scales, norm_scales;
  Exprs w, r, b, peephole, norm;
  bool has_bias = false;
  for (size_t gate = first; gate < 4; ++gate) {
    const float step = norms ? scale_of(node.intermediates[gate]) : 0x1p-12f;
    x_scales.push_back(scale_of(info_of(node, kW + gate)) * scale_of(&input) / step);
    h_scales.push_back(scale_of(info_of(node, kR + gate)) * scale_of(&state) / step);
    w.push_back(p.unsqueeze(stored(node, kW + gate), {0}));
    r.push_back(p.unsqueeze(stored(node, kR + gate), {0}));
    b.push_back(stored(node, kBias + gate));
    has_bias = has_bias || b.back();
    if (norms) {
      norm.push_back(p.unsqueeze(stored(node, kNorm + gate), {0}));
      norm_scales.push_back(scale_of(info_of(node, kNorm + gate)));
    }
    if (peepholes && gate != 2) {
      const size_t place = kPeephole + (gate == 3 ? 2 : gate);
      peephole.push_back(p.unsqueeze(stored(node, place), {0}));
      peephole_scales.push_back(std::ldexp(scale_of(info_of(node, place)), static_cast<int>(*exponent)) / step);
    }
  }
  for (size_t i = 0; has_bias && i < b.size(); ++i)
    b[i] = p.unsqueeze(b[i] ? b[i] : p.fill(p.shape_of(stored(node, kW + first + i), 0, 1), 0, DType::i32), {0});
  const auto together = [&](const Exprs& parts) { return parts.empty() ? Expr() : p.concat(parts, 0); };
  const auto clip = [](float limit, float scale, int64_t most) {
    return limit > 0 ? static_cast<int64_t>(std::clamp(limit / scale, static_cast<float>(-most - 1), static_cast<float>(most)))
                     : int64_t{0};
  };
  Attributes attributes{{"x_scales", x_scales},
                        {"h_scales", h_scales},
                        {"x_zero_point", zero_of(&input)},
                        {"y_zero_point", zero_of(&state)},
                        {"hidden_scale", scale_of(hidden)},
                        {"hidden_zero_point", zero_of(hidden)},
                        {"cell_exponent", *exponent},
                        {"cell_clip", clip(node.real_option(1, 0), scale_of(&cell), INT16_MAX)}};
  if (peepholes) attributes.set("peephole_scales", peephole_scales);
  if (norms) attributes.set("norm_scales", norm_scales);
  if (projects) {
    attributes.set("projection_scale", scale_of(info_of(node, kProjection)) * scale_of(hidden) / scale_of(&state));
    attributes.set("projection_clip", clip(node.real_option(2, 0), scale_of(&state), INT8_MAX));
  }
  return p.ops("minnow.FixedPointLstm",
               {x, together(w), together(r), has_bias ? together(b) : Expr(), stored(node, kH), stored(node, kC), together(peephole),
                together(norm), stored(node, kProjection), stored(node, kProjectionBias)},
               3, std::move(attributes));
}

}  // namespace minnow::tflite

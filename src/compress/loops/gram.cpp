// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include "compress/means.h"
#include "compress/rounding.h"

namespace minnow::compress {

Gram::Gram(const Layer& layer, size_t most, size_t step) : layer_(layer) {
  const Shape& w = layer.weights->constant()->shape();
  depth_ = static_cast<size_t>(w.elements() / w[layer.axis]);
  const size_t groups = static_cast<size_t>(int_attribute(*layer.node, "group", 1));
  if (step == 0) step = layer.node->op() == "Conv" ? static_cast<size_t>(w.product(2, w.rank())) : 1;
  most = std::max(most / step, size_t{1}) * step;
  groups_.resize(groups), waiting_.resize(groups);
  for (auto& blocks : groups_)
    for (size_t begin = 0; begin < depth_; begin += most) {
      const size_t size = std::min(most, depth_ - begin);
      blocks.push_back({begin, size, std::vector<double>(size * size, 0)});
    }
}

size_t Gram::bytes() const noexcept {
  size_t bytes = 0;
  for (const auto& blocks : groups_)
    for (const Block& block : blocks) bytes += block.matrix.size() * sizeof(double);
  return bytes;
}

double* Gram::next_row(size_t group) {
  std::vector<double>& rows = waiting_[group];
  if (rows.size() == kRowsAtOnce * depth_) flush(group);
  rows.resize(rows.size() + depth_);
  return rows.data() + rows.size() - depth_;
}

void Gram::flush(size_t group) {
  std::vector<double>& waiting = waiting_[group];
  waiting.resize(kRowsAtOnce * depth_, 0);
  for (Block& block : groups_[group])
    for (size_t i = 0; i < block.size; ++i) {
      double* __restrict sums = block.matrix.data() + i * block.size;
      const double* from[kRowsAtOnce];
      double x[kRowsAtOnce];
      bool any = false;
      for (size_t r = 0; r < kRowsAtOnce; ++r) {
        from[r] = waiting.data() + r * depth_ + block.begin;
        x[r] = from[r][i], any |= x[r] != 0;
      }
      if (!any) continue;
      for (size_t k = 0; k < block.size; ++k)
        sums[k] += ((x[0] * from[0][k] + x[1] * from[1][k]) + (x[2] * from[2][k] + x[3] * from[3][k])) +
                   ((x[4] * from[4][k] + x[5] * from[5][k]) + (x[6] * from[6][k] + x[7] * from[7][k]));
    }
  waiting.clear();
}

Gram Gram::divided(std::span<const double> factors) const {
  Gram result = *this;
  for (Block& block : result.groups_[0])
    for (size_t i = 0; i < block.size; ++i)
      for (size_t k = 0; k < block.size; ++k) block.matrix[i * block.size + k] /= factors[block.begin + i] * factors[block.begin + k];
  return result;
}

void Gram::add(const Tensor& x, const Quantizer* quantizer, size_t positions, uint64_t seed) {
  if (layer_.node->op() == "Conv") return add_patches(x, quantizer, positions, seed);
  std::mt19937_64 generator(seed);
  const size_t rows = static_cast<size_t>(x.elements()) / depth_;
  for (size_t i = 0; i < std::min(rows, positions); ++i) {
    const size_t row = rows <= positions ? i : generator() % rows;
    double* inputs = next_row(0);
    for (size_t k = 0; k < depth_; ++k) {
      const double value = static_cast<double>(x.data<float>()[row * depth_ + k]);
      inputs[k] = quantizer ? (*quantizer)(value) : value;
    }
  }
  flush(0);
}

void Gram::add_patches(const Tensor& x, const Quantizer* quantizer, size_t positions, uint64_t seed) {
  std::mt19937_64 generator(seed);
  const Node& node = *layer_.node;
  const Shape &shape = x.shape(), &w = layer_.weights->constant()->shape();
  const size_t spatial = shape.rank() - 2, groups = groups_.size(), each = static_cast<size_t>(w[1]);
  const Ints *strides = ints_attribute(node, "strides"), *dilations = ints_attribute(node, "dilations"),
             *pads = ints_attribute(node, "pads");
  const std::string_view automatic = text_attribute(node, "auto_pad", "NOTSET");
  std::vector<int64_t> stride(spatial, 1), dilation(spatial, 1), pad(spatial, 0), outputs(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    if (strides && i < strides->size()) stride[i] = (*strides)[i];
    if (dilations && i < dilations->size()) dilation[i] = (*dilations)[i];
    const int64_t size = shape[i + 2], reach = dilation[i] * (w[i + 2] - 1) + 1;
    int64_t all = 0;
    if (automatic.starts_with("SAME")) {
      outputs[i] = (size + stride[i] - 1) / stride[i];
      all = std::max((outputs[i] - 1) * stride[i] + reach - size, int64_t{0});
      pad[i] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
    } else {
      if (pads && pads->size() == 2 * spatial) pad[i] = (*pads)[i], all = (*pads)[i] + (*pads)[i + spatial];
      outputs[i] = (size + all - reach) / stride[i] + 1;
    }
    if (outputs[i] <= 0) return;
  }
  const size_t taps = depth_ / each, plane = static_cast<size_t>(shape.product(2, shape.rank()));
  const size_t places =
      static_cast<size_t>(shape[0]) * static_cast<size_t>(std::accumulate(outputs.begin(), outputs.end(), int64_t{1}, std::multiplies<>()));
  std::vector<int64_t> at(spatial), offsets(taps);
  for (size_t n = 0; n < std::min(places, positions); ++n) {
    size_t place = places <= positions ? n : generator() % places;
    for (size_t i = spatial; i-- > 0;)
      at[i] = static_cast<int64_t>(place % static_cast<size_t>(outputs[i])), place /= static_cast<size_t>(outputs[i]);
    for (size_t tap = 0; tap < taps; ++tap) {
      size_t rest = tap;
      int64_t offset = 0, step = 1;
      for (size_t i = spatial; i-- > 0;) {
        const int64_t k = static_cast<int64_t>(rest % static_cast<size_t>(w[i + 2]));
        rest /= static_cast<size_t>(w[i + 2]);
        const int64_t from = at[i] * stride[i] - pad[i] + k * dilation[i];
        if (from < 0 || from >= shape[i + 2]) {
          offset = -1;
          break;
        }
        offset += from * step, step *= shape[i + 2];
      }
      offsets[tap] = offset;
    }
    for (size_t g = 0; g < groups; ++g) {
      double* inputs = next_row(g);
      for (size_t c = 0; c < each; ++c) {
        const Quantizer of_channel = quantizer ? quantizer->of_channel(g * each + c) : Quantizer();
        const float* from = x.data<float>() + (place * static_cast<size_t>(shape[1]) + g * each + c) * plane;
        for (size_t tap = 0; tap < taps; ++tap) {
          const double value = offsets[tap] < 0 ? 0 : static_cast<double>(from[offsets[tap]]);
          inputs[c * taps + tap] = quantizer && offsets[tap] >= 0 ? of_channel(value) : value;
        }
      }
    }
  }
  for (size_t g = 0; g < groups; ++g) flush(g);
}

}  // namespace minnow::compress

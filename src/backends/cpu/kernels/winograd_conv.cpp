// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/winograd_conv.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;                          // vectors of output channels computed together
constexpr ptrdiff_t kNoTaps = 0;                     // the one tap of a product of matrices
constexpr size_t kMostPositions = 9, kMostTaps = 4;  // along an axis
constexpr size_t kMostLanes = 16;

// An odd number of cache lines: planes a power of two apart would all fall into the same sets of the caches.
size_t odd_lines(size_t floats) {
  const size_t lines = ceil_div(floats, 16);
  return (lines + (lines % 2 ? 0 : 1)) * 16;
}

// Row i of G, which takes the taps of a kernel to position i along one axis.
void kernel_row(WinogradForm form, int i, double* g) {
  const int outputs = numbers_of(form).outputs;
  double two[2];
  switch (form) {
    case WinogradForm::f2:
      return WinogradPoints<2, 3>::kernel_row(i, g);
    case WinogradForm::f4:
      return WinogradPoints<4, 3>::kernel_row(i, g);
    case WinogradForm::four_f3:
      return WinogradPoints<3, 4>::kernel_row(i, g);
    default:
      g[0] = g[2] = 0;
      g[1] = i > outputs;
      if (i > outputs) return;
      outputs == 2 ? WinogradPoints<2, 2>::kernel_row(i, two) : WinogradPoints<4, 2>::kernel_row(i, two);
      g[0] = two[0], g[2] = two[1];
  }
}

}  // namespace

WinogradConv::WinogradConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue)
    : shape_(shape),
      epilogue_(epilogue),
      tile_(kernels.tile),
      input_(kernels.winograd->input[static_cast<size_t>(options.form)]),
      output_(kernels.winograd->output[static_cast<size_t>(options.form)]),
      form_(options.form),
      lanes_(kernels.lanes),
      in_vectors_(ceil_div(shape.in_channels, lanes_)),
      out_vectors_(ceil_div(shape.out_channels, lanes_)) {
  const WinogradNumbers numbers = numbers_of(form_);
  m_ = static_cast<size_t>(numbers.outputs), a_ = static_cast<size_t>(numbers.positions), step_ = static_cast<size_t>(numbers.step);
  positions_ = a_ * a_;
  tiles_w_ = ceil_div(shape.out_w, m_);
  tiles_ = tiles_w_ * ceil_div(shape.out_h, m_);
  // The transformed input of a block takes up to two fifths of L2; the products of two vectors and the weights that pass by need the rest.
  const size_t most = static_cast<size_t>(tile_->rows[kPair]);
  const size_t fitting = options.l2 * 2 / 5 / sizeof(float) / (positions_ * in_vectors_ * lanes_);
  blocks_ = ceil_div(tiles_, std::clamp(fitting, most, 4 * most));
  const size_t largest = ceil_div(tiles_, blocks_);
  block_floats_ = positions_ * odd_lines(largest * in_vectors_ * lanes_);
  product_floats_ = positions_ * odd_lines(largest * kPair * lanes_);
  const size_t parts = shape.batch * blocks_, pairs = ceil_div(out_vectors_, kPair);
  if (options.threads > 1 && parts < 4 * options.threads) {
    chunks_ = std::min(pairs, ceil_div(4 * options.threads, parts));
    shared_ = chunks_ > 1;
  }
}

// [pair of vectors][position][in channel][lanes of the pair]
void WinogradConv::pack_weights(const float* oihw, float* out) const noexcept {
  const size_t in = shape_.in_channels, taps = shape_.kernel_h;
  double g[kMostPositions][kMostTaps];
  for (size_t i = 0; i < a_; ++i) kernel_row(form_, static_cast<int>(i), g[i]);
  std::memset(out, 0, weight_floats() * sizeof(float));
  for (size_t o = 0; o < shape_.out_channels; ++o) {
    const size_t pair = o / (kPair * lanes_), lanes = std::min(kPair, out_vectors_ - pair * kPair) * lanes_;
    float* panel = out + pair * kPair * lanes_ * positions_ * in + o % (kPair * lanes_);
    for (size_t c = 0; c < in; ++c) {
      const float* k = oihw + (o * in + c) * taps * taps;
      double rows[kMostPositions][kMostTaps] = {};
      for (size_t i = 0; i < a_; ++i)
        for (size_t y = 0; y < taps; ++y)
          for (size_t x = 0; x < taps; ++x) rows[i][x] += g[i][y] * static_cast<double>(k[y * taps + x]);
      for (size_t i = 0; i < a_; ++i)
        for (size_t j = 0; j < a_; ++j) {
          double sum = 0;
          for (size_t x = 0; x < taps; ++x) sum += g[j][x] * rows[i][x];
          panel[((i * a_ + j) * in + c) * lanes] = static_cast<float>(sum);
        }
    }
  }
}

void WinogradConv::pack_bias(const float* bias, float* out) const noexcept {
  for (size_t o = 0; o < out_vectors_ * lanes_; ++o) out[o] = o < shape_.out_channels ? bias[o] : 0;
}

WinogradConv::Block WinogradConv::block(size_t index) const noexcept {
  const size_t first = share(tiles_, blocks_, index), tiles = share(tiles_, blocks_, index + 1) - first;
  return {first, tiles, odd_lines(tiles * in_vectors_ * lanes_)};
}

// v: [position][vector of channels][tile][lane]
void WinogradConv::transform_vector(const Block& b, const float* image, size_t vector, float* v) const noexcept {
  const size_t row = shape_.in_w * lanes_, a = a_;
  const float* plane = image + vector * shape_.in_h * row;
  const ptrdiff_t in_h = static_cast<ptrdiff_t>(shape_.in_h), in_w = static_cast<ptrdiff_t>(shape_.in_w), size = static_cast<ptrdiff_t>(a);
  for (size_t t = 0; t < b.tiles; ++t) {
    const ptrdiff_t y = static_cast<ptrdiff_t>((b.first + t) / tiles_w_ * step_) - static_cast<ptrdiff_t>(shape_.pad_top);
    const ptrdiff_t x = static_cast<ptrdiff_t>((b.first + t) % tiles_w_ * step_) - static_cast<ptrdiff_t>(shape_.pad_left);
    float* to = v + (vector * b.tiles + t) * lanes_;
    if (y >= 0 && x >= 0 && y + size <= in_h && x + size <= in_w) {
      input_(plane + (static_cast<size_t>(y) * shape_.in_w + static_cast<size_t>(x)) * lanes_, row, to, b.plane);
      continue;
    }
    alignas(64) float edge[kMostPositions * kMostPositions * kMostLanes];
    const ptrdiff_t left = std::clamp<ptrdiff_t>(-x, 0, size), right = std::clamp<ptrdiff_t>(in_w - x, left, size);
    for (ptrdiff_t i = 0; i < size; ++i) {
      float* line = edge + static_cast<size_t>(i) * a * lanes_;
      if (y + i < 0 || y + i >= in_h) {
        std::memset(line, 0, a * lanes_ * sizeof(float));
        continue;
      }
      std::memset(line, 0, static_cast<size_t>(left) * lanes_ * sizeof(float));
      std::memcpy(line + static_cast<size_t>(left) * lanes_, plane + ((y + i) * in_w + x + left) * static_cast<ptrdiff_t>(lanes_),
                  static_cast<size_t>(right - left) * lanes_ * sizeof(float));
      std::memset(line + static_cast<size_t>(right) * lanes_, 0, static_cast<size_t>(size - right) * lanes_ * sizeof(float));
    }
    input_(edge, a * lanes_, to, b.plane);
  }
}

void WinogradConv::transform(size_t unit, const Arguments& a, float* shared) const noexcept {
  const size_t vector = unit % in_vectors_, part = unit / in_vectors_, image = part / blocks_;
  const float* x = a.x + image * in_vectors_ * shape_.in_h * shape_.in_w * lanes_;
  transform_vector(block(part % blocks_), x, vector, shared + part * block_floats_);
}

void WinogradConv::run(size_t unit, const Arguments& a, const float* shared, float* scratch) const noexcept {
  const size_t chunk = unit % chunks_, part = unit / chunks_, image = part / blocks_;
  const Block b = block(part % blocks_);
  const float* v = shared + part * block_floats_;
  if (!shared_) {
    float* own = scratch + product_floats_;
    const float* x = a.x + image * in_vectors_ * shape_.in_h * shape_.in_w * lanes_;
    for (size_t vector = 0; vector < in_vectors_; ++vector) transform_vector(b, x, vector, own);
    v = own;
  }
  const size_t in = shape_.in_channels, y_row = shape_.out_w * lanes_, y_plane = shape_.out_h * y_row;
  const size_t tiles = ceil_div(b.tiles, static_cast<size_t>(tile_->rows[kPair]));
  const size_t pairs = ceil_div(out_vectors_, kPair), last = share(pairs, chunks_, chunk + 1);
  Tile t;
  t.taps = &kNoTaps;
  t.blocks = in / lanes_;
  t.rest = in % lanes_;
  t.block_stride = static_cast<ptrdiff_t>(b.tiles * lanes_);
  t.vector_stride = static_cast<ptrdiff_t>(lanes_);
  for (size_t pair = share(pairs, chunks_, chunk); pair < last; ++pair) {
    const size_t vectors = std::min(kPair, out_vectors_ - pair * kPair), lanes = vectors * lanes_;
    const size_t product = odd_lines(b.tiles * lanes), lines = std::max<size_t>(1, lanes * sizeof(float) / 64);
    const float* w = a.w + pair * kPair * lanes_ * positions_ * in;
    t.pixel_stride = static_cast<ptrdiff_t>(lanes);
    for (size_t position = 0; position < positions_; ++position, w += in * lanes)
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = share(b.tiles, tiles, i), rows = share(b.tiles, tiles, i + 1) - from, half = (rows + 1) / 2;
        t.w = w;
        t.x[0] = v + position * b.plane + from * lanes_;
        t.x[1] = t.x[0] + half * lanes_;
        t.y[0] = scratch + position * product + from * lanes;
        t.y[1] = t.y[0] + half * lanes;
        // The next position's weights are asked for while this one computes, shared out over the tiles.
        t.prefetch = i < lines ? reinterpret_cast<const char*>(w + in * lanes) + i * in * 64 : nullptr;
        tile_->packed[vectors][rows](t);
      }
    WinogradOutput o;
    o.plane = product;
    o.low = epilogue_.low, o.high = epilogue_.high, o.clamps = epilogue_.clamps();
    o.row = y_row;
    for (size_t n = 0; n < vectors; ++n) {
      const size_t vector = pair * kPair + n, at = (image * out_vectors_ + vector) * y_plane;
      o.bias = a.bias ? a.bias + vector * lanes_ : nullptr;
      for (size_t i = 0; i < b.tiles; ++i) {
        const size_t y = (b.first + i) / tiles_w_ * m_, x = (b.first + i) % tiles_w_ * m_, place = at + y * y_row + x * lanes_;
        o.m = scratch + i * lanes + n * lanes_;
        o.add = a.add ? a.add + place : nullptr;
        o.y = a.y + place;
        o.rows = std::min(m_, shape_.out_h - y);
        o.columns = std::min(m_, shape_.out_w - x);
        output_(o);
        if (epilogue_.after)
          for (size_t r = 0; r < o.rows; ++r)
            epilogue_.after(o.y + r * y_row, o.y + r * y_row, o.columns * lanes_, epilogue_.a, epilogue_.b);
      }
    }
  }
}

}  // namespace minnow::cpu

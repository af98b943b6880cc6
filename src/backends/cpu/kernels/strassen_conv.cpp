// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/strassen_conv.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;       // vectors of output channels that a tile computes
constexpr ptrdiff_t kNoTaps = 0;  // the one tap of a product of matrices
// Blocks of 100 to 200 pixels and chunks of 128 to 512 channels were within 1 % of each other. Both are fixed because results must not
// depend on the number of threads.
constexpr size_t kBlockPixels = 200, kChunkChannels = 128;

// The seven products in their order: a left factor (quarter of the input or one of its sums) times a factor of weights.
enum Left { kA11, kA12, kA21, kA22, kS1, kS2, kS3, kS4 };
enum Target { kX, kY, kC11, kC12, kC21, kC22, kNowhere };
struct Product {
  Left left;
  Target to, add, also;  // to = product + add; also += product
};
constexpr size_t kProducts = 7;
constexpr Product kSteps[kProducts] = {
    {kA11, kX, kNowhere, kNowhere}, {kA12, kC11, kX, kNowhere}, {kS2, kX, kX, kNowhere}, {kS3, kY, kX, kNowhere}, {kS1, kC22, kY, kX},
    {kS4, kC12, kX, kNowhere},      {kA22, kC21, kY, kNowhere},
};

// The factors of weights that belong to them, from the quarters b11, b12, b21, b22.
void factors(double b11, double b12, double b21, double b22, float (&f)[kProducts]) {
  const double t1 = b12 - b11, t2 = b22 - t1;
  const double exact[kProducts] = {b11, b21, t2, b22 - b12, t1, b22, b21 - t2};
  for (size_t p = 0; p < kProducts; ++p) f[p] = static_cast<float>(exact[p]);
}

}  // namespace

StrassenConv::StrassenConv(const Kernels& kernels, const ConvShape& shape, const Epilogue& epilogue, bool rows)
    : shape_(shape),
      epilogue_(epilogue),
      tile_(kernels.tile),
      lanes_(kernels.lanes),
      in_vectors_(shape.in_channels / kernels.lanes),
      out_vectors_(ceil_div(shape.out_channels, kernels.lanes)),
      pixels_(shape.in_h * shape.in_w),
      rows_(rows),
      y_pixel_(rows ? shape.out_channels : kernels.lanes),
      y_vector_(rows ? kernels.lanes : pixels_ * kernels.lanes) {
  blocks_ = ceil_div(pixels_, kBlockPixels);
  quads_ = shape.out_channels / (4 * lanes_);
  chunks_ = ceil_div(quads_ * 4 * lanes_, kChunkChannels);
  if (chunks_ % 2 && chunks_ < quads_) ++chunks_;  // an even number of units goes well with most numbers of threads
  rest_ = out_vectors_ - 4 * quads_;
  const size_t widest = ceil_div(quads_, chunks_) * kPair;  // vectors of half a chunk
  scratch_floats_ = 2 * widest * half_of(ceil_div(pixels_, blocks_)) * lanes_;
}

// [chunk][product][pair of vectors][in channel of half][lanes of the pair], then the rest as [pair][in channel][lanes of the pair].
void StrassenConv::pack_weights(const Weights& weights, float* out) const noexcept {
  constexpr size_t kWhole = 16;  // input channels at a time: whole cache lines of the weights
  const size_t in = shape_.in_channels, half_in = in / 2, lanes = kPair * lanes_;
  for (size_t chunk = 0; chunk < chunks_; ++chunk) {
    const size_t first = chunk_begin(chunk) * lanes_, half = (chunk_begin(chunk + 1) * lanes_ - first) / 2;
    for (size_t pair = 0; pair < half; pair += lanes)
      for (size_t begin = 0; begin < half_in; begin += kWhole) {
        float* to = out + chunk_weights(chunk) + (pair * half_in + begin * lanes);
        const size_t count = std::min(kWhole, half_in - begin);
        for (size_t l = 0; l < lanes; ++l) {
          const size_t left = first + pair + l, right = left + half;
          for (size_t k = 0; k < count; ++k) {
            const size_t top = begin + k, bottom = half_in + top;
            float f[kProducts];
            factors(weights.at(left, top), weights.at(right, top), weights.at(left, bottom), weights.at(right, bottom), f);
            for (size_t p = 0; p < kProducts; ++p) to[p * half * half_in + k * lanes + l] = f[p];
          }
        }
      }
  }
  float* to = out + chunk_weights(chunks_);
  for (size_t v = 4 * quads_; v < out_vectors_; v += kPair) {
    const size_t wide = std::min(kPair, out_vectors_ - v) * lanes_;
    for (size_t k = 0; k < in; ++k)
      for (size_t l = 0; l < wide; ++l) {
        const size_t o = v * lanes_ + l;
        *to++ = o < shape_.out_channels ? weights.at(o, k) : 0;
      }
  }
}

void StrassenConv::pack_bias(const float* bias, float* out) const noexcept {
  for (size_t o = 0; o < out_vectors_ * lanes_; ++o) out[o] = o < shape_.out_channels ? bias[o] : 0;
}

StrassenConv::Block StrassenConv::block(size_t index) const noexcept {
  const size_t i = index % blocks_, first = share(pixels_, blocks_, i), pixels = share(pixels_, blocks_, i + 1) - first;
  return {index / blocks_, first, pixels, half_of(pixels), pixels - half_of(pixels)};
}

void StrassenConv::sum(size_t unit, const Arguments& a, float* shared) const noexcept {
  const size_t half_in = in_vectors_ / 2, vector = unit % half_in, index = unit / half_in;
  const Block b = block(index);
  const size_t plane = pixels_ * lanes_, size = half_in * b.half * lanes_;
  if (rows_)
    for (size_t v : {vector, vector + half_in}) {
      const float* from = a.x + b.first * shape_.in_channels + v * lanes_;
      float* to = packed_rows(shared) + v * plane + b.first * lanes_;
      for (size_t p = 0; p < b.pixels; ++p) std::memcpy(to + p * lanes_, from + p * shape_.in_channels, lanes_ * sizeof(float));
    }
  const float* top = image_of(b, a, shared) + vector * plane + b.first * lanes_;
  const float* right = top + half_in * plane;
  float* s = shared + index * block_floats() + vector * b.half * lanes_;
  tile_->strassen_sums({top, right, top + b.low * lanes_, right + b.low * lanes_}, {s, s + size, s + 2 * size, s + 3 * size}, b.half);
}

void StrassenConv::run(size_t unit, const Arguments& a, const float* shared, float* scratch) const noexcept {
  const size_t parts = chunks_ + (rest_ ? 1 : 0), chunk = unit % parts, index = unit / parts;
  const Block b = block(index);
  if (chunk == chunks_) return rest(b, a, image_of(b, a, shared));
  const size_t plane = pixels_ * lanes_, half_in = in_vectors_ / 2, row = b.half * lanes_, depth = shape_.in_channels / 2;
  const size_t first = chunk_begin(chunk), half_out = (chunk_begin(chunk + 1) - first) / 2, lanes = kPair * lanes_;
  const float* image = image_of(b, a, shared) + b.first * lanes_;
  const float* sums = shared + index * block_floats();
  float *x = scratch, *y = scratch + half_out * row;
  const size_t c = (b.image * out_vectors_ + first) * y_vector_ + b.first * y_pixel_;  // of c11
  const size_t most = static_cast<size_t>(tile_->rows[kPair]), tiles = ceil_div(b.half, most);
  const size_t lines = std::max<size_t>(1, lanes * sizeof(float) / 64);

  Tile t;
  t.taps = &kNoTaps;
  t.blocks = half_in;
  t.low = epilogue_.low, t.high = epilogue_.high;
  t.prefetch_also = tiles < lines ? static_cast<ptrdiff_t>(depth * 64) : 0;
  t.sums.stride = static_cast<ptrdiff_t>(row);
  t.w = a.w + chunk_weights(chunk);
  for (const Product& p : kSteps) {
    const bool from_sums = p.left >= kS1, is_output = p.to >= kC11;
    const float* left = from_sums ? sums + static_cast<size_t>(p.left - kS1) * half_in * row
                                  : image + (p.left == kA12 || p.left == kA22 ? half_in * plane : 0) +
                                        (p.left == kA21 || p.left == kA22 ? b.low * lanes_ : 0);
    t.block_stride = static_cast<ptrdiff_t>(from_sums ? row : plane);
    t.vector_stride = static_cast<ptrdiff_t>(is_output ? y_vector_ : row);
    t.pixel_stride = static_cast<ptrdiff_t>(is_output ? y_pixel_ : lanes_);
    t.finish = is_output && (a.add || epilogue_.clamps());
    const bool right = p.to == kC12 || p.to == kC22;
    const size_t output = c + (right ? half_out * y_vector_ : 0) + (p.to == kC21 || p.to == kC22 ? b.low * y_pixel_ : 0);
    for (size_t v = 0; v < half_out; v += kPair, t.w += depth * lanes)
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = share(b.half, tiles, i), rows = share(b.half, tiles, i + 1) - from, half = (rows + 1) / 2;
        const size_t at = v * row + from * lanes_, place = output + v * y_vector_ + from * y_pixel_;
        const size_t to_half = half * (is_output ? y_pixel_ : lanes_);
        t.x[0] = left + from * lanes_;
        t.x[1] = t.x[0] + half * lanes_;
        t.y[0] = is_output ? a.y + place : (p.to == kX ? x : y) + at;
        t.y[1] = t.y[0] + to_half;
        t.add[0] = is_output && a.add ? a.add + place : nullptr;
        t.add[1] = t.add[0] ? t.add[0] + to_half : nullptr;
        t.sums.add = p.add == kNowhere ? nullptr : (p.add == kX ? x : y) + at;
        t.sums.also = p.also == kNowhere ? nullptr : x + at;
        t.sums.bias = is_output && a.bias ? a.bias + (first + (right ? half_out : 0) + v) * lanes_ : nullptr;
        // The weights lie in the order of use: those of the next pair, or of the next product, are asked for meanwhile.
        t.prefetch = i < lines ? reinterpret_cast<const char*>(t.w + depth * lanes) + i * depth * 64 : nullptr;
        tile_->summed[rows](t);
        if (is_output && epilogue_.after) finish(t.y[0], kPair, rows);
      }
  }
}

void StrassenConv::finish(float* y, size_t vectors, size_t pixels) const noexcept {
  const size_t runs = rows_ ? pixels : vectors, step = rows_ ? y_pixel_ : y_vector_, count = (rows_ ? vectors : pixels) * lanes_;
  for (size_t i = 0; i < runs; ++i, y += step) epilogue_.after(y, y, count, epilogue_.a, epilogue_.b);
}

// The output channels that are too few for four vectors, directly.
void StrassenConv::rest(const Block& b, const Arguments& a, const float* image) const noexcept {
  const size_t plane = pixels_ * lanes_, depth = shape_.in_channels;
  Tile t;
  t.taps = &kNoTaps;
  t.blocks = in_vectors_;
  t.block_stride = static_cast<ptrdiff_t>(plane);
  t.vector_stride = static_cast<ptrdiff_t>(y_vector_);
  t.pixel_stride = static_cast<ptrdiff_t>(y_pixel_);
  t.low = epilogue_.low, t.high = epilogue_.high;
  t.finish = a.add || epilogue_.clamps();
  t.w = a.w + chunk_weights(chunks_);
  for (size_t v = 4 * quads_; v < out_vectors_; v += kPair) {
    const size_t vectors = std::min(kPair, out_vectors_ - v), tiles = ceil_div(b.pixels, static_cast<size_t>(tile_->rows[vectors]));
    t.bias = a.bias ? a.bias + v * lanes_ : nullptr;
    for (size_t i = 0; i < tiles; ++i) {
      const size_t from = share(b.pixels, tiles, i), rows = share(b.pixels, tiles, i + 1) - from, half = (rows + 1) / 2;
      const size_t place = (b.image * out_vectors_ + v) * y_vector_ + (b.first + from) * y_pixel_;
      t.x[0] = image + (b.first + from) * lanes_;
      t.x[1] = t.x[0] + half * lanes_;
      t.y[0] = a.y + place;
      t.y[1] = t.y[0] + half * y_pixel_;
      t.add[0] = a.add ? a.add + place : nullptr;
      t.add[1] = a.add ? t.add[0] + half * y_pixel_ : nullptr;
      tile_->packed[vectors][rows](t);
      if (epilogue_.after) finish(t.y[0], vectors, rows);
    }
    t.w += depth * vectors * lanes_;
  }
}

}  // namespace minnow::cpu

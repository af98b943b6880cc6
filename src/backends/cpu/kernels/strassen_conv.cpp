// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/strassen_conv.h"

#include <algorithm>
#include <numeric>

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;       // vectors of output channels that a tile computes
constexpr ptrdiff_t kNoTaps = 0;  // the one tap of a product of matrices
constexpr float kZero[16] = {};   // the partner of a pixel that has none
// Blocks of 100 to 200 pixels and chunks of 128 to 512 channels were within 1 % of each other. Both are fixed because results must not
// depend on the number of threads; how a block's pixels are cut into parts may. Small blocks of an image are neighbouring pixels, which one
// thread finds in its caches from layer to layer; those of a matrix should be large, as the encoder of 128 rows says by 1.3 %.
constexpr size_t kBlockPixels = 100, kBlockRows = 200, kChunkChannels = 128;
constexpr size_t kLeastPixels = 12;  // of a part: less makes narrow tiles

// The seven products in their order: a left factor (quarter of the input or one of its sums) times a factor of weights.
enum Quarter : size_t { kA11, kA12, kA21, kA22, kS1, kS2, kS3, kS4 };
enum Target { kX, kY, kC11, kC12, kC21, kC22, kNowhere };
struct Product {
  Quarter left;
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

StrassenConv::StrassenConv(const Kernels& kernels, const ConvShape& shape, const Epilogue& epilogue, size_t threads, bool rows)
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
  blocks_ = ceil_div(pixels_, rows ? kBlockRows : kBlockPixels);
  quads_ = shape.out_channels / (4 * lanes_);
  chunks_ = ceil_div(quads_ * 4 * lanes_, kChunkChannels);
  if (chunks_ % 2 && chunks_ < quads_) ++chunks_;  // an even number of units goes well with most numbers of threads
  rest_ = out_vectors_ - 4 * quads_;
  // Threads that take different pixels need no sums of each other, and read the same weights at the same time.
  const size_t blocks = shape.batch * blocks_, half = (ceil_div(pixels_, blocks_) + 1) / 2;
  parts_ = blocks % threads == 0 ? 1 : std::clamp<size_t>(threads / std::gcd(threads, blocks), 1, std::max<size_t>(1, half / kLeastPixels));
  const size_t widest = ceil_div(quads_, chunks_) * kPair;  // vectors of half a chunk
  scratch_floats_ = sum_floats() + 2 * widest * row_of(most_pixels());
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

StrassenConv::Part StrassenConv::part(size_t index) const noexcept {
  const size_t i = index % parts_, b = index / parts_ % blocks_, first = share(pixels_, blocks_, b);
  const size_t pixels = share(pixels_, blocks_, b + 1) - first, half = (pixels + 1) / 2;
  const size_t begin = share(half, parts_, i), end = share(half, parts_, i + 1);
  return {index / parts_ / blocks_, first + begin, first + half + begin, end - begin, std::min(end, pixels - half) - begin,
          row_of(end - begin)};
}

// The sums, and the quarters before them where the input is rows, as [vector of half the channels][pixel].
void StrassenConv::sum(const Part& p, const Arguments& a, float* scratch) const noexcept {
  const size_t half_in = in_vectors_ / 2, size = half_in * p.row;
  if (rows_) {
    const size_t k = shape_.in_channels;
    return tile_->strassen_rows({a.x + p.first * k, a.x + p.second * k, k, half_in, p.pixels, p.bottom, scratch, p.row, size});
  }
  const size_t plane = pixels_ * lanes_;
  const float* image = a.x + p.image * in_vectors_ * plane;
  for (size_t v = 0; v < half_in; ++v) {
    const float *top = image + v * plane + p.first * lanes_, *bottom = image + v * plane + p.second * lanes_;
    const size_t right = half_in * plane, last = p.bottom * lanes_;
    float* s = scratch + v * p.row;
    tile_->strassen_sums({top, top + right, bottom, bottom + right}, {s, s + size, s + 2 * size, s + 3 * size}, p.bottom);
    if (p.bottom == p.pixels) continue;
    s += last;
    tile_->strassen_sums({top + last, top + right + last, kZero, kZero}, {s, s + size, s + 2 * size, s + 3 * size}, 1);
  }
}

StrassenConv::Left StrassenConv::left_of(size_t quarter, const Part& p, const Arguments& a, const float* scratch) const noexcept {
  const size_t half_in = in_vectors_ / 2, plane = pixels_ * lanes_;
  if (quarter >= kS1 || rows_) return {scratch + (quarter - (rows_ ? size_t{kA11} : size_t{kS1})) * half_in * p.row, p.row};
  const size_t first = quarter == kA21 || quarter == kA22 ? p.second : p.first;
  const size_t vector = p.image * in_vectors_ + (quarter == kA12 || quarter == kA22 ? half_in : 0);
  return {a.x + vector * plane + first * lanes_, plane};
}

void StrassenConv::run(size_t unit, const Arguments& a, float* scratch, size_t before) const noexcept {
  const size_t units = chunks_ + (rest_ ? 1 : 0), chunk = unit % units, index = unit / units;
  const Part b = part(index);
  if (before / units != index) sum(b, a, scratch);
  if (chunk == chunks_) return rest(b, a, scratch);
  const size_t depth = shape_.in_channels / 2, lanes = kPair * lanes_;
  const size_t first = chunk_begin(chunk), half_out = (chunk_begin(chunk + 1) - first) / 2;
  float *x = scratch + sum_floats(), *y = x + half_out * b.row;
  const size_t c = (b.image * out_vectors_ + first) * y_vector_;  // of the chunk's outputs of the first pixel
  const size_t most = static_cast<size_t>(tile_->rows[kPair]);
  const size_t lines = std::max<size_t>(1, lanes * sizeof(float) / 64);

  Tile t;
  t.taps = &kNoTaps;
  t.blocks = in_vectors_ / 2;
  t.low = epilogue_.low, t.high = epilogue_.high;
  t.sums.stride = static_cast<ptrdiff_t>(b.row);
  t.w = a.w + chunk_weights(chunk);
  for (const Product& p : kSteps) {
    const bool is_output = p.to >= kC11, right = p.to == kC12 || p.to == kC22, bottom = p.to == kC21 || p.to == kC22;
    const Left left = left_of(p.left, b, a, scratch);
    t.block_stride = static_cast<ptrdiff_t>(left.step);
    t.vector_stride = static_cast<ptrdiff_t>(is_output ? y_vector_ : b.row);
    t.pixel_stride = static_cast<ptrdiff_t>(is_output ? y_pixel_ : lanes_);
    t.finish = is_output && (a.add || epilogue_.clamps());
    const size_t output = c + (right ? half_out * y_vector_ : 0) + (bottom ? b.second : b.first) * y_pixel_;
    // A pixel without a partner makes these products zero, and has no such outputs.
    const size_t pixels = bottom ? b.bottom : b.pixels, tiles = ceil_div(pixels, most);
    t.prefetch_also = tiles < lines ? static_cast<ptrdiff_t>(depth * 64) : 0;
    for (size_t v = 0; v < half_out; v += kPair, t.w += depth * lanes)
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = share(pixels, tiles, i), rows = share(pixels, tiles, i + 1) - from, half = (rows + 1) / 2;
        const size_t at = v * b.row + from * lanes_, place = output + v * y_vector_ + from * y_pixel_;
        const size_t to_half = half * (is_output ? y_pixel_ : lanes_);
        t.x[0] = left.data + from * lanes_;
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
void StrassenConv::rest(const Part& b, const Arguments& a, const float* scratch) const noexcept {
  Tile t;
  t.taps = &kNoTaps;
  t.blocks = in_vectors_;
  t.vector_stride = static_cast<ptrdiff_t>(y_vector_);
  t.pixel_stride = static_cast<ptrdiff_t>(y_pixel_);
  t.low = epilogue_.low, t.high = epilogue_.high;
  t.finish = a.add || epilogue_.clamps();
  t.w = a.w + chunk_weights(chunks_);
  for (size_t v = 4 * quads_; v < out_vectors_; v += kPair) {
    const size_t vectors = std::min(kPair, out_vectors_ - v), most = static_cast<size_t>(tile_->rows[vectors]);
    t.bias = a.bias ? a.bias + v * lanes_ : nullptr;
    for (bool bottom : {false, true}) {
      const Left left = left_of(bottom ? kA21 : kA11, b, a, scratch);  // the other half of the channels lies behind it
      t.block_stride = static_cast<ptrdiff_t>(left.step);
      const size_t pixels = bottom ? b.bottom : b.pixels, tiles = ceil_div(pixels, most);
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = share(pixels, tiles, i), rows = share(pixels, tiles, i + 1) - from, half = (rows + 1) / 2;
        const size_t place = (b.image * out_vectors_ + v) * y_vector_ + ((bottom ? b.second : b.first) + from) * y_pixel_;
        t.x[0] = left.data + from * lanes_;
        t.x[1] = t.x[0] + half * lanes_;
        t.y[0] = a.y + place;
        t.y[1] = t.y[0] + half * y_pixel_;
        t.add[0] = a.add ? a.add + place : nullptr;
        t.add[1] = a.add ? t.add[0] + half * y_pixel_ : nullptr;
        tile_->packed[vectors][rows](t);
        if (epilogue_.after) finish(t.y[0], vectors, rows);
      }
    }
    t.w += shape_.in_channels * vectors * lanes_;
  }
}

}  // namespace minnow::cpu

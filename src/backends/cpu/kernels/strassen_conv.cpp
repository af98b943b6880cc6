// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/strassen_conv.h"

#include <algorithm>
#include <numeric>

#include "backends/cpu/kernels/stop.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;       // vectors of output channels that a tile computes
constexpr ptrdiff_t kNoTaps = 0;  // the one tap of a product of matrices
constexpr float kZero[16] = {};   // the partner of a pixel that has none
// Blocks of 100 to 200 pixels and chunks of 128 to 512 channels were within 1 % of each other. Both are fixed, because results must not
// depend on the number of threads; the division of a block's pixels into parts may. Blocks of an image are small, so that a thread finds
// their neighbouring pixels in its caches from layer to layer; blocks of a matrix are large, which gains 1.3 % for an encoder of 128 rows.
constexpr size_t kBlockPixels = 100, kBlockRows = 200, kChunkChannels = 128;
constexpr size_t kLeastPixels = 12;  // of a part: less makes narrow tiles
// With two levels, a left factor serves a quarter of a chunk's columns. There are 49 of them, which together come from L3. 4096x4096x4096
// took 1,211 ms with 256 columns, 1,124 with 512, 1,085 with 1024, and no less with more (Zen 4, one thread). If there would be fewer units
// than kWantedUnits, chunks are narrower.
constexpr size_t kLeastColumns = 256, kMostColumns = 1024, kWantedUnits = 16;
// The depth of a product, by levels: two vectors of weights should stay in L2 beside a part of the input, and errors grow with the depth.
constexpr size_t kMostDepth[kStrassenLevels] = {1024, 512};
constexpr size_t kFactorRows = 8;  // of weights that are summed at a time, in L1
constexpr size_t kMostLanes = 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The seven products in their order: a left factor (quarter of the input or one of its sums) times a factor of weights (the same of them).
enum Quarter : size_t { kA11, kA12, kA21, kA22, kS1, kS2, kS3, kS4 };
enum Right : size_t { kB11, kB21, kB12, kB22, kNone };  // in the order in which they are first needed
enum Place { kX, kY, kC11, kC12, kC21, kC22, kNowhere };
struct Product {
  Quarter left;
  Right from, less, plus, less_too;  // from - less + plus - less_too
  Place to, add, also;               // to = product + add; also += product
};
constexpr size_t kProducts = 7;
constexpr Product kSteps[kProducts] = {
    {kA11, kB11, kNone, kNone, kNone, kX, kNowhere, kNowhere},
    {kA12, kB21, kNone, kNone, kNone, kC11, kX, kNowhere},
    {kS2, kB22, kB12, kB11, kNone, kX, kX, kNowhere},
    {kS3, kB22, kB12, kNone, kNone, kY, kX, kNowhere},
    {kS1, kB12, kB11, kNone, kNone, kC22, kY, kX},
    {kS4, kB22, kNone, kNone, kNone, kC12, kX, kNowhere},
    {kA22, kB21, kB22, kB12, kB11, kC21, kY, kNowhere},
};

}  // namespace

StrassenConv::StrassenConv(const Kernels& kernels, const ConvShape& shape, const Epilogue& epilogue, const Options& options)
    : shape_(shape),
      epilogue_(epilogue),
      tile_(kernels.tile),
      layout_(kernels.layout),
      lanes_(kernels.lanes),
      levels_(options.levels),
      out_vectors_(ceil_div(shape.out_channels, kernels.lanes)),
      pixels_(shape.in_h * shape.in_w),
      rows_(options.rows),
      makes_sums_(options.makes_sums),
      y_pixel_(rows_ ? shape.out_channels : kernels.lanes),
      y_vector_(rows_ ? kernels.lanes : pixels_ * kernels.lanes) {
  // Slices are equal, so that their packed weights are.
  const size_t grains = shape.in_channels / (lanes_ << levels_);
  slices_ = rows_ ? ceil_div(shape.in_channels >> levels_, kMostDepth[levels_ - 1]) : 1;
  while (grains % slices_) ++slices_;
  in_ = shape.in_channels / slices_;
  in_vectors_ = in_ / lanes_;
  const size_t threads = options.threads;
  blocks_ = ceil_div(pixels_, (rows_ ? kBlockRows : kBlockPixels) * levels_);
  if (levels_ == 2) blocks_ = std::min(blocks_ + blocks_ % 2, pixels_ / 4);
  groups_ = shape.out_channels / (group_vectors() * lanes_);
  const size_t columns = groups_ * group_vectors() * lanes_;
  chunks_ = levels_ == 1
                ? ceil_div(columns, kChunkChannels)
                : std::max(ceil_div(columns, kMostColumns), std::min(ceil_div(columns, kLeastColumns), ceil_div(kWantedUnits, blocks_)));
  if (chunks_ % 2 && chunks_ < groups_) ++chunks_;  // an even number of units goes well with most numbers of threads
  rest_ = out_vectors_ - groups_ * group_vectors();
  // Threads that take different pixels need no sums of each other, and read the same weights at the same time.
  const size_t blocks = shape.batch * blocks_, half = (ceil_div(pixels_, blocks_) + 1) / 2;
  // The inner level pairs rows of a part, which therefore is the whole block there. Where weights are many and pixels few, each thread
  // takes channels instead, and makes sums of all the pixels.
  const size_t most_parts = pixel_parts(threads, pixels_, in_, shape.out_channels);
  parts_ = levels_ == 2 || blocks % threads == 0
               ? 1
               : std::clamp<size_t>(most_parts / std::gcd(most_parts, blocks), 1, std::max<size_t>(1, half / kLeastPixels));
  const size_t widest = ceil_div(groups_, chunks_) * group_vectors() / 2;  // vectors of half a chunk
  const size_t most = most_pixels();
  scratch_floats_ = sum_of({first_sums(row_of(most)), second_sums(most), product_of({2, widest, row_of(most)})});
  if (levels_ == 2) scratch_floats_ = sum_of({scratch_floats_, product_of({widest, row_of(most / 2)})});
  if (makes_sums_) scratch_floats_ = sum_of({scratch_floats_, product_of({in_ / 2, kPair, lanes_})});
}

// From rows [k, k + rows) and columns [o, o + columns), as rows of two vectors, filled up with zeros.
void StrassenConv::fetch(const Weights& weights, size_t k, size_t rows, size_t o, size_t columns, float* out) const noexcept {
  const float* from = weights.data + o * weights.out_step + k * weights.in_step;
  const size_t lanes = kPair * lanes_;
  if (columns < lanes) std::fill_n(out, rows * lanes, 0.0f);
  if (weights.in_step == 1) return layout_->transpose(from, weights.out_step, columns, rows, out, lanes);
  for (size_t r = 0; r < rows; ++r) std::copy_n(from + r * weights.in_step, columns, out + r * lanes);
}

void StrassenConv::pack_weights(const Weights& weights, float* out) const noexcept {
  for (size_t slice = 0; slice < slices_; ++slice)
    for (size_t i = 0; i < weight_parts(); ++i) pack_weights(weights, slice, i, out + slice * slice_floats());
}

// [chunk][product, of two levels outer and inner][pair of vectors][in channel][lanes of the pair], then the rest as [pair][in channel]
// [lanes of the pair]. Where sums are made: [chunk][panel][in channel of half][lanes of the pair], and the rest.
void StrassenConv::pack_weights(const Weights& weights, size_t slice, size_t part, float* slice_out) const noexcept {
  const size_t lanes = kPair * lanes_, first_k = slice * in_;
  float block[16 * kFactorRows * kPair * kMostLanes], inner[4 * kProducts * kFactorRows * kPair * kMostLanes];
  const size_t block_floats = kFactorRows * lanes;
  if (part == groups_) {
    float* to = slice_out + chunk_weights(chunks_);
    for (size_t v = groups_ * group_vectors(); v < out_vectors_; v += kPair) {
      const size_t wide = std::min(kPair, out_vectors_ - v) * lanes_, columns = std::min(wide, shape_.out_channels - v * lanes_);
      for (size_t k = 0; k < in_; k += kFactorRows) {
        const size_t rows = std::min(kFactorRows, in_ - k);
        fetch(weights, first_k + k, rows, v * lanes_, columns, block);
        for (size_t r = 0; r < rows; ++r, to += wide)
          for (size_t l = 0; l < wide; ++l) to[l] = weights.factor * block[r * lanes + l];
      }
    }
    return;
  }
  size_t chunk = 0;
  while (share(groups_, chunks_, chunk + 1) <= part) ++chunk;
  const size_t parts = size_t{1} << levels_, depth = in_ / parts;  // quarters of quarters along each dimension
  const size_t columns = (chunk_begin(chunk + 1) - chunk_begin(chunk)) / parts * lanes_, product = columns * depth;
  const size_t pair = (part - share(groups_, chunks_, chunk)) * lanes;
  const size_t first = chunk_begin(chunk) * lanes_ + pair;
  const bool in_place = weights.out_step == 1;
  for (size_t k = 0; k < depth; k += kFactorRows) {
    const size_t rows = std::min(kFactorRows, depth - k);
    const float* from[4][4];  // of rows and columns
    for (size_t i = 0; i < parts; ++i)
      for (size_t j = 0; j < parts; ++j) {
        const size_t row = first_k + i * depth + k, column = first + j * columns;
        float* copy = block + (i * parts + j) * block_floats;
        if (!in_place) fetch(weights, row, rows, column, lanes, copy);
        from[i][j] = in_place ? weights.data + row * weights.in_step + column : copy;
      }
    const size_t step = in_place ? weights.in_step : lanes;
    if (makes_sums_) {
      for (size_t q = 0; q < 4; ++q) {
        float* quarter = slice_out + chunk_weights(chunk) + (panel(q, pair / lanes, columns / lanes) * depth + k) * lanes;
        for (size_t r = 0; r < rows; ++r)
          for (size_t l = 0; l < lanes; ++l) quarter[r * lanes + l] = weights.factor * from[q % 2][q / 2][r * step + l];
      }
      continue;
    }
    float* to = slice_out + chunk_weights(chunk) + pair * depth + k * lanes;
    if (levels_ == 1) {
      tile_->strassen_factors({{from[0][0], from[0][1], from[1][0], from[1][1]}, step, rows, weights.factor, to, product});
      continue;
    }
    for (size_t q = 0; q < 4; ++q) {
      const size_t i = q / 2, j = q % 2;
      tile_->strassen_factors({{from[i][j], from[i][j + 2], from[i + 2][j], from[i + 2][j + 2]},
                               step,
                               rows,
                               weights.factor,
                               inner + q * block_floats,
                               4 * block_floats});
    }
    for (size_t outer = 0; outer < kProducts; ++outer) {
      const float* q = inner + outer * 4 * block_floats;
      tile_->strassen_factors(
          {{q, q + block_floats, q + 2 * block_floats, q + 3 * block_floats}, lanes, rows, 1, to + outer * kProducts * product, product});
    }
  }
}

void StrassenConv::pack_bias(const float* bias, float* out) const noexcept {
  for (size_t o = 0; o < out_vectors_ * lanes_; ++o) out[o] = o < shape_.out_channels ? bias[o] : 0;
}

size_t StrassenConv::most_pixels() const noexcept {
  if (levels_ == 2) return ceil_div(pixels_ / 4, blocks_) * 2;
  return ceil_div((ceil_div(pixels_, blocks_) + 1) / 2, parts_);
}

// With two levels everything is a multiple of four rows.
StrassenConv::Part StrassenConv::part(size_t index) const noexcept {
  const size_t grain = levels_ == 2 ? 4 : 1;
  const size_t i = index % parts_, b = index / parts_ % blocks_, first = share(pixels_ / grain, blocks_, b) * grain;
  const size_t pixels = share(pixels_ / grain, blocks_, b + 1) * grain - first, half = (pixels + 1) / 2;
  const size_t begin = share(half, parts_, i), end = share(half, parts_, i + 1);
  return {index / parts_ / blocks_, first + begin, first + half + begin, end - begin, std::min(end, pixels - half) - begin,
          row_of(end - begin)};
}

// The sums, and the quarters before them where the input is rows, as [vector of half the channels][pixel]; then, with two levels, the sums
// of the quarters of each of the seven left factors.
void StrassenConv::sum(const Part& p, const Arguments& a, float* scratch) const noexcept {
  const size_t half_in = in_vectors_ / 2, size = half_in * p.row;
  if (rows_) {
    const size_t k = shape_.in_channels;
    const float* x = a.x + a.slice * in_;
    tile_->strassen_rows({x + p.first * k, x + p.second * k, k, half_in, p.pixels, p.bottom, scratch, p.row, size});
    if (levels_ == 1) return;
    const size_t rows = p.pixels / 2, vectors = half_in / 2, row = row_of(rows);
    float* s = scratch + first_sums(p.row);
    for (const Product& product : kSteps) {
      const Left left = left_of(product.left, p, a, scratch);
      const size_t right = vectors * left.step, bottom = rows * lanes_, each = vectors * row;
      for (size_t v = 0; v < vectors; ++v) {
        const float* q = left.data + v * left.step;
        float* to = s + v * row;
        tile_->strassen_sums({q, q + right, q + bottom, q + bottom + right}, {to, to + each, to + 2 * each, to + 3 * each}, rows);
      }
      s += 4 * each;
    }
    return;
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

struct StrassenConv::Work {
  const Arguments& arguments;
  const Part part;
  const float* scratch;  // the left factor's sums
  const size_t vectors;  // of the chunk's columns
  struct Buffers {
    float *x, *y;
    size_t row;  // floats from one vector of columns to the next
  } buffers[kStrassenLevels];
  const float* inner_sums;  // of the outer product at hand
  Tile tile;                // its weights are those of the next product, unless sums are made
  const float* weights;     // of the chunk
  float* factor;            // room for a panel of sums
  size_t product;           // of the innermost level
  Stop stop = {};
};

StrassenConv::Target StrassenConv::Target::quarter(size_t rows, size_t vectors, size_t lanes) const noexcept {
  Target q = *this;
  const size_t at = rows * pixel + vectors * vector;
  q.y += at;
  if (add) q.add += at;
  if (bias) q.bias += vectors * lanes;
  if (scale) q.scale += vectors * lanes;
  for (TileSums::Level& level : q.sums.levels) {
    const size_t sum_at = rows * lanes + vectors * static_cast<size_t>(level.stride);
    if (level.also) level.also += sum_at;
    if (level.add) level.add += sum_at;
  }
  return q;
}

// With the sums of the whole result.
[[gnu::noinline]] void StrassenConv::multiply(Work& work, size_t level, const Left& left, const Target& to, size_t rows) const noexcept {
  if (level >= std::min(levels_, kStrassenLevels)) return multiply_tiles(work, left, to, rows);
  const Work::Buffers& buffers = work.buffers[level];
  const size_t half_vectors = work.vectors >> (level + 1), half_rows = level == 0 ? work.part.second - work.part.first : rows / 2;
  const size_t inner = levels_ - 1 - level;  // the position of this level's sums: before those of the outer levels
  for (const Product& p : kSteps) {
    const bool right = p.to == kC12 || p.to == kC22, bottom = p.to == kC21 || p.to == kC22;
    Target target{};
    if (p.to >= kC11) {
      target = to.quarter(bottom ? half_rows : 0, right ? half_vectors : 0, lanes_);
    } else {
      target.y = p.to == kX ? buffers.x : buffers.y;
      target.pixel = lanes_;
      target.vector = buffers.row;
    }
    target.sums.levels[inner] = {p.also == kNowhere ? nullptr : buffers.x,
                                 p.add == kNowhere ? nullptr : (p.add == kX ? buffers.x : buffers.y), static_cast<ptrdiff_t>(buffers.row)};
    Left factor;
    if (level == 0) {
      factor = left_of(p.left, work.part, work.arguments, work.scratch);
      work.inner_sums =
          work.scratch + first_sums(work.part.row) + static_cast<size_t>(&p - kSteps) * second_sums(work.part.pixels) / kProducts;
    } else if (p.left >= kS1) {
      factor = {work.inner_sums + (p.left - kS1) * (in_vectors_ / 4) * buffers.row, buffers.row};
    } else {
      const bool below = p.left == kA21 || p.left == kA22, behind = p.left == kA12 || p.left == kA22;
      factor = {left.data + (below ? half_rows * lanes_ : 0) + (behind ? in_vectors_ / 4 * left.step : 0), left.step};
    }
    // A pixel without a partner makes these products zero, and has no such outputs.
    const size_t here = level > 0 ? half_rows : bottom ? work.part.bottom : work.part.pixels;
    work.product = static_cast<size_t>(&p - kSteps);
    multiply(work, level + 1, factor, target, here);
  }
}

// How many of a chunk's panels are needed up to this product of this pair.
static size_t panels_needed(size_t product, size_t pair, size_t pairs) noexcept {
  if (pair == pairs) ++product, pair = 0;
  if (product < 2) return product * pairs + pair + 1;
  if (product == 2) return 2 * (pairs + pair + 1);
  return 4 * pairs + (product == kProducts ? 1 : 0);  // the first of the next chunk
}

void StrassenConv::multiply_tiles(Work& work, const Left& left, const Target& to, size_t rows) const noexcept {
  const size_t depth = in_ >> levels_, lanes = kPair * lanes_, vectors = work.vectors >> levels_, pairs = vectors / kPair;
  const size_t most = static_cast<size_t>(tile_->rows[kPair]), tiles = ceil_div(rows, most);
  const size_t asked = asked_bytes(lanes_), panel_lines = lanes * sizeof(float) / asked;  // of an input channel
  const Product& p = kSteps[work.product];
  Tile& t = work.tile;
  t.block_stride = static_cast<ptrdiff_t>(left.step);
  t.vector_stride = static_cast<ptrdiff_t>(to.vector);
  t.pixel_stride = static_cast<ptrdiff_t>(to.pixel);
  t.finish = to.is_output && (to.add || (is_last(work.arguments) && epilogue_.clamps()));
  for (size_t pair = 0; pair < pairs; ++pair) {
    if (work.stop.after(rows * depth * kPair)) return;
    // Weights are stored in the order of their first use. Prefetch those of the next pair, or of the next product.
    const float* next;
    size_t lines = panel_lines;
    TileWeights make;
    if (makes_sums_) {
      const float* quarters[5] = {};  // the last: none
      for (size_t q = 0; q < 4; ++q) quarters[q] = work.weights + panel(q, pair, pairs) * depth * lanes;
      t.w = p.less == kNone ? quarters[p.from] : work.factor;
      if (p.less != kNone) make = {quarters[p.from], quarters[p.less], quarters[p.plus], quarters[p.less_too], work.factor};
      const size_t now = panels_needed(work.product, pair, pairs);
      next = work.weights + now * depth * lanes;
      lines *= panels_needed(work.product, pair + 1, pairs) - now;
    } else {
      next = t.w + depth * lanes;
    }
    t.prefetch_also = tiles < lines ? static_cast<ptrdiff_t>(tiles * depth * asked) : 0;
    const Target target = to.quarter(0, pair * kPair, lanes_);
    t.sums = target.sums;
    t.sums.bias = target.bias;
    t.scale = target.scale;
    t.make = make;
    for (size_t i = 0, from = 0, end; i < tiles; ++i, from = end) {
      end = share(rows, tiles, i + 1);
      const size_t height = end - from, half = (height + 1) / 2;
      t.x[0] = left.data + from * lanes_;
      t.x[1] = t.x[0] + half * lanes_;
      t.y[0] = target.y + from * to.pixel;
      t.y[1] = t.y[0] + half * to.pixel;
      t.add[0] = target.add ? target.add + from * to.pixel : nullptr;
      t.add[1] = target.add ? t.add[0] + half * to.pixel : nullptr;
      t.prefetch = i < lines ? reinterpret_cast<const char*>(next) + i * depth * asked : nullptr;
      tile_->summed[height](t);
      t.make.from = nullptr;  // the first tile made them
      for (TileSums::Level& level : t.sums.levels) {
        if (level.also) level.also += height * lanes_;
        if (level.add) level.add += height * lanes_;
      }
    }
    if (!makes_sums_) t.w = next;
  }
  if (to.is_output && epilogue_.after && is_last(work.arguments)) finish(to.y, vectors, rows);
}

void StrassenConv::set_clamp(Tile& tile, const Arguments& a) const noexcept {
  tile.low = is_last(a) ? epilogue_.low : -kInfinity;
  tile.high = is_last(a) ? epilogue_.high : kInfinity;
}

void StrassenConv::run(size_t unit, const Arguments& a, float* scratch, size_t before) const noexcept {
  const size_t units = chunks_ + (rest_ ? 1 : 0), chunk = unit % units, index = unit / units;
  const Part b = part(index);
  if (before / units != index) sum(b, a, scratch);
  if (chunk == chunks_) return rest(b, a, scratch);
  const size_t first = chunk_begin(chunk), half_out = (chunk_begin(chunk + 1) - first) / 2;
  Work work{a, b, scratch, 2 * half_out, {}, nullptr, {}, a.w + chunk_weights(chunk), nullptr, 0};
  float* x = scratch + first_sums(b.row) + second_sums(b.pixels);
  work.buffers[0] = {x, x + half_out * b.row, b.row};
  x += 2 * half_out * b.row;
  const size_t row = row_of(b.pixels / 2);
  work.buffers[1] = {x, x + half_out / 2 * row, row};
  work.factor = x;  // of one level
  Tile& t = work.tile;
  t.taps = &kNoTaps;
  t.blocks = in_vectors_ >> levels_;
  t.w = work.weights;
  set_clamp(t, a);
  Target to{};
  const size_t place = (b.image * out_vectors_ + first) * y_vector_ + b.first * y_pixel_;
  to.y = a.y + place;
  to.add = added(a) ? added(a) + place : nullptr;
  to.bias = a.bias && a.slice == 0 ? a.bias + first * lanes_ : nullptr;
  to.scale = is_last(a) ? epilogue_.scale_of(first * lanes_) : nullptr;
  to.pixel = y_pixel_;
  to.vector = y_vector_;
  to.is_output = true;
  multiply(work, 0, {}, to, b.pixels);
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
  const float* all_add = added(a);
  set_clamp(t, a);
  t.finish = all_add || (is_last(a) && epilogue_.clamps());
  t.w = a.w + chunk_weights(chunks_);
  for (size_t v = groups_ * group_vectors(); v < out_vectors_; v += kPair) {
    const size_t vectors = std::min(kPair, out_vectors_ - v), most = static_cast<size_t>(tile_->rows[vectors]);
    if (Watch::stopping()) return;
    t.bias = a.bias && a.slice == 0 ? a.bias + v * lanes_ : nullptr;
    t.scale = is_last(a) ? epilogue_.scale_of(v * lanes_) : nullptr;
    for (bool bottom : {false, true}) {
      const Left left = left_of(bottom ? kA21 : kA11, b, a, scratch);  // the other half of the channels follows it
      t.block_stride = static_cast<ptrdiff_t>(left.step);
      const size_t pixels = bottom ? b.bottom : b.pixels, tiles = ceil_div(pixels, most);
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = share(pixels, tiles, i), rows = share(pixels, tiles, i + 1) - from, half = (rows + 1) / 2;
        const size_t place = (b.image * out_vectors_ + v) * y_vector_ + ((bottom ? b.second : b.first) + from) * y_pixel_;
        t.x[0] = left.data + from * lanes_;
        t.x[1] = t.x[0] + half * lanes_;
        t.y[0] = a.y + place;
        t.y[1] = t.y[0] + half * y_pixel_;
        t.add[0] = all_add ? all_add + place : nullptr;
        t.add[1] = all_add ? t.add[0] + half * y_pixel_ : nullptr;
        tile_->packed[vectors][rows](t);
        if (epilogue_.after && is_last(a)) finish(t.y[0], vectors, rows);
      }
    }
    t.w += in_ * vectors * lanes_;
  }
}

}  // namespace minnow::cpu

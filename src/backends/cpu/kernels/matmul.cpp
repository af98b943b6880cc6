// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul.h"

#include <cstring>

#include "backends/cpu/kernels/stop.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;       // vectors of a panel
constexpr ptrdiff_t kNoTaps = 0;  // the one tap of a product of matrices
constexpr size_t kMostLanes = 16;
constexpr size_t kAfter =
    4;  // panels whose outputs a function goes over together: calls for 16 floats each take a third longer (Gelu, Zen 4)
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

MatMul::MatMul(const Kernels& kernels, const Shape& shape, const Options& options, const Epilogue& epilogue)
    : shape_(shape),
      low_precision_(options.low_precision),
      tile_(options.low_precision ? &options.low_precision->tile : kernels.tile),
      a_columns_(shape.k),
      epilogue_(epilogue),
      kernels_(&kernels),
      lanes_(kernels.lanes),
      vectors_(ceil_div(shape.n, kernels.lanes)),
      step_(options.made_step) {
  if (low_precision_) shape_.k = ceil_div(shape.k, 2);
  // A block of rows stays in half of L2 while all of b streams by. Threads divide rows and panels so that none reads much more of one
  // matrix than of the other. Except for blocks of a single row, the order of sums does not depend on this division.
  const size_t most = static_cast<size_t>(tile_->rows[kPair]);
  if (shape.m > 4 * most || step_) slices_ = std::max<size_t>(1, (shape_.k + options.depth / 2) / options.depth);
  if (options.depth != SIZE_MAX) slices_ = std::max(slices_, ceil_div(shape_.k, kLongestSum));
  const size_t rows = std::clamp(options.l2 / 2 / sizeof(float) / std::max<size_t>(1, ceil_div(shape_.k, slices_)), 2 * most, size_t{280});
  blocks_ = std::max<size_t>(1, ceil_div(shape.m, rows));
  const size_t parts = pixel_parts(options.threads, shape.m, shape.k, shape.n), even = ceil_div(blocks_, parts) * parts;
  if (shape.m / even >= most / 2) blocks_ = even;
  if (options.threads > 1 && blocks_ < 4 * options.threads)
    chunks_ = std::max<size_t>(1, std::min(panels(), ceil_div(4 * options.threads, blocks_)));
  scratch_floats_ = sum_of({product_of({ceil_div(shape.m, blocks_), ceil_div(shape_.k, lanes_), lanes_}),
                            low_precision_ && low_precision_->parts > 1 ? size_t{4} : 0});
  if (!step_) return;
  for (size_t slice = 0; slice < slices_; ++slice)
    made_ = std::max(made_, ceil_div(slice_begin(slice + 1) - slice_begin(slice), step_) * step_ * kPair * lanes_);
  scratch_floats_ = sum_of({scratch_floats_, made_});
}

size_t MatMul::panels() const noexcept { return ceil_div(vectors_, kPair); }

// [slice][panel][k][lanes of the panel]; columns beyond n are zero.
void MatMul::pack_b(size_t panel, const float* b, float factor, float* out) const noexcept {
  const size_t first = panel * kPair * lanes_;
  for (size_t slice = 0; slice < slices_; ++slice) {
    const size_t begin = slice_begin(slice), k = slice_begin(slice + 1) - begin;
    pack_b(panel, begin, k, b, factor, out + begin * vectors_ * lanes_ + first * k);
  }
}

void MatMul::pack_b(size_t panel, size_t begin, size_t k, const float* b, float factor, float* out) const noexcept {
  const size_t first = panel * kPair * lanes_, lanes = std::min(kPair, vectors_ - panel * kPair) * lanes_;
  const size_t columns = std::min(lanes, shape_.n - first);
  if (shape_.transpose_b) {
    kernels_->layout->transpose(b + first * shape_.k + begin, shape_.k, columns, k, out, lanes);
    if (columns < lanes)
      for (size_t i = 0; i < k; ++i) std::fill(out + i * lanes + columns, out + (i + 1) * lanes, 0.0f);
  } else {
    for (size_t i = 0; i < k; ++i) {
      std::memcpy(out + i * lanes, b + (begin + i) * shape_.n + first, columns * sizeof(float));
      std::fill(out + i * lanes + columns, out + (i + 1) * lanes, 0.0f);
    }
  }
  if (factor != 1)
    for (size_t i = 0; i < k * lanes; ++i) out[i] *= factor;
  if (low_precision_) low_precision_->arrange_whole(out, k, lanes / lanes_, lanes_);
}

void MatMul::pack_bias(const float* bias, float factor, float* out) const noexcept {
  for (size_t i = 0; i < vectors_ * lanes_; ++i) out[i] = i < shape_.n ? factor * bias[i] : 0;
}

// [k / lanes][row][lanes], so that a tile finds its rows next to each other, as in an image; lanes beyond k are not written.
void MatMul::pack_a(size_t first, size_t rows, const float* a, float* out) const noexcept {
  if (low_precision_) {
    for (size_t k = 0; k < a_columns_; k += 2 * lanes_, out += rows * lanes_)
      low_precision_->pack_rows(a + first * a_columns_ + k, a_columns_, rows, std::min(2 * lanes_, a_columns_ - k), out);
    return;
  }
  for (size_t k = 0; k < shape_.k; k += lanes_, out += rows * lanes_) {
    const size_t count = std::min(lanes_, shape_.k - k);
    if (shape_.transpose_a) {
      kernels_->layout->transpose(a + k * shape_.m + first, shape_.m, count, rows, out, lanes_);
      continue;
    }
    const float* from = a + first * shape_.k + k;
    if (count == 16)
      for (size_t r = 0; r < rows; ++r) std::memcpy(out + r * 16, from + r * shape_.k, 16 * sizeof(float));
    else if (count == 8)
      for (size_t r = 0; r < rows; ++r) std::memcpy(out + r * lanes_, from + r * shape_.k, 8 * sizeof(float));
    else if (count == 4)
      for (size_t r = 0; r < rows; ++r) std::memcpy(out + r * lanes_, from + r * shape_.k, 4 * sizeof(float));
    else
      for (size_t r = 0; r < rows; ++r) std::memcpy(out + r * lanes_, from + r * shape_.k, count * sizeof(float));
  }
}

void MatMul::run(size_t unit, const Arguments& arguments, float* scratch, size_t before) const noexcept {
  const size_t block = unit / chunks_, chunk = unit % chunks_, n = shape_.n;
  const size_t first = share(shape_.m, blocks_, block), rows = share(shape_.m, blocks_, block + 1) - first;
  float* made = scratch;
  scratch += made_;
  if (before / chunks_ != block) pack_a(first, rows, arguments.a, scratch);
  float edge[kMostTileRows * kPair * kMostLanes], edge_add[kMostTileRows * kPair * kMostLanes];
  Tile t;
  t.overflowed = arguments.overflowed;
  t.taps = &kNoTaps;
  t.block_stride = static_cast<ptrdiff_t>(rows * lanes_);
  t.vector_stride = static_cast<ptrdiff_t>(lanes_);
  const size_t last = share(panels(), chunks_, chunk + 1), pixel = lanes_ / (low_precision_ ? low_precision_->parts : 1);
  Stop stop;
  for (size_t slice = 0; slice < slices_; ++slice) {
    const size_t begin = slice_begin(slice), depth = slice_begin(slice + 1) - begin;
    const bool is_last = slice + 1 == slices_;
    // Later slices add to the sums of earlier ones.
    const float* all_add = slice ? arguments.y : arguments.add;
    t.blocks = depth / lanes_;
    t.rest = depth % lanes_;
    t.low = is_last ? epilogue_.low : -kInfinity;
    t.high = is_last ? epilogue_.high : kInfinity;
    t.accumulate = arguments.goes_on && slice == 0;
    t.finish = all_add || (is_last && epilogue_.clamps());
    for (size_t panel = share(panels(), chunks_, chunk); panel < last; ++panel) {
      const size_t vectors = std::min(kPair, vectors_ - panel * kPair), lanes = vectors * lanes_, column = panel * kPair * lanes_;
      const size_t columns = std::min(lanes, n - column);
      if (stop.after(rows * depth * vectors)) return;
      t.w = step_ ? made : arguments.b + begin * vectors_ * lanes_ + column * depth;
      if (step_) arguments.make_b.make(arguments.make_b.from, panel, begin, depth, made);
      t.bias = arguments.bias && slice == 0 ? arguments.bias + column : nullptr;
      t.scale = is_last ? epilogue_.scale_of(column) : nullptr;
      const size_t asked = asked_bytes(lanes_), lines = !step_ && panel + 1 < panels() ? lanes * sizeof(float) / asked : 0;
      const size_t most = static_cast<size_t>(tile_->rows[vectors]), tiles = ceil_div(rows, most);
      t.prefetch_also = tiles < lines ? static_cast<ptrdiff_t>(tiles * depth * asked) : 0;
      for (size_t i = 0; i < tiles; ++i) {
        const size_t from = share(rows, tiles, i), height = share(rows, tiles, i + 1) - from, half = (height + 1) / 2;
        t.prefetch = i < lines ? reinterpret_cast<const char*>(t.w + lanes * depth) + i * depth * asked : nullptr;
        t.x[0] = scratch + begin * rows + from * pixel;
        t.x[1] = t.x[0] + half * pixel;
        float* y = arguments.y + (first + from) * n + column;
        const float* add = all_add ? all_add + (first + from) * n + column : nullptr;
        const bool narrow = columns < lanes;  // the last columns go through a buffer of whole vectors
        const size_t stride = narrow ? lanes : n;
        t.pixel_stride = static_cast<ptrdiff_t>(stride);
        if (narrow && add)
          for (size_t r = 0; r < height; ++r) std::memcpy(edge_add + r * lanes, add + r * n, columns * sizeof(float));
        else if (slice)
          for (size_t r = 0; r < height; ++r)
            for (size_t c = 0; c < lanes; c += 64 / sizeof(float)) __builtin_prefetch(y + r * n + c, 1, 3);
        if (narrow && t.accumulate)
          for (size_t r = 0; r < height; ++r) std::memcpy(edge + r * lanes, y + r * n, columns * sizeof(float));
        t.y[0] = narrow ? edge : y;
        t.y[1] = t.y[0] + half * stride;
        t.add[0] = add ? (narrow ? edge_add : add) : nullptr;
        t.add[1] = add ? t.add[0] + half * stride : nullptr;
        tile_->packed[vectors][height](t);
        if (narrow)
          for (size_t r = 0; r < height; ++r) std::memcpy(y + r * n, edge + r * lanes, columns * sizeof(float));
      }
      if (!is_last || !epilogue_.after || ((panel + 1) % kAfter != 0 && panel + 1 < last)) continue;
      const size_t from = std::max(panel / kAfter * kAfter, share(panels(), chunks_, chunk)) * kPair * lanes_;
      for (size_t r = first; r < first + rows; ++r) {
        float* y = arguments.y + r * n + from;
        epilogue_.after(y, y, column + columns - from, epilogue_.a, epilogue_.b);
      }
    }
  }
}

}  // namespace minnow::cpu

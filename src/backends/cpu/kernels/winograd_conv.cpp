// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/winograd_conv.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/stop.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;       // vectors of output channels computed together
constexpr ptrdiff_t kNoTaps = 0;  // the one tap of a product of matrices
constexpr size_t kMostTaps = kMostWinogradTaps, kMostLanes = 16;

// An odd number of cache lines: planes a power of two apart would all fall into the same sets of the caches.
size_t odd_lines(size_t floats) {
  const size_t lines = ceil_div(floats, 16);
  return (lines + (lines % 2 ? 0 : 1)) * 16;
}

// Positions of all tiles along an axis together.
double positions_along(WinogradForm form, size_t outputs) {
  const WinogradNumbers& numbers = numbers_of(form);
  const size_t rest = outputs % numbers.outputs;
  const double whole = static_cast<double>(outputs / numbers.outputs * numbers.positions());
  if (rest == 0) return whole;
  return whole + static_cast<double>(rest + numbers.met() - 1 + (numbers.copies() ? rest : 0));
}

size_t tiles_of(const ConvShape& shape, WinogradForms form) {
  return product_of(
      {shape.batch, ceil_div(shape.out_h, numbers_of(form.down).outputs), ceil_div(shape.out_w, numbers_of(form.across).outputs)});
}

std::optional<WinogradForm> form_of(size_t taps, size_t outputs, size_t stride) {
  for (size_t i = 0; i < static_cast<size_t>(WinogradForm::count); ++i) {
    const WinogradForm form = static_cast<WinogradForm>(i);
    const WinogradNumbers& numbers = numbers_of(form);
    if (is_built(form) && numbers.taps == taps && numbers.stride == stride && (taps == 1 || numbers.outputs == outputs)) return form;
  }
  return std::nullopt;
}

}  // namespace

std::optional<WinogradForms> WinogradForms::of(const ConvShape& s, size_t outputs, size_t stride) {
  const std::optional<WinogradForm> down = form_of(s.kernel_h, outputs, stride), across = form_of(s.kernel_w, outputs, stride);
  if (!down || !across) return std::nullopt;
  const WinogradForms forms(*down, *across);
  if (!WinogradConv::can_serve(s, forms)) return std::nullopt;
  return forms;
}

bool WinogradConv::keeps_columns(const ConvShape& shape, WinogradForms form, size_t l3) noexcept {
  constexpr size_t kLeastTiles = 16, kMostTiles = 64;
  if (form.down == WinogradForm::none || form.across == WinogradForm::none) return false;
  if (numbers_of(form.down).taps > 4 || numbers_of(form.across).taps > 4) return false;
  const size_t tiles = tiles_of(shape, form);
  return tiles >= kLeastTiles && tiles <= kMostTiles && form.positions() * shape.in_channels * shape.out_channels * sizeof(float) > l3 / 2;
}

double WinogradConv::products(const ConvShape& shape, WinogradForms form) {
  return positions_along(form.down, shape.out_h) * positions_along(form.across, shape.out_w);
}

WinogradConv::WinogradConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue)
    : shape_(shape),
      filter_(options.filter.value_or(
          FilterSteps{0, 0, shape.in_channels * shape.taps(), shape.taps(), static_cast<ptrdiff_t>(shape.kernel_w), 1})),
      epilogue_(epilogue),
      tile_(kernels.tile),
      kernels_(kernels.winograd),
      lanes_(kernels.lanes),
      down_(options.form.down),
      across_(options.form.across),
      positions_(options.form.positions()),
      keeps_columns_(keeps_columns(shape, options.form, options.l3)),
      panels_(keeps_columns_ ? down_.positions * across_.taps : positions_),
      in_vectors_(ceil_div(shape.in_channels, lanes_)),
      out_vectors_(ceil_div(shape.out_channels, lanes_)) {
  const OutputGrid grid = options.grid.value_or(OutputGrid{shape.out_h, shape.out_w});
  y_pixel_ = grid.step_w * lanes_;
  y_row_ = grid.step_h * grid.width * lanes_;
  y_plane_ = grid.height * grid.width * lanes_;
  y_origin_ = (grid.top * grid.width + grid.left) * lanes_;
  add_axis(shape.out_h, down_, vertical_);
  add_axis(shape.out_w, across_, horizontal_);

  // The transformed input of a block and the products of two vectors share L2 with the weights that stream by; all of them if they fit.
  const size_t most = static_cast<size_t>(tile_->rows[kPair]), weights = weight_floats() * sizeof(float);
  const size_t budget = weights <= options.l2 * 2 / 3 ? options.l2 - weights : options.l2 * 3 / 4;
  const size_t tile = positions_ * (in_vectors_ + kPair) * lanes_ * sizeof(float);
  const size_t tiles = tiles_of(shape, options.form);
  size_t fitting = std::clamp(budget / tile, most, 3 * most);
  // If each block reads the weights from memory, fewer blocks are better, even if part of the transformed input is then in the last cache.
  if (weights > options.l3 / 2) fitting = std::max(fitting, 2 * options.l2 / tile);
  if (keeps_columns_) fitting = std::max(fitting, tiles);
  size_t blocks = ceil_div(tiles, fitting);
  cut(tiles, blocks);
  // Threads with blocks of their own transform their inputs themselves and wait for nobody; but each thread reads all weights.
  const size_t even_blocks = ceil_div(blocks, options.threads) * options.threads;
  const bool own_blocks = options.threads > 1 && weights <= options.l3 / 3 && tiles / even_blocks >= most;
  if (own_blocks && blocks != even_blocks) {
    // The tile of a single row sums in another order: results must not depend on the number of threads.
    const bool may_differ = has_single_tiles();
    cut(tiles, even_blocks);
    if (may_differ || has_single_tiles())
      cut(tiles, blocks);
    else
      blocks = even_blocks;
  }
  const size_t pairs = ceil_div(out_vectors_, kPair);
  if (blocks * pairs < options.threads && tiles >= most) {
    // More threads than pairs of vectors: half as many tiles each, though more threads read the same weights.
    const bool may_differ = has_single_tiles();
    cut(tiles, 2 * blocks);
    if (!may_differ && !has_single_tiles())
      blocks *= 2;
    else
      cut(tiles, blocks);
  }
  const size_t largest = ceil_div(tiles, blocks);
  v_plane_ = odd_lines(largest * in_vectors_ * lanes_);
  m_plane_ = odd_lines(largest * kPair * lanes_);
  block_floats_ = product_of({positions_, v_plane_});
  product_floats_ = product_of({positions_, m_plane_});
  if (options.threads > 1 && blocks < 4 * options.threads && !(own_blocks && blocks == even_blocks)) {
    chunks_ = std::min(pairs, ceil_div(4 * options.threads, blocks));
    shared_ = chunks_ > 1;
  }
}

// Makes so many blocks of the tiles. Within a block, those that lack the same rows and columns stand together.
void WinogradConv::cut(size_t tiles, size_t blocks) {
  blocks_.clear(), places_.clear(), places_.reserve(tiles);
  const size_t height = down_.outputs, width = across_.outputs;
  const size_t columns = ceil_div(shape_.out_w, width), rows = ceil_div(shape_.out_h, height);
  for (size_t i = 0; i < blocks; ++i) {
    const size_t first = share(tiles, blocks, i), end = share(tiles, blocks, i + 1);
    size_t begins[4];  // of the tiles of each kind: narrow, whole, low, low and narrow
    for (size_t kind = 0; kind < 4; ++kind) {
      begins[kind] = places_.size() - first;
      for (size_t t = first; t < end; ++t) {
        const size_t y = t / columns % rows * height, x = t % columns * width;
        const bool narrow = x + width > shape_.out_w, low = y + height > shape_.out_h;
        if (kind == (low ? (narrow ? 3u : 2u) : (narrow ? 0u : 1u))) places_.push_back({t / columns / rows, y, x, narrow, low});
      }
    }
    blocks_.push_back({first, end - first, begins[1], begins[2], begins[3]});
  }
}

// Whether a single tile takes part at some position of a block.
bool WinogradConv::has_single_tiles() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const Block& b) {
    return b.tiles == 1 || b.low_from == 1 || b.both_from - b.narrow == 1 || b.low_from - b.narrow == 1;
  });
}

void WinogradConv::add_axis(size_t outputs, const Along& along, Axis (&axis)[2]) {
  for (size_t border = 0; border < 2; ++border) {
    const size_t count = border ? outputs % along.outputs : along.outputs;
    if (count == 0) continue;  // there are no border tiles
    WinogradAxis matrices = WinogradAxis::of(along.form, count);
    Axis& a = axis[border];
    a.outputs = matrices.outputs, a.inputs = matrices.inputs, a.count = matrices.positions.size();
    for (size_t position : matrices.positions) a.takes_part[position] = true;
    a.positions = std::move(matrices.positions), a.input = std::move(matrices.input), a.output = std::move(matrices.output);
  }
}

// [pair of vectors][position][in channel][lanes of the pair]; with kept columns, [pair][vertical position][tap][in channel][lanes]. All
// lanes of a pair are written together, so that writes are contiguous.
void WinogradConv::pack_weights(const float* oihw, float* out) const noexcept {
  for (size_t panel = 0; panel < panels(); ++panel) pack_panel(panel, oihw, out);
}

size_t WinogradConv::panels() const noexcept { return ceil_div(out_vectors_, kPair); }

void WinogradConv::pack_panel(size_t panel, const float* oihw, float* out) const noexcept {
  const size_t in = shape_.in_channels, taps = down_.taps * across_.taps;
  double down[kMostWinogradPositions * kMostWinogradTaps], across[kMostWinogradPositions * kMostWinogradTaps];
  for (size_t i = 0; i < down_.positions; ++i) winograd_kernel_row(down_.form, i, down + i * kMostWinogradTaps);
  for (size_t j = 0; j < across_.positions; ++j) winograd_kernel_row(across_.form, j, across + j * kMostWinogradTaps);
  ptrdiff_t steps[kMostTaps * kMostTaps];
  for (size_t t = 0; t < taps; ++t)
    steps[t] = static_cast<ptrdiff_t>(t / across_.taps) * filter_.row + static_cast<ptrdiff_t>(t % across_.taps) * filter_.column;
  alignas(64) double kernel[kMostTaps * kMostTaps * kPair * kMostLanes];
  const size_t first = panel * kPair * lanes_, lanes = std::min(kPair * lanes_, out_vectors_ * lanes_ - first);
  const size_t used = std::min(lanes, shape_.out_channels - first);
  out += first * panels_ * in;
  std::fill_n(kernel, taps * lanes, 0.0);
  for (size_t c = 0; c < in; ++c) {
    for (size_t l = 0; l < used; ++l) {
      const float* k = oihw + filter_.first + (first + l) * filter_.output + c * filter_.channel;
      for (size_t t = 0; t < taps; ++t) kernel[t * lanes + l] = static_cast<double>(k[steps[t]]);
    }
    kernels_->pack({kernel, down, across, down_.taps, across_.taps, down_.positions, keeps_columns_ ? 0 : across_.positions, lanes,
                    out + c * lanes, in * lanes});
  }
}

void WinogradConv::pack_bias(const float* bias, float* out) const noexcept {
  for (size_t o = 0; o < out_vectors_ * lanes_; ++o) out[o] = o < shape_.out_channels ? bias[o] : 0;
}

// From the inputs of a whole tile, rows `row` floats apart, to all positions.
void WinogradConv::transform_whole(const float* from, size_t row, float* v) const noexcept {
  alignas(64) float columns[kMostWinogradPositions * kMostWinogradPositions * kMostLanes];
  const bool is_row = down_.positions == 1, is_column = across_.positions == 1;
  const size_t line = across_.positions * (is_column ? v_plane_ : lanes_);
  WinogradLines t;
  if (!is_row) {
    t.x_value = shape_.stride_h * row, t.x_line = lanes_;
    t.y_value = line, t.y_line = lanes_;
    t.lines = across_.positions, t.copies = numbers_of(down_.form).copies(), t.coefficients = down_.coefficients.input.data();
    kernels_->input[down_.served](t, from, is_column ? v : columns);
  }
  if (!is_column) {
    t.x_value = shape_.stride_w * lanes_, t.x_line = line;
    t.y_value = v_plane_, t.y_line = across_.positions * v_plane_;
    t.lines = down_.positions, t.copies = numbers_of(across_.form).copies(), t.coefficients = across_.coefficients.input.data();
    kernels_->input[across_.served](t, is_row ? from : columns, v);
  }
}

// From the place's inputs, rows `row` floats apart, to the positions at which it takes part.
void WinogradConv::transform_border(const Place& place, const float* from, size_t row, float* v) const noexcept {
  const Axis &down = vertical_[place.low], &across = horizontal_[place.narrow];
  alignas(64) float columns[kMostWinogradPositions * kMostWinogradPositions * kMostLanes];
  size_t source[kMostWinogradPositions], target[kMostWinogradPositions];
  for (size_t i = 0; i < down.inputs; ++i) source[i] = i * row;
  for (size_t i = 0; i < down.count; ++i) target[i] = i * across.inputs * lanes_;
  for (size_t x = 0; x < across.inputs; ++x)
    kernels_->line[down.inputs](from + x * lanes_, source, down.input.data(), down.count, columns + x * lanes_, target);
  for (size_t x = 0; x < across.inputs; ++x) source[x] = x * lanes_;
  for (size_t j = 0; j < across.count; ++j) target[j] = across.positions[j] * v_plane_;
  for (size_t i = 0; i < down.count; ++i)
    kernels_->line[across.inputs](columns + i * across.inputs * lanes_, source, across.input.data(), across.count,
                                  v + down.positions[i] * across_.positions * v_plane_, target);
}

// From the products of a whole tile to its outputs.
void WinogradConv::output_whole(const float* m, float* y, const WinogradFinish& finish) const noexcept {
  alignas(64) float columns[kMostWinogradOutputs * kMostWinogradPositions * kMostLanes];
  const bool is_row = down_.positions == 1, is_column = across_.positions == 1;
  const size_t line = across_.positions * lanes_;
  WinogradLines t;
  if (!is_row) {
    t.x_value = across_.positions * m_plane_, t.x_line = m_plane_;
    t.y_value = is_column ? y_row_ : line, t.y_line = lanes_;
    t.lines = across_.positions, t.outputs = down_.outputs, t.copies = numbers_of(down_.form).copies();
    t.coefficients = down_.coefficients.output.data();
    kernels_->output[down_.served](t, m, is_column ? y : columns, is_column ? &finish : nullptr);
  }
  if (!is_column) {
    t.x_value = is_row ? m_plane_ : lanes_, t.x_line = line;
    t.y_value = y_pixel_, t.y_line = y_row_;
    t.lines = down_.outputs, t.outputs = across_.outputs, t.copies = numbers_of(across_.form).copies();
    t.coefficients = across_.coefficients.output.data();
    kernels_->output[across_.served](t, is_row ? m : columns, y, &finish);
  }
}

void WinogradConv::output_border(const Place& place, const float* m, float* y, WinogradFinish finish) const noexcept {
  const Axis &down = vertical_[place.low], &across = horizontal_[place.narrow];
  alignas(64) float columns[kMostWinogradOutputs * kMostWinogradPositions * kMostLanes], outputs[kMostWinogradOutputs * kMostLanes];
  size_t source[kMostWinogradPositions], target[kMostWinogradPositions];
  for (size_t i = 0; i < down.count; ++i) source[i] = down.positions[i] * across_.positions * m_plane_;
  for (size_t i = 0; i < down.outputs; ++i) target[i] = i * across.count * lanes_;
  for (size_t j = 0; j < across.count; ++j)
    kernels_->line[down.count](m + across.positions[j] * m_plane_, source, down.output.data(), down.outputs, columns + j * lanes_, target);
  for (size_t j = 0; j < across.count; ++j) source[j] = j * lanes_;
  for (size_t x = 0; x < across.outputs; ++x) target[x] = x * lanes_;
  for (size_t i = 0; i < down.outputs; ++i, y += y_row_) {
    kernels_->line[across.count](columns + i * across.count * lanes_, source, across.output.data(), across.outputs, outputs, target);
    kernels_->finish(outputs, across.outputs, y, y_pixel_, finish);
    if (finish.add) finish.add += y_row_;
  }
}

// v: [position][vector of channels][tile][lane]
void WinogradConv::transform_vector(const Block& b, const float* x, size_t vector, float* v) const noexcept {
  const size_t row = shape_.in_w * lanes_;
  const ptrdiff_t in_h = static_cast<ptrdiff_t>(shape_.in_h), in_w = static_cast<ptrdiff_t>(shape_.in_w);
  for (size_t t = 0; t < b.tiles; ++t) {
    const Place& place = places_[b.first + t];
    const bool border = place.low || place.narrow;
    const float* plane = x + (place.image * in_vectors_ + vector) * shape_.in_h * row;
    const ptrdiff_t height = static_cast<ptrdiff_t>(vertical_[place.low].inputs);
    const ptrdiff_t width = static_cast<ptrdiff_t>(horizontal_[place.narrow].inputs);
    const ptrdiff_t top = static_cast<ptrdiff_t>(place.y / down_.outputs * down_.step) - static_cast<ptrdiff_t>(shape_.pad_top);
    const ptrdiff_t first = static_cast<ptrdiff_t>(place.x / across_.outputs * across_.step) - static_cast<ptrdiff_t>(shape_.pad_left);
    float* to = v + (vector * b.tiles + t) * lanes_;
    const float* from;
    size_t step = row;
    alignas(64) float edge[kMostWinogradPositions * kMostWinogradPositions * kMostLanes];
    if (top < 0 || first < 0 || top + height > in_h || first + width > in_w) {
      const ptrdiff_t left = std::clamp<ptrdiff_t>(-first, 0, width), right = std::clamp<ptrdiff_t>(in_w - first, left, width);
      step = static_cast<size_t>(width) * lanes_;
      for (ptrdiff_t i = 0; i < height; ++i) {
        float* line = edge + static_cast<size_t>(i) * step;
        if (top + i < 0 || top + i >= in_h) {
          std::memset(line, 0, step * sizeof(float));
          continue;
        }
        std::memset(line, 0, static_cast<size_t>(left) * lanes_ * sizeof(float));
        std::memcpy(line + static_cast<size_t>(left) * lanes_, plane + ((top + i) * in_w + first + left) * static_cast<ptrdiff_t>(lanes_),
                    static_cast<size_t>(right - left) * lanes_ * sizeof(float));
        std::memset(line + static_cast<size_t>(right) * lanes_, 0, static_cast<size_t>(width - right) * lanes_ * sizeof(float));
      }
      from = edge;
    } else {
      from = plane + (top * in_w + first) * static_cast<ptrdiff_t>(lanes_);
    }
    if (border)
      transform_border(place, from, step, to);
    else
      transform_whole(from, step, to);
  }
}

void WinogradConv::transform(size_t unit, const Arguments& a, float* shared) const noexcept {
  const size_t vector = unit % in_vectors_, block = unit / in_vectors_;
  transform_vector(blocks_[block], a.x, vector, shared + block * block_floats_);
}

void WinogradConv::finish(const Place& place, float* y) const noexcept {
  const size_t columns = horizontal_[place.narrow].outputs;
  for (size_t r = 0; r < vertical_[place.low].outputs; ++r, y += y_row_) {
    if (y_pixel_ == lanes_)
      epilogue_.after(y, y, columns * lanes_, epilogue_.a, epilogue_.b);
    else
      for (size_t c = 0; c < columns; ++c) epilogue_.after(y + c * y_pixel_, y + c * y_pixel_, lanes_, epilogue_.a, epilogue_.b);
  }
}

void WinogradConv::run(size_t unit, const Arguments& a, const float* shared, float* scratch) const noexcept {
  const size_t chunk = unit % chunks_;
  const Block& b = blocks_[unit / chunks_];
  const float* v;
  if (shared_) {
    v = shared + unit / chunks_ * block_floats_;
  } else {
    float* own = scratch + product_floats_;
    for (size_t vector = 0; vector < in_vectors_; ++vector) transform_vector(b, a.x, vector, own);
    v = own;
  }
  const size_t in = shape_.in_channels;
  const size_t most = static_cast<size_t>(tile_->rows[kPair]);
  const size_t pairs = ceil_div(out_vectors_, kPair), last = share(pairs, chunks_, chunk + 1);
  float* const made = scratch + product_floats_ + (shared_ ? 0 : block_floats_);
  Tile t;
  t.taps = &kNoTaps;
  t.blocks = in / lanes_;
  t.rest = in % lanes_;
  t.block_stride = static_cast<ptrdiff_t>(b.tiles * lanes_);
  t.vector_stride = static_cast<ptrdiff_t>(lanes_);
  Stop stop;
  for (size_t pair = share(pairs, chunks_, chunk); pair < last; ++pair) {
    if (stop.after(in * b.tiles * positions_)) return;
    const size_t vectors = std::min(kPair, out_vectors_ - pair * kPair), lanes = vectors * lanes_;
    const size_t line = asked_bytes(lanes_), lines = lanes * sizeof(float) / line;
    // Panels of weights in the order of use: of positions, or of the taps that the positions of a row are made from.
    const size_t panel = in * lanes, taps = across_.taps, width = across_.positions;
    const float* w = a.w + pair * kPair * lanes_ * panels_ * in;
    t.pixel_stride = static_cast<ptrdiff_t>(lanes);
    WinogradLines made_lines;
    made_lines.x_value = shape_.stride_w * panel, made_lines.y_value = panel;
    made_lines.lines = panel / lanes_, made_lines.outputs = across_.served, made_lines.copies = numbers_of(across_.form).copies();
    made_lines.coefficients = across_.coefficients.weights.data();
    for (size_t position = 0; position < positions_; ++position) {
      const size_t row = position / width, column = position % width;
      const bool low = vertical_[1].takes_part[row], narrow = horizontal_[1].takes_part[column];
      const size_t begin = narrow ? 0 : b.narrow, count = (!low ? b.low_from : narrow ? b.tiles : b.both_from) - begin;
      if (keeps_columns_ && column == 0 && (low || b.low_from))
        kernels_->weights[numbers_of(across_.form).met()](made_lines, w + row * taps * panel, made);
      if (count == 0) continue;
      t.w = keeps_columns_ ? made + column * panel : w + position * panel;
      // Prefetch the next weights while this position computes, distributed over the tiles: those of the next position, or a share of the
      // next row's taps.
      const size_t all = taps * lines, first = keeps_columns_ ? share(all, width, column) : 0;
      const size_t asked = keeps_columns_ ? share(all, width, column + 1) - first : lines;
      const float* next = keeps_columns_ ? w + (row + 1) * taps * panel + first * line / sizeof(float) * in : w + (position + 1) * panel;
      const size_t tiles = ceil_div(count, most);
      for (size_t i = 0, from = begin, end; i < tiles; ++i, from = end) {
        end = begin + share(count, tiles, i + 1);
        const size_t rows = end - from, half = (rows + 1) / 2;
        t.x[0] = v + position * v_plane_ + from * lanes_;
        t.x[1] = t.x[0] + half * lanes_;
        t.y[0] = scratch + position * m_plane_ + from * lanes;
        t.y[1] = t.y[0] + half * lanes;
        t.prefetch = i < asked ? reinterpret_cast<const char*>(next) + i * in * line : nullptr;
        t.prefetch_also = tiles < asked ? static_cast<ptrdiff_t>(in * line) : 0;
        tile_->packed[vectors][rows](t);
      }
    }
    WinogradFinish f;
    f.low = epilogue_.low, f.high = epilogue_.high, f.clamps = epilogue_.clamps();
    for (size_t n = 0; n < vectors; ++n) {
      const size_t vector = pair * kPair + n;
      f.scale = epilogue_.scale_of(vector * lanes_);
      f.bias = a.bias ? a.bias + vector * lanes_ : nullptr;
      for (size_t i = 0; i < b.tiles; ++i) {
        const Place& p = places_[b.first + i];
        const size_t place = (p.image * out_vectors_ + vector) * y_plane_ + y_origin_ + p.y * y_row_ + p.x * y_pixel_;
        const float* m = scratch + i * lanes + n * lanes_;
        f.add = a.add ? a.add + place : nullptr;
        if (p.low || p.narrow)
          output_border(p, m, a.y + place, f);
        else
          output_whole(m, a.y + place, f);
        if (epilogue_.after) finish(p, a.y + place);
      }
    }
  }
}

}  // namespace minnow::cpu

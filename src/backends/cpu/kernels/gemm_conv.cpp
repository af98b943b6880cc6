// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/gemm_conv.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/stop.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kPair = 2;  // vectors of output channels that a tile computes
constexpr size_t kMostLanes = 16;
constexpr size_t kTurnedRows = 128;  // of weights that are turned at once

// Prefetches the next pixels of every vector of input channels, in contiguous runs of the length that tiles prefetch, two vectors at a time
// (Tile::prefetch and Tile::prefetch_also). With an odd number of vectors it prefetches bytes beyond them, which does no harm. Large images
// come from memory: 65.0 -> 61.6 ms (128 channels to 128, 448x448; AVX-512, Zen 4, one thread, 2026-11-22, `minnow profile`).
class InputAhead {
 public:
  InputAhead() = default;  // nothing is asked for
  // `plane`: floats from one vector of channels to the next; `floats`: of each vector's pixels; `run`: the bytes that a tile prefetches. If
  // runs are much longer than the pixels, prefetching would load data too early, so it is turned off.
  InputAhead(const float* x, size_t planes, size_t plane, size_t floats, size_t run) noexcept
      : x_(reinterpret_cast<const char*>(x)),
        pairs_(run <= 2 * floats * sizeof(float) ? ceil_div(planes, 2) : 0),
        plane_(plane * sizeof(float)),
        bytes_(floats * sizeof(float)),
        run_(run) {}

  // Where the next run begins; null when all have been asked for.
  const char* next() noexcept {
    if (pairs_ == 0) return nullptr;
    const char* const at = x_ + done_;
    done_ += run_;
    if (done_ >= bytes_) x_ += 2 * plane_, done_ = 0, --pairs_;
    return at;
  }
  // Bytes from a run to that of the other vector.
  ptrdiff_t other() const noexcept { return static_cast<ptrdiff_t>(plane_); }

 private:
  const char* x_ = nullptr;
  size_t pairs_ = 0, plane_ = 0, bytes_ = 0, run_ = 0, done_ = 0;
};

}  // namespace

GemmConv::GemmConv(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue)
    : shape_(shape),
      epilogue_(epilogue),
      low_precision_(options.low_precision),
      layout_(kernels.layout),
      tile_(options.low_precision ? &options.low_precision->tile : kernels.tile),
      lanes_(kernels.lanes) {
  const bool plain = options.plain_input;
  const size_t channels = shape.in_channels / shape.groups;
  table_ = plain ? tile_->plain : tile_->packed;
  element_ = plain ? 1 : lanes_;
  parts_ = low_precision_ && !plain ? low_precision_->parts : 1;
  factors_ = low_precision_ ? ceil_div(channels, 2) : channels;
  const size_t weight_taps = options.slices ? options.slices->taps : shape.taps(), filter = factors_ * weight_taps;
  filter_ = options.filter.value_or(
      FilterSteps{0, shape.out_channels / shape.groups * filter, filter, weight_taps, static_cast<ptrdiff_t>(shape.kernel_w), 1});
  in_blocks_ = plain ? 0 : factors_ / lanes_;
  in_rest_ = plain ? 0 : factors_ % lanes_;
  planes_ = plain ? factors_ : ceil_div(factors_, lanes_);
  image_planes_ = plain ? channels : ceil_div(channels, lanes_);
  depth_ = factors_ * shape.taps();
  out_vectors_ = ceil_div(shape.out_channels / shape.groups, lanes_);
  const bool dense = shape.reads_no_padding() && shape.stride_h == 1 && shape.stride_w == 1;
  direct_ = dense && !low_precision_ && !shape.channels_last;
  const OutputGrid grid = options.grid.value_or(OutputGrid{shape.out_h, shape.out_w});
  y_pixel_ = grid.step_w * lanes_;
  y_row_ = grid.step_h * grid.width * lanes_;
  y_plane_ = (options.slices ? options.slices->out : grid.height * grid.width) * lanes_;
  y_origin_ = (grid.top * grid.width + grid.left) * lanes_;
  flat_ = !options.grid && !(plain && low_precision_) && !shape.channels_last && dense && shape.taps() == 1 && shape.out_h == shape.in_h &&
          shape.out_w == shape.in_w;
  window_ = Window(*kernels.layout, shape, element_);
  height_ = flat_ ? 1 : shape.out_h;
  width_ = flat_ ? shape.out_h * shape.out_w : shape.out_w;
  in_plane_ = (options.slices ? options.slices->in : shape.in_h * shape.in_w) * element_;
  in_row_ = direct_ ? shape.in_w * element_ : window_.row_step();
  choose_blocks(options);
  place_tiles();
  if (direct_) return;
  const size_t plane = plane_of(block_rows_ + ((flat_ ? width_ : height_) % blocks_ ? 1 : 0));
  const size_t copies = !low_precision_ || flat_ ? 0 : shape.channels_last ? image_planes_ : 2;
  scratch_floats_ = sum_of({product_of({planes_ + copies, plane}), parts_ > 1 ? size_t{4} : 0});
}

void GemmConv::place_tiles() {
  const ConvShape& shape = shape_;
  block_rows_ = (flat_ ? width_ : height_) / blocks_;
  for (size_t taller = 0; taller < 2; ++taller) {
    positions_[taller].clear();
    taps_[taller].clear();
    add_positions(block_rows_ + taller, positions_[taller]);
    const size_t plane = direct_ ? in_plane_ : plane_of(block_rows_ + taller);
    for (size_t c = 0; c < (element_ == 1 ? planes_ : 1); ++c)
      for (size_t ky = 0; ky < shape.kernel_h; ++ky)
        for (size_t kx = 0; kx < shape.kernel_w; ++kx) {
          const size_t tap = direct_ ? (ky * shape.dilation_h * shape.in_w + kx * shape.dilation_w) * element_ : window_.tap(ky, kx);
          taps_[taller].push_back(static_cast<ptrdiff_t>((c * plane + tap) / parts_));
        }
  }
}

void GemmConv::cut_rows(size_t input, size_t output) {
  blocks_ = shape_.out_h * (flat_ ? ceil_div(shape_.out_w * blocks_, width_) : 1);
  in_ring_ = input;
  y_ring_ = output;
  if (input != SIZE_MAX) in_plane_ = input * shape_.in_w * element_;
  if (output != SIZE_MAX) y_plane_ = output * shape_.out_w * lanes_;
  place_tiles();
}

// Blocks are as large as keeps their input in half of L2: each reads all weights once. Where they are too few for the threads, the output
// channels are cut too. Neither changes the order of any sum.
void GemmConv::choose_blocks(const Options& options) {
  const size_t budget = options.l2 / 2 / sizeof(float);
  const size_t most_rows = static_cast<size_t>(tile_->rows[kPair]);
  if (flat_) {
    // Beyond 200 pixels nothing is gained, and the outputs of one group of channels leave L1.
    const size_t pixels = std::clamp(budget / (planes_ * element_), 4 * most_rows, size_t{200});
    blocks_ = ceil_div(width_, pixels);
  } else {
    size_t rows = 1;
    while (rows < height_ && product_of({planes_, direct_ ? (rows + shape_.extent_h()) * in_row_ : window_.plane(rows + 1)}) <= budget &&
           rows * width_ < 64 * most_rows)
      ++rows;
    if (rows < height_ && width_ * 2 <= most_rows) rows = std::max<size_t>(2, rows / 2 * 2);
    blocks_ = ceil_div(height_, rows);
  }
  const size_t pairs = ceil_div(out_vectors_, kPair), threads = options.threads;
  const bool even_chunks = pairs % threads == 0 || pairs >= 4 * threads;
  const size_t pixels = shape_.out_h * shape_.out_w, most_blocks = flat_ ? width_ / (most_rows * 6 / 7) : height_ / 4;
  if (shape_.batch * shape_.groups % threads != 0 && (flat_ || width_ * 2 > most_rows)) {
    const size_t outputs = shape_.out_channels / shape_.groups;
    const size_t parts = even_chunks ? pixel_parts(threads, pixels, shape_.in_channels, outputs, shape_.taps()) : threads;
    blocks_ = std::max(blocks_, std::min(ceil_div(blocks_, parts) * parts, most_blocks));
  }
  const size_t groups = shape_.batch * shape_.groups * blocks_;
  if (options.threads > 1 && groups < 4 * options.threads) chunks_ = std::min(pairs, ceil_div(4 * options.threads, groups));
}

void GemmConv::add_positions(size_t rows, std::vector<Place>& positions) const {
  const size_t most = static_cast<size_t>(tile_->rows[std::min(kPair, out_vectors_)]);
  const size_t width = flat_ ? rows : width_, height = flat_ ? 1 : rows;
  const auto run_at = [&](size_t row, size_t column) {
    return std::pair(row * in_row_ + column * element_, row * y_row_ + column * y_pixel_);
  };
  for (size_t row = 0; row < height;) {
    if (width * 2 <= most && row + 1 < height) {  // narrow: two rows at once
      const auto [x0, y0] = run_at(row, 0);
      const auto [x1, y1] = run_at(row + 1, 0);
      positions.push_back({{x0, x1}, {y0, y1}, static_cast<int>(2 * width)});
      row += 2;
      continue;
    }
    // Tails are balanced: 49 pixels are 13 + 12 + 12 + 12, never 14 + 14 + 14 + 7.
    const size_t tiles = ceil_div(width, most);
    for (size_t t = 0; t < tiles; ++t) {
      const size_t from = share(width, tiles, t), to = share(width, tiles, t + 1), half = from + (to - from + 1) / 2;
      const auto [x0, y0] = run_at(row, from);
      const auto [x1, y1] = run_at(row, half);
      positions.push_back({{x0, x1}, {y0, y1}, static_cast<int>(to - from)});
    }
    ++row;
  }
}

void GemmConv::pack_weights(const float* oihw, float* out) const {
  std::vector<float> rounded;
  if (low_precision_) {
    rounded = low_precision_weights(low_precision_->format, oihw, shape_.out_channels, shape_.in_channels / shape_.groups, shape_.taps());
    oihw = rounded.data();
  }
  for (size_t panel = 0; panel < panels(); ++panel) pack_panel(panel, oihw, out);
}

size_t GemmConv::panels() const noexcept { return shape_.groups * ceil_div(out_vectors_, kPair); }

// [group][pair of vectors][tap][channel][lanes of the pair]; of a plain image [channel][tap], the order in which its window lies.
void GemmConv::pack_panel(size_t panel, const float* oihw, float* out) const noexcept {
  const size_t channels = factors_, outputs = shape_.out_channels / shape_.groups, taps = shape_.taps();
  const size_t pairs = ceil_div(out_vectors_, kPair), g = panel / pairs, v = panel % pairs * kPair;
  const size_t lanes = std::min(kPair, out_vectors_ - v) * lanes_;
  out += (g * out_vectors_ + v) * depth_ * lanes_;
  const bool is_plain = filter_.channel == taps && filter_.column == 1 && filter_.row == static_cast<ptrdiff_t>(shape_.kernel_w);
  if (is_plain && (taps == 1 || element_ == 1)) {  // the weights of an output are in the panel's order
    const size_t used = std::min(lanes, outputs - v * lanes_);
    layout_->transpose(oihw + filter_.first + g * filter_.group + v * lanes_ * filter_.output, filter_.output, used, depth_, out, lanes);
    for (size_t k = 0; used < lanes && k < depth_; ++k) std::fill(out + k * lanes + used, out + (k + 1) * lanes, 0.0f);
    if (low_precision_ && element_ != 1) low_precision_->arrange_whole(out, channels, lanes / lanes_, lanes_);
    return;
  }
  const size_t raw = std::min(filter_.output, filter_.channel);  // neighbouring taps of an output and a channel
  if (element_ != 1 && !low_precision_ && raw <= kTurnedRows) {
    // Some channels at a time are turned where they lie next to each other, so that no tap reads all of the weights again.
    const size_t together = filter_.channel == raw ? kTurnedRows / raw : 1, used = std::min(lanes, outputs - v * lanes_);
    const auto row_of = [&](size_t tap) {
      return static_cast<size_t>(static_cast<ptrdiff_t>(filter_.first) + static_cast<ptrdiff_t>(tap / shape_.kernel_w) * filter_.row +
                                 static_cast<ptrdiff_t>(tap % shape_.kernel_w) * filter_.column);
    };
    size_t last = 0;  // behind it, the weights may end
    for (size_t tap = 0; tap < taps; ++tap) last = std::max(last, row_of(tap));
    float turned[kTurnedRows * kPair * kMostLanes];
    if (used < lanes) std::fill_n(turned, together * raw * lanes, 0.0f);
    const float* from = oihw + g * filter_.group + v * lanes_ * filter_.output;
    for (size_t first = 0; first < channels; first += together) {
      const size_t count = std::min(together, channels - first);
      layout_->transpose(from + first * filter_.channel, filter_.output, used, (count - 1) * raw + last + 1, turned, lanes);
      for (size_t tap = 0; tap < taps; ++tap)
        for (size_t c = 0; c < count; ++c)
          std::copy_n(turned + (c * raw + row_of(tap)) * lanes, lanes, out + (tap * channels + first + c) * lanes);
    }
    return;
  }
  for (size_t outer = 0; outer < (element_ == 1 ? channels : taps); ++outer) {
    float* const rows = out;
    for (size_t inner = 0; inner < (element_ == 1 ? taps : channels); ++inner) {
      const size_t tap = element_ == 1 ? inner : outer, channel = element_ == 1 ? outer : inner;
      const float* from = oihw + filter_.first + g * filter_.group + channel * filter_.channel +
                          static_cast<ptrdiff_t>(tap / shape_.kernel_w) * filter_.row +
                          static_cast<ptrdiff_t>(tap % shape_.kernel_w) * filter_.column;
      for (size_t o = v * lanes_; o < v * lanes_ + lanes; ++o) *out++ = o < outputs ? from[o * filter_.output] : 0;
    }
    if (low_precision_ && element_ != 1) low_precision_->arrange_whole(rows, channels, lanes / lanes_, lanes_);
  }
}

void GemmConv::pack_bias(const float* bias, float* out) const noexcept {
  const size_t outputs = shape_.out_channels / shape_.groups;
  for (size_t g = 0; g < shape_.groups; ++g)
    for (size_t l = 0; l < out_vectors_ * lanes_; ++l) *out++ = l < outputs ? bias[g * outputs + l] : 0;
}

// Copies the input of a block's tiles, all planes of the group, f32, bf16 or f16.
void GemmConv::copy_window(const float* x, size_t first, size_t rows, float* out) const noexcept {
  const size_t plane = plane_of(rows);
  if (shape_.channels_last) {
    float* const copies = low_precision_ ? out + planes_ * plane : out;
    window_.copy_channels(x, image_planes_, first, rows, copies);
    for (size_t p = 0; low_precision_ && p < planes_; ++p)
      low_precision_->pack_planes(copies + 2 * p * plane, 2 * p + 1 < image_planes_ ? copies + (2 * p + 1) * plane : nullptr, plane,
                                  out + p * plane);
    return;
  }
  if (!low_precision_) {
    for (size_t p = 0; p < planes_; ++p) window_.copy(x + p * in_plane_, first, rows, out + p * plane);
    return;
  }
  const size_t channels = shape_.in_channels / shape_.groups;
  float* const copies[2] = {out + planes_ * plane, out + (planes_ + 1) * plane};
  for (size_t p = 0; p < planes_; ++p) {
    const float* halves[2] = {};
    for (size_t h = 0; h < 2 && 2 * p + h < image_planes_; ++h) {
      const float* from = x + (2 * p + h) * in_plane_;
      if (flat_)
        halves[h] = from + first * element_;
      else
        window_.copy(from, first, rows, copies[h]), halves[h] = copies[h];
    }
    if (element_ == 1)
      low_precision_->pack_planes(halves[0], halves[1], plane, out + p * plane);
    else
      low_precision_->pack_pixels(halves[0], halves[1], plane / element_, channels - 2 * p * lanes_, out + p * plane);
  }
}

void GemmConv::finish_run(float* y, size_t pixels) const noexcept {
  if (y_pixel_ == lanes_) {
    epilogue_.after(y, y, pixels * lanes_, epilogue_.a, epilogue_.b);
  } else {
    for (size_t i = 0; i < pixels; ++i, y += y_pixel_) epilogue_.after(y, y, lanes_, epilogue_.a, epilogue_.b);
  }
}

// A tile whose sums are long: of some taps at a time, or of some channels of a tap. y holds the sums so far.
void GemmConv::run_in_parts(const Tile& whole, size_t vectors, int rows) const noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const size_t channels = element_ == 1 ? 1 : factors_, taps_at_once = std::max<size_t>(1, kLongestSum / channels);
  const size_t blocks_at_once = channels > kLongestSum ? kLongestSum / lanes_ : std::max<size_t>(1, whole.blocks);
  for (size_t tap = 0; tap < whole.tap_count; tap += taps_at_once)
    for (size_t block = 0; block == 0 || block < whole.blocks; block += blocks_at_once) {
      const bool is_first = tap == 0 && block == 0, ends_tap = block + blocks_at_once >= whole.blocks;
      const bool is_last = ends_tap && tap + taps_at_once >= whole.tap_count;
      Tile t = whole;
      t.taps += tap;
      t.tap_count = std::min(taps_at_once, whole.tap_count - tap);
      t.blocks = std::min(blocks_at_once, whole.blocks - block);
      t.rest = ends_tap ? whole.rest : 0;
      t.w += (tap * channels + block * lanes_) * vectors * lanes_;
      for (size_t h = 0; h < 2; ++h) {
        t.x[h] += static_cast<ptrdiff_t>(block) * whole.block_stride;
        if (!is_first) t.add[h] = whole.y[h];
      }
      if (!is_first) t.bias = nullptr;
      if (!is_last) t.low = -kInfinity, t.high = kInfinity, t.scale = nullptr;
      t.finish = t.add[0] || (is_last && epilogue_.clamps());
      t.prefetch = nullptr;
      table_[vectors][rows](t);
    }
}

void GemmConv::run(size_t unit, const Arguments& a, float* scratch, size_t before) const noexcept {
  const size_t chunk = unit % chunks_, block = unit / chunks_ % blocks_;
  const size_t group = unit / blocks_ / chunks_ % shape_.groups, image = unit / blocks_ / chunks_ / shape_.groups;
  const size_t cut = flat_ ? width_ : height_, first = share(cut, blocks_, block), rows = share(cut, blocks_, block + 1) - first;
  const size_t taller = rows - block_rows_;

  const float* x =
      a.x + (image * (element_ == 1 ? shape_.in_channels : ceil_div(shape_.in_channels, lanes_)) + group * image_planes_) * in_plane_;
  Tile t;
  t.overflowed = a.overflowed;
  t.block_stride = static_cast<ptrdiff_t>(in_plane_);
  const size_t row = flat_ ? first / shape_.out_w : first;  // the block is in this row where images are rings
  if (direct_) {
    x += flat_ ? (first - (row - row % in_ring_) * shape_.in_w) * element_ : first * in_row_;
  } else {
    if (before / chunks_ != unit / chunks_) copy_window(x, first, rows, scratch);
    x = scratch;
    t.block_stride = static_cast<ptrdiff_t>(plane_of(rows));
  }
  t.taps = taps_[taller].data();
  t.tap_count = taps_[taller].size();
  t.blocks = in_blocks_;
  t.rest = in_rest_;
  t.pixel_stride = static_cast<ptrdiff_t>(y_pixel_);
  t.vector_stride = static_cast<ptrdiff_t>(y_plane_);
  t.low = epilogue_.low;
  t.high = epilogue_.high;
  t.finish = a.add || epilogue_.clamps();

  const size_t y_vector = (image * shape_.groups + group) * out_vectors_,
               y_at = y_origin_ + first * (flat_ ? y_pixel_ : y_row_) - (row - row % y_ring_) * shape_.out_w * y_pixel_;
  const size_t pairs = ceil_div(out_vectors_, kPair), last = share(pairs, chunks_, chunk + 1);
  Stop stop;
  InputAhead ahead;
  if (flat_ && direct_ && chunks_ == 1 && block + 1 < blocks_)
    ahead = InputAhead(x + rows * element_, image_planes_, in_plane_, rows * element_, depth_ * asked_bytes(lanes_));
  for (size_t pair = share(pairs, chunks_, chunk); pair < last; ++pair) {
    const size_t v = pair * kPair, vectors = std::min(kPair, out_vectors_ - v), panel = depth_ * vectors * lanes_;
    t.w = a.w + (group * out_vectors_ + v) * depth_ * lanes_;
    t.bias = a.bias ? a.bias + (group * out_vectors_ + v) * lanes_ : nullptr;
    t.scale = epilogue_.scale_of((group * out_vectors_ + v) * lanes_);
    float* y = a.y + (y_vector + v) * y_plane_ + y_at;
    const float* add = a.add ? a.add + (y_vector + v) * y_plane_ + y_at : nullptr;
    // The next panel of weights is asked for by the first tiles, as many bytes as a vector of each of its rows has by each.
    const size_t asked = asked_bytes(lanes_), lines = pair + 1 < pairs ? vectors * lanes_ * sizeof(float) / asked : 0;
    const size_t tiles = positions_[taller].size();
    t.prefetch_also = tiles < lines ? static_cast<ptrdiff_t>(tiles * depth_ * asked) : 0;
    size_t index = 0;
    for (const Place& place : positions_[taller]) {
      if (stop.after(static_cast<size_t>(place.rows) * depth_ * vectors)) return;
      if (index < lines) {
        t.prefetch = reinterpret_cast<const char*>(t.w + panel) + index * depth_ * asked;
      } else {
        t.prefetch = ahead.next();
        t.prefetch_also = ahead.other();
      }
      ++index;
      const int half = (place.rows + 1) / 2;
      for (size_t h = 0; h < 2; ++h) {
        t.x[h] = x + place.x[h] / parts_;
        t.y[h] = y + place.y[h];
        t.add[h] = add ? add + place.y[h] : nullptr;
      }
      if (depth_ > kLongestSum) [[unlikely]]
        run_in_parts(t, vectors, place.rows);
      else
        table_[vectors][place.rows](t);
      if (epilogue_.after)
        for (size_t n = 0; n < vectors; ++n) {
          finish_run(t.y[0] + n * y_plane_, static_cast<size_t>(half));
          finish_run(t.y[1] + n * y_plane_, static_cast<size_t>(place.rows - half));
        }
    }
  }
}

}  // namespace minnow::cpu

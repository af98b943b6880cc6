// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/sparse_product.h"

#include <algorithm>

#include "backends/cpu/kernels/stop.h"
#include "base/saturating.h"

namespace minnow::cpu {

SparseProduct::SparseProduct(const Kernels& kernels, const ConvShape& shape, const Options& options, const Epilogue& epilogue)
    : shape_(shape),
      epilogue_(epilogue),
      kernels_(kernels.sparse),
      layout_(kernels.layout),
      lanes_(kernels.lanes),
      height_(options.height),
      matrices_(options.matrices) {
  flat_ = shape.taps() == 1 && shape.stride_h == 1 && shape.stride_w == 1 && shape.reads_no_padding() && shape.out_h == shape.in_h &&
          shape.out_w == shape.in_w;
  width_ = flat_ ? shape.out_h * shape.out_w : shape.out_w;
  few_ = matrices_ && 2 * width_ <= lanes_;
  in_vectors_ = ceil_div(shape.in_channels, lanes_);
  out_vectors_ = ceil_div(shape.out_channels, lanes_);
  size_t most_across = 0;
  std::vector<size_t> down, across;
  for (size_t ky = 0; ky < shape.kernel_h; ++ky)
    for (size_t kx = 0; kx < shape.kernel_w; ++kx) {
      const size_t y = ky * shape.dilation_h, x = kx * shape.dilation_w;
      const Phase phase{y % shape.stride_h, x % shape.stride_w};
      size_t i = 0;
      while (i < phases_.size() && (phases_[i].y != phase.y || phases_[i].x != phase.x)) ++i;
      if (i == phases_.size()) phases_.push_back(phase);
      phase_of_.push_back(i);
      down.push_back(y / shape.stride_h), across.push_back(x / shape.stride_w);
      most_down_ = std::max(most_down_, down.back()), most_across = std::max(most_across, across.back());
    }
  pitch_ = width_ + most_across;
  choose_blocks(options);
  for (size_t tap = 0; tap < down.size(); ++tap) taps_.push_back(down[tap] * pitch_ + across[tap]);
}

// Flat images: as many tiles as L1 holds of the input, so that weights, which every block reads again, do not come too often. Others: rows
// of which half of L2 holds the input; a tile of theirs reads few lines of each plane.
void SparseProduct::choose_blocks(const Options& options) {
  const size_t tile = kernels_->vectors[height_] * lanes_;
  if (few_) {
    blocks_ = width_, plane_ = 1;
    y_floats_ = (ceil_div(out_blocks() * height(), lanes_) + 1) * lanes_;
    x_floats_ = 0;
  } else if (flat_) {
    const size_t fits = options.l1 * 5 / 8 / sizeof(float) / shape_.in_channels;
    const size_t least_blocks = shape_.batch % options.threads ? options.threads : 1;
    const size_t vectors = ceil_div(width_, lanes_);
    blocks_ = std::clamp(ceil_div(width_, std::max(tile, fits / tile * tile)), std::min(least_blocks, vectors), vectors);
    block_pixels_ = ceil_div(vectors, blocks_) * lanes_;
    blocks_ = ceil_div(width_, block_pixels_);
    plane_ = block_pixels_;
    x_floats_ = product_of({shape_.in_channels, plane_});
    y_floats_ = lanes_ * tile + 4;
  } else {
    const size_t fits = options.l2 / 2 / sizeof(float) / (shape_.in_channels * phases_.size());
    size_t rows = std::clamp<size_t>(fits / pitch_, most_down_ + 1, most_down_ + shape_.out_h) - most_down_;
    if (shape_.batch % options.threads) rows = std::min(rows, ceil_div(shape_.out_h, options.threads));
    block_rows_ = rows;
    blocks_ = ceil_div(shape_.out_h, rows);
    plane_ = (rows + most_down_) * pitch_;
    // A tile may read beyond the last plane: its last pixels are none.
    x_floats_ = sum_of({product_of({shape_.in_channels, phases_.size(), plane_}), tile + pitch_});
    y_floats_ = lanes_ * tile + 4;
  }
  const size_t units = shape_.batch * blocks_;
  if (options.threads > 1 && units < 4 * options.threads && units % options.threads != 0)
    chunks_ = std::min(out_vectors_, ceil_div(4 * options.threads, units));
}

size_t SparseProduct::count_terms(const ConvShape& shape, const SparseWeights& weights, size_t height) noexcept {
  const size_t rows = kSparseHeights[height], taps = shape.taps();
  size_t terms = 0;
  const auto count = [&](size_t c, size_t o) {
    const float* from = weights.data + o * weights.output + c * weights.channel;
    const size_t used = std::min(rows, shape.out_channels - o);
    for (size_t t = 0; t < taps; ++t)
      for (size_t r = 0; r < used; ++r)
        if (from[r * weights.output + t] != 0) {
          ++terms;
          break;
        }
  };
  // In the order of memory.
  if (weights.output < weights.channel) {
    for (size_t c = 0; c < shape.in_channels; ++c)
      for (size_t o = 0; o < shape.out_channels; o += rows) count(c, o);
  } else {
    for (size_t o = 0; o < shape.out_channels; o += rows)
      for (size_t c = 0; c < shape.in_channels; ++c) count(c, o);
  }
  return terms;
}

size_t SparseProduct::packed_bytes(size_t terms) const noexcept {
  return product_of({sum_of({out_blocks(), terms, product_of({terms, height()})}), sizeof(float)});
}

void SparseProduct::pack(const SparseWeights& weights, size_t terms, void* out) const noexcept {
  uint32_t* counts = static_cast<uint32_t*>(out);
  uint32_t* offsets = counts + out_blocks();
  float* w = reinterpret_cast<float*>(offsets + terms);
  const size_t rows = height(), taps = taps_.size();
  for (size_t block = 0; block < out_blocks(); ++block) {
    const size_t o = block * rows, used = std::min(rows, shape_.out_channels - o);
    uint32_t count = 0;
    for (size_t c = 0; c < shape_.in_channels; ++c) {
      const float* from = weights.data + o * weights.output + c * weights.channel;
      for (size_t t = 0; t < taps; ++t) {
        bool is_zero = true;
        for (size_t r = 0; r < used; ++r) is_zero &= from[r * weights.output + t] == 0;
        if (is_zero) continue;
        ++count;
        *offsets++ = static_cast<uint32_t>((c * phases_.size() + phase_of_[t]) * plane_ + taps_[t]);
        for (size_t r = 0; r < rows; ++r) *w++ = r < used ? from[r * weights.output + t] * weights.factor : 0;
      }
    }
    counts[block] = count;
  }
}

void SparseProduct::set_weights(const void* packed, size_t terms) {
  counts_ = static_cast<const uint32_t*>(packed);
  offsets_ = counts_ + out_blocks();
  w_ = reinterpret_cast<const float*>(offsets_ + terms);
  starts_.assign(1, 0);
  for (size_t v = 0, block = 0; v < out_vectors_; ++v) {
    size_t count = 0;
    for (; block < std::min(out_blocks(), (v + 1) * lanes_ / height()); ++block) count += counts_[block];
    starts_.push_back(starts_.back() + count);
  }
  // Chunks of as many terms.
  chunk_begins_.clear();
  for (size_t v = 0; v < out_vectors_; ++v)
    while (chunk_begins_.size() < chunks_ && starts_[v] >= share(starts_.back(), chunks_, chunk_begins_.size())) chunk_begins_.push_back(v);
  chunk_begins_.resize(chunks_, out_vectors_);
  chunk_begins_.front() = 0;
  chunk_begins_.push_back(out_vectors_);
}

void SparseProduct::pack_bias(const float* bias, float* out) const noexcept {
  for (size_t o = 0; o < bias_floats(); ++o) out[o] = o < shape_.out_channels ? bias[o] : 0;
}

double SparseProduct::vectors() const noexcept {
  const double images = static_cast<double>(shape_.batch);
  if (few_) return images * static_cast<double>(width_);
  if (flat_) return images * static_cast<double>(ceil_div(width_, lanes_));
  return images * static_cast<double>(blocks_ * ceil_div((block_rows_ - 1) * pitch_ + width_, lanes_));
}
double SparseProduct::tiles() const noexcept { return vectors() / static_cast<double>(few_ ? 1 : kernels_->vectors[height_]); }
double SparseProduct::turned() const noexcept {
  const double each = flat_ ? static_cast<double>(block_pixels_) : static_cast<double>(plane_ * phases_.size());
  return few_ ? 0 : static_cast<double>(shape_.batch * blocks_ * shape_.in_channels) * each;
}

void SparseProduct::turn_run(const float* from, size_t step, size_t pixels, size_t channels, float* to, size_t to_step) const noexcept {
  if (channels == lanes_)
    kernels_->turn(from, step, pixels, to, to_step);
  else
    layout_->transpose(from, step, pixels, channels, to, to_step);
}

// Copies the pixels that a block reads, as planes: [channel][phase][pixel].
void SparseProduct::turn(const float* x, size_t block, float* to) const noexcept {
  const size_t image = shape_.in_h * shape_.in_w;
  for (size_t v = 0; v < in_vectors_; ++v) {
    const size_t channels = std::min(lanes_, shape_.in_channels - v * lanes_);
    const size_t step = matrices_ ? shape_.in_channels : lanes_;
    const float* from = x + v * lanes_ * (matrices_ ? 1 : image);
    float* planes = to + v * lanes_ * phases_.size() * plane_;
    if (flat_) {
      const size_t first = block * block_pixels_, count = std::min(block_pixels_, width_ - first);
      turn_run(from + first * step, step, count, channels, planes, plane_);
      for (size_t c = 0; count < block_pixels_ && c < channels; ++c)
        std::fill(planes + c * plane_ + count, planes + (c + 1) * plane_, 0.0f);
      continue;
    }
    const size_t rows = block_rows_ + most_down_, row_step = phases_.size() * plane_;
    for (size_t phase = 0; phase < phases_.size(); ++phase)
      for (size_t row = 0; row < rows; ++row) {
        float* line = planes + phase * plane_ + row * pitch_;
        const size_t y = (block * block_rows_ + row) * shape_.stride_h + phases_[phase].y;  // of the image with its padding
        // Columns [begin, end) of the line lie in the image.
        size_t begin = 0, end = 0;
        if (y >= shape_.pad_top && y - shape_.pad_top < shape_.in_h) {
          const size_t left = phases_[phase].x, s = shape_.stride_w, after = shape_.pad_left + shape_.in_w;
          begin = left >= shape_.pad_left ? 0 : std::min(pitch_, ceil_div(shape_.pad_left - left, s));
          end = after <= left ? 0 : std::min(pitch_, ceil_div(after - left, s));
        }
        if (begin < end)
          turn_run(from + ((y - shape_.pad_top) * shape_.in_w + begin * shape_.stride_w + phases_[phase].x - shape_.pad_left) * step,
                   step * shape_.stride_w, end - begin, channels, line + begin, row_step);
        else
          begin = end = 0;
        for (size_t c = 0; c < channels; ++c) {
          std::fill(line + c * row_step, line + c * row_step + begin, 0.0f);
          std::fill(line + c * row_step + end, line + c * row_step + pitch_, 0.0f);
        }
      }
  }
  if (!flat_) std::fill(to + shape_.in_channels * phases_.size() * plane_, to + x_floats_, 0.0f);
}

void SparseProduct::multiply_row(size_t row, size_t chunk, const Arguments& arguments, float* sums) const noexcept {
  const size_t first = chunk_begins_[chunk], per_vector = lanes_ / height();
  const size_t begin = first * per_vector, end = std::min(out_blocks(), chunk_begins_[chunk + 1] * per_vector);
  if (begin >= end) return;
  kernels_->row[height_]({arguments.x + row * shape_.in_channels, counts_ + begin, offsets_ + starts_[first],
                          w_ + starts_[first] * height(), end - begin, sums, 0});
  const size_t o = first * lanes_, count = std::min(chunk_begins_[chunk + 1] * lanes_, shape_.out_channels) - o;
  const size_t at = row * shape_.out_channels + o;
  kernels_->finish({sums, 1, 1, count, arguments.bias ? arguments.bias + o : nullptr, arguments.add ? arguments.add + at : nullptr,
                    epilogue_.scale_of(o), epilogue_.low, epilogue_.high, arguments.y + at, 1});
  if (epilogue_.after) epilogue_.after(arguments.y + at, arguments.y + at, count, epilogue_.a, epilogue_.b);
}

void SparseProduct::run(size_t unit, const Arguments& arguments, float* scratch, size_t before) const noexcept {
  const size_t chunk = unit % chunks_, block = unit / chunks_ % blocks_, image = unit / chunks_ / blocks_;
  if (few_) return multiply_row(block, chunk, arguments, scratch);
  if (before == SIZE_MAX || before / chunks_ != unit / chunks_)
    turn(arguments.x + image * (matrices_ ? 0 : in_vectors_ * lanes_ * shape_.in_h * shape_.in_w), block, scratch);
  float* const sums = scratch + x_floats_;
  const size_t out_image = shape_.out_h * shape_.out_w, pixel = matrices_ ? shape_.out_channels : lanes_;
  const size_t vector = lanes_ * (matrices_ ? 1 : out_image), image_at = matrices_ ? 0 : image * out_vectors_ * lanes_ * out_image;
  const size_t first_row = flat_ ? 0 : block * block_rows_, rows = flat_ ? 1 : std::min(block_rows_, shape_.out_h - first_row);
  const size_t first_pixel = flat_ ? block * block_pixels_ : first_row * width_;
  const size_t pixels = flat_ ? std::min(block_pixels_, width_ - first_pixel) : (rows - 1) * pitch_ + width_;
  const size_t vectors = ceil_div(pixels, lanes_), tiles = ceil_div(vectors, kernels_->vectors[height_]), per_vector = lanes_ / height();
  const size_t row_step = kernels_->vectors[height_] * lanes_;
  Stop stop;
  for (size_t tile = 0; tile < tiles; ++tile) {
    const size_t from = share(vectors, tiles, tile), to = share(vectors, tiles, tile + 1);
    const SparseFunction multiply = kernels_->tile[height_][to - from];
    const size_t begin = from * lanes_, end = std::min(pixels, to * lanes_);
    for (size_t v = chunk_begins_[chunk]; v < chunk_begins_[chunk + 1]; ++v) {
      if (stop.after((starts_[v + 1] - starts_[v] + 16) * (to - from) * height())) return;
      const size_t first = v * per_vector, count = std::min(out_blocks(), first + per_vector) - first;
      multiply({scratch + begin, counts_ + first, offsets_ + starts_[v], w_ + starts_[v] * height(), count, sums, row_step});
      const size_t lanes = matrices_ ? std::min(lanes_, shape_.out_channels - v * lanes_) : lanes_;
      // Runs of pixels within rows.
      for (size_t p = begin; p < end;) {
        const size_t row = flat_ ? 0 : p / pitch_, column = flat_ ? p : p % pitch_;
        const size_t row_end = flat_ ? end : row * pitch_ + width_;
        if (p < row_end) {
          const size_t run = std::min(end, row_end) - p;
          const size_t at = image_at + v * vector + (first_pixel + row * width_ + column) * pixel;
          kernels_->finish({sums + (p - begin), row_step, run, lanes, arguments.bias ? arguments.bias + v * lanes_ : nullptr,
                            arguments.add ? arguments.add + at : nullptr, epilogue_.scale_of(v * lanes_), epilogue_.low, epilogue_.high,
                            arguments.y + at, pixel});
          if (epilogue_.after) {
            if (pixel == lanes)
              epilogue_.after(arguments.y + at, arguments.y + at, run * lanes, epilogue_.a, epilogue_.b);
            else
              for (size_t i = 0; i < run; ++i)
                epilogue_.after(arguments.y + at + i * pixel, arguments.y + at + i * pixel, lanes, epilogue_.a, epilogue_.b);
          }
        }
        p = flat_ ? end : (row + 1) * pitch_;
      }
    }
  }
}

}  // namespace minnow::cpu

// SPDX-License-Identifier: Apache-2.0
// Resizing with OpenCV's positions and weights. A picture that becomes lower joins rows first and resamples one joined row; a picture that
// becomes higher resamples each of its rows once and joins the results.
#include "vision/loops/resize.h"
#include "vision/resize_parts.h"

namespace minnow::vision {

/// Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75.
void cubic_weights(float x, float* weights) {
  constexpr float a = -0.75f;
  weights[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
  weights[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
  weights[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
  weights[3] = 1.0f - weights[0] - weights[1] - weights[2];
}

/// sinc(d) * sinc(d / 4) of the distances to eight neighbours, scaled to a sum of 1.
void lanczos_weights(float x, float* weights) {
  const double pi = 3.14159265358979323846;
  double sum = 0, raw[8];
  for (int i = 0; i < 8; ++i) {
    const double distance = (static_cast<double>(x) + 3 - i) * pi;
    raw[i] = std::abs(distance) < 3e-6 ? 1 : std::sin(distance) * std::sin(distance / 4) * 4 / (distance * distance);
    sum += raw[i];
  }
  for (int i = 0; i < 8; ++i) weights[i] = static_cast<float>(raw[i] / sum);
}

namespace {

/// The first of `count` neighbours of a position, and how far the position lies behind the middle two's first.
struct Position {
  int64_t first;
  float fraction;
};

Position position_of(int64_t i, const Axis& axis, int count, bool area) {
  double whole;
  float fraction;
  if (area) {  // enlarged by area: pixels stay what they are, but for those that two pixels share
    whole = std::floor(static_cast<double>(i) * axis.scale);
    fraction = static_cast<float>(static_cast<double>(i + 1) - (whole + 1) / axis.scale);
    fraction = fraction <= 0 ? 0 : fraction - std::floor(fraction);
  } else {
    fraction = static_cast<float>((static_cast<double>(i) + 0.5) * axis.scale - 0.5);
    whole = std::floor(static_cast<double>(fraction));
    fraction -= static_cast<float>(whole);
  }
  // Beyond the picture all neighbours are its last pixel, however far.
  const double reach = count;
  return {static_cast<int64_t>(std::clamp(whole, -reach, static_cast<double>(axis.from) + reach)) - (count / 2 - 1), fraction};
}

void weights_of(float fraction, int count, float* weights) {
  if (count == 2)
    weights[0] = 1.0f - fraction, weights[1] = fraction;
  else if (count == 4)
    cubic_weights(fraction, weights);
  else
    lanczos_weights(fraction, weights);
}

template <class Weight>
Weight weight_as(float weight) {
  if constexpr (std::is_integral_v<Weight>)
    return saturate<Weight>(weight * 32768.0f);
  else
    return weight;
}

/// Steps of vectors (resize_loops.h). None where not even one pixel's neighbours lie within two vectors.
template <class Weight, class Index>
void add_steps(Across<Weight, Index>& table, int64_t channels, int64_t lanes) {
  const int64_t elements = static_cast<int64_t>(table.first.size()) * channels, last_neighbour = (table.count - 1) * channels;
  // A step would make few elements of two short vectors.
  if (lanes == 0 || table.count * channels > (lanes > 8 ? 2 * lanes : lanes)) return;
  const size_t count = static_cast<size_t>(table.count), width = static_cast<size_t>(lanes);
  for (int64_t at = 0; at < elements;) {
    const int64_t base = table.first[static_cast<size_t>(at / channels)] * channels;
    table.base.push_back(base);
    table.to.push_back(at);
    const size_t indices = table.indices.size(), weights = table.lane_weights.size();
    table.indices.resize(indices + width);
    table.lane_weights.resize(weights + count * width);
    for (size_t lane = 0; lane < width && at < elements; ++lane, ++at) {
      const size_t pixel = static_cast<size_t>(at / channels);
      const int64_t index = table.first[pixel] * channels + at % channels - base;
      if (index < 0 || index + last_neighbour >= 2 * lanes) break;
      table.indices[indices + lane] = static_cast<Index>(index);
      for (size_t k = 0; k < count; ++k) table.lane_weights[weights + k * width + lane] = table.weights[pixel * count + k];
    }
  }
  // Where neighbours lie so far apart that steps make less than three elements, pixels one by one are as fast.
  if (3 * static_cast<int64_t>(table.base.size()) > elements + 6) table.base.clear();
}

template <class Weight, class Index>
Across<Weight, Index> across(const Axis& axis, int count, bool area, int64_t channels, int64_t lanes) {
  Across<Weight, Index> table;
  table.count = count;
  float weights[8];
  for (int64_t i = 0; i < axis.to; ++i) {
    const auto [first, fraction] = position_of(i, axis, count, area);
    table.before = std::max(table.before, -first);
    table.after = std::max(table.after, first + count - axis.from);
    table.first.push_back(first);
    weights_of(fraction, count, weights);
    for (int k = 0; k < count; ++k) table.weights.push_back(weight_as<Weight>(weights[k]));
  }
  add_steps(table, channels, lanes);
  return table;
}

/// A row with room around it, whose border pixels are repeated there.
template <class T>
class Padded {
 public:
  template <class Table>
  Padded(int64_t width, int64_t channels, const Table& table)
      : before_(table.before * channels),
        size_(width * channels),
        after_(table.after * channels),
        channels_(channels),
        memory_(static_cast<size_t>(before_ + size_ + after_ + 2 * kMostLanes)) {}
  T* row() { return memory_.data() + before_; }
  void repeat() {
    T* const first = row();
    for (int64_t i = -1; i >= -before_; --i) first[i] = first[i + channels_];
    for (int64_t i = size_; i < size_ + after_; ++i) first[i] = first[i - channels_];
  }
  static constexpr int64_t kMostLanes = 32;

 private:
  int64_t before_, size_, after_, channels_;
  std::vector<T> memory_;
};

/// Calls work(first, last) for ranges of rows of `to`.
template <class Work>
void over_rows(const ImageView& from, const ImageView& to, Work&& work) {
  const int64_t per_row = from.height() * from.width() * from.channels() / to.height() + to.width() * to.channels();
  for_rows(to.height(), per_row, work);
}

struct Separable {
  const ImageView& from;
  const MutableImageView& to;
  int count;
  const std::vector<int64_t>& first_rows;  // of each row of `to`

  int64_t source(int64_t y, int k) const { return std::clamp<int64_t>(first_rows[static_cast<size_t>(y)] + k, 0, from.height() - 1); }

  /// widen(y, row): a source row as Wide. join_sources(y, row): the source rows of a destination row, joined. join(rows, y): resampled rows
  /// joined, into the destination. finish(row, y): one resampled row into the destination.
  template <class Wide, class Table, class Loop, class Widen, class JoinSources, class Join, class Finish>
  void run(const Table& table, Loop loop, Widen&& widen, JoinSources&& join_sources, Join&& join, Finish&& finish) const {
    const int64_t channels = from.channels();
    const size_t row_size = static_cast<size_t>(to.width() * channels + Padded<Wide>::kMostLanes);
    const bool lower = to.height() < from.height();
    over_rows(from, to, [&](int64_t first, int64_t last) {
      Padded<Wide> padded(from.width(), channels, table);
      if (lower) {
        std::vector<Wide> row(row_size);
        for (int64_t y = first; y < last; ++y) {
          join_sources(y, padded.row());
          padded.repeat();
          loop(padded.row(), table, channels, row.data());
          finish(row.data(), y);
        }
        return;
      }
      // Each source row is resampled once; consecutive ones have different places.
      std::vector<Wide> memory(row_size * static_cast<size_t>(count));
      std::vector<int64_t> held(static_cast<size_t>(count), -1);
      const Wide* rows[8] = {};
      for (int64_t y = first; y < last; ++y) {
        for (int k = 0; k < count; ++k) {
          const int64_t wanted = source(y, k);
          const size_t place = static_cast<size_t>(wanted % count);
          Wide* const row = memory.data() + place * row_size;
          if (held[place] != wanted) {
            widen(wanted, padded.row());
            padded.repeat();
            loop(padded.row(), table, channels, row);
            held[place] = wanted;
          }
          rows[k] = row;
        }
        join(rows, y);
      }
    });
  }
};

void resize_bytes(const ImageView& from, const MutableImageView& to, const Axis& x, const Axis& y, int count, bool area) {
  const ResizeLoops& loops = resize_loops();
  const int64_t channels = from.channels();
  const Across16 columns = across<int16_t, int16_t>(x, count, area, channels, loops.lanes16);
  const Across16 lines = across<int16_t, int16_t>(y, count, area, 1, 0);
  const size_t source_size = static_cast<size_t>(from.width() * channels), size = static_cast<size_t>(to.width() * channels);
  const int bits = count == 2 ? kLinearBits : kBits;
  const auto weights = [&](int64_t row) { return lines.weights.data() + row * count; };
  const Separable task{from, to, count, lines.first};
  task.run<int16_t>(
      columns, loops.across16, [&](int64_t row, int16_t* out) { loops.widen(from.row<uint8_t>(row), source_size, bits, out); },
      [&](int64_t row, int16_t* out) {
        const uint8_t* rows[8];
        for (int k = 0; k < count; ++k) rows[k] = from.row<uint8_t>(task.source(row, k));
        loops.down8(rows, weights(row), count, source_size, out);
      },
      [&](const int16_t* const* rows, int64_t row) { loops.down16(rows, weights(row), count, size, to.row<uint8_t>(row)); },
      [&](const int16_t* row, int64_t to_row) { loops.round(row, size, bits, to.row<uint8_t>(to_row)); });
}

/// Elements of a row as f32: its own memory where they are f32.
const float* as_floats(const ImageView& image, int64_t y, float* room) {
  const ResizeLoops& loops = resize_loops();
  const size_t n = static_cast<size_t>(image.width() * image.channels());
  switch (image.dtype()) {
    case DType::u8:
      loops.from8(image.row<uint8_t>(y), n, room);
      return room;
    case DType::u16:
      loops.from_u16(image.row<uint16_t>(y), n, room);
      return room;
    case DType::i16:
      loops.from_i16(image.row<int16_t>(y), n, room);
      return room;
    default:
      return image.row<float>(y);
  }
}

void from_floats(const float* row, const MutableImageView& image, int64_t y) {
  const ResizeLoops& loops = resize_loops();
  const size_t n = static_cast<size_t>(image.width() * image.channels());
  switch (image.dtype()) {
    case DType::u8:
      return loops.to8(row, n, image.row<uint8_t>(y));
    case DType::u16:
      return loops.to_u16(row, n, image.row<uint16_t>(y));
    case DType::i16:
      return loops.to_i16(row, n, image.row<int16_t>(y));
    default:
      std::memcpy(image.row<float>(y), row, n * sizeof(float));
  }
}

void resize_floats(const ImageView& from, const MutableImageView& to, const Axis& x, const Axis& y, int count, bool area) {
  const ResizeLoops& loops = resize_loops();
  const int64_t channels = from.channels();
  const Across32 columns = across<float, int32_t>(x, count, area, channels, loops.lanes32);
  const Across32 lines = across<float, int32_t>(y, count, area, 1, 0);
  const size_t source_size = static_cast<size_t>(from.width() * channels), size = static_cast<size_t>(to.width() * channels);
  const auto weights = [&](int64_t row) { return lines.weights.data() + row * count; };
  const bool is_float = from.dtype() == DType::f32;
  const Separable task{from, to, count, lines.first};
  task.run<float>(
      columns, loops.across32,
      [&](int64_t row, float* out) {
        const float* const floats = as_floats(from, row, out);
        if (floats != out) std::memcpy(out, floats, source_size * sizeof(float));
      },
      [&](int64_t row, float* out) {
        const float* rows[8];
        std::vector<float> room(is_float ? 0 : source_size * static_cast<size_t>(count));
        for (int k = 0; k < count; ++k)
          rows[k] = as_floats(from, task.source(row, k), is_float ? nullptr : room.data() + static_cast<size_t>(k) * source_size);
        loops.down32(rows, weights(row), count, source_size, out);
      },
      [&](const float* const* rows, int64_t row) {
        if (is_float) return loops.down32(rows, weights(row), count, size, to.row<float>(row));
        std::vector<float> room(size);
        loops.down32(rows, weights(row), count, size, room.data());
        from_floats(room.data(), to, row);
      },
      [&](const float* row, int64_t to_row) { from_floats(row, to, to_row); });
}

/// How much of each source pixel a destination pixel covers.
Spans area_spans(const Axis& axis) {
  Spans spans;
  const double size = static_cast<double>(axis.from);
  for (int64_t i = 0; i < axis.to; ++i) {
    const double begin = static_cast<double>(i) * axis.scale, end = begin + axis.scale, cell = std::min(axis.scale, size - begin);
    int64_t last = std::min(static_cast<int64_t>(std::floor(end)), axis.from - 1);
    const int64_t first = std::min(static_cast<int64_t>(std::ceil(begin)), last);
    const double before = static_cast<double>(first) - begin, behind = end - static_cast<double>(last);
    spans.begin(before > 1e-3 ? first - 1 : first);
    if (before > 1e-3) spans.add(before / cell);
    for (int64_t k = first; k < last; ++k) spans.add(1 / cell);
    if (behind > 1e-3) spans.add(std::min({behind, 1.0, cell}) / cell);
    if (spans.counts.back() == 0) spans.add(1);
  }
  return spans;
}

/// The mean of each block of `axis.scale` pixels, of those within the picture.
Spans block_spans(const Axis& axis) {
  Spans spans;
  const int64_t block = static_cast<int64_t>(std::lrint(axis.scale));
  for (int64_t i = 0; i < axis.to; ++i) {
    const int64_t first = std::min(i * block, axis.from - 1), count = std::min(block, axis.from - first);
    spans.begin(first);
    for (int64_t k = 0; k < count; ++k) spans.add(1.0 / static_cast<double>(count));
  }
  return spans;
}

void resize_area(const ImageView& from, const MutableImageView& to, const Spans& x, const Spans& y) {
  const ResizeLoops& loops = resize_loops();
  const int64_t channels = from.channels();
  const size_t source_size = static_cast<size_t>(from.width() * channels), size = static_cast<size_t>(to.width() * channels);
  const std::vector<size_t> starts = y.starts();
  over_rows(from, to, [&](int64_t begin, int64_t end) {
    std::vector<float> joined(source_size + 4), row(size + 4), more(source_size + 4), room(source_size);
    std::vector<const uint8_t*> bytes;
    std::vector<const float*> floats;
    for (int64_t i = begin; i < end; ++i) {
      const size_t at = static_cast<size_t>(i), count = static_cast<size_t>(y.counts[at]);
      const float* const weights = y.weights.data() + starts[at];
      const int64_t first = y.first[at];
      if (from.dtype() == DType::u8) {
        bytes.clear();
        for (size_t k = 0; k < count; ++k) bytes.push_back(from.row<uint8_t>(first + static_cast<int64_t>(k)));
        loops.sum8(bytes.data(), weights, count, source_size, joined.data());
      } else if (from.dtype() == DType::f32) {
        floats.clear();
        for (size_t k = 0; k < count; ++k) floats.push_back(from.row<float>(first + static_cast<int64_t>(k)));
        loops.sum32(floats.data(), weights, count, source_size, joined.data());
      } else {
        for (size_t k = 0; k < count; ++k) {
          const float* const rows[2] = {joined.data(), as_floats(from, first + static_cast<int64_t>(k), room.data())};
          const float of_rows[2] = {1, weights[k]};
          k == 0 ? loops.sum32(rows + 1, of_rows + 1, 1, source_size, more.data())
                 : loops.sum32(rows, of_rows, 2, source_size, more.data());
          std::swap(joined, more);
        }
      }
      loops.spans(joined.data(), x.first.data(), x.counts.data(), x.weights.data(), to.width(), channels, row.data());
      from_floats(row.data(), to, i);
    }
  });
}

/// The neighbours of linear, cubic or Lanczos interpolation as spans within the picture.
Spans spans_of(const Axis& axis, int count, bool area) {
  Spans spans;
  float weights[8];
  for (int64_t i = 0; i < axis.to; ++i) {
    const auto [first, fraction] = position_of(i, axis, count, area);
    weights_of(fraction, count, weights);
    const int64_t begin = std::clamp<int64_t>(first, 0, axis.from - 1), end = std::clamp<int64_t>(first + count - 1, 0, axis.from - 1);
    spans.begin(begin);
    for (int64_t k = begin; k <= end; ++k) spans.add(0);
    const size_t start = spans.weights.size() - static_cast<size_t>(end - begin + 1);
    for (int k = 0; k < count; ++k) spans.weights[start + static_cast<size_t>(std::clamp(first + k, begin, end) - begin)] += weights[k];
  }
  return spans;
}

/// i8, i32 and f64, in double.
void resize_doubles(const ImageView& from, const MutableImageView& to, const Spans& x, const Spans& y) {
  const int64_t channels = from.channels(), size = from.width() * channels;
  const std::vector<size_t> starts = y.starts();
  const auto of = [&](auto element) {
    using T = decltype(element);
    over_rows(from, to, [&](int64_t begin, int64_t end) {
      std::vector<double> joined(static_cast<size_t>(size));
      for (int64_t i = begin; i < end; ++i) {
        const size_t at = static_cast<size_t>(i);
        std::fill(joined.begin(), joined.end(), 0.0);
        for (int32_t k = 0; k < y.counts[at]; ++k) {
          const double weight = y.weights[starts[at] + static_cast<size_t>(k)];
          const T* const row = from.row<T>(y.first[at] + k);
          for (int64_t e = 0; e < size; ++e) joined[static_cast<size_t>(e)] += weight * static_cast<double>(row[e]);
        }
        T* out = to.row<T>(i);
        const float* weights = x.weights.data();
        for (size_t p = 0; p < x.first.size(); ++p) {
          for (int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (int32_t k = 0; k < x.counts[p]; ++k)
              sum += static_cast<double>(weights[k]) * joined[static_cast<size_t>((x.first[p] + k) * channels + c)];
            *out++ = saturate<T>(sum);
          }
          weights += x.counts[p];
        }
      }
    });
  };
  from.dtype() == DType::f64 ? of(double()) : from.dtype() == DType::i32 ? of(int32_t()) : of(int8_t());
}

template <size_t kBytes>
void copy_pixels(const std::byte* from, const int64_t* offsets, int64_t width, int64_t row_bytes, std::byte* to) {
  if constexpr (kBytes == 3) {
    // Four bytes at a time, where neither row ends.
    int64_t x = 0;
    for (; x + 1 < width && offsets[x] + 4 <= row_bytes; ++x) std::memcpy(to + 3 * x, from + offsets[x], 4);
    for (; x < width; ++x) std::memcpy(to + 3 * x, from + offsets[x], 3);
  } else {
    for (int64_t x = 0; x < width; ++x) std::memcpy(to + static_cast<int64_t>(kBytes) * x, from + offsets[x], kBytes);
  }
}

/// The bytes of a row's pixels for ResizeLoops::pick; blocks == 0: they lie too far apart.
struct PickedBytes {
  std::vector<int32_t> begins;
  std::vector<uint8_t> places;
  int64_t blocks = 0;

  PickedBytes(const std::vector<int64_t>& columns, int64_t pixel, int64_t row_bytes) {
    const int64_t n = static_cast<int64_t>(columns.size()) * pixel;
    if (n < 16 || pixel > 3 || row_bytes > INT32_MAX) return;
    const auto column = [&](int64_t byte) { return columns[static_cast<size_t>(byte / pixel)] * pixel; };
    const auto block = [&](int64_t i) { return std::min(i, n - 16); };
    for (int64_t i = 0; i < n; i += 16) blocks = std::max(blocks, (column(block(i) + 15) + pixel - 1 - column(block(i))) / 16 + 1);
    if (blocks > 4 || 16 * blocks > row_bytes) blocks = 0;
    if (blocks == 0) return;
    for (int64_t i = 0; i < n; i += 16) {
      const int64_t begin = std::min(column(block(i)), row_bytes - 16 * blocks);
      begins.push_back(static_cast<int32_t>(begin));
      for (int64_t byte = block(i); byte < block(i) + 16; ++byte)
        places.push_back(static_cast<uint8_t>(column(byte) + byte % pixel - begin));
    }
  }
};

void resize_nearest(const ImageView& from, const MutableImageView& to, const std::vector<int64_t>& columns,
                    const std::vector<int64_t>& rows) {
  const int64_t pixel = from.channels() * static_cast<int64_t>(size_of(from.dtype()));
  std::vector<int64_t> offsets;
  for (const int64_t column : columns) offsets.push_back(column * pixel);
  const PickedBytes picked(columns, pixel, from.row_bytes());
  for_rows(to.height(), 2 * to.width() * std::max<int64_t>(2, from.channels()), [&](int64_t first, int64_t last) {
    for (int64_t y = first; y < last; ++y) {
      auto* const out = to.row<std::byte>(y);
      const int64_t source = rows[static_cast<size_t>(y)];
      if (y > first && source == rows[static_cast<size_t>(y - 1)]) {
        std::memcpy(out, to.row<std::byte>(y - 1), static_cast<size_t>(to.row_bytes()));
        continue;
      }
      if (picked.blocks) {
        resize_loops().pick(from.row<uint8_t>(source), picked.begins.data(), picked.places.data(), static_cast<size_t>(picked.blocks),
                            static_cast<size_t>(to.row_bytes()), to.row<uint8_t>(y));
        continue;
      }
      const auto* const in = from.row<std::byte>(source);
      const auto each = [&](auto copy) { copy(in, offsets.data(), to.width(), from.row_bytes(), out); };
      switch (pixel) {
        case 1:
          each(copy_pixels<1>);
          break;
        case 2:
          each(copy_pixels<2>);
          break;
        case 3:
          each(copy_pixels<3>);
          break;
        case 4:
          each(copy_pixels<4>);
          break;
        case 6:
          each(copy_pixels<6>);
          break;
        case 8:
          each(copy_pixels<8>);
          break;
        case 12:
          each(copy_pixels<12>);
          break;
        default:
          for (int64_t x = 0; x < to.width(); ++x)
            std::memcpy(out + x * pixel, in + offsets[static_cast<size_t>(x)], static_cast<size_t>(pixel));
      }
    }
  });
}

std::vector<int64_t> nearest_positions(const Axis& axis, bool exact) {
  std::vector<int64_t> positions;
  // Exact: pixel centres, in steps of 16 fractional bits.
  const int64_t step = ((axis.from << 16) + axis.to / 2) / axis.to, start = step / 2 - axis.from % 2;
  for (int64_t i = 0; i < axis.to; ++i) {
    const int64_t position = exact ? (step * i + start) >> 16 : static_cast<int64_t>(std::floor(static_cast<double>(i) * axis.scale));
    positions.push_back(std::clamp<int64_t>(position, 0, axis.from - 1));
  }
  return positions;
}

int64_t scaled(int64_t size, double factor) {
  const double result = std::nearbyint(static_cast<double>(size) * factor);
  return result >= 1 && result <= static_cast<double>(kMostPixels) ? static_cast<int64_t>(result) : result >= 1 ? kMostPixels + 1 : 0;
}

}  // namespace

Tensor resize(const ImageView& image, Size size, Interpolation interpolation, double fx, double fy, Output output) try {
  check_not_empty("resize", image);
  int64_t width = size.width, height = size.height;
  if (width <= 0 || height <= 0) {
    if (!(fx > 0 && fy > 0)) throw InvalidArgument("resize: give a size (width, height), or factors fx and fy above 0");
    width = scaled(image.width(), fx), height = scaled(image.height(), fy);
  } else {
    fx = static_cast<double>(width) / static_cast<double>(image.width()),
    fy = static_cast<double>(height) / static_cast<double>(image.height());
  }
  check_size("resize", width, height);
  const bool antialiased = static_cast<int>(interpolation) & static_cast<int>(Interpolation::antialias);
  const Interpolation kind = static_cast<Interpolation>(static_cast<int>(interpolation) & ~static_cast<int>(Interpolation::antialias));
  if (static_cast<int>(kind) < 0 || kind > Interpolation::nearest_exact || (antialiased && kind > Interpolation::lanczos4))
    throw InvalidArgument("resize: there is no interpolation {}", static_cast<int>(interpolation));
  Result result("resize", output, image.dtype(), height, width, image.channels(), {&image});
  const MutableImageView& to = result.view();
  const Axis x{image.width(), width, 1 / fx}, y{image.height(), height, 1 / fy};
  if (image.size() == to.size()) {
    copy(image, to);
    return result.finish();
  }
  const DType dtype = image.dtype();
  with_element("resize", dtype, [](auto) {});
  if (kind == Interpolation::nearest || kind == Interpolation::nearest_exact) {
    const bool exact = kind == Interpolation::nearest_exact;
    resize_nearest(image, to, nearest_positions(x, exact), nearest_positions(y, exact));
    return result.finish();
  }
  if ((dtype == DType::i8 || dtype == DType::i32) && kind != Interpolation::linear_exact)
    throw Unsupported("resize: pictures of {} are resized by nearest, nearest_exact and linear_exact alone", dtype);
  if (antialiased) {
    resize_antialiased(image, to, kind);
    return result.finish();
  }
  const bool whole = std::abs(x.scale - std::nearbyint(x.scale)) < 1e-15 && std::abs(y.scale - std::nearbyint(y.scale)) < 1e-15;
  const bool doubles = dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i8;
  // Blocks of 2 x 2 have the same mean in linear interpolation.
  const bool halved = whole && std::nearbyint(x.scale) == 2 && std::nearbyint(y.scale) == 2;
  if (kind == Interpolation::area && x.scale >= 1 && y.scale >= 1 && !halved) {
    const Spans columns = whole ? block_spans(x) : area_spans(x), lines = whole ? block_spans(y) : area_spans(y);
    doubles ? resize_doubles(image, to, columns, lines) : resize_area(image, to, columns, lines);
    return result.finish();
  }
  const bool area = kind == Interpolation::area && !halved;
  const int count = kind == Interpolation::cubic ? 4 : kind == Interpolation::lanczos4 ? 8 : 2;
  if (halved && count == 2 && dtype == DType::u8 && image.channels() <= 4 && image.width() == 2 * width && image.height() == 2 * height)
    for_rows(height, 3 * width * image.channels(), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row)
        resize_loops().halve8(image.row<uint8_t>(2 * row), image.row<uint8_t>(2 * row + 1), static_cast<size_t>(image.channels()),
                              static_cast<size_t>(width * image.channels()), to.row<uint8_t>(row));
    });
  else if (doubles)
    resize_doubles(image, to, spans_of(x, count, area), spans_of(y, count, area));
  else if (dtype == DType::u8)
    resize_bytes(image, to, x, y, count, area);
  else
    resize_floats(image, to, x, y, count, area);
  return result.finish();
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision

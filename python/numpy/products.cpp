// SPDX-License-Identifier: Apache-2.0
// Matrix products of every dtype. With computed factors of f32 and f64 they are computed at once, and views are read in place.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <numeric>

#include "base/numeric.h"
#include "base/os.h"
#include "express/node.h"
#include "numpy/f64_i64.h"
#include "numpy/kernels/kernels.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

template <class T>
const ProductLoops<T>& product_loops() {
  static const ProductKernels& kKernels = *numpy_kernels(cpu::best_isa()).products;
  if constexpr (std::is_same_v<T, float>)
    return *kKernels.floats;
  else
    return *kKernels.doubles;
}

/// The strides of a matrix: `column` between elements of a row, `row` between rows. One of them is 1.
template <class T>
struct Matrix {
  const T* data;
  size_t row, column;
  bool is_transposed() const { return column != 1; }
  const T* at(size_t i, size_t j) const { return data + i * row + j * column; }
};

/// c [m, n] = a [m, k] b [k, n]; k > 0. Rows of c are `stride` apart.
template <class T>
struct Product {
  Matrix<T> a, b;
  T* c;
  size_t stride, m, k, n;

  /// The rows [top, bottom) and columns [left, right) alone.
  Product part(size_t top, size_t bottom, size_t left, size_t right) const {
    Product result = *this;
    result.a.data = a.at(top, 0), result.b.data = b.at(0, left), result.c = c + top * stride + left;
    result.m = bottom - top, result.n = right - left;
    return result;
  }
};

// Tiles read b in place if it is read only once or twice, or stays in L2. Otherwise a slice of k and some columns of b at a time are packed
// in panels of two vectors. These stay in L1 while a block of a, also packed and in L2, streams by. The method is GotoBLAS's (Goto, van de
// Geijn 2008, "Anatomy of High-Performance Matrix Multiplication").
constexpr size_t kPanelBytes = 64 << 10, kColumns = 2048, kDirectBytes = 512 << 10, kPairs = 2;
size_t block_bytes() {  // of a
  static const size_t kBytes = std::max<size_t>(os::cache_sizes().l2 / 2, 256 << 10);
  return kBytes;
}

template <class T>
bool is_direct(const ProductLoops<T>& loops, const Product<T>& p) {
  if (p.b.is_transposed() || (p.n < loops.lanes && !loops.masks)) return false;
  return p.m <= 2 * loops.rows[kPairs] || p.k * p.n * sizeof(T) <= kDirectBytes;
}

/// Strips of about the same height, of rows for tiles of at most `most`.
struct Strips {
  size_t count, least, more;  // `more` strips have a row more than the least
  Strips(size_t rows, size_t most) : count((rows + most - 1) / most), least(rows / count), more(rows % count) {}
  size_t begin(size_t strip) const { return least * strip + std::min(strip, more); }
};

template <class T>
void multiply_direct(const ProductLoops<T>& loops, const Product<T>& p) {
  const size_t lanes = loops.lanes;
  // Rows of a that stay in L2. For shallow products, a strip of rows, so that c, which is most of the traffic, is written in order.
  size_t most = loops.rows[kPairs];
  if (p.k > 48) most *= std::max<size_t>(block_bytes() / 4 / sizeof(T) / p.k / most, 1);
  const bool is_large = p.k * p.n * sizeof(T) > kDirectBytes / 4;
  ProductTile<T> t{};
  t.a_row = p.a.row, t.a_step = p.a.column;
  t.b_stride = p.b.row, t.depth = p.k, t.c_stride = p.stride;
  t.ahead = 8 * p.b.row;
  const Strips blocks(p.m, most);
  for (size_t block = 0; block < blocks.count; ++block) {
    const size_t first = blocks.begin(block), rows = blocks.begin(block + 1) - first;
    for (size_t column = 0; column < p.n;) {
      const size_t left = p.n - column;
      size_t vectors = left > lanes ? 2 : 1, from = column;
      if (rows <= (is_large ? 2 : 1) * loops.rows[4] && left >= 4 * lanes) vectors = 4;
      t.second = std::min(left - lanes, lanes), t.wide = lanes;
      if (left < lanes) loops.masks ? t.wide = left : from = p.n - lanes;
      column += vectors * lanes;
      t.b = p.b.data + from;
      const auto& tiles = loops.tiles[vectors];
      const Strips strips(rows, loops.rows[vectors]);
      for (size_t strip = 0, row = 0, next; strip < strips.count; ++strip, row = next) {
        next = strips.begin(strip + 1);
        t.a = p.a.at(first + row, 0), t.c = p.c + (first + row) * p.stride + from;
        tiles[next - row](t);
      }
    }
  }
}

/// How much a product has packed at a time.
template <class T>
struct Packing {
  size_t depth, columns, rows, row_stride;
  Packing(const ProductLoops<T>& loops, const Product<T>& p) {
    const size_t panel = kPairs * loops.lanes, most = kPanelBytes / sizeof(T) / panel;
    depth = Strips(p.k, most).begin(1);
    columns = std::min((p.n + panel - 1) / panel * panel, kColumns);
    row_stride = depth + 64 / sizeof(T);  // rows powers of two apart would meet in few places of the cache
    rows = std::min(p.m, std::max<size_t>(block_bytes() / sizeof(T) / depth / loops.rows[kPairs], 1) * loops.rows[kPairs]);
  }
  size_t b_elements() const { return depth * columns; }
  size_t elements() const { return b_elements() + rows * row_stride; }
};

/// [panel][k][lanes of the panel]; lanes beyond the last column are zero.
template <class T>
void pack_columns(const ProductLoops<T>& loops, const Matrix<T>& b, size_t depth, size_t columns, T* to) {
  const size_t lanes = loops.lanes;
  // Some rows at a time, which are read in their order.
  for (size_t k = 0, high; k < depth; k += high) {
    high = b.is_transposed() ? depth : std::min<size_t>(depth - k, 8);
    for (size_t from = 0, width; from < columns; from += width) {
      width = columns - from > lanes ? 2 * lanes : lanes;
      const size_t wide = std::min(columns - from, width);
      T* out = to + from * depth + k * width;
      if (b.is_transposed()) {
        loops.transpose(b.at(0, from), b.column, wide, depth, out, width);
        if (wide < width)
          for (size_t i = 0; i < depth; ++i) std::fill(out + i * width + wide, out + (i + 1) * width, T{});
        continue;
      }
      const T* row = b.at(k, from);
      if (wide * sizeof(T) == 128)
        for (size_t i = 0; i < high; ++i, row += b.row, out += width) {
          for (size_t line = 0; line < 2; ++line) __builtin_prefetch(reinterpret_cast<const char*>(row) + 768 + 64 * line);
          std::memcpy(out, row, 128);
        }
      else
        for (size_t i = 0; i < high; ++i, row += b.row, out += width) std::fill(std::copy_n(row, wide, out), out + width, T{});
    }
  }
}

template <class T>
void multiply_packed(const ProductLoops<T>& loops, const Product<T>& p, const Packing<T>& packing, T* scratch) {
  const size_t lanes = loops.lanes;
  const bool transposed = p.a.is_transposed();
  T *const b = scratch, *const a = scratch + packing.b_elements();
  const Strips slices(p.k, packing.depth), blocks(p.m, packing.rows);
  T edge[kMostProductRows * 2 * 16];
  ProductTile<T> t{};
  for (size_t left = 0; left < p.n; left += packing.columns) {
    const size_t columns = std::min(packing.columns, p.n - left);
    for (size_t slice = 0; slice < slices.count; ++slice) {
      const size_t begin = slices.begin(slice);
      t.depth = slices.begin(slice + 1) - begin;
      pack_columns(loops, {p.b.at(begin, left), p.b.row, p.b.column}, t.depth, columns, b);
      for (size_t block = 0; block < blocks.count; ++block) {
        const size_t first = blocks.begin(block), rows = blocks.begin(block + 1) - first;
        const Strips strips(rows, loops.rows[kPairs]);
        for (size_t strip = 0; strip < strips.count; ++strip) {
          const size_t row = strips.begin(strip), high = strips.begin(strip + 1) - row;
          if (transposed)  // [k][row]
            for (size_t k = 0; k < t.depth; ++k) std::copy_n(p.a.at(first + row, begin + k), high, a + row * packing.row_stride + k * high);
          else
            for (size_t r = row; r < row + high; ++r) {
              const T *from = p.a.at(first + r, begin),
                      *next = from + 2 * p.a.row;  // each row is a beginning for the processor's own prefetching
              for (size_t k = 0; k < t.depth; k += 64 / sizeof(T)) __builtin_prefetch(next + k);
              std::memcpy(a + r * packing.row_stride, from, t.depth * sizeof(T));
            }
        }
        t.b = b;
        for (size_t column = 0; column < columns; column += t.b_stride, t.b += t.depth * t.b_stride) {
          const size_t rest = columns - column, vectors = rest > lanes ? 2 : 1, width = vectors * lanes;
          t.b_stride = width, t.second = lanes, t.wide = std::min(rest, lanes);
          const bool whole = rest >= width || (vectors == 1 && loops.masks);
          for (size_t strip = 0; strip < strips.count; ++strip) {
            const size_t row = strips.begin(strip), high = strips.begin(strip + 1) - row;
            T* c = p.c + (first + row) * p.stride + left + column;
            t.a = a + row * packing.row_stride;
            t.a_row = transposed ? 1 : packing.row_stride, t.a_step = transposed ? high : 1;
            t.add = whole && slice > 0;
            t.c = whole ? c : edge, t.c_stride = whole ? p.stride : width;
            loops.tiles[vectors][high](t);
            if (whole) continue;
            for (size_t i = 0; i < high; ++i)
              for (size_t j = 0; j < rest; ++j) c[i * p.stride + j] = edge[i * width + j] + (slice > 0 ? c[i * p.stride + j] : T{});
          }
        }
      }
    }
  }
}

/// Returns a vector (or several) with stride 1: `from` itself, or a copy in `scratch`.
template <class T>
const T* in_a_row(const T* from, size_t step, size_t count, T* scratch) {
  if (step == 1) return from;
  for (size_t i = 0; i < count; ++i) scratch[i] = from[i * step];
  return scratch;
}

template <class T>
size_t scratch_elements(const ProductLoops<T>& loops, const Product<T>& p) {
  if (p.m == 1 || p.n == 1) return p.m == 1 && p.b.is_transposed() ? (p.a.is_transposed() ? p.k : 0) : p.n == 1 && p.b.row != 1 ? p.k : 0;
  return is_direct(loops, p) ? 0 : Packing<T>(loops, p).elements();
}

/// `part` of the product `all` (which it may be).
template <class T>
void multiply_part(const ProductLoops<T>& loops, const Product<T>& all, const Product<T>& part, T* scratch) {
  if (all.n == 1) {
    if (part.a.is_transposed()) return loops.combine(part.b.data, part.b.row, part.a.data, part.a.column, part.k, part.c, part.m);
    return loops.dots(part.a.data, part.a.row, part.m, in_a_row(part.b.data, part.b.row, part.k, scratch), part.k, part.c);
  }
  if (all.m == 1) {
    if (!part.b.is_transposed()) return loops.combine(part.a.data, part.a.column, part.b.data, part.b.row, part.k, part.c, part.n);
    return loops.dots(part.b.data, part.b.column, part.n, in_a_row(part.a.data, part.a.column, part.k, scratch), part.k, part.c);
  }
  if (is_direct(loops, part)) return multiply_direct(loops, part);
  multiply_packed(loops, part, Packing<T>(loops, part), scratch);
}

/// About, on one core.
template <class T>
double nanoseconds(const Product<T>& p) {
  const double bytes = static_cast<double>(p.m) * static_cast<double>(p.k) * static_cast<double>(p.n) * sizeof(T);
  return bytes / (p.m == 1 || p.n == 1 ? 40 : 280);
}
constexpr double kWorthAThread = 4000, kWorthTheGil = 3000;  // nanoseconds

/// All of `batches` products of one shape: `place(batch)` is the product.
template <class T, class Place>
void multiply_all(const Product<T>& shape, size_t batches, const Place& place) {
  const ProductLoops<T>& loops = product_loops<T>();
  const double time = nanoseconds(shape) * static_cast<double>(batches);
  size_t parts = 1;
  if (time > 2 * kWorthAThread) parts = std::min<size_t>({static_cast<size_t>(time / kWorthAThread), unsign(cores()), 256});
  if (shape.m == 1 && shape.n == 1 && batches == 1 && parts > 1 && shape.b.row == 1 && !shape.a.is_transposed()) {
    std::array<T, 256> sums;
    in_parts(static_cast<int64_t>(parts), int64_t{1} << 16, [&](int64_t first, int64_t last) {
      for (size_t i = unsign(first); i < unsign(last); ++i) {
        const size_t from = shape.k * i / parts, count = shape.k * (i + 1) / parts - from;
        loops.dots(shape.a.data + from, count, 1, shape.b.data + from, count, sums.data() + i);
      }
    });
    *shape.c = std::accumulate(sums.begin(), sums.begin() + parts, T{});
    return;
  }
  // Few products are cut in a grid, so that no more than has to be is packed more than once.
  size_t across = 1, down = 1;
  if (batches < parts) {
    const size_t each = (parts + batches - 1) / batches, panel = kPairs * loops.lanes;
    size_t best = SIZE_MAX;
    for (size_t columns = 1; columns <= each; ++columns) {
      const size_t rows = each / columns;
      if (rows * columns != each || (columns > 1 && shape.n < columns * panel) || (rows > 1 && shape.m < rows * 8)) continue;
      const size_t packed = shape.m * columns + shape.n * rows;
      if (packed <= best) best = packed, across = columns, down = rows;
    }
  }
  const size_t grid = across * down, units = batches * grid, panel = kPairs * loops.lanes;
  parts = std::min(parts, units);
  const auto part_of = [&](const Product<T>& p, size_t i) {
    const Strips rows(p.m, (p.m + down - 1) / down), columns((p.n + panel - 1) / panel, ((p.n + panel - 1) / panel + across - 1) / across);
    const size_t x = i % across, y = i / across;
    if (x >= columns.count || y >= rows.count) return p.part(0, 0, 0, 0);
    return p.part(rows.begin(y), rows.begin(y + 1), columns.begin(x) * panel, std::min(p.n, columns.begin(x + 1) * panel));
  };
  size_t most = 0;
  for (size_t i = 0; i < grid; ++i) most = std::max(most, scratch_elements(loops, grid > 1 ? part_of(shape, i) : shape));
  most = (most + 15) / 16 * 16;
  const std::shared_ptr<void> memory = most ? express::allocate_value(most * parts * sizeof(T)) : nullptr;
  T* scratch = static_cast<T*>(memory.get());
  in_parts(static_cast<int64_t>(parts), parts > 1 || time > kWorthTheGil ? int64_t{1} << 16 : 1, [&](int64_t first, int64_t last) {
    for (size_t i = unsign(first); i < unsign(last); ++i)
      for (size_t unit = units * i / parts; unit < units * (i + 1) / parts; ++unit) {
        const Product<T> product = place(unit / grid);
        if (grid == 1) {
          multiply_part(loops, product, product, scratch + i * most);
          continue;
        }
        const Product<T> part = part_of(product, unit % grid);
        if (part.m && part.n) multiply_part(loops, product, part, scratch + i * most);
      }
  });
}

template <class T>
void multiply_plain(const T* a, const T* b, T* c, int64_t m, int64_t k, int64_t n) {
  in_parts(m, k * n, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for (int64_t d = 0; d < k; ++d) {
        const T factor = a[i * k + d];
        for (int64_t j = 0; j < n; ++j) c[i * n + j] = plus(c[i * n + j], product(factor, b[d * n + j]));
      }
  });
}

/// The matrix product of one dtype, no float of 16 bits, over the last two axes, leading axes broadcast: [..., m, k] x [..., k, n].
Tensor matmul(const Tensor& a, const Tensor& b) {
  const DType dtype = a.dtype();
  if (b.dtype() != dtype || a.shape().rank() < 2 || b.shape().rank() < 2) throw InvalidArgument("matmul takes matrices of one dtype");
  const size_t p = a.shape().rank(), q = b.shape().rank();
  const int64_t m = a.shape()[p - 2], k = a.shape()[p - 1], n = b.shape()[q - 1];
  if (b.shape()[q - 2] != k)
    throw InvalidArgument("matmul: the inner dimensions differ, {} and {} (shapes {} and {})", k, b.shape()[q - 2], a.shape(), b.shape());
  const auto leading = [](const Shape& s) { return Shape(s.dims().subspan(0, s.rank() - 2)); };
  const Shape batch = broadcast(leading(a.shape()), leading(b.shape()));
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  const size_t count = unsign(shape.elements());
  Fresh y(dtype, shape);
  if (k == 0) std::memset(y.data(), 0, count * size_of(dtype));
  const auto each = [&](auto from_a, auto from_b, auto to) {
    const auto place = [&](const Shape& s, size_t index) {  // of the matrix that belongs to the batch's index
      int64_t at = 0, step = 1;
      for (size_t i = 0, rest = index; i < batch.rank(); ++i) {
        const size_t dim = unsign(batch[batch.rank() - 1 - i]), position = rest % dim;
        rest /= dim;
        if (i + 2 >= s.rank()) continue;
        const int64_t own = s[s.rank() - 3 - i];
        if (own != 1) at += static_cast<int64_t>(position) * step;
        step *= own;
      }
      return at;
    };
    using T = std::remove_pointer_t<decltype(to)>;
    if constexpr (std::is_floating_point_v<T>) {
      if (count == 0 || k == 0) return;
      const Product<T> shape{{from_a, unsign(k), 1}, {from_b, unsign(n), 1}, to, unsign(n), unsign(m), unsign(k), unsign(n)};
      multiply_all(shape, unsign(batch.elements()), [&](size_t i) {
        Product<T> product = shape;
        product.a.data += place(a.shape(), i) * m * k, product.b.data += place(b.shape(), i) * k * n, product.c += i * unsign(m * n);
        return product;
      });
    } else {
      for (size_t i = 0; i < unsign(batch.elements()); ++i)
        multiply_plain(from_a + place(a.shape(), i) * m * k, from_b + place(b.shape(), i) * k * n, to + static_cast<int64_t>(i) * m * n, m,
                       k, n);
    }
  };
  switch (work_type_of(dtype)) {
    case WorkType::complex128: {
      std::vector<Complex> values(count);
      const Converted<Complex> pc(a, DType::complex128), qc(b, DType::complex128);
      each(pc.data, qc.data, values.data());
      for (size_t i = 0; i < count; ++i) {
        if (dtype == DType::complex64)
          y.data<std::complex<float>>()[i] = std::complex<float>(values[i]);
        else
          y.data<Complex>()[i] = values[i];
      }
      break;
    }
    case WorkType::i64: {
      std::vector<int64_t> values(count);
      const Converted<int64_t> p64(a, DType::i64), q64(b, DType::i64);
      each(p64.data, q64.data, values.data());
      narrow(dtype, values.data(), count, y.data());
      break;
    }
    default:
      if (dtype == DType::f32)
        each(a.data<float>(), b.data<float>(), y.data<float>());
      else if (dtype == DType::f64)
        each(a.data<double>(), b.data<double>(), y.data<double>());
      else
        throw InvalidArgument("matmul takes no {}", dtype);
  }
  return y;
}

/// A computed factor; a view is read in its base. It has at least two axes; an axis that a vector lacks has length 1.
struct Factor {
  Tensor tensor;  // keeps the elements as they are
  int64_t offset = 0;
  size_t rank = 0;
  bool is_vector = false;
  std::array<size_t, kMaxRank> dims, strides;

  size_t rows() const { return dims[rank - 2]; }
  size_t columns() const { return dims[rank - 1]; }
  template <class T>
  Matrix<T> matrix() const {
    return {tensor.data<T>() + offset, strides[rank - 2], strides[rank - 1]};
  }

  /// Nothing if the value is not computed, expressions have to be kept, or tiles cannot read it. A vector is a row or a column.
  static std::optional<Factor> of(const Var& x, bool is_row) {
    express::Cell* cell = express::Access::cell(x).get();
    if (!cell) return std::nullopt;
    express::settle(*cell);
    const express::LazyValue& value = cell->base ? cell->base->value : cell->value;
    if (!value.node || !value.node->is_computed() || value.node->keeps_inputs) return std::nullopt;
    const Tensor& tensor = express::output_of(value).tensor;
    if (!tensor || (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64)) return std::nullopt;
    const express::Region* region = cell->base ? cell->region.get() : nullptr;
    if (region && (region->part != 0 || !(region->base == tensor.shape()))) return std::nullopt;
    const Shape& shape = region ? region->shape : tensor.shape();
    if (shape.rank() == 0 || shape.elements() == 0) return std::nullopt;
    Factor f;
    f.rank = shape.rank();
    size_t dense = 1;
    for (size_t i = f.rank; i-- > 0;) {
      f.dims[i] = unsign(shape[i]);
      const int64_t stride = region ? region->strides[i] : static_cast<int64_t>(dense);
      if (f.dims[i] > 1 && stride < 0) return std::nullopt;
      f.strides[i] = f.dims[i] > 1 ? unsign(stride) : 0;
      dense *= f.dims[i];
    }
    if (f.rank == 1) {
      f.is_vector = true, f.rank = 2, f.dims[1] = 1, f.strides[1] = 0;
      if (is_row) std::swap(f.dims[0], f.dims[1]), std::swap(f.strides[0], f.strides[1]);
    }
    size_t &row = f.strides[f.rank - 2], &column = f.strides[f.rank - 1];
    if (f.columns() == 1)
      column = 1;
    else if (f.rows() == 1 && column != 1)
      row = 1;
    if (row != 1 && column != 1) return std::nullopt;
    f.tensor = tensor;
    if (region) f.offset = region->offset;
    return f;
  }
};

template <class T>
void multiply_factors(const Factor& a, const Factor& b, const Shape& batch, T* c) {
  const size_t m = a.rows(), k = a.columns(), n = b.columns();
  Product<T> product{a.matrix<T>(), b.matrix<T>(), c, n, m, k, n};
  if (batch.empty()) return multiply_all(product, 1, [&](size_t) { return product; });
  const auto place = [&](const Factor& f, size_t index) {
    size_t at = 0;
    for (size_t i = 0; i + 2 < f.rank; ++i) {
      const size_t dim = unsign(batch[batch.rank() - 1 - i]);
      at += index % dim * f.strides[f.rank - 3 - i];
      index /= dim;
    }
    return at;
  };
  size_t batches = unsign(batch.elements());
  // Rows of a that all meet the same b, one matrix below the other, are one product.
  bool joined = !product.a.is_transposed() || m == 1;
  for (size_t i = 0; i + 2 < b.rank; ++i) joined &= b.strides[i] == 0;
  if (m == 1 && a.rank > 2) product.a = {product.a.data, a.strides[a.rank - 3], k == 1 ? 1 : product.a.column};
  size_t next = m == 1 ? product.a.row : m * product.a.row;
  for (size_t i = a.rank - 2; joined && i-- > 0; next *= a.dims[i])
    joined = a.dims[i] == unsign(batch[batch.rank() + i - (a.rank - 2)]) && a.strides[i] == next;
  if (joined && a.rank - 2 == batch.rank() && product.a.column == 1) {
    product.m *= batches;
    return multiply_all(product, 1, [&](size_t) { return product; });
  }
  product.a = a.matrix<T>();
  multiply_all(product, batches, [&](size_t i) {
    Product<T> one = product;
    one.a.data += place(a, i), one.b.data += place(b, i), one.c += i * m * n;
    return one;
  });
}

}  // namespace

std::optional<Var> product_at_hand(const Var& x, const Var& y) {
  std::optional<Factor> a, b;
  {
    const python::Guard guard;
    if (!(a = Factor::of(x, true)) || !(b = Factor::of(y, false))) return std::nullopt;
  }
  const DType dtype = a->tensor.dtype();
  if (b->tensor.dtype() != dtype || b->rows() != a->columns()) return std::nullopt;
  Shape shape;
  const size_t rank = std::max(a->rank, b->rank);
  for (size_t i = rank; i-- > 2;) {
    const size_t p = i < a->rank ? a->dims[a->rank - 1 - i] : 1, q = i < b->rank ? b->dims[b->rank - 1 - i] : 1;
    if (p != q && p != 1 && q != 1) return std::nullopt;
    shape.push_back(static_cast<int64_t>(std::max(p, q)));
  }
  const Shape batch = shape;
  if (!a->is_vector) shape.push_back(static_cast<int64_t>(a->rows()));
  if (!b->is_vector) shape.push_back(static_cast<int64_t>(b->columns()));
  Fresh product(dtype, shape);
  if (dtype == DType::f32)
    multiply_factors(*a, *b, batch, product.data<float>());
  else
    multiply_factors(*a, *b, batch, product.data<double>());
  return product;
}

void define_products(nb::module_& m) {
  m.def(
      "matmul", [](const Var& a, const Var& b) { return Var(matmul(value_of(a), value_of(b))); }, nb::arg("a"), nb::arg("b"));
  m.def("product_at_hand", product_at_hand, nb::arg("a"), nb::arg("b"));
}

}  // namespace minnow::numpy

// SPDX-License-Identifier: Apache-2.0
// Matrix products of f64 (MatMul, Gemm) and of 32-bit integers (MatMul): B in panels of two vectors, A in strips of a tile's rows, one
// slice of k at a time; the sums of a slice are added to y.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/saturating.h"

namespace minnow::cpu {
namespace {

constexpr size_t kDepth = 224;  // most of a slice of k: its panel of B stays in L1, a block of A in L2
// Between the rows of A's slice. Rows that lie powers of two apart, as many matrices' do, would meet in few places of the cache.
constexpr size_t kStride = kDepth + 8;
constexpr size_t kStrips = 12;  // most of a block of rows
constexpr size_t kMostRows = 8, kMostColumns = 32;

size_t size(int64_t value) { return static_cast<size_t>(value); }

Estimate estimate(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  const bool is_double = dtype == DType::f64;
  if (!is_double && (node.op() == "Gemm" || (dtype != DType::i32 && dtype != DType::u32))) return declined("the dtype is {}", dtype);
  if (is_double && !cpu_device(device).kernels->f64_i32->f64) return unavailable("there are no vectors of doubles");
  if (node.output_shape(0).elements() == 0 || node.input_shape(0).elements() == 0) return declined("a matrix is empty");
  if (!addition_of(node)) return declined("a tensor of shape {} is added", node.input_shape(2));
  const Product p(node);
  const double a = static_cast<double>(node.input_shape(0).elements()), b = static_cast<double>(node.input_shape(1).elements());
  const size_t element = size_of(dtype), rows = cpu_device(device).kernels->f64_i32->rows;
  const double multiplied = static_cast<double>(p.batches * ceil_div(p.shape.m, rows) * rows * p.shape.k * p.shape.n);
  return Estimate(device.flop_time(2 * multiplied, is_double ? 0.4 : 0.2) + device.byte_time(static_cast<double>(element) * (a + 2 * b)) +
                  b * 0.5e-9 + 1e-6);
}

template <class T>
class F64I32MatMulKernel final : public Kernel {
 public:
  explicit F64I32MatMulKernel(PrepareContext& context)
      : p_(context.node()),
        addition_(*addition_of(context.node())),
        alpha_(static_cast<T>(alpha_of(context.node()))),
        rows_(cpu_device(context.device()).kernels->f64_i32->rows),
        columns_(2 * cpu_device(context.device()).kernels->lanes * sizeof(float) / sizeof(T)),
        tile_(cpu_device(context.device()).kernels->f64_i32->tile(T())) {
    const NodeView& node = context.node();
    const size_t threads = size(context.device().threads), k = p_.shape.k;
    panels_ = ceil_div(p_.shape.n, columns_);
    const size_t least = ceil_div(2 * threads, p_.batches);  // as many blocks for each thread
    block_ = ceil_div(ceil_div(p_.shape.m, ceil_div(ceil_div(p_.shape.m, kStrips * rows_), least) * least), rows_) * rows_;
    blocks_ = ceil_div(p_.shape.m, block_);
    slices_ = ceil_div(k, kDepth);
    matrix_ = product_of({panels_, columns_, k});
    matrices_ = size(node.input_shape(1).elements()) / (k * p_.shape.n);
    const size_t bytes = product_of({matrices_, matrix_, sizeof(T)});
    if (node.is_constant(1))
      b_ = context.packed(1, "f64 or i32 matmul", {{"transposed", p_.shape.transpose_b}, {"k", k}, {"n", p_.shape.n}}, bytes,
                          [&](const TensorView& b, void* out) {
                            for (size_t i = 0; i < matrices_ * panels_; ++i) pack_panel(i, b.data<T>(), static_cast<T*>(out));
                          });
    else
      b_offset_ = context.reserve_scratch(bytes);
    units_.reserve(context, p_.batches * blocks_, product_of({block_, kStride, sizeof(T) / sizeof(float)}));
  }

  void run(RunContext& context) const noexcept override {
    const T* b = static_cast<const T*>(b_.get());
    if (!b) {
      T* packed = context.scratch_at<T>(b_offset_);
      const T* from = context.in<T>(1);
      context.parallel_for(matrices_ * panels_, [&](size_t i) { pack_panel(i, from, packed); });
      b = packed;
    }
    units_.run(context, [&](size_t unit, float* scratch) {
      const size_t batch = unit / blocks_, first = unit % blocks_ * block_, rows = std::min(block_, p_.shape.m - first);
      T* y = context.out<T>(0) + (batch * p_.shape.m + first) * p_.shape.n;
      const T* c = addition_.kind == Addend::none ? nullptr : context.in<T>(2);
      if (addition_.kind == Addend::full) c += first * p_.shape.n;
      begin(c, rows, y);
      multiply(context.in<T>(0) + p_.a_offset(batch), b + p_.b_matrix(batch) * matrix_, first, rows, reinterpret_cast<T*>(scratch), y);
    });
  }

 private:
  size_t slice_begin(size_t slice) const noexcept { return share(p_.shape.k, slices_, slice); }

  // [slice][panel][k][column]; columns beyond n are zero.
  void pack_panel(size_t i, const T* b, T* out) const noexcept {
    const auto [m, k, n, transpose_a, transpose_b] = p_.shape;
    b += i / panels_ * k * n;
    out += i / panels_ * matrix_;
    const size_t first = i % panels_ * columns_, count = std::min(columns_, n - first);
    for (size_t slice = 0; slice < slices_; ++slice) {
      const size_t begin = slice_begin(slice), end = slice_begin(slice + 1);
      T* to = out + begin * panels_ * columns_ + first * (end - begin);
      for (size_t row = begin; row < end; ++row, to += columns_) {
        if (transpose_b)
          for (size_t c = 0; c < count; ++c) to[c] = b[(first + c) * k + row];
        else
          std::memcpy(to, b + row * n + first, count * sizeof(T));
        std::fill(to + count, to + columns_, T{});
      }
    }
  }

  // The addend.
  void begin(const T* c, size_t rows, T* y) const noexcept {
    const size_t n = p_.shape.n;
    if (!c || addition_.kind == Addend::full) {
      if (c)
        std::memcpy(y, c, rows * n * sizeof(T));
      else
        std::fill_n(y, rows * n, T{});
      return;
    }
    const T factor = static_cast<T>(addition_.factor);
    for (size_t r = 0; r < rows; ++r, y += n)
      for (size_t i = 0; i < n; ++i) y[i] = factor * c[addition_.kind == Addend::columns ? i : 0];
  }

  void multiply(const T* a, const T* b, size_t first, size_t rows, T* scratch, T* y) const noexcept {
    const auto [m, k, n, transpose_a, transpose_b] = p_.shape;
    T edge[kMostRows * kMostColumns];
    Stop stop;
    for (size_t slice = 0; slice < slices_; ++slice) {
      const size_t begin = slice_begin(slice), depth = slice_begin(slice + 1) - begin;
      for (size_t r = 0; r < ceil_div(rows, rows_) * rows_; ++r) {
        const size_t row = first + std::min(r, rows - 1);  // rows beyond the last are computed and not written
        const T* from = transpose_a ? a + begin * m + row : a + row * k + begin;
        const size_t step = transpose_a ? m : 1;
        T* to = scratch + r * kStride;
        if (step == 1 && alpha_ == T{1})
          std::memcpy(to, from, depth * sizeof(T));
        else
          for (size_t i = 0; i < depth; ++i) to[i] = alpha_ * from[i * step];
      }
      for (size_t panel = 0; panel < panels_; ++panel) {
        const size_t column = panel * columns_, columns = std::min(columns_, n - column);
        if (stop.after(2 * rows * depth)) return;
        const T* factors = b + begin * panels_ * columns_ + column * depth;
        for (size_t strip = 0; strip < rows; strip += rows_) {
          const size_t height = std::min(rows_, rows - strip);
          T* to = y + strip * n + column;
          if (height == rows_ && columns == columns_) {
            tile_(scratch + strip * kStride, kStride, factors, depth, to, n);
            continue;
          }
          std::fill_n(edge, rows_ * columns_, T{});
          tile_(scratch + strip * kStride, kStride, factors, depth, edge, columns_);
          for (size_t r = 0; r < height; ++r)
            for (size_t i = 0; i < columns; ++i) to[r * n + i] = sum(to[r * n + i], edge[r * columns_ + i]);
        }
      }
    }
  }
  static T sum(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    else
      return a + b;
  }

  Product p_;
  Addition addition_;
  T alpha_;
  size_t rows_, columns_;  // of a tile
  MatMulTile<T> tile_;
  size_t panels_, block_, blocks_, slices_, matrix_, matrices_, b_offset_ = 0;
  std::shared_ptr<const void> b_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  if (context.node().input_dtype(0) == DType::f64) return std::make_unique<F64I32MatMulKernel<double>>(context);
  return std::make_unique<F64I32MatMulKernel<int32_t>>(context);
}

constexpr Scheme kSchemes[] = {{"Gemm", "matmul.f64_i32", estimate, prepare, kLargeOnly},
                               {"MatMul", "matmul.f64_i32", estimate, prepare, kLargeOnly}};

}  // namespace

std::span<const Scheme> matmul_f64_i32_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu

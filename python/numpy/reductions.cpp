// SPDX-License-Identifier: Apache-2.0
// Reductions and running sums along axes, of every dtype.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/kernels.h"
#include "base/numeric.h"
#include "numpy/f64_i64.h"
#include "numpy/numpy.h"
#include "numpy/reductions.h"

namespace minnow::numpy {
namespace {

bool before(double a, double b) { return a < b; }
bool before(int64_t a, int64_t b) { return a < b; }
bool before(Complex a, Complex b) { return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag()); }
template <class T>
bool is_nan(T x) {
  if constexpr (std::is_same_v<T, Complex>)
    return std::isnan(x.real()) || std::isnan(x.imag());
  else
    return x != x;
}

struct Sum {
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  T operator()(T a, T b) const {
    return plus(a, b);
  }
};
struct Product {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  T operator()(T a, T b) const {
    return product(a, b);
  }
};
struct Most {
  template <class T>
  T operator()(T a, T b) const {
    return before(b, a) || is_nan(a) ? a : b;
  }
};
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return before(a, b) || is_nan(a) ? a : b;
  }
};

// A long sum is cut in halves, so that its error grows with the logarithm of its length; eight partial results hide the adder's latency.
template <class T, class F>
T fold(const T* x, int64_t n, F f) {
  if (n > 4096) {
    const int64_t half = n / 2 / 8 * 8;
    return f(fold(x, half, f), fold(x + half, n - half, f));
  }
  if (n < 16) {
    T result = x[0];
    for (int64_t i = 1; i < n; ++i) result = f(result, x[i]);
    return result;
  }
  T parts[8];
  for (int64_t k = 0; k < 8; ++k) parts[k] = x[k];
  int64_t i = 8;
  for (; i + 8 <= n; i += 8)
    for (int64_t k = 0; k < 8; ++k) parts[k] = f(parts[k], x[i + k]);
  for (; i < n; ++i) parts[0] = f(parts[0], x[i]);
  return f(f(f(parts[0], parts[1]), f(parts[2], parts[3])), f(f(parts[4], parts[5]), f(parts[6], parts[7])));
}

/// Elements of a tensor as T: in place if they have that type, else converted block by block.
template <class T>
struct Elements {
  const Tensor& x;
  DType own = std::is_same_v<T, double> ? DType::f64 : DType::complex128;
  static constexpr int64_t kBlock = 2048;
  bool lie() const { return x.dtype() == own; }
  const T* read(int64_t at, int64_t n, T* block) const {
    const char* from = x.data<char>() + at * static_cast<int64_t>(size_of(x.dtype()));
    if (lie()) return reinterpret_cast<const T*>(from);
    if constexpr (std::is_same_v<T, Complex>)
      std::copy_n(reinterpret_cast<const std::complex<float>*>(from), n, block);
    else
      widen(x.dtype(), from, unsign(n), block);
    return block;
  }
};

/// n elements from `at` on.
template <class T, class F>
T fold(const Elements<T>& x, int64_t at, int64_t n, F f) {
  if (x.lie()) return fold(x.read(at, n, nullptr), n, f);
  constexpr int64_t kMost = Elements<T>::kBlock;
  T result{}, block[kMost];
  for (int64_t i = 0; i < n; i += kMost) {
    const int64_t count = std::min(kMost, n - i);
    const T part = fold(x.read(at + i, count, block), count, f);
    result = i == 0 ? part : f(result, part);
  }
  return result;
}

template <class T, class F>
void join_row(const T* __restrict next, int64_t n, F f, T* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(y[i], next[i]);
}

/// Column by column over `rows` rows from `at` on, `stride` elements apart. Rows that are short and lie side by side are taken several at a
/// time.
template <class T, class F>
void fold_columns(const Elements<T>& x, int64_t at, int64_t rows, int64_t stride, int64_t width, F f, T* y) {
  constexpr int64_t kMost = Elements<T>::kBlock;
  const int64_t joined = width == stride ? std::clamp<int64_t>(256 / width, 1, rows) : 1;
  T block[kMost], wide[256];
  T* const to = joined > 1 ? wide : y;
  std::copy_n(x.read(at, width * joined, block), width * joined, to);
  for (int64_t row = joined; row < rows; row += joined) {
    const int64_t n = std::min(joined, rows - row) * width;
    join_row(x.read(at + row * stride, n, block), n, f, to);
  }
  if (joined == 1) return;
  std::copy_n(wide, width, y);
  for (int64_t k = 1; k < joined; ++k) join_row(wide + k * width, width, f, y);
}

template <class T, class F>
void reduce_into(const Elements<T>& x, const Block& b, F f, T* y) {
  if (b.inner == 1) {
    if (b.outer == 1) {  // one long row
      constexpr int64_t kPiece = 1 << 15;
      const int64_t pieces = (b.count + kPiece - 1) / kPiece;
      std::vector<T> parts(unsign(pieces));
      in_parts(pieces, kPiece, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) parts[unsign(i)] = fold(x, i * kPiece, std::min(kPiece, b.count - i * kPiece), f);
      });
      *y = fold(parts.data(), pieces, f);
      return;
    }
    in_parts(b.outer, b.count, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) y[i] = fold(x, i * b.count, b.count, f);
    });
    return;
  }
  // Columns: strips of the inner axis, row after row, and where these are few, parts of the rows, which are joined then.
  constexpr int64_t kMostParts = 8;
  const int64_t strip = std::min(b.inner, Elements<T>::kBlock), strips = (b.inner + strip - 1) / strip, results = b.outer * b.inner;
  const int64_t least = std::min(b.count, 32768 / b.inner + 1);
  const int64_t each = b.outer * strips < kMostParts ? std::max((b.count + kMostParts - 1) / kMostParts, least) : b.count;
  const int64_t parts = (b.count + each - 1) / each;
  std::vector<T> partial(parts > 1 ? unsign(parts * results) : 0);
  T* const to = parts > 1 ? partial.data() : y;
  in_parts(b.outer * strips * parts, each * strip, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t at = task % strips * strip, part = task / strips % parts, outer = task / strips / parts;
      fold_columns(x, (outer * b.count + part * each) * b.inner + at, std::min(each, b.count - part * each), b.inner,
                   std::min(strip, b.inner - at), f, to + part * results + outer * b.inner + at);
    }
  });
  if (parts == 1) return;
  std::copy_n(to, results, y);
  for (int64_t part = 1; part < parts; ++part) join_row(to + part * results, results, f, y);
}

constexpr const char* kNoIdentity = "zero-size array to reduction operation {} which has no identity";

template <class T>
void reduce_by(const std::string& name, const Elements<T>& x, const Block& b, T* y) {
  const int64_t results = b.outer * b.inner;
  if (results == 0) return;
  if (b.count == 0) {
    if (name != "sum" && name != "prod") throw InvalidArgument(kNoIdentity, name);
    std::fill_n(y, results, name == "sum" ? T(0) : T(1));
    return;
  }
  if (name == "sum")
    reduce_into(x, b, Sum(), y);
  else if (name == "prod")
    reduce_into(x, b, Product(), y);
  else if (name == "max")
    reduce_into(x, b, Most(), y);
  else
    reduce_into(x, b, Least(), y);
}

constexpr int64_t kTopBit = std::numeric_limits<int64_t>::min();

/// The vectors for a dtype's largest or smallest elements; null loops where the machine has none.
cpu::MinMax extremes_of(DType dtype, bool largest) {
  static const cpu::MinMaxKernels& kKernels = *cpu::kernels_for(cpu::best_isa()).min_max;
  return kKernels.of(dtype, largest);
}
/// The vectors that find them, if there are those.
const cpu::ArgmaxLoops& argmax_loops_of(DType dtype) {
  static const cpu::ArgmaxKernels& kKernels = *cpu::kernels_for(cpu::best_isa()).argmax;
  return kKernels.loops[cpu::number_row(dtype)];
}

// Arguments of fold_block(). They have row(x, count, y) and columns(x, rows, stride, count, y), which fold elements or partial results and
// write the result to y.
struct Extreme {
  const cpu::MinMaxLoops* loops;
  uint64_t flip;
  void row(const char* x, size_t count, char* y) const { loops->reduce(x, count, flip, y); }
  void columns(const char* x, size_t rows, size_t stride, size_t count, char* y) const {
    loops->reduce_columns(x, rows, stride, count, flip, y);
  }
};
template <class T>
struct Folding {
  const cpu::SumProductLoops* loops;
  T identity;
  void row(const char* x, size_t count, char* y) const { loops->row(x, count, y); }
  void columns(const char* x, size_t rows, size_t stride, size_t count, char* y) const {
    std::fill_n(reinterpret_cast<T*>(y), count, identity);
    loops->columns(x, rows, stride, count, y);
  }
};

/// Elements of `size` bytes along the middle of `b` (none of it empty) into results of `to_size` bytes, at most 8; `results` folds those.
template <class Elements, class Results>
void fold_block(const Block& b, const char* x, size_t size, const Elements& elements, char* y, size_t to_size, const Results& results) {
  const size_t count = unsign(b.count), inner = unsign(b.inner);
  if (inner == 1 && b.outer == 1) {  // one long row
    constexpr size_t kPiece = 1 << 15;
    const size_t pieces = (count + kPiece - 1) / kPiece;
    if (pieces == 1) return elements.row(x, count, y);
    std::vector<char> parts(pieces * to_size);
    in_parts(static_cast<int64_t>(pieces), kPiece, [&](int64_t first, int64_t last) {
      for (size_t i = unsign(first); i < unsign(last); ++i)
        elements.row(x + i * kPiece * size, std::min(kPiece, count - i * kPiece), parts.data() + i * to_size);
    });
    return results.row(parts.data(), pieces, y);
  }
  if (inner == 1) {
    in_parts(b.outer, b.count, [&](int64_t first, int64_t last) {
      for (size_t i = unsign(first); i < unsign(last); ++i) elements.row(x + i * count * size, count, y + i * to_size);
    });
    return;
  }
  // Columns: strips of the inner axis, row after row or, if these are few, parts of the rows, which are joined afterwards. Several short
  // rows are taken at a time.
  constexpr size_t kStrip = 2048, kShort = 256, kMostParts = 8;
  const size_t strip = std::min(inner, kStrip), strips = (inner + strip - 1) / strip, tasks = unsign(b.outer) * strips,
               all = unsign(b.outer) * inner;
  const size_t each =
      tasks < kMostParts ? std::max((count + kMostParts - 1) / kMostParts, std::min(count, (size_t{1} << 16) / inner + 1)) : count;
  const size_t parts = (count + each - 1) / each;
  std::vector<char> partial(parts > 1 ? parts * all * to_size : 0);
  char* const to = parts > 1 ? partial.data() : y;
  in_parts(static_cast<int64_t>(tasks * parts), static_cast<int64_t>(each * strip), [&](int64_t first, int64_t last) {
    for (size_t task = unsign(first); task < unsign(last); ++task) {
      const size_t at = task % strips * strip, part = task / strips % parts, outer = task / strips / parts;
      const size_t width = std::min(strip, inner - at), rows = std::min(each, count - part * each), joined = kShort / inner;
      const char* from = x + ((outer * count + part * each) * inner + at) * size;
      char* const place = to + (part * all + outer * inner + at) * to_size;
      if (joined < 2 || rows < 2 * joined) {
        elements.columns(from, rows, inner, width, place);
        continue;
      }
      char wide[2 * kShort * 8];
      const size_t whole = rows / joined, rest = rows % joined;
      elements.columns(from, whole, joined * inner, joined * inner, wide);
      if (rest > 0) elements.columns(from + whole * joined * inner * size, rest, inner, inner, wide + joined * inner * to_size);
      results.columns(wide, joined + (rest > 0 ? 1 : 0), inner, inner, place);
    }
  });
  if (parts > 1) results.columns(partial.data(), parts, all, all, y);
}

const cpu::SumProductKernels& fold_kernels() {
  static const cpu::SumProductKernels& kKernels = *cpu::kernels_for(cpu::best_isa()).sum_product;
  return kKernels;
}
/// Sums or products of dtypes with vector loops.
template <class T>
void folded(bool sums, const Tensor& x, const Block& b, T* y) {
  const cpu::SumProductLoops* loops = sums ? fold_kernels().sums : fold_kernels().products;
  const T identity = !sums ? T(1) : std::is_same_v<T, double> ? T(-0.0) : T(0);
  fold_block(b, x.data<char>(), size_of(x.dtype()), Folding<T>{loops + cpu::sum_row(x.dtype()), identity}, reinterpret_cast<char*>(y),
             sizeof(T), Folding<T>{loops + cpu::sum_row(std::is_same_v<T, double> ? DType::f64 : DType::i64), identity});
}

/// `x` of real or complex elements for which there are no vectors.
template <class T>
std::vector<T> reduced_plainly(const std::string& name, const Tensor& x, const Block& b) {
  std::vector<T> values(unsign(b.outer * b.inner));
  reduce_by(name, Elements<T>{x}, b, values.data());
  return values;
}

Tensor reduced(const std::string& name, const Tensor& x, const Shape& shape, const Block& b, DType result) {
  Tensor y(result, shape);
  const size_t n = unsign(y.elements());
  char* to = y.writable().data<char>();
  const bool extreme = name == "max" || name == "min", some = n > 0 && b.count > 0;
  if (some && extreme && x.dtype() == result) {
    if (x.dtype() == DType::boolean) return any_all(name == "max", x, shape, b);
    if (const cpu::MinMax extremes = extremes_of(x.dtype(), name == "max"); extremes.loops) {
      const Extreme fold{extremes.loops, extremes.flip};
      fold_block(b, x.data<char>(), size_of(x.dtype()), fold, to, size_of(x.dtype()), fold);
      return y;
    }
  }
  const bool vectors = some && !extreme && cpu::sum_row(x.dtype()) < cpu::kSumRows;
  switch (work_type_of(x.dtype())) {
    case WorkType::complex128: {
      const std::vector<Complex> values = reduced_plainly<Complex>(name, x, b);
      for (size_t i = 0; i < n; ++i) {
        if (result == DType::complex64)
          reinterpret_cast<std::complex<float>*>(to)[i] = std::complex<float>(values[i]);
        else
          reinterpret_cast<Complex*>(to)[i] = values[i];
      }
      break;
    }
    case WorkType::f64: {
      std::vector<double> values;
      if (vectors)
        values.resize(n), folded(name == "sum", x, b, values.data());
      else
        values = reduced_plainly<double>(name, x, b);
      narrow(result, values.data(), n, to);
      break;
    }
    case WorkType::i64: {
      if (!vectors && extreme && n > 0) throw InvalidArgument(kNoIdentity, name);
      std::vector<int64_t> values(n, name == "sum" ? 0 : 1);
      if (vectors) folded(name == "sum", x, b, values.data());
      narrow(result, values.data(), n, to);
    }
  }
  return y;
}

/// A shape whose axes [first, last) are gone, or 1.
Shape without(const Shape& dims, int64_t first, int64_t last, bool keepdims) {
  Shape shape;
  for (size_t i = 0; i < dims.rank(); ++i) {
    const bool inside = static_cast<int64_t>(i) >= first && static_cast<int64_t>(i) < last;
    if (!inside)
      shape.push_back(dims[i]);
    else if (keepdims)
      shape.push_back(1);
  }
  return shape;
}

/// `x` along the axes [first, last): they are gone in the result, or 1.
Var reduce(const std::string& name, const Var& var, int64_t first, int64_t last, bool keepdims, nb::handle dtype) {
  const DType result = python::dtype_from(dtype);
  const Tensor x = value_of(var);
  return Var(reduced(name, x, without(x.shape(), first, last, keepdims), block_of(x.shape(), first, last), result));
}

/// The mean, var or std of real elements along the axes [first, last).
Var moment_along(const std::string& name, const Var& var, int64_t first, int64_t last, bool keepdims, double ddof, nb::handle dtype) {
  const DType result = python::dtype_from(dtype);
  const Tensor x = value_of(var);
  if (is_complex(x.dtype()) || (result != DType::f32 && result != DType::f64)) throw InvalidArgument("{} takes real elements", name);
  return Var(moment(name, x, without(x.shape(), first, last, keepdims), block_of(x.shape(), first, last), ddof, result));
}

/// The axes [first, last) given by `axis`, an int or None for all; false for other objects and axes that do not exist.
bool axes_of(const Shape& shape, nb::handle axis, int64_t& first, int64_t& last) {
  const int64_t rank = static_cast<int64_t>(shape.rank());
  first = 0, last = rank;
  if (axis.is_none()) return true;
  if (!PyLong_CheckExact(axis.ptr())) return false;
  int overflow = 0;
  const int64_t at = PyLong_AsLongLongAndOverflow(axis.ptr(), &overflow);
  if (overflow != 0 || at < -rank || at >= rank) return false;
  first = at < 0 ? at + rank : at;
  last = first + 1;
  return true;
}

/// A reduction along one axis or all, without Python code; empty if `a` is no Var at hand, or if the call needs more than that.
std::optional<Var> reduce_at_hand(const std::string& name, nb::handle a, nb::handle axis, nb::handle keepdims, double ddof) {
  if (!python::is_var(a) || !PyBool_Check(keepdims.ptr())) return std::nullopt;
  const Var& var = python::var_of(a);
  if (!at_hand(var)) return std::nullopt;
  const Tensor x = value_of(var);
  const Shape& dims = x.shape();
  const bool truth = name == "any" || name == "all", moments = name == "mean" || name == "var" || name == "std";
  const bool real = x.dtype() == DType::f32 || x.dtype() == DType::f64, whole = is_integer(x.dtype()) || x.dtype() == DType::boolean;
  if (x.elements() == 0 || dims.rank() == 0 || (!truth && !(real || whole))) return std::nullopt;
  int64_t first, last;
  if (!axes_of(dims, axis, first, last)) return std::nullopt;
  const Shape shape = without(dims, first, last, keepdims.ptr() == Py_True);
  const Block block = block_of(dims, first, last);
  if (truth) return Var(any_all(name == "any", x, shape, block));
  if (moments) return Var(moment(name, x, shape, block, ddof, real ? x.dtype() : DType::f64));
  const bool wide = whole && (name == "sum" || name == "prod");
  return Var(reduced(name, x, shape, block, !wide ? x.dtype() : is_unsigned(x.dtype()) ? DType::u64 : DType::i64));
}

template <class T>
void extreme_indices(bool largest, const T* x, const Block& b, int64_t flip, int64_t* y) {
  const auto value = [&](const T& element) {
    if constexpr (std::is_same_v<T, int64_t>)
      return element ^ flip;
    else
      return element;
  };
  in_parts(b.outer * b.inner, b.count, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const T* from = x + i / b.inner * b.count * b.inner + i % b.inner;
      T best = value(from[0]);
      y[i] = 0;
      for (int64_t k = 1; k < b.count && !is_nan(best); ++k) {
        const T candidate = value(from[k * b.inner]);
        if (is_nan(candidate) || (largest ? before(best, candidate) : before(candidate, best))) best = candidate, y[i] = k;
      }
    }
  });
}

/// Rows of bools: the search ends at the first element equal to the extreme.
void extreme_indices(bool largest, const bool* x, const Block& b, int64_t* y) {
  const cpu::ArgmaxLoops& places = argmax_loops_of(DType::boolean);
  in_parts(b.outer, b.outer == 1 ? 1 : b.count, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const bool* row = x + i * b.count;
      const size_t place = row[0] == largest ? 0 : places.find(row, unsign(b.count), &largest);
      y[i] = place < unsign(b.count) ? static_cast<int64_t>(place) : 0;
    }
  });
}

/// With vector loops: finds the extreme of each piece of a row, the first piece with the largest of these, and the index within that piece.
/// `known`: for bools in columns, the value to search, which may be absent; else null.
void extreme_indices(const cpu::MinMax& extremes, const cpu::ArgmaxLoops& places, const bool* known, const char* x, const Block& b,
                     size_t size, int64_t* y) {
  const cpu::MinMaxLoops& loops = *extremes.loops;
  const size_t count = unsign(b.count), inner = unsign(b.inner);
  if (b.inner == 1) {
    constexpr size_t kPiece = 4096;
    const size_t pieces = (count + kPiece - 1) / kPiece;
    const auto extreme_of = [&](const char* row, size_t piece, char* most) {
      loops.reduce(row + piece * kPiece * size, std::min(kPiece, count - piece * kPiece), extremes.flip, most + piece * size);
    };
    const auto place_of = [&](const char* row, const char* most) -> int64_t {
      char best[8];
      size_t first = 0;
      if (pieces > 1) {
        loops.reduce(most, pieces, extremes.flip, best);
        first = places.find(most, pieces, best) * kPiece;
        most = best;
      }
      return static_cast<int64_t>(first + places.find(row + first * size, count - first, most));
    };
    if (b.outer == 1) {
      std::vector<char> most(pieces * size);
      in_parts(static_cast<int64_t>(pieces), kPiece, [&](int64_t first, int64_t last) {
        for (int64_t piece = first; piece < last; ++piece) extreme_of(x, unsign(piece), most.data());
      });
      *y = place_of(x, most.data());
      return;
    }
    in_parts(b.outer, b.count, [&](int64_t first, int64_t last) {
      std::vector<char> most(pieces * size);
      for (int64_t i = first; i < last; ++i) {
        const char* row = x + unsign(i) * count * size;
        for (size_t piece = 0; piece < pieces; ++piece) extreme_of(row, piece, most.data());
        y[i] = place_of(row, most.data());
      }
    });
    return;
  }
  constexpr size_t kStrip = 256;
  const size_t strips = (inner + kStrip - 1) / kStrip;
  in_parts(b.outer * static_cast<int64_t>(strips), b.count * static_cast<int64_t>(std::min(kStrip, inner)),
           [&](int64_t first, int64_t last) {
             char most[kStrip * 8];
             for (size_t task = unsign(first); task < unsign(last); ++task) {
               const size_t at = task % strips * kStrip, width = std::min(kStrip, inner - at);
               const char* from = x + (task / strips * count * inner + at) * size;
               int64_t* const to = y + task / strips * inner + at;
               if (known)
                 std::fill_n(most, width, *known), std::fill_n(to, width, 0);
               else
                 loops.reduce_columns(from, count, inner, width, extremes.flip, most);
               places.find_rows(from, count, inner, width, most, to);
             }
           });
}

/// Places of the first largest or smallest elements along the middle of a block that is not empty; NaN counts as the most extreme.
Var arg_extreme(bool largest, const Tensor& x, const Shape& shape, const Block& b) {
  Tensor y(DType::i64, shape);
  int64_t* to = y.writable().data<int64_t>();
  const cpu::MinMax extremes = extremes_of(x.dtype(), largest);
  if (extremes.loops && x.dtype() == DType::boolean && b.inner == 1) {
    extreme_indices(largest, x.data<bool>(), b, to);
    return Var(std::move(y));
  }
  if (extremes.loops && x.elements() > 0) {
    extreme_indices(extremes, argmax_loops_of(x.dtype()), x.dtype() == DType::boolean ? &largest : nullptr, x.data<char>(), b,
                    size_of(x.dtype()), to);
    return Var(std::move(y));
  }
  switch (work_type_of(x.dtype())) {
    case WorkType::complex128: {
      const Converted<Complex> converted(x, DType::complex128);
      extreme_indices(largest, converted.data, b, 0, to);
      break;
    }
    case WorkType::i64: {
      const Converted<int64_t> converted(x, DType::i64);
      extreme_indices(largest, converted.data, b, x.dtype() == DType::u64 ? kTopBit : 0, to);
      break;
    }
    default: {
      const Converted<double> converted(x, DType::f64);
      extreme_indices(largest, converted.data, b, 0, to);
    }
  }
  return Var(std::move(y));
}

/// Along an axis, or with axis -1 of all in order.
Var arg_extreme_along(bool largest, const Var& var, int64_t axis) {
  const Tensor x = value_of(var);
  const int64_t rank = static_cast<int64_t>(x.shape().rank()), first = axis < 0 ? 0 : axis, last = axis < 0 ? rank : axis + 1;
  const Block b = block_of(x.shape(), first, last);
  if (b.count == 0) throw InvalidArgument("attempt to get {} of an empty sequence", largest ? "argmax" : "argmin");
  return arg_extreme(largest, x, without(x.shape(), first, last, false), b);
}
/// As reduce_at_hand().
std::optional<Var> arg_extreme_at_hand(bool largest, nb::handle a, nb::handle axis, nb::handle keepdims) {
  if (!python::is_var(a) || !PyBool_Check(keepdims.ptr())) return std::nullopt;
  const Var& var = python::var_of(a);
  if (!at_hand(var)) return std::nullopt;
  const Tensor x = value_of(var);
  int64_t first = 0, last = 0;
  if (x.elements() == 0 || !axes_of(x.shape(), axis, first, last)) return std::nullopt;
  return arg_extreme(largest, x, without(x.shape(), first, last, keepdims.ptr() == Py_True), block_of(x.shape(), first, last));
}

template <class T, class F>
void run_along(T* x, const Block& b, F f) {
  if (b.count == 0) return;
  if (b.inner == 1) {  // keep the running value in a register: through memory it takes twice as long
    for (int64_t o = 0; o < b.outer; ++o) {
      T* row = x + o * b.count;
      T so_far = row[0];
      for (int64_t k = 1; k < b.count; ++k) row[k] = so_far = f(so_far, row[k]);
    }
    return;
  }
  for (int64_t o = 0; o < b.outer; ++o)
    for (int64_t k = 1; k < b.count; ++k) {
      T* row = x + (o * b.count + k) * b.inner;
      for (int64_t i = 0; i < b.inner; ++i) row[i] = f(row[i - b.inner], row[i]);
    }
}
/// Each sum and product rounded to f16.
template <class F>
struct Rounded {
  double operator()(double a, double b) const { return static_cast<double>(f32_from_f16(f16_from_f32(static_cast<float>(F()(a, b))))); }
};
template <class F>
struct Exact : F {};
template <class T, template <class> class Rounding = Exact>
void accumulate_by(const std::string& name, T* x, const Block& b) {
  if (name == "add")
    run_along(x, b, Rounding<Sum>());
  else if (name == "multiply")
    run_along(x, b, Rounding<Product>());
  else if (name == "maximum")
    run_along(x, b, Most());
  else
    run_along(x, b, Least());
}

/// Sums of floats so far along the last axis, in double.
void accumulate_sums(const float* x, const Block& b, float* y) {
  for (int64_t o = 0; o < b.outer; ++o) {
    double so_far = -0.0;
    for (int64_t k = 0; k < b.count; ++k) *y++ = static_cast<float>(so_far += static_cast<double>(*x++));
  }
}

/// Results so far along an axis, in the dtype of `x`.
Var accumulate(const std::string& name, const Var& var, int64_t axis) {
  const Tensor x = value_of(var);
  const Block b = block_of(x.shape(), axis, axis + 1);
  const size_t n = unsign(x.elements());
  Tensor y(x.dtype(), x.shape());
  void* to = y.writable().data();
  const nb::gil_scoped_release release;
  switch (work_type_of(x.dtype())) {
    case WorkType::complex128: {
      const Converted<Complex> converted(x, DType::complex128);
      std::vector<Complex> values(converted.data, converted.data + n);
      accumulate_by(name, values.data(), b);
      for (size_t i = 0; i < n; ++i) {
        if (x.dtype() == DType::complex64)
          static_cast<std::complex<float>*>(to)[i] = std::complex<float>(values[i]);
        else
          static_cast<Complex*>(to)[i] = values[i];
      }
      break;
    }
    case WorkType::i64: {
      const Converted<int64_t> converted(x, DType::i64);
      std::vector<int64_t> values(converted.data, converted.data + n);
      const int64_t flip = x.dtype() == DType::u64 && (name == "maximum" || name == "minimum") ? kTopBit : 0;
      for (int64_t& value : values) value ^= flip;
      accumulate_by(name, values.data(), b);
      for (int64_t& value : values) value ^= flip;
      narrow(x.dtype(), values.data(), n, to);
      break;
    }
    default: {
      if (x.dtype() == DType::f64) {
        std::memcpy(to, x.data(), x.bytes());
        accumulate_by(name, static_cast<double*>(to), b);
        break;
      }
      if (x.dtype() == DType::f32 && b.inner == 1 && name == "add") {
        accumulate_sums(x.data<float>(), b, static_cast<float*>(to));
        break;
      }
      const Converted<double> converted(x, DType::f64);
      std::vector<double> values(converted.data, converted.data + n);
      if (x.dtype() == DType::f16)  // overflowed sums stay infinite
        accumulate_by<double, Rounded>(name, values.data(), b);
      else
        accumulate_by(name, values.data(), b);
      narrow(x.dtype(), values.data(), n, to);
    }
  }
  return Var(std::move(y));
}

}  // namespace

std::vector<double> sums_of(const Tensor& x, const Block& b) {
  const size_t n = unsign(b.outer * b.inner);
  if (n == 0 || b.count == 0 || x.dtype() == DType::i64 || x.dtype() == DType::u64 || cpu::sum_row(x.dtype()) == cpu::kSumRows)
    return reduced_plainly<double>("sum", x, b);
  std::vector<double> values(n);
  if (is_float(x.dtype())) {
    folded(true, x, b, values.data());
    return values;
  }
  std::vector<int64_t> sums(n);
  folded(true, x, b, sums.data());
  std::copy(sums.begin(), sums.end(), values.begin());
  return values;
}

void define_reductions(nb::module_& m) {
  m.def("reduce", reduce, nb::arg("name"), nb::arg("x"), nb::arg("first"), nb::arg("last"), nb::arg("keepdims"), nb::arg("dtype"),
        "sum, prod, max or min along the axes first ... last - 1, worked on in f64, 64-bit integers or complex128.");
  m.def("moment", moment_along, nb::arg("name"), nb::arg("x"), nb::arg("first"), nb::arg("last"), nb::arg("keepdims"), nb::arg("ddof"),
        nb::arg("dtype"), "mean, var or std along the axes first ... last - 1 of real elements, in f64; of dtype f32 or f64.");
  m.def("reduce_at_hand", reduce_at_hand, nb::arg("name"), nb::arg("a").none(), nb::arg("axis").none(), nb::arg("keepdims").none(),
        nb::arg("ddof") = 0.0, "sum, prod, max, min, mean, var, std, any or all of a Var at hand; None where Python has to look closer.");
  m.def("arg_extreme", arg_extreme_along, nb::arg("largest"), nb::arg("x"), nb::arg("axis"));
  m.def("arg_extreme_at_hand", arg_extreme_at_hand, nb::arg("largest"), nb::arg("a").none(), nb::arg("axis").none(),
        nb::arg("keepdims").none(), "argmax or argmin of a Var at hand; None where Python has to look closer.");
  m.def("accumulate", accumulate, nb::arg("name"), nb::arg("x"), nb::arg("axis"), "add, multiply, maximum or minimum so far.");
}

}  // namespace minnow::numpy

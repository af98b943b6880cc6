// SPDX-License-Identifier: Apache-2.0
// Reading and writing at places that tensors of integers name, and counting.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>

#include "base/numeric.h"
#include "binding/single_elements.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

std::vector<int64_t> integers(const Tensor& x) {
  std::vector<int64_t> values(unsign(x.elements()));
  widen(x.dtype(), x.data(), values.size(), values.data());
  return values;
}

/// Flat indices of elements, given index tensors of one shape, one for each of the leading `dims`. IndexError if one is out of range,
/// unless `mode` is wrap or clip.
Var flat_places(const std::vector<Var>& indices, const std::vector<int64_t>& dims, const std::string& mode) {
  if (mode != "raise" && mode != "wrap" && mode != "clip")
    throw InvalidArgument("clipmode must be one of 'clip', 'raise', or 'wrap' (got '{}')", mode);
  if (indices.empty() || indices.size() > dims.size()) throw python::IndexFault("too many indices for array");
  const bool wrap = mode == "wrap", clip = mode == "clip";
  Tensor first = value_of(indices[0]);
  Tensor y(DType::i64, first.shape());
  int64_t* to = y.writable().data<int64_t>();
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const Tensor x = axis == 0 ? first : value_of(indices[axis]);
    if (!(x.shape() == first.shape())) throw InvalidArgument("index tensors differ in shape, {} and {}", first.shape(), x.shape());
    const std::vector<int64_t> places = integers(x);
    const int64_t dim = dims[axis];
    for (size_t i = 0; i < places.size(); ++i) {
      int64_t at = places[i];
      if (wrap && dim > 0) {
        at = (at % dim + dim) % dim;
      } else if (clip && dim > 0) {
        at = std::clamp<int64_t>(at, 0, dim - 1);
      } else {
        if (at < 0) at += dim;
        if (at < 0 || at >= dim)
          throw python::IndexFault(format("index {} is out of bounds for axis {} with size {}", places[i], axis, dim));
      }
      to[i] = to[i] * dim + at;
    }
  }
  return Var(std::move(y));
}

template <class F>
void each_run(size_t bytes, F&& f) {  // the common sizes as constants
  switch (bytes) {
    case 1:
      return f(std::integral_constant<size_t, 1>());
    case 2:
      return f(std::integral_constant<size_t, 2>());
    case 4:
      return f(std::integral_constant<size_t, 4>());
    case 8:
      return f(std::integral_constant<size_t, 8>());
    default:
      return f(bytes);
  }
}

/// y[o, i, :] = x[o, places[i], :] where x is seen as [outer, count, inner]; the result's shape is given. Places are in range.
Var gather(const Var& var, const Var& places, int64_t outer, int64_t count, const std::vector<int64_t>& shape) {
  const Tensor x = value_of(var), at = value_of(places);
  const int64_t* place = at.data<int64_t>();
  const int64_t wanted = at.elements();
  Fresh y(x.dtype(), Shape(shape));
  const int64_t elements = y.tensor().elements();
  if (elements == 0) return y;
  const int64_t inner = x.elements() / std::max<int64_t>(1, outer * count);
  const size_t run = unsign(inner) * size_of(x.dtype());
  if (elements != outer * wanted * inner)
    throw InvalidArgument("gather: the result has {} elements, not {}", outer * wanted * inner, elements);
  const char* from = x.data<char>();
  char* to = y.data();
  each_run(run, [&](auto bytes) {
    in_parts(outer * wanted, inner, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last;) {
        const int64_t row = i / wanted, stop = std::min(last, (row + 1) * wanted);
        const int64_t* at_row = place - row * wanted;
        for (; i < stop; ++i) std::memcpy(to + unsign(i) * bytes, from + unsign(row * count + at_row[i]) * bytes, bytes);
      }
    });
  });
  return y;
}

/// to[i] = from[place(index[i])], elements of `bytes` bytes; the number of the first whose place is not in [0, count), or -1.
template <class Size, class F>
int64_t take_row(const char* from, int64_t count, const int64_t* index, int64_t n, Size bytes, char* to, F place) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = place(index[i]);
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(count)) return i;
    std::memcpy(to + unsign(i) * bytes, from + unsign(at) * bytes, bytes);
  }
  return -1;
}

/// The parts of x at indices of an axis, or with axis -1 the elements of all in order. IndexError where an index is out of range; `mode`
/// wrap and clip bring it back.
Var take(const Var& var, const Var& indices, int64_t axis, const std::string& mode) {
  const bool wrap = mode == "wrap", clip = mode == "clip";
  if (!wrap && !clip && mode != "raise") throw InvalidArgument("clipmode must be one of 'clip', 'raise', or 'wrap' (got '{}')", mode);
  const Tensor x = value_of(var), at = value_of(indices);
  const Shape& dims = x.shape();
  const size_t place = axis < 0 ? 0 : unsign(axis);
  if (axis >= 0 && place >= dims.rank()) throw InvalidArgument("take: there is no axis {} in {}", axis, dims);
  const int64_t outer = axis < 0 ? 1 : dims.product(0, place), count = axis < 0 ? x.elements() : dims[place],
                inner = axis < 0 ? 1 : dims.product(place + 1, dims.rank()), wanted = at.elements();
  Shape shape;
  for (size_t i = 0; i < place; ++i) shape.push_back(dims[i]);
  for (const int64_t dim : at.shape()) shape.push_back(dim);
  for (size_t i = place + 1; axis >= 0 && i < dims.rank(); ++i) shape.push_back(dims[i]);
  if (count == 0 && wanted > 0) throw python::IndexFault("cannot do a non-empty take from an empty axes.");
  Fresh y(x.dtype(), shape);
  if (outer == 0) return y;  // NumPy looks at no index
  std::vector<int64_t> copy;
  const int64_t* index = at.data<int64_t>();
  if (at.dtype() != DType::i64) copy = integers(at), index = copy.data();
  const size_t run = unsign(inner) * size_of(x.dtype());
  const char* from = x.data<char>();
  char* to = y.data();
  std::atomic<int64_t> beyond{-1};  // the place of an index that is out of range
  each_run(run, [&](auto bytes) {
    in_parts(outer * wanted, std::max<int64_t>(inner, 1), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last;) {
        const int64_t row = i / wanted, n = std::min(last, (row + 1) * wanted) - i, column = i - row * wanted;
        const auto taken = [&](auto in_range) {
          return take_row(from + unsign(row * count) * bytes, count, index + column, n, bytes, to + unsign(i) * bytes, in_range);
        };
        const int64_t wrong = wrap   ? taken([count](int64_t at) { return (at % count + count) % count; })
                              : clip ? taken([count](int64_t at) { return std::clamp<int64_t>(at, 0, count - 1); })
                                     : taken([count](int64_t at) { return at + (at < 0 ? count : 0); });
        if (wrong >= 0) {
          beyond.store(column + wrong, std::memory_order_relaxed);
          return;
        }
        i += n;
      }
    });
  });
  if (const int64_t i = beyond.load(); i >= 0)
    throw python::IndexFault(format("index {} is out of bounds for axis {} with size {}", index[i], place, count));
  return y;
}

/// Writes values[i] to places[i] of the memory of x, seen as [count, inner]; of equal places the last one stays, or with `add` all are
/// added. `v` is of x's dtype and of places.elements() * inner elements, or of one.
void scatter_into(char* to, const TensorView& x, const Tensor& at, const Tensor& v, bool add) {
  const int64_t wanted = at.elements();
  if (wanted == 0 || x.elements() == 0) return;
  const bool one = v.elements() == 1;
  if (v.dtype() != x.dtype()) throw InvalidArgument("scatter: values are {}, not {}", v.dtype(), x.dtype());
  const int64_t inner = one ? 1 : v.elements() / wanted;
  if (!one && inner * wanted != v.elements()) throw InvalidArgument("scatter: {} values for {} places", v.elements(), wanted);
  const size_t run = unsign(inner) * size_of(x.dtype());
  const char* from = v.data<char>();
  const int64_t* place = at.data<int64_t>();
  for (int64_t i = 0; i < wanted; ++i) {
    char* target = to + unsign(place[i]) * run;
    const char* source = one ? from : from + unsign(i) * run;
    if (!add) {
      std::memcpy(target, source, run);
      continue;
    }
    for (int64_t k = 0; k < inner; ++k) {
      const size_t step = unsign(k) * size_of(x.dtype());
      if (is_complex(x.dtype())) {
        const auto sum = [&](auto zero) {
          using T = decltype(zero);
          *reinterpret_cast<std::complex<T>*>(target + step) += *reinterpret_cast<const std::complex<T>*>(source + step);
        };
        if (x.dtype() == DType::complex64)
          sum(float());
        else
          sum(double());
      } else if (is_float(x.dtype())) {
        double a, b;
        widen(x.dtype(), target + step, 1, &a);
        widen(x.dtype(), source + step, 1, &b);
        a += b;
        narrow(x.dtype(), &a, 1, target + step);
      } else {
        int64_t a, b;
        widen(x.dtype(), target + step, 1, &a);
        widen(x.dtype(), source + step, 1, &b);
        a = x.dtype() == DType::boolean ? a | b : static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        narrow(x.dtype(), &a, 1, target + step);
      }
    }
  }
}

/// A copy of x changed by scatter_into().
Var scatter(const Var& var, const Var& places, const Var& values, bool add) {
  const Tensor x = value_of(var), at = value_of(places), v = value_of(values);
  Fresh y(x.dtype(), x.shape());
  if (x.bytes() > 0) std::memcpy(y.data(), x.data(), x.bytes());
  scatter_into(y.data(), x.view(), at, v, add);
  return y;
}

/// The same in place; in a copy if somebody else holds the variable's memory.
void put(const Var& x, const Var& places, const Var& values) {
  const Tensor at = value_of(places), v = value_of(values);
  {
    const python::Guard guard;
    python::computed(x);
    if (char* memory = python::memory_to_write(x)) return scatter_into(memory, python::computed(x).view(), at, v, false);
  }
  const Var written = scatter(x, places, values, false);
  const python::Guard guard;
  x.assign(written);
}

/// Numbers of the elements of a bool tensor that are true.
Var true_places(const Var& var) {
  const Tensor x = value_of(var);
  const uint8_t* from = x.data<uint8_t>();
  const int64_t n = x.elements();
  const int64_t count = std::count_if(from, from + n, [](uint8_t b) { return b != 0; });
  Tensor y(DType::i64, {count});
  int64_t* to = y.writable().data<int64_t>();
  for (int64_t i = 0, found = 0; found < count; ++i) {  // without a branch for each element
    to[found] = i;
    found += from[i] != 0;
  }
  return Var(std::move(y));
}

/// The indices of the elements of a bool tensor that are true, a vector for each axis.
std::vector<Var> true_indices(const Var& var) {
  const Tensor places = value_of(true_places(var));
  const Shape shape = value_of(var).shape();
  const int64_t count = places.elements();
  if (shape.rank() == 1) return {Var(places)};
  std::vector<int64_t*> to;
  std::vector<Fresh> made;
  for (size_t i = 0; i < shape.rank(); ++i) made.emplace_back(DType::i64, Shape{count}), to.push_back(made.back().data<int64_t>());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = places.data<int64_t>()[i];
    for (size_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) to[axis][i] = rest % shape[axis];
  }
  return {made.begin(), made.end()};
}

/// How often each of 0 ... (at least `least`) occurs, or the sums of `weights` (f64).
Var bincount(const Var& var, const Var& weights, int64_t least) {
  const std::vector<int64_t> values = integers(value_of(var));
  int64_t count = least;
  for (const int64_t value : values) {
    if (value < 0) throw InvalidArgument("'list' argument must have no negative elements");
    count = std::max(count, value + 1);
  }
  if (!weights.has_value()) {
    Tensor y(DType::i64, {count});
    int64_t* to = y.writable().data<int64_t>();
    for (const int64_t value : values) ++to[value];
    return Var(std::move(y));
  }
  const Tensor w = value_of(weights);
  if (unsign(w.elements()) != values.size()) throw InvalidArgument("The weights and list don't have the same length.");
  Tensor y(DType::f64, {count});
  double* to = y.writable().data<double>();
  for (size_t i = 0; i < values.size(); ++i) to[values[i]] += w.data<double>()[i];
  return Var(std::move(y));
}

}  // namespace

void define_indexing(nb::module_& m) {
  m.def("flat_places", flat_places, nb::arg("indices"), nb::arg("dims"), nb::arg("mode"));
  m.def("gather", gather, nb::arg("x"), nb::arg("places"), nb::arg("outer"), nb::arg("count"), nb::arg("shape"));
  m.def("take", take, nb::arg("x"), nb::arg("indices"), nb::arg("axis"), nb::arg("mode"));
  m.def("scatter", scatter, nb::arg("x"), nb::arg("places"), nb::arg("values"), nb::arg("add"));
  m.def("put", put, nb::arg("x"), nb::arg("places"), nb::arg("values"));
  m.def("true_places", true_places, nb::arg("x"));
  m.def("true_indices", true_indices, nb::arg("x"));
  m.def(
      "bincount",
      [](const Var& x, nb::handle weights, int64_t least) {
        return bincount(x, weights.is_none() ? Var() : python::var_of(weights), least);
      },
      nb::arg("x"), nb::arg("weights").none(), nb::arg("least"));
}

}  // namespace minnow::numpy

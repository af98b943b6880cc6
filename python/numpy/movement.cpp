// SPDX-License-Identifier: Apache-2.0
// Moving elements of any dtype, complex ones included, which the engine's operators do not know.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "express/view.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

template <size_t kSize>
struct Bytes {
  char bytes[kSize];
};

template <class F>
void by_size(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(Bytes<1>());
    case 2:
      return f(Bytes<2>());
    case 4:
      return f(Bytes<4>());
    case 8:
      return f(Bytes<8>());
    case 16:
      return f(Bytes<16>());
    default:
      throw InvalidArgument("{} cannot be moved", dtype);
  }
}

/// y[i, j, ...] = the element of x (row-major) number `offset` + i * strides[0] + j * strides[1] + ...
Var strided(const Var& var, int64_t offset, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  const Tensor x = value_of(var);
  const Shape shape(dims);
  if (strides.size() != dims.size()) throw InvalidArgument("{} strides for {} dimensions", strides.size(), dims.size());
  for (const int64_t dim : dims)
    if (dim < 0) throw InvalidArgument("negative dimensions are not allowed");
  Fresh y(x.dtype(), shape);
  const int64_t count = shape.elements();
  if (count == 0) return y;
  // Sums in 128 bits: strides are a caller's.
  __extension__ using Wide = __int128;
  Wide least = offset, most = offset;
  for (size_t i = 0; i < dims.size(); ++i) (strides[i] < 0 ? least : most) += static_cast<Wide>(strides[i]) * (dims[i] - 1);
  if (least < 0 || most >= x.elements()) throw InvalidArgument("strides reach beyond the array's memory");
  by_size(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const size_t rank = shape.rank();
    const int64_t width = rank ? shape[rank - 1] : 1, step = rank ? strides[rank - 1] : 0;
    in_parts(count / width, width, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        int64_t rest = row, at = offset;
        for (size_t axis = rank ? rank - 1 : 0; axis-- > 0;) {
          at += rest % shape[axis] * strides[axis];
          rest /= shape[axis];
        }
        T* target = to + row * width;
        if (step == 1) {
          std::memcpy(static_cast<void*>(target), from + at, unsign(width) * sizeof(T));
        } else {
          for (int64_t i = 0; i < width; ++i) target[i] = from[at + i * step];
        }
      }
    });
  });
  return y;
}

/// The same elements in another shape; shares the memory. One dimension may be -1 and takes the remaining elements.
Var reshaped(const Var& var, std::vector<int64_t> dims) {
  const Tensor x = value_of(var);
  if (const auto open = std::find(dims.begin(), dims.end(), -1); open != dims.end()) {
    *open = 1;
    const int64_t others = Shape(dims).elements();
    *open = others > 0 ? x.elements() / others : 0;
  }
  const Shape shape(dims);
  if (shape.elements() != x.elements()) throw InvalidArgument("cannot reshape array of size {} into shape {}", x.elements(), shape);
  return Var(x.reshaped(shape));
}

/// One after the other along an axis; dtypes and other dimensions are equal.
Var concatenate(const std::vector<Var>& vars, int64_t axis) {
  std::vector<Tensor> parts;
  for (const Var& var : vars) parts.push_back(value_of(var));
  Shape shape = parts.at(0).shape();
  int64_t length = 0;
  for (const Tensor& part : parts) {
    if (part.dtype() != parts[0].dtype() || part.shape().rank() != shape.rank())
      throw InvalidArgument("concatenate takes tensors of one dtype and rank");
    length += part.shape()[unsign(axis)];
    for (size_t i = 0; i < shape.rank(); ++i)
      if (static_cast<int64_t>(i) != axis && part.shape()[i] != shape[i])
        throw InvalidArgument(
            "all the input array dimensions except for the concatenation axis must match exactly, but along dimension {} there are {} and "
            "{}",
            i, shape[i], part.shape()[i]);
  }
  shape[unsign(axis)] = length;
  Fresh y(parts[0].dtype(), shape);
  const int64_t outer = shape.product(0, unsign(axis));
  const size_t size = size_of(parts[0].dtype());
  char* to = y.data();
  for (int64_t o = 0; o < outer; ++o)
    for (const Tensor& part : parts) {
      const size_t run = unsign(part.shape().product(unsign(axis), shape.rank())) * size;
      if (run == 0) continue;
      std::memcpy(to, part.data<char>() + unsign(o) * run, run);
      to += run;
    }
  return y;
}

/// x repeated along axes of length 1 and new leading ones.
Tensor repeated(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::vector<int64_t> strides(shape.rank(), 0);
  int64_t step = 1;
  for (size_t i = 0; i < x.shape().rank(); ++i) {
    const int64_t dim = x.shape()[x.shape().rank() - 1 - i];
    if (dim != 1) strides[shape.rank() - 1 - i] = step;
    step *= dim;
  }
  return value_of(strided(Var(x), 0, std::vector<int64_t>(shape.begin(), shape.end()), strides));
}

/// a where the bool is true, else b, broadcast together: complex elements, which operators do not know.
Var select(const Var& condition, const Var& first, const Var& second) {
  const Tensor c = value_of(condition);
  if (c.dtype() != DType::boolean || first.dtype() != second.dtype()) throw InvalidArgument("select takes a bool and tensors of one dtype");
  const Shape shape = broadcast(broadcast(c.shape(), first.shape()), second.shape());
  const Tensor choose = repeated(c, shape), a = repeated(value_of(first), shape), b = repeated(value_of(second), shape);
  Fresh y(a.dtype(), shape);
  by_size(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const uint8_t* from = choose.data<uint8_t>();
    const T *from_a = a.data<T>(), *from_b = b.data<T>();
    T* to = y.data<T>();
    in_parts(a.elements(), 1, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = from[i] ? from_a[i] : from_b[i];
    });
  });
  return y;
}

/// A tensor of one value: a number, or a Var of one element.
Var filled(nb::handle value, const std::vector<int64_t>& dims, nb::handle dtype) {
  const Tensor x = [&] {
    const python::Guard guard;
    const DType wanted = dtype.is_none() ? DType::undefined : python::dtype_from(dtype);
    if (!is_complex(wanted)) return python::tensor_from(value, wanted, python::Sharing::where_possible);
    const double parts[] = {nb::cast<double>(value), 0};
    const float narrow[] = {static_cast<float>(parts[0]), 0};
    return Tensor(TensorView(wanted, Shape(), wanted == DType::complex64 ? static_cast<const void*>(narrow) : parts));
  }();
  if (x.elements() != 1) throw InvalidArgument("an array is filled with one value, not with {}", x.shape());
  Fresh y(x.dtype(), Shape(dims));
  by_size(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = y.data<T>();
    in_parts(y.tensor().elements(), 1, [=, one = *x.data<T>()](int64_t first, int64_t last) { std::fill(to + first, to + last, one); });
  });
  return y;
}

/// A matrix with that value on the diagonal number `k`, else 0.
Var diagonal_matrix(const Var& value, int64_t rows, int64_t columns, int64_t k) {
  const Tensor x = value_of(value);
  if (x.elements() != 1) throw InvalidArgument("an array is filled with one value, not with {}", x.shape());
  Fresh y(x.dtype(), {rows, columns});
  std::memset(y.data(), 0, unsign(y.tensor().elements()) * size_of(x.dtype()));
  by_size(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t row = std::max<int64_t>(0, -k); row < rows && row + k < columns; ++row)
      y.data<T>()[row * columns + row + k] = *x.data<T>();
  });
  return y;
}

/// first, first + step ...: `count` numbers, in 64 bits.
template <class T>
Var progression(T first, T step, int64_t count) {
  Fresh y(std::is_same_v<T, double> ? DType::f64 : DType::i64, {count});
  T* to = y.data<T>();
  in_parts(count, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<T, double>)
        to[i] = static_cast<double>(i) * step + first;
      else  // wraps around, as NumPy's integers do
        to[i] = static_cast<T>(static_cast<uint64_t>(i) * static_cast<uint64_t>(step) + static_cast<uint64_t>(first));
    }
  });
  return y;
}

bool is_small(const express::LazyValue& value) {
  const Shape* shape = express::known_shape(value);
  return shape && shape->elements() <= kFewElements;
}

/// Few nodes of few elements that are not computed yet, on values that are.
bool is_small_expression(const express::LazyNode& node) {
  constexpr uint32_t kFewNodes = 8;
  if (node.kind != express::LazyNode::Kind::call || node.keeps_inputs || node.operators || !node.closures.empty() ||
      node.pending > kFewNodes || node.outputs.size() != 1)
    return false;
  for (const express::LazyValue& input : node.inputs)
    if (input && !(is_small(input) && (input.node->is_computed() || is_small_expression(*input.node)))) return false;
  return true;
}

}  // namespace

bool at_hand(const Var& x) {
  const python::Guard guard;
  if (x.is_view() && express::Access::cell(x)->region->shape.elements() > kFewElements) return false;
  const express::LazyValue value = express::required_value(x);
  if (value.node->keeps_inputs) return false;
  if (value.node->is_computed()) return true;
  if (!is_small(value) || !is_small_expression(*value.node)) return false;
  python::computed(x);
  return true;
}

void define_movement(nb::module_& m) {
  m.def("strided", strided, nb::arg("x"), nb::arg("offset"), nb::arg("shape"), nb::arg("strides"));
  m.def("reshaped", reshaped, nb::arg("x"), nb::arg("shape"));
  // Views, which write through to their base.
  m.def(
      "reshape_view",
      [](const Var& x, const std::vector<int64_t>& dims) {
        const python::Guard guard;
        return express::reshaped(x, Shape(dims));
      },
      nb::arg("x"), nb::arg("shape"), "The elements in other dimensions; a copy where a view cannot be.");
  m.def(
      "transpose_view",
      [](const Var& x, const std::vector<int64_t>& order) {
        const python::Guard guard;
        return express::transposed(x, order);
      },
      nb::arg("x"), nb::arg("order"), "The axes in another order.");
  m.def(
      "broadcast_view",
      [](const Var& x, const std::vector<int64_t>& dims) {
        const python::Guard guard;
        return express::broadcast_to(x, Shape(dims));
      },
      nb::arg("x"), nb::arg("shape"), "x repeated, for reading.");
  m.def(
      "diagonal_view",
      [](const Var& x, int64_t offset, size_t axis1, size_t axis2) {
        const python::Guard guard;
        return express::diagonal(x, offset, axis1, axis2);
      },
      nb::arg("x"), nb::arg("offset"), nb::arg("axis1"), nb::arg("axis2"), "The diagonals of two axes, for reading.");
  m.def(
      "part_view",
      [](const Var& x, bool imaginary) {
        const python::Guard guard;
        return express::complex_part(x, imaginary);
      },
      nb::arg("x"), nb::arg("imaginary"), "The real or imaginary parts of complex elements.");
  m.def(
      "may_share_memory",
      [](const Var& a, const Var& b) {
        const python::Guard guard;
        return express::may_share_memory(a, b, false);
      },
      nb::arg("a"), nb::arg("b"), "Whether writing to one may change the other.");
  m.def(
      "shares_memory",
      [](const Var& a, const Var& b) {
        const python::Guard guard;
        return express::may_share_memory(a, b, true);
      },
      nb::arg("a"), nb::arg("b"), "Whether some element of the two is one.");
  m.def(
      "base_of",
      [](const Var& x) -> std::optional<Var> {
        const python::Guard guard;
        const Var base = express::base_of(x);
        return base.has_value() ? std::optional<Var>(base) : std::nullopt;
      },
      nb::arg("x"), "The variable that a view is of, or None.");
  m.def("concatenate", concatenate, nb::arg("parts"), nb::arg("axis"));
  m.def("select", select, nb::arg("condition"), nb::arg("a"), nb::arg("b"));
  m.def("filled", filled, nb::arg("value"), nb::arg("shape"), nb::arg("dtype") = nb::none());
  m.def("diagonal_matrix", diagonal_matrix, nb::arg("value"), nb::arg("rows"), nb::arg("columns"), nb::arg("k"));
  m.def("progression", progression<double>, nb::arg("first"), nb::arg("step"), nb::arg("count"));
  m.def("integer_progression", progression<int64_t>, nb::arg("first"), nb::arg("step"), nb::arg("count"));
  m.def("at_hand", at_hand, nb::arg("x"), "Whether x is computed and depends on no placeholder, state or parameter.");
  m.def(
      "is_symbolic",
      [](const Var& x) {
        const python::Guard guard;
        return express::required_value(x).node->keeps_inputs;
      },
      nb::arg("x"), "Whether x depends on a placeholder, a state or a parameter.");
}

}  // namespace minnow::numpy

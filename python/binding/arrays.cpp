// SPDX-License-Identifier: Apache-2.0
// Tensors from Python's numbers, lists, buffers and DLPack, and buffers of them.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/numeric.h"
#include "binding.h"
#include "buffers.h"
#include "single_elements.h"
#include "tracing.h"

namespace minnow::python {
namespace {

bool is_list(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }
bool is_number(nb::handle object) { return PyBool_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyFloat_CheckExact(object.ptr()); }

/// fractions.Fraction, decimal.Decimal.
bool is_fraction(nb::handle object) {
  if (PyUnicode_Check(object.ptr()) || PyComplex_Check(object.ptr()) || !PyNumber_Check(object.ptr())) return false;
  return nb::hasattr(object, "as_integer_ratio");
}

/// Shape and dtype of nested lists.
struct Found {
  Shape shape;
  DType dtype = DType::undefined;
  bool whole = true;           // no number is a float
  std::vector<Tensor> arrays;  // those in the lists, in their order

  void see(DType other) { dtype = dtype == DType::undefined ? other : promote(dtype, other); }
};

bool beyond_i64(nb::handle integer) {
  int overflow = 0;
  if (PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow) == -1 && PyErr_Occurred()) nb::raise_python_error();
  return overflow != 0;
}

DType dtype_of_number(nb::handle number) {
  if (PyBool_Check(number.ptr())) return DType::boolean;
  if (PyFloat_Check(number.ptr())) return DType::f64;
  return beyond_i64(number) ? DType::u64 : DType::i64;
}

void look(nb::handle object, size_t depth, Found& found, bool first) {
  const auto fits = [&](size_t at, int64_t dim) {
    if (first && found.shape.rank() == at) {
      if (at == kMaxRank) throw InvalidArgument("lists are nested deeper than {}, the most dimensions that are possible", kMaxRank);
      found.shape.push_back(dim);
    } else if (at >= found.shape.rank() || found.shape[at] != dim) {
      throw InvalidArgument("the lists of an array differ in length at depth {}: {} were expected, {} came", at,
                            at < found.shape.rank() ? format("{} elements", found.shape[at]) : std::string("single numbers"), dim);
    }
  };
  if (is_list(object)) {
    const bool list = PyList_Check(object.ptr());
    const Py_ssize_t size = PySequence_Size(object.ptr());
    fits(depth, size);
    for (Py_ssize_t i = 0; i < size; ++i) {
      // Borrowed, and looked up each time, because calls in the loop might change the list.
      const nb::handle item = list ? PyList_GetItem(object.ptr(), i) : PyTuple_GetItem(object.ptr(), i);
      if (!item.is_valid()) nb::raise_python_error();
      look(nb::borrow(item), depth + 1, found, first && i == 0);
    }
    return;
  }
  if (is_number(object)) {
    if (depth != found.shape.rank()) fits(depth, 1);
    found.see(dtype_of_number(object));
    found.whole = found.whole && !PyFloat_Check(object.ptr());
    return;
  }
  Tensor array = tensor_from(object, DType::undefined, Sharing::where_possible);
  for (size_t i = 0; i < array.shape().rank(); ++i) fits(depth + i, array.shape()[i]);
  if (depth + array.shape().rank() != found.shape.rank()) fits(found.shape.rank(), 0);
  found.see(array.dtype());
  found.arrays.push_back(std::move(array));
}

void fill(nb::handle object, DType dtype, char*& to, std::vector<Tensor>::const_iterator& arrays) {
  if (is_list(object)) {
    const bool list = PyList_Check(object.ptr());
    const Py_ssize_t size = PySequence_Size(object.ptr());
    for (Py_ssize_t i = 0; i < size; ++i) {
      const nb::handle item = list ? PyList_GetItem(object.ptr(), i) : PyTuple_GetItem(object.ptr(), i);
      if (!item.is_valid()) nb::raise_python_error();
      fill(nb::borrow(item), dtype, to, arrays);
    }
  } else if (is_number(object)) {
    if (is_float(dtype)) {
      const double value = PyFloat_AsDouble(object.ptr());
      if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
      narrow(dtype, &value, 1, to);
    } else {
      int64_t value = 0;
      if (dtype == DType::u64) {
        const unsigned long long wide = PyLong_AsUnsignedLongLong(object.ptr());
        if (PyErr_Occurred()) nb::raise_python_error();
        value = static_cast<int64_t>(wide);
      } else {
        value = PyLong_AsLongLong(object.ptr());
        if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
      }
      narrow(dtype, &value, 1, to);
    }
    to += size_of(dtype);
  } else {
    const Tensor& array = *arrays++;
    const Tensor as_wanted = array.dtype() == dtype ? array : Var(array).astype(dtype).tensor();
    std::memcpy(to, as_wanted.data(), as_wanted.bytes());
    to += as_wanted.bytes();
  }
}

}  // namespace

bool holds(DType dtype, nb::handle integer) {
  const bool wide = beyond_i64(integer);
  const int64_t value = wide ? 0 : PyLong_AsLongLong(integer.ptr());
  const bool fits_u64 = wide ? PyLong_AsUnsignedLongLong(integer.ptr()) != ULLONG_MAX || !PyErr_Occurred() : value >= 0;
  if (!fits_u64) PyErr_Clear();
  return dtype == DType::u64 ? fits_u64 : !wide && value >= lowest_of(dtype) && value <= highest_of(dtype);
}

namespace {

/// Numbers that were written as such do not wrap around.
void check_range(nb::handle object, DType dtype) {
  if (is_list(object)) {
    const nb::object items = nb::borrow(object);
    for (nb::handle item : items) check_range(item, dtype);
  } else if (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr())) {
    if (!holds(dtype, object)) throw InvalidArgument("the integer {} does not fit {}", shown(object), dtype);
  } else if (PyFloat_Check(object.ptr())) {
    // The largest 64-bit integer rounds up to a double that is out of range, hence `<` and the half.
    const double value = std::trunc(PyFloat_AsDouble(object.ptr())),
                 half = dtype == DType::u64 ? 0x1p63 : static_cast<double>(highest_of(dtype) / 2 + 1);
    const double lowest = dtype == DType::u64 ? 0 : static_cast<double>(lowest_of(dtype));
    if (!(value >= lowest && value < 2 * half)) throw InvalidArgument("the number {} does not fit {}", shown(object), dtype);
  }
}

Tensor tensor_of_lists(nb::handle object, DType dtype) {
  Found found;
  look(object, 0, found, true);
  const DType natural = found.dtype == DType::undefined ? DType::f64 : found.dtype;
  if (dtype == DType::undefined) dtype = natural;
  if (dtype == DType::complex64 || dtype == DType::complex128)
    throw TypeFault("a Var is made of real numbers, not of {}; minnow.numpy.array() makes one of complex numbers", dtype);
  if (is_integer(dtype)) check_range(object, dtype);
  // Rounded once; and 2^63 and 1 together are no floats on the way to u64.
  const bool at_once = found.arrays.empty() && (is_float(dtype) ? !is_integer(natural) : is_integer(dtype) && found.whole);
  const DType made = at_once ? dtype : natural;
  Tensor tensor(made, found.shape);
  if (tensor.elements() > 0) {
    char* to = static_cast<char*>(tensor.writable().data());
    auto arrays = found.arrays.cbegin();
    const char* end = to + tensor.bytes();
    fill(object, made, to, arrays);
    if (to != end) throw InvalidArgument("a list changed while it was read");
  }
  return made == dtype ? tensor : Var(tensor).astype(dtype).tensor();
}

}  // namespace

const Tensor& computed(const Var& x) {
  if (x.is_computed()) return x.tensor();
  const SignalWatch watch;
  const nb::gil_scoped_release release;
  return x.tensor();
}

Tensor tensor_from(nb::handle object, DType dtype, Sharing sharing) {
  if (is_var(object)) {
    const Var& x = var_of(object);
    if (dtype != DType::undefined && x.dtype() != dtype) {
      if (sharing == Sharing::must) throw InvalidArgument("a {} cannot become {} without a copy", x.dtype(), dtype);
      return computed(x.astype(dtype));
    }
    return computed(x);
  }
  if (is_number(object) || is_list(object)) {
    if (sharing == Sharing::must) throw InvalidArgument("numbers and lists have no memory that could be shared");
    alignas(8) std::array<char, 8> number;
    if (number_in(object.ptr(), dtype, number.data())) return Tensor(TensorView(dtype, Shape(), number.data()));
    if (trace) check_list(object);
    return tensor_of_lists(object, dtype);
  }
  const auto finish = [&](Tensor tensor) {
    if (dtype == DType::undefined || tensor.dtype() == dtype) return tensor;
    if (sharing == Sharing::must) throw InvalidArgument("a {} cannot become {} without a copy", tensor.dtype(), dtype);
    return computed(Var(std::move(tensor)).astype(dtype));
  };
  std::string why;
  if (!PyUnicode_Check(object.ptr()) && !object.is_none()) {
    if (const std::optional<ForeignArray> array = array_of_buffer(object, &why)) return finish(array->tensor(sharing));
    if (const std::optional<ForeignArray> array = array_of_dlpack(object)) return finish(array->tensor(sharing));
    // dtypes that buffers have no letter for, and objects that know __array__ alone.
    const nb::object other = nb::module_::import_("minnow._arrays").attr("as_buffer")(object);
    if (!other.is_none()) {
      const nb::tuple pair = nb::cast<nb::tuple>(other);
      std::optional<ForeignArray> array = array_of_buffer(pair[0]);
      if (!array) array = array_of_dlpack(pair[0]);
      const DType own = dtype_from(pair[1]);
      if (!array || size_of(own) != size_of(array->dtype)) throw TypeFault("{} gives an array that cannot be read", kind_name(object));
      array->dtype = own;
      return finish(array->tensor(sharing));
    }
  }
  if (is_fraction(object)) {
    const nb::object value = nb::steal(PyNumber_Float(object.ptr()));
    if (!value.is_valid()) nb::raise_python_error();
    return tensor_from(value, dtype, sharing);
  }
  if (PyComplex_Check(object.ptr()))
    throw TypeFault("a Var is made of real numbers, not of {}; minnow.numpy.array() makes one of complex numbers", shown(object));
  throw TypeFault("a Var is made of numbers, lists of numbers, and arrays in the memory of this machine, not of {} ({}){}", shown(object),
                  kind_name(object), why.empty() ? "" : ": " + why);
}

Var var_from(nb::handle object, Sharing sharing) {
  return is_var(object) ? var_of(object) : Var(tensor_from(object, DType::undefined, sharing));
}
Var optional_var_from(nb::handle object) { return object.is_none() ? Var() : var_from(object); }

std::optional<Operand> operand_from(nb::handle object) {
  PyObject* o = object.ptr();
  if (is_var(object)) return Operand(var_of(object));
  if (PyBool_Check(o)) return Operand(Scalar(o == Py_True));
  if (PyFloat_CheckExact(o)) return Operand(Scalar(PyFloat_AsDouble(o)));
  if (PyLong_Check(o) && !beyond_i64(object)) return Operand(Scalar(static_cast<int64_t>(PyLong_AsLongLong(o))));
  if (PyLong_Check(o) || is_list(object)) return Operand(Var(tensor_of_lists(object, DType::undefined)));
  if (PyUnicode_Check(o) || PyBytes_Check(o) || object.is_none()) return std::nullopt;
  if (PyObject_CheckBuffer(o) || nb::hasattr(object, "__dlpack__") || nb::hasattr(object, "__array__"))
    return Operand(Var(tensor_from(object, DType::undefined, Sharing::copy)));
  if (is_fraction(object)) {
    const double value = PyFloat_AsDouble(o);
    if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
    return Operand(Scalar(value));
  }
  return std::nullopt;
}

nb::object element(DType dtype, const void* at) {
  if (dtype == DType::boolean) return nb::borrow(*static_cast<const char*>(at) ? Py_True : Py_False);
  if (dtype == DType::complex64)
    return nb::steal(PyComplex_FromDoubles(static_cast<const float*>(at)[0], static_cast<const float*>(at)[1]));
  if (dtype == DType::complex128)
    return nb::steal(PyComplex_FromDoubles(static_cast<const double*>(at)[0], static_cast<const double*>(at)[1]));
  if (is_float(dtype)) {
    double value = 0;
    widen(dtype, at, 1, &value);
    return nb::steal(PyFloat_FromDouble(value));
  }
  int64_t value = 0;
  widen(dtype, at, 1, &value);
  return nb::steal(dtype == DType::u64 ? PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value)) : PyLong_FromLongLong(value));
}

namespace {

nb::object to_list(const Tensor& tensor, size_t axis, const char*& at) {
  if (axis == tensor.shape().rank()) {
    nb::object made = element(tensor.dtype(), at);
    at += size_of(tensor.dtype());
    return made;
  }
  nb::list list;
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i) list.append(to_list(tensor, axis + 1, at));
  return list;
}

}  // namespace

nb::object to_list(const Tensor& tensor) {
  const char* at = tensor.data<char>();
  return to_list(tensor, 0, at);
}

nb::object from_datum(const Datum& value) {
  if (value.kind == Datum::Kind::none) return nb::none();
  if (value.kind == Datum::Kind::tensor) return nb::cast(Var(value.tensor));
  nb::list list;
  for (const Datum& item : value.items) list.append(from_datum(item));
  return list;
}

// The buffer protocol.

namespace {

struct Exported {
  Tensor tensor;
  std::vector<Py_ssize_t> shape, strides;
  std::string format;
};

const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "?";
    case DType::i8:
      return "b";
    case DType::u8:
      return "B";
    case DType::i16:
      return "h";
    case DType::u16:
      return "H";
    case DType::i32:
      return "i";
    case DType::u32:
      return "I";
    case DType::i64:
      return sizeof(long) == 8 ? "l" : "q";
    case DType::u64:
      return sizeof(long) == 8 ? "L" : "Q";
    case DType::f16:
      return "e";
    case DType::f32:
      return "f";
    case DType::f64:
      return "d";
    case DType::complex64:
      return "Zf";
    case DType::complex128:
      return "Zd";
    default:
      return nullptr;
  }
}

// The error that the last request for a buffer raised on this thread: NumPy takes any error for a missing protocol, clears it and asks for
// __array__, which raises the error instead of computing the Var again. Whether it was cleared shows in the traceback, which an exception
// gets when it reaches a caller.
struct Unread {
  PyObject *var = nullptr, *exception = nullptr, *traceback = nullptr;  // owned, but for `var`, which is compared alone
  void keep(PyObject* of, const nb::python_error& error) noexcept {
    drop();
    var = of;
    exception = Py_NewRef(error.value().ptr());
    traceback = PyException_GetTraceback(exception);
  }
  void drop() noexcept {
    var = nullptr;
    Py_XDECREF(std::exchange(exception, nullptr));
    Py_XDECREF(std::exchange(traceback, nullptr));
  }
};
thread_local Unread unread;

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  if (unread.var) unread.drop();
  try {
    const Guard guard;
    if (trace) check_read(var_of(self), "an array of NumPy");
    const Tensor tensor = computed(var_of(self));
    const char* letter = buffer_format(tensor.dtype());
    if (!letter) throw nb::buffer_error(format("the buffer protocol has no letter for {}; use astype()", tensor.dtype()).c_str());
    if (flags & PyBUF_WRITABLE) throw nb::buffer_error("the memory of a Var is for reading; write with x[...] = y");
    auto exported = std::make_unique<Exported>();
    exported->tensor = tensor;
    exported->shape.assign(tensor.shape().begin(), tensor.shape().end());
    exported->strides.resize(exported->shape.size());
    exported->format = letter;
    Py_ssize_t stride = static_cast<Py_ssize_t>(size_of(tensor.dtype()));
    for (size_t i = exported->shape.size(); i-- > 0; stride *= exported->shape[i]) exported->strides[i] = stride;
    view->buf = const_cast<void*>(tensor.data());
    view->len = static_cast<Py_ssize_t>(tensor.bytes());
    view->itemsize = static_cast<Py_ssize_t>(size_of(tensor.dtype()));
    view->readonly = 1;
    view->ndim = static_cast<int>(exported->shape.size());
    view->format = flags & PyBUF_FORMAT ? exported->format.data() : nullptr;
    view->shape = flags & PyBUF_ND ? exported->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    view->obj = self;
    Py_INCREF(self);
    return 0;
  } catch (...) {
    set_python_error();
    nb::python_error error;
    if (!error.matches(PyExc_BufferError)) unread.keep(self, error);
    error.restore();
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) noexcept { delete static_cast<Exported*>(view->internal); }

void raise_unread(nb::handle self) {
  if (unread.var != self.ptr()) return;
  const nb::object traceback = nb::steal(PyException_GetTraceback(unread.exception));
  const nb::object error = nb::borrow(unread.exception);
  const bool was_cleared = traceback.ptr() == unread.traceback;
  unread.drop();
  if (!was_cleared) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  nb::raise_python_error();
}

}  // namespace minnow::python

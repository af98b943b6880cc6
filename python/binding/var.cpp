// SPDX-License-Identifier: Apache-2.0
// minnow.Var: Python's operators, indices and numbers on the values of expressions.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "binding.h"
#include "buffers.h"
#include "express/node.h"
#include "express/view.h"
#include "numpy/numpy.h"
#include "single_elements.h"
#include "tracing.h"

namespace minnow::python {

PyTypeObject* var_type = nullptr;

namespace {

/// Runs `f`, which gives a PyObject* or throws, as a slot of a type does.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    const Guard guard;
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* made(Var x) { return nb::cast(std::move(x)).release().ptr(); }
PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

struct Operation {
  const char* name;  // of NumPy's function
  Var (*tensors)(Var, Var);
  Var (*right)(Var, Scalar);
  Var (*left)(Scalar, Var);
};
#define MINNOW_OPERATION(name, function, symbol)                                                                                    \
  constexpr Operation name {                                                                                                        \
    function, [](Var a, Var b) { return std::move(a) symbol std::move(b); }, [](Var a, Scalar b) { return std::move(a) symbol b; }, \
        [](Scalar a, Var b) { return a symbol std::move(b); }                                                                       \
  }
MINNOW_OPERATION(kAdd, "add", +);
MINNOW_OPERATION(kSubtract, "subtract", -);
MINNOW_OPERATION(kMultiply, "multiply", *);
MINNOW_OPERATION(kDivide, "divide", /);
MINNOW_OPERATION(kRemainder, "remainder", %);
MINNOW_OPERATION(kAnd, "bitwise_and", &);
MINNOW_OPERATION(kOr, "bitwise_or", |);
MINNOW_OPERATION(kXor, "bitwise_xor", ^);
MINNOW_OPERATION(kEqual, "equal", ==);
MINNOW_OPERATION(kNotEqual, "not_equal", !=);
MINNOW_OPERATION(kLess, "less", <);
MINNOW_OPERATION(kLessEqual, "less_equal", <=);
MINNOW_OPERATION(kGreater, "greater", >);
MINNOW_OPERATION(kGreaterEqual, "greater_equal", >=);
#undef MINNOW_OPERATION

bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
bool is_complex(const std::optional<Operand>& operand) {
  const Var* x = operand ? std::get_if<Var>(&*operand) : nullptr;
  return x && is_complex(x->dtype());
}

/// Throws for operands for which NumPy raises a TypeError.
void check_kinds(const Operation& operation, const Operand& a, const Operand& b) {
  const bool bits = &operation == &kAnd || &operation == &kOr || &operation == &kXor;
  if (!bits && &operation != &kSubtract) return;
  const auto kind = [](const Operand& operand) {
    if (const Var* x = std::get_if<Var>(&operand)) return is_float(x->dtype()) ? 2 : x->dtype() == DType::boolean ? 0 : 1;
    const Scalar& number = std::get<Scalar>(operand);
    return number.kind() == Scalar::Kind::real ? 2 : number.kind() == Scalar::Kind::boolean ? 0 : 1;
  };
  const int most = std::max(kind(a), kind(b));
  if (bits && most == 2) throw TypeFault("{} takes integers and bool, not floating operands", operation.name);
  if (!bits && most == 0) throw TypeFault("bool - bool has no meaning; use ^ or astype()");
}

/// Dividing integers by zero leaves the remainder 0 in NumPy, but is an error in the engine's operator.
bool may_divide_by_zero(const Operand& a, const Operand& b) {
  const auto is_floating = [](const Operand& operand) {
    const Var* x = std::get_if<Var>(&operand);
    return x ? is_float(x->dtype()) : std::get<Scalar>(operand).kind() == Scalar::Kind::real;
  };
  if (is_floating(a) || is_floating(b)) return false;
  const Scalar* divisor = std::get_if<Scalar>(&b);
  return !divisor || divisor->integer() == 0;
}

nb::object by_numpy(const Operation& operation, PyObject* a, PyObject* b) {
  return nb::module_::import_("minnow.numpy").attr(operation.name)(nb::borrow(a), nb::borrow(b));
}

/// A new reference to the result, or to NotImplemented.
nb::object apply(const Operation& operation, PyObject* a, PyObject* b) {
  {
    const Guard guard;
    std::optional<Operand> x = operand_from(a), y = operand_from(b);
    const bool complex = PyComplex_Check(a) || PyComplex_Check(b) || is_complex(x) || is_complex(y);
    if (!complex) {
      if (!x || !y) return nb::borrow(Py_NotImplemented);
      // Series and DataFrames of pandas combine with arrays themselves, by their index.
      for (PyObject* side : {a, b})
        if (!is_var(side) && !PyObject_CheckBuffer(side) && !PyFloat_Check(side) && !PyLong_Check(side) && !PyList_Check(side) &&
            nb::hasattr(side, "__pandas_priority__"))
          return nb::borrow(Py_NotImplemented);
      check_kinds(operation, *x, *y);
      if (&operation != &kRemainder || !may_divide_by_zero(*x, *y)) {
        if (const Scalar* left = std::get_if<Scalar>(&*x)) return nb::cast(operation.left(*left, std::get<Var>(std::move(*y))));
        if (const Scalar* right = std::get_if<Scalar>(&*y)) return nb::cast(operation.right(std::get<Var>(std::move(*x)), *right));
        return nb::cast(operation.tensors(std::get<Var>(std::move(*x)), std::get<Var>(std::move(*y))));
      }
    }
  }
  return by_numpy(operation, a, b);
}

template <const Operation& kOperation>
PyObject* binary(PyObject* a, PyObject* b) noexcept {
  try {
    return apply(kOperation, a, b).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// bool < unsigned < signed < floating: by NumPy's rule "same_kind", a result may be stored in its own kind or a higher one.
int kind_of(DType dtype) { return dtype == DType::boolean ? 0 : is_unsigned(dtype) ? 1 : is_signed(dtype) ? 2 : is_complex(dtype) ? 4 : 3; }

void update(const Var& x, const Var& result) {
  if (kind_of(result.dtype()) > kind_of(x.dtype()))
    throw TypeFault("the result is {}, the variable that should take it {}; write x = x op y", result.dtype(), x.dtype());
  if (const std::optional<Shape> shape = result.known_shape(), own = x.known_shape(); shape && own && !(*shape == *own))
    throw InvalidArgument("the result has the shape {}, the variable that should take it {}; write x = x op y", *shape, *own);
  x.assign(result.dtype() == x.dtype() ? result : result.astype(x.dtype()));
}

/// `a` with the value of `result`.
PyObject* updated(PyObject* a, const nb::object& result) {
  const Guard guard;
  update(var_of(a), var_of(result));
  return Py_NewRef(a);
}

template <const Operation& kOperation>
PyObject* in_place(PyObject* a, PyObject* b) noexcept {
  try {
    const nb::object result = apply(kOperation, a, b);
    if (!is_var(result)) return nb::object(result).release().ptr();
    return updated(a, result);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

bool is_operand(PyObject* o) {
  if (is_var(o) || PyNumber_Check(o) || PyList_Check(o) || PyTuple_Check(o)) return true;
  return !PyUnicode_Check(o) && !PyBytes_Check(o) &&
         (PyObject_CheckBuffer(o) || nb::hasattr(o, "__dlpack__") || nb::hasattr(o, "__array__"));
}

/// Operations that are made of several operators are functions of minnow._operations.
PyObject* composed(const char* name, PyObject* a, PyObject* b, bool in_place = false) noexcept {
  try {
    if (!is_operand(a) || (b && !is_operand(b))) return not_implemented();
    const nb::object function = nb::module_::import_("minnow._operations").attr(name);
    const nb::object result = b ? function(nb::borrow(a), nb::borrow(b)) : function(nb::borrow(a));
    if (!in_place) return nb::object(result).release().ptr();
    return updated(a, result);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
#define MINNOW_COMPOSED(slot, name)                                                  \
  PyObject* slot(PyObject* a, PyObject* b) noexcept { return composed(name, a, b); } \
  PyObject* slot##_in_place(PyObject* a, PyObject* b) noexcept { return composed(name, a, b, true); }
MINNOW_COMPOSED(known_matmul, "matmul")
MINNOW_COMPOSED(floor_divide, "floor_divide")
MINNOW_COMPOSED(left_shift, "left_shift")
MINNOW_COMPOSED(right_shift, "right_shift")
#undef MINNOW_COMPOSED
/// In expressions over placeholders, shapes may not be known yet. Then call the operator itself; it has NumPy's meaning.
PyObject* matmul(PyObject* a, PyObject* b) noexcept {
  try {
    if (is_var(a) && is_var(b))
      if (std::optional<Var> product = numpy::product_at_hand(var_of(a), var_of(b))) return made(*std::move(product));
    const Guard guard;
    if (is_var(a) && is_var(b)) {
      const Var &x = var_of(a), &y = var_of(b);
      const DType dtype = x.dtype();
      if (dtype == y.dtype() && is_float(dtype) && (!x.known_shape() || !y.known_shape())) return made(expr::op("MatMul", {x, y}));
    }
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  return known_matmul(a, b);
}
PyObject* divmod(PyObject* a, PyObject* b) noexcept { return composed("divmod", a, b); }
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  return modulus == Py_None ? composed("power", a, b) : not_implemented();
}
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  return modulus == Py_None ? composed("power", a, b, true) : not_implemented();
}
PyObject* absolute(PyObject* a) noexcept { return composed("absolute", a, nullptr); }

PyObject* negative(PyObject* a) noexcept {
  if (is_complex(var_of(a).dtype())) return composed("negative", a, nullptr);
  return guarded([&] { return made(-var_of(a)); });
}
PyObject* positive(PyObject* a) noexcept {
  return guarded([&] { return made(var_of(a).clone()); });
}
PyObject* invert(PyObject* a) noexcept {
  return guarded([&] { return made(~var_of(a)); });
}

PyObject* compare(PyObject* a, PyObject* b, int how) noexcept {
  constexpr const Operation* kOperations[] = {&kLess, &kLessEqual, &kEqual, &kNotEqual, &kGreater, &kGreaterEqual};  // Py_LT ... Py_GE
  // Any integer can be compared, also one that the dtype cannot hold.
  const auto beyond = [](PyObject* number, PyObject* x) {
    if (!PyLong_Check(number) || !is_var(x)) return false;
    const DType dtype = var_of(x).dtype();
    return is_integer(dtype) && !holds(dtype, number);
  };
  try {
    const Operation& operation = *kOperations[how];
    return (beyond(a, b) || beyond(b, a) ? by_numpy(operation, a, b) : apply(operation, a, b)).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// The one element of a tensor, as a number.
nb::object number(PyObject* self, const char* wanted) {
  const Tensor& tensor = computed(var_of(self));
  if (tensor.elements() != 1)
    throw TypeFault("only a Var of one element becomes {}, this one is {}{}", wanted, tensor.dtype(), tensor.shape());
  return element(tensor.dtype(), tensor.data());
}
int truth(PyObject* self) noexcept {
  try {
    const Guard guard;
    if (trace) check_read(var_of(self), "bool()", false);
    const Tensor& tensor = computed(var_of(self));
    if (tensor.elements() != 1)
      throw InvalidArgument("the truth of a Var of {} elements is ambiguous; use any() or all()", tensor.elements());
    return PyObject_IsTrue(element(tensor.dtype(), tensor.data()).ptr());
  } catch (...) {
    set_python_error();
    return -1;
  }
}
PyObject* as_int(PyObject* self) noexcept {
  return guarded([&] {
    if (trace) check_read(var_of(self), "int()", false);
    return PyNumber_Long(number(self, "an int").ptr());
  });
}
PyObject* as_float(PyObject* self) noexcept {
  return guarded([&] {
    if (trace) check_read(var_of(self), "float()");
    return PyNumber_Float(number(self, "a float").ptr());
  });
}
PyObject* as_index(PyObject* self) noexcept {
  return guarded([&] {
    const Var& x = var_of(self);
    if (!is_integer(x.dtype()) || x.rank() != 0)
      throw TypeFault("only an integer Var without axes is an index, this one is {}{}", x.dtype(), x.shape());
    return number(self, "an index").release().ptr();
  });
}

/// The shape, where it has to be computed with the GIL released.
Shape shape_of(const Var& x) {
  if (const std::optional<Shape> shape = x.known_shape()) return *shape;
  return computed(x).shape();
}

/// The rank, which values that depend on placeholders have before these have values.
size_t rank_of(const Var& x) {
  if (!x.known_shape() && !x.is_computed())
    if (const std::optional<std::vector<int64_t>> dims = x.dims()) return dims->size();
  return shape_of(x).rank();
}

/// The length of axis 0, which values that depend on placeholders may have before these have values.
int64_t length_of(const Var& x, const char* what) {
  if (rank_of(x) == 0) throw TypeFault("a Var without axes {}", what);
  std::optional<std::vector<int64_t>> dims;
  if (!x.known_shape() && !x.is_computed()) dims = x.dims();
  if (dims && (*dims)[0] >= 0) return (*dims)[0];
  try {
    return shape_of(x)[0];
  } catch (const Error& error) {
    if (!dims) throw;
    throw InvalidArgument("the length of a Var's first axis is open: {}; expr.scan() walks along axes of open length", error.what());
  }
}

Py_ssize_t length(PyObject* self) noexcept {
  try {
    const Guard guard;
    return static_cast<Py_ssize_t>(length_of(var_of(self), "has no length"));
  } catch (...) {
    set_python_error();
    return -1;
  }
}

std::optional<int64_t> bound(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  if (!PyIndex_Check(object.ptr())) throw TypeFault("the bounds of a slice are integers or None, not {}", kind_name(object));
  const Py_ssize_t value = PyNumber_AsSsize_t(object.ptr(), nullptr);  // beyond its range: the farthest
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

/// One place in the brackets; nothing if it is not basic slicing.
std::optional<Index> index_from(nb::handle item) {
  PyObject* o = item.ptr();
  if (PyBool_Check(o)) return std::nullopt;
  if (PyLong_Check(o)) {
    const Py_ssize_t at = PyNumber_AsSsize_t(o, nullptr);
    if (at == -1 && PyErr_Occurred()) nb::raise_python_error();
    return Index(static_cast<int64_t>(at));
  }
  if (PySlice_Check(o)) {
    const std::optional<int64_t> step = bound(item.attr("step"));
    if (step == 0) throw InvalidArgument("the step of a slice is zero");
    return Index::range(bound(item.attr("start")), bound(item.attr("stop")), step.value_or(1));
  }
  if (o == Py_Ellipsis) return kEllipsis;
  if (o == Py_None) return kNewAxis;
  if (is_var(item)) {
    const Var& x = var_of(item);
    if (!is_integer(x.dtype()) || shape_of(x).rank() != 0) return std::nullopt;
  }
  if (PyList_Check(o) || PyTuple_Check(o)) return std::nullopt;
  if (PyIndex_Check(o)) {
    const Py_ssize_t at = PyNumber_AsSsize_t(o, nullptr);
    if (at != -1 || !PyErr_Occurred()) return Index(static_cast<int64_t>(at));
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
  }
  return std::nullopt;
}

std::optional<std::vector<Index>> indices_from(nb::handle key) {
  std::vector<Index> indices;
  if (!PyTuple_Check(key.ptr())) {
    const std::optional<Index> index = index_from(key);
    if (!index) return std::nullopt;
    indices.push_back(*index);
    return indices;
  }
  for (nb::handle item : nb::borrow<nb::tuple>(key)) {
    const std::optional<Index> index = index_from(item);
    if (!index) return std::nullopt;
    indices.push_back(*index);
  }
  return indices;
}

Var view_of(const Var& x, const std::vector<Index>& indices) {
  try {
    // A part of a value that depends on a placeholder is an expression.
    if (!x.known_shape() && !x.is_computed() && !express::value_of(x).node->fed_by_others) computed(x);
    return x.view(indices);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_argument) throw IndexFault(error.what());
    throw;
  }
}

/// x[indices]: a view or, for a single element, a value that later assignments do not change, as in NumPy.
Var item_of(const Var& x, const std::vector<Index>& indices) {
  Places places;
  const bool integers = places.from(indices);
  if (integers)
    if (std::optional<Var> element = element_at(x, places)) return *std::move(element);
  Var view = view_of(x, indices);
  return integers && view.is_view() && view.shape().rank() == 0 ? view.clone() : view;
}

/// A method of a complex array that is differentiated, or an attribute.
template <class... Args>
nb::object of_parts(const char* name, nb::handle self, const Args&... arguments) {
  return nb::module_::import_("minnow.numpy._complex").attr("method")(self, name, arguments...);
}

/// Handles basic slicing here and calls a function of minnow._operations for other keys. The guard is released while Python runs.
template <class F>
auto basic_or_python(PyObject* key, F&& basic, const char* name, PyObject* self, PyObject* value) {
  {
    const Guard guard;
    if (const std::optional<std::vector<Index>> indices = indices_from(key)) return basic(*indices);
  }
  const nb::object function = nb::module_::import_("minnow._operations").attr(name);
  return value ? function(nb::borrow(self), nb::borrow(key), nb::borrow(value)) : function(nb::borrow(self), nb::borrow(key));
}

PyObject* get_item(PyObject* self, PyObject* key) noexcept {
  try {
    if (trace && has_parts(self)) return of_parts("__getitem__", self, nb::borrow(key)).release().ptr();
    Places places;
    if (places.from(key)) {
      const Guard guard;
      if (std::optional<Var> element = element_at(var_of(self), places)) return made(*std::move(element));
    }
    const auto view = [&](const std::vector<Index>& indices) { return nb::cast(item_of(var_of(self), indices)); };
    nb::object result = basic_or_python(key, view, "get_item", self, nullptr);
    if (trace) check_kept([] { return std::string("x[...] with such an index"); }, {}, std::array{self, key}, result);
    return result.release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

int write_item(PyObject* self, PyObject* key, PyObject* value) noexcept {
  try {
    if (!value) throw TypeFault("elements of a Var cannot be deleted");
    bool complex = PyComplex_Check(value);
    {
      const Guard guard;
      if (Places places; places.from(key) && write_element(var_of(self), places, value)) return 0;
      complex = complex || is_complex(var_of(self).dtype());
    }
    if (trace && (has_parts(self) || has_parts(value)))
      throw Unsupported("x[...] = y of complex arrays has no gradient; minnow.numpy.where() and concatenate() make arrays of others");
    if (complex) {  // values are cast as minnow.numpy does
      nb::module_::import_("minnow._operations").attr("set_item")(nb::borrow(self), nb::borrow(key), nb::borrow(value));
      return 0;
    }
    const auto write = [&](const std::vector<Index>& indices) -> nb::object {
      const std::optional<Operand> operand = operand_from(value);
      if (!operand) throw TypeFault("elements of a Var take numbers and arrays, not {}", kind_name(value));
      const Var view = view_of(var_of(self), indices);
      const Var* given = std::get_if<Var>(&*operand);
      const bool element = !PyTuple_Check(key) ? key != Py_Ellipsis : PySequence_Contains(key, Py_Ellipsis) == 0;
      if (given && element && shape_of(view).rank() == 0 && shape_of(*given).rank() != 0 &&
          !(view.dtype() == DType::boolean && shape_of(*given).elements() == 1))
        throw InvalidArgument("one element takes a number, not an array of shape {}", shape_of(*given));
      if (const Scalar* scalar = std::get_if<Scalar>(&*operand))
        view.assign(*scalar);
      else
        view.assign(std::get<Var>(*operand));
      return nb::none();
    };
    basic_or_python(key, write, "set_item", self, value);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

int set_item(PyObject* self, PyObject* key, PyObject* value) noexcept {
  if (!trace || !value) return write_item(self, key, value);
  try {
    nb::object before;
    {
      const Guard guard;
      before = nb::cast(express::var_of(express::required_value(var_of(self))));
    }
    if (write_item(self, key, value) < 0) return -1;
    check_kept([] { return std::string("x[...] = y with such an index"); }, {}, std::array{before.ptr(), key, value}, self);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

PyObject* iterate(PyObject* self) noexcept {
  return guarded([&] {
    const Var& x = var_of(self);
    const int64_t count = length_of(x, "cannot be iterated over");
    nb::list items;
    const bool parts = trace && has_parts(self);
    for (int64_t i = 0; i < count; ++i) items.append(parts ? of_parts("__getitem__", self, nb::int_(i)) : nb::cast(item_of(x, {Index(i)})));
    return PyObject_GetIter(items.ptr());
  });
}

PyObject* item_at(PyObject* self, Py_ssize_t at) noexcept {
  if (trace && has_parts(self)) {
    const nb::object place = nb::steal(PyLong_FromSsize_t(at));
    return get_item(self, place.ptr());
  }
  return guarded([&] { return made(item_of(var_of(self), {Index(static_cast<int64_t>(at))})); });
}

Py_hash_t hash(PyObject* self) noexcept { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4); }

template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

const PyType_Slot* slots() {
  static const PyType_Slot kSlots[] = {
      {Py_nb_add, slot(binary<kAdd>)},
      {Py_nb_subtract, slot(binary<kSubtract>)},
      {Py_nb_multiply, slot(binary<kMultiply>)},
      {Py_nb_true_divide, slot(binary<kDivide>)},
      {Py_nb_remainder, slot(binary<kRemainder>)},
      {Py_nb_and, slot(binary<kAnd>)},
      {Py_nb_or, slot(binary<kOr>)},
      {Py_nb_xor, slot(binary<kXor>)},
      {Py_nb_inplace_add, slot(in_place<kAdd>)},
      {Py_nb_inplace_subtract, slot(in_place<kSubtract>)},
      {Py_nb_inplace_multiply, slot(in_place<kMultiply>)},
      {Py_nb_inplace_true_divide, slot(in_place<kDivide>)},
      {Py_nb_inplace_remainder, slot(in_place<kRemainder>)},
      {Py_nb_inplace_and, slot(in_place<kAnd>)},
      {Py_nb_inplace_or, slot(in_place<kOr>)},
      {Py_nb_inplace_xor, slot(in_place<kXor>)},
      {Py_nb_matrix_multiply, slot(matmul)},
      {Py_nb_inplace_matrix_multiply, slot(known_matmul_in_place)},
      {Py_nb_floor_divide, slot(floor_divide)},
      {Py_nb_inplace_floor_divide, slot(floor_divide_in_place)},
      {Py_nb_lshift, slot(left_shift)},
      {Py_nb_inplace_lshift, slot(left_shift_in_place)},
      {Py_nb_rshift, slot(right_shift)},
      {Py_nb_inplace_rshift, slot(right_shift_in_place)},
      {Py_nb_divmod, slot(divmod)},
      {Py_nb_power, slot(power)},
      {Py_nb_inplace_power, slot(power_in_place)},
      {Py_nb_absolute, slot(absolute)},
      {Py_nb_negative, slot(negative)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_invert, slot(invert)},
      {Py_nb_bool, slot(truth)},
      {Py_nb_int, slot(as_int)},
      {Py_nb_float, slot(as_float)},
      {Py_nb_index, slot(as_index)},
      {Py_tp_richcompare, slot(compare)},
      {Py_tp_hash, slot(hash)},
      {Py_tp_iter, slot(iterate)},
      {Py_mp_length, slot(length)},
      {Py_sq_length, slot(length)},
      {Py_sq_item, slot(item_at)},  // without it pandas would take a Var for a single number
      {Py_mp_subscript, slot(get_item)},
      {Py_mp_ass_subscript, slot(set_item)},
      {Py_bf_getbuffer, slot(get_buffer)},
      {Py_bf_releasebuffer, slot(release_buffer)},
      {0, nullptr},
  };
  return kSlots;
}

nb::tuple tuple_of(const Shape& shape) {
  nb::list dims;
  for (const int64_t dim : shape) dims.append(dim);
  return nb::tuple(dims);
}

/// x.reshape(2, -1), x.reshape((2, -1)): a view if shapes are known and fit; empty for all other calls.
std::optional<Var> reshaped_at_once(const Var& x, const nb::args& arguments) {
  if (!x.is_tensor()) return std::nullopt;
  const std::optional<Shape> shape = x.known_shape();
  const bool in_one = arguments.size() == 1 && (PyTuple_CheckExact(arguments[0].ptr()) || PyList_CheckExact(arguments[0].ptr()));
  const nb::handle given = in_one ? arguments[0] : nb::handle(arguments);
  const size_t rank = nb::len(given);
  if (!shape || rank > kMaxRank) return std::nullopt;
  std::array<int64_t, kMaxRank> dims;
  int64_t product = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < rank; ++i) {
    const nb::object dim = given[i];
    int overflow = 0;
    if (!PyLong_CheckExact(dim.ptr())) return std::nullopt;
    dims[i] = PyLong_AsLongLongAndOverflow(dim.ptr(), &overflow);
    if (overflow != 0 || dims[i] < -1 || (dims[i] == -1 && open)) return std::nullopt;
    if (dims[i] == -1)
      open = i;
    else if (__builtin_mul_overflow(product, dims[i], &product))
      return std::nullopt;
  }
  if (open) {
    if (product == 0 || shape->elements() % product != 0) return std::nullopt;
    dims[*open] = shape->elements() / product;
  } else if (product != shape->elements()) {
    return std::nullopt;
  }
  return express::reshaped(x, Shape(std::vector<int64_t>(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(rank))));
}

/// The axes reversed: a view where the shape is known.
Var reversed(const Var& x) {
  const std::optional<Shape> shape = x.known_shape();
  if (!shape) return expr::op("Transpose", {x});
  std::vector<int64_t> order(shape->rank());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return express::transposed(x, order);
}

/// `copy`: None shares memory if that is possible, True never does, False must.
Sharing sharing_from(nb::handle copy) {
  if (copy.is_none()) return Sharing::where_possible;
  return PyObject_IsTrue(copy.ptr()) == 1 ? Sharing::copy : Sharing::must;
}

/// A variable of the same value. Where the value may change, as that of a placeholder or a parameter, it follows it and has its gradient.
Var copy_of(const Var& x) {
  const express::LazyNode& node = *express::value_of(x).node;
  const bool is_leaf = node.kind != express::LazyNode::Kind::call && node.kind != express::LazyNode::Kind::step;
  return is_leaf && node.keeps_inputs ? expr::op("Identity", {x}) : x.clone();
}

Var as_var(nb::handle object, nb::handle dtype, nb::handle copy) {
  const Sharing sharing = sharing_from(copy);
  const DType wanted = dtype.is_none() ? DType::undefined : dtype_from(dtype);
  const Guard guard;
  if (!is_var(object)) return Var(tensor_from(object, wanted, sharing));
  const Var& x = var_of(object);
  const bool same = wanted == DType::undefined || x.dtype() == wanted;
  if (!same && sharing == Sharing::must) throw InvalidArgument("a {} cannot become {} without a copy", x.dtype(), wanted);
  return !same ? x.astype(wanted) : sharing == Sharing::copy ? copy_of(x) : x;
}

/// Names the keyword that a function has not, with the nearest ones.
void reject(const nb::kwargs& given, const char* function, const std::vector<std::string>& known) {
  for (const auto& [key, value] : given)
    if (const std::string name = nb::cast<std::string>(key); std::find(known.begin(), known.end(), name) == known.end())
      throw TypeFault("{}() got an unexpected keyword argument '{}'{}", function, name, nearest(name, known));
  throw nb::next_overload();
}

}  // namespace

void define_var(nb::module_& m) {
  nb::class_<Var> var(
      m, "Var", nb::type_slots(slots()), nb::is_weak_referenceable(), nb::dynamic_attr(),
      "A value of an expression: a constant, a placeholder, a parameter, or the result of an operator. It is computed when it is read.\n\n"
      "Var(object, dtype=None, *, copy=None) makes a constant of numbers, nested lists, or an array (buffer protocol, DLPack, __array__);\n"
      "copy=None shares an array's memory where that is possible, True never does, False must.\n\n"
      "Errors: InvalidType (a TypeError) for what is no array, InvalidArgument (a ValueError) for shapes that do not fit, InvalidIndex "
      "(an\n"
      "IndexError) for places outside; reading raises what computing the expression raises.");
  var_type = reinterpret_cast<PyTypeObject*>(var.ptr());
  var.def(
      "__init__", [](Var* self, nb::handle object, nb::handle dtype, nb::handle copy) { new (self) Var(as_var(object, dtype, copy)); },
      nb::arg("object").none(), nb::arg("dtype") = nb::none(), nb::kw_only(), nb::arg("copy") = nb::none());
  // Calls that the functions above do not take.
  var.def("__init__", [](Var*, const nb::args&, const nb::kwargs& given) { reject(given, "Var", {"object", "dtype", "copy"}); });
  using Guarded = nb::call_guard<Guard>;
  var.def_prop_ro(
         "dtype", [](const Var& x) { return dtype_object(x.dtype()); }, Guarded(), "The type of the elements.")
      .def_prop_ro(
          "shape", [](const Var& x) { return tuple_of(shape_of(x)); }, Guarded(),
          "The dimensions; computes the expression where they depend on data.")
      .def_prop_ro(
          "known_shape",
          [](const Var& x) -> nb::object {
            const std::optional<Shape> shape = x.known_shape();
            return shape ? nb::object(tuple_of(*shape)) : nb::none();
          },
          Guarded(), "The dimensions where they are known without computing, else None.")
      .def_prop_ro(
          "ndim", [](const Var& x) { return rank_of(x); }, Guarded(), "The number of dimensions; computes only where it depends on data.")
      .def_prop_ro(
          "dims",
          [](const Var& x) -> nb::object {
            const std::optional<std::vector<int64_t>> dims = x.dims();
            if (!dims) return nb::none();
            nb::list list;
            for (const int64_t dim : *dims) list.append(dim < 0 ? nb::none() : nb::cast(dim));
            return nb::tuple(list);
          },
          Guarded(), "The dimensions whatever values placeholders are given, None where one is open; None where their number is open too.")
      .def_prop_ro(
          "size", [](const Var& x) { return shape_of(x).elements(); }, Guarded(), "The number of elements.")
      .def_prop_ro(
          "itemsize", [](const Var& x) { return size_of(x.dtype()); }, Guarded(), "Bytes of an element.")
      .def_prop_ro(
          "nbytes", [](const Var& x) { return shape_of(x).elements() * static_cast<int64_t>(size_of(x.dtype())); }, Guarded(),
          "Bytes of all elements.")
      .def_prop_rw(
          "name", [](const Var& x) { return x.name(); }, [](const Var& x, std::string name) { x.set_name(std::move(name)); }, Guarded(),
          "Kept in saved models, and shown in errors and profiles.")
      .def_prop_ro(
          "is_view", [](const Var& x) { return x.is_view(); }, Guarded(), "Whether assigning writes into another variable.")
      .def_prop_ro(
          "is_computed", [](const Var& x) { return x.is_computed(); }, Guarded(), "Whether reading would compute nothing.")
      .def_prop_ro(
          "is_tensor", [](const Var& x) { return x.is_tensor(); }, Guarded(), "Else a sequence or an optional.")
      .def_prop_ro(
          "is_placeholder", [](const Var& x) { return x.is_placeholder(); }, Guarded())
      .def_prop_rw(
          "trainable", [](const Var& x) { return x.is_trainable(); }, [](const Var& x, bool on) { x.set_trainable(on); }, Guarded(),
          "Whether this is a parameter.")
      .def_prop_ro(
          "T",
          [](nb::handle self) -> nb::object {
            if (trace && has_parts(self)) return of_parts("T", self);
            const Guard guard;
            return nb::cast(reversed(var_of(self)));
          },
          nb::sig("def T(self) -> Var"), "The axes reversed: a view.")
      .def(
          "reshape",
          [](nb::handle self, const nb::args& shape, const nb::kwargs& options) -> nb::object {
            if (trace && has_parts(self)) return of_parts("reshape", self, *shape);
            if (options.size() == 0) {
              const Guard guard;
              if (std::optional<Var> view = reshaped_at_once(var_of(self), shape)) return nb::cast(*std::move(view));
            }
            return nb::module_::import_("minnow._var").attr("reshape")(self, *shape, **options);
          },
          nb::sig("def reshape(self, *shape: typing.Any, order: str = 'C', copy: bool | None = None) -> Var"),
          "The same elements in other dimensions; one of them may be -1. A view where that can be, as in NumPy. order \"F\": the first "
          "index "
          "runs fastest.")
      .def(
          "item",
          [](nb::handle self, const nb::args& args) -> nb::object {
            const Guard guard;
            if (trace) check_read(var_of(self), "item()");
            const Tensor tensor = computed(var_of(self));
            int64_t at = 0;
            if (args.size() == 0) {
              if (tensor.elements() != 1)
                throw InvalidArgument("item() takes a Var of one element, this one is {}{}", tensor.dtype(), tensor.shape());
            } else {
              const nb::object key = args.size() == 1 ? nb::object(args[0]) : nb::object(args);
              const bool many = PyTuple_Check(key.ptr());
              const Shape& shape = tensor.shape();
              const auto place = [](nb::handle index, int64_t dim) {
                const std::optional<int64_t> given = bound(index);
                const int64_t found = given && *given < 0 ? *given + dim : given.value_or(-1);
                if (found < 0 || found >= dim) throw IndexFault(format("index {} is out of range for {} elements", given.value_or(0), dim));
                return found;
              };
              if (!many) {
                at = place(key, shape.elements());
              } else {
                const nb::tuple places = nb::borrow<nb::tuple>(key);
                if (places.size() != shape.rank())
                  throw IndexFault(format("item() takes {} indices here, {} were given", shape.rank(), places.size()));
                for (size_t i = 0; i < shape.rank(); ++i) at = at * shape[i] + place(places[i], shape[i]);
              }
            }
            return element(tensor.dtype(), tensor.data<char>() + static_cast<size_t>(at) * size_of(tensor.dtype()));
          },
          "The one element, or the one at an index, as a number of Python.")
      .def(
          "tolist",
          [](const Var& x) {
            if (!x.is_tensor()) return from_datum(x.datum());
            if (trace) check_read(x, "tolist()");
            return to_list(Tensor(computed(x)));
          },
          Guarded(), "The elements as numbers of Python in nested lists.")
      .def(
          "astype",
          [](const Var& x, nb::handle dtype, nb::handle order, const std::string& casting, bool, bool copy) {
            if (!order.is_none()) nb::module_::import_("minnow.numpy._core").attr("check_order")(order);
            const DType wanted = dtype_from(dtype);
            if (casting != "unsafe" &&
                !nb::cast<bool>(
                    nb::module_::import_("minnow.numpy").attr("can_cast")(dtype_object(x.dtype()), dtype_object(wanted), casting)))
              throw TypeFault("a {} cannot become {} by the rule \"{}\"", x.dtype(), wanted, casting);
            if (trace && (has_parts(nb::cast(x)) || (is_complex(wanted) && !is_complex(x.dtype()))))
              return nb::cast<Var>(nb::module_::import_("minnow.numpy._complex").attr("cast")(nb::cast(x), dtype_object(wanted)));
            if (wanted != x.dtype() && (is_complex(wanted) || is_complex(x.dtype())))
              return nb::cast<Var>(nb::module_::import_("minnow._minnow").attr("numpy").attr("cast")(nb::cast(x), dtype));
            if (wanted == x.dtype()) return copy ? copy_of(x) : x;
            return x.astype(wanted);
          },
          nb::arg("dtype").none(), nb::arg("order") = nb::none(), nb::arg("casting") = "unsafe", nb::arg("subok") = true,
          nb::arg("copy") = true, Guarded(),
          "The same values as another dtype, cast as NumPy does. order: C, A or K, all of which are row by row; casting: the rule of "
          "numpy.can_cast() that has to allow it; subok: nothing.")
      .def("astype",
           [](const Var& x, const nb::args&, const nb::kwargs& given) {
             reject(given, "astype", {"dtype", "order", "casting", "subok", "copy"});
             return x;
           })
      .def(
          "assign",
          [](const Var& x, nb::handle value) {
            const std::optional<Operand> operand = operand_from(value);
            if (!operand) throw TypeFault("a Var takes numbers and arrays, not {}", kind_name(value));
            if (is_complex(x.dtype()) && std::holds_alternative<Scalar>(*operand))
              throw TypeFault("a Var of {} takes arrays of that dtype; write x[...] = number", x.dtype());
            if (const Scalar* scalar = std::get_if<Scalar>(&*operand))
              x.assign(*scalar);
            else
              x.assign(std::get<Var>(*operand));
          },
          nb::arg("value"), Guarded(),
          "Gives the variable another value: a placeholder is fed, a view writes into its base, any other variable gets the value of "
          "another.")
      .def(
          "clone",
          [](const Var& x) {  // a parameter that is differentiated would get a twin
            if (trace && has_parts(nb::cast(x))) return nb::cast<Var>(of_parts("clone", nb::cast(x)));
            return trace && x.is_tensor() && express::value_of(x).node->keeps_inputs ? expr::op("Identity", {x}) : x.clone();
          },
          Guarded(), "Another variable of the same value.")
      .def(
          "evaluate",
          [](nb::handle self) {
            const Guard guard;
            const Var& x = var_of(self);
            if (x.is_computed()) return nb::borrow(self);
            if (!x.is_tensor()) {
              const SignalWatch watch;
              const nb::gil_scoped_release release;
              x.datum();
            } else {
              computed(x);
            }
            return nb::borrow(self);
          },
          "Computes the value now, and gives the Var itself.")
      .def("_raise_unread", &raise_unread, "For __array__(): raises what NumPy cleared when it asked for a buffer.");
  define_dlpack(var);
  m.def(
      "from_buffer",
      [](nb::handle data, nb::handle dtype, const std::vector<int64_t>& shape, std::optional<size_t> offset) {
        const Guard guard;
        const Tensor bytes = bytes_of_buffer(data);
        const DType wanted = dtype_from(dtype);
        const Shape dims(shape);
        for (const int64_t dim : dims)
          if (dim < 0) throw InvalidArgument("a dimension of {} is negative", dims);
        const size_t needed = static_cast<size_t>(dims.elements()) * size_of(wanted), begin = offset.value_or(0);
        if (begin > bytes.bytes() || (offset ? needed > bytes.bytes() - begin : needed != bytes.bytes()))
          throw InvalidArgument("{}{} takes {} bytes, {} are given", wanted, dims, needed, bytes.bytes() - std::min(begin, bytes.bytes()));
        const ForeignArray array{wanted, dims, {}, {}, bytes.data<char>() + begin, false, bytes.owner()};
        return Var(array.tensor(Sharing::where_possible));
      },
      nb::arg("data"), nb::arg("dtype"), nb::arg("shape"), nb::arg("offset") = nb::none(),
      "A Var over the memory of an object with the buffer protocol, whatever its own dtype; from the byte `offset` on, where that is "
      "given.");
  m.def(
      "operands",
      [](nb::handle a, nb::handle b) {
        const Guard guard;
        const std::optional<Operand> x = operand_from(a), y = operand_from(b);
        if (!x || !y) throw TypeFault("an operation takes numbers and arrays, not {}", kind_name(x ? b : a));
        const auto var = [](const Operand& operand, const Operand& other) {
          if (const Var* v = std::get_if<Var>(&operand)) {
            const Scalar* weak = std::get_if<Scalar>(&other);
            const DType own = v->dtype(), common = weak ? promote(own, *weak) : promote(own, std::get_if<Var>(&other)->dtype());
            return common == own ? *v : v->astype(common);
          }
          const Scalar& scalar = std::get<Scalar>(operand);
          if (const Var* v = std::get_if<Var>(&other)) return Var::scalar(scalar, promote(v->dtype(), scalar));
          const Scalar& beside = std::get<Scalar>(other);
          const auto natural = [](const Scalar& s) {
            return s.kind() == Scalar::Kind::real ? DType::f64 : s.kind() == Scalar::Kind::integer ? DType::i64 : DType::boolean;
          };
          return Var::scalar(scalar, promote(natural(scalar), natural(beside)));
        };
        return nb::make_tuple(var(*x, *y), var(*y, *x));
      },
      nb::arg("a"), nb::arg("b"), "Two operands as Vars of their common dtype, as NumPy 2 promotes; numbers of Python are weak.");
  m.def("asarray", as_var, nb::arg("object").none(), nb::arg("dtype") = nb::none(), nb::kw_only(), nb::arg("copy") = nb::none(),
        "The object itself where it is a Var of that dtype, else Var(object, dtype, copy=copy).");
}

}  // namespace minnow::python

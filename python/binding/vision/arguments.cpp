// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "express/node.h"
#include "functions.h"

namespace minnow::python {
namespace {

template <class T>
T integer_from(double value, const char* name) {
  if (!(value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max()))
    throw InvalidArgument("{}: {} is beyond 32 bits", name, value);
  return static_cast<T>(value);
}

int integer_of(double value, nb::handle object, const char* name) {
  if (value != std::floor(value)) throw TypeFault("{} takes integers, not {}", name, shown(object));
  return integer_from<int>(value, name);
}

/// numbers_of() for a few numbers: those of tuples allocate nothing.
template <size_t N>
std::array<double, N> few_numbers(nb::handle object, const char* name, size_t least = N) {
  std::array<double, N> numbers{};
  const size_t count = PyTuple_CheckExact(object.ptr()) ? static_cast<size_t>(PyTuple_Size(object.ptr())) : 0;
  if (count > 0 && count >= least && count <= N) {
    size_t read = 0;
    while (read < count) {
      numbers[read] = PyFloat_AsDouble(PyTuple_GetItem(object.ptr(), static_cast<Py_ssize_t>(read)));
      if (numbers[read] == -1 && PyErr_Occurred()) break;
      ++read;
    }
    if (read == count) return numbers;
    PyErr_Clear();
  }
  const std::vector<double> found = numbers_of(object, name, least, N);
  numbers.fill(0);
  std::copy(found.begin(), found.end(), numbers.begin());
  return numbers;
}

/// The picture in a buffer of two or three axes. Empty if the pixels of a row do not lie side by side, or elements are not numbers.
vision::MutableImageView picture_in(const BufferView& buffer) {
  const Py_buffer* const array = buffer.get();
  if (!array || array->ndim < 2 || array->ndim > 3 || !array->shape || array->suboffsets) return {};
  const DType dtype = buffer.dtype();
  if (dtype == DType::undefined) return {};
  const int64_t height = array->shape[0], width = array->shape[1], channels = array->ndim == 3 ? array->shape[2] : 1;
  const int64_t element = static_cast<int64_t>(size_of(dtype));
  if (array->itemsize != element || reinterpret_cast<uintptr_t>(array->buf) % static_cast<uintptr_t>(element)) return {};
  int64_t row = 0, bytes = 0;
  if (height < 0 || width < 0 || channels < 0 || __builtin_mul_overflow(width, channels * element, &row) ||
      __builtin_mul_overflow(row, height, &bytes))
    return {};
  int64_t stride = row;
  if (array->strides) {
    if (channels > 1 && array->strides[2] != element) return {};
    if (width > 1 && array->strides[1] != channels * element) return {};
    if (height > 1) stride = array->strides[0];
    if (stride < row || stride % element) return {};
  } else if (bytes > array->len) {
    return {};
  }
  return {dtype, height, width, channels, array->buf, stride};
}

/// OpenCV's functions take i64, the usual integers of NumPy and Python, as i32; here a number that does not fit is InvalidArgument.
Tensor without_i64(Tensor tensor, const char* name) {
  if (tensor.dtype() != DType::i64) return tensor;
  Tensor result(DType::i32, tensor.shape());
  int32_t* to = result.writable().data<int32_t>();
  const int64_t* const from = tensor.data<int64_t>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (from[i] != static_cast<int32_t>(from[i])) throw InvalidArgument("{}: {} is beyond 32 bits", name, from[i]);
    to[i] = static_cast<int32_t>(from[i]);
  }
  return result;
}

/// An array as functions of pictures take it.
Tensor array_from(nb::handle object, const char* name) {
  return without_i64(tensor_from(object, DType::undefined, Sharing::where_possible), name);
}

}  // namespace

std::vector<double> numbers_of(nb::handle object, const char* name, size_t least, size_t most) {
  std::vector<double> numbers;
  const auto complain = [&] {
    throw TypeFault("{} takes {}{} number{}, not {}", name, least == most ? "" : "up to ", most, most == 1 ? "" : "s", shown(object));
  };
  if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (value == -1 && PyErr_Occurred()) PyErr_Clear(), complain();
    numbers.push_back(value);
  } else if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    const nb::object items = nb::borrow(object);
    for (nb::handle item : items) {
      const double value = PyFloat_AsDouble(item.ptr());
      if (value == -1 && PyErr_Occurred()) PyErr_Clear(), complain();
      numbers.push_back(value);
    }
  } else {
    if (object.is_none() || PyUnicode_Check(object.ptr())) complain();
    const Guard guard;
    const Tensor array = tensor_from(object, DType::f64, Sharing::where_possible);
    numbers.assign(array.data<double>(), array.data<double>() + array.elements());
  }
  if (numbers.size() < least || numbers.size() > most) complain();
  return numbers;
}

From<vision::Size>::From(nb::handle object, const char* name) {
  if (object.is_none()) return;
  const std::array<double, 2> numbers = few_numbers<2>(object, name);
  value = {integer_of(numbers[0], object, name), integer_of(numbers[1], object, name)};
}
From<vision::Point>::From(nb::handle object, const char* name) {
  const std::array<double, 2> numbers = few_numbers<2>(object, name);
  value = {integer_of(numbers[0], object, name), integer_of(numbers[1], object, name)};
}
From<vision::Point2d>::From(nb::handle object, const char* name) {
  const std::array<double, 2> numbers = few_numbers<2>(object, name);
  value = {numbers[0], numbers[1]};
}
From<vision::Rect>::From(nb::handle object, const char* name) {
  std::array<int, 4> integers{};
  const std::array<double, 4> numbers = few_numbers<4>(object, name);
  for (size_t i = 0; i < 4; ++i) integers[i] = integer_of(numbers[i], object, name);
  value = {integers[0], integers[1], integers[2], integers[3]};
}
From<vision::Scalar4>::From(nb::handle object, const char* name) {
  if (object.is_none()) return;
  value = few_numbers<4>(object, name, 0);
}
From<std::vector<int>>::From(nb::handle object, const char* name) {
  for (const double number : numbers_of(object, name, 0, size_t(1) << 20)) value.push_back(integer_of(number, object, name));
}

From<std::vector<vision::Point>>::From(nb::handle object, const char* name) {
  const Guard guard;
  const Tensor array = array_from(object, name);
  const Shape& shape = array.shape();
  const size_t rank = shape.rank();
  if (array.dtype() != DType::i32 || rank < 2 || rank > 3 || shape[rank - 1] != 2 || (rank == 3 && shape[0] != 1 && shape[1] != 1))
    throw InvalidArgument("{}: points are integers [n, 2], [n, 1, 2] or [1, n, 2], not {}{}", name, array.dtype(), shape);
  value.resize(static_cast<size_t>(array.elements() / 2));
  const int32_t* from = array.data<int32_t>();
  for (vision::Point& point : value) point = {from[0], from[1]}, from += 2;
}
From<std::vector<std::vector<vision::Point>>>::From(nb::handle object, const char* name) {
  if (object.is_none() || PyUnicode_Check(object.ptr()) || !PySequence_Check(object.ptr()))
    throw TypeFault("{} takes a list of arrays of points, not {}", name, shown(object));
  const nb::object items = nb::borrow(object);
  for (nb::handle item : items) value.push_back(From<std::vector<vision::Point>>(item, name).value);
}

From<Tensor>::From(nb::handle object, const char* name) {
  if (object.is_none()) throw TypeFault("{} takes an array, not None", name);
  const Guard guard;
  value = array_from(object, name);
}
From<Floats>::From(nb::handle object, const char* name) {
  if (object.is_none()) throw TypeFault("{} takes an array, not None", name);
  const Guard guard;
  value.value = tensor_from(object, DType::f32, Sharing::where_possible);
}
Tensor Floats::of_rank(size_t rank) const {
  const Shape& shape = value.shape();
  size_t first = 0;
  while (shape.rank() - first > rank && shape[first] == 1) ++first;
  return first == 0 ? value : value.reshaped(Shape(std::span(shape.begin(), shape.end()).subspan(first)));
}
From<DType>::From(nb::handle object, const char*) : value(object.is_none() ? DType::undefined : dtype_from(object)) {}

From<vision::ImageView>::From(nb::handle object, const char* name) {
  if (object.is_none()) return;
  if (!is_var(object)) {
    if (PyUnicode_Check(object.ptr())) throw TypeFault("{} takes a picture, not {}", name, shown(object));
    const vision::MutableImageView picture = picture_in(memory_.emplace(object, PyBUF_FULL_RO));
    if (picture && picture.dtype() != DType::i64) {
      view = picture;
      return;
    }
    memory_.reset();
  }
  const Guard guard;
  copy_ = array_from(object, name);
  const Shape& shape = copy_.shape();
  if (shape.rank() == 1)  // a column, as OpenCV takes it
    view = vision::ImageView(copy_.reshaped({shape[0], 1}));
  else if (shape.rank() == 2 || shape.rank() == 3)
    view = vision::ImageView(copy_);
  else
    throw InvalidArgument("{}: a picture is [height, width] or [height, width, channels], this is {}{}", name, copy_.dtype(), shape);
}

From<std::vector<vision::ImageView>>::From(nb::handle object, const char* name) {
  if (object.is_none() || PyUnicode_Check(object.ptr()) || !PySequence_Check(object.ptr()))
    throw TypeFault("{} takes a list of pictures, not {}", name, shown(object));
  const nb::object items = nb::borrow(object);
  for (nb::handle item : items) pictures.emplace_back(item, name);
  for (const From<vision::ImageView>& picture : pictures) views.push_back(picture.get());
}

void Written::open(nb::handle object, const char* name) {
  object_ = object;
  if (is_var(object)) {
    const Guard guard;
    const Tensor& value = computed(var_of(object));
    tensor_ = value.clone();
    view_ = vision::MutableImageView(tensor_.writable());
    return;
  }
  view_ = picture_in(memory_.emplace(object, PyBUF_FULL));
  if (view_) return;
  const std::optional<ForeignArray> array = writable_array_of_buffer(object);
  if (!array) throw TypeFault("{} takes a picture that may be written, not {}", name, kind_name(object));
  throw InvalidArgument(
      "{}: the picture that is written is [height, width] or [height, width, channels], with the pixels of a row side by side; this is "
      "{}{}",
      name, array->dtype, array->shape);
}

void Written::done() {
  if (!is_var(object_)) return;
  const Guard guard;
  var_of(object_).assign(Var(std::move(tensor_)));
}

nb::object to_python(const std::vector<vision::Point>& points) {
  Tensor tensor(DType::i32, Shape{static_cast<int64_t>(points.size()), 2});
  int32_t* to = tensor.writable().data<int32_t>();
  for (const vision::Point& point : points) *to++ = point.x, *to++ = point.y;
  return to_python(std::move(tensor));
}

nb::object to_python(Tensor tensor) {
  if (!tensor) return nb::none();
  if (arrays_at_once()) return to_writable_numpy(tensor.owner().use_count() == 1 ? tensor : Tensor(tensor.view()));
  const Guard guard;
  Var x(std::move(tensor));
  express::output_of(express::Access::cell(x)->value).memory_is_ours = true;
  return nb::cast(std::move(x));
}

namespace {

struct Defined {
  Definition definition;
  PyMethodDef method;
};

PyObject* call_defined(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  const Definition& definition = static_cast<const Defined*>(PyCapsule_GetPointer(self, nullptr))->definition;
  try {
    if (static_cast<size_t>(count) != definition.names.size())
      throw TypeFault("{}() takes {} arguments, not {}", definition.name, definition.names.size(), count);
    return definition.call(definition.function, {arguments, definition.names.data()}).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace

// A function of Python's own: nanobind makes a tuple of arguments first, some 150 ns.
void define(nb::module_& m, Definition definition) {
  auto made = std::make_unique<Defined>(Defined{std::move(definition), {}});
  made->method = {made->definition.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_defined)), METH_FASTCALL, nullptr};
  PyMethodDef* const method = &made->method;
  const char* const name = made->definition.name;
  const nb::object held = nb::steal(
      PyCapsule_New(made.get(), nullptr, [](PyObject* capsule) { delete static_cast<Defined*>(PyCapsule_GetPointer(capsule, nullptr)); }));
  if (!held.is_valid()) nb::raise_python_error();
  made.release();
  const nb::object function = nb::steal(PyCFunction_NewEx(method, held.ptr(), nullptr));
  if (!function.is_valid()) nb::raise_python_error();
  nb::setattr(m, name, function);
}

}  // namespace minnow::python

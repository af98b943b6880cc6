// SPDX-License-Identifier: Apache-2.0
// Functions of <minnow/vision.h> as functions of the submodule minnow._minnow.vision, which minnow.cv is made of:
//
//   define(m, "blur", vision::blur, {"src", "ksize", "anchor", "borderType", "dst"});
//
// Each takes exactly these arguments, by position; minnow.cv has OpenCV's signatures and their defaults. Arguments become what the C++
// function takes, else InvalidType names the argument. A C++ function runs with the GIL released. A picture is an array of NumPy, or
// another object with the buffer protocol, or a Var; it is not copied where the elements of its rows lie side by side, except i64. A
// MutableImageView is written in place; a Var then has another value. An Output is None, or takes the result if it fits, and is then what
// the function gives.
#pragma once
#include <minnow/vision.h>

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "buffers.h"

namespace minnow::python {

// ---- From Python

/// Holds an argument of type T while the function runs. `get()`: the argument.
template <class T, class = void>
struct From;

template <class T>
struct From<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
  T value;
  From(nb::handle object, const char* name)
      : value(argument<T>(object, name,
                          std::is_same_v<T, bool> ? "a bool"
                          : std::is_integral_v<T> ? "an integer"
                                                  : "a number")) {}
  T get() const { return value; }
};
/// bool of anything, as C++ code of OpenCV's takes it.
template <>
struct From<bool> {
  bool value;
  From(nb::handle object, const char*) : value(PyObject_IsTrue(object.ptr()) == 1) { PyErr_Clear(); }
  bool get() const { return value; }
};
template <class T>
struct From<T, std::enable_if_t<std::is_enum_v<T>>> : From<std::underlying_type_t<T>> {
  using From<std::underlying_type_t<T>>::From;
  T get() const { return static_cast<T>(this->value); }
};
template <>
struct From<std::string> {
  std::string value;
  From(nb::handle object, const char* name) : value(argument<std::string>(object, name, "a text")) {}
  const std::string& get() const { return value; }
};

template <>
struct From<std::vector<std::string>> {
  std::vector<std::string> value;
  From(nb::handle object, const char* name) {
    if (PyUnicode_Check(object.ptr()) || !PySequence_Check(object.ptr()))
      throw TypeFault("{} takes a list of texts, not {}", name, shown(object));
    const nb::object items = nb::borrow(object);
    for (nb::handle item : items) value.push_back(argument<std::string>(item, name, "texts"));
  }
  const std::vector<std::string>& get() const { return value; }
};

/// Numbers of a tuple, a list or an array: at least `least` and at most `most`.
std::vector<double> numbers_of(nb::handle object, const char* name, size_t least, size_t most);

template <>
struct From<vision::Size> {
  vision::Size value;
  From(nb::handle object, const char* name);
  vision::Size get() const { return value; }
};
template <>
struct From<vision::Point> {
  vision::Point value;
  From(nb::handle object, const char* name);
  vision::Point get() const { return value; }
};
template <>
struct From<vision::Point2d> {
  vision::Point2d value;
  From(nb::handle object, const char* name);
  vision::Point2d get() const { return value; }
};
template <>
struct From<vision::Rect> {
  vision::Rect value;
  From(nb::handle object, const char* name);
  vision::Rect get() const { return value; }
};
/// A number, or up to four of them; the others are 0. None: all are 0.
template <>
struct From<vision::Scalar4> {
  vision::Scalar4 value{};
  From(nb::handle object, const char* name);
  const vision::Scalar4& get() const { return value; }
};
template <>
struct From<std::vector<double>> {
  std::vector<double> value;
  From(nb::handle object, const char* name) : value(numbers_of(object, name, 0, size_t(1) << 20)) {}
  const std::vector<double>& get() const { return value; }
};
template <>
struct From<std::vector<int>> {
  std::vector<int> value;
  From(nb::handle object, const char* name);
  const std::vector<int>& get() const { return value; }
};

/// Points of integers, i32 or i64 [n, 2], [n, 1, 2] or [1, n, 2].
template <>
struct From<std::vector<vision::Point>> {
  std::vector<vision::Point> value;
  From(nb::handle object, const char* name);
  const std::vector<vision::Point>& get() const { return value; }
};
/// A list of such points, or an array whose parts they are.
template <>
struct From<std::vector<std::vector<vision::Point>>> {
  std::vector<std::vector<vision::Point>> value;
  From(nb::handle object, const char* name);
  const std::vector<std::vector<vision::Point>>& get() const { return value; }
};

/// A tensor of anything that a Var is made of; shared where possible. i64 becomes i32, as in OpenCV; here and below, a number beyond that
/// is InvalidArgument.
template <>
struct From<Tensor> {
  Tensor value;
  From(nb::handle object, const char* name);
  const Tensor& get() const { return value; }
};
template <>
struct From<TensorView> : From<Tensor> {
  using From<Tensor>::From;
  TensorView get() const { return value; }
};
/// A tensor of f32, into which other numbers are converted; shared where possible.
struct Floats {
  Tensor value;
  operator TensorView() const { return value; }  // NOLINT(google-explicit-constructor)
  /// Without axes of length 1 before the last `rank` ones, such as that of a batch.
  Tensor of_rank(size_t rank) const;
};
template <>
struct From<Floats> {
  Floats value;
  From(nb::handle object, const char* name);
  const Floats& get() const { return value; }
};
/// DType::undefined: None.
template <>
struct From<DType> {
  DType value;
  From(nb::handle object, const char* name);
  DType get() const { return value; }
};

/// None: no picture (an empty view).
template <>
struct From<vision::ImageView> {
  vision::ImageView view;
  From(nb::handle object, const char* name);
  const vision::ImageView& get() const { return view; }

 private:
  std::optional<BufferView> memory_;
  Tensor copy_;  // of what lies otherwise
};
/// A list, or an array whose parts along the first axis are the pictures.
template <>
struct From<std::vector<vision::ImageView>> {
  std::deque<From<vision::ImageView>> pictures;
  std::vector<vision::ImageView> views;
  From(nb::handle object, const char* name);
  const std::vector<vision::ImageView>& get() const { return views; }
};

/// Memory that is written: of an object that exports it for writing, or a copy that becomes the value of a Var.
class Written {
 public:
  const vision::MutableImageView& view() const { return view_; }
  nb::handle object() const { return object_; }
  /// To be called with the GIL when the function has run.
  void done();

 protected:
  /// A Var's contents are copied into the memory first: a mask leaves parts of them.
  void open(nb::handle object, const char* name);
  nb::handle object_;
  vision::MutableImageView view_;

 private:
  std::optional<BufferView> memory_;
  Tensor tensor_;  // of a Var
};
template <>
struct From<vision::MutableImageView> : Written {
  From(nb::handle object, const char* name) { open(object, name); }
  const vision::MutableImageView& get() const { return view_; }
};
template <>
struct From<vision::Output> : Written {
  From(nb::handle object, const char* name) {
    if (!object.is_none()) open(object, name);
  }
  vision::Output get() const { return view_ ? vision::Output(view_, vision::Output::Fit::or_new) : vision::Output(); }
};
template <class T>
struct From<std::optional<T>> {
  std::optional<From<T>> value;
  From(nb::handle object, const char* name) {
    if (!object.is_none()) value.emplace(object, name);
  }
  std::optional<T> get() const { return value ? std::optional<T>(value->get()) : std::nullopt; }
};

// ---- To Python

/// i32 [n, 2].
nb::object to_python(const std::vector<vision::Point>& points);
/// A Var that owns its memory, so that minnow.cv can give the memory as an array; or that array (arrays_at_once()).
nb::object to_python(Tensor tensor);
inline nb::object to_python(bool value) { return nb::bool_(value); }
inline nb::object to_python(double value) { return nb::float_(value); }
inline nb::object to_python(int value) { return nb::int_(value); }
inline nb::object to_python(int64_t value) { return nb::int_(value); }
inline nb::object to_python(const std::string& value) { return nb::str(value.c_str(), value.size()); }
inline nb::object to_python(const vision::Size& value) { return nb::make_tuple(value.width, value.height); }
inline nb::object to_python(const vision::Point& value) { return nb::make_tuple(value.x, value.y); }
inline nb::object to_python(const vision::Point2d& value) { return nb::make_tuple(value.x, value.y); }
inline nb::object to_python(const vision::Rect& value) { return nb::make_tuple(value.x, value.y, value.width, value.height); }
inline nb::object to_python(const vision::Scalar4& value) { return nb::make_tuple(value[0], value[1], value[2], value[3]); }
template <class T>
nb::object to_python(std::vector<T> values) {
  nb::list list;
  for (T& value : values) list.append(to_python(std::move(value)));
  return nb::tuple(list);
}
template <class... T>
nb::object to_python(std::tuple<T...> values) {
  return std::apply([](T&... value) -> nb::object { return nb::make_tuple(to_python(std::move(value))...); }, values);
}
template <class A, class B>
nb::object to_python(std::pair<A, B> values) {
  return nb::make_tuple(to_python(std::move(values.first)), to_python(std::move(values.second)));
}

// ---- Definitions

template <class T>
inline constexpr bool kIsWritten = std::is_base_of_v<Written, From<T>>;

/// Arguments as Python gave them.
struct Given {
  PyObject* const* arguments;
  const char* const* names;
};

template <size_t I, class T>
struct Held {
  From<T> value;
  explicit Held(const Given& given) : value(nb::handle(given.arguments[I]), given.names[I]) {}
};
template <class Indices, class... T>
struct AllHeld;
template <size_t... I, class... T>
struct AllHeld<std::index_sequence<I...>, T...> : Held<I, T>... {
  explicit AllHeld(const Given& given) : Held<I, T>(given)... {}
};

/// A function of one signature, called with what Python gave.
template <class R, class... Args, size_t... I>
nb::object call(R (*function)(Args...), const Given& given, std::index_sequence<I...> indices) {
  AllHeld<std::index_sequence<I...>, std::remove_cvref_t<Args>...> held(given);
  static_cast<void>(indices);
  nb::handle filled;  // the destination that took the result
  const auto done = [&](auto& one) {
    if constexpr (std::is_base_of_v<Written, std::remove_cvref_t<decltype(one)>>) {
      if (one.view()) one.done(), filled = one.object();
    }
  };
  if constexpr (std::is_void_v<R>) {
    {
      const nb::gil_scoped_release release;
      function(static_cast<Held<I, std::remove_cvref_t<Args>>&>(held).value.get()...);
    }
    (done(static_cast<Held<I, std::remove_cvref_t<Args>>&>(held).value), ...);
    return nb::borrow(filled.is_valid() ? filled : nb::handle(Py_None));
  } else {
    auto result = [&] {
      const nb::gil_scoped_release release;
      return function(static_cast<Held<I, std::remove_cvref_t<Args>>&>(held).value.get()...);
    }();
    if constexpr (std::is_same_v<R, Tensor>) {
      if (result) return to_python(std::move(result));  // no destination, or one that did not fit
    }
    (done(static_cast<Held<I, std::remove_cvref_t<Args>>&>(held).value), ...);
    if constexpr (std::is_same_v<R, Tensor>)
      return nb::borrow(filled.is_valid() ? filled : nb::handle(Py_None));
    else
      return to_python(std::move(result));
  }
}

/// A function whatever its signature, so that Python's side of it is compiled once.
struct Definition {
  const char* name;
  std::vector<const char*> names;
  void (*function)();
  nb::object (*call)(void (*function)(), const Given& given);
};
void define(nb::module_& m, Definition definition);

template <class R, class... Args>
void define(nb::module_& m, const char* name, R (*function)(Args...), const std::array<const char*, sizeof...(Args)>& names) {
  define(m, {name, {names.begin(), names.end()}, reinterpret_cast<void (*)()>(function), [](void (*erased)(), const Given& given) {
               return call(reinterpret_cast<R (*)(Args...)>(erased), given, std::index_sequence_for<Args...>());
             }});
}

// The groups, one file each.
void define_arithmetic(nb::module_& m);
void define_calibration(nb::module_& m);
void define_codecs(nb::module_& m);
void define_color(nb::module_& m);
void define_detection(nb::module_& m);
void define_drawing(nb::module_& m);
void define_filters(nb::module_& m);
void define_geometry(nb::module_& m);
void define_model_input(nb::module_& m);
void define_structure(nb::module_& m);
void define_truetype(nb::module_& m);

}  // namespace minnow::python

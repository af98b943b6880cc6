// SPDX-License-Identifier: Apache-2.0
// dtype objects: minnow.float32 and its like, with NumPy's names.

#include <array>
#include <bit>

#include "base/nearest.h"
#include "binding.h"
#include "express/node.h"

namespace minnow::python {
namespace {

struct DTypeObject {
  DType value;
};

struct Row {
  DType dtype;
  const char* name;  // NumPy's, or ml_dtypes'
  char kind;         // as numpy.dtype.kind
  char letter;       // as numpy.dtype.char; V for dtypes that NumPy lacks
};
constexpr Row kRows[] = {
    {DType::boolean, "bool", 'b', '?'},
    {DType::i8, "int8", 'i', 'b'},
    {DType::i16, "int16", 'i', 'h'},
    {DType::i32, "int32", 'i', 'i'},
    {DType::i64, "int64", 'i', 'l'},
    {DType::u8, "uint8", 'u', 'B'},
    {DType::u16, "uint16", 'u', 'H'},
    {DType::u32, "uint32", 'u', 'I'},
    {DType::u64, "uint64", 'u', 'L'},
    {DType::f16, "float16", 'f', 'e'},
    {DType::bf16, "bfloat16", 'f', 'V'},
    {DType::f32, "float32", 'f', 'f'},
    {DType::f64, "float64", 'f', 'd'},
    {DType::complex64, "complex64", 'c', 'F'},
    {DType::complex128, "complex128", 'c', 'D'},
    {DType::f8e4m3fn, "float8_e4m3fn", 'f', 'V'},
    {DType::f8e5m2, "float8_e5m2", 'f', 'V'},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", 'f', 'V'},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", 'f', 'V'},
    {DType::f8e8m0, "float8_e8m0fnu", 'f', 'V'},
    {DType::f4e2m1, "float4_e2m1fn", 'f', 'V'},
    {DType::i4, "int4", 'i', 'V'},
    {DType::u4, "uint4", 'u', 'V'},
    {DType::i2, "int2", 'i', 'V'},
    {DType::u2, "uint2", 'u', 'V'},
    {DType::string, "str", 'U', 'V'},
};
constexpr size_t kMost = 32;
std::array<PyObject*, kMost> objects{};

const Row& row_of(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return row;
  throw InvalidArgument("a value of dtype {} has no meaning in Python", dtype);
}

DType from_name(const std::string& given) {
  // "<f4": every tensor has the byte order of the machine.
  const bool ordered =
      given.size() > 2 && (given[0] == '=' || given[0] == '|' || given[0] == (std::endian::native == std::endian::little ? '<' : '>'));
  const std::string name = given.substr(ordered ? 1 : 0);
  for (const Row& row : kRows)
    if (name == row.name) return row.dtype;
  if (name == "bool_" || name == "b1") return DType::boolean;
  // NumPy's codes: a kind and bytes, or a letter. In Python they win over Minnow's own short names ("i8" is int64).
  for (const Row& row : kRows)
    if (row.letter != 'V' && (name == std::string(1, row.letter) || name == format("{}{}", std::string(1, row.kind), size_of(row.dtype))))
      return row.dtype;
  if (name == "q" || name == "int" || name == "int_" || name == "intp" || name == "long" || name == "longlong") return DType::i64;
  if (name == "Q" || name == "uint" || name == "uintp") return DType::u64;
  if (name == "half") return DType::f16;
  if (name == "single") return DType::f32;
  if (name == "float" || name == "double") return DType::f64;
  if (name == "complex") return DType::complex128;
  return dtype_from_name(name);
}

constexpr const char* kOrder = std::endian::native == std::endian::little ? "<" : ">";
/// The alignment of a complex number is that of its parts.
constexpr size_t alignof_part(size_t size) { return size / 2; }

// Undefined where the object names no dtype.
DType find(nb::handle object) {
  if (nb::isinstance<DTypeObject>(object)) return nb::inst_ptr<DTypeObject>(object)->value;
  if (nb::isinstance<nb::str>(object)) return from_name(nb::cast<std::string>(object));
  if (object.is(&PyBool_Type)) return DType::boolean;
  if (object.is(&PyLong_Type)) return DType::i64;
  if (object.is(&PyFloat_Type)) return DType::f64;
  if (object.is(&PyComplex_Type)) return DType::complex128;
  // numpy.dtype has a name; numpy.float32 is a class of that name; torch.float32 is printed so.
  if (PyType_Check(object.ptr())) return from_name(nb::cast<std::string>(nb::str(object.attr("__name__"))));
  if (nb::hasattr(object, "name")) {
    const nb::object name = object.attr("name");
    if (nb::isinstance<nb::str>(name)) return from_name(nb::cast<std::string>(name));
  }
  const std::string text = nb::cast<std::string>(nb::str(object));
  return text.starts_with("torch.") ? from_name(text.substr(6)) : DType::undefined;
}

}  // namespace

nb::object dtype_object(DType dtype) {
  row_of(dtype);
  return nb::borrow(objects[static_cast<size_t>(dtype)]);
}

DType dtype_from(nb::handle object) {
  const DType dtype = find(object);
  std::string name;
  if (dtype == DType::undefined && PyUnicode_Check(object.ptr()) && nb::try_cast(object, name)) {
    std::vector<std::string> names;
    for (const Row& row : kRows) names.emplace_back(row.name);
    throw TypeFault("{} is no dtype{}", shown(object), nearest(name, names));
  }
  if (dtype == DType::undefined)
    throw TypeFault(
        "{} is no dtype; there are bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, complex64 and complex128",
        nb::cast<std::string>(nb::repr(object)));
  return dtype;
}

void define_dtype(nb::module_& m) {
  nb::class_<DTypeObject>(m, "dtype",
                          "The type of the elements of a Var. It equals its name, and NumPy's dtype and scalar type of that name.")
      .def(
          "__init__", [](DTypeObject* self, nb::handle object) { new (self) DTypeObject{dtype_from(object)}; }, nb::arg("dtype"))
      .def_prop_ro(
          "name", [](const DTypeObject& self) { return row_of(self.value).name; }, "NumPy's name: \"float32\".")
      .def_prop_ro(
          "kind", [](const DTypeObject& self) { return std::string(1, row_of(self.value).kind); }, "As numpy.dtype.kind: b, i, u, f or c.")
      .def_prop_ro(
          "char", [](const DTypeObject& self) { return std::string(1, row_of(self.value).letter); }, "As numpy.dtype.char: f, d, l, B ...")
      .def_prop_ro(
          "dtype", [](const DTypeObject& self) { return nb::module_::import_("numpy").attr("dtype")(row_of(self.value).name); },
          "NumPy's dtype of that name, by which NumPy's functions take this one; TypeError for those that it lacks.")
      .def_prop_ro(
          "itemsize", [](const DTypeObject& self) { return size_of(self.value); }, "Bytes of an element.")
      .def(
          "__call__",
          [](nb::handle object, nb::handle value) {
            const DType dtype = nb::cast<const DTypeObject&>(object).value;
            if (row_of(dtype).kind == 'c') return nb::cast<Var>(nb::module_::import_("minnow.numpy").attr("array")(value, object));
            if (is_var(value)) {
              const Guard guard;
              const Var& x = var_of(value);
              if (x.is_tensor() && express::value_of(x).node->keeps_inputs && row_of(x.dtype()).kind != 'c')
                return x.dtype() == dtype ? expr::op("Identity", {x}) : x.astype(dtype);
            }
            return Var(tensor_from(value, dtype, Sharing::where_possible));
          },
          nb::arg("value"), "A Var of this dtype.")
      .def(
          "__eq__", [](const DTypeObject& self, nb::handle other) { return !other.is_none() && find(other) == self.value; },
          nb::arg().none())
      // As NumPy hashes the dtype that this one equals: by kind, byte order, flags, size and alignment.
      .def("__hash__",
           [](const DTypeObject& self) {
             const Row& row = row_of(self.value);
             const size_t size = size_of(row.dtype), alignment = row.kind == 'c' ? alignof_part(size) : size;
             const bool ordered = row.letter == 'V' || size > 1;
             const char kind = row.letter == '?' ? 'b' : row.kind;
             const nb::tuple parts = nb::make_tuple(nb::bytes(&kind, 1), nb::bytes(ordered ? kOrder : "|", 1), 0, size, alignment);
             return PyObject_Hash(parts.ptr());
           })
      .def("__str__", [](const DTypeObject& self) { return row_of(self.value).name; })
      .def("__repr__", [](const DTypeObject& self) { return format("minnow.{}", row_of(self.value).name); })
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple(self.attr("name"))); });
  for (const Row& row : kRows) {
    nb::object made = nb::cast(DTypeObject{row.dtype});
    objects[static_cast<size_t>(row.dtype)] = nb::object(made).release().ptr();
    m.attr(row.name) = made;
  }
  m.def(
      "promote",
      [](nb::handle a, nb::handle b) {
        const auto weak = [](nb::handle x) { return PyBool_Check(x.ptr()) || PyLong_Check(x.ptr()) || PyFloat_CheckExact(x.ptr()); };
        const auto number = [](nb::handle x) {
          return PyBool_Check(x.ptr()) ? Scalar(true) : PyLong_Check(x.ptr()) ? Scalar(0) : Scalar(0.0);
        };
        if (weak(b)) return dtype_object(promote(dtype_from(a), number(b)));
        if (weak(a)) return dtype_object(promote(dtype_from(b), number(a)));
        return dtype_object(promote(dtype_from(a), dtype_from(b)));
      },
      nb::arg("a"), nb::arg("b"),
      "NumPy 2's result_type of two dtypes, or of a dtype and a number of Python, which is weak.\n\n"
      "Raises InvalidType (a TypeError) for what is no dtype.");
}

}  // namespace minnow::python

// SPDX-License-Identifier: Apache-2.0
// A call of any operator; the functions of minnow.expr, which are generated, are one line over it.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "binding.h"
#include "express/node.h"

namespace minnow::python {
namespace {

bool is_weak(nb::handle object) {
  return PyBool_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyFloat_CheckExact(object.ptr()) || PyList_Check(object.ptr()) ||
         PyTuple_Check(object.ptr());
}

/// The dtype that numbers of Python take as an input: that of the input that it must be like, else their own, else one that the operator
/// takes.
DType dtype_beside(const InputSpec& spec, DType like, DType own) {
  if (like != DType::undefined && (is_float(like) || !is_float(own))) return like;
  if (contains(spec.dtypes, own)) return own;
  if (is_float(own)) return contains(spec.dtypes, DType::f32) ? DType::f32 : own;
  for (const DType dtype : {DType::i64, DType::i32, DType::f32, DType::f64})
    if (contains(spec.dtypes, dtype)) return dtype;
  return own;
}

Vars inputs_from(const Operator& op, nb::handle given) {
  Vars inputs;
  std::vector<std::pair<size_t, nb::object>> weak;
  for (nb::handle item : given) {
    if (!item.is_none() && !is_var(item) && is_weak(item)) {
      weak.emplace_back(inputs.size(), nb::borrow(item));
      inputs.emplace_back();
    } else {
      inputs.push_back(optional_var_from(item));
    }
  }
  const auto spec_at = [&](size_t i) { return op.inputs.empty() ? nullptr : &op.inputs[std::min(i, op.inputs.size() - 1)]; };
  const auto group = [](const InputSpec& spec) { return spec.like.empty() ? spec.name : spec.like; };
  std::vector<std::pair<size_t, Var>> made;
  for (const auto& [i, object] : weak) {
    const InputSpec* spec = spec_at(i);
    DType like = DType::undefined;
    if (spec)
      for (size_t k = 0; k < inputs.size(); ++k)
        if (inputs[k].has_value() && group(*spec_at(k)) == group(*spec)) {
          like = inputs[k].dtype();
          break;
        }
    const Tensor own = tensor_from(object, DType::undefined, Sharing::copy);
    const DType dtype = spec ? dtype_beside(*spec, like, own.dtype()) : own.dtype();
    made.emplace_back(i, dtype == own.dtype() ? Var(own) : Var(tensor_from(object, dtype, Sharing::copy)));
  }
  for (auto& [i, var] : made) inputs[i] = std::move(var);
  while (!inputs.empty() && !inputs.back().has_value()) inputs.pop_back();
  return inputs;
}

int64_t integer_from(nb::handle value) {
  if (PyIndex_Check(value.ptr())) {
    const nb::object integer = nb::steal(PyNumber_Index(value.ptr()));
    if (!integer.is_valid()) nb::raise_python_error();
    return nb::cast<int64_t>(integer);
  }
  return static_cast<int64_t>(dtype_from(value));  // an attribute that names a dtype
}
float real_from(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred()) nb::raise_python_error();
  return static_cast<float>(number);
}

template <class T, class F>
std::vector<T> list_from(nb::handle value, F&& one) {
  std::vector<T> list;
  if (nb::isinstance<nb::str>(value)) throw TypeFault("a list is expected");
  for (nb::handle item : value) list.push_back(one(item));
  return list;
}
std::string text_from(nb::handle value) {
  if (!nb::isinstance<nb::str>(value)) throw TypeFault("a text is expected");
  return nb::cast<std::string>(value);
}

expr::Attribute attribute_from(AttributeKind kind, nb::handle value) {
  switch (kind) {
    case AttributeKind::integer:
      return integer_from(value);
    case AttributeKind::real:
      return real_from(value);
    case AttributeKind::text:
      return text_from(value);
    case AttributeKind::tensor:
      return tensor_from(value, DType::undefined, Sharing::copy);
    case AttributeKind::integers:
      return list_from<int64_t>(value, integer_from);
    case AttributeKind::reals:
      return list_from<float>(value, real_from);
    case AttributeKind::texts:
      return list_from<std::string>(value, text_from);
    default:
      throw TypeFault("an attribute of this kind is given by cond(), while_loop() and scan() alone");
  }
}

/// The kind of an attribute of a custom operator, derived from its value, because custom operators do not declare attributes.
AttributeKind kind_of(nb::handle value) {
  PyObject* o = value.ptr();
  if (PyUnicode_Check(o)) return AttributeKind::text;
  if (PyIndex_Check(o) && !is_var(value)) return AttributeKind::integer;
  if (PyFloat_Check(o)) return AttributeKind::real;
  if (PyList_Check(o) || PyTuple_Check(o)) {
    bool integers = true;
    for (nb::handle item : value) {
      if (PyUnicode_Check(item.ptr())) return AttributeKind::texts;
      integers &= PyIndex_Check(item.ptr()) != 0;
    }
    return integers ? AttributeKind::integers : AttributeKind::reals;
  }
  return AttributeKind::tensor;
}

constexpr const char* kKindNames[] = {"an integer", "a number", "a text", "an array", "a graph", "integers", "numbers", "texts", "a type"};

Vars call(const std::string& name, nb::handle given, size_t outputs, const nb::dict& options) {
  std::shared_ptr<const OperatorSet> operators;
  const Operator& op = express::find_operator(name, operators);
  expr::Attributes attributes;
  for (const auto& [key, value] : options) {
    if (value.is_none()) continue;
    const std::string attribute = nb::cast<std::string>(key);
    if (op.custom) {
      attributes.emplace_back(attribute, attribute_from(kind_of(value), value));
      continue;
    }
    const auto spec = std::find_if(op.attributes.begin(), op.attributes.end(), [&](const AttributeSpec& s) { return s.name == attribute; });
    if (spec == op.attributes.end()) {
      std::vector<std::string> names;
      for (const AttributeSpec& s : op.attributes) names.emplace_back(s.name);
      throw TypeFault("{} has no attribute \"{}\"{}", name, attribute, nearest(attribute, names));
    }
    // An equal default is left out, so that all ways to write one thing share a plan.
    if (spec->has_default && spec->kind == AttributeKind::text && nb::isinstance<nb::str>(value) &&
        nb::cast<std::string>(value) == spec->default_text)
      continue;
    try {
      expr::Attribute made = attribute_from(spec->kind, value);
      if (spec->has_default &&
          ((spec->kind == AttributeKind::integer && std::get<int64_t>(made) == static_cast<int64_t>(spec->default_number)) ||
           (spec->kind == AttributeKind::real && std::get<float>(made) == static_cast<float>(spec->default_number))))
        continue;
      attributes.emplace_back(attribute, std::move(made));
    } catch (const std::exception&) {
      PyErr_Clear();
      throw TypeFault("the attribute \"{}\" of {} takes {}, not {}", attribute, name, kKindNames[static_cast<size_t>(spec->kind)],
                      nb::cast<std::string>(nb::repr(value)));
    }
  }
  Vars inputs = inputs_from(op, given);
  if (!attributes.empty() || op.custom || outputs != 1 || inputs.size() > 4) return expr::ops(name, std::move(inputs), outputs, attributes);
  std::array<express::LazyValue, 4> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[i] = express::value_of(std::move(inputs[i]));
  return {express::var_of(express::call(op, std::span<const express::LazyValue>(values.data(), inputs.size())))};
}

}  // namespace

void define_operators(nb::module_& m) {
  m.def(
      "op",
      [](nb::handle name, nb::handle inputs, const nb::dict& attributes) {
        const Guard guard;
        return std::move(call(argument<std::string>(name, "name", "a text"), inputs, 1, attributes)[0]);
      },
      nb::arg("name").none(), nb::arg("inputs").none(), nb::arg("attributes") = nb::dict());
  m.def(
      "ops",
      [](nb::handle name, nb::handle inputs, nb::handle count, const nb::dict& attributes) {
        const int64_t outputs = argument<int64_t>(count, "outputs", "an integer");
        if (outputs < 1 || outputs > 4096) throw InvalidArgument("an operator cannot give {} outputs", outputs);
        const Guard guard;
        return call(argument<std::string>(name, "name", "a text"), inputs, static_cast<size_t>(outputs), attributes);
      },
      nb::arg("name").none(), nb::arg("inputs").none(), nb::arg("outputs").none(), nb::arg("attributes") = nb::dict());
  m.def("operators", [] {
    std::vector<std::string> names;
    for (const Operator* op : OperatorSet::builtin().list()) names.emplace_back(op->name);
    return names;
  });
}

}  // namespace minnow::python

// SPDX-License-Identifier: Apache-2.0
// The package's public functions are called through objects of this class, for two reasons. If a call has an unknown keyword, the error
// suggests the intended one (CPython 3.13 does so itself). If arrays of NumPy but no Vars are among the arguments, results become arrays of
// NumPy. Otherwise the object is transparent: it has the function's attributes, signature and source, binds as a method, and is pickled by
// name. A call costs some 30 ns more.
#include <Python.h>

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/nearest.h"
#include "binding.h"
#include "express/node.h"
#include "functions.h"
#include "tracing.h"

namespace minnow::python {
namespace {

struct Function {
  PyObject_HEAD  // NOLINT
      vectorcallfunc call;
  PyObject *wrapped, *attributes, *weak_references;
  bool arrays;   // results are arrays of NumPy where arguments are
  bool method;   // the first argument is the method's object, which does not affect the results' type
  bool at_once;  // functions of pictures that it calls give arrays, too
};
Function* function_of(PyObject* self) { return reinterpret_cast<Function*>(self); }

/// The names that a function takes by keyword; empty if it takes any.
std::vector<std::string> keywords_of(nb::handle function) {
  constexpr long kVarKeywords = 0x08;
  const nb::object code = function.attr("__code__");
  if (nb::cast<long>(code.attr("co_flags")) & kVarKeywords) return {};
  const auto positional = nb::cast<size_t>(code.attr("co_posonlyargcount")),
             count = nb::cast<size_t>(code.attr("co_argcount")) + nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  std::vector<std::string> names;
  size_t at = 0;
  for (nb::handle name : code.attr("co_varnames")) {
    if (at >= positional && at < count) names.push_back(nb::cast<std::string>(name));
    ++at;
  }
  return names;
}

bool needs_suggestions = true;  // CPython 3.13 names the nearest keyword itself

/// Adds the nearest names to the pending TypeError of a call that never began: it has no traceback.
void suggest(PyObject* wrapped, PyObject* keywords) noexcept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  bool done = false;
  if (!trace && type == PyExc_TypeError && value && needs_suggestions) {
    try {
      const std::vector<std::string> known = keywords_of(wrapped);
      const nb::tuple given = nb::borrow<nb::tuple>(keywords);
      for (nb::handle keyword : given) {
        const std::string name = nb::cast<std::string>(keyword);
        if (known.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
        std::vector<std::string> offered = known;
        std::erase(offered, "self");
        const nb::object text = nb::steal(PyObject_Str(value));
        const std::string sentence = nb::cast<std::string>(text) + nearest(name, offered);
        PyErr_SetObject(nb::module_::import_("minnow._minnow").attr("InvalidType").ptr(), nb::str(sentence.c_str()).ptr());
        done = true;
        break;
      }
    } catch (...) {
      PyErr_Clear();
    }
  }
  if (!done) {
    PyErr_Restore(type, value, trace);
    return;
  }
  Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
}

// ---- Arrays of NumPy in, arrays of NumPy out

/// The depth of calls of the package's functions on this thread. Inner calls must return Vars, so only the outermost returns arrays.
thread_local int depth = 0;
thread_local bool at_once = false;

PyObject *array_type = nullptr, *array_types = nullptr;  // ndarray, and (ndarray, inexact), once NumPy was imported

/// The kind of results that an argument asks for.
enum class Says : uint8_t { nothing, array, var };

/// Whether an argument is an array of NumPy, or a Var, itself or within lists. NumPy's integers do not count: they may be sizes or axes.
Says said_by(PyObject* argument, int nested) noexcept {
  PyTypeObject* const type = Py_TYPE(argument);
  if (type == var_type) return Says::var;
  if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBool_Type || argument == Py_None)
    return Says::nothing;
  if (type == &PyList_Type || type == &PyTuple_Type) {
    Says found = Says::nothing;
    const bool list = type == &PyList_Type;
    for (Py_ssize_t i = 0; nested < 8 && i < (list ? PyList_Size(argument) : PyTuple_Size(argument)); ++i) {
      PyObject* const item = list ? PyList_GetItem(argument, i) : PyTuple_GetItem(argument, i);
      const Says says = item ? said_by(item, nested + 1) : Says::nothing;
      if (says == Says::var) return says;
      if (says == Says::array) found = says;
    }
    return found;
  }
  if (reinterpret_cast<PyObject*>(type) == array_type) return Says::array;
  if (PyType_IsSubtype(type, var_type)) return Says::var;
  if (!array_types) {
    const nb::object name = nb::steal(PyUnicode_FromString("numpy")), module = nb::steal(PyImport_GetModule(name.ptr()));
    if (!module.is_valid() || module.is_none()) return PyErr_Clear(), Says::nothing;
    const nb::object array = nb::steal(PyObject_GetAttrString(module.ptr(), "ndarray")),
                     inexact = nb::steal(PyObject_GetAttrString(module.ptr(), "inexact"));
    if (!array.is_valid() || !inexact.is_valid()) return PyErr_Clear(), Says::nothing;  // it is being imported
    array_types = PyTuple_Pack(2, array.ptr(), inexact.ptr());
    if (!array_types) return PyErr_Clear(), Says::nothing;
    array_type = nb::object(array).release().ptr();
  }
  const int is = PyObject_IsInstance(argument, array_types);
  if (is < 0) PyErr_Clear();
  return is == 1 ? Says::array : Says::nothing;
}

/// Whether only Vars, numbers and the like are given, so that no function that is called within sees an array: mostly.
bool has_plain(PyObject* const* arguments, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const PyTypeObject* const type = Py_TYPE(arguments[i]);
    if (type != var_type && type != &PyFloat_Type && type != &PyLong_Type && type != &PyBool_Type && type != &PyUnicode_Type &&
        arguments[i] != Py_None)
      return false;
  }
  return true;
}

bool wants_arrays(PyObject* const* arguments, size_t count) noexcept {
  bool wants = false;
  for (size_t i = 0; i < count; ++i) {
    const Says says = said_by(arguments[i], 0);
    if (says == Says::var) return false;
    wants = wants || says == Says::array;
  }
  return wants;
}

}  // namespace

// Vars that depend on a placeholder, a state or a parameter stay Vars.
nb::object to_arrays(nb::handle result) {
  if (is_var(result)) {
    const Var& x = var_of(result);
    {
      const Guard guard;
      const express::LazyValue value = express::value_of(x);
      if (!x.is_tensor() || value.node->fed_by_others || value.node->keeps_inputs) return nb::borrow(result);
    }
    const Guard guard;
    const Tensor& tensor = computed(x);
    const express::LazyValue& value = express::Access::cell(x)->value;
    const bool alone = value.node.use_count() == 1 && express::output_of(value).memory_is_ours && tensor.owner().use_count() == 1;
    return to_writable_numpy(alone ? tensor : Tensor(tensor.view()));
  }
  if (PyList_CheckExact(result.ptr())) {
    nb::list list;
    for (nb::handle item : nb::borrow<nb::list>(result)) list.append(to_arrays(item));
    return list;
  }
  if (!PyTuple_Check(result.ptr())) return nb::borrow(result);
  bool plain = true;
  for (Py_ssize_t i = 0; i < PyTuple_Size(result.ptr()); ++i) {
    const nb::handle item = PyTuple_GetItem(result.ptr(), i);
    plain = plain && !is_var(item) && !PyList_Check(item.ptr()) && !PyTuple_Check(item.ptr());
  }
  if (plain) return nb::borrow(result);
  nb::list items;
  for (nb::handle item : nb::borrow<nb::tuple>(result)) items.append(to_arrays(item));
  if (PyTuple_CheckExact(result.ptr())) return nb::tuple(items);
  return nb::hasattr(result, "_make") ? nb::object(result.attr("_make")(items)) : nb::borrow(result);  // a named tuple
}

namespace {

/// "linalg.det()"
std::string name_of(const Function& own, PyObject* const* arguments) {
  const nb::handle function = own.wrapped;
  const std::string name = nb::cast<std::string>(nb::str(function.attr("__name__")));
  std::string module = nb::cast<std::string>(nb::str(function.attr("__module__")));
  if (own.method) {
    const nb::object held = nb::getattr(nb::handle(arguments[0]), "__name__", nb::none());
    if (!held.is_none()) return nb::cast<std::string>(nb::str(held)) + (name == "__call__" ? "()" : "." + name + "()");
  }
  module = module.substr(module.rfind('.') + 1);
  return (module[0] == '_' || module == "numpy" ? std::string() : module + ".") + name + "()";
}

/// The call where an argument is complex and one has gradients (minnow.numpy._complex); Py_NotImplemented elsewhere. A null result:
/// Python's error is set.
PyObject* call_with_parts(const Function& own, PyObject* const* arguments, size_t given, PyObject* keywords) noexcept {
  try {
    if (!own.arrays || std::none_of(arguments, arguments + given, [](PyObject* argument) { return holds_complex(argument); }))
      return Py_NewRef(Py_NotImplemented);
    const size_t named = keywords ? static_cast<size_t>(PyTuple_Size(keywords)) : 0;
    nb::list positional;
    for (size_t i = 0; i < given - named; ++i) positional.append(nb::borrow(arguments[i]));
    nb::dict options;
    for (size_t i = 0; i < named; ++i)
      options[nb::borrow(PyTuple_GetItem(keywords, static_cast<Py_ssize_t>(i)))] = nb::borrow(arguments[given - named + i]);
    nb::object result =
        nb::module_::import_("minnow.numpy._complex").attr("apply")(nb::handle(own.wrapped), nb::tuple(positional), options);
    return result.release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// The call inside of a function that is differentiated or recorded. A null result: Python's error is set.
PyObject* call_traced(const Function& own, PyObject* const* arguments, size_t count, PyObject* keywords, size_t given) noexcept {
  ++depth;
  nb::object first;  // as it is before the function writes into it
  if (given > 0 && is_var(arguments[0])) {
    const Guard guard;
    const Var& x = var_of(arguments[0]);
    first = x.has_value() ? nb::cast(express::var_of(express::value_of(x))) : nb::none();
  }
  PyObject* result = call_with_parts(own, arguments, given, keywords);
  if (result == Py_NotImplemented) {
    Py_DECREF(result);
    result = PyObject_Vectorcall(own.wrapped, arguments, count, keywords);
  }
  --depth;
  if (!result) return nullptr;
  try {
    std::vector<PyObject*> all(arguments, arguments + given);
    const bool writes = own.arrays && result == Py_None && first.is_valid();  // not update_buffer(), which notes a value for later
    if (first.is_valid()) all[0] = first.ptr();
    check_kept([&] { return name_of(own, arguments); }, own.method ? arguments[0] : own.wrapped, all, writes ? arguments[0] : result);
    return result;
  } catch (...) {
    Py_DECREF(result);
    set_python_error();
    return nullptr;
  }
}

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* keywords) noexcept {
  const Function& own = *function_of(self);
  const size_t given = static_cast<size_t>(PyVectorcall_NARGS(count)) + (keywords ? static_cast<size_t>(PyTuple_Size(keywords)) : 0),
               first = own.method && given > 0 ? 1 : 0;
  if (!trace && has_plain(arguments + first, given - first)) {
    PyObject* const result = PyObject_Vectorcall(own.wrapped, arguments, count, keywords);
    if (!result && keywords) suggest(own.wrapped, keywords);
    return result;
  }
  const bool wants = own.arrays && depth == 0 && wants_arrays(arguments + first, given - first);
  PyObject* result = nullptr;
  if (trace) {
    result = call_traced(own, arguments, count, keywords, given);
  } else {
    const bool before = at_once;
    if (depth == 0) at_once = wants && own.at_once;
    ++depth;
    result = PyObject_Vectorcall(own.wrapped, arguments, count, keywords);
    --depth;
    at_once = before;
  }
  if (!result) {
    if (keywords) suggest(own.wrapped, keywords);
    return nullptr;
  }
  if (!wants) return result;
  try {
    return to_arrays(nb::steal(result)).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject *function_class = nullptr, *method_class = nullptr;

PyObject* get_bound(PyObject* self, PyObject* object, PyObject*) noexcept {
  if (!object || object == Py_None) return Py_NewRef(self);
#ifdef Py_LIMITED_API
  return PyObject_CallFunctionObjArgs(method_class, self, object, nullptr);
#else
  return PyMethod_New(self, object);  // some 50 ns less
#endif
}

/// Attributes that this object lacks come from the function: __code__, __defaults__, __globals__ ...
PyObject* get_attribute(PyObject* self, PyObject* name) noexcept {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(function_of(self)->wrapped, name);
}

PyObject* show(PyObject* self) noexcept { return PyObject_Repr(function_of(self)->wrapped); }

PyObject* reduce(PyObject* self, PyObject*) noexcept { return PyObject_GetAttrString(function_of(self)->wrapped, "__qualname__"); }

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(function_of(self)->wrapped);
  Py_VISIT(function_of(self)->attributes);
  return 0;
}
int clear(PyObject* self) noexcept {
  Py_CLEAR(function_of(self)->wrapped);
  Py_CLEAR(function_of(self)->attributes);
  return 0;
}
void deallocate(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (function_of(self)->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(Function, attributes), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, weak_references), READONLY, nullptr},
                         {"__wrapped__", T_OBJECT_EX, offsetof(Function, wrapped), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
template <class F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}
PyType_Slot slots[] = {{Py_tp_call, slot(PyVectorcall_Call)},
                       {Py_tp_descr_get, slot(get_bound)},
                       {Py_tp_getattro, slot(get_attribute)},
                       {Py_tp_setattro, slot(PyObject_GenericSetAttr)},
                       {Py_tp_repr, slot(show)},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {Py_tp_dealloc, slot(deallocate)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"minnow._minnow.function", sizeof(Function), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
}  // namespace

Outermost::Outermost() noexcept : depth_(std::exchange(depth, 0)), at_once_(std::exchange(at_once, false)) {}
Outermost::~Outermost() { depth = depth_, at_once = at_once_; }

bool arrays_at_once() noexcept { return at_once; }

void define_functions(nb::module_& m) {
  function_class = PyType_FromSpec(&spec);
  if (!function_class) nb::raise_python_error();
  needs_suggestions = nb::cast<long>(nb::module_::import_("sys").attr("hexversion")) < 0x030d0000;
  method_class = nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();  // the stable ABI has no PyMethod_Type
  m.def(
      "gives_arrays", [](nb::handle arguments) { return said_by(arguments.ptr(), 0) == Says::array; }, nb::arg("arguments"),
      "Whether a list of arguments has arrays of NumPy and no Vars.");
  m.def("to_arrays", to_arrays, nb::arg("result").none(), "The result with arrays of NumPy that may be written in place of Vars.");
  m.def(
      "suggesting",
      [](nb::handle function, bool arrays, bool method, bool at_once) {
        const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(function_class), Py_tp_alloc));
        const nb::object made = nb::steal(allocate(reinterpret_cast<PyTypeObject*>(function_class), 0));
        if (!made.is_valid()) nb::raise_python_error();
        Function& own = *function_of(made.ptr());
        own.call = call;
        own.arrays = arrays, own.method = method, own.at_once = at_once;
        own.wrapped = Py_NewRef(function.ptr());
        for (const char* name : {"__module__", "__doc__"}) nb::setattr(made, name, function.attr(name));  // the class has its own
        return made;
      },
      nb::arg("function"), nb::arg("arrays") = false, nb::arg("method") = false, nb::arg("at_once") = false,
      "The function, whose TypeError for a keyword that it does not take names the nearest ones. arrays: it gives arrays of NumPy where "
      "arrays\n"
      "of NumPy, and no Vars, are among its arguments; of a method the object does not count. at_once: functions of _minnow.vision give it "
      "arrays, too, in "
      "such calls.");
}

}  // namespace minnow::python

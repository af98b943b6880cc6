// SPDX-License-Identifier: Apache-2.0
// Functions of Python that say which keyword was meant. CPython 3.13 does so itself; before it a function of the package is called through
// an object of this class, which is in the way of nothing else: it has the function's attributes, signature and source, binds as a method,
// and is pickled by name. A call costs some 20 ns more.
#include <Python.h>

#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "base/nearest.h"
#include "binding.h"

namespace minnow::python {
namespace {

struct Function {
  PyObject_HEAD  // NOLINT
      vectorcallfunc call;
  PyObject *wrapped, *attributes, *weak_references;
};
Function* function_of(PyObject* self) { return reinterpret_cast<Function*>(self); }

/// The names that a function takes by keyword; empty where it takes any.
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

/// Adds the nearest names to the pending TypeError of a call that never began: it has no traceback.
void suggest(PyObject* wrapped, PyObject* keywords) noexcept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  bool done = false;
  if (!trace && type == PyExc_TypeError && value) {
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

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* keywords) noexcept {
  PyObject* const wrapped = function_of(self)->wrapped;
  PyObject* const result = PyObject_Vectorcall(wrapped, arguments, count, keywords);
  if (!result && keywords) suggest(wrapped, keywords);
  return result;
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

void define_functions(nb::module_& m) {
  function_class = PyType_FromSpec(&spec);
  if (!function_class) nb::raise_python_error();
  method_class = nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();  // the stable ABI has no PyMethod_Type
  m.def(
      "suggesting",
      [](nb::handle function) {
        const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(function_class), Py_tp_alloc));
        const nb::object made = nb::steal(allocate(reinterpret_cast<PyTypeObject*>(function_class), 0));
        if (!made.is_valid()) nb::raise_python_error();
        Function& own = *function_of(made.ptr());
        own.call = call;
        own.wrapped = Py_NewRef(function.ptr());
        for (const char* name : {"__module__", "__doc__"}) nb::setattr(made, name, function.attr(name));  // the class has its own
        return made;
      },
      nb::arg("function"), "The function, whose TypeError for a keyword that it does not take names the nearest ones.");
}

}  // namespace minnow::python

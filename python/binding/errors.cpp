// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <typeinfo>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "binding.h"

namespace minnow::python {
namespace {

std::array<PyObject*, 7> kinds{};  // by ErrorKind
PyObject *type_class = nullptr, *index_class = nullptr, *time_limit_class = nullptr;

// Reasons of the system that Python has a class for; any other is an IoError with an errno.
struct Reason {
  int code, other_code;
  const char *name, *doc;
  PyObject** base;
  PyObject* made = nullptr;
};
std::array reasons{
    Reason{ENOENT, ENOENT, "FileNotFound", "A file is not there: an IoError and a FileNotFoundError.", &PyExc_FileNotFoundError},
    Reason{EACCES, EPERM, "PermissionDenied", "A file may not be used: an IoError and a PermissionError.", &PyExc_PermissionError},
    Reason{EISDIR, EISDIR, "IsADirectory", "A folder was named where a file is needed: an IoError and an IsADirectoryError.",
           &PyExc_IsADirectoryError}};

PyObject* class_of(const Error& error) {
  if (dynamic_cast<const TimeLimitReached*>(&error)) return time_limit_class;
  if (const auto* of_file = dynamic_cast<const FileError*>(&error))
    for (const Reason& reason : reasons)
      if (of_file->code() == reason.code || of_file->code() == reason.other_code) return reason.made;
  return kinds[static_cast<size_t>(error.kind())];
}

/// Pending exceptions of files say which and why: errno, strerror, filename.
void describe_file(const FileError& error) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const nb::object exception = nb::borrow(value);
  try {
    exception.attr("errno") = error.code();
    exception.attr("strerror") = std::strerror(error.code());
    exception.attr("filename") = nb::steal(PyUnicode_DecodeFSDefault(error.path().c_str()));
  } catch (nb::python_error&) {  // the sentence is there
  }
  PyErr_Restore(type, value, trace);
}

/// An OSError with an errno is printed as "[Errno 2] ...", ours by their sentence.
PyObject* sentence_of(PyObject* self, PyObject*) {
  const nb::object arguments = nb::steal(PyObject_GetAttrString(self, "args"));
  if (!arguments.is_valid()) return nullptr;
  if (!PyTuple_Check(arguments.ptr()) || PyTuple_Size(arguments.ptr()) != 1) return PyObject_Str(arguments.ptr());
  return PyObject_Str(PyTuple_GetItem(arguments.ptr(), 0));
}
PyMethodDef sentence_method = {"__str__", sentence_of, METH_NOARGS, "The sentence."};

// Set by note_cause(), one per thread: Python operators are called on the thread that runs the model.
struct Cause {
  PyObject* error = nullptr;
  std::string sentence;
};
thread_local Cause cause;

void set_error(const Error& error) {
  PyObject* const why = std::exchange(cause.error, nullptr);
  const bool is_cause = why && std::string_view(error.what()).find(printable(cause.sentence, true)) != std::string_view::npos;
  if (is_cause && !PyObject_IsInstance(why, PyExc_Exception)) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(why)), why);
    Py_DECREF(why);
    return;
  }
  PyErr_SetString(class_of(error), error.what());
  if (const auto* of_file = dynamic_cast<const FileError*>(&error)) describe_file(*of_file);
  if (is_cause) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyException_SetCause(value, Py_NewRef(why));
    PyErr_Restore(type, value, trace);
  }
  Py_XDECREF(why);
}

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    set_error(e);
  } catch (const TypeFault& e) {
    PyErr_SetString(type_class, e.what());
  } catch (const IndexFault& e) {
    PyErr_SetString(index_class, e.what());
  } catch (const std::bad_cast&) {
    PyErr_SetString(type_class, "an argument holds a value of a type that does not fit");
  }
}

std::recursive_mutex expressions;
unsigned long main_thread = 0;  // the one that imports the module, as a rule

}  // namespace

void define_errors(nb::module_& m) {
  // The classes live as long as the process, as the module does.
  const auto make = [&](const char* name, const char* doc, PyObject* first, PyObject* second) {
    const nb::object bases = second ? nb::object(nb::make_tuple(nb::borrow(first), nb::borrow(second))) : nb::borrow(first);
    PyObject* made = PyErr_NewExceptionWithDoc(format("minnow.{}", name).c_str(), doc, bases.ptr(), nullptr);
    if (!made) nb::raise_python_error();
    m.attr(name) = nb::borrow(made);
    return made;
  };
  PyObject* error =
      make("Error", "Base of what Minnow raises on purpose; its text is one sentence that says what to do.", PyExc_Exception, nullptr);
  kinds[static_cast<size_t>(ErrorKind::invalid_model)] = make("InvalidModel", "A model is wrong.", error, PyExc_ValueError);
  kinds[static_cast<size_t>(ErrorKind::invalid_argument)] = make("InvalidArgument", "An argument is wrong.", error, PyExc_ValueError);
  kinds[static_cast<size_t>(ErrorKind::unsupported)] =
      make("Unsupported", "Right, but not something that Minnow can do.", error, PyExc_NotImplementedError);
  kinds[static_cast<size_t>(ErrorKind::out_of_memory)] =
      make("OutOfMemory", "The memory limit or the system refused.", error, PyExc_MemoryError);
  kinds[static_cast<size_t>(ErrorKind::io)] = make("IoError", "A file could not be read or written.", error, PyExc_OSError);
  kinds[static_cast<size_t>(ErrorKind::cancelled)] = make("Cancelled", "Stopped by the caller or a time limit.", error, nullptr);
  kinds[static_cast<size_t>(ErrorKind::internal)] = make("InternalError", "Minnow broke a promise of its own.", error, PyExc_RuntimeError);
  time_limit_class = make("TimeLimitReached", "A run took longer than its time limit: a Cancelled and a TimeoutError.",
                          kinds[static_cast<size_t>(ErrorKind::cancelled)], PyExc_TimeoutError);
  PyObject* const io = kinds[static_cast<size_t>(ErrorKind::io)];
  for (Reason& reason : reasons) reason.made = make(reason.name, reason.doc, io, *reason.base);
  for (PyObject* of_system : {io, time_limit_class})
    if (const nb::object method = nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(of_system), &sentence_method));
        !method.is_valid() || PyObject_SetAttrString(of_system, "__str__", method.ptr()) != 0)
      nb::raise_python_error();
  type_class = make("InvalidType", "An argument is of a type that does not fit.", error, PyExc_TypeError);
  index_class = make("InvalidIndex", "An index is out of range.", error, PyExc_IndexError);
  nb::register_exception_translator(translate);
  main_thread = PyThread_get_thread_ident();
}

namespace {
thread_local std::vector<std::string> messages;
}
void keep_messages() {
  set_log_hook([](std::string_view message) { messages.emplace_back(message); });
}
void tell_messages() {
  for (const std::string& message : std::exchange(messages, {})) nb::module_::import_("minnow._files").attr("warn")(message);
}

bool SignalWatch::is_main_thread() noexcept { return PyThread_get_thread_ident() == main_thread; }
void SignalWatch::look() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void set_python_error() noexcept {
  try {
    try {
      throw;
    } catch (nb::python_error& e) {
      e.restore();
    } catch (const nb::builtin_exception& e) {
      PyObject* type = PyExc_RuntimeError;
      if (e.type() == nb::exception_type::type_error) type = PyExc_TypeError;
      if (e.type() == nb::exception_type::value_error) type = PyExc_ValueError;
      if (e.type() == nb::exception_type::index_error) type = PyExc_IndexError;
      if (e.type() == nb::exception_type::buffer_error) type = PyExc_BufferError;
      PyErr_SetString(type, e.what());
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (...) {
      translate(std::current_exception(), nullptr);
    }
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown exception");
  }
}

void note_cause(nb::python_error& error, std::string sentence) {
  Py_XDECREF(std::exchange(cause.error, Py_NewRef(error.value().ptr())));
  cause.sentence = std::move(sentence);
}

std::string kind_name(nb::handle object) {
  const nb::handle type = object.type();
  const std::string module = nb::cast<std::string>(nb::str(type.attr("__module__"))),
                    name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : module + "." + name;
}

std::string shown(nb::handle object) {
  std::string text = nb::cast<std::string>(nb::repr(object));
  if (text.size() <= 60) return text;
  size_t end = 57;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "...";
}

Guard::Guard() {
  if (expressions.try_lock()) return;
  const nb::gil_scoped_release release;
  expressions.lock();
}
Guard::~Guard() { expressions.unlock(); }

}  // namespace minnow::python

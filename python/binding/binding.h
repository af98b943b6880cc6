// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files of the Python binding.
#pragma once
#include <minnow/express.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <variant>

#include "base/error.h"
#include "base/watch.h"

namespace minnow::python {

namespace nb = nanobind;

// Errors. Each class derives from minnow.Error and from the class that Python users expect: ValueError, TypeError, IndexError, OSError ...

/// An object of a kind that does not fit: minnow.InvalidType, a TypeError.
class TypeFault : public std::runtime_error {
 public:
  template <class... Args>
  explicit TypeFault(std::string_view pattern, const Args&... args) : std::runtime_error(format(pattern, args...)) {}
};
/// minnow.InvalidIndex, an IndexError.
class IndexFault : public std::runtime_error {
 public:
  explicit IndexFault(const std::string& sentence) : std::runtime_error(sentence) {}
};

void define_errors(nb::module_& m);
/// The exception that is being handled, as Python's pending error.
void set_python_error() noexcept;
/// Records the exception that an operator's Python function raised, and the sentence of the node's error. An exception with this sentence
/// in its text gets the recorded one as its cause, or is replaced by it if that is no Exception (KeyboardInterrupt, SystemExit).
void note_cause(nb::python_error& error, std::string sentence);
/// "list", "numpy.ndarray": for sentences.
std::string kind_name(nb::handle object);

/// An object's representation for sentences, at most 60 characters.
std::string shown(nb::handle object);
/// An argument of type T. Throws TypeFault for another type, or a number out of range: "threads takes an integer, not 'a'".
template <class T>
T argument(nb::handle object, const char* name, const char* wanted) {
  T value{};
  if (nb::try_cast(object, value)) return value;
  PyErr_Clear();
  throw TypeFault("{} takes {}, not {}", name, wanted, shown(object));
}

/// Expressions belong to one thread at a time, and the GIL is released while they are computed. Code that uses a Var holds this guard, so
/// that threads that share expressions take turns. Modules run without it. Needs the GIL, and releases it while waiting.
class Guard {
 public:
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

/// While it lives, runs on the main thread look whether Python has a signal to handle, Ctrl-C above all, whose exception ends the run.
class SignalWatch {
 public:
  SignalWatch() {
    if (is_main_thread()) watch_.emplace(kLook);
  }

 private:
  static bool is_main_thread() noexcept;
  static void look();
  static constexpr auto kLook = [] { look(); };
  std::optional<Watch> watch_;
};

/// From now on messages for people (base/log.h) are kept for the thread that they come from.
void keep_messages();
/// Makes UserWarnings of this thread's messages, with the GIL. Throws nb::python_error where warnings are errors.
void tell_messages();

// dtypes

void define_dtype(nb::module_& m);
/// minnow.float32 ...: one object for each dtype.
nb::object dtype_object(DType dtype);
/// From a dtype, its name, a NumPy dtype or scalar type, or bool, int, float. Throws TypeFault.
DType dtype_from(nb::handle object);

// Arrays

/// May a tensor share the memory of the object that it is made from?
enum class Sharing { copy, where_possible, must };

/// A tensor of a number, a (nested) list or tuple, or an object with the buffer protocol or DLPack. Throws TypeFault, InvalidArgument.
/// `dtype`: undefined for the object's own.
Tensor tensor_from(nb::handle object, DType dtype, Sharing sharing);
/// A Var as it is, else a constant made of the object.
Var var_from(nb::handle object, Sharing sharing = Sharing::copy);
/// The same of None: absent.
Var optional_var_from(nb::handle object);
/// Computed where it has to be, with the GIL released.
const Tensor& computed(const Var& x);
/// Elements as Python numbers in nested lists.
nb::object to_list(const Tensor& tensor);
nb::object element(DType dtype, const void* at);
/// A Var; a list of a sequence's Vars; None for an empty optional.
nb::object from_datum(const Datum& value);
/// A numpy.ndarray that shares the memory and may be written: of memory that nobody else has.
nb::object to_writable_numpy(const Tensor& tensor);

/// One side of an operation: numbers of Python are weak.
using Operand = std::variant<Var, Scalar>;
/// Nothing if the object is neither a number nor an array.
std::optional<Operand> operand_from(nb::handle object);
/// Whether the integer of Python fits the dtype, one of integers.
bool holds(DType dtype, nb::handle integer);

extern PyTypeObject* var_type;
inline bool is_var(nb::handle object) { return PyObject_TypeCheck(object.ptr(), var_type); }
inline Var& var_of(nb::handle object) { return *nb::inst_ptr<Var>(object); }

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;
/// Raises the error that computing this Var for a buffer raised on this thread, in case nobody saw it: NumPy clears such errors.
void raise_unread(nb::handle self);
void release_buffer(PyObject* self, Py_buffer* view) noexcept;
void define_dlpack(nb::class_<Var>& var);
void define_var(nb::module_& m);
void define_operators(nb::module_& m);
void define_expressions(nb::module_& m);
void define_models(nb::module_& m);
void define_device(nb::module_& m);
/// How something is run, from a dict with the keys of minnow._options.RunOptions: threads, precision, memory, backend ... InvalidType for
/// another key, with the nearest ones.
struct RunOptions {
  SessionOptions session;
  std::string tuning;  // a file
  /// The options with the tuning file's entry for the model; without one there is a UserWarning. Needs the GIL.
  SessionOptions of(const Model& model) const;
};
RunOptions run_options(const nb::dict& given);
void define_compress(nb::module_& m);
void define_prune(nb::module_& m);
void define_vision(nb::module_& m);
void define_optim(nb::module_& m);
void define_command(nb::module_& m);
void define_custom(nb::module_& m);
void define_functions(nb::module_& m);
void define_tracing(nb::module_& m);
/// The built-in operators, those of loaded libraries, and those written in Python; null: only the built-in ones.
std::shared_ptr<const OperatorSet> operators_now();

}  // namespace minnow::python

// SPDX-License-Identifier: Apache-2.0
// Var.__dlpack__(): capsules of both generations of DLPack's ABI.
#include "dlpack.h"
#include "tracing.h"

#include <nanobind/stl/pair.h>

#include <array>

namespace minnow::python {
namespace dlpack {

nb::dlpack::dtype code_of(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto made = [&](Code code) { return nb::dlpack::dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(size_of(dtype) * 8), 1}; };
  switch (dtype) {
    case DType::boolean:
      return made(Code::Bool);
    case DType::bf16:
      return made(Code::Bfloat);
    case DType::complex64:
    case DType::complex128:
      return made(Code::Complex);
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return made(Code::Float);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return made(Code::Int);
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return made(Code::UInt);
    default:
      return {};
  }
}

std::pair<long, long> two_integers(nb::handle given, const char* name) {
  std::pair<long, long> two;
  if (nb::try_cast(given, two)) return two;
  PyErr_Clear();
  throw TypeFault("{} takes None or a tuple of two integers, not {}", name, shown(given));
}

}  // namespace dlpack

using namespace dlpack;

namespace {

/// Exports a tensor's memory for writing. Not a class of nanobind's, whose instances take longer to make: each result in an array has one.
struct Memory {
  PyObject_HEAD  // NOLINT
      Tensor tensor;
};
int export_memory(PyObject* self, Py_buffer* view, int flags) noexcept {
  const Tensor& tensor = reinterpret_cast<Memory*>(self)->tensor;
  return PyBuffer_FillInfo(view, self, const_cast<void*>(tensor.data()), static_cast<Py_ssize_t>(tensor.bytes()), 0, flags);
}
void release_memory(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<Memory*>(self)->tensor.~Tensor();
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}
PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(export_memory)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(release_memory)},
                              {Py_tp_doc, const_cast<char*>("Memory of arrays of NumPy, by the buffer protocol.")},
                              {0, nullptr}};
PyType_Spec memory_spec = {"minnow._minnow._Memory", sizeof(Memory), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           memory_slots};
PyTypeObject* memory_type = nullptr;

nb::object memory_of(const Tensor& tensor) {
  const nb::object made = nb::steal(PyType_GenericAlloc(memory_type, 0));
  if (!made.is_valid()) nb::raise_python_error();
  new (&reinterpret_cast<Memory*>(made.ptr())->tensor) Tensor(tensor);
  return made;
}

PyObject* numpy_ndarray = nullptr;  // NumPy's class and dtypes, each as soon as an array needs it
std::array<PyObject*, 64> numpy_dtypes{};

}  // namespace

nb::object to_writable_numpy(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (code_of(dtype).bits == 0 || dtype == DType::bf16)
    return nb::module_::import_("minnow._arrays").attr("as_numpy")(Var(tensor)).attr("copy")();
  PyObject*& type = numpy_dtypes[static_cast<size_t>(dtype)];
  if (!type) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    if (!numpy_ndarray) numpy_ndarray = nb::object(numpy.attr("ndarray")).release().ptr();
    type = nb::object(numpy.attr("dtype")(dtype_object(dtype).attr("name"))).release().ptr();
  }
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensor.shape().rank()))), memory = memory_of(tensor);
  for (size_t i = 0; i < tensor.shape().rank(); ++i)
    PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(tensor.shape()[i]));
  nb::object array = nb::steal(PyObject_CallFunctionObjArgs(numpy_ndarray, shape.ptr(), type, memory.ptr(), nullptr));
  if (!array.is_valid()) nb::raise_python_error();
  return array;
}

void define_dlpack(nb::class_<Var>& var) {
  memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&memory_spec));
  if (!memory_type) nb::raise_python_error();
  var.def(
      "__dlpack__",
      [](nb::handle self, nb::handle stream, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
        const bool versioned = !max_version.is_none() && two_integers(max_version, "max_version").first >= 1;
        if (!stream.is_none())
          throw nb::buffer_error("__dlpack__: the memory of a Var is on the CPU, which has no streams; pass stream=None");
        if (!dl_device.is_none() && two_integers(dl_device, "dl_device") != std::pair<long, long>(kCpu, 0))
          throw nb::buffer_error("__dlpack__: the memory of a Var is on the CPU, which is dl_device=(1, 0)");
        const Guard guard;
        if (trace) check_read(var_of(self), "__dlpack__()");
        Tensor tensor = computed(var_of(self));
        if (code_of(tensor.dtype()).bits == 0)
          throw nb::buffer_error(format("DLPack is not used for {}; use astype()", tensor.dtype()).c_str());
        const bool copies = !copy.is_none() && PyObject_IsTrue(copy.ptr()) == 1;
        if (copies) tensor = Tensor(TensorView(tensor));
        const Place place{const_cast<void*>(tensor.data()), kCpu, 0, 0, tensor.dtype(), tensor.shape()};
        if (versioned) return capsule_of<Versioned>(place, std::move(tensor), copies ? kCopied : kReadOnly);
        return capsule_of<Unversioned>(place, std::move(tensor), 0);
      },
      nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
      nb::arg("copy") = nb::none(),
      "A DLPack capsule over the memory of the Var: versioned (1.0, read only) where max_version allows it. copy=True: over a copy.\n"
      "Raises BufferError for another device than the CPU's (1, 0), a stream, and dtypes that DLPack has no code for.");
  var.def(
      "__dlpack_device__", [](const Var&) { return nb::make_tuple(kCpu, 0); }, "The CPU.");
}

}  // namespace minnow::python

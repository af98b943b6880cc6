// SPDX-License-Identifier: Apache-2.0
// Var.__dlpack__(): capsules of both generations of DLPack's ABI.
#include "dlpack.h"

#include <nanobind/stl/pair.h>

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

nb::object to_writable_numpy(const Tensor& tensor) {
  const nb::dlpack::dtype code = code_of(tensor.dtype());
  if (code.bits == 0 || tensor.dtype() == DType::bf16)
    return nb::module_::import_("minnow._arrays").attr("as_numpy")(Var(tensor)).attr("copy")();
  auto* kept = new Tensor(tensor);
  const nb::capsule owner(kept, [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const std::vector<size_t> shape(kept->shape().begin(), kept->shape().end());
  return nb::cast(nb::ndarray<nb::numpy>(const_cast<void*>(kept->data()), shape.size(), shape.data(), owner, nullptr, code));
}

void define_dlpack(nb::class_<Var>& var) {
  var.def(
      "__dlpack__",
      [](nb::handle self, nb::handle stream, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
        const bool versioned = !max_version.is_none() && two_integers(max_version, "max_version").first >= 1;
        if (!stream.is_none())
          throw nb::buffer_error("__dlpack__: the memory of a Var is on the CPU, which has no streams; pass stream=None");
        if (!dl_device.is_none() && two_integers(dl_device, "dl_device") != std::pair<long, long>(kCpu, 0))
          throw nb::buffer_error("__dlpack__: the memory of a Var is on the CPU, which is dl_device=(1, 0)");
        const Guard guard;
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

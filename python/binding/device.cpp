// SPDX-License-Identifier: Apache-2.0
// Models whose inputs and outputs stay on a device, and the arrays there.
#include <minnow/device.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <mutex>

#include "binding.h"
#include "dlpack.h"

namespace minnow::python {
namespace {

using namespace dlpack;

/// DLPack's number of the kind of device; 0: it has none.
int32_t kind_of(std::string_view backend) {
  const std::string_view family = backend.substr(0, backend.find(':'));
  return family == "cuda" ? kCuda : family == "opencl" ? kOpenCl : 0;
}

/// The number of the device behind a backend's name, as in "cuda:1".
long number_of(std::string_view backend) {
  const size_t colon = backend.find(':');
  return colon == backend.npos ? 0 : std::strtol(std::string(backend.substr(colon + 1)).c_str(), nullptr, 10);
}

class DeviceArray {
 public:
  explicit DeviceArray(DeviceTensor tensor) : tensor(std::move(tensor)) {}
  const DeviceTensor tensor;
  int32_t kind() const {
    const int32_t kind = kind_of(tensor.backend());
    if (kind == 0) throw nb::buffer_error(format("DLPack has no devices of the backend {}", tensor.backend()).c_str());
    return kind;
  }
  long number() const { return number_of(tensor.backend()); }
};

nb::object on_host(const DeviceArray& array) {
  const Tensor copy = [&] {
    const nb::gil_scoped_release release;
    return array.tensor.to_host();
  }();
  return to_writable_numpy(copy);
}

/// The kind and the number of the device that an object's memory is on, by __dlpack_device__; kind 0: no backend here serves such devices.
std::pair<long, long> device_of(nb::handle object) {
  nb::object asked = nb::steal(PyObject_GetAttrString(object.ptr(), "__dlpack_device__"));
  std::pair<long, long> device{0, 0};
  try {
    if (asked.is_valid()) device = two_integers(asked(), "__dlpack_device__");
  } catch (...) {}
  PyErr_Clear();
  return device.first == kCuda || device.first == kOpenCl ? device : std::pair<long, long>{0, 0};
}

template <class Managed>
std::shared_ptr<Managed> taken(nb::handle capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), Managed::kName)) return nullptr;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::kName));
  PyCapsule_SetName(capsule.ptr(), Managed::kUsedName);
  return {managed, [](Managed* held) {
            const nb::gil_scoped_acquire acquire;
            if (held->deleter) held->deleter(held);
          }};
}

/// The session of a model on a device. Calls of several threads take turns.
class DeviceModel {
 public:
  DeviceModel(const Model& model, const nb::dict& options) : session_(model, run_options(options).of(model)) {
    if (!model.states().empty()) throw Unsupported("a model with states takes no arrays of a device in Python");
  }

  nb::list call(nb::handle given) {
    std::vector<DeviceTensor> inputs, outputs;
    for (nb::handle item : given) inputs.push_back(tensor_of(item));
    {
      const SignalWatch watch;
      const nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      outputs = session_.run(inputs);
    }
    nb::list list;
    for (DeviceTensor& output : outputs) list.append(nb::cast(new DeviceArray(std::move(output)), nb::rv_policy::take_ownership));
    return list;
  }
  DeviceArray* upload(nb::handle given) { return new DeviceArray(tensor_of(given)); }

 private:
  DeviceTensor tensor_of(nb::handle item) {
    if (nb::isinstance<DeviceArray>(item)) {
      const DeviceTensor& tensor = nb::cast<const DeviceArray&>(item).tensor;
      return tensor;
    }
    const auto [kind, number] = device_of(item);
    if (kind == 0) {
      const Tensor tensor = is_var(item) ? computed(var_of(item)) : tensor_from(item, DType::undefined, Sharing::where_possible);
      const nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      return session_.upload(tensor);
    }
    // Other libraries number OpenCL's devices by rules of their own; the driver refuses buffers of other contexts.
    if (kind != kind_of(session_.backend()) || (kind == kCuda && number != number_of(session_.backend())))
      throw InvalidArgument("an array is on DLPack's device ({}, {}), the model is on {}", kind, number, session_.backend());
    nb::object capsule = item.attr("__dlpack__")();
    if (const std::shared_ptr<Versioned> managed = taken<Versioned>(capsule)) return adopt(managed->tensor, managed);
    if (const std::shared_ptr<Unversioned> managed = taken<Unversioned>(capsule)) return adopt(managed->tensor, managed);
    throw TypeFault("__dlpack__ of {} ({}) gives no capsule with a tensor", shown(item), kind_name(item));
  }
  DeviceTensor adopt(const nb::dlpack::dltensor& from, std::shared_ptr<const void> owner) {
    const DType dtype = dtype_of(from.dtype);
    if (dtype == DType::undefined) throw InvalidArgument("an array of a device has a dtype that Minnow does not know");
    if (from.ndim < 0 || from.ndim > static_cast<int32_t>(kMaxRank))
      throw InvalidArgument("an array has {} dimensions, at most {} are possible", from.ndim, kMaxRank);
    Shape shape;
    for (int32_t i = 0; i < from.ndim; ++i) shape.push_back(from.shape[i]);
    int64_t step = 1;
    for (size_t i = shape.rank(); i-- > 0; step *= shape[i])
      if (from.strides && shape[i] != 1 && from.strides[i] != step && shape.elements() != 0)
        throw InvalidArgument("an array of a device is not row-major; make it contiguous");
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return session_.adopt(dtype, shape, {from.data, static_cast<size_t>(from.byte_offset)}, std::move(owner));
  }

  std::mutex mutex_;
  DeviceSession session_;
};

}  // namespace

void define_device(nb::module_& m) {
  nb::class_<DeviceArray>(m, "DeviceArray",
                          "An array in a device's memory, as modules return it for such arrays. DLPack shares it without a copy.")
      .def_prop_ro(
          "shape",
          [](const DeviceArray& self) {
            return nb::tuple(nb::cast(std::vector<int64_t>(self.tensor.shape().begin(), self.tensor.shape().end())));
          },
          "The dimensions.")
      .def_prop_ro(
          "dtype", [](const DeviceArray& self) { return dtype_object(self.tensor.dtype()); }, "The dtype.")
      .def_prop_ro(
          "backend", [](const DeviceArray& self) { return std::string(self.tensor.backend()); },
          "\"cuda\", \"opencl\", \"vulkan\" or \"gles\", with the number of the device if it is not the first: \"cuda:1\".")
      .def("numpy", &on_host, "A copy as a numpy.ndarray. Raises Unsupported if the device fails.")
      .def(
          "__array__",
          [](const DeviceArray& self, nb::handle dtype, nb::handle copy) {
            if (!copy.is_none() && PyObject_IsTrue(copy.ptr()) == 0)
              throw nb::value_error("an array on a device becomes one of NumPy's only by a copy; copy=False is not possible");
            const nb::object array = on_host(self);
            return dtype.is_none() ? array : array.attr("astype")(dtype, nb::arg("copy") = false);
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(), "A copy, for numpy.asarray().")
      .def(
          "__dlpack__",
          [](const DeviceArray& self, nb::handle, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
            const bool versioned = !max_version.is_none() && two_integers(max_version, "max_version").first >= 1;
            const int32_t kind = self.kind();
            if (!dl_device.is_none() && two_integers(dl_device, "dl_device") != std::pair<long, long>(kind, self.number()))
              throw nb::buffer_error(format("__dlpack__: the memory is on the device ({}, {})", kind, self.number()).c_str());
            if (!copy.is_none() && PyObject_IsTrue(copy.ptr()) == 1) throw nb::buffer_error("__dlpack__: copy=True is not supported");
            const DeviceMemory memory = self.tensor.memory();
            const Place place{memory.handle,      kind, static_cast<int32_t>(self.number()), memory.offset, self.tensor.dtype(),
                              self.tensor.shape()};
            if (code_of(place.dtype).bits == 0) throw nb::buffer_error(format("DLPack is not used for {}", place.dtype).c_str());
            return versioned ? capsule_of<Versioned>(place, self.tensor, 0) : capsule_of<Unversioned>(place, self.tensor, 0);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
          nb::arg("copy") = nb::none(),
          "A DLPack capsule over the memory, whose work has been done for every stream. Raises BufferError for another device, and for "
          "copy=True.")
      .def(
          "__dlpack_device__", [](const DeviceArray& self) { return nb::make_tuple(self.kind(), self.number()); },
          "The kind of device (2: CUDA, 4: OpenCL) and its number.")
      .def("__repr__", [](const DeviceArray& self) {
        return format("DeviceArray(shape={}, dtype={}, backend='{}')", self.tensor.shape(), self.tensor.dtype(), self.tensor.backend());
      });
  nb::class_<DeviceModel>(m, "DeviceModel", "The session of a model on a device.")
      .def(nb::init<const Model&, const nb::dict&>(), nb::arg("model"), nb::arg("options"))
      .def("__call__", &DeviceModel::call, nb::arg("inputs"))
      .def("upload", &DeviceModel::upload, nb::arg("array"), nb::rv_policy::take_ownership);
  m.def(
      "is_on_device", [](nb::handle object) { return nb::isinstance<DeviceArray>(object) || device_of(object).first != 0; },
      nb::arg("object").none(), "Whether DLPack says that the object's memory is on a device of CUDA or OpenCL.");
}

}  // namespace minnow::python

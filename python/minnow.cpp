// SPDX-License-Identifier: Apache-2.0
// A thin binding: minnow.load(path)(x) on NumPy arrays.
#include <minnow/convert.h>
#include <minnow/minnow.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>

namespace nb = nanobind;
using namespace minnow;

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

DType dtype_of(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::i16, DType::i8, DType::u64, DType::u32, DType::u16, DType::u8})
    if (size_of(dtype) * 8 == type.bits && (is_float(dtype)    ? code == Code::Float
                                            : is_signed(dtype) ? code == Code::Int
                                                               : code == Code::UInt))
      return dtype;
  if (code == Code::Bool) return DType::boolean;
  if (code == Code::Bfloat && type.bits == 16) return DType::bf16;
  throw nb::type_error("an array's dtype is one that Minnow does not know");
}

nb::dlpack::dtype dtype_for(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const Code code = dtype == DType::boolean ? Code::Bool
                    : dtype == DType::bf16  ? Code::Bfloat
                    : is_float(dtype)       ? Code::Float
                    : is_signed(dtype)      ? Code::Int
                                            : Code::UInt;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(size_of(dtype) * 8), 1};
}

Tensor borrow(const AnyArray& array) {
  Shape shape;
  for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<int64_t>(array.shape(i)));
  return Tensor(dtype_of(array.dtype()), shape, array.data(), nullptr);
}

nb::object to_numpy(const Datum& value) {
  if (value.kind == Datum::Kind::none) return nb::none();
  if (value.kind == Datum::Kind::sequence) {
    nb::list list;
    for (const Datum& item : value.items) list.append(to_numpy(item));
    return list;
  }
  auto* kept = new Tensor(value.tensor);
  const nb::capsule owner(kept, [](void* tensor) noexcept { delete static_cast<Tensor*>(tensor); });
  std::vector<size_t> shape(kept->shape().begin(), kept->shape().end());
  return nb::cast(
      nb::ndarray<nb::numpy>(const_cast<void*>(kept->data()), shape.size(), shape.data(), owner, nullptr, dtype_for(kept->dtype())));
}

// A model and a session of its own; calls from several threads take turns.
class Runner {
 public:
  Runner(const std::string& path, int threads, const std::string& backend, const std::string& precision)
      : model_(convert(path)), session_(model_, options(threads, backend, precision)) {}

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) {
    std::vector<Datum> inputs(model_.inputs().size());
    std::vector<AnyArray> kept;  // keeps contiguous copies alive
    if (args.size() > inputs.size()) throw nb::type_error("more inputs are given than the model has");
    const auto set = [&](size_t i, nb::handle value) {
      kept.push_back(nb::cast<AnyArray>(value));
      inputs[i] = Datum(borrow(kept.back()));
    };
    for (size_t i = 0; i < args.size(); ++i) set(i, args[i]);
    for (const auto& [key, value] : kwargs) {
      const std::string name = nb::cast<std::string>(key);
      size_t i = 0;
      while (i < inputs.size() && model_.inputs()[i].name != name) ++i;
      if (i == inputs.size()) throw nb::type_error(("the model has no input \"" + name + "\"").c_str());
      set(i, value);
    }
    std::vector<Datum> outputs;
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      outputs = session_.run_any(inputs);
    }
    if (outputs.size() == 1) return to_numpy(outputs[0]);
    nb::list list;
    for (const Datum& output : outputs) list.append(to_numpy(output));
    return nb::tuple(list);
  }

  static std::vector<std::string> names(const std::vector<ValueDescription>& values) {
    std::vector<std::string> list;
    for (const ValueDescription& value : values) list.push_back(value.name);
    return list;
  }
  std::vector<std::string> inputs() const { return names(model_.inputs()); }
  std::vector<std::string> outputs() const { return names(model_.outputs()); }

 private:
  static SessionOptions options(int threads, const std::string& backend, const std::string& precision) {
    SessionOptions options;
    options.threads = threads;
    options.backends = {backend};
    options.precision = precision;
    return options;
  }
  Model model_;
  Session session_;
  std::mutex mutex_;
};

}  // namespace

NB_MODULE(minnow, m) {
  m.attr("__version__") = version();
  nb::exception<Error>(m, "Error", PyExc_RuntimeError);
  nb::class_<Runner>(m, "Model", "A loaded model; call it with NumPy arrays, by position or by name. Several outputs come as a tuple.")
      .def("__call__", &Runner::call)
      .def_prop_ro("inputs", &Runner::inputs, "names of the inputs")
      .def_prop_ro("outputs", &Runner::outputs, "names of the outputs");
  m.def(
      "load",
      [](const std::string& path, int threads, const std::string& backend, const std::string& precision) {
        nb::gil_scoped_release release;
        return std::make_unique<Runner>(path, threads, backend, precision);
      },
      nb::arg("path"), nb::arg("threads") = 0, nb::arg("backend") = "cpu", nb::arg("precision") = "normal",
      "A model file of any format that Minnow reads. threads=0 takes all cores.");
}

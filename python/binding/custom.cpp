// SPDX-License-Identifier: Apache-2.0
// Operators that are written in Python, through the same C tables as those of shared libraries.
#include "ops/custom.h"

#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>

#include "binding.h"
#include "functions.h"

namespace minnow::python {
namespace {

struct PythonOperator {
  std::string name, doc, gradient;
  PyObject *infer, *compute;  // live as long as the process: plans may name the operator to its end
  std::vector<std::pair<std::string, PyObject*>> attributes;
  minnow_custom_op table;
};

std::deque<PythonOperator>& written() {
  static auto* operators = new std::deque<PythonOperator>;
  return *operators;
}
std::vector<const minnow_custom_op*> tables;  // the newest of each name
std::vector<std::string> libraries;
std::shared_ptr<const OperatorSet> current;

void use(std::shared_ptr<const OperatorSet> operators) {
  expr::use_operators(operators);
  current = std::move(operators);
}

/// The attributes of a node that the operator's functions know, as keywords.
nb::dict attributes_of(const PythonOperator& op, const minnow_op_api& api, const minnow_op_call* call) {
  nb::dict result;
  for (const auto& [name, fallback] : op.attributes) {
    int64_t integer = 0;
    float real = 0;
    const char* text = nullptr;
    size_t count = 0;
    const int64_t* integers = nullptr;
    const float* reals = nullptr;
    nb::object value = nb::borrow(fallback);
    if (api.attribute_int(call, name.c_str(), &integer)) {
      value = PyBool_Check(fallback) ? nb::object(nb::bool_(integer != 0)) : nb::cast(integer);
    } else if (api.attribute_float(call, name.c_str(), &real)) {
      value = nb::cast(real);
    } else if (api.attribute_string(call, name.c_str(), &text, &count)) {
      value = nb::cast(std::string(text, count));
    } else if (api.attribute_ints(call, name.c_str(), &integers, &count)) {
      value = nb::cast(std::vector<int64_t>(integers, integers + count));
    } else if (api.attribute_floats(call, name.c_str(), &reals, &count)) {
      value = nb::cast(std::vector<float>(reals, reals + count));
    }
    result[name.c_str()] = value;
  }
  return result;
}

Shape shape_of(const minnow_tensor& tensor) {
  return Shape(std::span<const int64_t>(tensor.dims, static_cast<size_t>(std::max(tensor.rank, 0))));
}

nb::object spec(const minnow_tensor& tensor) {
  nb::object shape = nb::none();
  if (tensor.rank >= 0) {
    nb::list dims;
    for (const int64_t dim : shape_of(tensor)) dims.append(dim);
    shape = nb::tuple(dims);
  }
  return nb::make_tuple(shape, dtype_object(static_cast<DType>(tensor.dtype)));
}

/// Runs `f` as a function of the table: Python's exceptions become the sentence of the node's error.
template <class F>
int guarded(const minnow_op_api* api, minnow_op_call* call, F&& f) {
  const nb::gil_scoped_acquire acquire;
  const Outermost outermost;
  try {
    f();
    return 0;
  } catch (nb::python_error& error) {
    std::string text = nb::cast<std::string>(nb::str(error.value()));
    text = text.empty() ? kind_name(error.value()) : format("{}: {}", kind_name(error.value()), text);
    api->fail(call, text.c_str());
    note_cause(error, std::move(text));
  } catch (const std::exception& error) {
    api->fail(call, error.what());
  }
  return 1;
}

/// minnow._custom calls both functions and ensures that they return valid types.
int infer(const minnow_op_api* api, minnow_op_call* call, void* user) {
  const PythonOperator& op = *static_cast<const PythonOperator*>(user);
  return guarded(api, call, [&] {
    nb::list inputs;
    for (size_t i = 0; i < api->input_count(call); ++i) {
      const minnow_tensor& input = *api->input(call, i);
      inputs.append(input.dtype == 0 ? nb::none() : spec(input));
    }
    const nb::object result = nb::borrow(op.infer)(inputs, attributes_of(op, *api, call), api->output_count(call));
    size_t i = 0;
    for (nb::handle item : result) {
      if (i >= api->output_count(call)) break;
      minnow_tensor& output = *api->output(call, i++);
      output.dtype = static_cast<int32_t>(dtype_from(item[1]));
      output.rank = -1;
      if (item[0].is_none()) continue;
      const std::vector<int64_t> dims = nb::cast<std::vector<int64_t>>(item[0]);
      if (dims.size() > MINNOW_MAX_RANK)
        throw InvalidArgument("gives an output {} dimensions, at most {} are possible", dims.size(), MINNOW_MAX_RANK);
      for (const int64_t dim : dims)
        if (dim < 0) throw InvalidArgument("gives an output the shape {}", Shape(dims));
      output.rank = static_cast<int32_t>(dims.size());
      std::copy(dims.begin(), dims.end(), output.dims);
    }
    if (i < api->output_count(call)) throw InvalidArgument("gives {} shapes, {} are needed", i, api->output_count(call));
  });
}

/// Output i of the function. Floats are rounded to the dtype of the shape rule; an integer or bool dtype must hold the values exactly.
Tensor value_of(nb::handle item, DType dtype, size_t i) {
  const Tensor given = tensor_from(item, DType::undefined, Sharing::where_possible);
  if (given.dtype() == dtype) return given;
  Tensor made = computed(Var(given).astype(dtype));
  if (!is_float(dtype)) {
    const Tensor same = computed(Var(made).astype(given.dtype()) == Var(given));
    if (std::memchr(same.data(), 0, same.bytes()))
      throw InvalidArgument("its function gives output {} numbers of {} that are none of {}, which its shape rule says", i, given.dtype(),
                            dtype);
  }
  return made;
}

int compute(const minnow_op_api* api, minnow_op_call* call, void* user) {
  const PythonOperator& op = *static_cast<const PythonOperator*>(user);
  return guarded(api, call, [&] {
    nb::list inputs;
    for (size_t i = 0; i < api->input_count(call); ++i) {
      const minnow_tensor& input = *api->input(call, i);
      // A copy, because the function may keep its arguments.
      inputs.append(input.dtype == 0 ? nb::none()
                                     : nb::cast(Var(Tensor(TensorView(static_cast<DType>(input.dtype), shape_of(input), input.data)))));
    }
    const nb::object result = nb::borrow(op.compute)(inputs, attributes_of(op, *api, call), api->output_count(call));
    size_t i = 0;
    for (nb::handle item : result) {
      if (i >= api->output_count(call)) break;
      minnow_tensor& output = *api->output(call, i);
      if (output.dtype == 0) {
        ++i;
        continue;
      }
      const Tensor made = value_of(item, static_cast<DType>(output.dtype), i);
      void* memory = output.data;
      if (output.rank < 0)
        memory = api->allocate_output(call, i, static_cast<int32_t>(made.shape().rank()), made.shape().begin());
      else if (!(made.shape() == shape_of(output)))
        throw InvalidArgument("its function gives output {} the shape {}, its shape rule {}", i, made.shape(), shape_of(output));
      if (!memory && made.bytes() > 0) return;
      if (made.bytes() > 0) std::memcpy(memory, made.data(), made.bytes());
      ++i;
    }
    if (i < api->output_count(call)) throw InvalidArgument("gives {} values, {} are needed", i, api->output_count(call));
  });
}

}  // namespace

std::shared_ptr<const OperatorSet> operators_now() { return current; }

void define_custom(nb::module_& m) {
  m.def(
      "register_operator",
      [](const std::string& name, const std::string& doc, const nb::object& infer_function, const nb::object& compute_function,
         const nb::dict& attributes, const std::string& gradient) {
        const Guard guard;
        if (name.find('.') == std::string::npos || OperatorSet::builtin().find(name))
          throw InvalidArgument(
              "an operator of one's own has a name with a domain, \"com.example.Swish\", and no built-in one's; this is \"{}\"", name);
        PythonOperator& op = written().emplace_back();
        op.name = name, op.doc = doc, op.gradient = gradient;
        op.infer = nb::object(infer_function).release().ptr(), op.compute = nb::object(compute_function).release().ptr();
        for (const auto& [key, value] : attributes)
          op.attributes.emplace_back(nb::cast<std::string>(key), nb::borrow(value).release().ptr());
        op.table = {sizeof(minnow_custom_op),
                    op.name.c_str(),
                    op.doc.c_str(),
                    &op,
                    infer,
                    compute,
                    nullptr,
                    0,
                    op.gradient.empty() ? nullptr : op.gradient.c_str()};
        std::vector<const minnow_custom_op*> now;
        for (const minnow_custom_op* table : tables)
          if (name != table->name) now.push_back(table);
        now.push_back(&op.table);
        use(load_custom_operators(libraries, now));
        tables = std::move(now);
      },
      nb::arg("name"), nb::arg("doc"), nb::arg("infer"), nb::arg("compute"), nb::arg("attributes"), nb::arg("gradient") = "");
  m.def(
      "load_operators",
      [](const std::string& path) {
        const Guard guard;
        std::vector<std::string> now = libraries;
        if (std::find(now.begin(), now.end(), path) == now.end()) now.push_back(path);
        use(load_custom_operators(now, tables));
        libraries = std::move(now);
      },
      nb::arg("path"), "Operators of a shared library (<minnow/custom_op.h>), for expressions and for models that are read from now on.");
}

}  // namespace minnow::python

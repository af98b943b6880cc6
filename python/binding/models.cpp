// SPDX-License-Identifier: Apache-2.0
// Models that were loaded, and conversion.
#include <minnow/convert.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "binding.h"
#include "graph/graph.h"

namespace minnow::python {
namespace {

nb::object description(const ValueDescription& value) {
  nb::list dims;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const bool named = value.dims[i] < 0 && i < value.symbols.size() && !value.symbols[i].empty();
    dims.append(value.dims[i] >= 0 ? nb::cast(value.dims[i]) : named ? nb::cast(value.symbols[i]) : nb::none());
  }
  const nb::object shape = value.has_rank ? nb::object(nb::tuple(dims)) : nb::none();
  return nb::make_tuple(value.name, value.is_tensor && value.dtype != DType::undefined ? dtype_object(value.dtype) : nb::none(), shape,
                        value.type);
}
nb::list descriptions(const std::vector<ValueDescription>& values) {
  nb::list list;
  for (const ValueDescription& value : values) list.append(description(value));
  return list;
}

/// A model, and the module that runs it.
struct LoadedModel {
  Model model;
  std::shared_ptr<Module> module;

  /// A value for each input, None where one is left out.
  nb::list call(nb::handle given) const {
    Vars inputs;
    bool computed_all = true;
    {
      const Guard guard;
      for (nb::handle item : given) {
        if (is_var(item)) {
          const Var& x = var_of(item);
          if (depends(x)) {
            inputs.push_back(x), computed_all = false;
          } else if (x.is_tensor()) {
            inputs.emplace_back(computed(x));  // a constant of its own, which other threads do not know
          } else {
            inputs.push_back(x);
          }
        } else if (item.is_none()) {
          inputs.emplace_back();
        } else {
          // The call is over before anybody can change the memory.
          inputs.push_back(Var(tensor_from(item, DType::undefined, Sharing::where_possible)));
        }
      }
      if (!computed_all) return results(module->forward(inputs));
    }
    Vars outputs;
    {
      const nb::gil_scoped_release release;
      outputs = module->forward(inputs);
    }
    const Guard guard;
    return results(outputs);
  }

 private:
  // Whether a value is known only when a placeholder is fed or a parameter changes.
  static bool depends(const Var& x) { return !x.is_computed() && (!expr::placeholders({x}).empty() || !expr::trainables({x}).empty()); }
  static nb::list results(const Vars& outputs) {
    nb::list list;
    for (const Var& x : outputs) list.append(x.is_tensor() ? nb::cast(x) : from_datum(x.datum()));
    return list;
  }
};

ConvertOptions convert_options(const std::string& optimize, const std::map<std::string, std::vector<int64_t>>& shapes,
                               const std::map<std::string, std::string>& renames, const std::string& signature, bool verify) {
  ConvertOptions options;
  if (optimize != "none" && optimize != "standard" && optimize != "train")
    throw InvalidArgument("optimize is \"{}\"; there are none, standard and train", optimize);
  options.optimize = optimize == "none" ? Optimize::none : optimize == "train" ? Optimize::train : Optimize::standard;
  options.operators = operators_now();
  options.shapes = shapes, options.renames = renames, options.signature = signature, options.verify = verify;
  return options;
}

}  // namespace

SessionOptions session_options(nb::handle threads, nb::handle precision, nb::handle memory, nb::handle backends, nb::handle memory_limit) {
  SessionOptions options;
  options.threads = argument<int>(threads, "threads", "an integer");
  options.precision = argument<std::string>(precision, "precision", "a text");
  options.memory = argument<std::string>(memory, "memory", "a text");
  options.backends = argument<std::vector<std::string>>(backends, "backend", "a name or a list of names");
  options.memory_limit = argument<size_t>(memory_limit, "memory_limit", "a number of bytes");
  if (options.threads < 0) throw InvalidArgument("threads is {}; it is a number of threads, or 0 for all cores", options.threads);
  if (options.backends.empty()) throw InvalidArgument("no backend is given; there are cpu and reference");
  return options;
}

void define_models(nb::module_& m) {
  nb::class_<Model>(m, "ModelData", "A model's graph and weights.")
      .def_prop_ro("inputs", [](const Model& self) { return descriptions(self.inputs()); })
      .def_prop_ro("outputs", [](const Model& self) { return descriptions(self.outputs()); })
      .def_prop_ro("states", [](const Model& self) { return descriptions(self.states()); })
      .def_prop_ro("labels", [](const Model& self) { return self.labels(); })
      .def_prop_ro("properties", [](const Model& self) { return self.properties(); })
      .def_prop_ro("nodes",
                   [](const Model& self) {
                     nb::list list;
                     for (const Node& node : self.graph().nodes()) {
                       nb::list inputs, outputs;
                       for (size_t i = 0; i < node.input_count(); ++i) inputs.append(node.input(i) ? node.input(i)->name() : std::string());
                       for (size_t i = 0; i < node.output_count(); ++i)
                         outputs.append(node.output(i) ? node.output(i)->name() : std::string());
                       list.append(nb::make_tuple(node.name(), std::string(node.op()), inputs, outputs));
                     }
                     return list;
                   })
      .def_prop_ro("weight_bytes", &Model::weight_bytes);
  m.def(
      "read_model",
      [](nb::handle files, nb::handle optimize, nb::handle shapes, nb::handle renames, nb::handle signature, bool verify) {
        const auto paths = argument<std::vector<std::string>>(files, "path", "texts");
        const ConvertOptions options =
            convert_options(argument<std::string>(optimize, "optimize", "a text"),
                            argument<std::map<std::string, std::vector<int64_t>>>(shapes, "shapes", "lists of integers by name"),
                            argument<std::map<std::string, std::string>>(renames, "rename", "names by name"),
                            argument<std::string>(signature, "signature", "a text"), verify);
        const nb::gil_scoped_release release;
        return convert(paths, options);
      },
      nb::arg("paths").none(), nb::arg("optimize").none(), nb::arg("shapes").none(), nb::arg("renames").none(), nb::arg("signature").none(),
      nb::arg("verify"));
  m.def(
      "read_model_bytes",
      [](nb::handle bytes, const std::string& optimize) {
        const Tensor tensor = tensor_from(bytes, DType::undefined, Sharing::where_possible);
        const ConvertOptions options = convert_options(optimize, {}, {}, "", false);
        const nb::gil_scoped_release release;
        return convert_memory({static_cast<const std::byte*>(tensor.data()), tensor.bytes()}, options);
      },
      nb::arg("bytes"), nb::arg("optimize"));
  m.def(
      "write_model",
      [](const Model& model, nb::handle file, bool external_data, nb::handle opset) {
        const auto path = argument<std::string>(file, "path", "a text");
        SaveOptions options;
        options.external_data = external_data, options.opset = argument<int>(opset, "opset", "an integer");
        const nb::gil_scoped_release release;
        save(model, path, options);
      },
      nb::arg("model"), nb::arg("path").none(), nb::arg("external_data"), nb::arg("opset").none());
  m.def("formats", &formats);
  nb::class_<LoadedModel>(m, "LoadedModel")
      .def_ro("model", &LoadedModel::model)
      .def("__call__", &LoadedModel::call, nb::arg("inputs"))
      .def("clone", [](const LoadedModel& self) {
        return LoadedModel{self.model, self.module->clone()};
      });
  m.def(
      "load_module",
      [](const Model& model, nb::handle input_names, nb::handle output_names, nb::handle threads, nb::handle precision, nb::handle memory,
         nb::handle backends, nb::handle memory_limit, nb::handle time_limit) {
        SessionOptions options = session_options(threads, precision, memory, backends, memory_limit);
        options.time_limit = argument<double>(time_limit, "time_limit", "a number of seconds");
        if (!(options.time_limit >= 0))
          throw InvalidArgument("time_limit is {}; it is a number of seconds, or 0 for none", options.time_limit);
        const auto inputs = argument<std::vector<std::string>>(input_names, "inputs", "a list of names");
        const auto outputs = argument<std::vector<std::string>>(output_names, "outputs", "a list of names");
        const nb::gil_scoped_release release;
        std::shared_ptr<Module> module = load_module(model, inputs, outputs, options);
        if (inputs.empty() && outputs.empty()) return LoadedModel{model, std::move(module)};
        const auto names = [](const std::vector<std::string>& given, const std::vector<ValueDescription>& own) {
          std::vector<std::string> list = given;
          if (list.empty())
            for (const ValueDescription& value : own) list.push_back(value.name);
          return list;
        };
        return LoadedModel{model.between(names(inputs, model.inputs()), names(outputs, model.outputs())), std::move(module)};
      },
      nb::arg("model"), nb::arg("inputs").none(), nb::arg("outputs").none(), nb::arg("threads").none(), nb::arg("precision").none(),
      nb::arg("memory").none(), nb::arg("backends").none(), nb::arg("memory_limit").none(), nb::arg("time_limit").none());
}

}  // namespace minnow::python

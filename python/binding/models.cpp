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

SessionOptions options_from(int threads, const std::string& precision, const std::string& memory, const std::vector<std::string>& backends,
                            size_t memory_limit, double time_limit) {
  SessionOptions options;
  if (threads < 0) throw InvalidArgument("threads is {}; 0 takes all cores", threads);
  options.threads = threads, options.precision = precision, options.memory = memory;
  options.backends = backends, options.memory_limit = memory_limit, options.time_limit = time_limit;
  return options;
}

ConvertOptions convert_options(const std::string& optimize, const std::map<std::string, std::vector<int64_t>>& shapes,
                               const std::map<std::string, std::string>& renames, const std::string& signature, bool verify) {
  ConvertOptions options;
  if (optimize != "none" && optimize != "standard" && optimize != "train")
    throw InvalidArgument("optimize is \"{}\"; there are none, standard and train", optimize);
  options.optimize = optimize == "none" ? Optimize::none : optimize == "train" ? Optimize::train : Optimize::standard;
  options.shapes = shapes, options.renames = renames, options.signature = signature, options.verify = verify;
  return options;
}

}  // namespace

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
      [](const std::vector<std::string>& paths, const std::string& optimize, const std::map<std::string, std::vector<int64_t>>& shapes,
         const std::map<std::string, std::string>& renames, const std::string& signature, bool verify) {
        const ConvertOptions options = convert_options(optimize, shapes, renames, signature, verify);
        const nb::gil_scoped_release release;
        return convert(paths, options);
      },
      nb::arg("paths"), nb::arg("optimize"), nb::arg("shapes"), nb::arg("renames"), nb::arg("signature"), nb::arg("verify"));
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
      [](const Model& model, const std::string& path, bool external_data, int opset) {
        SaveOptions options;
        options.external_data = external_data, options.opset = opset;
        const nb::gil_scoped_release release;
        save(model, path, options);
      },
      nb::arg("model"), nb::arg("path"), nb::arg("external_data"), nb::arg("opset"));
  m.def("formats", &formats);
  nb::class_<LoadedModel>(m, "LoadedModel")
      .def_ro("model", &LoadedModel::model)
      .def("__call__", &LoadedModel::call, nb::arg("inputs"))
      .def("clone", [](const LoadedModel& self) {
        return LoadedModel{self.model, self.module->clone()};
      });
  m.def(
      "load_module",
      [](const Model& model, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, int threads,
         const std::string& precision, const std::string& memory, const std::vector<std::string>& backends, size_t memory_limit,
         double time_limit) {
        const SessionOptions options = options_from(threads, precision, memory, backends, memory_limit, time_limit);
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
      nb::arg("model"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("threads"), nb::arg("precision"), nb::arg("memory"),
      nb::arg("backends"), nb::arg("memory_limit"), nb::arg("time_limit"));
}

}  // namespace minnow::python

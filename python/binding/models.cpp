// SPDX-License-Identifier: Apache-2.0
// Models that were loaded, and conversion.
#include <minnow/convert.h>
#include <minnow/tune.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/nearest.h"
#include "base/os.h"
#include "binding.h"
#include "buffers.h"
#include "express/loaded_module.h"
#include "express/node.h"
#include "graph/graph.h"
#include "graph/model_file.h"

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

  /// A value for each input, None if one is left out. `arrays`: tensors come as arrays of NumPy that may be written.
  nb::list call(nb::handle given, bool arrays) const {
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
      // States may be part of expressions, which other threads compute only while nobody holds the guard.
      if (!model.states().empty()) return arrays ? arrays_of(run(inputs), inputs) : results(run(inputs));
    }
    const Vars outputs = run(inputs);
    const Guard guard;
    return arrays ? arrays_of(outputs, inputs) : results(outputs);
  }

  /// Runs into the memory of arrays. False if that is impossible: for values that depend on placeholders, sequences, omitted inputs, and
  /// memory that is not row-major or overlaps an input.
  bool run_into(nb::handle given, nb::handle out) const {
    std::vector<Tensor> inputs;
    std::vector<ForeignArray> arrays;
    std::optional<Guard> guard(std::in_place);
    for (nb::handle item : given) {
      if (item.is_none() || (is_var(item) && (depends(var_of(item)) || !var_of(item).is_tensor()))) return false;
      inputs.push_back(tensor_from(item, DType::undefined, Sharing::where_possible));
    }
    for (nb::handle item : out) {
      if (is_var(item)) return false;
      std::optional<ForeignArray> array = writable_array_of_buffer(item);
      if (!array) throw TypeFault("out takes arrays that can be written, and Vars, not {} ({})", shown(item), kind_name(item));
      if (!array->is_plain()) return false;
      arrays.push_back(*std::move(array));
    }
    const std::vector<TensorView> from(inputs.begin(), inputs.end());
    std::vector<MutableTensorView> to;
    for (const ForeignArray& array : arrays) {
      to.emplace_back(array.dtype, array.shape, const_cast<char*>(array.data));
      for (const TensorView& input : from)
        if (overlap(input, to.back())) return false;
      for (size_t i = 0; i + 1 < to.size(); ++i)
        if (overlap(to[i], to.back())) return false;
    }
    if (model.states().empty()) guard.reset();
    {
      const SignalWatch watch;
      const nb::gil_scoped_release release;
      own().run_into(from, to);
    }
    tell_messages();
    return true;
  }

  void prepare(nb::handle given) const {
    std::vector<Shape> shapes;
    for (nb::handle dims : given) shapes.emplace_back(nb::cast<std::vector<int64_t>>(dims));
    {
      const SignalWatch watch;
      const nb::gil_scoped_release release;
      own().prepare(shapes);
    }
    tell_messages();
  }

  Var state(size_t i) const {
    const Guard guard;
    return Var(own().state(i));
  }
  void set_state(size_t i, nb::handle value) const {
    const Guard guard;
    own().set_state(i, tensor_from(value, model.states().at(i).dtype, Sharing::copy));
  }

  void reset_states() const {
    const Guard guard;
    module->reset_states();
  }

 private:
  Vars run(const Vars& inputs) const {
    Vars outputs;
    {
      const SignalWatch watch;
      const nb::gil_scoped_release release;
      outputs = module->forward(inputs);
    }
    tell_messages();
    return outputs;
  }
  express::ModelModule& own() const { return dynamic_cast<express::ModelModule&>(*module); }
  static bool overlap(const TensorView& a, const TensorView& b) {
    const auto at = [](const TensorView& x) { return reinterpret_cast<uintptr_t>(x.data()); };
    return at(a) < at(b) + b.bytes() && at(b) < at(a) + a.bytes();
  }
  /// The memory of results is the caller's where nobody else has it: not a constant of the model, no other result, no input.
  static nb::list arrays_of(const Vars& outputs, const Vars& inputs) {
    nb::list list;
    for (const Var& x : outputs) {
      if (!x.is_tensor()) {
        list.append(from_datum(x.datum()));
        continue;
      }
      const Tensor& tensor = x.tensor();
      const express::LazyValue& value = express::Access::cell(x)->value;
      bool alone = value.node && value.node.use_count() == 1 && tensor.owner() && tensor.owner().use_count() == 1;
      for (const Var& input : inputs) alone = alone && (!input.has_value() || !input.is_tensor() || !overlap(input.tensor(), tensor));
      list.append(to_writable_numpy(alone ? tensor : Tensor(tensor.view())));
    }
    return list;
  }
  // Whether a value becomes another one when a placeholder is fed or a parameter changes.
  static bool depends(const Var& x) {
    const express::LazyValue value = express::value_of(x);
    return value.node->fed_by_others || value.node->keeps_inputs;
  }
  static nb::list results(const Vars& outputs) {
    nb::list list;
    for (const Var& x : outputs) list.append(x.is_tensor() ? nb::cast(x) : from_datum(x.datum()));
    return list;
  }
};

/// `given`: the level of optimization; None takes a .minnow file as convert() wrote it and anything else by the standard.
ConvertOptions convert_options(nb::handle given) {
  ConvertOptions options;
  options.optimize = Optimize::once;
  if (!given.is_none()) {
    const auto level = argument<std::string>(given, "optimize", "a text");
    if (level != "none" && level != "standard" && level != "train")
      throw InvalidArgument("optimize is \"{}\"; there are none, standard and train", level);
    options.optimize = level == "none" ? Optimize::none : level == "train" ? Optimize::train : Optimize::standard;
  }
  options.operators = operators_now();
  return options;
}

nb::list texts(const std::vector<std::string>& lines) {
  nb::list list;
  for (const std::string& line : lines) list.append(line);
  return list;
}

nb::list rows_of(const PlanReport& report) {
  nb::list rows;
  for (const PlanRow& row : report.rows) {
    nb::list candidates;
    for (const SchemeTime& time : row.candidates) candidates.append(nb::make_tuple(time.scheme, time.seconds));
    rows.append(nb::make_tuple(row.node, row.op, row.scheme, row.backend, row.shape, row.layout, row.owner, row.depth, row.output_bytes,
                               row.scratch_bytes, row.operations, row.estimated_seconds, row.best_seconds, row.runs, row.calls, row.threads,
                               texts(row.refused), candidates));
  }
  return rows;
}

std::vector<Tensor> tensors(nb::handle given) {
  std::vector<Tensor> list;
  for (nb::handle item : given) list.push_back(tensor_from(item, DType::undefined, Sharing::copy));
  return list;
}

/// Makes a callback of a Python function, which gets a node's name, its operator and its inputs (or outputs); None for non-tensors.
NodeCallback observer(const nb::object& function, bool is_before) {
  if (function.is_none()) return {};
  return [function = function.ptr(), is_before](NodeEvent& event) {
    const nb::gil_scoped_acquire acquire;
    nb::list values;
    for (size_t i = 0, count = is_before ? event.input_count() : event.output_count(); i < count; ++i) {
      try {
        values.append(nb::cast(Var(is_before ? event.input(i) : event.output(i))));
      } catch (const InvalidArgument&) {
        values.append(nb::none());
      }
    }
    const nb::object result =
        nb::handle(function)(nb::str(event.name().data(), event.name().size()), nb::str(event.op().data(), event.op().size()), values);
    return nb::cast<bool>(nb::bool_(result));
  };
}

/// Calls a function of Python, which may be None, with the part of the work that is done; not more often than a person can see.
std::function<void(double)> teller(const nb::object& function) {
  using Clock = std::chrono::steady_clock;
  return [function = function.ptr(), last = Clock::time_point()](double part) mutable {
    const Clock::time_point now = Clock::now();
    if (function == Py_None || now - last < std::chrono::milliseconds(50)) return;
    last = now;
    const nb::gil_scoped_acquire acquire;
    const nb::handle callback(function);
    callback(std::min(part, 1.0));
  };
}

/// Runs a model on the same inputs for some time, at least once; returns the seconds of each run, and the plan with the times of its nodes.
nb::tuple measure(const Model& model, nb::handle given, double seconds, bool profile, const SessionOptions& options,
                  const nb::object& progress) {
  const std::vector<Tensor> values = tensors(given);
  const std::vector<Datum> inputs(values.begin(), values.end());
  std::vector<double> times;
  PlanReport report;
  std::string trace;
  {
    const SignalWatch watch;
    const nb::gil_scoped_release release;
    Session session(model, options);
    session.run_any(inputs);  // plans
    session.set_profiling(profile);
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const auto since = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
    const auto tell = teller(progress);
    do {
      const Clock::time_point start = Clock::now();
      session.run_any(inputs);
      times.push_back(since(start));
      tell(since(begin) / seconds);
    } while (since(begin) < seconds);
    report = session.plan_report();
    if (profile) trace = chrome_trace(report);
  }
  return nb::make_tuple(nb::cast(times), rows_of(report), report.arena_bytes, report.arena_lower_bound, trace);
}

}  // namespace

RunOptions run_options(const nb::dict& given) {
  static const std::vector<std::string> kNames = {"threads",     "precision", "memory", "backend",      "memory_limit", "time_limit",
                                                  "pin_threads", "power",     "tuning", "weight_cache", "kernel_cache", "fallback"};
  RunOptions made;
  SessionOptions& options = made.session;
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "threads") {
      options.threads = argument<int>(value, "threads", "an integer");
      if (options.threads < 0) throw InvalidArgument("threads is {}; it is a number of threads, or 0 for all cores", options.threads);
    } else if (name == "precision") {
      options.precision = argument<std::string>(value, "precision", "a text");
    } else if (name == "memory") {
      options.memory = argument<std::string>(value, "memory", "a text");
    } else if (name == "backend") {
      options.backends = nb::isinstance<nb::str>(value) ? std::vector<std::string>{nb::cast<std::string>(value)}
                                                        : argument<std::vector<std::string>>(value, "backend", "a name or a list of names");
      if (options.backends.empty()) throw InvalidArgument("no backend is given; cpu is one of them");
      for (const std::string& backend : options.backends)
        if (backend == "auto" || backend.starts_with("cuda")) nb::module_::import_("minnow._nvrtc").attr("find")();
    } else if (name == "memory_limit") {
      options.memory_limit = argument<size_t>(value, "memory_limit", "a number of bytes");
    } else if (name == "time_limit") {
      options.time_limit = argument<double>(value, "time_limit", "a number of seconds");
      if (!(options.time_limit >= 0))
        throw InvalidArgument("time_limit is {}; it is a number of seconds, or 0 for none", options.time_limit);
    } else if (name == "pin_threads") {
      options.pin_threads = argument<bool>(value, "pin_threads", "True or False");
    } else if (name == "power") {
      options.power = argument<std::string>(value, "power", "a text");
      (void)with_power({}, options.power);  // an error in the word comes now
    } else if (name == "tuning") {
      if (!value.is_none())
        made.tuning = argument<std::string>(nb::module_::import_("minnow._files").attr("path_of")(value), "tuning", "a path");
    } else if (name == "weight_cache") {
      if (!value.is_none())
        options.weight_cache =
            argument<std::string>(nb::module_::import_("minnow._files").attr("path_of")(value), "weight_cache", "a path");
    } else if (name == "kernel_cache") {
      if (!value.is_none())
        options.kernel_cache =
            argument<std::string>(nb::module_::import_("minnow._files").attr("path_of")(value), "kernel_cache", "a path");
    } else if (name == "fallback") {
      options.fallback = argument<bool>(value, "fallback", "True or False");
    } else {
      throw TypeFault("there is no option \"{}\"{}", name, nearest(name, kNames));
    }
  }
  return made;
}

SessionOptions RunOptions::of(const Model& model) const {
  SessionOptions result = session;
  if (tuning.empty() && session.weight_cache.empty() && session.kernel_cache.empty()) return result;
  {
    const SignalWatch watch;
    const nb::gil_scoped_release release;
    if (!tuning.empty()) result = tuned(model, session, tuning);
    if (!session.weight_cache.empty() || !session.kernel_cache.empty()) Session(model, result);  // which reads the file
  }
  tell_messages();
  return result;
}

namespace {

/// A file that is written from Python.
class NewFile {
 public:
  explicit NewFile(const std::string& path) { file_.emplace(path); }
  int descriptor() const {
    if (!file_) throw InvalidArgument("the file was discarded");
    return file_->descriptor();
  }
  void publish() {
    descriptor();
    file_->publish();
  }
  void discard() noexcept { file_.reset(); }

 private:
  std::optional<os::NewFile> file_;
};

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
      .def_prop_ro("text", [](const Model& self) { return to_text(self.graph()); })
      .def_prop_ro("weight_bytes", &Model::weight_bytes);
  m.def(
      "read_model",
      [](nb::handle files, nb::handle optimize, nb::handle shapes, nb::handle renames, nb::handle keep_inputs, nb::handle labels,
         nb::handle properties, nb::handle signature, nb::handle format, bool verify, nb::handle memory_limit, nb::object progress) {
        const bool in_memory = !PyList_Check(files.ptr());
        const Tensor memory = in_memory ? bytes_of_buffer(files) : Tensor();
        const auto paths = in_memory ? std::vector<std::string>() : argument<std::vector<std::string>>(files, "path", "texts");
        ConvertOptions options = convert_options(optimize);
        options.shapes = argument<std::map<std::string, std::vector<int64_t>>>(shapes, "shapes", "lists of integers by name");
        options.renames = argument<std::map<std::string, std::string>>(renames, "rename", "names by name");
        options.keep_inputs = argument<std::vector<std::string>>(keep_inputs, "keep_inputs", "a list of names");
        options.labels = argument<std::vector<std::string>>(labels, "labels", "a list of names");
        options.properties = argument<std::map<std::string, std::string>>(properties, "properties", "texts by name");
        options.signature = argument<std::string>(signature, "signature", "a text");
        options.format = argument<std::string>(format, "format", "a text"), options.verify = verify;
        options.memory_limit = argument<size_t>(memory_limit, "memory_limit", "a number of bytes");
        std::vector<std::string> warnings, passes;
        options.warn = [&](std::string_view message) { warnings.emplace_back(message); };
        options.dump_passes = [&](std::string_view line) { passes.emplace_back(line); };
        options.progress = [&](double part) {
          const nb::gil_scoped_acquire acquire;
          if (!progress.is_none()) progress(part);
        };
        Model model = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          if (!in_memory) return convert(paths, options);
          return convert_memory({static_cast<const std::byte*>(memory.data()), memory.bytes()}, options, memory.owner());
        }();
        return nb::make_tuple(std::move(model), texts(warnings), texts(passes));
      },
      nb::arg("source").none(), nb::arg("optimize").none(), nb::arg("shapes").none(), nb::arg("renames").none(),
      nb::arg("keep_inputs").none(), nb::arg("labels").none(), nb::arg("properties").none(), nb::arg("signature").none(),
      nb::arg("format").none(), nb::arg("verify"), nb::arg("memory_limit").none(), nb::arg("progress").none(),
      "From a list of paths, or from bytes that nobody changes.");
  m.def(
      "optimized",
      [](const Model& model, nb::handle optimize) {
        const ConvertOptions options = convert_options(optimize);
        const SignalWatch watch;
        const nb::gil_scoped_release release;
        return convert_model(model, options);
      },
      nb::arg("model"), nb::arg("optimize").none());
  m.def(
      "model_bytes",
      [](const Model& model) {
        std::vector<std::byte> bytes;
        {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          write_model_to(model.graph(), [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
        }
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("model"), "A model as the bytes of a .minnow file.");
  m.def(
      "write_model",
      [](const Model& model, nb::handle file, bool external_data, nb::handle opset, nb::handle weights, bool compress) {
        const auto path = argument<std::string>(file, "path", "a text");
        SaveOptions options;
        options.external_data = external_data, options.opset = argument<int>(opset, "opset", "an integer");
        options.weights = argument<std::string>(weights, "weights", "a text");
        options.compress = compress;
        std::vector<std::string> kept;
        options.warn = [&](std::string_view message) { kept.emplace_back(message); };
        {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          save(model, path, options);
        }
        return texts(kept);
      },
      nb::arg("model"), nb::arg("path").none(), nb::arg("external_data"), nb::arg("opset").none(), nb::arg("weights").none(),
      nb::arg("compress") = false);
  m.def(
      "measure",
      [](const Model& model, nb::handle inputs, nb::handle seconds, bool profile, bool explain, const nb::dict& options,
         const nb::object& progress) {
        SessionOptions session = run_options(options).of(model);
        session.explain = explain;
        return measure(model, inputs, argument<double>(seconds, "seconds", "a number"), profile, session, progress);
      },
      nb::arg("model"), nb::arg("inputs"), nb::arg("seconds").none(), nb::arg("profile"), nb::arg("explain"), nb::arg("options"),
      nb::arg("progress").none());
  m.def(
      "run_observed",
      [](const Model& model, nb::handle given, const nb::object& before, const nb::object& after, const nb::dict& options) {
        const std::vector<Tensor> values = tensors(given);
        Session session(model, run_options(options).of(model));
        session.set_callbacks(observer(before, true), observer(after, false));
        std::vector<Datum> results;
        {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          results = session.run_any(std::vector<Datum>(values.begin(), values.end()));
        }
        nb::list list;
        for (const Datum& result : results) list.append(from_datum(result));
        return list;
      },
      nb::arg("model"), nb::arg("inputs"), nb::arg("before").none(), nb::arg("after").none(), nb::arg("options"),
      "One run in which before(name, operator, inputs) and after(name, operator, outputs) are called for every node; false ends the run.");
  m.def(
      "check_replaceable",
      [](const std::string& path, const std::string& magic, const std::string& what) { os::check_replaceable(path, magic, what); },
      nb::arg("path"), nb::arg("magic"), nb::arg("what"), "Raises where the file holds something that does not begin with `magic`.");
  nb::class_<NewFile>(m, "NewFile", "A file that gets its name when publish() is called, and is gone where it is not.")
      .def(nb::init<const std::string&>(), nb::arg("path"))
      .def_prop_ro("descriptor", &NewFile::descriptor)
      .def("publish", &NewFile::publish)
      .def("discard", &NewFile::discard);
  m.def(
      "tune",
      [](const Model& model, nb::handle given, nb::handle file, nb::handle seconds, const nb::dict& options, const nb::object& progress) {
        const std::vector<Tensor> inputs = tensors(given);
        const SessionOptions session = run_options(options).session;
        const auto path = argument<std::string>(file, "file", "a text");
        const auto limit = argument<double>(seconds, "seconds", "a number");
        check_tuning_file(path);
        Tuning tuning;
        {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          const std::vector<TensorView> views(inputs.begin(), inputs.end());
          tuning = tune(model, session, views, limit, teller(progress));
          save_tuning(path, model, session, tuning);
        }
        nb::list times;
        for (const SchemeTime& time : tuning.times) times.append(nb::make_tuple(time.node, time.scheme, time.seconds));
        return nb::make_tuple(tuning.threads, times, tuning.seconds_by_estimate, tuning.seconds_tuned, tuning.active_wait,
                              tuning.pin_threads, tuning.cores);
      },
      nb::arg("model"), nb::arg("inputs"), nb::arg("file").none(), nb::arg("seconds").none(), nb::arg("options"),
      nb::arg("progress").none());
  m.def("formats", &formats);
  m.def(
      "nearest", [](const std::string& name, const std::vector<std::string>& names) { return nearest(name, names); }, nb::arg("name"),
      nb::arg("names"), "The names that are written most like one, for errors: `; the nearest are ...`.");
  nb::class_<LoadedModel>(m, "LoadedModel")
      .def_ro("model", &LoadedModel::model)
      .def("__call__", &LoadedModel::call, nb::arg("inputs"), nb::arg("arrays") = false)
      .def("run_into", &LoadedModel::run_into, nb::arg("inputs"), nb::arg("out"))
      .def("prepare", &LoadedModel::prepare, nb::arg("shapes"))
      .def("state", &LoadedModel::state, nb::arg("index"))
      .def("set_state", &LoadedModel::set_state, nb::arg("index"), nb::arg("value").none())
      .def("reset_states", &LoadedModel::reset_states)
      .def("clone", [](const LoadedModel& self) {
        return LoadedModel{self.model, self.module->clone()};
      });
  m.def(
      "load_module",
      [](const Model& model, nb::handle input_names, nb::handle output_names, const nb::dict& given) {
        const SessionOptions options = run_options(given).of(model);
        const auto inputs = argument<std::vector<std::string>>(input_names, "inputs", "a list of names");
        const auto outputs = argument<std::vector<std::string>>(output_names, "outputs", "a list of names");
        std::shared_ptr<Module> module;
        {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          module = load_module(model, inputs, outputs, options);
        }
        tell_messages();
        if (inputs.empty() && outputs.empty()) return LoadedModel{model, std::move(module)};
        const auto names = [](const std::vector<std::string>& given, const std::vector<ValueDescription>& own) {
          std::vector<std::string> list = given;
          if (list.empty())
            for (const ValueDescription& value : own) list.push_back(value.name);
          return list;
        };
        return LoadedModel{model.between(names(inputs, model.inputs()), names(outputs, model.outputs())), std::move(module)};
      },
      nb::arg("model"), nb::arg("inputs").none(), nb::arg("outputs").none(), nb::arg("options"));
}

}  // namespace minnow::python

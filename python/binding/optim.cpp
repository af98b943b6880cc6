// SPDX-License-Identifier: Apache-2.0
// minnow._minnow.optim, of which minnow.optim is made: optimizers, schedules, and optimizers that are written in Python.
#include <minnow/train.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "binding.h"
#include "buffers.h"
#include "functions.h"
#include "train/custom.h"

namespace minnow::python {
namespace {

Setting setting_from(nb::handle object, const std::string& name) {
  PyObject* o = object.ptr();
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_Check(o)) return argument<int64_t>(object, name.c_str(), "a number of 64 bits");
  if (PyUnicode_Check(o)) return nb::cast<std::string>(object);
  if (PyList_Check(o) || PyTuple_Check(o)) return argument<std::vector<double>>(object, name.c_str(), "a list of numbers");
  const double value = PyFloat_AsDouble(o);
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw TypeFault("{} takes a number, a truth value or a list of numbers, not {}", name, shown(object));
  }
  return value;
}
Settings settings_from(const nb::dict& given) {
  Settings settings;
  for (const auto& [key, value] : given) {
    std::string name = nb::cast<std::string>(key);
    settings.emplace_back(name, setting_from(value, name));
  }
  return settings;
}
nb::object object_of(const Setting& value) {
  return std::visit([](const auto& x) -> nb::object { return nb::cast(x); }, value);
}

/// Parameters and gradients of one call. A Var has memory for reading: its copy is updated, and becomes its value.
class Tensors {
 public:
  Tensors(const std::vector<std::string>& names, const nb::list& parameters, const nb::list& gradients, const nb::list& curvatures) {
    const Guard guard;
    for (size_t i = 0; i < names.size(); ++i) {
      Trainable& tensor = tensors.emplace_back();
      tensor.name = names[i];
      const nb::handle object = parameters[i];
      if (is_var(object)) {
        copies_.emplace_back(nb::borrow(object), computed(var_of(object)).clone());
        tensor.values = copies_.back().second.writable();
      } else {
        const std::optional<ForeignArray> array = writable_array_of_buffer(object);
        if (!array || !array->is_plain())
          throw TypeFault("parameter \"{}\" is {}; parameters are Vars, and arrays of NumPy that may be written and lie row by row",
                          names[i], kind_name(object));
        tensor.values = MutableTensorView(array->dtype, array->shape, const_cast<char*>(array->data));
        owners_.push_back(array->owner);
      }
      tensor.gradient = view_of(gradients, i, tensor.values.dtype());
      tensor.curvature = view_of(curvatures, i, tensor.values.dtype());
    }
  }
  void assign() {
    const Guard guard;
    for (auto& [object, copy] : copies_) var_of(object).assign(Var(std::move(copy)));
  }
  /// For a loss that is computed several times: the parameters get the values of now, and its gradients memory that stays.
  void show() const {
    const Guard guard;
    for (const auto& [object, copy] : copies_) var_of(object).assign(Var(copy.clone()));
  }
  void set_gradients(const nb::list& given) {
    const Guard guard;
    if (nb::len(given) != tensors.size())
      throw TypeFault("there are {} parameters, the loss gives {} gradients", tensors.size(), nb::len(given));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const DType dtype = tensors[i].values.dtype();
      const Tensor gradient = tensor_from(given[i], dtype, Sharing::where_possible);
      if (!(gradient.shape() == tensors[i].values.shape()))
        throw TypeFault("parameter \"{}\" has shape {}, its gradient {}", tensors[i].name, tensors[i].values.shape(), gradient.shape());
      if (gradients_.size() == i) tensors[i].gradient = gradients_.emplace_back(dtype, gradient.shape()).view();
      if (gradient.bytes() > 0) std::memcpy(gradients_[i].writable().data(), gradient.data(), gradient.bytes());
    }
  }

  std::vector<Trainable> tensors;

 private:
  TensorView view_of(const nb::list& given, size_t i, DType dtype) {
    if (i >= nb::len(given) || nb::object(given[i]).is_none()) return {};
    return kept_.emplace_back(tensor_from(given[i], dtype, Sharing::where_possible)).view();
  }
  std::deque<std::pair<nb::object, Tensor>> copies_;
  std::deque<Tensor> kept_, gradients_;
  std::vector<std::shared_ptr<const void>> owners_;
};

struct BoundOptimizer {
  explicit BoundOptimizer(const Optimizer::Config& config) : optimizer(Optimizer::create(config)) {}
  /// Calls f with the tensors, without the GIL.
  template <class F>
  void with(const Tensors& tensors, F f) {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(lock);
    f(*optimizer, std::span<const Trainable>(tensors.tensors));
  }
  std::shared_ptr<Optimizer> optimizer;
  std::mutex lock;
};

/// The arrays of a batch.
class Batch {
 public:
  explicit Batch(const nb::list& arrays) {
    const Guard guard;
    for (nb::handle array : arrays)
      views_.push_back(kept_.emplace_back(tensor_from(array, DType::undefined, Sharing::where_possible)).view());
  }
  std::span<const TensorView> views() const { return views_; }

 private:
  std::deque<Tensor> kept_;
  std::vector<TensorView> views_;
};

/// The function of Python that records a loss.
TrainingStep::Loss recording(const nb::object& function) {
  return [kept = keep(nb::object(function))](const Vars& batch) {
    nb::list arrays;
    for (const Var& x : batch) arrays.append(nb::cast(x));
    Vars results;
    for (nb::handle result : (*static_cast<const nb::object*>(kept.get()))(arrays)) results.push_back(var_of(result));
    return results;
  };
}

struct BoundStep {
  BoundStep(const nb::object& loss, const std::vector<std::string>& names, const Vars& parameters, const nb::object& optimizer,
            uint64_t seed, size_t memory, const nb::object& curvature)
      : bound(nb::cast<BoundOptimizer&>(optimizer)), owner(keep(nb::object(optimizer))) {
    std::vector<std::pair<std::string, Var>> named;
    for (size_t i = 0; i < names.size(); ++i) named.emplace_back(names[i], parameters[i]);
    TrainingStep::Options options{seed, memory};
    if (!curvature.is_none()) options.curvature = recording(curvature);
    step.emplace(recording(loss), std::move(named), bound.optimizer, options);
  }
  void prepare(const Batch& batch) {
    if (step->is_prepared(batch.views())) return;
    const Guard guard;
    std::vector<std::pair<DType, Shape>> types;
    for (const TensorView& view : batch.views()) types.emplace_back(view.dtype(), view.shape());
    step->prepare(types);  // calls the loss function
  }
  nb::list run(const nb::list& arrays) {
    const Batch batch(arrays);
    prepare(batch);
    std::vector<Tensor> results;
    {
      const SignalWatch watch;
      const nb::gil_scoped_release release;
      const std::lock_guard lock(bound.lock);
      for (const Tensor& result : step->run(batch.views())) results.push_back(result.clone());
    }
    nb::list vars;
    for (Tensor& result : results) vars.append(nb::cast(Var(std::move(result))));
    return vars;
  }
  BoundOptimizer& bound;
  std::shared_ptr<const void> owner;  // of the bound optimizer
  std::optional<TrainingStep> step;
};

struct PythonOptimizer {
  std::string name, doc;
  PyObject* function;  // lives as long as the process
  std::vector<std::string> names, meanings, states;
  std::vector<minnow_optimizer_setting> settings;
  std::vector<const char*> state_names;
  minnow_custom_optimizer table;
};

/// The function gets copies, and changes the weights and states there.
int update(minnow_optimizer_call* call, void* user) {
  const PythonOptimizer& optimizer = *static_cast<const PythonOptimizer*>(user);
  const nb::gil_scoped_acquire acquire;
  const Outermost outermost;
  const auto fail = [&](const std::string& sentence) {
    std::strncpy(call->error, sentence.c_str(), call->error_size - 1);
    return 1;
  };
  try {
    const DType dtype = static_cast<DType>(call->dtype);
    const Shape shape(std::span<const int64_t>(call->dims, static_cast<size_t>(call->rank)));
    const auto copy_of = [&](const void* data) { return Tensor(TensorView(dtype, shape, data)); };
    const Tensor values = copy_of(call->values);
    std::vector<Tensor> states;
    nb::dict named, settings;
    for (size_t i = 0; i < optimizer.states.size(); ++i)
      named[optimizer.states[i].c_str()] = to_writable_numpy(states.emplace_back(copy_of(call->states[i])));
    for (size_t i = 0; i < optimizer.names.size(); ++i) settings[optimizer.names[i].c_str()] = call->settings[i];
    settings["lr"] = call->learning_rate;
    settings["weight_decay"] = call->weight_decay;
    settings["step"] = call->step;
    nb::borrow(optimizer.function)(to_writable_numpy(values), to_writable_numpy(copy_of(call->gradient)), named, settings);
    if (values.bytes() > 0) std::memcpy(call->values, values.data(), values.bytes());
    for (size_t i = 0; i < states.size(); ++i)
      if (states[i].bytes() > 0) std::memcpy(call->states[i], states[i].data(), states[i].bytes());
    return 0;
  } catch (nb::python_error& error) {
    const std::string text = nb::cast<std::string>(nb::str(error.value()));
    return fail(text.empty() ? kind_name(error.value()) : format("{}: {}", kind_name(error.value()), text));
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

void register_python(const std::string& name, const std::string& doc, double lr, const nb::dict& settings,
                     const std::vector<std::string>& states, double operations, const nb::object& function) {
  static auto* written = new std::deque<PythonOptimizer>;
  PythonOptimizer& made = written->emplace_back();
  made.name = name, made.doc = doc, made.states = states;
  for (const auto& [key, value] : settings) made.names.push_back(nb::cast<std::string>(key));
  for (size_t i = 0; i < made.names.size(); ++i)
    made.settings.push_back({made.names[i].c_str(), argument<double>(settings[made.names[i].c_str()], made.names[i].c_str(), "a number"),
                             -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), nullptr});
  for (const std::string& state : made.states) made.state_names.push_back(state.c_str());
  made.table = {
      sizeof(minnow_custom_optimizer), made.name.c_str(),       made.doc.c_str(), &made, lr, made.settings.data(), made.settings.size(),
      made.state_names.data(),         made.state_names.size(), operations,       update};
  train::register_custom(&made.table, "this process", false);
  made.function = nb::object(function).release().ptr();
}

Schedule lambda_of(const nb::object& function) {
  const std::shared_ptr<const void> kept = keep(nb::object(function));
  return Schedule::lambda([kept](int64_t t) {
    const nb::gil_scoped_acquire acquire;
    return nb::cast<double>((*static_cast<const nb::object*>(kept.get()))(t));
  });
}

}  // namespace

void define_optim(nb::module_& m) {
  nb::module_ optim = m.def_submodule("optim");
  nb::class_<Schedule>(optim, "Schedule")
      .def(nb::init<>())
      .def(
          "at", [](const Schedule& schedule, int64_t t) { return schedule.at(t); }, nb::arg("t"))
      .def(
          "observe", [](Schedule& schedule, double metric) { schedule.observe(metric); }, nb::arg("metric"));
  optim.def("schedule", [](const std::string& name, const nb::dict& settings) { return Schedule::create(name, settings_from(settings)); });
  optim.def("schedule_lambda", lambda_of);
  optim.def("schedule_sequential", [](const std::vector<Schedule>& schedules, const std::vector<int64_t>& milestones) {
    return Schedule::sequential(schedules, milestones);
  });
  optim.def("schedule_chained", [](const std::vector<Schedule>& schedules) { return Schedule::chained(schedules); });
  optim.def("schedule_names", schedule_names);
  optim.def("names", optimizer_names);
  optim.def("describe", [](const std::string& name) {
    const OptimizerDescription description = describe_optimizer(name);
    nb::list settings;
    for (const OptimizerSetting& setting : description.settings)
      settings.append(nb::make_tuple(setting.name, object_of(setting.fallback), setting.meaning));
    return nb::make_tuple(description.formula, settings);
  });
  optim.def("register", register_python);
  optim.def("load", [](const std::string& path) { return load_optimizers(path); });
  nb::class_<BoundOptimizer>(optim, "Optimizer")
      .def("__init__",
           [](BoundOptimizer* self, const std::string& name, const nb::dict& settings, const nb::dict& groups, const nb::dict& options,
              const Schedule& schedule) {
             Optimizer::Config config;
             config.name = name;
             config.settings = settings_from(settings);
             for (const auto& [pattern, values] : groups)
               config.groups.push_back({nb::cast<std::string>(pattern), settings_from(nb::cast<nb::dict>(values))});
             config.schedule = schedule;
             const auto number = [&](const char* key) { return argument<double>(options[key], key, "a number"); };
             config.accumulate = argument<int>(options["accumulate"], "accumulate", "an integer");
             config.threads = argument<int>(options["threads"], "threads", "an integer");
             config.backend = argument<std::string>(options["backend"], "backend", "the name of a backend");
             if (config.backend.starts_with("cuda")) nb::module_::import_("minnow._nvrtc").attr("find")();
             config.clip_value = number("clip_value"), config.clip_norm = number("clip_norm"),
             config.clip_adaptive = number("clip_adaptive");
             config.average = number("average"), config.sharpness = number("sharpness");
             new (self) BoundOptimizer(config);
           })
      .def("step",
           [](BoundOptimizer& self, const std::vector<std::string>& names, const nb::list& parameters, const nb::list& gradients,
              const nb::list& curvatures) {
             Tensors tensors(names, parameters, gradients, curvatures);
             self.with(tensors, [](Optimizer& optimizer, std::span<const Trainable> items) { optimizer.on_execute(items); });
             tensors.assign();
           })
      .def("minimize",
           [](BoundOptimizer& self, const std::vector<std::string>& names, const nb::list& parameters, const nb::object& function) {
             Tensors tensors(names, parameters, {}, {});
             double first = 0;
             const auto minimize = [&](Optimizer& optimizer, std::span<const Trainable> items) {
               first = optimizer.on_minimize(items, [&] {
                 const nb::gil_scoped_acquire acquire;
                 tensors.show();
                 const nb::tuple made = nb::cast<nb::tuple>(function());
                 tensors.set_gradients(nb::cast<nb::list>(made[1]));
                 return nb::cast<double>(made[0]);
               });
             };
             try {
               self.with(tensors, minimize);
             } catch (...) {
               tensors.assign();  // as they were
               throw;
             }
             tensors.assign();
             return first;
           })
      .def("prepare",
           [](BoundOptimizer& self, const std::vector<std::string>& names, const nb::list& parameters) {
             const Tensors tensors(names, parameters, {}, {});
             self.with(tensors, [](Optimizer& optimizer, std::span<const Trainable> items) { optimizer.on_get_parameters(items); });
           })
      .def("evaluate",
           [](BoundOptimizer& self, const std::vector<std::string>& names, const nb::list& parameters, bool on) {
             Tensors tensors(names, parameters, {}, {});
             self.with(tensors, [&](Optimizer& optimizer, std::span<const Trainable> items) { optimizer.evaluate(items, on); });
             tensors.assign();
           })
      .def("measure",
           [](BoundOptimizer& self, const std::vector<std::string>& names, const nb::list& parameters) {
             const Tensors tensors(names, parameters, {}, {});
             const Optimizer::Cost cost = self.optimizer->on_measure(tensors.tensors);
             return nb::make_tuple(cost.compute, cost.memory);
           })
      .def("state",
           [](BoundOptimizer& self) {
             const Guard guard;
             nb::dict result;
             for (const NamedTensor& entry : self.optimizer->state()) result[entry.name.c_str()] = Var(entry.value);
             return result;
           })
      .def("set_state",
           [](BoundOptimizer& self, const nb::dict& state) {
             const Guard guard;
             std::vector<NamedTensor> entries;
             for (const auto& [name, value] : state)
               entries.push_back({nb::cast<std::string>(name), tensor_from(value, DType::undefined, Sharing::copy)});
             self.optimizer->set_state(entries);
           })
      .def("set",
           [](BoundOptimizer& self, const std::string& name, nb::handle value) { self.optimizer->set(name, setting_from(value, name)); })
      .def("observe", [](BoundOptimizer& self, double metric) { self.optimizer->schedule().observe(metric); })
      .def("factor", [](BoundOptimizer& self) { return self.optimizer->schedule().at(self.optimizer->steps()); })
      .def_prop_ro("steps", [](const BoundOptimizer& self) { return self.optimizer->steps(); })
      .def_prop_ro("gradient_norm", [](const BoundOptimizer& self) { return self.optimizer->gradient_norm(); });
  nb::class_<BoundStep>(optim, "TrainingStep")
      .def(nb::init<const nb::object&, const std::vector<std::string>&, const Vars&, const nb::object&, uint64_t, size_t,
                    const nb::object&>(),
           nb::arg("loss"), nb::arg("names"), nb::arg("parameters"), nb::arg("optimizer"), nb::arg("seed"), nb::arg("memory"),
           nb::arg("curvature").none())
      .def("run", &BoundStep::run)
      .def("prepare", [](BoundStep& self, const nb::list& arrays) { self.prepare(Batch(arrays)); })
      .def("reset", [](BoundStep& self) { self.step->reset(); })
      .def_prop_rw(
          "calls", [](const BoundStep& self) { return self.step->calls(); },
          [](BoundStep& self, int64_t calls) { self.step->set_calls(calls); })
      .def_prop_ro("device", [](const BoundStep& self) { return std::string(self.step->device()); })
      .def_prop_ro("why_not_on_device", [](const BoundStep& self) { return std::string(self.step->why_not_on_device()); })
      .def_prop_ro("arena_bytes", [](const BoundStep& self) { return self.step->arena_bytes(); });
  optim.def("read_buffer", nn::read_buffer, nb::call_guard<Guard>());
  optim.def("update_buffer", nn::update_buffer, nb::call_guard<Guard>());
  optim.def("random_key", nn::random_key, nb::call_guard<Guard>());
  optim.def("seed", nn::seed);
}

}  // namespace minnow::python

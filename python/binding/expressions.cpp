// SPDX-License-Identifier: Apache-2.0
// Whole expressions and control flow: minnow.expr beside the operators.
#include <minnow/express_passes.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <set>

#include "binding.h"
#include "buffers.h"
#include "express/graph.h"
#include "express/node.h"
#include "graph/model_file.h"
#include "ops/operator.h"

namespace minnow::python {
namespace {

/// The Var or Vars that a Python function returned or a caller passed.
Vars vars_from(nb::handle object) {
  if (is_var(object)) return {var_of(object)};
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) return {var_from(object)};
  Vars vars;
  for (nb::handle item : object) vars.push_back(var_from(item));
  return vars;
}

nb::list list_of(const Vars& vars) {
  nb::list list;
  for (const Var& x : vars) list.append(nb::cast(x));
  return list;
}

nb::object function_from(nb::handle object, const char* name) {
  if (!PyCallable_Check(object.ptr())) throw TypeFault("{} takes a function, not {}", name, shown(object));
  return nb::borrow(object);
}
nb::object call_with(const nb::object& function, const Vars& vars) { return function(*nb::tuple(list_of(vars))); }

/// A function from gradients to gradients; None stands for an absent one.
expr::GradientFunction gradient_from(nb::handle function) {
  const std::shared_ptr<const void> held = keep(function_from(function, "gradient"));
  return [held](const Vars& gradients) {
    nb::list given;
    for (const Var& gradient : gradients) given.append(gradient.has_value() ? nb::cast(gradient) : nb::none());
    const nb::object made = (*static_cast<const nb::object*>(held.get()))(*nb::tuple(given));
    Vars results;
    if (!PyList_Check(made.ptr()) && !PyTuple_Check(made.ptr())) {
      results.push_back(made.is_none() ? Var() : var_from(made));
      return results;
    }
    for (nb::handle item : made) results.push_back(item.is_none() ? Var() : var_from(item));
    return results;
  };
}

class PythonScope {
 public:
  explicit PythonScope(SessionOptions options) : options_(std::move(options)) {}
  void enter() {
    scope_ = std::make_unique<expr::Scope>(options_);
    tell_messages();
  }
  void leave() { scope_.reset(); }

 private:
  SessionOptions options_;
  std::unique_ptr<expr::Scope> scope_;
};

}  // namespace

void define_expressions(nb::module_& m) {
  using Guarded = nb::call_guard<Guard>;
  m.def(
      "placeholder",
      [](nb::handle given, nb::handle dtype, nb::handle shape) {
        const std::string name = argument<std::string>(given, "name", "a text");
        const DType type = dtype_from(dtype);
        if (shape.is_none()) return expr::placeholder(name, type);
        std::vector<int64_t> dims;
        for (nb::handle dim : shape) dims.push_back(dim.is_none() ? -1 : argument<int64_t>(dim, "shape", "integers and None"));
        return expr::placeholder(name, type, dims);
      },
      nb::arg("name").none(), nb::arg("dtype").none(), nb::arg("shape").none(), Guarded());
  m.def(
      "trainable",
      [](nb::handle initial, std::string name) {
        return expr::trainable(tensor_from(initial, DType::undefined, Sharing::copy), std::move(name));
      },
      nb::arg("initial").none(), nb::arg("name") = "", Guarded());
  m.def(
      "evaluate",
      [](nb::handle values) {
        const Guard guard;
        const Vars vars = vars_from(values);
        {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          expr::evaluate(vars);
        }
        tell_messages();
      },
      nb::arg("values"));
  m.def(
      "clone", [](nb::handle outputs) { return expr::clone(vars_from(outputs)); }, nb::arg("outputs"), Guarded());
  m.def(
      "gradient_of",
      [](nb::handle outputs, const nb::list& gradients) {
        Vars given;
        for (nb::handle gradient : gradients) given.push_back(gradient.is_none() ? Var() : var_from(gradient));
        nb::list results;
        for (const Var& x : expr::gradient_of(vars_from(outputs), given)) results.append(x.has_value() ? nb::cast(x) : nb::none());
        return results;
      },
      nb::arg("outputs"), nb::arg("output_gradients"), Guarded());
  m.def(
      "gradients", [](nb::handle loss, nb::handle parameters) { return expr::gradients(var_from(loss), vars_from(parameters)); },
      nb::arg("loss").none(), nb::arg("parameters"), Guarded());
  m.def(
      "custom_gradient",
      [](nb::handle inputs, nb::handle outputs, nb::handle gradient) {
        return expr::custom_gradient(vars_from(inputs), vars_from(outputs), gradient_from(gradient));
      },
      nb::arg("inputs"), nb::arg("outputs"), nb::arg("gradient"), Guarded());
  m.def(
      "checkpoint",
      [](nb::handle function, nb::handle inputs) {
        const nb::object called = function_from(function, "function");
        return expr::checkpoint([&](const Vars& values) { return vars_from(call_with(called, values)); }, vars_from(inputs));
      },
      nb::arg("function"), nb::arg("inputs"), Guarded());
  m.def(
      "parameters_of",
      [](nb::handle model, const std::vector<std::string>& patterns) {
        return expr::parameters_of(nb::cast<const Model&>(model), patterns);
      },
      nb::arg("model"), nb::arg("patterns"), Guarded());
  m.def(
      "running_statistics",
      [](nb::handle model) {
        std::map<std::string, Var> found;
        for (const Node& node : nb::cast<const Model&>(model).graph().nodes())
          for (size_t i : {3, 4})
            if (const Value* value = node.op() == "BatchNormalization" ? node.input(i) : nullptr; value && value->constant())
              found.emplace(value->name(), Var(value->constant()->clone()));
        return found;
      },
      nb::arg("model"), Guarded(), "The running means and variances of a model's BatchNormalization.");
  m.def(
      "biases_of",
      [](nb::handle model) {
        std::set<std::string> found;
        for (const auto& constant : nb::cast<const Model&>(model).graph().constants()) {
          const Shape& shape = constant->constant()->shape();
          if (std::count_if(shape.begin(), shape.end(), [](int64_t length) { return length > 1; }) > 1) continue;
          for (const Use& use : constant->uses()) {
            const Operator* op = OperatorSet::builtin().find(use.node->op());
            const bool is_bias =
                op && use.input >= 2 && use.input < op->inputs.size() &&
                (op->inputs[use.input].name == "B" || op->inputs[use.input].name == "C" || op->inputs[use.input].name == "bias");
            if (is_bias || (use.node->op() == "Add" && !use.node->input(1 - use.input)->constant())) found.insert(constant->name());
          }
        }
        return std::vector<std::string>(found.begin(), found.end());
      },
      nb::arg("model"), Guarded(), "Names of the constants of one dimension that layers of a model add to their results.");
  m.def(
      "apply_with",
      [](nb::handle model, nb::handle inputs, const std::map<std::string, Var>& constants, bool training, nb::handle dropout,
         const std::vector<std::string>& names, nb::handle value) {
        std::map<std::string, Var> next;
        const nb::object dropped = function_from(dropout, "dropout");
        const auto drop = [&](const Var& x, const Var& ratio) {
          return var_from(dropped(nb::cast(x), ratio.has_value() ? nb::cast(ratio) : nb::none()));
        };
        const expr::ApplyOptions options{constants, training, &next, drop};
        const std::set<std::string> seen(names.begin(), names.end());
        express::Seen hook;
        if (!seen.empty())
          hook = [&](const std::string& name, const Var& x) {
            if (!seen.contains(name)) return Var();
            const nb::object other = value(name, nb::cast(x));
            return other.is_none() ? Var() : var_from(other);
          };
        const Model& applied = nb::cast<const Model&>(model);
        express::check_constants(applied, options);
        const Vars made = express::apply(applied, vars_from(inputs), nullptr, &options, hook);
        return nb::make_tuple(list_of(made), next);
      },
      nb::arg("model"), nb::arg("inputs"), nb::arg("constants"), nb::arg("training"), nb::arg("dropout"),
      nb::arg("names") = std::vector<std::string>(), nb::arg("value") = nb::none(), Guarded(),
      "A model with other constants, as in training. `value` is called with the name and the Var of each value that `names` has, and may "
      "give "
      "another Var.");
  m.def(
      "replace",
      [](nb::handle outputs, const std::vector<std::pair<nb::object, nb::object>>& pairs) {
        std::vector<std::pair<Var, Var>> from_to;
        for (const auto& [from, to] : pairs) {
          if (!is_var(from)) throw TypeFault("what is replaced is a Var of the expression, not {}", shown(from));
          from_to.emplace_back(var_of(from), var_from(to));
        }
        return expr::replace(vars_from(outputs), from_to);
      },
      nb::arg("outputs"), nb::arg("from_to"), Guarded());
  m.def(
      "expression_of",
      [](nb::handle object) {
        const express::LazyValue value = express::value_of(var_of(object));
        nb::list inputs;
        for (const express::LazyValue& input : value.node->inputs) inputs.append(input ? nb::cast(express::var_of(input)) : nb::none());
        return nb::make_tuple(value.node->op ? std::string(value.node->op->name) : std::string(), inputs);
      },
      nb::arg("value"), Guarded(),
      "The operator that gives a value, and what it is made of; an empty name where there is none (any more).");
  m.def(
      "placeholders", [](nb::handle outputs) { return expr::placeholders(vars_from(outputs)); }, nb::arg("outputs"), Guarded());
  m.def(
      "trainables", [](nb::handle outputs) { return expr::trainables(vars_from(outputs)); }, nb::arg("outputs"), Guarded());
  m.def(
      "state",
      [](nb::handle initial, std::string name) {
        return expr::state(tensor_from(initial, DType::undefined, Sharing::copy), std::move(name));
      },
      nb::arg("initial").none(), nb::arg("name") = "", Guarded());
  m.def(
      "step",
      [](nb::handle results, const std::vector<std::pair<nb::object, nb::object>>& pairs) {
        std::vector<std::pair<Var, Var>> next;
        for (const auto& [state, value] : pairs) {
          if (!is_var(state)) throw TypeFault("step() takes states and their next values, not {}", shown(state));
          next.emplace_back(var_of(state), var_from(value));
        }
        return expr::step(vars_from(results), next);
      },
      nb::arg("results"), nb::arg("next"), Guarded());
  m.def(
      "states", [](nb::handle outputs) { return expr::states(vars_from(outputs)); }, nb::arg("outputs"), Guarded());
  m.def(
      "reset_states", [](nb::handle outputs) { expr::reset_states(vars_from(outputs)); }, nb::arg("outputs"), Guarded());
  m.def(
      "save",
      [](nb::handle outputs, nb::handle path, nb::handle inputs) {
        expr::save(vars_from(outputs), argument<std::string>(path, "path", "a text"), vars_from(inputs));
      },
      nb::arg("outputs"), nb::arg("path"), nb::arg("inputs") = nb::make_tuple(), Guarded());
  m.def(
      "load",
      [](nb::handle source) {
        const bool is_model = nb::isinstance<Model>(source);
        const expr::Loaded loaded =
            expr::load(is_model ? nb::cast<const Model&>(source)
                                : Model::from_graph(read_model(argument<std::string>(source, "path", "a text")), operators_now()));
        return nb::make_tuple(list_of(loaded.inputs), list_of(loaded.outputs), nb::cast(loaded.values));
      },
      nb::arg("source"), Guarded(), "A .minnow file by its path, or a model that was read.");
  m.def(
      "cond",
      [](nb::handle condition, nb::handle then_branch, nb::handle else_branch) {
        const nb::object taken = function_from(then_branch, "then_branch"), other = function_from(else_branch, "else_branch");
        return expr::cond(
            var_from(condition), [&] { return vars_from(taken()); }, [&] { return vars_from(other()); });
      },
      nb::arg("condition").none(), nb::arg("then_branch").none(), nb::arg("else_branch").none(), Guarded());
  m.def(
      "while_loop",
      [](nb::handle condition, nb::handle body, nb::handle initial, nb::handle most) {
        const nb::object test = function_from(condition, "condition"), step = function_from(body, "body");
        return expr::while_loop([&](const Vars& carried) { return var_from(call_with(test, carried)); },
                                [&](const Vars& carried) { return vars_from(call_with(step, carried)); }, vars_from(initial),
                                argument<int64_t>(most, "most", "an integer"));
      },
      nb::arg("condition").none(), nb::arg("body").none(), nb::arg("initial").none(), nb::arg("most").none() = -1, Guarded());
  m.def(
      "scan",
      [](nb::handle body, nb::handle initial, nb::handle sequences) {
        const nb::object step = function_from(body, "body");
        return expr::scan([&](const Vars& values) { return vars_from(call_with(step, values)); }, vars_from(initial), vars_from(sequences));
      },
      nb::arg("body").none(), nb::arg("initial").none(), nb::arg("sequences").none(), Guarded());
  m.def(
      "to_model", [](nb::handle outputs, nb::handle inputs) { return expr::to_model(vars_from(outputs), vars_from(inputs)); },
      nb::arg("outputs"), nb::arg("inputs"), Guarded());
  m.def("cache_counts", [] {
    const expr::CacheCounts counts = expr::cache_counts();
    return nb::make_tuple(counts.hits, counts.misses, counts.forms);
  });
  m.def("clear_cache", &expr::clear_cache, Guarded(),
        "Gives back the plans of expressions and the memory that is kept for their values. Never fails.");
  m.def("optimize_expressions", &optimize_expressions, nb::arg("on") = true,
        "Whether chains of elementwise operators are computed as one, which they are by default. Raises TypeError for what is no bool.");
  nb::class_<PythonScope>(m, "Scope")
      .def(
          "__init__",
          [](PythonScope* self, const nb::dict& given) {
            RunOptions options = run_options(given);
            if (!options.tuning.empty()) throw InvalidArgument("tuning files are of models; a scope of expressions takes none");
            if (!options.session.weight_cache.empty())
              throw InvalidArgument("a weight cache is of a model; a scope of expressions takes none");
            new (self) PythonScope(std::move(options.session));
          },
          nb::arg("options"))
      .def("enter", &PythonScope::enter)
      .def("leave", &PythonScope::leave);
}

}  // namespace minnow::python

// SPDX-License-Identifier: Apache-2.0
// Some functions of the package compute at once, and numbers of Python and arrays of NumPy know no expression. If their arguments depend on
// a parameter that is differentiated, its gradient would be 0 without a word. A trace knows the parameters, and the functions and
// conversions ask it. TrainingStep records its loss once: there, values that are computed at once would never change again.
// Complex arrays are computed at once, too. A trace knows the expressions of their real and imaginary parts (minnow.numpy._complex).
#include "tracing.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "express/node.h"

namespace minnow::python {

using express::LazyNode;
using express::LazyValue;

/// A block of Python's `with`.
class Trace {
 public:
  enum class Kind : uint8_t { gradients, recording, nothing, printing };

  Trace(const Vars& leaves, Kind kind) : kind_(kind), held_(leaves) {}
  void enter() {
    // Parameters get other nodes when they are assigned.
    leaves_.clear();
    for (auto& kinds : known_)
      for (Known& known : kinds) known = {};
    for (const Var& x : held_) leaves_.insert(express::required_value(x).node.get());
    outer_ = std::exchange(trace, this);
  }
  void leave() noexcept {
    trace = outer_;
    parts_.clear();
  }

  /// The real and imaginary parts of a complex array, as they are noted.
  struct Parts {
    Var array, real, imaginary;  // the array, so that its node stays
  };
  void note(Parts parts) { parts_[express::value_of(parts.array).node.get()] = std::move(parts); }
  static bool any_parts() noexcept {
    for (const Trace* t = trace; t; t = t->outer_)
      if (!t->parts_.empty()) return true;
    return false;
  }
  static const Parts* parts_of(const LazyValue& x) {
    for (const Trace* t = trace; x && t; t = t->outer_)
      if (const auto found = t->parts_.find(x.node.get()); found != t->parts_.end()) return &found->second;
    return nullptr;
  }

  /// Whether x depends on a parameter of a trace of this kind, by values that have gradients or by any.
  static bool depends(const LazyValue& x, Kind kind) { return depends(x, kind, kind == Kind::gradients); }
  static bool depends(const LazyValue& x, Kind kind, bool by_gradients) {
    if (!x || !trace) return false;
    if (!x.node->keeps_inputs) {
      const Parts* const parts = parts_of(x);
      return parts && (depends(express::value_of(parts->real), kind, by_gradients) ||
                       depends(express::value_of(parts->imaginary), kind, by_gradients));
    }
    Known& known = trace->known_[kind == Kind::recording][by_gradients];
    if (!known.is_made) {
      known.is_made = true;
      bool off = false;
      for (const Trace* t = trace; t && t->kind_ != Kind::printing && !(off && kind == Kind::gradients); t = t->outer_) {
        if (t->kind_ == kind) known.leaves.insert(t->leaves_.begin(), t->leaves_.end());
        off = off || t->kind_ == Kind::nothing;
      }
    }
    if (known.leaves.empty() || (by_gradients && !is_float(express::output_of(x).dtype))) return false;
    return known.find(*x.node, by_gradients);
  }

 private:
  /// The nodes that this trace and those around it depend on parameters by, as far as anyone asked: each node is looked at once. Nodes are
  /// known by their numbers, since the memory of those that are gone is used again.
  struct Known {
    bool is_made = false;
    std::unordered_set<const LazyNode*> leaves;
    std::unordered_map<uint64_t, bool> nodes;

    bool find(const LazyNode& asked, bool by_gradients) {
      struct Step {
        const LazyNode* node;
        size_t next;
      };
      std::vector<Step> path;
      const auto look_at = [&](const LazyNode& node) -> bool {  // true: the path leads to a parameter
        if (leaves.contains(&node)) return true;
        const auto found = nodes.find(node.id);
        if (found == nodes.end()) path.push_back({&node, 0});
        return found != nodes.end() && found->second;
      };
      bool leads = look_at(asked);
      while (!leads && !path.empty()) {
        Step& step = path.back();
        const LazyNode& node = *step.node;
        const std::string_view op = node.op ? node.op->name : std::string_view();
        const bool ends = op == "Shape" || op == "Size" || (by_gradients && op == "minnow.StopGradient");
        if (ends || step.next == node.inputs.size()) {
          nodes[node.id] = false;
          path.pop_back();
          continue;
        }
        const LazyValue& input = node.inputs[step.next++];
        if (input && input.node->keeps_inputs && (!by_gradients || is_float(express::output_of(input).dtype))) leads = look_at(*input.node);
      }
      for (const Step& step : path) nodes[step.node->id] = true;
      return leads;
    }
  };

  Kind kind_;
  Vars held_;
  std::unordered_set<const LazyNode*> leaves_;
  std::unordered_map<const LazyNode*, Parts> parts_;
  Known known_[2][2];  // of recording, by gradients
  Trace* outer_ = nullptr;
};

thread_local Trace* trace = nullptr;

namespace {

/// Calls visit for each Var in an object, in lists and tuples too; whether a call returned true.
bool any_var(nb::handle object, FunctionRef<bool(const Var&)> visit, int nested = 0) {
  if (is_var(object)) return visit(var_of(object));
  if (nested > 8 || (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr()))) return false;
  for (nb::handle item : object)
    if (any_var(item, visit, nested + 1)) return true;
  return false;
}

}  // namespace

void check_kept(FunctionRef<std::string()> named, nb::handle function, std::span<PyObject* const> arguments, nb::handle result) {
  const Guard guard;
  const auto given = [&](FunctionRef<bool(const Var&)> visit) {
    return std::any_of(arguments.begin(), arguments.end(), [&](PyObject* argument) { return any_var(argument, visit); });
  };
  const auto is_kept = [](const Var& x) {
    return x.has_value() && (express::value_of(x).node->keeps_inputs || Trace::parts_of(express::value_of(x)));
  };
  const auto is_cut = [&](const Var& x) { return x.has_value() && x.is_tensor() && !is_kept(x); };
  const auto rounds = [&](const Var& x) {
    const Operator* op = is_kept(x) ? express::value_of(x).node->op : nullptr;
    return op && (op->name == "QuantizeLinear" || op->name == "DynamicQuantizeLinear");
  };
  if (any_var(result, rounds)) {
    const auto is_wanted = [&](const Var& x) {
      const LazyValue value = x.has_value() ? express::value_of(x) : LazyValue();
      return Trace::depends(value, Trace::Kind::gradients, true) || Trace::depends(value, Trace::Kind::recording, true);
    };
    if (given(is_wanted))
      throw Unsupported(
          "{} gives integers, which have no gradient; minnow.compress.prepare_qat() makes networks that round while they are trained, "
          "minnow.stop_gradient() of its argument makes it a constant",
          named());
  }
  // Some functions give several arguments back, of which one is a constant.
  if (any_var(result, is_kept) || !any_var(result, is_cut)) return;
  const std::string derivative =
      function.is_valid() ? nb::cast<std::string>(nb::str(nb::getattr(function, "derivative", nb::str("")))) : "";
  if (derivative == "shape") arguments = arguments.subspan(1);  // the others have elements
  const std::string name = named();
  const auto of_kind = [&](Trace::Kind kind) {
    return given([&](const Var& x) { return x.has_value() && Trace::depends(express::value_of(x), kind); });
  };
  if (of_kind(Trace::Kind::recording))
    throw Unsupported(
        "{} is computed at once, but a training step records its loss once, so that the value would stay as it is now; compute it "
        "outside of the loss, or take minnow.value_and_grad() and the optimizer's step()",
        name);
  if (derivative == "zero") return;
  const auto is_real = [&](const Var& x) {
    return is_cut(x) && (is_float(x.dtype()) || x.dtype() == DType::complex64 || x.dtype() == DType::complex128);
  };
  if (any_var(result, is_real) && of_kind(Trace::Kind::gradients))
    throw Unsupported(
        "{} has no gradient; minnow.stop_gradient() of its argument makes it a constant, minnow.custom_gradient() gives it one", name);
}

bool has_parts(nb::handle x) {
  if (!Trace::any_parts() || !is_var(x)) return false;
  const Guard guard;
  return var_of(x).has_value() && Trace::parts_of(express::value_of(var_of(x)));
}

bool holds_complex(nb::handle object) {
  if (PyComplex_Check(object.ptr())) return true;
  if (!is_var(object) && nb::hasattr(object, "dtype"))
    return nb::cast<std::string>(nb::str(nb::getattr(object.attr("dtype"), "kind", nb::str("")))) == "c";
  const Guard guard;
  return any_var(object, [](const Var& x) { return x.has_value() && (x.dtype() == DType::complex64 || x.dtype() == DType::complex128); });
}

void check_read(const Var& x, const char* how, bool real) {
  if (!x.has_value() || !x.is_tensor()) return;
  const LazyValue value = express::value_of(x);
  if (Trace::depends(value, Trace::Kind::recording))
    throw TypeFault(
        "{} reads a value that depends on a parameter, but a training step records its loss once, so that it would stay as it is "
        "now; compute it outside of the loss, or with Vars",
        how);
  if (real && Trace::depends(value, Trace::Kind::gradients))
    throw TypeFault(
        "{} of a value that is differentiated loses its gradient; compute with Vars, or take minnow.stop_gradient() of it first", how);
}

void check_list(nb::handle list) {
  any_var(list, [](const Var& x) {
    check_read(x, "an array of a list (minnow.numpy.stack() makes one with gradients)");
    return false;
  });
}

void define_tracing(nb::module_& m) {
  nb::class_<Trace>(m, "Trace")
      .def(
          "__init__",
          [](Trace* self, nb::handle leaves, const std::string& kind) {
            Vars held;
            for (nb::handle leaf : leaves) held.push_back(var_from(leaf));
            new (self) Trace(held, kind == "gradients"   ? Trace::Kind::gradients
                                   : kind == "recording" ? Trace::Kind::recording
                                   : kind == "printing"  ? Trace::Kind::printing
                                                         : Trace::Kind::nothing);
          },
          nb::arg("leaves"), nb::arg("kind"), nb::call_guard<Guard>(),
          "While it is entered, functions that would lose gradients of these variables raise Unsupported. kind: gradients, recording (by "
          "a\n"
          "TrainingStep); nothing lifts the check for gradients, printing both.")
      .def(
          "__enter__",
          [](nb::handle self) {
            nb::cast<Trace&>(self).enter();
            return nb::borrow(self);
          },
          nb::call_guard<Guard>())
      .def("__exit__", [](Trace& self, const nb::args&) { self.leave(); });
  m.def(
      "is_traced", [](const Var& x) { return trace && Trace::depends(express::value_of(x), Trace::Kind::gradients); }, nb::arg("x"),
      nb::call_guard<Guard>(), "Whether x depends on a variable that a function around is differentiated by.");
  m.def(
      "check_read",
      [](const Var& x) {
        if (trace) check_read(x, "an array of NumPy");
      },
      nb::arg("x"), nb::call_guard<Guard>(), "Raises InvalidType where elements that have gradients, or are recorded, would be read.");
  m.def(
      "note_parts",
      [](const Var& array, const Var& real, const Var& imaginary) {
        if (trace) trace->note({array, real, imaginary});
      },
      nb::arg("array"), nb::arg("real"), nb::arg("imaginary"), nb::call_guard<Guard>(),
      "Until the function that is differentiated ends, these are the parts of a complex array.");
  m.def(
      "parts_of",
      [](const Var& x) -> nb::object {
        const Trace::Parts* const found = Trace::parts_of(express::value_of(x));
        return found ? nb::object(nb::make_tuple(found->real, found->imaginary)) : nb::none();
      },
      nb::arg("x"), nb::call_guard<Guard>(), "The parts that were noted.");
  m.def(
      "is_recorded", [] { return trace != nullptr; }, "Whether a function is being differentiated or recorded.");
}

}  // namespace minnow::python

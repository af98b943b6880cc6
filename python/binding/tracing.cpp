// SPDX-License-Identifier: Apache-2.0
// Some functions of the package compute at once, and numbers of Python and arrays of NumPy know no expression. If their arguments depend on
// a parameter that is differentiated, its gradient would be 0 without a word. A trace knows the parameters, and the functions and
// conversions ask it. TrainingStep records its loss once: there, values that are computed at once would never change again.
#include "tracing.h"

#include <algorithm>
#include <array>
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
    for (const Var& x : held_) leaves_.insert(express::required_value(x).node.get());
    outer_ = std::exchange(trace, this);
  }
  void leave() noexcept { trace = outer_; }

  /// Whether x depends on a parameter of a trace of this kind, by values that have gradients or by any.
  static bool depends(const LazyValue& x, Kind kind) { return depends(x, kind, kind == Kind::gradients); }
  static bool depends(const LazyValue& x, Kind kind, bool by_gradients) {
    if (!x || !x.node->keeps_inputs) return false;
    std::unordered_set<const LazyNode*> leaves;
    bool off = false;
    for (const Trace* t = trace; t && !(off && kind == Kind::gradients); t = t->outer_) {
      if (t->kind_ == Kind::printing) break;
      if (t->kind_ == kind) leaves.insert(t->leaves_.begin(), t->leaves_.end());
      off = off || t->kind_ == Kind::nothing;
    }
    if (leaves.empty() || (by_gradients && !is_float(express::output_of(x).dtype))) return false;
    std::unordered_set<const LazyNode*> seen{x.node.get()};
    std::vector<const LazyNode*> open{x.node.get()};
    while (!open.empty()) {
      const LazyNode* node = open.back();
      open.pop_back();
      if (leaves.contains(node)) return true;
      if (node->op && (node->op->name == "Shape" || node->op->name == "Size")) continue;
      if (by_gradients && node->op && node->op->name == "minnow.StopGradient") continue;
      for (const LazyValue& input : node->inputs)
        if (input && input.node->keeps_inputs && (!by_gradients || is_float(express::output_of(input).dtype)) &&
            seen.insert(input.node.get()).second)
          open.push_back(input.node.get());
    }
    return false;
  }

 private:
  Kind kind_;
  Vars held_;
  std::unordered_set<const LazyNode*> leaves_;
  Trace* outer_ = nullptr;
};

thread_local Trace* trace = nullptr;

namespace {

/// Functions that look at shapes and dtypes alone, or have the derivative 0.
constexpr std::array<std::string_view, 11> kConstant{"zeros_like", "ones_like", "empty_like", "full_like", "spacing", "nextafter",
                                                     "heaviside",  "signbit",   "sign",       "iscomplex", "isclose"};

/// Calls visit for each Var in an object, in lists and tuples too; whether a call returned true.
bool any_var(nb::handle object, FunctionRef<bool(const Var&)> visit, int nested = 0) {
  if (is_var(object)) return visit(var_of(object));
  if (nested > 8 || (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr()))) return false;
  for (nb::handle item : object)
    if (any_var(item, visit, nested + 1)) return true;
  return false;
}

}  // namespace

void check_kept(FunctionRef<std::string()> named, std::span<PyObject* const> arguments, nb::handle result) {
  const Guard guard;
  const auto given = [&](FunctionRef<bool(const Var&)> visit) {
    return std::any_of(arguments.begin(), arguments.end(), [&](PyObject* argument) { return any_var(argument, visit); });
  };
  const auto is_kept = [](const Var& x) { return x.has_value() && express::value_of(x).node->keeps_inputs; };
  const auto is_cut = [](const Var& x) { return x.has_value() && x.is_tensor() && !express::value_of(x).node->keeps_inputs; };
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
  const std::string name = named();
  const std::string_view bare = std::string_view(name).substr(0, name.find('('));
  if (std::find(kConstant.begin(), kConstant.end(), bare) != kConstant.end()) return;
  const auto of_kind = [&](Trace::Kind kind) {
    return given([&](const Var& x) { return x.has_value() && Trace::depends(express::value_of(x), kind); });
  };
  if (of_kind(Trace::Kind::recording))
    throw Unsupported(
        "{} is computed at once, but a training step records its loss once, so that the value would stay as it is now; compute it "
        "outside of the loss, or take minnow.value_and_grad() and the optimizer's step()",
        name);
  const auto is_real = [&](const Var& x) {
    return is_cut(x) && (is_float(x.dtype()) || x.dtype() == DType::complex64 || x.dtype() == DType::complex128);
  };
  if (any_var(result, is_real) && of_kind(Trace::Kind::gradients))
    throw Unsupported(
        "{} has no gradient; minnow.stop_gradient() of its argument makes it a constant, minnow.custom_gradient() gives it one", name);
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
      "is_recorded", [] { return trace != nullptr; }, "Whether a function is being differentiated or recorded.");
}

}  // namespace minnow::python

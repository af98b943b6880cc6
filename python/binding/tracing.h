// SPDX-License-Identifier: Apache-2.0
// Gradients that would get lost: functions that compute at once inside of a function that is differentiated (tracing.cpp).
#pragma once
#include "base/function_ref.h"
#include "binding.h"

namespace minnow::python {

/// The innermost function that is recorded on this thread: grad(), value_and_grad(), TrainingStep. Null outside of them.
class Trace;
extern thread_local Trace* trace;

/// Throws Unsupported if the result of a function is a value, or contains one, that lost the gradients of its arguments. The function's
/// attribute `derivative` is "zero" where that is its derivative, "shape" where it reads its first argument's shape and dtype alone
/// (minnow.numpy._core).
void check_kept(FunctionRef<std::string()> name, nb::handle function, std::span<PyObject* const> arguments, nb::handle result);
/// Whether an object is a complex array whose parts have gradients.
bool has_parts(nb::handle x);
/// Whether an object is a complex number or array, or a list that has one.
bool holds_complex(nb::handle object);
/// Throws TypeFault if `how` reads elements of x while x is recorded, or, if they are `real`, differentiated.
void check_read(const Var& x, const char* how, bool real = true);
/// The same for the Vars in nested lists, which become an array.
void check_list(nb::handle list);

}  // namespace minnow::python

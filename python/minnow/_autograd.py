# SPDX-License-Identifier: Apache-2.0
"""Gradients of functions: grad() and value_and_grad(), as in JAX."""
from __future__ import annotations

import contextvars
from typing import Any, Callable, Sequence

from minnow import _minnow
from minnow._minnow import InvalidArgument, InvalidType, Var


def _leaves(tree: Any) -> list[Any]:
    """The arrays of nested tuples, lists and dicts, in order."""
    if isinstance(tree, dict):
        return [leaf for key in tree for leaf in _leaves(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [leaf for item in tree for leaf in _leaves(item)]
    return [tree]


def _rebuilt(tree: Any, leaves: Any) -> Any:
    """The same nest with other leaves, taken from an iterator."""
    if isinstance(tree, dict):
        return {key: _rebuilt(tree[key], leaves) for key in tree}
    if isinstance(tree, (tuple, list)):
        items = [_rebuilt(item, leaves) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return next(leaves)


def _like(leaf: Any, gradient: Var) -> Any:
    """An array of NumPy for an array of NumPy."""
    if type(leaf).__module__ != "numpy" or _minnow.is_recorded() and _minnow.numpy.is_symbolic(gradient):
        return gradient
    import numpy
    return numpy.array(gradient)


def _variable(leaf: Any) -> Var:
    """A variable to differentiate by. In a function that is differentiated itself, it goes on depending on what the argument depends on."""
    if isinstance(leaf, Var) and _minnow.is_recorded() and _minnow.numpy.is_symbolic(leaf):
        return _minnow.op("Identity", [leaf], {})
    return _minnow.trainable(leaf)


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of `fun`, one float, and its gradient with respect to the arguments of these numbers. They are arrays, or
    nests of tuples, lists and dicts of arrays; the gradient has the same form: Vars, or arrays of NumPy for arrays of NumPy. `fun` gets Vars of
    the same dtype and computes with minnow; functions may be nested, for second derivatives. has_aux: `fun` gives (value, anything), and the result is ((value, anything), gradient). Raises
    InvalidArgument (a ValueError) for arguments that are no floats and values of several elements, and where the value does not depend on an
    array; Unsupported, with the operator or function, where one has no gradient; InvalidType (a TypeError) where `fun` makes numbers of Python or
    arrays of NumPy of what depends on the arguments, and for argnums that are no integers.

    >>> minnow.value_and_grad(lambda x: (x * x).sum())(minnow.Var([1.0, 2.0, 3.0]))
    (Var(14.0, shape=(), dtype=float64), Var([2., 4., 6.], shape=(3,), dtype=float64))
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not all(isinstance(number, int) for number in numbers):
        raise InvalidType(f"argnums is the number of an argument, or a tuple of numbers, not {argnums!r}")

    def run(*args: Any, **keywords: Any) -> tuple[Any, Any]:
        given = list(args)
        leaves: list[Any] = []
        parameters: list[Var] = []
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise InvalidArgument(f"argument {number} is asked for; the function was called with {len(args)}")
        places = [number % len(args) for number in numbers]
        for number in dict.fromkeys(places):  # an argument that is asked for twice is one variable
            own = _leaves(args[number])
            variables = [_variable(leaf) for leaf in own]
            for variable in variables:
                if not str(variable.dtype).startswith(("float", "bfloat")):
                    raise InvalidArgument(f"argument {number} has the dtype {variable.dtype}; there are gradients of floats")
            leaves += own
            parameters += variables
            given[number] = _rebuilt(args[number], iter(variables))
        with _minnow.Trace(parameters, "gradients"):
            result = fun(*given, **keywords)
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise InvalidType("with has_aux the function gives a pair: its value and anything else")
        value = result[0] if has_aux else result
        if not isinstance(value, Var):
            raise InvalidType(f"the function gives a Var of one float, not {type(value).__name__}")
        gradients = _minnow.gradients(value, parameters)
        if not _minnow.is_recorded():  # a function around may depend on placeholders
            _minnow.evaluate([value, *gradients])
        found = iter(_like(leaf, gradient) for leaf, gradient in zip(leaves, gradients))
        of_place = {number: _rebuilt(args[number], found) for number in dict.fromkeys(places)}
        made = tuple(of_place[number] for number in places)
        return result, made[0] if isinstance(argnums, int) else made

    return run


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `fun` alone, or with has_aux (gradient, anything); see value_and_grad().

    Raises what value_and_grad() raises.

    >>> minnow.grad(lambda x: (x ** 3).sum())(minnow.Var([1.0, 2.0]))
    Var([ 3., 12.], shape=(2,), dtype=float64)
    """
    both = value_and_grad(fun, argnums, has_aux)

    def run(*args: Any, **keywords: Any) -> Any:
        value, gradient = both(*args, **keywords)
        return (gradient, value[1]) if has_aux else gradient

    return run


def stop_gradient(x: Any) -> Var:
    """x, which counts as a constant where gradients are computed. Raises InvalidType (a TypeError) for what is no array.

    >>> minnow.grad(lambda x: (x * minnow.stop_gradient(x)).sum())(minnow.Var([2.0, 3.0]))
    Var([2., 3.], shape=(2,), dtype=float64)
    """
    return _minnow.op("minnow.StopGradient", [x if isinstance(x, Var) else Var(x)], {})


def _var(x: Any) -> Var:
    return x if isinstance(x, Var) else Var(x)


def with_gradient_hook(x: Any, hook: Callable[[Var], Any]) -> Var:
    """x; its gradient is replaced by hook(gradient), or stays as it is if the hook gives None. The hook is called when the gradient is computed.
    Raises InvalidType (a TypeError) for what is no array.

    >>> minnow.grad(lambda x: (minnow.with_gradient_hook(x, lambda g: g * 10.0) * 3.0).sum())(minnow.Var([1.0, 2.0]))
    Var([30., 30.], shape=(2,), dtype=float64)
    """
    value = _var(x)
    return _minnow.custom_gradient([value], [value], lambda g: g if (changed := hook(g)) is None else changed)[0]


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a gradient of its own, as in TensorFlow: fun(*inputs) gives (result, gradient), where the result is a Var or several, and
    gradient(*gradients of the results) gives one gradient for each input, or None. Raises InvalidType (a TypeError) if `fun` gives something else.

    >>> @minnow.custom_gradient
    ... def clipped(x):
    ...     return x * 1.0, lambda g: g.clip(-1.0, 1.0)
    >>> minnow.grad(lambda x: (clipped(x) * x).sum())(minnow.Var([0.5, 3.0]))
    Var([1., 4.], shape=(2,), dtype=float64)
    """
    def run(*inputs: Any) -> Any:
        values = [_var(x) for x in inputs]
        with _minnow.Trace((), "nothing"):  # the function may compute at once, since its gradient is known
            made = fun(*values)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
            raise InvalidType("a function of custom_gradient gives a pair: its result, and the function of its gradient")
        several = isinstance(made[0], (tuple, list))
        results = _minnow.custom_gradient(values, [_var(x) for x in (made[0] if several else [made[0]])], made[1])
        return type(made[0])(results) if several else results[0]
    return run


class custom_vjp:
    """A function whose gradient defvjp() defines, as in JAX: forward(*inputs) gives (result, kept), and backward(kept, gradient) a tuple of
    gradients of the inputs; the gradient of several results is a tuple. `forward` may call the function itself. A call raises InvalidType (a
    TypeError) before defvjp().

    >>> @minnow.custom_vjp
    ... def double(x):
    ...     return x * 2.0
    >>> double.defvjp(lambda x: (x * 2.0, x), lambda x, g: (g * x,))
    >>> minnow.grad(lambda x: double(x).sum())(minnow.Var([5.0, 7.0]))
    Var([5., 7.], shape=(2,), dtype=float64)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self._fun = fun
        self._forward: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._inside = contextvars.ContextVar("inside", default=False)  # the forward function may call the function itself

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Sets both functions."""
        self._forward, self._backward = forward, backward

    def __call__(self, *inputs: Any) -> Any:
        forward, backward = self._forward, self._backward
        if forward is None or backward is None:
            raise InvalidType("a function of custom_vjp is called before defvjp()")
        if self._inside.get():
            return self._fun(*inputs)

        def both(*values: Var) -> tuple[Any, Callable[..., Any]]:
            token = self._inside.set(True)
            try:
                result, kept = forward(*values)
            finally:
                self._inside.reset(token)
            several = isinstance(result, (tuple, list))
            return result, lambda *gradients: backward(kept, gradients if several else gradients[0])
        return custom_gradient(both)(*inputs)


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of Vars, whose intermediate values are computed again for its gradient rather than kept, so that training takes less
    memory. `fun` is called once; parameters that it reads have gradients, too. Raises InvalidType (a TypeError) for inputs that are no arrays.

    >>> minnow.grad(lambda x: minnow.checkpoint(lambda y: expr.sin(y * y))(x).sum())(minnow.Var([0.0, 2.0]))
    Var([ 0.        , -2.61457448], shape=(2,), dtype=float64)
    """
    def run(*inputs: Any) -> Any:
        form: list[Any] = []

        def called(*values: Var) -> Any:
            form.append(fun(*values))
            return [_var(x) for x in _leaves(form[0])]
        results = iter(_minnow.checkpoint(called, [_var(x) for x in inputs]))
        return _rebuilt(form[0], results)
    return run


__all__ = ["grad", "value_and_grad", "stop_gradient", "with_gradient_hook", "custom_gradient", "custom_vjp", "checkpoint"]

# SPDX-License-Identifier: Apache-2.0
"""Operators that are written in Python."""
from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple, Sequence, TypeVar

from minnow import _minnow
from minnow._minnow import InvalidArgument

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Spec(NamedTuple):
    """The type of a tensor as known before it is computed."""
    shape: tuple[int | None, ...] | None  #: None where it, or one of its dimensions, depends on data
    dtype: Any


#: The names of the attributes of each custom operator.
ATTRIBUTES: dict[str, list[str]] = {}


def _specs(result: Any, like: Spec | None) -> list[Spec]:
    """Convert the result of a shape rule: a Spec, a shape (with the first input's dtype), or a list of these."""
    if result is None or isinstance(result, Spec) or (isinstance(result, tuple) and all(isinstance(dim, int) or dim is None for dim in result)
                                                      and (not result or any(isinstance(dim, int) for dim in result))):
        result = [result]
    specs: list[Spec] = []
    for item in result:
        if isinstance(item, Spec):
            specs.append(item)
        elif like is not None:
            specs.append(Spec(None if item is None else tuple(item), like.dtype))
        else:
            raise InvalidArgument("an operator without inputs says the dtype of its outputs: Spec(shape, dtype)")
    return [Spec(None, spec.dtype) if spec.shape is not None and None in spec.shape else spec for spec in specs]


def _gradient_types(inputs: list[Any], given: dict[str, Any], outputs: int) -> list[Spec]:
    """Derive the specs of gradients from those of the inputs."""
    return [Spec((), "float32") if row is None else Spec(*row) for row in inputs[:outputs]]


def _as_arrays(inputs: Sequence[Any]) -> list[Any]:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return list(inputs)
    return [None if x is None else x.numpy() for x in inputs]


def custom_operator(name: str, shape: Callable[..., Any] | None = None, doc: str = "",
                    gradient: Callable[..., Any] | str | None = None) -> Callable[[_Function], _Function]:
    """Make a function an operator of expressions, and of models that are loaded later.

        @expr.custom_operator("com.example.Swish", shape=lambda x, alpha: x.shape)
        def swish(x, *, alpha=1.0):
            return x / (1 + numpy.exp(-alpha * x))

    name: with a domain; importers find the operator by domain and name, and saved models keep them.
    shape: a function of a Spec (shape, dtype) for each input, and the attributes as keywords. It returns the Spec of the output, or only its
    shape if the dtype is the first input's, or a list of these; None for a shape that depends on data. By default the first input's shape.
    The function gets the inputs as arrays (NumPy's if NumPy is installed, else Vars; None for an omitted input) and its attributes as
    keywords, with the defaults of its signature. It returns an array, or several. It must be pure: results of constant inputs are computed once.
    gradient: for expr.gradient_of(): a function of the inputs, the outputs and the gradients of the outputs, in this order (None for a missing
    gradient), and the attributes. It returns the gradient of each input, None for inputs that are not floating, and becomes an operator
    too, "com.example.SwishGradient". Or the name of such an operator.

    Raises InvalidArgument (a ValueError) for a name without a domain or of a built-in operator. If the function raises an exception, it
    becomes the cause of the node's error.
    """
    def decorate(function: _Function) -> _Function:
        keywords = {parameter.name: parameter.default for parameter in inspect.signature(function).parameters.values()
                    if parameter.kind is parameter.KEYWORD_ONLY}
        attributes = {key: None if default is inspect.Parameter.empty else default for key, default in keywords.items()}
        rule_takes: set[str] = set()
        if shape is not None:
            parameters = inspect.signature(shape).parameters.values()
            rule_takes = set(attributes) if any(p.kind is p.VAR_KEYWORD for p in parameters) else {p.name for p in parameters} & set(attributes)

        def infer(inputs: list[Any], given: dict[str, Any], outputs: int) -> list[Spec]:
            specs = [None if row is None else Spec(*row) for row in inputs]
            first = next((spec for spec in specs if spec is not None), None)
            if shape is None:
                return [first or Spec(None, "float32")] * outputs
            made = _specs(shape(*specs, **{key: given[key] for key in rule_takes}), first)
            nonlocal declared
            declared = len(made)
            return made

        def compute(inputs: list[Any], given: dict[str, Any], outputs: int) -> list[Any]:
            result = function(*_as_arrays(inputs), **given)
            return list(result) if isinstance(result, (tuple, list)) and max(outputs, declared) > 1 else [result]

        def compute_gradients(inputs: list[Any], given: dict[str, Any], outputs: int) -> list[Any]:
            assert callable(gradient)
            # Those at the end that are absent may not be there at all.
            result = gradient(*_as_arrays([*inputs, *[None] * (taken - len(inputs))]), **given)
            gradients = list(result) if isinstance(result, (tuple, list)) else [result]
            if len(gradients) != outputs:
                raise InvalidArgument(f"gives {len(gradients)} gradients, there are {outputs} inputs")
            return gradients

        by = gradient if isinstance(gradient, str) else "" if gradient is None else f"{name}Gradient"
        taken, declared = 0, 1  # inputs of the gradient; outputs that the shape rule tells of
        if gradient is not None and not isinstance(gradient, str):
            positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            taken = sum(parameter.kind in positional for parameter in inspect.signature(gradient).parameters.values())
            ATTRIBUTES[by] = list(attributes)
            _minnow.register_operator(by, f"Gradients of {name}.", _gradient_types, compute_gradients, attributes)
        ATTRIBUTES[name] = list(attributes)
        _minnow.register_operator(name, doc or inspect.getdoc(function) or "", infer, compute, attributes, by)
        return function
    return decorate


__all__ = ["Spec", "custom_operator"]

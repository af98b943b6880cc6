# SPDX-License-Identifier: Apache-2.0
"""Expressions: a function for every operator, placeholders, control flow, and whole expressions as models."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NamedTuple, Sequence, overload

from minnow import _minnow
from minnow._functions import all_suggesting
from minnow._files import ModelPath, path_of, read_model
from minnow._minnow import Var, clear_cache
from minnow._custom import ATTRIBUTES, Spec, custom_operator
from minnow._repr import screen
from minnow._typing import DTypeLike, VarLike
from minnow.expr import _operators
from minnow.expr._operators import *  # noqa: F403

all_suggesting(vars(_operators), _operators.__all__, arrays=True)
globals().update((name, getattr(_operators, name)) for name in _operators.__all__)

if TYPE_CHECKING:
    from typing_extensions import Unpack
    from minnow._options import RunOptions

optimize_expressions = _minnow.optimize_expressions


def const(value: VarLike, dtype: DTypeLike | None = None) -> Var:
    """Return a constant that shares the memory of an array. Raises InvalidType (a TypeError) if the value is no array.

    >>> expr.const([1, 2], "float32")
    Var([1., 2.], shape=(2,), dtype=float32)
    """
    return Var(value, dtype)


constant = const


def placeholder(name: str = "", dtype: DTypeLike = "float32", shape: Sequence[int | None] | None = None) -> Var:
    """Return a variable whose value is assigned later, by assign(). Dimensions of -1 or None may change with each value; without a shape, the rank too.

    Raises InvalidType (a TypeError) for an invalid dtype or shape. Reading a Var that depends on a placeholder without a value, and assigning a
    value of another dtype or shape, raise InvalidArgument (a ValueError).

    >>> x = expr.placeholder("x", "float32", (None,))
    >>> y = x * 2.0
    >>> x.assign(minnow.Var([1.0, 2.0], "float32"))
    >>> y
    Var([2., 4.], shape=(2,), dtype=float32)
    """
    return _minnow.placeholder(name, dtype, shape)


def trainable(initial: VarLike, name: str = "") -> Var:
    """Return a parameter: a constant that training changes and that saved models mark. Raises InvalidType (a TypeError) if the value is no array.

    >>> w = expr.trainable(minnow.Var([1.0, 2.0]), "w")
    >>> [x.name for x in expr.trainables(w * 3.0)]
    ['w']
    """
    return _minnow.trainable(initial, name)


@overload
def op(name: str, inputs: Sequence[VarLike | None] | Var, *, outputs: None = None, **attributes: Any) -> Var: ...
@overload
def op(name: str, inputs: Sequence[VarLike | None] | Var, *, outputs: int, **attributes: Any) -> list[Var]: ...
def op(name: str, inputs: Sequence[VarLike | None] | Var, *, outputs: int | None = None, **attributes: Any) -> Var | list[Var]:
    """Call an operator by its name: "Conv", "minnow.Svd", or a custom operator such as "com.example.Swish". A single input needs no list.

    outputs: the number of outputs to return, as a list; without it, only the first output is returned.

    Raises Unsupported for an unknown operator and InvalidType for an unknown attribute, both with the nearest names, and InvalidModel (a ValueError)
    for dtypes and shapes that do not fit.

    >>> expr.op("LeakyRelu", minnow.Var([-2.0, 4.0]), alpha=0.5)
    Var([-1.,  4.], shape=(2,), dtype=float64)
    >>> values, places = expr.op("TopK", [minnow.Var([3.0, 1.0, 2.0]), [2]], outputs=2)
    >>> places
    Var([0, 2], shape=(2,), dtype=int64)
    """
    if outputs is None:
        return _minnow.op(name, _inputs(name, inputs, attributes), attributes)
    return _minnow.ops(name, _inputs(name, inputs, attributes), outputs, attributes)


def ops(name: str, inputs: Sequence[VarLike | None] | Var, outputs: int, **attributes: Any) -> list[Var]:
    """op(name, inputs, outputs=outputs), which raises the same.

    >>> [half, other] = expr.ops("Split", minnow.Var([1.0, 2.0]), 2)
    >>> other
    Var([2.], shape=(1,), dtype=float64)
    """
    return _minnow.ops(name, _inputs(name, inputs, attributes), outputs, attributes)


def _inputs(name: str, inputs: Any, attributes: dict[str, Any]) -> Any:
    known = ATTRIBUTES.get(name)
    if known is not None:
        for attribute in attributes:
            if attribute not in known:
                raise _minnow.InvalidType(f'{name} has no attribute "{attribute}"{_minnow.nearest(attribute, known)}')
    return [inputs] if isinstance(inputs, Var) else inputs


def load_operators(path: str | os.PathLike[str]) -> None:
    """Operators of a shared library (<minnow/custom_op.h>), for expressions and for models that are read from now on. Raises FileNotFound (a
    FileNotFoundError) or another IoError for a library that cannot be loaded, InvalidArgument (a ValueError) for one without operators."""
    _minnow.load_operators(path_of(path))


def evaluate(values: Sequence[Var]) -> None:
    """Compute several values in one plan. Raises InvalidArgument (a ValueError) if one depends on a placeholder without a value.

    >>> a, b = expr.relu([-1.0, 2.0]), expr.neg([1.0])
    >>> expr.evaluate([a, b])
    >>> a.is_computed, b.is_computed
    (True, True)
    """
    _minnow.evaluate(values)


def clone(outputs: Sequence[Var]) -> list[Var]:
    """Copy the expressions, with placeholders, parameters and states of their own. Raises InvalidType (a TypeError) for other objects than Vars.

    >>> x = expr.placeholder("x", "float32", (1,))
    >>> [copy] = expr.clone([x + 1.0])
    >>> expr.placeholders(copy)[0] is x
    False
    """
    return _minnow.clone(outputs)


def replace(outputs: Sequence[Var], replacements: Mapping[Var, Var] | Iterable[tuple[Var, Var]]) -> list[Var]:
    """Replace values wherever the expressions use them; a replacement may itself use the value that it replaces. Raises InvalidType (a TypeError)
    if a key is no Var, and InvalidModel (a ValueError) if dtypes or shapes do not fit.

    >>> x = expr.placeholder("x", "float64", (2,))
    >>> [y] = expr.replace([x * 2.0], {x: minnow.Var([1.0, 5.0])})
    >>> y
    Var([ 2., 10.], shape=(2,), dtype=float64)
    """
    pairs = replacements.items() if isinstance(replacements, Mapping) else replacements
    return _minnow.replace(outputs, list(pairs))


def gradient_of(outputs: Sequence[Var] | Var, output_gradients: Sequence[VarLike | None] | VarLike) -> list[Var | None]:
    """Return the gradients of the inputs of the operator that made `outputs`, given the gradients of these outputs (None: no gradient).

        y = expr.op("com.example.Swish", [x])
        [dx] = expr.gradient_of(y, dy)

    There is one for each input, of its shape and dtype; None if no gradient flows. Custom operators define theirs (`gradient` of custom_operator,
    or <minnow/custom_op.h>); operators without one raise Unsupported.
    """
    if isinstance(outputs, Var):
        return _minnow.gradient_of([outputs], [output_gradients])
    return _minnow.gradient_of(outputs, list(output_gradients))  # type: ignore[arg-type]


def gradients(loss: Var, parameters: Sequence[Var] | Var) -> list[Var]:
    """The gradients of a loss, one float, with respect to parameters: trainables, placeholders, or other values that the loss is made of. One
    for each, of its shape and dtype; nothing is computed yet. Raises Unsupported, with the operator and the node, where one has no gradient,
    InvalidArgument (a ValueError) where the loss does not depend on a parameter. minnow.grad() does the same for functions.

    >>> w = expr.trainable([1.0, 2.0])
    >>> expr.gradients((w * w).sum(), [w])
    [Var([2., 4.], shape=(2,), dtype=float64)]
    """
    return _minnow.gradients(loss, [parameters] if isinstance(parameters, Var) else list(parameters))


def placeholders(outputs: Sequence[Var] | Var) -> list[Var]:
    """Return the placeholders on which the expressions depend, in the order of their first use. Raises InvalidType (a TypeError) for other objects
    than Vars.

    >>> x, y = expr.placeholder("x"), expr.placeholder("y")
    >>> [each.name for each in expr.placeholders(y - x)]
    ['y', 'x']
    """
    return _minnow.placeholders(outputs)


def trainables(outputs: Sequence[Var] | Var) -> list[Var]:
    """Return the parameters on which the expressions depend. Raises InvalidType (a TypeError) for other objects than Vars."""
    return _minnow.trainables(outputs)


def save(outputs: Sequence[Var] | Var, path: str | os.PathLike[str], inputs: Sequence[Var] = (), *, external_data: bool = False, opset: int = 0,
         weights: str = "f32") -> None:
    """Write the expressions as a model: ONNX if the path ends in ".onnx", else a .minnow file. The model's inputs are the placeholders, in the
    order of `inputs` if that is given.

    external_data, opset: for ONNX files; weights: for .minnow files; see minnow.convert(). Raises IoError if the file cannot be
    written, and Unsupported for anything that ONNX cannot express.
    """
    file = path_of(path)
    if file.endswith(".onnx") or (external_data, opset, weights) != (False, 0, "f32"):
        _minnow.write_model(_minnow.to_model(outputs, inputs), file, external_data, opset, weights)
    else:
        _minnow.save(outputs, file, inputs)


class Loaded(NamedTuple):
    """A model as expressions."""
    inputs: list[Var]  #: placeholders
    outputs: list[Var]
    values: dict[str, Var]  #: all, by name

    def __repr__(self) -> str:
        return screen(f"<Loaded: inputs {', '.join(x.name for x in self.inputs)}; outputs {', '.join(x.name for x in self.outputs)}; {len(self.values)} values by name>")

    def at(self, name: str) -> Var:
        """Return the value of that name; raises InvalidArgument, with the nearest names, if there is none."""
        if name in self.values:
            return self.values[name]
        raise _minnow.InvalidArgument(f'the model has no value "{name}"{_minnow.nearest(name, list(self.values))}')


def load(path: ModelPath) -> Loaded:
    """Load a model as expressions whose placeholders are its inputs. path: a .minnow file, a file of another format, the bytes of a file, or an open
    binary file; the graph is not optimized. Raises the errors of minnow.load()."""
    if isinstance(path, (str, os.PathLike)) and os.fspath(path).endswith(".minnow"):
        return Loaded(*_minnow.load(path_of(path)))
    return Loaded(*_minnow.load(read_model(path, "none").model))


def cond(condition: VarLike, then_branch: Callable[[], Any], else_branch: Callable[[], Any]) -> list[Var]:
    """Return the values of `then_branch` if the bool is true, else those of `else_branch`, in equal number and dtypes. Only one branch is
    computed. Raises InvalidArgument (a ValueError) if the branches do not fit.

    >>> x = minnow.Var(-3.0)
    >>> expr.cond(x > 0, lambda: x, lambda: -x)
    [Var(3.0, shape=(), dtype=float64)]
    """
    return _minnow.cond(condition, then_branch, else_branch)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], initial: Sequence[VarLike], most: int = -1) -> list[Var]:
    """Repeat carried = body(*carried) while condition(*carried) is true, at most `most` times (-1: any number). Raises InvalidArgument (a
    ValueError) if the body returns other values than it takes.

    >>> expr.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [0, minnow.Var(1.0)])
    [Var(3, shape=(), dtype=int64), Var(8.0, shape=(), dtype=float64)]
    """
    return _minnow.while_loop(condition, body, initial, most)


def scan(body: Callable[..., Any], initial: Sequence[VarLike], sequences: Sequence[VarLike]) -> list[Var]:
    """Walk along axis 0 of `sequences`: body(*carried, *elements) returns carried..., outputs... Returns the last carried values and the
    outputs, each stacked along axis 0. Raises InvalidArgument (a ValueError) if the body returns other values than it takes.

    >>> total, sums = expr.scan(lambda total, x: (total + x, total + x), [minnow.Var(0.0)], [minnow.Var([1.0, 2.0, 3.0])])
    >>> sums
    Var([1., 3., 6.], shape=(3,), dtype=float64)
    """
    return _minnow.scan(body, initial, sequences)


def state(initial: VarLike, name: str = "") -> Var:
    """Return a state: a value that expressions read, and that each step() replaces. Raises InvalidType (a TypeError) if the value is no
    array.

    >>> count = expr.state(0, "count")
    >>> [after] = expr.step([count + 1], {count: count + 1})
    >>> after.item(), count.item()
    (1, 1)
    """
    return _minnow.state(initial, name)


def step(results: Sequence[VarLike] | VarLike, next: Mapping[Var, VarLike] | Iterable[tuple[Var, VarLike]]) -> list[Var]:
    """Return the results again. Computing the returned Vars also gives each state its next value, once per assignment of placeholders. Raises
    InvalidArgument (a ValueError) for a Var that is no state, and for a next value of another dtype or shape.

    total = expr.state(numpy.zeros(3, "float32"), "total")
    added = total + x
    [mean] = expr.step([added / n], {total: added})
    """
    return _minnow.step(results, list(next.items() if isinstance(next, Mapping) else next))


def states(outputs: Sequence[Var] | Var) -> list[Var]:
    """Return the states on which the expressions depend, including those of models. Reading one gives its current value; assigning to it
    changes it. Raises InvalidType (a TypeError) for other objects than Vars."""
    return _minnow.states(outputs)


def reset_states(outputs: Sequence[Var] | Var) -> None:
    """Puts the initial values of these states back. Raises InvalidArgument (a ValueError) inside a function of cond(), while_loop() or scan().

    >>> count = expr.state(0, "count")
    >>> count.assign(7)
    >>> expr.reset_states(count)
    >>> count.item()
    0
    """
    _minnow.reset_states(outputs)


# Formats. The axes of a Var are plain; its format, if known, gives their meaning.
NCHW, NHWC, NC4HW4 = "NCHW", "NHWC", "NC4HW4"
_FORMATS = (NCHW, NHWC, NC4HW4)


def format_of(x: Var) -> str | None:
    """Return the format of a Var's axes, "NCHW" or "NHWC", or None if it is not known. Images of three axes are HWC. Raises the errors of x.shape.

    >>> expr.format_of(minnow.Var(np.zeros((1, 8, 8, 3))))
    'NHWC'
    """
    known: str | None = x.__dict__.get("_format")
    dims = x.dims or x.shape  # those of a placeholder may be open
    if known is None and len(dims) == 3:
        return NHWC
    if known is None and len(dims) == 4 and dims[3] in (1, 3, 4) and dims[1] not in (1, 3, 4):
        return NHWC
    return known


def _with_format(x: Var, format: str) -> Var:
    made = x.clone() if x.__dict__.get("_format", format) != format else x
    made.__dict__["_format"] = format
    return made


def convert(x: VarLike, format: str) -> Var:
    """Return the value with its axes in another order: NCHW, NHWC, or NC4HW4, another name for NCHW (the engine packs channels by itself).

    An image of three axes is [height, width, channels] and gets a batch axis. Values with neither three nor four axes do not change.
    A value of four axes counts as NHWC if convert() made it so, or if only its last axis has the 1, 3 or 4 channels of an image; otherwise
    it counts as NCHW. Raises InvalidArgument (a ValueError) for another format.

    >>> expr.convert(np.zeros((4, 5, 3)), expr.NCHW).shape
    (1, 3, 4, 5)
    """
    if format not in _FORMATS:
        raise _minnow.InvalidArgument(f"the format is {format!r}; there are NCHW, NHWC and NC4HW4")
    value = x if isinstance(x, Var) else Var(x)
    wanted = NHWC if format == NHWC else NCHW
    if value.ndim not in (3, 4):
        return value
    now = format_of(value) or NCHW
    if value.ndim == 3:
        value = value[None]
    if now != wanted:
        value = value.transpose(0, 3, 1, 2) if wanted == NCHW else value.transpose(0, 2, 3, 1)
    return _with_format(value, wanted)


class CacheCounts(NamedTuple):
    """Counts of the cache of plans in this process."""
    hits: int
    misses: int
    forms: int


def cache_counts() -> CacheCounts:
    """How often an expression found a plan of its form, how often not, and how many forms are kept. Never fails.

    >>> expr.clear_cache()
    >>> expr.cache_counts().forms
    0
    """
    return CacheCounts(*_minnow.cache_counts())


class scope:
    """How expressions are computed on this thread in the body of a with statement; the inner scope counts."""

    def __init__(self, **options: Unpack[RunOptions]) -> None:
        self._scope = _minnow.Scope(options)

    def __enter__(self) -> scope:
        self._scope.enter()
        return self

    def __exit__(self, *reason: object) -> None:
        self._scope.leave()


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise AttributeError(f"module 'minnow.expr' has no attribute {name!r}" + ("" if name.startswith("_") else _minnow.nearest(name, __all__)))


__all__ = ["const", "constant", "placeholder", "trainable", "op", "ops", "Spec", "custom_operator", "load_operators", "evaluate", "clone", "replace", "gradient_of", "gradients", "placeholders", "trainables", "state", "step", "states", "reset_states", "save", "load",
           "Loaded", "cond", "while_loop", "scan", "NCHW", "NHWC", "NC4HW4", "format_of", "convert", "CacheCounts", "cache_counts", "clear_cache", "scope", "optimize_expressions", "Var",
           *_operators.__all__]

# Operators follow the rule for arrays of NumPy; functions that make or change expressions give Vars.
all_suggesting(globals(), ("op", "ops"), arrays=True)
all_suggesting(globals(), __all__)

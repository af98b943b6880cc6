# SPDX-License-Identifier: Apache-2.0
"""MNN's older way to run a model: Interpreter, Session and Tensor.

    interpreter = MNN.Interpreter("model.mnn")              # of any format that Minnow reads
    session = interpreter.createSession({"numThread": 2})
    x = interpreter.getSessionInput(session)
    x.copyFrom(MNN.Tensor((1, 3, 224, 224), MNN.Halide_Type_Float, image, MNN.Tensor_DimensionType_Caffe))
    interpreter.runSession(session)
    scores = interpreter.getSessionOutput(session).getData()
"""
from __future__ import annotations

from typing import Any, Callable, Sequence

from minnow import _minnow, nn
from minnow import numpy as np
from minnow.compat import _expr
from minnow.compat._later import on_cpu
from minnow.compat._values import Var as MnnVar, own
from minnow._files import ModelPath
from minnow._minnow import InvalidArgument, Unsupported, Var

Halide_Type_Float, Halide_Type_Double, Halide_Type_Int = np.float32, np.float64, np.int32
Halide_Type_Int64, Halide_Type_Uint8 = np.int64, np.uint8
Halide_Type_String = "string"
Tensor_DimensionType_Tensorflow, Tensor_DimensionType_Caffe, Tensor_DimensionType_Caffe_C4 = 0, 1, 2


class Tensor:
    """An array, and whether the channels of its four axes come first (Caffe) or last (Tensorflow)."""

    def __init__(self, shape: Any, dtype: Any = None, data: Any = None, dimension_type: int = Tensor_DimensionType_Caffe) -> None:
        """Tensor(values) copies a Var or a list of numbers. Tensor(shape, dtype, data, dimension_type) takes numbers, an array or an address (a number or a
        capsule), and without data zeros. A single tuple is a shape."""
        self._dimension_type = dimension_type
        self._open: tuple[int, ...] | None = None
        if isinstance(shape, (Var, list)) and dtype is None and data is None:
            self._value = np.copy(_expr._var(own(shape)))
            if isinstance(shape, MnnVar) and shape.data_format == "NHWC":
                self._dimension_type = Tensor_DimensionType_Tensorflow
            return
        dtype = Halide_Type_Float if dtype is None else dtype
        if dtype == Halide_Type_String:
            raise Unsupported("tensors of strings are not there")
        if _expr.is_address(data):
            value = _expr.from_address(data, list(shape), dtype).clone()
        else:
            value = np.zeros(shape, dtype) if data is None else np.array(own(data), dtype)
        if value.size != np.zeros(shape, "bool").size:
            raise InvalidArgument(f"a Tensor of the shape {tuple(shape)} is given {value.size} elements")
        self._value = value.reshape(*shape) if len(shape) else value.reshape(())

    @classmethod
    def _of(cls, value: Var, dimension_type: int) -> Tensor:
        made = cls.__new__(cls)
        made._value, made._dimension_type, made._open = value, dimension_type, None
        return made

    def getShape(self) -> tuple[int, ...]:
        """The dimensions; -1 where the model leaves a dimension open and no size was chosen yet."""
        return self._open or self._value.shape

    def getDataType(self) -> Any:
        return self._value.dtype

    def getDimensionType(self) -> int:
        return self._dimension_type

    def getData(self) -> tuple[Any, ...]:
        """The elements, one after another."""
        return tuple(self._value.reshape(-1).tolist())

    def getNumpyData(self) -> Any:
        """A copy as an array of NumPy."""
        return self._value.numpy().copy()

    def _in(self, dimension_type: int) -> Var:
        """The value with its axes as the other kind has them."""
        mine, other = self._dimension_type == Tensor_DimensionType_Tensorflow, dimension_type == Tensor_DimensionType_Tensorflow
        if mine == other or self._value.ndim != 4:
            return self._value
        return self._value.transpose(0, 3, 1, 2) if mine else self._value.transpose(0, 2, 3, 1)

    def copyFrom(self, source: Tensor) -> bool:
        """Copy the elements of a tensor of the same shape, with its axes permuted if the two tensors order them differently."""
        value = source._in(self._dimension_type)
        if value.shape != self._value.shape and source._value.shape == self._value.shape:
            value = source._value  # models from TensorFlow have the axes of a Tensorflow tensor
        if value.shape != self._value.shape:
            raise InvalidArgument(f"a Tensor of the shape {self._value.shape} is given one of {value.shape}")
        self._value = value.astype(self._value.dtype).clone()
        return True

    copyFromHostTensor = copyFrom

    def copyToHostTensor(self, target: Tensor) -> bool:
        return target.copyFrom(self)

    def getHost(self) -> Any:
        """Return a capsule with the address of the elements. It is valid until the tensor gets other elements."""
        made = MnnVar(self._value)
        self._shown = made
        return made.ptr

    def fromNumpy(self, data: Any) -> None:
        """Takes the elements of an array of the same size."""
        self._value = np.array(data, self._value.dtype).reshape(*self._value.shape)

    def printTensorData(self) -> None:
        print(self._value)


class OpInfo:
    """The description of an operator that callbacks get."""

    def __init__(self, name: str, type: str, operations: float) -> None:
        self._name, self._type, self._operations = name, type, operations

    def getName(self) -> str:
        return self._name

    def getType(self) -> str:
        """The operator of Minnow's: "Conv"."""
        return self._type

    def getFlops(self) -> float:
        """Millions of arithmetic operations."""
        return self._operations / 1e6


class Session:
    """A model's inputs and outputs, for Interpreter."""

    def __init__(self, module: nn.LoadedModule) -> None:
        self._module = module
        self._inputs: dict[str, Tensor] = {}
        self._outputs: dict[str, Tensor] = {}
        for row in module.describe_inputs():
            given = module.properties.get("shape." + row.name)  # Minnow takes any size here; the file has this one
            dims = [int(dim) for dim in given.split("x")] if given else [dim if isinstance(dim, int) else -1 for dim in row.shape or ()]
            last = module.properties.get("layout." + row.name) == "NHWC"
            tensor = Tensor([max(dim, 1) for dim in dims], row.dtype, None, Tensor_DimensionType_Tensorflow if last else Tensor_DimensionType_Caffe)
            tensor._open = tuple(dims) if -1 in dims else None
            self._inputs[row.name] = tensor

    def cache(self) -> None:
        """Nothing: plans are kept by themselves."""

    removeCache = cache


class Interpreter:
    """A model file of any format that Minnow reads."""

    def __init__(self, path: ModelPath) -> None:
        self._module = nn.load_module_from_file(path)
        self._path = path

    def createRuntime(self, configs: Any) -> tuple[nn.RuntimeManager, tuple[bool, ...]]:
        """Return a RuntimeManager for createSession(), made from the first configuration, and True for each configuration."""
        managers = nn.create_runtime_manager(on_cpu(configs))
        return managers[0], tuple(True for _ in managers)

    def createSession(self, config: dict[str, Any] | None = None, runtime: Any = None) -> Session:
        """config: numThread, precision, memory and backend, as create_runtime_manager() has them, and saveTensors, which changes nothing.
        runtime: of createRuntime(), in the place of config."""
        if runtime is not None:
            manager = runtime[0] if isinstance(runtime, (tuple, list)) else runtime
            return Session(nn.load_module_from_file(self._path, runtime_manager=manager))
        entries = {key: value for key, value in (config or {}).items() if key != "saveTensors"}
        if not entries:
            return Session(self._module.clone())
        return Session(nn.load_module_from_file(self._path, runtime_manager=nn.create_runtime_manager(on_cpu(entries))[0]))

    def _one(self, tensors: dict[str, Tensor], name: str | None, what: str) -> Tensor:
        if not tensors:
            raise InvalidArgument(f"the session has no {what}s; outputs come with runSession()")
        if name is None:
            return next(iter(tensors.values()))
        if name not in tensors:
            raise InvalidArgument(f'the model has no {what} "{name}"{_minnow.nearest(name, list(tensors))}')
        return tensors[name]

    def getSessionInput(self, session: Session, name: str | None = None) -> Tensor:
        return self._one(session._inputs, name, "input")

    def getSessionInputAll(self, session: Session) -> dict[str, Tensor]:
        return dict(session._inputs)

    def resizeTensor(self, tensor: Tensor, shape: Sequence[int]) -> None:
        tensor._value, tensor._open = np.zeros(tuple(shape), tensor._value.dtype), None

    def resizeSession(self, session: Session) -> None:
        """Nothing: a run plans for the shapes that the inputs have."""

    def runSession(self, session: Session) -> int:
        return self._take(session, session._module._call([tensor._value for tensor in session._inputs.values()], {}))

    def runSessionWithCallBack(self, session: Session, begin: Callable[[tuple[Tensor, ...], str], Any], end: Callable[[tuple[Tensor, ...], str], Any]) -> int:
        """Run, and call begin(inputs, name) before and end(outputs, name) after every operator, with copies of the tensors. If a callback
        returns False, the run ends there and this function returns 4. States begin anew."""
        return self._observed(session, *[lambda name, type, values, call=call: call(values, name) for call in (begin, end)])

    def runSessionWithCallBackInfo(self, session: Session, begin: Callable[[tuple[Tensor, ...], OpInfo], Any], end: Callable[[tuple[Tensor, ...], OpInfo], Any]) -> int:
        """The same with an OpInfo for the name."""
        from minnow import tools
        plan = tools.inspect(session._module, plan=True, shapes={name: x._value.shape for name, x in session._inputs.items()}).plan
        operations = {row.node: row.operations for row in plan}
        return self._observed(session, *[lambda name, type, values, call=call: call(values, OpInfo(name, type, operations.get(name, 0.0))) for call in (begin, end)])

    def _observed(self, session: Session, begin: Callable[..., Any], end: Callable[..., Any]) -> int:
        def watch(call: Callable[..., Any]) -> Callable[..., bool]:
            # As in MNN, a callback that returns None lets the run go on.
            return lambda name, type, values: call(name, type, tuple(Tensor._of(value, Tensor_DimensionType_Caffe) for value in values if value is not None)) is not False

        module = session._module
        try:
            results = _minnow.run_observed(module._loaded.model, [tensor._value for tensor in session._inputs.values()], watch(begin), watch(end), module._options)
        except _minnow.Cancelled:
            return 4
        return self._take(session, results)

    def _take(self, session: Session, results: Sequence[Any]) -> int:
        for name, value in zip((row.name for row in session._module.describe_outputs()), results):
            if name in session._outputs:
                session._outputs[name]._value = value
            else:
                last = session._module.properties.get("layout." + name) == "NHWC"
                session._outputs[name] = Tensor._of(value, Tensor_DimensionType_Tensorflow if last else Tensor_DimensionType_Caffe)
        return 0

    def _computed(self, session: Session) -> dict[str, Tensor]:
        if not session._outputs:  # shapes are known when it has run
            self.runSession(session)
        return session._outputs

    def getSessionOutput(self, session: Session, name: str | None = None) -> Tensor:
        return self._one(self._computed(session), name, "output")

    def getSessionOutputAll(self, session: Session) -> dict[str, Tensor]:
        return dict(self._computed(session))

    def cache(self, session: Session | None = None) -> None:
        """Nothing: plans are kept by themselves, and memory is given back by itself."""

    removeCache = cache

    def getSessionInfo(self, session: Session, code: int) -> Any:
        """MNN's codes: 0, megabytes of memory; 1, millions of arithmetic operations of a run; 2, the backend's number (the CPU's)."""
        if code == 2:
            return 0
        if code not in (0, 1):
            raise InvalidArgument(f"getSessionInfo() has the codes 0, 1 and 2, not {code}")
        from minnow import tools
        inspection = tools.inspect(session._module, plan=True, shapes={name: x._value.shape for name, x in session._inputs.items()})
        if code == 0:
            return (inspection.weight_bytes + inspection.arena_bytes) / 1e6
        return sum(row.operations for row in inspection.plan) / 1e6

    def updateSessionToModel(self, session: Session) -> None:
        """Nothing: a session's weights are the model's, and stay as they are."""

    def getModelVersion(self) -> str:
        return "minnow"

    def setCacheFile(self, path: str, *unused: Any) -> None:
        """Nothing: there is no cache of plans in files."""

    updateCacheFile = setCacheFile

    def setSessionMode(self, mode: Any) -> None:
        """Nothing: how sessions are made and release memory has no modes."""

    def setSessionHint(self, hint: Any, value: Any) -> None:
        """Nothing: the planner measures and decides."""

    def setExternalFile(self, path: str, *unused: Any) -> None:
        """Do nothing: files beside a model are found by the names in the model."""


def get_model_uuid(path: ModelPath) -> str | None:
    """Return the identifier that MNN's converter wrote into a .mnn file, or None."""
    import struct
    with open(path, "rb") as file:  # type: ignore[arg-type]
        data = file.read()
    try:
        root, = struct.unpack_from("<I", data)
        table = root - struct.unpack_from("<i", data, root)[0]
        if struct.unpack_from("<H", data, table)[0] < 4 + 2 * 12:  # mnn_uuid is the twelfth field of the table
            return None
        field = struct.unpack_from("<H", data, table + 4 + 2 * 11)[0]
        if not field:
            return None
        text = root + field + struct.unpack_from("<I", data, root + field)[0]
        length: int = struct.unpack_from("<I", data, text)[0]
        return bytes(data[text + 4:text + 4 + length]).decode()
    except (struct.error, UnicodeDecodeError):
        raise _minnow.InvalidModel(f"{path!r}: is no .mnn file") from None


__all__ = ["get_model_uuid", "Halide_Type_String", "Halide_Type_Double", "Halide_Type_Float", "Halide_Type_Int", "Halide_Type_Int64", "Halide_Type_Uint8", "Interpreter", "OpInfo", "Session", "Tensor",
           "Tensor_DimensionType_Caffe", "Tensor_DimensionType_Caffe_C4", "Tensor_DimensionType_Tensorflow"]

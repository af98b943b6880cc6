#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a model through the engine that owns its format and through Minnow, and shows the first node that deviates.

    compare_with_owner.py MODEL [MODEL2] [--input name=x.npy]... [--shape name=1x3x224x224]... [-- OPTION OF minnow compare ...]

ONNX goes through onnxruntime, a frozen TensorFlow graph or a SavedModel's folder through tensorflow, TFLite through ai_edge_litert (or tensorflow), Caffe through
OpenCV's dnn, TorchScript through torch, .mnn through the MNN wheel; each only if it is installed. The owner's tensors are written as .npy files,
and `minnow compare MODEL FOLDER` judges. The tensors that can be compared depend on the owner: ONNX Runtime, TensorFlow, LiteRT and MNN give all
tensors (named as in the file), OpenCV gives the outputs of layers, torch and a SavedModel only the model's outputs. (The variables of a TorchScript
program are local to its modules, each of which has its own "input" and "_0", so names would be ambiguous.)

Exit status: that of `minnow compare`; 77 where the owner is not installed. MINNOW names the command (default: build/release/bin/minnow, then the PATH).
"""
import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def needed(*names):
    """The first of these modules that is installed."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    print(f"{' or '.join(names)} is not installed")
    sys.exit(77)


np = needed("numpy")


class Inputs:
    """The inputs given by name or by position, and random numbers for the rest, as `minnow compare` makes them but from a seed of ours."""

    def __init__(self, arguments):
        self.given, self.places, self.shapes = {}, [], {}
        for text in arguments.input:
            name, equals, path = text.rpartition("=")
            if equals:
                self.given[name] = np.load(path)
            else:
                self.places.append(np.load(text))
        for text in arguments.shape:
            name, _, dims = text.rpartition("=")
            self.shapes[name] = [int(dim) for dim in dims.split("x") if dim]
        self.random = np.random.default_rng(7)
        self.made = {}

    def array(self, name, shape, dtype):
        if name not in self.made:
            if name in self.given:
                array = self.given[name]
            elif self.places:
                array = self.places.pop(0)
            else:
                shape = self.shapes.get(name, [dim if isinstance(dim, int) and dim > 0 else 1 for dim in shape])
                dtype = np.dtype(dtype)
                if dtype.kind == "f":
                    array = self.random.standard_normal(shape)
                elif dtype in (np.int8, np.uint8, np.int16):  # quantized: numbers of all sizes
                    array = self.random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape)
                else:  # truth values and indices
                    array = self.random.integers(0, 2, shape)
                array = np.asarray(array).astype(dtype)
            self.made[name] = array
        return self.made[name]


def onnx_tensors(paths, inputs):
    onnx, runtime = needed("onnx"), needed("onnxruntime")
    model = onnx.load(paths[0])
    dtypes = {value.name: value for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in dtypes:
                model.graph.output.append(onnx.ValueInfoProto(name=name))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    dtype_of = {"float": np.float32, "double": np.float64}
    feeds = {}
    for value in session.get_inputs():
        element = value.type[len("tensor("):-1]
        feeds[value.name] = inputs.array(value.name, value.shape, dtype_of.get(element, element if element != "bool" else np.bool_))
    names = [value.name for value in session.get_outputs()]
    return {name: array for name, array in zip(names, session.run(names, feeds)) if isinstance(array, np.ndarray)}


def tflite_tensors(paths, inputs):
    package = needed("ai_edge_litert.interpreter", "tensorflow")
    maker = getattr(package, "Interpreter", None) or package.lite.Interpreter
    interpreter = maker(paths[0], experimental_preserve_all_tensors=True, num_threads=1)
    for detail in interpreter.get_input_details():
        array = inputs.array(detail["name"], [int(dim) for dim in detail["shape"]], detail["dtype"])
        if array.shape != tuple(detail["shape"]):  # which not every kernel survives
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], inputs.made[detail["name"]])
    interpreter.invoke()
    tensors = {}
    for detail in interpreter.get_tensor_details():
        try:
            tensors[detail["name"]] = interpreter.get_tensor(detail["index"])
        except ValueError:  # weights that kernels have taken over, scratch
            pass
    return tensors


def tensorflow_tensors(paths, inputs):
    tensorflow = needed("tensorflow")
    v1 = tensorflow.compat.v1
    definition = v1.GraphDef()
    definition.ParseFromString(Path(paths[0]).read_bytes())
    graph = tensorflow.Graph()
    with graph.as_default():
        v1.import_graph_def(definition, name="")
    in_loops = lambda operation: operation._get_control_flow_context() is not None  # their values are many, one an iteration
    feeds, fetches = {}, {}
    for operation in graph.get_operations():
        for i, tensor in enumerate(operation.outputs):
            name = operation.name + (f":{i}" if i else "")
            if operation.type == "Placeholder":
                dims = tensor.shape.as_list() if tensor.shape.rank is not None else []
                feeds[tensor] = inputs.array(name, dims, tensor.dtype.as_numpy_dtype)
            elif operation.type not in ("Const", "NoOp") and not in_loops(operation) and tensor.dtype.is_numpy_compatible:
                fetches[name] = tensor
    with v1.Session(graph=graph) as session:
        try:
            return session.run(fetches, feeds)
        except tensorflow.errors.OpError:  # a dead branch, a handle: one by one
            made = {}
            for name, tensor in fetches.items():
                try:
                    made[name] = session.run(tensor, feeds)
                except (tensorflow.errors.OpError, TypeError):
                    pass
            return {name: array for name, array in made.items() if isinstance(array, (np.ndarray, np.generic))}


def saved_model_tensors(paths, inputs):
    tensorflow = needed("tensorflow")
    loaded = tensorflow.saved_model.load(paths[0])
    names = list(loaded.signatures)
    signature = loaded.signatures["serving_default" if "serving_default" in names else names[0]]
    feeds = {}
    for name, spec in signature.structured_input_signature[1].items():
        feeds[name] = tensorflow.constant(inputs.array(name, spec.shape.as_list(), spec.dtype.as_numpy_dtype))
    return {name: value.numpy() for name, value in signature(**feeds).items()}


def described_inputs(paths):
    """Return the description of a model's inputs by `minnow inspect`, for owners that do not tell them."""
    with tempfile.TemporaryDirectory() as folder:
        graph = str(Path(folder) / "model.minnow")
        for line in ([command(), "convert", *paths, graph, "--optimize", "none"], [command(), "inspect", graph, "--json"]):
            result = subprocess.run(line, capture_output=True, text=True)
            if result.returncode:
                sys.exit(result.stderr.strip())
        return json.loads(result.stdout)["inputs"]


def caffe_tensors(paths, inputs):
    cv2 = needed("cv2")
    if not hasattr(cv2.dnn, "readNetFromCaffe"):
        print(f"OpenCV {cv2.__version__} reads no Caffe models, OpenCV 4 does")
        sys.exit(77)
    text = next(path for path in paths if path.endswith("prototxt"))
    weights = next(path for path in paths if path != text)
    net = cv2.dnn.readNetFromCaffe(text, weights)
    for value in described_inputs(paths):
        dims = [int(dim) if dim.isdigit() else 1 for dim in value["type"].rpartition("[")[2].rstrip("]").split(", ")]
        net.setInput(inputs.array(value["name"], dims, np.float32), value["name"])
    names = [name for name in net.getLayerNames() if name != "_input"]
    return dict(zip(names, net.forward(names)))


def torchscript_tensors(paths, inputs):
    torch = needed("torch")
    module = torch.jit.load(paths[0], map_location="cpu").eval()
    arguments = []
    for value in list(module.forward.graph.inputs())[1:]:
        name = value.debugName().split(".")[0]
        dims = value.type().sizes() if hasattr(value.type(), "sizes") else None
        arguments.append(torch.from_numpy(inputs.array(name, dims or [1], np.float32)))
    with torch.no_grad():
        result = module(*arguments)
    if isinstance(result, dict):
        return {name: value.numpy() for name, value in result.items()}
    results = result if isinstance(result, (tuple, list)) else [result]
    return {f"output{i}": value.numpy() for i, value in enumerate(results)}


def mnn_names(path):
    """Operator -> what the file calls the tensors that it makes. The file is a FlatBuffer: tables whose fields are found by their numbers."""
    data = Path(path).read_bytes()
    number = lambda at, size=4: int.from_bytes(data[at:at + size], "little", signed=True)

    def field(table, i):
        vtable = table - number(table)
        offset = number(vtable + 4 + 2 * i, 2) if 4 + 2 * i < number(vtable, 2) else 0
        return table + offset + number(table + offset) if offset else None

    places = lambda vector: range(vector + 4, vector + 4 + 4 * number(vector), 4) if vector else ()
    text = lambda at: data[at + 4:at + 4 + number(at)].decode(errors="replace")
    net = number(0)
    tensors = [text(at + number(at)) for at in places(field(net, 7))]
    operators = [at + number(at) for at in places(field(net, 3))]
    return {text(name): [tensors[number(at)] for at in places(field(op, 4))] for op in operators if (name := field(op, 3))}


def mnn_tensors(paths, inputs):
    mnn = needed("MNN")
    names = mnn_names(paths[0])
    interpreter = mnn.Interpreter(paths[0])
    session = interpreter.createSession()
    for name, tensor in interpreter.getSessionInputAll(session).items():
        interpreter.resizeTensor(tensor, tuple(max(dim, 1) for dim in tensor.getShape()))  # open dimensions hide the dtype
        interpreter.resizeTensor(tensor, inputs.array(name, tensor.getShape(), tensor.getNumpyData().dtype).shape)
    interpreter.resizeSession(session)
    for name, tensor in interpreter.getSessionInputAll(session).items():
        array = inputs.array(name, tensor.getShape(), tensor.getNumpyData().dtype)
        tensor.copyFrom(mnn.Tensor(array.shape, tensor.getDataType(), array, tensor.getDimensionType()))
    made = {}

    def keep(name, tensor):
        if 0 in tensor.getShape():  # what was not computed
            return
        host = mnn.Tensor(tensor.getShape(), tensor.getDataType(), np.zeros(tensor.getShape(), tensor.getNumpyData().dtype), tensor.getDimensionType())
        tensor.copyToHostTensor(host)
        made[name] = np.array(host.getNumpyData()).reshape(tensor.getShape())

    def after(tensors, operator):  # memory is used again, so that an operator's result is read right behind it
        made_here = names.get(operator.getName(), [])
        if len(made_here) == len(tensors):
            for name, tensor in zip(made_here, tensors):
                keep(name, tensor)
        return True

    interpreter.runSessionWithCallBackInfo(session, lambda tensors, operator: True, after)
    for name, tensor in interpreter.getSessionOutputAll(session).items():
        keep(name, tensor)
    return made


# How a file is told: by the end of its name, which a folder has none of.
OWNERS = {"": saved_model_tensors, ".onnx": onnx_tensors, ".tflite": tflite_tensors, ".pb": tensorflow_tensors, ".prototxt": caffe_tensors, ".caffemodel": caffe_tensors,
          ".pt": torchscript_tensors, ".torchscript": torchscript_tensors, ".mnn": mnn_tensors}


def command():
    built = ROOT / "build" / "release" / "bin" / "minnow"
    found = os.environ.get("MINNOW") or (str(built) if built.exists() else shutil.which("minnow"))
    return found or sys.exit("there is no minnow command; MINNOW may name it")


def file_name(tensor):
    """As `minnow run` names files."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in tensor)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--input", action="append", default=[], help="name=x.npy, or x.npy for the next input")
    parser.add_argument("--shape", action="append", default=[], help="dimensions of a random input: name=1x3x224x224")
    parser.add_argument("--keep", help="a folder to leave the owner's tensors in")
    own, rest = (sys.argv[1:], []) if "--" not in sys.argv else (sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:])
    arguments = parser.parse_args(own)
    owner = OWNERS.get(Path(arguments.model[0]).suffix)
    if not owner:
        sys.exit(f"{arguments.model[0]}: the format is not told by its name ({', '.join(OWNERS)})")
    inputs = Inputs(arguments)
    tensors = owner(arguments.model, inputs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in {**tensors, **inputs.made}.items():
            if len(file := file_name(name)) < 250:  # LiteRT's converter joins names beyond what a file's name may have
                np.save(folder / file, array)
        print(f"{len(tensors)} tensors of {owner.__name__.removesuffix('_tensors')}'s owner", flush=True)
        return subprocess.run([command(), "compare", ",".join(arguments.model), str(folder), *rest]).returncode


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corpus in tables: the errors of every model, the size of its graph, and the cost of converting it.

  corpus.py errors        the largest difference from the reference of each case, on the backends cpu and reference, and of the model's ONNX
                          export in ONNX Runtime (in units of max(1, the largest number of the output))
  corpus.py graphs        operators (including subgraphs) as imported and optimized, beside ONNX Runtime's optimized graph, extended and
                          with its layout changes, and MNN's converter; ONNX Runtime reads models of other formats as Minnow's plain ONNX export
  corpus.py converters    processor time and peak memory of converting: Minnow, MNN, ONNX Runtime saving its graph, OpenVINO, pnnx; the least of
                          --rounds, which alternate between the converters. Commands are measured as a whole (MNN's is a script of Python); for
                          Python packages only the calls are, and memory above that of the process before

MINNOW_CORPUS names the corpus, MINNOW_MODELS_DIR the folder of scripts/fetch_models.py. Peers that are not installed are omitted.
"""
import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import machine, table

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("MINNOW_BUILD_DIR", str(ROOT / "build/release"))
os.environ.setdefault("MINNOW_CORPUS", str(ROOT.parent / "shared/corpus"))
os.environ.setdefault("MINNOW_MODELS_DIR", str(ROOT / "build/models"))
sys.path.insert(0, str(ROOT / "tests/cli"))
BIN = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin"
SECONDS = 300
os.environ["PIP_NO_INDEX"] = "1"  # MNN's command would install a package that reports its use

# The program that a peer runs in its own process. Arguments: a graph's path and the path to write. It prints the seconds and the growth of memory in bytes.
PEER = """
import json, sys, time
def kb(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))
{prepare}
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before, start = kb("VmRSS"), time.process_time()
{convert}
print(json.dumps([time.process_time() - start, (kb("VmHWM") - before) * 1024]))
"""
ONNX_RUNTIME = """import onnxruntime as ort
options = ort.SessionOptions()
options.log_severity_level, options.intra_op_num_threads, options.optimized_model_filepath = 4, 1, sys.argv[2]
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_{level}"""
RUN_ONNX_RUNTIME = "ort.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])"


class Refused(Exception):
    pass


# A new process counts the memory of its parent, so this small launcher is the parent. Its answer comes last, after the command's output.
LAUNCHER = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"\\n{status} {used.ru_utime + used.ru_stime} {used.ru_maxrss * 1024}")
"""


def command(*arguments, folder=None):
    """Seconds of processor time, peak bytes and stdout of a command that must succeed."""
    result = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                            cwd=folder, timeout=SECONDS)
    text, _, answer = result.stdout.rstrip("\n").rpartition("\n")
    status, seconds, memory = answer.split()
    if int(status):
        said = (result.stderr + text).strip().splitlines()
        raise Refused(f"ended with {status}: {said[-1][:160] if said else ''}")
    return float(seconds), int(memory), text


def peer(prepare, convert, *arguments):
    _, _, text = command(sys.executable, "-W", "ignore", "-c", PEER.format(prepare=prepare, convert=convert), *arguments)
    return tuple(json.loads(text.strip().splitlines()[-1]))


def present(package):
    return importlib.util.find_spec(package) is not None


def cases(wanted):
    from export_test import find_cases
    return [(name, row, paths) for name, row, paths in find_cases() if re.search(wanted, name)]


def shapes(row):
    return [part for each in row["inputs"] for part in ("--shape", f"{each['name']}={'x'.join(map(str, each['shape']))}")]


def convert(row, paths, target, *options):
    """Convert; if the file leaves the shapes of inputs open, pass shapes."""
    try:
        return command(BIN / "minnow", "convert", *paths, target, *options)
    except Refused as refused:
        if "has no number of dimensions" not in str(refused):
            raise
    return command(BIN / "minnow", "convert", *paths, target, *options, *shapes(row))


def errors(arguments):
    import export_test
    found = {}
    for backend in ("cpu", "reference"):
        for suite in ("corpus", "corpus-tflite", "corpus-tensorflow", "corpus-caffe", "corpus-mnn", "corpus-torchscript"):
            result = subprocess.run([str(BIN / "conformance_tests"), "--suite", suite, "--backend", backend, "--verbose"], capture_output=True, text=True)
            name = suite.removeprefix("corpus-") if suite != "corpus" else "onnx"
            for case, verdict, worst in re.findall(r"^\S+/(\S+) \.\.\. (?:FAILED[^\n]*\n)?(ok|differs), largest difference (\S+),", result.stdout, re.M):
                found[f"{name}/{case}", backend] = f"{float(worst):.1e}" + (" **differs**" if verdict != "ok" else "")
    lines = []
    for name, row, paths in cases(arguments.cases):
        test = export_test.Corpus("test_round_trip")
        test.setUp()
        try:
            test.check(name, row, paths)
            trip = f"{test.worst:.1e}"
        except Exception as error:  # of the checker, of ONNX Runtime, or a difference
            trip = f"**{str(error).splitlines()[0][:80]}**"
        finally:
            test.doCleanups()
        lines.append([name, found.get((name, "cpu"), "-"), found.get((name, "reference"), "-"), trip])
    return ["case", "cpu", "reference", "export in ONNX Runtime"], lines


def onnx_nodes(path):
    import onnx

    def count(graph):
        inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        return sum(node.op_type != "Constant" for node in graph.node) + sum(map(count, inner))

    return count(onnx.load(path, load_external_data=False).graph)


def minnow_nodes(path):
    described = json.loads(command(BIN / "minnow", "inspect", path, "--json")[2])
    return sum(described["operators"].values())


def mnn_nodes(path):
    """Count the operators of a file's graphs, without those that only name inputs (34) and constants (11; 512 stands for unknown ones)."""
    data = Path(path).read_bytes()

    def number(at, size=4, signed=False):
        return int.from_bytes(data[at:at + size], "little", signed=signed)

    def field(at, index):
        table = at - number(at, 4, True)
        offset = number(table + 4 + 2 * index, 2) if 4 + 2 * index < number(table, 2) else 0
        return at + offset if offset else 0

    def elements(at):
        start = at + number(at)
        return [each + number(each) for each in range(start + 4, start + 4 + 4 * number(start), 4)]

    net = number(0)
    lists = [field(net, 3)]
    if graphs := field(net, 10):
        lists += [field(graph, 4) for graph in elements(graphs)]
    kinds = [number(field(op, 5), 4) if field(op, 5) else 0 for each in lists if each for op in elements(each)]
    return sum(kind not in (34, 11) for kind in kinds)


def mnn_convert(format_name, paths, target):
    converter = shutil.which("mnnconvert", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names = {"onnx": "ONNX", "tensorflow": "TF", "tflite": "TFLITE", "caffe": "CAFFE"}
    if not converter or format_name not in names:
        raise Refused("no converter")
    files = ["--prototxt", paths[0], "--modelFile", paths[1]] if format_name == "caffe" else ["--modelFile", paths[0]]
    target.unlink(missing_ok=True)
    try:
        result = command(converter, "-f", names[format_name], *files, "--MNNModel", target, "--bizCode", "minnow", folder=target.parent)  # it leaves files where it is run
    except Refused as refused:
        if "-11" not in str(refused):
            raise
        result = command(converter, "-f", names[format_name], *files, "--MNNModel", target, "--bizCode", "minnow", "--useOriginRNNImpl", folder=target.parent)
    if not target.exists():
        raise Refused("wrote nothing")
    return result


def attempt(make):
    try:
        return str(make())
    except Refused:
        return "-"


def graphs(arguments):
    lines = []
    folder = arguments.folder
    for name, row, paths in cases(arguments.cases):
        minnow, plain, model = folder / "out.minnow", folder / "plain.minnow", folder / "plain.onnx"
        fixed = []
        try:
            command(BIN / "minnow", "convert", *paths, model, "--optimize", "none", "--opset", "21")
        except Refused as refused:  # all are told the same of the inputs
            fixed = shapes(row) if "has no number of dimensions" in str(refused) else []

        def ours(target, *options):
            command(BIN / "minnow", "convert", *paths, target, *options, *fixed)
            return minnow_nodes(target)

        def optimized(level):
            source = paths[0]
            if row["format"] != "onnx":
                source = model
                command(BIN / "minnow", "convert", *paths, model, "--optimize", "none", "--opset", "21", *fixed)
            target = folder / "optimized.onnx"
            peer(ONNX_RUNTIME.format(level=level), RUN_ONNX_RUNTIME, source, target)
            return onnx_nodes(target)

        def mnn():
            target = folder / "out.mnn"
            mnn_convert(row["format"], paths, target)
            return mnn_nodes(target)

        lines.append([name, attempt(lambda: ours(plain, "--optimize", "none")), attempt(lambda: ours(minnow)),
                      attempt(lambda: optimized("EXTENDED")), attempt(lambda: optimized("ALL")), attempt(mnn)])
        print(" ".join(lines[-1]), file=sys.stderr, flush=True)
    for i, what in ((3, "extended"), (4, "all"), (5, "MNN")):
        both = [(int(line[2]), int(line[i])) for line in lines if line[2] != "-" and line[i] != "-"]
        if both:
            print(f"{what}: over {len(both)} models Minnow has {sum(a for a, _ in both)} operators, the other {sum(b for _, b in both)}; "
                  f"more in {sum(a > b for a, b in both)}", file=sys.stderr)
    return ["case", "imported", "Minnow", "ONNX Runtime, extended", "all", "MNN"], lines


def converters(arguments):
    folder, lines = arguments.folder, []
    pnnx = importlib.util.find_spec("pnnx")

    def by_minnow(row, paths):
        return convert(row, paths, folder / "out.minnow")[:2]

    def by_mnn(row, paths):
        return mnn_convert(row["format"], paths, folder / "out.mnn")[:2]

    def by_onnx_runtime(row, paths):
        if row["format"] != "onnx" or not present("onnxruntime"):
            raise Refused("not its format")
        return peer(ONNX_RUNTIME.format(level="ALL"), RUN_ONNX_RUNTIME, paths[0], folder / "optimized.onnx")

    def by_openvino(row, paths):
        if row["format"] not in ("onnx", "tflite", "tensorflow") or not present("openvino"):
            raise Refused("not its format")
        return peer("import openvino as ov", "ov.save_model(ov.convert_model(sys.argv[1]), sys.argv[2], compress_to_fp16=False)", paths[0],
                    folder / "out.xml")

    def by_pnnx(row, paths):
        if row["format"] not in ("onnx", "torchscript") or not pnnx:
            raise Refused("not its format")
        copy = folder / "pnnx" / paths[0].name  # it writes beside what it reads
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(paths[0], copy)
        return command(Path(pnnx.origin).parent / "pnnx", copy, "fp16=0")[:2]

    ways = {"Minnow": by_minnow, "MNN": by_mnn, "ONNX Runtime": by_onnx_runtime, "OpenVINO": by_openvino, "pnnx": by_pnnx}
    ratios = {}
    for name, row, paths in cases(arguments.cases):
        measured = {}
        for turn in range(arguments.rounds):
            for way, make in ways.items():
                if turn and way not in measured:
                    continue
                try:
                    seconds, memory = make(row, paths)
                except Refused:
                    continue
                least = measured.get(way, (seconds, memory))
                measured[way] = (min(seconds, least[0]), min(memory, least[1]))
        lines.append([name] + [f"{measured[way][0] * 1e3:.0f} / {measured[way][1] / 1e6:.0f}" if way in measured else "-" for way in ways])
        print(" ".join(lines[-1]), file=sys.stderr, flush=True)
        for way in measured:
            if way != "Minnow" and "Minnow" in measured:
                ratios.setdefault(way, []).append([measured[way][i] / measured["Minnow"][i] for i in (0, 1)])
    for way, each in ratios.items():
        middle = [sorted(pair[i] for pair in each)[len(each) // 2] for i in (0, 1)]
        print(f"{way}: over {len(each)} models, in the median {middle[0]:.1f} times Minnow's time and {middle[1]:.1f} times its memory; slower in "
              f"{sum(pair[0] > 1 for pair in each)}", file=sys.stderr)
    return ["case: ms / MB", *ways], lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["errors", "graphs", "converters"])
    parser.add_argument("--cases", default="", help="a regular expression: tflite/.*")
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments.folder = Path(folder)
        header, lines = {"errors": errors, "graphs": graphs, "converters": converters}[arguments.what](arguments)
    print(f"`bench/corpus.py {arguments.what}`; {machine()}; {time.strftime('%Y-%m-%d')}\n\n{table(header, lines)}")


if __name__ == "__main__":
    main()

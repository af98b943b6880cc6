#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One network in every format: is it the same graph, at the same speed, with the same answer?

  formats.py [--networks a,b] [--out FOLDER] [--rounds N] [--seconds S]

Writes the networks of format_networks.py in all formats, converts them, and prints for each: the worst difference from the engine that owns
the format (python/tools/compare_with_owner.py) and from PyTorch, relative to the largest output; the operators of the optimized graph; and the
processor time of a run on one thread, the least of all rounds, which go over the formats in turn. Sizes that a file leaves open are fixed
(--shape), as the other files fix them. Needs torch, torchvision, onnx, onnxscript, onnxruntime, tensorflow, ai-edge-litert, MNN and
opencv-python in one environment; what is not there is left out. Writes OUT/formats.md and OUT/formats.json.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from format_networks import NETWORKS, WRITERS
from peers import Failure, is_newer, machine, table

ROOT = Path(__file__).resolve().parent.parent
# Name, the writer, its files, whether images have their channels last.
FORMATS = [("ONNX", "torch", ["model.onnx"], False), ("TorchScript", "torch", ["model.pt"], False), ("MNN", "mnn", ["model.mnn"], False),
           ("Caffe", "caffe", ["model.prototxt", "model.caffemodel"], False), ("TensorFlow", "keras", ["frozen.pb"], True),
           ("SavedModel", "keras", ["saved_model"], True), ("TFLite", "keras", ["model.tflite"], True)]


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, *accepted):
    result = subprocess.run([str(each) for each in command], capture_output=True, text=True, errors="replace")
    if result.returncode and result.returncode not in accepted:
        said = (result.stderr + result.stdout).strip().splitlines()
        raise Failure(said[-1][:300] if said else f"ended with {result.returncode}")
    return result


def difference(a, b):
    """Return the largest difference of two outputs of one size, relative to the largest number."""
    if a is None or a.size != b.size:
        return None
    return float(np.abs(a.ravel().astype(np.float64) - b.ravel()).max() / max(np.abs(b).max(), 1e-30))


class Format:
    """One network in one format: its files, its graph and its measurements."""

    def __init__(self, name, writer, files, last, network, folder, minnow):
        self.name, self.writer, self.network, self.folder, self.minnow = name, writer, network, folder, minnow
        self.paths, self.last = [folder / file for file in files], last
        self.graph = folder / f"{name}.minnow"
        self.row = {"network": network, "format": name}
        self.times = []

    def inputs(self):
        """The input as the file wants it, as .npy files in the order of the model's inputs."""
        x = np.load(self.folder / "input.npy")
        given = {}
        if self.writer == "caffe" and self.network == "lstm":
            given = {"x": np.moveaxis(x, 1, 0), "cont": np.concatenate([np.zeros((1, 1), np.float32), np.ones((x.shape[1] - 1, 1), np.float32)])}
        else:
            given = {"x": np.moveaxis(x, 1, -1) if self.last and x.ndim == 4 else x}
        files = []
        for name, array in given.items():
            files.append(self.folder / f"{self.name}.{name}.npy")
            np.save(files[-1], np.ascontiguousarray(array))
        return given, files

    def given(self):
        return [part for file in self.files for part in ("--input", file)]

    def convert(self):
        given, self.files = self.inputs()
        asked = json.loads(run([self.minnow, "convert", *self.paths, self.graph, "--json"]).stdout)
        described = json.loads(run([self.minnow, "inspect", self.graph, "--json"]).stdout)
        open_sizes = [value["name"] for value in described["inputs"] if any(c.isalpha() or c == "?" for c in value["type"].split("[")[-1])]
        if open_sizes:
            shapes = [part for value, array in zip(described["inputs"], given.values())
                      for part in ("--shape", f"{value['name']}={'x'.join(map(str, array.shape))}")]
            asked = json.loads(run([self.minnow, "convert", *self.paths, self.graph, "--json", *shapes]).stdout)
            self.row["open_nodes"] = described["nodes"]
            described = json.loads(run([self.minnow, "inspect", self.graph, "--json"]).stdout)
        self.row.update(nodes=described["nodes"], operators=described["operators"], in_subgraphs=described.get("nodes_in_subgraphs", 0),
                        convert_seconds=asked["seconds"])

    def judge(self):
        answer = json.loads(run([self.minnow, "run", self.graph, *self.given(), "--output-dir", self.folder / f"{self.name}.out", "--json"]).stdout)
        output = answer["outputs"][0]
        y = np.load(output["file"])
        self.row["to_pytorch"] = difference(y, np.load(self.folder / "expected.npy"))
        kept = self.folder / f"{self.name}.owner"
        result = run([sys.executable, "-W", "ignore", ROOT / "python/tools/compare_with_owner.py", *self.paths, *self.given(), "--keep", kept, "--",
                      "--optimize", "--tolerance", "1e-3"], 0, 1, 3, 77)
        theirs = kept / Path(output["file"]).name
        if not theirs.exists() and (named := [kept / f"{name}.npy" for name in ("Identity", "output_0", "output0")
                                              if (kept / f"{name}.npy").exists()]):
            theirs = named[0]
        if theirs.exists():
            self.row["to_owner"] = difference(y, np.load(theirs))
        else:
            said = (result.stdout + result.stderr).strip().splitlines()
            self.row["owner"] = said[-1][:200] if said else ""

    def time(self, seconds):
        answer = run([self.minnow, "bench", self.graph, "--threads", 1, "--seconds", seconds, *(
            f"--input={value}={file}" for value, file in zip(self.input_names(), self.files)), "--json"])
        self.times.append(json.loads(answer.stdout)["min_cpu_ms"])

    def input_names(self):
        return [value["name"] for value in json.loads(run([self.minnow, "inspect", self.graph, "--json"]).stdout)["inputs"]]


def measure(arguments):
    rows = []
    for network in arguments.networks.split(","):
        folder = arguments.out / network
        folder.mkdir(parents=True, exist_ok=True)
        absent = {}
        for writer in WRITERS:
            done = folder / f"{writer}.done"
            if is_newer(done, ROOT / "bench/format_networks.py"):
                continue
            say(f"{network}: {writer} writes")
            result = subprocess.run([sys.executable, "-W", "ignore", ROOT / "bench/format_networks.py", writer, network, folder], capture_output=True, text=True)
            if result.returncode:
                absent[writer] = (result.stdout + result.stderr).strip().splitlines()[-1]
            else:
                done.touch()
        formats = []
        for name, writer, files, last in FORMATS:
            one = Format(name, writer, files, last, network, folder, arguments.minnow)
            rows.append(one.row)
            try:
                if writer in absent:
                    raise Failure(f"not written: {absent[writer]}")
                say(f"{network}: {name}")
                one.convert()
                one.judge()
                formats.append(one)
            except Failure as failure:
                one.row["failure"] = str(failure)
        for turn in range(arguments.rounds):
            for one in formats[turn % len(formats):] + formats[:turn % len(formats)]:
                one.time(arguments.seconds)
        for one in formats:
            one.row["cpu_ms"] = min(one.times)
    return rows


def number(value, form):
    return "-" if value is None else format(value, form)


def report(rows, arguments):
    text = [f"# One network in every format\n\n{machine()}; {time.strftime('%Y-%m-%d')}; `bench/formats.py --rounds {arguments.rounds} --seconds "
            f"{arguments.seconds}`. Differences are the largest of an output, relative to its largest number. Time is the processor time of a run on one "
            "thread, the least of the rounds, which go over the formats in turn.\n"]
    notes = []
    for network in dict.fromkeys(row["network"] for row in rows):
        mine = [row for row in rows if row["network"] == network]
        least_nodes = min((row["nodes"] for row in mine if "nodes" in row), default=0)
        least_time = min((row["cpu_ms"] for row in mine if "cpu_ms" in row), default=0)
        lines = []
        for row in mine:
            if "failure" in row:
                notes.append(f"{network}, {row['format']}: {row['failure']}")
                continue
            common = next((other for other in mine if other.get("nodes") == least_nodes), row)["operators"]
            more = {name: count - common.get(name, 0) for name, count in {**{name: 0 for name in common}, **row["operators"]}.items()
                    if count != common.get(name, 0)}
            lines.append([row["format"], number(row.get("to_owner"), ".1e"), number(row.get("to_pytorch"), ".1e"), str(row["nodes"]),
                          str(row.get("open_nodes", "-")), f"{row['cpu_ms']:.2f}", f"{row['cpu_ms'] / least_time:.2f}",
                          ", ".join(f"{count:+d} {name}" for name, count in sorted(more.items())) or "-"])
            if "owner" in row:
                notes.append(f"{network}, {row['format']}: its owner gives no answer: {row['owner']}")
        text += [f"## {network}\n", table(["format", "to its owner", "to PyTorch", "operators", "with sizes open", "ms", "of the least",
                                           "operators beside the smallest graph's"], lines)]
    return "\n".join([*text, *(f"- {note}" for note in notes)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--out", type=Path, default=ROOT / "build/formats")
    parser.add_argument("--minnow", type=Path, default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each round")
    arguments = parser.parse_args()
    rows = measure(arguments)
    text = report(rows, arguments)
    (arguments.out / "formats.json").write_text(json.dumps(rows, indent=1) + "\n")
    (arguments.out / "formats.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

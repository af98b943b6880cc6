#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions per multiply-add of kernels for ARM: of the innermost loops in libraries, counted in their disassembly, or of whole kernels,
counted while they run under emulation.

usage: scripts/instruction_counts.py [--objdump PROGRAM] [NAME=]LIBRARY...
       scripts/instruction_counts.py --emulate [--emulator PROGRAM] KERNEL_RUN

A loop is the code from the target of a backward branch to the branch, with no other loop inside. For each library and each kind of product
the script prints the loop with the fewest instructions per multiply-add: the main kernel. Every instruction in the loop counts: loads,
prefetches, moves and the branch. A library may be a wheel of the Python package index; its largest shared object is taken.

KERNEL_RUN is build/arm64/bin/kernel_run (./dev build arm64, or its target kernel_run alone). The emulator executes an instruction at a time
and logs each. A run is the difference between a process with two runs and one with one; "whole" is a run of the larger size over its
multiply-adds, "slope" the difference between two sizes over that of their multiply-adds, without what a run costs at any size.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Multiply-adds of one instruction, by its name and the arrangement of its first operand (its type on 32-bit ARM).
PRODUCTS = [
    (r"fml[as]", {"4s": ("f32", 4), "2s": ("f32", 2), "8h": ("f16", 8), "4h": ("f16", 4)}),
    (r"fmlal2?", {"4s": ("f16 into f32", 4), "2s": ("f16 into f32", 2)}),
    (r"bfdot", {"4s": ("bf16", 8), "2s": ("bf16", 4)}),
    (r"bfmlal[bt]", {"4s": ("bf16", 4)}),
    (r"bfmmla", {"4s": ("bf16", 16)}),
    (r"[su]{1,2}dot", {"4s": ("i8", 16), "2s": ("i8", 8)}),
    (r"[su]{1,2}mmla", {"4s": ("i8", 32)}),
    (r"[su]mlal2?", {"4s": ("i16", 4), "8h": ("i8 into i16", 8)}),
    (r"vfma\.f32|vmla\.f32", {"q": ("f32", 4), "d": ("f32", 2)}),
    (r"vmlal\.s16", {"q": ("i16", 4)}),
]
PRODUCTS = [(re.compile(name + "$"), forms) for name, forms in PRODUCTS]
LEAST_PRODUCTS = 8  # instructions that multiply, in a loop that is a kernel's
BRANCH = re.compile(r"(?:b\w*(?:\.\w+)?|cbn?z|tbn?z)$")


def product(name, operands):
    """(kind, multiply-adds) of an instruction, or None."""
    for pattern, forms in PRODUCTS:
        if pattern.match(name):
            form = re.match(r"(?:v\d+\.(\w+)|([qd])\d)", operands)
            return forms.get(form[1] or form[2]) if form else None
    return None


def loops(library, objdump):
    """(kind, multiply-adds, instructions, function) of every innermost loop that multiplies."""
    command = [objdump, "--disassemble", "--demangle", "--no-show-raw-insn", library]
    function, body = "", []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
                function, body = head[1], []
                continue
            row = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line)
            if not row:
                continue
            address, name, operands = int(row[1], 16), row[2], row[3]
            body.append((address, product(name, operands)))
            target = re.search(r"(?:^|\s|,)([0-9a-f]+) <", operands) if BRANCH.match(name) else None
            if not target or not body[0][0] <= int(target[1], 16) <= address:
                continue
            start = int(target[1], 16)
            inside = [found for place, found in body if place >= start]
            kinds = [found for found in inside if found]
            if len(kinds) >= LEAST_PRODUCTS and len({kind for kind, _ in kinds}) == 1:
                yield kinds[0][0], sum(count for _, count in kinds), len(inside), function
            body = body[-1:]  # a loop around this one is not an innermost one


def shared_object(path, folder):
    """The path itself, or the largest shared object of a wheel, unpacked into `folder`."""
    if not zipfile.is_zipfile(path):
        return path
    with zipfile.ZipFile(path) as wheel:
        largest = max((info for info in wheel.infolist() if ".so" in info.filename), key=lambda info: info.file_size)
        return wheel.extract(largest, folder)


# Kernels of kernel_run and their sizes.
RUNS = [
    ("f32", 32, 64), ("f32-3x3", 16, 32), ("winograd", 32, 64), ("depthwise", 16, 32), ("f16", 64, 128), ("bf16", 64, 128),
    ("i8-matrices", 512, 1024), ("i8-dot", 512, 1024), ("i8-words", 512, 1024),
]  # fmt: skip


def executed(emulator, program, kernel, size, runs):
    """(multiply-adds of a run, instructions of the process)."""
    command = [*emulator.split(), "-singlestep", "-d", "exec,nochain", program, kernel, str(size), str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        instructions = sum(line.startswith("Trace ") for line in process.stderr)
        multiply_adds = process.stdout.read()
    if process.returncode:
        sys.exit(f"instruction_counts.py: {' '.join(command)} ended with status {process.returncode}")
    return int(multiply_adds), instructions


def emulate(emulator, program):
    print("| kernel | size | multiply-adds | instructions | whole | slope |\n|---|---|---|---|---|---|")
    for kernel, *sizes in RUNS:
        points = []
        for size in sizes:
            (products, once), (_, twice) = (executed(emulator, program, kernel, size, runs) for runs in (1, 2))
            points.append((products, twice - once))
        (products0, instructions0), (products, instructions) = points
        if products:
            slope = (instructions - instructions0) / (products - products0)
            print(f"| {kernel} | {sizes[-1]} | {products} | {instructions} | {instructions / products:.3f} | {slope:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="[NAME=]LIBRARY")
    parser.add_argument("--objdump", default="aarch64-linux-gnu-objdump", help="of the libraries' machine (default: %(default)s)")
    parser.add_argument("--emulate", action="store_true", help="run the kernels of kernel_run and count what is executed")
    parser.add_argument(
        "--emulator",
        default="qemu-aarch64-static -L /usr/aarch64-linux-gnu",
        help="with --emulate; options are QEMU 7.2's (default: %(default)s)",
    )
    arguments = parser.parse_args()
    if arguments.emulate:
        return emulate(arguments.emulator, *arguments.libraries)
    print("| library | products | instructions | multiply-adds | instructions per multiply-add |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for argument in arguments.libraries:
            name, _, path = argument.rpartition("=")
            if not Path(path).is_file():
                sys.exit(f"instruction_counts.py: there is no file {path}")
            best = {}
            for kind, products, instructions, function in loops(shared_object(path, folder), arguments.objdump):
                if kind not in best or instructions / products < best[kind][1] / best[kind][0]:
                    best[kind] = (products, instructions, function)
            for kind, (products, instructions, function) in sorted(best.items()):
                print(f"| {name or Path(path).name} | {kind} | {instructions} | {products} | {instructions / products:.3f} |")


if __name__ == "__main__":
    main()

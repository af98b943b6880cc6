#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage by folder, and how many lines of tests there are for each line of source, as a page.

    scripts/coverage.py BUILD [PAGE]

BUILD is a build folder of the preset coverage whose tests have run (./dev coverage). Without PAGE the page goes to standard output, with the
ten files that have the most lines that no test runs.
"""
import collections
import datetime
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["base", "graph", "ops", "passes", "planner", "backends", "backends/cpu", "backends/gpu", "backends/reference", "runtime", "express",
           "importers", "exporters", "numerics", "cli", "data", "train", "compress", "vision", "include"]
# Folders of tests for each folder of sources, where their names differ.
TESTS = {"include": [], "backends": [], "backends/reference": []}


def counts_of(data):
    """{file below src or include: {line: times}} of one object."""
    made = subprocess.run(["gcov", "--json-format", "--stdout", data], capture_output=True, cwd=data.parent, check=True).stdout
    found = collections.defaultdict(dict)
    for text in made.splitlines():
        report = json.loads(text)
        for file in report["files"]:
            path = Path(os.path.normpath(ROOT / file["file"]))  # -ffile-prefix-map leaves paths in the repository
            if path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "include"):
                lines = found[path.relative_to(ROOT).as_posix()]
                for line in file["lines"]:
                    lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return found


def folder_of(file):
    if file.startswith("include/"):
        return "include"
    inside = file.removeprefix("src/")
    return max((folder for folder in FOLDERS if inside.startswith(folder + "/")), key=len)


def line_count(paths):
    return sum(sum(1 for line in path.read_text().splitlines() if line.strip()) for path in paths)


def sources(folder):
    """The source files of a folder that do not belong to one below it in the table."""
    if folder == "include":
        return [path for path in (ROOT / "include").rglob("*.h")]
    return [path for path in (ROOT / "src" / folder).rglob("*") if path.suffix in {".h", ".cpp", ".inc"}
            and folder_of(path.relative_to(ROOT).as_posix()) == folder]


def tests(folder):
    """Return the tests of a folder: those with the same name, and their files in support/."""
    if folder in TESTS:
        return []
    found = [path for path in (ROOT / "tests" / folder).rglob("*") if path.suffix in {".h", ".cpp", ".c", ".py", ".txt"}]
    if folder == "backends/cpu":
        found += [*(ROOT / "tests/support").glob("scheme*"), *(ROOT / "tests/support").glob("*_cases.cpp")]
    return found


def main():
    build = Path(sys.argv[1]).resolve()
    data = sorted((build / "src").rglob("*.gcda"))
    if not data:
        sys.exit(f"{build} has no coverage data; ./dev coverage builds and runs the tests")
    merged = collections.defaultdict(dict)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(counts_of, data):
            for file, lines in found.items():
                for line, count in lines.items():
                    merged[file][line] = merged[file].get(line, 0) + count
    rows = {folder: [0, 0] for folder in FOLDERS}
    for file, lines in merged.items():
        rows[folder_of(file)][0] += len(lines)
        rows[folder_of(file)][1] += sum(count > 0 for count in lines.values())
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    page = f"""# Line coverage

Written by `./dev coverage`: unit tests, conformance suites, and the tests of the command, the importers and vision.
Lines of code that no test runs count against a folder, cold paths too. The last columns count the lines, without empty ones, of the sources and of the tests in the folder of the same name.

{platform.machine()}, {os.cpu_count()} cores, {compiler}, {datetime.date.today()}

| folder | lines of code | run by tests | | source lines | test lines | tests per source |
|---|---|---|---|---|---|---|
"""
    total = [0, 0, 0, 0]
    for folder in FOLDERS:
        code, run = rows[folder]
        source, test = line_count(sources(folder)), line_count(tests(folder))
        total = [sum(pair) for pair in zip(total, (code, run, source, test))]
        if code:
            page += f"| {folder} | {code:,} | {run:,} | {run / code:.1%} | {source:,} | {test:,} | {test / source:.2f} |\n"
    code, run, source, test = total
    page += f"| all | {code:,} | {run:,} | {run / code:.1%} | {source:,} | {test:,} | {test / source:.2f} |\n"
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(page)
        return
    print(page)
    missed = sorted(((sum(count == 0 for count in lines.values()), len(lines), file) for file, lines in merged.items()), reverse=True)
    for count, lines, file in missed[:40]:
        print(f"{count:5} of {lines:5} lines do not run: {file}")


if __name__ == "__main__":
    main()

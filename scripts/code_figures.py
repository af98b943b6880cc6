#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare two commits: lines of each folder, functions over 100 lines of C++, and conditional compilation in the CPU backend, as tables.

    scripts/code_figures.py OLD [NEW]

NEW is HEAD if it is not given. Functions are found by their indentation, so files have to be formatted. Functions named `table` or
`definitions`, which list rows, do not count.
"""
import collections
import io
import re
import subprocess
import sys
import tarfile

SOURCES = (".cpp", ".h", ".inc")
LINES = SOURCES + (".py", ".pyi", ".fbs", ".c", ".cmake", ".sh", "CMakeLists.txt")
TOPS = ("src", "include", "python", "tests", "bench", "examples", "scripts", "cmake", "docs")


def files_of(commit):
    """{path: text} of the source files and pages of a commit."""
    archive = subprocess.run(["git", "archive", commit, "--", *TOPS], capture_output=True, check=True).stdout
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            page = member.name.startswith("docs/") and member.name.endswith(".md") and not member.name.startswith("docs/results/")
            if member.isfile() and (page or (member.name.endswith(LINES) and not member.name.startswith("docs/"))):
                found[member.name] = tar.extractfile(member).read().decode(errors="replace")
    return found


def lines_by_folder(files):
    counts = collections.Counter()
    for path, text in files.items():
        parts = path.split("/")[:-1]
        depth = 3 if parts[:2] == ["src", "backends"] else 2 if parts[0] in ("src", "python") else 1
        counts["/".join(parts[:depth])] += text.count("\n")
        if depth > 1:
            counts[parts[0] + ", all"] += text.count("\n")
    return counts


def long_functions(files, limit=100):
    """(lines, place, head) of functions: a head at an indentation of 0 to 2, and a closing brace at the same."""
    found = []
    other = re.compile(r"(namespace|struct|class|enum|union|extern|if|for|while|switch|else|return|#|//|/\*|\*|\}|template<|(static )?const(expr)? \w+ k)\b|[#/*}]")
    for path, text in files.items():
        if not path.endswith(SOURCES) or not path.startswith(("src/", "include/", "python/")):
            continue
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            head = re.match(r"( {0,2})(\S.*)$", lines[at])
            if head and "(" in head[2] and not other.match(head[2]) and not re.search(r"[{;] | = ", head[2]):
                opening = at
                while opening < min(at + 6, len(lines) - 1) and not lines[opening].endswith(("{", ";", "}")):
                    opening += 1
                name = re.search(r"(\w+)\(", head[2])
                if lines[opening].endswith("{") and not re.search(r"(=|\}) ?\{$", lines[opening]):
                    end = opening + 1
                    while end < len(lines) and not lines[end].startswith(head[1] + "}"):
                        end += 1
                    if end - at + 1 > limit and name and name[1] not in ("table", "definitions"):
                        found.append((end - at + 1, f"{path}:{at + 1}", name[1]))
                    at = end
            at += 1
    return sorted(found, reverse=True)


def conditions(files, folder):
    """How often a folder has conditional compilation, and its lines."""
    count = lines = 0
    for path, text in files.items():
        if path.startswith(folder) and path.endswith(SOURCES):
            count += len(re.findall(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b", text, re.MULTILINE))
            lines += text.count("\n")
    return count, lines


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    names = [sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "HEAD"]
    commits = [subprocess.run(["git", "rev-parse", "--short=8", name], capture_output=True, text=True, check=True).stdout.strip() for name in names]
    old, new = map(files_of, commits)
    print(f"| folder | {commits[0]} | {commits[1]} |\n|---|---|---|")
    before, now = lines_by_folder(old), lines_by_folder(new)
    for folder in sorted(before.keys() | now.keys()):
        cells = [f"{count:,}" if count else "-" for count in (before[folder], now[folder])]
        print(f"| {folder} | {cells[0]} | {cells[1]} |")
    print(f"\n| | {commits[0]} | {commits[1]} |\n|---|---|---|")
    print(f"| functions over 100 lines | {len(long_functions(old))} | {len(long_functions(new))} |")
    (a, b), (c, d) = conditions(old, "src/backends/cpu/"), conditions(new, "src/backends/cpu/")
    print(f"| `#if`, `#ifdef`, `#ifndef`, `#elif` in src/backends/cpu | {a} | {c} |\n| of 1,000 lines there | {1000 * a / b:.1f} | {1000 * c / d:.1f} |")
    print(f"\n| lines | function of {commits[1]} |\n|---|---|")
    for lines, place, name in long_functions(new):
        print(f"| {lines} | `{name}`, {place} |")


if __name__ == "__main__":
    main()

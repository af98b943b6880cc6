#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drops type information that no code can use.

usage: scripts/drop_type_information.py FILE.s

Rewrites the assembly that clang wrote for one library. For dynamic_cast, typeid and exception handlers, a class with virtual functions has its
name and its bases stored: about 100 bytes with their relocations. The core uses neither of the first two. If only virtual tables (and other
dropped type information) refer to a type, nothing of that type is thrown or caught. If neither the type nor a base of it is exported, the tables
lose their pointer to it, and the linker drops it.
"""
import collections
import re
import sys

NAME = re.compile(r"_ZTI[\w.$]+")


def rewrite(text):
    exported = set(re.findall(r"^\s+\.(?:globl|weak)\s+(_ZTI\S+)", text, re.M)) - set(re.findall(r"^\s+\.hidden\s+(_ZTI\S+)", text, re.M))
    users, bases = collections.defaultdict(set), collections.defaultdict(set)  # symbols by type, types by type
    lines, symbol = text.split("\n"), ""
    tables = []  # (line, type): pointers in tables of virtual functions
    for i, line in enumerate(lines):
        if label := re.match(r"([A-Za-z_][\w.$]*):", line):
            symbol = label[1]
        elif "_ZTI" in line and not re.match(r"\s+\.(globl|weak|hidden|local|type|size|section|addrsig_sym)\b", line):
            for name in NAME.findall(line):
                if symbol.startswith("_ZTV") and re.match(r"\s+\.(xword|quad)\s+_ZTI\S+$", line):
                    tables.append((i, name))
                else:
                    users[name].add(symbol)
                if symbol.startswith("_ZTI"):
                    bases[symbol].add(name)
    found = {name for _, name in tables} | {name for name, by in users.items() if all(NAME.fullmatch(user) for user in by)}
    found = {name for name in found if name in bases or f"\n{name}:" in text}  # defined here
    while kept := {name for name in found if name in exported or bases[name] & exported or not users[name] <= found}:
        found -= kept
    for i, name in tables:
        if name in found:
            lines[i] = re.sub(NAME, "0", lines[i])
    return "\n".join(lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        text = file.read()
    text = rewrite(text)
    with open(sys.argv[1], "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()

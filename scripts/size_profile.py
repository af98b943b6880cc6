#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the bytes of libminnow.so by folder of the sources.

usage: scripts/size_profile.py BUILD_FOLDER [--tools PREFIX] [--files N]

BUILD_FOLDER holds lib/libminnow.so, unstripped, and the objects that it was linked from. PREFIX is that of the binutils of the target
("aarch64-linux-gnu-"). --files adds the N largest source files. Code belongs to the file that its line table names (preset `size`), or else
to the objects that define a symbol of its name, in equal shares. Code from templates of the standard library that more than one folder
instantiates has a line of its own. Unwind tables are not told apart by file.
"""
import argparse
import collections
import pathlib
import re
import struct
import subprocess
import sys

TEMPLATES = "standard templates"
ALLOCATED, EXECUTABLE, NO_BITS = 2, 4, 8  # of sections: flags, flags, type


class Elf:
    """Sections and symbols of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path} is not a 64-bit little-endian ELF file")
        offset, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        self.sections = []
        for i in range(count):
            name, kind, flags, _, start, length, link, _, _, _ = struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size)
            self.sections.append({"name": name, "kind": kind, "flags": flags, "start": start, "length": length, "link": link})
        strings = self.sections[names]["start"]
        for section in self.sections:
            section["name"] = self.text(strings + section["name"])

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode()

    def symbols(self):
        """(name, section index, address, size) of the functions and objects of .symtab, each address once."""
        seen = set()
        for table in self.sections:
            if table["kind"] != 2:  # a symbol table
                continue
            strings = self.sections[table["link"]]["start"]
            for at in range(table["start"], table["start"] + table["length"], 24):
                name, info, _, section, address, size = struct.unpack_from("<IBBHQQ", self.data, at)
                if size and info & 15 in (1, 2) and section < len(self.sections) and (section, address) not in seen:
                    seen.add((section, address))
                    yield self.text(strings + name), section, address, size


def folder_of(source):
    parts = source.split("/")
    return "/".join(parts[:3]) if parts[:2] == ["backends", "cpu"] and len(parts) > 3 else parts[0] if parts[0] != "backends" else "/".join(parts[:2])


def by_objects(symbols, build, tools):
    """The source files of each symbol: those whose objects define one of that name."""
    objects = sorted(p for p in (build / "src").rglob("*.o") if re.search("minnow(_express)?_objects.dir", str(p)))
    listing = subprocess.run([tools + "nm", "--print-file-name", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    owners = collections.defaultdict(set)
    for line in listing.splitlines():
        path, _, rest = line.partition(".o:")
        fields = rest.split()
        if len(fields) >= 2 and fields[-2] in "TtWwVvDdRrBb":
            owners[fields[-1]].add(re.sub(r".*objects\.dir/(__/)*(.*)\.cpp$", r"\2", path))
    return [owners.get(re.sub(r"\.(isra|constprop|part|cold|\d+).*", "", name), set()) for name, _, _, _ in symbols]


def by_lines(symbols, library, tools):
    """The same from line tables; nothing for addresses outside of code. If the line at a function's entry belongs neither to our files nor to the
    standard library (the optimizer made the function, or it begins with an intrinsic), later addresses in it are tried."""
    samples = 8
    places = [address + size * i // samples // 4 * 4 for _, _, address, size in symbols for i in range(samples)]
    lines = subprocess.run(
        [tools + "addr2line", "-e", str(library)], input="\n".join(map(hex, places)), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = []
    for i in range(0, len(lines), samples):
        source = set()
        for line in lines[i : i + samples]:
            ours = re.search(r"(?:^|/)src/(.*?)\.(?:cpp|h|inc)(?::|$)", line)
            source = {ours[1]} if ours else {TEMPLATES} if "/c++/" in line else set()
            if source:
                break
        found.append(source)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tools", default="", metavar="PREFIX")
    parser.add_argument("--files", type=int, default=0)
    options = parser.parse_args()
    path = options.build / "lib" / "libminnow.so"
    library = Elf(path)
    has_lines = any(section["name"] == ".debug_line" for section in library.sections)
    symbols = [symbol for symbol in library.symbols() if library.sections[symbol[1]]["kind"] != NO_BITS]
    sources = by_lines(symbols, path, options.tools) if has_lines else by_objects(symbols, options.build, options.tools)

    rows, files, covered = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
    for (name, section, _, size), found in zip(symbols, sources):
        kind = "code" if library.sections[section]["flags"] & EXECUTABLE else "data"
        covered[section] += size
        folders = {source if source == TEMPLATES else folder_of(source) for source in found}
        if len(folders) > 1 and not re.match(r"_ZN?K?6minnow", name):
            folders = {TEMPLATES}
        for folder in folders or {"tables and other data" if kind == "data" else "other code"}:
            rows[folder][kind] += size / max(len(folders), 1)
        for source in found:
            files[source] += size / len(found)
    for i, section in enumerate(library.sections):
        if not section["flags"] & ALLOCATED or section["kind"] == NO_BITS:
            continue
        if section["name"].startswith((".eh_frame", ".gcc_except")):
            rows["unwind and exception tables"]["data"] += section["length"]
        elif section["name"].startswith((".rel", ".dyn", ".gnu", ".got", ".plt")):
            rows["relocations, exported symbols"]["data"] += section["length"]
        elif section["flags"] & EXECUTABLE:
            rows["other code"]["code"] += section["length"] - covered[i]
        else:
            rows["tables and other data"]["data"] += section["length"] - covered[i]

    print(f"{'':32}{'code':>10}{'data':>10}{'together':>10}")
    for name, row in sorted(rows.items(), key=lambda item: -sum(item[1].values())):
        print(f"{name:32}{row['code']:10.0f}{row['data']:10.0f}{row['code'] + row['data']:10.0f}")
    print(f"{'together':32}{'':20}{sum(sum(row.values()) for row in rows.values()):10.0f}")
    for name, size in files.most_common(options.files):
        print(f"  {name:50}{size:10.0f}")


if __name__ == "__main__":
    main()

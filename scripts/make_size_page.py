#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/results/sizes.md: what parts of Minnow add to the library and to the Python package.

usage: scripts/make_size_page.py [--folder build/release] [--jobs N]

The folder is a build of the preset `release` with MINNOW_PYTHON. Beside it, in build/sizes, the script builds the library without gradients and
GPUs. Other variants are linked anew from the objects of these two builds, with some files compiled again. Sizes are those of stripped files;
"compressed" is by deflate at level 9, as in a wheel.
"""
import argparse
import datetime
import json
import re
import shlex
import subprocess
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = ROOT / "build" / "sizes"


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def configure(name, *options):
    folder = SIZES / name
    run(["cmake", "--preset", "release", "-B", str(folder), "-DMINNOW_TESTS=OFF", *options], cwd=ROOT)
    return folder


def build(folder, target, jobs):
    run(["cmake", "--build", str(folder), "--target", target, "-j", str(jobs)], cwd=ROOT)


def link_of(folder, target, output):
    """The command that links a target, as a list, and where its output's name is."""
    text = run(["ninja", "-C", str(folder), "-t", "commands", target]).splitlines()
    command = next(line for line in reversed(text) if f"-o {output}" in line)
    words = shlex.split(re.search(r"&& (\S*(?:g\+\+|clang\+\+)\S* .*?) && ", command + " && ")[1])
    return words, words.index("-o") + 1


def measured(path):
    """(bytes, compressed) of a file, stripped."""
    stripped = SIZES / "stripped"
    run(["strip", "--strip-all", "-o", str(stripped), str(path)])
    data = stripped.read_bytes()
    return len(data), len(zlib.compress(data, 9))


def linked(folder, target, output, change):
    """Sizes of a target that is linked with changed words."""
    words, place = link_of(folder, target, output)
    result = SIZES / "linked.so"
    words[place] = str(result)
    run(change(words), cwd=folder)
    return measured(result)


def is_gpu(word):
    return "/backends/gpu/" in word


def alone(folder, objects, archives, roots=()):
    """Sizes of a shared object of these objects and what they need of the archives; without objects of all of the first archive."""
    result = SIZES / "alone.so"
    whole = objects or ["-Wl,--whole-archive", archives[0], "-Wl,--no-whole-archive"]
    flags = ["-shared", "-fPIC", "-fuse-ld=lld", "-B/usr/lib/llvm-19/bin", "-Wl,--gc-sections", "-Wl,--noinhibit-exec", "-Wl,--icf=safe",
             "-Wl,--exclude-libs,libjpeg.a:libwebp.a:libminnow_png.a:libz.a", *(f"-Wl,-u,{root}" for root in roots)]
    # References to the rest of Minnow stay undefined, with a warning for each.
    run(["g++", *flags, "-o", str(result), *whole, *(archives if objects else archives[1:])], cwd=folder, stderr=subprocess.DEVNULL)
    return measured(result)


def compiled(folder, path, like, *flags):
    """The object of a file, compiled with the options of the file whose command has `like`."""
    commands = json.loads((folder / "compile_commands.json").read_text())
    words = next(shlex.split(entry["command"]) for entry in commands if like in entry["command"])
    target = SIZES / f"{path.parent.name}_{path.stem}.o"
    for name, value in (("-o", target), ("-c", path), ("-MF", f"{target}.d")):
        if name in words:
            words[words.index(name) + 1] = str(value)
    if not target.exists() or target.stat().st_mtime < max(other.stat().st_mtime for other in path.parent.iterdir()):
        run(words + list(flags), cwd=folder)
    return str(target)


def without_codecs(folder):
    """The archive of pictures as MINNOW_CODECS=OFF makes it: without three files, and with one that knows it."""
    archive = SIZES / "libminnow_vision.a"
    archive.unlink(missing_ok=True)
    objects = [path for path in (folder / "src" / "CMakeFiles" / "minnow_vision.dir").rglob("*.o")
               if path.name not in ("jpeg.cpp.o", "png.cpp.o", "webp.cpp.o", "codecs.cpp.o")]
    objects.append(compiled(folder, ROOT / "src" / "vision" / "codecs" / "codecs.cpp", "vision/codecs/codecs.cpp", "-DMINNOW_NO_CODECS=1"))
    run(["ar", "cr", str(archive), *map(str, objects)])
    return str(archive)


def of_files(paths):
    data = [path.read_bytes() for path in paths]
    return sum(map(len, data)), sum(len(zlib.compress(x, 9)) for x in data)


def codec_archives(folder):
    words, _ = link_of(folder, "minnow_python", "python/minnow/_minnow")
    return [str(folder / word) if not word.startswith("/") else word for word in words if re.search(r"lib(jpeg|webp|minnow_png|z)\.a$", word)]


def row(name, sizes, against=None):
    size, compressed = sizes if against is None else (a - b for a, b in zip(sizes, against))
    return f"| {name} | {size:,} | {compressed:,} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = options.folder.resolve()
    SIZES.mkdir(parents=True, exist_ok=True)
    build(folder, "minnow_shared", options.jobs)
    build(folder, "minnow_python", options.jobs)
    inference = configure("inference", "-DMINNOW_GRADIENTS=OFF", "-DMINNOW_GPU=OFF")
    build(inference, "minnow_shared", options.jobs)

    library = "lib/libminnow.so"
    all_parts = measured(folder / library)
    least = measured(inference / library)
    selector = "runtime/backends.cpp.o"
    plain_selector = next(str(path) for path in inference.rglob("backends.cpp.o") if path.as_posix().endswith(selector))
    no_gpu = linked(folder, "minnow_shared", library,
                    lambda words: [plain_selector if word.endswith(selector) else word for word in words if not is_gpu(word)])

    archives = [str(folder / "lib" / f"libminnow_{name}.a") for name in ("vision", "numerics")]
    codecs = codec_archives(folder)
    bare = [without_codecs(folder), archives[1]]
    vision, vision_bare = alone(folder, [], archives[:1] + codecs), alone(folder, [], bare[:1])

    objects = [compiled(folder, path, "minnow_python.dir/Unity/unity_0") for path in sorted((ROOT / "python" / "binding" / "vision").glob("*.cpp"))]
    roots = [line.split()[-1] for line in run(["nm", *objects]).splitlines() if " T " in line and "define_" in line]
    module_vision, module_bare = alone(folder, objects, archives + codecs, roots), alone(folder, objects, bare, roots)
    package = folder / "python" / "minnow"
    files = sorted(path for path in package.rglob("*") if path.is_file() and path.suffix in (".py", ".pyi", ".so", ".typed") and "__pycache__" not in path.parts)
    python = {name: [path for path in files if path.suffix != ".so" and path.relative_to(package).parts[0] in parts]
              for name, parts in {"cv": ("cv",), "train": ("nn", "optim.py", "_training", "_trainable.py", "data"), "compress": ("compress", "_pruning.py", "_quantization.py")}.items()}

    lines = [
        "# Sizes", "",
        f"x86-64, preset `release` (g++ 12, LLD, three instruction sets); {datetime.date.today()}", "",
        "```sh no-test", "scripts/make_size_page.py", "```", "",
        "Bytes of stripped files. \"Compressed\" is deflate at level 9, as wheels are compressed (`./dev wheel` compresses a little further). `./dev size` has the",
        "size of the smallest library, for aarch64, and what takes its room.", "",
        "## The library", "",
        "| | bytes | compressed |", "|---|---|---|",
        row("`libminnow.so`: inference, gradients, expressions, GPUs", all_parts),
        row("without GPUs (`MINNOW_GPU=OFF`)", no_gpu),
        row("without GPUs and gradients (`MINNOW_GRADIENTS=OFF` too)", least),
        row("GPUs add", all_parts, no_gpu),
        row("gradients and their kernels add", no_gpu, least), "",
        "`libminnow.so` has no pictures, codecs, training or compression: these are archives of their own, of which a program takes what it calls. The table",
        "has them whole, with what they need of codecs and without the library beneath.", "",
        "| archive | bytes | compressed |", "|---|---|---|",
        row("pictures (`minnow_vision`) with codecs", vision),
        row("pictures without codecs (`MINNOW_CODECS=OFF`): BMP and PNM files alone", vision_bare),
        row("libjpeg, libpng, libwebp, zlib and their readers add", vision, vision_bare)]
    for name, text in (("train", "optimizers, layers, training steps"), ("compress", "quantization and pruning"), ("data", "data sets and loaders"),
                       ("numerics", "factorizations, Fourier transforms, random streams"), ("convert", "importers, exporters, passes")):
        lines.append(row(f"{text} (`minnow_{name}`)", alone(folder, [], [str(folder / "lib" / f"libminnow_{name}.a")])))
    lines += [
        "", "## The Python package", "",
        "An estimate from the installed files, not from wheels that were built: each file of a wheel is compressed alone. Parts of the extension module are",
        "linked by themselves, so that what two parts share counts for both.", "",
        "| | bytes | compressed |", "|---|---|---|",
        row("all files", of_files(files)),
        row("the extension module", of_files([path for path in files if path.suffix == ".so"])),
        row("of it `minnow.cv`, with codecs", module_vision),
        row("of it codecs", module_vision, module_bare),
        row("`minnow.cv`, files in Python", of_files(python["cv"])),
        row("training, files in Python", of_files(python["train"])),
        row("compression, files in Python", of_files(python["compress"])), ""]
    (ROOT / "docs" / "results" / "sizes.md").write_text("\n".join(lines))
    for name in ("linked.so", "alone.so", "stripped"):
        (SIZES / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Minnow and its peers side by side. Every engine, network and number of threads runs in a fresh process, the engines in turn over
several rounds, so that noise hits all alike; an engine whose numbers are not those of the others is reported and left out. It
compares latency (minimum and median), the share of the machine's FMA peak (counting the arithmetic of direct convolutions), load and first
run, and peak memory above what the process held before loading.

  ./dev bench                                   twelve networks, threads 1 and 2, with everything this machine has
  MINNOW_ISA=avx2 ./dev bench                   the second table: AVX2, which the peers are held to by held_to_avx2.c. Where the machine
                                                cannot do that, OpenVINO is by ONEDNN_MAX_CPU_ISA, but for its MLAS
                                                (matrix products); those that could use more are left out
  ./dev bench --precision low                   16-bit floats, in the engines that have them (OpenVINO, MNN, ncnn); each engine's difference
                                                is that from Minnow's f32
  ./dev bench --choices                         what choosing schemes by estimate costs against choosing them by measurement
  ./dev bench --growth mobilenet_v1             how latency grows with the size of the image and with the batch

Writes OUT/NAME.md, .csv, .png and .json (every single run); NAME is "peers", with the instruction set where one is asked for.
"""
import argparse
import csv
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx

import networks
from engine import pnnx

ROOT = Path(__file__).resolve().parent.parent
MISSION = ["mobilenet_v1", "squeezenet_1_1", "resnet_18"]
# Largest difference of two engines' outputs relative to the largest output; at precision low, of an engine's and those of f32.
TOLERANCE = {"normal": 1e-3, "low": 0.1}


class Failure(Exception):
    """One sentence: why an engine cannot take a network."""


def run(command, where=None, seconds=600, preload=None):
    environment = {**os.environ, "LD_PRELOAD": str(preload)} if preload else None
    try:
        result = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", cwd=where, timeout=seconds,
                                env=environment)
    except subprocess.TimeoutExpired:
        raise Failure(f"no answer within {seconds} s") from None
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    if result.returncode:
        said = (result.stderr + result.stdout).strip().splitlines()
        raise Failure(f"{Path(command[0]).name} ended with {result.returncode}: {said[-1][:160] if said else ''}")
    return result.stdout


def last_json(text):
    return json.loads(text[text.index("{"):] if text.lstrip().startswith("{") else text.strip().splitlines()[-1])


class Minnow:
    name, capped = "minnow", True

    def __init__(self, command, precision):
        self.command, self.precision = str(command), precision

    def version(self):
        return run([self.command, "--version"]).split()[-1]

    def convert(self, path, folder):
        target = folder / f"{path.stem}.minnow"
        run([self.command, "convert", path, target])
        return target

    def time(self, path, threads, seconds, x):
        return last_json(run([self.command, "bench", path, "--threads", threads, "--seconds", seconds, "--input", f"data={x}",
                              "--precision", self.precision, "--json"]))

    def output(self, path, x, folder, precision=None):
        answer = last_json(run([self.command, "run", path, "--input", x, "--output-dir", folder, "--precision", precision or self.precision,
                                "--json"]))
        return np.load(answer["outputs"][0]["file"])


class Peer:
    """An engine of engine.py. `capped`: it can be held to AVX2 without `preload`, which each process that times one preloads."""
    preload = None

    def __init__(self, name, package, precision, capped=False):
        self.name, self.package, self.precision, self.capped = name, package, precision, capped

    def version(self):
        from importlib.metadata import PackageNotFoundError, version
        try:
            return version(self.package)
        except PackageNotFoundError:
            raise Failure("it is not installed (pip has no wheel for this machine)") from None

    def convert(self, path, folder):
        return path

    def time(self, path, threads, seconds, x, *output):
        return last_json(run([sys.executable, ROOT / "bench/engine.py", self.name, path, threads, seconds, self.precision, x, *output],
                             preload=self.preload))

    def output(self, path, x, folder):
        target = folder / f"{path.stem}.{self.name}.npy"
        self.time(path, 1, 0, x, target)
        return np.load(target)


class OpenVINO(Peer):
    def convert(self, path, folder):
        target = folder / f"{path.stem}.xml"
        if not is_newer(target, path):
            run([sys.executable, "-c", "import openvino as ov, sys; ov.save_model(ov.Core().read_model(sys.argv[1]), sys.argv[2], "
                 "compress_to_fp16=False)", path, target])
        return target


class MNN(Peer):
    def convert(self, path, folder):
        target = folder / f"{path.stem}.mnn"
        command = [Path(sys.executable).parent / "mnnconvert", "-f", "ONNX", "--modelFile", path, "--MNNModel", target, "--bizCode", "minnow"]
        if not is_newer(target, path):
            try:
                run(command)
            except Failure:  # its converter crashes over some recurrent networks unless told to keep them
                run([*command, "--useOriginRNNImpl"])
            if not target.exists():
                raise Failure("mnnconvert wrote nothing")
        return target


class NCNN(Peer):
    def convert(self, path, folder):
        folder = folder / f"{path.stem}.ncnn"
        target = folder / f"{path.stem}.ncnn.param"
        if not is_newer(target, path):
            command = pnnx(path.name)
            if not command:
                raise Failure("its converter pnnx is not installed")
            folder.mkdir(exist_ok=True)
            copy = folder / path.name  # pnnx writes beside what it reads
            copy.write_bytes(path.read_bytes())
            run(command, where=folder)
            if not target.exists():
                raise Failure("pnnx wrote nothing")
        return target


def is_newer(target, source):
    return target.exists() and target.stat().st_mtime >= source.stat().st_mtime


def machine():
    name = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def progress(text):
    print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def hold_to_avx2(folder):
    """Return the library that limits peers to AVX2 when it is preloaded; raises if this machine cannot."""
    source, target = ROOT / "bench/held_to_avx2.c", folder / "held_to_avx2.so"
    if not is_newer(target, source):
        run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", source, "-o", target])
    run(["true"], preload=target)
    return target.resolve()


def time_warm(engine, path, threads, seconds, x):
    """Times the second of two processes: what the first found on disk, or in memory that a virtual machine had given back to its host, says
    nothing about an engine."""
    engine.time(path, threads, 0.01, x)
    return engine.time(path, threads, seconds, x)


class Bench:
    def __init__(self, arguments):
        self.arguments, self.isa = arguments, os.environ.get("MINNOW_ISA", "")
        self.folder = arguments.out / "models"
        self.folder.mkdir(parents=True, exist_ok=True)
        cannot = f"it cannot be held to {self.isa}"
        if self.isa == "avx2":
            os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
            try:
                Peer.preload = hold_to_avx2(arguments.out)
            except Failure as failure:
                cannot += f" ({failure})"
        self.engines, self.versions, self.left_out = [], {}, {}
        self.refused, self.differences, self.runs = {}, {}, []
        precision = arguments.precision
        engines = [Minnow(arguments.minnow, precision), Peer("onnxruntime", "onnxruntime", precision),
                   OpenVINO("openvino", "openvino", precision, capped=True),
                   MNN("mnn", "MNN", precision, capped=True),  # its wheels have no AVX-512: 3.6.1 runs the same either way
                   NCNN("ncnn", "ncnn", precision)]
        wanted = arguments.engines.split(",") if arguments.engines else [e.name for e in engines]
        for engine in engines:
            if engine.name not in wanted and engine.name != "minnow":
                continue
            if self.isa and not Peer.preload and not engine.capped:
                self.left_out[engine.name] = cannot
                continue
            try:
                self.versions[engine.name] = engine.version()
                self.engines.append(engine)
            except Failure as failure:
                self.left_out[engine.name] = str(failure)

    def input(self, path):
        shape = [d.dim_value for d in onnx.load(path, load_external_data=False).graph.input[0].type.tensor_type.shape.dim]
        target = self.folder / f"{path.stem}.npy"
        np.save(target, np.random.default_rng(1).standard_normal(shape, dtype=np.float32))
        return target

    def models(self, network, path, x):
        """The engines that take this network and agree on its numbers, with their files."""
        models, outputs = {}, {}
        for engine in self.engines:
            progress(f"{network}: {engine.name} converts and answers")
            try:
                models[engine.name] = engine.convert(path, self.folder)
                outputs[engine.name] = engine.output(models[engine.name], x, self.folder).ravel().astype(np.float64)
            except Failure as failure:
                if engine.name == "minnow":
                    raise
                self.refused[engine.name, network] = str(failure)
        # The engine that differs least from the others is the measure.
        def difference(a, b):
            if a.size != b.size:
                return math.inf
            worst = np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)
            return float(worst) if worst == worst else math.inf
        medians = {e: statistics.median([difference(y, z) for f, z in outputs.items() if f != e] or [0]) for e, y in outputs.items()}
        measure = min(medians, key=medians.get)
        exact = outputs[measure]
        if self.arguments.precision == "low":
            measure, minnow = "f32", self.engines[0]
            exact = minnow.output(models["minnow"], x, self.folder, "normal").ravel().astype(np.float64)
        for name, y in outputs.items():
            self.differences[name, network] = difference(y, exact)
            if not self.differences[name, network] < TOLERANCE[self.arguments.precision]:
                self.refused[name, network] = f"its numbers differ by {self.differences[name, network]:.2g} from {measure}'s"
        return {name: models[name] for name in outputs if (name, network) not in self.refused}

    def measure(self):
        threads = [int(t) for t in self.arguments.threads.split(",")]
        for network, path in networks.write(self.folder, self.arguments.networks.split(",")).items():
            x = self.input(path)
            models = self.models(network, path, x)
            seconds = self.arguments.seconds / self.arguments.rounds
            for count in threads:
                for turn in range(self.arguments.rounds):
                    taking = [e for e in self.engines if e.name in models]
                    for engine in taking[turn % len(taking):] + taking[: turn % len(taking)]:
                        progress(f"{network}, threads {count}, round {turn + 1}: {engine.name}")
                        try:
                            result = time_warm(engine, models[engine.name], count, seconds, x)
                        except Failure as failure:
                            self.refused[engine.name, network] = str(failure)
                            models.pop(engine.name)
                            continue
                        self.runs.append({"network": network, "threads": count, "engine": engine.name, "round": turn, **result})
                if "minnow" in models and count == threads[0]:  # what loading costs straight from the ONNX file
                    result = time_warm(self.engines[0], path, count, 0.05, x)
                    self.runs.append({"network": network, "threads": count, "engine": "minnow from .onnx", "round": 0, **result})
        progress("")

    def rows(self):
        """One dictionary for each network, number of threads and engine."""
        rows, groups = [], {}
        for r in self.runs:
            groups.setdefault((r["network"], r["threads"], r["engine"]), []).append(r)
        peaks = {}
        for r in self.runs:
            if r.get("peak_fraction"):
                peaks[r["threads"]] = max(peaks.get(r["threads"], 0), r["gflops"] / r["peak_fraction"])
        for (network, threads, engine), runs in groups.items():
            own = groups.get((network, threads, "minnow"))
            gflop = max((r["gflops"] * r["min_ms"] for r in own), default=0) if own else 0
            best = min(r["min_ms"] for r in runs)
            rows.append({
                "network": network, "threads": threads, "engine": engine, "min_ms": best,
                "median_ms": statistics.median(r["median_ms"] for r in runs),
                "cpu_ms": min(r["min_cpu_ms"] for r in runs),
                "peak_fraction": gflop / best / peaks[threads] if gflop and threads in peaks else None,
                "load_ms": min(r["load_ms"] for r in runs),
                "startup_ms": min(r["load_ms"] + r.get("plan_ms", 0) + r["first_run_ms"] for r in runs),
                "memory_mb": min(r["peak_rss_bytes"] - r["base_rss_bytes"] for r in runs) / 1e6,
                "difference": self.differences.get((engine, network)),
            })
        return rows, peaks


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def table(header, rows):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def report(bench):
    rows, peaks = bench.rows()
    by = {(r["network"], r["threads"], r["engine"]): r for r in rows}
    names = list(dict.fromkeys(r["network"] for r in rows))
    threads = sorted({r["threads"] for r in rows})
    engines = [e.name for e in bench.engines]
    peers = [e for e in engines if e != "minnow"]
    text = [f"# Minnow and its peers{f', {bench.isa}' if bench.isa else ''}\n",
            f"{machine()}; {time.strftime('%Y-%m-%d')}; `{bench.command}`; " + ", ".join(f"{e} {v}" for e, v in bench.versions.items())
            + f". {'f32' if bench.arguments.precision == 'normal' else 'Precision low'}, every run in a fresh process, " + f"{bench.arguments.rounds} rounds in turn. FMA peak by `minnow bench`: "
            + ", ".join(f"{p:.0f} GFLOP/s at {t} thread{'s' * (t > 1)}" for t, p in sorted(peaks.items())) + ".\n"]
    ratios = {}
    for count in threads:
        lines = []
        for network in names:
            cells, own = [network], by.get((network, count, "minnow"))
            timed = {p: by[network, count, p]["min_ms"] for p in peers if (network, count, p) in by}
            best = min(timed, key=timed.get) if timed else None
            for engine in engines:
                r = by.get((network, count, engine))
                cells.append(("**{:.2f}** / {:.2f}" if engine == best else "{:.2f} / {:.2f}").format(r["min_ms"], r["median_ms"]) if r else "-")
            if own and best:
                ratios[network, count] = timed[best] / own["min_ms"]
                cells.append(f"{ratios[network, count]:.2f}")
            else:
                cells.append("-")
            for r in (own, by.get((network, count, best))):
                cells.append(f"{r['peak_fraction']:.0%}" if r and r["peak_fraction"] else "-")
            lines.append(cells)
        text.append(f"## Latency, {count} thread{'s' * (count > 1)}: ms, minimum / median\n")
        text.append(table(["network", *engines, "best peer / minnow", "of peak", "best peer of peak"], lines))
        for what, chosen in (("the mission's three networks", MISSION), ("all networks", names)):
            mean = geometric_mean([ratios[n, count] for n in chosen if (n, count) in ratios])
            if mean:
                text.append(f"Geometric mean of best peer / minnow over {what}: **{mean:.2f}**.\n")
        for peer in peers:
            each = [by[n, count, peer]["min_ms"] / by[n, count, "minnow"]["min_ms"]
                    for n in names if (n, count, peer) in by and (n, count, "minnow") in by]
            if each:
                text.append(f"{peer} / minnow over {len(each)} networks: {geometric_mean(each):.2f}.\n")
    if len(threads) > 1:
        lines = [[n] + [f"{by[n, threads[0], e]['min_ms'] / by[n, threads[-1], e]['min_ms']:.2f}"
                        if (n, threads[0], e) in by and (n, threads[-1], e) in by else "-" for e in engines] for n in names]
        text += [f"## Scaling from {threads[0]} to {threads[-1]} threads\n", table(["network", *engines], lines)]
    if 1 in threads:
        lines, each = [], []
        for n in names:
            times = {e: by[n, 1, e]["cpu_ms"] for e in engines if (n, 1, e) in by}
            others = [t for e, t in times.items() if e != "minnow"]
            if "minnow" in times and others:
                each.append((n, min(others) / times["minnow"]))
            lines.append([n] + [f"{times[e]:.2f}" if e in times else "-" for e in engines]
                         + [f"{each[-1][1]:.2f}" if each and each[-1][0] == n else "-"])
        text += ["## Processor time of a run, 1 thread: ms, minimum\n", "What other processes take of the cores does not count here.\n",
                 table(["network", *engines, "best peer / minnow"], lines)]
        for what, chosen in (("the mission's three networks", MISSION), ("all networks", names)):
            if mean := geometric_mean([r for n, r in each if n in chosen]):
                text.append(f"Geometric mean of best peer / minnow over {what}: **{mean:.2f}**.\n")
    columns = [engines[0], "minnow from .onnx", *peers]
    for what, key, form, note in (
            ("Start: load, plan and first run, ms", "startup_ms", "{:.1f}", "Each engine from its own converted format; ONNX Runtime's is ONNX."),
            ("Peak memory above the process before loading, MB", "memory_mb", "{:.1f}", "")):
        lines = []
        for n in names:
            own = by.get((n, threads[0], "minnow"))
            best = min((by[n, threads[0], p][key] for p in peers if (n, threads[0], p) in by), default=None)
            lines.append([n] + [form.format(by[n, threads[0], e][key]) if (n, threads[0], e) in by else "-" for e in columns]
                         + [f"{own[key] / best:.2f}" if own and best else "-"])
        text += [f"## {what} ({threads[0]} thread{'s' * (threads[0] > 1)})\n", note + "\n" * bool(note),
                 table(["network", *columns, "minnow / lowest peer"], lines)]
    worst = {e: max((d for (name, _), d in bench.differences.items() if name == e), default=None) for e in engines}
    text.append("Largest difference of an output, relative to the largest output: "
                + ", ".join(f"{e} {d:.1e}" for e, d in worst.items() if d is not None) + ".\n")
    if bench.isa == "avx2":
        text.append("Peers are held to AVX2 by held_to_avx2.c.\n" if Peer.preload else
                    "OpenVINO is held to AVX2 by ONEDNN_MAX_CPU_ISA alone, which its MLAS does not heed.\n")
    for engine, why in bench.left_out.items():
        text.append(f"Left out: {engine}: {why}.\n")
    for (engine, network), why in bench.refused.items():
        text.append(f"{engine}, {network}: {why}.\n")
    return "\n".join(text), rows, ratios


def plot(rows, ratios, path, title):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print(f"{path}: not drawn, matplotlib is not installed", file=sys.stderr)
        return
    threads = sorted({t for _, t in ratios})
    names = list(dict.fromkeys(r["network"] for r in rows))
    engines = [e for e in dict.fromkeys(r["engine"] for r in rows) if e != "minnow from .onnx"]
    figure, axes = pyplot.subplots(len(threads), 1, figsize=(12, 3.6 * len(threads)), squeeze=False)
    for axis, count in zip(axes[:, 0], threads):
        least = {n: min(r["min_ms"] for r in rows if r["network"] == n and r["threads"] == count) for n in names}
        for i, engine in enumerate(engines):
            mine = {r["network"]: r["min_ms"] for r in rows if r["engine"] == engine and r["threads"] == count}
            axis.bar([k + (i - len(engines) / 2 + 0.5) * 0.8 / len(engines) for k, n in enumerate(names)],
                     [mine[n] / least[n] if n in mine else 0 for n in names], 0.8 / len(engines), label=engine)
        axis.axhline(1, color="black", linewidth=0.6)
        axis.set_xticks(range(len(names)), names, rotation=20, fontsize=8)
        axis.set_ylim(0, 3)
        axis.set_ylabel("latency / the fastest engine's")
        axis.set_title(f"{title}, {count} thread{'s' * (count > 1)}", fontsize=10)
        axis.legend(fontsize=8, ncol=len(engines))
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def growth(bench, name):
    """Latency against the area of the image and against the batch, per pixel and per image."""
    lines, x = [], None
    minnow = bench.engines[0]
    threads = int(bench.arguments.threads.split(",")[0])
    for size, batch in [(s, 1) for s in (224, 448, 896, 1792)] + [(224, n) for n in (4, 16, 64)]:
        path = networks.write(bench.folder, [name], size, batch)[name]
        x = bench.input(path)
        result = minnow.time(minnow.convert(path, bench.folder), threads, bench.arguments.seconds, x)
        scale = (size / 224) ** 2 * batch
        lines.append([f"{batch} x {size}x{size}", f"{result['min_ms']:.2f}", f"{result['min_ms'] / scale:.3f}", f"{result['arena_bytes'] / 1e6:.1f}"])
        progress(" ".join(lines[-1]))
        x.unlink()
    progress("")
    return f"## {name}: growth ({threads} thread{'s' * (threads > 1)})\n\n" + table(["images", "ms", "ms for each 224x224", "arena, MB"], lines)


def choices(bench):
    """Compare the times of schemes chosen by estimate and by measurement."""
    lines, ratios = [], []
    for network, path in networks.write(bench.folder, bench.arguments.networks.split(",")).items():
        progress(network)
        minnow = bench.engines[0]
        for threads in bench.arguments.threads.split(","):
            answer = last_json(run([minnow.command, "inspect", minnow.convert(path, bench.folder), "--measure", "--threads", threads, "--seconds",
                                    bench.arguments.seconds, "--json"]))["plan"]
            choice = answer["choice"]
            ratios.append(choice["ratio"])
            worst = max(((step["candidates"], step) for step in answer["steps"] if len(step["candidates"]) > 1),
                        key=lambda pair: lost(*pair), default=(None, None))
            lines.append([network, threads, f"{choice['by_estimate_us'] / 1e3:.2f}", f"{choice['by_measurement_us'] / 1e3:.2f}", f"{ratios[-1]:.3f}",
                          f"{worst[1]['node']} {worst[1]['shape']}: {worst[1]['scheme']}, {lost(*worst):.0f} us" if worst[1] else "-"])
    progress("")
    return ("## Schemes chosen by estimate and by measurement\n\n"
            + table(["network", "threads", "by estimate, ms", "by measurement, ms", "ratio", "the choice that loses most by itself"], lines)
            + f"\nGeometric mean {geometric_mean(ratios):.3f}, worst {max(ratios):.3f}.\n")


def lost(candidates, step):
    """Microseconds that the chosen scheme of a step takes beyond its fastest candidate (without conversions of layouts)."""
    times = {c["scheme"]: c["measured_us"] for c in candidates if c.get("measured_us") is not None}
    return times[step["scheme"]] - min(times.values()) if step["scheme"] in times else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(networks.NETWORKS))
    parser.add_argument("--engines", default="", help="the peers to compare with (default: all)")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--precision", choices=TOLERANCE, default="normal")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of measuring, for each engine, network and number of threads")
    parser.add_argument("--minnow", type=Path, default=ROOT / "build/release/bin/minnow")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--choices", action="store_true", help="only this: schemes chosen by estimate against chosen by measurement")
    parser.add_argument("--growth", metavar="NETWORK", help="only this")
    bench = Bench(parser.parse_args())
    arguments = bench.arguments
    isa = f"MINNOW_ISA={bench.isa} " if bench.isa else ""
    bench.command = isa + " ".join(["./dev bench", *sys.argv[1:]])
    for engine, why in bench.left_out.items():
        print(f"{engine}: {why}", file=sys.stderr)
    if arguments.choices:
        print(choices(bench))
        return
    if arguments.growth:
        print(growth(bench, arguments.growth))
        return
    bench.measure()
    text, rows, ratios = report(bench)
    low = arguments.precision == "low"
    stem = arguments.out / f"peers{f'-{bench.isa}' if bench.isa else ''}{'-low' if low else ''}"
    stem.with_suffix(".md").write_text(text)
    stem.with_suffix(".json").write_text(json.dumps(bench.runs, indent=1))
    with open(stem.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, ratios, stem.with_suffix(".png"), f"{'precision low' if low else 'f32'}{f', {bench.isa}' if bench.isa else ''}, {machine()}")
    print(text)
    print(f"written: {stem}.md, .csv, .png, .json", file=sys.stderr)
    wrong = [n for (e, n) in bench.refused if e == "minnow"]
    if wrong:
        sys.exit(f"minnow's numbers are wrong on {', '.join(wrong)}")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"peers.py: {failure}")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare two builds of the command: cold start (load, plan, first run) and the time of a run, in turns, as a table for docs/results/.

    bench/two_commands.py OLD NEW MODEL... [--times 30] [--seconds 0.2] [--threads 1]

OLD and NEW are the `minnow` programs. Each converts every model, so that both load a .minnow file of their own. Columns are the least of all turns:
disturbances only add time.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import tempfile


def measured(program, model, options):
    made = subprocess.run([program, "bench", model, "--json", "--threads", str(options.threads), "--seconds", str(options.seconds)], capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"{program} bench {model}: {made.stderr.strip() or made.stdout.strip()}")
    row = json.loads(made.stdout)
    return {"load": row["load_ms"], "plan": row["plan_ms"], "first": row["first_run_ms"], "start": row["load_ms"] + row["plan_ms"] + row["first_run_ms"],
            "run_cpu": row["min_cpu_ms"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old"), parser.add_argument("new"), parser.add_argument("models", nargs="+")
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    programs = [options.old, options.new]
    print(f"`bench/two_commands.py OLD NEW MODEL... --times {options.times} --seconds {options.seconds} --threads {options.threads}`, "
          f"{platform.processor() or platform.machine()}, {datetime.date.today()}\n")
    print("| model | start, old | start, new | | load | plan | first run | run, old | run, new | |\n|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            name = os.path.basename(os.path.dirname(model)) if os.path.basename(model).startswith("model.") else os.path.splitext(os.path.basename(model))[0]
            files = [os.path.join(folder, f"{which}.minnow") for which in ("old", "new")]
            for program, file in zip(programs, files):
                subprocess.run([program, "convert", model, file], check=True, capture_output=True)
            least = [{}, {}]
            for _ in range(options.times):
                for which in (0, 1):
                    for key, value in measured(programs[which], files[which], options).items():
                        least[which][key] = min(value, least[which].get(key, value))
            old, new = least
            parts = " | ".join(f"{old[key]:.2f} -> {new[key]:.2f}" for key in ("load", "plan", "first"))
            print(f"| {name} | {old['start']:.2f} ms | {new['start']:.2f} ms | {old['start'] / new['start']:.2f}x | {parts} | {old['run_cpu']:.3f} ms | "
                  f"{new['run_cpu']:.3f} ms | {old['run_cpu'] / new['run_cpu']:.2f}x |", flush=True)


if __name__ == "__main__":
    main()

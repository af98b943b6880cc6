#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the gain of a file of packed weights (--weight-cache): start (load, plan and first run together) and time of a run without and with
it, the least of interleaved rounds; and the private pages and proportional share (PSS) of each of two processes that run the same model.

  bench/weight_cache.py a.minnow b.minnow ...
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from memory import ROOT, set_sizes_of_two


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow", help="the command")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print("| model | file MB | start ms | with the file | run ms | with the file | private MB each of two | with the file | PSS MB | with the file |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.models:
            file = Path(folder) / Path(path).name

            def command(cached, seconds):
                return [arguments.minnow, "bench", path, "--json", "--threads", arguments.threads, "--seconds", str(seconds)] + (["--weight-cache", file] if cached else [])

            subprocess.run(command(True, 0.01), check=True, capture_output=True)
            os.sync()  # pages that are not yet on the disk count as changed ones
            rows = {False: [], True: []}
            for _ in range(arguments.rounds):
                for cached in rows:
                    facts = json.loads(subprocess.run(command(cached, 0.3), check=True, capture_output=True, text=True).stdout)
                    rows[cached].append((facts["load_ms"] + facts["plan_ms"] + facts["first_run_ms"], facts["min_ms"]))
            least = {cached: [min(column) for column in zip(*found)] for cached, found in rows.items()}
            sizes = {cached: [size / 1e6 for size in set_sizes_of_two(command(cached, 4), path)] for cached in rows}
            print(f"| {Path(path).stem} | {file.stat().st_size / 1e6:.1f} | " + " | ".join(f"{least[cached][i]:.{2 * i}f}" for i in range(2) for cached in rows) + " | " +
                  " | ".join(f"{sizes[cached][i]:.1f}" for i in (1, 0) for cached in rows) + " |", flush=True)


if __name__ == "__main__":
    main()

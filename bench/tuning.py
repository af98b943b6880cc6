#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the gain of `minnow tune`: tunes each model, then benches it without and with the file in turn. Prints the least times of all rounds,
the time of tuning, and the time to plan at a second start (including the packing of weights).

  bench/tuning.py a.minnow b.minnow ...                        the models' own shapes, one thread
  bench/tuning.py --shape 1x3x320x320 --threads 0 a.minnow     another size; threads are tuned too
"""
import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow", help="the command")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--shape", help="of the first input")
    parser.add_argument("--seconds", default="5", help="of tuning")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    more = ["--threads", arguments.threads] + (["--shape", arguments.shape] if arguments.shape else [])

    def minnow(*words):
        return json.loads(subprocess.run([arguments.minnow, *words, "--json"], check=True, capture_output=True, text=True).stdout)

    print("| model | untuned ms | tuned ms | ratio | nodes with times | threads | tuning s | plan ms | plan with the file ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tuning.txt"
        for path in arguments.models:
            facts = minnow("tune", path, "--file", file, "--seconds", arguments.seconds, *more)
            rows = {False: [], True: []}
            for _ in range(arguments.rounds):
                for tuned in rows:
                    rows[tuned].append(minnow("bench", path, "--seconds", "0.4", *more, *(["--tuning", file] if tuned else [])))
            least = {tuned: {key: min(row[key] for row in runs) for key in ("min_ms", "plan_ms")} for tuned, runs in rows.items()}
            ratios.append(least[False]["min_ms"] / least[True]["min_ms"])
            print(f"| {Path(path).stem} | {least[False]['min_ms']:.2f} | {least[True]['min_ms']:.2f} | {ratios[-1]:.3f} | {facts['nodes']} | "
                  f"{facts['threads']} | {facts['tuning_s']:.1f} | {least[False]['plan_ms']:.1f} | {least[True]['plan_ms']:.1f} |", flush=True)
    print(f"\nmean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()

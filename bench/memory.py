#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of models at --memory normal and low: the most while loading, planning and running, what stays after it, and what two processes
that run the same file have between them (proportional set sizes: shared pages count half in each; "private" is what each has for itself).

  bench/memory.py a.minnow b.minnow ...           one thread; figures in MB above what the process held before loading
  bench/memory.py --threads 2 *.minnow
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def command(arguments, path, memory, seconds):
    return [arguments.minnow, "bench", path, "--json", "--threads", str(arguments.threads), "--memory", memory, "--seconds", str(seconds)]


def set_sizes(process):
    """Proportional, private and resident bytes of a process."""
    sizes = {}
    for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]:
        key, kilobytes = line.split()[:2]
        sizes[key[:-1]] = int(kilobytes) * 1024
    return sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"], sizes["Rss"]


def set_sizes_of_two(command, path):
    """The larger of the set_sizes of two processes that run `command` at the same time, for longer than 2.5 s."""
    two = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    time.sleep(2.5)  # both have planned and run
    sizes = [set_sizes(process) for process in two if process.poll() is None]
    for process in two:
        process.kill()
        process.wait()
    if len(sizes) < 2:
        sys.exit(f"{path}: a process ended before it could be looked at")
    return [max(column) for column in zip(*sizes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--minnow", default=ROOT / "build/release/bin/minnow", help="the command")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    print("| model | weights | peak | steady | peak, low | steady, low | two: PSS each | private each | RSS each | low: PSS each | private | RSS |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for path in arguments.models:
        row = []
        for memory in ("normal", "low"):
            facts = json.loads(subprocess.run(command(arguments, path, memory, 0.2), check=True, capture_output=True, text=True).stdout)
            row += [facts["peak_rss_bytes"] - facts["base_rss_bytes"], facts["steady_rss_bytes"] - facts["base_rss_bytes"]]
            weights = facts["weight_bytes"]
        for memory in ("normal", "low"):
            row += set_sizes_of_two(command(arguments, path, memory, 4), path)
        print(f"| {Path(path).stem} | {weights / 1e6:.1f} | " + " | ".join(f"{value / 1e6:.1f}" for value in row) + " |", flush=True)


if __name__ == "__main__":
    main()

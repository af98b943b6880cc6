#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_summary.py RESULTS [FAILED_CHECK...]

Adds up the tests of all runs below RESULTS, one folder a run: ctest.xml from ctest, and beside it one XML file for each GoogleTest suite,
which says how many tests are behind the suite's one ctest entry. Prints a line a run, what failed, and last "N passed, N failed, N skipped".
Each failed check (a build, the formatting) counts as one failure. Exit status 1 when anything failed.
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def suite_counts(path):
    passed, failed, skipped = 0, [], 0
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            failed.append(name)
        elif case.get("result") == "skipped":
            skipped += 1
        elif case.get("status") == "run":  # "notrun" is a disabled test
            passed += 1
    return passed, failed, skipped


def run_counts(folder):
    passed, failed, skipped = 0, [], 0
    for entry in ElementTree.parse(folder / "ctest.xml").iter("testcase"):
        name, status = entry.get("name"), entry.get("status")
        suite = folder / (name.rstrip("*").rstrip(".").replace("/", "-").replace(":", "-") + ".xml")
        if suite.is_file():
            try:
                counts = suite_counts(suite)
            except ElementTree.ParseError:
                counts = (0, [], 0)
            passed, skipped = passed + counts[0], skipped + counts[2]
            failed += counts[1] or ([name] if status == "fail" else [])
        elif status == "run":
            passed += 1
        elif status == "fail":
            failed.append(name)
        else:
            skipped += 1
    return passed, failed, skipped


def main():
    results, failed_checks = Path(sys.argv[1]), sys.argv[2:]
    totals, failures = [0, 0, 0], []
    for folder in sorted(results.iterdir()) if results.is_dir() else []:
        if not (folder / "ctest.xml").is_file():
            continue
        passed, failed, skipped = run_counts(folder)
        print(f"{folder.name}: {passed} passed, {len(failed)} failed, {skipped} skipped")
        failures += [f"{folder.name}: {name}" for name in failed]
        totals = [totals[0] + passed, totals[1] + len(failed), totals[2] + skipped]
    for name in failures:
        print(f"FAILED {name}")
    for name in failed_checks:
        print(f"FAILED {name}")
    failed = totals[1] + len(failed_checks)
    print(f"{totals[0]} passed, {failed} failed, {totals[2]} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.cv against OpenCV (the version of scripts/requirements.txt) over the cases of tests/python/cv_parity/.

usage: cv_parity_test.py [--table] [NAME]...     NAME: of a function or a file of cases; --table prints the worst difference of each function
"""
import copy
import importlib
import os
import sys
import unittest
import zlib
from pathlib import Path

try:
    import cv2
    import numpy as np

    import minnow.cv
except ImportError as missing:
    print(missing)
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parent))
import cv_parity

FOLDER = Path(__file__).parent / "cv_parity"
for file in sorted(FOLDER.glob("[a-z]*.py")):
    importlib.import_module(f"cv_parity.{file.stem}")


def find(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def difference(expected, found, where=""):
    """The largest absolute difference of numbers, and relative to max(1, |expected|); a sentence where the structure differs."""
    if expected is None or isinstance(expected, (str, bytes)):
        return (0.0, 0.0, "") if expected == found or expected is None and found is None else (0, 0, f"{where}: {found!r} instead of {expected!r}")
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return 0, 0, f"{where}: {type(found).__name__} of {len(found) if hasattr(found, '__len__') else '?'} instead of {type(expected).__name__} of {len(expected)}"
        worst = [difference(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(expected, found))]
        return max((w[0] for w in worst), default=0.0), max((w[1] for w in worst), default=0.0), next((w[2] for w in worst if w[2]), "")
    if isinstance(expected, dict):
        if sorted(expected) != sorted(found):
            return 0, 0, f"{where}: keys {sorted(found)} instead of {sorted(expected)}"
        return difference([expected[k] for k in sorted(expected)], [found[k] for k in sorted(expected)], where)
    if isinstance(expected, np.ndarray):
        if not isinstance(found, np.ndarray):
            return 0, 0, f"{where}: {type(found).__name__} instead of an array"
        if expected.shape != found.shape or expected.dtype != found.dtype:
            return 0, 0, f"{where}: {found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    a, b = np.asarray(expected, np.float64), np.asarray(found, np.float64)
    if a.shape != b.shape:
        return 0, 0, f"{where}: shape {b.shape} instead of {a.shape}"
    if a.size == 0:
        return 0.0, 0.0, ""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    apart = np.where(same, 0, np.abs(a - b))
    apart = np.where(np.isnan(apart), np.inf, apart)
    return float(apart.max()), float((apart / np.maximum(1, np.abs(np.where(np.isfinite(a), a, 1)))).max()), ""


def described(value):
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)[:200]


def run(function):
    """(cases, worst difference as text in the terms of `allowed`, failures) of a function."""
    random = np.random.default_rng(zlib.crc32(function.name.encode()))
    count, worst, worst_relative, failures = 0, 0.0, 0.0, []
    theirs, ours = find(cv2, function.name), None
    try:
        ours = find(minnow.cv, function.name)
    except AttributeError as error:
        return 0, "", [str(error)]
    for case in function.cases(random):
        count += 1
        sentence = ""
        # The copy of a view is a view of a copy: strides stay as they are.
        mine = copy.deepcopy((case.args, case.keywords)) if count % 2 else (case.args, case.keywords)
        yours = copy.deepcopy((case.args, case.keywords))
        try:
            expected = theirs(*yours[0], **yours[1])
        except cv2.error as error:
            expected = error
        try:
            found = ours(*mine[0], **mine[1])
        except minnow.cv.error as error:
            found = error
        except Exception as error:  # anything else is a fault of its own
            failures.append(f"{function.name}: {type(error).__name__}: {error}")
            continue
        if isinstance(expected, cv2.error) or isinstance(found, minnow.cv.error):
            if not (isinstance(expected, cv2.error) and isinstance(found, minnow.cv.error)):
                sentence = f"raised {found}" if isinstance(found, Exception) else f"raised nothing, OpenCV: {' '.join(str(expected).split())}"
        elif function.judge:
            apart = function.judge(expected, found)
            worst = max(worst, apart)
            if not apart <= max(function.within, function.relative):
                sentence = f"differs by {apart:g}"
        else:
            apart, relative, sentence = difference(expected, found)
            # Relative differences matter where the absolute one is beyond what is allowed.
            if apart <= function.within or not function.relative:
                worst = max(worst, apart)
            else:
                worst_relative = max(worst_relative, relative)
            if not sentence and not (apart <= function.within or relative <= function.relative):
                sentence = f"differs by {apart:g}"
        if sentence:
            given = ", ".join([*map(described, case.args), *(f"{k}={described(v)}" for k, v in case.keywords.items())])
            failures.append(f"{function.name}({given}): {sentence}")
    if function.judge:
        return count, f"{worst:.3g}", failures
    return count, in_terms(function, worst, worst_relative), failures


def in_terms(function, within, relative):
    """A pair of differences in the terms of what is allowed: "1", "2e-07 relative" or "1, or 2e-07 relative"."""
    if not function.relative:
        return f"{within:.3g}"
    return f"{within:.3g}, or {relative:.3g} relative" if function.within else f"{relative:.3g} relative"


class Parity(unittest.TestCase):
    """One test for each function; made below."""


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    chosen = [f for f in cv_parity.FUNCTIONS if not names or f.name in names or f.group in names]
    if "--table" in sys.argv:
        print("| function | cases | worst difference | allowed |\n|---|---|---|---|")
        total = 0
        for function in sorted(chosen, key=lambda f: f.name):
            count, worst, failures = run(function)
            total += count
            limit = max(function.within, function.relative)
            allowed = "equal" if not limit else f"{limit:g}" if function.judge else in_terms(function, function.within, function.relative)
            name = f"{function.name} (int64)" if function.group == "integers" else function.name
            print(f"| {name} | {count} | {worst}{f' ({len(failures)} fail)' if failures else ''} | {allowed} |")
        print(f"\n{len(chosen)} functions, {total} cases, OpenCV {cv2.__version__}")
        return
    for number, function in enumerate(chosen):
        def test(self, function=function):
            count, _, failures = run(function)
            self.assertGreater(count, 0, "no cases")
            if failures:
                self.fail(f"{len(failures)} of {count} cases:\n" + "\n".join(failures[:8]))
        setattr(Parity, f"test_{number:03}_{function.name.replace('.', '_')}", test)
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that the tests of training measure: errors of optimizers and gradients, exact resumption, messages for wrong recipes and data.

    export PYTHONPATH=build/release/python MINNOW_CORPUS=FOLDER
    bench/record.py optimizer-errors "Errors of optimizers" bench/training_checks.py optimizers
    bench/record.py gradients "Gradients" bench/training_checks.py gradients
    bench/record.py resume "Trainings that are killed and go on" bench/training_checks.py resume
    bench/record.py wrong-recipes "Wrong recipes and data sets" bench/training_checks.py recipes

Cases and comparisons are those of tests/train, tests/express and tests/python; a difference that a test does not allow ends the command.
"""
import argparse
import collections
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("MINNOW_SOURCE_DIR", str(ROOT))
os.environ.setdefault("MINNOW_MODELS_DIR", str(ROOT / "build/models"))
sys.path.insert(0, str(ROOT / "tests/python"))


def measured(build, tests):
    """(suite, test, properties that it records) of these tests of unit_tests."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([Path(build) / "bin/unit_tests", f"--gtest_filter={tests}", f"--gtest_output=json:{folder}/tests.json"], stdout=subprocess.DEVNULL, check=True)
        report = json.loads(Path(folder, "tests.json").read_text())
    return [(suite["name"], test["name"], test) for suite in report["testsuites"] for test in suite["testsuite"]]


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("\0", "\\0")


def table(*head):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))


def row(*cells):
    print("| " + " | ".join(map(cell, cells)) + " |", flush=True)


def optimizers(build):
    cases, current = {}, []  # the lines of each case before its answers
    for line in (ROOT / "tests/train/answers.txt").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "case":
            current = cases.setdefault(rest.split()[0], [rest.split()[1]])
        elif word not in ("#", "answer", "f32"):
            current.append(rest if word in ("optimizer", "set") else line)
    worst = collections.defaultdict(dict)
    for _, test, facts in measured(build, "Cases/OptimizerAnswers.f??_within*"):
        kind, name = test.split("/")
        worst[name][kind[:3]] = float(facts["worst"])
    above = {kind: sum(errors[kind] > limit for errors in worst.values()) for kind, limit in (("f32", 1e-6), ("f64", 1e-12))}
    print(f"The largest difference of a weight after 100 steps (fewer for some of L-BFGS), |found - answer| / max(1, |answer|). The answers are those of torch and\n"
          f"optax in f64 (`scripts/make_optimizer_answers.py`). {len(worst)} cases: {above['f32']} above 1e-6 in f32, {above['f64']} above 1e-12 in f64. Prodigy estimates its step\n"
          "from differences that f32 rounds: optax's own result in f32 is 0.17 away from that in f64.")
    table("optimizer", "cases", "worst in f32", "worst in f64")
    by_name = collections.defaultdict(list)
    for name, errors in worst.items():
        by_name[cases[name][1]].append(errors)
    for name, errors in sorted(by_name.items()):
        row(name, len(errors), *(f"{max(one[kind] for one in errors):.1e}" for kind in ("f32", "f64")))
    print("\n## Each case")
    table("case", "answer by", "optimizer and settings", "f32", "f64")
    for name, errors in worst.items():
        library, *lines = cases[name]
        row(name, library, ", ".join(lines), f"{errors['f32']:.1e}", f"{errors['f64']:.1e}")


def gradients(build):
    import numpy as np
    from composite_gradients_test import answered_cases, derivatives
    operators = json.loads(subprocess.run([Path(build) / "bin/minnow", "ops", "--json"], capture_output=True, check=True).stdout)["operators"]
    tests = measured(build, "Gradients.of_every*:OperatorGradients.*")
    reasons = {key.removeprefix("without."): text for _, _, facts in tests for key, text in facts.items() if key.startswith("without.")}
    kinds = collections.Counter(op["gradient"] for op in operators)
    print(f"{len(operators)} operators: {kinds['rule']} have a gradient by a rule, {kinds['parts']} through their decomposition, {kinds['moved']} because they only move elements, "
          f"{kinds['']} have none.")
    without = collections.defaultdict(list)
    for op in operators:
        if not op["gradient"]:
            without[reasons.get(op["operator"], "floats do not both go in and come out")].append(op["operator"])
    table("why there is no gradient", "operators")
    for why, names in sorted(without.items(), key=lambda pair: -len(pair[1])):
        row(why, ", ".join(names))
    print("\n## Central differences in f64\n\nThe largest |gradient - difference| / max(1, |difference|), with steps of 1e-5, over all cases of an operator.\n"
          "Operators named `minnow.*Gradient` compute gradients themselves, so their rows are second derivatives.")
    found = collections.defaultdict(list)
    for suite, test, facts in tests:
        if suite == "OperatorGradients":
            found[test.split("/")[1].rsplit("_", 1)[0]].append((int(facts["derivatives"]), float(facts["worst"])))
    print(f"{sum(map(len, found.values()))} cases of {len(found)} operators, {sum(count for cases in found.values() for count, _ in cases)} derivatives, "
          f"worst {max(worst for cases in found.values() for _, worst in cases):.1e}.")
    table("operator", "cases", "derivatives", "worst")
    for name, cases in sorted(found.items()):
        row(name.replace("minnow_", "minnow."), len(cases), sum(count for count, _ in cases), f"{max(worst for _, worst in cases):.1e}")
    print("\n## Functions of many operators beside torch\n\nDerivatives of 100 functions of six random steps each in f64, with torch's answers (`scripts/make_composite_answers.py`, "
          "13 digits each); differences are relative to the largest derivative, or to 1.")
    differences = {"first": [], "second": []}
    for _, steps, arrays, weights, answer in answered_cases():
        _, *orders = derivatives(steps, arrays, weights, answer)
        for kind, pairs in zip(differences, orders):
            differences[kind] += [(np.abs(a - b).max() / max(1.0, np.abs(b).max()), len(b)) for a, b in pairs]
    table("derivatives", "arrays", "numbers", "worst", "median of the arrays")
    for kind, values in differences.items():
        row(kind, len(values), sum(count for _, count in values), f"{max(values)[0]:.1e}", f"{np.median([one for one, _ in values]):.1e}")
    last_layers()


def last_layers():
    import imported_training_test as test
    print("\n## One step on the last layer of each trained model\n\nA step down the gradient of the mean squared distance to outputs with noise; the step is the longest of 1, 0.1, ... 1e-8 "
          "Newton steps of one dimension that lowers the loss.")
    if not (test.CORPUS / "manifest.json").exists():
        sys.exit("training_checks.py: set MINNOW_CORPUS to the folder of the corpus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dict(test.losses())
    lowered = {name: losses for name, losses in found.items() if not isinstance(losses, str)}
    print(f"The loss is lower for {len(lowered)} of {len(found)} models.")
    table("model", "loss before", "after")
    for name, (before, after) in lowered.items():
        row(name, f"{before:.4g}", f"{after:.4g}")
    table("model without a step", "why")
    for name, why in found.items():
        if isinstance(why, str):
            row(name, test.KNOWN.get(name, why))


def resume(_):
    import detector_training_test
    import train_test
    from minnow import optim
    print("Each training of 100 steps runs twice: at once, and in a process that is killed (SIGKILL) after step 50 (or after those named) and a second one that goes on. Compared to the\n"
          "bit: all arrays of the checkpoint (weights, buffers, state of the optimizer, averages), the history, and the files of the model. Checkpoints are saved every 10 steps.")
    case = train_test.Resumption("test_killed_and_resumed_to_the_bit")
    case.setUp()
    detector_training_test.shapes(case.folder / "shapes", 100, 1)
    points = {"epochs": 5, "batch": 9, "checkpoint": {"steps": 10}, "data": {"standardize": False}}
    pictures = {"model": "cnn", "epochs": 5, "batch": 5, "checkpoint": {"steps": 10}, "data": {"train": str(case.folder / "squares.npz"), "validation": 1 / 6}}
    changed = {**pictures, "augment": {"flip": True, "crop": 2, "erase": 0.5, "mixup": 0.3}, "schedule": {"name": "cosine", "warm_up": 10}}
    boxes = {"model": "cnn", "task": "detect", "epochs": 5, "batch": 4, "checkpoint": {"steps": 10}, "data": {"train": str(case.folder / "shapes"), "validation": 0.2},
             "augment": {"flip": True, "color": 0.2}}
    trainings = [(f"mlp, {name}", {**points, "optimizer": {"name": name, "lr": 1.0 if name in ("adadelta", "prodigy") else 0.01}}, [50]) for name in optim.names()]
    trainings += [(f"mlp, {words}", {**points, **more}, [50]) for words, more in (
        ("AdamW, 8-bit state", {"optimizer": {"name": "adamw", "lr": 0.01, "bytes": True}}), ("average of the weights", {"optimizer": {"name": "adamw", "lr": 0.01, "average": 0.95}}),
        ("sharpness-aware", {"optimizer": {"name": "sgd", "lr": 0.05, "sharpness": 0.05}}), ("gradients of 3 batches", {"optimizer": {"name": "adamw", "lr": 0.01, "accumulate": 3}}),
        ("clipped norm", {"optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "clip_norm": 0.5}}),
        ("one cycle", {"schedule": {"name": "one_cycle"}}), ("[prune] magnitude", {"prune": {"sparsity": 0.75, "end": 80}}), ("[prune] movement", {"prune": {"sparsity": 0.75, "method": "movement", "end": 80}}),
        ("[prune] 2:4", {"prune": {"pattern": "2:4", "end": 80}}), ("[quantize]", {"quantize": {"method": "mse"}}), ("[quantization] ema", {"quantization": {"activations": "ema", "delay": 1}}),
        ("[quantization] lsq of 4 bits", {"quantization": {"activations": "lsq", "weights": "lsq", "weight_bits": 4}}),
        ("[prune] and [quantize]", {"prune": {"sparsity": 0.5, "end": 80}, "quantize": {"method": "minmax"}}), ("[prune] and [quantization]", {"prune": {"pattern": "2:4", "end": 80}, "quantization": {"activations": "ema"}}))]
    trainings += [("linear, AdamW", {**points, "model": "linear"}, [50]), ("cnn, AdamW", pictures, [50]), ("cnn, pictures changed and mixed", changed, [50])]
    trainings += [(f"cnn, pictures changed and mixed, {workers} workers", {**changed, "data": {**changed["data"], "workers": workers}}, kills) for workers, kills in ((1, [50]), (2, [50]), (3, [3, 40, 71]))]
    trainings += [("lenet, SGD", {**pictures, "model": "lenet", "optimizer": {"name": "sgd", "lr": 0.02, "momentum": 0.9}}, [50]),
                  ("cnn, [quantization] ema, 2 workers", {**pictures, "quantization": {"activations": "ema"}, "data": {**pictures["data"], "workers": 2}}, [50]),
                  ("cnn, boxes, 2 workers", {**boxes, "data": {**boxes["data"], "workers": 2}}, [50])]
    table("training", "steps", "killed after step", "arrays compared", "differences")
    for i, (words, changes, kills) in enumerate(trainings):
        recipe = case.recipe(**changes)
        straight = case.folder / f"straight{i}"
        done = case.train({**recipe, "output": str(straight)})
        if done.returncode:  # an optimizer that recipes refuse
            row(words, "", "", "", "refused: " + done.stderr.strip().splitlines()[-1].partition(": ")[2])
            continue
        row(words, case.state(straight)[1]["steps"], ", ".join(map(str, kills)), case.expect_same(case.finished(f"killed{i}", recipe, kills), straight), 0)
    case.doCleanups()


def flat(recipe, path=()):
    for key, value in recipe.items():
        if isinstance(value, dict) and value:
            yield from flat(value, (*path, key))
        else:
            yield (*path, key), value


def recipes(_):
    import detector_training_test
    import train_test
    found = []

    class Recorded:
        def fails(self, kind, words, recipe, **named):
            text = super().fails(kind, words, recipe, **named)
            found.append((self.id().rsplit(".", 1)[1], self.described(recipe), text.replace(f"{self.folder}/", "")))
            return text

        def described(self, recipe):
            if not isinstance(recipe, dict):
                return "`" + (recipe.read_text(errors="replace").replace(f"{self.folder}/", "")[-60:] if isinstance(recipe, Path) and recipe.exists() else str(recipe)) + "`"
            usual = dict(flat((self.detector if hasattr(self, "detector") else self.recipe)()))
            made = dict(flat(recipe))
            parts = [f"{'.'.join(key)} = {value!r:.60}" for key, value in made.items() if key not in usual or usual[key] != value] + [f"no {'.'.join(key)}" for key in usual if key not in made]
            words = re.sub(r" at 0x\w+", "", ", ".join(parts).replace(f"{self.folder}/", ""))
            path = Path(str(recipe.get("data", {}).get("train", "")) if isinstance(recipe.get("data"), dict) else "")
            return words + (f" ({path.stat().st_size} bytes)" if path.is_file() and path.name != "rings.npz" else "")

    class Faults(Recorded, train_test.Faults):
        pass

    class Boxes(Recorded, detector_training_test.Detectors):
        pass

    suite = unittest.TestSuite([*(Faults(name) for name in ("test_wrong_recipes", "test_wrong_toml", "test_wrong_data")), Boxes("test_wrong_boxes")])
    stream, output = io.StringIO(), sys.stdout
    sys.stdout = io.StringIO()
    try:
        good = unittest.TextTestRunner(stream).run(suite).wasSuccessful()
    finally:
        sys.stdout = output
    if not good:
        sys.exit(stream.getvalue())
    print(f"{len(found)} wrong recipes and data sets, each with one sentence. Rows whose sentences differ in numbers or in the wrong value alone are left out.")
    for test, title in (("test_wrong_recipes", "Recipes"), ("test_wrong_toml", "Files of recipes"), ("test_wrong_data", "Data sets"), ("test_wrong_boxes", "Boxes")):
        rows, seen = [one for one in found if one[0] == test], set()
        print(f"\n## {title}: {len(rows)}")
        table("wrong", "sentence")
        for _, words, text in rows:
            kind = re.sub(r", not .*|\d+", "", text)
            if kind not in seen:
                seen.add(kind)
                row(words, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["optimizers", "gradients", "resume", "recipes"])
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="where the C++ tests were built")
    arguments = parser.parse_args()
    globals()[arguments.what](arguments.build)


if __name__ == "__main__":
    main()

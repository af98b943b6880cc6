# SPDX-License-Identifier: Apache-2.0
"""./dev demo-train: trains by recipe.toml, or the recipe that is given, and shows the confusion matrix."""
import sys
import time
from pathlib import Path

import minnow
from minnow._training._drawing import text_of_confusion

recipe = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "recipe.toml"
start = time.perf_counter()
made = minnow.train(recipe, report=lambda text: print(text, flush=True), resume=False)
print(f"\nrows: true class, columns: predicted\n{text_of_confusion(made.confusion, made.classes)}\n")
print(f"accuracy {100 * made.metrics['accuracy']:.2f} % after {time.perf_counter() - start:.0f} s")
for name in ("curves.png", "confusion.png", "model.minnow", "model.onnx"):
    print(f"{made.output}/{name}")

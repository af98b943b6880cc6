# SPDX-License-Identifier: Apache-2.0
"""What is in the picture? python classify.py mobilenet_v1.tflite LABELS.txt PICTURE... (a label a line, from class 0 on)"""
import sys
from pathlib import Path

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1])
labels = Path(sys.argv[2]).read_text().splitlines()

for path in sys.argv[3:]:
    picture = cv.cvtColor(cv.imread(path), cv.COLOR_BGR2RGB)
    picture = cv.resize(picture, (224, 224)).astype("float32") / 127.5 - 1.0
    probabilities = model(picture)[0]  # a picture [height, width, colours] gains its batch axis
    best, classes = expr.top_k(probabilities, [3])
    print(f"{Path(path).name}: " + ", ".join(f"{labels[c]} ({p:.0%})" for p, c in zip(best.tolist(), classes.tolist())))

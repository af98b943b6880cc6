# SPDX-License-Identifier: Apache-2.0
"""Many threads, one model: python threads.py MODEL FILE... (a MobileNet, and pictures)

A loaded module may be called by any number of threads at once; they share its weights, and Python is free while it runs.
"""
import sys
from concurrent.futures import ThreadPoolExecutor

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1], threads=1)


def classify(path: str) -> str:
    picture = cv.resize(cv.cvtColor(cv.imread(path), cv.COLOR_BGR2RGB), (224, 224)).astype("float32") / 127.5 - 1.0
    return f"{path}: class {int(expr.arg_max(model(picture)[0], keepdims=0))}"


with ThreadPoolExecutor(max_workers=8) as pool:
    for line in pool.map(classify, sys.argv[2:]):
        print(line)

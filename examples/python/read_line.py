# SPDX-License-Identifier: Apache-2.0
"""What is written there? python read_line.py PP-OCRv6_rec_small.onnx PICTURE [LEFT TOP RIGHT BOTTOM] (the frame of one line of text)

The network lies in the package rapidocr, in rapidocr/models, and names its letters.
"""
import sys

import minnow
from minnow import cv, expr

model = minnow.load(sys.argv[1])
letters = ["", *model.properties["character"].splitlines(), " "]

picture = cv.imread(sys.argv[2])
if len(sys.argv) > 3:
    left, top, right, bottom = (int(place) for place in sys.argv[3:7])
    picture = picture[top:bottom, left:right]
height, width, _ = picture.shape
picture = cv.resize(picture, (width * 48 // height, 48)).astype("float32") / 127.5 - 1.0
scores = model(picture.transpose(2, 0, 1)[None])[0]  # [steps, letters]

# Letter 0 means "nothing new"; one that repeats without it in between is the same one (connectionist temporal classification).
text, last = "", 0
for letter in expr.arg_max(scores, axis=1, keepdims=0).tolist():
    if letter not in (0, last):
        text += letters[letter]
    last = letter
print(text)

# SPDX-License-Identifier: Apache-2.0
"""Did somebody say "Alexa"? python wake_word.py alexa.tflite FEATURES.npy

A streaming network, of the package pymicro-wakeword: it is called every 30 ms with three slices of 40 features (what pymicro-features
computes from sound; int8 [steps, 1, 3, 40]), and remembers what came before in states of its own. model.clone() would share the weights
and begin anew.
"""
import sys

import minnow
import minnow.numpy as np

model = minnow.load(sys.argv[1], threads=1)
slices = np.load(sys.argv[2])

recent: list[float] = []
for step in range(slices.shape[0]):
    recent = [*recent[-4:], float(model(slices[step])) / 255]
    if len(recent) == 5 and sum(recent) / 5 > 0.9:
        print(f"heard it at {0.03 * step:.2f} s")
        break
else:
    print("nothing heard")

# SPDX-License-Identifier: Apache-2.0
"""Which notes are played? python notes.py nmp.onnx MUSIC.wav (22.05 kHz, 16 bits, one channel)

Basic Pitch's network (package basic-pitch, basic_pitch/saved_models/icassp_2022/nmp.onnx) hears two seconds at a time.
"""
import sys
import wave

import minnow
from minnow import expr

RATE, WINDOW, FRAMES = 22050, 43844, 172
NAMES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")

model = minnow.load(sys.argv[1])
with wave.open(sys.argv[2]) as file:
    if (file.getframerate(), file.getsampwidth(), file.getnchannels()) != (RATE, 2, 1):
        sys.exit(f"{sys.argv[2]}: not 22.05 kHz, 16 bits, one channel")
    samples = memoryview(file.readframes(file.getnframes())).cast("h")
sound = minnow.Var(samples).astype("float32") / 32768.0

for start in range(0, len(samples), WINDOW):
    part = sound[start:start + WINDOW]
    part = expr.pad(part, [0, WINDOW - part.size])
    outputs = dict(zip((output.name for output in model.outputs), model(part.reshape(1, WINDOW, 1))))
    notes = outputs["StatefulPartitionedCall:1"][0]  # [frames, 88 keys of a piano]
    for key in range(88):
        frames = [i for i, strength in enumerate(notes[:, key].tolist()) if strength > 0.5]
        if len(frames) > 10:
            pitch = key + 21
            begin, end = (start / RATE + i * WINDOW / RATE / FRAMES for i in (frames[0], frames[-1] + 1))
            print(f"{NAMES[pitch % 12]}{pitch // 12 - 1}: {begin:.1f} s to {end:.1f} s")
